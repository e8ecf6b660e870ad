#include "fs/control/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ull

static uint64_t timespec_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static void read_memory(struct process_figures *out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long total = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return;
	if (fscanf(f, "%llu %llu", &total, &resident) == 2) {
		out->virtual_bytes = total * page;
		out->resident_bytes = resident * page;
	}
	fclose(f);
}

/* The start is told in ticks since the machine was booted. */
static uint64_t start_ns(void)
{
	enum {
		FIELDS_BEFORE_START = 19 /* behind the name of the program */
	};
	uint64_t ticks = 0, boot;
	char line[1024];
	FILE *f = fopen("/proc/self/stat", "re");
	char *at = f ? fgets(line, sizeof(line), f) : NULL;

	if (f)
		fclose(f);
	/* The name is in parentheses and may have any characters. */
	at = at ? strrchr(at, ')') : NULL;
	for (int i = 0; at && i <= FIELDS_BEFORE_START; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	ticks = strtoull(at, NULL, 10);
	boot = timespec_ns(CLOCK_REALTIME) - timespec_ns(CLOCK_BOOTTIME);
	return boot + ticks * (NS / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	uint64_t n = 0;

	if (!d)
		return 0;
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n - 1; /* but the one of this directory */
}

void process_figures(struct process_figures *out)
{
	struct rlimit files = {0};

	memset(out, 0, sizeof(*out));
	read_memory(out);
	out->cpu_ns = timespec_ns(CLOCK_PROCESS_CPUTIME_ID);
	out->start_ns = start_ns();
	out->open_fds = open_fds();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		out->max_fds = files.rlim_cur;
}
