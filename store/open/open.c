/*
 * Which backend stands behind a path: a cluster of HBase behind its name, else
 * the embedded engine.
 */
#include <errno.h>

#include "store/front/backend.h"
#include "store/hold.h"
#include "store/hbase/backend/hbase.h"
#include "store/lsm/admin/engine.h"

static int open_directory(const char *path, const struct store_options *o,
			  struct store **out)
{
	/* The paths of another @os lead to no directories of this one. */
	bool makes = o->create && !o->read_only && !o->os;
	int r = makes ? store_check_new(path) : 0;

	return r < 0 ? r : lsm_open(path, o, out);
}

int store_open(const char *path, const struct store_options *o,
	       struct store **out)
{
	static const struct store_options defaults;
	struct store *s = NULL;
	int r;

	why_clear();
	if (!path || !path[0])
		return why(-EINVAL, "the store has no path: name a directory");
	o = o ? o : &defaults;
	if (hbase_is_named(path))
		r = hbase_open(path, o, &s);
	else
		r = open_directory(path, o, &s);
	if (r < 0) {
		if (!store_why()[0])
			why(r, "opening %s: %s", path, strerror(-r));
		return r;
	}
	why_clear();
	s->no_delete = o->no_delete;
	*out = s;
	return r;
}

bool store_is_directory(const char *path)
{
	return !hbase_is_named(path);
}

int store_check_name(const char *path)
{
	why_clear();
	return hbase_is_named(path) ? hbase_check_name(path) : 0;
}

int store_check(const char *path, struct os *os,
		void (*say)(void *arg, const char *sentence), void *arg)
{
	why_clear();
	if (hbase_is_named(path))
		return why(-EOPNOTSUPP, "HBase checks its files itself: hbase "
					"hbck, hbase hfile");
	return lsm_check(path, os, NULL, NULL, say, arg);
}

int store_check_kept(const char *path, const char *name)
{
	why_clear();
	return lsm_check_kept(path, name);
}

int store_check_copy(const char *path,
		     bool (*wanted)(void *arg, const char *name),
		     bool (*went)(void *arg, uint64_t bytes),
		     void (*say)(void *arg, const char *sentence), void *arg)
{
	why_clear();
	return lsm_check(path, NULL, wanted, went, say, arg);
}

int store_roll_forward(const char *path, const char *log, const char *lacks,
		       int64_t at_ms)
{
	why_clear();
	return lsm_roll_forward(path, log, lacks, at_ms);
}

int store_repair(const char *path, const char *dest, struct os *os,
		 void (*tell)(void *arg, const struct store_rescue *news),
		 void *arg)
{
	int r;

	why_clear();
	if (hbase_is_named(path) || hbase_is_named(dest))
		return why(-EOPNOTSUPP, "HBase repairs its files itself: hbase "
					"hbck2");
	r = os ? 0 : store_check_new(dest);
	return r < 0 ? r : lsm_repair(path, dest, os, tell, arg);
}
