/*
 * Calls to the masters of a cluster, of which threads here play both: each
 * request that comes must be the next one of the test's script, which says what
 * is done with it.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/unit.h"
#include "store/hbase/cluster/regions.h"
#include "store/hbase/master/admin.h"
#include "store/hbase/master/admin_messages.h"
#include "store/value/why.h"
#include "tests/unit/hbase_server.h"
#include "tests/unit/gone_caller.h"

/*
 * A clock that the tests set forward, and sleeps do. It is so far ahead of the
 * machine's that no call comes to its deadline because the machine is slow.
 */
static uint64_t clock_begin_ns;
static _Atomic uint64_t passed_ns;
static struct os_ops clock_ops;
static struct os clock_os = {&clock_ops};

static uint64_t clock_ns(struct os *os)
{
	return clock_begin_ns + atomic_load(&passed_ns);
}

static void clock_sleep_ms(struct os *os, unsigned ms)
{
	atomic_fetch_add(&passed_ns, ms * 1000000ull);
}

BEFORE_MAIN(take_the_clock)
{
	clock_ops = *os_posix()->ops;
	clock_ops.monotonic_ns = clock_ns;
	clock_ops.sleep_ms = clock_sleep_ms;
	clock_begin_ns = os_monotonic_ns(os_posix()) + 1000 * SECOND;
}

enum action {
	ANSWERS,
	HANGS_UP,	      /* it may have been done */
	NONE_ACTIVE,	      /* the answer names no active master */
	NONE_ACTIVE_ANY_MORE, /* and it comes at the call's deadline */
	PLEASE_HOLD,
	IS_STANDBY,
	ANSWERS_LATE,	 /* a second before the call's deadline */
	IS_STANDBY_LATE, /* the same */
	TALKS_NONSENSE,
	DENIES_ACCESS,
	HAS_A_FAULT,
	IS_SILENT_TO_THE_END, /* of the call's time, and hangs up then */
	IS_SILENT,
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
	/* Has the clock been set forward? The longest timeout of a call since: */
	bool is_late;
	uint32_t timeout_ms;
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
	const struct pb_procedure procedure = {.id = 1};
	const struct pb_procedure_result result = {.state = PROCEDURE_FINISHED};

	if (!strcmp(method, "GetClusterId"))
		server_answer(fd, id, &pb_cluster_id, &cluster);
	else if (!strcmp(method, "GetActiveMaster"))
		server_answer(fd, id, &pb_active_master, &active);
	else if (!strcmp(method, "CreateNamespace"))
		server_answer(fd, id, &pb_procedure, &procedure);
	else if (!strcmp(method, "getProcedureResult"))
		server_answer(fd, id, &pb_procedure_result, &result);
	else
		server_answer(fd, id, &pb_table_names, &tables);
}

static void set_forward(struct masters *m, unsigned ms)
{
	atomic_fetch_add(&passed_ns, ms * 1000000ull);
	pthread_mutex_lock(&m->lock);
	m->is_late = true;
	pthread_mutex_unlock(&m->lock);
}

static void note_timeout(struct masters *m, uint32_t ms)
{
	pthread_mutex_lock(&m->lock);
	if (m->is_late && (ms == 0 || ms > m->timeout_ms))
		m->timeout_ms = ms ? ms : UINT32_MAX;
	pthread_mutex_unlock(&m->lock);
}

/* Whether the connection goes on. */
static bool act(struct masters *m, enum action action, int fd, uint32_t id,
		const char *method)
{
	const struct pb_active_master none = {0};

	switch (action) {
	case ANSWERS_LATE:
		set_forward(m, TIMEOUT_MS - 1000);
		/* fall through */
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
	case IS_STANDBY_LATE:
		set_forward(m, TIMEOUT_MS - 1000);
		/* fall through */
	case IS_STANDBY:
		server_refuse(fd, id, "org.example.StandbyException");
		return true;
	case IS_SILENT_TO_THE_END:
		atomic_fetch_add(&passed_ns, TIMEOUT_MS * 1000000ull);
		return false;
	case IS_SILENT:
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
	uint32_t id, timeout_ms;

	server_greet(v->fd);
	while ((id = server_request_timed(v->fd, method, &timeout_ms))) {
		note_timeout(v->masters, timeout_ms);
		if (!act(v->masters, next_action(v->masters, method), v->fd, id,
			 method))
			break;
	}
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
	patience_begin_request();
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

TEST(a_call_is_made_again_when_the_master_was_killed)
{
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", HANGS_UP}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", ANSWERS});
}

