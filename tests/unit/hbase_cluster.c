/*
 * Calls to the masters of a cluster, of which threads here play both: each
 * request that comes must be the next one of the test's script, which says what
 * is done with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/hbase/cluster/cluster.h"
#include "store/hbase/master/admin.h"
#include "store/hbase/master/admin_messages.h"
#include "store/value/why.h"
#include "tests/unit/hbase_server.h"

/* A clock that the tests set forward. */
static _Atomic uint64_t passed_ns;
static struct os_ops clock_ops;
static struct os clock_os = {&clock_ops};

static uint64_t clock_ns(struct os *os)
{
	return os_monotonic_ns(os_posix()) + atomic_load(&passed_ns);
}

enum action {
	ANSWERS,
	HANGS_UP,	      /* it may have been done */
	NONE_ACTIVE,	      /* the answer names no active master */
	NONE_ACTIVE_ANY_MORE, /* and it comes at the call's deadline */
	PLEASE_HOLD,
	IS_STANDBY,
	TALKS_NONSENSE,
	DENIES_ACCESS,
	HAS_A_FAULT,
};

struct step {
	const char *method;
	enum action action;
};

#define CONNECTIONS_MAX 16

struct masters {
	int fd;
	uint16_t port;
	pthread_t acceptor, threads[CONNECTIONS_MAX];
	int nthreads;
	pthread_mutex_t lock; /* guards what follows */
	const struct step *script;
	size_t nsteps, next;
	char unexpected[64]; /* a method that the script had not */
};

struct visitor {
	struct masters *masters;
	int fd;
};

/* What is done with a call of @method. */
static enum action next_action(struct masters *m, const char *method)
{
	enum action action = HANGS_UP;

	pthread_mutex_lock(&m->lock);
	if (m->next < m->nsteps && !strcmp(m->script[m->next].method, method))
		action = m->script[m->next++].action;
	else if (!m->unexpected[0])
		snprintf(m->unexpected, sizeof(m->unexpected), "%s", method);
	pthread_mutex_unlock(&m->lock);
	return action;
}

static void answer(struct masters *m, int fd, uint32_t id, const char *method)
{
	const struct pb_cluster_id cluster = {.id = bytes_str("c")};
	const struct pb_active_master active = {
		.server = {.here = true,
			   .host = bytes_str("127.0.0.1"),
			   .port = m->port},
	};
	const struct pb_table_names tables = {0};

	if (!strcmp(method, "GetClusterId"))
		server_answer(fd, id, &pb_cluster_id, &cluster);
	else if (!strcmp(method, "GetActiveMaster"))
		server_answer(fd, id, &pb_active_master, &active);
	else
		server_answer(fd, id, &pb_table_names, &tables);
}

/* Whether the connection goes on. */
static bool act(struct masters *m, enum action action, int fd, uint32_t id,
		const char *method)
{
	const struct pb_active_master none = {0};

	switch (action) {
	case ANSWERS:
		answer(m, fd, id, method);
		return true;
	case NONE_ACTIVE_ANY_MORE:
		atomic_fetch_add(&passed_ns, TIMEOUT_MS * 1000000ull);
		/* fall through */
	case NONE_ACTIVE:
		server_answer(fd, id, &pb_active_master, &none);
		return true;
	case PLEASE_HOLD:
		server_refuse(fd, id, "org.example.PleaseHoldException");
		return true;
	case IS_STANDBY:
		server_refuse(fd, id, "org.example.StandbyException");
		return true;
	case HAS_A_FAULT:
		server_refuse(fd, id, "java.lang.NullPointerException");
		return true;
	case DENIES_ACCESS:
		server_refuse(fd, UINT32_MAX,
			      "org.example.AccessDeniedException");
		return true;
	case TALKS_NONSENSE:
		(void)!send(fd, "HTTP/1.1 400", 12, MSG_NOSIGNAL);
		return true;
	default:
		return false;
	}
}

