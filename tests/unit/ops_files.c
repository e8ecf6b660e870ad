/* Files that are open, made, read and written, and the attributes of files. */
#include "tests/unit/kernel.h"
#include "tests/unit/temp_store.h"

#include "fs/change/changed.h"
#include "fs/files/lost_found.h"
#include "fs/files/writer_inside.h"
#include "fs/memory/write_state.h"
#include "store/os/clock.h"

/* A file is removed while it is asked whether it is hidden. */
static bool abandons;
/* What another does between a look at a file and the answer about it. */
static void (*behind_look)(void);
/* What another does between one's look-up of a file and its opening. */
static void (*meanwhile)(void);
/* Of so many more scratch files the content can be had. */
static unsigned contents = UINT32_MAX;
/* So many files are in lost+found. */
static unsigned keeps;

bool __real_writer_hides(struct fs *fs, uint64_t node, pid_t asker);
bool __wrap_writer_hides(struct fs *fs, uint64_t node, pid_t asker);
bool __wrap_writer_hides(struct fs *fs, uint64_t node, pid_t asker)
{
	struct writers held;

	if (abandons) {
		writers_hold(fs, node, &held);
		writers_end(&held, WRITER_REMOVED);
	}
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

bool __real_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns);
bool __wrap_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns);
bool __wrap_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns)
{
	if (!as_one_waits)
		return __real_clock_cond_wait(cond, lock, until_ns);
	pthread_mutex_unlock(lock);
	as_one_waits();
	pthread_mutex_lock(lock);
	return true;
}

int __real_cellfile_takes_put(const struct place *p);
int __wrap_cellfile_takes_put(const struct place *p);
int __wrap_cellfile_takes_put(const struct place *p)
{
	if (meanwhile)
		meanwhile();
	return __real_cellfile_takes_put(p);
}

int __real_scratch_content(struct scratch *s, uint64_t node, size_t max,
			   struct buf *out);
int __wrap_scratch_content(struct scratch *s, uint64_t node, size_t max,
			   struct buf *out);
int __wrap_scratch_content(struct scratch *s, uint64_t node, size_t max,
			   struct buf *out)
{
	if (contents == 0)
		return -ENOMEM;
	contents--;
	return __real_scratch_content(s, node, max, out);
}

int __wrap_store_keep(struct store *s, struct bytes name, struct bytes content);
int __wrap_store_keep(struct store *s, struct bytes name, struct bytes content)
{
	keeps++;
	return 0;
}

/* Opens, and closes what was opened. */
static void assert_opens(struct world *w, uint64_t node, bool dir)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	struct fuse_release_in release = {0};
	struct fuse_open_out out;

	assert_int_equal(ask(w, dir ? FUSE_OPENDIR : FUSE_OPEN, node, ARGS(in),
			     bytes_of(NULL, 0)),
			 0);
	assert_int_equal(answer.len, sizeof(out));
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(handles_count(w->fs->handles), 1);
	release.fh = out.fh;
	assert_int_equal(ask(w, dir ? FUSE_RELEASEDIR : FUSE_RELEASE, node,
			     ARGS(release), bytes_of(NULL, 0)),
			 0);
	assert_int_equal(handles_count(w->fs->handles), 0);
}

TEST(what_is_open_is_open_until_it_is_closed)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	uint64_t table, row, help;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_opens(&w, row, true);
	assert_int_equal(w.fs->op_counts[FS_OPEN], 0);
	assert_opens(&w, looked_up(&w, row, "f:q"), false);
	assert_int_equal(w.fs->op_counts[FS_OPEN], 1);
	/* What cannot be opened is told. */
	help = looked_up(&w, looked_up(&w, FUSE_ROOT_ID, ".cellfs"), "help");
	assert_true(ask(&w, FUSE_OPEN, help, ARGS(in), bytes_of(NULL, 0)) < 0);
	assert_told(&w, "open /.cellfs/help: ");
	in.flags = O_RDONLY;
	assert_int_equal(
		ask(&w, FUSE_OPENDIR, help, ARGS(in), bytes_of(NULL, 0)),
		-ENOTDIR);
	/* In its own words, not in those of the failure before it. */
	assert_told(&w, "opendir /.cellfs/help: ENOTDIR: Not a directory");
	assert_int_equal(handles_count(w.fs->handles), 0);
	world_end(&w);
}

