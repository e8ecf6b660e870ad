/*
 * Superversions: the state of a table that a reader sees, for as long as it
 * reads.
 *
 * A superversion references the memtables, the levels and the schema of one
 * moment, so that none of them is freed. Each thread keeps the superversions
 * that it used last in slots of its own: a read takes one out and puts it back,
 * with no lock, and shares no line of memory with other threads' reads.
 *
 * `generation` counts all changes of what a superversion is made of. A kept
 * superversion is valid if it is of the present generation, and the sequence as
 * of which the reader reads is loaded before that test:
 *
 *	seq = db->seq; superversion->generation == db->generation?
 *
 * If so, the superversion was current when seq was loaded: all writes up to seq
 * are in its memtables and files, and none of these was dropped. Otherwise a
 * new superversion is made under the state lock.
 *
 * A change increments the generation, then sweeps the slots. A reader puts its
 * superversion back, then checks the generation: one of the two finds a
 * superversion that was put back late, so that no superversion keeps removed
 * files on disk.
 *
 * A slot that threads share is emptied and filled by atomic exchange. For a
 * thread with its own slot that would cost most of a short read, since it stops
 * speculative execution. Such a thread marks its slot busy, and the sweeper
 * skips busy slots:
 *
 *	reader				sweeper
 *	busy = true			generation++
 *	light barrier			heavy barrier
 *	look at the generation		busy? then go on
 *	take its own, or put it in	else free old ones
 *	busy = false
 *	light barrier
 *	look at the generation
 *
 * If the reader is busy, it will check the generation afterwards and find the
 * new one. If it is not, it finds the new one before it touches the slot again,
 * and takes no old superversion. Old superversions are freed under the state
 * lock, by the reader and by the sweeper.
 */
#include "store/lsm/state/superversion.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/os/thread.h"

static void superversion_free(struct superversion *v)
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
static struct superversion *superversion_new(struct lsm *db,
					     const struct lsm_table *t)
{
	uint32_t n = t->now->schema.nfamilies;
	struct superversion *v = malloc(sizeof(*v) + n * sizeof(v->levels[0]));

	if (!v)
		return NULL;
	v->table_id = t->base.id;
	v->generation = atomic_load(&db->generation);
	v->st = t->now;
	table_state_ref(v->st);
	assert(db->nfrozen <= FROZEN_MAX);
	assert(db->reading);
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

/*
 * Takes a superversion older than @generation out of an own slot. Under state.
 */
static struct superversion *take_past(struct kept_superversion *k,
				      uint64_t generation)
{
	struct superversion *v = atomic_load(&k->held);

	/*
	 * Load the superversion before its generation: the reader stores it
	 * after.
	 */
	if (!v || atomic_load(&k->generation) >= generation)
		return NULL;
	atomic_store(&k->held, NULL);
	return v;
}

int superversion_take_long(struct lsm *db, const struct lsm_table *t,
			   struct superversion **out, uint64_t *seq)
{
	struct reader_slot *s = reader_slot(db);
	struct kept_superversion *k =
		&s->kept[t->base.id % READER_SUPERVERSIONS];
	bool own = slot_is_own(db, s);
	struct superversion *v = NULL;
	int r = 0;

	if (!own) {
		v = atomic_exchange(&k->held, NULL);
		*seq = atomic_load(&db->seq);
		if (v && v->table_id == t->base.id &&
		    v->generation == atomic_load(&db->generation)) {
			*out = v;
			return 0;
		}
		superversion_free(v);
	}
	pthread_mutex_lock(&db->state);
	v = own ? take_past(k, atomic_load(&db->generation)) : NULL;
	if (!t->now) {
		r = why(-ENOENT, "the table has been dropped");
	} else {
		*seq = atomic_load(&db->seq);
		*out = superversion_new(db, t);
		if (!*out)
			r = why(-ENOMEM, "out of memory");
	}
	pthread_mutex_unlock(&db->state);
	superversion_free(v);
	return r;
}

void superversion_give_long(struct lsm *db, struct superversion *v)
{
	struct reader_slot *s = reader_slot(db);
	struct kept_superversion *k =
		&s->kept[v->table_id % READER_SUPERVERSIONS];
	uint64_t generation = v->generation;

	if (!slot_is_own(db, s)) {
		superversion_free(atomic_exchange(&k->held, v));
		/* Another thread may have filled the shared slot by now. */
		if (generation != atomic_load(&db->generation))
			superversion_free(atomic_exchange(&k->held, NULL));
		return;
	}
	/*
	 * @v is out of date, or it replaces another superversion in the slot.
	 */
	pthread_mutex_lock(&db->state);
	if (generation == atomic_load(&db->generation)) {
		struct superversion *old = atomic_load(&k->held);

		atomic_store(&k->generation, generation);
		atomic_store(&k->held, v);
		v = old;
	}
	pthread_mutex_unlock(&db->state);
	superversion_free(v);
}

void superversion_given(struct lsm *db, struct kept_superversion *k)
{
	struct superversion *v;

	pthread_mutex_lock(&db->state);
	v = take_past(k, atomic_load(&db->generation));
	pthread_mutex_unlock(&db->state);
	superversion_free(v);
}

void superversions_changed(struct lsm *db)
{
	atomic_fetch_add(&db->generation, 1);
}

static void sweep_own(struct lsm *db)
{
	struct superversion *past[READER_SLOTS_OWN * READER_SUPERVERSIONS];
	uint64_t generation = atomic_load(&db->generation);
	unsigned n = 0;

	/*
	 * Without the barrier old superversions stay until their threads read
	 * again.
	 */
	if (!thread_heavy())
		return;
	pthread_mutex_lock(&db->state);
	for (int i = 0; i < READER_SLOTS_OWN; i++) {
		struct reader_slot *s = &db->slots[i];

		if (atomic_load(&s->busy))
			continue;
		for (int k = 0; k < READER_SUPERVERSIONS; k++) {
			struct superversion *v =
				take_past(&s->kept[k], generation);

			if (v)
				past[n++] = v;
		}
	}
	pthread_mutex_unlock(&db->state);
	for (unsigned i = 0; i < n; i++)
		superversion_free(past[i]);
}

/* Frees the superversions in all slots from @from on. */
static void empty_slots(struct lsm *db, int from)
{
	for (int i = from; i < READER_SLOTS; i++)
		for (int k = 0; k < READER_SUPERVERSIONS; k++)
			superversion_free(atomic_exchange(
				&db->slots[i].kept[k].held, NULL));
}

void superversions_sweep(struct lsm *db)
{
	if (db->own_slots)
		sweep_own(db);
	empty_slots(db, db->own_slots ? READER_SLOTS_OWN : 0);
}

void superversions_free(struct lsm *db)
{
	/* No reader is left, so own slots are emptied like shared ones. */
	empty_slots(db, 0);
}
