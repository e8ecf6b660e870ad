/*
 * Each byte of each table file of a small store, flipped; each file cut at each
 * length, or missing. Whatever it is, the store opens, all that lies outside the
 * damaged file's rows is read, and nothing that is read is wrong.
 *
 * A sample of it; with CELLFS_THOROUGH=1 each bit.
 */
#include "tests/unit/unit.h"
#include "store/os/os.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/temp_store.h"
#include "tests/unit/thorough.h"

enum {
	TABLES = 3,
	ROWS = 24,
	VALUE = 300,
	FILES_MAX = 8
};

/* A table file: its name, and the rows of its table that it holds. */
struct part {
	char name[32];
	int table, from, to;
	struct buf content;
};

static struct {
	struct os *os;
	struct os_dir *dir;
	struct part parts[FILES_MAX];
	int nparts;
	int version[TABLES][ROWS]; /* of the value; 0 = deleted, -1 = never */
	uint64_t cases, read, refused;
} the;

static const char *const names[TABLES] = {"t", "u", "v"};

static void value_of(int table, int row, int version, char out[VALUE + 1])
{
	for (int i = 0; i < VALUE; i++)
		out[i] = (char)('a' +
				(table * 7 + row * 5 + version * 3 + i % 11) %
					26);
	out[VALUE] = '\0';
}

static void change(struct table *t, int table, int row, int version)
{
	char key[16], value[VALUE + 1];
	struct change c = {.op = version ? CHANGE_PUT : CHANGE_DELETE_COLUMN,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = version ? version : 100};
	struct mutation m = {.changes = &c, .nchanges = 1};

	snprintf(key, sizeof(key), "%03d", row);
	value_of(table, row, version, value);
	m.row = bytes_str(key);
	if (version)
		c.value = bytes_str(value);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	the.version[table][row] = version;
}

static int new_part(void *arg, const char *name)
{
	size_t n = strlen(name);

	if (n < 4 || strcmp(name + n - 4, ".sst"))
		return 0;
	for (int i = 0; i < the.nparts; i++)
		if (!strcmp(the.parts[i].name, name))
			return 0;
	assert_true(n < sizeof(the.parts[0].name));
	memcpy(the.parts[the.nparts].name, name, n + 1);
	return 0;
}

/* Rows @from to @to, each @step-th, as a file of its own. */
static void fill(struct store *s, int table, int from, int to, int step,
		 int version)
{
	struct part *p = &the.parts[the.nparts];
	struct table *t;

	assert_int_equal(table_open(s, bytes_str(names[table]), &t), 0);
	for (int row = from; row <= to; row += step)
		change(t, table, row, version);
	table_unref(t);
	assert_int_equal(store_flush(s, NULL), 0);
	assert_int_equal(os_dir_list(the.dir, new_part, NULL), 0);
	p->table = table;
	p->from = from;
	p->to = to;
	assert_int_equal(os_read_file(the.dir, p->name, 1 << 20, &p->content),
			 0);
	the.nparts++;
}

static int setup(void **state)
{
	struct store_options o = {.create = true, .inline_background = true};
	struct family_attrs attrs;
	struct schema schema;
	struct store *s;

	memset(&the, 0, sizeof(the));
	family_attrs_default(&attrs);
	attrs.block_size = 1 << 10;
	the.os = o.os = sim_new(1);
	assert_int_equal(store_open("/store", &o, &s), 0);
	assert_int_equal(os_dir_open(the.os, "/store", false, &the.dir), 0);
	for (int i = 0; i < TABLES; i++) {
		schema_init(&schema, 0, 0);
		assert_int_equal(schema_add(&schema, bytes_str("f"), &attrs),
				 0);
		assert_int_equal(
			store_table_create(s, bytes_str(names[i]), &schema), 0);
		schema_free(&schema);
		for (int row = 0; row < ROWS; row++)
			the.version[i][row] = -1;
	}
	fill(s, 0, 0, 11, 1, 1);
	fill(s, 0, 6, 8, 1, 2);
	fill(s, 0, 16, 22, 1, 1);
	fill(s, 0, 9, 10, 1, 0);
	fill(s, 1, 0, 23, 2, 1);
	fill(s, 2, 2, 9, 1, 1);
	return store_close(s);
}

static int teardown(void **state)
{
	for (int i = 0; i < the.nparts; i++)
		buf_free(&the.parts[i].content);
	os_dir_close(the.dir);
	sim_free(the.os);
	return 0;
}

EACH_TEST_IN(setup, teardown);

