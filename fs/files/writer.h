/*
 * Files being written, and scratch files.
 *
 * A writer is an open handle that gathers what is written and publishes it
 * whole as one version: readers see the old value or the new one. A scratch
 * file is one whose content stays in memory; .schema is one whose content is
 * applied to the table.
 *
 *	OPEN, FLUSH, WRITE, FLUSH, RELEASE	echo a > f
 *		       publish ^
 *	OPEN, FLUSH, WRITE, FLUSH, WRITE, FLUSH	(echo a; echo b) > f
 *		   publish ^	 replace ^
 *	OPEN(TRUNC), FLUSH, FLUSH, RELEASE	: > f
 *			   publish empty ^
 *
 * So: FLUSH publishes if something was written since; a truncation that
 * nothing followed is owed until RELEASE or fsync. One open makes at most one
 * version: its timestamp is kept, and what is published later replaces it. Where
 * that version of F:Q or latest has gone meanwhile (expired, pushed out by those
 * of others, deleted) the next one gets a timestamp of its own.
 *
 * The process that created a file sees it at once, all others when it is
 * published: until then their look-ups find nothing, and their creates find the
 * file. The process that writes a file sees the length of the draft, all others
 * the length of what is stored.
 *
 * Opened with O_APPEND the old content is not read at all: the store puts what
 * was written behind what the file has by then, so that of several writers none
 * is lost; that of .schema is read when it is published. Opened without O_TRUNC
 * it is read when it is first needed.
 *
 * All errors that can be known at open or write are given there, since many
 * programs do not look at close(2).
 *
 * Threads: a writer has a lock, held over store calls, for which a request waits no
 * longer than its caller is there (patience_lock()); the registry of writers
 * has its own, taken inside it. A writer is reference-counted: the handle has
 * one reference, and each thread that has found the writer by its node has one.
 */
#ifndef CELLFS_FS_FILES_WRITER_H
#define CELLFS_FS_FILES_WRITER_H

#include <sys/stat.h>

#include "fs/kernel/fuse.h"

#include "fs/kernel/handle.h"
#include "fs/tree/place.h"

/*
 * op_open() hands over every open that can write, and every open of a scratch
 * file. On 0 fi->fh and the flags are set. -ESTALE: it was removed or renamed since
 * the kernel's look-up (gone.h). The place stays the caller's.
 */
int writer_open(struct fs *fs, fuse_req_t req, struct place *p,
		struct fuse_file_info *fi);
/*
 * The same for a file that CREATE has just made: nothing is in the store
 * before it is published, but the node (p->node) is seen as a file.
 */
int writer_create(struct fs *fs, fuse_req_t req, struct place *p,
		  struct fuse_file_info *fi);
/* truncate(2) of a file that is not open: one version, at once. -ESTALE as above. */
int writer_truncate_path(struct fs *fs, fuse_req_t req, const struct place *p,
			 off_t size);
/*
 * These fill *st, which place_stat_blank() has begun: 1, or 0 when the store
 * has the last word.
 *
 * Size, times and mode of a scratch file.
 */
int writer_stat_scratch(struct fs *fs, uint64_t node, struct stat *st);
/*
 * Who may rename a scratch file, or a directory of such, need not be who may read it,
 * and what it becomes is for all who may read the table: 0, or -EACCES if its mode does
 * not let who asks read it, or search it.
 */
int writer_may_read(struct fs *fs, fuse_req_t req, uint64_t node);
/* Of a file that was created and is not published. */
int writer_stat_pending(struct fs *fs, uint64_t node, struct stat *st);
/*
 * The size to who writes the file: of the draft of the handle @f, if it is a
 * writer's; else, as fstat(2) comes without a handle, of one that @asker's
 * process has opened and not published; of any, when the file was unlinked.
 */
int writer_stat_draft(struct fs *fs, const struct place *p,
		      const struct open_file *f, pid_t asker, struct stat *st);
/*
 * Is the node a file that was created and not published, by another process
 * than @asker's? One that was closed with nothing written is about to be
 * released, or written by a shell: that is waited for, for a moment.
 */
bool writer_hides(struct fs *fs, uint64_t node, pid_t asker);
/* Has the node an open writer? Its attributes are not to be kept then. */
bool writer_is_open(struct fs *fs, uint64_t node);
/*
 * close(2) does not wait for the RELEASE that follows it. If all writers of the node
 * were closed a moment ago, waits for theirs, for a moment: one can be open elsewhere.
 */
void writer_await_release(struct fs *fs, uint64_t node);
/*
 * Must an open for reading go to writer_open() too: is the node a file that
 * was created and that the store does not have yet?
 */
bool writer_wants(struct fs *fs, uint64_t node);
/* Is there one that the process of @asker makes? */
bool writer_makes(struct fs *fs, uint64_t node, pid_t asker);

/*
 * What has become of the name by which a file was opened:
 *
 *	NAMED ──┬── removed, or another file has it ──> REMOVED
 *		└── the file has another one ─────────> MOVED
 */
enum writer_state {
	WRITER_NAMED,	/* nothing, or what was tried has failed */
	WRITER_REMOVED, /* it is read and written on, and never published */
	WRITER_MOVED,	/* what is written is refused */
};

/* The writers of a file that is to be removed, renamed or replaced. */
struct writers {
	struct fs *fs;
	uint64_t node;
	struct writer *first; /* those that wait */
	bool pending;	      /* there is a created file that only they know */
	struct writers *next; /* write_state.held */
};

/*
 * Has the file's writers, and who opens it, wait until writers_end() says what has
 * become of it. Who holds two files begins with the lesser node. @node 0 has none.
 * 0; or -EINTR, the caller is gone (patience.h), and it has none.
 */
int writers_hold(struct fs *fs, uint64_t node, struct writers *held);
/* Publishes what they owe: 0, or the first error, and then they owe it still. */
int writers_settle(struct writers *held);
void writers_end(struct writers *held, enum writer_state became);

#endif
