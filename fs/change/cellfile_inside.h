/* Inside of cellfile: its changes, checks and looks at a column. */
#ifndef CELLFS_FS_CHANGE_CELLFILE_INSIDE_H
#define CELLFS_FS_CHANGE_CELLFILE_INSIDE_H

#include "fs/change/cellfile.h"

static inline struct change change_of(const struct place *p, uint8_t op,
				      int64_t ts)
{
	return (struct change){
		.op = op,
		.family = p->family,
		.qualifier = p->qualifier,
		.ts = ts,
	};
}

static inline struct check check_of(const struct place *p, uint8_t op,
				    int64_t ts)
{
	return (struct check){
		.op = op,
		.family = p->family,
		.qualifier = p->qualifier,
		.ts = ts,
	};
}

/* The timestamp for a put of @p. */
static inline int64_t put_ts(const struct place *p, int64_t ts)
{
	if (ts >= 0)
		return ts;
	return p->kind == NODE_VERSION ? p->ts : TS_AUTO;
}

static inline bool same_column(const struct place *a, const struct place *b)
{
	return bytes_eq(a->family, b->family) &&
	       bytes_eq(a->qualifier, b->qualifier);
}

/*
 * With CELLFILE_ABSENT, the check that the file is not there. A version that
 * is hidden is there for the store only, as long as nobody writes it anew.
 */
bool cellfile_check_absent(struct fs *fs, const struct place *p, unsigned flags,
			   struct buf *hold, struct check *out);
/* The put of @p that has the value of @was, and ends when that does. */
struct change cellfile_copy_of(struct fs *fs, const struct place *p,
			       const struct cell *was, int64_t ts);

/* A scan of what the row has of the column, with @raw of all that is stored. */
int cellfile_scan(struct table *t, struct bytes row,
		  const struct column_name *column, bool keys_only, bool raw,
		  struct scan **out);
/* What is told of each cell of a column: 0 = go on, else that is the result. */
typedef int see_cell(void *arg, const struct cell *c);
/*
 * Tells of the keys of the column, with @raw of all that is stored of it, with
 * @head of the markers of its family instead.
 */
int cellfile_each_key(const struct place *p, bool raw, bool head, see_cell *see,
		      void *arg);
/* All that is stored of the column, and the markers of its family. */
int cellfile_each_stored(const struct place *p, see_cell *see, void *arg);

/* Does the marker hide a put at @ts? */
bool cellfile_hides(const struct cell *c, int64_t ts);
/* -EPERM, with words, for what a marker hides. */
int cellfile_beneath(void);
/* Does the family show a version at @ts of a column that has @newer ones? */
int cellfile_check_kept(struct fs *fs, const struct family_attrs *attrs,
			size_t newer, int64_t ts);
/*
 * Will the version @to be seen when the one of @from at @ts has gone, and what @with,
 * if any, puts is there? A move to where it is pushed out at once, or has expired,
 * would lose the value.
 */
int cellfile_check_seen(struct fs *fs, const struct place *from, int64_t ts,
			const struct place *to, const struct mutation *with);

#endif
