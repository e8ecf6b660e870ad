/* Which failures .cellfs/errors has, and in what words. */
#include "tests/unit/kernel.h"
#include "tests/unit/gone_caller.h"

#include "fs/memory/write_state.h"

EACH_TEST_IN(world_set_up, world_tear_down);

static int failing; /* a change, by this; 0 = none does */

static struct open_file
	*beside; /* what a killed caller writes during a change */
static unsigned refused;

static void meanwhile(void)
{
	struct open_file *f = beside;

	beside = NULL;
	if (!f)
		return;
	patience_begin_request_of(1, is_gone);
	assert_int_equal(f->ops->write(world.fs, f, bytes_str("1"), 0, 0),
			 -EINTR);
	assert_int_equal(f->ops->flush(world.fs, f), -EINTR);
	patience_begin_request();
	refused++;
}

int __real_table_mutate(struct table *t, struct mutation *m, unsigned flags);
int __wrap_table_mutate(struct table *t, struct mutation *m, unsigned flags);
int __wrap_table_mutate(struct table *t, struct mutation *m, unsigned flags)
{
	meanwhile();
	return failing ? failing : __real_table_mutate(t, m, flags);
}

int __real_table_mutate_many(struct table *t, struct mutation *ms, size_t n,
			     unsigned flags, size_t *done);
int __wrap_table_mutate_many(struct table *t, struct mutation *ms, size_t n,
			     unsigned flags, size_t *done);
int __wrap_table_mutate_many(struct table *t, struct mutation *ms, size_t n,
			     unsigned flags, size_t *done)
{
	meanwhile();
	return __real_table_mutate_many(t, ms, n, flags, done);
}

TEST(a_refused_name_of_a_table_is_explained)
{
	assert_int_equal(make_dir(FUSE_ROOT_ID, "a b"), -EINVAL);
	assert_told("mkdir /a b: EINVAL: a b is no name for a table: ");
	/* And the rule. */
	assert_told("letters");
	assert_int_equal(make_dir(FUSE_ROOT_ID, "a"), 0);
}

/* Asks for an absent name: .cellfs/errors has @text of it, or NULL for nothing. */
static void assert_absent_is_told(uint64_t dir, const char *name,
				  const char *text)
{
	uint64_t before = errors_total(world.fs->errors);

	look(dir, name);
	assert_int_equal(given(), 0);
	assert_int_equal(fs_replied, -ENOENT);
	assert_int_equal(errors_total(world.fs->errors),
			 before + (text != NULL));
	if (text)
		assert_told(text);
}

TEST(a_name_that_resembles_one_is_told_of)
{
	uint64_t table, row, control, put, range;

	row = a_row_with_a_cell(&table);
	assert_int_equal(look(table, ".put"), 0);
	put = given();
	assert_int_equal(look(table, ".range"), 0);
	range = given();
	assert_int_equal(look(FUSE_ROOT_ID, ".cellfs"), 0);
	control = given();
	assert_absent_is_told(control, "hlep", "did you mean help?");
	assert_absent_is_told(control, "xyzzy",
			      "there is no control file 'xyzzy' here: ");
	assert_absent_is_told(table, ".rnage", "did you mean .range?");
	assert_absent_is_told(row, ".betwen", "did you mean .between?");
	assert_absent_is_told(put, ".rnage", "did you mean .range?");
	assert_absent_is_told(table, ".git", NULL);
	assert_absent_is_told(table, "range", NULL);
	assert_absent_is_told(put, "a%zz", NULL);
	assert_absent_is_told(table, "a%zz", NULL);
	assert_absent_is_told(row, "f:x", NULL);
	/* No view, and why. */
	assert_absent_is_told(range, "x", "lookup /T/.range/x: ENOENT: ");
}

