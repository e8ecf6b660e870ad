/*
 * Any moment between two backups, of a store whose log is kept: random changes of
 * cells, tables and snapshots, with flushes, compactions, ends and deaths between
 * them; what was seen at some moments is compared with the store that is restored
 * as of each. The number of versions stays: one that was lowered and raised shows
 * again what no compaction has dropped meanwhile, so it depends on these.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit/unit.h"
#include "store/lsm/admin/engine.h"
#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_replay.h"
#include "store/os/os.h"
#include "tests/unit/temp_store.h"
#include "tools/backup/backup.h"

#define MOMENTS 400
#define STEPS 240
#define TABLES 3 /* "t", which stays, and two that come and go */

/* A clock that stands while nobody moves it. */
static struct os_ops ops;
static struct os os = {&ops};
static int64_t now;

static int64_t the_time(struct os *o)
{
	return now;
}

BEFORE_MAIN(take_the_clock)
{
	ops = *os_posix()->ops;
	ops.now_ms = the_time;
	now = 1700000000000;
}

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
	m->at = now;
	m->broken = w->broken;
	see(w->s.store, &m->all);
	add_cells(&m->newest, w->s.table, &newest);
	/* What comes is later, and what was before is not of this moment. */
	now++;
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

static void end(struct temp_store *t, bool dies)
{
	if (dies) {
		table_unref(t->table);
		lsm_abandon(t->store);
	} else {
		assert_int_equal(temp_close(t), 0);
	}
}

static void open_again(struct world *w, bool dies)
{
	end(&w->s, dies);
	assert_int_equal(temp_open(&w->s), 0);
}

static bool went(void *arg, uint64_t bytes)
{
	return true;
}

static const struct carry_watch watch = {went, NULL, NULL};

static void say(void *arg, const char *sentence)
{
	print_message("%s\n", sentence);
}

/* A store that is open, or one at rest, whose log is carried as it lies there. */
static void carry(const char *folder, struct store *s, const char *path)
{
	struct backup_done done;
	struct folder f;
	struct hold *h;

	assert_int_equal(folder_open(folder, FOLDER_MAKE, &f), 0);
	assert_int_equal(store_hold(s, &h), 0);
	if (backup_make(&f, path, h, SHARE_NOTHING, &watch, &done) < 0)
		fail_msg("%s", store_why());
	hold_release(h);
	folder_close(&f);
}

static void carry_at_rest(const char *folder, struct temp_store *t, bool dies)
{
	struct store_options o = t->options;
	struct store *s;

	o.read_only = true;
	o.create = false;
	end(t, dies);
	assert_int_equal(store_open(t->path, &o, &s), 0);
	carry(folder, s, t->path);
	assert_int_equal(store_close(s), 0);
	assert_int_equal(temp_open(t), 0);
}

static void back_up(struct world *w)
{
	if (draw(w, 2))
		carry(w->folder, w->s.store, w->s.path);
	else
		carry_at_rest(w->folder, &w->s, false);
	w->broken = false;
	w->backed_up = now;
	w->calm = draw(w, 2);
	now++;
}

