#include "store/front/snapshot_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/front/namespace.h"

int snapshot_tables_add(struct snapshot_tables *s, uint64_t id,
			const char *name, const struct schema *schema)
{
	struct snapshot_table *t;

	if (namespace_is_hidden(bytes_str(name)))
		return 0;
	t = reallocarray(s->at, s->n + 1, sizeof(*s->at));
	if (!t)
		return -ENOMEM;
	s->at = t;
	t += s->n;
	*t = (struct snapshot_table){.id = id};
	snprintf(t->name, sizeof(t->name), "%s", name);
	if (schema_copy(&t->schema, schema) < 0)
		return -ENOMEM;
	s->n++;
	return 0;
}

int snapshot_tables_copy(struct snapshot_tables *out,
			 const struct snapshot_tables *from)
{
	struct snapshot_tables s = {0};

	for (size_t i = 0; i < from->n; i++) {
		const struct snapshot_table *t = &from->at[i];
		int r = snapshot_tables_add(&s, t->id, t->name, &t->schema);

		if (r < 0) {
			snapshot_tables_free(&s);
			return r;
		}
	}
	*out = s;
	return 0;
}

void snapshot_tables_free(struct snapshot_tables *s)
{
	for (size_t i = 0; i < s->n; i++)
		schema_free(&s->at[i].schema);
	free(s->at);
	*s = (struct snapshot_tables){0};
}

void snapshot_tables_keep(struct snapshot_tables *s, uint64_t id)
{
	struct snapshot_table *fewer;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->at[i].id == id)
			s->at[n++] = s->at[i];
		else
			schema_free(&s->at[i].schema);
	}
	s->n = n;
	if (n) {
		fewer = reallocarray(s->at, n, sizeof(*s->at));
		s->at = fewer ? fewer : s->at;
	}
}

const struct snapshot_table *
snapshot_tables_find(const struct snapshot_tables *s, uint64_t id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->at[i].id == id)
			return &s->at[i];
	return NULL;
}
