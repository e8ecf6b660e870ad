#include "store/lsm/manifest/catalog_salvage.h"

#include <errno.h>
#include <stdio.h>

#include "store/lsm/manifest/catalog_format.h"
#include "store/lsm/manifest/directory.h"
#include "store/lsm/manifest/manifest_old.h"
#include "store/value/why.h"

/*
 * To put a bit right takes a checksum of the whole for each bit: seconds for a
 * catalog of this size.
 */
#define HEAL_MAX ((size_t)128 << 10)

static bool is_damage(int r)
{
	return r == -EUCLEAN || r == -EINVAL || r == -EEXIST || r == -EIO;
}

/* 1: with one bit of it put right. */
static int decode_healed(struct buf *image, uint64_t number,
			 struct catalog *out)
{
	uint64_t store;

	for (size_t bit = 0; image->len <= HEAL_MAX && bit < 8 * image->len;
	     bit++) {
		int r;

		image->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		r = catalog_decode(buf_bytes(image), number, out, &store);
		if (!is_damage(r))
			return r < 0 ? r : 1;
		image->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	return -EUCLEAN;
}

/* 0, 1: healed, or negative with why. */
static int read_one(struct os_dir *dir, uint64_t number, bool old,
		    struct catalog *out)
{
	char name[CATALOG_NAME_LEN];
	struct buf image = {0};
	struct why_kept kept;
	uint64_t store, unread;
	int r;

	catalog_name(number, old, name);
	r = os_read_damaged(dir, name, CATALOG_FILE_MAX, &image, &unread);
	if (r == 0)
		r = catalog_decode(buf_bytes(&image), number, out, &store);
	if (is_damage(r)) {
		why(r, "%s is damaged: %s", name, store_why());
		why_keep(&kept);
		r = decode_healed(&image, number, out);
		if (r != -ENOMEM)
			why_restore(&kept);
	}
	buf_free(&image);
	return r;
}

static int read_newest(struct os_dir *dir, const struct directory_look *l,
		       struct catalog_salvage *out)
{
	int r = read_one(dir, l->catalog, false, &out->catalog);

	if (r > 0)
		snprintf(out->note, sizeof(out->note),
			 "%.300s; one bit of it was wrong and is put right",
			 store_why());
	return r < 0 ? r : 0;
}

static int read_before(struct os_dir *dir, const struct directory_look *l,
		       struct catalog_salvage *out)
{
	char name[CATALOG_NAME_LEN];
	int r = read_one(dir, l->catalog_old, true, &out->catalog);

	if (r < 0)
		return r;
	catalog_name(l->catalog_old, true, name);
	out->age = CATALOG_BEFORE;
	snprintf(
		out->note, sizeof(out->note),
		"the newest catalog is missing or damaged: tables, schemas and "
		"snapshots are those of %s, one change of tables or files "
		"before; if what that change made last is missing too, that is "
		"not noticed",
		name);
	return 0;
}

static void begin_empty(struct catalog_salvage *out)
{
	catalog_init(&out->catalog);
	out->age = CATALOG_NONE;
	snprintf(out->note, sizeof(out->note),
		 "there is no catalog that can be read: names and schemas of "
		 "tables and families are lost");
}

int catalog_salvage(struct os_dir *dir, struct catalog_salvage *out)
{
	struct directory_look l;
	uint64_t number, store;
	int r = directory_look(dir, &l);

	*out = (struct catalog_salvage){.age = CATALOG_NEWEST};
	if (r < 0)
		return r;
	r = -EUCLEAN;
	if (l.catalog)
		r = read_newest(dir, &l, out);
	if (is_damage(r) && l.catalog_old)
		r = read_before(dir, &l, out);
	if (is_damage(r) && !l.catalog && l.current)
		r = manifest_old_load(dir, &out->catalog, &number, &store);
	if (is_damage(r)) {
		begin_empty(out);
		r = 0;
	}
	if (r == 0)
		why_clear();
	return r;
}
