/* The catalog: edits, what survives damage, crashes and failing calls. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <xxhash.h>

#include "store/lsm/manifest/catalog_salvage.h"
#include "store/lsm/manifest/levels.h"
#include "store/lsm/manifest/manifest.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"

/* The fuzz target, for its small corpus below. */
#include "tests/fuzz/catalog.c"

#define STEPS 13

/* All of a catalog in one number. */
static uint64_t print_of(const struct catalog *c)
{
	struct buf b = catalog_print(c);
	uint64_t h = XXH3_64bits(b.data, b.len);

	buf_free(&b);
	return h;
}

static struct os_dir *dir_of(struct os *os)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, "/s", true, &d), 0);
	return d;
}

static struct manifest *opened(struct os_dir *d)
{
	struct manifest *m = NULL;
	int r = manifest_open(d, true, false, &m);

	if (r < 0)
		fail_msg("open: %d %s", r, store_why());
	return m;
}

static int touch(struct os_dir *d, const char *name)
{
	struct os_file *f = NULL;
	int r = os_open(d, name, OS_WRITE | OS_CREATE, &f);

	return r < 0 ? r : os_finish(f);
}

static void set_row(struct buf *b, const char *row, size_t len)
{
	b->len = 0;
	assert_int_equal(buf_append(b, row, strlen(row)), 0);
	while (b->len < len)
		assert_int_equal(buf_append(b, "x", 1), 0);
}

/* A file of rows "a.." to "z..", each of @row_len bytes at least. */
static struct sst_info file_info(uint64_t number, size_t row_len)
{
	struct sst_info i = {.number = number,
			     .file_bytes = 1000 + number,
			     .checksum = number * 7,
			     .entries = 10,
			     .rows = 5,
			     .markers = 1,
			     .raw_bytes = 2000,
			     .seq_min = 1,
			     .seq_max = number,
			     .ts_min = -1,
			     .ts_max = 99,
			     .has_ttl = number & 1};

	set_row(&i.row_min, "a", row_len);
	set_row(&i.row_max, "z", row_len);
	return i;
}

static int add_file(struct manifest *m, uint32_t tree, uint8_t level,
		    uint64_t number, size_t row_len)
{
	struct sst_info i = file_info(number, row_len);
	struct edit_file f = {tree, level, &i};
	struct edit e = {.added = &f, .nadded = 1, .last_seq = number * 10};
	int r = manifest_commit(m, &e);

	sst_info_free(&i);
	return r;
}

static int remove_file(struct manifest *m, uint32_t tree, uint64_t number)
{
	struct sst_info i = {.number = number};
	struct edit_file f = {tree, 0, &i};
	struct edit e = {.removed = &f, .nremoved = 1};

	return manifest_commit(m, &e);
}

/* Puts a table of @families ("a", "b", ...), trees from @tree on. */
static int put_table(struct manifest *m, uint64_t id, const char *name,
		     uint32_t families, uint32_t tree)
{
	struct catalog_tree trees[8] = {0};
	struct catalog_table t = {.id = id, .trees = trees};
	struct edit e = {.put_table = &t};
	struct family_attrs attrs;
	char family[2] = "a";
	int r;

	snprintf(t.name, sizeof(t.name), "%s", name);
	schema_init(&t.schema, 1, 2);
	family_attrs_default(&attrs);
	for (uint32_t i = 0; i < families; i++, family[0]++) {
		trees[i].id = tree + i;
		assert_int_equal(
			schema_add(&t.schema, bytes_str(family), &attrs), 0);
	}
	r = manifest_commit(m, &e);
	schema_free(&t.schema);
	return r;
}

static int snapshot(struct manifest *m, const char *put, const char *drop,
		    uint64_t table)
{
	struct catalog_snapshot p = {.table = table, .seq = 9, .taken_ms = 8};
	struct catalog_snapshot d = {.table = table};
	struct edit e = {.put_snapshot = put ? &p : NULL,
			 .drop_snapshot = drop ? &d : NULL};

	struct schema schema = {0};
	int r;

	snprintf(p.name, sizeof(p.name), "%s", put ? put : "");
	snprintf(d.name, sizeof(d.name), "%s", drop ? drop : "");
	schema_init(&schema, 3, 4);
	assert_int_equal(
		snapshot_tables_add(&p.tables, table, "shown", &schema), 0);
	schema_free(&schema);
	r = manifest_commit(m, &e);
	snapshot_tables_free(&p.tables);
	return r;
}

/* Rows "b" to "c" and @row, as of 5 to 7; and more of all kinds. */
static int lose(struct manifest *m, uint32_t tree, const char *row,
		size_t row_len)
{
	struct history h = {.before = 3, .pushed_seq = 8, .pushed_versions = 2};
	struct edit_loss l = {tree, &h};
	struct edit e = {.lost = &l, .nlost = 1};
	struct buf max = {0};
	int r;

	set_row(&max, row, row_len);
	assert_int_equal(history_lose(&h, bytes_str("b"), bytes_str("c"), 5, 7),
			 0);
	assert_int_equal(
		history_lose(&h, bytes_str(row), buf_bytes(&max), 6, 9), 0);
	r = manifest_commit(m, &e);
	history_free(&h);
	buf_free(&max);
	return r;
}

