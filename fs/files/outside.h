/*
 * What must follow a change that no file made.
 *
 * A client of .cellfs/store changes the store behind the back of the kernel,
 * which keeps names, attributes and pages, and of the overlay. These bring
 * both to the new state before the client has its answer, so that who looks
 * after it sees the change. Nothing is looked for that the kernel does not
 * know: a change of what nobody has looked at costs a few probes.
 *
 * What is told too much is only asked again; so where it is not plain what has
 * gone, all of a column, family or row is told.
 *
 * Views are not told, as of no change: the kernel believes them a second.
 */
#ifndef CELLFS_FS_FILES_OUTSIDE_H
#define CELLFS_FS_FILES_OUTSIDE_H

#include "fs/tree/fs.h"

/* Before and after. */
void outside_rows_before(struct fs *fs, struct table *t,
			 const struct mutation *rows, size_t n);
void outside_rows(struct fs *fs, struct table *t, const struct mutation *rows,
		  size_t n);

void outside_table_made(struct fs *fs, struct bytes name);
void outside_table_dropped(struct fs *fs, struct bytes name);
void outside_table_emptied(struct fs *fs, struct bytes name);
void outside_table_renamed(struct fs *fs, struct bytes from, struct bytes to);
/* What is only in memory beneath a table: directories, scratch files. */
void outside_forget(struct fs *fs, uint64_t table_node);
/* The schema; with @cells some may be gone. */
void outside_table_altered(struct fs *fs, struct table *t, bool cells);
/* A snapshot of @t, or of all: @gone (it was dropped) or made. */
void outside_snapshot(struct fs *fs, struct table *t, struct bytes name,
		      bool gone);

#endif
