/*
 * The write-ahead log when the power goes or the process dies, at every point
 * and also while it recovers from that, on a simulated disk.
 *
 * For each image that a crash may leave: the log opens, gives a prefix of the
 * records that were appended, with all that were synced (and after the death
 * of the process alone: with all that were acknowledged), and goes on.
 */
#include "tests/unit/unit.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/thorough.h"
#include "tests/unit/wal_kept.h"
#include "tests/unit/wal_records.h"

/* How much is kept: more than there is, in both cases. */
#define WHOLE ((uint64_t)1 << 40)
#define MAY_HAVE_HOLES ((uint64_t)1 << 41)

enum {
	BEGUN,
	ACKNOWLEDGED,
	SYNCED,
	RELEASED
};

/* What is known from the marks before a crash. Counts of records. */
struct truth {
	uint32_t begun, acknowledged, synced;
	uint64_t segment; /* the first that is needed */
	uint32_t floor;	  /* the first record in it */
};

/* A test may keep the log. */
static struct wal_options options = {
	.segment_bytes = 3 * 4096, .ring_bytes = 4096, .keep_id = 5};

static struct os_dir *dir_of(struct os *os)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, "/store", true, &d), 0);
	return d;
}

static void mark_released(struct os *os, uint64_t segment, uint32_t floor)
{
	sim_mark(os, RELEASED, segment << 32 | floor);
}

static struct truth truth_of(const struct sim_image *m)
{
	struct truth t = {
		.begun = (uint32_t)m->marks[BEGUN],
		.acknowledged = (uint32_t)m->marks[ACKNOWLEDGED],
		.synced = (uint32_t)m->marks[SYNCED],
		.segment = m->marks[RELEASED] >> 32,
		.floor = (uint32_t)m->marks[RELEASED],
	};

	/* Lower bounds of what may have happened. */
	if (t.begun < t.acknowledged)
		t.begun = t.acknowledged;
	return t;
}

struct run {
	struct os *os;
	struct os_dir *dir;
	struct wal *w;
	uint32_t n; /* records appended */
	uint64_t lsn, segment;
	uint32_t floor;
	/* The latest rotation, released at the next one. */
	uint64_t next_segment;
	uint32_t next_floor;
};

static size_t run_length(uint32_t n)
{
	return n % 19 == 18 ? 5000 : length_of(n);
}

static int run_open(struct run *r)
{
	struct seen s = {.next = r->floor, .length = run_length};
	int rc;

	rc = wal_open(r->dir, &options, r->segment, false, see, &s, &r->w);
	if (rc < 0)
		return rc;
	assert_false(s.wrong);
	assert_int_equal(s.next, r->n);
	sim_mark(r->os, SYNCED, r->n);
	return 0;
}

static int run_append(struct run *r)
{
	int rc;

	sim_mark(r->os, BEGUN, r->n + 1);
	rc = append_record(r->w, r->n, run_length(r->n), &r->lsn);
	if (rc < 0)
		return rc;
	sim_mark(r->os, ACKNOWLEDGED, ++r->n);
	return 0;
}

static int run_sync(struct run *r)
{
	int rc = wal_sync(r->w, r->lsn);

	if (rc == 0)
		sim_mark(r->os, SYNCED, r->n);
	return rc;
}

static int run_rotate(struct run *r)
{
	uint64_t segment;
	int rc = wal_rotate(r->w, &segment);

	if (rc < 0)
		return rc;
	r->segment = r->next_segment;
	r->floor = r->next_floor;
	r->next_segment = segment;
	r->next_floor = r->n;
	mark_released(r->os, r->segment, r->floor);
	return wal_release(r->w, r->segment);
}

static int run_close(struct run *r)
{
	int rc = wal_close(r->w);

	r->w = NULL;
	if (rc == 0)
		sim_mark(r->os, SYNCED, r->n);
	return rc;
}

/* Everything that the log does, in few steps. */
static int run_workload(struct run *r, uint32_t records)
{
	int rc = run_open(r);

	for (uint32_t i = 1; i <= records && rc == 0; i++) {
		rc = run_append(r);
		if (rc == 0 && i % 7 == 3)
			rc = run_sync(r);
		if (rc == 0 && i % 13 == 5)
			rc = wal_tick(r->w);
		if (rc == 0 && i % 31 == 17)
			rc = run_rotate(r);
		if (rc == 0 && i % 41 == 40) {
			rc = run_close(r);
			if (rc == 0)
				rc = run_open(r);
		}
	}
	return rc;
}

static char fault[512];

