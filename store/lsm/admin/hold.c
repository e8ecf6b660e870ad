/*
 * Files of one moment (store/hold.h).
 *
 * The catalog lock is held while they are gathered, so that the catalog, its
 * table files and the beginning of the log belong together; the commit lock only
 * while the log is cut, which is the moment.
 */
#include "store/hold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/lsm/admin/admin.h"
#include "store/lsm/background/background.h"
#include "store/lsm/table/sst_format.h"
#include "store/lsm/write/note.h"
#include "store/value/array.h"

struct lsm_hold {
	struct hold base;
	struct lsm *db;
	struct sstable **tables; /* referenced */
	size_t ntables, tables_cap, files_cap;
	bool log; /* the log is held */
};

static struct hold_file *add(struct lsm_hold *h)
{
	struct hold *b = &h->base;

	if (ARRAY_RESERVE(b->files, h->files_cap, b->nfiles + 1) < 0)
		return NULL;
	b->files[b->nfiles] = (struct hold_file){.bytes = 0};
	return &b->files[b->nfiles++];
}

static int no_memory(void)
{
	return why(-ENOMEM, "out of memory for the list of files");
}

static int add_catalog(struct lsm_hold *h)
{
	struct hold_file *f = add(h);
	int r = f ? manifest_image(h->db->manifest, f->name, &h->base.catalog,
				   &h->base.store_id)
		  : no_memory();

	if (r == 0)
		f->bytes = f->size = h->base.catalog.len;
	return r;
}

/* Under state. */
static int add_table(struct lsm_hold *h, struct sstable *t)
{
	struct hold_file *f = add(h);

	if (!f || ARRAY_RESERVE(h->tables, h->tables_cap, h->ntables + 1) < 0)
		return -ENOMEM;
	sst_ref(t);
	h->tables[h->ntables++] = t;
	sst_name(sst_info(t)->number, f->name);
	f->bytes = f->size = sst_info(t)->file_bytes;
	f->sum = sst_info(t)->checksum;
	return 0;
}

static int add_tables(struct lsm_hold *h)
{
	struct tree_walk w = {0};
	struct lsm *db = h->db;
	int r = 0;

	pthread_mutex_lock(&db->state);
	while (r == 0 && trees_next(db, &w)) {
		const struct levels *l = w.tree->levels;

		for (int i = l->begin; i < l->end; i++)
			for (uint32_t k = 0; r == 0 && k < l->level[i].nfiles;
			     k++)
				r = add_table(h, l->level[i].files[k]);
	}
	pthread_mutex_unlock(&db->state);
	return r < 0 ? no_memory() : 0;
}

static int add_log(void *arg, const struct wal_file *log)
{
	struct hold_file *f = add(arg);

	if (!f)
		return no_memory();
	snprintf(f->name, sizeof(f->name), "%s", log->name);
	f->bytes = log->bytes;
	f->size = log->size;
	return 0;
}

/* Under catalog. */
static int gather(struct lsm_hold *h)
{
	struct lsm *db = h->db;
	uint64_t end, pos;
	int r;

	pthread_mutex_lock(&db->commit);
	r = note_pay(db);
	if (r == 0)
		r = wal_hold(db->wal, &end, &pos);
	h->base.taken_ms = os_now_ms(db->os);
	pthread_mutex_unlock(&db->commit);
	if (r < 0)
		return lsm_log_failed(db, r);
	h->log = true;
	r = add_catalog(h);
	if (r == 0)
		r = add_tables(h);
	if (r == 0)
		r = wal_files(db->wal,
			      manifest_catalog(db->manifest)->wal_first, end,
			      pos, add_log, h);
	if (r == 0)
		r = wal_kept_files(db->dir, add_log, h);
	return r;
}

/* Frees what store_hold() does not. */
void lsm_hold_release(struct hold *base)
{
	struct lsm_hold *h = (struct lsm_hold *)base;

	for (size_t i = 0; i < h->ntables; i++)
		sst_unref(h->tables[i]);
	if (h->log)
		wal_let_go(h->db->wal);
	free(h->tables);
	free(h);
}

/* A store of an older format that nobody has changed has no catalog of this. */
static int have_catalog(struct lsm *db)
{
	struct edit nothing = {0};

	if (db->options.read_only || manifest_is_new(db->manifest))
		return 0;
	return lsm_commit_edit(db, &nothing);
}

int lsm_keep_log(struct store *s, uint64_t bytes)
{
	struct lsm *db = lsm_of(s);
	struct catalog_keep keep;
	struct edit e = {.keep = &keep};
	int r;

	pthread_mutex_lock(&db->catalog);
	pthread_mutex_lock(&db->commit);
	keep = manifest_catalog(db->manifest)->keep;
	r = lsm_writable(db);
	if (r < 0 || keep.bytes == bytes)
		goto out;
	/* What was kept before a pause is not continued. */
	if (!keep.bytes)
		keep.id = os_random(db->os);
	keep.bytes = bytes;
	r = lsm_commit_edit(db, &e);
	if (r == 0) {
		db->keeps_log = bytes != 0;
		db->note.len = 0;
		wal_keep(db->wal, keep.bytes, keep.id);
		note_tables(db);
	}
out:
	pthread_mutex_unlock(&db->commit);
	pthread_mutex_unlock(&db->catalog);
	return r;
}

int lsm_hold(struct store *s, struct hold **out)
{
	struct lsm *db = lsm_of(s);
	struct lsm_hold *h = calloc(1, sizeof(*h));
	struct why_kept kept;
	int r = h ? 0 : no_memory();

	if (r < 0)
		return r;
	h->db = db;
	if (!db->options.read_only)
		r = lsm_flush(s, NULL);
	pthread_mutex_lock(&db->catalog);
	if (r == 0)
		r = have_catalog(db);
	if (r == 0)
		r = gather(h);
	pthread_mutex_unlock(&db->catalog);
	if (r == 0) {
		*out = &h->base;
		return 0;
	}
	why_keep(&kept);
	free(h->base.files);
	buf_free(&h->base.catalog);
	lsm_hold_release(&h->base);
	why_restore(&kept);
	return r;
}
