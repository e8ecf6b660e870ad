#include "store/lsm/manifest/catalog_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "store/value/why.h"

/* "cCatalog" as a little-endian number. */
#define CATALOG_MAGIC 0x676f6c6174614363u

/* The least bytes of one, so that a count is known to be too great. */
enum {
	TABLE_MIN = 28,
	FILE_MIN = 98,
	SNAPSHOT_MIN = 32,
};

void catalog_name(uint64_t number, bool old, char out[CATALOG_NAME_LEN])
{
	snprintf(out, CATALOG_NAME_LEN, "CATALOG-%016" PRIx64 "%s", number,
		 old ? ".old" : "");
}

bool catalog_name_parse(const char *name, uint64_t *number, bool *old)
{
	char again[CATALOG_NAME_LEN];
	uint64_t n = 0;
	bool is_old = strchr(name, '.');

	if (strlen(name) >= CATALOG_NAME_LEN ||
	    sscanf(name, "CATALOG-%16" SCNx64, &n) != 1)
		return false;
	catalog_name(n, is_old, again);
	if (strcmp(name, again) != 0)
		return false;
	*number = n;
	*old = is_old;
	return true;
}

void catalog_seal(uint8_t *image, size_t len, uint64_t number)
{
	uint64_t head[3] = {CATALOG_MAGIC, len - CATALOG_HEAD,
			    XXH3_64bits_withSeed(image + CATALOG_HEAD,
						 len - CATALOG_HEAD, number)};

	for (size_t i = 0; i < CATALOG_HEAD; i++)
		image[i] = (uint8_t)(head[i / 8] >> (8 * (i % 8)));
}

int catalog_take_file(struct decoder *d, struct catalog_file *out)
{
	struct sst_info *i = &out->info;
	struct bytes min, max;
	uint8_t ttl;
	int r;

	out->level = take_u8(d);
	i->number = take_u64(d);
	i->file_bytes = take_u64(d);
	i->checksum = take_u64(d);
	i->entries = take_u64(d);
	i->rows = take_u64(d);
	i->markers = take_u64(d);
	i->raw_bytes = take_u64(d);
	i->seq_min = take_u64(d);
	i->seq_max = take_u64(d);
	i->ts_min = (int64_t)take_u64(d);
	i->ts_max = (int64_t)take_u64(d);
	min = take_bytes(d, ROW_LEN_MAX);
	max = take_bytes(d, ROW_LEN_MAX);
	ttl = take_u8(d);
	i->has_ttl = ttl;
	if (d->bad || ttl > 1)
		return -EUCLEAN;
	r = buf_set(&i->row_min, min);
	return r < 0 ? r : buf_set(&i->row_max, max);
}

static int take_gap(struct decoder *d, struct history *h)
{
	struct bytes min = take_bytes(d, ROW_LEN_MAX);
	struct bytes max = take_bytes(d, ROW_LEN_MAX);
	int64_t from = (int64_t)take_u64(d), to = (int64_t)take_u64(d);

	if (d->bad || from < 0 || from >= to || bytes_cmp(min, max) > 0)
		return -EUCLEAN;
	return history_lose(h, min, max, from, to);
}

int catalog_take_lost(struct decoder *d, struct history *out)
{
	uint32_t ngaps;
	int r = 0;

	out->before = (int64_t)take_u64(d);
	out->pushed_seq = take_u64(d);
	out->pushed_versions = take_u32(d);
	ngaps = take_u32(d);
	if (d->bad || out->before < 0 || ngaps > HISTORY_GAPS_MAX)
		return -EUCLEAN;
	while (r == 0 && ngaps-- > 0)
		r = take_gap(d, out);
	return r;
}

void catalog_take_name(struct decoder *d, size_t max, char *out)
{
	struct bytes s = take_bytes(d, max);

	if (s.len && memchr(s.data, '\0', s.len))
		d->bad = true;
	if (s.len)
		memcpy(out, s.data, s.len);
	out[s.len] = '\0';
}

int catalog_take_head(struct decoder *d, struct catalog_table *out)
{
	struct bytes schema;
	uint32_t ntrees;
	int r;

	out->id = take_u64(d);
	out->schema_version = take_u64(d);
	catalog_take_name(d, TABLE_NAME_LEN_MAX, out->name);
	ntrees = take_u32(d);
	if (d->bad || ntrees > SCHEMA_FAMILIES_MAX)
		return -EUCLEAN;
	out->trees = calloc(ntrees + 1, sizeof(*out->trees));
	if (!out->trees)
		return -ENOMEM;
	for (uint32_t i = 0; i < ntrees; i++)
		out->trees[i].id = take_u32(d);
	schema = take_bytes(d, decoder_left(d));
	if (d->bad)
		return -EUCLEAN;
	r = schema_decode(schema, &out->schema);
	if (r == 0 && out->schema.nfamilies != ntrees) {
		/* There are not as many trees to free. */
		schema_free(&out->schema);
		out->schema = (struct schema){0};
		r = -EUCLEAN;
	}
	return r;
}

