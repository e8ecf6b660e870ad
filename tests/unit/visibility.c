/*
 * Visibility and retention, drawn as timelines. Time runs to the right in
 * sequences (s1 s2 ...), timestamps stand at the left, newest on top:
 *
 *	70 ──P────x	a put at s1, deleted at s3
 *	60 ────P──────	a put at s2, alive
 */
#include "tests/unit/unit.h"
#include "array_cursor.h"
#include "store/lsm/rules/version_count.h"
#include "store/lsm/rules/visibility.h"
#include "tests/unit/alloc_fault.h"

#define PUT CELL_PUT
#define DEL CELL_DELETE
#define DCOL CELL_DELETE_COLUMN
#define DFAM CELL_DELETE_FAMILY
#define DFVER CELL_DELETE_FAMILY_VERSION

static const char *const kinds[] = {
	[PUT] = "", [DEL] = "d", [DCOL] = "dc", [DFAM] = "df", [DFVER] = "dfv"};

#define CELLS_MAX 16

/*
 * The cells of a row that @text says: "q:70s5 q:60dcs4 q:50s3t9", each
 * with its kind, its sequence and a ttl of its own.
 */
static size_t cells_of(const char *text, struct array_cell *cells)
{
	static char names[CELLS_MAX][2];
	size_t n = 0;

	for (; *text; n++) {
		struct array_cell *c = &cells[n];
		char *end;
		size_t len;

		assert_true(n < CELLS_MAX);
		*c = (struct array_cell){.row = "r", .qualifier = names[n]};
		text += *text == ' ';
		names[n][0] = '\0';
		if (*text != ':')
			names[n][0] = *text++;
		c->ts = strtoll(text + 1, &end, 10);
		len = strcspn(end, "s");
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (kinds[k] && strlen(kinds[k]) == len &&
			    !strncmp(kinds[k], end, len))
				c->kind = (uint8_t)k;
		c->seq = strtoull(end + len + 1, &end, 10);
		if (*end == 't')
			c->ttl_ms = strtoull(end + 1, &end, 10);
		text = end;
	}
	return n;
}

/* What is looked at: all of a family, or what a merge of it writes. */
static struct family_attrs family;
static struct visible_spec view;
static struct retain_spec written;

static int set_up(void **state)
{
	family = (struct family_attrs){
		.versions = 1,
		.ttl_ms = TTL_FOREVER,
		.new_version_behavior = true,
	};
	view = (struct visible_spec){
		.attrs = &family,
		.now_ms = 1000,
		.ts_max = INT64_MAX,
	};
	written = (struct retain_spec){.attrs = &family, .now_ms = 1000};
	return 0;
}

EACH_TEST_IN(set_up, NULL);

static size_t note(char *text, size_t n, const struct entry *e)
{
	return (size_t)sprintf(text + n, "%s%.*s:%d%s", n ? " " : "",
			       (int)e->qualifier.len, e->qualifier.data,
			       (int)e->ts, kinds[e->kind]);
}

#define TEXT_MAX 4096

/* The n-th call of a cursor that fails, and what is seen then. */
typedef int look_fn(const struct array_cell *cells, size_t n, unsigned fails,
		    char text[TEXT_MAX]);

static int look(const struct array_cell *cells, size_t n, unsigned fails,
		char text[TEXT_MAX])
{
	struct array_cursor c;
	struct visible *v;
	size_t len = 0;
	int r;

	array_cursor(&c, cells, n);
	text[0] = '\0';
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
	r = visible_new(&view, &v);
	if (r < 0)
		return r;
	c.fails = fails;
	visible_row(v, &c.base);
	while ((r = visible_next(v)) == 1)
		len += note(text, len, &c.base.at);
	if (r == 0)
		assert_int_equal(visible_next(v), 0);
	visible_free(v);
	return r;
}

/* What fails is told behind a part of the answer, or changes nothing of it. */
static void each_failure_is_told(look_fn *fn, const struct array_cell *cells,
				 size_t n)
{
	char whole[TEXT_MAX], text[TEXT_MAX];
	uint64_t failed = 1;
	int r;

	assert_int_equal(fn(cells, n, 0, whole), 0);
	for (unsigned nth = 1; (r = fn(cells, n, nth, text)); nth++) {
		assert_int_equal(r, -EIO);
		assert_memory_equal(whole, text, strlen(text));
	}
	assert_string_equal(text, whole);
	for (uint64_t nth = 1; failed; nth++) {
		alloc_arm(nth, 0);
		r = fn(cells, n, 0, text);
		failed = alloc_disarm();
		assert_int_equal(r, r && failed ? -ENOMEM : 0);
		assert_memory_equal(whole, text, strlen(text) + (r == 0));
	}
}

