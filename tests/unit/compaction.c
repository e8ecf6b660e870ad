/*
 * Compaction: the choice, over levels drawn as rows of ranges and sizes, and
 * the work, over files of a disk in memory.
 */
#include "tests/unit/unit.h"
#include "array_cursor.h"
#include "store/lsm/compaction/compaction.h"
#include "store/lsm/block/cache.h"
#include "store/lsm/merge/merge.h"
#include "store/lsm/table/sst_file.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/xorshift.h"

#define PUT CELL_PUT
#define NOW 1000

#define FILES_MAX 32
#define TEXT_MAX 512

/* A tree without files: only what is known of them. */
struct drawn {
	struct sstable tables[FILES_MAX];
	struct sstable *at[FILES_MAX];
	uint32_t n;
	struct levels levels;
};

/*
 * "a-c:10 d-h:20!5": two files, of rows a to c and d to h, of 10 and 20 bytes
 * (and as many entries), the second with 5 markers.
 */
static void draw(struct drawn *d, int level, const char *text)
{
	struct level *l = &d->levels.level[level];
	int used;

	l->files = &d->at[d->n];
	for (; *text; text += used) {
		struct sst_info *i = &d->tables[d->n].info;
		unsigned bytes, markers = 0;
		int more = 0;

		assert_int_equal(sscanf(text, " %*c-%*c:%u%n", &bytes, &used),
				 1);
		if (sscanf(text + used, "!%u%n", &markers, &more) == 1)
			used += more;
		while (*text == ' ') {
			text++;
			used--;
		}
		*i = (struct sst_info){
			.number = d->n + 1,
			.file_bytes = bytes,
			.entries = bytes,
			.markers = markers,
			.ts_max = 900,
			.row_min = {(uint8_t *)(uintptr_t)text, 1, 1},
			.row_max = {(uint8_t *)(uintptr_t)text + 2, 1, 1},
		};
		d->at[d->n] = &d->tables[d->n];
		d->n++;
		l->nfiles++;
	}
}

static const struct compaction_limits small_limits = {
	.level0_files = 4,
	.top_ratio = 10,
	.level1_bytes = 100,
	.ratio = 10,
	.file_bytes = 20,
	.rest_bytes = 10,
};

static const struct family_attrs plain = {
	.versions = 3,
	.ttl_ms = TTL_FOREVER,
	.new_version_behavior = true,
	.block_size = 4096,
	.bloom = BLOOM_ROW,
	.block_cache = true,
};

static size_t name_inputs(char *text, size_t n, const struct compaction *c,
			  int side)
{
	for (uint32_t i = 0; i < c->ninputs[side]; i++) {
		const struct sst_info *f = sst_info(c->inputs[side][i]);

		n += (size_t)snprintf(text + n, TEXT_MAX - n, " %c-%c",
				      f->row_min.data[0], f->row_max.data[0]);
	}
	return n;
}

static const char *name_choice(int r, struct compaction *c)
{
	static char text[TEXT_MAX];
	size_t n;

	assert_true(r >= 0);
	if (r == 0)
		return "none";
	n = (size_t)sprintf(text, "%d>%d%s", c->from, c->to,
			    c->trivial ? " move" : "");
	n = name_inputs(text, n, c, 0);
	if (c->ninputs[1]) {
		n += (size_t)snprintf(text + n, TEXT_MAX - n, " with");
		name_inputs(text, n, c, 1);
	}
	compaction_release(c);
	return text;
}

static const char *choice_within(struct drawn *d,
				 const struct compaction_limits *limits,
				 const struct family_attrs *attrs)
{
	struct compaction c = {0};
	int r = compaction_pick(&d->levels, limits, NOW, attrs, &c);

	assert_int_equal(r, compaction_score(&d->levels, limits) >= 1);
	return name_choice(r, &c);
}

static const char *choice(struct drawn *d, const struct family_attrs *attrs)
{
	return choice_within(d, &small_limits, attrs);
}

/* Where readers step over markers. */
static const char *choice_passed(struct drawn *d,
				 const struct family_attrs *attrs)
{
	struct compaction_limits limits = small_limits;

	limits.passed = true;
	return choice_within(d, &limits, attrs);
}

static const char *choice_at_rest(struct drawn *d,
				  const struct family_attrs *attrs)
{
	struct compaction c = {0};

	return name_choice(
		compaction_pick_rest(&d->levels, &small_limits, attrs, &c), &c);
}

static const char *choice_of_all(struct drawn *d)
{
	struct compaction c = {0};

	return name_choice(compaction_pick_all(&d->levels, &c), &c);
}

/* The same on a full disk; of level 0 alone up to @part bytes. */
static const char *choice_when_full(struct drawn *d, uint64_t space,
				    uint64_t part, bool daring)
{
	static char text[2 * TEXT_MAX];
	struct compaction c = {0};
	int r = compaction_pick_full(&d->levels, space, part, daring, &c);
	char under[TEXT_MAX] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < c.nmasks; i++)
		n += (size_t)sprintf(under + n, " under %c-%c",
				     sst_info(c.masks[i])->row_min.data[0],
				     sst_info(c.masks[i])->row_max.data[0]);
	daring = c.daring;
	snprintf(text, sizeof(text), "%s%s%s", daring ? "daring " : "",
		 name_choice(r, &c), under);
	return text;
}

static void nothing_is_done_below_the_triggers(void **state)
{
	struct drawn d = {0};

	assert_string_equal(choice(&d, &plain), "none");
	draw(&d, 0, "a-f:10 c-k:10 b-d:10");
	draw(&d, 1, "a-c:40 d-h:59");
	draw(&d, 2, "a-z:999");
	assert_string_equal(choice(&d, &plain), "none");
}

