/*
 * What readers leave for others of columns and rows of which much is hidden:
 * it must never change an answer, and must spare the walk.
 *
 * Two stores get the same steps. In one readers ask after the first entry that
 * they walk in vain, in the other never; every answer must be the same, of
 * scans too that were opened long before.
 */
#include "tests/unit/unit.h"
#include "store/lsm/base/ts_set.h"
#include "store/lsm/rules/alive_inside.h"
#include "tests/unit/temp_store.h"
#include "tests/unit/thorough.h"
#include "tests/unit/xorshift.h"

#define QUALIFIERS 12
#define TIMES 60

static uint64_t rng;

static uint32_t chance(uint32_t n)
{
	return (uint32_t)((xorshift(&rng) >> 11) % n);
}

TEST(a_set_holds_what_was_added)
{
	static bool in[5000];
	struct ts_set s = {0};
	int64_t ts;
	uint64_t n = 0;

	memset(in, 0, sizeof(in));
	rng = 7;
	for (int i = 0; i < 60000; i++) {
		int k = (int)chance(5000);
		int64_t expect = -1;

		/* Waves, so that chunks fill, are cut and go. */
		if (chance(10) < (i / 10000 % 2 ? 3 : 8)) {
			assert_int_equal(ts_set_add(&s, k), !in[k]);
			n += !in[k];
			in[k] = true;
		} else {
			assert_int_equal(ts_set_remove(&s, k), in[k]);
			n -= in[k];
			in[k] = false;
		}
		if (chance(3000) == 0) {
			int cut = (int)chance(2500);

			ts_set_cut(&s, cut);
			for (int j = 0; j <= cut; j++) {
				n -= in[j];
				in[j] = false;
			}
		}
		assert_int_equal(s.n, n);
		k = (int)chance(5000);
		for (int j = k; j >= 0 && expect < 0; j--)
			expect = in[j] ? j : -1;
		assert_int_equal(ts_set_at_most(&s, k, &ts), expect >= 0);
		if (expect >= 0)
			assert_int_equal(ts, expect);
	}
	ts_set_free(&s);
}

/* A reader walked over hidden entries of column q of row @i. */
static void walk(struct alive *a, int i)
{
	char row[12];
	struct alive_place p = {
		.tree = 1,
		.schema = 1,
		.row = bytes_of(row, (size_t)sprintf(row, "%d", i))};
	uint64_t token, seq, max;

	alive_learn(a, &p, bytes_str("q"), 1, &token, &seq, &max);
}

static bool is_kept(struct alive *a, const char *row)
{
	const struct alive_place p = {
		.tree = 1, .schema = 1, .row = bytes_str(row)};

	return alive_row_find(a, &p);
}

/* Also when nobody asks for a row again. */
TEST(the_row_that_was_used_least_recently_goes_first)
{
	static struct alive a;
	_Atomic uint64_t seq = 1;

	assert_int_equal(alive_init(&a, &seq, 16384, 1), 0);
	for (int i = 0; i < 1000; i++) {
		walk(&a, i);
		walk(&a, 0);
		assert_true(a.bytes <= 16384);
	}
	assert_true(is_kept(&a, "0"));
	assert_false(is_kept(&a, "1"));
	assert_true(is_kept(&a, "999"));
	alive_free(&a);
	assert_int_equal(a.bytes, 0);
}

struct pair {
	struct temp_store eager, walker;
	struct scan *held[2];
};

static struct bytes qualifier_of(char *name, uint32_t i)
{
	return bytes_of(name, (size_t)sprintf(name, "q%02u", i));
}

static void open_pair(struct pair *p, uint32_t versions, bool sequences)
{
	struct temp_store *both[] = {&p->eager, &p->walker};

	for (int i = 0; i < 2; i++) {
		struct schema schema;

		*both[i] = (struct temp_store){
			.options = {.inline_background = true,
				    .patience = i ? UINT32_MAX : 1}};
		assert_int_equal(temp_make(both[i]), 0);
		assert_int_equal(table_schema(both[i]->table, &schema), 0);
		schema.families[0].attrs.versions = versions;
		schema.families[0].attrs.new_version_behavior = sequences;
		assert_int_equal(table_alter(both[i]->table, &schema, false),
				 0);
		schema_free(&schema);
	}
	p->held[0] = p->held[1] = NULL;
}

