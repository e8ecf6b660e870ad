/*
 * Every byte of a small log flipped, every length of each file, files lost and
 * exchanged: it is detected, or the records come back; never wrong ones, and
 * never fewer than what the log itself says was durable.
 */
#include "tests/unit/unit.h"
#include "store/lsm/wal/wal_format.h"
#include "store/value/why.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/thorough.h"
#include "tests/unit/wal_records.h"

static const struct wal_options options = {.segment_bytes = 3 * 4096,
					   .ring_bytes = 4096};

struct damage {
	struct os *os;
	struct os_dir *dir;
	uint32_t durable; /* records that must come back */
	uint32_t all;	  /* and no more than these */
	unsigned detected, harmless, dropped;
};

static struct os_dir *dir_of(struct os *os)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, "/store", true, &d), 0);
	return d;
}

/* 64 records; the last ones only in the ring, unless it is closed. */
static void set_up(struct damage *x, bool closed)
{
	struct os *os = sim_new(3);
	struct os_dir *dir = dir_of(os);
	struct seen s = {0};
	struct wal *w;
	uint64_t lsn;

	*x = (struct damage){.all = 64};
	assert_int_equal(wal_open(dir, &options, 0, false, see, &s, &w), 0);
	for (uint32_t n = 0; n < x->all; n++) {
		assert_int_equal(append_record(w, n, length_of(n), &lsn), 0);
		if (n == 45)
			assert_int_equal(wal_sync(w, lsn), 0);
		if (n == 55)
			assert_int_equal(wal_tick(w), 0);
	}
	x->durable = closed ? x->all : 56;
	if (closed) {
		assert_int_equal(wal_close(w), 0);
		w = NULL;
	}
	x->os = sim_after_kill(os);
	x->dir = dir_of(x->os);
	if (w)
		assert_int_equal(wal_close(w), 0);
	os_dir_close(dir);
	sim_free(os);
}

static void tear_down(struct damage *x)
{
	os_dir_close(x->dir);
	sim_free(x->os);
}

static void count_fault(void *arg, const char *sentence)
{
	assert_true(strlen(sentence) > 20);
	++*(int *)arg;
}

/* Reads the log and judges. @mark: the damage may hide what is durable. */
static void judge(struct damage *x, bool mark, const char *what, uint64_t at)
{
	struct seen s = {0};
	struct wal *w = NULL;
	int rc = wal_open(x->dir, &options, 0, true, see, &s, &w);
	int said = 0, faults;

	if (s.wrong)
		fail_msg("%s %llu: wrong data", what, (unsigned long long)at);
	faults = wal_check(x->dir, 0, count_fault, &said);
	if (rc < 0) {
		if (rc != -EUCLEAN || faults < 1 || said != faults)
			fail_msg("%s %llu: %d, %d faults: %s", what,
				 (unsigned long long)at, rc, faults,
				 store_why());
		x->detected++;
		return;
	}
	assert_int_equal(faults, 0);
	if (s.next < (mark ? 46 : x->durable) || s.next > x->all)
		fail_msg("%s %llu: %u records", what, (unsigned long long)at,
			 s.next);
	if (s.next < x->all)
		x->dropped++;
	else
		x->harmless++;
	wal_close(w);
}

static void flip_all(struct damage *x, const char *name)
{
	struct os_file *f;
	uint64_t size, chance = 1;
	uint8_t was, is;

	assert_int_equal(os_open(x->dir, name, OS_WRITE, &f), 0);
	assert_int_equal(os_size(f, &size), 0);
	for (uint64_t at = 0; at < size; at += each(1)) {
		bool mark = at >= 512 && at < 528;

		assert_int_equal(os_pread(f, &was, 1, at), 1);
		chance = chance * 6364136223846793005ull + 99;
		is = was ^ (uint8_t)(1u << (chance >> 61));
		assert_int_equal(os_pwrite(f, &is, 1, at), 0);
		judge(x, mark, name, at);
		is = was ^ 0xff;
		assert_int_equal(os_pwrite(f, &is, 1, at), 0);
		judge(x, mark, name, at);
		assert_int_equal(os_pwrite(f, &was, 1, at), 0);
	}
	os_close(f);
}

static void cut_all(struct damage *x, const char *name)
{
	uint64_t size;
	struct os_file *f;

	assert_int_equal(os_open(x->dir, name, OS_READ, &f), 0);
	assert_int_equal(os_size(f, &size), 0);
	os_close(f);
	for (uint64_t n = 0; n < size; n++) {
		struct damage y = *x;

		y.os = sim_after_kill(x->os);
		y.dir = dir_of(y.os);
		assert_int_equal(os_open(y.dir, name, OS_WRITE, &f), 0);
		assert_int_equal(os_truncate(f, n), 0);
		os_close(f);
		judge(&y, false, name, n);
		x->detected = y.detected;
		x->harmless = y.harmless;
		x->dropped = y.dropped;
		tear_down(&y);
	}
}

static const char *const segments[] = {"wal-0000000000000000.log",
				       "wal-0000000000000001.log"};

TEST(a_flipped_byte_of_a_closed_log_is_detected)
{
	struct damage x;

	set_up(&x, true);
	judge(&x, false, "nothing", 0);
	assert_int_equal(x.harmless, 1);
	flip_all(&x, segments[1]);
	/* Cut off behind its last record: there is no unused byte. */
	assert_int_equal(x.harmless, 1);
	assert_int_equal(x.dropped, 0);
	flip_all(&x, segments[0]);
	assert_int_equal(x.dropped, 0);
	tear_down(&x);
}