/* What is seen of the cells, which the call sorts: "q:70 q:60". */
static const char *seen_of(struct array_cell *cells, size_t n)
{
	static char text[TEXT_MAX];

	array_sort(cells, n);
	assert_int_equal(look(cells, n, 0, text), 0);
	return text;
}

static const char *seen(const char *text)
{
	struct array_cell cells[CELLS_MAX];
	size_t n = cells_of(text, cells);

	array_sort(cells, n);
	each_failure_is_told(look, cells, n);
	return seen_of(cells, n);
}

static bool whole; /* the merge has all files */

static int merge(const struct array_cell *cells, size_t n, unsigned fails,
		 char text[TEXT_MAX])
{
	struct array_cursor c;
	struct retain *retain;
	struct entry e;
	size_t len = 0;
	int r;

	array_cursor(&c, cells, n);
	text[0] = '\0';
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
	r = retain_new(&written, &retain);
	if (r < 0)
		return r;
	c.fails = fails;
	retain_row(retain, &c.base, whole);
	while ((r = retain_next(retain, &e)) == 1) {
		len += note(text, len, &e);
		len += (size_t)sprintf(text + len, "s%d", (int)e.seq);
	}
	if (r == 0)
		assert_int_equal(retain_next(retain, &e), 0);
	retain_free(retain);
	return r;
}

/* What a merge of the cells writes: "q:70s5 q:60s0". */
static const char *kept(bool of_all, const char *of)
{
	static char text[TEXT_MAX];
	struct array_cell cells[CELLS_MAX];
	size_t n = cells_of(of, cells);

	whole = of_all;
	array_sort(cells, n);
	each_failure_is_told(merge, cells, n);
	assert_int_equal(merge(cells, n, 0, text), 0);
	return text;
}

/*
 *	90 ────────────────P─	seen
 *	70 ────────P──x──────	removed by the DELETE_COLUMN 70 at s6
 *	60 ──────────────P───	seen: written after it
 */
TEST(a_marker_hides_only_what_was_written_before_it)
{
	family.versions = 3;
	assert_string_equal(seen("q:90s9 q:70dcs6 q:70s5 q:60s7"), "q:90 q:60");
}

/*
 *	50 ────────P──x──	deleted at s4
 *	40 ─────P────────	seen
 *	30 ──P─────>		pushed out at s3, and stays so
 */
TEST(a_delete_does_not_bring_back_what_was_pushed_out)
{
	family.versions = 2;
	assert_string_equal(seen("q:50ds4 q:50s3 q:40s2 q:30s1"), "q:40");
}

/*
 *	50 ──P──x──────────	deleted at s2
 *	40 ────────P───────	s3
 *	30 ───────────P────	s4: there is room for it
 */
TEST(a_version_that_is_gone_leaves_room)
{
	family.versions = 2;
	assert_string_equal(seen("q:50ds2 q:50s1 q:40s3 q:30s4"), "q:40 q:30");
}

/*
 *	50 ──P────────x────	deleted at s4
 *	40 ─────P──────────
 *	30 ────────P>		pushed out at once: counts for nothing
 *	20 ──────────────P─	s5: one of two
 */
TEST(what_was_pushed_out_pushes_out_nothing)
{
	family.versions = 2;
	assert_string_equal(seen("q:50ds4 q:50s1 q:40s2 q:30s3 q:20s5"),
			    "q:40 q:20");
}

TEST(the_later_put_of_a_timestamp_replaces_the_earlier)
{
	family.versions = 2;
	assert_string_equal(seen("q:50s1 q:50s2 q:50s4 q:40s3"), "q:50 q:40");
}

TEST(family_markers_speak_for_every_column)
{
	family.versions = 3;
	assert_string_equal(seen(":60dfs5 :80dfvs6 :50s1 a:80s2 a:70s3 "
				 "a:60s4 b:60s7 b:80s8"),
			    "a:70 b:80 b:60");
}

TEST(a_range_of_time_does_not_show_what_was_pushed_out)
{
	family.versions = 2;
	view.ts_max = 40;
	assert_string_equal(seen("q:50s3 q:40s2 q:30s1"), "");
	view.ts_min = 40;
	view.ts_max = 50;
	assert_string_equal(seen("q:50s3 q:40s2 q:30s1"), "q:40");
}

TEST(expired_is_strictly_older_than_ttl)
{
	family.versions = 3;
	family.ttl_ms = 100;
	assert_string_equal(seen("q:900s3 q:899s2 z:899s1"), "q:900");
}

TEST(min_versions_are_seen_though_expired)
{
	family.versions = 3;
	family.ttl_ms = 100;
	family.min_versions = 2;
	assert_string_equal(seen("q:950s4 q:80s3 q:70s2"), "q:950 q:80");
}

/*
 * A put with a ttl of its own hides the 40 while it lives, and is as if it had
 * never been once it is expired (ttl 5 at now 1000).
 */
