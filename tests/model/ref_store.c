#include "tests/model/ref_store.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "tests/model/ref_inside.h"

static int64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct ref_store *ref_lock(struct store *s)
{
	struct ref_store *rs = store_of(s);

	if (rs->threadsafe)
		pthread_mutex_lock(&rs->lock);
	return rs;
}

int ref_unlock(struct ref_store *rs, int r)
{
	if (rs->threadsafe)
		pthread_mutex_unlock(&rs->lock);
	return r;
}

/* The first row >= @key, or > if @after. */
size_t ref_rows_find(const struct ref_family *f, struct bytes key, bool after)
{
	size_t lo = 0, hi = f->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = bytes_cmp(f->rows[mid]->key, key);

		if (c < 0 || (after && c == 0))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct ref_row *ref_row_find(const struct ref_family *f, struct bytes key)
{
	size_t i = ref_rows_find(f, key, false);

	return i < f->n && bytes_eq(f->rows[i]->key, key) ? f->rows[i] : NULL;
}

int ref_row_make(struct ref_family *f, struct bytes key, struct ref_row **out)
{
	size_t i = ref_rows_find(f, key, false);
	int r;

	if (i < f->n && bytes_eq(f->rows[i]->key, key)) {
		*out = f->rows[i];
		return 0;
	}
	if (f->n == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 16;
		void *p = realloc(f->rows, cap * sizeof(*f->rows));

		if (!p)
			return -ENOMEM;
		f->rows = p;
		f->cap = cap;
	}
	r = ref_row_new(key, out);
	if (r < 0)
		return r;
	memmove(&f->rows[i + 1], &f->rows[i], (f->n - i) * sizeof(*f->rows));
	f->rows[i] = *out;
	f->n++;
	return 0;
}

static void rows_free(struct ref_family *f)
{
	for (size_t i = 0; i < f->n; i++)
		ref_row_unref(f->rows[i]);
	free(f->rows);
	*f = (struct ref_family){0};
}

/* How the newest state of a family is looked at. */
struct ref_look ref_look_now(struct ref_table *t, size_t family)
{
	struct ref_store *rs = store_of(t->base.store);

	return (struct ref_look){
		.attrs = &t->schema.families[family].attrs,
		.now_ms = rs->now(),
		.seq_max = UINT64_MAX,
		.ts_max = INT64_MAX,
	};
}

/* Every look of a reader, for the faults that change it. */
int ref_visible(struct ref_store *rs, const struct ref_row *row,
		const struct ref_look *look, struct ref_list *out)
{
	struct family_attrs attrs = *look->attrs;
	struct ref_look l = *look;

	l.attrs = &attrs;
	if (rs->plant == PLANT_KEEP_DELETED)
		attrs.keep_deleted = KEEP_DELETED_NO;
	l.late_markers = rs->plant == PLANT_PAST_MARKER;
	if (rs->plant == PLANT_LATE_MARKER)
		attrs.new_version_behavior = false;
	if (rs->plant == PLANT_VERSION_BACK) {
		if (!l.versions || l.versions > attrs.versions)
			l.versions = attrs.versions;
		attrs.versions = UINT32_MAX;
	}
	if (rs->plant == PLANT_VERSION_TOO_FEW && attrs.versions > 2 &&
	    attrs.versions != UINT32_MAX)
		attrs.versions--;
	if (rs->plant == PLANT_TTL_OFF_BY_ONE)
		l.now_ms++;
	if (rs->plant == PLANT_RANGE_END && l.ts_max < TS_MAX)
		l.ts_max++;
	if (rs->plant == PLANT_SNAPSHOT_MOVES)
		l.seq_max = UINT64_MAX;
	return ref_row_visible(row, &l, out);
}

static size_t tables_find(const struct ref_store *rs, struct bytes name,
			  bool *found)
{
	for (size_t i = 0; i < rs->ntables; i++) {
		int c = bytes_cmp(bytes_str(rs->tables[i]->name), name);

		*found = c == 0;
		if (c >= 0)
			return i;
	}
	*found = false;
	return rs->ntables;
}

static int no_table(struct bytes name)
{
	return why(-ENOENT, "there is no table %.*s", (int)name.len,
		   (const char *)name.data);
}

int ref_gone(const struct ref_table *t)
{
	if (t->dropped)
		return why(-ENOENT, "the table was dropped");
	return 0;
}

static void families_free(struct ref_table *t)
{
	for (uint32_t i = 0; i < t->schema.nfamilies; i++)
		rows_free(&t->families[i]);
	free(t->families);
	t->families = NULL;
}

void ref_table_free(struct table *base)
{
	struct ref_table *t = table_of(base);

	families_free(t);
	schema_free(&t->schema);
	free(t);
}

static int ref_table_open(struct store *s, struct bytes name,
			  struct table **out)
{
	struct ref_store *rs = ref_lock(s);
	bool found;
	size_t i = tables_find(rs, name, &found);

	if (!found)
		return ref_unlock(rs, no_table(name));
	table_ref(&rs->tables[i]->base);
	*out = &rs->tables[i]->base;
	return ref_unlock(rs, 0);
}

static int ref_table_open_id(struct store *s, uint64_t id, struct table **out)
{
	struct ref_store *rs = ref_lock(s);

	for (size_t i = 0; i < rs->ntables; i++) {
		if (rs->tables[i]->base.id != id)
			continue;
		table_ref(&rs->tables[i]->base);
		*out = &rs->tables[i]->base;
		return ref_unlock(rs, 0);
	}
	return ref_unlock(rs, why(-ENOENT, "the table was dropped"));
}

static int ref_table_schema(struct table *base, struct schema *out)
{
	struct ref_store *rs = ref_lock(base->store);
	struct ref_table *t = table_of(base);
	int r = ref_gone(t);

	return ref_unlock(rs, r ? r : schema_copy(out, &t->schema));
}

static uint64_t ref_table_schema_version(const struct table *base)
{
	struct ref_store *rs = ref_lock(base->store);
	uint64_t v = ((const struct ref_table *)base)->schema_version;

	ref_unlock(rs, 0);
	return v;
}

static int ref_table_name(struct table *base, char *name)
{
	struct ref_store *rs = ref_lock(base->store);
	struct ref_table *t = table_of(base);
	int r = ref_gone(t);

	if (r == 0)
		memcpy(name, t->name, sizeof(t->name));
	return ref_unlock(rs, r);
}

static int tables_insert(struct ref_store *rs, size_t at, struct ref_table *t)
{
	void *p = realloc(rs->tables,
			  (rs->ntables + 1) * sizeof(struct ref_table *));

	if (!p)
		return -ENOMEM;
	rs->tables = p;
	memmove(&rs->tables[at + 1], &rs->tables[at],
		(rs->ntables - at) * sizeof(struct ref_table *));
	rs->tables[at] = t;
	rs->ntables++;
	return 0;
}

static void tables_remove(struct ref_store *rs, size_t at)
{
	rs->ntables--;
	memmove(&rs->tables[at], &rs->tables[at + 1],
		(rs->ntables - at) * sizeof(struct ref_table *));
}

static void name_set(struct ref_table *t, struct bytes name)
{
	memset(t->name, 0, sizeof(t->name));
	memcpy(t->name, name.data, name.len);
}

int ref_table_new(const struct schema *schema, struct ref_table **out)
{
	struct ref_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->families = calloc(schema->nfamilies + 1, sizeof(*t->families));
	if (!t->families || schema_copy(&t->schema, schema) < 0) {
		free(t->families);
		free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

int ref_table_insert(struct ref_store *rs, struct bytes name,
		     struct ref_table *t)
{
	bool found;
	size_t i = tables_find(rs, name, &found);
	int r;

	if (found)
		return why(-EEXIST, "there is a table %.*s already",
			   (int)name.len, (const char *)name.data);
	r = tables_insert(rs, i, t);
	if (r < 0)
		return r;
	name_set(t, name);
	table_init(&t->base, &rs->base, ++rs->next_table);
	t->schema_version = 1;
	return 0;
}

static int ref_table_create(struct store *s, struct bytes name,
			    const struct schema *schema)
{
	struct ref_store *rs = ref_lock(s);
	struct ref_table *t;
	int r = ref_table_new(schema, &t);

	if (r < 0)
		return ref_unlock(rs, r);
	r = ref_table_insert(rs, name, t);
	if (r < 0)
		ref_table_free(&t->base);
	return ref_unlock(rs, r);
}

/* 1 if some cell of the family is visible. */
static int family_holds(struct ref_table *t, size_t family)
{
	struct ref_look look = ref_look_now(t, family);
	struct ref_family *f = &t->families[family];

	for (size_t i = 0; i < f->n; i++) {
		struct ref_list l = {0};
		int r = ref_row_visible(f->rows[i], &look, &l);
		size_t n = l.n;

		ref_list_free(&l);
		if (r < 0 || n)
			return r < 0 ? r : 1;
	}
	return 0;
}

static int ref_table_drop(struct store *s, struct bytes name,
			  bool only_if_empty)
{
	struct ref_store *rs = ref_lock(s);
	struct ref_table *t;
	bool found;
	size_t i = tables_find(rs, name, &found);

	if (!found)
		return ref_unlock(rs, no_table(name));
	t = rs->tables[i];
	if (ref_is_shown(rs, t->base.id, NULL))
		return ref_unlock(rs, why(-ENOTEMPTY, "a snapshot shows it"));
	for (uint32_t f = 0; only_if_empty && f < t->schema.nfamilies; f++) {
		int r = family_holds(t, f);

		if (r > 0)
			r = why(-ENOTEMPTY, "the table %s has rows", t->name);
		if (r < 0)
			return ref_unlock(rs, r);
	}
	t->dropped = true;
	tables_remove(rs, i);
	ref_unlock(rs, 0);
	table_unref(&t->base);
	return 0;
}

static int ref_table_truncate(struct store *s, struct bytes name)
{
	struct ref_store *rs = ref_lock(s);
	bool found;
	size_t i = tables_find(rs, name, &found);

	if (!found)
		return ref_unlock(rs, no_table(name));
	if (ref_is_shown(rs, rs->tables[i]->base.id, NULL))
		return ref_unlock(rs, why(-ENOTEMPTY, "a snapshot shows it"));
	for (uint32_t f = rs->plant == PLANT_TRUNCATE_FAMILY;
	     f < rs->tables[i]->schema.nfamilies; f++)
		rows_free(&rs->tables[i]->families[f]);
	rs->tables[i]->schema_version++;
	return ref_unlock(rs, 0);
}

static int ref_table_rename(struct store *s, struct bytes from, struct bytes to)
{
	struct ref_store *rs = ref_lock(s);
	struct ref_table *t;
	bool found;
	size_t i = tables_find(rs, from, &found);

	if (!found)
		return ref_unlock(rs, no_table(from));
	t = rs->tables[i];
	tables_find(rs, to, &found);
	if (found)
		return ref_unlock(rs,
				  why(-EEXIST, "there is a table %.*s already",
				      (int)to.len, (const char *)to.data));
	tables_remove(rs, i);
	name_set(t, to);
	/* There is room: one was taken out. */
	tables_insert(rs, tables_find(rs, to, &found), t);
	return ref_unlock(rs, 0);
}

/* Does the family, which @a does not name, stay? 1, 0, -EBUSY. */
static int stays(struct ref_table *t, uint32_t i, const struct alter *a)
{
	const char *name = t->schema.families[i].name;
	bool drop = a->rest == ALTER_DROP ||
		    schema_find(&a->drop, bytes_str(name)) >= 0;
	bool keep = !drop && a->rest == ALTER_KEEP;
	int r;

	if (ref_is_shown(store_of(t->base.store), t->base.id, name))
		return keep ? 1 : why(-EBUSY, "a snapshot shows it");
	r = drop ? 0 : family_holds(t, i);
	return r > 0 && !keep ? why(-EBUSY, "the family %s holds cells", name)
			      : r;
}

static int alter(struct ref_table *t, const struct alter *a)
{
	struct ref_family *families;
	struct schema copy = {0};
	int r = schema_copy(&copy, &a->to);

	for (uint32_t i = 0; r >= 0 && i < t->schema.nfamilies; i++) {
		const struct family_schema *f = &t->schema.families[i];

		if (schema_find(&a->to, bytes_str(f->name)) >= 0)
			continue;
		r = stays(t, i, a);
		if (r > 0)
			r = schema_add(&copy, bytes_str(f->name), &f->attrs);
	}
	families = calloc(copy.nfamilies + 1, sizeof(*families));
	if (r < 0 || a->dry || !families) {
		free(families);
		schema_free(&copy);
		return r < 0 ? r : families ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < t->schema.nfamilies; i++) {
		int at = schema_find(&copy,
				     bytes_str(t->schema.families[i].name));

		if (at < 0)
			continue;
		families[at] = t->families[i];
		t->families[i] = (struct ref_family){0};
	}
	families_free(t);
	schema_free(&t->schema);
	t->schema = copy;
	t->families = families;
	t->schema_version++;
	return 0;
}

static int ref_table_alter(struct table *base, const struct alter *a)
{
	struct ref_store *rs = ref_lock(base->store);
	struct ref_table *t = table_of(base);
	int r = ref_gone(t);

	if (r == 0)
		r = alter_check_from(a, t->schema_version);
	if (r == 0)
		r = alter(t, a);
	return ref_unlock(rs, r);
}

static int ref_table_next(struct store *s, struct bytes after, char *name)
{
	struct ref_store *rs = ref_lock(s);
	bool found;
	size_t i = tables_find(rs, after, &found);

	i += found;
	if (i == rs->ntables)
		return ref_unlock(rs, 0);
	memcpy(name, rs->tables[i]->name, TABLE_NAME_LEN_MAX + 1);
	return ref_unlock(rs, 1);
}

static int ref_close(struct store *s)
{
	struct ref_store *rs = store_of(s);

	for (size_t i = 0; i < rs->ntables; i++)
		table_unref(&rs->tables[i]->base);
	free(rs->tables);
	ref_snapshots_free(rs);
	pthread_mutex_destroy(&rs->lock);
	free(rs);
	return 0;
}

static int ref_sync(struct store *s)
{
	return 0;
}

static int ref_flush(struct store *s, struct table *t)
{
	return 0;
}

/* A new row of what is kept. */
static int row_compact(struct ref_row *row, const struct ref_look *look,
		       enum ref_plant plant, struct ref_row **out)
{
	struct ref_list l = {0};
	struct ref_row *kept = NULL;
	int r = ref_row_kept(row, look, &l);

	if (r == 0 && l.n > 1 && plant == PLANT_COMPACT_EATS)
		l.n--;
	if (r == 0)
		r = ref_row_new(row->key, &kept);
	if (r == 0)
		r = ref_row_inherit(kept, row, &l);
	ref_list_free(&l);
	if (r < 0) {
		ref_row_unref(kept);
		return r;
	}
	*out = kept;
	return 0;
}

static int family_compact(struct ref_table *t, size_t family)
{
	struct ref_family *f = &t->families[family];
	struct ref_look look = ref_look_now(t, family);
	int r = 0;

	if (look.attrs->keep_deleted != KEEP_DELETED_NO)
		return 0;
	for (size_t i = 0; i < f->n; i++) {
		struct ref_row *row = f->rows[i], *kept = row;

		if (r == 0)
			r = row_compact(row, &look,
					store_of(t->base.store)->plant, &kept);
		f->rows[i] = kept;
		if (kept != row)
			ref_row_unref(row);
	}
	return r;
}

static int ref_compact(struct store *s, struct table *base)
{
	struct ref_store *rs = ref_lock(s);
	int r = 0;

	for (size_t i = 0; i < rs->ntables && !rs->nsnapshots && !rs->nnamed;
	     i++) {
		struct ref_table *t = rs->tables[i];

		if (base && base != &t->base)
			continue;
		for (uint32_t f = 0; r == 0 && f < t->schema.nfamilies; f++)
			r = family_compact(t, f);
	}
	return ref_unlock(rs, r);
}

static int ref_stat(struct store *s, unsigned i, struct store_stat *out)
{
	return 0;
}

static int ref_space(struct store *s, struct store_space *out)
{
	*out = (struct store_space){1ull << 40, 1ull << 39, 1ull << 39};
	return 0;
}

static int ref_health(struct store *s)
{
	return 0;
}

static int64_t ref_now_ms(struct store *s)
{
	return store_of(s)->now();
}

/* Little is held, so that all is counted. */
static int ref_table_info(struct table *base, struct table_info *out)
{
	*out = (struct table_info){0};
	ref_lock(base->store);
	return ref_unlock(store_of(base->store), ref_gone(table_of(base)));
}

static const struct store_ops ref_ops = {
	.can = ABILITIES_ALL & ~ABILITY(CAN_KEEP),
	.close = ref_close,
	.table_open = ref_table_open,
	.table_free = ref_table_free,
	.table_schema = ref_table_schema,
	.table_schema_version = ref_table_schema_version,
	.table_name = ref_table_name,
	.table_create = ref_table_create,
	.table_drop = ref_table_drop,
	.table_truncate = ref_table_truncate,
	.table_rename = ref_table_rename,
	.table_alter = ref_table_alter,
	.table_next = ref_table_next,
	.table_info = ref_table_info,
	.mutate = ref_mutate,
	.mutate_many = ref_mutate_many,
	.sync = ref_sync,
	.scan_open = ref_scan_open,
	.scan_next = ref_scan_next,
	.scan_close = ref_scan_close,
	.get = ref_get,
	.snapshot_take = ref_snapshot_take,
	.snapshot_release = ref_snapshot_release,
	.snapshot_create = ref_snapshot_create,
	.snapshot_drop = ref_snapshot_drop,
	.snapshot_rename = ref_snapshot_rename,
	.snapshot_next = ref_snapshot_next,
	.snapshot_open = ref_snapshot_open,
	.snapshot_clone = ref_snapshot_clone,
	.snapshot_restore = ref_snapshot_restore,
	.table_open_id = ref_table_open_id,
	.flush = ref_flush,
	.compact = ref_compact,
	.stat = ref_stat,
	.space = ref_space,
	.health = ref_health,
	.now_ms = ref_now_ms,
};

int ref_store_open(int64_t (*now)(void), bool threadsafe, struct store **out)
{
	struct ref_store *rs = store_alloc(sizeof(*rs));

	if (!rs)
		return -ENOMEM;
	store_init(&rs->base, &ref_ops, false);
	rs->now = now ? now : clock_now;
	rs->threadsafe = threadsafe;
	pthread_mutex_init(&rs->lock, NULL);
	*out = &rs->base;
	return 0;
}

void ref_store_hint(struct store *s, const int64_t *ts, size_t n)
{
	struct ref_store *rs = store_of(s);

	rs->nhints = n < REF_HINTS_MAX ? n : REF_HINTS_MAX;
	memcpy(rs->hints, ts, rs->nhints * sizeof(*ts));
}

void ref_store_as_hbase(struct store *s)
{
	store_of(s)->as_hbase = true;
}

void ref_store_plant(struct store *s, enum ref_plant what)
{
	store_of(s)->plant = what;
}

const char *ref_plant_name(enum ref_plant what)
{
	static const char *const names[PLANT_MAX] = {
		"none",
		"lost-change",
		"late-marker",
		"too-few",
		"version-back",
		"ttl-off-by-one",
		"check-ignored",
		"reversed-bound",
		"snapshot-moves",
		"ts-repeats",
		"half-mutation",
		"compact-eats",
		"range-end",
		"filter-keeps-count",
		"filter-skips-none",
		"filter-sees-less",
		"limit-no-offset",
		"family-range",
		"past-marker",
		"keep-deleted",
		"truncate-family",
	};

	return what < PLANT_MAX ? names[what] : "unknown";
}
