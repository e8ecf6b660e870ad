/*
 * Any moment between two backups, of a store whose log is kept: random changes of
 * cells, tables and snapshots, with flushes, compactions, ends and deaths between
 * them; what was seen at some moments is compared with the store that is restored
 * as of each. The number of versions stays: one that was lowered and raised shows
 * again what no compaction has dropped meanwhile, so it depends on these.
 */
#include <dirent.h>

#include "tests/unit/backups.h"
#include "tests/unit/unit.h"

#define MOMENTS 400
#define STEPS 240
#define TABLES 3 /* "t", which stays, and two that come and go */

struct moment {
	int64_t at;
	bool broken; /* no log leads there from the backup before */
	struct buf all, newest;
};

struct world {
	struct temp_store s;
	char folder[80], restored[80];
	unsigned seed;
	bool broken;
	bool calm; /* tables do not change for a while */
	int64_t backed_up;
	struct moment moments[MOMENTS];
	size_t nmoments, done;
};

static unsigned draw(struct world *w, unsigned n)
{
	return (unsigned)rand_r(&w->seed) % n;
}

static void add(struct buf *out, const char *text)
{
	assert_int_equal(buf_append(out, text, strlen(text)), 0);
}

static void add_cells(struct buf *out, struct table *t,
		      const struct scan_spec *spec)
{
	struct scan *sc;
	struct cell c;
	char line[400];
	int r = scan_open(t, spec, &sc);

	assert_int_equal(r, 0);
	while ((r = scan_next(sc, &c)) > 0) {
		snprintf(line, sizeof(line), "%.*s %.*s:%.*s %lld %u %.*s\n",
			 (int)c.row.len, (const char *)c.row.data,
			 (int)c.family.len, (const char *)c.family.data,
			 (int)c.qualifier.len, (const char *)c.qualifier.data,
			 (long long)c.ts, c.kind, (int)c.value.len,
			 (const char *)c.value.data);
		add(out, line);
	}
	assert_int_equal(r, 0);
	scan_close(sc);
}

static void add_schema(struct buf *out, struct table *t)
{
	struct schema schema;
	struct buf text = {0};

	assert_int_equal(table_schema(t, &schema), 0);
	assert_int_equal(schema_format(&schema, &text), 0);
	assert_int_equal(buf_append(out, text.data, text.len), 0);
	buf_free(&text);
	schema_free(&schema);
}

static void add_snapshots(struct buf *out, struct store *s)
{
	struct snapshot_info info = {.taken_ms = 0};
	struct bytes after = {0};

	while (store_snapshot_next(s, NULL, after, &info) > 0) {
		struct scan_spec spec = {.granularity = SCAN_CELLS};
		char name[TABLE_NAME_LEN_MAX + 1];
		struct bytes behind = {0};
		struct snapshot *snap;
		struct table *t;

		assert_int_equal(store_snapshot_open(
					 s, NULL, bytes_str(info.name), &snap),
				 0);
		add(out, "snapshot ");
		add(out, info.name);
		add(out, "\n");
		spec.snapshot = snap;
		while (snapshot_table_next(snap, behind, name) > 0) {
			assert_int_equal(
				snapshot_table_open(snap, bytes_str(name), &t),
				0);
			add(out, name);
			add(out, "\n");
			add_cells(out, t, &spec);
			table_unref(t);
			behind = bytes_str(name);
		}
		snapshot_release(snap);
		after = bytes_str(info.name);
	}
}

/* All that is seen of the store. */
static void see(struct store *s, struct buf *out)
{
	const struct scan_spec spec = {.granularity = SCAN_CELLS};
	char name[TABLE_NAME_LEN_MAX + 1];
	struct bytes after = {0};
	struct table *t;

	while (store_table_next(s, after, name) > 0) {
		assert_int_equal(table_open(s, bytes_str(name), &t), 0);
		add(out, "table ");
		add(out, name);
		add(out, "\n");
		add_schema(out, t);
		add_cells(out, t, &spec);
		table_unref(t);
		after = bytes_str(name);
	}
	add_snapshots(out, s);
}

