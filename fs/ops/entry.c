#include "fs/ops/entry.h"

#include <errno.h>

#include "fs/change/cellfile.h"
#include "fs/change/changed.h"
#include "fs/change/directories.h"
#include "fs/files/writer.h"
#include "fs/look/lookup.h"
#include "fs/memory/scratch_names.h"
#include "fs/memory/write_state.h"
#include "fs/tree/fixed.h"
#include "store/os/clock.h"

/* The directory in which a name is to be made, removed or moved: 0 or an error. */
static int find_dir(struct fs *fs, uint64_t parent, struct place *dir)
{
	int r = place_of(fs, parent, dir);

	if (r < 0)
		return r;
	if (dir->detached)
		return -ENOENT;
	if (kind_of(dir->kind)->sentence)
		return why(-EACCES, "%s", kind_of(dir->kind)->sentence);
	return place_writable(dir);
}

static int find_child(struct fs *fs, const struct place *dir, const char *name,
		      struct place *child, struct stat *st)
{
	int r = fs_lookup(fs, dir, bytes_str(name), child, st);
	if (r >= 0 && (child->view || child->kind == NODE_VIEW_NAME))
		return why(-EROFS, "%s is the name of a view", name);
	if (r == 0 && place_is(child, KIND_COMPUTED))
		return place_computed(child);
	if (r == 0 && child->kind == NODE_SCRATCH &&
	    dir->kind != NODE_SCRATCH_DIR && fixed_is_word(name))
		return why(-EPERM, "%s is the name of a view", name);
	return r;
}

int entry_find(struct fs *fs, uint64_t parent, const char *name,
	       struct place *dir, struct place *child, struct stat *st)
{
	int r = find_dir(fs, parent, dir);

	return r < 0 ? r : find_child(fs, dir, name, child, st);
}

/* Is it the name of a cell's file, which memory does not know as another's? */
static bool names_cell(struct fs *fs, const struct place *dir, const char *name,
		       struct place *child)
{
	if (dir->view ||
	    overlay_find(fs->overlay, dir->node, bytes_str(name), NULL))
		return false;
	if (place_child(fs, dir, bytes_str(name), child) == 0 &&
	    place_is(child, KIND_CELL) && !child->view) {
		nodes_find(fs->nodes, dir->node, bytes_str(name), &child->node);
		return true;
	}
	place_release(child);
	*child = (struct place){0};
	return false;
}

int entry_find_named(struct fs *fs, uint64_t parent, const char *name,
		     struct place *dir, struct place *child)
{
	struct stat st;
	int r = find_dir(fs, parent, dir);

	if (r < 0)
		return r;
	/* There is nothing in a family that the table has not. */
	if (names_cell(fs, dir, name, child))
		return fstable_family(child->table, child->family, NULL);
	return find_child(fs, dir, name, child, &st);
}

void entry_saw(struct fs *fs, const struct place *file, uint64_t last)
{
	if (file->kind == NODE_VERSION && !file->view && !file->put &&
	    !writer_is_open(fs, file->node) && fs_hears_all(fs, file->table))
		gone_saw(&fs->gone, file->node, last);
}

int entry_stays(struct fs *fs, fuse_req_t req, const struct place *file)
{
	struct stat st;
	int r;

	if (file->detached || !place_is(file, KIND_CELL) ||
	    gone_stays(&fs->gone, file->node,
		       changes_last(&fs->changes, file->row)))
		return 0;
	r = fs_stat(fs, file, &st);
	if (r == 0)
		return gone_tell(&fs->gone, fuse_req_ctx(req)->pid,
				 place_walked(file), monotonic_ms());
	return r < 0 ? r : 0;
}

int entry_add(struct fs *fs, struct place *child, struct fuse_entry_param *e)
{
	struct stat st;
	int r = place_stat_blank(fs, child, &st);

	if (r <= 0)
		return r ? r : -ENOENT;
	return fs_entry(fs, child->parent, child, &st, e);
}

int entry_add_cell(struct fs *fs, struct place *child,
		   struct fuse_entry_param *e)
{
	int r = cellfile_writable(fs, child, NULL);

	return r ? r : entry_add(fs, child, e);
}

int entry_may_be_scratch(struct fs *fs, const struct place *dir,
			 const char *name)
{
	uint8_t level = place_level(dir);

	if (fs->options->scratch == SCRATCH_ANY ||
	    kind_is(level, KIND_ANY_NAME))
		return 0;
	return scratch_name_check(bytes_str(name), level == NODE_COLUMN,
				  kind_of(level)->home);
}

/* What is made in a setgid directory has its group, and a directory that bit too. */
static gid_t group_in(struct fs *fs, const struct place *dir, gid_t own,
		      mode_t *mode)
{
	struct stat st;

	if (place_stat_blank(fs, dir, &st) <= 0)
		return own;
	(void)writer_stat_scratch(fs, dir->node, &st);
	if (!(st.st_mode & S_ISGID))
		return own;
	if (S_ISDIR(*mode))
		*mode |= S_ISGID;
	return st.st_gid;
}

int entry_add_scratch(struct fs *fs, fuse_req_t req, const struct place *dir,
		      struct place *child, mode_t mode,
		      struct fuse_entry_param *e)
{
	uid_t uid = fuse_req_ctx(req)->uid;
	gid_t gid = group_in(fs, dir, fuse_req_ctx(req)->gid, &mode);
	struct scratch *scratch = fs->writes->scratch;
	struct stat st;
	int r;

	/* In .snapshot a name is a snapshot's or nothing's. */
	if (child->kind == NODE_SNAPSHOT ||
	    (child->kind == NODE_TABLE && child->parent != FUSE_ROOT_ID))
		return why(-EPERM, "here mkdir takes a snapshot, and nothing "
				   "else is kept");
	r = S_ISDIR(mode) ? 0 : entry_may_be_scratch(fs, dir, child->name);
	if (r)
		return r;
	child->kind = S_ISDIR(mode) ? NODE_SCRATCH_DIR : NODE_SCRATCH;
	/* Its node's: a hash of its name is that of who has the name next. */
	child->ino = 0;
	r = place_stat_blank(fs, child, &st);
	if (r <= 0)
		return r ? r : -ENOENT;
	st.st_mode = mode;
	st.st_uid = uid;
	st.st_gid = gid;
	place_stat_force(fs, &st);
	r = fs_entry(fs, child->parent, child, &st, e);
	if (r)
		return r;
	r = scratch_add(scratch, child->node, mode, uid, gid);
	if (!r) {
		r = directories_make(fs, child);
		if (r)
			scratch_unname(scratch, child->node);
	}
	if (r)
		nodes_forget(fs->nodes, child->node, 1);
	else
		(void)changed_entries_later(fs, child->parent);
	return r;
}

void entry_remove_scratch(struct fs *fs, const struct place *child)
{
	scratch_unname(fs->writes->scratch, child->node);
	nodes_detach(fs->nodes, child->parent, bytes_str(child->name));
	overlay_remove(fs->overlay, child->parent, bytes_str(child->name));
	directories_entry_gone(fs, child->parent);
}
