/* Memory from the system itself, in huge pages: see os.h. */
#include "store/os/os.h"

#include <sys/mman.h>

static void *pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *os_pages(size_t size)
{
	size_t more, skip;
	uint8_t *p;

	if (size < OS_PAGES_ALIGN)
		return pages(size);
	if (__builtin_add_overflow(size, OS_PAGES_ALIGN, &more))
		return NULL;
	p = pages(more);
	if (!p)
		return NULL;
	skip = -(uintptr_t)p & (OS_PAGES_ALIGN - 1);
	if (skip)
		munmap(p, skip);
	if (more - skip > size)
		munmap(p + skip + size, more - skip - size);
	/* One page fault instead of 512; a refusal does no harm. */
	madvise(p + skip, size, MADV_HUGEPAGE);
	return p + skip;
}

void os_pages_free(void *p, size_t size)
{
	munmap(p, size);
}