/* The @i-th edit of the story that is crashed below, 1 = the first. */
static int step(struct manifest *m, int i, size_t row_len)
{
	switch (i) {
	case 1:
		return put_table(m, 1, "t", 2, 1);
	case 2:
		return add_file(m, 1, 0, 10, row_len);
	case 3:
		return add_file(m, 2, 0, 11, row_len);
	case 4:
		return put_table(m, 2, "ns:u", 1, 3);
	case 5:
		return snapshot(m, "nightly", NULL, 1);
	case 6:
		return add_file(m, 3, 6, 12, row_len);
	case 7:
		return remove_file(m, 1, 10);
	case 8:
		return put_table(m, 1, "renamed", 1, 1);
	case 9:
		return add_file(m, 1, 1, 13, row_len);
	case 10:
		return snapshot(m, "weekly", "nightly", 1);
	case 11: {
		struct catalog_keep keep = {.bytes = 1 << 20, .id = 77};
		struct edit e = {
			.drop_table = 2, .wal_first = 5, .keep = &keep};

		return manifest_commit(m, &e);
	}
	case 12:
		return lose(m, 1, "d", row_len);
	default:
		return add_file(m, 1, 0, (uint64_t)i + 10, row_len);
	}
}

struct place {
	struct os *os;
	struct os_dir *dir;
	struct manifest *m;
};

static struct place new_place(void)
{
	struct place p = {.os = sim_new(1)};

	p.dir = dir_of(p.os);
	p.m = opened(p.dir);
	return p;
}

static void reopen(struct place *p)
{
	manifest_close(p->m);
	p->m = opened(p->dir);
}

static void end_place(struct place *p)
{
	manifest_close(p->m);
	os_dir_close(p->dir);
	sim_free(p->os);
}

