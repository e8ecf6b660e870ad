/*
 * Rows of a table as records: of each column the newest version.
 *
 * A format with a head needs all columns before the first row: those of --columns,
 * in that order, or else those that a first scan finds. A record is the memory
 * that this takes, and the columns' names.
 */
#ifndef CELLFS_TOOLS_FEED_GIVE_H
#define CELLFS_TOOLS_FEED_GIVE_H

#include "tools/line/request.h"

/*
 * Prints all that the request selects, about @cells (0: not known). An exit code.
 */
int give_all(struct request *rq, uint64_t cells);

#endif
