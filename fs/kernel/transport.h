/*
 * How requests come: by read(2) from /dev/fuse, or over io_uring.
 *
 * Over io_uring each processor has a queue, and libfuse one thread for it, on
 * that processor: what a program there asks is served there, one after the other.
 * The kernel never says in advance whether it will be so: the first request
 * shows it. What needs no answer (a forget) comes from the device as before.
 *
 * Two things are other than with the device:
 *
 * - A thread that waits has all programs on its processor wait, and perhaps the
 *   one it waits for. So a request that may wait for others is handed to a thread
 *   apart; its buffers are its own until its reply. Those threads stay, since the
 *   kernel takes back what a thread that ends has given to a queue. The queues end
 *   when all is replied: transport_loop().
 * - libfuse finds no request that a signal interrupts, and tells nobody which it
 *   was. So it is looked who of the waiting has a signal: transport_wait_begin().
 */
#ifndef CELLFS_FS_KERNEL_TRANSPORT_H
#define CELLFS_FS_KERNEL_TRANSPORT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "fs/kernel/fuse.h"

/* What the kernel needs to offer it. */
#define TRANSPORT_KERNEL \
	"Linux 6.14 and Y in /sys/module/fuse/parameters/enable_uring"

/*
 * Threads apart: for each session and reader of the trace, and some to spare. A
 * queue has more requests than that.
 */
#define TRANSPORT_APART_MAX 24
#define TRANSPORT_DEPTH 32
/* Each request of a queue has a buffer of that many bytes. */
#define TRANSPORT_WRITE_MAX (256 << 10)

enum transport_way {
	TRANSPORT_DEVICE,
	TRANSPORT_UNKNOWN, /* io_uring was asked for: see the first request */
	TRANSPORT_RING,
};

/* A read, or with @data a write. */
struct transport_request {
	fuse_req_t req;
	fuse_ino_t ino;
	const char *data;
	size_t size;
	off_t off;
	struct fuse_file_info fi;
};

/* A request that waits. */
struct transport_wait {
	fuse_req_t req;
	/* As for fuse_req_interrupt_func(); called once, under a lock. */
	void (*interrupted)(fuse_req_t req, void *arg);
	void *arg;
	struct transport_wait *next; /* wait_lock */
};

struct transport {
	_Atomic int way; /* enum transport_way */
	pthread_mutex_t wait_lock;
	struct transport_wait *waits; /* wait_lock */
	/* Serves a request in a thread apart. */
	void (*serve)(struct transport_request *r);
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t more;
	pthread_t threads[TRANSPORT_APART_MAX];
	unsigned nthreads, busy;
	struct transport_request waiting[TRANSPORT_APART_MAX];
	unsigned nwaiting;
	bool closed; /* none is taken any more */
	bool stop;   /* and the threads end */
};

/* @ring: is it to be tried? */
void transport_init(struct transport *t, bool ring,
		    void (*serve)(struct transport_request *r));
void transport_free(struct transport *t);
/* 0, or -EOPNOTSUPP with words when the library has no io_uring. */
int transport_check(void);
/* Does the kernel offer it? To be asked by the INIT. */
bool transport_offered(const struct fuse_conn_info *conn);
/* How @req came; not for a forget. */
enum transport_way transport_of(fuse_req_t req);
/* Has the caller of @req a signal to see to? */
bool transport_interrupted(fuse_req_t req);
/*
 * From the one to the other the caller of @w->req is looked after. It may be
 * called already, by this thread, when the first returns.
 */
void transport_wait_begin(struct transport *t, struct transport_wait *w);
void transport_wait_end(struct transport *t, struct transport_wait *w);
/* Has it served in a thread apart; false: all are taken. */
bool transport_apart(struct transport *t, const struct transport_request *r);
/*
 * Serves the session, with @threads at most. 0; a signal's number; a negative
 * errno.
 */
int transport_loop(struct transport *t, struct fuse_session *se,
		   unsigned threads);

#endif
