/* Blocks of which only a part is in memory, the rest in the file. */
#include "store/lsm/block/block.h"

#include <errno.h>

#include <xxhash.h>

#include "store/lsm/base/slab.h"
#include "store/value/why.h"

uint32_t block_piece_sum(const uint8_t *piece, size_t len)
{
	return (uint32_t)XXH3_64bits(piece, len);
}

static size_t pieces_of(const struct block *b)
{
	return (b->raw_len - b->front_len + BLOCK_PIECE - 1) / BLOCK_PIECE;
}

/*
 * A copy of the head of @b, with space for @front bytes and for the checksums,
 * which the caller fills.
 */
static struct block *new_part(const struct block *b, size_t memory,
			      size_t front)
{
	size_t npieces = pieces_of(b);
	struct block *n = slab_alloc(memory);

	if (!n)
		return NULL;
	memcpy(n, b, sizeof(*n));
	n->memory = slab_size(memory);
	n->passing = false;
	n->heads = NULL;
	n->values = NULL;
	n->raw = NULL;
	n->sums = (uint32_t *)(n + 1);
	atomic_init(&n->reads, 0);
	if (front) {
		n->raw = (uint8_t *)(n->sums + npieces);
		memset(n->raw + front, 0, BLOCK_SLACK);
	}
	return n;
}

static size_t hollow_memory(const struct block *b)
{
	return sizeof(*b) + pieces_of(b) * sizeof(*b->sums);
}

static size_t bare_memory(const struct block *b)
{
	return hollow_memory(b) + b->front_len + BLOCK_SLACK;
}

int block_bare(const struct block *b, struct block **out)
{
	size_t rest = b->raw_len - b->front_len;
	struct block *n;

	if (bare_memory(b) > b->memory / 2)
		return 0;
	n = new_part(b, bare_memory(b), b->front_len);
	if (!n)
		return -ENOMEM;
	memcpy(n->raw, b->raw, b->front_len);
	block_move(n, b);
	n->front_sum = XXH3_64bits(b->raw, b->front_len);
	for (size_t i = 0, at = 0; at < rest; i++, at += BLOCK_PIECE)
		n->sums[i] = block_piece_sum(
			b->values + at,
			rest - at < BLOCK_PIECE ? rest - at : BLOCK_PIECE);
	*out = n;
	return 1;
}

int block_hollow(const struct block *b, struct block **out)
{
	struct block *n;

	if (block_form(b) != BLOCK_BARE || hollow_memory(b) > b->memory / 2)
		return 0;
	n = new_part(b, hollow_memory(b), 0);
	if (!n)
		return -ENOMEM;
	memcpy(n->sums, b->sums, pieces_of(b) * sizeof(*b->sums));
	*out = n;
	return 1;
}

int block_refill(const struct block *b, struct block **out)
{
	struct block *n = new_part(b, bare_memory(b), b->front_len);

	if (!n)
		return why(-ENOMEM, "no memory for the front of a block");
	memcpy(n->sums, b->sums, pieces_of(b) * sizeof(*b->sums));
	*out = n;
	return 0;
}

int block_refilled(struct block *b)
{
	int r;

	if (XXH3_64bits(b->raw, b->front_len) != b->front_sum)
		return why(-EUCLEAN, "its keys have changed");
	r = block_lay_out(b);
	b->values = NULL;
	return r;
}
