/*
 * The memory that clients may have: one budget for a mount.
 *
 * What a client can make the daemon keep is held here before it is taken: open
 * files, values that are read, drafts, scratch files, open scans. Each object
 * has a share, which knows for which client it holds how much.
 *
 * Who asks most is refused first. A client holds at most three times what it
 * leaves free:
 *
 *	of 512 MiB	A may hold	B then		C then
 *	A alone		384
 *	A has 384	384		96
 *	A, B have 480	384		96		24
 *
 * So however many ask, there is something left for who comes next, and who
 * holds little (BUDGET_LITTLE) has all of what is left. A client is the thread
 * that opened a file; threads whose numbers fall together count as one.
 *
 * Before a hold is refused, what can be got back is: @reclaim closes scans that
 * nobody reads at the moment. When much has become free the allocator gives it
 * back to the system.
 *
 * Threads: any. A share belongs to the object that it is in.
 */
#ifndef CELLFS_FS_KERNEL_BUDGET_H
#define CELLFS_FS_KERNEL_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define BUDGET_CLIENTS 4096
#define BUDGET_LITTLE ((uint64_t)64 << 10)

struct budget {
	uint64_t max;
	_Atomic uint64_t held; /* by all */
	_Atomic uint64_t peak; /* of it, since memory was given back */
	_Atomic uint64_t refused;
	_Atomic uint64_t by[BUDGET_CLIENTS];
	void (*reclaim)(void *arg); /* NULL = nothing can be got back */
	void *reclaim_arg;
};

struct budget_share {
	struct budget *budget; /* NULL = holds nothing */
	uint64_t held;
	uint32_t client;
};

void budget_init(struct budget *b, uint64_t max);
/* What this thread opens from now on is for @who; 0 = for nobody. */
void budget_ask_as(pid_t who);

/* For whom the thread works. */
void budget_share_init(struct budget_share *s, struct budget *b);
/*
 * The share becomes @bytes in all: 0, which less always is, or -ENOBUFS, and it
 * is as it was.
 */
int budget_hold(struct budget_share *s, uint64_t bytes);
/* The same without getting anything back first, for who has a lock. */
int budget_try(struct budget_share *s, uint64_t bytes);
/* What a buffer of @cap bytes takes when it grows to @len: it doubles. */
static inline uint64_t budget_grown(uint64_t cap, uint64_t len)
{
	uint64_t n = cap ? cap : 64;

	while (n < len)
		n *= 2;
	return n;
}
/* Gives all of it back; the share holds nothing from then on. */
void budget_give(struct budget_share *s);
/* The sentence for who was refused, as the value @err. */
int budget_say(const struct budget *b, int err);

/* Gives what is free of the heap to the system: free(3) keeps most small pieces. */
void heap_trim(void);

#endif
