/*
 * A byte channel between the two ends of a served store.
 *
 * What the client needs of one: a file that a mount serves (channel.c), or
 * what a test puts between the ends. Its owner's struct begins with this one.
 */
#ifndef CELLFS_STORE_REMOTE_CHANNEL_H
#define CELLFS_STORE_REMOTE_CHANNEL_H

#include <sys/types.h>

#include "store/value/bytes.h"

struct channel {
	/* Sends all of @data: 0 or a negative errno. */
	int (*send)(struct channel *ch, struct bytes data);
	/* Waits for 1 to @n bytes and gives their number; 0 = end; negative. */
	ssize_t (*receive)(struct channel *ch, void *to, size_t n);
	void (*close)(struct channel *ch); /* frees @ch */
};

#endif
