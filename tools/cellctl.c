/*
 * cellctl: a store without a mount.
 */
#include "tools/cellctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cellfs-version.h"
#include "fs/cells.h"
#include "fs/name.h"

static const struct command *running;

const struct command cellctl_commands[] = {
	{"init", "STORE", "make an empty store",
	 "Makes the directory STORE and an empty store in it. A store that is\n"
	 "there already is left as it is.\n",
	 cmd_init},
	{"tables", "STORE", "list the tables", "One name a line, sorted.\n",
	 cmd_tables},
	{"create", "STORE TABLE [FAMILY...]", "make a table",
	 "With families the table is fixed: others are refused until they are\n"
	 "declared. Without, families come as they are used. Attributes are\n"
	 "set with alter.\n",
	 cmd_create},
	{"alter", "STORE TABLE < SCHEMA", "replace a table's schema",
	 "Reads a schema as describe prints it. Families may come and change;\n"
	 "one that goes away must hold no cells.\n",
	 cmd_alter},
	{"describe", "STORE TABLE", "print a table's schema",
	 "The text is that of the table's .schema file.\n", cmd_describe},
	{"drop", "STORE TABLE [--force]", "drop a table",
	 "Refuses a table that has rows, unless --force.\n", cmd_drop},
	{"get", "[-n N] [-a TS] [-v] STORE TABLE ROW [FAMILY[:QUALIFIER]...]",
	 "print cells of one row",
	 "  -n N   newest N versions of each column (default 1, 0 = all)\n"
	 "  -a TS  as of this time: versions up to TS, in milliseconds\n"
	 "  -v     only the values, raw, one behind the other\n"
	 "Exits 1 when there is nothing.\n",
	 cmd_get},
	{"put", "STORE TABLE ROW FAMILY:QUALIFIER [VALUE [TS]]",
	 "write one cell",
	 "Without VALUE it is read from standard input as it is.\n", cmd_put},
	{"delete", "STORE TABLE ROW [FAMILY[:QUALIFIER [TS]]]",
	 "delete a row, family, column or version",
	 "Hides what is there; what is written later is seen.\n", cmd_delete},
	{"incr", "STORE TABLE ROW FAMILY:QUALIFIER [N]", "add to a counter",
	 "Counters are 8 bytes, big-endian; absent counts as 0. N is 1 unless\n"
	 "given. Prints the new value.\n",
	 cmd_incr},
	{"scan",
	 "[-n N] [-l ROWS] [-c COLUMN]... [-p PREFIX] [-s START] [-e STOP]\n"
	 "       [-t MIN..MAX] [-r] [--raw] [--rows] STORE TABLE",
	 "print cells of a range",
	 "  -n N         newest N versions of each column (default 1, 0 = "
	 "all)\n"
	 "  -l ROWS      at most so many rows\n"
	 "  -c COLUMN    FAMILY or FAMILY:QUALIFIER, may be repeated\n"
	 "  -p PREFIX    rows that begin with it\n"
	 "  -s, -e ROW   from START, before STOP\n"
	 "  -t MIN..MAX  timestamps, MIN inclusive, MAX exclusive\n"
	 "  -r           rows descending\n"
	 "  --raw        all that is stored, delete markers too\n"
	 "  --rows       only the row keys\n",
	 cmd_scan},
	{"count", "STORE TABLE", "count the rows", "", cmd_count},
	{"import", "[--create] STORE TABLE < CELLS", "read cells as text",
	 "A line is: row TAB family:qualifier TAB timestamp TAB value [TAB "
	 "kind].\n"
	 "An empty timestamp is now. Lines of one row in a row are one atomic\n"
	 "mutation. --create makes the table if it is absent.\n",
	 cmd_import},
	{"export", "STORE TABLE > CELLS", "write all cells as text",
	 "Every version, in order, in the form that import reads.\n",
	 cmd_export},
	{"check", "STORE", "verify a store at rest",
	 "Reads every file and its checksums. Prints one line a fault; exits "
	 "1\n"
	 "when there is any.\n",
	 cmd_check},
	{"stats", "STORE", "print figures of a store", "", cmd_stats},
	{"flush", "STORE", "write memory to table files", "", cmd_flush},
	{"compact", "STORE [TABLE]", "merge all files: hidden cells go", "",
	 cmd_compact},
	{"snapshot",
	 "[-t TABLE] STORE [take NAME | drop NAME | rename NAME TO |\n"
	 "       clone NAME TO [SHOWN] | restore NAME [SHOWN]]",
	 "list, take, drop, clone or restore snapshots",
	 "Of the whole store, or with -t of one table. Without a verb: one "
	 "name\n"
	 "a line, and when it was taken (milliseconds). In a mount these are\n"
	 ".snapshot/NAME and TABLE/.snapshot/NAME.\n"
	 "  clone    makes the new table TO of what the snapshot shows\n"
	 "  restore  puts the table back to it: what was written since is "
	 "gone\n"
	 "SHOWN is the table's name in a snapshot of the whole store; with -t\n"
	 "it is left out.\n",
	 cmd_snapshot},
	{"bench",
	 "[--list] [--only NAME,...] [--engines NAME,...] [--cells N]\n"
	 "       [--runs N] [--seconds S] [--dir DIR] [--json FILE]",
	 "compare with other engines",
	 "Runs named workloads on a store of its own and on the engines that\n"
	 "cellctl was built with, interleaved, and prints medians and ratios.\n"
	 "  --list     names of engines and workloads\n"
	 "  --only     these workloads; NAME* is all that begin so\n"
	 "  --engines  these engines\n"
	 "  --cells    cells of the data (default 5000000)\n"
	 "  --runs     of each workload (default 3)\n"
	 "  --seconds  of a workload that reads (default 1)\n"
	 "  --dir      where files are made, and removed (default .)\n"
	 "  --json     all figures of all runs, to FILE\n"
	 "Exits 1 when an engine failed or answered wrong.\n",
	 cmd_bench},
	{0},
};

