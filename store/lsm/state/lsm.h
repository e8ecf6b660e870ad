/*
 * The engine's own state, and whether it may still write: what reading,
 * writing, flushing and compacting share. What tables are made of is in
 * trees.h, what readers see of one in view.h.
 *
 * A generation is a memtable with the log segments that hold its records: the
 * active one is written, frozen ones wait for their flush. All trees switch
 * together, so that a log segment dies when one generation is flushed.
 *
 * Locks, in the order in which they are taken:
 *   catalog   the manifest and the set of tables; held over a commit of the
 *		manifest and what is installed with it
 *   commit    the order of log records, the active memtable's writer, the
 *		sequence; the one lock that is held over a write to disk, but
 *		not over a wait for flush or compaction, which take catalog
 *   state     which memtables, levels and schemas make up the present; short
 *
 * A reader takes state only where the present has changed since its thread
 * last read (view.c), and then no lock at all.
 */
#ifndef CELLFS_STORE_LSM_STATE_LSM_H
#define CELLFS_STORE_LSM_STATE_LSM_H

#include <pthread.h>

#include "store/front/backend.h"
#include "store/lsm/compaction/compaction.h"
#include "store/lsm/manifest/levels.h"
#include "store/lsm/manifest/manifest.h"
#include "store/lsm/mem/memtable.h"
#include "store/lsm/rules/alive.h"
#include "store/lsm/wal/wal.h"
#include "store/os/os.h"

#define FROZEN_MAX 1
/* Files of level 0, of which the oldest are to be merged: see is_read(). */
#define LEVEL0_FILES 6
#define LEVEL0_FILES_UNREAD 40
/*
 * They go down where so many times as much lies, else are merged as they lie.
 */
#define LEVEL0_RATIO 3
#define LEVEL0_RATIO_UNREAD 10
/* So many more, and writers wait. */
#define LEVEL0_STALL 20

struct generation {
	struct memtable *mem;
	uint64_t wal_next; /* the log from here on is of later generations */
	uint64_t trim;	   /* the table whose flush was asked for, or 0 */
};

struct lsm_scan;
struct lsm_snapshot;

/*
 * What a thread keeps from one read to the next: a closed scan with its
 * memory, and the views of the tables that it reads. Threads share no line: the
 * first have a slot each; of the rest each has one of the others, that hardly
 * any other has.
 */
#define READER_SLOTS 16
#define READER_SLOTS_OWN 8
#define READER_VIEWS 8
struct kept_view {
	_Atomic(struct view *) view;
	_Atomic uint64_t generation; /* the view's; of an own slot alone */
};
struct reader_slot {
	/* An own slot's: its thread takes a view out or puts one in. */
	_Alignas(CACHE_LINE) atomic_bool busy;
	atomic_bool found; /* what its last get or scan of a row asked for */
	_Atomic(struct lsm_scan *) scan;
	struct kept_view kept[READER_VIEWS];
};

struct lsm_stats {
	_Atomic uint64_t flushes, flush_bytes, compactions, compaction_in,
		compaction_out, stalls, stall_ns, user_bytes;
	/* Of the opening. */
	uint64_t recovered_records, recovery_ns;
};

struct lsm {
	struct store base;
	struct store_options options;
	struct os *os;
	struct os_dir *dir;
	struct block_cache *cache;
	struct wal *wal;
	struct compaction_limits limits; /* of a tree that is read */
	/*
	 * Counts changes of memtables, levels and schemas; put up under state.
	 */
	_Atomic uint64_t generation;
	bool own_slots; /* threads have such: there is a thread_heavy() */

	pthread_mutex_t catalog;
	struct manifest *manifest;
	_Atomic uint64_t next_file;

	/* A write touches all of it, and what a read touches lies apart. */
	_Alignas(CACHE_LINE) pthread_mutex_t commit;
	struct buf record;     /* the log record that is being made */
	struct entry *entries; /* and its entries, by tree */
	struct pending *pending;
	size_t entries_cap;
	struct memtable *active;
	size_t active_max; /* bytes at which make_room() looks closer */

	/* Published: readers see up to here. All they share with a writer. */
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
	struct lsm_snapshot *first, *last; /* pins.h */
	bool stop;
	/* Of the last attempt; the first is read without lock. */
	_Atomic int flush_error;
	int compact_error;
	char flush_why[512]; /* if that failed */
	uint64_t flush_tries;
	bool flush_wanted;	       /* at once: somebody waits for it */
	bool flush_told, compact_told; /* that they fail: lsm_tell_work() */
	uint32_t flushing, compacting;
	uint64_t reads, read_ns; /* so many until then: see is_read() */

	_Atomic int failed;   /* no more writes: the errno that caused it */
	char failed_why[512]; /* set once, before failed */

	pthread_t threads[3];
	int nthreads;
	struct lsm_stats stats;
	/* full.c */
	unsigned flush_loans; /* of the flush that is going on */
	uint64_t full_seq;    /* the compacting thread's */
	bool full_told;	      /* the timer's */
	struct reader_slot slots[READER_SLOTS];
};

static inline struct lsm *lsm_of(struct store *s)
{
	return (struct lsm *)s;
}

/* No more writes from now on; keeps the present sentence. Returns @err. */
int lsm_fail(struct lsm *db, int err);
/* 0, or -EROFS with the sentence of the failure. */
int lsm_writable(struct lsm *db);
/*
 * Some @work ended with @r, which is told if it went well before and does not
 * now, or the other way round: @told. A full disk is told by full_tell(), a
 * store that has failed by lsm_fail(). Without locks, but for commit.
 */
void lsm_tell_work(struct lsm *db, int r, bool *told, const char *work);
/*
 * manifest_commit(), under catalog. Where it failed with nothing written, the
 * store goes on; after any other failure it takes no more writes, and files
 * that the edit adds must stay: it may be found when the store is reopened.
 */
int lsm_commit_edit(struct lsm *db, const struct edit *e);
/* A call of wal.h said @r: the store fails only if the log has. Returns @r. */
int lsm_log_failed(struct lsm *db, int r);
/*
 * A change of tables is on disk at once. What was written before it must not
 * be missing beside it, so the log goes first.
 */
int lsm_sync_log(struct lsm *db);
uint64_t file_number(void *db); /* a new one */
/*
 * Does anybody read? Level 0 may be deeper while nobody does: a load is merged
 * in few large steps, and rewritten less. Under state.
 */
bool is_read(struct lsm *db);

#endif
