#include "fs/kernel/changes.h"

#include <xxhash.h>

/* Keys are told apart by so many bytes: every piece of a long name has more. */
#define BYTES_TOLD_APART 64

static uint64_t hash_of(struct bytes key)
{
	return XXH3_64bits(key.data, key.len < BYTES_TOLD_APART
					     ? key.len
					     : BYTES_TOLD_APART);
}

static _Atomic uint64_t *slot(struct changes *ch, struct bytes key)
{
	return &ch->last[hash_of(key) % CHANGES_SLOTS];
}

static _Atomic uint32_t *under_way(struct changes *ch, struct bytes key)
{
	return &ch->under_way[hash_of(key) % CHANGES_SLOTS];
}

static _Atomic uint64_t *whole(struct changes *ch, struct bytes key)
{
	return &ch->whole[hash_of(key) % CHANGES_DIRS];
}

/* The hash of the family @name in a row of that hash, or of the column in a family. */
static uint64_t hash_in(uint64_t above, struct bytes name)
{
	return XXH3_64bits_withSeed(name.data, name.len, above);
}

/* That of the family in which the directory is, or of the column. */
static _Atomic uint64_t *inside(struct changes *ch,
				const struct changes_dir *dir)
{
	uint64_t hash = hash_in(hash_of(dir->row), dir->family);

	if (dir->depth == CHANGES_COLUMN)
		hash = hash_in(hash + 1, dir->qualifier);
	return &ch->inside[hash % CHANGES_DIRS];
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

void changes_begin(struct changes *ch, struct bytes key)
{
	atomic_fetch_add(under_way(ch, key), 1);
}

void changes_end(struct changes *ch, struct bytes key)
{
	atomic_fetch_sub(under_way(ch, key), 1);
}

void changes_begin_all(struct changes *ch)
{
	atomic_fetch_add(&ch->all_under_way, 1);
}

void changes_end_all(struct changes *ch)
{
	atomic_fetch_sub(&ch->all_under_way, 1);
}

bool changes_under_way(struct changes *ch, struct bytes key)
{
	return atomic_load(under_way(ch, key)) > 0 ||
	       atomic_load(&ch->all_under_way) > 0;
}

void changes_in(struct changes *ch, const struct changes_dir *dir)
{
	uint64_t hash = hash_of(dir->row);

	mark(ch, &ch->last[hash % CHANGES_SLOTS]);
	if (dir->depth == CHANGES_ROW) {
		mark(ch, &ch->whole[hash % CHANGES_DIRS]);
		return;
	}
	hash = hash_in(hash, dir->family);
	mark(ch, &ch->inside[hash % CHANGES_DIRS]);
	if (dir->depth == CHANGES_COLUMN) {
		hash = hash_in(hash + 1, dir->qualifier);
		mark(ch, &ch->inside[hash % CHANGES_DIRS]);
	}
}

void changes_row(struct changes *ch, struct bytes key)
{
	changes_in(ch, &(struct changes_dir){CHANGES_ROW, .row = key});
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

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t changes_names(struct changes *ch, const struct changes_dir *dir)
{
	if (dir->depth == CHANGES_ROW)
		return changes_last(ch, dir->row);
	return later(atomic_load(&ch->all),
		     later(atomic_load(whole(ch, dir->row)),
			   atomic_load(inside(ch, dir))));
}

uint64_t changes_last(struct changes *ch, struct bytes key)
{
	return later(atomic_load(slot(ch, key)), atomic_load(&ch->all));
}
