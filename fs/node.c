#include "fs/node.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <xxhash.h>

#include "fs/fstable.h"

#define ROOT_ID 1
#define NAME_INLINE 55

struct node {
	uint64_t nlookup;
	uint64_t ino;
	struct fstable *table;
	uint32_t generation; /* 0 = free */
	uint32_t parent;     /* index */
	uint32_t next;	     /* index in the hash chain, or of the free list */
	uint32_t hash;
	uint32_t child;	       /* the newest, attached or not; 0 = none */
	uint32_t older, newer; /* of the same parent */
	uint32_t pins;
	uint8_t kind;
	uint8_t name_len;
	bool detached;
	bool on_heap;
	union {
		char text[NAME_INLINE + 1];
		char *heap;
	} name;
};
_Static_assert(sizeof(struct node) <= 128, "a node is at most 128 bytes");

/*
 * Nodes come from chunks: index / CHUNK_NODES is the chunk. Room is taken in
 * the lowest chunk that has some, so that the high ones empty and go back.
 */
#define CHUNK_NODES 1024
#define CHUNKS_MAX (1u << 22)

struct chunk {
	struct node *nodes; /* NULL = not there */
	uint32_t used;
	uint32_t free; /* first free node's offset + 1, 0 = none */
};

struct nodes {
	pthread_mutex_t lock; /* guards all below */
	struct chunk *chunks;
	uint32_t nchunks, chunks_cap;
	uint32_t lowest; /* no chunk below has room */
	uint32_t *heads; /* hash: index of the first node, 0 = none */
	uint32_t heads_mask;
	uint64_t live, pinned;
	uint32_t generation; /* of the next node */
};

static struct node *node_at(const struct nodes *ns, uint32_t index)
{
	return &ns->chunks[index / CHUNK_NODES].nodes[index % CHUNK_NODES];
}

/* The node of an id that came from outside, or NULL. */
static struct node *node_of(const struct nodes *ns, uint64_t id,
			    uint32_t *index)
{
	uint32_t i = (uint32_t)id, generation = (uint32_t)(id >> 32);
	struct node *n;

	if (id == ROOT_ID)
		generation = node_at(ns, ROOT_ID)->generation;
	if (i / CHUNK_NODES >= ns->nchunks ||
	    !ns->chunks[i / CHUNK_NODES].nodes)
		return NULL;
	n = node_at(ns, i);
	if (n->generation == 0 || n->generation != generation)
		return NULL;
	*index = i;
	return n;
}

static uint64_t id_of(const struct node *n, uint32_t index)
{
	if (index == ROOT_ID)
		return ROOT_ID;
	return (uint64_t)n->generation << 32 | index;
}

static struct bytes name_of(const struct node *n)
{
	return bytes_of(n->on_heap ? n->name.heap : n->name.text, n->name_len);
}

/* -- room for nodes ----------------------------------------------------- */

static int chunk_fill(struct nodes *ns, uint32_t c)
{
	size_t size = CHUNK_NODES * sizeof(struct node);
	struct chunk *chunk = &ns->chunks[c];
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	*chunk = (struct chunk){.nodes = p, .free = 1};
	for (uint32_t i = 0; i < CHUNK_NODES; i++)
		chunk->nodes[i].next = i + 1 < CHUNK_NODES ? i + 2 : 0;
	return 0;
}

static int chunk_with_room(struct nodes *ns, uint32_t *out)
{
	uint32_t c = ns->lowest;

	while (c < ns->nchunks && ns->chunks[c].nodes && !ns->chunks[c].free)
		c++;
	if (c == ns->nchunks) {
		if (c == CHUNKS_MAX)
			return -ENOMEM;
		if (c == ns->chunks_cap) {
			uint32_t cap = c ? c * 2 : 16;
			struct chunk *p = realloc(ns->chunks, cap * sizeof(*p));

			if (!p)
				return -ENOMEM;
			ns->chunks = p;
			ns->chunks_cap = cap;
		}
		ns->chunks[c] = (struct chunk){0};
		ns->nchunks++;
	}
	if (!ns->chunks[c].nodes && chunk_fill(ns, c) < 0)
		return -ENOMEM;
	ns->lowest = c;
	*out = c;
	return 0;
}

