/*
 * Syncs of the log past the page cache, on a simulated disk whose calls are
 * watched: when they are such, that they keep the rule of wal_live.h, and that
 * what they made durable is found after a loss of power at any moment.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "store/lsm/wal/wal_live.h"
#include "store/os/clock.h"
#include "store/value/why.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/thorough.h"
#include "tests/unit/wal_records.h"
#include "tests/unit/wal_watch.h"

static void expect_no_wrong(void)
{
	if (watch.wrong)
		fail_msg("%s", watch.wrong);
}

static const struct wal_options options = {.segment_bytes = 128 << 10,
					   .ring_bytes = 16 << 10};
static const struct wal_options tight = {.segment_bytes = 48 << 10,
					 .ring_bytes = 4096};
static const struct wal_options roomy = {.segment_bytes = 2 << 20,
					 .ring_bytes = 1 << 20};

struct place {
	struct os *os;
	struct os_dir *dir;
	struct wal *w;
	uint32_t n;
	uint64_t lsn;
};

static struct os_dir *dir_of(struct os *os)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, "/store", true, &d), 0);
	return d;
}

static struct place place_with(uint64_t seed, const struct wal_options *o)
{
	struct place p = {.os = watched_new(seed)};
	struct seen s = {0};

	p.dir = dir_of(p.os);
	assert_int_equal(wal_open(p.dir, o, 0, false, see, &s, &p.w), 0);
	watch.w = p.w;
	return p;
}

static struct place place_new(uint64_t seed)
{
	return place_with(seed, &options);
}

static void place_free(struct place *p)
{
	if (p->w)
		assert_int_equal(wal_close(p->w), 0);
	os_dir_close(p->dir);
	p->os->ops = watch.real;
	sim_free(p->os);
	expect_no_wrong();
}

/* Their lengths, which each test chooses. */
static size_t (*length)(uint32_t n) = length_of;

static void append(struct place *p)
{
	assert_int_equal(append_record(p->w, p->n, length(p->n), &p->lsn), 0);
	p->n++;
}

static void sync_all(struct place *p)
{
	assert_int_equal(wal_sync(p->w, p->lsn), 0);
}

/* How many records another process finds; @power: after a loss of it. */
static uint32_t found_after(struct place *p, bool power)
{
	struct os *os =
		power ? sim_after_power_loss(p->os) : sim_after_kill(p->os);
	struct os_dir *dir = dir_of(os);
	struct seen s = {.length = length};
	struct wal *w = NULL;

	if (wal_open(dir, &options, 0, false, see, &s, &w))
		fail_msg("%s", store_why());
	assert_false(s.wrong);
	assert_int_equal(wal_close(w), 0);
	os_dir_close(dir);
	sim_free(os);
	return s.next;
}

