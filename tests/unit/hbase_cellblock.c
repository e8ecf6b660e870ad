/*
 * Cells as HBase sends them. The blocks in CORPUS are those of a server of
 * HBase 2.6.4.
 */
#include "tests/unit/unit.h"
#include "tests/unit/change.h"
#include "store/hbase/cellblock/cellblock.h"
#include "store/value/why.h"
#include "tests/unit/hbase_corpus.h"

static const char *const blocks[] = {"get", "scan", "scan-raw", "meta-scan"};
#define BLOCKS (sizeof(blocks) / sizeof(*blocks))

static volatile uint8_t touched;

static void touch(struct bytes s)
{
	for (size_t i = 0; i < s.len; i++)
		touched = (uint8_t)(touched + s.data[i]);
}

/* Reads all of @block: 0 or -EPROTO, and how many cells there were. */
static int read_all(struct bytes block, size_t *n)
{
	struct decoder d = decoder_of(block);
	struct cell c;
	int r;

	for (*n = 0; (r = cellblock_next(&d, &c)) > 0; ++*n) {
		touch(c.row);
		touch(c.family);
		touch(c.qualifier);
		touch(c.value);
	}
	return r;
}

TEST(a_raw_scan_gives_puts_and_markers)
{
	static const struct {
		const char *row, *qualifier, *value;
		int64_t ts;
		uint8_t kind;
	} want[] = {
		{"row1", "a", "", 7, CELL_DELETE},
		{"row1", "a", "hello", 7, CELL_PUT},
		{"row1", "b", "", 8, CELL_DELETE_COLUMN},
		{"row1", "b", "there", 8, CELL_PUT},
		{"row1", "c", "newer", 12, CELL_PUT},
		{"row1", "c", "new", 9, CELL_PUT},
		{"row2", "", "", 9, CELL_PUT},
		{"row2", "", "", 4, CELL_DELETE_FAMILY_VERSION},
		{"row2", "", "", 3, CELL_DELETE_FAMILY},
		{"zrow", "q", "behind the border", 1, CELL_PUT},
	};
	struct bytes b = load("scan-raw");
	struct decoder d = decoder_of(b);
	struct cell c;

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_int_equal(cellblock_next(&d, &c), 1);
		assert_bytes(c.row, want[i].row);
		assert_bytes(c.family, "f");
		assert_bytes(c.qualifier, want[i].qualifier);
		assert_bytes(c.value, want[i].value);
		assert_non_null(c.value.data);
		assert_int_equal(c.ts, want[i].ts);
		assert_int_equal(c.kind, want[i].kind);
		assert_int_equal(c.seq, 0);
		assert_int_equal(c.ttl_ms, 0);
	}
	assert_int_equal(cellblock_next(&d, &c), 0);
	assert_int_equal(cellblock_next(&d, &c), 0);
	drop(b);
}

TEST(what_a_server_sent_is_written_as_the_same_bytes)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		struct bytes b = load(blocks[i]);
		struct decoder d = decoder_of(b);
		struct buf out = {0};
		struct encoder e = {.out = &out};
		struct cell c;

		while (cellblock_next(&d, &c) > 0) {
			struct change change = {.op = c.kind,
						.family = c.family,
						.qualifier = c.qualifier,
						.ts = c.ts,
						.value = c.value};

			cellblock_put(&e, c.row, &change);
		}
		assert_false(d.bad);
		assert_true(bytes_eq(buf_bytes(&out), b));
		buf_free(&out);
		drop(b);
	}
}

/* The cell that stands for @change of row r. */
static struct cell sent(struct buf *out, struct change change)
{
	struct encoder e = {.out = out};
	struct decoder d;
	struct cell c;

	cellblock_put(&e, bytes_str("r"), &change);
	assert_int_equal(e.err, 0);
	d = decoder_of(buf_bytes(out));
	assert_int_equal(cellblock_next(&d, &c), 1);
	assert_int_equal(cellblock_next(&d, &(struct cell){0}), 0);
	return c;
}

