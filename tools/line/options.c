/* The table of all options, and getopt_long over it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/line/args.h"
#include "tools/line/fail.h"
#include "fs/text/nearest.h"
#include "tools/progress/progress.h"

/* The meaning of an option; several names may share one. */
enum {
	W_HELP = 256, /* greater than any letter */
	W_ASOF,
	W_COLUMN,
	W_STOPROW,
	W_LIMIT,
	W_VERSIONS,
	W_ROWPREFIX,
	W_REVERSED,
	W_STARTROW,
	W_TIMERANGE,
	W_VALUES,
	W_JSON,
	W_COLUMNS,
	W_TIMESTAMP,
	W_FILTER,
	W_STORELIMIT,
	W_STOREOFFSET,
	W_RAW,
	W_ROWS,
	W_TTL,
	W_FORCE,
	W_CREATE,
	W_SCHEMA,
	W_ADD,
	W_DELETE,
	W_OP,
	W_NULL,
	W_PUT,
	W_CELLS,
	W_ALL,
	W_TABLE,
	W_RATE,
	W_CSV,
	W_TSV,
	W_JSONL,
	W_KEY,
	W_MAP,
	W_MAXLENGTH,
	W_INTERVAL,
	W_LIST,
	W_KEEP,
	W_BACKUP,
	W_AT,
	W_PROGRESS,
	W_EVERY,
	W_TIMES,
	W_HTML,
	W_PLOT,
	W_KEEP_LOG,
	W_COPY,
};

