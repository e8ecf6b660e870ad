/* The simulated disk, its crashes and its faults. */
#include "tests/unit/unit.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"

static struct os_dir *dir_of(struct os *os)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, "/store", true, &d), 0);
	return d;
}

static struct os_file *make(struct os_dir *d, const char *name)
{
	struct os_file *f = NULL;

	assert_int_equal(os_open(d, name, OS_WRITE | OS_CREATE, &f), 0);
	return f;
}

/* The file's content, "-" if there is none; up to 15 bytes. */
static const char *text(struct os *os, const char *name)
{
	static char buf[16];
	struct os_dir *d = dir_of(os);
	struct os_file *f;
	ssize_t n;

	strcpy(buf, "-");
	if (os_open(d, name, OS_READ, &f) == 0) {
		n = os_pread(f, buf, sizeof(buf) - 1, 0);
		buf[n] = '\0';
		for (ssize_t i = 0; i < n; i++)
			if (!buf[i])
				buf[i] = '0';
		os_close(f);
	}
	os_dir_close(d);
	return buf;
}

/* What is found for "a" and "b" in all images, as "text/text " in order. */
static bool seen(struct os *os, const char *a, const char *b, bool killed)
{
	struct sim_crash *c = sim_crash_new(os, NULL);
	struct sim_image m;
	bool found = false;

	while (sim_crash_next(c, &m) > 0) {
		char has[16];

		strcpy(has, text(m.os, "a"));
		if (m.killed == killed && !strcmp(has, a) &&
		    !strcmp(text(m.os, "b"), b))
			found = true;
	}
	sim_crash_free(c);
	return found;
}

/* What the file is after a loss of power now. */
static void assert_durable(struct os *os, const char *name, const char *want)
{
	struct os *after = sim_after_power_loss(os);

	assert_string_equal(text(after, name), want);
	sim_free(after);
}

static void end(struct os *os, struct os_dir *d, struct os_file *f)
{
	os_close(f);
	os_dir_close(d);
	sim_free(os);
}

TEST(what_is_written_is_read_and_listed)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct os_file *f = make(d, "a"), *g;
	uint64_t size;
	const void *p;
	void *m;

	assert_int_equal(os_pwrite(f, "hello", 5, 2), 0);
	assert_string_equal(text(os, "a"), "00hello");
	assert_int_equal(os_truncate(f, 3), 0);
	assert_string_equal(text(os, "a"), "00h");
	assert_int_equal(os_allocate(f, 4), 0);
	assert_string_equal(text(os, "a"), "0000");
	assert_int_equal(os_map(f, 4, &m), 0);
	os_map_store(f, 1, "xy", 2);
	assert_string_equal(text(os, "a"), "0xy0");
	assert_int_equal(os_pwrite(f, "z", 1, 3), 0);
	assert_memory_equal(m, "\0xyz", 4);
	assert_int_equal(os_map_read(f, 4, &p), 0);
	assert_int_equal(os_pwrite(f, "AAAA", 4, 0), 0);
	assert_memory_equal(p, "\0xyz", 4);
	os_unmap(f, p, 4);
	assert_int_equal(os_open(d, "a", OS_READ, &g), 0);
	assert_int_equal(os_pwrite(g, "z", 1, 3), -EBADF);
	assert_int_equal(os_size(g, &size), 0);
	assert_int_equal(size, 4);
	os_close(f);
	os_close(g);
	assert_int_equal(os_rename(d, "a", "b"), 0);
	assert_string_equal(text(os, "a"), "-");
	assert_string_equal(text(os, "b"), "AAAA");
	os_dir_close(d);
	sim_free(os);
}

TEST(a_directory_has_one_writer_or_many_readers)
{
	struct os *os = sim_new(1), *after;
	struct os_dir *d[4];
	int pid = -1;

	for (int i = 0; i < 3; i++)
		d[i] = dir_of(os);
	assert_int_equal(os_dir_lock(d[0], "/store", false, &pid), 1);
	assert_int_equal(os_dir_lock(d[1], "/store", false, &pid), 0);
	assert_int_equal(pid, 4242);
	assert_int_equal(os_dir_lock(d[1], "/store", true, &pid), 0);
	after = sim_after_kill(os);
	os_dir_close(d[0]);
	assert_int_equal(os_dir_lock(d[1], "/store", true, &pid), 1);
	assert_int_equal(os_dir_lock(d[2], "/store", true, &pid), 1);
	d[0] = dir_of(os);
	assert_int_equal(os_dir_lock(d[0], "/store", false, &pid), 0);
	os_dir_close(d[1]);
	assert_int_equal(os_dir_lock(d[0], "/store", false, &pid), 0);
	os_dir_close(d[2]);
	assert_int_equal(os_dir_lock(d[0], "/store", false, &pid), 1);
	os_dir_close(d[0]);
	/* Who died has it no more. */
	d[3] = dir_of(after);
	assert_int_equal(os_dir_lock(d[3], "/store", false, &pid), 1);
	os_dir_close(d[3]);
	sim_free(after);
	sim_free(os);
}

