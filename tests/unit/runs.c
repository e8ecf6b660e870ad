/*
 * Runs: what a scan takes from blocks themselves is what a walk finds.
 *
 * Random cells in one family of small blocks: rows of a cell and rows of many
 * blocks, many versions, markers here and there, in files and in memory; and
 * few cells over many files; and rows that markers cover whole, or not quite.
 * Reversed scans never run; row by row they give the same.
 */
#include "tests/unit/unit.h"
#include "tests/unit/temp_store.h"
#include "tests/unit/thorough.h"

static uint64_t rng_state;

static uint64_t below(uint64_t n)
{
	rng_state += 0x9e3779b97f4a7c15u;
	uint64_t x = rng_state;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (x ^ (x >> 31)) % n;
}

/* What is put goes to "f", or with two of them now and then to "g". */
static unsigned families = 1;

enum {
	ROWS = 24,
	KEY_MAX = 400,
};

/* Some keys are alike for long, some are short. */
static struct bytes row_key(uint64_t i, char at[KEY_MAX])
{
	static const char tail[] = "-and-so-on";
	int n = snprintf(at, KEY_MAX, i % 5 ? "row%03u" : "r%03u", (unsigned)i);

	for (uint64_t k = 0; i % 7 == 0 && k < i / 2; k++)
		n += snprintf(at + n, KEY_MAX - (size_t)n, "%s", tail);
	return bytes_of(at, (size_t)n);
}

static void make_table_of(struct temp_store *s, const char *name,
			  uint32_t versions, bool nvb, uint8_t keep_deleted)
{
	struct schema schema = {0};
	struct family_attrs a;

	table_unref(s->table);
	s->table = NULL;
	schema_init(&schema, 0, 0);
	family_attrs_default(&a);
	a.versions = versions;
	a.new_version_behavior = nvb;
	a.keep_deleted = keep_deleted;
	a.block_size = 1024;
	assert_int_equal(schema_add(&schema, bytes_str("f"), &a), 0);
	if (families > 1)
		assert_int_equal(schema_add(&schema, bytes_str("g"), &a), 0);
	assert_int_equal(store_table_create(s->store, bytes_str(name), &schema),
			 0);
	assert_int_equal(table_open(s->store, bytes_str(name), &s->table), 0);
	schema_free(&schema);
}

static void make_table(struct temp_store *s, const char *name,
		       uint32_t versions, bool nvb)
{
	make_table_of(s, name, versions, nvb, KEEP_DELETED_NO);
}

static void change(struct temp_store *s, uint64_t row, const struct change *c,
		   size_t n)
{
	char key[KEY_MAX];
	struct mutation m = {.row = row_key(row, key),
			     .changes = (struct change *)c,
			     .nchanges = n};

	assert_int_equal(table_mutate(s->table, &m, 0), 1);
}

static void put_one(struct temp_store *s, uint64_t row, unsigned column,
		    int64_t ts)
{
	uint8_t value[100];
	char name[8];
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str("f"),
			   .ts = ts,
			   .value = bytes_of(value, below(sizeof(value)))};

	if (families > 1 && below(3) == 0)
		c.family = bytes_str("g");
	snprintf(name, sizeof(name), "q%02u", column);
	memset(value, (int)(row * 7 + column * 3 + (uint64_t)ts), 100);
	c.qualifier = bytes_str(name);
	change(s, row, &c, 1);
}

static struct bytes some_name(char at[8], unsigned n)
{
	snprintf(at, 8, "q%02u", (unsigned)below(n));
	return bytes_str(at);
}

