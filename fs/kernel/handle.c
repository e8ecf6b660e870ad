#include "fs/kernel/handle.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define HANDLES_MAX (1u << 20)

struct slot {
	void *object; /* NULL = free */
	uint32_t generation;
	uint32_t next; /* free list: index + 1 */
	uint8_t type;
};

struct handles {
	pthread_mutex_t lock; /* guards all below; innermost */
	struct slot *slots;
	uint32_t nslots, free;
	uint64_t open;
};

/* type 8 bits, generation 24, index 32. Never 0: types begin at 1. */
static uint64_t number(uint8_t type, uint32_t generation, uint32_t index)
{
	return (uint64_t)type << 56 | (uint64_t)(generation & 0xFFFFFF) << 32 |
	       index;
}

int handles_new(struct handles **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

void handles_free(struct handles *hs)
{
	if (!hs)
		return;
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

uint64_t handles_add(struct handles *hs, enum handle_type type, void *object)
{
	struct slot *s;
	uint64_t fh = 0;
	uint32_t i;

	assert(type > 0 && object);
	pthread_mutex_lock(&hs->lock);
	if (hs->free || grow(hs) == 0) {
		i = hs->free - 1;
		s = &hs->slots[i];
		hs->free = s->next;
		s->object = object;
		s->type = (uint8_t)type;
		s->generation++;
		hs->open++;
		fh = number(s->type, s->generation, i);
	}
	pthread_mutex_unlock(&hs->lock);
	return fh;
}

/* The slot of a number from outside, or NULL; the lock is held. */
static struct slot *slot_of(struct handles *hs, uint64_t fh,
			    enum handle_type type)
{
	uint32_t i = (uint32_t)fh;
	struct slot *s;

	if (i >= hs->nslots)
		return NULL;
	s = &hs->slots[i];
	if (!s->object || s->type != type ||
	    fh != number(s->type, s->generation, i))
		return NULL;
	return s;
}

void *handles_get(struct handles *hs, uint64_t fh, enum handle_type type)
{
	struct slot *s;
	void *object;

	pthread_mutex_lock(&hs->lock);
	s = slot_of(hs, fh, type);
	object = s ? s->object : NULL;
	pthread_mutex_unlock(&hs->lock);
	return object;
}

void *handles_remove(struct handles *hs, uint64_t fh, enum handle_type type)
{
	void *object = NULL;
	struct slot *s;

	pthread_mutex_lock(&hs->lock);
	s = slot_of(hs, fh, type);
	if (s) {
		object = s->object;
		s->object = NULL;
		s->next = hs->free;
		hs->free = (uint32_t)fh + 1;
		hs->open--;
	}
	pthread_mutex_unlock(&hs->lock);
	return object;
}

enum handle_type handle_type(uint64_t fh)
{
	return (enum handle_type)(fh >> 56);
}

uint64_t handles_count(struct handles *hs)
{
	uint64_t n;

	pthread_mutex_lock(&hs->lock);
	n = hs->open;
	pthread_mutex_unlock(&hs->lock);
	return n;
}

void handles_each(struct handles *hs, enum handle_type type,
		  void (*fn)(void *arg, void *object), void *arg)
{
	pthread_mutex_lock(&hs->lock);
	for (uint32_t i = 0; i < hs->nslots; i++)
		if (hs->slots[i].object && hs->slots[i].type == type)
			fn(arg, hs->slots[i].object);
	pthread_mutex_unlock(&hs->lock);
}
