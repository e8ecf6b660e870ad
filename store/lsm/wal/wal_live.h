/*
 * The insides of an open log, shared by wal.c (records), wal_sync.c (who does
 * the syncs), wal_write.c (how bytes get to the disk) and wal_segment.c (the
 * files that they go to).
 *
 *	position:   synced ≤ drained ≤ end
 *	on disk	 ───┘	      │	       │
 *	in the segment's page cache    │
 *	in the ring ───────────────────┘	end - drained ≤ ring_bytes
 *
 * One thread at a time appends (the caller's commit lock): it alone moves end,
 * changes the active segment and calls random. Anybody may drain and sync.
 *
 * Lock order: spare_lock, lock. Under lock the segment is written, which goes
 * to the page cache; the sync itself runs outside, by one leader at a time
 * (syncing), while others wait on synced_cond or go on appending.
 *
 * A sync is either fdatasync, or one write of whole blocks past the page cache:
 *
 *	block	│ durable ┊ from the ring │	...	│ ring ┊ zeros │ ...
 *	stream		synced				      target
 *
 * The page cache and such a write are not to meet, since the kernel does not
 * order them for us: a page could be written back over newer blocks, or be
 * thrown away with what only it has. Hence the rule:
 *   - The leader writes directly only when all that was drained is synced, so
 *     that no page of the blocks it writes is dirty.
 *   - While it does (direct.busy) nobody writes to the segment otherwise. Who
 *     has to, waits in wal_await_cache(); a leader who finds somebody there
 *     takes the way of fdatasync, so that nobody waits for more than one write.
 *   - The block of the segment's head and mark has no records: only the page
 *     cache writes it.
 * The ring goes on taking records meanwhile, until it is full.
 *
 * Behind target it writes zeros, to the end of the block or more. Nothing of
 * the segment can be there (drained was at synced), so that for the replay it
 * is as what a recycled file holds: no record.
 */
#ifndef CELLFS_STORE_LSM_WAL_WAL_LIVE_H
#define CELLFS_STORE_LSM_WAL_WAL_LIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_format.h"
#include "store/lsm/wal/wal_replay.h"

/* Records up to this size are put together before they are stored. */
#define WAL_SMALL_BYTES ((size_t)64 << 10)

/*
 * Who syncs. While the disk works for some, others come; when it is done the
 * first go off and are soon back with more. A leader who began at once would
 * leave them for the next sync, and two half crowds would take turns. So the
 * first to come sleeps until as many have come as were there when the last
 * sync ended, a fraction of the time that one takes, and the last to come
 * leads, so that nobody has to be woken before the disk works. When they do not
 * come, the first leads, and the next ones do so without waiting.
 */
struct wal_crowd {
	unsigned waiting;   /* inside wal_sync(), the leader too */
	unsigned leaving;   /* of them, those whose records are durable */
	unsigned size;	    /* how many waited when the last sync ended */
	unsigned impatient; /* so many syncs begin at once */
	uint64_t clocks;    /* looked at until now */
	uint64_t clock;	    /* which of them the first looks at; 0: none */
	uint64_t sync_ns;   /* the last one took */
};

/* What is more goes through the page cache. A multiple of the block. */
#define WAL_DIRECT_BYTES ((size_t)256 << 10)

/* Zeros that a small one takes along. */
#define WAL_AHEAD_BYTES ((size_t)64 << 10)

struct wal_direct {
	struct os_file *file; /* the active segment once more, or NULL */
	bool busy;	      /* the leader writes to it; under lock */
	unsigned awaited;     /* inside wal_await_cache(); under lock */
	/* The leader's; what it wrote last is kept to begin the next. */
	uint8_t *image;
	uint64_t tail;	  /* the image has the last block of what ends here */
	uint64_t written; /* up to this offset blocks are more than allocated */
};

struct wal {
	struct os_dir *dir;
	size_t segment_bytes;
	size_t ring_bytes;    /* 0: there is no ring, all is written at once */
	uint64_t drain_bytes; /* drain when this much is only in the ring */
	bool read_only;

	/* The appender's. */
	struct os_file *ring;
	uint8_t *small; /* WAL_SMALL_BYTES */
	_Atomic uint64_t records, bytes;
	_Atomic uint64_t end; /* the appender writes, all read */

	pthread_mutex_t lock;
	pthread_cond_t synced_cond;
	/* Under lock; atomic ones are read without. */
	struct os_file *file; /* the active segment, NULL = none yet */
	struct wal_head head; /* of it; the appender reads without lock */
	uint64_t marked;      /* what its mark says */
	uint64_t begun;	      /* the disk has begun with all before it */
	bool syncing;	      /* a leader is outside; file stays */
	struct wal_crowd crowd;
	struct wal_direct direct;
	_Atomic uint64_t drained, synced;
	_Atomic int failed; /* errno of what failed first, for good */
	char sentence[512]; /* why */
	uint64_t first;	    /* segments first..next-1 exist */
	uint64_t next;	    /* number of the segment to be made next */
	uint64_t syncs, recycled;
	uint64_t replayed; /* segments, by wal_open() */

	pthread_mutex_t spare_lock;
	/* Under spare_lock: allocated ahead, and what is kept back. */
	struct os_file *spare, *reserve;
	bool keeps_reserve;
	size_t reserve_bytes;
	unsigned loans;		   /* of wal_lend(); under spare_lock */
	_Atomic bool spare_failed; /* no space for one of them */
};

static inline uint64_t wal_offset(const struct wal *w, uint64_t pos)
{
	return pos - w->head.start + WAL_BLOCK_BYTES;
}

/* Records the failure of the thread's last call; returns -EROFS. */
int wal_fail(struct wal *w, int err);
int wal_fail_locked(struct wal *w, int err);
/* -EROFS with the sentence if the log has failed or is read-only. */
int wal_refused(struct wal *w);

/*
 * Until the lock, which it lets go, is let go again nobody writes directly. All
 * that writes to the segment through the page cache comes behind it. Under
 * lock; -EROFS if the log has failed.
 */
int wal_await_cache(struct wal *w);
/* Copies what only the ring has to the segment. Under lock. */
int wal_drain(struct wal *w);
/*
 * The page cache has all up to @pos: lets the disk begin with it. Under lock.
 */
void wal_drained_to(struct wal *w, uint64_t pos);
/* Notes in the segment's first block up to where it is durable. Under lock. */
int wal_write_mark(struct wal *w);

int wal_direct_init(struct wal_direct *d);
void wal_direct_free(struct wal_direct *d);
/* May what is between synced and @target be written directly? Under lock. */
bool wal_direct_fits(const struct wal *w, uint64_t target);
/* Does so. By the leader, who has said busy, without lock. */
int wal_direct_write(struct wal *w, uint64_t target);

/* Makes room for a record of @size in the stream. By the appender. */
int wal_make_room(struct wal *w, uint64_t size);
/*
 * Has room for the next small record, in a segment that exists, before anybody
 * asks for it: who cannot be told any more that there is none loses nothing. A
 * failure is the log's, not the caller's. By the appender.
 */
void wal_make_ready(struct wal *w);
/* Ends the active segment: all in it is durable when it returns 0. */
int wal_seal(struct wal *w);

#endif
