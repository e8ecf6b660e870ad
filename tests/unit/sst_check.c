/*
 * What a check of a table file says, of files that do not fit what is known of them,
 * part by part, and where the disk or memory does not allow it; and what stands for
 * a file that is lost.
 */
#include "tests/unit/unit.h"
#include "store/lsm/table/sst_file.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/alloc_fault.h"

#define ROWS 40

static struct world {
	struct os *sim, *os; /* @os: the same, whose calls may fail */
	struct os_dir *dir;
	struct sst_info info;
	struct sst_options o;
	char said[8192];
	int faults;
} the;

static void add(struct sst_writer *w, const char *row, uint8_t kind, int i)
{
	const struct entry e = {
		.qualifier = bytes_str(kind == CELL_DELETE_FAMILY ? "" : "q"),
		.ts = 100 + i,
		.seq = (uint64_t)(5 + i),
		.kind = kind,
		.ttl_ms = i == 7 ? 99 : 0,
		.value = kind == CELL_PUT ? bytes_str("value")
					  : (struct bytes){0}};

	assert_int_equal(sst_writer_add(w, bytes_str(row), &e), 0);
}

/* A file of some blocks, with markers, a ttl, and filters of rows and columns. */
static int setup(void **state)
{
	struct sst_writer *writer;
	char row[16];

	memset(&the, 0, sizeof(the));
	the.sim = sim_new(1);
	the.os = fault_new(the.sim);
	the.o = (struct sst_options){.block_size = 256, .bloom = BLOOM_ROWCOL};
	assert_int_equal(os_dir_open(the.os, "/store", true, &the.dir), 0);
	assert_int_equal(sst_writer_new(the.dir, 7, &the.o, &writer), 0);
	for (int i = 0; i < ROWS; i++) {
		snprintf(row, sizeof(row), "row%02d", i);
		if (i == 9)
			add(writer, row, CELL_DELETE_FAMILY, i);
		add(writer, row, i == 8 ? CELL_DELETE : CELL_PUT, i);
	}
	assert_int_equal(sst_writer_finish(writer, &the.info), 0);
	sst_writer_free(writer);
	return 0;
}

static int teardown(void **state)
{
	sst_info_free(&the.info);
	os_dir_close(the.dir);
	fault_free(the.os);
	sim_free(the.sim);
	return 0;
}

EACH_TEST_IN(setup, teardown);

static struct sstable *open_as(const struct sst_info *info)
{
	struct sstable *t;

	assert_int_equal(sst_open(the.dir, info, &the.o, NULL, &t), 0);
	return t;
}

static void hear(void *arg, const char *sentence)
{
	struct world *w = arg;
	size_t at = strlen(w->said);

	snprintf(w->said + at, sizeof(w->said) - at, "%s\n", sentence);
	w->faults++;
}

static void begin(void)
{
	the.said[0] = '\0';
	the.faults = 0;
	why_clear();
}

/* The faults of a file that is said to be as @info says. */
static int check_as(const struct sst_info *info)
{
	struct sstable *t = open_as(info);
	int r;

	begin();
	r = sst_check(t, NULL, hear, &the);
	assert_int_equal(r, the.faults);
	sst_unref(t);
	return r;
}

TEST(each_count_of_the_catalog_is_compared)
{
	uint64_t *const counts[] = {&the.info.entries,
				    &the.info.rows,
				    &the.info.markers,
				    &the.info.raw_bytes,
				    &the.info.seq_min,
				    &the.info.seq_max,
				    (uint64_t *)&the.info.ts_min,
				    (uint64_t *)&the.info.ts_max};

	assert_int_equal(check_as(&the.info), 0);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		++*counts[i];
		assert_int_equal(check_as(&the.info), 1);
		assert_non_null(strstr(the.said, "the catalog says"));
		--*counts[i];
	}
	the.info.has_ttl = !the.info.has_ttl;
	assert_int_equal(check_as(&the.info), 1);
	the.info.has_ttl = !the.info.has_ttl;
	assert_int_equal(check_as(&the.info), 0);
}

