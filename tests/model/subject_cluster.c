/*
 * A cluster of HBase. Timestamps come from the store's clock, which is the
 * world's. HBase's servers have clocks of their own, by which cells expire, so
 * no run has a ttl.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/os/os.h"
#include "tests/model/subject.h"

struct cluster_os {
	struct os os;
	struct os_ops ops;
	int64_t now_ms;
};

static int64_t now_ms(struct os *os)
{
	return ((struct cluster_os *)os)->now_ms;
}

static void set_now(struct world *w, int64_t now)
{
	((struct cluster_os *)w->os)->now_ms = now;
}

/* What a run left, or one before it that was killed. */
static int drop_tables(struct store *s)
{
	static const char *const names[] = {"t0", "u0", "t1", "u1"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(*names); i++) {
		r = store_table_drop(s, bytes_str(names[i]), false);
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

int subject_cluster(const char *name, struct world *w)
{
	struct cluster_os *os = calloc(1, sizeof(*os));
	const struct store_options o = {.os = &os->os};
	int r;

	if (!os)
		return -ENOMEM;
	/* The functions of the real one have no state of their own. */
	os->ops = *os_posix()->ops;
	os->ops.now_ms = now_ms;
	os->os.ops = &os->ops;
	os->now_ms = WORLD_START_MS;
	w->os = &os->os;
	w->cluster = name;
	w->set_now = set_now;
	r = store_open(name, &o, &w->store);
	if (r == 0)
		r = drop_tables(w->store);
	if (r < 0)
		subject_cluster_free(w);
	return r;
}

void subject_cluster_free(struct world *w)
{
	if (w->store) {
		drop_tables(w->store);
		store_close(w->store);
	}
	free(w->os);
	w->store = NULL;
	w->os = NULL;
}

static bool is_sum(const struct step_change *c)
{
	return c->op == CHANGE_APPEND || c->op == CHANGE_INCREMENT;
}

static bool writes(const struct step_change *c)
{
	return c->op == CHANGE_PUT || is_sum(c);
}

/*
 * Does it write into a family that it changes twice? In HBase the changes of one
 * mutation hide each other otherwise than here.
 */
static bool mixes(const struct step *s)
{
	for (unsigned i = 0; i < s->nchanges; i++)
		for (unsigned k = 0; k < s->nchanges; k++) {
			const struct step_change *a = &s->changes[i];
			const struct step_change *b = &s->changes[k];

			if (i != k && writes(a) &&
			    (b->op == CHANGE_DELETE_ROW ||
			     a->family == b->family))
				return true;
		}
	return false;
}

/* Does it add to a value at a time that the server chooses? */
static bool has_server_time(const struct step *s)
{
	for (unsigned i = 0; i < s->nchanges; i++)
		if (is_sum(&s->changes[i]) && s->changes[i].ts < STEP_TS_FIRST)
			return true;
	return false;
}

/* HBase's markers of families do not hide the empty qualifier: nvb-013. */
static bool has_empty_qualifier(const struct step *s)
{
	for (unsigned i = 0; i < s->nchanges; i++)
		if (s->changes[i].op != CHANGE_DELETE_ROW &&
		    !kind_is_family_marker(s->changes[i].op) &&
		    !step_qualifier(s->changes[i].qualifier).len)
			return true;
	return false;
}

bool subject_cluster_can(const struct step *s)
{
	switch (s->kind) {
	case STEP_MUTATE:
	case STEP_MANY:
		return !mixes(s) && !has_server_time(s) &&
		       !has_empty_qualifier(s);
	case STEP_SCAN:
		return !s->snapshot && !s->scan.as_of;
	case STEP_GET:
		return !s->snapshot;
	case STEP_DUMP:
	case STEP_CLOCK:
	case STEP_SYNC:
	case STEP_FLUSH:
		return true;
	default:
		return false;
	}
}
