#include "store/lsm/manifest/manifest_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "store/value/codec.h"
#include "store/value/why.h"

/* "cMf1" as a little-endian number. */
#define RECORD_MAGIC 0x31664d63u

void manifest_name(uint64_t number, char out[MANIFEST_NAME_LEN])
{
	snprintf(out, MANIFEST_NAME_LEN, "MANIFEST-%016" PRIx64, number);
}

bool manifest_name_parse(const char *name, uint64_t *number)
{
	char again[MANIFEST_NAME_LEN];
	uint64_t n = 0;

	if (strlen(name) != MANIFEST_NAME_LEN - 1)
		return false;
	if (sscanf(name, "MANIFEST-%16" SCNx64, &n) != 1)
		return false;
	manifest_name(n, again);
	if (strcmp(name, again))
		return false;
	*number = n;
	return true;
}

void current_format(uint64_t number, char out[CURRENT_LEN + 1])
{
	char name[MANIFEST_NAME_LEN];

	manifest_name(number, name);
	snprintf(out, CURRENT_LEN + 1, "%s %016" PRIx64 "\n", name,
		 (uint64_t)XXH3_64bits(name, strlen(name)));
}

bool current_parse(struct bytes text, uint64_t *number)
{
	char name[MANIFEST_NAME_LEN], again[CURRENT_LEN + 1];
	uint64_t n = 0;

	if (text.len != CURRENT_LEN)
		return false;
	memcpy(name, text.data, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	if (!manifest_name_parse(name, &n))
		return false;
	current_format(n, again);
	if (memcmp(text.data, again, CURRENT_LEN))
		return false;
	*number = n;
	return true;
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

/* Starts a record at the end of @out; its head is filled in by end_record. */
static struct encoder begin_record(struct buf *out, uint8_t kind)
{
	static const uint8_t head[MANIFEST_HEAD];
	struct encoder e = {.out = out};

	put_raw(&e, head, sizeof(head));
	put_u8(&e, kind);
	return e;
}

static void store_le(uint8_t *p, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

void manifest_seal(uint8_t *record, size_t len, uint64_t number,
		   uint64_t offset)
{
	struct bytes payload =
		bytes_of(record + MANIFEST_HEAD, len - MANIFEST_HEAD);

	store_le(record, RECORD_MAGIC, 4);
	store_le(record + 4, payload.len, 4);
	store_le(record + 8, hash_of(payload, number, offset), 8);
}

/* @start: where in the buffer the record began; cut off again on failure. */
static int end_record(struct encoder *e, size_t start, uint64_t number,
		      uint64_t offset)
{
	if (e->err == 0 &&
	    e->out->len - start - MANIFEST_HEAD > MANIFEST_RECORD_MAX)
		e->err = why(-EFBIG, "an edit of the manifest is too large");
	if (e->err < 0) {
		e->out->len = start;
		return e->err;
	}
	manifest_seal(e->out->data + start, e->out->len - start, number,
		      offset);
	return 0;
}

bool manifest_take(struct bytes image, uint64_t number, size_t at,
		   struct bytes *payload)
{
	struct decoder d =
		decoder_of(bytes_of(image.data + at, image.len - at));
	uint32_t magic = take_u32(&d), len = take_u32(&d);
	uint64_t hash = take_u64(&d);

	if (d.bad || magic != RECORD_MAGIC || len < 1 ||
	    len > MANIFEST_RECORD_MAX)
		return false;
	*payload = take_raw(&d, len);
	return !d.bad && hash_of(*payload, number, at) == hash;
}

static void put_file(struct encoder *e, uint32_t tree, uint8_t level,
		     const struct sst_info *i)
{
	put_u8(e, OP_ADD_FILE);
	put_u32(e, tree);
	put_u8(e, level);
	put_u64(e, i->number);
	put_u64(e, i->file_bytes);
	put_u64(e, i->checksum);
	put_u64(e, i->entries);
	put_u64(e, i->rows);
	put_u64(e, i->markers);
	put_u64(e, i->raw_bytes);
	put_u64(e, i->seq_min);
	put_u64(e, i->seq_max);
	put_u64(e, (uint64_t)i->ts_min);
	put_u64(e, (uint64_t)i->ts_max);
	put_bytes(e, buf_bytes(&i->row_min));
	put_bytes(e, buf_bytes(&i->row_max));
	put_u8(e, i->has_ttl);
}

static void put_schema(struct encoder *e, const struct schema *s)
{
	struct buf b = {0};

	if (e->err == 0)
		e->err = schema_encode(s, &b);
	put_bytes(e, buf_bytes(&b));
	buf_free(&b);
}

static void put_table(struct encoder *e, const struct catalog_table *t)
{
	put_u8(e, OP_PUT_TABLE);
	put_u64(e, t->id);
	put_u64(e, t->schema_version);
	put_bytes(e, bytes_str(t->name));
	put_u32(e, t->schema.nfamilies);
	for (uint32_t i = 0; i < t->schema.nfamilies; i++)
		put_u32(e, t->trees[i].id);
	put_schema(e, &t->schema);
}

static void put_lost(struct encoder *e, uint32_t tree, const struct history *h)
{
	put_u8(e, OP_LOSE);
	put_u32(e, tree);
	put_u64(e, (uint64_t)h->before);
	put_u64(e, h->pushed_seq);
	put_u32(e, h->pushed_versions);
	put_u32(e, (uint32_t)h->ngaps);
	for (size_t i = 0; i < h->ngaps; i++) {
		put_bytes(e, buf_bytes(&h->gaps[i].row_min));
		put_bytes(e, buf_bytes(&h->gaps[i].row_max));
		put_u64(e, (uint64_t)h->gaps[i].from);
		put_u64(e, (uint64_t)h->gaps[i].to);
	}
}

static void put_snapshot(struct encoder *e, const struct catalog_snapshot *s)
{
	put_u8(e, OP_PUT_SNAPSHOT);
	put_u64(e, s->table);
	put_u64(e, s->seq);
	put_u64(e, (uint64_t)s->taken_ms);
	put_bytes(e, bytes_str(s->name));
	put_u32(e, (uint32_t)s->tables.n);
	for (size_t i = 0; i < s->tables.n; i++) {
		put_u64(e, s->tables.at[i].id);
		put_bytes(e, bytes_str(s->tables.at[i].name));
		put_schema(e, &s->tables.at[i].schema);
	}
}

static void put_counters(struct encoder *e, uint64_t next_file,
			 uint64_t next_table, uint32_t next_tree,
			 uint64_t last_seq, uint64_t wal_first)
{
	put_u8(e, OP_COUNTERS);
	put_u64(e, next_file);
	put_u64(e, next_table);
	put_u32(e, next_tree);
	put_u64(e, last_seq);
	put_u64(e, wal_first);
}

int manifest_put_header(struct buf *out, uint64_t number, uint64_t store)
{
	size_t start = out->len;
	struct encoder e = begin_record(out, MANIFEST_HEADER);

	put_u32(&e, STORE_FORMAT);
	put_u64(&e, number);
	put_u64(&e, store);
	return end_record(&e, start, number, 0);
}

int manifest_put_state(struct buf *out, uint64_t number, uint64_t offset,
		       const struct catalog *c)
{
	size_t start = out->len;
	struct encoder e = begin_record(out, MANIFEST_STATE);

	put_counters(&e, c->next_file, c->next_table, c->next_tree, c->last_seq,
		     c->wal_first);
	for (size_t i = 0; i < c->ntables; i++) {
		const struct catalog_table *t = &c->tables[i];

		put_table(&e, t);
		for (uint32_t j = 0; j < t->schema.nfamilies; j++) {
			const struct catalog_tree *tree = &t->trees[j];

			for (size_t k = 0; k < tree->nfiles; k++)
				put_file(&e, tree->id, tree->files[k].level,
					 &tree->files[k].info);
			if (!history_is_whole(&tree->lost))
				put_lost(&e, tree->id, &tree->lost);
		}
	}
	for (size_t i = 0; i < c->nsnapshots; i++)
		put_snapshot(&e, &c->snapshots[i]);
	return end_record(&e, start, number, offset);
}

int manifest_put_edit(struct buf *out, uint64_t number, uint64_t offset,
		      const struct edit *ed)
{
	size_t start = out->len;
	struct encoder e = begin_record(out, MANIFEST_EDIT);

	put_counters(&e, ed->next_file, ed->next_table, ed->next_tree,
		     ed->last_seq, ed->wal_first);
	if (ed->drop_table) {
		put_u8(&e, OP_DROP_TABLE);
		put_u64(&e, ed->drop_table);
	}
	for (size_t i = 0; i < ed->nremoved; i++) {
		put_u8(&e, OP_REMOVE_FILE);
		put_u32(&e, ed->removed[i].tree);
		put_u64(&e, ed->removed[i].info->number);
	}
	if (ed->put_table)
		put_table(&e, ed->put_table);
	for (size_t i = 0; i < ed->nadded; i++)
		put_file(&e, ed->added[i].tree, ed->added[i].level,
			 ed->added[i].info);
	for (size_t i = 0; i < ed->nlost; i++)
		put_lost(&e, ed->lost[i].tree, ed->lost[i].history);
	if (ed->drop_snapshot) {
		put_u8(&e, OP_DROP_SNAPSHOT);
		put_u64(&e, ed->drop_snapshot->table);
		put_bytes(&e, bytes_str(ed->drop_snapshot->name));
	}
	if (ed->put_snapshot)
		put_snapshot(&e, ed->put_snapshot);
	return end_record(&e, start, number, offset);
}

int manifest_put_closed(struct buf *out, uint64_t number, uint64_t offset)
{
	size_t start = out->len;
	struct encoder e = begin_record(out, MANIFEST_CLOSED);

	return end_record(&e, start, number, offset);
}
