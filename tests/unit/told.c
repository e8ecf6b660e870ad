/* What the kernel is told when programs change tables and snapshots. */
#include "tests/unit/kernel.h"
#include "tests/unit/held.h"

#include "fs/change/changed.h"
#include "fs/memory/write_state.h"
#include "fs/tree/root.h"

EACH_TEST_IN(world_set_up, world_tear_down);

static struct bytes str(const char *s)
{
	return bytes_str(s);
}

/* A program has done that, or tried: what the kernel hears before it goes on. */
static const char *after(enum served_what what, const char *name,
			 const char *to, int result)
{
	struct served_act act = {
		.what = what, .name = str(name), .to = str(to)};

	changed_by_program_before(world.fs, &act);
	changed_by_program(world.fs, &act, result);
	return notices();
}

static const char *after_of(enum served_what what, const char *name,
			    const char *to, int result)
{
	struct served_act act = {
		.what = what, .name = str(name), .to = str(to)};
	const char *heard;

	assert_int_equal(table_open(world.store, str("T"), &act.table), 0);
	changed_by_program_before(world.fs, &act);
	changed_by_program(world.fs, &act, result);
	heard = notices();
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

/* The nodes of what a test begins with. */
static struct {
	uint64_t table, row, family, column, alias;
} at;

static int set_up_row(void **state)
{
	world_set_up(state);
	at.row = a_row_with_a_cell(&at.table);
	world_hears();
	notices();
	return 0;
}

#define IN_A_ROW(f) TEST_IN(f, set_up_row, world_tear_down)

static bool finds(uint64_t dir, const char *name, uint64_t node)
{
	uint64_t found = 0;

	nodes_find(world.fs->nodes, dir, str(name), &found);
	return found == node;
}

IN_A_ROW(a_table_that_is_made_or_dropped_is_told_by_its_name)
{
	assert_string_equal(after(SERVED_MADE, "U", "", 0),
			    "inode 1\nentry 1 U\n");
	assert_true(finds(FUSE_ROOT_ID, "T", at.table));
	assert_string_equal(after(SERVED_MADE, "U", "", -EEXIST), "");
	assert_string_equal(after(SERVED_DROPPED, "T", "", -EIO), "");
	assert_true(finds(FUSE_ROOT_ID, "T", at.table));
	assert_non_null(
		strstr(after(SERVED_DROPPED, "T", "", 0), "entry 1 T\n"));
	assert_true(finds(FUSE_ROOT_ID, "T", 0));
}

IN_A_ROW(what_was_in_memory_of_a_dropped_table_goes)
{
	uint64_t other, column, live, pinned;

	other = made_dir(FUSE_ROOT_ID, "U");
	made_dir(other, "R");
	assert_int_equal(overlay_count(world.fs->overlay), 1);
	nodes_count(world.fs->nodes, &live, &pinned);
	made_dir(at.row, "g");
	assert_int_equal(make_file(at.table, ".a.swp"), 0);
	column = looked_up(looked_up(at.row, "f"), "q");
	assert_int_equal(make_file(column, "5"), 0);
	assert_int_equal(rename_in(column, "5", "5~"), 0);
	assert_true(scratch_any(world.fs->writes->scratch));
	after(SERVED_DROPPED, "T", "", 0);
	/* Of the other table nothing goes. */
	assert_int_equal(overlay_count(world.fs->overlay), 1);
	assert_false(scratch_any(world.fs->writes->scratch));
	nodes_count(world.fs->nodes, &live, &column);
	assert_int_equal(column, pinned);
}

/* Whoever has looked before the change must look again. */
static void assert_changed(uint64_t *seen)
{
	assert_true(changes_since(&world.fs->changes, str("P"), *seen));
	*seen = changes_now(&world.fs->changes);
}

IN_A_ROW(what_was_seen_of_a_table_is_old_when_it_is_another)
{
	uint64_t seen;
	struct served_act act = {.what = SERVED_ALTERED};

	seen = changes_now(&world.fs->changes);
	assert_false(changes_since(&world.fs->changes, str("P"), seen));
	changed_schema(world.fs, at.table);
	assert_changed(&seen);
	assert_int_equal(rename_in(FUSE_ROOT_ID, "T", "U"), 0);
	assert_changed(&seen);
	assert_int_equal(table_open(world.store, str("U"), &act.table), 0);
	changed_by_program_before(world.fs, &act);
	changed_by_program(world.fs, &act, 0);
	assert_changed(&seen);
	table_unref(act.table);
	changed_table_dropped(world.fs, str("U"));
	assert_changed(&seen);
}

static uint64_t changed_at(uint64_t node)
{
	struct fuse_getattr_in in = {0};
	struct fuse_attr_out out;

	assert_int_equal(ask(FUSE_GETATTR, node, ARGS(in), NOTHING), 0);
	memcpy(&out, answer.data, sizeof(out));
	return out.attr.mtime;
}

TEST(the_root_is_another_when_a_table_comes)
{
	uint64_t was;

	/* By its clock the store is of 2023. */
	was = changed_at(FUSE_ROOT_ID);
	after(SERVED_MADE, "U", "", -EIO);
	assert_int_equal(changed_at(FUSE_ROOT_ID), was);
	after(SERVED_MADE, "U", "", 0);
	assert_true(changed_at(FUSE_ROOT_ID) > was);
}

TEST(the_root_is_another_when_a_table_goes)
{
	uint64_t was;

	assert_int_equal(store_table_create(world.store, str("T"), NULL), 0);
	was = changed_at(FUSE_ROOT_ID);
	assert_int_equal(ask(FUSE_RMDIR, FUSE_ROOT_ID, NOTHING, name_of("U")),
			 -ENOENT);
	assert_int_equal(changed_at(FUSE_ROOT_ID), was);
	assert_int_equal(ask(FUSE_RMDIR, FUSE_ROOT_ID, NOTHING, name_of("T")),
			 0);
	assert_true(changed_at(FUSE_ROOT_ID) > was);
}

/* The program's table is not the one that the kernel knows by this name. */
IN_A_ROW(of_another_table_of_that_name_nothing_is_told)
{
	struct served_act act = {.what = SERVED_ALTERED};

	assert_int_equal(store_table_drop(world.store, str("T"), false), 0);
	assert_int_equal(store_table_create(world.store, str("T"), NULL), 0);
	assert_int_equal(table_open(world.store, str("T"), &act.table), 0);
	changed_by_program(world.fs, &act, 0);
	assert_string_equal(notices(), "");
	table_unref(act.table);
}

/* T is the root, and has a cell in its row P, which the kernel knows. */
static uint64_t root_is_table(void)
{
	uint64_t row;

	assert_int_equal(store_table_create(world.store, str("T"), NULL), 0);
	why_clear();
	assert_int_equal(root_open(world.fs, "T"), 0);
	assert_string_equal(store_why(), "");
	row = made_dir(FUSE_ROOT_ID, "P");
	assert_int_equal(make_file(row, "f:q"), 0);
	forget(given());
	world_hears();
	notices();
	return row;
}

TEST(a_table_that_is_the_root_is_told_of_without_its_name)
{
	uint64_t row = root_is_table(), dir;

	assert_string_equal(after(SERVED_MADE, "U", "", 0), "");
	assert_string_equal(after(SERVED_DROPPED, "T", "", 0), "");
	assert_string_equal(after(SERVED_RENAMED, "T", "U", 0), "");
	assert_hears(after_of(SERVED_ALTERED, "", "", 0),
		     "inode 1\ninode %llu\n", row);
	assert_hears(after(SERVED_TRUNCATED, "T", "", 0),
		     "inode 1\ninode %llu\npages %llu\n", row);
	assert_string_equal(after(SERVED_SNAPSHOT_TAKEN, "s", "", 0), "");
	assert_string_equal(after_of(SERVED_SNAPSHOT_TAKEN, "s", "", 0), "");
	dir = looked_up(FUSE_ROOT_ID, ".snapshot");
	assert_hears(after_of(SERVED_SNAPSHOT_TAKEN, "s", "", 0),
		     "entry %llu s\n", dir);
}

/* The store is asked once whether there are such; then the mount writes them itself. */
TEST_IN(a_restored_snapshot_may_bring_cells_with_a_ttl, world_set_up_on_disk,
	world_tear_down)
{
	struct change put = {.op = CHANGE_PUT,
			     .family = str("f"),
			     .qualifier = str("q"),
			     .ts = TS_AUTO,
			     .value = str("v"),
			     .ttl_ms = 60000};
	struct mutation m = {.row = str("P"), .changes = &put, .nchanges = 1};
	struct served_act act = {.what = SERVED_ALTERED, .deletes = true};
	struct fstable *ft;

	/* The store of the model does not say which tables have such cells. */
	root_is_table();
	ft = world.fs->root.table;
	assert_int_equal(fstable_expires(ft), 0);
	assert_int_equal(table_open(world.store, str("T"), &act.table), 0);
	assert_true(table_mutate(act.table, &m, 0) >= 0);
	assert_int_equal(fstable_expires(ft), 0);
	changed_by_program(world.fs, &act, 0);
	assert_int_equal(fstable_expires(ft), FSTABLE_CELL_TTL);
	table_unref(act.table);
}

static struct fstable *looked_at; /* by another, while its schema is read */
static unsigned looks;

int __real_table_schema(struct table *t, struct schema *out);
int __wrap_table_schema(struct table *t, struct schema *out);
int __wrap_table_schema(struct table *t, struct schema *out)
{
	struct fstable *ft = looked_at;
	int r = __real_table_schema(t, out);

	looked_at = NULL;
	if (!ft)
		return r;
	looks++;
	/* A server may be silent, and nobody waits for this thread. */
	assert_int_equal(held_count(), 0);
	assert_int_equal(fstable_family(ft, str("g"), NULL), 1);
	return r;
}

TEST(a_schema_that_is_read_keeps_nobody_waiting)
{
	struct fstable *ft;
	struct table *t;
	int64_t changed;

	root_is_table();
	ft = world.fs->root.table;
	assert_int_equal(fstable_family(ft, str("g"), NULL), 0);
	assert_int_equal(table_open(world.store, str("T"), &t), 0);
	assert_int_equal(table_add_family(t, str("g")), 0);
	looked_at = ft;
	assert_int_equal(fstable_family(ft, str("g"), NULL), 1);
	assert_int_equal(looks, 1);
	/* What both have read is one change. */
	changed = fstable_changed_ms(ft);
	assert_true(changed > 0);
	assert_int_equal(fstable_changed_ms(ft), changed);
	table_unref(t);
}

IN_A_ROW(a_table_that_is_renamed_is_told_by_both_names)
{
	/* Of the snapshots there is nothing to tell. */
	looked_up(FUSE_ROOT_ID, ".snapshot");
	notices();
	assert_string_equal(after(SERVED_RENAMED, "T", "U", -EIO), "");
	assert_int_equal(store_table_rename(world.store, str("T"), str("U")),
			 0);
	assert_string_equal(after(SERVED_RENAMED, "T", "U", 0),
			    "inode 1\nentry 1 T\ninode 1\nentry 1 U\n");
	/* Who is in it stays there. */
	assert_true(finds(FUSE_ROOT_ID, "U", at.table));
	assert_true(finds(FUSE_ROOT_ID, "T", 0));
	looked_up(at.row, "f:q");
	assert_int_equal(looked_up(FUSE_ROOT_ID, "U"), at.table);
}

IN_A_ROW(of_a_truncated_table_all_is_asked_again)
{
	const char *heard;
	char words[64];

	assert_string_equal(after(SERVED_TRUNCATED, "T", "", -EIO), "");
	heard = after(SERVED_TRUNCATED, "T", "", 0);
	snprintf(words, sizeof(words), "inode %llu\n",
		 (unsigned long long)at.table);
	assert_non_null(strstr(heard, words));
	snprintf(words, sizeof(words), "inode %llu\n",
		 (unsigned long long)at.row);
	assert_non_null(strstr(heard, words));
	assert_non_null(strstr(heard, "entry 1 T\n"));
}

IN_A_ROW(snapshots_are_told_where_they_are)
{
	uint64_t dir, all, s, node;

	/* Where nobody has looked there is nothing to tell. */
	assert_string_equal(after_of(SERVED_SNAPSHOT_TAKEN, "s", "", 0), "");
	assert_string_equal(after(SERVED_SNAPSHOT_TAKEN, "s", "", 0), "");
	dir = looked_up(at.table, ".snapshot");
	all = looked_up(FUSE_ROOT_ID, ".snapshot");
	s = made_dir(dir, "s");
	node = made_dir(all, "a");
	notices();
	assert_hears(after_of(SERVED_SNAPSHOT_TAKEN, "t", "", 0),
		     "entry %llu t\n", dir);
	assert_hears(after(SERVED_SNAPSHOT_TAKEN, "t", "", 0), "entry %llu t\n",
		     all);
	/* One that could not be taken, as it is there, stays. */
	assert_hears(after_of(SERVED_SNAPSHOT_TAKEN, "s", "", -EEXIST),
		     "entry %llu s\n", dir);
	assert_true(finds(dir, "s", s));
	assert_string_equal(after_of(SERVED_SNAPSHOT_DROPPED, "s", "", -EIO),
			    "");
	assert_true(finds(dir, "s", s));
	assert_hears(after_of(SERVED_SNAPSHOT_DROPPED, "s", "", 0),
		     "entry %llu s\n", dir);
	assert_true(finds(dir, "s", 0));
	assert_true(finds(all, "a", node));
	assert_hears(after(SERVED_SNAPSHOT_DROPPED, "a", "", 0),
		     "entry %llu a\n", all);
	assert_true(finds(all, "a", 0));
}

IN_A_ROW(a_snapshot_that_is_renamed_is_told_by_both_names)
{
	uint64_t dir, s;

	dir = looked_up(at.table, ".snapshot");
	s = made_dir(dir, "s");
	notices();
	assert_string_equal(after_of(SERVED_SNAPSHOT_RENAMED, "s", "t", -EIO),
			    "");
	assert_true(finds(dir, "s", s));
	assert_hears(after_of(SERVED_SNAPSHOT_RENAMED, "s", "t", 0),
		     "entry %llu t\nentry %llu s\n", dir);
	assert_true(finds(dir, "s", 0));
}

IN_A_ROW(of_an_altered_table_all_has_other_attributes)
{
	struct served_act act = {.what = SERVED_ALTERED};
	uint64_t past;
	char want[120];

	assert_int_equal(table_open(world.store, str("T"), &act.table), 0);
	snprintf(want, sizeof(want), "inode %llu\ninode %llu\n",
		 (unsigned long long)at.table, (unsigned long long)at.row);
	/* Part of it may have been done. */
	for (int result = -1; result <= 0; result++) {
		changed_by_program(world.fs, &act, result);
		assert_string_equal(notices(), want);
	}
	/* The table's past has its mode, too. */
	past = looked_up(FUSE_ROOT_ID, ".snapshot");
	changed_by_program(world.fs, &act, 0);
	snprintf(want, sizeof(want), "inode %llu\ninode %llu\ninode %llu\n",
		 (unsigned long long)at.table, (unsigned long long)at.row,
		 (unsigned long long)past);
	assert_string_equal(notices(), want);
	act.deletes = true;
	changed_by_program(world.fs, &act, 0);
	assert_non_null(strstr(notices(), "entry 1 T\n"));
	table_unref(act.table);
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
static const char *after_delete(uint8_t op, int64_t ts)
{
	bool row = op == CHANGE_DELETE_ROW;
	struct change c = {.op = op, .family = str(row ? "" : "f"), .ts = ts};
	struct mutation m = {.row = str("P"), .changes = &c, .nchanges = 1};
	const char *heard;
	struct table *t;

	if (!row && op != CHANGE_DELETE_FAMILY)
		c.qualifier = str("q");
	assert_int_equal(table_open(world.store, str("T"), &t), 0);
	changed_rows_before(world.fs, t, &m, 1);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	changed_rows(world.fs, t, &m, 1);
	heard = notices();
	table_unref(t);
	return heard;
}

/* The row P has f:q of the versions 5 and 6 alone, and f:r. */
static int set_up_column(void **state)
{
	set_up_row(state);
	assert_int_equal(make_file(at.row, "f:r"), 0);
	at.family = looked_up(at.row, "f");
	after_delete(CHANGE_DELETE_COLUMN, TS_AUTO);
	at.column = made_dir(at.family, "q");
	assert_int_equal(make_file(at.column, "5"), 0);
	assert_int_equal(make_file(at.column, "6"), 0);
	at.alias = looked_up(at.row, "f:q");
	notices();
	return 0;
}

#define IN_A_COLUMN(f) TEST_IN(f, set_up_column, world_tear_down)

static int unlink_file(uint64_t dir, const char *name)
{
	return ask(FUSE_UNLINK, dir, NOTHING, name_of(name));
}

IN_A_COLUMN(of_a_file_that_is_removed_the_directories_stay)
{
	const char *heard;

	assert_int_equal(unlink_file(at.column, "6"), 0);
	assert_int_equal(unlink_file(at.column, "5"), 0);
	heard = notices();
	/* The kernel knows where it removed a name. */
	assert_false(has_word(heard, "pages", at.column, ""));
	assert_false(has_word(heard, "entry", at.family, "q"));
	assert_false(has_word(heard, "entry", at.row, "f"));
	assert_int_equal(looked_up(at.family, "q"), at.column);
}

IN_A_COLUMN(of_a_column_that_goes_by_another_name_its_directory_is_told)
{
	const char *heard;

	assert_int_equal(unlink_file(at.row, "f:q"), 0);
	heard = notices();
	assert_true(has_word(heard, "pages", at.column, ""));
	assert_false(has_word(heard, "entry", at.family, "q"));
}

/* It may believe attributes for long that are on their way to it. */
IN_A_COLUMN(what_the_kernel_has_not_got_yet_is_not_cached)
{
	uint64_t latest, handle;

	latest = looked_up(at.column, "latest");
	handle = opened_file(latest, O_WRONLY);
	assert_int_equal(write_byte(latest, handle), 0);
	assert_false(is_read_past_cache(at.alias));
	notices_come_early = true;
	assert_int_equal(flush_file(latest, handle), 0);
	notices_come_early = false;
	assert_true(is_read_past_cache(at.alias));
	closed_file(latest, handle);
}

/* Of a table that is set back to a snapshot a value is another at once. */
IN_A_COLUMN(what_a_program_alters_is_not_cached_meanwhile)
{
	struct served_act act = {.what = SERVED_ALTERED};

	assert_int_equal(table_open(world.store, str("T"), &act.table), 0);
	changed_by_program_before(world.fs, &act);
	assert_true(is_read_past_cache(at.alias));
	changed_by_program(world.fs, &act, 0);
	assert_false(is_read_past_cache(at.alias));
	table_unref(act.table);
}

static uint64_t reads_of_table(void)
{
	struct table_calls calls;
	struct table *t;

	assert_int_equal(table_open(world.store, str("T"), &t), 0);
	table_calls(t, &calls);
	table_unref(t);
	return calls.reads;
}

/* The delete itself knows whether there was one, and leaves none. */
IN_A_COLUMN(a_column_that_is_removed_is_not_read_for_that)
{
	uint64_t reads;

	reads = reads_of_table();
	assert_int_equal(unlink_file(at.row, "f:q"), 0);
	assert_int_equal(reads_of_table(), reads);
	assert_int_equal(unlink_file(at.row, "f:q"), -ENOENT);
	assert_int_equal(looked_up(at.family, "q"), at.column);
}

static int open_to_write(uint64_t node)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	struct fuse_release_in release = {0};
	struct fuse_open_out out;
	int r = ask(FUSE_OPEN, node, ARGS(in), NOTHING);

	if (r)
		return r;
	memcpy(&out, answer.data, sizeof(out));
	release.fh = out.fh;
	assert_int_equal(ask(FUSE_RELEASE, node, ARGS(release), NOTHING), 0);
	return 0;
}

/* Nor is it opened if it has gone since. */
IN_A_COLUMN(a_version_that_was_just_looked_up_is_opened_unread)
{
	uint64_t reads, node;

	node = looked_up(at.column, "6");
	reads = reads_of_table();
	assert_int_equal(open_to_write(node), 0);
	assert_int_equal(reads_of_table(), reads);
	looked_up(at.column, "6");
	after_delete(CHANGE_DELETE, 6);
	assert_int_equal(open_to_write(node), -ESTALE);
}

/* A change of q as its F:Q is written or removed, of which the parts are seen. */
struct under_way {
	struct change change;
	struct mutation m;
	struct changer changer;
	struct place file;
	uint64_t turn;
};

static void begin_change(enum change_op op, struct under_way *u)
{
	*u = (struct under_way){.change = {.op = op,
					   .family = str("f"),
					   .qualifier = str("q"),
					   .ts = TS_AUTO}};
	u->m = (struct mutation){
		.row = str("P"), .changes = &u->change, .nchanges = 1};
	assert_int_equal(place_of(world.fs, at.alias, &u->file), 0);
	u->changer = changer_at(world.fs, &u->file);
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
IN_A_COLUMN(a_delete_leaves_no_directory_in_memory_that_has_a_cell)
{
	struct under_way u;

	begin_change(CHANGE_DELETE_COLUMN, &u);
	assert_int_equal(overlay_count(world.fs->overlay), 3);
	make_change(&u);
	assert_int_equal(make_file(at.column, "7"), 0);
	assert_int_equal(overlay_count(world.fs->overlay), 3);
	end_change(&u);
	assert_int_equal(overlay_count(world.fs->overlay), 0);
}

/* It is newer than all else there, so it is not looked for. */
IN_A_ROW(what_was_put_is_not_read_to_free_its_directories)
{
	uint64_t reads, first;

	at.row = made_dir(at.table, "R");
	assert_int_equal(overlay_count(world.fs->overlay), 1);
	reads = reads_of_table();
	assert_int_equal(make_file(at.row, "f:q"), 0);
	first = reads_of_table() - reads;
	assert_int_equal(overlay_count(world.fs->overlay), 0);
	reads = reads_of_table();
	assert_int_equal(make_file(at.row, "f:r"), 0);
	assert_int_equal(reads_of_table() - reads, first);
}

/* But for what was deleted before that was settled. */
IN_A_COLUMN(what_was_put_and_is_gone_has_its_directories_in_memory)
{
	struct under_way u;

	assert_int_equal(unlink_file(at.row, "f:r"), 0);
	begin_change(CHANGE_PUT, &u);
	make_change(&u);
	assert_int_equal(unlink_file(at.row, "f:q"), 0);
	end_change(&u);
	assert_true(overlay_find(world.fs->overlay, at.table, str("P"), NULL));
	assert_true(overlay_find(world.fs->overlay, at.family, str("q"), NULL));
	assert_int_equal(looked_up(at.family, "q"), at.column);
}

/* An older version that a delete brings back is in the store again. */
IN_A_COLUMN(a_version_that_comes_back_has_no_directory_in_memory)
{
	struct schema schema;
	struct table *t;
	uint64_t other;

	assert_int_equal(table_open(world.store, str("T"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	schema.families[0].attrs.versions = 1;
	schema.families[0].attrs.new_version_behavior = false;
	assert_int_equal(table_alter(t, &schema, false), 0);
	schema_free(&schema);
	table_unref(t);
	/* No marker hides it there. */
	other = made_dir(at.family, "s");
	assert_int_equal(make_file(other, "5"), 0);
	assert_int_equal(make_file(other, "6"), 0);
	assert_int_equal(unlink_file(other, "6"), 0);
	looked_up(other, "5");
	assert_int_equal(overlay_count(world.fs->overlay), 0);
}

static void fix_families(void)
{
	struct schema schema;
	struct table *t;

	assert_int_equal(table_open(world.store, str("T"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	schema.fixed = true;
	assert_int_equal(table_alter(t, &schema, false), 0);
	schema_free(&schema);
	table_unref(t);
}

/* The kernel looks a name up first, but it may have gone by then. */
IN_A_COLUMN(what_is_not_there_is_not_removed)
{
	static const char *const words[] = {"f:q", "f:none", "none:q"};

	fix_families();
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(unlink_file(at.row, words[i]),
				 i ? -ENOENT : 0);
	assert_int_equal(unlink_file(at.row, "f:q"), -ENOENT);
	assert_int_equal(unlink_file(at.column, "latest"), -ENOENT);
	assert_int_equal(unlink_file(at.column, "5"), -ENOENT);
	assert_int_equal(unlink_file(at.column, "5x"), -ENOENT);
	assert_int_equal(unlink_file(at.row, "f"), -EISDIR);
}

/* The kernel believes of a column that it has the time of its newest version. */
IN_A_COLUMN(a_version_that_is_not_the_newest_leaves_its_column_the_time)
{
	/* Who looks a directory up gets a time that is not noted. */
	assert_int_equal(looked_up(at.family, "q"), at.column);
	assert_int_equal(make_file(at.column, "3"), 0);
	assert_true(has_word(notices(), "pages", at.column, ""));
	changed_at(at.column);
	assert_int_equal(make_file(at.column, "4"), 0);
	assert_false(has_word(notices(), "pages", at.column, ""));
	assert_int_equal(make_file(at.column, "7"), 0);
	assert_true(has_word(notices(), "pages", at.column, ""));
	/* What is made by another name may be a file that the kernel knows. */
	changed_at(at.column);
	assert_int_equal(unlink_file(at.row, "f:q"), 0);
	notices();
	assert_int_equal(make_file(at.row, "f:q"), 0);
	assert_true(has_word(notices(), "pages", at.column, ""));
	/* A listing that the kernel keeps has another name in it. */
	changed_at(at.column);
	assert_int_equal(nodes_cache(world.fs->nodes, at.column, 1),
			 CACHE_FILL);
	assert_int_equal(make_file(at.column, "2"), 0);
	assert_true(has_word(notices(), "pages", at.column, ""));
	nodes_cache_end(world.fs->nodes, at.column, true);
}

IN_A_COLUMN(of_a_column_that_a_program_takes_the_name_is_told)
{
	const char *heard;

	heard = after_delete(CHANGE_DELETE, 6);
	assert_true(has_word(heard, "entry", at.column, "6"));
	assert_false(has_word(heard, "entry", at.family, "q"));
	heard = after_delete(CHANGE_DELETE, 5);
	assert_true(has_word(heard, "entry", at.family, "q"));
	assert_false(has_word(heard, "entry", at.row, "f"));
}

/* Nobody believes a version that goes by another name until its notice comes. */
IN_A_COLUMN(a_version_that_goes_by_another_name_is_asked_for_at_once)
{
	static const char *const by[] = {"latest", "f:q"};

	for (int i = 0; i < 2; i++) {
		uint64_t node;
		const char *heard;

		node = looked_up(at.column, "6");
		notices();
		assert_int_equal(unlink_file(i ? at.row : at.column, by[i]), 0);
		heard = notices();
		assert_true(has_word(heard, "inode", node, ""));
		assert_false(has_word(heard, "inode", at.table, ""));
		forget(node);
		world_tear_down(state);
		set_up_column(state);
	}
	/* The third version pushes the oldest of three out. */
	at.alias = looked_up(at.column, "5");
	assert_int_equal(make_file(at.column, "7"), 0);
	notices();
	assert_int_equal(make_file(at.column, "8"), 0);
	assert_true(has_word(notices(), "inode", at.alias, ""));
}

IN_A_COLUMN(of_a_version_that_is_moved_aside_its_column_knows)
{
	const char *heard;

	assert_int_equal(rename_in(at.column, "6", "6~"), 0);
	heard = notices();
	assert_false(has_word(heard, "pages", at.column, ""));
	/* What the alias shows is another version. */
	assert_true(has_word(heard, "inode", at.alias, ""));
}

IN_A_COLUMN(pages_that_the_kernel_may_have_are_told_of_a_renamed_file)
{
	uint64_t node;

	assert_int_equal(make_file(at.row, ".a.swp"), 0);
	node = given();
	assert_int_equal(rename_in(at.row, ".a.swp", "f:r"), 0);
	assert_false(has_word(notices(), "pages", node, ""));
	node = looked_up(at.column, "6");
	assert_int_equal(nodes_cache(world.fs->nodes, node, 1), CACHE_FILL);
	nodes_cache_end(world.fs->nodes, node, true);
	assert_int_equal(rename_in(at.column, "6", "6~"), 0);
	assert_true(has_word(notices(), "pages", node, ""));
	assert_int_equal(make_file(at.table, ".schema.new"), 0);
	node = given();
	assert_int_equal(scratch_write(world.fs->writes->scratch, node,
				       str("family f\n"), 0, false),
			 0);
	assert_int_equal(rename_in(at.table, ".schema.new", ".schema"), 0);
	assert_true(has_word(notices(), "pages", node, ""));
}

/* Where names came or went in the row P since, of row, f, f:q and g. */
static const char *came_or_went(uint64_t seen)
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

		if (changes_names(&world.fs->changes, &dir) > seen)
			strcat(words, dirs[i].name);
	}
	return words;
}

/* Of a mutation that puts into n columns of g. */
static const char *after_puts(size_t n)
{
	uint64_t seen = changes_now(&world.fs->changes);
	struct change puts[20];
	struct mutation m = {.row = str("P"), .changes = puts, .nchanges = n};
	struct changer changer = {.fs = world.fs,
				  .table = world.fs->root.table};
	char names[20][3];

	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		puts[i] = (struct change){.op = CHANGE_PUT,
					  .family = str("g"),
					  .qualifier = str(names[i])};
	}
	changed_after(&changer, &m, 0, true);
	return came_or_went(seen);
}

IN_A_COLUMN(names_change_in_the_directories_above_and_in_no_other)
{
	uint64_t seen;

	seen = changes_now(&world.fs->changes);
	assert_string_equal(came_or_went(seen), "");
	assert_int_equal(unlink_file(at.column, "6"), 0);
	assert_string_equal(came_or_went(seen), "row f f:q ");
	assert_string_equal(after_puts(2), "row g ");
	/* Of many columns the row is noted. */
	assert_string_equal(after_puts(20), "row f f:q g ");
	seen = changes_now(&world.fs->changes);
	after_delete(CHANGE_DELETE_FAMILY, TS_AUTO);
	assert_string_equal(came_or_went(seen), "row f f:q g ");
	seen = changes_now(&world.fs->changes);
	after_delete(CHANGE_DELETE_ROW, TS_AUTO);
	assert_string_equal(came_or_went(seen), "row f f:q g ");
	/* rmdir of a row takes along what a delete has left beneath. */
	assert_int_equal(make_file(at.row, "f:q"), 0);
	assert_int_equal(unlink_file(at.row, "f:q"), 0);
	seen = changes_now(&world.fs->changes);
	assert_int_equal(ask(FUSE_RMDIR, at.table, NOTHING, name_of("P")), 0);
	assert_string_equal(came_or_went(seen), "row f f:q g ");
	seen = changes_now(&world.fs->changes);
	changes_all(&world.fs->changes);
	assert_string_equal(came_or_went(seen), "row f f:q g ");
}

#define STREAM_ROWS 70

/*
 * What is heard of @n rows of a stream, each of which is of f:q, when the first
 * @done have. The last one is P.
 */
static const char *after_stream(uint64_t table, enum change_op op, size_t n,
				size_t done)
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

	assert_int_equal(place_of(world.fs, table, &p), 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		rows[i] = (struct mutation){
			.row = str(names[i]), .changes = &c, .nchanges = 1};
	}
	rows[n - 1].row = str("P");
	changer = (struct changer){
		.fs = world.fs, .table = p.table, .node = table};
	for (size_t i = 0; i < n; i++)
		changed_before(&changer, &rows[i]);
	changed_many(&changer, rows, n, done);
	place_release(&p);
	return notices();
}

IN_A_COLUMN(of_many_rows_of_a_stream_the_kernel_hears_what_it_knows)
{
	uint64_t other, seen;

	assert_true(has_word(
		after_stream(at.table, CHANGE_PUT, STREAM_ROWS, STREAM_ROWS),
		"pages", at.column, ""));
	assert_string_equal(after_stream(at.table, CHANGE_PUT, STREAM_ROWS,
					 STREAM_ROWS - 1),
			    "");
	other = made_dir(FUSE_ROOT_ID, "U");
	notices();
	seen = changes_now(&world.fs->changes);
	/* Of few rows each is noted, of many all are. */
	after_stream(other, CHANGE_PUT, 2, 2);
	assert_true(changes_since(&world.fs->changes, str("P"), seen));
	assert_false(changes_since(&world.fs->changes, str("other"), seen));
	assert_string_equal(
		after_stream(other, CHANGE_PUT, STREAM_ROWS, STREAM_ROWS), "");
	assert_true(changes_since(&world.fs->changes, str("other"), seen));
	/* A delete that is over is not under way. */
	after_stream(other, CHANGE_DELETE, STREAM_ROWS, STREAM_ROWS);
	assert_int_not_equal(overlay_delete_begin(world.fs->overlay, str("P")),
			     0);
	fs_row_absent(world.fs);
	assert_true(has_word(
		after_stream(other, CHANGE_PUT, STREAM_ROWS, STREAM_ROWS),
		"entry", other, "P"));
}

IN_A_COLUMN(a_version_aside_that_a_stream_puts_is_shown)
{
	assert_int_equal(rename_in(at.column, "6", "6~"), 0);
	look(at.column, "6");
	assert_int_equal(given(), 0);
	after_stream(at.table, CHANGE_PUT, STREAM_ROWS, STREAM_ROWS);
	looked_up(at.column, "6");
}

IN_A_ROW(of_a_dropped_table_nothing_is_believed_or_held)
{
	uint64_t dir;
	const char *heard;

	dir = made_dir(at.row, "g");
	heard = after(SERVED_DROPPED, "T", "", 0);
	assert_true(has_word(heard, "inode", at.table, ""));
	assert_true(has_word(heard, "inode", at.row, ""));
	assert_true(has_word(heard, "inode", dir, ""));
	forget(dir);
	forget(at.row);
	forget(at.table);
	/* The root is left. */
	assert_int_equal(world_nodes(), 1);
}

IN_A_ROW(a_namespace_or_a_flush_is_nothing_to_tell)
{
	assert_string_equal(after(SERVED_NAMESPACE, "n", "", 0), "");
	assert_string_equal(after(SERVED_CARE, "T", "", 0), "");
}
