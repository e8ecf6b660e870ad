/* The store itself, by the interface that a mount uses. */
#include "tools/bench/engine.h"

#include <stdlib.h>
#include <unistd.h>

#include "cellfs-version.h"
#include "store/store.h"

enum {
	BATCH = 32, /* cells that a scan requests at a time */
};

struct own {
	struct store *store;
	struct table *table;
};

struct session {
	struct own *own;
	struct mutation *mutations;
	struct change *changes;
	size_t cap;
	struct buf hold;
};

static const struct bytes table_key = {(const uint8_t *)"bench", 5};
static const struct bytes family = {(const uint8_t *)"d", 1};

static int failed(const char *what)
{
	return bench_fail("cellfs: %s: %s", what, store_why());
}

static const char *version(void)
{
	return CELLFS_VERSION;
}

static int make_table(struct own *own, const struct engine_options *o)
{
	struct schema schema = {0};
	struct family_attrs attrs;
	int r;

	if (table_open(own->store, table_key, &own->table) == 0)
		return 0;
	schema_init(&schema, getuid(), getgid());
	schema.fixed = true;
	family_attrs_default(&attrs);
	attrs.versions = o->versions;
	attrs.bloom = BLOOM_ROWCOL;
	attrs.compression = o->zlib ? COMPRESSION_ZLIB : COMPRESSION_NONE;
	r = schema_add(&schema, family, &attrs);
	if (r == 0)
		r = store_table_create(own->store, table_key, &schema);
	if (r == 0)
		r = table_open(own->store, table_key, &own->table);
	schema_free(&schema);
	return r;
}

static int close_db(void *db)
{
	struct own *own = db;
	int r;

	table_unref(own->table);
	r = store_close(own->store);
	free(own);
	return r < 0 ? failed("close") : 0;
}

static int open_db(const struct engine_options *o, void **out)
{
	struct own *own = calloc(1, sizeof(*own));
	const struct store_options so = {
		.create = true,
		.cache_bytes = o->cache_bytes,
		.write_buffer_bytes = o->write_buffer_bytes,
	};

	if (!own)
		return bench_fail("out of memory");
	if (store_open(o->dir, &so, &own->store) < 0) {
		free(own);
		return failed("open");
	}
	if (make_table(own, o) < 0) {
		failed("the table");
		close_db(own);
		return -1;
	}
	*out = own;
	return 0;
}

static int flush(void *db)
{
	struct own *own = db;

	return store_flush(own->store, NULL) < 0 ? failed("flush") : 0;
}

static int compact(void *db)
{
	struct own *own = db;

	return store_compact(own->store, NULL) < 0 ? failed("compact") : 0;
}

static int open_session(void *db, void **out)
{
	struct session *s = bench_own_lines(sizeof(*s));

	if (!s)
		return bench_fail("out of memory");
	s->own = db;
	*out = s;
	return 0;
}

static void session_free(void *session)
{
	struct session *s = session;

	free(s->mutations);
	free(s->changes);
	buf_free(&s->hold);
	free(s);
}

static int reserve(struct session *s, size_t n)
{
	if (n <= s->cap)
		return 0;
	free(s->mutations);
	free(s->changes);
	s->cap = 0;
	s->mutations = calloc(n, sizeof(*s->mutations));
	s->changes = calloc(n, sizeof(*s->changes));
	if (!s->mutations || !s->changes)
		return bench_fail("out of memory");
	s->cap = n;
	return 0;
}

/* Adjacent cells of one row become one mutation. */
static size_t group(struct session *s, const struct item *it, size_t n)
{
	size_t nm = 0;

	for (size_t i = 0; i < n; i++) {
		struct bytes row = bytes_of(it[i].row, it[i].row_len);

		s->changes[i] = (struct change){
			.op = CHANGE_PUT,
			.family = family,
			.qualifier =
				bytes_of(it[i].qualifier, it[i].qualifier_len),
			.ts = it[i].ts,
			.value = bytes_of(it[i].value, VALUE_LEN),
		};
		if (nm && bytes_eq(s->mutations[nm - 1].row, row)) {
			s->mutations[nm - 1].nchanges++;
			continue;
		}
		s->mutations[nm++] = (struct mutation){
			.row = row,
			.changes = &s->changes[i],
			.nchanges = 1,
		};
	}
	return nm;
}

