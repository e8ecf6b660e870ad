/*
 * Any bytes as a block are refused, or make a block in which every row and
 * column is found where it is.
 */
#include <stdlib.h>

#include "store/lsm/block/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool ok)
{
	if (!ok)
		abort();
}

static void check_row(const struct block *b, uint32_t row)
{
	struct bytes suffix = block_suffix(b, row);
	uint32_t from = block_row_cell(b, row);
	uint32_t to = block_row_cell(b, row + 1);
	struct buf key = {0};

	if (buf_append(&key, b->prefix.data, b->prefix.len) ||
	    buf_append(&key, suffix.data, suffix.len))
		abort();
	expect(key.len <= b->row_len_max);
	expect(block_row_cmp(b, row, buf_bytes(&key)) == 0);
	expect(block_find_row(b, buf_bytes(&key), false) == row);
	expect(block_find_row(b, buf_bytes(&key), true) == row + 1);
	buf_free(&key);
	for (uint32_t i = from; i < to; i++) {
		struct entry e, last;
		uint32_t found;

		block_entry(b, i, &e);
		expect(e.ts >= b->ts_min && e.ts <= b->ts_max);
		expect(e.value.len == 0 ||
		       e.value.data + e.value.len <= b->raw + b->raw_len);
		if (i > from) {
			block_entry(b, i - 1, &last);
			expect(entry_cmp(&last, &e) < 0);
		}
		found = block_find_column(b, from, to, e.qualifier, e.ts);
		if (kind_is_family_marker(e.kind))
			expect(found > i);
		else
			expect(found <= i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct block *b;
	uint32_t nrow;

	if (size < 4)
		return 0;
	nrow = (uint32_t)data[0] | (uint32_t)data[1] << 8 |
	       (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
	if (block_new(size, nrow, false, &b))
		return 0;
	memcpy(b->raw, data, size);
	if (block_decode(b) == 0)
		for (uint32_t i = 0; i < b->nrow; i++)
			check_row(b, i);
	block_free(b);
	return 0;
}