TEST(a_loan_pushes_out_nothing_for_good)
{
	assert_string_equal(seen("q:50s2t5000 q:40s1"), "q:50");
	assert_string_equal(seen("q:50s2t5 q:40s1"), "q:40");
	assert_string_equal(seen("q:50ds3 q:50s2t5000 q:40s1"), "q:40");
	assert_string_equal(seen("q:950s1t50"), "q:950");
	assert_string_equal(seen("q:950s1t49"), "");
}

TEST(in_the_classic_order_markers_hide_later_puts_too)
{
	family.versions = 2;
	family.new_version_behavior = false;
	assert_string_equal(seen("q:70dcs1 q:90s2 q:70s3 q:60s4"), "q:90");
	/* Deleting the newest uncovers one over the limit. */
	assert_string_equal(seen("q:50ds4 q:50s3 q:40s2 q:30s1"), "q:40 q:30");
	/* Versions are counted within the range. */
	view.ts_max = 40;
	assert_string_equal(seen("q:50s3 q:40s2 q:30s1"), "q:30");
}

TEST(with_keep_deleted_a_range_looks_behind_a_marker)
{
	family.versions = 3;
	family.keep_deleted = KEEP_DELETED_YES;
	for (int nvb = 0; nvb < 2; nvb++) {
		family.new_version_behavior = nvb;
		view.ts_max = 70;
		assert_string_equal(seen("q:70dcs2 q:60s1"), "q:60");
		view.ts_max = 71;
		assert_string_equal(seen("q:70dcs2 q:60s1"), "");
	}
}

#define DEEP 300

/* Knows of q which of its versions are alive, for so many calls. */
struct teller {
	struct visible_guide base;
	bool alive[DEEP + 1];
	bool known; /* that it may know */
	unsigned *calls, *left;
};

static bool tell_known(const struct visible_guide *g, struct bytes row)
{
	return ((const struct teller *)g)->known;
}

static int tell_versions(const struct visible_guide *g, struct bytes row,
			 struct bytes qualifier, int64_t ts, int64_t *out,
			 size_t n, uint64_t *above)
{
	const struct teller *t = (const struct teller *)g;
	size_t found = 0;

	++*t->calls;
	if (!bytes_eq(qualifier, bytes_str("q")) || *t->left == 0)
		return -1;
	--*t->left;
	if (above)
		*above = 0;
	for (int64_t at = DEEP; above && at > ts; at--)
		*above += t->alive[at];
	for (int64_t at = ts < DEEP ? ts : DEEP; at > 0 && found < n; at--)
		if (t->alive[at])
			out[found++] = at;
	return (int)found;
}

static int tell_no_hidden(const struct visible_guide *g, struct bytes row,
			  struct bytes qualifier, struct buf *to)
{
	return -1;
}

static void forget_hidden(const struct visible_guide *g, struct bytes row,
			  struct bytes from, const struct bytes *to,
			  uint64_t walked)
{
}

/* Of q each version but some is deleted; p and z stand beside it. */
static size_t deep_column(struct array_cell *cells, bool *alive)
{
	size_t n = 0;

	for (int ts = 1; ts <= DEEP; ts++) {
		alive[ts] = ts % 7 == 0 && ts < DEEP - 50;
		cells[n++] = (struct array_cell){"r", "q", ts, PUT, ts};
		if (!alive[ts])
			cells[n++] = (struct array_cell){"r", "q", ts, DEL,
							 1000 + ts};
	}
	cells[n++] = (struct array_cell){"r", "p", 5, PUT, 1};
	cells[n++] = (struct array_cell){"r", "z", 5, PUT, 1};
	return n;
}

TEST(a_guide_that_ends_anywhere_changes_no_answer)
{
	static struct array_cell cells[2 * DEEP + 2];
	const uint32_t limits[] = {0, 1, 20};
	unsigned calls, left;
	struct teller t = {.base = {.knows = tell_known,
				    .versions = tell_versions,
				    .hidden = tell_no_hidden,
				    .found_hidden = forget_hidden},
			   .calls = &calls,
			   .left = &left};
	size_t n = deep_column(cells, t.alive);
	char *expected;

	family.versions = 1000;
	for (unsigned c = 0; c < 2 * 3 * 2; c++) {
		family.new_version_behavior = c % 2;
		view.versions = limits[c / 2 % 3];
		view.ts_max = c / 6 ? 150 : INT64_MAX;
		view.guide = NULL;
		expected = strdup(seen_of(cells, n));
		view.guide = &t.base;
		for (unsigned k = 0; k < 8; k++) {
			calls = 0;
			left = k;
			t.base.patience = 2 + k % 3;
			t.known = k % 2;
			assert_string_equal(seen_of(cells, n), expected);
			/* It knows nothing of the classic order. */
			assert_int_equal(calls > 0,
					 family.new_version_behavior);
		}
		t.known = true;
		left = UINT32_MAX;
		each_failure_is_told(look, cells, n);
		free(expected);
	}
}

