#include "tests/crash/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "tests/model/ref_store.h"
#include "tests/sim/os_sim.h"

static void die(const char *what)
{
	fprintf(stderr, "crash: %s: %s\n", what, store_why());
	exit(2);
}

static void *zeroed(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		die("out of memory");
	return p;
}

static bool is_read(uint8_t kind)
{
	return kind >= STEP_SCAN && kind <= STEP_DUMP;
}

static void plan_new(struct plan *p, uint64_t seed, size_t n)
{
	*p = (struct plan){.seed = seed, .nsteps = n};
	p->mode = (struct step_mode){
		.tables = true,
		.named = seed % 3 != 0,
		.tiny = true,
		.narrow = seed % 2 == 0,
		.sync = seed % 4 == 0,
	};
	p->steps = zeroed(n, sizeof(*p->steps));
	p->given = zeroed(n, sizeof(*p->given));
	p->before = zeroed(n, sizeof(*p->before));
	p->after = zeroed(n, sizeof(*p->after));
	p->begun = zeroed(n, sizeof(*p->begun));
}

void plan_make(struct plan *p, uint64_t seed, size_t n)
{
	uint64_t random = seed * 31 + 7;

	plan_new(p, seed, n + STEP_TABLES);
	for (size_t i = 0; i < p->nsteps; i++) {
		struct step *s = &p->steps[i];

		do
			step_make(&random, &p->mode, (uint32_t)i, s);
		while (is_read(s->kind));
		if (i < STEP_TABLES)
			*s = (struct step){.id = (uint32_t)i,
					   .kind = STEP_CREATE,
					   .table = (uint8_t)i};
	}
}

void plan_take(struct plan *p, uint64_t seed, const struct step *steps,
	       size_t n)
{
	plan_new(p, seed, n);
	memcpy(p->steps, steps, n * sizeof(*steps));
	for (size_t i = 0; i < n; i++)
		p->steps[i].id = (uint32_t)i;
}

static void states_free(struct plan *p)
{
	for (size_t i = 0; i < p->nstates; i++) {
		buf_free(&p->states[i].text);
		buf_free(&p->states[i].dump);
	}
	free(p->states);
	p->states = NULL;
	p->nstates = 0;
}

void plan_free(struct plan *p)
{
	states_free(p);
	free(p->steps);
	free(p->given);
	free(p->before);
	free(p->after);
	free(p->begun);
}

static void ref_begin(struct world *w)
{
	*w = (struct world){.tiny = true};
	if (ref_store_open(world_clock, false, &w->store) < 0)
		die("the reference does not open");
	world_set_now(w, WORLD_START_MS);
}

static void state_add(struct plan *p, struct world *w, size_t step)
{
	struct plan_state *s = &p->states[p->nstates++];

	s->step = step;
	if (step < p->shown)
		return;
	world_content(w, &s->text);
	s->hash = XXH3_64bits(s->text.data, s->text.len);
}

/* One row of many, as a mutation of its own. */
static struct step row_of_many(const struct step *many, unsigned row)
{
	struct step s = *many;

	s.kind = STEP_MUTATE;
	s.row = (uint8_t)row;
	s.nchecks = 0;
	return s;
}

/* Applies step @index in parts, up to @parts of them. Calls after each. */
static void ref_step(const struct plan *p, struct world *w, size_t index,
		     unsigned parts, struct plan *record)
{
	const struct step *s = &p->steps[index];
	const struct plan_given *given = &p->given[index];
	struct buf answer = {0};

	/* Two acts: a crash may come between. */
	if (s->kind == STEP_NAMED_CLONE && (s->family || w->tables[s->table])) {
		world_make_room(w, s);
		if (record)
			state_add(record, w, index);
		if (parts < 2)
			return;
	}
	if (s->kind != STEP_MANY) {
		ref_store_hint(w->store, given->ts, given->n);
		world_apply(w, s, &answer);
		if (record)
			state_add(record, w, index);
		buf_free(&answer);
		return;
	}
	for (unsigned row = 0; row < parts && row < STEP_ROWS; row++) {
		struct step one = row_of_many(s, row);
		size_t from = (size_t)row * s->nchanges;

		if (from < given->n)
			ref_store_hint(w->store, given->ts + from,
				       given->n - from);
		world_apply(w, &one, &answer);
		if (record)
			state_add(record, w, index);
		/* As table_mutate_many() stops at what fails. */
		if (w->result < 0)
			break;
	}
	buf_free(&answer);
}

static void ref_end(struct world *w)
{
	world_detach(w);
	store_close(w->store);
}

