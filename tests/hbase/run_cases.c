/*
 * Runs a file of conformance cases against the store:
 *
 *	run-cases [--flush | --compact] [--served] [--only ID]
 *		  [--differences FILE] [--answers FILE] [--store STORE] FILE
 *
 * --store runs them against a cluster instead, as hbase://HOST names it: a case
 * with a step that it cannot do is left out, and counted, and so is one of a
 * later HBase than 2.6.4. --part K/N runs each N-th case, from the K-th on.
 *
 * --served runs them through a session that serves the store. --flush and
 * --compact flush, or compact all files, behind every step. HBase's answers
 * change with that, too: the file of answers has those that do, as a real
 * HBase gave them, by mode, case and step (from 1):
 *
 *	{"flush": {"put-007": {"7": [["f:q", 1, "1"]]}}, "compact": {}}
 *
 * --lines reads cases from the standard input instead, a line each, and prints
 * a line with the answers to each (case_answers()): what a test compares with
 * others' answers.
 *
 * Prints each failure with its difference, then: N passed, N failed. A case
 * that differs is a quirk, which is listed and does not count, when the file
 * of differences names it in a row of a table that begins with
 *
 *	| always |	and the case's tags say quirk, too
 *	| `--flush` |	and so on: with that behind every step
 *
 * One that such a row names and that does not differ has failed: the table is
 * to be true. Exits 0 when none failed.
 */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/hbase/case.h"

struct options {
	enum settle settle;
	bool served, lines;
	unsigned part, parts;
	const char *only, *differences, *answers, *store;
};

static const struct option long_options[] = {
	{"flush", no_argument, NULL, 'f'},
	{"compact", no_argument, NULL, 'c'},
	{"answers", required_argument, NULL, 'a'},
	{"only", required_argument, NULL, 'o'},
	{"differences", required_argument, NULL, 'd'},
	{"served", no_argument, NULL, 's'},
	{"store", required_argument, NULL, 'S'},
	{"part", required_argument, NULL, 'p'},
	{"lines", no_argument, NULL, 'l'},
	{0},
};

static char *read_text(const char *path)
{
	FILE *f = path ? fopen(path, "r") : NULL;
	char *s = calloc(1, 1 << 20);

	if (f && s && fread(s, 1, (1 << 20) - 1, f) == 0)
		s[0] = '\0';
	if (f)
		fclose(f);
	return s;
}

/* Is the id a word of the text? */
static bool names(const char *text, const char *id)
{
	size_t n = strlen(id);

	for (const char *p = text; p && (p = strstr(p, id)); p += n)
		if ((p == text || !isalnum(p[-1])) && !isalnum(p[n]))
			return true;
	return false;
}

/* Does a row of the text that begins with @when name the id? */
static bool row_names(const char *text, const char *when, const char *id)
{
	const char *line, *end;

	for (line = text; line && *line; line = *end ? end + 1 : end) {
		char row[4096];

		end = line + strcspn(line, "\n");
		if (strncmp(line, when, strlen(when)) != 0)
			continue;
		snprintf(row, sizeof(row), "%.*s", (int)(end - line), line);
		if (names(row, id))
			return true;
	}
	return false;
}

/* Is it named for what is behind every step? */
static bool is_named(const struct options *o, const char *id, const char *text)
{
	switch (o->settle) {
	case SETTLE_FLUSH:
		return row_names(text, "| `--flush` |", id);
	case SETTLE_COMPACT:
		return row_names(text, "| `--compact` |", id);
	default:
		return false;
	}
}

static bool is_quirk(json_t *c, const char *text)
{
	bool tagged = false;
	json_t *tag;
	size_t i;

	json_array_foreach(json_object_get(c, "tags"), i, tag) tagged |=
		!strcmp(json_string_value(tag), "quirk");
	return tagged && row_names(text, "| always |",
				   json_string_value(json_object_get(c, "id")));
}

/* What HBase answers in this mode takes the place of what it else does. */
static void set_answers(const struct options *o, json_t *answers, json_t *c)
{
	const char *mode = o->settle == SETTLE_FLUSH	 ? "flush"
			   : o->settle == SETTLE_COMPACT ? "compact"
							 : "";
	const char *id = json_string_value(json_object_get(c, "id")), *number;
	json_t *steps = json_object_get(c, "steps"), *answer;
	json_t *of_case = json_object_get(json_object_get(answers, mode), id);

	json_object_foreach(of_case, number, answer)
	{
		json_t *step =
			json_array_get(steps, strtoul(number, NULL, 10) - 1);

		json_object_set(step, "expect", answer);
		json_object_del(step, "expect_chunks");
	}
}

