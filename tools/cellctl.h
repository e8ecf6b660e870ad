/*
 * What the commands of cellctl share: arguments, one open store, exit codes.
 *
 * A command is a row of a table: its words, one screen of help, a function.
 * Exit codes: 0 done; 1 nothing found, or a check did not hold; 2 wrong usage;
 * 3 the store could not do it (the message says why).
 */
#ifndef CELLFS_TOOLS_CELLCTL_H
#define CELLFS_TOOLS_CELLCTL_H

#include "store/store.h"

enum {
	EXIT_DONE = 0,
	EXIT_NONE = 1,
	EXIT_USAGE = 2,
	EXIT_STORE = 3
};

struct command {
	const char *name;
	const char *args; /* after the name, for usage */
	const char *line; /* one line for the list of commands */
	const char *help; /* the rest of its screen */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command cellctl_commands[]; /* ends with name NULL */

/* Says the sentence of the last failure; returns EXIT_STORE. */
int fail_store(const char *what);
/* "usage: cellctl NAME ARGS" for the running command; EXIT_USAGE. */
int fail_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Both print their failure. The table is opened in *store too. */
int open_store(const char *path, bool create, bool read_only,
	       struct store **store);
int open_table(const char *path, const char *table, bool read_only,
	       struct store **store, struct table **t);
/* Closes; an error of closing makes an exit code of 0 EXIT_STORE. */
int close_store(struct store *store, struct table *t, int code);

/* A key, family or column as the shell gives it: names are decoded. */
int parse_key(const char *text, struct buf *out);
/* FAMILY[:QUALIFIER] into @hold; *whole says there is no qualifier. */
int parse_column(const char *text, struct buf *hold, struct bytes *family,
		 struct bytes *qualifier, bool *whole);
int parse_ts_arg(const char *text, int64_t *ts);

/* A cell's line (or only its row's) to standard output, through a buffer. */
int print_cell(const struct cell *c, bool row_only);
int print_flush(void);

int cmd_init(int argc, char **argv);
int cmd_tables(int argc, char **argv);
int cmd_create(int argc, char **argv);
int cmd_alter(int argc, char **argv);
int cmd_describe(int argc, char **argv);
int cmd_drop(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_put(int argc, char **argv);
int cmd_delete(int argc, char **argv);
int cmd_scan(int argc, char **argv);
int cmd_count(int argc, char **argv);
int cmd_incr(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_flush(int argc, char **argv);
int cmd_compact(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_bench(int argc, char **argv);

#endif
