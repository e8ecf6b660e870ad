/*
 * Memory for blocks, from huge pages.
 *
 * A cached block is met again after thousands of others, when the processor
 * has forgotten not only its bytes but also where its pages are; with pages
 * of 4 KiB that second miss costs as much as the first. Blocks therefore lie
 * side by side in chunks of 2 MiB, each a huge page where the kernel gives
 * one:
 *
 *	chunk	│ head │ piece │ piece │ free │ piece │ fresh ...	│
 *
 * The pieces of a chunk have one size, of sixteen steps from each power of two
 * to the next, so that a piece wastes a thirtieth; of four for what is smaller
 * than a page, so that there are few sizes. What is smaller than 256 bytes or
 * larger than an eighth of a chunk comes from malloc(). A size that few ask
 * for takes what is left in chunks of larger pieces. A chunk that is empty is
 * given back.
 *
 * Pieces do not become free by the chunk: a few that stay would keep all of
 * the memory that others have left. So a caller that can move its pieces names
 * them to slab_own(), and empties by slab_sparse() the chunks that hold least.
 *
 * Threads: any may call; one lock, taken where a block is read from disk or
 * leaves the cache.
 */
#ifndef CELLFS_STORE_LSM_BASE_SLAB_H
#define CELLFS_STORE_LSM_BASE_SLAB_H

#include <stddef.h>

#define SLAB_CHUNK ((size_t)2 << 20)

/* NULL = out of memory. Not cleared. */
void *slab_alloc(size_t size);
/* @size is the size that slab_alloc() was given. @p may be NULL. */
void slab_free(void *p, size_t size);

/* Bytes of memory that a piece of @size takes. */
size_t slab_size(size_t size);
/* Bytes of chunks that are not in use. */
size_t slab_idle(void);
/* @p, as it was asked for, is @owner's to move from now on; NULL: nobody's. */
void slab_own(void *p, size_t size, const void *owner);
/*
 * Some of @owner's pieces, @max at most, in the emptiest chunk of which all
 * would fit into others. Until they were freed nothing new is put there. 0:
 * there is none.
 */
size_t slab_sparse(const void *owner, void **pieces, size_t max);

#endif
