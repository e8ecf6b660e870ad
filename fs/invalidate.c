#include "fs/invalidate.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fs/fuse.h"
#include "fs/name.h"
#include "fs/node.h"

#define QUEUE_MAX 4096

enum notice_kind {
	NOTICE_ENTRY,
	NOTICE_DELETE,
	NOTICE_ATTRIBUTES,
	NOTICE_DATA,
	NOTICE_TREE,
};

struct notice {
	uint8_t kind;
	uint8_t name_len;
	uint64_t node; /* or the parent */
	uint64_t child;
	char name[NAME_LEN_MAX + 1];
};

struct invalidator {
	struct nodes *nodes;
	struct fuse_session *session; /* NULL = not started */
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t more;
	bool stop;
	unsigned head, count;
	uint64_t sent, dropped;
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
	*out = iv;
	return 0;
}

/* Errors mean that the kernel did not know what it is told to forget. */
static void send(struct invalidator *iv, const struct notice *n)
{
	struct fuse_session *se = iv->session;
	uint64_t cursor = 0, id;

	switch (n->kind) {
	case NOTICE_ENTRY:
		fuse_lowlevel_notify_inval_entry(se, n->node, n->name,
						 n->name_len);
		break;
	case NOTICE_DELETE:
		fuse_lowlevel_notify_delete(se, n->node, n->child, n->name,
					    n->name_len);
		break;
	case NOTICE_ATTRIBUTES:
		fuse_lowlevel_notify_inval_inode(se, n->node, -1, 0);
		break;
	case NOTICE_DATA:
		fuse_lowlevel_notify_inval_inode(se, n->node, 0, 0);
		break;
	case NOTICE_TREE:
		while (nodes_below(iv->nodes, n->node, &cursor, &id) > 0)
			fuse_lowlevel_notify_inval_inode(se, id, 0, 0);
		break;
	}
}

static void *run(void *arg)
{
	struct invalidator *iv = arg;
	struct notice n;

	pthread_mutex_lock(&iv->lock);
	for (;;) {
		while (!iv->count && !iv->stop)
			pthread_cond_wait(&iv->more, &iv->lock);
		if (iv->stop)
			break;
		n = iv->queue[iv->head];
		iv->head = (iv->head + 1) % QUEUE_MAX;
		iv->count--;
		iv->sent++;
		pthread_mutex_unlock(&iv->lock);
		send(iv, &n);
		pthread_mutex_lock(&iv->lock);
	}
	pthread_mutex_unlock(&iv->lock);
	return NULL;
}

int invalidator_start(struct invalidator *iv, struct fuse_session *se)
{
	int r;

	iv->session = se;
	r = pthread_create(&iv->thread, NULL, run, iv);
	if (r)
		iv->session = NULL;
	return -r;
}

void invalidator_stop(struct invalidator *iv)
{
	if (!iv || !iv->session)
		return;
	pthread_mutex_lock(&iv->lock);
	iv->stop = true;
	pthread_cond_signal(&iv->more);
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
	pthread_mutex_destroy(&iv->lock);
	free(iv);
}

static void add(struct invalidator *iv, uint8_t kind, uint64_t node,
		uint64_t child, struct bytes name)
{
	struct notice *n;

	if (name.len > NAME_LEN_MAX)
		return;
	pthread_mutex_lock(&iv->lock);
	if (iv->count == QUEUE_MAX || iv->stop) {
		iv->dropped++;
	} else {
		n = &iv->queue[(iv->head + iv->count) % QUEUE_MAX];
		n->kind = kind;
		n->node = node;
		n->child = child;
		n->name_len = (uint8_t)name.len;
		if (name.len)
			memcpy(n->name, name.data, name.len);
		n->name[name.len] = '\0';
		iv->count++;
		pthread_cond_signal(&iv->more);
	}
	pthread_mutex_unlock(&iv->lock);
}

void invalidate_entry(struct invalidator *iv, uint64_t parent,
		      struct bytes name)
{
	add(iv, NOTICE_ENTRY, parent, 0, name);
}

void invalidate_inode(struct invalidator *iv, uint64_t node, bool data)
{
	add(iv, data ? NOTICE_DATA : NOTICE_ATTRIBUTES, node, 0,
	    (struct bytes){0});
}

void invalidate_delete(struct invalidator *iv, uint64_t parent, uint64_t child,
		       struct bytes name)
{
	add(iv, NOTICE_DELETE, parent, child, name);
}

void invalidate_below(struct invalidator *iv, uint64_t node)
{
	uint64_t cursor = 0, id = node, sent = 0;

	if (!iv->session)
		return;
	do {
		fuse_lowlevel_notify_inval_inode(iv->session, id, -1, 0);
		sent++;
	} while (nodes_below(iv->nodes, node, &cursor, &id) > 0);
	pthread_mutex_lock(&iv->lock);
	iv->sent += sent;
	pthread_mutex_unlock(&iv->lock);
}

void invalidate_tree(struct invalidator *iv, uint64_t node)
{
	add(iv, NOTICE_TREE, node, 0, (struct bytes){0});
}

static void send_now(struct invalidator *iv, struct notice *n)
{
	/* Not mounted yet, or no more: nobody keeps anything. */
	if (!iv->session)
		return;
	send(iv, n);
	pthread_mutex_lock(&iv->lock);
	iv->sent++;
	pthread_mutex_unlock(&iv->lock);
}

void invalidate_entry_now(struct invalidator *iv, uint64_t parent,
			  struct bytes name)
{
	struct notice n = {.kind = NOTICE_ENTRY, .node = parent};

	if (name.len > NAME_LEN_MAX)
		return;
	n.name_len = (uint8_t)name.len;
	memcpy(n.name, name.data, name.len);
	send_now(iv, &n);
}

void invalidate_inode_now(struct invalidator *iv, uint64_t node, bool data)
{
	struct notice n = {.kind = data ? NOTICE_DATA : NOTICE_ATTRIBUTES,
			   .node = node};

	send_now(iv, &n);
}

void invalidate_counts(struct invalidator *iv, struct invalidate_counts *out)
{
	pthread_mutex_lock(&iv->lock);
	out->sent = iv->sent;
	out->dropped = iv->dropped;
	out->queued = iv->count;
	pthread_mutex_unlock(&iv->lock);
}
