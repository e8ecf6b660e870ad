/*
 * What the modules of this room share.
 */
#ifndef CELLFS_STORE_HBASE_BACKEND_INSIDE_H
#define CELLFS_STORE_HBASE_BACKEND_INSIDE_H

#include "store/front/backend.h"
#include "store/hbase/backend/clones.h"
#include "store/hbase/cluster/cluster.h"
#include "store/hbase/master/descriptor.h"
#include "store/hbase/master/names.h"

struct hbase_store {
	struct store base;
	struct os *os;
	struct cluster *cluster;
	bool sync;
	struct clones clones;
	struct names tables, namespaces;
};

/* A schema is believed for so long, and so long where no master answers. */
#define SCHEMA_SECONDS 1
#define SCHEMA_SECONDS_ALONE 5
/* Of so many families it is known for as long that the user may put into them. */
#define PUTS_KNOWN 16

struct hbase_table {
	struct table base;
	char name[TABLE_NAME_LEN_MAX + 1];
	pthread_mutex_t
		lock; /* guards what follows; not held while it is read */
	struct schema schema;
	struct table_traits traits;
	bool is_gone; /* when it was read last */
	/* Version 0: nothing was read yet. */
	uint64_t version;
	uint64_t
		until_ns; /* believed so long; 0 = to be read before it is used */
	/* Reads have numbers, by which a late answer replaces none that began later. */
	uint64_t reads, known;
	/* Families, by their hash, that the user may put into: believed so long. */
	struct {
		uint64_t family, until_ns;
	} puts[PUTS_KNOWN];
};

static inline struct hbase_store *hbase_of(struct store *s)
{
	return (struct hbase_store *)s;
}

static inline struct hbase_table *table_of(const struct table *t)
{
	return (struct hbase_table *)(uintptr_t)t;
}

static inline struct cluster *cluster_of(struct table *t)
{
	return hbase_of(t->store)->cluster;
}

static inline struct bytes name_of(struct table *t)
{
	return bytes_str(table_of(t)->name);
}

/* A family's attributes: 1, 0 = the table has no such family, or an error. */
int hbase_family(struct table *t, struct bytes family,
		 struct family_attrs *out);

/*
 * Are there references among what filters of the servers are shown? Then lengths
 * and comparisons of values are not theirs to tell. 1, 0, or an error.
 */
int hbase_has_mob(struct table *t);

/* tables.c */
int hbase_table_open(struct store *s, struct bytes name, struct table **out);
/* That of a clone too. */
int hbase_table_open_any(struct store *s, struct bytes name,
			 struct table **out);
/* -EINVAL: the name is for clones. */
int hbase_no_such_name(struct bytes name);
int hbase_table_open_id(struct store *s, uint64_t id, struct table **out);
void hbase_table_free(struct table *t);
int hbase_table_schema(struct table *t, struct schema *out);
uint64_t hbase_schema_version(const struct table *t);
int hbase_table_name(struct table *t, char *name);
int hbase_writable(struct table *t);
int hbase_table_create(struct store *s, struct bytes name,
		       const struct schema *schema);
int hbase_table_drop(struct store *s, struct bytes name, bool only_if_empty);
int hbase_table_enable(struct table *t, bool on);
int hbase_table_is_enabled(struct table *t);
int hbase_table_truncate(struct store *s, struct bytes name);
int hbase_table_alter(struct table *t, const struct alter *a);
int hbase_table_next(struct store *s, struct bytes after, char *name);
int hbase_flush(struct store *s, struct table *t);
int hbase_compact(struct store *s, struct table *t);
int hbase_namespace_create(struct store *s, struct bytes name);
int hbase_namespace_drop(struct store *s, struct bytes name);
int hbase_namespace_next(struct store *s, struct bytes after, char *name);

/* snapshots.c */
int hbase_snapshot_create(struct store *s, struct table *t, struct bytes name);
int hbase_snapshot_drop(struct store *s, struct table *t, struct bytes name);
int hbase_snapshot_next(struct store *s, struct table *t, struct bytes after,
			struct snapshot_info *out);
int hbase_snapshot_open(struct store *s, struct table *t, struct bytes name,
			struct snapshot **out);
