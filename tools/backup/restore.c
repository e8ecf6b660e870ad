/* A new store of a backup, and a backup verified. */
#include "tools/backup/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *call, const char *name)
{
	int err = -errno;

	return why(err, "%s %s: %s", call, name, strerror(errno));
}

static int not_its_own(const struct inventory_file *f)
{
	return why(-EUCLEAN, "%s is not what the backup has had", f->is.name);
}

static int restore_files(int from, int to, const struct inventory *r,
			 const struct carry_watch *w, struct backup_done *done)
{
	uint64_t hash = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->nfiles; i++) {
		const struct inventory_file *f = &r->files[i];

		rc = carry_file(from, to, &f->is, w, &hash);
		if (rc == 0 && hash != f->hash)
			rc = not_its_own(f);
		done->files++;
		done->bytes += f->is.bytes;
	}
	done->carried_files = done->files;
	done->carried = done->bytes;
	return rc;
}

static void keep_first(void *arg, const char *sentence)
{
	char *first = arg;

	if (!first[0])
		snprintf(first, WHY_MAX, "%s", sentence);
}

static int check_restored(const char *path)
{
	char first[WHY_MAX] = "";
	int r = store_check_copy(path, NULL, keep_first, first);

	return r > 0 ? why(-EUCLEAN, "what it has is no sound store: %s", first)
		     : r;
}

/* Fills @part with the backup and gives it its name. */
static int fill(int from, int to, const struct inventory *r, const char *part,
		const char *dest, const struct carry_watch *w,
		struct backup_done *done)
{
	int rc = restore_files(from, to, r, w, done);

	if (rc == 0)
		rc = check_restored(part);
	if (rc == 0 && fsync(to) < 0)
		rc = failed("syncing", part);
	if (rc == 0 && rename(part, dest) < 0)
		rc = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
			     ? why(-EEXIST, "%s exists", dest)
			     : failed("renaming", part);
	return rc == 0 ? folder_sync_name(to, dest) : rc;
}

static int make_part(const char *part, int *to)
{
	if (mkdir(part, 0700) < 0)
		return errno == EEXIST
			       ? why(-EEXIST,
				     "%s is there, of a restore that was cut: "
				     "remove it",
				     part)
			       : failed("making", part);
	*to = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *to < 0 ? failed("opening", part) : 0;
}

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	bool empty = d != NULL;
	struct dirent *e;

	while (empty && (e = readdir(d)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return empty;
}

/*
 * May a store be made there? rename(2) replaces an empty directory, which stays if
 * the restore fails.
 */
static int is_free(const char *dest)
{
	struct stat st;

	if (lstat(dest, &st) < 0)
		return errno == ENOENT ? 0 : failed("looking at", dest);
	if (S_ISDIR(st.st_mode) && is_empty(dest))
		return 0;
	return why(-EEXIST, "%s exists: name a new directory", dest);
}

int backup_restore(struct folder *f, uint64_t number, const char *dest,
		   const struct carry_watch *w, struct backup_done *out)
{
	struct backup_done done = {.number = number};
	struct inventory inventory = {0};
	struct why_kept kept;
	char *part = NULL;
	int from = -1, to = -1, r = is_free(dest);
	size_t len = strlen(dest);

	while (len > 1 && dest[len - 1] == '/')
		len--;
	if (r == 0)
		r = folder_inventory(f, number, &inventory);
	if (r == 0)
		r = from = folder_enter(f, number);
	if (r >= 0)
		r = asprintf(&part, "%.*s.part", (int)len, dest) < 0
			    ? why(-ENOMEM, "out of memory")
			    : make_part(part, &to);
	if (r == 0)
		r = fill(from, to, &inventory, part, dest, w, &done);
	if (r == 0)
		*out = done;
	else if (r == -EUCLEAN && part)
		why(r, "backup %" PRIu64 " of %s is damaged: %s", number,
		    f->path, store_why());
	why_keep(&kept);
	if (r < 0 && to >= 0) {
		(void)folder_sweep(to, NULL, NULL);
		(void)rmdir(part);
	}
	why_restore(&kept);
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	free(part);
	inventory_free(&inventory);
	return r;
}

struct checking {
	const struct inventory *inventory;
	int dir, known; /* known: -1, or the backup that was checked before */
	void (*say)(void *arg, const char *sentence);
	void *arg;
	int faults;
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
	return !is_known(arg, name);
}

static int check_files(struct checking *k, const struct carry_watch *w)
{
	uint64_t hash = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < k->inventory->nfiles; i++) {
		const struct inventory_file *f = &k->inventory->files[i];

		if (is_known(k, f->is.name))
			continue;
		r = carry_hash(k->dir, &f->is, w, &hash);
		if (r == 0 && hash != f->hash)
			r = not_its_own(f);
		if (r == -EUCLEAN || r == -EIO) {
			say(k, store_why());
			r = 0;
		}
	}
	return r;
}

int backup_check(struct folder *f, uint64_t number, uint64_t known,
		 void (*tell)(void *arg, const char *sentence), void *arg,
		 const struct carry_watch *w)
{
	struct inventory inventory = {0};
	struct checking k = {.inventory = &inventory,
			     .dir = -1,
			     .known = known ? folder_enter(f, known) : -1,
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
		r = check_files(&k, w);
	if (r == 0 && asprintf(&path, "%s/%" PRIu64, f->path, number) < 0)
		r = why(-ENOMEM, "out of memory");
	/* With the hashes right its blocks are, too; not so without. */
	if (r == 0)
		r = store_check_copy(path, is_new, say, &k);
	if (r >= 0)
		r = k.faults;
out:
	free(path);
	if (k.dir >= 0)
		close(k.dir);
	if (k.known >= 0)
		close(k.known);
	inventory_free(&inventory);
	return r;
}
