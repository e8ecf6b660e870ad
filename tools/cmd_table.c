/*
 * Commands over tables and namespaces.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"

int pattern_open(const char *pattern, regex_t *out)
{
	int r = regcomp(out, pattern, REG_EXTENDED);
	char text[128];

	if (r == 0)
		return EXIT_DONE;
	regerror(r, out, text, sizeof(text));
	return fail_usage("'%s' is no regular expression: %s", pattern, text);
}

bool pattern_fits(const regex_t *pattern, const char *name)
{
	regmatch_t match;

	return !regexec(pattern, name, 1, &match, 0) && !match.rm_so &&
	       !name[match.rm_eo];
}

int each_match(struct request *rq, const char *pattern,
	       int (*next)(struct store *s, struct bytes after, char *name),
	       int (*act)(struct request *rq, const char *name))
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	regex_t regex;
	int r = 0, code = pattern_open(pattern, &regex);

	if (code)
		return code;
	while (code == EXIT_DONE &&
	       (r = next(rq->store, bytes_str(name), name)) > 0)
		if (pattern_fits(&regex, name))
			code = act(rq, name);
	regfree(&regex);
	return r < 0 ? fail_store(rq->words[0]) : code;
}

static int show_table(struct request *rq, const char *name)
{
	return print_name("table", name);
}

int cmd_tables(struct request *rq)
{
	return each_match(rq, rq->nwords > 1 ? rq->words[1] : ".*",
			  store_table_next, show_table);
}

static int show_namespace(struct request *rq, const char *name)
{
	return print_name("namespace", name);
}

int cmd_list_namespace(struct request *rq)
{
	return each_match(rq, rq->nwords > 1 ? rq->words[1] : ".*",
			  store_namespace_next, show_namespace);
}

int cmd_exists(struct request *rq)
{
	int r = table_open(rq->store, bytes_str(rq->words[1]), &rq->table);
	int code;

	if (r < 0 && r != -ENOENT)
		return fail_store(rq->words[1]);
	code = print_truth("exists", r == 0);
	if (code)
		return code;
	return r == 0 ? EXIT_DONE : EXIT_NONE;
}

int cmd_create(struct request *rq)
{
	int r = store_table_create(rq->store, bytes_str(rq->words[1]),
				   &rq->schema);

	return r < 0 ? fail_table(rq, rq->words[1], r) : EXIT_DONE;
}

/* Does the snapshot of the whole store show the table? */
static bool shows(struct store *store, const char *snapshot, uint64_t table)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct snapshot *snap = NULL;
	struct table *t;
	bool found = false;

	if (store_snapshot_open(store, NULL, bytes_str(snapshot), &snap) < 0)
		return false;
	while (!found && snapshot_table_next(snap, bytes_str(name), name) > 0) {
		if (snapshot_table_open(snap, bytes_str(name), &t) < 0)
			continue;
		found = table_id(t) == table;
		table_unref(t);
	}
	snapshot_release(snap);
	return found;
}

/* Does a snapshot show the table, so that --force does not help? */
static bool is_shown(struct store *store, const char *name)
{
	struct snapshot_info info = {.name = ""};
	struct table *t;
	bool found;

	if (table_open(store, bytes_str(name), &t) < 0)
		return false;
	found = store_snapshot_next(store, t, (struct bytes){0}, &info) > 0;
	info.name[0] = '\0';
	while (!found && store_snapshot_next(store, NULL, bytes_str(info.name),
					     &info) > 0)
		found = shows(store, info.name, table_id(t));
	table_unref(t);
	return found;
}

struct altering {
	struct request *rq;
	bool force, dry;
	int code; /* of a reported failure; 0 = none */
};

static int make_alter(void *arg, const struct schema *now, struct alter *a)
{
	struct altering *al = arg;

	if (schema_copy(&a->to, now) < 0)
		return -ENOMEM;
	al->code = apply_schema(al->rq, a);
	if (al->code)
		return -ECANCELED;
	if (al->force)
		a->rest = ALTER_DROP;
	else if (al->rq->delete.n)
		a->rest = ALTER_REFUSE;
	a->dry = al->dry;
	return 0;
}

int cmd_alter(struct request *rq)
{
	struct altering al = {.rq = rq, .force = rq->force};
	int r = table_edit(rq->table, make_alter, &al);

	if (r == 0 || al.code)
		return al.code;
	fail_store(rq->words[1]);
	/* --force helps, unless a snapshot shows the families. */
	al.force = al.dry = true;
	if (r == -EBUSY && table_edit(rq->table, make_alter, &al) == 0)
		fputs("  with --force they are dropped as well\n", stderr);
	return EXIT_STORE;
}

int cmd_describe(struct request *rq)
{
	struct schema schema = {0};
	int code;

	if (table_schema(rq->table, &schema) < 0)
		return fail_store(rq->words[1]);
	code = print_schema(rq->words[1], &schema);
	schema_free(&schema);
	return code;
}

int cmd_drop(struct request *rq)
{
	int r = store_table_drop(rq->store, bytes_str(rq->words[1]),
				 !rq->force);

	if (r < 0)
		fail_table(rq, rq->words[1], r);
	if (r == -ENOTEMPTY && !rq->force && !is_shown(rq->store, rq->words[1]))
		fputs("  with --force its rows are dropped as well\n", stderr);
	return r < 0 ? EXIT_STORE : EXIT_DONE;
}

int cmd_truncate(struct request *rq)
{
	int r = store_table_truncate(rq->store, bytes_str(rq->words[1]));

	return r < 0 ? fail_table(rq, rq->words[1], r) : EXIT_DONE;
}

int cmd_create_namespace(struct request *rq)
{
	if (store_namespace_create(rq->store, bytes_str(rq->words[1])) < 0)
		return fail_store(rq->words[1]);
	return EXIT_DONE;
}

int cmd_drop_namespace(struct request *rq)
{
	if (store_namespace_drop(rq->store, bytes_str(rq->words[1])) < 0)
		return fail_store(rq->words[1]);
	return EXIT_DONE;
}

bool in_namespace(const char *table, const char *name)
{
	size_t len = strlen(name);

	if (!strcmp(name, "default"))
		return !strchr(table, ':');
	return !strncmp(table, name, len) && table[len] == ':';
}

int need_namespace(struct request *rq, const char *wanted)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	bool found = false;
	int r;

	while (!found &&
	       (r = store_namespace_next(rq->store, bytes_str(name), name)) > 0)
		found = !strcmp(name, wanted);
	if (!found && r == 0)
		r = why(-ENOENT, "there is no namespace %s", wanted);
	if (r < 0)
		return fail_store(rq->words[0]);
	return EXIT_DONE;
}

int cmd_describe_namespace(struct request *rq)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	const char *wanted = rq->words[1];
	uint64_t tables = 0;
	int r, code = need_namespace(rq, wanted);

	if (code)
		return code;
	while ((r = store_table_next(rq->store, bytes_str(name), name)) > 0)
		tables += in_namespace(name, wanted);
	return r < 0 ? fail_store(rq->words[0])
		     : print_namespace(wanted, tables);
}
