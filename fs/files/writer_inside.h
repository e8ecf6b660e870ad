/*
 * A writer's inside, shared by writer.c (what an open file does),
 * writer_draft.c (what it has gathered), writer_scratch.c (what an open scratch
 * file does) and writer_node.c (which writers a node has).
 */
#ifndef CELLFS_FS_FILES_WRITER_INSIDE_H
#define CELLFS_FS_FILES_WRITER_INSIDE_H

#include <stddef.h>

#include "fs/files/schema_file.h"
#include "fs/files/writer.h"
#include "fs/memory/draft.h"
#include "fs/memory/write_state.h"
#include "fs/tree/fs.h"

enum writer_type {
	WRITER_CELL,
	WRITER_SCHEMA,
	WRITER_SCRATCH
};

struct writer {
	struct sorted_node by_node; /* first; in writes.writers */
	struct open_file file;
	struct fs *fs;
	struct place place; /* never changes */
	uint8_t type;	    /* never changes */
	pid_t opener;	    /* the thread that opened it; never changes */
	unsigned flags;	    /* CELLFILE_SYNC with O_SYNC or O_DSYNC */
	/* Created and not published: the size so far, else -1. */
	_Atomic int64_t pending_size;
	/* When it was closed, by one who has it open; 0 = it was written to since. */
	_Atomic uint64_t flushed_ns;

	pthread_mutex_t lock; /* guards all below */
	struct draft draft;
	bool tail;	 /* the draft is what comes behind the file's value */
	size_t base_len; /* of that value, when it was looked at */
	struct schema_edit edit; /* of .schema */
	bool loaded;		 /* the draft is the whole content */
	bool dirty;		 /* written since it was published last */
	bool owed;		 /* made or truncated: an empty value is due */
	bool absent;   /* O_EXCL: the first publication finds no file */
	uint8_t state; /* enum writer_state */
	bool broken;   /* a write failed: what is there is not the whole */
	int failed;    /* why the last publication did not happen */
	char *reason;  /* the same in words, or NULL */
	bool untold;   /* published, and the kernel may not know yet */
	int64_t ts;    /* what was published last, or -1 */
	/* Of who holds it: the whole, if the draft is not, should the file go. */
	struct draft whole;
	bool has_whole;
	struct writer *next_held;
};

extern const struct file_ops writer_ops, writer_scratch_ops;

static inline struct writer *writer_of(struct open_file *f)
{
	return (struct writer *)((char *)f - offsetof(struct writer, file));
}

static inline void writer_unref(struct writer *w) /* NULL is nothing */
{
	if (w)
		open_file_drop(&w->file);
}

void writer_free(struct open_file *f);
/* 0, or -EINTR: its caller is gone. */
int writer_register(struct writer *w);
void writer_unregister(struct writer *w);
/*
 * Publishes what was written, and with @all what is owed. REQUIRES: lock, which
 * writer_unlock() gives back: it waits for what changed_wait() does.
 */
int writer_publish(struct writer *w, bool all, unsigned flags);
void writer_unlock(struct writer *w);
/*
 * The draft (writer_draft.c). All require the lock and return 0 or an error, if
 * nothing else is said here.
 *
 * Reads the cell of the file: 1; 0 when there is none, or the version was moved
 * away.
 */
int writer_read_cell(struct writer *w, struct cell *cell, struct buf *hold);
/* What is written from now on comes behind what the file has by then. */
void writer_begin_tail(struct writer *w);
/* Appends to @out what is stored and the draft that comes behind it. */
int writer_read_tail(struct writer *w, struct buf *out);
/* Makes the whole content in @whole; the draft stays as it is. */
int writer_whole(struct writer *w, struct draft *whole);
/* Makes the draft that one. */
void writer_take_whole(struct writer *w, const struct draft *whole);
/* The draft becomes the whole content, or stays as it is. */
int writer_load(struct writer *w);
/* How long the file is to its writer: 1; 0 when it is as long as stored. */
int writer_draft_size(struct writer *w, uint64_t *size);
/* On an error the draft lacks @data, or a part of it. */
int writer_write_draft(struct writer *w, struct bytes data, uint64_t off,
		       bool append);
int writer_truncate_draft(struct writer *w, uint64_t len);
void writer_note_flush(struct writer *w);
/* Wakes those who wait for a pending file in writer_hides(), or for a release. */
void writer_settled(struct fs *fs);

#endif
