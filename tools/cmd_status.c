/*
 * What is mounted where, and how it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/host/mountpoint.h"
#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"

struct listing {
	int code; /* the exit code so far */
	unsigned n;
};

/* 1 and *out, or 0: such a store does not tell. */
static int figure(struct store *s, const char *name, uint64_t *out)
{
	struct store_stat f;

	for (unsigned i = 0; store_stat(s, i, &f) > 0; i++)
		if (!strcmp(f.name, name)) {
			*out = f.value;
			return 1;
		}
	return 0;
}

static uint64_t count_tables(struct store *s)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	uint64_t n = 0;

	while (store_table_next(s, bytes_str(name), name) > 0)
		n++;
	return n;
}

/* Prints one that is open; @ill is set if something is wrong with it. */
static int print_open(struct store *s, const char *store,
		      const char *mountpoint, bool *ill)
{
	struct print_status st = {.store = store, .mountpoint = mountpoint};

	if (store_health(s) < 0)
		st.trouble = store_why();
	if (!figure(s, "tables", &st.tables))
		st.tables = count_tables(s);
	st.told = figure(s, "sstables", &st.files) &&
		  figure(s, "sstable_bytes", &st.bytes) &&
		  figure(s, "sstables_damaged", &st.damaged);
	*ill = st.trouble || st.damaged;
	return print_status(&st);
}

/* One that is mounted; what cannot be asked is told with the reason. */
static int list_one(void *arg, const char *store, const char *mountpoint)
{
	struct listing *l = arg;
	struct store *s = NULL;
	bool ill = true;
	int code;

	l->n++;
	if (open_quietly(mountpoint, &s) == 0) {
		code = print_open(s, store, mountpoint, &ill);
		code = close_store(s, NULL, code);
	} else {
		code = print_status(&(struct print_status){
			.store = store,
			.mountpoint = mountpoint,
			.trouble = store_why(),
			.unknown = true,
		});
	}
	if (ill && l->code == EXIT_DONE)
		l->code = EXIT_NONE;
	return code;
}

static int list_mounts(void)
{
	struct listing l = {EXIT_DONE};
	int r = mountpoint_each(list_one, &l);

	if (r < 0)
		return fail_store("/proc/self/mountinfo");
	if (r > 0)
		return r;
	if (l.n == 0)
		fputs("cellctl: nothing is mounted; of a store that is not: "
		      "cellctl status STORE\n",
		      stderr);
	return l.n ? l.code : EXIT_NONE;
}

static uint64_t quota_of(struct table *t)
{
	struct schema schema = {0};
	uint64_t quota;

	if (table_schema(t, &schema) < 0)
		return 0;
	quota = schema.quota;
	schema_free(&schema);
	return quota;
}

static int list_tables(struct request *rq)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	int code = EXIT_DONE, r = 1;

	while (code == EXIT_DONE &&
	       (r = store_table_next(rq->store, bytes_str(name), name)) > 0) {
		struct table_info info = {0};
		bool told = false;

		/* One that was dropped meanwhile is left out. */
		if (table_open(rq->store, bytes_str(name), &rq->table) < 0)
			continue;
		told = table_info(rq->table, &info) == 0;
		code = print_status_table(name, told ? &info : NULL,
					  quota_of(rq->table));
		table_unref(rq->table);
		rq->table = NULL;
	}
	return r < 0 ? fail_store(rq->words[0]) : code;
}

static int status_of_one(struct request *rq)
{
	char *mountpoint = NULL, *store = NULL;
	bool ill = false;
	int code = open_store(rq->words[0], false, true, &rq->store);

	if (code)
		return code;
	if (mountpoint_find(rq->words[0], &mountpoint) < 0)
		mountpoint = NULL;
	if (mountpoint && mountpoint_store(mountpoint, &store) < 0)
		code = fail_memory();
	else
		code = print_open(rq->store, store ? store : rq->words[0],
				  mountpoint, &ill);
	free(store);
	free(mountpoint);
	if (code == EXIT_DONE)
		code = list_tables(rq);
	if (code == EXIT_DONE && ill)
		code = EXIT_NONE;
	return code;
}

int cmd_status(struct request *rq)
{
	return rq->nwords ? status_of_one(rq) : list_mounts();
}
