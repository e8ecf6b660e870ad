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
 * The table in ops.c has the fields of each op. Of those that are more than a
 * number, a string or a schema:
 *
 *	mutation  str row, u32 checks, each: u8 op, str family, str qualifier,
 *		  i64 ts, str value; u32 changes, each: u8 op, str family,
 *		  str qualifier, i64 ts, u64 ttl, i64 delta, i64 ts_min,
 *		  i64 ts_max, str value
 *	given	  for each change: i64 ts_given, i64 result_int
 *	batch	  cells, u8 0, i32 state (1 more, 0 end, or an error), str why
 *	spec	  u8 granularity, u32 flags, what walk_spec() in fields.c names
 *	tables	  u32 n, n times: u64 id, str name, str schema
 *	cell	  u8 flags, u8 kind, i64 ts, u64 seq, [u64 ttl],
 *		  u32 value length, [str row], [str family],
 *		  [str qualifier], [value]
 *
 * The rest of a frame is a batch where a scan is answered; of STATS: u32 n,
 * n times: str name, str help, bool, u64; and what HOLD_READ gives is a part of a
 * list, whole: u64 store, i64 when, str catalog, u32 n, n times: str name,
 * u64 bytes, u64 size, u64 sum.
 *
 * A name that a cell's flags leave out is that of the cell before it. Filters are
 * text. The ops of one session are answered in order.
 */
#ifndef CELLFS_STORE_REMOTE_WIRE_H
#define CELLFS_STORE_REMOTE_WIRE_H

#include "store/remote/ops.h"
#include "store/store.h"
#include "store/value/codec.h"

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

static inline void put_result(struct encoder *e, int r)
{
	put_u32(e, (uint32_t)r);
}

static inline int take_result(struct decoder *d)
{
	return (int)take_u32(d);
}

/* 0 if the message was valid and fully read, else -EPROTO. */
int wire_done(const struct decoder *d);

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