static void close_pair(struct pair *p)
{
	scan_close(p->held[0]);
	scan_close(p->held[1]);
	assert_int_equal(temp_remove(&p->eager), 0);
	assert_int_equal(temp_remove(&p->walker), 0);
}

static void mutate_both(struct pair *p, uint8_t op, uint32_t q, int64_t ts,
			uint64_t ttl_ms)
{
	char name[16], value[16];
	struct change c = {.op = op,
			   .family = bytes_str("f"),
			   .qualifier = kind_is_family_marker(op)
						? bytes_of(NULL, 0)
						: qualifier_of(name, q),
			   .ts = ts,
			   .ttl_ms = ttl_ms};
	struct mutation m = change_of("r", &c);

	snprintf(value, sizeof(value), "%u", (unsigned)(rng % 10000));
	if (op == CHANGE_PUT)
		c.value = bytes_str(value);
	if (table_mutate(p->eager.table, &m, 0) != 1)
		fail_msg("%s", store_why());
	assert_int_equal(table_mutate(p->walker.table, &m, 0), 1);
}

static void same_cell(int r, const struct cell *a, int s, const struct cell *b)
{
	assert_int_equal(r, s);
	if (r <= 0)
		return;
	assert_true(bytes_eq(a->row, b->row));
	assert_true(bytes_eq(a->qualifier, b->qualifier));
	assert_int_equal(a->ts, b->ts);
	assert_int_equal(a->seq, b->seq);
	assert_true(bytes_eq(a->value, b->value));
}

static void get_both(struct pair *p, uint32_t q, int64_t ts, bool exact)
{
	struct bytes r = bytes_str("r"), f = bytes_str("f"), name;
	struct buf hold[2] = {{0}, {0}};
	struct cell a, b;
	char text[16];
	int x, y;

	name = qualifier_of(text, q);
	if (exact) {
		x = table_get_version(p->eager.table, r, f, name, ts, NULL, &a,
				      &hold[0]);
		y = table_get_version(p->walker.table, r, f, name, ts, NULL, &b,
				      &hold[1]);
	} else {
		x = table_get(p->eager.table, r, f, name, ts, NULL, &a,
			      &hold[0]);
		y = table_get(p->walker.table, r, f, name, ts, NULL, &b,
			      &hold[1]);
	}
	same_cell(x, &a, y, &b);
	buf_free(&hold[0]);
	buf_free(&hold[1]);
}

/* Up to @n results of two scans, which are closed at their end. */
static void read_both(struct scan *sc[2], uint32_t n)
{
	struct cell a, b;

	while (sc[0] && n--) {
		int r = scan_next(sc[0], &a), s = scan_next(sc[1], &b);

		same_cell(r, &a, s, &b);
		if (r)
			continue;
		scan_close(sc[0]);
		scan_close(sc[1]);
		sc[0] = sc[1] = NULL;
	}
}

static void scan_both(struct pair *p, struct scan *sc[2])
{
	char start[16], stop[16];
	struct scan_spec spec = {
		.granularity = SCAN_ROWS + (uint8_t)chance(4),
		.reversed = chance(4) == 0,
		.versions = chance(3),
	};

	if (chance(3) == 0) {
		spec.row_start = spec.row_stop = bytes_str("r");
		spec.row_stop_inclusive = true;
	}
	if (chance(3) == 0) {
		spec.has_qual_start = spec.has_qual_stop = true;
		spec.qual_start = qualifier_of(start, chance(QUALIFIERS));
		spec.qual_stop = qualifier_of(stop, chance(QUALIFIERS));
	}
	if (chance(4) == 0) {
		spec.ts_min = chance(TIMES);
		spec.ts_max = spec.ts_min + 1 + chance(TIMES);
	}
	assert_int_equal(scan_open(p->eager.table, &spec, &sc[0]), 0);
	assert_int_equal(scan_open(p->walker.table, &spec, &sc[1]), 0);
}

