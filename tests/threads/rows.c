/*
 * Rows stay whole under threads: writers give every column of a row, over two
 * families, one value in one mutation; readers get, scan either way and list
 * beside them, while tiny memtables make flush and compaction run all the
 * time. A row that shows two values is torn.
 *
 * At least so many rows are read and judged as $CELLFS_ROWS says, or 200,000; under
 * ThreadSanitizer, which is after races, as many as come.
 *
 * And what one thread was told is written, every other thread sees: by a get
 * and by a scan, over the same flushes and compactions.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/unit/unit.h"
#include "tests/unit/temp_store.h"
#include "store/value/sanitizer.h"

#define WRITERS 3
#define ROWS 7
#define COLUMNS 6

static struct temp_store ts;
static _Atomic bool writing;
static _Atomic uint64_t torn, read_rows, failures;

/* Mutations that each writer makes at least, rows that are read, puts to be seen. */
#if SANITIZED_THREAD
#define ROUNDS 500
#define WANTED 0
#define SEEN_ROUNDS 2000
#else
#define ROUNDS 100
#define WANTED 200000
#define SEEN_ROUNDS 600
#endif

static uint64_t wanted_rows(void)
{
	const char *text = getenv("CELLFS_ROWS");

	return text ? strtoull(text, NULL, 10) : WANTED;
}

static void *writer(void *arg)
{
	static const char *const names[COLUMNS] = {"a", "b", "c",
						   "d", "e", "f"};
	uint64_t seed = (uintptr_t)arg * 77 + 1, wanted = wanted_rows();

	for (int i = 0; i < ROUNDS || atomic_load(&read_rows) < wanted; i++) {
		if (atomic_load(&failures))
			break;
		struct change c[COLUMNS];
		struct mutation m = {.changes = c, .nchanges = COLUMNS};
		char row[8], value[32];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		snprintf(row, sizeof(row), "row%d", (int)(seed >> 33) % ROWS);
		snprintf(value, sizeof(value), "%d-%d", (int)(uintptr_t)arg, i);
		for (int k = 0; k < COLUMNS; k++)
			c[k] = (struct change){
				.op = CHANGE_PUT,
				.family = bytes_str(k % 2 ? "f" : "g"),
				.qualifier = bytes_str(names[k]),
				.ts = TS_AUTO,
				.value = bytes_str(value)};
		m.row = bytes_str(row);
		if (table_mutate(ts.table, &m, i % 50 ? 0 : MUTATE_SYNC) != 1) {
			temp_say("mutate");
			atomic_fetch_add(&failures, 1);
		}
	}
	return NULL;
}

static void end_row(struct buf *value, int cells)
{
	if (cells && cells != COLUMNS)
		atomic_fetch_add(&torn, 1);
	if (cells)
		atomic_fetch_add(&read_rows, 1);
	value->len = 0;
}

static void *reader(void *arg)
{
	bool reversed = (uintptr_t)arg & 1;

	do {
		struct scan_spec spec = {.granularity = SCAN_CELLS,
					 .versions = 1,
					 .reversed = reversed};
		struct buf row = {0}, value = {0};
		struct scan *sc;
		struct cell c;
		int cells = 0, r;

		if (scan_open(ts.table, &spec, &sc) < 0) {
			temp_say("scan");
			atomic_fetch_add(&failures, 1);
			break;
		}
		while ((r = scan_next(sc, &c)) > 0) {
			if (!bytes_eq(c.row, buf_bytes(&row))) {
				end_row(&value, cells);
				cells = 0;
				buf_set(&row, c.row);
				buf_set(&value, c.value);
			}
			cells++;
			if (!bytes_eq(c.value, buf_bytes(&value)))
				atomic_fetch_add(&torn, 1);
		}
		end_row(&value, cells);
		if (r < 0) {
			temp_say("next");
			atomic_fetch_add(&failures, 1);
		}
		scan_close(sc);
		buf_free(&row);
		buf_free(&value);
	} while (atomic_load(&writing));
	return NULL;
}

/* A table without a schema keeps all versions, and would be read ever slower. */
static void keep_few_versions(void)
{
	struct schema schema;

	assert_int_equal(table_schema(ts.table, &schema), 0);
	for (uint32_t i = 0; i < schema.nfamilies; i++)
		schema.families[i].attrs.versions = 2;
	assert_int_equal(table_alter(ts.table, &schema, false), 0);
	schema_free(&schema);
}