static const struct scan_spec newest = {.granularity = SCAN_COLUMNS};

static void remember(struct world *w)
{
	struct moment *m = &w->moments[w->nmoments++];

	assert_true(w->nmoments <= MOMENTS);
	m->at = backups_now;
	m->broken = w->broken;
	see(w->s.store, &m->all);
	add_cells(&m->newest, w->s.table, &newest);
	/* What comes is later, and what was before is not of this moment. */
	backups_now++;
}

static struct table *some_table(struct world *w)
{
	static const char *const names[TABLES] = {"t", "u", "v"};
	struct table *t = NULL;

	(void)table_open(w->s.store, bytes_str(names[draw(w, TABLES)]), &t);
	return t;
}

static void change_cells(struct world *w)
{
	struct table *t = some_table(w);
	char row[8], qualifier[8], value[16];
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str(draw(w, 2) ? "f" : "g"),
			   .ts = TS_AUTO};
	struct mutation m = {.changes = &c, .nchanges = 1};

	if (!t)
		return;
	snprintf(row, sizeof(row), "r%u", draw(w, 8));
	snprintf(qualifier, sizeof(qualifier), "q%u", draw(w, 3));
	snprintf(value, sizeof(value), "%u", draw(w, 100000));
	m.row = bytes_str(row);
	c.qualifier = bytes_str(qualifier);
	c.value = bytes_str(value);
	switch (draw(w, 6)) {
	case 0:
		c.op = CHANGE_DELETE_COLUMN;
		c.value = (struct bytes){0};
		break;
	case 1:
		c.op = CHANGE_DELETE_FAMILY;
		c.qualifier = c.value = (struct bytes){0};
		break;
	}
	/* A family may have been dropped. */
	(void)table_mutate(t, &m, 0);
	table_unref(t);
}

static void change_table(struct world *w)
{
	struct store *s = w->s.store;
	struct bytes u = bytes_str("u"), v = bytes_str("v");
	struct schema schema;
	struct table *t;

	switch (draw(w, 6)) {
	case 0:
		if (store_table_create(s, u, NULL) == 0 &&
		    table_open(s, u, &t) == 0) {
			(void)table_add_family(t, bytes_str("f"));
			table_unref(t);
		}
		break;
	case 1:
		(void)store_table_rename(s, u, v);
		break;
	case 2:
		(void)store_table_drop(s, draw(w, 2) ? u : v, false);
		break;
	case 3:
		(void)store_table_truncate(s, draw(w, 2) ? bytes_str("t") : v);
		break;
	case 4:
		t = some_table(w);
		if (!t)
			break;
		(void)table_add_family(t, bytes_str("g"));
		table_unref(t);
		break;
	default:
		t = some_table(w);
		if (!t)
			break;
		assert_int_equal(table_schema(t, &schema), 0);
		for (uint32_t i = 0; i < schema.nfamilies; i++)
			schema.families[i].attrs.max_value = (1 + draw(w, 4))
							     << 20;
		(void)table_alter(t, &schema, false);
		schema_free(&schema);
		table_unref(t);
	}
}

static void change_snapshot(struct world *w)
{
	struct store *s = w->s.store;
	char name[4];

	snprintf(name, sizeof(name), "s%u", draw(w, 3));
	switch (draw(w, 4)) {
	case 0:
	case 1:
		(void)store_snapshot_create(s, NULL, bytes_str(name));
		break;
	case 2:
		(void)store_snapshot_drop(s, NULL, bytes_str(name));
		break;
	default:
		(void)store_snapshot_rename(s, NULL, bytes_str(name),
					    bytes_str("s9"));
	}
}