static void step(struct world *w)
{
	unsigned what = draw(w, 200);

	now += draw(w, 3);
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

/* The number of the newest backup that is not later, and when it was taken. */
static uint64_t before(const struct folder *f, int64_t at, int64_t *taken)
{
	for (size_t i = f->n; i-- > 0;) {
		struct inventory r;

		assert_int_equal(folder_inventory(f, f->numbers[i], &r), 0);
		*taken = r.taken_ms;
		inventory_free(&r);
		if (*taken <= at)
			return f->numbers[i];
	}
	fail();
	return 0;
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
	number = before(&f, m->at, &taken);
	if (backup_restore(&f, number, m->at, w->restored, &watch, &done) < 0)
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

	now = 1700000000000;
	snprintf(w->s.path, sizeof(w->s.path), "/tmp/cellfs-moments-XXXXXX");
	assert_non_null(mkdtemp(w->s.path));
	snprintf(w->folder, sizeof(w->folder), "%s.backups", w->s.path);
	snprintf(w->restored, sizeof(w->restored), "%s.restored", w->s.path);
	w->s.options.inline_background = true;
	w->s.options.wal_segment_bytes = 65536;
	w->s.options.os = &os;
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

static void put(struct temp_store *s, const char *value)
{
	now += 5;
	assert_int_equal(temp_put(s, "r", "f", "q", TS_AUTO, value), 1);
	now += 5;
}

/* Of a store restored as of @at; is it that moment, or *why not? */
static const char *value_or_why(const char *folder, int64_t at,
				char why_not[WHY_MAX])
{
	struct temp_store s = {.options = {.os = &os}};
	struct backup_done done;
	const char *value;
	struct folder f;
	uint64_t number;
	int64_t taken = 0;

	snprintf(s.path, sizeof(s.path), "%s.at", folder);
	assert_int_equal(folder_open(folder, FOLDER_READ, &f), 0);
	number = before(&f, at, &taken);
	assert_int_equal(backup_restore(&f, number, at, s.path, &watch, &done),
			 0);
	folder_close(&f);
	snprintf(why_not, WHY_MAX, "%s", done.log_why);
	assert_int_equal(done.moment_ms, why_not[0] ? taken : at);
	/* The store keeps its log in all these tests. */
	assert_int_equal(done.log_faults, why_not[0] != '\0');
	assert_int_equal(temp_open(&s), 0);
	value = temp_get(&s, "r", "f", "q");
	assert_int_equal(temp_remove(&s), 0);
	return value;
}

/* As of @at; is that moment @there, or one before it? */
static const char *value_at(const char *folder, int64_t at, bool there)
{
	char why_not[WHY_MAX];
	const char *value = value_or_why(folder, at, why_not);

	assert_int_equal(!why_not[0], there);
	return value;
}

/* Segments of both have the same numbers, and their backups one folder. */
static void fork_a_store(unsigned flushes)
{
	struct temp_store a = {
		.options = {.os = &os, .inline_background = true}};
	struct temp_store b = {.options = a.options};
	char folder[80], cmd[100];
	struct backup_done done;
	struct folder f;
	int64_t in_a, in_b;

	assert_int_equal(temp_make(&a), 0);
	snprintf(folder, sizeof(folder), "%s.b", a.path);
	snprintf(b.path, sizeof(b.path), "%.50s.other", a.path);
	assert_int_equal(store_keep_log(a.store, 64 << 20), 0);
	put(&a, "first");
	carry(folder, a.store, a.path);
	assert_int_equal(folder_open(folder, FOLDER_READ, &f), 0);
	assert_int_equal(backup_restore(&f, 1, 0, b.path, &watch, &done), 0);
	folder_close(&f);

	put(&a, "of a");
	in_a = now;
	put(&a, "of a, later");
	carry(folder, a.store, a.path);
	assert_int_equal(temp_open(&b), 0);
	assert_int_equal(store_keep_log(b.store, 64 << 20), 0);
	for (unsigned i = 0; i < flushes; i++) {
		put(&b, "of b, first");
		assert_int_equal(store_flush(b.store, NULL), 0);
	}
	put(&b, "of b");
	in_b = now;
	put(&b, "of b, last");
	carry_at_rest(folder, &b, false);

	assert_string_equal(value_at(folder, in_a, true), "of a");
	assert_string_equal(value_at(folder, in_b, false), "of a, later");
	assert_string_equal(value_at(folder, now, true), "of b, last");
	assert_int_equal(temp_remove(&a), 0);
	assert_int_equal(temp_remove(&b), 0);
	snprintf(cmd, sizeof(cmd), "rm -r %s", folder);
	assert_int_equal(system(cmd), 0);
}

TEST(two_stores_of_one_backup_are_not_taken_for_one)
{
	/* One of these has the number that the other's log would go on with. */
	for (unsigned i = 0; i < 4; i++)
		fork_a_store(i);
}

TEST(a_log_whose_end_is_not_kept_leads_nowhere)
{
	struct temp_store a = {
		.options = {.os = &os, .inline_background = true}};
	char folder[80], cmd[100];
	int64_t at;

	assert_int_equal(temp_make(&a), 0);
	snprintf(folder, sizeof(folder), "%s.b", a.path);
	/* No segment is so small. */
	assert_int_equal(store_keep_log(a.store, 1), 0);
	put(&a, "first");
	carry(folder, a.store, a.path);
	put(&a, "second");
	at = now;
	put(&a, "third");
	carry(folder, a.store, a.path);
	assert_string_equal(value_at(folder, at, false), "first");
	assert_int_equal(temp_remove(&a), 0);
	snprintf(cmd, sizeof(cmd), "rm -r %s", folder);
	assert_int_equal(system(cmd), 0);
}

/*
 * What another backup holds of the log is neither needed any more nor kept yet, also
 * where the store has died since.
 */
TEST(a_backup_beside_another_has_the_log_up_to_it)
{
	for (int dies = 0; dies < 2; dies++) {
		struct temp_store a = {
			.options = {.os = &os, .inline_background = true}};
		char folder[80], cmd[100];
		struct hold *other;
		int64_t at;

		assert_int_equal(temp_make(&a), 0);
		snprintf(folder, sizeof(folder), "%s.b", a.path);
		assert_int_equal(store_keep_log(a.store, 64 << 20), 0);
		put(&a, "first");
		carry(folder, a.store, a.path);
		assert_int_equal(store_hold(a.store, &other), 0);
		put(&a, "second");
		at = now;
		put(&a, "third");
		if (!dies)
			carry(folder, a.store, a.path);
		assert_int_equal(store_flush(a.store, NULL), 0);
		hold_release(other);
		if (dies)
			carry_at_rest(folder, &a, true);
		assert_string_equal(value_at(folder, at, true), "second");
		/* The next one has what the log goes on with. */
		put(&a, "fourth");
		at = now;
		put(&a, "fifth");
		carry(folder, a.store, a.path);
		assert_string_equal(value_at(folder, at, true), "fourth");
		assert_int_equal(temp_remove(&a), 0);
		snprintf(cmd, sizeof(cmd), "rm -r %s", folder);
		assert_int_equal(system(cmd), 0);
	}
}

static void count(void *arg, const char *sentence)
{
	++*(int *)arg;
}

/* What a check finds that reads a little at a time. */
static int faults_in_use(struct store *s)
{
	struct store_checking at = {0};
	int faults = 0, parts = 0, r;

	while ((r = store_check_part(s, &at, 5000, count, &faults)) > 0)
		parts++;
	assert_int_equal(r, 0);
	assert_true(parts > 30);
	return faults;
}

/* The name of the kept segment behind @after in the order of names; ""? None. */
static void next_kept(const char *dir, const char *after, char out[64])
{
	struct dirent *e;
	DIR *d = opendir(dir);

	out[0] = '\0';
	assert_non_null(d);
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, HOLD_KEPT, strlen(HOLD_KEPT)) &&
		    strcmp(e->d_name, after) > 0 &&
		    (!out[0] || strcmp(e->d_name, out) < 0))
			snprintf(out, 64, "%.63s", e->d_name);
	closedir(d);
}

