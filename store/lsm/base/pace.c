#include "store/lsm/base/pace.h"

#define NS 1000000000ull
/* The bucket holds the tokens of a second, divided by that. */
#define BURST 8

void pace_init(struct pace *p, uint64_t bytes_s, uint64_t now_ns)
{
	/* So that no product below overflows. */
	p->bytes_s = bytes_s < INT64_MAX / 16 ? bytes_s : INT64_MAX / 16;
	p->tokens = (int64_t)(p->bytes_s / BURST);
	p->filled_ns = now_ns;
	pthread_mutex_init(&p->lock, NULL);
}

void pace_release(struct pace *p)
{
	pthread_mutex_destroy(&p->lock);
}

/* Under lock. */
static void fill(struct pace *p, uint64_t now_ns)
{
	int64_t most = (int64_t)(p->bytes_s / BURST);
	/* Others may have looked at the clock later, and come before. */
	uint64_t ns = now_ns > p->filled_ns ? now_ns - p->filled_ns : 0;
	double more = (double)ns / NS * (double)p->bytes_s;

	if (more >= (double)(most - p->tokens)) {
		p->tokens = most;
		p->filled_ns += ns;
		return;
	}
	/* A part of a token is not lost: it is counted the next time. */
	p->tokens += (int64_t)more;
	p->filled_ns +=
		(uint64_t)((double)(int64_t)more / (double)p->bytes_s * NS);
}

void pace_take(struct pace *p, uint64_t bytes, uint64_t now_ns)
{
	int64_t least = -(int64_t)p->bytes_s * PACE_DEBT_S;

	if (!p->bytes_s)
		return;
	pthread_mutex_lock(&p->lock);
	fill(p, now_ns);
	if (bytes < (uint64_t)(p->tokens - least))
		p->tokens -= (int64_t)bytes;
	else
		p->tokens = least;
	pthread_mutex_unlock(&p->lock);
}

unsigned pace_wait_ms(struct pace *p, uint64_t now_ns)
{
	int64_t debt;

	if (!p->bytes_s)
		return 0;
	pthread_mutex_lock(&p->lock);
	fill(p, now_ns);
	debt = -p->tokens;
	pthread_mutex_unlock(&p->lock);
	return debt > 0 ? (unsigned)((double)debt * 1000 / (double)p->bytes_s) +
				  1
			: 0;
}
