#include "tools/line/complete.h"

#include <stdio.h>
#include <string.h>

#include "tools/line/fail.h"
#include "tools/line/opened.h"
#include "tools/line/request.h"

/* The line as it was read so far. */
struct line {
	const struct command *command;
	const char *words[8]; /* those that are no options */
	int nwords;
	const char *value_of; /* name of the option's value that is begun */
	const char *of_table; /* what an option says of it */
	const char *begun;
};

const struct command *command_find(const struct command *commands,
				   const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(name, c->name) ||
		    (c->alias && !strcmp(name, c->alias)))
			return c;
	return NULL;
}

static void offer(const struct line *l, const char *text, const char *end)
{
	if (!strncmp(text, l->begun, strlen(l->begun)))
		printf("%s%s\n", text, end);
}

static void offer_commands(const struct command *commands, const struct line *l)
{
	for (const struct command *c = commands; c->name; c++) {
		offer(l, c->name, "");
		if (c->alias)
			offer(l, c->alias, "");
	}
	offer(l, "help", "");
}

/*
 * The name of the @n-th word in the usage, which is a list of names with
 * brackets around those that may be left out and dots behind one that may be
 * repeated; of a redirection or a second line it says nothing.
 */
static struct bytes name_of(const char *args, int n)
{
	const char *at = args;
	size_t len = 0;

	for (int i = 0;; i++) {
		at += strspn(at, " [");
		len = strcspn(at, " \n");
		if (len == 0 || *at == '<' || *at == '>')
			return bytes_str("");
		if (i == n || (len > 3 && !memcmp(at + len - 3, "...", 3)))
			return (struct bytes){(const uint8_t *)at, len};
		at += len;
	}
}

static bool is(struct bytes name, const char *prefix)
{
	size_t len = strlen(prefix);

	return name.len >= len && !memcmp(name.data, prefix, len);
}

static void offer_families(struct store *s, const struct line *l,
			   const char *end)
{
	struct schema schema = {0};
	struct table *t = NULL;

	if (l->nwords < 2 || table_open(s, bytes_str(l->words[1]), &t) < 0)
		return;
	if (table_schema(t, &schema) == 0) {
		for (uint32_t i = 0; i < schema.nfamilies; i++)
			offer(l, schema.families[i].name, end);
		schema_free(&schema);
	}
	table_unref(t);
}

static void offer_names(struct store *s, const struct line *l,
			int (*next)(struct store *, struct bytes, char *))
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";

	while (next(s, bytes_str(name), name) > 0)
		offer(l, name, "");
}

/* Of a table, or NULL: of the whole store. */
static void offer_snapshots_of(struct store *s, struct table *t,
			       const struct line *l)
{
	struct snapshot_info info = {.name = ""};

	while (store_snapshot_next(s, t, bytes_str(info.name), &info) > 0)
		offer(l, info.name, "");
}

static void offer_of_table(struct store *s, const char *name,
			   const struct line *l)
{
	struct table *t;

	if (table_open(s, bytes_str(name), &t) < 0)
		return;
	offer_snapshots_of(s, t, l);
	table_unref(t);
}

static void offer_snapshots(struct store *s, const struct line *l)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";

	if (l->of_table)
		offer_of_table(s, l->of_table, l);
	else if (!strcmp(l->command->name, "snapshot"))
		offer_snapshots_of(s, NULL, l);
	else /* HBase's words find a snapshot of any table */
		while (store_table_next(s, bytes_str(name), name) > 0)
			offer_of_table(s, name, l);
}

/* Does a qualifier follow the family? */
static bool is_column(struct bytes name)
{
	return is(name, "FAMILY:Q") || is(name, "FAMILY[:Q") ||
	       is(name, "COLUMN") || is(name, "LIST");
}

/* What is in the store that the first word names. */
static void offer_stored(const struct line *l, struct bytes name)
{
	struct store *s;

	if (l->nwords < 1 || open_quietly(l->words[0], &s) < 0)
		return;
	if (is(name, "TABLE"))
		offer_names(s, l, store_table_next);
	else if (is(name, "NAMESPACE"))
		offer_names(s, l, store_namespace_next);
	else if (is(name, "SNAPSHOT"))
		offer_snapshots(s, l);
	else
		offer_families(s, l, is_column(name) ? ":" : "");
	(void)store_close(s);
}

/* A verb of `snapshot`, or the name of one. */
static void offer_snapshot_word(const struct line *l)
{
	static const char *const verbs[] = {"list",   "take",  "drop",
					    "rename", "clone", "restore"};

	if (l->nwords == 1)
		for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
			offer(l, verbs[i], "");
	else if (l->nwords == 2 && strcmp(l->words[1], "take") != 0)
		offer_stored(l, bytes_str("SNAPSHOT"));
}

static void offer_word(const struct line *l)
{
	struct bytes name = l->value_of ? bytes_str(l->value_of)
					: name_of(l->command->args, l->nwords);

	if (l->begun[0] == '-' && !l->value_of)
		options_offer(l->command, l->begun);
	else if (is(name, "STORE") || is(name, "DIR") || is(name, "DEST"))
		puts(":directories");
	else if (is(name, "FILE"))
		puts(":files");
	else if (is(name, "TABLE") || is(name, "NAMESPACE") ||
		 is(name, "SNAPSHOT") || is(name, "FAMILY") ||
		 is(name, "COLUMN") || is(name, "LIST"))
		offer_stored(l, name);
	else if (!strcmp(l->command->name, "snapshot") && l->nwords > 0)
		offer_snapshot_word(l);
}

int complete(const struct command *commands, int n, char **words)
{
	const size_t max = sizeof(((struct line *)0)->words) / sizeof(char *);
	struct line l = {.begun = n > 0 ? words[n - 1] : ""};

	if (n > 1 && strcmp(words[0], "help") != 0)
		l.command = command_find(commands, words[0]);
	if (n <= 1 || (n == 2 && !strcmp(words[0], "help"))) {
		offer_commands(commands, &l);
		return EXIT_DONE;
	}
	if (!l.command)
		return EXIT_DONE;
	for (int i = 1; i < n - 1; i++) {
		const char *value = options_value(l.command, words[i]);

		if (value && i == n - 2)
			l.value_of = value;
		else if (value && !strcmp(value, "TABLE"))
			l.of_table = words[++i];
		else if (value)
			i++;
		else if (words[i][0] != '-' && (size_t)l.nwords < max)
			l.words[l.nwords++] = words[i];
	}
	offer_word(&l);
	return EXIT_DONE;
}