/* Another byte at @at of the file, or before its end where that is negative. */
static void harm(const char *dir, const char *name, long at)
{
	char path[200];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
	c = fgetc(f);
	assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
	assert_int_equal(fputc(c ^ 1, f), c ^ 1);
	assert_int_equal(fclose(f), 0);
}

TEST(a_check_finds_each_kept_segment_that_is_damaged)
{
	struct temp_store a = {.options = {.os = &os,
					   .inline_background = true,
					   .wal_segment_bytes = 65536}};
	char name[64] = "", behind[64], row[16], value[200];
	int harmed = 0, found = 0;

	assert_int_equal(temp_make(&a), 0);
	assert_int_equal(store_keep_log(a.store, 64 << 20), 0);
	memset(value, 'x', sizeof(value));
	value[199] = '\0';
	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "%d", i);
		assert_int_equal(temp_put(&a, row, "f", "q", TS_AUTO, value),
				 1);
	}
	assert_int_equal(store_flush(a.store, NULL), 0);
	assert_int_equal(faults_in_use(a.store), 0);
	for (;; harmed++) {
		next_kept(a.path, name, behind);
		if (!behind[0])
			break;
		memcpy(name, behind, sizeof(name));
		harm(a.path, name, -40);
		assert_int_equal(faults_in_use(a.store), harmed + 1);
	}
	assert_true(harmed > 2);
	assert_int_equal(temp_close(&a), 0);
	assert_int_equal(store_check(a.path, NULL, count, &found), harmed);
	assert_int_equal(found, harmed);
	assert_int_equal(temp_open(&a), 0);
	assert_int_equal(temp_remove(&a), 0);
}

static void tell_nothing(void *arg, const char *sentence)
{
	fail_msg("%s", sentence);
}

