/*
 * The serving end: what answers each operation.
 */
#include <errno.h>

#include "store/remote/server_inside.h"

/* A client asks for no more at once: requests of others wait meanwhile. */
#define CHECK_PART ((uint64_t)4 << 20)

static int run_hello(struct served *sv, struct field *in, struct field *out)
{
	out[0].n = WIRE_VERSION;
	for (unsigned a = 0; a < STORE_ABILITIES; a++)
		out[1].n |= (uint64_t)store_can(sv->store, a) << a;
	return in[0].n == WIRE_VERSION
		       ? 0
		       : why(-EPROTONOSUPPORT,
			     "this program is of another version of cellfs "
			     "than the mount");
}

/* Answers with a handle of the open table. */
static int give_table(struct served *sv, struct table *t, struct field *out)
{
	out[1].n = table_id(t);
	return slot_add(sv, SLOT_TABLE, t, NULL, &out[0].n);
}

static int run_table_open(struct served *sv, struct field *in,
			  struct field *out)
{
	struct table *t;
	int r = table_open(sv->store, in[0].s, &t);

	return r < 0 ? r : give_table(sv, t, out);
}

static int run_table_open_id(struct served *sv, struct field *in,
			     struct field *out)
{
	struct table *t;
	int r = sv->store->ops->table_open_id(sv->store, in[0].n, &t);

	return r < 0 ? r : give_table(sv, t, out);
}

static int run_snapshot_take(struct served *sv, struct field *in,
			     struct field *out)
{
	struct snapshot *snap;
	int r = snapshot_take(sv->store, &snap);

	return r < 0 ? r : slot_add(sv, SLOT_SNAPSHOT, snap, NULL, &out[0].n);
}

static int run_snapshot_next(struct served *sv, struct field *in,
			     struct field *out)
{
	struct snapshot_info info = {0};
	int r = store_snapshot_next(sv->store, in[0].object, in[1].s, &info);

	memcpy(out[0].name, info.name, sizeof(info.name));
	out[1].n = (uint64_t)info.taken_ms;
	return r;
}

static int run_snapshot_open(struct served *sv, struct field *in,
			     struct field *out)
{
	struct table *t = in[0].object;
	struct snapshot *snap;
	struct slot *slot;
	int r = store_snapshot_open(sv->store, t, in[1].s, &snap);

	if (r == 0)
		r = slot_add(sv, SLOT_SNAPSHOT, snap, NULL, &out[0].n);
	if (r < 0)
		return r;
	slot = slot_find(sv, (uint32_t)out[0].n, SLOT_SNAPSHOT);
	slot->table = t;
	if (t)
		table_ref(t);
	out[1].n = (uint64_t)snapshot_taken_ms(snap);
	if (snapshot_tables_copy(&out[2].tables, &snap->tables) == 0 &&
	    buf_set(&slot->name, in[1].s) == 0)
		return 0;
	slot_close(slot);
	return why(-ENOMEM, "out of memory for a snapshot");
}

static int run_snapshot_clone(struct served *sv, struct field *in,
			      struct field *out)
{
	struct served_act act = {.what = SERVED_MADE, .name = in[2].s};
	const struct slot *of = in[0].object;
	int r = served_before(sv, &act);

	if (r < 0)
		return r;
	return served_after(sv, &act,
			    store_snapshot_clone(sv->store, of->table,
						 buf_bytes(&of->name), in[1].s,
						 act.name));
}

static int run_snapshot_restore(struct served *sv, struct field *in,
				struct field *out)
{
	struct served_act act = {.what = SERVED_ALTERED, .deletes = true};
	const struct slot *of = in[0].object;
	int r = snapshot_table_open(of->object, in[1].s, &act.table);

	if (r < 0)
		return r;
	r = served_before(sv, &act);
	if (r == 0)
		r = served_after(sv, &act,
				 store_snapshot_restore(sv->store, of->table,
							buf_bytes(&of->name),
							in[1].s));
	table_unref(act.table);
	return r;
}

static int run_stats(struct served *sv, struct field *in, struct field *out)
{
	struct encoder e = {.out = &sv->hold};
	struct store_stat st;
	uint32_t n = 0;

	while (store_stat(sv->store, n, &st) > 0)
		n++;
	put_u32(&e, n);
	for (uint32_t i = 0; i < n; i++) {
		if (store_stat(sv->store, i, &st) <= 0)
			return why(-EIO, "the store's figures changed");
		put_bytes(&e, bytes_str(st.name));
		put_bytes(&e, bytes_str(st.help));
		put_u8(&e, st.counter);
		put_u64(&e, st.value);
	}
	out[0].s = buf_bytes(&sv->hold);
	return e.err < 0 ? why(e.err, "out of memory for figures") : 0;
}

