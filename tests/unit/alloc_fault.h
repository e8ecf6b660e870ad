/*
 * Memory that cannot be had: of the calls of malloc(3) and its kin that the
 * linked objects make, on this thread, the n-th from alloc_arm() on fails. Those of
 * the simulated disk are not counted. Link with alloc_wraps of tests/meson.build.
 */
#ifndef CELLFS_TESTS_UNIT_ALLOC_FAULT_H
#define CELLFS_TESTS_UNIT_ALLOC_FAULT_H

#include <stdint.h>

#include "store/value/bytes.h"

/* @nth from 1 on, and the @more after it. */
void alloc_arm(uint64_t nth, uint64_t more);
/* None fails any more; how many have. */
uint64_t alloc_disarm(void);
/* Makes @b one of a byte that has room for @room more, and the next to grow fails. */
void alloc_arm_room(struct buf *b, size_t room);

#endif
