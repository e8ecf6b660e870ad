#include "tools/backup/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/host/host_dir.h"
#include "store/value/array.h"

#define NAME_LEN 48

static int failed(const struct folder *f, const char *call, const char *name)
{
	int err = -errno;

	return why(err, "%s %s/%s: %s", call, f->path, name, strerror(errno));
}

static void name_of(uint64_t number, const char *end, char out[NAME_LEN])
{
	snprintf(out, NAME_LEN, "%" PRIu64 "%s", number, end);
}

/* Is it that of a backup, or with @end behind? */
static bool is_number(const char *name, const char *end, uint64_t *number)
{
	char again[NAME_LEN];

	if (sscanf(name, "%19" SCNu64, number) != 1 || !*number)
		return false;
	name_of(*number, end, again);
	return !strcmp(name, again);
}

int folder_sweep(int dir, bool (*keep)(void *arg, const char *name), void *arg)
{
	DIR *d = host_dir_open(dir, ".");
	struct dirent *e;
	int r = 0;

	if (!d) {
		r = -errno;
		return why(r, "listing the files: %s", strerror(-r));
	}
	while (r == 0 && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (keep && keep(arg, e->d_name)))
			continue;
		if (unlinkat(dir, e->d_name, 0) < 0) {
			r = -errno;
			why(r, "removing %s: %s", e->d_name, strerror(-r));
		}
	}
	closedir(d);
	return r;
}

/* Removes a directory of files. */
static int remove_all(const struct folder *f, const char *name)
{
	int fd = openat(f->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? failed(f, "opening", name)
		       : folder_sweep(fd, NULL, NULL);

	if (fd >= 0)
		close(fd);
	if (r == 0 && unlinkat(f->fd, name, AT_REMOVEDIR) < 0)
		r = failed(f, "removing", name);
	return r;
}

static int add_number(struct folder *f, uint64_t number)
{
	if (ARRAY_ONE_MORE(f->numbers, f->n) < 0)
		return why(-ENOMEM, "out of memory");
	f->numbers[f->n++] = number;
	return 0;
}

/* Finds the backups, and in @foreign something that is none. */
static int look(struct folder *f, bool write, char foreign[NAME_LEN])
{
	DIR *d = host_dir_open(f->fd, ".");
	struct dirent *e;
	uint64_t n;
	int r = 0;

	if (!d)
		return failed(f, "listing", "");
	while (r == 0 && (e = readdir(d))) {
		if (is_number(e->d_name, "", &n))
			r = add_number(f, n);
		else if (is_number(e->d_name, ".gone", &n))
			r = write ? remove_all(f, e->d_name) : 0;
		else if (strcmp(e->d_name, FOLDER_INCOMPLETE) != 0 &&
			 strcmp(e->d_name, "lost+found") != 0 &&
			 e->d_name[0] != '.')
			snprintf(foreign, NAME_LEN, "%.47s", e->d_name);
	}
	closedir(d);
	if (f->n)
		qsort(f->numbers, f->n, sizeof(*f->numbers), array_by_u64);
	return r;
}

static int lock(const struct folder *f, enum folder_use use)
{
	if (use == FOLDER_LOOK ||
	    flock(f->fd, (use >= FOLDER_WRITE ? LOCK_EX : LOCK_SH) | LOCK_NB) ==
		    0)
		return 0;
	if (errno != EWOULDBLOCK)
		return failed(f, "locking", "");
	return why(-EBUSY,
		   "%s: another process uses the backups there: wait for it to "
		   "end",
		   f->path);
}

int folder_sync_name(int fd, const char *path)
{
	int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = parent < 0 || fsync(parent) < 0 ? -errno : 0;

	if (parent >= 0)
		close(parent);
	return r < 0 ? why(r, "syncing the directory that %s is in: %s", path,
			   strerror(-r))
		     : 0;
}

char *folder_part(const char *dest)
{
	size_t len = strlen(dest);
	char *part = NULL;

	while (len > 1 && dest[len - 1] == '/')
		len--;
	if (asprintf(&part, "%.*s.part", (int)len, dest) < 0) {
		why(-ENOMEM, "out of memory");
		return NULL;
	}
	return part;
}

int folder_rename(int fd, const char *part, const char *dest)
{
	int r = rename(part, dest) < 0 ? -errno : 0;

	if (r == -ENOTEMPTY || r == -EEXIST || r == -ENOTDIR)
		return why(-EEXIST, "%s exists", dest);
	return r < 0 ? why(r, "renaming %s, which is whole, to %s: %s", part,
			   dest, strerror(-r))
		     : folder_sync_name(fd, dest);
}

static int open_it(struct folder *f, enum folder_use use)
{
	char foreign[NAME_LEN] = "";
	bool made = use == FOLDER_MAKE && mkdir(f->path, 0700) == 0;
	int r;

	if (use == FOLDER_MAKE && !made && errno != EEXIST)
		return failed(f, "making", "");
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd < 0)
		return failed(f, "opening", "");
	r = made ? folder_sync_name(f->fd, f->path) : 0;
	if (r == 0)
		r = lock(f, use);
	if (r == 0)
		r = look(f, use >= FOLDER_WRITE, foreign);
	if (r < 0)
		return r;
	if (foreign[0])
		return why(-ENOTEMPTY,
			   "%s holds %s, which is no backup: name a directory "
			   "that is for backups alone",
			   f->path, foreign);
	return f->n || use == FOLDER_MAKE
		       ? 0
		       : why(-ENOENT, "there is no backup in %s", f->path);
}