static void level_0_goes_at_once_with_what_it_overlaps(void **state)
{
	struct drawn d = {0};

	draw(&d, 0, "d-f:10 e-k:10 e-g:10 d-e:10");
	draw(&d, 1, "a-c:10 d-d:10 f-i:10 k-m:10 n-z:10");
	assert_string_equal(choice(&d, &plain),
			    "0>1 d-f e-k e-g d-e with d-d f-i k-m");
}

static void what_is_due_is_told_in_bytes(void **state)
{
	struct drawn none = {0}, d = {0}, deletes = {0};

	draw(&none, 0, "d-f:10 e-k:10 e-g:10");
	draw(&none, 1, "a-c:40 d-h:59");
	draw(&none, 2, "a-z:999");
	assert_int_equal(compaction_pending(&none.levels, &small_limits), 0);
	draw(&d, 0, "d-f:10 e-k:10 e-g:10 a-b:7");
	draw(&d, 1, "a-c:40 d-h:59 i-m:31");
	draw(&d, 2, "a-z:999");
	assert_int_equal(compaction_pending(&d.levels, &small_limits), 37 + 30);
	draw(&deletes, 1, "a-c:40!30");
	draw(&deletes, 2, "a-z:999");
	assert_int_equal(compaction_pending(&deletes.levels, &small_limits),
			 40);
}

static void the_oldest_of_level_0_moves_where_it_is_alone(void **state)
{
	struct drawn d = {0}, under = {0}, beside = {0}, zlib = {0};
	struct family_attrs a = plain;

	draw(&d, 0, "p-q:10 n-o:10 l-m:10 j-k:10");
	draw(&d, 1, "a-c:10 d-i:10");
	assert_string_equal(choice(&d, &plain), "0>1 move j-k");
	draw(&under, 0, "p-q:10 n-o:10 l-m:10 j-k:10");
	draw(&under, 1, "a-c:10 d-j:10");
	assert_string_equal(choice(&under, &plain),
			    "0>1 p-q n-o l-m j-k with d-j");
	draw(&beside, 0, "p-q:10 n-o:10 i-j:10 j-k:10");
	assert_string_equal(choice(&beside, &plain), "0>1 p-q n-o i-j j-k");
	/* What is to be compressed has to be written anew. */
	a.compression = COMPRESSION_ZLIB;
	draw(&zlib, 0, "p-q:10 n-o:10 l-m:10 j-k:10");
	assert_string_equal(choice(&zlib, &a), "0>1 p-q n-o l-m j-k");
}

static void of_a_deeper_level_goes_what_costs_least(void **state)
{
	struct drawn d = {0};

	draw(&d, 1, "a-c:50 d-h:50 i-m:50");
	draw(&d, 2, "a-b:90 c-d:90 e-e:60 j-k:60 l-l:20 n-z:5");
	assert_string_equal(choice(&d, &plain), "1>2 i-m with j-k l-l");
}

static void the_level_that_is_most_over_goes_first(void **state)
{
	struct drawn d = {0};

	draw(&d, 0, "a-f:10 c-k:10 b-d:10 b-e:10 a-c:10");
	draw(&d, 1, "a-c:110");
	draw(&d, 2, "a-c:1600 d-h:900");
	draw(&d, 3, "a-b:10");
	assert_string_equal(choice(&d, &plain), "2>3 move d-h");
}

static void what_overlaps_nothing_moves_unless_it_would_shrink(void **state)
{
	struct drawn bottom = {0}, middle = {0};

	draw(&bottom, 1, "a-c:400!1");
	assert_string_equal(choice(&bottom, &plain), "1>2 a-c");
	/* Its markers may hide what lies deeper: rewriting keeps them. */
	draw(&middle, 1, "a-c:110!1");
	draw(&middle, 3, "b-b:10");
	assert_string_equal(choice(&middle, &plain), "1>2 move a-c");
}

static void what_deletes_or_expired_goes_before_what_costs_less(void **state)
{
	struct drawn d = {0}, t = {0};
	struct family_attrs a = plain;

	draw(&d, 1, "a-c:50 d-h:50!20 i-m:50");
	draw(&d, 2, "a-b:10 d-d:500 j-k:60");
	assert_string_equal(choice(&d, &plain), "1>2 d-h with d-d");
	draw(&t, 1, "a-c:50 d-h:50!20 i-m:50");
	draw(&t, 2, "a-b:10 d-d:500 j-k:60");
	a.ttl_ms = 99;
	t.tables[0].info.ts_max = 950;
	t.tables[1].info.ts_max = 950;
	assert_string_equal(choice(&t, &a), "1>2 i-m with j-k");
	a.min_versions = 1;
	assert_string_equal(choice(&t, &a), "1>2 d-h with d-d");
}

/* Rows that ascend with time: nothing lies under what expires. */
static void what_has_expired_whole_is_dropped_and_not_moved(void **state)
{
	struct drawn d = {0}, over = {0}, top = {0};
	struct family_attrs a = plain;

	a.ttl_ms = 150;
	draw(&d, 1, "a-c:50 d-h:50 i-m:50");
	draw(&d, 2, "n-o:500");
	assert_string_equal(choice(&d, &a), "1>2 move a-c");
	d.tables[1].info.ts_max = 800;
	assert_string_equal(choice(&d, &a), "1>2 d-h");
	d.levels.level[1].nfiles = 2;
	assert_string_equal(choice_at_rest(&d, &a), "1>2 move d-h");
	/* It may have replaced or pushed out what lies deeper. */
	draw(&over, 1, "a-c:50 d-h:60");
	draw(&over, 3, "d-d:900");
	over.tables[1].info.ts_max = 800;
	assert_string_equal(choice(&over, &a), "1>2 move d-h");
	draw(&top, 0, "g-h:5 e-f:5 c-d:5 a-b:5");
	assert_string_equal(choice(&top, &a), "0>1 move a-b");
	top.tables[3].info.ts_max = 800;
	assert_string_equal(choice(&top, &a), "0>1 a-b");
}