TEST(what_programs_run_into_all_day_is_not_told)
{
	struct fuse_getattr_in in = {0};
	struct fuse_open_out out;
	uint64_t table, row, node;

	row = a_row_with_a_cell(&table);
	assert_int_equal(make_dir(FUSE_ROOT_ID, "T"), -EEXIST);
	assert_int_equal(make_file(row, "f:q"), -EEXIST);
	assert_int_equal(look(row, "f:x"), -ENOENT);
	assert_int_equal(ask(FUSE_GETATTR, 12345, ARGS(in), NOTHING), -ESTALE);
	assert_int_equal(errors_total(world.fs->errors), 0);
	assert_int_equal(create(table, ".a.swp"), 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(write_byte(node, out.fh), 0);
	/* It becomes a cell: who goes on writing must know. */
	scratch_retire(world.fs->writes->scratch, node);
	assert_int_equal(write_byte(node, out.fh), -ESTALE);
	assert_int_equal(errors_total(world.fs->errors), 1);
	assert_told("write /T/.a.swp: ESTALE: the file was renamed");
}

/* A file of a row that is made and written, and not put. */
static uint64_t written_file(uint64_t *handle)
{
	struct fuse_open_out out;
	uint64_t node;

	assert_int_equal(create(a_row_with_a_cell(NULL), "f:new"), 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(write_byte(node, out.fh), 0);
	*handle = out.fh;
	return node;
}

/* Where a value went that others have dropped the table of. */
TEST(what_is_lost_with_its_table_is_told)
{
	uint64_t handle, node = written_file(&handle);

	assert_int_equal(
		store_table_drop(world.fs->store, bytes_str("T"), false), 0);
	assert_int_equal(flush_file(node, handle), -ENOENT);
	assert_told("close /");
	assert_told("ENOENT: ");
}

/* Who is killed in his close(2) has nobody else to tell of it. */
TEST(what_is_lost_with_its_writer_is_told)
{
	uint64_t handle, node = written_file(&handle);

	failing = -EINTR;
	assert_int_equal(flush_file(node, handle), -EINTR);
	failing = 0;
	assert_told("close /");
	assert_told("EINTR");
}

/* Nor is a file that has to be new and was made by another writer. */
TEST(what_another_writer_was_first_with_is_told)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_EXCL,
				    .mode = S_IFREG | 0644};
	struct change c = a_put("f", "new", TS_AUTO, "first");
	struct mutation m = change_of("P", &c);
	struct fuse_open_out out;
	uint64_t table, row, node;
	struct table *t;

	row = a_row_with_a_cell(&table);
	assert_int_equal(ask(FUSE_CREATE, row, ARGS(in), name_of("f:new")), 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(write_byte(node, out.fh), 0);
	assert_int_equal(table_open(world.fs->store, bytes_str("T"), &t), 0);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	table_unref(t);
	assert_int_equal(flush_file(node, out.fh), -EEXIST);
	assert_told("close /");
	assert_told("EEXIST: another writer was first");
}

/* The file is open, and gets @text; a killed caller comes to it meanwhile. */
static uint64_t write_beside(uint64_t node, const char *text)
{
	uint64_t fh = opened_file(node, O_WRONLY);
	struct fuse_write_in in = {.fh = fh, .size = (uint32_t)strlen(text)};
	struct open_file *f = handles_get(world.fs->handles, fh, NULL);
	unsigned before = refused;

	beside = f;
	assert_int_equal(ask(FUSE_WRITE, node, ARGS(in), bytes_str(text)), 0);
	assert_int_equal(refused, before + 1);
	open_file_drop(f);
	return fh;
}

/* Of one who waits for a server as he writes to the same open file. */
TEST(who_is_killed_waits_for_no_sum_and_no_line)
{
	uint64_t table, row, column;

	row = a_row_with_a_cell(&table);
	column = made_dir(looked_up(row, "f"), "n");
	column = looked_up(column, "counter");
	closed_file(column, write_beside(column, "5\n"));
	table = looked_up(table, ".cells");
	closed_file(table, write_beside(table, "P\tf:q\t\tv\nQ\tf:q\t\tv\n"));
}

/* A row may have more lines, so the last one waits for the close. */
TEST(lines_are_put_although_who_closes_is_killed)
{
	uint64_t table, cells, fh;

	a_row_with_a_cell(&table);
	cells = looked_up(table, ".cells");
	fh = write_beside(cells, "P\tf:q\t\tv\nQ\tf:q\t\tv\n");
	look(table, "Q");
	assert_int_equal(given(), 0);
	closed_file(cells, fh);
	looked_up(table, "Q");
}

/* Its line has no end yet. */
TEST(a_number_is_added_although_who_closes_is_killed)
{
	struct fuse_read_in in = {.size = 100};
	uint64_t column, counter;

	column = made_dir(looked_up(a_row_with_a_cell(NULL), "f"), "n");
	counter = looked_up(column, "counter");
	closed_file(counter, write_beside(counter, "5\n1"));
	in.fh = opened_file(counter, O_RDONLY);
	assert_int_equal(ask(FUSE_READ, counter, ARGS(in), NOTHING), 0);
	assert_memory_equal(answer.data, "6\n", 2);
	closed_file(counter, in.fh);
}

/* Nobody hears of it by the release. */
TEST(lines_that_the_release_does_not_put_are_told)
{
	uint64_t table, cells, fh;

	a_row_with_a_cell(&table);
	cells = looked_up(table, ".cells");
	fh = write_beside(cells, "P\tf:q\t\tv\nQ\tf:q\t\tv\nR");
	closed_file(cells, fh);
	assert_told("release /T/.cells: EINVAL: line 3: ");
}
