/*
 * Namespaces: the part of a table's name before the ':'.
 *
 * They are rows of a table of their own, which listings leave out. A table can
 * be made in one that exists only; "default" is that of names without one,
 * "hbase" is the store's.
 */
#include <errno.h>
#include <unistd.h>

#include "store/front/backend.h"
#include "store/front/namespace.h"
#include "store/os/patience.h"

#define FAMILY "info"
#define QUALIFIER "d"

static bool is_reserved(struct bytes name)
{
	return bytes_eq(name, bytes_str("default")) ||
	       bytes_eq(name, bytes_str("hbase"));
}

struct bytes namespace_of(struct bytes table)
{
	const uint8_t *colon =
		table.len ? memchr(table.data, ':', table.len) : NULL;

	return bytes_of(table.data, colon ? (size_t)(colon - table.data) : 0);
}

bool namespace_is_hidden(struct bytes table)
{
	return bytes_eq(namespace_of(table), bytes_str("hbase"));
}

/* Opens the table of namespaces: 1, 0 = not made yet, negative. */
static int open_list(struct store *s, struct table **out)
{
	int r = s->ops->table_open(s, bytes_str(NAMESPACE_TABLE), out);

	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

static int make_list(struct store *s, struct table **out)
{
	struct family_attrs attrs;
	struct schema schema;
	int r = open_list(s, out);

	if (r != 0)
		return r < 0 ? r : 0;
	family_attrs_default(&attrs);
	schema_init(&schema, geteuid(), getegid());
	schema.fixed = true;
	r = schema_add(&schema, bytes_str(FAMILY), &attrs);
	if (r == 0)
		r = s->ops->table_create(s, bytes_str(NAMESPACE_TABLE),
					 &schema);
	schema_free(&schema);
	return r < 0 ? r
		     : s->ops->table_open(s, bytes_str(NAMESPACE_TABLE), out);
}

/* 1 if the namespace exists, 0 if not, or a negative errno. */
static int is_known(struct store *s, struct bytes name)
{
	struct table *list = NULL;
	struct cell cell;
	int r;

	if (!name.len || is_reserved(name))
		return 1;
	r = open_list(s, &list);
	if (r > 0)
		r = s->ops->get(list, name, bytes_str(FAMILY),
				bytes_str(QUALIFIER), INT64_MAX, false, NULL,
				&cell, NULL);
	table_unref(list);
	return r;
}

int namespace_check_open(struct bytes table)
{
	if (!namespace_is_hidden(table))
		return 0;
	return why(-ENOENT,
		   "no table '%.*s': the namespace hbase is the "
		   "store's own",
		   (int)table.len, (const char *)table.data);
}

int namespace_enter(struct store *s, struct bytes table)
{
	struct bytes name = namespace_of(table);
	int r = table_name_check(table);

	if (r == 0)
		r = patience_lock(&s->schema_lock);
	/* A backend with its own namespaces checks them itself. */
	if (r < 0 || s->ops->namespace_create)
		return r;
	r = is_known(s, name);
	if (r == 0)
		r = why(-ENOENT,
			"there is no namespace '%.*s': create it before "
			"a table in it",
			(int)name.len, (const char *)name.data);
	else if (r > 0 && namespace_is_hidden(table))
		r = why(-EPERM, "the namespace hbase is the store's own");
	if (r < 0)
		pthread_mutex_unlock(&s->schema_lock);
	return r < 0 ? r : 0;
}

static int change_list(struct store *s, struct table *list, struct bytes name,
		       bool create)
{
	struct change change = {
		.op = create ? CHANGE_PUT : CHANGE_DELETE_FAMILY,
		.family = bytes_str(FAMILY),
		.qualifier = create ? bytes_str(QUALIFIER) : (struct bytes){0},
		.ts = TS_AUTO,
	};
	struct check check = {
		.op = create ? CHECK_ABSENT : CHECK_PRESENT,
		.family = bytes_str(FAMILY),
		.qualifier = bytes_str(QUALIFIER),
	};
	struct mutation m = {
		.row = name,
		.changes = &change,
		.nchanges = 1,
		.checks = &check,
		.nchecks = 1,
	};
	int r = s->ops->mutate(list, &m, MUTATE_SYNC);

	if (r == 0)
		return why(create ? -EEXIST : -ENOENT,
			   create ? "namespace '%.*s' exists"
				  : "there is no namespace '%.*s'",
			   (int)name.len, (const char *)name.data);
	return r < 0 ? r : 0;
}

int namespace_create(struct store *s, struct bytes name)
{
	struct table *list = NULL;
	int r;

	if (s->ops->namespace_create)
		return s->ops->namespace_create(s, name);
	if (is_reserved(name))
		return why(-EEXIST, "namespace '%.*s' exists", (int)name.len,
			   (const char *)name.data);
	r = namespace_name_check(name);
	if (r < 0)
		return r;
	if (name.len > TABLE_NAME_LEN_MAX - 2)
		return why(-ENAMETOOLONG, "a namespace has at most %d bytes",
			   TABLE_NAME_LEN_MAX - 2);
	pthread_mutex_lock(&s->schema_lock);
	r = make_list(s, &list);
	if (r == 0)
		r = change_list(s, list, name, true);
	pthread_mutex_unlock(&s->schema_lock);
	table_unref(list);
	return r;
}

/* 1 if a table of the namespace exists. */
static int holds_table(struct store *s, struct bytes name)
{
	char table[TABLE_NAME_LEN_MAX + 1] = "";
	int r;

	/* ':' is not the least byte, so a namespace's names may be apart. */
	while ((r = s->ops->table_next(s, bytes_str(table), table)) > 0)
		if (bytes_eq(namespace_of(bytes_str(table)), name))
			return 1;
	return r;
}

int namespace_drop(struct store *s, struct bytes name)
{
	struct table *list = NULL;
	int r;

	if (s->ops->namespace_drop)
		return s->ops->namespace_drop(s, name);
	if (is_reserved(name))
		return why(-EINVAL, "namespace '%.*s' cannot be dropped",
			   (int)name.len, (const char *)name.data);
	pthread_mutex_lock(&s->schema_lock);
	r = open_list(s, &list);
	/* Of the empty name are the tables that have none. */
	if (r == 0 || (r > 0 && !name.len))
		r = why(-ENOENT, "there is no namespace '%.*s'", (int)name.len,
			(const char *)name.data);
	if (r > 0)
		r = holds_table(s, name);
	if (r > 0)
		r = why(-ENOTEMPTY, "namespace '%.*s' has tables",
			(int)name.len, (const char *)name.data);
	if (r == 0)
		r = change_list(s, list, name, false);
	pthread_mutex_unlock(&s->schema_lock);
	table_unref(list);
	return r;
}

/* The first listed namespace after @after. */
static int next_listed(struct store *s, struct bytes after, char *name)
{
	struct scan_spec spec = {
		.granularity = SCAN_ROWS,
		.row_start = after,
		.row_start_exclusive = after.len > 0,
		.limit_rows = 1,
	};
	struct table *list = NULL;
	struct scan *sc;
	struct cell cell;
	int r = open_list(s, &list);

	if (r <= 0)
		return r;
	r = s->ops->scan_open(list, &spec, &sc);
	if (r == 0) {
		sc->store = s;
		r = s->ops->scan_next(sc, &cell, 1);
		if (r > 0) {
			memcpy(name, cell.row.data, cell.row.len);
			name[cell.row.len] = '\0';
		}
		s->ops->scan_close(sc);
	}
	table_unref(list);
	return r;
}

int namespace_next(struct store *s, struct bytes after,
		   char name[TABLE_NAME_LEN_MAX + 1])
{
	static const char *const always[] = {"default", "hbase"};
	char best[TABLE_NAME_LEN_MAX + 1];
	int r;

	if (s->ops->namespace_next)
		return s->ops->namespace_next(s, after, name);
	r = next_listed(s, after, best);
	for (size_t i = 0; r >= 0 && i < 2; i++) {
		if (bytes_cmp(bytes_str(always[i]), after) <= 0 ||
		    (r > 0 && strcmp(always[i], best) > 0))
			continue;
		strcpy(best, always[i]);
		r = 1;
	}
	/* Only now, since @after may point to @name. */
	if (r > 0)
		strcpy(name, best);
	return r;
}
