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

/* What becomes of an option, or of its value. */
enum {
	HELP_LINE, /* nothing: a line of help */
	SET,	   /* a bool is set */
	WORD,	   /* the value as it is */
	LIST,	   /* the value is added to a list of texts */
	KEY,	   /* a key, to a buffer */
	NUMBER,	   /* up to .max, and not 0 */
	FORMAT,	   /* the name is the format */
	TAKEN,	   /* what .take makes of it */
};

static int take_versions(struct request *rq, const char *arg)
{
	uint64_t n = 0;
	int code = EXIT_DONE;

	rq->all_versions = !strcasecmp(arg, "all");
	if (!rq->all_versions)
		code = parse_count(arg, UINT32_MAX, &n);
	rq->spec.versions = (uint32_t)n;
	return code;
}

static int take_asof(struct request *rq, const char *arg)
{
	int code = times_by(rq, "asof");

	if (code == EXIT_DONE)
		code = parse_ts_arg(arg, &rq->spec.ts_max);
	rq->spec.ts_max++;
	return code;
}

static int take_column(struct request *rq, const char *arg)
{
	return columns_add(&rq->columns, arg, true);
}

/* A tenth of a second to a day. */
static int take_seconds(struct request *rq, const char *arg)
{
	double *out = &rq->every_s;
	char *end;

	*out = strtod(arg, &end);
	if (end == arg || *end || !(*out >= 0.1 && *out <= 86400))
		return fail_usage("%s: seconds are wanted, 0.1 to 86400", arg);
	return EXIT_DONE;
}

static int take_ts(struct request *rq, const char *arg)
{
	int code = times_by(rq, "timestamp");

	rq->has_ts = true;
	return code ? code : parse_ts_arg(arg, &rq->ts);
}

static int take_ttl(struct request *rq, const char *arg)
{
	return parse_ms(arg, &rq->ttl_ms);
}

static int take_rate(struct request *rq, const char *arg)
{
	return parse_within(arg, 0, UINT32_MAX, &rq->rate);
}

static int take_keep_log(struct request *rq, const char *arg)
{
	rq->keeps_log = true;
	return parse_within(arg, 0, UINT32_MAX, &rq->keep_log);
}

static int take_progress(struct request *rq, const char *arg)
{
	progress_force();
	return EXIT_DONE;
}

#define IN(what, member) .how = what, .at = offsetof(struct request, member)
#define COUNT(member, most) IN(NUMBER, member), .max = most
#define BY(function) .how = TAKEN, .take = function

