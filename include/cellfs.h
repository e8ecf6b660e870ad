/*
 * libcellfs: a wide-column store in a directory, inside your program.
 *
 * A store holds tables, a table has rows, a row has column families, a family
 * has columns, which qualifiers name, and a column has versions, each with a
 * timestamp:
 *
 *	<table, row, family, qualifier, timestamp> -> value
 *
 * The data model and its semantics are those of Apache HBase (and Bigtable):
 * what a delete hides, how many versions a family keeps, what its ttl means,
 * what a filter lets through. The file store/hbase-differences.md of the source
 * lists the differences. There is no server: the store is one directory.
 *
 * Order: rows, families and qualifiers are any bytes, NUL included. They
 * compare as unsigned bytes, and a proper prefix comes first. A scan gives rows
 * in ascending order; within a row, families and qualifiers ascend; within a
 * column, the newest version comes first, and a delete marker comes before a
 * put of the same timestamp.
 *
 * Returns are those of read(2): a negative errno when the call failed, 0 for
 * done, none or end, 1 for "here it is". What is absent is never an error.
 * cellfs_error() has the sentence for people behind the last failure of the
 * calling thread. Beside the errors that a declaration names, a call may fail
 * with
 *	-EINVAL	 an argument breaks a rule of the data model
 *	-ENAMETOOLONG the name of a table or namespace is too long
 *	-ENOENT	 the table does not exist, or was dropped meanwhile
 *	-EPERM	 the store is open with read_only or no_delete, or its directory
 *		 is not this user's alone
 *	-EROFS	 the store takes no more writes, since a write or a sync of its
 *		 log failed; close it and open it again
 *	-ENOSPC	 the disk is full, or the table has more than its quota: deletes
 *		 are taken, puts are not
 *	-EUCLEAN bytes on disk are damaged, where the answer may be
 *	-ENOMEM, -EIO and others of the operating system
 *
 * Threads: all functions may be called from any thread at the same time, but
 * one scan belongs to one thread at a time, and cellfs_close() is the last call
 * for its store. A store that is open starts threads of its own, which flush
 * and merge. A process that forks must not use the store in the child, which
 * keeps it from others while it lives, unless the parent calls cellfs_close().
 *
 * Ownership: the library copies what it is given before a call returns, so
 * arguments need to live during the call only. Who opens a handle closes it.
 * Scans, tables and snapshots are closed before their store, in any order: a
 * scan needs neither its table nor its snapshot any more. A function that
 * closes takes NULL. An `out` argument is not written when the call fails. A
 * table or snapshot of another store is -EINVAL.
 *
 * Units: sizes are bytes. Timestamps are milliseconds since 1970, from 0 to
 * CELLFS_TS_MAX.
 *
 * Signals: files are mapped, and a file that is cut short by others is SIGBUS.
 * While a store is open, its handler of SIGBUS turns that into an error; for
 * any other SIGBUS it does what the handler would have done that was set before.
 */
#ifndef CELLFS_H
#define CELLFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CELLFS_API __attribute__((visibility("default")))
#else
#define CELLFS_API
#endif

/* The version of this header. */
#define CELLFS_VERSION "0.1.0"
#define CELLFS_VERSION_MAJOR 0
#define CELLFS_VERSION_MINOR 1
#define CELLFS_VERSION_PATCH 0

/* The version of the library that runs, in the form of CELLFS_VERSION. */
CELLFS_API const char *cellfs_version(void);

/*
 * The sentence behind the last failed call of the calling thread: what failed,
 * where, and what to do. It lasts until the thread's next call. Never NULL; the
 * empty string when nothing failed.
 */
CELLFS_API const char *cellfs_error(void);

/* Values. */

#define CELLFS_TS_MAX (INT64_MAX - 2)
#define CELLFS_ROW_MAX 32767
#define CELLFS_FAMILY_MAX 127
#define CELLFS_QUALIFIER_MAX 32767
/* A family's max_value (10 MiB at first) may be at most this. */
#define CELLFS_VALUE_MAX (256u << 20)
/* The room for a table's, namespace's or snapshot's name with its NUL. */
#define CELLFS_NAME_SIZE 256

/* Bytes that somebody else owns. */
struct cellfs_bytes {
	const void *data;
	size_t len;
};

