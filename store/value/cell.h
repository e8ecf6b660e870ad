/*
 * The values that the store deals in: cells, and changes of a row.
 *
 * A cell is (row, family, qualifier, timestamp, kind) -> value. Cells sort by
 * row, family, qualifier ascending, then timestamp descending, then kind with
 * delete markers before puts, then sequence descending. The numbers of the
 * kinds are HBase's (KeyValue.Type): a larger one sorts first.
 *
 * The timestamp orders versions and is the user's to choose; the sequence is
 * the store's counter of changes and decides what a delete marker hides and
 * what a snapshot sees. Neither stands for the other.
 */
#ifndef CELLFS_STORE_VALUE_CELL_H
#define CELLFS_STORE_VALUE_CELL_H

#include "store/value/bytes.h"

enum cell_kind {
	/*
	 * Never stored. A scan with has_as_of gives this kind for a column
	 * whose value or existence at that time is unknown.
	 */
	CELL_LOST = 1,
	CELL_PUT = 4,
	CELL_DELETE = 8, /* hides one version: exactly its timestamp */
	CELL_DELETE_FAMILY_VERSION = 10, /* one timestamp in all columns */
	CELL_DELETE_COLUMN = 12, /* hides the column up to its timestamp */
	CELL_DELETE_FAMILY = 14, /* hides the row's family up to it */
};

/* Family markers have the empty qualifier and apply to every column. */
static inline bool kind_is_family_marker(uint8_t kind)
{
	return kind == CELL_DELETE_FAMILY || kind == CELL_DELETE_FAMILY_VERSION;
}

static inline bool kind_is_marker(uint8_t kind)
{
	return kind != CELL_PUT;
}

/* Is it the kind of a cell that is stored? From a file or a server it may be any. */
static inline bool kind_is_stored(uint64_t kind)
{
	switch (kind) {
	case CELL_PUT:
	case CELL_DELETE:
	case CELL_DELETE_FAMILY_VERSION:
	case CELL_DELETE_COLUMN:
	case CELL_DELETE_FAMILY:
		return true;
	}
	return false;
}

/* "cellkind" as it is written in .cells and in .raw file names. */
const char *kind_name(uint8_t kind);
/* The kind that has this name, -1 if no kind has. */
int kind_parse(struct bytes name);

/* Timestamps are milliseconds since 1970, 0 <= ts <= TS_MAX. */
#define TS_MAX (INT64_MAX - 2)
/*
 * What was meant if @ts is in seconds: as such it is of 1973 or later, and as
 * milliseconds from before that. 0: it is no such number.
 */
static inline int64_t ts_of_seconds(int64_t ts)
{
	return ts >= 100000000 && ts < 100000000000 ? ts * 1000 : 0;
}
/*
 * The store picks: max(clock, newest of that column, markers included, + 1)
 * for a put. For a CELL_DELETE it means the newest visible version; for the
 * wider markers max(clock, newest of what they cover), so that they hide all
 * that is there.
 */
#define TS_AUTO INT64_MAX
/*
 * As HBase's region server does it: the clock and nothing else, but for an
 * increment or append max(clock, the old value's + 1), and for a put behind a
 * check of a value max(clock, the checked cell's). For a CELL_DELETE that is
 * the newest visible version too.
 */
#define TS_CLOCK (INT64_MAX - 1)

#define ROW_LEN_MAX 32767
#define FAMILY_LEN_MAX 127
#define QUALIFIER_LEN_MAX 32767
#define TABLE_NAME_LEN_MAX 255
/* The hard limit; a family's max_value cannot exceed it. */
#define VALUE_LEN_MAX (256u << 20)

struct cell {
	struct bytes row;
	struct bytes family;
	struct bytes qualifier;
	int64_t ts;
	uint64_t seq;
	uint64_t ttl_ms; /* the cell's own time to live; 0 = none */
	uint8_t kind;
	/*
	 * It has what a put of it would lack: who may see it, say. Known if the value
	 * is asked for.
	 */
	bool has_labels;
	/*
	 * The value. A scan with keys_only leaves data NULL and len exact.
	 */
	struct bytes value;
};

/* A copy of the row and column of a cell, which may be gone. Zeroed: of no cell. */
struct cell_name {
	struct bytes row, family, qualifier;
	struct buf memory; /* of these */
};

/* 0 or -ENOMEM. */
int cell_name_set(struct cell_name *n, const struct cell *c);
bool cell_name_is(const struct cell_name *n, const struct cell *c);
void cell_name_free(struct cell_name *n);