TEST(a_file_is_its_makers_until_it_is_published)
{
	struct fuse_open_out out;
	struct fuse_flush_in flush = {0};
	uint64_t table, row, node, settled;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(create(&w, row, "f:new"), 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(looked_up(&w, row, "f:new"), node);
	w.pid = 11;
	assert_absent(&w, row, "f:new", 0);
	/* What is there is there for all. */
	looked_up(&w, row, "f:q");
	looked_up(&w, table, "P");
	/* Of one that was closed it may come at once: who asks waits a moment. */
	w.pid = 10;
	flush.fh = out.fh;
	assert_int_equal(
		ask(&w, FUSE_FLUSH, node, ARGS(flush), bytes_of(NULL, 0)), 0);
	w.pid = 11;
	assert_absent(&w, row, "f:new", 0);
	w.pid = 10;
	assert_int_equal(write_byte(&w, node, out.fh), 0);
	settled = w.fs->writes->settled;
	assert_int_equal(
		ask(&w, FUSE_FLUSH, node, ARGS(flush), bytes_of(NULL, 0)), 0);
	/* Who waits is woken. */
	assert_int_equal(w.fs->writes->settled, settled + 1);
	w.pid = 11;
	assert_int_equal(looked_up(&w, row, "f:new"), node);
	world_end(&w);
}

TEST(a_file_without_a_type_is_a_regular_one)
{
	struct fuse_mknod_in in = {.mode = 0644};
	uint64_t table, row;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(ask(&w, FUSE_MKNOD, row, ARGS(in), name_of("f:a")), 0);
	in.mode = S_IFIFO | 0644;
	assert_int_equal(ask(&w, FUSE_MKNOD, row, ARGS(in), name_of("f:b")),
			 -EPERM);
	assert_told(&w, "mknod /T/P/f:b: EPERM: only regular files");
	assert_absent(&w, row, "f:b", 0);
	world_end(&w);
}

TEST(a_scratch_file_has_the_mode_that_it_is_made_with)
{
	struct fuse_entry_out e;
	uint64_t table;
	struct world w;

	world_begin(&w);
	a_row_with_a_cell(&w, &table);
	assert_int_equal(create(&w, table, ".a.swp"), 0);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr.mode, S_IFREG | 0644);
	assert_int_equal(make_file(&w, table, ".b.swp"), 0);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr.mode, S_IFREG | 0644);
	assert_int_equal(make_dir(&w, table, ".d"), 0);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr.mode, S_IFDIR | 0755);
	world_end(&w);
}

static void assert_reads(struct world *w, uint64_t node, uint64_t handle,
			 uint64_t off, const char *want)
{
	struct fuse_read_in in = {.fh = handle, .offset = off, .size = 3};

	assert_int_equal(ask(w, FUSE_READ, node, ARGS(in), bytes_of(NULL, 0)),
			 0);
	assert_int_equal(answer.len, strlen(want));
	assert_memory_equal(answer.data, want, answer.len);
}

TEST(a_file_that_goes_as_another_opens_it_is_absent)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	uint64_t table, row, file;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(create(&w, row, "f:x"), 0);
	file = given();
	w.pid++;
	abandons = true;
	assert_int_equal(ask(&w, FUSE_OPEN, file, ARGS(in), bytes_of(NULL, 0)),
			 -ESTALE);
	abandons = false;
	world_end(&w);
}

