#include "fs/kernel/gone.h"

#include <errno.h>

#include <xxhash.h>

/* How far a thread is since it was told. */
enum step {
	TOLD,
	ABSENT, /* one look-up found nothing */
	LOST,	/* so did the next: only a look-up that finds it goes on */
	HELD,	/* a look-up found it: attributes are asked for next */
	STATED, /* it has attributes, and may open it */
	STEPS,
};

static _Atomic uint64_t *slot(struct gone *g, pid_t who)
{
	return &g->told[(unsigned)who % GONE_SLOTS];
}

/* The record of that thread, that file and that step; never 0. */
static uint64_t record(pid_t who, uint64_t ino, enum step step)
{
	uint64_t key = ino ^ (uint64_t)(unsigned)who << 32;

	/* The product tells by its upper bits what differs in the lowest. */
	return (key * 0x9e3779b97f4a7c15 | 7) - step;
}

/* STEPS when the thread was told nothing of the file. */
static enum step step_of(struct gone *g, pid_t who, uint64_t ino)
{
	uint64_t behind = record(who, ino, TOLD) - atomic_load(slot(g, who));

	return behind < STEPS ? (enum step)behind : STEPS;
}

static void set_step(struct gone *g, pid_t who, uint64_t ino, enum step step)
{
	atomic_store(slot(g, who), record(who, ino, step));
}

/* In one word: no thread has the file of one sight and the time of another. */
static uint64_t sight(uint64_t node, uint64_t last)
{
	return XXH3_64bits_withSeed(&node, sizeof(node), last) | 1;
}

void gone_saw(struct gone *g, uint64_t node, uint64_t last)
{
	atomic_store(&g->found[node % GONE_SLOTS], sight(node, last));
}

bool gone_stays(struct gone *g, uint64_t node, uint64_t last)
{
	return atomic_load(&g->found[node % GONE_SLOTS]) == sight(node, last);
}

void gone_renewed(struct gone *g, uint64_t ino, int64_t now_ms)
{
	uint64_t turn = (uint64_t)now_ms / GONE_WALK_MS;

	atomic_store(&g->renewed[ino % GONE_SLOTS], sight(ino, turn));
}

bool gone_is_renewed(struct gone *g, uint64_t ino, int64_t now_ms)
{
	uint64_t turn = (uint64_t)now_ms / GONE_WALK_MS;
	uint64_t is = atomic_load(&g->renewed[ino % GONE_SLOTS]);

	return is && (is == sight(ino, turn) || is == sight(ino, turn - 1));
}

void gone_forget(struct gone *g, pid_t who)
{
	if (atomic_load(slot(g, who)))
		atomic_store(slot(g, who), 0);
}

static void begin(struct gone *g, pid_t who, uint64_t ino, int64_t now_ms)
{
	atomic_store(&g->at_ms[(unsigned)who % GONE_SLOTS], now_ms);
	set_step(g, who, ino, TOLD);
}

int gone_tell(struct gone *g, pid_t who, uint64_t ino, int64_t now_ms)
{
	enum step step = step_of(g, who, ino);

	if (step == STEPS || step == LOST) {
		begin(g, who, ino, now_ms);
		return -ESTALE;
	}
	gone_forget(g, who);
	return -ENOENT;
}

/* Can what the thread asks be of the walk that followed its ESTALE? */
static bool is_same_walk(struct gone *g, pid_t who, int64_t now_ms)
{
	int64_t at_ms = atomic_load(&g->at_ms[(unsigned)who % GONE_SLOTS]);

	return now_ms - at_ms < GONE_WALK_MS;
}

/*
 * May the thread ask for attributes next? After its look-up it may; and after
 * another thread's, or once more, as long as that can be the same walk.
 */
static bool is_due(struct gone *g, pid_t who, enum step step, int64_t now_ms)
{
	return step == HELD ||
	       (step != STEPS && step != LOST && is_same_walk(g, who, now_ms));
}

bool gone_again(struct gone *g, pid_t who, uint64_t ino, int64_t now_ms)
{
	bool again = is_due(g, who, step_of(g, who, ino), now_ms);

	if (again)
		set_step(g, who, ino, STATED);
	else
		begin(g, who, ino, now_ms);
	return again;
}

bool gone_looked_up(struct gone *g, pid_t who, uint64_t ino, bool present,
		    int64_t now_ms)
{
	enum step step = step_of(g, who, ino);

	if (step == STEPS)
		return true;
	if (step == STATED || (step == LOST && !is_same_walk(g, who, now_ms))) {
		gone_forget(g, who);
		return true;
	}
	if (present)
		set_step(g, who, ino, HELD);
	else
		set_step(g, who, ino, step == TOLD ? ABSENT : LOST);
	return !present;
}

void gone_found(struct gone *g, pid_t who, uint64_t ino, int64_t now_ms)
{
	enum step step = step_of(g, who, ino);

	if (is_due(g, who, step, now_ms))
		set_step(g, who, ino, STATED);
	else if (step != STEPS)
		gone_forget(g, who);
}
