/*
 * Flush, compaction and the timer.
 *
 * Three threads: one flushes frozen generations, one compacts, one lets the
 * log reach the disk twice a second. Each does its work without a lock, then
 * commits it to the manifest and installs it under catalog. With
 * inline_background there are none, and the same functions run in the callers.
 *
 * Order on disk: table files, their directory, the manifest, and only then
 * does the log segment or the input file go.
 */
#include "store/lsm/lsm.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define TICK_MS 500
#define RETRY_NS 1000000000ull

uint64_t file_number(void *db)
{
	return atomic_fetch_add(&((struct lsm *)db)->next_file, 1);
}

/* -- flush ------------------------------------------------------------------
 */

struct flushed {
	struct tree *tree;
	struct sstable *file; /* NULL: nothing was worth keeping */
	struct history lost;
};

/* The tree and its attributes, unless it was dropped. 1, 0, negative. */
static int live_tree(struct lsm *db, uint32_t id, struct tree **out,
		     struct family_attrs *attrs, uint64_t *table)
{
	int found = 0;

	pthread_mutex_lock(&db->state);
	for (size_t i = 0; !found && i < db->ntables; i++) {
		struct table_state *st = db->tables[i]->now;

		for (uint32_t k = 0; k < st->schema.nfamilies; k++) {
			if (st->trees[k]->id != id)
				continue;
			*out = st->trees[k];
			tree_ref(*out);
			*attrs = st->schema.families[k].attrs;
			*table = db->tables[i]->base.id;
			found = 1;
			break;
		}
	}
	pthread_mutex_unlock(&db->state);
	return found;
}

static int flush_tree(struct lsm *db, const struct generation *g, uint32_t id,
		      struct flushed *out)
{
	struct family_attrs attrs;
	uint64_t *snapshots, table;
	struct mem_run c;
	struct flush_job job = {
		.dir = db->dir,
		.cache = db->cache,
		.from = &c.base,
		.attrs = &attrs,
		.now_ms = os_now_ms(db->os),
		.number = file_number,
		.arg = db,
	};
	int r;

	if (!live_tree(db, id, &out->tree, &attrs, &table))
		return 0;
	job.trim = g->trim == table;
	r = snapshots_collect(db, table, &snapshots, &job.nsnapshots);
	if (r == 0) {
		job.snapshots = snapshots;
		r = memtable_run(g->mem, id, &c);
		if (r == 0)
			r = flush_run(&job);
		cursor_close(&c.base);
		free(snapshots);
	}
	if (r < 0) {
		history_free(&job.lost);
		tree_unref(out->tree);
		return r;
	}
	out->file = job.output;
	out->lost = job.lost;
	return 1;
}

static int flush_trees(struct lsm *db, const struct generation *g,
		       struct flushed **out, size_t *n)
{
	size_t cap = 0;
	int64_t id = -1;
	int r = 0;

	while (r == 0 && (id = memtable_next_tree(g->mem, id)) >= 0) {
		if (*n == cap) {
			struct flushed *p;

			cap = cap ? 2 * cap : 16;
			p = realloc(*out, cap * sizeof(*p));
			if (!p) {
				r = why(-ENOMEM, "out of memory");
				break;
			}
			*out = p;
		}
		(*out)[*n] = (struct flushed){0};
		r = flush_tree(db, g, (uint32_t)id, &(*out)[*n]);
		if (r > 0) {
			++*n;
			r = 0;
		}
	}
	return r;
}

/*
 * The levels of @t with @removed and @added changed, and what was @lost with
 * it; NULL if it was dropped. Under catalog, so that nobody else changes them.
 */
static int next_levels(struct lsm *db, struct tree *t,
		       const struct level_file *removed, size_t nremoved,
		       const struct level_file *added, size_t nadded,
		       const struct history *lost, struct levels **out)
{
	struct levels *now = NULL;
	int r = 0;

	*out = NULL;
	pthread_mutex_lock(&db->state);
	if (!t->dropped) {
		now = t->levels;
		levels_ref(now);
	}
	pthread_mutex_unlock(&db->state);
	if (now)
		r = levels_apply(now, removed, nremoved, added, nadded, out);
	if (*out && r == 0)
		r = levels_lose(*out, lost);
	levels_unref(now);
	return r;
}

