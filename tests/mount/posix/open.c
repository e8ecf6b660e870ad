/*
 * How a file is opened, and what a descriptor may do of which kind.
 */
#include "posix.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void exclusive(void)
{
	int fd = must_open(home, O_WRONLY | O_CREAT | O_EXCL);

	WANT(write(fd, "one", 3) == 3);
	FAILS(EEXIST, open(home, O_WRONLY | O_CREAT | O_EXCL, 0644));
	WORKS(close(fd));
	FAILS(EEXIST, open(home, O_WRONLY | O_CREAT | O_EXCL, 0644));
	FAILS(EEXIST, open("f", O_WRONLY | O_CREAT | O_EXCL, 0644));
	WANT(holds(home, "one"));
}

static void absent(void)
{
	FAILS(ENOENT, open(home, O_RDONLY));
	FAILS(ENOENT, open(home, O_RDWR | O_TRUNC));
	FAILS(ENOENT, open(home, O_WRONLY | O_APPEND));
	FAILS(ENOENT, unlink(home));
	FAILS(ENOENT, truncate(home, 0));
}

static void directory_or_not(void)
{
	put(home, "one");
	FAILS(ENOTDIR, open(home, O_RDONLY | O_DIRECTORY));
	FAILS(EISDIR, open("f", O_WRONLY));
	FAILS(EISDIR, open("f", O_RDWR));
	FAILS(EISDIR, open("f/q", O_RDONLY | O_TRUNC));
	FAILS(EISDIR, open("f", O_RDONLY | O_CREAT, 0644));
	FAILS(EISDIR, truncate("f/q", 0));
	WORKS(close(must_open(home, O_RDONLY | O_NOFOLLOW)));
	WORKS(close(must_open("f", O_RDONLY | O_DIRECTORY)));
}

static void truncating(void)
{
	int old, fd;
	char c;

	put(home, "one");
	old = must_open(home, O_RDONLY);
	fd = must_open(home, O_RDWR | O_TRUNC);
	WANT(lseek(fd, 0, SEEK_END) == 0);
	WANT(read(fd, &c, 1) == 0);
	WANT(write(fd, "two", 3) == 3);
	WORKS(close(fd));
	WORKS(close(old));
	WANT(holds(home, "two"));
}

static void modes_of_descriptor(void)
{
	char c;
	int fd;

	put(home, "one");
	fd = must_open(home, O_RDONLY);
	FAILS(EBADF, write(fd, "x", 1));
	FAILS(EBADF, pwrite(fd, "x", 1, 0));
	FAILS(EINVAL, ftruncate(fd, 0));
	FAILS(EBADF, fallocate(fd, 0, 0, 10));
	WANT(read(fd, &c, 1) == 1 && c == 'o');
	WORKS(close(fd));
	fd = must_open(home, O_WRONLY);
	FAILS(EBADF, read(fd, &c, 1));
	FAILS(EBADF, pread(fd, &c, 1, 0));
	WORKS(close(fd));
	fd = must_open(home, O_PATH);
	FAILS(EBADF, read(fd, &c, 1));
	FAILS(EBADF, ftruncate(fd, 0));
	WORKS(close(fd));
	FAILS(EBADF, read(fd, &c, 1));
	WANT(holds(home, "one"));
}

static void of_a_directory(void)
{
	char c;
	int fd = must_open("f", O_RDONLY);

	FAILS(EISDIR, read(fd, &c, 1));
	FAILS(EISDIR, pread(fd, &c, 1, 0));
	FAILS(EBADF, write(fd, "x", 1));
	FAILS(EINVAL, ftruncate(fd, 0));
	WORKS(fsync(fd));
	WORKS(fdatasync(fd));
	WANT(lseek(fd, 0, SEEK_SET) == 0);
	WORKS(close(fd));
}

/* Offsets that no file has; the greatest that there are. */
static void offsets(void)
{
	int fd = must_open(home, O_RDWR | O_CREAT);
	char c;

	WANT(write(fd, "one", 3) == 3);
	FAILS(EINVAL, pread(fd, &c, 1, -1));
	FAILS(EINVAL, pwrite(fd, &c, 1, -1));
	FAILS(EINVAL, lseek(fd, -1, SEEK_SET));
	FAILS(EINVAL, lseek(fd, -4, SEEK_END));
	FAILS(EINVAL, lseek(fd, 0, 99));
	FAILS(EINVAL, ftruncate(fd, -1));
	FAILS(EINVAL, truncate(home, -1));
	FAILS(EINVAL, fallocate(fd, 0, -1, 5));
	FAILS(EINVAL, fallocate(fd, 0, 0, 0));
	FAILS(EFBIG, fallocate(fd, 0, INT64_MAX - 1, 5));
	FAILS(EINVAL, pwrite(fd, "x", 1, INT64_MAX));
	WANT(pread(fd, &c, 1, INT64_MAX - 1) == 0);
	WANT(pread(fd, &c, 1, 3) == 0);
	WANT(lseek(fd, 1000, SEEK_END) == 1003);
	WANT(read(fd, &c, 1) == 0);
	WORKS(close(fd));
	WANT(holds(home, "one"));
}

