#include "fs/files/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fs/control/control.h"
#include "fs/files/writer.h"
#include "fs/tree/info.h"

struct reader {
	/*
	 * The handle's and those of reads: a reply can bring the release
	 * before the thread that sent it has let go of the value.
	 */
	_Atomic uint32_t refs;
	struct place place;
	pthread_mutex_t lock; /* guards all below until it is settled */
	bool settled;	      /* the value stays what it is */
	_Atomic uint64_t seq; /* of the version that was opened */
	struct stat st;
	struct buf value;
};

/* Fetches the value. 1; 0 when it is not there any more; an error. */
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
 * The first read: is the version still the one that was opened? What the
 * kernel has of it must not be older than what it was told. One that is gone
 * is read as it was; nobody else finds its pages.
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

/* The lock keeps two reads from doing it twice. */
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

static void search_step(void *arg, void *object)
{
	struct reader *rd = object;
	struct search *s = arg;

	if (s->found || rd->place.node != s->node ||
	    (s->seq && rd->seq == s->seq))
		return;
	atomic_fetch_add(&rd->refs, 1);
	s->found = rd;
}

static void unref(struct reader *rd)
{
	if (atomic_fetch_sub(&rd->refs, 1) == 1)
		reader_free(rd);
}

/* Has somebody open what the version was before? Rarely asked. */
static bool is_read_as_it_was(struct fs *fs, const struct reader *rd)
{
	struct search s = {.node = rd->place.node, .seq = rd->seq};

	handles_each(fs->handles, HANDLE_READER, search_step, &s);
	if (s.found)
		unref(s.found);
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
	rd->refs = 1;
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
	fi->fh = handles_add(fs->handles, HANDLE_READER, rd);
	if (!fi->fh) {
		r = why(-ENFILE, "too many open files in the mount");
		goto fail;
	}
	place_disown(p);
	return 0;
fail:
	rd->place = (struct place){0};
	reader_free(rd);
	return r;
}

static void copy_stat(struct reader *rd, struct stat *st)
{
	pthread_mutex_lock(&rd->lock);
	*st = rd->st;
	pthread_mutex_unlock(&rd->lock);
}

int reader_stat(struct fs *fs, uint64_t fh, struct stat *st)
{
	struct reader *rd = handles_get(fs->handles, fh, HANDLE_READER);

	if (!rd)
		return 0;
	copy_stat(rd, st);
	return 1;
}

int reader_stat_gone(struct fs *fs, uint64_t node, struct stat *st)
{
	struct search s = {.node = node};

	handles_each(fs->handles, HANDLE_READER, search_step, &s);
	if (!s.found)
		return 0;
	copy_stat(s.found, st);
	st->st_nlink = 0;
	unref(s.found);
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

int reader_read(struct fs *fs, fuse_req_t req, uint64_t fh, size_t size,
		off_t off)
{
	struct reader *rd = handles_get(fs->handles, fh, HANDLE_READER);
	int r;

	if (!rd)
		return -EBADF;
	atomic_fetch_add(&rd->refs, 1);
	r = ensure(fs, rd);
	if (r == 0)
		reply(fs, req, rd, size, off);
	unref(rd);
	return r;
}

int reader_write(struct fs *fs, uint64_t fh, struct bytes data)
{
	struct reader *rd = handles_get(fs->handles, fh, HANDLE_READER);

	if (!rd || rd->place.kind != NODE_CONTROL ||
	    !rd->place.control->writable)
		return -EBADF;
	return control_written(fs, rd->place.control->id, data);
}

void reader_free(struct reader *rd)
{
	place_release(&rd->place);
	buf_free(&rd->value);
	pthread_mutex_destroy(&rd->lock);
	free(rd);
}

void reader_release(struct fs *fs, uint64_t fh)
{
	struct reader *rd = handles_remove(fs->handles, fh, HANDLE_READER);

	if (rd)
		unref(rd);
}