static void install_levels(struct tree *t, struct levels *next)
{
	levels_unref(t->levels);
	t->levels = next;
}

/* Commits the flushed files and takes them in. */
static int flush_commit(struct lsm *db, struct flushed *f, size_t n,
			uint64_t wal_next)
{
	struct edit_file *added = calloc(n + 1, sizeof(*added));
	struct edit_loss *lost = calloc(n + 1, sizeof(*lost));
	struct levels **next = calloc(n + 1, sizeof(struct levels *));
	struct edit e = {.added = added, .lost = lost, .wal_first = wal_next};
	int r = added && lost && next ? os_dir_sync(db->dir) : -ENOMEM;

	if (r < 0) {
		r = why(r, "cannot sync the store's directory after a flush");
		goto fail;
	}
	pthread_mutex_lock(&db->catalog);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct level_file file = {0, f[i].file};

		if (!f[i].file && history_is_whole(&f[i].lost))
			continue;
		r = next_levels(db, f[i].tree, NULL, 0, &file,
				f[i].file != NULL, &f[i].lost, &next[i]);
		if (r == 0 && next[i] && !history_is_whole(&f[i].lost))
			lost[e.nlost++] =
				(struct edit_loss){f[i].tree->id, &f[i].lost};
		if (!f[i].file)
			continue;
		if (r == 0 && next[i])
			added[e.nadded++] = (struct edit_file){
				f[i].tree->id, 0, sst_info(f[i].file)};
		else
			sst_obsolete(f[i].file);
	}
	e.next_file = atomic_load(&db->next_file);
	e.last_seq = atomic_load(&db->seq);
	if (r == 0) {
		r = lsm_commit_edit(db, &e);
	}
	if (r == 0) {
		pthread_mutex_lock(&db->state);
		for (size_t i = 0; i < n; i++)
			if (next[i])
				install_levels(f[i].tree, next[i]);
		memtable_unref(db->frozen[0].mem);
		memmove(db->frozen, db->frozen + 1,
			--db->nfrozen * sizeof(db->frozen[0]));
		views_changed(db);
		pthread_mutex_unlock(&db->state);
		views_sweep(db);
	} else {
		for (size_t i = 0; i < n; i++)
			levels_unref(next[i]);
	}
	pthread_mutex_unlock(&db->catalog);
fail:
	/* An edit that failed for good may still stand in the manifest. */
	if (r < 0 && !atomic_load(&db->failed))
		for (size_t i = 0; i < n; i++)
			if (f[i].file)
				sst_obsolete(f[i].file);
	free(added);
	free(lost);
	free(next);
	return r;
}

int flush_one(struct lsm *db)
{
	struct flushed *f = NULL;
	struct generation g;
	uint64_t bytes = 0;
	size_t n = 0;
	int r;

	pthread_mutex_lock(&db->state);
	if (!db->nfrozen || db->flushing) {
		pthread_mutex_unlock(&db->state);
		return 0;
	}
	db->flushing = 1;
	g = db->frozen[0];
	pthread_mutex_unlock(&db->state);

	r = flush_trees(db, &g, &f, &n);
	if (r == 0)
		r = flush_commit(db, f, n, g.wal_next);
	else
		for (size_t i = 0; i < n; i++)
			if (f[i].file)
				sst_obsolete(f[i].file);
	for (size_t i = 0; i < n; i++) {
		if (f[i].file) {
			bytes += sst_info(f[i].file)->file_bytes;
			sst_unref(f[i].file);
		}
		history_free(&f[i].lost);
		tree_unref(f[i].tree);
	}
	free(f);
	if (r == 0) {
		atomic_fetch_add(&db->stats.flushes, 1);
		atomic_fetch_add(&db->stats.flush_bytes, bytes);
		r = wal_release(db->wal, g.wal_next);
		if (r < 0)
			lsm_fail(db, r);
	}
	pthread_mutex_lock(&db->state);
	db->flushing = 0;
	db->flush_error = r;
	pthread_cond_broadcast(&db->done);
	pthread_cond_broadcast(&db->work);
	pthread_mutex_unlock(&db->state);
	return r < 0 ? r : 1;
}

