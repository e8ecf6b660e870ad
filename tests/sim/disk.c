#include "tests/sim/disk.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

struct content {
	atomic_int refs;
	bool hashed;
	uint64_t hash;
	size_t size, cap;
	size_t used; /* what follows was never written, and is zero */
	uint8_t data[];
};

/* Volatile: a compiler takes calloc() for a function that reads no variable. */
_Thread_local volatile unsigned sim_takes_memory;

/* Memory of the disk's own: what it is made of is no part of what is tested. */
static void *take(void *old, size_t n, size_t zeros)
{
	void *p;

	sim_takes_memory++;
	p = zeros ? calloc(1, zeros) : realloc(old, n);
	sim_takes_memory--;
	return p;
}

static void *checked(void *p)
{
	if (!p) {
		fprintf(stderr, "sim: out of memory\n");
		abort();
	}
	return p;
}

void *sim_alloc(void *old, size_t n)
{
	return checked(take(old, n ? n : 1, 0));
}

void sim_copy_name(char to[SIM_NAME_MAX], const char *name)
{
	size_t n = strnlen(name, SIM_NAME_MAX - 1);

	memcpy(to, name, n);
	to[n] = '\0';
}

/* Beyond this a content has pages of its own. */
#define MAPPED_BYTES ((size_t)1 << 20)

static size_t bytes_of_content(size_t cap)
{
	return sizeof(struct content) + cap;
}

/*
 * Zeros. Space that is only allocated, as the log does, costs no memory, which
 * calloc(3) does not promise: with MALLOC_PERTURB_ it writes all of it.
 */
static struct content *content_new(size_t size, size_t cap)
{
	size_t n = bytes_of_content(cap);
	struct content *c = n < MAPPED_BYTES
				    ? take(NULL, 0, n)
				    : mmap(NULL, n, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	checked(c == MAP_FAILED ? NULL : c);

	atomic_init(&c->refs, 1);
	c->size = size;
	c->cap = cap;
	return c;
}

static void content_unref(struct content *c)
{
	size_t n;

	if (!c || atomic_fetch_sub(&c->refs, 1) != 1)
		return;
	n = bytes_of_content(c->cap);
	if (n < MAPPED_BYTES)
		free(c);
	else
		munmap(c, n);
}

/* One that nobody else sees, with at least @cap bytes of room. */
static struct content *own(struct disk *d, uint32_t ino, size_t cap)
{
	struct content *c = d->inodes[ino], *mine;

	if (atomic_load(&c->refs) == 1 && cap <= c->cap) {
		c->hashed = false;
		return c;
	}
	if (cap < c->size)
		cap = c->size;
	if (cap > c->cap && c->cap)
		cap += cap / 4;
	mine = content_new(c->size, cap);
	mine->used = c->used < c->size ? c->used : c->size;
	memcpy(mine->data, c->data, mine->used);
	content_unref(c);
	d->inodes[ino] = mine;
	return mine;
}

static uint64_t content_hash(struct content *c)
{
	if (!c->hashed) {
		c->hash = XXH3_64bits_withSeed(c->data, c->size, c->size);
		c->hashed = true;
	}
	return c->hash;
}

void disk_copy(struct disk *to, const struct disk *from)
{
	*to = (struct disk){.ninodes = from->ninodes,
			    .inodes_cap = from->ninodes,
			    .nnames = from->nnames,
			    .names_cap = from->nnames};
	to->inodes = sim_alloc(NULL, from->ninodes * sizeof(*to->inodes));
	to->names = sim_alloc(NULL, from->nnames * sizeof(*to->names));
	for (size_t i = 0; i < from->ninodes; i++) {
		to->inodes[i] = from->inodes[i];
		atomic_fetch_add(&to->inodes[i]->refs, 1);
	}
	if (from->nnames)
		memcpy(to->names, from->names,
		       from->nnames * sizeof(*to->names));
}

void disk_copy_named(struct disk *to, const struct disk *from)
{
	*to = (struct disk){0};
	for (size_t i = 0; i < from->nnames; i++) {
		const struct disk_name *n = &from->names[i];
		size_t other;
		uint32_t ino;

		/* A crash can leave two names of one inode. */
		for (other = 0; other < i; other++)
			if (from->names[other].ino == n->ino)
				break;
		if (other < i) {
			ino = to->names[other].ino;
		} else {
			ino = disk_new_inode(to);
			content_unref(to->inodes[ino]);
			to->inodes[ino] = from->inodes[n->ino];
			atomic_fetch_add(&to->inodes[ino]->refs, 1);
		}
		disk_link(to, n->dir, n->name, ino);
	}
}

void disk_free(struct disk *d)
{
	for (size_t i = 0; i < d->ninodes; i++)
		content_unref(d->inodes[i]);
	free(d->inodes);
	free(d->names);
	*d = (struct disk){0};
}

uint64_t disk_hash(const struct disk *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->nnames; i++) {
		const struct disk_name *n = &d->names[i];
		uint64_t h = content_hash(d->inodes[n->ino]);

		sum += XXH3_64bits_withSeed(n->name, strlen(n->name),
					    h + n->dir);
	}
	return sum;
}