static void what_mostly_deletes_goes_though_its_level_is_small(void **state)
{
	struct drawn d = {0}, few = {0}, nothing = {0}, deep = {0};

	draw(&d, 0, "a-f:10!6");
	draw(&d, 1, "c-k:10");
	assert_string_equal(choice(&d, &plain), "0>1 a-f with c-k");
	draw(&few, 0, "a-f:10!5");
	draw(&few, 1, "c-k:10");
	assert_string_equal(choice(&few, &plain), "none");
	/* What it deletes is gone already. */
	draw(&nothing, 0, "a-f:10!10");
	draw(&nothing, 1, "k-l:10");
	assert_string_equal(choice(&nothing, &plain), "none");
	draw(&deep, 1, "a-c:10 d-h:10!9");
	draw(&deep, 3, "g-z:10");
	assert_string_equal(choice(&deep, &plain), "1>2 move d-h");
}

static void of_what_readers_step_over_less_is_enough(void **state)
{
	struct drawn d = {0}, few = {0}, nothing = {0}, deep = {0};

	draw(&d, 0, "a-f:32!3");
	draw(&d, 1, "c-k:10");
	assert_string_equal(choice(&d, &plain), "none");
	assert_string_equal(choice_passed(&d, &plain), "0>1 a-f with c-k");
	draw(&few, 0, "a-f:32!2");
	draw(&few, 1, "c-k:10");
	assert_string_equal(choice_passed(&few, &plain), "none");
	draw(&nothing, 0, "a-f:32!32");
	draw(&nothing, 1, "k-l:10");
	assert_string_equal(choice_passed(&nothing, &plain), "none");
	/* The one with the markers, though others cost less. */
	draw(&deep, 1, "a-c:32 d-h:32!3");
	draw(&deep, 2, "a-a:1 d-z:30");
	assert_string_equal(choice(&deep, &plain), "none");
	assert_string_equal(choice_passed(&deep, &plain), "1>2 d-h with d-z");
}

static void the_deepest_level_grows_before_another_opens(void **state)
{
	struct drawn below = {0}, over = {0}, due = {0}, under = {0};

	draw(&below, 1, "a-c:200 d-h:199");
	assert_string_equal(choice(&below, &plain), "none");
	draw(&over, 1, "a-c:200 d-h:200");
	assert_string_equal(choice(&over, &plain), "1>2 move a-c");
	/* A level above a large one is a tenth of it. */
	draw(&under, 1, "a-c:150 d-h:149");
	draw(&under, 2, "a-z:3000");
	assert_string_equal(choice(&under, &plain), "none");
	draw(&due, 1, "a-c:150 d-h:149");
	draw(&due, 2, "a-z:2990");
	assert_string_equal(choice(&due, &plain), "1>2 a-c with a-z");
}

static void level_0_passes_an_empty_level_that_would_be_rewritten(void **state)
{
	struct drawn d = {0}, much = {0}, beside = {0};

	draw(&d, 0, "d-f:10 e-k:10 e-g:10 d-e:10");
	draw(&d, 3, "a-z:400");
	assert_string_equal(choice(&d, &plain), "0>3 d-f e-k e-g d-e with a-z");
	draw(&much, 0, "d-f:10 e-k:10 e-g:10 d-e:10");
	draw(&much, 3, "a-z:401");
	assert_string_equal(choice(&much, &plain), "0>1 d-f e-k e-g d-e");
	draw(&beside, 0, "d-f:10 e-k:10 e-g:10 d-e:10");
	draw(&beside, 3, "l-z:40");
	assert_string_equal(choice(&beside, &plain), "0>1 d-f e-k e-g d-e");
}

static void little_over_much_is_merged_with_itself(void **state)
{
	struct drawn run = {0}, all = {0}, deletes = {0};

	draw(&run, 0, "d-f:1 e-k:1 e-g:2 d-e:30");
	draw(&run, 1, "a-z:341");
	assert_string_equal(choice(&run, &plain), "0>0 d-f e-k e-g");
	draw(&all, 0, "d-f:1 e-k:2 e-g:4 d-e:8");
	draw(&all, 1, "a-z:151");
	assert_string_equal(choice(&all, &plain), "0>0 d-f e-k e-g d-e");
	/* What deletes would delete no more. */
	draw(&deletes, 0, "d-f:1!1 e-k:1 e-g:1 d-e:1");
	draw(&deletes, 1, "a-z:99");
	assert_string_equal(choice(&deletes, &plain),
			    "0>1 d-f e-k e-g d-e with a-z");
}

