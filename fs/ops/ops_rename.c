/*
 * rename: what kind of thing goes where decides.
 *
 *	scratch	 -> cell	put; the file becomes the version
 *	scratch	 -> .schema	the schema is applied
 *	scratch	 -> scratch	the name moves
 *	.stage/R -> R		the cells of the row, one mutation
 *	cell	 -> cell	of one row: one mutation; else EXDEV
 *	TS	 -> scratch	the version is hidden: see moved.h
 *	latest, F:Q, .schema -> scratch	 a copy: the original stays
 *	F:Q	 -> F:Q~	a copy too
 *	table	 -> table	the table's name
 *	row, family, column	while empty; else EXDEV
 *
 * The copies are for editors. vim moves a file aside, writes the name anew and
 * removes what it moved; latest and F:Q are not one version but whatever is
 * newest, and moving them must not cost the history that they stand for.
 */
#include <errno.h>
#include <stdio.h>

#include "fs/change/cellfile.h"
#include "fs/change/changed.h"
#include "fs/change/directories.h"
#include "fs/change/moved.h"
#include "fs/files/schema_file.h"
#include "fs/files/stage.h"
#include "fs/files/writer.h"
#include "fs/memory/write_state.h"
#include "fs/ops/entry.h"
#include "fs/ops/ops.h"

struct move {
	struct place from_dir, from, to_dir, to;
	struct stat from_st;
	bool to_exists; /* false also where find_target() does not ask */
	bool noreplace;
	fuse_req_t req;
};

static void move_release(struct move *mv)
{
	place_release(&mv->from);
	place_release(&mv->from_dir);
	place_release(&mv->to);
	place_release(&mv->to_dir);
}

/* Gives the node its new name, @kind and @ino. */
static int move_node(struct fs *fs, const struct move *mv, uint8_t kind,
		     uint64_t ino)
{
	int r = nodes_rename(fs->nodes, mv->from_dir.node,
			     bytes_str(mv->from.name), mv->to_dir.node,
			     bytes_str(mv->to.name), kind, ino);

	changed_name(fs, &mv->from, &mv->to);
	return r < 0 ? r : 0;
}

/*
 * The scratch file that the rename has replaced goes, with the version that it was.
 * One that cannot be deleted now is there again after the next mount.
 */
static void drop_target(struct fs *fs, const struct move *mv)
{
	if (!mv->to_exists || !mv->to.node)
		return;
	(void)moved_settle(fs, mv->to.node);
	scratch_unname(fs->writes->scratch, mv->to.node);
}

/*
 * Adds the node to the overlay under its new name, in place of what is replaced,
 * whose path is there already.
 */
static int add_target(struct fs *fs, const struct move *mv)
{
	struct overlay_entry e = {.node = mv->from.node,
				  .ino = mv->from.node,
				  .kind = NODE_SCRATCH};
	struct bytes key = bytes_str(mv->to.name);

	memcpy(e.name, mv->to.name, sizeof(e.name));
	return mv->to_exists
		       ? overlay_replace(fs->overlay, mv->to_dir.node, key, &e)
		       : directories_add(fs, mv->to_dir.node, key, &e);
}

/* Renames an entry of the overlay; it has a name at every moment. */
static int rename_entry(struct fs *fs, const struct move *mv, uint8_t kind,
			uint64_t ino, struct bytes key)
{
	struct overlay_entry e = {
		.node = mv->from.node, .ino = ino, .kind = kind};
	int r;

	memcpy(e.name, mv->to.name, sizeof(e.name));
	r = overlay_rename(fs->overlay, mv->from_dir.node,
			   bytes_str(mv->from.name), mv->to_dir.node, key, &e);
	if (r)
		return r;
	/* Without room for its path it has moved nonetheless. */
	(void)directories_keep_path(fs, mv->to_dir.node);
	directories_entry_gone(fs, mv->from_dir.node);
	changed_name(fs, &mv->from, &mv->to);
	return 0;
}

/* May a scratch file have the new name? mv(1) would misunderstand -EINVAL. */
static int may_be_scratch(struct fs *fs, const struct move *mv)
{
	int r = entry_may_be_scratch(fs, &mv->to_dir, mv->to.name);

	return r == -EINVAL ? -EPERM : r;
}

