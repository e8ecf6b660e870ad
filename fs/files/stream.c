#include "fs/files/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/change/changed.h"
#include "fs/text/cells.h"
#include "fs/text/cells_import.h"
#include "fs/tree/view.h"

struct stream {
	struct open_file file; /* first: the one is cast to the other */
	struct fs *fs;
	struct place place;
	struct changer changer;
	pthread_mutex_t lock; /* guards all below */

	struct view_scan *scan; /* NULL = not open for reading, or at its end */
	struct buf text; /* lines that were not read yet, from start on */
	size_t start;
	uint64_t offset; /* of text.data[start] in the file */
	int failed;	 /* what ended the scan, when the text is read */
	char reason[600];

	struct cells_import *import; /* NULL = not open for writing */
	bool fed;		     /* something was written since a flush */
};

static const struct file_ops stream_ops;

static struct scan_spec spec_of(const struct place *p,
				struct column_name *family)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};

	*family =
		(struct column_name){.family = p->family, .whole_family = true};
	if (p->row.len) {
		spec.row_start = p->row;
		spec.row_stop = p->row;
		spec.row_stop_inclusive = true;
	}
	if (p->family.len) {
		spec.columns = family;
		spec.ncolumns = 1;
	}
	return spec;
}

static int open_scan(struct stream *s)
{
	struct column_name family;
	struct scan_spec spec = spec_of(&s->place, &family);

	return view_scan_open(s->place.table, s->place.view, &spec, &s->scan);
}

static void row_before(void *arg, const struct mutation *m)
{
	struct stream *s = arg;

	changed_before(&s->changer, m);
}

static void row_after(void *arg, const struct mutation *m)
{
	struct stream *s = arg;

	changed_after(&s->changer, m, 0, true);
}

static int open_import(struct stream *s, bool sync)
{
	struct fs *fs = s->fs;
	int r = store_health(fs->store);

	if (r < 0)
		return r;
	if (store_is_read_only(fs->store))
		return why(-EROFS, "the store is open for reading only");
	r = cells_import_new(fstable_table(s->place.table),
			     MUTATE_ADMITTED | (sync ? MUTATE_SYNC : 0),
			     &s->import);
	if (r < 0)
		return r;
	s->changer = changer_at(fs, &s->place);
	cells_import_notify(s->import, row_before, row_after, s);
	return cells_import_within(s->import, s->place.row, s->place.family);
}

int stream_open(struct fs *fs, struct place *p, struct fuse_file_info *fi)
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
	if (mode != O_WRONLY)
		r = open_scan(s);
	if (r == 0 && mode != O_RDONLY)
		r = open_import(s, fi->flags & O_DSYNC);
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

	view_scan_close(s->scan);
	cells_import_free(s->import);
	buf_free(&s->text);
	place_release(&s->place);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static size_t ready(const struct stream *s)
{
	return s->text.len - s->start;
}

static void end_scan(struct stream *s)
{
	view_scan_close(s->scan);
	s->scan = NULL;
}

/* The next line: 1, 0 at the end, or an error. */
static int add_line(struct stream *s)
{
	struct cell cell;
	int r = view_scan_next(s->scan, &cell);

	if (r > 0 && cell.kind == CELL_LOST)
		return why(-ENODATA,
			   "a column's past is gone: its family keeps too few "
			   "versions to tell what was there then");
	if (r > 0 && cells_format(&cell, &s->text) < 0)
		return why(-ENOMEM, "out of memory");
	return r;
}

/* Makes lines until @want bytes are ready, or the scan has ended or failed. */
static void fill(struct stream *s, size_t want)
{
	while (ready(s) < want && s->scan) {
		int r = add_line(s);

		if (r < 0) {
			s->failed = r;
			snprintf(s->reason, sizeof(s->reason), "%s",
				 store_why());
		}
		if (r <= 0)
			end_scan(s);
	}
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
	if (off < s->offset)
		return why(-ESPIPE, "a stream is read from start to end");
	while (s->offset < off) {
		uint64_t gap = off - s->offset;

		fill(s, 1);
		if (!ready(s))
			break;
		pass(s, gap < ready(s) ? (size_t)gap : ready(s));
	}
	fill(s, want);
	return s->failed && !ready(s) ? why(s->failed, "%s", s->reason) : 0;
}

static int stream_read(struct fs *fs, struct open_file *f, fuse_req_t req,
		       size_t size, off_t off)
{
	struct stream *s = (struct stream *)f;
	size_t n;
	int r;

	pthread_mutex_lock(&s->lock);
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
		if (off)
			fill(s, size);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int stream_write(struct fs *fs, struct open_file *f, struct bytes data,
			off_t off, bool sync)
{
	struct stream *s = (struct stream *)f;
	int r;

	if (!s->import)
		return -EBADF;
	pthread_mutex_lock(&s->lock);
	s->fed = true;
	r = cells_import_feed(s->import, data);
	if (r == 0)
		r = cells_import_settle(s->import);
	pthread_mutex_unlock(&s->lock);
	changed_wait(fs, &s->place);
	return r;
}

/* Applies the rows that were written. */
static int stream_flush(struct fs *fs, struct open_file *f)
{
	struct stream *s = (struct stream *)f;
	int r = 0;

	if (!s->import)
		return 0;
	pthread_mutex_lock(&s->lock);
	if (s->fed) {
		r = cells_import_end(s->import);
		/* An unfinished line is an error of every close. */
		s->fed = r < 0;
	}
	pthread_mutex_unlock(&s->lock);
	changed_wait(fs, &s->place);
	return r;
}

static const struct file_ops stream_ops = {
	.read = stream_read,
	.write = stream_write,
	.flush = stream_flush,
	.fsync = stream_flush,
	.free = stream_free,
};
