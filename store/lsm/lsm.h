/*
 * The engine's own state: what engine.c, trees.c, table_list.c, tables.c,
 * commit.c, view.c, scan.c, flush.c and compact.c share. Nobody else includes
 * it.
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
#ifndef CELLFS_STORE_LSM_LSM_H
#define CELLFS_STORE_LSM_LSM_H

#include <pthread.h>

#include "store/backend.h"
#include "store/lsm/alive.h"
#include "store/lsm/compaction.h"
#include "store/lsm/engine.h"
#include "store/lsm/levels.h"
#include "store/lsm/manifest.h"
#include "store/lsm/memtable.h"
#include "store/lsm/wal.h"
#include "store/os.h"

#define FROZEN_MAX 1
/* Files of level 0, of which the oldest are to be merged: see is_read(). */
#define LEVEL0_FILES 6
#define LEVEL0_FILES_UNREAD 40
/* They go down where so many times as much lies, else are merged as they lie.
 */
#define LEVEL0_RATIO 3
#define LEVEL0_RATIO_UNREAD 10
/* So many more, and writers wait. */
#define LEVEL0_STALL 20

/* What a reader of a table holds: immutable, of one owner. */
struct view {
	uint64_t table_id, generation;
	struct table_state *st;
	uint32_t nmem; /* newest first */
	struct memtable *mem[FROZEN_MAX + 1];
	struct levels *levels[]; /* one a family, in the schema's order */
};

struct tree {
	uint32_t id;
	_Atomic uint32_t refs;
	/* Under state: */
	struct levels *levels;
	bool dropped;	   /* its table or family is gone */
	bool compacting;   /* at most one compaction of a tree at a time */
	uint64_t retry_ns; /* after a failed compaction: not before */
	struct compaction_freed freed; /* what dropped snapshots held */
	_Atomic uint64_t passed;       /* markers, by scans: passed.c */
	/* Under commit: no timestamp of the tree is greater. */
	int64_t ts_max;
	/* Read without a lock by compaction's stop callback. */
	_Atomic bool cancel;
};

/* What a table is at one moment: immutable, counted. */
struct table_state {
	_Atomic uint32_t refs;
	char name[TABLE_NAME_LEN_MAX + 1];
	uint64_t version;
	struct schema schema;
	struct tree **trees; /* one a family, in schema's order; referenced */
};

struct lsm_table {
	struct table base;
	struct table_state *now;  /* under state; NULL when dropped */
	_Atomic uint64_t version; /* of *now, for a cheap look */
	int64_t made_ms;	  /* 0 = it was there when the store opened */
};

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
	/* Counts changes of memtables, levels and schemas; put up under state.
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

	/* Published: readers see up to here. All that they share with him. */
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
	bool flush_wanted; /* at once: somebody waits for it */
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

/* -- lsm.c ---------------------------------------------------------------- */

/* No more writes from now on; keeps the present sentence. Returns @err. */
int lsm_fail(struct lsm *db, int err);
/* 0, or -EROFS with the sentence of the failure. */
int lsm_writable(struct lsm *db);
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

/* -- trees.c -------------------------------------------------------------- */

void tree_ref(struct tree *t);
void tree_unref(struct tree *t);
void table_state_ref(struct table_state *st);
void table_state_unref(struct table_state *st);
/*
 * A state with a copy of @schema. Families that @old has keep their tree;
 * new ones get a fresh tree with ids from *next_tree on.
 */
int table_state_new(const char *name, uint64_t version,
		    const struct schema *schema, const struct table_state *old,
		    uint32_t *next_tree, struct table_state **out);
/* Files that a fresh tree begins with. */
struct tree_files {
	uint8_t level;
	uint32_t n;
	struct sstable **files; /* in row order; the tree takes references */
	struct history lost;	/* by the merges that made them */
};
/* One for each family of a state that nobody else knows yet. */
int table_state_fill(struct table_state *st, const struct tree_files *files);
/* With one reference, and @st taken over. NULL = out of memory. */
struct lsm_table *lsm_table_new(struct lsm *db, uint64_t id,
				struct table_state *st);
