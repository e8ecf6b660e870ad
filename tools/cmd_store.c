/*
 * Commands over whole stores.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fs/host/mountpoint.h"
#include "store/os/clock.h"
#include "tools/backup/folder.h"
#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"
#include "tools/progress/progress.h"

int cmd_init(struct request *rq)
{
	return EXIT_DONE;
}

/* At a time; so long the others' requests may wait for a disk. */
#define CHECK_BYTES ((uint64_t)1 << 20)
#define CHECK_RATE 32 /* MiB a second */

struct checking {
	int code, faults;
};

static void say_fault(void *arg, const char *sentence)
{
	struct checking *k = arg;

	k->faults++;
	if (k->code == EXIT_DONE)
		k->code = print_name("fault", sentence);
}

int parse_check(struct request *rq)
{
	if (rq->rate == UINT64_MAX)
		rq->rate = CHECK_RATE;
	return EXIT_DONE;
}

/* Waits until no more than @rate MiB a second have been read since @begun. */
static void hold_back(uint64_t begun, uint64_t bytes, uint64_t rate)
{
	uint64_t due = rate ? bytes / 1024 * 1000 / 1024 / rate : 0;
	uint64_t taken = (uint64_t)monotonic_ms() - begun;
	uint64_t ms = due > taken ? due - taken : 0;
	const struct timespec t = {.tv_sec = (time_t)(ms / 1000),
				   .tv_nsec = (long)(ms % 1000) * 1000000};

	if (ms)
		nanosleep(&t, NULL);
}

static int say_stopped(uint64_t bytes)
{
	progress_say_stopped("%llu bytes of the table files were read\n"
			     "  a check begins anew each time",
			     (unsigned long long)bytes);
	return EXIT_STORE;
}

/* A store that is in use, by way of who has it. */
static int check_mounted(struct request *rq, struct checking *k)
{
	struct store_checking at = {0};
	struct store *store;
	uint64_t begun = (uint64_t)monotonic_ms();
	int r = 1, code = open_store(rq->words[0], false, true, &store);

	if (code)
		return code;
	progress_begin("check", "MiB", 0);
	while (r > 0 && k->code == EXIT_DONE) {
		r = store_check_part(store, &at, CHECK_BYTES, say_fault, k);
		if (!progress_at(at.done, at.total))
			break;
		if (r > 0)
			hold_back(begun, at.done, rq->rate);
	}
	progress_clear();
	if (r < 0)
		code = fail_store(rq->words[0]);
	else if (progress_stopped())
		code = say_stopped(at.done);
	return close_store(store, NULL, code);
}

static int check_at_rest(const char *path, struct checking *k)
{
	int r;

	progress_begin("check", "MiB", progress_files(path));
	r = store_is_directory(path)
		    ? store_check_copy(path, NULL, progress_went, say_fault, k)
		    : store_check(path, NULL, say_fault, k);
	progress_clear();
	if (r == -ECANCELED)
		return say_stopped(progress_done());
	return r < 0 ? fail_store(path) : EXIT_DONE;
}

int cmd_check(struct request *rq)
{
	struct checking k = {.code = EXIT_DONE};
	bool mounted;
	int code = is_mounted(rq->words[0], &mounted);

	if (code == EXIT_DONE && mounted)
		code = check_mounted(rq, &k);
	else if (code == EXIT_DONE && folder_is(rq->words[0]))
		code = check_backups(rq->words[0], say_fault, &k);
	else if (code == EXIT_DONE)
		code = check_at_rest(rq->words[0], &k);
	if (code)
		return code;
	code = k.code;
	if (code == EXIT_DONE)
		code = print_faults(rq->words[0], k.faults);
	if (code)
		return code;
	return k.faults ? EXIT_NONE : EXIT_DONE;
}

static void say_rescue(void *arg, const struct store_rescue *news)
{
	int *code = arg;

	if (*code == EXIT_DONE)
		*code = print_rescue(news);
}

struct rescue {
	const char *store, *dest;
	char *part; /* what becomes @dest once it is whole */
	int code;
};

static int rescue(void *arg)
{
	struct rescue *k = arg;

	return store_repair(k->store, k->part, NULL, say_rescue, &k->code);
}

