#include "fs/change/directories.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/array.h"

/* How often others may be first. */
#define TRIES_MAX 10

/* A directory above a cell, as the overlay has it or would. */
struct link {
	uint64_t parent;
	struct overlay_entry e;
	struct bytes key; /* its place in the order of its parent */
	bool held;	  /* the kernel cannot forget the node meanwhile */
	bool added;
};

/* Mostly a row, a family and a column. */
#define LINKS_FEW 4

/* From the row's first component down to the column. */
struct chain {
	struct link *links; /* few, or memory of its own */
	size_t count, cap;
	uint64_t node, ino; /* of the last link; of the table at first */
	struct link few[LINKS_FEW];
};

/* Room for one link more. 0 or -ENOMEM. */
static int chain_grow(struct chain *c)
{
	struct link *more = NULL;
	size_t cap = 0;

	if (c->count < c->cap)
		return 0;
	if (c->links != c->few)
		return ARRAY_RESERVE(c->links, c->cap, c->count + 1);
	if (ARRAY_RESERVE(more, cap, c->count + 1) < 0)
		return -ENOMEM;
	memcpy(more, c->few, c->count * sizeof(*more));
	c->links = more;
	c->cap = cap;
	return 0;
}

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

		if (chain_grow(c) < 0)
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

	out->links = out->few;
	out->count = 0;
	out->cap = LINKS_FEW;
	out->node = w->node;
	out->ino = place_table_ino(w->table);
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
	if (c->links != c->few)
		free(c->links);
}

/* F:Q~ is made and removed by editors, which look at no directory. */
static bool is_backup(struct bytes qualifier)
{
	return qualifier.len && qualifier.data[qualifier.len - 1] == '~';
}

/*
 * Adds the directories to the overlay. Returns what overlay_add() does of the
 * last one, -ESTALE when one was removed meanwhile, or of @last -EEXIST when a
 * scratch file bears a name.
 */
static int add(const struct changer *w, struct bytes row,
	       const struct change *c, uint64_t turn, const struct place *last)
{
	bool all = c->op == CHANGE_DELETE_COLUMN;
	struct overlay *ov = w->fs->overlay;
	struct chain chain;
	int r = chain_of(w, row, c, !all || !is_backup(c->qualifier), last,
			 &chain);
	/* A directory is made with all that are missing above it, or not at all. */
	bool stop = r == -ESTALE || (last && r <= 0);

	if (last && r == 0)
		r = -EEXIST;
	/* What is beneath one that is not added has no path to be settled by. */
	for (size_t i = 0; i < chain.count && !stop; i++) {
		struct link *l = &chain.links[i];

		/* After rm F:Q family and column go with the row's rmdir. */
		l->e.implied = all && l->e.kind != NODE_ROW &&
			       l->e.kind != NODE_ROW_PIECE;
		l->e.added_by = turn;
		r = overlay_add(ov, l->parent, l->key, &l->e);
		l->added = r == 0;
		stop = r < 0 && r != -EEXIST;
	}
	for (size_t i = chain.count; last && stop && i-- > 0;) {
		const struct link *l = &chain.links[i];

		if (l->added)
			overlay_take_back(ov, l->parent, bytes_str(l->e.name));
	}
	chain_release(w->fs, &chain);
	return r;
}