/* Nor where versions expire, by the family's ttl, and some of these are kept. */
TEST(a_guide_changes_no_answer_of_what_expires)
{
	static struct array_cell cells[2 * DEEP + 2];
	const uint32_t least[] = {0, 5, 30};
	unsigned calls = 0, left = UINT32_MAX;
	struct teller t = {.base = {.knows = tell_known,
				    .versions = tell_versions,
				    .hidden = tell_no_hidden,
				    .found_hidden = forget_hidden},
			   .calls = &calls,
			   .left = &left};
	size_t n = deep_column(cells, t.alive);

	family.versions = 1000;
	/* Now is 1000: up to 150, 50, and all have expired. */
	for (uint64_t ttl = 700; ttl <= 950; ttl += 50) {
		for (int i = 0; i < 3; i++) {
			char *expected;

			family.ttl_ms = ttl;
			family.min_versions = least[i];
			view.guide = NULL;
			expected = strdup(seen_of(cells, n));
			view.guide = &t.base;
			/* Of more patience than is asked for at once, too. */
			for (unsigned k = 2; k < 100; k += 32) {
				t.base.patience = k;
				t.known = k % 64 == 2;
				assert_string_equal(seen_of(cells, n),
						    expected);
			}
			free(expected);
		}
	}
	/* Where all has expired it is not worth a question. */
	assert_true(calls > 20);
}

/* More are alive behind what is hidden than are asked for at once. */
TEST(a_guide_is_asked_until_all_are_shown)
{
	static struct array_cell cells[2 * DEEP];
	unsigned calls = 0, left = UINT32_MAX;
	struct teller t = {.base = {.patience = 60,
				    .knows = tell_known,
				    .versions = tell_versions,
				    .hidden = tell_no_hidden,
				    .found_hidden = forget_hidden},
			   .calls = &calls,
			   .left = &left};
	char *expected;
	size_t n = 0;

	family.versions = UINT32_MAX;
	for (int ts = 1; ts <= DEEP; ts++) {
		t.alive[ts] = ts <= DEEP - 100;
		cells[n++] = (struct array_cell){"r", "q", ts, PUT, ts};
		if (!t.alive[ts])
			cells[n++] = (struct array_cell){"r", "q", ts, DEL,
							 1000 + ts};
	}
	expected = strdup(seen_of(cells, n));
	view.guide = &t.base;
	assert_string_equal(seen_of(cells, n), expected);
	assert_true(calls > 3);
	free(expected);
}

/* So who asks for one version of a deep column does not walk there each time. */
TEST(a_guide_that_may_know_is_asked_after_a_few)
{
	static struct array_cell cells[2 * DEEP + 2];
	unsigned calls, left;
	struct teller t = {.base = {.patience = 10 * DEEP,
				    .knows = tell_known,
				    .versions = tell_versions,
				    .hidden = tell_no_hidden,
				    .found_hidden = forget_hidden},
			   .calls = &calls,
			   .left = &left};
	size_t n = deep_column(cells, t.alive);

	family.versions = 1000;
	view.guide = &t.base;
	view.ts_min = 7;
	view.ts_max = 8;
	for (int known = 0; known < 2; known++) {
		t.known = known;
		left = UINT32_MAX;
		calls = 0;
		assert_string_equal(seen_of(cells, n), "q:7");
		assert_int_equal(calls > 0, known);
	}
	/* Where it did not know it is asked again, when the patience ends. */
	t.base.patience = 40;
	left = 0;
	calls = 0;
	assert_string_equal(seen_of(cells, n), "q:7");
	assert_int_equal(calls, 2);
}

/* Who asks for one version is not likely to want the first ones. */
TEST(a_guide_is_asked_at_once_for_a_single_version)
{
	static struct array_cell cells[] = {{"r", "q", 7, PUT, 3},
					    {"r", "q", 6, PUT, 2},
					    {"r", "q", 5, PUT, 1}};
	unsigned calls = 0, left = UINT32_MAX;
	struct teller t = {.base = {.patience = DEEP,
				    .knows = tell_known,
				    .versions = tell_versions,
				    .hidden = tell_no_hidden,
				    .found_hidden = forget_hidden},
			   .alive = {[5] = true, [6] = true, [7] = true},
			   .known = true,
			   .calls = &calls,
			   .left = &left};

	family.versions = 1000;
	view.guide = &t.base;
	view.ts_max = 6;
	assert_string_equal(seen_of(cells, 3), "q:5");
	assert_int_equal(calls, 0);
	view.ts_min = 5;
	assert_string_equal(seen_of(cells, 3), "q:5");
	assert_int_equal(calls, 1);
}

