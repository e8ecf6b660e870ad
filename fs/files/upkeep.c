#include "fs/files/upkeep.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/files/moved.h"

/* A directory above a cell, as the overlay has it or would. */
struct link {
	uint64_t parent;
	struct overlay_entry e;
	struct bytes key; /* its place in the order of its parent */
	bool made;	  /* the node is new, and counted for the caller */
};

/* From the row's first component down to the column. */
struct chain {
	struct link *links;
	size_t count, cap;
};

struct upkeep_column upkeep_column(struct fs *fs, const struct place *p)
{
	return (struct upkeep_column){
		.table = p->table,
		.table_node = nodes_table(fs->nodes, p->parent),
		.row = p->row,
		.family = p->family,
		.qualifier = p->qualifier,
	};
}

static int kind_step(void *arg, const struct node_view *n)
{
	*(uint8_t *)arg = n->kind;
	return 1;
}

/*
 * The node of the link, found or with @make made. 1; 0 when it is not known,
 * or a scratch file bears the name; -ENOMEM, -ESTALE.
 */
static int link_node(struct fs *fs, struct link *l, bool make)
{
	struct bytes name = bytes_str(l->e.name);
	uint8_t kind = 0;
	int r;

	if (nodes_find(fs->nodes, l->parent, name, &l->e.node) > 0) {
		nodes_walk(fs->nodes, l->e.node, kind_step, &kind);
		return kind == l->e.kind;
	}
	if (!make)
		return 0;
	r = nodes_enter(fs->nodes, l->parent, name, l->e.kind, l->e.ino, NULL,
			&l->e.node);
	l->made = r == 0;
	return r < 0 ? r : 1;
}

/* Adds the components of @key, of that kind and those of its pieces. */
static int add_links(struct fs *fs, struct chain *c, struct bytes key,
		     uint8_t kind, uint8_t piece, bool make)
{
	struct name_part part;
	size_t pos = 0;
	int r;

	do {
		struct link *last, *l;

		if (c->count == c->cap) {
			size_t cap = c->cap ? 2 * c->cap : 4;

			l = reallocarray(c->links, cap, sizeof(*l));
			if (!l)
				return -ENOMEM;
			c->links = l;
			c->cap = cap;
		}
		last = &c->links[c->count - 1];
		l = &c->links[c->count];
		name_part(key, pos, &part);
		*l = (struct link){.parent = last->e.node,
				   .key = bytes_of(key.data, part.next),
				   .e.kind = part.more ? piece : kind};
		memcpy(l->e.name, part.text, part.len + 1);
		l->e.ino = place_child_ino(last->e.ino,
					   bytes_of(part.text, part.len));
		r = link_node(fs, l, make);
		if (r <= 0)
			return r;
		c->count++;
		pos = part.next;
	} while (part.more);
	return 1;
}

/*
 * The directories that the kernel knows, or with @make all. The first link is
 * the table. 1; 0 when one is not known; -ESTALE when one was just removed;
 * -ENOMEM, which costs a directory in a listing and no more.
 */
static int chain_of(struct fs *fs, const struct upkeep_column *at, bool make,
		    struct chain *out)
{
	int r;

	*out = (struct chain){.links = calloc(4, sizeof(struct link))};
	if (!out->links)
		return -ENOMEM;
	out->cap = 4;
	out->count = 1;
	out->links[0].e.node = at->table_node;
	out->links[0].e.ino = place_table_ino(at->table);
	r = add_links(fs, out, at->row, NODE_ROW, NODE_ROW_PIECE, make);
	if (r > 0)
		r = add_links(fs, out, at->family, NODE_FAMILY, NODE_FAMILY,
			      make);
	if (r > 0)
		r = add_links(fs, out, at->qualifier, NODE_COLUMN,
			      NODE_COLUMN_PIECE, make);
	return r;
}

static void chain_release(struct fs *fs, struct chain *c)
{
	for (size_t i = c->count; i-- > 0;)
		if (c->links[i].made)
			nodes_forget(fs->nodes, c->links[i].e.node, 1);
	free(c->links);
}

int upkeep_has_cells(struct fs *fs, const struct place *dir)
{
	struct place in_table = *dir;
	struct stat st;

	in_table.put = false;
	return place_stat(fs, &in_table, &st);
}

/*
 * Makes the table's node of a directory in .put, and those above it, entries
 * of the overlay where the store has no cell. *out is counted.
 */
