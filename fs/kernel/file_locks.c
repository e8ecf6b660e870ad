#include "fs/kernel/file_locks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fs/kernel/node.h"

/* A line is "1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE START END". */
static bool is_locked(uint64_t ino)
{
	FILE *locks = fopen("/proc/locks", "re");
	char line[256], want[32];
	bool found = false;

	if (!locks)
		return false;
	snprintf(want, sizeof(want), ":%" PRIu64 " ", ino);
	while (!found && fgets(line, sizeof(line), locks))
		found = strstr(line, want) != NULL;
	fclose(locks);
	return found;
}

bool file_locks_let_renew(struct nodes *ns, uint64_t id)
{
	uint64_t ino;

	if (!nodes_caching(ns, id, &ino))
		return false;
	if (!is_locked(ino))
		return true;
	nodes_keep(ns, id);
	return false;
}
