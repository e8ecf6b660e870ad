/*
 * Who reads a file and who writes it beside each other: what each of them sees, and
 * what the kernel may have cached of it.
 */
#include "tests/unit/kernel.h"

#include "fs/change/changed.h"
#include "fs/files/writer_inside.h"
#include "store/os/clock.h"

EACH_TEST_IN(world_set_up, world_tear_down);

/* What another does between a look at a file and the answer about it. */
static void (*behind_look)(void);

bool __real_writer_hides(struct fs *fs, uint64_t node, pid_t asker);
bool __wrap_writer_hides(struct fs *fs, uint64_t node, pid_t asker);
bool __wrap_writer_hides(struct fs *fs, uint64_t node, pid_t asker)
{
	if (behind_look)
		behind_look();
	return __real_writer_hides(fs, node, asker);
}

/* What happens when the store was asked for attributes, and writers are not yet. */
static void (*behind_stat)(void);

int __real_writer_stat_draft(struct fs *fs, const struct place *p,
			     const struct open_file *f, pid_t asker,
			     struct stat *st);
int __wrap_writer_stat_draft(struct fs *fs, const struct place *p,
			     const struct open_file *f, pid_t asker,
			     struct stat *st);
int __wrap_writer_stat_draft(struct fs *fs, const struct place *p,
			     const struct open_file *f, pid_t asker,
			     struct stat *st)
{
	if (behind_stat)
		behind_stat();
	return __real_writer_stat_draft(fs, p, f, asker, st);
}

/* What another does once the file that one opens is cached. */
static void (*behind_cache)(void);

enum nodes_cache __real_nodes_cache(struct nodes *ns, uint64_t id,
				    uint32_t state);
enum nodes_cache __wrap_nodes_cache(struct nodes *ns, uint64_t id,
				    uint32_t state);
enum nodes_cache __wrap_nodes_cache(struct nodes *ns, uint64_t id,
				    uint32_t state)
{
	enum nodes_cache r = __real_nodes_cache(ns, id, state);

	if (behind_cache)
		behind_cache();
	return r;
}

/* What another does while the thread waits. */
static _Thread_local void (*as_one_waits)(void);
static _Thread_local uint64_t waits_until;

bool __real_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns);
bool __wrap_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns);
bool __wrap_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns)
{
	if (!as_one_waits)
		return __real_clock_cond_wait(cond, lock, until_ns);
	waits_until = until_ns;
	pthread_mutex_unlock(lock);
	as_one_waits();
	pthread_mutex_lock(lock);
	return true;
}

static int puts_fail;

int __real_cellfile_put(struct fs *fs, const struct place *p,
			struct bytes value, struct piece *piece, int64_t ts,
			unsigned flags, int64_t *ts_given);
int __wrap_cellfile_put(struct fs *fs, const struct place *p,
			struct bytes value, struct piece *piece, int64_t ts,
			unsigned flags, int64_t *ts_given);
int __wrap_cellfile_put(struct fs *fs, const struct place *p,
			struct bytes value, struct piece *piece, int64_t ts,
			unsigned flags, int64_t *ts_given)
{
	return puts_fail ? puts_fail
			 : __real_cellfile_put(fs, p, value, piece, ts, flags,
					       ts_given);
}

TEST(a_reader_keeps_its_value_and_who_writes_has_another_node)
{
	uint64_t column, file, now, handle;
	struct fuse_write_in in = {.size = 3};
	struct fuse_open_in open = {.flags = O_WRONLY};

	column = a_column_with_a_cell();
	assert_int_equal(make_file(column, "5"), 0);
	file = looked_up(column, "5");
	in.fh = opened_file(file, O_WRONLY);
	assert_int_equal(ask(FUSE_WRITE, file, ARGS(in), bytes_str("one")), 0);
	closed_file(file, in.fh);
	handle = opened_file(file, O_RDONLY);
	assert_int_equal(ask(FUSE_OPEN, file, ARGS(open), NOTHING), -ESTALE);
	now = looked_up(column, "5");
	assert_int_not_equal(now, file);
	in.fh = opened_file(now, O_WRONLY);
	assert_int_equal(ask(FUSE_WRITE, now, ARGS(in), bytes_str("two")), 0);
	closed_file(now, in.fh);
	assert_reads(file, handle, 0, "one");
	closed_file(file, handle);
	handle = opened_file(now, O_RDONLY);
	assert_reads(now, handle, 0, "two");
	closed_file(now, handle);
}