static int make_counterpart(struct fs *fs, const struct place *dir,
			    uint64_t *out)
{
	struct overlay_entry e = {.kind = dir->kind, .ino = dir->ino};
	struct place above = {0};
	uint64_t parent = 0;
	int r;

	if (dir->kind == NODE_PUT) {
		*out = dir->parent;
		return 0;
	}
	r = place_of(fs, dir->parent, &above);
	if (r == 0)
		r = make_counterpart(fs, &above, &parent);
	if (r < 0)
		goto out;
	memcpy(e.name, dir->name, sizeof(e.name));
	r = nodes_enter(fs->nodes, parent, bytes_str(dir->name), dir->kind,
			dir->ino, NULL, &e.node);
	if (r < 0)
		goto forget;
	*out = e.node;
	r = upkeep_has_cells(fs, dir);
	if (r == 0)
		r = overlay_add(fs->overlay, parent, place_key(dir), &e);
	r = r < 0 && r != -EEXIST ? r : 0;
	if (r < 0)
		nodes_forget(fs->nodes, e.node, 1);
forget:
	if (above.kind != NODE_PUT)
		nodes_forget(fs->nodes, parent, 1);
out:
	place_release(&above);
	return r;
}

int upkeep_make_directory(struct fs *fs, const struct place *dir)
{
	uint64_t node;
	int r;

	if (!dir->put)
		return fs_overlay_add(fs, dir, place_key(dir));
	r = make_counterpart(fs, dir, &node);
	if (r < 0)
		return r;
	nodes_forget(fs->nodes, node, 1);
	fs_column_changed(fs, dir, -1);
	fs_wait_if_put(fs, dir);
	return 0;
}

int upkeep_remove_directory(struct fs *fs, const struct place *parent,
			    const struct place *dir)
{
	struct bytes name = bytes_str(dir->name);
	/* Scratch directories have one path only. */
	bool put = parent->put && dir->kind != NODE_SCRATCH_DIR;
	uint64_t above = put ? fs_dir_node(fs, parent) : parent->node;
	uint64_t node = dir->node;
	int r;

	if (put) {
		/* Scratch files lie beneath the directory's own node. */
		if (node && overlay_any(fs->overlay, node))
			return -ENOTEMPTY;
		node = 0;
		if (above)
			nodes_find(fs->nodes, above, name, &node);
	}
	r = above ? overlay_rmdir(fs->overlay, above, name, node) : 0;
	if (r == 0 && put)
		nodes_detach(fs->nodes, parent->node, name);
	if (r == 0 && put && above) {
		invalidate_entry(fs->invalidator, above, name);
		fs_wait_for_notices(fs);
	}
	return r;
}

int upkeep_has_rows(struct fstable *ft)
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

static bool link_has_cells(struct fs *fs, const struct link *l)
{
	struct place dir;
	bool has = place_of(fs, l->e.node, &dir) == 0 && dir.table &&
		   upkeep_has_cells(fs, &dir) > 0;

	place_release(&dir);
	return has;
}

/* See overlay.h for why nobody misses one of them. */
void upkeep_settle(struct fs *fs, const struct upkeep_column *at)
{
	uint64_t deletes = overlay_deletes(fs->overlay, at->row);
	struct chain chain;
	bool has = false;

	if (!overlay_count(fs->overlay))
		return;
	chain_of(fs, at, false, &chain);
	for (size_t i = chain.count; i-- > 1;) {
		struct link *l = &chain.links[i];
		struct bytes name = bytes_str(l->e.name);

		if (!overlay_find(fs->overlay, l->parent, name, NULL))
			continue;
		/* What is beneath a directory is beneath those above it. */
		has = has || link_has_cells(fs, l);
		if (has)
			overlay_settle(fs->overlay, l->parent, name, at->row,
				       deletes);
	}
	chain_release(fs, &chain);
}

void upkeep_fallen(struct fs *fs, const struct upkeep_column *at,
		   uint64_t column, upkeep_tell *tell)
{
	char name[NAME_TS_LEN_MAX + 1];
	struct family_attrs attrs;
	struct cell cell;
	uint64_t node;
	int64_t ts;
	size_t len;

	if (fstable_family(at->table, at->family, &attrs) > 0 &&
	    attrs.versions == UINT32_MAX)
		return;
	while (nodes_oldest(fs->nodes, column, &ts, &node) > 0 &&
	       table_get_version(fstable_table(at->table), at->row, at->family,
				 at->qualifier, ts, NULL, &cell, NULL) == 0) {
		/* Who looks from now on, before the kernel hears of it too,
		 * enters it again. */
		nodes_pass_over(fs->nodes, node);
		len = name_format_ts(ts, name);
		tell(fs->invalidator, column, bytes_of(name, len));
	}
}

