/*
 * Which thread calls: for what each of them has on its own, so that threads
 * that do the same share no line of memory.
 */
#ifndef CELLFS_STORE_THREAD_H
#define CELLFS_STORE_THREAD_H

/* What processors take from each other at once. */
#define CACHE_LINE 64

extern _Thread_local unsigned thread_known; /* its number + 1, or 0 */
unsigned thread_enter(void);

/* The calling thread's; threads are numbered from 0 as they come here. */
static inline unsigned thread_number(void)
{
	return thread_known ? thread_known - 1 : thread_enter();
}

/* How much nicer a thread becomes that gives way: a tenth of the time is its.
 */
#define THREAD_GIVES_WAY 10

/*
 * From now on, where the calling thread and another want one processor, the
 * other has most of it. There is no way back. What the kernel does not grant is
 * done without.
 */
void thread_give_way(void);

#endif
