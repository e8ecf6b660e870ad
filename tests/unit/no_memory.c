/*
 * A store for which memory cannot be had: each call is made again and again, and
 * its first allocation fails, its second, and so on until none is left to fail.
 * Who asked is told ENOMEM or gets the answer; nothing else happened to the
 * store, nothing that was acknowledged is lost, nothing leaks, which
 * AddressSanitizer says.
 *
 * $CELLFS_ALLOCATIONS failures, or 10,000; $CELLFS_SEED.
 */
#include <time.h>

#include "tests/unit/unit.h"
#include "tests/unit/alloc_fault.h"
#include "tests/unit/temp_store.h"

#define ROWS 24
#define VALUE_MAX 4000

struct world {
	struct temp_store s;
	uint64_t seed;
	uint64_t failures, refused, stopped; /* the store: until reopened */
	unsigned step;
	/* What is acknowledged, by row: f:q, and the counter g:n. */
	char *values[ROWS];
	int64_t counts[ROWS];
	bool snapshot, table; /* are they there? */
};

static uint64_t chance(struct world *w)
{
	uint64_t x = w->seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* What an act does with row @row, and @value for it. */
struct act {
	unsigned row;
	char name[8];
	char value[VALUE_MAX + 1];
};

typedef int act_fn(struct world *w, const struct act *a);

static int mutate(struct world *w, const struct act *a, struct change *c,
		  size_t n)
{
	struct mutation m = {
		.row = bytes_str(a->name), .changes = c, .nchanges = n};

	return table_mutate(w->s.table, &m, w->step % 3 ? 0 : MUTATE_SYNC);
}

static void keep(struct world *w, const struct act *a, const char *value)
{
	free(w->values[a->row]);
	w->values[a->row] = value ? strdup(value) : NULL;
}

static int act_put(struct world *w, const struct act *a)
{
	struct change c[] = {
		{.op = CHANGE_PUT,
		 .family = bytes_str("f"),
		 .qualifier = bytes_str("q"),
		 .ts = TS_AUTO,
		 .value = bytes_str(a->value)},
		{.op = CHANGE_INCREMENT,
		 .family = bytes_str("g"),
		 .qualifier = bytes_str("n"),
		 .ts = TS_AUTO,
		 .delta = 1},
	};

	return mutate(w, a, c, 2);
}

static void did_put(struct world *w, const struct act *a)
{
	keep(w, a, a->value);
	w->counts[a->row]++;
}

static int act_append(struct world *w, const struct act *a)
{
	struct change c = {.op = CHANGE_APPEND,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = TS_AUTO,
			   .value = bytes_str("+")};

	return mutate(w, a, &c, 1);
}

static void did_append(struct world *w, const struct act *a)
{
	const char *old = w->values[a->row] ? w->values[a->row] : "";
	char *value = malloc(strlen(old) + 2);

	assert_non_null(value);
	sprintf(value, "%s+", old);
	free(w->values[a->row]);
	w->values[a->row] = value;
}

static int act_delete(struct world *w, const struct act *a)
{
	struct change c = {.op = CHANGE_DELETE_COLUMN,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = TS_AUTO};

	return mutate(w, a, &c, 1);
}

static void did_delete(struct world *w, const struct act *a)
{
	keep(w, a, NULL);
}

static bool is_right(const struct world *w, const struct cell *c)
{
	unsigned row = 0;

	for (size_t i = 1; i < c->row.len; i++)
		row = row * 10 + c->row.data[i] - '0';
	if (bytes_eq(c->family, bytes_str("g")))
		return c->value.len == 8;
	return row < ROWS && w->values[row] &&
	       bytes_eq(c->value, bytes_str(w->values[row]));
}

static int act_get(struct world *w, const struct act *a)
{
	const char *is = w->values[a->row];
	struct buf hold = {0};
	struct cell c;
	int r = table_get(w->s.table, bytes_str(a->name), bytes_str("f"),
			  bytes_str("q"), TS_MAX, NULL, &c, &hold);

	if (r >= 0 && (r > 0) != (is != NULL))
		fail_msg("%s: get gave %d", a->name, r);
	if (r > 0 && !bytes_eq(c.value, bytes_str(is)))
		fail_msg("%s: another value", a->name);
	buf_free(&hold);
	return r;
}

/* Some of it may have been seen when memory ends, but nothing that is wrong. */
static int act_scan(struct world *w, const struct act *a)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS,
				 .versions = 1,
				 .reversed = a->row & 1};
	unsigned seen = 0, want = 0;
	struct scan *sc = NULL;
	struct cell c;
	int r = scan_open(w->s.table, &spec, &sc);

	if (r < 0)
		return r;
	while ((r = scan_next(sc, &c)) > 0) {
		if (!is_right(w, &c))
			fail_msg("a scan shows what is not there");
		seen += bytes_eq(c.family, bytes_str("f"));
	}
	for (unsigned i = 0; i < ROWS; i++)
		want += w->values[i] != NULL;
	if (r == 0 && seen != want)
		fail_msg("a scan shows %u of %u rows", seen, want);
	scan_close(sc);
	return r;
}