/* @strange: of a hundred changes so many are no plain puts. */
static void fill(struct temp_store *s, bool wide, unsigned strange)
{
	static const uint8_t markers[] = {CHANGE_DELETE, CHANGE_DELETE_COLUMN,
					  CHANGE_DELETE_FAMILY,
					  CHANGE_DELETE_FAMILY_VERSION};

	for (uint64_t row = 0; row < ROWS; row++) {
		unsigned columns = !wide && row % 4 ? 1 + row % 6 : 16;
		int64_t versions = row % 3 ? 1 + (int64_t)row % 4 : 25;

		if (wide && versions < 3)
			versions = 3;

		if (below(6) == 0)
			continue;
		for (unsigned k = 0; k < columns; k++)
			for (int64_t v = 1; v <= versions; v++)
				put_one(s, row, k, v * 10);
	}
	for (unsigned n = 0; n < 4 * strange; n++) {
		uint8_t op = markers[below(4)];
		uint64_t row = below(ROWS);
		char name[8];
		struct change c = {.op = op,
				   .family = bytes_str("f"),
				   .ts = (int64_t)below(300),
				   .qualifier = some_name(name, 16)};

		if (below(3)) {
			put_one(s, row, (unsigned)below(16),
				(int64_t)below(30) * 10);
			continue;
		}
		if (op == CHANGE_DELETE_FAMILY ||
		    op == CHANGE_DELETE_FAMILY_VERSION)
			c.qualifier = bytes_of(NULL, 0);
		change(s, row, &c, 1);
	}
}

/* A few puts in a few rows, so that rows lie in one file or in some. */
static void scatter(struct temp_store *s, uint64_t from, uint64_t rows,
		    unsigned n)
{
	while (n--)
		put_one(s, from + below(rows), (unsigned)below(3),
			(int64_t)below(4) * 10);
}

/* More than a block holds, the last column newer than most markers. */
static void put_wide(struct temp_store *s, uint64_t row)
{
	for (unsigned k = 0; k < 16; k++)
		for (int64_t v = 0; v < 5; v++)
			put_one(s, row, k, v * 5);
	put_one(s, row, 15, 30 + (int64_t)below(30));
}

/* Deletes rows one behind the other, most of them whole. */
static void bury(struct temp_store *s)
{
	uint64_t row = below(ROWS), end = row + 1 + below(ROWS);
	uint64_t spared = below(12);

	for (; row < end && row < ROWS; row++) {
		struct change c = {.op = CHANGE_DELETE_FAMILY,
				   .family = bytes_str("f"),
				   .ts = 30 + (int64_t)below(20)};

		if (below(12) < spared / 4)
			continue;
		if (below(12) == 0)
			c.ts = (int64_t)below(40);
		if (below(30) == 0)
			c.op = CHANGE_DELETE_FAMILY_VERSION;
		change(s, row, &c, 1);
	}
}

struct list {
	struct buf text; /* a line a result */
	struct buf row;	 /* the last one */
	size_t begin;	 /* of its lines */
};

static void say(struct list *l, const struct scan_spec *spec,
		const struct cell *c)
{
	char line[KEY_MAX + 200];
	int n = snprintf(line, sizeof(line), "%.*s %.*s:%.*s %lld %d %zu %d\n",
			 (int)c->row.len, (const char *)c->row.data,
			 (int)c->family.len, (const char *)c->family.data,
			 (int)c->qualifier.len, (const char *)c->qualifier.data,
			 (long long)c->ts, c->kind, c->value.len,
			 c->value.data && c->value.len ? c->value.data[0] : -1);
	size_t at = l->text.len;

	assert_in_range(n, 1, (int)sizeof(line) - 1);
	if (!spec->reversed) {
		assert_int_equal(buf_append(&l->text, line, (size_t)n), 0);
		return;
	}
	/* Rows come from the last on: each in front of those before. */
	if (!bytes_eq(c->row, buf_bytes(&l->row))) {
		assert_int_equal(buf_set(&l->row, c->row), 0);
		l->begin = 0;
	}
	assert_int_equal(buf_append(&l->text, line, (size_t)n), 0);
	memmove(l->text.data + l->begin + n, l->text.data + l->begin,
		at - l->begin);
	memcpy(l->text.data + l->begin, line, (size_t)n);
	l->begin += (size_t)n;
}

