/*
 * The serving end: tables, namespaces, snapshots.
 */
#include <errno.h>
#include <stdio.h>

#include "store/remote/server_inside.h"

/* Runs @change, which @act describes, if the hooks admit it. */
static int make(struct served *sv, struct decoder *in, struct served_act *act,
		int (*change)(struct served *sv, struct served_act *act))
{
	int r = wire_done(in);

	if (r == 0)
		r = served_before(sv, act);
	if (r < 0)
		return r;
	return served_after(sv, act, change(sv, act));
}

/* Hooks print table names, so the length is limited to a valid one. */
static struct bytes take_table_name(struct decoder *in)
{
	return take_bytes(in, TABLE_NAME_LEN_MAX);
}

static int put_table(struct served *sv, struct encoder *out, struct table *t)
{
	uint32_t handle = slot_add(sv, SLOT_TABLE, t, NULL);

	if (!handle) {
		table_unref(t);
		return -EMFILE;
	}
	put_u32(out, handle);
	put_u64(out, table_id(t));
	return 0;
}

int serve_table_open(struct served *sv, struct decoder *in, struct encoder *out)
{
	struct bytes name = take_bytes(in, WIRE_FRAME_MAX);
	struct table *t;
	int r = wire_done(in);

	if (r == 0)
		r = table_open(sv->store, name, &t);
	return r < 0 ? r : put_table(sv, out, t);
}

int serve_table_open_id(struct served *sv, struct decoder *in,
			struct encoder *out)
{
	uint64_t id = take_u64(in);
	struct table *t;
	int r = wire_done(in);

	if (r == 0)
		r = sv->store->ops->table_open_id(sv->store, id, &t);
	return r < 0 ? r : put_table(sv, out, t);
}

static int close_slot(struct served *sv, struct decoder *in,
		      enum slot_type type)
{
	struct slot *slot = slot_find(sv, take_u32(in), type);
	int r = wire_done(in);

	if (r == 0 && !slot)
		r = why(-EBADF, "the request closes nothing that is open");
	if (r == 0)
		slot_close(slot);
	return r;
}

int serve_table_close(struct served *sv, struct decoder *in,
		      struct encoder *out)
{
	(void)out;
	return close_slot(sv, in, SLOT_TABLE);
}

int serve_table_schema(struct served *sv, struct decoder *in,
		       struct encoder *out)
{
	struct schema schema;
	struct table *t;
	int r = take_table(sv, in, false, &t);

	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = table_schema(t, &schema);
	if (r < 0)
		return r;
	put_schema(out, &schema);
	schema_free(&schema);
	return 0;
}

int serve_table_version(struct served *sv, struct decoder *in,
			struct encoder *out)
{
	struct table *t;
	int r = take_table(sv, in, false, &t);

	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		put_u64(out, table_schema_version(t));
	return r;
}

int serve_table_name(struct served *sv, struct decoder *in, struct encoder *out)
{
	char name[TABLE_NAME_LEN_MAX + 1];
	struct table *t;
	int r = take_table(sv, in, false, &t);

	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = table_name(t, name);
	if (r == 0)
		put_bytes(out, bytes_str(name));
	return r;
}

int serve_table_create(struct served *sv, struct decoder *in,
		       struct encoder *out)
{
	struct served_act act = {.what = SERVED_MADE};
	struct schema schema;
	int r;

	(void)out;
	act.name = take_table_name(in);
	take_schema(in, &schema);
	r = wire_done(in);
	if (r == 0)
		r = served_before(sv, &act);
	if (r == 0)
		r = served_after(
			sv, &act,
			store_table_create(sv->store, act.name, &schema));
	schema_free(&schema);
	return r;
}

int serve_table_drop(struct served *sv, struct decoder *in, struct encoder *out)
{
	struct served_act act = {.what = SERVED_DROPPED, .deletes = true};
	bool only_if_empty;
	int r;

	(void)out;
	act.name = take_table_name(in);
	only_if_empty = take_bool(in);
	r = wire_done(in);
	if (r == 0)
		r = served_before(sv, &act);
	if (r < 0)
		return r;
	return served_after(
		sv, &act, store_table_drop(sv->store, act.name, only_if_empty));
}

static int truncate_it(struct served *sv, struct served_act *act)
{
	return store_table_truncate(sv->store, act->name);
}

int serve_table_truncate(struct served *sv, struct decoder *in,
			 struct encoder *out)
{
	struct served_act act = {.what = SERVED_TRUNCATED, .deletes = true};

	(void)out;
	act.name = take_table_name(in);
	return make(sv, in, &act, truncate_it);
}

static int rename_it(struct served *sv, struct served_act *act)
{
	return store_table_rename(sv->store, act->name, act->to);
}

int serve_table_rename(struct served *sv, struct decoder *in,
		       struct encoder *out)
{
	struct served_act act = {.what = SERVED_RENAMED};

