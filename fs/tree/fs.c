#include "fs/tree/fs.h"

#include <errno.h>
#include <stdio.h>

#include "fs/kernel/clock.h"

uint64_t fs_dir_node(struct fs *fs, const struct place *dir)
{
	uint64_t node = 0;

	if (!dir->put)
		return dir->node;
	nodes_counterpart(fs->nodes, dir->node, NODE_PUT, &node);
	return node;
}

int fs_overlay_add(struct fs *fs, const struct place *child, struct bytes key)
{
	struct overlay_entry e = {
		.node = child->node,
		.ino = child->ino,
		.kind = child->kind,
	};

	memcpy(e.name, child->name, sizeof(e.name));
	return overlay_add(fs->overlay, child->parent, key, &e);
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
	uint64_t at = nodes_table(fs->nodes, p->parent);

	*out = 0;
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
	uint64_t table = nodes_table(fs->nodes, p->parent);
	struct name_part part;

	name_part(p->row, 0, &part);
	if (table && fs_rows_believed_absent(fs))
		invalidate_entry(fs->invalidator, table,
				 bytes_of(part.text, part.len));
}

/*
 * The aliases need no notice: the kernel asks for their attributes each time
 * and keeps none of their data.
 */
void fs_tell_column(struct fs *fs, const struct place *p, uint64_t column,
		    int64_t gone)
{
	char name[21];
	size_t len;

	if (p->put)
		tell_row(fs, p);
	if (column) {
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
	/* The file that was written is known by another name in the table. */
	if (p->put && column && p->kind == NODE_VERSION &&
	    nodes_find(fs->nodes, column, bytes_str(p->name), &column) > 0)
		invalidate_inode(fs->invalidator, column, true);
}

void fs_column_changed(struct fs *fs, const struct place *p, int64_t gone)
{
	uint64_t column;

	changes_row(&fs->changes, p->row);
	(void)fs_column_node(fs, p, &column);
	fs_tell_column(fs, p, column, gone);
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
