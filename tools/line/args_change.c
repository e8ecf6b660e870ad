/* Parses what a write does: changes of one row, and a check. */

#include "fs/text/cells.h"
#include "store/value/array.h"
#include "tools/line/args.h"
#include "tools/line/fail.h"
#include "fs/text/nearest.h"

static int add_change(struct request *rq, struct change change)
{
	if (ARRAY_ONE_MORE(rq->changes, rq->nchanges) < 0)
		return fail_memory();
	rq->changes[rq->nchanges++] = change;
	return EXIT_DONE;
}

static int target(struct request *rq, const char *text, struct column_name *out)
{
	int code = columns_add(&rq->targets, text, false);

	if (code == EXIT_DONE)
		*out = rq->targets.names[rq->targets.n - 1];
	return code;
}

/* Adds a change of that name; @change has the operation and the value. */
static int change_named(struct request *rq, const struct column_name *name,
			struct change change)
{
	change.family = name->family;
	change.qualifier = name->qualifier;
	return add_change(rq, change);
}

/* The same of one column. */
static int change_column(struct request *rq, const char *column,
			 struct change change)
{
	struct column_name name;
	int code = target(rq, column, &name);

	if (code)
		return code;
	if (name.whole_family)
		return fail_usage("'%s' is no FAMILY:QUALIFIER (the empty "
				  "qualifier is '%s:')",
				  column, column);
	return change_named(rq, &name, change);
}

/* Reads the row, and the timestamp if there is a word @i. */
static int row_and_ts(struct request *rq, int i)
{
	int code = parse_row(rq->words[2], &rq->row);

	if (code == EXIT_DONE && rq->nwords > i && rq->has_ts)
		return fail_usage("'%s' is a second timestamp: --timestamp is "
				  "there too",
				  rq->words[i]);
	if (code == EXIT_DONE && rq->nwords > i) {
		rq->has_ts = true;
		code = parse_ts_arg(rq->words[i], &rq->ts);
	}
	if (!rq->has_ts)
		rq->ts = TS_AUTO;
	return code;
}

/* The value: word @i, or else the standard input. */
static int read_value(struct request *rq, int i)
{
	if (rq->nwords <= i)
		return read_file("-", VALUE_LEN_MAX, &rq->value);
	return value_read(rq->words[i], &rq->value) < 0 ? fail_memory()
							: EXIT_DONE;
}

static int add_value(struct request *rq, uint8_t op, const char *column)
{
	return change_column(rq, column,
			     (struct change){.op = op,
					     .ts = rq->ts,
					     .ttl_ms = rq->ttl_ms,
					     .value = buf_bytes(&rq->value)});
}

/* STORE TABLE ROW COLUMN [VALUE [TS]]; an append takes no TS. */
static int parse_value(struct request *rq, uint8_t op)
{
	int code = row_and_ts(rq, 5);

	if (code == EXIT_DONE)
		code = read_value(rq, 4);
	return code ? code : add_value(rq, op, rq->words[3]);
}

int parse_put(struct request *rq)
{
	return parse_value(rq, CHANGE_PUT);
}

int parse_append(struct request *rq)
{
	return parse_value(rq, CHANGE_APPEND);
}

int parse_incr(struct request *rq)
{
	struct change change = {.op = CHANGE_INCREMENT, .delta = 1};
	int code = row_and_ts(rq, 6);

	if (code == EXIT_DONE && rq->nwords > 4)
		code = parse_number(rq->words[4], &change.delta);
	change.ts = rq->ts;
	change.ttl_ms = rq->ttl_ms;
	return code ? code : change_column(rq, rq->words[3], change);
}

/*
 * Deletes all versions up to the timestamp, of a column, a family, or the row.
 */
static int delete_all(struct request *rq, const char *column)
{
	struct change change = {.op = CHANGE_DELETE_ROW, .ts = rq->ts};
	struct column_name name;
	int code;

	if (!column)
		return add_change(rq, change);
	code = target(rq, column, &name);
	if (code)
		return code;
	change.op =
		name.whole_family ? CHANGE_DELETE_FAMILY : CHANGE_DELETE_COLUMN;
	return change_named(rq, &name, change);
}

int parse_deleteall(struct request *rq)
{
	int code = row_and_ts(rq, 4);

	return code ? code
		    : delete_all(rq, rq->nwords > 3 ? rq->words[3] : NULL);
}

int parse_delete(struct request *rq)
{
	const char *column = rq->nwords > 3 ? rq->words[3] : NULL;
	struct change change = {.op = CHANGE_DELETE};
	struct column_name name;
	int code;

	if (rq->all)
		return parse_deleteall(rq);
	if (!column)
		return fail_usage("a COLUMN is missing; to delete the row: "
				  "cellctl deleteall");
	code = row_and_ts(rq, 4);
	if (code == EXIT_DONE)
		code = target(rq, column, &name);
	if (code)
		return code;
	if (name.whole_family && !rq->has_ts)
		return fail_usage("'%s' is a family: give a timestamp, or to "
				  "delete all of it: cellctl deleteall",
				  column);
	if (name.whole_family)
		change.op = CHANGE_DELETE_FAMILY_VERSION;
	change.ts = rq->ts;
	return change_named(rq, &name, change);
}

