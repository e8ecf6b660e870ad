#include "store/remote/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/os/os.h"
#include "store/remote/client_inside.h"

static int next_name(struct store *s, enum wire_op op, struct bytes after,
		     char *name)
{
	struct field out[FIELDS_MAX] = {0};
	int r = ask_next(s, op, FIELDS(field_bytes(after)), after, out);

	if (r > 0)
		memcpy(name, out[0].name, sizeof(out[0].name));
	return r;
}

static int open_table(struct store *s, enum wire_op op, struct field which,
		      struct table **out)
{
	struct field got[FIELDS_MAX] = {0};
	struct remote_table *t;
	int r = call_fields(remote_of(s), op, FIELDS(which), got);

	if (r < 0)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t) {
		call_close(remote_of(s), WIRE_TABLE_CLOSE, got[0]);
		return why(-ENOMEM, "out of memory for a table");
	}
	t->handle = (uint32_t)got[0].n;
	table_init(&t->base, s, got[1].n);
	*out = &t->base;
	return 0;
}

static int remote_table_open(struct store *s, struct bytes name,
			     struct table **out)
{
	return open_table(s, WIRE_TABLE_OPEN, field_bytes(name), out);
}

static int remote_table_open_id(struct store *s, uint64_t id,
				struct table **out)
{
	return open_table(s, WIRE_TABLE_OPEN_ID, field_number(id), out);
}

static void remote_table_free(struct table *t)
{
	call_close(remote_of(t->store), WIRE_TABLE_CLOSE, field_table(t));
	free(t);
}

static int remote_table_schema(struct table *t, struct schema *out)
{
	struct field got[FIELDS_MAX] = {0};
	int r = call_fields(remote_of(t->store), WIRE_TABLE_SCHEMA,
			    FIELDS(field_table(t)), got);

	if (r == 0)
		*out = got[0].schema;
	return r;
}

static uint64_t remote_schema_version(const struct table *t)
{
	struct remote_table *rt = (struct remote_table *)(uintptr_t)t;
	struct remote *remote = remote_of(t->store);
	struct field got[FIELDS_MAX] = {0};
	uint64_t version;
	bool known;

	pthread_mutex_lock(&remote->lock);
	known = rt->has_version && rt->version_id == remote->last_id;
	version = rt->version;
	pthread_mutex_unlock(&remote->lock);
	if (known)
		return version;
	if (call_fields(remote, WIRE_TABLE_VERSION, FIELDS(field_table(t)),
			got) < 0)
		return 0;
	pthread_mutex_lock(&remote->lock);
	rt->has_version = true;
	rt->version_id = remote->last_id;
	rt->version = got[0].n;
	pthread_mutex_unlock(&remote->lock);
	return got[0].n;
}

static int remote_table_name(struct table *t, char *name)
{
	struct field got[FIELDS_MAX] = {0};
	int r = call_fields(remote_of(t->store), WIRE_TABLE_NAME,
			    FIELDS(field_table(t)), got);

	if (r == 0)
		memcpy(name, got[0].name, sizeof(got[0].name));
	return r;
}

static int remote_table_create(struct store *s, struct bytes name,
			       const struct schema *schema)
{
	return ask(s, WIRE_TABLE_CREATE,
		   FIELDS(field_bytes(name), {.schema = *schema}));
}

static int remote_table_drop(struct store *s, struct bytes name,
			     bool only_if_empty)
{
	return ask(s, WIRE_TABLE_DROP,
		   FIELDS(field_bytes(name), field_number(only_if_empty)));
}

static int remote_table_truncate(struct store *s, struct bytes name)
{
	return ask(s, WIRE_TABLE_TRUNCATE, FIELDS(field_bytes(name)));
}

static int remote_table_rename(struct store *s, struct bytes from,
			       struct bytes to)
{
	return ask(s, WIRE_TABLE_RENAME,
		   FIELDS(field_bytes(from), field_bytes(to)));
}

static int remote_table_enable(struct table *t, bool on)
{
	return ask(t->store, WIRE_TABLE_ENABLE,
		   FIELDS(field_table(t), field_number(on)));
}

static int remote_table_is_enabled(struct table *t)
{
	return ask(t->store, WIRE_TABLE_IS_ENABLED, FIELDS(field_table(t)));
}

static int remote_table_alter(struct table *t, const struct alter *a)
{
	return ask(t->store, WIRE_TABLE_ALTER,
		   FIELDS(field_table(t), {.alter = *a}));
}

static int remote_add_family(struct table *t, struct bytes family)
{
	return ask(t->store, WIRE_TABLE_ADD_FAMILY,
		   FIELDS(field_table(t), field_bytes(family)));
}

static int remote_table_next(struct store *s, struct bytes after, char *name)
{
	return next_name(s, WIRE_TABLE_NEXT, after, name);
}

static int remote_namespace_create(struct store *s, struct bytes name)
{
	return ask(s, WIRE_NAMESPACE_CREATE, FIELDS(field_bytes(name)));
}