static struct node *node_alloc(struct nodes *ns, uint32_t *index)
{
	struct chunk *chunk;
	struct node *n;
	uint32_t c, i;

	if (chunk_with_room(ns, &c) < 0)
		return NULL;
	chunk = &ns->chunks[c];
	i = chunk->free - 1;
	n = &chunk->nodes[i];
	chunk->free = n->next;
	chunk->used++;
	*n = (struct node){.generation = ns->generation};
	if (++ns->generation == 0)
		ns->generation = 1;
	ns->live++;
	*index = c * CHUNK_NODES + i;
	return n;
}

static void name_free(struct node *n)
{
	if (n->on_heap)
		free(n->name.heap);
	n->on_heap = false;
}

static void node_release(struct nodes *ns, uint32_t index)
{
	uint32_t c = index / CHUNK_NODES;
	struct chunk *chunk = &ns->chunks[c];
	struct node *n = node_at(ns, index);

	name_free(n);
	*n = (struct node){.next = chunk->free};
	chunk->free = index % CHUNK_NODES + 1;
	chunk->used--;
	ns->live--;
	if (c < ns->lowest)
		ns->lowest = c;
	if (chunk->used == 0) {
		munmap(chunk->nodes, CHUNK_NODES * sizeof(struct node));
		*chunk = (struct chunk){0};
	}
}

/* -- the hash ----------------------------------------------------------- */

static uint32_t hash_of(uint32_t parent, struct bytes name)
{
	return (uint32_t)XXH3_64bits_withSeed(name.data, name.len, parent);
}

static void hash_add(struct nodes *ns, struct node *n, uint32_t index)
{
	uint32_t *head = &ns->heads[n->hash & ns->heads_mask];

	n->next = *head;
	*head = index;
}

static void hash_remove(struct nodes *ns, struct node *n, uint32_t index)
{
	uint32_t *at = &ns->heads[n->hash & ns->heads_mask];

	while (*at != index)
		at = &node_at(ns, *at)->next;
	*at = n->next;
	n->next = 0;
}

static struct node *hash_find(struct nodes *ns, uint32_t parent,
			      struct bytes name, uint32_t *index)
{
	uint32_t hash = hash_of(parent, name);
	uint32_t i = ns->heads[hash & ns->heads_mask];

	for (; i; i = node_at(ns, i)->next) {
		struct node *n = node_at(ns, i);

		if (n->hash == hash && n->parent == parent &&
		    bytes_eq(name_of(n), name)) {
			*index = i;
			return n;
		}
	}
	return NULL;
}

/* Doubles or halves the heads; a failure only makes the chains longer. */
static void hash_resize(struct nodes *ns, uint32_t size)
{
	uint32_t *old = ns->heads, old_size = ns->heads_mask + 1;
	uint32_t *heads = calloc(size, sizeof(*heads));

	if (!heads)
		return;
	ns->heads = heads;
	ns->heads_mask = size - 1;
	for (uint32_t i = 0; i < old_size; i++) {
		for (uint32_t at = old[i], next; at; at = next) {
			struct node *n = node_at(ns, at);

			next = n->next;
			hash_add(ns, n, at);
		}
	}
	free(old);
}

#define HEADS_MIN 1024u

static void hash_fit(struct nodes *ns)
{
	uint64_t size = (uint64_t)ns->heads_mask + 1;

	if (ns->live > size && size < 1u << 30)
		hash_resize(ns, (uint32_t)size * 2);
	else if (size > HEADS_MIN && ns->live < size / 8)
		hash_resize(ns, (uint32_t)size / 2);
}

/* -- lives -------------------------------------------------------------- */

static int name_set(struct node *n, struct bytes name)
{
	char *heap;

	if (name.len > UINT8_MAX)
		return -ENAMETOOLONG;
	if (name.len <= NAME_INLINE) {
		name_free(n);
		memcpy(n->name.text, name.data, name.len);
	} else {
		heap = malloc(name.len);
		if (!heap)
			return -ENOMEM;
		memcpy(heap, name.data, name.len);
		name_free(n);
		n->name.heap = heap;
		n->on_heap = true;
	}
	n->name_len = (uint8_t)name.len;
	return 0;
}

