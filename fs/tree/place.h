/*
 * The tree: what lives where.
 *
 * A place is a node or a name with its coordinates decoded: which table, row,
 * family, qualifier and timestamp it stands for, and of which kind it is.
 * Kinds and names follow from each other alone:
 *
 *	ROOT ─ TABLE ─ ROW(_PIECE) ─ FAMILY ─ COLUMN(_PIECE) ─ VERSION, LATEST
 *	     │       ├ SCHEMA      └ ALIAS
 *	     │       ├ SNAPSHOT_DIR ─ TABLE, shown by the snapshot
 *	     │       ├ STAGE ─ SCRATCH(_DIR)
 *	     │       ├ PUT ─ ROW(_PIECE), as of the table
 *	     │       └ INFO_DIR ─ INFO
 *	     ├ SNAPSHOT_DIR ─ SNAPSHOT ─ TABLE, shown by the snapshot
 *	     └ CONTROL_DIR ─ CONTROL
 *
 * A table that a snapshot shows is one whose fstable reads through it
 * (fstable_snapshot()); nothing beneath knows more of it than that.
 *
 * place_child() says what a name means in a directory, without looking
 * whether it exists; place_stat() looks. A name that means nothing as data
 * can still be a regular file in memory: it gets the kind SCRATCH. (A scratch
 * file may also bear a name that would be a directory's: the overlay, which
 * is asked first, decides.)
 *
 * In T/.put every row exists; else they are the rows of T. Such a place has
 * nodes of its own, of which the kernel believes nothing without asking; the
 * overlay and all notices are of the nodes beneath T (fs_dir_node()).
 *
 * A view (view.h) stands in a table, row or family and has the shape of it:
 * place_level() says which. All beneath inherits it: names mean the same, but
 * exist only in the view, and nothing there can be changed. In .at a column is
 * a VALUE, a file.
 */
#ifndef CELLFS_FS_TREE_PLACE_H
#define CELLFS_FS_TREE_PLACE_H

#include <sys/stat.h>

#include "fs/text/name.h"
#include "fs/kernel/changes.h"
#include "fs/kernel/fstable.h"
#include "fs/tree/kind.h"

#define SNAPSHOT_DIR_NAME ".snapshot"
#define PUT_DIR_NAME ".put"
#define STAGE_DIR_NAME ".stage"

struct fs;
struct control_file;
struct info_file;
struct view;

struct place {
	uint64_t node;	 /* 0 when it came from place_child() */
	uint64_t parent; /* the directory's node */
	uint64_t ino;
	uint64_t dir_ino; /* the directory's */
	uint64_t seen;	  /* changes.h: when it was looked at */
	uint8_t kind;	  /* enum node_kind */
	bool detached;	  /* unlinked or replaced since the kernel got it */
	bool put;	  /* in .put, or .put itself */
	struct fstable *table; /* a reference; NULL above tables */
	/*
	 * As far as the kind has them. Under a piece, row or qualifier is
	 * what is known of it. All lie in hold.
	 */
	struct bytes row, family, qualifier;
	int64_t ts;			    /* VERSION, MARKER, PAST */
	uint64_t back;			    /* PAST: @-N, or 0 for @TIME */
	uint8_t cell_kind;		    /* VERSION, MARKER */
	uint8_t view_op;		    /* VIEW_NAME: enum view_op */
	struct view *view;		    /* a reference; NULL = everything */
	const struct control_file *control; /* CONTROL */
	const struct info_file *info;	    /* INFO */
	char name[NAME_LEN_MAX + 1];	    /* the component */
	struct buf hold;
};

/* Has the kind of the place one of these flags? */
static inline bool place_is(const struct place *p, unsigned flags)
{
	return kinds[p->kind].flags & flags;
}

static inline bool place_is_dir(const struct place *p)
{
	return kinds[p->kind].flags & KIND_DIR;
}

/* The place of a node: 0; -ESTALE; -ENOMEM. Release it whatever happened. */
int place_of(struct fs *fs, uint64_t node, struct place *out);
/*
 * What @name means in @dir. 0; -EINVAL for a name that is not canonical (a
 * lookup says ENOENT then); -ENAMETOOLONG; -ENOTDIR when @dir is a file;
 * -ENOENT for a table that does not exist and a control name; -ENOMEM. In the
 * root a valid table name that is not there is -ENOENT with out->kind
 * NODE_TABLE and table NULL, so that mkdir can tell. Release always.
 */
