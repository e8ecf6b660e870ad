/*
 * Rows stay whole under threads: writers give every column of a row, over two
 * families, one value in one mutation; readers get, scan either way and list
 * beside them, while tiny memtables make flush and compaction run all the
 * time. A row that shows two values is torn.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/temp_store.h"

#define WRITERS 3
#define ROWS 7
#define COLUMNS 6
#define ROUNDS 1500

static struct temp_store ts;
static _Atomic bool writing;
static _Atomic uint64_t torn, read_rows, failures;

static void *writer(void *arg)
{
	static const char *const names[COLUMNS] = {"a", "b", "c",
						   "d", "e", "f"};
	uint64_t seed = (uintptr_t)arg * 77 + 1;

	for (int i = 0; i < ROUNDS; i++) {
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

static void rows_stay_whole_under_writers(void **state)
{
	pthread_t w[WRITERS], r[2];

	(void)state;
	ts.options.write_buffer_bytes = 64 << 10;
	ts.options.table_file_bytes = 32 << 10;
	ts.options.cache_bytes = 256 << 10;
	assert_int_equal(temp_make(&ts), 0);
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
	assert_true(atomic_load(&read_rows) > 0);
	assert_int_equal(temp_remove(&ts), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_stay_whole_under_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
