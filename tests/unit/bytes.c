#include <unistd.h>

#include "tests/unit/unit.h"
#include "store/lsm/base/cursor.h"
#include "store/value/bytes.h"
#include "store/value/cell.h"
#include "tests/unit/smaps.h"
#include "store/value/quote.h"
#include "store/value/utf8.h"

TEST(prefix_sorts_before_longer)
{
	assert_true(bytes_cmp(bytes_str("a"), bytes_str("ab")) < 0);
	assert_true(bytes_cmp(bytes_str("ab"), bytes_str("b")) < 0);
	assert_true(bytes_cmp(bytes_str("\xff"), bytes_str("a")) > 0);
	assert_true(bytes_cmp(bytes_of("a\0", 2), bytes_str("a")) > 0);
	assert_int_equal(bytes_cmp(bytes_str(""), bytes_of(NULL, 0)), 0);
}

/* Which ends with three dots if not all of it is there. */
static bool is_cut(const char *quoted)
{
	size_t n = strlen(quoted);

	assert_in_range(n, 2, sizeof(struct quoted) - 1);
	assert_int_equal(quoted[0], '\'');
	return !strcmp(quoted + n - 4, "'...");
}

TEST(a_key_is_quoted_as_far_as_there_is_room)
{
	uint8_t plain[200], control[200];
	struct quoted q;

	assert_string_equal(quote(&q, bytes_of("a\0'\\~\x7f", 6)),
			    "'a\\x00\\x27\\x5c~\\x7f'");
	memset(plain, 'k', sizeof(plain));
	memset(control, '\n', sizeof(control));
	for (size_t n = 4; n < sizeof(plain); n++) {
		assert_int_equal(is_cut(quote(&q, bytes_of(plain, n))), n > 87);
		assert_int_equal(is_cut(quote(&q, bytes_of(control, n))),
				 n > 22);
	}
}

/* Each length has its own way to be compared: one difference at each place. */
TEST(bytes_compare_as_memcmp_does_whatever_their_length)
{
	uint8_t a[40], b[40];

	for (size_t n = 1; n < sizeof(a); n++) {
		memset(a, 0x80, sizeof(a));
		memset(b, 0x80, sizeof(b));
		a[n] = 1; /* behind the end */
		assert_int_equal(bytes_cmp(bytes_of(a, n), bytes_of(b, n)), 0);
		for (size_t at = 0; at < n; at++) {
			a[at] = 0x7f;
			/* What comes behind speaks for the other. */
			if (at + 1 < n)
				a[at + 1] = 0xff;
			assert_true(bytes_cmp(bytes_of(a, n), bytes_of(b, n)) <
				    0);
			assert_true(bytes_cmp(bytes_of(b, n), bytes_of(a, n)) >
				    0);
			assert_true(bytes_cmp(bytes_of(a, n), bytes_of(b, at)) >
				    0);
			a[at] = 0x80;
			if (at + 1 < n)
				a[at + 1] = 0x80;
		}
	}
}

TEST(copies_touch_nothing_beside_them)
{
	uint8_t from[40], to[42];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i + 1);
	for (size_t n = 0; n <= sizeof(from); n++) {
		memset(to, 0xee, sizeof(to));
		bytes_copy(to + 1, from, n);
		assert_int_equal(to[0], 0xee);
		assert_memory_equal(to + 1, from, n);
		assert_int_equal(to[n + 1], 0xee);
	}
	bytes_copy(to, NULL, 0);
}

TEST(buffer_grows_and_refuses_overflow)
{
	struct buf b = {0};

	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_append(&b, "0123456789", 10), 0);
	assert_int_equal(b.len, 10000);
	assert_int_equal(b.data[9999], '9');
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -ENOMEM);
	assert_int_equal(b.len, 10000);
	buf_free(&b);
	assert_null(b.data);
}

static unsigned pieces_freed;

static void piece_freed(struct piece *p)
{
	pieces_freed++;
}

TEST(a_shared_piece_is_not_written_and_freed_once)
{
	static const char text[] = "in a piece";
	struct piece p = {.refs = 1, .free = piece_freed};
	struct shared_buf s;

	shared_open(&s);
	assert_true(buf_is_open(&s.buf));
	assert_int_equal(buf_append(&s.buf, "own", 3), 0);
	assert_false(buf_is_open(&s.buf));
	shared_free(&s);
	shared_open(&s);
	buf_share(&s.buf, bytes_str(text), &p);
	assert_ptr_equal(s.buf.data, text);
	piece_drop(&p);
	assert_int_equal(shared_own(&s), 0);
	assert_int_equal(pieces_freed, 1);
	assert_int_equal(buf_append(&s.buf, "!", 1), 0);
	assert_true(bytes_eq(buf_bytes(&s.buf), bytes_str("in a piece!")));
	assert_string_equal(text, "in a piece");
	shared_free(&s);
}

