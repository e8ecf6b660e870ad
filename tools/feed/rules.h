/*
 * Which column a field of a record is.
 *
 * The field --key is the row key. --map FIELD=TARGET says of others where they
 * go: to a column, with a type as in typed.h; to a column of their own name in a
 * family; or, if TARGET is empty, nowhere. FIELD may be *: those that nothing else
 * says anything of. A field with a name as FAMILY:QUALIFIER is that column. All
 * others are refused, so that a mistyped name loses nothing.
 */
#ifndef CELLFS_TOOLS_FEED_RULES_H
#define CELLFS_TOOLS_FEED_RULES_H

#include "tools/line/request.h"

struct rule {
	struct bytes field;
	bool left_out;
	struct column_name to;
	struct buf hold;
	const struct typed *type;
};

struct rules {
	struct bytes key;
	struct rule *list;
	size_t n, cap;
	struct buf hold; /* of the column that was found last */
};

/* Where a field goes. */
struct place {
	bool is_key, left_out;
	struct bytes family, qualifier; /* until the next call */
	const struct typed *type;
};

/* Reads --key and --map: 0, or an exit code after the failure was printed. */
int rules_parse(struct rules *f, const struct request *rq);
/* 0; -EINVAL with a reason; -ENOMEM. */
int rules_find(struct rules *f, struct bytes name, struct place *out);
void rules_free(struct rules *f);

#endif
