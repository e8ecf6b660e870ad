/* The inventory of a backup as text. */
#include "tests/unit/unit.h"
#include "tools/backup/inventory.h"

static struct inventory_file two[] = {
	{{"CATALOG-0000000000000002", 199, 199, 0}, 0xfa26cf5eae50bf8e},
	{{"wal-0000000000000000.log", 5052, 65536, 0}, 7},
	{{"1.sst", 868, 868, 0x99}, 0},
};
static const struct inventory is = {1, 1795590237164, 3, two};

static struct bytes text_of(struct buf *b)
{
	assert_int_equal(inventory_format(&is, b), 0);
	return buf_bytes(b);
}

TEST(an_inventory_comes_back)
{
	struct buf b = {0};
	struct inventory r;

	assert_int_equal(inventory_parse(text_of(&b), &r), 0);
	assert_int_equal(r.store_id, 1);
	assert_int_equal(r.taken_ms, 1795590237164);
	assert_int_equal(r.nfiles, 3);
	assert_int_equal(inventory_find(&r, "1.sst")->is.sum, 0x99);
	assert_int_equal(r.files[1].is.size, 65536);
	assert_int_equal(r.files[0].hash, 0xfa26cf5eae50bf8e);
	assert_null(inventory_find(&r, "2.sst"));
	inventory_free(&r);
	buf_free(&b);
}

TEST(one_that_is_cut_is_refused)
{
	struct buf b = {0};
	struct bytes text = text_of(&b);
	struct inventory r;

	for (size_t n = 0; n < text.len; n++)
		assert_int_equal(inventory_parse(bytes_of(text.data, n), &r),
				 -EUCLEAN);
	buf_free(&b);
}

TEST(one_with_a_wrong_bit_is_refused)
{
	struct buf b = {0};
	struct bytes text = text_of(&b);
	struct inventory r;

	for (size_t i = 0; i < text.len * 8; i++) {
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(inventory_parse(text, &r), -EUCLEAN);
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	buf_free(&b);
}
