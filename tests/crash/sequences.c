#include "tests/crash/sequences.h"

#include <stdio.h>

#include "tests/crash/search.h"

#define LENGTH_MAX 3
#define FORMS 2

/* The columns of an operation; its timestamps are near WORLD_START_MS. */
#define F_EMPTY .family = 0, .qualifier = 0
#define F_P .family = 0, .qualifier = 1
#define G_P .family = 1, .qualifier = 1
#define G_Q .family = 1, .qualifier = 2
#define OLD (STEP_TS_FIRST + 1)
#define EQUAL (STEP_TS_FIRST + 2)

#define PUT_ONE                             \
	.kind = STEP_MUTATE, .nchanges = 1, \
	.changes = {{.op = CHANGE_PUT, F_EMPTY, .value = VALUE_SHORT}}
#define PUT_ROW                                                       \
	.kind = STEP_MUTATE, .nchanges = 4,                           \
	.changes = {{.op = CHANGE_PUT, F_EMPTY, .value = VALUE_LONG}, \
		    {.op = CHANGE_PUT, F_P, .value = VALUE_COUNTER},  \
		    {.op = CHANGE_PUT, G_P, .value = VALUE_SHORT},    \
		    {.op = CHANGE_PUT, G_Q, .value = VALUE_LONG}}
#define PUT_OLD                                                             \
	.kind = STEP_MUTATE, .nchanges = 2,                                 \
	.changes = {                                                        \
		{.op = CHANGE_PUT, F_EMPTY, .ts = EQUAL, .value = VALUE_X}, \
		{.op = CHANGE_PUT, G_P, .ts = OLD, .value = VALUE_SHORT}}
#define DELETE_CELLS                                             \
	.kind = STEP_MUTATE, .nchanges = 3,                      \
	.changes = {{.op = CHANGE_DELETE, F_EMPTY, .ts = EQUAL}, \
		    {.op = CHANGE_DELETE_COLUMN, F_P},           \
		    {.op = CHANGE_DELETE_FAMILY, .family = 1}}
#define DELETE_ROW                          \
	.kind = STEP_MUTATE, .nchanges = 1, \
	.changes = {{.op = CHANGE_DELETE_ROW, .ts = STEP_TS_CLOCK}}
#define INCREMENT                           \
	.kind = STEP_MUTATE, .nchanges = 1, \
	.changes = {{.op = CHANGE_INCREMENT, F_P, .delta = 3}}
#define MANY                                                           \
	.kind = STEP_MANY, .nchanges = 2,                              \
	.changes = {{.op = CHANGE_PUT, F_EMPTY, .value = VALUE_SHORT}, \
		    {.op = CHANGE_APPEND, G_P, .value = VALUE_Y}}

struct form {
	const char *name;
	struct step step;
};