int place_child(struct fs *fs, const struct place *dir, struct bytes name,
		struct place *out);
/*
 * The table of the node with that name, if the kernel knows one: a reference
 * and *node, or NULL.
 */
struct fstable *place_held_table(struct fs *fs, uint64_t parent,
				 struct bytes name, uint64_t *node);
int place_copy(struct place *to, const struct place *from);
void place_release(struct place *p);
/* A copy of *p owns its content now: *p needs no release. */
void place_disown(struct place *p);

/* The kind of the place, or of a view the kind of the directory that it restricts. */
static inline uint8_t place_level(const struct place *p)
{
	if (p->kind != NODE_VIEW)
		return p->kind;
	if (p->family.len)
		return NODE_FAMILY;
	return p->row.len ? NODE_ROW : NODE_TABLE;
}

/* The kind of a name in the directory that spells a key of its level. */
uint8_t place_holds(const struct place *dir);
/*
 * What the name spells: the row key so far, the family, or the qualifier so
 * far; of other kinds the name itself. Listings are in its order.
 */
struct bytes place_key(const struct place *p);
/*
 * What a walk of the kernel to the file is known by (gone.h). It may have been renamed
 * since it was found: its directory. An F:Q that is believed is apart from others.
 */
uint64_t place_walked(const struct place *file);
/* Which directory of a row it is, or its row's. */
struct changes_dir place_changes(const struct place *dir);
/* Are both in the same table and row, so that one mutation changes both? */
bool place_same_row(const struct place *a, const struct place *b);
/* Is it in a snapshot or view, where nothing changes? -EROFS in words, or 0. */
int place_writable(const struct place *p);
/* May a file be written? 0; -EROFS as place_writable(); -EACCES if it is computed. */
int place_file_writable(const struct place *p);
/* -EACCES: why a computed file is not made, moved, replaced or removed. */
int place_computed(const struct place *p);

/*
 * The attributes of what the store (or the control table) holds there. 1;
 * 0 when nothing is there, and *st is as it was; an error. Overlay and open
 * writers are not asked: see fs_stat() in fs.h.
 */
int place_stat(struct fs *fs, const struct place *p, struct stat *st);
/*
 * The cell that the file stands for (a column's newest for its directory): 1;
 * 0; -ENODATA with a sentence when it is lost. @hold as table_get()'s.
 */
int place_get(const struct place *p, struct cell *cell, struct buf *hold);
/* As place_stat(), from a cell at hand (VERSION, LATEST, ALIAS: size and mtime). */
int place_stat_cell(struct fs *fs, const struct place *p,
		    const struct cell *cell, struct stat *st);
/* A directory or an empty file of that kind, for what is only in memory. */
int place_stat_blank(struct fs *fs, const struct place *p, struct stat *st);
/* Gives it the owner, group and mode that the options say, of whatever it is. */
void place_stat_force(const struct fs *fs, struct stat *st);
void place_stat_size(struct stat *st, uint64_t size);
/* Is @who root, or the user who mounted the store? */
bool place_is_master(const struct fs *fs, uid_t who);
/*
 * For what the kernel cannot judge, since it is a write as any other: does @who own the
 * table, by the owner that the mount shows? Root and the user who mounted the store do.
 */
bool place_is_owner(const struct fs *fs, const struct fstable_owner *own,
		    uid_t who);
/* Has the table the sticky bit, by which only its owner deletes? */
bool place_is_sticky(const struct fs *fs, const struct fstable_owner *own);
/* Of what is beyond int64_t the nearest, which is not INT64_MIN. */
int64_t place_mtime_ms(const struct stat *st);
/* How long the kernel may believe entry and attributes, in seconds. */
void place_timeouts(struct fs *fs, const struct place *p, const struct stat *st,
		    double *entry, double *attr);
double place_attr_timeout(struct fs *fs, const struct place *p,
			  const struct stat *st);
/* For how many seconds it may believe that the name is absent. */
double place_negative_timeout(struct fs *fs, const struct place *p);

/* The ino of @name in a directory with @dir_ino. Never 0 or 1. */
uint64_t place_child_ino(uint64_t dir_ino, struct bytes name);
uint64_t place_table_ino(const struct fstable *ft);
/* "T/R/F/Q" for people, appended to @out as far as memory allows. */
void place_path(struct fs *fs, uint64_t node, const char *name,
		struct buf *out);

#endif
