/*
 * Compaction in the engine: picks a tree, merges without a lock, commits to the
 * catalog, and installs the files under catalog.
 *
 * Order on disk: table files, their directory, the catalog; only then are the
 * input files removed.
 */
#include "store/lsm/state/full.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/state/damage.h"
#include "store/lsm/state/tombstone_stats.h"
#include "store/lsm/state/pins.h"
#include "store/lsm/state/superversion.h"
#include "store/lsm/background/background.h"

#define RETRY_NS 1000000000ull
#define FRESH_NS 3600000000000ull

struct task {
	struct tree *tree; /* referenced, marked compacting */
	uint64_t table;
	struct levels *levels; /* the levels picked from, referenced */
	struct family_attrs attrs;
	struct compaction what;
	bool stopped;  /* tree dropped or store closing: not a failure */
	bool outgrown; /* or the family keeps more than when it began */
	bool damaged;  /* it met a damaged file, which stays from now on */
};

/* Those of the files that may be merged, to be released. 0 or -ENOMEM. */
static int to_merge(struct levels *l, struct levels **out)
{
	if (levels_damaged(l))
		return compaction_around(l, out);
	levels_ref(l);
	*out = l;
	return 0;
}

/* @r: what was chosen for the task of @from, which is released. */
static int chosen(struct task *k, const struct levels *all, struct levels *from,
		  int r)
{
	if (r > 0 && from != all) {
		k->what.around = true;
		k->what.major = false;
	}
	levels_unref(from);
	return r;
}

struct job_arg {
	struct lsm *db;
	struct tree *tree;
};

static uint64_t job_number(void *arg)
{
	return file_number(((struct job_arg *)arg)->db);
}

static bool job_stop(void *arg)
{
	return atomic_load(&((struct job_arg *)arg)->tree->cancel);
}

/* At a time, so that a job that is to stop does. */
#define PACED_MS 20

static void job_wrote(void *arg, uint64_t bytes)
{
	struct lsm *db = ((struct job_arg *)arg)->db;
	uint64_t begun = os_monotonic_ns(db->os);
	bool held = false;
	unsigned ms;

	pace_take(&db->pace, bytes, begun);
	/* On a full disk it makes room for who waits. */
	while ((ms = pace_wait_ms(&db->pace, os_monotonic_ns(db->os))) &&
	       !job_stop(arg) && !wal_low(db->wal)) {
		os_sleep_ms(db->os, ms < PACED_MS ? ms : PACED_MS);
		held = true;
	}
	if (held)
		atomic_fetch_add(&db->stats.paced_ns,
				 os_monotonic_ns(db->os) - begun);
}

static int stopped(struct task *k)
{
	k->stopped = true;
	return why(-ECANCELED, "the compaction was stopped");
}