static const struct option_word {
	const char *name;
	char letter; /* 0 = none */
	int what;
	const char *arg;  /* name of its value; NULL = it has none */
	uint64_t takers;  /* O_ bits of commands that take it */
	const char *help; /* NULL = another name of the option before */
} option_words[] = {
	{"columns", 0, W_COLUMNS, "LIST", O_COLUMNS,
	 "FAMILY or FAMILY:QUALIFIER, with commas"},
	{"column", 'c', W_COLUMN, "COLUMN", O_COLUMNS,
	 "one, may contain a comma; may be repeated"},
	{"versions", 'n', W_VERSIONS, "N", O_VERSIONS,
	 "newest N versions of each column, or all"},
	{"timerange", 't', W_TIMERANGE, "MIN..MAX", O_TIMES,
	 "only timestamps >= MIN and < MAX"},
	{"asof", 'a', W_ASOF, "TS", O_TIMES, "only timestamps up to TS"},
	{"timestamp", 0, W_TIMESTAMP, "TS", O_TIMESTAMP, "only this timestamp"},
	{"timestamp", 0, W_TIMESTAMP, "TS", O_STAMP,
	 "the timestamp, in ms since 1970"},
	{"filter", 0, W_FILTER, "TEXT", O_FILTER,
	 "in HBase's filter language, see cellctl(1)"},
	{"storelimit", 0, W_STORELIMIT, "N", O_FAMILY_LIMIT,
	 "at most N cells of each family of a row"},
	{"storeoffset", 0, W_STOREOFFSET, "N", O_FAMILY_LIMIT,
	 "skip the first N of each family of a row"},
	{"startrow", 's', W_STARTROW, "ROW", O_RANGE, "rows from this one on"},
	{"stoprow", 'e', W_STOPROW, "ROW", O_RANGE, "rows before this one"},
	{"endrow", 0, W_STOPROW, "ROW", O_RANGE, NULL},
	{"rowprefix", 'p', W_ROWPREFIX, "TEXT", O_RANGE,
	 "rows that begin with TEXT"},
	{"rowprefixfilter", 0, W_ROWPREFIX, "TEXT", O_RANGE, NULL},
	{"limit", 'l', W_LIMIT, "N", O_RANGE, "at most N rows"},
	{"reversed", 'r', W_REVERSED, NULL, O_ORDER,
	 "descending: STARTROW is the greater one"},
	{"raw", 0, W_RAW, NULL, O_RAW, "all stored cells, also delete markers"},
	{"rows", 0, W_ROWS, NULL, O_ROWS, "only the row keys"},
	{"maxlength", 0, W_MAXLENGTH, "N", O_LENGTH,
	 "at most N bytes of each value"},
	{"interval", 0, W_INTERVAL, "N", O_INTERVAL,
	 "say every N rows where it is"},
	{"interval", 0, W_EVERY, "SECONDS", O_LOOKS, "look so often (1)"},
	{"count", 0, W_TIMES, "N", O_LOOKS, "end after N looks"},
	{"values", 'v', W_VALUES, NULL, O_VALUE,
	 "only the values, byte for byte"},
	{"ttl", 0, W_TTL, "TIME", O_TTL,
	 "lifetime of the cell: 500ms, 90s, 7d"},
	{"all", 0, W_ALL, NULL, O_ALL, "all versions up to TS, like deleteall"},
	{"force", 0, W_FORCE, NULL, O_FORCE, "also drop existing cells"},
	{"create", 0, W_CREATE, NULL, O_CREATE,
	 "make the table if it is absent"},
	{"schema", 0, W_SCHEMA, "FILE", O_SCHEMA,
	 "schema as describe prints it; - is stdin"},
	{"add", 0, W_ADD, "FAMILY[:...]", O_ALTER,
	 "add a family, which must be new"},
	{"delete", 0, W_DELETE, "FAMILY", O_ALTER, "drop a family"},
	{"op", 0, W_OP, "OP", O_CAS,
	 "= != < <= > >= (EXPECTED OP cell), absent, present"},
	{"", 0, 0, NULL, O_CAS, "newest, version, no_version (EXPECTED: a TS)"},
	{"null", 0, W_NULL, NULL, O_CAS,
	 "instead of EXPECTED: absent or empty"},
	{"put", 0, W_PUT, "COLUMN", O_CAS, "write VALUE there (COLUMN)"},
	{"delete", 0, W_DELETE, "COLUMN", O_CAS,
	 "column or family to delete; may be repeated"},
	{"cells", 0, W_CELLS, NULL, O_CAS,
	 "changes of this row as .cells from stdin"},
	{"table", 't', W_TABLE, "TABLE", O_TABLE,
	 "of this table, not the whole store"},
	{"rate", 0, W_RATE, "N", O_RATE,
	 "read N MiB a second while it is mounted (32; 0: all)"},
	{"html", 0, W_HTML, NULL, O_HTML, "a page for a browser"},
	{"plot", 0, W_PLOT, NULL, O_PLOT, "tables, levels and days as bars"},
	{"json", 0, W_JSON, NULL, O_JSON, "one JSON object a line"},
	{"json", 0, W_JSON, NULL, O_JSON_IN,
	 "read the output of export --json"},
	{"csv", 0, W_CSV, NULL, O_RECORDS | O_RECORDS_IN,
	 "a line a row, its names in the first line"},
	{"tsv", 0, W_TSV, NULL, O_RECORDS | O_RECORDS_IN,
	 "the same with tabs between the fields"},
	{"jsonl", 0, W_JSONL, NULL, O_RECORDS | O_RECORDS_IN,
	 "a JSON object a row"},
	{"key", 0, W_KEY, "NAME", O_RECORDS | O_RECORDS_IN,
	 "the field that is the row key (row)"},
	{"list", 0, W_LIST, NULL, O_BACKUP,
	 "print the backups: number, time, files, bytes, log"},
	{"keep", 0, W_KEEP, "N", O_BACKUP, "drop all but the newest N"},
	{"copy", 0, W_COPY, NULL, O_BACKUP, "share no file with the store"},
	{"keep-log", 0, W_KEEP_LOG, "N", O_BACKUP,
	 "from now on keep N MiB of the log for --at (0: none)"},
	{"backup", 0, W_BACKUP, "N", O_RESTORE, "this one, not the newest"},
	{"at", 0, W_AT, "TS", O_RESTORE,
	 "as of TS; without a log, the newest before it"},
	{"progress", 0, W_PROGRESS, NULL, O_PROGRESS,
	 "say how far it is also where no terminal is"},
	{"map", 0, W_MAP, "FIELD=COLUMN", O_RECORDS_IN,
	 "where a field goes; may be repeated; * is the rest"},
};

#define WORDS (sizeof(option_words) / sizeof(option_words[0]))

static int take_versions(struct request *rq, const char *arg)
{
	uint64_t n = 0;
	int code = EXIT_DONE;

	rq->all_versions = !strcasecmp(arg, "all") || !strcmp(arg, "0");
	if (!rq->all_versions)
		code = parse_count(arg, UINT32_MAX, &n);
	rq->spec.versions = (uint32_t)n;
	return code;
}