/* Changes P/f/q, and has the mount not tell it. */
static void change_untold(uint8_t op, int64_t ts, const char *value)
{
	struct change c = {.op = op,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = ts,
			   .value = bytes_str(value)};
	struct mutation m = change_of("P", &c);
	struct table *t;

	assert_int_equal(table_open(world.store, bytes_str("T"), &t), 0);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	table_unref(t);
}

/* Puts the version 5 so. */
static void put_untold(const char *value)
{
	change_untold(CHANGE_PUT, 5, value);
}

/* The column P/f/q, its version 5, and the handle by which one has that open. */
static struct {
	uint64_t column, file, handle;
} reader;

/* Begins with a version 5 that the kernel has looked up, and heard of no other way. */
static void begin_untold(const char *value)
{
	reader.column = a_column_with_a_cell();
	put_untold(value);
	reader.file = looked_up(reader.column, "5");
}

static uint64_t size_told(uint64_t node, bool *believed)
{
	struct fuse_getattr_in in = {0};
	struct fuse_attr_out out;

	assert_int_equal(ask(FUSE_GETATTR, node, ARGS(in), NOTHING), 0);
	memcpy(&out, answer.data, sizeof(out));
	*believed = out.attr_valid > 0;
	return out.attr.size;
}

TEST(a_reader_keeps_its_size_while_a_put_is_not_told_yet)
{
	uint64_t now;
	bool believed;

	begin_untold("one");
	reader.handle = opened_file(reader.file, O_RDONLY);
	put_untold("longer");
	now = looked_up(reader.column, "5");
	assert_int_not_equal(now, reader.file);
	assert_int_equal(size_told(now, &believed), 6);
	assert_true(believed);
	assert_int_equal(size_told(reader.file, &believed), 3);
	closed_file(reader.file, reader.handle);
	/* Nor is it told by attributes alone. */
	reader.handle = opened_file(now, O_RDONLY);
	put_untold("short");
	assert_int_equal(size_told(now, &believed), 6);
	assert_false(believed);
	reader.file = looked_up(reader.column, "5");
	assert_int_equal(size_told(reader.file, &believed), 5);
	closed_file(now, reader.handle);
}

static void releases_its_file(void)
{
	as_one_waits = NULL;
	handles_release(world.fs->handles, world.fs, reader.handle);
}

/* The file was closed so many hours from now, however long a test takes. */
static void closed_in(uint64_t hours)
{
	struct open_file *f =
		handles_get(world.fs->handles, reader.handle, NULL);

	writer_of(f)->flushed_ns = monotonic_ns() + hours * 3600 * NS_PER_S;
	open_file_drop(f);
}

static uint64_t waited_until;

/* As each child of a shell that has it open does. */
static void closes_it_as_well(void)
{
	waited_until = waits_until;
	closed_in(2);
	writer_settled(world.fs);
	as_one_waits = releases_its_file;
}

/* Who waits has not waited longer for the second close. */
static void assert_waited_for_one(void)
{
	assert_null(as_one_waits);
	assert_int_equal(waits_until, waited_until);
}

