/*
 * The front of store.h for tables: their names, namespaces and schemas, and what
 * each holds.
 *
 * As store.c: checks arguments, calls the backend. Whatever looks at the names of
 * namespaces and then changes them does both under the schema lock; who changes a
 * schema by what it is does so by table_edit().
 */
#include <errno.h>
#include <unistd.h>

#include "store/front/args.h"
#include "store/front/front.h"
#include "store/front/namespace.h"

int table_open(struct store *s, struct bytes name, struct table **out)
{
	int r;

	front_begin();
	/* No table has an invalid name: -ENOENT rather than -EINVAL. */
	if (name.len == 0 || name.len > TABLE_NAME_LEN_MAX)
		r = why(-ENOENT, "there is no such table: a table's name has "
				 "1 to 255 bytes");
	else
		r = namespace_check_open(name);
	if (r == 0)
		r = s->ops->table_open(s, name, out);
	return front_end(s, r);
}

int table_schema(struct table *t, struct schema *out)
{
	front_begin();
	return front_end(t->store, t->store->ops->table_schema(t, out));
}

uint64_t table_schema_version(const struct table *t)
{
	return t->store->ops->table_schema_version(t);
}

int table_name(struct table *t, char name[TABLE_NAME_LEN_MAX + 1])
{
	front_begin();
	return front_end(t->store, t->store->ops->table_name(t, name));
}

static int create(struct store *s, struct bytes name,
		  const struct schema *schema)
{
	struct schema open = {0};
	int r = 0;

	if (schema)
		return s->ops->table_create(s, name, schema);
	schema_init(&open, geteuid(), getegid());
	r = s->ops->table_create(s, name, &open);
	schema_free(&open);
	return r;
}

static bool has_family(struct table *t, struct bytes name)
{
	struct schema now = {0};
	bool has = t->store->ops->table_schema(t, &now) == 0 &&
		   schema_find(&now, name) >= 0;

	schema_free(&now);
	return has;
}

/*
 * Checks the schema that @t (NULL: a new table) is to have: a family that is there
 * already may have a name that none is given.
 */
static int check_schema(struct table *t, const struct schema *to)
{
	int r = args_schema(to);

	for (uint32_t i = 0; r == 0 && i < to->nfamilies; i++) {
		struct bytes name = bytes_str(to->families[i].name);

		r = args_family(name);
		if (r < 0 && t && has_family(t, name))
			r = 0;
	}
	return r;
}

int store_table_create(struct store *s, struct bytes name,
		       const struct schema *schema)
{
	int r = front_begin_write(s);

	if (r == 0 && schema)
		r = check_schema(NULL, schema);
	if (r == 0 && schema && schema->quota)
		r = front_can(s, CAN_QUOTA);
	if (r == 0)
		r = namespace_enter(s, name);
	if (r == 0) {
		r = create(s, name, schema);
		pthread_mutex_unlock(&s->schema_lock);
	}
	return front_end(s, r);
}

int store_table_drop(struct store *s, struct bytes name, bool only_if_empty)
{
	int r = front_begin_delete(s);

	if (r == 0)
		r = namespace_check_open(name);
	if (r == 0)
		r = s->ops->table_drop(s, name, only_if_empty);
	return front_end(s, r);
}

int table_enable(struct table *t, bool on)
{
	struct store *s = t->store;
	int r = front_begin_write(s);

	if (r == 0 && s->ops->table_enable)
		r = s->ops->table_enable(t, on);
	return front_end(s, r);
}

int table_is_enabled(struct table *t)
{
	struct store *s = t->store;

	front_begin();
	return front_end(
		s, s->ops->table_is_enabled ? s->ops->table_is_enabled(t) : 1);
}

int store_table_truncate(struct store *s, struct bytes name)
{
	int r = front_begin_delete(s);

	if (r == 0)
		r = namespace_check_open(name);
	if (r == 0)
		r = s->ops->table_truncate(s, name);
	return front_end(s, r);
}

int store_table_rename(struct store *s, struct bytes from, struct bytes to)
{
	int r = front_begin_write(s);

	if (r == 0)
		r = front_can(s, CAN_RENAME_TABLE);
	if (r == 0)
		r = namespace_check_open(from);
	if (r == 0)
		r = namespace_enter(s, to);
	if (r == 0) {
		r = s->ops->table_rename(s, from, to);
		pthread_mutex_unlock(&s->schema_lock);
	}
	return front_end(s, r);
}

int table_alter(struct table *t, const struct schema *schema, bool drop_data)
{
	struct alter a = {
		.to = *schema,
		.rest = drop_data ? ALTER_DROP : ALTER_REFUSE,
	};

	return table_change(t, &a);
}

int alter_check_from(const struct alter *a, uint64_t version)
{
	return a->has_from && a->from != version
		       ? why(-EAGAIN, "the schema has been changed")
		       : 0;
}

int table_change(struct table *t, const struct alter *a)
{
	struct store *s = t->store;
	int r = front_begin_write(s);

	if (r == 0)
		r = check_schema(t, &a->to);
	if (r == 0)
		r = args_schema(&a->drop);
	if (r == 0 && a->to.quota)
		r = front_can(s, CAN_QUOTA);
	if (r == 0)
		r = patience_lock(&s->schema_lock);
	if (r == 0) {
		r = s->ops->table_alter(t, a);
		pthread_mutex_unlock(&s->schema_lock);
	}
	return front_end(s, r);
}

