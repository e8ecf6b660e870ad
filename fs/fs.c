#include "fs/fs.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fs/moved.h"
#include "fs/reader.h"
#include "fs/writer.h"
#include "fs/writes.h"

int fs_new(struct store *s, const struct options *o, struct fs **out)
{
	struct fs *fs = calloc(1, sizeof(*fs));
	int r = -ENOMEM;

	if (!fs)
		goto fail;
	fs->store = s;
	fs->options = o;
	fs->uid = geteuid();
	fs->gid = getegid();
	fs->start_ms = store_now_ms(s);
	fs->root = (struct place){.kind = NODE_ROOT,
				  .node = FUSE_ROOT_ID,
				  .parent = FUSE_ROOT_ID,
				  .ino = FUSE_ROOT_ID};
	dir_times_init(&fs->dir_times);
	r = nodes_new(&fs->nodes);
	if (r == 0)
		r = handles_new(&fs->handles);
	if (r == 0)
		r = overlay_new(fs->nodes, &fs->overlay);
	if (r == 0)
		r = invalidator_new(fs->nodes, &fs->invalidator);
	if (r == 0)
		r = errors_new(&fs->errors);
	if (r == 0)
		r = writes_new(fs, &fs->writes);
	if (r < 0)
		goto fail;
	*out = fs;
	return 0;
fail:
	fs_free(fs);
	return why(r, "out of memory for the mount");
}

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	invalidator_stop(fs->invalidator);
	if (fs->writes)
		writer_drain(fs);
	fs_close_handles(fs);
	writes_free(fs->writes);
	overlay_free(fs->overlay);
	handles_free(fs->handles);
	invalidator_free(fs->invalidator);
	errors_free(fs->errors);
	nodes_free(fs->nodes);
	place_release(&fs->root);
	dir_times_release(&fs->dir_times);
	free(fs);
}

/* -- attributes --------------------------------------------------------- */

int fs_stat_stored(struct fs *fs, const struct place *p, struct stat *st)
{
	/* It may have it under a name that was moved away. */
	if (p->kind == NODE_VERSION && moved_hides(fs, p, p->ts))
		return 0;
	return place_stat(fs, p, st);
}

/* More looks than that, and others change it faster than one can look. */
#define LOOKS_MAX 100

uint64_t fs_dir_node(struct fs *fs, const struct place *dir)
{
	uint64_t node = 0;

	if (!dir->put)
		return dir->node;
	nodes_counterpart(fs->nodes, dir->node, NODE_PUT, &node);
	return node;
}

static bool in_overlay(struct fs *fs, const struct place *p)
{
	uint64_t parent = p->parent;
	struct overlay_entry e;

	if (p->put &&
	    !nodes_counterpart(fs->nodes, p->parent, NODE_PUT, &parent))
		return false;
	return overlay_find(fs->overlay, parent, bytes_str(p->name), &e) > 0 &&
	       (p->put ? e.kind == p->kind : e.node == p->node);
}

/* A directory: of memory or of the store. */
static int stat_dir(struct fs *fs, const struct place *p, struct stat *st)
{
	uint64_t moves;
	int r;

	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		moves = overlay_moves(fs->overlay);
		if (in_overlay(fs, p))
			return 1;
		r = place_stat(fs, p, st);
		if (r != 0)
			return r;
		if (overlay_moves(fs->overlay) == moves && !in_overlay(fs, p))
			break;
	}
	return 0;
}

int fs_stat(struct fs *fs, const struct place *p, struct stat *st)
{
	bool is_dir = place_is_dir(p) && p->kind != NODE_SCRATCH_DIR;
	int r = place_stat_blank(fs, p, st), pending = 0;
	struct stat made = *st;

	if (r <= 0 || p->node == FUSE_ROOT_ID)
		return r <= 0 ? r : place_stat(fs, p, st);
	if (p->detached && is_dir) {
		/* Replaced or removed: who has it open sees it still. */
		st->st_nlink = 0;
		return 1;
	}
	if (is_dir)
		return p->node ? stat_dir(fs, p, st) : place_stat(fs, p, st);
	if (p->node) {
		r = writer_stat_scratch(fs, p->node, st);
		if (r != 0)
			return r;
	}
	/*
	 * What is pending goes over to the store at any moment: asked for in
	 * this order the file is in one of the two.
	 */
	if (p->node) {
		pending = writer_stat_pending(fs, p->node, &made);
		if (pending < 0)
			return pending;
	}
	/* One that was replaced has the present value under its name. */
	r = fs_stat_stored(fs, p, st);
	if (r == 0 && pending > 0)
		*st = made;
	return r == 0 ? pending : r;
}

/* Of who has a file open that was removed. */
static int stat_unlinked(struct fs *fs, fuse_req_t req, const struct place *p,
			 uint64_t fh, struct stat *st)
{
	int r = place_stat_blank(fs, p, st);

	if (r > 0)
		r = writer_stat_draft(fs, p, fh, fuse_req_ctx(req)->pid, st);
	st->st_nlink = 0;
	return r;
}

