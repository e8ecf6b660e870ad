/* Bare blocks: a full cache keeps where the values lie, and not the values. */
#include <pthread.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "store/lsm/table/sst_file.h"
#include "store/lsm/block/cache.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"

enum {
	COLUMNS = 4,
	VALUE_MAX = 3000
};

/*
 * Large values, and a cache that a bare one of each block fits into; small
 * ones, so that blocks hold many keys, and one that they do not fit into.
 */
struct shape {
	uint32_t cells;
	size_t len, cache;
	bool large;
};
static const struct shape roomy = {800, 300, 72 << 10, true};
static const struct shape tight = {4000, 60, 24 << 10, false};
static const struct shape *shape = &roomy;

static char folder[64];
static struct os_dir *dir;
static struct os *faulty;

static int setup(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/cellfs-bare-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	faulty = fault_new(os_posix());
	return os_dir_open(faulty, folder, false, &dir);
}

static int set_roomy(void **state)
{
	shape = &roomy;
	return 0;
}

static int set_tight(void **state)
{
	shape = &tight;
	return 0;
}

#define ROOMY(f) TEST_IN(f, set_roomy, NULL)
#define TIGHT(f) TEST_IN(f, set_tight, NULL)
#define BOTH(f)                                        \
	ADD_TEST(f, _in_a_tight_one, set_tight, NULL); \
	ROOMY(f)

static int forget(void *arg, const char *name)
{
	return os_unlink(dir, name);
}

static int teardown(void **state)
{
	os_dir_list(dir, forget, NULL);
	os_dir_close(dir);
	fault_free(faulty);
	return rmdir(folder);
}

