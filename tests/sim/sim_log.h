/* The insides of a simulated disk: what os_sim.c writes, crash.c reads. */
#ifndef CELLFS_TESTS_SIM_SIM_LOG_H
#define CELLFS_TESTS_SIM_SIM_LOG_H

#include <pthread.h>

#include "tests/sim/disk.h"
#include "tests/sim/os_sim.h"

enum sim_kind {
	SIM_WRITE, /* and store to a mapping */
	SIM_RESIZE,
	SIM_ALLOCATE, /* zero all, then resize */
	SIM_SYNC,
	SIM_SYNC_WRITE, /* of the entry before, and what it lies over */
	SIM_LOST_SYNC,	/* value: seed of what is lost */
	SIM_LINK,	/* created */
	SIM_RENAME,
	SIM_UNLINK,
	SIM_SYNC_DIR,
	SIM_MARK,
};

struct sim_entry {
	uint8_t kind;
	uint32_t dir, ino;
	size_t off, len; /* SIM_MARK: off = kind of mark */
	uint64_t value;
	uint8_t *data;
	char name[SIM_NAME_MAX], to[SIM_NAME_MAX];
};

struct sim_ignored {
	unsigned kinds;
	char prefix[SIM_NAME_MAX];
	uint64_t left; /* syncs before the one; 0 = it is over */
	bool all;
};

struct sim {
	struct os base;
	pthread_mutex_t lock;
	struct disk start, now;
	char (*dirs)[256];
	int *locks; /* of them: who shares one, -1: alone */
	size_t ndirs;
	struct sim_entry *log;
	size_t nlog, log_cap;
	struct sim_inode *open; /* by number: what only handles know */
	size_t nopen;
	uint64_t seed, ticks, space;
	int64_t now_ms;
	uint64_t fdatasyncs, dir_syncs;
	struct sim_ignored ignored[4];
	size_t nignored;
	int handles; /* open files and directories */
};

static inline struct sim *sim_of(const struct os *os)
{
	return (struct sim *)(uintptr_t)os;
}

/* splitmix64 */
static inline uint64_t sim_chance(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static inline bool sim_is_data(const struct sim_entry *e)
{
	return e->kind <= SIM_ALLOCATE;
}

static inline bool sim_is_dir(const struct sim_entry *e)
{
	return e->kind == SIM_LINK || e->kind == SIM_RENAME ||
	       e->kind == SIM_UNLINK;
}

/* Does to the disk what the entry says, whole. */
void sim_apply(struct disk *d, const struct sim_entry *e);
/* A new simulation of @named's directories that takes over @d. */
struct os *sim_from(const struct sim *named, struct disk *d, uint64_t seed);

#endif
