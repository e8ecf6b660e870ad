#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xxhash.h>

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

static struct buf sample(void)
{
	struct buf b = {0};

	assert_int_equal(record_start(&b, changes[0].entry.seq), 0);
	assert_int_equal(record_row(&b, rows[0], changes, FIRST), 0);
	assert_int_equal(record_row(&b, rows[1], changes + FIRST, ALL - FIRST),
			 0);
	return b;
}

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

static void what_was_written_is_read(void **state)
{
	struct buf b = sample();
	struct told s = {0};
	uint64_t next;

	(void)state;
	assert_int_equal(record_read(buf_bytes(&b), &next, see, &s), 0);
	assert_false(s.wrong);
	assert_int_equal(s.changes, ALL);
	assert_int_equal(next, 906);
	buf_free(&b);
}

/* A change of these bytes is a change of the format. */
static void the_bytes_are_the_golden_ones(void **state)
{
	struct buf b = sample();

	(void)state;
	assert_int_equal(b.len, 81);
	assert_true(XXH3_64bits(b.data, b.len) == 0x37a36e40f0f59cba);
	buf_free(&b);
}

/* Cut between rows it is a record of fewer; elsewhere it is refused. */
static void every_cut_is_seen(void **state)
{
	struct buf b = sample();
	struct told s;
	uint64_t next;
	int whole = 0;

	(void)state;
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

static void no_flipped_byte_leads_outside(void **state)
{
	struct buf b = sample();

	(void)state;
	for (size_t i = 0; i < b.len; i++) {
		for (unsigned bit = 0; bit < 9; bit++) {
			uint8_t *copy = malloc(b.len);

			assert_non_null(copy);
			memcpy(copy, b.data, b.len);
			copy[i] ^= bit < 8 ? (uint8_t)(1u << bit) : 0xff;
			LLVMFuzzerTestOneInput(copy, b.len);
			free(copy);
		}
	}
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

static void numbers_have_bounds(void **state)
{
	(void)state;
	refuse("", 0);
	/* Ten bytes hold 70 bits, 64 of them may be used. */
	refuse("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
	refuse("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	refuse("\x01\x00\x00", 3);	/* an empty row */
	refuse("\x01\x80\x80\x02r", 5); /* a row of 32768 bytes */
	refuse("\x01\x01r\x02\x01\x04\x01\x00\x00", 9); /* one of two */
	refuse("\x01\x01r\x01\x01\x05\x01\x00\x00", 9); /* an odd kind */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(the_bytes_are_the_golden_ones),
		cmocka_unit_test(every_cut_is_seen),
		cmocka_unit_test(no_flipped_byte_leads_outside),
		cmocka_unit_test(numbers_have_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
