/*
 * A store that one process has open and others use.
 *
 *	cellctl ── store.h ── remote/client ══ bytes ══ served ── store.h ── lsm
 *
 * The process that holds a store keeps one struct served a client: a session,
 * which takes requests as bytes and gives replies as bytes, in order
 * (remote/wire.h). A client opens the other end as any store. Nothing is done
 * while bytes are fed: a request is run when its reply is asked for, by the
 * thread that asks, so a session needs no thread and who does not read makes
 * nobody wait.
 *
 * Memory is bounded: a request, a reply and one batch ahead, each of at most
 * WIRE_FRAME_MAX, a fixed number of open tables, scans and snapshots, and one
 * hold, whose list has all files. Whatever arrives does no harm but to its own
 * session.
 *
 * Threads: any; served_feed() never waits for a request that is being run.
 */
#ifndef CELLFS_STORE_SERVED_H
#define CELLFS_STORE_SERVED_H

#include <sys/ioctl.h>

#include "store/store.h"

/*
 * Opens the store behind the file @path, which a mount serves
 * (MNT/.cellfs/store). Of @o only read_only and sync are looked at; NULL is
 * neither. -ENOTCONN when the process that served it has ended, also later, of
 * any call.
 */
int store_open_served(const char *path, const struct store_options *o,
		      struct store **out);

/*
 * A read-only mount refuses write(2) on its control file. There a client sends
 * the bytes of its requests by ioctl(2), one such portion a call.
 */
struct served_portion {
	uint32_t len;
	uint8_t data[8192 - 4];
};
#define SERVED_FEED _IOW('c', 1, struct served_portion)

enum served_what {
	SERVED_ROWS, /* table, rows */
	SERVED_MADE, /* name: of a table; so for the next four */
	SERVED_DROPPED,
	SERVED_TRUNCATED,
	SERVED_RENAMED,	       /* to */
	SERVED_ALTERED,	       /* table */
	SERVED_SNAPSHOT_TAKEN, /* table or NULL, name; so for the next two */
	SERVED_SNAPSHOT_DROPPED,
	SERVED_SNAPSHOT_RENAMED, /* to */
	SERVED_NAMESPACE,	 /* name */
	SERVED_CARE, /* a flush or compaction; a table in or out of service */
};

/* A change that a client asks for. Pointers are valid for the call only. */
struct served_act {
	enum served_what what;
	bool deletes; /* may hide a cell that is visible now */
	struct table *table;
	const struct mutation *rows;
	size_t nrows;
	struct bytes name, to;
	const struct alter *alter; /* SERVED_ALTERED; NULL: adds a family */
	void *note; /* the hooks' own: before() sets it for after() */
};

/* How the owner of the store checks clients' changes. Any may be NULL. */
struct served_hooks {
	/* 0 admits the change; an error (with a sentence) refuses it. */
	int (*before)(void *arg, struct served_act *act);
	/* The change was tried; if @result < 0, part of it may be done. */
	void (*after)(void *arg, struct served_act *act, int result);
	void *arg;
};

struct served;

/* The caller keeps ownership of the store and of hooks->arg. -ENOMEM. */
int served_new(struct store *s, const struct served_hooks *hooks,
	       struct served **out);
void served_free(struct served *sv); /* @sv may be NULL */
/*
 * Takes bytes of requests, cut anywhere. 0; -EAGAIN when replies must be read
 * first; -EPROTO when the bytes are no request, which ends the session.
 */
int served_feed(struct served *sv, struct bytes data);
#define SERVED_KEEP 1
/*
 * Calls @give once with the next at most @size bytes of replies, running a
 * request if there is need: none when nothing was asked. SERVED_KEEP of @give: it
 * has not taken them, and is given them again by the next call. 0, -EPROTO, or the
 * error that @give returns (then the session is over too).
 */
int served_take(struct served *sv, size_t size,
		int (*give)(void *arg, struct bytes data), void *arg);

#endif
