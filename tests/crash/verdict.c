#include "tests/crash/verdict.h"

#include <stdlib.h>

#include <xxhash.h>

#include "store/lsm/admin/engine.h"
#include "tests/model/ref_store.h"

#define MORE_STEPS 18
static const uint8_t last_steps[] = {STEP_SYNC, STEP_FLUSH, STEP_COMPACT,
				     STEP_REOPEN, STEP_DUMP};
/* Later than every timestamp of the plan. */
#define LATER_MS (WORLD_START_MS + 100000)

void verdict_bounds(const struct plan *p, const struct sim_image *image,
		    size_t *lowest, size_t *highest)
{
	enum plan_mark sure = image->killed ? MARK_DONE : MARK_PROMISED;

	*lowest = image->marked[sure] ? p->after[image->marks[sure]] : 0;
	*highest = image->marked[MARK_BEGUN]
			   ? p->after[image->marks[MARK_BEGUN]]
			   : 0;
	/* Promised when it was closed, after the last step was begun. */
	if (*highest < *lowest)
		*highest = *lowest;
}

static int open_image(const struct plan *p, struct os *os, struct world *w,
		      struct buf *text)
{
	int r;

	*w = (struct world){.tiny = true, .narrow = p->mode.narrow};
	r = subject_lsm_open(os, os, w);
	if (r < 0) {
		say(text, "it does not open: %d, %s\n", r, store_why());
		return 1;
	}
	/* A read must not depend on when it happens. */
	world_set_now(w, LATER_MS);
	r = world_attach(w);
	if (r < 0) {
		say(text, "a table does not open: %d, %s\n", r, store_why());
		return 1;
	}
	return 0;
}

static int close_image(struct world *w, struct buf *text)
{
	int r;

	world_detach(w);
	r = store_close(w->store);
	if (r < 0)
		say(text, "closing it: %d, %s\n", r, store_why());
	return r < 0;
}

/* The last allowed state with this content, or -1. */
static long state_of(const struct verdict_options *o, const struct buf *content)
{
	uint64_t hash = XXH3_64bits(content->data, content->len);

	for (size_t i = o->highest + 1; i-- > o->lowest;)
		if (o->plan->states[i].hash == hash)
			return (long)i;
	return -1;
}

static void say_wrong(const struct verdict_options *o,
		      const struct buf *content, struct buf *text)
{
	const struct plan_state *low = &o->plan->states[o->lowest];
	const struct plan_state *high = &o->plan->states[o->highest];

	say(text, "the content is none of the states %zu..%zu\n", o->lowest,
	    o->highest);
	for (size_t i = 0; i < o->plan->nstates; i++)
		if (bytes_eq(buf_bytes(&o->plan->states[i].text),
			     buf_bytes(content)))
			say(text, "(it is state %zu, of step %zu)\n", i,
			    o->plan->states[i].step);
	say(text, "---- it holds\n");
	buf_append(text, content->data, content->len);
	say(text, "---- after step %zu, which was sure, it was\n", low->step);
	buf_append(text, low->text.data, low->text.len);
	say(text, "---- after step %zu, the last begun, it was\n", high->step);
	buf_append(text, high->text.data, high->text.len);
}

struct look {
	struct buf *text;
	int catalogs, bad;
};

static void say_fault(void *arg, const char *sentence)
{
	struct look *l = arg;

	say(l->text, "check: %s\n", sentence);
	l->bad++;
}

static int look_at(void *arg, const char *name)
{
	struct look *l = arg;
	size_t n = strlen(name);

	l->catalogs +=
		n == strlen("CATALOG-") + 16 && !strncmp(name, "CATALOG-", 8);
	if (!strcmp(name, "CATALOG.new")) {
		say(l->text, "%s lies about\n", name);
		l->bad++;
	}
	return 0;
}

/* Of the store at rest: nothing damaged, nothing left over. */
static int look_around(struct os *os, struct buf *text)
{
	struct look l = {.text = text};
	struct os_dir *d = NULL;
	int r = lsm_check("/store", os, NULL, NULL, say_fault, &l);

	if (r < 0)
		say(text, "check cannot look: %d, %s\n", r, store_why());
	if (os_dir_open(os, "/store", false, &d) == 0)
		os_dir_list(d, look_at, &l);
	os_dir_close(d);
	if (l.catalogs != 1)
		say(text, "there are %d catalogs\n", l.catalogs);
	return r != 0 || l.bad || l.catalogs != 1;
}