static void read_all(struct temp_store *s, const struct scan_spec *spec,
		     size_t batch, struct list *l)
{
	struct cell *c = calloc(batch, sizeof(*c));
	struct scan *sc;
	int r;

	assert_non_null(c);
	l->text.len = l->row.len = l->begin = 0;
	assert_int_equal(scan_open(s->table, spec, &sc), 0);
	while ((r = scan_next_many(sc, c, batch)) > 0) {
		assert_true((size_t)r <= batch);
		for (int i = 0; i < r; i++)
			say(l, spec, &c[i]);
	}
	assert_int_equal(r, 0);
	scan_close(sc);
	free(c);
}

/* Leaves the first @rows of what read_all() said. */
static void cut(struct buf *text, uint64_t rows)
{
	struct bytes last = {0};

	for (size_t at = 0; at < text->len;) {
		const uint8_t *line = text->data + at;
		const uint8_t *end = memchr(line, '\n', text->len - at);
		const uint8_t *space = memchr(line, ' ', text->len - at);
		struct bytes row = bytes_of(line, (size_t)(space - line));

		if (!bytes_eq(row, last) && rows-- == 0) {
			text->len = at;
			return;
		}
		last = row;
		at += (size_t)(end - line) + 1;
	}
}

static void compare(struct temp_store *s, const struct scan_spec *spec)
{
	struct scan_spec back = *spec;
	struct list want = {0}, got = {0};
	char behind[KEY_MAX + 1];

	back.reversed = true;
	back.limit_rows = 0;
	back.row_start = spec->row_stop;
	back.row_start_exclusive =
		spec->row_stop.len && !spec->row_stop_inclusive;
	back.row_stop = spec->row_start;
	back.row_stop_inclusive = !spec->row_start_exclusive;
	/* One row is read forwards, unless its bounds are two keys. */
	if (bytes_eq(back.row_start, back.row_stop) && back.row_start.len &&
	    !back.row_start_exclusive && back.row_stop_inclusive) {
		memcpy(behind, back.row_start.data, back.row_start.len);
		behind[back.row_start.len] = 0;
		back.row_start.data = (const uint8_t *)behind;
		back.row_start.len++;
	}
	read_all(s, &back, 1, &want);
	if (spec->limit_rows)
		cut(&want.text, spec->limit_rows);
	for (size_t batch = 1; batch <= 64; batch = batch * 3 + 1) {
		read_all(s, spec, batch, &got);
		if (!bytes_eq(buf_bytes(&got.text), buf_bytes(&want.text)))
			fail_msg("batches of %zu, granularity %d", batch,
				 spec->granularity);
	}
	buf_free(&want.text);
	buf_free(&want.row);
	buf_free(&got.text);
	buf_free(&got.row);
}

struct names {
	struct column_name columns[3];
	char text[3][8], from[8], to[8];
};

/* Some columns of those that there are. */
static void restrict_columns(struct scan_spec *spec, struct names *k)
{
	spec->columns = k->columns;
	spec->ncolumns = below(3) ? below(4) : 0;
	for (size_t i = 0; i < spec->ncolumns; i++)
		k->columns[i] = (struct column_name){
			.family =
				bytes_str(families > 1 && below(2) ? "g" : "f"),
			.qualifier = some_name(k->text[i], below(2) ? 6 : 17),
		};
	if (below(2)) {
		spec->has_qual_start = true;
		spec->qual_start = some_name(k->from, 17);
		spec->qual_start_exclusive = below(2);
	}
	if (below(2)) {
		spec->has_qual_stop = true;
		spec->qual_stop = some_name(k->to, 17);
		spec->qual_stop_inclusive = below(2);
	}
	if (below(4) == 0 && spec->granularity >= SCAN_COLUMNS) {
		spec->family_offset = below(3);
		spec->family_limit = 1 + below(4);
	}
}

/* Can it be told what was there as of the moment? */
static bool tells(struct temp_store *s, const struct scan_spec *spec)
{
	struct scan *sc;

	if (scan_open(s->table, spec, &sc) < 0)
		return false;
	scan_close(sc);
	return true;
}

