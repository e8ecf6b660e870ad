#include "fs/text/sorted.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Longer than any path; both lengths fit into 32 bits. */
#define KEY_PART_MAX (1u << 24)

static int key_cmp(const struct sorted_node *n, struct bytes dir,
		   struct bytes name)
{
	int c;

	if (n->dir_len != dir.len)
		return n->dir_len < dir.len ? -1 : 1;
	/* Most are the id of a node, and the same. */
	if (dir.len == sizeof(uint64_t) &&
	    bytes_load64(n->key) == bytes_load64(dir.data))
		c = 0;
	else
		c = dir.len ? memcmp(n->key, dir.data, dir.len) : 0;
	return c ? c : bytes_cmp(sorted_name(n), name);
}

/* Mixes the address; any odd multiplier with irregular bits would do. */
static uint64_t priority_of(const void *p)
{
	uint64_t x = (uint64_t)(uintptr_t)p;

	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	return x * 0xbf58476d1ce4e5b9u;
}

int sorted_node_place(struct sorted_node *n, uint8_t *key, struct bytes dir,
		      size_t name_len)
{
	if (dir.len > KEY_PART_MAX || name_len > KEY_PART_MAX)
		return -ENAMETOOLONG;
	*n = (struct sorted_node){
		.priority = priority_of(n),
		.dir_len = (uint32_t)dir.len,
		.name_len = (uint32_t)name_len,
		.key = key,
	};
	bytes_copy(key, dir.data, dir.len);
	return 0;
}

int sorted_node_init(struct sorted_node *n, struct bytes dir, struct bytes name)
{
	uint8_t *key;
	int r;

	/* Before sorted_node_place(), as memory is taken for them. */
	if (dir.len > KEY_PART_MAX || name.len > KEY_PART_MAX)
		return -ENAMETOOLONG;
	key = malloc(dir.len + name.len + 1);
	if (!key)
		return -ENOMEM;
	r = sorted_node_place(n, key, dir, name.len);
	bytes_copy(key + dir.len, name.data, name.len);
	return r;
}

void sorted_node_release(struct sorted_node *n)
{
	free(n->key);
	n->key = NULL;
}

static struct sorted_node *merge(struct sorted_node *a, struct sorted_node *b)
{
	if (!a)
		return b;
	if (!b)
		return a;
	if (a->priority >= b->priority) {
		a->right = merge(a->right, b);
		return a;
	}
	b->left = merge(a, b->left);
	return b;
}

/* Splits @t into nodes that sort before @n and after it. */
static void split(struct sorted_node *t, const struct sorted_node *n,
		  struct sorted_node **before, struct sorted_node **after)
{
	while (t) {
		int c = key_cmp(t, sorted_dir(n), sorted_name(n));

		assert(c != 0);
		if (c < 0) {
			*before = t;
			before = &t->right;
			t = t->right;
		} else {
			*after = t;
			after = &t->left;
			t = t->left;
		}
	}
	*before = NULL;
	*after = NULL;
}

void sorted_insert(struct sorted *s, struct sorted_node *n)
{
	struct sorted_node **link = &s->root;

	assert(n->key);
	while (*link && (*link)->priority >= n->priority) {
		int c = key_cmp(*link, sorted_dir(n), sorted_name(n));

		assert(c != 0);
		link = c < 0 ? &(*link)->right : &(*link)->left;
	}
	split(*link, n, &n->left, &n->right);
	*link = n;
	s->count++;
}

void sorted_remove(struct sorted *s, struct sorted_node *n)
{
	struct sorted_node **link = &s->root;

	while (*link != n) {
		assert(*link);
		link = key_cmp(*link, sorted_dir(n), sorted_name(n)) < 0
			       ? &(*link)->right
			       : &(*link)->left;
	}
	*link = merge(n->left, n->right);
	n->left = n->right = NULL;
	s->count--;
}

struct sorted_node *sorted_find(const struct sorted *s, struct bytes dir,
				struct bytes name)
{
	struct sorted_node *n = s->root;

	while (n) {
		int c = key_cmp(n, dir, name);

		if (!c)
			return n;
		n = c < 0 ? n->right : n->left;
	}
	return NULL;
}

struct sorted_node *sorted_next(const struct sorted *s, struct bytes dir,
				bool has_after, struct bytes after)
{
	struct sorted_node *n = s->root, *best = NULL;

	while (n) {
		int c = key_cmp(n, dir, has_after ? after : bytes_str(""));

		if (c > 0 || (c == 0 && !has_after)) {
			best = n;
			n = n->left;
		} else {
			n = n->right;
		}
	}
	return best && bytes_eq(sorted_dir(best), dir) ? best : NULL;
}

struct sorted_node *sorted_any(const struct sorted *s)
{
	return s->root;
}