static bool fails(const struct sim_image *m, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	n = (size_t)snprintf(fault, sizeof(fault), "%s: ", m->how);
	va_start(ap, fmt);
	vsnprintf(fault + n, sizeof(fault) - n, fmt, ap);
	va_end(ap);
	return false;
}

/*
 * What is kept goes without a hole up to what is needed; with a disk that failed it
 * may have holes, of which none hides.
 */
static bool keeps(const struct sim_image *m, struct run *r,
		  const struct truth *t)
{
	struct seen s = {.any_start = true, .length = run_length};
	struct kept_log k = kept_look(r->dir, options.keep_id);
	uint32_t next;

	if (!options.keep || !k.n ||
	    (k.holes && options.keep == MAY_HAVE_HOLES))
		return true;
	if (k.holes)
		return fails(m, "what is kept has %zu holes", k.holes);
	next = kept_replay_as(r->dir, options.keep_id, s);
	if (next == UINT32_MAX)
		return fails(m, "what is kept is wrong: %s", store_why());
	if (next != t->floor && options.keep != MAY_HAVE_HOLES)
		return fails(m, "what is kept ends at %u, not %u", next,
			     t->floor);
	return true;
}

static bool open_again(const struct sim_image *m, struct run *r,
		       const struct truth *t, uint32_t least, uint32_t most)
{
	struct seen s = {.next = t->floor, .length = run_length};
	int rc = wal_open(r->dir, &options, t->segment, false, see, &s, &r->w);

	if (rc < 0)
		return fails(m, "does not open: %s", store_why());
	if (s.wrong)
		return fails(m, "record %u or before is wrong", s.next - 1);
	if (s.next < least)
		return fails(m, "%u records, but %u were kept", s.next, least);
	if (s.next > most)
		return fails(m, "%u records, but %u were begun", s.next, most);
	r->n = s.next;
	return keeps(m, r, t);
}

/* Recovers, goes on for some records, and finds them again. */
static bool recovers(const struct sim_image *m, const struct truth *t)
{
	uint32_t least = m->killed ? t->acknowledged : t->synced;
	struct run r = {.os = m->os, .segment = t->segment, .floor = t->floor};
	bool good;

	if (least < t->floor)
		least = t->floor;
	r.dir = dir_of(m->os);
	/* The last one says that all are there: see recovers_nested(). */
	sim_mark(m->os, BEGUN, t->begun);
	sim_mark(m->os, ACKNOWLEDGED, least);
	sim_mark(m->os, SYNCED, least);
	mark_released(m->os, t->segment, t->floor);
	good = open_again(m, &r, t, least, t->begun);
	if (!good)
		goto out;
	/* What was found is durable now, and all of it counts. */
	sim_mark(m->os, BEGUN, r.n);
	sim_mark(m->os, ACKNOWLEDGED, r.n);
	sim_mark(m->os, SYNCED, r.n);
	if (run_append(&r) || run_append(&r) || run_sync(&r)) {
		good = fails(m, "does not go on: %s", store_why());
	} else if (run_append(&r) || run_close(&r)) {
		good = fails(m, "does not close: %s", store_why());
	} else {
		good = open_again(m, &r, t, r.n, r.n);
	}
out:
	if (r.w)
		wal_close(r.w);
	os_dir_close(r.dir);
	return good;
}

struct tally {
	uint64_t images, nested, tails;
};

/* Crashes while recovering from the crash. */
static bool recovers_nested(const struct sim_image *outer,
			    const struct truth *before, struct tally *y)
{
	struct sim_crash_options o = {.seed = outer->at, .random = 8};
	struct sim_crash *c = sim_crash_new(outer->os, &o);
	struct sim_image m;
	bool good = true;

	while (good && sim_crash_next(c, &m) > 0) {
		struct truth t = truth_of(&m);

		/* The dead process had given its word for these. */
		if (!m.marked[RELEASED]) {
			t = *before;
			if (m.killed && outer->killed)
				t.synced = t.acknowledged;
			else
				t.acknowledged = t.synced;
		}
		y->nested++;
		good = recovers(&m, &t);
	}
	sim_crash_free(c);
	return good;
}

static bool survives(struct os *os, const struct sim_crash_options *o,
		     unsigned nested_every, struct tally *y)
{
	struct sim_crash *c = sim_crash_new(os, o);
	struct sim_image m;
	bool good = true;

	while (good && sim_crash_next(c, &m) > 0) {
		struct truth t = truth_of(&m);

		y->images++;
		good = recovers(&m, &t);
		if (good && nested_every && y->images % nested_every == 0)
			good = recovers_nested(&m, &t, y);
	}
	sim_crash_free(c);
	return good;
}

