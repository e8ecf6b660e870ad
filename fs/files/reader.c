#include "fs/files/reader.h"

#include <errno.h>
#include <stdlib.h>

#include <xxhash.h>

#include "fs/change/changed.h"
#include "fs/control/control.h"
#include "fs/files/writer.h"
#include "fs/kernel/file_locks.h"
#include "store/os/clock.h"
#include "fs/memory/values.h"
#include "fs/tree/info.h"
#include "fs/tree/view.h"

struct reader {
	struct open_file file; /* first: the one is cast to the other */
	struct place place;
	/* Of what follows only used changes once the file is open. */
	bool alias;	   /* counted in fs->aliases_read */
	bool cached;	   /* counted by nodes_cache() */
	bool passes;	   /* counted by nodes_pass() */
	_Atomic bool used; /* the kernel has read by it */
	uint64_t seq;	   /* of the version that was opened; 0 = merged */
	int64_t ts;	   /* its timestamp */
	uint32_t state;	   /* for nodes_cache(); 0 = it is never cached */
	struct stat st;
	struct value *shared; /* a long one; NULL = it is in own */
	struct buf own;
	uint64_t changed; /* the row, before the value was fetched; */
	int64_t asked_ms; /* when that was */
	struct fs *fs;
};

static const struct file_ops reader_ops, control_ops;

/*
 * While no value was seen that is so long, values are fetched at once. From then
 * on the store is asked how long a value is, so that memory is held for it
 * before it is taken, and those that long are shared. Of a store that others share
 * a question is a call, and no value is shared: there memory is held for the longest
 * that was seen, if there is so much.
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
	rd->shared = shared;
	return 1;
}

/* Gives back the room of a buffer that its content does not need, if that is much. */
static void fit(struct buf *b)
{
	uint8_t *less = b->len && b->cap - b->len >= SHARED_MIN
				? realloc(b->data, b->len)
				: NULL;

	if (less) {
		b->data = less;
		b->cap = b->len;
	}
}

static int load_own(struct fs *fs, struct reader *rd, struct fetch *f)
{
	int r = fetch(f, &rd->own);

	if (r > 0)
		fit(&rd->own);
	if (r > 0 && budget_hold(&rd->file.share, rd->own.cap) < 0)
		return budget_say(&fs->budget, -ENFILE);
	return r;
}

static bool holds_longest(struct fs *fs, struct reader *rd)
{
	return store_is_shared(fs->store) &&
	       budget_try(&rd->file.share,
			  budget_grown(0, fs->value_len_max)) == 0;
}

static int load_cell(struct fs *fs, struct reader *rd)
{
	const struct place *p = &rd->place;
	struct fetch f = {.place = p};
	bool ask = fs->value_len_max >= SHARED_MIN && !holds_longest(fs, rd);
	int r = ask ? place_get(p, &f.cell, NULL) : 1;

	if (r > 0)
		r = ask && f.cell.value.len >= SHARED_MIN
			    ? load_shared(fs, rd, &f)
			    : load_own(fs, rd, &f);
	if (r <= 0)
		return r;
	rd->seq = f.cell.seq;
	rd->ts = f.cell.ts;
	return place_stat_cell(fs, p, &f.cell, &rd->st);
}

