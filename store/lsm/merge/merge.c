#include "store/lsm/merge/merge.h"

#include <assert.h>

#include "store/lsm/base/heads.h"

static struct merge_source *waiting(const struct merge *m, uint32_t place)
{
	return &m->sources[m->sources[place].waiting];
}

static struct merge_source *active(const struct merge *m, uint32_t number)
{
	return &m->sources[m->sources[number].active];
}

/* Compares the rows on which they stand, in the merge's direction. */
static inline int rows_cmp(const struct merge *m, const struct merge_source *a,
			   const struct merge_source *b)
{
	struct bytes x, y;
	int c;

	for (int i = 0; i < 2; i++)
		if (a->head[i] != b->head[i])
			return a->head[i] < b->head[i] ? -1 : 1;
	x = a->cursor->row;
	y = b->cursor->row;
	if (x.len <= 2 * HEAD_LEN || y.len <= 2 * HEAD_LEN)
		c = (x.len > y.len) - (x.len < y.len);
	else
		c = bytes_cmp(x, y);
	return m->backwards ? -c : c;
}

/* Of equal rows that of the newer source comes first. */
static inline bool waits_before(const struct merge *m, uint32_t a, uint32_t b)
{
	int c = rows_cmp(m, &m->sources[a], &m->sources[b]);

	return c ? c < 0 : a < b;
}

static void wait_for_turn(struct merge *m, uint32_t source)
{
	uint32_t at = m->nwaiting++;

	assert(at < m->nsources);
	while (at > 0) {
		uint32_t above = (at - 1) / 2,
			 other = m->sources[above].waiting;

		if (waits_before(m, other, source))
			break;
		m->sources[at].waiting = other;
		at = above;
	}
	m->sources[at].waiting = source;
}

/* Takes the first of those that wait, of which there is one. */
static uint32_t take_turn(struct merge *m)
{
	uint32_t first = m->sources[0].waiting, n = --m->nwaiting, at = 0;
	uint32_t last = m->sources[n].waiting;

	assert(n < m->nsources);
	for (uint32_t below = 1; below < n; below = 2 * at + 1) {
		if (below + 1 < n &&
		    waits_before(m, m->sources[below + 1].waiting,
				 m->sources[below].waiting))
			below++;
		if (waits_before(m, last, m->sources[below].waiting))
			break;
		m->sources[at].waiting = m->sources[below].waiting;
		at = below;
	}
	m->sources[at].waiting = last;
	return first;
}

static void make_active(struct merge *m, uint32_t source)
{
	assert(m->nactive < m->nsources && source < m->nsources);
	m->sources[m->nactive++].active = source;
	m->current = source;
}

/* Takes note of where a source stands after it moved to another row. */
static int moved(struct merge *m, struct merge_source *s, int r)
{
	s->in_row = false;
	s->at_row = r == 1;
	if (r == 1) {
		struct bytes row = s->cursor->row;

		s->head[0] = head_of(row);
		s->head[1] = 0;
		if (row.len > HEAD_LEN)
			s->head[1] = head_of(bytes_of(row.data + HEAD_LEN,
						      row.len - HEAD_LEN));
		if (m->backwards) {
			s->head[0] = ~s->head[0];
			s->head[1] = ~s->head[1];
		}
	}
	return r;
}

/*
 * Takes note of how a source moved in its row, to an entry if @r is 1, and passes
 * over entries that the merge's moment does not know yet.
 */
static inline int source_settle(const struct merge *m, struct merge_source *s,
				int r)
{
	while (r == 1 && s->cursor->at.seq > m->seq_max)
		r = cursor_next(s->cursor);
	s->in_row = r == 1;
	return r;
}

/* Chooses the current source and the runner-up among those in the row. */
static int choose_entry(struct merge *m)
{
	uint32_t first = m->nsources, second = m->nsources;

	for (uint32_t n = 0; n < m->nactive; n++) {
		uint32_t i = m->sources[n].active;
		const struct merge_source *s = &m->sources[i];

		if (!s->in_row)
			continue;
		if (first == m->nsources) {
			first = i;
		} else if (entry_cmp(&s->cursor->at,
				     &m->sources[first].cursor->at) < 0) {
			second = first;
			first = i;
		} else if (second == m->nsources ||
			   entry_cmp(&s->cursor->at,
				     &m->sources[second].cursor->at) < 0) {
			second = i;
		}
	}
	m->current = first;
	m->runner = second;
	if (first == m->nsources)
		return 0;
	m->base.at = m->sources[first].cursor->at;
	return 1;
}

