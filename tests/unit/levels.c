/* Levels: which files make up a tree, and reading a level as one. */
#include <inttypes.h>

#include "tests/unit/unit.h"
#include "store/lsm/manifest/levels.h"
#include "store/lsm/block/cache.h"
#include "store/value/why.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/xorshift.h"

#define ROWS 60
#define QUALIFIERS 3

static struct os *os;
static struct os_dir *dir;
static struct block_cache *cache;

static int setup(void **state)
{
	os = sim_new(1);
	return os_dir_open(os, "/s", true, &dir) ||
	       block_cache_new(1 << 20, &cache);
}

static int teardown(void **state)
{
	block_cache_free(cache);
	os_dir_close(dir);
	sim_free(os);
	return 0;
}

ALL_TESTS_IN(setup, teardown);

static int calls_left = -1; /* of calloc() that find memory; -1 = all */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	if (calls_left == 0)
		return NULL;
	calls_left -= calls_left > 0;
	return __real_calloc(n, size);
}

static uint64_t rng_state = 88172645463325252ull;

static uint64_t below(uint64_t n)
{
	return xorshift(&rng_state) % n;
}

static const struct sst_options options = {
	.block_size = 256, .bloom = BLOOM_ROW, .block_cache = true};

static struct sstable *finish(struct sst_writer *w)
{
	struct sst_info info = {0};
	struct sstable *t = NULL;

	assert_int_equal(sst_writer_finish(w, &info), 0);
	sst_writer_free(w);
	assert_int_equal(sst_open(dir, &info, &options, cache, &t), 0);
	sst_info_free(&info);
	return t;
}

/* Rows are even numbers, so that there is a gap at each odd one. */
static struct bytes row_name(unsigned i, char out[8])
{
	snprintf(out, 8, "r%03u", i);
	return bytes_str(out);
}

static void add_row(struct sst_writer *w, unsigned i)
{
	struct entry marker = {.ts = 1, .seq = 1, .kind = CELL_DELETE_FAMILY};
	struct entry put = {.kind = CELL_PUT, .seq = i + 1};
	char row[8], qualifier[4];

	if (i % 5 == 0)
		assert_int_equal(
			sst_writer_add(w, row_name(2 * i, row), &marker), 0);
	for (unsigned q = 0; q <= i % QUALIFIERS; q++) {
		snprintf(qualifier, sizeof(qualifier), "q%u", q);
		put.qualifier = bytes_str(qualifier);
		put.value = bytes_str("a value of some length");
		for (put.ts = 3; put.ts > 1; put.ts--)
			assert_int_equal(
				sst_writer_add(w, row_name(2 * i, row), &put),
				0);
	}
}

/* Rows [from, to) of the story. */
static struct sstable *rows_file(uint64_t number, unsigned from, unsigned to)
{
	struct sst_writer *w = NULL;

	assert_int_equal(sst_writer_new(dir, number, &options, &w), 0);
	for (unsigned i = from; i < to; i++)
		add_row(w, i);
	return finish(w);
}

/* One cell in each of two rows, with that sequence. */
static struct sstable *file(uint64_t number, const char *min, const char *max,
			    uint64_t seq)
{
	struct entry e = {.ts = 1, .seq = seq, .kind = CELL_PUT};
	struct sst_writer *w = NULL;

	assert_int_equal(sst_writer_new(dir, number, &options, &w), 0);
	assert_int_equal(sst_writer_add(w, bytes_str(min), &e), 0);
	if (strcmp(min, max))
		assert_int_equal(sst_writer_add(w, bytes_str(max), &e), 0);
	return finish(w);
}

static struct levels *empty(void)
{
	struct levels *l = NULL;

	assert_int_equal(levels_new(&l), 0);
	return l;
}

/* Applies to *l and replaces it. Takes over the references of @added. */
static int apply(struct levels **l, const struct level_file *removed,
		 size_t nremoved, const struct level_file *added, size_t nadded)
{
	struct levels *next = NULL;
	int r = levels_apply(*l, removed, nremoved, added, nadded, &next);

	for (size_t i = 0; i < nadded; i++)
		sst_unref(added[i].file);
	if (r < 0)
		return r;
	levels_unref(*l);
	*l = next;
	return 0;
}

static void assert_numbers(const struct level *l, const char *numbers)
{
	char text[128] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < l->nfiles; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIu64,
				      i ? " " : "",
				      sst_info(l->files[i])->number);
	assert_string_equal(text, numbers);
}

