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
 * (A look-up of another file does not forget: the kernel sends several in one
 * walk.)
 *
 * F:Q is believed for long, so a walk may begin with a request for the attributes
 * of a file that went long ago, and open(2) with O_CREAT must not get ENOENT
 * then. Whichever request got the ESTALE, the next walk asks for the name (again
 * when it is absent the first time), then for attributes, as it may not believe
 * those of the look-up, and then it may open. So the same record says how far that
 * walk is, and no request of it gets ESTALE again:
 *
 *	ESTALE	LOOKUP		GETATTR		OPEN, or the end
 *	ESTALE	LOOKUP		GETATTR		gone again: OPEN=ENOENT
 *	ESTALE	LOOKUP		gone again: it is seen as a file without a link
 *	ESTALE	LOOKUP=ENOENT	LOOKUP		as above
 *	ESTALE	LOOKUP=ENOENT	LOOKUP=ENOENT	the end, or a LOOKUP as above
 *
 * Threads share their look-ups: one may ask for attributes of what another has
 * found, and a second time, as it may not believe them. So a GETATTR where none is
 * due begins a walk of its own only if that cannot be the same one any more
 * (GONE_WALK_MS).
 *
 * A walk that found nothing twice has mostly ended. But where other threads make
 * and look the name up meanwhile, the kernel tries each of their dentries before it
 * asks again by itself, so a third look-up can find it. Attributes that are asked
 * for without such a look-up are of the next walk.
 *
 * An OPEN mostly follows a look-up that found the file, and need not ask the store
 * once more if the row is what it was then.
 *
 * Threads whose numbers share a slot may forget for each other: the other one
 * gets ESTALE again. Any thread, no lock.
 */
#ifndef CELLFS_FS_KERNEL_GONE_H
#define CELLFS_FS_KERNEL_GONE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GONE_SLOTS 256
#define GONE_WALK_MS 100

struct gone {
	/* Of whom, which file, and how far it has come since; 0 = none. */
	_Atomic uint64_t told[GONE_SLOTS];
	_Atomic int64_t at_ms[GONE_SLOTS]; /* when it got its ESTALE */
	/* Which file was found, and when its row was last changed before that. */
	_Atomic uint64_t found[GONE_SLOTS];
	/* Which file was renewed, and when. */
	_Atomic uint64_t renewed[GONE_SLOTS];
};

/*
 * A look-up found the file @node; changes_last() of its row was @last before it began.
 * While that is the same, the file is still there (changes.h), if the store is no other
 * client's too and nothing in the table expires: of others nothing is to be said.
 */
void gone_saw(struct gone *g, uint64_t node, uint64_t last);
bool gone_stays(struct gone *g, uint64_t node, uint64_t last);

/*
 * The error for thread @who and file @ino (place_walked()): -ESTALE or -ENOENT.
 * @now_ms: of any clock that does not go back.
 */
int gone_tell(struct gone *g, pid_t who, uint64_t ino, int64_t now_ms);
/*
 * The file @ino has got a new node (nodes_renew()), on which a thread that got ESTALE
 * is to find no reader: for how long, the caller need not know.
 */
void gone_renewed(struct gone *g, uint64_t ino, int64_t now_ms);
bool gone_is_renewed(struct gone *g, uint64_t ino, int64_t now_ms);
/* The thread has opened a file. */
void gone_forget(struct gone *g, pid_t who);

/*
 * F:Q has gone, of which thread @who asks for attributes: false for ESTALE; true
 * when the thread was told so already, in what can be the same walk.
 */
bool gone_again(struct gone *g, pid_t who, uint64_t ino, int64_t now_ms);
/*
 * The thread looks F:Q up, which is @present or not: may the answer be believed?
 */
bool gone_looked_up(struct gone *g, pid_t who, uint64_t ino, bool present,
		    int64_t now_ms);
/* The thread got attributes of F:Q, and may open it next. */
void gone_found(struct gone *g, pid_t who, uint64_t ino, int64_t now_ms);

#endif