/* Files without a version that is asked for are left out: the guide knows of theirs. */
TEST(a_guide_is_asked_for_no_version_below_the_range)
{
	static struct array_cell cells[] = {{"r", "q", 7, PUT, 7},
					    {"r", "q", 1, PUT, 1}};
	unsigned calls = 0, left = UINT32_MAX;
	struct teller t = {.base = {.patience = DEEP,
				    .knows = tell_known,
				    .versions = tell_versions,
				    .hidden = tell_no_hidden,
				    .found_hidden = forget_hidden},
			   .known = true,
			   .calls = &calls,
			   .left = &left};

	family.versions = 1000;
	for (int ts = 1; ts <= 7; ts++)
		t.alive[ts] = ts != 6;
	view.guide = &t.base;
	view.ts_min = 6;
	view.ts_max = 7;
	assert_string_equal(seen_of(cells, 2), "");
	assert_int_equal(calls, 1);
}

/* What is beyond the range of 64 bits has not expired. */
TEST(no_difference_of_times_is_too_large)
{
	written.put_ts_min = INT64_MIN;
	view.ts_min = INT64_MIN;
	assert_string_equal(seen("q:-9223372036854775808s1t5"), "q:0");
	assert_string_equal(seen("q:990s1t5"), "");
	assert_string_equal(kept(true, "q:-9223372036854775808s1t5"), "q:0s1");
	assert_string_equal(kept(true, "q:990s1t5"), "");
	/* Nor what is of the future. */
	assert_string_equal(seen("q:2000s1t5"), "q:2000");
	assert_string_equal(kept(true, "q:2000s1t5"), "q:2000s1");
	/* The ttls of families. */
	family.ttl_ms = (uint64_t)INT64_MAX + 5;
	assert_true(visible_expired_before(&family, 1000) == INT64_MIN);
	assert_true(visible_expired_before(&family, -10) == INT64_MIN);
	assert_string_equal(seen("q:5s1"), "q:5");
	assert_string_equal(kept(true, "q:5s1"), "q:5s0");
	family.ttl_ms = 100;
	assert_true(visible_expired_before(&family, INT64_MIN + 99) ==
		    INT64_MIN);
	assert_true(visible_expired_before(&family, INT64_MIN + 101) ==
		    INT64_MIN + 1);
	written.now_ms = INT64_MIN + 99;
	assert_string_equal(kept(true, "q:5s1"), "q:5s0");
}

/* It stands behind what the scan before it has shown. */
TEST(a_column_is_sought_from_a_marker_that_was_shown)
{
	struct array_cell cells[] = {{"r", "", 80, DFAM, 9},
				     {"r", "", 70, DFAM, 8},
				     {"r", "p", 90, PUT, 1},
				     {"r", "q", 90, PUT, 2},
				     {"r", "q", 60, PUT, 3}};

	family.versions = 3;
	view.raw = true;
	for (size_t n = 2; n <= 5; n += 3) {
		struct array_cursor c;
		struct visible *v;

		array_cursor(&c, cells, n);
		assert_int_equal(visible_new(&view, &v), 0);
		assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
		visible_row(v, &c.base);
		for (int i = 0; i < (n == 2 ? 2 : 1); i++) {
			assert_int_equal(visible_next(v), 1);
			assert_int_equal(c.base.at.kind, DFAM);
		}
		assert_int_equal(visible_seek(v, bytes_str("q"), 70), n > 2);
		if (n > 2)
			assert_int_equal(c.base.at.ts, 60);
		assert_int_equal(visible_seek(v, bytes_str("q"), 70), 0);
		visible_free(v);
	}
}

TEST(a_column_is_sought_that_follows_a_marker_that_was_shown)
{
	struct array_cell cells[] = {{"r", "", 80, DFAM, 9},
				     {"r", "q", 90, PUT, 2},
				     {"r", "q", 60, PUT, 3}};
	struct array_cursor c;
	struct visible *v;

	family.versions = 3;
	view.raw = true;
	array_cursor(&c, cells, 3);
	assert_int_equal(visible_new(&view, &v), 0);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
	visible_row(v, &c.base);
	assert_int_equal(visible_next(v), 1);
	assert_int_equal(visible_seek(v, bytes_str("q"), INT64_MAX), 1);
	assert_int_equal(c.base.at.ts, 90);
	visible_free(v);
}

TEST(raw_shows_all_but_duplicates)
{
	family.ttl_ms = 1;
	view.raw = true;
	assert_string_equal(
		seen(":80dfs9 q:70dcs3 q:70dcs2 q:70s5 q:70s1 q:60ds6 q:50s7"),
		":80df q:70dc q:70 q:60d q:50");
	view.versions = 1;
	assert_string_equal(seen("q:70s5 q:70s1 q:60ds6 q:50s7 q:40ds8 z:40s4"),
			    "q:70 q:60d z:40");
	/* But for who asks for them; a copy of one entry is none. */
	view.versions = 0;
	view.replaced = true;
	assert_string_equal(
		seen(":80dfs9 :80dfs8 q:70s5 q:70s5 q:70s1 q:60ds6"),
		":80df :80df q:70 q:70 q:60d");
}

