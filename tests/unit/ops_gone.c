/* Files that are removed as others open, write or ask for them. */
#include "tests/unit/kernel.h"

#include "fs/files/writer.h"
#include "fs/memory/write_state.h"

EACH_TEST_IN(world_set_up, world_tear_down);

/* A file is removed while it is asked whether it is hidden. */
static bool abandons;
/* What another does between one's look-up of a file and its opening. */
static void (*meanwhile)(void);

bool __real_writer_hides(struct fs *fs, uint64_t node, pid_t asker);
bool __wrap_writer_hides(struct fs *fs, uint64_t node, pid_t asker);
bool __wrap_writer_hides(struct fs *fs, uint64_t node, pid_t asker)
{
	struct writers held;

	if (abandons) {
		writers_hold(fs, node, &held);
		writers_end(&held, WRITER_REMOVED);
	}
	return __real_writer_hides(fs, node, asker);
}

int __real_cellfile_takes_put(const struct place *p);
int __wrap_cellfile_takes_put(const struct place *p);
int __wrap_cellfile_takes_put(const struct place *p)
{
	if (meanwhile)
		meanwhile();
	return __real_cellfile_takes_put(p);
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
