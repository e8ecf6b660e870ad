#include "store/lsm/table/sst_scan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/value/array.h"
#include "store/value/why.h"

/* No file is larger; it is read into memory. */
#define FILE_MAX ((uint64_t)1 << 32)
/* So far back deflated bytes are looked for that do not begin at an end. */
#define DEFLATED_BACK ((size_t)256 << 10)
/* zlib cannot compress better. */
#define DEFLATE_RATIO_MAX 1032

/* Stored bytes with a sound trailer. */
struct chunk {
	size_t at, len; /* without trailer */
	uint32_t raw_len;
	uint64_t hash;
};

struct finder {
	struct sstable *t;
	struct sst_scan *out;
	struct buf file;
	size_t cap;	  /* of the index's entries */
	uint64_t entries; /* of the blocks found */
	size_t end;	  /* of the last thing found */
	struct buf last;  /* row of the last block */
	struct sst_info own;
	bool has_own;
};

static bool is_sound(const struct finder *k, size_t from, size_t e,
		     struct chunk *out)
{
	if (!sst_trailer_sound(k->file.data + from, e - from, k->t->info.number,
			       from, &out->hash))
		return false;
	out->at = from;
	out->len = e - from;
	return true;
}

/* Deflated bytes that end at @e, and begin at @from or behind it. */
static bool deflated(const struct finder *k, size_t from, size_t e,
		     struct chunk *out)
{
	const uint8_t *p = k->file.data;
	size_t back = e - from > DEFLATED_BACK ? e - DEFLATED_BACK : from;

	if (e - from <= out->raw_len &&
	    out->raw_len / DEFLATE_RATIO_MAX <= e - from &&
	    is_sound(k, from, e, out))
		return true;
	for (size_t at = e; at-- > back;)
		if (at + 1 < e && p[at] == 0x78 && p[at + 1] == 0x01 &&
		    e - at <= out->raw_len &&
		    out->raw_len / DEFLATE_RATIO_MAX <= e - at &&
		    is_sound(k, at, e, out))
			return true;
	return false;
}

/* The first whole thing that begins at @from or behind it. */
static bool find_chunk(const struct finder *k, size_t from, struct chunk *out)
{
	const uint8_t *p = k->file.data;

	for (size_t e = from; e + SST_TRAILER_LEN <= k->file.len; e++) {
		uint8_t codec = p[e];

		if (codec != SST_PLAIN && codec != SST_ZLIB)
			continue;
		out->raw_len = bytes_le32(p + e + 1);
		if (codec == SST_ZLIB && out->raw_len <= BLOCK_LEN_MAX &&
		    deflated(k, from, e, out))
			return true;
		if (codec == SST_PLAIN && out->raw_len <= e - from &&
		    (out->raw_len || e == from) &&
		    is_sound(k, e - out->raw_len, e, out))
			return true;
	}
	return false;
}

/* 1 and the content of the chunk as a block, 0 if it is none. */
static int to_block(const struct finder *k, const struct chunk *c,
		    struct block **out)
{
	const struct sst_place p = {c->at, c->len, c->hash};
	struct block *b = NULL;
	uint8_t *raw;
	int r;

	if (c->raw_len < BLOCK_HEADER_LEN || c->raw_len > BLOCK_LEN_MAX)
		return 0;
	raw = malloc(c->raw_len);
	if (!raw)
		return why(-ENOMEM, "no memory to read a block");
	r = sst_unpack(k->t, &p, k->file.data + c->at, c->raw_len, raw);
	if (r == 0)
		r = block_new(c->raw_len, bytes_le32(raw), true, &b);
	if (r == 0) {
		memcpy(b->raw, raw, c->raw_len);
		memset(b->raw + c->raw_len, 0, BLOCK_SLACK);
		r = block_decode(b);
	}
	free(raw);
	if (r == 0) {
		*out = b;
		return 1;
	}
	block_free(b);
	return r == -EUCLEAN ? 0 : r;
}

int sst_copy_row(const struct block *b, uint32_t row, struct buf *to)
{
	struct bytes suffix = block_suffix(b, row);
	int r = buf_set(to, b->prefix);

	return r < 0 ? r : buf_append(to, suffix.data, suffix.len);
}

