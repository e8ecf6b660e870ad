/*
 * Commands over cells: one row, a range, a stream.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/cells.h"
#include "fs/cells_import.h"
#include "tools/cellctl.h"

/* -- what a command asks for ------------------------------------------------
 */

struct columns {
	struct column_name *names;
	struct buf *holds;
	size_t n;
};

static int add_column(struct columns *c, const char *text)
{
	struct column_name *names =
		realloc(c->names, (c->n + 1) * sizeof(*names));
	struct buf *holds;
	int code;

	if (names)
		c->names = names;
	holds = names ? realloc(c->holds, (c->n + 1) * sizeof(*holds)) : NULL;
	if (!holds) {
		why(-ENOMEM, "out of memory");
		return fail_store(text);
	}
	c->holds = holds;
	holds[c->n] = (struct buf){0};
	code = parse_column(text, &holds[c->n], &names[c->n].family,
			    &names[c->n].qualifier, &names[c->n].whole_family);
	c->n++;
	return code;
}

static void free_columns(struct columns *c)
{
	for (size_t i = 0; i < c->n; i++)
		buf_free(&c->holds[i]);
	free(c->holds);
	free(c->names);
}

static int parse_count(const char *text, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end)
		return EXIT_DONE;
	return fail_usage("'%s' is no number", text);
}

/* Prints what the scan gives; *found counts. */
static int print_scan(struct table *t, const struct scan_spec *spec,
		      bool values, uint64_t *found)
{
	struct scan *sc;
	struct cell c;
	int r, code = EXIT_DONE;

	*found = 0;
	r = scan_open(t, spec, &sc);
	if (r < 0)
		return fail_store("scan");
	while (code == EXIT_DONE && (r = scan_next(sc, &c)) > 0) {
		++*found;
		if (values)
			fwrite(c.value.data, 1, c.value.len, stdout);
		else
			code = print_cell(&c, spec->granularity == SCAN_ROWS);
	}
	if (code == EXIT_DONE)
		code = print_flush();
	if (r < 0)
		code = fail_store("scan");
	scan_close(sc);
	return code;
}

int cmd_get(int argc, char **argv)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS,
				 .versions = 1,
				 .row_stop_inclusive = true};
	struct columns columns = {0};
	struct buf row = {0};
	struct store *store;
	struct table *t;
	bool values = false;
	uint64_t n;
	int o, code = EXIT_DONE;

	while (code == EXIT_DONE && (o = getopt(argc, argv, "+n:a:v")) != -1)
		switch (o) {
		case 'n':
			code = parse_count(optarg, &n);
			spec.versions = (uint32_t)n;
			break;
		case 'a':
			code = parse_ts_arg(optarg, &spec.ts_max);
			spec.ts_max++;
			break;
		case 'v':
			values = true;
			break;
		default:
			return fail_usage(NULL);
		}
	if (code)
		return code;
	if (argc - optind < 3)
		return fail_usage(NULL);
	code = parse_key(argv[optind + 2], &row);
	for (int i = optind + 3; code == EXIT_DONE && i < argc; i++)
		code = add_column(&columns, argv[i]);
	if (code)
		goto out;
	spec.row_start = spec.row_stop = buf_bytes(&row);
	spec.columns = columns.names;
	spec.ncolumns = columns.n;
	code = open_table(argv[optind], argv[optind + 1], true, &store, &t);
	if (code)
		goto out;
	code = print_scan(t, &spec, values, &n);
	if (code == EXIT_DONE && !n)
		code = EXIT_NONE;
	code = close_store(store, t, code);
out:
	free_columns(&columns);
	buf_free(&row);
	return code;
}

/* "MIN..MAX", either may be empty. */
static int parse_times(char *text, struct scan_spec *spec)
{
	char *dots = strstr(text, "..");
	int code = EXIT_DONE;

	if (!dots)
		return fail_usage("'%s' is no range MIN..MAX", text);
	*dots = '\0';
	if (*text)
		code = parse_ts_arg(text, &spec->ts_min);
	if (code == EXIT_DONE && dots[2])
		code = parse_ts_arg(dots + 2, &spec->ts_max);
	return code;
}

/* The least key that is greater than all with this prefix; empty = none. */
static void prefix_end(struct buf *b)
{
	while (b->len && b->data[b->len - 1] == 0xff)
		b->len--;
	if (b->len)
		b->data[b->len - 1]++;
}

struct scan_args {
	struct scan_spec spec;
	struct columns columns;
	struct buf start, stop;
};

