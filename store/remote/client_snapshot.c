/*
 * The client's snapshots.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/remote/client_inside.h"

/* A snapshot of which the server holds one by the handle that it gave. */
static int snapshot_new(struct store *s, struct field handle,
			struct snapshot **out)
{
	struct remote_snapshot *snap = calloc(1, sizeof(*snap));

	if (!snap) {
		call_close(remote_of(s), WIRE_SNAPSHOT_RELEASE, handle);
		return why(-ENOMEM, "out of memory for a snapshot");
	}
	snap->handle = (uint32_t)handle.n;
	*out = &snap->base;
	return 0;
}

int remote_snapshot_take(struct store *s, struct snapshot **out)
{
	struct field got[FIELDS_MAX] = {0};
	int r = call_fields(remote_of(s), WIRE_SNAPSHOT_TAKE, NULL, got);

	return r < 0 ? r : snapshot_new(s, got[0], out);
}

void remote_snapshot_release(struct snapshot *snap)
{
	call_close(remote_of(snap->store), WIRE_SNAPSHOT_RELEASE,
		   field_snapshot(snap));
	free(snap);
}

int remote_snapshot_create(struct store *s, struct table *t, struct bytes name)
{
	return ask(s, WIRE_SNAPSHOT_CREATE,
		   FIELDS(field_table(t), field_bytes(name)));
}

int remote_snapshot_drop(struct store *s, struct table *t, struct bytes name)
{
	return ask(s, WIRE_SNAPSHOT_DROP,
		   FIELDS(field_table(t), field_bytes(name)));
}

int remote_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			   struct bytes to)
{
	return ask(s, WIRE_SNAPSHOT_RENAME,
		   FIELDS(field_table(t), field_bytes(from), field_bytes(to)));
}

int remote_snapshot_next(struct store *s, struct table *t, struct bytes after,
			 struct snapshot_info *out)
{
	struct field got[FIELDS_MAX] = {0};
	int r = ask_next(s, WIRE_SNAPSHOT_NEXT,
			 FIELDS(field_table(t), field_bytes(after)), after,
			 got);

	if (r <= 0)
		return r;
	*out = (struct snapshot_info){.taken_ms = (int64_t)got[1].n};
	memcpy(out->name, got[0].name, sizeof(out->name));
	return r;
}

int remote_snapshot_open(struct store *s, struct table *t, struct bytes name,
			 struct snapshot **out)
{
	struct field got[FIELDS_MAX] = {0};
	int r = call_fields(remote_of(s), WIRE_SNAPSHOT_OPEN,
			    FIELDS(field_table(t), field_bytes(name)), got);

	if (r < 0) {
		/* The server may have opened it: there was no memory here. */
		if (got[0].n)
			call_close(remote_of(s), WIRE_SNAPSHOT_RELEASE, got[0]);
		return r;
	}
	r = snapshot_new(s, got[0], out);
	if (r < 0) {
		snapshot_tables_free(&got[2].tables);
		return r;
	}
	(*out)->table = t ? t->id : 0;
	(*out)->taken_ms = (int64_t)got[1].n;
	(*out)->tables = got[2].tables;
	return 0;
}

int remote_snapshot_clone(struct snapshot *snap,
			  const struct snapshot_table *from, struct bytes to)
{
	return ask(snap->store, WIRE_SNAPSHOT_CLONE,
		   FIELDS(field_snapshot(snap),
			  field_bytes(bytes_str(from->name)), field_bytes(to)));
}

int remote_snapshot_restore(struct snapshot *snap,
			    const struct snapshot_table *from)
{
	return ask(snap->store, WIRE_SNAPSHOT_RESTORE,
		   FIELDS(field_snapshot(snap),
			  field_bytes(bytes_str(from->name))));
}