static inline struct cellfs_bytes cellfs_bytes_of(const void *data, size_t len)
{
	struct cellfs_bytes b = {data, len};

	return b;
}

/* The bytes of a C string without its NUL. */
static inline struct cellfs_bytes cellfs_str(const char *s)
{
	return cellfs_bytes_of(s, strlen(s));
}

/*
 * Bytes that the caller owns, in memory that grows as needed and serves many
 * calls. A zeroed one is empty. Free it with cellfs_buffer_free(), which leaves
 * it empty, and takes NULL.
 */
struct cellfs_buffer {
	void *data;
	size_t len;
	size_t capacity;
};

CELLFS_API void cellfs_buffer_free(struct cellfs_buffer *b);

/* A timestamp, or none where @set is false. */
struct cellfs_time {
	int64_t ms;
	bool set;
};

static inline struct cellfs_time cellfs_ms(int64_t ms)
{
	struct cellfs_time t = {ms, true};

	return t;
}

/* One end of a range of keys; open where @set is false. */
struct cellfs_bound {
	struct cellfs_bytes at;
	bool inclusive;
	bool set;
};

static inline struct cellfs_bound cellfs_inclusive(struct cellfs_bytes at)
{
	struct cellfs_bound b = {at, true, true};

	return b;
}

static inline struct cellfs_bound cellfs_exclusive(struct cellfs_bytes at)
{
	struct cellfs_bound b = {at, false, true};

	return b;
}

/*
 * The bound that ends the keys which begin with @prefix, when the range begins
 * at cellfs_inclusive(prefix). @room holds prefix.len bytes, and the bound
 * borrows it. Open when no key lies behind (an empty prefix, or all bytes 255).
 */
CELLFS_API struct cellfs_bound cellfs_prefix_end(struct cellfs_bytes prefix,
						 void *room);

/* Kinds of cells, and of changes. The numbers of cells are HBase's. */
enum cellfs_kind {
	CELLFS_PUT = 4,
	CELLFS_DELETE_VERSION = 8, /* hides the version of one timestamp */
	CELLFS_DELETE_FAMILY_VERSION = 10, /* one timestamp, in all columns */
	CELLFS_DELETE_COLUMN = 12, /* hides the column up to its timestamp */
	CELLFS_DELETE_FAMILY = 14, /* hides the row's family up to it */
	/* Changes only: */
	CELLFS_DELETE_ROW = 32, /* a CELLFS_DELETE_FAMILY in each family */
	CELLFS_INCREMENT = 33,	/* adds to an 8-byte big-endian value */
	CELLFS_APPEND = 34,	/* puts the newest value with more behind it */
};

struct cellfs_cell {
	struct cellfs_bytes row;
	struct cellfs_bytes family;
	struct cellfs_bytes qualifier;
	int64_t ts_ms;
	uint64_t sequence; /* the store's count of changes when it was put */
	uint64_t ttl_ms;   /* the cell's own time to live; 0 = none */
	uint8_t kind;	   /* enum cellfs_kind; CELLFS_PUT unless raw */
	/* With keys_only, data is NULL and len exact. */
	struct cellfs_bytes value;
};

/* A store. */

struct cellfs;
struct cellfs_table;
struct cellfs_scan;
struct cellfs_snapshot;

enum cellfs_news {
	CELLFS_NEWS_FAILED,  /* the store takes no more writes; told once */
	CELLFS_NEWS_FULL,    /* the disk is full: deletes only */
	CELLFS_NEWS_ROOM,    /* there is space: puts are taken again */
	CELLFS_NEWS_STUCK,   /* a flush or merge failed and is tried again */
	CELLFS_NEWS_DONE,    /* flushes and merges succeed again */
	CELLFS_NEWS_DAMAGED, /* a file is damaged: told once for each */
};

