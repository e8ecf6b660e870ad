/*
 * What a wide-column store is.
 *
 * Tables of rows of families of columns of versions; one row is changed at a
 * time, atomically; a range is read in order at a granularity. These functions
 * check their arguments and count, then call a backend through a small
 * vtable (backend.h): store/lsm is the embedded engine.
 *
 *	fs, tools ──▶ store.h ──▶ backend.h ──▶ lsm/  (files)
 *
 * Returns are read(2)'s: negative errno = could not (store_why() says it in
 * words), 0 = none, end or done, 1 = here it is. Absent is never an error.
 *	-EINVAL	 an argument breaks a rule of the data model
 *	-ENOENT	 the table does not exist (any more)
 *	-EPERM	 undeclared family of a fixed table, store opened read-only
 *	-EROFS	 the store takes no more writes after a failed write or sync
 *	-EUCLEAN damaged bytes on disk, or a table file that is missing: what was
 *		 asked for may be in it. All else can be read and written.
 *
 * Threads: every function may be called from any thread, but one scan belongs
 * to one thread at a time. What a scan hands out lasts until its next call.
 */
#ifndef CELLFS_STORE_STORE_H
#define CELLFS_STORE_STORE_H

#include "store/value/cell.h"
#include "store/value/schema.h"
#include "store/value/why.h"

struct store;
struct table;
struct scan;
struct snapshot;
struct os;

/* The defaults of the sizes in store_options, in bytes. */
#define STORE_CACHE_BYTES (256u << 20)
#define STORE_WRITE_BUFFER_BYTES (64u << 20)

enum store_news {
	STORE_NEWS_FAILED, /* the store takes no more writes; told once */
	STORE_NEWS_FULL,   /* no space: the store takes deletes only */
	STORE_NEWS_ROOM,   /* there is space: the store takes puts again */
	/* About flush and merge; told when the state changes: */
	STORE_NEWS_STUCK,   /* flush or merge fails and is retried */
	STORE_NEWS_DONE,    /* flush and merge work again */
	STORE_NEWS_DAMAGED, /* a table file is damaged; told once a file */
};

struct store_options {
	bool create;	/* make the directory and an empty store if absent */
	bool no_delete; /* refuse to hide visible cells: -EPERM (guard.h) */
	bool read_only; /* nothing on disk changes, recovery included */
	/*
	 * How long to wait while another process has the store open: it may be
	 * about to end. 0 = do not wait.
	 */
	unsigned wait_ms;
	/* Take a directory that others own or may write, and what is in it. */
	bool insecure;
	bool sync; /* every mutation is on disk before it returns */
	/* How long a call may try to reach a cluster; 0 = a minute. */
	uint32_t timeout_ms;
	size_t cache_bytes;	   /* block cache; 0 = the default */
	size_t write_buffer_bytes; /* unflushed cells; 0 = the default */
	/*
	 * Bytes a second that flush and compaction write together, while it can
	 * be helped: compaction waits for it, a flush does not, for which writers
	 * may wait. 0 = as fast as it goes.
	 */
	uint64_t background_bytes_s;
	/*
	 * Start no threads: flush and compaction run only when asked for. For
	 * tests that must be deterministic.
	 */
	bool inline_background;
	/*
	 * Called when the store's state changes, with a sentence for people.
	 * Any thread calls it, perhaps with locks held, so it must not call
	 * functions of a store.
	 */
	void (*news)(void *arg, enum store_news what, const char *sentence);
	void *news_arg;
	struct os *os; /* the operating system; NULL = the real one */
	/* Sizes for tests that want many small files; 0 = the default. */
	size_t wal_segment_bytes, table_file_bytes, wal_ring_bytes;
	/*
	 * How many hidden cells a read skips before it looks up what earlier
	 * reads learned about them. Tests with few cells set it; 0 = the
	 * default.
	 */
	unsigned patience;
};

/*
 * What not every store can. A call for what a store cannot is refused:
 * -EOPNOTSUPP, in the words of store_ability().
 */
