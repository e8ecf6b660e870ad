/* Parses what a read asks for: columns, times, filters, ranges of rows. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tools/line/args.h"
#include "tools/line/fail.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

int times_by(struct request *rq, const char *option)
{
	if (rq->times_by && strcmp(rq->times_by, option) != 0)
		return fail_usage("--%s and --%s exclude each other",
				  rq->times_by, option);
	rq->times_by = option;
	return EXIT_DONE;
}

/* MIN..MAX or MIN,MAX; either may be empty. MAX is not in the range. */
int parse_times(struct request *rq, const char *text)
{
	const char *dots = strstr(text, ".."), *max;
	struct scan_spec *spec = &rq->spec;
	char min[24];
	size_t n;
	int code = times_by(rq, "timerange");

	if (code)
		return code;
	if (!dots)
		dots = strchr(text, ',');
	n = dots ? (size_t)(dots - text) : sizeof(min);
	if (n >= sizeof(min))
		return fail_usage("'%s' is no range MIN..MAX of timestamps",
				  text);
	memcpy(min, text, n);
	min[n] = '\0';
	max = dots + (*dots == '.' ? 2 : 1);
	if (*min)
		code = parse_ts_arg(min, &spec->ts_min);
	if (code == EXIT_DONE && *max)
		code = parse_ts_arg(max, &spec->ts_max);
	if (code == EXIT_DONE && *max && spec->ts_max < spec->ts_min)
		return fail_usage("'%s' is no range: it ends before it begins",
				  text);
	/* 0 is no end. */
	if (code == EXIT_DONE && *max && !spec->ts_max)
		return fail_usage("'%s' is no range: MAX is not in it, and no "
				  "timestamp is less than 0",
				  text);
	return code;
}

/* Columns separated by commas; a qualifier with a comma needs --column. */
int parse_columns(struct request *rq, const char *list)
{
	int code = EXIT_DONE;

	do {
		size_t n = strcspn(list, ",");
		char *one = strndup(list, n);

		if (!one)
			return fail_memory();
		code = columns_add(&rq->columns, one, true);
		free(one);
		list += n + (list[n] == ',');
	} while (code == EXIT_DONE && *list);
	return code;
}

/* Is a word before a '(' similar to a filter's name, but not equal to one? */
static bool unknown_filter(const char *text, struct nearest *near)
{
	static char word[NEAREST_LEN_MAX + 1];
	bool quoted = false;
	size_t n;

	for (; *text; text += n) {
		n = quoted ? 0 : strspn(text, LETTERS);
		if (!n) {
			quoted ^= *text == '\'';
			n = 1;
			continue;
		}
		if (text[n] != '(' || n > NEAREST_LEN_MAX)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		nearest_init(near, word);
		for (unsigned i = 0; filter_name(i); i++)
			nearest_offer(near, filter_name(i));
		if (near->word[0] && strcmp(near->word, word) != 0)
			return true;
	}
	return false;
}

int parse_filter(struct request *rq, const char *text)
{
	struct nearest near;

	if (rq->filter)
		return fail_usage("there is one --filter: combine them with "
				  "AND, OR and parentheses");
	if (filter_parse(bytes_str(text), &rq->filter) == 0)
		return EXIT_DONE;
	if (!unknown_filter(text, &near))
		return fail_usage("--filter %s: %s", text, store_why());
	return fail_nearest(&near, "", "--filter %s: %s", text, store_why());
}

/* What all reads ask for, if no option says how many versions: so many. */
static void common(struct request *rq, uint32_t versions)
{
	struct scan_spec *spec = &rq->spec;

	spec->granularity = SCAN_CELLS;
	if (!spec->versions && !rq->all_versions)
		spec->versions = versions;
	if (rq->has_ts) {
		spec->ts_min = rq->ts;
		spec->ts_max = rq->ts + 1;
	}
	spec->columns = rq->columns.names;
	spec->ncolumns = rq->columns.n;
	spec->filter = rq->filter;
}

int parse_get(struct request *rq)
{
	int code = parse_row(rq->words[2], &rq->row);

	for (int i = 3; code == EXIT_DONE && i < rq->nwords; i++)
		code = columns_add(&rq->columns, rq->words[i], true);
	if (code == EXIT_DONE && rq->values && rq->json)
		return fail_usage("--values and --json exclude each other");
	if (code)
		return code;
	rq->spec.row_start = rq->spec.row_stop = buf_bytes(&rq->row);
	rq->spec.row_stop_inclusive = true;
	common(rq, 1);
	return EXIT_DONE;
}