static void *serve(void *arg)
{
	struct visitor *v = arg;
	char method[64];
	uint32_t id;

	server_greet(v->fd);
	while ((id = server_request(v->fd, method)))
		if (!act(v->masters, next_action(v->masters, method), v->fd, id,
			 method))
			break;
	close(v->fd);
	free(v);
	return NULL;
}

static void *accept_all(void *arg)
{
	struct masters *m = arg;
	int fd;

	while ((fd = accept(m->fd, NULL, NULL)) >= 0) {
		struct visitor *v = malloc(sizeof(*v));

		assert_true(v && m->nthreads < CONNECTIONS_MAX);
		*v = (struct visitor){m, fd};
		pthread_create(&m->threads[m->nthreads++], NULL, serve, v);
	}
	return NULL;
}

static void begin(struct masters *m, const struct step *script, size_t n)
{
	*m = (struct masters){.script = script, .nsteps = n};
	pthread_mutex_init(&m->lock, NULL);
	m->fd = server_listen(&m->port);
	pthread_create(&m->acceptor, NULL, accept_all, m);
}

/* Everything came that the script has, and nothing else. */
static void end(struct masters *m, struct cluster *c)
{
	cluster_close(c);
	shutdown(m->fd, SHUT_RDWR);
	pthread_join(m->acceptor, NULL);
	for (int i = 0; i < m->nthreads; i++)
		pthread_join(m->threads[i], NULL);
	close(m->fd);
	pthread_mutex_destroy(&m->lock);
	assert_string_equal(m->unexpected, "");
	assert_int_equal(m->next, m->nsteps);
}

static int open_at(const char *masters, struct cluster **out)
{
	const struct cluster_options o = {
		.os = &clock_os,
		.masters = masters,
		.user = "u",
		.timeout_ms = TIMEOUT_MS,
	};

	*out = NULL;
	return cluster_open(&o, out);
}

static int open_cluster(struct masters *m, struct cluster **out)
{
	char name[32];

	snprintf(name, sizeof(name), "127.0.0.1:%u", m->port);
	return open_at(name, out);
}

static void no_table(void *arg, struct bytes name)
{
	fail();
}

/* A call to the active master, as the script has it, is done in the end. */
static void assert_done(const struct step *script, size_t n)
{
	struct masters m;
	struct cluster *c;

	begin(&m, script, n);
	assert_int_equal(open_cluster(&m, &c), 0);
	assert_int_equal(admin_tables(c, no_table, NULL), 0);
	end(&m, c);
}

#define ASSERT_DONE(...)                                               \
	do {                                                           \
		static const struct step script[] = {__VA_ARGS__};     \
		assert_done(script, sizeof(script) / sizeof(*script)); \
	} while (0)

static void a_call_is_made_again_when_the_master_was_killed(void **state)
{
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", HANGS_UP}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", ANSWERS});
}

static void the_registry_is_asked_again_when_it_was_killed(void **state)
{
	ASSERT_DONE({"GetClusterId", HANGS_UP}, {"GetClusterId", ANSWERS},
		    {"GetActiveMaster", HANGS_UP}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", ANSWERS});
}

static void a_master_that_becomes_active_is_waited_for(void **state)
{
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", NONE_ACTIVE},
		    {"GetActiveMaster", NONE_ACTIVE},
		    {"GetActiveMaster", ANSWERS}, {"GetTableNames", ANSWERS});
}

/* One that begins is the right one; one that stands by is not. */
static void a_master_says_whether_it_is_the_one(void **state)
{
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", PLEASE_HOLD}, {"GetTableNames", ANSWERS});
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", IS_STANDBY}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", ANSWERS});
}

static void a_fault_of_the_server_may_pass(void **state)
{
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", HAS_A_FAULT}, {"GetTableNames", ANSWERS});
}

