#include "store/lsm/manifest/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/lsm/manifest/directory.h"
#include "store/lsm/manifest/manifest_format.h"
#include "store/value/why.h"

/* A manifest is written anew when it has grown to that many states. */
#define GROWTH 4
#define RESERVE_MIN (64u << 10)

struct manifest {
	struct os_dir *dir;
	struct os_file *file; /* NULL if read-only */
	bool read_only;
	bool failed; /* a write failed: what is on disk is not known */
	uint64_t number, store;
	uint64_t number_max; /* of all manifests that were ever seen here */
	/*
	 * The file is allocated to its reserve when it is made, and never
	 * grows: an append cannot run out of space half way.
	 */
	uint64_t end, state_end, reserve;
	struct catalog catalog;
	struct buf record;
};

bool manifest_is_current(const struct manifest *m, const char *name)
{
	uint64_t n = 0;

	switch (directory_name(name, &n)) {
	case NAME_MANIFEST:
		return n == m->number;
	case NAME_SST:
		return catalog_has_file(&m->catalog, n);
	default:
		return strcmp(name, CURRENT_TMP_NAME) != 0;
	}
}

/* All of a file of at most @max bytes: 1, or 0 if there is none. */
static int read_file(struct os_dir *dir, const char *name, uint64_t max,
		     struct buf *out)
{
	struct os_file *f = NULL;
	uint64_t size = 0;
	ssize_t n;
	int r = os_open(dir, name, OS_READ, &f);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = os_size(f, &size);
	if (r < 0)
		goto out;
	if (size > max) {
		r = why(-EUCLEAN, "%s is damaged: it has %" PRIu64 " bytes",
			name, size);
		goto out;
	}
	r = buf_reserve(out, (size_t)size + 1);
	if (r < 0)
		goto out;
	n = os_pread(f, out->data, (size_t)size, 0);
	if (n < 0)
		r = (int)n;
	else if ((uint64_t)n != size)
		r = why(-EUCLEAN, "%s ends at byte %zd of %" PRIu64, name, n,
			size);
	else
		out->len = (size_t)size;
out:
	os_close(f);
	return r < 0 ? r : 1;
}

/* 1, or 0 if there is no CURRENT. */
static int read_current(struct os_dir *dir, uint64_t *number)
{
	struct buf text = {0};
	int r = read_file(dir, CURRENT_NAME, 4096, &text);

	if (r > 0 && !current_parse(buf_bytes(&text), number))
		r = why(-EUCLEAN,
			CURRENT_NAME " is damaged: it does not hold the "
				     "name of a manifest with its hash");
	buf_free(&text);
	return r;
}

static int load(struct manifest *m, struct manifest_image *image)
{
	char name[MANIFEST_NAME_LEN];
	struct buf bytes = {0};
	int r;

	manifest_name(m->number, name);
	r = read_file(m->dir, name, MANIFEST_FILE_MAX, &bytes);
	if (r > 0)
		r = manifest_replay(buf_bytes(&bytes), m->number, &m->catalog,
				    image);
	else if (r == 0)
		r = why(-EUCLEAN,
			CURRENT_NAME " names %s, which is missing: restore it "
				     "from a copy",
			name);
	buf_free(&bytes);
	return r;
}

/*
 * Writes all of file @name and syncs it. It stays open where @out is not NULL
 */
static int write_file(struct os_dir *dir, const char *name, struct bytes s,
		      uint64_t reserve, struct os_file **out)
{
	struct os_file *f = NULL;
	int r = os_open(dir, name, OS_WRITE | OS_CREATE, &f);

	if (r < 0)
		return r;
	r = reserve ? os_allocate(f, reserve) : os_truncate(f, 0);
	if (r == 0)
		r = os_pwrite(f, s.data, s.len, 0);
	if (r == 0)
		r = os_fdatasync(f);
	if (r == 0 && out) {
		*out = f;
		return 0;
	}
	if (r == 0)
		r = os_finish(f);
	else
		os_close(f);
	return r;
}

