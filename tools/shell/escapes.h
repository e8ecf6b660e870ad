/*
 * Bytes as HBase's shell writes them: \xHH, and all else as it is.
 *
 * What is printable ASCII and no backslash stands for itself; each other byte is
 * \xHH with two hexadecimal digits, in capitals when it is written.
 */
#ifndef CELLFS_TOOLS_SHELL_ESCAPES_H
#define CELLFS_TOOLS_SHELL_ESCAPES_H

#include "store/value/bytes.h"

/* Appends the bytes that @text stands for. 0 or -ENOMEM. */
int escapes_read(const char *text, struct buf *out);
/* Appends the bytes in this spelling. 0 or -ENOMEM. */
int escapes_write(struct bytes b, struct buf *out);
/* Has the text a \xHH? */
bool escapes_has(const char *text);

#endif
