/*
 * The serving end: a row for each operation, and what it calls.
 */
#include <errno.h>

#include "store/remote/server_inside.h"

static int run_hello(struct served *sv, struct field *in, struct field *out)
{
	out[0].n = WIRE_VERSION;
	return in[0].n == WIRE_VERSION
		       ? 0
		       : why(-EPROTONOSUPPORT,
			     "this program is of another version of cellfs "
			     "than the mount");
}

/* Answers with a handle of the open table, which is the session's from now. */
static int give_table(struct served *sv, struct table *t, struct field *out)
{
	out[0].n = slot_add(sv, SLOT_TABLE, t, NULL);
	out[1].n = table_id(t);
	if (out[0].n)
		return 0;
	table_unref(t);
	return -EMFILE;
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

static int run_table_close(struct served *sv, struct field *in,
			   struct field *out)
{
	return close_handle(sv, (uint32_t)in[0].n, SLOT_TABLE);
}

static int run_table_schema(struct served *sv, struct field *in,
			    struct field *out)
{
	return table_schema(in[0].object, &out[0].schema);
}

static int run_table_version(struct served *sv, struct field *in,
			     struct field *out)
{
	out[0].n = table_schema_version(in[0].object);
	return 0;
}

static int run_table_name(struct served *sv, struct field *in,
			  struct field *out)
{
	return table_name(in[0].object, out[0].name);
}

static int run_table_create(struct served *sv, struct field *in,
			    struct field *out)
{
	return store_table_create(sv->store, in[0].s, &in[1].schema);
}

static int run_table_drop(struct served *sv, struct field *in,
			  struct field *out)
{
	return store_table_drop(sv->store, in[0].s, in[1].n);
}

static int run_table_truncate(struct served *sv, struct field *in,
			      struct field *out)
{
	return store_table_truncate(sv->store, in[0].s);
}

static int run_table_rename(struct served *sv, struct field *in,
			    struct field *out)
{
	return store_table_rename(sv->store, in[0].s, in[1].s);
}

static int run_table_alter(struct served *sv, struct field *in,
			   struct field *out)
{
	const struct alter a = {
		.rest = (uint8_t)in[1].n,
		.dry = in[2].n,
		.to = in[3].schema,
		.drop = in[4].schema,
	};
	struct served_act act = {
		.what = SERVED_ALTERED,
		.table = in[0].object,
		.alter = &a,
		.deletes = a.rest == ALTER_DROP || a.drop.nfamilies,
	};
	int r;

	if (a.rest > ALTER_DROP)
		return why(-EPROTO, "a change of a schema of no known kind");
	r = served_before(sv, &act);
	return r < 0 ? r : served_after(sv, &act, table_change(act.table, &a));
}

static int run_add_family(struct served *sv, struct field *in,
			  struct field *out)
{
	return table_add_family(in[0].object, in[1].s);
}

static int run_table_next(struct served *sv, struct field *in,
			  struct field *out)
{
	return store_table_next(sv->store, in[0].s, out[0].name);
}

static int run_table_info(struct served *sv, struct field *in,
			  struct field *out)
{
	struct table_info i = {0};
	int r = table_info(in[0].object, &i);

	out[0].n = i.exact;
	out[1].n = i.rows;
	out[2].n = i.cells;
	out[3].n = (uint64_t)i.oldest;
	out[4].n = (uint64_t)i.newest;
	out[5].n = i.entries;
	out[6].n = i.bytes;
	out[7].n = i.files;
	out[8].n = i.has_ttl;
	return r;
}

static int run_namespace_create(struct served *sv, struct field *in,
				struct field *out)
{
	return store_namespace_create(sv->store, in[0].s);
}

static int run_namespace_drop(struct served *sv, struct field *in,
			      struct field *out)
{
	return store_namespace_drop(sv->store, in[0].s);
}

static int run_namespace_next(struct served *sv, struct field *in,
			      struct field *out)
{
	return store_namespace_next(sv->store, in[0].s, out[0].name);
}

/* The handle of the snapshot, or 0 after it was released. */
static uint32_t give_snapshot(struct served *sv, struct snapshot *snap)
{
	uint32_t handle = slot_add(sv, SLOT_SNAPSHOT, snap, NULL);

	if (!handle)
		snapshot_release(snap);
	return handle;
}

static int run_snapshot_take(struct served *sv, struct field *in,
			     struct field *out)
{
	struct snapshot *snap;
	int r = snapshot_take(sv->store, &snap);

	if (r < 0)
		return r;
	out[0].n = give_snapshot(sv, snap);
	return out[0].n ? 0 : -EMFILE;
}

static int run_snapshot_release(struct served *sv, struct field *in,
				struct field *out)
{
	return close_handle(sv, (uint32_t)in[0].n, SLOT_SNAPSHOT);
}

static int run_snapshot_create(struct served *sv, struct field *in,
			       struct field *out)
{
	return store_snapshot_create(sv->store, in[0].object, in[1].s);
}

static int run_snapshot_drop(struct served *sv, struct field *in,
			     struct field *out)
{
	return store_snapshot_drop(sv->store, in[0].object, in[1].s);
}

static int run_snapshot_rename(struct served *sv, struct field *in,
			       struct field *out)
{
	return store_snapshot_rename(sv->store, in[0].object, in[1].s, in[2].s);
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

static void put_tables(struct encoder *out,
		       const struct snapshot_tables *tables)
{
	put_u32(out, (uint32_t)tables->n);
	for (size_t i = 0; i < tables->n; i++) {
		put_u64(out, tables->at[i].id);
		put_bytes(out, bytes_str(tables->at[i].name));
		put_schema(out, &tables->at[i].schema);
	}
}

static int serve_snapshot_open(struct served *sv, struct decoder *in,
			       struct encoder *out)
{
	uint32_t table = take_u32(in), handle;
	struct bytes name = take_bytes(in, WIRE_FRAME_MAX);
	struct slot *of = slot_find(sv, table, SLOT_TABLE), *slot;
	struct snapshot *snap;
	int r = wire_done(in);

	if (r == 0 && table && !of)
		r = no_table();
	if (r == 0)
		r = store_snapshot_open(sv->store, of ? of->object : NULL, name,
					&snap);
	if (r < 0)
		return r;
	handle = give_snapshot(sv, snap);
	if (!handle)
		return -EMFILE;
	slot = slot_find(sv, handle, SLOT_SNAPSHOT);
	slot->table = of ? of->object : NULL;
	if (of)
		table_ref(slot->table);
	if (buf_set(&slot->name, name) < 0) {
		slot_close(slot);
		return why(-ENOMEM, "out of memory for a snapshot");
	}
	put_u32(out, handle);
	put_i64(out, snapshot_taken_ms(snap));
	put_tables(out, &snap->tables);
	return 0;
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

static int run_sync(struct served *sv, struct field *in, struct field *out)
{
	return store_sync(sv->store);
}

static int run_flush(struct served *sv, struct field *in, struct field *out)
{
	return store_flush(sv->store, in[0].object);
}

static int run_compact(struct served *sv, struct field *in, struct field *out)
{
	return store_compact(sv->store, in[0].object);
}

static int serve_stats(struct served *sv, struct decoder *in,
		       struct encoder *out)
{
	struct store_stat st;
	uint32_t n = 0;
	int r = wire_done(in);

	if (r < 0)
		return r;
	while (store_stat(sv->store, n, &st) > 0)
		n++;
	put_u32(out, n);
	for (uint32_t i = 0; i < n; i++) {
		if (store_stat(sv->store, i, &st) <= 0)
			return why(-EIO, "the store's figures changed");
		put_bytes(out, bytes_str(st.name));
		put_bytes(out, bytes_str(st.help));
		put_u8(out, st.counter);
		put_u64(out, st.value);
	}
	return 0;
}

static int run_space(struct served *sv, struct field *in, struct field *out)
{
	struct store_space space = {0};
	int r = store_space(sv->store, &space);

	out[0].n = space.total_bytes;
	out[1].n = space.free_bytes;
	out[2].n = space.avail_bytes;
	return r;
}

static int run_health(struct served *sv, struct field *in, struct field *out)
{
	return store_health(sv->store);
}

static int run_now(struct served *sv, struct field *in, struct field *out)
{
	out[0].n = (uint64_t)store_now_ms(sv->store);
	return 0;
}

#define CHANGE(kind) .change = true, .what = SERVED_##kind
#define DELETE(kind) CHANGE(kind), .deletes = true

const struct served_row served_rows[WIRE_OPS] = {
	[WIRE_HELLO] = {run_hello},
	[WIRE_TABLE_OPEN] = {run_table_open},
	[WIRE_TABLE_OPEN_ID] = {run_table_open_id},
	[WIRE_TABLE_CLOSE] = {run_table_close},
	[WIRE_TABLE_SCHEMA] = {run_table_schema},
	[WIRE_TABLE_VERSION] = {run_table_version},
	[WIRE_TABLE_NAME] = {run_table_name},
	[WIRE_TABLE_CREATE] = {run_table_create, CHANGE(MADE)},
	[WIRE_TABLE_DROP] = {run_table_drop, DELETE(DROPPED)},
	[WIRE_TABLE_TRUNCATE] = {run_table_truncate, DELETE(TRUNCATED)},
	[WIRE_TABLE_RENAME] = {run_table_rename, CHANGE(RENAMED)},
	[WIRE_TABLE_ALTER] = {run_table_alter},
	[WIRE_TABLE_ADD_FAMILY] = {run_add_family, CHANGE(ALTERED)},
	[WIRE_TABLE_NEXT] = {run_table_next},
	[WIRE_NAMESPACE_CREATE] = {run_namespace_create, CHANGE(NAMESPACE)},
	[WIRE_NAMESPACE_DROP] = {run_namespace_drop, DELETE(NAMESPACE)},
	[WIRE_NAMESPACE_NEXT] = {run_namespace_next},
	[WIRE_MUTATE] = {.by_hand = serve_mutate},
	[WIRE_MUTATE_MANY] = {.by_hand = serve_mutate_many},
	[WIRE_SYNC] = {run_sync},
	[WIRE_SCAN_OPEN] = {.by_hand = serve_scan_open},
	[WIRE_SCAN_NEXT] = {.by_hand = serve_scan_next},
	[WIRE_SCAN_CLOSE] = {run_scan_close},
	[WIRE_GET] = {.by_hand = serve_get},
	[WIRE_SNAPSHOT_TAKE] = {run_snapshot_take},
	[WIRE_SNAPSHOT_RELEASE] = {run_snapshot_release},
	[WIRE_SNAPSHOT_CREATE] = {run_snapshot_create, CHANGE(SNAPSHOT_TAKEN)},
	[WIRE_SNAPSHOT_DROP] = {run_snapshot_drop, DELETE(SNAPSHOT_DROPPED)},
	[WIRE_SNAPSHOT_RENAME] = {run_snapshot_rename,
				  CHANGE(SNAPSHOT_RENAMED)},
	[WIRE_SNAPSHOT_NEXT] = {run_snapshot_next},
	[WIRE_SNAPSHOT_OPEN] = {.by_hand = serve_snapshot_open},
	[WIRE_SNAPSHOT_CLONE] = {run_snapshot_clone},
	[WIRE_SNAPSHOT_RESTORE] = {run_snapshot_restore},
	[WIRE_FLUSH] = {run_flush, CHANGE(CARE)},
	[WIRE_COMPACT] = {run_compact, CHANGE(CARE)},
	[WIRE_STATS] = {.by_hand = serve_stats},
	[WIRE_SPACE] = {run_space},
	[WIRE_HEALTH] = {run_health},
	[WIRE_NOW] = {run_now},
	[WIRE_TABLE_INFO] = {run_table_info},
};
