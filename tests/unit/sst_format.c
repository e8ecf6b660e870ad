/*
 * What lies behind the checksums of a table file's footer, and its properties: a
 * right checksum does not make numbers right.
 */
#include "tests/unit/unit.h"
#include "store/lsm/table/sst_format.h"
#include "store/value/why.h"

enum {
	NUMBER = 7,
	BLOCKS = 5000
};

/* Three sections of these lengths behind the blocks, up to the footer. */
static struct sst_footer a_footer(void)
{
	struct sst_footer f = {.number = NUMBER, .tree = 3};
	uint64_t at = BLOCKS;

	for (int i = 0; i < SST_NSECTIONS; i++) {
		f.section[i] =
			(struct sst_place){.offset = at, .len = 100, .hash = 9};
		at += 100 + SST_TRAILER_LEN;
	}
	f.file_bytes = at + SST_FOOTER_LEN;
	return f;
}

/* Encodes and decodes it: 0, or the error. */
static int back(struct sst_footer f)
{
	uint8_t bytes[SST_FOOTER_LEN];
	struct sst_footer out;
	int r;

	sst_footer_encode(&f, bytes);
	r = sst_footer_decode(bytes, NUMBER, f.file_bytes, &out);
	if (r == 0) {
		assert_int_equal(out.tree, f.tree);
		assert_memory_equal(out.section, f.section, sizeof(f.section));
	}
	return r;
}

static void refused(struct sst_footer f, const char *word)
{
	assert_int_equal(back(f), -EUCLEAN);
	assert_non_null(strstr(store_why(), word));
}

TEST(sections_fill_the_end_of_the_file)
{
	struct sst_footer f = a_footer();

	assert_int_equal(back(f), 0);
	f.section[1].offset++;
	refused(f, "outside");
	f = a_footer();
	f.section[SST_NSECTIONS - 1].len++;
	refused(f, "end");
	f.section[SST_NSECTIONS - 1].len = f.file_bytes;
	refused(f, "outside");
	f.section[SST_NSECTIONS - 1].len = UINT64_MAX - 5;
	refused(f, "outside");
	f = a_footer();
	f.section[0].offset = f.file_bytes + 1;
	refused(f, "outside");
	f = a_footer();
	f.number++;
	refused(f, "checksum");
}

TEST(every_flipped_bit_of_a_footer_is_found)
{
	struct sst_footer f = a_footer(), out;
	uint8_t bytes[SST_FOOTER_LEN];

	sst_footer_encode(&f, bytes);
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(
			sst_footer_decode(bytes, NUMBER, f.file_bytes, &out),
			-EUCLEAN);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void put_number(struct buf *b, size_t index, uint64_t v)
{
	for (size_t i = 0; i < 8; i++)
		b->data[8 * index + i] = (uint8_t)(v >> 8 * i);
}

TEST(properties_are_bounded)
{
	struct sst_info i = {.entries = 5, .rows = 2, .ts_min = -1}, out = {0};
	struct buf b = {0};

	assert_int_equal(buf_set(&i.row_min, bytes_str("a")), 0);
	assert_int_equal(buf_set(&i.row_max, bytes_str("bcd")), 0);
	assert_int_equal(sst_properties_encode(&i, &b), 0);
	assert_int_equal(sst_properties_decode(buf_bytes(&b), &out), 0);
	assert_int_equal(out.entries, 5);
	assert_int_equal(out.ts_min, -1);
	assert_true(bytes_eq(buf_bytes(&out.row_max), bytes_str("bcd")));
	sst_info_free(&out);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(
			sst_properties_decode(bytes_of(b.data, len), &out),
			-EUCLEAN);
	put_number(&b, 8, 2); /* has_ttl */
	assert_int_equal(sst_properties_decode(buf_bytes(&b), &out), -EUCLEAN);
	put_number(&b, 8, 1);
	put_number(&b, 9, ROW_LEN_MAX + 1);
	assert_int_equal(sst_properties_decode(buf_bytes(&b), &out), -EUCLEAN);
	put_number(&b, 9, 0);
	assert_int_equal(sst_properties_decode(buf_bytes(&b), &out), -EUCLEAN);
	put_number(&b, 9, 1);
	put_number(&b, 10, ROW_LEN_MAX + 1);
	assert_int_equal(sst_properties_decode(buf_bytes(&b), &out), -EUCLEAN);
	put_number(&b, 10, 4);
	assert_int_equal(sst_properties_decode(buf_bytes(&b), &out), -EUCLEAN);
	buf_free(&b);
	sst_info_free(&i);
}
