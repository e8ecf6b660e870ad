/*
 * Commands over whole stores.
 */
#include <stdio.h>

#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"

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

static void say_rescue(void *arg, const struct store_rescue *news)
{
	int *code = arg;

	if (*code == EXIT_DONE)
		*code = print_rescue(news);
}

int cmd_repair(struct request *rq)
{
	int code = EXIT_DONE;
	int lost = store_repair(rq->words[0], rq->words[1], NULL, say_rescue,
				&code);

	if (lost < 0)
		return fail_store(rq->words[0]);
	if (code)
		return code;
	return lost ? EXIT_NONE : EXIT_DONE;
}

/* Opens the table that the second word names, if there is one. */
static int maybe_table(struct request *rq)
{
	int r;

	if (rq->nwords < 2)
		return EXIT_DONE;
	r = table_open(rq->store, bytes_str(rq->words[1]), &rq->table);
	return r < 0 ? fail_table(rq, rq->words[1], r) : EXIT_DONE;
}

static int print_held(const struct table_info *i)
{
	const struct store_stat held[] = {
		{"rows", i->exact ? "rows" : "rows, an estimate", false,
		 i->rows},
		{"cells", i->exact ? "cells" : "cells, an estimate", false,
		 i->cells},
		{"stored_cells", "hidden cells and delete markers included",
		 false, i->entries},
		{"sstables", "table files", false, i->files},
		{"sstables_damaged", "of which something cannot be read", false,
		 i->damaged},
		{"sstable_bytes", "size of the table files", false, i->bytes},
	};
	int code = EXIT_DONE;

	for (size_t k = 0;
	     code == EXIT_DONE && k < sizeof(held) / sizeof(*held); k++)
		code = print_stat(&held[k]);
	return code;
}

int cmd_stats(struct request *rq)
{
	struct table_info held;
	struct store_stat st;
	int code = maybe_table(rq), r;

	if (code == EXIT_DONE && rq->table) {
		r = table_info(rq->table, &held);
		return r < 0 ? fail_table(rq, rq->words[1], r)
			     : print_held(&held);
	}
	for (unsigned i = 0; code == EXIT_DONE; i++) {
		r = store_stat(rq->store, i, &st);
		if (r < 0)
			return fail_store(rq->words[0]);
		if (!r)
			break;
		code = print_stat(&st);
	}
	return code;
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