/* Is there a place for the new store, and none in the old one? */
static int find_place(struct rescue *k)
{
	struct stat st;

	if (lstat(k->dest, &st) == 0)
		return why(-EEXIST,
			   "%s exists: name a directory that does not, for the "
			   "new store",
			   k->dest);
	/* The store's files are its own, and who removes it would lose both. */
	if (mountpoint_is_inside(k->dest, k->store))
		return why(-EINVAL,
			   "%s is in the store: name a directory elsewhere",
			   k->dest);
	if (!*k->dest)
		return why(-EINVAL, "the new store needs a name");
	k->part = folder_part(k->dest);
	if (!k->part)
		return -ENOMEM;
	return lstat(k->part, &st) == 0
		       ? why(-EEXIST,
			     "%s is there: if no repair is running, one was "
			     "cut: remove it",
			     k->part)
		       : 0;
}

/* The new store is whole: it gets its name. */
static int name_it(const struct rescue *k)
{
	int fd = open(k->part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? carry_failed("opening", k->part)
		       : folder_rename(fd, k->part, k->dest);

	if (fd >= 0)
		close(fd);
	return r;
}

static int run_rescue(struct rescue *k)
{
	char *advice;
	int lost, r;

	if (asprintf(&advice,
		     "%s is as it was, and %s is not whole\n"
		     "  remove that, if it is there, and do it again",
		     k->store, k->part) < 0)
		return why(-ENOMEM, "out of memory");
	lost = progress_run("repair", k->part, progress_files(k->store), rescue,
			    k, advice);
	free(advice);
	r = lost < 0 ? lost : name_it(k);
	return r < 0 ? r : lost;
}

int cmd_repair(struct request *rq)
{
	struct rescue k = {
		.store = rq->words[0], .dest = rq->words[1], .code = EXIT_DONE};
	int lost = find_place(&k);

	if (lost == 0)
		lost = run_rescue(&k);
	free(k.part);
	if (lost < 0)
		return fail_store(rq->words[0]);
	if (k.code)
		return k.code;
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
	int code, r;

	if (rq->plot)
		return rq->json || rq->nwords > 1
			       ? fail_usage(
					 "--plot is of a whole store, and no "
					 "JSON")
			       : cmd_plot(rq);
	code = maybe_table(rq);
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

const char *stopped_advice(const struct request *rq, const char *at_rest)
{
	bool mounted = false;

	if (!store_is_directory(rq->words[0]))
		return "HBase goes on with it";
	(void)is_mounted(rq->words[0], &mounted);
	return mounted ? "the mounted store goes on with what it was asked\n"
			 "  its work is in .cellfs/stats there; done again "
			 "this waits for it"
		       : at_rest;
}

static int compact(void *arg)
{
	struct request *rq = arg;

	return store_compact(rq->store, rq->table);
}

char *directory_of(const struct request *rq)
{
	char *dir = NULL;

	if (store_is_directory(rq->words[0]))
		(void)mountpoint_store(rq->words[0], &dir);
	return dir;
}

/* Table files of what was merged that stay as they are. 0 if that is not known. */
static uint64_t count_damaged(struct request *rq)
{
	struct table_info held;
	struct store_stat st;

	if (rq->table)
		return table_info(rq->table, &held) < 0 ? 0 : held.damaged;
	for (unsigned i = 0; store_stat(rq->store, i, &st) > 0; i++)
		if (!strcmp(st.name, "sstables_damaged"))
			return st.value;
	return 0;
}

static int print_unmerged(const struct request *rq, uint64_t n)
{
	fprintf(stderr,
		"cellctl: %s: %llu damaged table file%s not merged, nor others "
		"of the same rows\n"
		"  which, and of which rows: cellctl check %s\n",
		rq->words[0], (unsigned long long)n, n == 1 ? " is" : "s are",
		why_word(rq->words[0]));
	return EXIT_NONE;
}

int cmd_compact(struct request *rq)
{
	struct table_info held = {.bytes = 0};
	int code = maybe_table(rq);
	uint64_t damaged;
	char *dir;

	if (code)
		return code;
	dir = directory_of(rq);
	if (!rq->table)
		held.bytes = progress_files(dir);
	else
		(void)table_info(rq->table, &held);
	if (progress_run("compact", dir, held.bytes, compact, rq,
			 stopped_advice(rq,
					"no cell is lost: what was not merged "
					"is merged when it is done again")) < 0)
		code = fail_store(rq->words[0]);
	free(dir);
	if (code)
		return code;
	damaged = count_damaged(rq);
	return damaged ? print_unmerged(rq, damaged) : EXIT_DONE;
}
