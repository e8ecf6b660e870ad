/*
 * Many rows, columns and versions, inserted in order, backwards and at random; and
 * random steps of a cursor, which agree with those over a sorted array. $CELLFS_SEED
 * repeats a run.
 */
#include <time.h>

#include "tests/unit/memtable.h"

/* A permutation of 0..n-1 in the manner of @how. */
static uint32_t *shuffled(uint32_t n, int how)
{
	uint32_t *p = malloc(n * sizeof(*p));

	assert_non_null(p);
	for (uint32_t i = 0; i < n; i++)
		p[i] = how == 1 ? n - 1 - i : i;
	for (uint32_t i = n; how == 2 && i > 1; i--) {
		uint32_t j = (uint32_t)random() % i, t = p[i - 1];

		p[i - 1] = p[j];
		p[j] = t;
	}
	return p;
}

static void wide_row(uint32_t n, int how)
{
	struct memtable *mt = fresh();
	uint32_t *p = shuffled(n, how);
	struct mem_cursor c;
	char q[32];
	int64_t ts;

	for (uint32_t i = 0; i < n; i++) {
		snprintf(q, sizeof(q), "column-%09u", p[i] * 2);
		add(mt, "r", put(q, p[i], i));
	}
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(c.base.at.ts, i);
		assert_int_equal(cursor_next(&c.base), i + 1 < n);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = p[i];

		assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
		snprintf(q, sizeof(q), "column-%09u", at * 2);
		assert_int_equal(
			cursor_seek_column(&c.base, bytes_str(q), TS_MAX), 1);
		assert_int_equal(c.base.at.ts, at);
		assert_true(memtable_column_newest(mt, TREE, bytes_str("r"),
						   bytes_str(q), &ts));
		assert_int_equal(ts, at);
		snprintf(q, sizeof(q), "column-%09u", at * 2 + 1);
		assert_int_equal(
			cursor_seek_column(&c.base, bytes_str(q), TS_MAX),
			at + 1 < n);
		if (at + 1 < n)
			assert_int_equal(c.base.at.ts, at + 1);
		assert_false(memtable_column_newest(mt, TREE, bytes_str("r"),
						    bytes_str(q), &ts));
	}
	memtable_unref(mt);
	free(p);
}

TEST(wide_rows_are_sought_in_any_order_of_insertion)
{
	for (int how = 0; how < 3; how++) {
		wide_row(15, how);
		wide_row(18, how);
		wide_row(50000, how);
	}
}

static void versions(uint32_t n, int how)
{
	struct memtable *mt = fresh();
	uint32_t *p = shuffled(n, how);
	struct mem_cursor c;
	int64_t ts;

	add(mt, "r", put("o", 5, 5));
	add(mt, "r", put("q", 5, 5));
	for (uint32_t i = 0; i < n; i++)
		add(mt, "r", put("p", p[i], i));
	memtable_cursor(mt, TREE, &c);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
		assert_int_equal(
			cursor_seek_column(&c.base, bytes_str("p"), p[i]), 1);
		assert_int_equal(c.base.at.ts, p[i]);
		assert_int_equal(cursor_next(&c.base), 1);
		if (p[i] > 0)
			assert_int_equal(c.base.at.ts, p[i] - 1);
		else
			assert_bytes(c.base.at.qualifier, bytes_str("q"));
	}
	assert_true(memtable_column_newest(mt, TREE, bytes_str("r"),
					   bytes_str("p"), &ts));
	assert_int_equal(ts, n - 1);
	memtable_unref(mt);
	free(p);
}

TEST(versions_are_sought_in_any_order_of_insertion)
{
	for (int how = 0; how < 3; how++)
		versions(100000, how);
}

