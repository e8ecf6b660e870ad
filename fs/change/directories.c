#include "fs/change/directories.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/array.h"

/* A directory above a cell, as the overlay has it or would. */
struct link {
	uint64_t parent;
	struct overlay_entry e;
	struct bytes key; /* its place in the order of its parent */
	bool held;	  /* the kernel cannot forget the node meanwhile */
};

/* From the row's first component down to the column. */
struct chain {
	struct link *links;
	size_t count, cap;
	uint64_t node, ino; /* of the last link; of the table at first */
};

/*
 * Holds the node of the link, found or with @make made. 1; 0 when it is not
 * known, or a scratch file bears the name; -ENOMEM, -ESTALE.
 */
static int link_node(struct fs *fs, struct link *l, bool make)
{
	struct bytes name = bytes_str(l->e.name);
	uint8_t kind;
	int r;

	l->held = nodes_hold(fs->nodes, l->parent, name, &l->e.node, &kind) > 0;
	if (l->held)
		return kind == l->e.kind;
	if (!make)
		return 0;
	r = nodes_enter(fs->nodes, l->parent, name, l->e.kind, l->e.ino, NULL,
			&l->e.node);
	l->held = r == 0;
	return r < 0 ? r : 1;
}

static void link_release(struct fs *fs, const struct link *l)
{
	if (l->held)
		nodes_forget(fs->nodes, l->e.node, 1);
}

/*
 * Adds the components of @key, of that kind and those of its pieces. @last,
 * which may be NULL, is the place that the last component is.
 */
static int add_links(struct fs *fs, struct chain *c, struct bytes key,
		     uint8_t kind, uint8_t piece, bool make,
		     const struct place *last)
{
	struct name_part part;
	size_t pos = 0;
	int r;

	do {
		struct link *l;

		if (ARRAY_RESERVE(c->links, c->cap, c->count + 1) < 0)
			return -ENOMEM;
		l = &c->links[c->count];
		name_part(key, pos, &part);
		*l = (struct link){.parent = c->node,
				   .key = bytes_of(key.data, part.next),
				   .e.kind = part.more ? piece : kind};
		memcpy(l->e.name, part.text, part.len + 1);
		/* The key of a piece alone does not say that it is one. */
		if (last && !part.more) {
			l->e.kind = last->kind;
			memcpy(l->e.name, last->name, sizeof(l->e.name));
		}
		l->e.ino = place_child_ino(c->ino, bytes_str(l->e.name));
		r = link_node(fs, l, make);
		if (r <= 0) {
			link_release(fs, l);
			return r;
		}
		c->node = l->e.node;
		c->ino = l->e.ino;
		c->count++;
		pos = part.next;
	} while (part.more);
	return 1;
}

/*
 * The directories that the kernel knows, or with @make all, down to the column
 * or to the directory @last. 1; 0 when one is not known; -ESTALE when one was
 * just removed; -ENOMEM, which costs a directory in a listing and no more.
 */
static int chain_of(const struct changer *w, struct bytes row,
		    const struct change *c, bool make, const struct place *last,
		    struct chain *out)
{
	uint8_t key = last ? kind_of(last->kind)->key : KEY_QUALIFIER;
	struct fs *fs = w->fs;
	int r;

	*out = (struct chain){.node = w->node,
			      .ino = place_table_ino(w->table)};
	r = add_links(fs, out, row, NODE_ROW, NODE_ROW_PIECE, make,
		      key == KEY_ROW ? last : NULL);
	if (r > 0 && key != KEY_ROW)
		r = add_links(fs, out, c->family, NODE_FAMILY, NODE_FAMILY,
			      make, NULL);
	if (r > 0 && key == KEY_QUALIFIER)
		r = add_links(fs, out, c->qualifier, NODE_COLUMN,
			      NODE_COLUMN_PIECE, make, last);
	return r;
}

static void chain_release(struct fs *fs, struct chain *c)
{
	for (size_t i = c->count; i-- > 0;)
		link_release(fs, &c->links[i]);
	free(c->links);
}

/* F:Q~ is made and removed by editors, which look at no directory. */
static bool is_backup(struct bytes qualifier)
{
	return qualifier.len && qualifier.data[qualifier.len - 1] == '~';
}

/*
 * Adds the directories to the overlay. Returns what overlay_add() does of the
 * last one, or -ESTALE when one was removed meanwhile.
 */
static int add(const struct changer *w, struct bytes row,
	       const struct change *c, uint64_t turn, const struct place *last)
{
	bool all = c->op == CHANGE_DELETE_COLUMN;
	struct chain chain;
	int r = chain_of(w, row, c, !all || !is_backup(c->qualifier), last,
			 &chain);

	for (size_t i = 0; i < chain.count && r != -ESTALE; i++) {
		struct link *l = &chain.links[i];

		/* After rm F:Q family and column go with the row's rmdir. */
		l->e.implied = all && l->e.kind != NODE_ROW &&
			       l->e.kind != NODE_ROW_PIECE;
		l->e.added_by = turn;
		r = overlay_add(w->fs->overlay, l->parent, l->key, &l->e);
	}
	chain_release(w->fs, &chain);
	return r;
}

void directories_keep(const struct changer *w, struct bytes row,
		      const struct change *c, uint64_t turn)
{
	/* One that finds no room goes when it is empty. */
	for (int tries = 0; tries < 10; tries++)
		if (add(w, row, c, turn, NULL) != -ESTALE)
			break;
}