/* No moment since the last backup can be had. */
static void keep_another_log(struct world *w)
{
	assert_int_equal(store_keep_log(w->s.store, 0), 0);
	if (draw(w, 2))
		change_cells(w);
	assert_int_equal(store_keep_log(w->s.store, 64 << 20), 0);
	for (size_t i = 0; i < w->nmoments; i++)
		w->moments[i].broken |= w->moments[i].at > w->backed_up;
	w->broken = true;
}

/* What no log has. */
static void clone_table(struct world *w)
{
	struct bytes name = bytes_str("cloned");
	struct store *s = w->s.store;

	assert_int_equal(store_snapshot_create(s, NULL, name), 0);
	if (store_snapshot_clone(s, NULL, name, bytes_str("t"),
				 bytes_str("u")) == 0)
		w->broken = true;
	assert_int_equal(store_snapshot_drop(s, NULL, name), 0);
}

static void open_again(struct world *w, bool dies)
{
	backups_end(&w->s, dies);
	assert_int_equal(temp_open(&w->s), 0);
}

static void say(void *arg, const char *sentence)
{
	print_message("%s\n", sentence);
}

static void back_up(struct world *w)
{
	if (draw(w, 2))
		backups_carry(w->folder, w->s.store, w->s.path);
	else
		backups_carry_at_rest(w->folder, &w->s, false);
	w->broken = false;
	w->backed_up = backups_now;
	w->calm = draw(w, 2);
	backups_now++;
}

static void step(struct world *w)
{
	unsigned what = draw(w, 200);

	backups_now += draw(w, 3);
	if (what < 120) {
		change_cells(w);
	} else if (what < 150) {
		if (!w->calm)
			change_table(w);
	} else if (what < 158) {
		if (!w->calm)
			change_snapshot(w);
	} else if (what < 160) {
		clone_table(w);
		if (draw(w, 2))
			back_up(w);
	} else if (what < 168) {
		assert_int_equal(store_flush(w->s.store, NULL), 0);
		if (draw(w, 2))
			open_again(w, draw(w, 2));
	} else if (what < 171) {
		assert_int_equal(store_compact(w->s.store, NULL), 0);
	} else if (what < 175) {
		open_again(w, draw(w, 2));
	} else if (what < 182) {
		back_up(w);
	} else if (what < 183) {
		keep_another_log(w);
	} else if (what < 195) {
		remember(w);
	}
}

static void write_down(const char *path, const struct buf *b)
{
	FILE *f = fopen(path, "w");

	if (f && fwrite(b->data, 1, b->len, f) == b->len)
		fclose(f);
}

/* What differs stays in two files. */
static void compare(const struct buf *seen, const struct buf *was, int64_t at)
{
	if (seen->len == was->len &&
	    (!was->len || !memcmp(seen->data, was->data, was->len)))
		return;
	write_down("/tmp/cellfs-moments.seen", seen);
	write_down("/tmp/cellfs-moments.was", was);
	fail_msg("as of %lld: diff /tmp/cellfs-moments.was "
		 "/tmp/cellfs-moments.seen",
		 (long long)at);
}

/* A past that can still be told is as it was. */
static void compare_past(struct world *w, struct temp_store *s,
			 const struct moment *m)
{
	for (struct moment *past = w->moments; past < m; past++) {
		struct scan_spec spec = newest;
		struct buf told = {0};
		struct scan *sc = NULL;
		struct cell c;
		bool lost;

		spec.has_as_of = true;
		spec.as_of = past->at;
		lost = scan_open(s->table, &spec, &sc) < 0;
		while (!lost && scan_next(sc, &c) > 0)
			lost = c.kind == CELL_LOST;
		if (sc)
			scan_close(sc);
		if (lost)
			continue;
		add_cells(&told, s->table, &spec);
		compare(&told, &past->newest, past->at);
		buf_free(&told);
	}
}