static int act_flush(struct world *w, const struct act *a)
{
	return store_flush(w->s.store, NULL);
}

static int act_compact(struct world *w, const struct act *a)
{
	return store_compact(w->s.store, NULL);
}

static int act_snapshot(struct world *w, const struct act *a)
{
	if (w->snapshot)
		return store_snapshot_drop(w->s.store, w->s.table,
					   bytes_str("s"));
	return store_snapshot_create(w->s.store, w->s.table, bytes_str("s"));
}

static void did_snapshot(struct world *w, const struct act *a)
{
	w->snapshot = !w->snapshot;
}

static int act_table(struct world *w, const struct act *a)
{
	if (w->table)
		return store_table_drop(w->s.store, bytes_str("other"), false);
	return store_table_create(w->s.store, bytes_str("other"), NULL);
}

static void did_table(struct world *w, const struct act *a)
{
	w->table = !w->table;
}

static int act_alter(struct world *w, const struct act *a)
{
	struct schema schema;
	int r = table_schema(w->s.table, &schema);

	if (r < 0)
		return r;
	/* What a snapshot shows cannot become less. */
	if (w->snapshot)
		schema.families[0].attrs.max_value = (10 + w->step % 5) << 20;
	else
		schema.families[0].attrs.versions = 1 + w->step % 5;
	r = table_alter(w->s.table, &schema, false);
	schema_free(&schema);
	return r;
}

static int open_again(struct world *w)
{
	int r = store_open(w->s.path, &w->s.options, &w->s.store);

	if (r < 0) {
		w->s.store = NULL;
		return r;
	}
	r = table_open(w->s.store, bytes_str("t"), &w->s.table);
	if (r < 0) {
		w->s.table = NULL;
		(void)store_close(w->s.store);
		w->s.store = NULL;
	}
	return r;
}

/* The store may say at its end that memory was short; what it holds is kept. */
static int act_reopen(struct world *w, const struct act *a)
{
	if (w->s.store) {
		table_unref(w->s.table);
		w->s.table = NULL;
		(void)store_close(w->s.store);
		w->s.store = NULL;
	}
	return open_again(w);
}

static const struct kind {
	const char *name;
	act_fn *act;
	void (*did)(struct world *w, const struct act *a); /* or NULL */
	unsigned often;
} kinds[] = {
	{"put", act_put, did_put, 12},
	{"append", act_append, did_append, 4},
	{"delete", act_delete, did_delete, 2},
	{"get", act_get, NULL, 3},
	{"scan", act_scan, NULL, 2},
	{"flush", act_flush, NULL, 3},
	{"compact", act_compact, NULL, 2},
	{"snapshot", act_snapshot, did_snapshot, 1},
	{"table", act_table, did_table, 1},
	{"alter", act_alter, NULL, 1},
	{"reopen", act_reopen, NULL, 1},
};
#define NKINDS (sizeof(kinds) / sizeof(*kinds))

/* How many calls of each kind failed, or were done without the memory. */
static uint64_t without[NKINDS];

static const struct kind *any_kind(struct world *w)
{
	unsigned sum = 0, at;

	for (size_t i = 0; i < NKINDS; i++)
		sum += kinds[i].often;
	at = (unsigned)(chance(w) % sum);
	for (size_t i = 0;; i++) {
		if (at < kinds[i].often)
			return &kinds[i];
		at -= kinds[i].often;
	}
}

static void choose(struct world *w, struct act *a)
{
	size_t len = chance(w) % 8 ? chance(w) % 200 : chance(w) % VALUE_MAX;

	a->row = (unsigned)(chance(w) % ROWS);
	snprintf(a->name, sizeof(a->name), "r%u", a->row);
	memset(a->value, 'a' + (int)(chance(w) % 26), len);
	a->value[len] = '\0';
}

static void nothing_is_lost(struct world *w)
{
	struct act a;

	for (a.row = 0; a.row < ROWS; a.row++) {
		struct buf hold = {0};
		struct cell c;
		int r;

		snprintf(a.name, sizeof(a.name), "r%u", a.row);
		act_get(w, &a);
		r = table_get(w->s.table, bytes_str(a.name), bytes_str("g"),
			      bytes_str("n"), TS_MAX, NULL, &c, &hold);
		assert_true(r == (w->counts[a.row] > 0));
		if (r > 0) {
			assert_int_equal(c.value.len, 8);
			assert_int_equal(hold.data[7] | hold.data[6] << 8,
					 w->counts[a.row] & 0xffff);
		}
		buf_free(&hold);
	}
}

