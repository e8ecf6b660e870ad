/*
 * What the two ends of a served store say to one another.
 *
 * A frame is a u32 length, then so many bytes; numbers are little-endian;
 * `str` is a u32 length and the bytes, `bool` a u8:
 *
 *	request	 u32 id, u8 op, then the fields of the op
 *	reply	 u32 id, i32 result, then if result < 0: str sentence,
 *		 else the fields that answer the op
 *
 * The fields of most ops are rows of the table in ops.c; of the others:
 *
 *	op			request			reply
 *	MUTATE			u32 table, bool sync, mutation	given	 (*)
 *	MUTATE_MANY		u32 table, bool sync, u32 n, n mutations
 *				u32 done, done times given, i32 r, str sentence
 *	SCAN_OPEN		u32 table, snapshot, bytes, spec
 *				u32 scan, batch
 *	SCAN_NEXT		u32 scan, u32 bytes	batch
 *	GET			u32 table, u32 snapshot, str row, family,
 *				qualifier, i64 ts, bool exact, bool value
 *				cell (*)
 *	SNAPSHOT_OPEN		u32 table, str name	u32 snapshot, i64 taken,
 *				u32 n, n times: u64 id, str name, str schema
 *	STATS			u32 n, n times: str name, str help, bool, u64
 *
 *	(*) the fields are there when the result is 1
 *
 *	mutation  str row, u32 checks, each: u8 op, str family, str qualifier,
 *		  i64 ts, str value; u32 changes, each: u8 op, str family,
 *		  str qualifier, i64 ts, u64 ttl, i64 delta, i64 ts_min,
 *		  i64 ts_max, str value
 *	given	  for each change: i64 ts_given, i64 result_int
 *	batch	  cells, u8 0, i32 state (1 more, 0 end, or an error), str why
 *	cell	  u8 flags, u8 kind, i64 ts, u64 seq, [u64 ttl],
 *		  u32 value length, [str row], [str family],
 *		  [str qualifier], [value]
 *
 * A name that a cell's flags leave out is that of the cell before it. A table
 * or snapshot 0 is none. Filters are text. The ops of one session are answered
 * in order.
 */
#ifndef CELLFS_STORE_REMOTE_WIRE_H
#define CELLFS_STORE_REMOTE_WIRE_H

#include "store/remote/ops.h"

/* The longest value that can be sent, and the longest frame. */
#define WIRE_VALUE_MAX (16u << 20)
#define WIRE_FRAME_MAX (17u << 20)
/* A batch ends with the cell that reaches this size. */
#define WIRE_BATCH_MAX (256u << 10)
#define WIRE_ROWS_MAX (1u << 16) /* rows in one MUTATE_MANY */

/* Begins a frame at the end of @e's buffer; gives wire_end() its place. */
size_t wire_begin(struct encoder *e);
/* Fills in the frame's length. -EFBIG when it exceeds WIRE_FRAME_MAX. */
int wire_end(struct encoder *e, size_t at);
/*
 * Is there a whole frame at the start of @in? 1 and *frame without the length
 * field, 0 = more bytes are needed, -EPROTO when the frame is too long.
 */
int wire_whole(struct bytes in, struct bytes *frame);

static inline void put_i64(struct encoder *e, int64_t v)
{
	put_u64(e, (uint64_t)v);
}

static inline void put_result(struct encoder *e, int r)
{
	put_u32(e, (uint32_t)r);
}

static inline int64_t take_i64(struct decoder *d)
{
	return (int64_t)take_u64(d);
}

static inline int take_result(struct decoder *d)
{
	return (int)take_u32(d);
}

static inline bool take_bool(struct decoder *d)
{
	uint8_t v = take_u8(d);

	if (v > 1)
		d->bad = true;
	return v == 1;
}

/* Reads a name and adds the NUL. Gives an empty name when it is bad. */
void take_name(struct decoder *d, char *out, size_t max);

/* 0 if the message was valid and fully read, else -EPROTO. */
int wire_done(const struct decoder *d);

void put_schema(struct encoder *e, const struct schema *s);
/* Always schema_free() *out; d->bad tells whether the schema is invalid. */
void take_schema(struct decoder *d, struct schema *out);

void put_mutation(struct encoder *e, const struct mutation *m);
/* Allocates changes and checks, borrows the rest from @d. 0 or -ENOMEM. */
int take_mutation(struct decoder *d, struct mutation *out);
void wire_mutation_free(struct mutation *m);
void put_given(struct encoder *e, const struct mutation *m);
void take_given(struct decoder *d, struct mutation *m);

/* Puts all but the snapshot. @filter is the text of spec->filter. */
void put_spec(struct encoder *e, const struct scan_spec *spec,
	      struct bytes filter);
/*
 * Allocates columns and ranges, borrows the rest from @d. spec->filter stays
 * NULL; the filter's text is *filter (data NULL = no filter). 0 or -ENOMEM.
 */
int take_spec(struct decoder *d, struct scan_spec *spec, struct bytes *filter);
void wire_spec_free(struct scan_spec *spec);

/* Encodes a sequence of cells, each as a difference to the one before. */
struct cells_out {
	struct encoder *e;
	bool any;
	/* Where the last names are: offsets, since the buffer may move. */
	size_t row_at, row_len, family_at, family_len;
	size_t qualifier_at, qualifier_len;
};

void put_cell(struct cells_out *o, const struct cell *c);
/* Ends a batch with the scan's state. */
void put_state(struct encoder *e, int state, const char *why);

/* 1 and *c; *c must hold the cell before. 0 at the end of the cells. */
int take_cell(struct decoder *d, struct cell *c);

#endif
