/*
 * Damaged table files: what they cost, what is said of them, and that all else
 * goes on. On a disk in memory, with files small enough to have each byte of
 * them in mind.
 */
#include "tests/unit/unit.h"
#include "store/filter/filter.h"
#include "store/lsm/background/background.h"
#include "store/os/os.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/temp_store.h"

static struct fixture {
	struct temp_store s;
	struct os *os;
	struct os_dir *dir;
	char said[2][1024]; /* the first two news of damage */
	int nsaid;
} the;

static void hear(void *arg, enum store_news what, const char *sentence)
{
	struct fixture *f = arg;

	if (what != STORE_NEWS_DAMAGED)
		return;
	if (f->nsaid < 2)
		snprintf(f->said[f->nsaid], sizeof(f->said[0]), "%s", sentence);
	f->nsaid++;
}

static int setup(void **state)
{
	memset(&the, 0, sizeof(the));
	the.os = sim_new(1);
	the.s = (struct temp_store){.path = "/store"};
	the.s.options = (struct store_options){.inline_background = true,
					       .os = the.os,
					       .news = hear,
					       .news_arg = &the};
	if (temp_open(&the.s) < 0)
		return -1;
	return os_dir_open(the.os, "/store", false, &the.dir);
}

static int teardown(void **state)
{
	int r = the.s.store ? temp_close(&the.s) : 0;

	os_dir_close(the.dir);
	sim_free(the.os);
	return r;
}

EACH_TEST_IN(setup, teardown);

static int newest_file(void *arg, const char *name)
{
	unsigned long *most = arg, n;
	char *end;

	n = strtoul(name, &end, 10);
	if (!strcmp(end, ".sst") && n > *most)
		*most = n;
	return 0;
}

static int oldest_file(void *arg, const char *name)
{
	unsigned long *least = arg, n;
	char *end;

	n = strtoul(name, &end, 10);
	if (!strcmp(end, ".sst") && (!*least || n < *least))
		*least = n;
	return 0;
}

/* Puts these rows into family @family, and all of memory into a file. */
static unsigned long file_of(const char *family, const char *const *rows,
			     const char *value)
{
	unsigned long number = 0;

	for (; *rows; rows++)
		assert_int_equal(temp_put(&the.s, *rows, family, "q", 1, value),
				 1);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	assert_int_equal(os_dir_list(the.dir, newest_file, &number), 0);
	return number;
}

#define ROWS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *sst(unsigned long number)
{
	static char name[32];

	snprintf(name, sizeof(name), "%lu.sst", number);
	return name;
}

static uint64_t file_bytes(unsigned long number)
{
	struct os_file *file;
	uint64_t size;

	assert_int_equal(os_open(the.dir, sst(number), OS_READ, &file), 0);
	assert_int_equal(os_size(file, &size), 0);
	os_close(file);
	return size;
}

/* Flips the byte of the file that lies @back before its end. */
static void flip(unsigned long number, uint64_t back)
{
	struct os_file *file;
	uint64_t size;
	uint8_t byte;

	assert_int_equal(
		os_open(the.dir, sst(number), OS_READ | OS_WRITE, &file), 0);
	assert_int_equal(os_size(file, &size), 0);
	assert_int_equal(os_pread(file, &byte, 1, size - back), 1);
	byte ^= 1;
	assert_int_equal(os_pwrite(file, &byte, 1, size - back), 0);
	os_close(file);
}

static void reopen(void)
{
	assert_int_equal(temp_open(&the.s), 0);
}

static int get(const char *row, const char *family)
{
	struct cell c;
	struct buf hold = {0};
	int r = table_get(the.s.table, bytes_str(row), bytes_str(family),
			  bytes_str("q"), TS_MAX, NULL, &c, &hold);

	buf_free(&hold);
	return r;
}

/* The rows of a scan from @from before @to, and how it ended. */
static int list(const char *from, const char *to, char out[256])
{
	struct scan_spec spec = {.row_start = bytes_str(from),
				 .row_stop = bytes_str(to)};
	struct scan *sc;
	struct cell c;
	int r;

	out[0] = '\0';
	assert_int_equal(scan_open(the.s.table, &spec, &sc), 0);
	while ((r = scan_next(sc, &c)) > 0) {
		size_t n = strlen(out);

		snprintf(out + n, 256 - n, "%s%.*s", n ? " " : "",
			 (int)c.row.len, (const char *)c.row.data);
	}
	scan_close(sc);
	return r;
}

