/*
 * Which markers of a mutation are sent.
 *
 * A server with new_version_behavior keeps, of all changes of one moment, one
 * marker of a family and one of a column that hide everything up to a time: the
 * last one that it meets, which is the one of the lowest time. A marker of a
 * column takes there the place of that of its family, and with it that of the
 * markers of versions that the server has met by then, of whatever moment. So
 *
 *	of several of one family	the one of the greatest time is sent
 *	of a column			the same, unless its family's hides as much;
 *					beside one of its family that hides less it
 *					cannot be sent
 *
 * In the classic order, all are.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/hbase/backend/inside.h"

static bool is_wide(const struct change *c)
{
	return c->op == CHANGE_DELETE_FAMILY || c->op == CHANGE_DELETE_COLUMN;
}

/* By family, the family's own first, then by column; the greatest time first. */
static int compare(const void *pa, const void *pb)
{
	const struct change *a = *(struct change *const *)pa;
	const struct change *b = *(struct change *const *)pb;
	int order = bytes_cmp(a->family, b->family);

	if (order == 0 && a->op != b->op)
		order = a->op == CHANGE_DELETE_FAMILY ? -1 : 1;
	if (order == 0 && a->op == CHANGE_DELETE_COLUMN)
		order = bytes_cmp(a->qualifier, b->qualifier);
	if (order == 0 && a->ts != b->ts)
		order = a->ts > b->ts ? -1 : 1;
	return order;
}

static int cannot(const struct change *family, const struct change *column)
{
	return why(-EOPNOTSUPP,
		   "HBase cannot delete family %.*s up to %" PRId64
		   " and a column of it up to %" PRId64
		   " in one mutation: make two of it",
		   (int)family->family.len, (const char *)family->family.data,
		   family->ts, column->ts);
}

/* Clears the op of those that say nothing new, of the sorted ones. */
static int clear(struct table *t, struct change **wide, size_t n)
{
	const struct change *family = NULL, *column = NULL;
	struct family_attrs attrs = {0};

	for (size_t i = 0; i < n; i++) {
		struct change *c = wide[i];

		if (i == 0 || !bytes_eq(c->family, wide[i - 1]->family)) {
			int r = hbase_family(t, c->family, &attrs);

			if (r < 0)
				return r;
			family = column = NULL;
		}
		if (!attrs.new_version_behavior)
			continue;
		if (c->op == CHANGE_DELETE_FAMILY) {
			if (family)
				c->op = MARKER_CLEARED;
			else
				family = c;
			continue;
		}
		if ((column && bytes_eq(column->qualifier, c->qualifier)) ||
		    (family && family->ts >= c->ts))
			c->op = MARKER_CLEARED;
		else if (family)
			return cannot(family, c);
		else
			column = c;
	}
	return 0;
}

int hbase_clear_markers(struct table *t, struct change *changes, size_t n)
{
	struct change **wide = malloc((n + 1) * sizeof(*wide));
	size_t nwide = 0;
	int r = 0;

	if (!wide)
		return why(-ENOMEM, "out of memory for changes");
	for (size_t i = 0; i < n; i++)
		if (is_wide(&changes[i]))
			wide[nwide++] = &changes[i];
	if (nwide > 1) {
		qsort(wide, nwide, sizeof(*wide), compare);
		r = clear(t, wide, nwide);
	}
	free(wide);
	return r;
}
