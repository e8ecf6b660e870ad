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
 *	rescue	 KIND TAB ...		 {"lost":FILE,"offset":,...}
 *	schema	 as in .schema		 {"table":,"families":,"mode":,"uid":,
 *					  "gid":,"family":[{"name":,...}]}
 *
 * Bytes that are not UTF-8 are in a member NAME_base64 (json.h). Output is
 * buffered until print_end(). Each function returns 0, or an exit code after it
 * has printed the failure.
 */
#ifndef CELLFS_TOOLS_LINE_PRINT_H
#define CELLFS_TOOLS_LINE_PRINT_H

#include "fs/text/cells_frame.h"

/* Selects JSON for all later output. */
void print_json(void);

int print_cell(const struct cell *c);
/* Prints bytes as they are. */
int print_raw(struct bytes b);
int print_row(struct bytes row);
/* An export: its head, each cell, its end. The checksum is that of the text. */
int print_head(struct cells_frame *f, const struct schema *schema);
int print_framed(struct cells_frame *f, const struct cell *c);
int print_tail(struct cells_frame *f);
/* A counter: the number only; in JSON a cell with "counter" for "value". */
int print_counter(const struct cell *c, int64_t n);
/* A name or a sentence, as @what says: a table's, say, or a fault. */
int print_name(const char *what, const char *name);
/* A namespace, and how many tables are in it. */
int print_namespace(const char *name, uint64_t tables);
int print_figure(const char *what, uint64_t n);
/* In JSON only: otherwise the exit code says it. */
int print_truth(const char *what, bool truth);
int print_schema(const char *table, const struct schema *schema);
int print_stat(const struct store_stat *st);
/* A store, mounted or not. */
struct print_status {
	const char *store, *mountpoint; /* NULL: it is not mounted */
	const char *trouble; /* why it takes no writes; NULL: it does */
	bool unknown;	     /* nobody can ask: trouble says why */
	bool told;	     /* files, and what follows */
	uint64_t tables, files, bytes, damaged;
};
int print_status(const struct print_status *st);
/* @info NULL: the store does not tell. @quota 0: it has none. */
int print_status_table(const char *name, const struct table_info *info,
		       uint64_t quota);
int print_faults(const char *store, int faults);
int print_rescue(const struct store_rescue *news);
/* A backup of a list, and one that was made or restored. */
int print_backup(uint64_t number, int64_t taken_ms, uint64_t files,
		 uint64_t bytes, uint64_t log);
int print_backup_made(uint64_t number, uint64_t files, uint64_t bytes,
		      uint64_t carried_files, uint64_t carried,
		      int64_t moment_ms);
int print_snapshot(const struct snapshot_info *info);
int print_end(void);
/* Has who reads the output left? Output then fails without a word. */
bool print_has_left(void);

#endif
