#include "fs/files/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fs/control/control.h"
#include "fs/files/writer.h"
#include "fs/memory/values.h"
#include "fs/tree/info.h"
#include "fs/tree/view.h"

struct reader {
	struct open_file file; /* first: the one is cast to the other */
	struct place place;
	pthread_mutex_t lock; /* guards all below until it is settled */
	bool settled;	      /* the value stays what it is */
	bool alias;	      /* counted in fs->aliases_read */
	_Atomic uint64_t seq; /* of the version that was opened */
	struct stat st;
	struct value *shared; /* a long one; NULL = it is in own */
	struct buf own;
	uint64_t held;	  /* of the file's share, for own */
	uint64_t changed; /* the row, before the value was fetched */
	struct fs *fs;
};

static const struct file_ops reader_ops, control_ops;

/*
 * While no value was seen that is so long, values are fetched at once. From then
 * on the store is asked how long a value is, so that memory is held for it
 * before it is taken, and those that long are shared.
 */
#define SHARED_MIN (64u << 10)

static struct bytes content(const struct reader *rd)
{
	return rd->shared ? value_bytes(rd->shared) : buf_bytes(&rd->own);
}

/* What a fetch of the place's cell takes and gives. */
struct fetch {
	const struct place *place;
	struct cell cell;
};

static int fetch(void *arg, struct buf *out)
{
	struct fetch *f = arg;
	int r = place_get(f->place, &f->cell, out);

	if (r > 0)
		out->len = f->cell.value.len;
	return r;
}

/*
 * Can another handle have the same value? Of a row that changes behind the mount
 * nothing is known; in a snapshot and in .raw a timestamp does not tell.
 */
static bool can_share(const struct fs *fs, const struct place *p)
{
	return !store_is_shared(fs->store) && !fstable_snapshot(p->table) &&
	       !(p->view && p->view->raw);
}

/*
 * All that tells the version from any other, with the last change of its row,
 * since a version can be put again.
 */
static int key_of(struct fs *fs, const struct reader *rd,
		  const struct cell *cell, struct buf *key)
{
	const struct place *p = &rd->place;
	const uint64_t head[] = {table_id(fstable_table(p->table)),
				 rd->changed,
				 (uint64_t)cell->ts,
				 cell->value.len,
				 p->row.len,
				 p->family.len};
	const void *alone = can_share(fs, p) ? NULL : rd;
	int r = buf_append(key, head, sizeof(head));

	if (r == 0)
		r = buf_append(key, &alone, sizeof(alone));
	if (r == 0)
		r = buf_append(key, p->row.data, p->row.len);
	if (r == 0)
		r = buf_append(key, p->family.data, p->family.len);
	if (r == 0)
		r = buf_append(key, p->qualifier.data, p->qualifier.len);
	return r < 0 ? why(r, "out of memory for an open file") : 0;
}

static int load_shared(struct fs *fs, struct reader *rd, struct fetch *f)
{
	struct value *shared;
	struct buf key = {0};
	int r = key_of(fs, rd, &f->cell, &key);

	if (r == 0)
		r = values_open(&fs->values, buf_bytes(&key), f->cell.value.len,
				fetch, f, &shared);
	buf_free(&key);
	if (r <= 0)
		return r;
	values_close(&fs->values, rd->shared);
	rd->shared = shared;
	return 1;
}

/* What the reader has stays when the value has gone meanwhile. */
static int load_own(struct fs *fs, struct reader *rd, struct fetch *f)
{
	struct buf own = {0};
	int r = fetch(f, &own);

	if (r <= 0) {
		buf_free(&own);
		return r;
	}
	buf_free(&rd->own);
	rd->own = own;
	values_close(&fs->values, rd->shared);
	rd->shared = NULL;
	/* Of the rest of the share the handle is not opened yet, or has it. */
	r = budget_hold(&rd->file.share,
			rd->file.share.held - rd->held + rd->own.cap);
	if (r < 0)
		return budget_say(&fs->budget, -ENFILE);
	rd->held = rd->own.cap;
	return 1;
}

