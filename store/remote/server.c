#include "store/served.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/remote/server_inside.h"

/* Larger buffers, grown by a large value, are freed after use. */
#define KEEP_BYTES (1u << 20)

uint32_t slot_add(struct served *sv, enum slot_type type, void *object,
		  struct filter *filter)
{
	for (uint32_t i = 0; i < SLOTS_MAX; i++) {
		struct slot *slot = &sv->slots[i];

		if (slot->type != SLOT_FREE)
			continue;
		slot->type = (uint8_t)type;
		slot->object = object;
		slot->filter = filter;
		/* 24 bits, never 0, so that no handle is 0. */
		slot->generation = slot->generation % 0xFFFFFF + 1;
		return slot->generation << 8 | i;
	}
	why(-EMFILE, "%d tables, scans and snapshots are open in one session",
	    SLOTS_MAX);
	return 0;
}

struct slot *slot_find(struct served *sv, uint32_t handle, enum slot_type type)
{
	struct slot *slot = &sv->slots[handle % SLOTS_MAX];

	if (slot->type != type || slot->generation != handle >> 8)
		return NULL;
	return slot;
}

void slot_close(struct slot *slot)
{
	switch (slot->type) {
	case SLOT_TABLE:
		table_unref(slot->object);
		break;
	case SLOT_SCAN:
		scan_close(slot->object);
		break;
	case SLOT_SNAPSHOT:
		snapshot_release(slot->object);
		break;
	}
	filter_free(slot->filter);
	table_unref(slot->table);
	buf_free(&slot->name);
	*slot = (struct slot){.generation = slot->generation};
}

int take_table(struct served *sv, struct decoder *in, bool or_none,
	       struct table **out)
{
	uint32_t handle = take_u32(in);
	struct slot *slot = slot_find(sv, handle, SLOT_TABLE);

	*out = slot ? slot->object : NULL;
	if (slot || (!handle && or_none))
		return 0;
	return why(-EBADF, "the request names no open table");
}

int served_before(struct served *sv, struct served_act *act)
{
	return sv->hooks.before ? sv->hooks.before(sv->hooks.arg, act) : 0;
}

int served_after(struct served *sv, struct served_act *act, int result)
{
	char sentence[1024];

	if (!sv->hooks.after)
		return result;
	/* The hook may record other sentences: keep the change's. */
	snprintf(sentence, sizeof(sentence), "%s", store_why());
	sv->hooks.after(sv->hooks.arg, act, result);
	return result < 0 ? why(result, "%s", sentence) : result;
}

static int serve_hello(struct served *sv, struct decoder *in,
		       struct encoder *out)
{
	uint32_t version = take_u32(in);
	int r = wire_done(in);

	(void)sv;
	put_u32(out, WIRE_VERSION);
	if (r == 0 && version != WIRE_VERSION)
		r = why(-EPROTONOSUPPORT,
			"this program is of another version of cellfs than "
			"the mount");
	return r;
}

static int serve_sync(struct served *sv, struct decoder *in,
		      struct encoder *out)
{
	int r = wire_done(in);

	(void)out;
	return r < 0 ? r : store_sync(sv->store);
}

static int care(struct served *sv, struct decoder *in,
		int (*act)(struct store *s, struct table *t))
{
	struct served_act what = {.what = SERVED_CARE};
	int r = take_table(sv, in, true, &what.table);

	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = served_before(sv, &what);
	if (r < 0)
		return r;
	return served_after(sv, &what, act(sv->store, what.table));
}

static int serve_flush(struct served *sv, struct decoder *in,
		       struct encoder *out)
{
	(void)out;
	return care(sv, in, store_flush);
}

static int serve_compact(struct served *sv, struct decoder *in,
			 struct encoder *out)
{
	(void)out;
	return care(sv, in, store_compact);
}

static int serve_stats(struct served *sv, struct decoder *in,
		       struct encoder *out)
{
	struct store_stat st;
	uint32_t n = 0;
	int r = wire_done(in);

	if (r < 0)
		return r;
	while (store_stat(sv->store, n, &st) > 0)
		n++;
	put_u32(out, n);
	for (uint32_t i = 0; i < n; i++) {
		if (store_stat(sv->store, i, &st) <= 0)
			return why(-EIO, "the store's figures changed");
		put_bytes(out, bytes_str(st.name));
		put_bytes(out, bytes_str(st.help));
		put_u8(out, st.counter);
		put_u64(out, st.value);
	}
	return 0;
}

