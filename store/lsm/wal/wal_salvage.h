/*
 * What can still be read of a log that wal_replay() may refuse.
 *
 * Each record has its own checksum and says where in the stream it lies. So what
 * is behind a damaged one is found by its position, a segment that is missing
 * costs what it held, and where a segment's last records are damaged the ring
 * may still have them.
 *
 *	segment	= block | record | //damaged// | record | end
 *	ring				   record | record  ...
 *
 * The number that seeds all checksums of a segment is in its first block. One
 * bit of that which is wrong is put right; without it nothing of the segment can
 * be told from chance, and all of it is lost.
 *
 * Nothing is written. Memory: a segment, and the ring.
 */
#ifndef CELLFS_STORE_LSM_WAL_WAL_SALVAGE_H
#define CELLFS_STORE_LSM_WAL_WAL_SALVAGE_H

#include "store/os/os.h"
#include "store/value/bytes.h"

struct wal_loss {
	const char *file;
	uint64_t offset, bytes; /* bytes 0: not known */
	const char *reason;
};

struct wal_salvage {
	struct os_dir *dir;
	/*
	 * Segments below @first are not needed, and those from it on are missed. Where
	 * that is not known @first is 0, and what is missing before the first segment
	 * that is there is not noticed.
	 */
	bool first_known;
	uint64_t first;
	/* A negative return ends it. A record may come more than once. */
	int (*each)(void *arg, struct bytes record);
	void (*lost)(void *arg, const struct wal_loss *loss);
	void *arg;
};

/* 0, or an error that is no damage, or that of @each. */
int wal_salvage(const struct wal_salvage *s);

#endif
