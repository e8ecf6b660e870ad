/*
 * Handles: what the kernel's file handle numbers stand for.
 *
 * A number is a type, a generation and an index into a table, never a
 * pointer: one made by opendir is refused by read. The kernel uses a handle
 * only between its open and its release, so a pointer that was got stays good
 * for the length of the request.
 */
#ifndef CELLFS_FS_KERNEL_HANDLE_H
#define CELLFS_FS_KERNEL_HANDLE_H

#include <stdint.h>

struct handles;

enum handle_type {
	HANDLE_LISTING = 1, /* struct listing */
	HANDLE_READER,	    /* struct reader: data, control text; read only */
	HANDLE_WRITER,	    /* struct writer: opened for writing, scratch */
	HANDLE_STREAM,	    /* struct stream: .cells */
	HANDLE_COUNTER,	    /* struct counter */
	HANDLE_SERVED,	    /* struct served_file: .cellfs/store */
};

int handles_new(struct handles **out);
void handles_free(struct handles *hs); /* NULL is nothing */

/* The number, or 0 when memory is out or too many are open. */
uint64_t handles_add(struct handles *hs, enum handle_type type, void *object);
/* The object, or NULL when @fh is no such handle. */
void *handles_get(struct handles *hs, uint64_t fh, enum handle_type type);
/* The same, and the number is free. */
void *handles_remove(struct handles *hs, uint64_t fh, enum handle_type type);
enum handle_type handle_type(uint64_t fh);
uint64_t handles_count(struct handles *hs);
/* Calls @fn for each that is open, under the lock: for the end. */
void handles_each(struct handles *hs, enum handle_type type,
		  void (*fn)(void *arg, void *object), void *arg);

#endif