static int serve_space(struct served *sv, struct decoder *in,
		       struct encoder *out)
{
	struct store_space space = {0};
	int r = wire_done(in);

	if (r == 0)
		r = store_space(sv->store, &space);
	put_u64(out, space.total_bytes);
	put_u64(out, space.free_bytes);
	put_u64(out, space.avail_bytes);
	return r;
}

static int serve_health(struct served *sv, struct decoder *in,
			struct encoder *out)
{
	int r = wire_done(in);

	(void)out;
	return r < 0 ? r : store_health(sv->store);
}

static int serve_now(struct served *sv, struct decoder *in, struct encoder *out)
{
	put_i64(out, store_now_ms(sv->store));
	return wire_done(in);
}

static const served_op ops[WIRE_OPS] = {
	[WIRE_HELLO] = serve_hello,
	[WIRE_TABLE_OPEN] = serve_table_open,
	[WIRE_TABLE_OPEN_ID] = serve_table_open_id,
	[WIRE_TABLE_CLOSE] = serve_table_close,
	[WIRE_TABLE_SCHEMA] = serve_table_schema,
	[WIRE_TABLE_VERSION] = serve_table_version,
	[WIRE_TABLE_NAME] = serve_table_name,
	[WIRE_TABLE_CREATE] = serve_table_create,
	[WIRE_TABLE_DROP] = serve_table_drop,
	[WIRE_TABLE_TRUNCATE] = serve_table_truncate,
	[WIRE_TABLE_RENAME] = serve_table_rename,
	[WIRE_TABLE_ALTER] = serve_table_alter,
	[WIRE_TABLE_ADD_FAMILY] = serve_add_family,
	[WIRE_TABLE_NEXT] = serve_table_next,
	[WIRE_NAMESPACE_CREATE] = serve_namespace_create,
	[WIRE_NAMESPACE_DROP] = serve_namespace_drop,
	[WIRE_NAMESPACE_NEXT] = serve_namespace_next,
	[WIRE_MUTATE] = serve_mutate,
	[WIRE_MUTATE_MANY] = serve_mutate_many,
	[WIRE_SYNC] = serve_sync,
	[WIRE_SCAN_OPEN] = serve_scan_open,
	[WIRE_SCAN_NEXT] = serve_scan_next,
	[WIRE_SCAN_CLOSE] = serve_scan_close,
	[WIRE_GET] = serve_get,
	[WIRE_SNAPSHOT_TAKE] = serve_snapshot_take,
	[WIRE_SNAPSHOT_RELEASE] = serve_snapshot_release,
	[WIRE_SNAPSHOT_CREATE] = serve_snapshot_create,
	[WIRE_SNAPSHOT_DROP] = serve_snapshot_drop,
	[WIRE_SNAPSHOT_RENAME] = serve_snapshot_rename,
	[WIRE_SNAPSHOT_NEXT] = serve_snapshot_next,
	[WIRE_SNAPSHOT_OPEN] = serve_snapshot_open,
	[WIRE_SNAPSHOT_CLONE] = serve_snapshot_clone,
	[WIRE_SNAPSHOT_RESTORE] = serve_snapshot_restore,
	[WIRE_FLUSH] = serve_flush,
	[WIRE_COMPACT] = serve_compact,
	[WIRE_STATS] = serve_stats,
	[WIRE_SPACE] = serve_space,
	[WIRE_HEALTH] = serve_health,
	[WIRE_NOW] = serve_now,
	[WIRE_TABLE_INFO] = serve_table_info,
};

