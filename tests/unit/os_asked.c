/* What the real door asks of the kernel. */
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/unit/door.h"
#include "tests/unit/unit.h"

EACH_TEST_IN(door_set_up, door_tear_down);

TEST(a_directory_below_is_made_durably)
{
	struct os_dir *d, *again;
	struct stat st;
	char path[96];

	umask(0777);
	door.synced = 0;
	assert_int_equal(os_dir_below(the.dir, "sub", &d), 0);
	umask(022);
	assert_int_equal(stat(the.path, &st), 0);
	assert_int_equal(door.synced, st.st_ino);
	door_below("sub", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_false(d->own);
	os_dir_close(d);
	the.dir->own = true;
	assert_int_equal(os_dir_below(the.dir, "sub", &again), 0);
	assert_true(again->own);
	the.dir->own = false;
	os_dir_close(again);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/tmp", path), 0);
	assert_int_equal(os_dir_below(the.dir, "sub", &d), -ENOTDIR);
	assert_int_equal(unlink(path), 0);
}

static int stop_at(void *arg, const char *name)
{
	unsigned *left = arg;

	assert_string_not_equal(name, ".");
	assert_string_not_equal(name, "..");
	return --*left ? 1 : -ECANCELED;
}

TEST(a_listing_ends_when_it_is_told_to)
{
	struct os_file *g;
	unsigned left = 99;

	assert_int_equal(os_open(the.dir, "g", OS_WRITE | OS_CREATE, &g), 0);
	os_close(g);
	assert_int_equal(os_dir_list(the.dir, stop_at, &left), 0);
	assert_int_equal(left, 97);
	left = 1;
	assert_int_equal(os_dir_list(the.dir, stop_at, &left), -ECANCELED);
	assert_int_equal(left, 0);
	assert_int_equal(os_unlink(the.dir, "g"), 0);
}

TEST(space_is_what_the_system_says)
{
	struct statvfs st;
	uint64_t total, avail, usable;

	assert_int_equal(os_dir_space(the.dir, &total, &avail, &usable), 0);
	assert_int_equal(statvfs(the.path, &st), 0);
	assert_int_equal(total, (uint64_t)st.f_blocks * st.f_frsize);
	assert_int_equal(avail % st.f_frsize, 0);
	assert_true(avail <= total && usable <= avail);
	assert_true(avail > total / 1000 || st.f_bfree < st.f_blocks / 100);
}

TEST(an_open_asks_for_what_its_flags_say)
{
	const int always = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	const struct {
		unsigned flags;
		int asked;
	} cases[] = {
		{OS_READ, O_RDONLY},
		{OS_WRITE, O_RDWR},
		{OS_WRITE | OS_CREATE, O_RDWR | O_CREAT},
		{OS_WRITE | OS_DIRECT, O_RDWR | O_DIRECT},
		{OS_READ | OS_RANDOM, O_RDONLY},
	};
	struct os_file *f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		door.advised = 0;
		assert_int_equal(os_open(the.dir, "f", cases[i].flags, &f), 0);
		assert_int_equal(door.flags & ~O_LARGEFILE,
				 cases[i].asked | always);
		assert_int_equal(door.mode, 0600);
		assert_int_equal(door.advised,
				 cases[i].flags & OS_RANDOM ? 1 : 0);
		if (door.advised)
			assert_int_equal(door.advice, POSIX_FADV_RANDOM);
		os_close(f);
	}
	assert_int_equal(
		os_open(the.dir, "f", OS_WRITE | OS_CREATE | OS_EXCL, &f),
		-EEXIST);
}

TEST(a_huge_transfer_goes_by_parts)
{
	const uint64_t part = (uint64_t)1 << 30, n = 2 * part + 5, at = 7;
	char b[1];

	/* A length of over 2 GiB has no place in 32 bits. */
	if (sizeof(ssize_t) < 8)
		skip();
	door.no_transfer = true;
	for (int i = 0; i < 2; i++) {
		door.ntransfers = 0;
		if (i)
			assert_int_equal(os_pwrite(the.file, b, n, at), 0);
		else
			assert_int_equal(os_pread(the.file, b, n, at), n);
		assert_int_equal(door.ntransfers, 3);
		for (unsigned t = 0; t < 3; t++) {
			assert_int_equal(door.at[t], at + t * part);
			assert_int_equal(door.len[t], t < 2 ? part : 5);
		}
	}
	door.no_transfer = false;
	door.put_nothing = true;
	assert_int_equal(os_pwrite(the.file, "new!", 4, 0), -EIO);
	assert_int_equal(os_pwrite_sync(the.file, "new!", 4, 0), -EIO);
}

