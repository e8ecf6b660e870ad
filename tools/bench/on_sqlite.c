/*
 * SQLite: one table WITHOUT ROWID whose primary key is the cell's name, in WAL
 * mode. A connection and its prepared statements a session.
 */
#include "tools/bench/engine.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tools/bench/peer_key.h"

enum statement {
	BEGIN,
	COMMIT,
	PUT,
	DELETE,
	GET,
	SPAN,
	STATEMENTS
};

static const char *const sql[STATEMENTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[PUT] = "INSERT OR REPLACE INTO cell(k, v) VALUES(?, ?)",
	[DELETE] = "DELETE FROM cell WHERE k = ?",
	[GET] = "SELECT v FROM cell WHERE k = ?",
	[SPAN] = "SELECT k, v FROM cell WHERE k >= ? ORDER BY k",
};

struct lite {
	char path[512];
	size_t cache_bytes;
	sqlite3 *db; /* keeps the file open and makes the table */
};

struct session {
	sqlite3 *db;
	bool sync;
	sqlite3_stmt *stmt[STATEMENTS];
};

static int failed(sqlite3 *db)
{
	return bench_fail("sqlite: %s", db ? sqlite3_errmsg(db) : "no memory");
}

static const char *version(void)
{
	return sqlite3_libversion();
}

static int connect_db(const struct lite *l, sqlite3 **out)
{
	char setup[512];

	if (sqlite3_open(l->path, out) != SQLITE_OK)
		return failed(*out);
	sqlite3_busy_timeout(*out, 60000);
	snprintf(setup, sizeof(setup),
		 "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
		 "PRAGMA wal_autocheckpoint=16384; PRAGMA cache_size=-%zu;"
		 "CREATE TABLE IF NOT EXISTS cell(k BLOB PRIMARY KEY, v BLOB) "
		 "WITHOUT ROWID;",
		 l->cache_bytes >> 10);
	if (sqlite3_exec(*out, setup, NULL, NULL, NULL) != SQLITE_OK)
		return failed(*out);
	return 0;
}

static int open_db(const struct engine_options *o, void **out)
{
	struct lite *l = calloc(1, sizeof(*l));

	if (!l)
		return bench_fail("out of memory");
	mkdir(o->dir, 0755);
	snprintf(l->path, sizeof(l->path), "%s/cells.db", o->dir);
	l->cache_bytes = o->cache_bytes;
	if (connect_db(l, &l->db) < 0) {
		free(l);
		return -1;
	}
	*out = l;
	return 0;
}

static int close_db(void *db)
{
	struct lite *l = db;

	sqlite3_close(l->db);
	free(l);
	return 0;
}

static int flush(void *db)
{
	struct lite *l = db;

	if (sqlite3_wal_checkpoint_v2(l->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
				      NULL, NULL) != SQLITE_OK)
		return failed(l->db);
	return 0;
}

static int open_session(void *db, void **out)
{
	struct session *s = bench_own_lines(sizeof(*s));

	if (!s)
		return bench_fail("out of memory");
	if (connect_db(db, &s->db) < 0)
		goto fail;
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v2(s->db, sql[i], -1, &s->stmt[i], NULL) !=
		    SQLITE_OK) {
			failed(s->db);
			goto fail;
		}
	*out = s;
	return 0;
fail:
	sqlite3_close_v2(s->db);
	free(s);
	return -1;
}

static void session_free(void *session)
{
	struct session *s = session;

	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->stmt[i]);
	sqlite3_close(s->db);
	free(s);
}

static int run(struct session *s, enum statement what)
{
	int r = sqlite3_step(s->stmt[what]);

	sqlite3_reset(s->stmt[what]);
	return r == SQLITE_DONE ? 0 : failed(s->db);
}

static void bind_key(struct session *s, enum statement what,
		     const struct peer_key *k)
{
	sqlite3_bind_blob(s->stmt[what], 1, k->data, (int)k->len,
			  SQLITE_STATIC);
}

