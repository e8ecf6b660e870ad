/*
 * What a snapshot shows stays, while threads take and drop snapshots beside
 * one that overwrites, flushes and compacts.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/unit.h"
#include "tests/unit/temp_store.h"

#define READERS 4
#define LOOKS 4
#define ROUNDS 30
#define PUTS 12 /* a round: more than a column keeps versions */

static struct temp_store ts;
static _Atomic bool changing;
static _Atomic uint64_t looked, failures;

static void failed(const char *what)
{
	temp_say(what);
	atomic_fetch_add(&failures, 1);
}

static int put(int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	return temp_put(&ts, "r", "f", "q", TS_AUTO, text);
}

/* The number that the snapshot shows, or -1. */
static int shown(const struct snapshot *snap)
{
	struct buf hold = {0};
	struct cell c;
	int value = -1;

	if (table_get(ts.table, bytes_str("r"), bytes_str("f"), bytes_str("q"),
		      TS_MAX, snap, &c, &hold) == 1 &&
	    buf_set(&hold, c.value) == 0 && buf_append(&hold, "", 1) == 0)
		value = atoi((const char *)hold.data);
	buf_free(&hold);
	return value;
}

static void look_at(const struct snapshot *snap)
{
	int first = shown(snap);

	for (int i = 0; i < LOOKS; i++) {
		struct snapshot *other;

		if (snapshot_take(ts.store, &other) < 0) {
			failed("take");
			return;
		}
		if (shown(other) < first)
			failed("a later snapshot shows what was before");
		snapshot_release(other);
		if (first < 0 || shown(snap) != first)
			failed("a snapshot changed");
	}
	atomic_fetch_add(&looked, 1);
}

static void look_at_present(void)
{
	struct snapshot *snap;

	if (snapshot_take(ts.store, &snap) < 0) {
		failed("take");
		return;
	}
	look_at(snap);
	snapshot_release(snap);
}

static void look_at_named(const char *name)
{
	struct snapshot *snap;

	if (store_snapshot_create(ts.store, NULL, bytes_str(name)) < 0 ||
	    store_snapshot_open(ts.store, NULL, bytes_str(name), &snap) < 0) {
		failed("create");
		return;
	}
	look_at(snap);
	snapshot_release(snap);
	if (store_snapshot_drop(ts.store, NULL, bytes_str(name)) < 0)
		failed("drop");
}

static void *reader(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "s%zu", (size_t)(uintptr_t)arg);
	while (atomic_load(&changing)) {
		look_at_present();
		if (arg)
			look_at_named(name);
	}
	return NULL;
}

TEST(what_a_snapshot_shows_stays)
{
	pthread_t r[READERS];
	int value = 0;

	assert_int_equal(temp_make(&ts), 0);
	assert_int_equal(put(value), 1);
	atomic_store(&changing, true);
	for (uintptr_t i = 0; i < READERS; i++)
		pthread_create(&r[i], NULL, reader, (void *)i);
	for (int i = 0; i < ROUNDS || atomic_load(&looked) < ROUNDS; i++) {
		for (int k = 0; k < PUTS; k++)
			if (put(++value) != 1)
				failed("put");
		if (store_flush(ts.store, NULL) < 0)
			failed("flush");
		if (i % 3 == 0 && store_compact(ts.store, NULL) < 0)
			failed("compact");
	}
	atomic_store(&changing, false);
	for (int i = 0; i < READERS; i++)
		pthread_join(r[i], NULL);
	assert_int_equal(atomic_load(&failures), 0);
	assert_int_equal(temp_remove(&ts), 0);
}