static void many_rows(uint32_t n, int how)
{
	struct memtable *mt = fresh();
	uint32_t *p = shuffled(n, how);
	struct mem_cursor c;
	char row[32];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(row, sizeof(row), "user/%09u", p[i] * 2);
		add(mt, row, put("q", p[i], 1));
	}
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(c.base.at.ts, i);
		assert_int_equal(cursor_next_row(&c.base), i + 1 < n);
	}
	assert_int_equal(cursor_seek_back(&c.base, bytes_str(""), false), 1);
	for (uint32_t i = n; i-- > 0;) {
		assert_int_equal(c.base.at.ts, i);
		assert_int_equal(cursor_prev_row(&c.base), i > 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = p[i];

		snprintf(row, sizeof(row), "user/%09u", at * 2);
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str(row)), 1);
		assert_int_equal(cursor_next_row(&c.base), at + 1 < n);
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str(row)), 1);
		assert_int_equal(cursor_prev_row(&c.base), at > 0);
		snprintf(row, sizeof(row), "user/%09u", at * 2 + 1);
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str(row)), 0);
		assert_int_equal(cursor_seek_row(&c.base, bytes_str(row)),
				 at + 1 < n);
		if (at + 1 < n) {
			assert_int_equal(c.base.at.ts, at + 1);
			assert_int_equal(cursor_prev_row(&c.base), 1);
			assert_int_equal(c.base.at.ts, at);
		}
		assert_int_equal(
			cursor_seek_back(&c.base, bytes_str(row), true), 1);
		assert_int_equal(c.base.at.ts, at);
		assert_int_equal(cursor_next_row(&c.base), at + 1 < n);
	}
	memtable_unref(mt);
	free(p);
}

TEST(many_rows_are_walked_in_any_order_of_insertion)
{
	for (int how = 0; how < 3; how++) {
		many_rows(15, how);
		many_rows(17, how);
		many_rows(50000, how);
	}
}

#define MODEL_MAX 6000

struct model_cell {
	uint8_t row[4], qualifier[4];
	size_t row_len;
	struct entry e;
};

static struct model_cell model[MODEL_MAX];

static struct bytes model_row(const struct model_cell *m)
{
	return bytes_of(m->row, m->row_len);
}

static int model_cmp(const void *a, const void *b)
{
	const struct model_cell *x = *(struct model_cell *const *)a;
	const struct model_cell *y = *(struct model_cell *const *)b;
	int c = bytes_cmp(model_row(x), model_row(y));

	return c ? c : entry_cmp(&x->e, &y->e);
}

/* Short keys of few letters: collisions, prefixes and NULs abound. */
static size_t random_key(uint8_t *key, size_t min)
{
	size_t n = min + (size_t)random() % (5 - min);

	for (size_t i = 0; i < n; i++)
		key[i] = "\0\1ab\xff"[random() % 5];
	return n;
}

static void random_cell(struct model_cell *m, uint64_t seq, bool wide)
{
	static const uint8_t kinds[] = {
		CELL_PUT,	    CELL_PUT,
		CELL_DELETE,	    CELL_DELETE_COLUMN,
		CELL_DELETE_FAMILY, CELL_DELETE_FAMILY_VERSION};

	m->row_len = wide ? 1 : random_key(m->row, 1);
	if (wide)
		m->row[0] = (uint8_t)(random() % 2);
	m->e = (struct entry){
		.ts = random() % 20,
		.seq = seq,
		.ttl_ms = (uint64_t)random(),
		.kind = kinds[random() % 6],
	};
	if (!kind_is_family_marker(m->e.kind))
		m->e.qualifier =
			bytes_of(m->qualifier, random_key(m->qualifier, 0));
	m->e.value = bytes_of(m->row, m->row_len);
}

static void assert_on(const struct mem_cursor *c, const struct model_cell *m)
{
	assert_bytes(c->base.row, model_row(m));
	assert_int_equal(entry_cmp(&c->base.at, &m->e), 0);
	assert_int_equal(c->base.at.ttl_ms, m->e.ttl_ms);
	assert_bytes(c->base.at.value, m->e.value);
}

static bool same_row(const struct model_cell *a, const struct model_cell *b)
{
	return bytes_eq(model_row(a), model_row(b));
}

/* The first cell of the first row that @op finds, or NULL. */
static struct model_cell *model_seek(struct model_cell **s, size_t n, int op,
				     struct bytes row)
{
	struct model_cell *found = NULL;