static int load_cell(struct fs *fs, struct reader *rd)
{
	const struct place *p = &rd->place;
	struct fetch f = {.place = p};
	bool ask = fs->value_len_max >= SHARED_MIN;
	int r;

	rd->changed = changes_last(&fs->changes, p->row);
	r = ask ? place_get(p, &f.cell, NULL) : 1;

	if (r > 0)
		r = ask && f.cell.value.len >= SHARED_MIN
			    ? load_shared(fs, rd, &f)
			    : load_own(fs, rd, &f);
	if (r <= 0)
		return r;
	rd->seq = f.cell.seq;
	return place_stat_cell(fs, p, &f.cell, &rd->st);
}

/* Fetches the value: 1; 0 when it is gone; an error. */
static int load(struct fs *fs, struct reader *rd)
{
	const struct place *p = &rd->place;
	int r;

	switch (p->kind) {
	case NODE_CONTROL:
		r = control_text(fs, p->control->id, &rd->own);
		return r < 0 ? r : place_stat_blank(fs, p, &rd->st);
	case NODE_INFO:
		r = info_text(p->info, fstable_table(p->table), &rd->own);
		return r < 0 ? r : place_stat_blank(fs, p, &rd->st);
	case NODE_SCHEMA:
		r = fstable_schema_text(p->table, &rd->own);
		return r < 0 ? r : place_stat(fs, p, &rd->st);
	}
	return load_cell(fs, rd);
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
	bool changed = changes_last(&fs->changes, p->row) != rd->changed;
	int r = place_get(p, &cell, NULL);

	/* A merge takes sequences away; who else changes the row tells none. */
	if (r > 0 && (changed || cell.seq != rd->seq))
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

/*
 * What tells the value from others that its version has had. Of a cluster,
 * which has no sequence to tell, what this mount has done to the row counts.
 */
static uint64_t mark_of(const struct fs *fs, const struct reader *rd)
{
	if (store_can(fs->store, CAN_TELL_SEQUENCE))
		return rd->seq;
	return (rd->seq ^ rd->changed * 0x9e3779b97f4a7c15) | 1;
}

struct search {
	const struct fs *fs;
	uint64_t node;
	uint64_t mark;	      /* not this one; 0 = any */
	struct reader *found; /* with a reference */
};

static void search_step(void *arg, struct open_file *f)
{
	struct reader *rd = (struct reader *)f;
	struct search *s = arg;

	if (s->found || rd->place.node != s->node ||
	    (s->mark && mark_of(s->fs, rd) == s->mark))
		return;
	open_file_hold(f);
	s->found = rd;
}

/* Has somebody the version open with an older value? Looks at all handles. */
static bool is_read_as_it_was(struct fs *fs, const struct reader *rd)
{
	struct search s = {
		.fs = fs, .node = rd->place.node, .mark = mark_of(fs, rd)};

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
	uint32_t is = (uint32_t)(mark_of(fs, rd) % (PAGES_MIXED - 1)) + 1, was;

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
	rd->fs = fs;
	budget_share_init(&rd->file.share, &fs->budget);
	/* Before the value is fetched: who deletes it sees that it is read. */
	rd->alias = p->kind == NODE_ALIAS;
	if (rd->alias)
		atomic_fetch_add(fs_alias_readers(fs, p->node), 1);
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
	struct bytes value = content(rd);
	size_t len = value.len;

	if (off < 0 || (uint64_t)off >= len) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	if (size > len - (size_t)off)
		size = len - (size_t)off;
	atomic_fetch_add_explicit(&fs->bytes_read, size, memory_order_relaxed);
	fuse_reply_buf(req, (const char *)value.data + off, size);
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
			 off_t off, int flags)
{
	struct reader *rd = (struct reader *)f;

	if (!rd->place.control->writable)
		return -EBADF;
	return control_written(fs, rd->place.control->id, data);
}

static void reader_free(struct open_file *f)
{
	struct reader *rd = (struct reader *)f;

	if (rd->alias)
		atomic_fetch_sub(fs_alias_readers(rd->fs, rd->place.node), 1);
	place_release(&rd->place);
	values_close(&rd->fs->values, rd->shared);
	buf_free(&rd->own);
	pthread_mutex_destroy(&rd->lock);
	free(rd);
}

static const struct file_ops reader_ops = {
	.read = reader_read,
	.stat = reader_stat,
	.free = reader_free,
};

static const struct file_ops control_ops = {
	.write_waits = true,
	.read = reader_read,
	.write = control_write,
	.stat = reader_stat,
	.free = reader_free,
};
