#include <errno.h>
#include <stdlib.h>

#include <xxhash.h>

#include "store/front/guard.h"
#include "store/hbase/master/admin.h"
#include "store/hbase/master/descriptor.h"
#include "store/hbase/master/upkeep.h"
#include "store/hbase/backend/inside.h"
#include "store/hbase/calls/region_call.h"
#include "store/hbase/cluster/regions.h"
#include "store/os/patience.h"

static void believe(struct hbase_table *t, unsigned seconds)
{
	t->until_ns = os_monotonic_ns(hbase_of(t->base.store)->os) +
		      seconds * 1000000000ull;
}

/*
 * Reads the schema anew: 0, an error, or -EAGAIN, it is to be read once more since
 * it was changed meanwhile. REQUIRES: lock.
 */
static int read_schema(struct hbase_table *t, uint64_t deadline_ns)
{
	struct cluster *c = cluster_of(&t->base);
	uint64_t number = ++t->reads;
	struct schema now = {0};
	struct table_traits traits;
	int r;

	pthread_mutex_unlock(&t->lock);
	r = admin_schema(c, bytes_str(t->name), deadline_ns, &now, &traits);
	pthread_mutex_lock(&t->lock);
	if (number < t->known) {
		schema_free(&now);
		return t->until_ns ? 0 : -EAGAIN;
	}
	if (r == -ENOENT) {
		/* Who knows the schema of before is to ask, and to hear of it. */
		t->version += !t->is_gone;
		t->is_gone = true;
		t->known = number;
		t->until_ns = 0;
	}
	if (r < 0)
		return r;
	if (!t->version || t->is_gone || !schema_equal(&now, &t->schema))
		t->version++;
	t->is_gone = false;
	t->traits = traits;
	schema_free(&t->schema);
	t->schema = now;
	t->known = number;
	believe(t, SCHEMA_SECONDS);
	return 0;
}

/*
 * Reads it if what is known is too old, or with @anew in any case. The masters may
 * be away: then the regions are served as before, by what is known. REQUIRES: lock.
 */
static int refresh(struct hbase_table *t, bool anew)
{
	struct hbase_store *hs = hbase_of(t->base.store);
	bool serves = t->until_ns && !anew;
	int r;

	if (serves && os_monotonic_ns(hs->os) < t->until_ns)
		return 0;
	/* Others go on with what is known until this one has asked. */
	if (serves)
		t->until_ns = cluster_soon(hs->cluster);
	while ((r = read_schema(t, serves ? t->until_ns : 0)) == -EAGAIN)
		serves = false;
	if (r == 0 || r == -ENOENT || r == -EACCES || !t->version || t->is_gone)
		return r;
	believe(t, SCHEMA_SECONDS_ALONE);
	return serves ? 0 : r;
}

static int traits_of(struct hbase_table *t, struct table_traits *out)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = refresh(t, false);
	*out = t->traits;
	pthread_mutex_unlock(&t->lock);
	return r;
}

int hbase_has_mob(struct table *t)
{
	struct table_traits traits;
	int r = traits_of(table_of(t), &traits);

	return r < 0 ? r : traits.has_mob;
}

int hbase_writable(struct table *base)
{
	struct hbase_table *t = table_of(base);
	struct table_traits traits;
	int r = traits_of(t, &traits);

	if (r == 0 && traits.read_only)
		r = why(-EROFS,
			"table %s is READONLY: set that to false in "
			"HBase",
			t->name);
	return r;
}

static int alterable(struct table *base)
{
	struct table_traits traits;
	int r = traits_of(table_of(base), &traits);

	if (r == 0 && traits.is_told)
		r = why(-EACCES,
			"this user may not change the schema of table %s: that "
			"needs CREATE or ADMIN of HBase",
			table_of(base)->name);
	return r;
}