TEST(an_increment_is_a_put_of_its_delta)
{
	struct buf b = {0};
	struct cell c = sent(&b, (struct change){.op = CHANGE_INCREMENT,
						 .family = bytes_str("f"),
						 .ts = 5,
						 .delta = -2});

	assert_int_equal(c.kind, CELL_PUT);
	assert_int_equal(c.value.len, 8);
	assert_memory_equal(c.value.data, "\xff\xff\xff\xff\xff\xff\xff\xfe",
			    8);
	buf_free(&b);
}

TEST(an_append_is_a_put_of_what_is_appended)
{
	struct buf b = {0};
	struct cell c = sent(&b, (struct change){.op = CHANGE_APPEND,
						 .family = bytes_str("f"),
						 .value = bytes_str("more")});

	assert_int_equal(c.kind, CELL_PUT);
	assert_bytes(c.value, "more");
	buf_free(&b);
}

TEST(a_marker_has_no_value)
{
	struct buf b = {0};
	struct cell c = sent(&b, (struct change){.op = CHANGE_DELETE_FAMILY,
						 .family = bytes_str("f"),
						 .value = bytes_str("v")});

	assert_int_equal(c.kind, CELL_DELETE_FAMILY);
	assert_int_equal(c.value.len, 0);
	buf_free(&b);
}

TEST(the_servers_clock_is_the_greatest_timestamp)
{
	const struct change change = a_put("f", "q", TS_CLOCK, "v");
	static const uint8_t want[] = {0,    0,	   0,	 24,   0,    0,	   0,
				       15,   0,	   0,	 0,    1,    0,	   1,
				       'r',  1,	   'f',	 'q',  0x7f, 0xff, 0xff,
				       0xff, 0xff, 0xff, 0xff, 0xff, 4,	   'v'};
	struct buf b = {0};
	struct encoder e = {.out = &b};

	cellblock_put(&e, bytes_str("r"), &change);
	assert_int_equal(b.len, sizeof(want));
	assert_memory_equal(b.data, want, sizeof(want));
	buf_free(&b);
}

TEST(the_longest_names_go_through)
{
	uint8_t *row = calloc(1, ROW_LEN_MAX);
	uint8_t *qualifier = calloc(1, QUALIFIER_LEN_MAX);
	uint8_t family[FAMILY_LEN_MAX] = {0};
	struct change change = {
		.op = CHANGE_PUT,
		.family = bytes_of(family, sizeof(family)),
		.qualifier = bytes_of(qualifier, QUALIFIER_LEN_MAX),
		.ts = TS_MAX,
		.value = bytes_str(""),
	};
	struct buf b = {0};
	struct encoder e = {.out = &b};
	struct decoder d;
	struct cell c;

	assert_true(row && qualifier);
	cellblock_put(&e, bytes_of(row, ROW_LEN_MAX), &change);
	d = decoder_of(buf_bytes(&b));
	assert_int_equal(cellblock_next(&d, &c), 1);
	assert_int_equal(c.row.len, ROW_LEN_MAX);
	assert_int_equal(c.family.len, FAMILY_LEN_MAX);
	assert_int_equal(c.qualifier.len, QUALIFIER_LEN_MAX);
	assert_true(c.ts == TS_MAX);
	buf_free(&b);
	free(row);
	free(qualifier);
}

/* HBase takes it. Who meets it is told which cell it is. */
TEST(a_cell_behind_the_end_of_time_is_named)
{
	const struct change change = a_put("f", "q", TS_MAX, "v");
	struct buf b = {0};
	struct encoder e = {.out = &b};
	struct decoder d;
	struct cell c;

	cellblock_put(&e, bytes_str("row"), &change);
	/* The last byte of the timestamp, before the kind and the value. */
	assert_int_equal(b.data[b.len - 3], TS_MAX & 0xff);
	b.data[b.len - 3]++;
	d = decoder_of(buf_bytes(&b));
	assert_int_equal(cellblock_next(&d, &c), -EPROTO);
	assert_non_null(strstr(store_why(), "row row has a cell of f:q at "
					    "9223372036854775806"));
	buf_free(&b);
}

