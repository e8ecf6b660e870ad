#include "fs/files/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fs/change/changed.h"
#include "fs/text/cells.h"
#include "fs/text/cells_import.h"
#include "fs/tree/view.h"

static const struct file_ops stream_ops;

/* More scans at a time are open only while they are read. */
#define AWAKE_MAX 32
/* What an open scan takes besides the values in it. */
#define SCAN_BYTES (256u << 10)
/* How often a read that finds no memory looks again, 10 ms apart. */
#define WAIT_STEPS 200

/* The cell where a scan that rests goes on. */
struct stop {
	struct buf row, family, qualifier;
	int64_t ts;
	bool any;    /* false: at the start */
	bool done;   /* it was made a line of */
	size_t part; /* so much of its value was */
};

struct stream {
	struct open_file file; /* first: the one is cast to the other */
	struct fs *fs;
	struct place place;
	struct changer changer;
	struct snapshot *snapshot; /* what is read; NULL = the scan's own */
	bool rests;	      /* may the scan be closed and opened again? */
	pthread_mutex_t lock; /* guards all below */

	struct view_scan *scan; /* NULL = resting, or at its end */
	bool ended;		/* so is one that is not open for reading */
	struct cell cell;	/* the scan's last one */
	bool have;		/* it is there, and its line is not whole */
	size_t part;		/* of its value in the line */
	struct stop stop;
	struct buf text; /* lines that were not read yet, from start on */
	size_t start;
	uint64_t offset; /* of text.data[start] in the file */
	int failed;	 /* what ended the scan, when the text is read */
	char reason[600];
	/* Of the file's share, beside what is the handle's. */
	uint64_t text_held, scan_held;

	struct cells_import *import; /* NULL = not open for writing */
	bool fed;		     /* something was written since a flush */
};

/* Does the scan begin at its start again when it goes on? */
static bool goes_back(const struct stream *s)
{
	const struct view *v = s->place.view;

	return v && (v->reversed || v->rows.limit || v->qualifiers.limit);
}

static struct scan_spec spec_of(const struct stream *s,
				struct column_name *family)
{
	const struct place *p = &s->place;
	struct scan_spec spec = {.granularity = SCAN_CELLS,
				 .snapshot = s->snapshot};

	*family =
		(struct column_name){.family = p->family, .whole_family = true};
	if (p->row.len) {
		spec.row_start = p->row;
		spec.row_stop = p->row;
		spec.row_stop_inclusive = true;
	} else if (s->stop.any && !goes_back(s)) {
		spec.row_start = buf_bytes(&s->stop.row);
	}
	if (p->family.len) {
		spec.columns = family;
		spec.ncolumns = 1;
	}
	return spec;
}

/* What an open scan takes: two blocks of a long value, not known before. */
static uint64_t scan_bytes(const struct stream *s)
{
	uint64_t n = SCAN_BYTES + 2 * atomic_load(&s->fs->value_len_max);
	uint64_t most = s->fs->budget.max / 8;

	return n < most ? n : most;
}

/* The share becomes what text and scan take. 0 or -ENOBUFS in words. */
static int hold(struct stream *s, uint64_t text, uint64_t scan)
{
	struct budget_share *share = &s->file.share;
	uint64_t others = share->held - s->text_held - s->scan_held;

	if (budget_hold(share, others + text + scan) < 0)
		return budget_say(share->budget, -ENOBUFS);
	s->text_held = text;
	s->scan_held = scan;
	return 0;
}

static int order(const struct stream *s, const struct cell *c)
{
	const struct stop *at = &s->stop;
	int r = bytes_cmp(c->row, buf_bytes(&at->row));

	if (r)
		return s->place.view && s->place.view->reversed ? -r : r;
	r = bytes_cmp(c->family, buf_bytes(&at->family));
	if (r == 0)
		r = bytes_cmp(c->qualifier, buf_bytes(&at->qualifier));
	return r ? r : (c->ts < at->ts) - (c->ts > at->ts);
}
static void rows_before(void *arg, const struct mutation *rows, size_t n,
			size_t done)
{
	struct stream *s = arg;

	for (size_t i = 0; i < n; i++)
		changed_before(&s->changer, &rows[i]);
	changed_begin(s->fs, fstable_table(s->place.table), rows, n);
}

static void rows_after(void *arg, const struct mutation *rows, size_t n,
		       size_t done)
{
	struct stream *s = arg;

	changed_many(&s->changer, rows, n, done);
	changed_end(s->fs, fstable_table(s->place.table), rows, n);
}

