#include "store/lsm/wal/record.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/why.h"

#define CHANGE_MIN (1 + 1 + 1 + 1 + 1)
/* The largest head of a change: all but its qualifier and value. */
#define CHANGE_MAX (5 + 1 + 10 + 10 + 3 + 5)
#define HAS_TTL 0x80
/* To write a value as long as this from where it is costs less than a copy. */
#define TAIL_MIN (128u << 10)

static uint8_t *record_put(uint8_t *p, uint64_t v)
{
	for (; v > 127; v >>= 7)
		*p++ = (uint8_t)v | 128;
	*p++ = (uint8_t)v;
	return p;
}

static uint8_t *record_put_bytes(uint8_t *p, struct bytes s)
{
	bytes_copy(p, s.data, s.len);
	return p + s.len;
}

int record_start(struct buf *b, uint64_t first_seq)
{
	b->len = 0;
	if (buf_reserve(b, 10) < 0)
		return -ENOMEM;
	b->len = (size_t)(record_put(b->data, first_seq) - b->data);
	return 0;
}

/* Begins the record with a note, of which the catalog is missing. */
static uint8_t *start_note(struct buf *b, int64_t time_ms, enum note_what what,
			   size_t more)
{
	uint8_t *at;

	b->len = 0;
	if (buf_reserve(b, 1 + 10 + 1 + more) < 0)
		return NULL;
	at = record_put(b->data, 0);
	at = record_put(at, (uint64_t)(time_ms > 0 ? time_ms : 0));
	*at++ = (uint8_t)what;
	return at;
}

int record_start_at(struct buf *b, int64_t time_ms, uint64_t first_seq)
{
	uint8_t *at = start_note(b, time_ms, NOTE_TIME, 10);

	if (!at)
		return -ENOMEM;
	b->len = (size_t)(record_put(at, first_seq) - b->data);
	return 0;
}

int record_note(struct buf *b, const struct note *note)
{
	uint8_t *at = start_note(b, note->time_ms, note->what,
				 10 + note->catalog.len);

	if (!at)
		return -ENOMEM;
	if (note->what != NOTE_TIME) {
		at = record_put(at, note->catalog.len);
		at = record_put_bytes(at, note->catalog);
	}
	b->len = (size_t)(at - b->data);
	return 0;
}

/* Puts the row but for the last change's value if @tail is that long. */
static int put_row(struct buf *b, struct bytes row, const struct pending *p,
		   uint32_t n, size_t tail)
{
	size_t need = 3 + row.len + 5 - tail;
	uint8_t *at;

	for (uint32_t i = 0; i < n; i++)
		need += CHANGE_MAX + p[i].entry.qualifier.len +
			p[i].entry.value.len;
	if (buf_reserve(b, need) < 0)
		return -ENOMEM;
	at = b->data + b->len;
	at = record_put(at, row.len);
	at = record_put_bytes(at, row);
	at = record_put(at, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct entry *e = &p[i].entry;

		at = record_put(at, p[i].tree);
		*at++ = e->kind | (e->ttl_ms ? HAS_TTL : 0);
		at = record_put(at, (uint64_t)e->ts);
		if (e->ttl_ms)
			at = record_put(at, e->ttl_ms);
		at = record_put(at, e->qualifier.len);
		at = record_put(at, e->value.len);
		at = record_put_bytes(at, e->qualifier);
		if (i + 1 < n || !tail)
			at = record_put_bytes(at, e->value);
	}
	b->len = (size_t)(at - b->data);
	return 0;
}

int record_row(struct buf *b, struct bytes row, const struct pending *p,
	       uint32_t n)
{
	return put_row(b, row, p, n, 0);
}

int record_last_row(struct buf *b, struct bytes row, const struct pending *p,
		    uint32_t n, struct bytes *tail)
{
	struct bytes last = p[n - 1].entry.value;

	*tail = last.len >= TAIL_MIN ? last : (struct bytes){0};
	return put_row(b, row, p, n, tail->len);
}

struct reader {
	const uint8_t *at, *end;
	bool bad;
};

/* Reads a number; one greater than @max marks the reader as bad. */
static uint64_t get(struct reader *r, uint64_t max)
{
	unsigned shift = 0;
	uint64_t v = 0;
	uint8_t b;

	do {
		if (r->at == r->end || shift > 63 ||
		    (shift == 63 && *r->at > 1)) {
			r->bad = true;
			return 0;
		}
		b = *r->at++;
		v |= (uint64_t)(b & 127) << shift;
		shift += 7;
	} while (b & 128);
	if (v > max)
		r->bad = true;
	return r->bad ? 0 : v;
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
	uint8_t kind;

	*e = (struct entry){.seq = seq};
	p->tree = (uint32_t)get(r, UINT32_MAX);
	if (r->at == r->end) {
		r->bad = true;
		return;
	}
	kind = *r->at++;
	e->kind = kind & ~HAS_TTL;
	e->ts = (int64_t)get(r, TS_MAX);
	e->ttl_ms = kind & HAS_TTL ? get(r, UINT64_MAX) : 0;
	qualifier = get(r, QUALIFIER_LEN_MAX);
	value = get(r, VALUE_LEN_MAX);
	e->qualifier = get_bytes(r, qualifier);
	e->value = get_bytes(r, value);
	if (!kind_known(e->kind))
		r->bad = true;
}

/* Reads the number that a record begins with, and the note if that is 0. */
static uint64_t get_start(struct reader *r, struct note *note)
{
	uint64_t first = get(r, UINT64_MAX);

	*note = (struct note){.time_ms = -1};
	if (first || r->bad)
		return first;
	note->time_ms = (int64_t)get(r, INT64_MAX);
	note->what = (enum note_what)get(r, NOTE_BREAK);
	if (note->what != NOTE_TIME)
		note->catalog = get_bytes(r, get(r, UINT32_MAX));
	return r->at < r->end ? get(r, UINT64_MAX) : 0;
}

static int malformed(struct bytes record)
{
	return why(-EUCLEAN, "a log record of %zu bytes is malformed",
		   record.len);
}

int record_note_read(struct bytes record, struct note *out)
{
	struct reader in = {record.data, record.data + record.len, false};

	(void)get_start(&in, out);
	if (in.bad)
		return malformed(record);
	return out->time_ms >= 0;
}

int record_read(struct bytes record, uint64_t *next_seq,
		int (*each)(void *arg, struct bytes row,
			    const struct pending *p, uint32_t n),
		void *arg)
{
	struct reader in = {record.data, record.data + record.len, false};
	struct pending *p = NULL;
	size_t cap = 0;
	struct note note;
	uint64_t seq = get_start(&in, &note);
	int r = 0;

	while (r == 0 && !in.bad && in.at < in.end) {
		struct bytes row = get_bytes(&in, get(&in, ROW_LEN_MAX));
		uint64_t n = get(&in, UINT32_MAX);

		if (in.bad || !row.len ||
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
	return in.bad ? malformed(record) : r;
}