/* Options with a value that select cells. */
static int take_select(struct request *rq, int what, const char *arg)
{
	int code;

	switch (what) {
	case W_ASOF:
		code = parse_ts_arg(arg, &rq->spec.ts_max);
		rq->spec.ts_max++;
		return code;
	case W_COLUMN:
		return columns_add(&rq->columns, arg, true);
	case W_COLUMNS:
		return parse_columns(rq, arg);
	case W_VERSIONS:
		return take_versions(rq, arg);
	case W_TIMERANGE:
		return parse_times(rq, arg);
	case W_FILTER:
		return parse_filter(rq, arg);
	case W_STORELIMIT:
		return parse_count(arg, UINT64_MAX, &rq->spec.family_limit);
	case W_STOREOFFSET:
		return parse_count(arg, UINT64_MAX, &rq->spec.family_offset);
	case W_STARTROW:
		return parse_key(arg, &rq->start);
	case W_STOPROW:
		return parse_key(arg, &rq->stop);
	case W_ROWPREFIX:
		return parse_key(arg, &rq->prefix);
	case W_LIMIT:
		return parse_count(arg, UINT64_MAX, &rq->spec.limit_rows);
	}
	return -1;
}

/* A tenth of a second to a day. */
static int parse_seconds(const char *arg, double *out)
{
	char *end;

	*out = strtod(arg, &end);
	if (end == arg || *end || !(*out >= 0.1 && *out <= 86400))
		return fail_usage("%s: seconds are wanted, 0.1 to 86400", arg);
	return EXIT_DONE;
}

static int take_value(struct request *rq, int what, const char *arg)
{
	switch (what) {
	case W_TIMESTAMP:
		rq->has_ts = true;
		return parse_ts_arg(arg, &rq->ts);
	case W_TTL:
		return parse_ms(arg, &rq->ttl_ms);
	case W_ADD:
		return texts_add(&rq->add, arg);
	case W_DELETE:
		return texts_add(&rq->delete, arg);
	case W_SCHEMA:
		rq->schema_file = arg;
		return EXIT_DONE;
	case W_OP:
		rq->op = arg;
		return EXIT_DONE;
	case W_TABLE:
		rq->of_table = arg;
		return EXIT_DONE;
	case W_RATE:
		return parse_limit(arg, UINT32_MAX, &rq->rate);
	case W_KEEP:
		return parse_count(arg, UINT32_MAX, &rq->keep);
	case W_KEEP_LOG:
		rq->keeps_log = true;
		return parse_limit(arg, UINT32_MAX, &rq->keep_log);
	case W_BACKUP:
		return parse_count(arg, INT64_MAX, &rq->backup);
	case W_AT:
		rq->has_ts = true;
		return parse_ts_arg(arg, &rq->ts);
	case W_PUT:
		rq->put_column = arg;
		return EXIT_DONE;
	case W_MAXLENGTH:
		return parse_count(arg, UINT64_MAX, &rq->max_length);
	case W_INTERVAL:
		return parse_count(arg, UINT64_MAX, &rq->interval);
	case W_EVERY:
		return parse_seconds(arg, &rq->every_s);
	case W_TIMES:
		return parse_count(arg, UINT64_MAX, &rq->times);
	case W_KEY:
		rq->key = arg;
		return EXIT_DONE;
	case W_MAP:
		return texts_add(&rq->maps, arg);
	}
	return take_select(rq, what, arg);
}

static int set_format(struct request *rq, const char *format)
{
	if (rq->format && strcmp(rq->format, format) != 0)
		return fail_usage("--%s and --%s exclude each other",
				  rq->format, format);
	rq->format = format;
	return EXIT_DONE;
}

static int take_flag(struct request *rq, int what)
{
	rq->json |= what == W_JSON;
	rq->html |= what == W_HTML;
	rq->plot |= what == W_PLOT;
	rq->spec.reversed |= what == W_REVERSED;
	rq->spec.raw |= what == W_RAW;
	rq->rows |= what == W_ROWS;
	rq->values |= what == W_VALUES;
	rq->force |= what == W_FORCE;
	rq->create |= what == W_CREATE;
	rq->null |= what == W_NULL;
	rq->cells |= what == W_CELLS;
	rq->all |= what == W_ALL;
	rq->list |= what == W_LIST;
	rq->copies |= what == W_COPY;
	if (what == W_PROGRESS)
		progress_force();
	if (what == W_CSV)
		return set_format(rq, "csv");
	if (what == W_TSV)
		return set_format(rq, "tsv");
	if (what == W_JSONL)
		return set_format(rq, "jsonl");
	return EXIT_DONE;
}

/* Reports an unknown option, or one without its value. */
static int refuse(const struct request *rq, const char *given, int o)
{
	struct nearest near;
	char name[NEAREST_LEN_MAX + 1];

	if (o == ':')
		return fail_usage("%s needs a value", given);
	if (given[0] != '-' || given[1] != '-')
		return fail_usage("%s takes no option '%s'", rq->command->name,
				  given);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(given + 2, "="),
		 given + 2);
	nearest_init(&near, name);
	for (size_t i = 0; i < WORDS; i++) {
		if (!(option_words[i].takers & rq->command->options))
			continue;
		if (name[0] && !strcmp(option_words[i].name, name))
			return fail_usage("--%s takes no value", name);
		nearest_offer(&near, option_words[i].name);
	}
	return fail_nearest(&near, "--", "%s takes no option '--%s'",
			    rq->command->name, name);
}

