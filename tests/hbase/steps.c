#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "store/hbase/backend/inside.h"
#include "store/hbase/master/upkeep.h"
#include "store/lsm/admin/engine.h"
#include "store/lsm/background/background.h"
#include "store/value/why.h"
#include "tests/hbase/case.h"
#include "tests/model/loop.h"
#include "tests/sim/os_sim.h"

static int step_flush(struct run *r, json_t *step)
{
	struct table *t;
	int err;

	if (step_table(r, step, &t) < 0)
		return -1;
	err = refuse_errno(r, store_flush(r->store, t));
	table_unref(t);
	return err;
}

/*
 * A compaction passes over what is in memory, which store_compact() does not. So
 * files are merged by what is behind store.h, of the table that is there.
 */
static int compact_files(struct run *r, json_t *step, unsigned newest)
{
	char name[TABLE_NAME_LEN_MAX + 1];
	struct table *t, *own = NULL;
	int err;

	if (step_table(r, step, &t) < 0)
		return -1;
	err = table_name(t, name);
	if (err == 0)
		err = table_open(r->behind ? r->behind : r->store,
				 bytes_str(name), &own);
	if (err == 0)
		err = r->os ? lsm_compact_files(own, newest)
			    : upkeep_compact(hbase_of(own->store)->cluster,
					     bytes_str(name));
	table_unref(own);
	table_unref(t);
	return refuse_errno(r, err);
}

static int step_major_compact(struct run *r, json_t *step)
{
	return compact_files(r, step, 0);
}

static int step_minor_compact(struct run *r, json_t *step)
{
	json_t *n = json_object_get(step, "newest");

	if (!r->os)
		return refuse_errno(r, why(-EOPNOTSUPP,
					   "it is not said to a cluster which "
					   "files to merge"));
	return compact_files(r, step, (unsigned)json_integer_value(n));
}

static int step_sleep(struct run *r, json_t *step)
{
	json_int_t ms = json_integer_value(json_object_get(step, "ms"));

	if (!r->os)
		usleep((useconds_t)ms * 1000);
	r->now += ms;
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct run *r, json_t *step);
	int nts; /* where a cell of its answer has the timestamp */
} ops[] = {
	{"put", step_put, -1},
	{"delete", step_delete, -1},
	{"mutate_row", step_mutate_row, -1},
	{"increment", step_increment, -1},
	{"append", step_append, -1},
	{"check_and_mutate", step_check_and_mutate, -1},
	{"get", step_get, 1},
	{"exists", step_exists, 1},
	{"scan", step_scan, 2},
	{"flush", step_flush, -1},
	{"major_compact", step_major_compact, -1},
	{"minor_compact", step_minor_compact, -1},
	{"sleep", step_sleep, -1},
	{"create", step_create, -1},
	{"drop", step_drop, -1},
	{"disable", step_disable, -1},
	{"enable", step_enable, -1},
	{"truncate", step_truncate, -1},
	{"add_family", step_add_family, -1},
	{"modify_family", step_modify_family, -1},
	{"delete_family", step_delete_family, -1},
	{"create_namespace", step_create_namespace, -1},
	{"drop_namespace", step_drop_namespace, -1},
	{"snapshot", step_snapshot, -1},
	{"clone_snapshot", step_clone_snapshot, -1},
	{"restore_snapshot", step_restore_snapshot, -1},
	{"delete_snapshot", step_delete_snapshot, -1},
};

static void say(const char *what, json_t *v)
{
	char *s = v ? json_dumps(v, JSON_ENCODE_ANY) : NULL;

	printf("    %-9s %.2000s\n", what, s ? s : "nothing");
	free(s);
}

static void record(struct run *r, int err)
{
	json_t *at = json_object();

	if (err < 0) {
		json_object_set_new(at, "error", json_string(r->error));
		json_object_set_new(at, "why", json_string(store_why()));
	} else {
		json_object_set(at, "answer", r->answer);
		json_object_set(at, "chunks", r->chunks);
	}
	json_array_append_new(r->record, at);
}

static bool judge(struct run *r, json_t *step, int err, int nts)
{
	const char *kind = json_string_value(json_object_get(step, "error"));
	json_t *expect = json_object_get(step, "expect");
	json_t *chunks = json_object_get(step, "expect_chunks");

	if (r->record) {
		record(r, err);
		return true;
	}
	if (kind) {
		if (err < 0 &&
		    (!strcmp(kind, "any") || !strcmp(kind, r->error)))
			return true;
		printf("    expected  the error %s\n", kind);
		printf("    got       %s\n", err < 0 ? r->error : "none");
		return false;
	}
	if (err < 0) {
		printf("    got       the error %s: %s\n", r->error,
		       store_why());
		return false;
	}
	if (expect && !text_same(r, expect, r->answer, nts)) {
		say("expected", expect);
		say("got", r->answer);
		return false;
	}
	if (chunks && !json_equal(chunks, r->chunks)) {
		say("chunks", chunks);
		say("got", r->chunks);
		return false;
	}
	return true;
}

/* On a cluster, whose clock nobody sets, steps lie apart all the same. */
static void wait_tick(struct run *r)
{
	usleep(2000);
	r->now = store_now_ms(r->store);
}