static int run_shape(struct served *sv, struct field *in, struct field *out)
{
	int r = store_shape(sv->store, &sv->hold);

	out[0].s = buf_bytes(&sv->hold);
	return r;
}

struct faults {
	struct buf *text;
	int err;
};

static void add_fault(void *arg, const char *sentence)
{
	struct faults *f = arg;

	if (f->err == 0 && f->text->len < WIRE_BATCH_MAX)
		f->err = buf_append(f->text, sentence, strlen(sentence));
	if (f->err == 0 && f->text->len < WIRE_BATCH_MAX)
		f->err = buf_append(f->text, "\n", 1);
}

static int run_check(struct served *sv, struct field *in, struct field *out)
{
	struct store_checking *at = &out[1].checking;
	uint64_t bytes = in[1].n < CHECK_PART ? in[1].n : CHECK_PART;
	struct faults f = {.text = &sv->hold};
	int r;

	*at = in[0].checking;
	r = store_check_part(sv->store, at, bytes, add_fault, &f);
	out[0].n = r > 0;
	out[2].n = at->total;
	out[3].s = buf_bytes(&sv->hold);
	if (f.err < 0)
		return why(f.err, "out of memory for faults");
	return r < 0 ? r : 0;
}

static int run_hold(struct served *sv, struct field *in, struct field *out)
{
	struct encoder e = {0};
	struct hold *h;
	struct slot *slot;
	int r;

	for (size_t i = 0; i < SLOTS_MAX; i++)
		if (sv->slots[i].type == SLOT_HOLD)
			return why(-EMFILE,
				   "this client holds files already: release "
				   "them first");
	r = store_hold(sv->store, &h);
	if (r == 0)
		r = slot_add(sv, SLOT_HOLD, h, NULL, &out[0].n);
	if (r < 0)
		return r;
	slot = slot_find(sv, (uint32_t)out[0].n, SLOT_HOLD);
	e.out = &slot->name;
	put_fields(&e, "h", FIELDS({.hold = h}));
	if (e.err < 0) {
		slot_close(slot);
		return why(-ENOMEM, "out of memory for the list of files");
	}
	out[1].n = slot->name.len;
	return 0;
}

static int run_hold_read(struct served *sv, struct field *in, struct field *out)
{
	struct slot *slot = slot_find(sv, (uint32_t)in[0].n, SLOT_HOLD);
	size_t n;

	if (!slot || in[1].n > slot->name.len)
		return why(-EBADF, "the request reads nothing that is held");
	n = slot->name.len - (size_t)in[1].n;
	out[0].s = bytes_of(slot->name.data + in[1].n,
			    n < WIRE_BATCH_MAX ? n : WIRE_BATCH_MAX);
	return 0;
}

/* The operations on an open table, or (flush, compact, snapshots) on all. */
static int run_on_table(struct served *sv, enum wire_op op, struct field *in,
			struct field *out)
{
	struct store *s = sv->store;
	struct table *t = in[0].object;

	switch (op) {
	case WIRE_TABLE_SCHEMA:
		return table_schema(t, &out[0].schema);
	case WIRE_TABLE_VERSION:
		out[0].n = table_schema_version(t);
		return 0;
	case WIRE_TABLE_NAME:
		return table_name(t, out[0].name);
	case WIRE_TABLE_ENABLE:
		return table_enable(t, in[1].n);
	case WIRE_TABLE_IS_ENABLED:
		return table_is_enabled(t);
	case WIRE_TABLE_ALTER:
		return table_change(t, &in[1].alter);
	case WIRE_TABLE_ADD_FAMILY:
		return table_add_family(t, in[1].s);
	case WIRE_TABLE_INFO:
		return table_info(t, &out[0].info);
	case WIRE_MUTATE:
		out[0].rows = in[2].rows;
		return table_mutate(t, in[2].rows, in[1].n ? MUTATE_SYNC : 0);
	case WIRE_SNAPSHOT_CREATE:
		return store_snapshot_create(s, t, in[1].s);
	case WIRE_SNAPSHOT_DROP:
		return store_snapshot_drop(s, t, in[1].s);
	case WIRE_SNAPSHOT_RENAME:
		return store_snapshot_rename(s, t, in[1].s, in[2].s);
	case WIRE_FLUSH:
		return store_flush(s, t);
	case WIRE_COMPACT:
		return store_compact(s, t);
	default:
		return why(-EPROTO, "a request for nothing that is known");
	}
}

