/*
 * Snapshots of a store that is not mounted.
 */
#include <stdio.h>

#include "fs/name.h"
#include "tools/cellctl.h"

/* A name for people and for the command line: as in .snapshot. */
static void print_name(struct bytes name)
{
	struct name_part part;
	size_t pos = 0;

	do {
		name_part(name, pos, &part);
		fputs(part.text, stdout);
		pos = part.next;
		if (part.more)
			putchar('/');
	} while (part.more);
}

static int list(struct store *s, struct table *t)
{
	struct snapshot_info info = {.name = ""};
	int r;

	while ((r = store_snapshot_next(s, t, bytes_str(info.name), &info)) >
	       0) {
		print_name(bytes_str(info.name));
		printf("\t%lld\n", (long long)info.taken_ms);
	}
	return r;
}

static int act(struct store *s, struct table *t, const char *verb,
	       const struct bytes names[3])
{
	if (!verb)
		return list(s, t);
	if (!strcmp(verb, "take"))
		return store_snapshot_create(s, t, names[0]);
	if (!strcmp(verb, "drop"))
		return store_snapshot_drop(s, t, names[0]);
	if (!strcmp(verb, "clone"))
		return store_snapshot_clone(s, t, names[0], names[2], names[1]);
	if (!strcmp(verb, "restore"))
		return store_snapshot_restore(s, t, names[0], names[1]);
	return store_snapshot_rename(s, t, names[0], names[1]);
}

/*
 * How many names follow the verb; -1 = there is no such verb. Of the whole
 * store one more says which of its tables is meant.
 */
static int names_of(const char *verb, bool of_table)
{
	static const struct {
		const char *verb;
		int names, in_all;
	} verbs[] = {
		{"take", 1, 1},	 {"drop", 1, 1},    {"rename", 2, 2},
		{"clone", 2, 3}, {"restore", 1, 2},
	};

	if (!verb)
		return 0;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verb, verbs[i].verb))
			return of_table ? verbs[i].names : verbs[i].in_all;
	return -1;
}

int cmd_snapshot(int argc, char **argv)
{
	const char *table = NULL, *path, *verb;
	struct buf names[3] = {{0}, {0}, {0}};
	struct bytes given[3] = {{0}, {0}, {0}};
	struct store *store = NULL;
	struct table *t = NULL;
	int code = EXIT_DONE, n;

	argc--;
	argv++;
	if (argc > 1 && !strcmp(argv[0], "-t")) {
		table = argv[1];
		argc -= 2;
		argv += 2;
	}
	path = argc > 0 ? argv[0] : NULL;
	verb = argc > 1 ? argv[1] : NULL;
	n = names_of(verb, table != NULL);
	if (!path || n < 0 || argc != (verb ? 2 : 1) + n)
		return fail_usage(NULL);
	for (int i = 0; !code && i < n; i++)
		code = parse_key(argv[2 + i], &names[i]);
	for (int i = 0; i < n; i++)
		given[i] = buf_bytes(&names[i]);
	if (!code)
		code = table ? open_table(path, table, !verb, &store, &t)
			     : open_store(path, false, !verb, &store);
	if (!code) {
		if (act(store, t, verb, given) < 0)
			code = fail_store(n ? argv[2] : path);
		code = close_store(store, t, code);
	}
	for (int i = 0; i < 3; i++)
		buf_free(&names[i]);
	return code;
}
