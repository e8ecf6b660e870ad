/*
 * The fields of a request or a reply: what the letters of ops.h are in memory
 * and as bytes. One walk does both directions, so the ends cannot disagree.
 */
#ifndef CELLFS_STORE_REMOTE_FIELDS_H
#define CELLFS_STORE_REMOTE_FIELDS_H

#include "store/front/snapshot_tables.h"
#include "store/hold.h"
#include "store/remote/ops.h"
#include "store/store.h"
#include "store/value/codec.h"

struct field {
	uint64_t n;	/* 1 4 8 i b, handles; M G: how many */
	struct bytes s; /* s k r; q: the filter's text; borrowed */
	union {
		char name[TABLE_NAME_LEN_MAX + 1]; /* n */
		struct schema schema;		   /* c */
		struct mutation *rows;		   /* m M g G */
		struct scan_spec spec;		   /* q, without its snapshot */
		struct cell cell;		   /* v; bytes are borrowed */
		struct snapshot_tables tables;	   /* l */
		struct alter alter;		   /* a */
		struct table_info info;		   /* I */
		struct store_space space;	   /* p */
		struct store_checking checking;	   /* C, without its total */
		struct hold *hold;		   /* h */
		void *object; /* the server's: what a handle is of */
	};
};

static inline struct field field_number(uint64_t n)
{
	return (struct field){.n = n};
}

static inline struct field field_bytes(struct bytes s)
{
	return (struct field){.s = s};
}

#define FIELDS(...) ((struct field[FIELDS_MAX]){__VA_ARGS__})

/* Appends the fields that @letters say. */
void put_fields(struct encoder *e, const char *letters, struct field *fields);
/*
 * Reads as many into @fields, which are zeroed but for the mutations that g and
 * G are of; with G no more than @n. They must be given to fields_free() however
 * it ends, and borrow from @d. d->bad tells whether one is invalid. 0, -ENOMEM.
 */
int take_fields(struct decoder *d, const char *letters, struct field *fields);
/* Frees what take_fields() allocated, or what was set in its place. */
void fields_free(const char *letters, struct field *fields);

#endif
