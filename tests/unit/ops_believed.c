/*
 * How long the kernel and the mount believe what was found: that a name is absent,
 * that a version is there, how many rows a view has; and what depends on the clock.
 */
#include "tests/unit/kernel.h"

#include "store/front/backend.h"
#include "store/os/clock.h"
#include "tests/model/ref_store.h"

EACH_TEST_IN(world_set_up, world_tear_down);

/* What happens while a name is found to be absent. */
static void (*meanwhile)(struct fs *fs, const struct place *p);
/* What the clock that nobody sets shows; -1 = the machine's. */
static int64_t clock_at_ms = -1;

double __real_place_negative_timeout(struct fs *fs, const struct place *p);
double __wrap_place_negative_timeout(struct fs *fs, const struct place *p);
double __wrap_place_negative_timeout(struct fs *fs, const struct place *p)
{
	if (meanwhile)
		meanwhile(fs, p);
	return __real_place_negative_timeout(fs, p);
}

int __real_clock_gettime(clockid_t which, struct timespec *out);
int __wrap_clock_gettime(clockid_t which, struct timespec *out);
int __wrap_clock_gettime(clockid_t which, struct timespec *out)
{
	if (which != CLOCK_MONOTONIC || clock_at_ms < 0)
		return __real_clock_gettime(which, out);
	out->tv_sec = clock_at_ms / 1000;
	out->tv_nsec = clock_at_ms % 1000 * 1000000;
	return 0;
}

static void row_changes(struct fs *fs, const struct place *p)
{
	changes_row(&fs->changes, p->row);
}

/* The reply to FUSE_INIT, which offered all, is the first. */
TEST(the_kernel_is_told_what_it_may_do)
{
	const uint32_t wanted = FUSE_ATOMIC_O_TRUNC | FUSE_DO_READDIRPLUS |
				FUSE_READDIRPLUS_AUTO | FUSE_ASYNC_READ;
	struct fuse_init_out init;

	memcpy(&init, answer.data, sizeof(init));
	assert_int_equal(init.flags & wanted, wanted);
	/* What was written is never in the kernel alone. */
	assert_int_equal(init.flags & FUSE_WRITEBACK_CACHE, 0);
}

TEST(an_absent_name_is_believed_for_as_long_as_it_may)
{
	uint64_t table, row, control, staged;

	row = a_row_with_a_cell(&table);
	staged = made_dir(looked_up(table, ".stage"), "S");
	assert_absent(table, "R", 1);
	assert_absent(row, "g", 0);
	assert_absent(row, "f:x", 0);
	/* No key is ever spelled so. */
	assert_absent(table, "a%zz", 3600);
	assert_absent(FUSE_ROOT_ID, "no table", 3600);
	assert_int_equal(look(FUSE_ROOT_ID, ".cellfs"), 0);
	control = given();
	assert_absent(control, "nothing", 3600);
	/* It becomes a row, with what the kernel believes of it. */
	assert_absent(staged, "f:q", 0);
	/* The row may have been made since it was looked for. */
	meanwhile = row_changes;
	assert_absent(table, "R", 0);
	meanwhile = NULL;
	assert_absent(table, "R", 1);
}

/* A notice about what is written to it may be faster than the reply. */
TEST(what_was_made_meanwhile_is_believed_for_no_time_by_who_writes_it)
{
	struct fuse_entry_out e;

	assert_int_equal(create(a_row_with_a_cell(NULL), "f:q"), 0);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.entry_valid + e.entry_valid_nsec, 0);
	assert_int_equal(e.attr_valid + e.attr_valid_nsec, 0);
}

TEST(a_past_that_cannot_be_shown_is_no_absent_one)
{
	uint64_t row, column;

	row = a_row_with_a_cell(NULL);
	column = looked_up(looked_up(row, "f"), "q");
	ref_store_as_hbase(world.store);
	assert_int_equal(look(column, "@5"), -EOPNOTSUPP);
}

TEST(rows_are_believed_absent_for_twice_a_second)
{
	/* The machine has just started, and nobody has missed a row. */
	clock_at_ms = 1;
	assert_false(fs_rows_believed_absent(world.fs));
	clock_at_ms = 5000;
	assert_true(fs_row_absent(world.fs) == 1);
	assert_true(fs_rows_believed_absent(world.fs));
	clock_at_ms = 7000;
	assert_true(fs_rows_believed_absent(world.fs));
	clock_at_ms = 7001;
	assert_false(fs_rows_believed_absent(world.fs));
	fs_row_absent(world.fs);
	clock_at_ms = 9001;
	assert_true(fs_rows_believed_absent(world.fs));
	clock_at_ms = -1;
}

