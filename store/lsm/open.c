/*
 * Which backend stands behind a path: today the embedded engine.
 */
#include <errno.h>

#include "store/front/backend.h"
#include "store/lsm/admin/engine.h"

int store_open(const char *path, const struct store_options *o,
	       struct store **out)
{
	static const struct store_options defaults;
	struct store *s = NULL;
	int r;

	why_clear();
	if (!path || !path[0])
		return why(-EINVAL, "the store has no path: name a directory");
	r = lsm_open(path, o ? o : &defaults, &s);
	if (r < 0) {
		if (!store_why()[0])
			why(r, "opening %s: %s", path, strerror(-r));
		return r;
	}
	s->no_delete = o && o->no_delete;
	*out = s;
	return r;
}

int store_check(const char *path, struct os *os,
		void (*say)(void *arg, const char *sentence), void *arg)
{
	why_clear();
	return lsm_check(path, os, say, arg);
}
