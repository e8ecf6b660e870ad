/*
 * mkdir and mknod; what cannot be made.
 */
#include <errno.h>
#include <stdio.h>

#include "fs/change/cellfile.h"
#include "fs/change/changed.h"
#include "fs/change/directories.h"
#include "fs/look/lookup.h"
#include "fs/ops/entry.h"
#include "fs/ops/ops.h"

/* The place of what was made by a name in @dir, and what is told of it. */
static int enter_made(struct fs *fs, struct place *dir, struct place *child,
		      struct fuse_entry_param *e)
{
	char text[NAME_LEN_MAX + 1];
	struct stat st;
	int r;

	memcpy(text, child->name, sizeof(text));
	place_release(child);
	r = place_child(fs, dir, bytes_str(text), child);
	if (r < 0)
		return r;
	r = child->kind == NODE_TABLE ? place_stat_blank(fs, child, &st)
				      : place_stat(fs, child, &st);
	if (r <= 0)
		return r ? r : -ENOENT;
	return fs_entry(fs, dir->node, child, &st, e);
}

/* Who asked is told that it failed: nothing was made, then. */
static int make_table(struct fs *fs, fuse_req_t req, mode_t mode,
		      struct place *dir, struct place *child,
		      struct fuse_entry_param *e)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	char text[NAME_LEN_MAX + 1];
	struct why_kept kept;
	struct schema schema;
	struct bytes name;
	int r;

	memcpy(text, child->name, sizeof(text));
	name = bytes_str(text);
	schema_init(&schema, ctx->uid, ctx->gid);
	schema.mode = mode & 07777;
	r = store_namespace_ensure(fs->store, name);
	if (r == 0)
		r = store_table_create(fs->store, name, &schema);
	schema_free(&schema);
	if (r)
		return r;
	r = enter_made(fs, dir, child, e);
	if (r == 0) {
		schema_absent_made(&fs->schema_absent, child->table, ctx->pid);
		return 0;
	}
	why_keep(&kept);
	(void)store_table_drop(fs->store, name, true);
	why_restore(&kept);
	return r;
}

/*
 * mkdir in the .snapshot of a table or of the mount takes a snapshot. As
 * make_table() where it fails.
 */
static int make_snapshot(struct fs *fs, struct place *dir, struct place *child,
			 struct fuse_entry_param *e)
{
	struct table *t = dir->table ? fstable_table(dir->table) : NULL;
	struct buf name = {0};
	struct why_kept kept;
	int r = name_decode(bytes_str(child->name), &name);

	if (r == 0)
		r = store_snapshot_create(fs->store, t, buf_bytes(&name));
	if (r == 0) {
		r = enter_made(fs, dir, child, e);
		if (r < 0) {
			why_keep(&kept);
			(void)store_snapshot_drop(fs->store, t,
						  buf_bytes(&name));
			why_restore(&kept);
		}
	}
	buf_free(&name);
	return r;
}

/* Makes a row, family or column, which is in memory until it holds a cell. */
static int make_directory(struct fs *fs, struct place *child,
			  struct fuse_entry_param *e)
{
	int r = child->kind == NODE_FAMILY ? cellfile_writable(fs, child, NULL)
					   : 0;

	if (!r)
		r = entry_add(fs, child, e);
	if (r)
		return r;
	r = directories_make(fs, child);
	if (r)
		nodes_forget(fs->nodes, child->node, 1);
	return r;
}

static int bad_table_name(const char *name)
{
	char rule[200];

	(void)table_name_check(bytes_str(name));
	snprintf(rule, sizeof(rule), "%s", store_why());
	return why(-EINVAL, "%s is no name for a table: %s", name, rule);
}

static int do_mkdir(struct fs *fs, fuse_req_t req, uint64_t parent,
		    const char *name, mode_t mode, struct fuse_entry_param *e)
{
	struct place dir = {0}, child = {0};
	struct stat st;
	int r = entry_find(fs, parent, name, &dir, &child, &st);

	if (r) {
		r = r > 0 ? -EEXIST : r;
	} else if (dir.kind == NODE_SNAPSHOT_DIR) {
		r = make_snapshot(fs, &dir, &child, e);
	} else if (child.kind == NODE_TABLE) {
		r = make_table(fs, req, mode, &dir, &child, e);
	} else if (place_is(&child, KIND_MADE)) {
		r = make_directory(fs, &child, e);
	} else if (child.kind != NODE_SCRATCH) {
		r = why(-EPERM, "this name is a file's");
	} else if (name_is_scratch(name) || place_is(&dir, KIND_ANY_NAME)) {
		r = entry_add_scratch(fs, req, &dir, &child,
				      S_IFDIR | (mode & 07777), e);
	} else if (dir.kind == NODE_ROOT) {
		r = bad_table_name(name);
	} else {
		r = why(-EPERM, "a column holds files only");
	}
	place_release(&child);
	place_release(&dir);
	return r;
}

static void reply_made(fuse_req_t req, const char *op, uint64_t parent,
		       const char *name, const struct fuse_entry_param *e,
		       int r)
{
	struct fs *fs = fs_of(req);

	if (r)
		fs_reply_err(req, op, parent, name, r);
	else if (fuse_reply_entry(req, e))
		nodes_forget(fs->nodes, e->ino, 1);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fs *fs = fs_begin(req);
	struct fuse_entry_param e = {0};
	int r = do_mkdir(fs, req, parent, name, mode, &e);

	if (!r)
		changed_entries(fs, parent);
	reply_made(req, "mkdir", parent, name, &e, r);
}

/* The node comes first: who is told that it failed finds no cell. */
static int make_cell(struct fs *fs, struct place *child,
		     struct fuse_entry_param *e)
{
	int64_t ts;
	int r = entry_add_cell(fs, child, e);

	if (r)
		return r;
	/* The kernel asks for its attributes, which are not there yet. */
	e->entry_timeout = e->attr_timeout = 0;
	r = cellfile_put(fs, child, bytes_of(NULL, 0), NULL, -1,
			 CELLFILE_ABSENT, &ts);
	changed_wait_put(fs, child);
	if (r)
		nodes_forget(fs->nodes, child->node, 1);
	return r;
}

static int do_mknod(struct fs *fs, fuse_req_t req, uint64_t parent,
		    const char *name, mode_t mode, struct fuse_entry_param *e)
{
	struct place dir = {0}, child = {0};
	struct stat st;
	int r = entry_find(fs, parent, name, &dir, &child, &st);

	if (r > 0)
		r = -EEXIST;
	else if (r == 0)
		r = place_is(&child, KIND_CELL)
			    ? make_cell(fs, &child, e)
			    : entry_add_scratch(fs, req, &dir, &child,
						S_IFREG | (mode & 07777), e);
	place_release(&child);
	place_release(&dir);
	return r;
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	      dev_t rdev)
{
	struct fs *fs = fs_begin(req);
	struct fuse_entry_param e = {0};
	int r;

	if (S_ISREG(mode) || !(mode & S_IFMT))
		r = do_mknod(fs, req, parent, name, mode, &e);
	else
		r = why(-EPERM, "only regular files and directories are kept");
	reply_made(req, "mknod", parent, name, &e, r);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent,
	     const char *newname)
{
	fs_reply_err(req, "link", newparent, newname,
		     why(-EPERM, "a cell has one name"));
}

void op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent,
		const char *name)
{
	fs_reply_err(req, "symlink", parent, name,
		     why(-EPERM, "only regular files and directories are "
				 "kept"));
}