/* close(2) is over before the daemon hears that it was the last one. */
TEST(what_was_closed_is_cached_for_who_reads_it_next)
{
	struct fuse_write_in in = {.size = 3};
	struct open_file *f;

	begin_untold("one");
	in.fh = reader.handle = opened_file(reader.file, O_WRONLY);
	/* Who may write on is not waited for. */
	as_one_waits = releases_its_file;
	assert_int_equal(
		ask(FUSE_WRITE, reader.file, ARGS(in), bytes_str("two")), 0);
	assert_true(is_read_past_cache(reader.file));
	assert_int_equal(flush_file(reader.file, reader.handle), 0);
	f = handles_get(world.fs->handles, reader.handle, NULL);
	assert_in_range(writer_of(f)->flushed_ns, 1, monotonic_ns());
	open_file_drop(f);
	closed_in(1);
	as_one_waits = closes_it_as_well;
	assert_false(is_read_past_cache(reader.file));
	assert_waited_for_one();
}

TEST(what_was_made_and_closed_is_waited_for_once)
{
	struct fuse_open_out out;
	uint64_t row = a_row_with_a_cell(NULL);

	assert_int_equal(create(row, "f:new"), 0);
	reader.file = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	reader.handle = out.fh;
	closed_in(1);
	world.pid = 11;
	as_one_waits = closes_it_as_well;
	assert_int_equal(looked_up(row, "f:new"), reader.file);
	assert_waited_for_one();
}

/* The first close is that of a child, of which two have the file. */
/* And each fsync(2). */
TEST(each_close_tells_that_what_was_written_is_not_put)
{
	struct fuse_write_in in = {.size = 3};
	struct fuse_fsync_in sync = {0};

	begin_untold("one");
	in.fh = sync.fh = opened_file(reader.file, O_WRONLY);
	assert_int_equal(
		ask(FUSE_WRITE, reader.file, ARGS(in), bytes_str("two")), 0);
	puts_fail = -ENOSPC;
	assert_int_equal(flush_file(reader.file, in.fh), -ENOSPC);
	puts_fail = 0;
	assert_int_equal(flush_file(reader.file, in.fh), -ENOSPC);
	assert_int_equal(ask(FUSE_FSYNC, reader.file, ARGS(sync), NOTHING),
			 -ENOSPC);
	assert_int_equal(
		ask(FUSE_WRITE, reader.file, ARGS(in), bytes_str("two")), 0);
	assert_int_equal(flush_file(reader.file, in.fh), 0);
	assert_int_equal(flush_file(reader.file, in.fh), 0);
	assert_int_equal(ask(FUSE_FSYNC, reader.file, ARGS(sync), NOTHING), 0);
	/* Nobody knows whether a put was made whose caller was killed meanwhile. */
	assert_int_equal(
		ask(FUSE_WRITE, reader.file, ARGS(in), bytes_str("six")), 0);
	puts_fail = -EINTR;
	assert_int_equal(flush_file(reader.file, in.fh), -EINTR);
	puts_fail = 0;
	assert_int_equal(flush_file(reader.file, in.fh), -ETIMEDOUT);
	closed_file(reader.file, in.fh);
}

static void puts_and_reads(void)
{
	struct answer own = answer;

	behind_look = NULL;
	put_untold("longer");
	changes_row(&world.fs->changes, bytes_str("P"));
	reader.handle = opened_file(reader.file, O_RDONLY);
	answer = own;
}

TEST(a_reader_is_newer_than_a_look_up_that_took_long)
{
	struct fuse_entry_out e;

	begin_untold("one");
	behind_look = puts_and_reads;
	assert_int_equal(looked_up(reader.column, "5"), reader.file);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr.size, 6);
	assert_int_equal(e.entry_valid, 0);
	closed_file(reader.file, reader.handle);
}

static void is_closed(void)
{
	struct answer own = answer;

	behind_stat = NULL;
	closed_file(reader.file, reader.handle);
	answer = own;
}

/* The kernel does not wait for the last close, which puts what is empty. */
TEST(who_has_emptied_a_file_finds_it_empty)
{
	struct fuse_attr_out out;
	bool believed;

	begin_untold("one");
	reader.handle = opened_file(reader.file, O_WRONLY | O_TRUNC);
	assert_int_equal(flush_file(reader.file, reader.handle), 0);
	behind_stat = is_closed;
	assert_int_equal(size_told(reader.file, &believed), 0);
	assert_null(behind_stat);
	assert_false(believed);
	assert_int_equal(size_told(reader.file, &believed), 0);
	assert_true(believed);
	put_untold("one");
	reader.handle = opened_file(reader.file, O_WRONLY | O_TRUNC);
	behind_stat = is_closed;
	assert_int_equal(set_attr(reader.file, FATTR_MODE), 0);
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(out.attr.size, 0);
	assert_int_equal(out.attr_valid, 0);
}

