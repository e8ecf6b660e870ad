/*
 * Backups: made, listed, dropped, restored.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/host/mountpoint.h"
#include "tools/backup/backup.h"
#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"
#include "tools/progress/progress.h"

static const struct carry_watch watch = {progress_went, progress_spared, NULL};

int parse_backup(struct request *rq)
{
	if (rq->list &&
	    (rq->keep || rq->keeps_log || rq->copies || rq->nwords != 1))
		return fail_usage("--list takes DIR alone");
	if (rq->nwords == 1 && !rq->list && !rq->keep)
		return fail_usage(NULL);
	if (rq->nwords == 1 && (rq->keeps_log || rq->copies))
		return fail_usage("--%s is of a STORE",
				  rq->copies ? "copy" : "keep-log");
	return EXIT_DONE;
}

/* Of all files, or of those of the kept log. */
static uint64_t bytes_of_files(const struct inventory *r, bool log)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->nfiles; i++)
		if (!log || hold_is_kept(&r->files[i].is))
			bytes += r->files[i].is.bytes;
	return bytes;
}

static int print_one(const struct folder *f, uint64_t number)
{
	struct inventory r;
	int code;

	if (folder_inventory(f, number, &r) < 0)
		return fail_store(f->path);
	code = print_backup(number, r.taken_ms, r.nfiles,
			    bytes_of_files(&r, false),
			    bytes_of_files(&r, true));
	inventory_free(&r);
	return code;
}

static int list(const char *dir)
{
	int code = EXIT_DONE, one;
	struct folder f;

	if (folder_open(dir, FOLDER_LOOK, &f) < 0)
		return fail_store(dir);
	/* One that is damaged hides no other. */
	for (size_t i = 0; i < f.n; i++) {
		one = print_one(&f, f.numbers[i]);
		code = code ? code : one;
	}
	folder_close(&f);
	return code;
}

/* A backup in its own store would carry itself, and one in a mount be cells. */
static int check_apart(const char *given, const char *dir)
{
	char *store = NULL;
	bool inside;
	int r;

	if (mountpoint_store(given, &store) < 0)
		return -ENOMEM;
	inside = mountpoint_is_inside(dir, store);
	free(store);
	if (inside)
		return why(-EINVAL,
			   "%s is in the store: name a directory elsewhere",
			   dir);
	r = mountpoint_check_outside("directory", dir);
	return r < 0 ? r : store_check_place(dir);
}

/* What will be read and written of all that is held, at most. */
static uint64_t most(const struct hold *h)
{
	uint64_t bytes = 0;

	for (size_t i = 1; i < h->nfiles; i++)
		bytes += carry_most(&h->files[i]);
	return bytes;
}

/* The same of a restore, without the log that brings it forward. */
static uint64_t most_of_state(const struct inventory *r)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->nfiles; i++)
		if (!hold_is_kept(&r->files[i].is))
			bytes += carry_most(&r->files[i].is);
	return bytes;
}

static int say_stopped(const struct folder *f, bool keeps_log)
{
	progress_say_stopped("no backup was made, and those before are as they "
			     "were%s\n  the next one goes on with what "
			     "%s/" FOLDER_INCOMPLETE " has",
			     keeps_log ? "; the store keeps its log from now on"
				       : "",
			     f->path);
	return EXIT_STORE;
}

/* The backup is as good as without that log. */
static int say_log_faults(const struct backup_done *done)
{
	fprintf(stderr,
		"cellctl: backup %llu is made, but of the kept log %llu %s "
		"damaged: %s\n",
		(unsigned long long)done->number,
		(unsigned long long)done->log_faults,
		done->log_faults == 1 ? "file is" : "files are, the first one",
		done->log_why);
	return EXIT_NONE;
}

