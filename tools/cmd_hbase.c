/*
 * Words of HBase's shell whose work other commands do here under other names.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"

/* Both words have the table open. */
int cmd_is_enabled(struct request *rq)
{
	bool asks_disabled = !strcmp(rq->command->name, "is_disabled");
	int r = table_is_enabled(rq->table), code;

	if (r < 0)
		return fail_store(rq->words[1]);
	r = (r > 0) != asks_disabled;
	code = print_truth(asks_disabled ? "disabled" : "enabled", r);
	return code || r ? code : EXIT_NONE;
}

static int drop(struct request *rq, const char *name)
{
	const char *words[] = {rq->words[0], name};
	struct request one = {.command = rq->command,
			      .words = words,
			      .nwords = 2,
			      .force = rq->force,
			      .store = rq->store};
	int code = cmd_drop(&one);

	return code ? code : print_name("dropped", name);
}

int cmd_drop_all(struct request *rq)
{
	return each_match(rq, rq->words[1], store_table_next, drop);
}

/* What the command's name says, to one table. */
static int enable(struct request *rq, struct table *t, const char *name)
{
	int r = table_enable(t, rq->command->name[0] == 'e');

	if (r == 0)
		fprintf(stderr,
			"cellctl: note: %s is enabled, as every table is "
			"here\n",
			name);
	return r < 0 ? fail_store(name) : EXIT_DONE;
}

int cmd_enable(struct request *rq)
{
	return enable(rq, rq->table, rq->words[1]);
}

static int enable_one(struct request *rq, const char *name)
{
	struct table *t;
	int code;

	if (table_open(rq->store, bytes_str(name), &t) < 0)
		return fail_store(name);
	code = enable(rq, t, name);
	table_unref(t);
	return code;
}

int cmd_enable_all(struct request *rq)
{
	return each_match(rq, rq->words[1], store_table_next, enable_one);
}

int cmd_clone_table_schema(struct request *rq)
{
	struct schema schema = {0};
	int r, code = EXIT_DONE;

	if (table_schema(rq->table, &schema) < 0)
		return fail_store(rq->words[1]);
	r = store_table_create(rq->store, bytes_str(rq->words[2]), &schema);
	if (r < 0)
		code = fail_table(rq, rq->words[2], r);
	schema_free(&schema);
	return code;
}

int cmd_list_namespace_tables(struct request *rq)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	const char *wanted = rq->words[1];
	int r = 0, code = need_namespace(rq, wanted);

	while (code == EXIT_DONE &&
	       (r = store_table_next(rq->store, bytes_str(name), name)) > 0)
		if (in_namespace(name, wanted))
			code = print_name("table", name);
	return r < 0 ? fail_store(rq->words[0]) : code;
}

/* The verb of `snapshot` that does it. */
static const char *verb_of(const struct request *rq)
{
	static const struct {
		const char *name, *verb;
	} words[] = {
		{"clone_snapshot", "clone"},
		{"restore_snapshot", "restore"},
		{"delete_snapshot", "drop"},
	};
	size_t i = 0;

	while (strcmp(words[i].name, rq->command->name) != 0)
		i++;
	return words[i].verb;
}

int parse_of_snapshot(struct request *rq)
{
	/* options_parse() leaves room for one more. */
	memmove(rq->words + 2, rq->words + 1,
		(size_t)(rq->nwords - 1) * sizeof(*rq->words));
	rq->words[1] = verb_of(rq);
	rq->nwords++;
	return EXIT_DONE;
}

/* 1: the open table has a snapshot of that name; 0: it has none. */
static int has_snapshot(struct request *rq, struct table *t, struct bytes name)
{
	struct snapshot_info info = {.name = ""};
	int r;

	while ((r = store_snapshot_next(rq->store, t, bytes_str(info.name),
					&info)) > 0)
		if (bytes_eq(bytes_str(info.name), name))
			break;
	return r;
}

/*
 * Finds the table whose snapshot it is: in HBase the names of all tables'
 * snapshots are one list. @found is empty if there is none.
 */
static int find_table(struct request *rq, struct bytes snapshot, char *found)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct table *t;
	int r;

	found[0] = '\0';
	while ((r = store_table_next(rq->store, bytes_str(name), name)) > 0) {
		r = table_open(rq->store, bytes_str(name), &t);
		if (r < 0)
			break;
		r = has_snapshot(rq, t, snapshot);
		table_unref(t);
		if (r < 0)
			break;
		if (r && found[0])
			return fail_usage("tables %s and %s have a snapshot "
					  "of that name: choose with -t",
					  found, name);
		if (r)
			snprintf(found, sizeof(name), "%s", name);
	}
	return r < 0 ? fail_store(rq->words[0]) : EXIT_DONE;
}

/* The same command, of the one table that has the snapshot. */
static int run_over(struct request *rq, const char *table)
{
	int code;

	rq->of_table = table;
	code = cmd_snapshot(rq);
	rq->of_table = NULL;
	return code;
}

int cmd_of_snapshot(struct request *rq)
{
	char table[TABLE_NAME_LEN_MAX + 1] = "";
	struct buf hold = {0};
	int code;

	if (rq->of_table)
		return cmd_snapshot(rq);
	code = parse_key(rq->words[2], &hold);
	if (code == EXIT_DONE)
		code = find_table(rq, buf_bytes(&hold), table);
	buf_free(&hold);
	if (code)
		return code;
	if (table[0])
		return run_over(rq, table);
	(void)why(-ENOENT, "no table has the snapshot %s", rq->words[2]);
	return fail_store(rq->words[0]);
}

/* Drops the table's snapshots that the pattern matches. */
static int drop_snapshots(struct request *rq, struct table *t,
			  const regex_t *pattern)
{
	struct snapshot_info info = {.name = ""};
	int r, code = EXIT_DONE;

	while (code == EXIT_DONE &&
	       (r = store_snapshot_next(rq->store, t, bytes_str(info.name),
					&info)) != 0) {
		if (r < 0)
			return fail_store(rq->words[0]);
		if (!pattern_fits(pattern, info.name))
			continue;
		if (store_snapshot_drop(rq->store, t, bytes_str(info.name)) < 0)
			return fail_store(info.name);
		code = print_name("dropped", info.name);
	}
	return code;
}

/* Of the table that is open, or of all tables. */
int cmd_delete_snapshots(struct request *rq)
{
	const char *given = rq->words[rq->nwords - 1];
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	bool all = !rq->table;
	regex_t pattern;
	struct table *t;
	int r = 0;
	int code = pattern_open(all || rq->nwords > 2 ? given : ".*", &pattern);

	if (code)
		return code;
	if (!all)
		code = drop_snapshots(rq, rq->table, &pattern);
	while (all && code == EXIT_DONE &&
	       (r = store_table_next(rq->store, bytes_str(name), name)) > 0) {
		r = table_open(rq->store, bytes_str(name), &t);
		if (r < 0)
			break;
		code = drop_snapshots(rq, t, &pattern);
		table_unref(t);
	}
	regfree(&pattern);
	return r < 0 ? fail_store(rq->words[0]) : code;
}