/* It has been changed: what was read before, or is being read, is not believed. */
static void expire(struct table *t)
{
	pthread_mutex_lock(&table_of(t)->lock);
	table_of(t)->until_ns = 0;
	table_of(t)->known = ++table_of(t)->reads;
	pthread_mutex_unlock(&table_of(t)->lock);
}

int hbase_family(struct table *base, struct bytes family,
		 struct family_attrs *out)
{
	struct hbase_table *t = table_of(base);
	int r, at = -1;

	pthread_mutex_lock(&t->lock);
	r = refresh(t, false);
	if (r == 0)
		at = schema_find(&t->schema, family);
	if (at >= 0)
		*out = t->schema.families[at].attrs;
	pthread_mutex_unlock(&t->lock);
	return r < 0 ? r : at >= 0;
}

static uint64_t id_of(struct bytes name)
{
	return XXH3_64bits(name.data, name.len) | 1;
}

int hbase_table_open(struct store *s, struct bytes name, struct table **out)
{
	if (table_name_check(name) < 0 || clone_is_named(name))
		return why(-ENOENT, "there is no table '%.*s'", (int)name.len,
			   (const char *)name.data);
	return hbase_table_open_any(s, name, out);
}

int hbase_table_open_any(struct store *s, struct bytes name, struct table **out)
{
	struct hbase_table *t;
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return why(-ENOMEM, "out of memory for a table");
	table_init(&t->base, s, id_of(name));
	memcpy(t->name, name.data, name.len);
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_lock(&t->lock);
	r = refresh(t, true);
	pthread_mutex_unlock(&t->lock);
	if (r < 0) {
		hbase_table_free(&t->base);
		return r;
	}
	*out = &t->base;
	return 0;
}

void hbase_table_free(struct table *base)
{
	struct hbase_table *t = table_of(base);

	schema_free(&t->schema);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static int copy_schema(struct hbase_table *t, bool anew, struct schema *out)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = refresh(t, anew);
	if (r == 0)
		r = schema_copy(out, &t->schema);
	pthread_mutex_unlock(&t->lock);
	return r;
}

int hbase_table_schema(struct table *base, struct schema *out)
{
	return copy_schema(table_of(base), false, out);
}

uint64_t hbase_schema_version(const struct table *base)
{
	struct hbase_table *t = table_of(base);
	uint64_t version;

	pthread_mutex_lock(&t->lock);
	/* What cannot be read now has not changed for now. */
	refresh(t, false);
	version = t->version;
	pthread_mutex_unlock(&t->lock);
	return version;
}

int hbase_table_name(struct table *base, char *name)
{
	struct hbase_table *t = table_of(base);
	int r;

	pthread_mutex_lock(&t->lock);
	r = refresh(t, false);
	pthread_mutex_unlock(&t->lock);
	/* Of a table that cannot be read now the name is what it was. */
	if (r == -ENOENT)
		return r;
	memcpy(name, t->name, sizeof(t->name));
	return 0;
}

int hbase_no_such_name(struct bytes name)
{
	return why(-EINVAL,
		   "'%.*s' is a name of tables through which cellfs reads "
		   "snapshots: choose another one",
		   (int)name.len, (const char *)name.data);
}

int hbase_table_create(struct store *s, struct bytes name,
		       const struct schema *schema)
{
	int r = clone_is_named(name)
			? hbase_no_such_name(name)
			: admin_create(hbase_of(s)->cluster, name, schema);

	names_forget(&hbase_of(s)->tables);
	return r;
}

/* A dropped table has no .snapshot in which its snapshots are seen. */
static int check_snapshots(struct store *s, struct bytes name)
{
	int r = hbase_has_snapshots(s, name);

	if (r > 0)
		return why(-ENOTEMPTY, "table %.*s has snapshots",
			   (int)name.len, (const char *)name.data);
	return r;
}

