/* What a catalog keeps of its edits when the disk crashes, fails or is full. */
#include "tests/unit/catalog.h"

#include "tests/sim/os_fault.h"

/* The whole story on a disk that forgets the @nth sync of @kinds. */
static struct os *story(unsigned kinds, uint64_t nth, uint64_t *syncs)
{
	struct os *os = sim_new(7);
	struct os_dir *d = dir_of(os);
	struct manifest *m;

	if (nth)
		sim_ignore(os, kinds, NULL, nth);
	m = opened(d);
	sim_mark(os, 0, 0);
	for (int i = 1; i <= STEPS; i++) {
		if (i == 5) {
			manifest_close(m);
			m = opened(d);
		}
		assert_int_equal(step(m, i, i > 5 ? 20000 : 5), 0);
		sim_mark(os, 0, (uint64_t)i);
	}
	if (syncs)
		*syncs = sim_syncs(os, kinds);
	manifest_close(m);
	os_dir_close(d);
	return os;
}

static uint64_t story_prints[STEPS + 2];

static void make_story_prints(void)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct manifest *m = opened(d);

	story_prints[0] = print_of(manifest_catalog(m));
	for (int i = 1; i <= STEPS; i++) {
		assert_int_equal(step(m, i, i > 5 ? 20000 : 5), 0);
		story_prints[i] = print_of(manifest_catalog(m));
	}
	/* Nothing is begun behind the last. */
	story_prints[STEPS + 1] = story_prints[STEPS];
	manifest_close(m);
	os_dir_close(d);
	sim_free(os);
}

/* Is this the state after @acked commits, or one more? Opens it twice. */
static bool image_ok(struct os *os, uint64_t acked, char *reason, size_t n)
{
	struct os_dir *d = dir_of(os);
	struct manifest *m = NULL;
	struct edit e = {.wal_first = 1000};
	uint64_t print;
	int r = manifest_open(d, true, false, &m);
	bool ok = r == 0;

	if (!ok) {
		snprintf(reason, n, "open: %d %s", r, store_why());
		goto out;
	}
	print = print_of(manifest_catalog(m));
	ok = print == story_prints[acked] || print == story_prints[acked + 1];
	if (!ok) {
		snprintf(reason, n, "not the state after %" PRIu64, acked);
		goto out;
	}
	r = manifest_commit(m, &e);
	manifest_close(m);
	m = NULL;
	ok = r == 0 && manifest_open(d, false, false, &m) == 0 &&
	     manifest_catalog(m)->wal_first == 1000;
	if (!ok)
		snprintf(reason, n, "second open: %s", store_why());
out:
	manifest_close(m);
	os_dir_close(d);
	return ok;
}

/* The number of bad images; with @must_hold none may be. */
static uint64_t crash(struct os *os, bool must_hold, bool until_bad)
{
	struct sim_crash_options o = {.seed = 3};
	struct sim_crash *c = sim_crash_new(os, &o);
	struct sim_image image;
	char reason[1200] = "";
	uint64_t bad = 0;

	while ((!bad || !until_bad) && sim_crash_next(c, &image) == 1) {
		if (image_ok(image.os, image.marked[0] ? image.marks[0] : 0,
			     reason, sizeof(reason)))
			continue;
		if (must_hold)
			fail_msg("%s: %s", image.how, reason);
		bad++;
	}
	if (must_hold)
		print_message("%" PRIu64 " crash images\n",
			      sim_crash_images(c));
	sim_crash_free(c);
	return bad;
}

TEST(no_crash_loses_a_committed_edit)
{
	struct os *os;

	make_story_prints();
	os = story(0, 0, NULL);
	crash(os, true, false);
	sim_free(os);
}