TEST(the_registry_is_asked_again_when_it_was_killed)
{
	ASSERT_DONE({"GetClusterId", HANGS_UP}, {"GetClusterId", ANSWERS},
		    {"GetActiveMaster", HANGS_UP}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", ANSWERS});
}

TEST(a_master_that_becomes_active_is_waited_for)
{
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", NONE_ACTIVE},
		    {"GetActiveMaster", NONE_ACTIVE},
		    {"GetActiveMaster", ANSWERS}, {"GetTableNames", ANSWERS});
}

/* One that begins is the right one; one that stands by is not. */
TEST(a_master_says_whether_it_is_the_one)
{
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", PLEASE_HOLD}, {"GetTableNames", ANSWERS});
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", IS_STANDBY}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", ANSWERS});
}

TEST(a_fault_of_the_server_may_pass)
{
	ASSERT_DONE({"GetClusterId", ANSWERS}, {"GetActiveMaster", ANSWERS},
		    {"GetTableNames", HAS_A_FAULT}, {"GetTableNames", ANSWERS});
}

/* A fault of HBase's own is told, with its name, and not tried for a minute. */
TEST(a_fault_of_the_server_is_tried_a_few_times)
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

/* It answers before it has made what the answer comes from. */
TEST(a_master_that_begins_with_faults_is_waited_for)
{
	ASSERT_DONE(
		{"GetClusterId", HAS_A_FAULT}, {"GetClusterId", HAS_A_FAULT},
		{"GetClusterId", HAS_A_FAULT}, {"GetClusterId", HAS_A_FAULT},
		{"GetClusterId", HAS_A_FAULT}, {"GetClusterId", HAS_A_FAULT},
		{"GetClusterId", ANSWERS}, {"GetActiveMaster", ANSWERS},
		{"GetTableNames", ANSWERS});
}

/* What the end of the time cut short hides no reason that was told before. */
TEST(the_last_reason_that_was_told_in_time_stays)
{
	static const struct step script[] = {
		{"GetClusterId", HAS_A_FAULT},
		{"GetClusterId", IS_SILENT_TO_THE_END},
	};
	struct masters m;
	struct cluster *c;

	begin(&m, script, 2);
	assert_int_equal(open_cluster(&m, &c), -EIO);
	assert_non_null(strstr(store_why(), "NullPointerException"));
	end(&m, NULL);
}

/* None becomes active: that is no error which means "try again". */
TEST(no_active_master_is_a_timeout)
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

/* Each part of a call has what is left of the time, and not all of it again. */
TEST(a_call_with_all_its_parts_ends_in_time)
{
	static const struct step found_late[] = {{"GetClusterId", ANSWERS},
						 {"GetActiveMaster", ANSWERS},
						 {"GetTableNames",
						  IS_STANDBY_LATE},
						 {"GetActiveMaster", ANSWERS},
						 {"GetTableNames", ANSWERS}},
				 begun_late[] = {
					 {"GetClusterId", ANSWERS},
					 {"GetActiveMaster", ANSWERS},
					 {"CreateNamespace", ANSWERS_LATE},
					 {"getProcedureResult", ANSWERS}};
	struct masters m;
	struct cluster *c;

	begin(&m, found_late, 5);
	assert_int_equal(open_cluster(&m, &c), 0);
	assert_int_equal(admin_tables(c, no_table, NULL), 0);
	assert_in_range(m.timeout_ms, 1, 1001);
	end(&m, c);
	begin(&m, begun_late, 4);
	assert_int_equal(open_cluster(&m, &c), 0);
	assert_int_equal(admin_namespace_create(c, bytes_str("n")), 0);
	assert_in_range(m.timeout_ms, 1, 1001);
	end(&m, c);
}

/*
 * The calls of one request do not each wait for a server that is silent: when the
 * first has waited for all of the time, the next ones ask nobody and say why.
 */
TEST(the_calls_of_a_request_end_in_time_together)
{
	static const struct step script[] = {
		{"GetClusterId", ANSWERS},
		{"GetActiveMaster", ANSWERS},
		{"GetTableNames", IS_SILENT_TO_THE_END},
		/* And of the next request: */
		{"GetActiveMaster", ANSWERS},
		{"GetTableNames", ANSWERS},
	};
	struct why_kept first;
	struct masters m;
	struct cluster *c;

	begin(&m, script, 5);
	assert_int_equal(open_cluster(&m, &c), 0);
	assert_true(admin_tables(c, no_table, NULL) < 0);
	why_keep(&first);
	assert_non_null(strstr(first.text, "GetTableNames"));
	for (int i = 0; i < 3; i++) {
		why_clear();
		patience_begin_call();
		assert_int_equal(admin_tables(c, no_table, NULL), -ETIMEDOUT);
		assert_string_equal(store_why(), first.text);
	}
	patience_begin_request();
	assert_int_equal(admin_tables(c, no_table, NULL), 0);
	end(&m, c);
}

