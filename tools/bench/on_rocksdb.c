/*
 * RocksDB, by its C interface.
 */
#include "tools/bench/engine.h"

#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/peer_key.h"

struct level {
	rocksdb_t *db;
	rocksdb_options_t *options;
	rocksdb_cache_t *cache;
};

#define OF(call) rocksdb_##call
#define ENGINE "rocksdb"
#include "tools/bench/level.inc"

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
	struct level *l = calloc(1, sizeof(*l));
	char *err = NULL;

	if (!l)
		return bench_fail("out of memory");
	l->cache = rocksdb_cache_create_lru(o->cache_bytes);
	l->options = make_options(o, l->cache);
	l->db = rocksdb_open(l->options, o->dir, &err);
	if (err) {
		free(l);
		return failed(err);
	}
	*out = l;
	return 0;
}

static int close_db(void *db)
{
	struct level *l = db;

	rocksdb_close(l->db);
	rocksdb_options_destroy(l->options);
	rocksdb_cache_destroy(l->cache);
	free(l);
	return 0;
}

static int flush(void *db)
{
	rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();
	struct level *l = db;
	char *err = NULL;

	rocksdb_flush(l->db, o, &err);
	rocksdb_flushoptions_destroy(o);
	return err ? failed(err) : 0;
}

static int compact(void *db)
{
	rocksdb_compactoptions_t *o = rocksdb_compactoptions_create();
	struct level *l = db;

	/* 2: rewrite the last level in any case */
	rocksdb_compactoptions_set_bottommost_level_compaction(o, 2);
	rocksdb_compact_range_opt(l->db, o, NULL, 0, NULL, 0);
	rocksdb_compactoptions_destroy(o);
	return 0;
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
	.scan = scan,
	.rows = rows,
	.snapshot_get = snapshot_get,
};