/* Copies where the scan is. 0 or -ENOMEM. */
static int note_stop(struct stream *s)
{
	struct stop *at = &s->stop;
	const struct cell *c = &s->cell;
	int r = buf_set(&at->row, c->row);

	if (r == 0)
		r = buf_set(&at->family, c->family);
	if (r == 0)
		r = buf_set(&at->qualifier, c->qualifier);
	at->ts = c->ts;
	at->done = !s->have;
	at->part = s->part;
	return r;
}

static void close_scan(struct stream *s)
{
	if (!s->scan)
		return;
	view_scan_close(s->scan);
	s->scan = NULL;
	s->have = false;
	atomic_fetch_sub(&s->fs->awake, 1);
	(void)hold(s, s->text_held, 0);
}

static size_t ready(const struct stream *s)
{
	return s->text.len - s->start;
}

/* The memory of lines that were not read, and of some that wait for a row. */
static uint64_t kept(const struct stream *s)
{
	return s->text.cap + (s->import ? cells_import_bytes(s->import) : 0);
}

/* The text takes what is in it and no more. Without memory it stays. */
static void shrink(struct stream *s)
{
	struct buf less = {0};

	if (buf_append(&less, s->text.data + s->start, ready(s)) < 0)
		return;
	buf_free(&s->text);
	s->text = less;
	s->start = 0;
	/* To get something back for more, others would be had to rest from here. */
	if (kept(s) < s->text_held)
		(void)hold(s, kept(s), s->scan_held);
}

/* Closes the scan until the next read. Without memory it stays open. */
static void rest(struct stream *s)
{
	if (!s->scan || !s->rests)
		return;
	if (s->stop.any && note_stop(s) < 0)
		return;
	close_scan(s);
	shrink(s);
}

static void rest_one(void *arg, struct open_file *f)
{
	struct stream *s = (struct stream *)f;

	if (pthread_mutex_trylock(&s->lock))
		return;
	rest(s);
	pthread_mutex_unlock(&s->lock);
}

void stream_rest_all(struct fs *fs)
{
	handles_each(fs->handles, &stream_ops, rest_one, NULL);
}

static void note_failure(struct stream *s, int r)
{
	s->failed = r;
	snprintf(s->reason, sizeof(s->reason), "%s", store_why());
}

/* The next cell; what is damaged is passed, and the error of the end. */
static int next_cell(struct stream *s)
{
	int r = view_scan_next(s->scan, &s->cell);

	while (r == -EUCLEAN) {
		if (!s->failed)
			note_failure(s, r);
		r = view_scan_pass(s->scan);
		if (r == 0)
			r = view_scan_next(s->scan, &s->cell);
		else
			break;
	}
	return r;
}

/* Passes over what lines were made of before. */
static int pass_over(struct stream *s)
{
	int r, c;

	while ((r = next_cell(s)) > 0) {
		c = order(s, &s->cell);
		if (c < 0 || (c == 0 && s->stop.done))
			continue;
		s->have = true;
		s->part = c == 0 ? s->stop.part : 0;
		break;
	}
	if (r >= 0 && s->stop.part && !s->part)
		return why(-ESTALE, "a cell has expired while it was read");
	return r < 0 ? r : 0;
}

/* Opens the scan where it stopped, or at its start. */
static int wake(struct stream *s)
{
	struct column_name family;
	struct scan_spec spec = spec_of(s, &family);
	int r = hold(s, s->text_held, scan_bytes(s));

	if (r < 0)
		return r;
	r = view_scan_open(s->place.table, s->place.view, &spec, &s->scan);
	if (r < 0) {
		(void)hold(s, s->text_held, 0);
		return r;
	}
	if (atomic_fetch_add(&s->fs->awake, 1) >= AWAKE_MAX)
		stream_rest_all(s->fs);
	return s->stop.any ? pass_over(s) : 0;
}

/*
 * Lets others read for a moment, who may give memory back. False if too many
 * wait already: some threads are for those who need little.
 */
static bool wait_step(struct stream *s)
{
	const struct timespec step = {.tv_nsec = 10000000};
	bool may = atomic_fetch_add(&s->fs->waiting, 1) < FS_THREADS_MAX / 2;

	if (may) {
		pthread_mutex_unlock(&s->lock);
		nanosleep(&step, NULL);
		pthread_mutex_lock(&s->lock);
	}
	atomic_fetch_sub(&s->fs->waiting, 1);
	return may;
}

