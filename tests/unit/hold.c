/*
 * The files of one moment: copied while the store goes on, they are the store of
 * that moment. Of the store itself, of one that is served, of one open to read.
 */
#include <sys/stat.h>

#include "tests/unit/unit.h"
#include "store/hold.h"
#include "tests/model/loop.h"
#include "tests/unit/temp_store.h"

static struct {
	struct temp_store s;
	char copy[80];
} the;

static int set_up(void **state)
{
	memset(&the, 0, sizeof(the));
	snprintf(the.s.path, sizeof(the.s.path), "/tmp/cellfs-hold-XXXXXX");
	assert_non_null(mkdtemp(the.s.path));
	snprintf(the.copy, sizeof(the.copy), "%s.copy", the.s.path);
	the.s.options.inline_background = true;
	the.s.options.wal_segment_bytes = 65536;
	assert_int_equal(temp_open(&the.s), 0);
	return 0;
}

static int tear_down(void **state)
{
	char cmd[256];

	assert_int_equal(temp_close(&the.s), 0);
	snprintf(cmd, sizeof(cmd), "rm -r %s %s", the.s.path, the.copy);
	assert_int_equal(system(cmd), 0);
	return 0;
}

EACH_TEST_IN(set_up, tear_down);

static void put(struct temp_store *s, int n)
{
	struct change c = a_put(n % 2 ? "f" : "g", "q", TS_AUTO, "some value");
	struct mutation m = {.changes = &c, .nchanges = 1};
	char row[16];

	snprintf(row, sizeof(row), "%08d", n);
	m.row = bytes_str(row);
	assert_int_equal(table_mutate(s->table, &m, 0), 1);
}

static void put_many(struct temp_store *s, int from, int to)
{
	for (int n = from; n < to; n++)
		put(s, n);
}

/* The first bytes of a file; the rest is a hole. */
static void copy_file(const struct hold_file *f, struct bytes content)
{
	char from[128], to[128];
	uint8_t *bytes = malloc(f->bytes ? f->bytes : 1);
	FILE *in, *out;

	snprintf(from, sizeof(from), "%s/%s", the.s.path, f->name);
	snprintf(to, sizeof(to), "%s/%s", the.copy, f->name);
	if (content.data) {
		memcpy(bytes, content.data, f->bytes);
	} else {
		in = fopen(from, "r");
		assert_non_null(in);
		assert_int_equal(fread(bytes, 1, f->bytes, in), f->bytes);
		fclose(in);
	}
	out = fopen(to, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, f->bytes, out), f->bytes);
	fclose(out);
	assert_int_equal(truncate(to, (off_t)f->size), 0);
	free(bytes);
}

static void copy(const struct hold *h)
{
	assert_int_equal(mkdir(the.copy, 0700), 0);
	assert_int_equal(h->files[0].bytes, h->catalog.len);
	for (size_t i = 0; i < h->nfiles; i++)
		copy_file(&h->files[i],
			  i ? (struct bytes){0} : buf_bytes(&h->catalog));
}

static void say(void *arg, const char *sentence)
{
	print_message("%s\n", sentence);
}

/* The copy is sound, and has the rows below @n and no others. */
static void has_rows(int n)
{
	struct temp_store s = {.options = the.s.options};
	struct scan_spec spec = {.granularity = SCAN_ROWS, .versions = 1};
	struct scan *sc;
	struct cell c;
	char row[16];
	int rows = 0;

	snprintf(s.path, sizeof(s.path), "%.63s", the.copy);
	assert_int_equal(store_check_copy(the.copy, NULL, NULL, say, NULL), 0);
	s.options.read_only = false;
	assert_int_equal(temp_open(&s), 0);
	assert_int_equal(scan_open(s.table, &spec, &sc), 0);
	while (scan_next(sc, &c) > 0) {
		snprintf(row, sizeof(row), "%.*s", (int)c.row.len,
			 (const char *)c.row.data);
		assert_int_equal(atoi(row), rows);
		rows++;
	}
	scan_close(sc);
	assert_int_equal(rows, n);
	assert_int_equal(temp_close(&s), 0);
}