static void edits_are_there_after_a_reopen(void **state)
{
	struct place p = new_place();
	const struct catalog_table *t;
	const struct catalog *c;
	uint64_t print;

	(void)state;
	for (int i = 1; i <= STEPS; i++)
		assert_int_equal(step(p.m, i, 3), 0);
	print = print_of(manifest_catalog(p.m));
	for (int i = 0; i < 3; i++) {
		reopen(&p);
		c = manifest_catalog(p.m);
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
	end_place(&p);
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

static void an_edit_that_does_not_fit_writes_nothing(void **state)
{
	struct place p = new_place();
	struct edit drop = {.drop_table = 77};
	size_t log;
	uint64_t print;

	(void)state;
	for (int i = 1; i <= 5; i++)
		assert_int_equal(step(p.m, i, 1), 0);
	log = sim_log_length(p.os);
	print = print_of(manifest_catalog(p.m));
	assert_int_equal(add_file(p.m, 99, 0, 50, 1), -EINVAL);
	assert_int_equal(add_file(p.m, 1, 0, 10, 1), -EINVAL);
	assert_int_equal(add_file(p.m, 1, LEVELS_MAX, 50, 1), -EINVAL);
	assert_int_equal(add_file(p.m, 1, 0, 0, 1), -EINVAL);
	assert_int_equal(add_file(p.m, 1, 0, 50, ROW_LEN_MAX + 1), -EINVAL);
	assert_int_equal(remove_file(p.m, 1, 50), -EINVAL);
	assert_int_equal(remove_file(p.m, 2, 10), -EINVAL);
	assert_int_equal(put_table(p.m, 3, "t", 1, 9), -EEXIST);
	assert_int_equal(put_table(p.m, 3, "v", 1, 1), -EINVAL);
	assert_int_equal(put_table(p.m, 3, ".v", 1, 9), -EINVAL);
	assert_int_equal(put_table(p.m, 0, "v", 1, 9), -EINVAL);
	assert_int_equal(put_table(p.m, 3, "v", 1, 0), -EINVAL);
	assert_int_equal(put_families(p.m, "b", "a"), -EINVAL);
	assert_int_equal(put_families(p.m, "a", "a"), -EINVAL);
	assert_int_equal(put_families(p.m, "a", "b:"), -EINVAL);
	assert_int_equal(snapshot(p.m, "nightly", NULL, 1), -EEXIST);
	assert_int_equal(snapshot(p.m, "other", NULL, 9), -EINVAL);
	assert_int_equal(snapshot(p.m, NULL, "other", 1), -EINVAL);
	assert_int_equal(snapshot(p.m, "", NULL, 1), -EINVAL);
	assert_int_equal(manifest_commit(p.m, &drop), -EINVAL);
	assert_int_equal(sim_log_length(p.os), log);
	assert_int_equal(print_of(manifest_catalog(p.m)), print);
	assert_int_equal(step(p.m, 6, 1), 0);
	end_place(&p);
}

static void a_file_moves_to_another_level_in_one_edit(void **state)
{
	struct place p = new_place();
	struct sst_info i = file_info(10, 1);
	struct edit_file out = {1, 0, &i}, in = {1, 1, &i};
	struct edit e = {
		.removed = &out, .nremoved = 1, .added = &in, .nadded = 1};
	const struct catalog_tree *t;

	(void)state;
	assert_int_equal(step(p.m, 1, 1), 0);
	assert_int_equal(step(p.m, 2, 1), 0);
	assert_int_equal(manifest_commit(p.m, &e), 0);
	reopen(&p);
	t = &manifest_catalog(p.m)->tables[0].trees[0];
	assert_int_equal(t->nfiles, 1);
	assert_int_equal(t->files[0].level, 1);
	sst_info_free(&i);
	end_place(&p);
}

static void a_dropped_family_loses_its_files(void **state)
{
	struct place p = new_place();

	(void)state;
	for (int i = 1; i <= 3; i++)
		assert_int_equal(step(p.m, i, 1), 0);
	assert_true(manifest_is_current(p.m, "10.sst"));
	assert_true(manifest_is_current(p.m, "11.sst"));
	assert_int_equal(put_table(p.m, 1, "t", 1, 1), 0);
	assert_true(manifest_is_current(p.m, "10.sst"));
	assert_false(manifest_is_current(p.m, "11.sst"));
	assert_int_equal(add_file(p.m, 2, 0, 50, 1), -EINVAL);
	end_place(&p);
}

static void what_is_not_of_the_store_is_never_stale(void **state)
{
	struct place p = new_place();

	(void)state;
	assert_true(manifest_is_current(p.m, "LOCK"));
	assert_true(manifest_is_current(p.m, "wal-0000000000000001.log"));
	assert_true(manifest_is_current(p.m, "CATALOG-0000000000000001"));
	assert_true(manifest_is_current(p.m, "CATALOG-1"));
	assert_true(manifest_is_current(p.m, "010.sst"));
	assert_true(manifest_is_current(p.m, "10.sst.bak"));
	assert_false(manifest_is_current(p.m, "CATALOG-0000000000000002"));
	assert_false(manifest_is_current(p.m, "CATALOG-0000000000000001.old"));
	assert_false(manifest_is_current(p.m, "CATALOG.new"));
	assert_false(manifest_is_current(p.m, "10.sst"));
	/* What is left of format 4. */
	assert_false(manifest_is_current(p.m, "CURRENT"));
	assert_false(manifest_is_current(p.m, "CURRENT.tmp"));
	assert_false(manifest_is_current(p.m, "MANIFEST-0000000000000001"));
	end_place(&p);
}

static void a_number_on_disk_is_not_given_again(void **state)
{
	struct place p = new_place();

	(void)state;
	assert_int_equal(touch(p.dir, "41.sst"), 0);
	reopen(&p);
	assert_int_equal(manifest_catalog(p.m)->next_file, 42);
	end_place(&p);
}

static void a_read_only_open_changes_nothing(void **state)
{
	struct place p = new_place();
	struct edit e = {.wal_first = 99};
	uint64_t print;
	size_t log;

	(void)state;
	for (int i = 1; i <= 5; i++)
		assert_int_equal(step(p.m, i, 1), 0);
	print = print_of(manifest_catalog(p.m));
	manifest_close(p.m);
	log = sim_log_length(p.os);
	assert_int_equal(manifest_open(p.dir, true, true, &p.m), 0);
	assert_int_equal(print_of(manifest_catalog(p.m)), print);
	assert_int_equal(manifest_commit(p.m, &e), -EROFS);
	assert_int_equal(sim_log_length(p.os), log);
	end_place(&p);
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

static void only_a_store_or_an_empty_directory_is_opened(void **state)
{
	(void)state;
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

/* All of a file of the store. */
static struct buf content_of(struct os_dir *d, const char *name)
{
	struct buf b = {0};

	assert_int_equal(os_read_file(d, name, UINT64_MAX, &b), 0);
	return b;
}

static void overwrite(struct os_dir *d, const char *name, const struct buf *b)
{
	struct os_file *f = NULL;

	assert_int_equal(os_open(d, name, OS_WRITE | OS_CREATE, &f), 0);
	assert_int_equal(os_truncate(f, 0), 0);
	assert_int_equal(os_pwrite(f, b->data, b->len, 0), 0);
	os_close(f);
}

#define FIRST "CATALOG-0000000000000001"
#define SECOND "CATALOG-0000000000000002"
#define THIRD "CATALOG-0000000000000003"

static void a_newer_format_is_left_alone(void **state)
{
	struct place p = new_place();
	struct buf b = content_of(p.dir, FIRST);
	struct manifest *m = NULL;
	size_t log;

	(void)state;
	b.data[CATALOG_HEAD] = STORE_FORMAT + 1;
	/* It has more to say than this one. */
	assert_int_equal(buf_append(&b, "more", 4), 0);
	catalog_seal(b.data, b.len, 1);
	overwrite(p.dir, FIRST, &b);
	log = sim_log_length(p.os);
	assert_int_equal(manifest_open(p.dir, true, false, &m),
			 -EPROTONOSUPPORT);
	assert_non_null(strstr(store_why(), "newer"));
	assert_int_equal(sim_log_length(p.os), log);
	buf_free(&b);
	end_place(&p);
}

static void what_is_lost_adds_up(void **state)
{
	struct place p = new_place();
	const struct history *h;

	(void)state;
	assert_int_equal(put_table(p.m, 1, "t", 2, 1), 0);
	assert_int_equal(lose(p.m, 1, "d", 4), 0);
	assert_int_equal(lose(p.m, 1, "c", 3), 0);
	assert_int_equal(lose(p.m, 9, "d", 4), -EINVAL);
	reopen(&p);
	h = &manifest_catalog(p.m)->tables[0].trees[0].lost;
	assert_int_equal(h->before, 3);
	assert_int_equal(h->pushed_seq, 8);
	assert_int_equal(h->pushed_versions, 2);
	/* "b".."c" and "c".."cxx" have a row in common. */
	assert_int_equal(h->ngaps, 2);
	assert_int_equal(h->gaps[0].from, 5);
	assert_int_equal(h->gaps[0].to, 9);
	assert_int_equal(h->gaps[1].from, 6);
	/* A table that comes by another name keeps it, a new tree has none. */
	assert_int_equal(put_table(p.m, 1, "u", 2, 1), 0);
	assert_int_equal(manifest_catalog(p.m)->tables[0].trees[0].lost.ngaps,
			 2);
	assert_int_equal(put_table(p.m, 1, "u", 2, 5), 0);
	assert_true(history_is_whole(
		&manifest_catalog(p.m)->tables[0].trees[0].lost));
	end_place(&p);
}

/* The catalog after @steps, as its newest file. */
static struct buf image_after(struct place *p, int steps)
{
	char name[CATALOG_NAME_LEN];

	for (int i = 1; i <= steps; i++)
		assert_int_equal(step(p->m, i, 1), 0);
	catalog_name((uint64_t)steps + 1, false, name);
	return content_of(p->dir, name);
}

static void format_7_kept_no_log(void **state)
{
	struct place p = new_place();
	struct buf b = image_after(&p, STEPS);
	/* The counters' last two are not in it. */
	size_t at = CATALOG_HEAD + 4 + 8 + 8 + 36, kept = 16;
	struct catalog c;
	uint64_t store;

	(void)state;
	assert_int_equal(catalog_decode(buf_bytes(&b), STEPS + 1, &c, &store),
			 0);
	assert_int_equal(c.keep.bytes, 1 << 20);
	catalog_free(&c);
	memmove(b.data + at, b.data + at + kept, b.len - at - kept);
	b.len -= kept;
	b.data[CATALOG_HEAD] = 7;
	catalog_seal(b.data, b.len, STEPS + 1);
	assert_int_equal(catalog_decode(buf_bytes(&b), STEPS + 1, &c, &store),
			 0);
	assert_int_equal(c.keep.bytes, 0);
	assert_int_equal(c.keep.id, 0);
	c.keep = manifest_catalog(p.m)->keep;
	assert_int_equal(print_of(&c), print_of(manifest_catalog(p.m)));
	catalog_free(&c);
	buf_free(&b);
	end_place(&p);
}

/* Tables, snapshots, counters: all of a catalog but its files. */
static void an_outline_has_all_but_the_files(void **state)
{
	struct place p = new_place();
	const struct catalog *c;
	struct buf outline = {0};
	struct catalog back;
	uint64_t store;

	(void)state;
	for (int i = 1; i <= STEPS; i++)
		assert_int_equal(step(p.m, i, 3), 0);
	c = manifest_catalog(p.m);
	assert_int_equal(catalog_outline(c, &outline), 0);
	assert_int_equal(catalog_decode(buf_bytes(&outline), 0, &back, &store),
			 0);
	assert_int_equal(store, 0);
	assert_int_equal(back.ntables, c->ntables);
	assert_string_equal(back.tables[0].name, "renamed");
	assert_int_equal(back.tables[0].schema.nfamilies, 1);
	assert_int_equal(back.tables[0].trees[0].id, 1);
	assert_int_equal(back.tables[0].trees[0].nfiles, 0);
	assert_int_equal(back.nsnapshots, 1);
	assert_string_equal(back.snapshots[0].name, "weekly");
	assert_int_equal(back.next_file, c->next_file);
	assert_int_equal(back.next_table, c->next_table);
	assert_int_equal(back.next_tree, c->next_tree);
	assert_int_equal(back.last_seq, c->last_seq);
	assert_int_equal(back.wal_first, c->wal_first);
	assert_int_equal(back.keep.id, c->keep.id);
	catalog_free(&back);
	buf_free(&outline);
	end_place(&p);
}

static int decode_copy(const void *data, size_t len, uint64_t number)
{
	struct catalog c;
	uint64_t store;
	/* Of its own size, so that a step too far is seen. */
	uint8_t *copy = malloc(len ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, data, len);
	r = catalog_decode(bytes_of(copy, len), number, &c, &store);
	if (r == 0)
		catalog_free(&c);
	free(copy);
	return r;
}

static void every_other_length_is_found(void **state)
{
	struct place p = new_place();
	struct buf b = image_after(&p, STEPS);

	(void)state;
	assert_int_equal(decode_copy(b.data, b.len, STEPS + 1), 0);
	for (size_t n = 0; n < b.len; n++)
		assert_int_equal(decode_copy(b.data, n, STEPS + 1), -EUCLEAN);
	assert_int_equal(buf_append(&b, "", 1), 0);
	assert_int_equal(decode_copy(b.data, b.len, STEPS + 1), -EUCLEAN);
	buf_free(&b);
	end_place(&p);
}

static void every_flipped_bit_is_found(void **state)
{
	struct place p = new_place();
	struct buf b = image_after(&p, STEPS);

	(void)state;
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(decode_copy(b.data, b.len, STEPS + 1),
				 -EUCLEAN);
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	buf_free(&b);
	end_place(&p);
}

/* What a repair has of the directory: how old, and its print. */
static enum catalog_age salvaged(struct place *p, uint64_t *print)
{
	struct catalog_salvage s;

	assert_int_equal(catalog_salvage(p->dir, &s), 0);
	*print = print_of(&s.catalog);
	catalog_free(&s.catalog);
	return s.age;
}

static void a_repair_puts_any_one_bit_right_and_no_two(void **state)
{
	struct place p = new_place();
	uint64_t print, newest, before;
	struct buf b;

	(void)state;
	assert_int_equal(step(p.m, 1, 1), 0);
	before = print_of(manifest_catalog(p.m));
	assert_int_equal(step(p.m, 2, 1), 0);
	newest = print_of(manifest_catalog(p.m));
	assert_int_equal(salvaged(&p, &print), CATALOG_NEWEST);
	assert_int_equal(print, newest);
	b = content_of(p.dir, THIRD);
	/* Each bit of a byte, everywhere. */
	for (size_t bit = 0; bit < b.len * 8; bit += 101) {
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		overwrite(p.dir, THIRD, &b);
		assert_int_equal(salvaged(&p, &print), CATALOG_NEWEST);
		assert_int_equal(print, newest);
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	b.data[b.len / 2] ^= 1;
	b.data[b.len / 3] ^= 1;
	overwrite(p.dir, THIRD, &b);
	assert_int_equal(salvaged(&p, &print), CATALOG_BEFORE);
	assert_int_equal(print, before);
	assert_int_equal(os_unlink(p.dir, SECOND ".old"), 0);
	assert_int_equal(salvaged(&p, &print), CATALOG_NONE);
	buf_free(&b);
	end_place(&p);
}

/* Whoever renames a generation does not make it the newest. */
static void the_file_of_another_generation_is_found(void **state)
{
	struct place p = new_place();
	struct buf b = image_after(&p, 3);

	(void)state;
	assert_int_equal(decode_copy(b.data, b.len, 4), 0);
	assert_int_equal(decode_copy(b.data, b.len, 5), -EUCLEAN);
	buf_free(&b);
	end_place(&p);
}

/* A change of these bytes is a change of the format. */
static void the_bytes_are_the_golden_ones(void **state)
{
	struct place p = new_place();
	struct buf b = image_after(&p, STEPS);

	(void)state;
	/* The store's id is chance. */
	memset(b.data + CATALOG_HEAD + 12, 0, 8);
	memset(b.data + 16, 0, 8);
	assert_int_equal(b.len, 0x225);
	assert_int_equal(XXH3_64bits(b.data, b.len), 0xf72ff636fddc555c);
	buf_free(&b);
	end_place(&p);
}

static bool exists(struct os_dir *d, const char *name)
{
	struct os_file *f = NULL;
	bool is = os_open(d, name, OS_READ, &f) == 0;

	os_close(f);
	return is;
}

static void the_generation_before_is_kept_under_another_name(void **state)
{
	struct place p = new_place();

	(void)state;
	assert_false(exists(p.dir, FIRST ".old"));
	assert_int_equal(step(p.m, 1, 1), 0);
	assert_true(exists(p.dir, FIRST ".old"));
	assert_int_equal(step(p.m, 2, 1), 0);
	for (int i = 0; i < 2; i++) {
		assert_false(exists(p.dir, FIRST));
		assert_false(exists(p.dir, FIRST ".old"));
		assert_false(exists(p.dir, SECOND));
		assert_true(exists(p.dir, SECOND ".old"));
		assert_true(manifest_is_current(p.m, SECOND ".old"));
		assert_true(exists(p.dir, THIRD));
		assert_true(manifest_is_current(p.m, THIRD));
		reopen(&p);
	}
	/* Those that a crash left go with the next clean-up. */
	assert_int_equal(touch(p.dir, SECOND), 0);
	assert_int_equal(touch(p.dir, FIRST ".old"), 0);
	reopen(&p);
	assert_false(manifest_is_current(p.m, SECOND));
	assert_false(manifest_is_current(p.m, FIRST ".old"));
	assert_true(manifest_is_current(p.m, SECOND ".old"));
	end_place(&p);
}

static void refused(struct place *p, const char *reason, const char *advice)
{
	struct manifest *m = NULL;
	size_t log = sim_log_length(p->os);

	for (int ro = 0; ro < 2; ro++) {
		assert_int_equal(manifest_open(p->dir, !ro, ro, &m), -EUCLEAN);
		if (!strstr(store_why(), reason))
			fail_msg("%s", store_why());
		assert_int_equal(!strstr(store_why(), "rename"), !advice);
		if (advice && !strstr(store_why(), advice))
			fail_msg("%s", store_why());
	}
	assert_int_equal(sim_log_length(p->os), log);
}

static void a_newest_that_is_damaged_or_lost_is_said(void **state)
{
	struct place p = new_place();
	struct buf b, before;
	uint64_t print;

	(void)state;
	assert_int_equal(step(p.m, 1, 1), 0);
	print = print_of(manifest_catalog(p.m));
	assert_int_equal(step(p.m, 2, 1), 0);
	b = content_of(p.dir, THIRD);
	b.data[b.len / 2] ^= 1;
	overwrite(p.dir, THIRD, &b);
	refused(&p, THIRD " is damaged: its checksum",
		"rename " SECOND ".old to " SECOND);
	/* If both are damaged nothing else can be had. */
	before = content_of(p.dir, SECOND ".old");
	overwrite(p.dir, SECOND ".old", &b);
	refused(&p, THIRD " is damaged: its checksum", NULL);
	overwrite(p.dir, SECOND ".old", &before);
	assert_int_equal(os_unlink(p.dir, THIRD), 0);
	refused(&p, "the CATALOG is missing",
		"rename " SECOND ".old to " SECOND);
	/* Who takes that advice has the state before. */
	assert_int_equal(os_rename(p.dir, SECOND ".old", SECOND), 0);
	reopen(&p);
	assert_int_equal(print_of(manifest_catalog(p.m)), print);
	assert_int_equal(step(p.m, 2, 1), 0);
	reopen(&p);
	buf_free(&b);
	buf_free(&before);
	end_place(&p);
}

static void damage_of_the_one_before_is_found_by_a_check(void **state)
{
	struct place p = new_place();
	struct buf b;

	(void)state;
	assert_int_equal(manifest_check_previous(p.m), 0);
	assert_int_equal(step(p.m, 1, 1), 0);
	assert_int_equal(manifest_check_previous(p.m), 0);
	b = content_of(p.dir, FIRST ".old");
	b.data[b.len / 2] ^= 1;
	overwrite(p.dir, FIRST ".old", &b);
	reopen(&p);
	assert_int_equal(manifest_check_previous(p.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), FIRST ".old is damaged"));
	buf_free(&b);
	end_place(&p);
}

/* The whole story on a disk that forgets the @nth sync of @kinds. */
/* It is in memory, and the next open wants it of the disk. */
static void what_happens_to_the_newest_in_use_is_found_by_a_check(void **state)
{
	struct place p = new_place();
	struct buf was, is = {0};
	char name[CATALOG_NAME_LEN];
	struct buf image = {0};
	uint64_t store;

	(void)state;
	assert_int_equal(manifest_check(p.m), 0);
	assert_int_equal(step(p.m, 1, 1), 0);
	assert_int_equal(manifest_check(p.m), 0);
	assert_int_equal(manifest_image(p.m, name, &image, &store), 0);
	was = content_of(p.dir, name);
	assert_int_equal(buf_set(&is, buf_bytes(&was)), 0);
	is.data[is.len / 2] ^= 1;
	overwrite(p.dir, name, &is);
	assert_int_equal(manifest_check(p.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), name));
	assert_non_null(strstr(store_why(), "is damaged"));
	assert_int_equal(os_unlink(p.dir, name), 0);
	assert_int_equal(manifest_check(p.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), "CATALOG is missing"));
	overwrite(p.dir, name, &was);
	assert_int_equal(manifest_check(p.m), 0);
	buf_free(&image);
	buf_free(&was);
	buf_free(&is);
	end_place(&p);
}

static struct os *story(unsigned kinds, uint64_t nth, uint64_t *syncs)
{
	struct os *os = sim_new(7);
	struct os_dir *d = dir_of(os);
	struct manifest *m;

	if (nth)
		sim_ignore(os, kinds, NULL, nth);
	m = opened(d);
	sim_mark(os, 0, 0);
	for (int i = 1; i <= STEPS; i++) {
		if (i == 5) {
			manifest_close(m);
			m = opened(d);
		}
		assert_int_equal(step(m, i, i > 5 ? 20000 : 5), 0);
		sim_mark(os, 0, (uint64_t)i);
	}
	if (syncs)
		*syncs = sim_syncs(os, kinds);
	manifest_close(m);
	os_dir_close(d);
	return os;
}

static uint64_t story_prints[STEPS + 2];

static void make_story_prints(void)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct manifest *m = opened(d);

	story_prints[0] = print_of(manifest_catalog(m));
	for (int i = 1; i <= STEPS; i++) {
		assert_int_equal(step(m, i, i > 5 ? 20000 : 5), 0);
		story_prints[i] = print_of(manifest_catalog(m));
	}
	/* Nothing is begun behind the last. */
	story_prints[STEPS + 1] = story_prints[STEPS];
	manifest_close(m);
	os_dir_close(d);
	sim_free(os);
}

/* Is this the state after @acked commits, or one more? Opens it twice. */
static bool image_ok(struct os *os, uint64_t acked, char *reason, size_t n)
{
	struct os_dir *d = dir_of(os);
	struct manifest *m = NULL;
	struct edit e = {.wal_first = 1000};
	uint64_t print;
	int r = manifest_open(d, true, false, &m);
	bool ok = r == 0;

	if (!ok) {
		snprintf(reason, n, "open: %d %s", r, store_why());
		goto out;
	}
	print = print_of(manifest_catalog(m));
	ok = print == story_prints[acked] || print == story_prints[acked + 1];
	if (!ok) {
		snprintf(reason, n, "not the state after %" PRIu64, acked);
		goto out;
	}
	r = manifest_commit(m, &e);
	manifest_close(m);
	m = NULL;
	ok = r == 0 && manifest_open(d, false, false, &m) == 0 &&
	     manifest_catalog(m)->wal_first == 1000;
	if (!ok)
		snprintf(reason, n, "second open: %s", store_why());
out:
	manifest_close(m);
	os_dir_close(d);
	return ok;
}

/* The number of bad images; with @must_hold none may be. */
static uint64_t crash(struct os *os, bool must_hold, bool until_bad)
{
	struct sim_crash_options o = {.seed = 3};
	struct sim_crash *c = sim_crash_new(os, &o);
	struct sim_image image;
	char reason[1200] = "";
	uint64_t bad = 0;

	while ((!bad || !until_bad) && sim_crash_next(c, &image) == 1) {
		if (image_ok(image.os, image.marked[0] ? image.marks[0] : 0,
			     reason, sizeof(reason)))
			continue;
		if (must_hold)
			fail_msg("%s: %s", image.how, reason);
		bad++;
	}
	if (must_hold)
		print_message("%" PRIu64 " crash images\n",
			      sim_crash_images(c));
	sim_crash_free(c);
	return bad;
}

static void no_crash_loses_a_committed_edit(void **state)
{
	struct os *os;

	(void)state;
	make_story_prints();
	os = story(0, 0, NULL);
	crash(os, true, false);
	sim_free(os);
}

static void each_sync_that_is_left_out_is_found(void **state)
{
	static const unsigned kinds[] = {SIM_FDATASYNC, SIM_DIR_SYNC};
	uint64_t syncs = 0;
	struct os *os;

	(void)state;
	make_story_prints();
	for (size_t k = 0; k < 2; k++) {
		sim_free(story(kinds[k], 0, &syncs));
		assert_true(syncs >= 6);
		/*
		 * Whoever finds nothing makes an empty store again: that of its
		 * name is not missed.
		 */
		for (uint64_t n = 1 + k; n <= syncs; n++) {
			os = story(kinds[k], n, NULL);
			if (!crash(os, false, true))
				fail_msg("nobody misses sync %" PRIu64
					 " of kind %u",
					 n, kinds[k]);
			sim_free(os);
		}
	}
}

/* Runs the story with the n-th call failing. True if one did. */
static bool story_with_fault(uint64_t n, int err, bool forever)
{
	struct fault_plan plan = {.kinds = FAULT_ALL & ~FAULT_DIR_OPEN,
				  .nth = n,
				  .err = err,
				  .forever = forever};
	struct os *os = sim_new(7), *after;
	struct os *bad = fault_new(os);
	struct os_dir *d = dir_of(bad);
	struct manifest *m = NULL;
	char reason[1200] = "";
	bool fired, failed = false;
	uint64_t acked = 0;
	int r;

	fault_arm(bad, &plan);
	r = manifest_open(d, true, false, &m);
	for (int i = 1; r == 0 && i <= STEPS; i++) {
		r = step(m, i, i > 5 ? 20000 : 5);
		if (r == 0)
			acked = (uint64_t)i;
		else if (r != -ENOSPC)
			failed = true;
	}
	fired = fault_fired(bad) > 0;
	fault_disarm(bad);
	/* What went wrong once is never trusted again. */
	if (failed && m)
		assert_int_equal(step(m, (int)acked + 1, 5), -EROFS);
	/* But a full disk may have room again. */
	if (r == -ENOSPC && m)
		for (; acked < STEPS; acked++)
			assert_int_equal(
				step(m, (int)acked + 1, acked >= 5 ? 20000 : 5),
				0);
	manifest_close(m);
	os_dir_close(d);
	after = sim_after_power_loss(os);
	if (!image_ok(after, acked, reason, sizeof(reason)))
		fail_msg("call %" PRIu64 " fails with %d: %s", n, err, reason);
	sim_free(after);
	if (!image_ok(os, acked, reason, sizeof(reason)))
		fail_msg("call %" PRIu64 " fails with %d: %s", n, err, reason);
	fault_free(bad);
	sim_free(os);
	return fired;
}

static void no_failing_call_loses_a_committed_edit(void **state)
{
	uint64_t n;

	(void)state;
	make_story_prints();
	for (n = 1; story_with_fault(n, EIO, false); n++)
		;
	assert_true(n > 40);
	for (n = 1; story_with_fault(n, EIO, true); n++)
		;
	assert_true(n > 40);
}

static void a_full_disk_stops_commits_only_while_it_is_full(void **state)
{
	struct place p = new_place();
	uint64_t print;
	int r = 0, n = 0;

	(void)state;
	assert_int_equal(put_table(p.m, 1, "t", 1, 1), 0);
	sim_set_space(p.os, 200 << 10);
	while (r == 0)
		r = add_file(p.m, 1, 0, 10 + (uint64_t)n++, 5000);
	assert_int_equal(r, -ENOSPC);
	/* There is room for two of them: the next one needs no more. */
	assert_true(n > 9);
	print = print_of(manifest_catalog(p.m));
	/* It opens on the full disk, and knows all that was committed. */
	reopen(&p);
	assert_int_equal(print_of(manifest_catalog(p.m)), print);
	reopen(&p);
	assert_int_equal(print_of(manifest_catalog(p.m)), print);
	sim_set_space(p.os, 100 << 20);
	assert_int_equal(add_file(p.m, 1, 0, 5000, 5000), 0);
	print = print_of(manifest_catalog(p.m));
	reopen(&p);
	assert_int_equal(print_of(manifest_catalog(p.m)), print);
	end_place(&p);
}

static void the_fuzz_corpus_passes(void **state)
{
	struct place p = new_place();
	struct buf b = image_after(&p, STEPS);

	(void)state;
	LLVMFuzzerTestOneInput(NULL, 0);
	LLVMFuzzerTestOneInput(b.data, b.len);
	/* Its body, to which the target gives a right head. */
	for (size_t i = CATALOG_HEAD * 8; i < b.len * 8; i++) {
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
		LLVMFuzzerTestOneInput(b.data + CATALOG_HEAD,
				       b.len - CATALOG_HEAD);
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	buf_free(&b);
	end_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits_are_there_after_a_reopen),
		cmocka_unit_test(an_edit_that_does_not_fit_writes_nothing),
		cmocka_unit_test(a_file_moves_to_another_level_in_one_edit),
		cmocka_unit_test(a_dropped_family_loses_its_files),
		cmocka_unit_test(what_is_not_of_the_store_is_never_stale),
		cmocka_unit_test(a_number_on_disk_is_not_given_again),
		cmocka_unit_test(a_read_only_open_changes_nothing),
		cmocka_unit_test(only_a_store_or_an_empty_directory_is_opened),
		cmocka_unit_test(a_newer_format_is_left_alone),
		cmocka_unit_test(what_is_lost_adds_up),
		cmocka_unit_test(format_7_kept_no_log),
		cmocka_unit_test(an_outline_has_all_but_the_files),
		cmocka_unit_test(every_other_length_is_found),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(a_repair_puts_any_one_bit_right_and_no_two),
		cmocka_unit_test(the_file_of_another_generation_is_found),
		cmocka_unit_test(
			the_generation_before_is_kept_under_another_name),
		cmocka_unit_test(a_newest_that_is_damaged_or_lost_is_said),
		cmocka_unit_test(damage_of_the_one_before_is_found_by_a_check),
		cmocka_unit_test(
			what_happens_to_the_newest_in_use_is_found_by_a_check),
		cmocka_unit_test(the_bytes_are_the_golden_ones),
		cmocka_unit_test(no_crash_loses_a_committed_edit),
		cmocka_unit_test(each_sync_that_is_left_out_is_found),
		cmocka_unit_test(no_failing_call_loses_a_committed_edit),
		cmocka_unit_test(
			a_full_disk_stops_commits_only_while_it_is_full),
		cmocka_unit_test(the_fuzz_corpus_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