void disk_need_inode(struct disk *d, uint32_t ino)
{
	if (ino >= d->inodes_cap) {
		d->inodes_cap = (size_t)ino * 2 + 8;
		d->inodes = sim_alloc(d->inodes,
				      d->inodes_cap * sizeof(*d->inodes));
	}
	while (d->ninodes <= ino)
		d->inodes[d->ninodes++] = content_new(0, 0);
}

uint32_t disk_new_inode(struct disk *d)
{
	uint32_t ino = (uint32_t)d->ninodes;

	disk_need_inode(d, ino);
	return ino;
}

long disk_find(const struct disk *d, uint32_t dir, const char *name)
{
	for (size_t i = 0; i < d->nnames; i++)
		if (d->names[i].dir == dir && !strcmp(d->names[i].name, name))
			return (long)i;
	return -1;
}

void disk_link(struct disk *d, uint32_t dir, const char *name, uint32_t ino)
{
	long at = disk_find(d, dir, name);

	if (at < 0) {
		if (d->nnames == d->names_cap) {
			d->names_cap = d->names_cap * 2 + 8;
			d->names = sim_alloc(d->names,
					     d->names_cap * sizeof(*d->names));
		}
		at = (long)d->nnames++;
		d->names[at].dir = dir;
		sim_copy_name(d->names[at].name, name);
	}
	d->names[at].ino = ino;
}

void disk_unlink(struct disk *d, uint32_t dir, const char *name, uint32_t ino)
{
	long at = disk_find(d, dir, name);

	if (at >= 0 && d->names[at].ino == ino)
		d->names[at] = d->names[--d->nnames];
}

bool disk_has_name(const struct disk *d, uint32_t ino)
{
	for (size_t i = 0; i < d->nnames; i++)
		if (d->names[i].ino == ino)
			return true;
	return false;
}

size_t disk_size(const struct disk *d, uint32_t ino)
{
	return d->inodes[ino]->size;
}

const uint8_t *disk_data(const struct disk *d, uint32_t ino)
{
	return d->inodes[ino]->data;
}

void disk_resize(struct disk *d, uint32_t ino, size_t size)
{
	struct content *c = own(d, ino, size);
	size_t end = size < c->used ? size : c->used;

	if (end > c->size)
		memset(c->data + c->size, 0, end - c->size);
	c->size = size;
}

void disk_write(struct disk *d, uint32_t ino, size_t off, const void *src,
		size_t n)
{
	struct content *c;

	if (n == 0)
		return;
	if (off + n > d->inodes[ino]->size)
		disk_resize(d, ino, off + n);
	c = own(d, ino, off + n);
	memcpy(c->data + off, src, n);
	if (off + n > c->used)
		c->used = off + n;
}

const uint8_t *disk_hold(struct disk *d, uint32_t ino)
{
	atomic_fetch_add(&d->inodes[ino]->refs, 1);
	return d->inodes[ino]->data;
}

void disk_drop(const uint8_t *data)
{
	uintptr_t p = (uintptr_t)data - offsetof(struct content, data);

	content_unref((struct content *)p);
}
