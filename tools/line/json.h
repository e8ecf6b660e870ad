/*
 * JSON for programs: one object a line.
 *
 * Members are appended to a buffer, with commas where needed, up to the first one
 * for which there is no memory. A member of bytes that are not UTF-8 is called
 * NAME_base64 and holds their base64 (RFC 4648, padded); an object never has both
 * NAME and NAME_base64.
 */
#ifndef CELLFS_TOOLS_LINE_JSON_H
#define CELLFS_TOOLS_LINE_JSON_H

#include "store/value/bytes.h"

struct json {
	struct buf *out;
	int err; /* 0, or the -ENOMEM that ended it */
};

/* @bracket is '{', '}', '[' or ']'; @name may be NULL. */
void json_open(struct json *j, const char *name, char bracket);
void json_close(struct json *j, char bracket);
void json_bytes(struct json *j, const char *name, struct bytes value);
/*
 * The same with any name; bytes that are not UTF-8 are the object {"base64":}.
 */
void json_member(struct json *j, struct bytes name, struct bytes value);
/* A number, true or false, as @word has it. */
void json_bare(struct json *j, struct bytes name, struct bytes word);
/* Nothing, of a text that is NULL. */
void json_str(struct json *j, const char *name, const char *value);
void json_int(struct json *j, const char *name, int64_t value);
void json_uint(struct json *j, const char *name, uint64_t value);
void json_bool(struct json *j, const char *name, bool value);
/* Closes the object and ends its line: 0 or -ENOMEM. */
int json_end_line(struct json *j);

#endif
