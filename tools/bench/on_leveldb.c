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

struct session {
	leveldb_t *db;
	leveldb_writebatch_t *batch;
	leveldb_writeoptions_t *write, *write_sync;
	leveldb_readoptions_t *read;
};

static int failed(char *err)
{
	int r = bench_fail("leveldb: %s", err);

	leveldb_free(err);
	return r;
}

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

static int open_session(void *db, void **out)
{
	struct session *s = bench_own_lines(sizeof(*s));
	struct level *l = db;

	if (!s)
		return bench_fail("out of memory");
	s->db = l->db;
	s->batch = leveldb_writebatch_create();
	s->write = leveldb_writeoptions_create();
	s->write_sync = leveldb_writeoptions_create();
	leveldb_writeoptions_set_sync(s->write_sync, 1);
	s->read = leveldb_readoptions_create();
	*out = s;
	return 0;
}

static void session_free(void *session)
{
	struct session *s = session;

	leveldb_readoptions_destroy(s->read);
	leveldb_writeoptions_destroy(s->write);
	leveldb_writeoptions_destroy(s->write_sync);
	leveldb_writebatch_destroy(s->batch);
	free(s);
}

static int commit(struct session *s, bool sync)
{
	char *err = NULL;

	leveldb_write(s->db, sync ? s->write_sync : s->write, s->batch, &err);
	leveldb_writebatch_clear(s->batch);
	return err ? failed(err) : 0;
}

static int put(void *session, const struct item *it, size_t n, bool sync)
{
	struct session *s = session;
	struct peer_key k;

	for (size_t i = 0; i < n; i++) {
		peer_key_cell(&k, &it[i]);
		leveldb_writebatch_put(s->batch, k.data, k.len,
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
		leveldb_writebatch_delete(s->batch, k.data, k.len);
	}
	return commit(s, false);
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

static int scan(void *session, const struct span *sp, struct tally *t)
{
	uint64_t left = sp->cells_max ? sp->cells_max : UINT64_MAX;
	struct session *s = session;
	struct peer_key prefix;
	leveldb_iterator_t *it;
	const char *data;
	char *err = NULL;
	size_t len;

	peer_key_span(&prefix, sp->from, sp->one_column);
	it = leveldb_create_iterator(s->db, s->read);
	leveldb_iter_seek(it, prefix.data, prefix.len);
	for (; left && leveldb_iter_valid(it); left--) {
		data = leveldb_iter_key(it, &len);
		if (sp->one_row && !peer_key_has(data, len, &prefix))
			break;
		data = leveldb_iter_value(it, &len);
		tally_add(t, data, len);
		if (left > 1)
			leveldb_iter_next(it);
	}
	leveldb_iter_get_error(it, &err);
	leveldb_iter_destroy(it);
	return err ? failed(err) : 0;
}

static int newest(void *session, const struct item *it, struct tally *t)
{
	return peer_newest(scan, session, it, t);
}

static int rows(void *session, uint64_t max, uint64_t *count)
{
	struct session *s = session;
	leveldb_iterator_t *it = leveldb_create_iterator(s->db, s->read);
	struct peer_rows walk = {.max = max, .count = count};
	enum peer_step step;
	const char *data;
	char *err = NULL;
	size_t len;

	leveldb_iter_seek_to_first(it);
	while (leveldb_iter_valid(it)) {
		data = leveldb_iter_key(it, &len);
		step = peer_rows_see(&walk, data, len);
		if (step == PEER_END)
			break;
		if (step == PEER_NEXT)
			leveldb_iter_next(it);
		else
			leveldb_iter_seek(it, walk.row.data, walk.row.len);
	}
	leveldb_iter_get_error(it, &err);
	leveldb_iter_destroy(it);
	return err ? failed(err) : 0;
}

static int snapshot_get(void *session, const struct item *it, struct tally *t)
{
	struct session *s = session;
	const leveldb_snapshot_t *snap = leveldb_create_snapshot(s->db);
	int r;

	leveldb_readoptions_set_snapshot(s->read, snap);
	r = get(session, it, t);
	leveldb_readoptions_set_snapshot(s->read, NULL);
	leveldb_release_snapshot(s->db, snap);
	return r;
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
	.newest = newest,
	.scan = scan,
	.rows = rows,
	.snapshot_get = snapshot_get,
};