/* Moves files between levels in the catalog, then in memory. */
static int compaction_commit(struct lsm *db, struct task *k,
			     struct sstable **outputs, uint32_t noutputs,
			     const struct history *history)
{
	const struct compaction *c = &k->what;
	uint32_t nin = c->ninputs[0] + c->ninputs[1], n = 0;
	struct level_file *removed = calloc(nin + 1, sizeof(*removed));
	struct level_file *added = calloc(noutputs + 1, sizeof(*added));
	struct edit_file *er = calloc(nin + 1, sizeof(*er));
	struct edit_file *ea = calloc(noutputs + 1, sizeof(*ea));
	struct edit_loss lost = {k->tree->id, history};
	struct edit e = {
		.removed = er,
		.added = ea,
		.nadded = noutputs,
		.lost = &lost,
		.nlost = !history_is_whole(history),
	};
	struct levels *next = NULL;
	int r = -ENOMEM;

	if (!removed || !added || !er || !ea) {
		why(r, "out of memory");
		goto out;
	}
	for (int side = 0; side < 2; side++) {
		int level = side ? c->to : c->from;

		for (uint32_t i = 0; i < c->ninputs[side]; i++, n++) {
			struct sstable *t = c->inputs[side][i];

			removed[n] = (struct level_file){(uint8_t)level, t};
			er[n] = (struct edit_file){k->tree->id, (uint8_t)level,
						   sst_info(t)};
		}
	}
	assert(n == nin);
	e.nremoved = n;
	for (uint32_t i = 0; i < noutputs; i++) {
		added[i] = (struct level_file){(uint8_t)c->to, outputs[i]};
		ea[i] = (struct edit_file){k->tree->id, (uint8_t)c->to,
					   sst_info(outputs[i])};
	}
	pthread_mutex_lock(&db->catalog);
	r = tree_next_levels(db, k->tree, removed, n, added, noutputs, history,
			     &next);
	k->outgrown = r == 0 && next && tree_outgrows(db, k->tree, &k->attrs);
	if (r == 0 && (!next || k->outgrown))
		r = stopped(k);
	if (r == 0)
		r = lsm_commit_edit(db, &e);
	if (r == 0) {
		pthread_mutex_lock(&db->state);
		tree_install(k->tree, next);
		next = NULL;
		superversions_changed(db);
		pthread_mutex_unlock(&db->state);
		for (uint32_t i = 0; !c->trivial && i < n; i++)
			sst_obsolete(removed[i].file);
		superversions_sweep(db);
	}
	pthread_mutex_unlock(&db->catalog);
out:
	levels_unref(next);
	free(removed);
	free(added);
	free(er);
	free(ea);
	return r;
}

static uint64_t bytes_in(const struct compaction *c)
{
	uint64_t n = 0;

	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < c->ninputs[side]; i++)
			n += sst_info(c->inputs[side][i])->file_bytes;
	return n;
}

/*
 * A merge that cannot fit is not started, since it would only fill the disk;
 * but for a compaction that a user asked for, the output may be small. A merge
 * that should fit gets the reserve if needed.
 */
static int run_job(struct lsm *db, struct compaction_job *job)
{
	const struct compaction_job begin = *job;
	bool fits = db->options.inline_background ||
		    bytes_in(job->what) <= full_space(db);
	unsigned loans = 0;
	int r;

	if (!fits && !job->what->major && !job->what->daring)
		return why(-ENOSPC, "there is no space for a compaction");
	for (;;) {
		r = compaction_run(job);
		if (r >= 0 || (!fits && !job->what->daring) ||
		    !full_lend(db, r, &loans))
			break;
		history_free(&job->lost);
		*job = begin;
	}
	full_repay(db, &loans);
	return r;
}

static int run_task(struct lsm *db, struct task *k)
{
	struct job_arg arg = {db, k->tree};
	struct compaction_job job = {
		.dir = db->dir,
		.cache = db->cache,
		.levels = k->levels,
		.what = &k->what,
		.limits = &db->limits,
		.tree = k->tree->id,
		.attrs = &k->attrs,
		.now_ms = os_now_ms(db->os),
		.number = job_number,
		.stop = job_stop,
		.wrote = db->pace.bytes_s ? job_wrote : NULL,
		.arg = &arg,
	};
	uint64_t *snapshots;
	int r;

	if (k->what.trivial)
		return compaction_commit(db, k, k->what.inputs[0], 1,
					 &job.lost);
	r = pins_collect(db, k->table, &snapshots, &job.nsnapshots);
	if (r < 0)
		return r;
	job.snapshots = snapshots;
	r = run_job(db, &job);
	free(snapshots);
	if (job.stopped)
		r = stopped(k);
	if (r < 0)
		goto out;
	r = os_dir_sync(db->dir);
	if (r == 0) {
		warm_files(db, job.outputs, job.noutputs);
		r = compaction_commit(db, k, job.outputs, job.noutputs,
				      &job.lost);
	}
	/* Cache more now: the inputs' blocks have been evicted. */
	if (r == 0)
		warm_files(db, job.outputs, job.noutputs);
	for (uint32_t i = 0; i < job.noutputs; i++) {
		if (r < 0 && !atomic_load(&db->failed))
			sst_obsolete(job.outputs[i]);
		sst_unref(job.outputs[i]);
	}
	free(job.outputs);
	if (r == 0) {
		atomic_fetch_add(&db->stats.compactions, 1);
		atomic_fetch_add(&db->stats.compaction_in, job.bytes_in);
		atomic_fetch_add(&db->stats.compaction_out, job.bytes_out);
	}
out:
	history_free(&job.lost);
	return r;
}