static void level_0_waits_for_company_unless_at_rest(void **state)
{
	struct compaction_limits limits = small_limits;
	struct drawn little = {0}, enough = {0};
	struct compaction c = {0};

	limits.top_ratio = 3;
	draw(&little, 0, "d-f:10 e-k:10 e-g:10 d-e:10");
	draw(&little, 1, "a-z:121");
	assert_string_equal(choice_within(&little, &limits, &plain),
			    "0>0 d-f e-k e-g d-e");
	draw(&enough, 0, "d-f:10 e-k:10 e-g:10 d-e:10");
	draw(&enough, 1, "a-z:120");
	assert_string_equal(choice_within(&enough, &limits, &plain),
			    "0>1 d-f e-k e-g d-e with a-z");
	assert_string_equal(
		name_choice(compaction_pick_rest(&little.levels, &limits,
						 &plain, &c),
			    &c),
		"0>1 d-f e-k e-g d-e with a-z");
}

static void at_rest_level_0_goes_with_what_it_is_worth(void **state)
{
	struct drawn empty = {0}, few = {0}, with = {0}, deep = {0};
	struct drawn much = {0}, one = {0}, little = {0};

	assert_string_equal(choice_at_rest(&empty, &plain), "none");
	draw(&little, 0, "a-f:5 c-k:4");
	draw(&little, 1, "a-c:50");
	assert_string_equal(choice_at_rest(&little, &plain), "none");
	draw(&few, 0, "a-f:10 c-k:10");
	assert_string_equal(choice_at_rest(&few, &plain), "0>1 a-f c-k");
	draw(&with, 0, "a-f:10");
	draw(&with, 1, "a-c:50 d-h:50 i-m:50");
	assert_string_equal(choice_at_rest(&with, &plain),
			    "0>1 a-f with a-c d-h");
	draw(&deep, 0, "a-f:10 c-h:10");
	draw(&deep, 2, "a-c:50 d-h:50 i-m:50");
	assert_string_equal(choice_at_rest(&deep, &plain),
			    "0>2 a-f c-h with a-c d-h");
	draw(&much, 0, "a-f:10 c-d:10 b-e:30");
	draw(&much, 1, "a-c:250 d-h:251");
	assert_string_equal(choice_at_rest(&much, &plain), "0>0 a-f c-d");
	draw(&one, 0, "a-f:10 b-e:30");
	draw(&one, 1, "a-c:250 d-h:251");
	assert_string_equal(choice_at_rest(&one, &plain), "none");
}

static void at_rest_a_file_alone_moves_but_is_not_rewritten(void **state)
{
	struct drawn d = {0};
	struct family_attrs a = plain;

	draw(&d, 0, "p-q:10 n-o:10");
	draw(&d, 1, "a-c:10 d-i:10");
	assert_string_equal(choice_at_rest(&d, &plain), "0>1 move n-o");
	d.levels.level[0].nfiles = 1;
	assert_string_equal(choice_at_rest(&d, &plain), "0>1 move p-q");
	a.compression = COMPRESSION_ZLIB;
	assert_string_equal(choice_at_rest(&d, &a), "none");
}

static void at_rest_deeper_files_go_where_little_lies_under_them(void **state)
{
	struct drawn d = {0}, last = {0}, much = {0};

	draw(&d, 1, "a-c:10 d-h:10 i-k:10");
	draw(&d, 2, "a-b:100 d-e:90 i-j:101");
	assert_string_equal(choice_at_rest(&d, &plain), "1>2 d-h with d-e");
	draw(&much, 1, "a-c:10");
	draw(&much, 2, "a-b:101");
	assert_string_equal(choice_at_rest(&much, &plain), "none");
	draw(&last, 2, "a-b:100 d-e:90");
	assert_string_equal(choice_at_rest(&last, &plain), "none");
}

static void a_major_one_takes_everything_to_the_last_level(void **state)
{
	struct drawn empty = {0}, top = {0}, all = {0}, last = {0};

	assert_string_equal(choice_of_all(&empty), "none");
	draw(&top, 0, "a-f:10 c-k:10");
	assert_string_equal(choice_of_all(&top), "0>1 a-f c-k");
	draw(&all, 0, "a-f:10");
	draw(&all, 1, "a-c:10 d-h:10");
	draw(&all, 3, "b-d:10 p-z:10");
	assert_string_equal(choice_of_all(&all),
			    "0>3 a-f a-c d-h with b-d p-z");
	draw(&last, 2, "b-d:10 p-z:10");
	assert_string_equal(choice_of_all(&last), "2>2 b-d p-z");
}

static void on_a_full_disk_level_0_goes_if_it_fits(void **state)
{
	struct drawn alone = {0}, top = {0}, all = {0};

	draw(&alone, 0, "a-f:10");
	assert_string_equal(choice_when_full(&alone, 99, 99, true), "none");
	alone.tables[0].info.markers = 1;
	assert_string_equal(choice_when_full(&alone, 10, 0, false), "0>1 a-f");
	draw(&top, 0, "c-f:10 a-k:10");
	assert_string_equal(choice_when_full(&top, 20, 0, false),
			    "0>1 c-f a-k");
	assert_string_equal(choice_when_full(&top, 19, 99, false), "none");
	assert_string_equal(choice_when_full(&top, 19, 99, true),
			    "daring 0>1 c-f a-k");
	draw(&all, 0, "c-f:10 b-k:10");
	draw(&all, 2, "a-a:10 b-b:10 d-d:10 k-m:10 n-z:10");
	assert_string_equal(choice_when_full(&all, 50, 0, false),
			    "0>2 c-f b-k with b-b d-d k-m");
	assert_string_equal(choice_when_full(&all, 49, 0, false), "none");
}

