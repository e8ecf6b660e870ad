/* The runs of columns that show nothing. */
#include "store/lsm/rules/alive_inside.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/base/bisect.h"
#include "store/value/array.h"

/* The most runs of a row: so many times the patience. No more are kept. */
#define RUNS_MAX 256
/* A run is worth keeping after a walk over so many times the patience. */
#define RUN_MIN 2

static size_t run_bytes(const struct alive_run *run)
{
	return sizeof(*run) + sizeof(run) + run->from.cap + run->to.cap;
}

static void run_free(struct alive_run *run)
{
	if (!run)
		return;
	buf_free(&run->from);
	buf_free(&run->to);
	free(run);
}

/* NULL without memory. */
static struct alive_run *run_new(struct bytes from, struct bytes to, bool open,
				 uint64_t since)
{
	struct alive_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->open = open;
	run->since = since;
	if (buf_set(&run->from, from) < 0 || buf_set(&run->to, to) < 0) {
		run_free(run);
		return NULL;
	}
	return run;
}

/* Removes @n runs from index @i on. */
static void runs_remove(struct alive *a, struct alive_row *r, size_t i,
			size_t n)
{
	for (size_t k = i; k < i + n; k++) {
		alive_row_weigh(a, r, run_bytes(r->runs[k]), 0);
		run_free(r->runs[k]);
	}
	r->nruns -= n;
	if (r->nruns > i)
		memmove(&r->runs[i], &r->runs[i + n],
			(r->nruns - i) * sizeof(*r->runs));
}

void alive_runs_forget(struct alive *a, struct alive_row *r)
{
	runs_remove(a, r, 0, r->nruns);
}

/* Inserts @run (frees it on failure; NULL is a failure). 0 or -ENOMEM. */
static int runs_insert(struct alive *a, struct alive_row *r, size_t i,
		       struct alive_run *run)
{
	if (!run || r->nruns >= RUNS_MAX * a->patience ||
	    ARRAY_RESERVE(r->runs, r->runs_cap, r->nruns + 1) < 0) {
		run_free(run);
		return -ENOMEM;
	}
	memmove(&r->runs[i + 1], &r->runs[i],
		(r->nruns - i) * sizeof(*r->runs));
	r->runs[i] = run;
	r->nruns++;
	alive_row_weigh(a, r, 0, run_bytes(run));
	return 0;
}

static bool ends_before(const struct alive_run *run, struct bytes qualifier)
{
	return !run->open && bytes_cmp(buf_bytes(&run->to), qualifier) < 0;
}

/* The index of the first run that does not end before @qualifier. */
static size_t run_place(const struct alive_row *r, struct bytes qualifier)
{
	size_t lo = 0, hi = r->nruns;

	BISECT(lo, hi, mid, ends_before(r->runs[mid], qualifier));
	return lo;
}

/* The index of the run that contains the column, or nruns. */
static size_t run_of(const struct alive_row *r, struct bytes qualifier)
{
	size_t i = run_place(r, qualifier);

	/* A run may end where the next one begins. */
	if (i < r->nruns && !r->runs[i]->open &&
	    bytes_eq(buf_bytes(&r->runs[i]->to), qualifier))
		i++;
	if (i < r->nruns &&
	    bytes_cmp(buf_bytes(&r->runs[i]->from), qualifier) > 0)
		return r->nruns;
	return i;
}

/* The first name after @qualifier: the same with a NUL byte appended. */
static int next_name(struct buf *out, struct bytes qualifier)
{
	int r = buf_set(out, qualifier);

	return r < 0 ? r : buf_append(out, "", 1);
}

void alive_runs_cut(struct alive *a, struct alive_row *r,
		    struct bytes qualifier)
{
	size_t i = run_of(r, qualifier);
	struct alive_run *run, *left = NULL, *right = NULL;
	struct buf next = {0};
	bool has_left, has_right;

	if (i == r->nruns)
		return;
	run = r->runs[i];
	if (next_name(&next, qualifier) < 0) {
		runs_remove(a, r, i, 1);
		return;
	}
	has_left = bytes_cmp(buf_bytes(&run->from), qualifier) < 0;
	has_right = run->open ||
		    bytes_cmp(buf_bytes(&next), buf_bytes(&run->to)) < 0;
	if (has_left)
		left = run_new(buf_bytes(&run->from), qualifier, false,
			       run->since);
	if (has_right)
		right = run_new(buf_bytes(&next), buf_bytes(&run->to),
				run->open, run->since);
	buf_free(&next);
	runs_remove(a, r, i, 1);
	if (has_right && runs_insert(a, r, i, right) < 0)
		has_left = false;
	if (has_left)
		(void)runs_insert(a, r, i, left);
	else
		run_free(left);
	if (r->nruns >= RUNS_MAX * a->patience)
		alive_runs_forget(a, r);
}

int alive_hidden(struct alive *a, const struct alive_place *p,
		 struct bytes qualifier, uint64_t seq, struct buf *to)
{
	struct alive_row *r;
	int found = -1;
	size_t i;

	if (!atomic_load(&a->nrows))
		return -1;
	pthread_mutex_lock(&a->lock);
	r = alive_row_find(a, p);
	i = r ? run_of(r, qualifier) : 0;
	if (r && i < r->nruns && seq >= r->runs[i]->since) {
		found = r->runs[i]->open ? 0 : 1;
		if (found && buf_set(to, buf_bytes(&r->runs[i]->to)) < 0)
			found = -1;
	}
	pthread_mutex_unlock(&a->lock);
	return found;
}

/* Adds a run, joined with those it meets, unless one of these is newer. */
static void add_run(struct alive *a, struct alive_row *r, struct bytes from,
		    struct bytes to, bool open, uint64_t seq)
{
	size_t i = run_place(r, from), n = 0;
	struct alive_run *run;

	for (; i + n < r->nruns; n++) {
		const struct alive_run *met = r->runs[i + n];

		if (!open && bytes_cmp(buf_bytes(&met->from), to) > 0)
			break;
		if (met->since > seq)
			return;
	}
	if (n) {
		const struct alive_run *first = r->runs[i];
		const struct alive_run *last = r->runs[i + n - 1];

		if (bytes_cmp(buf_bytes(&first->from), from) < 0)
			from = buf_bytes(&first->from);
		if (last->open || bytes_cmp(buf_bytes(&last->to), to) > 0)
			to = buf_bytes(&last->to);
		open |= last->open;
	}
	run = run_new(from, to, open, seq);
	if (!run)
		return;
	runs_remove(a, r, i, n);
	(void)runs_insert(a, r, i, run);
}

void alive_found_hidden(struct alive *a, const struct alive_place *p,
			struct bytes from, const struct bytes *to, uint64_t seq,
			uint64_t walked)
{
	struct bytes end = to ? *to : (struct bytes){0};
	struct alive_row *r;

	if (walked < RUN_MIN * a->patience)
		return;
	pthread_mutex_lock(&a->lock);
	r = alive_row_watch(a, p);
	if (r && r->settled && seq >= r->put_seq)
		add_run(a, r, from, end, !to, seq);
	alive_trim(a);
	pthread_mutex_unlock(&a->lock);
}
