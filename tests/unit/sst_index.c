/* The index of an sstable: in which block a row is. */
#include "tests/unit/unit.h"
#include "store/lsm/table/sst_index.h"

#define NBLOCKS 70
#define LEN 100

enum style {
	SHORT_ROWS,
	ALIKE_AT_FIRST, /* two halves, the heads of each are equal */
	ALL_BITS,	/* heads up to the greatest there is */
	STYLES
};

struct row {
	uint8_t at[NBLOCKS + 2];
	size_t len;
};

static struct bytes row_of(const struct row *r)
{
	return bytes_of(r->at, r->len);
}

static void make_row(enum style style, uint32_t i, struct row *r)
{
	if (style == ALL_BITS) {
		memset(r->at, 0xff, i + 1);
		r->len = i + 1;
		return;
	}
	r->len = (size_t)snprintf((char *)r->at, sizeof(r->at),
				  style == SHORT_ROWS ? "row%05u"
				  : i < NBLOCKS / 3   ? "a-and-so-on-%05u"
						      : "b-and-so-on-%05u",
				  i * 3);
}

static void build(const struct row *rows, uint32_t n, struct buf *section,
		  struct sst_index *x)
{
	const struct index_entry e = {
		.stored_len = LEN, .raw_len = LEN, .nrow = 1};
	struct index_builder b = {0};

	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(
			index_builder_add(&b, &e, row_of(&rows[i]), NULL), 0);
	assert_int_equal(index_builder_finish(&b, section), 0);
	index_builder_release(&b);
	assert_int_equal(index_decode(buf_bytes(section),
				      (uint64_t)n * (LEN + SST_TRAILER_LEN), x),
			 0);
}

static void check_find(const struct sst_index *x, const struct row *rows,
		       struct bytes row)
{
	uint32_t from = 0, behind;
	struct index_spot spot;
	bool equal;

	while (from < x->nblocks && bytes_cmp(row_of(&rows[from]), row) < 0)
		from++;
	behind = from;
	if (from < x->nblocks && bytes_eq(row_of(&rows[from]), row))
		behind++;
	assert_int_equal(index_find(x, row, false), from);
	assert_int_equal(index_find(x, row, true), behind);
	index_near(x, row, &spot);
	assert_int_equal(index_find_equal(x, &spot, &equal), from);
	assert_int_equal(equal, behind > from);
}

TEST(a_row_is_found_as_a_walk_finds_it)
{
	static struct row rows[NBLOCKS];

	for (enum style s = 0; s < STYLES; s++)
		for (uint32_t n = 1; n <= NBLOCKS; n++) {
			struct buf section = {0};
			struct sst_index x;

			for (uint32_t i = 0; i < n; i++)
				make_row(s, i, &rows[i]);
			build(rows, n, &section, &x);
			check_find(&x, rows, bytes_str("a"));
			check_find(&x, rows, bytes_str("z"));
			for (uint32_t i = 0; i < n; i++) {
				struct row r = rows[i];

				check_find(&x, rows, row_of(&r));
				assert_int_equal(index_first_alike(&x, i), i);
				r.at[r.len++] = 0;
				check_find(&x, rows, row_of(&r));
				r.len -= 2;
				check_find(&x, rows, row_of(&r));
				r.at[r.len++] = 0xfe;
				check_find(&x, rows, row_of(&r));
			}
			index_release(&x);
			buf_free(&section);
		}
}

/* One wide row, some blocks of which hold another one too. */
static void build_wide(uint32_t n, uint32_t every, struct buf *section,
		       struct sst_index *x)
{
	struct index_builder b = {0};
	char name[8];

	for (uint32_t i = 0; i < n; i++) {
		const struct index_entry e = {
			.stored_len = LEN,
			.raw_len = LEN,
			.nrow = i % every == every - 1 ? 1 + i % 4 : 1,
			.flags = i ? INDEX_CONTINUES : 0,
		};
		struct entry first = {.kind = CELL_PUT};

		snprintf(name, sizeof(name), "%05u", i);
		first.qualifier = bytes_str(name);
		assert_int_equal(
			index_builder_add(&b, &e, bytes_str("wide"), &first),
			0);
	}
	assert_int_equal(index_builder_finish(&b, section), 0);
	index_builder_release(&b);
	assert_int_equal(index_decode(buf_bytes(section),
				      (uint64_t)n * (LEN + SST_TRAILER_LEN), x),
			 0);
}

TEST(briefs_tell_what_entries_do)
{
	for (uint32_t n = 1; n <= 200; n++)
		for (uint32_t every = 1; every <= 201; every += 10) {
			struct buf section = {0};
			struct sst_index x;
			uint32_t behind = n;

			build_wide(n, every, &section, &x);
			assert_int_equal(index_behind_inner(&x, n), n);
			for (uint32_t i = n; i-- > 0;) {
				const struct index_entry *e = &x.entries[i];

				if (e->nrow != 1 || !index_continues(&x, i))
					behind = i;
				assert_int_equal(index_behind_inner(&x, i),
						 behind);
				assert_int_equal(index_rows_few(&x, i),
						 e->nrow < INDEX_MANY
							 ? e->nrow
							 : INDEX_MANY);
				assert_int_equal(index_suffix_brief(&x, i),
						 e->suffix_len);
			}
			index_release(&x);
			buf_free(&section);
		}
}
