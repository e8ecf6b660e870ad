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

/* Without a look at all names of a directory that is none. */
static bool is_store(const char *dir)
{
	return (has(dir, OS_LOCK_NAME) || has(dir, HOLD_BACKUP_NAME)) &&
	       lsm_is_at(dir);
}

/* The nearest directory above @path in which a store is: found in @at. */
static bool find_around(const char *path, char at[PATH_MAX])
{
	char given[PATH_MAX];
	bool there = true;

	if (snprintf(given, sizeof(given), "%s", path) >= (int)sizeof(given))
		return false;
	while (!realpath(given, at)) {
		there = false;
		if (!cut(given))
			return false;
	}
	if (there && !cut(at))
		return false;
	do
		if (is_store(at))
			return true;
	while (cut(at));
	return false;
}

int store_check_place(const char *path)
{
	char at[PATH_MAX];

	why_clear();
	if (!find_around(path, at) || lsm_is_at(path))
		return 0;
	return why(-EINVAL, "%s is in the store %s: name a directory elsewhere",
		   path, at);
}
