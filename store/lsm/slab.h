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
 * to the next, so that a piece wastes a thirtieth. What is smaller than a page
 * or larger than an eighth of a chunk comes from malloc(). A chunk that is
 * empty is given back.
 *
 * Threads: any may call; one lock, taken where a block is read from disk or
 * leaves the cache.
 */
#ifndef CELLFS_STORE_LSM_SLAB_H
#define CELLFS_STORE_LSM_SLAB_H

#include <stddef.h>

/* NULL = out of memory. Not cleared. */
void *slab_alloc(size_t size);
/* @size as it was asked for. @p NULL is nothing. */
void slab_free(void *p, size_t size);

#endif
