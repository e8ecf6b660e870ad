/*
 * A served store: client and session joined in one process, over the engine on
 * a disk in memory.
 */
#ifndef CELLFS_TESTS_UNIT_REMOTE_H
#define CELLFS_TESTS_UNIT_REMOTE_H

#include "tests/unit/unit.h"
#include "store/served.h"
#include "store/store.h"
#include "tests/model/loop.h"
#include "tests/sim/os_sim.h"

static struct {
	struct os *os;
	struct store *behind, *s;
	struct table *t; /* the client's: table t, family f */
} the;

static inline struct bytes str(const char *s)
{
	return bytes_str(s);
}

static inline void begin_hooked(const struct served_hooks *hooks)
{
	struct store_options o = {.create = true, .inline_background = true};

	the.os = o.os = sim_new(1);
	assert_int_equal(store_open("/store", &o, &the.behind), 0);
	assert_int_equal(store_table_create(the.behind, str("t"), NULL), 0);
	assert_int_equal(table_open(the.behind, str("t"), &the.t), 0);
	assert_int_equal(table_add_family(the.t, str("f")), 0);
	table_unref(the.t);
	assert_int_equal(loop_open(the.behind, hooks, &the.s), 0);
	assert_int_equal(table_open(the.s, str("t"), &the.t), 0);
}

static inline int begin(void **state)
{
	begin_hooked(NULL);
	return 0;
}

static inline int end(void **state)
{
	table_unref(the.t);
	assert_int_equal(store_close(the.s), 0);
	assert_int_equal(store_close(the.behind), 0);
	sim_free(the.os);
	return 0;
}

static inline int put_in(struct table *t, const char *row, struct bytes value)
{
	struct change c = {.op = CHANGE_PUT,
			   .family = str("f"),
			   .qualifier = str("q"),
			   .ts = TS_AUTO,
			   .value = value};
	struct mutation m = {.row = str(row), .changes = &c, .nchanges = 1};

	return table_mutate(t, &m, 0);
}

#endif