TEST(a_write_persists_wholly_partly_or_not)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct os_file *f = make(d, "a");

	os_dir_sync(d);
	os_pwrite(f, "1234", 4, 0);
	assert_true(seen(os, "", "-", false));
	assert_true(seen(os, "1234", "-", false));
	assert_true(seen(os, "0000", "-", false));
	assert_true(seen(os, "1234", "-", true));
	assert_false(seen(os, "0034", "-", false));
	os_fdatasync(f);
	os_pwrite(f, "x", 1, 0);
	os_pwrite(f, "y", 1, 3);
	/* Any order: the later one without the earlier. */
	assert_true(seen(os, "123y", "-", false));
	assert_true(seen(os, "x234", "-", false));
	assert_true(seen(os, "x23y", "-", false));
	assert_false(seen(os, "123y", "-", true));
	end(os, d, f);
}

TEST(a_synced_write_is_durable_and_nothing_else)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct os_file *f = make(d, "a");

	os_dir_sync(d);
	assert_int_equal(os_pwrite_sync(f, "1234", 4, 0), 0);
	assert_durable(os, "a", "1234");
	/* Until it returns it is as any other. */
	assert_true(seen(os, "", "-", false));
	assert_true(seen(os, "0000", "-", false));
	os_pwrite(f, "x", 1, 0);
	os_pwrite(f, "y", 1, 3);
	assert_int_equal(os_pwrite_sync(f, "z", 1, 3), 0);
	assert_durable(os, "a", "123z");
	assert_true(seen(os, "x23z", "-", false));
	/* What it lies over does not come back. */
	assert_int_equal(os_pwrite_sync(f, "9", 1, 1), 0);
	assert_true(seen(os, "x93z", "-", false));
	assert_false(seen(os, "x93y", "-", false));
	assert_int_equal(sim_syncs(os, SIM_FDATASYNC), 3);
	sim_ignore(os, SIM_FDATASYNC, NULL, 1);
	assert_int_equal(os_pwrite_sync(f, "8", 1, 1), 0);
	assert_durable(os, "a", "193z");
	end(os, d, f);
}

TEST(names_persist_apart_from_data)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct os_file *f = make(d, "a");

	os_pwrite(f, "1", 1, 0);
	os_fdatasync(f);
	assert_durable(os, "a", "-");
	os_dir_sync(d);
	assert_durable(os, "a", "1");
	/* What is pending goes with the inode, not with the name. */
	os_pwrite(f, "2", 1, 0);
	os_rename(d, "a", "b");
	assert_true(seen(os, "2", "-", false));
	assert_true(seen(os, "1", "-", false));
	assert_true(seen(os, "-", "1", false));
	assert_true(seen(os, "-", "2", false));
	assert_true(seen(os, "-", "2", true));
	end(os, d, f);
}

TEST(an_unlinked_file_comes_back_with_its_content)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct os_file *f = make(d, "a");
	struct os *after;

	os_pwrite(f, "old", 3, 0);
	os_fdatasync(f);
	os_close(f);
	os_dir_sync(d);
	os_unlink(d, "a");
	f = make(d, "a");
	os_pwrite(f, "new", 3, 0);
	os_close(f);
	assert_durable(os, "a", "old");
	assert_true(seen(os, "new", "-", false));
	assert_true(seen(os, "", "-", false));
	os_dir_sync(d);
	assert_durable(os, "a", "");
	after = sim_after_kill(os);
	assert_string_equal(text(after, "a"), "new");
	sim_free(after);
	os_dir_close(d);
	sim_free(os);
}

static bool finds_disorder(bool ordered)
{
	struct sim_crash_options o = {.ordered_dirs = ordered};
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct sim_crash *c;
	struct sim_image m;
	bool found = false;

	os_close(make(d, "a"));
	os_close(make(d, "b"));
	c = sim_crash_new(os, &o);
	while (sim_crash_next(c, &m) > 0) {
		bool a = strcmp(text(m.os, "a"), "-");

		found |= !a && strcmp(text(m.os, "b"), "-");
	}
	sim_crash_free(c);
	os_dir_close(d);
	sim_free(os);
	return found;
}

TEST(directory_entries_persist_in_any_order)
{
	assert_true(finds_disorder(false));
	assert_false(finds_disorder(true));
}

TEST(marks_are_told_with_the_image)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct os_file *f = make(d, "a");
	struct sim_crash *c;
	struct sim_image m;
	bool before = false, after = false;

	os_dir_sync(d);
	os_pwrite(f, "1", 1, 0);
	os_fdatasync(f);
	sim_mark(os, 3, 17);
	c = sim_crash_new(os, NULL);
	while (sim_crash_next(c, &m) > 0) {
		assert_false(m.marked[2]);
		before |= !m.marked[3];
		after |= m.marked[3];
		if (m.marked[3]) {
			assert_int_equal(m.marks[3], 17);
			assert_string_equal(text(m.os, "a"), "1");
		}
	}
	assert_true(before && after);
	assert_true(sim_crash_images(c) > 4);
	assert_true(sim_crash_repeats(c) > 0);
	sim_crash_free(c);
	end(os, d, f);
}

