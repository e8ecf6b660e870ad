/*
 * RocksDB, by its C interface.
 */
#include "tools/bench/engine.h"

#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/peer_key.h"

struct rocks {
	rocksdb_t *db;
	rocksdb_options_t *options;
	rocksdb_cache_t *cache;
};

struct session {
	rocksdb_t *db;
	rocksdb_writebatch_t *batch;
	rocksdb_writeoptions_t *write, *write_sync;
	rocksdb_readoptions_t *read;
};

static int failed(char *err)
{
	int r = bench_fail("rocksdb: %s", err);

	rocksdb_free(err);
	return r;
}

static const char *version(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "%s", BENCH_ROCKSDB_VERSION);
	return text;
}

static rocksdb_options_t *make_options(const struct engine_options *o,
				       rocksdb_cache_t *cache)
{
	rocksdb_block_based_table_options_t *table =
		rocksdb_block_based_options_create();
	rocksdb_options_t *options = rocksdb_options_create();

	rocksdb_block_based_options_set_block_cache(table, cache);
	rocksdb_block_based_options_set_filter_policy(
		table, rocksdb_filterpolicy_create_bloom_full(10));
	rocksdb_options_set_block_based_table_factory(options, table);
	rocksdb_options_set_create_if_missing(options, 1);
	rocksdb_options_set_write_buffer_size(options, o->write_buffer_bytes);
	rocksdb_options_set_max_background_jobs(options, 2);
	rocksdb_options_set_compression(options,
					o->zlib ? rocksdb_zlib_compression
						: rocksdb_no_compression);
	rocksdb_block_based_options_destroy(table);
	return options;
}

static int open_db(const struct engine_options *o, void **out)
{
	struct rocks *r = calloc(1, sizeof(*r));
	char *err = NULL;

	if (!r)
		return bench_fail("out of memory");
	r->cache = rocksdb_cache_create_lru(o->cache_bytes);
	r->options = make_options(o, r->cache);
	r->db = rocksdb_open(r->options, o->dir, &err);
	if (err) {
		free(r);
		return failed(err);
	}
	*out = r;
	return 0;
}

static int close_db(void *db)
{
	struct rocks *r = db;

	rocksdb_close(r->db);
	rocksdb_options_destroy(r->options);
	rocksdb_cache_destroy(r->cache);
	free(r);
	return 0;
}

static int flush(void *db)
{
	rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();
	struct rocks *r = db;
	char *err = NULL;

	rocksdb_flush(r->db, o, &err);
	rocksdb_flushoptions_destroy(o);
	return err ? failed(err) : 0;
}

static int compact(void *db)
{
	rocksdb_compactoptions_t *o = rocksdb_compactoptions_create();
	struct rocks *r = db;

	/* 2: rewrite the last level in any case */
	rocksdb_compactoptions_set_bottommost_level_compaction(o, 2);
	rocksdb_compact_range_opt(r->db, o, NULL, 0, NULL, 0);
	rocksdb_compactoptions_destroy(o);
	return 0;
}

static int open_session(void *db, void **out)
{
	struct session *s = bench_own_lines(sizeof(*s));
	struct rocks *r = db;

	if (!s)
		return bench_fail("out of memory");
	s->db = r->db;
	s->batch = rocksdb_writebatch_create();
	s->write = rocksdb_writeoptions_create();
	s->write_sync = rocksdb_writeoptions_create();
	rocksdb_writeoptions_set_sync(s->write_sync, 1);
	s->read = rocksdb_readoptions_create();
	*out = s;
	return 0;
}

static void session_free(void *session)
{
	struct session *s = session;

	rocksdb_readoptions_destroy(s->read);
	rocksdb_writeoptions_destroy(s->write);
	rocksdb_writeoptions_destroy(s->write_sync);
	rocksdb_writebatch_destroy(s->batch);
	free(s);
}

static int commit(struct session *s, bool sync)
{
	char *err = NULL;

	rocksdb_write(s->db, sync ? s->write_sync : s->write, s->batch, &err);
	rocksdb_writebatch_clear(s->batch);
	return err ? failed(err) : 0;
}