TEST(a_lost_file_costs_its_rows_of_its_family)
{
	unsigned long lost;
	char rows[256];

	file_of("f", ROWS("a", "b"), "1");
	lost = file_of("f", ROWS("m", "p"), "2");
	file_of("f", ROWS("x"), "3");
	file_of("g", ROWS("m", "n"), "4");
	assert_int_equal(temp_close(&the.s), 0);
	assert_int_equal(os_unlink(the.dir, sst(lost)), 0);
	reopen();
	assert_int_equal(get("b", "f"), 1);
	assert_int_equal(get("bb", "f"), 0);
	assert_int_equal(get("x", "f"), 1);
	assert_int_equal(get("z", "f"), 0);
	assert_int_equal(get("m", "g"), 1);
	assert_int_equal(get("m", "f"), -EUCLEAN);
	assert_int_equal(get("n", "f"), -EUCLEAN);
	assert_int_equal(get("p", "f"), -EUCLEAN);
	assert_int_equal(list("", "c", rows), 0);
	assert_string_equal(rows, "a b");
	assert_int_equal(list("pp", "", rows), 0);
	assert_string_equal(rows, "x");
	assert_int_equal(list("n", "o", rows), -EUCLEAN);
	/* Writing needs no reading. */
	assert_int_equal(temp_put(&the.s, "n", "f", "q", 0, "5"), 1);
	assert_int_equal(temp_put(&the.s, "y", "f", "q", 0, "5"), 1);
	assert_int_equal(get("n", "f"), -EUCLEAN);
	assert_int_equal(get("y", "f"), 1);
	/* Nothing in the file has that timestamp, says the catalog. */
	assert_int_equal(temp_put(&the.s, "n", "f", "q", 9, "5"), 1);
	assert_int_equal(get("n", "f"), 1);
}

TEST(damage_is_said_with_file_table_family_and_rows)
{
	unsigned long lost = file_of("f", ROWS("m", "p\n'"), "2");
	unsigned long flipped = file_of("g", ROWS("c", "d"), "2");
	struct table_info info;
	char file[64];

	assert_int_equal(temp_close(&the.s), 0);
	assert_int_equal(os_unlink(the.dir, sst(lost)), 0);
	flip(flipped, 1);
	reopen();
	assert_int_equal(the.nsaid, 2);
	for (int i = 0; i < 2; i++) {
		assert_non_null(
			strstr(the.said[i], i ? "family g" : "family f"));
		snprintf(file, sizeof(file), "%s: the whole file is damaged",
			 sst(i ? flipped : lost));
		assert_non_null(strstr(the.said[i], "table t"));
		assert_non_null(strstr(the.said[i], file));
		assert_non_null(strstr(the.said[i], i ? "rows 'c' to 'd'"
						      : "rows 'm' to "
							"'p\\x0a\\x27'"));
	}
	assert_non_null(strstr(the.said[0], "missing"));
	assert_non_null(strstr(the.said[1], "footer"));
	assert_int_equal(get("m", "f"), -EUCLEAN);
	assert_string_equal(store_why(), the.said[0]);
	assert_int_equal(get("c", "g"), -EUCLEAN);
	assert_string_equal(store_why(), the.said[1]);
	assert_int_equal(the.nsaid, 2);
	assert_int_equal(table_info(the.s.table, &info), 0);
	assert_int_equal(info.damaged, 2);
	assert_int_equal(info.entries, 4);
	assert_false(info.exact);
}

/* The file may hold a delete, a newer version, or nothing of the row. */
TEST(what_a_lost_file_may_change_is_not_shown)
{
	struct change c = {.op = CHANGE_DELETE_COLUMN,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = 1};
	struct mutation m = change_of("b", &c);
	unsigned long lost;

	file_of("f", ROWS("a", "b", "c", "d"), "old");
	assert_int_equal(table_mutate(the.s.table, &m, 0), 1);
	lost = file_of("f", ROWS("c"), "new");
	assert_int_equal(get("b", "f"), 0);
	assert_int_equal(temp_close(&the.s), 0);
	assert_int_equal(os_unlink(the.dir, sst(lost)), 0);
	reopen();
	assert_int_equal(get("a", "f"), 1);
	assert_int_equal(get("b", "f"), -EUCLEAN);
	assert_int_equal(get("c", "f"), -EUCLEAN);
	assert_int_equal(get("d", "f"), 1);
}

