/* A directory is empty, or it is not, or that cannot be said; and nothing stays open. */
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "fs/host/host_dir.h"

/* There is no memory for a directory that is read. */
static bool no_memory;

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd)
{
	if (!no_memory)
		return __real_fdopendir(fd);
	errno = ENOMEM;
	return NULL;
}

struct folder {
	char path[40];
	int fd;
	int lowest; /* the number of the next file that is opened */
};

static int next_number(void)
{
	int fd = open("/", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static int setup(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	*state = f;
	snprintf(f->path, sizeof(f->path), "/tmp/cellfs-host-dir-XXXXXX");
	if (!mkdtemp(f->path))
		return -1;
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->lowest = next_number();
	return f->fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct folder *f = *state;
	int r;

	close(f->fd);
	r = rmdir(f->path);
	free(f);
	return r;
}

EACH_TEST_IN(setup, teardown);

static void touch(const struct folder *f, const char *name)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

TEST(any_name_fills_a_directory)
{
	static const char *const names[] = {"a", ".a", "..."};
	const struct folder *f = *state;

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(host_dir_is_empty(AT_FDCWD, f->path), 1);
		assert_int_equal(host_dir_is_empty(f->fd, "."), 1);
		touch(f, names[i]);
		assert_int_equal(host_dir_is_empty(AT_FDCWD, f->path), 0);
		/* As often as it is asked. */
		assert_int_equal(host_dir_is_empty(f->fd, "."), 0);
		assert_int_equal(host_dir_is_empty(f->fd, "."), 0);
		assert_int_equal(unlinkat(f->fd, names[i], 0), 0);
	}
	assert_int_equal(next_number(), f->lowest);
}

TEST(what_is_no_directory_is_not_empty)
{
	const struct folder *f = *state;

	assert_int_equal(host_dir_is_empty(f->fd, "none"), -ENOENT);
	touch(f, "file");
	assert_int_equal(host_dir_is_empty(f->fd, "file"), -ENOTDIR);
	assert_int_equal(unlinkat(f->fd, "file", 0), 0);
	assert_int_equal(symlinkat(".", f->fd, "link"), 0);
	assert_true(host_dir_is_empty(f->fd, "link") < 0);
	assert_int_equal(unlinkat(f->fd, "link", 0), 0);
	assert_int_equal(next_number(), f->lowest);
}

TEST(a_directory_that_cannot_be_read_stays_closed)
{
	const struct folder *f = *state;

	no_memory = true;
	assert_int_equal(host_dir_is_empty(f->fd, "."), -ENOMEM);
	errno = 0;
	assert_null(host_dir_open(f->fd, "."));
	assert_int_equal(errno, ENOMEM);
	no_memory = false;
	assert_int_equal(host_dir_is_empty(f->fd, "."), 1);
	assert_int_equal(next_number(), f->lowest);
}
