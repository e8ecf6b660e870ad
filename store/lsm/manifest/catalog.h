/*
 * The catalog: which tables, files and snapshots there are at one moment.
 *
 * Plain values, without open files. A catalog does not change: an edit makes
 * the next one of it (catalog_after()), which is checked as a whole before
 * anyone sees it.
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_CATALOG_H
#define CELLFS_STORE_LSM_MANIFEST_CATALOG_H

#include "store/front/snapshot_tables.h"
#include "store/lsm/base/history.h"
#include "store/lsm/table/sstable.h"
#include "store/value/schema.h"

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

/* How much of the log is kept: wal_keep(). */
struct catalog_keep {
	uint64_t bytes, id;
};

struct catalog {
	uint64_t next_file; /* number of the next sstable */
	uint64_t next_table;
	uint32_t next_tree;
	uint64_t last_seq;  /* no sequence <= it is given again */
	uint64_t wal_first; /* segments below it are not needed */
	struct catalog_keep keep;
	size_t ntables;
	struct catalog_table *tables; /* in byte order of name */
	size_t nsnapshots;
	struct catalog_snapshot *snapshots; /* by table, then by name */
};

/*
 * One edit; zeroed = nothing. Pointers are borrowed for the call. Counters only
 * grow, and pass by themselves every number that the edit uses.
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
	const struct catalog_keep *keep;
	const struct edit_file *removed, *added;
	size_t nremoved, nadded;
	const struct edit_loss *lost;
	size_t nlost;
	/*
	 * Creates (id new) or replaces (id known) a table: its name, schema
	 * and tree ids. Trees that it no longer lists lose their files.
	 */
	const struct catalog_table *put_table;
	uint64_t drop_table; /* id; its own snapshots go with it */
	uint32_t next_tree;
	uint64_t next_table;
	const struct catalog_snapshot *put_snapshot, *drop_snapshot;
};

void catalog_init(struct catalog *c); /* empty */
void catalog_free(struct catalog *c);
/*
 * What @e makes of @c. -EINVAL: the edit names what is not there, or what it
 * makes is not sound; -EEXIST: a table or snapshot of that name exists;
 * -ENOMEM.
 */
int catalog_after(const struct catalog *c, const struct edit *e,
		  struct catalog *out);
/*
 * Is it sound as a whole? It may come from a disk, so that nothing is taken for
 * granted. 0, or as catalog_after().
 */
int catalog_check(const struct catalog *c);

const struct catalog_table *catalog_find(const struct catalog *c,
					 struct bytes name);
const struct catalog_table *catalog_find_id(const struct catalog *c,
					    uint64_t id);
/* NULL: @t, which may be NULL, has no such tree. */
const struct catalog_tree *catalog_tree_in(const struct catalog_table *t,
					   uint32_t id);
/* Is there a live sstable of this number? */
bool catalog_has_file(const struct catalog *c, uint64_t number);

int catalog_snapshot_cmp(const struct catalog_snapshot *a,
			 const struct catalog_snapshot *b);
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
/*
 * The first snapshot that shows of the family what it would not show with the
 * attributes of @to (family_attrs_less()), and the *word of the attribute; or NULL.
 */
const struct catalog_snapshot *
catalog_shows_more(const struct catalog *c, uint64_t table,
		   const struct family_schema *to, const char **word);
/* Some snapshot that shows the table as it was after @seq. */
const struct catalog_snapshot *
catalog_shown_after(const struct catalog *c, uint64_t table, uint64_t seq);

#endif
