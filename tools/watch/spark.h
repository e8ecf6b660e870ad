/*
 * Numbers as a line of bars, ▁▂▃▄▅▆▇█, and what they are together.
 */
#ifndef CELLFS_TOOLS_WATCH_SPARK_H
#define CELLFS_TOOLS_WATCH_SPARK_H

#include <stddef.h>

/* Room for a line of so many bars. */
#define SPARK_ROOM(n) (3 * (n) + 1)

/*
 * A bar a number, the greatest one full; nothing is a blank, and whatever is
 * more than nothing has the least bar.
 */
void spark_line(const double *numbers, size_t n, char *out);
/*
 * Of a histogram's buckets, the one in which the share @q (0 to 1) of all is
 * reached; @n when they are empty.
 */
size_t spark_quantile(const double *buckets, size_t n, double q);

#endif
