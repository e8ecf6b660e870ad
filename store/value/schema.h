/*
 * What a table is: its families, their attributes, who may use it.
 *
 * A plain value, copied freely, with one text form: the content of a table's
 * .schema file and what cellctl reads and writes. A line a setting:
 *
 *	families fixed
 *	mode 0755
 *	uid 1000
 *	gid 1000
 *	quota 10GiB
 *
 *	family basic
 *		versions 3
 *		ttl forever
 *
 * Lines may come in any order within their family, '#' starts a comment,
 * blank lines and indentation mean nothing, what is absent has its default.
 * schema_format() writes every attribute (a quota only where there is one),
 * families in byte order, so that two equal schemas have equal texts.
 *
 * A text that changes a table (alter_parse()) may also say
 *
 *	drop family old
 *
 * The attributes and their meaning are HBase's (ColumnFamilyDescriptorBuilder)
 * with cellfs's defaults; ttl is milliseconds inside and "90s", "7d",
 * "forever" in the text. Sizes take KiB, MiB and GiB; versions may be "all". In
 * a family's name blanks, '#' and '%' are written as %20, %23 and %25.
 */
#ifndef CELLFS_STORE_VALUE_SCHEMA_H
#define CELLFS_STORE_VALUE_SCHEMA_H

#include "store/value/cell.h"

#define SCHEMA_FAMILIES_MAX 256
#define SCHEMA_TEXT_MAX (256u << 10)
#define TTL_FOREVER UINT64_MAX

enum keep_deleted {
	KEEP_DELETED_NO,
	KEEP_DELETED_YES,
	KEEP_DELETED_TTL
};
enum compression {
	COMPRESSION_NONE = 0,
	COMPRESSION_ZLIB = 1
};
enum bloom_kind {
	BLOOM_NONE,
	BLOOM_ROW,
	BLOOM_ROWCOL
};

struct family_attrs {
	uint32_t versions;     /* 3; >= 1; UINT32_MAX = all */
	uint32_t min_versions; /* 0; <= versions */
	uint64_t ttl_ms;       /* TTL_FOREVER */
	uint8_t keep_deleted;
	uint8_t compression;	   /* of a block of the lower levels */
	uint8_t bloom;		   /* BLOOM_ROW */
	bool block_cache;	   /* true */
	bool in_memory;		   /* false: its blocks leave the cache last */
	bool new_version_behavior; /* true: a marker hides earlier writes */
	uint32_t block_size;	   /* 16 KiB; 1 KiB .. 16 MiB */
	uint32_t max_value;	   /* bytes; 10 MiB; <= VALUE_LEN_MAX */
};

struct family_schema {
	char name[FAMILY_LEN_MAX + 1]; /* printable, so NUL-terminated */
	struct family_attrs attrs;
};

struct schema {
	bool fixed;    /* undeclared families are refused */
	uint32_t mode; /* permission bits of the table's tree; 0755 */
	uint32_t uid, gid;
	uint64_t quota; /* bytes of the table's files; 0 = none */
	uint32_t nfamilies;
	struct family_schema *families; /* owned, in byte order of name */
};

/* What happens to a family that a change of schema does not mention. */
enum alter_rest {
	ALTER_REFUSE, /* is dropped; -EBUSY if it holds a visible cell */
	ALTER_KEEP,   /* stays if it holds a visible cell, else is dropped */
	ALTER_DROP    /* is dropped with its data */
};

/* A change of a table's schema. */
struct alter {
	struct schema to;
	struct schema drop; /* families to drop; only names are set */
	uint8_t rest;	    /* enum alter_rest: for families in neither */
	bool dry;	    /* only check; change nothing */
	/* Of which table_schema_version() it is made, or of any. */
	bool has_from;
	uint64_t from;
};

/* Sets the quota as the text does. -EINVAL in words. */
int schema_set_quota(struct schema *s, struct bytes value);

