/*
 * Names in memory, by hash.
 *
 * A table of numbers by the hash of what each stands for: the index of a node, say, by
 * its parent and its name. Slots are probed one behind the other, and each has the hash
 * beside the number. So what is not there is told from a line of the processor's cache,
 * without a look at anything that the numbers stand for.
 *
 * A number is never 0, and several may have one hash: the owner compares the names. No
 * locks: the owner has one.
 */
#ifndef CELLFS_FS_TEXT_HASHED_H
#define CELLFS_FS_TEXT_HASHED_H

#include <stdbool.h>
#include <stdint.h>

struct hashed_slot {
	uint32_t hash;
	uint32_t number; /* 0 = free */
};

struct hashed {
	struct hashed_slot *slots;
	uint32_t mask; /* their count - 1; a power of two of them */
	uint32_t used;
};

/* The least count of slots; there are at most 2^30. */
#define HASHED_MIN 1024u

/* 0 or -ENOMEM; to be freed in any case. */
int hashed_init(struct hashed *h);
void hashed_free(struct hashed *h);
/*
 * Makes room for one number more than there are. 0; -ENOMEM, which is only where the
 * table is nearly full and cannot grow.
 */
int hashed_reserve(struct hashed *h);
/* REQUIRES: a slot is free: reserved, or one was removed. */
void hashed_put(struct hashed *h, uint32_t hash, uint32_t number);
/* REQUIRES: it is there. */
void hashed_remove(struct hashed *h, uint32_t hash, uint32_t number);
/* Gives another number to what has @from. REQUIRES: it is there. */
void hashed_renumber(struct hashed *h, uint32_t hash, uint32_t from,
		     uint32_t to);
/*
 * Halves a table of which less than an eighth is used. True: it was such a table, which
 * stays as large if there is no memory for another.
 */
bool hashed_fit(struct hashed *h);

/* The next number with the hash, at or behind slot *at; 0 = no more. */
static inline uint32_t hashed_next(const struct hashed *h, uint32_t hash,
				   uint32_t *at)
{
	const struct hashed_slot *s;

	do {
		s = &h->slots[*at];
		*at = (*at + 1) & h->mask;
	} while (s->number && s->hash != hash);
	return s->number;
}

/* The first number with the hash, for hashed_next() behind it; 0 = none. */
static inline uint32_t hashed_first(const struct hashed *h, uint32_t hash,
				    uint32_t *at)
{
	*at = hash & h->mask;
	return hashed_next(h, hash, at);
}

#endif
