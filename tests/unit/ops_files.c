/* Files that are open, made, read and written, and the attributes of files. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/kernel.h"

#include "fs/change/changed.h"
#include "fs/files/lost_found.h"
#include "fs/files/writer_inside.h"
#include "fs/memory/write_state.h"
#include "store/os/clock.h"

EACH_TEST_IN(world_set_up, world_tear_down);

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

int __real_cellfile_takes_put(const struct place *p);
int __wrap_cellfile_takes_put(const struct place *p);
int __wrap_cellfile_takes_put(const struct place *p)
{
	if (meanwhile)
		meanwhile();
	return __real_cellfile_takes_put(p);
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
static void assert_opens(uint64_t node, bool dir)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	struct fuse_release_in release = {0};
	struct fuse_open_out out;

	assert_int_equal(
		ask(dir ? FUSE_OPENDIR : FUSE_OPEN, node, ARGS(in), NOTHING),
		0);
	assert_int_equal(answer.len, sizeof(out));
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(handles_count(world.fs->handles), 1);
	release.fh = out.fh;
	assert_int_equal(ask(dir ? FUSE_RELEASEDIR : FUSE_RELEASE, node,
			     ARGS(release), NOTHING),
			 0);
	assert_int_equal(handles_count(world.fs->handles), 0);
}

TEST(what_is_open_is_open_until_it_is_closed)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	uint64_t row, help;

	row = a_row_with_a_cell(NULL);
	assert_opens(row, true);
	assert_int_equal(world.fs->op_counts[FS_OPEN], 0);
	assert_opens(looked_up(row, "f:q"), false);
	assert_int_equal(world.fs->op_counts[FS_OPEN], 1);
	/* What cannot be opened is told. */
	help = looked_up(looked_up(FUSE_ROOT_ID, ".cellfs"), "help");
	assert_true(ask(FUSE_OPEN, help, ARGS(in), NOTHING) < 0);
	assert_told("open /.cellfs/help: ");
	in.flags = O_RDONLY;
	assert_int_equal(ask(FUSE_OPENDIR, help, ARGS(in), NOTHING), -ENOTDIR);
	/* In its own words, not in those of the failure before it. */
	assert_told("opendir /.cellfs/help: ENOTDIR: Not a directory");
	assert_int_equal(handles_count(world.fs->handles), 0);
}

TEST(a_file_is_its_makers_until_it_is_published)
{
	struct fuse_open_out out;
	struct fuse_flush_in flush = {0};
	uint64_t table, row, node, settled;

	row = a_row_with_a_cell(&table);
	assert_int_equal(create(row, "f:new"), 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(looked_up(row, "f:new"), node);
	world.pid = 11;
	assert_absent(row, "f:new", 0);
	/* What is there is there for all. */
	looked_up(row, "f:q");
	looked_up(table, "P");
	/* Of one that was closed it may come at once: who asks waits a moment. */
	world.pid = 10;
	flush.fh = out.fh;
	assert_int_equal(ask(FUSE_FLUSH, node, ARGS(flush), NOTHING), 0);
	world.pid = 11;
	assert_absent(row, "f:new", 0);
	world.pid = 10;
	assert_int_equal(write_byte(node, out.fh), 0);
	settled = world.fs->writes->settled;
	assert_int_equal(ask(FUSE_FLUSH, node, ARGS(flush), NOTHING), 0);
	/* Who waits is woken. */
	assert_int_equal(world.fs->writes->settled, settled + 1);
	world.pid = 11;
	assert_int_equal(looked_up(row, "f:new"), node);
}

/* A process that is stopped keeps the signal that ends it. */
static pid_t killed_process(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	assert_int_equal(kill(pid, SIGTERM), 0);
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* While another removes it. */
TEST(who_is_killed_waits_for_no_file)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	struct writers held;
	pid_t pid = killed_process();
	uint64_t row, node;

	row = a_row_with_a_cell(NULL);
	node = looked_up(row, "f:q");
	assert_int_equal(writers_hold(world.fs, node, &held), 0);
	world.pid = (uint32_t)pid;
	assert_int_equal(ask(FUSE_OPEN, node, ARGS(in), NOTHING), -EINTR);
	assert_int_equal(ask(FUSE_UNLINK, row, NOTHING, name_of("f:q")),
			 -EINTR);
	writers_end(&held, WRITER_NAMED);
	closed_file(node, opened_file(node, O_WRONLY));
	end_process(pid);
}

/* As another thread, say: this one holds none (held.h). */
int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);

