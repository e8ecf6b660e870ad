/*
 * Compaction: chooses files, and merges them into the next level.
 *
 * The choice is a pure function over sizes and ranges (compaction_pick), the
 * work reads a merge, keeps what retain_next() says, and writes files cut at
 * row boundaries. Neither knows threads, locks or the catalog: the engine
 * passes the inputs and installs the outputs.
 *
 * A level is due when it is over its target, level 0 by its number of files:
 *
 *	level 0   a---f  c-----k  b--d	6 files	   all of it, and
 *	level 1   a-c  d---h  i-m  n--z	256 MiB	   what overlaps it below
 *	level 2   ...			2560 MiB   one file, and what overlaps
 *
 * The deepest level with files may hold four times its target before the next
 * level is used, into which files are moved as they are. A level above the
 * deepest may hold a tenth of the deepest, if that is more than its own target.
 * So a store of up to a gibibyte is one level, and files moved down are never
 * merged with much more than ten times their size.
 *
 * All of level 0 is merged at once, so that the input has, for each row, a
 * slice of its history without a gap: no old put gets above its delete. If
 * level 0 is small against the level below, its newest files are merged with
 * each other: few bytes are rewritten, and readers have fewer files to look
 * into. From a deeper level the file with the least cost is chosen, overlap
 * over size; files that have expired or that mostly delete are chosen first.
 *
 * When nobody writes, files that are not due are merged down as well, where the
 * files below are at most ten times as large: then readers find each row in one
 * file.
 *
 * A level is also due when a file in it mostly deletes cells of deeper levels:
 * a scan would walk both until a compaction for another reason. If scans have
 * walked over many markers, one marker in sixteen entries is enough.
 *
 * A file that overlaps nothing in the next level is only moved, unless
 * rewriting makes it smaller, by dropping markers that hide nothing deeper or
 * by compressing blocks, or leaves nothing, since all of it has expired.
 *
 * A row's history is whole when no level deeper than the output holds it.
 */
#ifndef CELLFS_STORE_LSM_COMPACTION_COMPACTION_H
#define CELLFS_STORE_LSM_COMPACTION_COMPACTION_H

#include "store/lsm/manifest/levels.h"
#include "store/lsm/rules/visibility.h"

struct compaction_limits {
	uint32_t level0_files; /* trigger: 6, or 40: is_read() in lsm.h */
	uint32_t top_ratio;    /* limit: level below to level 0: 3, or 10 */
	uint64_t level1_bytes; /* target of level 1: 256 MiB */
	uint32_t ratio;	       /* of one level to the next: 10 */
	uint64_t file_bytes;   /* of an output file: 64 MiB */
	uint64_t rest_bytes;   /* level 0 with less is left at rest: 16 MiB */
	bool passed; /* scans walked over its markers: tombstone_stats.c */
};

struct compaction {
	int from, to; /* levels; to = from for a rewrite in place */
	bool trivial; /* move the only input file, rewrite nothing */
	bool major;   /* all files, by compaction_pick_all() */
	bool daring;  /* may need more space than is free */
	bool around;  /* chosen of compaction_around(): other files stay */
	/*
	 * Files of @from and of @to, newest first. A major compaction has the
	 * files of all levels above @to in the first list. Borrowed from the
	 * levels.
	 */
	struct sstable **inputs[2];
	uint32_t ninputs[2];
	/*
	 * Files of levels above that are read with the only input, which is
	 * rewritten without the cells that they hide. They are not changed.
	 */
	struct sstable **masks;
	uint32_t nmasks;
};
/*
 * 1 = *out is a compaction to do (compaction_release() it); 0 = none is due;
 * -ENOMEM. One is due exactly when compaction_score() is at least 1.
 */
int compaction_pick(const struct levels *l, const struct compaction_limits *m,
		    int64_t now_ms, const struct family_attrs *attrs,
		    struct compaction *out);
/*
 * Chooses files that are not due but make reads slower: files that overlap
 * others, if a merge rewrites at most `ratio` bytes below for each byte that it
 * moves down. Each such compaction moves bytes deeper or leaves fewer files in
 * level 0, so there is an end. A small level 0 is left alone: it costs readers
 * little, and cells overwritten in it can still be read as of earlier moments.
 * Results as compaction_pick().
 */