TEST(a_table_that_is_dropped_takes_its_damage_along)
{
	unsigned long lost = file_of("f", ROWS("a", "b"), "1");
	unsigned long n = 0;

	assert_int_equal(temp_close(&the.s), 0);
	flip(lost, 1);
	reopen();
	assert_int_equal(store_table_truncate(the.s.store, bytes_str("t")), 0);
	assert_int_equal(get("a", "f"), 0);
	assert_int_equal(os_dir_list(the.dir, newest_file, &n), 0);
	assert_int_equal(n, 0);
}

enum {
	MANY = 60,
	VALUE = 6000
};

/* What a scan of all columns gave: rows of family f that are there and right. */
struct scanned {
	bool seen[2][MANY];
	int passes;
};

static void put_many(const char *family, int from, int step, int64_t ts)
{
	char row[8], value[VALUE + 1];

	for (int i = from; i < MANY; i += step) {
		snprintf(row, sizeof(row), "%03d", i);
		memset(value, 'a' + i % 20, VALUE);
		value[VALUE] = '\0';
		assert_int_equal(temp_put(&the.s, row, family, "q", ts, value),
				 1);
	}
}

static void scan_all(const struct scan_spec *spec, struct scanned *out)
{
	int last = -1, r;
	struct scan *sc;
	struct cell c;

	*out = (struct scanned){0};
	assert_int_equal(scan_open(the.s.table, spec, &sc), 0);
	while ((r = scan_next(sc, &c)) != 0) {
		int row, g;

		if (r < 0) {
			assert_int_equal(r, -EUCLEAN);
			assert_int_equal(scan_next(sc, &c), -EUCLEAN);
			assert_int_equal(scan_pass(sc), 0);
			assert_true(++out->passes < 100);
			continue;
		}
		assert_int_equal(c.row.len, 3);
		row = atoi((const char[]){(char)c.row.data[0],
					  (char)c.row.data[1],
					  (char)c.row.data[2], 0});
		assert_in_range(row, last < 0 ? 0 : last, MANY - 1);
		last = row;
		g = spec->granularity && *c.family.data == 'g';
		assert_false(out->seen[g][row]);
		out->seen[g][row] = true;
		if (!spec->granularity)
			continue;
		assert_int_equal(c.value.len, VALUE);
		assert_int_equal(c.value.data[VALUE - 1], 'a' + row % 20);
	}
	scan_close(sc);
}

/* A block has three rows or fewer; what a newer file has of them is lost too. */
static void check_scan(const struct scan_spec *spec)
{
	struct scanned got;
	int lost = 0;
	char row[8];

	scan_all(spec, &got);
	for (int i = 0; i < MANY; i++) {
		snprintf(row, sizeof(row), "%03d", i);
		if (!got.seen[0][i]) {
			lost++;
			assert_int_equal(get(row, "f"), -EUCLEAN);
		}
		assert_int_equal(got.seen[1][i],
				 spec->granularity && !spec->ncolumns);
	}
	assert_in_range(got.passes, 1, 2);
	assert_in_range(lost, spec->granularity || spec->ncolumns ? 1 : 0, 4);
}

static uint64_t stat_of(const char *name)
{
	struct store_stat st;

	for (unsigned i = 0; store_stat(the.s.store, i, &st) > 0; i++)
		if (!strcmp(st.name, name))
			return st.value;
	fail_msg("no figure %s", name);
	return 0;
}

/*
 * A disk with a sector that it cannot read: that byte of that file. So long as it is
 * not 0, the file's bytes are not mapped, either.
 */
static struct {
	struct os_ops ops;
	const struct os_ops *own;
	unsigned long file;
	uint64_t at;
} sector;

static ssize_t bad_pread(struct os_file *f, void *to, size_t n, uint64_t off)
{
	if (sector.file && !strcmp(f->name, sst(sector.file)) &&
	    off <= sector.at && sector.at - off < n)
		return -EIO;
	return sector.own->pread(f, to, n, off);
}

static int bad_map_read(struct os_file *f, size_t len, const void **out)
{
	return -EIO;
}

/* Until the next call; 0: there is none any more. */
static void bad_sector(unsigned long file, uint64_t at)
{
	if (!sector.own) {
		sector.own = the.os->ops;
		sector.ops = *sector.own;
		sector.ops.pread = bad_pread;
		sector.ops.map_read = bad_map_read;
	}
	the.os->ops = file ? &sector.ops : sector.own;
	sector.file = file;
	sector.at = at;
}