/* A zeroed one opens an existing store to read and write. */
struct cellfs_options {
	/* Make the directory and an empty store if absent; not with read_only. */
	bool create;
	bool read_only; /* change nothing on disk; others may read as well */
	bool no_delete; /* refuse, by -EPERM, deletes and what else hides cells */
	bool sync;	/* each change is on disk when its call returns */
	bool insecure;	    /* take a directory that others own or may write */
	unsigned wait_ms;   /* how long to wait while another process has it */
	size_t cache_bytes; /* of the block cache; 0 = 256 MiB */
	size_t write_buffer_bytes; /* unflushed cells at most; 0 = 64 MiB */
	/*
	 * Is called when the store's state changes. @what is an enum
	 * cellfs_news, @sentence is for people. Any thread may call it, with
	 * locks held: it must not call functions of this library. @news_arg
	 * must live until cellfs_close() returns.
	 */
	void (*news)(void *arg, unsigned what, const char *sentence);
	void *news_arg;
};

/*
 * Opens the store in the directory @path, or the cluster that it names
 * (hbase://HOST, libcellfs(3)). A process that opens it to write has
 * it alone; those with read_only share it. @o NULL = a zeroed one. -ENOENT when
 * there is none and !create; -EBUSY when another process has it;
 * -EPERM when the directory is another user's (root may open it), when others
 * may write in it or a file in it has a hard link, unless insecure is set;
 * -EPROTONOSUPPORT when it is of another format; -ENOTDIR; -ENOTEMPTY when the
 * directory holds something else; -ECONNREFUSED, -EHOSTUNREACH or -ETIMEDOUT when
 * no master of the cluster answers; -EINVAL, also for a new store in the directory
 * of another.
 */
CELLFS_API int cellfs_open(const char *path, const struct cellfs_options *o,
			   struct cellfs **out);
/*
 * Frees the store, also on failure. 0: all changes are on disk. Scans, tables
 * and snapshots that are still open must not be used any more, nor closed.
 */
CELLFS_API int cellfs_close(struct cellfs *s);
/*
 * All changes that were acknowledged so far are on disk when it returns 0.
 * Without it they survive the death of the process at once, and a loss of power
 * after about a second.
 */
CELLFS_API int cellfs_sync(struct cellfs *s);
/*
 * Writes what is in memory to table files; @t NULL = of all tables. No program
 * needs it: the store does so by itself.
 */
CELLFS_API int cellfs_flush(struct cellfs *s, struct cellfs_table *t);
/*
 * Rewrites a table (@t NULL = all) without what is deleted, expired or beyond
 * the versions that its families keep. Costs the copying of it. The store does
 * so by itself too, bit by bit.
 */
CELLFS_API int cellfs_compact(struct cellfs *s, struct cellfs_table *t);

/* A figure of the store, in Prometheus style. Strings are static. */
struct cellfs_stat {
	/*
	 * snake_case, unit last; "_total" for counters. It may end in a label:
	 * level_bytes{level="1"}.
	 */
	const char *name;
	const char *help;
	bool counter; /* it only grows, from 0 at the opening of the store */
	uint64_t value;
};

/* Calls @say with each figure. */
CELLFS_API void
cellfs_stats(struct cellfs *s,
	     void (*say)(void *arg, const struct cellfs_stat *stat), void *arg);

/*
 * Tables. Their names are letters, digits, '_', '-' and '.', of which the last
 * two do not come first, with "NAMESPACE:" in front of one that is in a
 * namespace; 1 to 255 bytes in all. A change of a table is on disk when the
 * call returns 0.
 */

/*
 * A schema is text, a setting a line:
 *
 *	family info
 *		versions 3
 *		ttl 7d
 *	family logs
 *		compression zlib
 *
 * What is absent has its default; libcellfs(3) lists the settings. The table
 * belongs to the user of the process unless the text says otherwise. NULL is the
 * empty text: a table that has no family yet. -EEXIST; -ENOENT when its
 * namespace is absent; -EINVAL with a sentence that names the line of the text.
 */
CELLFS_API int cellfs_table_create(struct cellfs *s, const char *name,
				   const char *schema);
/* -ENOTEMPTY when a named snapshot shows the table. */
CELLFS_API int cellfs_table_drop(struct cellfs *s, const char *name);
/* Removes all cells for good; schema and handles stay. As the drop. */
CELLFS_API int cellfs_table_truncate(struct cellfs *s, const char *name);
/* -EEXIST when @to is taken. Handles stay valid. */
CELLFS_API int cellfs_table_rename(struct cellfs *s, const char *from,
				   const char *to);
/*
 * The first name behind @after ("" = from the start) in byte order, copied to
 * @name, which may be @after. 1, or 0 at the end.
 */