TEST(a_kept_segment_that_cannot_be_had_is_left_out)
{
	struct temp_store a = {
		.options = {.os = &os, .inline_background = true}};
	char folder[80], name[64], behind[64], cmd[200];
	struct backup_done done;
	uint64_t known = 0;
	unsigned kinds = 0;
	struct folder f;
	struct hold *h;
	int64_t at;

	assert_int_equal(temp_make(&a), 0);
	snprintf(folder, sizeof(folder), "%s.b", a.path);
	assert_int_equal(store_keep_log(a.store, 64 << 20), 0);
	put(&a, "first");
	carry(folder, a.store, a.path);
	put(&a, "second");
	at = now;
	put(&a, "third");
	assert_int_equal(folder_open(folder, FOLDER_WRITE, &f), 0);
	assert_int_equal(store_hold(a.store, &h), 0);
	for (next_kept(a.path, "", behind); behind[0];
	     next_kept(a.path, name, behind))
		memcpy(name, behind, sizeof(name));
	snprintf(cmd, sizeof(cmd), "rm %s/%s", a.path, name);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(backup_make(&f, a.path, h, SHARE_FILE, &watch, &done),
			 0);
	assert_int_equal(done.log_faults, 1);
	assert_non_null(strstr(done.log_why, name));
	assert_int_equal(done.files, h->nfiles - 1);
	hold_release(h);
	assert_int_equal(
		backup_check(&f, 2, &known, &kinds, tell_nothing, NULL, &watch),
		0);
	assert_int_equal(kinds, 0);
	folder_close(&f);
	snprintf(cmd, sizeof(cmd),
		 "test -z \"$(ls %s/2 | grep -e part -e %s)\"", folder, name);
	assert_int_equal(system(cmd), 0);
	assert_string_equal(value_at(folder, at, false), "first");
	assert_string_equal(value_at(folder, done.moment_ms, true), "third");
	assert_int_equal(temp_remove(&a), 0);
	snprintf(cmd, sizeof(cmd), "rm -r %s", folder);
	assert_int_equal(system(cmd), 0);
}

#define PUTS 10

/* A log of some segments between two backups, of which each put is a moment. */
struct stretch {
	struct temp_store a;
	char folder[80], dir[88]; /* of all backups, and of the second one */
	int64_t at[PUTS];
	uint64_t segment[PUTS + 2]; /* that has the put; behind: none */
};

static uint64_t newest_segment(const char *dir)
{
	uint64_t n, last = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((e = readdir(d)))
		if (wal_segment_number(e->d_name, &n) && n > last)
			last = n;
	closedir(d);
	return last;
}

/* With @dies the log lies in the backup as a death has left it. */
static void make_stretch(struct stretch *k, bool dies)
{
	static char filler[20000];
	char value[8];

	*k = (struct stretch){.a.options = {.os = &os,
					    .inline_background = true,
					    .wal_segment_bytes = 65536}};
	memset(filler, 'x', sizeof(filler) - 1);
	assert_int_equal(temp_make(&k->a), 0);
	snprintf(k->folder, sizeof(k->folder), "%s.b", k->a.path);
	snprintf(k->dir, sizeof(k->dir), "%s/2", k->folder);
	assert_int_equal(store_keep_log(k->a.store, 64 << 20), 0);
	put(&k->a, "before");
	carry(k->folder, k->a.store, k->a.path);
	for (int i = 0; i < PUTS; i++) {
		now++;
		assert_int_equal(
			temp_put(&k->a, "s", "f", "q", TS_AUTO, filler), 1);
		snprintf(value, sizeof(value), "%d", i);
		put(&k->a, value);
		k->at[i] = now;
		k->segment[i] = newest_segment(k->a.path);
	}
	k->segment[PUTS] = k->segment[PUTS + 1] = UINT64_MAX;
	now++;
	if (dies)
		carry_at_rest(k->folder, &k->a, true);
	else
		carry(k->folder, k->a.store, k->a.path);
}

static void end_stretch(struct stretch *k)
{
	char cmd[100];

	assert_int_equal(temp_remove(&k->a), 0);
	snprintf(cmd, sizeof(cmd), "rm -r %s", k->folder);
	assert_int_equal(system(cmd), 0);
}

/*
 * Segment @lost is not there, or its last record alone. Moments before are had as
 * they were, and those behind are not.
 */