enum store_ability {
	CAN_SHOW_PAST,	     /* scan_spec.has_as_of */
	CAN_VIEW_NOW,	     /* snapshot_take() */
	CAN_SNAPSHOT_ALL,    /* store_snapshot_create() without a table */
	CAN_RENAME_SNAPSHOT, /* store_snapshot_rename() */
	CAN_RENAME_TABLE,    /* store_table_rename() */
	CAN_TELL_INFO,	     /* table_info() */
	CAN_TELL_SPACE,	     /* store_space() */
	CAN_KEEP,	     /* store_keep() */
	CAN_QUOTA,	     /* schema.quota */
	/* Refused is nothing of this: the field does not say all. */
	CAN_TELL_SEQUENCE, /* cell.seq */
	STORE_ABILITIES
};
bool store_can(const struct store *s, enum store_ability a);
/* The words behind "this store cannot". */
const char *store_ability(enum store_ability a);

/* The wait_ms of programs that a person starts by hand. */
#define STORE_WAIT_MS 3000

/*
 * Opens the store in directory @path. It is its caller's alone, or with
 * read_only shared by all who read only. -EBUSY names the pid that holds it,
 * -ENOENT when it is absent and !create, -EPROTONOSUPPORT for a newer format
 * (nothing is touched), -EROFS for a backup (hold.h) without read_only,
 * -ENOTDIR, -ENOTEMPTY for a directory that holds something else, -EINVAL for a new
 * one among the files of another (store_check_place()), -EPERM for one
 * that is not this user's alone (but root may open another's), or with a file that
 * has a second name and is no table file of its owner's: see insecure.
 */
int store_open(const char *path, const struct store_options *o,
	       struct store **out);
/*
 * Is it a directory that the path names? Else it is hbase://HOST[:PORT],..., a
 * cluster of HBase: of its servers the masters.
 */
bool store_is_directory(const char *path);
/*
 * Is a cluster named as it should be? 0, of a directory too, or -EINVAL or
 * -ENAMETOOLONG in words. Nobody is asked.
 */
int store_check_name(const char *path);
/*
 * May something that is no part of a store be made at @path, in which nothing needs to
 * be yet: a new store, a backup, a mountpoint? 0, or -EINVAL in words: the directory is
 * that of a store or of a backup, or is in one, and whoever removes that removes both.
 * A directory counts that is the caller's own (root: anybody's) and in which nobody else
 * may write, since there anybody could put what looks like a store.
 */
int store_check_place(const char *path);
/*
 * The same for a store that store_open() would make at @path. 0 where something is
 * there: then store_open() says whether it is one.
 */
int store_check_new(const char *path);
/* 0: all acknowledged changes are on disk. Frees @s even on failure. */
int store_close(struct store *s);

/* Gives a reference, which stays valid over renames of the table. -ENOENT. */
int table_open(struct store *s, struct bytes name, struct table **out);
void table_ref(struct table *t);
void table_unref(struct table *t); /* @t may be NULL */
/* The id is unique in the store and never reused. */
uint64_t table_id(const struct table *t);
/* Copies the present schema; free with schema_free(). -ENOENT if dropped. */
int table_schema(struct table *t, struct schema *out);
/* Grows by one with every change of the schema; cheap to ask. */
uint64_t table_schema_version(const struct table *t);
/* Copies the present name, NUL-terminated. -ENOENT if dropped. */
int table_name(struct table *t, char name[TABLE_NAME_LEN_MAX + 1]);

/* The changes of tables below are durable when the function returns 0. */
/* @schema NULL = open, without families. -EEXIST, -EINVAL. */
int store_table_create(struct store *s, struct bytes name,
		       const struct schema *schema);
/*
 * Drops the table and its cells. With @only_if_empty a table that has a visible
 * cell is refused: -ENOTEMPTY.
 */
int store_table_drop(struct store *s, struct bytes name, bool only_if_empty);
/*
 * Puts a table into service, or out of it, where nobody reads or changes it (-EBUSY).
 * 1; 0: in such a store each table is in service.
 */
