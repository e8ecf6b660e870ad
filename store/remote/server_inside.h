/*
 * What the files of the serving end share: a session and its handles.
 */
#ifndef CELLFS_STORE_REMOTE_SERVER_INSIDE_H
#define CELLFS_STORE_REMOTE_SERVER_INSIDE_H

#include <pthread.h>

#include "store/filter/filter.h"
#include "store/front/backend.h"
#include "store/remote/wire.h"
#include "store/served.h"

/* Tables, scans and snapshots that a session may have open. */
#define SLOTS_MAX 256

enum slot_type {
	SLOT_FREE,
	SLOT_TABLE,
	SLOT_SCAN,
	SLOT_SNAPSHOT,
};

struct slot {
	uint8_t type;
	uint32_t generation;
	void *object;
	struct filter *filter; /* of a scan, which asks it; may be NULL */
	/* Of a snapshot with a name: that, and its table or NULL. */
	struct buf name;
	struct table *table;
};

/*
 * The batch that a scan will ask for next, made while its client is busy with
 * the one before. Only of one scan at a time, and not before it has asked a
 * second time: most scans have one batch.
 */
struct ahead {
	uint32_t due; /* the scan whose batch is to be made; 0 = none */
	uint32_t of;  /* the scan whose batch is here; 0 = none */
	int state;    /* behind it, as in the batch */
	int failed;   /* no batch: an error */
	struct buf batch;
};

struct served {
	struct store *store;
	struct served_hooks hooks;
	pthread_mutex_t in_lock;  /* never held while a request is run */
	struct buf in;		  /* in_lock: requests that were not run */
	bool is_over;		  /* in_lock */
	pthread_mutex_t run_lock; /* guards all below; before in_lock */
	struct buf request;
	struct buf out; /* replies; those before out_at were given */
	size_t out_at;
	struct ahead ahead;
	struct slot slots[SLOTS_MAX];
};

/* The handle, or 0 with a sentence when too much is open. */
uint32_t slot_add(struct served *sv, enum slot_type type, void *object,
		  struct filter *filter);
/* NULL when it is none. */
struct slot *slot_find(struct served *sv, uint32_t handle, enum slot_type type);
/* Closes what it holds. */
void slot_close(struct slot *slot);

/*
 * The hooks' word: 0, or the error that refuses @act. When it is 0,
 * served_after() must follow, and passes @result on.
 */
int served_before(struct served *sv, struct served_act *act);
int served_after(struct served *sv, struct served_act *act, int result);

/* A table's handle: 0, or -EBADF; with *out NULL for handle 0 if @or_none. */
int take_table(struct served *sv, struct decoder *in, bool or_none,
	       struct table **out);

/*
 * An op: takes its fields, appends the reply's to @out, gives its result. On a
 * negative one what was appended is taken back.
 */
typedef int (*served_op)(struct served *sv, struct decoder *in,
			 struct encoder *out);

/* server_table.c */
int serve_table_open(struct served *sv, struct decoder *in,
		     struct encoder *out);
int serve_table_open_id(struct served *sv, struct decoder *in,
			struct encoder *out);
int serve_table_close(struct served *sv, struct decoder *in,
		      struct encoder *out);
int serve_table_schema(struct served *sv, struct decoder *in,
		       struct encoder *out);
int serve_table_version(struct served *sv, struct decoder *in,
			struct encoder *out);
int serve_table_name(struct served *sv, struct decoder *in,
		     struct encoder *out);
int serve_table_create(struct served *sv, struct decoder *in,
		       struct encoder *out);
int serve_table_drop(struct served *sv, struct decoder *in,
		     struct encoder *out);
int serve_table_truncate(struct served *sv, struct decoder *in,
			 struct encoder *out);
int serve_table_rename(struct served *sv, struct decoder *in,
		       struct encoder *out);
int serve_table_alter(struct served *sv, struct decoder *in,
		      struct encoder *out);
int serve_add_family(struct served *sv, struct decoder *in,
		     struct encoder *out);
int serve_table_info(struct served *sv, struct decoder *in,
		     struct encoder *out);
int serve_table_next(struct served *sv, struct decoder *in,
		     struct encoder *out);
int serve_namespace_create(struct served *sv, struct decoder *in,
			   struct encoder *out);
int serve_namespace_drop(struct served *sv, struct decoder *in,
			 struct encoder *out);
int serve_namespace_next(struct served *sv, struct decoder *in,
			 struct encoder *out);
int serve_snapshot_take(struct served *sv, struct decoder *in,
			struct encoder *out);
int serve_snapshot_release(struct served *sv, struct decoder *in,
			   struct encoder *out);
int serve_snapshot_create(struct served *sv, struct decoder *in,
			  struct encoder *out);
int serve_snapshot_drop(struct served *sv, struct decoder *in,
			struct encoder *out);
int serve_snapshot_rename(struct served *sv, struct decoder *in,
			  struct encoder *out);
int serve_snapshot_next(struct served *sv, struct decoder *in,
			struct encoder *out);
int serve_snapshot_open(struct served *sv, struct decoder *in,
			struct encoder *out);
int serve_snapshot_clone(struct served *sv, struct decoder *in,
			 struct encoder *out);
int serve_snapshot_restore(struct served *sv, struct decoder *in,
			   struct encoder *out);

/* server_cell.c */
/* Makes the batch that is due. */
void serve_ahead(struct served *sv);
int serve_mutate(struct served *sv, struct decoder *in, struct encoder *out);
int serve_mutate_many(struct served *sv, struct decoder *in,
		      struct encoder *out);
int serve_scan_open(struct served *sv, struct decoder *in, struct encoder *out);
int serve_scan_next(struct served *sv, struct decoder *in, struct encoder *out);
int serve_scan_close(struct served *sv, struct decoder *in,
		     struct encoder *out);
int serve_get(struct served *sv, struct decoder *in, struct encoder *out);

#endif
