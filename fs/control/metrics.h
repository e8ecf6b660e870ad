/* The metrics of a mount, in the format of Prometheus. */
#ifndef CELLFS_FS_CONTROL_METRICS_H
#define CELLFS_FS_CONTROL_METRICS_H

#include "store/value/bytes.h"

struct fs;

/* Appends the text of .cellfs/metrics. 0, or what a backend fails with. */
int metrics_text(struct fs *fs, struct buf *out);

#endif
