#include "tests/unit/unit.h"
#include "tests/unit/temp_store.h"
#include "fs/look/listing.h"
#include "fs/look/lookup.h"
#include "fs/memory/write_state.h"
#include "fs/ops/fs_life.h"
#include "fs/tree/fixed.h"
#include "fs/tree/fs.h"
#include "fs/tree/view.h"
#include "store/front/backend.h"
#include "tests/model/ref_store.h"

static struct {
	struct options options;
	struct store *store;
	struct fs *fs;
	struct table *t;
} world;

static int64_t clock_ms(void)
{
	return 1700000000000;
}

static int begin(void **state)
{
	assert_int_equal(ref_store_open(clock_ms, true, &world.store), 0);
	assert_int_equal(store_table_create(world.store, bytes_str("t"), NULL),
			 0);
	assert_int_equal(table_open(world.store, bytes_str("t"), &world.t), 0);
	assert_int_equal(table_add_family(world.t, bytes_str("f")), 0);
	assert_int_equal(table_add_family(world.t, bytes_str("g")), 0);
	assert_int_equal(fs_new(world.store, &world.options, &world.fs), 0);
	return 0;
}

static int end(void **state)
{
	fs_free(world.fs);
	table_unref(world.t);
	assert_int_equal(store_close(world.store), 0);
	return 0;
}

EACH_TEST_IN(begin, end);

static void change(uint8_t op, struct bytes row, const char *family,
		   struct bytes qualifier, int64_t ts)
{
	struct change c = {.op = op,
			   .family = bytes_str(family),
			   .qualifier = qualifier,
			   .ts = ts,
			   .value = bytes_str(op == CHANGE_PUT ? "v" : "")};
	struct mutation m = {.row = row, .changes = &c, .nchanges = 1};

	assert_int_equal(table_mutate(world.t, &m, 0), 1);
}

static void put(const char *row)
{
	change(CHANGE_PUT, bytes_str(row), "f", bytes_str("q"), TS_AUTO);
}

/* The node of a path, as lookups of the kernel would make it. */
static uint64_t node_of(const char *path)
{
	struct fuse_entry_param e = {.ino = FUSE_ROOT_ID};
	char copy[2000], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((name = strsep(&rest, "/")) && *name) {
		uint64_t parent = e.ino;
		struct place dir, child;
		struct stat st;

		assert_int_equal(place_of(world.fs, parent, &dir), 0);
		assert_int_equal(
			fs_lookup(world.fs, &dir, bytes_str(name), &child, &st),
			1);
		assert_int_equal(fs_entry(world.fs, parent, &child, &st, &e),
				 0);
		place_release(&child);
		place_release(&dir);
	}
	return e.ino;
}

static struct listing *open_path(const char *path)
{
	struct listing *ls;
	struct place dir;

	assert_int_equal(place_of(world.fs, node_of(path), &dir), 0);
	assert_int_equal(listing_open(world.fs, &dir, &ls), 0);
	place_release(&dir);
	return ls;
}

/* Up to @max names behind the position, blanks between. */
static const char *take(struct listing *ls, int max, uint64_t *offset)
{
	static char names[8000];
	struct listing_entry e;
	size_t at = 0;

	names[0] = '\0';
	while (max-- > 0 && listing_next(ls, true, &e) > 0) {
		if (offset)
			*offset = e.offset;
		if (e.dot)
			continue;
		assert_non_null(e.place);
		assert_int_equal(e.ino, e.st.st_ino);
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
				       at ? " " : "", e.name);
	}
	return names;
}

static void assert_lists(const char *path, const char *names)
{
	struct listing *ls = open_path(path);

	assert_string_equal(take(ls, 1000, NULL), names);
	open_file_drop(listing_file(ls));
}

