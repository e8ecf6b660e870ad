#include "store/lsm/base/slab.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/os/os.h"
#include "store/value/sanitizer.h"

#define CHUNK SLAB_CHUNK
#define PIECE_MIN ((size_t)256)
#define PIECE_MAX (CHUNK / 8)
/*
 * Steps of sizes from a power of two to the next, up to PIECE_SMALL and above.
 */
#define PIECE_SMALL ((size_t)4 << 10)
#define STEPS_SMALL 4
#define STEPS 16
#define CLASSES (4 * STEPS_SMALL + 6 * STEPS)
/*
 * The most memory of a class in chunks of much larger pieces: less than a chunk
 * of its own would take.
 */
#define LODGED_MAX (CHUNK / 8)
/* Red zones detect accesses beyond a piece, and poison reads of what is in none yet. */
#define IS_MALLOC (SANITIZED_ADDRESS || SANITIZED_MEMORY)
/* Empty chunks kept: a compaction frees and allocates blocks by turns. */
#define SPARES 4

struct chunk {
	struct chunk *next, *prev; /* chunks of the class with free pieces */
	void *freed;		   /* list of freed pieces */
	size_t fresh;		   /* offset of the pieces never used */
	size_t piece;
	unsigned used, max, class;
	bool stuck;	     /* its pieces could not be moved */
	const void *owner[]; /* of each piece */
};

static struct {
	pthread_mutex_t lock;
	struct chunk *room[CLASSES]; /* lock */
	unsigned nchunks[CLASSES];   /* lock; with room or not */
	size_t lodged[CLASSES];	     /* lock; taken in chunks of others */
	struct chunk *spare[SPARES]; /* lock */
	unsigned nspare;	     /* lock */
	struct chunk *closing;	     /* lock; being emptied, in no list */
	unsigned closing_used;	     /* lock; used pieces at the last call */
	const void *nothing_of; /* lock; owner for whom no chunk was found */
	size_t nothing_at;	/* lock; idle bytes when none was found */
	_Atomic(size_t) idle;	/* written under lock */
} slab = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Has the size memory of its own from the system? */
static bool is_large(size_t size)
{
	return !IS_MALLOC && size >= CHUNK;
}

/* The class of a size, -1 for all others; *piece is the size it gets. */
static int class_of(size_t size, size_t *piece)
{
	size_t base = PIECE_MIN, steps, step;
	int class = 0;

	if (IS_MALLOC || size <= PIECE_MIN || size > PIECE_MAX)
		return -1;
	for (; size > 2 * base; base *= 2)
		class += base < PIECE_SMALL ? STEPS_SMALL : STEPS;
	steps = base < PIECE_SMALL ? STEPS_SMALL : STEPS;
	step = base / steps;
	*piece = (size + step - 1) / step * step;
	return class + (int)((*piece - base) / step) - 1;
}

size_t slab_size(size_t size)
{
	size_t piece = size;

	class_of(size, &piece);
	return piece;
}

static void link_chunk(struct chunk *c)
{
	struct chunk **head = &slab.room[c->class];

	assert(c->used < c->max);
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
	return c->used < c->max;
}

static void count_idle(size_t more, size_t less)
{
	size_t idle = atomic_load_explicit(&slab.idle, memory_order_relaxed);

	assert(idle + more >= less);
	atomic_store_explicit(&slab.idle, idle + more - less,
			      memory_order_relaxed);
}

size_t slab_idle(void)
{
	return atomic_load_explicit(&slab.idle, memory_order_relaxed);
}

/* The offset of the first piece in a chunk of @max pieces. */
static size_t head_of(size_t max)
{
	size_t head = offsetof(struct chunk, owner) + max * sizeof(void *);

	return (head + 63) & ~(size_t)63;
}

static struct chunk *new_chunk(int class, size_t piece)
{
	struct chunk *c;
	size_t n = (CHUNK - head_of(0)) / (piece + sizeof(void *));

	if (head_of(n) + n * piece > CHUNK)
		n--;

	if (slab.nspare) {
		c = slab.spare[--slab.nspare];
	} else {
		c = os_pages(CHUNK);
		if (!c)
			return NULL;
		count_idle(CHUNK, 0);
	}
	memset(c, 0, head_of(n));
	c->fresh = head_of(n);
	c->piece = piece;
	c->max = (unsigned)n;
	c->class = (unsigned)class;
	slab.nchunks[class]++;
	link_chunk(c);
	return c;
}

/*
 * A chunk of the next larger size with free pieces, unless @n pieces would
 * waste too much there.
 */
static struct chunk *larger(int class, size_t piece, size_t n)
{
	for (int up = class + 1; up < CLASSES; up++) {
		struct chunk *c = slab.room[up];

		if (!c)
			continue;
		if (c->piece <= 2 * piece ||
		    slab.lodged[class] + n * c->piece <= LODGED_MAX)
			return c;
		break;
	}
	return NULL;
}

/* A chunk with a free piece for the class; NULL: a new chunk is needed. */
static struct chunk *find_room(int class, size_t piece)
{
	struct chunk *c = slab.room[class], *closing = slab.closing;
	unsigned others = slab.nchunks[class];

	if (c)
		return c;
	if (closing && closing->class != (unsigned)class)
		closing = NULL;
	/* Pieces moved out of a class's only chunk must not return to it. */
	if (closing)
		others--;
	if (!others)
		c = larger(class, piece, 1);
	if (!c && closing) {
		slab.closing = NULL;
		link_chunk(closing);
		c = closing;
	}
	return c;
}

