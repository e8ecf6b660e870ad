#include "store/front/heat.h"

#include <pthread.h>
#include <stdlib.h>

#include "store/front/backend.h"
#include "store/front/shape.h"

#define MINUTE_MS 60000

struct kept_call {
	uint64_t table;
	uint8_t write, len, key[HEAT_KEY];
};

struct minute {
	int64_t number;	       /* since 1970; 0 = none */
	uint64_t calls, nkept; /* all, those kept */
	struct kept_call kept[HEAT_KEPT];
};

struct heat {
	int64_t since_ms;
	pthread_mutex_t lock; /* guards all below */
	uint64_t chance;
	struct minute minutes[HEAT_MINUTES];
};

_Thread_local unsigned heat_left;

/* Which one of HEAT_EVERY calls of the thread was noted, in the upper bits. */
static _Thread_local uint32_t pick;

struct heat *heat_new(int64_t now_ms)
{
	/* So much is fresh pages of the kernel, which are not there until used. */
	struct heat *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->since_ms = now_ms;
	h->chance = (uint64_t)now_ms | 1;
	pthread_mutex_init(&h->lock, NULL);
	return h;
}

void heat_free(struct heat *h)
{
	if (!h)
		return;
	pthread_mutex_destroy(&h->lock);
	free(h);
}

int64_t heat_since(const struct heat *h)
{
	return h->since_ms;
}

static uint64_t chance(struct heat *h)
{
	h->chance ^= h->chance << 13;
	h->chance ^= h->chance >> 7;
	h->chance ^= h->chance << 17;
	return h->chance;
}

/* Where the call goes that stands for @weight of all until now; NULL: nowhere. */
static struct kept_call *place(struct heat *h, struct minute *m,
			       unsigned weight)
{
	m->calls += weight;
	if (m->nkept < HEAT_KEPT)
		return &m->kept[m->nkept++];
	if (chance(h) % m->calls >= (uint64_t)HEAT_KEPT * weight)
		return NULL;
	return &m->kept[chance(h) % HEAT_KEPT];
}

/* How many calls it is from the one that was noted to that of the next HEAT_EVERY. */
static unsigned next_call(void)
{
	unsigned was = pick >> 16;

	pick = pick * 1664525 + 1013904223;
	return HEAT_EVERY - was % HEAT_EVERY + (pick >> 16) % HEAT_EVERY;
}

void heat_take(struct store *s, uint64_t table, struct bytes row, bool write)
{
	unsigned weight = atomic_load(&s->heat_every);
	struct heat *h = s->heat;
	struct kept_call *at;
	struct minute *m;
	int64_t number;

	heat_left = next_call();
	if (pthread_mutex_trylock(&h->lock) != 0)
		return;
	number = s->ops->now_ms(s) / MINUTE_MS;
	m = &h->minutes[(uint64_t)number % HEAT_MINUTES];
	if (m->number != number) {
		m->number = number;
		m->calls = m->nkept = 0;
		atomic_store(&s->heat_every, 1);
	}
	at = place(h, m, weight);
	if (at) {
		at->table = table;
		at->write = write;
		at->len = (uint8_t)(row.len < HEAT_KEY ? row.len : HEAT_KEY);
		bytes_copy(at->key, row.data, at->len);
	}
	if (m->nkept == HEAT_KEPT && weight == 1)
		atomic_store(&s->heat_every, HEAT_EVERY);
	pthread_mutex_unlock(&h->lock);
}

static int put_minute(const struct minute *m, struct buf *out)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < m->nkept; i++) {
		const struct kept_call *k = &m->kept[i];
		const struct shape_item item = {
			.kind = SHAPE_CALL,
			.table = k->table,
			.row = bytes_of(k->key, k->len),
			.n = {(uint64_t)m->number * MINUTE_MS, k->write,
			      m->calls * SHAPE_WEIGHT / m->nkept},
		};

		r = shape_put(out, &item);
	}
	return r;
}

int heat_put(struct heat *h, int64_t now_ms, struct buf *out)
{
	int64_t now = now_ms / MINUTE_MS;
	int r = 0;

	pthread_mutex_lock(&h->lock);
	for (int64_t n = now - HEAT_MINUTES + 1; r == 0 && n <= now; n++) {
		const struct minute *m =
			&h->minutes[(uint64_t)n % HEAT_MINUTES];

		if (m->number == n)
			r = put_minute(m, out);
	}
	pthread_mutex_unlock(&h->lock);
	return r;
}
