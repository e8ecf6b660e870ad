/*
 * A table as the mount holds it: a reference and the schema at hand.
 *
 * Every attribute reply needs the table's mode, owner and families, so the
 * schema is copied once a version of it and answered from here. One fstable a
 * table id: two nodes of one table share it. One that a snapshot shows is of
 * its own, for reading only.
 *
 * Threads: any; the lock of an fstable is held over table_schema(), which
 * does not block on disk.
 */
#ifndef CELLFS_FS_KERNEL_FSTABLE_H
#define CELLFS_FS_KERNEL_FSTABLE_H

#include <sys/types.h>

#include "fs/kernel/schema_absent.h"
#include "store/store.h"

struct fstable;

/* A new one over @t, whose reference it takes over also on failure. */
int fstable_new(struct table *t, struct fstable **out);
/*
 * The table as a snapshot shows it: what is read goes through the snapshot,
 * and .schema is that of its time. Owner, mode and attributes are the
 * present ones, so that a chmod holds for the past too. Takes over both.
 */
int fstable_new_shown(struct table *t, struct snapshot *snap,
		      struct fstable **out);
void fstable_ref(struct fstable *ft);
void fstable_unref(struct fstable *ft); /* NULL is nothing */

struct table *fstable_table(struct fstable *ft); /* borrowed */
uint64_t fstable_id(const struct fstable *ft);
/* Through which it is read, borrowed; NULL = the present. */
const struct snapshot *fstable_snapshot(const struct fstable *ft);

/*
 * How far the keys of a view with a count (.first/N) have been counted: see
 * view_count.c. Taken out by who goes on, so that one thread has it.
 */
struct fstable_count {
	struct buf view; /* which view, as bytes; empty = none */
	struct buf last; /* the key up to which all are counted */
	uint64_t seen;
	int64_t since_ms; /* when it was begun */
};
enum {
	COUNT_ROWS,
	COUNT_QUALIFIERS,
	COUNTS
};
void fstable_count_take(struct fstable *ft, int which,
			struct fstable_count *out);
/* Takes over @c in place of what is there. */
void fstable_count_put(struct fstable *ft, int which, struct fstable_count *c);

struct fstable_owner {
	mode_t mode; /* permission bits */
	uid_t uid;
	gid_t gid;
};
/* -ENOENT when the table was dropped. */
int fstable_owner(struct fstable *ft, struct fstable_owner *out);
/* 1 and *out, 0 when it is not declared, -ENOENT. @out may be NULL. */
int fstable_family(struct fstable *ft, struct bytes family,
		   struct family_attrs *out);
/* 1 if undeclared families are refused, 0, -ENOENT. */
int fstable_fixed(struct fstable *ft);
/* 1 if the schema says no more than that of a new table, 0, -ENOENT. */
int fstable_plain(struct fstable *ft);
/* Is .schema there? Lives as long as @ft. */
struct schema_absent *fstable_absent(struct fstable *ft);
/*
 * 1 if cells of any family can expire, FSTABLE_CELL_TTL if some by a ttl of
 * their own, 0, -ENOENT.
 */
enum {
	FSTABLE_CELL_TTL = 2
};
int fstable_expires(struct fstable *ft);
/* A cell with a ttl of its own is about to be written. */
void fstable_has_cell_ttl(struct fstable *ft);
/* A copy of the schema; free with schema_free(). -ENOENT, -ENOMEM. */
int fstable_schema(struct fstable *ft, struct schema *out);
/* When the schema was last seen to change; 0 = not since the mount. */
int64_t fstable_changed_ms(struct fstable *ft);
/* The text of .schema appended to @out. -ENOENT, -ENOMEM. */
int fstable_schema_text(struct fstable *ft, struct buf *out);

#endif
