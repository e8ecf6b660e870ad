#include "fs/kernel/gone.h"

#include <errno.h>

static _Atomic uint64_t *slot(struct gone *g, pid_t who)
{
	return &g->told[(unsigned)who % GONE_SLOTS];
}

int gone_tell(struct gone *g, pid_t who, uint64_t ino)
{
	uint64_t key = ino ^ (uint64_t)(unsigned)who << 32;

	if (atomic_exchange(slot(g, who), key) != key)
		return -ESTALE;
	gone_forget(g, who);
	return -ENOENT;
}

void gone_forget(struct gone *g, pid_t who)
{
	if (atomic_load(slot(g, who)))
		atomic_store(slot(g, who), 0);
}

/* How far a walk is after ESTALE. */
enum {
	WALK_BEGINS,
	WALK_ABSENT, /* one look-up found nothing */
	WALK_HELD,   /* it is there, and attributes are asked for next */
	WALK_STEPS,
};

/* The walk of that thread to that file, at that step; never 0. */
static uint64_t walk(pid_t who, uint64_t ino, unsigned step)
{
	uint64_t key = ino ^ (uint64_t)(unsigned)who << 32;

	return (key | 3) - step;
}

static _Atomic uint64_t *walk_slot(struct gone *g, pid_t who)
{
	return &g->walks[(unsigned)who % GONE_SLOTS];
}

bool gone_again(struct gone *g, pid_t who, uint64_t ino)
{
	uint64_t was = atomic_load(walk_slot(g, who));
	bool again = was == walk(who, ino, WALK_HELD);

	atomic_store(walk_slot(g, who),
		     again ? 0 : walk(who, ino, WALK_BEGINS));
	return again;
}

bool gone_looked_up(struct gone *g, pid_t who, uint64_t ino, bool present)
{
	uint64_t was = atomic_load(walk_slot(g, who)), now = 0;
	unsigned step = 0;

	if (was == 0)
		return true;
	while (step < WALK_STEPS && was != walk(who, ino, step))
		step++;
	if (step == WALK_STEPS)
		return true;
	if (present)
		now = walk(who, ino, WALK_HELD);
	else if (step == WALK_BEGINS)
		now = walk(who, ino, WALK_ABSENT);
	atomic_store(walk_slot(g, who), now);
	return !present;
}

void gone_found(struct gone *g, pid_t who)
{
	if (atomic_load(walk_slot(g, who)))
		atomic_store(walk_slot(g, who), 0);
}
