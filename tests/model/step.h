/*
 * Steps: the plain values that a random run is made of.
 *
 * A step says everything by small numbers: rows, families, qualifiers and
 * timestamps out of a tiny key space, so that they collide. It means something
 * in any state of the store, so that a run can be cut down to the steps that
 * matter by leaving others out.
 */
#ifndef CELLFS_TESTS_MODEL_STEP_H
#define CELLFS_TESTS_MODEL_STEP_H

#include "store/store.h"

#define STEP_TABLES 2
#define STEP_ROWS 3
#define STEP_FAMILIES 2
#define STEP_QUALIFIERS 3
#define STEP_SNAPSHOTS 2
#define STEP_CHANGES 4
#define STEP_CHECKS 2

enum step_kind {
	STEP_MUTATE,
	STEP_MANY, /* the changes on every row, in one call */
	STEP_SCAN,
	STEP_GET,
	STEP_HOLD,  /* opens a scan and leaves it open */
	STEP_DRAIN, /* reads it to its end */
	STEP_DUMP,  /* everything, in every way */
	STEP_FLUSH,
	STEP_COMPACT,
	STEP_SYNC,
	STEP_REOPEN,
	STEP_DIE, /* the process dies without closing, and starts again */
	STEP_CLOCK,
	STEP_SNAPSHOT,
	STEP_RELEASE,
	STEP_ALTER,
	STEP_CREATE,
	STEP_DROP,
	STEP_RENAME,
	STEP_FAMILY_ADD,
	STEP_TRUNCATE,
	STEP_FAMILY_DROP,
	STEP_NAMED, /* a snapshot with a name, of a table or the store */
	STEP_NAMED_DROP,
	STEP_NAMED_RENAME,
	STEP_NAMED_OPEN,
	STEP_NAMED_RESTORE, /* its table is put back */
	STEP_NAMED_CLONE,   /* the other table becomes as it was */
};

/* Indices into what step_ts() and step_value() know. */
enum {
	STEP_TS_AUTO,
	STEP_TS_CLOCK,
	STEP_TS_FIRST, /* five around the clock */
	STEP_TS_LAST = STEP_TS_FIRST + 4,
};
enum step_value {
	VALUE_EMPTY,
	VALUE_X,
	VALUE_Y,
	VALUE_COUNTER,
	VALUE_SHORT, /* unlike any other step's */
	VALUE_LONG,
	VALUE_KINDS,
	VALUE_LARGE = VALUE_KINDS, /* a column's versions fill many blocks */
};

struct step_change {
	uint8_t op, family, qualifier, ts, ttl, value;
	int8_t delta;
};

struct step_check {
	uint8_t op, family, qualifier, ts, value;
};

struct step_scan {
	uint8_t granularity, start, stop, start_exclusive, stop_inclusive;
	uint8_t reversed, raw, keys_only;
	uint8_t qual_start, qual_stop, qual_exclusive, qual_inclusive;
	uint8_t columns; /* how many of them are named */
	uint8_t column[2];
	uint8_t ts_min, ts_max, versions, limit;
	uint8_t range_family, range_min, range_max; /* 0 = none, family + 1 */
	uint8_t family_limit, family_offset;
	uint8_t as_of;	 /* 0 = now */
	uint32_t filter; /* what step_filter() makes of it; 0 = none */
};

struct step {
	uint32_t id;
	uint8_t kind, table, row, flags;
	uint8_t snapshot; /* 0 = now, else slot + 1 */
	uint8_t nchanges, nchecks;
	struct step_change changes[STEP_CHANGES];
	struct step_check checks[STEP_CHECKS];
	struct step_scan scan;
	int8_t clock; /* milliseconds to move */
	uint8_t versions, min_versions, ttl, family;
};

/* What the steps of one run may be, and the store's sizes. */
struct step_mode {
	bool ttl;     /* families and cells expire; the clock never goes back */
	bool raw;     /* raw scans until the first flush */
	bool classic; /* new_version_behavior no */
	bool tables;  /* tables are made, renamed and dropped */
	bool snapshots; /* and no compaction while one lives */
	bool named;	/* snapshots with names */
	bool tiny;	/* a write buffer of few steps */
	bool narrow;	/* log segments of less than a write buffer */
	bool sync;	/* every mutation is on disk before it returns */
	bool past;	/* scans as of a moment; attributes stay as they are */
	uint8_t keep;	/* keep_deleted of the first family */
	bool many;	/* so many versions that none is pushed out */
	bool large;	/* half of the values are VALUE_LARGE */
};

uint64_t step_random(uint64_t *state);
static inline unsigned step_below(uint64_t *random, unsigned n)
{
	return (unsigned)(step_random(random) % n);
}
/* The mode of a run follows from its seed. */
struct step_mode step_mode_of(uint64_t seed, bool classic);
void step_make(uint64_t *random, const struct step_mode *mode, uint32_t id,
	       struct step *out);

struct bytes step_row(unsigned i);
struct bytes step_family(unsigned i);
struct bytes step_qualifier(unsigned i);
int64_t step_ts(unsigned i, int64_t now);
uint64_t step_ttl(unsigned i);
/* A filter as text; @now is where its timestamps lie. */
void step_filter(struct buf *out, uint32_t seed, int64_t now);
/* Writes the value into @b. */
int step_value(struct buf *b, enum step_value kind, uint32_t id, unsigned k);

/* One line, appended to @out. */
void step_format(const struct step *s, struct buf *out);

/* printf() into a buffer; tests run out of memory loudly. */
void say(struct buf *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* What say() does, without its cost: a crash image is read by these. */
void say_text(struct buf *out, const char *text);
void say_number(struct buf *out, int64_t n);
/* A key or value, as the trace prints them. */
void say_key(struct buf *out, struct bytes key);
/* The lines around the first difference of two texts. */
void say_difference(struct buf *out, const struct buf *store,
		    const struct buf *reference);

#endif
