#include "fs/files/stage.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/change/cellfile.h"
#include "fs/change/changed.h"
#include "fs/change/directories.h"
#include "fs/change/moved.h"
#include "fs/files/writer.h"
#include "fs/memory/write_state.h"
#include "store/value/array.h"

/* A file or directory of the staged row. */
struct item {
	uint64_t parent, node;
	struct place place; /* what it becomes */
	struct buf value;   /* of a file */
	uint64_t ttl_ms;    /* of a version that was moved here, its own */
	bool file, moved;
};

struct stage {
	struct fs *fs;
	fuse_req_t req;
	struct item *items; /* directories before what is in them */
	size_t count, cap, files;
	struct mutation put;
};

static void stage_release(struct stage *s)
{
	for (size_t i = 0; i < s->count; i++) {
		scratch_freeze(s->fs->writes->scratch, s->items[i].node, false);
		place_release(&s->items[i].place);
		buf_free(&s->items[i].value);
	}
	free(s->items);
	free(s->put.changes);
}

static int refuse(const struct place *p, const char *what)
{
	return why(-EPERM, "the staged row holds %s, which is no %s: remove it",
		   p->name, what);
}

static int64_t ts_of(const struct place *p)
{
	return p->kind == NODE_VERSION ? p->ts : TS_AUTO;
}

/* A version that was moved here ends when it would have. */
static int take_moved(struct stage *s, struct item *it)
{
	struct cell was;
	int r = moved_is(s->fs, it->node, buf_bytes(&it->value), &was);

	if (r <= 0)
		return r;
	it->moved = true;
	it->ttl_ms = cellfile_ttl_left(s->fs, &was, ts_of(&it->place));
	return 0;
}

static int read_file(struct stage *s, struct item *it)
{
	size_t len_max;
	int r = cellfile_writable(s->fs, &it->place, &len_max);

	if (!r)
		r = writer_may_read(s->fs, s->req, it->node);
	/* What is written from now on would be in no cell. */
	scratch_freeze(s->fs->writes->scratch, it->node, true);
	if (!r)
		r = scratch_content(s->fs->writes->scratch, it->node, len_max,
				    &it->value);
	if (r == -EFBIG)
		r = why(r, "%s: a value here is at most %zu bytes (max_value)",
			it->place.name, len_max);
	return r ? r : take_moved(s, it);
}

/* Adds the entry of the overlay, as it is named in @dir. */
static int add_item(struct stage *s, uint64_t parent, const struct place *dir,
		    const struct overlay_entry *e)
{
	struct item *it;
	int r;

	if (ARRAY_RESERVE(s->items, s->cap, s->count + 1) < 0)
		return -ENOMEM;
	it = &s->items[s->count++];
	*it = (struct item){.parent = parent, .node = e->node};
	r = place_child(s->fs, dir, bytes_str(e->name), &it->place);
	if (r)
		return r == -ENOMEM ? r
				    : why(-EPERM,
					  "the staged row holds %s, which is "
					  "no name for a key: rename it",
					  e->name);
	if (e->kind == NODE_SCRATCH_DIR)
		return place_is_dir(&it->place) && !it->place.view
			       ? writer_may_read(s->fs, s->req, e->node)
			       : refuse(&it->place, "directory of data");
	if (!place_is(&it->place, KIND_CELL))
		return refuse(&it->place, "version, latest or F:Q");
	it->file = true;
	s->files++;
	return read_file(s, it);
}

/* Adds the entries of the staged directory @parent, which becomes @dir. */
static int add_entries(struct stage *s, uint64_t parent,
		       const struct place *dir)
{
	struct overlay_entry e;
	struct buf key = {0};
	bool any = false;
	int r;

	for (;;) {
		struct bytes after = buf_bytes(&key);

		r = overlay_next(s->fs->overlay, parent, any ? &after : NULL,
				 &e, &key);
		if (r <= 0)
			break;
		any = true;
		r = add_item(s, parent, dir, &e);
		if (r)
			break;
	}
	buf_free(&key);
	return r;
}

/* Adds everything beneath the staged row, level by level. */
static int gather(struct stage *s, const struct place *from,
		  const struct place *to)
{
	int r = writer_may_read(s->fs, s->req, from->node);

	if (!r)
		r = add_entries(s, from->node, to);
	for (size_t i = 0; !r && i < s->count; i++) {
		struct place dir;

		/*
		 * The items may move, so that the place is not borrowed. In a
		 * file there is nothing.
		 */
		r = place_copy(&dir, &s->items[i].place);
		if (!r)
			r = add_entries(s, s->items[i].node, &dir);
		place_release(&dir);
	}
	if (!r && !s->files)
		r = why(-EPERM, "the staged row holds no cell");
	return r;
}

/* Makes the mutation that puts the row. */
static int plan(struct stage *s)
{
	struct mutation *m = &s->put;

	m->changes = calloc(s->files, sizeof(*m->changes));
	if (!m->changes)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++) {
		const struct item *it = &s->items[i];
		const struct place *p = &it->place;

		if (!it->file)
			continue;
		if (m->nchanges && !bytes_eq(m->row, p->row))
			return why(-EPERM,
				   "the staged directory holds cells of "
				   "several rows: stage them one by one");
		m->row = p->row;
		m->changes[m->nchanges++] = (struct change){
			.op = CHANGE_PUT,
			.family = p->family,
			.qualifier = p->qualifier,
			.ts = ts_of(p),
			.ttl_ms = it->ttl_ms,
			.value = buf_bytes(&it->value),
		};
	}
	return 0;
}

static int by_column(const void *a, const void *b)
{
	const struct change *x = *(struct change *const *)a;
	const struct change *y = *(struct change *const *)b;

	return change_cmp_column(x, y);
}

