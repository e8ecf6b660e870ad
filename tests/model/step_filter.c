/*
 * Random filters, as text, over the rows, columns, times and values of steps.
 */
#include "tests/model/step.h"

static void say_compare(struct buf *out, uint64_t *random,
			const char *const *values, unsigned nvalues)
{
	static const char *const ops[] = {"=", "!=", "<", "<=", ">=", ">"};
	static const char *const kinds[] = {"binary", "binaryprefix",
					    "substring", "regexstring",
					    "regexstringnocase"};
	unsigned kind = step_below(random, 8);
	unsigned op = step_below(random, kind < 2 || kind > 4 ? 6 : 2);

	say(out, "%s,'%s:%s'", ops[op], kinds[kind > 4 ? 0 : kind],
	    values[step_below(random, nvalues)]);
}

static void say_value_compare(struct buf *out, uint64_t *random)
{
	static const char *const values[] = {"", "x", "y", "v", "v1", "X"};

	say_compare(out, random, values, 6);
}

static void say_column_compare(struct buf *out, uint64_t *random,
			       const char *name)
{
	static const char *const qualifiers[] = {"", "p", "q"};

	say(out, "%s('%s','%s',", name, step_below(random, 2) ? "f" : "g",
	    qualifiers[step_below(random, 3)]);
	say_value_compare(out, random);
}

/* Of columns and times. */
static void say_place_filter(struct buf *out, uint64_t *random, int64_t now)
{
	static const char *const q[] = {"p", "q", "", "r"};

	switch (step_below(random, 6)) {
	case 0:
		say(out, "ColumnPrefixFilter('%s')", q[step_below(random, 4)]);
		break;
	case 1:
		say(out, "MultipleColumnPrefixFilter('%s','%s')",
		    q[step_below(random, 4)], q[step_below(random, 4)]);
		break;
	case 2:
		say(out, "ColumnRangeFilter('%s',%s,'%s',%s)",
		    q[step_below(random, 4)],
		    step_below(random, 2) ? "true" : "false",
		    q[step_below(random, 4)],
		    step_below(random, 2) ? "true" : "false");
		break;
	case 3:
		say(out, "ColumnPaginationFilter(%u,%u)", step_below(random, 4),
		    step_below(random, 3));
		break;
	case 4:
		say(out, "ColumnCountGetFilter(%u)", step_below(random, 4));
		break;
	default:
		say(out, "TimestampsFilter(%lld,%lld)",
		    (long long)step_ts(STEP_TS_FIRST + step_below(random, 5),
				       now),
		    (long long)step_ts(STEP_TS_FIRST + step_below(random, 5),
				       now));
	}
}

static void say_row_filter(struct buf *out, uint64_t *random)
{
	static const char *const rows[] = {"a", "b", "c", ""};

	switch (step_below(random, 4)) {
	case 0:
		say(out, "PrefixFilter('%s')", rows[step_below(random, 4)]);
		break;
	case 1:
		say(out, "InclusiveStopFilter('%s')",
		    rows[step_below(random, 4)]);
		break;
	case 2:
		say(out, "PageFilter(%u)", step_below(random, 4));
		break;
	default:
		say(out, "RowFilter(");
		say_compare(out, random, rows, 4);
		say(out, ")");
	}
}

static void say_value_filter(struct buf *out, uint64_t *random)
{
	static const char *const names[] = {"ColumnValueFilter",
					    "SingleColumnValueFilter",
					    "SingleColumnValueExcludeFilter"};
	static const char *const f[] = {"f", "g", "h"};
	static const char *const q[] = {"", "p", "q"};
	unsigned n = step_below(random, 9);

	if (n < 3) {
		say_column_compare(out, random, names[n]);
		if (n && step_below(random, 2))
			say(out, ",%s,%s",
			    step_below(random, 2) ? "true" : "false",
			    step_below(random, 2) ? "true" : "false");
		say(out, ")");
	} else if (n == 3) {
		say(out, "DependentColumnFilter('%s','%s')",
		    f[step_below(random, 2)], q[step_below(random, 3)]);
	} else if (n == 4) {
		say(out, "DependentColumnFilter('%s','%s',%s,",
		    f[step_below(random, 2)], q[step_below(random, 3)],
		    step_below(random, 2) ? "true" : "false");
		say_value_compare(out, random);
		say(out, ")");
	} else if (n < 7) {
		say(out, "%s(", n == 5 ? "FamilyFilter" : "QualifierFilter");
		say_compare(out, random, n == 5 ? f : q, 3);
		say(out, ")");
	} else {
		say(out, "ValueFilter(");
		say_value_compare(out, random);
		say(out, ")");
	}
}

static void say_simple_filter(struct buf *out, uint64_t *random, int64_t now)
{
	static const char *const keys[] = {"FirstKeyOnlyFilter()",
					   "KeyOnlyFilter()",
					   "KeyOnlyFilter(true)"};
	unsigned n = step_below(random, 6);

	if (n == 0)
		say_row_filter(out, random);
	else if (n <= 2)
		say_place_filter(out, random, now);
	else if (n <= 4)
		say_value_filter(out, random);
	else
		say(out, "%s", keys[step_below(random, 3)]);
}

static void say_filter(struct buf *out, uint64_t *random, int64_t now,
		       bool rows, unsigned depth)
{
	static const char *const begins[] = {"SKIP (", "WHILE (", "(", "("};
	unsigned n = step_below(random, depth ? 10 : 6);

	if (n < 6 && rows) {
		say_row_filter(out, random);
		return;
	}
	if (n < 6) {
		say_simple_filter(out, random, now);
		return;
	}
	say(out, "%s", begins[n - 6]);
	say_filter(out, random, now, rows, depth - 1);
	for (unsigned i = 0; n >= 8 && i < 1 + depth % 2; i++) {
		say(out, n == 8 ? " AND " : " OR ");
		say_filter(out, random, now, rows, depth - 1);
	}
	say(out, ")");
}

void step_filter(struct buf *out, uint32_t seed, int64_t now)
{
	uint64_t random = seed;

	say_filter(out, &random, now, seed % 4 == 0, 3);
}
