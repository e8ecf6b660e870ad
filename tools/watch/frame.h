/*
 * What a mount did between two looks at its metrics, in lines.
 *
 * Rates are by the second. A figure that is not in the metrics, as some are not
 * over HBase, is 0, and a part without figures has no line.
 */
#ifndef CELLFS_TOOLS_WATCH_FRAME_H
#define CELLFS_TOOLS_WATCH_FRAME_H

#include "store/value/bytes.h"
#include "tools/watch/heat.h"
#include "tools/watch/samples.h"

/* How many operations, calls, tables and prefixes are shown: the busiest. */
#define FRAME_ROWS 5

struct frame {
	const char *title;
	const struct samples *before, *now;
	double seconds;	     /* between them */
	struct heat *heat;   /* in that time; NULL: see no_heat */
	const char *no_heat; /* why there is none */
};

/* Sorts f->heat. 0 or -ENOMEM. */
int frame_text(const struct frame *f, struct buf *out);

#endif
