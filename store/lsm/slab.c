#include "store/lsm/slab.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "store/os.h"

#define CHUNK ((size_t)2 << 20)
#define PIECE_MIN ((size_t)4 << 10)
#define PIECE_MAX (CHUNK / 8)
#define STEPS 16 /* sizes from a power of two to the next */
#define CLASSES (6 * STEPS)
/* Empty chunks kept: a compaction frees and takes blocks by turns. */
#define SPARES 4

struct chunk {
	struct chunk *next, *prev; /* of those of the class with room */
	void *freed;		   /* pieces that came back, linked */
	size_t fresh;		   /* where the never used begin */
	size_t piece;
	unsigned used, class;
};

static struct {
	pthread_mutex_t lock;
	struct chunk *room[CLASSES]; /* lock */
	struct chunk *spare[SPARES]; /* lock */
	unsigned nspare;	     /* lock */
} slab = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The class of a size, -1 for malloc(); *piece is the size it gets. */
static int class_of(size_t size, size_t *piece)
{
	size_t base = PIECE_MIN, step;
	int class = 0;

#ifdef __SANITIZE_ADDRESS__
	/* Its red zones find what reaches beyond a block. */
	return -1;
#endif
	if (size <= PIECE_MIN || size > PIECE_MAX)
		return -1;
	for (; size > 2 * base; base *= 2)
		class += STEPS;
	step = base / STEPS;
	*piece = (size + step - 1) / step * step;
	return class + (int)((*piece - base) / step) - 1;
}

static void link_chunk(struct chunk *c)
{
	struct chunk **head = &slab.room[c->class];

	c->prev = NULL;
	c->next = *head;
	if (c->next)
		c->next->prev = c;
	*head = c;
}

static void unlink_chunk(struct chunk *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		slab.room[c->class] = c->next;
	if (c->next)
		c->next->prev = c->prev;
}

static bool has_room(const struct chunk *c)
{
	return c->freed || c->piece <= CHUNK - c->fresh;
}

static struct chunk *new_chunk(int class, size_t piece)
{
	struct chunk *c =
		slab.nspare ? slab.spare[--slab.nspare] : os_pages(CHUNK);

	if (!c)
		return NULL;
	*c = (struct chunk){
		.fresh = (sizeof(*c) + 63) & ~(size_t)63,
		.piece = piece,
		.class = (unsigned)class,
	};
	link_chunk(c);
	return c;
}

static void *take_piece(struct chunk *c)
{
	void *p = c->freed;

	if (p) {
		c->freed = *(void **)p;
	} else {
		p = (uint8_t *)c + c->fresh;
		c->fresh += c->piece;
	}
	c->used++;
	if (!has_room(c))
		unlink_chunk(c);
	return p;
}

void *slab_alloc(size_t size)
{
	size_t piece = 0;
	int class = class_of(size, &piece);
	struct chunk *c;
	void *p;

	if (class < 0)
		return malloc(size);
	pthread_mutex_lock(&slab.lock);
	c = slab.room[class];
	if (!c)
		c = new_chunk(class, piece);
	p = c ? take_piece(c) : NULL;
	pthread_mutex_unlock(&slab.lock);
	return p;
}

void slab_free(void *p, size_t size)
{
	size_t piece = 0;
	struct chunk *c;
	bool full;

	if (!p)
		return;
	if (class_of(size, &piece) < 0) {
		free(p);
		return;
	}
	c = (struct chunk *)((uintptr_t)p & ~(uintptr_t)(CHUNK - 1));
	pthread_mutex_lock(&slab.lock);
	full = !has_room(c);
	*(void **)p = c->freed;
	c->freed = p;
	if (full)
		link_chunk(c);
	c->used--;
	if (c->used == 0)
		unlink_chunk(c);
	else
		c = NULL;
	if (c && slab.nspare < SPARES) {
		slab.spare[slab.nspare++] = c;
		c = NULL;
	}
	pthread_mutex_unlock(&slab.lock);
	/* To the system: malloc() would keep most of it. */
	if (c)
		os_pages_free(c, CHUNK);
}
