#include "fs/host/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST (STDERR_FILENO + 1)

void descriptors_fill(void)
{
	/* open() returns the lowest free number. */
	for (int fd = 0; fd < FIRST; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

/*
 * Closes one by one, for kernels before 5.9 and where close_range() is
 * forbidden.
 */
static void close_listed(int keep)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		int fd = atoi(e->d_name); /* 0 for "." and ".." */

		if (fd >= FIRST && fd != keep && fd != dirfd(dir))
			close(fd);
	}
	closedir(dir);
}

int descriptors_close_range(unsigned first, unsigned last)
{
	return (int)syscall(SYS_close_range, first, last, 0);
}

void descriptors_close(int keep)
{
	unsigned from = FIRST;
	int r = 0;

	if (keep >= FIRST) {
		if (keep > FIRST)
			r = descriptors_close_range(FIRST, (unsigned)keep - 1);
		from = (unsigned)keep + 1;
	}
	if (r == 0)
		r = descriptors_close_range(from, ~0U);
	if (r < 0)
		close_listed(keep);
}

void descriptors_silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	for (int fd = 0; fd < FIRST; fd++)
		dup2(null, fd);
	if (null >= FIRST)
		close(null);
}
