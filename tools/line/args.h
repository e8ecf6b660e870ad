/*
 * Words of a command line as values of the store.
 *
 * Each function returns 0, or an exit code after it has printed the failure.
 * Names are spelled as in the tree and in .cells: %HH stands for any byte, "%"
 * for the empty qualifier.
 */
#ifndef CELLFS_TOOLS_LINE_ARGS_H
#define CELLFS_TOOLS_LINE_ARGS_H

#include "tools/line/request.h"

/* From now on \xHH in names and values is a byte, and %HH is not. */
void args_hbase_escapes(void);
/* Appends a key as it is written on a shell's command line. 0 or -ENOMEM. */
int key_spell(struct bytes key, struct buf *out);
/* Appends a value of the command line. 0 or -ENOMEM. */
int value_read(const char *text, struct buf *out);
int parse_key(const char *text, struct buf *out);
int parse_row(const char *text, struct buf *out); /* not empty */
/*
 * Reads FAMILY[:QUALIFIER] into @hold, where *out points. 0; -EINVAL with a
 * reason; -ENOMEM.
 */
int column_parse(struct bytes text, struct buf *hold, struct column_name *out);
/* Adds FAMILY[:QUALIFIER] to the list, for a reader with a :TYPE perhaps. */
int columns_add(struct columns *c, const char *text, bool reader);
/* As what the list has the values of the cell's column shown; NULL = as bytes. */
const struct typed *columns_type(const struct columns *c,
				 const struct cell *is);
void columns_free(struct columns *c);
int texts_add(struct text_list *l, const char *text);
int parse_ts_arg(const char *text, int64_t *ts);
int parse_count(const char *text, uint64_t max, uint64_t *n);
int parse_within(const char *text, uint64_t min, uint64_t max, uint64_t *n);
int parse_number(const char *text, int64_t *n);
/* A duration such as 90s or 7d; a bare number is milliseconds. */
int parse_ms(const char *text, uint64_t *ms);
/* Reads a whole file; "-" is the standard input. */
int read_file(const char *path, size_t max, struct buf *out);

/* Notes which option says the times; two of them are refused. */
int times_by(struct request *rq, const char *option);
int parse_times(struct request *rq, const char *text);
int parse_columns(struct request *rq, const char *list);
int parse_filter(struct request *rq, const char *text);
/* The parse functions of commands; they complete rq->spec. */
int parse_get(struct request *rq);
int parse_scan(struct request *rq);
int parse_count_rows(struct request *rq);
int check_records(const struct request *rq);
int parse_export(struct request *rq);
int parse_copy(struct request *rq);
int parse_counter(struct request *rq);

int parse_put(struct request *rq);
int parse_append(struct request *rq);
int parse_incr(struct request *rq);
int parse_delete(struct request *rq);
int parse_deleteall(struct request *rq);
int parse_cas(struct request *rq);

/*
 * Changes a->to as the words behind the store and the table and the options say, or
 * replaces it by the text of --schema.
 */
int apply_schema(const struct request *rq, struct alter *a);
int parse_create(struct request *rq);
int parse_alter(struct request *rq);
int parse_import(struct request *rq);

#endif
