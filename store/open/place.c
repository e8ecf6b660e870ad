/*
 * Where a store may be made: not among the files of another, since who removes
 * that one would lose both.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/hold.h"
#include "store/lsm/admin/engine.h"
#include "store/os/os.h"

/* Shortens @path, which is not empty, to the directory above; false = none is. */
static bool cut(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len == 1 && (path[0] == '/' || path[0] == '.'))
		return false;
	while (len > 0 && path[len - 1] != '/')
		len--;
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len == 0)
		path[len++] = '.';
	path[len] = '\0';
	return true;
}

static bool has(const char *dir, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return n < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* Without a look at all names of a directory that is none, such as /tmp. */
static bool is_store(const char *dir)
{
	return (has(dir, OS_LOCK_NAME) || has(dir, HOLD_BACKUP_NAME)) &&
	       lsm_is_at(dir);
}

/*
 * The nearest of @path and the directories above it in which a store is, in @at:
 * 0 = there is none, 1 = @path itself, 2 = one above it.
 */
static int find_around(const char *path, char at[PATH_MAX])
{
	char given[PATH_MAX];
	int found = 1;

	if (snprintf(given, sizeof(given), "%s", path) >= (int)sizeof(given))
		return 0;
	for (; !realpath(given, at); found = 2)
		if (!cut(given))
			return 0;
	for (; !is_store(at); found = 2)
		if (!cut(at))
			return 0;
	return found;
}

int store_check_place(const char *path)
{
	char at[PATH_MAX];

	why_clear();
	switch (find_around(path, at)) {
	case 0:
		return 0;
	case 1:
		return why(-EINVAL,
			   "%s is a store or a backup: name a directory "
			   "elsewhere",
			   path);
	default:
		return why(-EINVAL,
			   "%s is in %s, which is a store or a backup: name a "
			   "directory elsewhere",
			   path, at);
	}
}

int store_check_new(const char *path)
{
	why_clear();
	return lsm_would_be_new(path) ? store_check_place(path) : 0;
}