int table_enable(struct table *t, bool on);
/* 1 if the table is in service, else 0. */
int table_is_enabled(struct table *t);
/*
 * All cells go, at once and for good; the schema and the identity stay. As
 * store_table_drop() with a snapshot.
 */
int store_table_truncate(struct store *s, struct bytes name);
/* -EEXIST when @to is taken. */
int store_table_rename(struct store *s, struct bytes from, struct bytes to);
/*
 * Replaces the schema. Families may come and change; one that goes away and
 * holds a visible cell is -EBUSY unless @drop_data.
 */
int table_alter(struct table *t, const struct schema *schema, bool drop_data);
/*
 * The same, with more to say of the families that go. One that a snapshot
 * shows stays where it may (ALTER_KEEP), else it is -EBUSY. -EAGAIN when the
 * schema is not the one any more that @a is made of.
 */
int table_change(struct table *t, const struct alter *a);
/*
 * Changes the schema by what @edit makes of it: *a is zeroed, and is freed
 * whatever @edit returns. Who changes the schema meanwhile loses nothing by
 * that: @edit is called again, with the schema that is there by then. An error
 * of @edit's ends it.
 */
int table_edit(struct table *t,
	       int (*edit)(void *arg, const struct schema *now,
			   struct alter *a),
	       void *arg);
/* Declares one family with defaults. -EEXIST, -EPERM if the table is fixed. */
int table_add_family(struct table *t, struct bytes family);
/*
 * Namespaces, the part of a table's name before a ':'. A table is made in, or
 * renamed into, one that exists. -EEXIST; -ENOENT; -ENOTEMPTY while it holds a
 * table; -EINVAL for "default" and "hbase", which are always there.
 */
int store_namespace_create(struct store *s, struct bytes name);
/* Makes the namespace in a table's name, if there is one and it is missing. */
int store_namespace_ensure(struct store *s, struct bytes table);
int store_namespace_drop(struct store *s, struct bytes name);
/* As store_table_next(). */
int store_namespace_next(struct store *s, struct bytes after,
			 char name[TABLE_NAME_LEN_MAX + 1]);
/*
 * Names in byte order: the first one > @after (empty = from the start), copied
 * to @name. 1, or 0 at the end.
 */
int store_table_next(struct store *s, struct bytes after,
		     char name[TABLE_NAME_LEN_MAX + 1]);

enum {
	MUTATE_SYNC = 1, /* the mutation is on disk when the call returns */
	/* table_writable() was asked before: what is kept back serves it. */
	MUTATE_ADMITTED = 2,
};

/*
 * Applies one mutation. 1 = applied; 0 = a check did not hold, nothing was
 * changed. After 1 it survives the death of the process. -EFBIG for a value
 * over the family's max_value, -EPERM for an undeclared family, -EINVAL for a
 * counter that is not 8 bytes.
 */
int table_mutate(struct table *t, struct mutation *m, unsigned flags);
/*
 * Would a put be taken now? 0, or -EROFS, or -ENOSPC while what is left of the
 * disk is kept for deletes, or the table is over its quota. For who cannot tell anybody later that the put was
 * refused: one that is admitted here finds room, unless the disk fails.
 */
int table_writable(struct table *t);
/*
 * Applies @n mutations without checks in order, each row atomic. 0; on failure
 * those before the failing one may be applied; *done says how many.
 */
int table_mutate_many(struct table *t, struct mutation *m, size_t n,
		      unsigned flags, size_t *done);
/*
 * What table_mutate() would give now, with nothing changed: for who is to say
 * what is wrong before the mutation is whole. 1 where it cannot be told. Sets
 * what the store sets in a change.
 */
int table_mutate_try(struct table *t, struct mutation *m);
/* Everything acknowledged so far is on disk when it returns 0. */
int store_sync(struct store *s);

enum scan_granularity {
	SCAN_ROWS,     /* each row that has a visible cell: sets row */
	SCAN_FAMILIES, /* row, family */
	SCAN_COLUMNS,  /* row, family, qualifier; ts, value of the newest */
	SCAN_CELLS,    /* every version that is asked for */
};

