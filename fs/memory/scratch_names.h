/*
 * Names that a file which is no data may bear.
 *
 * Scratch files (scratch.h) are in memory only, so who copies ordinary
 * files into the mount must learn at once that they cannot stay. A name is let
 * in when editors and copying tools use it for what is temporary: one table of
 * patterns says which these are. Any other is refused, in words that say where
 * data can live.
 *
 * In a column a name of digits is a timestamp or a mistake; so is "-5".
 *
 * Everything here is pure.
 */
#ifndef CELLFS_FS_MEMORY_SCRATCH_NAMES_H
#define CELLFS_FS_MEMORY_SCRATCH_NAMES_H

#include "store/value/bytes.h"

/* Do tools use it for what is temporary? */
bool scratch_name_is_temporary(struct bytes name);
/*
 * May a file that is no cell have @name in a directory? @timestamps says
 * whether it holds versions, and @home what it holds and where a value lives. 0;
 * -EPERM; -EINVAL for a timestamp that is none. With a sentence.
 */
int scratch_name_check(struct bytes name, bool timestamps, const char *home);

#endif