static void on_a_full_disk_files_lose_what_is_deleted_above(void **state)
{
	struct drawn d = {0}, later = {0};

	draw(&d, 2, "a-c:20 d-g:10 h-k:10 n-z:10");
	draw(&d, 1, "b-b:60 h-h:60");
	assert_string_equal(choice_when_full(&d, 99, 0, true), "none");
	draw(&d, 0, "a-b:50!1 g-g:50!1 k-m:50!1");
	assert_string_equal(choice_when_full(&d, 99, 0, false),
			    "1>1 b-b under a-b");
	assert_string_equal(choice_when_full(&d, 20, 0, false),
			    "2>2 a-c under a-b under b-b");
	assert_string_equal(choice_when_full(&d, 19, 0, false),
			    "2>2 d-g under g-g");
	assert_string_equal(choice_when_full(&d, 9, 0, false), "none");
	assert_string_equal(choice_when_full(&d, 9, 0, true),
			    "daring 0>1 a-b g-g k-m with b-b h-h");
	/* What was written after a marker came to lie under it has met it. */
	draw(&later, 0, "a-b:50!1");
	draw(&later, 1, "a-c:10");
	assert_string_equal(choice_when_full(&later, 20, 0, false), "none");
}

static void on_a_full_disk_neighbours_of_level_0_are_merged(void **state)
{
	struct drawn d = {0};

	draw(&d, 0, "a-f:30 c-k:5 d-e:6 f-z:7");
	assert_string_equal(choice_when_full(&d, 40, 13, false), "0>0 c-k d-e");
	assert_string_equal(choice_when_full(&d, 40, 18, false),
			    "0>0 c-k d-e f-z");
	assert_string_equal(choice_when_full(&d, 11, 18, false), "0>0 c-k d-e");
	assert_string_equal(choice_when_full(&d, 10, 18, false), "none");
	d.tables[0].info.file_bytes = 1;
	assert_string_equal(choice_when_full(&d, 11, 18, false), "0>0 a-f c-k");
}

/* The n-th from now on fails; 0: none. */
static unsigned no_memory_at;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	if (no_memory_at && --no_memory_at == 0)
		return NULL;
	return __real_calloc(n, size);
}

static void a_choice_without_memory_is_none(void **state)
{
	struct compaction c = {0};
	struct drawn d = {0};

	draw(&d, 0, "a-f:10 c-k:10");
	for (unsigned n = 1; n <= 3; n++) {
		no_memory_at = n;
		assert_int_equal(
			compaction_pick_full(&d.levels, 99, 0, false, &c),
			-ENOMEM);
		assert_int_equal(no_memory_at, 0);
	}
	assert_null(c.inputs[0]);
}

struct world {
	struct os *os;
	struct os *faulty;
	struct os_dir *dir;
	struct block_cache *cache;
	struct levels *levels;
	struct family_attrs attrs;
	struct compaction_limits limits;
	uint64_t number;
	uint64_t snapshots[2];
	size_t nsnapshots;
	bool stop;
};

static uint64_t next_number(void *arg)
{
	return ++((struct world *)arg)->number;
}

static bool stop_now(void *arg)
{
	return ((struct world *)arg)->stop;
}

static void world_open(struct world *w)
{
	*w = (struct world){
		.attrs = plain,
		.limits = {.level0_files = 2,
			   .top_ratio = 2,
			   .level1_bytes = 4096,
			   .ratio = 2,
			   .file_bytes = 1024},
	};
	w->attrs.block_size = 1024;
	w->os = sim_new(1);
	w->faulty = fault_new(w->os);
	assert_non_null(w->faulty);
	assert_int_equal(os_dir_open(w->faulty, "store", true, &w->dir), 0);
	assert_int_equal(block_cache_new(1 << 20, &w->cache), 0);
	assert_int_equal(levels_new(&w->levels), 0);
}

static void world_close(struct world *w)
{
	levels_unref(w->levels);
	block_cache_free(w->cache);
	os_dir_close(w->dir);
	fault_free(w->faulty);
	sim_free(w->os);
}

static int count_file(void *arg, const char *name)
{
	++*(size_t *)arg;
	return 0;
}

static size_t files_on_disk(struct world *w)
{
	size_t n = 0;

	assert_int_equal(os_dir_list(w->dir, count_file, &n), 0);
	return n;
}

static size_t files_in_levels(const struct world *w)
{
	size_t n = 0;

	for (int i = 0; i < LEVELS_MAX; i++)
		n += w->levels->level[i].nfiles;
	return n;
}

static void install(struct world *w, const struct level_file *removed,
		    size_t nremoved, const struct level_file *added,
		    size_t nadded)
{
	struct levels *next;

	assert_int_equal(levels_apply(w->levels, removed, nremoved, added,
				      nadded, &next),
			 0);
	levels_unref(w->levels);
	w->levels = next;
}

static int flush(struct world *w, const struct array_cell *cells, size_t n)
{
	struct array_cursor c;
	struct flush_job j = {
		.dir = w->dir,
		.cache = w->cache,
		.from = &c.base,
		.levels = w->levels,
		.attrs = &w->attrs,
		.now_ms = NOW,
		.snapshots = w->snapshots,
		.nsnapshots = w->nsnapshots,
		.number = next_number,
		.arg = w,
	};
	int r;

	array_cursor(&c, cells, n);
	r = flush_run(&j);
	history_free(&j.lost);
	if (r == 0 && j.output) {
		struct level_file f = {0, j.output};

		install(w, NULL, 0, &f, 1);
		sst_unref(j.output);
	}
	return r;
}