static struct os *workload(uint64_t seed, uint32_t records, unsigned ignore,
			   uint64_t nth)
{
	struct run r = {.os = sim_new(seed)};

	if (ignore)
		sim_ignore(r.os, ignore, NULL, nth);
	r.dir = dir_of(r.os);
	assert_int_equal(run_workload(&r, records), 0);
	assert_int_equal(run_close(&r), 0);
	os_dir_close(r.dir);
	return r.os;
}

TEST(every_crash_leaves_a_prefix_with_all_that_was_synced)
{
	struct tally y = {0};

	for (uint64_t seed = 1; seed <= (thorough() ? 8 : 1); seed++) {
		struct sim_crash_options o = {
			.seed = seed,
			.random = thorough() ? 16 : 6 / SAMPLE_THINNED,
			.step = thorough() ? 0 : SAMPLE_THINNED};
		struct os *os = workload(seed, 90, 0, 0);
		bool good = survives(os, &o, 1009, &y);

		sim_free(os);
		if (!good)
			fail_msg("%s", fault);
	}
	print_message("%llu images, %llu of crashed recoveries\n",
		      (unsigned long long)y.images,
		      (unsigned long long)y.nested);
	assert_true(y.images > 5000 / SAMPLE_THINNED / SAMPLE_THINNED &&
		    y.nested > 1000 / SAMPLE_THINNED / SAMPLE_THINNED);
}

TEST(a_crash_leaves_no_hole_in_what_is_kept)
{
	struct sim_crash_options o = {.seed = 2,
				      .random = 4,
				      .corners = 2,
				      .step = thorough() ? 0
							 : 7 * SAMPLE_THINNED};
	struct tally y = {0};
	struct os *os;
	bool good;

	options.keep = WHOLE;
	os = workload(2, 130, 0, 0);
	good = survives(os, &o, 1009, &y);
	options.keep = 0;
	sim_free(os);
	if (!good)
		fail_msg("%s", fault);
	print_message("%llu images\n", (unsigned long long)y.images);
	assert_true(y.images > 400 / SAMPLE_THINNED);
}

/* How many of the syncs of this kind can be left out and nobody sees it. */
static void each_sync_is_needed(unsigned kind)
{
	const uint32_t records = 70;
	struct os *os = workload(1, records, 0, 0);
	uint64_t syncs = sim_syncs(os, kind);
	uint64_t unseen = 0;

	sim_free(os);
	assert_true(syncs > 3);
	for (uint64_t nth = 1; nth <= syncs; nth += each(5)) {
		struct sim_crash_options o = {.seed = nth,
					      .random = 6,
					      .corners = 4,
					      .no_kill = true};
		struct tally y = {0};

		os = workload(1, records, kind, nth);
		if (survives(os, &o, 0, &y)) {
			print_message("sync %llu of %llu is not missed\n",
				      (unsigned long long)nth,
				      (unsigned long long)syncs);
			unseen++;
		}
		sim_free(os);
	}
	assert_int_equal(unseen, 0);
}

TEST(each_fdatasync_is_missed_when_left_out)
{
	each_sync_is_needed(SIM_FDATASYNC);
}

TEST(each_sync_of_the_directory_is_missed_when_left_out)
{
	each_sync_is_needed(SIM_DIR_SYNC);
}

/*
 * The workload until it fails at the n-th call of some kind; then what was
 * synced before is found by whoever opens the log, after a crash as well.
 */
static bool fault_at(uint64_t nth, const struct fault_plan *kind, bool *fired,
		     struct tally *y)
{
	struct fault_plan plan = *kind;
	struct os *sim = sim_new(nth), *os = fault_new(sim);
	struct sim_crash_options o = {.seed = nth, .random = 4, .corners = 2};
	struct run r = {.os = sim};
	struct wal_stat st;
	bool good = true;
	int rc;

	plan.nth = nth;
	r.dir = dir_of(os);
	fault_arm(os, &plan);
	rc = run_workload(&r, 60);
	*fired = fault_fired(os) > 0;
	fault_disarm(os);
	if (rc < 0 && r.w) {
		wal_stat(r.w, &st);
		/* With no space nothing has failed: it goes on. */
		if (plan.err == ENOSPC && plan.kinds == FAULT_ALLOCATE) {
			assert_int_equal(rc, -ENOSPC);
			assert_int_equal(st.failed, 0);
			assert_int_equal(run_append(&r), 0);
			assert_int_equal(run_sync(&r), 0);
		} else if (st.failed) {
			assert_true(strlen(store_why()) > 20);
			assert_int_equal(run_append(&r), -EROFS);
			assert_int_equal(wal_tick(r.w), -EROFS);
		}
	}
	if (r.w)
		wal_close(r.w);
	os_dir_close(r.dir);
	fault_free(os);
	/* Only what it left: earlier points have been crashed at already. */
	o.from = sim_log_length(sim);
	o.from -= o.from < 3 ? o.from : 3;
	if (*fired)
		good = survives(sim, &o, 0, y);
	sim_free(sim);
	return good;
}

