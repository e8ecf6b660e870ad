#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/lsm/mem/memtable.h"

#define TREE 7

static struct memtable *fresh(void)
{
	struct memtable *mt;

	assert_int_equal(memtable_new(2048, &mt), 0);
	return mt;
}

static struct entry put(const char *qualifier, int64_t ts, uint64_t seq)
{
	return (struct entry){
		.qualifier = bytes_str(qualifier),
		.ts = ts,
		.seq = seq,
		.kind = CELL_PUT,
		.value = bytes_str("v"),
	};
}

static void add(struct memtable *mt, const char *row, struct entry e)
{
	assert_int_equal(memtable_insert(mt, TREE, bytes_str(row), &e, 1), 0);
}

static void assert_bytes(struct bytes got, struct bytes want)
{
	assert_int_equal(got.len, want.len);
	if (want.len)
		assert_memory_equal(got.data, want.data, want.len);
}

static void assert_row(const struct mem_cursor *c, const char *row)
{
	assert_bytes(c->base.row, bytes_str(row));
}

static void empty_memtable_holds_nothing(void **state)
{
	struct memtable *mt = fresh();
	struct memtree_stat st;
	struct mem_cursor c;
	int64_t ts;

	assert_true(memtable_empty(mt));
	assert_int_equal(memtable_bytes(mt), 0);
	assert_int_equal(memtable_next_tree(mt, -1), -1);
	assert_int_equal(memtable_tree_stat(mt, TREE, &st), 0);
	assert_false(memtable_column_newest(mt, TREE, bytes_str("a"),
					    bytes_str("q"), &ts));
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 0);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("a")), 0);
	assert_int_equal(cursor_seek_back(&c.base, bytes_str(""), true), 0);
	assert_int_equal(cursor_seek_back(&c.base, bytes_str("a"), true), 0);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("a")), 0);
	/* The cursor sees a tree that comes later. */
	add(mt, "a", put("q", 1, 1));
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
	assert_row(&c, "a");
	assert_false(memtable_empty(mt));
	cursor_close(&c.base);
	memtable_unref(mt);
	memtable_unref(NULL);
}

static void seeks_stand_on_the_right_row(void **state)
{
	struct memtable *mt = fresh();
	struct mem_cursor c;

	add(mt, "b", put("q", 1, 1));
	add(mt, "d", put("q", 1, 2));
	add(mt, "dd", put("q", 1, 3));
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("c")), 1);
	assert_row(&c, "d");
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("d")), 1);
	assert_row(&c, "d");
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("e")), 0);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("c")), 0);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("d")), 1);
	assert_int_equal(cursor_next_row(&c.base), 1);
	assert_row(&c, "dd");
	assert_int_equal(cursor_next_row(&c.base), 0);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("d")), 1);
	assert_int_equal(cursor_prev_row(&c.base), 1);
	assert_row(&c, "b");
	assert_int_equal(cursor_prev_row(&c.base), 0);
	assert_int_equal(cursor_seek_back(&c.base, bytes_str("d"), false), 1);
	assert_row(&c, "b");
	assert_int_equal(cursor_seek_back(&c.base, bytes_str("d"), true), 1);
	assert_row(&c, "d");
	assert_int_equal(cursor_seek_back(&c.base, bytes_str(""), false), 1);
	assert_row(&c, "dd");
	assert_int_equal(cursor_seek_back(&c.base, bytes_str("b"), false), 0);
	memtable_unref(mt);
}

