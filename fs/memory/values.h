/*
 * Values that are open for reading, one copy each.
 *
 * A handle reads one version from first byte to last, whatever becomes of it,
 * so the value is in memory as long as the handle is open. Handles of the same
 * version, by a key that says all that tells it from others, share one copy, and a
 * store that has a long one in memory shares its own. The memory is held in the
 * budget before a value is fetched, and is the client's whose open fetched it.
 *
 *	values_open() ── there ──▶ a reference
 *	      └ absent ──▶ fetch, by one thread; others that want it wait
 *
 * Threads: any. The lock is not held while a value is fetched.
 */
#ifndef CELLFS_FS_MEMORY_VALUES_H
#define CELLFS_FS_MEMORY_VALUES_H

#include <pthread.h>

#include "fs/kernel/budget.h"
#include "fs/text/sorted.h"
#include "store/value/bytes.h"

struct values {
	pthread_mutex_t lock;
	pthread_cond_t fetched;
	struct sorted all; /* lock */
	struct budget *budget;
};

struct value;

/*
 * Fetches the value: 1; 0 when it is gone; an error. @out is empty at first.
 */
typedef int values_fetch(void *arg, struct buf *out);

void values_init(struct values *vs, struct budget *budget);
void values_release(struct values *vs);
/*
 * A reference to the value of that key, which is @len bytes long: 1; 0 when it
 * is gone; -ENFILE in words when there is no memory for it; what @fetch gives.
 */
int values_open(struct values *vs, struct bytes key, size_t len,
		values_fetch *fetch, void *arg, struct value **out);
struct bytes value_bytes(const struct value *v);
void values_close(struct values *vs, struct value *v); /* NULL is nothing */

#endif
