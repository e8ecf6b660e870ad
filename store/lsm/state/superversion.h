/*
 * Superversions: the state of a table that a reader sees, for as long as it
 * reads. superversion.c explains why no lock is needed.
 */
#ifndef CELLFS_STORE_LSM_STATE_SUPERVERSION_H
#define CELLFS_STORE_LSM_STATE_SUPERVERSION_H

#include "store/lsm/state/trees.h"

/* The objects that a reader of a table uses: immutable, with one owner. */
struct superversion {
	uint64_t table_id, generation;
	struct table_state *st;
	uint32_t nmem; /* newest first */
	struct memtable *mem[FROZEN_MAX + 1];
	struct levels *levels[]; /* by family, in the schema's order */
};

/*
 * The table's present superversion, the caller's until superversion_give(), and
 * the sequence up to which it may be read. -ENOENT if the table was dropped. @s
 * is the calling thread's slot, for both functions.
 */
static inline int superversion_take(struct lsm *db, struct reader_slot *s,
				    const struct lsm_table *t,
				    struct superversion **out, uint64_t *seq);
static inline void superversion_give(struct lsm *db, struct reader_slot *s,
				     struct superversion *v);
/*
 * Notes a change of what superversions reference. Under state; the caller must
 * call superversions_sweep() after releasing it.
 */
void superversions_changed(struct lsm *db);
/* Frees old superversions that no thread uses. */
void superversions_sweep(struct lsm *db);
/* Frees all superversions, when no thread reads any more. */
void superversions_free(struct lsm *db);

/* The calling thread's slot. */
static inline struct reader_slot *reader_slot(struct lsm *db)
{
	unsigned thread = thread_number();

	if (thread < READER_SLOTS_OWN)
		return &db->slots[thread];
	thread %= READER_SLOTS - READER_SLOTS_OWN;
	return &db->slots[READER_SLOTS_OWN + thread];
}

static inline bool slot_is_own(const struct lsm *db,
			       const struct reader_slot *s)
{
	return db->own_slots && s < &db->slots[READER_SLOTS_OWN];
}

/* From slot_enter() to slot_leave() sweepers skip the slot. */
static inline void slot_enter(struct reader_slot *s)
{
	atomic_store_explicit(&s->busy, true, THREAD_LIGHT);
	thread_light();
}

static inline void slot_leave(struct reader_slot *s)
{
	atomic_store_explicit(&s->busy, false, THREAD_LIGHT_RELEASE);
	thread_light();
}

/*
 * The slot's superversion of the table if it is current, and *seq; otherwise
 * NULL.
 */
static inline struct superversion *
superversion_of_slot(struct lsm *db, struct kept_superversion *k,
		     uint64_t table_id, uint64_t *seq)
{
	uint64_t generation;
	struct superversion *v;

	*seq = atomic_load(&db->seq);
	generation = atomic_load(&db->generation);
	if (atomic_load_explicit(&k->generation, memory_order_relaxed) !=
	    generation)
		return NULL;
	v = atomic_load_explicit(&k->held, memory_order_relaxed);
	if (!v || v->table_id != table_id)
		return NULL;
	atomic_store_explicit(&k->held, NULL, memory_order_relaxed);
	return v;
}

/* superversion_take() without the fast path. */
int superversion_take_long(struct lsm *db, const struct lsm_table *t,
			   struct superversion **out, uint64_t *seq);

static inline int superversion_take(struct lsm *db, struct reader_slot *s,
				    const struct lsm_table *t,
				    struct superversion **out, uint64_t *seq)
{
	uint64_t id = t->base.id;
	struct superversion *v;

	if (!slot_is_own(db, s))
		return superversion_take_long(db, t, out, seq);
	slot_enter(s);
	v = superversion_of_slot(db, &s->kept[id % READER_SUPERVERSIONS], id,
				 seq);
	slot_leave(s);
	if (!v)
		return superversion_take_long(db, t, out, seq);
	*out = v;
	return 0;
}

/* superversion_give() without the fast path. */
void superversion_give_long(struct lsm *db, struct superversion *v);
/*
 * To be called if anything has changed since a superversion was put into an own
 * slot.
 */
void superversion_given(struct lsm *db, struct kept_superversion *k);

/* @v may be NULL */
static inline void superversion_give(struct lsm *db, struct reader_slot *s,
				     struct superversion *v)
{
	struct kept_superversion *k;
	uint64_t generation;
	bool put;

	if (!v)
		return;
	if (!slot_is_own(db, s)) {
		superversion_give_long(db, v);
		return;
	}
	k = &s->kept[v->table_id % READER_SUPERVERSIONS];
	generation = v->generation;
	slot_enter(s);
	put = generation == atomic_load(&db->generation) &&
	      !atomic_load_explicit(&k->held, memory_order_relaxed);
	if (put) {
		/* Store the superversion last: the sweeper reads it first. */
		atomic_store_explicit(&k->generation, generation,
				      memory_order_relaxed);
		atomic_store_explicit(&k->held, v, memory_order_release);
	}
	slot_leave(s);
	if (!put)
		superversion_give_long(db, v);
	else if (generation != atomic_load(&db->generation))
		superversion_given(db, k);
}

/* Memory of a scan that has ended, which the slot keeps for its next scan; or NULL. */
static inline struct lsm_scan *slot_take_scan(const struct lsm *db,
					      struct reader_slot *s)
{
	struct lsm_scan *sc;

	if (!slot_is_own(db, s))
		return atomic_exchange(&s->scan, NULL);
	sc = atomic_load_explicit(&s->scan, memory_order_relaxed);
	atomic_store_explicit(&s->scan, NULL, memory_order_relaxed);
	return sc;
}

/* False: the slot has one. */
static inline bool slot_keep_scan(const struct lsm *db, struct reader_slot *s,
				  struct lsm_scan *sc)
{
	struct lsm_scan *none = NULL;

	if (!slot_is_own(db, s))
		return atomic_compare_exchange_strong(&s->scan, &none, sc);
	if (atomic_load_explicit(&s->scan, memory_order_relaxed))
		return false;
	atomic_store_explicit(&s->scan, sc, memory_order_relaxed);
	return true;
}

static inline bool reader_expects(const struct reader_slot *s)
{
	return atomic_load_explicit(&s->found, memory_order_relaxed);
}
static inline void reader_found(struct reader_slot *s, bool found)
{
	if (reader_expects(s) != found)
		atomic_store_explicit(&s->found, found, memory_order_relaxed);
}

#endif
