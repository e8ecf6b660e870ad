/*
 * JSON for programs: one object a line.
 *
 * Members are appended to a buffer, with commas where needed. A member of bytes
 * that are not UTF-8 is called NAME_base64 and holds their base64 (RFC 4648,
 * padded); an object never has both NAME and NAME_base64. Each function returns
 * 0 or -ENOMEM.
 */
#ifndef CELLFS_TOOLS_LINE_JSON_H
#define CELLFS_TOOLS_LINE_JSON_H

#include "store/value/bytes.h"

/* @bracket is '{', '}', '[' or ']'; @name may be NULL. */
int json_open(struct buf *out, const char *name, char bracket);
int json_close(struct buf *out, char bracket);
int json_bytes(struct buf *out, const char *name, struct bytes value);
/*
 * The same with any name; bytes that are not UTF-8 are the object {"base64":}.
 */
int json_member(struct buf *out, struct bytes name, struct bytes value);
/* A number, true or false, as @word has it. */
int json_bare(struct buf *out, struct bytes name, struct bytes word);
int json_str(struct buf *out, const char *name, const char *value);
int json_int(struct buf *out, const char *name, int64_t value);
int json_uint(struct buf *out, const char *name, uint64_t value);
int json_bool(struct buf *out, const char *name, bool value);

#endif
