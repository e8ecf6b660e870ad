/* What the kernel says of the memory at an address. Comes behind cmocka.h. */
#ifndef CELLFS_TESTS_UNIT_SMAPS_H
#define CELLFS_TESTS_UNIT_SMAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The flags of the mapping that has the address, as /proc/self/smaps tells. */
static inline bool flags_at(const void *at, char *flags, size_t size)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long begin, end;
	bool here = false, found = false;
	char line[512];

	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			here = (uintptr_t)at >= begin && (uintptr_t)at < end;
		found = here && !strncmp(line, "VmFlags:", 8);
	}
	fclose(f);
	snprintf(flags, size, "%s", found ? line + 8 : "");
	return found;
}

#endif
