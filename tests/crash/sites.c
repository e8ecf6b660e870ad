#include "tests/crash/sites.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>

#include "tests/sim/os_sim.h"

/* This file's function and that of os.c. */
#define OWN_FRAMES 2

static struct sites *noting;
static struct os *noted;
static const struct os_ops *real;
static struct os_ops ops;

__attribute__((noinline)) static void note(bool dir)
{
	void *frames[OWN_FRAMES + 1 + SITE_FRAMES] = {0};
	int n = backtrace(frames, OWN_FRAMES + 1 + SITE_FRAMES);
	struct site_sync s = {.dir = dir, .at = sim_log_length(noted)};

	s.site = dir;
	for (int i = 0; i < SITE_FRAMES && i + OWN_FRAMES + 1 < n; i++) {
		void *p = frames[i + OWN_FRAMES + 1];
		Dl_info info;

		s.frames[i] = (uintptr_t)p;
		if (dladdr(p, &info))
			s.frames[i] -= (uintptr_t)info.dli_fbase;
		s.site = (s.site ^ s.frames[i]) * 0x9e3779b97f4a7c15;
	}
	if (noting->n == noting->cap) {
		noting->cap = noting->cap ? 2 * noting->cap : 64;
		noting->syncs = realloc(noting->syncs, noting->cap * sizeof(s));
		if (!noting->syncs)
			abort();
	}
	noting->syncs[noting->n++] = s;
}

__attribute__((noinline)) static ssize_t
noted_pwrite_sync(struct os_file *f, const void *buf, size_t n, uint64_t off)
{
	ssize_t r;

	note(false);
	r = real->pwrite_sync(f, buf, n, off);
	return r;
}

__attribute__((noinline)) static int noted_fdatasync(struct os_file *f)
{
	int r;

	note(false);
	r = real->fdatasync(f);
	return r;
}

__attribute__((noinline)) static int noted_dir_sync(struct os_dir *d)
{
	int r;

	note(true);
	r = real->dir_sync(d);
	return r;
}

void sites_begin(struct os *os, struct sites *out)
{
	noting = out;
	noted = os;
	real = os->ops;
	ops = *real;
	ops.pwrite_sync = noted_pwrite_sync;
	ops.fdatasync = noted_fdatasync;
	ops.dir_sync = noted_dir_sync;
	os->ops = &ops;
}

void sites_end(struct os *os)
{
	os->ops = real;
}

void sites_free(struct sites *s)
{
	free(s->syncs);
	*s = (struct sites){0};
}
