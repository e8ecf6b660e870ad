/*
 * Opening and closing the engine.
 *
 * Opening: the directory, its lock, the catalog, the tables' files, the log
 * replayed into a memtable, leftovers removed, threads. Nothing in the
 * directory is changed before its format is known.
 */
#include "store/lsm/state/full.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "store/lsm/admin/admin.h"
#include "store/lsm/admin/engine.h"
#include "store/lsm/block/cache.h"
#include "store/lsm/manifest/directory.h"
#include "store/lsm/read/read.h"
#include "store/lsm/state/pins.h"
#include "store/lsm/state/table_list.h"
#include "store/lsm/state/superversion.h"
#include "store/lsm/background/background.h"
#include "store/lsm/write/note.h"
#include "store/lsm/write/quota.h"
#include "store/lsm/write/write.h"
#include "store/os/clock.h"

static int lsm_space(struct store *s, struct store_space *out)
{
	return os_dir_space(lsm_of(s)->dir, &out->total_bytes, &out->free_bytes,
			    &out->avail_bytes);
}

/* Writes and syncs the file; after a failure there is none. */
static int keep_in(struct os_dir *dir, const char *name, struct bytes content)
{
	struct os_file *f;
	int r = os_open(dir, name, OS_WRITE | OS_CREATE | OS_EXCL, &f);

	if (r < 0)
		return r;
	r = os_pwrite(f, content.data, content.len, 0);
	if (r == 0)
		r = os_fdatasync(f);
	os_close(f);
	if (r == 0)
		r = os_dir_sync(dir);
	if (r < 0)
		os_discard(dir, name);
	return r;
}

static int lsm_keep(struct store *s, const char *name, struct bytes content)
{
	struct os_dir *dir;
	int r = os_dir_below(lsm_of(s)->dir, "lost+found", &dir);

	if (r < 0)
		return r;
	r = keep_in(dir, name, content);
	os_dir_close(dir);
	return r;
}

static int lsm_health(struct store *s)
{
	return lsm_writable(lsm_of(s));
}

static int lsm_takes_puts(struct table *t)
{
	struct lsm *db = lsm_of(t->store);
	int r = quota_admit(db, (struct lsm_table *)t, NULL);

	return r < 0 ? r : backpressure_admit(db, NULL);
}

static int64_t lsm_now_ms(struct store *s)
{
	return os_now_ms(lsm_of(s)->os);
}

static int lsm_close(struct store *s);

static const struct store_ops lsm_ops = {
	.can = ABILITIES_ALL,
	.close = lsm_close,
	.table_open = lsm_table_open,
	.table_free = lsm_table_free,
	.table_schema = lsm_table_schema,
	.table_schema_version = lsm_table_schema_version,
	.table_name = lsm_table_name,
	.table_create = lsm_table_create,
	.table_drop = lsm_table_drop,
	.table_truncate = lsm_table_truncate,
	.table_rename = lsm_table_rename,
	.table_alter = lsm_table_alter,
	.table_next = lsm_table_next,
	.table_info = lsm_table_info,
	.mutate = lsm_mutate,
	.mutate_try = lsm_mutate_try,
	.mutate_many = lsm_mutate_many,
	.sync = lsm_sync,
	.scan_open = lsm_scan_open,
	.scan_next = lsm_scan_next,
	.scan_pass = lsm_scan_pass,
	.scan_close = lsm_scan_close,
	.get = lsm_get,
	.snapshot_take = lsm_snapshot_take,
	.snapshot_release = lsm_snapshot_release,
	.snapshot_create = lsm_snapshot_create,
	.snapshot_drop = lsm_snapshot_drop,
	.snapshot_rename = lsm_snapshot_rename,
	.snapshot_next = lsm_snapshot_next,
	.snapshot_open = lsm_snapshot_open,
	.snapshot_clone = lsm_snapshot_clone,
	.snapshot_restore = lsm_snapshot_restore,
	.table_open_id = lsm_table_open_id,
	.flush = lsm_flush,
	.compact = lsm_compact,
	.check_part = lsm_check_part,
	.hold = lsm_hold,
	.hold_release = lsm_hold_release,
	.keep_log = lsm_keep_log,
	.stat = lsm_stat,
	.shape = lsm_shape,
	.space = lsm_space,
	.keep = lsm_keep,
	.health = lsm_health,
	.writable = lsm_takes_puts,
	.now_ms = lsm_now_ms,
};

static void init_locks(struct lsm *db)
{
	pthread_mutex_init(&db->catalog, NULL);
	pthread_mutex_init(&db->commit, NULL);
	pthread_mutex_init(&db->state, NULL);
	clock_cond_init(&db->work);
	clock_cond_init(&db->done);
}

/* The memory for alive versions: a part of the cache's size. */
static size_t alive_bytes(const struct store_options *o)
{
	size_t n = o->cache_bytes / 8;

	return n < ALIVE_BYTES_MIN ? ALIVE_BYTES_MIN : n;
}