TEST(the_rows_that_the_catalog_names_are_compared)
{
	struct buf *ends[2];

	ends[0] = &the.info.row_min;
	ends[1] = &the.info.row_max;
	for (int i = 0; i < 2; i++) {
		uint8_t *last = ends[i]->data + ends[i]->len - 1;

		/* A wider range, which denies no row. */
		*last += i ? 1 : -1;
		assert_int_equal(check_as(&the.info), 1);
		assert_non_null(strstr(the.said, "ranges of rows"));
		*last -= i ? 1 : -1;
	}
}

/* As one would that was made for other rows. */
TEST(a_filter_that_denies_what_is_there_is_a_fault)
{
	struct sstable *t = open_as(&the.info);

	begin();
	memset((uint8_t *)(uintptr_t)t->columns.data, 0, t->columns.len);
	/* A row with a marker of the family may have any. */
	assert_int_equal(sst_check(t, NULL, hear, &the), ROWS - 1);
	assert_non_null(strstr(the.said, "denies a column"));
	assert_null(strstr(the.said, "denies a row"));
	begin();
	memset((uint8_t *)(uintptr_t)t->rows.data, 0, t->rows.len);
	assert_int_equal(sst_check(t, NULL, hear, &the), ROWS);
	assert_non_null(strstr(the.said, "denies a row"));
	assert_null(strstr(the.said, "denies a column"));
	sst_unref(t);
}

struct patience {
	int left;
	uint64_t bytes;
};

static bool went(void *arg, uint64_t bytes)
{
	struct patience *p = arg;

	p->bytes += bytes;
	return p->left-- > 0;
}

TEST(a_check_may_be_ended_behind_each_block)
{
	struct sstable *t = open_as(&the.info);
	int blocks = (int)t->index.nblocks;
	struct patience p;

	assert_true(blocks > 3);
	for (int n = 0; n <= blocks; n++) {
		p = (struct patience){.left = n};
		begin();
		assert_int_equal(sst_check(t, went, hear, &p), -ECANCELED);
	}
	p = (struct patience){.left = blocks + 1};
	assert_int_equal(sst_check(t, went, hear, &p), 0);
	assert_true(p.bytes == the.info.file_bytes);
	sst_unref(t);
}