static int put(void *session, const struct item *it, size_t n, bool sync)
{
	unsigned flags = sync ? MUTATE_SYNC : 0;
	struct session *s = session;
	size_t nm, done;
	int r;

	if (reserve(s, n) < 0)
		return -1;
	nm = group(s, it, n);
	if (nm == 1)
		r = table_mutate(s->own->table, s->mutations, flags);
	else
		r = table_mutate_many(s->own->table, s->mutations, nm, flags,
				      &done);
	return r < 0 ? failed("put") : 0;
}

static int erase(void *session, const struct item *it, size_t n)
{
	struct session *s = session;
	struct change c = {.op = CHANGE_DELETE_FAMILY,
			   .family = family,
			   .ts = it[n - 1].ts};
	struct mutation m = {.row = bytes_of(it->row, it->row_len),
			     .changes = &c,
			     .nchanges = 1};

	return table_mutate(s->own->table, &m, 0) < 0 ? failed("delete") : 0;
}

static int read_one(struct session *s, const struct item *it, bool exact,
		    const struct snapshot *snap, struct tally *t)
{
	struct bytes row = bytes_of(it->row, it->row_len);
	struct bytes qualifier = bytes_of(it->qualifier, it->qualifier_len);
	struct cell c;
	int r;

	if (exact)
		r = table_get_version(s->own->table, row, family, qualifier,
				      it->ts, snap, &c, &s->hold);
	else
		r = table_get(s->own->table, row, family, qualifier, TS_MAX,
			      snap, &c, &s->hold);
	if (r < 0)
		return failed("get");
	if (r > 0)
		tally_add(t, c.value.data, c.value.len);
	return r;
}

static int get(void *session, const struct item *it, struct tally *t)
{
	return read_one(session, it, true, NULL, t);
}

static int newest(void *session, const struct item *it, struct tally *t)
{
	return read_one(session, it, false, NULL, t);
}

static int snapshot_get(void *session, const struct item *it, struct tally *t)
{
	struct session *s = session;
	struct snapshot *snap;
	int r;

	if (snapshot_take(s->own->store, &snap) < 0)
		return failed("snapshot");
	r = read_one(s, it, true, snap, t);
	snapshot_release(snap);
	return r;
}

static int scan(void *session, const struct span *sp, struct tally *t)
{
	uint64_t left = sp->cells_max ? sp->cells_max : UINT64_MAX;
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct session *s = session;
	struct column_name column;
	struct cell c[BATCH];
	struct scan *sc;
	int r;

	if (sp->from)
		spec.row_start = bytes_of(sp->from->row, sp->from->row_len);
	if (sp->one_row) {
		spec.row_stop = spec.row_start;
		spec.row_stop_inclusive = true;
	}
	if (sp->one_column) {
		column = (struct column_name){
			.family = family,
			.qualifier = bytes_of(sp->from->qualifier,
					      sp->from->qualifier_len)};
		spec.columns = &column;
		spec.ncolumns = 1;
	}
	if (scan_open(s->own->table, &spec, &sc) < 0)
		return failed("scan");
	do {
		r = scan_next_many(sc, c, left < BATCH ? left : BATCH);
		for (int i = 0; i < r; i++)
			tally_add(t, c[i].value.data, c[i].value.len);
		left -= r > 0 ? (unsigned)r : 0;
	} while (r > 0 && left);
	scan_close(sc);
	return r < 0 ? failed("scan") : 0;
}

static int rows(void *session, uint64_t max, uint64_t *count)
{
	const struct scan_spec spec = {
		.granularity = SCAN_ROWS, .keys_only = true, .limit_rows = max};
	struct session *s = session;
	struct cell c[BATCH];
	struct scan *sc;
	int r;

	if (scan_open(s->own->table, &spec, &sc) < 0)
		return failed("rows");
	while ((r = scan_next_many(sc, c, BATCH)) > 0)
		*count += (unsigned)r;
	scan_close(sc);
	return r < 0 ? failed("rows") : 0;
}

const struct engine bench_cellfs = {
	.name = "cellfs",
	.settings =
		"one table, one family of 1 version (all for versions, 3 for "
		"twice), "
		"bloom by row and column, the defaults elsewhere",
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
