#include "fs/kernel/budget.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>

#include "store/value/why.h"

/* A client holds at most so many times what it leaves free. */
#define TIMES_FREE 3
/* What may stay with the allocator. */
#define KEPT_MAX ((uint64_t)32 << 20)

static _Thread_local pid_t asker;

void budget_ask_as(pid_t who)
{
	asker = who;
}

void budget_init(struct budget *b, uint64_t max)
{
	*b = (struct budget){.max = max};
}

void budget_share_init(struct budget_share *s, struct budget *b)
{
	*s = (struct budget_share){
		.budget = b,
		.client = (uint32_t)asker % BUDGET_CLIENTS,
	};
}

static bool take(struct budget *b, uint32_t client, uint64_t n)
{
	uint64_t all = atomic_fetch_add(&b->held, n) + n;
	uint64_t mine = atomic_fetch_add(&b->by[client], n) + n;

	if (all <= b->max &&
	    (mine <= BUDGET_LITTLE || mine / TIMES_FREE <= b->max - all)) {
		if (all > atomic_load(&b->peak))
			atomic_store(&b->peak, all);
		return true;
	}
	atomic_fetch_sub(&b->held, n);
	atomic_fetch_sub(&b->by[client], n);
	return false;
}

void heap_trim(void)
{
#ifdef __GLIBC__
	malloc_trim(KEPT_MAX / 4);
#endif
}

static void give_back(struct budget *b)
{
	uint64_t held = atomic_load(&b->held), peak = atomic_load(&b->peak);

	if (peak < KEPT_MAX || held > peak / 2)
		return;
	if (!atomic_compare_exchange_strong(&b->peak, &peak, held))
		return;
	heap_trim();
}

int budget_try(struct budget_share *s, uint64_t bytes)
{
	struct budget *b = s->budget;

	if (!b || bytes == s->held)
		return 0;
	if (bytes > s->held) {
		if (!take(b, s->client, bytes - s->held))
			return -ENOBUFS;
	} else {
		atomic_fetch_sub(&b->held, s->held - bytes);
		atomic_fetch_sub(&b->by[s->client], s->held - bytes);
		give_back(b);
	}
	s->held = bytes;
	return 0;
}

int budget_hold(struct budget_share *s, uint64_t bytes)
{
	int r = budget_try(s, bytes);

	if (r < 0 && s->budget->reclaim) {
		s->budget->reclaim(s->budget->reclaim_arg);
		r = budget_try(s, bytes);
	}
	if (r < 0)
		atomic_fetch_add(&s->budget->refused, 1);
	return r;
}

void budget_give(struct budget_share *s)
{
	(void)budget_try(s, 0);
	s->budget = NULL;
}

int budget_say(const struct budget *b, int err)
{
	return why(err,
		   "open files hold %llu of the %llu MiB that they may have in "
		   "all (-o memory), and most of that is this program's: close "
		   "some",
		   (unsigned long long)(atomic_load(&b->held) >> 20),
		   (unsigned long long)(b->max >> 20));
}
