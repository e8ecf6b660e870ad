/*
 * cellctl: a store as commands.
 */
#include "tools/cellctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cellfs-version.h"
#include "fs/descriptors.h"
#include "fs/mountpoint.h"
#include "store/served.h"
#include "tools/print.h"

/* Families in a message. */
#define SHOWN 16

static const struct command *running;

/* -- failures ------------------------------------------------------------- */

int fail_store(const char *what)
{
	print_end();
	fprintf(stderr, "cellctl: %s: %s\n", what,
		store_why()[0] ? store_why() : "failed");
	return EXIT_STORE;
}

int fail_memory(void)
{
	why(-ENOMEM, "out of memory");
	return fail_store(running->name);
}

static int say_help(void)
{
	fprintf(stderr, "  help: cellctl %s --help\n", running->name);
	return EXIT_USAGE;
}

int fail_usage(const char *fmt, ...)
{
	va_list ap;

	if (!fmt) {
		fprintf(stderr, "usage: cellctl %s %s%s\n", running->name,
			running->options ? "[OPTION]... " : "", running->args);
		return say_help();
	}
	fprintf(stderr, "cellctl: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	return say_help();
}

int fail_nearest(const struct nearest *near, const char *before,
		 const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "cellctl: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	nearest_say(near, before);
	fprintf(stderr, "\n");
	return say_help();
}

/* -- the store ------------------------------------------------------------ */

/* A store that is mounted is used through its mount: it has one owner. */
static int open_any(const char *path, const struct store_options *o,
		    struct store **store)
{
	char *mountpoint = NULL, *file = NULL;
	int r = mountpoint_find(path, &mountpoint);

	if (r == 0) {
		r = store_open(path, o, store);
		/* Who has it may be a daemon that has mounted it meanwhile. */
		if (r != -EBUSY || mountpoint_find(path, &mountpoint) <= 0)
			return r;
		r = 1;
	}
	if (r > 0 && asprintf(&file, "%s/.cellfs/store", mountpoint) < 0)
		r = why(-ENOMEM, "out of memory");
	if (r > 0)
		r = store_open_served(file, o, store);
	free(file);
	free(mountpoint);
	return r;
}

int need_rest(const char *path)
{
	char *mountpoint = NULL;
	int r = mountpoint_find(path, &mountpoint);

	if (r > 0)
		fprintf(stderr,
			"cellctl: %s is mounted at %s: %s needs a store at "
			"rest\n  unmount it first: fusermount3 -u %s\n",
			path, mountpoint, running->name, mountpoint);
	else if (r < 0)
		fail_store(path);
	free(mountpoint);
	return r ? EXIT_STORE : EXIT_DONE;
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

int open_store(const char *path, bool create, bool read_only,
	       struct store **store)
{
	const struct store_options o = {.create = create,
					.read_only = read_only,
					.wait_ms = STORE_WAIT_MS};
	int r = open_any(path, &o, store);

	if (r == 0)
		return EXIT_DONE;
	fail_store(path);
	if (r == -EBUSY)
		fputs("  it is in use, and no mount of it can be seen: wait "
		      "for that process to end\n",
		      stderr);
	if (r == -EBUSY && (is_pipe(0) || is_pipe(1)))
		fputs("  if it is the other end of this pipe: cellctl copy "
		      "takes a table to another\n  of the same store\n",
		      stderr);
	if (r == -ENOENT && !create)
		fprintf(stderr, "  to make a store: cellctl init %s\n", path);
	return EXIT_STORE;
}

static int say_table(struct store *store, const char *path, const char *table,
		     int err)
{
	const char *colon = strchr(table, ':');
	struct bytes space = bytes_of(table, colon ? colon - table : 0);
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct nearest near;
	bool known = !space.len;

	fail_store(table);
	if (err == -EEXIST)
		fprintf(stderr, "  to change it: cellctl alter %s %s\n", path,
			table);
	if (err != -ENOENT)
		return EXIT_STORE;
	while (!known && store_namespace_next(store, bytes_str(name), name) > 0)
		known = bytes_eq(bytes_str(name), space);
	if (!known)
		fprintf(stderr,
			"  to make it: cellctl create_namespace %s %.*s\n",
			path, (int)space.len, table);
	name[0] = '\0';
	nearest_init(&near, table);
	while (known && store_table_next(store, bytes_str(name), name) > 0)
		nearest_offer(&near, name);
	if (near.word[0])
		fprintf(stderr, "  the nearest that there is: %s\n", near.word);
	fprintf(stderr, "  which there are: cellctl %s %s\n",
		known ? "tables" : "list_namespace", path);
	return EXIT_STORE;
}

int fail_table(const struct request *rq, const char *table, int err)
{
	return say_table(rq->store, rq->words[0], table, err);
}

int open_table(const char *path, const char *table, bool read_only,
	       struct store **store, struct table **t)
{
	int r, code = open_store(path, false, read_only, store);

	if (code)
		return code;
	r = table_open(*store, bytes_str(table), t);
	if (r == 0)
		return EXIT_DONE;
	code = say_table(*store, path, table, r);
	return close_store(*store, NULL, code);
}

int need_family(const struct request *rq, struct bytes family)
{
	char given[FAMILY_LEN_MAX + 1];
	struct schema schema = {0};
	struct nearest near;
	int code = EXIT_DONE;

	if (table_schema(rq->table, &schema) < 0)
		return fail_store(rq->words[1]);
	if (schema_find(&schema, family) < 0) {
		snprintf(given, sizeof(given), "%.*s", (int)family.len,
			 (const char *)family.data);
		nearest_init(&near, given);
		for (uint32_t i = 0; i < schema.nfamilies; i++)
			nearest_offer(&near, schema.families[i].name);
		fprintf(stderr, "cellctl: table %s has no family '%s'",
			rq->words[1], given);
		nearest_say(&near, "");
		fputs("\n  which it has:", stderr);
		for (uint32_t i = 0; i < schema.nfamilies && i < SHOWN; i++)
			fprintf(stderr, " %s", schema.families[i].name);
		if (!schema.nfamilies || schema.nfamilies > SHOWN)
			fputs(schema.nfamilies ? " ..." : " none", stderr);
		fputs("\n", stderr);
		code = EXIT_STORE;
	}
	schema_free(&schema);
	return code;
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

/* -- commands ------------------------------------------------------------- */

static void print_help(const struct command *c)
{
	const char *options = c->options ? "[OPTION]... " : "";

	printf("usage: cellctl %s %s%s\n", c->name, options, c->args);
	if (c->alias)
		printf("   or: cellctl %s ...\n", c->alias);
	printf("\n%s", c->help);
	if (c->options)
		options_help(c);
	printf("\nexample: cellctl %s\n", c->example);
}

static int open_and_run(const struct command *c, struct request *rq)
{
	bool read_only = !(c->needs & WRITES) && !rq->writes;
	bool create = rq->create || (c->needs & MAKES) == MAKES;
	int code = EXIT_DONE, end;

	if (c->needs & AT_REST)
		code = need_rest(rq->words[0]);
	if (code)
		return code;
	if ((c->needs & NEEDS_TABLE) == NEEDS_TABLE)
		code = open_table(rq->words[0], rq->words[1], read_only,
				  &rq->store, &rq->table);
	else if (c->needs & NEEDS_STORE)
		code = open_store(rq->words[0], create, read_only, &rq->store);
	if (code)
		return code;
	code = c->run(rq);
	end = print_end();
	if (code == EXIT_DONE)
		code = end;
	return rq->store ? close_store(rq->store, rq->table, code) : code;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct request rq = {.command = c};
	int code;

	running = c;
	if (c->main && argc > 1 && !strcmp(argv[1], "--help")) {
		print_help(c);
		return EXIT_DONE;
	}
	if (c->main)
		return c->main(argc, argv);
	code = options_parse(&rq, argc, argv);
	if (code == EXIT_DONE && rq.help) {
		print_help(c);
		goto out;
	}
	if (code == EXIT_DONE && (rq.nwords < c->words_min ||
				  (c->words_max && rq.nwords > c->words_max)))
		code = fail_usage(NULL);
	if (rq.json)
		print_json();
	if (code == EXIT_DONE && c->parse)
		code = c->parse(&rq);
	if (code == EXIT_DONE)
		code = open_and_run(c, &rq);
out:
	request_free(&rq);
	return code;
}

static const struct command *find(const char *name)
{
	for (const struct command *c = cellctl_commands; c->name; c++)
		if (!strcmp(name, c->name) ||
		    (c->alias && !strcmp(name, c->alias)))
			return c;
	return NULL;
}

/* Two columns. */
static int print_commands(FILE *to, int code)
{
	int n = 0, half;

	while (cellctl_commands[n].name)
		n++;
	half = (n + 1) / 2;
	fprintf(to, "usage: cellctl COMMAND [OPTION]... STORE ...\n\n");
	for (int i = 0; i < half; i++) {
		const struct command *l = &cellctl_commands[i];
		const struct command *r = &cellctl_commands[i + half];

		fprintf(to, "  %-17s%-20s", l->name, l->line);
		if (i + half < n)
			fprintf(to, "%-17s%s", r->name, r->line);
		fprintf(to, "\n");
	}
	fprintf(to, "\ncellctl COMMAND --help says more. Exit codes: 0 done; "
		    "1 nothing found, a check\ndid not hold, faults found; "
		    "2 wrong usage; 3 failure.\n");
	return code;
}

static int no_command(const char *given)
{
	struct nearest near;

	nearest_init(&near, given);
	for (const struct command *c = cellctl_commands; c->name; c++) {
		nearest_offer(&near, c->name);
		if (c->alias)
			nearest_offer(&near, c->alias);
	}
	fprintf(stderr, "cellctl: there is no command '%s'", given);
	nearest_say(&near, "");
	fputs("\n  which there are: cellctl help\n", stderr);
	return EXIT_USAGE;
}

static int run_words(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2)
		return print_commands(stderr, EXIT_USAGE);
	if (!strcmp(argv[1], "--version")) {
		printf("cellctl %s\n", CELLFS_VERSION);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		if (argc == 2)
			return print_commands(stdout, EXIT_DONE);
		c = find(argv[2]);
		if (!c)
			return no_command(argv[2]);
		print_help(c);
		return EXIT_DONE;
	}
	c = find(argv[1]);
	return c ? run(c, argc - 1, argv + 1) : no_command(argv[1]);
}

int main(int argc, char **argv)
{
	int code;

	descriptors_fill();
	code = run_words(argc, argv);
	/* Help, too, may find no room where it goes. */
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (code != EXIT_DONE)
		return code;
	fprintf(stderr, "cellctl: cannot write the output: %s\n",
		strerror(errno));
	return EXIT_STORE;
}
