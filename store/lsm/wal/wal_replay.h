/*
 * Reading the log back: what the segments and then the ring hold.
 *
 *	segments:  ...|== N ==|== N+1 ====E
 *	ring:			  .....   E=====T   records that continue at E
 *
 * Every segment but the last must reach the start of the next one, since a new
 * segment is only made when the one before is durable. The last one ends where
 * its records do; the ring, which outlives the process, may continue it exactly
 * there.
 *
 * wal_replay() changes nothing on disk. wal_recover() then makes all records up
 * to the end durable: it writes the ring's tail to the segment, writes again
 * what was not known to be durable (after a failed sync pages may be clean and
 * yet not on disk), syncs, sets the mark, and cuts the file off at the end. If
 * it is interrupted, it is simply done again.
 */
#ifndef CELLFS_STORE_LSM_WAL_WAL_REPLAY_H
#define CELLFS_STORE_LSM_WAL_WAL_REPLAY_H

#include "store/lsm/wal/wal_format.h"
#include "store/os/os.h"

#define WAL_RING_NAME "wal.ring"
#define WAL_SPARE_NAME "wal.spare"
#define WAL_RESERVE_NAME "wal.reserve"
#define WAL_NEW_NAME "wal.new"
/*
 * How many segments were made, in 16 hex digits, "ring" or "none", and a hash.
 * Without this file a lost last segment or ring would look as if it had never
 * existed. The file is written, but not synced, when the names of both are on
 * disk; if it is absent or torn, nothing is concluded from it.
 */
#define WAL_MADE_NAME "wal.made"
#define WAL_MADE_BYTES 39
#define WAL_NAME_BYTES 32

void wal_segment_name(char name[WAL_NAME_BYTES], uint64_t number);
/* False if @name is not the name of a segment. */
bool wal_segment_number(const char *name, uint64_t *number);
/* The numbers of the segments from @first on, ascending; the caller frees *out. */
int wal_segments(struct os_dir *dir, uint64_t first, uint64_t **out, size_t *n);

struct wal_found {
	size_t n;	   /* segments numbered >= first */
	uint64_t *numbers; /* ascending, without gaps */
	uint64_t first;	   /* first number; the one asked for if n is 0 */
	/* Of the last segment; all zero if n is 0: */
	struct wal_head head;
	uint64_t file_size;
	uint64_t in_segment; /* end of the segment's records */
	uint64_t end;	     /* end of the ring's records that follow */
	uint64_t durable;    /* end of the durable part, <= in_segment */
	bool marked;	     /* its block has a durable mark */
	struct buf ring;     /* its contents; empty if there is none */
	uint64_t records;
};

struct wal_made {
	uint64_t next; /* segments below it were made; 0: not known */
	bool ring;
};
struct wal_made wal_made_read(struct os_dir *dir);
/* Notes that segments below @next and maybe a @ring were made; may fail. */
void wal_made_note(struct os_dir *dir, uint64_t next, bool ring);

typedef int (*wal_replay_fn)(void *arg, uint64_t segment, struct bytes record);

/*
 * @replay may be NULL. Free with wal_found_free() also after a failure. Of what the
 * log has before a segment that is missing or damaged (-EUCLEAN) the records are
 * handed out as well.
 */
int wal_replay(struct os_dir *dir, uint64_t first, wal_replay_fn replay,
	       void *arg, struct wal_found *out);
int wal_recover(struct os_dir *dir, const struct wal_found *found);
void wal_found_free(struct wal_found *found);

/*
 * Removes segments below @first, from the lowest on, but for those that @keep has
 * taken; and spare files.
 */
int wal_sweep(struct os_dir *dir, uint64_t first,
	      bool (*keep)(void *arg, uint64_t number), void *arg);

#endif
