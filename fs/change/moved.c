#include "fs/change/moved.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <xxhash.h>

#include "fs/change/cellfile.h"
#include "fs/change/changed.h"
#include "fs/text/sorted.h"

struct version {
	struct sorted_node by_node; /* first: the one is cast to the other */
	struct sorted_node by_name; /* the coordinates */
	uint64_t node;		    /* the scratch file */
	struct place from;	    /* its parent is pinned */
	XXH128_hash_t value;
	uint64_t ttl_ms; /* its own */
};

struct moved {
	pthread_mutex_t lock;
	struct sorted nodes, names; /* lock: the same versions twice */
	_Atomic size_t count;	    /* to read without the lock */
};

#define by_name_version(n) \
	((struct version *)((char *)(n)-offsetof(struct version, by_name)))

struct moved *moved_new(void)
{
	struct moved *mv = calloc(1, sizeof(*mv));

	if (mv)
		pthread_mutex_init(&mv->lock, NULL);
	return mv;
}

/* Not in the lists, or not any more. */
static void version_free(struct version *v)
{
	sorted_node_release(&v->by_node);
	sorted_node_release(&v->by_name);
	place_release(&v->from);
	free(v);
}

/* REQUIRES: lock. */
static void take_out(struct moved *mv, struct version *v)
{
	sorted_remove(&mv->nodes, &v->by_node);
	sorted_remove(&mv->names, &v->by_name);
	mv->count = mv->nodes.count;
}

void moved_free(struct moved *mv)
{
	struct sorted_node *n;

	if (!mv)
		return;
	while ((n = sorted_any(&mv->nodes))) {
		struct version *v = (struct version *)n;

		take_out(mv, v);
		version_free(v);
	}
	pthread_mutex_destroy(&mv->lock);
	free(mv);
}

static struct bytes no_dir(void)
{
	return bytes_of(NULL, 0);
}

static int add_part(struct buf *out, struct bytes part)
{
	uint32_t len = (uint32_t)part.len;
	int r = buf_append(out, &len, sizeof(len));

	return r < 0 ? r : buf_append(out, part.data, part.len);
}

/* What the coordinates of all versions of a row begin with. */
static int row_of(const struct fstable *ft, struct bytes row, struct buf *out)
{
	uint64_t table = fstable_id(ft);
	int r = buf_append(out, &table, sizeof(table));

	return r < 0 ? r : add_part(out, row);
}

/* Appends what no other version has. */
static int coordinates(const struct fstable *ft, struct bytes row,
		       struct bytes family, struct bytes qualifier, int64_t ts,
		       struct buf *out)
{
	int r = row_of(ft, row, out);

	if (r == 0)
		r = add_part(out, family);
	if (r == 0)
		r = add_part(out, qualifier);
	return r < 0 ? r : buf_append(out, &ts, sizeof(ts));
}

static XXH128_hash_t hash_of(struct bytes value)
{
	return XXH3_128bits(value.len ? value.data : (void *)"", value.len);
}

static int version_new(uint64_t node, const struct place *from,
		       const struct cell *cell, struct version **out)
{
	struct version *v = calloc(1, sizeof(*v));
	struct buf name = {0};
	int r;

	if (!v)
		return -ENOMEM;
	v->node = node;
	v->value = hash_of(cell->value);
	v->ttl_ms = cell->ttl_ms;
	r = place_copy(&v->from, from);
	if (r == 0)
		r = coordinates(from->table, from->row, from->family,
				from->qualifier, from->ts, &name);
	if (r == 0)
		r = sorted_node_init(&v->by_node, no_dir(), node_key(&node));
	if (r == 0)
		r = sorted_node_init(&v->by_name, no_dir(), buf_bytes(&name));
	buf_free(&name);
	if (r < 0)
		version_free(v);
	else
		*out = v;
	return r;
}

/* The scratch file of the hidden version of these coordinates, or 0. */
static uint64_t find_node(struct moved *mv, const struct fstable *ft,
			  struct bytes row, struct bytes family,
			  struct bytes qualifier, int64_t ts)
{
	struct buf name = {0};
	struct sorted_node *n = NULL;
	uint64_t node = 0;