TEST(every_level_lists_its_keys_in_order)
{
	put("b");
	put("a");
	change(CHANGE_PUT, bytes_str("a"), "g", bytes_str(""), 5);
	change(CHANGE_PUT, bytes_str("a"), "g", bytes_str("x/y"), 5);
	change(CHANGE_PUT, bytes_str("a"), "g", bytes_str("x/y"), 7);
	change(CHANGE_PUT, bytes_str("a"), "g", bytes_str("x/y"), 6);
	assert_int_equal(store_table_create(world.store, bytes_str("s"), NULL),
			 0);
	assert_lists("", "s t");
	assert_lists("s", ".schema");
	assert_lists("t", ".schema a b");
	assert_lists("t/a", "f g");
	assert_lists("t/a/g", "% x%2Fy");
	assert_lists("t/a/g/x%2Fy", "7 6 5");
}

TEST(a_seek_back_goes_on_behind_the_same_entry)
{
	struct listing *ls;
	uint64_t at = 0;
	char row[16];

	for (int i = 0; i < 300; i++) {
		snprintf(row, sizeof(row), "r%03d", i);
		put(row);
	}
	ls = open_path("t");
	take(ls, 200, &at);
	assert_int_equal(at, 200);
	/* ".", "..", ".schema", then r000: behind 200 entries comes r197. */
	assert_string_equal(take(ls, 1, NULL), "r197");
	assert_int_equal(listing_seek(ls, 200), 0); /* it did not fit */
	assert_string_equal(take(ls, 2, NULL), "r197 r198");
	assert_int_equal(listing_seek(ls, 150), 0); /* in the window */
	assert_string_equal(take(ls, 2, NULL), "r147 r148");
	assert_int_equal(listing_seek(ls, 10), 0); /* before it */
	assert_string_equal(take(ls, 2, NULL), "r007 r008");
	assert_int_equal(listing_seek(ls, 2), 0);
	assert_string_equal(take(ls, 2, NULL), ".schema r000");
	assert_int_equal(listing_seek(ls, 0), 0);
	assert_string_equal(take(ls, 4, NULL), ".schema r000");
	open_file_drop(listing_file(ls));
}

TEST(deletes_and_inserts_underneath_lose_nothing)
{
	struct listing *ls;

	put("a");
	put("b");
	put("c");
	put("d");
	ls = open_path("t");
	assert_string_equal(take(ls, 5, NULL), ".schema a b");
	/* The entry that the position stands on goes, and the scan too. */
	change(CHANGE_DELETE_ROW, bytes_str("b"), "", bytes_str(""), TS_AUTO);
	put("aa");
	put("bb");
	listing_rest(ls, INT64_MAX);
	assert_string_equal(take(ls, 10, NULL), "bb c d");
	open_file_drop(listing_file(ls));
}

TEST(a_listing_that_rested_goes_on_at_every_level)
{
	static const char *const paths[] = {"t", "t/a", "t/a/g", "t/a/g/x"};
	static const char *const want[] = {"b", "g", "y z", "6 5"};

	put("a");
	put("b");
	for (int64_t ts = 5; ts < 8; ts++)
		change(CHANGE_PUT, bytes_str("a"), "g", bytes_str("x"), ts);
	change(CHANGE_PUT, bytes_str("a"), "g", bytes_str("y"), 5);
	change(CHANGE_PUT, bytes_str("a"), "g", bytes_str("z"), 5);
	for (int i = 0; i < 4; i++) {
		struct listing *ls = open_path(paths[i]);

		take(ls, i == 0 ? 4 : 3, NULL);
		listing_rest(ls, INT64_MAX);
		assert_string_equal(take(ls, 10, NULL), want[i]);
		open_file_drop(listing_file(ls));
	}
}