static int remote_namespace_drop(struct store *s, struct bytes name)
{
	return ask(s, WIRE_NAMESPACE_DROP, FIELDS(field_bytes(name)));
}

static int remote_namespace_next(struct store *s, struct bytes after,
				 char *name)
{
	return next_name(s, WIRE_NAMESPACE_NEXT, after, name);
}

static int remote_flush(struct store *s, struct table *t)
{
	return ask(s, WIRE_FLUSH, FIELDS(field_table(t)));
}

static int remote_compact(struct store *s, struct table *t)
{
	return ask(s, WIRE_COMPACT, FIELDS(field_table(t)));
}

/* Gives each line of @text to @say. */
static void say_lines(struct bytes text,
		      void (*say)(void *arg, const char *sentence), void *arg)
{
	while (text.len) {
		const uint8_t *end = memchr(text.data, '\n', text.len);
		size_t n = end ? (size_t)(end - text.data) : text.len;
		char line[2048];

		snprintf(line, sizeof(line), "%.*s", (int)n,
			 (const char *)text.data);
		say(arg, line);
		n += end != NULL;
		text = bytes_of(text.data + n, text.len - n);
	}
}

static int remote_check_part(struct store *s, struct store_checking *at,
			     uint64_t bytes,
			     void (*say)(void *arg, const char *sentence),
			     void *arg)
{
	struct field got[FIELDS_MAX] = {0};
	struct buf reply = {0};
	int r = call_holding(remote_of(s), WIRE_CHECK,
			     FIELDS({.checking = *at}, field_number(bytes)),
			     got, &reply);

	if (r == 0) {
		say_lines(got[3].s, say, arg);
		r = got[0].n != 0;
		*at = got[1].checking;
		at->total = got[2].n;
	}
	buf_free(&reply);
	return r;
}

static int remote_shape(struct store *s, struct buf *out)
{
	struct field got[FIELDS_MAX] = {0};
	struct buf reply = {0};
	int r = call_holding(remote_of(s), WIRE_SHAPE, NULL, got, &reply);

	if (r == 0 && buf_append(out, got[0].s.data, got[0].s.len) < 0)
		r = why(-ENOMEM, "out of memory for a shape");
	buf_free(&reply);
	return r;
}

static int remote_table_info(struct table *t, struct table_info *out)
{
	struct field got[FIELDS_MAX] = {0};
	int r = call_fields(remote_of(t->store), WIRE_TABLE_INFO,
			    FIELDS(field_table(t)), got);

	if (r == 0)
		*out = got[0].info;
	return r;
}

static int remote_space(struct store *s, struct store_space *out)
{
	struct field got[FIELDS_MAX] = {0};
	int r = call_fields(remote_of(s), WIRE_SPACE, NULL, got);

	if (r == 0)
		*out = got[0].space;
	return r;
}

static int remote_health(struct store *s)
{
	return ask(s, WIRE_HEALTH, NULL);
}

static int64_t remote_now_ms(struct store *s)
{
	struct field got[FIELDS_MAX] = {0};

	/* The server runs on this machine, so the clock is the same. */
	if (call_fields(remote_of(s), WIRE_NOW, NULL, got) < 0)
		return os_now_ms(os_posix());
	return (int64_t)got[0].n;
}

static struct field field_sync(const struct table *t, unsigned flags)
{
	return field_number(flags & MUTATE_SYNC || remote_of(t->store)->sync);
}

static int remote_mutate(struct table *t, struct mutation *m, unsigned flags)
{
	struct field out[FIELDS_MAX] = {{.rows = m}};

	remote_of(t->store)->is_changed = true;
	return call_fields(
		remote_of(t->store), WIRE_MUTATE,
		FIELDS(field_table(t), field_sync(t, flags), {.rows = m}), out);
}

/* What a mutation takes in a message, or some more. */
static size_t message_bytes(const struct mutation *m)
{
	const size_t numbers = 64;
	size_t n = numbers + m->row.len;

	for (size_t i = 0; i < m->nchecks; i++)
		n += numbers + m->checks[i].family.len +
		     m->checks[i].qualifier.len + m->checks[i].value.len;
	for (size_t i = 0; i < m->nchanges; i++)
		n += numbers + m->changes[i].family.len +
		     m->changes[i].qualifier.len + m->changes[i].value.len;
	return n;
}

/* How many of the mutations one message takes: at least one. */
static size_t how_many(const struct mutation *m, size_t n)
{
	size_t bytes = 0, i;

	for (i = 0; i < n && i < WIRE_ROWS_MAX; i++) {
		bytes += message_bytes(&m[i]);
		/* The reply is always shorter: 16 bytes a change. */
		if (i && bytes > WIRE_VALUE_MAX)
			break;
	}
	return i;
}