TEST(nobody_waits_for_a_caller_who_is_gone)
{
	static const struct step script[] = {
		{"GetClusterId", ANSWERS},    {"GetActiveMaster", ANSWERS},
		{"GetTableNames", IS_SILENT}, {"GetTableNames", PLEASE_HOLD},
		{"GetTableNames", ANSWERS},
	};
	struct masters m;
	struct cluster *c;

	begin(&m, script, 5);
	assert_int_equal(open_cluster(&m, &c), 0);
	patience_begin_request_of(7, is_gone);
	assert_int_equal(admin_tables(c, no_table, NULL), -EINTR);
	assert_non_null(strstr(store_why(), "GetTableNames"));
	/* Nor until it is due to be tried again. */
	assert_true(admin_tables(c, no_table, NULL) < 0);
	patience_begin_request_of(8, is_gone);
	assert_int_equal(admin_tables(c, no_table, NULL), 0);
	end(&m, c);
}

/* A table that was taken out of service, say, has to come back. */
TEST(what_the_master_has_begun_is_waited_for)
{
	static const struct step script[] = {
		{"GetClusterId", ANSWERS},
		{"GetActiveMaster", ANSWERS},
		{"CreateNamespace", PLEASE_HOLD},
		{"CreateNamespace", ANSWERS},
		{"getProcedureResult", PLEASE_HOLD},
		{"getProcedureResult", ANSWERS},
	};
	struct masters m;
	struct cluster *c;

	begin(&m, script, 6);
	assert_int_equal(open_cluster(&m, &c), 0);
	patience_begin_request_of(7, is_gone);
	assert_int_equal(admin_namespace_create(c, bytes_str("n")), 0);
	end(&m, c);
}

/* Though the wait has begun after its limit was set. */
TEST(a_wait_that_ends_at_the_limit_leaves_nothing)
{
	const uint64_t most = 1000;

	patience_begin_request();
	assert_int_equal(patience_until(5000, most), 6000);
	patience_lose(100, 5200);
	assert_int_equal(patience_left(most), 900);
	assert_int_equal(patience_until(5300, most), 6200);
	patience_lose(700, 6200);
	assert_int_equal(patience_left(most), 0);
	patience_lose(700, 6300);
	assert_int_equal(patience_left(most), 0);
	patience_begin_request();
	assert_int_equal(patience_left(most), most);
}

/* What was waited for in vain is taken from what is left, and no more. */
TEST(what_a_request_has_lost_is_not_left_to_its_next_call)
{
	static const struct step script[] = {
		{"GetClusterId", ANSWERS},
		{"GetActiveMaster", ANSWERS},
		{"GetTableNames", IS_STANDBY_LATE},
		{"GetActiveMaster", ANSWERS},
		{"GetTableNames", ANSWERS},
		{"GetTableNames", ANSWERS},
	};
	struct masters m;
	struct cluster *c;

	begin(&m, script, 6);
	assert_int_equal(open_cluster(&m, &c), 0);
	assert_int_equal(admin_tables(c, no_table, NULL), 0);
	m.timeout_ms = 0;
	assert_int_equal(admin_tables(c, no_table, NULL), 0);
	assert_in_range(m.timeout_ms, 1, 1001);
	end(&m, c);
}

/* The same of where hbase:meta is, which only the masters know. */
TEST(a_region_is_looked_for_in_the_time_that_is_left)
{
	static const struct step script[] = {
		{"GetClusterId", ANSWERS},
		{"GetMetaRegionLocations", TALKS_NONSENSE},
	};
	struct region *at;
	struct retry retry;
	struct masters m;
	struct cluster *c;

	begin(&m, script, 2);
	assert_int_equal(open_cluster(&m, &c), 0);
	retry = cluster_retry(c);
	set_forward(&m, TIMEOUT_MS - 1000);
	assert_int_equal(region_find(c, bytes_str("t"), bytes_str("r"), SIDE_OF,
				     &retry, &at),
			 -EPROTO);
	assert_in_range(m.timeout_ms, 1, 1001);
	end(&m, c);
}

/* A host that is no master keeps nobody from the others. */
TEST(a_name_that_is_none_of_a_master_is_passed_over)
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

TEST(what_is_no_cluster_is_said_at_once)
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
TEST(who_is_refused_learns_it_at_once)
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