/* Nothing whole between the last thing and @to; @b follows, or NULL. */
static int add_gap(struct finder *k, size_t to, const struct block *b)
{
	struct sst_scan *s = k->out;
	struct sst_gap *g;
	int r = ARRAY_RESERVE(s->gaps, s->gaps_cap, s->ngaps + 1);

	if (r < 0)
		return r;
	g = &s->gaps[s->ngaps++];
	*g = (struct sst_gap){.offset = k->end, .bytes = to - k->end};
	r = buf_set(&g->from,
		    buf_bytes(k->t->index.nblocks ? &k->last
						  : &k->t->info.row_min));
	if (r == 0 && b)
		r = sst_copy_row(b, 0, &g->to);
	else if (r == 0)
		r = buf_set(&g->to, buf_bytes(&k->t->info.row_max));
	return r;
}

static int add_block(struct finder *k, const struct chunk *c,
		     const struct block *b)
{
	struct sst_index *x = &k->t->index;
	int r = ARRAY_RESERVE(x->entries, k->cap, x->nblocks + 1);

	assert(b);
	if (r == 0 && c->at > k->end)
		r = add_gap(k, c->at, b);
	if (r < 0)
		return r;
	x->entries[x->nblocks++] = (struct index_entry){
		.offset = c->at,
		.hash = c->hash,
		.stored_len = (uint32_t)c->len,
		.raw_len = c->raw_len,
		.nrow = b->nrow,
		.ts_min = b->ts_min,
		.ts_max = b->ts_max,
	};
	k->entries += b->ncell;
	k->end = c->at + c->len + SST_TRAILER_LEN;
	return sst_copy_row(b, b->nrow - 1, &k->last);
}

/* A section: the properties tell how much there should be. */
static int look_at(struct finder *k, const struct chunk *c)
{
	struct bytes in = bytes_of(k->file.data + c->at, c->len);
	int r;

	if (k->has_own || c->raw_len != c->len)
		return 0;
	r = sst_properties_decode(in, &k->own);
	k->has_own = r == 0;
	return r == -ENOMEM ? r : 0;
}

static int find_all(struct finder *k)
{
	struct chunk c;
	size_t at = 0;

	while (find_chunk(k, at, &c)) {
		struct block *b = NULL;
		int r = to_block(k, &c, &b);

		if (r > 0)
			r = add_block(k, &c, b);
		else if (r == 0)
			r = look_at(k, &c);
		block_free(b);
		if (r < 0)
			return r;
		at = c.at + c.len + SST_TRAILER_LEN;
	}
	return 0;
}

/* The footer may be whole where the index is not. */
static void look_at_footer(struct finder *k)
{
	size_t n = k->file.len;
	struct sst_footer f;

	if (n >= SST_FOOTER_LEN &&
	    sst_footer_decode(k->file.data + n - SST_FOOTER_LEN,
			      k->t->info.number, n, &f) == 0)
		k->out->tree = f.tree;
}

/* What is behind the last block may have been blocks. */
static int end_scan(struct finder *k, const struct sst_info *known)
{
	uint64_t expected =
		known ? known->entries : (k->has_own ? k->own.entries : 0);
	uint64_t size = known && known->file_bytes > k->file.len
				? known->file_bytes
				: k->file.len;
	int r = 0;

	if (!known && k->has_own)
		r = buf_set(&k->t->info.row_max, buf_bytes(&k->own.row_max));
	if (r == 0 && k->entries == expected && expected)
		sst_scan_free(k->out);
	else if (r == 0 && size > k->end)
		r = add_gap(k, (size_t)size, NULL);
	return r;
}

int sst_scan(struct sstable *t, const struct sst_info *known,
	     struct sst_scan *out)
{
	struct finder k = {.t = t, .out = out};
	char name[SST_NAME_LEN];
	uint64_t unread;
	int r;

	*out = (struct sst_scan){0};
	sst_name(t->info.number, name);
	r = os_read_damaged(t->dir, name, FILE_MAX, &k.file, &unread);
	if (r == 0)
		r = find_all(&k);
	if (r == 0)
		r = end_scan(&k, known);
	if (r == 0)
		look_at_footer(&k);
	else
		sst_scan_free(out);
	sst_info_free(&k.own);
	buf_free(&k.last);
	buf_free(&k.file);
	if (r == 0)
		why_clear();
	return r == -ENOMEM ? why(r, "out of memory") : r;
}

void sst_scan_free(struct sst_scan *s)
{
	for (size_t i = 0; i < s->ngaps; i++) {
		buf_free(&s->gaps[i].from);
		buf_free(&s->gaps[i].to);
	}
	free(s->gaps);
	s->gaps = NULL;
	s->ngaps = s->gaps_cap = 0;
}
