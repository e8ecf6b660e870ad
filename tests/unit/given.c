#include "tests/unit/unit.h"
#include "store/value/given.h"

#define CHANGES_MAX 200

static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static uint32_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static struct change random_change(void)
{
	static const uint8_t ops[] = {
		CHANGE_PUT,	      CHANGE_PUT,    CHANGE_PUT,
		CHANGE_APPEND,	      CHANGE_DELETE, CHANGE_DELETE_COLUMN,
		CHANGE_DELETE_FAMILY, CHANGE_PUT};
	struct change c = {
		.op = ops[below(sizeof(ops))],
		.family = bytes_str(names[below(2)]),
		.qualifier = bytes_str(names[below(8)]),
		.ts = below(3) ? TS_AUTO : 70 + below(9),
	};

	c.ts_given = c.ts == TS_AUTO ? 70 : c.ts;
	return c;
}

/* As the head of given.h says it, one by one. */
static int64_t expected(const struct mutation *m, size_t at)
{
	const struct change *c = &m->changes[at];
	int64_t ts = c->ts_given;

	if (c->ts != TS_AUTO || c->op == CHANGE_DELETE)
		return ts;
	for (size_t i = 0; i < at; i++) {
		const struct change *w = &m->changes[i];
		bool wide = kind_is_family_marker(c->op) ||
			    kind_is_family_marker(w->op);
		int64_t after = w->ts_given + op_writes(c->op);

		if (bytes_eq(w->family, c->family) && after > ts &&
		    (wide || bytes_eq(w->qualifier, c->qualifier)))
			ts = after;
	}
	return ts;
}

TEST(what_the_store_picks_comes_behind_what_the_mutation_has_made)
{
	static struct change changes[CHANGES_MAX];
	struct given g = {0}; /* as one commit has for its mutations */

	for (unsigned run = 0; run < 2000; run++) {
		struct mutation m = {.changes = changes};

		seed = run;
		m.nchanges = 1 + below(run % 4 ? 20 : CHANGES_MAX);
		for (size_t i = 0; i < m.nchanges; i++)
			changes[i] = random_change();
		given_begin(&g, &m);
		for (size_t i = 0; i < m.nchanges; i++) {
			int64_t ts = expected(&m, i);

			assert_int_equal(given_raise(&g, &m, i, &changes[i]),
					 0);
			assert_int_equal(changes[i].ts_given, ts);
		}
	}
	given_release(&g);
}

TEST(columns_that_ascend_keep_their_timestamps)
{
	struct change changes[8] = {0};
	struct mutation m = {.changes = changes, .nchanges = 8};
	struct given g = {0};

	for (size_t i = 0; i < 8; i++) {
		changes[i] = (struct change){
			.op = CHANGE_PUT,
			.family = bytes_str("f"),
			.qualifier = bytes_str(names[i]),
			.ts = TS_AUTO,
			.ts_given = 70,
		};
	}
	given_begin(&g, &m);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(given_raise(&g, &m, i, &changes[i]), 0);
		assert_int_equal(changes[i].ts_given, 70);
	}
	assert_null(g.slots);
	given_release(&g);
}
