#include <xxhash.h>

#include "tests/unit/unit.h"
#include "store/lsm/wal/record.h"
#include "tests/fuzz/record.c"

/* Two rows; every kind; the least and greatest of every number. */
static const struct pending changes[] = {
	{.tree = 1,
	 .entry = {.kind = CELL_PUT,
		   .ts = 1700000000000,
		   .seq = 900,
		   .qualifier = {(const uint8_t *)"name", 4},
		   .value = {(const uint8_t *)"a value", 7}}},
	{.tree = UINT32_MAX,
	 .entry = {.kind = CELL_DELETE_FAMILY, .ts = TS_MAX, .seq = 901}},
	{.tree = 0, .entry = {.kind = CELL_DELETE, .ts = 0, .seq = 902}},
	{.tree = 128,
	 .entry = {.kind = CELL_PUT,
		   .ts = 127,
		   .ttl_ms = UINT64_MAX,
		   .seq = 903}},
	{.tree = 127,
	 .entry = {.kind = CELL_DELETE_COLUMN,
		   .ts = 128,
		   .seq = 904,
		   .qualifier = {(const uint8_t *)"q", 1}}},
	{.tree = 3,
	 .entry = {.kind = CELL_DELETE_FAMILY_VERSION, .ts = 5, .seq = 905}},
};
#define FIRST 4 /* of them in the first row */
#define ALL (sizeof(changes) / sizeof(changes[0]))

static const struct bytes rows[] = {{(const uint8_t *)"row", 3},
				    {(const uint8_t *)"\0", 1}};

static void add_rows(struct buf *b)
{
	assert_int_equal(record_row(b, rows[0], changes, FIRST), 0);
	assert_int_equal(record_row(b, rows[1], changes + FIRST, ALL - FIRST),
			 0);
}

static struct buf sample(void)
{
	struct buf b = {0};

	assert_int_equal(record_start(&b, changes[0].entry.seq), 0);
	add_rows(&b);
	return b;
}

/* The same in a log that is kept. */
static struct buf timed_sample(int64_t time_ms)
{
	struct buf b = {0};

	assert_int_equal(record_start_at(&b, time_ms, changes[0].entry.seq), 0);
	add_rows(&b);
	return b;
}

#define TIME INT64_C(1795626611183)
static const struct bytes outline = {(const uint8_t *)"a catalog", 9};

struct told {
	size_t rows, changes;
	bool wrong;
};

static int see(void *arg, struct bytes row, const struct pending *p, uint32_t n)
{
	struct told *s = arg;

	if (s->rows > 1 || !bytes_eq(row, rows[s->rows]) ||
	    n != (s->rows ? ALL - FIRST : FIRST)) {
		s->wrong = true;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct pending *want = &changes[s->changes++];

		if (p[i].tree != want->tree ||
		    entry_cmp(&p[i].entry, &want->entry) ||
		    p[i].entry.ttl_ms != want->entry.ttl_ms ||
		    !bytes_eq(p[i].entry.value, want->entry.value))
			s->wrong = true;
	}
	s->rows++;
	return 0;
}

TEST(what_was_written_is_read)
{
	struct buf b = sample();
	struct told s = {0};
	uint64_t next;

	assert_int_equal(record_read(buf_bytes(&b), &next, see, &s), 0);
	assert_false(s.wrong);
	assert_int_equal(s.changes, ALL);
	assert_int_equal(next, 906);
	buf_free(&b);
}

/* A change of these bytes is a change of the format. */
TEST(the_bytes_are_the_golden_ones)
{
	struct buf b = sample();

	assert_int_equal(b.len, 81);
	assert_true(XXH3_64bits(b.data, b.len) == 0x37a36e40f0f59cba);
	buf_free(&b);
}

/* Cut between rows it is a record of fewer; elsewhere it is refused. */
TEST(every_cut_is_seen)
{
	struct buf b = sample();
	struct told s;
	uint64_t next;
	int whole = 0;

	for (size_t n = 0; n < b.len; n++) {
		uint8_t *copy = malloc(n ? n : 1);

		/* Of its own size, for the sanitizer. */
		assert_non_null(copy);
		memcpy(copy, b.data, n);
		s = (struct told){0};
		if (record_read(bytes_of(copy, n), &next, see, &s) == 0)
			whole++;
		assert_false(s.wrong);
		free(copy);
	}
	assert_int_equal(whole, 2);
	buf_free(&b);
}

