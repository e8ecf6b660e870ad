/* A new store of a backup, and a backup verified. */
#include "tools/backup/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/host/host_dir.h"

/* Where the log that it is brought forward by is put, in the new store. */
#define LOG_DIR "log"

struct restoring {
	struct folder *folder;
	const struct inventory *inventory; /* of the backup */
	const struct carry_watch *watch;
	int from, to;	  /* directories: the backup, the new store */
	const char *part; /* the new store, until it has its name */
	int64_t at_ms;
	char lacks
		[WHY_MAX]; /* what of the log cannot be had first; "": all can */
	struct backup_done done;
};

static int not_its_own(const struct inventory_file *f)
{
	return why(-EUCLEAN, "%s is not what the backup has had", f->is.name);
}

/* One that is not what the backup has had is there all the same. */
static int carry_one(struct restoring *k, int from, int to,
		     const struct inventory_file *f)
{
	uint64_t hash = 0;
	int rc = carry_file(from, to, &f->is, SHARE_BLOCKS, k->watch, &hash);

	if (rc == 0 && hash != f->hash)
		rc = not_its_own(f);
	k->done.carried_files = ++k->done.files;
	k->done.carried = k->done.bytes += f->is.bytes;
	return rc;
}

static bool is_harmed(int rc)
{
	return rc == -EUCLEAN || rc == -ENOENT || rc == -EIO;
}

/* Up to what cannot be had of the log moments are in it. */
static void note_lack(struct restoring *k, uint64_t number)
{
	if (!k->lacks[0])
		snprintf(k->lacks, sizeof(k->lacks), "in backup %" PRIu64 " %s",
			 number, store_why());
}

/* Of the last one without the catalog nothing is known of the log. */
static int carry_log_files(struct restoring *k, uint64_t number, int from,
			   int log, const struct inventory *r, bool last)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->nfiles; i++) {
		const struct inventory_file *f = &r->files[i];

		/* Of the last one the catalog is needed, but not the state. */
		if (!(last ? !f->is.sum : hold_is_kept(&f->is)))
			continue;
		rc = carry_one(k, from, log, f);
		if (i > 0 && is_harmed(rc)) {
			note_lack(k, number);
			rc = 0;
		}
	}
	return rc;
}

/* Carries the log of one of the later backups. *last: it goes so far. */
static int carry_log(struct restoring *k, uint64_t number, int log, bool *last)
{
	struct inventory r = {0};
	int from = -1, rc = folder_inventory(k->folder, number, &r);

	if (rc == 0)
		rc = from = folder_enter(k->folder, number);
	*last = rc >= 0 && r.taken_ms >= k->at_ms;
	if (rc >= 0)
		rc = carry_log_files(k, number, from, log, &r, *last);
	if (from >= 0)
		close(from);
	inventory_free(&r);
	/* The backup before it is none the worse. */
	if (is_harmed(rc))
		rc = why(-ENODATA, "in backup %" PRIu64 " %s", number,
			 store_why());
	return rc;
}

static int carry_logs(struct restoring *k, int log)
{
	bool last = false;
	int rc = 0;

	for (size_t i = 0; rc == 0 && !last && i < k->folder->n; i++)
		if (k->folder->numbers[i] > k->done.number)
			rc = carry_log(k, k->folder->numbers[i], log, &last);
	if (rc < 0 || last)
		return rc;
	return why(-ENODATA, "no later backup has the log: take one now, and "
			     "restore again");
}

