/*
 * Cells as HBase sends them beside a message: its codec KeyValueCodecWithTags.
 *
 *	block	cells, one behind the other
 *	cell	u32 length of the rest, u32 key length, u32 value length, key,
 *		value, then nothing, or tags
 *	tags	u16 length of the rest, tags, one behind the other
 *	tag	u16 length of the rest, u8 type, what it says
 *	key	u16 row length, row, u8 family length, family, qualifier,
 *		i64 timestamp, u8 kind
 *
 * Numbers are big-endian. The qualifier has what the other parts leave of the
 * key. The numbers of the kinds are those of enum cell_kind. There is no
 * sequence. The cell's own ttl is in a tag; a cell with other tags of users has
 * labels. Tags are not written: the ttl of a change is told beside its cells.
 *
 * What is read points into the block.
 */
#ifndef CELLFS_STORE_HBASE_CELLBLOCK_CELLBLOCK_H
#define CELLFS_STORE_HBASE_CELLBLOCK_CELLBLOCK_H

#include "store/value/cell.h"
#include "store/value/codec.h"

/* A timestamp that the server replaces by its clock when it applies a change. */
#define CELLBLOCK_TS_SERVER INT64_MAX

/*
 * Appends the cell by which a change of @row is asked for. An increment is a
 * put of its delta and an append one of its value: the mutation's type says
 * what is done with it. TS_CLOCK becomes CELLBLOCK_TS_SERVER.
 *
 * REQUIRES: lengths within the limits of cell.h; a ts that is not TS_AUTO,
 * which only a reader of the row can replace; no CHANGE_DELETE_ROW, which
 * HBase is told by a mutation without cells. The change's ttl is not written.
 */
void cellblock_put(struct encoder *e, struct bytes row, const struct change *c);

/*
 * Reads the next cell of @block. 1 and *out, 0 at the end, or -EPROTO: it is cut
 * off, its lengths contradict each other, or it is no cell by cell.h. Then
 * @block is bad, which further calls say again.
 */
int cellblock_next(struct decoder *block, struct cell *out);

#endif