/* One try: -EAGAIN when somebody else was first. */
static int try_edit(struct table *t,
		    int (*edit)(void *arg, const struct schema *now,
				struct alter *a),
		    void *arg)
{
	/* Read before the schema: an older number only causes another try. */
	uint64_t version = table_schema_version(t);
	struct schema now = {0};
	struct alter a = {0};
	int r = table_schema(t, &now);

	if (r == 0)
		r = front_end(t->store, edit(arg, &now, &a));
	a.has_from = true;
	a.from = version;
	if (r == 0)
		r = table_change(t, &a);
	alter_free(&a);
	schema_free(&now);
	return r;
}

int table_edit(struct table *t,
	       int (*edit)(void *arg, const struct schema *now,
			   struct alter *a),
	       void *arg)
{
	int r;

	do
		r = try_edit(t, edit, arg);
	while (r == -EAGAIN);
	return r;
}

static int edit_family(void *family, const struct schema *now, struct alter *a)
{
	const struct bytes name = *(const struct bytes *)family;
	struct family_attrs attrs;
	int r;

	if (schema_find(now, name) >= 0)
		return why(-EEXIST, "the family exists already");
	if (now->fixed)
		return why(-EPERM,
			   "the table's families are fixed: add %.*s to its "
			   "schema first",
			   (int)name.len, (const char *)name.data);
	family_attrs_default(&attrs);
	r = schema_copy(&a->to, now);
	return r < 0 ? r : schema_add(&a->to, name, &attrs);
}

int table_add_family(struct table *t, struct bytes family)
{
	struct store *s = t->store;
	int r = front_begin_write(s);

	if (r == 0)
		r = args_family(family);
	if (r == 0 && !s->ops->add_family)
		return table_edit(t, edit_family, &family);
	if (r == 0)
		r = s->ops->add_family(t, family);
	return front_end(s, r);
}

int store_table_next(struct store *s, struct bytes after,
		     char name[TABLE_NAME_LEN_MAX + 1])
{
	int r;

	front_begin();
	do {
		r = s->ops->table_next(s, after, name);
		after = bytes_str(name);
	} while (r > 0 && namespace_is_hidden(after));
	return front_end(s, r);
}

/*
 * Counts cells, to replace the backend's estimates. Nobody asked to read them: a
 * program that looks at its metrics must not be what it finds there.
 */
static int count(struct table *t, struct table_info *out)
{
	const struct store_ops *ops = t->store->ops;
	struct scan_spec spec = {.granularity = SCAN_CELLS, .keys_only = true};
	struct buf row = {0};
	struct scan *sc;
	struct cell c;
	int r = front_scan_open(t, &spec, &sc);

	if (r < 0)
		return r;
	out->rows = out->cells = 0;
	out->exact = true;
	while (r == 0 && (r = ops->scan_next(sc, &c, 1)) > 0) {
		if (!out->cells || c.ts < out->oldest)
			out->oldest = c.ts;
		if (!out->cells || c.ts > out->newest)
			out->newest = c.ts;
		r = 0;
		if (!out->rows || !bytes_eq(c.row, buf_bytes(&row))) {
			r = buf_set(&row, c.row);
			out->rows++;
		}
		out->cells++;
	}
	scan_close(sc);
	buf_free(&row);
	return r;
}

/* Of what is damaged the estimates stay. */
static int count_cells(struct table *t, struct table_info *out)
{
	struct table_info counted = *out;
	int r = count(t, &counted);

	if (r == 0)
		*out = counted;
	return r == -EUCLEAN ? 0 : r;
}

int table_info(struct table *t, struct table_info *out)
{
	struct table_info info = {0};
	int r;

	front_begin();
	r = front_can(t->store, CAN_TELL_INFO);
	if (r == 0)
		r = t->store->ops->table_info(t, &info);
	if (r == 0 && !info.exact && info.entries <= TABLE_INFO_COUNTED)
		r = count_cells(t, &info);
	if (r == 0)
		*out = info;
	return front_end(t->store, r);
}

int table_has_ttl(struct table *t)
{
	struct table_info info = {0};
	int r;

	front_begin();
	if (!store_can(t->store, CAN_TELL_INFO))
		return 1;
	r = t->store->ops->table_info(t, &info);
	if (r == 0)
		r = info.has_ttl;
	return front_end(t->store, r);
}

int store_namespace_create(struct store *s, struct bytes name)
{
	int r = front_begin_write(s);

	if (r == 0)
		r = namespace_create(s, name);
	return front_end(s, r);
}

int store_namespace_ensure(struct store *s, struct bytes table)
{
	struct bytes name = namespace_of(table);
	int r = front_begin_write(s);

	if (r == 0)
		r = table_name_check(table);
	if (r == 0 && name.len)
		r = namespace_create(s, name);
	return front_end(s, r == -EEXIST ? 0 : r);
}

int store_namespace_drop(struct store *s, struct bytes name)
{
	int r = front_begin_delete(s);

	if (r == 0)
		r = namespace_drop(s, name);
	return front_end(s, r);
}

int store_namespace_next(struct store *s, struct bytes after,
			 char name[TABLE_NAME_LEN_MAX + 1])
{
	front_begin();
	return front_end(s, namespace_next(s, after, name));
}