struct column_name {
	struct bytes family;
	struct bytes qualifier;
	bool whole_family; /* all columns: the qualifier is ignored */
};

/* A time range for one family instead of the scan's. */
struct family_range {
	struct bytes family;
	int64_t ts_min, ts_max; /* as in struct scan_spec */
};

struct filter; /* filter.h */

/*
 * Which part of a table a scan reads. A zeroed spec reads everything, at the
 * granularity SCAN_ROWS. Its pointers need to be valid during the call only.
 */
struct scan_spec {
	uint8_t granularity;
	bool reversed; /* rows descending; within a row the order stays */
	bool raw;      /* all stored versions and markers, nothing hidden */
	/*
	 * With raw: also what was written again later at the same coordinates,
	 * which may have pushed out or hidden others. HBase tells none of it.
	 */
	bool replaced;
	bool keys_only; /* value.data stays NULL, value.len is exact */
	/* Rows: from row_start (or beyond it) up to row_stop; empty = open. */
	struct bytes row_start, row_stop;
	bool row_start_exclusive; /* default: inclusive */
	bool row_stop_inclusive;  /* default: exclusive */
	/*
	 * Qualifiers, for every family of the scan: from qual_start (or
	 * beyond it) before qual_stop. has_ tells empty from absent.
	 */
	bool has_qual_start, qual_start_exclusive, has_qual_stop;
	bool qual_stop_inclusive;
	struct bytes qual_start, qual_stop;
	/* Columns; none = all. Need not be sorted. */
	const struct column_name *columns;
	size_t ncolumns;
	/* Timestamps ts_min <= ts < ts_max; ts_max 0 = no upper bound. */
	int64_t ts_min, ts_max;
	/* Newest versions a column; 0 = all that the family keeps. */
	uint32_t versions;
	/*
	 * The table as of a moment: what is written with a greater timestamp,
	 * delete markers too, does not count, and of each column the newest
	 * version is shown. It is exact while the disk holds what was pushed
	 * out or deleted since then; scan_open() gives -ENODATA where that,
	 * or what has expired, is gone from the rows. Of a column where too
	 * many versions came since then to tell, the result is a CELL_LOST,
	 * and so is a family or row of which nothing else can be told. Not
	 * with raw or a filter.
	 */
	bool has_as_of;
	int64_t as_of;
	const struct family_range *family_ranges;
	size_t nfamily_ranges;
	/* In each family of a row: skip offset results, give limit. */
	uint64_t family_limit, family_offset; /* 0 = all; 0 */
	/*
	 * Is asked for each result that all this leaves; needs SCAN_CELLS or
	 * SCAN_COLUMNS. Sees up to the family's `versions` of a column, and
	 * `versions` above is counted among those that it lets through. -ETIME
	 * from the scan when a pattern in it needs too many steps.
	 */
	const struct filter *filter;
	uint64_t limit_rows;		 /* 0 = none */
	const struct snapshot *snapshot; /* NULL = now */
};

/*
 * The scan sees the store as it is at this call, and needs no reference to the
 * table from then on. Families come in byte order inside a row. What is damaged
 * fails the scan where it is reached (-EUCLEAN), behind all that comes before it.
 */
int scan_open(struct table *t, const struct scan_spec *spec, struct scan **out);
/* 1 and *out, 0 at the end, or an error, which later calls repeat. */
int scan_next(struct scan *sc, struct cell *out);
/*
 * The same for up to @n (from 1 on) at a time: how many were found, 1 or more.
 * They last until the next call; what lies together comes together, so that
 * one who reads on has less than half of the cost.
 */
int scan_next_many(struct scan *sc, struct cell *out, size_t n);
/*
 * After -EUCLEAN: goes on behind the rows that cannot be read, of the one family
 * that the sentence names; what others have of these rows is still to come. 0,
 * or the error again if the scan cannot go on, as no reversed one can.
 */
int scan_pass(struct scan *sc);
void scan_close(struct scan *sc); /* @sc may be NULL */