static void faults_everywhere(const struct fault_plan *plan)
{
	struct tally y = {0};
	bool fired = true;
	uint64_t nth;

	for (nth = 1; fired; nth++)
		if (!fault_at(nth, plan, &fired, &y))
			fail_msg("call %llu: %s", (unsigned long long)nth,
				 fault);
	assert_true(nth > 2);
}

TEST(a_failed_write_loses_nothing_that_was_synced)
{
	static const unsigned kinds[] = {
		FAULT_PWRITE,	FAULT_OPEN, FAULT_RENAME, FAULT_UNLINK,
		FAULT_DIR_SYNC, FAULT_SIZE, FAULT_MAP,	  FAULT_TRUNCATE,
		FAULT_ALLOCATE, FAULT_PREAD};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct fault_plan plan = {
			.kinds = kinds[i], .err = EIO, .partial = true};

		faults_everywhere(&plan);
		plan.forever = true;
		faults_everywhere(&plan);
	}
}

/* Each fifth call of all fails. */
TEST(what_cannot_be_kept_costs_nothing_else)
{
	struct fault_plan plan = {.kinds = FAULT_ALL & ~FAULT_DIR_OPEN,
				  .err = EIO};
	struct tally y = {0};
	bool fired = true;

	options.keep = MAY_HAVE_HOLES;
	for (uint64_t nth = 1; fired; nth += each(5))
		if (!fault_at(nth, &plan, &fired, &y))
			fail_msg("call %llu: %s", (unsigned long long)nth,
				 fault);
	options.keep = 0;
	assert_true(y.images > 100);
}

TEST(a_failed_sync_is_final_and_loses_nothing_synced)
{
	struct fault_plan plan = {
		.kinds = FAULT_FDATASYNC, .err = EIO, .lose = true};

	faults_everywhere(&plan);
}

/*
 * After a failed sync the page cache shows what the disk does not have. Who
 * opens the log then must not take for durable what it reads.
 */
TEST(what_is_read_after_a_failed_sync_is_written_again)
{
	struct tally y = {0};
	bool fired = true;

	/* What is lost is chance: thoroughly, each sync is four times. */
	for (uint64_t nth = 4; fired; nth += each(4)) {
		struct fault_plan plan = {.kinds = FAULT_FDATASYNC,
					  .nth = nth / 4,
					  .err = EIO,
					  .lose = true};
		struct os *sim = sim_new(nth), *os = fault_new(sim);
		struct sim_crash_options o = {.seed = nth, .random = 4};
		struct seen s = {.length = run_length};
		struct run r = {.os = sim};

		r.dir = dir_of(os);
		fault_arm(os, &plan);
		run_workload(&r, 60);
		fired = fault_fired(os) > 0;
		if (r.w)
			wal_close(r.w);
		fault_disarm(os);
		s.next = r.floor;
		assert_int_equal(wal_open(r.dir, &options, r.segment, false,
					  see, &s, &r.w),
				 0);
		assert_false(s.wrong);
		assert_true(s.next >= r.n);
		r.n = s.next;
		sim_mark(sim, BEGUN, r.n);
		sim_mark(sim, SYNCED, r.n);
		o.from = sim_log_length(sim);
		assert_int_equal(run_append(&r), 0);
		assert_int_equal(run_sync(&r), 0);
		wal_close(r.w);
		os_dir_close(r.dir);
		fault_free(os);
		if (!survives(sim, &o, 0, &y))
			fail_msg("sync %llu: %s", (unsigned long long)nth,
				 fault);
		sim_free(sim);
	}
	assert_true(y.images > 100);
}

/* What the process left that died, on a disk whose calls can fail. */
static struct run killed_run(struct os **disk)
{
	struct run r = {.os = sim_new(7)};

	r.dir = dir_of(r.os);
	assert_int_equal(run_workload(&r, 33), 0);
	*disk = sim_after_kill(r.os);
	assert_int_equal(run_close(&r), 0);
	os_dir_close(r.dir);
	sim_free(r.os);
	r.os = fault_new(*disk);
	r.dir = dir_of(r.os);
	return r;
}