/* Over a store of files, whose scans have keys in memory of their own. */
TEST(an_entry_that_did_not_fit_has_its_row_after_a_rest)
{
	struct temp_store s = {0};
	struct listing_entry e;
	struct listing *ls;
	uint64_t at;

	end(state);
	assert_int_equal(temp_make(&s), 0);
	world.store = s.store;
	world.t = s.table;
	assert_int_equal(fs_new(world.store, &world.options, &world.fs), 0);
	put("row a");
	put("row b");
	assert_int_equal(store_flush(world.store, NULL), 0);
	ls = open_path("t");
	take(ls, 4, &at);
	listing_rest(ls, INT64_MAX);
	/* Another scan takes over the memory. */
	assert_lists("t/.after/row a", "row b");
	assert_int_equal(listing_seek(ls, at - 1), 0);
	assert_int_equal(listing_next(ls, true, &e), 1);
	assert_true(bytes_eq(e.place->row, bytes_str("row a")));
	assert_string_equal(take(ls, 9, NULL), "row b");
	open_file_drop(listing_file(ls));
	fs_free(world.fs);
	assert_int_equal(temp_remove(&s), 0);
	begin(state);
}

/* Keys of 250 equal bytes and what is behind them. */
static struct bytes long_key(const char *tail)
{
	static char key[700];

	memset(key, 'k', 250);
	snprintf(key + 250, sizeof(key) - 250, "%s", tail);
	return bytes_str(key);
}

TEST(long_keys_are_directories_listed_once)
{
	char piece[256], path[700], want[900];
	struct listing_entry e;
	struct listing *ls;

	memset(piece, 'k', 250);
	piece[250] = '\0';
	change(CHANGE_PUT, long_key("aaaaaaaa"), "f", bytes_str(""), 5);
	change(CHANGE_PUT, long_key("b"), "f", bytes_str(""), 5);
	change(CHANGE_PUT, long_key("cccccccc"), "f", bytes_str(""), 5);
	change(CHANGE_PUT, long_key(""), "f", bytes_str(""), 5);
	put("l");
	snprintf(want, sizeof(want), ".schema %s %s%%+ %sb l", piece, piece,
		 piece);
	assert_lists("t", want);
	snprintf(path, sizeof(path), "t/%s%%+", piece);
	assert_lists(path, "aaaaaaaa cccccccc");
	/* Whether a row has changed meanwhile is asked of its whole key. */
	ls = open_path(path);
	take(ls, 3, NULL);
	assert_int_equal(listing_seek(ls, 2), 0);
	assert_int_equal(listing_next(ls, true, &e), 1);
	assert_true(bytes_eq(e.place->row, long_key("aaaaaaaa")));
	open_file_drop(listing_file(ls));
	snprintf(path, sizeof(path), "t/%s%%+/cccccccc", piece);
	assert_lists(path, "f");
	/* The same for qualifiers. */
	change(CHANGE_PUT, bytes_str("l"), "g", long_key("aaaaaaaa"), 5);
	change(CHANGE_PUT, bytes_str("l"), "g", long_key("cccccccc"), 5);
	snprintf(want, sizeof(want), "%s%%+", piece);
	assert_lists("t/l/g", want);
	snprintf(path, sizeof(path), "t/l/g/%s%%+", piece);
	assert_lists(path, "aaaaaaaa cccccccc");
	/* A view counts them from the first, which lies before the piece. */
	change(CHANGE_PUT, bytes_str("l"), "g", bytes_str("a"), 5);
	snprintf(want, sizeof(want), "a %s%%+", piece);
	assert_lists("t/l/g/.first/2", want);
	snprintf(path, sizeof(path), "t/l/g/.first/2/%s%%+", piece);
	assert_lists(path, "aaaaaaaa");
	assert_lists("t/l/g/.first/1", "a");
}

