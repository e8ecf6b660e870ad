/* Memory from the system itself, in huge pages: see os.h. */
#include "store/os/os.h"

#include <sys/mman.h>
#include <unistd.h>

/* What the system gives for so much, and takes back. */
static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return size > SIZE_MAX - page ? size : (size + page - 1) & ~(page - 1);
}

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

	size = whole_pages(size);
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
	munmap(p, whole_pages(size));
}
