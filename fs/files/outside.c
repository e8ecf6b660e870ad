#include "fs/files/outside.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/files/moved.h"
#include "fs/files/upkeep.h"
#include "fs/memory/writes.h"

static struct bytes text_of(const struct name_part *part)
{
	return bytes_of(part->text, part->len);
}

static void tell_name(struct fs *fs, uint64_t parent, struct bytes name)
{
	invalidate_entry_now(fs->invalidator, parent, name);
}

static int table_step(void *arg, const struct node_view *n)
{
	struct fstable **ft = arg;

	if (n->table) {
		fstable_ref(n->table);
		*ft = n->table;
	}
	return 1;
}

/* The table that the kernel knows by this name: a reference, or NULL. */
static struct fstable *known_table(struct fs *fs, struct bytes name,
				   uint64_t *node)
{
	struct fstable *ft = NULL;

	if (fs->root.kind == NODE_ROOT && name.len <= NAME_LEN_MAX &&
	    nodes_find(fs->nodes, FUSE_ROOT_ID, name, node) > 0)
		nodes_walk(fs->nodes, *node, table_step, &ft);
	return ft;
}

/* The same by the table: it is the root of a mount of a part, or in it. */
static struct fstable *known(struct fs *fs, struct table *t, uint64_t *node)
{
	struct fstable *ft = fs->root.table;
	char name[TABLE_NAME_LEN_MAX + 1];

	if (fs->root.kind == NODE_TABLE && !fstable_snapshot(ft)) {
		*node = FUSE_ROOT_ID;
		fstable_ref(ft);
	} else if (table_name(t, name) == 0) {
		ft = known_table(fs, bytes_str(name), node);
	} else {
		return NULL;
	}
	if (ft && fstable_id(ft) == table_id(t))
		return ft;
	fstable_unref(ft);
	return NULL;
}

enum going {
	GO,
	GO_TELLING, /* what is on the way may have gone */
};

/*
 * Goes from *at down the components of @key: 1 when the kernel knows all of
 * them, else 0 with @part the first that it does not.
 */
static int go(struct fs *fs, uint64_t *at, struct bytes key, enum going how,
	      struct name_part *part)
{
	size_t pos = 0;
	uint64_t node;

	do {
		name_part(key, pos, part);
		if (nodes_find(fs->nodes, *at, text_of(part), &node) == 0)
			return 0;
		if (how == GO_TELLING)
			tell_name(fs, *at, text_of(part));
		*at = node;
		pos = part->next;
	} while (part->more);
	return 1;
}

static int go_column(struct fs *fs, uint64_t row, const struct change *c,
		     enum going how, uint64_t *column)
{
	struct name_part part;

	*column = row;
	return go(fs, column, c->family, how, &part) &&
	       go(fs, column, c->qualifier, how, &part);
}

static bool writes_value(const struct change *c)
{
	return c->op == CHANGE_PUT || c->op == CHANGE_INCREMENT ||
	       c->op == CHANGE_APPEND;
}

static bool any_ttl(const struct mutation *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < rows[i].nchanges; k++)
			if (rows[i].changes[k].ttl_ms)
				return true;
	return false;
}

void outside_rows_before(struct fs *fs, struct table *t,
			 const struct mutation *rows, size_t n)
{
	uint64_t table;
	struct fstable *ft;

	if (!any_ttl(rows, n))
		return;
	ft = known(fs, t, &table);
	if (ft)
		fstable_has_cell_ttl(ft);
	fstable_unref(ft);
}

static void tell_version(struct fs *fs, uint64_t column, int64_t ts)
{
	char name[NAME_TS_LEN_MAX + 1];
	size_t len;

	if (ts < 0 || ts > TS_MAX)
		return;
	len = name_format_ts(ts, name);
	tell_name(fs, column, bytes_of(name, len));
}

/* A cell was put: the column has another time, a version other bytes. */
static void column_filled(struct fs *fs, const struct upkeep_column *at,
			  uint64_t row, const struct change *c)
{
	char name[NAME_TS_LEN_MAX + 1];
	uint64_t column, version;
	size_t len;

	upkeep_settle(fs, at);
	if (!go_column(fs, row, c, GO, &column))
		return;
	upkeep_fallen(fs, at, column, invalidate_entry_now);
	invalidate_inode_now(fs->invalidator, column, true);
	if (c->ts_given < 0 || c->ts_given > TS_MAX)
		return;
	len = name_format_ts(c->ts_given, name);
	if (nodes_find(fs->nodes, column, bytes_of(name, len), &version) > 0)
		invalidate_inode_now(fs->invalidator, version, true);
	else
		tell_name(fs, column, bytes_of(name, len));
}

static void column_emptied(struct fs *fs, struct table *t, uint64_t row,
			   struct bytes key, const struct change *c)
{
	struct name_part part;
	uint64_t column, family = row;
	struct cell cell;

	if (!go(fs, &family, c->family, GO, &part))
		return;
	if (table_has_family(t, key, c->family) == 0)
		tell_name(fs, row, text_of(&part));
	column = family;
	if (c->op != CHANGE_DELETE ||
	    table_get(t, key, c->family, c->qualifier, TS_MAX, NULL, &cell,
		      NULL) == 0) {
		go(fs, &column, c->qualifier, GO_TELLING, &part);
	} else if (go(fs, &column, c->qualifier, GO, &part)) {
		invalidate_inode_now(fs->invalidator, column, true);
		tell_version(fs, column, c->ts_given);
	}
}

