/*
 * A cluster of HBase. Timestamps come from the store's clock, which is the
 * world's. HBase's servers have clocks of their own, by which cells expire, so
 * no run has a ttl.
 *
 * What HBase shows of versions beyond `versions` depends on when it flushes. So
 * a run either keeps few versions, and reads no range of time behind a flush, or
 * so many that none is pushed out.
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

static int drop_snapshots(struct store *s, struct bytes table)
{
	struct snapshot_info info = {.name = ""};
	struct table *t;
	int r = table_open(s, table, &t);

	if (r < 0)
		return r;
	while (r >= 0 &&
	       (r = store_snapshot_next(s, t, bytes_str(info.name), &info)) > 0)
		r = store_snapshot_drop(s, t, bytes_str(info.name));
	table_unref(t);
	return r;
}

/* What a run left, or one before it that was killed. */
static int drop_tables(struct store *s)
{
	static const char *const names[] = {"t0", "u0", "t1", "u1"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(*names); i++) {
		r = drop_snapshots(s, bytes_str(names[i]));
		if (r == 0)
			r = store_table_drop(s, bytes_str(names[i]), false);
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

/* A process that dies tells HBase as much as one that ends. */
static int reopen(struct world *w, bool die)
{
	const struct store_options o = {.os = w->os};

	store_close(w->store);
	w->store = NULL;
	return store_open(w->cluster, &o, &w->store);
}

struct step_mode subject_cluster_mode(uint64_t seed, bool classic)
{
	struct step_mode mode = step_mode_of(seed, classic);

	mode.ttl = mode.tiny = mode.narrow = mode.snapshots = false;
	mode.many = seed / 2 % 2;
	/* A family that is added has the few versions of the default. */
	mode.tables = mode.tables && !mode.many;
	if (mode.past)
		mode.keep = KEEP_DELETED_YES;
	return mode;
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
	w->reopen = reopen;
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

static bool concerns(const struct step_change *c, const struct step_change *put)
{
	if (c->op == CHANGE_DELETE_ROW)
		return true;
	return c->family == put->family &&
	       (kind_is_family_marker(c->op) || c->qualifier == put->qualifier);
}

/*
 * Does it write into a column that it changes twice? In HBase the changes of one
 * mutation hide each other otherwise than here.
 */
static bool mixes(const struct step *s)
{
	for (unsigned i = 0; i < s->nchanges; i++)
		for (unsigned k = 0; k < s->nchanges; k++)
			if (i != k && writes(&s->changes[i]) &&
			    concerns(&s->changes[k], &s->changes[i]))
				return true;
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

/*
 * With new_version_behavior HBase's markers of families do not hide the empty
 * qualifier (nvb-013), and a read fails that meets a marker of its own. In the
 * classic order the second family has it not.
 */
static bool has_empty_qualifier(const struct world *w, const struct step *s)
{
	for (unsigned i = 0; i < s->nchanges; i++) {
		const struct step_change *c = &s->changes[i];

		if (c->op != CHANGE_DELETE_ROW &&
		    !kind_is_family_marker(c->op) &&
		    !step_qualifier(c->qualifier).len &&
		    !(w->classic && c->family % STEP_FAMILIES))
			return true;
	}
	return false;
}

/* May what was pushed out be there, or not, for who asks for its time? */
static bool is_vague(const struct world *w)
{
	return !w->many && !w->pristine;
}

static const char *cannot_change(const struct world *w, const struct step *s)
{
	if (mixes(s))
		return "changes of one column in one mutation";
	if (has_server_time(s))
		return "sums at the server's time";
	if (has_empty_qualifier(w, s))
		return "the empty qualifier, which markers miss";
	return NULL;
}

static bool has_range(const struct step_scan *c)
{
	return c->ts_min || c->ts_max || c->range_family;
}

static const char *cannot_scan(const struct world *w, const struct step *s)
{
	bool past = s->scan.as_of;

	if (past && s->snapshot)
		return "the past of a snapshot";
	if (is_vague(w) && !past && has_range(&s->scan))
		return "ranges of time behind a flush";
	return NULL;
}

static const char *cannot_get(const struct world *w, const struct step *s)
{
	return is_vague(w) && s->changes[0].ts >= STEP_TS_FIRST
		       ? "gets of a time behind a flush"
		       : NULL;
}

const char *subject_cluster_cannot(const struct world *w, const struct step *s)
{
	switch (s->kind) {
	case STEP_MUTATE:
	case STEP_MANY:
		return cannot_change(w, s);
	case STEP_SCAN:
		return cannot_scan(w, s);
	case STEP_GET:
		return cannot_get(w, s);
	case STEP_HOLD:
	case STEP_DRAIN:
		return "scans of one moment";
	case STEP_FLUSH:
	case STEP_ALTER:
		return w->classic && !w->many ? "flushes that show" : NULL;
	case STEP_COMPACT:
		return w->keep || (w->classic && !w->many)
			       ? "compactions that show"
			       : NULL;
	case STEP_NAMED:
	case STEP_NAMED_DROP:
	case STEP_NAMED_RENAME:
	case STEP_NAMED_OPEN:
	case STEP_NAMED_RESTORE:
	case STEP_NAMED_CLONE:
		return s->family ? "snapshots of all tables" : NULL;
	default:
		return NULL;
	}
}