CELLFS_API int cellfs_table_next(struct cellfs *s, const char *after,
				 char name[CELLFS_NAME_SIZE]);
/* Close the handle with cellfs_table_close(). -ENOENT. */
CELLFS_API int cellfs_table_open(struct cellfs *s, const char *name,
				 struct cellfs_table **out);
CELLFS_API void cellfs_table_close(struct cellfs_table *t);
/* The schema's whole text, with a NUL behind it that len does not count. */
CELLFS_API int cellfs_table_schema(struct cellfs_table *t,
				   struct cellfs_buffer *text);
/*
 * Replaces the schema, but for mode, uid, gid and quota where the text does not
 * name them. A family that the text does not name stays if it holds cells, else it
 * goes; the line "drop family NAME" drops it with its cells.
 * -EINVAL with a sentence that names the line, and for an empty text; -EBUSY
 * when a named snapshot shows a family that is dropped, or would show less by
 * the new settings.
 */
CELLFS_API int cellfs_table_alter(struct cellfs_table *t, const char *schema);

/*
 * Namespaces, whose names are letters, digits and '_'. "default", of the tables
 * without one, and "hbase" are always there. -EEXIST.
 */
CELLFS_API int cellfs_namespace_create(struct cellfs *s, const char *name);
/* -ENOENT; -ENOTEMPTY while it holds a table; -EINVAL for the two above. */
CELLFS_API int cellfs_namespace_drop(struct cellfs *s, const char *name);
/* As cellfs_table_next(). */
CELLFS_API int cellfs_namespace_next(struct cellfs *s, const char *after,
				     char name[CELLFS_NAME_SIZE]);

/*
 * Changes. Each call is atomic, and what it acknowledged is seen by all reads
 * that begin later. Beside the errors above, they fail with -EPERM for a family
 * that the table does not have and -EFBIG for a value over its max_value, or for
 * a row whose changes are more than cellfs(5) allows.
 */

/*
 * Puts a version that is newer than all others of the column. 0, or -EOVERFLOW
 * when one, or what deleted it, has CELLFS_TS_MAX.
 */
CELLFS_API int cellfs_put(struct cellfs_table *t, struct cellfs_bytes row,
			  struct cellfs_bytes family,
			  struct cellfs_bytes qualifier,
			  struct cellfs_bytes value);
/* Deletes all versions of the column. 0, also when there are none. */
CELLFS_API int cellfs_delete(struct cellfs_table *t, struct cellfs_bytes row,
			     struct cellfs_bytes family,
			     struct cellfs_bytes qualifier);
/* Deletes the row. 0, also when there is none. */
CELLFS_API int cellfs_delete_row(struct cellfs_table *t,
				 struct cellfs_bytes row);
/*
 * Adds @delta to the newest value, a number of 8 bytes, big-endian; an absent
 * one is 0, and beyond 64 bits it wraps round. *result is the sum; it may be
 * NULL. 0, or -EINVAL when the value has another length.
 */
CELLFS_API int cellfs_increment(struct cellfs_table *t, struct cellfs_bytes row,
				struct cellfs_bytes family,
				struct cellfs_bytes qualifier, int64_t delta,
				int64_t *result);
/* Puts the newest value with @value behind it. 0. */
CELLFS_API int cellfs_append(struct cellfs_table *t, struct cellfs_bytes row,
			     struct cellfs_bytes family,
			     struct cellfs_bytes qualifier,
			     struct cellfs_bytes value);

/* One change of a row. Fields that its kind does not name stay zero. */
struct cellfs_change {
	enum cellfs_kind kind;
	struct cellfs_bytes family;    /* all but CELLFS_DELETE_ROW */
	struct cellfs_bytes qualifier; /* not for those of a family or row */
	/*
	 * The timestamp. Where it is not set, a put takes one that is newer
	 * than all versions of its column (the clock's, if that is);
	 * CELLFS_DELETE_VERSION takes the newest version, and the wider deletes
	 * take all that is there; CELLFS_DELETE_FAMILY_VERSION wants one.
	 */
	struct cellfs_time ts;
	struct cellfs_bytes value; /* CELLFS_PUT, CELLFS_APPEND */
	int64_t delta;		   /* CELLFS_INCREMENT */
	uint64_t ttl_ms; /* the cell's own time to live; 0 = the family's */
};