static int print_help(const struct command *c)
{
	printf("usage: cellctl %s %s\n\n%s.\n%s", c->name, c->args, c->line,
	       c->help);
	return EXIT_DONE;
}

static int print_commands(FILE *to, int code)
{
	fprintf(to, "usage: cellctl COMMAND ...\n\n");
	for (const struct command *c = cellctl_commands; c->name; c++)
		fprintf(to, "  %-9s %s\n", c->name, c->line);
	fprintf(to, "\ncellctl COMMAND --help says more. STORE is a directory "
		    "that is not mounted;\nrow keys and qualifiers are spelled "
		    "as in the mounted tree (%%HH for odd bytes).\n"
		    "Exit codes: 0 done, 1 nothing found or faults found, 2 "
		    "usage, 3 failure.\n");
	return code;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return print_commands(stderr, EXIT_USAGE);
	if (!strcmp(argv[1], "--version")) {
		printf("cellctl %s\n", CELLFS_VERSION);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
		return print_commands(stdout, EXIT_DONE);
	for (const struct command *c = cellctl_commands; c->name; c++) {
		if (strcmp(argv[1], c->name) != 0)
			continue;
		if (argc > 2 && !strcmp(argv[2], "--help"))
			return print_help(c);
		running = c;
		return c->run(argc - 1, argv + 1);
	}
	fprintf(stderr, "cellctl: no command '%s'\n", argv[1]);
	return print_commands(stderr, EXIT_USAGE);
}

int fail_store(const char *what)
{
	fflush(stdout);
	fprintf(stderr, "cellctl: %s: %s\n", what,
		store_why()[0] ? store_why() : "failed");
	return EXIT_STORE;
}

int fail_usage(const char *fmt, ...)
{
	va_list ap;

	if (fmt) {
		fprintf(stderr, "cellctl: ");
		va_start(ap, fmt);
		vfprintf(stderr, fmt, ap);
		va_end(ap);
		fprintf(stderr, "\n");
	}
	fprintf(stderr, "usage: cellctl %s %s\n", running->name, running->args);
	return EXIT_USAGE;
}

int open_store(const char *path, bool create, bool read_only,
	       struct store **store)
{
	struct store_options o = {.create = create, .read_only = read_only};
	int r = store_open(path, &o, store);

	if (r == 0)
		return EXIT_DONE;
	fail_store(path);
	if (r == -EBUSY)
		fputs("  unmount it first, or work in the mount\n", stderr);
	if (r == -ENOENT && !create)
		fprintf(stderr, "  to make a store: cellctl init %s\n", path);
	return EXIT_STORE;
}

int open_table(const char *path, const char *table, bool read_only,
	       struct store **store, struct table **t)
{
	int code = open_store(path, false, read_only, store);

	if (code)
		return code;
	if (table_open(*store, bytes_str(table), t) == 0)
		return EXIT_DONE;
	code = fail_store(path);
	fprintf(stderr, "  which there are: cellctl tables %s\n", path);
	return close_store(*store, NULL, code);
}

int close_store(struct store *store, struct table *t, int code)
{
	int r;

	table_unref(t);
	r = store_close(store);
	if (r < 0 && code == EXIT_DONE)
		return fail_store("closing the store");
	return code;
}

int parse_key(const char *text, struct buf *out)
{
	if (name_decode(bytes_str(text), out) == 0)
		return EXIT_DONE;
	fprintf(stderr, "cellctl: '%s' is no key: %s\n", text, store_why());
	return EXIT_USAGE;
}

int parse_column(const char *text, struct buf *hold, struct bytes *family,
		 struct bytes *qualifier, bool *whole)
{
	const char *colon = strchr(text, ':');
	struct buf q = {0};
	size_t n;
	int r;

	*whole = !colon;
	n = colon ? (size_t)(colon - text) : strlen(text);
	hold->len = 0;
	r = buf_append(hold, text, n);
	if (r == 0 && colon && colon[1])
		r = name_decode(bytes_str(colon + 1), &q);
	if (r == 0)
		r = buf_append(hold, q.data, q.len);
	if (r < 0)
		fprintf(stderr, "cellctl: '%s' is no column: %s\n", text,
			store_why());
	*family = bytes_of(hold->data, n);
	*qualifier = bytes_of(hold->data + n, q.len);
	buf_free(&q);
	return r < 0 ? EXIT_USAGE : EXIT_DONE;
}

int parse_ts_arg(const char *text, int64_t *ts)
{
	if (name_parse_ts(bytes_str(text), ts))
		return EXIT_DONE;
	return fail_usage("'%s' is no timestamp (milliseconds since 1970)",
			  text);
}

static struct buf output;

int print_flush(void)
{
	size_t n = fwrite(output.data, 1, output.len, stdout);
	bool bad = n < output.len || fflush(stdout) != 0;

	output.len = 0;
	if (!bad)
		return EXIT_DONE;
	fprintf(stderr, "cellctl: cannot write the output: %s\n",
		strerror(errno));
	return EXIT_STORE;
}

int print_cell(const struct cell *c, bool row_only)
{
	int r = row_only ? cells_format_name(c->row, &output)
			 : cells_format(c, &output);

	if (r == 0 && row_only)
		r = buf_append(&output, "\n", 1);
	if (r < 0) {
		why(-ENOMEM, "out of memory");
		return fail_store("printing");
	}
	return output.len >= 1 << 16 ? print_flush() : EXIT_DONE;
}
