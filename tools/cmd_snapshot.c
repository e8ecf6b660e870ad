/*
 * Snapshots: of the whole store, or of one table.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"
#include "tools/progress/progress.h"

enum verb {
	LIST,
	TAKE,
	DROP,
	RENAME,
	CLONE,
	RESTORE,
};

/*
 * How many names follow a verb. For a snapshot of the whole store, one more may
 * name one of its tables.
 */
static const struct verb_word {
	const char *word;
	int names, in_all;
} verbs[] = {
	[LIST] = {"list", 0, 0},   [TAKE] = {"take", 1, 1},
	[DROP] = {"drop", 1, 1},   [RENAME] = {"rename", 2, 2},
	[CLONE] = {"clone", 2, 3}, [RESTORE] = {"restore", 1, 2},
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* The verb, LIST if there is none; parse_snapshot() has checked the words. */
static enum verb verb_of(const struct request *rq)
{
	size_t v = VERBS;

	while (rq->nwords > 1 && --v)
		if (!strcmp(rq->words[1], verbs[v].word))
			return (enum verb)v;
	return LIST;
}

int parse_snapshot(struct request *rq)
{
	enum verb verb = verb_of(rq);
	struct nearest near;
	int want;

	if (verb == LIST && rq->nwords > 1 &&
	    strcmp(rq->words[1], verbs[LIST].word) != 0) {
		nearest_init(&near, rq->words[1]);
		for (size_t i = 0; i < VERBS; i++)
			nearest_offer(&near, verbs[i].word);
		if (rq->nwords != 3 || rq->of_table || near.word[0])
			return fail_nearest(&near, "",
					    "snapshot has no verb '%s'",
					    rq->words[1]);
		/* As HBase's shell has it: snapshot TABLE NAME. */
		rq->of_table = rq->words[1];
		rq->words[1] = verbs[TAKE].word;
		verb = TAKE;
	}
	want = rq->of_table ? verbs[verb].names : verbs[verb].in_all;
	if (rq->nwords > 1 && rq->nwords - 2 != want)
		return fail_usage("%s takes %d name%s here%s", verbs[verb].word,
				  want, want == 1 ? "" : "s",
				  want > verbs[verb].names
					  ? ", the last one is that of the "
					    "table in the snapshot"
					  : "");
	rq->writes = verb != LIST;
	return EXIT_DONE;
}

int cmd_list_table_snapshots(struct request *rq)
{
	struct snapshot_info info = {.name = ""};
	int r, code = EXIT_DONE;

	while (code == EXIT_DONE &&
	       (r = store_snapshot_next(rq->store, rq->table,
					bytes_str(info.name), &info)) != 0)
		code = r < 0 ? fail_store(rq->words[0]) : print_snapshot(&info);
	return code;
}

static int act(struct request *rq, const struct bytes names[3])
{
	struct store *s = rq->store;
	struct table *t = rq->table;

	switch (verb_of(rq)) {
	case TAKE:
		return store_snapshot_create(s, t, names[0]);
	case DROP:
		return store_snapshot_drop(s, t, names[0]);
	case RENAME:
		return store_snapshot_rename(s, t, names[0], names[1]);
	case CLONE:
		return store_snapshot_clone(s, t, names[0], names[2], names[1]);
	case RESTORE:
		return store_snapshot_restore(s, t, names[0], names[1]);
	case LIST:
		break;
	}
	return 0;
}

struct cloning {
	struct request *rq;
	const struct bytes *names;
};

static int act_long(void *arg)
{
	const struct cloning *k = arg;

	return act(k->rq, k->names);
}

/* Of the table that is copied, as large as it is now; 0: it is not known. */
static uint64_t copied_bytes(const struct request *rq,
			     const struct bytes names[3])
{
	struct table_info held = {.bytes = 0};
	struct bytes name = names[verb_of(rq) == CLONE ? 2 : 1];
	struct table *t = NULL;

	if (rq->table)
		(void)table_info(rq->table, &held);
	else if (name.len && table_open(rq->store, name, &t) == 0)
		(void)table_info(t, &held);
	table_unref(t);
	return held.bytes;
}

/* A clone or a restore copies all cells; other verbs are done at once. */
static int act_shown(struct request *rq, const struct bytes names[3])
{
	struct cloning k = {rq, names};
	enum verb verb = verb_of(rq);
	char *dir;
	int r;

	if (verb != CLONE && verb != RESTORE)
		return act(rq, names);
	dir = directory_of(rq);
	r = progress_run(
		verbs[verb].word, dir, copied_bytes(rq, names), act_long, &k,
		stopped_advice(rq, "nothing was changed: do it again"));
	free(dir);
	return r;
}

int cmd_snapshot(struct request *rq)
{
	struct buf holds[3] = {{0}, {0}, {0}};
	struct bytes names[3] = {{0}, {0}, {0}};
	int r, code = EXIT_DONE;

	if (rq->of_table) {
		r = table_open(rq->store, bytes_str(rq->of_table), &rq->table);
		if (r < 0)
			return fail_table(rq, rq->of_table, r);
	}
	if (verb_of(rq) == LIST)
		return cmd_list_table_snapshots(rq);
	for (int i = 0; code == EXIT_DONE && i < rq->nwords - 2; i++) {
		code = parse_key(rq->words[2 + i], &holds[i]);
		names[i] = buf_bytes(&holds[i]);
	}
	if (code == EXIT_DONE && act_shown(rq, names) < 0)
		code = fail_store(rq->words[2]);
	for (int i = 0; i < 3; i++)
		buf_free(&holds[i]);
	return code;
}