static int scratch_to_scratch(struct fs *fs, const struct move *mv)
{
	bool dir = mv->from.kind == NODE_SCRATCH_DIR;
	int r;

	if (mv->to_exists && place_is_dir(&mv->to) != dir)
		return dir ? -ENOTDIR : -EISDIR;
	if (mv->to_exists && dir && overlay_any(fs->overlay, mv->to.node))
		return -ENOTEMPTY;
	r = dir ? 0 : may_be_scratch(fs, mv);
	if (!r)
		r = rename_entry(fs, mv, mv->from.kind, mv->from.ino,
				 bytes_str(mv->to.name));
	if (!r)
		drop_target(fs, mv);
	return r;
}

/* Not -EXDEV: mv(1) would then copy the row file by file. */
static int staged_row(struct fs *fs, const struct move *mv)
{
	if (kind_of(mv->to.kind)->key != KEY_ROW ||
	    fstable_id(mv->to.table) != fstable_id(mv->from.table))
		return why(-EPERM, "a staged row becomes a row of its table "
				   "and nothing else (does it exist? then mv "
				   "-T)");
	return stage_put(fs, mv->req, &mv->from, &mv->to, mv->to_dir.node);
}

static int scratch_dir(struct fs *fs, const struct move *mv)
{
	if (mv->to.kind == NODE_SCRATCH_DIR ||
	    (!mv->to_exists && mv->to.kind == NODE_SCRATCH &&
	     (name_is_scratch(mv->to.name) ||
	      place_is(&mv->to_dir, KIND_ANY_NAME))))
		return scratch_to_scratch(fs, mv);
	if (mv->from_dir.kind == NODE_STAGE)
		return staged_row(fs, mv);
	return why(-EXDEV, "a scratch directory does not become data: its "
			   "files do, one by one");
}

static bool same_version(const struct place *a, const struct place *b)
{
	return a->kind == NODE_VERSION && b->kind == NODE_VERSION &&
	       place_same_row(a, b) && bytes_eq(a->family, b->family) &&
	       bytes_eq(a->qualifier, b->qualifier) && a->ts == b->ts;
}

/*
 * A version that comes back to its name as it was is shown again, which takes no
 * room: 1; 0 when it is no such version, or has changed.
 */
static int put_back(struct fs *fs, const struct move *mv)
{
	struct buf hold = {0}, content = {0};
	struct cell was;
	struct place old;
	int r = moved_from(fs, mv->from.node, &old, &hold, &was);

	if (r > 0)
		r = same_version(&old, &mv->to);
	if (r > 0) {
		r = scratch_content(fs->writes->scratch, mv->from.node,
				    SIZE_MAX, &content);
		r = r < 0 ? r : bytes_eq(buf_bytes(&content), was.value);
	}
	if (r > 0)
		moved_back(fs, mv->from.node, &old);
	place_release(&old);
	buf_free(&content);
	buf_free(&hold);
	return r;
}

/*
 * Puts the content and deletes the version that was moved aside, in one
 * mutation: 1; 0 when there is no such version, or its name has another one.
 */
static int put_instead(struct fs *fs, const struct move *mv,
		       struct bytes content, unsigned flags)
{
	struct buf hold = {0};
	struct cell was;
	struct place old;
	int r = moved_from(fs, mv->from.node, &old, &hold, &was);

	if (r > 0)
		r = place_same_row(&old, &mv->to) &&
		    !same_version(&old, &mv->to);
	if (r > 0)
		r = cellfile_put_instead(fs, &mv->to, content, &old, &was,
					 flags);
	if (r > 0)
		moved_forget(fs, mv->from.node);
	place_release(&old);
	buf_free(&hold);
	return r;
}

/*
 * Puts the content. If the file is a version that was moved aside, the version
 * is deleted by the same mutation.
 */
static int put_scratch(struct fs *fs, const struct move *mv,
		       struct bytes content)
{
	unsigned flags = mv->noreplace ? CELLFILE_ABSENT : 0;
	struct cell was;
	int64_t ts;
	int r = put_instead(fs, mv, content, flags);

	if (r != 0)
		return r < 0 ? r : 0;
	r = moved_is(fs, mv->from.node, content, &was);
	if (r == 0)
		return cellfile_put(fs, &mv->to, content, NULL, -1, flags, &ts);
	/* A version that was pushed out meanwhile is in this file only. */
	if (r > 0)
		r = cellfile_seen(fs, &mv->to, NULL);
	return r ? r : cellfile_copy(fs, &mv->to, &was, flags);
}

