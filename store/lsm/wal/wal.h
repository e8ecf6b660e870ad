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
 * A sync writes a small amount of data that only the ring holds past the page
 * cache, in blocks that are durable when the write returns. Larger amounts are
 * written through the page cache, as is everything on a filesystem without
 * O_DIRECT.
 *
 * Threads: wal_append() and wal_rotate() under the caller's commit lock.
 * wal_sync() from any thread: callers that wait gather behind one sync.
 *
 * After a failed write or sync the log takes nothing more (-EROFS): data that a
 * failed sync lost cannot be written again by a second sync.
 */
#ifndef CELLFS_STORE_LSM_WAL_WAL_H
#define CELLFS_STORE_LSM_WAL_WAL_H

#include "store/os/os.h"
#include "store/value/bytes.h"

struct wal;

struct wal_options {
	size_t segment_bytes;	/* 0 = 64 MiB, less on a small disk */
	size_t ring_bytes;	/* 0 = 1 MiB, less with small segments */
	bool reserve;		/* keep a segment back: wal_lend() */
	uint64_t keep, keep_id; /* wal_keep() */
};

/*
 * Replays every record of segments numbered >= @first_segment, in order, then
 * what the ring holds beyond them, and opens the log for appending after the
 * last good record (unless @read_only).
 *
 * @replay gets each record once; a negative return ends the opening with it. A
 * bad record is the torn tail of a crash if no later record says that it was
 * durable: it was never acknowledged as durable, and is dropped with all
 * records after it. A bad record below a position that was durable is damage:
 * -EUCLEAN with file and offset, also after some records were given to @replay.
 *
 * Segments below @first_segment are removed unread, so @first_segment must
 * itself be durable (in the catalog).
 */
int wal_open(struct os_dir *dir, const struct wal_options *o,
	     uint64_t first_segment, bool read_only,
	     int (*replay)(void *arg, uint64_t segment, struct bytes record),
	     void *arg, struct wal **out);
/* Syncs unless the log has failed (-EROFS); frees always. */
int wal_close(struct wal *w);
/* Frees everything and writes nothing, as if the process died. For tests. */
void wal_abandon(struct wal *w);

/*
 * Appends one record; *lsn is the position to pass to wal_sync(). When it
 * returns 0 the record survives the death of the process. The payload is @parts
 * joined together.
 *
 * If a new segment is needed and there is no space, memory or descriptor for
 * it, the append fails and the log is unchanged (wal_health() is 0): it works
 * again once there is some.
 */
int wal_append(struct wal *w, const struct bytes *parts, size_t nparts,
	       uint64_t *lsn);
/*
 * Returns when everything up to @lsn is durable. One sync serves many callers.
 */
int wal_sync(struct wal *w, uint64_t lsn);
/* The position after the last record. */
uint64_t wal_end(struct wal *w);

/*
 * Starts a new segment; *segment is its number. Later records are written to
 * segment *segment or a higher one.
 */
int wal_rotate(struct wal *w, uint64_t *segment);
/*
 * Recycles or removes the segments below @segment. The caller must first make
 * durable that they are not needed.
 */
int wal_release(struct wal *w, uint64_t segment);

/*
 * Keeps the segments that there are from being recycled and removed, until
 * wal_let_go(), which each successful call needs; the next wal_release() then
 * takes them. *end is the number, and *pos the position, behind all that was
 * appended until now, which is durable and does not change any more: what comes
 * is written to segment *end or a higher one. Under the caller's commit lock. A
 * log that is open to read is all held.
 */
int wal_hold(struct wal *w, uint64_t *end, uint64_t *pos);
void wal_let_go(struct wal *w);

/*
 * From now on segments that are released stay as kept-ID-N.log, the newest of them
 * that are @bytes together; 0: none. What is beyond that goes, and what there is
 * goes also where space is short. @id: a random number, new when keeping begins.
 */
void wal_keep(struct wal *w, uint64_t bytes, uint64_t id);
/* Kept segments begin so; their bytes are those of segment N up to its end. */
#define WAL_KEPT "kept-"
#define WAL_KEPT_NAME_BYTES 43
void wal_kept_name(char name[WAL_KEPT_NAME_BYTES], uint64_t id,
		   uint64_t number);
/* False if @name is not the name of one. */
bool wal_kept_number(const char *name, uint64_t *id, uint64_t *number);

/* A file of the log, as who copies it must know it. */
struct wal_file {
	char name[WAL_KEPT_NAME_BYTES];
	uint64_t bytes; /* from its beginning; what follows is zeros */
	uint64_t size;
};
/*
 * Calls @each for the files that hold what was appended from segment @first on up
 * to what wal_hold() gave, and for segments before it that are to be kept and are
 * not yet. A negative return ends it.
 */
int wal_files(struct wal *w, uint64_t first, uint64_t end, uint64_t pos,
	      int (*each)(void *arg, const struct wal_file *f), void *arg);

/*
 * The same for those that are kept, in no order. One that goes meanwhile is passed
 * over.
 */
int wal_kept_files(struct os_dir *dir,
		   int (*each)(void *arg, const struct wal_file *f), void *arg);
/*
 * Verifies a kept segment from *at on, 0 at first, and sets it behind what it has
 * read, about @bytes. 1: there is more; 0: it is whole. -EUCLEAN says where it is
 * not, or cannot be read, and what that means; -ENOENT: it is gone.
 */
int wal_kept_check(struct os_dir *dir, const char *name, uint64_t *at,
		   uint64_t bytes);

/*
 * Copies the ring to the segment and syncs if there is unsynced data. The
 * store's timer calls it, so that unsynced puts are durable within a second.
 */
int wal_tick(struct wal *w);
/*
 * Makes the next segment and the reserve ahead of time, as wal_tick() does. A
 * full disk is no failure: it sets wal_low().
 */
int wal_prepare(struct wal *w);
/*
 * True if there was no space for the next segment or the reserve. Appending
 * works while the present segments have space. A caller that now admits only
 * changes that free space, such as deletes, saves that space for them.
 */
bool wal_low(struct wal *w);
/*
 * True if the log is low and at most half a segment is left, which deletes
 * need. Only the appender may call this.
 */
bool wal_spent(struct wal *w);
/* 0, or -EROFS with the reason if the log has failed. */
int wal_health(struct wal *w);
/*
 * Frees disk space when the disk is full: removes the oldest that is kept, else
 * the reserve, else the next segment. 1, or 0 if there is none. Neither of the
 * last two is made again before wal_repay(), and the log is low until
 * wal_prepare() has found space for both.
 */
int wal_lend(struct wal *w);
void wal_repay(struct wal *w, unsigned loans);
/* The bytes that wal_lend() can free. */
uint64_t wal_lendable(struct wal *w);

/*
 * The size of a file on this disk that should have @bytes: at most a 32nd of a
 * small disk, but no less than @least.
 */
size_t wal_fit(struct os_dir *dir, size_t bytes, size_t least);

struct wal_stat {
	uint64_t records, bytes, syncs, segments, recycled, kept_bytes;
	uint64_t replayed; /* segments replayed by wal_open() */
	int failed;
};
void wal_stat(struct wal *w, struct wal_stat *out);

/*
 * Verifies the segments and the ring of a store that no process has open; calls
 * @say with a sentence for each fault. Returns the number of faults, or a
 * negative errno.
 */
int wal_check(struct os_dir *dir, uint64_t first_segment,
	      void (*say)(void *arg, const char *sentence), void *arg);

#endif