static int same(struct world *w, const struct buf *reference, const char *when,
		void (*what)(struct world *, struct buf *), struct buf *text)
{
	struct buf a = {0};
	int r;

	what(w, &a);
	r = !bytes_eq(buf_bytes(&a), buf_bytes(reference));
	if (r) {
		say(text, "%s the store and the reference differ\n", when);
		say_difference(text, &a, reference);
	}
	buf_free(&a);
	return r;
}

/*
 * The @i-th of the steps that follow from the seed, and then the last ones. The
 * first ones write to each table: a write that changed nothing to be seen may
 * be lost or not, and must not decide which of two snapshots is the later one.
 */
static void more_step(uint64_t *random, unsigned i, struct step *s)
{
	static const struct step_mode mode = {
		.tables = true, .named = true, .tiny = true};

	if (i < STEP_TABLES) {
		*s = (struct step){
			.id = 10000 + i,
			.kind = STEP_MUTATE,
			.table = (uint8_t)i,
			.nchanges = 1,
			.changes = {{.op = CHANGE_PUT, .value = VALUE_SHORT}},
		};
		return;
	}
	step_make(random, &mode, 10000 + i, s);
	if (i >= MORE_STEPS)
		s->kind = last_steps[i - MORE_STEPS];
}

static void say_more_steps(uint64_t random, unsigned upto, struct buf *text)
{
	struct step s;

	say(text, "going on, the answers differ at the last of\n");
	for (unsigned i = 0; i <= upto; i++) {
		more_step(&random, i, &s);
		step_format(&s, text);
	}
}

/* Random steps on both, then a flush, a compaction and a new start. */
static int go_on(const struct verdict_options *o, struct world *w,
		 struct world *ref, struct buf *text)
{
	uint64_t random = o->seed;
	struct buf a = {0}, b = {0};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < MORE_STEPS + sizeof(last_steps);
	     i++) {
		struct step s;

		more_step(&random, i, &s);
		a.len = b.len = 0;
		world_apply(w, &s, &a);
		ref_store_hint(ref->store, w->given, w->ngiven);
		world_apply(ref, &s, &b);
		r = !bytes_eq(buf_bytes(&a), buf_bytes(&b));
		if (r) {
			say_more_steps(o->seed, i, text);
			say_difference(text, &a, &b);
		}
	}
	buf_free(&a);
	buf_free(&b);
	return r;
}

/* The process dies and starts. */
static int start_again(struct world *w, struct buf *text)
{
	int r;

	world_detach(w);
	r = w->reopen(w, true);
	if (r == 0)
		r = world_attach(w);
	if (r < 0)
		say(text, "it does not open a second time: %d, %s\n", r,
		    store_why());
	return r < 0;
}

static int examine(const struct verdict_options *o, struct world *w,
		   struct buf *text)
{
	struct plan_state *expected;
	struct buf content = {0};
	struct world ref;
	long state;
	int r;

	world_content(w, &content);
	state = state_of(o, &content);
	if (state < 0)
		say_wrong(o, &content, text);
	buf_free(&content);
	if (state < 0)
		return 1;
	if (!o->thorough)
		return 0;
	expected = &o->plan->states[state];
	plan_replay(o->plan, (size_t)state, &ref);
	world_set_now(&ref, LATER_MS);
	if (!expected->dump.len)
		world_dump(&ref, &expected->dump);
	r = same(w, &expected->dump, "read in other ways,", world_dump, text);
	if (r == 0)
		r = start_again(w, text);
	if (r == 0)
		r = same(w, &expected->text, "opened a second time,",
			 world_content, text);
	if (r == 0)
		r = go_on(o, w, &ref, text);
	world_detach(&ref);
	store_close(ref.store);
	return r;
}

int verdict(const struct verdict_options *o, struct os *os, struct buf *text)
{
	struct world w;
	int r = open_image(o->plan, os, &w, text);

	if (r == 0)
		r = examine(o, &w, text);
	if (w.store)
		r |= close_image(&w, text);
	if (r == 0)
		r = look_around(os, text);
	return r;
}
