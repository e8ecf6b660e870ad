/*
 * Files that were removed between the kernel's look-up and its open.
 *
 * On ESTALE the kernel walks the path again, and its look-ups find nothing,
 * another file, or that the file is to be made if open(2) has O_CREAT, which
 * the request OPEN does not say. The kernel retries only once: it passes a
 * second ESTALE to the program, which does not expect it. So a thread that got
 * ESTALE for a file and opens it again gets ENOENT, which is as true:
 *
 *	LOOKUP  OPEN=ESTALE  LOOKUP  OPEN=ENOENT
 *	LOOKUP  OPEN=ESTALE  LOOKUP  OPEN		forgotten
 *	LOOKUP  OPEN=ESTALE  LOOKUP=ENOENT  CREATE	forgotten
 *	LOOKUP  OPEN=ESTALE  LOOKUP=ENOENT		the next OPEN is ENOENT
 *
 * (A look-up does not forget: the kernel sends several in one walk.)
 *
 * Threads whose numbers share a slot may forget for each other: the other one
 * gets ESTALE again. Any thread, no lock.
 */
#ifndef CELLFS_FS_KERNEL_GONE_H
#define CELLFS_FS_KERNEL_GONE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define GONE_SLOTS 256

struct gone {
	_Atomic uint64_t
		told[GONE_SLOTS]; /* of whom and which file; 0 = none */
};

/* The error for thread @who and file @ino: -ESTALE or -ENOENT. */
int gone_tell(struct gone *g, pid_t who, uint64_t ino);
/* The thread has opened a file. */
void gone_forget(struct gone *g, pid_t who);

#endif