static bool on_disk(uint64_t number)
{
	struct os_file *f = NULL;
	char name[32];

	snprintf(name, sizeof(name), "%" PRIu64 ".sst", number);
	if (os_open(dir, name, OS_READ, &f) < 0)
		return false;
	os_close(f);
	return true;
}

TEST(level_0_is_newest_first_and_others_by_row)
{
	struct levels *l = empty();
	struct level_file added[] = {
		{0, file(1, "a", "z", 10)}, {0, file(2, "a", "z", 30)},
		{1, file(3, "m", "p", 5)},  {1, file(4, "a", "c", 6)},
		{0, file(5, "b", "b", 20)}, {1, file(6, "d", "d", 7)},
	};

	assert_int_equal(apply(&l, NULL, 0, added, 6), 0);
	assert_numbers(&l->level[0], "2 5 1");
	assert_numbers(&l->level[1], "4 6 3");
	assert_int_equal(l->begin, 0);
	assert_int_equal(l->end, 2);
	assert_true(levels_bytes(l, 1) ==
		    sst_info(added[2].file)->file_bytes +
			    sst_info(added[3].file)->file_bytes +
			    sst_info(added[5].file)->file_bytes);
	assert_true(levels_bytes(l, 2) == 0);
	levels_unref(l);
}

TEST(overlapping_files_of_a_deeper_level_are_refused)
{
	struct levels *l = empty();
	struct level_file good = {1, file(11, "c", "f", 1)};
	struct level_file bad[] = {
		{1, file(12, "f", "k", 1)},	     {1, file(13, "a", "c", 1)},
		{1, file(14, "a", "z", 1)},	     {1, file(15, "d", "e", 1)},
		{LEVELS_MAX, file(16, "x", "y", 1)},
	};

	assert_int_equal(apply(&l, NULL, 0, &good, 1), 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(apply(&l, NULL, 0, &bad[i], 1), -EUCLEAN);
		assert_numbers(&l->level[1], "11");
	}
	assert_non_null(strstr(store_why(), "level"));
	levels_unref(l);
}

TEST(a_set_outlives_the_next_one)
{
	struct levels *l = empty(), *old;
	struct level_file first = {0, file(21, "a", "b", 1)};
	struct level_file second = {1, file(22, "a", "b", 1)};

	assert_int_equal(apply(&l, NULL, 0, &first, 1), 0);
	old = l;
	levels_ref(old);
	assert_int_equal(apply(&l, &first, 1, &second, 1), 0);
	sst_obsolete(first.file);
	assert_numbers(&l->level[0], "");
	assert_numbers(&l->level[1], "22");
	assert_numbers(&old->level[0], "21");
	assert_true(on_disk(21));
	levels_unref(old);
	assert_false(on_disk(21));
	assert_true(on_disk(22));
	levels_unref(l);
	levels_unref(NULL);
}

TEST(without_memory_nothing_is_applied)
{
	struct levels *l = empty(), *next = NULL;
	struct level_file added[] = {{0, file(23, "a", "b", 1)},
				     {1, file(24, "a", "b", 1)},
				     {1, file(25, "c", "d", 1)}};
	int r, failed = 0;

	for (;; failed++) {
		calls_left = failed;
		r = levels_apply(l, NULL, 0, added, 3, &next);
		calls_left = -1;
		if (r == 0)
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(next);
	}
	assert_true(failed >= 3);
	assert_numbers(&next->level[1], "24 25");
	for (int i = 0; i < 3; i++)
		sst_unref(added[i].file);
	levels_unref(next);
	levels_unref(l);
}

TEST(a_file_moves_between_levels)
{
	struct levels *l = empty();
	struct level_file from = {1, file(31, "a", "b", 1)}, to;

	assert_int_equal(apply(&l, NULL, 0, &from, 1), 0);
	to = (struct level_file){2, from.file};
	sst_ref(to.file);
	assert_int_equal(apply(&l, &from, 1, &to, 1), 0);
	assert_numbers(&l->level[1], "");
	assert_numbers(&l->level[2], "31");
	assert_int_equal(l->begin, 2);
	assert_int_equal(l->end, 3);
	levels_unref(l);
}