TEST(a_reader_keeps_its_value_and_who_writes_has_another_node)
{
	uint64_t table, column, file, now, handle;
	struct fuse_write_in in = {.size = 3};
	struct fuse_open_in open = {.flags = O_WRONLY};
	struct world w;

	world_begin(&w);
	column = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, column, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	file = looked_up(&w, column, "5");
	in.fh = opened_file(&w, file, O_WRONLY);
	assert_int_equal(ask(&w, FUSE_WRITE, file, ARGS(in), bytes_str("one")),
			 0);
	closed_file(&w, file, in.fh);
	handle = opened_file(&w, file, O_RDONLY);
	assert_int_equal(
		ask(&w, FUSE_OPEN, file, ARGS(open), bytes_of(NULL, 0)),
		-ESTALE);
	now = looked_up(&w, column, "5");
	assert_int_not_equal(now, file);
	in.fh = opened_file(&w, now, O_WRONLY);
	assert_int_equal(ask(&w, FUSE_WRITE, now, ARGS(in), bytes_str("two")),
			 0);
	closed_file(&w, now, in.fh);
	assert_reads(&w, file, handle, 0, "one");
	closed_file(&w, file, handle);
	handle = opened_file(&w, now, O_RDONLY);
	assert_reads(&w, now, handle, 0, "two");
	closed_file(&w, now, handle);
	world_end(&w);
}

/* Changes P/f/q, and has the mount not tell it. */
static void change_untold(struct world *w, uint8_t op, int64_t ts,
			  const char *value)
{
	struct change c = {.op = op,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = ts,
			   .value = bytes_str(value)};
	struct mutation m = {
		.row = bytes_str("P"), .changes = &c, .nchanges = 1};
	struct table *t;

	assert_int_equal(table_open(w->store, bytes_str("T"), &t), 0);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	table_unref(t);
}

/* Puts the version 5 so. */
static void put_untold(struct world *w, const char *value)
{
	change_untold(w, CHANGE_PUT, 5, value);
}

static uint64_t size_told(struct world *w, uint64_t node, bool *believed)
{
	struct fuse_getattr_in in = {0};
	struct fuse_attr_out out;

	assert_int_equal(
		ask(w, FUSE_GETATTR, node, ARGS(in), bytes_of(NULL, 0)), 0);
	memcpy(&out, answer.data, sizeof(out));
	*believed = out.attr_valid > 0;
	return out.attr.size;
}

TEST(a_reader_keeps_its_size_while_a_put_is_not_told_yet)
{
	uint64_t table, column, file, now, handle;
	bool believed;
	struct world w;

	world_begin(&w);
	column = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, column, "f"), "q");
	put_untold(&w, "one");
	file = looked_up(&w, column, "5");
	handle = opened_file(&w, file, O_RDONLY);
	put_untold(&w, "longer");
	now = looked_up(&w, column, "5");
	assert_int_not_equal(now, file);
	assert_int_equal(size_told(&w, now, &believed), 6);
	assert_true(believed);
	assert_int_equal(size_told(&w, file, &believed), 3);
	closed_file(&w, file, handle);
	/* Nor is it told by attributes alone. */
	handle = opened_file(&w, now, O_RDONLY);
	put_untold(&w, "short");
	assert_int_equal(size_told(&w, now, &believed), 6);
	assert_false(believed);
	file = looked_up(&w, column, "5");
	assert_int_equal(size_told(&w, file, &believed), 5);
	closed_file(&w, now, handle);
	world_end(&w);
}

static struct {
	struct world *world;
	uint64_t column, file, handle;
} reader;

static void releases_its_file(void)
{
	struct fs *fs = reader.world->fs;

	as_one_waits = NULL;
	handles_release(fs->handles, fs, reader.handle);
}

/* close(2) is over before the daemon hears that it was the last one. */
TEST(what_was_closed_is_cached_for_who_reads_it_next)
{
	struct fuse_write_in in = {.size = 3};
	struct open_file *f;
	uint64_t table, column;
	struct world w;

	world_begin(&w);
	reader.world = &w;
	column = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, column, "f"), "q");
	put_untold(&w, "one");
	reader.file = looked_up(&w, column, "5");
	in.fh = reader.handle = opened_file(&w, reader.file, O_WRONLY);
	/* Who may write on is not waited for. */
	as_one_waits = releases_its_file;
	assert_int_equal(
		ask(&w, FUSE_WRITE, reader.file, ARGS(in), bytes_str("two")),
		0);
	assert_true(is_read_past_cache(&w, reader.file));
	assert_int_equal(flush_file(&w, reader.file, reader.handle), 0);
	/* However long this test takes, it was closed just now. */
	f = handles_get(w.fs->handles, reader.handle, NULL);
	assert_in_range(writer_of(f)->flushed_ns, 1, monotonic_ns());
	writer_of(f)->flushed_ns = monotonic_ns() + 3600 * NS_PER_S;
	open_file_drop(f);
	assert_false(is_read_past_cache(&w, reader.file));
	assert_null(as_one_waits);
	world_end(&w);
}

