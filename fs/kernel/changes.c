#include "fs/kernel/changes.h"

#include <xxhash.h>

/* Less than the part of a key that any piece of a name covers. */
#define BYTES_TOLD_APART 64

static _Atomic uint64_t *slot(struct changes *ch, struct bytes key)
{
	uint64_t hash = XXH3_64bits(key.data, key.len < BYTES_TOLD_APART
						      ? key.len
						      : BYTES_TOLD_APART);

	return &ch->last[hash % CHANGES_SLOTS];
}

/* Of two concurrent changes the later time is kept. */
static void mark(struct changes *ch, _Atomic uint64_t *at)
{
	uint64_t now = atomic_fetch_add(&ch->clock, 1) + 1;
	uint64_t was = atomic_load(at);

	while (was < now && !atomic_compare_exchange_weak(at, &was, now))
		;
}

uint64_t changes_now(struct changes *ch)
{
	return atomic_load(&ch->clock);
}

void changes_row(struct changes *ch, struct bytes key)
{
	mark(ch, slot(ch, key));
}

void changes_all(struct changes *ch)
{
	mark(ch, &ch->all);
}

bool changes_since(struct changes *ch, struct bytes key, uint64_t seen)
{
	return atomic_load(slot(ch, key)) > seen ||
	       atomic_load(&ch->all) > seen;
}

uint64_t changes_last(struct changes *ch, struct bytes key)
{
	uint64_t row = atomic_load(slot(ch, key)), all = atomic_load(&ch->all);

	return row > all ? row : all;
}
