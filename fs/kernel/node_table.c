#include "fs/kernel/node_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <xxhash.h>

#define CHUNKS_MAX (1u << 22)
/* A table that had so many slots trims the memory each time it is halved. */
#define SLOTS_MANY 131072u

struct bytes node_name(const struct node *n)
{
	return bytes_of(n->on_heap ? n->name.heap : n->name.text, n->name_len);
}

static void name_free(struct node *n)
{
	if (n->on_heap)
		free(n->name.heap);
	n->on_heap = false;
}

int node_set_name(struct node *n, struct bytes name)
{
	char *heap;

	if (name.len > UINT8_MAX)
		return -ENAMETOOLONG;
	if (name.len <= NODE_NAME_INLINE) {
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

static int chunk_fill(struct node_table *t, uint32_t c)
{
	size_t size = NODE_CHUNK * sizeof(struct node);
	struct node_chunk *chunk = &t->chunks[c];
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	*chunk = (struct node_chunk){.nodes = p, .free = 1};
	for (uint32_t i = 0; i < NODE_CHUNK; i++)
		chunk->nodes[i].next = i + 1 < NODE_CHUNK ? i + 2 : 0;
	return 0;
}

static int chunk_with_room(struct node_table *t, uint32_t *out)
{
	uint32_t c = t->lowest;

	while (c < t->nchunks && t->chunks[c].nodes && !t->chunks[c].free)
		c++;
	if (c == t->nchunks) {
		if (c == CHUNKS_MAX)
			return -ENOMEM;
		if (c == t->chunks_cap) {
			uint32_t cap = c ? c * 2 : 16;
			struct node_chunk *p =
				realloc(t->chunks, cap * sizeof(*p));

			if (!p)
				return -ENOMEM;
			t->chunks = p;
			t->chunks_cap = cap;
		}
		t->chunks[c] = (struct node_chunk){0};
		t->nchunks++;
	}
	if (!t->chunks[c].nodes && chunk_fill(t, c) < 0)
		return -ENOMEM;
	t->lowest = c;
	*out = c;
	return 0;
}

struct node *node_table_add(struct node_table *t, uint32_t *index)
{
	struct node_chunk *chunk;
	struct node *n;
	uint32_t c, i;

	if (hashed_reserve(&t->names) < 0 || chunk_with_room(t, &c) < 0)
		return NULL;
	chunk = &t->chunks[c];
	assert(chunk->free && chunk->used < NODE_CHUNK);
	i = chunk->free - 1;
	n = &chunk->nodes[i];
	chunk->free = n->next;
	chunk->used++;
	*n = (struct node){.generation = t->generation};
	if (++t->generation == 0)
		t->generation = 1;
	t->live++;
	*index = c * NODE_CHUNK + i;
	return n;
}

void node_table_remove(struct node_table *t, uint32_t index)
{
	uint32_t c = index / NODE_CHUNK;
	struct node_chunk *chunk = &t->chunks[c];
	struct node *n = node_table_at(t, index);

	assert(n->generation && chunk->used > 0 && t->live > 0);
	name_free(n);
	*n = (struct node){.next = chunk->free};
	chunk->free = index % NODE_CHUNK + 1;
	chunk->used--;
	t->live--;
	if (c < t->lowest)
		t->lowest = c;
	if (chunk->used == 0) {
		munmap(chunk->nodes, NODE_CHUNK * sizeof(struct node));
		*chunk = (struct node_chunk){0};
	}
}

static uint32_t hash_of(const struct node_table *t, uint32_t parent,
			struct bytes name)
{
	return (uint32_t)XXH3_64bits_withSeed(name.data, name.len,
					      t->secret + parent);
}

void node_table_link(struct node_table *t, uint32_t index)
{
	struct node *n = node_table_at(t, index);

	n->hash = hash_of(t, n->parent, node_name(n));
	hashed_put(&t->names, n->hash, index);
}

void node_table_unlink(struct node_table *t, uint32_t index)
{
	hashed_remove(&t->names, node_table_at(t, index)->hash, index);
}

struct node *node_table_find(const struct node_table *t, uint32_t parent,
			     struct bytes name, uint32_t *index)
{
	uint32_t hash = hash_of(t, parent, name), at;
	uint32_t i = hashed_first(&t->names, hash, &at);

	for (; i; i = hashed_next(&t->names, hash, &at)) {
		struct node *n = node_table_at(t, i);

		if (n->parent == parent && bytes_eq(node_name(n), name)) {
			*index = i;
			return n;
		}
	}
	return NULL;
}

bool node_table_fit(struct node_table *t)
{
	uint32_t size = t->names.mask + 1;
	bool trim = hashed_fit(&t->names) && t->many;

	if (size >= SLOTS_MANY)
		t->many = true;
	else if (size <= HASHED_MIN)
		t->many = false;
	return trim;
}

int node_table_init(struct node_table *t)
{
	*t = (struct node_table){.generation = 1};
	if (hashed_init(&t->names) < 0)
		return -ENOMEM;
	/* Without random bytes it is where the heap happens to be. */
	if (getrandom(&t->secret, sizeof(t->secret), GRND_NONBLOCK) < 0)
		t->secret = (uintptr_t)t->names.slots;
	return 0;
}

void node_table_free(struct node_table *t, void (*drop)(struct node *n))
{
	for (uint32_t c = 0; c < t->nchunks; c++) {
		if (!t->chunks[c].nodes)
			continue;
		for (uint32_t i = 0; i < NODE_CHUNK; i++) {
			struct node *n = &t->chunks[c].nodes[i];

			if (!n->generation)
				continue;
			name_free(n);
			drop(n);
		}
		munmap(t->chunks[c].nodes, NODE_CHUNK * sizeof(struct node));
	}
	free(t->chunks);
	hashed_free(&t->names);
}
