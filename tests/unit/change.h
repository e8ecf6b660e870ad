/* A change of one cell, and a mutation that is one change. */
#ifndef CELLFS_TESTS_UNIT_CHANGE_H
#define CELLFS_TESTS_UNIT_CHANGE_H

#include "store/value/cell.h"

static inline struct change a_put(const char *family, const char *qualifier,
				  int64_t ts, const char *value)
{
	return (struct change){.op = CHANGE_PUT,
			       .family = bytes_str(family),
			       .qualifier = bytes_str(qualifier),
			       .ts = ts,
			       .value = bytes_str(value)};
}

static inline struct mutation change_of(const char *row, struct change *c)
{
	return (struct mutation){
		.row = bytes_str(row), .changes = c, .nchanges = 1};
}

#endif
