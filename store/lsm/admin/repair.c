#include "store/lsm/admin/repair.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/lsm/admin/engine.h"
#include "store/lsm/manifest/directory.h"
#include "store/lsm/table/sst_salvage.h"
#include "store/lsm/wal/record.h"
#include "store/lsm/wal/wal_salvage.h"
#include "store/value/array.h"

void repair_note(struct repair *k, const char *fmt, ...)
{
	struct store_rescue news = {.kind = RESCUE_NOTE};
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	news.reason = text;
	k->tell(k->arg, &news);
}

void repair_lost(struct repair *k, const struct store_rescue *news)
{
	k->losses++;
	k->tell(k->arg, news);
}

static void be_silent(void *arg, const struct sst_loss *loss)
{
}

/* Which tree has the file? 0 where it does not say. */
static int tree_of(struct repair *k, uint64_t number, uint32_t *tree)
{
	struct sst_salvage *s;
	int r = sst_salvage_open(k->from, number, NULL, be_silent, NULL, &s);

	if (r < 0)
		return r;
	*tree = sst_salvage_tree(s);
	sst_salvage_close(s);
	return 0;
}

static int find_stray(void *arg, const char *name)
{
	struct repair *k = arg;
	struct repair_stray s = {0};
	enum directory_name means = directory_name(name, &s.number);
	int r;

	if (means == NAME_LOST_FOUND)
		repair_note(k, "lost+found is not copied: what is in it is no "
			       "cell");
	if (means != NAME_SST || catalog_has_file(&k->known.catalog, s.number))
		return 0;
	if (k->known.age == CATALOG_NEWEST) {
		repair_note(k,
			    "%s is not taken: no table has it, a crash left it",
			    name);
		return 0;
	}
	r = tree_of(k, s.number, &s.tree);
	if (r == 0)
		r = ARRAY_RESERVE(k->strays, k->strays_cap, k->nstrays + 1);
	if (r == 0)
		k->strays[k->nstrays++] = s;
	return r;
}

static int take_row(void *arg, struct bytes row, const struct pending *p,
		    uint32_t n)
{
	struct repair *k = arg;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = memtable_insert(k->log, p[i].tree, row, &p[i].entry, 1);
	return r;
}

static int take_record(void *arg, struct bytes record)
{
	struct repair *k = arg;
	uint64_t next_seq = 0;
	int r = record_read(record, &next_seq, take_row, k);

	if (next_seq > k->last_seq + 1)
		k->last_seq = next_seq - 1;
	/* Its checksum is right, so that this is a fault of who wrote it. */
	if (r == -EUCLEAN) {
		repair_note(k, "%s", store_why());
		r = 0;
	}
	return r;
}

static void lose_log(void *arg, const struct wal_loss *loss)
{
	struct repair *k = arg;
	const struct store_rescue news = {
		.kind = RESCUE_LOST,
		.file = loss->file,
		.offset = loss->offset,
		.bytes = loss->bytes,
		.reason = loss->reason,
	};

	repair_lost(k, &news);
}

static int read_all(struct repair *k)
{
	struct wal_salvage w = {
		.dir = k->from,
		.each = take_record,
		.lost = lose_log,
		.arg = k,
	};
	int r = catalog_salvage(k->from, &k->known);

	if (r < 0)
		return r;
	if (k->known.note[0])
		repair_note(k, "%s", k->known.note);
	k->last_seq = k->known.catalog.last_seq;
	/* The change that is lost may have been a flush, which needs fewer. */
	if (k->known.age == CATALOG_NEWEST)
		w.first = k->known.catalog.wal_first;
	r = memtable_new(0, &k->log);
	if (r == 0)
		r = os_dir_list(k->from, find_stray, k);
	if (r == 0)
		r = wal_salvage(&w);
	return r;
}

static int make_dest(struct repair *k, struct os *os, const char *path)
{
	const struct store_options o = {.create = true};
	struct os_dir *there = NULL;
	int r = os_dir_open(os, path, false, &there);

	os_dir_close(there);
	if (r == 0)
		return why(-EEXIST,
			   "%s exists: name a directory that does not, for the "
			   "new store",
			   path);
	if (r != -ENOENT)
		return r;
	why_clear();
	r = directory_open(os, path, &o, &k->to);
	if (r == 0)
		r = manifest_open(k->to, true, false, &k->made);
	return r;
}

static void end(struct repair *k)
{
	struct why_kept kept;

	why_keep(&kept);
	free(k->strays);
	memtable_unref(k->log);
	catalog_free(&k->known.catalog);
	manifest_close(k->made);
	os_dir_close(k->to);
	os_dir_close(k->from);
	why_restore(&kept);
}

int lsm_repair(const char *path, const char *dest, struct os *os,
	       void (*tell)(void *arg, const struct store_rescue *news),
	       void *arg)
{
	/* It reads only, and takes what is there. */
	const struct store_options o = {
		.read_only = true, .insecure = true, .wait_ms = STORE_WAIT_MS};
	struct repair k = {.tell = tell, .arg = arg, .next_file = 1};
	int r;

	os = os ? os : os_posix();
	r = directory_open(os, path, &o, &k.from);
	if (r == 0)
		r = read_all(&k);
	if (r == 0)
		r = make_dest(&k, os, dest);
	if (r == 0) {
		r = repair_tables(&k);
		if (r < 0)
			why(r, "%s: %s is not whole: remove it",
			    store_why()[0] ? store_why() : why_meaning(-r),
			    dest);
	}
	end(&k);
	return r < 0 ? r : k.losses;
}