/* What the scratch file holds is put, or applied as the table's schema. */
static int put_content(struct fs *fs, const struct move *mv, bool cell)
{
	const struct schema_edit whole = {.by = fuse_req_ctx(mv->req)->uid};
	struct buf content = {0};
	size_t len_max = SCHEMA_TEXT_MAX;
	int r = cell ? cellfile_writable(fs, &mv->to, &len_max) : 0;

	if (!r)
		r = scratch_content(fs->writes->scratch, mv->from.node, len_max,
				    &content);
	if (r == -EFBIG)
		r = why(r, "a value here is at most %zu bytes (max_value)",
			len_max);
	if (!r)
		r = cell ? put_scratch(fs, mv, buf_bytes(&content))
			 : schema_file_apply(fs, &mv->to, buf_bytes(&content),
					     &whole);
	buf_free(&content);
	return r ? r : moved_settle(fs, mv->from.node);
}

/* The scratch file becomes a cell, or the table's schema. */
static int scratch_to_data(struct fs *fs, const struct move *mv)
{
	struct scratch *scratch = fs->writes->scratch;
	bool cell = place_is(&mv->to, KIND_CELL);
	int r;

	/* What is written from now on would be in no cell. */
	scratch_freeze(scratch, mv->from.node, true);
	r = cell && !mv->to_exists ? put_back(fs, mv) : 0;
	/* What comes back was there to be read before. */
	if (r == 0)
		r = writer_may_read(fs, mv->req, mv->from.node);
	if (r == 0)
		r = put_content(fs, mv, cell);
	if (r < 0) {
		scratch_freeze(scratch, mv->from.node, false);
		return r;
	}
	overlay_remove(fs->overlay, mv->from_dir.node,
		       bytes_str(mv->from.name));
	directories_entry_gone(fs, mv->from_dir.node);
	scratch_retire(scratch, mv->from.node);
	return move_node(fs, mv, mv->to.kind, mv->to.ino);
}

/* What a file is that is put again, under another name. */
static int content_of(const struct place *p, struct buf *hold, struct cell *out)
{
	int r;

	if (p->kind == NODE_SCHEMA) {
		r = fstable_schema_text(p->table, hold);
		*out = (struct cell){.value = buf_bytes(hold)};
		return r;
	}
	r = place_get(p, out, hold);
	if (r <= 0)
		return r ? r : -ENOENT;
	return cellfile_copyable(out);
}

static int data_to_scratch(struct fs *fs, const struct move *mv)
{
	struct scratch *scratch = fs->writes->scratch;
	const struct stat *st = &mv->from_st;
	struct buf hold = {0};
	struct cell content;
	int r;

	if (mv->to_exists && place_is_dir(&mv->to))
		return -EISDIR;
	if (!mv->from.node)
		return -ESTALE;
	r = may_be_scratch(fs, mv);
	if (!r)
		r = store_health(fs->store);
	if (!r)
		r = content_of(&mv->from, &hold, &content);
	if (!r)
		r = scratch_add(scratch, mv->from.node, st->st_mode, st->st_uid,
				st->st_gid);
	if (r)
		goto out;
	r = scratch_write(scratch, mv->from.node, content.value, 0, false);
	if (!r && mv->from.kind == NODE_VERSION)
		r = moved_add(fs, mv->from.node, &mv->from, &content);
	/* What the new file replaces goes when the new one has its place. */
	if (!r)
		r = add_target(fs, mv);
	if (r) {
		if (mv->from.kind == NODE_VERSION)
			moved_back(fs, mv->from.node, &mv->from);
		scratch_retire(scratch, mv->from.node);
		goto out;
	}
	drop_target(fs, mv);
	r = move_node(fs, mv, NODE_SCRATCH, mv->from.node);
out:
	buf_free(&hold);
	return r;
}

/* Is @to the name that vim gives to its backup of the column @from? */
static bool is_backup(const struct place *from, const struct place *to)
{
	size_t len = from->qualifier.len;

	return from->kind == NODE_ALIAS && to->kind == NODE_ALIAS &&
	       bytes_eq(from->family, to->family) &&
	       to->qualifier.len == len + 1 &&
	       bytes_has_prefix(to->qualifier, from->qualifier) &&
	       to->qualifier.data[len] == '~';
}