/* Nor for the close of another, that waits for a server. What was written is kept. */
TEST(who_is_killed_waits_for_no_close)
{
	struct fuse_rename_in rename = {0};
	struct fuse_setattr_in cut = {.valid = FATTR_SIZE | FATTR_FH};
	struct fuse_read_in part = {.size = 1};
	pid_t pid = killed_process();
	uint64_t row, node, fh;
	struct open_file *f;

	row = a_row_with_a_cell(NULL);
	node = looked_up(row, "f:q");
	fh = opened_file(node, O_RDWR);
	part.fh = cut.fh = fh;
	rename.newdir = row;
	assert_int_equal(write_byte(node, fh), 0);
	f = handles_get(world.fs->handles, fh, &writer_ops);
	__real_pthread_mutex_lock(&writer_of(f)->lock);
	world.pid = (uint32_t)pid;
	assert_int_equal(flush_file(node, fh), -EINTR);
	assert_int_equal(write_byte(node, fh), -EINTR);
	assert_int_equal(ask(FUSE_READ, node, ARGS(part), NOTHING), -EINTR);
	assert_int_equal(ask(FUSE_SETATTR, node, ARGS(cut), NOTHING), -EINTR);
	assert_int_equal(ask(FUSE_UNLINK, row, NOTHING, name_of("f:q")),
			 -EINTR);
	assert_int_equal(ask(FUSE_RENAME, row, ARGS(rename),
			     bytes_of("f:q\0f:r", sizeof("f:q\0f:r"))),
			 -EINTR);
	__real_pthread_mutex_unlock(&writer_of(f)->lock);
	open_file_drop(f);
	/* Neither has left the file held. */
	world.pid = 0;
	closed_file(node, opened_file(node, O_WRONLY));
	closed_file(node, fh);
	assert_int_equal(size_of(row, "f:q"), 1);
	end_process(pid);
}

TEST(a_file_without_a_type_is_a_regular_one)
{
	struct fuse_mknod_in in = {.mode = 0644};
	uint64_t row;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(ask(FUSE_MKNOD, row, ARGS(in), name_of("f:a")), 0);
	in.mode = S_IFIFO | 0644;
	assert_int_equal(ask(FUSE_MKNOD, row, ARGS(in), name_of("f:b")),
			 -EPERM);
	assert_told("mknod /T/P/f:b: EPERM: only regular files");
	assert_absent(row, "f:b", 0);
}

TEST(a_scratch_file_has_the_mode_that_it_is_made_with)
{
	struct fuse_entry_out e;
	uint64_t table;

	a_row_with_a_cell(&table);
	assert_int_equal(create(table, ".a.swp"), 0);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr.mode, S_IFREG | 0644);
	assert_int_equal(make_file(table, ".b.swp"), 0);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr.mode, S_IFREG | 0644);
	assert_int_equal(make_dir(table, ".d"), 0);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr.mode, S_IFDIR | 0755);
}

static void assert_reads(uint64_t node, uint64_t handle, uint64_t off,
			 const char *want)
{
	struct fuse_read_in in = {.fh = handle, .offset = off, .size = 3};

	assert_int_equal(ask(FUSE_READ, node, ARGS(in), NOTHING), 0);
	assert_int_equal(answer.len, strlen(want));
	assert_memory_equal(answer.data, want, answer.len);
}

TEST(a_file_that_goes_as_another_opens_it_is_absent)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	uint64_t row, file;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(create(row, "f:x"), 0);
	file = given();
	world.pid++;
	abandons = true;
	assert_int_equal(ask(FUSE_OPEN, file, ARGS(in), NOTHING), -ESTALE);
	abandons = false;
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

