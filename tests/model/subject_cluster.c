/*
 * A cluster of HBase. Its servers have clocks of their own, so nothing expires;
 * the store's clock, of which timestamps are, is the world's.
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

static int open_store(struct world *w)
{
	const struct store_options o = {.os = w->os};

	return store_open(w->cluster, &o, &w->store);
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
	r = open_store(w);
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

/* Hides a change another one of the same mutation? HBase has it so. */
static bool mixes(const struct step *s)
{
	for (unsigned i = 0; i < s->nchanges; i++)
		for (unsigned k = 0; k < s->nchanges; k++) {
			const struct step_change *a = &s->changes[i];
			const struct step_change *b = &s->changes[k];
			bool a_writes = a->op == CHANGE_PUT ||
					a->op == CHANGE_APPEND ||
					a->op == CHANGE_INCREMENT;
			bool b_writes = b->op == CHANGE_PUT ||
					b->op == CHANGE_APPEND ||
					b->op == CHANGE_INCREMENT;

			if (i != k && (a_writes || b_writes) &&
			    (a->op == CHANGE_DELETE_ROW ||
			     b->op == CHANGE_DELETE_ROW ||
			     a->family == b->family))
				return true;
		}
	return false;
}

/* Is a sum among them whose timestamp is the server's to choose? */
static bool has_server_time(const struct step *s)
{
	for (unsigned i = 0; i < s->nchanges; i++)
		if ((s->changes[i].op == CHANGE_APPEND ||
		     s->changes[i].op == CHANGE_INCREMENT) &&
		    s->changes[i].ts < STEP_TS_FIRST)
			return true;
	return false;
}

/* HBase's markers of families do not hide it: nvb-013. */
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
