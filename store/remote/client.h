/*
 * A store at the other end of a channel, as a backend of store.h.
 *
 * Each call is one request and its reply, under one lock; a scan fetches its
 * cells in batches. What is open here has a handle there, which is given back
 * when it is closed. A change is on disk when store_close() returns 0.
 *
 * Nothing of the other end is trusted: a reply with a field out of range, or a
 * channel that fails, ends it, and every later call is -ENOTCONN.
 */
#ifndef CELLFS_STORE_REMOTE_CLIENT_H
#define CELLFS_STORE_REMOTE_CLIENT_H

#include "store/remote/channel.h"
#include "store/store.h"

/* Takes ownership of the channel, also on failure. */
int remote_open(struct channel *ch, const struct store_options *o,
		struct store **out);

#endif
