/*
 * Reads a log record of arbitrary bytes: every row and change that is handed
 * out lies inside it, and is written again as a record that reads the same.
 */
#include <stdlib.h>

#include "store/lsm/wal/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct bytes record;
	struct buf *again; /* NULL: only look */
	uint64_t changes;
};

static void inside(struct bytes record, struct bytes s)
{
	if (s.len && (s.data < record.data ||
		      s.len > (size_t)(record.data + record.len - s.data)))
		abort();
}

static int take(void *arg, struct bytes row, const struct pending *p,
		uint32_t n)
{
	struct seen *s = arg;

	inside(s->record, row);
	for (uint32_t i = 0; i < n; i++) {
		const struct entry *e = &p[i].entry;

		inside(s->record, e->qualifier);
		inside(s->record, e->value);
		if (e->ts < 0 || e->ts > TS_MAX || e->kind > CELL_DELETE_FAMILY)
			abort();
	}
	s->changes += n;
	return s->again ? record_row(s->again, row, p, n) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf one = {0}, two = {0};
	struct seen s = {.record = {data, size}, .again = &one};
	uint64_t next, next_again;
	struct note note;

	if (record_note_read(s.record, &note) > 0) {
		inside(s.record, note.catalog);
		if (note.time_ms < 0 || note.what > NOTE_BREAK)
			abort();
	}
	if (record_start(&one, 1) < 0)
		return 0;
	if (record_read(s.record, &next, take, &s) < 0)
		goto out;
	/* Numbers may be written longer than need be: the second is canon. */
	s = (struct seen){.record = buf_bytes(&one), .again = &two};
	if (record_start(&two, 1) < 0)
		goto out;
	if (record_read(s.record, &next_again, take, &s) < 0 ||
	    next_again != s.changes + 1 ||
	    !bytes_eq(buf_bytes(&one), buf_bytes(&two)))
		abort();
out:
	buf_free(&one);
	buf_free(&two);
	return 0;
}
