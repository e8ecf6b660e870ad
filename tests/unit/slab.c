/* Memory for blocks. */
#include "tests/unit/unit.h"

#include <unistd.h>

#include "store/lsm/base/slab.h"
#include "store/value/sanitizer.h"
#include "tests/unit/smaps.h"

struct piece {
	uint8_t *at;
	size_t size;
	uint8_t mark;
};

static void take(struct piece *p, size_t size, unsigned mark)
{
	p->at = slab_alloc(size);
	assert_non_null(p->at);
	assert_int_equal((uintptr_t)p->at % _Alignof(max_align_t), 0);
	p->size = size;
	p->mark = (uint8_t)mark;
	memset(p->at, p->mark, size);
}

static void give(struct piece *p)
{
	for (size_t i = 0; i < p->size; i++)
		if (p->at[i] != p->mark)
			fail_msg("byte %zu of %zu was written by another", i,
				 p->size);
	slab_free(p->at, p->size);
	p->at = NULL;
}

TEST(pieces_of_any_size_do_not_overlap)
{
	static struct piece p[3000];
	size_t n = 0;

	/* Around every limit of a class, and beyond the first and the last. */
	for (size_t base = 128; base <= 512 << 10; base *= 2)
		for (size_t part = 0; part < 16; part++)
			for (int d = -1; d <= 1; d++) {
				take(&p[n], base + base / 16 * part + d,
				     (unsigned)n);
				n++;
			}
	for (size_t i = 0; i < n; i++)
		give(&p[i]);
}

TEST(what_is_freed_is_used_again)
{
	static struct piece p[400];
	unsigned seed = 1;

	/* More than one chunk of each of four sizes, in no order. */
	for (unsigned step = 0; step < 40000; step++) {
		struct piece *one;

		seed = seed * 1103515245u + 12345;
		one = &p[seed / 65536 % 400];
		if (one->at)
			give(one);
		else
			take(one, 17000 + seed / 4096 % 4 * 1000, step);
	}
	for (size_t i = 0; i < 400; i++)
		if (p[i].at)
			give(&p[i]);
}

/* What a test below puts into chunks, and what it says of it. */
#define LARGE 100000
#define SMALL 60000

TEST(a_size_that_few_ask_for_opens_no_chunk)
{
	struct piece large, small;
	size_t idle;

	take(&large, LARGE, 1);
	idle = slab_idle();
	take(&small, SMALL, 2);
	assert_true(slab_idle() <= idle);
	give(&small);
	give(&large);
}

/* Takes pieces of many sizes until nothing empty is left for the next. */
static size_t take_spares(struct piece *p, size_t n)
{
	size_t i = 0, idle;

	do {
		assert_true(i < n);
		idle = slab_idle();
		take(&p[i], 20000 + 5000 * i, (unsigned)i);
		i++;
	} while (slab_idle() && slab_idle() < idle + SLAB_CHUNK / 2);
	return i;
}

/* In chunks of much larger ones, until a chunk of its own takes less. */
TEST(a_few_pieces_open_no_chunk_however_small)
{
	struct piece spares[10], small[2], more[1000];
	size_t n = take_spares(spares, 10), idle;

	for (int pass = 0; pass < 10; pass++) {
		idle = slab_idle();
		take(&small[0], 300, 2);
		take(&small[1], 300, 3);
		assert_true(slab_idle() <= idle);
		give(&small[0]);
		give(&small[1]);
	}
	idle = slab_idle();
	for (unsigned i = 0; i < 1000; i++)
		take(&more[i], 300, i);
	/* Nothing but under a sanitizer that needs malloc(). */
	assert_true(!idle || slab_idle() > idle + SLAB_CHUNK / 2);
	for (unsigned i = 0; i < 1000; i++)
		give(&more[i]);
	while (n)
		give(&spares[--n]);
}

/* Moves what slab_sparse() names, as a cache would. How many. */
static size_t move_some(struct piece *p, size_t n, const void *owner)
{
	void *found[4];
	size_t moved = slab_sparse(owner, found, 4);

	for (size_t i = 0; i < moved; i++) {
		struct piece was;
		size_t k = 0;

		while (k < n && p[k].at != found[i])
			k++;
		assert_true(k < n);
		was = p[k];
		take(&p[k], was.size, was.mark);
		slab_own(p[k].at, p[k].size, owner);
		give(&was);
	}
	return moved;
}

/* One of @each of what fills many chunks. */
static void take_sparsely(struct piece *p, size_t n, size_t each,
			  const void *owner)
{
	for (size_t i = 0; i < n; i++) {
		take(&p[i], SMALL, (unsigned)i);
		slab_own(p[i].at, p[i].size, owner);
	}
	for (size_t i = 0; i < n; i++)
		if (i % each)
			give(&p[i]);
}

TEST(chunks_of_which_little_is_used_are_emptied)
{
	static struct piece p[1000];
	int owner = 0, other = 0;
	void *found[4];

	take_sparsely(p, 1000, 10, &owner);
	assert_int_equal(slab_sparse(&other, found, 4), 0);
	while (move_some(p, 1000, &owner))
		;
	/* All fits into three chunks; so many again are kept ready. */
	assert_true(slab_idle() < 8 << 20);
	for (size_t i = 0; i < 1000; i++)
		if (p[i].at)
			give(&p[i]);
}

/* Out of the only chunk of its size: it does not come back there. */
TEST(one_that_has_its_chunk_for_itself_moves_out)
{
	struct piece small, large;
	int owner = 0, moves = 0;

	take(&small, SMALL, 1);
	slab_own(small.at, small.size, &owner);
	take(&large, LARGE, 2);
	while (moves < 10 && move_some(&small, 1, &owner))
		moves++;
	assert_true(moves <= 1);
	give(&small);
	give(&large);
}

TEST(what_does_not_move_is_left)
{
	static struct piece p[1000];
	void *found[4];
	size_t i;
	int owner = 0;

	take_sparsely(p, 1000, 10, &owner);
	/* More often than there are chunks and pieces in them. */
	for (i = 0; i < 1000 && slab_sparse(&owner, found, 4); i++)
		;
	assert_true(i < 1000);
	for (i = 0; i < 1000; i++)
		if (p[i].at)
			give(&p[i]);
}

TEST(freeing_nothing_is_nothing)
{
	slab_free(NULL, 100);
	slab_free(NULL, 20000);
}

TEST(a_large_piece_is_in_huge_pages_and_goes_back)
{
	enum {
		VALUE = (10 << 20) + 100
	};
	char flags[512];
	uint8_t *at;

	(void)state;
	/* All is malloc()'s there. */
	if (SANITIZED_ADDRESS)
		skip();
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) < 0)
		skip();
	at = slab_alloc(VALUE);
	assert_non_null(at);
	memset(at, 'v', VALUE);
	if (!flags_at(at, flags, sizeof(flags)))
		skip(); /* an emulator tells no flags */
	assert_non_null(strstr(flags, " hg"));
	assert_true(flags_at(at + VALUE - 1, flags, sizeof(flags)));
	assert_non_null(strstr(flags, " hg"));
	slab_free(at, VALUE);
	assert_false(flags_at(at, flags, sizeof(flags)));
	assert_false(flags_at(at + VALUE - 1, flags, sizeof(flags)));
}