static void *take_piece(struct chunk *c, int class, size_t piece)
{
	void *p = c->freed;

	if (p) {
		c->freed = *(void **)p;
	} else {
		p = (uint8_t *)c + c->fresh;
		c->fresh += c->piece;
	}
	c->used++;
	count_idle(0, piece);
	if (c->class != (unsigned)class)
		slab.lodged[class] += c->piece;
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
		return is_large(size) ? os_pages(size) : malloc(size);
	pthread_mutex_lock(&slab.lock);
	c = find_room(class, piece);
	if (!c)
		c = new_chunk(class, piece);
	p = c ? take_piece(c, class, piece) : NULL;
	pthread_mutex_unlock(&slab.lock);
	return p;
}

static struct chunk *chunk_of(void *p)
{
	return (struct chunk *)((uintptr_t)p & ~(uintptr_t)(CHUNK - 1));
}

static const void **owner_of(struct chunk *c, void *p)
{
	size_t at = (size_t)((uint8_t *)p - (uint8_t *)c) - head_of(c->max);

	return &c->owner[at / c->piece];
}

/* Keeps the empty chunk as a spare, or returns it to be freed. */
static struct chunk *drop_chunk(struct chunk *c)
{
	if (c == slab.closing)
		slab.closing = NULL;
	else
		unlink_chunk(c);
	slab.nchunks[c->class]--;
	if (slab.nspare < SPARES) {
		slab.spare[slab.nspare++] = c;
		return NULL;
	}
	count_idle(0, CHUNK);
	return c;
}

/* Returns memory to the system: malloc() would keep most of it. */
static void give_chunk(struct chunk *c)
{
	if (c)
		os_pages_free(c, CHUNK);
}

void slab_free(void *p, size_t size)
{
	size_t piece = 0;
	int class = class_of(size, &piece);
	struct chunk *c;
	bool full;

	if (!p)
		return;
	if (class < 0) {
		if (is_large(size))
			os_pages_free(p, size);
		else
			free(p);
		return;
	}
	c = chunk_of(p);
	pthread_mutex_lock(&slab.lock);
	full = !has_room(c);
	*owner_of(c, p) = NULL;
	*(void **)p = c->freed;
	c->freed = p;
	c->used--;
	c->stuck = false;
	count_idle(piece, 0);
	if (c->class != (unsigned)class)
		slab.lodged[class] -= c->piece;
	if (full && c != slab.closing)
		link_chunk(c);
	c = c->used ? NULL : drop_chunk(c);
	pthread_mutex_unlock(&slab.lock);
	give_chunk(c);
}

void slab_own(void *p, size_t size, const void *owner)
{
	size_t piece;

	if (class_of(size, &piece) < 0)
		return;
	pthread_mutex_lock(&slab.lock);
	*owner_of(chunk_of(p), p) = owner;
	pthread_mutex_unlock(&slab.lock);
}

static size_t room_in_all(int class)
{
	size_t n = 0;

	for (const struct chunk *c = slab.room[class]; c; c = c->next)
		n += c->max - c->used;
	return n;
}

/* Would the pieces of the chunk fit into others? */
static bool fits_elsewhere(const struct chunk *c, size_t room)
{
	struct chunk *other;

	if (slab.nchunks[c->class] > 1)
		return c->used <= room - (c->max - c->used);
	/* As find_room() chooses. */
	other = larger((int)c->class, c->piece, c->used);
	return other && c->used <= room_in_all((int)other->class);
}

static bool has_owned(const struct chunk *c, const void *owner)
{
	for (unsigned i = 0; i < c->max; i++)
		if (c->owner[i] == owner)
			return true;
	return false;
}

static struct chunk *sparsest(const void *owner)
{
	struct chunk *best = NULL;

	for (int class = 0; class < CLASSES; class ++) {
		size_t room = room_in_all(class);

		for (struct chunk *c = slab.room[class]; c; c = c->next)
			if (!c->stuck && fits_elsewhere(c, room) &&
			    (!best ||
			     c->used * c->piece < best->used * best->piece) &&
			    has_owned(c, owner))
				best = c;
	}
	return best;
}

/* The chunk to empty: the present one, unless its pieces do not move. */
static struct chunk *close_one(const void *owner)
{
	struct chunk *c = slab.closing;
	size_t idle = slab_idle();

	if (c && c->used < slab.closing_used && has_owned(c, owner)) {
		slab.closing_used = c->used;
		return c;
	}
	if (c) {
		c->stuck = true;
		link_chunk(c);
		slab.closing = NULL;
	}
	/* Not all chunks are searched for every new piece. */
	if (owner == slab.nothing_of && idle >= slab.nothing_at &&
	    idle < slab.nothing_at + CHUNK)
		return NULL;
	c = sparsest(owner);
	slab.nothing_of = c ? NULL : owner;
	slab.nothing_at = idle;
	if (c) {
		unlink_chunk(c);
		slab.closing = c;
		slab.closing_used = c->used;
	}
	return c;
}

size_t slab_sparse(const void *owner, void **pieces, size_t max)
{
	struct chunk *c, *spare = NULL;
	size_t n = 0;

	pthread_mutex_lock(&slab.lock);
	/* One spare is kept for alternating use. */
	if (slab.nspare > 1) {
		spare = slab.spare[--slab.nspare];
		count_idle(0, CHUNK);
	}
	c = close_one(owner);
	for (unsigned i = 0; c && i < c->max && n < max; i++)
		if (c->owner[i] == owner)
			pieces[n++] =
				(uint8_t *)c + head_of(c->max) + i * c->piece;
	pthread_mutex_unlock(&slab.lock);
	give_chunk(spare);
	return n;
}