/* One call after the other, until none of its allocations fails. */
static void act_without_memory(struct world *w)
{
	const struct kind *k = any_kind(w);
	struct act a;

	for (uint64_t nth = 1;; nth++) {
		uint64_t failed, more = chance(w) % 4 ? 0 : chance(w) % 50;
		int r;

		choose(w, &a);
		alloc_arm(nth, more);
		r = k->act(w, &a);
		failed = alloc_disarm();
		w->failures += failed > 0;
		without[k - kinds] += failed > 0;
		w->refused += r < 0;
		if (r < 0 && (r != -ENOMEM || !failed))
			fail_msg("step %u: %s without allocation %llu: %d, %s",
				 w->step, k->name, (unsigned long long)nth, r,
				 store_why());
		if (r >= 0 && k->did)
			k->did(w, &a);
		if (w->s.store && store_health(w->s.store) < 0) {
			w->stopped++;
			assert_true(failed > 0);
			assert_int_equal(act_reopen(w, &a), 0);
		}
		if (!failed)
			break;
	}
	w->step++;
}

/* What is put over these is newer only if it is asked how new they are. */
static void put_ahead(struct world *w)
{
	const int64_t ts = ((int64_t)time(NULL) + 3600) * 1000;
	struct act a;

	for (a.row = 0; a.row < ROWS; a.row += 2) {
		snprintf(a.name, sizeof(a.name), "r%u", a.row);
		assert_int_equal(temp_put(&w->s, a.name, "f", "q", ts, "ahead"),
				 1);
		keep(w, &a, "ahead");
	}
}

static void make(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->s.options.inline_background = true;
	w->s.options.write_buffer_bytes = 16 << 10;
	w->s.options.table_file_bytes = 8 << 10;
	w->s.options.wal_segment_bytes = 64 << 10;
	w->s.options.wal_ring_bytes = 16 << 10;
	w->s.options.cache_bytes = 64 << 10;
	/* There is much to sync, and no disk is asked for anything here. */
	snprintf(w->s.path, sizeof(w->s.path), "/dev/shm/cellfs-test-XXXXXX");
	assert_int_equal(
		mkdtemp(w->s.path) ? temp_open(&w->s) : temp_make(&w->s), 0);
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

TEST(a_store_without_memory_says_so_and_loses_nothing)
{
	uint64_t left = number("CELLFS_ALLOCATIONS", 10000), failures = 0,
		 refused = 0, stopped = 0, seed = number("CELLFS_SEED", 1);

	for (; failures < left; seed++) {
		struct world w;

		print_message("seed %llu\n", (unsigned long long)seed);
		make(&w, seed);
		put_ahead(&w);
		while (w.step < 400 && failures + w.failures < left) {
			act_without_memory(&w);
			if (w.step % 20 == 0)
				nothing_is_lost(&w);
		}
		assert_int_equal(act_reopen(&w, NULL), 0);
		nothing_is_lost(&w);
		assert_int_equal(temp_close(&w.s), 0);
		assert_int_equal(store_check(w.s.path, NULL, NULL, NULL), 0);
		assert_int_equal(temp_remove(&w.s), 0);
		for (unsigned i = 0; i < ROWS; i++)
			free(w.values[i]);
		failures += w.failures;
		refused += w.refused;
		stopped += w.stopped;
	}
	print_message(
		"%llu allocations failed, %llu calls with them; the store "
		"stopped %llu times\n",
		(unsigned long long)failures, (unsigned long long)refused,
		(unsigned long long)stopped);
	for (size_t i = 0; i < NKINDS; i++) {
		print_message("%s: %llu\n", kinds[i].name,
			      (unsigned long long)without[i]);
		assert_true(without[i] > 0);
	}
}

/* A value may be large, and who removes it wants to know that it is there. */
TEST(who_checks_that_a_value_is_there_does_not_read_it)
{
	static const uint8_t ops[] = {CHECK_PRESENT, CHECK_VERSION_PRESENT,
				      CHECK_NEWEST_TS};
	struct change c = a_put("f", "q", 5, "value");
	struct check k = {
		.family = c.family, .qualifier = c.qualifier, .ts = 5};
	struct mutation m = change_of("r", &c);
	struct world w;

	make(&w, 1);
	assert_int_equal(table_mutate(w.s.table, &m, 0), 1);
	c.op = CHANGE_DELETE;
	c.value = (struct bytes){0};
	m.checks = &k;
	m.nchecks = 1;
	for (size_t i = 0; i < sizeof(ops); i++) {
		k.op = ops[i];
		assert_int_equal(table_mutate_try(w.s.table, &m), 1);
		alloc_arm(1, UINT64_MAX - 1);
		assert_int_equal(table_mutate_try(w.s.table, &m), 1);
		assert_int_equal(alloc_disarm(), 0);
	}
	assert_int_equal(temp_close(&w.s), 0);
	assert_int_equal(temp_remove(&w.s), 0);
}
