/*
 * Memory for blocks, from huge pages.
 *
 * A cached block is used again after thousands of others, when the processor's
 * caches have neither its bytes nor the addresses of its pages; with pages of 4
 * KiB that second miss costs as much as the first. Blocks are therefore
 * allocated in chunks of 2 MiB, each a huge page if the kernel gives one:
 *
 *	chunk	│ head │ piece │ piece │ free │ piece │ fresh ...	│
 *
 * The pieces of a chunk have one size, of sixteen steps from each power of two
 * to the next, so that a piece wastes a thirtieth; of four for sizes below a
 * page, so that there are few sizes. Sizes below 256 bytes or above an eighth
 * of a chunk are allocated by malloc(), those of a chunk or more by the system: in
 * huge pages too, since the page faults of a value of 10 MiB take longer than to
 * read it. A rare size uses free pieces in chunks of larger ones. An empty chunk
 * is freed.
 *
 * Pieces are not freed chunk by chunk: a few that remain would keep a whole
 * chunk allocated. So a caller that can move its pieces registers them by
 * slab_own(), and empties the sparsest chunks by slab_sparse().
 *
 * Threads: any may call; one lock, taken when a block is read from disk or
 * evicted.
 */
#ifndef CELLFS_STORE_LSM_BASE_SLAB_H
#define CELLFS_STORE_LSM_BASE_SLAB_H

#include <stddef.h>

#define SLAB_CHUNK ((size_t)2 << 20)

/* NULL without memory. Not zeroed. */
void *slab_alloc(size_t size);
/* @size is the size that slab_alloc() was given. @p may be NULL. */
void slab_free(void *p, size_t size);

/* Bytes of memory that a piece of @size takes. */
size_t slab_size(size_t size);
/* Bytes of chunks that are not in use. */
size_t slab_idle(void);
/* From now on @owner may move @p, which has size @size; NULL: nobody may. */
void slab_own(void *p, size_t size, const void *owner);
/*
 * Some of @owner's pieces, @max at most, in the sparsest chunk whose pieces
 * would all fit into others. Until they are freed, nothing is allocated there.
 * 0: there is none.
 */
size_t slab_sparse(const void *owner, void **pieces, size_t max);

#endif
