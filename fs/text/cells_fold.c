#include "fs/text/cells_fold.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Of one mutation: the changes of columns that are looked at, and the deletes of
 * whole families and of the row.
 */
struct fold {
	struct change **c, **marks;
	size_t n, nmarks;
	struct buf *hold;
	struct buf count; /* of one counter */
};

static bool is_mark(const struct change *c)
{
	return c->ts == TS_AUTO &&
	       (c->op == CHANGE_DELETE_FAMILY || c->op == CHANGE_DELETE_ROW);
}

/* What a sum may begin with that comes behind it in the same mutation. */
static bool is_begin(const struct change *c)
{
	return c->ts == TS_AUTO &&
	       (c->op == CHANGE_PUT || c->op == CHANGE_DELETE_COLUMN);
}

/* Compares column and timestamp: <0, 0, >0. */
static int compare(const struct change *a, const struct change *b)
{
	int c = (a->ts > b->ts) - (a->ts < b->ts);

	return c ? c : change_cmp_column(a, b);
}

/* Orders changes of one column next to each other, then by line. */
static int by_column(const void *a, const void *b)
{
	const struct change *x = *(struct change *const *)a;
	const struct change *y = *(struct change *const *)b;
	int c = compare(x, y);

	return c ? c : (x > y) - (x < y);
}

/* The deletes of families by family, then by line; those of the row have none. */
static int by_family(const void *a, const void *b)
{
	const struct change *x = *(struct change *const *)a;
	const struct change *y = *(struct change *const *)b;
	int c = bytes_cmp(x->family, y->family);

	return c ? c : (x > y) - (x < y);
}

/* The last delete of @family before @c, or NULL. */
static struct change *mark_before(const struct fold *f, struct bytes family,
				  const struct change *c)
{
	size_t low = 0, high = f->nmarks;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = bytes_cmp(f->marks[mid]->family, family);

		if (order < 0 || (order == 0 && f->marks[mid] < c))
			low = mid + 1;
		else
			high = mid;
	}
	return low && bytes_eq(f->marks[low - 1]->family, family)
		       ? f->marks[low - 1]
		       : NULL;
}

/* Where @c begins: the last of @base and of the deletes around its column. */
static struct change *begin_of(const struct fold *f, struct change *base,
			       const struct change *c)
{
	struct change *marks[] = {
		mark_before(f, c->family, c),
		mark_before(f, (struct bytes){0}, c),
	};

	for (size_t i = 0; c->ts == TS_AUTO && i < 2; i++)
		if (marks[i] && (!base || marks[i] > base))
			base = marks[i];
	return base;
}

/* Gives @c the value of @v behind its own, in the room that there is for all. */
static void extend(struct fold *f, struct change *c, struct bytes v)
{
	struct buf *hold = f->hold;
	uint8_t *end = hold->data + hold->len;

	if (!c->value.len || c->value.data + c->value.len != end) {
		if (c->value.len)
			memcpy(end, c->value.data, c->value.len);
		hold->len += c->value.len;
		c->value = bytes_of(end, c->value.len);
	}
	if (v.len)
		memcpy(hold->data + hold->len, v.data, v.len);
	hold->len += v.len;
	c->value.len += v.len;
}

/* Makes @to a put of the counter that @c adds to: of @to itself, if @present. */
static int count(struct fold *f, struct change *to, struct change *c,
		 bool present)
{
	int r = present ? buf_set(&f->count, to->value) : 0;

	if (r == 0)
		r = change_count(c, present, &f->count);
	if (r < 0)
		return r;
	to->op = CHANGE_PUT;
	to->delta = 0;
	to->value = (struct bytes){0};
	extend(f, to, buf_bytes(&f->count));
	return 0;
}

/* Applies @c, which adds, to its beginning @base. *left: it stays, as the next one. */
static int apply(struct fold *f, struct change *base, struct change *c,
		 bool *left)
{
	bool sum = c->op == CHANGE_INCREMENT;
	int r = 0;

	*left = !base || (op_adds(base->op) && base->op != c->op);
	if (*left)
		return 0;
	if (!op_writes(base->op)) {
		*left = true;
		r = sum ? count(f, c, c, false) : 0;
		c->op = CHANGE_PUT;
		return r;
	}
	if (base->op == CHANGE_PUT && sum)
		r = count(f, base, c, true);
	else if (sum) /* wraps around, as in the store */
		base->delta =
			(int64_t)((uint64_t)base->delta + (uint64_t)c->delta);
	else
		extend(f, base, c->value);
	if (c->ttl_ms)
		base->ttl_ms = c->ttl_ms;
	c->op = 0;
	return r;
}

/* Op 0 marks what is removed. */
static int fold(struct mutation *m, struct fold *f)
{
	struct change *base = NULL;
	size_t kept = 0;
	bool left;
	int r = 0;

	qsort(f->c, f->n, sizeof(struct change *), by_column);
	qsort(f->marks, f->nmarks, sizeof(struct change *), by_family);
	for (size_t i = 0; r == 0 && i < f->n; i++) {
		struct change *c = f->c[i];

		if (i && compare(f->c[i - 1], c) != 0)
			base = NULL;
		if (!op_adds(c->op)) {
			base = c;
			continue;
		}
		base = begin_of(f, base, c);
		r = apply(f, base, c, &left);
		if (left)
			base = c;
	}
	for (size_t i = 0; i < m->nchanges; i++)
		if (m->changes[i].op)
			m->changes[kept++] = m->changes[i];
	m->nchanges = kept;
	return r;
}

/* Sorts out what there is to fold. */
static void gather(struct mutation *m, struct fold *f)
{
	f->n = f->nmarks = 0;
	for (size_t i = 0; i < m->nchanges; i++) {
		struct change *c = &m->changes[i];

		if (op_adds(c->op) || is_begin(c))
			f->c[f->n++] = c;
		else if (is_mark(c))
			f->marks[f->nmarks++] = c;
	}
}

/* Has the mutation anything to fold? *bytes grows by what new values may take. */
static bool adds(const struct mutation *m, size_t *bytes)
{
	bool any = false;
	size_t sum = 0;

	for (size_t i = 0; i < m->nchanges; i++) {
		any |= op_adds(m->changes[i].op);
		sum += op_writes(m->changes[i].op) ? m->changes[i].value.len + 8
						   : 0;
	}
	*bytes += any ? sum : 0;
	return any && m->nchanges > 1;
}

int cells_fold(struct mutation *m, size_t n, struct buf *hold, size_t *at)
{
	struct fold f = {.hold = hold};
	size_t bytes = 0, most = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		if (adds(&m[i], &bytes) && m[i].nchanges > most)
			most = m[i].nchanges;
	if (!most)
		return 0;
	hold->len = 0;
	f.c = malloc(most * sizeof(struct change *));
	f.marks = malloc(most * sizeof(struct change *));
	if (!f.c || !f.marks || buf_reserve(hold, bytes + 1) < 0)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		size_t none = 0;

		if (!adds(&m[i], &none))
			continue;
		gather(&m[i], &f);
		r = fold(&m[i], &f);
		*at = i;
	}
	free(f.c);
	free(f.marks);
	buf_free(&f.count);
	return r;
}
