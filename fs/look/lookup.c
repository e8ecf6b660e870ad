#include "fs/look/lookup.h"

#include <errno.h>
#include <math.h>

#include "fs/change/moved.h"
#include "fs/files/reader.h"
#include "fs/files/writer.h"
#include "fs/kernel/file_locks.h"
#include "fs/memory/write_state.h"

/* A lookup that races with moves in the overlay is retried so many times. */
#define LOOKS_MAX 100

int fs_stat_stored(struct fs *fs, const struct place *p, struct stat *st)
{
	/* The store may still have a version whose name was moved away. */
	if (p->kind == NODE_VERSION && moved_hides(fs, p, p->ts))
		return 0;
	return place_stat(fs, p, st);
}

static bool in_overlay(struct fs *fs, const struct place *p)
{
	uint64_t parent = fs_dir_node(fs, p->parent, p->put);
	struct overlay_entry e;

	if (parent &&
	    overlay_find(fs->overlay, parent, bytes_str(p->name), &e) > 0 &&
	    (p->put ? e.kind == p->kind : e.node == p->node))
		return true;
	/* In .put for what is in it, though the table has it no more. */
	return p->put &&
	       overlay_find(fs->overlay, p->parent, bytes_str(p->name), &e) &&
	       e.node == p->node;
}

/* Looks for a directory in the overlay and then in the store. */
static int stat_dir(struct fs *fs, const struct place *p, struct stat *st)
{
	uint64_t parent, moves;
	int r;

	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		parent = fs_dir_node(fs, p->parent, p->put);
		moves = overlay_moves(fs->overlay, parent);
		if (in_overlay(fs, p))
			return place_stat_blank(fs, p, st);
		r = place_stat(fs, p, st);
		if (r != 0)
			return r;
		if (overlay_moves(fs->overlay, parent) == moves &&
		    !in_overlay(fs, p))
			break;
	}
	return 0;
}

int fs_stat(struct fs *fs, const struct place *p, struct stat *st)
{
	bool is_dir =
		place_is_dir(p) && (p->kind != NODE_SCRATCH_DIR || p->detached);
	int r, pending = 0;

	if (p->node == FUSE_ROOT_ID)
		return place_stat(fs, p, st);
	if (p->detached && is_dir) {
		/* Replaced or removed, but a process may have @p open. */
		r = place_stat_blank(fs, p, st);
		st->st_nlink = 0;
		return r;
	}
	if (is_dir)
		return p->node ? stat_dir(fs, p, st) : place_stat(fs, p, st);
	if (p->node && write_state_any(fs->writes)) {
		r = place_stat_blank(fs, p, st);
		if (r > 0)
			r = writer_stat_scratch(fs, p->node, st);
		if (r > 0 && p->detached)
			st->st_nlink = 0;
		if (r != 0)
			return r;
		/*
		 * A pending file can be published at any moment. Pending files
		 * are asked before the store, so that the file is found in one
		 * of the two.
		 */
		pending = writer_stat_pending(fs, p->node, st);
		if (pending < 0)
			return pending;
	}
	/* A file that was replaced has the present value of its name. */
	r = fs_stat_stored(fs, p, st);
	return r == 0 ? pending : r;
}

/* Stats a removed file for a process that still has the file open. */
static int stat_unlinked(struct fs *fs, fuse_req_t req, const struct place *p,
			 const struct open_file *f, struct stat *st)
{
	int r = place_stat_blank(fs, p, st);

	if (r > 0)
		r = writer_stat_draft(fs, p, f, fuse_req_ctx(req)->pid, st);
	st->st_nlink = 0;
	return r;
}

/* @f is the handle of the request, or NULL. */
static int stat_open(struct fs *fs, fuse_req_t req, const struct place *p,
		     struct open_file *f, struct stat *st)
{
	uint64_t seen = changes_now(&fs->changes);
	bool keeps = f && f->ops->stat, stored;
	struct place gone;
	struct stat now;
	int r = 0, d;

	if (place_is_dir(p))
		return fs_stat(fs, p, st);
	/* A reader keeps its value, even if the name has another one now. */
	if (keeps &&
	    (p->detached || p->kind == NODE_LATEST || p->kind == NODE_ALIAS))
		return f->ops->stat(f, st);
	if (p->detached)
		r = stat_unlinked(fs, req, p, f, st);
	/*
	 * While another process makes the file anew, or when another has its name, a
	 * reader of the removed file still sees that one.
	 */
	if (r == 0 && (p->detached || writer_wants(fs, p->node)))
		r = reader_stat_gone(fs, p->node, st);
	stored = r == 0;
	if (stored)
		r = fs_stat(fs, p, st);
	if (r == 0 && keeps)
		return f->ops->stat(f, st);
	/* After an unlink the kernel asks for attributes without a handle. */
	if (r == 0)
		r = reader_stat_gone(fs, p->node, st);
	/*
	 * A version that was pushed out while it is open is like an unlinked
	 * file.
	 */
	if (r == 0 && !p->detached) {
		gone = *p;
		gone.detached = true;
		return stat_unlinked(fs, req, &gone, f, st);
	}
	if (r <= 0 || keeps || p->detached)
		return r;
	d = writer_stat_draft(fs, p, f, fuse_req_ctx(req)->pid, st);
	/*
	 * Who had written it may have put it between the two looks. One that has gone
	 * since is as it was.
	 */
	if (d == 0 && stored && changes_since(&fs->changes, p->row, seen) &&
	    fs_stat(fs, p, &now) > 0)
		*st = now;
	return d < 0 ? d : r;
}

