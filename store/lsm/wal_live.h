/*
 * The insides of an open log, shared by wal.c (records and syncs) and
 * wal_segment.c (the files that they go to).
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
 */
#ifndef CELLFS_STORE_LSM_WAL_LIVE_H
#define CELLFS_STORE_LSM_WAL_LIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/lsm/wal.h"
#include "store/lsm/wal_format.h"
#include "store/lsm/wal_replay.h"

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
	_Atomic uint64_t drained, synced;
	_Atomic int failed; /* errno of what failed first, for good */
	char sentence[512]; /* why */
	uint64_t first;	    /* segments first..next-1 exist */
	uint64_t next;	    /* number of the segment to be made next */
	uint64_t syncs, recycled;

	pthread_mutex_t spare_lock;
	struct os_file *spare;	   /* allocated ahead, under spare_lock */
	_Atomic bool spare_failed; /* no space for one */
};

/* Records the failure of the thread's last call; returns -EROFS. */
int wal_fail(struct wal *w, int err);
/* -EROFS with the sentence if the log has failed or is read-only. */
int wal_refused(struct wal *w);

/* Makes room for a record of @size in the stream. By the appender. */
int wal_make_room(struct wal *w, uint64_t size);
/* Ends the active segment: all in it is durable when it returns 0. */
int wal_seal(struct wal *w);
/* Allocates the next segment ahead of time; no space is no failure. */
int wal_prepare_spare(struct wal *w);

#endif
