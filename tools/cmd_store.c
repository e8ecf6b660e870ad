/*
 * Commands over whole stores.
 */
#include <stdio.h>

#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/print.h"

int cmd_init(struct request *rq)
{
	(void)rq;
	return EXIT_DONE;
}

static void say_fault(void *arg, const char *sentence)
{
	int *code = arg;

	if (*code == EXIT_DONE)
		*code = print_fault(sentence);
}

int cmd_check(struct request *rq)
{
	int code = EXIT_DONE;
	int faults = store_check(rq->words[0], NULL, say_fault, &code);

	if (faults < 0)
		return fail_store(rq->words[0]);
	if (code == EXIT_DONE)
		code = print_faults(rq->words[0], faults);
	if (code)
		return code;
	return faults ? EXIT_NONE : EXIT_DONE;
}

int cmd_stats(struct request *rq)
{
	struct store_stat st;
	int code = EXIT_DONE;

	for (unsigned i = 0;
	     code == EXIT_DONE && store_stat(rq->store, i, &st) > 0; i++)
		code = print_stat(&st);
	return code;
}

/* The table of the second word, if there is one. */
static int maybe_table(struct request *rq)
{
	int r;

	if (rq->nwords < 2)
		return EXIT_DONE;
	r = table_open(rq->store, bytes_str(rq->words[1]), &rq->table);
	return r < 0 ? fail_table(rq, rq->words[1], r) : EXIT_DONE;
}

int cmd_flush(struct request *rq)
{
	int code = maybe_table(rq);

	if (code == EXIT_DONE && store_flush(rq->store, rq->table) < 0)
		code = fail_store(rq->words[0]);
	return code;
}

int cmd_compact(struct request *rq)
{
	int code = maybe_table(rq);

	if (code == EXIT_DONE && store_compact(rq->store, rq->table) < 0)
		code = fail_store(rq->words[0]);
	return code;
}