int fs_stat_open(struct fs *fs, fuse_req_t req, const struct place *p,
		 const struct fuse_file_info *fi, struct stat *st)
{
	bool reader = fi && handle_type(fi->fh) == HANDLE_READER;
	uint64_t fh = fi ? fi->fh : 0;
	int r = 0, d;

	if (place_is_dir(p))
		return fs_stat(fs, p, st);
	/* A reader has one value, whatever the name has become. */
	if (reader &&
	    (p->detached || p->kind == NODE_LATEST || p->kind == NODE_ALIAS))
		r = reader_stat(fs, fh, st);
	if (r == 0 && p->detached)
		r = stat_unlinked(fs, req, p, fh, st);
	/* While another makes it anew, who reads what was removed has that. */
	if (r == 0 && writer_wants(fs, p->node))
		r = reader_stat_gone(fs, p->node, st);
	if (r == 0)
		r = fs_stat(fs, p, st);
	if (r == 0 && reader)
		r = reader_stat(fs, fh, st);
	/* Behind an unlink the kernel asks without the handle. */
	if (r == 0)
		r = reader_stat_gone(fs, p->node, st);
	if (r <= 0 || reader || p->detached)
		return r;
	d = writer_stat_draft(fs, p, fh, fuse_req_ctx(req)->pid, st);
	return d < 0 ? d : r;
}

/* The overlay's entry: its node says all about it. */
static int lookup_overlay(struct fs *fs, const struct place *dir,
			  struct bytes name, const struct overlay_entry *e,
			  struct place *child, struct stat *st)
{
	int r = place_of(fs, e->node, child);

	/* It was renamed between the two looks. */
	if (r == 0 && (child->detached || child->parent != dir->node ||
		       !bytes_eq(bytes_str(child->name), name)))
		return 0;
	if (r == 0)
		r = place_stat_blank(fs, child, st);
	if (r > 0 &&
	    (child->kind == NODE_SCRATCH || child->kind == NODE_SCRATCH_DIR))
		r = writer_stat_scratch(fs, e->node, st);
	/* It can have gone between the two looks. */
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