static void flip_all(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++) {
		for (unsigned bit = 0; bit < 9; bit++) {
			uint8_t *copy = malloc(b->len);

			assert_non_null(copy);
			memcpy(copy, b->data, b->len);
			copy[i] ^= bit < 8 ? (uint8_t)(1u << bit) : 0xff;
			LLVMFuzzerTestOneInput(copy, b->len);
			free(copy);
		}
	}
}

TEST(no_flipped_byte_leads_outside)
{
	struct buf b = sample();

	flip_all(&b);
	buf_free(&b);
}

static void refuse(const char *bytes, size_t len)
{
	struct told s = {.rows = 2};
	uint64_t next;

	assert_int_equal(record_read(bytes_of((const uint8_t *)bytes, len),
				     &next, see, &s),
			 -EUCLEAN);
	assert_false(s.wrong);
}

TEST(numbers_have_bounds)
{
	refuse("", 0);
	/* Ten bytes hold 70 bits, 64 of them may be used. */
	refuse("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
	refuse("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	refuse("\x01\x00\x00", 3);	/* an empty row */
	refuse("\x01\x80\x80\x02r", 5); /* a row of 32768 bytes */
	refuse("\x01\x01r\x02\x01\x04\x01\x00\x00", 9); /* one of two */
	refuse("\x01\x01r\x01\x01\x05\x01\x00\x00", 9); /* an odd kind */
}

static struct note note_of(const struct buf *b)
{
	struct note n;

	assert_int_equal(record_note_read(buf_bytes(b), &n), 1);
	return n;
}

TEST(a_note_of_the_time_is_passed_over)
{
	static const int64_t times[] = {0, 1, 127, 128, TIME, INT64_MAX};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct buf b = timed_sample(times[i]);
		struct told s = {0};
		struct note n = note_of(&b);
		uint64_t next;

		assert_int_equal(n.time_ms, times[i]);
		assert_int_equal(n.what, NOTE_TIME);
		assert_int_equal(n.catalog.len, 0);
		assert_int_equal(record_read(buf_bytes(&b), &next, see, &s), 0);
		assert_false(s.wrong);
		assert_int_equal(s.changes, ALL);
		assert_int_equal(next, 906);
		buf_free(&b);
	}
}

TEST(a_record_of_a_log_that_is_not_kept_has_no_note)
{
	struct buf b = sample();
	struct note n;

	assert_int_equal(record_note_read(buf_bytes(&b), &n), 0);
	buf_free(&b);
}

/* A clock before 1970 is no reason to refuse a change. */
TEST(a_time_before_1970_is_1970)
{
	struct buf b = timed_sample(-5);

	assert_int_equal(note_of(&b).time_ms, 0);
	buf_free(&b);
}

static struct buf note_sample(enum note_what what, struct bytes catalog)
{
	struct note n = {TIME, what, catalog};
	struct buf b = {0};

	assert_int_equal(record_note(&b, &n), 0);
	return b;
}

TEST(a_note_of_tables_is_a_record_without_rows)
{
	for (enum note_what w = NOTE_TIME; w <= NOTE_BREAK; w++) {
		struct bytes want =
			w == NOTE_TIME ? (struct bytes){0} : outline;
		struct buf b = note_sample(w, want);
		struct told s = {.rows = 2};
		struct note n = note_of(&b);
		uint64_t next = 7;

		assert_int_equal(n.time_ms, TIME);
		assert_int_equal(n.what, w);
		assert_true(bytes_eq(n.catalog, want));
		assert_int_equal(record_read(buf_bytes(&b), &next, see, &s), 0);
		assert_false(s.wrong);
		assert_int_equal(next, 0);
		buf_free(&b);
	}
}

/* A break for which there was no memory has none. */
TEST(a_note_of_tables_may_be_without_a_catalog)
{
	struct buf b = note_sample(NOTE_BREAK, (struct bytes){0});

	assert_int_equal(note_of(&b).what, NOTE_BREAK);
	assert_int_equal(note_of(&b).catalog.len, 0);
	buf_free(&b);
}

TEST(the_bytes_of_notes_are_the_golden_ones)
{
	static const uint8_t want[] = {0,    0xef, 0xe3, 0xbe, 0x9d, 0xa1,
				       0x34, 1,	   9,	 'a',  ' ',  'c',
				       'a',  't',  'a',	 'l',  'o',  'g'};
	struct buf note = note_sample(NOTE_TABLES, outline);
	struct buf timed = timed_sample(TIME);

	assert_int_equal(note.len, sizeof(want));
	assert_memory_equal(note.data, want, sizeof(want));
	/* No more than the note is in front of the rows. */
	assert_int_equal(timed.len, 81 + 8);
	assert_memory_equal(timed.data, want, 7);
	assert_int_equal(timed.data[7], NOTE_TIME);
	buf_free(&note);
	buf_free(&timed);
}

/* What is read of the first @n bytes of the record, in a copy of their size. */
static int read_cut(const struct buf *b, size_t n, struct note *note,
		    struct told *s)
{
	uint8_t *copy = malloc(n ? n : 1);
	uint64_t next;
	int noted, r;

	assert_non_null(copy);
	memcpy(copy, b->data, n);
	noted = record_note_read(bytes_of(copy, n), note);
	note->catalog.data = NULL;
	*s = (struct told){0};
	r = record_read(bytes_of(copy, n), &next, see, s);
	/* Who reads rows reads the note first. */
	assert_true(noted >= 0 || r == -EUCLEAN);
	assert_false(s->wrong);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
	return r;
}

TEST(every_cut_of_a_note_is_seen)
{
	struct buf timed = timed_sample(TIME);
	struct buf tables = note_sample(NOTE_TABLES, outline);
	struct note n;
	struct told s;
	int whole = 0;

	for (size_t i = 0; i < timed.len; i++)
		whole += read_cut(&timed, i, &n, &s) == 0;
	/* Behind the note, behind the number, and behind the first row. */
	assert_int_equal(whole, 3);
	for (size_t i = 0; i < tables.len; i++)
		assert_int_equal(read_cut(&tables, i, &n, &s), -EUCLEAN);
	assert_int_equal(read_cut(&tables, tables.len, &n, &s), 0);
	assert_int_equal(n.what, NOTE_TABLES);
	buf_free(&timed);
	buf_free(&tables);
}

TEST(no_flipped_byte_of_a_note_leads_outside)
{
	struct buf timed = timed_sample(TIME);
	struct buf tables = note_sample(NOTE_BREAK, outline);

	flip_all(&timed);
	flip_all(&tables);
	buf_free(&timed);
	buf_free(&tables);
}

static void refuse_note(const char *bytes, size_t len)
{
	struct note n;

	refuse(bytes, len);
	assert_int_equal(
		record_note_read(bytes_of((const uint8_t *)bytes, len), &n),
		-EUCLEAN);
}

TEST(notes_have_bounds)
{
	refuse_note("\x00", 1);		    /* no time */
	refuse_note("\x00\x01", 2);	    /* not what */
	refuse_note("\x00\x01\x03\x00", 4); /* an odd one */
	refuse_note("\x00\x01\x01", 3);	    /* a catalog's length */
	refuse_note("\x00\x01\x01\x02.", 5);
	/* A time of 64 bits, a catalog of 2^32 bytes. */
	refuse_note("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 12);
	refuse_note("\x00\x01\x02\x80\x80\x80\x80\x10", 8);
}

/* A record of one row, whose last change has a value of @len bytes. */
static void add_last(struct buf *b, const uint8_t *value, size_t len,
		     struct bytes *tail)
{
	struct pending p[2] = {changes[0], changes[0]};

	p[1].entry.ts--;
	p[1].entry.seq++;
	p[1].entry.value = bytes_of(value, len);
	assert_int_equal(record_start(b, 900), 0);
	assert_int_equal(record_last_row(b, rows[0], p, 2, tail), 0);
	/* It is the same record. */
	if (tail->len) {
		struct buf whole = {0};

		assert_int_equal(record_start(&whole, 900), 0);
		assert_int_equal(record_row(&whole, rows[0], p, 2), 0);
		assert_int_equal(whole.len, b->len + tail->len);
		assert_memory_equal(whole.data, b->data, b->len);
		assert_memory_equal(whole.data + b->len, tail->data, tail->len);
		buf_free(&whole);
	}
}

TEST(a_long_value_at_the_end_is_not_copied)
{
	enum {
		LONG = 10 << 20
	};
	uint8_t *value = malloc(LONG);
	struct bytes tail;
	struct buf b = {0};

	(void)state;
	assert_non_null(value);
	memset(value, 'v', LONG);
	add_last(&b, value, 100, &tail);
	assert_int_equal(tail.len, 0);
	add_last(&b, value, LONG, &tail);
	assert_ptr_equal(tail.data, value);
	assert_int_equal(tail.len, LONG);
	assert_true(b.cap < 4096);
	buf_free(&b);
	free(value);
}