static int scan_prefix(struct scan_args *a, const char *text)
{
	int code = parse_key(text, &a->start);

	if (code == EXIT_DONE && buf_set(&a->stop, buf_bytes(&a->start)) < 0)
		code = EXIT_STORE;
	prefix_end(&a->stop);
	return code;
}

static int scan_option(struct scan_args *a, int o)
{
	uint64_t n;
	int code = EXIT_DONE;

	switch (o) {
	case 'n':
		code = parse_count(optarg, &n);
		a->spec.versions = (uint32_t)n;
		break;
	case 'l':
		code = parse_count(optarg, &a->spec.limit_rows);
		break;
	case 'c':
		code = add_column(&a->columns, optarg);
		break;
	case 'p':
		code = scan_prefix(a, optarg);
		break;
	case 's':
		code = parse_key(optarg, &a->start);
		break;
	case 'e':
		code = parse_key(optarg, &a->stop);
		break;
	case 't':
		code = parse_times(optarg, &a->spec);
		break;
	case 'r':
		a->spec.reversed = true;
		break;
	case 'R':
		a->spec.raw = true;
		break;
	case 'k':
		a->spec.granularity = SCAN_ROWS;
		break;
	default:
		code = fail_usage(NULL);
	}
	return code;
}

int cmd_scan(int argc, char **argv)
{
	static const struct option words[] = {
		{"raw", no_argument, NULL, 'R'},
		{"rows", no_argument, NULL, 'k'},
		{0},
	};
	struct scan_args a = {
		.spec = {.granularity = SCAN_CELLS, .versions = 1}};
	struct store *store;
	struct table *t;
	uint64_t n;
	int o, code = EXIT_DONE;

	while (code == EXIT_DONE &&
	       (o = getopt_long(argc, argv, "+n:l:c:p:s:e:t:r", words, NULL)) !=
		       -1)
		code = scan_option(&a, o);
	if (code == EXIT_DONE && argc - optind != 2)
		code = fail_usage(NULL);
	if (code)
		goto out;
	/* Descending, the range is walked from its end. */
	a.spec.row_start = buf_bytes(a.spec.reversed ? &a.stop : &a.start);
	a.spec.row_stop = buf_bytes(a.spec.reversed ? &a.start : &a.stop);
	a.spec.row_start_exclusive = a.spec.reversed && a.stop.len;
	a.spec.row_stop_inclusive = a.spec.reversed;
	a.spec.columns = a.columns.names;
	a.spec.ncolumns = a.columns.n;
	code = open_table(argv[optind], argv[optind + 1], true, &store, &t);
	if (code)
		goto out;
	code = close_store(store, t, print_scan(t, &a.spec, false, &n));
out:
	free_columns(&a.columns);
	buf_free(&a.start);
	buf_free(&a.stop);
	return code;
}

int cmd_count(int argc, char **argv)
{
	struct scan_spec spec = {.granularity = SCAN_ROWS};
	struct store *store;
	struct table *t;
	struct scan *sc;
	struct cell c;
	uint64_t n = 0;
	int code, r;

	if (argc != 3)
		return fail_usage(NULL);
	code = open_table(argv[1], argv[2], true, &store, &t);
	if (code)
		return code;
	r = scan_open(t, &spec, &sc);
	if (r == 0) {
		while ((r = scan_next(sc, &c)) > 0)
			n++;
		scan_close(sc);
	}
	if (r < 0)
		code = fail_store("count");
	else
		printf("%llu\n", (unsigned long long)n);
	return close_store(store, t, code);
}

/* -- writing ----------------------------------------------------------------
 */

/* STORE TABLE ROW [COLUMN] in argv[1..]; the change is filled with it. */
static int mutate(char **argv, const char *column, struct change *ch)
{
	struct buf row = {0}, hold = {0};
	struct mutation m = {.changes = ch, .nchanges = 1};
	struct store *store;
	struct table *t;
	bool whole = true;
	int code;

	code = parse_key(argv[3], &row);
	if (code == EXIT_DONE && column)
		code = parse_column(column, &hold, &ch->family, &ch->qualifier,
				    &whole);
	if (code == EXIT_DONE && whole && ch->op != CHANGE_DELETE_FAMILY &&
	    ch->op != CHANGE_DELETE_ROW)
		code = fail_usage("'%s' is no FAMILY:QUALIFIER", column);
	if (code == EXIT_DONE)
		code = open_table(argv[1], argv[2], false, &store, &t);
	if (code)
		goto out;
	m.row = buf_bytes(&row);
	if (ch->op == CHANGE_PUT || ch->op == CHANGE_INCREMENT) {
		int r = table_add_family(t, ch->family);

		if (r < 0 && r != -EEXIST)
			code = fail_store(column);
	}
	if (code == EXIT_DONE && table_mutate(t, &m, MUTATE_SYNC) < 0)
		code = fail_store(argv[2]);
	code = close_store(store, t, code);
out:
	buf_free(&row);
	buf_free(&hold);
	return code;
}

