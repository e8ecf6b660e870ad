/*
 * Which rows are read and written, minute by minute, of the last four hours: for
 * pictures (store_shape()).
 *
 * A minute keeps a sample of its calls, each with the table and the beginning of
 * the row, and how many there were in all: so a kept call stands for
 * calls / kept of them. Ranges of keys are nobody's business here: who draws
 * chooses them, and what is hot in a table of which nothing was known is kept as
 * well. The memory is bounded whatever is stored: 3 MB, and the kernel gives
 * only the minutes in which something was called.
 *
 *	minutes[m % 240]	calls, kept[256]: a reservoir, weighted
 *
 * A read is a get, or a step of a scan, which may hand out many cells at once. A
 * write is a row of a mutation.
 *
 * Cost: a thread takes the lock for one call of store.heat_every, if nobody has it:
 * else that call is not counted. Until a minute has a full sample that is 1, from then
 * on HEAT_EVERY: then it is any of these, since the calls of a program that takes
 * its rows in turn would be of the same few rows each time.
 *
 * Threads: any.
 */
#ifndef CELLFS_STORE_FRONT_HEAT_H
#define CELLFS_STORE_FRONT_HEAT_H

#include "store/store.h"

#define HEAT_MINUTES 240
#define HEAT_KEPT 256
#define HEAT_EVERY 16
#define HEAT_KEY 38 /* bytes of a row that are kept */

struct heat;

/* NULL without memory. */
struct heat *heat_new(int64_t now_ms);
void heat_free(struct heat *h); /* @h may be NULL */
/* Notes a call, of those that front_note() takes. */
void heat_take(struct store *s, uint64_t table, struct bytes row, bool write);
/* Appends a SHAPE_CALL for each call that is kept. 0 or -ENOMEM. */
int heat_put(struct heat *h, int64_t now_ms, struct buf *out);
int64_t heat_since(const struct heat *h);

/* How many calls of the thread there are to the next that heat_take() gets. */
extern _Thread_local unsigned heat_left;

#endif
