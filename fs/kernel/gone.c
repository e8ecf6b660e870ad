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