	(void)out;
	act.name = take_table_name(in);
	act.to = take_table_name(in);
	return make(sv, in, &act, rename_it);
}

int serve_table_alter(struct served *sv, struct decoder *in,
		      struct encoder *out)
{
	struct alter a = {0};
	struct served_act act = {.what = SERVED_ALTERED, .alter = &a};
	int r = take_table(sv, in, false, &act.table);

	(void)out;
	a.rest = take_u8(in);
	a.dry = take_bool(in);
	take_schema(in, &a.to);
	take_schema(in, &a.drop);
	if (a.rest > ALTER_DROP)
		in->bad = true;
	act.deletes = a.rest == ALTER_DROP || a.drop.nfamilies;
	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = served_before(sv, &act);
	if (r == 0)
		r = served_after(sv, &act, table_change(act.table, &a));
	alter_free(&a);
	return r;
}

static int add_family(struct served *sv, struct served_act *act)
{
	(void)sv;
	return table_add_family(act->table, act->name);
}

int serve_add_family(struct served *sv, struct decoder *in, struct encoder *out)
{
	struct served_act act = {.what = SERVED_ALTERED};
	int r = take_table(sv, in, false, &act.table);

	(void)out;
	act.name = take_bytes(in, FAMILY_LEN_MAX);
	return r < 0 ? r : make(sv, in, &act, add_family);
}

static int next_name(struct served *sv, struct decoder *in, struct encoder *out,
		     int (*next)(struct store *s, struct bytes after,
				 char name[TABLE_NAME_LEN_MAX + 1]))
{
	struct bytes after = take_bytes(in, WIRE_FRAME_MAX);
	char name[TABLE_NAME_LEN_MAX + 1];
	int r = wire_done(in);

	if (r == 0)
		r = next(sv->store, after, name);
	if (r > 0)
		put_bytes(out, bytes_str(name));
	return r;
}

int serve_table_next(struct served *sv, struct decoder *in, struct encoder *out)
{
	return next_name(sv, in, out, store_table_next);
}

int serve_table_info(struct served *sv, struct decoder *in, struct encoder *out)
{
	struct table_info i;
	struct table *t;
	int r = take_table(sv, in, false, &t);

	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = table_info(t, &i);
	if (r < 0)
		return r;
	put_u8(out, i.exact);
	put_u64(out, i.rows);
	put_u64(out, i.cells);
	put_i64(out, i.oldest);
	put_i64(out, i.newest);
	put_u64(out, i.entries);
	put_u64(out, i.bytes);
	put_u64(out, i.files);
	put_u8(out, i.has_ttl);
	return r;
}

static int create_namespace(struct served *sv, struct served_act *act)
{
	return store_namespace_create(sv->store, act->name);
}

int serve_namespace_create(struct served *sv, struct decoder *in,
			   struct encoder *out)
{
	struct served_act act = {.what = SERVED_NAMESPACE};

	(void)out;
	act.name = take_bytes(in, WIRE_FRAME_MAX);
	return make(sv, in, &act, create_namespace);
}

static int drop_namespace(struct served *sv, struct served_act *act)
{
	return store_namespace_drop(sv->store, act->name);
}

int serve_namespace_drop(struct served *sv, struct decoder *in,
			 struct encoder *out)
{
	struct served_act act = {.what = SERVED_NAMESPACE, .deletes = true};

	(void)out;
	act.name = take_bytes(in, WIRE_FRAME_MAX);
	return make(sv, in, &act, drop_namespace);
}

int serve_namespace_next(struct served *sv, struct decoder *in,
			 struct encoder *out)
{
	return next_name(sv, in, out, store_namespace_next);
}

/* Gives the new slot, or NULL with a sentence after releasing @snap. */
static struct slot *put_snapshot(struct served *sv, struct encoder *out,
				 struct snapshot *snap)
{
	uint32_t handle = slot_add(sv, SLOT_SNAPSHOT, snap, NULL);

	put_u32(out, handle);
	if (!handle)
		snapshot_release(snap);
	return handle ? slot_find(sv, handle, SLOT_SNAPSHOT) : NULL;
}

int serve_snapshot_take(struct served *sv, struct decoder *in,
			struct encoder *out)
{
	struct snapshot *snap;
	int r = wire_done(in);

	if (r == 0)
		r = snapshot_take(sv->store, &snap);
	if (r == 0 && !put_snapshot(sv, out, snap))
		r = -EMFILE;
	return r;
}

int serve_snapshot_release(struct served *sv, struct decoder *in,
			   struct encoder *out)
{
	(void)out;
	return close_slot(sv, in, SLOT_SNAPSHOT);
}

static int create_snapshot(struct served *sv, struct served_act *act)
{
	return store_snapshot_create(sv->store, act->table, act->name);
}

