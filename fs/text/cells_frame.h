/*
 * The frame of an export: the lines that show that a stream of cells is
 * complete.
 *
 *	TAB cellfs export 1 LF
 *	{ TAB schema TAB line of .schema LF }
 *	{ a line of a cell (cells.h) LF }
 *	TAB end TAB cells= number TAB xxh64= 16 hexadecimal digits LF
 *
 * Only notes begin with a tab: no row has the empty key. So `grep -v ^TAB`
 * leaves the cells, and lines written by hand need no frame. The checksum is
 * XXH64 (seed 0) of all bytes before the last line. A stream may hold several
 * exports, one after the other, with nothing between them.
 *
 * The same struct writes a frame and verifies one: it gets all lines in order,
 * and counts and sums the cells.
 */
#ifndef CELLFS_FS_TEXT_CELLS_FRAME_H
#define CELLFS_FS_TEXT_CELLS_FRAME_H

#include "store/store.h"

enum frame_state {
	FRAME_NONE,   /* nothing yet */
	FRAME_PLAIN,  /* lines without a frame */
	FRAME_HEAD,   /* the first line and lines of the schema */
	FRAME_INSIDE, /* cells */
	FRAME_ENDED,
};

struct cells_frame {
	uint8_t state; /* enum frame_state */
	uint64_t cells;
	struct XXH64_state_s *sum;
	struct buf schema; /* as text */
};

void cells_frame_free(struct cells_frame *f); /* @f may be zeroed */

/* Appends the head, with the schema's lines. 0 or -ENOMEM. */
int cells_frame_begin(struct cells_frame *f, const struct schema *schema,
		      struct buf *out);
/* Counts the line of a cell that was written, with its newline. */
void cells_frame_wrote(struct cells_frame *f, struct bytes line);
/* Appends the end. 0 or -ENOMEM. */
int cells_frame_end(struct cells_frame *f, struct buf *out);

/*
 * Verifies a line that was read, without its newline: 1 = a cell, 0 = a note,
 * -EINVAL with a reason, -ENOMEM.
 */
int cells_frame_read(struct cells_frame *f, struct bytes line);
/* Is the line a note? */
static inline bool cells_frame_is_note(struct bytes line)
{
	return line.len && line.data[0] == '\t';
}
/* At the end of the input: 0, or -EINVAL with a reason if it is incomplete. */
int cells_frame_done(const struct cells_frame *f);
/* The schema in the head; schema_free() it. -EINVAL, -ENOMEM. */
int cells_frame_schema(const struct cells_frame *f, struct schema *out);

/*
 * Does a table with the schema @to keep less than one with @from, so that
 * copied cells are pushed out, expire or are refused? Then @say is a sentence
 * that names the first such family and its attribute.
 */
bool schema_keeps_less(const struct schema *from, const struct schema *to,
		       char *say, size_t size);

#endif
