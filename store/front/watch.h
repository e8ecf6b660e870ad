/*
 * What a store tells of its calls to who watches it: how long each kind takes,
 * and how often each table is read and written.
 *
 *	store_watch()	from then on; a store that nobody watches is asked for
 *			neither, which costs it a branch a call
 *
 * Each thread adds to a stripe of its own (backend.h), so that no two share a
 * cache line. Of the steps of a scan one in WATCH_STEPS is timed, its first one
 * too: a look at the clock costs as much as a step.
 *
 * A table has its counts from the first call that counts in it, and they are by
 * its id: a backend may have several objects of one table, and none in between.
 * Where WATCH_TABLES have counts, a new one takes the place of the oldest one to
 * which nobody has a reference, if there is one.
 */
#ifndef CELLFS_STORE_FRONT_WATCH_H
#define CELLFS_STORE_FRONT_WATCH_H

#include "store/front/backend.h"
#include "store/front/latency.h"

#define WATCH_STEPS 16
#define WATCH_TABLES 1024

enum store_call {
	CALL_GET,
	CALL_SCAN_OPEN,
	CALL_SCAN_NEXT,
	CALL_MUTATE,
	CALL_MUTATE_MANY,
	CALL_SYNC,
	CALL_FLUSH,
	CALL_COMPACT,
	STORE_CALLS
};

struct watch_stripe {
	_Alignas(CACHE_LINE) struct latency of[STORE_CALLS];
};

struct table_stripe {
	_Alignas(CACHE_LINE) _Atomic uint64_t reads;
	_Atomic uint64_t writes;
};

struct table_watch {
	struct table_stripe stripes[COUNT_STRIPES];
	uint64_t id;
	uint32_t refs;		  /* under lock: objects of the table */
	struct table_watch *next; /* under lock */
};

struct store_watch {
	uint64_t (*now_ns)(void);
	struct watch_stripe stripes[COUNT_STRIPES];
	pthread_mutex_t lock;
	struct table_watch *tables; /* under lock, the newest first */
	uint32_t ntables;
};

/* When a call begins: 0 when nobody watches. */
static inline uint64_t watch_begin(const struct store *s)
{
	return s->watch ? s->watch->now_ns() : 0;
}

/* The call ends that began at @begin. */
void watch_add(struct store *s, enum store_call c, uint64_t begin);
static inline void watch_end(struct store *s, enum store_call c, uint64_t begin)
{
	if (s->watch)
		watch_add(s, c, begin);
}

/* Before the store or the object of the table goes. */
void watch_free(struct store *s);
void watch_leave(struct table *t);

void watch_count(struct table *t, uint64_t reads, uint64_t writes);
/* @reads calls that read the table, and @writes rows of it that changed. */
static inline void watch_table(struct table *t, uint64_t reads, uint64_t writes)
{
	if (t->store->watch)
		watch_count(t, reads, writes);
}

#endif