static void compare_some(struct temp_store *s, const struct snapshot *snap)
{
	char from[KEY_MAX], to[KEY_MAX], name[8];
	struct names names;

	for (unsigned n = 0; n < 15; n++) {
		struct column_name column = {.family = bytes_str("f")};
		struct scan_spec spec = {
			.granularity = (uint8_t[]){SCAN_ROWS, SCAN_COLUMNS,
						   SCAN_CELLS, SCAN_CELLS,
						   SCAN_FAMILIES}[below(5)],
			.versions = below(3) ? 0 : (uint32_t)below(4),
			.keys_only = below(4) == 0,
			.raw = below(8) == 0,
			.snapshot = below(3) ? NULL : snap,
			.limit_rows = below(4) ? 0 : 1 + below(ROWS),
		};

		if (below(3) == 0) {
			snprintf(name, sizeof(name), "q%02u",
				 (unsigned)below(6));
			column.qualifier = bytes_str(name);
			spec.columns = &column;
			spec.ncolumns = 1;
		}
		if (below(6) == 0) {
			column.whole_family = true;
			spec.columns = &column;
			spec.ncolumns = 1;
		}
		if (below(3) == 0) {
			spec.row_start = row_key(below(ROWS), from);
			spec.row_start_exclusive = below(2);
		}
		if (below(3) == 0) {
			spec.row_stop = row_key(below(ROWS), to);
			spec.row_stop_inclusive = below(2);
		}
		if (below(6) == 0) {
			spec.row_start = spec.row_stop =
				row_key(below(ROWS), from);
			spec.row_start_exclusive = false;
			spec.row_stop_inclusive = true;
		}
		if (below(4) == 0) {
			spec.ts_min = (int64_t)below(150);
			spec.ts_max = spec.ts_min + 1 + (int64_t)below(400);
		}
		if (bytes_cmp(spec.row_start, spec.row_stop) > 0 &&
		    spec.row_stop.len)
			continue;
		if (below(3) == 0)
			restrict_columns(&spec, &names);
		if (below(6) == 0 && !spec.raw) {
			spec.has_as_of = true;
			spec.as_of = (int64_t)below(300);
		}
		if (tells(s, &spec))
			compare(s, &spec);
	}
}

static void try_table(struct temp_store *s, const char *name, uint32_t versions,
		      bool nvb, bool wide, unsigned strange)
{
	struct snapshot *snap;

	make_table(s, name, versions, nvb);
	fill(s, wide, strange);
	assert_int_equal(snapshot_take(s->store, &snap), 0);
	compare_some(s, snap);
	assert_int_equal(store_flush(s->store, NULL), 0);
	compare_some(s, snap);
	fill(s, wide, strange);
	assert_int_equal(store_flush(s->store, NULL), 0);
	compare_some(s, snap);
	snapshot_release(snap);
	assert_int_equal(store_compact(s->store, NULL), 0);
	compare_some(s, NULL);
	/* A few in memory over one file. */
	for (int i = 0; i < 5; i++)
		put_one(s, below(ROWS), (unsigned)below(16),
			(int64_t)below(300));
	compare_some(s, NULL);
}

/*
 * Rows in files and in memory, markers above them, beside them and below what
 * was written again.
 */
static void try_dead(struct temp_store *s, const char *name, uint32_t versions,
		     bool nvb, uint8_t keep_deleted)
{
	struct snapshot *snap = NULL;

	make_table_of(s, name, versions, nvb, keep_deleted);
	for (int n = 0; n < 6; n++) {
		scatter(s, 0, ROWS, n ? (unsigned)below(20) : 90);
		if (below(2))
			put_wide(s, below(ROWS));
		if (below(2))
			assert_int_equal(store_flush(s->store, NULL), 0);
		bury(s);
		if (n == 2)
			assert_int_equal(snapshot_take(s->store, &snap), 0);
		if (below(2))
			bury(s);
		compare_some(s, snap);
		if (below(3) == 0)
			assert_int_equal(store_flush(s->store, NULL), 0);
	}
	compare_some(s, snap);
	snapshot_release(snap);
	assert_int_equal(store_compact(s->store, NULL), 0);
	bury(s);
	compare_some(s, NULL);
}