/* Takes all that was held from under the hold, and uses its files again. */
static void go_on(struct temp_store *s)
{
	for (int i = 0; i < 4; i++) {
		put_many(s, 1000 * (i + 1), 1000 * (i + 2));
		assert_int_equal(store_flush(s->store, NULL), 0);
	}
	assert_int_equal(store_compact(s->store, NULL), 0);
	table_unref(s->table);
	s->table = NULL;
	assert_int_equal(store_table_drop(s->store, bytes_str("t"), false), 0);
}

TEST(what_is_held_stays_while_the_store_goes_on)
{
	struct hold *h;

	put_many(&the.s, 0, 300);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	put_many(&the.s, 300, 500);
	assert_int_equal(store_hold(the.s.store, &h), 0);
	go_on(&the.s);
	copy(h);
	hold_release(h);
	has_rows(500);
}

TEST(a_session_holds_as_the_store_does)
{
	struct store *client;
	struct hold *h;

	put_many(&the.s, 0, 500);
	assert_int_equal(loop_open(the.s.store, NULL, &client), 0);
	assert_int_equal(store_hold(client, &h), 0);
	go_on(&the.s);
	copy(h);
	hold_release(h);
	assert_int_equal(store_close(client), 0);
	has_rows(500);
}

TEST(a_session_holds_one_state_at_a_time)
{
	struct hold *h, *second;
	struct store *client;

	assert_int_equal(mkdir(the.copy, 0700), 0);
	assert_int_equal(loop_open(the.s.store, NULL, &client), 0);
	assert_int_equal(store_hold(client, &h), 0);
	assert_int_equal(store_hold(client, &second), -EMFILE);
	assert_string_equal(store_why(), "this client holds files already: "
					 "release them first");
	hold_release(h);
	assert_int_equal(store_hold(client, &h), 0);
	hold_release(h);
	assert_int_equal(store_close(client), 0);
}

/* The names of table files and segments in the store's directory. */
static int count_files(const char *end)
{
	char cmd[160];
	int n = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "ls %s | grep -c '%s$'", the.s.path, end);
	f = popen(cmd, "r");
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

TEST(what_was_held_goes_when_it_is_released)
{
	struct store *client;
	struct hold *h;
	int logs;

	put_many(&the.s, 0, 500);
	assert_int_equal(loop_open(the.s.store, NULL, &client), 0);
	assert_int_equal(store_hold(client, &h), 0);
	go_on(&the.s);
	assert_int_equal(mkdir(the.copy, 0700), 0);
	assert_int_equal(count_files(".sst"), 2);
	logs = count_files(".log");
	/* A client that dies says nothing. */
	assert_int_equal(store_close(client), 0);
	assert_int_equal(count_files(".sst"), 0);
	assert_int_equal(store_table_create(the.s.store, bytes_str("t"), NULL),
			 0);
	assert_int_equal(table_open(the.s.store, bytes_str("t"), &the.s.table),
			 0);
	assert_int_equal(table_add_family(the.s.table, bytes_str("f")), 0);
	put(&the.s, 1);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	assert_true(count_files(".log") < logs);
	/* Its end of the hold is freed without a store behind it. */
	free(h->files);
	buf_free(&h->catalog);
	free(h);
}

TEST(a_store_that_is_read_is_held_with_its_ring)
{
	struct hold *h;

	put_many(&the.s, 0, 300);
	assert_int_equal(store_flush(the.s.store, NULL), 0);
	put_many(&the.s, 300, 500);
	assert_int_equal(temp_close(&the.s), 0);
	the.s.options.read_only = true;
	assert_int_equal(temp_open(&the.s), 0);
	assert_int_equal(store_hold(the.s.store, &h), 0);
	copy(h);
	hold_release(h);
	has_rows(500);
}