/* Contents of steps before @from are left out, and what comes after @to. */
static void make_states(struct plan *p, size_t from, size_t to)
{
	struct world w;

	states_free(p);
	ref_begin(&w);
	p->states = zeroed(STEP_ROWS * p->nsteps + 1, sizeof(*p->states));
	p->shown = from;
	state_add(p, &w, 0);
	for (size_t i = 0; i < p->nsteps; i++) {
		p->before[i] = p->nstates - 1;
		if (i <= to)
			ref_step(p, &w, i, STEP_ROWS, p);
		p->after[i] = p->nstates - 1;
	}
	ref_end(&w);
}

void plan_states(struct plan *p)
{
	make_states(p, 0, p->nsteps);
}

void plan_states_left(struct plan *p)
{
	size_t sure = p->marked[MARK_PROMISED], begun = p->marked[MARK_BEGUN];

	make_states(p, sure ? sure - 1 : 0, begun ? begun - 1 : 0);
}

void plan_replay(const struct plan *p, size_t state, struct world *w)
{
	ref_begin(w);
	for (size_t i = 0; i < p->nsteps && p->before[i] < state; i++)
		ref_step(p, w, i, (unsigned)(state - p->before[i]), NULL);
	/* The handles that one has who opens it. */
	world_detach(w);
	if (world_attach(w) < 0)
		die("the reference does not open its tables");
}

/* Is all up to the step on disk when it has returned? */
static bool promises(const struct step *s, int result)
{
	switch (s->kind) {
	case STEP_MUTATE:
		return (s->flags & MUTATE_SYNC) && result > 0;
	case STEP_MANY:
		return (s->flags & MUTATE_SYNC) && result >= 0;
	case STEP_SYNC:
	case STEP_FLUSH:
	case STEP_COMPACT:
	case STEP_REOPEN:
	case STEP_CREATE:
	case STEP_DROP:
	case STEP_TRUNCATE:
	case STEP_RENAME:
	case STEP_ALTER:
	case STEP_FAMILY_ADD:
	case STEP_FAMILY_DROP:
	case STEP_NAMED:
	case STEP_NAMED_DROP:
	case STEP_NAMED_RENAME:
	case STEP_NAMED_RESTORE:
	case STEP_NAMED_CLONE:
		return result == 0;
	}
	return false;
}

/* What a healthy store never answers. */
static bool is_trouble(int result)
{
	static const int trouble[] = {EROFS,  EIO,    EUCLEAN, ENOMEM, ENOSPC,
				      EDQUOT, EMFILE, ENFILE,  EINTR};

	for (size_t i = 0; i < sizeof(trouble) / sizeof(*trouble); i++)
		if (result == -trouble[i])
			return true;
	return false;
}

/* A file of it could not be read; store_stat() tells. */
static bool is_damaged(struct store *s)
{
	struct store_stat st;

	for (unsigned i = 0; store_stat(s, i, &st) > 0; i++)
		if (!strcmp(st.name, "sstables_damaged"))
			return st.value > 0;
	return false;
}

static void mark(struct plan *p, struct os *disk, enum plan_mark kind,
		 size_t step)
{
	sim_mark(disk, kind, step);
	p->marked[kind] = step + 1;
}

int plan_run(struct plan *p, struct os *os, struct os *disk)
{
	struct world w = {.tiny = true, .narrow = p->mode.narrow};
	struct buf answer = {0};
	int r = subject_lsm_open(os, disk, &w);

	memset(p->marked, 0, sizeof(p->marked));
	if (r < 0)
		return r;
	world_set_now(&w, WORLD_START_MS);
	for (size_t i = 0; r == 0 && i < p->nsteps; i++) {
		const struct step *s = &p->steps[i];

		p->begun[i] = sim_log_length(disk);
		mark(p, disk, MARK_BEGUN, i);
		answer.len = 0;
		world_apply(&w, s, &answer);
		p->given[i].n = w.ngiven;
		memcpy(p->given[i].ts, w.given, sizeof(w.given));
		if (is_trouble(w.result)) {
			r = w.result;
			break;
		}
		/* Around damage it keeps markers that the reference drops. */
		if (s->kind == STEP_COMPACT && is_damaged(w.store)) {
			r = -EUCLEAN;
			break;
		}
		mark(p, disk, MARK_DONE, i);
		if (promises(s, w.result) ||
		    (p->early && s->kind == STEP_MUTATE && w.result > 0))
			mark(p, disk, MARK_PROMISED, i);
	}
	world_detach(&w);
	if (w.store) {
		int c = store_close(w.store);

		r = r ? r : c;
		if (r == 0)
			mark(p, disk, MARK_PROMISED, p->nsteps - 1);
	}
	buf_free(&answer);
	return r;
}