TEST(a_sector_that_cannot_be_read_costs_its_block)
{
	const struct scan_spec cells = {.granularity = SCAN_CELLS,
					.versions = 1};
	unsigned long file = 0;
	struct scanned got;
	char said[64];

	put_many("f", 0, 1, 5);
	put_many("g", 0, 1, 5);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	assert_int_equal(os_dir_list(the.dir, oldest_file, &file), 0);
	assert_int_equal(temp_close(&the.s), 0);
	reopen();
	bad_sector(file, MANY / 2 * VALUE);
	check_scan(&cells);
	assert_int_equal(the.nsaid, 1);
	snprintf(said, sizeof(said), "%s is damaged in the block at byte ",
		 sst(file));
	assert_non_null(strstr(the.said[0], said));
	assert_non_null(strstr(the.said[0], "cannot read"));
	/* It is worked around, and what it has is there for a better disk. */
	assert_int_equal(store_compact(the.s.store, NULL), 0);
	assert_int_equal(stat_of("sstables_damaged"), 1);
	assert_int_equal(store_health(the.s.store), 0);
	assert_int_equal(the.nsaid, 1);
	bad_sector(0, 0);
	scan_all(&cells, &got);
	assert_int_equal(got.passes, 0);
}

TEST(a_file_that_cannot_be_read_costs_its_rows)
{
	unsigned long file;

	file_of("f", ROWS("a", "b"), "1");
	file = file_of("f", ROWS("m", "p"), "2");
	assert_int_equal(temp_close(&the.s), 0);
	bad_sector(file, file_bytes(file) - 1);
	reopen();
	assert_int_equal(the.nsaid, 1);
	assert_non_null(strstr(the.said[0], "the whole file is damaged, rows "
					    "'m' to 'p'"));
	assert_non_null(strstr(the.said[0], "cannot read"));
	assert_int_equal(get("a", "f"), 1);
	assert_int_equal(get("n", "f"), -EUCLEAN);
	assert_int_equal(get("z", "f"), 0);
	bad_sector(0, 0);
}

/* Nobody reads it when it is only kept for those who may. */
TEST(a_new_file_that_cannot_be_read_is_said_by_who_reads_it)
{
	unsigned long last = file_of("f", ROWS("a"), "1");

	assert_int_equal(get("a", "f"), 1);
	bad_sector(last + 1, 0);
	assert_int_equal(file_of("f", ROWS("b"), "2"), last + 1);
	assert_int_equal(stat_of("sstables_damaged"), 0);
	assert_int_equal(get("b", "f"), -EUCLEAN);
	assert_int_equal(stat_of("sstables_damaged"), 1);
	assert_int_equal(the.nsaid, 1);
	bad_sector(0, 0);
}

static void delete_version(int64_t ts)
{
	struct change c = {.op = CHANGE_DELETE,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = ts};
	struct mutation m = change_of("a", &c);

	assert_int_equal(table_mutate(the.s.table, &m, 0), 1);
}

/*
 * Who finds the newest version behind many that are deleted learns which others
 * there are, and meets more than he was asked for.
 */
TEST(what_a_reader_meets_by_the_way_is_said)
{
	struct schema schema;
	unsigned long file;

	assert_int_equal(table_schema(the.s.table, &schema), 0);
	schema.families[0].attrs.versions = 4000;
	schema.families[0].attrs.new_version_behavior = true;
	assert_int_equal(table_alter(the.s.table, &schema, false), 0);
	schema_free(&schema);
	for (int64_t ts = 1; ts <= 4000; ts++)
		assert_int_equal(temp_put(&the.s, "a", "f", "q", ts, "value"),
				 1);
	for (int64_t ts = 3600; ts <= 4000; ts++)
		delete_version(ts);
	file = file_of("f", ROWS("b"), "1");
	assert_int_equal(temp_close(&the.s), 0);
	flip(file, file_bytes(file) / 3);
	reopen();
	assert_int_equal(get("a", "f"), 1);
	assert_int_equal(stat_of("sstables_damaged"), 1);
	assert_int_equal(the.nsaid, 1);
	assert_non_null(strstr(the.said[0], "table t, family f: "));
}

/* Its end is read when it has been written: it is not taken for the cells. */
TEST(a_new_file_whose_end_cannot_be_read_is_written_anew)
{
	unsigned long last = file_of("f", ROWS("a"), "1");
	uint64_t bytes = file_bytes(last);

	bad_sector(last + 1, bytes - 1);
	assert_int_equal(temp_put(&the.s, "b", "f", "q", 1, "2"), 1);
	assert_true(store_flush(the.s.store, NULL) < 0);
	assert_int_equal(the.nsaid, 0);
	assert_int_equal(get("b", "f"), 1);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	assert_int_equal(stat_of("sstables_damaged"), 0);
	assert_int_equal(stat_of("sstables"), 2);
	assert_int_equal(get("b", "f"), 1);
	bad_sector(0, 0);
}