TEST(writing_out_names_its_bytes)
{
	door.ntransfers = 0;
	os_write_out(the.file, 4096, 8192);
	assert_int_equal(door.at[0], 4096);
	assert_int_equal(door.len[0], 8192);
	assert_int_equal(door.sync_flags, SYNC_FILE_RANGE_WRITE);
}

TEST(space_that_no_call_allocates_is_written)
{
	const uint64_t n = 2 * MIB + 4096;
	struct stat st;
	uint64_t size;
	char *b = malloc(n), path[96];

	door.ntransfers = 0;
	assert_int_equal(door_allocate_by_writing(), 0);
	assert_int_equal(door.ntransfers, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(door.at[i], i * MIB);
	assert_int_equal(os_size(the.file, &size), 0);
	assert_int_equal(size, n);
	door_below("f", path);
	assert_int_equal(stat(path, &st), 0);
	assert_true((uint64_t)st.st_blocks * 512 >= n);
	assert_int_equal(os_pread(the.file, b, n, 0), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(b[i], 0);
	free(b);
	door.ntransfers = 0;
	door.no_fallocate = true;
	assert_int_equal(os_allocate(the.file, MIB), 0);
	assert_int_equal(door.ntransfers, 1);
	assert_int_equal(
		door_with_failure(door_allocate, 1, ENOSYS, "fallocate64"), 0);
	/* None at all. */
	door.no_fallocate = false;
	assert_int_equal(os_allocate(the.file, 0), 0);
	assert_int_equal(os_size(the.file, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(os_pwrite(the.file, "x", 1, 0), 0);
	assert_int_equal(os_allocate(the.file, 1), 0);
	assert_int_equal(os_size(the.file, &size), 0);
	assert_int_equal(size, 1);
	assert_int_equal(os_pread(the.file, path, 1, 0), 1);
	assert_int_equal(path[0], 0);
}

TEST(a_mapping_asks_for_what_it_is_for)
{
	struct os_file *f;
	const void *r;
	void *m;

	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_RANDOM, &f), 0);
	assert_int_equal(os_map(f, 0, &m), -EINVAL);
	assert_int_equal(os_map(f, 4, &m), 0);
	assert_int_equal(door.prot, PROT_READ | PROT_WRITE);
	assert_int_equal(door.map_flags, MAP_SHARED | MAP_POPULATE);
	door.advised = 0;
	assert_int_equal(os_map_read(f, 3, &r), 0);
	assert_int_equal(door.prot, PROT_READ);
	assert_int_equal(door.map_flags, MAP_SHARED);
	assert_int_equal(door.map_len, 3);
	assert_int_equal(door.advised, 1);
	assert_int_equal(door.advice, MADV_RANDOM);
	assert_true(door_handles_bus());
	door.unmap_len = 0;
	os_unmap(f, r, 3);
	assert_int_equal(door.unmap_len, 3);
	door.unmap_len = 0;
	os_close(f);
	assert_int_equal(door.unmap_len, 4);
	door.advised = 0;
	assert_int_equal(os_map_read(the.file, 4, &r), 0);
	assert_int_equal(door.advised, 0);
	os_unmap(the.file, r, 4);
}

TEST(times_are_in_the_units_they_say)
{
	const struct timespec at[] = {{12, 345000000}, {12, 999999999}};
	const int64_t ms[] = {12345, 12999};
	const unsigned waits[] = {0, 1, 999, 1000, 2000, 61234};

	for (int i = 0; i < 2; i++) {
		door.now = at[i];
		assert_int_equal(os_now_ms(os_posix()), ms[i]);
		assert_int_equal(os_monotonic_ns(os_posix()),
				 12000000000 + at[i].tv_nsec);
	}
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		os_sleep_ms(os_posix(), waits[i]);
		assert_int_equal(door.slept.tv_sec, waits[i] / 1000);
		assert_int_equal(door.slept.tv_nsec, waits[i] % 1000 * 1000000);
	}
}

static int chance(void)
{
	return os_random(os_posix()) == 0;
}

TEST(chance_needs_no_call)
{
	uint64_t a, b;

	assert_int_equal(door_with_failure(chance, 1, EINTR, "getrandom"), 0);
	assert_int_equal(door.n, 2);
	door.armed = true;
	door.err = ENOSYS;
	door.n = 0;
	door.fail_at = 1;
	door.now = (struct timespec){.tv_sec = 12, .tv_nsec = 1};
	a = os_random(os_posix());
	door.n = 0;
	door.now.tv_nsec = 2;
	b = os_random(os_posix());
	assert_int_not_equal(a, b);
	assert_int_not_equal(a >> 32, 0);
}