TEST(a_schema_that_was_removed_is_absent_for_ten_seconds)
{
	uint64_t table;

	a_row_with_a_cell(&table);
	clock_at_ms = 5000;
	assert_int_equal(ask(FUSE_UNLINK, table, NOTHING, name_of(".schema")),
			 0);
	world.pid = 11;
	clock_at_ms = 5000 + 10000 - 1;
	assert_absent(table, ".schema", 0);
	clock_at_ms++;
	looked_up(table, ".schema");
	clock_at_ms = -1;
}

/* The kernel forgets what it has no room for. */
static uint64_t forgotten_and_found(uint64_t table)
{
	forget(table);
	assert_false(nodes_known(world.fs->nodes, table, true));
	return looked_up(FUSE_ROOT_ID, "T");
}

TEST(a_schema_is_absent_although_the_kernel_forgets_its_table)
{
	uint64_t table = made_dir(FUSE_ROOT_ID, "T");

	clock_at_ms = 5000;
	assert_int_equal(ask(FUSE_UNLINK, table, NOTHING, name_of(".schema")),
			 0);
	table = forgotten_and_found(table);
	world.pid = 11;
	clock_at_ms = 5000 + 10000 - 1;
	assert_absent(table, ".schema", 0);
	clock_at_ms++;
	looked_up(table, ".schema");
	clock_at_ms = -1;
}

TEST(who_made_a_table_makes_its_schema_although_the_kernel_forgets_the_table)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_EXCL,
				    .mode = S_IFREG | 0644};
	struct fuse_getattr_in none = {0};
	uint64_t table = forgotten_and_found(made_dir(FUSE_ROOT_ID, "T"));

	assert_int_equal(look(table, ".schema"), -ESTALE);
	assert_int_equal(ask(FUSE_GETATTR, table, ARGS(none), NOTHING), 0);
	assert_int_equal(ask(FUSE_GETATTR, table, ARGS(none), NOTHING), 0);
	assert_absent(table, ".schema", 0);
	assert_int_equal(ask(FUSE_CREATE, table, ARGS(in), name_of(".schema")),
			 0);
}

TEST(a_kernel_of_protocol_44_forgets_all_names_at_once)
{
	assert_true(world.fs->forgets_names);
}

/* For how many milliseconds a version of that age may be believed. */
static uint64_t believed_ms(uint64_t column, int64_t age_ms)
{
	struct fuse_entry_out e;
	char name[32];

	snprintf(name, sizeof(name), "%lld",
		 (long long)(store_now_ms(world.store) - age_ms));
	assert_int_equal(make_file(column, name), 0);
	looked_up(column, name);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr_valid, e.entry_valid);
	assert_int_equal(e.attr_valid_nsec, e.entry_valid_nsec);
	return e.entry_valid * 1000 + (e.entry_valid_nsec + 500000) / 1000000;
}

TEST(a_version_is_believed_for_as_long_as_it_lives)
{
	static const char text[] = "families open\n"
				   "family f\n\tttl 10s\n\tversions 9\n"
				   "family g\n\tversions 9\n"
				   "family h\n\tttl 1d\n\tversions 9\n";
	struct schema schema;
	uint64_t row, f, g, h;

	assert_int_equal(schema_parse(bytes_str(text), NULL, &schema), 0);
	assert_int_equal(
		store_table_create(world.store, bytes_str("T"), &schema), 0);
	schema_free(&schema);
	row = made_dir(looked_up(FUSE_ROOT_ID, "T"), "R");
	f = made_dir(made_dir(row, "f"), "q");
	g = made_dir(made_dir(row, "g"), "q");
	h = made_dir(made_dir(row, "h"), "q");
	assert_int_equal(believed_ms(f, 0), 10000);
	assert_int_equal(believed_ms(f, 4000), 6000);
	assert_int_equal(believed_ms(f, 9999), 1);
	assert_int_equal(believed_ms(g, 0), 3600000);
	assert_int_equal(believed_ms(g, 4000), 3600000);
	/* An hour at most. */
	assert_int_equal(believed_ms(h, 0), 3600000);
	assert_int_equal(believed_ms(h, 86400000 - 3600000), 3600000);
	assert_int_equal(believed_ms(h, 86400000 - 3599999), 3599999);
}

