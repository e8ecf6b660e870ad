/*
 * Which files a compaction takes: levels are drawn as rows of ranges and sizes.
 */
#include "tests/unit/unit.h"
#include "store/lsm/compaction/compaction.h"
#include "store/lsm/table/sst_file.h"

/* Rows leave out what they do not need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

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

static void draw_file(struct drawn *d, int level, const char **text)
{
	const char *rows = *text;
	struct sst_info *i = &d->tables[d->n].info;
	unsigned bytes, markers = 0, ts_max = 900, number = FILES_MAX - d->n;
	int used;

	assert_int_equal(sscanf(*text, "%*c-%*c:%u%n", &bytes, &used), 1);
	*text += used;
	if (sscanf(*text, "!%u%n", &markers, &used) == 1)
		*text += used;
	if (sscanf(*text, "@%u%n", &ts_max, &used) == 1)
		*text += used;
	if (sscanf(*text, "#%u%n", &number, &used) == 1)
		*text += used;
	*i = (struct sst_info){
		.number = number,
		.file_bytes = bytes,
		.entries = bytes,
		.markers = markers,
		.ts_max = ts_max,
		.row_min = {(uint8_t *)(uintptr_t)rows, 1, 1},
		.row_max = {(uint8_t *)(uintptr_t)rows + 2, 1, 1},
	};
	d->at[d->n] = &d->tables[d->n];
	d->n++;
	d->levels.level[level].nfiles++;
}

/*
 * "a-c:10 d-h:20!5@800 | | a-z:9#40": in level 0 two files, of rows a to c and d
 * to h, of 10 and 20 bytes (and as many entries), the second with 5 markers and
 * no timestamp above 800; in level 2 one, which was written last, as its number
 * says: others are the older the deeper.
 */
static void draw(struct drawn *d, const char *text)
{
	int level = 0;

	*d = (struct drawn){0};
	d->levels.level[0].files = d->at;
	while (*text) {
		if (*text == '|')
			d->levels.level[++level].files = &d->at[d->n];
		if (*text == '|' || *text == ' ')
			text++;
		else
			draw_file(d, level, &text);
	}
}

#define LIMITS                                                                 \
	.level0_files = 4, .level1_bytes = 100, .ratio = 10, .file_bytes = 20, \
	.rest_bytes = 10

static const struct compaction_limits small_limits = {LIMITS, .top_ratio = 10};
static const struct compaction_limits low_top = {LIMITS, .top_ratio = 3};

#define PLAIN                                                            \
	.versions = 3, .new_version_behavior = true, .block_size = 4096, \
	.bloom = BLOOM_ROW, .block_cache = true

static const struct family_attrs plain = {PLAIN, .ttl_ms = TTL_FOREVER};
static const struct family_attrs zlib = {PLAIN, .ttl_ms = TTL_FOREVER,
					 .compression = COMPRESSION_ZLIB};
static const struct family_attrs ttl = {PLAIN, .ttl_ms = 150};
static const struct family_attrs ttl_shows = {PLAIN, .ttl_ms = 150,
					      .min_versions = 1};

struct choice;
typedef int chooser(const struct levels *l, const struct choice *row,
		    struct compaction *c);

/* What is chosen of levels, or the name of a test, whose choices follow. */
struct choice {
	chooser *pick; /* NULL: a name */
	const char *want;
	const char *levels;
	const struct family_attrs *attrs; /* NULL: plain */
	uint64_t space, part;		  /* on a full disk */
	const char *name;
};

static size_t name_file(char *text, size_t n, const char *how,
			struct sstable *t)
{
	const struct sst_info *f = sst_info(t);

	return n + (size_t)snprintf(text + n, TEXT_MAX - n, "%s %c-%c", how,
				    f->row_min.data[0], f->row_max.data[0]);
}

static size_t name_inputs(char *text, size_t n, const struct compaction *c,
			  int side)
{
	for (uint32_t i = 0; i < c->ninputs[side]; i++)
		n = name_file(text, n, "", c->inputs[side][i]);
	return n;
}

