#include "store/lsm/manifest/manifest_old.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "store/lsm/manifest/catalog_format.h"
#include "store/value/why.h"
#include "store/value/array.h"

enum {
	FORMAT = 4,
	HEAD = 16, /* of a record, before its kind */
	RECORD_MAX = 1 << 29,
	CURRENT_LEN = MANIFEST_OLD_NAME_LEN + 17,
};
/* "cMf1" as a little-endian number. */
#define RECORD_MAGIC 0x31664d63u

enum kind {
	HEADER = 1,
	STATE = 2,
	EDIT = 3,
	CLOSED = 4
};

enum op {
	OP_COUNTERS = 1,
	OP_DROP_TABLE = 2,    /* id:8 */
	OP_REMOVE_FILE = 3,   /* tree:4 number:8 */
	OP_PUT_TABLE = 4,     /* head */
	OP_ADD_FILE = 5,      /* tree:4 file */
	OP_DROP_SNAPSHOT = 6, /* table:8 name */
	OP_PUT_SNAPSHOT = 7,  /* snapshot */
	OP_LOSE = 8	      /* tree:4 lost */
};

/* The catalog so far, and files that come to it with the next operation. */
struct replay {
	struct catalog c;
	struct catalog_file *files;
	struct edit_file *added;
	size_t n, files_cap, added_cap;
};

static void name_of(uint64_t number, char out[MANIFEST_OLD_NAME_LEN])
{
	snprintf(out, MANIFEST_OLD_NAME_LEN, "MANIFEST-%016" PRIx64, number);
}

bool manifest_old_name_parse(const char *name, uint64_t *number)
{
	char again[MANIFEST_OLD_NAME_LEN];
	uint64_t n = 0;

	if (strlen(name) != MANIFEST_OLD_NAME_LEN - 1 ||
	    sscanf(name, "MANIFEST-%16" SCNx64, &n) != 1)
		return false;
	name_of(n, again);
	if (strcmp(name, again) != 0)
		return false;
	*number = n;
	return true;
}

