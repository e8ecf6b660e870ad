#include "tests/crash/pages.h"

#include <malloc.h>
#include <stddef.h>
#include <sys/prctl.h>

#define KEPT 64

void *__real_os_pages(size_t size);
void __real_os_pages_free(void *p, size_t size);
void *__wrap_os_pages(size_t size);
void __wrap_os_pages_free(void *p, size_t size);

static struct {
	void *p;
	size_t size;
} kept[KEPT];
static size_t nkept;

void *__wrap_os_pages(size_t size)
{
	for (size_t i = nkept; i-- > 0;)
		if (kept[i].size == size) {
			void *p = kept[i].p;

			kept[i] = kept[--nkept];
			return p;
		}
	return __real_os_pages(size);
}

void __wrap_os_pages_free(void *p, size_t size)
{
	if (nkept == KEPT) {
		__real_os_pages_free(p, size);
		return;
	}
	kept[nkept].p = p;
	kept[nkept++].size = size;
}

void pages_begin(void)
{
	/* Zeroing 2 MiB for the sake of one page takes most of an opening. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	mallopt(M_MMAP_THRESHOLD, 256 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 1 << 20);
}
