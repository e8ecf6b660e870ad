/*
 * The engine's own state, and whether it may still write: what reading,
 * writing, flushing and compacting share. What tables are made of is in
 * trees.h, what readers see of one in superversion.h.
 *
 * A generation is a memtable with the log segments that hold its records: the
 * active one is written, frozen ones wait for their flush. All trees switch
 * together, so that a log segment dies when one generation is flushed.
 *
 * Locks, in the order in which they are taken:
 *   catalog   the catalog and the set of tables; held over a commit of the
 *		catalog and what is installed with it
 *   commit    the order of log records, the active memtable's writer, the
 *		sequence; the one lock that is held over a write to disk, but
 *		not over a wait for flush or compaction, which take catalog
 *   state     which memtables, levels and schemas make up the present; short
 *
 * A reader takes state only where the present has changed since its thread
 * last read (superversion.c), and then no lock at all.
 */
#ifndef CELLFS_STORE_LSM_STATE_LSM_H
#define CELLFS_STORE_LSM_STATE_LSM_H

#include <pthread.h>

#include "store/front/backend.h"
#include "store/lsm/base/pace.h"
#include "store/lsm/compaction/compaction.h"
#include "store/lsm/manifest/levels.h"
#include "store/lsm/manifest/manifest.h"
#include "store/lsm/mem/memtable.h"
#include "store/lsm/rules/alive.h"
#include "store/lsm/wal/wal.h"
#include "store/os/os.h"

#define FROZEN_MAX 1
/* The number of files from which level 0 is merged: see is_read(). */
#define LEVEL0_FILES 6
#define LEVEL0_FILES_UNREAD 40
/*
 * Level 0 is merged into the next level if that has at most so many times its
 * bytes, otherwise its newest files are merged with each other.
 */
#define LEVEL0_RATIO 3
#define LEVEL0_RATIO_UNREAD 10
/* With so many files more, writers wait. */
#define LEVEL0_STALL 20

struct generation {
	struct memtable *mem;
	uint64_t wal_next; /* first log segment of later generations */
	uint64_t trim;	   /* the table whose flush a user asked for, or 0 */
};

struct lsm_scan;
struct lsm_snapshot;

/*
 * What a thread keeps from one read to the next: a closed scan with its memory,
 * and the superversions of the tables that it reads. The first threads have a
 * slot each; later threads share the other slots. Slots share no cache line.
 */
#define READER_SLOTS 16
#define READER_SLOTS_OWN 8
#define READER_SUPERVERSIONS 8
struct kept_superversion {
	_Atomic(struct superversion *) held;
	_Atomic uint64_t generation; /* its own; used in own slots only */
};
struct reader_slot {
	/* In an own slot: its thread is taking or putting a superversion. */
	_Alignas(CACHE_LINE) atomic_bool busy;
	atomic_bool found; /* the last get or scan of a row found its row */
	_Atomic(struct lsm_scan *) scan;
	struct kept_superversion kept[READER_SUPERVERSIONS];
};

struct lsm_stats {
	_Atomic uint64_t flushes, flush_bytes, compactions, compaction_in,
		compaction_out, stalls, stall_ns, user_bytes, paced_ns;
	/* Set by lsm_open(). */
	uint64_t recovered_records, recovery_ns;
};

struct lsm {
	struct store base;
	struct store_options options;
	struct os *os;
	struct os_dir *dir;
	struct block_cache *cache;
	struct wal *wal;
	struct compaction_limits limits; /* for a tree that is read */
	struct pace pace;		 /* of flush and compaction */
	/*
	 * Counts changes of memtables, levels and schemas; changed under state.
	 */
	_Atomic uint64_t generation;
	bool own_slots; /* some slots are of one thread: thread_heavy() */

	pthread_mutex_t catalog;
	struct manifest *manifest;
	_Atomic uint64_t next_file;

	/* Written by every write; on other cache lines than what reads use. */
	_Alignas(CACHE_LINE) pthread_mutex_t commit;
	struct buf record;     /* the log record being made */
	struct entry *entries; /* its entries, by tree */
	struct pending *pending;
	size_t entries_cap;
	struct memtable *active;
	size_t active_max; /* bytes at which make_room() does more checks */
	/* Of a log that is kept: note.h. */
	bool keeps_log;
	struct buf note; /* the record of one that is owed; empty: none */

	/* Readers see writes up to here: all that they share with a writer. */
	_Alignas(CACHE_LINE) _Atomic uint64_t seq;

	struct alive alive;

	_Alignas(CACHE_LINE) pthread_mutex_t state;
	pthread_cond_t work;	   /* something to flush or compact, or stop */
	pthread_cond_t done;	   /* a flush or compaction ended */
	struct lsm_table **tables; /* by name; each holds a reference */
	size_t ntables;
	struct memtable *reading;	      /* = active, as readers take it */
	struct generation frozen[FROZEN_MAX]; /* oldest first */
	uint32_t nfrozen;
	uint64_t freezes; /* so many ever were; changed under commit, too */
	struct lsm_snapshot *first, *last; /* pins.h */
	bool stop;
	/* Results of the last attempts; flush_error is read without lock. */
	_Atomic int flush_error;
	int compact_error;
	char flush_why[512]; /* reason of flush_error */
	uint64_t flush_tries;
	bool flush_wanted;	       /* a thread waits for a flush */
	bool flush_told, compact_told; /* failures reported: lsm_tell_work() */
	uint32_t flushing, compacting;
	uint64_t reads, read_ns; /* count, and when it changed: is_read() */

	_Atomic int failed;   /* no more writes: the errno that caused it */
	char failed_why[512]; /* set once, before failed */

	pthread_t threads[3];
	int nthreads;
	struct lsm_stats stats;
	/* full.c */
	unsigned flush_loans; /* of the present flush */
	uint64_t full_seq;    /* used by the compacting thread */
	bool full_told;	      /* used by the timer */
	struct reader_slot slots[READER_SLOTS];
};

static inline struct lsm *lsm_of(struct store *s)
{
	return (struct lsm *)s;
}

/* Stops all writes; keeps the present reason. Returns @err. */
int lsm_fail(struct lsm *db, int err);
/* 0, or -EROFS with the reason of the failure. */
int lsm_writable(struct lsm *db);
/*
 * Reports that some @work ended with @r, if it had succeeded before and fails
 * now, or the reverse, which *told keeps. A full disk is reported by
 * full_tell(), a store that has failed by lsm_fail(). Called without locks,
 * except commit.
 */
void lsm_tell_work(struct lsm *db, int r, bool *told, const char *work);
/*
 * manifest_commit() with the counters as they are, under catalog. If it failed and
 * wrote nothing, the store goes on. After any other failure the store takes no more
 * writes, and files that the edit adds must be kept: the next open may find the edit.
 */
int lsm_commit_edit(struct lsm *db, struct edit *e);
/*
 * After a call of wal.h returned @r: the store fails only if the log has.
 * Returns @r.
 */
int lsm_log_failed(struct lsm *db, int r);
/*
 * Syncs the log. A change of tables is on disk at once, and writes before it
 * must not be missing beside it, so the log is synced first.
 */
int lsm_sync_log(struct lsm *db);
uint64_t file_number(void *db); /* a new number */
/*
 * Does anybody read? While nobody does, level 0 may have more files: a load is
 * merged in a few large steps, and rewritten less. Under state.
 */
bool is_read(struct lsm *db);

#endif