static void puts_and_reads(void)
{
	struct answer own = answer;

	behind_look = NULL;
	put_untold(reader.world, "longer");
	changes_row(&reader.world->fs->changes, bytes_str("P"));
	reader.handle = opened_file(reader.world, reader.file, O_RDONLY);
	answer = own;
}

TEST(a_reader_is_newer_than_a_look_up_that_took_long)
{
	uint64_t table, column;
	struct fuse_entry_out e;
	struct world w;

	world_begin(&w);
	reader.world = &w;
	column = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, column, "f"), "q");
	put_untold(&w, "one");
	reader.file = looked_up(&w, column, "5");
	behind_look = puts_and_reads;
	assert_int_equal(looked_up(&w, column, "5"), reader.file);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr.size, 6);
	assert_int_equal(e.entry_valid, 0);
	closed_file(&w, reader.file, reader.handle);
	world_end(&w);
}

/* Sets what @valid says, of attributes that are all 0. */
static int set_attr(struct world *w, uint64_t node, uint32_t valid)
{
	struct fuse_setattr_in in = {.valid = valid};

	return ask(w, FUSE_SETATTR, node, ARGS(in), bytes_of(NULL, 0));
}

static void is_closed(void)
{
	struct answer own = answer;

	behind_stat = NULL;
	closed_file(reader.world, reader.file, reader.handle);
	answer = own;
}

/* The kernel does not wait for the last close, which puts what is empty. */
TEST(who_has_emptied_a_file_finds_it_empty)
{
	uint64_t table, column;
	struct fuse_attr_out out;
	bool believed;
	struct world w;

	world_begin(&w);
	reader.world = &w;
	column = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, column, "f"), "q");
	put_untold(&w, "one");
	reader.file = looked_up(&w, column, "5");
	reader.handle = opened_file(&w, reader.file, O_WRONLY | O_TRUNC);
	assert_int_equal(flush_file(&w, reader.file, reader.handle), 0);
	behind_stat = is_closed;
	assert_int_equal(size_told(&w, reader.file, &believed), 0);
	assert_null(behind_stat);
	assert_false(believed);
	assert_int_equal(size_told(&w, reader.file, &believed), 0);
	assert_true(believed);
	put_untold(&w, "one");
	reader.handle = opened_file(&w, reader.file, O_WRONLY | O_TRUNC);
	behind_stat = is_closed;
	assert_int_equal(set_attr(&w, reader.file, FATTR_MODE), 0);
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(out.attr.size, 0);
	assert_int_equal(out.attr_valid, 0);
	world_end(&w);
}

static void is_removed(void)
{
	struct answer own = answer;

	behind_stat = NULL;
	assert_int_equal(ask(reader.world, FUSE_UNLINK, reader.column,
			     bytes_of(NULL, 0), name_of("5")),
			 0);
	answer = own;
}

/* Who has it open would read no more of it than that. */
TEST(what_goes_while_it_is_asked_for_is_not_empty)
{
	uint64_t table;
	bool believed;
	struct world w;

	world_begin(&w);
	reader.world = &w;
	reader.column = a_row_with_a_cell(&w, &table);
	reader.column = looked_up(&w, looked_up(&w, reader.column, "f"), "q");
	put_untold(&w, "three");
	reader.file = looked_up(&w, reader.column, "5");
	behind_stat = is_removed;
	assert_int_equal(size_told(&w, reader.file, &believed), 5);
	assert_null(behind_stat);
	assert_false(believed);
	world_end(&w);
}

