/*
 * What the files of the serving end share: a session and its handles.
 */
#ifndef CELLFS_STORE_REMOTE_SERVER_INSIDE_H
#define CELLFS_STORE_REMOTE_SERVER_INSIDE_H

#include <pthread.h>

#include "store/filter/filter.h"
#include "store/front/backend.h"
#include "store/remote/fields.h"
#include "store/remote/wire.h"
#include "store/served.h"

/* How many tables, scans and snapshots together a session may have open. */
#define SLOTS_MAX 256

enum slot_type {
	SLOT_FREE,
	SLOT_TABLE,
	SLOT_SCAN,
	SLOT_SNAPSHOT,
	SLOT_HOLD,
};

struct slot {
	uint8_t type;
	uint32_t generation;
	void *object;
	struct filter *filter; /* a scan's, which uses it; may be NULL */
	/*
	 * For a named snapshot: its name, and its table or NULL. For a hold:
	 * its list.
	 */
	struct buf name;
	struct table *table;
};

/*
 * The batch that a scan will ask for next, made while its client is busy with
 * the one before. Only of one scan at a time, and not before it has asked a
 * second time: most scans have one batch.
 */
struct ahead {
	uint32_t due; /* the scan whose next batch is to be made; 0 = none */
	uint32_t of;  /* the scan that @batch belongs to; 0 = none */
	int state;    /* the scan's state after the batch */
	int failed;   /* the error that prevented the batch */
	struct buf batch;
};

struct served {
	struct store *store;
	struct served_hooks hooks;
	pthread_mutex_t in_lock;  /* never held while a request is run */
	struct buf in;		  /* in_lock: requests not yet run */
	bool is_over;		  /* in_lock */
	pthread_mutex_t run_lock; /* guards all below; taken before in_lock */
	struct buf request;
	struct buf hold; /* what the fields of the reply borrow */
	struct buf out;	 /* replies; bytes before out_at are delivered */
	size_t out_at;
	struct ahead ahead;
	struct slot slots[SLOTS_MAX];
};

/*
 * The object is the session's from now on, by *handle: 0, or -EMFILE when all
 * slots are in use, and then it and the filter are closed.
 */
int slot_add(struct served *sv, enum slot_type type, void *object,
	     struct filter *filter, uint64_t *handle);
/* NULL if @handle is no open object of this type. */
struct slot *slot_find(struct served *sv, uint32_t handle, enum slot_type type);
/* Closes the slot's object and frees the slot. */
void slot_close(struct slot *slot);

/* What the hooks are told of a change that is a row's: its table and names. */
struct served_act act_of(enum wire_op op, const struct field *in);
/*
 * Asks the hooks: 0, or the error that refuses @act. After 0 served_after()
 * must be called; it returns @result.
 */
int served_before(struct served *sv, struct served_act *act);
int served_after(struct served *sv, struct served_act *act, int result);

/* Closes what is open by the handle: 0 or -EBADF. */
int close_handle(struct served *sv, uint32_t handle, enum slot_type type);

/*
 * Answers an op: @in has its fields, and of each handle the table, the snapshot
 * or (S) the slot in its object; @out is for those of the reply.
 */
typedef int served_run(struct served *sv, struct field *in, struct field *out);

/* What is no change and no more than one call of store.h needs no row. */
struct served_row {
	served_run *run; /* NULL: run_call() */
	/* A change that the hooks are asked about: act_of(). */
	bool change, deletes;
	enum served_what what;
};

/* server_ops.c */
extern const struct served_row served_rows[WIRE_OPS];
int run_call(struct served *sv, enum wire_op op, struct field *in,
	     struct field *out);

/* server_cell.c */
/* Makes the batch of the scan ahead.due. */
void serve_ahead(struct served *sv);
served_run run_mutate_many, run_get;
served_run run_scan_open, run_scan_next, run_scan_pass, run_scan_close;

#endif
