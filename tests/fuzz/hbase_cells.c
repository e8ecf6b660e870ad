/*
 * Any bytes as a block of cells: what is read lies inside and keeps to the
 * limits of the data model, and is written as it was read.
 */
#include <stdlib.h>

#include "store/hbase/cellblock/cellblock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(const uint8_t *from, const uint8_t *to, struct bytes s)
{
	if (s.len && (s.data < from || s.len > (size_t)(to - s.data)))
		abort();
}

static void again(const uint8_t *from, const uint8_t *to, const struct cell *c)
{
	struct change change = {.op = c->kind,
				.family = c->family,
				.qualifier = c->qualifier,
				.ts = c->ts,
				.value = c->value};
	struct buf out = {0};
	struct encoder e = {.out = &out};

	cellblock_put(&e, c->row, &change);
	/*
	 * HBase sends no marker with a value; if there is one, it is lost. Tags
	 * count in the length in front, and stand at the end.
	 */
	if (e.err || (c->kind == CELL_PUT &&
		      ((size_t)(to - from) < out.len ||
		       memcmp(out.data + 4, from + 4, out.len - 4) != 0 ||
		       ((size_t)(to - from) == out.len &&
			memcmp(out.data, from, 4) != 0))))
		abort();
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct decoder d = decoder_of(bytes_of(data, size));
	const uint8_t *from = d.at;
	struct cell c;
	int r;

	while ((r = cellblock_next(&d, &c)) > 0) {
		inside(from, d.at, c.row);
		inside(from, d.at, c.family);
		inside(from, d.at, c.qualifier);
		inside(from, d.at, c.value);
		if (!c.row.len || c.row.len > ROW_LEN_MAX ||
		    c.family.len > FAMILY_LEN_MAX ||
		    c.qualifier.len > QUALIFIER_LEN_MAX || c.ts < 0 ||
		    c.ts > TS_MAX || strcmp(kind_name(c.kind), "unknown") == 0)
			abort();
		again(from, d.at, &c);
		from = d.at;
	}
	if (r < 0 && cellblock_next(&d, &c) != r)
		abort();
	return 0;
}