TEST(the_rest_of_many_versions_is_sought_past)
{
	static struct array_cell cells[1002];
	struct array_cursor c;
	struct visible *v;

	family.versions = 3;
	for (int i = 0; i < 1001; i++)
		cells[i] = (struct array_cell){"r", "a", 2000 - i, PUT,
					       (uint64_t)(2000 - i)};
	cells[1001] = (struct array_cell){"r", "b", 1, PUT, 1};
	array_cursor(&c, cells, 1002);
	assert_int_equal(visible_new(&view, &v), 0);
	cursor_seek_row(&c.base, bytes_str(""));
	visible_row(v, &c.base);
	for (int i = 0; i < 4; i++)
		assert_int_equal(visible_next(v), 1);
	assert_int_equal(c.base.at.ts, 1);
	assert_int_equal(visible_next(v), 0);
	assert_in_range(c.steps, 0, 12);
	assert_int_equal(c.seeks, 1);
	visible_free(v);
}

TEST(a_sought_column_knows_its_markers)
{
	struct array_cell cells[] = {
		{"r", "", 60, DFAM, 5},	 {"r", "a", 70, PUT, 1},
		{"r", "b", 80, DCOL, 8}, {"r", "b", 75, PUT, 7},
		{"r", "b", 70, PUT, 9},	 {"r", "b", 60, PUT, 4},
		{"r", "c", 55, PUT, 3},	 {"r", "d", 40, PUT, 6},
	};
	struct array_cursor c;
	struct visible *v;

	family.versions = 3;
	array_cursor(&c, cells, 8);
	assert_int_equal(visible_new(&view, &v), 0);
	cursor_seek_row(&c.base, bytes_str(""));
	visible_row(v, &c.base);
	assert_int_equal(visible_seek(v, bytes_str("b"), 77), 1);
	assert_int_equal(c.base.at.seq, 9);
	assert_int_equal(visible_seek(v, bytes_str("b"), 65), 1);
	assert_int_equal(c.base.at.seq, 6);
	assert_int_equal(visible_seek(v, bytes_str("e"), 1), 0);
	visible_free(v);
}

TEST(a_slice_lets_go_of_what_no_context_can_need)
{
	family.versions = 2;
	/* Under a wide marker, which stays. */
	assert_string_equal(kept(false, "q:50dcs6 q:40ds4 q:30s5 q:20s7"),
			    "q:50dcs6 q:20s7");
	/* Pushed out by two of the slice. */
	assert_string_equal(kept(false, "q:50s6 q:40s4 q:30s5"),
			    "q:50s6 q:40s4");
	/* Replaced. */
	assert_string_equal(kept(false, "q:50s6 q:50s4"), "q:50s6");
}

/*
 * Outside of the slice: 30 s0. While the 50 lived, from s2 to s3, it was one of
 * two that pushed out the 30.
 */
TEST(a_slice_keeps_a_put_under_a_one_version_marker)
{
	family.versions = 2;
	written.version_markers = true;
	assert_string_equal(kept(false, "q:50ds3 q:50s2 q:40s1"),
			    "q:50ds3 q:50s2 q:40s1");
	assert_string_equal(kept(true, "q:50ds3 q:50s2 q:40s1"), "q:40s0");
}

/*
 * Outside: 50 and 45. They push out the 40 as it comes, the 45 goes, and the 30
 * is one of the two that live, though the slice shows two above it:
 *
 *	50 (outside) ──────────P──	s5
 *	45 (outside) ─────x		s3
 *	40 ──────────P>			s2
 *	30 ─────────────────P─────	s4
 */
TEST(a_slice_cannot_tell_who_lived_where_versions_end)
{
	family.versions = 2;
	written.version_markers = true;
	assert_string_equal(kept(false, "q:50s5 q:45ds3 q:40s2 q:30s4"),
			    "q:50s5 q:45ds3 q:40s2 q:30s4");
	assert_string_equal(kept(true, "q:50s5 q:45ds3 q:40s2 q:30s4"),
			    "q:50s0 q:40s0");
}

/*
 *	stripe	       0	| S=5	1
 *	50 ──────P(3)───────────|───x(7)	kept for the snapshot
 *	40 ──P(1)──x(2)		|		gone: resolved in stripe 0
 *	30 ─────────────────────|──────P(8)──	as it is
 */
TEST(a_snapshot_keeps_what_it_sees)
{
	static const uint64_t at5[] = {5};

	written.version_markers = true;
	written.snapshots = at5;
	written.nsnapshots = 1;
	assert_string_equal(kept(true, "q:50s3 q:50dcs7 q:40s1 q:40ds2 q:30s8"),
			    "q:50dcs7 q:50s0 q:30s8");
}

