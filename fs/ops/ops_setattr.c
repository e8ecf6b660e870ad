/*
 * chmod, chown, truncate, utimens.
 *
 * A table's mode and owner persist and hold for all beneath. Below a table
 * they are accepted and change nothing, as times are, since rsync, tar and
 * cp -a set them and would stop; -o strict_attr refuses them instead. Scratch
 * files keep all of it.
 */
#include <errno.h>
#include <math.h>
#include <time.h>

#include "fs/files/schema_file.h"
#include "fs/files/writer.h"
#include "fs/look/lookup.h"
#include "fs/memory/write_state.h"
#include "fs/ops/entry.h"
#include "fs/ops/ops.h"
#include "fs/tree/control_file.h"

#define SET_OWNER (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)
/* "Now" is one of these and a flag beside it. */
#define SET_TIMES (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)

static int set_scratch(struct fs *fs, const struct place *p,
		       const struct stat *attr, int set)
{
	struct scratch_attr want = {.mode = attr->st_mode,
				    .uid = attr->st_uid,
				    .gid = attr->st_gid,
				    .size = (uint64_t)attr->st_size,
				    .mtime = attr->st_mtim};
	struct scratch_attr now;
	unsigned what = 0;

	if (set & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &want.mtime);
	if (set & FUSE_SET_ATTR_MODE)
		what |= SCRATCH_SET_MODE;
	if (set & FUSE_SET_ATTR_UID)
		what |= SCRATCH_SET_UID;
	if (set & FUSE_SET_ATTR_GID)
		what |= SCRATCH_SET_GID;
	if (set & FUSE_SET_ATTR_SIZE)
		what |= SCRATCH_SET_SIZE;
	if (set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW))
		what |= SCRATCH_SET_MTIME;
	if (attr->st_size < 0)
		return -EINVAL;
	return scratch_setattr(fs->writes->scratch, p->node, what, &want, &now);
}

static int truncate_file(struct fs *fs, fuse_req_t req, const struct place *p,
			 off_t size, const struct fuse_file_info *fi)
{
	struct open_file *f =
		fi ? handles_get(fs->handles, fi->fh, NULL) : NULL;
	int r;

	if (size < 0)
		r = -EINVAL;
	else if (f && f->ops->truncate)
		r = f->ops->truncate(fs, f, size);
	else
		r = writer_truncate_path(fs, req, p, size);
	open_file_drop(f);
	return r;
}

/* Opening with O_TRUNC comes here on its way to a write. */
static bool has_no_size(const struct place *p)
{
	return p->kind == NODE_CELLS || p->kind == NODE_COUNTER ||
	       (p->kind == NODE_CONTROL && p->control->writable);
}

static int do_setattr(struct fs *fs, fuse_req_t req, const struct place *p,
		      const struct stat *attr, int set,
		      const struct fuse_file_info *fi)
{
	struct scratch_attr a;
	int r = place_writable(p);

	if (r < 0)
		return r;
	if (scratch_getattr(fs->writes->scratch, p->node, &a))
		return set_scratch(fs, p, attr, set);
	if (set & FUSE_SET_ATTR_SIZE && !has_no_size(p)) {
		if (place_is_dir(p))
			return -EISDIR;
		r = place_file_writable(p);
		if (r == 0 && !fi)
			r = entry_stays(fs, req, p);
		if (r < 0)
			return r;
		r = truncate_file(fs, req, p, attr->st_size, fi);
	}
	if (r)
		return r;
	if (p->kind == NODE_TABLE && set & SET_OWNER)
		return schema_file_owner(fs, p, attr, set);
	if (fs->options->strict_attr && set & (SET_OWNER | SET_TIMES))
		return why(-EPERM, "mode, owner and times are the table's and "
				   "the timestamp's (mounted with "
				   "-o strict_attr)");
	return 0;
}

/*
 * Setting the times of a directory changes nothing, and the kernel has just looked it
 * up. In a store that others share, where each look is a call, the store is not asked
 * for the directory again, and the kernel does not believe the reply.
 */
static bool needs_no_look(struct fs *fs, const struct place *p)
{
	return store_is_shared(fs->store) && place_is(p, KIND_MADE) &&
	       !p->detached &&
	       !overlay_find(fs->overlay, p->parent, bytes_str(p->name), NULL);
}

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	struct place p;
	struct stat st;
	double timeout = 0, age_s = HUGE_VAL;
	uint64_t seen;
	int r = place_of(fs, ino, &p);

	nodes_believe(fs->nodes, ino, true);
	if (!r)
		r = do_setattr(fs, req, &p, attr, to_set, fi);
	seen = changes_now(&fs->changes);
	if (!r) {
		r = needs_no_look(fs, &p)
			    ? place_stat_blank(fs, &p, &st)
			    : fs_stat_open(fs, req, &p, fi, &st, &age_s);
		r = r ? r : -ENOENT;
	}
	/* The kernel takes this even if a notice about F:Q was faster. */
	if (r > 0 && !writer_is_open(fs, ino) && p.kind != NODE_ALIAS &&
	    !changes_since(&fs->changes, p.row, seen))
		timeout =
			fs_belief_left(place_attr_timeout(fs, &p, &st), age_s);
	place_release(&p);
	if (r < 0)
		fs_reply_err(req, "setattr", ino, NULL, r);
	else
		fuse_reply_attr(req, &st, timeout);
}
