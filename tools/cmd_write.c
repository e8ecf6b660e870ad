/*
 * Commands that write cells of one row.
 */
#include <errno.h>
#include <stdio.h>

#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"

/* In a table of open schema, a write adds the family. */
static int declare(struct request *rq, struct bytes family)
{
	int r = table_add_family(rq->table, family);

	if (r == 0 || r == -EEXIST)
		return EXIT_DONE;
	if (r != -EPERM || store_is_read_only(rq->store) ||
	    need_family(rq, family) == EXIT_DONE)
		return fail_store(rq->words[1]);
	fprintf(stderr, "  to add it: cellctl alter %s %s %.*s\n",
		why_word(rq->words[0]), rq->words[1], (int)family.len,
		(const char *)family.data);
	return EXIT_STORE;
}

/* Applies the request's changes: 0, or EXIT_NONE if its check does not hold. */
int cmd_mutate(struct request *rq)
{
	struct mutation m = {
		.row = buf_bytes(&rq->row),
		.changes = rq->changes,
		.nchanges = rq->nchanges,
		.checks = &rq->check,
		.nchecks = rq->checked,
	};
	int r, code = EXIT_DONE;

	for (size_t i = 0; code == EXIT_DONE && i < rq->nchanges; i++)
		if (op_writes(rq->changes[i].op))
			code = declare(rq, rq->changes[i].family);
		else if (rq->changes[i].op != CHANGE_DELETE_ROW)
			code = need_family(rq, rq->changes[i].family);
	if (code)
		return code;
	r = table_mutate(rq->table, &m, MUTATE_SYNC);
	if (r < 0)
		return fail_store(rq->words[1]);
	return r ? EXIT_DONE : EXIT_NONE;
}

/* The cell that the only change wrote, without its value. */
static struct cell written(const struct request *rq)
{
	return (struct cell){.row = buf_bytes(&rq->row),
			     .family = rq->changes[0].family,
			     .qualifier = rq->changes[0].qualifier,
			     .ts = rq->changes[0].ts_given,
			     .kind = CELL_PUT};
}

int cmd_incr(struct request *rq)
{
	struct cell c;
	int code = cmd_mutate(rq);

	if (code)
		return code;
	c = written(rq);
	return print_counter(&c, rq->changes[0].result_int);
}

int cmd_append(struct request *rq)
{
	struct buf value = {0};
	struct cell c, is;
	int r, code = cmd_mutate(rq);

	if (code)
		return code;
	c = written(rq);
	r = table_get_version(rq->table, c.row, c.family, c.qualifier, c.ts,
			      NULL, &is, &value);
	if (r < 0)
		code = fail_store(rq->words[1]);
	else if (r > 0)
		code = print_cell(&is);
	buf_free(&value);
	return code;
}

int cmd_cas(struct request *rq)
{
	int code = cmd_mutate(rq);

	if (code == EXIT_DONE || code == EXIT_NONE) {
		int printed = print_truth("applied", code == EXIT_DONE);

		return printed ? printed : code;
	}
	return code;
}