static void is_removed(void)
{
	struct answer own = answer;

	behind_stat = NULL;
	assert_int_equal(ask(FUSE_UNLINK, reader.column, NOTHING, name_of("5")),
			 0);
	answer = own;
}

/* Who has it open would read no more of it than that. */
TEST(what_goes_while_it_is_asked_for_is_not_empty)
{
	bool believed;

	begin_untold("three");
	behind_stat = is_removed;
	assert_int_equal(size_told(reader.file, &believed), 5);
	assert_null(behind_stat);
	assert_false(believed);
}

static void puts_and_asks(void)
{
	struct answer own = answer;
	bool believed;

	behind_cache = NULL;
	put_untold("longer");
	assert_int_equal(size_told(reader.file, &believed), 3);
	assert_false(believed);
	answer = own;
}

TEST(who_is_about_to_read_a_file_has_its_size)
{
	begin_untold("one");
	behind_cache = puts_and_asks;
	closed_file(reader.file, opened_file(reader.file, O_RDONLY));
	assert_null(behind_cache);
}

static void ends_its_change(void)
{
	behind_cache = NULL;
	changes_end(&world.fs->changes, bytes_str("P"));
}

/* What the kernel did not know as the change was told is known when it has ended. */
TEST(a_change_that_ends_as_one_opens_a_file_was_under_way)
{
	uint64_t file;

	file = looked_up(a_row_with_a_cell(NULL), "f:q");
	changes_begin(&world.fs->changes, bytes_str("P"));
	behind_cache = ends_its_change;
	assert_true(is_read_past_cache(file));
	behind_cache = NULL;
}

/* As a stream or a program loads them, which takes long. */
TEST(while_many_rows_change_another_table_is_cached)
{
	struct mutation rows[64];
	uint64_t table, file;
	struct table *of[2];

	file = looked_up(a_row_with_a_cell(&table), "f:q");
	made_dir(FUSE_ROOT_ID, "U");
	assert_int_equal(table_open(world.store, bytes_str("T"), &of[0]), 0);
	assert_int_equal(table_open(world.store, bytes_str("U"), &of[1]), 0);
	for (size_t i = 0; i < 64; i++)
		rows[i] = (struct mutation){.row = bytes_str("P")};
	for (size_t i = 0; i < 2; i++) {
		changed_begin(world.fs, of[i], rows, 64);
		assert_true(is_read_past_cache(file) == (i == 0));
		changed_end(world.fs, of[i], rows, 64);
		assert_false(is_read_past_cache(file));
		table_unref(of[i]);
	}
}

/* A compaction takes the sequences away, by which versions are told apart. */
TEST_IN(a_reader_keeps_its_size_beside_one_of_an_older_version,
	world_set_up_on_disk, world_tear_down)
{
	uint64_t table, row, file, old, now;
	bool believed;

	table = made_dir(FUSE_ROOT_ID, "T");
	row = made_dir(table, "P");
	made_dir(row, "f");
	change_untold(CHANGE_PUT, 5, "one");
	change_untold(CHANGE_PUT, 6, "longer");
	assert_int_equal(store_compact(world.store, NULL), 0);
	file = looked_up(row, "f:q");
	old = opened_file(file, O_RDONLY);
	changes_begin(&world.fs->changes, bytes_str("P"));
	change_untold(CHANGE_DELETE, 6, "");
	/* Of several that are alike the last one is found. */
	now = opened_file(file, O_RDONLY);
	changes_end(&world.fs->changes, bytes_str("P"));
	assert_int_equal(size_told(file, &believed), 6);
	closed_file(file, now);
	closed_file(file, old);
}
