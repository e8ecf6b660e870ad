#include "store/lsm/manifest/directory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/hold.h"
#include "store/lsm/manifest/catalog_format.h"
#include "store/lsm/manifest/manifest_old.h"
#include "store/lsm/table/sst_format.h"
#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_replay.h"
#include "store/value/why.h"

/* Between two looks at a directory that another has. */
#define WAIT_STEP_MS 20

/* "N.sst", N in decimal without leading zeros. */
static bool sst_number(const char *name, uint64_t *number)
{
	char again[SST_NAME_LEN];
	uint64_t n = 0;

	if (sscanf(name, "%20" SCNu64, &n) != 1)
		return false;
	sst_name(n, again);
	if (strcmp(name, again) != 0)
		return false;
	*number = n;
	return true;
}

enum directory_name directory_name(const char *name, uint64_t *number)
{
	static const struct {
		const char *name;
		enum directory_name means;
	} fixed[] = {
		{OS_LOCK_NAME, NAME_LOCK},
		{"lost+found", NAME_LOST_FOUND},
		{CATALOG_NEW_NAME, NAME_CATALOG_NEW},
		{CURRENT_NAME, NAME_CURRENT},
		{CURRENT_TMP_NAME, NAME_CURRENT_TMP},
		{WAL_RING_NAME, NAME_RING},
		{WAL_SPARE_NAME, NAME_SPARE},
		{WAL_RESERVE_NAME, NAME_RESERVE},
		{WAL_MADE_NAME, NAME_MADE},
		{WAL_NEW_NAME, NAME_NEW},
	};
	uint64_t id;
	bool old;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (!strcmp(name, fixed[i].name))
			return fixed[i].means;
	if (catalog_name_parse(name, number, &old))
		return old ? NAME_CATALOG_OLD : NAME_CATALOG;
	if (manifest_old_name_parse(name, number))
		return NAME_MANIFEST;
	if (sst_number(name, number))
		return NAME_SST;
	if (wal_kept_number(name, &id, number))
		return NAME_KEPT;
	return wal_segment_number(name, number) ? NAME_SEGMENT : NAME_FOREIGN;
}

static int look_at(void *arg, const char *name)
{
	struct directory_look *l = arg;
	enum directory_name means;
	uint64_t n = 0;
	bool ours = true;

	means = directory_name(name, &n);
	switch (means) {
	case NAME_CATALOG:
		if (n > l->catalog)
			l->catalog = n;
		break;
	case NAME_CATALOG_OLD:
		if (n > l->catalog_old)
			l->catalog_old = n;
		break;
	case NAME_CURRENT:
		l->current = true;
		break;
	case NAME_MANIFEST:
		/* The first may be all that a crash left of a creation. */
		ours = n > 1;
		break;
	case NAME_SST:
		if (n > l->sst_max)
			l->sst_max = n;
		break;
	case NAME_FOREIGN:
		l->backup |= !strcmp(name, HOLD_BACKUP_NAME);
		snprintf(l->foreign, sizeof(l->foreign), "%.63s", name);
		ours = false;
		break;
	case NAME_LOCK:
	case NAME_LOST_FOUND:
	case NAME_CATALOG_NEW:
	case NAME_CURRENT_TMP:
		ours = false;
		break;
	case NAME_SEGMENT:
	case NAME_KEPT:
	case NAME_RING:
	case NAME_SPARE:
	case NAME_RESERVE:
	case NAME_MADE:
	case NAME_NEW:
		break;
	}
	if (ours)
		snprintf(l->ours, sizeof(l->ours), "%.63s", name);
	return 0;
}

int directory_look(struct os_dir *dir, struct directory_look *out)
{
	*out = (struct directory_look){0};
	return os_dir_list(dir, look_at, out);
}

/*
 * Is it a store, or a place to make one? Of a store that has lost its catalog
 * the manifest speaks.
 */
static int look_around(const struct directory_look *l, const char *path,
		       bool create)
{
	if (l->ours[0])
		return 0;
	if (l->foreign[0])
		return why(-ENOTEMPTY,
			   "%s is not a cellfs store and holds other files "
			   "(%s): name %s",
			   path, l->foreign,
			   create ? "an empty or a new directory"
				  : "the directory of a store");
	if (!create)
		return why(-ENOENT, "there is no cellfs store in %s", path);
	return 0;
}

/* 1 and *out, 0 if another has it (in words), or an error. */
static int open_once(struct os *os, const char *path,
		     const struct store_options *o, struct os_dir **out)
{
	bool create = o->create && !o->read_only;
	struct directory_look l;
	struct os_dir *dir = NULL;
	int pid = 0, r;

	r = os_dir_open(os, path, create, &dir);
	if (r < 0)
		return r;
	r = directory_look(dir, &l);
	/* Before os_dir_own(), which says how to open it nevertheless. */
	if (r == 0 && l.backup && !o->read_only)
		r = why(-EROFS,
			"%s is a backup, which nothing changes: make a store "
			"of one with cellctl restore",
			path);
	if (r == 0 && !o->insecure)
		r = os_dir_own(dir, path);
	if (r == 0)
		r = look_around(&l, path, create);
	if (r == 0) {
		r = os_dir_lock(dir, path, o->read_only, &pid);
		if (r > 0) {
			*out = dir;
			return 1;
		}
		/* As cp -l and its like leave it. */
		if (r == -EMLINK)
			why(r,
			    "%s/LOCK has a second name (a hard link), so "
			    "another directory has the same lock: remove it "
			    "here, it is made anew",
			    path);
	}
	os_dir_close(dir);
	if (r == 0 && pid)
		why(0, "the store %s is in use by process %d", path, pid);
	else if (r == 0)
		why(0, "the store %s is in use by another process", path);
	return r;
}

int directory_open(struct os *os, const char *path,
		   const struct store_options *o, struct os_dir **out)
{
	uint64_t end = os_monotonic_ns(os) + o->wait_ms * 1000000ull;
	int r;

	/* Opened anew each time: another may have been put in its place. */
	while ((r = open_once(os, path, o, out)) == 0) {
		if (os_monotonic_ns(os) >= end)
			return -EBUSY;
		os_sleep_ms(os, WAIT_STEP_MS);
	}
	return r < 0 ? r : 0;
}