static void keys_are_any_bytes(void **state)
{
	static const struct bytes rows[] = {
		{(const uint8_t *)"a", 1},
		{(const uint8_t *)"a\0", 2},
		{(const uint8_t *)"a\0\0", 3},
		{(const uint8_t *)"a\0b", 3},
		{(const uint8_t *)"a\1", 2},
		{(const uint8_t *)"aaaaaaaa", 8},
		{(const uint8_t *)"aaaaaaaa\0", 9},
		{(const uint8_t *)"\xff\xff", 2},
	};
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	struct memtable *mt = fresh();
	struct mem_cursor c;

	for (size_t i = n; i-- > 0;) {
		struct entry e = {.qualifier = rows[n - 1 - i],
				  .value = rows[i],
				  .ts = 1,
				  .kind = CELL_PUT};

		assert_int_equal(memtable_insert(mt, TREE, rows[i], &e, 1), 0);
	}
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
	for (size_t i = 0; i < n; i++) {
		assert_bytes(c.base.row, rows[i]);
		assert_bytes(c.base.at.value, rows[i]);
		assert_bytes(c.base.at.qualifier, rows[n - 1 - i]);
		assert_int_equal(cursor_next(&c.base), 0);
		assert_int_equal(cursor_next_row(&c.base), i + 1 < n);
	}
	memtable_unref(mt);
}

/*
 *	family markers 9, 5 | "" 4 | p 30 20(DELETE) 20(s8) 20(s7) | q 1
 */
static void row_sorts_markers_then_columns_newest_first(void **state)
{
	struct entry e[] = {
		put("q", 1, 1),	 put("p", 20, 7), put("", 4, 1),
		put("p", 30, 2), put("p", 20, 8), put("p", 20, 3),
		put("", 5, 1),	 put("", 9, 1),
	};
	static const struct {
		const char *q;
		int64_t ts;
		uint64_t seq;
	} want[] = {{"", 9, 1},	  {"", 5, 1},	{"", 4, 1},   {"p", 30, 2},
		    {"p", 20, 3}, {"p", 20, 8}, {"p", 20, 7}, {"q", 1, 1}};
	struct memtable *mt = fresh();
	struct memtree_stat st;
	struct mem_cursor c;
	int64_t ts;

	e[5].kind = CELL_DELETE;
	e[6].kind = CELL_DELETE_FAMILY;
	e[7].kind = CELL_DELETE_FAMILY_VERSION;
	assert_int_equal(memtable_insert(mt, TREE, bytes_str("r"), e, 8), 0);
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
	for (size_t i = 0; i < 8; i++) {
		assert_bytes(c.base.at.qualifier, bytes_str(want[i].q));
		assert_int_equal(c.base.at.ts, want[i].ts);
		assert_int_equal(c.base.at.seq, want[i].seq);
		assert_int_equal(cursor_next(&c.base), i < 7);
	}
	assert_int_equal(cursor_next_row(&c.base), 0);

	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
	assert_int_equal(cursor_seek_column(&c.base, bytes_str(""), TS_MAX), 1);
	assert_int_equal(c.base.at.ts, 4);
	assert_int_equal(cursor_seek_column(&c.base, bytes_str("p"), 20), 1);
	assert_int_equal(c.base.at.kind, CELL_DELETE);
	/* Never backwards. */
	assert_int_equal(cursor_seek_column(&c.base, bytes_str("a"), 20), 1);
	assert_int_equal(c.base.at.kind, CELL_DELETE);
	assert_int_equal(cursor_seek_column(&c.base, bytes_str("p"), 19), 1);
	assert_bytes(c.base.at.qualifier, bytes_str("q"));
	assert_int_equal(cursor_seek_column(&c.base, bytes_str("q"), 0), 0);

	assert_int_equal(memtable_tree_stat(mt, TREE, &st), 1);
	assert_int_equal(st.entries, 8);
	assert_int_equal(st.rows, 1);
	assert_int_equal(st.ts_max, 30);
	assert_true(memtable_column_newest(mt, TREE, bytes_str("r"),
					   bytes_str("p"), &ts));
	assert_int_equal(ts, 30);
	/* The family marker is newer than the column, or all there is. */
	assert_true(memtable_column_newest(mt, TREE, bytes_str("r"),
					   bytes_str("q"), &ts));
	assert_int_equal(ts, 9);
	assert_true(memtable_column_newest(mt, TREE, bytes_str("r"),
					   bytes_str("none"), &ts));
	assert_int_equal(ts, 9);
	assert_true(memtable_row_newest(mt, TREE, bytes_str("r"), &ts));
	assert_int_equal(ts, 30);
	assert_false(memtable_row_newest(mt, TREE, bytes_str("s"), &ts));
	memtable_unref(mt);
}

