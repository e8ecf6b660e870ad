#include <pthread.h>
#include <sched.h>

#include "tests/unit/unit.h"
#include "fs/kernel/fuse.h"
#include "fs/kernel/invalidate.h"
#include "fs/kernel/node.h"

#define ROOT 1
#define ROWS 10000

/*
 * A kernel that hears: what it knew of a row is old from then on. It can be
 * held while it hears something, as by a request on the same directory.
 */
static struct kernel {
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool held, hearing;
	unsigned entries[ROWS], inodes;
	unsigned rows;	 /* that have an entry */
	unsigned others; /* entries that are no rows */
} kernel;

static void hear_start(void)
{
	pthread_mutex_lock(&kernel.lock);
	kernel.hearing = true;
	pthread_cond_broadcast(&kernel.change);
	while (kernel.held)
		pthread_cond_wait(&kernel.change, &kernel.lock);
}

int fuse_lowlevel_notify_inval_entry(struct fuse_session *se, fuse_ino_t parent,
				     const char *name, size_t len)
{
	unsigned row;

	hear_start();
	if (sscanf(name, "row%u", &row) == 1 && row < ROWS)
		kernel.rows += kernel.entries[row]++ == 0;
	else
		kernel.others++;
	pthread_mutex_unlock(&kernel.lock);
	return 0;
}

int fuse_lowlevel_notify_inval_inode(struct fuse_session *se, fuse_ino_t ino,
				     off_t off, off_t len)
{
	hear_start();
	kernel.inodes++;
	pthread_mutex_unlock(&kernel.lock);
	return 0;
}

static void hold(bool held)
{
	pthread_mutex_lock(&kernel.lock);
	kernel.held = held;
	kernel.hearing = false;
	pthread_cond_broadcast(&kernel.change);
	pthread_mutex_unlock(&kernel.lock);
}

static void wait_hearing(void)
{
	pthread_mutex_lock(&kernel.lock);
	while (!kernel.hearing)
		pthread_cond_wait(&kernel.change, &kernel.lock);
	pthread_mutex_unlock(&kernel.lock);
}

static struct mount {
	struct nodes *nodes;
	struct invalidator *iv;
	uint64_t t, u;
} mount;

static uint64_t enter(uint64_t parent, const char *name, uint8_t kind)
{
	uint64_t id;

	assert_int_equal(nodes_enter(mount.nodes, parent, bytes_str(name), kind,
				     9, NULL, &id),
			 0);
	return id;
}

static const char *row_name(unsigned i)
{
	static char name[16];

	snprintf(name, sizeof(name), "row%u", i);
	return name;
}

/* The tables t, with rows that the kernel knows, and u. */
static int setup(void **state)
{
	kernel = (struct kernel){.lock = PTHREAD_MUTEX_INITIALIZER,
				 .change = PTHREAD_COND_INITIALIZER};
	assert_int_equal(nodes_new(&mount.nodes), 0);
	mount.t = enter(ROOT, "t", NODE_TABLE);
	mount.u = enter(ROOT, "u", NODE_TABLE);
	for (unsigned i = 0; i < ROWS; i++)
		enter(mount.t, row_name(i), NODE_ROW);
	assert_int_equal(invalidator_new(mount.nodes, &mount.iv), 0);
	/* The session is only handed on. */
	assert_int_equal(invalidator_start(mount.iv, (void *)&mount, false), 0);
	return 0;
}

static int teardown(void **state)
{
	invalidator_free(mount.iv);
	nodes_free(mount.nodes);
	return 0;
}

EACH_TEST_IN(setup, teardown);

static struct invalidate_counts counts(void)
{
	struct invalidate_counts c;

	invalidate_counts(mount.iv, &c);
	return c;
}

/* Holds the sender at a notice, so that what comes now waits. */
static void hold_sender(void)
{
	hold(true);
	invalidate_inode(mount.iv, mount.u, false);
	wait_hearing();
}

static void drain(void)
{
	hold(false);
	while (counts().queued)
		sched_yield();
}

