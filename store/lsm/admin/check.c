/*
 * Verifies a store that is not in use: reads everything that a reader relies
 * on.
 *
 * Nothing is changed, the store is locked meanwhile, and the check goes on
 * after a fault.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "store/lsm/admin/engine.h"
#include "store/lsm/manifest/directory.h"
#include "store/lsm/state/trees.h"
#include "store/lsm/table/sst_format.h"

struct check_run {
	struct os_dir *dir;
	const struct manifest *manifest;
	bool (*wanted)(void *arg, const char *name);
	bool (*went)(void *arg, uint64_t bytes);
	void (*say)(void *arg, const char *sentence);
	void *arg;
	int faults;
};

static void fault(struct check_run *k, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void fault(struct check_run *k, const char *fmt, ...)
{
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	k->say(k->arg, text);
	k->faults++;
}

/* Could not look: neither a fault nor none. */
static bool is_no_answer(int r)
{
	return r == -ENOMEM || r == -ECANCELED;
}

/* 0, or an error of is_no_answer(). */
static int check_file(struct check_run *k, const struct catalog_table *t,
		      const struct catalog_file *f,
		      const struct family_schema *family)
{
	const struct sst_options uncached = {0};
	struct sstable *table;
	char name[SST_NAME_LEN];
	int r;

	sst_name(f->info.number, name);
	if (k->wanted && !k->wanted(k->arg, name))
		return 0;
	r = sst_open(k->dir, &f->info, &uncached, NULL, &table);
	if (is_no_answer(r))
		return r;
	if (r < 0) {
		fault(k, "table %s, family %s, level %d: %s", t->name,
		      family->name, f->level, store_why());
		return 0;
	}
	r = sst_check(table, k->went, k->say, k->arg);
	if (r < 0 && !is_no_answer(r))
		fault(k, "table %s, family %s: %s", t->name, family->name,
		      store_why());
	else if (r > 0)
		k->faults += r;
	sst_unref(table);
	return is_no_answer(r) ? r : 0;
}

/* Files of a deeper level must have disjoint row ranges. */
static void check_levels(struct check_run *k, const struct catalog_table *t,
			 const struct catalog_tree *tree, const char *family)
{
	for (size_t i = 0; i < tree->nfiles; i++) {
		const struct catalog_file *a = &tree->files[i];

		for (size_t j = i + 1; a->level > 0 && j < tree->nfiles; j++) {
			const struct catalog_file *b = &tree->files[j];

			if (b->level != a->level ||
			    bytes_cmp(buf_bytes(&a->info.row_max),
				      buf_bytes(&b->info.row_min)) < 0 ||
			    bytes_cmp(buf_bytes(&b->info.row_max),
				      buf_bytes(&a->info.row_min)) < 0)
				continue;
			fault(k,
			      "table %s, family %s: files %llu and %llu of "
			      "level %d overlap",
			      t->name, family,
			      (unsigned long long)a->info.number,
			      (unsigned long long)b->info.number, a->level);
		}
	}
}

static int check_tables(struct check_run *k)
{
	const struct catalog *c = manifest_catalog(k->manifest);
	int r = 0;

	for (size_t i = 0; i < c->ntables; i++) {
		const struct catalog_table *t = &c->tables[i];

		for (uint32_t j = 0; j < t->schema.nfamilies; j++) {
			const struct family_schema *f = &t->schema.families[j];

			check_levels(k, t, &t->trees[j], f->name);
			for (size_t n = 0; r == 0 && n < t->trees[j].nfiles;
			     n++)
				r = check_file(k, t, &t->trees[j].files[n], f);
		}
	}
	/* Files that a crash left belong to no table; opening removes them. */
	return r;
}

int lsm_check_kept(const char *path, const char *name)
{
	struct os_dir *dir = NULL;
	uint64_t at = 0;
	int r = os_dir_open(os_posix(), path, false, &dir);

	if (r == 0)
		r = wal_kept_check(dir, name, &at, UINT64_MAX);
	os_dir_close(dir);
	return r;
}

static int check_kept(void *arg, const struct wal_file *f)
{
	struct check_run *k = arg;
	uint64_t at = 0;
	int r;

	if (k->wanted && !k->wanted(k->arg, f->name))
		return 0;
	r = wal_kept_check(k->dir, f->name, &at, UINT64_MAX);
	if (r == -EUCLEAN)
		fault(k, "%s", store_why());
	return r == -EUCLEAN || r == -ENOENT ? 0 : r;
}

/*
 * What is in the directory at @path, nothing if @own is set and it is another user's or
 * others may write there. It says no reason.
 */
static int look_at(const char *path, bool own, struct directory_look *l)
{
	struct os_dir *dir = NULL;
	struct why_kept kept;
	int r;

	*l = (struct directory_look){0};
	why_keep(&kept);
	r = os_dir_open(os_posix(), path, false, &dir);
	if (r == 0 && own)
		r = os_dir_own(dir, path);
	if (r == 0)
		r = directory_look(dir, l);
	os_dir_close(dir);
	why_restore(&kept);
	return r;
}

bool lsm_is_at(const char *path)
{
	struct directory_look l;

	(void)!look_at(path, true, &l);
	return l.catalog || l.catalog_old;
}

bool lsm_would_be_new(const char *path)
{
	struct directory_look l;
	int r = look_at(path, false, &l);

	return r == -ENOENT || (r == 0 && !l.ours[0] && !l.foreign[0]);
}

int lsm_check(const char *path, struct os *os,
	      bool (*wanted)(void *arg, const char *name),
	      bool (*went)(void *arg, uint64_t bytes),
	      void (*say)(void *arg, const char *sentence), void *arg)
{
	struct check_run k = {
		.wanted = wanted, .went = went, .say = say, .arg = arg};
	struct manifest *m = NULL;
	/* It reads only, and says what is there. */
	const struct store_options o = {
		.read_only = true, .insecure = true, .wait_ms = STORE_WAIT_MS};
	int r = directory_open(os ? os : os_posix(), path, &o, &k.dir);

	if (r < 0)
		return r;
	r = manifest_open(k.dir, false, true, &m);
	if (r == -EUCLEAN) {
		fault(&k, "%s", store_why());
		r = k.faults;
		goto out;
	}
	if (r < 0)
		goto out;
	k.manifest = m;
	r = manifest_check_previous(m);
	if (is_no_answer(r))
		goto out;
	if (r < 0)
		fault(&k, "%s", store_why());
	r = check_tables(&k);
	if (r >= 0)
		r = wal_check(k.dir, manifest_catalog(m)->wal_first, say, arg);
	if (r >= 0) {
		k.faults += r;
		r = wal_kept_files(k.dir, check_kept, &k);
	}
	if (r == 0)
		r = k.faults;
out:
	manifest_close(m);
	os_dir_close(k.dir);
	return r;
}