static bool run_step(struct run *r, json_t *step)
{
	const char *op = json_string_value(json_object_get(step, "op"));
	bool good = false;

	/* Calls that follow one another lie a millisecond apart. */
	if (r->os)
		sim_set_now_ms(r->os, ++r->now);
	else
		wait_tick(r);
	for (size_t i = 0; op && i < sizeof(ops) / sizeof(*ops); i++) {
		int err;

		if (strcmp(op, ops[i].name) != 0)
			continue;
		err = ops[i].run(r, step);
		if (r->os)
			sim_set_now_ms(r->os, r->now);
		else
			r->now = store_now_ms(r->store);
		good = judge(r, step, err, ops[i].nts);
		step_release(r);
		return good;
	}
	printf("    the operation %s is not known\n", op ? op : "?");
	return false;
}

static int settle_now(struct run *r, enum settle settle)
{
	int err = 0;

	if (settle == SETTLE_FLUSH)
		err = store_flush(r->store, NULL);
	if (settle == SETTLE_COMPACT)
		err = store_compact(r->store, NULL);
	if (err < 0)
		printf("    settling failed: %s\n", store_why());
	return err;
}

/* A store of its own, on a disk in memory with a clock in memory. */
static int open_own(struct run *r, bool served)
{
	/* A case writes little, and the disk is in memory. */
	struct store_options o = {.create = true,
				  .inline_background = true,
				  .wal_segment_bytes = 256 << 10,
				  .wal_ring_bytes = 64 << 10};
	int err;

	r->os = sim_new(1);
	sim_set_now_ms(r->os, r->now);
	o.os = r->os;
	err = store_open("/store", &o, &r->store);
	if (err == 0 && served) {
		r->behind = r->store;
		r->store = NULL;
		err = loop_open(r->behind, NULL, &r->store);
	}
	return err;
}

/* The table of this name with its snapshots, if there is one. */
static void drop_table(struct run *r, const char *name)
{
	struct snapshot_info info;
	struct table *t;

	if (table_open(r->store, bytes_str(name), &t) < 0)
		return;
	while (store_snapshot_next(r->store, t, (struct bytes){0}, &info) > 0)
		if (store_snapshot_drop(r->store, t, bytes_str(info.name)) < 0)
			break;
	table_unref(t);
	store_table_drop(r->store, bytes_str(name), false);
}

/* A cluster keeps what an earlier run has left there. */
static void drop_tables(struct run *r, json_t *steps)
{
	json_t *step;
	size_t i;

	drop_table(r, r->table);
	json_array_foreach(steps, i, step)
	{
		const char *name =
			json_string_value(json_object_get(step, "table"));

		if (name && !strncmp(name, "default:", 8))
			name += 8;
		if (name)
			drop_table(r, name);
		name = json_string_value(json_object_get(step, "to"));
		if (name)
			drop_table(r, name);
	}
}

static int begin(struct run *r, json_t *c, bool served, const char *path)
{
	const char *id = json_string_value(json_object_get(c, "id"));
	json_t *schema = json_object_get(c, "schema");
	int err;

	r->t0 = r->now = (int64_t)time(NULL) * 1000;
	err = path ? store_open(path, NULL, &r->store) : open_own(r, served);
	if (err < 0) {
		printf("    no store: %s\n", store_why());
		return err;
	}
	snprintf(r->table, sizeof(r->table), "%s", id ? id : "case");
	for (char *p = r->table; *p; p++)
		if (*p == '-')
			*p = '_';
	if (path)
		drop_tables(r, json_object_get(c, "steps"));
	if (!json_is_object(schema))
		return 0;
	err = create_table(r, r->table, schema);
	if (path)
		r->t0 = r->now = store_now_ms(r->store);
	if (err < 0)
		printf("    no table: %s\n", store_why());
	return err;
}

static void end(struct run *r)
{
	step_release(r);
	named_free(&r->disabled);
	taken_free(r);
	store_close(r->store);
	store_close(r->behind);
	if (r->os)
		sim_free(r->os);
}

enum outcome case_run(json_t *c, enum settle settle, bool served,
		      const char *path)
{
	struct run r = {0};
	json_t *step;
	size_t i;
	bool good = begin(&r, c, served, path) == 0;

	json_array_foreach(json_object_get(c, "steps"), i, step)
	{
		if (!good)
			break;
		good = run_step(&r, step) && settle_now(&r, settle) == 0;
		if (!good) {
			printf("    in step   %zu ", i + 1);
			say("", step);
		}
	}
	end(&r);
	return good ? CASE_PASSED : r.cannot ? CASE_LEFT_OUT : CASE_FAILED;
}

json_t *case_answers(json_t *c, const char *path)
{
	struct run r = {.record = json_array()};
	json_t *step, *out = NULL;
	size_t i;
	bool good = begin(&r, c, false, path) == 0;

	json_array_foreach(json_object_get(c, "steps"), i, step) good =
		good && run_step(&r, step);
	if (good)
		out = json_pack("{sI sO}", "t0", (json_int_t)r.t0, "steps",
				r.record);
	json_decref(r.record);
	end(&r);
	return out;
}
