/*
 * An open log for which space, or a file, cannot be had; and one that is only read,
 * or is damaged while it is open.
 */
#include "tests/unit/unit.h"
#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_replay.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/wal_records.h"

#define SEGMENT 16384

static struct {
	struct os *sim, *os; /* @os: the same, whose calls may fail */
	struct os_dir *dir;
	struct wal_options o;
	struct wal *w;
	uint32_t n; /* records appended */
} the;

/* The record that is larger than a segment, and how long it is. */
static uint32_t large;
#define LARGE ((size_t)5 * SEGMENT + 1)

static size_t length_beside_large(uint32_t n)
{
	return n == large ? LARGE : length_of(n);
}

static struct os_dir *dir_of(struct os *os)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, "/s", true, &d), 0);
	return d;
}

static void open_log(bool read_only)
{
	struct seen s = {0};
	int r = wal_open(the.dir, &the.o, 1, read_only, see, &s, &the.w);

	if (r < 0)
		fail_msg("%s", store_why());
	assert_false(s.wrong);
	assert_int_equal(s.next, the.n);
}

static int set_up(void **state)
{
	memset(&the, 0, sizeof(the));
	large = UINT32_MAX;
	the.sim = sim_new(1);
	the.os = fault_new(the.sim);
	the.dir = dir_of(the.os);
	the.o = (struct wal_options){
		.segment_bytes = SEGMENT, .ring_bytes = 4096, .reserve = true};
	open_log(false);
	return 0;
}

static int tear_down(void **state)
{
	if (the.w)
		(void)wal_close(the.w);
	os_dir_close(the.dir);
	fault_free(the.os);
	sim_free(the.sim);
	return 0;
}

EACH_TEST_IN(set_up, tear_down);

static int append_of(size_t len)
{
	uint64_t lsn;
	int r = append_record(the.w, the.n, len, &lsn);

	the.n += r == 0;
	return r;
}

static int append(void)
{
	return append_of(length_of(the.n));
}

static uint64_t segment_of(void)
{
	uint64_t segment;

	assert_int_equal(wal_rotate(the.w, &segment), 0);
	return segment;
}

static void arm(unsigned kinds, int err)
{
	fault_arm(the.os, &(struct fault_plan){.kinds = kinds,
					       .err = err,
					       .nth = 1,
					       .forever = true});
}

/* How many records come back, after a kill and a reopening. */
static uint32_t come_back(void)
{
	struct os *after = sim_after_kill(the.sim);
	struct os_dir *d = dir_of(after);
	struct seen s = {.length = length_beside_large};
	struct wal *w;

	assert_int_equal(wal_open(d, &the.o, 1, false, see, &s, &w), 0);
	assert_false(s.wrong);
	assert_int_equal(wal_close(w), 0);
	os_dir_close(d);
	sim_free(after);
	return s.next;
}

/* All that was appended comes back. */
static void nothing_is_lost(void)
{
	assert_int_equal(come_back(), the.n);
}

TEST(a_log_with_space_is_not_spent)
{
	assert_int_equal(append(), 0);
	assert_int_equal(wal_prepare(the.w), 0);
	assert_false(wal_low(the.w));
	assert_false(wal_spent(the.w));
}

/* What it has lent does not count; the present segment does. */
TEST(a_log_that_is_low_is_spent_by_half_a_segment)
{
	uint64_t start = wal_end(the.w), room = SEGMENT - WAL_BLOCK_BYTES;

	assert_int_equal(append(), 0);
	assert_int_equal(wal_prepare(the.w), 0);
	assert_int_equal(wal_lend(the.w), 1);
	assert_true(wal_low(the.w));
	/* It has the next segment still. */
	assert_false(wal_spent(the.w));
	assert_int_equal(wal_lend(the.w), 1);
	assert_int_equal(wal_lend(the.w), 0);
	while (!wal_spent(the.w)) {
		assert_true(room >= SEGMENT / 2);
		assert_int_equal(append(), 0);
		room = SEGMENT - WAL_BLOCK_BYTES - (wal_end(the.w) - start);
	}
	assert_true(room < SEGMENT / 2);
	/* It is low until both are there again. */
	wal_repay(the.w, 1);
	assert_int_equal(wal_prepare(the.w), 0);
	assert_true(wal_low(the.w));
	wal_repay(the.w, 1);
	assert_int_equal(wal_prepare(the.w), 0);
	assert_false(wal_low(the.w));
	assert_false(wal_spent(the.w));
	nothing_is_lost();
}

/* Without an active segment there is only what is made ahead. */
TEST(a_log_between_two_segments_is_spent_without_the_next)
{
	assert_int_equal(append(), 0);
	assert_int_equal(wal_prepare(the.w), 0);
	segment_of();
	assert_int_equal(wal_lend(the.w), 1);
	assert_false(wal_spent(the.w));
	assert_int_equal(wal_lend(the.w), 1);
	assert_true(wal_spent(the.w));
	wal_repay(the.w, 2);
}