static void detach(struct nodes *ns, struct node *n, uint32_t index)
{
	if (n->detached)
		return;
	hash_remove(ns, n, index);
	n->detached = true;
}

/* What nodes held, to be given back when the lock is not held any more. */
struct reaped {
	/* On a path lies a table, and in its .snapshot another. */
	struct fstable *tables[2];
};

static void give_back(const struct reaped *r)
{
	fstable_unref(r->tables[0]);
	fstable_unref(r->tables[1]);
}

/* -- who is whose child -------------------------------------------------- */

static void child_add(struct nodes *ns, uint32_t parent, uint32_t index)
{
	struct node *p = node_at(ns, parent), *n = node_at(ns, index);

	n->parent = parent;
	n->newer = 0;
	n->older = p->child;
	if (p->child)
		node_at(ns, p->child)->newer = index;
	p->child = index;
}

static void child_remove(struct nodes *ns, uint32_t index)
{
	struct node *n = node_at(ns, index);

	if (n->newer)
		node_at(ns, n->newer)->older = n->older;
	else
		node_at(ns, n->parent)->child = n->older;
	if (n->older)
		node_at(ns, n->older)->newer = n->newer;
}

/* Frees the node if nothing holds it, then its ancestors. */
static struct reaped reap(struct nodes *ns, uint32_t index)
{
	struct reaped out = {0};

	while (index != ROOT_ID) {
		struct node *n = node_at(ns, index);
		uint32_t parent = n->parent;

		if (n->nlookup || n->pins || n->child)
			break;
		detach(ns, n, index);
		if (n->table)
			out.tables[out.tables[0] != NULL] = n->table;
		child_remove(ns, index);
		node_release(ns, index);
		index = parent;
	}
	hash_fit(ns);
	return out;
}

int nodes_new(struct nodes **out)
{
	struct nodes *ns = calloc(1, sizeof(*ns));
	uint32_t index;

	if (!ns)
		return -ENOMEM;
	pthread_mutex_init(&ns->lock, NULL);
	ns->generation = 1;
	ns->heads = calloc(HEADS_MIN, sizeof(*ns->heads));
	if (!ns->heads)
		goto fail;
	ns->heads_mask = HEADS_MIN - 1;
	/* Index 0 stays free of use: it ends the chains. */
	if (!node_alloc(ns, &index) || !node_alloc(ns, &index))
		goto fail;
	node_at(ns, 0)->generation = 0;
	ns->live = 1;
	node_at(ns, ROOT_ID)->kind = NODE_ROOT;
	node_at(ns, ROOT_ID)->ino = ROOT_ID;
	node_at(ns, ROOT_ID)->parent = ROOT_ID;
	*out = ns;
	return 0;
fail:
	nodes_free(ns);
	return -ENOMEM;
}

void nodes_free(struct nodes *ns)
{
	if (!ns)
		return;
	for (uint32_t c = 0; c < ns->nchunks; c++) {
		if (!ns->chunks[c].nodes)
			continue;
		for (uint32_t i = 0; i < CHUNK_NODES; i++) {
			struct node *n = &ns->chunks[c].nodes[i];

			if (!n->generation)
				continue;
			name_free(n);
			fstable_unref(n->table);
		}
		munmap(ns->chunks[c].nodes, CHUNK_NODES * sizeof(struct node));
	}
	free(ns->chunks);
	free(ns->heads);
	pthread_mutex_destroy(&ns->lock);
	free(ns);
}

static bool same_table(const struct node *n, const struct fstable *table)
{
	if (!n->table || !table)
		return n->table == table;
	return fstable_id(n->table) == fstable_id(table);
}

