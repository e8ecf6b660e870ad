#include "store/hbase/backend/scan_row.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/array.h"
#include "store/value/codec.h"
#include "store/value/why.h"

void scan_row_begin(struct scan_row *r)
{
	r->bytes.len = 0;
	r->n = 0;
}

struct bytes scan_row_name(const struct scan_row *r)
{
	return bytes_of(r->bytes.data, r->n ? r->cells[0].row.len : 0);
}

/* Where the bytes are is set in the end, for they move meanwhile. */
int scan_row_add(struct scan_row *r, const struct cell *c)
{
	struct encoder e = {.out = &r->bytes};

	if (ARRAY_RESERVE(r->cells, r->cap, r->n + 1) < 0)
		return why(-ENOMEM, "out of memory for a row");
	r->cells[r->n++] = *c;
	put_raw(&e, c->row.data, c->row.len);
	put_raw(&e, c->family.data, c->family.len);
	put_raw(&e, c->qualifier.data, c->qualifier.len);
	if (c->value.data)
		put_raw(&e, c->value.data, c->value.len);
	return e.err ? why(-ENOMEM, "out of memory for a row") : 0;
}

static void set_addresses(struct scan_row *r)
{
	const uint8_t *at = r->bytes.data;

	for (size_t i = 0; i < r->n; i++) {
		struct cell *c = &r->cells[i];
		struct bytes *parts[] = {&c->row, &c->family, &c->qualifier,
					 &c->value};

		for (size_t k = 0; k < 4; k++)
			if (k < 3 || c->value.data) {
				parts[k]->data = at;
				at += parts[k]->len;
			}
	}
}

/* Markers of a family go before its cells; else the order stays. */
static void put_markers_first(struct scan_row *r)
{
	for (size_t i = 1; i < r->n; i++) {
		struct cell c = r->cells[i];
		size_t k = i;

		if (!kind_is_family_marker(c.kind))
			continue;
		while (k > 0 && bytes_eq(r->cells[k - 1].family, c.family) &&
		       !kind_is_family_marker(r->cells[k - 1].kind)) {
			r->cells[k] = r->cells[k - 1];
			k--;
		}
		r->cells[k] = c;
	}
}

void scan_row_end(struct scan_row *r, bool raw)
{
	set_addresses(r);
	if (raw)
		put_markers_first(r);
}

void scan_row_free(struct scan_row *r)
{
	buf_free(&r->bytes);
	free(r->cells);
}