static bool is_outside(const struct part *p, int table, int row)
{
	return table != p->table || row < p->from || row > p->to;
}

static void check_right(int table, int row, const struct cell *c)
{
	char value[VALUE + 1];

	assert_in_range(the.version[table][row], 1, 9);
	value_of(table, row, the.version[table][row], value);
	assert_true(bytes_eq(c->value, bytes_str(value)));
}

static void scan_table(struct table *t, int table, const struct part *p)
{
	const struct scan_spec spec = {.granularity = SCAN_COLUMNS};
	bool seen[ROWS] = {false};
	int passes = 0, r;
	struct scan *sc;
	struct cell c;

	assert_int_equal(scan_open(t, &spec, &sc), 0);
	while ((r = scan_next(sc, &c)) != 0) {
		int row;

		if (r < 0) {
			assert_int_equal(r, -EUCLEAN);
			assert_int_equal(table, p->table);
			assert_int_equal(scan_pass(sc), 0);
			assert_true(++passes < 50);
			the.refused++;
			continue;
		}
		row = (c.row.data[1] - '0') * 10 + c.row.data[2] - '0';
		assert_in_range(row, 0, ROWS - 1);
		assert_false(seen[row]);
		seen[row] = true;
		check_right(table, row, &c);
		the.read++;
	}
	scan_close(sc);
	for (int row = 0; row < ROWS; row++)
		if (the.version[table][row] > 0 && is_outside(p, table, row))
			assert_true(seen[row]);
}

static void get_rows(struct table *t, int table, const struct part *p)
{
	struct buf hold = {0};

	for (int row = 0; row < ROWS; row++) {
		struct cell c;
		char key[16];
		int r;

		snprintf(key, sizeof(key), "%03d", row);
		r = table_get(t, bytes_str(key), bytes_str("f"), bytes_str("q"),
			      TS_MAX, NULL, &c, &hold);
		if (r == -EUCLEAN && !is_outside(p, table, row)) {
			the.refused++;
			continue;
		}
		assert_int_equal(r, the.version[table][row] > 0);
		if (r > 0)
			check_right(table, row, &c);
		the.read++;
	}
	buf_free(&hold);
}

/* The store as it is now, with part @p damaged. */
static void check_all(const struct part *p)
{
	const struct store_options o = {
		.read_only = true, .inline_background = true, .os = the.os};
	struct store *s;

	assert_int_equal(store_open("/store", &o, &s), 0);
	for (int i = 0; i < TABLES; i++) {
		struct table *t;

		assert_int_equal(table_open(s, bytes_str(names[i]), &t), 0);
		scan_table(t, i, p);
		get_rows(t, i, p);
		table_unref(t);
	}
	assert_int_equal(store_close(s), 0);
	the.cases++;
}

static void write_part(const struct part *p, size_t len)
{
	struct os_file *f;

	assert_int_equal(os_open(the.dir, p->name, OS_WRITE | OS_CREATE, &f),
			 0);
	assert_int_equal(os_truncate(f, len), 0);
	if (len)
		assert_int_equal(os_pwrite(f, p->content.data, len, 0), 0);
	os_close(f);
}

static size_t stride(size_t sampled)
{
	return thorough() ? 1 : sampled;
}

TEST(every_flipped_bit_costs_no_more_than_its_rows)
{
	for (int i = 0; i < the.nparts; i++) {
		struct part *p = &the.parts[i];

		for (size_t bit = (size_t)i; bit < 8 * p->content.len;
		     bit += stride(101)) {
			p->content.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			write_part(p, p->content.len);
			p->content.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			check_all(p);
		}
		write_part(p, p->content.len);
	}
	assert_true(the.refused > 0);
	printf("%llu bits: %llu reads right, %llu refused, 0 wrong\n",
	       (unsigned long long)the.cases, (unsigned long long)the.read,
	       (unsigned long long)the.refused);
}

TEST(every_cut_or_missing_file_costs_no_more_than_its_rows)
{
	for (int i = 0; i < the.nparts; i++) {
		struct part *p = &the.parts[i];

		for (size_t len = 0; len < p->content.len; len += stride(53)) {
			write_part(p, len);
			check_all(p);
		}
		assert_int_equal(os_unlink(the.dir, p->name), 0);
		check_all(p);
		write_part(p, p->content.len);
	}
	assert_true(the.refused > 0);
	printf("%llu cuts: %llu reads right, %llu refused, 0 wrong\n",
	       (unsigned long long)the.cases, (unsigned long long)the.read,
	       (unsigned long long)the.refused);
}
