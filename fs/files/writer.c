#include "fs/files/writer_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fs/change/cellfile.h"
#include "fs/change/changed.h"
#include "fs/files/schema_file.h"
#include "fs/kernel/file_locks.h"
#include "fs/memory/write_state.h"
#include "fs/tree/fs.h"
#include "store/os/clock.h"

void writer_free(struct open_file *f)
{
	struct writer *w = writer_of(f);

	draft_clear(&w->draft);
	free(w->reason);
	if (w->type == WRITER_SCRATCH)
		scratch_drop(w->fs->writes->scratch, w->place.node);
	place_release(&w->place);
	pthread_mutex_destroy(&w->lock);
	sorted_node_release(&w->by_node);
	free(w);
}

/* One that is a cell by now is to be looked up as that: -ESTALE or -ENOENT. */
static int hold_scratch(const struct writer *w)
{
	const struct place *p = &w->place;
	int r = scratch_hold(w->fs->writes->scratch, p->node);

	return r == -ESTALE ? gone_tell(&w->fs->gone, w->opener,
					place_walked(p), monotonic_ms())
			    : r;
}

/* Sets the writer's type and the longest content that the file may have. */
static int type_of(struct writer *w, size_t *len_max)
{
	const struct place *p = &w->place;
	int r = place_file_writable(p);

	*len_max = 0;
	if (r < 0)
		return r;
	if (place_is(p, KIND_CELL)) {
		w->type = WRITER_CELL;
		r = cellfile_writable(w->fs, p, len_max);
		return r ? r : cellfile_takes_put(p);
	}
	switch (p->kind) {
	case NODE_SCHEMA:
		w->type = WRITER_SCHEMA;
		*len_max = SCHEMA_TEXT_MAX;
		return store_health(w->fs->store);
	case NODE_SCRATCH:
		w->type = WRITER_SCRATCH;
		return hold_scratch(w);
	default:
		return place_computed(p);
	}
}

static int writer_new(struct fs *fs, const struct place *p, int flags,
		      fuse_req_t req, struct writer **out)
{
	struct writer *w = calloc(1, sizeof(*w));
	size_t len_max;
	int err;

	if (!w)
		return -ENOMEM;
	w->fs = fs;
	w->ts = -1;
	w->pending_size = -1;
	w->opener = fuse_req_ctx(req)->pid;
	w->edit.by = fuse_req_ctx(req)->uid;
	w->flags = flags & O_DSYNC ? CELLFILE_SYNC : 0;
	pthread_mutex_init(&w->lock, NULL);
	err = place_copy(&w->place, p);
	if (err)
		goto fail;
	err = sorted_node_init(&w->by_node, node_key(&p->node),
			       bytes_of(&w, sizeof(w)));
	if (err)
		goto fail;
	err = type_of(w, &len_max);
	if (err)
		goto fail;
	draft_init(&w->draft, &fs->budget, len_max);
	w->file.ops =
		w->type == WRITER_SCRATCH ? &writer_scratch_ops : &writer_ops;
	w->file.refs = 1;
	if (flags & O_APPEND)
		writer_begin_tail(w);
	*out = w;
	return 0;
fail:
	sorted_node_release(&w->by_node);
	place_release(&w->place);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return err;
}

/*
 * Removals and renames of the file hold the writer from now on, or are over: then the
 * name is nobody's or another file's, and the kernel is to walk the path again. When it
 * has, and that file is gone as well, it was opened before it went, as O_CREAT is to find
 * no name absent. 0 or -ESTALE. A scratch file goes by its node.
 *
 * The kernel is also to walk the path again when it caches the file for readers, who
 * keep what it was and its size: the writer gets another node, and for a moment nobody
 * who opens that one to read it has it cached.
 * A walk that ends at the node of such readers again, as one by /proc/self/fd does,
 * opens the file all the same.
 */