/* One message's; *done of them are done. */
static int mutate_some(struct table *t, struct mutation *m, size_t n,
		       unsigned flags, size_t *done)
{
	struct remote *remote = remote_of(t->store);
	struct field out[FIELDS_MAX] = {{.n = n, .rows = m}};
	struct buf reply = {0};
	int r = call_holding(remote, WIRE_MUTATE_MANY,
			     FIELDS(field_table(t), field_sync(t, flags),
				    {.n = n, .rows = m}),
			     out, &reply);
	int result = (int)(uint32_t)out[1].n;

	if (r == 0 && (result > 0 || (result == 0 && out[0].n < n)))
		r = call_nonsense(remote);
	*done = r < 0 ? 0 : out[0].n;
	if (r == 0 && result < 0)
		r = why(result, "%.*s", (int)out[2].s.len,
			(const char *)out[2].s.data);
	buf_free(&reply);
	return r;
}

static int remote_mutate_many(struct table *t, struct mutation *m, size_t n,
			      unsigned flags, size_t *done)
{
	int r = 0;

	remote_of(t->store)->is_changed = true;
	while (r == 0 && *done < n) {
		size_t some = how_many(m + *done, n - *done);

		r = mutate_some(t, m + *done, some, flags, &some);
		*done += some;
	}
	return r;
}

static int remote_sync(struct store *s)
{
	return ask(s, WIRE_SYNC, NULL);
}

static void destroy(struct remote *r)
{
	for (size_t i = 0; i < r->nfigures; i++) {
		free(r->figures[i].name);
		free(r->figures[i].help);
	}
	r->channel->close(r->channel);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static int remote_close(struct store *s)
{
	struct remote *r = remote_of(s);
	int result = r->is_changed ? remote_sync(s) : 0;

	destroy(r);
	return result;
}

static const struct store_ops remote_ops = {
	/* Of these, what the store can that is served. */
	.can = ABILITIES_ALL & ~ABILITY(CAN_KEEP),
	.close = remote_close,
	.table_open = remote_table_open,
	.table_free = remote_table_free,
	.table_schema = remote_table_schema,
	.table_schema_version = remote_schema_version,
	.table_name = remote_table_name,
	.table_create = remote_table_create,
	.table_drop = remote_table_drop,
	.table_truncate = remote_table_truncate,
	.table_rename = remote_table_rename,
	.table_enable = remote_table_enable,
	.table_is_enabled = remote_table_is_enabled,
	.table_alter = remote_table_alter,
	.table_next = remote_table_next,
	.table_info = remote_table_info,
	.add_family = remote_add_family,
	.namespace_create = remote_namespace_create,
	.namespace_drop = remote_namespace_drop,
	.namespace_next = remote_namespace_next,
	.mutate = remote_mutate,
	.mutate_many = remote_mutate_many,
	.sync = remote_sync,
	.scan_open = remote_scan_open,
	.scan_next = remote_scan_next,
	.scan_pass = remote_scan_pass,
	.scan_close = remote_scan_close,
	.check_part = remote_check_part,
	.get = remote_get,
	.snapshot_take = remote_snapshot_take,
	.snapshot_release = remote_snapshot_release,
	.snapshot_create = remote_snapshot_create,
	.snapshot_drop = remote_snapshot_drop,
	.snapshot_rename = remote_snapshot_rename,
	.snapshot_next = remote_snapshot_next,
	.snapshot_open = remote_snapshot_open,
	.snapshot_clone = remote_snapshot_clone,
	.snapshot_restore = remote_snapshot_restore,
	.table_open_id = remote_table_open_id,
	.flush = remote_flush,
	.compact = remote_compact,
	.hold = remote_hold,
	.hold_release = remote_hold_release,
	.keep_log = remote_keep_log,
	.stat = remote_stat,
	.shape = remote_shape,
	.space = remote_space,
	.health = remote_health,
	.now_ms = remote_now_ms,
};

static int hello(struct remote *r)
{
	struct field got[FIELDS_MAX] = {0};
	int result = call_fields(r, WIRE_HELLO,
				 FIELDS(field_number(WIRE_VERSION)), got);

	if (result >= 0 && got[0].n != WIRE_VERSION)
		result = why(-EPROTONOSUPPORT,
			     "the mount is of another version of cellfs than "
			     "this program");
	r->base.can = (uint32_t)got[1].n & r->base.ops->can;
	return result;
}

int remote_open(struct channel *ch, const struct store_options *o,
		struct store **out)
{
	struct remote *r = store_alloc(sizeof(*r));
	int result;

	if (!r) {
		ch->close(ch);
		return why(-ENOMEM, "out of memory for a store");
	}
	store_init(&r->base, &remote_ops, o && o->read_only);
	r->base.counts_elsewhere = true;
	r->sync = o && o->sync;
	r->channel = ch;
	pthread_mutex_init(&r->lock, NULL);
	result = hello(r);
	if (result < 0) {
		store_fini(&r->base);
		destroy(r);
		return result;
	}
	*out = &r->base;
	return 0;
}
