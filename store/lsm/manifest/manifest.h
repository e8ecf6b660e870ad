/*
 * The manifest: what the store consists of, as a log of edits.
 *
 * A file MANIFEST-N holds a full state and the edits since; CURRENT names N and
 * is only ever replaced by rename. An edit is one checksummed record, applied
 * whole or not at all. Names of tables and schemas live here, so a change of
 * schema and of files is one atomic, durable act.
 *
 * The catalog is the state that the edits add up to: plain values, without
 * open files. The manifest owns it; others change it through manifest_commit().
 *
 * Threads: the caller serialises (the store's catalog lock).
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_MANIFEST_H
#define CELLFS_STORE_LSM_MANIFEST_MANIFEST_H

#include "store/front/snapshot_tables.h"
#include "store/lsm/base/history.h"
#include "store/lsm/table/sstable.h"
#include "store/value/schema.h"

/* Raised when a byte format changes: store_open() refuses all others. */
#define STORE_FORMAT 4

struct catalog_file {
	uint8_t level;
	struct sst_info info;
};

struct catalog_tree {
	uint32_t id; /* never reused */
	size_t nfiles;
	struct catalog_file *files;
	struct history lost;
};

struct catalog_table {
	uint64_t id; /* never reused */
	char name[TABLE_NAME_LEN_MAX + 1];
	uint64_t schema_version;
	struct schema schema;
	struct catalog_tree *trees; /* one a family, in schema's order */
};

struct catalog_snapshot { /* a persistent one */
	uint64_t table;	  /* 0 = the whole store */
	char name[256];
	uint64_t seq;
	int64_t taken_ms;
	struct snapshot_tables tables; /* those that it shows, as they were */
};

struct catalog {
	uint64_t next_file; /* number of the next sstable */
	uint64_t next_table;
	uint32_t next_tree;
	uint64_t last_seq;  /* no sequence <= it is given again */
	uint64_t wal_first; /* segments below it are not needed */
	size_t ntables;
	struct catalog_table *tables; /* in byte order of name */
	size_t nsnapshots;
	struct catalog_snapshot *snapshots;
};

/*
 * One edit; zeroed = nothing. Pointers are borrowed for the call. Applied in
 * this order: drop_table, removed, put_table, added, lost, drop_snapshot,
 * put_snapshot. Counters only grow, and pass by themselves every number that
 * the edit uses.
 */
struct edit_file {
	uint32_t tree;
	uint8_t level;
	const struct sst_info *info; /* of a removed one: the number counts */
};
struct edit_loss {
	uint32_t tree;
	const struct history *history; /* adds to what the tree has */
};
struct edit {
	/* 0 = unchanged */
	uint64_t next_file, last_seq, wal_first;
	const struct edit_file *removed, *added;
	size_t nremoved, nadded;
	const struct edit_loss *lost;
	size_t nlost;
	/*
	 * Creates (id new) or replaces (id known) a table: its name, schema
	 * and tree ids. Trees that it no longer lists lose their files.
	 */
	const struct catalog_table *put_table;
	uint64_t drop_table; /* id */
	uint32_t next_tree;
	uint64_t next_table;
	const struct catalog_snapshot *put_snapshot, *drop_snapshot;
};

struct manifest;

/*
 * Reads CURRENT and its manifest; with @create makes an empty store where the
 * directory holds nothing. Unless @read_only it starts a fresh MANIFEST.
 * -ENOENT: no store here. -EPROTONOSUPPORT: newer format, nothing touched.
 * -ENOTEMPTY: the directory holds other things. -EUCLEAN: damage, said where.
 */
int manifest_open(struct os_dir *dir, bool create, bool read_only,
		  struct manifest **out);
void manifest_close(struct manifest *m);
const struct catalog *manifest_catalog(const struct manifest *m);
/*
 * Makes the edit durable, then applies it to the catalog.
 *
 * -EINVAL: it does not fit the catalog (unknown tree, a removed file that is
 * not there, an added one that is); -EEXIST: the name of a table or snapshot
 * is taken; no memory, space or descriptor, -EFBIG. Where manifest_failed()
 * then says no, nothing was written and the next commit may succeed.
 *
 * Else a write or sync has failed: every further commit is -EROFS, and a later
 * open may show the edit or not. So files that a failed edit adds must stay
 * until the next open, which knows.
 */
int manifest_commit(struct manifest *m, const struct edit *e);
bool manifest_failed(const struct manifest *m);
/*
 * Does the store need the file of this name? For clean-up: false for sstables
 * and manifests that are no longer part of it and for CURRENT.tmp, true for
 * all that is not the manifest's to judge.
 */
bool manifest_is_current(const struct manifest *m, const char *name);

const struct catalog_table *catalog_find(const struct catalog *c,
					 struct bytes name);
const struct catalog_table *catalog_find_id(const struct catalog *c,
					    uint64_t id);
/* @table 0: one of the whole store. */
const struct catalog_snapshot *catalog_find_snapshot(const struct catalog *c,
						     uint64_t table,
						     struct bytes name);
/* The first one of the table or of the store whose name is > @after. */
const struct catalog_snapshot *catalog_next_snapshot(const struct catalog *c,
						     uint64_t table,
						     struct bytes after);
/* Some snapshot that shows the table, and (unless NULL) its family. */
const struct catalog_snapshot *
catalog_shown_by(const struct catalog *c, uint64_t table, const char *family);
/* Some snapshot that shows the table as it was after @seq. */
const struct catalog_snapshot *
catalog_shown_after(const struct catalog *c, uint64_t table, uint64_t seq);

#endif
