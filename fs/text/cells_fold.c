#include "fs/text/cells_fold.h"

#include <errno.h>
#include <stdlib.h>

/* Compares column, kind and timestamp: <0, 0, >0. */
static int compare(const struct change *a, const struct change *b)
{
	int c = (int)a->op - (int)b->op;

	if (c == 0)
		c = (a->ts > b->ts) - (a->ts < b->ts);
	if (c == 0)
		c = bytes_cmp(a->family, b->family);
	return c ? c : bytes_cmp(a->qualifier, b->qualifier);
}

/* Orders equal changes next to each other, then by line. */
static int by_column(const void *a, const void *b)
{
	const struct change *x = *(struct change *const *)a;
	const struct change *y = *(struct change *const *)b;
	int c = compare(x, y);

	return c ? c : (x > y) - (x < y);
}

/* Joins @same changes into the first; op 0 marks the others for removal. */
static void join(struct change **c, size_t same, struct buf *hold)
{
	uint8_t *start = hold->data + hold->len;

	for (size_t i = 0; i < same; i++) {
		struct bytes v = c[i]->value;

		if (i) {
			/* Wraps around, as in the store. */
			c[0]->delta = (int64_t)((uint64_t)c[0]->delta +
						(uint64_t)c[i]->delta);
			c[i]->op = 0;
		}
		if (c[0]->op == CHANGE_APPEND && v.len) {
			memcpy(hold->data + hold->len, v.data, v.len);
			hold->len += v.len;
		}
	}
	if (c[0]->op == CHANGE_APPEND)
		c[0]->value = bytes_of(
			start, (size_t)(hold->data + hold->len - start));
}

/* @c are the @n > 1 increments and appends of @m. */
static void fold(struct mutation *m, struct change **c, size_t n,
		 struct buf *hold)
{
	size_t kept = 0;

	qsort(c, n, sizeof(struct change *), by_column);
	for (size_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n; same++)
			if (compare(c[i], c[i + same]) != 0)
				break;
		if (same > 1)
			join(c + i, same, hold);
	}
	for (size_t i = 0; i < m->nchanges; i++)
		if (m->changes[i].op)
			m->changes[kept++] = m->changes[i];
	m->nchanges = kept;
}

int cells_fold(struct mutation *m, size_t n, struct buf *hold)
{
	size_t bytes = 0, most = 0, count;
	struct change **c;

	for (size_t i = 0; i < n; i++) {
		count = 0;
		for (size_t k = 0; k < m[i].nchanges; k++)
			if (op_adds(m[i].changes[k].op)) {
				bytes += m[i].changes[k].value.len;
				count++;
			}
		if (count > most)
			most = count;
	}
	if (most < 2)
		return 0;
	hold->len = 0;
	c = malloc(most * sizeof(struct change *));
	if (!c || buf_reserve(hold, bytes + 1) < 0) {
		free(c);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		count = 0;
		for (size_t k = 0; k < m[i].nchanges; k++)
			if (op_adds(m[i].changes[k].op))
				c[count++] = &m[i].changes[k];
		if (count > 1)
			fold(&m[i], c, count, hold);
	}
	free(c);
	return 0;
}