/*
 * What is read is the store as of the open, also by a scan that is opened
 * again. A cluster of HBase has no such view, and its scans take little; in
 * .raw the order of cells does not tell one from another.
 */
static int open_to_read(struct stream *s)
{
	const struct view *v = s->place.view;
	bool shown = fstable_snapshot(s->place.table) != NULL;
	int r = 0;

	if (!shown)
		r = snapshot_take(s->fs->store, &s->snapshot);
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	s->rests = (shown || s->snapshot) && !(v && v->raw);
	pthread_mutex_lock(&s->lock);
	r = wake(s);
	for (int i = 0; r == -ENOBUFS && i < WAIT_STEPS && wait_step(s); i++)
		r = wake(s);
	pthread_mutex_unlock(&s->lock);
	return r == -ENOBUFS ? -ENFILE : r;
}

static int open_import(struct stream *s, uid_t by, bool sync)
{
	struct fs *fs = s->fs;
	struct fstable_owner own;
	int r = store_health(fs->store);

	if (r == 0)
		r = fstable_owner(s->place.table, &own);
	if (r < 0)
		return r;
	if (store_is_read_only(fs->store))
		return why(-EROFS, "the store is open for reading only");
	r = cells_import_new(fstable_table(s->place.table),
			     sync ? MUTATE_SYNC : 0, &s->import);
	if (r < 0)
		return r;
	/* The kernel knows a delete by its call only, and this one is a write. */
	if (place_is_sticky(fs, &own) && !place_is_owner(fs, &own, by))
		cells_import_puts_only(s->import);
	s->changer = changer_at(fs, &s->place);
	cells_import_notify(s->import, rows_before, rows_after, s);
	return cells_import_within(s->import, s->place.row, s->place.family);
}

int stream_open(struct fs *fs, fuse_req_t req, struct place *p,
		struct fuse_file_info *fi)
{
	int mode = fi->flags & O_ACCMODE;
	struct stream *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return why(-ENOMEM, "out of memory for an open file");
	pthread_mutex_init(&s->lock, NULL);
	s->file.ops = &stream_ops;
	s->file.refs = 1;
	s->fs = fs;
	s->place = *p;
	s->ended = mode == O_WRONLY;
	budget_share_init(&s->file.share, &fs->budget);
	if (!s->ended)
		r = open_to_read(s);
	if (r == 0 && mode != O_RDONLY)
		r = open_import(s, fuse_req_ctx(req)->uid, fi->flags & O_DSYNC);
	if (r < 0)
		goto fail;
	fi->direct_io = 1;
	fi->nonseekable = 1;
	r = handles_open(fs->handles, &s->file, fi);
	if (r < 0)
		goto fail;
	place_disown(p);
	return 0;
fail:
	s->place = (struct place){0};
	open_file_drop(&s->file);
	return r;
}