/* What is freed for others is not made again by who needs a segment. */
TEST(what_was_lent_is_not_made_before_it_is_repaid)
{
	uint64_t was, recycled;
	struct wal_stat st;

	assert_int_equal(append(), 0);
	assert_int_equal(wal_prepare(the.w), 0);
	wal_stat(the.w, &st);
	recycled = st.recycled;
	was = wal_lendable(the.w);
	assert_true(was > 0);
	assert_int_equal(wal_lend(the.w), 1);
	assert_int_equal(wal_lendable(the.w), 0);
	for (int i = 0; i < 200; i++)
		assert_int_equal(append(), 0);
	assert_int_equal(wal_lendable(the.w), 0);
	assert_true(wal_low(the.w));
	/* Nor is a segment that is recycled in the meantime enough. */
	assert_int_equal(wal_lend(the.w), 1);
	assert_int_equal(wal_release(the.w, segment_of()), 0);
	wal_stat(the.w, &st);
	assert_true(st.recycled > recycled);
	assert_true(wal_low(the.w));
	wal_repay(the.w, 2);
	assert_int_equal(wal_prepare(the.w), 0);
	assert_int_equal(wal_lendable(the.w), was);
	assert_false(wal_low(the.w));
}

/* The last segment, so that what is acknowledged can be; then it takes no more. */
TEST(the_reserve_is_the_next_segment_where_the_disk_fails)
{
	uint64_t before;

	assert_int_equal(append(), 0);
	assert_int_equal(wal_prepare(the.w), 0);
	/* The next segment is used, and none is made behind it. */
	arm(FAULT_ALLOCATE, ENOSPC);
	before = segment_of();
	assert_int_equal(append(), 0);
	assert_int_equal(segment_of(), before + 1);
	arm(FAULT_ALLOCATE, EIO);
	assert_int_equal(append(), 0);
	assert_true(fault_fired(the.os) > 0);
	assert_int_equal(wal_lendable(the.w), 0);
	assert_int_equal(wal_health(the.w), -EROFS);
	assert_int_equal(append(), -EROFS);
	fault_disarm(the.os);
	nothing_is_lost();
}

TEST(a_reserve_that_cannot_be_taken_fails_the_log)
{
	assert_int_equal(append(), 0);
	assert_int_equal(wal_prepare(the.w), 0);
	arm(FAULT_ALLOCATE, ENOSPC);
	segment_of();
	assert_int_equal(append(), 0);
	segment_of();
	arm(FAULT_ALLOCATE | FAULT_RENAME, EIO);
	assert_true(append() < 0);
	assert_int_equal(wal_health(the.w), -EROFS);
	fault_disarm(the.os);
	nothing_is_lost();
}

/* Its own file is made; the segment before cannot be sealed. */
TEST(a_large_record_behind_a_failed_sync_is_not_taken)
{
	assert_int_equal(append(), 0);
	arm(FAULT_FDATASYNC | FAULT_PWRITE, EIO);
	assert_true(append_of((size_t)2 * SEGMENT) < 0);
	assert_int_equal(wal_health(the.w), -EROFS);
	fault_disarm(the.os);
	nothing_is_lost();
}

/*
 * Its head, its parts and what fills it up are writes of their own. One that was
 * refused may be there all the same, if that failed last.
 */
TEST(a_large_record_that_is_taken_was_written_whole)
{
	uint64_t nth = 0, fired;

	do {
		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
		assert_int_equal(append(), 0);
		large = the.n;
		fault_arm(the.os, &(struct fault_plan){.kinds = FAULT_PWRITE,
						       .err = EIO,
						       .nth = ++nth});
		(void)append_of(LARGE);
		fired = fault_fired(the.os);
		fault_disarm(the.os);
		assert_in_range(come_back(), the.n, 2);
	} while (fired);
	assert_int_equal(the.n, 2);
	assert_true(nth > 3);
}

/* The page cache still has it, and holds it for written. */
TEST(what_is_found_behind_a_failed_sync_is_written_again)
{
	struct os *after;
	struct os_dir *d;
	struct seen s = {0};
	struct wal *w;

	for (int i = 0; i < 5; i++)
		assert_int_equal(append(), 0);
	fault_arm(the.os, &(struct fault_plan){.kinds = FAULT_FDATASYNC,
					       .err = EIO,
					       .nth = 1,
					       .lose = true});
	assert_true(wal_sync(the.w, wal_end(the.w)) < 0);
	fault_disarm(the.os);
	(void)wal_close(the.w);
	open_log(false);
	after = sim_after_power_loss(the.sim);
	d = dir_of(after);
	assert_int_equal(wal_open(d, &the.o, 1, false, see, &s, &w), 0);
	assert_int_equal(s.next, 5);
	assert_int_equal(wal_close(w), 0);
	os_dir_close(d);
	sim_free(after);
}