static const struct option_word {
	const char *name;
	char letter;	  /* 0 = none */
	const char *arg;  /* name of its value; NULL = it has none */
	uint64_t takers;  /* O_ bits of commands that take it */
	const char *help; /* NULL = another name of the option before */
	uint8_t how;
	uint16_t at; /* in struct request */
	uint64_t max;
	int (*take)(struct request *rq, const char *arg);
} option_words[] = {
	{"columns", 0, "LIST", O_COLUMNS,
	 "FAMILY or FAMILY:QUALIFIER, with commas", BY(parse_columns)},
	{"column", 'c', "COLUMN", O_COLUMNS,
	 "one, may contain a comma; may be repeated", BY(take_column)},
	{"versions", 'n', "N", O_VERSIONS,
	 "newest N versions of each column, or all", BY(take_versions)},
	{"timerange", 't', "MIN..MAX", O_TIMES,
	 "only timestamps >= MIN and < MAX", BY(parse_times)},
	{"asof", 'a', "TS", O_TIMES, "only timestamps up to TS", BY(take_asof)},
	{"timestamp", 0, "TS", O_TIMESTAMP, "only this timestamp", BY(take_ts)},
	{"timestamp", 0, "TS", O_STAMP, "the timestamp, in ms since 1970",
	 BY(take_ts)},
	{"filter", 0, "TEXT", O_FILTER,
	 "in HBase's filter language, see cellctl(1)", BY(parse_filter)},
	{"storelimit", 0, "N", O_FAMILY_LIMIT,
	 "at most N cells of each family of a row",
	 COUNT(spec.family_limit, UINT64_MAX)},
	{"storeoffset", 0, "N", O_FAMILY_LIMIT,
	 "skip the first N of each family of a row",
	 COUNT(spec.family_offset, UINT64_MAX)},
	{"startrow", 's', "ROW", O_RANGE, "rows from this one on",
	 IN(KEY, start)},
	{"stoprow", 'e', "ROW", O_RANGE, "rows before this one", IN(KEY, stop)},
	{"endrow", 0, "ROW", O_RANGE, NULL, IN(KEY, stop)},
	{"rowprefix", 'p', "TEXT", O_RANGE, "rows that begin with TEXT",
	 IN(KEY, prefix)},
	{"rowprefixfilter", 0, "TEXT", O_RANGE, NULL, IN(KEY, prefix)},
	{"limit", 'l', "N", O_RANGE, "at most N rows",
	 COUNT(spec.limit_rows, UINT64_MAX)},
	{"reversed", 'r', NULL, O_ORDER,
	 "descending: STARTROW is the greater one", IN(SET, spec.reversed)},
	{"raw", 0, NULL, O_RAW, "all stored cells, also delete markers",
	 IN(SET, spec.raw)},
	{"rows", 0, NULL, O_ROWS, "only the row keys", IN(SET, rows)},
	{"maxlength", 0, "N", O_LENGTH, "at most N bytes of each value",
	 COUNT(max_length, UINT64_MAX)},
	{"interval", 0, "N", O_INTERVAL, "say every N rows where it is",
	 COUNT(interval, UINT64_MAX)},
	{"interval", 0, "SECONDS", O_LOOKS, "look so often (1)",
	 BY(take_seconds)},
	{"count", 0, "N", O_LOOKS, "end after N looks",
	 COUNT(times, UINT64_MAX)},
	{"values", 'v', NULL, O_VALUE, "only the values, byte for byte",
	 IN(SET, values)},
	{"ttl", 0, "TIME", O_TTL, "lifetime of the cell: 500ms, 90s, 7d",
	 BY(take_ttl)},
	{"all", 0, NULL, O_ALL, "all versions up to TS, like deleteall",
	 IN(SET, all)},
	{"force", 0, NULL, O_FORCE, "also drop existing cells", IN(SET, force)},
	{"create", 0, NULL, O_CREATE, "make the table if it is absent",
	 IN(SET, create)},
	{"schema", 0, "FILE", O_SCHEMA,
	 "schema as describe prints it; - is stdin", IN(WORD, schema_file)},
	{"add", 0, "FAMILY[:...]", O_ALTER, "add a family, which must be new",
	 IN(LIST, add)},
	{"delete", 0, "FAMILY", O_ALTER, "drop a family", IN(LIST, delete)},
	{"op", 0, "OP", O_CAS,
	 "= != < <= > >= (EXPECTED OP cell), absent, present", IN(WORD, op)},
	{"", 0, NULL, O_CAS, "newest, version, no_version (EXPECTED: a TS)",
	 .how = HELP_LINE},
	{"null", 0, NULL, O_CAS, "instead of EXPECTED: absent or empty",
	 IN(SET, null)},
	{"put", 0, "COLUMN", O_CAS, "write VALUE there (COLUMN)",
	 IN(WORD, put_column)},
	{"delete", 0, "COLUMN", O_CAS,
	 "column or family to delete; may be repeated", IN(LIST, delete)},
	{"cells", 0, NULL, O_CAS, "changes of this row as .cells from stdin",
	 IN(SET, cells)},
	{"table", 't', "TABLE", O_TABLE, "of this table, not the whole store",
	 IN(WORD, of_table)},
	{"rate", 0, "N", O_RATE,
	 "read N MiB a second while it is mounted (32; 0: all)", BY(take_rate)},
	{"html", 0, NULL, O_HTML, "a page for a browser", IN(SET, html)},
	{"plot", 0, NULL, O_PLOT, "tables, levels and days as bars",
	 IN(SET, plot)},
	{"json", 0, NULL, O_JSON, "one JSON object a line", IN(SET, json)},
	{"json", 0, NULL, O_JSON_IN, "read the output of export --json",
	 IN(SET, json)},
	{"csv", 0, NULL, O_RECORDS | O_RECORDS_IN,
	 "a line a row, its names in the first line", .how = FORMAT},
	{"tsv", 0, NULL, O_RECORDS | O_RECORDS_IN,
	 "the same with tabs between the fields", .how = FORMAT},
	{"jsonl", 0, NULL, O_RECORDS | O_RECORDS_IN, "a JSON object a row",
	 .how = FORMAT},
	{"key", 0, "NAME", O_RECORDS | O_RECORDS_IN,
	 "the field that is the row key (row)", IN(WORD, key)},
	{"list", 0, NULL, O_BACKUP,
	 "print the backups: number, time, files, bytes, log", IN(SET, list)},
	{"keep", 0, "N", O_BACKUP, "drop all but the newest N",
	 COUNT(keep, UINT32_MAX)},
	{"copy", 0, NULL, O_BACKUP, "share no file with the store",
	 IN(SET, copies)},
	{"keep-log", 0, "N", O_BACKUP,
	 "from now on keep N MiB of the log for --at (0: none)",
	 BY(take_keep_log)},
	{"backup", 0, "N", O_RESTORE, "this one, not the newest",
	 COUNT(backup, INT64_MAX)},
	{"at", 0, "TS", O_RESTORE,
	 "as of TS; without a log, the newest before it", BY(take_ts)},
	{"progress", 0, NULL, O_PROGRESS,
	 "say how far it is also where no terminal is", BY(take_progress)},
	{"map", 0, "FIELD=COLUMN", O_RECORDS_IN,
	 "where a field goes; may be repeated; * is the rest", IN(LIST, maps)},
};

