#include "store/lsm/manifest/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/lsm/manifest/catalog_format.h"
#include "store/lsm/manifest/directory.h"
#include "store/lsm/manifest/manifest_old.h"
#include "store/value/why.h"

struct manifest {
	struct os_dir *dir;
	bool read_only;
	bool failed;	   /* a write failed: what is on disk is not known */
	uint64_t number;   /* the newest generation; 0 = none */
	uint64_t previous; /* the one that is kept besides; 0 = none */
	uint64_t old; /* the manifest of an older format, if that is read */
	uint64_t store;
	struct catalog catalog;
	struct buf image;
};

bool manifest_is_current(const struct manifest *m, const char *name)
{
	uint64_t n = 0;

	switch (directory_name(name, &n)) {
	case NAME_CATALOG:
		return n == m->number;
	case NAME_CATALOG_OLD:
		return n == m->previous;
	case NAME_SST:
		return catalog_has_file(&m->catalog, n);
	case NAME_MANIFEST:
		return n == m->old;
	case NAME_CURRENT:
		return m->old != 0;
	case NAME_CATALOG_NEW:
	case NAME_CURRENT_TMP:
		return false;
	default:
		return true;
	}
}

static int load(struct os_dir *dir, uint64_t number, bool old,
		struct catalog *out, uint64_t *store)
{
	char name[CATALOG_NAME_LEN];
	struct buf image = {0};
	int r;

	catalog_name(number, old, name);
	r = os_read_file(dir, name, CATALOG_FILE_MAX, &image);
	if (r == 0)
		r = catalog_decode(buf_bytes(&image), number, out, store);
	buf_free(&image);
	if (r == -EUCLEAN || r == -EINVAL || r == -EEXIST)
		r = why(-EUCLEAN, "%s is damaged: %s", name, store_why());
	return r;
}

int manifest_check_previous(const struct manifest *m)
{
	struct catalog c;
	uint64_t store;
	int r;

	if (!m->previous)
		return 0;
	r = load(m->dir, m->previous, true, &c, &store);
	if (r == 0)
		catalog_free(&c);
	return r == -ENOENT ? why(-EUCLEAN,
				  "the catalog before the newest one, "
				  "CATALOG-%016" PRIx64 ".old, is missing",
				  m->previous)
			    : r;
}

int manifest_check(const struct manifest *m)
{
	struct catalog c;
	uint64_t store;
	int r = 0;

	if (m->number)
		r = load(m->dir, m->number, false, &c, &store);
	if (m->number && r == 0)
		catalog_free(&c);
	if (r == -ENOENT)
		r = why(-EUCLEAN, "the CATALOG is missing");
	return r < 0 ? r : manifest_check_previous(m);
}

bool manifest_is_new(const struct manifest *m)
{
	return m->number != 0;
}

int manifest_image(const struct manifest *m, char *name, struct buf *image,
		   uint64_t *store)
{
	int r;

	if (!m->number)
		return why(-EOPNOTSUPP,
			   "the store is of an older format: open it once to "
			   "write, which makes it this one's");
	catalog_name(m->number, false, name);
	r = os_read_file(m->dir, name, CATALOG_FILE_MAX, image);
	*store = m->store;
	return r;
}

/* Says what to do where the newest generation cannot be had. */
static int say_previous(const struct manifest *m)
{
	char name[CATALOG_NAME_LEN];
	struct why_kept kept;
	int r;

	why_keep(&kept);
	r = manifest_check_previous(m);
	why_restore(&kept);
	if (r < 0 || !m->previous)
		return why(-EUCLEAN, "%s: restore the store from a copy",
			   store_why());
	catalog_name(m->previous, false, name);
	return why(
		-EUCLEAN,
		"%s: restore the store from a copy; or rename %s.old to %s, "
		"for what the store was one flush, compaction or change of a "
		"table before, if its files are still there",
		store_why(), name, name);
}

/* Writes m->image to CATALOG.new, durably; or leaves no such file. */
static int write_new(struct manifest *m)
{
	struct os_file *f = NULL;
	int r = os_open(m->dir, CATALOG_NEW_NAME, OS_WRITE | OS_CREATE, &f);

	if (r == 0)
		r = os_truncate(f, 0);
	if (r == 0)
		r = os_pwrite(f, m->image.data, m->image.len, 0);
	if (r == 0)
		r = os_fdatasync(f);
	if (r == 0)
		r = os_finish(f);
	else
		os_close(f);
	if (r < 0)
		os_discard(m->dir, CATALOG_NEW_NAME);
	return r;
}

/* Makes room of the generation that is kept besides, if there is one. */
static bool give_up_previous(struct manifest *m)
{
	char name[CATALOG_NAME_LEN];

	catalog_name(m->previous, true, name);
	if (!m->previous || os_remove(m->dir, name) < 0)
		return false;
	m->previous = 0;
	return true;
}

