/*
 * What store_shape() tells, as arrays that pictures are made of. All bytes borrow
 * from text. Parts are in the order of table and row, calls of table and minute.
 */
#ifndef CELLFS_TOOLS_SHAPE_SHAPE_H
#define CELLFS_TOOLS_SHAPE_SHAPE_H

#include "store/store.h"

enum {
	CALL_READ,
	CALL_WRITE
};

struct shape_table {
	uint64_t id;
	struct bytes name;
	uint64_t bytes, files, entries, memory;
	double calls[2];
	/* Its own, behind each other in the arrays of struct shape. */
	size_t file, nfiles, part, nparts, call, ncalls;
};

struct shape_file {
	size_t table;
	struct bytes family, row, last;
	uint64_t number, level, bytes, entries;
	int64_t oldest, newest;
};

struct shape_part {
	size_t table;
	struct bytes row;
	uint64_t bytes;
};

struct shape_call {
	size_t table;
	struct bytes row;
	int64_t minute_ms;
	int write;
	double weight;
};

struct shape_day {
	int64_t day;
	uint64_t bytes;
};

struct shape {
	struct buf text;
	int64_t now_ms,
		since_ms; /* since when calls are noted; 0: they are not */
	bool told;	  /* files are */
	uint64_t bytes, files, memory, others;
	struct shape_table *tables; /* the largest first */
	struct shape_file *files_of;
	struct shape_part *parts;
	struct shape_call *calls;
	struct shape_day *days;
	size_t ntables, nfiles, nparts, ncalls, ndays;
	size_t cap[5];
};

/* Asks the store. 0 or a negative errno. shape_free() it however it ends. */
int shape_load(struct store *s, struct shape *out);
/* The same of bytes that are in out->text. */
int shape_read(struct shape *out);
void shape_free(struct shape *s);

#endif