TEST(an_ignored_sync_makes_nothing_durable)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct os_file *f = make(d, "a");

	os_dir_sync(d);
	sim_ignore(os, SIM_FDATASYNC, NULL, 2);
	os_pwrite(f, "1", 1, 0);
	os_fdatasync(f);
	os_pwrite(f, "2", 1, 0);
	os_fdatasync(f);
	assert_durable(os, "a", "1");
	os_fdatasync(f);
	assert_durable(os, "a", "2");
	assert_int_equal(sim_syncs(os, SIM_FDATASYNC), 3);
	assert_int_equal(sim_syncs(os, SIM_DIR_SYNC), 1);
	sim_ignore(os, SIM_DIR_SYNC, NULL, 0);
	os_rename(d, "a", "b");
	os_dir_sync(d);
	os_dir_sync(d);
	assert_durable(os, "a", "2");
	end(os, d, f);
}

TEST(space_is_limited_and_given_back)
{
	struct os *os = sim_new(1);
	struct os_dir *d = dir_of(os);
	struct os_file *f = make(d, "a"), *g = make(d, "b");
	uint64_t total, left, usable;

	sim_set_space(os, 100);
	assert_int_equal(os_allocate(f, 60), 0);
	assert_int_equal(os_allocate(g, 41), -ENOSPC);
	assert_int_equal(os_pwrite(g, "x", 1, 40), -ENOSPC);
	assert_int_equal(os_pwrite(g, "x", 1, 39), 0);
	assert_int_equal(os_dir_space(d, &total, &left, &usable), 0);
	assert_int_equal(usable, 0);
	os_unlink(d, "a");
	/* Open files keep theirs. */
	assert_int_equal(os_pwrite(g, "x", 1, 40), -ENOSPC);
	os_close(f);
	assert_int_equal(os_pwrite(g, "x", 1, 40), 0);
	os_close(g);
	os_dir_close(d);
	sim_free(os);
}

TEST(time_moves_only_when_moved)
{
	struct os *os = sim_new(1), *other = sim_new(1);
	uint64_t t = os_monotonic_ns(os);
	int64_t now = os_now_ms(os);

	assert_int_equal(os_now_ms(os), now);
	assert_true(os_monotonic_ns(os) > t);
	sim_set_now_ms(os, now + 5);
	assert_int_equal(os_now_ms(os), now + 5);
	assert_true(os_random(os) == os_random(other));
	sim_free(os);
	sim_free(other);
}

TEST(the_nth_call_fails_once_or_for_ever)
{
	struct os *sim = sim_new(1), *os = fault_new(sim);
	struct fault_plan plan = {.kinds = FAULT_PWRITE, .nth = 2, .err = EIO};
	struct os_dir *d = dir_of(os);
	struct os_file *f = make(d, "a");
	void *m;

	fault_arm(os, &plan);
	assert_int_equal(os_pwrite(f, "1234", 4, 0), 0);
	assert_int_equal(os_pwrite(f, "abcd", 4, 0), -EIO);
	assert_int_equal(os_pwrite(f, "5", 1, 0), 0);
	assert_string_equal(text(os, "a"), "5234");
	assert_int_equal(fault_calls(os), 3);
	assert_int_equal(fault_fired(os), 1);
	plan.forever = plan.partial = true;
	plan.nth = 1;
	fault_arm(os, &plan);
	assert_int_equal(os_pwrite(f, "abcd", 4, 0), -EIO);
	assert_int_equal(os_pwrite(f, "", 0, 0), -EIO);
	assert_int_equal(fault_fired(os), 2);
	fault_disarm(os);
	assert_string_equal(text(os, "a"), "ab34");
	assert_int_equal(os_map(f, 4, &m), 0);
	os_map_store(f, 2, "x", 1);
	assert_string_equal(text(sim, "a"), "abx4");
	os_close(f);
	os_dir_close(d);
	fault_free(os);
	sim_free(sim);
}

TEST(a_failed_sync_loses_and_the_next_one_says_nothing)
{
	struct fault_plan plan = {
		.kinds = FAULT_FDATASYNC, .nth = 1, .err = EIO, .lose = true};
	unsigned lost = 0, kept = 0;

	for (uint64_t seed = 0; seed < 32; seed++) {
		struct os *sim = sim_new(seed), *os = fault_new(sim), *after;
		struct os_dir *d = dir_of(os);
		struct os_file *f = make(d, "a");

		os_dir_sync(d);
		os_pwrite(f, "1", 1, 0);
		fault_arm(os, &plan);
		assert_int_equal(os_fdatasync(f), -EIO);
		assert_int_equal(os_fdatasync(f), 0);
		/* The page cache still shows it. */
		assert_string_equal(text(os, "a"), "1");
		after = sim_after_power_loss(sim);
		lost += !strcmp(text(after, "a"), "");
		kept += !strcmp(text(after, "a"), "1");
		sim_free(after);
		os_close(f);
		os_dir_close(d);
		fault_free(os);
		sim_free(sim);
	}
	assert_true(lost > 4 && kept > 4);
	assert_int_equal(lost + kept, 32);
}
