/*
 * One row of one family as the reference keeps it: all that was ever done.
 *
 * The history is a list of changes in the order of their sequence numbers.
 * What a reader sees is computed from it by the definition, at every read, and
 * nothing is kept between two reads: slow, and as close to the words of the
 * contract as code can be.
 *
 * With new_version_behavior the history is replayed: a put inserts its version
 * or replaces the one of its timestamp, then versions beyond `versions` leave
 * for good; a marker removes what it covers. Otherwise every marker covers
 * whatever it covers, written before it or after it.
 *
 * A put with a ttl of its own is a loan: while it lives it counts and hides as
 * any other, and its end leaves things as if it had never been written.
 */
#ifndef CELLFS_TESTS_MODEL_REF_ROW_H
#define CELLFS_TESTS_MODEL_REF_ROW_H

#include "store/value/cell.h"
#include "store/value/schema.h"

/* A change; it never changes itself. Freed with the last reference. */
struct ref_change {
	uint32_t refs;
	uint8_t kind; /* enum cell_kind */
	uint64_t seq, ttl_ms;
	int64_t ts;
	struct bytes qualifier, value; /* behind the struct */
};

struct ref_row {
	uint32_t refs;
	struct bytes key; /* behind the struct */
	size_t n, cap;
	struct ref_change **changes; /* by sequence ascending */
	/* With those that a compaction took: for readers of the past. */
	size_t nall, cap_all;
	struct ref_change **all;
};

int ref_row_new(struct bytes key, struct ref_row **out);
void ref_row_ref(struct ref_row *row);
void ref_row_unref(struct ref_row *row); /* NULL is nothing */
int ref_row_add(struct ref_row *row, const struct ref_change *what);
/*
 * Of a new row: the changes of @from that are in @kept, and all for the past.
 */
struct ref_list;
int ref_row_inherit(struct ref_row *row, const struct ref_row *from,
		    const struct ref_list *kept);
/* Takes the last ones back until @n are left. */
void ref_row_cut(struct ref_row *row, size_t n);

/* How a row is looked at. */
struct ref_look {
	const struct family_attrs *attrs;
	int64_t now_ms;
	uint64_t seq_max;	/* changes above it are not there yet */
	int64_t ts_min, ts_max; /* ts_min <= ts < ts_max */
	bool whole;		/* as in struct visible_spec */
	uint32_t versions;	/* newest a column; 0 = all kept */
	bool raw;
	bool has_as_of; /* changes with ts > as_of are not there yet */
	int64_t as_of;
	bool late_markers; /* planted: but markers are */
};

struct ref_list { /* borrows from the row */
	struct ref_change **at;
	size_t n, cap;
};
void ref_list_free(struct ref_list *l);

/* What is visible, in the order of cells. 0 or -ENOMEM. */
int ref_row_visible(const struct ref_row *row, const struct ref_look *look,
		    struct ref_list *out);
/*
 * What a major compaction must leave: every put that some reader, now or
 * later, can still see. Markers go.
 */
int ref_row_kept(const struct ref_row *row, const struct ref_look *look,
		 struct ref_list *out);

#endif
