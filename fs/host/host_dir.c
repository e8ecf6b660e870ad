#include "fs/host/host_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

DIR *host_dir_open(int at, const char *name)
{
	int fd = openat(at, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int err = errno;

	if (!d && fd >= 0) {
		close(fd);
		errno = err;
	}
	return d;
}

int host_dir_is_empty(int at, const char *name)
{
	DIR *d = host_dir_open(at, name);
	struct dirent *e;
	int r;

	if (!d)
		return -errno;
	do {
		errno = 0;
		e = readdir(d);
		r = e ? 0 : errno ? -errno : 1;
	} while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
	closedir(d);
	return r;
}