static void change_both(struct pair *p, uint32_t deep, bool loans)
{
	static const uint8_t ops[] = {
		CHANGE_PUT,    CHANGE_PUT,    CHANGE_PUT,
		CHANGE_PUT,    CHANGE_DELETE, CHANGE_DELETE,
		CHANGE_DELETE, CHANGE_DELETE, CHANGE_DELETE_COLUMN,
	};
	uint32_t q = chance(3) ? deep : chance(QUALIFIERS);
	uint8_t op = ops[chance(sizeof(ops))];

	if (chance(60) == 0)
		op = chance(2) ? CHANGE_DELETE_FAMILY
			       : CHANGE_DELETE_FAMILY_VERSION;
	if (op == CHANGE_DELETE_COLUMN && chance(3))
		op = CHANGE_DELETE;
	mutate_both(p, op, q, chance(TIMES),
		    op == CHANGE_PUT && loans && !chance(50) ? 3600000 : 0);
}

static void same_answers(uint64_t seed, bool sequences)
{
	static const uint32_t limits[] = {1, 3, 10, 1000};
	struct scan *now[2] = {NULL, NULL};
	struct pair p;
	uint32_t deep;
	bool loans;

	rng = seed * 2654435761u + 1;
	open_pair(&p, limits[chance(4)], sequences);
	deep = chance(QUALIFIERS);
	loans = chance(4) == 0;
	for (int i = 0; i < 600; i++) {
		for (uint32_t k = chance(4); k; k--)
			change_both(&p, deep, loans);
		if (chance(100) == 0) {
			assert_int_equal(store_flush(p.eager.store, NULL), 0);
			assert_int_equal(store_flush(p.walker.store, NULL), 0);
		}
		get_both(&p, chance(2) ? deep : chance(QUALIFIERS),
			 chance(TIMES), chance(2));
		scan_both(&p, now);
		read_both(now, UINT32_MAX);
		if (!p.held[0])
			scan_both(&p, p.held);
		read_both(p.held, chance(4));
	}
	close_pair(&p);
}

TEST(what_others_found_changes_no_answer)
{
	uint64_t first = 1, n = thorough() ? 1000 : sampled(25);

	if (getenv("CELLFS_SEED")) {
		first = strtoull(getenv("CELLFS_SEED"), NULL, 10);
		n = 1;
	}
	for (uint64_t seed = first; seed < first + n; seed++) {
		print_message("CELLFS_SEED=%llu\n", (unsigned long long)seed);
		same_answers(seed, seed % 4 != 0);
	}
}

/* Entries that readers have walked in vain so far. */
static uint64_t walked(struct temp_store *s)
{
	struct store_stat st;

	for (unsigned i = 0; store_stat(s->store, i, &st) > 0; i++)
		if (!strcmp(st.name, "hidden_walked_total"))
			return st.value;
	fail();
	return 0;
}

static void mutate_one(struct temp_store *s, uint8_t op, const char *qualifier,
		       int64_t ts, int check)
{
	struct check k = {.op = (uint8_t)check,
			  .family = bytes_str("f"),
			  .qualifier = bytes_str(qualifier),
			  .ts = ts};
	struct change c = {.op = op,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str(qualifier),
			   .ts = ts};
	struct mutation m = {.row = bytes_str("r"),
			     .changes = &c,
			     .nchanges = 1,
			     .checks = &k,
			     .nchecks = check >= 0};

	/* What was pushed out is absent, and then it is not done. */
	assert_true(table_mutate(s->table, &m, 0) >= 0);
}

/* As the mount does it: is there anything left? */
static void look(struct temp_store *s, const char *qualifier, int64_t ts)
{
	struct bytes r = bytes_str("r"), f = bytes_str("f"),
		     q = bytes_str(qualifier);
	struct cell c;

	assert_true(table_get_version(s->table, r, f, q, ts, NULL, &c, NULL) >=
		    0);
	assert_true(table_get(s->table, r, f, q, TS_MAX, NULL, &c, NULL) >= 0);
	assert_true(table_has_row(s->table, r) >= 0);
}

static void versions_from_the_newest_on(struct temp_store *s, int n)
{
	for (int i = 0; i < n; i++)
		mutate_one(s, CHANGE_PUT, "q", i, -1);
	for (int i = n; i-- > 0;) {
		mutate_one(s, CHANGE_DELETE, "q", i, CHECK_VERSION_PRESENT);
		look(s, "q", i / 2);
	}
	for (int i = 0; i < n; i++) {
		mutate_one(s, CHANGE_PUT, "q", i * 7919 % n,
			   CHECK_VERSION_ABSENT);
		look(s, "q", i);
	}
}

