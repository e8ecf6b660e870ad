/*
 * A catalog on a simulated disk: a store of its own, edits of all kinds, and a story
 * of them.
 */
#ifndef CELLFS_TESTS_UNIT_CATALOG_H
#define CELLFS_TESTS_UNIT_CATALOG_H

#include <inttypes.h>
#include <xxhash.h>

#include "tests/unit/unit.h"
#include "store/lsm/manifest/manifest.h"
#include "store/value/why.h"
#include "tests/fuzz/catalog_print.h"
#include "tests/sim/os_sim.h"

#define STEPS 13

#define FIRST "CATALOG-0000000000000001"
#define SECOND "CATALOG-0000000000000002"
#define THIRD "CATALOG-0000000000000003"

/* All of a catalog in one number. */
static inline uint64_t print_of(const struct catalog *c)
{
	struct buf b = catalog_print(c);
	uint64_t h = XXH3_64bits(b.data, b.len);

	buf_free(&b);
	return h;
}

static inline struct os_dir *dir_of(struct os *os)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, "/s", true, &d), 0);
	return d;
}

static inline struct manifest *opened(struct os_dir *d)
{
	struct manifest *m = NULL;
	int r = manifest_open(d, true, false, &m);

	if (r < 0)
		fail_msg("open: %d %s", r, store_why());
	return m;
}

static inline int touch(struct os_dir *d, const char *name)
{
	struct os_file *f = NULL;
	int r = os_open(d, name, OS_WRITE | OS_CREATE, &f);

	return r < 0 ? r : os_finish(f);
}

static inline void set_row(struct buf *b, const char *row, size_t len)
{
	b->len = 0;
	assert_int_equal(buf_append(b, row, strlen(row)), 0);
	while (b->len < len)
		assert_int_equal(buf_append(b, "x", 1), 0);
}

/* A file of rows "a.." to "z..", each of @row_len bytes at least. */
static inline struct sst_info file_info(uint64_t number, size_t row_len)
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

static inline int add_file(struct manifest *m, uint32_t tree, uint8_t level,
			   uint64_t number, size_t row_len)
{
	struct sst_info i = file_info(number, row_len);
	struct edit_file f = {tree, level, &i};
	struct edit e = {.added = &f, .nadded = 1, .last_seq = number * 10};
	int r = manifest_commit(m, &e);

	sst_info_free(&i);
	return r;
}

static inline int remove_file(struct manifest *m, uint32_t tree,
			      uint64_t number)
{
	struct sst_info i = {.number = number};
	struct edit_file f = {tree, 0, &i};
	struct edit e = {.removed = &f, .nremoved = 1};

	return manifest_commit(m, &e);
}

/* Puts a table of @families ("a", "b", ...), trees from @tree on. */
static inline int put_table(struct manifest *m, uint64_t id, const char *name,
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

static inline int snapshot(struct manifest *m, const char *put,
			   const char *drop, uint64_t table)
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
static inline int lose(struct manifest *m, uint32_t tree, const char *row,
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

/* The @i-th edit of a story of STEPS edits, 1 = the first. */
static inline int step(struct manifest *m, int i, size_t row_len)
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

/* What each test begins with. */
static struct {
	struct os *os;
	struct os_dir *dir;
	struct manifest *m;
} the;

static inline int new_place(void **state)
{
	the.os = sim_new(1);
	the.dir = dir_of(the.os);
	the.m = opened(the.dir);
	return 0;
}

static inline void reopen(void)
{
	manifest_close(the.m);
	the.m = opened(the.dir);
}

static inline int end_place(void **state)
{
	manifest_close(the.m);
	os_dir_close(the.dir);
	sim_free(the.os);
	return 0;
}

EACH_TEST_IN(new_place, end_place);

/* All of a file of the store. */
static inline struct buf content_of(struct os_dir *d, const char *name)
{
	struct buf b = {0};

	assert_int_equal(os_read_file(d, name, UINT64_MAX, &b), 0);
	return b;
}

static inline void overwrite(struct os_dir *d, const char *name,
			     const struct buf *b)
{
	struct os_file *f = NULL;

	assert_int_equal(os_open(d, name, OS_WRITE | OS_CREATE, &f), 0);
	assert_int_equal(os_truncate(f, 0), 0);
	assert_int_equal(os_pwrite(f, b->data, b->len, 0), 0);
	os_close(f);
}

/* The catalog after @steps, as its newest file. */
static inline struct buf image_after(int steps)
{
	char name[CATALOG_NAME_LEN];

	for (int i = 1; i <= steps; i++)
		assert_int_equal(step(the.m, i, 1), 0);
	catalog_name((uint64_t)steps + 1, false, name);
	return content_of(the.dir, name);
}

#endif