/* Changes a byte of the file. */
static void harm(uint64_t at)
{
	struct os_file *f;
	uint8_t byte;

	assert_int_equal(os_open(the.dir, "7.sst", OS_WRITE, &f), 0);
	assert_int_equal(os_pread(f, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(os_pwrite(f, &byte, 1, at), 0);
	os_close(f);
}

/* All parts of at least @bytes, of which there are *n. */
static int check_parts(struct sstable *t, uint64_t bytes, int *n)
{
	uint64_t block = 0, read;
	int r;

	begin();
	*n = 0;
	do {
		r = sst_check_part(t, &block, bytes, &read, hear, &the);
		++*n;
	} while (r > 0);
	return r;
}

TEST(a_check_in_parts_finds_what_one_finds)
{
	struct sstable *t = open_as(&the.info);
	int blocks = (int)t->index.nblocks, n;

	assert_int_equal(check_parts(t, 1, &n), 0);
	assert_int_equal(n, blocks);
	assert_int_equal(check_parts(t, UINT64_MAX, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(the.faults, 0);
	harm(t->index.entries[1].offset + 5);
	harm(t->index.entries[3].offset + 5);
	assert_int_equal(check_parts(t, 1, &n), 0);
	assert_int_equal(n, blocks);
	assert_int_equal(the.faults, 2);
	/* What was read when it was opened is damaged now. */
	harm(the.info.file_bytes - 20);
	assert_int_equal(check_parts(t, 1, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(the.faults, 1);
	sst_unref(t);
}

/* What the disk refuses is a fault of the file; want is none. */
TEST(what_a_check_in_parts_cannot_read_is_told)
{
	struct sstable *t = open_as(&the.info);
	bool fired = true;

	for (uint64_t nth = 1; fired; nth++) {
		const int errnos[] = {EIO, EMFILE};

		for (int i = 0; i < 2; i++) {
			int n, r;

			fault_arm(the.os,
				  &(struct fault_plan){.kinds = FAULT_OPEN |
								FAULT_PREAD |
								FAULT_SIZE,
						       .nth = nth,
						       .err = errnos[i]});
			r = check_parts(t, 64, &n);
			fired = fault_fired(the.os) > 0;
			fault_disarm(the.os);
			assert_int_equal(r, fired && i ? -EMFILE : 0);
			assert_int_equal(the.faults, fired && !i);
		}
	}
	sst_unref(t);
}

static void hear_nothing(void *arg, const char *sentence)
{
	fail_msg("%s", sentence);
}

TEST(want_of_memory_is_no_fault_of_a_file)
{
	struct sstable *t = open_as(&the.info);
	uint64_t failed = 1;

	for (uint64_t nth = 1; failed; nth++) {
		uint64_t block = 0, read;
		int whole, part;

		alloc_arm(nth, 0);
		whole = sst_check(t, NULL, hear_nothing, NULL);
		failed = alloc_disarm();
		assert_int_equal(whole, failed ? -ENOMEM : 0);
		alloc_arm(nth, 0);
		part = sst_check_part(t, &block, UINT64_MAX, &read,
				      hear_nothing, NULL);
		assert_int_equal(part, alloc_disarm() ? -ENOMEM : 0);
	}
	sst_unref(t);
}

/* It holds the place of the file, or nothing is made. */
TEST(what_stands_for_a_lost_file_says_why)
{
	struct sstable *t = NULL;
	uint64_t failed = 1;

	for (uint64_t nth = 1; failed; nth++) {
		int r;

		(void)why(-EUCLEAN, "it was eaten");
		alloc_arm(nth, 0);
		r = sst_open_lost(the.dir, &the.info, &t);
		failed = alloc_disarm();
		assert_int_equal(r, failed ? -ENOMEM : 0);
	}
	assert_int_equal(sst_why_lost(t), -EUCLEAN);
	assert_string_equal(store_why(),
			    "7.sst: the whole file is damaged, "
			    "rows 'row00' to 'row39': it was eaten");
	assert_true(sst_is_damaged(t));
	/* Once. */
	assert_true(sst_tells_damage(t));
	assert_false(sst_tells_damage(t));
	sst_unref(t);
	t = open_as(&the.info);
	assert_int_equal(sst_why_lost(t), 0);
	assert_false(sst_tells_damage(t));
	sst_unref(t);
}

/* A sentence has room for a part of a key. */
TEST(long_rows_of_a_damaged_block_are_named_in_part)
{
	struct sst_writer *writer;
	struct sst_info info;
	struct sstable *t;
	struct block *b;
	char row[4001];

	memset(row, 'x', 4000);
	row[4000] = '\0';
	assert_int_equal(sst_writer_new(the.dir, 8, &the.o, &writer), 0);
	for (int i = 0; i < 4; i++) {
		row[0] = (char)('a' + i);
		add(writer, row, CELL_PUT, i);
	}
	assert_int_equal(sst_writer_finish(writer, &info), 0);
	sst_writer_free(writer);
	t = open_as(&info);
	assert_int_equal(sst_load(t, 1, NULL, true, &b), 0);
	block_free(b);
	(void)why(-EUCLEAN, "broken");
	assert_int_equal(sst_block_damaged(t, 1), -EUCLEAN);
	assert_non_null(strstr(store_why(), "rows 'bxxx"));
	assert_non_null(strstr(store_why(), ": broken"));
	assert_true(strlen(store_why()) < 600);
	sst_unref(t);
	sst_info_free(&info);
}
