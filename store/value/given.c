#include "store/value/given.h"

#include <errno.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/value/array.h"
#include "store/value/why.h"

/* So few changes are looked at one by one. */
#define FEW 16

/* Do the columns of all changes up to @at ascend, so that each is another? */
static bool ascend(struct given *g, const struct mutation *m, size_t at)
{
	for (; !g->unsorted && g->seen < at; g->seen++)
		g->unsorted = change_cmp_column(&m->changes[g->seen],
						&m->changes[g->seen + 1]) >= 0;
	return !g->unsorted;
}

/* Is it of one column? */
static bool is_of_column(const struct change *c)
{
	return c->op != CHANGE_DELETE_ROW && !kind_is_family_marker(c->op);
}

static int64_t among_few(const struct mutation *m, size_t at)
{
	int64_t ts = -1;

	for (size_t i = 0; i < at; i++) {
		const struct change *c = &m->changes[i];

		if (is_of_column(c) && c->ts_given > ts &&
		    change_same_column(c, &m->changes[at]))
			ts = c->ts_given;
	}
	return ts;
}

/* The slot of the column, or the free one that it would get. */
static uint32_t *slot_of(const struct given *g, const struct mutation *m,
			 const struct change *c)
{
	uint64_t h = XXH3_64bits_withSeed(
		c->qualifier.data, c->qualifier.len,
		XXH3_64bits(c->family.data, c->family.len));
	size_t i = h & (g->nslots - 1);

	while (g->slots[i] &&
	       !change_same_column(&m->changes[g->slots[i] - 1], c))
		i = (i + 1) & (g->nslots - 1);
	return &g->slots[i];
}

static int reserve(struct given *g, size_t nchanges)
{
	size_t n = 4 * FEW;

	if (g->slots)
		return 0;
	while (n < 2 * nchanges)
		n *= 2;
	if (n <= UINT32_MAX)
		g->slots = calloc(n, sizeof(*g->slots));
	if (!g->slots)
		return -ENOMEM;
	g->nslots = n;
	g->seen = 0;
	return 0;
}

/* The greatest timestamp of the column before @at, or -1. */
static int of_column(struct given *g, const struct mutation *m, size_t at,
		     int64_t *ts)
{
	uint32_t *slot;

	*ts = -1;
	if (ascend(g, m, at))
		return 0;
	if (m->nchanges <= FEW) {
		*ts = among_few(m, at);
		return 0;
	}
	if (reserve(g, m->nchanges) < 0)
		return -ENOMEM;
	for (; g->seen < at; g->seen++) {
		const struct change *c = &m->changes[g->seen];

		if (!is_of_column(c))
			continue;
		slot = slot_of(g, m, c);
		if (!*slot || m->changes[*slot - 1].ts_given <= c->ts_given)
			*slot = (uint32_t)g->seen + 1;
	}
	slot = slot_of(g, m, &m->changes[at]);
	if (*slot)
		*ts = m->changes[*slot - 1].ts_given;
	return 0;
}

/* The entry of the family; the last one is the most likely. */
static struct given_family *family_of(struct given *g, struct bytes name)
{
	for (size_t i = g->nfamilies; i-- > 0;)
		if (bytes_eq(g->families[i].name, name))
			return &g->families[i];
	return NULL;
}

/* Keeps what the change was given. */
static int keep(struct given *g, const struct change *c)
{
	struct given_family *f = family_of(g, c->family);

	if (!f) {
		if (ARRAY_RESERVE(g->families, g->families_cap,
				  g->nfamilies + 1) < 0)
			return -ENOMEM;
		f = &g->families[g->nfamilies++];
		*f = (struct given_family){
			.name = c->family, .ts = -1, .mark = -1};
	}
	if (c->ts_given > f->ts)
		f->ts = c->ts_given;
	if (kind_is_family_marker(c->op) && c->ts_given > f->mark)
		f->mark = c->ts_given;
	return 0;
}

/* Does the store pick its timestamp? That of a delete of the newest is of the store. */
static bool is_picked(const struct change *c)
{
	return c->ts == TS_AUTO && c->op != CHANGE_DELETE;
}

void given_begin(struct given *g, const struct mutation *m)
{
	free(g->slots);
	*g = (struct given){.families = g->families,
			    .families_cap = g->families_cap};
	for (size_t i = 1; i < m->nchanges && !g->picks; i++)
		g->picks = is_picked(&m->changes[i]);
}

int no_ts_left(int64_t newest)
{
	return why(-EOVERFLOW,
		   "no timestamp is left after %lld, where the column has a "
		   "version or a delete: put with a timestamp, or delete that "
		   "version and compact",
		   (long long)newest);
}

int given_raise(struct given *g, const struct mutation *m, size_t at,
		struct change *c)
{
	const struct given_family *f;
	int64_t ts = -1, whole;
	int r = 0;

	if (!g->picks)
		return 0;
	if (is_picked(c)) {
		f = family_of(g, c->family);
		whole = !f ? -1 : is_of_column(c) ? f->mark : f->ts;
		if (is_of_column(c))
			r = of_column(g, m, at, &ts);
		if (whole > ts)
			ts = whole;
		if (ts >= 0)
			ts += op_writes(c->op);
		if (ts > c->ts_given)
			c->ts_given = ts;
	}
	if (r < 0 || keep(g, c) < 0)
		return why(-ENOMEM, "out of memory");
	return c->ts_given > TS_MAX ? no_ts_left(c->ts_given - 1) : 0;
}

void given_release(struct given *g)
{
	free(g->slots);
	free(g->families);
	*g = (struct given){0};
}
