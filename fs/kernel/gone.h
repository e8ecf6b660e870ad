/*
 * Files that went while the kernel was on its way to them.
 *
 * ESTALE has the kernel walk the path again, and look-ups say what is there:
 * nothing, another file, or that it is to be made, if open(2) has O_CREAT, which
 * OPEN does not bring. It does so once; a second ESTALE is the program's, which
 * does not know it. So who was told ESTALE of a file and comes to it again is
 * told ENOENT, which is as true:
 *
 *	LOOKUP  OPEN=ESTALE  LOOKUP  OPEN=ENOENT
 *	LOOKUP  OPEN=ESTALE  LOOKUP  OPEN		forgotten
 *	LOOKUP  OPEN=ESTALE  LOOKUP=ENOENT  CREATE	forgotten
 *	LOOKUP  OPEN=ESTALE  LOOKUP=ENOENT		the next OPEN is ENOENT
 *
 * (A look-up forgets nothing: the kernel asks by several in one walk.)
 *
 * Threads share slots by their number: then one of them may forget for the
 * other, which gets ESTALE again. Any thread, no lock.
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

/* What to tell the thread @who of the file @ino: -ESTALE or -ENOENT. */
int gone_tell(struct gone *g, pid_t who, uint64_t ino);
/* It has got a file. */
void gone_forget(struct gone *g, pid_t who);

#endif