TEST(expired_puts_go_but_for_min_versions)
{
	family.versions = 3;
	family.ttl_ms = 100;
	assert_string_equal(kept(true, "q:950s2 q:90ds4 q:80s3"), "q:950s0");
	family.min_versions = 1;
	assert_string_equal(kept(true, "q:950s2 q:80s3"), "q:950s0 q:80s0");
	family.ttl_ms = TTL_FOREVER;
	assert_string_equal(kept(true, "q:50s2t5 q:40s3t5000"), "q:40s3");
}

/*
 * Outside: 80 s1 and 70 s2, which the slice has replaced, pushed out or deleted.
 * They would be seen if the ttl became longer.
 */
TEST(what_expired_in_a_slice_uncovers_nothing)
{
	family.ttl_ms = 100;
	assert_string_equal(kept(false, "q:80s3"), "q:80s3");
	assert_string_equal(kept(true, "q:80s3"), "");
	written.flush = true;
	assert_string_equal(kept(false, "q:80s3"), "q:80s3");
	family.new_version_behavior = false;
	written.trim = true;
	assert_string_equal(kept(false, "q:80s3 q:75dcs4"), "q:80s3 q:75dcs4");
	written.flush = written.trim = false;
	assert_string_equal(kept(false, "q:80s3 q:75dcs4"), "q:80s3 q:75dcs4");
}

/* Of two files that have the same, as a crash between two commits leaves. */
TEST(the_same_entry_twice_is_one)
{
	family.versions = 3;
	written.version_markers = true;
	assert_string_equal(kept(false, "q:50s5 q:50s5 q:40s4"),
			    "q:50s5 q:40s4");
}

TEST(a_flush_writes_what_was_written)
{
	written.flush = true;
	assert_string_equal(kept(false, "q:50dcs6 q:40s5 q:30s4"),
			    "q:50dcs6 q:40s5 q:30s4");
}

TEST(classic_excess_and_markers_go_in_a_major_one_only)
{
	family.new_version_behavior = false;
	assert_string_equal(kept(true, "q:60s1 q:50s3 q:40dcs2 q:30s4"),
			    "q:60s0 q:50s0 q:40dcs2");
	written.major = true;
	assert_string_equal(kept(true, "q:60s1 q:50s3 q:40dcs2 q:30s4"),
			    "q:60s0");
	family.versions = 9;
	family.min_versions = 2;
	family.ttl_ms = 100;
	assert_string_equal(kept(true, "q:950s1 q:70s2 q:60s3"),
			    "q:950s0 q:70s0");
}

TEST(keep_deleted_counts_what_is_deleted)
{
	family.versions = 2;
	family.new_version_behavior = false;
	family.keep_deleted = KEEP_DELETED_YES;
	written.major = true;
	written.put_ts_min = 30;
	assert_string_equal(
		kept(true, "q:50s1 q:45ds3 q:40s2 q:35dcs4 q:30s5 q:20ds6"),
		"q:50s1 q:45ds3 q:40s2 q:35dcs4");
	/* No put is left that the older markers could hide. */
	written.put_ts_min = 40;
	assert_string_equal(
		kept(true, ":39dfs7 q:50s1 q:45ds3 q:40s2 q:35dcs4"),
		"q:50s1 q:45ds3 q:40s2");
	/* A marker that has expired goes, but among the least versions. */
	family.ttl_ms = 100;
	assert_string_equal(kept(true, "q:950s1 q:45ds3 q:42s2"), "q:950s1");
	family.min_versions = 2;
	assert_string_equal(kept(true, "q:950s1 q:45ds3 q:42s2"),
			    "q:950s1 q:45ds3 q:42s2");
	family.ttl_ms = TTL_FOREVER;
	written.major = false;
	written.trim = true;
	assert_string_equal(
		kept(false, "q:50s1 q:40s2 q:35dcs4 q:30s5 q:20ds6"),
		"q:50s1 q:40s2 q:35dcs4");
}

TEST(keep_deleted_ttl_deletes_when_the_marker_expires)
{
	family.versions = 9;
	family.new_version_behavior = false;
	family.keep_deleted = KEEP_DELETED_TTL;
	family.ttl_ms = 100;
	family.min_versions = 1;
	written.trim = true;
	assert_string_equal(kept(false, "q:80dcs2 q:70s1"), "q:80dcs2");
	written.trim = false;
	written.major = true;
	assert_string_equal(kept(true, "q:950dcs2 q:940s1 q:80dcs4 q:70s3"),
			    "q:950dcs2 q:940s1");
}

