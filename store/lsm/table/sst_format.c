#include "store/lsm/table/sst_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/value/why.h"

static const uint8_t magic[8] = {'c', 'e', 'l', 'l', 'f', 's', 'S', 'T'};

#define FAMILY_MARK 0x6d61726b65723a31ull

void sst_name(uint64_t number, char out[SST_NAME_LEN])
{
	snprintf(out, SST_NAME_LEN, "%" PRIu64 ".sst", number);
}

/* Different for any two offsets of any two files that a store can have. */
static uint64_t seed_of(uint64_t number, uint64_t offset)
{
	return number * 0x9e3779b97f4a7c15ull + offset;
}

static uint8_t *le_put(uint8_t *at, uint64_t v, unsigned width)
{
	v = htole64(v);
	memcpy(at, &v, width);
	return at + width;
}

static uint64_t le_get(const uint8_t *at, unsigned width)
{
	uint64_t v = 0;

	memcpy(&v, at, width);
	return le64toh(v);
}

int sst_put(struct buf *out, uint64_t v, unsigned width)
{
	int r = buf_reserve(out, width);

	if (r < 0)
		return r;
	le_put(out->data + out->len, v, width);
	out->len += width;
	return 0;
}

bool sst_take(struct bytes *in, unsigned width, uint64_t *out)
{
	if (in->len < width)
		return false;
	*out = le_get(in->data, width);
	*in = bytes_of(in->data + width, in->len - width);
	return true;
}

bool sst_take_bytes(struct bytes *in, uint64_t len, struct bytes *out)
{
	if (len > in->len)
		return false;
	*out = bytes_of(in->data, len);
	*in = bytes_of(in->data + len, in->len - len);
	return true;
}

/* As XXH3_64bits_withSeed() of both parts, one behind the other. */
static uint64_t hash_parts(struct bytes stored, struct bytes tail,
			   uint64_t seed)
{
	XXH3_state_t st = {0};

	if (!tail.len)
		return XXH3_64bits_withSeed(stored.data, stored.len, seed);
	XXH3_64bits_reset_withSeed(&st, seed);
	XXH3_64bits_update(&st, stored.data, stored.len);
	XXH3_64bits_update(&st, tail.data, tail.len);
	return XXH3_64bits_digest(&st);
}

void sst_trailer(uint8_t out[SST_TRAILER_LEN], struct bytes stored,
		 struct bytes tail, uint8_t codec, uint32_t raw_len,
		 uint64_t number, uint64_t offset, uint64_t *hash)
{
	uint64_t h = hash_parts(stored, tail, seed_of(number, offset));

	/* First the bytes, then codec and length. */
	le_put(out, codec, 1);
	le_put(out + 1, raw_len, 4);
	*hash = XXH3_64bits_withSeed(out, 5, h);
	le_put(out + 5, *hash, 8);
}

int sst_trailer_check(const uint8_t *stored, size_t len, uint64_t number,
		      uint64_t offset, uint64_t hash, uint8_t *codec,
		      uint32_t *raw_len)
{
	const uint8_t *t = stored + len;
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	uint64_t h = XXH3_64bits_withSeed(stored, len, seed_of(number, offset));

	h = XXH3_64bits_withSeed(t, 5, h);
	if (h != le_get(t + 5, 8) || h != hash)
		return why(-EUCLEAN,
			   "%" PRIu64 ".sst is damaged at byte %" PRIu64
			   ": its checksum is wrong",
			   number, offset);
#endif
	*codec = t[0];
	*raw_len = (uint32_t)le_get(t + 1, 4);
	return 0;
}

bool sst_trailer_sound(const uint8_t *stored, size_t len, uint64_t number,
		       uint64_t offset, uint64_t *hash)
{
	const uint8_t *t = stored + len;
	uint64_t h = XXH3_64bits_withSeed(stored, len, seed_of(number, offset));

	*hash = XXH3_64bits_withSeed(t, 5, h);
	return *hash == le_get(t + 5, 8);
}

static uint64_t footer_hash(const uint8_t *in, uint64_t number,
			    uint64_t file_bytes)
{
	return XXH3_64bits_withSeed(
		in, SST_FOOTER_LEN - 8,
		seed_of(number, file_bytes - SST_FOOTER_LEN));
}

void sst_footer_encode(struct sst_footer *f, uint8_t out[SST_FOOTER_LEN])
{
	uint8_t *at = out;

	memcpy(at, magic, 8);
	at = le_put(at + 8, SST_VERSION, 4);
	at = le_put(at, f->tree, 4);
	at = le_put(at, f->number, 8);
	at = le_put(at, f->file_bytes, 8);
	for (int i = 0; i < SST_NSECTIONS; i++) {
		at = le_put(at, f->section[i].offset, 8);
		at = le_put(at, f->section[i].len, 8);
		at = le_put(at, f->section[i].hash, 8);
	}
	f->hash = footer_hash(out, f->number, f->file_bytes);
	le_put(at, f->hash, 8);
}

static int no_footer(uint64_t number, const char *what)
{
	return why(-EUCLEAN, "%" PRIu64 ".sst is damaged in its footer: %s",
		   number, what);
}