TEST(rows_that_are_dead_now_are_in_the_past_and_in_the_raw)
{
	struct temp_store s = {.options.inline_background = true};
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct list now = {0};

	assert_int_equal(temp_make(&s), 0);
	make_table(&s, "dead", UINT32_MAX, true);
	for (uint64_t row = 0; row < ROWS; row++)
		put_one(&s, row, 1, 10);
	assert_int_equal(store_flush(s.store, NULL), 0);
	for (uint64_t row = 0; row < ROWS; row++) {
		struct change c = {.op = CHANGE_DELETE_FAMILY,
				   .family = bytes_str("f"),
				   .ts = 30};

		change(&s, row, &c, 1);
	}
	read_all(&s, &spec, 1, &now);
	assert_int_equal(now.text.len, 0);
	spec.raw = true;
	read_all(&s, &spec, 1, &now);
	assert_true(now.text.len > 0);
	compare(&s, &spec);
	spec.raw = false;
	spec.has_as_of = true;
	spec.as_of = 20;
	read_all(&s, &spec, 1, &now);
	assert_true(now.text.len > 0);
	compare(&s, &spec);
	buf_free(&now.text);
	buf_free(&now.row);
	assert_int_equal(temp_remove(&s), 0);
}

static void write_one(struct temp_store *s, const char *row, uint8_t op,
		      const char *qualifier, int64_t ts)
{
	struct change c = {.op = op,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str(qualifier),
			   .ts = ts};
	struct mutation m = change_of(row, &c);

	assert_int_equal(table_mutate(s->table, &m, 0), 1);
}

/* The keys of the rows before @stop that a scan lists. */
static const char *listed(struct temp_store *s, const char *stop,
			  const struct snapshot *snap)
{
	struct scan_spec spec = {.row_stop = bytes_str(stop), .snapshot = snap};
	static char text[32];
	struct scan *sc;
	struct cell c;
	size_t n = 0;

	assert_int_equal(scan_open(s->table, &spec, &sc), 0);
	while (scan_next(sc, &c) > 0)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s",
				      (int)c.row.len, (const char *)c.row.data);
	text[n] = 0;
	scan_close(sc);
	return text;
}

static uint64_t walked(struct temp_store *s)
{
	struct store_stat st = {0};

	for (unsigned i = 0; store_stat(s->store, i, &st) > 0; i++)
		if (!strcmp(st.name, "hidden_walked_total"))
			return st.value;
	return 0;
}

/*
 * a, b, d and f are dead, and in the classic order c is. Puts lie in one file,
 * markers in another; @snap[i] is taken before the i-th of them.
 */
static void write_dead(struct temp_store *s, const char *name, bool nvb,
		       struct snapshot *snap[3])
{
	char column[8];

	make_table(s, name, UINT32_MAX, nvb);
	write_one(s, "a", CHANGE_PUT, "p", 30);
	write_one(s, "a", CHANGE_DELETE, "p", 20);
	for (int i = 0; i < 50; i++) {
		snprintf(column, sizeof(column), "p%03d", i);
		write_one(s, "b", CHANGE_PUT, column, 20);
	}
	write_one(s, "e", CHANGE_PUT, "p", 10);
	write_one(s, "f", CHANGE_PUT, "p", 30);
	assert_int_equal(store_flush(s->store, NULL), 0);
	write_one(s, "b", CHANGE_PUT, "p", 30);
	assert_int_equal(snapshot_take(s->store, &snap[0]), 0);
	write_one(s, "a", CHANGE_DELETE_FAMILY, "", 50);
	assert_int_equal(snapshot_take(s->store, &snap[1]), 0);
	write_one(s, "b", CHANGE_DELETE_FAMILY, "", 30);
	write_one(s, "c", CHANGE_DELETE_FAMILY, "", 30);
	write_one(s, "d", CHANGE_DELETE_FAMILY, "", 30);
	assert_int_equal(snapshot_take(s->store, &snap[2]), 0);
	write_one(s, "f", CHANGE_DELETE_FAMILY, "", 30);
	write_one(s, "c", CHANGE_PUT, "p", 30);
}