void directories_keep(const struct changer *w, struct bytes row,
		      const struct change *c, uint64_t turn)
{
	/* One that finds no room goes when it is empty. */
	for (int tries = 0; tries < TRIES_MAX; tries++)
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

static bool piece_holds(struct fs *fs, const struct link *l)
{
	struct place dir;
	bool has = place_of(fs, l->e.node, &dir) == 0 && dir.table &&
		   directories_hold(fs, &dir) > 0;

	place_release(&dir);
	return has;
}

/* Has the store something in the directory of the chain of @row and @c? */
static bool link_holds(const struct changer *w, struct bytes row,
		       const struct change *c, const struct link *l)
{
	struct table *t = fstable_table(w->table);
	struct cell cell;

	switch (l->e.kind) {
	case NODE_COLUMN:
		return table_get(t, row, c->family, c->qualifier, TS_MAX, NULL,
				 &cell, NULL) > 0;
	case NODE_FAMILY:
		return table_has_family(t, row, c->family) > 0;
	case NODE_ROW:
		return table_has_row(t, row) > 0;
	}
	return piece_holds(w->fs, l);
}

/* May it be in memory? In .put there are all rows. */
static bool may_stay(const struct place *dir)
{
	return place_is(dir, KIND_MADE) && !dir->view && !dir->detached &&
	       !(dir->put && kind_of(dir->kind)->key == KEY_ROW);
}

/* Unless @held, the store is asked. */
static bool is_held(struct fs *fs, const struct place *dir, bool *held)
{
	*held = *held || directories_hold(fs, dir) > 0;
	return *held;
}

/* @held: the store has a directory beneath it. */
static int stay(struct fs *fs, const struct place *dir, bool *held)
{
	struct overlay_entry e = {
		.node = dir->node,
		.ino = dir->ino,
		.kind = dir->kind,
	};
	int r;

	if (overlay_find(fs->overlay, dir->parent, bytes_str(dir->name), NULL))
		return 0;
	memcpy(e.name, dir->name, sizeof(e.name));
	r = overlay_add(fs->overlay, dir->parent, place_key(dir), &e);
	/* It has just gone: the kernel may believe by now that it is absent. */
	if (r == 0 && !is_held(fs, dir, held)) {
		changes_row(&fs->changes, dir->row);
		invalidate_entry(fs->invalidator, dir->parent,
				 bytes_str(dir->name));
	}
	return r == -EEXIST ? 0 : r;
}

int directories_keep_path(struct fs *fs, uint64_t dir)
{
	bool held = false, more = true;
	struct place p;
	int r = 0;

	while (more && r == 0) {
		more = place_of(fs, dir, &p) == 0 && may_stay(&p);
		if (more)
			r = stay(fs, &p, &held);
		dir = p.parent;
		place_release(&p);
	}
	return r;
}

/* A directory of .put is one of the table as well, or in .put alone. */
static bool is_elsewhere(struct fs *fs, const struct place *dir, bool *held)
{
	return is_held(fs, dir, held) ||
	       (dir->put &&
		overlay_find(fs->overlay, fs_dir_node(fs, dir->parent, true),
			     bytes_str(dir->name), NULL));
}

/* overlay_deletes() of @row was @deletes before the store was asked. */
static bool leave(struct fs *fs, const struct place *dir, struct bytes row,
		  uint64_t deletes, bool *held)
{
	struct overlay *ov = fs->overlay;
	struct bytes name = bytes_str(dir->name);

	if (overlay_any(ov, dir->node) ||
	    !overlay_find(ov, dir->parent, name, NULL) ||
	    !is_elsewhere(fs, dir, held))
		return false;
	(void)overlay_settle(ov, dir->parent, name, row, deletes);
	return true;
}

void directories_entry_gone(struct fs *fs, uint64_t dir)
{
	bool held = false, more;
	struct place first, p;
	struct why_kept kept;
	uint64_t deletes;

	why_keep(&kept);
	more = place_of(fs, dir, &first) == 0;
	deletes = overlay_deletes(fs->overlay, first.row);
	more = more && may_stay(&first) &&
	       leave(fs, &first, first.row, deletes, &held);
	dir = first.parent;
	while (more) {
		more = place_of(fs, dir, &p) == 0 && may_stay(&p) &&
		       leave(fs, &p, first.row, deletes, &held);
		dir = p.parent;
		place_release(&p);
	}
	place_release(&first);
	/* Some call it to clean up, and have a reason already. */
	why_restore(&kept);
}

/*
 * Does with a late entry of @dir what overlay_settle() left to the end of a listing;
 * or removes it, if the store has the directory no more.
 */
static void settle_late(struct fs *fs, uint64_t dir,
			const struct overlay_entry *e)
{
	struct overlay *ov = fs->overlay;
	struct bytes name = bytes_str(e->name);
	struct place p;
	uint64_t deletes;
	int held;

	if (place_of(fs, e->node, &p) == 0 && p.table) {
		deletes = overlay_deletes(ov, p.row);
		held = directories_hold(fs, &p);
		if (held > 0) {
			(void)overlay_settle(ov, dir, name, p.row, deletes);
		} else if (held == 0 &&
			   overlay_drop_late(ov, dir, name, p.row, deletes)) {
			changed_directory(fs, &p);
			invalidate_entry(fs->invalidator, dir, name);
		}
	}
	place_release(&p);
}

void directories_settle_late(struct fs *fs, uint64_t dir)
{
	struct overlay_entry e;
	struct bytes after;
	struct buf key = {0};
	struct why_kept kept;
	int r;

	if (!overlay_has_late(fs->overlay, dir))
		return;
	why_keep(&kept);
	r = overlay_next(fs->overlay, dir, NULL, &e, &key);
	while (r > 0) {
		if (e.late)
			settle_late(fs, dir, &e);
		after = buf_bytes(&key);
		r = overlay_next(fs->overlay, dir, &after, &e, &key);
	}
	buf_free(&key);
	why_restore(&kept);
}

static int say_no_room(void)
{
	return why(-ENOSPC, "too many empty directories and scratch files: "
			    "remove some");
}

int directories_add(struct fs *fs, uint64_t parent, struct bytes key,
		    const struct overlay_entry *e)
{
	int r = overlay_add(fs->overlay, parent, key, e);

	if (!r) {
		r = directories_keep_path(fs, parent);
		if (r) {
			overlay_take_back(fs->overlay, parent,
					  bytes_str(e->name));
			directories_entry_gone(fs, parent);
		}
	}
	return r == -ENOSPC ? say_no_room() : r;
}

/* Is nothing of the row in memory? What is there has its path there. */
static bool row_is_absent(const struct changer *w, struct bytes row)
{
	struct name_part part;

	name_part(row, 0, &part);
	return !overlay_find(w->fs->overlay, w->node,
			     bytes_of(part.text, part.len), NULL);
}

/*
 * @has: the store has a cell in the column since overlay_deletes() was @deletes. False:
 * a delete has begun and ended meanwhile.
 */
static bool settle(const struct changer *w, struct bytes row,
		   const struct change *c, bool has, uint64_t deletes)
{
	struct overlay *ov = w->fs->overlay;
	struct chain chain;
	bool asked = true;

	chain_of(w, row, c, false, NULL, &chain);
	for (size_t i = chain.count; asked && i-- > 0;) {
		struct link *l = &chain.links[i];
		struct bytes name = bytes_str(l->e.name);

		if (!overlay_find(ov, l->parent, name, NULL))
			continue;
		/* It stays for what is in it, as do those above it. */
		if (overlay_any(ov, l->e.node))
			break;
		/*
		 * What is beneath a directory is beneath those above it, and one
		 * that stays has them stay.
		 */
		has = has || link_holds(w, row, c, l);
		if (!has)
			break;
		asked = overlay_settle(ov, l->parent, name, row, deletes);
	}
	chain_release(w->fs, &chain);
	return asked;
}

void directories_settle(const struct changer *w, struct bytes row,
			const struct change *c, bool there)
{
	if (row_is_absent(w, row) ||
	    (there && settle(w, row, c, true, w->deletes)))
		return;
	for (int tries = 0; tries < TRIES_MAX; tries++)
		if (settle(w, row, c, false,
			   overlay_deletes(w->fs->overlay, row)))
			break;
}

/* The table's directory of that path in .put, and those above it. */
static int make_in_put(struct fs *fs, const struct place *dir)
{
	struct changer w = changer_at(fs, dir);
	struct change c = {.family = dir->family, .qualifier = dir->qualifier};
	int r = add(&w, dir->row, &c, 0, dir);

	if (r == -ENOSPC)
		return say_no_room();
	if (r == 0)
		changed_directory(fs, dir);
	return r;
}

int directories_make(struct fs *fs, const struct place *dir)
{
	struct overlay_entry e = {
		.node = dir->node,
		.ino = dir->ino,
		.kind = dir->kind,
	};

	if (dir->put && !place_is(dir, KIND_SCRATCH))
		return make_in_put(fs, dir);
	memcpy(e.name, dir->name, sizeof(e.name));
	return directories_add(fs, dir->parent, place_key(dir), &e);
}

int directories_remove(struct fs *fs, const struct place *parent,
		       const struct place *dir)
{
	struct overlay *ov = fs->overlay;
	struct bytes name = bytes_str(dir->name);
	/* Scratch directories have one path only. */
	bool put = parent->put && dir->kind != NODE_SCRATCH_DIR;
	uint64_t above = fs_dir_node(fs, parent->node, put);
	uint64_t node = dir->node;
	int r = 0;

	if (put) {
		/* Scratch files lie beneath the directory's own node. */
		if (node && !overlay_all_implied(ov, node))
			return -ENOTEMPTY;
		node = 0;
		if (above)
			nodes_find(fs->nodes, above, name, &node);
	}
	if (above)
		r = overlay_rmdir(ov, above, name, node);
	if (r == 0 && put)
		r = overlay_rmdir(ov, parent->node, name, dir->node);
	if (r < 0)
		return r;
	directories_entry_gone(fs, above);
	if (put)
		directories_entry_gone(fs, parent->node);
	changed_directory(fs, dir);
	return 0;
}
