#include "tools/line/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "tools/line/print.h"
#include "tools/progress/progress.h"

/* The most families that a message lists. */
#define SHOWN 16

static const struct command *running;

void fail_begin(const struct command *c)
{
	running = c;
}

const char *fail_command(void)
{
	return running->name;
}

int fail_store(const char *what)
{
	progress_wipe();
	print_end();
	fprintf(stderr, "cellctl: %s: %s\n", what,
		store_why()[0] ? store_why() : "failed");
	return EXIT_STORE;
}

int next_past_damage(struct scan *sc, const char *what, struct cell *c,
		     int *code)
{
	int r = scan_next(sc, c);

	while (r < 0) {
		*code = fail_store(what);
		if (r != -EUCLEAN || scan_pass(sc) < 0)
			return r;
		r = scan_next(sc, c);
	}
	return r;
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

int fail_absent_table(struct store *store, const char *path, const char *table,
		      int err)
{
	const char *colon = strchr(table, ':');
	struct bytes space = bytes_of(table, colon ? colon - table : 0);
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct nearest near;
	bool known = !space.len;

	fail_store(table);
	if (err == -EEXIST)
		fprintf(stderr, "  to change it: cellctl alter %s %s\n",
			why_word(path), table);
	if (err != -ENOENT)
		return EXIT_STORE;
	while (!known && store_namespace_next(store, bytes_str(name), name) > 0)
		known = bytes_eq(bytes_str(name), space);
	if (!known)
		fprintf(stderr,
			"  to make it: cellctl create_namespace %s %.*s\n",
			why_word(path), (int)space.len, table);
	name[0] = '\0';
	nearest_init(&near, table);
	while (known && store_table_next(store, bytes_str(name), name) > 0)
		nearest_offer(&near, name);
	if (near.word[0])
		fprintf(stderr, "  the nearest that there is: %s\n", near.word);
	fprintf(stderr, "  which there are: cellctl %s %s\n",
		known ? "tables" : "list_namespace", why_word(path));
	return EXIT_STORE;
}

int fail_table(const struct request *rq, const char *table, int err)
{
	return fail_absent_table(rq->store, rq->words[0], table, err);
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

int need_families(const struct request *rq)
{
	int code = EXIT_DONE;

	for (size_t i = 0; code == EXIT_DONE && i < rq->columns.n; i++)
		code = need_family(rq, rq->columns.names[i].family);
	return code;
}
