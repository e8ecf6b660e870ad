/*
 * The frame of an export: what makes a stream of cells whole.
 *
 *	TAB cellfs export 1 LF
 *	{ TAB schema TAB line of .schema LF }
 *	{ a line of a cell (cells.h) LF }
 *	TAB end TAB cells= number TAB xxh64= 16 hexadecimal digits LF
 *
 * Only notes begin with a tab: no row has the empty key. So `grep -v ^TAB`
 * leaves the cells, and lines that somebody wrote by hand need no frame. The
 * checksum is XXH64 (seed 0) of all bytes before the end's line. A stream may
 * hold several exports, one behind the other, and nothing between them.
 *
 * The same struct writes a frame and verifies one: lines go through it in
 * order, cells are counted and summed.
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
	struct buf schema; /* its text */
};

void cells_frame_free(struct cells_frame *f); /* a zeroed one is fine */

/* Appends the head, with the schema's lines. 0 or -ENOMEM. */
int cells_frame_begin(struct cells_frame *f, const struct schema *schema,
		      struct buf *out);
/* A line of a cell is written, with its newline. */
void cells_frame_wrote(struct cells_frame *f, struct bytes line);
/* Appends the end. 0 or -ENOMEM. */
int cells_frame_end(struct cells_frame *f, struct buf *out);

/*
 * A line that was read, without its newline: 1 = it is a cell's, 0 = a note,
 * -EINVAL with a sentence, -ENOMEM.
 */
int cells_frame_read(struct cells_frame *f, struct bytes line);
/* Is the line a note? */
static inline bool cells_frame_is_note(struct bytes line)
{
	return line.len && line.data[0] == '\t';
}
/* Nothing more comes: 0, or -EINVAL with a sentence for one that is cut. */
int cells_frame_done(const struct cells_frame *f);
/* The schema that the head holds; schema_free() it. -EINVAL, -ENOMEM. */
int cells_frame_schema(const struct cells_frame *f, struct schema *out);

/*
 * Does a table with the schema @to keep less than one with @from, so that what
 * is copied is pushed out, expires or is refused? Then a sentence that names
 * the first such family and what it takes is in @say.
 */
bool schema_keeps_less(const struct schema *from, const struct schema *to,
		       char *say, size_t size);

#endif
