/*
 * Lines of .cells (cells.h, cells_frame.h) as JSON, and back.
 *
 *	cell		{"row":,"family":,"qualifier":,"timestamp":,"value":
 *			 [,"ttl":][,"kind":]}
 *	export head	{"export":1}
 *	schema		{"schema":LINE}
 *	end		{"cells":,"xxh64":}
 *
 * An object is a line. Members come in any order; of bytes that are not UTF-8
 * there is NAME_base64 (json.h). What is absent is empty: without a timestamp
 * it is now. A line of text and its object stand for each other, so whoever
 * verifies an export sees the text only.
 */
#ifndef CELLFS_TOOLS_LINE_JSON_CELLS_H
#define CELLFS_TOOLS_LINE_JSON_CELLS_H

#include "store/value/bytes.h"

/* Appends the object of a note, a line without its newline. 0 or -ENOMEM. */
int json_note(struct buf *out, struct bytes line);
/*
 * Appends the line of text, with its newline, that an object stands for.
 * 0; -EINVAL with a sentence; -ENOMEM.
 */
int json_line(struct bytes object, struct buf *out);

#endif
