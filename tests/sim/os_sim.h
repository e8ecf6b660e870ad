/*
 * A disk in memory that remembers what is durable, and how it may look after
 * the power went.
 *
 * Every call that changes the disk is an entry of a log. A write, change of
 * size or store to a mapping stays pending until the fdatasync of its file; a
 * create, rename or unlink until the sync of its directory. A write that is
 * durable at once is pending, and may tear, until it returns. Files are inodes:
 * what is pending follows a file through renames, and one whose unlink was
 * not durable comes back with what it had.
 *
 *	entries	  0 1 2 3 ... p		   crash before entry p
 *	durable	  x x . x		+  any choice of what is pending:
 *	pending	      2	   ...		   absent, whole, torn, zeros
 *
 * struct sim_crash walks over all p and gives disks (each a sim of its own,
 * with an empty log) that such a crash may leave. The death of the process
 * alone keeps everything.
 *
 * A failure is repeated by its seed, entry and index, which image.how tells.
 * One lock a disk makes it usable from threads; repeatable it is with one.
 */
#ifndef CELLFS_TESTS_SIM_OS_SIM_H
#define CELLFS_TESTS_SIM_OS_SIM_H

#include "store/os/os.h"

#define SIM_MARKS 8

struct os *sim_new(uint64_t seed);
/* All files and directories of it must be closed. NULL is nothing. */
void sim_free(struct os *os);

void sim_set_now_ms(struct os *os, int64_t now);
/* Limits what files may hold; without it there is no limit. */
void sim_set_space(struct os *os, uint64_t bytes);
/*
 * Notes in the log that something was acknowledged: @kind < SIM_MARKS is the
 * test's own. An image tells the last value of each kind.
 */
void sim_mark(struct os *os, unsigned kind, uint64_t value);
size_t sim_log_length(const struct os *os);

enum {
	SIM_FDATASYNC = 1, /* and of a write that is durable at once */
	SIM_DIR_SYNC = 2,
};
/*
 * Makes syncs of these kinds do nothing (and say that they did it): the
 * @nth from now on, 1 = the next one; 0 = all. @prefix NULL = of any file.
 * A test shows with it that it finds a sync that was left out.
 */
void sim_ignore(struct os *os, unsigned kinds, const char *prefix,
		uint64_t nth);
/* Syncs of these kinds so far, ignored ones included. */
uint64_t sim_syncs(const struct os *os, unsigned kinds);
/*
 * A sync of @f that fails as Linux lets it: pages become clean, a part of them
 * never reaches the disk, the next sync has nothing to do. Returns -EIO.
 */
int sim_fail_fdatasync(struct os_file *f);
bool sim_is_sim(const struct os *os);

/* A copy as it is after the process has died: free with sim_free(). */
struct os *sim_after_kill(struct os *os);
/* A copy with only what is durable now. */
struct os *sim_after_power_loss(struct os *os);
/* And with a part of what is pending, torn some of it, as @seed has it. */
struct os *sim_after_power_cut(struct os *os, uint64_t seed);

struct sim_crash_options {
	size_t from;	   /* first crash point; entries of the log */
	size_t to;	   /* and behind the last one; 0 = the end */
	size_t step;	   /* take each step-th point only; 0 = all */
	uint64_t seed;	   /* of tears and samples */
	unsigned random;   /* samples a point with many pending; 0 = 32 */
	unsigned corners;  /* of each sort, then; 0 = 12 */
	unsigned all;	   /* pending of which all choices are tried; 0 = 7 */
	bool ordered_dirs; /* directory changes persist in order only */
	bool no_kill;	   /* only power loss */
	bool no_power;	   /* only death of the process */
};

struct sim_image {
	struct os *os;
	size_t at;		   /* before this entry */
	bool killed;		   /* only the process died: all is there */
	uint64_t hash;		   /* of names and contents */
	bool marked[SIM_MARKS];	   /* was there a mark of the kind? */
	uint64_t marks[SIM_MARKS]; /* its last value */
	char how[160];		   /* for the message of a failure */
};

struct sim_crash;

/* @os must not change until it is freed. Never NULL. */
struct sim_crash *sim_crash_new(struct os *os,
				const struct sim_crash_options *o);
/* 1 and *out, whose os lives until the next call; 0 at the end. */
int sim_crash_next(struct sim_crash *c, struct sim_image *out);
void sim_crash_free(struct sim_crash *c);
/* Images given and images left out since they were seen before. */
uint64_t sim_crash_images(const struct sim_crash *c);
uint64_t sim_crash_repeats(const struct sim_crash *c);

#endif