enum cellfs_check_kind {
	CELLFS_CHECK_ABSENT,	      /* the column has no version */
	CELLFS_CHECK_PRESENT,	      /* the column has a version */
	CELLFS_CHECK_NEWEST,	      /* its newest version has ts_ms */
	CELLFS_CHECK_VERSION_ABSENT,  /* it has no version of ts_ms */
	CELLFS_CHECK_VERSION_PRESENT, /* it has a version of ts_ms */
	/*
	 * @value is equal to, less than ... the newest value: the comparisons
	 * of HBase's CheckAndMutate. An absent column fails all of them. An
	 * empty @value asks something else: CELLFS_CHECK_NOT_EQUAL, if the
	 * newest value is there and not empty; all the others, if it is absent
	 * or empty.
	 */
	CELLFS_CHECK_EQUAL,
	CELLFS_CHECK_NOT_EQUAL,
	CELLFS_CHECK_LESS,
	CELLFS_CHECK_LESS_OR_EQUAL,
	CELLFS_CHECK_GREATER,
	CELLFS_CHECK_GREATER_OR_EQUAL,
	CELLFS_CHECK_VERSION_EQUAL, /* its version of ts_ms has @value */
};

/* A condition on a column of the row that is changed. */
struct cellfs_check {
	enum cellfs_check_kind kind;
	struct cellfs_bytes family;
	struct cellfs_bytes qualifier;
	struct cellfs_bytes value;
	int64_t ts_ms;
};

/*
 * All changes of one row, applied at once or not at all, in their order. What a
 * change depends on is what was there before the first of them; but a timestamp that
 * the store picks comes behind those that the mutation has written to the column.
 */
struct cellfs_mutation {
	struct cellfs_bytes row;
	const struct cellfs_change *changes;
	size_t nchanges;
	/* All must hold, tested in the same atomic step. */
	const struct cellfs_check *checks;
	size_t nchecks;
};

/* What became of one change. */
struct cellfs_result {
	int64_t ts_ms;	/* the timestamp that was written */
	int64_t number; /* CELLFS_INCREMENT: the sum */
};

enum {
	CELLFS_SYNC = 1, /* the changes are on disk when the call returns */
};

/*
 * Applies one mutation. @flags: CELLFS_SYNC or 0. 1 = applied; 0 = a check did
 * not hold, and nothing was changed. @results is NULL, or has a place for each
 * change, which is set when it returns 1. When it is only the sync that fails,
 * the change may or may not survive a crash.
 */
CELLFS_API int cellfs_mutate(struct cellfs_table *t,
			     const struct cellfs_mutation *m,
			     struct cellfs_result *results, unsigned flags);
/*
 * Applies @n mutations without checks in their order, each of them atomic;
 * cheaper than one after the other. 0. *done says how many were applied, on
 * failure too; it may be NULL.
 */
CELLFS_API int cellfs_mutate_many(struct cellfs_table *t,
				  const struct cellfs_mutation *m, size_t n,
				  unsigned flags, size_t *done);

/* Reads. */

/*
 * The newest value of a column: 1 and *value, or 0. @value NULL only asks
 * whether there is one.
 */
CELLFS_API int cellfs_get(struct cellfs_table *t, struct cellfs_bytes row,
			  struct cellfs_bytes family,
			  struct cellfs_bytes qualifier,
			  struct cellfs_buffer *value);

/* Which version of a column. A zeroed one is the newest. */
struct cellfs_which {
	struct cellfs_time ts; /* the newest that is not newer than this */
	/* With @ts set: the version of just that, if a scan without times shows it. */
	bool exact;
	const struct cellfs_snapshot *snapshot; /* as it shows; NULL = now */
};

/*
 * One version: 1 and *cell, whose value lies in @value and whose names are the
 * arguments, or 0. @which NULL = the newest. @value NULL: cell->value.data is
 * NULL and its len exact.
 */
CELLFS_API int cellfs_get_cell(struct cellfs_table *t, struct cellfs_bytes row,
			       struct cellfs_bytes family,
			       struct cellfs_bytes qualifier,
			       const struct cellfs_which *which,
			       struct cellfs_cell *cell,
			       struct cellfs_buffer *value);