static void make(const char *parent, const char *name, bool scratch)
{
	struct overlay_entry e;
	struct fuse_entry_param p;
	struct place dir, child;
	struct stat st;

	assert_int_equal(place_of(world.fs, node_of(parent), &dir), 0);
	assert_int_equal(place_child(world.fs, &dir, bytes_str(name), &child),
			 0);
	if (scratch)
		child.kind = NODE_SCRATCH;
	assert_int_equal(place_stat_blank(world.fs, &child, &st), 1);
	assert_int_equal(fs_entry(world.fs, dir.node, &child, &st, &p), 0);
	if (scratch)
		assert_int_equal(scratch_add(world.fs->writes->scratch, p.ino,
					     S_IFREG | 0600, 0, 0),
				 0);
	e = (struct overlay_entry){
		.node = p.ino, .ino = st.st_ino, .kind = child.kind};
	snprintf(e.name, sizeof(e.name), "%s", name);
	assert_int_equal(
		overlay_add(world.fs->overlay, dir.node, place_key(&child), &e),
		0);
	place_release(&child);
	place_release(&dir);
}

static void make_in_memory(const char *parent, const char *name)
{
	make(parent, name, false);
}

static void make_scratch(const char *parent, const char *name)
{
	make(parent, name, true);
}

TEST(what_is_in_memory_is_merged_and_shown_once)
{
	struct listing *ls;

	make_in_memory("t", "a");
	make_in_memory("t", "c");
	make_in_memory("t", "z");
	put("b");
	put("c");
	put("d");
	assert_lists("t", ".schema a b c d z");
	ls = open_path("t");
	assert_string_equal(take(ls, 6, NULL), ".schema a b c");
	assert_int_equal(listing_seek(ls, 5), 0);
	assert_string_equal(take(ls, 9, NULL), "c d z");
	assert_int_equal(listing_seek(ls, 4), 0);
	assert_string_equal(take(ls, 9, NULL), "b c d z");
	/* A row emptied by deletes is in memory from then on. */
	assert_int_equal(listing_seek(ls, 4), 0);
	make_in_memory("t", "d");
	change(CHANGE_DELETE_ROW, bytes_str("d"), "", bytes_str(""), TS_AUTO);
	assert_string_equal(take(ls, 9, NULL), "b c d z");
	open_file_drop(listing_file(ls));
}

/* All names; and from behind each of them, to which a reader seeks, the others. */
static void assert_lists_from_anywhere(const char *path, const char *want)
{
	struct listing *ls = open_path(path);
	uint64_t at[16];
	size_t n = 0;

	assert_lists(path, want);
	take(ls, 2, &at[0]);
	while (*take(ls, 1, &at[n + 1]))
		n++;
	for (size_t i = n + 1; i-- > 0;) {
		const char *rest = want;

		for (size_t k = 0; k < i; k++)
			rest += strcspn(rest, " ") + (k + 1 < n);
		assert_int_equal(listing_seek(ls, at[i]), 0);
		assert_string_equal(take(ls, 16, NULL), rest);
	}
	open_file_drop(listing_file(ls));
}

TEST(a_scratch_file_hides_no_key_that_has_another_name)
{
	static const char *const dirs[] = {"t", "t/r/f"};
	/* One is .a, the other's name is that of a scratch file as well. */
	const struct bytes keys[] = {bytes_str(".a"), bytes_str("#\x01")};

	world.fs->budget.max = 1 << 20;
	for (int i = 0; i < 2; i++) {
		change(CHANGE_PUT, keys[i], "f", bytes_str(""), 5);
		change(CHANGE_PUT, bytes_str("r"), "f", keys[i], 5);
	}
	for (int i = 0; i < 2; i++) {
		make_scratch(dirs[i], "#%01");
		make_scratch(dirs[i], ".a");
		make_scratch(dirs[i], ".b");
		make_in_memory(dirs[i], "%2Eb");
	}
	assert_lists_from_anywhere("t", ".schema #%01 %2Ea .a %2Eb .b r");
	assert_lists_from_anywhere("t/r/f", "#%01 %2Ea .a %2Eb .b");
}

