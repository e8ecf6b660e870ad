/* The catalog: edits, what they leave in it, and what is opened as one. */
#include "tests/unit/catalog.h"

#include "store/hold.h"
#include "store/lsm/manifest/directory.h"
#include "store/lsm/manifest/levels.h"

TEST(edits_are_there_after_a_reopen)
{
	const struct catalog_table *t;
	const struct catalog *c = NULL;
	uint64_t print;

	for (int i = 1; i <= STEPS; i++)
		assert_int_equal(step(the.m, i, 3), 0);
	print = print_of(manifest_catalog(the.m));
	for (int i = 0; i < 3; i++) {
		reopen();
		c = manifest_catalog(the.m);
		assert_int_equal(print_of(c), print);
	}
	assert_int_equal(c->ntables, 1);
	assert_null(catalog_find(c, bytes_str("t")));
	assert_null(catalog_find_id(c, 2));
	t = catalog_find(c, bytes_str("renamed"));
	assert_ptr_equal(t, catalog_find_id(c, 1));
	assert_int_equal(t->schema.nfamilies, 1);
	assert_int_equal(t->schema.uid, 1);
	assert_int_equal(t->trees[0].nfiles, 2);
	assert_int_equal(t->trees[0].files[0].info.number, 13);
	assert_int_equal(t->trees[0].files[0].level, 1);
	assert_int_equal(t->trees[0].files[0].info.file_bytes, 1013);
	assert_true(t->trees[0].files[0].info.has_ttl);
	assert_true(bytes_eq(buf_bytes(&t->trees[0].files[0].info.row_max),
			     bytes_str("zxx")));
	assert_int_equal(c->nsnapshots, 1);
	assert_string_equal(c->snapshots[0].name, "weekly");
	assert_int_equal(c->snapshots[0].tables.n, 1);
	assert_int_equal(c->snapshots[0].tables.at[0].id, 1);
	assert_string_equal(c->snapshots[0].tables.at[0].name, "shown");
	assert_int_equal(c->snapshots[0].tables.at[0].schema.gid, 4);
	assert_non_null(catalog_shown_by(c, 1, NULL));
	assert_null(catalog_shown_by(c, 1, "a"));
	assert_null(catalog_shown_by(c, 2, NULL));
	assert_int_equal(c->wal_first, 5);
	assert_int_equal(c->keep.bytes, 1 << 20);
	assert_int_equal(c->keep.id, 77);
	assert_int_equal(c->last_seq, 230);
	assert_int_equal(c->next_file, 24);
	assert_int_equal(c->next_table, 3);
	assert_int_equal(c->next_tree, 4);
}

/* Puts a table of families with these names, in this order. */
static int put_families(struct manifest *m, const char *first,
			const char *second)
{
	struct catalog_tree trees[2] = {{.id = 8}, {.id = 9}};
	struct catalog_table t = {.id = 3, .name = "v", .trees = trees};
	struct edit e = {.put_table = &t};
	struct family_attrs attrs;
	int r;

	schema_init(&t.schema, 1, 2);
	family_attrs_default(&attrs);
	assert_int_equal(schema_add(&t.schema, bytes_str("a"), &attrs), 0);
	assert_int_equal(schema_add(&t.schema, bytes_str("b"), &attrs), 0);
	strcpy(t.schema.families[0].name, first);
	strcpy(t.schema.families[1].name, second);
	r = manifest_commit(m, &e);
	schema_free(&t.schema);
	return r;
}

TEST(an_edit_that_does_not_fit_writes_nothing)
{
	const struct catalog_table same = {.id = 1, .name = "t"};
	struct edit drop = {.drop_table = 77};
	size_t log;
	uint64_t print;

	for (int i = 1; i <= 5; i++)
		assert_int_equal(step(the.m, i, 1), 0);
	log = sim_log_length(the.os);
	print = print_of(manifest_catalog(the.m));
	assert_int_equal(add_file(the.m, 99, 0, 50, 1), -EINVAL);
	assert_int_equal(add_file(the.m, 1, 0, 10, 1), -EINVAL);
	assert_int_equal(add_file(the.m, 1, LEVELS_MAX, 50, 1), -EINVAL);
	assert_int_equal(add_file(the.m, 1, 0, 0, 1), -EINVAL);
	assert_int_equal(add_file(the.m, 1, 0, 50, ROW_LEN_MAX + 1), -EINVAL);
	assert_int_equal(remove_file(the.m, 1, 50), -EINVAL);
	assert_int_equal(remove_file(the.m, 2, 10), -EINVAL);
	assert_int_equal(put_table(the.m, 3, "t", 1, 9), -EEXIST);
	assert_int_equal(put_table(the.m, 3, "v", 1, 1), -EINVAL);
	assert_int_equal(put_table(the.m, 3, ".v", 1, 9), -EINVAL);
	assert_int_equal(put_table(the.m, 0, "v", 1, 9), -EINVAL);
	assert_int_equal(put_table(the.m, 3, "v", 1, 0), -EINVAL);
	assert_int_equal(put_families(the.m, "b", "a"), -EINVAL);
	assert_int_equal(put_families(the.m, "a", "a"), -EINVAL);
	assert_int_equal(put_families(the.m, "a", "b:"), -EINVAL);
	assert_int_equal(snapshot(the.m, "nightly", NULL, 1), -EEXIST);
	assert_int_equal(snapshot(the.m, "other", NULL, 9), -EINVAL);
	assert_int_equal(snapshot(the.m, NULL, "other", 1), -EINVAL);
	assert_int_equal(snapshot(the.m, "", NULL, 1), -EINVAL);
	assert_int_equal(snapshot(the.m, "other", NULL, UINT64_MAX), -EINVAL);
	assert_int_equal(manifest_commit(the.m, &drop), -EINVAL);
	/* What is put does not go. */
	drop = (struct edit){.drop_table = 1, .put_table = &same};
	assert_int_equal(manifest_commit(the.m, &drop), -EINVAL);
	assert_int_equal(sim_log_length(the.os), log);
	assert_int_equal(print_of(manifest_catalog(the.m)), print);
	assert_int_equal(step(the.m, 6, 1), 0);
}

