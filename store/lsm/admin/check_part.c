/*
 * Verifies a store that is in use, part by part: the catalog, then each table
 * file that there was when it began, by their numbers, then the segments of the
 * log that are kept. A file that a merge takes away meanwhile is passed over, what
 * the merge makes of it was written and read back just now. The log is looked at
 * when the store is opened or at rest.
 *
 *	at->file   0 ... until - 1   until, until + 1 ...
 *		   table files	     kept segments 0, 1 ...
 *
 * Nothing is kept between two parts: where to go on is in the caller's hands,
 * who decides how fast.
 */
#include <errno.h>
#include <stdio.h>

#include "store/lsm/admin/admin.h"

/* A file to look at, referenced, and whose it is. */
struct target {
	struct sstable *file;
	char table[TABLE_NAME_LEN_MAX + 1], family[FAMILY_LEN_MAX + 1];
};

struct part {
	struct target target;
	void (*say)(void *arg, const char *sentence);
	void *arg;
};

static void say_where(void *arg, const char *sentence)
{
	struct part *p = arg;
	char text[1500];

	snprintf(text, sizeof(text), "table %s, family %s: %s", p->target.table,
		 p->target.family, sentence);
	p->say(p->arg, text);
}

static void take(struct target *out, struct sstable *file,
		 const struct tree_walk *w)
{
	const struct table_state *st = w->table->now;

	sst_unref(out->file);
	sst_ref(file);
	out->file = file;
	snprintf(out->table, sizeof(out->table), "%s", st->name);
	snprintf(out->family, sizeof(out->family), "%s",
		 st->schema.families[w->behind - 1].name);
}

/* The file of the least number from @at->file on; sums up all of them. */
static void find(struct lsm *db, struct store_checking *at, struct target *out)
{
	struct tree_walk w = {0};
	struct wal_stat log;

	wal_stat(db->wal, &log);
	at->total = log.kept_bytes;
	pthread_mutex_lock(&db->state);
	while (trees_next(db, &w)) {
		const struct levels *l = w.tree->levels;

		for (int i = l->begin; i < l->end; i++)
			for (uint32_t k = 0; k < l->level[i].nfiles; k++) {
				struct sstable *f = l->level[i].files[k];
				uint64_t n = sst_info(f)->number;

				if (n >= at->until)
					continue;
				at->total += sst_info(f)->file_bytes;
				if (n >= at->file &&
				    (!out->file ||
				     n < sst_info(out->file)->number))
					take(out, f, &w);
			}
	}
	pthread_mutex_unlock(&db->state);
}

/* Are both generations of the catalog as they were written? */
static int check_catalog(struct lsm *db, struct part *p)
{
	int r;

	pthread_mutex_lock(&db->catalog);
	r = manifest_check(db->manifest);
	pthread_mutex_unlock(&db->catalog);
	if (r == -EUCLEAN || r == -EIO) {
		p->say(p->arg, store_why());
		r = 0;
	}
	return r;
}

/* The kept segment of the least number from @from on. */
struct kept_target {
	uint64_t from, most;
	bool found;
	uint64_t number;
	struct wal_file file;
};

static int find_kept(void *arg, const struct wal_file *f)
{
	struct kept_target *t = arg;
	uint64_t id, number;

	/* No number is of two: a store counts on. */
	if (!wal_kept_number(f->name, &id, &number) || number < t->from ||
	    number >= t->most || (t->found && number >= t->number))
		return 0;
	t->found = true;
	t->number = number;
	t->file = *f;
	return 0;
}

static int check_kept_part(struct lsm *db, struct store_checking *at,
			   uint64_t bytes, struct part *p)
{
	struct kept_target t = {.from = at->file - at->until,
				.most = UINT64_MAX - at->until};
	uint64_t begun;
	int r = wal_kept_files(db->dir, find_kept, &t);

	if (r < 0 || !t.found)
		return r;
	if (t.number != t.from)
		at->block = 0;
	begun = at->block;
	r = wal_kept_check(db->dir, t.file.name, &at->block, bytes);
	if (r == -EUCLEAN)
		p->say(p->arg, store_why());
	at->done += (r > 0 ? at->block : t.file.size) - begun;
	at->file = at->until + t.number + (r <= 0);
	if (r <= 0)
		at->block = 0;
	return r < 0 && r != -EUCLEAN && r != -ENOENT ? r : 1;
}

int lsm_check_part(struct store *s, struct store_checking *at, uint64_t bytes,
		   void (*say)(void *arg, const char *sentence), void *arg)
{
	struct part p = {.say = say, .arg = arg};
	struct lsm *db = lsm_of(s);
	uint64_t read = 0, number;
	int r = 0;

	if (!at->until) {
		at->until = atomic_load(&db->next_file);
		r = check_catalog(db, &p);
	}
	find(db, at, &p.target);
	if (r < 0) {
		sst_unref(p.target.file);
		return r;
	}
	if (!p.target.file) {
		if (at->file < at->until)
			at->file = at->until;
		return check_kept_part(db, at, bytes, &p);
	}
	number = sst_info(p.target.file)->number;
	if (number != at->file)
		at->block = 0;
	r = sst_check_part(p.target.file, &at->block, bytes, &read, say_where,
			   &p);
	at->done += read;
	at->file = r > 0 ? number : number + 1;
	if (r == 0)
		at->block = 0;
	sst_unref(p.target.file);
	return r < 0 ? r : 1;
}