/* Of the rows the sources wait on, the next one becomes the merge's row. */
static void choose_row(struct merge *m)
{
	const struct merge_source *first;

	m->nactive = 0;
	if (m->nwaiting == 0)
		return;
	make_active(m, take_turn(m));
	first = active(m, 0);
	while (m->nwaiting && rows_cmp(m, first, waiting(m, 0)) == 0)
		make_active(m, take_turn(m));
}

/* Stands on the first entry of the chosen row: 1, or 0 if none is left. */
static int enter_row(struct merge *m)
{
	struct merge_source *s = &m->sources[m->current];
	int r;

	assert(m->nactive > 0 && m->current < m->nsources);
	m->base.row = s->cursor->row;
	if (m->nactive == 1) {
		r = source_settle(m, s, 1);
		m->runner = m->nsources;
		if (r == 1)
			m->base.at = s->cursor->at;
		return r;
	}
	for (uint32_t n = 0; n < m->nactive; n++) {
		r = source_settle(m, active(m, n), 1);
		if (r < 0)
			return r;
	}
	return choose_entry(m);
}

/* Moves an active source to its next row in the merge's direction. */
static inline int step_source(struct merge *m, struct merge_source *s)
{
	return moved(m, s,
		     m->backwards ? cursor_prev_row(s->cursor)
				  : cursor_next_row(s->cursor));
}

/*
 * Moves what is active, and chooses among all. One source goes on alone where no
 * other can come first: exhausted rows leave no current source, but an active
 * one all the same.
 */
static int leave_row(struct merge *m)
{
	for (uint32_t n = 0; n < m->nactive; n++) {
		struct merge_source *s = active(m, n);
		int r = step_source(m, s);

		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (m->nactive == 1 &&
		    (!m->nwaiting || rows_cmp(m, s, waiting(m, 0)) < 0)) {
			m->current = m->sources[0].active;
			return 0;
		}
		wait_for_turn(m, m->sources[n].active);
	}
	choose_row(m);
	return 0;
}

/* From the chosen row on to the first that has something to show. */
static int settle_row(struct merge *m)
{
	int r;

	for (;;) {
		if (m->nactive == 0)
			return 0;
		r = enter_row(m);
		if (r)
			return r;
		r = leave_row(m);
		if (r < 0)
			return r;
	}
}

/* When sources have moved so: to the row that comes first now. */
static int go_on(struct merge *m)
{
	m->nwaiting = 0;
	for (uint32_t i = 0; i < m->nsources; i++)
		if (m->sources[i].at_row)
			wait_for_turn(m, i);
	choose_row(m);
	return settle_row(m);
}

/* Each source to its first row from @row on, or its last up to it. */
static int seek_all(struct merge *m, bool backwards, struct bytes row,
		    bool inclusive)
{
	m->backwards = backwards;
	m->exact = false;
	for (uint32_t i = 0; i < m->nsources; i++) {
		struct merge_source *s = &m->sources[i];
		int r = backwards ? cursor_seek_back(s->cursor, row, inclusive)
				  : cursor_seek_row(s->cursor, row);

		if (moved(m, s, r) < 0)
			return r;
	}
	return go_on(m);
}

static int merge_seek_row(struct cursor *c, struct bytes row)
{
	return seek_all((struct merge *)c, false, row, true);
}

static int merge_seek_back(struct cursor *c, struct bytes row, bool inclusive)
{
	return seek_all((struct merge *)c, true, row, inclusive);
}

/* Enters the row on which those sources stand that stand on any. */
static int enter_alone(struct merge *m)
{
	m->exact = true;
	m->nwaiting = 0;
	m->nactive = 0;
	for (uint32_t i = 0; i < m->nsources; i++)
		if (m->sources[i].at_row)
			make_active(m, i);
	return m->nactive ? enter_row(m) : 0;
}

