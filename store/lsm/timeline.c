#include "store/lsm/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void timeline_free(struct timeline *t)
{
	free(t->open);
	free(t->steps);
	*t = (struct timeline){0};
}

/* Room for @more elements of @size in a growing array. 0 or -ENOMEM. */
static int reserve(void **array, size_t *cap, size_t n, size_t more,
		   size_t size)
{
	size_t want = *cap ? *cap : 16;
	void *grown;

	if (*cap - n >= more)
		return 0;
	while (want - n < more)
		if (__builtin_mul_overflow(want, (size_t)2, &want))
			return -ENOMEM;
	grown = reallocarray(*array, want, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*cap = want;
	return 0;
}

/* The index of the step that holds at @moment. */
static size_t step_at(const struct timeline *t, uint64_t moment)
{
	size_t lo = 0, hi = t->nsteps - 1;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->steps[mid].from <= moment)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Makes a step begin at @moment; the caller has reserved room. */
static size_t cut(struct timeline *t, uint64_t moment)
{
	size_t i = step_at(t, moment);

	if (t->steps[i].from == moment)
		return i;
	memmove(&t->steps[i + 1], &t->steps[i],
		(t->nsteps - i) * sizeof(t->steps[0]));
	t->steps[i].from = moment;
	t->nsteps++;
	return i;
}

static int add_steps(struct timeline *t, uint64_t from, uint64_t to)
{
	size_t first, last;
	int r = reserve((void **)&t->steps, &t->steps_cap, t->nsteps, 3,
			sizeof(t->steps[0]));

	if (r < 0)
		return r;
	if (t->nsteps == 0)
		t->steps[t->nsteps++] = (struct timeline_step){0, 0};
	/* The later cut first: it does not move what lies before it in time. */
	last = to == SEQ_NEVER ? 0 : cut(t, to) + 1;
	first = cut(t, from);
	for (size_t i = last; i <= first; i++)
		t->steps[i].alive++;
	return 0;
}

int timeline_add_slow(struct timeline *t, uint64_t from, uint64_t to)
{
	int r;

	if (to <= from)
		return 0;
	if (!t->stepped && to == SEQ_NEVER) {
		r = reserve((void **)&t->open, &t->open_cap, t->nopen, 1,
			    sizeof(t->open[0]));
		if (r == 0)
			t->open[t->nopen++] = from;
		return r;
	}
	if (!t->stepped) {
		t->stepped = true;
		for (size_t i = 0; i < t->nopen; i++) {
			r = add_steps(t, t->open[i], SEQ_NEVER);
			if (r < 0)
				return r;
		}
	}
	return add_steps(t, from, to);
}

uint64_t timeline_first(const struct timeline *t, uint64_t n, uint64_t from,
			uint64_t to)
{
	size_t i;

	if (t->nsteps == 0)
		return to;
	for (i = step_at(t, from);; i--) {
		uint64_t begins = t->steps[i].from;

		if (begins >= to)
			return to;
		if (t->steps[i].alive >= n)
			return begins > from ? begins : from;
		if (i == 0)
			return to;
	}
}