/*
 * What was too much for a value spoils it: it is published whole or not at all, also
 * by a program that goes on. A scratch file is no value, and bounded by the memory.
 */
static void far_away(void)
{
	bool scratch = !strcmp(home, "q.tmp");
	int fd;

	put(home, "one");
	fd = must_open(home, O_RDWR);
	FAILS(scratch ? ENOSPC : EFBIG, pwrite(fd, "x", 1, INT64_MAX - 1));
	FAILS(scratch ? ENOSPC : EFBIG, pwrite(fd, "x", 1, 1l << 40));
	WORKS(close(fd));
	WANT(holds(home, "one"));
	if (scratch)
		return;
	fd = must_open(home, O_RDWR);
	WANT(write(fd, "t", 1) == 1);
	FAILS(EFBIG, pwrite(fd, "x", 1, 1l << 40));
	FAILS(EFBIG, close(fd));
	WANT(holds(home, "one"));
}

static void data_and_holes(void)
{
	int fd = must_open(home, O_RDWR | O_CREAT);

	WANT(write(fd, "one", 3) == 3);
	WANT(lseek(fd, 1, SEEK_DATA) == 1);
	WANT(lseek(fd, 1, SEEK_HOLE) == 3);
	FAILS(ENXIO, lseek(fd, 3, SEEK_DATA));
	FAILS(ENXIO, lseek(fd, 4, SEEK_HOLE));
	WORKS(close(fd));
}

static void two_descriptors(void)
{
	int a, b, fd;
	char c;

	put(home, "abc");
	a = must_open(home, O_RDONLY);
	b = must_open(home, O_RDONLY);
	fd = dup(a);
	WANT(read(a, &c, 1) == 1 && c == 'a');
	WANT(read(fd, &c, 1) == 1 && c == 'b');
	WANT(read(b, &c, 1) == 1 && c == 'a');
	WORKS(close(a));
	WANT(read(fd, &c, 1) == 1 && c == 'c');
	WORKS(close(fd));
	WORKS(close(b));
}

static void no_other_kinds(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "f/socket"};
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	put(home, "one");
	FAILS(EPERM, link(home, "f:link"));
	FAILS(EPERM, link(home, "link.tmp"));
	FAILS(EPERM, symlink("f", "g"));
	FAILS(EPERM, symlink("f", "g.tmp"));
	FAILS(EPERM, mkfifo("g", 0644));
	FAILS(EPERM, mkfifo("g.tmp", 0644));
	FAILS(EPERM, bind(s, (struct sockaddr *)&at, sizeof(at)));
	FAILS(EINVAL, readlink(home, at.sun_path, 1));
	FAILS(EOPNOTSUPP, open("f", O_TMPFILE | O_RDWR, 0644));
	FAILS(EEXIST, link(home, "f"));
	FAILS(EEXIST, symlink("f", "f"));
	FAILS(EEXIST, mkfifo("f", 0644));
	FAILS(EEXIST, mkdir(home, 0755));
	WORKS(close(s));
	WANT(holds(home, "one"));
}

static void mapped(void)
{
	int fd;
	char *map;

	put(home, "one");
	fd = must_open(home, O_RDWR);
	map = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	WANT(map != MAP_FAILED);
	if (map != MAP_FAILED) {
		WANT(memcmp(map, "one", 3) == 0);
		map[0] = 'X';
		WORKS(munmap(map, 3));
	}
	FAILS(ENODEV,
	      (long)mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	WORKS(close(fd));
	WANT(holds(home, "one"));
}

const struct posix_case open_cases[] = {
	{"O_EXCL makes what is not there, once", exclusive, true},
	{"what is absent is not opened, cut or removed", absent, true},
	{"a directory is no file, and a file no directory", directory_or_not,
	 true},
	{"O_TRUNC empties", truncating, true},
	{"a descriptor does what it was opened for", modes_of_descriptor, true},
	{"a directory's descriptor is not read as bytes", of_a_directory,
	 false},
	{"offsets that no file has are refused", offsets, true},
	{"a write far behind the end is refused", far_away, true},
	{"SEEK_DATA and SEEK_HOLE take all of a file for data", data_and_holes,
	 true},
	{"a copy of a descriptor shares its offset", two_descriptors, true},
	{"links, pipes, sockets and nameless files are refused", no_other_kinds,
	 true},
	{"a file is mapped for oneself, not shared to write", mapped, true},
	{0},
};
