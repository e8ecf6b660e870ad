#include "fs/kernel/fstable.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct fstable {
	struct table *table;   /* a reference */
	struct snapshot *snap; /* NULL = the present */
	_Atomic uint32_t refs;
	pthread_mutex_t lock; /* guards all below */
	bool loaded;
	uint64_t version; /* of schema */
	struct schema schema;
	struct schema then;   /* of snap: its cells are kept as it says */
	bool expires;	      /* of some family shown the cells do */
	bool asked, cell_ttl; /* whether some cells have their own ttl */
	int64_t changed_ms;
	struct fstable_count counts[COUNTS];
};

int fstable_new(struct table *t, struct fstable **out)
{
	struct fstable *ft = calloc(1, sizeof(*ft));

	if (!ft) {
		table_unref(t);
		return why(-ENOMEM, "out of memory for a table");
	}
	ft->table = t;
	ft->refs = 1;
	pthread_mutex_init(&ft->lock, NULL);
	*out = ft;
	return 0;
}

int fstable_new_shown(struct table *t, struct snapshot *snap,
		      struct fstable **out)
{
	int r = fstable_new(t, out);

	if (r < 0)
		snapshot_release(snap);
	else
		(*out)->snap = snap;
	return r;
}

void fstable_ref(struct fstable *ft)
{
	atomic_fetch_add_explicit(&ft->refs, 1, memory_order_relaxed);
}

static void count_free(struct fstable_count *c)
{
	buf_free(&c->view);
	buf_free(&c->last);
}

void fstable_unref(struct fstable *ft)
{
	if (!ft || !refs_drop(&ft->refs))
		return;
	snapshot_release(ft->snap);
	table_unref(ft->table);
	schema_free(&ft->schema);
	schema_free(&ft->then);
	for (int i = 0; i < COUNTS; i++)
		count_free(&ft->counts[i]);
	pthread_mutex_destroy(&ft->lock);
	free(ft);
}

struct table *fstable_table(struct fstable *ft)
{
	return ft->table;
}

uint64_t fstable_id(const struct fstable *ft)
{
	return table_id(ft->table);
}

const struct snapshot *fstable_snapshot(const struct fstable *ft)
{
	return ft->snap;
}