/*
 * F:Q and F/Q/latest are two files here and one in a row. Which of them is to be the
 * newest the names do not say, so that both together are refused.
 */
static int check_newest(const struct stage *s)
{
	const struct mutation *m = &s->put;
	struct change **newest = calloc(s->files, sizeof(struct change *));
	size_t n = 0;
	int r = 0;

	if (!newest)
		return -ENOMEM;
	for (size_t i = 0; i < m->nchanges; i++)
		if (m->changes[i].ts == TS_AUTO)
			newest[n++] = &m->changes[i];
	qsort(newest, n, sizeof(*newest), by_column);
	for (size_t i = 1; r == 0 && i < n; i++)
		if (change_same_column(newest[i - 1], newest[i]))
			r = why(-EPERM,
				"the staged row holds the newest version of a "
				"column twice, in family %.*s, as F:Q and as "
				"latest: remove one",
				(int)newest[i]->family.len,
				(const char *)newest[i]->family.data);
	free(newest);
	return r;
}

/* Are the versions that were moved here seen afterwards, all of them? */
static int check_moved(struct stage *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->count; i++)
		if (s->items[i].moved)
			r = cellfile_seen(s->fs, &s->items[i].place, &s->put);
	return r;
}

/* The store has the staged file or directory now: memory gives it up. */
static void become(struct fs *fs, uint64_t parent, uint64_t node,
		   const char *name)
{
	overlay_remove(fs->overlay, parent, bytes_str(name));
	scratch_retire(fs->writes->scratch, node);
}

/*
 * The node of the staged row replaces that of the row that was there: what is
 * in memory beneath the old node moves beneath the new one.
 */
static void carry(struct fs *fs, uint64_t from, uint64_t to)
{
	struct overlay_entry e;
	struct buf key = {0};
	uint64_t was;

	while (overlay_next(fs->overlay, from, NULL, &e, &key) > 0) {
		was = e.node;
		if (kind_is(e.kind, KIND_SCRATCH)) {
			/* One that finds no room goes to lost+found. */
			(void)overlay_rename(fs->overlay, from,
					     bytes_str(e.name), to,
					     buf_bytes(&key), &e);
		} else if (nodes_enter(fs->nodes, to, bytes_str(e.name), e.kind,
				       e.ino, NULL, &e.node) == 0) {
			(void)directories_add(fs, to, buf_bytes(&key), &e);
			carry(fs, was, e.node);
			nodes_forget(fs->nodes, e.node, 1);
		}
		overlay_remove(fs->overlay, from, bytes_str(e.name));
	}
	buf_free(&key);
}

static void add_row(struct fs *fs, const struct place *row, uint64_t dir,
		    uint64_t node)
{
	struct overlay_entry was,
		e = {.node = node, .ino = row->ino, .kind = row->kind};

	memcpy(e.name, row->name, sizeof(e.name));
	if (overlay_find(fs->overlay, dir, bytes_str(e.name), &was) > 0 &&
	    was.node != node)
		overlay_remove(fs->overlay, dir, bytes_str(e.name));
	(void)directories_add(fs, dir, place_key(row), &e);
	directories_entry_gone(fs, node);
}

/* The nodes of what was staged become those of the row, parents first. */
static void settle(struct stage *s, const struct place *from,
		   const struct place *to, uint64_t to_dir)
{
	struct fs *fs = s->fs;
	struct changer w = changer_at(fs, to);
	uint64_t was = 0;

	changes_row(&fs->changes, to->row);
	/* A version that comes back to its own place must not be deleted below. */
	moved_changed(fs, to->table, &s->put);
	become(fs, from->parent, from->node, from->name);
	nodes_find(fs->nodes, to_dir, bytes_str(to->name), &was);
	overlay_remove(fs->overlay, to_dir, bytes_str(to->name));
	nodes_rename(fs->nodes, from->parent, bytes_str(from->name), to_dir,
		     bytes_str(to->name), to->kind, to->ino);
	invalidate_inode(fs->invalidator, from->node, true);
	for (size_t i = 0; i < s->count; i++) {
		struct item *it = &s->items[i];
		struct bytes name = bytes_str(it->place.name);

		become(fs, it->parent, it->node, it->place.name);
		nodes_rename(fs->nodes, it->parent, name, it->parent, name,
			     it->place.kind, it->place.ino);
		invalidate_inode(fs->invalidator, it->node, true);
		if (!it->file)
			continue;
		/*
		 * A version that cannot be deleted now exists twice, and is not
		 * lost.
		 */
		(void)moved_settle(fs, it->node);
		/* The kernel may believe a scratch file's name for longer. */
		invalidate_entry(fs->invalidator, it->parent, name);
	}
	changed_after(&w, &s->put, 0, true);
	if (was)
		carry(fs, was, from->node);
	/*
	 * The empty directories in the row need its entry; and a delete at the same
	 * time, which found neither entry nor node, has kept none for the row. In .put
	 * every row exists without an entry.
	 */
	if (!to->put)
		add_row(fs, to, to_dir, from->node);
}

int stage_put(struct fs *fs, fuse_req_t req, const struct place *from,
	      const struct place *to, uint64_t to_dir)
{
	struct stage s = {.fs = fs, .req = req};
	struct changer w = changer_at(fs, to);
	int r = gather(&s, from, to);

	if (!r)
		r = plan(&s);
	if (!r)
		r = check_newest(&s);
	if (!r)
		r = check_moved(&s);
	if (!r) {
		(void)changed_before(&w, &s.put);
		r = table_mutate(fstable_table(to->table), &s.put, 0);
		if (r > 0)
			settle(&s, from, to, to_dir);
	}
	stage_release(&s);
	return r < 0 ? r : 0;
}
