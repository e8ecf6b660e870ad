/*
 * What an edit makes of a catalog, as bytes.
 */
#include <errno.h>

#include "store/lsm/manifest/catalog_format.h"
#include "store/value/why.h"

/* What of the edit was met while the catalog was written. */
struct writing {
	struct encoder to;
	const struct edit *e;
	size_t removed, added, lost;
	bool dropped_table, dropped_snapshot;
	bool outline; /* files are left out */
};

static void put_info(struct encoder *e, uint8_t level, const struct sst_info *i)
{
	put_u8(e, level);
	put_u64(e, i->number);
	put_u64(e, i->file_bytes);
	put_u64(e, i->checksum);
	put_u64(e, i->entries);
	put_u64(e, i->rows);
	put_u64(e, i->markers);
	put_u64(e, i->raw_bytes);
	put_u64(e, i->seq_min);
	put_u64(e, i->seq_max);
	put_u64(e, (uint64_t)i->ts_min);
	put_u64(e, (uint64_t)i->ts_max);
	put_bytes(e, buf_bytes(&i->row_min));
	put_bytes(e, buf_bytes(&i->row_max));
	put_u8(e, i->has_ttl);
}

static void put_schema(struct encoder *e, const struct schema *s)
{
	struct buf b = {0};

	if (e->err == 0)
		e->err = schema_encode(s, &b);
	put_bytes(e, buf_bytes(&b));
	buf_free(&b);
}

static bool is_removed(const struct edit *e, uint32_t tree, uint64_t number)
{
	for (size_t i = 0; i < e->nremoved; i++)
		if (e->removed[i].tree == tree &&
		    e->removed[i].info->number == number)
			return true;
	return false;
}

/* @old: the tree as it was, or NULL. */
static void put_files(struct writing *w, const struct catalog_tree *old,
		      uint32_t id)
{
	const struct edit *e = w->e;
	size_t kept = 0, added = 0;
	size_t nold = old && !w->outline ? old->nfiles : 0;

	for (size_t i = 0; i < nold; i++)
		kept += !is_removed(e, id, old->files[i].info.number);
	for (size_t i = 0; i < e->nadded; i++)
		added += e->added[i].tree == id;
	w->removed += nold - kept;
	w->added += added;
	put_u32(&w->to, (uint32_t)(kept + added));
	for (size_t i = 0; i < nold; i++)
		if (!is_removed(e, id, old->files[i].info.number))
			put_info(&w->to, old->files[i].level,
				 &old->files[i].info);
	for (size_t i = 0; i < e->nadded; i++)
		if (e->added[i].tree == id)
			put_info(&w->to, e->added[i].level, e->added[i].info);
}

static void put_history(struct encoder *e, const struct history *h)
{
	put_u64(e, (uint64_t)h->before);
	put_u64(e, h->pushed_seq);
	put_u32(e, h->pushed_versions);
	put_u32(e, (uint32_t)h->ngaps);
	for (size_t i = 0; i < h->ngaps; i++) {
		put_bytes(e, buf_bytes(&h->gaps[i].row_min));
		put_bytes(e, buf_bytes(&h->gaps[i].row_max));
		put_u64(e, (uint64_t)h->gaps[i].from);
		put_u64(e, (uint64_t)h->gaps[i].to);
	}
}

static void put_lost(struct writing *w, const struct catalog_tree *old,
		     uint32_t id)
{
	struct history all = {0};
	int r = old ? history_copy(&all, &old->lost) : 0;

	for (size_t i = 0; i < w->e->nlost && r == 0; i++) {
		if (w->e->lost[i].tree != id)
			continue;
		w->lost++;
		r = history_add(&all, w->e->lost[i].history);
	}
	if (w->to.err == 0)
		w->to.err = r;
	put_history(&w->to, &all);
	history_free(&all);
}

/* A table as @t says, with what its trees have in @old, unless that is NULL. */
static void put_table(struct writing *w, const struct catalog_table *t,
		      const struct catalog_table *old)
{
	put_u64(&w->to, t->id);
	put_u64(&w->to, t->schema_version);
	put_bytes(&w->to, bytes_str(t->name));
	put_u32(&w->to, t->schema.nfamilies);
	for (uint32_t i = 0; i < t->schema.nfamilies; i++)
		put_u32(&w->to, t->trees[i].id);
	put_schema(&w->to, &t->schema);
	for (uint32_t i = 0; i < t->schema.nfamilies; i++) {
		const struct catalog_tree *tree =
			catalog_tree_in(old, t->trees[i].id);

		put_files(w, tree, t->trees[i].id);
		put_lost(w, tree, t->trees[i].id);
	}
}

static void put_tables(struct writing *w, const struct catalog *c)
{
	const struct catalog_table *put = w->e->put_table, *old;
	bool is_new = put && !catalog_find_id(c, put->id), done = !put;

	w->dropped_table =
		!w->e->drop_table || (catalog_find_id(c, w->e->drop_table) &&
				      (!put || put->id != w->e->drop_table));
	put_u32(&w->to, (uint32_t)(c->ntables + is_new -
				   (w->e->drop_table && w->dropped_table)));
	old = put ? catalog_find_id(c, put->id) : NULL;
	for (size_t i = 0; i < c->ntables; i++) {
		const struct catalog_table *t = &c->tables[i];

		if (!done && strcmp(put->name, t->name) <= 0) {
			put_table(w, put, old);
			done = true;
		}
		if (t->id != w->e->drop_table && t != old)
			put_table(w, t, t);
	}
	if (!done)
		put_table(w, put, old);
}

