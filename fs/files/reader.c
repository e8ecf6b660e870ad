#include "fs/files/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fs/control/control.h"
#include "fs/files/writer.h"
#include "fs/tree/info.h"

struct reader {
	struct open_file file; /* first: the one is cast to the other */
	struct place place;
	pthread_mutex_t lock; /* guards all below until it is settled */
	bool settled;	      /* the value stays what it is */
	_Atomic uint64_t seq; /* of the version that was opened */
	struct stat st;
	struct buf value;
};

static const struct file_ops reader_ops, control_ops;

/* Fetches the value: 1; 0 when it is gone; an error. */
static int load(struct fs *fs, struct reader *rd)
{
	const struct place *p = &rd->place;
	struct cell cell;
	int r;

	switch (p->kind) {
	case NODE_CONTROL:
		r = control_text(fs, p->control->id, &rd->value);
		return r < 0 ? r : place_stat_blank(fs, p, &rd->st);
	case NODE_INFO:
		r = p->info->text(fstable_table(p->table), &rd->value);
		return r < 0 ? r : place_stat_blank(fs, p, &rd->st);
	case NODE_SCHEMA:
		r = fstable_schema_text(p->table, &rd->value);
		return r < 0 ? r : place_stat(fs, p, &rd->st);
	}
	r = place_get(p, &cell, &rd->value);
	if (r <= 0)
		return r;
	rd->value.len = cell.value.len;
	rd->seq = cell.seq;
	return place_stat_cell(fs, p, &cell, &rd->st);
}

/*
 * At the first read: if the version was written anew since the open, the new
 * value is fetched, as the kernel would keep the old one in pages that others
 * share. A version that is gone is read as it was: nobody else finds its pages.
 */
static int settle(struct fs *fs, struct reader *rd)
{
	const struct place *p = &rd->place;
	struct cell cell;
	int r = place_get(p, &cell, NULL);

	if (r > 0 && cell.seq != rd->seq)
		r = load(fs, rd);
	/* The table may have gone as well. */
	if (r < 0 && r != -ENOENT)
		return r;
	rd->settled = true;
	return 0;
}

/* Settles the value at the first of several reads. */
static int ensure(struct fs *fs, struct reader *rd)
{
	int r = 0;

	pthread_mutex_lock(&rd->lock);
	if (!rd->settled)
		r = settle(fs, rd);
	pthread_mutex_unlock(&rd->lock);
	return r;
}

struct search {
	uint64_t node;
	uint64_t seq;	      /* not this one; 0 = any */
	struct reader *found; /* with a reference */
};

static void search_step(void *arg, struct open_file *f)
{
	struct reader *rd = (struct reader *)f;
	struct search *s = arg;

	if (s->found || rd->place.node != s->node ||
	    (s->seq && rd->seq == s->seq))
		return;
	open_file_hold(f);
	s->found = rd;
}

/* Has somebody the version open with an older value? Looks at all handles. */
static bool is_read_as_it_was(struct fs *fs, const struct reader *rd)
{
	struct search s = {.node = rd->place.node, .seq = rd->seq};

	handles_each(fs->handles, &reader_ops, search_step, &s);
	if (s.found)
		open_file_drop(&s.found->file);
	return s.found != NULL;
}

/*
 * A version's pages are kept in the kernel, and shared by all who have it open.
 * So a version that was put again is read past them as long as somebody reads
 * what it was, and when nobody does any more they are dropped by this open.
 * Beside a writer, whose size is the inode's too, they are not used either.
 */
#define PAGES_MIXED UINT32_MAX

static void share_pages(struct fs *fs, struct reader *rd,
			struct fuse_file_info *fi)
{
	uint64_t node = rd->place.node;
	uint32_t is = (uint32_t)(rd->seq % (PAGES_MIXED - 1)) + 1, was;

	/* Others may have given it another size than the kernel believes. */
	if (store_is_shared(fs->store))
		invalidate_below(fs->invalidator, node);
	if (writer_is_open(fs, node)) {
		fi->direct_io = 1;
		rd->settled = true;
		return;
	}
	was = nodes_pages(fs->nodes, node, is);
	if (was == is) {
		fi->keep_cache = 1;
	} else if (was && is_read_as_it_was(fs, rd)) {
		nodes_pages(fs->nodes, node, PAGES_MIXED);
		fi->direct_io = 1;
		rd->settled = true;
	}
}

int reader_open_place(struct fs *fs, struct place *p, struct fuse_file_info *fi)
{
	struct reader *rd = calloc(1, sizeof(*rd));
	int r;

	if (!rd)
		return why(-ENOMEM, "out of memory for an open file");
	pthread_mutex_init(&rd->lock, NULL);
	rd->file.ops = p->kind == NODE_CONTROL ? &control_ops : &reader_ops;
	rd->file.refs = 1;
	rd->place = *p;
	r = load(fs, rd);
	/* It went as the kernel was on its way, which looks again. */
	if (r == 0)
		r = -ESTALE;
	if (r < 0)
		goto fail;
	if (p->kind == NODE_VERSION && !p->view && !p->put) {
		share_pages(fs, rd, fi);
	} else {
		fi->direct_io = p->kind != NODE_SCHEMA;
		rd->settled = true;
	}
	fi->noflush = 1;
	r = handles_open(fs->handles, &rd->file, fi);
	if (r < 0)
		goto fail;
	place_disown(p);
	return 0;
fail:
	rd->place = (struct place){0};
	open_file_drop(&rd->file);
	return r;
}

static int reader_stat(struct open_file *f, struct stat *st)
{
	struct reader *rd = (struct reader *)f;

	pthread_mutex_lock(&rd->lock);
	*st = rd->st;
	pthread_mutex_unlock(&rd->lock);
	return 1;
}

int reader_stat_gone(struct fs *fs, uint64_t node, struct stat *st)
{
	struct search s = {.node = node};

	handles_each(fs->handles, &reader_ops, search_step, &s);
	if (!s.found)
		return 0;
	(void)reader_stat(&s.found->file, st);
	st->st_nlink = 0;
	open_file_drop(&s.found->file);
	return 1;
}

static void reply(struct fs *fs, fuse_req_t req, const struct reader *rd,
		  size_t size, off_t off)
{
	size_t len = rd->value.len;

	if (off < 0 || (uint64_t)off >= len) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	if (size > len - (size_t)off)
		size = len - (size_t)off;
	atomic_fetch_add_explicit(&fs->bytes_read, size, memory_order_relaxed);
	fuse_reply_buf(req, (const char *)rd->value.data + off, size);
}

static int reader_read(struct fs *fs, struct open_file *f, fuse_req_t req,
		       size_t size, off_t off)
{
	struct reader *rd = (struct reader *)f;
	int r = ensure(fs, rd);

	if (r == 0)
		reply(fs, req, rd, size, off);
	return r;
}

/* Writes to a control file that acts when it is written. */
static int control_write(struct fs *fs, struct open_file *f, struct bytes data,
			 off_t off, bool sync)
{
	struct reader *rd = (struct reader *)f;

	if (!rd->place.control->writable)
		return -EBADF;
	return control_written(fs, rd->place.control->id, data);
}

static void reader_free(struct open_file *f)
{
	struct reader *rd = (struct reader *)f;

	place_release(&rd->place);
	buf_free(&rd->value);
	pthread_mutex_destroy(&rd->lock);
	free(rd);
}

static const struct file_ops reader_ops = {
	.read = reader_read,
	.stat = reader_stat,
	.free = reader_free,
};

static const struct file_ops control_ops = {
	.read = reader_read,
	.write = control_write,
	.stat = reader_stat,
	.free = reader_free,
};
