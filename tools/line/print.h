/*
 * What commands print: text for people and pipes, or with --json an object a
 * line for programs.
 *
 *	cell	 .cells (cells.h)	 {"row":,"family":,"qualifier":,
 *					  "timestamp":,"value":[,"ttl":]
 *					  [,"kind":]}
 *	notes	 cells_frame.h	 {"export":1} {"schema":LINE}
 *					 {"cells":,"xxh64":}
 *	name	 NAME			 {"table":NAME}
 *	schema	 as in .schema		 {"table":,"families":,"mode":,"uid":,
 *					  "gid":,"family":[{"name":,...}]}
 *
 * Bytes that are not UTF-8 are in a member NAME_base64 (json.h). Output goes
 * through a buffer that print_end() empties. Each function returns 0 or an exit
 * code with the failure said.
 */
#ifndef CELLFS_TOOLS_LINE_PRINT_H
#define CELLFS_TOOLS_LINE_PRINT_H

#include "fs/text/cells_frame.h"

/* From here on JSON. */
void print_json(void);

int print_cell(const struct cell *c);
/* The value alone, raw. */
int print_value(const struct cell *c);
int print_row(struct bytes row);
/* An export: its head, a cell of it, its end. The sum is that of the text. */
int print_head(struct cells_frame *f, const struct schema *schema);
int print_framed(struct cells_frame *f, const struct cell *c);
int print_tail(struct cells_frame *f);
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