int cmd_put(int argc, char **argv)
{
	struct change ch = {.op = CHANGE_PUT, .ts = TS_AUTO};
	struct buf value = {0};
	int code = EXIT_DONE;

	if (argc < 5 || argc > 7)
		return fail_usage(NULL);
	if (argc > 6)
		code = parse_ts_arg(argv[6], &ch.ts);
	if (argc > 5) {
		ch.value = bytes_str(argv[5]);
	} else if (code == EXIT_DONE) {
		size_t n = 1;

		while (n && value.len <= VALUE_LEN_MAX) {
			if (buf_reserve(&value, 65536) < 0) {
				why(-ENOMEM, "out of memory");
				return fail_store("put");
			}
			n = fread(value.data + value.len, 1, 65536, stdin);
			value.len += n;
		}
		ch.value = buf_bytes(&value);
	}
	if (code == EXIT_DONE)
		code = mutate(argv, argv[4], &ch);
	buf_free(&value);
	return code;
}

int cmd_delete(int argc, char **argv)
{
	struct change ch = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	int code = EXIT_DONE;

	if (argc < 4 || argc > 6)
		return fail_usage(NULL);
	if (argc == 5)
		ch.op = strchr(argv[4], ':') ? CHANGE_DELETE_COLUMN
					     : CHANGE_DELETE_FAMILY;
	if (argc == 6) {
		ch.op = CHANGE_DELETE;
		code = parse_ts_arg(argv[5], &ch.ts);
	}
	return code ? code : mutate(argv, argc > 4 ? argv[4] : NULL, &ch);
}

int cmd_incr(int argc, char **argv)
{
	struct change ch = {.op = CHANGE_INCREMENT, .ts = TS_AUTO, .delta = 1};
	char *end = NULL;
	int code;

	if (argc < 5 || argc > 6)
		return fail_usage(NULL);
	if (argc == 6) {
		errno = 0;
		ch.delta = strtoll(argv[5], &end, 10);
		if (errno || end == argv[5] || *end)
			return fail_usage("'%s' is no number", argv[5]);
	}
	code = mutate(argv, argv[4], &ch);
	if (code == EXIT_DONE)
		printf("%lld\n", (long long)ch.result_int);
	return code;
}

/* -- streams ----------------------------------------------------------------
 */

static int import_from(FILE *in, struct table *t)
{
	struct cells_import *im;
	static char piece[1 << 18];
	size_t n;
	int r;

	r = cells_import_new(t, 0, &im);
	if (r < 0)
		return r;
	while (r == 0 && (n = fread(piece, 1, sizeof(piece), in)) > 0)
		r = cells_import_feed(im, bytes_of(piece, n));
	if (r == 0 && ferror(in))
		r = why(-EIO, "cannot read the input");
	if (r == 0)
		r = cells_import_end(im);
	if (r == 0)
		fprintf(stderr, "%llu cells\n",
			(unsigned long long)cells_import_lines(im));
	cells_import_free(im);
	return r;
}

int cmd_import(int argc, char **argv)
{
	bool create = argc > 1 && !strcmp(argv[1], "--create");
	struct store *store;
	struct table *t = NULL;
	int code, r = 0;

	argc -= create;
	argv += create;
	if (argc != 3)
		return fail_usage(NULL);
	code = open_store(argv[1], create, false, &store);
	if (code)
		return code;
	if (create) {
		r = store_table_create(store, bytes_str(argv[2]), NULL);
		if (r == -EEXIST)
			r = 0;
	}
	if (r == 0)
		r = table_open(store, bytes_str(argv[2]), &t);
	if (r == 0)
		r = import_from(stdin, t);
	if (r == 0)
		r = store_sync(store);
	if (r < 0)
		code = fail_store(argv[2]);
	return close_store(store, t, code);
}

int cmd_export(int argc, char **argv)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct store *store;
	struct table *t;
	uint64_t n;
	int code;

	if (argc != 3)
		return fail_usage(NULL);
	code = open_table(argv[1], argv[2], true, &store, &t);
	if (code)
		return code;
	return close_store(store, t, print_scan(t, &spec, false, &n));
}
