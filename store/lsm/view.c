/*
 * Views: what one reader sees of a tree for as long as it wants.
 *
 * A view references the memtables and the levels of one moment, so that
 * nothing it can reach goes away. The sequence up to which the reader looks is
 * taken under the same lock: a flush or compaction drops entries only in
 * favour of ones that were published before it was installed, so a sequence
 * taken before the view could miss both the old and the new.
 */
#include "store/lsm/lsm.h"

#include <errno.h>
#include <stdlib.h>

static int view_new(struct lsm *db, struct tree *t, struct tree_view **out)
{
	struct tree_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	atomic_init(&v->refs, 1);
	v->mem[v->nmem++] = db->reading;
	for (uint32_t i = db->nfrozen; i-- > 0;)
		v->mem[v->nmem++] = db->frozen[i].mem;
	for (uint32_t i = 0; i < v->nmem; i++)
		memtable_ref(v->mem[i]);
	v->levels = t->levels;
	levels_ref(v->levels);
	*out = v;
	return 0;
}

void tree_view_unref(struct tree_view *v)
{
	if (!v || atomic_fetch_sub(&v->refs, 1) != 1)
		return;
	for (uint32_t i = 0; i < v->nmem; i++)
		memtable_unref(v->mem[i]);
	levels_unref(v->levels);
	free(v);
}

void tree_view_stale(struct tree *t)
{
	tree_view_unref(t->view);
	t->view = NULL;
}

int tree_view_take(struct lsm *db, struct tree *t, struct tree_view **out)
{
	if (t->view && t->view_generation != db->generation)
		tree_view_stale(t);
	if (!t->view) {
		int r = view_new(db, t, &t->view);

		if (r < 0)
			return why(r, "out of memory");
		t->view_generation = db->generation;
	}
	atomic_fetch_add(&t->view->refs, 1);
	*out = t->view;
	return 0;
}