static int make(const struct store_options *o, struct lsm **out)
{
	struct lsm *db = store_alloc(sizeof(*db));
	int r;

	if (!db)
		return why(-ENOMEM, "out of memory");
	db->options = *o;
	if (!db->options.cache_bytes)
		db->options.cache_bytes = STORE_CACHE_BYTES;
	if (!db->options.write_buffer_bytes)
		db->options.write_buffer_bytes = STORE_WRITE_BUFFER_BYTES;
	db->limits = (struct compaction_limits){
		.level0_files = LEVEL0_FILES,
		.top_ratio = LEVEL0_RATIO,
		.ratio = 10,
	};
	db->os = o->os ? o->os : os_posix();
	db->own_slots = thread_heavy_init();
	store_init(&db->base, &lsm_ops, o->read_only);
	pace_init(&db->pace, o->background_bytes_s, os_monotonic_ns(db->os));
	init_locks(db);
	r = alive_init(&db->alive, &db->seq, alive_bytes(&db->options),
		       db->options.patience);
	if (r < 0) {
		free(db);
		return why(r, "cannot make locks");
	}
	arena_keep((ptrdiff_t)db->options.write_buffer_bytes);
	*out = db;
	return 0;
}

static int remove_leftover(void *arg, const char *name)
{
	struct lsm *db = arg;
	uint64_t number;

	switch (directory_name(name, &number)) {
	case NAME_SST:
	case NAME_CATALOG:
	case NAME_CATALOG_OLD:
	case NAME_CATALOG_NEW:
	case NAME_CURRENT:
	case NAME_CURRENT_TMP:
	case NAME_MANIFEST:
		break;
	default:
		return 0;
	}
	return manifest_is_current(db->manifest, name)
		       ? 0
		       : os_remove(db->dir, name);
}

static int replay(void *arg, uint64_t segment, struct bytes record)
{
	struct lsm *db = arg;

	db->stats.recovered_records++;
	return commit_replay(db, record);
}

/* What the last process changed may not be noted yet. */
static int keep_begin(struct lsm *db)
{
	int r = note_init(db);

	pthread_mutex_lock(&db->catalog);
	pthread_mutex_lock(&db->commit);
	db->keeps_log = manifest_catalog(db->manifest)->keep.bytes != 0;
	if (r == 0)
		note_tables(db);
	pthread_mutex_unlock(&db->commit);
	pthread_mutex_unlock(&db->catalog);
	return r;
}

static int open_parts(struct lsm *db, const char *path)
{
	struct wal_options w = {
		.segment_bytes = db->options.wal_segment_bytes,
		.ring_bytes = db->options.wal_ring_bytes,
		.reserve = !db->options.inline_background,
	};
	bool ro = db->options.read_only;
	const struct catalog *c;
	uint64_t begun;
	int r = directory_open(db->os, path, &db->options, &db->dir);

	if (r == 0)
		full_fit(db);
	if (r == 0)
		r = manifest_open(db->dir, db->options.create && !ro, ro,
				  &db->manifest);
	if (r < 0)
		return r;
	c = manifest_catalog(db->manifest);
	w.keep = c->keep.bytes;
	w.keep_id = c->keep.id;
	atomic_store(&db->next_file, c->next_file);
	atomic_store(&db->seq, c->last_seq);
	r = block_cache_new(db->options.cache_bytes, &db->cache);
	if (r == 0)
		r = tables_load(db);
	if (r == 0)
		r = pins_load(db);
	if (r == 0)
		r = backpressure_init(db);
	db->reading = db->active;
	begun = os_monotonic_ns(db->os);
	if (r == 0)
		r = wal_open(db->dir, &w, c->wal_first, ro, replay, db,
			     &db->wal);
	db->stats.recovery_ns = os_monotonic_ns(db->os) - begun;
	if (r == 0 && !ro)
		r = os_dir_list(db->dir, remove_leftover, db);
	if (r == 0 && !ro)
		r = keep_begin(db);
	if (r == 0 && !ro && !db->options.inline_background) {
		r = wal_prepare(db->wal);
		if (r == 0)
			r = background_start(db);
	}
	return r;
}

/* Frees what open_parts() opened. */
static void release(struct lsm *db)
{
	arena_keep(-(ptrdiff_t)db->options.write_buffer_bytes);
	free(db->pending);
	free(db->entries);
	buf_free(&db->record);
	buf_free(&db->note);
	for (uint32_t i = 0; i < db->nfrozen; i++)
		memtable_unref(db->frozen[i].mem);
	memtable_unref(db->active);
	scan_free_spares(db);
	superversions_free(db);
	pins_free(db);
	tables_free(db);
	block_cache_free(db->cache);
	manifest_close(db->manifest);
	os_dir_close(db->dir);
	pthread_cond_destroy(&db->work);
	pthread_cond_destroy(&db->done);
	pthread_mutex_destroy(&db->state);
	pthread_mutex_destroy(&db->commit);
	pthread_mutex_destroy(&db->catalog);
	pace_release(&db->pace);
	alive_free(&db->alive);
	free(db);
}

int lsm_open(const char *path, const struct store_options *o,
	     struct store **out)
{
	struct lsm *db = NULL;
	struct why_kept kept;
	int r = make(o, &db);

	if (r < 0)
		return r;
	r = open_parts(db, path);
	if (r < 0) {
		why_keep(&kept);
		background_stop(db);
		if (db->wal)
			(void)wal_close(db->wal);
		release(db);
		why_restore(&kept);
		return r;
	}
	*out = &db->base;
	return 0;
}

static int lsm_close(struct store *s)
{
	struct lsm *db = lsm_of(s);
	struct why_kept kept;
	int r, w;

	background_stop(db);
	w = wal_close(db->wal);
	/* The reason why writes stopped says more than -EROFS. */
	r = lsm_writable(db) < 0 ? atomic_load(&db->failed) : 0;
	why_keep(&kept);
	release(db);
	why_restore(&kept);
	return r < 0 ? r : w;
}

void lsm_abandon(struct store *s)
{
	struct lsm *db = lsm_of(s);

	background_stop(db);
	wal_abandon(db->wal);
	release(db);
}