/*
 * The newest visible version of a column with ts <= @ts_max (TS_MAX = newest
 * of all). 1 and *cell whose value lies in @hold and whose names are the
 * arguments, or 0. @hold may be NULL: then cell->value.data is NULL and its len
 * exact. If it is open (buf_share()), a long value may stay in memory of the store's,
 * which is then there as long as anybody holds it, whatever becomes of the store.
 */
int table_get(struct table *t, struct bytes row, struct bytes family,
	      struct bytes qualifier, int64_t ts_max,
	      const struct snapshot *snap, struct cell *cell, struct buf *hold);
/*
 * The version with exactly this timestamp, if a scan without a range of time shows it;
 * as table_get(). A range of one time would show more: what is over the number of
 * versions, or has been deleted where that is kept.
 */
int table_get_version(struct table *t, struct bytes row, struct bytes family,
		      struct bytes qualifier, int64_t ts,
		      const struct snapshot *snap, struct cell *cell,
		      struct buf *hold);
/* 1 if there is any visible cell under the name, else 0. */
int table_has_row(struct table *t, struct bytes row);
int table_has_family(struct table *t, struct bytes row, struct bytes family);

/* A view of the store as of now, in memory only, until released. O(1). */
int snapshot_take(struct store *s, struct snapshot **out);
void snapshot_release(struct snapshot *snap); /* @snap may be NULL */

/*
 * Snapshots that live in the store under a name, over restarts and crashes, of
 * one table or, with @t NULL, of all that exist at the moment. To take one
 * costs a sync, whatever the store holds; its cells stay on disk until it is
 * dropped. Names are 1 to SNAPSHOT_NAME_MAX bytes without NUL; each table and
 * the store have their own. What is changed is durable when it returns 0.
 *
 * A table with a snapshot cannot be dropped (-ENOTEMPTY), nor can a family
 * that a snapshot shows (-EBUSY). A family is shown by the attributes that it had
 * when the snapshot was taken, whatever it shows since; what expires by these is
 * gone from the snapshot too.
 */
#define SNAPSHOT_NAME_MAX 255

struct snapshot_info {
	char name[SNAPSHOT_NAME_MAX + 1];
	int64_t taken_ms;
};

/* -EEXIST. */
int store_snapshot_create(struct store *s, struct table *t, struct bytes name);
/*
 * A reader that has the snapshot open can go on reading. Compactions in the
 * background remove the data that only this snapshot needs. -ENOENT.
 */
int store_snapshot_drop(struct store *s, struct table *t, struct bytes name);
/* -ENOENT, -EEXIST when @to is taken. */
int store_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			  struct bytes to);
/*
 * Names in byte order: the first one > @after (empty = from the start). 1, or
 * 0 at the end.
 */
int store_snapshot_next(struct store *s, struct table *t, struct bytes after,
			struct snapshot_info *out);
/*
 * Opens a named snapshot for scan_spec.snapshot and table_get() on the tables
 * that it covers. Release it with snapshot_release(). -ENOENT.
 */
int store_snapshot_open(struct store *s, struct table *t, struct bytes name,
			struct snapshot **out);
/*
 * A new table @to of what a snapshot shows of a table: cells, markers and
 * schema of then. The two have nothing in common from then on; the snapshot
 * may go. @shown: the name that the table had then, or empty if the snapshot is
 * of one. Costs the copying of all its cells. -ENOENT, -EEXIST when @to is
 * taken, -EINVAL.
 */
int store_snapshot_clone(struct store *s, struct table *t, struct bytes name,
			 struct bytes shown, struct bytes to);
/*
 * Puts a table back to what a snapshot shows of it, cells and schema; what was
 * written since is gone. It keeps its identity, its present name and the
 * snapshot. -EBUSY when a later snapshot shows it. Costs as
 * store_snapshot_clone().
 */
int store_snapshot_restore(struct store *s, struct table *t, struct bytes name,
			   struct bytes shown);
/* When a named snapshot was taken. */
int64_t snapshot_taken_ms(const struct snapshot *snap);
/*
 * As store_table_next(), for the tables that a named snapshot covers, by their
 * names at the time of the snapshot.
 */
