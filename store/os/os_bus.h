/*
 * Copying out of a file that is mapped.
 *
 * A page of a mapping that cannot be had, because the file was cut short or its
 * disk fails, is SIGBUS to who touches it. bus_copy() says false instead. While
 * somebody watches, the process has a handler of that signal: in a copy it goes
 * back there, for all else it does what was to be done before it came. The last
 * one who stops watching puts that back, unless another handler came on top.
 *
 * Threads: all may watch and copy at once.
 */
#ifndef CELLFS_STORE_OS_OS_BUS_H
#define CELLFS_STORE_OS_OS_BUS_H

#include <stdbool.h>
#include <stddef.h>

/* 0 or a negative errno. Each success needs one bus_unwatch(). */
int bus_watch(void);
void bus_unwatch(void);
/* Only while watching. False: @from is not fully readable, @to undefined. */
bool bus_copy(void *to, const void *from, size_t n);

#endif
