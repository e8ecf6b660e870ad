/*
 * What a caller of store.h may ask for.
 *
 * Pure checks of arguments, made once for all backends: the lengths and
 * ranges of the data model, known operators, bounds that cannot be met by
 * anything. Each returns 0, or a negative errno with a sentence that names the
 * value, the rule and what to do.
 */
#ifndef CELLFS_STORE_FRONT_ARGS_H
#define CELLFS_STORE_FRONT_ARGS_H

#include "store/store.h"

/* Limits of a mutation, which is one log record, held in memory whole. */
#define MUTATION_CHANGES_MAX (1u << 20)
#define MUTATION_BYTES_MAX (512u << 20)
#define SCAN_COLUMNS_MAX (1u << 16)

int args_row(struct bytes row);
/* Checks for a real timestamp: neither TS_AUTO nor TS_CLOCK. */
int args_ts(int64_t ts);
/* args_column() with a sentence about the part that is wrong. */
int args_column_why(struct bytes row, struct bytes family,
		    struct bytes qualifier);
int args_mutation(const struct mutation *m);
int args_scan(const struct scan_spec *spec);
/* Checks the name of a snapshot. */
int args_snapshot(struct bytes name);
/* Checks the name of a family that is to be, which the mount shows as a file's. */
int args_family(struct bytes name);
/* Checks the names, their order and every attribute. */
int args_schema(const struct schema *s);

static inline int args_column(struct bytes row, struct bytes family,
			      struct bytes qualifier)
{
	/* An empty name is refused: its length - 1 wraps around. */
	if (row.len - 1 < ROW_LEN_MAX && family.len - 1 < FAMILY_LEN_MAX &&
	    qualifier.len <= QUALIFIER_LEN_MAX)
		return 0;
	return args_column_why(row, family, qualifier);
}

#endif
