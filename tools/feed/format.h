/*
 * The formats of records: a row of a table each (format.c).
 *
 *	csv	a head with the names, and a line for each row (csv.h)
 *	tsv	the same with tabs between the fields
 *	jsonl	an object a line (jsonl.h)
 */
#ifndef CELLFS_TOOLS_FEED_FORMAT_H
#define CELLFS_TOOLS_FEED_FORMAT_H

#include <stdio.h>

#include "tools/feed/record.h"

struct input {
	FILE *file;
	uint64_t line; /* that of the next byte, from 1 on */
	char separator;
	struct record head; /* the names, for formats with a head */
	struct buf text;    /* of a line */
};

struct format {
	const char *name; /* the option's */
	char separator;
	/*
	 * Reads into in->head the names that the fields of all records have,
	 * in that order; NULL: each record has names of its own. 1, 0 at the
	 * end of the file, or an error.
	 */
	int (*head)(struct input *in);
	int (*next)(struct input *in, struct record *out);
	/* Appends the line of a record, and that of its names. */
	int (*write_head)(const struct format *f, const struct record *r,
			  struct buf *out);
	int (*write)(const struct format *f, const struct record *r,
		     struct buf *out);
};

/* NULL: there is none of that name. */
const struct format *format_find(const char *name);
void input_free(struct input *in);

/* The next byte or EOF. */
static inline int input_byte(struct input *in)
{
	int c = getc_unlocked(in->file);

	in->line += c == '\n';
	return c;
}

#endif
