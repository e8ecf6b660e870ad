/*
 * The descriptors that a program begins with.
 *
 * Two things of the caller's may do harm. A descriptor that it left open stays
 * so for as long as a daemon lives, and who reads the other end of a pipe waits
 * that long. And where 0, 1 or 2 is closed, the next file opened, which may be
 * the store's lock or its log, gets that number: what is printed goes there.
 *
 * The first two are called before anything of the program's own is open.
 */
#ifndef CELLFS_FS_HOST_DESCRIPTORS_H
#define CELLFS_FS_HOST_DESCRIPTORS_H

/*
 * Opens /dev/null as stdin, stdout and stderr where they are closed: so that
 * they are taken, and reading or writing them fails as before.
 */
void descriptors_fill(void);
/* Closes all behind stderr but @keep. */
void descriptors_close(int keep);
/*
 * Lets go of the caller's stdin, stdout and stderr: later, when what the caller
 * waits for is done. A thread with files of its own does so for itself.
 */
void descriptors_silence(void);

#endif
