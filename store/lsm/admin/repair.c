#include "store/lsm/admin/repair.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/lsm/admin/engine.h"
#include "store/lsm/manifest/directory.h"
#include "store/lsm/table/sst_format.h"
#include "store/lsm/table/sst_salvage.h"
#include "store/lsm/wal/record.h"
#include "store/lsm/wal/wal_replay.h"
#include "store/lsm/wal/wal_salvage.h"
#include "store/value/array.h"

/* Of files in a row that are missing so many are told one by one, and the last. */
#define MISSING_MAX 16

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

static int by_number(const void *a, const void *b)
{
	const struct repair_stray *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Table files in [@from, @to) may be what the catalog that is lost had. */
static void lose_between(struct repair *k, uint64_t from, uint64_t to)
{
	char name[SST_NAME_LEN];
	const struct store_rescue news = {
		.kind = RESCUE_LOST,
		.file = name,
		.reason = "it is missing, unless it never was: the catalog "
			  "that would say so is lost",
	};

	for (uint64_t number = from; number < to; number++) {
		if (number == from + MISSING_MAX)
			number = to - 1;
		sst_name(number, name);
		repair_lost(k, &news);
	}
}

/*
 * Files are numbered in a row. So a file that only the lost catalog had leaves a gap
 * before others of that catalog if it is missing. The last one leaves none. Nor does one
 * whose number is below next_file: a merge that ran across the change before had it by then.
 */
static void lose_gaps(struct repair *k)
{
	uint64_t next = k->known.catalog.next_file;

	if (k->nstrays)
		qsort(k->strays, k->nstrays, sizeof(*k->strays), by_number);
	for (size_t i = 0; i < k->nstrays; i++) {
		if (k->strays[i].number < next)
			continue;
		lose_between(k, next, k->strays[i].number);
		next = k->strays[i].number + 1;
	}
}

/* What else is lost where not all is known of what there was. */
static void lose_unknown(struct repair *k)
{
	const struct store_rescue news = {
		.kind = RESCUE_LOST,
		.file = "CATALOG",
		.reason = "it has the names, and which table files there were: "
			  "one that is missing too is not noticed",
	};

	if (k->known.age == CATALOG_BEFORE)
		lose_gaps(k);
	if (k->known.age == CATALOG_NONE)
		repair_lost(k, &news);
}

/*
 * Without that file a segment at the end of the log, or the ring, may be missing
 * unnoticed. A store that was never written has none.
 */
static int note_log(struct repair *k)
{
	uint64_t *numbers = NULL;
	size_t n = 0;
	int r = wal_segments(k->from, 0, &numbers, &n);

	free(numbers);
	if (r == 0 && (n || k->known.catalog.wal_first) &&
	    !wal_made_read(k->from).next)
		repair_note(k, WAL_MADE_NAME
			    " is missing or damaged: if the end of the log is "
			    "missing too, that is not noticed");
	return r;
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
	r = memtable_new(0, &k->log);
	if (r == 0)
		r = os_dir_list(k->from, find_stray, k);
	if (r < 0)
		return r;
	lose_unknown(k);
	/* The change that is lost may have been a flush, which needs fewer. */
	w.first_known = k->known.age == CATALOG_NEWEST ||
			(k->known.age == CATALOG_BEFORE && !k->nstrays);
	if (w.first_known)
		w.first = k->known.catalog.wal_first;
	r = note_log(k);
	return r == 0 ? wal_salvage(&w) : r;
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