int fs_stat_open(struct fs *fs, fuse_req_t req, const struct place *p,
		 const struct fuse_file_info *fi, struct stat *st,
		 double *age_s)
{
	struct open_file *f;
	struct stat theirs;
	int r;

	if (reader_stat_fresh(fs, p, st, age_s))
		return 1;
	f = fi ? handles_get(fs->handles, fi->fh, NULL) : NULL;
	r = stat_open(fs, req, p, f, st);
	open_file_drop(f);
	*age_s = 0;
	if (r > 0 && reader_stat_older(fs, p, st, &theirs)) {
		*st = theirs;
		*age_s = HUGE_VAL;
	}
	return r;
}

/* Looks up the node of the overlay entry @e. */
static int lookup_overlay(struct fs *fs, const struct place *dir,
			  struct bytes name, const struct overlay_entry *e,
			  struct place *child, struct stat *st)
{
	int r = place_of(fs, e->node, child);

	/* The entry was renamed after overlay_find() returned it. */
	if (r == 0 && (child->detached || child->parent != dir->node ||
		       !bytes_eq(bytes_str(child->name), name)))
		return 0;
	if (r == 0)
		r = place_stat_blank(fs, child, st);
	if (r > 0 && place_is(child, KIND_SCRATCH))
		r = writer_stat_scratch(fs, e->node, st);
	/* The node can be removed after overlay_find() returned it. */
	return r == -ESTALE ? 0 : r;
}

static int look_up(struct fs *fs, const struct place *dir, struct bytes name,
		   struct place *child, struct stat *st)
{
	struct overlay_entry e;
	int r;

	if (name.len <= NAME_LEN_MAX && dir->node &&
	    overlay_find(fs->overlay, dir->node, name, &e) > 0) {
		r = lookup_overlay(fs, dir, name, &e, child, st);
		if (r != 0)
			return r;
		place_release(child);
	}
	r = place_child(fs, dir, name, child);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (dir->detached || child->kind == NODE_SCRATCH)
		return 0;
	if (dir->put && place_is_dir(child) && in_overlay(fs, child))
		return place_stat_blank(fs, child, st);
	if (dir->node && !place_is_dir(child) &&
	    nodes_find(fs->nodes, dir->node, name, &child->node) > 0)
		return fs_stat(fs, child, st);
	return fs_stat_stored(fs, child, st);
}

int fs_lookup(struct fs *fs, const struct place *dir, struct bytes name,
	      struct place *child, struct stat *st)
{
	uint64_t seen = changes_now(&fs->changes);
	int r;

	/* Retry if the name moved between the overlay and the store. */
	for (int looks = 0;; looks++) {
		uint64_t parent = fs_dir_node(fs, dir->node, dir->put);
		uint64_t moves = overlay_moves(fs->overlay, parent);

		r = look_up(fs, dir, name, child, st);
		if (r != 0 || looks == LOOKS_MAX || !dir->node)
			break;
		if (overlay_moves(fs->overlay, parent) == moves &&
		    !overlay_find(fs->overlay,
				  fs_dir_node(fs, dir->node, dir->put), name,
				  NULL))
			break;
		place_release(child);
	}
	child->seen = seen;
	return r;
}

int fs_entry(struct fs *fs, uint64_t parent, struct place *child,
	     const struct stat *st, struct fuse_entry_param *e)
{
	struct fstable *table = child->kind == NODE_TABLE ? child->table : NULL;
	struct bytes name = bytes_str(child->name);
	struct stat theirs;
	int r = nodes_enter(fs->nodes, parent, name, child->kind, st->st_ino,
			    table, &child->node);
	bool differs = r == 0 && reader_stat_older(fs, child, st, &theirs);
	bool renew = differs && file_locks_let_renew(fs->nodes, child->node);

	/*
	 * What the readers have can be newer as well. Behind a change who made it has
	 * told, and may have given its lock to another.
	 */
	if (differs && changes_since(&fs->changes, child->row, child->seen)) {
		st = &theirs;
	} else if (renew && nodes_renew(fs->nodes, child->node)) {
		invalidate_all_names(fs->invalidator);
		nodes_forget(fs->nodes, child->node, 1);
		r = nodes_enter(fs->nodes, parent, name, child->kind,
				st->st_ino, NULL, &child->node);
	}
	if (r < 0)
		return why(r, "the directory is no more, or memory is out");
	child->parent = parent;
	*e = (struct fuse_entry_param){
		.ino = child->node,
		.generation = 1,
		.attr = *st,
	};
	if (!child->ino)
		child->ino = e->attr.st_ino = child->node;
	place_timeouts(fs, child, st, &e->entry_timeout, &e->attr_timeout);
	/*
	 * A change since the store was asked did not find this node to
	 * invalidate. A file that is open for writing differs by who asks. The
	 * kernel may believe neither.
	 */
	if (changes_since(&fs->changes, child->row, child->seen) ||
	    writer_is_open(fs, child->node))
		e->attr_timeout = e->entry_timeout = 0;
	return 0;
}
