/* Snapshots, in memory and by name. */
#include "store/library/convert.h"

int cellfs_snapshot_take(struct cellfs *s, struct cellfs_snapshot **out)
{
	return snapshot_take(store_in(s), (struct snapshot **)out);
}

int cellfs_snapshot_create(struct cellfs *s, struct cellfs_table *t,
			   const char *name)
{
	return store_snapshot_create(store_in(s), table_in(t), bytes_str(name));
}

int cellfs_snapshot_drop(struct cellfs *s, struct cellfs_table *t,
			 const char *name)
{
	return store_snapshot_drop(store_in(s), table_in(t), bytes_str(name));
}

int cellfs_snapshot_next(struct cellfs *s, struct cellfs_table *t,
			 const char *after, char name[CELLFS_NAME_SIZE],
			 int64_t *taken_ms)
{
	struct snapshot_info info;
	int r = store_snapshot_next(store_in(s), table_in(t), bytes_str(after),
				    &info);

	if (r <= 0)
		return r;
	memcpy(name, info.name, sizeof(info.name));
	if (taken_ms)
		*taken_ms = info.taken_ms;
	return r;
}

int cellfs_snapshot_open(struct cellfs *s, struct cellfs_table *t,
			 const char *name, struct cellfs_snapshot **out)
{
	return store_snapshot_open(store_in(s), table_in(t), bytes_str(name),
				   (struct snapshot **)out);
}

void cellfs_snapshot_close(struct cellfs_snapshot *snap)
{
	snapshot_release((struct snapshot *)snap);
}