static void each_moment_is_had_or_not(const struct stretch *k, uint64_t lost,
				      bool end_alone)
{
	char why_not[WHY_MAX], value[8];
	const char *got;

	for (int i = 0; i < PUTS; i++) {
		/* A record behind it shows that nothing is missing before. */
		bool must = end_alone ? k->segment[i + 2] <= lost
				      : k->segment[i + 1] < lost;
		bool may = end_alone ? k->segment[i] <= lost
				     : k->segment[i] < lost;

		got = value_or_why(k->folder, k->at[i], why_not);
		snprintf(value, sizeof(value), "%d", i);
		assert_string_equal(got, why_not[0] ? "before" : value);
		if (must && why_not[0])
			fail_msg("moment %d: %s", i, why_not);
		if (!may)
			assert_non_null(strstr(
				why_not,
				"the log up to it is not whole: in backup 2 "));
	}
}

/* Before the zeros at its end. */
static long last_byte(const char *dir, const char *name)
{
	char path[200];
	long last = 0, at = 0;
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	for (; (c = fgetc(f)) != EOF; at++)
		last = c ? at : last;
	assert_int_equal(fclose(f), 0);
	return last;
}

static void lose(const struct stretch *k, const char *name, uint64_t number)
{
	char path[200], away[200];
	long last = last_byte(k->dir, name);

	snprintf(path, sizeof(path), "%s/%s", k->dir, name);
	snprintf(away, sizeof(away), "%s.away", k->a.path);
	assert_int_equal(rename(path, away), 0);
	each_moment_is_had_or_not(k, number, false);
	assert_int_equal(rename(away, path), 0);
	harm(k->dir, name, 20);
	each_moment_is_had_or_not(k, number, false);
	harm(k->dir, name, 20);
	harm(k->dir, name, last);
	each_moment_is_had_or_not(k, number, true);
	harm(k->dir, name, last);
}

/* The file of the segment, kept or not. */
static void segment_file(const char *dir, uint64_t number, char out[64])
{
	uint64_t id, n;
	struct dirent *e;
	DIR *d = opendir(dir);

	out[0] = '\0';
	assert_non_null(d);
	while ((e = readdir(d)))
		if ((wal_kept_number(e->d_name, &id, &n) ||
		     wal_segment_number(e->d_name, &n)) &&
		    n == number)
			snprintf(out, 64, "%.63s", e->d_name);
	closedir(d);
	assert_string_not_equal(out, "");
}

TEST(moments_before_what_is_lost_of_the_log_are_had)
{
	struct stretch k;
	uint64_t n;
	char name[64];

	for (int dies = 0; dies < 2; dies++) {
		make_stretch(&k, dies);
		for (int i = 0; i < PUTS; i++)
			assert_int_equal(
				atoi(value_at(k.folder, k.at[i], true)), i);
		assert_true(k.segment[PUTS - 1] - k.segment[0] > 2);
		for (n = k.segment[0]; n <= k.segment[PUTS - 1]; n++) {
			segment_file(k.dir, n, name);
			assert_int_equal(name[0], dies ? 'w' : 'k');
			lose(&k, name, n);
		}
		end_stretch(&k);
	}
}

/* Its first page is mapped nowhere: reading it is EIO, as of a bad disk. */
TEST(of_a_file_that_cannot_be_read_nothing_is_left)
{
	const struct hold_file mem = {.name = "mem", .bytes = 4096};
	char path[] = "/tmp/cellfs-carry-XXXXXX";
	int from = open("/proc/self", O_RDONLY | O_DIRECTORY), to;
	uint64_t hash;

	assert_non_null(mkdtemp(path));
	to = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(from >= 0 && to >= 0);
	assert_int_equal(carry_file(from, to, &mem, SHARE_FILE, &watch, &hash),
			 -EIO);
	assert_non_null(strstr(store_why(), "reading mem"));
	close(from);
	close(to);
	assert_int_equal(rmdir(path), 0);
}

/* Attributes cannot be had. */
static bool blind;
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
	if (!blind)
		return fstatat(fd, "", st, AT_EMPTY_PATH);
	errno = EIO;
	return -1;
}

int __wrap_fstat64(int fd, struct stat *st);
int __wrap_fstat64(int fd, struct stat *st)
{
	return __wrap_fstat(fd, st);
}

TEST(a_file_that_cannot_be_looked_at_is_not_damaged)
{
	const struct hold_file f = {.name = "stat"};
	int from = open("/proc/self", O_RDONLY | O_DIRECTORY);
	uint64_t hash;

	blind = true;
	assert_int_equal(carry_hash(from, &f, &watch, &hash), -EIO);
	blind = false;
	assert_non_null(strstr(store_why(), "looking at stat"));
	close(from);
}