static int put(void *session, const struct item *it, size_t n, bool sync)
{
	struct session *s = session;
	struct peer_key k;

	for (size_t i = 0; i < n; i++) {
		peer_key_cell(&k, &it[i]);
		rocksdb_writebatch_put(s->batch, k.data, k.len,
				       (const char *)it[i].value, VALUE_LEN);
	}
	return commit(s, sync);
}

static int erase(void *session, const struct item *it, size_t n)
{
	struct session *s = session;
	struct peer_key k;

	for (size_t i = 0; i < n; i++) {
		peer_key_cell(&k, &it[i]);
		rocksdb_writebatch_delete(s->batch, k.data, k.len);
	}
	return commit(s, false);
}

static int get(void *session, const struct item *it, struct tally *t)
{
	rocksdb_pinnableslice_t *pinned;
	struct session *s = session;
	struct peer_key k;
	const char *value;
	char *err = NULL;
	size_t len;

	peer_key_cell(&k, it);
	pinned = rocksdb_get_pinned(s->db, s->read, k.data, k.len, &err);
	if (err)
		return failed(err);
	if (!pinned)
		return 0;
	value = rocksdb_pinnableslice_value(pinned, &len);
	tally_add(t, value, len);
	rocksdb_pinnableslice_destroy(pinned);
	return 1;
}

static int scan(void *session, const struct span *sp, struct tally *t)
{
	uint64_t left = sp->cells_max ? sp->cells_max : UINT64_MAX;
	struct session *s = session;
	struct peer_key prefix;
	rocksdb_iterator_t *it;
	const char *data;
	char *err = NULL;
	size_t len;

	peer_key_span(&prefix, sp->from, sp->one_column);
	it = rocksdb_create_iterator(s->db, s->read);
	rocksdb_iter_seek(it, prefix.data, prefix.len);
	for (; left && rocksdb_iter_valid(it); left--) {
		data = rocksdb_iter_key(it, &len);
		if (sp->one_row && !peer_key_has(data, len, &prefix))
			break;
		data = rocksdb_iter_value(it, &len);
		tally_add(t, data, len);
		if (left > 1)
			rocksdb_iter_next(it);
	}
	rocksdb_iter_get_error(it, &err);
	rocksdb_iter_destroy(it);
	return err ? failed(err) : 0;
}

static int newest(void *session, const struct item *it, struct tally *t)
{
	return peer_newest(scan, session, it, t);
}

static int rows(void *session, uint64_t max, uint64_t *count)
{
	struct session *s = session;
	rocksdb_iterator_t *it = rocksdb_create_iterator(s->db, s->read);
	struct peer_rows walk = {.max = max, .count = count};
	enum peer_step step;
	const char *data;
	char *err = NULL;
	size_t len;

	rocksdb_iter_seek_to_first(it);
	while (rocksdb_iter_valid(it)) {
		data = rocksdb_iter_key(it, &len);
		step = peer_rows_see(&walk, data, len);
		if (step == PEER_END)
			break;
		if (step == PEER_NEXT)
			rocksdb_iter_next(it);
		else
			rocksdb_iter_seek(it, walk.row.data, walk.row.len);
	}
	rocksdb_iter_get_error(it, &err);
	rocksdb_iter_destroy(it);
	return err ? failed(err) : 0;
}

static int snapshot_get(void *session, const struct item *it, struct tally *t)
{
	struct session *s = session;
	const rocksdb_snapshot_t *snap = rocksdb_create_snapshot(s->db);
	int r;

	rocksdb_readoptions_set_snapshot(s->read, snap);
	r = get(session, it, t);
	rocksdb_readoptions_set_snapshot(s->read, NULL);
	rocksdb_release_snapshot(s->db, snap);
	return r;
}

const struct engine bench_rocksdb = {
	.name = "rocksdb",
	.lsm = true,
	.settings = "bloom 10 bits a key, LRU block cache, 2 background jobs, "
		    "pinned gets, an iterator a scan",
	.version = version,
	.open = open_db,
	.close = close_db,
	.flush = flush,
	.compact = compact,
	.session = open_session,
	.session_free = session_free,
	.write = put,
	.erase = erase,
	.get = get,
	.newest = newest,
	.scan = scan,
	.rows = rows,
	.snapshot_get = snapshot_get,
};