/* No notice of a change reaches a view. */
TEST(what_a_view_shows_is_believed_for_a_second)
{
	static const char *const path[] = {".range", "A..", "P", "f", "q", "5"};
	struct fuse_entry_out e;
	uint64_t table, row, at;

	row = a_row_with_a_cell(&table);
	at = looked_up(looked_up(row, "f"), "q");
	assert_int_equal(make_file(at, "5"), 0);
	at = table;
	for (size_t i = 0; i < sizeof(path) / sizeof(*path); i++) {
		assert_int_equal(look(at, path[i]), 0);
		at = given();
		memcpy(&e, answer.data, sizeof(e));
		/* The directory of all ranges is always there. */
		assert_int_equal(e.entry_valid, i ? 1 : 3600);
		assert_int_equal(e.attr_valid, e.entry_valid);
		assert_int_equal(e.attr_valid_nsec + e.entry_valid_nsec, 0);
	}
}

/* P of T, which the kernel hears nothing of, has @c. */
static void change_row(struct change c)
{
	struct mutation m = change_of("P", &c);
	struct table *t;

	assert_int_equal(table_open(world.store, bytes_str("T"), &t), 0);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	table_unref(t);
}

/* Lists the directory up to its @most-th name. Is the kernel to keep the names? */
static bool is_listed_to_keep(uint64_t dir, unsigned most)
{
	struct fuse_open_in open = {.flags = O_RDONLY};
	struct fuse_read_in in = {
		.size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + 10)};
	struct fuse_release_in release = {0};
	struct fuse_dirent e;
	struct fuse_open_out out;

	assert_int_equal(ask(FUSE_OPENDIR, dir, ARGS(open), NOTHING), 0);
	memcpy(&out, answer.data, sizeof(out));
	in.fh = release.fh = out.fh;
	/* One at a time. */
	for (unsigned n = 0; n < most; n++) {
		assert_int_equal(ask(FUSE_READDIR, dir, ARGS(in), NOTHING), 0);
		if (!answer.len)
			break;
		memcpy(&e, answer.data, sizeof(e));
		in.offset = e.off;
	}
	assert_int_equal(ask(FUSE_RELEASEDIR, dir, ARGS(release), NOTHING), 0);
	return out.open_flags & FOPEN_CACHE_DIR;
}

/* Each has a name of its own. */
static void put_columns(unsigned n)
{
	static unsigned last;
	char name[16];

	while (n--) {
		snprintf(name, sizeof(name), "%04u", last++);
		change_row(a_put("f", name, TS_AUTO, ""));
	}
}

/* Who wants but the first few names does not wait for the attributes of many. */
TEST(the_first_reply_with_attributes_is_short)
{
	const uint32_t little = 6 << 10;
	struct fuse_open_in open = {.flags = O_RDONLY};
	struct fuse_read_in in = {.size = 16 << 10};
	struct fuse_release_in release = {0};
	struct fuse_direntplus e;
	struct fuse_open_out out;
	uint64_t family;

	family = looked_up(a_row_with_a_cell(NULL), "f");
	put_columns(400);
	assert_int_equal(ask(FUSE_OPENDIR, family, ARGS(open), NOTHING), 0);
	memcpy(&out, answer.data, sizeof(out));
	in.fh = release.fh = out.fh;
	assert_int_equal(ask(FUSE_READDIR, family, ARGS(in), NOTHING), 0);
	assert_true(answer.len > little);
	assert_int_equal(ask(FUSE_READDIRPLUS, family, ARGS(in), NOTHING), 0);
	assert_true(answer.len > little / 2 && answer.len <= little);
	memcpy(&e, answer.data, sizeof(e));
	in.offset = e.dirent.off;
	assert_int_equal(ask(FUSE_READDIRPLUS, family, ARGS(in), NOTHING), 0);
	assert_true(answer.len > little);
	assert_int_equal(ask(FUSE_RELEASEDIR, family, ARGS(release), NOTHING),
			 0);
}

TEST(of_a_large_directory_the_kernel_keeps_no_names)
{
	const unsigned all = 1000;
	uint64_t family;

	family = looked_up(a_row_with_a_cell(NULL), "f");
	/* With q, and the directory's own two. */
	put_columns(512 - 3);
	assert_true(is_listed_to_keep(family, all));
	assert_true(is_listed_to_keep(family, all));
	put_columns(1);
	assert_true(is_listed_to_keep(family, all));
	assert_false(is_listed_to_keep(family, all));
	empty_row("P");
	put_columns(512 - 2);
	assert_false(is_listed_to_keep(family, all));
	assert_true(is_listed_to_keep(family, all));
	/* Who reads so many has seen that they are. */
	put_columns(10);
	assert_true(is_listed_to_keep(family, 500));
	assert_true(is_listed_to_keep(family, 515));
	assert_false(is_listed_to_keep(family, all));
}

