/*
 * What commands print: text for people and pipes, or with --json an object a
 * line for programs.
 *
 *	cell	 .cells (fs/cells.h)	 {"row":,"family":,"qualifier":,
 *					  "timestamp":,"value":[,"ttl":]
 *					  [,"kind":]}
 *	name	 NAME			 {"table":NAME}
 *	schema	 as in .schema		 {"table":,"families":,"mode":,"uid":,
 *					  "gid":,"family":[{"name":,...}]}
 *
 * Bytes that are not UTF-8 are in a member NAME_base64 (json.h). Output goes
 * through a buffer that print_end() empties. Each function returns 0 or an exit
 * code with the failure said.
 */
#ifndef CELLFS_TOOLS_PRINT_H
#define CELLFS_TOOLS_PRINT_H

#include "store/store.h"

/* From here on JSON. */
void print_json(void);

int print_cell(const struct cell *c);
/* The value alone, raw. */
int print_value(const struct cell *c);
int print_row(struct bytes row);
/* A counter's cell: only the number, or a cell with "counter" for "value". */
int print_counter(const struct cell *c, int64_t n);
/* A table or a namespace (@what). */
int print_name(const char *what, const char *name);
int print_figure(const char *what, uint64_t n);
/* Only in JSON: the exit code says it else. */
int print_truth(const char *what, bool truth);
int print_schema(const char *table, const struct schema *schema);
int print_stat(const struct store_stat *st);
int print_fault(const char *sentence);
int print_faults(const char *store, int faults);
int print_snapshot(const struct snapshot_info *info);
int print_end(void);

#endif
