/*
 * What the parts of the reference store share: tables, rows, the lock.
 *
 * ref_store.c has tables and life, ref_write.c mutations, ref_read.c scans.
 */
#ifndef CELLFS_TESTS_MODEL_REF_INSIDE_H
#define CELLFS_TESTS_MODEL_REF_INSIDE_H

#include "store/front/backend.h"
#include "tests/model/ref_row.h"
#include "tests/model/ref_store.h"

struct ref_family { /* the rows of one family, by key ascending */
	struct ref_row **rows;
	size_t n, cap;
};

struct ref_table {
	struct table base;
	char name[TABLE_NAME_LEN_MAX + 1];
	bool dropped;
	uint64_t schema_version;
	struct schema schema;
	struct ref_family *families; /* in the schema's order */
};

struct ref_store {
	struct store base;
	int64_t (*now)(void);
	bool threadsafe;
	pthread_mutex_t lock; /* guards all that follows */
	uint64_t last_seq, next_table;
	size_t ntables, nsnapshots;
	struct ref_table **tables; /* by name ascending */
	size_t nnamed;
	struct ref_named *named; /* by table, then by name */
	enum ref_plant plant;
	bool as_hbase;
	int64_t hints[REF_HINTS_MAX];
	size_t nhints;
};

struct ref_named {	/* a snapshot with a name */
	uint64_t table; /* 0 = the whole store */
	uint64_t seq;
	struct snapshot_info info;
	struct snapshot_tables tables;
};

struct ref_snapshot {
	struct snapshot base;
	uint64_t seq;
};

static inline struct ref_store *store_of(struct store *s)
{
	return (struct ref_store *)s;
}

static inline struct ref_table *table_of(struct table *t)
{
	return (struct ref_table *)t;
}

struct ref_store *ref_lock(struct store *s);
int ref_unlock(struct ref_store *rs, int r); /* gives @r back */
/* -ENOENT with its sentence if the table was dropped, else 0. */
int ref_gone(const struct ref_table *t);

/* A table without a name, of empty families. */
int ref_table_new(const struct schema *schema, struct ref_table **out);
/* Names it and takes it in. -EEXIST. */
int ref_table_insert(struct ref_store *rs, struct bytes name,
		     struct ref_table *t);
void ref_table_free(struct table *base);

/* The first row >= @key, or > if @after. */
size_t ref_rows_find(const struct ref_family *f, struct bytes key, bool after);
struct ref_row *ref_row_find(const struct ref_family *f, struct bytes key);
int ref_row_make(struct ref_family *f, struct bytes key, struct ref_row **out);

/* How the newest state of a family is looked at. */
struct ref_look ref_look_now(struct ref_table *t, size_t family);
/* ref_row_visible() with the planted fault. */
int ref_visible(struct ref_store *rs, const struct ref_row *row,
		const struct ref_look *look, struct ref_list *out);

/* ref_snapshot.c */
int ref_snapshot_take(struct store *s, struct snapshot **out);
void ref_snapshot_release(struct snapshot *snap);
int ref_snapshot_create(struct store *s, struct table *t, struct bytes name);
int ref_snapshot_drop(struct store *s, struct table *t, struct bytes name);
int ref_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			struct bytes to);
int ref_snapshot_next(struct store *s, struct table *t, struct bytes after,
		      struct snapshot_info *out);
int ref_snapshot_open(struct store *s, struct table *t, struct bytes name,
		      struct snapshot **out);
int ref_snapshot_clone(struct snapshot *snap, const struct snapshot_table *from,
		       struct bytes to);
int ref_snapshot_restore(struct snapshot *snap,
			 const struct snapshot_table *from);
void ref_snapshots_free(struct ref_store *rs);
/* Does a named one show the table, and (unless NULL) its family? */
bool ref_is_shown(const struct ref_store *rs, uint64_t table,
		  const char *family);

int ref_mutate(struct table *base, struct mutation *m, unsigned flags);
int ref_mutate_many(struct table *base, struct mutation *m, size_t n,
		    unsigned flags, size_t *done);

int ref_scan_open(struct table *base, const struct scan_spec *spec,
		  struct scan **out);
int ref_scan_next(struct scan *sc, struct cell *out, size_t n);
void ref_scan_close(struct scan *sc);
int ref_get(struct table *base, struct bytes row, struct bytes family,
	    struct bytes qualifier, int64_t ts, bool exact,
	    const struct snapshot *snap, struct cell *cell, struct buf *hold);

#endif