/* Makes the tables of the catalog, with their files opened. */
int tables_load(struct lsm *db);
void tables_free(struct lsm *db);
/* Of all live tables; under state or while opening. NULL = not known. */
struct tree *tables_find_tree(struct lsm *db, uint32_t id);
/* The family's index in the present schema, or an error in words. */
int table_state_family(const struct table_state *st, struct bytes family);
/*
 * Makes a removed tree's files obsolete and takes it out of compaction.
 * Under state.
 */
void tree_drop(struct tree *t);
/* A live tree, referenced, its attributes and its table. 1, or 0: dropped. */
int tree_live(struct lsm *db, uint32_t id, struct tree **out,
	      struct family_attrs *attrs, uint64_t *table);
/*
 * The levels of @t with @removed and @added changed, and what was @lost with
 * it; NULL if it was dropped. Under catalog, so that nobody else changes them.
 */
int tree_next_levels(struct lsm *db, struct tree *t,
		     const struct level_file *removed, size_t nremoved,
		     const struct level_file *added, size_t nadded,
		     const struct history *lost, struct levels **out);
/* Under state; @next is the tree's from here on. */
void tree_install(struct tree *t, struct levels *next);
/* References to the families' trees of one or (@t NULL) every table. */
int trees_collect(struct lsm *db, struct table *t, struct tree ***out,
		  size_t *n);
void trees_release(struct tree **trees, size_t n);

/* -- table_list.c --------------------------------------------------------- */

/* Puts the table where its name belongs; there is room. Under state. */
void tables_list(struct lsm *db, struct lsm_table *t);
/* Takes it out, by its address. Under state. */
void tables_unlist(struct lsm *db, struct lsm_table *t);
/* -ENOENT in words. */
int tables_none(struct bytes name);
int lsm_table_open(struct store *s, struct bytes name, struct table **out);
/* As lsm_table_open(), by table_id(). */
int lsm_table_open_id(struct store *s, uint64_t id, struct table **out);
void lsm_table_free(struct table *t);
int lsm_table_schema(struct table *t, struct schema *out);
uint64_t lsm_table_schema_version(const struct table *t);
int lsm_table_name(struct table *t, char *name);
int lsm_table_next(struct store *s, struct bytes after, char *name);

/* -- tables.c ------------------------------------------------------------- */

/* A new table; @files: one for each family, NULL = empty. */
int tables_add(struct lsm *db, struct bytes name, const struct schema *schema,
	       const struct tree_files *files);
/* -EBUSY when a snapshot shows the table as it was after @seq. */
int tables_check_latest(struct lsm *db, const struct table *t, uint64_t seq);
/* The table anew: with @schema, and @files for cells. -EBUSY as before. */
int tables_refill(struct lsm *db, struct table *t, const struct schema *schema,
		  const struct tree_files *files, uint64_t seq);
int lsm_table_create(struct store *s, struct bytes name,
		     const struct schema *schema);
int lsm_table_drop(struct store *s, struct bytes name, bool only_if_empty);
int lsm_table_truncate(struct store *s, struct bytes name);
int lsm_table_rename(struct store *s, struct bytes from, struct bytes to);
int lsm_table_alter(struct table *t, const struct alter *a);

/* -- snapshots.c ---------------------------------------------------------- */

int lsm_snapshot_create(struct store *s, struct table *t, struct bytes name);
int lsm_snapshot_drop(struct store *s, struct table *t, struct bytes name);
int lsm_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			struct bytes to);
int lsm_snapshot_next(struct store *s, struct table *t, struct bytes after,
		      struct snapshot_info *out);
int lsm_snapshot_open(struct store *s, struct table *t, struct bytes name,
		      struct snapshot **out);

/* -- clone.c -------------------------------------------------------------- */

int lsm_snapshot_clone(struct snapshot *snap, const struct snapshot_table *from,
		       struct bytes to);
int lsm_snapshot_restore(struct snapshot *snap,
			 const struct snapshot_table *from);

/* -- commit.c ------------------------------------------------------------- */

int lsm_mutate(struct table *t, struct mutation *m, unsigned flags);
int lsm_mutate_try(struct table *t, struct mutation *m);
int lsm_mutate_many(struct table *t, struct mutation *m, size_t n,
		    unsigned flags, size_t *done);
int lsm_sync(struct store *s);
/* One record of the log into the active memtable, while opening. */
int commit_replay(struct lsm *db, struct bytes record);

/* -- room.c --------------------------------------------------------------- */