void hbase_snapshot_release(struct snapshot *snap);
int hbase_snapshot_schema(const struct snapshot *snap, const struct table *t,
			  struct schema *out);
int hbase_snapshot_clone(struct snapshot *snap,
			 const struct snapshot_table *from, struct bytes to);
int hbase_snapshot_restore(struct snapshot *snap,
			   const struct snapshot_table *from);
/* 1 if the table has some, 0, or an error. */
int hbase_has_snapshots(struct store *s, struct bytes table);
/*
 * Sets *t to the table that shows what the snapshot shows of it, which lasts as
 * long as the snapshot. @snap NULL leaves it.
 */
int hbase_shown(const struct snapshot *snap, struct table **t);

/* read.c */
/* HBase does not send its sequence: what tells two versions apart is in its place. */
void hbase_mark(struct cell *c);
/* The value that was replaced by its length, in 4 bytes. */
struct bytes hbase_length(struct bytes value);
int hbase_get(struct table *t, struct bytes row, struct bytes family,
	      struct bytes qualifier, int64_t ts, bool exact,
	      const struct snapshot *snap, struct cell *cell, struct buf *hold);
/*
 * The timestamp of a column's @nth visible version, from 0 for the newest, or
 * with @whole of the newest cell of the family; with @raw markers count. 1 and
 * *ts, 0, or an error.
 */
int hbase_newest(struct table *t, struct bytes row, struct bytes family,
		 struct bytes qualifier, bool whole, bool raw, uint32_t nth,
		 int64_t *ts);

/* Is the change a put whose timestamp is to be above that of all versions? */
static inline bool change_asks_newest(const struct change *c)
{
	return c->op == CHANGE_PUT && c->ts == TS_AUTO;
}
#define NEWEST_UNASKED (-2)
/*
 * What the timestamps of these puts are to be above, asked for together: *out, which
 * its caller frees, has it for each change of the @n mutations, one behind the other:
 * -1 where nothing is there, and NEWEST_UNASKED for other changes. NULL: there are
 * less than two such puts.
 */
int hbase_newest_many(struct table *t, const struct mutation *m, size_t n,
		      int64_t **out);

/* past.c: 0, or why a scan cannot show the moment that it asks for. */
int hbase_past(struct table *t, const struct scan_spec *spec);

/* scan.c */
int hbase_scan_open(struct table *t, const struct scan_spec *spec,
		    struct scan **out);
int hbase_scan_next(struct scan *sc, struct cell *out, size_t n);
void hbase_scan_close(struct scan *sc);

/* write.c */
int hbase_mutate(struct table *t, struct mutation *m, unsigned flags);
/* Looks at what can be known before: families, lengths, rights, the end of time. */
int hbase_mutate_try(struct table *t, struct mutation *m);
/* Do the servers let this user put into the change's column? 0, or why not. */
int hbase_may_put(struct table *t, struct bytes row, const struct change *c);
int hbase_mutate_many(struct table *t, struct mutation *m, size_t n,
		      unsigned flags, size_t *done);

/* markers.c */
#define MARKER_CLEARED 0xff
/*
 * Sets the op of those that say nothing beside the others of the mutation, whose
 * timestamps are in ts, to MARKER_CLEARED. 0; -EOPNOTSUPP for those that a
 * server takes otherwise; or another error.
 */
int hbase_clear_markers(struct table *t, struct change *changes, size_t n);

/* resolve.c */
struct row_actions;
/*
 * Sets ts_given of all changes, and adds them to @out. @newest is what
 * hbase_newest_many() has for them, or NULL. *guard is the column
 * and moment from which on nothing may be there when they are applied; its op
 * is CHECKS for none.
 */
int resolve_changes(struct table *t, struct mutation *m, int64_t checked,
		    const int64_t *newest, struct row_actions *out,
		    struct check *guard);
/*
 * Do the checks hold now? 1, 0, or an error. *checked is the newest timestamp
 * of the values that were compared, which a put behind the check is not to be
 * hidden by; 0 for none.
 */
int resolve_checks(struct table *t, const struct mutation *m, int64_t *checked);

#endif
