/*
 * Lines of .cells (cells.h, cells_frame.h) as JSON, and back.
 *
 *	cell		{"row":,"family":,"qualifier":,"timestamp":,"value":
 *			 [,"ttl":][,"kind":]}
 *	export head	{"export":1}
 *	schema		{"schema":LINE}
 *	end		{"cells":,"xxh64":}
 *
 * An object is a line. Its members may be in any order; bytes that are not
 * UTF-8 are in NAME_base64 (json.h). An absent member is empty; an absent
 * timestamp is the present time. Each line of text has exactly one object, so
 * an export is verified as text.
 */
#ifndef CELLFS_TOOLS_LINE_JSON_CELLS_H
#define CELLFS_TOOLS_LINE_JSON_CELLS_H

#include "store/value/bytes.h"

/* Appends the object of a note; @line has no newline. 0 or -ENOMEM. */
int json_note(struct buf *out, struct bytes line);
/*
 * Appends the line of text, with its newline, of an object. 0; -EINVAL with a
 * reason; -ENOMEM.
 */
int json_line(struct bytes object, struct buf *out);

#endif