static int make(struct request *rq, struct folder *f)
{
	const char *dir = rq->words[1];
	struct hold *h = NULL;
	struct backup_done done;
	char *store = NULL;
	int code, r = mountpoint_store(rq->words[0], &store);

	if (r == 0 && rq->keeps_log && rq->keep_log)
		r = store_keep_log(rq->store, rq->keep_log << 20);
	if (r == 0)
		r = store_hold(rq->store, &h);
	if (r < 0 || !h) {
		free(store);
		return fail_store(rq->words[0]);
	}
	progress_begin("backup", "MiB", most(h));
	r = backup_make(f, store, h, rq->copies ? SHARE_NOTHING : SHARE_FILE,
			&watch, &done);
	progress_clear();
	hold_release(h);
	free(store);
	/* The backup has taken what there was. */
	if (r == 0 && rq->keeps_log && !rq->keep_log)
		r = store_keep_log(rq->store, 0);
	if (r == -ECANCELED)
		return say_stopped(f, rq->keep_log);
	if (r == -ENOSPC || r == -EDQUOT)
		why(r,
		    "%s: make room, and the next backup goes on with what "
		    "%s/" FOLDER_INCOMPLETE " has",
		    store_why(), f->path);
	if (r < 0)
		return fail_store(dir);
	code = print_backup_made(done.number, done.files, done.bytes,
				 done.carried_files, done.carried,
				 done.moment_ms);
	return code || !done.log_faults ? code : say_log_faults(&done);
}

int cmd_backup(struct request *rq)
{
	const char *dir = rq->words[rq->nwords - 1];
	int code = EXIT_DONE;
	struct folder f;
	bool absent;

	if (rq->list)
		return list(dir);
	if (rq->nwords > 1)
		code = open_store(rq->words[0], false, !rq->keeps_log,
				  &rq->store);
	if (code)
		return code;
	if (rq->nwords > 1 && check_apart(rq->words[0], dir) < 0)
		return fail_store(dir);
	absent = access(dir, F_OK) < 0;
	/* A folder that is not there has nothing to be dropped. */
	if (folder_open(dir, rq->nwords > 1 ? FOLDER_MAKE : FOLDER_WRITE, &f) <
	    0)
		return fail_store(dir);
	if (rq->nwords > 1)
		code = make(rq, &f);
	/* What was made for nothing goes; it stays if there is anything. */
	if (code && absent)
		(void)rmdir(dir);
	if (code <= EXIT_NONE && rq->keep && folder_keep(&f, rq->keep) < 0)
		code = fail_store(dir);
	folder_close(&f);
	return code;
}

static int fail_too_old(const struct folder *f, int64_t at, int64_t first)
{
	int64_t meant = ts_of_seconds(at);

	fprintf(stderr,
		"cellctl: %s: no backup is so old: the first one was taken at "
		"%lld\n  which there are: cellctl backup --list %s\n",
		f->path, (long long)first, why_word(f->path));
	if (meant)
		fprintf(stderr,
			"  a time is in milliseconds, and %lld looks like "
			"seconds: --at %lld\n",
			(long long)at, (long long)meant);
	return EXIT_STORE;
}

/* The newest one that was not taken after --at, or that of --backup. */
static int choose(const struct request *rq, const struct folder *f,
		  uint64_t *number)
{
	struct inventory r = {.taken_ms = 0};
	int64_t first = 0;

	*number = rq->backup;
	for (size_t i = f->n; i-- > 0 && !*number;) {
		if (folder_inventory(f, f->numbers[i], &r) < 0)
			return fail_store(f->path);
		first = r.taken_ms;
		inventory_free(&r);
		if (!rq->has_ts || first <= rq->ts)
			*number = f->numbers[i];
	}
	return *number ? EXIT_DONE : fail_too_old(f, rq->ts, first);
}

int parse_restore(struct request *rq)
{
	return rq->backup && rq->has_ts
		       ? fail_usage("--backup and --at exclude each other")
		       : EXIT_DONE;
}

static int restore(struct folder *f, uint64_t number, int64_t at_ms,
		   const char *dest)
{
	struct backup_done done;
	struct inventory all;
	int code, r = folder_inventory(f, number, &all);

	if (r < 0)
		return fail_store(f->path);
	progress_begin("restore", "MiB", most_of_state(&all));
	inventory_free(&all);
	r = backup_restore(f, number, at_ms, dest, &watch, &done);
	progress_clear();
	if (r == -ECANCELED)
		progress_say_stopped("%s was not made: do it again", dest);
	if (r < 0)
		return r == -ECANCELED ? EXIT_STORE : fail_store(dest);
	if (done.log_why[0])
		fprintf(stderr,
			"cellctl: this is backup %llu, taken at %lld, and not "
			"a later moment: %s\n",
			(unsigned long long)number, (long long)done.moment_ms,
			done.log_why);
	code = print_backup_made(done.number, done.files, done.bytes,
				 done.carried_files, done.carried,
				 done.moment_ms);
	return code || !done.log_faults ? code : EXIT_NONE;
}