static void column_without_entries_has_no_newest(void **state)
{
	struct memtable *mt = fresh();
	int64_t ts;

	add(mt, "r", put("a", 5, 1));
	add(mt, "r", put("c", 5, 2));
	assert_false(memtable_column_newest(mt, TREE, bytes_str("r"),
					    bytes_str("b"), &ts));
	assert_false(memtable_column_newest(mt, TREE, bytes_str("x"),
					    bytes_str("a"), &ts));
	assert_false(memtable_column_newest(mt, TREE + 1, bytes_str("r"),
					    bytes_str("a"), &ts));
	memtable_unref(mt);
}

static void trees_are_apart(void **state)
{
	struct memtable *mt = fresh();
	int64_t id = -1;

	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t tree = i * 7919 % 1000 * 3;
		struct entry e = put("q", tree, 1);

		assert_int_equal(
			memtable_insert(mt, tree, bytes_str("r"), &e, 1), 0);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		struct mem_cursor c;

		id = memtable_next_tree(mt, id);
		assert_int_equal(id, i * 3);
		memtable_cursor(mt, (uint32_t)id, &c);
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
		assert_int_equal(c.base.at.ts, id);
		assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
		assert_int_equal(c.base.at.ts, id);
		assert_int_equal(cursor_next_row(&c.base), 0);
		memtable_cursor(mt, (uint32_t)id + 1, &c);
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 0);
	}
	assert_int_equal(memtable_next_tree(mt, id), -1);
	memtable_unref(mt);
}

static void greatest_tree_is_found(void **state)
{
	struct memtable *mt = fresh();
	struct entry e = put("q", 1, 1);

	assert_int_equal(memtable_insert(mt, UINT32_MAX, bytes_str("r"), &e, 1),
			 0);
	assert_int_equal(memtable_next_tree(mt, -1), UINT32_MAX);
	assert_int_equal(memtable_next_tree(mt, UINT32_MAX), -1);
	memtable_unref(mt);
}

static void repeated_entry_is_left_alone(void **state)
{
	struct memtable *mt = fresh();
	struct memtree_stat st;
	struct mem_cursor c;

	for (int i = 0; i < 100; i++)
		for (int j = 0; j < 3; j++)
			add(mt, "r", put("q", i, 1));
	assert_int_equal(memtable_tree_stat(mt, TREE, &st), 1);
	assert_int_equal(st.entries, 100);
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
	for (int i = 99; i >= 0; i--) {
		assert_int_equal(c.base.at.ts, i);
		assert_int_equal(cursor_next(&c.base), i > 0);
	}
	memtable_unref(mt);
}

static void large_values_come_back(void **state)
{
	size_t len = (size_t)5 << 20;
	uint8_t *value = malloc(len);
	struct memtable *mt = fresh();
	struct entry e = put("q", 1, 1);
	struct mem_cursor c;

	assert_non_null(value);
	for (size_t i = 0; i < len; i++)
		value[i] = (uint8_t)(i * 31 >> 3);
	e.value = bytes_of(value, len);
	add(mt, "r", e);
	assert_true(memtable_bytes(mt) >= len);
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
	assert_bytes(c.base.at.value, e.value);
	memtable_unref(mt);
	free(value);
}

static void oversized_keys_are_refused(void **state)
{
	static const uint8_t key[70000];
	struct memtable *mt = fresh();
	struct entry e[2] = {put("q", 1, 1), put("q", 2, 1)};

	assert_int_equal(memtable_insert(mt, TREE, bytes_of(key, 70000), e, 1),
			 -E2BIG);
	e[1].qualifier = bytes_of(key, 70000);
	assert_int_equal(memtable_insert(mt, TREE, bytes_str("r"), e, 2),
			 -E2BIG);
	assert_true(memtable_empty(mt));
	memtable_unref(mt);
}

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

