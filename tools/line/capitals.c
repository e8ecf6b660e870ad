#include "tools/line/capitals.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "store/value/array.h"
#include "tools/line/fail.h"
#include "tools/shell/hash.h"

/* Of another name here. NULL: how the servers go about it. */
static const struct capital {
	const char *hbase, *ours;
} capitals[] = {
	{"columns", "column"},	     {"cache", NULL},
	{"cache_blocks", NULL},	     {"batch", NULL},
	{"all_metrics", NULL},	     {"metrics", NULL},
	{"consistency", NULL},	     {"read_type", NULL},
	{"isolation_level", NULL},   {"allow_partial_results", NULL},
	{"region_replica_id", NULL},
};

static int add(struct capitals *c, char *word)
{
	if (ARRAY_RESERVE(c->argv, c->cap[0], (size_t)c->argc + 2) < 0)
		return -ENOMEM;
	c->argv[c->argc++] = word;
	c->argv[c->argc] = NULL;
	return 0;
}

static int add_made(struct capitals *c, char *word)
{
	if (!word || ARRAY_RESERVE(c->made, c->cap[1], c->nmade + 1) < 0) {
		free(word);
		return -ENOMEM;
	}
	c->made[c->nmade++] = word;
	return add(c, word);
}

/* The option's name; NULL: it is passed over. @name is in small letters. */
static const char *name_of(const char *name)
{
	for (size_t i = 0; i < sizeof(capitals) / sizeof(*capitals); i++)
		if (!strcmp(name, capitals[i].hbase))
			return capitals[i].ours;
	return name;
}

/* Options without a value, which are on or off there. */
static bool is_switch(const char *name)
{
	static const char *const names[] = {"raw", "reversed", "rows",
					    "values"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int take_pair(void *arg, const char *key, const char *value)
{
	struct capitals *c = arg;
	char name[64], *word = NULL;
	const char *ours;
	bool on;

	snprintf(name, sizeof(name), "%s", key);
	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	ours = name_of(name);
	if (!ours || (is_switch(ours) && !strcasecmp(value, "false")))
		return 0;
	on = is_switch(ours) && !strcasecmp(value, "true");
	/* Its two numbers come one by one. */
	if (!strcmp(ours, "timerange") && !c->from) {
		c->from = strdup(value);
		return c->from ? 0 : -ENOMEM;
	}
	if (!strcmp(ours, "timerange")) {
		if (asprintf(&word, "--%s=%s..%s", ours, c->from, value) < 0)
			word = NULL;
		free(c->from);
		c->from = NULL;
	} else if (asprintf(&word, on ? "--%s" : "--%s=%s", ours, value) < 0) {
		word = NULL;
	}
	return add_made(c, word);
}

static int expand(struct capitals *c, const char *word)
{
	const char *at = word;
	char *hash = NULL;
	int r;

	if (hash_is_bare(word)) {
		if (asprintf(&hash, "{%s}", word) < 0)
			return fail_memory();
		at = hash;
	}
	r = hash_read(&at, take_pair, c);
	if (r == 0 && *at)
		r = why(-EINVAL, "'%s' is too much", at);
	if (r == 0 && c->from)
		r = why(-EINVAL, "TIMERANGE is two times, [FROM, TO]");
	free(hash);
	if (r == -ENOMEM)
		return fail_memory();
	return r < 0 ? fail_usage("'%s': %s", word, store_why()) : EXIT_DONE;
}

int capitals_expand(struct capitals *c, const struct command *command, int argc,
		    char **argv)
{
	bool takes = command->options & (O_SELECT & ~O_JSON);
	int code = EXIT_DONE;

	for (int i = 0; code == EXIT_DONE && i < argc; i++) {
		takes = takes && strcmp(argv[i], "--") != 0;
		if (takes && i &&
		    (hash_is_bare(argv[i]) ||
		     (argv[i][0] == '{' && strstr(argv[i], "=>"))))
			code = expand(c, argv[i]);
		else if (add(c, argv[i]) < 0)
			code = fail_memory();
	}
	return code;
}

void capitals_free(struct capitals *c)
{
	for (size_t i = 0; i < c->nmade; i++)
		free(c->made[i]);
	free(c->made);
	free(c->argv);
	free(c->from);
}