TEST(a_file_moves_to_another_level_in_one_edit)
{
	struct sst_info i = file_info(10, 1);
	struct edit_file out = {1, 0, &i}, in = {1, 1, &i};
	struct edit e = {
		.removed = &out, .nremoved = 1, .added = &in, .nadded = 1};
	const struct catalog_tree *t;

	assert_int_equal(step(the.m, 1, 1), 0);
	assert_int_equal(step(the.m, 2, 1), 0);
	assert_int_equal(manifest_commit(the.m, &e), 0);
	reopen();
	t = &manifest_catalog(the.m)->tables[0].trees[0];
	assert_int_equal(t->nfiles, 1);
	assert_int_equal(t->files[0].level, 1);
	sst_info_free(&i);
}

TEST(a_dropped_family_loses_its_files)
{
	for (int i = 1; i <= 3; i++)
		assert_int_equal(step(the.m, i, 1), 0);
	assert_true(manifest_is_current(the.m, "10.sst"));
	assert_true(manifest_is_current(the.m, "11.sst"));
	assert_int_equal(put_table(the.m, 1, "t", 1, 1), 0);
	assert_true(manifest_is_current(the.m, "10.sst"));
	assert_false(manifest_is_current(the.m, "11.sst"));
	assert_int_equal(add_file(the.m, 2, 0, 50, 1), -EINVAL);
}

TEST(a_dropped_table_takes_its_snapshots_along)
{
	const struct catalog_table other = {.id = 3, .name = "t"};
	struct edit drop = {.drop_table = 1, .put_table = &other};
	const struct catalog *c;

	assert_int_equal(step(the.m, 1, 1), 0);
	assert_int_equal(step(the.m, 4, 1), 0);
	assert_int_equal(snapshot(the.m, "of one", NULL, 1), 0);
	assert_int_equal(snapshot(the.m, "of two", NULL, 2), 0);
	assert_non_null(catalog_shown_after(manifest_catalog(the.m), 1, 8));
	assert_null(catalog_shown_after(manifest_catalog(the.m), 1, 9));
	assert_int_equal(manifest_commit(the.m, &drop), 0);
	reopen();
	c = manifest_catalog(the.m);
	assert_int_equal(c->nsnapshots, 1);
	assert_string_equal(c->snapshots[0].name, "of two");
	assert_null(catalog_shown_after(c, 1, 8));
	assert_int_equal(catalog_find(c, bytes_str("t"))->id, 3);
}

TEST(what_is_not_of_the_store_is_never_stale)
{
	assert_true(manifest_is_current(the.m, "LOCK"));
	assert_true(manifest_is_current(the.m, "wal-0000000000000001.log"));
	assert_true(manifest_is_current(the.m, "CATALOG-0000000000000001"));
	assert_true(manifest_is_current(the.m, "CATALOG-1"));
	assert_true(manifest_is_current(the.m, "010.sst"));
	assert_true(manifest_is_current(the.m, "10.sst.bak"));
	assert_false(manifest_is_current(the.m, "CATALOG-0000000000000002"));
	assert_false(
		manifest_is_current(the.m, "CATALOG-0000000000000001.old"));
	assert_false(manifest_is_current(the.m, "CATALOG.new"));
	assert_false(manifest_is_current(the.m, "10.sst"));
	/* What is left of format 4. */
	assert_false(manifest_is_current(the.m, "CURRENT"));
	assert_false(manifest_is_current(the.m, "CURRENT.tmp"));
	assert_false(manifest_is_current(the.m, "MANIFEST-0000000000000001"));
}

TEST(a_number_on_disk_is_not_given_again)
{
	assert_int_equal(touch(the.dir, "41.sst"), 0);
	reopen();
	assert_int_equal(manifest_catalog(the.m)->next_file, 42);
	/* No number is behind that one. */
	assert_int_equal(touch(the.dir, "18446744073709551615.sst"), 0);
	reopen();
	assert_int_equal(manifest_catalog(the.m)->next_file, 1);
}

