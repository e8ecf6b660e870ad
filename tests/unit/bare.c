/* Bare blocks: a full cache keeps where the values lie, and not the values. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/lsm/sst_file.h"
#include "store/why.h"

enum {
	ROWS = 200,
	COLUMNS = 4,
	CELLS = ROWS * COLUMNS,
	CACHE = 72 << 10,
	VALUE_MAX = 3000,
};

static char folder[64];
static struct os_dir *dir;

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/cellfs-bare-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	return os_dir_open(os_posix(), folder, false, &dir);
}

static int forget(void *arg, const char *name)
{
	(void)arg;
	return os_unlink(dir, name);
}

static int teardown(void **state)
{
	(void)state;
	os_dir_list(dir, forget, NULL);
	os_dir_close(dir);
	return rmdir(folder);
}

/* -- a file ---------------------------------------------------------------- */

struct made {
	char row[16], qualifier[8];
	uint8_t value[VALUE_MAX];
	size_t len;
};

/* Lengths from none to some pieces. */
static void make(uint32_t i, struct made *out)
{
	snprintf(out->row, sizeof(out->row), "row%05u", i / COLUMNS * 2);
	snprintf(out->qualifier, sizeof(out->qualifier), "q%u", i % COLUMNS);
	out->len = i % 7 == 0	 ? 0
		   : i % 11 == 0 ? VALUE_MAX
				 : 300 + i * 37 % 200;
	for (size_t k = 0; k < out->len; k++)
		out->value[k] = (uint8_t)(i * 31 + k * 7 + k / 256);
}

static void write_file(uint64_t number, uint8_t compression,
		       struct sst_info *info)
{
	const struct sst_options o = {.block_size = 16 << 10,
				      .bloom = BLOOM_ROW,
				      .compression = compression};
	struct sst_writer *w;
	struct made m;

	assert_int_equal(sst_writer_new(dir, number, &o, &w), 0);
	for (uint32_t i = 0; i < CELLS; i++) {
		struct entry e = {.ts = 5, .kind = CELL_PUT};

		make(i, &m);
		e.qualifier = bytes_str(m.qualifier);
		e.value = bytes_of(m.value, m.len);
		assert_int_equal(sst_writer_add(w, bytes_str(m.row), &e), 0);
	}
	assert_int_equal(sst_writer_finish(w, info), 0);
	sst_writer_free(w);
}

struct fixture {
	struct sst_info info;
	struct block_cache *cache;
	struct sstable *t;
};

static void begin(struct fixture *f, uint64_t number, uint8_t compression)
{
	const struct sst_options o = {.block_cache = true};

	write_file(number, compression, &f->info);
	assert_int_equal(block_cache_new(CACHE, &f->cache), 0);
	assert_int_equal(sst_open(dir, &f->info, &o, f->cache, &f->t), 0);
}

static void end(struct fixture *f)
{
	sst_unref(f->t);
	block_cache_free(f->cache);
	sst_info_free(&f->info);
}

static struct block_cache_stat stat_of(const struct fixture *f)
{
	struct block_cache_stat st;

	block_cache_stat(f->cache, &st);
	return st;
}

/* As a get does; 1 and the value in @hold, or negative. */
static int get(struct sstable *t, uint32_t i, struct buf *hold)
{
	struct sst_cursor c;
	struct block_rows at;
	uint32_t cell;
	struct made m;
	int r;

	make(i, &m);
	sst_cursor(t, &c);
	c.bare = true;
	r = sst_cursor_find(&c, bytes_str(m.row), &at);
	if (r > 0) {
		cell = block_find_column(at.block,
					 block_row_cell(at.block, at.row),
					 block_row_cell(at.block, at.row + 1),
					 bytes_str(m.qualifier), INT64_MAX);
		r = sst_cursor_value(&c, cell, hold);
		r = r < 0 ? r : 1;
	}
	cursor_close(&c.base);
	return r;
}

