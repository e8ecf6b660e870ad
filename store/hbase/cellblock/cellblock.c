#include "store/hbase/cellblock/cellblock.h"

#include <errno.h>
#include <inttypes.h>

#include "store/value/why.h"

/* What a key has beside row, family and qualifier. */
#define KEY_FIXED (2 + 1 + 8 + 1)
/* The lengths of key and value. */
#define LENGTHS 8

void cellblock_put(struct encoder *e, struct bytes row, const struct change *c)
{
	const uint64_t delta = htobe64((uint64_t)c->delta);
	size_t key = KEY_FIXED + row.len + c->family.len + c->qualifier.len;
	struct bytes value = {0};

	assert(c->op != CHANGE_DELETE_ROW && c->ts != TS_AUTO);
	assert(row.len <= ROW_LEN_MAX && c->family.len <= FAMILY_LEN_MAX);
	if (c->op == CHANGE_INCREMENT)
		value = bytes_of(&delta, sizeof(delta));
	else if (c->op == CHANGE_PUT || c->op == CHANGE_APPEND)
		value = c->value;
	put_be(e, LENGTHS + key + value.len, 4);
	put_be(e, key, 4);
	put_be(e, value.len, 4);
	put_be(e, row.len, 2);
	put_raw(e, row.data, row.len);
	put_u8(e, (uint8_t)c->family.len);
	put_raw(e, c->family.data, c->family.len);
	put_raw(e, c->qualifier.data, c->qualifier.len);
	put_be(e, (uint64_t)(c->ts == TS_CLOCK ? CELLBLOCK_TS_SERVER : c->ts),
	       8);
	put_u8(e, op_adds(c->op) ? CELL_PUT : c->op);
	put_raw(e, value.data, value.len);
}

static bool take_key(struct decoder *d, struct cell *c)
{
	size_t left;

	c->row = take_raw(d, (size_t)take_be(d, 2));
	c->family = take_raw(d, take_u8(d));
	left = decoder_left(d);
	if (d->bad || left < 8 + 1)
		return false;
	c->qualifier = take_raw(d, left - 8 - 1);
	c->ts = (int64_t)take_be(d, 8);
	c->kind = take_u8(d);
	return true;
}

/* HBase's types of tags. Those of a server's own work are of no copy. */
enum {
	TAG_LOG_REPLAY = 3,
	TAG_MOB_REFERENCE = 5,
	TAG_MOB_TABLE = 6,
	TAG_TTL = 8
};

static bool take_tag(struct decoder *d, struct cell *c)
{
	struct decoder tag = decoder_of(take_raw(d, (size_t)take_be(d, 2)));
	uint8_t type = take_u8(&tag);

	switch (type) {
	case TAG_TTL:
		if (decoder_left(&tag) == 8)
			c->ttl_ms = take_be(&tag, 8);
		break;
	case TAG_LOG_REPLAY:
	case TAG_MOB_REFERENCE:
	case TAG_MOB_TABLE:
		break;
	default:
		c->has_labels = true;
	}
	return !d->bad && !tag.bad;
}

/* What stands behind the value. */
static bool take_tags(struct decoder *d, struct cell *c)
{
	uint64_t len;

	if (!decoder_left(d))
		return true;
	len = take_be(d, 2);
	if (d->bad || len != decoder_left(d))
		return false;
	while (decoder_left(d))
		if (!take_tag(d, c))
			return false;
	return true;
}

static const char ts_fault[] = "has a timestamp out of range";

/* So much of a key is said. */
#define SAID_MAX 80

static int said(struct bytes key)
{
	return (int)(key.len < SAID_MAX ? key.len : SAID_MAX);
}

/* HBase takes timestamps at the end of time that are none here. */
static int why_ts(const struct cell *c)
{
	return why(-EPROTO,
		   "row %.*s has a cell of %.*s:%.*s at %" PRId64 ", and the "
		   "last timestamp here is %" PRId64
		   ": delete it by HBase's shell",
		   said(c->row), (const char *)c->row.data, (int)c->family.len,
		   (const char *)c->family.data, said(c->qualifier),
		   (const char *)c->qualifier.data, c->ts, (int64_t)TS_MAX);
}

/* What is wrong with the next cell, NULL = it is in *c. */
static const char *take_cell(struct decoder *d, struct cell *c)
{
	struct decoder rest = decoder_of(take_raw(d, (size_t)take_be(d, 4)));
	size_t key = (size_t)take_be(&rest, 4);
	size_t value = (size_t)take_be(&rest, 4);
	struct decoder in_key = decoder_of(take_raw(&rest, key));

	if (d->bad)
		return "is cut off";
	if (rest.bad || value > decoder_left(&rest))
		return "has lengths that do not make up its own";
	if (!take_key(&in_key, c))
		return "has a key that is too short for its parts";
	c->value = take_raw(&rest, value);
	if (!take_tags(&rest, c))
		return "has tags whose lengths do not make up their own";
	if (!c->row.len || c->row.len > ROW_LEN_MAX)
		return "has a row of no length, or of too much";
	if (c->family.len > FAMILY_LEN_MAX)
		return "has a family that is too long";
	if (c->qualifier.len > QUALIFIER_LEN_MAX)
		return "has a qualifier that is too long";
	if (c->value.len > VALUE_LEN_MAX)
		return "has a value that is too long";
	if (c->ts < 0 || c->ts > TS_MAX)
		return ts_fault;
	if (!kind_is_stored(c->kind))
		return "is of an unknown kind";
	return NULL;
}

int cellblock_next(struct decoder *block, struct cell *out)
{
	size_t left = decoder_left(block);
	struct cell c = {0};
	const char *fault;

	if (!left && !block->bad)
		return 0;
	fault = take_cell(block, &c);
	if (fault) {
		block->bad = true;
		if (fault == ts_fault)
			return why_ts(&c);
		return why(-EPROTO,
			   "a cell, %zu bytes before the end of its "
			   "block, %s",
			   left, fault);
	}
	*out = c;
	return 1;
}
