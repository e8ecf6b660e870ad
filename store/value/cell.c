#include "store/value/cell.h"

#include <errno.h>

#include "store/value/codec.h"
#include "store/value/why.h"

const char *kind_name(uint8_t kind)
{
	switch (kind) {
	case CELL_PUT:
		return "put";
	case CELL_DELETE:
		return "delete";
	case CELL_DELETE_FAMILY_VERSION:
		return "delete-family-version";
	case CELL_DELETE_COLUMN:
		return "delete-column";
	case CELL_DELETE_FAMILY:
		return "delete-family";
	}
	return "unknown";
}

int kind_parse(struct bytes name)
{
	static const uint8_t kinds[] = {CELL_PUT, CELL_DELETE,
					CELL_DELETE_FAMILY_VERSION,
					CELL_DELETE_COLUMN, CELL_DELETE_FAMILY};

	for (size_t i = 0; i < sizeof(kinds); i++)
		if (bytes_eq(name, bytes_str(kind_name(kinds[i]))))
			return kinds[i];
	return -1;
}

int cell_name_set(struct cell_name *n, const struct cell *c)
{
	struct encoder e = {.out = &n->memory};
	const uint8_t *at;

	n->memory.len = 0;
	put_raw(&e, c->row.data, c->row.len);
	put_raw(&e, c->family.data, c->family.len);
	put_raw(&e, c->qualifier.data, c->qualifier.len);
	if (e.err)
		return e.err;
	at = n->memory.data;
	n->row = bytes_of(at, c->row.len);
	n->family = bytes_of(at + c->row.len, c->family.len);
	n->qualifier =
		bytes_of(n->family.data + c->family.len, c->qualifier.len);
	return 0;
}

int change_count(struct change *c, bool present, struct buf *value)
{
	uint64_t sum = (uint64_t)c->delta;

	if (present && value->len != 8)
		return why(-EINVAL, "the value is %zu bytes, a counter has 8",
			   value->len);
	if (present)
		sum += be64toh(bytes_load64(value->data));
	c->result_int = (int64_t)sum;
	sum = htobe64(sum);
	return buf_set(value, bytes_of(&sum, sizeof(sum)));
}

bool cell_name_is(const struct cell_name *n, const struct cell *c)
{
	return bytes_eq(n->row, c->row) && bytes_eq(n->family, c->family) &&
	       bytes_eq(n->qualifier, c->qualifier);
}

void cell_name_free(struct cell_name *n)
{
	buf_free(&n->memory);
}
