/*
 * LMDB: a writable mapping, no sync of its own; a sync write is followed by
 * mdb_env_sync(). A reader renews its transaction and cursor for each call.
 */
#include "tools/bench/engine.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tools/bench/peer_key.h"

struct lm {
	MDB_env *env;
	MDB_dbi dbi;
};

struct session {
	struct lm *lm;
	MDB_txn *read;
	MDB_cursor *cursor;
};

static int failed(const char *what, int r)
{
	return bench_fail("lmdb: %s: %s", what, mdb_strerror(r));
}

static const char *version(void)
{
	static char text[32];
	int a, b, c;

	mdb_version(&a, &b, &c);
	snprintf(text, sizeof(text), "%d.%d.%d", a, b, c);
	return text;
}

static int open_env(struct lm *l, const struct engine_options *o)
{
	MDB_txn *txn = NULL;
	int r;

	r = mdb_env_create(&l->env);
	if (r == 0)
		r = mdb_env_set_mapsize(l->env, (o->bytes_max + 4095) &
							~UINT64_C(4095));
	if (r == 0)
		r = mdb_env_open(l->env, o->dir, MDB_WRITEMAP | MDB_NOSYNC,
				 0644);
	if (r == 0)
		r = mdb_txn_begin(l->env, NULL, 0, &txn);
	if (r == 0)
		r = mdb_dbi_open(txn, NULL, 0, &l->dbi);
	if (r == 0)
		return mdb_txn_commit(txn);
	if (txn)
		mdb_txn_abort(txn);
	return r;
}

static int open_db(const struct engine_options *o, void **out)
{
	struct lm *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return bench_fail("out of memory");
	mkdir(o->dir, 0755);
	r = open_env(l, o);
	if (r != 0) {
		if (l->env)
			mdb_env_close(l->env);
		free(l);
		return failed("open", r);
	}
	*out = l;
	return 0;
}

static int close_db(void *db)
{
	struct lm *l = db;

	mdb_env_close(l->env);
	free(l);
	return 0;
}

static int flush(void *db)
{
	struct lm *l = db;
	int r = mdb_env_sync(l->env, 1);

	return r ? failed("sync", r) : 0;
}

static int open_session(void *db, void **out)
{
	struct session *s = bench_own_lines(sizeof(*s));
	int r;

	if (!s)
		return bench_fail("out of memory");
	s->lm = db;
	r = mdb_txn_begin(s->lm->env, NULL, MDB_RDONLY, &s->read);
	if (r == 0)
		r = mdb_cursor_open(s->read, s->lm->dbi, &s->cursor);
	if (r != 0) {
		free(s);
		return failed("a reader", r);
	}
	mdb_txn_reset(s->read);
	*out = s;
	return 0;
}

static void session_free(void *session)
{
	struct session *s = session;

	mdb_cursor_close(s->cursor);
	mdb_txn_abort(s->read);
	free(s);
}

static int change(struct session *s, const struct item *it, size_t n, bool put)
{
	struct peer_key k;
	MDB_txn *txn;
	int r = mdb_txn_begin(s->lm->env, NULL, 0, &txn);

	if (r != 0)
		return r;
	for (size_t i = 0; r == 0 && i < n; i++) {
		MDB_val key = {0, k.data};
		MDB_val value = {VALUE_LEN, (void *)it[i].value};

		peer_key_cell(&k, &it[i]);
		key.mv_size = k.len;
		r = put ? mdb_put(txn, s->lm->dbi, &key, &value, 0)
			: mdb_del(txn, s->lm->dbi, &key, NULL);
	}
	if (r != 0) {
		mdb_txn_abort(txn);
		return r;
	}
	return mdb_txn_commit(txn);
}

static int put(void *session, const struct item *it, size_t n, bool sync)
{
	struct session *s = session;
	int r = change(s, it, n, true);

	if (r == 0 && sync)
		r = mdb_env_sync(s->lm->env, 1);
	return r ? failed("put", r) : 0;
}

static int erase(void *session, const struct item *it, size_t n)
{
	int r = change(session, it, n, false);

	return r ? failed("delete", r) : 0;
}

static int begin(struct session *s)
{
	int r = mdb_txn_renew(s->read);

	if (r == 0)
		r = mdb_cursor_renew(s->read, s->cursor);
	return r;
}

static int get(void *session, const struct item *it, struct tally *t)
{
	struct session *s = session;
	struct peer_key k;
	MDB_val key, value;
	int r = mdb_txn_renew(s->read);

	if (r != 0)
		return failed("renew", r);
	peer_key_cell(&k, it);
	key = (MDB_val){k.len, k.data};
	r = mdb_get(s->read, s->lm->dbi, &key, &value);
	if (r == 0)
		tally_add(t, value.mv_data, value.mv_size);
	mdb_txn_reset(s->read);
	if (r != 0 && r != MDB_NOTFOUND)
		return failed("get", r);
	return r == 0;
}

static int scan(void *session, const struct span *sp, struct tally *t)
{
	uint64_t left = sp->cells_max ? sp->cells_max : UINT64_MAX;
	struct session *s = session;
	struct peer_key prefix;
	MDB_val key, value;
	int r = begin(s);

	if (r != 0)
		return failed("renew", r);
	peer_key_span(&prefix, sp->from, sp->one_column);
	key = (MDB_val){prefix.len, prefix.data};
	r = mdb_cursor_get(s->cursor, &key, &value,
			   prefix.len ? MDB_SET_RANGE : MDB_FIRST);
	while (r == 0) {
		if (sp->one_row &&
		    !peer_key_has(key.mv_data, key.mv_size, &prefix))
			break;
		tally_add(t, value.mv_data, value.mv_size);
		if (!--left)
			break;
		r = mdb_cursor_get(s->cursor, &key, &value, MDB_NEXT);
	}
	mdb_txn_reset(s->read);
	return r != 0 && r != MDB_NOTFOUND ? failed("scan", r) : 0;
}

static int rows(void *session, uint64_t max, uint64_t *count)
{
	struct session *s = session;
	struct peer_rows walk = {.max = max, .count = count};
	enum peer_step step;
	MDB_val key, value;
	int r = begin(s);

	if (r != 0)
		return failed("renew", r);
	r = mdb_cursor_get(s->cursor, &key, &value, MDB_FIRST);
	while (r == 0) {
		step = peer_rows_see(&walk, key.mv_data, key.mv_size);
		if (step == PEER_END)
			break;
		if (step == PEER_SEEK)
			key = (MDB_val){walk.row.len, walk.row.data};
		r = mdb_cursor_get(s->cursor, &key, &value,
				   step == PEER_NEXT ? MDB_NEXT
						     : MDB_SET_RANGE);
	}
	mdb_txn_reset(s->read);
	return r && r != MDB_NOTFOUND ? failed("scan", r) : 0;
}

const struct engine bench_lmdb = {
	.name = "lmdb",
	.settings = "WRITEMAP, NOSYNC (mdb_env_sync for a sync write), one "
		    "read transaction a thread, renewed for each read",
	.version = version,
	.open = open_db,
	.close = close_db,
	.flush = flush,
	.compact = flush,
	.session = open_session,
	.session_free = session_free,
	.write = put,
	.erase = erase,
	.get = get,
	.scan = scan,
	.rows = rows,
	/* A read transaction is a snapshot. */
	.snapshot_get = get,
};
