#include "tests/crash/search.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *volatile again_now;
static volatile size_t entry_now;

static void on_signal(int sig)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 "crash: signal %d in crash %s --at %zu\n", sig,
			 again_now ? again_now : "", entry_now);

	if (write(2, text, (size_t)n) != n)
		_exit(3);
	signal(sig, SIG_DFL);
	raise(sig);
}

void search_guard(void)
{
	signal(SIGSEGV, on_signal);
	signal(SIGABRT, on_signal);
	signal(SIGBUS, on_signal);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t state = a * 0x100000001b3 ^ b;

	return step_random(&state);
}

static bool put_hash(struct seen *s, uint64_t hash)
{
	size_t i = (size_t)hash & (s->cap - 1);

	for (; s->slots[i]; i = (i + 1) & (s->cap - 1))
		if (s->slots[i] == hash)
			return false;
	s->slots[i] = hash;
	s->n++;
	return true;
}

static void grow(struct seen *s)
{
	struct seen more = {.cap = s->cap ? s->cap * 2 : 1024};

	more.slots = calloc(more.cap, sizeof(*more.slots));
	if (!more.slots)
		abort();
	for (size_t i = 0; i < s->cap; i++)
		if (s->slots[i])
			put_hash(&more, s->slots[i]);
	free(s->slots);
	*s = more;
}

void seen_free(struct seen *seen)
{
	free(seen->slots);
	*seen = (struct seen){0};
}

/* A disk that may show the same states was judged before. */
static bool was_judged(const struct search *s, const struct sim_image *image,
		       const struct verdict_options *v)
{
	uint64_t hash = image->hash;

	for (size_t i = v->lowest; i <= v->highest; i++)
		hash = mix(hash, s->plan->states[i].hash);
	if (s->seen->n * 2 >= s->seen->cap)
		grow(s->seen);
	return !put_hash(s->seen, hash | 1);
}

static void say_where(const struct search *s, const struct sim_image *image,
		      const char *what)
{
	const struct options *o = s->o;

	say(s->reason,
	    "crash: seed %llu, before entry %zu, %s: %s%s; again with:\n"
	    "crash: crash %s --at %zu --thorough %u --nested %u --random %u "
	    "--corners %u --all %u\n",
	    (unsigned long long)s->plan->seed, image->at,
	    image->killed ? "the process died" : "the power went", image->how,
	    what, s->again, image->at, o->thorough, o->nested, o->random,
	    o->corners, o->all);
}

/* Recovery is crashed too: whatever it left must be judged the same. */
static int judge_nested(const struct search *s, struct os *os,
			const struct verdict_options *v,
			const struct sim_image *outer)
{
	const struct sim_crash_options o = {
		.seed = v->seed, .random = 2, .corners = 2};
	struct sim_crash *c;
	struct sim_image image;
	struct verdict_options inner = *v;
	int r = 0;

	c = sim_crash_new(os, &o);
	while (r == 0 && sim_crash_next(c, &image) > 0) {
		s->totals->nested++;
		inner.thorough = mix(v->seed, image.hash) % 64 == 0;
		r = verdict(&inner, image.os, s->reason);
		if (r) {
			say_where(s, outer, ", and again in recovery:");
			say(s->reason, "crash: recovery at entry %zu: %s\n",
			    image.at, image.how);
		}
	}
	sim_crash_free(c);
	return r;
}

static bool one_in(unsigned n, uint64_t chance)
{
	return n && chance % n == 0;
}

/*
 * What is done with a disk follows from the disk, so that it is done again
 * when only its entry is looked at.
 */
static int judge(const struct search *s, const struct sim_image *image)
{
	struct totals *t = s->totals;
	struct verdict_options v = {
		.plan = s->plan,
		.seed = mix(s->plan->seed, image->hash),
	};
	bool nested;
	int r;

	entry_now = image->at;
	verdict_bounds(s->plan, image, &v.lowest, &v.highest);
	if (was_judged(s, image, &v)) {
		t->repeats++;
		return 0;
	}
	t->images++;
	nested = one_in(s->o->nested, mix(v.seed, 1));
	/* Not both: what goes on leaves the states of the plan. */
	v.thorough = !nested && one_in(s->o->thorough, mix(v.seed, 2));
	t->thorough += v.thorough;
	r = verdict(&v, image->os, s->reason);
	if (r) {
		say_where(s, image, "");
		if (s->o->say)
			run_print(s->reason);
		return r;
	}
	return nested ? judge_nested(s, image->os, &v, image) : 0;
}

int search(const struct search *s, struct os *os)
{
	const struct sim_crash_options o = {
		.from = s->from,
		.to = s->to,
		.step = s->step,
		.seed = s->plan->seed,
		.random = s->o->random,
		.corners = s->o->corners,
		.all = s->o->all,
	};
	uint64_t before = s->totals->images;
	struct sim_crash *c = sim_crash_new(os, &o);
	struct sim_image image;
	int r = 0;

	again_now = s->again;
	while (r == 0) {
		if (s->limit ? s->totals->images - before >= s->limit
			     : run_is_over(s->o))
			break;
		if (sim_crash_next(c, &image) == 0)
			break;
		r = judge(s, &image);
	}
	s->totals->repeats += sim_crash_repeats(c);
	sim_crash_free(c);
	return r;
}