static void expect_zeros_behind(struct place *p)
{
	uint64_t off = wal_offset(p->w, p->lsn);
	uint8_t rest[WAL_BLOCK_BYTES];
	size_t n = (size_t)(-off % WAL_BLOCK_BYTES);

	assert_int_equal(watch.real->pread(p->w->file, rest, n, off), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(rest[i], 0);
}

TEST(a_sync_is_one_write_past_the_page_cache)
{
	struct place p = place_new(1);
	uint64_t segment;
	unsigned syncs;

	append(&p);
	syncs = watch.syncs;
	for (uint32_t i = 0; i < 200; i++) {
		sync_all(&p);
		assert_int_equal(watch.direct, i + 1);
		expect_zeros_behind(&p);
		assert_int_equal(found_after(&p, true), p.n);
		append(&p);
	}
	assert_int_equal(watch.syncs, syncs);
	assert_int_equal(watch.cached, 0);
	/* The block that each begins with is known. */
	assert_int_equal(watch.reads, 0);
	/* And the blocks that come next were written with the first. */
	assert_int_equal(watch.farther, 1);
	/* So it is in the next segment. */
	assert_int_equal(wal_rotate(p.w, &segment), 0);
	watch.farthest = 0;
	for (uint32_t i = 0; i < 100; i++) {
		append(&p);
		sync_all(&p);
	}
	assert_int_equal(watch.farther, 2);
	place_free(&p);
}

TEST(records_in_the_page_cache_are_synced_there)
{
	struct place p = place_new(2);
	unsigned syncs, direct;

	append(&p);
	sync_all(&p);
	while (!watch.cached)
		append(&p);
	syncs = watch.syncs;
	direct = watch.direct;
	sync_all(&p);
	assert_int_equal(watch.syncs, syncs + 1);
	assert_int_equal(watch.direct, direct);
	assert_int_equal(found_after(&p, true), p.n);
	/* Then directly again, behind the block that it left half full. */
	for (uint32_t i = 0; i < 100; i++) {
		append(&p);
		sync_all(&p);
		assert_int_equal(watch.direct, direct + i + 1);
		assert_int_equal(watch.reads, 1);
		assert_int_equal(found_after(&p, true), p.n);
	}
	place_free(&p);
}

static size_t mixed_length(uint32_t n)
{
	static const size_t of[] = {10, 3000, 9000, 60,	 70000,	 8,   40,
				    66, 120,  7000, 100, 140000, 4076};

	return of[n % 13];
}

TEST(records_of_all_sizes_and_segments_mix)
{
	struct place p;

	length = mixed_length;
	p = place_new(3);
	for (uint32_t i = 0; i < 160; i++) {
		append(&p);
		if (i % 3)
			sync_all(&p);
		if (i % 17 == 16)
			assert_int_equal(wal_tick(p.w), 0);
		if (i % 3 && i % 5 == 0)
			assert_int_equal(found_after(&p, true), p.n);
		if (i % 41 == 40)
			assert_int_equal(found_after(&p, false), p.n);
	}
	assert_true(watch.direct > 20 && watch.cached > 50);
	place_free(&p);
	length = length_of;
}

TEST(without_such_a_handle_fdatasync_does_it)
{
	struct place p = place_new(4);
	struct wal_stat st;

	watch.refuse = true;
	for (uint32_t i = 0; i < 50; i++) {
		append(&p);
		sync_all(&p);
		assert_int_equal(found_after(&p, true), p.n);
	}
	assert_int_equal(watch.direct, 0);
	wal_stat(p.w, &st);
	assert_int_equal(st.syncs, 50);
	assert_int_equal(st.failed, 0);
	/* It is tried anew with each segment. */
	watch.refuse = false;
	while (!watch.direct) {
		append(&p);
		sync_all(&p);
	}
	assert_int_equal(found_after(&p, true), p.n);
	place_free(&p);
}

TEST(a_direct_write_that_fails_ends_the_log)
{
	struct place p = place_new(5);
	struct wal_stat st;
	uint32_t n;

	append(&p);
	sync_all(&p);
	n = p.n;
	append(&p);
	watch.fails = ENOSPC;
	assert_int_equal(wal_sync(p.w, p.lsn), -EROFS);
	assert_non_null(strstr(store_why(), "write and sync wal-"));
	watch.fails = 0;
	assert_int_equal(wal_sync(p.w, p.lsn), -EROFS);
	assert_int_equal(wal_tick(p.w), -EROFS);
	assert_int_equal(append_record(p.w, p.n, 8, &p.lsn), -EROFS);
	wal_stat(p.w, &st);
	assert_int_equal(st.failed, ENOSPC);
	assert_int_equal(found_after(&p, true), n);
	assert_int_equal(found_after(&p, false), n + 1);
	assert_int_equal(wal_close(p.w), -EROFS);
	p.w = NULL;
	place_free(&p);
}

static struct place *here;

/* But for the room that the next record is to find there. */
static void fill_the_ring(void)
{
	uint64_t most = here->w->ring_bytes / 2;

	if (most > WAL_SMALL_BYTES)
		most = WAL_SMALL_BYTES;
	watch.during = NULL;
	while (wal_end(here->w) - atomic_load(&here->w->drained) +
		       wal_record_size(length_of(here->n)) + most <=
	       here->w->ring_bytes)
		append(here);
}

TEST(the_ring_takes_records_during_a_direct_write)
{
	static const struct wal_options *const sizes[] = {&options, &roomy};

	for (size_t i = 0; i < 2; i++) {
		struct place p = place_with(6, sizes[i]);
		unsigned direct, cached;
		uint32_t n;

		here = &p;
		/* Behind others, of which the ring has nothing. */
		while (wal_end(p.w) < p.w->ring_bytes / 2)
			append(&p);
		sync_all(&p);
		cached = watch.cached;
		append(&p);
		watch.during = fill_the_ring;
		n = p.n;
		sync_all(&p);
		assert_true(p.n > n);
		assert_int_equal(watch.cached, cached);
		assert_int_equal(found_after(&p, true), n);
		assert_int_equal(found_after(&p, false), p.n);
		/* Much of it is no matter of a direct write. */
		direct = watch.direct;
		sync_all(&p);
		assert_int_equal(watch.direct, direct + (i == 0));
		assert_int_equal(watch.cached != cached, i == 1);
		assert_int_equal(found_after(&p, true), p.n);
		place_free(&p);
	}
}

static void *append_until_it_drains(void *arg)
{
	unsigned cached = watch.cached;

	while (watch.cached == cached)
		append(here);
	return NULL;
}

static void *append_past_the_ring(void *arg)
{
	length = mixed_length;
	while (length(here->n) < options.ring_bytes / 2)
		here->n++;
	append(here);
	return NULL;
}

static void *(*other)(void *arg);
static pthread_t other_thread;

/* Goes on when the other one waits, or does not. */
static void start_the_other(void)
{
	bool waits = false;

	watch.during = NULL;
	assert_int_equal(pthread_create(&other_thread, NULL, other, NULL), 0);
	while (!waits && !watch.wrong) {
		sched_yield();
		pthread_mutex_lock(&watch.w->lock);
		waits = watch.w->direct.awaited > 0;
		pthread_mutex_unlock(&watch.w->lock);
	}
}

TEST(who_has_to_write_otherwise_waits)
{
	static void *(*const others[])(void *) = {append_until_it_drains,
						  append_past_the_ring};

	for (size_t i = 0; i < 2; i++) {
		struct place p = place_new(7);
		uint64_t lsn;

		here = &p;
		append(&p);
		other = others[i];
		watch.during = start_the_other;
		lsn = p.lsn;
		assert_int_equal(wal_sync(p.w, lsn), 0);
		pthread_join(other_thread, NULL);
		assert_true(watch.cached > 0);
		expect_no_wrong();
		sync_all(&p);
		/* The second passes numbers over. */
		if (i == 0)
			assert_int_equal(found_after(&p, true), p.n);
		place_free(&p);
		length = length_of;
	}
}

/* How many are in wal_sync() when the other one waits there. */
static unsigned expected;
static atomic_bool done;

static void *sync_what_is_synced(void *arg)
{
	if (wal_sync(here->w, here->lsn) < 0)
		watch.wrong = "a sync fails";
	done = true;
	return NULL;
}

static void start_who_syncs(void)
{
	unsigned waiting = 0;

	watch.during = NULL;
	assert_int_equal(
		pthread_create(&other_thread, NULL, sync_what_is_synced, NULL),
		0);
	while (waiting < expected) {
		sched_yield();
		pthread_mutex_lock(&watch.w->lock);
		waiting = watch.w->crowd.waiting;
		pthread_mutex_unlock(&watch.w->lock);
	}
}

TEST(who_waits_for_the_sync_of_another_is_woken)
{
	struct place p = place_new(11);

	here = &p;
	for (int i = 0; i < 2; i++) {
		append(&p);
		done = false;
		expected = i ? 1 : 2;
		watch.during = start_who_syncs;
		assert_int_equal(i ? wal_tick(p.w) : wal_sync(p.w, p.lsn), 0);
		for (int n = 0; n < 60000 && !done; n++)
			usleep(1000);
		assert_true(done);
		pthread_join(other_thread, NULL);
		expect_no_wrong();
	}
	place_free(&p);
}

/* A third of the last sync's time, by the clock that nobody sets. */
TEST(a_crowd_is_waited_for)
{
	struct place p = place_new(12);
	uint64_t begin;

	append(&p);
	sync_all(&p);
	append(&p);
	p.w->crowd.size = 2;
	p.w->crowd.sync_ns = 2400000;
	begin = monotonic_ns();
	sync_all(&p);
	assert_true(monotonic_ns() - begin >= 800000);
	/* Nobody came: for a while none is waited for. */
	assert_true(p.w->crowd.impatient > 0);
	place_free(&p);
}

TEST(a_leader_whom_somebody_awaits_leaves_him_the_page_cache)
{
	struct place p = place_new(8);

	append(&p);
	p.w->direct.awaited++;
	sync_all(&p);
	assert_int_equal(watch.direct, 0);
	p.w->direct.awaited--;
	append(&p);
	sync_all(&p);
	assert_int_equal(watch.direct, 1);
	place_free(&p);
}

static atomic_bool over;

static void *tick(void *arg)
{
	while (!over) {
		unsigned direct = watch.direct;

		assert_int_equal(wal_tick(here->w), 0);
		while (!over && watch.direct < direct + 4)
			sched_yield();
	}
	return NULL;
}

static void *sync_only(void *arg)
{
	while (!over)
		assert_int_equal(wal_sync(here->w, wal_end(here->w)), 0);
	return NULL;
}

static void give_way(void)
{
	for (int i = 0; i < 5; i++)
		sched_yield();
}

TEST(threads_keep_the_rule)
{
	struct place p = place_new(9);
	pthread_t t[3];

	here = &p;
	over = false;
	watch.during = give_way;
	assert_int_equal(pthread_create(&t[0], NULL, tick, NULL), 0);
	for (int i = 1; i < 3; i++)
		assert_int_equal(pthread_create(&t[i], NULL, sync_only, NULL),
				 0);
	for (uint32_t i = 0; watch.direct < 300 || watch.cached < 300; i++) {
		append(&p);
		if (i % 200 < 20)
			sync_all(&p);
	}
	over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	watch.during = NULL;
	sync_all(&p);
	assert_int_equal(found_after(&p, true), p.n);
	place_free(&p);
}

enum {
	BEGUN,
	SYNCED
};

/* A step of 28 is coprime to a block: records end at every place of one. */
static size_t shortest(uint32_t n)
{
	return 8;
}

#define PLACES (WAL_BLOCK_BYTES / WAL_ALIGN)

static void expect_records(const struct sim_image *m)
{
	struct os_dir *dir = dir_of(m->os);
	struct seen s = {.length = length};
	struct wal *w = NULL;
	uint64_t lsn;

	if (wal_open(dir, &tight, 0, false, see, &s, &w))
		fail_msg("%s: %s", m->how, store_why());
	if (s.wrong || s.next < m->marks[SYNCED] || s.next > m->marks[BEGUN])
		fail_msg("%s: %u records of %u to %u", m->how, s.next,
			 (unsigned)m->marks[SYNCED], (unsigned)m->marks[BEGUN]);
	/* It goes on behind them. */
	assert_int_equal(append_record(w, s.next, length(s.next), &lsn), 0);
	assert_int_equal(wal_sync(w, lsn), 0);
	assert_int_equal(wal_close(w), 0);
	os_dir_close(dir);
}

TEST(records_may_end_anywhere_in_a_block)
{
	static bool ended[PLACES];
	struct sim_crash_options o = {.seed = 10, .step = each(127)};
	uint32_t ends = 0;
	struct place p;
	struct sim_crash *c;
	struct sim_image m;

	length = shortest;
	p = place_with(10, &tight);
	memset(ended, 0, sizeof(ended));
	for (uint32_t i = 0; i < PLACES; i++) {
		sim_mark(p.os, BEGUN, p.n + 1);
		append(&p);
		ended[wal_offset(p.w, p.lsn) % WAL_BLOCK_BYTES / WAL_ALIGN] =
			true;
		if (i % 3 == 1)
			continue;
		sync_all(&p);
		sim_mark(p.os, SYNCED, p.n);
	}
	for (size_t i = 0; i < PLACES; i++)
		ends += ended[i];
	assert_int_equal(ends, PLACES);
	c = sim_crash_new(p.os, &o);
	while (sim_crash_next(c, &m) > 0)
		expect_records(&m);
	assert_true(sim_crash_images(c) > 60 / SAMPLE_THINNED);
	sim_crash_free(c);
	place_free(&p);
	length = length_of;
}
