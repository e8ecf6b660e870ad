/*
 * What threads keep of what they read: more threads than have a slot of their
 * own get and scan tables, of which some share a place in a slot, while each is
 * written, flushed and compacted. Under AddressSanitizer what is used after it
 * went is found here. Afterwards threads that only wait hold no file of the
 * past.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/unit/unit.h"
#include "store/os/os.h"
#include "tests/unit/temp_store.h"

#define READERS 11
#define TABLES 9
#define ROUNDS 20

static struct temp_store ts;
static struct table *tables[TABLES];
static _Atomic bool changing;
static _Atomic uint64_t found, failures;
static pthread_barrier_t idle;

static void failed(const char *what)
{
	temp_say(what);
	atomic_fetch_add(&failures, 1);
}

static void get_one(struct table *t)
{
	struct buf hold = {0};
	struct cell c;

	if (table_get(t, bytes_str("r"), bytes_str("f"), bytes_str("q"), TS_MAX,
		      NULL, &c, &hold) == 1)
		atomic_fetch_add(&found, 1);
	else
		failed("get");
	buf_free(&hold);
}

static void *reader(void *arg)
{
	const struct scan_spec spec = {.granularity = SCAN_CELLS};
	uintptr_t i = (uintptr_t)arg;

	while (atomic_load(&changing)) {
		struct scan *sc;
		struct cell c;

		get_one(tables[i % TABLES]);
		get_one(tables[i % TABLES]);
		sched_yield(); /* to who changes them */
		if (++i % 8)
			continue;
		/* A view that is held while others come and go. */
		if (scan_open(tables[0], &spec, &sc) < 0) {
			failed("scan");
			break;
		}
		for (int k = 0; k < TABLES; k++)
			get_one(tables[k]);
		if (scan_next(sc, &c) != 1)
			failed("next");
		scan_close(sc);
	}
	for (int k = 0; k < TABLES; k++)
		get_one(tables[k]);
	pthread_barrier_wait(&idle);
	pthread_barrier_wait(&idle);
	return NULL;
}

static void put(struct table *t, int i)
{
	char value[16];
	struct change c = a_put("f", "q", TS_AUTO, "");
	struct mutation m = change_of("r", &c);

	snprintf(value, sizeof(value), "%d", i);
	c.value = bytes_str(value);
	if (table_mutate(t, &m, 0) != 1)
		failed("put");
}

static void make_tables(void)
{
	tables[0] = ts.table;
	for (int i = 0; i < TABLES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "t%d", i);
		if (i && (store_table_create(ts.store, bytes_str(name), NULL) ||
			  table_open(ts.store, bytes_str(name), &tables[i]) ||
			  table_add_family(tables[i], bytes_str("f"))))
			failed("table");
		put(tables[i], 0);
	}
}

static int count_table_file(void *arg, const char *name)
{
	size_t n = strlen(name);

	*(int *)arg += n > 4 && !strcmp(name + n - 4, ".sst");
	return 0;
}

static int table_files(void)
{
	struct os_dir *d;
	int n = 0;

	assert_int_equal(os_dir_open(os_posix(), ts.path, false, &d), 0);
	assert_int_equal(os_dir_list(d, count_table_file, &n), 0);
	os_dir_close(d);
	return n;
}

TEST(views_come_and_go_and_hold_nothing)
{
	pthread_t r[READERS];

	ts.options.write_buffer_bytes = 64 << 10;
	assert_int_equal(temp_make(&ts), 0);
	make_tables();
	atomic_store(&changing, true);
	pthread_barrier_init(&idle, NULL, READERS + 1);
	for (uintptr_t i = 0; i < READERS; i++)
		pthread_create(&r[i], NULL, reader, (void *)i);
	for (int i = 0; i < ROUNDS; i++) {
		put(tables[i % TABLES], i);
		if (store_flush(ts.store, NULL) < 0)
			failed("flush");
		if (i % 5 == 0 && store_compact(ts.store, NULL) < 0)
			failed("compact");
	}
	atomic_store(&changing, false);
	pthread_barrier_wait(&idle);
	for (int i = 0; i < TABLES; i++)
		put(tables[i], ROUNDS);
	assert_int_equal(store_flush(ts.store, NULL), 0);
	assert_int_equal(store_compact(ts.store, NULL), 0);
	/* A thread of the store may let go of one a moment later. */
	for (int i = 0; i < 12000 && table_files() != TABLES; i++)
		usleep(5000);
	assert_int_equal(table_files(), TABLES);
	pthread_barrier_wait(&idle);
	for (int i = 0; i < READERS; i++)
		pthread_join(r[i], NULL);
	pthread_barrier_destroy(&idle);
	assert_int_equal(atomic_load(&failures), 0);
	assert_true(atomic_load(&found) > 0);
	for (int i = 1; i < TABLES; i++)
		table_unref(tables[i]);
	assert_int_equal(temp_remove(&ts), 0);
}