static bool current_parse(struct bytes text, uint64_t *number)
{
	char name[MANIFEST_OLD_NAME_LEN], again[CURRENT_LEN + 1];

	if (text.len != CURRENT_LEN)
		return false;
	memcpy(name, text.data, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(again, sizeof(again), "%s %016" PRIx64 "\n", name,
		 (uint64_t)XXH3_64bits(name, strlen(name)));
	return memcmp(text.data, again, CURRENT_LEN) == 0 &&
	       manifest_old_name_parse(name, number);
}

static uint64_t hash_of(struct bytes payload, uint64_t number, uint64_t offset)
{
	uint64_t place[3] = {number, offset, payload.len};
	uint8_t bytes[sizeof(place)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(place[i / 8] >> (8 * (i % 8)));
	return XXH3_64bits_withSeed(payload.data, payload.len,
				    XXH3_64bits(bytes, sizeof(bytes)));
}

/* The record at @at: its kind and ops. False if no sound one begins there. */
static bool take_record(struct bytes image, uint64_t number, size_t at,
			struct bytes *payload)
{
	struct decoder d =
		decoder_of(bytes_of(image.data + at, image.len - at));
	uint32_t magic = take_u32(&d), len = take_u32(&d);
	uint64_t hash = take_u64(&d);

	if (d.bad || magic != RECORD_MAGIC || len < 1 || len > RECORD_MAX)
		return false;
	*payload = take_raw(&d, len);
	return !d.bad && hash_of(*payload, number, at) == hash;
}

static int apply(struct replay *p, const struct edit *e)
{
	struct catalog next;
	int r = catalog_after(&p->c, e, &next);

	if (r < 0)
		return r;
	catalog_free(&p->c);
	p->c = next;
	return 0;
}

static int apply_added(struct replay *p)
{
	struct edit e = {.added = p->added, .nadded = p->n};
	int r;

	if (!p->n)
		return 0;
	for (size_t i = 0; i < p->n; i++) {
		p->added[i].level = p->files[i].level;
		p->added[i].info = &p->files[i].info;
	}
	r = apply(p, &e);
	while (p->n)
		sst_info_free(&p->files[--p->n].info);
	return r;
}

static int take_added(struct decoder *d, struct replay *p)
{
	if (ARRAY_RESERVE(p->files, p->files_cap, p->n + 1) < 0 ||
	    ARRAY_RESERVE(p->added, p->added_cap, p->n + 1) < 0)
		return -ENOMEM;
	p->added[p->n].tree = take_u32(d);
	p->files[p->n] = (struct catalog_file){0};
	return catalog_take_file(d, &p->files[p->n++]);
}

static int take_counters(struct decoder *d, struct replay *p)
{
	struct edit e = {0};

	e.next_file = take_u64(d);
	e.next_table = take_u64(d);
	e.next_tree = take_u32(d);
	e.last_seq = take_u64(d);
	e.wal_first = take_u64(d);
	return d->bad ? -EUCLEAN : apply(p, &e);
}

static int take_table(struct decoder *d, struct replay *p)
{
	struct catalog_table t = {0};
	struct edit e = {.put_table = &t};
	int r = catalog_take_head(d, &t);

	if (r == 0)
		r = apply(p, &e);
	catalog_table_free(&t);
	return r;
}

static int take_lost(struct decoder *d, struct replay *p)
{
	struct history h = {0};
	struct edit_loss l = {.tree = take_u32(d), .history = &h};
	struct edit e = {.lost = &l, .nlost = 1};
	int r = catalog_take_lost(d, &h);

	if (r == 0)
		r = apply(p, &e);
	history_free(&h);
	return r;
}

static int take_snapshot(struct decoder *d, struct replay *p)
{
	struct catalog_snapshot s = {0};
	struct edit e = {.put_snapshot = &s};
	int r = catalog_take_snapshot(d, &s);

	if (r == 0)
		r = apply(p, &e);
	snapshot_tables_free(&s.tables);
	return r;
}

static int take_dropped_table(struct decoder *d, struct replay *p)
{
	struct edit e = {.drop_table = take_u64(d)};

	return d->bad || !e.drop_table ? -EUCLEAN : apply(p, &e);
}

static int take_removed(struct decoder *d, struct replay *p)
{
	struct sst_info info = {0};
	struct edit_file f = {.tree = take_u32(d), .info = &info};
	struct edit e = {.removed = &f, .nremoved = 1};

	info.number = take_u64(d);
	return d->bad ? -EUCLEAN : apply(p, &e);
}

static int take_dropped_snapshot(struct decoder *d, struct replay *p)
{
	struct catalog_snapshot s = {.table = take_u64(d)};
	struct edit e = {.drop_snapshot = &s};

	catalog_take_name(d, sizeof(s.name) - 1, s.name);
	return d->bad ? -EUCLEAN : apply(p, &e);
}

static int take_op(struct decoder *d, struct replay *p)
{
	uint8_t op = take_u8(d);
	int r = op == OP_ADD_FILE ? 0 : apply_added(p);

	if (r < 0)
		return r;
	switch (op) {
	case OP_COUNTERS:
		return take_counters(d, p);
	case OP_DROP_TABLE:
		return take_dropped_table(d, p);
	case OP_REMOVE_FILE:
		return take_removed(d, p);
	case OP_PUT_TABLE:
		return take_table(d, p);
	case OP_ADD_FILE:
		return take_added(d, p);
	case OP_DROP_SNAPSHOT:
		return take_dropped_snapshot(d, p);
	case OP_PUT_SNAPSHOT:
		return take_snapshot(d, p);
	case OP_LOSE:
		return take_lost(d, p);
	default:
		return -EUCLEAN;
	}
}

static int take_header(struct decoder *d, uint64_t number, uint64_t *store)
{
	uint32_t format = take_u32(d);

	if (!d->bad && format > FORMAT)
		return why(-EPROTONOSUPPORT,
			   "the store has format %" PRIu32
			   ", this program knows up to %d: use a newer one",
			   format, STORE_FORMAT);
	if (!d->bad && format && format < FORMAT)
		return why(-EPROTONOSUPPORT,
			   "the store has format %" PRIu32
			   ", this program knows %d and %d: export it with the "
			   "one that made it",
			   format, FORMAT, STORE_FORMAT);
	if (d->bad || format == 0 || take_u64(d) != number)
		return -EUCLEAN;
	*store = take_u64(d);
	return d->bad || decoder_left(d) ? -EUCLEAN : 0;
}

/* Is there any sound record at @from or behind it? */
static bool record_behind(struct bytes image, uint64_t number, size_t from)
{
	struct bytes payload;

	for (; from < image.len; from++)
		if (take_record(image, number, from, &payload))
			return true;
	return false;
}

static int damaged(uint64_t number, size_t at, const char *what)
{
	char name[MANIFEST_OLD_NAME_LEN];

	name_of(number, name);
	return why(-EUCLEAN, "%s is damaged at byte %zu: %s", name, at, what);
}

/* The @i-th record, in the order of the file. */
static int take_payload(struct bytes payload, unsigned i, uint64_t number,
			struct replay *p, uint64_t *store)
{
	struct decoder d = decoder_of(payload);
	uint8_t kind = take_u8(&d);
	int r = 0;

	why_clear();
	if (i == 0)
		return kind == HEADER ? take_header(&d, number, store)
				      : -EUCLEAN;
	if (kind == CLOSED && i >= 2)
		return decoder_left(&d) ? -EUCLEAN : 0;
	if (kind != (i == 1 ? STATE : EDIT))
		return -EUCLEAN;
	while (r == 0 && decoder_left(&d))
		r = take_op(&d, p);
	return r == 0 ? apply_added(p) : r;
}

static int take_all(struct bytes image, uint64_t number, struct replay *p,
		    uint64_t *store)
{
	struct bytes payload = {0};
	char reason[256];
	size_t at = 0;
	int r;

	for (unsigned i = 0; at < image.len; i++) {
		if (!take_record(image, number, at, &payload)) {
			if (i < 2)
				break;
			return record_behind(image, number, at + 1)
				       ? damaged(number, at,
						 "a record does not check, and "
						 "sound ones follow it")
				       : 0;
		}
		r = take_payload(payload, i, number, p, store);
		if (r == -ENOMEM || r == -EPROTONOSUPPORT)
			return r;
		snprintf(reason, sizeof(reason), "%s", store_why());
		if (r < 0)
			return damaged(number, at,
				       reason[0] ? reason
						 : "a field is out of range");
		at += HEAD + payload.len;
		if (i >= 1 && at == image.len)
			return 0;
	}
	return damaged(number, at, "the header or the state does not check");
}

int manifest_old_replay(struct bytes image, uint64_t number,
			struct catalog *out, uint64_t *store)
{
	struct replay p = {0};
	int r;

	catalog_init(&p.c);
	r = take_all(image, number, &p, store);
	while (p.n)
		sst_info_free(&p.files[--p.n].info);
	free(p.files);
	free(p.added);
	if (r < 0)
		catalog_free(&p.c);
	else
		*out = p.c;
	return r;
}

int manifest_old_load(struct os_dir *dir, struct catalog *out, uint64_t *number,
		      uint64_t *store)
{
	char name[MANIFEST_OLD_NAME_LEN];
	struct buf bytes = {0};
	int r = os_read_file(dir, CURRENT_NAME, 4096, &bytes);

	if (r == 0 && !current_parse(buf_bytes(&bytes), number))
		r = why(-EUCLEAN, CURRENT_NAME
			" is damaged: it does not hold the name of a manifest "
			"with its hash");
	if (r == 0) {
		name_of(*number, name);
		bytes.len = 0;
		r = os_read_file(dir, name, CATALOG_FILE_MAX, &bytes);
		if (r == -ENOENT)
			r = why(-EUCLEAN,
				CURRENT_NAME " names %s, which is missing: "
					     "restore it from a copy",
				name);
	}
	if (r == 0)
		r = manifest_old_replay(buf_bytes(&bytes), *number, out, store);
	buf_free(&bytes);
	return r;
}

void manifest_old_discard(struct os_dir *dir, uint64_t number)
{
	char name[MANIFEST_OLD_NAME_LEN];

	name_of(number, name);
	os_discard(dir, CURRENT_NAME);
	os_discard(dir, name);
}