static bool may_compact(const struct tree *t, uint64_t now)
{
	return !t->compacting && t->retry_ns <= now;
}

void warm_files(struct lsm *db, struct sstable **files, uint32_t n)
{
	bool read;

	pthread_mutex_lock(&db->state);
	read = is_read(db);
	pthread_mutex_unlock(&db->state);
	for (uint32_t i = 0; read && i < n; i++)
		sst_warm(files[i]);
}

/* compaction_score() of the files that may be merged. Under state. */
static double score_of(const struct tree *t, const struct compaction_limits *m)
{
	struct levels *from;
	double score;

	if (to_merge(t->levels, &from) < 0)
		return 0;
	score = compaction_score(from, m);
	if (score < 1 && from != t->levels && compaction_has_run(t->levels, m))
		score = 1;
	levels_unref(from);
	return score;
}

/* Finds the tree whose levels are most over their targets. Under state. */
static bool most_urgent(struct lsm *db, struct compaction_limits *limits,
			uint64_t now, struct tree_walk *found)
{
	struct tree_walk w = {0};
	double best = 0;

	while (trees_next(db, &w)) {
		double score;

		limits->passed = tombstone_stats_due(w.tree);
		score = score_of(w.tree, limits);
		if (score < 1 || score <= best || !may_compact(w.tree, now))
			continue;
		best = score;
		*found = w;
	}
	return best > 0;
}

/*
 * Finds a tree with files that a dropped snapshot leaves to be rewritten. Trees
 * without such files are marked done. Under state.
 */
static bool has_freed(const struct tree *t)
{
	struct levels *from;
	bool has;

	if (to_merge(t->levels, &from) < 0)
		return false;
	has = compaction_has_freed(from, &t->freed);
	levels_unref(from);
	return has;
}

static bool some_freed(struct lsm *db, uint64_t now, struct tree_walk *w)
{
	*w = (struct tree_walk){0};
	while (trees_next(db, w)) {
		struct tree *t = w->tree;

		if (!t->freed.number || !may_compact(t, now))
			continue;
		if (has_freed(t))
			return true;
		t->freed = (struct compaction_freed){0};
	}
	return false;
}

/*
 * A table that is being restored may get its cells before its schema, which may
 * keep more versions than a new table. So while nobody has set a new table's
 * schema, it loses versions only by a compaction that a user asks for. Under
 * state.
 */
static bool is_fresh(struct lsm *db, const struct lsm_table *t)
{
	uint64_t now = os_monotonic_ns(db->os);

	return t->made_ns && now - t->made_ns < FRESH_NS &&
	       schema_is_plain(&t->now->schema);
}

/* Marks the tree as being compacted. Under state. */
static void begin_task(struct lsm *db, const struct tree_walk *w,
		       struct task *out)
{
	struct tree *t = w->tree;

	out->tree = t;
	out->table = w->table->base.id;
	out->levels = t->levels;
	out->attrs = *w->attrs;
	if (is_fresh(db, w->table))
		out->attrs.versions = UINT32_MAX;
	assert(!t->compacting);
	tree_ref(t);
	levels_ref(t->levels);
	t->compacting = true;
	db->compacting++;
}

/* Under state. */
static struct compaction_limits limits_now(struct lsm *db)
{
	struct compaction_limits limits = db->limits;