/* The least key greater than all keys with this prefix; empty = none. */
static void prefix_end(struct buf *b)
{
	while (b->len && b->data[b->len - 1] == 0xff)
		b->len--;
	if (b->len)
		b->data[b->len - 1]++;
}

/*
 * The range of rows in the order of the scan, as in HBase: from --startrow up
 * to --stoprow (not included), which is the lesser one in a reversed scan; and
 * within the prefix.
 */
static int range(struct request *rq)
{
	struct scan_spec *spec = &rq->spec;
	struct bytes first, end;

	spec->row_start = buf_bytes(&rq->start);
	spec->row_stop = buf_bytes(&rq->stop);
	if (!rq->prefix.len)
		return EXIT_DONE;
	if (buf_set(&rq->prefix_stop, buf_bytes(&rq->prefix)) < 0)
		return fail_memory();
	prefix_end(&rq->prefix_stop);
	first = buf_bytes(&rq->prefix);
	end = buf_bytes(&rq->prefix_stop);
	if (!spec->reversed) {
		if (bytes_cmp(spec->row_start, first) < 0)
			spec->row_start = first;
		if (end.len &&
		    (!spec->row_stop.len || bytes_cmp(spec->row_stop, end) > 0))
			spec->row_stop = end;
		return EXIT_DONE;
	}
	if (end.len &&
	    (!spec->row_start.len || bytes_cmp(spec->row_start, end) >= 0)) {
		spec->row_start = end;
		spec->row_start_exclusive = true;
	}
	if (bytes_cmp(spec->row_stop, first) < 0) {
		spec->row_stop = first;
		spec->row_stop_inclusive = true;
	}
	return EXIT_DONE;
}

int parse_scan(struct request *rq)
{
	struct scan_spec *spec = &rq->spec;

	common(rq, 1);
	/* Cells must be read only for a filter or a limit of cells. */
	if (rq->rows && !rq->filter && !spec->family_limit &&
	    !spec->family_offset)
		spec->granularity = SCAN_ROWS;
	return range(rq);
}

int parse_count_rows(struct request *rq)
{
	rq->rows = true;
	return parse_scan(rq);
}

/* Options that have no meaning beside records of rows, or without them. */
int check_records(const struct request *rq)
{
	if (!rq->format && (rq->key || rq->maps.n))
		return fail_usage("--key and --map belong to --csv, --tsv or "
				  "--jsonl");
	if (rq->format && rq->json)
		return fail_usage("--json are cells, and --%s are rows: one "
				  "or the other",
				  rq->format);
	if (rq->format &&
	    (rq->spec.raw || rq->spec.versions > 1 || rq->all_versions))
		return fail_usage("a row of --%s has the newest version of "
				  "each column: all versions are in an export "
				  "without it",
				  rq->format);
	return EXIT_DONE;
}

int parse_export(struct request *rq)
{
	int code = check_records(rq);

	common(rq, rq->format ? 1 : 0);
	return code ? code : range(rq);
}

/* Are the two paths the same directory? */
static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) || (stat(a, &x) == 0 && stat(b, &y) == 0 &&
				 x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

int parse_copy(struct request *rq)
{
	int code = parse_export(rq);

	if (code)
		return code;
	/* Source and target are the same store, which is opened once. */
	if (rq->nwords == 4 && is_same(rq->words[0], rq->words[2])) {
		rq->words[2] = rq->words[3];
		rq->nwords = 3;
	}
	rq->writes = rq->nwords == 3;
	if (table_name_check(bytes_str(rq->words[rq->nwords - 1])) < 0)
		return fail_store(rq->words[rq->nwords - 1]);
	if (rq->nwords == 3 && !strcmp(rq->words[1], rq->words[2]))
		return fail_usage("%s is to be copied to itself", rq->words[1]);
	return EXIT_DONE;
}

int parse_counter(struct request *rq)
{
	int code = parse_get(rq);

	if (code == EXIT_DONE && rq->columns.names[0].whole_family)
		return fail_usage("'%s' is no FAMILY:QUALIFIER", rq->words[3]);
	return code;
}