/* "-" and negative numbers are not options. */
static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9');
}

/* The option of the command for the letter that getopt_long found. */
static int of_letter(const struct command *c, int letter)
{
	size_t i = 0;

	while (option_words[i].letter != letter ||
	       !(option_words[i].takers & c->options))
		i++;
	return option_words[i].what;
}

int options_parse(struct request *rq, int argc, char **argv)
{
	struct option long_words[WORDS + 2] = {
		{"help", no_argument, NULL, 'h'}};
	char letters[2 * WORDS + 8] = "+:h";
	int o, what = 0, code = EXIT_DONE;
	size_t n = 1;

	for (size_t i = 0; i < WORDS; i++) {
		const struct option_word *w = &option_words[i];

		if (!(w->takers & rq->command->options) || !w->what)
			continue;
		long_words[n++] = (struct option){
			w->name, w->arg ? required_argument : no_argument,
			&what, w->what};
		if (w->letter)
			snprintf(letters + strlen(letters), 3, "%c%s",
				 w->letter, w->arg ? ":" : "");
	}
	rq->words = calloc((size_t)argc + 1, sizeof(*rq->words));
	if (!rq->words)
		return fail_memory();
	opterr = 0;
	optind = 1;
	while (code == EXIT_DONE) {
		int at = optind;

		if (optind < argc && !is_option(argv[optind])) {
			rq->words[rq->nwords++] = argv[optind++];
			continue;
		}
		o = getopt_long(argc, argv, letters, long_words, NULL);
		if (o == -1)
			break;
		if (o == 0 || o == 'h')
			o = o ? W_HELP : what;
		if (o == W_HELP) {
			rq->help = true;
			return EXIT_DONE;
		}
		if (o == '?' || o == ':')
			return refuse(rq, argv[at], o);
		if (o < W_HELP)
			o = of_letter(rq->command, o);
		if (optarg)
			code = take_value(rq, o, optarg);
		else
			code = take_flag(rq, o);
	}
	while (optind < argc)
		rq->words[rq->nwords++] = argv[optind++];
	return code;
}

void options_help(const struct command *c)
{
	for (size_t i = 0; i < WORDS; i++) {
		const struct option_word *w = &option_words[i];
		char letter[8] = "    ", name[40] = "";

		if (!(w->takers & c->options) || !w->help)
			continue;
		if (w->letter)
			snprintf(letter, sizeof(letter), "-%c, ", w->letter);
		if (w->what)
			snprintf(name, sizeof(name), "%s--%s %s", letter,
				 w->name, w->arg ? w->arg : "");
		printf("  %-24s %s\n", name, w->help);
	}
}

const char *options_value(const struct command *c, const char *word)
{
	for (size_t i = 0; i < WORDS; i++) {
		const struct option_word *w = &option_words[i];

		if (!(w->takers & c->options) || !w->what || word[0] != '-')
			continue;
		if (word[1] == '-'
			    ? !strcmp(word + 2, w->name)
			    : w->letter && word[1] == w->letter && !word[2])
			return w->arg;
	}
	return NULL;
}

void options_offer(const struct command *c, const char *begun)
{
	char name[40];

	for (size_t i = 0; i < WORDS; i++) {
		const struct option_word *w = &option_words[i];

		if (!(w->takers & c->options) || !w->help || !w->what)
			continue;
		snprintf(name, sizeof(name), "--%s", w->name);
		if (!strncmp(name, begun, strlen(begun)))
			puts(name);
	}
	if (!strncmp("--help", begun, strlen(begun)))
		puts("--help");
}

void request_free(struct request *rq)
{
	free(rq->words);
	free(rq->add.texts);
	free(rq->delete.texts);
	free(rq->maps.texts);
	columns_free(&rq->columns);
	columns_free(&rq->targets);
	buf_free(&rq->start);
	buf_free(&rq->stop);
	buf_free(&rq->prefix);
	buf_free(&rq->prefix_stop);
	buf_free(&rq->row);
	buf_free(&rq->value);
	buf_free(&rq->expected);
	filter_free(rq->filter);
	free(rq->changes);
	schema_free(&rq->schema);
	buf_free(&rq->schema_text);
}
