/*
 * How fast work in the background may go: a bucket of tokens, one a byte.
 *
 *	tokens  ▁▂▃▄▄▄  fill at the rate, up to an eighth of a second's worth
 *	        ▄▃▁     are taken by what was written
 *	        ────    below: a debt; who can wait does until it is paid
 *
 * Whoever cannot wait takes all the same, and the others pay for it, but for no
 * more than PACE_DEBT_S: the debt has a bound, so that nobody waits for ever.
 *
 * Pure, but for its lock: the caller has the clock, and does the waiting.
 */
#ifndef CELLFS_STORE_LSM_BASE_PACE_H
#define CELLFS_STORE_LSM_BASE_PACE_H

#include <pthread.h>
#include <stdint.h>

#define PACE_DEBT_S 10

struct pace {
	uint64_t bytes_s; /* the rate; 0 = as fast as it goes */
	pthread_mutex_t lock;
	int64_t tokens;	    /* under lock */
	uint64_t filled_ns; /* under lock: when they were counted last */
};

void pace_init(struct pace *p, uint64_t bytes_s, uint64_t now_ns);
void pace_release(struct pace *p);
void pace_take(struct pace *p, uint64_t bytes, uint64_t now_ns);
/* In how many milliseconds the debt will be paid; 0 = there is none. */
unsigned pace_wait_ms(struct pace *p, uint64_t now_ns);

#endif
