#include "fs/kernel/handle.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "store/value/why.h"

#define HANDLES_MAX (1u << 20)
/* What an open file takes without its content: place, names, slot. */
#define HANDLE_BYTES 1024

struct slot {
	struct open_file *file; /* NULL = free */
	uint32_t generation;	/* never 0 when it is not free */
	uint32_t next;		/* free list: index + 1 */
};

struct handles {
	pthread_mutex_t lock; /* guards all below; innermost */
	struct slot *slots;
	uint32_t nslots, free;
	uint64_t open;
	struct budget *budget; /* never changes */
};

static uint64_t number(uint32_t generation, uint32_t index)
{
	return (uint64_t)generation << 32 | index;
}

void open_file_drop(struct open_file *f)
{
	if (f && refs_drop(&f->refs)) {
		budget_give(&f->share);
		f->ops->free(f);
	}
}

int handles_new(struct budget *budget, struct handles **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->budget = budget;
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

static void close_file(struct fs *fs, struct open_file *f)
{
	if (f->ops->release)
		f->ops->release(fs, f);
	open_file_drop(f);
}

void handles_free(struct handles *hs, struct fs *fs)
{
	if (!hs)
		return;
	for (uint32_t i = 0; i < hs->nslots; i++)
		if (hs->slots[i].file)
			close_file(fs, hs->slots[i].file);
	pthread_mutex_destroy(&hs->lock);
	free(hs->slots);
	free(hs);
}

static int grow(struct handles *hs)
{
	uint32_t n = hs->nslots ? hs->nslots * 2 : 64;
	struct slot *slots;

	if (n > HANDLES_MAX)
		return -ENFILE;
	slots = realloc(hs->slots, n * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = hs->nslots; i < n; i++) {
		slots[i] = (struct slot){.next = hs->free};
		hs->free = i + 1;
	}
	hs->slots = slots;
	hs->nslots = n;
	return 0;
}

static int add(struct handles *hs, struct open_file *f, uint64_t *fh)
{
	struct slot *s;
	uint32_t i;
	int r;

	pthread_mutex_lock(&hs->lock);
	r = hs->free ? 0 : grow(hs);
	if (r == 0) {
		i = hs->free - 1;
		assert(i < hs->nslots);
		s = &hs->slots[i];
		assert(!s->file);
		hs->free = s->next;
		s->file = f;
		if (!++s->generation)
			s->generation = 1;
		hs->open++;
		*fh = number(s->generation, i);
	}
	pthread_mutex_unlock(&hs->lock);
	return r;
}

int handles_open(struct handles *hs, struct open_file *f,
		 struct fuse_file_info *fi)
{
	int r;

	if (!f->share.budget)
		budget_share_init(&f->share, hs->budget);
	if (budget_hold(&f->share, f->share.held + HANDLE_BYTES) < 0)
		return budget_say(hs->budget, -ENFILE);
	r = add(hs, f, &fi->fh);
	return r == -ENFILE ? why(r, "too many open files in the mount") : r;
}

/* The slot of a number from outside, or NULL; the lock is held. */
static struct slot *slot_of(struct handles *hs, uint64_t fh)
{
	uint32_t i = (uint32_t)fh;
	struct slot *s;

	if (i >= hs->nslots)
		return NULL;
	s = &hs->slots[i];
	return s->file && fh == number(s->generation, i) ? s : NULL;
}

struct open_file *handles_get(struct handles *hs, uint64_t fh,
			      const struct file_ops *ops)
{
	struct open_file *f = NULL;
	struct slot *s;

	pthread_mutex_lock(&hs->lock);
	s = slot_of(hs, fh);
	if (s && (!ops || s->file->ops == ops)) {
		f = s->file;
		open_file_hold(f);
	}
	pthread_mutex_unlock(&hs->lock);
	return f;
}

void handles_release(struct handles *hs, struct fs *fs, uint64_t fh)
{
	struct open_file *f = NULL;
	struct slot *s;

	pthread_mutex_lock(&hs->lock);
	s = slot_of(hs, fh);
	if (s) {
		f = s->file;
		s->file = NULL;
		s->next = hs->free;
		hs->free = (uint32_t)fh + 1;
		assert(hs->open > 0);
		hs->open--;
	}
	pthread_mutex_unlock(&hs->lock);
	if (f)
		close_file(fs, f);
}

uint64_t handles_count(struct handles *hs)
{
	uint64_t n;

	pthread_mutex_lock(&hs->lock);
	n = hs->open;
	pthread_mutex_unlock(&hs->lock);
	return n;
}

/* The first of that type from the slot *i on, with a reference; *i is behind it. */
static struct open_file *next_of(struct handles *hs, const struct file_ops *ops,
				 uint32_t *i)
{
	struct open_file *f = NULL;

	pthread_mutex_lock(&hs->lock);
	while (!f && *i < hs->nslots) {
		f = hs->slots[(*i)++].file;
		if (f && f->ops != ops)
			f = NULL;
	}
	if (f)
		open_file_hold(f);
	pthread_mutex_unlock(&hs->lock);
	return f;
}

void handles_each(struct handles *hs, const struct file_ops *ops,
		  void (*fn)(void *arg, struct open_file *f), void *arg)
{
	struct open_file *f;

	for (uint32_t i = 0; (f = next_of(hs, ops, &i)); open_file_drop(f))
		fn(arg, f);
}