int compaction_pick_rest(const struct levels *l,
			 const struct compaction_limits *m,
			 const struct family_attrs *attrs,
			 struct compaction *out);
/*
 * All files of the tree into its last level: a major compaction. 0 if there are
 * none.
 */
int compaction_pick_all(const struct levels *l, struct compaction *out);
/*
 * Describes files that may hold entries which nobody needs since snapshots were
 * dropped: older files with entries of both sides of such a snapshot. Number 0
 * = none.
 */
struct compaction_freed {
	uint64_t first, last; /* sequences of the dropped ones */
	uint64_t number;      /* files from this one on are newer */
};
bool compaction_has_freed(const struct levels *l,
			  const struct compaction_freed *f);
/* Chooses one such file, to be rewritten in its level; as compaction_pick(). */
int compaction_pick_freed(const struct levels *l,
			  const struct compaction_freed *f,
			  struct compaction *out);
/*
 * Chooses the @n newest files: those of level 0 in place, or all files if there
 * are no others. 0 if there are none.
 */
int compaction_pick_newest(const struct levels *l, uint32_t n,
			   struct compaction *out);
/*
 * For a full disk: chooses a compaction that frees space or files and needs at
 * most @space bytes, or in level 0 @part, so that its output can be merged
 * again. Each one leaves less to do, so there is an end. If there is none and
 * @daring, one that fits only if it drops much. Results as compaction_pick().
 */
int compaction_pick_full(const struct levels *l, uint64_t space, uint64_t part,
			 bool daring, struct compaction *out);
/*
 * Of levels with damaged files (compaction_around.c): those files that may be
 * merged all the same. Choose from these, and set `around` of what was chosen;
 * it is no major compaction. 0 or -ENOMEM.
 */
int compaction_around(const struct levels *l, struct levels **out);
/*
 * Chooses files of level 0 that may only be merged with each other, where there
 * are level0_files of them one behind the other. Results as compaction_pick();
 * it is to be called when nothing else is due.
 */
int compaction_pick_run(const struct levels *l,
			const struct compaction_limits *m,
			struct compaction *out);
bool compaction_has_run(const struct levels *l,
			const struct compaction_limits *m);
void compaction_release(struct compaction *c);
/* How urgent a compaction is, for back-pressure; 1.0 = due. */
double compaction_score(const struct levels *l,
			const struct compaction_limits *m);
/* Bytes of files that are due: all of level 0, else what is over a target. */
uint64_t compaction_pending(const struct levels *l,
			    const struct compaction_limits *m);

struct compaction_job {
	struct os_dir *dir;
	struct block_cache *cache;
	const struct levels *levels;
	const struct compaction *what;
	const struct compaction_limits *limits;
	uint32_t tree;
	const struct family_attrs *attrs;
	int64_t now_ms;
	const uint64_t *snapshots;
	size_t nsnapshots;
	/* Returns a new file number. */
	uint64_t (*number)(void *arg);
	/*
	 * Called now and then, may be NULL; if it returns true, the job stops.
	 */
	bool (*stop)(void *arg);
	/* The same, with the bytes written since; may wait. May be NULL. */
	void (*wrote)(void *arg, uint64_t bytes);
	void *arg;
	bool stopped; /* output: stopped is why it failed */
	/* Output: opened tables (one reference each), in row order. */
	struct sstable **outputs;
	uint32_t noutputs;
	uint64_t bytes_in, bytes_out;
	struct history lost; /* of the past, with the outputs */
};
/*
 * Merges. 0, or an error with all outputs removed and the inputs untouched.
 * Output files are synced, their directory entries not yet. The caller frees
 * j->lost in either case.
 */
int compaction_run(struct compaction_job *j);

/*
 * The same for the frozen tree of a memtable, over which @from is: makes one file of
 * level 0, or none. j->levels is all that is older; what and limits are not asked,
 * and it is not stopped. @trim: see struct retain_spec.
 */
int flush_run(struct compaction_job *j, struct cursor *from, bool trim);

#endif
