#include "store/lsm/rules/version_count.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/array.h"

/* Far deeper than a tree of random priorities; see priority(). */
#define DEPTH_MAX 256
/* Sums are numbers of 31 bits. */
#define MOMENTS_MAX INT32_MAX

void version_count_free(struct version_count *t)
{
	free(t->open);
	free(t->lives);
	free(t->moments);
	*t = (struct version_count){0};
}

/*
 * A parent's is greater than its children's: as they come from a hash of the
 * moment, the tree is as deep as one of keys in random order.
 */
static uint64_t priority(const struct version_count *t, uint32_t node)
{
	uint64_t z = t->moments[node].at * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9u;
	return z ^ (z >> 29);
}

static int32_t greater(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

static void sum_up(struct version_count *t, uint32_t node)
{
	struct version_moment *m = &t->moments[node];
	const struct version_moment *l = &t->moments[m->left];
	const struct version_moment *r = &t->moments[m->right];
	int32_t here = l->sum + m->change;

	m->sum = here + r->sum;
	m->best = here;
	if (m->left)
		m->best = greater(m->best, l->best);
	if (m->right)
		m->best = greater(m->best, here + r->best);
}

/* @node with its left (or right) child in its place. */
static uint32_t rotate(struct version_count *t, uint32_t node, bool left)
{
	struct version_moment *m = &t->moments[node];
	uint32_t up = left ? m->left : m->right;
	struct version_moment *u = &t->moments[up];

	if (left) {
		m->left = u->right;
		u->right = node;
	} else {
		m->right = u->left;
		u->left = node;
	}
	sum_up(t, node);
	sum_up(t, up);
	return up;
}

static uint32_t new_moment(struct version_count *t, uint64_t at, int32_t change)
{
	uint32_t node = (uint32_t)t->nmoments++;

	t->moments[node] = (struct version_moment){
		.at = at, .change = change, .sum = change, .best = change};
	return node;
}

/*
 * Adds @change at moment @at; the array has space for a moment. 0 or -ENOMEM.
 */
static int change_at(struct version_count *t, uint64_t at, int32_t change)
{
	uint32_t path[DEPTH_MAX], node = t->root;
	bool left[DEPTH_MAX];
	unsigned depth = 0;

	while (node && t->moments[node].at != at) {
		if (depth == DEPTH_MAX)
			return -ENOMEM;
		path[depth] = node;
		left[depth] = at < t->moments[node].at;
		node = left[depth] ? t->moments[node].left
				   : t->moments[node].right;
		depth++;
	}
	if (node) {
		t->moments[node].change += change;
		sum_up(t, node);
	} else {
		node = new_moment(t, at, change);
	}
	while (depth-- > 0) {
		uint32_t above = path[depth];

		if (left[depth])
			t->moments[above].left = node;
		else
			t->moments[above].right = node;
		if (priority(t, node) > priority(t, above)) {
			node = rotate(t, above, left[depth]);
		} else {
			sum_up(t, above);
			node = above;
		}
	}
	t->root = node;
	return 0;
}

static int grow_life(struct version_count *t, uint64_t from, uint64_t to)
{
	int r = t->nmoments > MOMENTS_MAX - 2 ? -ENOMEM : 0;

	if (r == 0)
		r = ARRAY_RESERVE(t->moments, t->moments_cap, t->nmoments + 2);
	if (r == 0)
		r = change_at(t, from, 1);
	if (r == 0 && to != SEQ_NEVER)
		r = change_at(t, to, -1);
	return r;
}

static int grow(struct version_count *t)
{
	int r;

	t->nmoments = 0;
	t->root = 0;
	r = ARRAY_RESERVE(t->moments, t->moments_cap, 1);
	if (r < 0)
		return r;
	t->moments[t->nmoments++] = (struct version_moment){0};
	t->grown = true;
	for (size_t i = 0; r == 0 && i < t->nlives; i++)
		r = grow_life(t, t->lives[i].from, t->lives[i].to);
	return r;
}

static int list_life(struct version_count *t, uint64_t from, uint64_t to)
{
	int r = ARRAY_RESERVE(t->lives, t->lives_cap, t->nlives + 1);

	if (r == 0)
		t->lives[t->nlives++] = (struct version_life){from, to};
	return r;
}

int version_count_add_slow(struct version_count *t, uint64_t from, uint64_t to)
{
	int r = 0;

	if (to <= from)
		return 0;
	if (!t->stepped && to == SEQ_NEVER) {
		r = ARRAY_RESERVE(t->open, t->open_cap, t->nopen + 1);
		if (r == 0)
			t->open[t->nopen++] = from;
		return r;
	}
	if (t->grown)
		return grow_life(t, from, to);
	t->stepped = true;
	for (size_t i = 0; r == 0 && i < t->nopen; i++)
		r = list_life(t, t->open[i], SEQ_NEVER);
	t->nopen = 0;
	if (r == 0)
		r = list_life(t, from, to);
	return r == 0 && t->nlives >= t->limit ? grow(t) : r;
}

/* The number of versions alive at @moment. */
static int64_t alive_at(const struct version_count *t, uint64_t moment)
{
	uint32_t node = t->root;
	int64_t sum = 0;

	while (node) {
		const struct version_moment *m = &t->moments[node];

		if (m->at > moment) {
			node = m->left;
			continue;
		}
		sum += t->moments[m->left].sum + m->change;
		node = m->right;
	}
	return sum;
}

/*
 * The first moment after @from, in the subtree of @node, at which t->limit
 * versions are alive; @sum are alive before the subtree. SEQ_NEVER if there is
 * none.
 */
static uint64_t first_after(const struct version_count *t, uint32_t node,
			    uint64_t from, int64_t sum)
{
	const struct version_moment *m = &t->moments[node];
	uint64_t first;

	if (!node || sum + m->best < (int64_t)t->limit)
		return SEQ_NEVER;
	if (m->at > from) {
		first = first_after(t, m->left, from, sum);
		if (first != SEQ_NEVER)
			return first;
	}
	sum += t->moments[m->left].sum + m->change;
	if (m->at > from && sum >= (int64_t)t->limit)
		return m->at;
	return first_after(t, m->right, from, sum);
}

uint64_t version_count_first_slow(const struct version_count *t, uint64_t from,
				  uint64_t to)
{
	uint64_t first;

	if (from >= to)
		return to;
	if (alive_at(t, from) >= (int64_t)t->limit)
		return from;
	first = first_after(t, t->root, from, 0);
	return first < to ? first : to;
}