int snapshot_table_next(const struct snapshot *snap, struct bytes after,
			char name[TABLE_NAME_LEN_MAX + 1]);
/* Opens the table that had this name in the snapshot. -ENOENT. */
int snapshot_table_open(const struct snapshot *snap, struct bytes name,
			struct table **out);
/*
 * Promises that only @t is read through the snapshot, which frees its data on
 * other tables. To be called before other threads see the snapshot.
 */
void snapshot_keep(struct snapshot *snap, const struct table *t);
/* Copies the table's schema in the snapshot; schema_free() it. -ENOENT. */
int snapshot_schema(const struct snapshot *snap, const struct table *t,
		    struct schema *out);

/*
 * Memory to files. Returns when it is done. For a table @t whose families are
 * in the classic order (new_version_behavior no) it is HBase's flush, which
 * drops versions beyond `versions`; @t NULL changes no answer.
 */
int store_flush(struct store *s, struct table *t);
/* Merges everything into the last level, which removes hidden cells. */
int store_compact(struct store *s, struct table *t);

/*
 * Gives the @i-th figure, from 0: returns 1, or 0 after the last one. Names are
 * static strings in Prometheus style (snake_case, unit last, "_total" for
 * counters), but that time is in nanoseconds (_ns). A name may end in a label,
 * as in level_bytes{level="1"}; figures of one name follow each other.
 */
struct store_stat {
	const char *name;
	const char *help;
	bool counter;
	uint64_t value;
};
int store_stat(struct store *s, unsigned i, struct store_stat *out);

/*
 * From now on calls are timed by the clock @now_ns (nanoseconds), and counted by
 * table, for the two functions below: for a program that somebody watches, before
 * it has other threads. A second call changes nothing. -ENOMEM.
 */
int store_watch(struct store *s, uint64_t (*now_ns)(void));
/*
 * Gives the @i-th kind of call, from 0: its name, which is static, and how long
 * such calls took (front/latency.h); of the steps of a scan one in sixteen is in
 * it. 1, or 0 after the last one or when none are timed.
 */
struct latency;
int store_call_times(const struct store *s, unsigned i, const char **name,
		     struct latency *out);
struct table_calls {
	uint64_t reads;	 /* gets, and scans that were opened */
	uint64_t writes; /* mutations that were applied */
};
void table_calls(struct table *t, struct table_calls *out);

/*
 * The shape of a store, for pictures: what there is of it and where, told without
 * reading a cell, and which rows were read and written lately.
 */
enum shape_kind {
	SHAPE_NOW,    /* the first: now in ms; since when calls are noted, or 0;
			 whether files are told */
	SHAPE_TABLE,  /* table, name */
	SHAPE_FILE,   /* table, name of the family, first row, last row: number,
			 level, bytes, entries, oldest and newest timestamp */
	SHAPE_OTHERS, /* files beyond those: how many, their bytes */
	SHAPE_PART,   /* table, row: bytes of a file from there on */
	SHAPE_MEMORY, /* table: entries of a family that are in no file yet */
	SHAPE_DAY,    /* days since 1970; bytes of cells with such timestamps */
	SHAPE_CALL,   /* table, row: minute in ms, 1 for a write, for how many
			 calls it stands * SHAPE_WEIGHT */
	SHAPE_KINDS
};
#define SHAPE_WEIGHT 256

struct shape_item {
	uint8_t kind;
	uint64_t table;		/* its id */
	struct bytes name;	/* of the table, or of the family */
	struct bytes row, last; /* of long rows the beginning */
	uint64_t n[6];
};

/* Appends the shape to @out, some megabytes at most whatever is stored. */
int store_shape(struct store *s, struct buf *out);
/*
 * Takes the next item from *rest, which it borrows: 1, 0 at the end, or -EPROTO.
 * Tables come before what is of them.
 */
int store_shape_next(struct bytes *rest, struct shape_item *out);
/*
 * From now on calls are noted, of some a sample: in 3 MB of memory at most, the
 * last four hours. Before other threads use the store.
 */
int store_heat(struct store *s);

