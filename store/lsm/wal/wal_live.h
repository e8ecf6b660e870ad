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
 * A direct write must not overlap dirty pages, since the kernel does not order
 * the two: a page could be written back over newer blocks, or be dropped with
 * data that only it holds. Hence the rule:
 *   - The leader writes directly only when all drained data is synced, so that
 *     no page of the blocks it writes is dirty.
 *   - While it does (direct.busy), no other thread writes to the segment:
 *     threads that must, wait in wal_await_cache(). A leader that finds a
 *     thread waiting there uses fdatasync, so that no thread waits for more
 *     than one direct write.
 *   - The block of the segment's head and mark has no records and is only
 *     written through the page cache.
 * The ring goes on taking records meanwhile, until it is full.
 *
 * After target it writes zeros, to the end of the block or further. The segment
 * has no data there (drained equals synced), and the replay finds no record in
 * zeros, as in a recycled file.
 */
#ifndef CELLFS_STORE_LSM_WAL_WAL_LIVE_H
#define CELLFS_STORE_LSM_WAL_WAL_LIVE_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_format.h"
#include "store/lsm/wal/wal_replay.h"

/* Smaller records are assembled in memory and written with one call. */
#define WAL_SMALL_BYTES ((size_t)64 << 10)

/*
 * When a thread leads a sync for others. While the disk works for some threads,
 * others arrive; when it is done, the first ones leave and soon return with
 * more. A leader that began at once would leave those for the next sync, and
 * two half crowds would take turns. So the first thread sleeps until as many
 * wait as waited when the last sync ended, but only for a fraction of a sync's
 * time. The last thread to arrive leads, so that no thread has to be woken
 * before the disk works. When too few arrive, the first thread leads, and the
 * next syncs begin without waiting.
 */
struct wal_crowd {
	unsigned waiting;   /* threads in wal_sync(), the leader included */
	unsigned leaving;   /* those of them whose records are durable */
	unsigned size;	    /* threads that waited when the last sync ended */
	unsigned impatient; /* number of coming syncs that do not wait */
	uint64_t clocks;    /* number of waits with a time limit so far */
	uint64_t clock;	    /* number of the present one; 0: none */
	uint64_t sync_ns;   /* duration of the last sync */
};

/* Larger amounts go through the page cache. A multiple of the block size. */
#define WAL_DIRECT_BYTES ((size_t)256 << 10)

/* Zeros that a small direct write adds after its data. */
#define WAL_AHEAD_BYTES ((size_t)64 << 10)

struct wal_direct {
	struct os_file *file; /* the active segment by O_DIRECT, or NULL */
	bool busy;	      /* the leader writes to it; under lock */
	unsigned awaited;     /* threads in wal_await_cache(); under lock */
	/* Owned by the leader. The last block written begins the next write. */
	uint8_t *image;
	uint64_t tail;	  /* the image begins with the block that ends here */
	uint64_t written; /* blocks before this offset have been written once */
};

struct wal {
	struct os_dir *dir;
	size_t segment_bytes;
	size_t ring_bytes;    /* 0: no ring, records are written at once */
	uint64_t drain_bytes; /* drain when the ring alone holds this much */
	bool read_only;

	/* Owned by the appender. */
	struct os_file *ring;
	uint8_t *small; /* WAL_SMALL_BYTES */
	_Atomic uint64_t records, bytes;
	_Atomic uint64_t end; /* written by the appender, read by all */

	pthread_mutex_t lock;
	pthread_cond_t synced_cond;
	/* Guarded by lock; the atomic fields are read without it. */
	struct os_file *file; /* the active segment; NULL: none yet */
	struct wal_head head; /* its head; the appender reads it without lock */
	uint64_t marked;      /* durable position in its mark */
	uint64_t begun;	      /* the disk was told to write all before this */
	bool syncing;	      /* a leader syncs without lock; file stays */
	struct wal_crowd crowd;
	struct wal_direct direct;
	_Atomic uint64_t drained, synced;
	_Atomic int failed; /* errno of the first failure, never reset */
	char sentence[512]; /* reason of the failure */
	uint64_t first;	    /* segments first..next-1 exist */
	uint64_t next;	    /* number of the segment to be made next */
	uint64_t syncs, recycled;
	uint64_t replayed; /* segments replayed by wal_open() */