/* Runs the op and appends its reply; negative if no memory is left. */
static int reply_to(struct served *sv, struct bytes frame)
{
	struct decoder in = decoder_of(frame);
	struct encoder out = {.out = &sv->out};
	uint32_t id = take_u32(&in);
	uint8_t op = take_u8(&in);
	size_t at = wire_begin(&out), fields;
	int r;

	put_u32(&out, id);
	put_result(&out, 0);
	fields = sv->out.len;
	why_clear();
	if (in.bad || op >= WIRE_OPS)
		r = why(-EPROTO, "a request for nothing that is known");
	else
		r = ops[op](sv, &in, &out);
	if (r >= 0 && wire_end(&out, at) < 0)
		r = out.err ? out.err : -EFBIG;
	if (r < 0) {
		if (fields > sv->out.len)
			return -ENOMEM;
		sv->out.len = fields;
		out.err = 0;
		put_bytes(&out, bytes_str(store_why()));
		if (wire_end(&out, at) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < 4; i++)
		sv->out.data[at + 8 + i] = (uint8_t)((uint32_t)r >> (8 * i));
	return 0;
}

/* Moves the next request to sv->request. 1, 0, -EPROTO. */
static int next_request(struct served *sv)
{
	struct bytes frame;
	size_t len;
	int r;

	pthread_mutex_lock(&sv->in_lock);
	r = sv->is_over ? -EPROTO : wire_whole(buf_bytes(&sv->in), &frame);
	if (r > 0 && buf_set(&sv->request, frame) < 0)
		r = -ENOMEM;
	if (r > 0) {
		len = frame.len + 4;
		memmove(sv->in.data, sv->in.data + len, sv->in.len - len);
		sv->in.len -= len;
		if (!sv->in.len && sv->in.cap > KEEP_BYTES)
			buf_free(&sv->in);
	}
	pthread_mutex_unlock(&sv->in_lock);
	return r;
}

static void trim(struct buf *b)
{
	b->len = 0;
	if (b->cap > KEEP_BYTES)
		buf_free(b);
}

static void end(struct served *sv)
{
	pthread_mutex_lock(&sv->in_lock);
	sv->is_over = true;
	pthread_mutex_unlock(&sv->in_lock);
}

int served_feed(struct served *sv, struct bytes data)
{
	struct bytes frame;
	int r = 0;

	pthread_mutex_lock(&sv->in_lock);
	if (sv->is_over)
		r = why(-EPROTO, "the session is over: open the file again");
	else if (data.len > WIRE_FRAME_MAX + 4 - sv->in.len)
		r = why(-EAGAIN, "read the replies first");
	else if (buf_append(&sv->in, data.data, data.len) < 0)
		r = why(-ENOMEM, "out of memory for a request");
	if (r == 0 && wire_whole(buf_bytes(&sv->in), &frame) < 0) {
		sv->is_over = true;
		r = -EPROTO;
	}
	pthread_mutex_unlock(&sv->in_lock);
	return r;
}

int served_take(struct served *sv, size_t size,
		int (*give)(void *arg, struct bytes data), void *arg)
{
	int r = 0;
	size_t n;

	pthread_mutex_lock(&sv->run_lock);
	if (sv->out_at == sv->out.len) {
		trim(&sv->out);
		sv->out_at = 0;
		r = next_request(sv);
		if (r > 0) {
			r = reply_to(sv, buf_bytes(&sv->request));
			trim(&sv->request);
		}
	}
	if (r == 0) {
		n = sv->out.len - sv->out_at;
		n = n < size ? n : size;
		r = give(arg, bytes_of(sv->out.data ? sv->out.data + sv->out_at
						    : NULL,
				       n));
		sv->out_at += n;
	}
	if (r < 0)
		end(sv);
	else if (sv->ahead.due && sv->out_at == sv->out.len)
		serve_ahead(sv);
	pthread_mutex_unlock(&sv->run_lock);
	return r == -EPROTO ? why(r, "the session is over: open the file again")
			    : r;
}

int served_new(struct store *s, const struct served_hooks *hooks,
	       struct served **out)
{
	struct served *sv = calloc(1, sizeof(*sv));

	if (!sv)
		return why(-ENOMEM, "out of memory for a session");
	sv->store = s;
	if (hooks)
		sv->hooks = *hooks;
	pthread_mutex_init(&sv->in_lock, NULL);
	pthread_mutex_init(&sv->run_lock, NULL);
	*out = sv;
	return 0;
}

void served_free(struct served *sv)
{
	if (!sv)
		return;
	/* Close scans before the snapshots and tables that they read. */
	for (uint32_t i = 0; i < SLOTS_MAX; i++)
		if (sv->slots[i].type == SLOT_SCAN)
			slot_close(&sv->slots[i]);
	for (uint32_t i = 0; i < SLOTS_MAX; i++)
		slot_close(&sv->slots[i]);
	buf_free(&sv->in);
	buf_free(&sv->request);
	buf_free(&sv->out);
	buf_free(&sv->ahead.batch);
	pthread_mutex_destroy(&sv->in_lock);
	pthread_mutex_destroy(&sv->run_lock);
	free(sv);
}