static void stream_free(struct open_file *f)
{
	struct stream *s = (struct stream *)f;

	close_scan(s);
	snapshot_release(s->snapshot);
	buf_free(&s->stop.row);
	buf_free(&s->stop.family);
	buf_free(&s->stop.qualifier);
	cells_import_free(s->import);
	buf_free(&s->text);
	place_release(&s->place);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Makes a line, or a part of a long one: 1, 0 at the end, or an error. */
static int add_part(struct stream *s)
{
	int r = s->have ? 1 : next_cell(s);

	if (r <= 0)
		return r;
	if (!s->have)
		s->part = 0;
	s->have = true;
	s->stop.any = true;
	if (s->cell.kind == CELL_LOST)
		return why(-ENODATA,
			   "a column's past is gone: its family keeps too few "
			   "versions to tell what was there then");
	fs_saw_value(s->fs, s->cell.value.len);
	r = cells_format_part(&s->cell, &s->part, &s->text);
	if (r < 0)
		return why(-ENOMEM, "out of memory");
	s->have = r > 0;
	if (!s->have)
		s->part = 0;
	return 1;
}

/*
 * Makes lines until @want bytes are ready, or the scan has ended or failed. 0,
 * or -ENOBUFS.
 */
static int fill(struct stream *s, size_t want)
{
	int r = 1;

	while (r > 0 && ready(s) < want && !s->ended) {
		r = s->scan ? 1 : wake(s);
		if (r >= 0 && s->scan)
			r = add_part(s);
		if (r == -ENOBUFS)
			return r;
		if (r < 0)
			note_failure(s, r);
		if (r <= 0) {
			close_scan(s);
			s->ended = true;
		}
	}
	return 0;
}

/* Drops @n bytes, which were read. */
static void pass(struct stream *s, size_t n)
{
	s->start += n;
	s->offset += n;
	if (s->start == s->text.len) {
		s->text.len = s->start = 0;
	} else if (s->start > s->text.len / 2) {
		memmove(s->text.data, s->text.data + s->start, ready(s));
		s->text.len -= s->start;
		s->start = 0;
	}
}

/*
 * Skips to @off, the end of the last read or farther, and makes @want bytes
 * ready, or what is left. Lines before damage are read before the error is.
 */
static int go_to(struct stream *s, uint64_t off, size_t want)
{
	int r = 0;

	if (off < s->offset)
		return why(-ESPIPE, "a stream is read from start to end");
	while (s->offset < off) {
		uint64_t gap = off - s->offset;

		r = fill(s, 1);
		if (!ready(s))
			break;
		pass(s, gap < ready(s) ? (size_t)gap : ready(s));
	}
	if (r == 0)
		r = fill(s, want);
	if (ready(s))
		return 0;
	return s->failed ? why(s->failed, "%s", s->reason) : r;
}

static int stream_read(struct fs *fs, struct open_file *f, fuse_req_t req,
		       size_t size, off_t off)
{
	struct stream *s = (struct stream *)f;
	size_t n;
	int r;

	r = patience_lock(&s->lock);
	if (r < 0)
		return r;
	r = go_to(s, (uint64_t)off, size);
	for (int i = 0; r == -ENOBUFS && i < WAIT_STEPS && wait_step(s); i++)
		r = go_to(s, (uint64_t)off, size);
	if (r == 0) {
		n = s->offset == (uint64_t)off ? ready(s) : 0;
		n = n < size ? n : size;
		fuse_reply_buf(req, n ? (char *)s->text.data + s->start : NULL,
			       n);
		pass(s, n);
		atomic_fetch_add_explicit(&fs->bytes_read, n,
					  memory_order_relaxed);
		/*
		 * The next part is made while the caller is busy with this one.
		 */
		if (off && atomic_load(&fs->awake) <= AWAKE_MAX)
			(void)fill(s, size);
	}
	(void)hold(s, kept(s), s->scan_held);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Memory for what waits for the end of its row, and @n more bytes beside it. */
static int hold_lines(struct stream *s, size_t n)
{
	return hold(s, kept(s) + 2 * (uint64_t)n, s->scan_held);
}

static int stream_write(struct fs *fs, struct open_file *f, struct bytes data,
			off_t off, int flags)
{
	struct stream *s = (struct stream *)f;
	int r;

	if (!s->import)
		return -EBADF;
	r = patience_lock(&s->lock);
	if (r < 0)
		return r;
	r = hold_lines(s, data.len);
	for (int i = 0; r == -ENOBUFS && i < WAIT_STEPS && wait_step(s); i++)
		r = hold_lines(s, data.len);
	s->fed = true;
	/* A part of what was written must not pass for all of it. */
	r = r < 0 ? cells_import_refuse(s->import, r)
		  : cells_import_feed(s->import, data);
	if (r == 0)
		r = cells_import_settle(s->import);
	(void)hold(s, kept(s), s->scan_held);
	pthread_mutex_unlock(&s->lock);
	changed_wait_put(fs, &s->place);
	return r;
}

/* Applies the rows that were written. */
static int stream_flush(struct fs *fs, struct open_file *f)
{
	struct stream *s = (struct stream *)f;
	int r;

	if (!s->import)
		return 0;
	/* Of who is gone what was written is put by another close, or the release. */
	r = patience_lock(&s->lock);
	if (r < 0)
		return r;
	s->fed = false;
	/* An unfinished line is an error of every close. */
	r = cells_import_end(s->import);
	pthread_mutex_unlock(&s->lock);
	changed_wait(fs);
	return r;
}

static void stream_release(struct fs *fs, struct open_file *f)
{
	struct stream *s = (struct stream *)f;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	if (s->fed)
		r = cells_import_end(s->import);
	pthread_mutex_unlock(&s->lock);
	/* It has no caller to tell. */
	if (r < 0)
		fs_note_error(fs, "release", s->place.node, NULL, r);
}

static const struct file_ops stream_ops = {
	.read = stream_read,
	.write = stream_write,
	.flush = stream_flush,
	.fsync = stream_flush,
	.release = stream_release,
	.free = stream_free,
};