TEST(rows_that_one_marker_hides_are_not_walked)
{
	struct temp_store s = {.options.inline_background = true};
	struct snapshot *snap[3];

	assert_int_equal(temp_make(&s), 0);
	for (int nvb = 0; nvb < 2; nvb++) {
		write_dead(&s, nvb ? "replayed" : "classic", nvb, snap);
		for (int flushed = 0; flushed < 2; flushed++) {
			uint64_t before = walked(&s);

			assert_string_equal(listed(&s, "", NULL),
					    nvb ? "ce" : "e");
			assert_string_equal(listed(&s, "c", NULL), "");
			assert_string_equal(listed(&s, "", snap[0]), "abef");
			assert_string_equal(listed(&s, "b", snap[0]), "a");
			assert_string_equal(listed(&s, "", snap[1]), "bef");
			assert_string_equal(listed(&s, "", snap[2]), "ef");
			assert_int_equal(walked(&s), before);
			assert_int_equal(store_flush(s.store, NULL), 0);
		}
		for (int i = 0; i < 3; i++)
			snapshot_release(snap[i]);
	}
	assert_int_equal(temp_remove(&s), 0);
}

TEST(dead_rows_are_passed_over_as_a_walk_does)
{
	const char *seed = getenv("CELLFS_SEED");
	int rounds = thorough() ? 200 : sampled(10);

	for (int n = 0; n < rounds; n++) {
		struct temp_store s = {.options.inline_background = true,
				       .options.table_file_bytes = 4000};

		rng_state = seed ? strtoull(seed, NULL, 0) : 7700 + (unsigned)n;
		assert_int_equal(temp_make(&s), 0);
		try_dead(&s, "one", 1, true, KEEP_DELETED_NO);
		try_dead(&s, "all", UINT32_MAX, true, KEEP_DELETED_NO);
		try_dead(&s, "classic", 2, false, KEEP_DELETED_NO);
		try_dead(&s, "kept", 2, n % 2 != 0, KEEP_DELETED_YES);
		assert_int_equal(temp_remove(&s), 0);
	}
}

/* Rows whose columns are in several files; now and then one is in two. */
static void try_spread(struct temp_store *s, const char *name, unsigned twice)
{
	struct snapshot *snap = NULL;

	make_table(s, name, 1, true);
	for (unsigned file = 0; file < 3; file++) {
		for (uint64_t row = 0; row < ROWS; row++)
			for (unsigned k = 0; k < row % 13; k++)
				if ((k * 7 + row) % 3 == file ||
				    below(100) < twice)
					put_one(s, row, k,
						(int64_t)below(30) * 10);
		if (file == 1)
			assert_int_equal(snapshot_take(s->store, &snap), 0);
		assert_int_equal(store_flush(s->store, NULL), 0);
		compare_some(s, snap);
	}
	compare_some(s, snap);
	snapshot_release(snap);
}

TEST(rows_of_several_files_give_what_a_walk_gives)
{
	const char *seed = getenv("CELLFS_SEED");
	int rounds = thorough() ? 40 : sampled(4);

	for (int n = 0; n < rounds; n++) {
		struct temp_store s = {.options.inline_background = true};

		rng_state = seed ? strtoull(seed, NULL, 0) : 770 + (unsigned)n;
		assert_int_equal(temp_make(&s), 0);
		try_spread(&s, "apart", 0);
		try_spread(&s, "twice", 3);
		assert_int_equal(temp_remove(&s), 0);
	}
}

/* Two versions a column, now and then three, some of which blocks part. */
static void try_pairs(struct temp_store *s)
{
	const struct scan_spec two = {.granularity = SCAN_CELLS, .versions = 2};

	make_table(s, "pairs", UINT32_MAX, true);
	for (uint64_t row = 0; row < 6; row++)
		for (unsigned k = 0; k < 90; k++)
			for (int64_t v = below(12) ? 2 : 3; v; v--)
				put_one(s, row, k, v * 10);
	assert_int_equal(store_flush(s->store, NULL), 0);
	compare(s, &two);
	compare_some(s, NULL);
}