int folder_open(const char *path, enum folder_use use, struct folder *out)
{
	struct folder f = {.fd = -1, .path = strdup(path)};
	int r = f.path ? open_it(&f, use) : why(-ENOMEM, "out of memory");

	if (r < 0)
		folder_close(&f);
	else
		*out = f;
	return r;
}

void folder_close(struct folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->numbers);
	free(f->path);
	*f = (struct folder){.fd = -1};
}

bool folder_is(const char *path)
{
	DIR *d = opendir(path);
	char inventory[NAME_LEN + sizeof(INVENTORY_NAME) + 1];
	struct dirent *e;
	bool is = false;
	uint64_t n;

	while (d && !is && (e = readdir(d)))
		if (!strcmp(e->d_name, FOLDER_INCOMPLETE)) {
			is = true;
		} else if (is_number(e->d_name, "", &n)) {
			name_of(n, "/" INVENTORY_NAME, inventory);
			is = faccessat(dirfd(d), inventory, F_OK, 0) == 0;
		}
	if (d)
		closedir(d);
	return is;
}

int folder_enter(const struct folder *f, uint64_t number)
{
	char name[NAME_LEN];
	int fd;

	name_of(number, "", name);
	fd = openat(f->fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return why(-ENOENT, "there is no backup %s in %s", name,
			   f->path);
	return fd < 0 ? failed(f, "opening", name) : fd;
}

int folder_inventory(const struct folder *f, uint64_t number,
		     struct inventory *out)
{
	int fd = folder_enter(f, number), r = fd;

	if (fd < 0)
		return r;
	r = inventory_read(fd, out);
	close(fd);
	return r < 0 ? why(r,
			   "backup %" PRIu64 " of %s: %s: restore another, and "
			   "remove %s/%" PRIu64,
			   number, f->path, store_why(), f->path, number)
		     : 0;
}

int folder_begin(struct folder *f)
{
	int fd, inventory;

	if (mkdirat(f->fd, FOLDER_INCOMPLETE, 0700) < 0 && errno != EEXIST)
		return failed(f, "making", FOLDER_INCOMPLETE);
	fd = openat(f->fd, FOLDER_INCOMPLETE,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(f, "opening", FOLDER_INCOMPLETE);
	inventory = openat(
		fd, INVENTORY_NAME,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (inventory >= 0) {
		close(inventory);
		return fd;
	}
	inventory = failed(f, "making", FOLDER_INCOMPLETE "/" INVENTORY_NAME);
	close(fd);
	return inventory;
}

int folder_commit(struct folder *f, int fd, uint64_t *number)
{
	uint64_t n = f->n ? f->numbers[f->n - 1] + 1 : 1;
	char name[NAME_LEN];

	name_of(n, "", name);
	if (fsync(fd) < 0)
		return failed(f, "syncing", FOLDER_INCOMPLETE);
	if (renameat(f->fd, FOLDER_INCOMPLETE, f->fd, name) < 0)
		return failed(f, "renaming", FOLDER_INCOMPLETE);
	if (fsync(f->fd) < 0)
		return failed(f, "syncing", "");
	*number = n;
	return add_number(f, n);
}

int folder_keep(struct folder *f, uint64_t n)
{
	char name[NAME_LEN], gone[NAME_LEN];
	int dropped = 0, r = 0;

	while (r == 0 && f->n > n) {
		name_of(f->numbers[0], "", name);
		name_of(f->numbers[0], ".gone", gone);
		if (renameat(f->fd, name, f->fd, gone) < 0)
			return failed(f, "renaming", name);
		memmove(f->numbers, f->numbers + 1,
			--f->n * sizeof(*f->numbers));
		/* The name is gone for good before its files are. */
		r = fsync(f->fd) < 0 ? failed(f, "syncing", "")
				     : remove_all(f, gone);
		dropped++;
	}
	return r < 0 ? r : dropped;
}
