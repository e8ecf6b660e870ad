#include "fs/text/hashed.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define HASHED_MAX (1u << 30)

int hashed_init(struct hashed *h)
{
	*h = (struct hashed){.mask = HASHED_MIN - 1};
	h->slots = calloc(HASHED_MIN, sizeof(*h->slots));
	return h->slots ? 0 : -ENOMEM;
}

void hashed_free(struct hashed *h)
{
	free(h->slots);
	*h = (struct hashed){0};
}

/* The slot of the number, or the first free one that it may have. */
static uint32_t slot_of(const struct hashed *h, uint32_t hash, uint32_t number)
{
	uint32_t at = hash & h->mask;

	while (h->slots[at].number && h->slots[at].number != number)
		at = (at + 1) & h->mask;
	return at;
}

static bool resize(struct hashed *h, uint32_t size)
{
	struct hashed old = *h;
	struct hashed_slot *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return false;
	h->slots = slots;
	h->mask = size - 1;
	for (uint32_t i = 0; i <= old.mask; i++) {
		const struct hashed_slot *s = &old.slots[i];

		if (s->number)
			slots[slot_of(h, s->hash, s->number)] = *s;
	}
	free(old.slots);
	return true;
}

int hashed_reserve(struct hashed *h)
{
	uint32_t size = h->mask + 1;

	if (h->used < size / 4 * 3 ||
	    (size < HASHED_MAX && resize(h, 2 * size)))
		return 0;
	/* A search ends at a free slot, and takes longer where they are few. */
	return h->used < size / 8 * 7 ? 0 : -ENOMEM;
}

void hashed_put(struct hashed *h, uint32_t hash, uint32_t number)
{
	struct hashed_slot *s = &h->slots[slot_of(h, hash, number)];

	assert(number && !s->number && h->used < h->mask);
	*s = (struct hashed_slot){hash, number};
	h->used++;
}

void hashed_remove(struct hashed *h, uint32_t hash, uint32_t number)
{
	uint32_t gap = slot_of(h, hash, number), at = gap;

	assert(h->slots[gap].number);
	/* Those behind it that may be nearer to their first slot move there. */
	for (;;) {
		at = (at + 1) & h->mask;
		if (!h->slots[at].number)
			break;
		if (((at - h->slots[at].hash) & h->mask) >=
		    ((at - gap) & h->mask)) {
			h->slots[gap] = h->slots[at];
			gap = at;
		}
	}
	h->slots[gap] = (struct hashed_slot){0};
	h->used--;
}

void hashed_renumber(struct hashed *h, uint32_t hash, uint32_t from,
		     uint32_t to)
{
	struct hashed_slot *s = &h->slots[slot_of(h, hash, from)];

	assert(s->number && to);
	s->number = to;
}

bool hashed_fit(struct hashed *h)
{
	uint32_t size = h->mask + 1;

	if (size == HASHED_MIN || h->used >= size / 8)
		return false;
	(void)resize(h, size / 2);
	return true;
}
