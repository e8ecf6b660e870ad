#include "store/front/guard.h"

#include <errno.h>

#include "store/front/front.h"

int store_may_delete(const struct store *s)
{
	return s->no_delete ? why(-EPERM, "nothing is deleted here: the store "
					  "is open with nodelete")
			    : 0;
}

bool guard_deletes(const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++)
		if (!op_writes(m->changes[i].op))
			return true;
	return false;
}

int guard_rows(const struct store *s, const struct mutation *m, size_t n)
{
	for (size_t i = 0; s->no_delete && i < n; i++)
		if (guard_deletes(&m[i]))
			return store_may_delete(s);
	return 0;
}

/* Is the family dropped even if it holds a visible cell? */
static bool goes(const struct alter *a, struct bytes family)
{
	return a->rest == ALTER_DROP || schema_find(&a->drop, family) >= 0;
}

int guard_family(struct table *t, const struct family_schema *f,
		 const struct alter *a,
		 int (*holds_cell)(struct table *t, const char *family))
{
	struct bytes name = bytes_str(f->name);
	int i = schema_find(&a->to, name), r;
	const char *word = NULL;

	if (!t->store->no_delete)
		return 0;
	if (i >= 0)
		word = family_attrs_less(&a->to.families[i].attrs, &f->attrs);
	else if (goes(a, name))
		word = "drop";
	if (!word)
		return 0;
	r = holds_cell(t, f->name);
	if (r <= 0)
		return r;
	return why(-EPERM,
		   "family %s holds cells, and this (%s) would hide some: the "
		   "store is open with nodelete",
		   f->name, word);
}
