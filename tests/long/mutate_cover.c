/* What gcc's -fsanitize-coverage=trace-pc calls at each block: notes it in the
 * file $COVER/TEST/PROGRAM, a byte an address, for mutate.py. TEST is that of
 * bats, or $COVER_TEST. The file is mapped, so that a daemon that is killed or
 * that may open no files has noted all it did.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char __executable_start, etext;
void __sanitizer_cov_trace_pc(void);

static unsigned char *map;

__attribute__((constructor(101))) static void begin(void)
{
	const char *dir = getenv("COVER"), *file = getenv("BATS_TEST_FILENAME"),
		   *test = getenv("COVER_TEST"), *number = "";
	char path[4096], exe[1024];
	size_t size = (size_t)(&etext - &__executable_start);
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd;

	if (file) {
		test = strrchr(file, '/') + 1;
		number = getenv("BATS_TEST_NUMBER");
	}
	if (!dir || !test || !number || n <= 0)
		return;
	exe[n] = '\0';
	snprintf(path, sizeof(path), "%s/%s %s", dir, test, number);
	syscall(SYS_mkdir, path, 0777);
	snprintf(path, sizeof(path), "%s/%s %s/%s", dir, test, number,
		 strrchr(exe, '/') + 1);
	fd = (int)syscall(SYS_open, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (syscall(SYS_ftruncate, fd, size) == 0)
		map = (unsigned char *)syscall(SYS_mmap, NULL, size,
					       PROT_READ | PROT_WRITE,
					       MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		map = NULL;
	syscall(SYS_close, fd);
}

void __sanitizer_cov_trace_pc(void)
{
	if (map)
		map[(char *)__builtin_return_address(0) - &__executable_start] =
			1;
}