static void wide_rows_are_sought_in_any_order_of_insertion(void **state)
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

static void versions_are_sought_in_any_order_of_insertion(void **state)
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

static void many_rows_are_walked_in_any_order_of_insertion(void **state)
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

static void random_steps_agree_with_a_sorted_array(void **state)
{
	compare_with_sorted_array(false);
	compare_with_sorted_array(true);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define BESIDE_ROWS 8000
#else
#define BESIDE_ROWS 40000
#endif
#define BESIDE_WIDE 5 /* every so many writes go to one wide row */

struct beside {
	struct memtable *mt;
	/* Writes that are done: what a reader must see. */
	_Atomic(uint32_t) done;
	_Atomic(bool) stop;
	_Atomic(unsigned) faults;
};

/* Scatters the writes, one to one for n < 2^16. */
static uint32_t scatter(uint32_t i)
{
	return i * 40503u & 0xffff;
}

static struct bytes beside_row(char *buf, uint32_t i)
{
	return bytes_of(buf, (size_t)sprintf(buf, "row-%05u", scatter(i)));
}

static void expect(struct beside *b, bool ok)
{
	if (!ok)
		atomic_fetch_add(&b->faults, 1);
}

/* Two cells to a row, and now and then one to the row "wide". */
static void *beside_writer(void *arg)
{
	struct beside *b = arg;
	char buf[32], q[32];

	for (uint32_t i = 0; i < BESIDE_ROWS; i++) {
		struct entry e[2] = {put("b", i, i), put("a", i, i)};
		struct bytes row = beside_row(buf, i);

		expect(b, !memtable_insert(b->mt, TREE, row, e, 2));
		if (i % BESIDE_WIDE == 0) {
			sprintf(q, "%05u", scatter(i));
			e[0] = put(q, i, i);
			expect(b, !memtable_insert(b->mt, TREE,
						   bytes_str("wide"), e, 1));
		}
		atomic_store_explicit(&b->done, i + 1, memory_order_release);
	}
	atomic_store(&b->stop, true);
	return NULL;
}

static void check_cells(struct beside *b, struct cursor *c, bool wide)
{
	uint32_t cells = 0;
	struct entry last;

	do {
		if (cells++)
			expect(b, entry_cmp(&last, &c->at) < 0);
		last = c->at;
		expect(b, c->at.value.len == 1 && c->at.value.data[0] == 'v');
	} while (cursor_next(c) == 1);
	if (!wide)
		expect(b, cells == 2);
}

/* All rows that were done, each once, in order. */
static void check_walk(struct beside *b, struct cursor *c, bool forward)
{
	uint32_t done = atomic_load_explicit(&b->done, memory_order_acquire);
	uint32_t seen = 0;
	struct bytes last = {0};
	int r = forward ? cursor_seek_row(c, bytes_str(""))
			: cursor_seek_back(c, bytes_str(""), false);

	while (r == 1) {
		bool wide = bytes_eq(c->row, bytes_str("wide"));

		if (last.len)
			expect(b, forward ? bytes_cmp(last, c->row) < 0
					  : bytes_cmp(last, c->row) > 0);
		last = c->row;
		if (!wide)
			seen += c->at.seq < done;
		check_cells(b, c, wide);
		r = forward ? cursor_next_row(c) : cursor_prev_row(c);
	}
	expect(b, seen == done);
}

static void check_gets(struct beside *b, struct cursor *c, unsigned *seed)
{
	uint32_t done = atomic_load_explicit(&b->done, memory_order_acquire);
	char buf[32];

	for (int i = 0; done && i < 200; i++) {
		uint32_t at = (uint32_t)rand_r(seed) % done;
		struct bytes row = beside_row(buf, at);
		int64_t ts = -1;

		expect(b, cursor_seek_exact(c, row) == 1);
		expect(b, c->at.seq == at);
		expect(b, cursor_seek_column(c, bytes_str("b"), at) == 1);
		expect(b, cursor_seek_row(c, row) == 1 && c->at.seq == at);
		expect(b,
		       cursor_seek_back(c, row, true) == 1 && c->at.seq == at);
		expect(b, memtable_column_newest(b->mt, TREE, row,
						 bytes_str("a"), &ts) &&
				  ts == at);
		at -= at % BESIDE_WIDE;
		sprintf(buf, "%05u", scatter(at));
		expect(b, cursor_seek_exact(c, bytes_str("wide")) == 1);
		expect(b, cursor_seek_column(c, bytes_str(buf), at) == 1 &&
				  c->at.seq == at);
	}
}

static void *beside_reader(void *arg)
{
	struct beside *b = arg;
	struct mem_cursor c;
	unsigned seed = 1;
	bool stop;

	memtable_cursor(b->mt, TREE, &c);
	do {
		stop = atomic_load(&b->stop);
		check_walk(b, &c.base, true);
		check_gets(b, &c.base, &seed);
		check_walk(b, &c.base, false);
		check_gets(b, &c.base, &seed);
	} while (!stop);
	return NULL;
}

static void readers_beside_a_writer_see_all_that_was_done(void **state)
{
	struct beside b = {.mt = fresh()};
	pthread_t threads[3];

	assert_int_equal(pthread_create(&threads[0], NULL, beside_reader, &b),
			 0);
	assert_int_equal(pthread_create(&threads[1], NULL, beside_reader, &b),
			 0);
	assert_int_equal(pthread_create(&threads[2], NULL, beside_writer, &b),
			 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(&b.faults), 0);
	memtable_unref(b.mt);
}

/* Keys that share their first bytes, more of them than eight, or none. */
static void insert_some(struct memtable *mt, unsigned n)
{
	static const char *const begin[] = {"", "common/", "common/and-long/"};

	for (unsigned i = 0; i < n; i++) {
		char row[40];

		snprintf(row, sizeof(row), "%s%u", begin[i % 3],
			 i * 2654435761u % 1000);
		add(mt, row, put(i % 2 ? "a" : "b", (int64_t)i, i));
	}
}

static void a_run_passes_over_what_a_cursor_does(void **state)
{
	static const unsigned sizes[] = {0, 1, 2, 255, 256, 3000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct memtable *mt = fresh();
		struct mem_cursor c;
		struct flush_cursor run;
		int r, q;

		insert_some(mt, sizes[i]);
		memtable_cursor(mt, TREE, &c);
		assert_int_equal(flush_cursor_open(mt, TREE, &run), 0);
		r = cursor_seek_row(&c.base, bytes_str(""));
		q = cursor_seek_row(&run.base, bytes_str(""));
		for (; r == 1; r = cursor_next_row(&c.base)) {
			assert_int_equal(q, 1);
			assert_bytes(run.base.row, c.base.row);
			do {
				assert_int_equal(
					entry_cmp(&run.base.at, &c.base.at), 0);
				q = cursor_next(&run.base);
			} while ((r = cursor_next(&c.base)) == 1 && q == 1);
			assert_int_equal(q, r);
			q = cursor_next_row(&run.base);
		}
		assert_int_equal(q, 0);
		assert_int_equal(cursor_next_row(&run.base), 0);
		cursor_close(&run.base);
		memtable_unref(mt);
	}
}

/* Row @i of many, which have more than a head in common. */
static void add_numbered(struct memtable *mt, unsigned i)
{
	char row[32];

	snprintf(row, sizeof(row), "common/%03u/and-so-on/%02u", i / 20,
		 i % 20);
	add(mt, row, put("a", 1, i + 1));
}

static void rows_are_sorted_whether_they_came_in_order_or_not(void **state)
{
	enum {
		ROWS = 600
	};
	/* In order but for two. */
	static const struct {
		unsigned first, last;
	} come[] = {
		{0, ROWS - 1}, {1, ROWS - 1}, {300, ROWS - 1}, {ROWS - 1, 0},
		{0, 1},	       {0, 300},      {0, ROWS - 2},   {300, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(come) / sizeof(come[0]); i++) {
		struct memtable *mt = fresh();
		struct flush_cursor run;
		unsigned n = 0;
		int r;

		add_numbered(mt, come[i].first);
		for (unsigned k = 0; k < ROWS; k++)
			if (k != come[i].first && k != come[i].last)
				add_numbered(mt, k);
		add_numbered(mt, come[i].last);
		assert_int_equal(flush_cursor_open(mt, TREE, &run), 0);
		r = cursor_seek_row(&run.base, bytes_str(""));
		for (; r == 1; r = cursor_next_row(&run.base))
			assert_int_equal(run.base.at.seq, ++n);
		assert_int_equal(r, 0);
		assert_int_equal(n, ROWS);
		cursor_close(&run.base);
		memtable_unref(mt);
	}
}

/* Two, and three, that differ behind what a sort looks at first. */
static void rows_with_long_prefixes_in_common_are_sorted(void **state)
{
	enum {
		PREFIXES = 256
	};

	(void)state;
	for (unsigned like = 1; like <= 3; like++) {
		struct memtable *mt = fresh();
		struct flush_cursor run;
		unsigned n = 0;
		int r;

		for (unsigned i = 0; i < PREFIXES * like; i++) {
			unsigned k = PREFIXES * like - i;
			char row[32];

			snprintf(row, sizeof(row), "%03u/these-share/%u",
				 (k - 1) / like, (k - 1) % like);
			add(mt, row, put("q", 1, k));
		}
		assert_int_equal(flush_cursor_open(mt, TREE, &run), 0);
		r = cursor_seek_row(&run.base, bytes_str(""));
		for (; r == 1; r = cursor_next_row(&run.base))
			assert_int_equal(run.base.at.seq, ++n);
		assert_int_equal(r, 0);
		assert_int_equal(n, PREFIXES * like);
		cursor_close(&run.base);
		memtable_unref(mt);
	}
}

static void a_run_seeks_columns_of_a_row(void **state)
{
	struct memtable *mt = fresh();
	struct flush_cursor run;

	add(mt, "r", put("a", 3, 1));
	add(mt, "r", put("a", 2, 2));
	add(mt, "r", put("c", 1, 3));
	assert_int_equal(flush_cursor_open(mt, TREE, &run), 0);
	assert_int_equal(cursor_seek_row(&run.base, bytes_str("")), 1);
	assert_int_equal(cursor_seek_column(&run.base, bytes_str("a"), 2), 1);
	assert_int_equal(run.base.at.ts, 2);
	assert_int_equal(cursor_seek_column(&run.base, bytes_str("b"), 9), 1);
	assert_bytes(run.base.at.qualifier, bytes_str("c"));
	assert_int_equal(cursor_seek_column(&run.base, bytes_str("d"), 9), 0);
	assert_int_equal(cursor_next_row(&run.base), 0);
	assert_int_equal(cursor_seek_row(&run.base, bytes_str("r")), -EINVAL);
	cursor_close(&run.base);
	memtable_unref(mt);
}

/* What came between two seeks is put in order beside what was. */
static void rows_that_come_between_seeks_are_found(void **state)
{
	struct memtable *mt = fresh();
	struct mem_cursor c;
	unsigned n = 0;

	memtable_cursor(mt, TREE, &c);
	for (unsigned step = 1; step < 400; step = step * 3 / 2 + 1) {
		char row[32], least[32] = "z";

		for (unsigned i = 0; i < step; i++, n++) {
			snprintf(row, sizeof(row), "%08u",
				 n * 2654435761u % 100000000);
			add(mt, row, put("q", 1, 1));
			if (strcmp(row, least) < 0)
				strcpy(least, row);
		}
		/* One that is only in the heap, and on from it. */
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str(row)), 1);
		assert_true(cursor_prev_row(&c.base) >= 0);
		assert_int_equal(cursor_seek_row(&c.base, bytes_str(least)), 1);
		assert_row(&c, least);
	}
	for (int r = cursor_seek_row(&c.base, bytes_str("")); r == 1;
	     r = cursor_next_row(&c.base))
		n--;
	assert_int_equal(n, 0);
	memtable_unref(mt);
}