/* What a second form is of those that know no sync is a kind beside them. */
static const struct form kinds[][FORMS] = {
	{{"put", {PUT_ONE}}, {"put sync", {PUT_ONE, .flags = MUTATE_SYNC}}},
	{{"put-row", {PUT_ROW}},
	 {"put-row sync", {PUT_ROW, .flags = MUTATE_SYNC}}},
	{{"put-old", {PUT_OLD}},
	 {"put-old sync", {PUT_OLD, .flags = MUTATE_SYNC}}},
	{{"delete", {DELETE_CELLS}},
	 {"delete sync", {DELETE_CELLS, .flags = MUTATE_SYNC}}},
	{{"delete-row", {DELETE_ROW}},
	 {"delete-row sync", {DELETE_ROW, .flags = MUTATE_SYNC}}},
	{{"increment", {INCREMENT}},
	 {"increment sync", {INCREMENT, .flags = MUTATE_SYNC}}},
	{{"many", {MANY}}, {"many sync", {MANY, .flags = MUTATE_SYNC}}},
	{{"flush", {.kind = STEP_FLUSH}}, {"sync", {.kind = STEP_SYNC}}},
	{{"compact", {.kind = STEP_COMPACT}}},
	{{"reopen", {.kind = STEP_REOPEN}}, {"die", {.kind = STEP_DIE}}},
	{{"alter", {.kind = STEP_ALTER, .versions = 1}},
	 {"family-drop", {.kind = STEP_FAMILY_DROP, .family = 1}}},
	{{"drop", {.kind = STEP_DROP}}, {"create", {.kind = STEP_CREATE}}},
	{{"truncate", {.kind = STEP_TRUNCATE}},
	 {"rename", {.kind = STEP_RENAME}}},
	{{"snapshot", {.kind = STEP_NAMED}},
	 {"clone", {.kind = STEP_NAMED_CLONE}}},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* What is there before: a table, with content in a file and in the log. */
static const struct step prelude[] = {
	{.kind = STEP_CREATE},
	{PUT_ROW},
	{.kind = STEP_MUTATE,
	 .row = 2,
	 .nchanges = 1,
	 .changes = {{.op = CHANGE_PUT, F_EMPTY, .value = VALUE_Y}}},
	{.kind = STEP_FLUSH},
	{PUT_OLD, .flags = MUTATE_SYNC},
};

#define PRELUDE (sizeof(prelude) / sizeof(*prelude))

struct sequence {
	const struct form *forms[LENGTH_MAX];
	size_t n;
};

static size_t list_forms(const struct form *out[KINDS * FORMS])
{
	size_t n = 0;

	for (size_t i = 0; i < KINDS; i++)
		for (size_t k = 0; k < FORMS; k++)
			if (kinds[i][k].name)
				out[n++] = &kinds[i][k];
	return n;
}

/* Shorter ones come first. 0 = there are not so many. */
static int sequence_of(uint64_t number, struct sequence *out)
{
	const struct form *forms[KINDS * FORMS];
	uint64_t base = list_forms(forms), all = base;

	for (out->n = 1; number >= all; all *= base, out->n++) {
		number -= all;
		if (out->n == LENGTH_MAX)
			return 0;
	}
	for (size_t i = out->n; i-- > 0; number /= base)
		out->forms[i] = forms[number % base];
	return 1;
}

static void plan_sequence(const struct options *o, const struct sequence *s,
			  struct plan *p)
{
	struct step steps[PRELUDE + LENGTH_MAX];

	memcpy(steps, prelude, sizeof(prelude));
	for (size_t i = 0; i < s->n; i++)
		steps[PRELUDE + i] = s->forms[i]->step;
	plan_take(p, o->seed, steps, PRELUDE + s->n);
	p->early = o->plant;
}

static void say_sequence(const struct sequence *s, uint64_t number,
			 const struct buf *reason)
{
	run_print(reason);
	fprintf(stderr, "crash: sequence %llu:", (unsigned long long)number);
	for (size_t i = 0; i < s->n; i++)
		fprintf(stderr, "%s %s", i ? "," : "", s->forms[i]->name);
	fprintf(stderr, "\n");
}

static int run_sequence(const struct options *o, uint64_t number,
			const struct sequence *sequence, struct seen *seen,
			struct totals *t)
{
	struct os *os = sim_new(o->seed);
	struct buf reason = {0};
	char again[96];
	struct plan p;
	struct search s = {.o = o,
			   .plan = &p,
			   .totals = t,
			   .seen = seen,
			   .again = again,
			   .reason = &reason};
	int r;

	snprintf(again, sizeof(again),
		 "--sequences --seed %llu --sequence %llu",
		 (unsigned long long)o->seed, (unsigned long long)number);
	plan_sequence(o, sequence, &p);
	r = plan_run(&p, os, os);
	plan_states(&p);
	if (r < 0) {
		say(&reason, "crash: the sequence fails: %d, %s\n", r,
		    store_why());
		r = 1;
	} else {
		s.from = o->at >= 0 ? (size_t)o->at : p.begun[p.nsteps - 1];
		s.to = o->at >= 0 ? s.from + 1 : 0;
		r = search(&s, os);
	}
	if (r && !o->plant)
		say_sequence(sequence, number, &reason);
	t->runs++;
	buf_free(&reason);
	plan_free(&p);
	sim_free(os);
	return r;
}

static int sequences_job(const struct options *o, unsigned nth,
			 struct totals *t)
{
	uint64_t each = o->sequence >= 0 ? 1 : o->sample;
	uint64_t number =
		o->sequence >= 0 ? (uint64_t)o->sequence : o->seed % each;
	struct sequence s;
	struct seen seen = {0};
	int r = 0;

	for (number += nth * each; r == 0 && !run_is_over(o);
	     number += o->jobs * each) {
		if (!sequence_of(number, &s))
			break;
		r = run_sequence(o, number, &s, &seen, t);
		if (o->sequence >= 0)
			break;
	}
	seen_free(&seen);
	return r;
}

int sequences(const struct options *o)
{
	return run_all(o, "sequences", sequences_job);
}
