#include "store/lsm/rules/tombstones.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/base/bisect.h"
#include "store/value/array.h"

int tombstones_init(struct tombstones *m, const uint64_t *snapshots,
		    size_t nsnapshots)
{
	*m = (struct tombstones){.snapshots = snapshots,
				 .nsnapshots = nsnapshots};
	m->wide_min = m->one_stripe;
	if (nsnapshots)
		m->wide_min = calloc(nsnapshots + 1, 2 * sizeof(*m->wide_min));
	if (!m->wide_min)
		return -ENOMEM;
	m->wide_max = m->wide_min + nsnapshots + 1;
	m->wide = true;
	tombstones_row(m);
	return 0;
}

void tombstones_free(struct tombstones *m)
{
	free(m->family.at);
	free(m->family_version.at);
	free(m->version.at);
	if (m->wide_min != m->one_stripe)
		free(m->wide_min);
	*m = (struct tombstones){0};
}

void tombstones_row(struct tombstones *m)
{
	m->family.n = 0;
	m->family_version.n = 0;
	tombstones_column(m);
}

void tombstones_unwiden(struct tombstones *m)
{
	m->wide = false;
	for (size_t i = 0; i <= m->nsnapshots; i++) {
		m->wide_min[i] = SEQ_NEVER;
		m->wide_max[i] = 0;
	}
}

static int mark_list_add(struct mark_list *l, const struct entry *e)
{
	if (ARRAY_RESERVE(l->at, l->cap, l->n + 1) < 0)
		return -ENOMEM;
	l->at[l->n++] = (struct mark){e->ts, e->seq};
	return 0;
}

size_t tombstones_stripe(const struct tombstones *m, uint64_t seq)
{
	size_t lo = 0, hi = m->nsnapshots;

	BISECT(lo, hi, mid, m->snapshots[mid] < seq);
	return lo;
}

uint64_t tombstones_stripe_end(const struct tombstones *m, size_t stripe)
{
	/* Not SEQ_NEVER, so that a death at SEQ_NEVER is after every stripe. */
	return stripe < m->nsnapshots ? m->snapshots[stripe] : SEQ_NEVER - 1;
}

static void wide_add(struct tombstones *m, uint64_t seq)
{
	size_t stripe = tombstones_stripe(m, seq);

	m->wide = true;
	if (seq < m->wide_min[stripe])
		m->wide_min[stripe] = seq;
	if (seq > m->wide_max[stripe])
		m->wide_max[stripe] = seq;
}

/*
 * Without snapshots only the greatest sequence counts: is there a greater one?
 */
static bool says_nothing(const struct tombstones *m, const struct entry *marker)
{
	return m->nsnapshots == 0 && m->family.n &&
	       m->family.at[m->family.n - 1].seq > marker->seq;
}

int tombstones_add(struct tombstones *m, const struct entry *marker)
{
	switch (marker->kind) {
	case CELL_DELETE_FAMILY:
		if (says_nothing(m, marker))
			return 0;
		return mark_list_add(&m->family, marker);
	case CELL_DELETE_FAMILY_VERSION:
		return mark_list_add(&m->family_version, marker);
	case CELL_DELETE_COLUMN:
		wide_add(m, marker->seq);
		return 0;
	case CELL_DELETE:
		if (m->version.n && m->version.at[0].ts != marker->ts)
			m->version.n = 0;
		return mark_list_add(&m->version, marker);
	default:
		return 0;
	}
}

void tombstones_reach(struct tombstones *m, int64_t ts)
{
	while (m->family_at < m->family.n &&
	       m->family.at[m->family_at].ts >= ts)
		wide_add(m, m->family.at[m->family_at++].seq);
}

uint64_t tombstones_wide_above(const struct tombstones *m, size_t stripe)
{
	while (++stripe <= m->nsnapshots)
		if (m->wide_min[stripe] != SEQ_NEVER)
			return m->wide_min[stripe];
	return SEQ_NEVER;
}

/* The least sequence after @seq of the marks for @ts, or SEQ_NEVER. */
static uint64_t mark_after(const struct mark_list *l, int64_t ts, uint64_t seq)
{
	size_t lo = 0, hi = l->n;

	BISECT(lo, hi, mid,
	       l->at[mid].ts > ts ||
		       (l->at[mid].ts == ts && l->at[mid].seq > seq));
	return lo > 0 && l->at[lo - 1].ts == ts ? l->at[lo - 1].seq : SEQ_NEVER;
}

uint64_t tombstones_version_after(const struct tombstones *m, int64_t ts,
				  uint64_t seq)
{
	uint64_t version = mark_after(&m->version, ts, seq);
	uint64_t family = mark_after(&m->family_version, ts, seq);

	return version < family ? version : family;
}

uint64_t tombstones_oldest_wide(const struct tombstones *m)
{
	/*
	 * Stripes ascend in sequence: the first one with markers has the
	 * oldest.
	 */
	for (size_t i = 0; i <= m->nsnapshots; i++)
		if (m->wide_min[i] != SEQ_NEVER)
			return m->wide_min[i];
	return SEQ_NEVER;
}

uint64_t tombstones_oldest(const struct tombstones *m, int64_t ts)
{
	uint64_t wide = tombstones_oldest_wide(m), version;

	/* No marker has sequence 0. */
	version = tombstones_version_after(m, ts, 0);
	return wide < version ? wide : version;
}