static void puts_and_asks(void)
{
	struct answer own = answer;
	bool believed;

	behind_cache = NULL;
	put_untold(reader.world, "longer");
	assert_int_equal(size_told(reader.world, reader.file, &believed), 3);
	assert_false(believed);
	answer = own;
}

TEST(who_is_about_to_read_a_file_has_its_size)
{
	uint64_t table, column;
	struct world w;

	world_begin(&w);
	reader.world = &w;
	column = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, column, "f"), "q");
	put_untold(&w, "one");
	reader.file = looked_up(&w, column, "5");
	behind_cache = puts_and_asks;
	closed_file(&w, reader.file, opened_file(&w, reader.file, O_RDONLY));
	assert_null(behind_cache);
	world_end(&w);
}

static void ends_its_change(void)
{
	behind_cache = NULL;
	changes_end(&reader.world->fs->changes, bytes_str("P"));
}

/* What the kernel did not know as the change was told is known when it has ended. */
TEST(a_change_that_ends_as_one_opens_a_file_was_under_way)
{
	uint64_t table, file;
	struct world w;

	world_begin(&w);
	reader.world = &w;
	file = looked_up(&w, a_row_with_a_cell(&w, &table), "f:q");
	changes_begin(&w.fs->changes, bytes_str("P"));
	behind_cache = ends_its_change;
	assert_true(is_read_past_cache(&w, file));
	behind_cache = NULL;
	world_end(&w);
}

/* As a stream or a program loads them, which takes long. */
TEST(while_many_rows_change_another_table_is_cached)
{
	struct mutation rows[64];
	uint64_t table, file;
	struct table *of[2];
	struct world w;

	world_begin(&w);
	file = looked_up(&w, a_row_with_a_cell(&w, &table), "f:q");
	made_dir(&w, FUSE_ROOT_ID, "U");
	assert_int_equal(table_open(w.store, bytes_str("T"), &of[0]), 0);
	assert_int_equal(table_open(w.store, bytes_str("U"), &of[1]), 0);
	for (size_t i = 0; i < 64; i++)
		rows[i] = (struct mutation){.row = bytes_str("P")};
	for (size_t i = 0; i < 2; i++) {
		changed_begin(w.fs, of[i], rows, 64);
		assert_true(is_read_past_cache(&w, file) == (i == 0));
		changed_end(w.fs, of[i], rows, 64);
		assert_false(is_read_past_cache(&w, file));
		table_unref(of[i]);
	}
	world_end(&w);
}

/* A compaction takes the sequences away, by which versions are told apart. */
TEST(a_reader_keeps_its_size_beside_one_of_an_older_version)
{
	struct temp_store s = {.options.create = true};
	uint64_t table, row, file, old, now;
	bool believed;
	struct world w;

	snprintf(s.path, sizeof(s.path), "/tmp/cellfs-test-XXXXXX");
	assert_non_null(mkdtemp(s.path));
	assert_int_equal(store_open(s.path, &s.options, &s.store), 0);
	world_begin_over(&w, s.store);
	table = made_dir(&w, FUSE_ROOT_ID, "T");
	row = made_dir(&w, table, "P");
	made_dir(&w, row, "f");
	change_untold(&w, CHANGE_PUT, 5, "one");
	change_untold(&w, CHANGE_PUT, 6, "longer");
	assert_int_equal(store_compact(w.store, NULL), 0);
	file = looked_up(&w, row, "f:q");
	old = opened_file(&w, file, O_RDONLY);
	changes_begin(&w.fs->changes, bytes_str("P"));
	change_untold(&w, CHANGE_DELETE, 6, "");
	/* Of several that are alike the last one is found. */
	now = opened_file(&w, file, O_RDONLY);
	changes_end(&w.fs->changes, bytes_str("P"));
	assert_int_equal(size_told(&w, file, &believed), 6);
	closed_file(&w, file, now);
	closed_file(&w, file, old);
	world_end(&w);
	s.store = NULL;
	assert_int_equal(temp_remove(&s), 0);
}