static void versions_from_the_oldest_on(struct temp_store *s, int n)
{
	for (int i = 0; i < n; i++)
		mutate_one(s, CHANGE_PUT, "q", i, -1);
	for (int i = 0; i < n; i++) {
		mutate_one(s, CHANGE_DELETE, "q", i, CHECK_VERSION_PRESENT);
		look(s, "q", i / 2);
	}
}

static void one_version(struct temp_store *s, int n)
{
	for (int i = 0; i < n; i++) {
		mutate_one(s, CHANGE_PUT, "q", 5, CHECK_VERSION_ABSENT);
		look(s, "q", 5);
		mutate_one(s, CHANGE_DELETE, "q", 5, CHECK_VERSION_PRESENT);
		look(s, "q", 5);
	}
}

static void one_column(struct temp_store *s, int n)
{
	for (int i = 0; i < n; i++) {
		mutate_one(s, CHANGE_PUT, "q", i, CHECK_ABSENT);
		look(s, "q", i / 2);
		mutate_one(s, CHANGE_DELETE_COLUMN, "q", i, CHECK_PRESENT);
		look(s, "q", i / 2);
	}
}

static void columns_of_a_row(struct temp_store *s, int n)
{
	char q[16];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < n; i++) {
			snprintf(q, sizeof(q), "q%06d", i);
			mutate_one(s, CHANGE_PUT, q, round + i, CHECK_ABSENT);
		}
		for (int i = 0; i < n; i++) {
			snprintf(q, sizeof(q), "q%06d", i);
			mutate_one(s, CHANGE_DELETE_COLUMN, q, round + i,
				   CHECK_PRESENT);
			look(s, q, round + i);
		}
	}
}

typedef void shape(struct temp_store *s, int n);

/* What is walked in vain for @n of them, and a flush or not. */
static uint64_t work(shape *make, uint32_t versions, int n)
{
	struct temp_store s = {.options = {.inline_background = true}};
	struct schema schema;
	uint64_t w;

	assert_int_equal(temp_make(&s), 0);
	assert_int_equal(table_schema(s.table, &schema), 0);
	schema.families[0].attrs.versions = versions;
	assert_int_equal(table_alter(s.table, &schema, false), 0);
	schema_free(&schema);
	make(&s, n);
	w = walked(&s);
	assert_int_equal(temp_remove(&s), 0);
	return w;
}

TEST(the_work_of_each_does_not_grow_with_what_is_hidden)
{
	static const struct {
		const char *what;
		shape *make;
	} shapes[] = {
		{"versions, newest first", versions_from_the_newest_on},
		{"versions, oldest first", versions_from_the_oldest_on},
		{"one version, again", one_version},
		{"one column, again", one_column},
		{"columns of a row", columns_of_a_row},
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		for (uint32_t v = 3; v < 1000000; v += 999996) {
			uint64_t few = work(shapes[i].make, v, 500);
			uint64_t many = work(shapes[i].make, v, 4000);

			print_message("%s, versions %u: %.1f %.1f\n",
				      shapes[i].what, v, (double)few / 500,
				      (double)many / 4000);
			assert_true(many / 4000 <= few / 500 + 40);
		}
	}
}

/* Nothing was written since: the last one's moment is the next one's. */
TEST(what_one_found_spares_the_next_its_walk)
{
	enum {
		HIDDEN = 2000
	};
	struct temp_store s = {.options = {.inline_background = true}};
	uint64_t first;

	assert_int_equal(temp_make(&s), 0);
	for (int i = 0; i < HIDDEN; i++)
		mutate_one(&s, CHANGE_PUT, "q", i, -1);
	for (int i = 1; i < HIDDEN; i++)
		mutate_one(&s, CHANGE_DELETE, "q", i, -1);
	look(&s, "q", HIDDEN / 2);
	first = walked(&s);
	for (int i = 0; i < 10; i++)
		look(&s, "q", HIDDEN / 2);
	print_message("%d and %d\n", (int)first, (int)(walked(&s) - first));
	assert_true(first >= HIDDEN / 2);
	assert_true(walked(&s) - first < HIDDEN);
	assert_int_equal(temp_remove(&s), 0);
}