TEST(a_large_buffer_is_in_huge_pages_and_a_small_one_not)
{
	enum {
		LARGE = 10 << 20,
		SMALL = 1 << 20
	};
	struct buf large = {0}, small = {0};
	char flags[512];

	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) < 0)
		skip();
	assert_int_equal(buf_reserve(&large, LARGE), 0);
	assert_int_equal(buf_reserve(&small, SMALL), 0);
	if (!flags_at(large.data + LARGE / 2, flags, sizeof(flags)))
		skip(); /* an emulator tells no flags */
	assert_non_null(strstr(flags, " hg"));
	/* All of it: what differs in that is copied when the buffer grows. */
	assert_true(flags_at(large.data, flags, sizeof(flags)));
	assert_non_null(strstr(flags, " hg"));
	assert_true(flags_at(large.data + large.cap - 1, flags, sizeof(flags)));
	assert_non_null(strstr(flags, " hg"));
	assert_true(flags_at(small.data + SMALL / 2, flags, sizeof(flags)));
	assert_null(strstr(flags, " hg"));
	buf_free(&large);
	buf_free(&small);
}

TEST(text_is_appended_however_long)
{
	struct buf b = {0};

	assert_int_equal(buf_append(&b, "a", 1), 0);
	assert_int_equal(buf_printf(&b, "%d%s", 12, "b"), 0);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "a12b", 4);
	assert_int_equal(buf_printf(&b, "%1000d", 7), 0);
	assert_int_equal(b.len, 1004);
	assert_memory_equal(b.data, "a12b   ", 7);
	assert_int_equal(b.data[1003], '7');
	assert_int_equal(buf_printf(&b, "%s", ""), 0);
	assert_int_equal(b.len, 1004);
	buf_free(&b);
}

TEST(entries_sort_markers_first_then_newest)
{
	struct entry family = {.ts = 1, .seq = 1, .kind = CELL_DELETE_FAMILY};
	struct entry put = {.qualifier = bytes_str("q"),
			    .ts = 5,
			    .seq = 2,
			    .kind = CELL_PUT};
	struct entry marker = {.qualifier = bytes_str("q"),
			       .ts = 5,
			       .seq = 1,
			       .kind = CELL_DELETE_COLUMN};
	struct entry newer = {.qualifier = bytes_str("q"),
			      .ts = 6,
			      .seq = 1,
			      .kind = CELL_PUT};
	struct entry empty = {.ts = 9, .seq = 9, .kind = CELL_PUT};

	assert_true(entry_cmp(&family, &empty) < 0);
	assert_true(entry_cmp(&empty, &put) < 0);
	assert_true(entry_cmp(&newer, &marker) < 0);
	assert_true(entry_cmp(&marker, &put) < 0);
	assert_int_equal(entry_cmp(&put, &put), 0);
}

/* The @n bytes of a code, whether it may have so many or not. */
static void encode(uint32_t code, size_t n, uint8_t out[4])
{
	const uint8_t first[] = {0, 0xC0, 0xE0, 0xF0};

	for (size_t i = n; --i > 0; code >>= 6)
		out[i] = 0x80 | (code & 0x3F);
	out[0] = (uint8_t)(first[n - 1] | code);
}

/* Where one ends and the next begins is part of a name. */
TEST(a_cell_has_the_name_of_its_row_and_column)
{
	static const char *const names[][3] = {
		{"r", "f", "q"},  {"s", "f", "q"}, {"r", "g", "q"},
		{"r", "f", "p"},  {"r", "f", ""},  {"rf", "q", ""},
		{"r", "fq", ""},  {"", "", ""},	   {"r", "f", "qq"},
		{"rr", "ff", "q"}};
	const size_t n = sizeof(names) / sizeof(*names);
	struct cell_name name = {.row = {0}};

	for (size_t i = 0; i < n * n; i++) {
		const char *const *a = names[i / n], *const *b = names[i % n];
		char row[8];
		struct cell of = {.family = bytes_str(a[1]),
				  .qualifier = bytes_str(a[2])};

		snprintf(row, sizeof(row), "%s", a[0]);
		of.row = bytes_str(row);
		assert_int_equal(cell_name_set(&name, &of), 0);
		/* What it was of may go. */
		memset(row, 'x', sizeof(row));
		of = (struct cell){.row = bytes_str(b[0]),
				   .family = bytes_str(b[1]),
				   .qualifier = bytes_str(b[2])};
		assert_int_equal(cell_name_is(&name, &of), i / n == i % n);
	}
	cell_name_free(&name);
}

TEST(each_code_has_one_form_in_utf8)
{
	const uint32_t begins[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t b[4];

	for (size_t n = 2; n <= 4; n++)
		for (uint32_t c = 0; c < 1u << (n == 2 ? 11 : 5 * n + 1); c++) {
			bool is = c >= begins[n] && c <= 0x10FFFF &&
				  (c < 0xD800 || c > 0xDFFF);

			encode(c, n, b);
			assert_int_equal(utf8_char(b, n), is ? n : 0);
			assert_int_equal(utf8_char(b, n - 1), 0);
			if (is)
				assert_int_equal(utf8_code(b, n), c);
		}
}