TEST(a_read_ends_where_the_value_does)
{
	uint64_t table, row, file, handle;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	file = looked_up(&w, row, "f:q");
	handle = opened_file(&w, file, O_RDWR | O_APPEND);
	assert_int_equal(append_byte(&w, file, handle), 0);
	assert_int_equal(append_byte(&w, file, handle), 0);
	closed_file(&w, file, handle);
	handle = opened_file(&w, file, O_RDWR | O_APPEND);
	assert_int_equal(append_byte(&w, file, handle), 0);
	/* What is there, and what will be behind it. */
	assert_reads(&w, file, handle, 0, "xxx");
	closed_file(&w, file, handle);
	handle = opened_file(&w, file, O_RDONLY);
	assert_reads(&w, file, handle, 0, "xxx");
	assert_reads(&w, file, handle, 1, "xx");
	assert_reads(&w, file, handle, 3, "");
	closed_file(&w, file, handle);
	world_end(&w);
}

TEST(a_stream_holds_what_its_text_takes)
{
	uint64_t table, row, file, handle, held;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	file = looked_up(&w, row, ".cells");
	handle = opened_file(&w, file, O_WRONLY);
	/* No line ends, so that it is kept. */
	assert_int_equal(write_byte(&w, file, handle), 0);
	held = w.fs->budget.held;
	assert_true(held > 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(write_byte(&w, file, handle), 0);
	assert_int_equal(w.fs->budget.held, held);
	closed_file(&w, file, handle);
	assert_int_equal(w.fs->budget.held, 0);
	world_end(&w);
}

TEST(a_directory_that_is_refused_holds_nothing)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	struct world w;

	world_begin(&w);
	/* There is room for a listing, and for some of its handle. */
	w.fs->budget.max = (48 << 10) + 100;
	assert_int_equal(ask(&w, FUSE_OPENDIR, FUSE_ROOT_ID, ARGS(in),
			     bytes_of(NULL, 0)),
			 -ENFILE);
	assert_int_equal(w.fs->budget.held, 0);
	world_end(&w);
}

TEST(of_a_file_that_cannot_be_read_nothing_is_kept)
{
	uint64_t table, node;
	struct fuse_open_out out;
	struct world w;

	world_begin(&w);
	a_row_with_a_cell(&w, &table);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(create(&w, table, i ? ".b.swp" : ".a.swp"), 0);
		node = given();
		memcpy(&out, answer.data + sizeof(struct fuse_entry_out),
		       sizeof(out));
		assert_int_equal(write_byte(&w, node, out.fh), 0);
		closed_file(&w, node, out.fh);
	}
	contents = 1;
	lost_found_keep(w.fs);
	contents = UINT32_MAX;
	assert_int_equal(keeps, 1);
	world_end(&w);
}

/* A session of cellctl's, which has asked for nothing. */
TEST(who_waits_for_a_session_goes_on_at_a_signal)
{
	struct fuse_interrupt_in in = {0};
	struct fuse_read_in read = {.size = 100};
	uint64_t file;
	struct world w;

	world_begin(&w);
	file = looked_up(&w, looked_up(&w, FUSE_ROOT_ID, ".cellfs"), "store");
	read.fh = opened_file(&w, file, O_RDWR);
	/* The signal comes before the read that it is for. */
	in.unique = w.unique + 2;
	ask(&w, FUSE_INTERRUPT, 0, ARGS(in), bytes_of(NULL, 0));
	assert_int_equal(
		ask(&w, FUSE_READ, file, ARGS(read), bytes_of(NULL, 0)),
		-EINTR);
	/* What comes next is answered. */
	assert_int_equal(
		ask(&w, FUSE_READ, file, ARGS(read), bytes_of(NULL, 0)), 0);
	closed_file(&w, file, read.fh);
	world_end(&w);
}

