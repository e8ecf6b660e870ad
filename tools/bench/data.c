#include "tools/bench/data.h"

#include <endian.h>

enum {
	NOISE_LEN = 1 << 16,
	NOISE_PART = 34, /* of a value; half of it, with the stamps */
	FIRST_TS_S = 1700000000,
};

static uint8_t noise[NOISE_LEN + NOISE_PART];

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

void data_init(void)
{
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)mix(i);
}

uint64_t shape_rows(const struct shape *s)
{
	uint64_t per_row = (uint64_t)s->columns * s->versions;

	return (s->cells + per_row - 1) / per_row;
}

/* Eight decimal digits at once: split into halves, pairs, single digits. */
static uint64_t digits(uint32_t n)
{
	uint64_t x = n / 10000 | (uint64_t)(n % 10000) << 32;
	uint64_t hundreds = (x * 5243 >> 19) & 0x0000007f0000007fu;
	uint64_t tens;

	x = hundreds | (x - hundreds * 100) << 16;
	tens = (x * 103 >> 10) & 0x000f000f000f000fu;
	return (tens | (x - tens * 10) << 8) + 0x3030303030303030u;
}

/*
 * Names are made in every measured call, so this must be cheap: it stores
 * words, not bytes, which are also faster to read back.
 */
static size_t put_row(char *to, uint64_t row)
{
	uint64_t head = htole64(digits((uint32_t)(row / 100000000 % 10000)));
	uint64_t tail = htole64(digits((uint32_t)(row % 100000000)));

	memcpy(&head, "user", 4);
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), &tail, sizeof(tail));
	return ROW_LEN;
}

static size_t put_qualifier(char *to, uint32_t column)
{
	size_t len = 3 + column % 6;

	to[0] = (char)('a' + column / 676 % 26);
	to[1] = (char)('a' + column / 26 % 26);
	to[2] = (char)('a' + column % 26);
	memcpy(to + 3, "value", 5);
	return len;
}

void item_name(const struct shape *s, uint64_t i, struct item *out)
{
	uint64_t column = s->versions > 1 ? i / s->versions : i;

	out->number = i;
	out->row_len = put_row(out->row, column / s->columns);
	out->qualifier_len =
		put_qualifier(out->qualifier, (uint32_t)(column % s->columns));
	out->ts = FIRST_TS_S * INT64_C(1000);
	out->ts += (int64_t)(s->versions > 1 ? i % s->versions : i);
}

uint64_t stamp_head(uint64_t number)
{
	return mix(number);
}

static uint64_t stamp_tail(uint64_t number, uint64_t generation)
{
	return mix(~number) + generation;
}

void item_make(const struct shape *s, uint64_t i, uint64_t generation,
	       struct item *out)
{
	static const char text[] = "and so on, and so on, and so on, and so on";
	uint64_t head = stamp_head(i), tail = stamp_tail(i, generation);
	uint8_t *v = out->value;

	_Static_assert(8 + NOISE_PART + sizeof(text) - 1 + 8 <= VALUE_LEN,
		       "the parts fill a value");
	item_name(s, i, out);
	memcpy(v, &head, 8);
	memcpy(v + 8, noise + (head + generation * 64) % NOISE_LEN, NOISE_PART);
	memset(v + 8 + NOISE_PART, '.', VALUE_LEN - 16 - NOISE_PART);
	memcpy(v + 8 + NOISE_PART, text, sizeof(text) - 1);
	memcpy(v + VALUE_LEN - 8, &tail, 8);
}

uint32_t shape_copies(const struct shape *s, uint64_t i)
{
	return s->twice && i / s->columns % s->twice == s->twice / 2 ? 2 : 1;
}

void item_again(const struct shape *s, struct item *it)
{
	it->ts += (int64_t)s->cells;
}

void item_absent_row(struct item *it)
{
	it->row[it->row_len++] = '!';
}

void item_absent_column(struct item *it)
{
	it->qualifier[it->qualifier_len++] = '!';
}

uint64_t data_user_bytes(uint64_t cells)
{
	/* family 1, timestamp 8, qualifiers 5.5 on average */
	return cells * (ROW_LEN + 1 + 8 + VALUE_LEN) + cells * 11 / 2;
}

/* Four rounds of a Feistel network over the smallest even power of two. */
void shuffle_init(struct shuffle *sh, uint64_t n)
{
	unsigned half = 1;

	while (half < 31 && (UINT64_C(1) << (2 * half)) < n)
		half++;
	sh->n = n;
	sh->half = half;
	sh->mask = (UINT64_C(1) << half) - 1;
}

uint64_t shuffle_at(const struct shuffle *sh, uint64_t i)
{
	do {
		uint64_t l = i >> sh->half, r = i & sh->mask;

		for (uint64_t round = 0; round < 4; round++) {
			uint64_t f = (r + round * 977) * 0x9e3779b97f4a7c15u;
			uint64_t x = l ^ ((f >> 32) & sh->mask);

			l = r;
			r = x;
		}
		i = l << sh->half | r;
	} while (i >= sh->n);
	return i;
}

uint64_t rng_below(struct rng *d, uint64_t n)
{
	uint64_t x, low, mid;

	d->state++;
	x = mix(d->state);
	/* The upper half of x * n, also where no type has 128 bits. */
	low = (x & UINT32_MAX) * (n & UINT32_MAX);
	mid = (x >> 32) * (n & UINT32_MAX) + (low >> 32);
	low = (x & UINT32_MAX) * (n >> 32) + (mid & UINT32_MAX);
	return (x >> 32) * (n >> 32) + (mid >> 32) + (low >> 32);
}

void tally_expect(struct tally *t, uint64_t first, uint64_t n, uint64_t step,
		  uint64_t generation)
{
	for (uint64_t i = first; n; i += step, n--) {
		t->cells++;
		t->heads += stamp_head(i);
		t->tails += stamp_tail(i, generation);
	}
}

void tally_shape(struct tally *t, const struct shape *s, uint64_t first,
		 uint64_t n)
{
	for (uint64_t i = first; n && i < s->cells; i++)
		for (uint32_t k = shape_copies(s, i); k && n; k--, n--)
			tally_expect(t, i, 1, 1, 0);
}