TEST(a_piece_is_listed_once_from_anywhere)
{
	static const char *const tails[] = {
		"\xF0\x90\x80\x80, long", "\xF0\x91", "\xF0\x92\x80\x80, long"};
	char start[248], row[300], want[1400];

	memset(start, 'k', 247);
	start[247] = '\0';
	for (int i = 0; i < 3; i++) {
		snprintf(row, sizeof(row), "%s%s", start, tails[i]);
		put(row);
	}
	put("a");
	snprintf(want, sizeof(want), ".schema a %s%%+ %s%%F0%%91", start,
		 start);
	assert_lists_from_anywhere("t", want);
	/* Also when it is in memory as well. */
	snprintf(row, sizeof(row), "%s%%+", start);
	make_in_memory("t", row);
	assert_lists_from_anywhere("t", want);
	/* The names of scratch files lie between two keys of a piece. */
	world.fs->budget.max = 1 << 20;
	for (int i = 0; i < 2; i++) {
		snprintf(row, sizeof(row), ".%s%c, long", start, i ? 127 : 'a');
		put(row);
		snprintf(row, sizeof(row), ".%s~%d~", start, i);
		make_scratch("t", row);
	}
	snprintf(want, sizeof(want),
		 ".schema %%2E%s%%+ .%s~0~ .%s~1~ a %s%%+ %s%%F0%%91", start,
		 start, start, start, start);
	assert_lists_from_anywhere("t", want);
}

/* Its name is no key that begins with the piece, and other keys are between. */
TEST(behind_a_scratch_file_in_a_piece_the_rest_is_listed)
{
	static const char *const dirs[] = {"t", "t/r/f"};
	char key[301], path[300], want[60];

	world.fs->budget.max = 1 << 20;
	memset(key, 'z', 300);
	key[300] = '\0';
	change(CHANGE_PUT, bytes_str("b"), "f", bytes_str(""), 5);
	change(CHANGE_PUT, bytes_str(key), "f", bytes_str(""), 5);
	change(CHANGE_PUT, bytes_str("r"), "f", bytes_str("b"), 5);
	change(CHANGE_PUT, bytes_str("r"), "f", bytes_str(key), 5);
	snprintf(want, sizeof(want), ".x %.50s", key);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%.250s%%+", dirs[i], key);
		make_scratch(path, ".x");
		assert_lists_from_anywhere(path, want);
	}
}

/* The row that cannot be read, or NULL. */
static const char *damaged;
int __real_view_scan_next(struct view_scan *vs, struct cell *out);
int __wrap_view_scan_next(struct view_scan *vs, struct cell *out);
int __wrap_view_scan_pass(struct view_scan *vs);

int __wrap_view_scan_next(struct view_scan *vs, struct cell *out)
{
	int r = __real_view_scan_next(vs, out);

	return r > 0 && damaged && bytes_eq(out->row, bytes_str(damaged))
		       ? why(-EUCLEAN, "damaged")
		       : r;
}

int __wrap_view_scan_pass(struct view_scan *vs)
{
	return 0;
}

TEST(damage_is_told_to_who_goes_back_to_behind_it)
{
	struct listing_entry e;
	struct listing *ls;

	put("a");
	put("b");
	put("c");
	put("d");
	damaged = "b";
	ls = open_path("t");
	assert_string_equal(take(ls, 9, NULL), ".schema a c d");
	assert_int_equal(listing_next(ls, false, &e), -EUCLEAN);
	assert_int_equal(listing_seek(ls, 5), 0);
	assert_string_equal(take(ls, 9, NULL), "d");
	assert_int_equal(listing_next(ls, false, &e), -EUCLEAN);
	/* Who begins again sees what there is then. */
	damaged = NULL;
	assert_int_equal(listing_seek(ls, 0), 0);
	assert_string_equal(take(ls, 9, NULL), ".schema a b c d");
	assert_int_equal(listing_next(ls, false, &e), 0);
	open_file_drop(listing_file(ls));
}

/* How often the text of a schema was made: a listing wants its length. */
static int formatted;
static bool unreadable;
int __real_schema_format(const struct schema *s, struct buf *out);
int __wrap_schema_format(const struct schema *s, struct buf *out);

