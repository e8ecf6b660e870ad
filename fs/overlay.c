#include "fs/overlay.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fs/sorted.h"

#define BYTES_MAX (256u << 20)
/* A pinned node, and what the allocator adds to five pieces. */
#define ENTRY_COST (sizeof(struct entry) + 128 + 5 * 16)

struct entry {
	struct sorted_node by_name; /* parent, name */
	struct sorted_node by_key;  /* parent, order_of(key, name) */
	uint64_t parent, node, ino;
	uint8_t kind;
	uint32_t key_len;
	uint8_t *key;
};

struct overlay {
	struct nodes *nodes;
	pthread_mutex_t lock;
	struct sorted names, keys; /* lock: the same entries twice */
	size_t bytes;		   /* lock */
	_Atomic size_t count;	   /* to read without the lock */
};

#define by_name_entry(n) \
	((struct entry *)((char *)(n)-offsetof(struct entry, by_name)))
#define by_key_entry(n) \
	((struct entry *)((char *)(n)-offsetof(struct entry, by_key)))

int overlay_new(struct nodes *nodes, struct overlay **out)
{
	struct overlay *ov = calloc(1, sizeof(*ov));

	if (!ov)
		return -ENOMEM;
	ov->nodes = nodes;
	pthread_mutex_init(&ov->lock, NULL);
	*out = ov;
	return 0;
}

static struct bytes dir_of(const uint64_t *parent)
{
	return bytes_of(parent, sizeof(*parent));
}

/*
 * The order within a parent is that of the keys, but two names may have one
 * key: a piece and the row whose whole key it is. So a name stands behind the
 * key, and 00 01 between them, with 00 FF for a 00 in the key: that keeps
 * the order of the keys. With @past, what sorts behind all names of the key.
 */
static int order_of(struct bytes key, struct bytes name, bool past,
		    struct buf *out)
{
	int err = 0;

	for (size_t i = 0; i < key.len && !err; i++) {
		err = buf_append(out, key.data + i, 1);
		if (!err && !key.data[i])
			err = buf_append(out, "\xff", 1);
	}
	if (!err)
		err = buf_append(out, past ? "\0\2" : "\0\1", 2);
	return err ? err : buf_append(out, name.data, name.len);
}

static size_t cost_of(const struct entry *en)
{
	return ENTRY_COST + 2 * (size_t)en->key_len +
	       2 * (size_t)en->by_name.name_len;
}

static void entry_free(struct entry *en)
{
	if (!en)
		return;
	sorted_node_release(&en->by_name);
	sorted_node_release(&en->by_key);
	free(en->key);
	free(en);
}

static int entry_new(uint64_t parent, struct bytes key,
		     const struct overlay_entry *e, struct entry **out)
{
	struct bytes name = bytes_str(e->name);
	struct entry *en = calloc(1, sizeof(*en));
	struct buf order = {0};
	int err = -ENOMEM;

	if (!en)
		return err;
	en->parent = parent;
	en->node = e->node;
	en->ino = e->ino;
	en->kind = e->kind;
	en->key = malloc(key.len + 1);
	if (!en->key)
		goto fail;
	if (key.len)
		memcpy(en->key, key.data, key.len);
	en->key_len = (uint32_t)key.len;
	/* Behind the key that ends with the piece, before all it holds. */
	if (e->kind == NODE_ROW_PIECE || e->kind == NODE_COLUMN_PIECE)
		en->key[en->key_len++] = 0;
	err = order_of(bytes_of(en->key, en->key_len), name, false, &order);
	if (!err)
		err = sorted_node_init(&en->by_name, dir_of(&parent), name);
	if (!err)
		err = sorted_node_init(&en->by_key, dir_of(&parent),
				       buf_bytes(&order));
	if (err)
		goto fail;
	buf_free(&order);
	*out = en;
	return 0;
fail:
	buf_free(&order);
	entry_free(en);
	return err;
}

/* REQUIRES: lock. */
static void take_out(struct overlay *ov, struct entry *en)
{
	sorted_remove(&ov->names, &en->by_name);
	sorted_remove(&ov->keys, &en->by_key);
	ov->count = ov->names.count;
	ov->bytes -= cost_of(en);
	nodes_unpin(ov->nodes, en->node);
	nodes_unpin(ov->nodes, en->parent);
	entry_free(en);
}

