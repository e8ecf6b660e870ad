/*
 * The client's snapshots.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/remote/client_inside.h"

static int snapshot_new(struct remote *r, uint32_t handle,
			struct remote_snapshot **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out) {
		call_close(r, WIRE_SNAPSHOT_RELEASE, handle);
		return why(-ENOMEM, "out of memory for a snapshot");
	}
	(*out)->handle = handle;
	return 0;
}

int remote_snapshot_take(struct store *s, struct snapshot **out)
{
	struct field got[FIELDS_MAX] = {0};
	struct remote_snapshot *snap;
	int r = call_fields(remote_of(s), WIRE_SNAPSHOT_TAKE, NULL, got);

	if (r == 0)
		r = snapshot_new(remote_of(s), (uint32_t)got[0].n, &snap);
	if (r == 0)
		*out = &snap->base;
	return r;
}

void remote_snapshot_release(struct snapshot *snap)
{
	call_close(remote_of(snap->store), WIRE_SNAPSHOT_RELEASE,
		   snapshot_handle(snap));
	free(snap);
}

int remote_snapshot_create(struct store *s, struct table *t, struct bytes name)
{
	return call_fields(remote_of(s), WIRE_SNAPSHOT_CREATE,
			   FIELDS(field_table(t), field_bytes(name)), NULL);
}

int remote_snapshot_drop(struct store *s, struct table *t, struct bytes name)
{
	return call_fields(remote_of(s), WIRE_SNAPSHOT_DROP,
			   FIELDS(field_table(t), field_bytes(name)), NULL);
}

int remote_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			   struct bytes to)
{
	return call_fields(
		remote_of(s), WIRE_SNAPSHOT_RENAME,
		FIELDS(field_table(t), field_bytes(from), field_bytes(to)),
		NULL);
}

int remote_snapshot_next(struct store *s, struct table *t, struct bytes after,
			 struct snapshot_info *out)
{
	struct field got[FIELDS_MAX] = {0};
	int r = call_fields(remote_of(s), WIRE_SNAPSHOT_NEXT,
			    FIELDS(field_table(t), field_bytes(after)), got);

	if (r <= 0)
		return r;
	if (bytes_cmp(bytes_str(got[0].name), after) <= 0)
		return call_nonsense(remote_of(s));
	*out = (struct snapshot_info){.taken_ms = (int64_t)got[1].n};
	memcpy(out->name, got[0].name, sizeof(out->name));
	return r;
}

/* Reads the tables that a named snapshot shows: 0 or -ENOMEM. */
static int take_tables(struct decoder *d, struct snapshot_tables *tables)
{
	char name[TABLE_NAME_LEN_MAX + 1];
	uint32_t n = take_u32(d);
	int r = 0;

	for (uint32_t i = 0; r == 0 && !d->bad && i < n; i++) {
		struct schema schema;
		uint64_t id = take_u64(d);

		take_name(d, name, TABLE_NAME_LEN_MAX);
		take_schema(d, &schema);
		if (!d->bad)
			r = snapshot_tables_add(tables, id, name, &schema);
		schema_free(&schema);
	}
	return r < 0 ? why(r, "out of memory for a snapshot") : 0;
}

int remote_snapshot_open(struct store *s, struct table *t, struct bytes name,
			 struct snapshot **out)
{
	struct snapshot_tables tables = {0};
	struct remote_snapshot *snap = NULL;
	uint32_t handle = 0;
	int64_t taken_ms = 0;
	struct call c;
	int r, err = 0;

	call_begin(&c, remote_of(s), WIRE_SNAPSHOT_OPEN);
	put_u32(&c.out, table_handle(t));
	put_bytes(&c.out, name);
	r = call_run(&c);
	if (r >= 0) {
		handle = take_u32(&c.in);
		taken_ms = take_i64(&c.in);
		err = take_tables(&c.in, &tables);
		r = err < 0 ? err : call_taken(&c, 0);
	}
	call_end(&c);
	if (err < 0)
		call_close(remote_of(s), WIRE_SNAPSHOT_RELEASE, handle);
	if (r == 0)
		r = snapshot_new(remote_of(s), handle, &snap);
	if (r < 0) {
		snapshot_tables_free(&tables);
		return r;
	}
	snap->base.table = t ? t->id : 0;
	snap->base.taken_ms = taken_ms;
	snap->base.tables = tables;
	*out = &snap->base;
	return 0;
}

int remote_snapshot_clone(struct snapshot *snap,
			  const struct snapshot_table *from, struct bytes to)
{
	return call_fields(remote_of(snap->store), WIRE_SNAPSHOT_CLONE,
			   FIELDS(field_number(snapshot_handle(snap)),
				  field_bytes(bytes_str(from->name)),
				  field_bytes(to)),
			   NULL);
}

int remote_snapshot_restore(struct snapshot *snap,
			    const struct snapshot_table *from)
{
	return call_fields(remote_of(snap->store), WIRE_SNAPSHOT_RESTORE,
			   FIELDS(field_number(snapshot_handle(snap)),
				  field_bytes(bytes_str(from->name))),
			   NULL);
}
