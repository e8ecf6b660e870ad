/*
 * A table as the mount holds it: a reference and a copy of the schema.
 *
 * Every attribute reply needs the table's mode, owner and families, so the
 * schema is copied once for each of its versions. There is one fstable for each
 * table id: two nodes of one table share it. A table in a snapshot has an
 * fstable of its own, for reading only.
 *
 * Threads: any; the lock of an fstable is held over table_schema(), which
 * does not block on disk.
 */
#ifndef CELLFS_FS_KERNEL_FSTABLE_H
#define CELLFS_FS_KERNEL_FSTABLE_H

#include <sys/types.h>

#include "store/store.h"

struct fstable;

/* Makes an fstable of @t, whose reference it takes over even on failure. */
int fstable_new(struct table *t, struct fstable **out);
/*
 * Makes one of a table in a snapshot: cells and .schema are read through the
 * snapshot. Owner, mode and attributes are the present ones, so that a chmod
 * holds for the past too. Takes over both references.
 */
int fstable_new_shown(struct table *t, struct snapshot *snap,
		      struct fstable **out);
void fstable_ref(struct fstable *ft);
void fstable_unref(struct fstable *ft); /* @ft may be NULL */

struct table *fstable_table(struct fstable *ft); /* borrowed */
uint64_t fstable_id(const struct fstable *ft);
/* Do both show the same table, of now or of the same snapshot? */
bool fstable_same(const struct fstable *a, const struct fstable *b);
/* The snapshot through which it is read, borrowed; NULL = the present. */
const struct snapshot *fstable_snapshot(const struct fstable *ft);

/*
 * How far the keys of a view with a count (.first/N) have been counted: see
 * view_count.c. A thread takes it out to continue the count, so that only one
 * thread has it.
 */
struct fstable_count {
	struct buf view; /* the view's key; empty = none */
	struct buf last; /* all keys up to this one are counted */
	uint64_t seen;
	int64_t since_ms; /* when the count began */
};
enum {
	COUNT_ROWS,
	COUNT_QUALIFIERS,
	COUNTS
};
void fstable_count_take(struct fstable *ft, int which,
			struct fstable_count *out);
/* Stores @c, and frees the present one. */
void fstable_count_put(struct fstable *ft, int which, struct fstable_count *c);

struct fstable_owner {
	mode_t mode; /* permission bits */
	uid_t uid;
	gid_t gid;
};
/* -ENOENT if the table was dropped. */
int fstable_owner(struct fstable *ft, struct fstable_owner *out);
/* 1 and *out, 0 if the family is not declared, -ENOENT. @out may be NULL. */
int fstable_family(struct fstable *ft, struct bytes family,
		   struct family_attrs *out);
/* 1 if undeclared families are refused, 0, -ENOENT. */
int fstable_fixed(struct fstable *ft);
/* 1 if the schema is that of a new table, 0, -ENOENT. */
int fstable_plain(struct fstable *ft);
/*
 * 1 if cells of any family can expire, FSTABLE_CELL_TTL if some have their own
 * ttl, 0, -ENOENT.
 */
enum {
	FSTABLE_CELL_TTL = 2
};
int fstable_expires(struct fstable *ft);
/* Notes that a cell with its own ttl was written; whether it is the first known. */
bool fstable_has_cell_ttl(struct fstable *ft);
/* The table has other cells now, of which some may have their own ttl. */
void fstable_ask_again(struct fstable *ft);
/* A copy of the schema; free with schema_free(). -ENOENT, -ENOMEM. */
int fstable_schema(struct fstable *ft, struct schema *out);
/* When a change of the schema was last seen; 0 = not since the mount. */
int64_t fstable_changed_ms(struct fstable *ft);
/* Appends the text of .schema to @out. -ENOENT, -ENOMEM. */
int fstable_schema_text(struct fstable *ft, struct buf *out);

#endif