int run_call(struct served *sv, enum wire_op op, struct field *in,
	     struct field *out)
{
	struct store *s = sv->store;
	uint32_t handle = (uint32_t)in[0].n;

	switch (op) {
	case WIRE_TABLE_CLOSE:
		return close_handle(sv, handle, SLOT_TABLE);
	case WIRE_TABLE_CREATE:
		return store_table_create(s, in[0].s, &in[1].schema);
	case WIRE_TABLE_DROP:
		return store_table_drop(s, in[0].s, in[1].n);
	case WIRE_TABLE_TRUNCATE:
		return store_table_truncate(s, in[0].s);
	case WIRE_TABLE_RENAME:
		return store_table_rename(s, in[0].s, in[1].s);
	case WIRE_TABLE_NEXT:
		return store_table_next(s, in[0].s, out[0].name);
	case WIRE_NAMESPACE_CREATE:
		return store_namespace_create(s, in[0].s);
	case WIRE_NAMESPACE_DROP:
		return store_namespace_drop(s, in[0].s);
	case WIRE_NAMESPACE_NEXT:
		return store_namespace_next(s, in[0].s, out[0].name);
	case WIRE_SNAPSHOT_RELEASE:
		return close_handle(sv, handle, SLOT_SNAPSHOT);
	case WIRE_HOLD_RELEASE:
		return close_handle(sv, handle, SLOT_HOLD);
	case WIRE_KEEP_LOG:
		return store_keep_log(s, in[0].n);
	case WIRE_SYNC:
		return store_sync(s);
	case WIRE_SPACE:
		return store_space(s, &out[0].space);
	case WIRE_HEALTH:
		return store_health(s);
	case WIRE_NOW:
		out[0].n = (uint64_t)store_now_ms(s);
		return 0;
	default:
		return run_on_table(sv, op, in, out);
	}
}

#define CHANGE(kind) .change = true, .what = SERVED_##kind
#define DELETE(kind) CHANGE(kind), .deletes = true

const struct served_row served_rows[WIRE_OPS] = {
	[WIRE_HELLO] = {run_hello},
	[WIRE_TABLE_OPEN] = {run_table_open},
	[WIRE_TABLE_OPEN_ID] = {run_table_open_id},
	[WIRE_TABLE_CREATE] = {CHANGE(MADE)},
	[WIRE_TABLE_DROP] = {DELETE(DROPPED)},
	[WIRE_TABLE_TRUNCATE] = {DELETE(TRUNCATED)},
	[WIRE_TABLE_RENAME] = {CHANGE(RENAMED)},
	[WIRE_TABLE_ALTER] = {CHANGE(ALTERED)},
	[WIRE_TABLE_ADD_FAMILY] = {CHANGE(ALTERED)},
	[WIRE_NAMESPACE_CREATE] = {CHANGE(NAMESPACE)},
	[WIRE_NAMESPACE_DROP] = {DELETE(NAMESPACE)},
	[WIRE_MUTATE] = {CHANGE(ROWS)},
	[WIRE_MUTATE_MANY] = {run_mutate_many},
	[WIRE_SCAN_OPEN] = {run_scan_open},
	[WIRE_SCAN_NEXT] = {run_scan_next},
	[WIRE_SCAN_CLOSE] = {run_scan_close},
	[WIRE_GET] = {run_get},
	[WIRE_SNAPSHOT_TAKE] = {run_snapshot_take},
	[WIRE_SNAPSHOT_CREATE] = {CHANGE(SNAPSHOT_TAKEN)},
	[WIRE_SNAPSHOT_DROP] = {DELETE(SNAPSHOT_DROPPED)},
	[WIRE_SNAPSHOT_RENAME] = {CHANGE(SNAPSHOT_RENAMED)},
	[WIRE_SNAPSHOT_NEXT] = {run_snapshot_next},
	[WIRE_SNAPSHOT_OPEN] = {run_snapshot_open},
	[WIRE_SNAPSHOT_CLONE] = {run_snapshot_clone},
	[WIRE_SNAPSHOT_RESTORE] = {run_snapshot_restore},
	[WIRE_FLUSH] = {CHANGE(CARE)},
	[WIRE_COMPACT] = {CHANGE(CARE)},
	[WIRE_STATS] = {run_stats},
	[WIRE_CHECK] = {run_check},
	[WIRE_SCAN_PASS] = {run_scan_pass},
	[WIRE_HOLD] = {run_hold},
	[WIRE_HOLD_READ] = {run_hold_read},
	[WIRE_KEEP_LOG] = {CHANGE(CARE)},
	[WIRE_SHAPE] = {run_shape},
	[WIRE_TABLE_ENABLE] = {CHANGE(CARE)},
};