TEST(no_part_of_a_cell_is_taken_for_one)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		struct bytes b = load(blocks[i]);
		struct decoder d = decoder_of(b);
		size_t begin = 0, cells = 0, n;
		struct cell c;

		for (size_t len = 0; len < b.len; len++) {
			struct bytes part = copy_of(bytes_of(b.data, len));
			bool whole = len == (size_t)(d.at - b.data);

			assert_int_equal(read_all(part, &n),
					 whole ? 0 : -EPROTO);
			assert_int_equal(n, whole ? cells : cells - 1);
			if (!whole)
				assert_non_null(strstr(store_why(), "cell"));
			drop(part);
			if (whole) {
				assert_int_equal(cellblock_next(&d, &c), 1);
				begin = len;
				cells++;
			}
		}
		assert_true(begin > 0 || cells == 1);
		drop(b);
	}
}

/* Each byte takes other values: nothing is read outside, all is words. */
TEST(a_damaged_block_does_no_harm)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		struct bytes b = load(blocks[i]);
		uint8_t *data = (uint8_t *)(uintptr_t)b.data;
		size_t n;

		for (size_t at = 0; at < b.len; at++) {
			const uint8_t was = data[at];

			for (int bit = 0; bit < 8; bit++) {
				data[at] = (uint8_t)(was ^ 1 << bit);
				(void)read_all(b, &n);
			}
			data[at] = 0xff;
			(void)read_all(b, &n);
			data[at] = was;
		}
		drop(b);
	}
}

/* A cell of row r, column f:q and value v, with byte @at set to @to. */
static void faulty(size_t at, uint8_t to, const char *says)
{
	struct buf b = {0};
	struct decoder d;
	struct cell c = {.seq = 77};

	(void)sent(&b, (struct change){.op = CHANGE_PUT,
				       .family = bytes_str("f"),
				       .qualifier = bytes_str("q"),
				       .ts = 1,
				       .value = bytes_str("v")});
	b.data[at] = to;
	for (int round = 0; round < 2; round++) {
		d = decoder_of(buf_bytes(&b));
		assert_int_equal(cellblock_next(&d, &c), -EPROTO);
		if (!strstr(store_why(), says))
			fail_msg("%s: not %s", store_why(), says);
		assert_int_equal(cellblock_next(&d, &c), -EPROTO);
		assert_int_equal(c.seq, 77);
	}
	buf_free(&b);
}

/* Appends a tag to those at the end of @b, which holds one cell. */
static void add_tag(struct buf *b, uint8_t type, struct bytes says)
{
	struct encoder e = {.out = b};

	put_be(&e, 1 + says.len, 2);
	put_u8(&e, type);
	put_raw(&e, says.data, says.len);
	assert_int_equal(e.err, 0);
}

/* A cell of row r, column f:q and value v, with @ntags tags from @types. */
static void tagged(struct buf *b, const uint8_t *types, size_t ntags)
{
	const uint64_t ttl = htobe64(600000);
	size_t at;

	(void)sent(b, (struct change){.op = CHANGE_PUT,
				      .family = bytes_str("f"),
				      .qualifier = bytes_str("q"),
				      .ts = 1,
				      .value = bytes_str("v")});
	at = b->len;
	assert_int_equal(buf_append(b, "\0\0", 2), 0);
	for (size_t i = 0; i < ntags; i++)
		add_tag(b, types[i], bytes_of(&ttl, sizeof(ttl)));
	b->data[at + 1] = (uint8_t)(b->len - at - 2);
	b->data[3] = (uint8_t)(b->len - 4);
}

/* Whether a cell with such tags has a ttl, and labels. */
static void assert_tags(const uint8_t *types, size_t ntags, uint64_t ttl_ms,
			bool labels)
{
	struct buf b = {0};
	struct decoder d;
	struct cell c;

	tagged(&b, types, ntags);
	d = decoder_of(buf_bytes(&b));
	assert_int_equal(cellblock_next(&d, &c), 1);
	assert_bytes(c.value, "v");
	assert_true(c.ttl_ms == ttl_ms);
	assert_int_equal(c.has_labels, labels);
	assert_int_equal(cellblock_next(&d, &c), 0);
	buf_free(&b);
}

