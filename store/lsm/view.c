/*
 * Views: what readers see of a table for as long as they want.
 *
 * A view references the memtables, the levels and the schema of one moment, so
 * that nothing it can reach goes away. Each thread keeps the views that it used
 * last in slots of its own: a read takes one out and puts it back, with no
 * lock, and shares no line of memory with other threads' reads.
 *
 * `generation` counts all changes of what a view is made of. A kept view is
 * good if it is of the present generation, and the sequence up to which the
 * reader looks is loaded before that is tested:
 *
 *	seq = db->seq; view->generation == db->generation?
 *
 * If it is, the view was the present when seq was: all up to seq is in its
 * memtables and files, and nothing of it was dropped. Else it is made anew
 * under the state lock.
 *
 * A change puts the generation up, then empties the slots. A reader puts its
 * view back, then looks at the generation: one of the two finds a view that
 * was put back late, so none holds files of the past on disk.
 */
#include "store/lsm/lsm.h"

#include <errno.h>
#include <stdlib.h>

#include "store/thread.h"

static void view_free(struct view *v)
{
	if (!v)
		return;
	for (uint32_t i = 0; i < v->nmem; i++)
		memtable_unref(v->mem[i]);
	for (uint32_t i = 0; i < v->st->schema.nfamilies; i++)
		levels_unref(v->levels[i]);
	table_state_unref(v->st);
	free(v);
}

/* Under state. */
static struct view *view_new(struct lsm *db, const struct lsm_table *t)
{
	uint32_t n = t->now->schema.nfamilies;
	struct view *v = malloc(sizeof(*v) + n * sizeof(v->levels[0]));

	if (!v)
		return NULL;
	v->table_id = t->base.id;
	v->generation = atomic_load(&db->generation);
	v->st = t->now;
	table_state_ref(v->st);
	v->nmem = 0;
	v->mem[v->nmem++] = db->reading;
	for (uint32_t i = db->nfrozen; i-- > 0;)
		v->mem[v->nmem++] = db->frozen[i].mem;
	for (uint32_t i = 0; i < v->nmem; i++)
		memtable_ref(v->mem[i]);
	for (uint32_t i = 0; i < n; i++) {
		v->levels[i] = v->st->trees[i]->levels;
		levels_ref(v->levels[i]);
	}
	return v;
}

int view_make(struct lsm *db, const struct lsm_table *t, struct view *v,
	      struct view **out, uint64_t *seq)
{
	int r = 0;

	view_free(v);
	pthread_mutex_lock(&db->state);
	if (!t->now) {
		r = why(-ENOENT, "the table has been dropped");
	} else {
		*seq = atomic_load(&db->seq);
		*out = view_new(db, t);
		if (!*out)
			r = why(-ENOMEM, "out of memory");
	}
	pthread_mutex_unlock(&db->state);
	return r;
}

void view_given(struct lsm *db, _Atomic(struct view *) *slot, struct view *old,
		uint64_t generation)
{
	view_free(old);
	/* What was put there may be somebody else's by now. */
	if (generation != atomic_load(&db->generation))
		view_free(atomic_exchange(slot, NULL));
}

void views_changed(struct lsm *db)
{
	atomic_fetch_add(&db->generation, 1);
}

void views_sweep(struct lsm *db)
{
	for (int i = 0; i < READER_SLOTS; i++)
		for (int k = 0; k < READER_VIEWS; k++)
			view_free(atomic_exchange(&db->slots[i].view[k], NULL));
}
