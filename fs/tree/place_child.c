/*
 * What a name means in a directory: of which kind it is, and for a table the
 * table itself, opened.
 */
#include <errno.h>

#include "fs/tree/fixed.h"
#include "fs/tree/fs.h"
#include "fs/tree/place_inside.h"
#include "fs/tree/view.h"

static int held_step(void *arg, const struct node_view *n)
{
	if (n->table) {
		fstable_ref(n->table);
		*(struct fstable **)arg = n->table;
	}
	return 1;
}

struct fstable *place_held_table(struct fs *fs, uint64_t parent,
				 struct bytes name, uint64_t *node)
{
	struct fstable *held = NULL;

	if (nodes_find(fs->nodes, parent, name, node) > 0)
		nodes_walk(fs->nodes, *node, held_step, &held);
	return held;
}

/* It is spelled as a key, so that any name can be a file's. */
int place_snapshot_open(struct fs *fs, struct table *t, struct bytes name,
			struct snapshot **out)
{
	struct buf text = {0};
	int r = name_decode(name, &text);

	if (r == 0)
		r = store_snapshot_open(fs->store, t, buf_bytes(&text), out);
	buf_free(&text);
	return r;
}

/*
 * Opens what a snapshot shows: in T/.snapshot the table T, in .snapshot/NAME
 * the table @name. It replaces the directory's table, which place_copy() has
 * set.
 */
static int open_snapshot(struct fs *fs, const struct place *dir,
			 struct bytes name, struct place *out)
{
	bool whole = dir->kind == NODE_SNAPSHOT;
	uint64_t node;
	struct table *t = whole ? NULL : fstable_table(dir->table);
	struct snapshot *snap;
	int r;

	fstable_unref(out->table);
	/* In a shared store the name may be another snapshot's by now. */
	out->table = store_is_shared(fs->store)
			     ? NULL
			     : place_held_table(fs, dir->node, name, &node);
	if (out->table)
		return 0;
	r = place_snapshot_open(fs, t, whole ? bytes_str(dir->name) : name,
				&snap);
	if (r < 0)
		return r;
	if (!whole) {
		table_ref(t);
		return fstable_new_shown(t, snap, &out->table);
	}
	r = snapshot_table_open(snap, name, &t);
	if (r < 0) {
		snapshot_release(snap);
		return r;
	}
	/* Each table of it is read through one of its own. */
	snapshot_keep(snap, t);
	return fstable_new_shown(t, snap, &out->table);
}

static int open_table(struct fs *fs, struct bytes name, struct place *out)
{
	uint64_t node;
	struct fstable *held = place_held_table(fs, FUSE_ROOT_ID, name, &node);
	char now[TABLE_NAME_LEN_MAX + 1];
	struct table *t;
	int r;

	/* A program may have renamed the table. */
	if (held && table_name(fstable_table(held), now) == 0 &&
	    bytes_eq(bytes_str(now), name)) {
		out->table = held;
	} else {
		fstable_unref(held);
		r = table_open(fs->store, name, &t);
		if (r < 0)
			return r;
		r = fstable_new(t, &out->table);
		if (r < 0)
			return r;
	}
	out->ino = place_table_ino(out->table);
	return 0;
}

static int no_dot(struct bytes name, const char *what)
{
	return why(-EINVAL,
		   "%.*s: the name of %s does not begin with a dot (a key that "
		   "does is spelled %%2E...)",
		   (int)name.len, (const char *)name.data, what);
}

int child_any(const struct place *dir, struct bytes name)
{
	return place_holds(dir);
}

int child_key(const struct place *dir, struct bytes name)
{
	return name.data[0] == '.' ? NODE_SCRATCH : place_holds(dir);
}

int child_of_root(const struct place *dir, struct bytes name)
{
	if (name.data[0] == '.' || table_name_check(name) < 0)
		return NODE_SCRATCH;
	return NODE_TABLE;
}

int child_of_row(const struct place *dir, struct bytes name)
{
	if (name.data[0] == '.')
		return NODE_SCRATCH;
	if (!memchr(name.data, ':', name.len))
		return NODE_FAMILY;
	return dir->view && dir->view->raw ? NODE_SCRATCH : NODE_ALIAS;
}

int child_of_column(const struct place *dir, struct bytes name)
{
	uint64_t back;
	uint8_t word;
	int64_t ts;

	if (name_parse_ts(name, &ts))
		return NODE_VERSION;
	if (dir->view && dir->view->raw)
		return memchr(name.data, '.', name.len) ? NODE_MARKER
							: NODE_SCRATCH;
	word = fixed_kind(dir, name);
	if (word)
		return word;
	return place_parse_past(name, &ts, &back) ? NODE_PAST : NODE_SCRATCH;
}

int child_of_put(const struct place *dir, struct bytes name)
{
	return name.data[0] == '.' ? no_dot(name, "a row") : NODE_ROW;
}

int child_of_snapshots(const struct place *dir, struct bytes name)
{
	return name.data[0] == '.' ? no_dot(name, "a snapshot")
				   : place_holds(dir);
}

int child_of_snapshot(const struct place *dir, struct bytes name)
{
	return name.data[0] == '.' ? -ENOENT : NODE_TABLE;
}

/* The kind of a name in a directory, or an error. */
static int classify(const struct place *dir, struct bytes name)
{
	const struct kind *level = kind_of(place_level(dir));
	uint8_t word = name.data[0] == '.' ? fixed_kind(dir, name) : 0;

	if (word)
		return word;
	return level->child ? level->child(dir, name) : -ENOTDIR;
}

int place_child(struct fs *fs, const struct place *dir, struct bytes name,
		struct place *out)
{
	int kind, r;

	*out = (struct place){0};
	if (name.len > NAME_LEN_MAX)
		return place_too_long("name", name.len, NAME_LEN_MAX);
	if (name.len == 0)
		return why(-EINVAL, "an empty name");
	kind = classify(dir, name);
	if (kind < 0)
		return kind;
	r = place_copy(out, dir);
	if (r < 0)
		return r;
	out->node = 0;
	out->parent = dir->node;
	out->dir_ino = dir->ino;
	out->detached = false;
	/* A file in .put has the number that it has in the table. */
	out->ino = place_child_ino(
		dir->kind == NODE_PUT ? place_table_ino(dir->table) : dir->ino,
		name);
	r = place_descend(out, name, (uint8_t)kind, false);
	if (r == 0 && kind == NODE_TABLE)
		r = dir->kind == NODE_ROOT ? open_table(fs, name, out)
					   : open_snapshot(fs, dir, name, out);
	return r;
}