/* As of which moments nothing can be told after a merge: "40..70", or "". */
static const char *lost(bool of_all, const char *of)
{
	static char text[64];
	struct array_cell cells[CELLS_MAX];
	struct array_cursor c;
	struct retain_loss loss;
	struct retain *retain;
	struct entry e;
	size_t n = cells_of(of, cells);

	array_sort(cells, n);
	array_cursor(&c, cells, n);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
	assert_int_equal(retain_new(&written, &retain), 0);
	retain_row(retain, &c.base, of_all);
	while (retain_next(retain, &e) == 1)
		;
	retain_loss(retain, &loss);
	retain_free(retain);
	text[0] = '\0';
	if (loss.from < loss.to)
		sprintf(text, "%d..%d", (int)loss.from, (int)loss.to);
	return text;
}

TEST(what_is_dropped_is_lost_for_no_more_moments_than_it_may_be)
{
	for (int nvb = 0; nvb < 2; nvb++) {
		family.new_version_behavior = nvb;
		family.versions = 3;
		assert_string_equal(lost(false, "q:50s3 q:40s2"), "");
		assert_string_equal(lost(false, "q:70dcs4 q:50s3 q:40s2"),
				    "40..70");
		assert_string_equal(lost(false, ":70dfs4 q:50s3 z:40s2"),
				    "40..70");
		assert_string_equal(lost(false, "q:70dcs5 q:30dcs4"), "30..70");
		/* A deleted put may have pushed out what was the first. */
		family.versions = 2;
		assert_string_equal(lost(false, "q:70dcs4 q:50s3 q:40s2"),
				    "0..70");
		assert_string_equal(lost(true, "q:50ds4 q:50s3 q:40s2"),
				    "0..50");
	}
}

/*
 * That the column has so many puts does not show that versions were pushed out
 * where some of them expire, or are no more than it keeps.
 */
TEST(versions_that_a_major_one_drops_are_lost_from_the_first_moment_on)
{
	family.versions = 2;
	family.new_version_behavior = false;
	written.major = true;
	assert_string_equal(lost(true, "q:50s4 q:40s3 q:0s2"), "");
	assert_string_equal(lost(true, "q:50s4t5000 q:40s3 q:0s2"), "0..50");
	family.ttl_ms = 100;
	family.min_versions = 1;
	assert_string_equal(lost(true, "q:950s4 q:40s3 q:0s2"), "0..950");
}

TEST(the_version_count_knows_when_so_many_lived)
{
	struct version_count t = {0};

	version_count_clear(&t, 1, false);
	assert_int_equal(version_count_add(&t, 2, SEQ_NEVER), 0);
	/* A plain list: the caller counts. */
	assert_int_equal(version_count_first(&t, 1, 9), 9);
	assert_int_equal(version_count_add(&t, 3, 5), 0);
	assert_int_equal(version_count_first(&t, 1, 9), 2);

	version_count_clear(&t, 2, false);
	assert_int_equal(version_count_add(&t, 2, SEQ_NEVER), 0);
	assert_int_equal(version_count_add(&t, 3, 5), 0);
	assert_int_equal(version_count_first(&t, 1, 9), 3);
	assert_int_equal(version_count_first(&t, 4, 9), 4);
	assert_int_equal(version_count_first(&t, 5, 9), 9);
	assert_int_equal(version_count_first(&t, 1, 3), 3);
	assert_int_equal(version_count_add(&t, 7, SEQ_NEVER), 0);
	assert_int_equal(version_count_first(&t, 5, SEQ_NEVER), 7);

	version_count_clear(&t, 3, false);
	assert_int_equal(version_count_add(&t, 2, SEQ_NEVER), 0);
	assert_int_equal(version_count_add(&t, 3, 5), 0);
	assert_int_equal(version_count_add(&t, 7, SEQ_NEVER), 0);
	assert_int_equal(version_count_first(&t, 0, SEQ_NEVER), SEQ_NEVER);
	version_count_free(&t);
}

/* As version_count.h, by counting. */
static uint64_t first_by_counting(const struct version_life *lives, size_t n,
				  uint64_t limit, uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
		uint64_t alive = 0;

		for (size_t i = 0; i < n; i++)
			alive += lives[i].from <= from && from < lives[i].to;
		if (alive >= limit)
			return from;
	}
	return to;
}

TEST(the_version_count_says_what_counting_says_in_any_order)
{
	struct version_life lives[60];
	struct version_count t = {0};

	srand(15);
	for (int round = 0; round < 300; round++) {
		uint64_t limit = 1 + (uint64_t)rand() % 6;
		size_t n = 0;

		version_count_clear(&t, limit, true);
		for (int i = 0; i < 60; i++) {
			uint64_t from = (uint64_t)rand() % 50;
			uint64_t to = from + (uint64_t)rand() % 12;
			uint64_t first = version_count_first(&t, from, to);

			assert_int_equal(
				first,
				first_by_counting(lives, n, limit, from, to));
			lives[n++] = (struct version_life){from, to};
			assert_int_equal(version_count_add(&t, from, to), 0);
		}
	}
	version_count_free(&t);
}
