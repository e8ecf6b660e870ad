/* What the kernel is told when programs change tables and snapshots. */
#include "tests/unit/kernel.h"
#include "tests/unit/temp_store.h"

#include "fs/change/changed.h"
#include "fs/memory/write_state.h"
#include "fs/tree/root.h"

static struct bytes str(const char *s)
{
	return bytes_str(s);
}

/* A program has done that, or tried: what the kernel hears before it goes on. */
static const char *after(struct world *w, enum served_what what,
			 const char *name, const char *to, int result)
{
	struct served_act act = {
		.what = what, .name = str(name), .to = str(to)};

	changed_by_program_before(w->fs, &act);
	changed_by_program(w->fs, &act, result);
	return notices(w);
}

static const char *after_of(struct world *w, enum served_what what,
			    const char *name, const char *to, int result)
{
	struct served_act act = {
		.what = what, .name = str(name), .to = str(to)};
	const char *heard;

	assert_int_equal(table_open(w->store, str("T"), &act.table), 0);
	changed_by_program_before(w->fs, &act);
	changed_by_program(w->fs, &act, result);
	heard = notices(w);
	table_unref(act.table);
	return heard;
}

/* The words, where %llu is the node. */
static void assert_hears(const char *heard, const char *words, uint64_t node)
{
	char want[1000];

	snprintf(want, sizeof(want), words, (unsigned long long)node,
		 (unsigned long long)node, (unsigned long long)node);
	assert_string_equal(heard, want);
}

static uint64_t begin(struct world *w, uint64_t *row)
{
	uint64_t table;

	world_begin(w);
	*row = a_row_with_a_cell(w, &table);
	world_hears(w);
	notices(w);
	return table;
}

static bool finds(struct world *w, uint64_t dir, const char *name,
		  uint64_t node)
{
	uint64_t found = 0;

	nodes_find(w->fs->nodes, dir, str(name), &found);
	return found == node;
}

TEST(a_table_that_is_made_or_dropped_is_told_by_its_name)
{
	uint64_t table, row;
	struct world w;

	table = begin(&w, &row);
	assert_string_equal(after(&w, SERVED_MADE, "U", "", 0),
			    "inode 1\nentry 1 U\n");
	assert_true(finds(&w, FUSE_ROOT_ID, "T", table));
	assert_string_equal(after(&w, SERVED_MADE, "U", "", -EEXIST), "");
	assert_string_equal(after(&w, SERVED_DROPPED, "T", "", -EIO), "");
	assert_true(finds(&w, FUSE_ROOT_ID, "T", table));
	assert_non_null(
		strstr(after(&w, SERVED_DROPPED, "T", "", 0), "entry 1 T\n"));
	assert_true(finds(&w, FUSE_ROOT_ID, "T", 0));
	world_end(&w);
}

