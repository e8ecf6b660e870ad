/*
 * Which names a file that is no data may have.
 *
 * Scratch files (scratch.h) are in memory only, so a program that copies
 * ordinary files into the mount must get an error at once. A name is allowed if
 * editors and copying tools use it for temporary files: a table of patterns
 * lists such names. Any other is refused, with a message that says where data
 * can be stored.
 *
 * In a column a name of digits is a timestamp or a mistake; so is "-5".
 *
 * Everything here is pure.
 */
#ifndef CELLFS_FS_MEMORY_SCRATCH_NAMES_H
#define CELLFS_FS_MEMORY_SCRATCH_NAMES_H

#include "store/value/bytes.h"

/* Do tools use the name for temporary files? */
bool scratch_name_is_temporary(struct bytes name);
/*
 * May a file that is no cell have @name in a directory? @timestamps: the
 * directory holds versions; @home: what it holds, and where a value is stored.
 * 0; -EPERM; -EINVAL for a bad timestamp. With a reason.
 */
int scratch_name_check(struct bytes name, bool timestamps, const char *home);

#endif