/* Runs one and installs its outputs. */
static int compact(struct world *w, struct compaction *c)
{
	struct level_file removed[256], added[256];
	size_t nremoved = 0, nadded = 0;
	struct compaction_job j = {
		.dir = w->dir,
		.cache = w->cache,
		.levels = w->levels,
		.what = c,
		.limits = &w->limits,
		.attrs = &w->attrs,
		.now_ms = NOW,
		.snapshots = w->snapshots,
		.nsnapshots = w->nsnapshots,
		.number = next_number,
		.stop = stop_now,
		.arg = w,
	};
	int r = c->trivial ? 0 : compaction_run(&j);

	history_free(&j.lost);

	if (r < 0) {
		assert_int_equal(j.noutputs, 0);
		return r;
	}
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < c->ninputs[side]; i++)
			removed[nremoved++] = (struct level_file){
				(uint8_t)c->from, c->inputs[side][i]};
	for (uint32_t i = 0; i < j.noutputs; i++)
		added[nadded++] =
			(struct level_file){(uint8_t)c->to, j.outputs[i]};
	if (c->trivial)
		added[nadded++] =
			(struct level_file){(uint8_t)c->to, c->inputs[0][0]};
	for (size_t i = 0; !c->trivial && i < nremoved; i++)
		sst_obsolete(removed[i].file);
	install(w, removed, nremoved, added, nadded);
	for (uint32_t i = 0; i < j.noutputs; i++)
		sst_unref(j.outputs[i]);
	free(j.outputs);
	return 0;
}

static int compact_if_due(struct world *w)
{
	struct compaction c;
	int r = compaction_pick(w->levels, &w->limits, NOW, &w->attrs, &c);

	if (r <= 0)
		return r;
	r = compact(w, &c);
	compaction_release(&c);
	return r < 0 ? r : 1;
}

/* Until nothing is left to do, which must come. */
static void compact_at_rest(struct world *w)
{
	struct compaction c;
	int most = 1000;

	while (compaction_pick_rest(w->levels, &w->limits, &w->attrs, &c) > 0) {
		assert_true(most-- > 0);
		assert_int_equal(compact(w, &c), 0);
		compaction_release(&c);
	}
}

static int compact_all(struct world *w)
{
	struct compaction c;
	int r = compaction_pick_all(w->levels, &c);

	if (r <= 0)
		return r;
	r = compact(w, &c);
	compaction_release(&c);
	return r;
}

#define SOURCES_MAX 64

/* All entries of the tree, or what is visible: "row/q:ts.seq " each. */
static void dump(struct world *w, uint64_t seq_max, bool visible,
		 struct buf *out)
{
	struct sst_cursor files[SOURCES_MAX];
	struct level_cursor deeper[LEVELS_MAX];
	struct merge_source sources[SOURCES_MAX];
	struct visible_spec spec = {
		.attrs = &w->attrs, .now_ms = NOW, .ts_max = INT64_MAX};
	const struct level *l0 = &w->levels->level[0];
	struct visible *v;
	struct merge m;
	uint32_t n = 0;
	int r;

	out->len = 0;
	assert_true(l0->nfiles + LEVELS_MAX <= SOURCES_MAX);
	for (uint32_t i = 0; i < l0->nfiles; i++) {
		sst_cursor(l0->files[i], &files[i]);
		sources[n++].cursor = &files[i].base;
	}
	for (int i = 1; i < LEVELS_MAX; i++) {
		level_cursor(&w->levels->level[i], &deeper[i]);
		sources[n++].cursor = &deeper[i].base;
	}
	merge_init(&m, sources, n, seq_max);
	assert_int_equal(visible_new(&spec, &v), 0);
	r = cursor_seek_row(&m.base, bytes_str(""));
	for (; r == 1; r = cursor_next_row(&m.base)) {
		int e = 1;

		visible_row(v, &m.base);
		for (;;) {
			char text[128];

			if (visible)
				e = visible_next(v);
			if (e != 1)
				break;
			snprintf(text, sizeof(text), "%.*s/%.*s:%d.%d=%.*s ",
				 (int)m.base.row.len, m.base.row.data,
				 (int)m.base.at.qualifier.len,
				 m.base.at.qualifier.data, (int)m.base.at.ts,
				 visible ? 0 : (int)m.base.at.seq,
				 (int)m.base.at.value.len,
				 m.base.at.value.data);
			assert_int_equal(buf_append(out, text, strlen(text)),
					 0);
			if (!visible)
				e = cursor_next(&m.base);
		}
		assert_int_equal(e, 0);
	}
	assert_int_equal(r, 0);
	assert_int_equal(buf_append(out, "", 1), 0);
	for (uint32_t i = 0; i < n; i++)
		cursor_close(sources[i].cursor);
	cursor_close(&m.base);
	visible_free(v);
}

static void assert_tree(struct world *w, bool visible, const char *want)
{
	struct buf got = {0};

	dump(w, UINT64_MAX, visible, &got);
	assert_string_equal((char *)got.data, want);
	buf_free(&got);
}