TEST(a_scan_goes_on_behind_a_damaged_block)
{
	const struct column_name only = {.family = bytes_str("f"),
					 .whole_family = true};
	const struct scan_spec cells = {.granularity = SCAN_CELLS,
					.versions = 1};
	const struct scan_spec one = {
		.granularity = SCAN_COLUMNS, .columns = &only, .ncolumns = 1};
	const struct scan_spec rows = {.columns = &only, .ncolumns = 1};
	unsigned long bad = 0;
	uint64_t size;

	put_many("f", 0, 1, 5);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	assert_int_equal(os_dir_list(the.dir, newest_file, &bad), 0);
	put_many("g", 0, 1, 5);
	put_many("f", 1, 7, 3);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	size = file_bytes(bad);
	assert_true(size > MANY * VALUE);
	for (uint64_t back = size; back > size - MANY * VALUE;
	     back -= 2 * VALUE + 11) {
		assert_int_equal(temp_close(&the.s), 0);
		flip(bad, back);
		reopen();
		put_many("f", 3, 11, 2);
		check_scan(&cells);
		check_scan(&one);
		check_scan(&rows);
		assert_int_equal(temp_close(&the.s), 0);
		flip(bad, back);
		reopen();
	}
}

TEST(a_scan_goes_on_behind_a_lost_file)
{
	const struct scan_spec cells = {.granularity = SCAN_CELLS,
					.versions = 1};
	const struct scan_spec rows = {.granularity = SCAN_ROWS};
	struct scanned got;
	unsigned long lost;

	put_many("f", 0, 1, 5);
	put_many("g", 0, 2, 5);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	lost = file_of("f", ROWS("020", "029"), "x");
	assert_int_equal(temp_close(&the.s), 0);
	assert_int_equal(os_unlink(the.dir, sst(lost)), 0);
	reopen();
	scan_all(&cells, &got);
	assert_int_equal(got.passes, 1);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(got.seen[0][i], i < 20 || i > 29);
		assert_int_equal(got.seen[1][i], i % 2 == 0);
	}
	/* A row is known to be there by what another family has of it. */
	scan_all(&rows, &got);
	assert_int_equal(got.passes, 1);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(got.seen[0][i],
				 i < 20 || i > 29 || i % 2 == 0);
}

/* The names of all cells that come, '!' and the family where one is damaged. */
static void names_of(const struct scan_spec *spec, struct buf *out)
{
	struct scan *sc;
	struct cell c;
	int r;

	assert_int_equal(scan_open(the.s.table, spec, &sc), 0);
	while ((r = scan_next(sc, &c)) != 0) {
		if (r > 0) {
			assert_int_equal(
				buf_printf(out, "%.*s:%.*s:%.*s ",
					   (int)c.row.len,
					   (const char *)c.row.data,
					   (int)c.family.len,
					   (const char *)c.family.data,
					   (int)c.qualifier.len,
					   (const char *)c.qualifier.data),
				0);
			continue;
		}
		assert_int_equal(r, -EUCLEAN);
		assert_int_equal(buf_printf(out, "!%.1s ",
					    strstr(store_why(), "family ") + 7),
				 0);
		assert_int_equal(scan_pass(sc), 0);
	}
	scan_close(sc);
}

static void without_damage(struct buf *b)
{
	char *at = strchr((char *)b->data, '!');

	assert_non_null(at);
	memmove(at, at + 3, strlen(at + 3) + 1);
}

static void put_wide_row(const char *family)
{
	char name[8], value[VALUE + 1];

	memset(value, 'a', VALUE);
	value[VALUE] = '\0';
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "q%03d", i);
		assert_int_equal(temp_put(&the.s, "r", family, name, 1, value),
				 1);
	}
	assert_int_equal(temp_put(&the.s, "s", family, "q", 1, "v"), 1);
}

/* Of the wide row: what is left lies far behind its beginning, and here and there. */
static void delete_columns(const char *family)
{
	struct change c = {.op = CHANGE_DELETE_COLUMN,
			   .family = bytes_str(family),
			   .ts = 1};
	struct mutation m = change_of("r", &c);
	char name[8];

	for (int i = 0; i < MANY; i++) {
		if (i > MANY / 2 && i % 9)
			continue;
		snprintf(name, sizeof(name), "q%03d", i);
		c.qualifier = bytes_str(name);
		assert_int_equal(table_mutate(the.s.table, &m, 0), 1);
	}
}