static int merge_seek_exact(struct cursor *c, struct bytes row)
{
	struct merge *m = (struct merge *)c;

	m->backwards = false;
	for (uint32_t i = 0; i < m->nsources; i++) {
		struct merge_source *s = &m->sources[i];
		int r;

		if (m->entered && !s->at_row)
			continue;
		r = moved(m, s, cursor_seek_exact(s->cursor, row));
		if (r < 0)
			return r;
	}
	return enter_alone(m);
}

int merge_enter(struct merge *m)
{
	m->backwards = false;
	m->entered = true;
	for (uint32_t i = 0; i < m->nsources; i++)
		m->sources[i].at_row = m->sources[i].in_row;
	return enter_alone(m);
}

static int step_row(struct merge *m)
{
	int r = leave_row(m);

	return r < 0 ? r : settle_row(m);
}

static int merge_next_row(struct cursor *c)
{
	struct merge *m = (struct merge *)c;

	assert(!m->exact && !m->backwards);
	return step_row(m);
}

/* A row that was sought anew on the way has left the sources nowhere else. */
static int merge_prev_row(struct cursor *c)
{
	struct merge *m = (struct merge *)c;
	int r;

	if (!m->exact) {
		assert(m->backwards);
		return step_row(m);
	}
	r = buf_set(&m->row, m->base.row);
	return r < 0 ? r : seek_all(m, true, buf_bytes(&m->row), false);
}

static int merge_next(struct cursor *c)
{
	struct merge *m = (struct merge *)c;
	struct merge_source *s;
	int r;

	if (m->current == m->nsources)
		return 0;
	s = &m->sources[m->current];
	if (!s->in_row)
		return 0;
	r = source_settle(m, s, cursor_next(s->cursor));
	if (r < 0)
		return r;
	if (m->runner == m->nsources) {
		if (r == 1)
			m->base.at = s->cursor->at;
		return r;
	}
	if (r == 1 &&
	    entry_cmp(&s->cursor->at, &m->sources[m->runner].cursor->at) < 0) {
		m->base.at = s->cursor->at;
		return 1;
	}
	return choose_entry(m);
}

/* Is the entry one that a search for (@qualifier, @ts, @kind) passes over? */
static bool is_before(const struct entry *e, struct bytes qualifier, int64_t ts,
		      uint8_t kind)
{
	int c;

	if (kind_is_family_marker(e->kind))
		return true;
	c = bytes_cmp(e->qualifier, qualifier);
	return c < 0 ||
	       (c == 0 && (e->ts > ts || (e->ts == ts && e->kind > kind)));
}

static int merge_seek_cell(struct cursor *c, struct bytes qualifier, int64_t ts,
			   uint8_t kind)
{
	struct merge *m = (struct merge *)c;

	for (uint32_t n = 0; n < m->nactive; n++) {
		struct merge_source *s = active(m, n);
		int r;

		if (!s->in_row ||
		    !is_before(&s->cursor->at, qualifier, ts, kind))
			continue;
		r = cursor_seek_cell(s->cursor, qualifier, ts, kind);
		r = source_settle(m, s, r);
		if (r < 0)
			return r;
	}
	return choose_entry(m);
}

static void merge_close(struct cursor *c)
{
	struct merge *m = (struct merge *)c;

	buf_free(&m->row);
}

static struct piece *merge_piece(struct cursor *c)
{
	struct merge *m = (struct merge *)c;

	return cursor_piece(m->sources[m->current].cursor);
}

static const struct cursor_ops merge_ops = {
	.seek_row = merge_seek_row,
	.seek_exact = merge_seek_exact,
	.seek_back = merge_seek_back,
	.next_row = merge_next_row,
	.prev_row = merge_prev_row,
	.next = merge_next,
	.seek_cell = merge_seek_cell,
	.piece = merge_piece,
	.close = merge_close,
};

void merge_init(struct merge *m, struct merge_source *sources,
		uint32_t nsources, uint64_t seq_max)
{
	*m = (struct merge){
		.base = {.ops = &merge_ops},
		.sources = sources,
		.nsources = nsources,
		.seq_max = seq_max,
	};
	for (uint32_t i = 0; i < nsources; i++)
		m->sources[i] = (struct merge_source){
			.cursor = sources[i].cursor,
		};
}