static int copy_newest(struct fs *fs, const struct move *mv)
{
	struct buf hold = {0};
	struct cell cell;
	int r = place_get(&mv->from, &cell, &hold);

	if (r > 0)
		r = cellfile_copy(fs, &mv->to, &cell,
				  mv->noreplace ? CELLFILE_ABSENT : 0);
	else if (r == 0)
		r = -ENOENT;
	buf_free(&hold);
	return r;
}

/* mv(1) copies the value of a file of another row then, and deletes the file. */
static int to_other_row(const struct move *mv)
{
	struct buf hold = {0};
	struct cell cell;
	/* The value is asked for, since HBase sends no tags without it. */
	int r = place_get(&mv->from, &cell, &hold);

	if (r > 0)
		r = cellfile_copyable(&cell);
	buf_free(&hold);
	return r < 0 ? r : -EXDEV;
}

static int cell_to_cell(struct fs *fs, const struct move *mv)
{
	int r = cellfile_writable(fs, &mv->to, NULL);

	if (r)
		return r;
	if (is_backup(&mv->from, &mv->to))
		r = copy_newest(fs, mv);
	else
		r = cellfile_move(fs, &mv->from, &mv->to, mv->noreplace);
	return r ? r : move_node(fs, mv, mv->to.kind, mv->to.ino);
}

/*
 * What somebody has written and not closed moves along. If it cannot be put, the
 * rename is refused; whoever has written it is told at close.
 */
static int from_data(struct fs *fs, const struct move *mv, bool to_data)
{
	uint64_t node = mv->from.node, onto = mv->to.node;
	uint64_t replaced = to_data && onto != node ? onto : 0;
	bool first = node < replaced;
	struct writers from = {0}, to = {0};
	int r = writers_hold(fs, first ? node : replaced, first ? &from : &to);

	if (!r)
		r = writers_hold(fs, first ? replaced : node,
				 first ? &to : &from);
	if (!r)
		r = writers_settle(&from);
	if (!r)
		r = to_data ? cell_to_cell(fs, mv) : data_to_scratch(fs, mv);
	writers_end(&to, r ? WRITER_NAMED : WRITER_REMOVED);
	writers_end(&from, r ? WRITER_NAMED : WRITER_MOVED);
	return r;
}

static int move_file(struct fs *fs, const struct move *mv)
{
	bool to_data =
		place_is(&mv->to, KIND_CELL) || mv->to.kind == NODE_SCHEMA;
	struct writers to;
	int r;

	if (mv->from.kind == NODE_SCRATCH && !to_data)
		return scratch_to_scratch(fs, mv);
	if (mv->from.kind == NODE_SCRATCH) {
		r = writers_hold(fs, mv->to.node, &to);
		if (!r)
			r = scratch_to_data(fs, mv);
		writers_end(&to, r ? WRITER_NAMED : WRITER_REMOVED);
		return r;
	}
	if (mv->from.kind != NODE_SCHEMA && !place_is(&mv->from, KIND_CELL))
		return why(-EACCES, "this file cannot be moved");
	/* The old name is deleted, so the right to delete is needed. */
	r = store_may_delete(fs->store);
	if (r)
		return r;
	if (to_data &&
	    (mv->from.kind == NODE_SCHEMA || mv->to.kind == NODE_SCHEMA))
		return -EXDEV;
	if (to_data && !place_same_row(&mv->from, &mv->to))
		return to_other_row(mv);
	return from_data(fs, mv, to_data);
}

static int move_table(struct fs *fs, const struct move *mv)
{
	int r;

	if (mv->to_dir.kind != NODE_ROOT || mv->to.kind != NODE_TABLE)
		return why(-EPERM, "a table cannot become anything else");
	if (mv->to_exists)
		return why(-ENOTEMPTY, "there is a table of that name");
	r = store_namespace_ensure(fs->store, bytes_str(mv->to.name));
	if (r < 0)
		return r;
	r = store_table_rename(fs->store, bytes_str(mv->from.name),
			       bytes_str(mv->to.name));
	if (!r)
		changed_table_renamed(fs, bytes_str(mv->from.name),
				      bytes_str(mv->to.name));
	return r;
}