/* The kernel has a version that went by another name, and has not heard of it. */
TEST(what_has_gone_is_not_made_anew_by_who_changes_it)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	uint64_t table, row, column, node;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, row, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	node = looked_up(&w, column, "5");
	assert_int_equal(ask(&w, FUSE_UNLINK, row, bytes_of(NULL, 0),
			     bytes_of("f:q", sizeof("f:q"))),
			 0);
	assert_int_equal(set_attr(&w, node, FATTR_SIZE), -ESTALE);
	assert_int_equal(set_attr(&w, node, FATTR_SIZE), -ENOENT);
	assert_int_equal(ask(&w, FUSE_OPEN, node, ARGS(in), bytes_of(NULL, 0)),
			 -ESTALE);
	assert_int_equal(ask(&w, FUSE_OPEN, node, ARGS(in), bytes_of(NULL, 0)),
			 -ENOENT);
	assert_int_equal(errors_total(w.fs->errors), 0);
	forget(&w, node);
	assert_int_equal(look(&w, column, "5"), 0);
	assert_int_equal(given(), 0);
	assert_int_equal(look(&w, row, "f:q"), -ENOENT);
	world_end(&w);
}

/* It was removed between the kernel's look-up and what is asked of it. */
TEST(what_was_removed_is_not_made_anew_by_who_writes_it)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	uint64_t table, row, node, handle;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	node = looked_up(&w, row, "f:q");
	assert_int_equal(ask(&w, FUSE_UNLINK, row, bytes_of(NULL, 0),
			     bytes_of("f:q", sizeof("f:q"))),
			 0);
	assert_int_equal(ask(&w, FUSE_OPEN, node, ARGS(in), bytes_of(NULL, 0)),
			 -ESTALE);
	/* The path is walked once only: then it was opened before it went. */
	handle = opened_file(&w, node, O_WRONLY);
	assert_int_equal(write_byte(&w, node, handle), 0);
	closed_file(&w, node, handle);
	assert_int_equal(set_attr(&w, node, FATTR_SIZE), -ESTALE);
	assert_int_equal(set_attr(&w, node, FATTR_SIZE), -ENOENT);
	assert_int_equal(look(&w, row, "f:q"), -ENOENT);
	assert_int_equal(errors_total(w.fs->errors), 0);
	world_end(&w);
}

static struct world *others;
static uint64_t others_row;

static void removes_the_cell(void)
{
	struct answer own = answer;

	meanwhile = NULL;
	assert_int_equal(ask(others, FUSE_UNLINK, others_row, bytes_of(NULL, 0),
			     name_of("f:q")),
			 0);
	answer = own;
}

TEST(who_makes_what_goes_again_and_again_has_made_it)
{
	uint64_t table;
	struct world w;

	world_begin(&w);
	others = &w;
	others_row = a_row_with_a_cell(&w, &table);
	(void)looked_up(&w, others_row, "f:q");
	meanwhile = removes_the_cell;
	assert_int_equal(create(&w, others_row, "f:q"), -ESTALE);
	assert_int_equal(make_file(&w, others_row, "f:q"), 0);
	(void)looked_up(&w, others_row, "f:q");
	meanwhile = removes_the_cell;
	assert_int_equal(create(&w, others_row, "f:q"), 0);
	assert_null(meanwhile);
	assert_int_equal(look(&w, others_row, "f:q"), -ENOENT);
	world_end(&w);
}

TEST(a_walk_is_known_when_the_kernel_has_forgotten_its_way)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	uint64_t table, row, family, column[2], file;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	family = looked_up(&w, row, "f");
	for (int i = 0; i < 2; i++) {
		column[i] = looked_up(&w, family, "q");
		assert_int_equal(make_file(&w, column[i], "5"), 0);
		file = looked_up(&w, column[i], "5");
		assert_int_equal(ask(&w, FUSE_UNLINK, column[i],
				     bytes_of(NULL, 0), name_of("5")),
				 0);
		assert_int_equal(
			ask(&w, FUSE_OPEN, file, ARGS(in), bytes_of(NULL, 0)),
			i ? -ENOENT : -ESTALE);
		nodes_forget(w.fs->nodes, file, UINT64_MAX);
		nodes_forget(w.fs->nodes, column[i], UINT64_MAX);
	}
	assert_int_not_equal(column[0], column[1]);
	world_end(&w);
}