TEST(runs_give_what_a_walk_gives)
{
	const char *seed = getenv("CELLFS_SEED");
	int rounds = thorough() ? 40 : 1;

	for (int n = 0; n < rounds; n++) {
		struct temp_store s = {.options.inline_background = true};

		rng_state = seed ? strtoull(seed, NULL, 0) : 77 + (unsigned)n;
		assert_int_equal(temp_make(&s), 0);
		try_table(&s, "all", UINT32_MAX, true, false, 0);
		try_table(&s, "strange", UINT32_MAX, true, false, 8);
		try_table(&s, "classic", UINT32_MAX, false, false, 8);
		try_table(&s, "three", 3, true, false, 1);
		try_table(&s, "one", 1, true, false, 0);
		try_table(&s, "wide", UINT32_MAX, true, true, 0);
		try_table(&s, "wide-few", 2, false, true, 1);
		try_table(&s, "wide-strange", 3, true, true, 2);
		try_pairs(&s);
		families = 2;
		try_table(&s, "two", 3, true, false, 2);
		try_table(&s, "two-wide", UINT32_MAX, true, true, 1);
		families = 1;
		assert_int_equal(temp_remove(&s), 0);
	}
}

/* Files over files, and files beside one another, each with some of it. */
static void try_files(struct temp_store *s, const char *name, uint32_t versions,
		      bool nvb)
{
	struct snapshot *snap = NULL;

	make_table(s, name, versions, nvb);
	for (int n = 0; n < 4; n++) {
		scatter(s, 0, ROWS, 8 + 30 * (n == 0));
		assert_int_equal(store_flush(s->store, NULL), 0);
		compare_some(s, NULL);
		if (n == 1)
			assert_int_equal(snapshot_take(s->store, &snap), 0);
	}
	compare_some(s, snap);
	snapshot_release(snap);
	assert_int_equal(store_compact(s->store, NULL), 0);
	compare_some(s, NULL);
	/* Above the level's files, of which some rows have none. */
	scatter(s, 5, 6, 10);
	assert_int_equal(store_flush(s->store, NULL), 0);
	compare_some(s, NULL);
	scatter(s, 20, 4, 10);
	assert_int_equal(store_flush(s->store, NULL), 0);
	compare_some(s, NULL);
	scatter(s, 2, 1, 1);
	compare_some(s, NULL);
}

TEST(many_files_are_one_table)
{
	const char *seed = getenv("CELLFS_SEED");
	int rounds = thorough() ? 400 : sampled(10);

	for (int n = 0; n < rounds; n++) {
		struct temp_store s = {.options.inline_background = true,
				       .options.table_file_bytes = 1500};

		rng_state = seed ? strtoull(seed, NULL, 0) : 7 + (unsigned)n;
		assert_int_equal(temp_make(&s), 0);
		try_files(&s, "all", UINT32_MAX, true);
		try_files(&s, "all-classic", UINT32_MAX, false);
		try_files(&s, "one", 1, true);
		try_files(&s, "one-classic", 1, false);
		try_files(&s, "two", 2, true);
		assert_int_equal(temp_remove(&s), 0);
	}
}

TEST(a_scan_has_a_strip_for_each_of_many_files)
{
	struct temp_store s = {.options.inline_background = true};
	struct snapshot *snap = NULL;

	rng_state = 21;
	assert_int_equal(temp_make(&s), 0);
	for (families = 1; families <= 2; families++) {
		make_table(&s, families > 1 ? "two" : "one", 2, true);
		for (int n = 0; n < 30; n++) {
			scatter(&s, 0, ROWS, 12);
			bury(&s);
			if (n == 20)
				assert_int_equal(snapshot_take(s.store, &snap),
						 0);
			assert_int_equal(store_flush(s.store, NULL), 0);
		}
		scatter(&s, 0, ROWS, 12);
		compare_some(&s, snap);
		compare_some(&s, snap);
		snapshot_release(snap);
	}
	families = 1;
	assert_int_equal(temp_remove(&s), 0);
}