static int change(struct session *s, const struct item *it, size_t n,
		  enum statement what)
{
	int r = n > 1 ? run(s, BEGIN) : 0;
	struct peer_key k;

	for (size_t i = 0; r == 0 && i < n; i++) {
		peer_key_cell(&k, &it[i]);
		bind_key(s, what, &k);
		if (what == PUT)
			sqlite3_bind_blob(s->stmt[what], 2, it[i].value,
					  VALUE_LEN, SQLITE_STATIC);
		r = run(s, what);
	}
	if (r == 0 && n > 1)
		r = run(s, COMMIT);
	return r;
}

static int put(void *session, const struct item *it, size_t n, bool sync)
{
	struct session *s = session;

	if (sync && !s->sync) {
		sqlite3_exec(s->db, "PRAGMA synchronous=FULL", NULL, NULL,
			     NULL);
		s->sync = true;
	}
	return change(s, it, n, PUT);
}

static int erase(void *session, const struct item *it, size_t n)
{
	return change(session, it, n, DELETE);
}

static int get(void *session, const struct item *it, struct tally *t)
{
	struct session *s = session;
	sqlite3_stmt *st = s->stmt[GET];
	struct peer_key k;
	int r;

	peer_key_cell(&k, it);
	bind_key(s, GET, &k);
	r = sqlite3_step(st);
	if (r == SQLITE_ROW)
		tally_add(t, sqlite3_column_blob(st, 0),
			  (size_t)sqlite3_column_bytes(st, 0));
	sqlite3_reset(st);
	if (r != SQLITE_ROW && r != SQLITE_DONE)
		return failed(s->db);
	return r == SQLITE_ROW;
}

static int scan(void *session, const struct span *sp, struct tally *t)
{
	uint64_t left = sp->cells_max ? sp->cells_max : UINT64_MAX;
	struct session *s = session;
	sqlite3_stmt *st = s->stmt[SPAN];
	struct peer_key prefix = {0};
	int r = SQLITE_ROW;

	peer_key_span(&prefix, sp->from, sp->one_column);
	bind_key(s, SPAN, &prefix);
	for (; left; left--) {
		r = sqlite3_step(st);
		if (r != SQLITE_ROW)
			break;
		if (sp->one_row &&
		    !peer_key_has(sqlite3_column_blob(st, 0),
				  (size_t)sqlite3_column_bytes(st, 0), &prefix))
			break;
		tally_add(t, sqlite3_column_blob(st, 1),
			  (size_t)sqlite3_column_bytes(st, 1));
	}
	sqlite3_reset(st);
	return r == SQLITE_ROW || r == SQLITE_DONE ? 0 : failed(s->db);
}

static int rows(void *session, uint64_t max, uint64_t *count)
{
	struct peer_rows walk = {.max = max, .count = count};
	struct session *s = session;
	sqlite3_stmt *st = s->stmt[SPAN];
	enum peer_step step = PEER_SEEK;
	int r;

	do {
		if (step == PEER_SEEK) {
			sqlite3_reset(st);
			bind_key(s, SPAN, &walk.row);
		}
		r = sqlite3_step(st);
		step = r != SQLITE_ROW
			       ? PEER_END
			       : peer_rows_see(
					 &walk, sqlite3_column_blob(st, 0),
					 (size_t)sqlite3_column_bytes(st, 0));
	} while (step != PEER_END);
	sqlite3_reset(st);
	return r == SQLITE_ROW || r == SQLITE_DONE ? 0 : failed(s->db);
}

const struct engine bench_sqlite = {
	.name = "sqlite",
	.settings = "WITHOUT ROWID, WAL, synchronous OFF (FULL for sync "
		    "writes), checkpoint every 64 MiB, prepared statements",
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
	/* A statement that reads is a snapshot. */
	.snapshot_get = get,
};
