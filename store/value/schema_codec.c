/*
 * The binary form of a schema, for catalogs; numbers are little-endian.
 *
 *	u8 fixed | has_quota << 1, u32 mode, u32 uid, u32 gid
 *	u64 quota, if there is one; it is not 0
 *	u32 families, then for each,
 *	in byte order of their names:
 *		u32 length, name
 *		u32 versions, u32 min_versions, u64 ttl_ms
 *		u8 keep_deleted, u8 compression, u8 bloom
 *		u8 block_cache | in_memory << 1 | new_version_behavior << 2
 *		u32 block_size, u32 max_value
 */
#include "store/value/schema.h"

#include <errno.h>

#include "store/value/codec.h"
#include "store/value/why.h"

enum {
	FIXED = 1,
	HAS_QUOTA = 2
};
enum {
	FLAG_BLOCK_CACHE = 1,
	FLAG_IN_MEMORY = 2,
	FLAG_NEW_VERSION_BEHAVIOR = 4,
	FLAGS_ALL = 7
};

static void attrs_encode(const struct family_attrs *a, struct encoder *e)
{
	put_u32(e, a->versions);
	put_u32(e, a->min_versions);
	put_u64(e, a->ttl_ms);
	put_u8(e, a->keep_deleted);
	put_u8(e, a->compression);
	put_u8(e, a->bloom);
	put_u8(e, (a->block_cache ? FLAG_BLOCK_CACHE : 0) |
			  (a->in_memory ? FLAG_IN_MEMORY : 0) |
			  (a->new_version_behavior ? FLAG_NEW_VERSION_BEHAVIOR
						   : 0));
	put_u32(e, a->block_size);
	put_u32(e, a->max_value);
}

int schema_encode(const struct schema *s, struct buf *out)
{
	struct encoder e = {.out = out};
	size_t len = out->len;

	put_u8(&e, (uint8_t)(s->fixed | (s->quota ? HAS_QUOTA : 0)));
	put_u32(&e, s->mode);
	put_u32(&e, s->uid);
	put_u32(&e, s->gid);
	if (s->quota)
		put_u64(&e, s->quota);
	put_u32(&e, s->nfamilies);
	for (uint32_t i = 0; i < s->nfamilies; i++) {
		put_bytes(&e, bytes_str(s->families[i].name));
		attrs_encode(&s->families[i].attrs, &e);
	}
	if (e.err)
		out->len = len;
	return e.err;
}

static void attrs_decode(struct decoder *d, struct family_attrs *a)
{
	uint8_t flags;

	a->versions = take_u32(d);
	a->min_versions = take_u32(d);
	a->ttl_ms = take_u64(d);
	a->keep_deleted = take_u8(d);
	a->compression = take_u8(d);
	a->bloom = take_u8(d);
	flags = take_u8(d);
	if (flags & ~FLAGS_ALL)
		d->bad = true;
	a->block_cache = flags & FLAG_BLOCK_CACHE;
	a->in_memory = flags & FLAG_IN_MEMORY;
	a->new_version_behavior = flags & FLAG_NEW_VERSION_BEHAVIOR;
	a->block_size = take_u32(d);
	a->max_value = take_u32(d);
}

static int families_decode(struct decoder *d, uint32_t n, struct schema *s)
{
	struct family_attrs attrs = {0};
	struct bytes name;
	int r;

	for (uint32_t i = 0; i < n; i++) {
		name = take_bytes(d, FAMILY_LEN_MAX);
		attrs_decode(d, &attrs);
		if (d->bad)
			return -EUCLEAN;
		/* Binary search needs the names in order. */
		if (i &&
		    bytes_cmp(bytes_str(s->families[i - 1].name), name) >= 0)
			return -EUCLEAN;
		r = schema_add(s, name, &attrs);
		if (r < 0)
			return r == -ENOMEM ? r : -EUCLEAN;
	}
	return 0;
}

int schema_decode(struct bytes in, struct schema *out)
{
	struct decoder d = decoder_of(in);
	struct schema s = {0};
	uint8_t flags = take_u8(&d);
	uint32_t n;
	int r = -EUCLEAN;

	s.fixed = flags & FIXED;
	s.mode = take_u32(&d);
	s.uid = take_u32(&d);
	s.gid = take_u32(&d);
	if (flags & HAS_QUOTA)
		s.quota = take_u64(&d);
	n = take_u32(&d);
	if (d.bad || flags > (FIXED | HAS_QUOTA) ||
	    (flags & HAS_QUOTA && !s.quota) || s.mode > 07777 ||
	    n > SCHEMA_FAMILIES_MAX)
		goto fail;
	r = families_decode(&d, n, &s);
	if (r == 0 && decoder_left(&d))
		r = -EUCLEAN;
	if (r < 0)
		goto fail;
	*out = s;
	return 0;
fail:
	schema_free(&s);
	if (r == -EUCLEAN)
		why(r, "a stored schema is damaged");
	return r;
}
