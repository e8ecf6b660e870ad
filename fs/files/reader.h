/*
 * A file open for reading: one value, whole.
 *
 * A handle reads one version from its first byte to its last, whatever is
 * written, removed or expires meanwhile: the value is fetched at open. All who
 * have a long one open share a copy of it (values.h).
 *
 * The kernel caches what it reads of a file, for all who have it open: while they
 * have one content (nodes_cache()), and nobody writes it.
 */
#ifndef CELLFS_FS_FILES_READER_H
#define CELLFS_FS_FILES_READER_H

#include "fs/tree/fs.h"

/* Takes over @p's content on success, and sets @fi. A negative errno. */
int reader_open_place(struct fs *fs, struct place *p,
		      struct fuse_file_info *fi);
/*
 * Attributes of a file that is gone, from a reader that has the node open: 1; 0
 * when there is none. Looks at all handles.
 */
int reader_stat_gone(struct fs *fs, uint64_t node, struct stat *st);
/*
 * In a store that others share: attributes of a version as who opened it to be read
 * has just found them, *age_s seconds ago, which is as long as the kernel may believe
 * them; and nothing has changed here since. For the question that each such open
 * makes the kernel ask. Looks at all handles.
 */
bool reader_stat_fresh(struct fs *fs, const struct place *p, struct stat *st,
		       double *age_s);
/*
 * The file has the attributes @st now. Does the kernel cache it for readers with
 * another size, since who has put it again is about to tell? Then *older is theirs.
 */
bool reader_stat_older(struct fs *fs, const struct place *p,
		       const struct stat *st, struct stat *older);

#endif
