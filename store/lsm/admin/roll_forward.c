/*
 * A copy of a store made one of its own, and brought forward to a moment of the
 * log that was kept behind it.
 *
 *	path: catalog and table files as they were	──▶ catalog as the last note
 *	      and a log of its own			      and those files
 *	log:  ...|== the next segment ==|== note ≤ at ==│ note > at
 *						    └──▶ behind that log
 *
 * The log is read twice: first to see that it goes from one to the other and says
 * what is asked for, so that a store for which it does not is left as it was. The
 * next open replays what the second reading has written.
 *
 * It is whole up to the moment where a record of a later time was met: what is
 * missing or damaged behind that does not matter. Without such a record all of it
 * has to be there.
 */
#include <errno.h>

#include "store/lsm/admin/engine.h"
#include "store/lsm/manifest/catalog_format.h"
#include "store/lsm/manifest/manifest.h"
#include "store/lsm/wal/record.h"
#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_replay.h"

struct roll {
	struct os *os;
	struct os_dir *dir, *log;
	struct manifest *manifest; /* of @dir */
	struct catalog now; /* what @dir has, of which files move to the next */
	uint64_t next;	    /* the first segment behind those that @dir has */
	int64_t at_ms;
	const char *lacks;  /* of the log, in words, or NULL */
	bool reached;	    /* a record after that moment was met */
	struct buf outline; /* the newest before it; empty: none */
	struct wal *to;	    /* NULL: only looks */
};

static int incomplete(const char *reason)
{
	return why(-ENODATA, "%s", reason);
}

static int take(void *arg, uint64_t segment, struct bytes record)
{
	struct roll *k = arg;
	struct note note;
	uint64_t lsn;
	int r = record_note_read(record, &note);

	if (r < 0)
		return r;
	if (r > 0 && note.time_ms > k->at_ms) {
		k->reached = true;
		return -ECANCELED;
	}
	if (r > 0 && note.what == NOTE_BREAK)
		return incomplete("a table was cloned, or a snapshot restored, "
				  "before that moment, which is in no log");
	if (k->to)
		return wal_append(k->to, &record, 1, &lsn);
	return r > 0 && note.catalog.len ? buf_set(&k->outline, note.catalog)
					 : 0;
}

/* @upto: segments below it must be there. */
static int read_log(struct roll *k, uint64_t upto)
{
	struct wal_found found = {0};
	uint64_t first = k->next;
	int r = wal_replay(k->log, first, take, k, &found);

	if (r == -ECANCELED && k->reached)
		r = 0;
	else if (k->lacks && (r == 0 || r == -EUCLEAN))
		r = why(-ENODATA, "the log up to it is not whole: %s",
			k->lacks);
	else if (r == -EUCLEAN || (r == 0 && first + found.n < upto))
		r = incomplete(
			"the log up to it is not whole: more was written "
			"than is kept, a disk was full, a backup in "
			"between was dropped, or a part is damaged");
	wal_found_free(&found);
	return r;
}

/*
 * The segment that follows those which @dir has with records: what is in them was
 * part of its moment, and one without records is made again.
 */
static int end_of_own(struct roll *k)
{
	struct wal_found own = {0};
	int r = wal_replay(k->dir, k->now.wal_first, NULL, NULL, &own);

	k->next = k->now.wal_first;
	if (r == 0 && own.n)
		k->next = own.head.number + (own.end > own.head.start);
	wal_found_free(&own);
	return r;
}

struct kept_names {
	uint64_t id;
	struct buf numbers;
};

static int list_kept(void *arg, const char *name)
{
	struct kept_names *k = arg;
	uint64_t id, number;

	return wal_kept_number(name, &id, &number) && id == k->id
		       ? buf_append(&k->numbers, &number, sizeof(number))
		       : 0;
}

/* Kept segments of the store's log get the names of segments. */
static int rename_kept(struct roll *k)
{
	struct kept_names l = {.id = k->now.keep.id};
	char from[WAL_KEPT_NAME_BYTES], to[WAL_NAME_BYTES];
	uint64_t number;
	int r = os_dir_list(k->log, list_kept, &l);

	for (size_t i = 0; i < l.numbers.len && r == 0; i += sizeof(number)) {
		memcpy(&number, l.numbers.data + i, sizeof(number));
		wal_kept_name(from, l.id, number);
		wal_segment_name(to, number);
		r = os_rename(k->log, from, to);
	}
	buf_free(&l.numbers);
	return r;
}