	for (size_t i = 0; i < n; i++) {
		int c = bytes_cmp(model_row(s[i]), row);

		if (i && same_row(s[i], s[i - 1]))
			continue;
		if (op == 0 && c >= 0)
			return s[i];
		if (op == 1 && c == 0)
			return s[i];
		if ((op == 2 && c < 0) || (op == 3 && c <= 0))
			found = s[i];
	}
	return found;
}

static int do_seek(struct mem_cursor *c, int op, struct bytes row)
{
	if (op == 0)
		return cursor_seek_row(&c->base, row);
	if (op == 1)
		return cursor_seek_exact(&c->base, row);
	return cursor_seek_back(&c->base, row, op == 3);
}

static void random_walk(struct mem_cursor *c, struct model_cell **s, size_t n)
{
	struct model_cell probe, *m;
	size_t i, j;
	int op = (int)(random() % 4);

	random_cell(&probe, 0, false);
	m = model_seek(s, n, op, model_row(&probe));
	assert_int_equal(do_seek(c, op, model_row(&probe)), m != NULL);
	if (!m)
		return;
	for (i = 0; s[i] != m; i++)
		;
	for (int step = 0; step < 20; step++) {
		assert_on(c, s[i]);
		switch (random() % 4) {
		case 0:
			j = i + 1;
			if (j < n && same_row(s[i], s[j])) {
				assert_int_equal(cursor_next(&c->base), 1);
				i = j;
				break;
			}
			assert_int_equal(cursor_next(&c->base), 0);
			/* fall through */
		case 1:
			for (j = i; j < n && same_row(s[i], s[j]); j++)
				;
			assert_int_equal(cursor_next_row(&c->base), j < n);
			if (j == n)
				return;
			i = j;
			break;
		case 2:
			for (j = i; j && same_row(s[i], s[j - 1]); j--)
				;
			assert_int_equal(cursor_prev_row(&c->base), j > 0);
			if (!j)
				return;
			for (i = --j; j && same_row(s[i], s[j - 1]); j--)
				;
			i = j;
			break;
		default:
			random_cell(&probe, UINT64_MAX, false);
			probe.e.kind = UINT8_MAX;
			for (j = i; j < n && same_row(s[i], s[j]) &&
				    entry_cmp(&s[j]->e, &probe.e) < 0;
			     j++)
				;
			if (j < n && same_row(s[i], s[j])) {
				assert_int_equal(
					cursor_seek_column(&c->base,
							   probe.e.qualifier,
							   probe.e.ts),
					1);
				i = j;
				break;
			}
			assert_int_equal(cursor_seek_column(&c->base,
							    probe.e.qualifier,
							    probe.e.ts),
					 0);
			return;
		}
	}
}

static void compare_with_sorted_array(bool wide)
{
	static struct model_cell *sorted[MODEL_MAX];
	struct memtable *mt = fresh();
	struct mem_cursor c;
	size_t n = 0, target = 1;

	memtable_cursor(mt, TREE, &c);
	while (n < MODEL_MAX) {
		while (n < target) {
			struct entry batch[5];
			size_t k = 1 + (size_t)random() % 5;
			size_t first = n;

			for (; k && n < MODEL_MAX; k--, n++) {
				random_cell(&model[n], n, wide);
				memcpy(model[n].row, model[first].row, 4);
				model[n].row_len = model[first].row_len;
				model[n].e.value = model_row(&model[n]);
				batch[n - first] = model[n].e;
				sorted[n] = &model[n];
			}
			assert_int_equal(
				memtable_insert(mt, TREE,
						model_row(&model[first]), batch,
						n - first),
				0);
		}
		qsort(sorted, n, sizeof(sorted[0]), model_cmp);
		for (int i = 0; i < 300; i++)
			random_walk(&c, sorted, n);
		target = target * 3 < MODEL_MAX ? target * 3 : MODEL_MAX;
	}
	memtable_unref(mt);
}

TEST(random_steps_agree_with_a_sorted_array)
{
	compare_with_sorted_array(false);
	compare_with_sorted_array(true);
}

BEFORE_MAIN(take_a_seed)
{
	const char *given = getenv("CELLFS_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10)
			      : (unsigned)time(NULL);

	printf("CELLFS_SEED=%u\n", seed);
	srandom(seed);
}