/* Returns 0 if the directory is empty, else -ENOTEMPTY or another error. */
static int check_empty(struct fs *fs, const struct place *dir)
{
	int r;

	if (dir->node && overlay_any(fs->overlay, dir->node))
		return why(-ENOTEMPTY, "it holds directories that are empty, "
				       "or scratch files");
	r = directories_hold(fs, dir);
	return r > 0 ? why(-ENOTEMPTY, "it holds cells") : r;
}

/*
 * A snapshot cannot leave its .snapshot, as it shows the directory above that.
 * mv(1) would misunderstand -EINVAL.
 */
static int move_snapshot(struct fs *fs, const struct move *mv)
{
	struct fstable *ft = mv->from_dir.table;
	struct buf from = {0}, to = {0};
	uint64_t node;
	int r;

	if (mv->to_dir.node != mv->from_dir.node ||
	    mv->from.kind == NODE_SNAPSHOT_DIR)
		return why(-EPERM, "a snapshot stays in the .snapshot in "
				   "which mkdir made it");
	r = name_decode(bytes_str(mv->from.name), &from);
	if (!r)
		r = name_decode(bytes_str(mv->to.name), &to);
	if (!r)
		r = store_snapshot_rename(fs->store,
					  ft ? fstable_table(ft) : NULL,
					  buf_bytes(&from), buf_bytes(&to));
	buf_free(&from);
	buf_free(&to);
	if (!r)
		r = move_node(fs, mv, mv->from.kind, mv->to.ino);
	/* What is looked up beneath it from now on has numbers of the new name. */
	if (!r && nodes_find(fs->nodes, mv->to_dir.node, bytes_str(mv->to.name),
			     &node))
		invalidate_names(fs->invalidator, node);
	return r;
}

static int move_directory(struct fs *fs, const struct move *mv)
{
	int r;

	if (mv->from.kind == NODE_TABLE)
		return move_table(fs, mv);
	if (mv->from.kind == NODE_SCRATCH_DIR)
		return scratch_dir(fs, mv);
	if (place_is(&mv->from, KIND_FIXED))
		return why(-EACCES, "%s is no data: it stays where it is",
			   mv->from.name);
	if (mv->to_exists && !place_is_dir(&mv->to))
		return -ENOTDIR;
	if (mv->to_dir.kind == NODE_PUT)
		return why(-EPERM,
			   "in .put every row exists, so none gets its name "
			   "there: mv -T ROW NEWROW in the table");
	if (mv->from.kind != mv->to.kind)
		return why(-EPERM,
			   "a directory of one level cannot become one of "
			   "another%s",
			   mv->to.put ? " (in .put every row exists, and mv "
					"moves into what exists)"
				      : "");
	if (mv->from.put || mv->to.put)
		return -EXDEV;
	if (check_empty(fs, &mv->from) || !mv->from.node)
		return -EXDEV;
	if (mv->to_exists)
		r = check_empty(fs, &mv->to);
	else
		r = mv->to.kind == NODE_FAMILY
			    ? cellfile_writable(fs, &mv->to, NULL)
			    : 0;
	if (r)
		return r;
	r = rename_entry(fs, mv, mv->to.kind, mv->to.ino, place_key(&mv->to));
	/* A cell was put since. */
	return r == -ENOENT ? -EXDEV : r;
}

static int move_told(struct fs *fs, const struct move *mv)
{
	int r;

	/* What it replaces may be opened until its node has lost the name. */
	changes_begin(&fs->changes, mv->to.row);
	if (place_is_dir(&mv->from))
		r = move_directory(fs, mv);
	else if (mv->to_exists && place_is_dir(&mv->to))
		r = -EISDIR;
	else
		r = move_file(fs, mv);
	changes_end(&fs->changes, mv->to.row);
	return r;
}

/*
 * While it renames, the kernel holds the locks of both directories, and of a
 * directory that moves. In .put no notice needs these. But one of a row's name
 * waits until the reply if a file leaves the directory that holds that name, and
 * so do those of names in a row that was staged.
 */
static bool can_hear(const struct move *mv)
{
	return mv->from_dir.put ||
	       (!place_is_dir(&mv->from) &&
		kind_of(mv->from_dir.kind)->holds != NODE_ROW);
}

static void tell_renamed(struct fs *fs, const struct move *mv)
{
	bool told = changed_entries_later(fs, mv->from_dir.node);

	if (mv->to_dir.node != mv->from_dir.node)
		told |= changed_entries_later(fs, mv->to_dir.node);
	if ((told || mv->to.put) && can_hear(mv))
		changed_wait(fs);
}

