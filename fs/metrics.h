/*
 * Figures of a mount as Prometheus reads them, and how long requests take.
 *
 * A request's time is from its arrival in the daemon to the end of its
 * function, the reply included. The buckets of a histogram grow by half a
 * decade, from 10 microseconds.
 */
#ifndef CELLFS_FS_METRICS_H
#define CELLFS_FS_METRICS_H

#include <stdatomic.h>

#include "store/bytes.h"

struct fs;

#define LATENCY_BUCKETS 13

struct latency {
	_Atomic uint64_t buckets[LATENCY_BUCKETS]; /* the last: all slower */
	_Atomic uint64_t ns;			   /* of all together */
};

uint64_t metrics_now_ns(void);
void latency_add(struct latency *l, uint64_t ns);

/* The name of an enum fs_op. */
const char *metrics_op_name(unsigned op);
/* Appends the text of .cellfs/metrics. 0 or -ENOMEM. */
int metrics_text(struct fs *fs, struct buf *out);

#endif