/* 0, -ENODATA where the log does not have it, or an error. */
static int roll_forward(struct restoring *k)
{
	struct why_kept kept;
	char *path = NULL;
	int log = -1, rc = 0;

	if (mkdirat(k->to, LOG_DIR, 0700) < 0)
		return carry_failed("making", LOG_DIR);
	log = openat(k->to, LOG_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (log < 0)
		rc = carry_failed("opening", LOG_DIR);
	if (rc == 0)
		rc = carry_logs(k, log);
	if (rc == 0 && asprintf(&path, "%s/" LOG_DIR, k->part) < 0)
		rc = why(-ENOMEM, "out of memory");
	if (rc == 0)
		rc = store_roll_forward(
			k->part, path, k->lacks[0] ? k->lacks : NULL, k->at_ms);
	why_keep(&kept);
	if (log >= 0) {
		(void)folder_sweep(log, NULL, NULL);
		close(log);
	}
	(void)unlinkat(k->to, LOG_DIR, AT_REMOVEDIR);
	free(path);
	why_restore(&kept);
	return rc;
}

static int carry_state(struct restoring *k)
{
	const struct inventory *r = k->inventory;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->nfiles; i++)
		if (!hold_is_kept(&r->files[i].is))
			rc = carry_one(k, k->from, k->to, &r->files[i]);
	return rc;
}

static int restore_files(struct restoring *k)
{
	bool later = k->at_ms > k->done.moment_ms;
	int rc = carry_state(k);

	if (rc < 0)
		return rc;
	if (later) {
		rc = roll_forward(k);
		if (rc == 0)
			k->done.moment_ms = k->at_ms;
		if (rc != -ENODATA)
			return rc;
		snprintf(k->done.log_why, sizeof(k->done.log_why), "%s",
			 store_why());
	}
	rc = store_roll_forward(k->part, NULL, NULL, 0);
	k->done.log_faults = later && rc > 0;
	return rc < 0 ? rc : 0;
}

static int check_restored(const struct restoring *k)
{
	struct carry_finding found = {.watch = k->watch};
	int r = store_check_copy(k->part, NULL, carry_check_went,
				 carry_keep_first, &found);

	return r > 0 ? why(-EUCLEAN, "what it has is no sound store: %s",
			   found.first)
		     : r;
}

/* Fills the part with the backup and gives it its name. */
static int fill(struct restoring *k, const char *dest)
{
	int rc = restore_files(k);

	if (rc == 0)
		rc = check_restored(k);
	if (rc == 0 && fsync(k->to) < 0)
		rc = carry_failed("syncing", k->part);
	return rc == 0 ? folder_rename(k->to, k->part, dest) : rc;
}

static int make_part(const char *part, int *to)
{
	if (mkdir(part, 0700) < 0)
		return errno == EEXIST
			       ? why(-EEXIST,
				     "%s is there, of a restore that was cut: "
				     "remove it",
				     part)
			       : carry_failed("making", part);
	*to = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *to < 0 ? carry_failed("opening", part) : 0;
}

/*
 * May a store be made there? rename(2) replaces an empty directory, which stays if
 * the restore fails.
 */
static int is_free(const char *dest)
{
	struct stat st;

	if (lstat(dest, &st) < 0)
		return errno == ENOENT ? 0 : carry_failed("looking at", dest);
	if (host_dir_is_empty(AT_FDCWD, dest) == 1)
		return 0;
	return why(-EEXIST, "%s exists: name a new directory", dest);
}

int backup_restore(struct folder *f, uint64_t number, int64_t at_ms,
		   const char *dest, const struct carry_watch *w,
		   struct backup_done *out)
{
	struct inventory inventory = {0};
	struct restoring k = {.folder = f,
			      .inventory = &inventory,
			      .watch = w,
			      .from = -1,
			      .to = -1,
			      .at_ms = at_ms,
			      .done = {.number = number}};
	struct why_kept kept;
	char *part = NULL;
	int r = is_free(dest);

