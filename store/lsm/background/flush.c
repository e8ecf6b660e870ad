/*
 * Flush: a frozen generation of memtables becomes files of level 0.
 *
 * The work is done without a lock, then committed to the catalog and installed
 * under catalog. Order on disk: table files, their directory, the catalog;
 * only then is the log segment removed.
 */
#include "store/lsm/state/full.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/lsm/state/pins.h"
#include "store/lsm/state/superversion.h"
#include "store/lsm/background/background.h"
#include "store/value/array.h"

struct flushed {
	struct tree *tree;
	struct family_attrs attrs;
	struct sstable *file; /* NULL: no entry was left */
	struct history lost;
};

static int flush_tree(struct lsm *db, const struct generation *g, uint32_t id,
		      struct flushed *out)
{
	uint64_t *snapshots, table;
	struct levels *levels;
	struct flush_cursor c;
	struct compaction_job job = {
		.dir = db->dir,
		.cache = db->cache,
		.tree = id,
		.attrs = &out->attrs,
		.now_ms = os_now_ms(db->os),
		.number = file_number,
		.arg = db,
	};
	int r;

	if (!tree_live(db, id, &out->tree, &out->attrs, &table))
		return 0;
	pthread_mutex_lock(&db->state);
	levels = out->tree->levels;
	levels_ref(levels);
	pthread_mutex_unlock(&db->state);
	job.levels = levels;
	r = pins_collect(db, table, &snapshots, &job.nsnapshots);
	if (r == 0) {
		job.snapshots = snapshots;
		r = flush_cursor_open(g->mem, id, &c);
		if (r == 0)
			r = flush_run(&job, &c.base, g->trim == table);
		cursor_close(&c.base);
		free(snapshots);
	}
	levels_unref(levels);
	if (r < 0) {
		history_free(&job.lost);
		tree_unref(out->tree);
		return r;
	}
	out->file = job.noutputs ? job.outputs[0] : NULL;
	free(job.outputs);
	warm_files(db, &out->file, out->file != NULL);
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
		if (ARRAY_RESERVE(*out, cap, *n + 1) < 0) {
			r = why(-ENOMEM, "out of memory");
			break;
		}
		do {
			(*out)[*n] = (struct flushed){0};
			r = flush_tree(db, g, (uint32_t)id, &(*out)[*n]);
		} while (full_lend(db, r, &db->flush_loans));
		if (r > 0) {
			++*n;
			r = 0;
		}
	}
	return r;
}