/*
 * Points CURRENT at manifest @number. *uncertain is set when it fails at a
 * place where a crash may show the old or the new one.
 */
static int set_current(struct os_dir *dir, uint64_t number, bool *uncertain)
{
	char text[CURRENT_LEN + 1];
	int r;

	current_format(number, text);
	r = write_file(dir, CURRENT_TMP_NAME, bytes_str(text), 0, NULL);
	if (r < 0) {
		os_discard(dir, CURRENT_TMP_NAME);
		return r;
	}
	*uncertain = true;
	r = os_rename(dir, CURRENT_TMP_NAME, CURRENT_NAME);
	if (r == 0)
		r = os_dir_sync(dir);
	*uncertain = r < 0;
	return r;
}

static uint64_t reserve_for(uint64_t state_end, uint64_t more)
{
	uint64_t n = state_end * GROWTH;

	if (n < RESERVE_MIN)
		n = RESERVE_MIN;
	if (n < state_end + more + RESERVE_MIN)
		n = state_end + more + RESERVE_MIN;
	return n;
}

/*
 * Writes the catalog as manifest @number, with room for @more bytes, and goes
 * on in it. When it fails the old one is still good, unless m->failed.
 *
 * The order is all: the file's bytes, its name, CURRENT's bytes, CURRENT's
 * name; each durable before the next is begun. Then the old one may go.
 */
static int start_new(struct manifest *m, uint64_t number, uint64_t more)
{
	char name[MANIFEST_NAME_LEN], old[MANIFEST_NAME_LEN];
	struct os_file *f = NULL;
	struct buf image = {0};
	bool uncertain = false;
	uint64_t reserve;
	int r;

	manifest_name(number, name);
	r = manifest_put_header(&image, number, m->store);
	if (r == 0)
		r = manifest_put_state(&image, number, image.len, &m->catalog);
	if (r < 0)
		goto out;
	reserve = reserve_for(image.len, more);
	m->number_max = number;
	r = write_file(m->dir, name, buf_bytes(&image), reserve, &f);
	if (r == 0)
		r = os_dir_sync(m->dir);
	if (r == 0)
		r = set_current(m->dir, number, &uncertain);
	if (r < 0) {
		/* For want of space or the like the old one goes on. */
		m->failed |= uncertain || !os_is_want(r);
		os_close(f);
		/* If CURRENT may name it, it has to stay. */
		if (!uncertain)
			os_discard(m->dir, name);
		goto out;
	}
	if (m->number) {
		manifest_name(m->number, old);
		os_discard(m->dir, old); /* or the next open's clean-up */
	}
	os_close(m->file);
	m->file = f;
	m->number = number;
	m->end = m->state_end = image.len;
	m->reserve = reserve;
out:
	buf_free(&image);
	return r;
}

/*
 * A disk that is full must not keep a store from opening, or nothing could be
 * deleted: the old manifest goes on, without reserve. Whatever tear lay behind
 * its end goes first, and what was read of it becomes durable.
 */
static int go_on(struct manifest *m, const struct manifest_image *image)
{
	char name[MANIFEST_NAME_LEN];
	uint64_t size = 0;
	int r;

	manifest_name(m->number, name);
	r = os_open(m->dir, name, OS_WRITE, &m->file);
	if (r == 0)
		r = os_size(m->file, &size);
	if (r == 0 && image->torn) {
		r = os_truncate(m->file, image->end);
		size = image->end;
	}
	if (r == 0)
		r = os_fdatasync(m->file);
	m->end = image->end;
	m->state_end = image->state_end;
	m->reserve = size;
	return r;
}