TEST(the_file_of_a_row_is_found)
{
	static const struct {
		const char *row;
		uint32_t at;
	} cases[] = {
		{"", 0},  {"a", 0}, {"b", 0}, {"c", 0}, {"d", 1},
		{"f", 1}, {"g", 1}, {"h", 2}, {"m", 2}, {"n", 3},
	};
	struct levels *l = empty();
	struct level_file added[] = {{1, file(41, "b", "c", 1)},
				     {1, file(42, "f", "g", 1)},
				     {1, file(43, "m", "m", 1)}};

	assert_int_equal(levels_find(&l->level[1], bytes_str("a")), 0);
	assert_int_equal(apply(&l, NULL, 0, added, 3), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			levels_find(&l->level[1], bytes_str(cases[i].row)),
			cases[i].at);
	levels_unref(l);
}

/* Their heads are equal, or equal but for what is padded. */
TEST(the_file_of_a_row_is_found_among_alike)
{
	static const struct {
		struct bytes row;
		uint32_t at;
	} cases[] = {
#define ROW(s) {(const uint8_t *)(s), sizeof(s) - 1}
		{ROW(""), 0},
		{ROW("o"), 0},
		{ROW("p"), 0},
		{ROW("pa"), 0},
		{ROW("pa\0"), 1},
		{ROW("paaaaaaaa"), 1},
		{ROW("paaaaaaaa3"), 1},
		{ROW("paaaaaaaa3\0"), 2},
		{ROW("paaaaaaaa7"), 2},
		{ROW("paaaaaaaa8"), 3},
		{ROW("paaaaaaaa\xff"), 3},
		{ROW("pz"), 3},
		{ROW("pz\0"), 4},
		{ROW("q"), 4},
#undef ROW
	};
	struct levels *l = empty();
	struct level_file added[] = {
		{1, file(44, "pA", "pa", 1)},
		{1, file(45, "paaaaaaaa1", "paaaaaaaa3", 1)},
		{1, file(46, "paaaaaaaa5", "paaaaaaaa7", 1)},
		{1, file(47, "pb", "pz", 1)},
	};

	assert_int_equal(apply(&l, NULL, 0, added, 4), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (levels_find(&l->level[1], cases[i].row) != cases[i].at)
			fail_msg("case %zu", i);
	levels_unref(l);
}

TEST(overlap_looks_at_deeper_levels_only)
{
	static const struct {
		int level;
		const char *min, *max;
		bool overlaps;
	} cases[] = {
		{-1, "a", "a", true},  {-1, "b", "e", false},
		{0, "a", "a", false},  {0, "f", "f", true},
		{0, "g", "g", true},   {0, "a", "e", false},
		{0, "h", "l", false},  {0, "e", "f", true},
		{0, "h", "z", true},   {1, "f", "g", false},
		{1, "a", "q", true},   {2, "a", "p", false},
		{3, "m", "m", false},  {6, "a", "z", false},
		{2, "r", "zz", false},
	};
	struct levels *l = empty();
	struct level_file added[] = {{0, file(51, "a", "a", 9)},
				     {1, file(52, "f", "g", 1)},
				     {2, file(53, "m", "q", 1)}};

	assert_int_equal(apply(&l, NULL, 0, added, 3), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (levels_overlap_below(
			    l, cases[i].level, bytes_str(cases[i].min),
			    bytes_str(cases[i].max)) != cases[i].overlaps)
			fail_msg("case %zu", i);
	levels_unref(l);
}

/* The story's rows, cut into files of random sizes. */
static struct levels *cut_story(uint64_t number)
{
	struct levels *l = empty();
	struct level_file added[ROWS];
	size_t n = 0;
	unsigned to;

	for (unsigned from = 0; from < ROWS; from = to) {
		to = from + 1 + (unsigned)below(ROWS / 4);
		to = to < ROWS ? to : ROWS;
		added[n] =
			(struct level_file){1, rows_file(number + n, from, to)};
		n++;
	}
	assert_int_equal(apply(&l, NULL, 0, added, n), 0);
	return l;
}

static void assert_same(struct cursor *a, struct cursor *b, int ra, int rb,
			const char *what)
{
	if (ra != rb)
		fail_msg("%s: %d, not %d", what, ra, rb);
	if (ra != 1)
		return;
	if (!bytes_eq(a->row, b->row) || entry_cmp(&a->at, &b->at) ||
	    !bytes_eq(a->at.value, b->at.value))
		fail_msg("%s: stands elsewhere", what);
}

/* A seek of either cursor to the same place. */
static int seek(struct cursor *c, unsigned how, struct bytes row)
{
	switch (how) {
	case 0:
		return cursor_seek_row(c, row);
	case 1:
		return cursor_seek_exact(c, row);
	case 2:
		return cursor_seek_back(c, row, false);
	case 3:
		return cursor_seek_back(c, row, true);
	default:
		return cursor_seek_back(c, bytes_str(""), how & 1);
	}
}

/* A walk of random legal calls beside a cursor over one file of all rows. */
static void walk(struct level_cursor *l, struct sst_cursor *one)
{
	struct cursor *a = &l->base, *b = &one->base;
	char row[8], qualifier[4];
	bool forward;
	unsigned how;
	int64_t ts;
	int ra, rb;

	row_name((unsigned)below(2 * ROWS + 2), row);
	how = (unsigned)below(6);
	ra = seek(a, how, bytes_str(row));
	rb = seek(b, how, bytes_str(row));
	assert_same(a, b, ra, rb, "seek");
	/* An exhausted row is still the current one. */
	while (ra == 1 && below(40)) {
		switch (below(4)) {
		case 0:
			ra = cursor_next_row(a);
			rb = cursor_next_row(b);
			assert_same(a, b, ra, rb, "next_row");
			break;
		case 1:
			ra = cursor_prev_row(a);
			rb = cursor_prev_row(b);
			assert_same(a, b, ra, rb, "prev_row");
			break;
		case 2:
			while (cursor_next(b) == 1) {
				assert_int_equal(cursor_next(a), 1);
				assert_same(a, b, 1, 1, "next");
				if (!below(3))
					goto more;
			}
			assert_int_equal(cursor_next(a), 0);
			forward = below(2);
			ra = forward ? cursor_next_row(a) : cursor_prev_row(a);
			rb = forward ? cursor_next_row(b) : cursor_prev_row(b);
			assert_same(a, b, ra, rb, "after the row's end");
			break;
		default:
			snprintf(qualifier, sizeof(qualifier), "q%d",
				 (int)below(QUALIFIERS));
			ts = (int64_t)below(5);
			ra = cursor_seek_column(a, bytes_str(qualifier), ts);
			rb = cursor_seek_column(b, bytes_str(qualifier), ts);
			assert_same(a, b, ra, rb, "seek_column");
			if (ra == 0) {
				ra = cursor_next_row(a);
				rb = cursor_next_row(b);
				assert_same(a, b, ra, rb, "behind column");
			}
			break;
		}
	more:;
	}
}

TEST(a_level_reads_like_one_file)
{
	struct sstable *all = rows_file(1000, 0, ROWS);

	for (uint64_t round = 0; round < 20; round++) {
		struct levels *l = cut_story(2000 + 100 * round);
		struct level_cursor c;
		struct sst_cursor one;

		level_cursor(&l->level[1], &c);
		c.no_fill = round & 1;
		sst_cursor(all, &one);
		for (int i = 0; i < 300; i++)
			walk(&c, &one);
		cursor_close(&c.base);
		cursor_close(&one.base);
		levels_unref(l);
	}
	sst_unref(all);
}

TEST(all_rows_come_in_both_directions)
{
	struct levels *l = cut_story(5000);
	struct level_cursor c;
	char row[8];
	unsigned i;
	int r;

	level_cursor(&l->level[1], &c);
	r = cursor_seek_row(&c.base, bytes_str(""));
	for (i = 0; r == 1; i++, r = cursor_next_row(&c.base))
		assert_true(bytes_eq(c.base.row, row_name(2 * i, row)));
	assert_int_equal(r, 0);
	assert_int_equal(i, ROWS);
	r = cursor_seek_back(&c.base, bytes_str(""), true);
	for (i = ROWS; r == 1; r = cursor_prev_row(&c.base))
		assert_true(bytes_eq(c.base.row, row_name(2 * --i, row)));
	assert_int_equal(r, 0);
	assert_int_equal(i, 0);
	cursor_close(&c.base);
	levels_unref(l);
}

TEST(an_empty_level_has_nothing)
{
	struct levels *l = empty();
	struct level_cursor c;

	level_cursor(&l->level[1], &c);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 0);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("a")), 0);
	assert_int_equal(cursor_seek_back(&c.base, bytes_str(""), true), 0);
	assert_int_equal(cursor_seek_back(&c.base, bytes_str("a"), true), 0);
	cursor_close(&c.base);
	levels_unref(l);
}
