#include "store/lsm/base/ts_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/lsm/base/bisect.h"
#include "store/value/array.h"

#define CHUNK_MAX 1024
#define CHUNK_MIN 16

void ts_set_free(struct ts_set *s)
{
	for (size_t i = 0; i < s->nchunks; i++)
		free(s->chunks[i].at);
	free(s->chunks);
	*s = (struct ts_set){0};
}

/* 0, or -ENOMEM with the chunk unchanged. */
static int resize(struct ts_set *s, struct ts_chunk *c, uint32_t cap)
{
	int64_t *at = reallocarray(c->at, cap, sizeof(*at));

	if (!at)
		return -ENOMEM;
	s->bytes += ((size_t)cap - c->cap) * sizeof(*at);
	c->at = at;
	c->cap = cap;
	return 0;
}

/* Inserts an empty chunk at index @i, of capacity @cap. 0 or -ENOMEM. */
static int insert_chunk(struct ts_set *s, size_t i, uint32_t cap)
{
	struct ts_chunk c = {0};
	size_t was = s->chunks_cap;

	if (ARRAY_RESERVE(s->chunks, s->chunks_cap, s->nchunks + 1) < 0)
		return -ENOMEM;
	s->bytes += (s->chunks_cap - was) * sizeof(*s->chunks);
	if (resize(s, &c, cap) < 0)
		return -ENOMEM;
	assert(i <= s->nchunks && s->nchunks < s->chunks_cap);
	memmove(&s->chunks[i + 1], &s->chunks[i],
		(s->nchunks - i) * sizeof(*s->chunks));
	s->chunks[i] = c;
	s->nchunks++;
	return 0;
}

static void remove_chunk(struct ts_set *s, size_t i)
{
	assert(i < s->nchunks);
	assert(s->bytes >= s->chunks[i].cap * sizeof(int64_t));
	s->bytes -= s->chunks[i].cap * sizeof(int64_t);
	free(s->chunks[i].at);
	s->nchunks--;
	memmove(&s->chunks[i], &s->chunks[i + 1],
		(s->nchunks - i) * sizeof(*s->chunks));
}

/* The last chunk that begins at or below @ts, or the first. There is one. */
static size_t find_chunk(const struct ts_set *s, int64_t ts)
{
	size_t lo = 0, hi = s->nchunks;

	assert(hi > 0);
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->chunks[mid].at[0] <= ts)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Index of the first timestamp in the chunk that is >= @ts. */
static uint32_t find_place(const struct ts_chunk *c, int64_t ts)
{
	uint32_t lo = 0, hi = c->n;

	BISECT(lo, hi, mid, c->at[mid] < ts);
	return lo;
}

int ts_set_fill(struct ts_set *s, const int64_t *descending, size_t n)
{
	while (n) {
		uint32_t k = n < CHUNK_MAX / 2 ? (uint32_t)n : CHUNK_MAX / 2;
		struct ts_chunk *c;

		if (insert_chunk(s, s->nchunks, k) < 0) {
			ts_set_free(s);
			return -ENOMEM;
		}
		c = &s->chunks[s->nchunks - 1];
		while (c->n < k)
			c->at[c->n++] = descending[--n];
		s->n += k;
	}
	return 0;
}

/* Makes space in chunk @i; an addition at the end gets a new chunk. */
static int make_room(struct ts_set *s, size_t i, bool at_end)
{
	struct ts_chunk *c = &s->chunks[i], *next;
	uint32_t keep = at_end ? CHUNK_MAX : CHUNK_MAX / 2;

	if (c->n < c->cap)
		return 0;
	if (c->cap < CHUNK_MAX) {
		uint32_t cap = 2 * c->cap < CHUNK_MIN ? CHUNK_MIN : 2 * c->cap;

		return resize(s, c, cap < CHUNK_MAX ? cap : CHUNK_MAX);
	}
	if (insert_chunk(s, i + 1, at_end ? CHUNK_MIN : CHUNK_MAX) < 0)
		return -ENOMEM;
	c = &s->chunks[i];
	next = c + 1;
	next->n = c->n - keep;
	memcpy(next->at, c->at + keep, next->n * sizeof(*c->at));
	c->n = keep;
	return 0;
}

