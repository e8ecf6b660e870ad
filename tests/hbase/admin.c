#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/hbase/case.h"

#define HBASE_FOREVER 2147483647
#define HBASE_BLOCK_SIZE 65536

bool named_has(struct named *list, const char *name)
{
	for (; list; list = list->next)
		if (!strcmp(list->name, name))
			return true;
	return false;
}

void named_add(struct named **list, const char *name)
{
	struct named *n = calloc(1, sizeof(*n));

	if (!n)
		exit(2);
	snprintf(n->name, sizeof(n->name), "%s", name);
	n->next = *list;
	*list = n;
}

void named_remove(struct named **list, const char *name)
{
	struct named *n;

	while (*list) {
		n = *list;
		if (strcmp(n->name, name) != 0) {
			list = &n->next;
			continue;
		}
		*list = n->next;
		free(n);
	}
}

void named_free(struct named **list)
{
	while (*list)
		named_remove(list, (*list)->name);
}

const char *step_table_name(struct run *r, json_t *step)
{
	const char *s = json_string_value(json_object_get(step, "table"));

	/* As HBase's client has it, "default:t" is "t". */
	if (s && !strncmp(s, "default:", 8))
		s += 8;
	return s ? s : r->table;
}

/* A reference whatever state the table is in. */
static int any_table(struct run *r, json_t *step, struct table **out)
{
	return refuse_errno(
		r,
		table_open(r->store, bytes_str(step_table_name(r, step)), out));
}

int step_table(struct run *r, json_t *step, struct table **out)
{
	if (any_table(r, step, out) < 0)
		return -1;
	if (!named_has(r->disabled, step_table_name(r, step)))
		return 0;
	table_unref(*out);
	return refuse(r, E_NOT_ENABLED);
}

static int64_t number(json_t *v, int64_t absent)
{
	if (json_is_string(v) && !strcmp(json_string_value(v), "FOREVER"))
		return HBASE_FOREVER;
	if (json_is_string(v))
		return strtoll(json_string_value(v), NULL, 10);
	return json_is_integer(v) ? json_integer_value(v) : absent;
}

static bool truth(json_t *v)
{
	const char *s = json_string_value(v);

	return json_is_true(v) || (s && !strcasecmp(s, "true"));
}

/* HBase's attributes, with its defaults. */
static int read_attrs(struct run *r, json_t *a, struct family_attrs *out)
{
	int64_t versions = number(json_object_get(a, "VERSIONS"), 1);
	int64_t min = number(json_object_get(a, "MIN_VERSIONS"), 0);
	int64_t ttl = number(json_object_get(a, "TTL"), HBASE_FOREVER);
	int64_t block =
		number(json_object_get(a, "BLOCKSIZE"), HBASE_BLOCK_SIZE);
	json_t *keep = json_object_get(a, "KEEP_DELETED_CELLS");
	const char *s = json_string_value(keep);

	family_attrs_default(out);
	if (versions <= 0 || min < 0 || min > versions || ttl <= 0 ||
	    block <= 0 || block > INT32_MAX)
		return refuse(r, E_ILLEGAL);
	out->versions = versions >= INT32_MAX ? UINT32_MAX : (uint32_t)versions;
	out->min_versions = (uint32_t)min;
	out->ttl_ms = ttl == HBASE_FOREVER ? TTL_FOREVER : (uint64_t)ttl * 1000;
	out->block_size = (uint32_t)block;
	out->new_version_behavior =
		truth(json_object_get(a, "NEW_VERSION_BEHAVIOR"));
	out->keep_deleted = truth(keep) ? KEEP_DELETED_YES : KEEP_DELETED_NO;
	if (s && !strcasecmp(s, "TTL"))
		out->keep_deleted = KEEP_DELETED_TTL;
	if (family_attrs_check(out) < 0)
		return refuse(r, E_ILLEGAL);
	return 0;
}

static int add_family(struct run *r, struct schema *s, const char *name,
		      json_t *attrs)
{
	struct family_attrs a;

	if (read_attrs(r, attrs, &a) < 0)
		return -1;
	if (schema_add(s, bytes_str(name), &a) < 0)
		return refuse(r, E_ILLEGAL);
	return 0;
}

int create_table(struct run *r, const char *name, json_t *families)
{
	struct schema s;
	const char *family;
	json_t *attrs;
	int err = 0;

	if (!json_object_size(families))
		return refuse(r, E_NO_RETRY);
	if (!strcmp(name, "zookeeper"))
		return refuse(r, E_ILLEGAL);
	schema_init(&s, 0, 0);
	s.fixed = true;
	json_object_foreach(families, family, attrs) if (err == 0) err =
		add_family(r, &s, family, attrs);
	if (err == 0) {
		err = store_table_create(r->store, bytes_str(name), &s);
		if (err == -EINVAL || err == -ENAMETOOLONG)
			err = refuse(r, E_ILLEGAL);
		else
			err = refuse_errno(r, err);
	}
	schema_free(&s);
	return err;
}

int step_create(struct run *r, json_t *step)
{
	return create_table(r, step_table_name(r, step),
			    json_object_get(step, "schema"));
}

