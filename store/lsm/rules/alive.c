#include "store/lsm/rules/alive_inside.h"

#include <assert.h>
#include <stdlib.h>

#include <xxhash.h>

static uint32_t slot_of(uint32_t tree, struct bytes row)
{
	return (uint32_t)(XXH3_64bits_withSeed(row.data, row.len, tree) %
			  ALIVE_SLOTS);
}

static void unlink_use(struct alive *a, struct alive_row *r)
{
	*(r->newer ? &r->newer->older : &a->newest) = r->older;
	*(r->older ? &r->older->newer : &a->oldest) = r->newer;
}

static void link_use(struct alive *a, struct alive_row *r)
{
	r->newer = NULL;
	r->older = a->newest;
	*(r->older ? &r->older->newer : &a->oldest) = r;
	a->newest = r;
}

void alive_row_weigh(struct alive *a, struct alive_row *r, size_t was,
		     size_t is)
{
	assert(r->bytes >= was && a->bytes >= r->bytes);
	r->bytes += is - was;
	a->bytes += is - was;
}

static void row_free(struct alive *a, struct alive_row *r)
{
	struct alive_row **at = &a->slots[r->slot];

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	unlink_use(a, r);
	alive_runs_forget(a, r);
	assert(a->bytes >= r->bytes);
	a->bytes -= r->bytes;
	atomic_fetch_sub(&a->filter[r->slot], 1);
	atomic_fetch_sub(&a->nrows, 1);
	for (size_t i = 0; i < r->ncolumns; i++)
		alive_column_free(r->columns[i]);
	free(r->columns);
	free(r->runs);
	buf_free(&r->row);
	free(r);
}

static struct alive_row *find(const struct alive *a, uint32_t slot,
			      const struct alive_place *p)
{
	struct alive_row *r = a->slots[slot];

	while (r &&
	       (r->tree != p->tree || !bytes_eq(buf_bytes(&r->row), p->row)))
		r = r->next;
	return r;
}

struct alive_row *alive_row_find(struct alive *a, const struct alive_place *p)
{
	struct alive_row *r = find(a, slot_of(p->tree, p->row), p);

	if (!r || r->schema != p->schema) {
		/* A reader of an older schema leaves the row alone. */
		if (r && r->schema < p->schema)
			row_free(a, r);
		return NULL;
	}
	if (r != a->newest) {
		unlink_use(a, r);
		link_use(a, r);
	}
	return r;
}

/*
 * Notes, if no writer is committing, that all puts made before the row was
 * watched are published.
 */
static void note_published(struct alive *a, struct alive_row *r)
{
	if (r->settled || atomic_load(&a->committing))
		return;
	r->settled = true;
	if (atomic_load(a->seq) > r->put_seq)
		r->put_seq = atomic_load(a->seq);
}

struct alive_row *alive_row_watch(struct alive *a, const struct alive_place *p)
{
	uint32_t slot = slot_of(p->tree, p->row);
	struct alive_row *r = alive_row_find(a, p);

	if (r || find(a, slot, p)) {
		if (r)
			note_published(a, r);
		return r;
	}
	r = calloc(1, sizeof(*r));
	if (!r || buf_set(&r->row, p->row) < 0) {
		free(r);
		return NULL;
	}
	r->slot = slot;
	r->tree = p->tree;
	r->schema = p->schema;
	r->next = a->slots[slot];
	a->slots[slot] = r;
	link_use(a, r);
	alive_row_weigh(a, r, 0, sizeof(*r) + r->row.cap);
	/* Before the test for a committing writer in note_published(). */
	atomic_fetch_add(&a->filter[slot], 1);
	atomic_fetch_add(&a->nrows, 1);
	note_published(a, r);
	return r;
}

void alive_trim(struct alive *a)
{
	while (a->bytes > a->bytes_max && a->oldest)
		row_free(a, a->oldest);
}

void alive_change(struct alive *a, const struct alive_place *p,
		  const struct entry *e)
{
	struct alive_row *r;

	if (!atomic_load(&a->filter[slot_of(p->tree, p->row)]))
		return;
	pthread_mutex_lock(&a->lock);
	r = alive_row_find(a, p);
	if (r) {
		if (!kind_is_marker(e->kind)) {
			r->put_seq = e->seq;
			alive_runs_cut(a, r, e->qualifier);
		}
		alive_columns_change(a, r, e);
		alive_trim(a);
	}
	pthread_mutex_unlock(&a->lock);
}

int alive_init(struct alive *a, const _Atomic uint64_t *seq, size_t bytes_max,
	       unsigned patience)
{
	a->patience = patience ? patience : PATIENCE;
	a->seq = seq;
	a->bytes_max = bytes_max;
	return -pthread_mutex_init(&a->lock, NULL);
}

void alive_free(struct alive *a)
{
	if (!a->seq)
		return;
	while (a->oldest)
		row_free(a, a->oldest);
	pthread_mutex_destroy(&a->lock);
	a->seq = NULL;
}

static struct alive_place place_of(const struct alive_guide *g,
				   struct bytes row)
{
	return (struct alive_place){g->tree, g->schema, row};
}

bool alive_may_know(const struct alive *a, uint32_t tree, struct bytes row)
{
	return alive_watches(a) && atomic_load(&a->filter[slot_of(tree, row)]);
}

static bool guide_knows(const struct visible_guide *base, struct bytes row)
{
	const struct alive_guide *g = (const struct alive_guide *)base;

	return alive_may_know(g->alive, g->tree, row);
}

static int guide_versions(const struct visible_guide *base, struct bytes row,
			  struct bytes qualifier, int64_t ts, int64_t *out,
			  size_t n, uint64_t *above)
{
	const struct alive_guide *g = (const struct alive_guide *)base;
	struct alive_place p = place_of(g, row);

	return alive_versions(g->alive, &p, qualifier, g->seq, ts, out, n,
			      above);
}

static int guide_hidden(const struct visible_guide *base, struct bytes row,
			struct bytes qualifier, struct buf *to)
{
	const struct alive_guide *g = (const struct alive_guide *)base;
	struct alive_place p = place_of(g, row);

	return alive_hidden(g->alive, &p, qualifier, g->seq, to);
}

static void guide_found_hidden(const struct visible_guide *base,
			       struct bytes row, struct bytes from,
			       const struct bytes *to, uint64_t walked)
{
	const struct alive_guide *g = (const struct alive_guide *)base;
	struct alive_place p = place_of(g, row);

	alive_found_hidden(g->alive, &p, from, to, g->seq, walked);
}

void alive_guide(struct alive_guide *g, struct alive *alive, uint32_t tree,
		 uint64_t schema, uint64_t seq)
{
	*g = (struct alive_guide){
		.base = {.patience = alive ? alive->patience : 0,
			 .knows = guide_knows,
			 .versions = guide_versions,
			 .hidden = guide_hidden,
			 .found_hidden = guide_found_hidden},
		.alive = alive,
		.tree = tree,
		.schema = schema,
		.seq = seq,
	};
}
