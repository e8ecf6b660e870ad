/*
 * A call of a library that has no deadline of its own, with one: a resolver waits
 * for a name server, and a library of Kerberos for a KDC, as long as they like.
 *
 *	caller ── thread ──▶ work(arg)
 *	   │         │
 *	   │         ▼ the end of it, if the caller is still there; else drop(arg)
 *	   ▼ at the deadline
 */
#ifndef CELLFS_STORE_HBASE_TRANSPORT_ERRAND_H
#define CELLFS_STORE_HBASE_TRANSPORT_ERRAND_H

#include <stdint.h>

/*
 * Does @work on a thread of its own until @deadline_ns of monotonic_ns(). 0: it has
 * ended, and @arg is the caller's. -ETIMEDOUT, or -EINTR as the caller is gone
 * (patience.h): it has not, and the thread has @arg, which it gives to @drop at the
 * end. Another negative errno: it has not begun.
 */
int errand(void (*work)(void *arg), void (*drop)(void *arg), void *arg,
	   uint64_t deadline_ns);

#endif
