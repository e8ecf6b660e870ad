/* Tables by name, their schemas and namespaces. */
#include <unistd.h>

#include "store/library/convert.h"

int cellfs_table_create(struct cellfs *s, const char *name, const char *schema)
{
	struct schema owned = {0}, made = {0};
	int r;

	why_clear();
	schema_init(&owned, geteuid(), getegid());
	owned.fixed = true;
	r = with_reason(
		schema_parse(bytes_str(schema ? schema : ""), &owned, &made));
	if (r == 0)
		r = store_table_create(store_in(s), bytes_str(name), &made);
	schema_free(&made);
	return r;
}

int cellfs_table_drop(struct cellfs *s, const char *name)
{
	return store_table_drop(store_in(s), bytes_str(name), false);
}

int cellfs_table_truncate(struct cellfs *s, const char *name)
{
	return store_table_truncate(store_in(s), bytes_str(name));
}

int cellfs_table_rename(struct cellfs *s, const char *from, const char *to)
{
	return store_table_rename(store_in(s), bytes_str(from), bytes_str(to));
}

int cellfs_table_next(struct cellfs *s, const char *after,
		      char name[CELLFS_NAME_SIZE])
{
	return store_table_next(store_in(s), bytes_str(after), name);
}

int cellfs_table_open(struct cellfs *s, const char *name,
		      struct cellfs_table **out)
{
	return table_open(store_in(s), bytes_str(name), (struct table **)out);
}

void cellfs_table_close(struct cellfs_table *t)
{
	table_unref(table_in(t));
}

int cellfs_table_schema(struct cellfs_table *t, struct cellfs_buffer *text)
{
	struct schema schema = {0};
	struct buf made = {0};
	int r = table_schema(table_in(t), &schema);

	if (r == 0)
		r = with_reason(schema_format(&schema, &made));
	if (r == 0)
		r = with_reason(buf_append(&made, "", 1));
	schema_free(&schema);
	if (r < 0) {
		buf_free(&made);
		return r;
	}
	made.len--;
	buf_free(buf_in(text));
	*buf_in(text) = made;
	return 0;
}

static int edit_by_text(void *text, const struct schema *now, struct alter *a)
{
	return alter_parse(bytes_str(text), now, 0, a);
}

int cellfs_table_alter(struct cellfs_table *t, const char *schema)
{
	return table_edit(table_in(t), edit_by_text,
			  (void *)(uintptr_t)(schema ? schema : ""));
}

int cellfs_namespace_create(struct cellfs *s, const char *name)
{
	return store_namespace_create(store_in(s), bytes_str(name));
}

int cellfs_namespace_drop(struct cellfs *s, const char *name)
{
	return store_namespace_drop(store_in(s), bytes_str(name));
}

int cellfs_namespace_next(struct cellfs *s, const char *after,
			  char name[CELLFS_NAME_SIZE])
{
	return store_namespace_next(store_in(s), bytes_str(after), name);
}
