#include "store/front/watch.h"

#include <stdlib.h>

#include "store/front/front.h"

static const char *const names[STORE_CALLS] = {
	[CALL_GET] = "get",
	[CALL_SCAN_OPEN] = "scan_open",
	[CALL_SCAN_NEXT] = "scan_next",
	[CALL_MUTATE] = "mutate",
	[CALL_MUTATE_MANY] = "mutate_many",
	[CALL_SYNC] = "sync",
	[CALL_FLUSH] = "flush",
	[CALL_COMPACT] = "compact",
};

int store_watch(struct store *s, uint64_t (*now_ns)(void))
{
	struct store_watch *w;

	front_begin();
	/* Tables that are open refer to it. */
	if (s->watch)
		return 0;
	w = store_alloc(sizeof(*w));
	if (!w)
		return front_end(s, why(-ENOMEM, "out of memory for figures"));
	w->now_ns = now_ns;
	pthread_mutex_init(&w->lock, NULL);
	s->watch = w;
	return 0;
}

void watch_add(struct store *s, enum store_call c, uint64_t begin)
{
	latency_add(&s->watch->stripes[front_stripe()].of[c],
		    s->watch->now_ns() - begin);
}

void watch_free(struct store *s)
{
	struct store_watch *w = s->watch;
	struct table_watch *next;

	s->watch = NULL;
	if (!w)
		return;
	for (struct table_watch *t = w->tables; t; t = next) {
		next = t->next;
		free(t);
	}
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Under lock: that of the table @id; NULL. */
static struct table_watch *find(const struct store_watch *w, uint64_t id)
{
	struct table_watch *t = w->tables;

	while (t && t->id != id)
		t = t->next;
	return t;
}

/* Under lock: frees the oldest one that nobody refers to, if there are many. */
static void make_place(struct store_watch *w)
{
	struct table_watch **oldest = NULL, *gone;

	if (w->ntables < WATCH_TABLES)
		return;
	for (struct table_watch **at = &w->tables; *at; at = &(*at)->next)
		if (!(*at)->refs)
			oldest = at;
	if (!oldest)
		return;
	gone = *oldest;
	*oldest = gone->next;
	free(gone);
	w->ntables--;
}

/* Under lock. NULL: no memory. */
static struct table_watch *add(struct store_watch *w, uint64_t id)
{
	struct table_watch *t;

	make_place(w);
	t = store_alloc(sizeof(*t));
	if (!t)
		return NULL;
	t->id = id;
	t->next = w->tables;
	w->tables = t;
	w->ntables++;
	return t;
}

static struct table_watch *watch_of(struct table *t)
{
	struct store_watch *w = t->store->watch;
	struct table_watch *of = atomic_load(&t->watch);

	if (of)
		return of;
	pthread_mutex_lock(&w->lock);
	of = atomic_load(&t->watch);
	if (!of) {
		of = find(w, t->id);
		if (!of)
			of = add(w, t->id);
		if (of)
			of->refs++;
		atomic_store(&t->watch, of);
	}
	pthread_mutex_unlock(&w->lock);
	return of;
}

void watch_leave(struct table *t)
{
	struct store_watch *w = t->store->watch;
	struct table_watch *of = atomic_load(&t->watch);

	if (!w || !of)
		return;
	pthread_mutex_lock(&w->lock);
	of->refs--;
	pthread_mutex_unlock(&w->lock);
}

void watch_count(struct table *t, uint64_t reads, uint64_t writes)
{
	struct table_watch *of = watch_of(t);
	unsigned i = front_stripe();

	if (of && reads)
		front_add(&of->stripes[i].reads, i, reads);
	if (of && writes)
		front_add(&of->stripes[i].writes, i, writes);
}

int store_call_times(const struct store *s, unsigned i, const char **name,
		     struct latency *out)
{
	if (!s->watch || i >= STORE_CALLS)
		return 0;
	*name = names[i];
	*out = (struct latency){0};
	for (unsigned k = 0; k < COUNT_STRIPES; k++)
		latency_sum(out, &s->watch->stripes[k].of[i]);
	return 1;
}

/* What @of counted; NULL: nothing. */
static void sum_of(const struct table_watch *of, struct table_calls *out)
{
	for (unsigned k = 0; of && k < COUNT_STRIPES; k++) {
		out->reads += atomic_load(&of->stripes[k].reads);
		out->writes += atomic_load(&of->stripes[k].writes);
	}
}

void table_calls(struct table *t, struct table_calls *out)
{
	struct store_watch *w = t->store->watch;
	const struct table_watch *of = atomic_load(&t->watch);

	*out = (struct table_calls){0};
	if (!w || of) {
		sum_of(of, out);
		return;
	}
	/* Another object of the table may have counted. */
	pthread_mutex_lock(&w->lock);
	sum_of(find(w, t->id), out);
	pthread_mutex_unlock(&w->lock);
}
