#include "fs/memory/values.h"

#include <errno.h>
#include <stdlib.h>

#include "store/os/clock.h"
#include "store/os/patience.h"
#include "store/value/why.h"

struct value {
	struct sorted_node by_key; /* first: the one is cast to the other */
	struct budget_share share;
	struct shared_buf content; /* never changes when it is fetched */
	uint32_t refs;		   /* lock, as all below */
	bool listed;
	bool fetched;
};

void values_init(struct values *vs, struct budget *budget)
{
	*vs = (struct values){.budget = budget};
	pthread_mutex_init(&vs->lock, NULL);
	clock_cond_init(&vs->fetched);
}

void values_release(struct values *vs)
{
	pthread_cond_destroy(&vs->fetched);
	pthread_mutex_destroy(&vs->lock);
}

struct bytes value_bytes(const struct value *v)
{
	return buf_bytes(&v->content.buf);
}

static void value_free(struct value *v)
{
	shared_free(&v->content);
	budget_give(&v->share);
	sorted_node_release(&v->by_key);
	free(v);
}

static int value_new(struct values *vs, struct bytes key, struct value **out)
{
	struct value *v = calloc(1, sizeof(*v));

	if (!v || sorted_node_init(&v->by_key, bytes_of(NULL, 0), key)) {
		free(v);
		return why(-ENOMEM, "out of memory for a value");
	}
	budget_share_init(&v->share, vs->budget);
	v->refs = 1;
	*out = v;
	return 0;
}

/* REQUIRES: lock. */
static void unlist(struct values *vs, struct value *v)
{
	if (v->listed)
		sorted_remove(&vs->all, &v->by_key);
	v->listed = false;
}

void values_close(struct values *vs, struct value *v)
{
	bool last;

	if (!v)
		return;
	pthread_mutex_lock(&vs->lock);
	last = --v->refs == 0;
	if (last)
		unlist(vs, v);
	pthread_mutex_unlock(&vs->lock);
	if (last)
		value_free(v);
}

/*
 * The value of that key with a reference, when it is fetched: 1; 0, there is none; or
 * -EINTR (patience.h). REQUIRES: lock.
 */
static int find(struct values *vs, struct bytes key, struct value **out)
{
	struct value *v;
	int r = 1;

	while ((v = (struct value *)sorted_find(&vs->all, bytes_of(NULL, 0),
						key)) &&
	       !v->fetched && r > 0)
		r = patience_wait(&vs->fetched, &vs->lock, UINT64_MAX);
	if (!v || r < 0)
		return r < 0 ? r : 0;
	v->refs++;
	*out = v;
	return 1;
}

/* The buffer keeps what it holds, and the share what the buffer takes. */
static int fit(struct value *v)
{
	struct buf *b = &v->content.buf;
	uint8_t *less =
		b->len && b->len < b->cap ? realloc(b->data, b->len) : NULL;

	if (less) {
		b->data = less;
		b->cap = b->len;
	}
	return budget_hold(&v->share, v->content.piece ? b->len : b->cap);
}

static int fetch_into(struct value *v, size_t len, values_fetch *fetch,
		      void *arg)
{
	int r = budget_hold(&v->share, budget_grown(0, len));

	if (r < 0)
		return budget_say(v->share.budget, -ENFILE);
	shared_open(&v->content);
	r = fetch(arg, &v->content.buf);
	if (r > 0 && fit(v) < 0)
		return budget_say(v->share.budget, -ENFILE);
	return r;
}

int values_open(struct values *vs, struct bytes key, size_t len,
		values_fetch *fetch, void *arg, struct value **out)
{
	struct value *v = NULL;
	int r = value_new(vs, key, &v);

	if (r < 0)
		return r;
	pthread_mutex_lock(&vs->lock);
	r = find(vs, key, out);
	if (r == 0) {
		sorted_insert(&vs->all, &v->by_key);
		v->listed = true;
	}
	pthread_mutex_unlock(&vs->lock);
	if (r) {
		value_free(v);
		return r;
	}
	r = fetch_into(v, len, fetch, arg);
	pthread_mutex_lock(&vs->lock);
	v->fetched = true;
	/* Who waits for one that could not be had tries it for himself. */
	if (r <= 0)
		unlist(vs, v);
	pthread_cond_broadcast(&vs->fetched);
	pthread_mutex_unlock(&vs->lock);
	if (r > 0)
		*out = v;
	else
		value_free(v);
	return r;
}
