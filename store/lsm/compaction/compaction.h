/*
 * Compaction: which files to merge into which, and doing it.
 *
 * The choice is a pure function over sizes and ranges (compaction_pick), the
 * work reads a merge, keeps what retain_next() says, and writes files cut at
 * row boundaries. Neither knows threads, locks or the manifest: the engine
 * gives it inputs and installs its outputs.
 *
 * A level is due when it is over its target, level 0 by its number of files:
 *
 *	level 0   a---f  c-----k  b--d	6 files	   all of it, and
 *	level 1   a-c  d---h  i-m  n--z	256 MiB	   what overlaps it below
 *	level 2   ...			2560 MiB   one file, and what overlaps
 *
 * The deepest level that holds anything may have four times as much before the
 * next one opens, which takes files as they are; a level above it a tenth of
 * what it holds, if that is more than its own target. So a store of up to a
 * gibibyte is one level, and what is moved down never meets much more than ten
 * times as much.
 *
 * All of level 0 goes at once, so that what is merged is, for each row, a
 * slice of its history without a gap: no old put climbs above its delete. What
 * little it may be over much is merged with itself, newest files first: for few
 * bytes there are fewer files for readers to look into.
 * Of a deeper level goes the file that costs least, overlap over size; before
 * it those that have expired, and those that mostly delete.
 *
 * When nobody writes, what is not due goes down as well, where at most ten
 * times as much lies under it: readers find each row in one place.
 *
 * A level is also due when a file in it mostly deletes what lies deeper: a scan
 * would walk both until the next compaction that comes for another reason.
 * Where scans have walked over many markers, one entry in sixteen is enough.
 *
 * A file that overlaps nothing in the next level only moves, unless rewriting
 * makes it smaller: markers that nothing lies under go, and so do blocks that
 * are to be compressed.
 *
 * A row's history is whole when no level deeper than the output holds it.
 */
#ifndef CELLFS_STORE_LSM_COMPACTION_COMPACTION_H
#define CELLFS_STORE_LSM_COMPACTION_COMPACTION_H

#include "store/lsm/manifest/levels.h"
#include "store/lsm/rules/visibility.h"

struct compaction_limits {
	uint32_t level0_files; /* trigger: 6, or 40: is_read() in lsm.h */
	uint32_t top_ratio;    /* of level 0 to what it goes into: 3, or 10 */
	uint64_t level1_bytes; /* target of level 1: 256 MiB */
	uint32_t ratio;	       /* of one level to the next: 10 */
	uint64_t file_bytes;   /* of an output file: 64 MiB */
	uint64_t rest_bytes;   /* of level 0, for less it rests: 16 MiB */
	bool passed;	       /* readers step over its markers: passed.c */
};

struct compaction {
	int from, to; /* levels; to = from for a rewrite in place */
	bool trivial; /* move the only input file, rewrite nothing */
	bool major;   /* everything: by compaction_pick_all() */
	bool daring;  /* may need more space than there is */
	/*
	 * Files of @from and of @to, newest first; a major one has in the
	 * first those of every level above @to. Borrowed from the levels
	 * picked from.
	 */
	struct sstable **inputs[2];
	uint32_t ninputs[2];
	/*
	 * Of levels above: read with the only input, which is written without
	 * what they hide. They stay as they are.
	 */
	struct sstable **masks;
	uint32_t nmasks;
};
/*
 * 1 = there is work, *out filled (compaction_release() it); 0 = none; -ENOMEM.
 * There is work exactly when compaction_score() is at least 1.
 */
int compaction_pick(const struct levels *l, const struct compaction_limits *m,
		    int64_t now_ms, const struct family_attrs *attrs,
		    struct compaction *out);
/*
 * What is not due but is in the way of readers: files that overlap others, as
 * long as a merge rewrites at most ratio bytes below for each that it brings
 * down. Every one takes bytes deeper or leaves fewer files in level 0, so
 * that they end. Little of level 0 is left alone: it costs readers little, and
 * what is overwritten in it can still be read as of then. As
 * compaction_pick().
 */
int compaction_pick_rest(const struct levels *l,
			 const struct compaction_limits *m,
			 const struct family_attrs *attrs,
			 struct compaction *out);
/* The whole tree into its last level: a major compaction. 0 if empty. */
int compaction_pick_all(const struct levels *l, struct compaction *out);
/*
 * What may hold entries that nobody needs since snapshots were dropped: files
 * made before with entries of both sides of one of them. Number 0 = none.
 */
struct compaction_freed {
	uint64_t first, last; /* sequences of the dropped ones */
	uint64_t number;      /* files from this one on were made later */
};
bool compaction_has_freed(const struct levels *l,
			  const struct compaction_freed *f);
/* One such file, to be rewritten where it lies; as compaction_pick(). */
int compaction_pick_freed(const struct levels *l,
			  const struct compaction_freed *f,
			  struct compaction *out);
/*
 * The @n newest files: of level 0 in place, or all when there are no others.
 * 0 if there are none.
 */
int compaction_pick_newest(const struct levels *l, uint32_t n,
			   struct compaction *out);
/*
 * On a full disk: what gives space or files back and needs at most @space bytes
 * for it, or in level 0 @part, so that what comes of it can be merged again.
 * Each one leaves less to do, so that they end. Where there is none, if
 * @daring, one that fits only if much of it is deleted. As compaction_pick().
 */
int compaction_pick_full(const struct levels *l, uint64_t space, uint64_t part,
			 bool daring, struct compaction *out);
void compaction_release(struct compaction *c);
/* How urgent: 1.0 = at the trigger; for back-pressure. */
double compaction_score(const struct levels *l,
			const struct compaction_limits *m);

struct compaction_job {
	struct os_dir *dir;
	struct block_cache *cache;
	const struct levels *levels;
	const struct compaction *what;
	const struct compaction_limits *limits;
	const struct family_attrs *attrs;
	int64_t now_ms;
	const uint64_t *snapshots;
	size_t nsnapshots;
	/* A new file number. */
	uint64_t (*number)(void *arg);
	/* Called now and then, may be NULL; true stops the job. */
	bool (*stop)(void *arg);
	void *arg;
	bool stopped; /* output: it failed for that */
	/* Output: opened tables (one reference each), in row order. */
	struct sstable **outputs;
	uint32_t noutputs;
	uint64_t entries_in, entries_out, bytes_in, bytes_out;
	struct history lost; /* with the outputs the tree has lost this */
};
/*
 * Merges. 0, or an error with every output removed and inputs untouched.
 * Output files are synced, their directory entries not yet. Either way the
 * caller frees j->lost.
 */
int compaction_run(struct compaction_job *j);

/* The same path for a memtable's tree: one file of level 0, or none. */
struct flush_job {
	struct os_dir *dir;
	struct block_cache *cache;
	struct cursor *from; /* over the frozen tree */
	bool trim;	     /* see struct retain_spec */
	const struct family_attrs *attrs;
	int64_t now_ms;
	const uint64_t *snapshots;
	size_t nsnapshots;
	uint64_t (*number)(void *arg);
	void *arg;
	struct sstable *output; /* NULL if nothing was left */
	struct history lost;	/* as in a compaction */
};
int flush_run(struct flush_job *j);

#endif
