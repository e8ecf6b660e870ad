#include "fs/kernel/invalidate.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "fs/host/descriptors.h"
#include "fs/kernel/fuse.h"
#include "fs/kernel/node.h"
#include "fs/text/name.h"
#include "store/os/clock.h"
#include "store/os/thread.h"

#define QUEUE_MAX 4096
#define STALE_MAX 8

enum notice_kind {
	NOTICE_ENTRY,
	NOTICE_ATTRIBUTES,
	NOTICE_DATA,
	NOTICE_ABSENT,
	NOTICE_NAMES,
};

struct notice {
	uint8_t kind;
	uint8_t name_len;
	uint64_t node; /* or the parent */
	char name[NAME_LEN_MAX + 1];
};

struct invalidator {
	struct nodes *nodes;
	struct fuse_session *session; /* NULL = not started */
	bool silent;
	int device; /* until the thread takes it: see own_files() */
	pthread_t thread;
	_Atomic bool stop;    /* set under the lock */
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t more;
	unsigned head, count;
	bool busy;	      /* a notice taken from the queue is being sent */
	pthread_cond_t taken; /* the thread has taken device */
	/* Tables to invalidate wholly: their notices found no space. */
	uint64_t stale[STALE_MAX];
	unsigned nstale;
	unsigned patience;     /* notices sent before a stale table's turn */
	uint64_t queued, done; /* numbers of notices, ever */
	/* The same of notices for which tables are, or were, stale. */
	uint64_t marked, walked;
	unsigned waiting;
	pthread_cond_t quiet; /* done or walked advanced, and a thread waits */
	struct invalidate_counts counts;
	struct notice queue[QUEUE_MAX];
};

int invalidator_new(struct nodes *nodes, struct invalidator **out)
{
	struct invalidator *iv = calloc(1, sizeof(*iv));

	if (!iv)
		return -ENOMEM;
	iv->nodes = nodes;
	pthread_mutex_init(&iv->lock, NULL);
	pthread_cond_init(&iv->more, NULL);
	pthread_cond_init(&iv->taken, NULL);
	clock_cond_init(&iv->quiet);
	iv->device = -1;
	*out = iv;
	return 0;
}

/* Invalidates all nodes below @top, and their names. Returns how many. */
static uint64_t send_below(struct invalidator *iv, uint64_t top)
{
	struct fuse_session *se = iv->session;
	uint64_t cursor = 0, told = 0;
	struct node_place n;

	while (!iv->stop && nodes_below(iv->nodes, top, &cursor, &n) > 0) {
		if (n.attached)
			fuse_lowlevel_notify_inval_entry(se, n.parent, n.name,
							 n.name_len);
		fuse_lowlevel_notify_inval_inode(se, n.id, 0, 0);
		told++;
	}
	nodes_below_end(iv->nodes, &cursor);
	return told;
}

/* An error means that the kernel does not have what it should drop. */
static void send(struct invalidator *iv, const struct notice *n)
{
	struct fuse_session *se = iv->session;

	switch (n->kind) {
	case NOTICE_ENTRY:
	case NOTICE_ABSENT:
		fuse_lowlevel_notify_inval_entry(se, n->node, n->name,
						 n->name_len);
		break;
	case NOTICE_ATTRIBUTES:
		fuse_lowlevel_notify_inval_inode(se, n->node, -1, 0);
		break;
	case NOTICE_DATA:
		fuse_lowlevel_notify_inval_inode(se, n->node, 0, 0);
		break;
	case NOTICE_NAMES:
		send_below(iv, n->node);
		break;
	}
}

static void send_next(struct invalidator *iv)
{
	struct notice n = iv->queue[iv->head];

	assert(iv->count > 0 && !iv->busy);
	assert(!iv->nstale || iv->patience > 0);
	iv->head = (iv->head + 1) % QUEUE_MAX;
	iv->count--;
	iv->counts.sent++;
	if (iv->nstale)
		iv->patience--;
	iv->busy = true;
	pthread_mutex_unlock(&iv->lock);
	send(iv, &n);
	pthread_mutex_lock(&iv->lock);
	iv->busy = false;
	iv->done++;
	if (iv->waiting)
		pthread_cond_broadcast(&iv->quiet);
}

/* A notice that finds no space from here on makes the table stale again. */
static void send_stale(struct invalidator *iv)
{
	uint64_t top = iv->stale[--iv->nstale], told;
	uint64_t walked = iv->nstale ? iv->walked : iv->marked;

	iv->patience = QUEUE_MAX;
	iv->busy = true;
	pthread_mutex_unlock(&iv->lock);
	fuse_lowlevel_notify_inval_inode(iv->session, top, 0, 0);
	told = send_below(iv, top);
	pthread_mutex_lock(&iv->lock);
	iv->counts.sent += told + 1;
	iv->counts.walks++;
	iv->busy = false;
	iv->walked = walked;
	if (iv->waiting)
		pthread_cond_broadcast(&iv->quiet);
}

