/*
 * Views: the state of a table that a reader sees, for as long as it reads.
 * view.c explains why they are right without a lock.
 */
#ifndef CELLFS_STORE_LSM_STATE_VIEW_H
#define CELLFS_STORE_LSM_STATE_VIEW_H

#include "store/lsm/state/trees.h"

/* The objects that a reader of a table uses: immutable, with one owner. */
struct view {
	uint64_t table_id, generation;
	struct table_state *st;
	uint32_t nmem; /* newest first */
	struct memtable *mem[FROZEN_MAX + 1];
	struct levels *levels[]; /* by family, in the schema's order */
};

/*
 * The table's present view, the caller's until view_give(), and the sequence up
 * to which it may be read. -ENOENT if the table was dropped. @s is the calling
 * thread's slot, for both functions.
 */
static inline int view_take(struct lsm *db, struct reader_slot *s,
			    const struct lsm_table *t, struct view **out,
			    uint64_t *seq);
static inline void view_give(struct lsm *db, struct reader_slot *s,
			     struct view *v);
/*
 * Notes a change of what views reference. Under state; the caller must call
 * views_sweep() after releasing it.
 */
void views_changed(struct lsm *db);
/* Frees old views that no thread uses. */
void views_sweep(struct lsm *db);
/* Frees all views, when no thread reads any more. */
void views_free(struct lsm *db);

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

/* The slot's view of the table if it is current, and *seq; otherwise NULL. */
static inline struct view *view_of_slot(struct lsm *db, struct kept_view *k,
					uint64_t table_id, uint64_t *seq)
{
	uint64_t generation;
	struct view *v;

	*seq = atomic_load(&db->seq);
	generation = atomic_load(&db->generation);
	if (atomic_load_explicit(&k->generation, memory_order_relaxed) !=
	    generation)
		return NULL;
	v = atomic_load_explicit(&k->view, memory_order_relaxed);
	if (!v || v->table_id != table_id)
		return NULL;
	atomic_store_explicit(&k->view, NULL, memory_order_relaxed);
	return v;
}

/* view_take() without the fast path. */
int view_take_long(struct lsm *db, const struct lsm_table *t, struct view **out,
		   uint64_t *seq);

static inline int view_take(struct lsm *db, struct reader_slot *s,
			    const struct lsm_table *t, struct view **out,
			    uint64_t *seq)
{
	uint64_t id = t->base.id;
	struct view *v;

	if (!slot_is_own(db, s))
		return view_take_long(db, t, out, seq);
	slot_enter(s);
	v = view_of_slot(db, &s->kept[id % READER_VIEWS], id, seq);
	slot_leave(s);
	if (!v)
		return view_take_long(db, t, out, seq);
	*out = v;
	return 0;
}

/* view_give() without the fast path. */
void view_give_long(struct lsm *db, struct view *v);
/*
 * To be called if anything has changed since a view was put into an own slot.
 */
void view_given(struct lsm *db, struct kept_view *k);

/* @v may be NULL */
static inline void view_give(struct lsm *db, struct reader_slot *s,
			     struct view *v)
{
	struct kept_view *k;
	uint64_t generation;
	bool put;

	if (!v)
		return;
	if (!slot_is_own(db, s)) {
		view_give_long(db, v);
		return;
	}
	k = &s->kept[v->table_id % READER_VIEWS];
	generation = v->generation;
	slot_enter(s);
	put = generation == atomic_load(&db->generation) &&
	      !atomic_load_explicit(&k->view, memory_order_relaxed);
	if (put) {
		/* Store the view last: the sweeper reads it first. */
		atomic_store_explicit(&k->generation, generation,
				      memory_order_relaxed);
		atomic_store_explicit(&k->view, v, memory_order_release);
	}
	slot_leave(s);
	if (!put)
		view_give_long(db, v);
	else if (generation != atomic_load(&db->generation))
		view_given(db, k);
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