/* A filter walks the row before its first cell is handed out. */
TEST(a_scan_that_picks_shows_beside_damage_what_any_does)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS, .versions = 1};
	struct filter *filter;

	assert_int_equal(
		filter_parse(bytes_str("ColumnPrefixFilter('q')"), &filter), 0);
	put_wide_row("f");
	put_wide_row("g");
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	for (int g = 0; g < 2; g++) {
		struct buf any = {0}, picked = {0};
		unsigned long bad = 0;

		assert_int_equal(os_dir_list(the.dir,
					     g ? newest_file : oldest_file,
					     &bad),
				 0);
		assert_int_equal(temp_close(&the.s), 0);
		flip(bad, file_bytes(bad) - MANY / 2 * VALUE);
		reopen();
		spec.filter = NULL;
		names_of(&spec, &any);
		assert_int_equal(buf_append(&any, "", 1), 0);
		assert_non_null(strstr((char *)any.data, g ? "!g" : "!f"));
		assert_non_null(strstr((char *)any.data, "s:g:q"));
		spec.filter = filter;
		names_of(&spec, &picked);
		/* What it picked of the row comes when the row is over. */
		assert_int_equal(picked.len + 1, any.len);
		assert_int_equal(buf_append(&picked, "", 1), 0);
		without_damage(&any);
		without_damage(&picked);
		assert_string_equal((char *)picked.data, (char *)any.data);
		assert_int_equal(temp_close(&the.s), 0);
		flip(bad, file_bytes(bad) - MANY / 2 * VALUE);
		reopen();
		buf_free(&any);
		buf_free(&picked);
	}
	filter_free(filter);
}

/*
 * A disk of which the n-th read fails for want of memory, which is no damage, or
 * all from then on: what is read ahead in vain is read again.
 */
static uint64_t reads, read_fails;
static bool reads_fail_on;

static ssize_t wanting_pread(struct os_file *f, void *to, size_t n,
			     uint64_t off)
{
	bool fails = ++reads == read_fails;

	if (reads > read_fails)
		fails = reads_fail_on;
	return fails ? -ENOMEM : sector.own->pread(f, to, n, off);
}

/* The names of cells, or of rows, without what is damaged, and how the scan ended. */
static int scanned(const void *arg, struct buf *out)
{
	const struct scan_spec *spec = arg;
	struct scan *sc;
	struct cell c;
	int r;

	out->len = 0;
	r = scan_open(the.s.table, spec, &sc);
	if (r < 0)
		return r;
	while (r == 0 && (r = scan_next(sc, &c)) != 0) {
		if (r == -EUCLEAN)
			r = scan_pass(sc);
		if (r > 0)
			r = buf_printf(out, "%.*s:%.*s ", (int)c.row.len,
				       (const char *)c.row.data,
				       (int)c.qualifier.len,
				       (const char *)c.qualifier.data);
	}
	scan_close(sc);
	return r;
}

/* The value of f:q in that row now, and as of the older of its puts. */
static int got(const void *row, struct buf *out)
{
	struct buf hold = {0};
	struct cell c;
	int r = 1;

	out->len = 0;
	for (int64_t ts = 7; r > 0 && ts > 3; ts -= 2) {
		r = table_get(the.s.table, bytes_str(row), bytes_str("f"),
			      bytes_str("q"), ts, NULL, &c, &hold);
		assert_int_not_equal(r, 0);
		if (r > 0)
			assert_int_equal(
				buf_append(out, c.value.data, c.value.len), 0);
	}
	buf_free(&hold);
	return r < 0 ? r : 0;
}

/* A put now over a version that is newer is the newest, if it is taken. */
static int put_over(const void *row, struct buf *out)
{
	static int puts;
	struct buf hold = {0};
	struct cell c;
	char value[16];
	int r;

	snprintf(value, sizeof(value), "%d", puts++);
	r = temp_put(&the.s, row, "f", "q", TS_AUTO, value);
	if (r < 0)
		return r;
	the.os->ops = sector.own;
	assert_int_equal(table_get(the.s.table, bytes_str(row), bytes_str("f"),
				   bytes_str("q"), TS_MAX, NULL, &c, &hold),
			 1);
	assert_true(bytes_eq(c.value, bytes_str(value)));
	buf_free(&hold);
	/* For the next: how new it is is read from a file. */
	return store_flush(the.s.store, NULL);
}

