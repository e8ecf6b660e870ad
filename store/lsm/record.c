#include "store/lsm/record.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "store/why.h"

#define CHANGE_MIN (4 + 1 + 1 + 8 + 2 + 4)

static uint8_t *put16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, 2);
	return p + 2;
}

static uint8_t *put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, 4);
	return p + 4;
}

static uint8_t *put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, 8);
	return p + 8;
}

static uint8_t *put_bytes(uint8_t *p, struct bytes s)
{
	if (s.len)
		memcpy(p, s.data, s.len);
	return p + s.len;
}

int record_start(struct buf *b, uint64_t first_seq)
{
	b->len = 0;
	if (buf_reserve(b, 8) < 0)
		return -ENOMEM;
	put64(b->data, first_seq);
	b->len = 8;
	return 0;
}

int record_row(struct buf *b, struct bytes row, const struct pending *p,
	       uint32_t n)
{
	size_t need = 2 + row.len + 4;
	uint8_t *at;

	for (uint32_t i = 0; i < n; i++)
		need += CHANGE_MIN + 8 + p[i].entry.qualifier.len +
			p[i].entry.value.len;
	if (buf_reserve(b, need) < 0)
		return -ENOMEM;
	at = b->data + b->len;
	at = put16(at, (uint16_t)row.len);
	at = put_bytes(at, row);
	at = put32(at, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct entry *e = &p[i].entry;

		at = put32(at, p[i].tree);
		*at++ = e->kind;
		*at++ = e->ttl_ms != 0;
		at = put64(at, (uint64_t)e->ts);
		if (e->ttl_ms)
			at = put64(at, e->ttl_ms);
		at = put16(at, (uint16_t)e->qualifier.len);
		at = put32(at, (uint32_t)e->value.len);
		at = put_bytes(at, e->qualifier);
		at = put_bytes(at, e->value);
	}
	b->len = (size_t)(at - b->data);
	return 0;
}

/* -- reading: every length is checked against what is left ------------------
 */

struct reader {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t get(struct reader *r, size_t n)
{
	uint64_t v = 0;

	if (n > (size_t)(r->end - r->at)) {
		r->bad = true;
		return 0;
	}
	memcpy(&v, r->at, n);
	r->at += n;
	return le64toh(v);
}

static struct bytes get_bytes(struct reader *r, size_t n)
{
	struct bytes s = {r->at, n};

	if (n > (size_t)(r->end - r->at)) {
		r->bad = true;
		return (struct bytes){0};
	}
	r->at += n;
	return s;
}

static bool kind_known(uint8_t kind)
{
	return kind == CELL_PUT || kind == CELL_DELETE ||
	       kind == CELL_DELETE_COLUMN || kind_is_family_marker(kind);
}

static void get_change(struct reader *r, struct pending *p, uint64_t seq)
{
	struct entry *e = &p->entry;
	size_t qualifier, value;
	uint8_t flags;

	p->tree = (uint32_t)get(r, 4);
	e->kind = (uint8_t)get(r, 1);
	flags = (uint8_t)get(r, 1);
	e->ts = (int64_t)get(r, 8);
	e->ttl_ms = flags & 1 ? get(r, 8) : 0;
	qualifier = get(r, 2);
	value = get(r, 4);
	e->qualifier = get_bytes(r, qualifier);
	e->value = get_bytes(r, value);
	e->seq = seq;
	if (!kind_known(e->kind) || flags > 1 || e->ts < 0 || e->ts > TS_MAX)
		r->bad = true;
}

int record_read(struct bytes record, uint64_t *next_seq,
		int (*each)(void *arg, struct bytes row,
			    const struct pending *p, uint32_t n),
		void *arg)
{
	struct reader in = {record.data, record.data + record.len, false};
	struct pending *p = NULL;
	size_t cap = 0;
	uint64_t seq = get(&in, 8);
	int r = 0;

	while (r == 0 && !in.bad && in.at < in.end) {
		struct bytes row = get_bytes(&in, get(&in, 2));
		uint64_t n = get(&in, 4);

		if (in.bad || !row.len || row.len > ROW_LEN_MAX ||
		    n > (size_t)(in.end - in.at) / CHANGE_MIN) {
			in.bad = true;
			break;
		}
		if (n > cap) {
			struct pending *more = realloc(p, n * sizeof(*p));

			if (!more) {
				r = -ENOMEM;
				break;
			}
			p = more;
			cap = n;
		}
		for (uint64_t i = 0; i < n; i++)
			get_change(&in, &p[i], seq++);
		if (!in.bad)
			r = each(arg, row, p, (uint32_t)n);
	}
	free(p);
	*next_seq = seq;
	if (in.bad)
		r = why(-EUCLEAN, "a log record of %zu bytes is malformed",
			record.len);
	return r;
}