/* There is no CURRENT: may a store be made here? */
static int create_new(struct manifest *m, bool create)
{
	struct directory_look s;
	int r = directory_look(m->dir, &s);

	if (r < 0)
		return r;
	if (s.ours[0])
		return why(-EUCLEAN,
			   CURRENT_NAME
			   " is missing, but %s is there: the store "
			   "has lost it, restore it from a copy",
			   s.ours);
	if (!create || m->read_only)
		return why(-ENOENT, "the directory holds no store");
	if (s.foreign[0])
		return why(-ENOTEMPTY,
			   "the directory holds %s, which is not a store's: "
			   "name an empty one",
			   s.foreign);
	m->store = os_random(m->dir->os);
	catalog_init(&m->catalog);
	/* An attempt that was cut short may have left its first manifest. */
	return start_new(m, 1, 0);
}

static int open_old(struct manifest *m)
{
	struct manifest_image image;
	struct directory_look s;
	int r = load(m, &image);

	if (r < 0)
		return r;
	m->store = image.store;
	r = directory_look(m->dir, &s);
	if (r < 0)
		return r;
	/* A file that a crash left behind keeps its number to itself. */
	if (s.sst_max >= m->catalog.next_file && s.sst_max < UINT64_MAX)
		m->catalog.next_file = s.sst_max + 1;
	m->number_max = m->number;
	if (s.manifest_max > m->number && s.manifest_max < UINT64_MAX)
		m->number_max = s.manifest_max;
	if (m->read_only)
		return 0;
	r = start_new(m, m->number_max + 1, 0);
	if (os_is_full(r) && !m->failed)
		r = go_on(m, &image);
	return r;
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
	r = read_current(dir, &m->number);
	if (r == 0)
		r = create_new(m, create);
	else if (r > 0)
		r = open_old(m);
	if (r < 0) {
		m->failed = true;
		manifest_close(m);
		return r;
	}
	*out = m;
	return 0;
}

/*
 * A last word, so that damage of the last edit is no tear. Nothing waits for
 * it, so it is not synced, and may fail.
 */
static void say_closed(struct manifest *m)
{
	struct why_kept kept;

	if (!m->file || m->failed || m->end <= m->state_end)
		return;
	why_keep(&kept);
	m->record.len = 0;
	if (manifest_put_closed(&m->record, m->number, m->end) == 0 &&
	    m->record.len <= m->reserve - m->end)
		(void)!os_pwrite(m->file, m->record.data, m->record.len,
				 m->end);
	why_restore(&kept);
}

void manifest_close(struct manifest *m)
{
	if (!m)
		return;
	say_closed(m);
	os_close(m->file);
	catalog_free(&m->catalog);
	buf_free(&m->record);
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

static int encode(struct manifest *m, const struct edit *e)
{
	m->record.len = 0;
	return manifest_put_edit(&m->record, m->number, m->end, e);
}

/* Makes the edit durable. */
static int append(struct manifest *m, const struct edit *e)
{
	int r = encode(m, e);

	if (r == 0 && m->record.len > m->reserve - m->end) {
		r = start_new(m, m->number_max + 1, m->record.len);
		/* The hash holds the place, which is another one now. */
		if (r == 0)
			r = encode(m, e);
	}
	if (r < 0)
		return r;
	r = os_pwrite(m->file, m->record.data, m->record.len, m->end);
	if (r == 0)
		r = os_fdatasync(m->file);
	if (r < 0) {
		/* What of it is on disk is not known: nothing may follow. */
		m->failed = true;
		return why(r, "%s, at byte %" PRIu64, store_why(), m->end);
	}
	m->end += m->record.len;
	return 0;
}

int manifest_commit(struct manifest *m, const struct edit *e)
{
	struct catalog_stage stage;
	int r;

	if (m->read_only)
		return why(-EROFS, "the store is open to read only");
	if (m->failed)
		return why(-EROFS, "the store takes no more writes, since one "
				   "to its manifest failed: open it again");
	r = catalog_stage(&m->catalog, e, &stage);
	if (r < 0)
		return r;
	r = append(m, e);
	if (r < 0) {
		catalog_unstage(&stage);
		return r;
	}
	catalog_apply(&m->catalog, e, &stage);
	return 0;
}
