#include "tools/backup/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bytes of a table file's end that are its sum. */
#define SUM_LEN 8
/* So long is what names of one kept log have in common: HOLD_KEPT, a number, '-'. */
#define KEPT_LOG (sizeof(HOLD_KEPT) + 16)

struct making {
	struct folder *folder;
	const char *store;
	const struct hold *hold;
	const struct carry_watch *watch;
	enum carry_share share; /* with the store */
	struct inventory
		before; /* of the newest backup; empty: there is none */
	int source, from,
		to; /* directories: the store, that one, the new one */
	struct hold_file *files; /* of the hold, those that it gets */
	size_t nfiles;
	struct inventory inventory; /* of the new one, as far as it has come */
	bool *carried;		    /* of each file there: is it new here? */
	struct backup_done done;
};

/* Does the table file that lies in @dir have the sum? */
static bool has_sum(int dir, const struct hold_file *f)
{
	int fd = openat(dir, f->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint8_t end[SUM_LEN];
	uint64_t sum = 0;
	struct stat st;
	bool has;

	if (fd < 0)
		return false;
	has = f->sum && f->size >= SUM_LEN && fstat(fd, &st) == 0 &&
	      (uint64_t)st.st_size == f->size &&
	      pread(fd, end, SUM_LEN, st.st_size - SUM_LEN) == SUM_LEN;
	for (int i = 0; has && i < SUM_LEN; i++)
		sum |= (uint64_t)end[i] << (8 * i);
	close(fd);
	return has && sum == f->sum;
}

/* Makes a link to the file of the backup before, if it is the same. */
static bool link_before(struct making *m, const struct hold_file *f,
			uint64_t *hash)
{
	const struct inventory_file *b = inventory_find(&m->before, f->name);

	if (!b || b->is.sum != f->sum || b->is.size != f->size ||
	    !has_sum(m->from, f))
		return false;
	*hash = b->hash;
	return linkat(m->from, f->name, m->to, f->name, 0) == 0 ||
	       (errno == EEXIST && has_sum(m->to, f));
}

static void spare(const struct making *m, uint64_t bytes)
{
	if (m->watch && m->watch->spared)
		m->watch->spared(m->watch->arg, bytes);
}

static int carry(struct making *m, size_t i, uint64_t *hash)
{
	const struct hold_file *f = &m->files[i];

	m->carried[m->inventory.nfiles] = i > 0;
	/* Of a backup that was cut: it has its name, so it is whole. */
	if (has_sum(m->to, f)) {
		spare(m, f->bytes);
		return carry_hash(m->to, f, m->watch, hash);
	}
	m->done.carried_files++;
	m->done.carried += f->bytes;
	if (i == 0)
		return carry_bytes(buf_bytes(&m->hold->catalog), m->to, f,
				   hash);
	return carry_file(m->source, m->to, f, m->share, m->watch, hash);
}

static void note_fault(struct making *m)
{
	if (!m->done.log_faults++)
		snprintf(m->done.log_why, sizeof(m->done.log_why), "%s",
			 store_why());
}

/* 0, or 1: it is not to be had. */
static int carry_kept(struct making *m, size_t i, uint64_t *hash)
{
	int r = store_check_kept(m->store, m->files[i].name);
	bool bad = r == -EUCLEAN || r == -ENOENT;
	struct backup_done was;

	if (r < 0 && !bad)
		return r;
	if (bad)
		note_fault(m);
	was = m->done;
	r = carry(m, i, hash);
	if (!bad || (r != -EUCLEAN && r != -EIO))
		return r;
	m->done = was;
	return 1;
}

static int take_file(struct making *m, size_t i)
{
	struct inventory_file *out = &m->inventory.files[m->inventory.nfiles];
	int r = 0;

	out->is = m->files[i];
	if (hold_is_kept(&out->is))
		r = carry_kept(m, i, &out->hash);
	else if (link_before(m, &out->is, &out->hash))
		spare(m, carry_most(&out->is));
	else
		r = carry(m, i, &out->hash);
	if (r)
		return r < 0 ? r : 0;
	m->inventory.nfiles++;
	m->done.files++;
	m->done.bytes += out->is.bytes;
	return 0;
}

/* Without it the directory would open to be written. */
static bool is_inventory(void *arg, const char *name)
{
	return !strcmp(name, INVENTORY_NAME);
}

static bool is_held(void *arg, const char *name)
{
	const struct making *m = arg;

	if (is_inventory(NULL, name))
		return true;
	/* The log and the catalog are always made anew. */
	for (size_t i = 0; i < m->nfiles; i++)
		if (m->files[i].sum && !strcmp(m->files[i].name, name))
			return true;
	return false;
}

struct finding {
	struct carry_finding of; /* first: what checks has this one */
	const struct making *m;
};

static bool is_carried(void *arg, const char *name)
{
	const struct finding *k = arg;
	const struct making *m = k->m;

	for (size_t i = 0; i < m->inventory.nfiles; i++)
		if (!strcmp(m->inventory.files[i].is.name, name))
			/* The kept log is looked at where it is carried. */
			return m->carried[i] &&
			       !hold_is_kept(&m->inventory.files[i].is);
	return true;
}

/* What was carried is as it is in the store: is that sound? */
static int check_carried(struct making *m)
{
	struct finding k = {.of.watch = m->watch, .m = m};
	char *path = NULL;
	int r;

	if (asprintf(&path, "%s/" FOLDER_INCOMPLETE, m->folder->path) < 0)
		return why(-ENOMEM, "out of memory");
	r = store_check_copy(path, is_carried, carry_check_went,
			     carry_keep_first, &k);
	free(path);
	if (r <= 0)
		return r;
	(void)folder_sweep(m->to, is_inventory, NULL);
	return why(-EUCLEAN,
		   "the store is damaged, and no backup of it was made: %s; "
		   "see what is left with cellctl check and cellctl repair",
		   k.of.first);
}

/* The newest of the kept log that @r has, unless *newest is newer. */
static void see_newest(const struct inventory *r, const char *log,
		       char newest[HOLD_NAME_MAX + 1])
{
	for (size_t i = 0; i < r->nfiles; i++) {
		const struct hold_file *f = &r->files[i].is;

		if (hold_is_kept(f) && !strncmp(f->name, log, KEPT_LOG) &&
		    strcmp(f->name, newest) > 0)
			memcpy(newest, f->name, sizeof(f->name));
	}
}

/*
 * Of the kept log those files that no backup has: they are of behind the newest.
 * The names of one log have its order. The first backup has none, as there is no
 * other from which they would lead to it.
 */
static int choose_files(struct making *m)
{
	char newest[HOLD_NAME_MAX + 1] = "";
	const char *log = "";

	for (size_t i = 0; i < m->hold->nfiles; i++)
		if (hold_is_kept(&m->hold->files[i]))
			log = m->hold->files[i].name;
	for (size_t i = 0; log[0] && i < m->folder->n; i++) {
		struct inventory r;
		int rc = folder_inventory(m->folder, m->folder->numbers[i], &r);

		/* A damaged one hides no other. */
		if (rc == -ENOMEM)
			return rc;
		if (rc < 0)
			continue;
		see_newest(&r, log, newest);
		inventory_free(&r);
	}
	for (size_t i = 0; i < m->hold->nfiles; i++) {
		const struct hold_file *f = &m->hold->files[i];

		if (!hold_is_kept(f) ||
		    (m->folder->n && strcmp(f->name, newest) > 0))
			m->files[m->nfiles++] = *f;
		else
			spare(m, carry_most(f));
	}
	return 0;
}

static int open_all(struct making *m)
{
	struct folder *f = m->folder;
	uint64_t newest = f->n ? f->numbers[f->n - 1] : 0;
	int r;

	m->source = open(m->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->source < 0)
		return carry_failed("opening", m->store);
	r = newest ? folder_inventory(f, newest, &m->before) : 0;
	if (r < 0)
		return r;
	if (newest && m->before.store_id != m->hold->store_id)
		return why(-EINVAL,
			   "%s has backups of another store: name another "
			   "directory",
			   f->path);
	if (newest)
		m->from = folder_enter(f, newest);
	if (newest && m->from < 0)
		return m->from;
	m->to = folder_begin(f);
	if (m->to < 0)
		return m->to;
	r = choose_files(m);
	return r < 0 ? r : folder_sweep(m->to, is_held, m);
}

static int make(struct making *m)
{
	int r = open_all(m);

	m->inventory.store_id = m->hold->store_id;
	m->inventory.taken_ms = m->hold->taken_ms;
	for (size_t i = 0; r == 0 && i < m->nfiles; i++)
		r = take_file(m, i);
	if (r == 0)
		r = check_carried(m);
	if (r == 0)
		r = inventory_write(m->to, &m->inventory);
	if (r == 0)
		r = folder_commit(m->folder, m->to, &m->done.number);
	return r;
}

int backup_make(struct folder *f, const char *store, const struct hold *h,
		enum carry_share share, const struct carry_watch *w,
		struct backup_done *out)
{
	struct making m = {.folder = f,
			   .store = store,
			   .hold = h,
			   .watch = w,
			   .share = share,
			   .source = -1,
			   .from = -1,
			   .to = -1};
	int r;

	m.done.moment_ms = h->taken_ms;
	m.files = calloc(h->nfiles, sizeof(*m.files));
	m.carried = calloc(h->nfiles, sizeof(*m.carried));
	m.inventory.files = calloc(h->nfiles, sizeof(*m.inventory.files));
	r = m.files && m.carried && m.inventory.files
		    ? make(&m)
		    : why(-ENOMEM, "out of memory");
	if (r == 0)
		*out = m.done;
	if (m.source >= 0)
		close(m.source);
	if (m.from >= 0)
		close(m.from);
	if (m.to >= 0)
		close(m.to);
	free(m.files);
	free(m.carried);
	inventory_free(&m.inventory);
	inventory_free(&m.before);
	return r;
}
