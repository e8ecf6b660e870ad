/*
 * Nodes: what an inode number stands for.
 *
 * The kernel names files by numbers. A node holds the name, the parent and the
 * kind, never data: place_of() computes coordinates from the chain of names.
 *
 * A node id is an index and a generation, never a pointer: a stale or made-up
 * id is refused. FUSE_ROOT_ID (1) is the root.
 *
 * Under nodes.lock, always:
 *   - No two attached nodes have the same parent and name.
 *   - nlookup is the number of times the kernel was given the node: one more
 *     for each entry, create and readdirplus reply, n fewer for a forget of n;
 *     and one for a walk of nodes_below() that is at it.
 *   - A node lives while nlookup > 0, or it is pinned, or a child has it as
 *     parent.
 *   - A detached node (unlinked, dropped, replaced) has no name any more: the
 *     kernel may still use its id, but no look-up finds it. Its parent is still
 *     its old parent.
 *
 * The lock is innermost: no store call and no reply to the kernel under it. A
 * node takes 128 bytes, and a version at most 32 more, since it is found by its
 * age as well (node_ages.h). The chunks that nodes are allocated from are freed
 * when empty.
 */
#ifndef CELLFS_FS_KERNEL_NODE_H
#define CELLFS_FS_KERNEL_NODE_H

#include "store/value/bytes.h"

struct nodes;
struct fstable;

/* The number of a node as a key of what is kept beside it. */
static inline struct bytes node_key(const uint64_t *node)
{
	return bytes_of(node, sizeof(*node));
}

/* What a node is (tree/kind.h); the order means nothing. */
enum node_kind {
	NODE_ROOT,	   /* the mount */
	NODE_TABLE,	   /* T/: holds an fstable */
	NODE_SCHEMA,	   /* T/.schema */
	NODE_ROW_PIECE,	   /* T/aaa%+/: part of a long row key */
	NODE_ROW,	   /* T/R/ */
	NODE_FAMILY,	   /* T/R/F/ */
	NODE_COLUMN_PIECE, /* T/R/F/qqq%+/ */
	NODE_COLUMN,	   /* T/R/F/Q/ */
	NODE_VERSION,	   /* T/R/F/Q/TS */
	NODE_LATEST,	   /* T/R/F/Q/latest */
	NODE_ALIAS,	   /* T/R/F:Q */
	NODE_VIEW_NAME,	   /* .range/ ...: waits for the argument */
	NODE_VIEW,	  /* .range/a..b/: a table, row or family, restricted */
	NODE_VALUE,	  /* .at/WHEN/R/F/Q: one value a column */
	NODE_MARKER,	  /* .raw/R/F/Q/TS.delete ... */
	NODE_PAST,	  /* F/Q/@-1, F/Q/@TIME: an older value */
	NODE_COUNTER,	  /* F/Q/counter */
	NODE_CELLS,	  /* .cells of a table, row, family or view */
	NODE_CONTROL_DIR, /* .cellfs/ */
	NODE_CONTROL,	  /* .cellfs/help ... */
	NODE_SCRATCH,	  /* a regular file that is only in memory */
	NODE_SCRATCH_DIR, /* a directory of such files (rsync's .~tmp~) */
	NODE_SNAPSHOT_DIR, /* .snapshot/, T/.snapshot/: holds NODE_TABLE */
	NODE_SNAPSHOT,	   /* .snapshot/NAME/: holds NODE_TABLE */
	NODE_STAGE,	   /* T/.stage/ */
	NODE_PUT,	   /* T/.put/: rows, all there are */
	NODE_INFO_DIR,	   /* T/.info/ */
	NODE_INFO,	   /* T/.info/rows ... */
	NODE_KINDS
};

/* A node as nodes_walk() shows it; valid in the callback only. */
struct node_view {
	uint64_t id;
	uint64_t parent;
	/* What stat(2) shows: a hash of the coordinates; of scratch files the id. */
	uint64_t ino;
	struct bytes name;
	struct fstable *table; /* NODE_TABLE only */
	uint8_t kind;
	bool detached;
};