TEST(a_scratch_file_that_was_removed_is_opened_once_at_most)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	uint64_t table, row, node, renamed, handle;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(make_file(&w, row, ".tmp"), 0);
	renamed = looked_up(&w, row, ".tmp");
	assert_int_equal(rename_in(&w, row, ".tmp", ".other"), 0);
	assert_int_equal(
		ask(&w, FUSE_UNLINK, row, bytes_of(NULL, 0), name_of(".other")),
		0);
	assert_int_equal(make_file(&w, row, ".tmp"), 0);
	node = looked_up(&w, row, ".tmp");
	assert_int_equal(
		ask(&w, FUSE_UNLINK, row, bytes_of(NULL, 0), name_of(".tmp")),
		0);
	/* One walk finds both by one name. */
	assert_int_equal(
		ask(&w, FUSE_OPEN, renamed, ARGS(in), bytes_of(NULL, 0)),
		-ESTALE);
	assert_int_equal(ask(&w, FUSE_OPEN, node, ARGS(in), bytes_of(NULL, 0)),
			 -ENOENT);
	/* Who writes may be making it, and finds no name absent. */
	in.flags = O_WRONLY;
	assert_int_equal(ask(&w, FUSE_OPEN, node, ARGS(in), bytes_of(NULL, 0)),
			 -ESTALE);
	handle = opened_file(&w, node, O_WRONLY);
	assert_int_equal(write_byte(&w, node, handle), 0);
	closed_file(&w, node, handle);
	assert_int_equal(look(&w, row, ".tmp"), 0);
	assert_int_equal(given(), 0);
	assert_false(scratch_any(w.fs->writes->scratch));
	assert_int_equal(errors_total(w.fs->errors), 0);
	world_end(&w);
}

TEST(a_file_is_cut_by_its_path)
{
	uint64_t table, row, file, handle;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	file = looked_up(&w, row, "f:q");
	handle = opened_file(&w, file, O_WRONLY);
	assert_int_equal(write_byte(&w, file, handle), 0);
	closed_file(&w, file, handle);
	assert_int_equal(size_of(&w, row, "f:q"), 1);
	assert_int_equal(set_attr(&w, file, FATTR_SIZE), 0);
	assert_int_equal(size_of(&w, row, "f:q"), 0);
	world_end(&w);
}

TEST(a_table_that_is_no_more_takes_no_schema)
{
	struct fuse_getattr_in in = {0};
	struct schema schema;
	uint64_t table, file, handle;
	struct table *t;
	struct world w;

	world_begin(&w);
	a_row_with_a_cell(&w, &table);
	/* Who made it looks for the schema in a way of its own. */
	w.pid = 11;
	file = looked_up(&w, table, ".schema");
	handle = opened_file(&w, file, O_WRONLY | O_TRUNC);
	/* What is known of its schema is old. */
	assert_int_equal(table_open(w.store, bytes_str("T"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	assert_int_equal(table_alter(t, &schema, false), 0);
	schema_free(&schema);
	table_unref(t);
	assert_int_equal(store_table_drop(w.store, bytes_str("T"), false), 0);
	assert_int_equal(write_byte(&w, file, handle), -ENOENT);
	assert_int_equal(set_attr(&w, table, FATTR_MODE), -ENOENT);
	assert_int_equal(
		ask(&w, FUSE_GETATTR, table, ARGS(in), bytes_of(NULL, 0)),
		-ENOENT);
	closed_file(&w, file, handle);
	world_end(&w);
}

TEST(who_owns_a_table_is_apart_from_who_may_use_it)
{
	struct fuse_attr_out out;
	uint64_t table;
	struct world w;

	world_begin(&w);
	a_row_with_a_cell(&w, &table);
	assert_int_equal(set_attr(&w, table, FATTR_UID | FATTR_GID), 0);
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(out.attr.mode, S_IFDIR | 0755);
	assert_int_equal(set_attr(&w, table, FATTR_MODE), 0);
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(out.attr.mode, S_IFDIR);
	world_end(&w);
}