	/* What went over to the store or came back in between is there. */
	for (int looks = 0;; looks++) {
		uint64_t moves = overlay_moves(fs->overlay);

		r = look_up(fs, dir, name, child, st);
		if (r != 0 || looks == LOOKS_MAX || !dir->node)
			break;
		if (overlay_moves(fs->overlay) == moves &&
		    !overlay_find(fs->overlay, fs_dir_node(fs, dir), name,
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
	int r = nodes_enter(fs->nodes, parent, bytes_str(child->name),
			    child->kind, st->st_ino, table, &child->node);

	if (r < 0)
		return why(r, "the directory is no more, or memory is out");
	child->parent = parent;
	*e = (struct fuse_entry_param){
		.ino = child->node,
		.generation = 1,
		.attr = *st,
		.attr_timeout = place_attr_timeout(fs, child, st),
		.entry_timeout = place_entry_timeout(fs, child, st),
	};
	/*
	 * Who changed it meanwhile did not know the node; and what a writer
	 * has open is not the same to all who ask.
	 */
	if (changes_since(&fs->changes, child->row, child->seen) ||
	    writer_is_open(fs, child->node))
		e->attr_timeout = e->entry_timeout = 0;
	return 0;
}

int fs_sync(struct fs *fs)
{
	return store_is_read_only(fs->store) ? 0 : store_sync(fs->store);
}

/*
 * Rows appear by a stream's lines too, which may be more than the kernel can
 * be told of one by one: absence is believed for a short time only, and nobody
 * is told when no row was missed within it.
 */
#define ROW_ABSENT_MS 1000

static int64_t monotonic_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

double fs_row_absent(struct fs *fs)
{
	atomic_store(&fs->row_absent_ms, monotonic_ms());
	return ROW_ABSENT_MS / 1000.0;
}

bool fs_rows_believed_absent(struct fs *fs)
{
	int64_t last = atomic_load(&fs->row_absent_ms);

	/* Twice: the reply takes its time to be sent. */
	return last && monotonic_ms() - last <= (int64_t)2 * ROW_ABSENT_MS;
}

/* -- changes ------------------------------------------------------------ */

static int ino_step(void *arg, const struct node_view *n)
{
	*(uint64_t *)arg = n->ino;
	return 1;
}

void fs_dir_changed(struct fs *fs, uint64_t node)
{
	uint64_t ino;

	if (nodes_walk(fs->nodes, node, ino_step, &ino) > 0)
		dir_times_moved(&fs->dir_times, ino);
}

void fs_table_changed(struct fs *fs, uint64_t table_node)
{
	struct bytes snapshots = bytes_str(SNAPSHOT_DIR_NAME);
	uint64_t node;

	invalidate_below(fs->invalidator, table_node);
	/* The table's past has its mode, and stands elsewhere. */
	if (nodes_find(fs->nodes, FUSE_ROOT_ID, snapshots, &node))
		invalidate_below(fs->invalidator, node);
}

static int table_step(void *arg, const struct node_view *n)
{
	/* A mount of a table has it for its root. */
	*(uint64_t *)arg = n->id;
	return n->kind == NODE_TABLE;
}

static int is_column_step(void *arg, const struct node_view *n)
{
	return n->kind == NODE_COLUMN ? 1 : -ENOTDIR;
}

/* From *at down the components of @key, if the kernel knows them. */
static bool go_down(struct fs *fs, uint64_t *at, struct bytes key)
{
	struct name_part part;
	size_t pos = 0;

	do {
		name_part(key, pos, &part);
		if (!nodes_find(fs->nodes, *at, bytes_of(part.text, part.len),
				at))
			return false;
		pos = part.next;
	} while (part.more);
	return true;
}

/* By the coordinates: there are several paths to a column. */
int fs_column_node(struct fs *fs, const struct place *p, uint64_t *out)
{
	uint64_t at = 0;

	nodes_walk(fs->nodes, p->parent, table_step, &at);
	if (!at || !go_down(fs, &at, p->row) || !go_down(fs, &at, p->family) ||
	    !go_down(fs, &at, p->qualifier))
		return 0;
	/* A scratch file can bear the name, and is no directory. */
	if (nodes_walk(fs->nodes, at, is_column_step, NULL) != 1)
		return 0;
	*out = at;
	return 1;
}

/* How long a change in .put waits for the kernel to hear of it. */
#define NOTICE_WAIT_MS 100

/* The row may be one that the kernel believes absent from the table. */
static void tell_row(struct fs *fs, const struct place *p)
{
	struct name_part part;
	uint64_t table = 0;

	nodes_walk(fs->nodes, p->parent, table_step, &table);
	name_part(p->row, 0, &part);
	if (table && fs_rows_believed_absent(fs))
		invalidate_entry(fs->invalidator, table,
				 bytes_of(part.text, part.len));
}

/*
 * The aliases need no notice: the kernel asks for their attributes each time
 * and keeps none of their data.
 */
void fs_column_changed(struct fs *fs, const struct place *p, int64_t gone)
{
	char name[21];
	uint64_t column = 0;
	size_t len;

	changes_row(&fs->changes, p->row);
	if (p->put)
		tell_row(fs, p);
	if (fs_column_node(fs, p, &column) > 0) {
		if (gone == FS_ALL)
			fs_dir_changed(fs, column);
		invalidate_inode(fs->invalidator, column, true);
		if (gone == FS_ALL)
			invalidate_names(fs->invalidator, column);
	}
	if (column && gone >= 0) {
		len = name_format_ts(gone, name);
		invalidate_entry(fs->invalidator, column, bytes_of(name, len));
	}
	if (!p->put)
		return;
	/* The file that was written is known by another name in the table. */
	if (column && p->kind == NODE_VERSION &&
	    nodes_find(fs->nodes, column, bytes_str(p->name), &column) > 0)
		invalidate_inode(fs->invalidator, column, true);
	fs_wait_for_notices(fs);
}

void fs_wait_for_notices(struct fs *fs)
{
	invalidate_wait(fs->invalidator, NOTICE_WAIT_MS);
}

void fs_version_replaced(struct fs *fs, const struct place *p, int64_t ts)
{
	char name[21];
	uint64_t node;

	if (fs_column_node(fs, p, &node) > 0 &&
	    nodes_find(fs->nodes, node,
		       bytes_of(name, name_format_ts(ts, name)), &node) > 0)
		invalidate_inode(fs->invalidator, node, true);
}

/* -- failures ----------------------------------------------------------- */

/* What programs run into all day is no failure. */
static bool worth_keeping(const char *op, int err)
{
	switch (err) {
	case -ENOENT:
	case -EEXIST:
	case -EINTR:
	case -ENOSYS:
	case -EXDEV: /* mv copies then */
		return false;
	case -ESTALE: /* the kernel looks again, but who writes is told */
		return !strcmp(op, "write");
	}
	return true;
}

void fs_reply_err(fuse_req_t req, const char *op, uint64_t node,
		  const char *name, int err)
{
	struct fs *fs = fs_of(req);
	struct buf path = {0};

	if (err == -EUCLEAN)
		err = -EIO;
	if (worth_keeping(op, err)) {
		char reason[512];

		/* Making the path may put another sentence there. */
		snprintf(reason, sizeof(reason), "%s", store_why());
		place_path(fs, node, name, &path);
		if (buf_append(&path, "", 1) == 0)
			errors_add(fs->errors, op, (const char *)path.data, err,
				   reason);
		buf_free(&path);
	}
	fuse_reply_err(req, -err);
}
