/*
 * What killtest's writers do, and how its files share it.
 *
 *	kill_ops.c	what a writer does: operation i of writer w
 *	kill_check.c	what of it must be in a mount
 *	killtest.c	daemons, kills and power cuts
 *
 * Everything that an operation does follows from the seed and from (w, i). Its
 * state is in memory that all processes share.
 */
#ifndef CELLFS_TESTS_MOUNT_KILLTEST_H
#define CELLFS_TESTS_MOUNT_KILLTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WRITERS 8
#define OPS_MAX 200000
#define VALUE_MAX (200 * 1024)
#define COLUMNS 5
#define TS_BASE 1000000
#define SLOTS 8 /* rows that are put whole, again and again */

enum op_kind {
	OP_VERSION,  /* a new version by its timestamp */
	OP_LATEST,   /* a new version by `latest` */
	OP_ROW,	     /* a new row by F:Q */
	OP_REPLACE,  /* the same version again */
	OP_MOVE,     /* a scratch file renamed to a timestamp */
	OP_REMOVE,   /* the OP_VERSION that came five operations before */
	OP_APPEND,   /* the operation's number, to a value */
	OP_COUNTER,  /* one more */
	OP_STREAM,   /* a row of three columns, by .cells of the table */
	OP_STAGE,    /* the same by .stage */
	OP_RARE,     /* what follows, else OP_REPLACE */
	OP_SNAPSHOT, /* a snapshot, and the one before it goes */
	OP_ALTER,    /* the schema of the writer's own table */
	OP_FLUSH,
	OP_COMPACT,
	OP_KINDS,
};
/* Each kind up to OP_RARE comes once in so many operations. */
#define WHEEL (OP_RARE + 1)

enum op_state {
	OP_NONE,
	OP_BEGUN,
	OP_CLOSED, /* every call has returned, but none has synced */
	OP_ACKED   /* what is promised holds: it is there from now on */
};

/* Shared with the parent. The writer alone stores; the parent reads. */
struct writer {
	uint32_t n; /* operations begun */
	int error;  /* errno of the call that ended it */
	bool early; /* and that was before the kill */
	uint8_t state[OPS_MAX];
};

/* All of a run that its files know. */
struct run {
	uint64_t seed;
	const char *point;	/* where operations and checks look */
	struct writer *writers; /* shared */
	bool *killing;		/* shared: the signal is about to be sent */
	bool *quiet;		/* shared: nobody syncs */
	bool power; /* only what was synced is OP_ACKED, and some of it is */
	bool sync;  /* the mount syncs each change by itself */
	/* What is checked: the writers, or a copy as of a power cut. */
	struct writer *judged;
	uint32_t since[WRITERS]; /* older operations are checked now and then */
	unsigned turn;
	bool all;		/* but now all of them */
	uint64_t checked, lost; /* lost: OP_CLOSED, and not there */
};
extern struct run run;

/* Ends the test, and takes the mounts away. */
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

uint64_t mix(uint64_t x);
enum op_kind op_kind(unsigned w, uint32_t i);
uint32_t op_column(uint32_t i);
uint32_t op_slot(uint32_t i);
uint64_t value_id(unsigned w, uint32_t i);
/* Of OP_VERSION, OP_MOVE, OP_ROW, OP_REPLACE, OP_LATEST and OP_APPEND. */
void op_path(unsigned w, uint32_t i, char *path, size_t size);
/* Begins with its id; a few are long enough for several writes. */
size_t make_value(uint64_t id, uint8_t *out);
/* 0 when every call up to close(2) has succeeded. */
int put_file(const char *path, int flags, const void *data, size_t len);
/* What process @w does until a call fails. */
void write_on(unsigned w);

/* The length, or -1 with errno; into @out. */
ssize_t read_file(const char *path, uint8_t *out, size_t size);
/* All that run.judged says of writer @w is in the mount, or the test ends. */
void check_writer(unsigned w);

#endif