static bool is_right(uint32_t i, struct bytes value)
{
	struct made m;

	make(i, &m);
	return bytes_eq(value, bytes_of(m.value, m.len));
}

static void get_all(struct fixture *f)
{
	struct buf hold = {0};

	for (uint32_t i = 0; i < CELLS; i++) {
		uint32_t k = i * 137 % CELLS;

		assert_int_equal(get(f->t, k, &hold), 1);
		assert_true(is_right(k, buf_bytes(&hold)));
	}
	buf_free(&hold);
}

static int scan_all(struct sstable *t)
{
	struct sst_cursor c;
	uint32_t i = 0;
	int r;

	sst_cursor(t, &c);
	r = cursor_seek_row(&c.base, bytes_of(NULL, 0));
	while (r > 0) {
		if (!is_right(i++, c.base.at.value))
			break;
		r = cursor_next(&c.base);
		if (r == 0)
			r = cursor_next_row(&c.base);
	}
	cursor_close(&c.base);
	return r == 0 && i == CELLS ? 0 : -1;
}

/* -- tests ----------------------------------------------------------------- */

static void a_small_cache_comes_to_know_all_blocks(void **state)
{
	struct block_cache_stat before, after;
	struct fixture f = {0};

	(void)state;
	begin(&f, 1, COMPRESSION_NONE);
	assert_true(f.info.raw_bytes > 5 * CACHE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	before = stat_of(&f);
	assert_true(before.bare > f.t->index.nblocks / 2);
	assert_true(before.bytes <= before.bytes_max);
	get_all(&f);
	after = stat_of(&f);
	assert_int_equal(after.misses, before.misses);
	assert_int_equal(after.hits, before.hits + CELLS);
	end(&f);
}

static void who_needs_all_values_gets_them(void **state)
{
	struct fixture f = {0};

	(void)state;
	begin(&f, 2, COMPRESSION_NONE);
	for (int pass = 0; pass < 3; pass++) {
		get_all(&f);
		assert_int_equal(scan_all(f.t), 0);
		assert_true(stat_of(&f).bytes <= CACHE);
	}
	assert_true(stat_of(&f).bare > 0);
	end(&f);
}

static void what_is_read_often_comes_in_whole(void **state)
{
	struct fixture f = {0};
	struct buf hold = {0};
	uint64_t bare;

	(void)state;
	begin(&f, 3, COMPRESSION_NONE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	bare = stat_of(&f).bare;
	/* The last block is small. */
	for (int n = 0; n < 1100; n++)
		assert_int_equal(get(f.t, CELLS - 1, &hold), 1);
	assert_true(is_right(CELLS - 1, buf_bytes(&hold)));
	assert_true(stat_of(&f).bare < bare);
	assert_true(stat_of(&f).bytes <= CACHE);
	buf_free(&hold);
	end(&f);
}

static void compressed_blocks_come_whole_or_not(void **state)
{
	struct fixture f = {0};

	(void)state;
	begin(&f, 4, COMPRESSION_ZLIB);
	get_all(&f);
	get_all(&f);
	assert_int_equal(stat_of(&f).bare, 0);
	end(&f);
}

/* Adds to the byte @at of the file. */
static void change(const struct fixture *f, uint64_t at, uint8_t by)
{
	char name[SST_NAME_LEN];
	struct os_file *file;
	uint8_t byte;

	sst_name(f->info.number, name);
	assert_int_equal(os_open(dir, name, OS_WRITE, &file), 0);
	assert_int_equal(os_pread(file, &byte, 1, at), 1);
	byte = (uint8_t)(byte + by);
	assert_int_equal(os_pwrite(file, &byte, 1, at), 0);
	os_close(file);
}

static void a_value_that_changes_later_is_seen(void **state)
{
	struct fixture f = {0};
	struct buf hold = {0};
	uint64_t end_of_values;
	uint32_t i = 0;
	int damaged;

	(void)state;
	begin(&f, 5, COMPRESSION_NONE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	/* A bare block's values lie in front of its trailer. */
	while (!atomic_load(&f.t->slots.block[i])->sums)
		assert_true(++i < f.t->index.nblocks);
	end_of_values =
		f.t->index.entries[i].offset + f.t->index.entries[i].stored_len;
	for (uint64_t at = 1; at < 3000; at += 500) {
		change(&f, end_of_values - at, 1);
		damaged = 0;
		for (uint32_t k = 0; k < CELLS; k++) {
			int r = get(f.t, k, &hold);

			if (r == -EUCLEAN) {
				assert_non_null(strstr(store_why(), "5.sst"));
				damaged++;
				continue;
			}
			assert_int_equal(r, 1);
			assert_true(is_right(k, buf_bytes(&hold)));
		}
		assert_in_range(damaged, 1, 20);
		change(&f, end_of_values - at, 255);
	}
	get_all(&f);
	buf_free(&hold);
	end(&f);
}

/* Nothing of a file that was cut short may end the process. */
static void a_file_that_is_cut_short_is_told(void **state)
{
	struct fixture f = {0};
	struct buf hold = {0};
	struct os_file *file;
	char name[SST_NAME_LEN];
	int gone = 0;

	(void)state;
	begin(&f, 7, COMPRESSION_NONE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	sst_name(f.info.number, name);
	assert_int_equal(os_open(dir, name, OS_WRITE, &file), 0);
	assert_int_equal(os_truncate(file, f.info.file_bytes / 2), 0);
	for (uint32_t k = 0; k < CELLS; k++) {
		int r = get(f.t, k, &hold);

		if (r == 1) {
			assert_true(is_right(k, buf_bytes(&hold)));
			continue;
		}
		assert_int_equal(r, -EUCLEAN);
		assert_non_null(strstr(store_why(), "7.sst"));
		gone++;
	}
	assert_in_range(gone, CELLS / 4, CELLS - CELLS / 4);
	os_close(file);
	buf_free(&hold);
	end(&f);
}

struct reader {
	pthread_t thread;
	struct sstable *t;
	uint32_t number;
	bool failed;
};

static void *reads(void *arg)
{
	struct reader *r = arg;
	struct buf hold = {0};

	for (uint32_t n = 0; !r->failed && n < 4000; n++) {
		uint32_t i = (n * 7919 + r->number * 101) % CELLS;

		if (n % 1000 == 999)
			r->failed = scan_all(r->t) != 0;
		else
			r->failed = get(r->t, n % 3 ? i : 3, &hold) != 1 ||
				    !is_right(n % 3 ? i : 3, buf_bytes(&hold));
	}
	buf_free(&hold);
	return NULL;
}

static void many_threads_read_bare_and_whole_blocks(void **state)
{
	struct reader readers[6];
	struct fixture f = {0};

	(void)state;
	begin(&f, 6, COMPRESSION_NONE);
	for (uint32_t i = 0; i < 6; i++) {
		readers[i] = (struct reader){.t = f.t, .number = i};
		assert_int_equal(pthread_create(&readers[i].thread, NULL, reads,
						&readers[i]),
				 0);
	}
	for (uint32_t i = 0; i < 6; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_false(readers[i].failed);
	}
	assert_true(stat_of(&f).bytes <= CACHE);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_cache_comes_to_know_all_blocks),
		cmocka_unit_test(who_needs_all_values_gets_them),
		cmocka_unit_test(what_is_read_often_comes_in_whole),
		cmocka_unit_test(compressed_blocks_come_whole_or_not),
		cmocka_unit_test(a_value_that_changes_later_is_seen),
		cmocka_unit_test(a_file_that_is_cut_short_is_told),
		cmocka_unit_test(many_threads_read_bare_and_whole_blocks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