enum change_op {
	CHANGE_PUT = CELL_PUT,
	CHANGE_DELETE = CELL_DELETE,
	CHANGE_DELETE_FAMILY_VERSION = CELL_DELETE_FAMILY_VERSION,
	CHANGE_DELETE_COLUMN = CELL_DELETE_COLUMN,
	CHANGE_DELETE_FAMILY = CELL_DELETE_FAMILY,
	/* One CHANGE_DELETE_FAMILY for each family of the table. */
	CHANGE_DELETE_ROW = 32,
	/* Adds @delta to an 8-byte big-endian value; an absent one is 0. */
	CHANGE_INCREMENT = 33,
	/* Puts the newest value with @value appended. */
	CHANGE_APPEND = 34,
};

/* Does it read the value that it replaces? */
static inline bool op_adds(uint8_t op)
{
	return op == CHANGE_INCREMENT || op == CHANGE_APPEND;
}

/* Does it write a value? The others are deletes. */
static inline bool op_writes(uint8_t op)
{
	return op == CHANGE_PUT || op_adds(op);
}

struct change {
	uint8_t op; /* enum change_op */
	struct bytes family;
	struct bytes qualifier;
	int64_t ts; /* a timestamp, TS_AUTO or TS_CLOCK */
	uint64_t ttl_ms;
	int64_t delta; /* CHANGE_INCREMENT */
	struct bytes value;
	/* CHANGE_PUT: which the value lies in, for a store to hold; or NULL. */
	struct piece *piece;
	/*
	 * CHANGE_INCREMENT, CHANGE_APPEND: the old value is the newest with
	 * ts_min <= ts < ts_max; ts_max 0 = no upper bound.
	 */
	int64_t ts_min, ts_max;
	/* The store sets these when the mutation is applied. */
	int64_t ts_given;   /* the timestamp that was written */
	int64_t result_int; /* CHANGE_INCREMENT: the new value */
	/* No more than so many cells were ever written to the store; 0: not known. */
	uint64_t seq_given;
};

/*
 * Makes the new value of a CHANGE_INCREMENT of the old one in @value, if one is
 * @present. 0, -ENOMEM, or -EINVAL: it is no counter.
 */
int change_count(struct change *c, bool present, struct buf *value);
/* Of a row, compares the columns by family and qualifier: <0, 0, >0. */
static inline int change_cmp_column(const struct change *a,
				    const struct change *b)
{
	int c = bytes_cmp(a->family, b->family);

	return c ? c : bytes_cmp(a->qualifier, b->qualifier);
}

/* Of a row, do both concern one column? */
static inline bool change_same_column(const struct change *a,
				      const struct change *b)
{
	return bytes_eq(a->family, b->family) &&
	       bytes_eq(a->qualifier, b->qualifier);
}

/*
 * A condition that is tested atomically with the changes, against the cells
 * that are visible at that moment.
 */
enum check_op {
	CHECK_ABSENT,	      /* the column has no visible version */
	CHECK_PRESENT,	      /* the column has a visible version */
	CHECK_NEWEST_TS,      /* its newest visible version has timestamp @ts */
	CHECK_VERSION_ABSENT, /* no visible version with timestamp @ts */
	CHECK_VERSION_PRESENT, /* there is a visible version with @ts */
	/* @value OP newest value, HBase's CheckAndMutate (empty = absent) */
	CHECK_EQUAL,
	CHECK_NOT_EQUAL,
	CHECK_LESS,
	CHECK_LESS_OR_EQUAL,
	CHECK_GREATER,
	CHECK_GREATER_OR_EQUAL,
	CHECK_VERSION_EQUAL, /* a visible version with @ts has @value */
	CHECKS
};

struct check {
	uint8_t op; /* enum check_op */
	struct bytes family;
	struct bytes qualifier;
	int64_t ts;
	struct bytes value;
};

/* Does the check look at the version with @ts, not at the newest one? */
static inline bool check_is_of_version(uint8_t op)
{
	return op == CHECK_VERSION_ABSENT || op == CHECK_VERSION_PRESENT ||
	       op == CHECK_VERSION_EQUAL;
}
/* Is the check HBase's comparison of @value with the newest value? */
static inline bool check_compares(uint8_t op)
{
	return op >= CHECK_EQUAL && op <= CHECK_GREATER_OR_EQUAL;
}

/*
 * All changes of one row, applied at once or not at all, in order. What a
 * change depends on (a check, the value that is added to) is what was there
 * before the first of them, as in HBase. Each further CHANGE_DELETE of the
 * newest version of one column takes the next older one. TS_AUTO comes behind
 * what the mutation has written, too (given.h).
 */
struct mutation {
	struct bytes row;
	struct change *changes;
	size_t nchanges;
	const struct check *checks;
	size_t nchecks;
};

#endif
