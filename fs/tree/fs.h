/*
 * One mount: the store, the tree over it, and what the requests share.
 *
 *	kernel ── ops_*.c ── place ── store.h
 *		     │	       └ node, name, fstable, overlay
 *		     └ listing, reader, writer (behind handle)
 *
 * Lock order: writer (its own locks), overlay.lock, fstable.lock, nodes.lock
 * or handles.lock. None is held over a store call that can block (but a
 * writer's own), over fuse_reply_*() or a notification.
 */
#ifndef CELLFS_FS_TREE_FS_H
#define CELLFS_FS_TREE_FS_H

#include <stdatomic.h>

#include "fs/kernel/fuse.h"

#include "fs/kernel/caller.h"
#include "fs/kernel/changes.h"
#include "fs/kernel/dir_times.h"
#include "fs/kernel/gone.h"
#include "fs/kernel/handle.h"
#include "fs/kernel/invalidate.h"
#include "fs/kernel/transport.h"
#include "fs/memory/overlay.h"
#include "fs/memory/schema_absent.h"
#include "fs/memory/values.h"
#include "fs/report/errors.h"
#include "store/front/latency.h"
#include "store/os/patience.h"
#include "fs/report/options.h"
#include "fs/report/trace.h"
#include "fs/tree/place.h"
#include "store/store.h"

/* Requests that are served at a time. */
#define FS_THREADS_MAX 32

/* Seconds: what cannot change behind the kernel's back. */
#define CACHE_LONG_S 3600.0

#define FS_ALIAS_SLOTS 64

struct moved;
struct sandbox;
struct write_state;

/* Requests by operation, for stats. */
enum fs_op {
	FS_LOOKUP,
	FS_GETATTR,
	FS_SETATTR,
	FS_READDIR,
	FS_OPEN,
	FS_READ,
	FS_CREATE,
	FS_WRITE,
	FS_FLUSH,
	FS_FSYNC,
	FS_MKDIR,
	FS_RMDIR,
	FS_UNLINK,
	FS_RENAME,
	FS_FORGET,
	FS_OP_COUNT
};
/* In words; static. */
const char *fs_op_name(enum fs_op op);

struct fs {
	struct store *store;
	const struct options *options;
	struct place root;    /* what FUSE_ROOT_ID stands for: see root.h */
	struct budget budget; /* of all that clients make the mount keep */
	struct values values;
	/* The longest value that was looked at: what a scan may need. */
	_Atomic uint64_t value_len_max;
	struct nodes *nodes;
	struct handles *handles;
	struct overlay *overlay;
	struct changes changes;
	struct gone gone;
	struct schema_absent schema_absent;
	struct dir_times dir_times;
	struct invalidator *invalidator;
	struct errors *errors;
	struct trace *trace;
	struct write_state *writes; /* the write side's own */
	struct moved *moved;	    /* versions that were renamed away */
	struct fuse_session *session;
	struct transport transport;
	const struct sandbox *sandbox; /* what is given up; NULL = nothing */
	int64_t start_ms;
	uid_t uid; /* who owns root and control files */
	gid_t gid;
	_Atomic uint64_t op_counts[FS_OP_COUNT];
	struct latency latency[FS_OP_COUNT];
	_Atomic uint64_t bytes_read, bytes_written;
	/* The kernel takes invalidate_all_names(). */
	_Atomic bool forgets_names;
	/* Readers of F:Q that are open, by node: fs_alias_readers(). */
	_Atomic uint32_t aliases_read[FS_ALIAS_SLOTS];
	_Atomic uint32_t sessions; /* of .cellfs/store */
	_Atomic uint32_t awake;	   /* streams whose scan is open */
	_Atomic uint32_t waiting;  /* threads that wait for memory */
	/* When a row was last said to be absent, by the monotonic clock. */
	_Atomic int64_t row_absent_ms;
};

/* Notes how @req came; of the first it is said. */
void fs_note_transport(struct fs *fs, fuse_req_t req);

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* How the thread's request was answered: 0 or a negative errno. */
extern _Thread_local int fs_replied;

/*
 * Each op begins with this, which notes for whom the thread works, and that nothing
 * has failed yet: what failed before is of another request.
 */
static inline struct fs *fs_begin(fuse_req_t req)
{
	struct fs *fs = fs_of(req);
	pid_t caller = fuse_req_ctx(req)->pid;

	budget_ask_as(caller);
	if (atomic_load_explicit(&fs->transport.way, memory_order_relaxed) !=
	    TRANSPORT_DEVICE)
		fs_note_transport(fs, req);
	why_clear();
	patience_begin_request_of(caller, caller_is_killed);
	fs_replied = 0;
	return fs;
}

static inline void fs_saw_value(struct fs *fs, uint64_t len)
{
	if (len >
	    atomic_load_explicit(&fs->value_len_max, memory_order_relaxed))
		atomic_store_explicit(&fs->value_len_max, len,
				      memory_order_relaxed);
}

/* The count of the readers of that F:Q, and perhaps of others. */
static inline _Atomic uint32_t *fs_alias_readers(struct fs *fs, uint64_t node)
{
	return &fs->aliases_read[node % FS_ALIAS_SLOTS];
}

/* All that was acknowledged before is on disk when it returns 0. */
int fs_sync(struct fs *fs);

/*
 * For how many seconds the kernel may believe a row absent, as it is told now.
 */
double fs_row_absent(struct fs *fs);
/*
 * Do cells of the table come and go by changes alone that the mount makes, and hears
 * of? Not where some expire, nor where other clients have the store.
 */
bool fs_hears_all(struct fs *fs, struct fstable *ft);
/* May the kernel believe any row absent, by what it was told? */
bool fs_rows_believed_absent(struct fs *fs);

/*
 * The node under which the overlay has the entries of a directory: @dir, or with
 * @put, as that is in .put, the same directory of the table; 0 if the kernel does
 * not know that one.
 */
uint64_t fs_dir_node(struct fs *fs, uint64_t dir, bool put);

/* Puts an error and the sentence of why() into .cellfs/errors. @name may be NULL. */
void fs_note_error(struct fs *fs, const char *op, uint64_t node,
		   const char *name, int err);
/*
 * Replies an error once and notes it if it is a failure (not the ENOENT of a
 * lookup). EUCLEAN goes out as EIO.
 */
void fs_reply_err(fuse_req_t req, const char *op, uint64_t node,
		  const char *name, int err);
/* The same of an operation that replies nothing else: @r is 0 or its error. */
void fs_reply(fuse_req_t req, const char *op, uint64_t node, const char *name,
	      int r);

#endif
