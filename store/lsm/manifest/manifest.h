/*
 * The manifest: the catalog on disk.
 *
 * Each edit writes the catalog whole, some 150 bytes a table file: to
 * CATALOG.new, which is synced and renamed to CATALOG-N, and so made the newest
 * generation; then the directory is synced. Names of tables and schemas are part
 * of it, so a change of schema and of files is one atomic, durable act.
 *
 * The generation before is kept, as CATALOG-N.old, unless a disk that is full,
 * or has no inodes left, needs its space for the next one.
 *
 * Opening reads the newest generation only. A crash never leaves it half
 * written, so one that does not check is damage, and the one before is no
 * replacement: it lacks the newest tables and files. It is kept for people who
 * decide that it is better than nothing. Its name is another, so that it is not
 * taken for the newest one when that is lost.
 *
 * A store of format 4 is read by manifest_old.h. Nothing of it is written before
 * the first edit, which writes CATALOG-1; its own files go after that.
 *
 * Threads: the caller serialises (the store's catalog lock).
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_MANIFEST_H
#define CELLFS_STORE_LSM_MANIFEST_MANIFEST_H

#include "store/lsm/manifest/catalog.h"

struct manifest;

/*
 * Reads the newest generation; with @create makes an empty store where the
 * directory holds nothing. Nothing else is written.
 * -ENOENT: no store here. -EPROTONOSUPPORT: newer format, nothing touched.
 * -ENOTEMPTY: the directory holds other things. -EUCLEAN: damage, said where.
 */
int manifest_open(struct os_dir *dir, bool create, bool read_only,
		  struct manifest **out);
void manifest_close(struct manifest *m);
/* The values behind it go with the next commit. */
const struct catalog *manifest_catalog(const struct manifest *m);
/*
 * Makes the edit durable, then the catalog what it makes of it.
 *
 * -EINVAL, -EEXIST: as catalog_after(); no memory, space or descriptor, -EFBIG.
 * Where manifest_failed() then says no, the store is as it was and the next
 * commit may succeed.
 *
 * Else a write or sync has failed: every further commit is -EROFS, and a later
 * open may show the edit or not. So files that a failed edit adds must stay
 * until the next open, which knows.
 */
int manifest_commit(struct manifest *m, const struct edit *e);
/*
 * Makes @c durable in the place of all that there is, which files and trees of it
 * are part of; as manifest_commit().
 */
int manifest_replace(struct manifest *m, const struct catalog *c);
/*
 * The newest generation as it is on the disk, for who copies the store: its name
 * (CATALOG_NAME_LEN bytes), its bytes behind those in @image, and the store's number. -EOPNOTSUPP: nothing
 * of this format has been written yet.
 */
int manifest_image(const struct manifest *m, char *name, struct buf *image,
		   uint64_t *store);
/* Is that of this format? */
bool manifest_is_new(const struct manifest *m);
/* Is the newest generation on the disk as it was written, and that one? */
int manifest_check(const struct manifest *m);
bool manifest_failed(const struct manifest *m);
/* Is the generation before the newest sound, if there is one? 0 or -EUCLEAN. */
int manifest_check_previous(const struct manifest *m);
/*
 * Does the store need the file of this name? For clean-up: false for sstables
 * and generations that are no longer part of it and for what an edit that was
 * cut short left, true for all that is not the manifest's to judge.
 */
bool manifest_is_current(const struct manifest *m, const char *name);

#endif