int serve_snapshot_create(struct served *sv, struct decoder *in,
			  struct encoder *out)
{
	struct served_act act = {.what = SERVED_SNAPSHOT_TAKEN};
	int r = take_table(sv, in, true, &act.table);

	(void)out;
	act.name = take_bytes(in, WIRE_FRAME_MAX);
	return r < 0 ? r : make(sv, in, &act, create_snapshot);
}

static int drop_snapshot(struct served *sv, struct served_act *act)
{
	return store_snapshot_drop(sv->store, act->table, act->name);
}

int serve_snapshot_drop(struct served *sv, struct decoder *in,
			struct encoder *out)
{
	struct served_act act = {.what = SERVED_SNAPSHOT_DROPPED,
				 .deletes = true};
	int r = take_table(sv, in, true, &act.table);

	(void)out;
	act.name = take_bytes(in, WIRE_FRAME_MAX);
	return r < 0 ? r : make(sv, in, &act, drop_snapshot);
}

static int rename_snapshot(struct served *sv, struct served_act *act)
{
	return store_snapshot_rename(sv->store, act->table, act->name, act->to);
}

int serve_snapshot_rename(struct served *sv, struct decoder *in,
			  struct encoder *out)
{
	struct served_act act = {.what = SERVED_SNAPSHOT_RENAMED};
	int r = take_table(sv, in, true, &act.table);

	(void)out;
	act.name = take_bytes(in, WIRE_FRAME_MAX);
	act.to = take_bytes(in, WIRE_FRAME_MAX);
	return r < 0 ? r : make(sv, in, &act, rename_snapshot);
}

int serve_snapshot_next(struct served *sv, struct decoder *in,
			struct encoder *out)
{
	struct snapshot_info info;
	struct bytes after;
	struct table *t;
	int r = take_table(sv, in, true, &t);

	after = take_bytes(in, WIRE_FRAME_MAX);
	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = store_snapshot_next(sv->store, t, after, &info);
	if (r > 0) {
		put_bytes(out, bytes_str(info.name));
		put_i64(out, info.taken_ms);
	}
	return r;
}

int serve_snapshot_open(struct served *sv, struct decoder *in,
			struct encoder *out)
{
	const struct snapshot_tables *tables;
	struct snapshot *snap;
	struct bytes name;
	struct slot *slot;
	struct table *t;
	int r = take_table(sv, in, true, &t);

	name = take_bytes(in, WIRE_FRAME_MAX);
	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = store_snapshot_open(sv->store, t, name, &snap);
	if (r < 0)
		return r;
	slot = put_snapshot(sv, out, snap);
	if (!slot)
		return -EMFILE;
	if (t)
		table_ref(t);
	slot->table = t;
	if (buf_set(&slot->name, name) < 0) {
		slot_close(slot);
		return why(-ENOMEM, "out of memory for a snapshot");
	}
	put_i64(out, snapshot_taken_ms(snap));
	tables = &snap->tables;
	put_u32(out, (uint32_t)tables->n);
	for (size_t i = 0; i < tables->n; i++) {
		put_u64(out, tables->at[i].id);
		put_bytes(out, bytes_str(tables->at[i].name));
		put_schema(out, &tables->at[i].schema);
	}
	return 0;
}

/* Reads the handle of a named snapshot and the name of a table in it. */
static int take_named(struct served *sv, struct decoder *in, struct slot **slot,
		      struct bytes *shown)
{
	*slot = slot_find(sv, take_u32(in), SLOT_SNAPSHOT);
	*shown = take_table_name(in);
	if (*slot && (*slot)->name.len)
		return 0;
	return why(-EBADF, "the request names no open snapshot with a name");
}

int serve_snapshot_clone(struct served *sv, struct decoder *in,
			 struct encoder *out)
{
	struct served_act act = {.what = SERVED_MADE};
	struct bytes shown;
	struct slot *slot;
	int r = take_named(sv, in, &slot, &shown);

	(void)out;
	act.name = take_table_name(in);
	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = served_before(sv, &act);
	if (r < 0)
		return r;
	return served_after(sv, &act,
			    store_snapshot_clone(sv->store, slot->table,
						 buf_bytes(&slot->name), shown,
						 act.name));
}

int serve_snapshot_restore(struct served *sv, struct decoder *in,
			   struct encoder *out)
{
	struct served_act act = {.what = SERVED_ALTERED, .deletes = true};
	struct bytes shown;
	struct slot *slot;
	int r = take_named(sv, in, &slot, &shown);

	(void)out;
	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = snapshot_table_open(slot->object, shown, &act.table);
	if (r < 0)
		return r;
	r = served_before(sv, &act);
	if (r == 0)
		r = served_after(sv, &act,
				 store_snapshot_restore(sv->store, slot->table,
							buf_bytes(&slot->name),
							shown));
	table_unref(act.table);
	return r;
}