int cmd_restore(struct request *rq)
{
	const char *dir = rq->words[0];
	uint64_t number;
	struct folder f;
	int code;

	if (!store_is_directory(rq->words[1])) {
		fprintf(stderr,
			"cellctl: %s: a backup is restored to a directory\n"
			"  its tables go there by cellctl export and import\n",
			rq->words[1]);
		return EXIT_STORE;
	}
	if (mountpoint_check_outside("store", rq->words[1]) < 0)
		return fail_store(rq->words[1]);
	/* No more backups would be taken there, and one may be dropped. */
	if (mountpoint_is_inside(rq->words[1], dir)) {
		why(-EINVAL,
		    "%s is among the backups: name a directory elsewhere",
		    rq->words[1]);
		return fail_store(rq->words[1]);
	}
	if (store_check_place(rq->words[1]) < 0)
		return fail_store(rq->words[1]);
	if (folder_open(dir, FOLDER_READ, &f) < 0)
		return fail_store(dir);
	code = choose(rq, &f, &number);
	if (code == EXIT_DONE)
		code = restore(&f, number, rq->has_ts ? rq->ts : 0,
			       rq->words[1]);
	folder_close(&f);
	return code;
}

/* What becomes of files that are damaged. */
static void say_remedies(const char *dir, unsigned kinds)
{
	if (kinds & FAULT_TABLE)
		fprintf(stderr,
			"cellctl: a table file that is removed from the newest "
			"backup of %s is carried again by the\n  next one, or "
			"is needed no more; to drop all before that: cellctl "
			"backup --keep 1 %s\n",
			dir, dir);
	if (kinds & FAULT_KEPT)
		fprintf(stderr,
			"cellctl: a file of the kept log is not carried again: "
			"where the store still has it whole, copy it from\n"
			"  there into its backup; else moments between this "
			"and the backup before are lost, and nothing else\n");
	if (kinds & FAULT_OWN)
		fprintf(stderr,
			"cellctl: a catalog or a wal-N.log is its backup's "
			"alone: restore another backup of %s; the next one\n"
			"  has its own\n",
			dir);
}

/* What a check of all will read: a file of two backups once. */
static uint64_t all_that_is_checked(const struct folder *f)
{
	struct inventory before = {.nfiles = 0}, r;
	uint64_t bytes = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (folder_inventory(f, f->numbers[i], &r) < 0)
			continue;
		for (size_t k = 0; k < r.nfiles; k++) {
			const struct hold_file *is = &r.files[k].is;
			const struct inventory_file *b =
				inventory_find(&before, is->name);

			if (!b || !is->sum || b->is.sum != is->sum)
				bytes += is->bytes * (is->sum ? 2 : 1);
		}
		inventory_free(&before);
		before = r;
	}
	inventory_free(&before);
	return bytes;
}

int check_backups(const char *dir, void (*say)(void *arg, const char *sentence),
		  void *arg)
{
	struct folder f;
	uint64_t known = 0;
	unsigned kinds = 0;
	size_t i, n;
	int r = 0;

	if (folder_open(dir, FOLDER_READ, &f) < 0)
		return fail_store(dir);
	progress_begin("check", "MiB", all_that_is_checked(&f));
	for (i = 0; r >= 0 && i < f.n; i++)
		r = backup_check(&f, f.numbers[i], &known, &kinds, say, arg,
				 &watch);
	progress_clear();
	n = f.n;
	folder_close(&f);
	if (r == -ECANCELED) {
		progress_say_stopped("%zu of %zu backups were looked at\n"
				     "  a check begins anew each time",
				     i ? i - 1 : 0, n);
		return EXIT_STORE;
	}
	say_remedies(dir, kinds);
	return r < 0 ? fail_store(dir) : EXIT_DONE;
}
