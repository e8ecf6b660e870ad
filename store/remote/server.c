#include "store/served.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/front/guard.h"
#include "store/remote/server_inside.h"

/* Larger buffers, grown by a large value, are freed after use. */
#define KEEP_BYTES (1u << 20)

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
	case SLOT_HOLD:
		hold_release(slot->object);
		break;
	}
	filter_free(slot->filter);
	table_unref(slot->table);
	buf_free(&slot->name);
	*slot = (struct slot){.generation = slot->generation};
}

int slot_add(struct served *sv, enum slot_type type, void *object,
	     struct filter *filter, uint64_t *handle)
{
	struct slot made = {
		.type = (uint8_t)type, .object = object, .filter = filter};

	for (uint32_t i = 0; i < SLOTS_MAX; i++) {
		struct slot *slot = &sv->slots[i];

		if (slot->type != SLOT_FREE)
			continue;
		/* 24 bits, never 0, so that no handle is 0. */
		made.generation = slot->generation % 0xFFFFFF + 1;
		*slot = made;
		*handle = slot->generation << 8 | i;
		return 0;
	}
	slot_close(&made);
	return why(-EMFILE,
		   "%d tables, scans and snapshots are open in one session",
		   SLOTS_MAX);
}

int close_handle(struct served *sv, uint32_t handle, enum slot_type type)
{
	struct slot *slot = slot_find(sv, handle, type);

	if (!slot)
		return why(-EBADF, "the request closes nothing that is open");
	slot_close(slot);
	return 0;
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

/* Finds what the handle of a field is of: 0 or -EBADF. */
static int find_object(struct served *sv, char letter, struct field *f)
{
	bool is_table = letter == 't' || letter == 'T', is_none;
	struct slot *slot;

	if (!is_table && letter != 'S' && letter != 'Z')
		return 0;
	slot = slot_find(sv, (uint32_t)f->n,
			 is_table ? SLOT_TABLE : SLOT_SNAPSHOT);
	is_none = !f->n && (letter == 'T' || letter == 'Z');
	if (!is_none && (!slot || (letter == 'S' && !slot->name.len)))
		return why(-EBADF, "the request names no open %s%s",
			   is_table ? "table" : "snapshot",
			   letter == 'S' ? " with a name" : "");
	f->object = slot && letter != 'S' ? slot->object : slot;
	return 0;
}

struct served_act act_of(enum wire_op op, const struct field *in)
{
	const struct served_row *row = &served_rows[op];
	struct served_act act = {.what = row->what, .deletes = row->deletes};
	const char *letters = wire_rows[op].request;
	struct bytes *name = &act.name;

	for (; *letters; letters++, in++) {
		switch (*letters) {
		case 't':
		case 'T':
			act.table = in->object;
			break;
		case 's':
		case 'k':
			*name = in->s;
			name = &act.to;
			break;
		case 'a':
			act.alter = &in->alter;
			act.deletes = in->alter.rest == ALTER_DROP ||
				      in->alter.drop.nfamilies;
			break;
		case 'm':
		case 'M':
			act.rows = in->rows;
			act.nrows = in->n;
			for (size_t i = 0; i < act.nrows; i++)
				act.deletes |= guard_deletes(&act.rows[i]);
			break;
		}
	}
	return act;
}

static int run_row(struct served *sv, enum wire_op op, struct field *in,
		   struct field *out)
{
	const struct served_row *row = &served_rows[op];
	struct served_act act;
	int r;

	if (row->change) {
		act = act_of(op, in);
		r = served_before(sv, &act);
		if (r < 0)
			return r;
	}
	r = row->run ? row->run(sv, in, out) : run_call(sv, op, in, out);
	return row->change ? served_after(sv, &act, r) : r;
}

static int serve_op(struct served *sv, uint8_t op, struct decoder *d,
		    struct encoder *e)
{
	struct field in[FIELDS_MAX] = {0}, out[FIELDS_MAX] = {0};
	const struct wire_row *wire;
	int r;

	if (d->bad || op >= WIRE_OPS)
		return why(-EPROTO, "a request for nothing that is known");
	wire = &wire_rows[op];
	r = take_fields(d, wire->request, in);
	for (size_t i = 0; r == 0 && wire->request[i]; i++)
		r = find_object(sv, wire->request[i], &in[i]);
	if (r == 0)
		r = wire_done(d);
	if (r == 0)
		r = run_row(sv, op, in, out);
	if (r >= 0 && r == wire->found)
		put_fields(e, wire->reply, out);
	fields_free(wire->request, in);
	fields_free(wire->reply, out);
	return r;
}

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
	r = serve_op(sv, op, &in, &out);
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
	bytes_put_le32(sv->out.data + at + 8, (uint32_t)r);
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
			trim(&sv->hold);
			if (!sv->ahead.of)
				trim(&sv->ahead.batch);
		}
	}
	if (r == 0) {
		n = sv->out.len - sv->out_at;
		n = n < size ? n : size;
		r = give(arg, bytes_of(sv->out.data ? sv->out.data + sv->out_at
						    : NULL,
				       n));
		sv->out_at += r == SERVED_KEEP ? 0 : n;
	}
	if (r < 0)
		end(sv);
	else if (sv->ahead.due && sv->out_at == sv->out.len)
		serve_ahead(sv);
	pthread_mutex_unlock(&sv->run_lock);
	if (r == -EPROTO)
		return why(r, "the session is over: open the file again");
	return r < 0 ? r : 0;
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
	buf_free(&sv->hold);
	buf_free(&sv->out);
	buf_free(&sv->ahead.batch);
	pthread_mutex_destroy(&sv->in_lock);
	pthread_mutex_destroy(&sv->run_lock);
	free(sv);
}