static void put_snapshot(struct encoder *e, const struct catalog_snapshot *s)
{
	put_u64(e, s->table);
	put_u64(e, s->seq);
	put_u64(e, (uint64_t)s->taken_ms);
	put_bytes(e, bytes_str(s->name));
	put_u32(e, (uint32_t)s->tables.n);
	for (size_t i = 0; i < s->tables.n; i++) {
		put_u64(e, s->tables.at[i].id);
		put_bytes(e, bytes_str(s->tables.at[i].name));
		put_schema(e, &s->tables.at[i].schema);
	}
}

/* Does the snapshot go? One of a table goes with the table. */
static bool snapshot_goes(struct writing *w, const struct catalog_snapshot *s)
{
	const struct catalog_snapshot *drop = w->e->drop_snapshot;

	if (drop && catalog_snapshot_cmp(s, drop) == 0) {
		w->dropped_snapshot = true;
		return true;
	}
	return s->table && s->table == w->e->drop_table;
}

static void put_snapshots(struct writing *w, const struct catalog *c)
{
	const struct catalog_snapshot *put = w->e->put_snapshot;
	uint32_t n = put != NULL;

	w->dropped_snapshot = !w->e->drop_snapshot;
	for (size_t i = 0; i < c->nsnapshots; i++)
		n += !snapshot_goes(w, &c->snapshots[i]);
	put_u32(&w->to, n);
	for (size_t i = 0; i < c->nsnapshots; i++) {
		const struct catalog_snapshot *s = &c->snapshots[i];

		if (put && catalog_snapshot_cmp(put, s) <= 0) {
			put_snapshot(&w->to, put);
			put = NULL;
		}
		if (!snapshot_goes(w, s))
			put_snapshot(&w->to, s);
	}
	if (put)
		put_snapshot(&w->to, put);
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void put_counters(struct encoder *to, const struct catalog *c,
			 const struct edit *e)
{
	uint64_t file = greater(c->next_file, e->next_file);
	uint64_t table = greater(c->next_table, e->next_table);
	uint64_t tree = greater(c->next_tree, e->next_tree);

	for (size_t i = 0; i < e->nadded; i++)
		file = greater(file, e->added[i].info->number + 1);
	if (e->put_table) {
		table = greater(table, e->put_table->id + 1);
		for (uint32_t i = 0; i < e->put_table->schema.nfamilies; i++)
			tree = greater(tree, e->put_table->trees[i].id + 1ull);
	}
	put_u64(to, file);
	put_u64(to, table);
	put_u32(to, (uint32_t)tree);
	put_u64(to, greater(c->last_seq, e->last_seq));
	put_u64(to, greater(c->wal_first, e->wal_first));
	put_u64(to, e->keep ? e->keep->bytes : c->keep.bytes);
	put_u64(to, e->keep ? e->keep->id : c->keep.id);
}

static int write_all(struct writing *w, const struct catalog *c,
		     uint64_t number, uint64_t store)
{
	static const uint8_t head[CATALOG_HEAD];
	struct buf *out = w->to.out;

	out->len = 0;
	put_raw(&w->to, head, sizeof(head));
	put_u32(&w->to, STORE_FORMAT);
	put_u64(&w->to, number);
	put_u64(&w->to, store);
	put_counters(&w->to, c, w->e);
	put_tables(w, c);
	put_snapshots(w, c);
	if (w->to.err < 0)
		return w->to.err;
	return out->len > CATALOG_FILE_MAX
		       ? why(-EFBIG, "the catalog would have %zu bytes",
			     out->len)
		       : 0;
}

int catalog_outline(const struct catalog *c, struct buf *out)
{
	const struct edit nothing = {0};
	struct writing w = {.to = {.out = out}, .e = &nothing, .outline = true};
	int r = write_all(&w, c, 0, 0);

	if (r == 0)
		catalog_seal(out->data, out->len, 0);
	return r;
}

static int encode(const struct catalog *c, const struct edit *e,
		  uint64_t number, uint64_t store, struct buf *out)
{
	struct writing w = {.to = {.out = out}, .e = e};
	int r = write_all(&w, c, number, store);

	if (r < 0)
		return r;
	if (w.removed != e->nremoved || w.added != e->nadded ||
	    w.lost != e->nlost)
		return why(-EINVAL, "an edit names a tree or a file that the "
				    "store does not have");
	if (!w.dropped_table || !w.dropped_snapshot)
		return why(-EINVAL, "an edit drops a table or a snapshot that "
				    "the store does not have");
	catalog_seal(out->data, out->len, number);
	return 0;
}

int catalog_make(const struct catalog *c, const struct edit *e, uint64_t number,
		 uint64_t store, struct buf *image, struct catalog *out)
{
	int r = encode(c, e, number, store, image);

	if (r == 0)
		r = catalog_decode(buf_bytes(image), number, out, &store);
	/* It is the edit that is wrong, not a disk. */
	return r == -EUCLEAN ? -EINVAL : r;
}