bool fstable_same(const struct fstable *a, const struct fstable *b)
{
	if (fstable_id(a) != fstable_id(b) || !a->snap || !b->snap)
		return fstable_id(a) == fstable_id(b) && a->snap == b->snap;
	return snapshot_taken_ms(a->snap) == snapshot_taken_ms(b->snap);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The settings of the cells that are shown; under the lock. */
static const struct schema *shown(const struct fstable *ft)
{
	return ft->snap ? &ft->then : &ft->schema;
}

/*
 * Makes the copy of the schema one of that version. The lock is given back meanwhile,
 * as a server may be silent. REQUIRES: lock.
 */
static int copy(struct fstable *ft, uint64_t version)
{
	bool has_then = ft->loaded;
	struct schema fresh = {0}, then = {0};
	int r;

	pthread_mutex_unlock(&ft->lock);
	r = table_schema(ft->table, &fresh);
	if (r == 0 && ft->snap && !has_then)
		r = snapshot_schema(ft->snap, ft->table, &then);
	pthread_mutex_lock(&ft->lock);
	/* Another thread may have copied this or a later one. */
	if (r < 0 || (ft->loaded && ft->version >= version)) {
		schema_free(&fresh);
		schema_free(&then);
		return r;
	}
	if (ft->loaded) {
		ft->changed_ms = now_ms();
		schema_free(&then);
	} else {
		ft->then = then;
	}
	schema_free(&ft->schema);
	ft->schema = fresh;
	ft->version = version;
	ft->loaded = true;
	ft->expires = false;
	for (uint32_t i = 0; i < shown(ft)->nfamilies; i++)
		if (shown(ft)->families[i].attrs.ttl_ms != TTL_FOREVER)
			ft->expires = true;
	return 0;
}

/*
 * Takes the lock and looks at the schema anew: 0 or negative. A snapshot's does not
 * change, but whose its table is does.
 */
static int lock_fresh(struct fstable *ft)
{
	/* Read before the schema: an older number only causes another copy. */
	uint64_t version = table_schema_version(ft->table);

	pthread_mutex_lock(&ft->lock);
	return ft->loaded && ft->version == version ? 0 : copy(ft, version);
}

int fstable_owner(struct fstable *ft, struct fstable_owner *out)
{
	int r = lock_fresh(ft);

	if (r == 0)
		*out = (struct fstable_owner){
			.mode = ft->schema.mode,
			.uid = ft->schema.uid,
			.gid = ft->schema.gid,
		};
	pthread_mutex_unlock(&ft->lock);
	return r;
}

int fstable_family(struct fstable *ft, struct bytes family,
		   struct family_attrs *out)
{
	int i, r = lock_fresh(ft);

	if (r == 0) {
		i = schema_find(shown(ft), family);
		if (i >= 0 && out)
			*out = shown(ft)->families[i].attrs;
		r = i >= 0;
	}
	pthread_mutex_unlock(&ft->lock);
	return r;
}

int fstable_fixed(struct fstable *ft)
{
	int r = lock_fresh(ft);

	if (r == 0)
		r = ft->schema.fixed;
	pthread_mutex_unlock(&ft->lock);
	return r;
}

int fstable_plain(struct fstable *ft)
{
	int r = lock_fresh(ft);

	if (r == 0)
		r = schema_is_plain(&ft->schema);
	pthread_mutex_unlock(&ft->lock);
	return r;
}

/*
 * Asks the store once: later such cells are written through the mount, which
 * notes them. Under the lock.
 */
static int ask_cell_ttl(struct fstable *ft)
{
	int r;

	if (ft->asked)
		return 0;
	r = table_has_ttl(ft->table);
	if (r < 0)
		return r;
	ft->cell_ttl |= r > 0;
	ft->asked = true;
	return 0;
}

void fstable_ask_again(struct fstable *ft)
{
	pthread_mutex_lock(&ft->lock);
	ft->asked = false;
	pthread_mutex_unlock(&ft->lock);
}

int fstable_expires(struct fstable *ft)
{
	int r = lock_fresh(ft);

	if (r == 0)
		r = ask_cell_ttl(ft);
	if (r == 0)
		r = ft->cell_ttl ? FSTABLE_CELL_TTL : ft->expires;
	pthread_mutex_unlock(&ft->lock);
	return r;
}

bool fstable_has_cell_ttl(struct fstable *ft)
{
	bool first;

	pthread_mutex_lock(&ft->lock);
	first = !ft->cell_ttl;
	ft->cell_ttl = true;
	pthread_mutex_unlock(&ft->lock);
	return first;
}

int fstable_schema(struct fstable *ft, struct schema *out)
{
	int r;

	if (ft->snap)
		return snapshot_schema(ft->snap, ft->table, out);
	r = lock_fresh(ft);
	if (r == 0)
		r = schema_copy(out, &ft->schema);
	pthread_mutex_unlock(&ft->lock);
	return r;
}

int64_t fstable_changed_ms(struct fstable *ft)
{
	int64_t ms;

	if (ft->snap)
		return snapshot_taken_ms(ft->snap);
	lock_fresh(ft);
	ms = ft->changed_ms;
	pthread_mutex_unlock(&ft->lock);
	return ms;
}

int fstable_schema_text(struct fstable *ft, struct buf *out)
{
	struct schema schema;
	int r = fstable_schema(ft, &schema);

	if (r < 0)
		return r;
	r = schema_format(&schema, out);
	schema_free(&schema);
	return r;
}

void fstable_count_take(struct fstable *ft, int which,
			struct fstable_count *out)
{
	pthread_mutex_lock(&ft->lock);
	*out = ft->counts[which];
	ft->counts[which] = (struct fstable_count){0};
	pthread_mutex_unlock(&ft->lock);
}

void fstable_count_put(struct fstable *ft, int which, struct fstable_count *c)
{
	struct fstable_count old;

	pthread_mutex_lock(&ft->lock);
	old = ft->counts[which];
	ft->counts[which] = *c;
	pthread_mutex_unlock(&ft->lock);
	count_free(&old);
	*c = (struct fstable_count){0};
}