int sst_footer_decode(const uint8_t in[SST_FOOTER_LEN], uint64_t number,
		      uint64_t file_bytes, struct sst_footer *f)
{
	struct bytes rest = bytes_of(in, SST_FOOTER_LEN);
	uint64_t version, tree, at;

	if (memcmp(in, magic, 8))
		return no_footer(number, "it has no magic; the file may be "
					 "cut short");
	rest = bytes_of(in + 8, SST_FOOTER_LEN - 8);
	sst_take(&rest, 4, &version);
	sst_take(&rest, 4, &tree);
	sst_take(&rest, 8, &f->number);
	sst_take(&rest, 8, &f->file_bytes);
	for (int i = 0; i < SST_NSECTIONS; i++) {
		sst_take(&rest, 8, &f->section[i].offset);
		sst_take(&rest, 8, &f->section[i].len);
		sst_take(&rest, 8, &f->section[i].hash);
	}
	sst_take(&rest, 8, &f->hash);
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	if (f->hash != footer_hash(in, number, file_bytes))
		return no_footer(number, "its checksum is wrong");
#endif
	if (version != SST_VERSION)
		return why(-EUCLEAN,
			   "%" PRIu64 ".sst has format version %" PRIu64
			   ", this program reads %d",
			   number, version, SST_VERSION);
	f->tree = (uint32_t)tree;
	if (f->number != number)
		return no_footer(number, "it is that of another file");
	if (f->file_bytes != file_bytes)
		return no_footer(number, "it names another size");
	at = f->section[SST_INDEX].offset;
	for (int i = 0; i < SST_NSECTIONS; i++) {
		const struct sst_place *s = &f->section[i];

		if (s->offset != at || at > file_bytes ||
		    s->len > SST_SECTION_MAX ||
		    s->len + SST_TRAILER_LEN > file_bytes - at)
			return no_footer(number, "a section lies outside");
		at += s->len + SST_TRAILER_LEN;
	}
	if (file_bytes - at != SST_FOOTER_LEN)
		return no_footer(number, "the sections do not end at it");
	return 0;
}

void sst_info_free(struct sst_info *i)
{
	buf_free(&i->row_min);
	buf_free(&i->row_max);
	*i = (struct sst_info){0};
}

int sst_info_copy(struct sst_info *to, const struct sst_info *from)
{
	struct sst_info n = *from;

	n.row_min = n.row_max = (struct buf){0};
	if (buf_append(&n.row_min, from->row_min.data, from->row_min.len) < 0 ||
	    buf_append(&n.row_max, from->row_max.data, from->row_max.len) < 0) {
		sst_info_free(&n);
		return why(-ENOMEM, "no memory to copy what is known of a "
				    "file");
	}
	*to = n;
	return 0;
}

int sst_properties_encode(const struct sst_info *i, struct buf *out)
{
	const uint64_t numbers[] = {
		i->entries,	     i->rows,
		i->markers,	     i->raw_bytes,
		i->seq_min,	     i->seq_max,
		(uint64_t)i->ts_min, (uint64_t)i->ts_max,
		i->has_ttl,	     i->row_min.len,
		i->row_max.len,
	};
	int r = 0;

	for (size_t k = 0; r == 0 && k < sizeof(numbers) / 8; k++)
		r = sst_put(out, numbers[k], 8);
	if (r == 0)
		r = buf_append(out, i->row_min.data, i->row_min.len);
	if (r == 0)
		r = buf_append(out, i->row_max.data, i->row_max.len);
	return r;
}

int sst_properties_decode(struct bytes in, struct sst_info *i)
{
	struct sst_info n = {0};
	uint64_t v[11] = {0};
	struct bytes min, max;

	for (size_t k = 0; k < 11; k++)
		if (!sst_take(&in, 8, &v[k]))
			goto bad;
	if (v[8] > 1 || v[9] > ROW_LEN_MAX || v[10] > ROW_LEN_MAX ||
	    !sst_take_bytes(&in, v[9], &min) ||
	    !sst_take_bytes(&in, v[10], &max) || in.len)
		goto bad;
	n = (struct sst_info){
		.entries = v[0],
		.rows = v[1],
		.markers = v[2],
		.raw_bytes = v[3],
		.seq_min = v[4],
		.seq_max = v[5],
		.ts_min = (int64_t)v[6],
		.ts_max = (int64_t)v[7],
		.has_ttl = v[8],
	};
	if (buf_append(&n.row_min, min.data, min.len) < 0 ||
	    buf_append(&n.row_max, max.data, max.len) < 0) {
		sst_info_free(&n);
		return -ENOMEM;
	}
	*i = n;
	return 0;
bad:
	return why(-EUCLEAN, "the properties of an sstable are damaged");
}

uint64_t sst_hash_row(struct bytes row)
{
	return XXH3_64bits(row.data, row.len);
}

uint64_t sst_hash_column(uint64_t row_hash, struct bytes qualifier)
{
	return XXH3_64bits_withSeed(qualifier.data, qualifier.len,
				    row_hash + 1);
}

uint64_t sst_hash_family(uint64_t row_hash)
{
	uint64_t mark = htole64(FAMILY_MARK);

	return XXH3_64bits_withSeed(&mark, sizeof(mark), row_hash);
}