/* Too long to be all of one batch. */
static struct bytes long_key(uint64_t i, char at[KEY_MAX])
{
	int n = snprintf(at, KEY_MAX, "%02u%0*u", (unsigned)i, i % 2 ? 4 : 350,
			 7);

	return bytes_of(at, (size_t)n);
}

/* Where a block has one row or two its key is in the index: no block is read. */
TEST(a_list_of_rows_of_the_index_gives_what_a_walk_gives)
{
	static const uint8_t value[2000];
	struct temp_store s = {.options.inline_background = true};
	char from[KEY_MAX], to[KEY_MAX];

	assert_int_equal(temp_make(&s), 0);
	make_table(&s, "big", 1, true);
	for (uint64_t row = 0; row < ROWS; row++) {
		struct change c = {
			.op = CHANGE_PUT,
			.family = bytes_str("f"),
			.qualifier = bytes_str("q"),
			.ts = 1,
			.value = bytes_of(value, row % 9 ? 2000 : 300)};
		struct mutation m = {.row = long_key(row, from),
				     .changes = &c,
				     .nchanges = 1};

		assert_int_equal(table_mutate(s.table, &m, 0), 1);
	}
	assert_int_equal(store_flush(s.store, NULL), 0);
	for (uint64_t n = 0; n < ROWS; n++) {
		struct scan_spec spec = {.granularity = SCAN_ROWS,
					 .limit_rows = n % 2 ? n : 0};

		compare(&s, &spec);
		spec.row_start = long_key(n, from);
		compare(&s, &spec);
		spec.row_stop = long_key(n + 9, to);
		spec.row_stop_inclusive = n % 3;
		compare(&s, &spec);
	}
	assert_int_equal(temp_remove(&s), 0);
}

/* Row @i of those of the index: every other one is longer than the one before. */
static struct bytes longer_key(uint64_t i, char at[ROW_LEN_MAX + 1])
{
	int n = snprintf(at, ROW_LEN_MAX + 1, "%02u%0*u", (unsigned)i,
			 i % 2 ? 4 : 1 + 1200 * (int)i, 7);

	return bytes_of(at, (size_t)n);
}

TEST(rows_of_the_index_have_keys_of_any_length)
{
	static const uint8_t value[2000];
	static char key[ROW_LEN_MAX + 1], from[ROW_LEN_MAX + 1];
	struct temp_store s = {.options.inline_background = true};

	assert_int_equal(temp_make(&s), 0);
	make_table(&s, "long", 1, true);
	for (uint64_t row = 0; row < ROWS; row++) {
		struct change c = {.op = CHANGE_PUT,
				   .family = bytes_str("f"),
				   .ts = 1,
				   .value = bytes_of(value, sizeof(value))};
		struct mutation m = {.row = longer_key(row, key),
				     .changes = &c,
				     .nchanges = 1};

		assert_int_equal(table_mutate(s.table, &m, 0), 1);
	}
	assert_int_equal(store_flush(s.store, NULL), 0);
	for (uint64_t n = 0; n < 3 * ROWS; n++) {
		const size_t batch = (size_t[]){1, 8, 64}[n % 3];
		uint64_t row = n / 3;
		const struct scan_spec spec = {.granularity = SCAN_ROWS,
					       .row_start =
						       longer_key(row, from)};
		struct cell c[64];
		struct scan *sc;
		int r;

		assert_int_equal(scan_open(s.table, &spec, &sc), 0);
		while ((r = scan_next_many(sc, c, batch)) > 0)
			for (int i = 0; i < r; i++)
				assert_true(bytes_eq(c[i].row,
						     longer_key(row++, key)));
		assert_int_equal(r, 0);
		assert_int_equal(row, ROWS);
		scan_close(sc);
	}
	assert_int_equal(temp_remove(&s), 0);
}