/* Fetches the value: 1; 0 when it is gone; an error. */
static int load(struct fs *fs, struct reader *rd)
{
	const struct place *p = &rd->place;
	int r;

	rd->changed = changes_last(&fs->changes, p->row);
	rd->asked_ms = monotonic_ms();
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

/* Does the kernel cache what is read of the file? */
static bool is_cached(const struct place *p)
{
	return p->kind == NODE_SCHEMA ||
	       ((p->kind == NODE_VERSION || p->kind == NODE_LATEST ||
		 p->kind == NODE_ALIAS) &&
		!p->view && !p->put);
}

/*
 * What tells its content from others that the file has had, for nodes_cache(). Of a
 * row that changes behind the mount only the content itself does.
 */
static uint32_t state_of(const struct fs *fs, const struct reader *rd)
{
	struct bytes all = content(rd);
	uint64_t mark;

	if (rd->place.kind == NODE_SCHEMA || store_is_shared(fs->store))
		mark = XXH3_64bits(all.data, all.len);
	else if (rd->seq)
		mark = rd->seq;
	else /* a merge has taken the sequences away: of each version there is one */
		mark = XXH3_64bits_withSeed(&rd->ts, sizeof(rd->ts),
					    rd->changed);
	return (uint32_t)(mark % UINT32_MAX) + 1;
}

/*
 * The kernel caches a file for all who have it open, with one size. So long as they
 * have one content this is right: what comes next is on another node
 * (nodes_renew()). Who opens it beside a writer or while a change of the row is under
 * way, of which the kernel may not have heard that the size is another, or finds
 * handles of an older content, reads past the cache.
 */
static bool share_cache(struct fs *fs, struct reader *rd,
			struct fuse_file_info *fi)
{
	uint64_t node = rd->place.node;
	enum nodes_cache cache;

	if (writer_is_open(fs, node) || changed_under_way(fs, &rd->place) ||
	    gone_is_renewed(&fs->gone, rd->place.ino, monotonic_ms()))
		return false;
	/* Others may have given it another size than the kernel believes. */
	if (store_is_shared(fs->store))
		invalidate_below(fs->invalidator, node);
	cache = nodes_cache(fs->nodes, node, rd->state);
	if (cache == CACHE_PASS)
		return false;
	/* From now on who changes it finds that it is cached. */
	if (writer_is_open(fs, node) ||
	    changes_last(&fs->changes, rd->place.row) != rd->changed) {
		nodes_cache_end(fs->nodes, node, false);
		return false;
	}
	fi->keep_cache = cache == CACHE_KEEP;
	return true;
}

int reader_open_place(struct fs *fs, struct place *p, struct fuse_file_info *fi)
{
	struct reader *rd = calloc(1, sizeof(*rd));
	int r;

	if (!rd)
		return why(-ENOMEM, "out of memory for an open file");
	rd->file.ops = p->kind == NODE_CONTROL ? &control_ops : &reader_ops;
	rd->file.refs = 1;
	rd->place = *p;
	rd->fs = fs;
	budget_share_init(&rd->file.share, &fs->budget);
	/* Before the value is fetched: who deletes it sees that it is read. */
	rd->alias = p->kind == NODE_ALIAS;
	if (rd->alias)
		atomic_fetch_add(fs_alias_readers(fs, p->node), 1);
	if (is_cached(p))
		writer_await_release(fs, p->node);
	r = load(fs, rd);
	/* It went as the kernel was on its way, which looks again. */
	if (r == 0)
		r = -ESTALE;
	if (r < 0)
		goto fail;
	if (is_cached(p))
		rd->state = state_of(fs, rd);
	fi->noflush = 1;
	/* Before it is cached: of what is cached somebody has the size. */
	r = handles_open(fs->handles, &rd->file, fi);
	if (r < 0)
		goto fail;
	if (rd->state) {
		rd->cached = share_cache(fs, rd, fi);
		rd->passes = !rd->cached &&
			     nodes_pass(fs->nodes, p->node, rd->state);
	}
	fi->direct_io = !rd->cached;
	place_disown(p);
	return 0;
fail:
	/* All else of the place stays the caller's. */
	rd->place = (struct place){.node = p->node};
	open_file_drop(&rd->file);
	return r;
}

static int reader_stat(struct open_file *f, struct stat *st)
{
	*st = ((struct reader *)f)->st;
	return 1;
}

struct search {
	uint64_t node;
	uint32_t state;	      /* only one with that content; 0 = any */
	struct reader *found; /* with a reference */
};

static void search_step(void *arg, struct open_file *f)
{
	struct reader *rd = (struct reader *)f;
	struct search *s = arg;

	if (s->found || rd->place.node != s->node ||
	    (s->state && rd->state != s->state))
		return;
	open_file_hold(f);
	s->found = rd;
}

/* The attributes of a handle of the node: 1 or 0. Looks at all handles. */
static int stat_handle(struct fs *fs, uint64_t node, uint32_t state,
		       struct stat *st)
{
	struct search s = {.node = node, .state = state};

	handles_each(fs->handles, &reader_ops, search_step, &s);
	if (!s.found)
		return 0;
	*st = s.found->st;
	open_file_drop(&s.found->file);
	return 1;
}

int reader_stat_gone(struct fs *fs, uint64_t node, struct stat *st)
{
	/* What the kernel caches has the size that the kernel is told. */
	if (!stat_handle(fs, node, nodes_cached(fs->nodes, node), st) &&
	    !stat_handle(fs, node, 0, st))
		return 0;
	st->st_nlink = 0;
	return 1;
}

bool reader_stat_older(struct fs *fs, const struct place *p,
		       const struct stat *st, struct stat *older)
{
	uint32_t state = is_cached(p) && !p->detached
				 ? nodes_caching(fs->nodes, p->node, NULL)
				 : 0;

	return state && stat_handle(fs, p->node, state, older) &&
	       older->st_size != st->st_size;
}

/* Of the readers of a node that have this content: the one that was opened last. */
struct last {
	uint64_t node;
	uint32_t state;
	int64_t asked_ms;
	uint64_t changed;
	struct stat st;
};

static void last_step(void *arg, struct open_file *f)
{
	const struct reader *rd = (const struct reader *)f;
	struct last *l = arg;

	if (rd->place.node != l->node || rd->state != l->state ||
	    rd->asked_ms < l->asked_ms)
		return;
	l->asked_ms = rd->asked_ms;
	l->changed = rd->changed;
	l->st = rd->st;
}

bool reader_stat_fresh(struct fs *fs, const struct place *p, struct stat *st,
		       double *age_s)
{
	struct last l = {.node = p->node};
	double age;

	if (!store_is_shared(fs->store) || p->kind != NODE_VERSION ||
	    p->detached || !is_cached(p) || writer_is_open(fs, p->node))
		return false;
	l.state = nodes_caching(fs->nodes, p->node, NULL);
	if (l.state)
		handles_each(fs->handles, &reader_ops, last_step, &l);
	if (!l.asked_ms || l.changed != changes_last(&fs->changes, p->row))
		return false;
	/* A part of a millisecond counts as one. */
	age = (double)(monotonic_ms() - l.asked_ms + 1) / 1000;
	if (age >= place_attr_timeout(fs, p, &l.st))
		return false;
	*age_s = age;
	*st = l.st;
	return true;
}

static int reader_read(struct fs *fs, struct open_file *f, fuse_req_t req,
		       size_t size, off_t off)
{
	struct reader *rd = (struct reader *)f;
	struct bytes part = bytes_part(content(rd), (uint64_t)off, size);

	if (rd->cached && !rd->used)
		rd->used = true;
	atomic_fetch_add_explicit(&fs->bytes_read, part.len,
				  memory_order_relaxed);
	fuse_reply_buf(req, (const char *)part.data, part.len);
	return 0;
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

	if (rd->cached)
		nodes_cache_end(rd->fs->nodes, rd->place.node, rd->used);
	if (rd->passes)
		nodes_pass_end(rd->fs->nodes, rd->place.node);
	if (rd->alias)
		atomic_fetch_sub(fs_alias_readers(rd->fs, rd->place.node), 1);
	place_release(&rd->place);
	values_close(&rd->fs->values, rd->shared);
	buf_free(&rd->own);
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