/* As the @nth call of a kind fails: -EIO, 0 = it had no say, 1 = there is none. */
static int recover_without(unsigned kind, uint64_t nth)
{
	struct fault_plan plan = {.kinds = kind, .nth = nth, .err = EIO};
	struct os *disk;
	struct run r = killed_run(&disk);
	struct seen s = {.next = r.floor, .length = run_length};
	int rc;

	fault_arm(r.os, &plan);
	rc = wal_open(r.dir, &options, r.segment, false, see, &s, &r.w);
	if (!fault_fired(r.os))
		rc = 1;
	fault_disarm(r.os);
	if (r.w)
		assert_int_equal(wal_close(r.w), 0);
	/* Whatever it was, the next may have all. */
	s = (struct seen){.next = r.floor, .length = run_length};
	assert_int_equal(
		wal_open(r.dir, &options, r.segment, false, see, &s, &r.w), 0);
	assert_false(s.wrong);
	assert_int_equal(s.next, 33);
	assert_int_equal(wal_close(r.w), 0);
	os_dir_close(r.dir);
	fault_free(r.os);
	sim_free(disk);
	return rc;
}

/* Else what it found would be taken for durable. */
TEST(a_recovery_that_fails_opens_nothing)
{
	static const unsigned kinds[] = {FAULT_PWRITE, FAULT_FDATASYNC,
					 FAULT_TRUNCATE, FAULT_CLOSE};
	int refused = 0, rc;

	for (size_t i = 0; i < 4; i++)
		for (uint64_t nth = 1;
		     (rc = recover_without(kinds[i], nth)) <= 0; nth++) {
			/* What was only read may fail to be closed. */
			if (kinds[i] != FAULT_CLOSE)
				assert_int_equal(rc, -EIO);
			refused += rc == -EIO;
		}
	/* Records, ring and mark, their syncs, the cut, and the close of all. */
	assert_int_equal(refused, 7);
}

TEST(no_space_for_a_segment_is_told_and_passes)
{
	struct fault_plan plan = {.kinds = FAULT_ALLOCATE, .err = ENOSPC};

	faults_everywhere(&plan);
}

TEST(a_full_disk_opens_and_works_again_when_there_is_space)
{
	struct run r = {.os = sim_new(7)};
	struct os *after;
	int rc = 0;

	r.dir = dir_of(r.os);
	sim_set_space(r.os, 10 * 4096);
	assert_int_equal(run_open(&r), 0);
	assert_int_equal(run_append(&r), 0);
	assert_int_equal(wal_tick(r.w), 0);
	assert_false(wal_low(r.w));
	while (rc == 0) {
		rc = run_append(&r);
		if (rc == 0)
			assert_int_equal(wal_tick(r.w), 0);
	}
	assert_int_equal(rc, -ENOSPC);
	assert_true(wal_low(r.w));
	assert_int_equal(run_sync(&r), 0);
	/* Killed and opened again while it is full. */
	after = sim_after_kill(r.os);
	assert_int_equal(wal_close(r.w), 0);
	os_dir_close(r.dir);
	sim_free(r.os);
	r.os = after;
	r.dir = dir_of(r.os);
	assert_int_equal(run_open(&r), 0);
	sim_set_space(r.os, 100 * 4096);
	for (int i = 0; i < 50; i++)
		assert_int_equal(run_append(&r), 0);
	assert_int_equal(wal_tick(r.w), 0);
	assert_false(wal_low(r.w));
	assert_int_equal(run_close(&r), 0);
	assert_int_equal(run_open(&r), 0);
	assert_int_equal(run_close(&r), 0);
	os_dir_close(r.dir);
	sim_free(r.os);
}

TEST(opening_again_writes_nothing_to_segments)
{
	struct run r = {.os = sim_new(7)};
	struct os *after;

	r.dir = dir_of(r.os);
	assert_int_equal(run_workload(&r, 33), 0);
	after = sim_after_kill(r.os);
	assert_int_equal(run_close(&r), 0);
	os_dir_close(r.dir);
	sim_free(r.os);
	r.os = after;
	r.dir = dir_of(r.os);
	assert_int_equal(run_open(&r), 0);
	assert_int_equal(run_close(&r), 0);
	for (int i = 0; i < 2; i++) {
		size_t length = sim_log_length(r.os);
		uint64_t syncs = sim_syncs(r.os, SIM_FDATASYNC);

		assert_int_equal(run_open(&r), 0);
		assert_int_equal(run_close(&r), 0);
		/* The ring is made new, and two marks are the test's. */
		assert_int_equal(sim_log_length(r.os), length + 3);
		assert_int_equal(sim_syncs(r.os, SIM_FDATASYNC), syncs);
	}
	os_dir_close(r.dir);
	sim_free(r.os);
}