void family_attrs_default(struct family_attrs *a);

/*
 * Sets one attribute as the text does: -ENOENT for a word that is none, -EINVAL
 * for a value that is none of it. family_attrs_check() judges the whole.
 */
int family_attr_set(struct family_attrs *a, struct bytes word,
		    struct bytes value);
/* The @i-th attribute, in the order of the text; false after the last. */
struct family_attr {
	const char *word;
	const char *choice; /* the value if it is a word, else NULL */
	uint64_t number;    /* the value if not a word: milliseconds or bytes */
};
bool family_attr_get(const struct family_attrs *a, unsigned i,
		     struct family_attr *out);

/* An open schema without families, owned by @uid, @gid. */
void schema_init(struct schema *s, uint32_t uid, uint32_t gid);
void schema_free(struct schema *s); /* safe on a zeroed one */
int schema_copy(struct schema *to, const struct schema *from);
bool schema_equal(const struct schema *a, const struct schema *b);
bool family_attrs_equal(const struct family_attrs *a,
			const struct family_attrs *b);
/* Is the schema open, and has every family the default attributes? */
bool schema_is_plain(const struct schema *s);

/* schema_find() for any number of families. */
int schema_search(const struct schema *s, struct bytes family);
/* The family's index or -1. */
static inline int schema_find(const struct schema *s, struct bytes family)
{
	const char *name;

	/* Most tables have one family; avoid the cost of strlen(). */
	if (s->nfamilies != 1 || family.len - 1 >= FAMILY_LEN_MAX)
		return schema_search(s, family);
	name = s->families->name;
	if (name[family.len] || !name[family.len - 1])
		return -1;
	return bytes_same((const uint8_t *)name, family.data, family.len) ? 0
									  : -1;
}
/* 0; -EEXIST; -EINVAL for a bad name or attribute; -ENOSPC; -ENOMEM. */
int schema_add(struct schema *s, struct bytes family,
	       const struct family_attrs *attrs);
int schema_remove(struct schema *s, struct bytes family); /* 0, -ENOENT */

/* Check names: 0, -EINVAL or -ENAMETOOLONG, with a sentence for store_why(). */
int family_name_check(struct bytes name);
int table_name_check(struct bytes name);
int namespace_name_check(struct bytes name);
int family_attrs_check(const struct family_attrs *a);
/* The same, and the word of the attribute that is wrong, or NULL. */
int family_attrs_judge(const struct family_attrs *a, const char **word);

/* The word of an attribute that hides more cells than @now, or NULL. */
const char *family_attrs_less(const struct family_attrs *a,
			      const struct family_attrs *now);

/* Appends the text form to @out. 0 or -ENOMEM. */
int schema_format(const struct schema *s, struct buf *out);
/*
 * Reads the text form into @out (initialised by the call). Settings that the
 * text does not name keep @defaults' values where that is not NULL (mode, uid,
 * gid, quota, fixed); without it they are 0755, 0, 0, none and fixed, since who writes a
 * schema means it. 0; -EINVAL with a sentence that names the line; -ENOMEM.
 */
int schema_parse(struct bytes text, const struct schema *defaults,
		 struct schema *out);

/*
 * The same as a change of @now: the families that the text does not name are
 * ALTER_KEEP, lines "drop family F" are taken, and what they name is there
 * unless ALTER_GONE. No empty text is one. Free *out with alter_free().
 */
enum {
	ALTER_GONE = 1,	 /* a family to drop may be absent already */
	ALTER_SPARE = 2, /* what the text leaves unsaid hides no cell */
};
int alter_parse(struct bytes text, const struct schema *now, unsigned flags,
		struct alter *out);
void alter_free(struct alter *a); /* safe on a zeroed one */

/* The binary form, for catalogs. Decode bounds-checks: -EUCLEAN if bad. */
int schema_encode(const struct schema *s, struct buf *out);
int schema_decode(struct bytes in, struct schema *out);

#endif