/* Sets what @valid says, of attributes that are all 0. */
static int set_attr(uint64_t node, uint32_t valid)
{
	struct fuse_setattr_in in = {.valid = valid};

	return ask(FUSE_SETATTR, node, ARGS(in), NOTHING);
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

TEST(a_read_ends_where_the_value_does)
{
	uint64_t row, file, handle;

	row = a_row_with_a_cell(NULL);
	file = looked_up(row, "f:q");
	handle = opened_file(file, O_RDWR | O_APPEND);
	assert_int_equal(append_byte(file, handle), 0);
	assert_int_equal(append_byte(file, handle), 0);
	closed_file(file, handle);
	handle = opened_file(file, O_RDWR | O_APPEND);
	assert_int_equal(append_byte(file, handle), 0);
	/* What is there, and what will be behind it. */
	assert_reads(file, handle, 0, "xxx");
	closed_file(file, handle);
	handle = opened_file(file, O_RDONLY);
	assert_reads(file, handle, 0, "xxx");
	assert_reads(file, handle, 1, "xx");
	assert_reads(file, handle, 3, "");
	closed_file(file, handle);
}

TEST(a_stream_holds_what_its_text_takes)
{
	uint64_t row, file, handle, held;

	row = a_row_with_a_cell(NULL);
	file = looked_up(row, ".cells");
	handle = opened_file(file, O_WRONLY);
	/* No line ends, so that it is kept. */
	assert_int_equal(write_byte(file, handle), 0);
	held = world.fs->budget.held;
	assert_true(held > 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(write_byte(file, handle), 0);
	assert_int_equal(world.fs->budget.held, held);
	closed_file(file, handle);
	assert_int_equal(world.fs->budget.held, 0);
}

TEST(who_skips_a_part_of_a_stream_has_the_rest)
{
	static const char text[] = "A\tf:q\t5\tone\nB\tf:q\t5\ttwo\n"
				   "C\tf:q\t5\tthree\n";
	const size_t all = strlen(text);
	struct fuse_write_in in = {.size = (uint32_t)all};
	struct fuse_read_in rest = {.size = 100};
	uint64_t file;

	file = looked_up(made_dir(FUSE_ROOT_ID, "T"), ".cells");
	in.fh = opened_file(file, O_WRONLY);
	assert_int_equal(ask(FUSE_WRITE, file, ARGS(in), bytes_str(text)), 0);
	closed_file(file, in.fh);
	for (size_t from = 3; from <= all + 1; from++) {
		rest.fh = opened_file(file, O_RDONLY);
		assert_reads(file, rest.fh, 0, "A\tf");
		rest.offset = from;
		assert_int_equal(ask(FUSE_READ, file, ARGS(rest), NOTHING), 0);
		assert_int_equal(answer.len, from < all ? all - from : 0);
		if (from < all)
			assert_memory_equal(answer.data, text + from,
					    answer.len);
		rest.offset = 2;
		assert_int_equal(ask(FUSE_READ, file, ARGS(rest), NOTHING),
				 -ESPIPE);
		closed_file(file, rest.fh);
	}
}

TEST(a_directory_that_is_refused_holds_nothing)
{
	struct fuse_open_in in = {.flags = O_RDONLY};

	/* There is room for a listing, and for some of its handle. */
	world.fs->budget.max = (48 << 10) + 100;
	assert_int_equal(ask(FUSE_OPENDIR, FUSE_ROOT_ID, ARGS(in), NOTHING),
			 -ENFILE);
	assert_int_equal(world.fs->budget.held, 0);
}

TEST(of_a_file_that_cannot_be_read_nothing_is_kept)
{
	uint64_t table, node;
	struct fuse_open_out out;

	a_row_with_a_cell(&table);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(create(table, i ? ".b.swp" : ".a.swp"), 0);
		node = given();
		memcpy(&out, answer.data + sizeof(struct fuse_entry_out),
		       sizeof(out));
		assert_int_equal(write_byte(node, out.fh), 0);
		closed_file(node, out.fh);
	}
	contents = 1;
	lost_found_keep(world.fs);
	contents = UINT32_MAX;
	assert_int_equal(keeps, 1);
}

/* For others it does not exist, and appears when it is closed. */
TEST(nobody_else_believes_a_name_that_is_being_made)
{
	struct fuse_entry_out entry;
	struct fuse_open_out opened;
	uint64_t row, node;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(create(row, "f:new"), 0);
	node = given();
	memcpy(&entry, answer.data, sizeof(entry));
	memcpy(&opened, answer.data + sizeof(entry), sizeof(opened));
	assert_int_equal(entry.entry_valid, 0);
	assert_int_equal(entry.entry_valid_nsec, 0);
	assert_int_equal(entry.attr_valid, 0);
	closed_file(node, opened.fh);
}

/* Of many at once the kernel says how many; what comes behind is not looked at. */
TEST(so_many_are_forgotten_as_the_kernel_says)
{
	struct fuse_batch_forget_in in = {.count = 2};
	struct fuse_forget_one all[3] = {0};
	uint64_t nodes, row = a_row_with_a_cell(NULL);

	nodes = world_nodes();
	for (int i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f:%d", i);
		assert_int_equal(make_file(row, name), 0);
		all[i] = (struct fuse_forget_one){.nodeid = given(),
						  .nlookup = 1};
	}
	assert_int_equal(world_nodes(), nodes + 3);
	ask(FUSE_BATCH_FORGET, 0, ARGS(in),
	    bytes_of((const char *)all, sizeof(all)));
	assert_int_equal(world_nodes(), nodes + 1);
}

static void assert_read_is_interrupted(const char *name, uint32_t flags)
{
	struct fuse_interrupt_in in = {0};
	struct fuse_read_in read = {.size = 100};
	uint64_t file;

	file = looked_up(looked_up(FUSE_ROOT_ID, ".cellfs"), name);
	read.fh = opened_file(file, flags);
	/* The signal comes before the read that it is for. */
	in.unique = world.unique + 2;
	ask(FUSE_INTERRUPT, 0, ARGS(in), NOTHING);
	assert_int_equal(ask(FUSE_READ, file, ARGS(read), NOTHING), -EINTR);
	/* What comes next is answered: this makes a line of the trace. */
	assert_int_equal(look(FUSE_ROOT_ID, "absent"), 0);
	assert_int_equal(ask(FUSE_READ, file, ARGS(read), NOTHING), 0);
	closed_file(file, read.fh);
}

/* A session of cellctl's, which has asked for nothing; and nothing is traced. */
TEST(who_waits_for_a_session_goes_on_at_a_signal)
{
	assert_read_is_interrupted("store", O_RDWR);
	assert_read_is_interrupted("trace", O_RDONLY);
}

/* The kernel has a version that went by another name, and has not heard of it. */
TEST(what_has_gone_is_not_made_anew_by_who_changes_it)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	uint64_t row, column, node;

	row = a_row_with_a_cell(NULL);
	column = looked_up(looked_up(row, "f"), "q");
	assert_int_equal(make_file(column, "5"), 0);
	node = looked_up(column, "5");
	assert_int_equal(
		ask(FUSE_UNLINK, row, NOTHING, bytes_of("f:q", sizeof("f:q"))),
		0);
	assert_int_equal(set_attr(node, FATTR_SIZE), -ESTALE);
	assert_int_equal(set_attr(node, FATTR_SIZE), -ENOENT);
	assert_int_equal(ask(FUSE_OPEN, node, ARGS(in), NOTHING), -ESTALE);
	assert_int_equal(ask(FUSE_OPEN, node, ARGS(in), NOTHING), -ENOENT);
	assert_int_equal(errors_total(world.fs->errors), 0);
	forget(node);
	assert_int_equal(look(column, "5"), 0);
	assert_int_equal(given(), 0);
	assert_int_equal(look(row, "f:q"), -ENOENT);
}