	if (!is_read(db)) {
		limits.level0_files = LEVEL0_FILES_UNREAD;
		limits.top_ratio = LEVEL0_RATIO_UNREAD;
	}
	return limits;
}

bool compact_helps(struct lsm *db, const struct tree *t)
{
	const struct compaction_limits limits = limits_now(db);

	return t->compacting || score_of(t, &limits) >= 1;
}

uint64_t compact_pending(struct lsm *db)
{
	struct tree_walk w = {0};
	struct compaction_limits limits;
	uint64_t sum = 0;

	pthread_mutex_lock(&db->state);
	limits = limits_now(db);
	while (trees_next(db, &w)) {
		limits.passed = tombstone_stats_due(w.tree);
		sum += compaction_pending(w.tree->levels, &limits);
	}
	pthread_mutex_unlock(&db->state);
	return sum;
}

/* Picks and marks the tree that needs compaction most. 1, 0, negative. */
static int pick_task(struct lsm *db, struct task *out)
{
	uint64_t now = os_monotonic_ns(db->os);
	struct compaction_limits limits;
	struct compaction_freed freed = {0};
	struct tree_walk w = {0};
	struct levels *from;
	bool found;
	int r;

	pthread_mutex_lock(&db->state);
	limits = limits_now(db);
	found = most_urgent(db, &limits, now, &w);
	if (!found) {
		found = some_freed(db, now, &w);
		if (found)
			freed = w.tree->freed;
	}
	if (!found) {
		tombstone_stats_reset(db);
		pthread_mutex_unlock(&db->state);
		return 0;
	}
	limits.passed = tombstone_stats_due(w.tree);
	begin_task(db, &w, out);
	pthread_mutex_unlock(&db->state);
	r = to_merge(out->levels, &from);
	if (r < 0)
		return r;
	if (freed.number)
		r = compaction_pick_freed(from, &freed, &out->what);
	else
		r = compaction_pick(from, &limits, os_now_ms(db->os),
				    &out->attrs, &out->what);
	if (r == 0 && from != out->levels)
		r = compaction_pick_run(out->levels, &limits, &out->what);
	return chosen(out, out->levels, from, r);
}

/*
 * Picks the first tree with a merge that makes reads faster, or if @full one that
 * fits on a full disk. As pick_task().
 */
static int pick_first(struct lsm *db, bool full, struct task *out)
{
	uint64_t now = os_monotonic_ns(db->os);
	uint64_t space = full ? full_space(db) : 0;
	bool low = wal_low(db->wal);
	struct tree_walk w = {0};
	int r = 0;

	pthread_mutex_lock(&db->state);
	while (r == 0 && trees_next(db, &w)) {
		bool may = may_compact(w.tree, now);
		struct levels *from;

		if (full ? w.tree->compacting : !may)
			continue;
		r = to_merge(w.tree->levels, &from);
		if (r < 0)
			break;
		r = full ? compaction_pick_full(from, space,
						2 * db->limits.file_bytes,
						low && may, &out->what)
			 : compaction_pick_rest(from, &db->limits, w.attrs,
						&out->what);
		r = chosen(out, w.tree->levels, from, r);
	}
	if (r > 0)
		begin_task(db, &w, out);
	pthread_mutex_unlock(&db->state);
	return r;
}

/* Did the last merge of some tree fail? Under state. */
static bool any_failed(struct lsm *db)
{
	struct tree_walk w = {0};

	while (trees_next(db, &w))
		if (w.tree->retry_ns)
			return true;
	return false;
}

static void end_task(struct lsm *db, struct task *k, int r)
{
	bool tell;

	compaction_release(&k->what);
	pthread_mutex_lock(&db->state);
	assert(k->tree->compacting && db->compacting > 0);
	k->tree->compacting = false;
	k->tree->retry_ns = 0;
	db->compacting--;
	if (r < 0 && !k->stopped) {
		k->tree->retry_ns = os_monotonic_ns(db->os) + RETRY_NS;
		db->compact_error = r;
	} else if (r > 0) {
		db->compact_error = 0;
	}
	tell = !k->stopped && (r < 0 || !any_failed(db));
	pthread_cond_broadcast(&db->done);
	pthread_mutex_unlock(&db->state);
	if (tell)
		lsm_tell_work(db, r, &db->compact_told,
			      "the merge of table files");
	levels_unref(k->levels);
	tree_unref(k->tree);
}