/* @row: the row's node, which is named @name in @parent. */
static void row_changed(struct fs *fs, struct upkeep_column at, uint64_t parent,
			struct bytes name, uint64_t row,
			const struct mutation *m)
{
	struct table *t = fstable_table(at.table);

	for (size_t i = 0; i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];
		struct name_part part;
		uint64_t family = row;

		at.family = c->family;
		at.qualifier = c->qualifier;
		if (writes_value(c))
			column_filled(fs, &at, row, c);
		else if (c->op == CHANGE_DELETE_ROW)
			tell_name(fs, parent, name);
		else if (kind_is_family_marker(c->op))
			go(fs, &family, c->family, GO_TELLING, &part);
		else
			column_emptied(fs, t, row, m->row, c);
	}
}

static bool any_puts(const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++)
		if (writes_value(&m->changes[i]))
			return true;
	return false;
}

static void row_settled(struct fs *fs, struct fstable *ft, uint64_t table,
			const struct mutation *m)
{
	struct upkeep_column at = {
		.table_node = table, .table = ft, .row = m->row};
	struct name_part part;
	uint64_t row = table, parent, up;
	bool filled = any_puts(m);
	size_t pos = 0;

	if (!go(fs, &row, m->row, GO, &part)) {
		if (filled && fs_rows_believed_absent(fs))
			tell_name(fs, row, text_of(&part));
		return;
	}
	if (!filled && table_has_row(fstable_table(ft), m->row) == 0) {
		up = table;
		go(fs, &up, m->row, GO_TELLING, &part);
		return;
	}
	/* The last component's directory: the table, or a piece of the key. */
	parent = table;
	for (name_part(m->row, 0, &part); part.more;
	     name_part(m->row, pos, &part)) {
		if (nodes_find(fs->nodes, parent, text_of(&part), &parent) == 0)
			return;
		pos = part.next;
	}
	row_changed(fs, at, parent, text_of(&part), row, m);
}

void outside_rows(struct fs *fs, struct table *t, const struct mutation *rows,
		  size_t n)
{
	uint64_t table;
	struct fstable *ft;

	for (size_t i = 0; i < n; i++)
		changes_row(&fs->changes, rows[i].row);
	ft = known(fs, t, &table);
	for (size_t i = 0; ft && i < n; i++) {
		moved_row_changed(fs, ft, rows[i].row);
		row_settled(fs, ft, table, &rows[i]);
	}
	fstable_unref(ft);
}

void outside_table_made(struct fs *fs, struct bytes name)
{
	changes_all(&fs->changes);
	if (fs->root.kind == NODE_ROOT)
		tell_name(fs, FUSE_ROOT_ID, name);
}

static void forget_file(struct fs *fs, uint64_t node)
{
	moved_forget(fs, node);
	scratch_unname(fs->writes->scratch, node);
}

void outside_forget(struct fs *fs, uint64_t top)
{
	struct overlay_entry e;
	struct buf key = {0};
	struct node_place dir = {.id = top};
	uint64_t cursor = 0;

	do {
		while (overlay_next(fs->overlay, dir.id, NULL, &e, &key) > 0 &&
		       overlay_remove(fs->overlay, dir.id, bytes_str(e.name)))
			forget_file(fs, e.node);
	} while (overlay_count(fs->overlay) &&
		 nodes_below(fs->nodes, top, &cursor, &dir) > 0);
	nodes_below_end(fs->nodes, &cursor);
	buf_free(&key);
}

void outside_table_dropped(struct fs *fs, struct bytes name)
{
	uint64_t node;
	struct fstable *ft;

	changes_all(&fs->changes);
	ft = known_table(fs, name, &node);
	if (ft) {
		outside_forget(fs, node);
		nodes_detach(fs->nodes, FUSE_ROOT_ID, name);
	}
	fstable_unref(ft);
	outside_table_made(fs, name);
}

void outside_table_emptied(struct fs *fs, struct bytes name)
{
	struct node_place n;
	uint64_t cursor = 0;

	changes_all(&fs->changes);
	/* The root itself has no name: all beneath it is asked again. */
	if (fs->root.kind == NODE_TABLE)
		while (nodes_below(fs->nodes, FUSE_ROOT_ID, &cursor, &n) > 0)
			invalidate_inode_now(fs->invalidator, n.id, true);
	else
		outside_table_made(fs, name);
}

void outside_table_renamed(struct fs *fs, struct bytes from, struct bytes to)
{
	uint64_t node;
	struct fstable *ft;

	changes_all(&fs->changes);
	ft = known_table(fs, from, &node);
	if (ft)
		nodes_rename(fs->nodes, FUSE_ROOT_ID, from, FUSE_ROOT_ID, to,
			     NODE_TABLE, place_table_ino(ft));
	fstable_unref(ft);
	outside_table_made(fs, from);
	outside_table_made(fs, to);
}

void outside_table_altered(struct fs *fs, struct table *t, bool cells)
{
	char name[TABLE_NAME_LEN_MAX + 1];
	struct fstable *ft;
	uint64_t node;

	changes_all(&fs->changes);
	ft = known(fs, t, &node);
	if (!ft)
		return;
	fstable_unref(ft);
	fs_table_changed(fs, node);
	if (cells && table_name(t, name) == 0)
		outside_table_emptied(fs, bytes_str(name));
}

void outside_snapshot(struct fs *fs, struct table *t, struct bytes name,
		      bool gone)
{
	uint64_t dir = FUSE_ROOT_ID;
	struct name_part part;

	changes_all(&fs->changes);
	if (t) {
		struct fstable *ft = known(fs, t, &dir);

		if (!ft)
			return;
		fstable_unref(ft);
	} else if (fs->root.kind != NODE_ROOT) {
		return;
	}
	name_part(name, 0, &part);
	if (nodes_find(fs->nodes, dir, bytes_str(SNAPSHOT_DIR_NAME), &dir) == 0)
		return;
	if (gone)
		nodes_detach(fs->nodes, dir, text_of(&part));
	tell_name(fs, dir, text_of(&part));
}