TEST(what_was_in_memory_of_a_dropped_table_goes)
{
	uint64_t table, row, other, column, live, pinned;
	struct world w;

	table = begin(&w, &row);
	other = made_dir(&w, FUSE_ROOT_ID, "U");
	made_dir(&w, other, "R");
	assert_int_equal(overlay_count(w.fs->overlay), 1);
	nodes_count(w.fs->nodes, &live, &pinned);
	made_dir(&w, row, "g");
	assert_int_equal(make_file(&w, table, ".a.swp"), 0);
	column = looked_up(&w, looked_up(&w, row, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	assert_int_equal(rename_in(&w, column, "5", "5~"), 0);
	assert_true(scratch_any(w.fs->writes->scratch));
	after(&w, SERVED_DROPPED, "T", "", 0);
	/* Of the other table nothing goes. */
	assert_int_equal(overlay_count(w.fs->overlay), 1);
	assert_false(scratch_any(w.fs->writes->scratch));
	nodes_count(w.fs->nodes, &live, &column);
	assert_int_equal(column, pinned);
	world_end(&w);
}

/* Whoever has looked before the change must look again. */
static void assert_changed(struct world *w, uint64_t *seen)
{
	assert_true(changes_since(&w->fs->changes, str("P"), *seen));
	*seen = changes_now(&w->fs->changes);
}

TEST(what_was_seen_of_a_table_is_old_when_it_is_another)
{
	uint64_t table, row, seen;
	struct served_act act = {.what = SERVED_ALTERED};
	struct world w;

	table = begin(&w, &row);
	seen = changes_now(&w.fs->changes);
	assert_false(changes_since(&w.fs->changes, str("P"), seen));
	changed_schema(w.fs, w.fs->root.table, table, false);
	assert_changed(&w, &seen);
	assert_int_equal(rename_in(&w, FUSE_ROOT_ID, "T", "U"), 0);
	assert_changed(&w, &seen);
	assert_int_equal(table_open(w.store, str("U"), &act.table), 0);
	changed_by_program_before(w.fs, &act);
	changed_by_program(w.fs, &act, 0);
	assert_changed(&w, &seen);
	table_unref(act.table);
	changed_table_dropped(w.fs, str("U"));
	assert_changed(&w, &seen);
	world_end(&w);
}

static uint64_t changed_at(struct world *w, uint64_t node)
{
	struct fuse_getattr_in in = {0};
	struct fuse_attr_out out;

	assert_int_equal(ask(w, FUSE_GETATTR, node, ARGS(in), str("")), 0);
	memcpy(&out, answer.data, sizeof(out));
	return out.attr.mtime;
}

TEST(the_root_is_another_when_a_table_comes)
{
	uint64_t was;
	struct world w;

	world_begin(&w);
	/* By its clock the store is of 2023. */
	was = changed_at(&w, FUSE_ROOT_ID);
	after(&w, SERVED_MADE, "U", "", -EIO);
	assert_int_equal(changed_at(&w, FUSE_ROOT_ID), was);
	after(&w, SERVED_MADE, "U", "", 0);
	assert_true(changed_at(&w, FUSE_ROOT_ID) > was);
	world_end(&w);
}

TEST(the_root_is_another_when_a_table_goes)
{
	uint64_t was;
	struct world w;

	world_begin(&w);
	assert_int_equal(store_table_create(w.store, str("T"), NULL), 0);
	was = changed_at(&w, FUSE_ROOT_ID);
	assert_int_equal(
		ask(&w, FUSE_RMDIR, FUSE_ROOT_ID, str(""), name_of("U")),
		-ENOENT);
	assert_int_equal(changed_at(&w, FUSE_ROOT_ID), was);
	assert_int_equal(
		ask(&w, FUSE_RMDIR, FUSE_ROOT_ID, str(""), name_of("T")), 0);
	assert_true(changed_at(&w, FUSE_ROOT_ID) > was);
	world_end(&w);
}

/* The program's table is not the one that the kernel knows by this name. */
TEST(of_another_table_of_that_name_nothing_is_told)
{
	struct served_act act = {.what = SERVED_ALTERED};
	uint64_t row;
	struct world w;

	begin(&w, &row);
	assert_int_equal(store_table_drop(w.store, str("T"), false), 0);
	assert_int_equal(store_table_create(w.store, str("T"), NULL), 0);
	assert_int_equal(table_open(w.store, str("T"), &act.table), 0);
	changed_by_program(w.fs, &act, 0);
	assert_string_equal(notices(&w), "");
	table_unref(act.table);
	world_end(&w);
}

/* T is the root, and has a cell in its row P, which the kernel knows. */
static uint64_t root_is_table(struct world *w)
{
	uint64_t row;

	assert_int_equal(store_table_create(w->store, str("T"), NULL), 0);
	why_clear();
	assert_int_equal(root_open(w->fs, "T"), 0);
	assert_string_equal(store_why(), "");
	row = made_dir(w, FUSE_ROOT_ID, "P");
	assert_int_equal(make_file(w, row, "f:q"), 0);
	forget(w, given());
	world_hears(w);
	notices(w);
	return row;
}

static uint64_t begin_in_table(struct world *w)
{
	world_begin(w);
	return root_is_table(w);
}

TEST(a_table_that_is_the_root_is_told_of_without_its_name)
{
	struct world w;
	uint64_t row = begin_in_table(&w), dir;

	assert_string_equal(after(&w, SERVED_MADE, "U", "", 0), "");
	assert_string_equal(after(&w, SERVED_DROPPED, "T", "", 0), "");
	assert_string_equal(after(&w, SERVED_RENAMED, "T", "U", 0), "");
	assert_hears(after_of(&w, SERVED_ALTERED, "", "", 0),
		     "inode 1\ninode %llu\n", row);
	assert_hears(after(&w, SERVED_TRUNCATED, "T", "", 0),
		     "inode 1\ninode %llu\npages %llu\n", row);
	assert_string_equal(after(&w, SERVED_SNAPSHOT_TAKEN, "s", "", 0), "");
	assert_string_equal(after_of(&w, SERVED_SNAPSHOT_TAKEN, "s", "", 0),
			    "");
	dir = looked_up(&w, FUSE_ROOT_ID, ".snapshot");
	assert_hears(after_of(&w, SERVED_SNAPSHOT_TAKEN, "s", "", 0),
		     "entry %llu s\n", dir);
	world_end(&w);
}

/* The store is asked once whether there are such; then the mount writes them itself. */
TEST(a_restored_snapshot_may_bring_cells_with_a_ttl)
{
	struct change put = {.op = CHANGE_PUT,
			     .family = str("f"),
			     .qualifier = str("q"),
			     .ts = TS_AUTO,
			     .value = str("v"),
			     .ttl_ms = 60000};
	struct mutation m = {.row = str("P"), .changes = &put, .nchanges = 1};
	struct served_act act = {.what = SERVED_ALTERED, .deletes = true};
	struct temp_store s = {.options.create = true};
	struct fstable *ft;
	struct world w;

	/* The store of the model does not say which tables have such cells. */
	snprintf(s.path, sizeof(s.path), "/tmp/cellfs-test-XXXXXX");
	assert_non_null(mkdtemp(s.path));
	assert_int_equal(store_open(s.path, &s.options, &s.store), 0);
	world_begin_over(&w, s.store);
	root_is_table(&w);
	ft = w.fs->root.table;
	assert_int_equal(fstable_expires(ft), 0);
	assert_int_equal(table_open(w.store, str("T"), &act.table), 0);
	assert_true(table_mutate(act.table, &m, 0) >= 0);
	assert_int_equal(fstable_expires(ft), 0);
	changed_by_program(w.fs, &act, 0);
	assert_int_equal(fstable_expires(ft), FSTABLE_CELL_TTL);
	table_unref(act.table);
	world_end(&w);
	s.store = NULL;
	assert_int_equal(temp_remove(&s), 0);
}

TEST(a_table_that_is_renamed_is_told_by_both_names)
{
	uint64_t table, row;
	struct world w;

	table = begin(&w, &row);
	assert_string_equal(after(&w, SERVED_RENAMED, "T", "U", -EIO), "");
	assert_int_equal(store_table_rename(w.store, str("T"), str("U")), 0);
	assert_string_equal(after(&w, SERVED_RENAMED, "T", "U", 0),
			    "inode 1\nentry 1 T\ninode 1\nentry 1 U\n");
	/* Who is in it stays there. */
	assert_true(finds(&w, FUSE_ROOT_ID, "U", table));
	assert_true(finds(&w, FUSE_ROOT_ID, "T", 0));
	looked_up(&w, row, "f:q");
	assert_int_equal(looked_up(&w, FUSE_ROOT_ID, "U"), table);
	world_end(&w);
}

TEST(of_a_truncated_table_all_is_asked_again)
{
	uint64_t table, row;
	const char *heard;
	char words[64];
	struct world w;

	table = begin(&w, &row);
	assert_string_equal(after(&w, SERVED_TRUNCATED, "T", "", -EIO), "");
	heard = after(&w, SERVED_TRUNCATED, "T", "", 0);
	snprintf(words, sizeof(words), "inode %llu\n",
		 (unsigned long long)table);
	assert_non_null(strstr(heard, words));
	snprintf(words, sizeof(words), "inode %llu\n", (unsigned long long)row);
	assert_non_null(strstr(heard, words));
	assert_non_null(strstr(heard, "entry 1 T\n"));
	world_end(&w);
}

TEST(snapshots_are_told_where_they_are)
{
	uint64_t table, row, dir, all, s, node;
	struct world w;

	table = begin(&w, &row);
	/* Where nobody has looked there is nothing to tell. */
	assert_string_equal(after_of(&w, SERVED_SNAPSHOT_TAKEN, "s", "", 0),
			    "");
	assert_string_equal(after(&w, SERVED_SNAPSHOT_TAKEN, "s", "", 0), "");
	dir = looked_up(&w, table, ".snapshot");
	all = looked_up(&w, FUSE_ROOT_ID, ".snapshot");
	s = made_dir(&w, dir, "s");
	node = made_dir(&w, all, "a");
	notices(&w);
	assert_hears(after_of(&w, SERVED_SNAPSHOT_TAKEN, "t", "", 0),
		     "entry %llu t\n", dir);
	assert_hears(after(&w, SERVED_SNAPSHOT_TAKEN, "t", "", 0),
		     "entry %llu t\n", all);
	/* One that could not be taken, as it is there, stays. */
	assert_hears(after_of(&w, SERVED_SNAPSHOT_TAKEN, "s", "", -EEXIST),
		     "entry %llu s\n", dir);
	assert_true(finds(&w, dir, "s", s));
	assert_string_equal(
		after_of(&w, SERVED_SNAPSHOT_DROPPED, "s", "", -EIO), "");
	assert_true(finds(&w, dir, "s", s));
	assert_hears(after_of(&w, SERVED_SNAPSHOT_DROPPED, "s", "", 0),
		     "entry %llu s\n", dir);
	assert_true(finds(&w, dir, "s", 0));
	assert_true(finds(&w, all, "a", node));
	assert_hears(after(&w, SERVED_SNAPSHOT_DROPPED, "a", "", 0),
		     "entry %llu a\n", all);
	assert_true(finds(&w, all, "a", 0));
	world_end(&w);
}

TEST(a_snapshot_that_is_renamed_is_told_by_both_names)
{
	uint64_t table, row, dir, s;
	struct world w;

	table = begin(&w, &row);
	dir = looked_up(&w, table, ".snapshot");
	s = made_dir(&w, dir, "s");
	notices(&w);
	assert_string_equal(
		after_of(&w, SERVED_SNAPSHOT_RENAMED, "s", "t", -EIO), "");
	assert_true(finds(&w, dir, "s", s));
	assert_hears(after_of(&w, SERVED_SNAPSHOT_RENAMED, "s", "t", 0),
		     "entry %llu t\nentry %llu s\n", dir);
	assert_true(finds(&w, dir, "s", 0));
	world_end(&w);
}

TEST(of_an_altered_table_all_has_other_attributes)
{
	struct served_act act = {.what = SERVED_ALTERED};
	uint64_t table, row, past;
	char want[120];
	struct world w;

	table = begin(&w, &row);
	assert_int_equal(table_open(w.store, str("T"), &act.table), 0);
	snprintf(want, sizeof(want), "inode %llu\ninode %llu\n",
		 (unsigned long long)table, (unsigned long long)row);
	/* Part of it may have been done. */
	for (int result = -1; result <= 0; result++) {
		changed_by_program(w.fs, &act, result);
		assert_string_equal(notices(&w), want);
	}
	/* The table's past has its mode, too. */
	past = looked_up(&w, FUSE_ROOT_ID, ".snapshot");
	changed_by_program(w.fs, &act, 0);
	snprintf(want, sizeof(want), "inode %llu\ninode %llu\ninode %llu\n",
		 (unsigned long long)table, (unsigned long long)row,
		 (unsigned long long)past);
	assert_string_equal(notices(&w), want);
	act.deletes = true;
	changed_by_program(w.fs, &act, 0);
	assert_non_null(strstr(notices(&w), "entry 1 T\n"));
	table_unref(act.table);
	world_end(&w);
}

static bool has_word(const char *heard, const char *what, uint64_t node,
		     const char *name)
{
	char line[300];

	snprintf(line, sizeof(line), "%s %llu%s%s\n", what,
		 (unsigned long long)node, *name ? " " : "", name);
	return strstr(heard, line) != NULL;
}

/* What a program deletes of column q, of which the kernel knows all. */
static const char *after_delete(struct world *w, uint8_t op, int64_t ts)
{
	bool row = op == CHANGE_DELETE_ROW;
	struct change c = {.op = op, .family = str(row ? "" : "f"), .ts = ts};
	struct mutation m = {.row = str("P"), .changes = &c, .nchanges = 1};
	const char *heard;
	struct table *t;

	if (!row && op != CHANGE_DELETE_FAMILY)
		c.qualifier = str("q");
	assert_int_equal(table_open(w->store, str("T"), &t), 0);
	changed_rows_before(w->fs, t, &m, 1);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	changed_rows(w->fs, t, &m, 1);
	heard = notices(w);
	table_unref(t);
	return heard;
}

struct column {
	uint64_t table, row, family, column, alias;
};

/* The row P has f:q of the versions 5 and 6 alone, and f:r. */
static void begin_column(struct world *w, struct column *c)
{
	c->table = begin(w, &c->row);
	assert_int_equal(make_file(w, c->row, "f:r"), 0);
	c->family = looked_up(w, c->row, "f");
	after_delete(w, CHANGE_DELETE_COLUMN, TS_AUTO);
	c->column = made_dir(w, c->family, "q");
	assert_int_equal(make_file(w, c->column, "5"), 0);
	assert_int_equal(make_file(w, c->column, "6"), 0);
	c->alias = looked_up(w, c->row, "f:q");
	notices(w);
}

static int unlink_file(struct world *w, uint64_t dir, const char *name)
{
	return ask(w, FUSE_UNLINK, dir, str(""), name_of(name));
}

TEST(of_a_file_that_is_removed_the_directories_stay)
{
	struct column c;
	const char *heard;
	struct world w;

	begin_column(&w, &c);
	assert_int_equal(unlink_file(&w, c.column, "6"), 0);
	assert_int_equal(unlink_file(&w, c.column, "5"), 0);
	heard = notices(&w);
	/* The kernel knows where it removed a name. */
	assert_false(has_word(heard, "pages", c.column, ""));
	assert_false(has_word(heard, "entry", c.family, "q"));
	assert_false(has_word(heard, "entry", c.row, "f"));
	assert_int_equal(looked_up(&w, c.family, "q"), c.column);
	world_end(&w);
}

TEST(of_a_column_that_goes_by_another_name_its_directory_is_told)
{
	struct column c;
	const char *heard;
	struct world w;

	begin_column(&w, &c);
	assert_int_equal(unlink_file(&w, c.row, "f:q"), 0);
	heard = notices(&w);
	assert_true(has_word(heard, "pages", c.column, ""));
	assert_false(has_word(heard, "entry", c.family, "q"));
	world_end(&w);
}

/* It may believe attributes for long that are on their way to it. */
TEST(what_the_kernel_has_not_got_yet_is_not_cached)
{
	uint64_t latest, handle;
	struct column c;
	struct world w;

	begin_column(&w, &c);
	latest = looked_up(&w, c.column, "latest");
	handle = opened_file(&w, latest, O_WRONLY);
	assert_int_equal(write_byte(&w, latest, handle), 0);
	assert_false(is_read_past_cache(&w, c.alias));
	notices_come_early = true;
	assert_int_equal(flush_file(&w, latest, handle), 0);
	notices_come_early = false;
	assert_true(is_read_past_cache(&w, c.alias));
	closed_file(&w, latest, handle);
	world_end(&w);
}

/* Of a table that is set back to a snapshot a value is another at once. */
TEST(what_a_program_alters_is_not_cached_meanwhile)
{
	struct served_act act = {.what = SERVED_ALTERED};
	struct column c;
	struct world w;

	begin_column(&w, &c);
	assert_int_equal(table_open(w.store, str("T"), &act.table), 0);
	changed_by_program_before(w.fs, &act);
	assert_true(is_read_past_cache(&w, c.alias));
	changed_by_program(w.fs, &act, 0);
	assert_false(is_read_past_cache(&w, c.alias));
	table_unref(act.table);
	world_end(&w);
}

static uint64_t reads_of_table(struct world *w)
{
	struct table_calls calls;
	struct table *t;

	assert_int_equal(table_open(w->store, str("T"), &t), 0);
	table_calls(t, &calls);
	table_unref(t);
	return calls.reads;
}

/* The delete itself knows whether there was one, and leaves none. */
TEST(a_column_that_is_removed_is_not_read_for_that)
{
	struct column c;
	uint64_t reads;
	struct world w;

	begin_column(&w, &c);
	reads = reads_of_table(&w);
	assert_int_equal(unlink_file(&w, c.row, "f:q"), 0);
	assert_int_equal(reads_of_table(&w), reads);
	assert_int_equal(unlink_file(&w, c.row, "f:q"), -ENOENT);
	assert_int_equal(looked_up(&w, c.family, "q"), c.column);
	world_end(&w);
}

static int open_to_write(struct world *w, uint64_t node)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	struct fuse_release_in release = {0};
	struct fuse_open_out out;
	int r = ask(w, FUSE_OPEN, node, ARGS(in), str(""));

	if (r)
		return r;
	memcpy(&out, answer.data, sizeof(out));
	release.fh = out.fh;
	assert_int_equal(ask(w, FUSE_RELEASE, node, ARGS(release), str("")), 0);
	return 0;
}

/* Nor is it opened if it has gone since. */
TEST(a_version_that_was_just_looked_up_is_opened_unread)
{
	struct column c;
	struct world w;
	uint64_t reads, node;

	begin_column(&w, &c);
	node = looked_up(&w, c.column, "6");
	reads = reads_of_table(&w);
	assert_int_equal(open_to_write(&w, node), 0);
	assert_int_equal(reads_of_table(&w), reads);
	looked_up(&w, c.column, "6");
	after_delete(&w, CHANGE_DELETE, 6);
	assert_int_equal(open_to_write(&w, node), -ESTALE);
	world_end(&w);
}

/* A change of q as its F:Q is written or removed, of which the parts are seen. */
struct under_way {
	struct change change;
	struct mutation m;
	struct changer changer;
	struct place file;
	uint64_t turn;
};

static void begin_change(struct world *w, const struct column *c,
			 enum change_op op, struct under_way *u)
{
	*u = (struct under_way){.change = {.op = op,
					   .family = str("f"),
					   .qualifier = str("q"),
					   .ts = TS_AUTO}};
	u->m = (struct mutation){
		.row = str("P"), .changes = &u->change, .nchanges = 1};
	assert_int_equal(place_of(w->fs, c->alias, &u->file), 0);
	u->changer = changer_at(w->fs, &u->file);
	u->changer.file = &u->file;
	u->turn = changed_before(&u->changer, &u->m);
}

static void make_change(struct under_way *u)
{
	assert_int_equal(table_mutate(fstable_table(u->file.table), &u->m, 0),
			 1);
}

static void end_change(struct under_way *u)
{
	changed_after(&u->changer, &u->m, u->turn, true);
	place_release(&u->file);
}

/* What is put while a delete is under way must leave the directories to it. */
TEST(a_delete_leaves_no_directory_in_memory_that_has_a_cell)
{
	struct under_way u;
	struct column c;
	struct world w;

	begin_column(&w, &c);
	begin_change(&w, &c, CHANGE_DELETE_COLUMN, &u);
	assert_int_equal(overlay_count(w.fs->overlay), 3);
	make_change(&u);
	assert_int_equal(make_file(&w, c.column, "7"), 0);
	assert_int_equal(overlay_count(w.fs->overlay), 3);
	end_change(&u);
	assert_int_equal(overlay_count(w.fs->overlay), 0);
	world_end(&w);
}

/* It is newer than all else there, so it is not looked for. */
TEST(what_was_put_is_not_read_to_free_its_directories)
{
	uint64_t table, row, reads, first;
	struct world w;

	table = begin(&w, &row);
	row = made_dir(&w, table, "R");
	assert_int_equal(overlay_count(w.fs->overlay), 1);
	reads = reads_of_table(&w);
	assert_int_equal(make_file(&w, row, "f:q"), 0);
	first = reads_of_table(&w) - reads;
	assert_int_equal(overlay_count(w.fs->overlay), 0);
	reads = reads_of_table(&w);
	assert_int_equal(make_file(&w, row, "f:r"), 0);
	assert_int_equal(reads_of_table(&w) - reads, first);
	world_end(&w);
}

/* But for what was deleted before that was settled. */
TEST(what_was_put_and_is_gone_has_its_directories_in_memory)
{
	struct under_way u;
	struct column c;
	struct world w;

	begin_column(&w, &c);
	assert_int_equal(unlink_file(&w, c.row, "f:r"), 0);
	begin_change(&w, &c, CHANGE_PUT, &u);
	make_change(&u);
	assert_int_equal(unlink_file(&w, c.row, "f:q"), 0);
	end_change(&u);
	assert_true(overlay_find(w.fs->overlay, c.table, str("P"), NULL));
	assert_true(overlay_find(w.fs->overlay, c.family, str("q"), NULL));
	assert_int_equal(looked_up(&w, c.family, "q"), c.column);
	world_end(&w);
}

/* An older version that a delete brings back is in the store again. */
TEST(a_version_that_comes_back_has_no_directory_in_memory)
{
	struct schema schema;
	struct column c;
	struct table *t;
	struct world w;
	uint64_t other;

	begin_column(&w, &c);
	assert_int_equal(table_open(w.store, str("T"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	schema.families[0].attrs.versions = 1;
	schema.families[0].attrs.new_version_behavior = false;
	assert_int_equal(table_alter(t, &schema, false), 0);
	schema_free(&schema);
	table_unref(t);
	/* No marker hides it there. */
	other = made_dir(&w, c.family, "s");
	assert_int_equal(make_file(&w, other, "5"), 0);
	assert_int_equal(make_file(&w, other, "6"), 0);
	assert_int_equal(unlink_file(&w, other, "6"), 0);
	looked_up(&w, other, "5");
	assert_int_equal(overlay_count(w.fs->overlay), 0);
	world_end(&w);
}

static void fix_families(struct world *w)
{
	struct schema schema;
	struct table *t;

	assert_int_equal(table_open(w->store, str("T"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	schema.fixed = true;
	assert_int_equal(table_alter(t, &schema, false), 0);
	schema_free(&schema);
	table_unref(t);
}

/* The kernel looks a name up first, but it may have gone by then. */
TEST(what_is_not_there_is_not_removed)
{
	static const char *const words[] = {"f:q", "f:none", "none:q"};
	struct column c;
	struct world w;

	begin_column(&w, &c);
	fix_families(&w);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(unlink_file(&w, c.row, words[i]),
				 i ? -ENOENT : 0);
	assert_int_equal(unlink_file(&w, c.row, "f:q"), -ENOENT);
	assert_int_equal(unlink_file(&w, c.column, "latest"), -ENOENT);
	assert_int_equal(unlink_file(&w, c.column, "5"), -ENOENT);
	assert_int_equal(unlink_file(&w, c.column, "5x"), -ENOENT);
	assert_int_equal(unlink_file(&w, c.row, "f"), -EISDIR);
	world_end(&w);
}

/* The kernel believes of a column that it has the time of its newest version. */
TEST(a_version_that_is_not_the_newest_leaves_its_column_the_time)
{
	struct column c;
	struct world w;

	begin_column(&w, &c);
	/* Who looks a directory up gets a time that is not noted. */
	assert_int_equal(looked_up(&w, c.family, "q"), c.column);
	assert_int_equal(make_file(&w, c.column, "3"), 0);
	assert_true(has_word(notices(&w), "pages", c.column, ""));
	changed_at(&w, c.column);
	assert_int_equal(make_file(&w, c.column, "4"), 0);
	assert_false(has_word(notices(&w), "pages", c.column, ""));
	assert_int_equal(make_file(&w, c.column, "7"), 0);
	assert_true(has_word(notices(&w), "pages", c.column, ""));
	/* What is made by another name may be a file that the kernel knows. */
	changed_at(&w, c.column);
	assert_int_equal(unlink_file(&w, c.row, "f:q"), 0);
	notices(&w);
	assert_int_equal(make_file(&w, c.row, "f:q"), 0);
	assert_true(has_word(notices(&w), "pages", c.column, ""));
	/* A listing that the kernel keeps has another name in it. */
	changed_at(&w, c.column);
	assert_int_equal(nodes_cache(w.fs->nodes, c.column, 1), CACHE_FILL);
	assert_int_equal(make_file(&w, c.column, "2"), 0);
	assert_true(has_word(notices(&w), "pages", c.column, ""));
	nodes_cache_end(w.fs->nodes, c.column, true);
	world_end(&w);
}

TEST(of_a_column_that_a_program_takes_the_name_is_told)
{
	struct column c;
	const char *heard;
	struct world w;

	begin_column(&w, &c);
	heard = after_delete(&w, CHANGE_DELETE, 6);
	assert_true(has_word(heard, "entry", c.column, "6"));
	assert_false(has_word(heard, "entry", c.family, "q"));
	heard = after_delete(&w, CHANGE_DELETE, 5);
	assert_true(has_word(heard, "entry", c.family, "q"));
	assert_false(has_word(heard, "entry", c.row, "f"));
	world_end(&w);
}

/* Nobody believes a version that goes by another name until its notice comes. */
TEST(a_version_that_goes_by_another_name_is_asked_for_at_once)
{
	static const char *const by[] = {"latest", "f:q"};
	struct column c;
	struct world w;

	for (int i = 0; i < 2; i++) {
		uint64_t node;
		const char *heard;

		begin_column(&w, &c);
		node = looked_up(&w, c.column, "6");
		notices(&w);
		assert_int_equal(unlink_file(&w, i ? c.row : c.column, by[i]),
				 0);
		heard = notices(&w);
		assert_true(has_word(heard, "inode", node, ""));
		assert_false(has_word(heard, "inode", c.table, ""));
		forget(&w, node);
		world_end(&w);
	}
	/* The third version pushes the oldest of three out. */
	begin_column(&w, &c);
	c.alias = looked_up(&w, c.column, "5");
	assert_int_equal(make_file(&w, c.column, "7"), 0);
	notices(&w);
	assert_int_equal(make_file(&w, c.column, "8"), 0);
	assert_true(has_word(notices(&w), "inode", c.alias, ""));
	world_end(&w);
}

TEST(of_a_version_that_is_moved_aside_its_column_knows)
{
	struct column c;
	const char *heard;
	struct world w;

	begin_column(&w, &c);
	assert_int_equal(rename_in(&w, c.column, "6", "6~"), 0);
	heard = notices(&w);
	assert_false(has_word(heard, "pages", c.column, ""));
	/* What the alias shows is another version. */
	assert_true(has_word(heard, "inode", c.alias, ""));
	world_end(&w);
}

TEST(pages_that_the_kernel_may_have_are_told_of_a_renamed_file)
{
	struct column c;
	uint64_t node;
	struct world w;

	begin_column(&w, &c);
	assert_int_equal(make_file(&w, c.row, ".a.swp"), 0);
	node = given();
	assert_int_equal(rename_in(&w, c.row, ".a.swp", "f:r"), 0);
	assert_false(has_word(notices(&w), "pages", node, ""));
	node = looked_up(&w, c.column, "6");
	assert_int_equal(nodes_cache(w.fs->nodes, node, 1), CACHE_FILL);
	nodes_cache_end(w.fs->nodes, node, true);
	assert_int_equal(rename_in(&w, c.column, "6", "6~"), 0);
	assert_true(has_word(notices(&w), "pages", node, ""));
	assert_int_equal(make_file(&w, c.table, ".schema.new"), 0);
	node = given();
	assert_int_equal(scratch_write(w.fs->writes->scratch, node,
				       str("family f\n"), 0, false),
			 0);
	assert_int_equal(rename_in(&w, c.table, ".schema.new", ".schema"), 0);
	assert_true(has_word(notices(&w), "pages", node, ""));
	world_end(&w);
}

/* Where names came or went in the row P since, of row, f, f:q and g. */
static const char *came_or_went(struct world *w, uint64_t seen)
{
	static const struct {
		const char *name, *family, *qualifier;
		enum changes_depth depth;
	} dirs[] = {
		{"row ", "", "", CHANGES_ROW},
		{"f ", "f", "", CHANGES_FAMILY},
		{"f:q ", "f", "q", CHANGES_COLUMN},
		{"g ", "g", "", CHANGES_FAMILY},
	};
	static char words[32];

	words[0] = 0;
	for (size_t i = 0; i < 4; i++) {
		struct changes_dir dir = {dirs[i].depth, str("P"),
					  str(dirs[i].family),
					  str(dirs[i].qualifier)};

		if (changes_names(&w->fs->changes, &dir) > seen)
			strcat(words, dirs[i].name);
	}
	return words;
}

/* Of a mutation that puts into n columns of g. */
static const char *after_puts(struct world *w, size_t n)
{
	uint64_t seen = changes_now(&w->fs->changes);
	struct change puts[20];
	struct mutation m = {.row = str("P"), .changes = puts, .nchanges = n};
	struct changer changer = {.fs = w->fs, .table = w->fs->root.table};
	char names[20][3];

	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		puts[i] = (struct change){.op = CHANGE_PUT,
					  .family = str("g"),
					  .qualifier = str(names[i])};
	}
	changed_after(&changer, &m, 0, true);
	return came_or_went(w, seen);
}

TEST(names_change_in_the_directories_above_and_in_no_other)
{
	struct column c;
	struct world w;
	uint64_t seen;

	begin_column(&w, &c);
	seen = changes_now(&w.fs->changes);
	assert_string_equal(came_or_went(&w, seen), "");
	assert_int_equal(unlink_file(&w, c.column, "6"), 0);
	assert_string_equal(came_or_went(&w, seen), "row f f:q ");
	assert_string_equal(after_puts(&w, 2), "row g ");
	/* Of many columns the row is noted. */
	assert_string_equal(after_puts(&w, 20), "row f f:q g ");
	seen = changes_now(&w.fs->changes);
	after_delete(&w, CHANGE_DELETE_FAMILY, TS_AUTO);
	assert_string_equal(came_or_went(&w, seen), "row f f:q g ");
	seen = changes_now(&w.fs->changes);
	after_delete(&w, CHANGE_DELETE_ROW, TS_AUTO);
	assert_string_equal(came_or_went(&w, seen), "row f f:q g ");
	/* rmdir of a row takes along what a delete has left beneath. */
	assert_int_equal(make_file(&w, c.row, "f:q"), 0);
	assert_int_equal(unlink_file(&w, c.row, "f:q"), 0);
	seen = changes_now(&w.fs->changes);
	assert_int_equal(ask(&w, FUSE_RMDIR, c.table, str(""), name_of("P")),
			 0);
	assert_string_equal(came_or_went(&w, seen), "row f f:q g ");
	seen = changes_now(&w.fs->changes);
	changes_all(&w.fs->changes);
	assert_string_equal(came_or_went(&w, seen), "row f f:q g ");
	world_end(&w);
}

#define STREAM_ROWS 70

/*
 * What is heard of @n rows of a stream, each of which is of f:q, when the first
 * @done have. The last one is P.
 */
static const char *after_stream(struct world *w, uint64_t table,
				enum change_op op, size_t n, size_t done)
{
	struct change c = {.op = op,
			   .family = str("f"),
			   .qualifier = str("q"),
			   .ts = 6,
			   .ts_given = 6};
	struct mutation rows[STREAM_ROWS];
	char names[STREAM_ROWS][4];
	struct changer changer;
	struct place p;

	assert_int_equal(place_of(w->fs, table, &p), 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		rows[i] = (struct mutation){
			.row = str(names[i]), .changes = &c, .nchanges = 1};
	}
	rows[n - 1].row = str("P");
	changer =
		(struct changer){.fs = w->fs, .table = p.table, .node = table};
	for (size_t i = 0; i < n; i++)
		changed_before(&changer, &rows[i]);
	changed_many(&changer, rows, n, done);
	place_release(&p);
	return notices(w);
}

TEST(of_many_rows_of_a_stream_the_kernel_hears_what_it_knows)
{
	struct column c;
	struct world w;
	uint64_t other, seen;

	begin_column(&w, &c);
	assert_true(has_word(
		after_stream(&w, c.table, CHANGE_PUT, STREAM_ROWS, STREAM_ROWS),
		"pages", c.column, ""));
	assert_string_equal(after_stream(&w, c.table, CHANGE_PUT, STREAM_ROWS,
					 STREAM_ROWS - 1),
			    "");
	other = made_dir(&w, FUSE_ROOT_ID, "U");
	notices(&w);
	seen = changes_now(&w.fs->changes);
	/* Of few rows each is noted, of many all are. */
	after_stream(&w, other, CHANGE_PUT, 2, 2);
	assert_true(changes_since(&w.fs->changes, str("P"), seen));
	assert_false(changes_since(&w.fs->changes, str("other"), seen));
	assert_string_equal(
		after_stream(&w, other, CHANGE_PUT, STREAM_ROWS, STREAM_ROWS),
		"");
	assert_true(changes_since(&w.fs->changes, str("other"), seen));
	/* A delete that is over is not under way. */
	after_stream(&w, other, CHANGE_DELETE, STREAM_ROWS, STREAM_ROWS);
	assert_int_not_equal(overlay_delete_begin(w.fs->overlay, str("P")), 0);
	fs_row_absent(w.fs);
	assert_true(has_word(
		after_stream(&w, other, CHANGE_PUT, STREAM_ROWS, STREAM_ROWS),
		"entry", other, "P"));
	world_end(&w);
}

TEST(a_version_aside_that_a_stream_puts_is_shown)
{
	struct column c;
	struct world w;

	begin_column(&w, &c);
	assert_int_equal(rename_in(&w, c.column, "6", "6~"), 0);
	look(&w, c.column, "6");
	assert_int_equal(given(), 0);
	after_stream(&w, c.table, CHANGE_PUT, STREAM_ROWS, STREAM_ROWS);
	looked_up(&w, c.column, "6");
	world_end(&w);
}

TEST(of_a_dropped_table_nothing_is_believed_or_held)
{
	uint64_t table, row, dir;
	const char *heard;
	struct world w;

	table = begin(&w, &row);
	dir = made_dir(&w, row, "g");
	heard = after(&w, SERVED_DROPPED, "T", "", 0);
	assert_true(has_word(heard, "inode", table, ""));
	assert_true(has_word(heard, "inode", row, ""));
	assert_true(has_word(heard, "inode", dir, ""));
	forget(&w, dir);
	forget(&w, row);
	forget(&w, table);
	/* The root is left. */
	assert_int_equal(world_nodes(&w), 1);
	world_end(&w);
}

TEST(a_namespace_or_a_flush_is_nothing_to_tell)
{
	uint64_t row;
	struct world w;

	begin(&w, &row);
	assert_string_equal(after(&w, SERVED_NAMESPACE, "n", "", 0), "");
	assert_string_equal(after(&w, SERVED_CARE, "T", "", 0), "");
	world_end(&w);
}