/* 0, or -ENOTEMPTY if a cell is visible. */
static int check_empty(struct store *s, struct bytes name)
{
	struct scan_spec spec = {.keys_only = true, .limit_rows = 1};
	struct table *t = NULL;
	struct scan *sc = NULL;
	struct cell cell;
	int r = hbase_table_open(s, name, &t);

	if (r == 0)
		r = hbase_scan_open(t, &spec, &sc);
	if (r == 0)
		r = hbase_scan_next(sc, &cell, 1);
	if (sc)
		hbase_scan_close(sc);
	table_unref(t);
	if (r > 0)
		return why(-ENOTEMPTY, "table %.*s holds cells", (int)name.len,
			   (const char *)name.data);
	return r;
}

int hbase_table_drop(struct store *s, struct bytes name, bool only_if_empty)
{
	struct cluster *c = hbase_of(s)->cluster;
	int r = check_snapshots(s, name);

	if (r == 0 && only_if_empty)
		r = check_empty(s, name);
	if (r == 0)
		r = admin_drop(c, name);
	regions_forget_table(c, name);
	names_forget(&hbase_of(s)->tables);
	return r;
}

int hbase_table_enable(struct table *t, bool on)
{
	struct cluster *c = cluster_of(t);
	int r = (on ? admin_enable : admin_disable)(c, name_of(t));

	regions_forget_table(c, name_of(t));
	return r < 0 ? r : 1;
}

int hbase_table_is_enabled(struct table *t)
{
	return table_is_served(cluster_of(t), name_of(t), 0);
}

int hbase_table_truncate(struct store *s, struct bytes name)
{
	struct cluster *c = hbase_of(s)->cluster;
	int r = check_snapshots(s, name);

	if (r == 0)
		r = admin_truncate(c, name);
	regions_forget_table(c, name);
	return r;
}

/* 1 if a cell of the family is visible, else 0, or an error. */
static int has_cell(struct table *t, const char *family)
{
	const struct column_name column = {.family = bytes_str(family),
					   .whole_family = true};
	const struct scan_spec spec = {.keys_only = true,
				       .columns = &column,
				       .ncolumns = 1,
				       .limit_rows = 1};
	struct scan *sc = NULL;
	struct cell cell;
	int r = hbase_scan_open(t, &spec, &sc);

	if (r < 0)
		return r;
	r = hbase_scan_next(sc, &cell, 1);
	hbase_scan_close(sc);
	return r;
}

/* Does a family that @a does not name remain? 1, 0, -EBUSY. */
static int stays(struct table *t, const char *family, const struct alter *a)
{
	bool drop = a->rest == ALTER_DROP ||
		    schema_find(&a->drop, bytes_str(family)) >= 0;
	int r = drop ? 0 : has_cell(t, family);

	if (r > 0 && a->rest == ALTER_REFUSE)
		return why(-EBUSY,
			   "family %s holds cells: delete them before it is "
			   "dropped",
			   family);
	return r;
}

static int altered(struct table *t, const struct schema *now,
		   const struct alter *a, struct schema *out)
{
	int r = schema_copy(out, &a->to);

	for (uint32_t i = 0; i < now->nfamilies && r == 0; i++) {
		const struct family_schema *f = &now->families[i];
		struct bytes name = bytes_str(f->name);

		r = guard_family(t, f, a, has_cell);
		if (r == 0 && schema_find(&a->to, name) < 0)
			r = stays(t, f->name, a);
		if (r > 0)
			r = schema_add(out, name, &f->attrs);
	}
	return r;
}

/*
 * Makes the change. What the master refuses because somebody else has just made
 * it is to be made anew of the schema that is there.
 */
static int modify(struct table *t, const struct schema *from,
		  const struct schema *to)
{
	struct schema now = {0};
	struct why_kept kept;
	int r = admin_modify(cluster_of(t), name_of(t), from, to);

	expire(t);
	if (r == -EALREADY)
		return why(-EAGAIN, "the table is changed by others");
	if (r != -EINVAL)
		return r;
	/* The family, say, is there by now. */
	why_keep(&kept);
	if (hbase_table_schema(t, &now) == 0 && !schema_equal(&now, from))
		r = why(-EAGAIN, "the schema has been changed");
	else
		why_restore(&kept);
	schema_free(&now);
	return r;
}