static void markers_go_only_where_nothing_older_lies_deeper(void **state)
{
	static const struct array_cell old[] = {{"a", "q", 10, PUT, 1, 0, "A"},
						{"b", "q", 10, PUT, 2, 0, "B"}};
	static const struct array_cell deletes[] = {
		{"a", "q", 50, CELL_DELETE_COLUMN, 3},
		{"c", "q", 50, CELL_DELETE_COLUMN, 4}};
	static const struct array_cell later[] = {
		{"a", "q", 20, PUT, 5, 0, "C"}};
	struct compaction c = {.from = 0, .to = 1};
	struct world w;

	world_open(&w);
	assert_int_equal(flush(&w, old, 2), 0);
	assert_int_equal(compact_all(&w), 0);
	/* From level 1 it goes down to level 2. */
	c = (struct compaction){.from = 1, .to = 2, .trivial = true};
	c.inputs[0] = &w.levels->level[1].files[0];
	c.ninputs[0] = 1;
	assert_int_equal(compact(&w, &c), 0);
	assert_int_equal(w.levels->level[2].nfiles, 1);
	assert_int_equal(flush(&w, deletes, 2), 0);
	assert_int_equal(flush(&w, later, 1), 0);
	c = (struct compaction){.from = 0, .to = 1};
	c.inputs[0] = w.levels->level[0].files;
	c.ninputs[0] = 2;
	assert_int_equal(compact(&w, &c), 0);
	assert_tree(&w, false, "a/q:50.3= a/q:20.5=C a/q:10.0=A b/q:10.0=B ");
	assert_tree(&w, true, "a/q:20.0=C b/q:10.0=B ");
	assert_int_equal(compact_all(&w), 0);
	assert_tree(&w, false, "a/q:20.0=C b/q:10.0=B ");
	assert_int_equal(files_on_disk(&w), 1);
	world_close(&w);
}

/* What a flush leaves out of what expired is what hides nothing in a file. */
static void a_flush_keeps_what_expired_over_an_older_file(void **state)
{
	static const struct array_cell old[] = {{"b", "q", 10, PUT, 1, 0, "A"}};
	static const struct array_cell over[] = {
		{"a", "q", 10, PUT, 2, 0, "B"}, {"b", "q", 10, PUT, 3, 0, "C"}};
	struct world w;

	world_open(&w);
	assert_int_equal(flush(&w, old, 1), 0);
	w.attrs.ttl_ms = NOW - 11;
	assert_int_equal(flush(&w, over, 2), 0);
	assert_tree(&w, false, "b/q:10.3=C b/q:10.1=A ");
	assert_int_equal(compact_all(&w), 0);
	assert_int_equal(files_in_levels(&w), 0);
	assert_int_equal(flush(&w, over, 2), 0);
	assert_int_equal(files_in_levels(&w), 0);
	world_close(&w);
}

static void what_is_all_deleted_leaves_no_file(void **state)
{
	static const struct array_cell cells[] = {
		{"a", "q", 50, CELL_DELETE_COLUMN, 2},
		{"a", "q", 20, PUT, 1, 0, "C"}};
	struct world w;

	world_open(&w);
	assert_int_equal(flush(&w, cells, 2), 0);
	assert_int_equal(compact_all(&w), 0);
	assert_int_equal(files_in_levels(&w), 0);
	assert_int_equal(files_on_disk(&w), 0);
	assert_int_equal(compact_all(&w), 0);
	world_close(&w);
}

static uint64_t rng = 1;

static uint32_t chance(uint32_t n)
{
	return (uint32_t)((xorshift(&rng) >> 11) % n);
}

static const char *const rows[] = {"a",	 "aa", "b",  "c",  "ca", "d",  "e",
				   "ea", "f",  "g",  "h",  "ha", "hb", "i",
				   "j",	 "k",  "ka", "kb", "l",	 "m"};
static const char *const qualifiers[] = {"", "p", "q"};
static const char filler[] =
	"the value is long enough for a few rows to fill a small file, so that "
	"a few hundred of them make levels and are cut into files at the rows";

/* A batch of cells with sequences from *seq on, sorted. */
static size_t invent(struct array_cell *cells, size_t max, uint64_t *seq,
		     uint32_t first_row, uint32_t nrows)
{
	static const uint8_t kinds[] = {CELL_DELETE, CELL_DELETE_FAMILY_VERSION,
					CELL_DELETE_COLUMN, CELL_DELETE_FAMILY};
	size_t n = 1 + chance((uint32_t)max);

	for (size_t i = 0; i < n; i++) {
		struct array_cell *a = &cells[i];
		bool marker = chance(5) == 0;

		*a = (struct array_cell){
			.row = rows[first_row + chance(nrows)],
			.qualifier = qualifiers[chance(3)],
			.ts = 10 * (1 + chance(6)),
			.kind = marker ? kinds[chance(4)] : PUT,
			.seq = ++*seq,
		};
		if (!marker)
			a->value = filler + chance(100);
		if (kind_is_family_marker(a->kind))
			a->qualifier = "";
	}
	array_sort(cells, n);
	return n;
}

/*
 * The same writes into two trees: one that is never compacted, one that is as
 * often as it is due. Now and then everything, with a snapshot or without.
 */
static void compaction_changes_nothing_that_is_seen(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct array_cell cells[64];
		struct world plain_w, w;
		struct buf want = {0}, got = {0};
		uint64_t seq = 0;
		int r;

		rng = seed * 0x9e3779b97f4a7c15u;
		world_open(&plain_w);
		world_open(&w);
		w.attrs.versions = plain_w.attrs.versions = 1 + chance(3);
		for (int i = 0; i < 25; i++) {
			uint32_t from = chance(15);
			size_t n = invent(cells, 60, &seq, from,
					  1 + chance(20 - from));

			assert_int_equal(flush(&plain_w, cells, n), 0);
			assert_int_equal(flush(&w, cells, n), 0);
			if (chance(6) == 0) {
				w.snapshots[0] = seq;
				w.nsnapshots = 1;
			}
			while ((r = compact_if_due(&w)) == 1)
				;
			assert_int_equal(r, 0);
			if (chance(4) == 0)
				compact_at_rest(&w);
			if (chance(12) == 0)
				assert_int_equal(compact_all(&w), 0);
			for (size_t k = 0; k <= w.nsnapshots; k++) {
				uint64_t at = k < w.nsnapshots ? w.snapshots[k]
							       : UINT64_MAX;

				dump(&plain_w, at, true, &want);
				dump(&w, at, true, &got);
				if (strcmp((char *)want.data, (char *)got.data))
					print_message("seed %d\n", (int)seed);
				assert_string_equal((char *)got.data,
						    (char *)want.data);
			}
			assert_int_equal(files_on_disk(&w),
					 files_in_levels(&w));
		}
		buf_free(&want);
		buf_free(&got);
		world_close(&w);
		world_close(&plain_w);
	}
}