/* It was removed between the kernel's look-up and what is asked of it. */
TEST(what_was_removed_is_not_made_anew_by_who_writes_it)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	uint64_t row, node, handle;

	row = a_row_with_a_cell(NULL);
	node = looked_up(row, "f:q");
	assert_int_equal(
		ask(FUSE_UNLINK, row, NOTHING, bytes_of("f:q", sizeof("f:q"))),
		0);
	assert_int_equal(ask(FUSE_OPEN, node, ARGS(in), NOTHING), -ESTALE);
	/* The path is walked once only: then it was opened before it went. */
	handle = opened_file(node, O_WRONLY);
	assert_int_equal(write_byte(node, handle), 0);
	closed_file(node, handle);
	assert_int_equal(set_attr(node, FATTR_SIZE), -ESTALE);
	assert_int_equal(set_attr(node, FATTR_SIZE), -ENOENT);
	assert_int_equal(look(row, "f:q"), -ENOENT);
	assert_int_equal(errors_total(world.fs->errors), 0);
}

static uint64_t others_row;

static void removes_the_cell(void)
{
	struct answer own = answer;

	meanwhile = NULL;
	assert_int_equal(ask(FUSE_UNLINK, others_row, NOTHING, name_of("f:q")),
			 0);
	answer = own;
}