TEST(a_sync_beyond_the_end_is_one_of_all)
{
	struct os *after;
	struct os_dir *d;
	struct seen s = {0};
	struct wal *w;

	for (int i = 0; i < 5; i++)
		assert_int_equal(append(), 0);
	assert_int_equal(wal_sync(the.w, wal_end(the.w) + 4096), 0);
	after = sim_after_power_loss(the.sim);
	d = dir_of(after);
	assert_int_equal(wal_open(d, &the.o, 1, false, see, &s, &w), 0);
	assert_int_equal(s.next, 5);
	assert_int_equal(wal_close(w), 0);
	os_dir_close(d);
	sim_free(after);
}

TEST(a_log_that_is_read_refuses_each_change)
{
	uint64_t segment;

	assert_int_equal(append(), 0);
	assert_int_equal(wal_close(the.w), 0);
	open_log(true);
	assert_int_equal(wal_rotate(the.w, &segment), -EROFS);
	assert_int_equal(wal_release(the.w, 9), -EROFS);
	assert_int_equal(append(), -EROFS);
	assert_int_equal(wal_tick(the.w), 0);
}

TEST(a_small_disk_has_a_small_reserve)
{
	assert_int_equal(wal_close(the.w), 0);
	the.o.segment_bytes = the.o.ring_bytes = 0;
	sim_set_space(the.sim, 128 << 20);
	open_log(false);
	assert_int_equal(append(), 0);
	assert_int_equal(wal_prepare(the.w), 0);
	/* Four of its segments, of which each is a 32nd. */
	assert_int_equal(wal_lendable(the.w), 16 << 20);
}

TEST(the_smallest_segment_has_a_block_of_records)
{
	uint64_t from = segment_of();

	assert_int_equal(wal_close(the.w), 0);
	the.o.segment_bytes = 1;
	open_log(false);
	for (int i = 0; i < 40; i++)
		assert_int_equal(append(), 0);
	/* 40 records of 160 bytes or so. */
	assert_in_range(segment_of() - from, 2, 3);
	nothing_is_lost();
}

/* Three segments, held. */
static void hold_three(uint64_t *first, uint64_t *end, uint64_t *pos)
{
	*first = segment_of();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(append(), 0);
		segment_of();
	}
	assert_int_equal(wal_hold(the.w, end, pos), 0);
	assert_int_equal(*end - *first, 3);
}

static int take_file(void *arg, const struct wal_file *f)
{
	++*(int *)arg;
	return 0;
}

/* Writes @n bytes at the begin of a segment, or cuts it there. */
static void harm(uint64_t number, const void *data, size_t n)
{
	char name[WAL_NAME_BYTES];
	struct os_file *f;

	wal_segment_name(name, number);
	assert_int_equal(os_open(the.dir, name, OS_WRITE, &f), 0);
	if (data)
		assert_int_equal(os_pwrite(f, data, n, 0), 0);
	else
		assert_int_equal(os_truncate(f, n), 0);
	os_close(f);
}

TEST(a_held_segment_that_is_damaged_is_not_copied)
{
	uint64_t first, end, pos;
	int n = 0;

	hold_three(&first, &end, &pos);
	assert_int_equal(wal_files(the.w, first, end, pos, take_file, &n), 0);
	assert_int_equal(n, 3);
	harm(first + 1, "oops", 4);
	assert_int_equal(wal_files(the.w, first, end, pos, take_file, &n),
			 -EUCLEAN);
	assert_non_null(strstr(store_why(), "first block"));
	harm(first, NULL, 100);
	assert_int_equal(wal_files(the.w, first, end, pos, take_file, &n),
			 -EUCLEAN);
	assert_non_null(strstr(store_why(), "first block"));
	wal_let_go(the.w);
}

TEST(a_held_segment_that_was_cut_is_not_copied)
{
	uint64_t first, end, pos;
	int n = 0;

	hold_three(&first, &end, &pos);
	harm(first + 1, NULL, WAL_BLOCK_BYTES);
	assert_int_equal(wal_files(the.w, first, end, pos, take_file, &n),
			 -EUCLEAN);
	assert_int_equal(n, 1);
	assert_non_null(strstr(store_why(), "does not end where the log"));
	wal_let_go(the.w);
}

/* They have each other's number and place. */
TEST(held_segments_that_do_not_follow_are_not_copied)
{
	uint64_t first, end, pos;
	uint8_t block[WAL_BLOCK_BYTES];
	struct wal_head h = {0};
	int n = 0;

	hold_three(&first, &end, &pos);
	h = (struct wal_head){first + 1, 1, 1 << 30, SEGMENT};
	wal_head_encode(block, &h);
	harm(first + 1, block, sizeof(block));
	assert_int_equal(wal_files(the.w, first + 1, end, pos, take_file, &n),
			 -EUCLEAN);
	assert_int_equal(n, 0);
	wal_let_go(the.w);
}