	if (r == 0)
		r = folder_inventory(f, number, &inventory);
	k.done.moment_ms = inventory.taken_ms;
	if (r == 0)
		r = k.from = folder_enter(f, number);
	if (r >= 0)
		r = (part = folder_part(dest)) ? make_part(part, &k.to)
					       : -ENOMEM;
	k.part = part;
	if (r == 0)
		r = fill(&k, dest);
	if (r == 0)
		*out = k.done;
	else if (r == -EUCLEAN && part)
		why(r, "backup %" PRIu64 " of %s is damaged: %s", number,
		    f->path, store_why());
	why_keep(&kept);
	if (r < 0 && k.to >= 0) {
		(void)folder_sweep(k.to, NULL, NULL);
		(void)rmdir(part);
	}
	why_restore(&kept);
	if (k.to >= 0)
		close(k.to);
	if (k.from >= 0)
		close(k.from);
	free(part);
	inventory_free(&inventory);
	return r;
}

struct checking {
	const struct inventory *inventory;
	const struct carry_watch *watch;
	int dir, known; /* known: -1, or the backup that was checked before */
	void (*say)(void *arg, const char *sentence);
	void *arg;
	int faults;
	unsigned kinds; /* of the faults */
	bool in_kept;	/* what is looked at is of the kept log */
	uint64_t number;
};

static void say(void *arg, const char *sentence)
{
	struct checking *k = arg;
	char text[WHY_MAX + 64];

	snprintf(text, sizeof(text), "backup %" PRIu64 ": %s", k->number,
		 sentence);
	k->say(k->arg, text);
	k->faults++;
	k->kinds |= k->in_kept ? FAULT_KEPT : 0;
}

static unsigned kind_of(const struct hold_file *f)
{
	return f->sum ? FAULT_TABLE : hold_is_kept(f) ? FAULT_KEPT : FAULT_OWN;
}

/* Is it a link to the file that was checked with the other backup? */
static bool is_known(const struct checking *k, const char *name)
{
	struct stat a, b;

	return k->known >= 0 &&
	       fstatat(k->known, name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(k->dir, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool is_new(void *arg, const char *name)
{
	struct checking *k = arg;

	k->in_kept = !strncmp(name, HOLD_KEPT, strlen(HOLD_KEPT));
	return !is_known(k, name);
}

static bool check_went(void *arg, uint64_t bytes)
{
	const struct checking *k = arg;

	return carry_went(k->watch, bytes);
}

static int check_files(struct checking *k)
{
	uint64_t hash = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < k->inventory->nfiles; i++) {
		const struct inventory_file *f = &k->inventory->files[i];

		if (is_known(k, f->is.name))
			continue;
		r = carry_hash(k->dir, &f->is, k->watch, &hash);
		if (r == 0 && hash != f->hash)
			r = not_its_own(f);
		if (r == -EUCLEAN || r == -EIO) {
			say(k, store_why());
			k->kinds |= kind_of(&f->is);
			r = 0;
		}
	}
	return r;
}

int backup_check(struct folder *f, uint64_t number, uint64_t *known,
		 unsigned *kinds, void (*tell)(void *arg, const char *sentence),
		 void *arg, const struct carry_watch *w)
{
	struct inventory inventory = {0};
	struct checking k = {.inventory = &inventory,
			     .watch = w,
			     .dir = -1,
			     .known = *known ? folder_enter(f, *known) : -1,
			     .say = tell,
			     .arg = arg,
			     .number = number};
	char *path = NULL;
	int r = folder_inventory(f, number, &inventory);

	if (r == -EUCLEAN || r == -ENOENT) {
		tell(arg, store_why());
		r = 1;
		goto out;
	}
	if (r == 0)
		r = k.dir = folder_enter(f, number);
	if (r >= 0)
		r = check_files(&k);
	if (r == 0)
		*known = number;
	if (r == 0 && asprintf(&path, "%s/%" PRIu64, f->path, number) < 0)
		r = why(-ENOMEM, "out of memory");
	/* With the hashes right its blocks are, too; not so without. */
	if (r == 0)
		r = store_check_copy(path, is_new, check_went, say, &k);
	if (r >= 0)
		r = k.faults;
	*kinds |= k.kinds;
out:
	free(path);
	if (k.dir >= 0)
		close(k.dir);
	if (k.known >= 0)
		close(k.known);
	inventory_free(&inventory);
	return r;
}