/* -- compaction -------------------------------------------------------------
 */

struct task {
	struct tree *tree; /* referenced, marked compacting */
	uint64_t table;
	struct levels *levels; /* what was picked from, referenced */
	struct family_attrs attrs;
	struct compaction what;
};

static bool stop_compaction(void *arg)
{
	return atomic_load(&((struct tree *)arg)->cancel);
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
	return stop_compaction(((struct job_arg *)arg)->tree);
}

/* Moves files between levels in the manifest, then in memory. */
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
	e.nremoved = n;
	for (uint32_t i = 0; i < noutputs; i++) {
		added[i] = (struct level_file){(uint8_t)c->to, outputs[i]};
		ea[i] = (struct edit_file){k->tree->id, (uint8_t)c->to,
					   sst_info(outputs[i])};
	}
	pthread_mutex_lock(&db->catalog);
	r = next_levels(db, k->tree, removed, n, added, noutputs, history,
			&next);
	if (r == 0 && !next)
		r = -ECANCELED;
	if (r == 0) {
		e.next_file = atomic_load(&db->next_file);
		e.last_seq = atomic_load(&db->seq);
		r = lsm_commit_edit(db, &e);
	}
	if (r == 0) {
		pthread_mutex_lock(&db->state);
		install_levels(k->tree, next);
		next = NULL;
		views_changed(db);
		pthread_mutex_unlock(&db->state);
		for (uint32_t i = 0; !c->trivial && i < n; i++)
			sst_obsolete(removed[i].file);
		views_sweep(db);
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

static int run_task(struct lsm *db, struct task *k)
{
	struct job_arg arg = {db, k->tree};
	struct compaction_job job = {
		.dir = db->dir,
		.cache = db->cache,
		.levels = k->levels,
		.what = &k->what,
		.limits = &db->limits,
		.attrs = &k->attrs,
		.now_ms = os_now_ms(db->os),
		.number = job_number,
		.stop = job_stop,
		.arg = &arg,
	};
	uint64_t *snapshots;
	int r;

	if (k->what.trivial)
		return compaction_commit(db, k, k->what.inputs[0], 1,
					 &job.lost);
	r = snapshots_collect(db, k->table, &snapshots, &job.nsnapshots);
	if (r < 0)
		return r;
	job.snapshots = snapshots;
	r = compaction_run(&job);
	free(snapshots);
	if (r < 0)
		goto out;
	r = os_dir_sync(db->dir);
	if (r < 0)
		why(r, "cannot sync the store's directory");
	else
		r = compaction_commit(db, k, job.outputs, job.noutputs,
				      &job.lost);
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

/* The tree whose levels are most over their targets. Under state. */
static struct tree *most_urgent(struct lsm *db, uint64_t now, size_t *table,
				uint32_t *family)
{
	struct tree *found = NULL;
	double best = 0;

	for (size_t i = 0; i < db->ntables; i++) {
		struct table_state *st = db->tables[i]->now;

		for (uint32_t k = 0; k < st->schema.nfamilies; k++) {
			double score = compaction_score(st->trees[k]->levels,
							&db->limits);

			if (score < 1 || score <= best ||
			    !may_compact(st->trees[k], now))
				continue;
			best = score;
			found = st->trees[k];
			*table = i;
			*family = k;
		}
	}
	return found;
}

/*
 * One in which a dropped snapshot has left what it held back. Trees without
 * such files forget. Under state.
 */
static struct tree *some_freed(struct lsm *db, uint64_t now, size_t *table,
			       uint32_t *family)
{
	for (size_t i = 0; i < db->ntables; i++) {
		struct table_state *st = db->tables[i]->now;

		for (uint32_t k = 0; k < st->schema.nfamilies; k++) {
			struct tree *t = st->trees[k];

			if (!t->freed.number || !may_compact(t, now))
				continue;
			*table = i;
			*family = k;
			if (compaction_has_freed(t->levels, &t->freed))
				return t;
			t->freed = (struct compaction_freed){0};
		}
	}
	return NULL;
}

/* Picks the tree that needs it most and marks it. 1, 0, negative. */
static int pick_task(struct lsm *db, struct task *out)
{
	uint64_t now = os_monotonic_ns(db->os);
	struct compaction_freed freed = {0};
	uint32_t family = 0;
	size_t table = 0;
	struct tree *t;

	pthread_mutex_lock(&db->state);
	t = most_urgent(db, now, &table, &family);
	if (!t) {
		t = some_freed(db, now, &table, &family);
		if (t)
			freed = t->freed;
	}
	if (!t) {
		pthread_mutex_unlock(&db->state);
		return 0;
	}
	*out = (struct task){
		.tree = t,
		.table = db->tables[table]->base.id,
		.levels = t->levels,
		.attrs = db->tables[table]->now->schema.families[family].attrs,
	};
	tree_ref(t);
	levels_ref(t->levels);
	t->compacting = true;
	db->compacting++;
	pthread_mutex_unlock(&db->state);
	if (freed.number)
		return compaction_pick_freed(out->levels, &freed, &out->what);
	return compaction_pick(out->levels, &db->limits, os_now_ms(db->os),
			       &out->attrs, &out->what);
}

static void end_task(struct lsm *db, struct task *k, int r)
{
	compaction_release(&k->what);
	pthread_mutex_lock(&db->state);
	k->tree->compacting = false;
	k->tree->retry_ns = 0;
	db->compacting--;
	if (r < 0 && r != -ECANCELED) {
		k->tree->retry_ns = os_monotonic_ns(db->os) + RETRY_NS;
		db->compact_error = r;
	} else if (r > 0) {
		db->compact_error = 0;
	}
	pthread_cond_broadcast(&db->done);
	pthread_mutex_unlock(&db->state);
	levels_unref(k->levels);
	tree_unref(k->tree);
}

int compact_one(struct lsm *db)
{
	struct task k = {0};
	int r = pick_task(db, &k);

	if (!k.tree)
		return r;
	if (r > 0) {
		r = run_task(db, &k);
		if (r == 0)
			r = 1;
	}
	end_task(db, &k, r);
	return r == -ECANCELED ? 0 : r;
}

/* Everything of one tree into its last level, or its @newest files only. */
static int compact_tree(struct lsm *db, struct tree *t, unsigned newest)
{
	struct task k = {.tree = t};
	int r;

	if (!live_tree(db, t->id, &k.tree, &k.attrs, &k.table))
		return 0;
	pthread_mutex_lock(&db->state);
	while (t->compacting)
		pthread_cond_wait(&db->done, &db->state);
	t->compacting = true;
	db->compacting++;
	k.levels = t->levels;
	levels_ref(k.levels);
	pthread_mutex_unlock(&db->state);
	if (newest)
		r = compaction_pick_newest(k.levels, newest, &k.what);
	else
		r = compaction_pick_all(k.levels, &k.what);
	if (r > 0) {
		r = run_task(db, &k);
		if (r == 0)
			r = 1;
	}
	end_task(db, &k, r);
	return r < 0 && r != -ECANCELED ? r : 0;
}

static int compact_trees(struct lsm *db, struct table *t, unsigned newest)
{
	struct tree **trees;
	size_t n;
	int r;

	r = trees_collect(db, t, &trees, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = compact_tree(db, trees[i], newest);
	trees_release(trees, n);
	return r;
}

/* -- asked for --------------------------------------------------------------
 */

/*
 * All that was written before the call is in files when it returns. @trim: the
 * table that is flushed as HBase does it, or NULL.
 */
static int flush_all(struct lsm *db, const struct table *trim)
{
	int r;

	pthread_mutex_lock(&db->commit);
	r = lsm_writable(db);
	if (r == 0 && !memtable_empty(db->active)) {
		if (db->options.inline_background)
			r = flush_one(db);
		pthread_mutex_lock(&db->state);
		while (r >= 0 && db->nfrozen == FROZEN_MAX && !db->flush_error)
			pthread_cond_wait(&db->done, &db->state);
		if (r >= 0)
			r = db->nfrozen == FROZEN_MAX ? db->flush_error : 0;
		pthread_mutex_unlock(&db->state);
		if (r == 0)
			r = commit_freeze(db, trim ? trim->id : 0);
	}
	pthread_mutex_unlock(&db->commit);
	if (db->options.inline_background) {
		while (r >= 0 && (r = flush_one(db)) > 0)
			;
		return r;
	}
	pthread_mutex_lock(&db->state);
	while (r == 0 && db->nfrozen) {
		if (db->flush_error)
			r = why(db->flush_error, "memory could not be flushed");
		else if (atomic_load(&db->failed))
			r = -EROFS;
		else
			pthread_cond_wait(&db->done, &db->state);
	}
	pthread_mutex_unlock(&db->state);
	return r == -EROFS ? lsm_writable(db) : r;
}

int lsm_flush(struct store *s, struct table *t)
{
	/* One generation holds every table's cells. */
	return flush_all(lsm_of(s), t);
}

int lsm_compact(struct store *s, struct table *t)
{
	struct lsm *db = lsm_of(s);
	int r;

	r = flush_all(db, NULL);
	return r < 0 ? r : compact_trees(db, t, 0);
}

int lsm_compact_files(struct table *t, unsigned newest)
{
	return compact_trees(lsm_of(t->store), t, newest);
}

/* -- threads ----------------------------------------------------------------
 */

static struct timespec deadline(struct lsm *db, uint64_t ms)
{
	uint64_t ns = os_monotonic_ns(db->os) + ms * 1000000;

	return (struct timespec){
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};
}

/* Waits for work, at most a second (a failed attempt is tried again). */
static bool wait_for_work(struct lsm *db)
{
	struct timespec ts = deadline(db, 1000);
	bool stop;

	pthread_mutex_lock(&db->state);
	if (!db->stop)
		pthread_cond_timedwait(&db->work, &db->state, &ts);
	stop = db->stop;
	pthread_mutex_unlock(&db->state);
	return !stop;
}

static bool stopping(struct lsm *db)
{
	bool stop;

	pthread_mutex_lock(&db->state);
	stop = db->stop;
	pthread_mutex_unlock(&db->state);
	return stop;
}

static void *flush_thread(void *arg)
{
	struct lsm *db = arg;

	do {
		int r = 1;

		while (r > 0 && !stopping(db) && !atomic_load(&db->failed))
			r = flush_one(db);
	} while (wait_for_work(db));
	return NULL;
}

static void *compact_thread(void *arg)
{
	struct lsm *db = arg;

	do {
		int r = 1;

		while (r > 0 && !stopping(db) && !atomic_load(&db->failed))
			r = compact_one(db);
	} while (wait_for_work(db));
	return NULL;
}

static void *timer_thread(void *arg)
{
	struct lsm *db = arg;
	bool stop = false;

	while (!stop) {
		struct timespec ts = deadline(db, TICK_MS);

		pthread_mutex_lock(&db->state);
		while (!db->stop &&
		       pthread_cond_timedwait(&db->work, &db->state, &ts) !=
			       ETIMEDOUT)
			;
		stop = db->stop;
		pthread_mutex_unlock(&db->state);
		if (!stop && !atomic_load(&db->failed)) {
			int r = wal_tick(db->wal);

			if (r < 0)
				lsm_fail(db, r);
		}
	}
	return NULL;
}

int background_start(struct lsm *db)
{
	void *(*const run[])(void *) = {flush_thread, compact_thread,
					timer_thread};

	for (; db->nthreads < 3; db->nthreads++) {
		int r = pthread_create(&db->threads[db->nthreads], NULL,
				       run[db->nthreads], db);

		if (r)
			return why(-r, "cannot start a thread");
	}
	return 0;
}

void background_stop(struct lsm *db)
{
	pthread_mutex_lock(&db->state);
	db->stop = true;
	for (size_t i = 0; i < db->ntables; i++) {
		struct table_state *st = db->tables[i]->now;

		for (uint32_t k = 0; k < st->schema.nfamilies; k++)
			atomic_store(&st->trees[k]->cancel, true);
	}
	pthread_cond_broadcast(&db->work);
	pthread_cond_broadcast(&db->done);
	pthread_mutex_unlock(&db->state);
	while (db->nthreads)
		pthread_join(db->threads[--db->nthreads], NULL);
}
