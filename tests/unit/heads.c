/* Heads: numbers that compare as the strings do which they begin. */
#include "tests/unit/unit.h"
#include "store/lsm/base/heads.h"

/* Strings of up to ten bytes of these: many are alike, with and without NUL. */
static struct bytes string_of(uint32_t number, uint8_t at[10])
{
	static const uint8_t letters[] = {0, 1, 'a', 0xff};
	size_t len = number % 11;

	number /= 11;
	for (size_t i = 0; i < len; i++, number /= 4)
		at[i] = letters[i + 3 < len ? 2 : number % 4];
	return bytes_of(at, len);
}

#define NSTRINGS (11 * 64)

static int sign(int c)
{
	return (c > 0) - (c < 0);
}

TEST(heads_and_ties_compare_as_the_strings_do)
{
	uint8_t x[10], y[10];

	for (uint32_t i = 0; i < NSTRINGS; i++)
		for (uint32_t k = 0; k < NSTRINGS; k++) {
			struct bytes a = string_of(i, x), b = string_of(k, y);
			uint64_t ha = head_of(a), hb = head_of(b);
			int c = ha == hb ? head_tie(a, b) : ha < hb ? -1 : 1;

			assert_int_equal(sign(bytes_cmp(a, b)), c);
		}
}

TEST(a_head_does_not_look_behind_the_string)
{
	/* Of exact size, so that a sanitizer sees what reads on. */
	for (size_t len = 0; len <= 9; len++) {
		uint8_t *p = malloc(len + !len);

		assert_non_null(p);
		memset(p, 0xff, len + !len);
		assert_int_equal(head_of(bytes_of(p, len)),
				 len == 0   ? 0
				 : len >= 8 ? UINT64_MAX
					    : UINT64_MAX << (64 - 8 * len));
		free(p);
	}
}

TEST(the_first_head_that_is_not_smaller_is_found)
{
	uint64_t heads[20];

	for (uint32_t i = 0; i < 20; i++)
		heads[i] = 10 + i / 2 * 10;
	for (uint32_t n = 0; n <= 20; n++)
		for (uint64_t head = 0; head < 130; head++) {
			uint32_t want = 0;

			while (want < n && heads[want] < head)
				want++;
			assert_int_equal(heads_find(heads, n, head), want);
		}
}
