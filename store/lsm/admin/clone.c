/*
 * Clones: a new table, or the old one restored, from what a snapshot shows.
 *
 * All entries up to the snapshot's sequence are copied unchanged, hidden cells,
 * markers and sequences included: the copy answers every read of the snapshot
 * in the same way, also of `.raw` and older snapshots, and later writes have
 * the same effect as in the original.
 *
 *	view at s9 ─▶ merge up to s9 ─▶ files of the deepest level
 *			one edit: the table, its trees, their files
 *
 * Until that edit the files belong to nobody, and a crash leaves them for the
 * next open to remove. Links to the original's files would cost nothing, but
 * each reader of such a file would have to know up to which sequence to read,
 * for ever; a copy is written as fast as a compaction, and its files are
 * ordinary ones.
 *
 * The snapshot is pinned, so that compactions keep the entries that are read;
 * no lock is held meanwhile.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/front/namespace.h"
#include "store/lsm/admin/admin.h"
#include "store/lsm/compaction/compaction_write.h"
#include "store/lsm/read/reader.h"
#include "store/lsm/state/pins.h"
#include "store/lsm/state/table_list.h"
#include "store/lsm/state/superversion.h"

struct clone {
	struct lsm *db;
	const struct lsm_snapshot *snap;
	const struct schema *schema; /* the snapshot's schema */
	struct table *original;	     /* referenced */
	struct tree_files *files;    /* one for each family */
};

static int copy_row(struct cursor *c, struct compaction_writer *w)
{
	int r = 1;

	for (; r == 1; r = cursor_next(c)) {
		r = compaction_write(w, c->row, &c->at);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : compaction_write_row_end(w);
}

static int copy_rows(struct cursor *c, struct compaction_writer *w)
{
	int r = cursor_seek_row(c, (struct bytes){0});

	while (r == 1) {
		r = copy_row(c, w);
		if (r == 0)
			r = cursor_next_row(c);
	}
	return r < 0 ? r : compaction_write_cut(w);
}

/* The level for a file with the cells of all levels. */
static uint8_t deepest(const struct levels *l)
{
	uint8_t level = 1;

	for (uint8_t i = 2; i < LEVELS_MAX; i++)
		if (l->level[i].nfiles)
			level = i;
	return level;
}

static int copy_tree(struct clone *k, const struct superversion *view,
		     uint32_t family, const struct family_attrs *attrs,
		     struct tree_files *out)
{
	const struct reader_spec spec = {
		.visible = {.attrs = attrs, .ts_max = INT64_MAX, .raw = true},
		.seq = k->snap->seq,
		.no_fill = true,
	};
	struct compaction_writer w = {
		.dir = k->db->dir,
		.cache = k->db->cache,
		.file_bytes = k->db->limits.file_bytes,
		.number = file_number,
		.arg = k->db,
	};
	struct reader reader;
	int r;

	out->level = deepest(view->levels[family]);
	if (history_copy(&out->lost, &view->levels[family]->lost) < 0)
		return why(-ENOMEM, "out of memory");
	w.options = compaction_options(0, attrs, out->level);
	r = reader_open(&reader, view, family, &spec);
	if (r < 0)
		return r;
	r = copy_rows(reader_cursor(&reader), &w);
	if (r == 0) {
		out->files = w.tables;
		out->n = w.ntables;
		w.tables = NULL;
		w.ntables = 0;
	}
	compaction_write_free(&w);
	reader_close(&reader);
	return r;
}

/*
 * Is the snapshot still in the catalog? While it is, no cell that it shows is dropped,
 * so the files and memtables that were referenced before have all of them. 0 or -ENOENT.
 */
static int check_named(const struct clone *k)
{
	const struct catalog *c;
	bool named = false;

	pthread_mutex_lock(&k->db->catalog);
	c = manifest_catalog(k->db->manifest);
	for (size_t i = 0; i < c->nsnapshots; i++)
		named = named ||
			(c->snapshots[i].seq == k->snap->seq &&
			 c->snapshots[i].taken_ms == k->snap->base.taken_ms &&
			 c->snapshots[i].table == k->snap->base.table);
	pthread_mutex_unlock(&k->db->catalog);
	return named ? 0 : why(-ENOENT, "the snapshot has been dropped");
}

static int copy_all(struct clone *k)
{
	struct superversion *view = NULL;
	uint64_t now;
	int r = superversion_take(k->db, reader_slot(k->db),
				  (struct lsm_table *)k->original, &view, &now);

	if (r == 0)
		r = check_named(k);
	for (uint32_t i = 0; r == 0 && i < k->schema->nfamilies; i++) {
		const struct family_schema *f = &k->schema->families[i];
		int at = schema_find(&view->st->schema, bytes_str(f->name));

		/* That is so only if another snapshot of the same moment has taken its place. */
		r = at < 0 ? why(-ENOENT, "family %s has been dropped", f->name)
			   : copy_tree(k, view, (uint32_t)at, &f->attrs,
				       &k->files[i]);
	}
	superversion_give(k->db, reader_slot(k->db), view);
	if (r < 0)
		return r;
	return os_dir_sync(k->db->dir);
}

/* @r is the result of the edit that should add the files. */
static void clone_end(struct clone *k, int r)
{
	for (uint32_t i = 0; k->files && i < k->schema->nfamilies; i++) {
		struct tree_files *f = &k->files[i];

		for (uint32_t n = 0; n < f->n; n++) {
			/* An edit that failed for good may be on disk. */
			if (r < 0 && !atomic_load(&k->db->failed))
				sst_obsolete(f->files[n]);
			sst_unref(f->files[n]);
		}
		free(f->files);
		history_free(&f->lost);
	}
	free(k->files);
	table_unref(k->original);
}

static int clone_begin(struct clone *k, struct snapshot *snap,
		       const struct snapshot_table *from, bool in_place)
{
	int r;

	*k = (struct clone){
		.db = lsm_of(snap->store),
		.snap = (struct lsm_snapshot *)snap,
		.schema = &from->schema,
	};
	r = lsm_writable(k->db);
	if (r == 0)
		r = lsm_table_open_id(snap->store, from->id, &k->original);
	if (r == 0 && in_place)
		r = tables_check_latest(k->db, k->original, k->snap->seq);
	if (r < 0)
		return r;
	k->files = calloc(k->schema->nfamilies + 1, sizeof(*k->files));
	return k->files ? copy_all(k) : why(-ENOMEM, "out of memory");
}

int lsm_snapshot_clone(struct snapshot *snap, const struct snapshot_table *from,
		       struct bytes to)
{
	struct clone k;
	int r = clone_begin(&k, snap, from, false);

	if (r == 0)
		r = namespace_enter(snap->store, to);
	if (r == 0) {
		r = tables_add(k.db, to, k.schema, k.files);
		pthread_mutex_unlock(&snap->store->schema_lock);
	}
	clone_end(&k, r);
	return r;
}

int lsm_snapshot_restore(struct snapshot *snap,
			 const struct snapshot_table *from)
{
	struct clone k;
	int r = clone_begin(&k, snap, from, true);

	if (r == 0)
		r = tables_refill(k.db, k.original, k.schema, k.files,
				  k.snap->seq);
	clone_end(&k, r);
	return r;
}
