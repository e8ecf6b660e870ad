/*
 * Is T/.schema there?
 *
 * A table always has a schema, and reading .schema finds it. But programs that
 * restore a table make the directory and then each file in it with O_EXCL,
 * since a new directory is empty (cp, cpio, mv), or remove an existing file and
 * make it with O_EXCL (tar, install). The kernel itself refuses O_EXCL if a
 * look-up has found the name, and a look-up does not say what it is for. So
 * .schema is absent
 *
 *   - for a few seconds after it was removed, to everybody, or until it is made
 *     again; then it exists again, unchanged;
 *   - to the process that made the table, if its first look-up of .schema is to
 *     create it and nobody has written it.
 *
 * The second case is detected by what the kernel does after ESTALE. It walks
 * the path once more, caches no attributes of the table meanwhile (their
 * timeout is 0), and needs them once to search the directory and once more to
 * create:
 *
 *	stat, open		LOOKUP=ESTALE  GETATTR(T)  LOOKUP
 *	open(O_CREAT)		LOOKUP=ESTALE  GETATTR(T)  GETATTR(T)  LOOKUP
 *
 * (A mkdir of that name is not tried again: it gets ESTALE and not EEXIST.)
 *
 * rsync --ignore-existing only calls lstat(2), and so does rsync --append,
 * which takes the existing text for the beginning of its own. They are
 * recognized by their command line.
 *
 * This is known of a table by its id, and not by its node, which the kernel may
 * forget at any moment. Of two tables whose ids share a slot the later one has it.
 * A table of a snapshot has its schema always.
 *
 * Threads: any; the lock is innermost.
 */
#ifndef CELLFS_FS_MEMORY_SCHEMA_ABSENT_H
#define CELLFS_FS_MEMORY_SCHEMA_ABSENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/kernel/fstable.h"

#define SCHEMA_ABSENT_SLOTS 1024

struct schema_absence {
	_Atomic bool asked;
	bool any;	  /* whether any field below is set */
	bool promised;	  /* the maker was told that .schema is absent */
	uint64_t table;	  /* its id */
	pid_t maker;	  /* the thread that made the table; 0 = unknown */
	unsigned looks;	  /* requests for attributes, while asked */
	int64_t until_ms; /* removed until then; monotonic clock */
};

struct schema_absent {
	pthread_mutex_t lock; /* guards all but asked */
	struct schema_absence slots[SCHEMA_ABSENT_SLOTS];
};

/* @s is all zero. */
void schema_absent_init(struct schema_absent *s);
void schema_absent_destroy(struct schema_absent *s);

/* The thread @maker has made the table. */
void schema_absent_made(struct schema_absent *s, const struct fstable *ft,
			pid_t maker);
/* .schema was unlinked. */
void schema_absent_removed(struct schema_absent *s, const struct fstable *ft);
/* .schema of the table with this id was written, by any process. */
void schema_absent_written(struct schema_absent *s, uint64_t table);
/* Is it absent for all processes? */
bool schema_absent_to_all(struct schema_absent *s, const struct fstable *ft);

/*
 * For a look-up of .schema: 1 = it exists, 0 = it does not, -ESTALE = the
 * kernel must ask again, without cached attributes of the table. @plain: nobody
 * wrote it.
 */
int schema_absent_look(struct schema_absent *s, const struct fstable *ft,
		       pid_t who, bool plain);
/*
 * To be called for a GETATTR of the table, and with @found for a LOOKUP: a walk
 * begins; a rename has two.
 */
void schema_absent_table(struct schema_absent *s, const struct fstable *ft,
			 pid_t who, bool found);

static inline struct schema_absence *schema_absence_of(struct schema_absent *s,
						       uint64_t table)
{
	return &s->slots[table % SCHEMA_ABSENT_SLOTS];
}

/*
 * Is a thread between the two requests? Then the kernel must not cache
 * attributes of the table.
 */
static inline bool schema_absent_is_asked(struct schema_absent *s,
					  const struct fstable *ft)
{
	return atomic_load_explicit(
		&schema_absence_of(s, fstable_id(ft))->asked,
		memory_order_relaxed);
}
/* For CREATE with O_EXCL: was .schema said to be absent? Ends that. */
bool schema_absent_may_make(struct schema_absent *s, const struct fstable *ft,
			    pid_t who);

#endif