TEST(tags_of_a_cell_are_its_ttl_and_its_labels)
{
	static const uint8_t ttl[] = {8}, visibility[] = {2},
			     servers[] = {3, 5, 6}, all[] = {1, 5, 8, 64};

	assert_tags(NULL, 0, 0, false);
	assert_tags(ttl, 1, 600000, false);
	assert_tags(visibility, 1, 0, true);
	assert_tags(servers, 3, 0, false);
	assert_tags(all, 4, 600000, true);
}

TEST(faults_of_tags_are_named)
{
	static const uint8_t types[] = {8, 2};
	struct buf b = {0};

	tagged(&b, types, 2);
	/* The lengths of all, of the first, of the second; none behind them. */
	for (size_t i = 0; i < 8; i++) {
		size_t at = (const size_t[]){28, 30, 41, 3}[i / 2];
		struct decoder d = decoder_of(buf_bytes(&b));
		uint8_t was = b.data[at];
		struct cell c;

		b.data[at] = (uint8_t)(i % 2 ? was + 1 : was - 1);
		assert_int_equal(cellblock_next(&d, &c), -EPROTO);
		b.data[at] = was;
	}
	buf_free(&b);
}

TEST(faults_of_a_cell_are_named)
{
	faulty(3, 25, "cut off");
	faulty(3, 23, "lengths");
	faulty(7, 14, "lengths");
	faulty(7, 17, "lengths");
	faulty(11, 2, "lengths");
	faulty(8, 0x80, "lengths");
	faulty(13, 2, "too short");
	faulty(12, 0x7f, "too short");
	faulty(15, 3, "too short");
	faulty(18, 0x80, "timestamp");
	faulty(26, 0, "kind");
	faulty(26, 1, "kind");
	faulty(26, 255, "kind");
}

TEST(a_cell_without_a_row_is_refused)
{
	const struct change change = {.op = CHANGE_PUT,
				      .family = bytes_str("f"),
				      .ts = 1,
				      .value = bytes_str("v")};
	struct buf b = {0};
	struct encoder e = {.out = &b};
	size_t n;

	cellblock_put(&e, bytes_str(""), &change);
	assert_int_equal(read_all(buf_bytes(&b), &n), -EPROTO);
	assert_non_null(strstr(store_why(), "row"));
	buf_free(&b);
}

/* The limits of cell.h are less than what the format can say. */
TEST(names_longer_than_the_stores_are_refused)
{
	static uint8_t key[2 + 1 + 1 + QUALIFIER_LEN_MAX + 1 + 9];
	static const uint8_t row[2 + ROW_LEN_MAX + 1 + 1 + 9] = {0x80};
	struct buf b = {0};
	struct encoder e = {.out = &b};
	size_t n;

	key[1] = 1;
	put_be(&e, 8 + sizeof(key), 4);
	put_be(&e, sizeof(key), 4);
	put_be(&e, 0, 4);
	put_raw(&e, key, sizeof(key));
	assert_int_equal(read_all(buf_bytes(&b), &n), -EPROTO);
	assert_non_null(strstr(store_why(), "qualifier that is too long"));
	b.len = 0;
	put_be(&e, 8 + sizeof(row), 4);
	put_be(&e, sizeof(row), 4);
	put_be(&e, 0, 4);
	put_raw(&e, row, sizeof(row));
	assert_int_equal(read_all(buf_bytes(&b), &n), -EPROTO);
	assert_non_null(strstr(store_why(), "row"));
	b.len = 0;
	memset(key, 0, sizeof(key));
	key[1] = 1;
	key[3] = FAMILY_LEN_MAX + 1;
	put_be(&e, 8 + sizeof(key), 4);
	put_be(&e, sizeof(key), 4);
	put_be(&e, 0, 4);
	put_raw(&e, key, sizeof(key));
	assert_int_equal(read_all(buf_bytes(&b), &n), -EPROTO);
	assert_non_null(strstr(store_why(), "family"));
	buf_free(&b);
}