static int join(struct writer *w)
{
	const struct place *p = &w->place;
	struct fs *fs = w->fs;
	int64_t now_ms = monotonic_ms();
	uint64_t named = 0;
	struct stat st;
	int r = writer_register(w);

	if (r < 0)
		return r;
	nodes_find(fs->nodes, p->parent, bytes_str(p->name), &named);
	if (w->type == WRITER_SCRATCH ||
	    (named == p->node && !file_locks_let_renew(fs->nodes, named)))
		return 0;
	if (gone_tell(&fs->gone, w->opener, place_walked(p), now_ms) ==
	    -ESTALE) {
		gone_renewed(&fs->gone, p->ino, now_ms);
		if (nodes_renew(fs->nodes, p->node))
			invalidate_all_names(fs->invalidator);
		writer_unregister(w);
		return -ESTALE;
	}
	nodes_keep(fs->nodes, p->node);
	if (named == p->node ||
	    (nodes_renewed(fs->nodes, p->node) && place_stat(fs, p, &st) > 0))
		return 0;
	pthread_mutex_lock(&w->lock);
	w->state = WRITER_REMOVED;
	w->tail = false;
	w->loaded = true;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

/* Gives a new writer a handle; the kernel's open file owns the writer then. */
static int publish_handle(struct writer *w, struct fuse_file_info *fi)
{
	int r;

	/* Reads must see the draft, not cached pages of an earlier version. */
	fi->direct_io = 1;
	r = join(w);
	if (r == 0) {
		r = handles_open(w->fs->handles, &w->file, fi);
		if (r < 0)
			writer_unregister(w);
	}
	if (r < 0)
		writer_unref(w);
	return r;
}

/* Empties the draft after an append, so that the next write follows it. */
static void tail_published(struct writer *w)
{
	struct cell cell;

	/*
	 * Of a version that nobody sees, since newer ones are enough or it has
	 * expired, the store appends to nothing: the draft is all of it.
	 */
	if (w->place.kind == NODE_VERSION &&
	    writer_read_cell(w, &cell, NULL) == 0) {
		w->tail = false;
		w->loaded = true;
		return;
	}
	w->base_len += w->draft.content.len;
	draft_clear(&w->draft);
}

static int publish_cell(struct writer *w, unsigned flags)
{
	const struct place *p = &w->place;
	unsigned absent = w->absent && w->ts < 0 ? CELLFILE_ABSENT : 0;
	struct bytes content = buf_bytes(&w->draft.content);
	struct piece *piece;
	int err;

	if (w->tail && content.len) {
		err = cellfile_append(w->fs, p, content, w->ts, flags | absent,
				      &w->ts);
		if (!err)
			tail_published(w);
		return err;
	}
	/* An empty draft creates the file, but must not replace a value. */
	if (w->tail)
		flags |= CELLFILE_ABSENT;
	/* The content may lie elsewhere then. */
	piece = draft_offer(&w->draft);
	content = buf_bytes(&w->draft.content);
	err = cellfile_put(w->fs, p, content, piece, w->ts, flags | absent,
			   &w->ts);
	return err == -EEXIST && !absent ? 0 : err;
}

struct appending {
	struct writer *w;
	struct draft whole;
};

static int make_whole(void *arg, struct bytes *text)
{
	struct appending *a = arg;
	int err;

	draft_clear(&a->whole);
	err = writer_whole(a->w, &a->whole);
	*text = schema_edit_text(&a->w->edit, buf_bytes(&a->whole.content));
	return err;
}

/*
 * What is appended is to the schema of the moment when it is applied. The draft is
 * the whole text from then on: what is written later is part of it, in its order.
 */
static int append_schema(struct writer *w)
{
	struct appending a = {.w = w};
	int err = schema_file_apply_made(w->fs, &w->place, make_whole, &a,
					 &w->edit);

	if (err)
		draft_clear(&a.whole);
	else
		writer_take_whole(w, &a.whole);
	return err;
}

static int publish_schema(struct writer *w)
{
	const struct place *p = &w->place;
	int err;

	if (w->loaded)
		err = schema_file_apply(
			w->fs, p,
			schema_edit_text(&w->edit,
					 buf_bytes(&w->draft.content)),
			&w->edit);
	else
		err = append_schema(w);
	w->edit.applied |= !err;
	return err;
}

/*
 * Keeps a failure and its reason for repeat_failure(). -EINTR says that the caller of
 * this close was killed; the next caller is told instead that it is not known whether
 * the change was made. REQUIRES: lock.
 */
static void keep_failure(struct writer *w, int err)
{
	w->failed = err == -EINTR ? -ETIMEDOUT : err;
	free(w->reason);
	w->reason = err ? strdup(store_why()) : NULL;
}

static int repeat_failure(const struct writer *w)
{
	return w->reason ? why(w->failed, "%s", w->reason) : w->failed;
}

/* Ends the pending state: all processes see the created file from now on. */
static void show(struct writer *w)
{
	w->pending_size = -1;
	writer_settled(w->fs);
}

int writer_publish(struct writer *w, bool all, unsigned flags)
{
	int err;

	if (w->state == WRITER_REMOVED || w->type == WRITER_SCRATCH ||
	    !(w->dirty || (all && w->owed)))
		return 0;
	if (w->state == WRITER_MOVED)
		return scratch_say_moved();
	if (w->broken)
		return repeat_failure(w);
	/* Cleared first: release does not retry a refused publication. */
	w->dirty = false;
	w->owed = false;
	if (w->type == WRITER_SCHEMA)
		err = publish_schema(w);
	else
		err = publish_cell(w, flags);
	keep_failure(w, err);
	if (err)
		return err;
	w->untold = true;
	/*
	 * No notice goes to the file's own node: while it has a writer nothing
	 * of it is kept, and an answer about its size that a notice overtakes
	 * is not taken by the kernel.
	 */
	if (w->pending_size >= 0)
		show(w);
	return 0;
}

void writer_unlock(struct writer *w)
{
	bool untold = w->untold;

	w->untold = false;
	pthread_mutex_unlock(&w->lock);
	if (untold)
		changed_wait_put(w->fs, &w->place);
}

int writer_open(struct fs *fs, fuse_req_t req, struct place *p,
		struct fuse_file_info *fi)
{
	struct writer *w;
	int err = writer_new(fs, p, fi->flags, req, &w);

	if (err)
		return err;
	if (fi->flags & O_TRUNC) {
		err = w->file.ops->truncate(fs, &w->file, 0);
		if (err) {
			writer_unref(w);
			return err;
		}
	}
	return publish_handle(w, fi);
}

int writer_create(struct fs *fs, fuse_req_t req, struct place *p,
		  struct fuse_file_info *fi)
{
	struct writer *w;
	int err = writer_new(fs, p, fi->flags, req, &w);

	if (err)
		return err;
	if (w->type != WRITER_SCRATCH) {
		w->loaded = !w->tail;
		w->owed = true;
		w->absent = fi->flags & O_EXCL;
		w->pending_size = 0;
	}
	return publish_handle(w, fi);
}

static int writer_read(struct fs *fs, struct open_file *f, fuse_req_t req,
		       size_t size, off_t off)
{
	struct writer *w = writer_of(f);
	struct buf all = {0};
	struct bytes part;
	int err;

	err = patience_lock(&w->lock);
	if (err)
		return err;
	if (w->tail) {
		err = writer_read_tail(w, &all);
	} else {
		err = writer_load(w);
		part = bytes_part(buf_bytes(&w->draft.content), (uint64_t)off,
				  size);
		if (!err)
			err = buf_set(&all, part);
		off = 0;
	}
	pthread_mutex_unlock(&w->lock);
	part = bytes_part(buf_bytes(&all), (uint64_t)off, size);
	if (!err)
		fuse_reply_buf(req, (const char *)part.data, part.len);
	buf_free(&all);
	return err;
}

/* Takes the lock for who changes the file: 0, or an error without the lock. */
static int lock_to_change(struct writer *w)
{
	int err = patience_lock(&w->lock);

	if (err || w->state != WRITER_MOVED)
		return err;
	pthread_mutex_unlock(&w->lock);
	return scratch_say_moved();
}

static int writer_write(struct fs *fs, struct open_file *f, struct bytes data,
			off_t off, int flags)
{
	struct writer *w = writer_of(f);
	int err = lock_to_change(w);

	if (err)
		return err;
	if (w->broken) {
		err = repeat_failure(w);
		pthread_mutex_unlock(&w->lock);
		return err;
	}
	err = writer_write_draft(w, data, (uint64_t)off, flags & O_APPEND);
	if (err) {
		w->broken = true;
		keep_failure(w, err);
	}
	/* A part of a schema cannot be applied. */
	if (!err && flags & O_DSYNC && w->type == WRITER_CELL)
		err = writer_publish(w, false, CELLFILE_SYNC);
	writer_unlock(w);
	return err;
}

static int writer_truncate(struct fs *fs, struct open_file *f, off_t size)
{
	struct writer *w = writer_of(f);
	int err = lock_to_change(w);

	if (err)
		return err;
	err = writer_truncate_draft(w, (uint64_t)size);
	pthread_mutex_unlock(&w->lock);
	return err;
}

static int writer_extend(struct fs *fs, struct open_file *f, off_t size)
{
	struct writer *w = writer_of(f);
	uint64_t now = 0;
	int err = lock_to_change(w);

	if (err)
		return err;
	if (!w->tail)
		err = writer_load(w);
	if (!err)
		err = writer_draft_size(w, &now);
	if (err > 0)
		err = (uint64_t)size > now
			      ? writer_truncate_draft(w, (uint64_t)size)
			      : 0;
	pthread_mutex_unlock(&w->lock);
	return err;
}

/*
 * Publishes what was written since the last time. Of descriptors that share the file
 * each is told that this failed: the first close is mostly that of a child at its end,
 * which nobody hears.
 */
static int writer_flush(struct fs *fs, struct open_file *f)
{
	struct writer *w = writer_of(f);
	int err;

	/* Of who is gone what was written is put by another close, or the release. */
	err = patience_lock(&w->lock);
	if (err)
		return err;
	err = writer_publish(w, false, w->flags);
	/* A write that failed has told so itself. */
	if (!err && w->failed && !w->broken)
		err = repeat_failure(w);
	if (w->pending_size < 0 || !w->draft.content.len)
		writer_note_flush(w);
	writer_unlock(w);
	return err;
}

/* Publishes all that is owed. */
static int writer_fsync(struct fs *fs, struct open_file *f)
{
	struct writer *w = writer_of(f);
	int err;

	err = patience_lock(&w->lock);
	if (err)
		return err;
	err = writer_publish(w, true, w->flags);
	if (!err && w->failed)
		err = repeat_failure(w);
	writer_unlock(w);
	return err;
}

/* Publishes an empty value that is still owed. */
static void writer_release(struct fs *fs, struct open_file *f)
{
	struct writer *w = writer_of(f);
	int err;

	pthread_mutex_lock(&w->lock);
	err = writer_publish(w, true, w->flags);
	writer_unlock(w);
	/* Release has no caller to tell. */
	if (err && !w->broken)
		fs_note_error(fs, "release", w->place.node, NULL, err);
	writer_unregister(w);
}

const struct file_ops writer_ops = {
	.read = writer_read,
	.write = writer_write,
	.flush = writer_flush,
	.fsync = writer_fsync,
	.truncate = writer_truncate,
	.extend = writer_extend,
	.release = writer_release,
	.free = writer_free,
};

int writer_truncate_path(struct fs *fs, fuse_req_t req, const struct place *p,
			 off_t size)
{
	struct scratch_attr a = {.size = (uint64_t)size}, now;
	struct writer *w;
	int err;

	if (p->kind == NODE_SCRATCH)
		return scratch_setattr(fs->writes->scratch, p->node,
				       SCRATCH_SET_SIZE, &a, &now);
	err = writer_new(fs, p, O_WRONLY, req, &w);
	if (err)
		return err;
	err = join(w);
	if (!err) {
		err = writer_truncate(fs, &w->file, size);
		if (!err)
			err = writer_fsync(fs, &w->file);
		writer_unregister(w);
	}
	writer_unref(w);
	return err;
}