int nodes_new(struct nodes **out);
/*
 * @gone is called of each node of NODE_SCRATCH that is no more, not under nodes.lock.
 * Before there are any.
 */
void nodes_tell_gone(struct nodes *ns, void gone(void *arg, uint64_t id),
		     void *arg);
void nodes_free(struct nodes *ns); /* @ns may be NULL */
/* A seed for hashes of names that users choose, another one in each mount. */
uint64_t nodes_secret(const struct nodes *ns);

/*
 * The child @name of @parent, made if there is none, with nlookup + 1. A node
 * of that name with another kind or table is detached first. @table is
 * NODE_TABLE's (a reference is taken for a new node), else NULL. @ino is its number
 * from now on; 0: its id. 0; -ESTALE if @parent is no node; -ENOMEM.
 */
int nodes_enter(struct nodes *ns, uint64_t parent, struct bytes name,
		uint8_t kind, uint64_t ino, struct fstable *table,
		uint64_t *id);
/* The attached child's id without counting: 1 or 0. */
int nodes_find(struct nodes *ns, uint64_t parent, struct bytes name,
	       uint64_t *id);
/*
 * Finds the attached child as nodes_find() does, of *kind, with nlookup + 1: it
 * stays until the caller gives it back by nodes_forget(), although the kernel
 * forgets it. 1 or 0.
 */
int nodes_hold(struct nodes *ns, uint64_t parent, struct bytes name,
	       uint64_t *id, uint8_t *kind);
/*
 * For T/.put/R/F finds the node of T/R/F. 1; 0, as of scratch directories and views.
 */
int nodes_outside_put(struct nodes *ns, uint64_t id, uint64_t *out);
void nodes_forget(struct nodes *ns, uint64_t id, uint64_t nlookup);
/*
 * Has the kernel been given the node, and not forgotten it? With @below: may it
 * have been given one below the node?
 */
bool nodes_known(struct nodes *ns, uint64_t id, bool below);
/* Is there a node of a row below the table? True too when many others are. */
bool nodes_have_rows(struct nodes *ns, uint64_t table);
/* References for nodes that exist only in memory. -ESTALE if detached. */
int nodes_pin(struct nodes *ns, uint64_t id);
void nodes_unpin(struct nodes *ns, uint64_t id);
/*
 * A directory is opened, or a file to be read, as of @state, which is another for
 * other names in it or another content, and not 0. What may the kernel do with what
 * it has cached of that, and with what it gets by the new handle?
 *
 *	CACHE_PASS	 leave the cache to the handles of an older state that are
 *			 open, which could still fill it; or there are many names
 *	CACHE_FILL	 drop what there is, keep what comes
 *	CACHE_KEEP	 keep both
 *
 * After the last two nodes_cache_end(), when the handle is released, or is not
 * @used by the kernel to fill its cache.
 */
enum nodes_cache {
	CACHE_PASS,
	CACHE_FILL,
	CACHE_KEEP
};
enum nodes_cache nodes_cache(struct nodes *ns, uint64_t id, uint32_t state);
void nodes_cache_end(struct nodes *ns, uint64_t id, bool used);
/*
 * A handle reads the file past the cache. A private mapping of it fills the cache all
 * the same, so until nodes_pass_end() nobody may use the cache for another content.
 * False: there are too many such handles.
 */
bool nodes_pass(struct nodes *ns, uint64_t id, uint32_t state);
void nodes_pass_end(struct nodes *ns, uint64_t id);
/*
 * The file has another content from now on, by whatever name it is written. The
 * kernel has one cache and one size of a node: if there are handles by which it has
 * cached the old content, true, and the node is detached and is theirs alone; a
 * look-up of the name enters another.
 */
bool nodes_renew(struct nodes *ns, uint64_t id);
/* Was the node detached so? */
bool nodes_renewed(struct nodes *ns, uint64_t id);
/* Until the last of those handles is released, nodes_renew() does nothing. */
void nodes_keep(struct nodes *ns, uint64_t id);
/*
 * The state of what the kernel has cached for handles that nodes_renew() would part
 * from the name; 0 = there are none. Else *ino is set, where @ino is not NULL.
 */