/* A new child, attached. -ENOMEM, -ENAMETOOLONG. */
static int node_make(struct nodes *ns, uint32_t parent, struct bytes name,
		     uint32_t *index)
{
	struct node *n = node_alloc(ns, index);
	int r;

	if (!n)
		return -ENOMEM;
	r = name_set(n, name);
	if (r < 0) {
		node_release(ns, *index);
		return r;
	}
	child_add(ns, parent, *index);
	n->hash = hash_of(parent, name);
	hash_add(ns, n, *index);
	return 0;
}

int nodes_enter(struct nodes *ns, uint64_t parent, struct bytes name,
		uint8_t kind, uint64_t ino, struct fstable *table, uint64_t *id)
{
	uint32_t p, index;
	struct node *n;
	int r = 0;

	pthread_mutex_lock(&ns->lock);
	if (!node_of(ns, parent, &p)) {
		r = -ESTALE;
		goto out;
	}
	n = hash_find(ns, p, name, &index);
	if (n && (n->kind != kind || !same_table(n, table))) {
		detach(ns, n, index);
		n = NULL;
	}
	if (!n) {
		r = node_make(ns, p, name, &index);
		if (r < 0)
			goto out;
		n = node_at(ns, index);
		n->kind = kind;
		n->ino = ino;
		n->table = table;
		if (table)
			fstable_ref(table);
		hash_fit(ns);
	}
	n->nlookup++;
	*id = id_of(n, index);
out:
	pthread_mutex_unlock(&ns->lock);
	return r;
}

int nodes_find(struct nodes *ns, uint64_t parent, struct bytes name,
	       uint64_t *id)
{
	uint32_t p, index;
	struct node *n = NULL;

	pthread_mutex_lock(&ns->lock);
	if (node_of(ns, parent, &p))
		n = hash_find(ns, p, name, &index);
	if (n)
		*id = id_of(n, index);
	pthread_mutex_unlock(&ns->lock);
	return n ? 1 : 0;
}

void nodes_forget(struct nodes *ns, uint64_t id, uint64_t nlookup)
{
	struct reaped reaped = {0};
	uint32_t index;
	struct node *n;

	pthread_mutex_lock(&ns->lock);
	n = node_of(ns, id, &index);
	if (n && index != ROOT_ID) {
		n->nlookup -= nlookup < n->nlookup ? nlookup : n->nlookup;
		reaped = reap(ns, index);
	}
	pthread_mutex_unlock(&ns->lock);
	/* The last reference may close the table: not under the lock. */
	give_back(&reaped);
}

int nodes_pin(struct nodes *ns, uint64_t id)
{
	uint32_t index;
	struct node *n;

	pthread_mutex_lock(&ns->lock);
	n = node_of(ns, id, &index);
	if (n && n->pins++ == 0)
		ns->pinned++;
	pthread_mutex_unlock(&ns->lock);
	return n ? 0 : -ESTALE;
}

void nodes_unpin(struct nodes *ns, uint64_t id)
{
	struct reaped reaped = {0};
	uint32_t index;
	struct node *n;

	pthread_mutex_lock(&ns->lock);
	n = node_of(ns, id, &index);
	if (n && n->pins) {
		if (--n->pins == 0)
			ns->pinned--;
		reaped = reap(ns, index);
	}
	pthread_mutex_unlock(&ns->lock);
	give_back(&reaped);
}

void nodes_detach(struct nodes *ns, uint64_t parent, struct bytes name)
{
	uint32_t p, index;
	struct node *n;

	pthread_mutex_lock(&ns->lock);
	if (node_of(ns, parent, &p)) {
		n = hash_find(ns, p, name, &index);
		if (n)
			detach(ns, n, index);
	}
	pthread_mutex_unlock(&ns->lock);
}