/* It goes on by itself, and keeps no log. */
static void go_on(struct temp_store *s)
{
	struct dirent *e;
	DIR *d;

	assert_int_equal(temp_put(s, "a row", "f", "q", TS_AUTO, "x"), 1);
	assert_int_equal(store_flush(s->store, NULL), 0);
	assert_string_equal(temp_get(s, "a row", "f", "q"), "x");
	d = opendir(s->path);
	assert_non_null(d);
	while ((e = readdir(d)))
		assert_int_not_equal(
			strncmp(e->d_name, HOLD_KEPT, strlen(HOLD_KEPT)), 0);
	closedir(d);
}

static void restore(struct world *w, const struct moment *m)
{
	struct temp_store s = {.options = w->s.options};
	struct backup_done done;
	struct buf seen = {0};
	char cmd[200];
	int64_t taken = 0;
	uint64_t number;
	struct folder f;

	assert_int_equal(folder_open(w->folder, FOLDER_READ, &f), 0);
	number = backups_before(&f, m->at, &taken);
	if (backup_restore(&f, number, m->at, w->restored, &backups_watch,
			   &done) < 0)
		fail_msg("%s", store_why());
	folder_close(&f);
	if (!m->broken != !done.log_why[0])
		fail_msg("as of %lld: %s", (long long)m->at, done.log_why);
	assert_int_equal(done.moment_ms, m->broken ? taken : m->at);
	assert_int_equal(store_check(w->restored, NULL, say, NULL), 0);
	snprintf(s.path, sizeof(s.path), "%.63s", w->restored);
	assert_int_equal(temp_open(&s), 0);
	if (!m->broken) {
		see(s.store, &seen);
		compare(&seen, &m->all, m->at);
		compare_past(w, &s, m);
		w->done++;
	}
	buf_free(&seen);
	go_on(&s);
	assert_int_equal(temp_close(&s), 0);
	assert_int_equal(store_check(w->restored, NULL, say, NULL), 0);
	snprintf(cmd, sizeof(cmd), "rm -r %s", w->restored);
	assert_int_equal(system(cmd), 0);
}

static size_t run(unsigned seed)
{
	struct world *w = calloc(1, sizeof(*w));
	char cmd[300];
	size_t done;

	backups_now = 1700000000000;
	snprintf(w->s.path, sizeof(w->s.path), "/tmp/cellfs-moments-XXXXXX");
	assert_non_null(mkdtemp(w->s.path));
	snprintf(w->folder, sizeof(w->folder), "%s.backups", w->s.path);
	snprintf(w->restored, sizeof(w->restored), "%s.restored", w->s.path);
	w->s.options.inline_background = true;
	w->s.options.wal_segment_bytes = 65536;
	w->s.options.os = &backups_os;
	w->seed = seed;
	assert_int_equal(temp_open(&w->s), 0);
	assert_int_equal(store_keep_log(w->s.store, 64 << 20), 0);
	back_up(w);
	for (int i = 0; i < STEPS; i++)
		step(w);
	remember(w);
	back_up(w);
	assert_int_equal(temp_close(&w->s), 0);
	for (size_t i = 0; i < w->nmoments; i++)
		restore(w, &w->moments[i]);
	for (size_t i = 0; i < w->nmoments; i++) {
		buf_free(&w->moments[i].all);
		buf_free(&w->moments[i].newest);
	}
	snprintf(cmd, sizeof(cmd), "rm -r %s %s", w->s.path, w->folder);
	assert_int_equal(system(cmd), 0);
	done = w->done;
	free(w);
	return done;
}

TEST(any_moment_is_restored_as_it_was)
{
	const char *first = getenv("CELLFS_SEED"), *n = getenv("CELLFS_SEEDS");
	unsigned seed = first ? (unsigned)atoi(first) : 1;
	unsigned end = seed + (n ? (unsigned)atoi(n) : 2);
	size_t done = 0;

	for (; seed < end; seed++) {
		print_message("seed %u\n", seed);
		done += run(seed);
	}
	assert_true(done > 5);
}