static const char *name_choice(int r, struct compaction *c)
{
	static char text[TEXT_MAX];
	size_t n;

	assert_true(r >= 0);
	if (r == 0)
		return "none";
	n = (size_t)sprintf(text, "%s%d>%d%s", c->daring ? "daring " : "",
			    c->from, c->to, c->trivial ? " move" : "");
	n = name_inputs(text, n, c, 0);
	if (c->ninputs[1]) {
		n += (size_t)snprintf(text + n, TEXT_MAX - n, " with");
		n = name_inputs(text, n, c, 1);
	}
	for (uint32_t i = 0; i < c->nmasks; i++)
		n = name_file(text, n, " under", c->masks[i]);
	compaction_release(c);
	return text;
}

static int within(const struct levels *l, const struct compaction_limits *k,
		  const struct choice *row, struct compaction *c)
{
	int r = compaction_pick(l, k, NOW, row->attrs, c);

	assert_int_equal(r, compaction_score(l, k) >= 1);
	return r;
}

static int when_due(const struct levels *l, const struct choice *row,
		    struct compaction *c)
{
	return within(l, &small_limits, row, c);
}

/* Where readers step over markers. */
static int where_passed(const struct levels *l, const struct choice *row,
			struct compaction *c)
{
	struct compaction_limits limits = small_limits;

	limits.passed = true;
	return within(l, &limits, row, c);
}

static int over_a_third(const struct levels *l, const struct choice *row,
			struct compaction *c)
{
	return within(l, &low_top, row, c);
}

static int rest_over_a_third(const struct levels *l, const struct choice *row,
			     struct compaction *c)
{
	return compaction_pick_rest(l, &low_top, row->attrs, c);
}

static int at_rest(const struct levels *l, const struct choice *row,
		   struct compaction *c)
{
	return compaction_pick_rest(l, &small_limits, row->attrs, c);
}

static int of_all(const struct levels *l, const struct choice *row,
		  struct compaction *c)
{
	return compaction_pick_all(l, c);
}

/* Of level 0 alone up to row->part bytes. */
static int when_full(const struct levels *l, const struct choice *row,
		     struct compaction *c)
{
	return compaction_pick_full(l, row->space, row->part, false, c);
}

static int when_daring(const struct levels *l, const struct choice *row,
		       struct compaction *c)
{
	return compaction_pick_full(l, row->space, row->part, true, c);
}

#define DELETES                                                \
	"a-b:50!1 g-g:50!1 k-m:50!1 | b-b:60 h-h:60 | a-c:20 " \
	"d-g:10 h-k:10 n-z:10"
#define NEIGHBOURS "a-f:30 c-k:5 d-e:6 f-z:7"