TEST(each_sync_that_is_left_out_is_found)
{
	static const unsigned kinds[] = {SIM_FDATASYNC, SIM_DIR_SYNC};
	uint64_t syncs = 0;
	struct os *os;

	make_story_prints();
	for (size_t k = 0; k < 2; k++) {
		sim_free(story(kinds[k], 0, &syncs));
		assert_true(syncs >= 6);
		/*
		 * Whoever finds nothing makes an empty store again: that of its
		 * name is not missed.
		 */
		for (uint64_t n = 1 + k; n <= syncs; n++) {
			os = story(kinds[k], n, NULL);
			if (!crash(os, false, true))
				fail_msg("nobody misses sync %" PRIu64
					 " of kind %u",
					 n, kinds[k]);
			sim_free(os);
		}
	}
}

/* Runs the story with the n-th call failing. True if one did. */
static bool story_with_fault(uint64_t n, int err, bool forever)
{
	struct fault_plan plan = {.kinds = FAULT_ALL & ~FAULT_DIR_OPEN,
				  .nth = n,
				  .err = err,
				  .forever = forever};
	struct os *os = sim_new(7), *after;
	struct os *bad = fault_new(os);
	struct os_dir *d = dir_of(bad);
	struct manifest *m = NULL;
	char reason[1200] = "";
	bool fired, failed = false;
	uint64_t acked = 0;
	int r;

	fault_arm(bad, &plan);
	r = manifest_open(d, true, false, &m);
	for (int i = 1; r == 0 && i <= STEPS; i++) {
		r = step(m, i, i > 5 ? 20000 : 5);
		if (r == 0)
			acked = (uint64_t)i;
		else if (r != -ENOSPC)
			failed = true;
	}
	fired = fault_fired(bad) > 0;
	fault_disarm(bad);
	/* What went wrong once is never trusted again. */
	if (failed && m)
		assert_int_equal(step(m, (int)acked + 1, 5), -EROFS);
	/* But a full disk may have room again. */
	if (r == -ENOSPC && m)
		for (; acked < STEPS; acked++)
			assert_int_equal(
				step(m, (int)acked + 1, acked >= 5 ? 20000 : 5),
				0);
	manifest_close(m);
	os_dir_close(d);
	after = sim_after_power_loss(os);
	if (!image_ok(after, acked, reason, sizeof(reason)))
		fail_msg("call %" PRIu64 " fails with %d: %s", n, err, reason);
	sim_free(after);
	if (!image_ok(os, acked, reason, sizeof(reason)))
		fail_msg("call %" PRIu64 " fails with %d: %s", n, err, reason);
	fault_free(bad);
	sim_free(os);
	return fired;
}

TEST(no_failing_call_loses_a_committed_edit)
{
	uint64_t n;

	make_story_prints();
	for (n = 1; story_with_fault(n, EIO, false); n++)
		;
	assert_true(n > 40);
	for (n = 1; story_with_fault(n, EIO, true); n++)
		;
	assert_true(n > 40);
}

TEST(a_full_disk_stops_commits_only_while_it_is_full)
{
	uint64_t print;
	int r = 0, n = 0;

	assert_int_equal(put_table(the.m, 1, "t", 1, 1), 0);
	sim_set_space(the.os, 200 << 10);
	while (r == 0)
		r = add_file(the.m, 1, 0, 10 + (uint64_t)n++, 5000);
	assert_int_equal(r, -ENOSPC);
	/* There is room for two of them: the next one needs no more. */
	assert_true(n > 9);
	print = print_of(manifest_catalog(the.m));
	/* It opens on the full disk, and knows all that was committed. */
	reopen();
	assert_int_equal(print_of(manifest_catalog(the.m)), print);
	reopen();
	assert_int_equal(print_of(manifest_catalog(the.m)), print);
	sim_set_space(the.os, 100 << 20);
	assert_int_equal(add_file(the.m, 1, 0, 5000, 5000), 0);
	print = print_of(manifest_catalog(the.m));
	reopen();
	assert_int_equal(print_of(manifest_catalog(the.m)), print);
}
