/*
 * What the files of the client share: the store and one call of it.
 */
#ifndef CELLFS_STORE_REMOTE_CLIENT_INSIDE_H
#define CELLFS_STORE_REMOTE_CLIENT_INSIDE_H

#include "store/front/backend.h"
#include "store/remote/channel.h"
#include "store/remote/fields.h"
#include "store/remote/wire.h"

#define FIGURES_MAX 256

struct figure {
	char *name, *help; /* freed when the store is closed */
	bool counter;
	uint64_t value;
};

struct remote {
	struct store base;
	bool sync;		 /* sync every mutation */
	_Atomic bool is_changed; /* there are changes to sync at close */
	pthread_mutex_t lock;	 /* guards all below */
	struct channel *channel;
	uint32_t last_id;
	bool is_lost;
	struct figure figures[FIGURES_MAX];
	size_t nfigures;
};

struct remote_table {
	struct table base;
	uint32_t handle;
	/* The schema version, cached until the next request of any kind. */
	bool has_version;    /* remote.lock */
	uint32_t version_id; /* remote.lock: last_id when it was asked */
	uint64_t version;    /* remote.lock */
};

struct remote_snapshot {
	struct snapshot base;
	uint32_t handle;
};

static inline struct remote *remote_of(const struct store *s)
{
	return (struct remote *)(uintptr_t)s;
}

static inline uint32_t table_handle(const struct table *t)
{
	return t ? ((const struct remote_table *)t)->handle : 0;
}

static inline struct field field_table(const struct table *t)
{
	return field_number(table_handle(t));
}

static inline struct field field_snapshot(const struct snapshot *snap)
{
	return field_number(
		snap ? ((const struct remote_snapshot *)snap)->handle : 0);
}

/*
 * client_call.c: one request and its reply, whose fields the table of ops.h
 * describes. @in is FIELDS(), or NULL for none; @out is as take_fields() wants
 * it, or NULL when the reply has none. The result of the op, or the error that
 * prevented a reply; what is allocated in @out is the caller's then.
 */
int call_fields(struct remote *r, enum wire_op op, struct field *in,
		struct field *out);
/* The same where @out borrows from the reply, which is put in @reply. */
int call_holding(struct remote *r, enum wire_op op, struct field *in,
		 struct field *out, struct buf *reply);
/* A call about the store whose reply has no fields. */
static inline int ask(struct store *s, enum wire_op op, struct field *in)
{
	return call_fields(remote_of(s), op, in, NULL);
}
/*
 * Asks for the first name after @after, into @out[0].name: 1, or 0. A name that
 * is not after it is nonsense: a caller's loop over the names must end.
 */
int ask_next(struct store *s, enum wire_op op, struct field *in,
	     struct bytes after, struct field *out);
/* The reply cannot be true: the store is lost. Returns -ENOTCONN. */
int call_nonsense(struct remote *r);
/* Closes a handle: errors are ignored, and the last sentence is kept. */
void call_close(struct remote *r, enum wire_op op, struct field handle);

/* client_read.c: the part of the vtable that reads. */
int remote_scan_open(struct table *t, const struct scan_spec *spec,
		     struct scan **out);
int remote_scan_next(struct scan *sc, struct cell *out, size_t n);
int remote_scan_pass(struct scan *sc);
void remote_scan_close(struct scan *sc);
int remote_get(struct table *t, struct bytes row, struct bytes family,
	       struct bytes qualifier, int64_t ts, bool exact,
	       const struct snapshot *snap, struct cell *cell,
	       struct buf *hold);

/* client_snapshot.c */
int remote_snapshot_take(struct store *s, struct snapshot **out);
void remote_snapshot_release(struct snapshot *snap);
int remote_snapshot_create(struct store *s, struct table *t, struct bytes name);
int remote_snapshot_drop(struct store *s, struct table *t, struct bytes name);
int remote_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			   struct bytes to);
int remote_snapshot_next(struct store *s, struct table *t, struct bytes after,
			 struct snapshot_info *out);
int remote_snapshot_open(struct store *s, struct table *t, struct bytes name,
			 struct snapshot **out);
int remote_snapshot_clone(struct snapshot *snap,
			  const struct snapshot_table *from, struct bytes to);
int remote_snapshot_restore(struct snapshot *snap,
			    const struct snapshot_table *from);

/* client_hold.c */
int remote_hold(struct store *s, struct hold **out);
void remote_hold_release(struct hold *h);
int remote_keep_log(struct store *s, uint64_t bytes);

/* client_stats.c */
int remote_stat(struct store *s, unsigned i, struct store_stat *out);

#endif