/*
 * A notice can wait in the kernel for the lock of a directory, and a thread
 * that waits there outlives kill -9, as would the files that it shares with the
 * process. The kernel would take the daemon for alive, and a request that holds
 * that lock, such as a remove, would wait for its reply for ever. So the thread
 * has its own file table, with only stderr and another open file of the
 * session's connection. Then requests that the daemon did not reply to fail
 * when it dies, and the lock is freed.
 */
static void own_files(int session, int device, bool silent)
{
	if (device < 0 || unshare(CLONE_FILES) != 0)
		return;
	dup2(device, session);
	descriptors_close_range(STDERR_FILENO + 1, (unsigned)session - 1);
	descriptors_close_range((unsigned)session + 1, ~0U);
	/*
	 * Else a program that waits for the end of the caller's output would
	 * wait for this thread.
	 */
	if (silent)
		descriptors_silence();
}

/* Opens another file of the session's connection, or -1. */
static int open_device(int session)
{
	uint32_t from = (uint32_t)session;
	int fd;

	/* Without close_range() files could not be closed later. */
	if (session <= STDERR_FILENO || descriptors_close_range(~0U, ~0U) != 0)
		return -1;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && ioctl(fd, FUSE_DEV_IOC_CLONE, &from) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void *run(void *arg)
{
	struct invalidator *iv = arg;

	own_files(fuse_session_fd(iv->session), iv->device, iv->silent);
	pthread_mutex_lock(&iv->lock);
	iv->device = -1;
	pthread_cond_broadcast(&iv->taken);
	for (;;) {
		while (!iv->count && !iv->nstale && !iv->stop)
			pthread_cond_wait(&iv->more, &iv->lock);
		if (iv->stop)
			break;
		if (iv->nstale && (!iv->count || !iv->patience))
			send_stale(iv);
		else
			send_next(iv);
	}
	pthread_mutex_unlock(&iv->lock);
	return NULL;
}

int invalidator_start(struct invalidator *iv, struct fuse_session *se,
		      bool silent)
{
	int device = open_device(fuse_session_fd(se)), r;

	iv->session = se;
	iv->silent = silent;
	iv->device = device;
	r = thread_start(&iv->thread, run, iv);
	if (r < 0)
		iv->session = NULL;
	pthread_mutex_lock(&iv->lock);
	while (r == 0 && iv->device >= 0)
		pthread_cond_wait(&iv->taken, &iv->lock);
	pthread_mutex_unlock(&iv->lock);
	if (device >= 0)
		close(device);
	return r;
}

void invalidator_stop(struct invalidator *iv)
{
	if (!iv || !iv->session)
		return;
	pthread_mutex_lock(&iv->lock);
	iv->stop = true;
	pthread_cond_signal(&iv->more);
	pthread_cond_broadcast(&iv->quiet);
	pthread_mutex_unlock(&iv->lock);
	pthread_join(iv->thread, NULL);
	iv->session = NULL;
}

void invalidator_free(struct invalidator *iv)
{
	if (!iv)
		return;
	invalidator_stop(iv);
	pthread_cond_destroy(&iv->more);
	pthread_cond_destroy(&iv->taken);
	pthread_cond_destroy(&iv->quiet);
	pthread_mutex_destroy(&iv->lock);
	free(iv);
}

/* REQUIRES: the lock. Marks all below @top to be invalidated once more. */
static void mark_stale(struct invalidator *iv, uint64_t top)
{
	iv->marked++;
	for (unsigned i = 0; i < iv->nstale; i++)
		if (iv->stale[i] == top || iv->stale[i] == FUSE_ROOT_ID)
			return;
	if (!iv->nstale)
		iv->patience = QUEUE_MAX;
	if (iv->nstale == STALE_MAX || top == FUSE_ROOT_ID) {
		iv->nstale = 0;
		top = FUSE_ROOT_ID;
	}
	assert(iv->nstale < STALE_MAX);
	iv->stale[iv->nstale++] = top;
	pthread_cond_signal(&iv->more);
}

/* REQUIRES: the lock. False if the queue is full. */
static bool queue_put(struct invalidator *iv, uint8_t kind, uint64_t node,
		      struct bytes name)
{
	struct notice *n;

	if (iv->count == QUEUE_MAX)
		return false;
	n = &iv->queue[(iv->head + iv->count) % QUEUE_MAX];
	n->kind = kind;
	n->node = node;
	n->name_len = (uint8_t)name.len;
	if (name.len)
		memcpy(n->name, name.data, name.len);
	n->name[name.len] = '\0';
	iv->count++;
	iv->queued++;
	pthread_cond_signal(&iv->more);
	return true;
}

static void queue_add(struct invalidator *iv, uint8_t kind, uint64_t node,
		      struct bytes name)
{
	uint64_t top;
	bool done;

	if (name.len > NAME_LEN_MAX || iv->stop)
		return;
	/* Of a directory that is only in memory the kernel has nothing. */
	if (!nodes_known(iv->nodes, node, kind == NOTICE_NAMES))
		return;
	pthread_mutex_lock(&iv->lock);
	done = queue_put(iv, kind, node, name);
	if (!done && kind == NOTICE_ABSENT) {
		iv->counts.dropped++;
		done = true;
	}
	pthread_mutex_unlock(&iv->lock);
	/* The kernel caches nothing of a node that does not exist any more. */
	top = done ? 0 : nodes_table(iv->nodes, node);
	if (!top)
		return;
	pthread_mutex_lock(&iv->lock);
	if (!queue_put(iv, kind, node, name))
		mark_stale(iv, top);
	pthread_mutex_unlock(&iv->lock);
}

void invalidate_entry(struct invalidator *iv, uint64_t parent,
		      struct bytes name)
{
	queue_add(iv, NOTICE_ENTRY, parent, name);
}

void invalidate_inode(struct invalidator *iv, uint64_t node, bool data)
{
	queue_add(iv, data ? NOTICE_DATA : NOTICE_ATTRIBUTES, node,
		  (struct bytes){0});
}

void invalidate_absent(struct invalidator *iv, uint64_t parent,
		       struct bytes name)
{
	queue_add(iv, NOTICE_ABSENT, parent, name);
}

void invalidate_names(struct invalidator *iv, uint64_t node)
{
	queue_add(iv, NOTICE_NAMES, node, (struct bytes){0});
}

void invalidate_wait(struct invalidator *iv, unsigned ms)
{
	uint64_t until = ms ? monotonic_ns() + ms * NS_PER_MS : UINT64_MAX;
	uint64_t queued, marked;
	bool in_time = true;

	if (!iv->session)
		return;
	pthread_mutex_lock(&iv->lock);
	iv->waiting++;
	queued = iv->queued;
	marked = iv->marked;
	while ((iv->done < queued || iv->walked < marked) && !iv->stop &&
	       in_time)
		in_time = clock_cond_wait(&iv->quiet, &iv->lock, until);
	iv->waiting--;
	pthread_mutex_unlock(&iv->lock);
}

void invalidate_below(struct invalidator *iv, uint64_t top)
{
	struct node_place n = {.id = top};
	uint64_t cursor = 0, sent = 0;

	if (!iv->session)
		return;
	do {
		fuse_lowlevel_notify_inval_inode(iv->session, n.id, -1, 0);
		sent++;
	} while (nodes_below(iv->nodes, top, &cursor, &n) > 0);
	pthread_mutex_lock(&iv->lock);
	iv->counts.sent += sent;
	pthread_mutex_unlock(&iv->lock);
}

/* FUSE_NOTIFY_INC_EPOCH of protocol 7.44, which libfuse 3.18 knows first. */
#define NOTICE_EPOCH 8

bool invalidate_all_names(struct invalidator *iv)
{
	struct fuse_out_header notice = {.len = sizeof(notice),
					 .error = NOTICE_EPOCH};

	if (!iv->session || write(fuse_session_fd(iv->session), &notice,
				  sizeof(notice)) != sizeof(notice))
		return false;
	pthread_mutex_lock(&iv->lock);
	iv->counts.sent++;
	pthread_mutex_unlock(&iv->lock);
	return true;
}

void invalidate_now(struct invalidator *iv, uint64_t node)
{
	if (!iv->session || !nodes_known(iv->nodes, node, false))
		return;
	/*
	 * The kernel may not have made use yet of the reply that brings it the
	 * node, and what that says is old.
	 */
	if (fuse_lowlevel_notify_inval_inode(iv->session, node, -1, 0) ==
	    -ENOENT) {
		nodes_late(iv->nodes, node);
		invalidate_all_names(iv);
		invalidate_inode(iv, node, false);
	}
	pthread_mutex_lock(&iv->lock);
	iv->counts.sent++;
	pthread_mutex_unlock(&iv->lock);
}

void invalidate_counts(struct invalidator *iv, struct invalidate_counts *out)
{
	pthread_mutex_lock(&iv->lock);
	*out = iv->counts;
	out->queued = iv->count + iv->nstale + iv->busy;
	pthread_mutex_unlock(&iv->lock);
}