/*
 * Does a family keep deleted cells since nobody has noted when? That is written
 * with the schema, also with one that says nothing new.
 */
static int lacks_notes(struct table *t, const struct schema *s)
{
	int64_t since;
	int r = 1;

	for (uint32_t i = 0; i < s->nfamilies && r > 0; i++)
		if (s->families[i].attrs.keep_deleted == KEEP_DELETED_YES)
			r = admin_kept_since(cluster_of(t), name_of(t),
					     bytes_str(s->families[i].name),
					     &since);
	return r < 0 ? r : r == 0;
}

static int alter_once(struct table *t, const struct alter *a)
{
	struct schema now = {0}, to = {0};
	int r = copy_schema(table_of(t), true, &now);

	if (r == 0)
		r = alterable(t);
	if (r == 0)
		r = alter_check_from(a, hbase_schema_version(t));
	if (r == 0)
		r = altered(t, &now, a, &to);
	if (r == 0)
		r = descriptor_check(&to);
	if (r == 0 && !a->dry)
		r = schema_equal(&now, &to) ? lacks_notes(t, &to) : 1;
	if (r > 0)
		r = modify(t, &now, &to);
	schema_free(&now);
	schema_free(&to);
	return r;
}

/* Of a schema that it names the caller makes the change anew. */
int hbase_table_alter(struct table *t, const struct alter *a)
{
	int r;

	do
		r = alter_once(t, a);
	while (r == -EAGAIN && !a->has_from);
	return r;
}

int hbase_table_next(struct store *s, struct bytes after, char *name)
{
	struct hbase_store *hs = hbase_of(s);

	return names_next(&hs->tables, hs->cluster, after, name);
}

int hbase_namespace_next(struct store *s, struct bytes after, char *name)
{
	struct hbase_store *hs = hbase_of(s);

	return names_next(&hs->namespaces, hs->cluster, after, name);
}

int hbase_namespace_create(struct store *s, struct bytes name)
{
	int r = admin_namespace_create(hbase_of(s)->cluster, name);

	names_forget(&hbase_of(s)->namespaces);
	return r;
}

int hbase_namespace_drop(struct store *s, struct bytes name)
{
	int r = admin_namespace_drop(hbase_of(s)->cluster, name);

	names_forget(&hbase_of(s)->namespaces);
	return r;
}

int hbase_table_open_id(struct store *s, uint64_t id, struct table **out)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	int r;

	while ((r = hbase_table_next(s, bytes_str(name), name)) > 0)
		if (id_of(bytes_str(name)) == id)
			return hbase_table_open(s, bytes_str(name), out);
	return r < 0 ? r : why(-ENOENT, "the table is gone");
}

/* Does it to one table or, with @t NULL, to each of them. */
static int each_table(struct store *s, struct table *t,
		      int (*act)(struct cluster *c, struct bytes table))
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	int r;

	if (t)
		return act(hbase_of(s)->cluster, name_of(t));
	while ((r = hbase_table_next(s, bytes_str(name), name)) > 0) {
		patience_renew();
		r = act(hbase_of(s)->cluster, bytes_str(name));
		if (r < 0)
			break;
	}
	return r;
}

int hbase_flush(struct store *s, struct table *t)
{
	return each_table(s, t, upkeep_flush);
}

/* The servers merge files, so what is in memory becomes files first. */
static int compact_all(struct cluster *c, struct bytes table)
{
	int r = upkeep_flush(c, table);

	return r < 0 ? r : upkeep_compact(c, table);
}

int hbase_compact(struct store *s, struct table *t)
{
	return each_table(s, t, compact_all);
}
