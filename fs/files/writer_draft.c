/*
 * What a writer has gathered: the draft of an open file, and the content that
 * it makes with what is stored.
 */
#include "fs/files/writer_inside.h"

#include <errno.h>

#include "fs/change/moved.h"

int writer_read_cell(struct writer *w, struct cell *cell, struct buf *hold)
{
	const struct place *p = &w->place;

	if (p->kind == NODE_VERSION && moved_hides(w->fs, p, p->ts))
		return 0;
	return place_get(p, cell, hold);
}

/* Reads the present content of the file into @hold: 1; 0 when there is none. */
static int read_file(struct writer *w, struct buf *hold, struct bytes *out)
{
	struct cell cell;
	int r;

	*out = (struct bytes){0};
	if (w->type == WRITER_SCHEMA) {
		r = fstable_schema_text(w->place.table, hold);
		*out = buf_bytes(hold);
		return r ? r : 1;
	}
	r = writer_read_cell(w, &cell, hold);
	if (r > 0)
		*out = cell.value;
	return r;
}

int writer_whole(struct writer *w, struct draft *whole)
{
	struct buf hold = {0};
	struct bytes old;
	int r = read_file(w, &hold, &old);

	draft_init(whole, w->draft.share.budget, w->draft.len_max);
	if (r > 0)
		r = draft_set(whole, old);
	if (!r)
		r = draft_write(whole, buf_bytes(&w->draft.content),
				whole->content.len);
	buf_free(&hold);
	return r;
}

void writer_take_whole(struct writer *w, const struct draft *whole)
{
	draft_clear(&w->draft);
	w->draft = *whole;
	w->tail = false;
	w->loaded = true;
}

static int set_len(struct writer *w, struct draft *d, uint64_t len)
{
	int r = 0;

	if (d->content.len != len) {
		r = draft_truncate(d, len);
		w->dirty |= !r;
	}
	return r;
}

/*
 * Makes the draft the whole content, and @len bytes long if that is not NULL.
 * On failure the draft stays as it is: an append stays one.
 */
static int load(struct writer *w, const uint64_t *len)
{
	struct draft whole;
	int r;

	if (w->loaded)
		return len ? set_len(w, &w->draft, *len) : 0;
	r = writer_whole(w, &whole);
	if (!r && len)
		r = set_len(w, &whole, *len);
	if (r) {
		draft_clear(&whole);
		return r;
	}
	writer_take_whole(w, &whole);
	return 0;
}

int writer_load(struct writer *w)
{
	return load(w, NULL);
}

/* Sets @len to the length of the content in the store. */
static int stored_len(struct writer *w, size_t *len)
{
	struct buf hold = {0};
	struct bytes text = {0};
	struct cell cell;
	int r;

	if (w->type == WRITER_SCHEMA) {
		r = read_file(w, &hold, &text);
		*len = text.len;
		buf_free(&hold);
	} else {
		r = writer_read_cell(w, &cell, NULL);
		*len = r > 0 ? cell.value.len : 0;
	}
	return r < 0 ? r : 0;
}

int writer_draft_size(struct writer *w, uint64_t *size)
{
	size_t len = 0;
	int r = 0;

	if (w->tail)
		r = stored_len(w, &len);
	else if (!w->loaded)
		return 0;
	if (r < 0)
		return r;
	*size = len + w->draft.content.len;
	return 1;
}

/* Refuses an append that makes the value longer than the store accepts. */
static int check_tail(struct writer *w, size_t more)
{
	int r;

	if (!w->base_len && w->ts < 0) {
		r = stored_len(w, &w->base_len);
		if (r < 0)
			return r;
	}
	if (w->base_len + w->draft.content.len + more > w->draft.len_max)
		return why(-EFBIG,
			   "a value here is at most %zu bytes (max_value)",
			   w->draft.len_max);
	return 0;
}

int writer_read_tail(struct writer *w, struct buf *out)
{
	struct budget_share share;
	struct buf hold = {0};
	struct bytes old = {0};
	size_t len = 0;
	int r = stored_len(w, &len);

	budget_share_init(&share, w->draft.share.budget);
	/* The value twice, as it is read and with what comes behind it. */
	if (r == 0 && budget_hold(&share, 3 * (uint64_t)len) < 0)
		r = budget_say(share.budget, -ENOBUFS);
	if (r == 0)
		r = read_file(w, &hold, &old);
	if (r >= 0)
		r = buf_append(out, old.data, old.len);
	if (!r)
		r = buf_append(out, w->draft.content.data,
			       w->draft.content.len);
	buf_free(&hold);
	budget_give(&share);
	return r;
}

/* Checks whether the schema would be accepted if the file were closed now. */
static int check_schema(struct writer *w)
{
	struct buf all = {0};
	int err = 0;

	if (w->tail)
		err = writer_read_tail(w, &all);
	if (!err)
		err = schema_file_check(
			w->fs, &w->place, &w->edit,
			buf_bytes(w->tail ? &all : &w->draft.content));
	buf_free(&all);
	return err;
}

static void note_size(struct writer *w)
{
	if (w->pending_size >= 0)
		w->pending_size = (int64_t)w->draft.content.len;
	w->flushed_ns = 0;
}

void writer_begin_tail(struct writer *w)
{
	if (w->type == WRITER_SCRATCH)
		return;
	w->tail = true;
	/* Text appended to a schema is not a complete schema. */
	w->edit.patched = true;
}

/* @append (O_APPEND): the offset is not looked at. */
int writer_write_draft(struct writer *w, struct bytes data, uint64_t off,
		       bool append)
{
	int err = w->type == WRITER_CELL
			  ? table_writable(fstable_table(w->place.table))
			  : store_health(w->fs->store);

	if (err)
		return err;
	if (append && !w->loaded && !w->tail)
		writer_begin_tail(w);
	err = append && w->tail ? check_tail(w, data.len) : writer_load(w);
	if (err)
		return err;
	if (append)
		off = w->draft.content.len;
	err = draft_write(&w->draft, data, off);
	if (err)
		return err;
	w->dirty = true;
	note_size(w);
	if (w->type != WRITER_SCHEMA)
		return 0;
	schema_edit_wrote(&w->edit, off, data.len);
	return check_schema(w);
}

int writer_truncate_draft(struct writer *w, uint64_t len)
{
	int err = 0;

	if (!len) {
		draft_clear(&w->draft);
		w->tail = false;
		w->loaded = true;
		w->owed = true;
		w->dirty = false;
		w->broken = false;
	} else {
		err = load(w, &len);
	}
	note_size(w);
	if (err || w->type != WRITER_SCHEMA)
		return err;
	schema_edit_truncated(&w->edit, len);
	return check_schema(w);
}
