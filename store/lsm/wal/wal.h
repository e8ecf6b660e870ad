/*
 * The write-ahead log: what was acknowledged and is not yet in an sstable.
 *
 * A stream of records over preallocated segment files wal-N.log. A record is
 * acknowledged when it is in the ring, a small file mapped into memory that
 * outlives the process; it is durable when it is in the segment on disk.
 *
 *	append ──▶ ring (mapped,     ──▶ page cache ──▶ fdatasync ──▶ segment
 *		   survives kill -9) ──▶ one write past it ─────────▶
 *
 * What a sync finds in the ring alone, if it is not much, it writes past the
 * page cache, in blocks that are durable when the write returns. The rest goes
 * through it, and all where the filesystem has no such writes.
 *
 * Threads: wal_append() and wal_rotate() under the caller's commit lock.
 * wal_sync() from any thread: callers that wait gather behind one sync.
 *
 * After a failed write or sync the log takes nothing more (-EROFS): what a
 * failed sync has lost cannot be asked for again.
 */
#ifndef CELLFS_STORE_LSM_WAL_WAL_H
#define CELLFS_STORE_LSM_WAL_WAL_H

#include "store/os/os.h"
#include "store/value/bytes.h"

struct wal;

struct wal_options {
	size_t segment_bytes; /* 0 = 64 MiB, less on a small disk */
	size_t ring_bytes;    /* 0 = 1 MiB, less with small segments */
	bool reserve;	      /* keep a segment back: wal_lend() */
};

/*
 * Replays every record of segments numbered >= @first_segment, in order, then
 * what the ring holds beyond them, and opens the log for appending after the
 * last good record (unless @read_only).
 *
 * @replay gets each record once; a negative return ends the opening with it.
 * A bad record with nothing behind it that knows it to have been durable is
 * the torn tail of a crash: it was never acknowledged as durable, and is
 * dropped with all behind it. One below a point that is known to have been
 * durable is damage: -EUCLEAN with file and offset, also after some records
 * were given to @replay.
 *
 * Segments below @first_segment are removed unread, so that it must come from
 * where it is durable (the manifest).
 */
int wal_open(struct os_dir *dir, const struct wal_options *o,
	     uint64_t first_segment, bool read_only,
	     int (*replay)(void *arg, uint64_t segment, struct bytes record),
	     void *arg, struct wal **out);
/* Syncs unless the log has failed (-EROFS); frees always. */
int wal_close(struct wal *w);
/* As the death of the process: frees, writes nothing. For tests. */
void wal_abandon(struct wal *w);

/*
 * Appends one record; *lsn is the position to hand to wal_sync(). When it
 * returns 0 the record survives the death of the process.
 * @parts are written one after the other (a gather).
 *
 * When a new segment is needed and finds no space, memory or descriptor, the
 * log is as it was (wal_health() is 0), and works again once there is some.
 */
int wal_append(struct wal *w, const struct bytes *parts, size_t nparts,
	       uint64_t *lsn);
/* Returns when all up to @lsn is durable. Group commit. */
int wal_sync(struct wal *w, uint64_t lsn);
/* The position behind the last record. */
uint64_t wal_end(struct wal *w);

/*
 * Starts a new segment; *segment is its number: records from now on lie in
 * segments >= it.
 */
int wal_rotate(struct wal *w, uint64_t *segment);
/*
 * Segments below @segment are not needed any more (recycled or removed): what
 * says so must be durable before.
 */
int wal_release(struct wal *w, uint64_t segment);

/*
 * Copies the ring to the segment and syncs if anything is older than the
 * last sync: the store's timer calls it so that unsynced puts reach the disk
 * within a second.
 */
int wal_tick(struct wal *w);
/*
 * Makes the next segment ahead of time, and the reserve; wal_tick() does so
 * too. No space is no failure, but wal_low().
 */
int wal_prepare(struct wal *w);
/*
 * Found no space for the next segment or the reserve: appending works for what
 * there is. Whoever now takes only what frees space, such as deletes, keeps
 * that possible.
 */
bool wal_low(struct wal *w);
/*
 * Is low, and has no more than half a segment of room: the deletes need that.
 * By the appender.
 */
bool wal_spent(struct wal *w);
/* 0, or -EROFS with the reason once it has failed. */
int wal_health(struct wal *w);
/*
 * Gives back to the disk what is kept for a moment when it is full: the
 * reserve, else the next segment. 1, or 0 if there is neither. Until
 * wal_repay() it is not made again; the log is low until wal_prepare() has
 * then found space for both.
 */
int wal_lend(struct wal *w);
void wal_repay(struct wal *w, unsigned loans);
/* What wal_lend() can give, in bytes. */
uint64_t wal_lendable(struct wal *w);

/*
 * What a piece that is to have @bytes may have on this disk: of a small one no
 * more than a 32nd, but @least.
 */
size_t wal_fit(struct os_dir *dir, size_t bytes, size_t least);

struct wal_stat {
	uint64_t records, bytes, syncs, segments, recycled;
	uint64_t replayed; /* segments, when it was opened */
	int failed;
};
void wal_stat(struct wal *w, struct wal_stat *out);

/*
 * Verifies the segments and the ring of a store that nobody has open; a
 * sentence for each fault. Returns how many, or a negative errno.
 */
int wal_check(struct os_dir *dir, uint64_t first_segment,
	      void (*say)(void *arg, const char *sentence), void *arg);

#endif