TEST(a_flipped_byte_of_a_killed_log_loses_nothing_durable)
{
	struct damage x;

	set_up(&x, false);
	flip_all(&x, segments[0]);
	flip_all(&x, segments[1]);
	assert_true(x.detected > 4096 / SAMPLE_THINNED &&
		    x.harmless > 1000 / SAMPLE_THINNED);
	flip_all(&x, "wal.ring");
	assert_true(x.dropped > 100 / SAMPLE_THINNED);
	tear_down(&x);
}

TEST(every_cut_of_a_segment_is_detected)
{
	struct damage x;

	set_up(&x, true);
	cut_all(&x, segments[0]);
	cut_all(&x, segments[1]);
	assert_int_equal(x.harmless + x.dropped, 0);
	tear_down(&x);
	set_up(&x, false);
	cut_all(&x, segments[0]);
	cut_all(&x, segments[1]);
	/*
	 * Cut exactly where its mark says, it is a log that was closed there.
	 */
	assert_int_equal(x.harmless, 0);
	assert_int_equal(x.dropped, 1);
	cut_all(&x, "wal.ring");
	tear_down(&x);
}

TEST(appended_bytes_are_detected)
{
	struct damage x;
	struct os_file *f;
	uint64_t size;

	set_up(&x, true);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(os_open(x.dir, segments[i], OS_WRITE, &f), 0);
		assert_int_equal(os_size(f, &size), 0);
		assert_int_equal(os_pwrite(f, "", 1, size), 0);
		judge(&x, false, "appended to", i);
		assert_int_equal(os_truncate(f, size), 0);
		os_close(f);
	}
	assert_int_equal(x.detected, 2);
	tear_down(&x);
}

/* Though its sum is right: who wrote it is not this log. */
TEST(a_block_that_no_log_writes_is_refused)
{
	const uint64_t far = ((uint64_t)1 << 62) + WAL_ALIGN;
	const struct wal_head good = {7, 1, 2 * WAL_ALIGN, WAL_BLOCK_BYTES};
	const struct wal_head bad[] = {{8, 1, 0, WAL_BLOCK_BYTES},
				       {7, 1, WAL_ALIGN + 1, WAL_BLOCK_BYTES},
				       {7, 1, far, WAL_BLOCK_BYTES},
				       {7, 1, 0, WAL_BLOCK_BYTES - 1},
				       {7, 1, 0, far}};
	uint8_t block[WAL_BLOCK_BYTES];
	struct wal_head h;

	wal_head_encode(block, &good);
	assert_true(wal_head_decode(block, 7, &h));
	assert_int_equal(h.start, good.start);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		wal_head_encode(block, &bad[i]);
		assert_false(wal_head_decode(block, 7, &h));
	}
}

/* Wherever it begins, and however long the zeros before it are. */
TEST(a_head_in_zeros_is_found)
{
	const struct bytes payload = bytes_str("payload");
	const size_t size = (size_t)wal_record_size(payload.len);
	uint8_t disk[3 * 4096] = {0};

	(void)state;
	for (size_t at = 0; at + size <= sizeof(disk); at += WAL_ALIGN) {
		wal_record_encode(disk + at, 1, at, 0, &payload, 1,
				  payload.len);
		assert_int_equal(wal_record_scan(disk, sizeof(disk), 0), at);
		assert_int_equal(wal_record_scan(disk, at + size, 0), at);
		/* What it is known by stands behind its sum. */
		memset(disk + at, 0, 8);
		assert_int_equal(wal_record_scan(disk, sizeof(disk), 0), at);
		memset(disk + at, 0, size);
	}
	assert_int_equal(wal_record_scan(disk, sizeof(disk), 0), sizeof(disk));
}

TEST(lost_and_exchanged_segments_are_detected)
{
	struct damage x;

	set_up(&x, true);
	assert_int_equal(os_rename(x.dir, segments[0], "t"), 0);
	judge(&x, false, "lost", 0);
	assert_int_equal(os_rename(x.dir, segments[1], segments[0]), 0);
	judge(&x, false, "misplaced", 0);
	assert_int_equal(os_rename(x.dir, "t", segments[1]), 0);
	judge(&x, false, "exchanged", 0);
	assert_int_equal(x.detected, 3);
	tear_down(&x);
}

TEST(a_lost_ring_of_a_killed_log_is_detected)
{
	struct damage x;

	set_up(&x, false);
	assert_int_equal(os_unlink(x.dir, "wal.ring"), 0);
	judge(&x, false, "ring lost", 0);
	assert_int_equal(x.detected, 1);
	/* As is said: who gives up what it held has the rest. */
	assert_int_equal(os_unlink(x.dir, "wal.made"), 0);
	judge(&x, false, "ring given up", 0);
	assert_int_equal(x.dropped, 1);
	tear_down(&x);
}

TEST(a_lost_ring_of_a_closed_log_is_harmless)
{
	struct damage x;

	set_up(&x, true);
	assert_int_equal(os_unlink(x.dir, "wal.ring"), 0);
	judge(&x, false, "ring lost", 0);
	assert_int_equal(x.harmless, 1);
	tear_down(&x);
}

TEST(one_bad_segment_does_not_hide_the_next)
{
	struct damage x;
	struct os_file *f;
	int said = 0;

	set_up(&x, true);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(os_open(x.dir, segments[i], OS_WRITE, &f), 0);
		assert_int_equal(os_pwrite(f, "oops", 4, 4200), 0);
		os_close(f);
	}
	assert_int_equal(wal_check(x.dir, 0, count_fault, &said), 2);
	assert_int_equal(said, 2);
	tear_down(&x);
}