uint32_t nodes_caching(struct nodes *ns, uint64_t id, uint64_t *ino);
/*
 * The kernel may get older attributes of a file by a reply that is on its way, and
 * believe them: nodes_cache() has none cached any more.
 */
void nodes_late(struct nodes *ns, uint64_t id);
/* How many names it has: of @many none are kept. */
void nodes_list_size(struct nodes *ns, uint64_t id, bool many);
/*
 * The state of the names that it listed, or of the content of a file, that the kernel
 * may have kept; 0 = it has kept none.
 */
uint32_t nodes_cached(struct nodes *ns, uint64_t id);
/*
 * The kernel believes the attributes of the directory that it is given from now
 * on, or, when it has made a file there itself, none. A node that is entered is
 * believed: whether those were old tells changes_since().
 */
void nodes_believe(struct nodes *ns, uint64_t id, bool believed);
bool nodes_believed(struct nodes *ns, uint64_t id);
/*
 * nodes_ask() is nodes_believe() for a request that is about to read the attributes.
 * It is followed by nodes_told(), with what it returned and the time that was read, in
 * milliseconds, or INT64_MIN when none was.
 */
bool nodes_ask(struct nodes *ns, uint64_t id);
void nodes_told(struct nodes *ns, uint64_t id, bool asked, int64_t mtime_ms);
/*
 * Does the kernel believe that the column has a version of @ts, or a later one? Then
 * a put of @ts does not change the column's time. While requests for its attributes
 * are under way this is not known. Afterwards the earliest time that they told
 * counts, since the kernel may have taken any of them.
 */
bool nodes_shows(struct nodes *ns, uint64_t column, int64_t ts);
/* Frees the name; no effect if no node has it. */
void nodes_detach(struct nodes *ns, uint64_t parent, struct bytes name);
/*
 * Makes the child @name of @parent the child @to_name of @to_parent, of @kind
 * and with @ino; a node there is detached. 1, 0 if there is no such child,
 * -ESTALE for @to_parent, -EINVAL if that is the child or below it, -ENOMEM
 * (nothing changed).
 */
int nodes_rename(struct nodes *ns, uint64_t parent, struct bytes name,
		 uint64_t to_parent, struct bytes to_name, uint8_t kind,
		 uint64_t ino);

/*
 * Calls @step for the node and then each ancestor, the root last, under the
 * lock; a step that returns nonzero ends the walk, which returns that value. 0;
 * -ESTALE if @id is no node.
 */
int nodes_walk(struct nodes *ns, uint64_t id,
	       int (*step)(void *arg, const struct node_view *n), void *arg);
/*
 * The oldest version that the kernel knows below the column: 1, or 0.
 * nodes_pass_over() leaves a version out until it is entered again.
 */
int nodes_oldest(struct nodes *ns, uint64_t column, int64_t *ts, uint64_t *id);
void nodes_pass_over(struct nodes *ns, uint64_t id);

/* The node's table, or the root if a part of a table is mounted; 0: stale. */
uint64_t nodes_table(struct nodes *ns, uint64_t id);
/* A copy of a node's name and parent. */
struct node_place {
	uint64_t id, parent;
	bool attached;
	uint8_t name_len;
	char name[UINT8_MAX + 1];
};

/*
 * Returns the nodes below @top, one a call, parents before children: *cursor
 * begins at 0. 1, or 0 at the end. The lock is not held between calls, so nodes
 * made meanwhile may be missed, and after a rename some may be returned twice.
 * The walk references its present node: a caller that stops early calls
 * nodes_below_end().
 */
int nodes_below(struct nodes *ns, uint64_t top, uint64_t *cursor,
		struct node_place *out);
void nodes_below_end(struct nodes *ns, uint64_t *cursor);
/* The number of nodes, and of pinned ones. */
void nodes_count(struct nodes *ns, uint64_t *live, uint64_t *pinned);

#endif
