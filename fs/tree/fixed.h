/*
 * The names that a directory has whatever the store holds: .schema in a
 * table, the files of .cellfs and .info and, with -o show_control, views and
 * all else that is otherwise reached without being listed.
 *
 * They come before the keys, in byte order. Those that a view or a column does
 * not have (.schema in .range, @-1 of a single version) are left out by looking
 * them up. .raw is not listed within itself, where it has no end, nor is F:Q,
 * of which a row has one a column.
 */
#ifndef CELLFS_FS_TREE_FIXED_H
#define CELLFS_FS_TREE_FIXED_H

#include "fs/tree/place.h"

/*
 * The kind that the name is by such a meaning in the directory, or NODE_ROOT
 * when it has none there.
 */
uint8_t fixed_kind(const struct place *dir, struct bytes name);
/* By index; NULL after the last. One that cannot be looked up is not there. */
const char *fixed_name(const struct fs *fs, const struct place *dir,
		       uint64_t i);
/* The words with a dot that mean something anywhere, by index; then NULL. */
const char *fixed_word(unsigned i);
bool fixed_is_word(const char *name);

#endif
