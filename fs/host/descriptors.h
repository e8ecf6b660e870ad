/*
 * The descriptors that a program inherits.
 *
 * They may do harm in two ways. An inherited descriptor stays open as long as a
 * daemon lives, and a reader of the other end of a pipe waits that long. And if
 * 0, 1 or 2 is closed, the next file opened, which may be the store's lock or
 * its log, gets that number, and output is written to it.
 *
 * The first two functions are called before the program opens any file.
 */
#ifndef CELLFS_FS_HOST_DESCRIPTORS_H
#define CELLFS_FS_HOST_DESCRIPTORS_H

/*
 * Opens /dev/null as stdin, stdout and stderr if they are closed, so that the
 * numbers are taken, and reading or writing them fails as before.
 */
void descriptors_fill(void);
/*
 * close_range(2), which not every C library has: closes @first up to and with
 * @last. 0, or -1 with errno: ENOSYS before Linux 5.9.
 */
int descriptors_close_range(unsigned first, unsigned last);
/* Closes all descriptors after stderr except @keep. */
void descriptors_close(int keep);
/*
 * Releases the caller's stdin, stdout and stderr, when the caller's command is
 * done. A thread with its own file table does so for itself.
 */
void descriptors_silence(void);

#endif