static const struct check_word {
	const char *name, *synonyms[2];
	uint8_t op;
} check_words[] = {
	{"equal", {"=", "eq"}, CHECK_EQUAL},
	{"not_equal", {"!=", "ne"}, CHECK_NOT_EQUAL},
	{"less", {"<", "lt"}, CHECK_LESS},
	{"less_or_equal", {"<=", "le"}, CHECK_LESS_OR_EQUAL},
	{"greater", {">", "gt"}, CHECK_GREATER},
	{"greater_or_equal", {">=", "ge"}, CHECK_GREATER_OR_EQUAL},
	{"absent", {"absent", "absent"}, CHECK_ABSENT},
	{"present", {"present", "present"}, CHECK_PRESENT},
	{"newest", {"newest", "newest"}, CHECK_NEWEST_TS},
	{"version", {"version", "version"}, CHECK_VERSION_PRESENT},
	{"no_version", {"noversion", "noversion"}, CHECK_VERSION_ABSENT},
};

static int parse_op(const char *text, uint8_t *op)
{
	struct nearest near;

	nearest_init(&near, text);
	for (size_t i = 0; i < sizeof(check_words) / sizeof(*check_words);
	     i++) {
		const struct check_word *w = &check_words[i];

		*op = w->op;
		if (!strcasecmp(text, w->name) ||
		    !strcasecmp(text, w->synonyms[0]) ||
		    !strcasecmp(text, w->synonyms[1]))
			return EXIT_DONE;
		nearest_offer(&near, w->name);
	}
	return fail_nearest(&near, "", "'%s' is no operator of --op", text);
}

/* Parses the check, from word 3 on; *next is the first word after it. */
static int parse_check(struct request *rq, int *next)
{
	struct check *k = &rq->check;
	struct column_name name;
	const char *expected = NULL;
	int code = target(rq, rq->words[3], &name);

	k->op = CHECK_EQUAL;
	if (code == EXIT_DONE && rq->op)
		code = parse_op(rq->op, &k->op);
	if (code)
		return code;
	if (name.whole_family)
		return fail_usage("'%s' is no FAMILY:QUALIFIER", rq->words[3]);
	k->family = name.family;
	k->qualifier = name.qualifier;
	rq->checked = true;
	*next = 4;
	if (rq->null && k->op < CHECK_EQUAL)
		return fail_usage("--null does not go with --op %s", rq->op);
	/* The empty value is HBase's null: it means absent or empty. */
	if (rq->null || k->op == CHECK_ABSENT || k->op == CHECK_PRESENT)
		return EXIT_DONE;
	expected = rq->nwords > 4 ? rq->words[(*next)++] : NULL;
	if (!expected)
		return fail_usage("EXPECTED is missing; --null stands for "
				  "no value");
	if (k->op < CHECK_EQUAL)
		return parse_ts_arg(expected, &k->ts);
	if (value_read(expected, &rq->expected) < 0)
		return fail_memory();
	k->value = buf_bytes(&rq->expected);
	return EXIT_DONE;
}

/* Adds a line of .cells as a change of the row. */
static int change_of_line(struct request *rq, struct bytes line, size_t number)
{
	struct cells_line l;
	struct buf *hold;

	/* A target without a name, only for its memory. */
	if (columns_add(&rq->targets, "cells", false) != EXIT_DONE)
		return EXIT_STORE;
	hold = &rq->targets.holds[rq->targets.n - 1];
	if (cells_check_end(line) < 0 || cells_parse(line, hold, &l) < 0)
		return fail_usage("line %zu: %s", number, store_why());
	if (!bytes_eq(l.row, buf_bytes(&rq->row)))
		return fail_usage("line %zu belongs to another row", number);
	return add_change(rq, (struct change){.op = l.op,
					      .family = l.family,
					      .qualifier = l.qualifier,
					      .value = l.value,
					      .delta = l.delta,
					      .ttl_ms = l.ttl_ms,
					      .ts = l.ts});
}

static int changes_of_cells(struct request *rq)
{
	int code = read_file("-", VALUE_LEN_MAX, &rq->value);
	struct bytes left = buf_bytes(&rq->value), line;
	size_t number = 0;

	while (code == EXIT_DONE && left.len) {
		const uint8_t *end = memchr(left.data, '\n', left.len);

		number++;
		if (!end)
			return fail_usage("line %zu has no newline", number);
		line = bytes_of(left.data, (size_t)(end - left.data));
		left = bytes_of(end + 1, left.len - line.len - 1);
		code = change_of_line(rq, line, number);
	}
	return code;
}

/* Is there a VALUE where one is to be written, and only there? */
static int check_value(const struct request *rq, bool there)
{
	if (there && rq->cells)
		return fail_usage("a VALUE and --cells exclude each other");
	if (!there && rq->put_column)
		return fail_usage("--put %s wants a VALUE", rq->put_column);
	return EXIT_DONE;
}

int parse_cas(struct request *rq)
{
	int next = 0, code = row_and_ts(rq, 6);

	if (code == EXIT_DONE)
		code = parse_check(rq, &next);
	if (code == EXIT_DONE)
		code = check_value(rq, rq->nwords > next);
	for (size_t i = 0; code == EXIT_DONE && i < rq->delete.n; i++)
		code = delete_all(rq, rq->delete.texts[i]);
	if (code == EXIT_DONE && rq->nwords > next) {
		code = read_value(rq, next++);
		if (code == EXIT_DONE)
			code = add_value(rq, CHANGE_PUT,
					 rq->put_column ? rq->put_column
							: rq->words[3]);
	} else if (code == EXIT_DONE && rq->cells) {
		code = changes_of_cells(rq);
	}
	if (code)
		return code;
	if (rq->nwords > next)
		return fail_usage("'%s' is too much", rq->words[next]);
	return rq->nchanges ? EXIT_DONE
			    : fail_usage("nothing to do: give a VALUE, "
					 "--delete COLUMN or --cells");
}