int ts_set_add(struct ts_set *s, int64_t ts)
{
	struct ts_chunk *c;
	uint32_t place;
	size_t i;

	if (!s->nchunks && insert_chunk(s, 0, CHUNK_MIN) < 0)
		return -ENOMEM;
	i = find_chunk(s, ts);
	c = &s->chunks[i];
	place = find_place(c, ts);
	if (place < c->n && c->at[place] == ts)
		return 0;
	if (make_room(s, i, place == c->n) < 0) {
		if (s->n == 0)
			ts_set_free(s);
		return -ENOMEM;
	}
	c = &s->chunks[i];
	if (place > c->n || (place == c->n && c->n == CHUNK_MAX)) {
		place -= c->n;
		c++;
	}
	memmove(&c->at[place + 1], &c->at[place],
		(c->n - place) * sizeof(*c->at));
	c->at[place] = ts;
	c->n++;
	s->n++;
	return 1;
}

bool ts_set_remove(struct ts_set *s, int64_t ts)
{
	struct ts_chunk *c;
	uint32_t place;
	size_t i;

	if (!s->nchunks)
		return false;
	i = find_chunk(s, ts);
	c = &s->chunks[i];
	place = find_place(c, ts);
	if (place == c->n || c->at[place] != ts)
		return false;
	c->n--;
	s->n--;
	memmove(&c->at[place], &c->at[place + 1],
		(c->n - place) * sizeof(*c->at));
	if (!c->n)
		remove_chunk(s, i);
	else if (c->n < c->cap / 4 && c->cap > CHUNK_MIN)
		(void)resize(s, c, c->cap / 2);
	return true;
}

void ts_set_cut(struct ts_set *s, int64_t ts)
{
	size_t gone = 0;
	struct ts_chunk *c;
	uint32_t place;

	while (gone < s->nchunks &&
	       s->chunks[gone].at[s->chunks[gone].n - 1] <= ts) {
		c = &s->chunks[gone++];
		s->n -= c->n;
		s->bytes -= c->cap * sizeof(*c->at);
		free(c->at);
	}
	s->nchunks -= gone;
	if (!s->nchunks)
		return;
	memmove(s->chunks, s->chunks + gone, s->nchunks * sizeof(*s->chunks));
	c = &s->chunks[0];
	place = find_place(c, ts);
	if (c->at[place] == ts)
		place++;
	c->n -= place;
	s->n -= place;
	memmove(c->at, c->at + place, c->n * sizeof(*c->at));
}

bool ts_set_has(const struct ts_set *s, int64_t ts)
{
	int64_t at;

	return ts_set_at_most(s, ts, &at) && at == ts;
}

bool ts_set_at_most(const struct ts_set *s, int64_t ts, int64_t *out)
{
	const struct ts_chunk *c;
	uint32_t place;

	if (!s->nchunks)
		return false;
	c = &s->chunks[find_chunk(s, ts)];
	place = find_place(c, ts);
	if (place < c->n && c->at[place] == ts)
		place++;
	if (!place)
		return false;
	*out = c->at[place - 1];
	return true;
}

bool ts_set_least(const struct ts_set *s, int64_t *out)
{
	if (!s->nchunks)
		return false;
	*out = s->chunks[0].at[0];
	return true;
}

uint64_t ts_set_above(const struct ts_set *s, int64_t ts)
{
	const struct ts_chunk *c;
	uint64_t above = 0;
	uint32_t place;
	size_t i;

	if (!s->nchunks)
		return 0;
	i = find_chunk(s, ts);
	c = &s->chunks[i];
	place = find_place(c, ts);
	if (place < c->n && c->at[place] == ts)
		place++;
	above = c->n - place;
	while (++i < s->nchunks)
		above += s->chunks[i].n;
	return above;
}
