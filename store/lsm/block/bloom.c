#include "store/lsm/block/bloom.h"

#include <errno.h>

/*
 * So large that the arena gives each piece memory of its own: the last piece of
 * a few leaves little more than some pages unused.
 */
#define PIECE (ARENA_LARGE / sizeof(uint64_t))

struct bloom_piece {
	struct bloom_piece *older;
	size_t n;
	uint64_t hashes[PIECE];
};
_Static_assert(sizeof(struct bloom_piece) >= ARENA_LARGE, "see above");

int bloom_keys_add(struct bloom_keys *k, struct arena *mem, uint64_t hash)
{
	struct bloom_piece *p = k->last;

	if (!p || p->n == PIECE) {
		p = arena_alloc(mem, sizeof(*p), 64);
		if (!p)
			return -ENOMEM;
		p->older = k->last;
		p->n = 0;
		k->last = p;
	}
	p->hashes[p->n++] = hash;
	k->n++;
	return 0;
}

static void bloom_add(uint8_t *lines, size_t nlines,
		      const struct bloom_piece *p)
{
	for (size_t i = 0; i < p->n; i++) {
		uint64_t hash = p->hashes[i];
		uint8_t *line = lines + bloom_line(nlines, hash) * BLOOM_LINE;
		uint32_t h = (uint32_t)hash * BLOOM_STEP;

		for (int k = 0; k < BLOOM_PROBES; k++) {
			unsigned bit = bloom_probe(&h);

			line[bit / 8] |= 1u << bit % 8;
		}
	}
}

int bloom_build(const struct bloom_keys *k, struct buf *out)
{
	size_t nlines, len;
	uint8_t *at;
	int r;

	/* The keys of a file are too few for this to overflow. */
	nlines = (k->n * BLOOM_BITS_PER_KEY + BLOOM_LINE * 8 - 1) /
		 (BLOOM_LINE * 8);
	if (nlines == 0)
		nlines = 1;
	if (nlines > UINT32_MAX)
		nlines = UINT32_MAX;
	len = nlines * BLOOM_LINE;
	r = buf_reserve(out, len);
	if (r < 0)
		return r;
	at = out->data + out->len;
	memset(at, 0, len);
	out->len += len;
	for (const struct bloom_piece *p = k->last; p; p = p->older)
		bloom_add(at, nlines, p);
	return 0;
}
