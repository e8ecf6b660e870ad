/*
 * unlink and rmdir.
 */
#include <errno.h>

#include "fs/change/cellfile.h"
#include "fs/change/changed.h"
#include "fs/change/directories.h"
#include "fs/change/moved.h"
#include "fs/files/writer.h"
#include "fs/memory/write_state.h"
#include "fs/ops/entry.h"
#include "fs/ops/ops.h"

static int unlink_cell(struct fs *fs, const struct place *child)
{
	struct writers held;
	int r = store_may_delete(fs->store);

	if (r)
		return r;
	r = writers_hold(fs, child->node, &held);
	if (r)
		return r;
	/* A version whose name was moved away must not be deleted. */
	if (child->kind == NODE_VERSION && moved_hides(fs, child, child->ts))
		r = -ENOENT;
	else
		r = cellfile_delete(fs, child);
	/* The file may have been made and not been closed, as vim's 4913. */
	if (r == -ENOENT && held.pending)
		r = 0;
	/* Who has not opened it by now finds that it has no name. */
	if (!r)
		nodes_detach(fs->nodes, child->parent, bytes_str(child->name));
	writers_end(&held, r ? WRITER_NAMED : WRITER_REMOVED);
	return r;
}

static int do_unlink(struct fs *fs, uint64_t parent, const char *name)
{
	struct place dir = {0}, child = {0};
	int r = entry_find_named(fs, parent, name, &dir, &child);

	if (r <= 0) {
		r = r ? r : -ENOENT;
	} else if (place_is_dir(&child)) {
		r = -EISDIR;
	} else if (child.kind == NODE_SCRATCH) {
		r = moved_settle(fs, child.node);
		if (!r)
			entry_remove_scratch(fs, &child);
	} else if (place_is(&child, KIND_CELL)) {
		r = unlink_cell(fs, &child);
	} else if (child.kind == NODE_SCHEMA) {
		/* rm -r meets it first; it goes with its table. */
		schema_absent_removed(&fs->schema_absent, child.table);
		r = 0;
	} else {
		r = place_computed(&child);
	}
	place_release(&child);
	place_release(&dir);
	return r;
}

static void reply_removed(fuse_req_t req, const char *op, uint64_t parent,
			  const char *name, int r)
{
	if (!r)
		changed_entries(fs_of(req), parent);
	fs_reply(req, op, parent, name, r);
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_begin(req);

	reply_removed(req, "unlink", parent, name, do_unlink(fs, parent, name));
}

/* Returns 1 or 0, or an error. */
static int has_rows(struct fstable *ft)
{
	struct scan_spec spec = {
		.granularity = SCAN_ROWS, .keys_only = true, .limit_rows = 1};
	struct scan *sc = NULL;
	struct cell cell;
	int r = scan_open(fstable_table(ft), &spec, &sc);

	if (r == 0)
		r = scan_next(sc, &cell);
	scan_close(sc);
	return r;
}

/* Drops a table with what is staged in it, which no listing shows. */
static int remove_table(struct fs *fs, const struct place *child)
{
	int r = store_may_delete(fs->store);

	if (r == 0 && child->node && overlay_any(fs->overlay, child->node)) {
		r = has_rows(child->table);
		if (r >= 0)
			r = why(-ENOTEMPTY,
				r ? "it holds rows"
				  : "it holds rows that are empty "
				    "directories, or scratch files");
	}
	if (r == 0)
		r = store_table_drop(fs->store, bytes_str(child->name), true);
	if (r == 0)
		changed_table_dropped(fs, bytes_str(child->name));
	return r;
}

static int remove_snapshot(struct fs *fs, const struct place *dir,
			   const char *name)
{
	struct table *t = dir->table ? fstable_table(dir->table) : NULL;
	struct buf text = {0};
	int r = store_may_delete(fs->store);

	if (r == 0)
		r = name_decode(bytes_str(name), &text);
	if (r == 0)
		r = store_snapshot_drop(fs->store, t, buf_bytes(&text));
	buf_free(&text);
	return r;
}

/* Is there something in memory beneath it, or in .put beneath that of the table? */
static bool is_used(struct fs *fs, const struct place *dir)
{
	uint64_t node = fs_dir_node(fs, dir->node, dir->put);

	return !overlay_all_implied(fs->overlay, node) ||
	       !overlay_all_implied(fs->overlay, dir->node);
}

/* Removes a directory of data or of scratch files. */
static int remove_directory(struct fs *fs, const struct place *dir,
			    const struct place *child)
{
	int r = 0;

	if (child->kind != NODE_SCRATCH_DIR)
		r = directories_hold(fs, child);
	if (r > 0 && child->kind == NODE_COLUMN) {
		r = is_used(fs, child) ? -ENOTEMPTY
				       : moved_settle_column(fs, child);
		r = r < 0 ? r : !r;
	}
	if (r > 0)
		return why(-ENOTEMPTY, "it holds cells");
	if (r == 0)
		r = directories_remove(fs, dir, child);
	if (r == -ENOTEMPTY)
		return why(r, "it holds directories that are empty, or scratch "
			      "files");
	if (r == 0 && child->kind == NODE_SCRATCH_DIR)
		scratch_unname(fs->writes->scratch, child->node);
	return r;
}

static int do_rmdir(struct fs *fs, uint64_t parent, const char *name)
{
	struct place dir = {0}, child = {0};
	struct stat st;
	int r = entry_find(fs, parent, name, &dir, &child, &st);

	if (r < 0)
		goto out;
	/* A directory of the store may have entries in memory as well. */
	if (!child.node)
		nodes_find(fs->nodes, parent, bytes_str(name), &child.node);
	/*
	 * The last cell may have gone since the kernel's look-up: then the
	 * directory is empty.
	 */
	if (!place_is_dir(&child)) {
		r = r ? -ENOTDIR : -ENOENT;
	} else if (dir.kind == NODE_SNAPSHOT_DIR) {
		r = r ? remove_snapshot(fs, &dir, name) : -ENOENT;
		if (!r) {
			nodes_detach(fs->nodes, parent, bytes_str(name));
			changes_all(&fs->changes);
		}
	} else if (place_is(&child, KIND_FIXED)) {
		r = why(-EACCES,
			"%s is no data: it is there as long as what it is in",
			name);
	} else if (child.kind == NODE_TABLE) {
		r = r ? remove_table(fs, &child) : -ENOENT;
	} else {
		r = remove_directory(fs, &dir, &child);
	}
out:
	place_release(&child);
	place_release(&dir);
	return r;
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_begin(req);

	reply_removed(req, "rmdir", parent, name, do_rmdir(fs, parent, name));
}