/* What one result of a scan is. */
enum cellfs_granularity {
	CELLFS_CELLS,	 /* each version */
	CELLFS_COLUMNS,	 /* the newest version of each column */
	CELLFS_FAMILIES, /* row and family, where it has a cell */
	CELLFS_ROWS,	 /* row, where it has a cell; no other field */
};

struct cellfs_column {
	struct cellfs_bytes family;
	struct cellfs_bytes qualifier;
	bool whole_family; /* all columns: the qualifier is ignored */
};

/* Which part of a table a scan reads. A zeroed one reads all of it. */
struct cellfs_scan_spec {
	/* A reversed scan begins with the greatest row, its row_start. */
	struct cellfs_bound row_start, row_stop;
	enum cellfs_granularity granularity;
	bool reversed;	/* rows descend; within a row the order stays */
	bool raw;	/* all that is stored, delete markers too */
	bool keys_only; /* no values: their data is NULL, their len exact */
	struct cellfs_bound qualifier_start, qualifier_stop;
	/* What to read of each row; none = all. In any order. */
	const struct cellfs_column *columns;
	size_t ncolumns;
	/* Timestamps: ts_start <= timestamp < ts_stop. */
	struct cellfs_time ts_start, ts_stop;
	uint32_t versions;   /* the newest of a column; 0 = all that is kept */
	uint64_t limit_rows; /* 0 = no limit */
	/*
	 * In each family of a row: passes over offset results, gives limit.
	 * For CELLFS_CELLS and CELLFS_COLUMNS.
	 */
	uint64_t family_limit, family_offset; /* limit 0 = no limit */
	/*
	 * In HBase's filter language, "PrefixFilter('a') AND PageFilter(10)";
	 * empty = none. For CELLFS_CELLS and CELLFS_COLUMNS. -EINVAL with a
	 * sentence that names the place; -ETIME from the scan when a pattern
	 * in it needs too many steps.
	 */
	struct cellfs_bytes filter;
	const struct cellfs_snapshot *snapshot; /* NULL = now */
};

/*
 * The scan sees the table as it is at this call, whatever is changed later.
 * @spec NULL = a zeroed one.
 */
CELLFS_API int cellfs_scan_open(struct cellfs_table *t,
				const struct cellfs_scan_spec *spec,
				struct cellfs_scan **out);
/*
 * 1 and *cell, which lasts until the next call with this scan; 0 at the end. An
 * error is given again by later calls.
 */
CELLFS_API int cellfs_scan_next(struct cellfs_scan *sc,
				const struct cellfs_cell **cell);
CELLFS_API void cellfs_scan_close(struct cellfs_scan *sc);

/*
 * Snapshots: the past, kept. One lives in memory until it is closed
 * (cellfs_snapshot_take()); the others have a name and live in the store, of
 * one table or, with @t NULL, of all that exist at the moment. To take one
 * copies nothing. Names are 1 to 255 bytes; each table has its own, and the
 * store has.
 */

/*
 * A view of the store as of now. O(1). It keeps no table from being changed: what a
 * schema does not show any more, or a truncation or drop removes, is gone from it.
 */
CELLFS_API int cellfs_snapshot_take(struct cellfs *s,
				    struct cellfs_snapshot **out);
/* Costs a sync. -EEXIST. */
CELLFS_API int cellfs_snapshot_create(struct cellfs *s, struct cellfs_table *t,
				      const char *name);
/* Who has it open may go on reading. -ENOENT. */
CELLFS_API int cellfs_snapshot_drop(struct cellfs *s, struct cellfs_table *t,
				    const char *name);
/* As cellfs_table_next(). *taken_ms is when it was taken; it may be NULL. */
CELLFS_API int cellfs_snapshot_next(struct cellfs *s, struct cellfs_table *t,
				    const char *after,
				    char name[CELLFS_NAME_SIZE],
				    int64_t *taken_ms);
/* Opens a named one. -ENOENT. */
CELLFS_API int cellfs_snapshot_open(struct cellfs *s, struct cellfs_table *t,
				    const char *name,
				    struct cellfs_snapshot **out);
CELLFS_API void cellfs_snapshot_close(struct cellfs_snapshot *snap);

#ifdef __cplusplus
}
#endif

#endif