int nodes_rename(struct nodes *ns, uint64_t parent, struct bytes name,
		 uint64_t to_parent, struct bytes to_name, uint8_t kind,
		 uint64_t ino)
{
	struct reaped reaped = {0};
	uint32_t p, q, index, old;
	struct node *n, *there;
	int r = 0;

	pthread_mutex_lock(&ns->lock);
	if (!node_of(ns, parent, &p))
		goto out;
	if (!node_of(ns, to_parent, &q)) {
		r = -ESTALE;
		goto out;
	}
	n = hash_find(ns, p, name, &index);
	if (!n)
		goto out;
	/* The name first: it can fail, and hash_remove() needs only n->hash. */
	r = name_set(n, to_name);
	if (r < 0)
		goto out;
	hash_remove(ns, n, index);
	there = hash_find(ns, q, to_name, &old);
	if (there)
		detach(ns, there, old);
	child_remove(ns, index);
	child_add(ns, q, index);
	n->hash = hash_of(q, to_name);
	n->kind = kind;
	n->ino = ino;
	hash_add(ns, n, index);
	reaped = reap(ns, p);
	r = 1;
out:
	pthread_mutex_unlock(&ns->lock);
	give_back(&reaped);
	return r;
}

int nodes_walk(struct nodes *ns, uint64_t id,
	       int (*step)(void *arg, const struct node_view *n), void *arg)
{
	uint32_t index;
	struct node *n;
	int r = 0;

	pthread_mutex_lock(&ns->lock);
	n = node_of(ns, id, &index);
	if (!n)
		r = -ESTALE;
	while (r == 0) {
		struct node_view v = {
			.id = id_of(n, index),
			.parent = id_of(node_at(ns, n->parent), n->parent),
			.ino = n->ino,
			.name = name_of(n),
			.table = n->table,
			.kind = n->kind,
			.detached = n->detached,
		};

		r = step(arg, &v);
		if (index == ROOT_ID)
			break;
		index = n->parent;
		n = node_at(ns, index);
	}
	pthread_mutex_unlock(&ns->lock);
	return r;
}

/* How a walk stands on a node, and lets it go. */
static struct reaped step_off(struct nodes *ns, uint64_t id)
{
	struct reaped none = {0};
	uint32_t index;
	struct node *n = node_of(ns, id, &index);

	if (!n || index == ROOT_ID || !n->nlookup)
		return none;
	n->nlookup--;
	return reap(ns, index);
}

/*
 * Behind @index in the order parents, children, newest first: 0 at the end of
 * what is beneath @top, or when @index is not beneath it.
 */
static uint32_t behind(const struct nodes *ns, uint32_t index, uint32_t top)
{
	const struct node *n = node_at(ns, index);

	if (n->child)
		return n->child;
	while (index != top && index != ROOT_ID) {
		n = node_at(ns, index);
		if (n->older)
			return n->older;
		index = n->parent;
	}
	return 0;
}

static bool is_below(const struct nodes *ns, uint32_t index, uint32_t top)
{
	while (index != top && index != ROOT_ID)
		index = node_at(ns, index)->parent;
	return index == top;
}

int nodes_below(struct nodes *ns, uint64_t top, uint64_t *cursor,
		struct node_place *out)
{
	struct reaped reaped = {0};
	uint32_t a, at = 0, next = 0;
	struct node *n;

	pthread_mutex_lock(&ns->lock);
	if (node_of(ns, top, &a)) {
		/* Who was moved elsewhere is no place to go on from. */
		if (!*cursor || !node_of(ns, *cursor, &at) ||
		    !is_below(ns, at, a))
			at = a;
		next = behind(ns, at, a);
	}
	if (next) {
		n = node_at(ns, next);
		n->nlookup++;
		out->id = id_of(n, next);
		out->parent = id_of(node_at(ns, n->parent), n->parent);
		out->attached = !n->detached;
		out->name_len = n->name_len;
		memcpy(out->name, name_of(n).data, n->name_len);
		out->name[n->name_len] = '\0';
	}
	if (*cursor)
		reaped = step_off(ns, *cursor);
	*cursor = next ? out->id : 0;
	pthread_mutex_unlock(&ns->lock);
	give_back(&reaped);
	return next != 0;
}

void nodes_below_end(struct nodes *ns, uint64_t *cursor)
{
	if (*cursor)
		nodes_forget(ns, *cursor, 1);
	*cursor = 0;
}

void nodes_count(struct nodes *ns, uint64_t *live, uint64_t *pinned)
{
	pthread_mutex_lock(&ns->lock);
	*live = ns->live;
	*pinned = ns->pinned;
	pthread_mutex_unlock(&ns->lock);
}