/* The name of an existing table that is disabled. */
static int disabled_table(struct run *r, json_t *step, const char **name)
{
	struct table *t;

	if (any_table(r, step, &t) < 0)
		return -1;
	table_unref(t);
	*name = step_table_name(r, step);
	return named_has(r->disabled, *name) ? 0 : refuse(r, E_NOT_DISABLED);
}

/* One with snapshots goes out of sight only. */
static int drop_table(struct run *r, const char *name)
{
	int err = store_table_drop(r->store, bytes_str(name), false);

	return err == -ENOTEMPTY ? archive_table(r, name)
				 : refuse_errno(r, err);
}

int step_drop(struct run *r, json_t *step)
{
	const char *name;

	if (disabled_table(r, step, &name) < 0)
		return -1;
	named_remove(&r->disabled, name);
	return drop_table(r, name);
}

int step_disable(struct run *r, json_t *step)
{
	struct table *t;

	if (step_table(r, step, &t) < 0)
		return -1;
	table_unref(t);
	named_add(&r->disabled, step_table_name(r, step));
	return 0;
}

int step_enable(struct run *r, json_t *step)
{
	const char *name;

	if (disabled_table(r, step, &name) < 0)
		return -1;
	named_remove(&r->disabled, name);
	return 0;
}

static int truncate_table(struct run *r, const char *name)
{
	struct schema s;
	struct table *t;
	int err = store_table_truncate(r->store, bytes_str(name));

	if (err != -ENOTEMPTY)
		return refuse_errno(r, err);
	err = table_open(r->store, bytes_str(name), &t);
	if (err == 0) {
		err = table_schema(t, &s);
		table_unref(t);
	}
	if (refuse_errno(r, err) < 0)
		return -1;
	err = archive_table(r, name);
	if (err == 0)
		err = refuse_errno(
			r, store_table_create(r->store, bytes_str(name), &s));
	schema_free(&s);
	return err;
}

int step_truncate(struct run *r, json_t *step)
{
	const char *name;

	if (disabled_table(r, step, &name) < 0)
		return -1;
	named_remove(&r->disabled, name);
	return truncate_table(r, name);
}

/* A family that a snapshot shows is taken from a copy. */
static int put_schema(struct run *r, const char *name, const struct schema *s)
{
	int err = -EBUSY;

	for (int i = 0; i < 2 && err == -EBUSY; i++) {
		struct table *t;

		if (i && archive_table_copied(r, name) < 0)
			return -1;
		err = table_open(r->store, bytes_str(name), &t);
		if (err < 0)
			break;
		err = table_alter(t, s, true);
		table_unref(t);
	}
	return refuse_errno(r, err);
}

/* Changes the families of the step's table: HBase flushes it before. */
static int alter(struct run *r, json_t *step,
		 int (*change)(struct run *r, struct schema *s,
			       const char *family, json_t *attrs))
{
	const char *family = json_string_value(json_object_get(step, "family"));
	struct schema s;
	struct table *t;
	int err;

	if (any_table(r, step, &t) < 0)
		return -1;
	err = refuse_errno(r, table_schema(t, &s));
	if (err < 0)
		goto out;
	err = change(r, &s, family ? family : "",
		     json_object_get(step, "attrs"));
	if (err == 0)
		err = refuse_errno(r, store_flush(r->store, t));
	if (err == 0)
		err = put_schema(r, step_table_name(r, step), &s);
	schema_free(&s);
out:
	table_unref(t);
	return err;
}

static int change_add(struct run *r, struct schema *s, const char *family,
		      json_t *attrs)
{
	if (schema_find(s, bytes_str(family)) >= 0)
		return refuse(r, E_FAMILY_OP);
	return add_family(r, s, family, attrs);
}

static int change_modify(struct run *r, struct schema *s, const char *family,
			 json_t *attrs)
{
	struct family_attrs a;
	int at = schema_find(s, bytes_str(family));

	if (at < 0)
		return refuse(r, E_FAMILY_OP);
	if (read_attrs(r, attrs, &a) < 0)
		return -1;
	s->families[at].attrs = a;
	return 0;
}

static int change_delete(struct run *r, struct schema *s, const char *family,
			 json_t *attrs)
{
	if (schema_find(s, bytes_str(family)) < 0 || s->nfamilies == 1)
		return refuse(r, E_FAMILY_OP);
	schema_remove(s, bytes_str(family));
	return 0;
}

int step_add_family(struct run *r, json_t *step)
{
	return alter(r, step, change_add);
}

int step_modify_family(struct run *r, json_t *step)
{
	return alter(r, step, change_modify);
}

int step_delete_family(struct run *r, json_t *step)
{
	return alter(r, step, change_delete);
}

int step_create_namespace(struct run *r, json_t *step)
{
	const char *s = json_string_value(json_object_get(step, "name"));
	int err = store_namespace_create(r->store, bytes_str(s ? s : ""));

	return err == -EINVAL ? refuse(r, E_ILLEGAL) : refuse_errno(r, err);
}

int step_drop_namespace(struct run *r, json_t *step)
{
	const char *s = json_string_value(json_object_get(step, "name"));

	return refuse_errno(
		r, store_namespace_drop(r->store, bytes_str(s ? s : "")));
}