/* Its table has got another schema, and is no more. */
TEST(a_removed_file_is_absent_when_nobody_tells_whose_it_is)
{
	struct fuse_getattr_in in = {.getattr_flags = FUSE_GETATTR_FH};
	struct fuse_open_out out;
	struct fuse_attr_out has;
	uint64_t row, node;
	struct table *t;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(create(row, "f:new"), 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(write_byte(node, out.fh), 0);
	assert_int_equal(ask(FUSE_UNLINK, row, NOTHING, name_of("f:new")), 0);
	in.fh = out.fh;
	assert_int_equal(ask(FUSE_GETATTR, node, ARGS(in), NOTHING), 0);
	memcpy(&has, answer.data, sizeof(has));
	assert_int_equal(has.attr.size, 1);
	assert_int_equal(has.attr.nlink, 0);
	assert_int_equal(table_open(world.store, bytes_str("T"), &t), 0);
	assert_int_equal(table_add_family(t, bytes_str("g")), 0);
	table_unref(t);
	assert_int_equal(store_table_drop(world.store, bytes_str("T"), false),
			 0);
	assert_int_equal(ask(FUSE_GETATTR, node, ARGS(in), NOTHING), -ENOENT);
	closed_file(node, out.fh);
}

TEST(who_makes_what_goes_again_and_again_has_made_it)
{
	others_row = a_row_with_a_cell(NULL);
	(void)looked_up(others_row, "f:q");
	meanwhile = removes_the_cell;
	assert_int_equal(create(others_row, "f:q"), -ESTALE);
	assert_int_equal(make_file(others_row, "f:q"), 0);
	(void)looked_up(others_row, "f:q");
	meanwhile = removes_the_cell;
	assert_int_equal(create(others_row, "f:q"), 0);
	assert_null(meanwhile);
	assert_int_equal(look(others_row, "f:q"), -ENOENT);
}

TEST(a_walk_is_known_when_the_kernel_has_forgotten_its_way)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	uint64_t row, family, column[2], file;

	row = a_row_with_a_cell(NULL);
	family = looked_up(row, "f");
	for (int i = 0; i < 2; i++) {
		column[i] = looked_up(family, "q");
		assert_int_equal(make_file(column[i], "5"), 0);
		file = looked_up(column[i], "5");
		assert_int_equal(
			ask(FUSE_UNLINK, column[i], NOTHING, name_of("5")), 0);
		assert_int_equal(ask(FUSE_OPEN, file, ARGS(in), NOTHING),
				 i ? -ENOENT : -ESTALE);
		nodes_forget(world.fs->nodes, file, UINT64_MAX);
		nodes_forget(world.fs->nodes, column[i], UINT64_MAX);
	}
	assert_int_not_equal(column[0], column[1]);
}

/* Who has found it opens it, and writes into what nobody else finds. */
TEST(a_scratch_file_that_was_removed_is_there_until_the_kernel_forgets_it)
{
	uint64_t row, node, handle;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(make_file(row, ".tmp"), 0);
	node = given();
	assert_int_equal(ask(FUSE_UNLINK, row, NOTHING, name_of(".tmp")), 0);
	handle = opened_file(node, O_WRONLY);
	assert_int_equal(write_byte(node, handle), 0);
	closed_file(node, handle);
	handle = opened_file(node, O_RDONLY);
	assert_reads(node, handle, 0, "x");
	closed_file(node, handle);
	assert_int_equal(look(row, ".tmp"), 0);
	assert_int_equal(given(), 0);
	forget(node);
	assert_false(scratch_any(world.fs->writes->scratch));
	assert_int_equal(errors_total(world.fs->errors), 0);
}

/* It becomes a cell as it is opened, twice in one walk. */
TEST(a_scratch_file_that_is_no_more_is_opened_once_at_most)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	uint64_t row, node;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(make_file(row, ".tmp"), 0);
	node = given();
	scratch_retire(world.fs->writes->scratch, node);
	assert_int_equal(ask(FUSE_OPEN, node, ARGS(in), NOTHING), -ESTALE);
	assert_int_equal(ask(FUSE_OPEN, node, ARGS(in), NOTHING), -ENOENT);
	assert_int_equal(errors_total(world.fs->errors), 0);
}