void upkeep_filled(struct fs *fs, const struct place *p)
{
	struct upkeep_column at = upkeep_column(fs, p);
	uint64_t column;

	if (p->kind == NODE_VERSION)
		moved_written(fs, p);
	upkeep_settle(fs, &at);
	/* Who has looked before it learns now that this does not hold. */
	changes_row(&fs->changes, p->row);
	if (fs_column_node(fs, p, &column) > 0)
		upkeep_fallen(fs, &at, column, invalidate_entry);
	fs_tell_column(fs, p, column, -1);
}

/* F:Q~ is made and removed by editors, which look at no directory. */
static bool is_backup(struct bytes qualifier)
{
	return qualifier.len && qualifier.data[qualifier.len - 1] == '~';
}

/* 0, or -ESTALE when one was removed under it. */
static int keep_directories(struct fs *fs, const struct upkeep_column *at,
			    bool implied, uint64_t turn)
{
	struct chain chain;
	int r = chain_of(fs, at, !implied || !is_backup(at->qualifier), &chain);

	for (size_t i = 1; i < chain.count && r != -ESTALE; i++) {
		struct link *l = &chain.links[i];

		l->e.implied = implied && (l->e.kind == NODE_FAMILY ||
					   l->e.kind == NODE_COLUMN ||
					   l->e.kind == NODE_COLUMN_PIECE);
		l->e.added_by = turn;
		/* One that finds no room goes when it is empty. */
		r = overlay_add(fs->overlay, l->parent, l->key, &l->e);
	}
	chain_release(fs, &chain);
	return r == -ESTALE ? r : 0;
}

int upkeep_scan(const struct place *p, bool keys_only, struct scan **out)
{
	struct column_name column = {.family = p->family,
				     .qualifier = p->qualifier};
	struct scan_spec spec = {
		.granularity = SCAN_CELLS,
		.keys_only = keys_only,
		.row_start = p->row,
		.row_stop = p->row,
		.row_stop_inclusive = true,
		.columns = &column,
		.ncolumns = 1,
	};

	return scan_open(fstable_table(p->table), &spec, out);
}

/* Has the column of the version, or of latest, one more that is seen? */
static bool has_another(const struct place *p)
{
	struct scan *sc = NULL;
	struct cell cell;
	int others = p->kind == NODE_LATEST ? -1 : 0;

	if (upkeep_scan(p, true, &sc) < 0)
		return false;
	while (others < 1 && scan_next(sc, &cell) > 0)
		others += p->kind == NODE_LATEST || cell.ts != p->ts;
	scan_close(sc);
	return others == 1;
}

uint64_t upkeep_delete_begin(struct fs *fs, const struct place *p)
{
	struct upkeep_column at = upkeep_column(fs, p);
	uint64_t turn = overlay_delete_begin(fs->overlay, p->row);

	/* Another delete, which may take the rest, begins behind this one. */
	if (turn && p->kind != NODE_ALIAS && has_another(p))
		return turn;
	for (int tries = 0; tries < 10; tries++)
		if (keep_directories(fs, &at, p->kind == NODE_ALIAS, turn) == 0)
			break;
	return turn;
}

/* Nothing was deleted: no directory appears for it. */
static void retract(struct fs *fs, const struct upkeep_column *at,
		    uint64_t turn)
{
	struct chain chain;

	chain_of(fs, at, false, &chain);
	for (size_t i = chain.count; i-- > 1;)
		overlay_retract(fs->overlay, chain.links[i].parent,
				bytes_str(chain.links[i].e.name), at->row,
				turn);
	chain_release(fs, &chain);
}

void upkeep_delete_end(struct fs *fs, const struct place *p, uint64_t turn,
		       bool deleted, int64_t gone)
{
	struct upkeep_column at = upkeep_column(fs, p);
	struct why_kept kept;

	why_keep(&kept);
	overlay_delete_end(fs->overlay, p->row);
	upkeep_settle(fs, &at);
	if (deleted)
		fs_column_changed(fs, p, gone);
	else
		retract(fs, &at, turn);
	why_restore(&kept);
}