/* Makes the first memtable. 0 or -ENOMEM. */
int room_init(struct lsm *db);
/*
 * Freezes the active memtable unless it is empty; @trim as in struct
 * generation. Under commit.
 */
int commit_freeze(struct lsm *db, uint64_t trim);
/*
 * Makes room for @m, @flags as in table_mutate(). Under commit, which it gives
 * back while it waits. -ENOSPC: see wal_low().
 */
int make_room(struct lsm *db, const struct mutation *m, unsigned flags);
/* Does it put nothing? */
bool only_deletes(const struct mutation *m);
/* Would it be made now? NULL: for a put. Waits for nothing. */
int room_admit(struct lsm *db, const struct mutation *m);

/* -- freeze.c ------------------------------------------------------------- */

/* The active memtable, if markers_in_memory(). Does not wait. */
void freeze_markers(struct lsm *db);
/* Freezes what memory holds if that gives space back and nobody writes. */
void freeze_full(struct lsm *db);
/*
 * @m found no room in the log. If it frees space: waits until what memory holds
 * is flushed, for which there is the reserve; true if so, and segments are
 * free. Under commit.
 */
bool freeze_for(struct lsm *db, const struct mutation *m);

/* -- view.c --------------------------------------------------------------- */

/*
 * The table's present view, the caller's until view_give(), with the sequence
 * up to which it may be read. -ENOENT if the table was dropped. @s is the
 * calling thread's, of both.
 */
static inline int view_take(struct lsm *db, struct reader_slot *s,
			    const struct lsm_table *t, struct view **out,
			    uint64_t *seq);
static inline void view_give(struct lsm *db, struct reader_slot *s,
			     struct view *v);
/*
 * What views are made of has changed. Under state; views_sweep() must follow
 * when it is given back.
 */
void views_changed(struct lsm *db);
/* Lets go of the views of the past that nobody uses. */
void views_sweep(struct lsm *db);
/* Of all views. Nobody reads any more. */
void views_free(struct lsm *db);

/* The calling thread's. */
static inline struct reader_slot *reader_slot(struct lsm *db)
{
	unsigned thread = thread_number();

	if (thread < READER_SLOTS_OWN)
		return &db->slots[thread];
	thread %= READER_SLOTS - READER_SLOTS_OWN;
	return &db->slots[READER_SLOTS_OWN + thread];
}

static inline bool slot_is_own(const struct lsm *db,
			       const struct reader_slot *s)
{
	return db->own_slots && s < &db->slots[READER_SLOTS_OWN];
}

/* Until slot_leave() who sweeps leaves the slot alone, or has done so. */
static inline void slot_enter(struct reader_slot *s)
{
	atomic_store_explicit(&s->busy, true, THREAD_LIGHT);
	thread_light();
}

static inline void slot_leave(struct reader_slot *s)
{
	atomic_store_explicit(&s->busy, false, THREAD_LIGHT_RELEASE);
	thread_light();
}

/* What a slot has of the table if that is good, and *seq; or NULL. */
static inline struct view *view_of_slot(struct lsm *db, struct kept_view *k,
					uint64_t table_id, uint64_t *seq)
{
	uint64_t generation;
	struct view *v;

	*seq = atomic_load(&db->seq);
	generation = atomic_load(&db->generation);
	if (atomic_load_explicit(&k->generation, memory_order_relaxed) !=
	    generation)
		return NULL;
	v = atomic_load_explicit(&k->view, memory_order_relaxed);
	if (!v || v->table_id != table_id)
		return NULL;
	atomic_store_explicit(&k->view, NULL, memory_order_relaxed);
	return v;
}

/* As view_take(), without the short way. */
int view_take_long(struct lsm *db, const struct lsm_table *t, struct view **out,
		   uint64_t *seq);

static inline int view_take(struct lsm *db, struct reader_slot *s,
			    const struct lsm_table *t, struct view **out,
			    uint64_t *seq)
{
	uint64_t id = t->base.id;
	struct view *v;

	if (!slot_is_own(db, s))
		return view_take_long(db, t, out, seq);
	slot_enter(s);
	v = view_of_slot(db, &s->kept[id % READER_VIEWS], id, seq);
	slot_leave(s);
	if (!v)
		return view_take_long(db, t, out, seq);
	*out = v;
	return 0;
}