TEST(rows_stay_whole_under_writers)
{
	pthread_t w[WRITERS], r[2];

	ts.options.write_buffer_bytes = 64 << 10;
	ts.options.table_file_bytes = 32 << 10;
	ts.options.patience = 1; /* what is hidden is remembered soon */
	ts.options.cache_bytes = 256 << 10;
	assert_int_equal(temp_make(&ts), 0);
	keep_few_versions();
	atomic_store(&writing, true);
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&w[i], NULL, writer, (void *)i);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&r[i], NULL, reader, (void *)i);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(w[i], NULL);
	atomic_store(&writing, false);
	for (int i = 0; i < 2; i++)
		pthread_join(r[i], NULL);
	assert_int_equal(atomic_load(&failures), 0);
	assert_int_equal(atomic_load(&torn), 0);
	assert_true(atomic_load(&read_rows) >= wanted_rows());
	printf("%llu rows read beside writers, none torn\n",
	       (unsigned long long)atomic_load(&read_rows));
	assert_int_equal(temp_remove(&ts), 0);
}

static _Atomic uint64_t acknowledged, looked, late;

static void *counter(void *arg)
{
	char value[64];

	/* Those who watch may not have begun yet. */
	for (uint64_t i = 1;
	     i <= SEEN_ROUNDS || !(atomic_load(&looked) || failures); i++) {
		snprintf(value, sizeof(value), "%020llu",
			 (unsigned long long)i);
		if (temp_put(&ts, "r", "f", "q", TS_AUTO, value) != 1) {
			temp_say("put");
			atomic_fetch_add(&failures, 1);
		}
		atomic_store(&acknowledged, i);
		sched_yield(); /* who watches must see each */
	}
	return NULL;
}

static uint64_t number_of(const struct cell *c)
{
	char text[64] = "";

	if (c->value.len < sizeof(text))
		memcpy(text, c->value.data, c->value.len);
	return strtoull(text, NULL, 10);
}

/* 1 and *n, or what failed. */
static int look_by_scan(uint64_t *n)
{
	struct scan_spec spec = {.granularity = SCAN_COLUMNS};
	struct scan *sc;
	struct cell c;
	int r = scan_open(ts.table, &spec, &sc);

	if (r < 0)
		return r;
	r = scan_next(sc, &c);
	if (r > 0)
		*n = number_of(&c);
	scan_close(sc);
	return r;
}

static int look_by_get(uint64_t *n)
{
	struct buf hold = {0};
	struct cell c;
	int r = table_get(ts.table, bytes_str("r"), bytes_str("f"),
			  bytes_str("q"), TS_MAX, NULL, &c, &hold);

	if (r > 0)
		*n = number_of(&c);
	buf_free(&hold);
	return r;
}

static void *watcher(void *arg)
{
	uint64_t told, n = 0;
	int r;

	while (atomic_load(&writing)) {
		told = atomic_load(&acknowledged);
		if (!told)
			continue;
		r = arg ? look_by_scan(&n) : look_by_get(&n);
		if (r < 0) {
			temp_say("look");
			atomic_fetch_add(&failures, 1);
			break;
		}
		if (r == 0 || n < told)
			atomic_fetch_add(&late, 1);
		atomic_fetch_add(&looked, 1);
	}
	return NULL;
}

TEST(what_is_acknowledged_is_seen)
{
	pthread_t w, r[2];

	ts = (struct temp_store){
		.options.write_buffer_bytes = 16 << 10,
		.options.table_file_bytes = 8 << 10,
		.options.patience = 1,
	};
	assert_int_equal(temp_make(&ts), 0);
	atomic_store(&writing, true);
	atomic_store(&failures, 0);
	pthread_create(&w, NULL, counter, NULL);
	pthread_create(&r[0], NULL, watcher, NULL);
	pthread_create(&r[1], NULL, watcher, &ts);
	pthread_join(w, NULL);
	atomic_store(&writing, false);
	pthread_join(r[0], NULL);
	pthread_join(r[1], NULL);
	assert_int_equal(atomic_load(&failures), 0);
	assert_int_equal(atomic_load(&late), 0);
	assert_true(atomic_load(&looked) > 0);
	assert_int_equal(temp_remove(&ts), 0);
}
