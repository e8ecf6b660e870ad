/*
 * LevelDB, by its C interface.
 */
#include "tools/bench/engine.h"

#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/peer_key.h"

struct level {
	leveldb_t *db;
	leveldb_options_t *options;
	leveldb_cache_t *cache;
	leveldb_filterpolicy_t *filter;
};

#define OF(call) leveldb_##call
#define ENGINE "leveldb"
#include "tools/bench/level.inc"

static const char *version(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "%d.%d", leveldb_major_version(),
		 leveldb_minor_version());
	return text;
}

static void release(struct level *l)
{
	leveldb_options_destroy(l->options);
	leveldb_cache_destroy(l->cache);
	leveldb_filterpolicy_destroy(l->filter);
	free(l);
}

static int open_db(const struct engine_options *o, void **out)
{
	struct level *l = calloc(1, sizeof(*l));
	char *err = NULL;

	if (!l)
		return bench_fail("out of memory");
	l->cache = leveldb_cache_create_lru(o->cache_bytes);
	l->filter = leveldb_filterpolicy_create_bloom(10);
	l->options = leveldb_options_create();
	leveldb_options_set_cache(l->options, l->cache);
	leveldb_options_set_filter_policy(l->options, l->filter);
	leveldb_options_set_create_if_missing(l->options, 1);
	leveldb_options_set_write_buffer_size(l->options,
					      o->write_buffer_bytes);
	leveldb_options_set_compression(l->options, leveldb_no_compression);
	l->db = leveldb_open(l->options, o->dir, &err);
	if (err) {
		release(l);
		return failed(err);
	}
	*out = l;
	return 0;
}

static int close_db(void *db)
{
	struct level *l = db;

	leveldb_close(l->db);
	release(l);
	return 0;
}

/* LevelDB has no call for this; opening writes the log's cells to a table. */
static int flush(void *db)
{
	return 0;
}

static int compact(void *db)
{
	struct level *l = db;

	leveldb_compact_range(l->db, NULL, 0, NULL, 0);
	return 0;
}

static int get(void *session, const struct item *it, struct tally *t)
{
	struct session *s = session;
	struct peer_key k;
	char *err = NULL;
	char *value;
	size_t len;

	peer_key_cell(&k, it);
	value = leveldb_get(s->db, s->read, k.data, k.len, &len, &err);
	if (err)
		return failed(err);
	if (!value)
		return 0;
	tally_add(t, value, len);
	leveldb_free(value);
	return 1;
}

const struct engine bench_leveldb = {
	.name = "leveldb",
	.lsm = true,
	.settings = "bloom 10 bits a key, LRU block cache, one background "
		    "thread (it has no more), an iterator a scan",
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
