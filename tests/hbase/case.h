/*
 * Conformance cases: what HBase answers to a sequence of calls.
 *
 * A file of cases is JSON: each has a schema, steps, and what every step is
 * to answer or which kind of error. The runner plays HBase's client over a
 * store on a disk in memory with a clock of its own: it refuses what the
 * client refuses, and maps the rest to store.h.
 *
 *	run_cases.c  options, the file, counting	steps.c	 one case
 *	text.c	     JSON to bytes and back		write.c	 mutations
 *	read.c	     get, exists, scan			admin.c	 tables
 *	snapshot.c   snapshots, and tables from them
 *
 * Bytes in JSON: a string is UTF-8; "x:6162" is hex; "i:5" is 8 bytes
 * big-endian; {"rep": ["s", n]} is s n times. Columns: "f:q", or "f" for a
 * whole family. Timestamps: a number, "T0+5", null for the store's clock.
 */
#ifndef CELLFS_TESTS_HBASE_CASE_H
#define CELLFS_TESTS_HBASE_CASE_H

#include <jansson.h>

#include "store/os/os.h"
#include "store/store.h"

/* Kinds of errors; NULL is none. */
#define E_ILLEGAL "IllegalArgument"
#define E_NO_RETRY "DoNotRetryIO"
#define E_NO_FAMILY "NoSuchColumnFamily"
#define E_NO_TABLE "TableNotFound"
#define E_TABLE_EXISTS "TableExists"
#define E_NOT_ENABLED "TableNotEnabled"
#define E_NOT_DISABLED "TableNotDisabled"
#define E_FAMILY_OP "InvalidFamilyOperation"
#define E_OTHER "other"

struct named {
	char name[TABLE_NAME_LEN_MAX + 1];
	struct named *next;
};

struct run {
	struct os
		*os; /* NULL: the store is a cluster, with a clock of its own */
	bool cannot; /* the store said that it cannot do a step */
	struct store *store, *behind; /* what it is a client of, or NULL */
	int64_t t0, now;
	char table[TABLE_NAME_LEN_MAX + 1]; /* the case's own */
	struct named *disabled;
	struct taken *taken; /* snapshot.c */
	int narchived;
	void **memory; /* of the present step */
	size_t nmemory;
	/* The present step's outcome. */
	const char *error; /* its kind */
	json_t *answer;	   /* rendered cells, a bool, or NULL */
	json_t *chunks;
	json_t *record; /* answers are put here, not judged; or NULL */
};

/* Memory until the step ends; never NULL. */
void *step_alloc(struct run *r, size_t n);
void step_release(struct run *r);
/* Sets the kind of error and returns -1. */
int refuse(struct run *r, const char *kind);
/* The same for what the store returned; 0 when it is no error. */
int refuse_errno(struct run *r, int err);

/* What HBase's client says of a row's key: 0 or refused. */
int check_row(struct run *r, struct bytes row);

struct bytes text_bytes(struct run *r, json_t *v);
/* 0 and *out (TS_CLOCK for null), or refused. */
int text_ts(struct run *r, json_t *v, int64_t *out);
struct column_name text_column(struct run *r, json_t *v);
/* "f:q" with what is not printable as %HH. */
json_t *text_render(struct bytes s);
json_t *text_render_column(const struct cell *c);
/* Is what was answered what was expected? Both lists of cells, or a bool. */
bool text_same(struct run *r, json_t *expected, json_t *answer, int nts);

/* The step's table, enabled: a reference, or refused. */
int step_table(struct run *r, json_t *step, struct table **out);
const char *step_table_name(struct run *r, json_t *step);
bool named_has(struct named *list, const char *name);
void named_add(struct named **list, const char *name);
void named_remove(struct named **list, const char *name);
void named_free(struct named **list);
int create_table(struct run *r, const char *name, json_t *families);

/* Each runs a step: 0, or -1 with r->error set. */
int step_put(struct run *r, json_t *step);
int step_delete(struct run *r, json_t *step);
int step_mutate_row(struct run *r, json_t *step);
int step_increment(struct run *r, json_t *step);
int step_append(struct run *r, json_t *step);
int step_check_and_mutate(struct run *r, json_t *step);
int step_get(struct run *r, json_t *step);
int step_exists(struct run *r, json_t *step);
int step_scan(struct run *r, json_t *step);
int step_create(struct run *r, json_t *step);
int step_drop(struct run *r, json_t *step);
int step_disable(struct run *r, json_t *step);
int step_enable(struct run *r, json_t *step);
int step_truncate(struct run *r, json_t *step);
int step_add_family(struct run *r, json_t *step);
int step_modify_family(struct run *r, json_t *step);
int step_delete_family(struct run *r, json_t *step);
int step_create_namespace(struct run *r, json_t *step);
int step_drop_namespace(struct run *r, json_t *step);
int step_snapshot(struct run *r, json_t *step);
int step_clone_snapshot(struct run *r, json_t *step);
int step_restore_snapshot(struct run *r, json_t *step);
int step_delete_snapshot(struct run *r, json_t *step);

/* The table of this name goes on out of sight, for its snapshots. */
int archive_table(struct run *r, const char *name);
/* And one like it takes its place. */
int archive_table_copied(struct run *r, const char *name);
void taken_free(struct run *r);

enum settle {
	SETTLE_NOT,
	SETTLE_FLUSH,
	SETTLE_COMPACT
};

enum outcome {
	CASE_FAILED,
	CASE_PASSED,
	CASE_LEFT_OUT, /* the store cannot do a step of it */
};

/*
 * Runs one case: whether all its steps answered as they must. @served: through
 * a session that serves the store. @path: on a cluster instead, or NULL.
 */
enum outcome case_run(json_t *c, enum settle settle, bool served,
		      const char *path);

/*
 * Runs one on a store of its own, or on a cluster, and tells what was answered:
 * {"t0": MS, "steps": [{"answer": A, "chunks": C} or {"error": KIND, "why": ..}]}.
 * NULL when there was no store.
 */
json_t *case_answers(json_t *c, const char *path);

#endif