#define WORDS (sizeof(option_words) / sizeof(option_words[0]))

static int set_format(struct request *rq, const char *format)
{
	if (rq->format && strcmp(rq->format, format) != 0)
		return fail_usage("--%s and --%s exclude each other",
				  rq->format, format);
	rq->format = format;
	return EXIT_DONE;
}

/* Of two words one would be lost. */
static int set_word(const char **at, const char *option, const char *word)
{
	if (*at && strcmp(*at, word) != 0)
		return fail_usage("--%s is there twice: %s and %s", option, *at,
				  word);
	*at = word;
	return EXIT_DONE;
}

static int take(struct request *rq, const struct option_word *w,
		const char *arg)
{
	void *at = (char *)rq + w->at;

	switch (w->how) {
	case SET:
		*(bool *)at = true;
		return EXIT_DONE;
	case WORD:
		return set_word(at, w->name, arg);
	case LIST:
		return texts_add(at, arg);
	case KEY:
		return parse_key(arg, at);
	case NUMBER:
		return parse_count(arg, w->max, at);
	case FORMAT:
		return set_format(rq, w->name);
	}
	return w->take(rq, arg);
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
static const struct option_word *of_letter(const struct command *c, int letter)
{
	const struct option_word *w = option_words;

	while (w->letter != letter || !(w->takers & c->options))
		w++;
	return w;
}

/* Other names of an option are one to getopt_long, which takes what begins one. */
static int place_of(const struct option_word *w)
{
	while (!w->help)
		w--;
	return (int)(w - option_words);
}

int options_parse(struct request *rq, int argc, char **argv)
{
	struct option long_words[WORDS + 2] = {
		{"help", no_argument, NULL, 'h'}};
	char letters[2 * WORDS + 8] = "+:h";
	int o, place = 0, code = EXIT_DONE;
	size_t n = 1;

	for (size_t i = 0; i < WORDS; i++) {
		const struct option_word *w = &option_words[i];

		if (!(w->takers & rq->command->options) || !w->how)
			continue;
		long_words[n++] = (struct option){
			w->name, w->arg ? required_argument : no_argument,
			&place, place_of(w)};
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
		if (o == 'h') {
			rq->help = true;
			return EXIT_DONE;
		}
		if (o == '?' || o == ':')
			return refuse(rq, argv[at], o);
		code = take(rq,
			    o ? of_letter(rq->command, o)
			      : &option_words[place],
			    optarg);
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
		if (w->how)
			snprintf(name, sizeof(name), "%s--%s %s", letter,
				 w->name, w->arg ? w->arg : "");
		printf("  %-24s %s\n", name, w->help);
	}
}

const char *options_value(const struct command *c, const char *word)
{
	for (size_t i = 0; i < WORDS; i++) {
		const struct option_word *w = &option_words[i];

		if (!(w->takers & c->options) || !w->how || word[0] != '-')
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

		if (!(w->takers & c->options) || !w->help || !w->how)
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
