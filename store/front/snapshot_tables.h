/*
 * What a snapshot remembers of the tables that it shows.
 *
 * Cells are found by sequence, names and schemas are not: a table may be
 * renamed and its schema edited after the snapshot. So it keeps a copy of both,
 * by which it can be listed and restored as it was.
 */
#ifndef CELLFS_STORE_FRONT_SNAPSHOT_TABLES_H
#define CELLFS_STORE_FRONT_SNAPSHOT_TABLES_H

#include "store/value/schema.h"

struct snapshot_table {
	uint64_t id;
	char name[TABLE_NAME_LEN_MAX + 1];
	struct schema schema;
};

/* Zero-initialised is empty. */
struct snapshot_tables {
	size_t n;
	struct snapshot_table *at; /* in byte order of name if added so */
};

/*
 * Appends a copy, but ignores the store's own tables, which listings leave out.
 * 0 or -ENOMEM.
 */
int snapshot_tables_add(struct snapshot_tables *s, uint64_t id,
			const char *name, const struct schema *schema);
int snapshot_tables_copy(struct snapshot_tables *out,
			 const struct snapshot_tables *from);
void snapshot_tables_free(struct snapshot_tables *s);
/* Removes all tables but @id. */
void snapshot_tables_keep(struct snapshot_tables *s, uint64_t id);
/* NULL = the snapshot does not cover the table. */
const struct snapshot_table *
snapshot_tables_find(const struct snapshot_tables *s, uint64_t id);

#endif
