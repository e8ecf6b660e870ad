/* Files that are open, made, read and written, and the attributes of files. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/kernel.h"

#include "fs/files/lost_found.h"
#include "fs/files/writer_inside.h"
#include "fs/memory/write_state.h"

EACH_TEST_IN(world_set_up, world_tear_down);

/* Of so many more scratch files the content can be had. */
static unsigned contents = UINT32_MAX;
/* So many files are in lost+found. */
static unsigned keeps;

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