/*
 * Writes m->image as generation @number, and makes it the newest. When it fails
 * the one before is still that, unless m->failed.
 *
 * The order is all: the bytes, then the name, each durable before anything
 * relies on it.
 */
static int write_generation(struct manifest *m, uint64_t number)
{
	char name[CATALOG_NAME_LEN];
	int r = write_new(m);

	if (os_is_full(r) && give_up_previous(m))
		r = write_new(m);
	if (r < 0) {
		m->failed |= !os_is_want(r);
		return r;
	}
	catalog_name(number, false, name);
	r = os_rename(m->dir, CATALOG_NEW_NAME, name);
	if (r == 0)
		r = os_dir_sync(m->dir);
	/* The name may be there or not, and after a crash either way. */
	m->failed |= r < 0;
	return r;
}

/*
 * Puts the newest generation in the place of the one before. What fails here is
 * done by the next open.
 */
static void set_aside(struct manifest *m)
{
	char name[CATALOG_NAME_LEN], old[CATALOG_NAME_LEN];
	struct why_kept kept;

	why_keep(&kept);
	catalog_name(m->number, false, name);
	catalog_name(m->number, true, old);
	if (m->number)
		(void)!os_rename(m->dir, name, old);
	catalog_name(m->previous, true, old);
	if (m->previous)
		os_discard(m->dir, old);
	if (m->old)
		manifest_old_discard(m->dir, m->old);
	why_restore(&kept);
	m->previous = m->number;
	m->old = 0;
}

static int commit(struct manifest *m, const struct catalog *c,
		  const struct edit *e)
{
	uint64_t number = m->number + 1;
	struct catalog next;
	int r = catalog_make(c, e, number, m->store, &m->image, &next);

	if (r < 0)
		return r;
	r = write_generation(m, number);
	if (r < 0) {
		catalog_free(&next);
		return r;
	}
	set_aside(m);
	m->number = number;
	catalog_free(&m->catalog);
	m->catalog = next;
	return 0;
}

static int writable(const struct manifest *m)
{
	if (m->read_only)
		return why(-EROFS, "the store is open to read only");
	if (m->failed)
		return why(-EROFS, "the store takes no more writes, since one "
				   "of its catalog failed: open it again");
	return 0;
}

int manifest_commit(struct manifest *m, const struct edit *e)
{
	int r = writable(m);

	return r < 0 ? r : commit(m, &m->catalog, e);
}

int manifest_replace(struct manifest *m, const struct catalog *c)
{
	const struct edit nothing = {0};
	int r = writable(m);

	return r < 0 ? r : commit(m, c, &nothing);
}

/* There is no catalog: may a store be made here? */
static int create_new(struct manifest *m, const struct directory_look *l,
		      bool create)
{
	if (l->ours[0]) {
		why(0, "the CATALOG is missing, but %s is there", l->ours);
		return say_previous(m);
	}
	if (!create || m->read_only)
		return why(-ENOENT, "the directory holds no store");
	if (l->foreign[0])
		return why(-ENOTEMPTY,
			   "the directory holds %s, which is not a store's: "
			   "name an empty one",
			   l->foreign);
	m->store = os_random(m->dir->os);
	catalog_init(&m->catalog);
	return commit(m, &m->catalog, &(struct edit){0});
}

static int read_all(struct manifest *m, bool create)
{
	struct directory_look l;
	int r = directory_look(m->dir, &l);

	if (r < 0)
		return r;
	m->number = l.catalog;
	m->previous = l.catalog_old;
	if (l.catalog)
		r = load(m->dir, l.catalog, false, &m->catalog, &m->store);
	else if (l.current)
		r = manifest_old_load(m->dir, &m->catalog, &m->old, &m->store);
	else
		return create_new(m, &l, create);
	if (r < 0)
		return r == -EUCLEAN && l.catalog ? say_previous(m) : r;
	/* A file that a crash left behind keeps its number to itself. */
	if (l.sst_max >= m->catalog.next_file && l.sst_max < UINT64_MAX)
		m->catalog.next_file = l.sst_max + 1;
	return 0;
}

int manifest_open(struct os_dir *dir, bool create, bool read_only,
		  struct manifest **out)
{
	struct manifest *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->dir = dir;
	m->read_only = read_only;
	r = read_all(m, create);
	if (r < 0) {
		manifest_close(m);
		return r;
	}
	*out = m;
	return 0;
}

void manifest_close(struct manifest *m)
{
	if (!m)
		return;
	catalog_free(&m->catalog);
	buf_free(&m->image);
	free(m);
}

bool manifest_failed(const struct manifest *m)
{
	return m->failed;
}

const struct catalog *manifest_catalog(const struct manifest *m)
{
	return &m->catalog;
}
