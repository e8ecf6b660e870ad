/*
 * One file carried into another directory, verified.
 *
 *	clone or copy ─▶ NAME.part ─▶ fsync ─▶ out of the page cache ─▶ read
 *	back, hashed, compared ─▶ NAME
 *	link ─▶ NAME ─▶ read, hashed	SHARE_FILE, where it is not cloned
 *
 * A file that has its own name is whole and on disk, but for its name: who
 * carries many syncs the directory at their end.
 */
#ifndef CELLFS_TOOLS_BACKUP_CARRY_H
#define CELLFS_TOOLS_BACKUP_CARRY_H

#include "store/hold.h"
#include "store/value/why.h"

/*
 * Who is told how many bytes were read or written, of what is to be carried twice
 * as many, and of a table file, which is verified at the end, so many once more.
 * False: stop. @spared, if there is one: so many are not to be, as was thought.
 */
struct carry_watch {
	bool (*went)(void *arg, uint64_t bytes);
	void (*spared)(void *arg, uint64_t bytes);
	void *arg;
};

/* What the file may have in common with the one it is carried from. */
enum carry_share {
	SHARE_NOTHING,
	SHARE_BLOCKS, /* a clone */
	SHARE_FILE, /* or a table file of the caller's itself, with two names */
};

/* What the last call failed with, as a sentence: its errno, negative. */
int carry_failed(const char *call, const char *name);
/* Tells the watch, which may be NULL. False: stop. */
bool carry_went(const struct carry_watch *w, uint64_t bytes);
/* What a check of what was carried finds: the arg of the two below. */
struct carry_finding {
	const struct carry_watch *watch;
	char first[WHY_MAX]; /* the first fault; empty: none */
};
bool carry_check_went(void *arg, uint64_t bytes);
void carry_keep_first(void *arg, const char *sentence);
/* Writes all of it to an open file, which errors name so. */
int carry_write(int fd, struct bytes b, const char *name);
/* The most that the watch is told of the file. */
uint64_t carry_most(const struct hold_file *f);
/*
 * Carries file @f of directory @from to directory @to; *hash is that of its
 * f->bytes. -EUCLEAN: it is missing, or of another size.
 */
int carry_file(int from, int to, const struct hold_file *f,
	       enum carry_share share, const struct carry_watch *w,
	       uint64_t *hash);
/* The same of bytes in memory. */
int carry_bytes(struct bytes b, int to, const struct hold_file *f,
		uint64_t *hash);
/*
 * The hash of a file that is there. -EUCLEAN: it is missing, or of another size.
 */
int carry_hash(int dir, const struct hold_file *f, const struct carry_watch *w,
	       uint64_t *hash);

#endif