	if (coordinates(ft, row, family, qualifier, ts, &name) == 0) {
		pthread_mutex_lock(&mv->lock);
		n = sorted_find(&mv->names, no_dir(), buf_bytes(&name));
		if (n)
			node = by_name_version(n)->node;
		pthread_mutex_unlock(&mv->lock);
	}
	buf_free(&name);
	return node;
}

static uint64_t node_of(struct fs *fs, const struct place *p, int64_t ts)
{
	if (!fs->moved->count || !p->table || p->view ||
	    fstable_snapshot(p->table))
		return 0;
	return find_node(fs->moved, p->table, p->row, p->family, p->qualifier,
			 ts);
}

/* 1 and a copy; 0 when @node is no version's new name. */
static int find(struct fs *fs, uint64_t node, struct place *from,
		XXH128_hash_t *value, uint64_t *ttl_ms)
{
	struct moved *mv = fs->moved;
	struct version *v;
	int r = 0;

	*from = (struct place){0};
	if (!mv->count)
		return 0;
	pthread_mutex_lock(&mv->lock);
	v = (struct version *)sorted_find(&mv->nodes, no_dir(),
					  node_key(&node));
	if (v) {
		r = place_copy(from, &v->from);
		*value = v->value;
		*ttl_ms = v->ttl_ms;
	}
	pthread_mutex_unlock(&mv->lock);
	if (r < 0)
		place_release(from);
	return r < 0 ? r : v != NULL;
}

/*
 * What was written since it was read is no longer what was moved. What is not
 * seen any more, as newer ones have pushed it out, still is: moved_is().
 */
static void show_changed(struct fs *fs, uint64_t node)
{
	struct buf hold = {0};
	XXH128_hash_t hash;
	struct cell cell;
	struct place from;

	if (find(fs, node, &from, &hash, &cell.ttl_ms) <= 0)
		return;
	if (place_get(&from, &cell, &hold) > 0 &&
	    !XXH128_isEqual(hash, hash_of(cell.value)))
		moved_forget(fs, node);
	place_release(&from);
	buf_free(&hold);
}

int moved_add(struct fs *fs, uint64_t node, const struct place *from,
	      const struct cell *cell)
{
	struct moved *mv = fs->moved;
	struct version *v;
	int r = version_new(node, from, cell, &v);

	if (r < 0)
		return r;
	r = nodes_pin(fs->nodes, from->parent);
	if (r < 0) {
		version_free(v);
		return r;
	}
	/* What bore either key is of a name that is no more. */
	moved_forget(fs, node);
	moved_forget(fs, node_of(fs, from, from->ts));
	pthread_mutex_lock(&mv->lock);
	sorted_insert(&mv->nodes, &v->by_node);
	sorted_insert(&mv->names, &v->by_name);
	mv->count = mv->nodes.count;
	pthread_mutex_unlock(&mv->lock);
	show_changed(fs, node);
	changed_hidden(fs, from);
	return 0;
}

bool moved_hides(struct fs *fs, const struct place *p, int64_t ts)
{
	return node_of(fs, p, ts) != 0;
}

void moved_forget(struct fs *fs, uint64_t node)
{
	struct moved *mv = fs->moved;
	struct version *v;

	if (!mv->count)
		return;
	pthread_mutex_lock(&mv->lock);
	v = (struct version *)sorted_find(&mv->nodes, no_dir(),
					  node_key(&node));
	if (v)
		take_out(mv, v);
	pthread_mutex_unlock(&mv->lock);
	if (!v)
		return;
	nodes_unpin(fs->nodes, v->from.parent);
	version_free(v);
}

void moved_back(struct fs *fs, uint64_t node, const struct place *from)
{
	struct why_kept kept;

	why_keep(&kept);
	moved_forget(fs, node);
	changed_hidden(fs, from);
	why_restore(&kept);
}

int moved_is(struct fs *fs, uint64_t node, struct bytes content,
	     struct cell *was)
{
	XXH128_hash_t hash;
	struct place from;
	int r;

	*was = (struct cell){.value = content};
	r = find(fs, node, &from, &hash, &was->ttl_ms);
	was->ts = from.ts;
	if (r > 0 && !XXH128_isEqual(hash, hash_of(content)))
		was->ttl_ms = 0;
	place_release(&from);
	return r;
}

int moved_from(struct fs *fs, uint64_t node, struct place *from,
	       struct buf *hold, struct cell *cell)
{
	XXH128_hash_t hash;
	int r = find(fs, node, from, &hash, &cell->ttl_ms);

