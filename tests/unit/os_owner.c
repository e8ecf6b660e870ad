/* Whose files and directories the real door makes, and takes. */
#include <unistd.h>

#include "tests/unit/door.h"
#include "tests/unit/unit.h"

EACH_TEST_IN(door_set_up, door_tear_down);

static int open_again(void)
{
	struct os_file *f;
	int r = os_open(the.dir, "f", OS_WRITE | OS_CREATE, &f);

	if (r == 0)
		os_close(f);
	return r;
}

TEST(only_a_creating_open_changes_the_mode)
{
	struct os_file *f;
	struct stat st;
	char path[96], other[96];

	door_below("f", path);
	door_below("other", other);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(os_open(the.dir, "f", OS_WRITE, &f), 0);
	os_close(f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	/* Nor that of a file that has a name elsewhere, which is refused. */
	assert_int_equal(link(path, other), 0);
	the.dir->own = true;
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_CREATE, &f),
			 -EPERM);
	the.dir->own = false;
	assert_int_equal(unlink(other), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_CREATE, &f), 0);
	os_close(f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* Which is nobody's but the owner's to do: not where it is so already. */
	assert_int_equal(door_with_failure(open_again, 1, EPERM, "fchmod"), 0);
}

/* How often a file as @st, opened so, is given to the owner of @d. */
static unsigned given(struct os_dir *d, struct stat *st, unsigned flags)
{
	struct os_file *f;

	door.given = 0;
	door.st = st;
	assert_int_equal(os_open(d, "f", flags, &f), 0);
	door.st = NULL;
	os_close(f);
	if (door.given)
		assert_int_equal(door.to, 5);
	return door.given;
}

TEST(only_what_root_makes_is_the_owners_of_the_directory)
{
	const unsigned make = OS_WRITE | OS_CREATE;
	struct stat of_dir = {.st_mode = S_IFDIR | 0700, .st_uid = 5};
	const struct stat made = {.st_mode = S_IFREG | 0600, .st_nlink = 1};
	struct stat st = made;
	struct os_dir *d;

	door.st = &of_dir;
	door.euid = 0;
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &d), 0);
	assert_int_equal(given(d, &st, make), 1);
	assert_int_equal(given(d, &st, OS_WRITE), 0);
	assert_int_equal(given(d, &st, OS_READ), 0);
	st.st_size = 1;
	assert_int_equal(given(d, &st, make), 0);
	st = made;
	st.st_nlink = 2;
	assert_int_equal(given(d, &st, make), 0);
	st = made;
	st.st_uid = 7;
	assert_int_equal(given(d, &st, make), 0);
	st = made;
	door.euid = 7;
	assert_int_equal(given(d, &st, make), 0);
	os_dir_close(d);
	/* Root's own directory. */
	door.euid = of_dir.st_uid = 0;
	door.st = &of_dir;
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &d), 0);
	assert_int_equal(given(d, &st, make), 0);
	os_dir_close(d);
}

/* What is given when root, or user 7, asks for the directory below @d. */
static unsigned given_below(struct os_dir *d, uid_t euid, struct os_dir **sub)
{
	door.euid = euid;
	door.given = 0;
	assert_int_equal(os_dir_below(d, "sub", sub), 0);
	return door.given;
}

TEST(a_directory_that_root_makes_is_given_and_what_root_makes_in_it)
{
	struct stat of_dir = {.st_mode = S_IFDIR | 0700, .st_uid = 5};
	struct stat made = {.st_mode = S_IFREG | 0600, .st_nlink = 1};
	struct os_dir *d, *sub;
	char path[96];

	door_below("sub", path);
	door.st = &of_dir;
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &d), 0);
	door.st = NULL;
	assert_int_equal(given_below(d, 7, &sub), 0);
	os_dir_close(sub);
	assert_int_equal(given_below(d, 0, &sub), 0); /* it is there */
	os_dir_close(sub);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(given_below(d, 0, &sub), 1);
	assert_int_equal(door.to, 5);
	os_dir_close(d);
	assert_int_equal(given(sub, &made, OS_WRITE | OS_CREATE), 1);
	assert_int_equal(os_unlink(sub, "f"), 0);
	os_dir_close(sub);
	assert_int_equal(rmdir(path), 0);
}

TEST(what_others_may_write_is_refused_by_its_reason)
{
	struct stat st = {.st_mode = S_IFDIR | 0700, .st_nlink = 2};

	door.st = &st;
	door.euid = 0;
	st.st_uid = 5; /* root may use what is another's */
	assert_int_equal(os_dir_own(the.dir, the.path), 0);
	door.euid = st.st_uid = 7;
	assert_int_equal(os_dir_own(the.dir, the.path), 0);
	st.st_uid = 8;
	assert_int_equal(os_dir_own(the.dir, the.path), -EPERM);
	assert_true(door_says("belongs to another user"));
	for (int i = 0; i < 2; i++) {
		st.st_uid = 7;
		st.st_mode = S_IFDIR | 0700 | (i ? S_IWGRP : S_IWOTH);
		assert_int_equal(os_dir_own(the.dir, the.path), -EPERM);
		assert_true(door_says("may be written by others"));
	}
	st.st_mode = S_IFDIR | 0755;
	assert_int_equal(os_dir_own(the.dir, the.path), 0);
	door.armed = true;
	door.n = 0;
	door.fail_at = 1;
	door.err = EIO;
	assert_int_equal(os_dir_own(the.dir, the.path), -EPERM);
	assert_true(door_says("cannot be looked at"));
	door.armed = false;
}

/* What an open says of a file of this user that has so many names. */
static int open_of(struct os_dir *d, uid_t owner, unsigned names)
{
	struct stat st = {
		.st_mode = S_IFREG | 0600, .st_nlink = names, .st_uid = owner};
	struct os_file *f;
	unsigned before = door_open_files();
	int r;

	door.st = &st;
	r = os_open(d, "f", OS_READ, &f);
	if (r == 0)
		os_close(f);
	door.st = NULL;
	assert_int_equal(door_open_files(), before);
	return r;
}

TEST(a_file_of_somebody_else_or_of_two_names_is_refused)
{
	struct stat st = {.st_mode = S_IFDIR | 0700, .st_uid = 5};
	struct os_dir *d;

	door.st = &st;
	door.euid = 7;
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &d), 0);
	door.st = NULL;
	assert_int_equal(open_of(d, 6, 2), 0); /* nobody asked for it yet */
	d->own = true;
	assert_int_equal(open_of(d, 0, 1), 0);
	assert_int_equal(open_of(d, 7, 1), 0);
	assert_int_equal(open_of(d, 5, 1), 0); /* the directory's owner's */
	assert_int_equal(open_of(d, 6, 1), -EPERM);
	assert_true(door_says("belongs to another user"));
	assert_int_equal(open_of(d, 7, 2), -EPERM);
	assert_true(door_says("second name"));
	os_dir_close(d);
}