void overlay_free(struct overlay *ov)
{
	struct sorted_node *n;

	if (!ov)
		return;
	while ((n = sorted_any(&ov->names)))
		take_out(ov, by_name_entry(n));
	pthread_mutex_destroy(&ov->lock);
	free(ov);
}

static void show(const struct entry *en, struct overlay_entry *out)
{
	struct bytes name = sorted_name(&en->by_name);

	*out = (struct overlay_entry){
		.node = en->node, .ino = en->ino, .kind = en->kind};
	memcpy(out->name, name.data, name.len);
}

int overlay_find(struct overlay *ov, uint64_t parent, struct bytes name,
		 struct overlay_entry *out)
{
	struct sorted_node *n;

	if (!ov->count)
		return 0;
	pthread_mutex_lock(&ov->lock);
	n = sorted_find(&ov->names, dir_of(&parent), name);
	if (n && out)
		show(by_name_entry(n), out);
	pthread_mutex_unlock(&ov->lock);
	return n != NULL;
}

bool overlay_any(struct overlay *ov, uint64_t parent)
{
	bool any;

	if (!ov->count)
		return false;
	pthread_mutex_lock(&ov->lock);
	any = sorted_next(&ov->names, dir_of(&parent), false,
			  bytes_of(NULL, 0)) != NULL;
	pthread_mutex_unlock(&ov->lock);
	return any;
}

int overlay_next(struct overlay *ov, uint64_t parent, const struct bytes *after,
		 struct overlay_entry *out, struct buf *key)
{
	struct buf order = {0};
	struct sorted_node *n;
	int r = 0;

	if (!ov->count)
		return 0;
	if (after)
		r = order_of(*after, bytes_of(NULL, 0), true, &order);
	if (r)
		goto out;
	pthread_mutex_lock(&ov->lock);
	n = sorted_next(&ov->keys, dir_of(&parent), after != NULL,
			buf_bytes(&order));
	if (n) {
		struct entry *en = by_key_entry(n);

		/* @after may lie in @key: it is not looked at any more. */
		key->len = 0;
		r = buf_append(key, en->key, en->key_len);
		show(en, out);
		r = r ? r : 1;
	}
	pthread_mutex_unlock(&ov->lock);
out:
	buf_free(&order);
	return r;
}

/* REQUIRES: lock. */
static int add_locked(struct overlay *ov, struct entry *en)
{
	size_t cost = cost_of(en);
	int err;

	if (sorted_find(&ov->names, dir_of(&en->parent),
			sorted_name(&en->by_name)))
		return -EEXIST;
	if (cost > BYTES_MAX - ov->bytes)
		return -ENOSPC;
	err = nodes_pin(ov->nodes, en->parent);
	if (err)
		return err;
	err = nodes_pin(ov->nodes, en->node);
	if (err) {
		nodes_unpin(ov->nodes, en->parent);
		return err;
	}
	sorted_insert(&ov->names, &en->by_name);
	sorted_insert(&ov->keys, &en->by_key);
	ov->count = ov->names.count;
	ov->bytes += cost;
	return 0;
}

int overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		const struct overlay_entry *e)
{
	struct entry *en = NULL;
	int err = entry_new(parent, key, e, &en);

	if (err)
		return err;
	pthread_mutex_lock(&ov->lock);
	err = add_locked(ov, en);
	pthread_mutex_unlock(&ov->lock);
	if (err)
		entry_free(en);
	return err;
}

int overlay_add_place(struct overlay *ov, const struct place *child,
		      struct bytes key)
{
	struct overlay_entry e = {
		.node = child->node,
		.ino = child->ino,
		.kind = child->kind,
	};

	memcpy(e.name, child->name, sizeof(e.name));
	return overlay_add(ov, child->parent, key, &e);
}

bool overlay_remove(struct overlay *ov, uint64_t parent, struct bytes name)
{
	struct sorted_node *n;

	if (!ov->count)
		return false;
	pthread_mutex_lock(&ov->lock);
	n = sorted_find(&ov->names, dir_of(&parent), name);
	if (n)
		take_out(ov, by_name_entry(n));
	pthread_mutex_unlock(&ov->lock);
	return n != NULL;
}

uint64_t overlay_count(struct overlay *ov)
{
	return ov->count;
}