/* Each read fails, and then all is there, or it is told. How many reads it takes. */
static uint64_t fail_reads(int ask(const void *arg, struct buf *out),
			   const void *arg)
{
	struct buf all = {0}, some = {0};
	int r;

	assert_int_equal(ask(arg, &all), 0);
	read_fails = 0;
	do {
		assert_int_equal(temp_close(&the.s), 0);
		the.os->ops = sector.own;
		reopen();
		the.os->ops = &sector.ops;
		reads = 0;
		read_fails++;
		r = ask(arg, &some);
		the.os->ops = sector.own;
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
		else
			assert_int_equal(some.len, all.len);
		assert_true(some.len <= all.len);
		assert_memory_equal(some.data, all.data, some.len);
	} while (reads >= read_fails);
	buf_free(&all);
	buf_free(&some);
	return reads;
}

static uint64_t fail_each_read(int ask(const void *arg, struct buf *out),
			       const void *arg)
{
	reads_fail_on = true;
	fail_reads(ask, arg);
	reads_fail_on = false;
	return fail_reads(ask, arg);
}

TEST(who_asks_when_a_read_fails_has_all_or_is_told)
{
	const struct column_name only = {.family = bytes_str("f"),
					 .whole_family = true};
	struct scan_spec specs[] = {
		{.granularity = SCAN_ROWS},
		{.granularity = SCAN_CELLS},
		{.granularity = SCAN_COLUMNS},
		{.granularity = SCAN_ROWS, .columns = &only, .ncolumns = 1},
		{.granularity = SCAN_CELLS, .columns = &only, .ncolumns = 1},
		{.granularity = SCAN_CELLS, .reversed = true},
		{.granularity = SCAN_CELLS, .row_start = bytes_str("r")},
	};
	unsigned long bad = 0;
	struct filter *filter;

	assert_int_equal(
		filter_parse(bytes_str("ColumnPrefixFilter('q')"), &filter), 0);
	bad_sector(1, 0);
	sector.ops.pread = wanting_pread;
	the.os->ops = sector.own;
	put_many("f", 0, 1, 5);
	put_wide_row("f");
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	put_many("g", 0, 1, 5);
	put_many("f", 1, 7, 7);
	put_wide_row("g");
	delete_columns("f");
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		assert_true(fail_each_read(scanned, &specs[i]) > 5);
		if (specs[i].granularity != SCAN_CELLS)
			continue;
		specs[i].filter = filter;
		assert_true(fail_each_read(scanned, &specs[i]) > 5);
		specs[i].filter = NULL;
	}
	filter_free(filter);
	assert_int_equal(os_dir_list(the.dir, newest_file, &bad), 0);
	assert_int_equal(temp_close(&the.s), 0);
	flip(bad, file_bytes(bad) / 2);
	reopen();
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		if (!specs[i].reversed)
			assert_true(fail_each_read(scanned, &specs[i]) > 5);
	assert_int_equal(temp_close(&the.s), 0);
	flip(bad, file_bytes(bad) / 2);
	reopen();
	assert_true(fail_each_read(got, "000") > 0);
	assert_true(fail_each_read(got, "007") > 0);
	assert_int_equal(temp_put(&the.s, "000", "f", "q", TS_MAX - 999, "x"),
			 1);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	assert_true(fail_each_read(put_over, "000") > 0);
}

TEST(a_merge_leaves_out_a_file_with_a_damaged_block)
{
	unsigned long bad;

	file_of("f", ROWS("a", "b"), "1");
	file_of("f", ROWS("a", "c"), "2");
	bad = file_of("f", ROWS("m", "p"), "3");
	file_of("f", ROWS("n"), "4");
	file_of("f", ROWS("x"), "5");
	file_of("f", ROWS("x", "y"), "6");
	assert_int_equal(temp_close(&the.s), 0);
	flip(bad, file_bytes(bad));
	reopen();
	assert_int_equal(the.nsaid, 0);
	assert_int_equal(store_compact(the.s.store, NULL), 0);
	assert_int_equal(the.nsaid, 1);
	assert_non_null(strstr(the.said[0], "table t, family f: "));
	assert_non_null(
		strstr(the.said[0], "block at byte 0, rows 'm' to 'p'"));
	/* What is merged, what is damaged, what lies over it. */
	assert_int_equal(stat_of("sstables"), 3);
	assert_int_equal(stat_of("sstables_damaged"), 1);
	assert_int_equal(stat_of("level_sstables{level=\"0\"}"), 2);
	assert_int_equal(store_compact(the.s.store, NULL), 0);
	assert_int_equal(stat_of("sstables"), 3);
	assert_int_equal(get("a", "f"), 1);
	assert_int_equal(get("y", "f"), 1);
	assert_int_equal(get("p", "f"), -EUCLEAN);
	assert_int_equal(store_health(the.s.store), 0);
	assert_int_equal(the.nsaid, 1);
}