void directories_retract(const struct changer *w, struct bytes row,
			 const struct change *c, uint64_t turn)
{
	struct chain chain;

	chain_of(w, row, c, false, NULL, &chain);
	for (size_t i = chain.count; i-- > 0;)
		overlay_retract(w->fs->overlay, chain.links[i].parent,
				bytes_str(chain.links[i].e.name), row, turn);
	chain_release(w->fs, &chain);
}

int directories_hold(struct fs *fs, const struct place *dir)
{
	struct place in_table = *dir;
	struct stat st;

	in_table.put = false;
	return place_stat(fs, &in_table, &st);
}

static bool link_holds(struct fs *fs, const struct link *l)
{
	struct place dir;
	bool has = place_of(fs, l->e.node, &dir) == 0 && dir.table &&
		   directories_hold(fs, &dir) > 0;

	place_release(&dir);
	return has;
}

/*
 * A directory in which something is in memory is added unless the store has it,
 * or before a delete in any case. A settle that asked the store before this
 * leaves the entry alone. Was it added?
 */
static bool stay(struct fs *fs, const struct place *dir, bool before)
{
	struct overlay *ov = fs->overlay;
	struct overlay_entry e = {
		.node = dir->node,
		.ino = dir->ino,
		.kind = dir->kind,
	};
	uint64_t deletes;

	memcpy(e.name, dir->name, sizeof(e.name));
	overlay_delete_begin(ov, dir->row);
	overlay_delete_end(ov, dir->row);
	deletes = overlay_deletes(ov, dir->row);
	if (!before && directories_hold(fs, dir) > 0) {
		overlay_settle(ov, dir->parent, bytes_str(e.name), dir->row,
			       deletes);
		return false;
	}
	e.implied = kind_of(dir->kind)->key != KEY_ROW &&
		    overlay_all_implied(ov, dir->node);
	return overlay_add(ov, dir->parent, place_key(dir), &e) == 0;
}

/* In a table, and not in its .put, where there are all names. */
static bool may_stay(const struct place *dir)
{
	return place_is(dir, KIND_MADE) && !dir->put && !dir->view &&
	       !dir->detached;
}

/*
 * Of the directory and those above it, as long as they are added: the kernel may
 * believe by now that they are absent.
 */
static void stay_up(struct fs *fs, uint64_t dir, bool before)
{
	struct place p;
	bool added = true;

	while (added) {
		added = place_of(fs, dir, &p) == 0 && may_stay(&p) &&
			stay(fs, &p, before);
		if (added) {
			changes_row(&fs->changes, p.row);
			invalidate_entry(fs->invalidator, p.parent,
					 bytes_str(p.name));
		}
		dir = p.parent;
		place_release(&p);
	}
}

void directories_stay_below(struct fs *fs, uint64_t top, bool before)
{
	struct node_place dir = {.id = top};
	uint64_t cursor = 0;

	if (!overlay_count(fs->overlay))
		return;
	do {
		if (overlay_any(fs->overlay, dir.id))
			stay_up(fs, dir.id, before);
	} while (nodes_below(fs->nodes, top, &cursor, &dir) > 0);
}

void directories_made_in(struct fs *fs, uint64_t dir)
{
	struct place p;

	/* A delete that is under way may not have found it. */
	if (place_of(fs, dir, &p) == 0 && may_stay(&p) &&
	    !overlay_find(fs->overlay, p.parent, bytes_str(p.name), NULL))
		stay_up(fs, dir, overlay_deleting(fs->overlay, p.row));
	place_release(&p);
}

void directories_settle(const struct changer *w, struct bytes row,
			const struct change *c)
{
	struct overlay *ov = w->fs->overlay;
	uint64_t deletes = overlay_deletes(ov, row);
	struct chain chain;
	bool has = false;

	chain_of(w, row, c, false, NULL, &chain);
	for (size_t i = chain.count; i-- > 0;) {
		struct link *l = &chain.links[i];
		struct bytes name = bytes_str(l->e.name);

		if (!overlay_find(ov, l->parent, name, NULL))
			continue;
		/* What is beneath a directory is beneath those above it. */
		has = has || link_holds(w->fs, l);
		if (has)
			overlay_settle(ov, l->parent, name, row, deletes);
	}
	chain_release(w->fs, &chain);
}

/* The table's directory of that path in .put, and those above it. */
static int make_in_put(struct fs *fs, const struct place *dir)
{
	struct changer w = changer_at(fs, dir);
	struct change c = {.family = dir->family, .qualifier = dir->qualifier};
	int r = add(&w, dir->row, &c, 0, dir);

	/* Of these the store has some. */
	directories_settle(&w, dir->row, &c);
	return r == -EEXIST ? 0 : r;
}

int directories_make(struct fs *fs, const struct place *dir)
{
	int r;

	if (!dir->put) {
		r = fs_overlay_add(fs, dir, place_key(dir));
		/* The kernel may not have heard yet that the parent is gone. */
		if (r == 0)
			directories_made_in(fs, dir->parent);
		return r;
	}
	r = make_in_put(fs, dir);
	if (r == 0)
		changed_directory(fs, dir);
	return r;
}

int directories_remove(struct fs *fs, const struct place *parent,
		       const struct place *dir)
{
	struct bytes name = bytes_str(dir->name);
	/* Scratch directories have one path only. */
	bool put = parent->put && dir->kind != NODE_SCRATCH_DIR;
	uint64_t above = fs_dir_node(fs, parent->node, put);
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
	if (r < 0)
		return r;
	if (put)
		nodes_detach(fs->nodes, parent->node, name);
	changed_directory(fs, dir);
	return 0;
}