ALL_TESTS_IN(setup, teardown);

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
	out->len = shape->len + i * 37 % (shape->len / 3 * 2);
	if (i % 7 == 0)
		out->len = 0;
	else if (i % 11 == 0 && shape->large)
		out->len = VALUE_MAX;
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
	for (uint32_t i = 0; i < shape->cells; i++) {
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

static void begin(struct fixture *f, uint8_t compression)
{
	static uint64_t number;
	const struct sst_options o = {.block_cache = true};

	write_file(++number, compression, &f->info);
	assert_int_equal(block_cache_new(shape->cache, &f->cache), 0);
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

	for (uint32_t i = 0; i < shape->cells; i++) {
		uint32_t k = i * 137 % shape->cells;

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
	return r == 0 && i == shape->cells ? 0 : -1;
}

BOTH(a_small_cache_comes_to_know_all_blocks)
{
	struct block_cache_stat before, after;
	struct fixture f = {0};

	begin(&f, COMPRESSION_NONE);
	assert_true(f.info.raw_bytes > 5 * shape->cache);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	before = stat_of(&f);
	assert_true(before.bare > 0);
	assert_true(before.bare + before.hollow > f.t->index.nblocks / 2);
	if (shape == &tight)
		assert_true(before.hollow > 0);
	assert_true(before.bytes <= before.bytes_max);
	get_all(&f);
	after = stat_of(&f);
	/* In the tight one what grows drives some out. */
	assert_in_range(after.misses - before.misses, 0,
			shape == &tight ? shape->cells / 100 : 0);
	assert_in_range(after.hits - before.hits, shape->cells * 99 / 100,
			shape->cells);
	end(&f);
}

BOTH(who_needs_all_values_gets_them)
{
	struct fixture f = {0};

	begin(&f, COMPRESSION_NONE);
	for (int pass = 0; pass < 3; pass++) {
		get_all(&f);
		assert_int_equal(scan_all(f.t), 0);
		assert_true(stat_of(&f).bytes <= shape->cache);
	}
	assert_true(stat_of(&f).bare > 0);
	end(&f);
}

ROOMY(what_is_read_often_comes_in_whole)
{
	struct fixture f = {0};
	struct buf hold = {0};
	uint64_t bare;

	begin(&f, COMPRESSION_NONE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	bare = stat_of(&f).bare;
	/* The last block is small. */
	for (int n = 0; n < 1100; n++)
		assert_int_equal(get(f.t, shape->cells - 1, &hold), 1);
	assert_true(is_right(shape->cells - 1, buf_bytes(&hold)));
	assert_true(stat_of(&f).bare < bare);
	assert_true(stat_of(&f).bytes <= shape->cache);
	buf_free(&hold);
	end(&f);
}

/* Those who scan read the same block: a directory that is listed again. */
ROOMY(what_is_scanned_often_comes_in_whole)
{
	struct fixture f = {0};
	struct block_cache_stat before;
	struct sst_cursor c;
	int n;

	begin(&f, COMPRESSION_NONE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	before = stat_of(&f);
	for (n = 0; n < 200; n++) {
		sst_cursor(f.t, &c);
		assert_int_equal(cursor_seek_row(&c.base, bytes_of(NULL, 0)),
				 1);
		cursor_close(&c.base);
	}
	assert_in_range(stat_of(&f).misses - before.misses, 0, 40);
	assert_in_range(stat_of(&f).hits - before.hits, n - 40, n);
	assert_true(stat_of(&f).bytes <= shape->cache);
	end(&f);
}

ROOMY(compressed_blocks_come_whole_or_not)
{
	struct fixture f = {0};

	begin(&f, COMPRESSION_ZLIB);
	get_all(&f);
	get_all(&f);
	assert_int_equal(stat_of(&f).bare, 0);
	end(&f);
}

/* The hollow block that comes next after number *i; there is one. */
static struct block *hollow_from(const struct fixture *f, uint32_t *i)
{
	struct block *b;

	for (uint32_t n = 0; n < f->t->index.nblocks; n++) {
		*i = (*i + 1) % f->t->index.nblocks;
		b = atomic_load(&f->t->slots.block[*i]);
		if (b && block_form(b) == BLOCK_HOLLOW)
			return b;
	}
	fail_msg("no block is hollow: %lu of %u bare",
		 (unsigned long)stat_of(f).bare, f->t->index.nblocks);
	return NULL;
}

TIGHT(what_is_hollow_and_read_often_comes_in_bare)
{
	struct fixture f = {0};
	struct buf hold = {0};
	struct block *b;
	uint32_t i = 0;
	int n;

	begin(&f, COMPRESSION_NONE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	b = hollow_from(&f, &i);
	/* A cell in the middle of it, about. */
	for (uint32_t k = 0; k < shape->cells; k++) {
		if (atomic_load(&f.t->slots.block[i]) != b)
			break;
		for (n = 0; n < 70; n++)
			assert_int_equal(get(f.t, k, &hold), 1);
	}
	b = atomic_load(&f.t->slots.block[i]);
	assert_non_null(b);
	assert_int_equal(block_form(b), BLOCK_BARE);
	assert_true(stat_of(&f).bytes <= shape->cache);
	buf_free(&hold);
	end(&f);
}

/* All right, or told; how many are told. */
static uint32_t get_damaged(struct fixture *f)
{
	char name[SST_NAME_LEN];
	struct buf hold = {0};
	uint32_t n = 0;

	sst_name(f->info.number, name);
	for (uint32_t k = 0; k < shape->cells; k++) {
		int r = get(f->t, k, &hold);

		if (r == 1) {
			assert_true(is_right(k, buf_bytes(&hold)));
			continue;
		}
		assert_int_equal(r, -EUCLEAN);
		assert_non_null(strstr(store_why(), name));
		n++;
	}
	buf_free(&hold);
	return n;
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

BOTH(a_value_that_changes_later_is_seen)
{
	struct fixture f = {0};
	uint64_t end_of_values;
	uint32_t i = 0;

	begin(&f, COMPRESSION_NONE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	/* A bare block's values lie in front of its trailer. */
	while (!atomic_load(&f.t->slots.block[i])->sums)
		assert_true(++i < f.t->index.nblocks);
	end_of_values =
		f.t->index.entries[i].offset + f.t->index.entries[i].stored_len;
	for (uint64_t at = 1; at < 3000; at += 500) {
		change(&f, end_of_values - at, 1);
		assert_in_range(get_damaged(&f), 1, shape->large ? 40 : 400);
		change(&f, end_of_values - at, 255);
	}
	get_all(&f);
	end(&f);
}

TIGHT(keys_that_change_later_are_seen)
{
	struct fixture f = {0};
	struct block *b;

	begin(&f, COMPRESSION_NONE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	for (uint32_t i = 0, n = 0; n < 20; n++) {
		uint64_t at;

		b = hollow_from(&f, &i);
		at = f.t->index.entries[i].offset + n * (b->front_len - 1) / 19;
		change(&f, at, 1);
		assert_true(get_damaged(&f) > 20);
		change(&f, at, 255);
	}
	get_all(&f);
	end(&f);
}

/* Without a mapping, and when a copy out of it fails. */
BOTH(what_cannot_be_mapped_is_read)
{
	static const unsigned kinds[] = {FAULT_MAP, FAULT_PREAD};
	struct fixture f;

	for (int i = 0; i < 2; i++) {
		const struct fault_plan plan = {
			.kinds = kinds[i],
			.nth = 1,
			.err = EIO,
			.forever = kinds[i] == FAULT_MAP,
		};

		f = (struct fixture){0};
		begin(&f, COMPRESSION_NONE);
		if (kinds[i] == FAULT_PREAD)
			get_all(&f);
		fault_arm(faulty, &plan);
		get_all(&f);
		assert_true(fault_fired(faulty) > 0);
		fault_disarm(faulty);
		end(&f);
	}
}

/* Nothing of a file that was cut short may end the process. */
BOTH(a_file_that_is_cut_short_is_told)
{
	struct fixture f = {0};
	struct os_file *file;
	char name[SST_NAME_LEN];

	begin(&f, COMPRESSION_NONE);
	for (int pass = 0; pass < 5; pass++)
		get_all(&f);
	sst_name(f.info.number, name);
	assert_int_equal(os_open(dir, name, OS_WRITE, &file), 0);
	assert_int_equal(os_truncate(file, f.info.file_bytes / 2), 0);
	assert_in_range(get_damaged(&f), shape->cells / 4,
			shape->cells * 3 / 4);
	os_close(file);
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
		uint32_t i = (n * 7919 + r->number * 101) % shape->cells;

		if (n % 1000 == 999)
			r->failed = scan_all(r->t) != 0;
		else
			r->failed = get(r->t, n % 3 ? i : 3, &hold) != 1 ||
				    !is_right(n % 3 ? i : 3, buf_bytes(&hold));
	}
	buf_free(&hold);
	return NULL;
}

BOTH(many_threads_read_bare_and_whole_blocks)
{
	struct reader readers[6];
	struct fixture f = {0};

	begin(&f, COMPRESSION_NONE);
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
	assert_true(stat_of(&f).bytes <= shape->cache);
	end(&f);
}