/*
 * Rows of one digit, each with the time of its last put or delete, while a file
 * of theirs is damaged. What is read is right or an error; when the damage is
 * undone all is right.
 */
struct random_rows {
	struct fixture *f;
	uint64_t seed;
	int64_t put[40], deleted[40]; /* times; 0 = never */
	int errors, answers;
};

static uint32_t draw(struct random_rows *k, uint32_t n)
{
	k->seed = k->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(k->seed >> 33) % n;
}

static void change_one(struct random_rows *k, int64_t now)
{
	uint32_t at = draw(k, 40);
	char row[8], value[16];
	bool delete = draw(k, 4) == 0;
	struct change c = {.op = delete ? CHANGE_DELETE_COLUMN : CHANGE_PUT,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = now};
	struct mutation m = {.changes = &c, .nchanges = 1};

	snprintf(row, sizeof(row), "%02u", at);
	snprintf(value, sizeof(value), "%d", (int)now);
	m.row = bytes_str(row);
	if (!delete)
		c.value = bytes_str(value);
	assert_int_equal(table_mutate(k->f->s.table, &m, 0), 1);
	(delete ? k->deleted : k->put)[at] = now;
}

static void check_one(struct random_rows *k, uint32_t at, bool whole)
{
	struct buf hold = {0};
	struct cell c;
	char row[8], value[16];
	bool there = k->put[at] > k->deleted[at];
	int r;

	snprintf(row, sizeof(row), "%02u", at);
	snprintf(value, sizeof(value), "%d", (int)k->put[at]);
	r = table_get(k->f->s.table, bytes_str(row), bytes_str("f"),
		      bytes_str("q"), TS_MAX, NULL, &c, &hold);
	if (r == -EUCLEAN && !whole) {
		k->errors++;
	} else {
		assert_int_equal(r, there);
		if (there)
			assert_true(bytes_eq(c.value, bytes_str(value)));
		k->answers++;
	}
	buf_free(&hold);
}

static void step(struct random_rows *k, int64_t now)
{
	struct lsm *db = (struct lsm *)k->f->s.store;
	int merges = 0;

	for (uint32_t i = draw(k, 6) + 1; i; i--)
		change_one(k, 10 * now + 9 - i);
	assert_int_equal(store_flush(k->f->s.store, NULL), 0);
	if (draw(k, 20) == 0)
		assert_int_equal(store_compact(k->f->s.store, NULL), 0);
	while (draw(k, 3) && compact_one(db) > 0)
		assert_true(++merges < 100);
}

TEST(merges_around_damage_change_no_answer)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct random_rows k = {.f = &the, .seed = seed};
		unsigned long bad = 0;
		uint64_t back;

		assert_int_equal(
			store_table_truncate(the.s.store, bytes_str("t")), 0);
		for (int64_t now = 1; now <= 30; now++)
			step(&k, now);
		change_one(&k, 310);
		assert_int_equal(store_flush(the.s.store, NULL), 0);
		/* The newest file, or the oldest one; its end or its start. */
		if (seed % 2)
			assert_int_equal(
				os_dir_list(the.dir, newest_file, &bad), 0);
		else
			assert_int_equal(
				os_dir_list(the.dir, oldest_file, &bad), 0);
		assert_int_equal(temp_close(&the.s), 0);
		back = seed % 3 ? 1 : file_bytes(bad);
		flip(bad, back);
		reopen();
		for (int64_t now = 40; now <= 120; now++) {
			step(&k, now);
			for (uint32_t i = 0; i < 40; i++)
				check_one(&k, i, false);
			assert_in_range(stat_of("level_sstables{level=\"0\"}"),
					0, 24);
		}
		assert_true(k.answers > 0);
		assert_int_equal(stat_of("sstables_damaged"), 1);
		assert_int_equal(temp_close(&the.s), 0);
		flip(bad, back);
		reopen();
		for (uint32_t i = 0; i < 40; i++)
			check_one(&k, i, true);
		assert_int_equal(store_compact(the.s.store, NULL), 0);
		for (uint32_t i = 0; i < 40; i++)
			check_one(&k, i, true);
		assert_int_equal(stat_of("sstables_damaged"), 0);
	}
}