static void prepare_two_files(struct world *w)
{
	struct array_cell cells[64];
	uint64_t seq = 0;

	rng = 7;
	world_open(w);
	for (int i = 0; i < 3; i++) {
		size_t n = invent(cells, 64, &seq, 0, 20);

		assert_int_equal(flush(w, cells, n), 0);
	}
}

static void a_failure_leaves_inputs_and_no_outputs(void **state)
{
	static const int errors[] = {ENOSPC, EIO};
	struct buf want = {0}, got = {0};
	struct world w;

	prepare_two_files(&w);
	dump(&w, UINT64_MAX, true, &want);
	for (uint64_t nth = 1;; nth++) {
		struct fault_plan plan = {
			.kinds = FAULT_OPEN | FAULT_PREAD | FAULT_PWRITE |
				 FAULT_FDATASYNC | FAULT_ALLOCATE |
				 FAULT_TRUNCATE | FAULT_SIZE,
			.nth = nth,
			.err = errors[nth % 2],
		};
		uint64_t fired;
		int r;

		fault_arm(w.faulty, &plan);
		r = compact_if_due(&w);
		fired = fault_fired(w.faulty);
		fault_disarm(w.faulty);
		if (fired == 0) {
			assert_int_equal(r, 1);
			assert_true(nth > 5);
			break;
		}
		assert_true(r < 0);
		assert_int_equal(files_on_disk(&w), 3);
		assert_int_equal(files_in_levels(&w), 3);
		dump(&w, UINT64_MAX, true, &got);
		assert_string_equal((char *)got.data, (char *)want.data);
	}
	dump(&w, UINT64_MAX, true, &got);
	assert_string_equal((char *)got.data, (char *)want.data);
	buf_free(&want);
	buf_free(&got);
	world_close(&w);
}

static void it_stops_when_it_is_told_to(void **state)
{
	static char names[1000][16];
	static struct array_cell cells[1000];
	struct world w;

	world_open(&w);
	for (int i = 0; i < 1000; i++) {
		snprintf(names[i], sizeof(names[i]), "r%04d", i);
		cells[i] = (struct array_cell){names[i], "q", 10, PUT,
					       (uint64_t)i + 1};
	}
	assert_int_equal(flush(&w, cells, 1000), 0);
	w.stop = true;
	assert_int_equal(compact_all(&w), -ECANCELED);
	assert_int_equal(files_on_disk(&w), 1);
	w.stop = false;
	assert_int_equal(compact_all(&w), 0);
	assert_true(files_on_disk(&w) > 1);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_done_below_the_triggers),
		cmocka_unit_test(what_is_due_is_told_in_bytes),
		cmocka_unit_test(level_0_goes_at_once_with_what_it_overlaps),
		cmocka_unit_test(the_oldest_of_level_0_moves_where_it_is_alone),
		cmocka_unit_test(of_a_deeper_level_goes_what_costs_least),
		cmocka_unit_test(the_level_that_is_most_over_goes_first),
		cmocka_unit_test(
			what_overlaps_nothing_moves_unless_it_would_shrink),
		cmocka_unit_test(
			what_deletes_or_expired_goes_before_what_costs_less),
		cmocka_unit_test(
			what_has_expired_whole_is_dropped_and_not_moved),
		cmocka_unit_test(
			what_mostly_deletes_goes_though_its_level_is_small),
		cmocka_unit_test(of_what_readers_step_over_less_is_enough),
		cmocka_unit_test(of_what_readers_step_over_less_is_enough),
		cmocka_unit_test(the_deepest_level_grows_before_another_opens),
		cmocka_unit_test(
			level_0_passes_an_empty_level_that_would_be_rewritten),
		cmocka_unit_test(little_over_much_is_merged_with_itself),
		cmocka_unit_test(level_0_waits_for_company_unless_at_rest),
		cmocka_unit_test(at_rest_level_0_goes_with_what_it_is_worth),
		cmocka_unit_test(
			at_rest_a_file_alone_moves_but_is_not_rewritten),
		cmocka_unit_test(
			at_rest_deeper_files_go_where_little_lies_under_them),
		cmocka_unit_test(
			a_major_one_takes_everything_to_the_last_level),
		cmocka_unit_test(on_a_full_disk_level_0_goes_if_it_fits),
		cmocka_unit_test(
			on_a_full_disk_files_lose_what_is_deleted_above),
		cmocka_unit_test(
			on_a_full_disk_neighbours_of_level_0_are_merged),
		cmocka_unit_test(a_choice_without_memory_is_none),
		cmocka_unit_test(
			markers_go_only_where_nothing_older_lies_deeper),
		cmocka_unit_test(a_flush_keeps_what_expired_over_an_older_file),
		cmocka_unit_test(what_is_all_deleted_leaves_no_file),
		cmocka_unit_test(compaction_changes_nothing_that_is_seen),
		cmocka_unit_test(a_failure_leaves_inputs_and_no_outputs),
		cmocka_unit_test(it_stops_when_it_is_told_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