static const struct choice rows[] = {
	{.name = "nothing_is_done_below_the_triggers"},
	{when_due, "none", ""},
	{when_due, "none", "a-f:10 c-k:10 b-d:10 | a-c:40 d-h:59 | a-z:999"},
	{.name = "level_0_goes_at_once_with_what_it_overlaps"},
	{when_due, "0>1 d-f e-k e-g d-e with d-d f-i k-m",
	 "d-f:10 e-k:10 e-g:10 d-e:10 | a-c:10 d-d:10 f-i:10 k-m:10 n-z:10"},
	{.name = "the_oldest_of_level_0_moves_where_it_is_alone"},
	{when_due, "0>1 move j-k",
	 "p-q:10 n-o:10 l-m:10 j-k:10 | a-c:10 d-i:10"},
	{when_due, "0>1 p-q n-o l-m j-k with d-j",
	 "p-q:10 n-o:10 l-m:10 j-k:10 | a-c:10 d-j:10"},
	{when_due, "0>1 p-q n-o i-j j-k", "p-q:10 n-o:10 i-j:10 j-k:10"},
	/* What is to be compressed has to be written anew. */
	{when_due, "0>1 p-q n-o l-m j-k", "p-q:10 n-o:10 l-m:10 j-k:10", &zlib},
	{.name = "of_a_deeper_level_goes_what_costs_least"},
	{when_due, "1>2 i-m with j-k l-l",
	 "| a-c:50 d-h:50 i-m:50 | a-b:90 c-d:90 e-e:60 j-k:60 l-l:20 n-z:5"},
	{.name = "the_level_that_is_most_over_goes_first"},
	{when_due, "2>3 move d-h",
	 "a-f:10 c-k:10 b-d:10 b-e:10 a-c:10 | a-c:110 | a-c:1600 d-h:900 | "
	 "a-b:10"},
	{.name = "what_overlaps_nothing_moves_unless_it_would_shrink"},
	{when_due, "1>2 a-c", "| a-c:400!1"},
	/* Its markers may hide what lies deeper: rewriting keeps them. */
	{when_due, "1>2 move a-c", "| a-c:110!1 | | b-b:10"},
	{.name = "what_deletes_or_expired_goes_before_what_costs_less"},
	{when_due, "1>2 d-h with d-d",
	 "| a-c:50 d-h:50!20 i-m:50 | a-b:10 d-d:500 j-k:60"},
	{when_due, "1>2 i-m with j-k",
	 "| a-c:50 d-h:50!20 i-m:50@849 | a-b:10 d-d:500 j-k:60", &ttl},
	{when_due, "1>2 d-h with d-d",
	 "| a-c:50 d-h:50!20 i-m:50@849 | a-b:10 d-d:500 j-k:60", &ttl_shows},
	/* Rows that ascend with time: nothing lies under what expires. */
	{.name = "what_has_expired_whole_is_dropped_and_not_moved"},
	{when_due, "1>2 move a-c", "| a-c:50 d-h:50 i-m:50 | n-o:500", &ttl},
	{when_due, "1>2 d-h", "| a-c:50 d-h:50@800 i-m:50 | n-o:500", &ttl},
	/* It may have replaced or pushed out what lies deeper. */
	{when_due, "1>2 move d-h", "| a-c:50 d-h:60@800 | | d-d:900", &ttl},
	{when_due, "0>1 move a-b", "g-h:5 e-f:5 c-d:5 a-b:5", &ttl},
	{when_due, "0>1 a-b", "g-h:5 e-f:5 c-d:5 a-b:5@800", &ttl},
	{at_rest, "1>2 move d-h", "| a-c:50 d-h:50@800 | n-o:500", &ttl},
	{.name = "what_mostly_deletes_goes_though_its_level_is_small"},
	{when_due, "0>1 a-f with c-k", "a-f:10!6 | c-k:10"},
	{when_due, "none", "a-f:10!5 | c-k:10"},
	/* What it deletes is gone already. */
	{when_due, "none", "a-f:10!10 | k-l:10"},
	{when_due, "1>2 move d-h", "| a-c:10 d-h:10!9 | | g-z:10"},
	{.name = "of_what_readers_step_over_less_is_enough"},
	{when_due, "none", "a-f:32!3 | c-k:10"},
	{when_due, "none", "| a-c:32 d-h:32!3 | a-a:1 d-z:30"},
	{where_passed, "0>1 a-f with c-k", "a-f:32!3 | c-k:10"},
	{where_passed, "none", "a-f:32!2 | c-k:10"},
	{where_passed, "none", "a-f:32!32 | k-l:10"},
	/* The one with the markers, though others cost less. */
	{where_passed, "1>2 d-h with d-z", "| a-c:32 d-h:32!3 | a-a:1 d-z:30"},
	{.name = "the_deepest_level_grows_before_another_opens"},
	{when_due, "none", "| a-c:200 d-h:199"},
	{when_due, "1>2 move a-c", "| a-c:200 d-h:200"},
	/* A level above a large one is a tenth of it. */
	{when_due, "none", "| a-c:150 d-h:149 | a-z:3000"},
	{when_due, "1>2 a-c with a-z", "| a-c:150 d-h:149 | a-z:2990"},
	{.name = "level_0_passes_an_empty_level_that_would_be_rewritten"},
	{when_due, "0>3 d-f e-k e-g d-e with a-z",
	 "d-f:10 e-k:10 e-g:10 d-e:10 | | | a-z:400"},
	{when_due, "0>1 d-f e-k e-g d-e",
	 "d-f:10 e-k:10 e-g:10 d-e:10 | | | a-z:401"},
	{when_due, "0>1 d-f e-k e-g d-e",
	 "d-f:10 e-k:10 e-g:10 d-e:10 | | | l-z:40"},
	{.name = "little_over_much_is_merged_with_itself"},
	{when_due, "0>0 d-f e-k e-g", "d-f:1 e-k:1 e-g:2 d-e:30 | a-z:341"},
	{when_due, "0>0 d-f e-k e-g d-e", "d-f:1 e-k:2 e-g:4 d-e:8 | a-z:151"},
	/* What deletes would delete no more. */
	{when_due, "0>1 d-f e-k e-g d-e with a-z",
	 "d-f:1!1 e-k:1 e-g:1 d-e:1 | a-z:99"},
	{.name = "level_0_waits_for_company_unless_at_rest"},
	{over_a_third, "0>0 d-f e-k e-g d-e",
	 "d-f:10 e-k:10 e-g:10 d-e:10 | a-z:121"},
	{over_a_third, "0>1 d-f e-k e-g d-e with a-z",
	 "d-f:10 e-k:10 e-g:10 d-e:10 | a-z:120"},
	{rest_over_a_third, "0>1 d-f e-k e-g d-e with a-z",
	 "d-f:10 e-k:10 e-g:10 d-e:10 | a-z:121"},
	{.name = "at_rest_level_0_goes_with_what_it_is_worth"},
	{at_rest, "none", ""},
	{at_rest, "none", "a-f:5 c-k:4 | a-c:50"},
	{at_rest, "0>1 a-f c-k", "a-f:10 c-k:10"},
	{at_rest, "0>1 a-f with a-c d-h", "a-f:10 | a-c:50 d-h:50 i-m:50"},
	{at_rest, "0>2 a-f c-h with a-c d-h",
	 "a-f:10 c-h:10 | | a-c:50 d-h:50 i-m:50"},
	{at_rest, "0>0 a-f c-d", "a-f:10 c-d:10 b-e:30 | a-c:250 d-h:251"},
	{at_rest, "none", "a-f:10 b-e:30 | a-c:250 d-h:251"},
	{.name = "at_rest_a_file_alone_moves_but_is_not_rewritten"},
	{at_rest, "0>1 move n-o", "p-q:10 n-o:10 | a-c:10 d-i:10"},
	{at_rest, "0>1 move p-q", "p-q:10 | a-c:10 d-i:10"},
	{at_rest, "none", "p-q:10 | a-c:10 d-i:10", &zlib},
	{.name = "at_rest_deeper_files_go_where_little_lies_under_them"},
	{at_rest, "1>2 d-h with d-e",
	 "| a-c:10 d-h:10 i-k:10 | a-b:100 d-e:90 i-j:101"},
	{at_rest, "none", "| a-c:10 | a-b:101"},
	{at_rest, "none", "| | a-b:100 d-e:90"},
	{.name = "a_major_one_takes_everything_to_the_last_level"},
	{of_all, "none", ""},
	{of_all, "0>1 a-f c-k", "a-f:10 c-k:10"},
	{of_all, "0>3 a-f a-c d-h with b-d p-z",
	 "a-f:10 | a-c:10 d-h:10 | | b-d:10 p-z:10"},
	{of_all, "2>2 b-d p-z", "| | b-d:10 p-z:10"},
	{.name = "on_a_full_disk_level_0_goes_if_it_fits"},
	{when_daring, "none", "a-f:10", .space = 99, .part = 99},
	{when_full, "0>1 a-f", "a-f:10!1", .space = 10},
	{when_full, "0>1 c-f a-k", "c-f:10 a-k:10", .space = 20},
	{when_full, "none", "c-f:10 a-k:10", .space = 19, .part = 99},
	{when_daring, "daring 0>1 c-f a-k", "c-f:10 a-k:10", .space = 19,
	 .part = 99},
	{when_full, "0>2 c-f b-k with b-b d-d k-m",
	 "c-f:10 b-k:10 | | a-a:10 b-b:10 d-d:10 k-m:10 n-z:10", .space = 50},
	{when_full, "none",
	 "c-f:10 b-k:10 | | a-a:10 b-b:10 d-d:10 k-m:10 n-z:10", .space = 49},
	{.name = "on_a_full_disk_files_lose_what_is_deleted_above"},
	{when_daring, "none", "| b-b:60 h-h:60 | a-c:20 d-g:10 h-k:10 n-z:10",
	 .space = 99},
	{when_full, "1>1 b-b under a-b", DELETES, .space = 99},
	{when_full, "2>2 a-c under a-b under b-b", DELETES, .space = 20},
	{when_full, "2>2 d-g under g-g", DELETES, .space = 19},
	{when_full, "none", DELETES, .space = 9},
	{when_daring, "daring 0>1 a-b g-g k-m with b-b h-h", DELETES,
	 .space = 9},
	/* What was written after a marker came to lie under it has met it. */
	{when_full, "none", "a-b:50!1 | a-c:10#40", .space = 20},
	{.name = "on_a_full_disk_neighbours_of_level_0_are_merged"},
	{when_full, "0>0 c-k d-e", NEIGHBOURS, .space = 40, .part = 13},
	{when_full, "0>0 c-k d-e f-z", NEIGHBOURS, .space = 40, .part = 18},
	{when_full, "0>0 c-k d-e", NEIGHBOURS, .space = 11, .part = 18},
	{when_full, "none", NEIGHBOURS, .space = 10, .part = 18},
	{when_full, "0>0 a-f c-k", "a-f:1 c-k:5 d-e:6 f-z:7", .space = 11,
	 .part = 18},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void choose(void **state)
{
	const struct choice *row = *state;

	while (++row < rows + ROWS && row->pick) {
		struct choice asked = *row;
		struct compaction c = {0};
		struct drawn d;
		const char *got;

		if (!asked.attrs)
			asked.attrs = &plain;
		draw(&d, row->levels);
		got = name_choice(row->pick(&d.levels, &asked, &c), &c);
		if (strcmp(got, row->want))
			fail_msg("of %s: %s, not %s", row->levels, got,
				 row->want);
	}
}

BEFORE_MAIN(add_rows)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].name)
			UNIT_ADD(.name = rows[i].name, .test_func = choose,
				 .initial_state = (void *)(uintptr_t)&rows[i]);
}

static uint64_t due(const char *levels)
{
	struct drawn d;

	draw(&d, levels);
	return compaction_pending(&d.levels, &small_limits);
}

TEST(what_is_due_is_told_in_bytes)
{
	assert_int_equal(due("d-f:10 e-k:10 e-g:10 | a-c:40 d-h:59 | a-z:999"),
			 0);
	assert_int_equal(due("d-f:10 e-k:10 e-g:10 a-b:7 |"
			     "a-c:40 d-h:59 i-m:31 | a-z:999"),
			 37 + 30);
	assert_int_equal(due("| a-c:40!30 | a-z:999"), 40);
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

TEST(a_choice_without_memory_is_none)
{
	struct compaction c = {0};
	struct drawn d;

	draw(&d, "a-f:10 c-k:10");
	for (unsigned n = 1; n <= 3; n++) {
		no_memory_at = n;
		assert_int_equal(
			compaction_pick_full(&d.levels, 99, 0, false, &c),
			-ENOMEM);
		assert_int_equal(no_memory_at, 0);
	}
	assert_null(c.inputs[0]);
}