	if (r <= 0)
		return r;
	r = place_get(from, cell, hold);
	if (r > 0)
		r = XXH128_isEqual(hash, hash_of(cell->value));
	if (r <= 0)
		place_release(from);
	/* The table may have gone. */
	return r == -ENOENT ? 0 : r;
}

int moved_value(struct fs *fs, const struct place *p, struct buf *hold,
		struct bytes *value)
{
	uint64_t node = node_of(fs, p, p->ts);
	struct place from;
	struct cell cell;
	int r;

	if (!node)
		return 0;
	r = moved_from(fs, node, &from, hold, &cell);
	if (r > 0)
		*value = cell.value;
	place_release(&from);
	return r;
}

/* The node of the first version behind @at that begins with @part, or 0. */
static uint64_t next_of(struct moved *mv, struct bytes part, struct buf *at)
{
	struct sorted_node *n;
	uint64_t node = 0;

	pthread_mutex_lock(&mv->lock);
	n = sorted_next(&mv->names, no_dir(), true, buf_bytes(at));
	if (n && bytes_has_prefix(sorted_name(n), part) &&
	    buf_set(at, sorted_name(n)) == 0)
		node = by_name_version(n)->node;
	pthread_mutex_unlock(&mv->lock);
	return node;
}

void moved_changed(struct fs *fs, struct fstable *ft, const struct mutation *m)
{
	struct moved *mv = fs->moved;
	struct buf prefix = {0}, at = {0};
	uint64_t node;

	if (!mv->count)
		return;
	for (size_t i = 0; i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];

		if (op_writes(c->op))
			moved_forget(fs, find_node(mv, ft, m->row, c->family,
						   c->qualifier, c->ts_given));
	}
	if (row_of(ft, m->row, &prefix) == 0 &&
	    buf_set(&at, buf_bytes(&prefix)) == 0)
		while ((node = next_of(mv, buf_bytes(&prefix), &at)))
			show_changed(fs, node);
	buf_free(&prefix);
	buf_free(&at);
}

void moved_forget_table(struct fs *fs, const struct fstable *ft)
{
	uint64_t table = fstable_id(ft), node;
	struct buf at = {0};

	if (fs->moved->count && buf_set(&at, node_key(&table)) == 0)
		while ((node = next_of(fs->moved, node_key(&table), &at)))
			moved_forget(fs, node);
	buf_free(&at);
}

bool moved_holds(struct fs *fs, uint64_t node, struct bytes content)
{
	struct buf hold = {0};
	struct cell cell;
	struct place from;
	bool same = moved_from(fs, node, &from, &hold, &cell) > 0 &&
		    bytes_eq(cell.value, content);

	place_release(&from);
	buf_free(&hold);
	return same;
}

int moved_settle(struct fs *fs, uint64_t node)
{
	struct buf hold = {0};
	struct cell cell;
	struct place from;
	int r = moved_from(fs, node, &from, &hold, &cell);

	if (r > 0)
		r = cellfile_delete_same(fs, &from, cell.value);
	place_release(&from);
	buf_free(&hold);
	/* Or it is not as it was any more. */
	if (r == -ENOENT)
		r = 0;
	if (r == 0)
		moved_forget(fs, node);
	return r;
}

int moved_settle_column(struct fs *fs, const struct place *column)
{
	struct buf nodes = {0};
	struct scan *sc;
	struct cell cell;
	int r;

	if (!fs->moved->count)
		return 0;
	r = cellfile_versions(fstable_table(column->table), column->row,
			      column->family, column->qualifier, true, &sc);
	if (r < 0)
		return r;
	while ((r = scan_next(sc, &cell)) > 0) {
		uint64_t node = node_of(fs, column, cell.ts);

		if (!node)
			break;
		r = buf_append(&nodes, &node, sizeof(node));
		if (r < 0)
			break;
	}
	scan_close(sc);
	/* 1: a version that is seen. */
	for (size_t at = 0; r == 0 && at < nodes.len; at += sizeof(uint64_t)) {
		uint64_t node;

		memcpy(&node, nodes.data + at, sizeof(node));
		r = moved_settle(fs, node);
	}
	r = r > 0 ? 0 : r < 0 ? r : nodes.len > 0;
	buf_free(&nodes);
	return r;
}
