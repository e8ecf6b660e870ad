/*
 * The prefixes of rows that requests are for, of the lines of .cellfs/trace.
 *
 *	WHEN TAB 0.120 ms TAB read TAB ok TAB /notes/user17/d:text
 *					       ▔▔▔▔▔▔▔▔▔▔ is for notes/user
 *
 * A prefix is a table and the first HEAT_PREFIX characters of a row's name, as
 * TABLE/.prefix/P takes them; a request that names no row counts for none. Of
 * more than HEAT_MAX prefixes those that came later are not counted, until the
 * counts begin anew.
 */
#ifndef CELLFS_TOOLS_WATCH_HEAT_H
#define CELLFS_TOOLS_WATCH_HEAT_H

#include <stddef.h>
#include <stdint.h>

#define HEAT_PREFIX 4
#define HEAT_MAX 512

struct heat_prefix {
	char name[256 + 4 * HEAT_PREFIX + 2]; /* TABLE/P */
	uint64_t requests;
};

struct heat {
	struct heat_prefix all[HEAT_MAX];
	size_t n;
};

/* Counts the request of one line, which ends with NUL. */
void heat_add(struct heat *h, const char *line);
/* Puts those with the most requests first. */
void heat_sort(struct heat *h);

#endif