	pthread_mutex_t spare_lock;
	/* Guarded by spare_lock: wal_hold(); meanwhile no segment is released. */
	unsigned holds;
	/* Guarded by spare_lock: files allocated ahead, and held in reserve. */
	struct os_file *spare, *reserve;
	bool keeps_reserve;
	size_t reserve_bytes;
	unsigned loans;		   /* files given away by wal_lend() */
	_Atomic bool spare_failed; /* no space for spare or reserve */
	uint64_t keep_limit, keep_id, kept_bytes; /* wal_keep() */
};

static inline uint64_t wal_offset(const struct wal *w, uint64_t pos)
{
	assert(pos >= w->head.start);
	return wal_file_offset(&w->head, pos);
}

/* There is a ring. */
static inline struct bytes wal_ring(const struct wal *w)
{
	return bytes_of(w->ring->map, w->ring_bytes);
}

/* Marks the log failed for the thread's last error; returns -EROFS. */
int wal_fail(struct wal *w, int err);
int wal_fail_locked(struct wal *w, int err);
/* -EROFS with the reason if the log has failed or is read-only. */
int wal_refused(struct wal *w);

/*
 * Waits, with the lock released, until no thread writes past the page cache.
 * None begins to until the caller releases the lock. Every write to the segment
 * through the page cache calls this first. Under lock; -EROFS if the log has
 * failed.
 */
int wal_await_cache(struct wal *w);
/* Copies the data that only the ring holds to the segment. Under lock. */
int wal_drain(struct wal *w);
/*
 * Notes that the page cache has all records up to @pos, and may tell the disk
 * to begin writing them. Under lock.
 */
void wal_drained_to(struct wal *w, uint64_t pos);
/* Writes the durable position into the segment's first block. Under lock. */
int wal_write_mark(struct wal *w);

/*
 * Reads the first block of segment @number, which is in file @name, its head and
 * the file's size.
 */
int wal_read_block(struct os_dir *dir, const char *name, uint64_t number,
		   uint8_t block[WAL_BLOCK_BYTES], uint64_t *size,
		   struct wal_head *head);
/* Reads the head of a segment, and its size. */
int wal_look(struct wal *w, uint64_t number, struct wal_file *f,
	     struct wal_head *head);
/* Who is to hear of files of the log. */
struct wal_listing {
	struct os_dir *dir;
	int (*each)(void *arg, const struct wal_file *f);
	void *arg;
};
/* Hands the whole of file @name to the listing, and returns what its function does. */
int wal_tell_whole(const struct wal_listing *l, const char *name);
/*
 * Keeps a segment that is released; false if it is not to be kept, or cannot.
 * Both under spare_lock.
 */
bool wal_kept_take(struct wal *w, uint64_t number);
/* Removes the oldest that is kept, to make space; false if there is none. */
bool wal_kept_give(struct wal *w);
/* Removes those that are beyond the limit, unless the log is held. */
void wal_kept_trim(struct wal *w);
/*
 * The position where a log goes on that has no segment from @first on: behind the
 * last one that was kept, so that the next continues it; else 0. For wal_open().
 */
uint64_t wal_kept_end(struct wal *w, uint64_t first);

int wal_direct_init(struct wal_direct *d);
void wal_direct_free(struct wal_direct *d);
/* May the data between synced and @target be written directly? Under lock. */
bool wal_direct_fits(const struct wal *w, uint64_t target);
/* Writes it. Called by the leader without lock, with direct.busy set. */
int wal_direct_write(struct wal *w, uint64_t target);

/* Makes space for a record of @size in the stream. By the appender. */
int wal_make_room(struct wal *w, uint64_t size);

#endif