/* A fault of HBase's own is told, with its name, and not tried for a minute. */
static void a_fault_of_the_server_is_tried_a_few_times(void **state)
{
	static const struct step script[] = {
		{"GetClusterId", ANSWERS},	{"GetActiveMaster", ANSWERS},
		{"GetTableNames", HAS_A_FAULT}, {"GetTableNames", HAS_A_FAULT},
		{"GetTableNames", HAS_A_FAULT}, {"GetTableNames", HAS_A_FAULT},
		{"GetTableNames", HAS_A_FAULT}, {"GetTableNames", HAS_A_FAULT},
	};
	struct masters m;
	struct cluster *c;

	begin(&m, script, sizeof(script) / sizeof(*script));
	assert_int_equal(open_cluster(&m, &c), 0);
	assert_int_equal(admin_tables(c, no_table, NULL), -EIO);
	assert_non_null(strstr(store_why(), "NullPointerException"));
	end(&m, c);
}

/* None becomes active: that is no error which means "try again". */
static void no_active_master_is_a_timeout(void **state)
{
	static const struct step script[] = {
		{"GetClusterId", ANSWERS},
		{"GetActiveMaster", NONE_ACTIVE},
		{"GetActiveMaster", NONE_ACTIVE_ANY_MORE},
	};
	struct masters m;
	struct cluster *c;

	begin(&m, script, 3);
	assert_int_equal(open_cluster(&m, &c), 0);
	assert_int_equal(admin_tables(c, no_table, NULL), -ETIMEDOUT);
	assert_non_null(strstr(store_why(), "none of the masters is active"));
	end(&m, c);
}

/* A host that is no master keeps nobody from the others. */
static void a_name_that_is_none_of_a_master_is_passed_over(void **state)
{
	static const struct step nonsense[] = {{"GetClusterId",
						TALKS_NONSENSE}},
				 script[] = {{"GetClusterId", ANSWERS}};
	struct masters web, m;
	struct cluster *c;
	char names[64];

	begin(&web, nonsense, 1);
	begin(&m, script, 1);
	snprintf(names, sizeof(names), "127.0.0.1:%u,127.0.0.1:%u", web.port,
		 m.port);
	assert_int_equal(open_at(names, &c), 0);
	end(&m, c);
	end(&web, NULL);
}

static void what_is_no_cluster_is_said_at_once(void **state)
{
	static const struct step script[] = {{"GetClusterId", TALKS_NONSENSE}};
	struct masters m;
	struct cluster *c;

	begin(&m, script, 1);
	assert_int_equal(open_cluster(&m, &c), -EPROTO);
	assert_non_null(strstr(store_why(), "no master of a cluster answers"));
	assert_non_null(strstr(store_why(), "the server announced"));
	end(&m, NULL);
}

/* All masters would: nobody waits for one that is not there. */
static void who_is_refused_learns_it_at_once(void **state)
{
	static const struct step script[] = {{"GetClusterId", DENIES_ACCESS}};
	struct masters m;
	struct cluster *c;
	char names[64];

	begin(&m, script, 1);
	snprintf(names, sizeof(names), "127.0.0.1:%u,127.0.0.1:1", m.port);
	assert_int_equal(open_at(names, &c), -EACCES);
	assert_non_null(strstr(store_why(), "AccessDeniedException"));
	assert_non_null(strstr(store_why(), "?security=kerberos"));
	assert_null(strstr(store_why(), "no master"));
	end(&m, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_call_is_made_again_when_the_master_was_killed),
		cmocka_unit_test(
			the_registry_is_asked_again_when_it_was_killed),
		cmocka_unit_test(a_master_that_becomes_active_is_waited_for),
		cmocka_unit_test(a_master_says_whether_it_is_the_one),
		cmocka_unit_test(a_fault_of_the_server_may_pass),
		cmocka_unit_test(a_fault_of_the_server_is_tried_a_few_times),
		cmocka_unit_test(no_active_master_is_a_timeout),
		cmocka_unit_test(
			a_name_that_is_none_of_a_master_is_passed_over),
		cmocka_unit_test(what_is_no_cluster_is_said_at_once),
		cmocka_unit_test(who_is_refused_learns_it_at_once),
	};

	clock_ops = *os_posix()->ops;
	clock_ops.monotonic_ns = clock_ns;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