static int take_tree(struct decoder *d, struct catalog_tree *out)
{
	uint32_t n = take_u32(d);
	int r = 0;

	if (d->bad || n > decoder_left(d) / FILE_MIN)
		return -EUCLEAN;
	out->files = calloc(n + 1, sizeof(*out->files));
	if (!out->files)
		return -ENOMEM;
	while (r == 0 && out->nfiles < n)
		r = catalog_take_file(d, &out->files[out->nfiles++]);
	return r < 0 ? r : catalog_take_lost(d, &out->lost);
}

static int take_tables(struct decoder *d, struct catalog *c)
{
	uint32_t n = take_u32(d);
	int r = 0;

	if (d->bad || n > decoder_left(d) / TABLE_MIN)
		return -EUCLEAN;
	c->tables = calloc(n + 1, sizeof(*c->tables));
	if (!c->tables)
		return -ENOMEM;
	while (r == 0 && c->ntables < n) {
		struct catalog_table *t = &c->tables[c->ntables++];

		r = catalog_take_head(d, t);
		for (uint32_t i = 0; r == 0 && i < t->schema.nfamilies; i++)
			r = take_tree(d, &t->trees[i]);
	}
	return r;
}

int catalog_take_snapshot(struct decoder *d, struct catalog_snapshot *out)
{
	uint32_t n;
	int r = 0;

	out->table = take_u64(d);
	out->seq = take_u64(d);
	out->taken_ms = (int64_t)take_u64(d);
	catalog_take_name(d, sizeof(out->name) - 1, out->name);
	/* Each takes bytes, so that their number bounds itself. */
	n = take_u32(d);
	while (r == 0 && !d->bad && n-- > 0) {
		char name[TABLE_NAME_LEN_MAX + 1];
		struct schema schema = {0};
		uint64_t id = take_u64(d);
		struct bytes text;

		catalog_take_name(d, TABLE_NAME_LEN_MAX, name);
		text = take_bytes(d, decoder_left(d));
		r = d->bad ? -EUCLEAN : schema_decode(text, &schema);
		if (r == 0)
			r = snapshot_tables_add(&out->tables, id, name,
						&schema);
		schema_free(&schema);
	}
	return d->bad ? -EUCLEAN : r;
}

static int take_snapshots(struct decoder *d, struct catalog *c)
{
	uint32_t n = take_u32(d);
	int r = 0;

	if (d->bad || n > decoder_left(d) / SNAPSHOT_MIN)
		return -EUCLEAN;
	c->snapshots = calloc(n + 1, sizeof(*c->snapshots));
	if (!c->snapshots)
		return -ENOMEM;
	while (r == 0 && c->nsnapshots < n)
		r = catalog_take_snapshot(d, &c->snapshots[c->nsnapshots++]);
	return r;
}

static int take_body(struct decoder *d, uint64_t number, struct catalog *c,
		     uint64_t *store)
{
	uint32_t format = take_u32(d);
	int r;

	/* Before all else: what follows is the newer format's to say. */
	if (!d->bad && format > STORE_FORMAT)
		return why(-EPROTONOSUPPORT,
			   "the store has format %" PRIu32
			   ", this program knows up to %d: use a newer one",
			   format, STORE_FORMAT);
	if (format < STORE_FORMAT_FIRST || take_u64(d) != number)
		return -EUCLEAN;
	*store = take_u64(d);
	c->next_file = take_u64(d);
	c->next_table = take_u64(d);
	c->next_tree = take_u32(d);
	c->last_seq = take_u64(d);
	c->wal_first = take_u64(d);
	if (format >= 8) {
		c->keep.bytes = take_u64(d);
		c->keep.id = take_u64(d);
	}
	r = take_tables(d, c);
	if (r == 0)
		r = take_snapshots(d, c);
	if (r == 0)
		r = decoder_left(d) ? -EUCLEAN : catalog_check(c);
	return r;
}

int catalog_decode(struct bytes image, uint64_t number, struct catalog *out,
		   uint64_t *store)
{
	struct decoder d = decoder_of(image);
	uint64_t magic = take_u64(&d), len = take_u64(&d), hash = take_u64(&d);
	struct catalog c = {0};
	int r;

	if (d.bad || magic != CATALOG_MAGIC || len != decoder_left(&d))
		return why(-EUCLEAN, "it is no catalog, or not a whole one");
	if (XXH3_64bits_withSeed(d.at, len, number) != hash)
		return why(-EUCLEAN, "its checksum is wrong");
	why_clear();
	r = take_body(&d, number, &c, store);
	if (r < 0) {
		catalog_free(&c);
		return r == -EUCLEAN && !store_why()[0]
			       ? why(r, "at byte %zu a field is out of range",
				     (size_t)(d.at - image.data))
			       : r;
	}
	*out = c;
	return 0;
}
