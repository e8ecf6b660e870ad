#include "fs/upkeep.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/moved.h"

/* The nodes from a directory up to the row's first component. */
struct chain {
	struct link {
		uint64_t parent;
		struct overlay_entry e;
	} * links;
	size_t count, cap;
};

/* Runs under the nodes' lock: copies and allocates, no more. */
static int add_link(void *arg, const struct node_view *n)
{
	struct chain *c = arg;
	struct link *l;

	if (n->kind == NODE_TABLE || n->kind == NODE_ROOT || n->detached)
		return 1;
	if (c->count == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 4;

		l = realloc(c->links, cap * sizeof(*l));
		if (!l)
			return -ENOMEM;
		c->links = l;
		c->cap = cap;
	}
	l = &c->links[c->count++];
	*l = (struct link){
		.parent = n->parent,
		.e = {.node = n->id, .ino = n->ino, .kind = n->kind}};
	memcpy(l->e.name, n->name.data, n->name.len);
	return 0;
}

/* A chain that memory cuts short costs a directory in a listing, no more. */
static void chain_of(struct fs *fs, uint64_t dir, struct chain *out)
{
	*out = (struct chain){0};
	(void)nodes_walk(fs->nodes, dir, add_link, out);
}

struct bytes upkeep_key(const struct place *dir)
{
	switch (dir->kind) {
	case NODE_ROW:
	case NODE_ROW_PIECE:
		return dir->row;
	case NODE_FAMILY:
		return dir->family;
	case NODE_COLUMN:
	case NODE_COLUMN_PIECE:
		return dir->qualifier;
	default:
		return bytes_str(dir->name);
	}
}

int upkeep_has_cells(struct fs *fs, const struct place *dir)
{
	struct stat st;

	return place_stat(fs, dir, &st);
}

/* Does the kernel hold a node for the column's directory? */
static bool column_is_known(struct fs *fs, const struct place *p)
{
	struct name_part part;
	uint64_t node;

	if (p->kind != NODE_ALIAS)
		return true;
	name_part(p->family, 0, &part);
	if (!nodes_find(fs->nodes, p->parent, bytes_of(part.text, part.len),
			&node))
		return false;
	name_part(p->qualifier, 0, &part);
	return nodes_find(fs->nodes, node, bytes_of(part.text, part.len),
			  &node) > 0;
}

int64_t upkeep_oldest(struct fstable *ft, struct bytes row, struct bytes family,
		      struct bytes qualifier)
{
	struct column_name column = {.family = family, .qualifier = qualifier};
	struct scan_spec spec = {
		.granularity = SCAN_CELLS,
		.keys_only = true,
		.row_start = row,
		.row_stop = row,
		.row_stop_inclusive = true,
		.columns = &column,
		.ncolumns = 1,
	};
	struct family_attrs attrs;
	struct scan *sc = NULL;
	struct cell cell;
	uint64_t seen = 0;
	int64_t oldest = -1;

	if (fstable_family(ft, family, &attrs) <= 0 || attrs.versions > 1000)
		return -1;
	if (scan_open(fstable_table(ft), &spec, &sc) < 0)
		return -1;
	while (scan_next(sc, &cell) > 0) {
		oldest = cell.ts;
		seen++;
	}
	scan_close(sc);
	return seen >= attrs.versions ? oldest : -1;
}

int64_t upkeep_falls_off(struct fs *fs, const struct place *p)
{
	return column_is_known(fs, p) ? upkeep_oldest(p->table, p->row,
						      p->family, p->qualifier)
				      : -1;
}

/* The directories F and F/Q that an alias filled without naming them. */
static void drop_below_row(struct fs *fs, const struct place *p, uint64_t row)
{
	struct overlay_entry family;
	struct name_part part;

	name_part(p->family, 0, &part);
	if (overlay_find(fs->overlay, row, bytes_of(part.text, part.len),
			 &family)) {
		overlay_remove(fs->overlay, row, bytes_of(part.text, part.len));
	} else if (!nodes_find(fs->nodes, row, bytes_of(part.text, part.len),
			       &family.node)) {
		return;
	}
	name_part(p->qualifier, 0, &part);
	overlay_remove(fs->overlay, family.node, bytes_of(part.text, part.len));
}

void upkeep_filled(struct fs *fs, const struct place *p, int64_t gone)
{
	struct chain chain;

	if (p->kind == NODE_VERSION)
		moved_written(fs, p);
	if (overlay_count(fs->overlay)) {
		if (p->kind == NODE_ALIAS)
			drop_below_row(fs, p, p->parent);
		chain_of(fs, p->parent, &chain);
		for (size_t i = 0; i < chain.count; i++)
			overlay_remove(fs->overlay, chain.links[i].parent,
				       bytes_str(chain.links[i].e.name));
		free(chain.links);
	}
	fs_column_changed(fs, p, gone);
}

void upkeep_emptied(struct fs *fs, const struct place *p, int64_t gone)
{
	struct chain chain;
	bool empty = true;

	chain_of(fs, p->parent, &chain);
	for (size_t i = 0; i < chain.count && empty; i++) {
		struct link *l = &chain.links[i];
		struct place place;

		if (!place_of(fs, l->e.node, &place) && place.table) {
			empty = upkeep_has_cells(fs, &place) == 0;
			if (empty)
				(void)overlay_add(fs->overlay, l->parent,
						  upkeep_key(&place), &l->e);
		}
		place_release(&place);
	}
	free(chain.links);
	fs_column_changed(fs, p, gone);
}