/* As view_give(), without the short way. */
void view_give_long(struct lsm *db, struct view *v);
/* Something has changed since a view was put into an own slot. */
void view_given(struct lsm *db, struct kept_view *k);

/* NULL is nothing. */
static inline void view_give(struct lsm *db, struct reader_slot *s,
			     struct view *v)
{
	struct kept_view *k;
	uint64_t generation;
	bool put;

	if (!v)
		return;
	if (!slot_is_own(db, s)) {
		view_give_long(db, v);
		return;
	}
	k = &s->kept[v->table_id % READER_VIEWS];
	generation = v->generation;
	slot_enter(s);
	put = generation == atomic_load(&db->generation) &&
	      !atomic_load_explicit(&k->view, memory_order_relaxed);
	if (put) {
		/* The view last: who sweeps reads it first. */
		atomic_store_explicit(&k->generation, generation,
				      memory_order_relaxed);
		atomic_store_explicit(&k->view, v, memory_order_release);
	}
	slot_leave(s);
	if (!put)
		view_give_long(db, v);
	else if (generation != atomic_load(&db->generation))
		view_given(db, k);
}

static inline bool reader_expects(const struct reader_slot *s)
{
	return atomic_load_explicit(&s->found, memory_order_relaxed);
}
static inline void reader_found(struct reader_slot *s, bool found)
{
	if (reader_expects(s) != found)
		atomic_store_explicit(&s->found, found, memory_order_relaxed);
}

/* -- scan_open.c, scan.c, get.c ------------------------------------------- */

int lsm_scan_open(struct table *t, const struct scan_spec *spec,
		  struct scan **out);
int lsm_scan_next(struct scan *sc, struct cell *out, size_t n);
void lsm_scan_close(struct scan *sc);
void scan_free_spares(struct lsm *db);
int lsm_get(struct table *t, struct bytes row, struct bytes family,
	    struct bytes qualifier, int64_t ts, bool exact,
	    const struct snapshot *snap, struct cell *cell, struct buf *hold);
/* Which version of a column: within a range, behind so many newer ones. */
struct column_look {
	int64_t ts_min, ts_max;
	uint32_t older;
	const struct snapshot *snap;
};
/* As lsm_get(). */
int column_read(struct table *t, struct bytes row, struct bytes family,
		struct bytes qualifier, const struct column_look *look,
		struct cell *cell, struct buf *hold);
/*
 * The greatest timestamp stored for the column, markers included (for a
 * @family_wide question: for the whole row of the family). 0 = none.
 */
int column_newest(struct lsm_table *t, struct bytes row, struct bytes family,
		  struct bytes qualifier, bool family_wide, int64_t *ts);

/* -- flush.c -------------------------------------------------------------- */

/* Flushes the oldest frozen generation. 1 done, 0 none, negative. */
int flush_one(struct lsm *db);
/*
 * All that was written before the call is in files when it returns. @trim: the
 * table that is flushed as HBase does it, or NULL.
 */
int flush_all(struct lsm *db, const struct table *trim);
int lsm_flush(struct store *s, struct table *t);

/* -- compact.c ------------------------------------------------------------ */

/* The most urgent compaction. 1 done, 0 none, negative. */
int compact_one(struct lsm *db);
/* Files that readers are to get: while somebody reads, with their blocks. */
void warm_files(struct lsm *db, struct sstable **files, uint32_t n);
/* One that is for readers only (compaction_pick_rest()); as compact_one(). */
int compact_at_rest(struct lsm *db);
/* What gives space back and fits into what there is: full.h. */
int compact_when_full(struct lsm *db);
int lsm_compact(struct store *s, struct table *t);

/* -- passed.c ------------------------------------------------------------- */

/* A scan of @t has stepped over so many markers. */
void markers_passed(struct lsm *db, struct tree *t, uint64_t n);
/* Have scans stepped over enough of them for a merge? */
bool markers_due(const struct tree *t);
/* Does the active memtable hold many such? */
bool markers_in_memory(struct lsm *db);
/* There is nothing left to merge. Under state. */
void markers_forget(struct lsm *db);

/* -- background.c --------------------------------------------------------- */

int background_start(struct lsm *db);
void background_stop(struct lsm *db);

/* -- stats.c -------------------------------------------------------------- */

int lsm_stat(struct store *s, unsigned i, struct store_stat *out);
int lsm_table_info(struct table *t, struct table_info *out);

#endif