/* Commits the flushed files and installs them; or 1: they are to be made anew. */
static int flush_commit(struct lsm *db, struct flushed *f, size_t n,
			uint64_t wal_next)
{
	struct edit_file *added = calloc(n + 1, sizeof(*added));
	struct edit_loss *lost = calloc(n + 1, sizeof(*lost));
	struct levels **next = calloc(n + 1, sizeof(struct levels *));
	struct edit e = {.added = added, .lost = lost, .wal_first = wal_next};
	int r;

	if (!added || !lost || !next)
		r = why(-ENOMEM, "out of memory after a flush");
	else
		r = os_dir_sync(db->dir);
	if (r < 0)
		goto out;
	pthread_mutex_lock(&db->catalog);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct level_file file = {0, f[i].file};

		if (tree_outgrows(db, f[i].tree, &f[i].attrs)) {
			r = 1;
			break;
		}
		if (!f[i].file && history_is_whole(&f[i].lost))
			continue;
		r = tree_next_levels(db, f[i].tree, NULL, 0, &file,
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
	if (r == 0)
		r = lsm_commit_edit(db, &e);
	if (r == 0) {
		pthread_mutex_lock(&db->state);
		for (size_t i = 0; i < n; i++)
			if (next[i])
				tree_install(f[i].tree, next[i]);
		assert(db->flushing && db->nfrozen > 0);
		memtable_unref(db->frozen[0].mem);
		memmove(db->frozen, db->frozen + 1,
			--db->nfrozen * sizeof(db->frozen[0]));
		/* Who waits for the flush may go on, and asks how many. */
		atomic_fetch_add(&db->stats.flushes, 1);
		superversions_changed(db);
		pthread_mutex_unlock(&db->state);
		superversions_sweep(db);
	} else {
		for (size_t i = 0; i < n; i++)
			levels_unref(next[i]);
	}
	pthread_mutex_unlock(&db->catalog);
out:
	free(added);
	free(lost);
	free(next);
	return r;
}

/* As flush_commit(). */
static int flush_generation(struct lsm *db, const struct generation *g,
			    uint64_t *bytes)
{
	struct flushed *f = NULL;
	size_t n = 0;
	int r = flush_trees(db, g, &f, &n);

	*bytes = 0;
	if (r == 0)
		r = flush_commit(db, f, n, g->wal_next);
	for (size_t i = 0; i < n; i++) {
		if (f[i].file) {
			*bytes += sst_info(f[i].file)->file_bytes;
			/* An edit that failed for good may be in the catalog. */
			if (r && !atomic_load(&db->failed))
				sst_obsolete(f[i].file);
			sst_unref(f[i].file);
		}
		history_free(&f[i].lost);
		tree_unref(f[i].tree);
	}
	free(f);
	return r;
}

int flush_one(struct lsm *db)
{
	struct generation g;
	uint64_t bytes;
	int r;

	pthread_mutex_lock(&db->state);
	if (!db->nfrozen || db->flushing) {
		pthread_mutex_unlock(&db->state);
		return 0;
	}
	db->flushing = 1;
	g = db->frozen[0];
	pthread_mutex_unlock(&db->state);

	do
		r = flush_generation(db, &g, &bytes);
	while (r > 0);
	if (r == 0) {
		atomic_fetch_add(&db->stats.flush_bytes, bytes);
		pace_take(&db->pace, bytes, os_monotonic_ns(db->os));
		/*
		 * If this fails for lack of a descriptor, the next flush
		 * releases it.
		 */
		r = wal_release(db->wal, g.wal_next);
		r = r < 0 && !os_is_want(r) ? lsm_fail(db, r) : 0;
	}
	full_repay(db, &db->flush_loans);
	pthread_mutex_lock(&db->state);
	assert(db->flushing);
	db->flushing = 0;
	db->flush_tries++;
	db->flush_error = r;
	if (r < 0)
		snprintf(db->flush_why, sizeof(db->flush_why), "%s",
			 store_why());
	pthread_cond_broadcast(&db->done);
	pthread_cond_broadcast(&db->work);
	pthread_mutex_unlock(&db->state);
	lsm_tell_work(db, r, &db->flush_told,
		      "the flush of memory to table files");
	return r < 0 ? r : 1;
}

/* Under state: are the first @n generations in files? */
static bool are_flushed(const struct lsm *db, uint64_t n)
{
	return db->freezes - db->nfrozen >= n;
}

/*
 * Waits until they are. A flush that began before the call may fail without
 * effect: another one is tried, and its result counts.
 */
static int wait_for_flush(struct lsm *db, uint64_t n)
{
	uint64_t tries;
	bool failed = false;
	int r = 0;

	pthread_mutex_lock(&db->state);
	tries = db->flush_tries + db->flushing;
	db->flush_wanted = true;
	pthread_cond_broadcast(&db->work);
	while (!are_flushed(db, n)) {
		/* why() is called after the lock is released. */
		failed = atomic_load(&db->failed);
		if (failed)
			break;
		if (db->flush_tries > tries && db->flush_error) {
			r = why(db->flush_error,
				"memory could not be flushed: %s",
				db->flush_why);
			break;
		}
		pthread_cond_wait(&db->done, &db->state);
	}
	pthread_mutex_unlock(&db->state);
	return failed ? lsm_writable(db) : r;
}

/* The same, also if callers do the work. */
static int flush_first(struct lsm *db, uint64_t n)
{
	int r;

	if (!db->options.inline_background)
		return wait_for_flush(db, n);
	do
		r = flush_one(db);
	while (r > 0);
	return r;
}

static bool any_frozen(struct lsm *db)
{
	bool any;

	pthread_mutex_lock(&db->state);
	any = db->nfrozen > 0;
	pthread_mutex_unlock(&db->state);
	return any;
}

int flush_all(struct lsm *db, const struct table *trim)
{
	uint64_t n;
	int r;

	pthread_mutex_lock(&db->commit);
	r = lsm_writable(db);
	n = db->freezes + !memtable_empty(db->active);
	/* A writer may freeze what is active meanwhile. */
	while (r == 0 && db->freezes < n && any_frozen(db)) {
		/* A flush takes catalog, whose holder may wait for commit. */
		pthread_mutex_unlock(&db->commit);
		r = flush_first(db, n - 1);
		pthread_mutex_lock(&db->commit);
	}
	if (r == 0 && db->freezes < n)
		r = commit_freeze(db, trim ? trim->id : 0);
	pthread_mutex_unlock(&db->commit);
	return r < 0 ? r : flush_first(db, n);
}

int lsm_flush(struct store *s, struct table *t)
{
	/* One generation holds every table's cells. */
	return flush_all(lsm_of(s), t);
}
