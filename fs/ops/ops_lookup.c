#include <errno.h>

#include "fs/files/writer.h"
#include "fs/look/lookup.h"
#include "fs/ops/entry.h"
#include "fs/ops/ops.h"
#include "fs/text/nearest.h"
#include "fs/tree/control_file.h"
#include "fs/tree/fixed.h"
#include "fs/tree/info.h"
#include "store/os/clock.h"

/* Returns what schema_absent_look() does, for a .schema that the table has. */
static int look_for_schema(struct fs *fs, fuse_req_t req,
			   const struct place *schema)
{
	struct fstable *ft = schema->table;
	int r = fstable_plain(ft);

	if (r >= 0)
		r = schema_absent_look(&fs->schema_absent, ft,
				       fuse_req_ctx(req)->pid, r);
	/* A notice about attributes alone does not block in the kernel. */
	if (r == -ESTALE && fs->session)
		fuse_lowlevel_notify_inval_inode(fs->session, schema->parent,
						 -1, 0);
	return r;
}

/*
 * Tells in .cellfs/errors of an unknown name that begins with a dot and
 * resembles a known one, and of each unknown name in .cellfs. Other names with
 * a dot are those that tools look for.
 */
static void note_unknown(struct fs *fs, const struct place *dir,
			 const char *name)
{
	bool control = dir->kind == NODE_CONTROL_DIR, other;
	struct nearest near;

	if (!control && name[0] != '.')
		return;
	nearest_init(&near, name);
	/* A short name is near to many words, so one edit is the limit. */
	if (!control && strlen(name) < 7)
		near.distance = 1;
	for (unsigned i = 0; control && control_name(fs, i); i++)
		nearest_offer(&near, control_name(fs, i));
	for (unsigned i = 0; !control && fixed_word(i); i++)
		nearest_offer(&near, fixed_word(i));
	if (!near.word[0] && !control)
		return;
	other = near.word[0] && strcmp(near.word, name) != 0;
	why(-ENOENT, "there is no %s'%s' here%s%s%s: %s",
	    control ? "control file " : "", name,
	    other ? ", did you mean " : "", other ? near.word : "",
	    other ? "?" : "",
	    control ? "ls .cellfs lists them" : "see .cellfs/help");
	fs_note_error(fs, "lookup", dir->node, name, -ENOENT);
}

/*
 * 1 and *e to reply; 0 and *e for an absent name, whose timeout is how long
 * that may be believed; an error.
 */
static int do_lookup(struct fs *fs, fuse_req_t req, uint64_t parent,
		     const char *name, struct fuse_entry_param *e)
{
	struct place dir, child = {0};
	struct stat st;
	bool hidden = false, believed;
	uint64_t last;
	int r;

	*e = (struct fuse_entry_param){0};
	r = place_of(fs, parent, &dir);
	if (r < 0)
		goto out;
	last = changes_last(&fs->changes, dir.row);
	r = fs_lookup(fs, &dir, bytes_str(name), &child, &st);
	/* A file of another process is hidden until it is published. */
	hidden = r > 0 && child.node && !place_is_dir(&child) &&
		 writer_hides(fs, child.node, fuse_req_ctx(req)->pid);
	if (hidden)
		r = fs_stat_stored(fs, &child, &st);
	if (r > 0 && child.kind == NODE_SCHEMA)
		r = look_for_schema(fs, req, &child);
	else if (r > 0 && child.kind == NODE_TABLE)
		schema_absent_table(&fs->schema_absent, child.table,
				    fuse_req_ctx(req)->pid, true);
	believed = child.kind != NODE_ALIAS || r < 0 ||
		   gone_looked_up(&fs->gone, fuse_req_ctx(req)->pid,
				  place_walked(&child), r > 0, monotonic_ms());
	if (r > 0) {
		r = fs_entry(fs, parent, &child, &st, e);
		r = r < 0 ? r : 1;
		if (r > 0)
			entry_saw(fs, &child, last);
		if (!believed)
			e->attr_timeout = e->entry_timeout = 0;
	} else if (r == 0 && hidden) {
		/* The hidden file can be published at any moment. */
		e->entry_timeout = 0;
	} else if (r == 0 && child.kind != NODE_SCHEMA) {
		if (child.kind == NODE_CONTROL || child.kind == NODE_SCRATCH)
			note_unknown(fs, &dir, name);
		e->entry_timeout = place_negative_timeout(fs, &child);
		/* A staged row becomes one of the table, with what is believed of it. */
		if (dir.kind == NODE_SCRATCH_DIR ||
		    changes_since(&fs->changes, child.row, child.seen))
			e->entry_timeout = 0;
	} else if (r == -EINVAL && child.kind == NODE_VIEW) {
		/* The name spells an invalid view. */
		fs_note_error(fs, "lookup", parent, name, -ENOENT);
		r = 0;
	} else if (r == -EINVAL) {
		/* No key is ever spelled like this: the absence is lasting. */
		if (dir.kind == NODE_PUT)
			note_unknown(fs, &dir, name);
		e->entry_timeout = CACHE_LONG_S;
		r = 0;
	}
out:
	place_release(&child);
	place_release(&dir);
	return r;
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_begin(req);
	struct fuse_entry_param e;
	int r = do_lookup(fs, req, parent, name, &e);

	if (r == 0)
		fs_replied = -ENOENT;
	if (r < 0)
		fs_reply_err(req, "lookup", parent, name, r);
	else if (r == 0 && e.entry_timeout == 0)
		fuse_reply_err(req, ENOENT);
	else if (fuse_reply_entry(req, &e) != 0 && r > 0)
		nodes_forget(fs->nodes, e.ino, 1);
}

