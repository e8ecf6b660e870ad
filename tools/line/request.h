/*
 * What a command line asks for.
 *
 *	cellctl COMMAND [OPTION | WORD]...	words: STORE TABLE ROW ...
 *
 * options_parse() separates options from words, by one table of all options: a
 * command lists those it takes as bits, so that an option means the same
 * everywhere. Options are stored here as values; the command's parse function
 * (args.h) reads the words. Only then is the store opened.
 */
#ifndef CELLFS_TOOLS_LINE_REQUEST_H
#define CELLFS_TOOLS_LINE_REQUEST_H

#include "store/filter/filter.h"
#include "store/store.h"
#include "tools/shell/typed.h"

/* Bits of options. */
enum {
	O_JSON = 1 << 0,
	O_COLUMNS = 1 << 1,
	O_VERSIONS = 1 << 2,
	O_TIMES = 1 << 3, /* --timerange, --asof */
	O_TIMESTAMP = 1 << 4,
	O_FILTER = 1 << 5,
	O_FAMILY_LIMIT = 1 << 6,
	O_RANGE = 1 << 7, /* --startrow, --stoprow, --rowprefix, --limit */
	O_ORDER = 1 << 8, /* --reversed */
	O_RAW = 1 << 9,
	O_ROWS = 1 << 10,
	O_VALUE = 1 << 11,
	O_TTL = 1 << 12,
	O_FORCE = 1 << 13,
	O_CREATE = 1 << 14,
	O_SCHEMA = 1 << 15,
	O_ALTER = 1 << 16, /* --add, --delete of families */
	O_CAS = 1 << 17,   /* --op, --null, --put, --delete, --cells */
	O_ALL = 1 << 18,
	O_STAMP = 1 << 19, /* --timestamp of written cells */
	O_TABLE = 1 << 20,
	O_JSON_IN = 1 << 21,
	O_RATE = 1 << 22,
	O_RECORDS = 1 << 23,	/* --csv, --tsv, --jsonl, --key */
	O_RECORDS_IN = 1 << 24, /* the same, and --map */
	O_LENGTH = 1 << 25,	/* --maxlength */
	O_INTERVAL = 1 << 26,
	O_BACKUP = 1 << 27,  /* --list, --keep, --keep-log */
	O_RESTORE = 1 << 28, /* --backup, --at */
	O_PROGRESS = 1 << 29,
	O_LOOKS = 1 << 30, /* --interval of time, --count of looks */
	O_HTML = 1LL << 31,
	O_PLOT = 1LL << 32,

	O_SELECT = O_JSON | O_COLUMNS | O_VERSIONS | O_TIMES | O_TIMESTAMP |
		   O_FILTER | O_FAMILY_LIMIT,
	O_SCAN = O_SELECT | O_RANGE | O_ORDER | O_RAW | O_ROWS,
};

struct text_list {
	const char **texts;
	size_t n;
};

struct columns {
	struct column_name *names;
	struct buf *holds;
	const struct typed **types; /* NULL: bytes as they are */
	size_t n, cap[3];
};

struct command;

struct request {
	const struct command *command;
	const char **words; /* STORE, TABLE, ... as many as were given */
	int nwords;
	/* Plain options. */
	bool help, json, values, rows, force, create, all, has_ts, null, cells;
	bool html, plot;
	bool all_versions, list, keeps_log, copies;
	bool writes; /* for a command that otherwise only reads */
	int64_t ts;
	uint64_t ttl_ms, max_length, interval; /* 0 = none */
	uint64_t keep, backup;		       /* 0 = not said */
	uint64_t keep_log;		       /* MiB, if keeps_log */
	uint64_t times;	      /* looks at a mount; 0 = on and on */
	double every_s;	      /* seconds between them */
	uint64_t rate;	      /* MiB a second; 0 = as fast as it goes */
	const char *times_by; /* the option that says which */
	const char *schema_file, *op, *put_column, *of_table;
	struct text_list add, delete;
	const char *format, *key; /* of records */
	struct text_list maps;
	/* What a read asks for. */
	struct scan_spec spec;
	struct columns columns;
	struct buf start, stop, prefix, prefix_stop;
	struct filter *filter;
	/* What a write does; row is used by get, too. */
	struct buf row, value, expected;
	struct columns targets; /* names used by changes and check */
	struct change *changes;
	size_t nchanges;
	struct check check;
	bool checked;
	struct schema schema;	/* of a table to be made */
	struct buf schema_text; /* of schema_file */
	/* Open while the command runs. */
	struct store *store;
	struct table *table;
};

/* 0, or an exit code after the failure was printed. @argv[0] is the command. */
int options_parse(struct request *rq, int argc, char **argv);
/* Prints a line for each option that the command takes. */
void options_help(const struct command *c);
/* The name of the value that the option @word takes; NULL: it takes none. */
const char *options_value(const struct command *c, const char *word);
/* Prints the options of the command that begin with @begun, one a line. */
void options_offer(const struct command *c, const char *begun);
void request_free(struct request *rq);

#endif