/* Did the merge fail because a file of it is damaged? It is known now. */
static bool met_damage(struct lsm *db, const struct task *k, int r)
{
	const struct compaction *c = &k->what;
	bool found = false;

	if (r != -EUCLEAN)
		return false;
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < c->ninputs[side]; i++)
			found |= sst_is_damaged(c->inputs[side][i]);
	for (uint32_t i = 0; i < c->nmasks; i++)
		found |= sst_is_damaged(c->masks[i]);
	if (found)
		damage_in_merge(db, k->tree, k->levels);
	return found;
}

/* Runs the task that was picked with result @r, if any. */
static int do_task(struct lsm *db, struct task *k, int r)
{
	if (!k->tree)
		return r;
	if (r > 0) {
		r = run_task(db, k);
		k->damaged = met_damage(db, k, r);
		if (r == 0 || k->damaged)
			r = 1;
	}
	end_task(db, k, r);
	return k->stopped ? 0 : r;
}

int compact_one(struct lsm *db)
{
	struct task k = {0};
	int r = pick_task(db, &k);

	return do_task(db, &k, r);
}

static int compact_first(struct lsm *db, bool full)
{
	struct task k = {0};
	int r = pick_first(db, full, &k);

	return do_task(db, &k, r);
}

int compact_at_rest(struct lsm *db)
{
	return compact_first(db, false);
}

int compact_when_full(struct lsm *db)
{
	return compact_first(db, true);
}

static int pick_asked(struct task *k, unsigned newest)
{
	struct levels *from;
	int r = to_merge(k->levels, &from);

	if (r < 0)
		return r;
	r = newest ? compaction_pick_newest(from, newest, &k->what)
		   : compaction_pick_all(from, &k->what);
	return chosen(k, k->levels, from, r);
}

static int try_compact_tree(struct lsm *db, struct tree *t, unsigned newest,
			    bool *again)
{
	struct tree_walk w = {0};
	struct task k = {0};
	int r;

	*again = false;
	pthread_mutex_lock(&db->state);
	while (t->compacting)
		pthread_cond_wait(&db->done, &db->state);
	while (trees_next(db, &w) && w.tree != t)
		;
	if (w.tree == t) {
		begin_task(db, &w, &k);
		/* Of a new table, too. */
		k.attrs = *w.attrs;
	}
	pthread_mutex_unlock(&db->state);
	if (!k.tree)
		return 0;
	r = pick_asked(&k, newest);
	r = do_task(db, &k, r);
	*again = k.damaged || k.outgrown;
	return r < 0 ? r : 0;
}

/*
 * Merges all files of a tree into its last level, or only its @newest files;
 * once more without each that turns out to be damaged, or when it was outgrown.
 */
static int compact_tree(struct lsm *db, struct tree *t, unsigned newest)
{
	bool again = true;
	int r = 0;

	while (r == 0 && again)
		r = try_compact_tree(db, t, newest, &again);
	return r;
}

static int compact_trees(struct lsm *db, struct table *t, unsigned newest)
{
	struct tree **trees;
	size_t n;
	int r = trees_collect(db, t, &trees, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = compact_tree(db, trees[i], newest);
	trees_release(trees, n);
	return r;
}

int lsm_compact(struct store *s, struct table *t)
{
	struct lsm *db = lsm_of(s);
	int r = flush_all(db, NULL);

	return r < 0 ? r : compact_trees(db, t, 0);
}

int lsm_compact_files(struct table *t, unsigned newest)
{
	return compact_trees(lsm_of(t->store), t, newest);
}