TEST(a_read_only_open_changes_nothing)
{
	struct edit e = {.wal_first = 99};
	uint64_t print;
	size_t log;

	for (int i = 1; i <= 5; i++)
		assert_int_equal(step(the.m, i, 1), 0);
	print = print_of(manifest_catalog(the.m));
	manifest_close(the.m);
	log = sim_log_length(the.os);
	assert_int_equal(manifest_open(the.dir, true, true, &the.m), 0);
	assert_int_equal(print_of(manifest_catalog(the.m)), print);
	assert_int_equal(manifest_commit(the.m, &e), -EROFS);
	assert_int_equal(sim_log_length(the.os), log);
}

static void try_dir(const char *first, const char *second, bool create, int is)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct manifest *m = NULL;
	size_t log;

	if (first)
		assert_int_equal(touch(d, first), 0);
	if (second)
		assert_int_equal(touch(d, second), 0);
	log = sim_log_length(os);
	assert_int_equal(manifest_open(d, create, false, &m), is);
	if (is < 0)
		assert_int_equal(sim_log_length(os), log);
	manifest_close(m);
	os_dir_close(d);
	sim_free(os);
}

TEST(only_a_store_or_an_empty_directory_is_opened)
{
	try_dir(NULL, NULL, false, -ENOENT);
	try_dir(NULL, NULL, true, 0);
	try_dir("LOCK", "lost+found", true, 0);
	try_dir("LOCK", "thesis.tex", true, -ENOTEMPTY);
	try_dir("LOCK", "thesis.tex", false, -ENOENT);
	try_dir("CATALOG.new", NULL, true, 0);
	try_dir("MANIFEST-0000000000000001", "CURRENT.tmp", true, 0);
	/* The catalog was lost: a new store would hide the old one for ever. */
	try_dir("MANIFEST-0000000000000002", NULL, true, -EUCLEAN);
	try_dir("CATALOG-0000000000000001", NULL, true, -EUCLEAN);
	try_dir("7.sst", NULL, true, -EUCLEAN);
	try_dir("wal-0000000000000001.log", NULL, false, -EUCLEAN);
	/* Somebody's pictures are no log. */
	try_dir("wallpaper.jpg", NULL, true, -ENOTEMPTY);
	try_dir("CURRENT", NULL, true, -EUCLEAN);
}

static int open_dir(struct os *os, const struct store_options *o,
		    struct os_dir **out)
{
	why_clear();
	return directory_open(os, "/s", o, out);
}

TEST(a_directory_is_had_by_one_or_said_why_not)
{
	const struct store_options none = {.wait_ms = 0},
				   reads = {.read_only = true},
				   waits = {.create = true, .wait_ms = 50};
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os), *mine = NULL, *other = NULL;
	struct manifest *m = NULL;

	assert_int_equal(open_dir(os, &none, &other), -ENOENT);
	assert_non_null(strstr(store_why(), "there is no cellfs store in /s"));
	assert_int_equal(manifest_open(d, true, true, &m), -ENOENT);
	assert_int_equal(open_dir(os, &waits, &mine), 0);
	assert_int_equal(open_dir(os, &waits, &other), -EBUSY);
	assert_non_null(strstr(store_why(), "in use by process 4242"));
	os_dir_close(mine);
	manifest_close(opened(d));
	assert_int_equal(touch(d, HOLD_BACKUP_NAME), 0);
	assert_int_equal(open_dir(os, &none, &other), -EROFS);
	assert_non_null(strstr(store_why(), "is a backup"));
	assert_int_equal(open_dir(os, &reads, &mine), 0);
	assert_int_equal(os_unlink(d, HOLD_BACKUP_NAME), 0);
	assert_int_equal(open_dir(os, &none, &other), -EBUSY);
	assert_non_null(strstr(store_why(), "in use by another process"));
	os_dir_close(mine);
	os_dir_close(d);
	sim_free(os);
}

TEST(what_is_lost_adds_up)
{
	const struct history *h;

	assert_int_equal(put_table(the.m, 1, "t", 2, 1), 0);
	assert_int_equal(lose(the.m, 1, "d", 4), 0);
	assert_int_equal(lose(the.m, 1, "c", 3), 0);
	assert_int_equal(lose(the.m, 9, "d", 4), -EINVAL);
	reopen();
	h = &manifest_catalog(the.m)->tables[0].trees[0].lost;
	assert_int_equal(h->before, 3);
	assert_int_equal(h->pushed_seq, 8);
	assert_int_equal(h->pushed_versions, 2);
	/* "b".."c" and "c".."cxx" have a row in common. */
	assert_int_equal(h->ngaps, 2);
	assert_int_equal(h->gaps[0].from, 5);
	assert_int_equal(h->gaps[0].to, 9);
	assert_int_equal(h->gaps[1].from, 6);
	/* A table that comes by another name keeps it, a new tree has none. */
	assert_int_equal(put_table(the.m, 1, "u", 2, 1), 0);
	assert_int_equal(manifest_catalog(the.m)->tables[0].trees[0].lost.ngaps,
			 2);
	assert_int_equal(put_table(the.m, 1, "u", 2, 5), 0);
	assert_true(history_is_whole(
		&manifest_catalog(the.m)->tables[0].trees[0].lost));
}