int __wrap_schema_format(const struct schema *s, struct buf *out)
{
	formatted++;
	return unreadable ? -EIO : __real_schema_format(s, out);
}

TEST(a_name_of_the_tree_is_looked_up_once)
{
	struct listing *ls;

	put("a");
	ls = open_path("t");
	formatted = 0;
	assert_string_equal(take(ls, 9, NULL), ".schema a");
	assert_int_equal(formatted, 1);
	/* One that did not fit is looked up again. */
	assert_int_equal(listing_seek(ls, 0), 0);
	assert_string_equal(take(ls, 3, NULL), ".schema");
	assert_int_equal(listing_seek(ls, 2), 0);
	assert_string_equal(take(ls, 9, NULL), ".schema a");
	assert_int_equal(formatted, 3);
	open_file_drop(listing_file(ls));
}

TEST(what_cannot_be_looked_at_is_not_taken_for_absent)
{
	struct listing_entry e;
	struct listing *ls;

	put("a");
	ls = open_path("t");
	unreadable = true;
	formatted = 0;
	take(ls, 2, NULL);
	/* Who looks at it by its name is told. */
	assert_int_equal(listing_next(ls, true, &e), 1);
	assert_string_equal(e.name, ".schema");
	assert_int_equal(e.kind, NODE_SCHEMA);
	assert_null(e.place);
	/* Where nobody answers, each time takes long. */
	assert_int_equal(formatted, 1);
	assert_string_equal(take(ls, 9, NULL), "a");
	unreadable = false;
	assert_int_equal(listing_seek(ls, 0), 0);
	assert_string_equal(take(ls, 9, NULL), ".schema a");
	open_file_drop(listing_file(ls));
}

TEST(control_names_are_listed_only_when_asked)
{
	assert_lists(
		".cellfs",
		"compact errors flush help metrics options stats status sync "
		"trace version");
	assert_lists("", "t");
	world.options.show_control = true;
	assert_lists("", ".cellfs .snapshot t");
}

/* A column of two versions, and a snapshot of it. */
static int begin_with_a_snapshot(void **state)
{
	begin(state);
	change(CHANGE_PUT, bytes_str("a"), "f", bytes_str("q"), 5);
	change(CHANGE_PUT, bytes_str("a"), "f", bytes_str("q"), 6);
	assert_int_equal(
		store_snapshot_create(world.store, world.t, bytes_str("s")), 0);
	return 0;
}

TEST_IN(each_level_lists_the_names_that_mean_something_in_it,
	begin_with_a_snapshot, end)
{
	world.options.show_control = true;
	assert_lists("t",
		     ".after .at .between .cells .first .info .last .prefix "
		     ".put .range .raw .schema .since .snapshot .stage a");
	assert_lists("t/a", ".at .between .cells .raw .since f");
	assert_lists("t/a/f",
		     ".after .at .between .cells .first .prefix .range .raw "
		     ".since q");
	assert_lists("t/a/f/q", "@-1 counter latest 6 5");
	assert_lists("t/.range/a..",
		     ".after .at .between .cells .first .last .prefix .range "
		     ".raw .since a");
	assert_lists("t/.raw/a/f",
		     ".after .at .between .cells .first .prefix .range .since "
		     "q");
	assert_lists("t/.at/now/a", ".at .between .cells .since f");
	assert_lists("t/.snapshot/s",
		     ".after .at .between .cells .first .last .prefix .range "
		     ".raw .schema .since a");
	assert_lists("t/.snapshot", "s");
	world.options.show_control = false;
	assert_lists("t/a", "f");
	assert_lists("t/a/f", "q");
	assert_lists("t/a/f/q", "6 5");
	assert_lists("t/.range/a..", "a");
}

