/*
 * A kernel that asks a mount: requests are sent one after the other through
 * libfuse, which has no device. There is one mount at a time, over the store of
 * the model tests or over one on disk.
 */
#ifndef CELLFS_TESTS_UNIT_KERNEL_H
#define CELLFS_TESTS_UNIT_KERNEL_H

#include <fcntl.h>
#include <linux/fuse.h>

#include "tests/unit/unit.h"
#include "tests/unit/change.h"
#include "fs/ops/fs_life.h"
#include "fs/ops/ops.h"

struct world {
	struct options options;
	struct store *store;
	struct fs *fs;
	struct fuse_session *session;
	int ends[2];
	uint64_t unique;
	uint32_t pid; /* of who asks */
};
extern struct world world;

/* How the request that is out was answered, and whether its reply is taken. */
struct answer {
	uint64_t unique;
	unsigned count;
	int error;
	bool refused;
	_Alignas(8) uint8_t data[1 << 17];
	size_t len;
};
extern struct answer answer;

/* For EACH_TEST_IN() and TEST_IN(). */
int world_set_up(void **state);
int world_set_up_on_disk(void **state);
int world_tear_down(void **state);
/* The same by hand, over a store that is open: world_end() closes it. */
void world_begin(struct store *s);
void world_end(void);
/* How many nodes there are. */
uint64_t world_nodes(void);

/*
 * Sends a request: the struct behind the header, then names or data. 0 or the
 * negative errno of its reply.
 */
int ask(uint32_t opcode, uint64_t node, struct bytes args, struct bytes rest);
#define ARGS(x) bytes_of(&(x), sizeof(x))
#define NOTHING bytes_of(NULL, 0)
struct bytes name_of(const char *name);
/* The node that the last reply gave, or 0. */
uint64_t given(void);

int look(uint64_t dir, const char *name);
int make_dir(uint64_t dir, const char *name);
int make_file(uint64_t dir, const char *name);
int create(uint64_t dir, const char *name);
int rename_in(uint64_t dir, const char *from, const char *to);
void forget(uint64_t node);
/* Into a file that is open, at its beginning. */
int write_byte(uint64_t node, uint64_t handle);
/* Behind what it has, as a descriptor with O_APPEND does. */
int append_byte(uint64_t node, uint64_t handle);

/* What close(2) answers. */
int flush_file(uint64_t node, uint64_t handle);

/* The file is opened to be read, and closed. Is it read past the kernel's cache? */
bool is_read_past_cache(uint64_t node);
/* They succeed, and give the handle of a file that is opened; nothing; a size. */
uint64_t opened_file(uint64_t node, uint32_t flags);
void closed_file(uint64_t node, uint64_t handle);
uint64_t size_of(uint64_t dir, const char *name);

/* They succeed, and give a node. */
uint64_t made_dir(uint64_t dir, const char *name);
uint64_t looked_up(uint64_t dir, const char *name);
/* The row P of table T holds a cell, and the kernel knows both. @table may be NULL. */
uint64_t a_row_with_a_cell(uint64_t *table);
/* The same: the directory of its column, f/q. */
uint64_t a_column_with_a_cell(void);
/* Somebody else takes all cells of a row of T, of which the kernel hears nothing. */
void empty_row(const char *row);

/*
 * From now on the mount tells the kernel what is another: notices are words, such
 * as "entry 1 T", "inode 5" (its attributes), "pages 5" (its data too), in the
 * order in which they come. notices() takes those that there are.
 */
void world_hears(void);
/* Takes each notice in place of that, on any thread; NULL: nobody does. */
extern void (*on_notice)(int code, const uint8_t *data, size_t len);
/* The kernel has not made use yet of replies that bring it what notices are about. */
extern bool notices_come_early;
const char *notices(void);

/* Sets what @valid says, of attributes that are all 0. */
int set_attr(uint64_t node, uint32_t valid);
/* A read of three bytes at @off gives these. */
void assert_reads(uint64_t node, uint64_t handle, uint64_t off,
		  const char *want);
/* .cellfs/errors ends with a line that has this in it. */
void assert_told(const char *text);
/* The name is absent, may be believed so for @seconds, and is in the trace. */
void assert_absent(uint64_t dir, const char *name, uint64_t seconds);
/* The kernel has the node once, and gives it back. */
void assert_given_once(uint64_t node);
/* A request that failed has left no name, entry, scratch file or node. */
void assert_nothing_is_left(uint64_t dir, const char *name, uint64_t entries,
			    uint64_t live);

#endif