static void a_memtable_ends_with_its_last_row(void **state)
{
	struct memtable *mt = fresh();

	assert_false(memtable_ends_with(mt, bytes_str("a")));
	add(mt, "a", put("q", 1, 1));
	assert_true(memtable_ends_with(mt, bytes_str("a")));
	add(mt, "b", put("q", 1, 2));
	assert_false(memtable_ends_with(mt, bytes_str("a")));
	add(mt, "a", put("q", 2, 3));
	assert_true(memtable_ends_with(mt, bytes_str("a")));
	memtable_unref(mt);
}

static void the_last_row_is_one_of_one_tree(void **state)
{
	struct memtable *mt = fresh();
	struct entry e[3] = {put("q", 1, 1), put("q", 2, 2), put("q", 3, 3)};
	struct memtree_stat st;

	(void)state;
	assert_false(memtable_at(mt, TREE, bytes_str("a")));
	add(mt, "a", e[0]);
	assert_true(memtable_at(mt, TREE, bytes_str("a")));
	assert_false(memtable_at(mt, TREE + 1, bytes_str("a")));
	assert_int_equal(
		memtable_insert(mt, TREE + 1, bytes_str("a"), &e[1], 1), 0);
	assert_false(memtable_at(mt, TREE, bytes_str("a")));
	assert_true(memtable_at(mt, TREE + 1, bytes_str("a")));
	/* At once, and by way of another tree. */
	assert_int_equal(
		memtable_insert(mt, TREE + 1, bytes_str("a"), &e[2], 1), 0);
	add(mt, "a", e[1]);
	assert_int_equal(memtable_tree_stat(mt, TREE, &st), 1);
	assert_int_equal(st.rows, 1);
	assert_int_equal(st.entries, 2);
	assert_int_equal(memtable_tree_stat(mt, TREE + 1, &st), 1);
	assert_int_equal(st.rows, 1);
	assert_int_equal(st.entries, 2);
	memtable_unref(mt);
}