TEST(a_file_is_cut_by_its_path)
{
	uint64_t row, file, handle;

	row = a_row_with_a_cell(NULL);
	file = looked_up(row, "f:q");
	handle = opened_file(file, O_WRONLY);
	assert_int_equal(write_byte(file, handle), 0);
	closed_file(file, handle);
	assert_int_equal(size_of(row, "f:q"), 1);
	assert_int_equal(set_attr(file, FATTR_SIZE), 0);
	assert_int_equal(size_of(row, "f:q"), 0);
}

TEST(a_table_that_is_no_more_takes_no_schema)
{
	struct fuse_getattr_in in = {0};
	struct schema schema;
	uint64_t table, file, handle;
	struct table *t;

	a_row_with_a_cell(&table);
	/* Who made it looks for the schema in a way of its own. */
	world.pid = 11;
	file = looked_up(table, ".schema");
	handle = opened_file(file, O_WRONLY | O_TRUNC);
	/* What is known of its schema is old. */
	assert_int_equal(table_open(world.store, bytes_str("T"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	assert_int_equal(table_alter(t, &schema, false), 0);
	schema_free(&schema);
	table_unref(t);
	assert_int_equal(store_table_drop(world.store, bytes_str("T"), false),
			 0);
	assert_int_equal(write_byte(file, handle), -ENOENT);
	assert_int_equal(set_attr(table, FATTR_MODE), -ENOENT);
	assert_int_equal(ask(FUSE_GETATTR, table, ARGS(in), NOTHING), -ENOENT);
	closed_file(file, handle);
}

/* It drops a family that others have dropped before the close. */
TEST(an_appended_schema_that_is_refused_holds_nothing)
{
	static const char text[] = "drop family g\n";
	struct fuse_write_in in = {.size = sizeof(text) - 1, .flags = O_APPEND};
	struct schema schema;
	uint64_t table, file;
	struct table *t;

	a_row_with_a_cell(&table);
	world.pid = 11;
	file = looked_up(table, ".schema");
	assert_int_equal(table_open(world.store, bytes_str("T"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	assert_int_equal(table_add_family(t, bytes_str("g")), 0);
	in.fh = opened_file(file, O_WRONLY | O_APPEND);
	assert_int_equal(ask(FUSE_WRITE, file, ARGS(in), bytes_str(text)), 0);
	assert_int_equal(table_alter(t, &schema, false), 0);
	schema_free(&schema);
	table_unref(t);
	assert_int_equal(flush_file(file, in.fh), -EINVAL);
	closed_file(file, in.fh);
	assert_int_equal(world.fs->budget.held, 0);
}

TEST(who_owns_a_table_is_apart_from_who_may_use_it)
{
	struct fuse_attr_out out;
	uint64_t table;

	a_row_with_a_cell(&table);
	assert_int_equal(set_attr(table, FATTR_UID | FATTR_GID), 0);
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(out.attr.mode, S_IFDIR | 0755);
	assert_int_equal(set_attr(table, FATTR_MODE), 0);
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(out.attr.mode, S_IFDIR);
}

/* From now on family f of table T keeps that many. */
static void keep_versions(uint32_t n)
{
	struct schema schema;
	struct table *t;

	assert_int_equal(table_open(world.store, bytes_str("T"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	schema.families[0].attrs.versions = n;
	assert_int_equal(table_alter(t, &schema, false), 0);
	schema_free(&schema);
	table_unref(t);
}

TEST(what_is_appended_unseen_is_there_once)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_APPEND | O_CREAT,
				    .mode = S_IFREG | 0644};
	struct fuse_open_out out;
	uint64_t column = a_column_with_a_cell(), node;

	keep_versions(1);
	assert_int_equal(ask(FUSE_CREATE, column, ARGS(in), name_of("3")), 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(append_byte(node, out.fh), 0);
	assert_int_equal(flush_file(node, out.fh), 0);
	keep_versions(2);
	assert_int_equal(size_of(column, "3"), 1);
	assert_int_equal(append_byte(node, out.fh), 0);
	assert_int_equal(flush_file(node, out.fh), 0);
	closed_file(node, out.fh);
	assert_int_equal(size_of(column, "3"), 2);
}