/* Is it a later moment of the same log? *upto: where that begins to be needed. */
static int check_later(struct roll *k, uint64_t *upto)
{
	struct manifest *later = NULL;
	const struct catalog *c;
	int r = manifest_open(k->log, false, true, &later);

	if (r < 0)
		return r;
	c = manifest_catalog(later);
	*upto = c->wal_first;
	if (!k->now.keep.bytes || !c->keep.bytes ||
	    c->keep.id != k->now.keep.id || c->wal_first < k->now.wal_first)
		r = incomplete("the log between was not kept");
	manifest_close(later);
	return r;
}

/* Moves the tree's files, and what it knows of its past, to where it is next. */
static void move_tree(struct roll *k, struct catalog_tree *to)
{
	for (size_t i = 0; i < k->now.ntables; i++) {
		struct catalog_table *t = &k->now.tables[i];

		for (uint32_t n = 0; n < t->schema.nfamilies; n++) {
			struct catalog_tree was = *to;

			if (t->trees[n].id != to->id)
				continue;
			*to = t->trees[n];
			t->trees[n] = was;
		}
	}
}

static int write_catalog(struct roll *k)
{
	struct catalog next;
	uint64_t none;
	int r;

	if (!k->outline.len) {
		k->now.keep = (struct catalog_keep){0};
		return manifest_replace(k->manifest, &k->now);
	}
	r = catalog_decode(buf_bytes(&k->outline), 0, &next, &none);
	if (r < 0)
		return r;
	for (size_t i = 0; i < next.ntables; i++)
		for (uint32_t n = 0; n < next.tables[i].schema.nfamilies; n++)
			move_tree(k, &next.tables[i].trees[n]);
	/* Its counters are later ones; of the files and the log it has nothing. */
	next.wal_first = k->now.wal_first;
	next.keep = (struct catalog_keep){0};
	r = manifest_replace(k->manifest, &next);
	catalog_free(&next);
	return r;
}

/* The log first: without the catalog after it, it is only a longer one. */
static int write_log(struct roll *k, uint64_t upto)
{
	const struct wal_options o = {0};
	int r = wal_open(k->dir, &o, k->now.wal_first, false, NULL, NULL,
			 &k->to);
	int closed;

	if (r < 0)
		return r;
	k->reached = false;
	r = read_log(k, upto);
	closed = wal_close(k->to);
	return r < 0 ? r : closed;
}

static int roll(struct roll *k, const char *log)
{
	uint64_t upto = 0;
	int r;

	if (!log && !k->now.keep.bytes)
		return 0;
	if (!log) {
		r = write_catalog(k);
		return r < 0 ? r : 1;
	}
	r = end_of_own(k);
	if (r == 0)
		r = os_dir_open(k->os, log, false, &k->log);
	if (r == 0)
		r = check_later(k, &upto);
	if (r == 0)
		r = rename_kept(k);
	if (r == 0)
		r = read_log(k, upto);
	if (r == 0)
		r = write_log(k, upto);
	return r < 0 ? r : write_catalog(k);
}

/* The catalog of the store, to be changed. */
static int load(struct roll *k)
{
	char name[CATALOG_NAME_LEN];
	struct buf image = {0};
	uint64_t number = 0, store;
	bool old;
	int r = manifest_open(k->dir, false, false, &k->manifest);

	if (r == 0)
		r = manifest_image(k->manifest, name, &image, &store);
	if (r == 0 && catalog_name_parse(name, &number, &old))
		r = catalog_decode(buf_bytes(&image), number, &k->now, &store);
	buf_free(&image);
	return r;
}

int lsm_roll_forward(const char *path, const char *log, const char *lacks,
		     int64_t at_ms)
{
	struct roll k = {.os = os_posix(), .at_ms = at_ms, .lacks = lacks};
	struct why_kept kept;
	int r = os_dir_open(k.os, path, false, &k.dir);

	if (r == 0)
		r = load(&k);
	if (r == 0)
		r = roll(&k, log);
	why_keep(&kept);
	catalog_free(&k.now);
	manifest_close(k.manifest);
	buf_free(&k.outline);
	os_dir_close(k.log);
	os_dir_close(k.dir);
	why_restore(&kept);
	return r;
}