/* For how long the kernel may believe a name of the file of those attributes. */
static double belief_s(struct fs *fs, const struct place *p, struct stat st)
{
	double entry, attributes;

	if (p->kind == NODE_VERSION)
		st.st_mtim.tv_sec = p->ts / 1000;
	place_timeouts(fs, p, &st, &entry, &attributes);
	return entry;
}

/*
 * The kernel believes the new name for as long as it was to believe the old one.
 * But latest, and what is in .put, it is to look up each time: nobody tells that
 * they have gone. This notice waits until the rename is over, so nobody may wait
 * for it.
 */
static void disbelieve_name(struct fs *fs, const struct move *mv)
{
	struct place to = mv->to;

	if (place_is_dir(&mv->from))
		return;
	/* By its name alone it might be a directory, such as a table. */
	if (place_is_dir(&to))
		to.kind = NODE_SCRATCH;
	if (belief_s(fs, &mv->from, mv->from_st) >
	    belief_s(fs, &to, mv->from_st))
		invalidate_entry(fs->invalidator, mv->to_dir.node,
				 bytes_str(mv->to.name));
}

/*
 * Finds what the new name is: 1 if it is there, 0 or an error. A scratch file that
 * becomes a cell is put whether the cell exists or not, so the store is not asked;
 * but where the file is a version that was moved aside, it is.
 */
static int find_target(struct fs *fs, uint64_t parent, const char *name,
		       struct move *mv)
{
	struct cell was;
	struct stat st;

	if (mv->from.kind == NODE_SCRATCH && !mv->noreplace &&
	    moved_is(fs, mv->from.node, (struct bytes){0}, &was) == 0)
		return entry_find_named(fs, parent, name, &mv->to_dir, &mv->to);
	return entry_find(fs, parent, name, &mv->to_dir, &mv->to, &st);
}

static int do_rename(struct fs *fs, fuse_req_t req, uint64_t parent,
		     const char *name, uint64_t newparent, const char *newname,
		     unsigned flags)
{
	struct move mv = {.noreplace = flags & RENAME_NOREPLACE, .req = req};
	int r;

	if (flags & ~(unsigned)RENAME_NOREPLACE)
		return why(-EINVAL, "names can be moved, not exchanged");
	r = entry_find(fs, parent, name, &mv.from_dir, &mv.from, &mv.from_st);
	if (r <= 0) {
		r = r ? r : -ENOENT;
		goto out;
	}
	r = find_target(fs, newparent, newname, &mv);
	if (r < 0)
		goto out;
	mv.to_exists = r > 0;
	if (place_is(&mv.from, KIND_COMPUTED))
		r = place_computed(&mv.from);
	else if (place_is(&mv.to, KIND_COMPUTED))
		r = place_computed(&mv.to);
	else if (mv.to_exists && mv.noreplace)
		r = -EEXIST;
	else if (mv.from_dir.kind == NODE_SNAPSHOT_DIR ||
		 mv.to_dir.kind == NODE_SNAPSHOT_DIR ||
		 mv.from.kind == NODE_SNAPSHOT_DIR)
		r = move_snapshot(fs, &mv);
	else
		r = move_told(fs, &mv);
	if (r == 0) {
		tell_renamed(fs, &mv);
		disbelieve_name(fs, &mv);
	}
out:
	move_release(&mv);
	return r;
}

/*
 * When this is done the kernel gives both directories a new time by itself, so
 * that it need not be told of them meanwhile.
 */
static void believe_neither(struct fs *fs, uint64_t parent, uint64_t newparent)
{
	nodes_believe(fs->nodes, parent, false);
	nodes_believe(fs->nodes, newparent, false);
}

/* What another thread did not tell meanwhile is told now. */
static void tell_failed(struct fs *fs, uint64_t parent, uint64_t newparent)
{
	invalidate_inode(fs->invalidator, parent, false);
	if (newparent != parent)
		invalidate_inode(fs->invalidator, newparent, false);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
	       fuse_ino_t newparent, const char *newname, unsigned flags)
{
	struct fs *fs = fs_begin(req);
	int r;

	believe_neither(fs, parent, newparent);
	r = do_rename(fs, req, parent, name, newparent, newname, flags);
	if (r)
		tell_failed(fs, parent, newparent);
	fs_reply(req, "rename", parent, name, r);
}
