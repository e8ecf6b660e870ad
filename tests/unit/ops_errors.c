/* Which failures .cellfs/errors has, and in what words. */
#include "tests/unit/kernel.h"

#include "fs/memory/write_state.h"

TEST(a_refused_name_of_a_table_is_explained)
{
	struct world w;

	world_begin(&w);
	assert_int_equal(make_dir(&w, FUSE_ROOT_ID, "a b"), -EINVAL);
	assert_told(&w, "mkdir /a b: EINVAL: a b is no name for a table: ");
	/* And the rule. */
	assert_told(&w, "letters");
	assert_int_equal(make_dir(&w, FUSE_ROOT_ID, "a"), 0);
	world_end(&w);
}

/* Asks for an absent name: .cellfs/errors has @text of it, or NULL for nothing. */
static void assert_absent_is_told(struct world *w, uint64_t dir,
				  const char *name, const char *text)
{
	uint64_t before = errors_total(w->fs->errors);

	look(w, dir, name);
	assert_int_equal(given(), 0);
	assert_int_equal(fs_replied, -ENOENT);
	assert_int_equal(errors_total(w->fs->errors), before + (text != NULL));
	if (text)
		assert_told(w, text);
}

TEST(a_name_that_resembles_one_is_told_of)
{
	uint64_t table, row, control, put, range;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(look(&w, table, ".put"), 0);
	put = given();
	assert_int_equal(look(&w, table, ".range"), 0);
	range = given();
	assert_int_equal(look(&w, FUSE_ROOT_ID, ".cellfs"), 0);
	control = given();
	assert_absent_is_told(&w, control, "hlep", "did you mean help?");
	assert_absent_is_told(&w, control, "xyzzy",
			      "there is no control file 'xyzzy' here: ");
	assert_absent_is_told(&w, table, ".rnage", "did you mean .range?");
	assert_absent_is_told(&w, row, ".betwen", "did you mean .between?");
	assert_absent_is_told(&w, put, ".rnage", "did you mean .range?");
	assert_absent_is_told(&w, table, ".git", NULL);
	assert_absent_is_told(&w, table, "range", NULL);
	assert_absent_is_told(&w, put, "a%zz", NULL);
	assert_absent_is_told(&w, table, "a%zz", NULL);
	assert_absent_is_told(&w, row, "f:x", NULL);
	/* No view, and why. */
	assert_absent_is_told(&w, range, "x", "lookup /T/.range/x: ENOENT: ");
	world_end(&w);
}

TEST(what_programs_run_into_all_day_is_not_told)
{
	struct fuse_getattr_in in = {0};
	struct fuse_open_out out;
	uint64_t table, row, node;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(make_dir(&w, FUSE_ROOT_ID, "T"), -EEXIST);
	assert_int_equal(make_file(&w, row, "f:q"), -EEXIST);
	assert_int_equal(look(&w, row, "f:x"), -ENOENT);
	assert_int_equal(
		ask(&w, FUSE_GETATTR, 12345, ARGS(in), bytes_of(NULL, 0)),
		-ESTALE);
	assert_int_equal(errors_total(w.fs->errors), 0);
	assert_int_equal(create(&w, table, ".a.swp"), 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(write_byte(&w, node, out.fh), 0);
	/* It becomes a cell: who goes on writing must know. */
	scratch_retire(w.fs->writes->scratch, node);
	assert_int_equal(write_byte(&w, node, out.fh), -ESTALE);
	assert_int_equal(errors_total(w.fs->errors), 1);
	assert_told(&w, "write /T/.a.swp: ESTALE: the file was renamed");
	world_end(&w);
}

/* Where a value went that others have dropped the table of. */
TEST(what_is_lost_with_its_table_is_told)
{
	struct fuse_flush_in flush = {0};
	struct fuse_open_out out;
	uint64_t table, row, node;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(create(&w, row, "f:new"), 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(write_byte(&w, node, out.fh), 0);
	assert_int_equal(store_table_drop(w.fs->store, bytes_str("T"), false),
			 0);
	flush.fh = out.fh;
	assert_int_equal(
		ask(&w, FUSE_FLUSH, node, ARGS(flush), bytes_of(NULL, 0)),
		-ENOENT);
	assert_told(&w, "close /");
	assert_told(&w, "ENOENT: ");
	world_end(&w);
}

/* Nor is a file that has to be new and was made by another writer. */
TEST(what_another_writer_was_first_with_is_told)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_EXCL,
				    .mode = S_IFREG | 0644};
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("new"),
			   .ts = TS_AUTO,
			   .value = bytes_str("first")};
	struct mutation m = {
		.row = bytes_str("P"), .changes = &c, .nchanges = 1};
	struct fuse_flush_in flush = {0};
	struct fuse_open_out out;
	uint64_t table, row, node;
	struct table *t;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(ask(&w, FUSE_CREATE, row, ARGS(in), name_of("f:new")),
			 0);
	node = given();
	memcpy(&out, answer.data + sizeof(struct fuse_entry_out), sizeof(out));
	assert_int_equal(write_byte(&w, node, out.fh), 0);
	assert_int_equal(table_open(w.fs->store, bytes_str("T"), &t), 0);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	table_unref(t);
	flush.fh = out.fh;
	assert_int_equal(
		ask(&w, FUSE_FLUSH, node, ARGS(flush), bytes_of(NULL, 0)),
		-EEXIST);
	assert_told(&w, "close /");
	assert_told(&w, "EEXIST: another writer was first");
	world_end(&w);
}