/* Bytes of addresses that the process has: what threads left behind varies. */
static size_t address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	if (f && fscanf(f, "%zu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* In a child: what it does to its memory stays with it. */
static int exhaust(void)
{
	struct rlimit limit = {.rlim_max = RLIM_INFINITY};
	size_t len = (size_t)96 << 20;
	void *value = calloc(1, len);
	struct memtree_stat st;
	struct entry e[3] = {put("a", 1, 1), put("b", 1, 1), put("c", 1, 1)};
	struct memtable *mt = fresh();
	struct mem_cursor c;
	int r;

	add(mt, "r", put("z", 1, 1));
	/* Room for chunks, and for no copy of the value. */
	limit.rlim_cur = address_space() + len / 2;
	if (!value || limit.rlim_cur == len / 2 ||
	    setrlimit(RLIMIT_AS, &limit) < 0)
		return 1;
	e[1].value = e[2].value = bytes_of(value, len);
	r = memtable_insert(mt, TREE, bytes_str("r"), e, 3);
	if (r != -ENOMEM)
		return 2;
	r = memtable_insert(mt, TREE, bytes_str("s"), e, 3);
	if (r != -ENOMEM)
		return 3;
	memtable_tree_stat(mt, TREE, &st);
	if (st.entries != 1 || st.rows != 1)
		return 4;
	memtable_cursor(mt, TREE, &c);
	if (cursor_seek_row(&c.base, bytes_str("")) != 1 ||
	    !bytes_eq(c.base.at.qualifier, bytes_str("z")) ||
	    cursor_next(&c.base) != 0 || cursor_next_row(&c.base) != 0)
		return 5;
	/* Small ones until there is no chunk left: every one whole. */
	for (uint32_t i = 0;; i++) {
		char row[32];

		sprintf(row, "row-%u", i * 2654435761u);
		e[1] = put("b", 1, 1);
		e[2] = put("c", 1, 1);
		r = memtable_insert(mt, TREE, bytes_str(row), e, 3);
		if (r == -ENOMEM)
			break;
		if (r < 0)
			return 6;
	}
	/* Their order takes memory too, and goes on where it was cut short. */
	do {
		limit.rlim_cur += ARENA_CHUNK;
		if (setrlimit(RLIMIT_AS, &limit) < 0)
			return 8;
		r = cursor_seek_row(&c.base, bytes_str(""));
	} while (r == -ENOMEM);
	memtable_tree_stat(mt, TREE, &st);
	r = cursor_seek_row(&c.base, bytes_str(""));
	for (; r == 1; r = cursor_next_row(&c.base)) {
		st.rows--;
		do
			st.entries--;
		while (cursor_next(&c.base) == 1);
	}
	return r || st.rows || st.entries ? 7 : 0;
}

/* The map is made for them at once, and not outgrown. */
static void rows_that_were_announced_take_less_memory(void **state)
{
	struct memtable *mt[2];
	struct entry e = put("q", 1, 1);

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(memtable_new(i ? 20000 : 0, &mt[i]), 0);
		for (uint32_t r = 0; r < 20000; r++) {
			char row[16];

			sprintf(row, "%08x", r * 2654435761u);
			assert_int_equal(memtable_insert(mt[i], TREE,
							 bytes_str(row), &e, 1),
					 0);
		}
		assert_int_equal(memtable_rows(mt[i]), 20000);
	}
	assert_true(memtable_bytes(mt[1]) < memtable_bytes(mt[0]));
	/* Three slots of four are taken, with a row in eight to spare. */
	assert_true(memtable_bytes(mt[0]) - memtable_bytes(mt[1]) >
		    20000 * sizeof(uint64_t));
	memtable_unref(mt[0]);
	memtable_unref(mt[1]);
}

static void insert_without_memory_adds_nothing(void **state)
{
	int status;
	pid_t pid;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	skip(); /* their shadow does not live in little memory */
#endif
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(exhaust());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const char *given = getenv("SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10)
			      : (unsigned)time(NULL);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_memtable_holds_nothing),
		cmocka_unit_test(seeks_stand_on_the_right_row),
		cmocka_unit_test(keys_are_any_bytes),
		cmocka_unit_test(row_sorts_markers_then_columns_newest_first),
		cmocka_unit_test(column_without_entries_has_no_newest),
		cmocka_unit_test(trees_are_apart),
		cmocka_unit_test(greatest_tree_is_found),
		cmocka_unit_test(repeated_entry_is_left_alone),
		cmocka_unit_test(large_values_come_back),
		cmocka_unit_test(oversized_keys_are_refused),
		cmocka_unit_test(
			wide_rows_are_sought_in_any_order_of_insertion),
		cmocka_unit_test(versions_are_sought_in_any_order_of_insertion),
		cmocka_unit_test(
			many_rows_are_walked_in_any_order_of_insertion),
		cmocka_unit_test(random_steps_agree_with_a_sorted_array),
		cmocka_unit_test(readers_beside_a_writer_see_all_that_was_done),
		cmocka_unit_test(a_run_passes_over_what_a_cursor_does),
		cmocka_unit_test(
			rows_are_sorted_whether_they_came_in_order_or_not),
		cmocka_unit_test(rows_with_long_prefixes_in_common_are_sorted),
		cmocka_unit_test(a_run_seeks_columns_of_a_row),
		cmocka_unit_test(rows_that_come_between_seeks_are_found),
		cmocka_unit_test(a_memtable_ends_with_its_last_row),
		cmocka_unit_test(the_last_row_is_one_of_one_tree),
		cmocka_unit_test(rows_that_were_announced_take_less_memory),
		cmocka_unit_test(insert_without_memory_adds_nothing),
	};

	printf("SEED=%u\n", seed);
	srandom(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