/*
 * What a table holds, told without reading it: from what its files and the
 * memory say of themselves. There a cell counts that is hidden or expired, a
 * row once for each file that has it, and no time is older than a delete of a
 * column. So unless @exact they are estimates, and the times are bounds. A
 * table of at most TABLE_INFO_COUNTED entries is counted instead.
 */
#define TABLE_INFO_COUNTED 1000

struct table_info {
	bool exact;		/* the next four fields are no estimates */
	uint64_t rows, cells;	/* visible ones */
	int64_t oldest, newest; /* timestamps, if there are cells */
	uint64_t entries;      /* stored: hidden cells and delete markers too */
	uint64_t bytes, files; /* table files; tables share the log */
	uint64_t damaged;      /* of the files: something cannot be read */
	bool has_ttl; /* a cell may have its own ttl; false is certain */
};
int table_info(struct table *t, struct table_info *out);
/* 1 if has_ttl, or where nothing is told; else 0. Reads no cell. */
int table_has_ttl(struct table *t);

/* Bytes of the filesystem that holds the store. */
struct store_space {
	uint64_t total_bytes, free_bytes, avail_bytes;
};
int store_space(struct store *s, struct store_space *out);
/*
 * Bytes that are no data and are to be kept for people: they become the file
 * @name, of mode 0600, in lost+found beside the store's own files, and are on
 * disk when it returns 0. A store that takes no more writes keeps them too.
 * -EINVAL for a name with '/' or NUL, or that begins with '.'; -EEXIST.
 */
int store_keep(struct store *s, struct bytes name, struct bytes content);
/* 0, or the errno that made the store refuse writes (store_why() says it). */
int store_health(struct store *s);
bool store_is_read_only(const struct store *s);
/* Do others change it too, of whose changes this program is not told? */
bool store_is_shared(const struct store *s);
/* 0, or -EPERM if the store was opened with no_delete. */
int store_may_delete(const struct store *s);
/* The store's clock: milliseconds since 1970. */
int64_t store_now_ms(struct store *s);

/*
 * Verifies a store at rest: every checksum, order, reference. Waits for one
 * who has it, as programs do. Calls @say for
 * each finding. Returns the number of faults found, or negative when it could
 * not look.
 */
int store_check(const char *path, struct os *os,
		void (*say)(void *arg, const char *sentence), void *arg);

/* Where a check of a store in use has come to; begins zeroed. */
struct store_checking {
	uint64_t file, block, until; /* where to go on */
	uint64_t done, total;	     /* bytes of table files and kept log */
};

/*
 * The same for a store that is open, a part of about @bytes at a time: its
 * catalog, its table files and the segments of its log that are kept
 * (store_keep_log()); the log itself is verified at rest. 1: there is more; 0:
 * done. -EOPNOTSUPP: the store is HBase's.
 */
int store_check_part(struct store *s, struct store_checking *at, uint64_t bytes,
		     void (*say)(void *arg, const char *sentence), void *arg);

/* What store_repair() tells. */
enum store_rescue_kind {
	RESCUE_NOTE,   /* a sentence: reason */
	RESCUE_LOST,   /* a part of a file that cannot be read */
	RESCUE_FAMILY, /* a family is done: rows and cells, hidden ones too */
};

struct store_rescue {
	enum store_rescue_kind kind;
	const char *table, *family; /* NULL: of the log, any of them */
	const char *file;
	uint64_t offset, bytes; /* in the file; bytes 0 = not known */
	/* What it held is in these rows, both included; empty = no bound. */
	struct bytes from, to;
	uint64_t rows, cells;
	const char *reason;
};

/*
 * Makes the new store @dest of all that can be read of the store at @path, which
 * need not open: it is read only, and at rest as for store_check(). Tables, cells
 * with hidden ones and markers, and snapshots are as they were, but for what
 * @tell is told as lost. Returns how many parts of files are lost, or negative,
 * and then what is in @dest is to be removed. -EEXIST: there is something at
 * @dest.
 */
int store_repair(const char *path, const char *dest, struct os *os,
		 void (*tell)(void *arg, const struct store_rescue *news),
		 void *arg);

#endif