/* The figure @name of the store. */
static uint64_t figure(const char *name)
{
	struct store_stat f;

	for (unsigned i = 0; store_stat(world.store, i, &f) > 0; i++)
		if (!strcmp(f.name, name))
			return f.value;
	fail_msg("the store has no %s", name);
	return 0;
}

/* At its end, too, which the kernel asks for again. */
TEST(a_listing_is_one_scan)
{
	uint64_t family, scans;

	family = looked_up(a_row_with_a_cell(NULL), "f");
	put_columns(3);
	/* In memory alone, and the last by its name. */
	made_dir(family, "x");
	made_dir(family, "y");
	scans = figure("scans_total");
	is_listed_to_keep(family, 1000);
	assert_int_equal(figure("scans_total"), scans + 1);
}

TEST(what_counts_in_a_view_is_counted_once_a_second)
{
	uint64_t table, first, scans;

	clock_at_ms = 5000;
	a_row_with_a_cell(&table);
	assert_int_equal(look(table, ".first"), 0);
	first = looked_up(given(), "2");
	looked_up(first, "P");
	scans = figure("scans_total");
	looked_up(first, "P");
	assert_int_equal(figure("scans_total"), scans + 1);
	clock_at_ms += 1000;
	looked_up(first, "P");
	assert_int_equal(figure("scans_total"), scans + 3);
	clock_at_ms = -1;
}

static int no_scan(struct table *t, const struct scan_spec *spec,
		   struct scan **out)
{
	return why(-EIO, "the disk does not answer");
}

TEST(what_cannot_be_counted_is_not_absent)
{
	static const char *const past[] = {".at", "now", ".first", "2"};
	const struct store_ops *real = world.store->ops;
	struct store_ops ops = *real;
	uint64_t table, first, values;

	values = looked_up(a_row_with_a_cell(&table), "f");
	for (size_t i = 0; i < sizeof(past) / sizeof(*past); i++)
		values = looked_up(values, past[i]);
	first = looked_up(looked_up(table, ".first"), "2");
	ops.scan_open = no_scan;
	world.store->ops = &ops;
	/* A directory, and a file. */
	assert_int_equal(look(first, "P"), -EIO);
	assert_int_equal(look(values, "q"), -EIO);
	world.store->ops = real;
	looked_up(first, "P");
	looked_up(values, "q");
}

static void a_second_passes(struct fs *fs, const struct place *p)
{
	clock_at_ms += 1000;
}

static void all_is_to_be_shown(struct fs *fs, const struct place *p)
{
	trace_set_slow(fs->trace, 0);
}

/* How many lines a look-up of an absent name brings into the trace. */
static size_t lines_of_a_look(uint64_t dir, uint64_t *seq)
{
	struct buf out = {0};
	size_t n = 0;

	assert_absent(dir, "R", 1);
	assert_int_not_equal(trace_lines(world.fs->trace, seq, 4096, 0, &out),
			     -1);
	for (size_t i = 0; i < out.len; i++)
		n += out.data[i] == '\n';
	buf_free(&out);
	return n;
}

TEST(the_trace_has_what_takes_as_long_as_slow)
{
	struct trace *t;
	uint64_t table, seq;

	t = world.fs->trace;
	a_row_with_a_cell(&table);
	clock_at_ms = 5000;
	assert_int_equal(trace_watch(t, &seq), 0);
	assert_int_equal(lines_of_a_look(table, &seq), 1);
	meanwhile = a_second_passes;
	trace_set_slow(t, NS_PER_S);
	assert_int_equal(lines_of_a_look(table, &seq), 1);
	trace_set_slow(t, NS_PER_S + 1);
	assert_int_equal(lines_of_a_look(table, &seq), 0);
	/* What has begun is judged as it was to be then. */
	meanwhile = all_is_to_be_shown;
	assert_int_equal(lines_of_a_look(table, &seq), 0);
	meanwhile = NULL;
	assert_int_equal(lines_of_a_look(table, &seq), 1);
	trace_unwatch(t);
	assert_int_equal(lines_of_a_look(table, &seq), 0);
	clock_at_ms = -1;
}
