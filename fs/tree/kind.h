/*
 * The kinds of nodes: one table, a row for each value of enum node_kind.
 *
 * A row holds what the tree knows of a kind:
 *
 *	flags, key	what it is, and which part of the coordinates it names
 *	holds, piece	a directory: the kind of the names in it
 *	scan		a directory: what one entry of its scan is
 *	home		a directory: what people are told who put a file there
 *	child		a directory: the kind of a name in it, or an error
 *	decode		what the name adds to the coordinates above it
 *	stat		whether the store has it, and its attributes
 *	list		a directory: the next of its entries in the store
 *	names		a directory: those that are always there, by index
 *	open		a file: what it is when it is open; one that is a writer
 *			is a reader when it is opened to be read
 *	sentence	why a computed file, or what is in a directory of files
 *			that can only be read, is not made, moved or removed
 *	believed	how long the kernel may believe what it was told
 *
 * Who asks a question about a kind looks at its row, so a new kind is a value
 * of enum node_kind, a row, and a file with what only that kind does. Code
 * names a kind only where it speaks of that kind alone.
 */
#ifndef CELLFS_FS_TREE_KIND_H
#define CELLFS_FS_TREE_KIND_H

#include "fs/kernel/node.h"

struct dir_position;
struct dir_scan;
struct fs;
struct place;
struct stat;

enum kind_flag {
	KIND_DIR = 1 << 0,
	/* A directory that is part of a long key. */
	KIND_PIECE = 1 << 1,
	/* A directory of data, in memory from mkdir until it holds a cell. */
	KIND_MADE = 1 << 2,
	/* A directory that is there as long as what it is in. */
	KIND_FIXED = 1 << 3,
	/* Has one shape as long as it is there: -o root= can mount it. */
	KIND_ROOT = 1 << 4,
	/* Is only in memory. */
	KIND_SCRATCH = 1 << 5,
	/* A directory in which scratch files have any name. */
	KIND_ANY_NAME = 1 << 6,
	/* A file that is a cell, and is written as one. */
	KIND_CELL = 1 << 7,
	/* A file that is there by its name alone, and stays where it is. */
	KIND_COMPUTED = 1 << 8,
	/* A file that can be opened for writing. */
	KIND_WRITABLE = 1 << 9,
	/* The kernel may keep the names in the directory (listing.h). */
	KIND_KEPT = 1 << 10,
};

/* Which part of the coordinates the name of a place is. */
enum kind_key {
	KEY_NONE,
	KEY_ROW,
	KEY_FAMILY,
	KEY_QUALIFIER,
};

/* How long the kernel may believe something. */
enum belief {
	BELIEVE_NEVER,	 /* it asks each time */
	BELIEVE_SECOND,	 /* for a second */
	BELIEVE_ROW,	 /* fs_row_absent() */
	BELIEVE_LONG,	 /* CACHE_LONG_S */
	BELIEVE_CELLS,	 /* the same, but not where cells can expire */
	BELIEVE_VERSION, /* the same, or until the version expires */
	BELIEVE_NEWEST,	 /* the same, where all changes are told at once */
};

/* What an open file is; each type supplies a struct file_ops. */
enum kind_opens {
	OPENS_READER = 1,
	OPENS_WRITER,
	OPENS_STREAM,
	OPENS_COUNTER,
	OPENS_SESSION, /* the control file that is the store */
	OPENS_TRACE,   /* the one that shows the requests */
};

struct kind {
	uint16_t flags; /* enum kind_flag */
	uint8_t key;	/* enum kind_key */
	uint8_t holds;	/* enum node_kind */
	uint8_t piece;	/* of a long name: enum node_kind */
	uint8_t scan;	/* enum scan_granularity */
	uint8_t open;	/* enum kind_opens; 0 of a directory */
	struct {
		uint8_t entry, attributes; /* of what is there: enum belief */
		uint8_t absent;		   /* that there is none */
	} believed;
	int (*child)(const struct place *dir, struct bytes name);
	int (*decode)(struct place *p, struct bytes name, bool known);
	int (*stat)(struct fs *fs, const struct place *p, struct stat *st);
	const char *(*names)(const struct fs *fs, uint64_t i);
	int (*list)(struct dir_scan *s, const struct dir_position *last);
	const char *home, *sentence;
};

extern const struct kind kinds[NODE_KINDS];

static inline const struct kind *kind_of(uint8_t kind)
{
	return &kinds[kind];
}

/* Has the kind one of these flags? */
static inline bool kind_is(uint8_t kind, unsigned flags)
{
	return kinds[kind].flags & flags;
}

#endif