/* Is it of a kind that no key makes, and not of a file that tools make? */
static bool means_something(const char *path, const char *name)
{
	static const uint64_t fixed =
		1ull << NODE_VIEW_NAME | 1ull << NODE_CONTROL_DIR |
		1ull << NODE_CELLS | 1ull << NODE_INFO_DIR | 1ull << NODE_PUT |
		1ull << NODE_VIEW | 1ull << NODE_SCHEMA |
		1ull << NODE_SNAPSHOT_DIR | 1ull << NODE_STAGE |
		1ull << NODE_PAST | 1ull << NODE_COUNTER | 1ull << NODE_LATEST;
	struct place dir, child;
	bool means;

	assert_int_equal(place_of(world.fs, node_of(path), &dir), 0);
	means = place_child(world.fs, &dir, bytes_str(name), &child) == 0 &&
		fixed >> child.kind & 1;
	place_release(&child);
	place_release(&dir);
	return means;
}

TEST_IN(a_name_means_something_at_its_levels_only, begin_with_a_snapshot, end)
{
	static const char *const words[] = {
		".after",
		".at",
		".between",
		".cellfs",
		".cells",
		".first",
		".info",
		".last",
		".prefix",
		".put",
		".range",
		".raw",
		".schema",
		".since",
		".snapshot",
		".stage",
		"@-1",
		"counter",
		"latest",
		".a",
		".aft",
		".afters",
		".snapshots",
		"@",
		".",
		"latest, and more than any of these names has bytes"};
#define VIEWS \
	".after .at .between .cells .first .last .prefix .range .raw .since "
	static const struct {
		const char *path, *names;
	} levels[] = {
		{"", ".cellfs .snapshot "},
		{"t", VIEWS ".info .put .schema .snapshot .stage "},
		{"t/a", VIEWS},
		{"t/a/f", VIEWS},
		{"t/a/f/q", "@-1 counter latest "},
		{"t/.range/a..", VIEWS},
		{"t/.range/a../a/f", VIEWS},
		{"t/.snapshot/s", VIEWS ".schema "},
		{".snapshot", ""},
		{".snapshot/all", ""},
		{".snapshot/all/t", VIEWS ".schema "},
		{".cellfs", ""},
		{"t/.info", ""},
		{"t/.put", ""},
		{"t/.put/a", VIEWS},
		{"t/.stage", ""},
		{"t/.snapshot", ""},
	};

	assert_int_equal(
		store_snapshot_create(world.store, NULL, bytes_str("all")), 0);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
			char with_blank[64];

			snprintf(with_blank, sizeof(with_blank), "%s ",
				 words[k]);
			if (means_something(levels[i].path, words[k]) !=
			    !!strstr(levels[i].names, with_blank))
				fail_msg("%s in %s", words[k], levels[i].path);
		}
}

TEST(the_words_are_the_names_with_a_dot)
{
	const char *last = "", *word;
	unsigned n = 0;

	for (; (word = fixed_word(n)); n++) {
		assert_true(word[0] == '.');
		assert_true(strcmp(last, word) < 0);
		assert_true(fixed_is_word(word));
		last = word;
	}
	assert_int_equal(n, 16);
	/* Whoever goes on finds none. */
	for (; n < 100; n++)
		assert_null(fixed_word(n));
	assert_false(fixed_is_word("latest"));
	assert_false(fixed_is_word(".a"));
	assert_false(fixed_is_word(""));
}

TEST(a_store_that_cannot_tell_lists_the_first_and_last_row)
{
	put("a");
	assert_lists("t/.info",
		     "bytes cells damaged files first last newest oldest rows");
	world.store->can &= ~ABILITY(CAN_TELL_INFO);
	assert_lists("t/.info", "first last");
}

TEST(a_dropped_table_ends_its_listing)
{
	struct listing *ls;

	put("a");
	put("b");
	ls = open_path("t");
	assert_string_equal(take(ls, 4, NULL), ".schema a");
	listing_rest(ls, INT64_MAX);
	assert_int_equal(store_table_drop(world.store, bytes_str("t"), false),
			 0);
	assert_string_equal(take(ls, 4, NULL), "");
	open_file_drop(listing_file(ls));
}