/* Some row's entry is told of, which only a walk does here. */
static void wait_walking(void)
{
	pthread_mutex_lock(&kernel.lock);
	while (!kernel.rows)
		pthread_cond_wait(&kernel.change, &kernel.lock);
	kernel.held = true;
	pthread_mutex_unlock(&kernel.lock);
}

TEST(rows_beyond_the_queue_are_all_told)
{
	hold_sender();
	for (unsigned i = 0; i < ROWS; i++)
		invalidate_entry(mount.iv, mount.t, bytes_str(row_name(i)));
	drain();
	assert_int_equal(kernel.rows, ROWS);
	/* One walk, whatever the number of those without room. */
	assert_int_equal(counts().walks, 1);
	assert_int_equal(counts().dropped, 0);
	/* The other table was left alone. */
	assert_int_equal(kernel.others, 0);
}

TEST(what_comes_during_a_walk_is_told_after_it)
{
	hold_sender();
	for (int i = 0; i < 5000; i++)
		invalidate_inode(mount.iv, mount.t, true);
	hold(false);
	wait_walking();
	for (int i = 0; i < 5000; i++)
		invalidate_entry(mount.iv, mount.t, bytes_str("row0"));
	drain();
	assert_int_equal(counts().walks, 2);
}

TEST(many_tables_without_room_are_the_whole_mount)
{
	uint64_t tables[20];
	char name[8];

	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		tables[i] = enter(ROOT, name, NODE_TABLE);
	}
	hold_sender();
	for (int i = 0; i < 4096; i++)
		invalidate_inode(mount.iv, mount.u, false);
	for (int i = 0; i < 20; i++)
		invalidate_entry(mount.iv, tables[i], bytes_str("x"));
	drain();
	assert_int_equal(counts().walks, 1);
	for (unsigned i = 0; i < ROWS; i++)
		assert_int_equal(kernel.entries[i], 1);
	assert_int_equal(kernel.others, 22);
}

TEST(the_names_beneath_a_row_are_told_and_no_others)
{
	uint64_t row, family;

	assert_int_equal(
		nodes_find(mount.nodes, mount.t, bytes_str("row7"), &row), 1);
	family = enter(row, "f", NODE_FAMILY);
	enter(family, "q", NODE_COLUMN);
	invalidate_names(mount.iv, row);
	drain();
	/* f and q. */
	assert_int_equal(kernel.rows, 0);
	assert_int_equal(kernel.others, 2);
	assert_int_equal(kernel.inodes, 2);
}

TEST(absent_rows_without_room_are_dropped)
{
	hold_sender();
	for (int i = 0; i < 4096 + 10; i++)
		invalidate_absent(mount.iv, mount.t, bytes_str("none"));
	assert_int_equal(counts().dropped, 10);
	drain();
	assert_int_equal(counts().walks, 0);
}

TEST(who_waits_goes_on_when_all_is_told)
{
	hold_sender();
	for (int i = 0; i < 4096; i++)
		invalidate_inode(mount.iv, mount.u, false);
	/* It finds no room: the whole table is told in its place. */
	invalidate_entry(mount.iv, mount.t, bytes_str("row0"));
	hold(false);
	invalidate_wait(mount.iv, 0);
	assert_int_equal(counts().walks, 1);
	assert_int_equal(kernel.rows, ROWS);
	invalidate_entry(mount.iv, mount.t, bytes_str("none"));
	invalidate_wait(mount.iv, 0);
	assert_int_equal(kernel.others, 1);
}

TEST(a_stop_ends_a_walk)
{
	uint64_t live, pinned;

	hold_sender();
	for (int i = 0; i < 4097; i++)
		invalidate_inode(mount.iv, mount.t, true);
	hold(false);
	invalidator_stop(mount.iv);
	/* No walk stands on a row: all can be forgotten. */
	for (unsigned i = 0; i < ROWS; i++) {
		uint64_t row;

		assert_int_equal(nodes_find(mount.nodes, mount.t,
					    bytes_str(row_name(i)), &row),
				 1);
		nodes_forget(mount.nodes, row, 1);
	}
	nodes_count(mount.nodes, &live, &pinned);
	assert_int_equal(live, 3);
}