static int usage(void)
{
	fputs("usage: run-cases [--flush|--compact] [--served] [--only ID] "
	      "[--differences FILE] [--answers FILE] "
	      "[--store STORE] [--part K/N] FILE.json\n"
	      "       run-cases --lines [--store STORE]\n",
	      stderr);
	return 2;
}

/* NULL and a message when it is no JSON. */
static json_t *load(const char *path)
{
	json_error_t e;
	json_t *file = json_load_file(path, JSON_ALLOW_NUL, &e);

	if (!file)
		fprintf(stderr, "%s: line %d: %s\n", path, e.line, e.text);
	return file;
}

static int run_file(const struct options *o, const char *path)
{
	char *differences = read_text(o->differences);
	int passed = 0, failed = 0, quirks = 0, left_out = 0;
	enum outcome outcome;
	json_t *file = load(path), *c;
	json_t *answers = o->answers ? load(o->answers) : NULL;
	bool same, named;
	size_t i;

	if (!file || (o->answers && !answers)) {
		json_decref(file);
		json_decref(answers);
		free(differences);
		return 2;
	}
	json_array_foreach(json_object_get(file, "cases"), i, c)
	{
		const char *id = json_string_value(json_object_get(c, "id"));
		const char *title =
			json_string_value(json_object_get(c, "title"));

		if (!id || (o->only && strcmp(o->only, id) != 0))
			continue;
		/* Cases that make tables themselves use the same names. */
		if (o->parts && (json_is_object(json_object_get(c, "schema"))
					 ? i % o->parts
					 : 0) != o->part % o->parts)
			continue;
		set_answers(o, answers, c);
		outcome = o->store && json_object_get(c, "min_hbase")
				  ? CASE_LEFT_OUT
				  : case_run(c, o->settle, o->served, o->store);
		if (outcome == CASE_LEFT_OUT) {
			printf("left out %s: %s\n", id, title ? title : "");
			left_out++;
			continue;
		}
		same = outcome == CASE_PASSED;
		named = is_named(o, id, differences);
		if (same && !named) {
			passed++;
			continue;
		}
		if (same && o->store) {
			passed++;
			continue;
		}
		if (same)
			puts("    it does not differ, but is named");
		if (!same && (named || is_quirk(c, differences))) {
			printf("quirk   %s: %s\n", id, title ? title : "");
			quirks++;
			continue;
		}
		printf("FAILED  %s: %s\n", id, title ? title : "");
		failed++;
	}
	if (left_out)
		printf("%d left out\n", left_out);
	if (quirks)
		printf("%d quirks that are documented\n", quirks);
	printf("%d passed, %d failed\n", passed, failed);
	json_decref(file);
	json_decref(answers);
	free(differences);
	return failed || !passed;
}

/* 1 when a line is no case, or has no answers. */
static int run_lines(const struct options *o)
{
	char *line = NULL, *text;
	size_t room = 0;
	ssize_t n;
	int failed = 0;

	while (!failed && (n = getline(&line, &room, stdin)) > 0) {
		json_t *c = json_loadb(line, (size_t)n, JSON_ALLOW_NUL, NULL);
		json_t *answers = c ? case_answers(c, o->store) : NULL;

		text = json_dumps(answers, JSON_COMPACT);
		failed = !text;
		if (text) {
			puts(text);
			fflush(stdout);
		}
		free(text);
		json_decref(answers);
		json_decref(c);
	}
	free(line);
	return failed;
}

int main(int argc, char **argv)
{
	struct options o = {.differences = getenv("CELLFS_DIFFERENCES")};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 'a':
			o.answers = optarg;
			break;
		case 'f':
			o.settle = SETTLE_FLUSH;
			break;
		case 'c':
			o.settle = SETTLE_COMPACT;
			break;
		case 'o':
			o.only = optarg;
			break;
		case 'd':
			o.differences = optarg;
			break;
		case 'S':
			o.store = optarg;
			break;
		case 'p':
			if (sscanf(optarg, "%u/%u", &o.part, &o.parts) != 2)
				return usage();
			break;
		case 'l':
			o.lines = true;
			break;
		case 's':
			o.served = true;
			break;
		default:
			return usage();
		}
	}
	if (o.lines)
		return optind == argc ? run_lines(&o) : usage();
	return optind + 1 == argc ? run_file(&o, argv[optind]) : usage();
}