/*
 * Attributes of a file that was removed since the kernel looked it up, which may
 * be long ago: the kernel looks again (gone.h). If F:Q is there then and goes
 * once more, or latest or a name in .put goes, which are looked up each time, the
 * kernel sees a file without a link, like one that was unlinked on a disk: open(2) goes on, and
 * makes the file anew.
 */
static int stat_gone(struct fs *fs, pid_t who, const struct place *p,
		     struct stat *st)
{
	bool again = p->kind == NODE_LATEST || p->put;

	if (place_is_dir(p))
		return -ENOENT;
	if ((p->kind != NODE_LATEST && p->kind != NODE_ALIAS) || p->view)
		return gone_tell(&fs->gone, who, place_walked(p),
				 monotonic_ms());
	if (!again && !writer_is_open(fs, p->node) &&
	    !gone_again(&fs->gone, who, place_walked(p), monotonic_ms()))
		return -ESTALE;
	if (place_stat_blank(fs, p, st) <= 0)
		return -ENOENT;
	st->st_nlink = 0;
	return 1;
}

/*
 * For how long the kernel may believe attributes that were asked for when
 * changes_now() was @seen. What a handle of F:Q shows is not what F:Q shows.
 */
static double attr_timeout(struct fs *fs, const struct place *p,
			   const struct fuse_file_info *fi, uint64_t seen,
			   const struct stat *st)
{
	bool alias = p->kind == NODE_ALIAS;

	/* Of a version that is put by its own name the kernel is not told. */
	if (writer_is_open(fs, p->node) || (alias && fi) ||
	    ((alias || p->kind == NODE_VERSION) &&
	     (p->detached || changes_since(&fs->changes, p->row, seen))))
		return 0;
	return place_attr_timeout(fs, p, st);
}

static int do_getattr(struct fs *fs, fuse_req_t req, uint64_t ino,
		      struct fuse_file_info *fi, struct stat *st,
		      double *timeout)
{
	uint64_t seen = changes_now(&fs->changes);
	pid_t who = fuse_req_ctx(req)->pid;
	/* Before they are read: a change after that tells the kernel. */
	bool asked = nodes_ask(fs->nodes, ino);
	double age_s = 0;
	struct place p;
	int r = place_of(fs, ino, &p);

	if (r == 0 && p.kind == NODE_TABLE)
		schema_absent_table(&fs->schema_absent, p.table, who, false);
	if (r == 0)
		r = fs_stat_open(fs, req, &p, fi, st, &age_s);
	nodes_told(fs->nodes, ino, asked,
		   r > 0 ? place_mtime_ms(st) : INT64_MIN);
	*timeout = r > 0 ? fs_belief_left(attr_timeout(fs, &p, fi, seen, st),
					  age_s)
			 : 0;
	if (r > 0 && p.kind == NODE_ALIAS && !fi)
		gone_found(&fs->gone, who, place_walked(&p), monotonic_ms());
	else if (r == -ESTALE)
		r = gone_tell(&fs->gone, who, place_walked(&p), monotonic_ms());
	if (r == 0)
		r = stat_gone(fs, who, &p, st);
	place_release(&p);
	return r;
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	struct stat st;
	double timeout;
	int r = do_getattr(fs, req, ino, fi, &st, &timeout);

	if (r < 0)
		fs_reply_err(req, "getattr", ino, NULL, r);
	else
		fuse_reply_attr(req, &st, timeout);
}
