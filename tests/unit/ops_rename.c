/*
 * Renames, and versions that are moved aside by one: what cannot be moved stays
 * where it is, what is moved takes along what is in memory of it.
 */
#include "tests/unit/kernel.h"

#include <pthread.h>
#include <semaphore.h>

#include "fs/change/moved.h"
#include "fs/memory/write_state.h"

EACH_TEST_IN(world_set_up, world_tear_down);

/* So many more nodes can be pinned: then each is of a directory that has gone. */
static unsigned pins = UINT32_MAX;
/* For so many more names there is memory. */
static unsigned names = UINT32_MAX;
/* A directory that another thread keeps just before a node is renamed. */
static struct {
	struct overlay *overlay;
	uint64_t parent;
	struct overlay_entry e;
} kept;

int __real_nodes_pin(struct nodes *ns, uint64_t id);
int __wrap_nodes_pin(struct nodes *ns, uint64_t id);
int __wrap_nodes_pin(struct nodes *ns, uint64_t id)
{
	if (pins == 0)
		return -ESTALE;
	pins--;
	return __real_nodes_pin(ns, id);
}

int __real_overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		       const struct overlay_entry *e);
int __wrap_overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		       const struct overlay_entry *e);
int __wrap_overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		       const struct overlay_entry *e)
{
	if (names == 0)
		return -ENOMEM;
	names--;
	return __real_overlay_add(ov, parent, key, e);
}

/* Another thread reads that file before what is put is told. */
static uint64_t read_meanwhile;
static unsigned reads, past;

static void *reads_beside(void *arg)
{
	past += is_read_past_cache(read_meanwhile);
	return NULL;
}

static void read_untold(void)
{
	static struct answer outer;
	pthread_t reader;

	if (!read_meanwhile)
		return;
	outer = answer;
	assert_int_equal(pthread_create(&reader, NULL, reads_beside, NULL), 0);
	pthread_join(reader, NULL);
	answer = outer;
	reads++;
}

int __real_nodes_rename(struct nodes *ns, uint64_t parent, struct bytes name,
			uint64_t newparent, struct bytes newname, uint8_t kind,
			uint64_t ino);
int __wrap_nodes_rename(struct nodes *ns, uint64_t parent, struct bytes name,
			uint64_t newparent, struct bytes newname, uint8_t kind,
			uint64_t ino);
int __wrap_nodes_rename(struct nodes *ns, uint64_t parent, struct bytes name,
			uint64_t newparent, struct bytes newname, uint8_t kind,
			uint64_t ino)
{
	read_untold();
	if (kept.overlay)
		assert_int_equal(overlay_add(kept.overlay, kept.parent,
					     bytes_str(kept.e.name), &kept.e),
				 0);
	kept.overlay = NULL;
	return __real_nodes_rename(ns, parent, name, newparent, newname, kind,
				   ino);
}

/* Mutations fail. */
static bool fails;
/* What another asks just before one. */
static int (*meanwhile)(void);
static int answered;
/* Behind one another thread opens, writes and closes the file, or waits. */
static bool beside;
static sem_t stands, goes_on;
static pthread_t opener;
static _Thread_local bool opens;

/* The file that another has open. */
static uint64_t file, handle;

static void *open_and_close(void *arg)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	struct fuse_open_out out;

	opens = true;
	answered = ask(FUSE_OPEN, file, ARGS(in), NOTHING);
	if (answered == 0) {
		memcpy(&out, answer.data, sizeof(out));
		write_byte(file, out.fh);
		flush_file(file, out.fh);
		closed_file(file, out.fh);
	}
	if (opens)
		sem_post(&stands);
	return NULL;
}

/* Until nobody else asks. */
int __real_patience_wait(pthread_cond_t *cond, pthread_mutex_t *m,
			 uint64_t until_ns);
int __wrap_patience_wait(pthread_cond_t *cond, pthread_mutex_t *m,
			 uint64_t until_ns);
int __wrap_patience_wait(pthread_cond_t *cond, pthread_mutex_t *m,
			 uint64_t until_ns)
{
	static struct answer own;

	if (!opens)
		return __real_patience_wait(cond, m, until_ns);
	own = answer;
	opens = false;
	pthread_mutex_unlock(m);
	sem_post(&stands);
	sem_wait(&goes_on);
	pthread_mutex_lock(m);
	answer = own;
	return 1;
}

static void open_beside(void)
{
	beside = false;
	assert_int_equal(pthread_create(&opener, NULL, open_and_close, NULL),
			 0);
	sem_wait(&stands);
}

int __real_table_mutate(struct table *t, struct mutation *m, unsigned flags);
int __wrap_table_mutate(struct table *t, struct mutation *m, unsigned flags);
int __wrap_table_mutate(struct table *t, struct mutation *m, unsigned flags)
{
	static struct answer outer;
	int r;

	if (meanwhile) {
		outer = answer;
		answered = meanwhile();
		answer = outer;
		meanwhile = NULL;
	}
	r = fails ? -EIO : __real_table_mutate(t, m, flags);
	read_untold();
	if (beside) {
		outer = answer;
		open_beside();
		answer = outer;
	}
	return r;
}

int __real_table_mutate_many(struct table *t, struct mutation *m, size_t n,
			     unsigned flags, size_t *done);
int __wrap_table_mutate_many(struct table *t, struct mutation *m, size_t n,
			     unsigned flags, size_t *done);
int __wrap_table_mutate_many(struct table *t, struct mutation *m, size_t n,
			     unsigned flags, size_t *done)
{
	int r = __real_table_mutate_many(t, m, n, flags, done);

	read_untold();
	return r;
}

static int unlink_in(uint64_t dir, const char *name)
{
	return ask(FUSE_UNLINK, dir, NOTHING, name_of(name));
}

static int is_written(void)
{
	return write_byte(file, handle);
}

/* What the other thread got when it opened the file. */
static int opened_beside(void)
{
	sem_post(&goes_on);
	pthread_join(opener, NULL);
	return answered;
}

TEST(a_draft_stays_while_its_file_does)
{
	uint64_t row, other;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(make_file(row, "f:r"), 0);
	assert_int_equal(make_file(row, ".a.swp"), 0);
	file = looked_up(row, "f:q");
	for (unsigned i = 0; i < 4; i++) {
		handle = opened_file(file, O_WRONLY | O_APPEND);
		assert_int_equal(append_byte(file, handle), 0);
		fails = true;
		assert_int_equal(i == 0	  ? unlink_in(row, "f:q")
				 : i == 1 ? rename_in(row, "f:r", "f:q")
				 : i == 2 ? rename_in(row, ".a.swp", "f:q")
					  : rename_in(row, "f:q", "f:r"),
				 -EIO);
		fails = false;
		/* What is appended stays so. */
		other = opened_file(file, O_WRONLY | O_APPEND);
		assert_int_equal(append_byte(file, other), 0);
		closed_file(file, other);
		assert_int_equal(flush_file(file, handle), 0);
		assert_int_equal(size_of(row, "f:q"), 2 * i + 2);
		closed_file(file, handle);
	}
}

TEST(what_is_replaced_or_removed_comes_back_by_no_close)
{
	uint64_t row;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(make_file(row, "f:r"), 0);
	file = looked_up(row, "f:q");
	handle = opened_file(file, O_WRONLY);
	assert_int_equal(write_byte(file, handle), 0);
	assert_int_equal(rename_in(row, "f:r", "f:q"), 0);
	assert_int_equal(flush_file(file, handle), 0);
	closed_file(file, handle);
	assert_int_equal(size_of(row, "f:q"), 0);
	/* Nor of one that is opened as it goes, */
	sem_init(&stands, 0, 0);
	sem_init(&goes_on, 0, 0);
	file = looked_up(row, "f:q");
	beside = true;
	assert_int_equal(unlink_in(row, "f:q"), 0);
	assert_int_equal(opened_beside(), -ESTALE);
	assert_int_equal(look(row, "f:q"), -ENOENT);
	/* or gets another name, */
	assert_int_equal(make_file(row, "f:q"), 0);
	file = looked_up(row, "f:q");
	world.pid++;
	beside = true;
	assert_int_equal(rename_in(row, "f:q", "f:r"), 0);
	assert_int_equal(opened_beside(), -ESTALE);
	assert_int_equal(look(row, "f:q"), -ENOENT);
	assert_int_equal(size_of(row, "f:r"), 0);
	/* but of one that stays. */
	file = looked_up(row, "f:r");
	beside = fails = true;
	assert_int_equal(unlink_in(row, "f:r"), -EIO);
	fails = false;
	assert_int_equal(opened_beside(), 0);
	assert_int_equal(size_of(row, "f:r"), 1);
}

TEST(what_is_written_to_a_file_as_it_is_put_is_refused)
{
	struct fuse_rename2_in in = {0};
	uint64_t table, row, stage;

	row = a_row_with_a_cell(&table);
	assert_int_equal(make_file(row, ".a.swp"), 0);
	file = given();
	handle = opened_file(file, O_WRONLY);
	meanwhile = is_written;
	fails = true;
	assert_int_equal(rename_in(row, ".a.swp", "f:q"), -EIO);
	assert_int_equal(answered, -ESTALE);
	assert_int_equal(fs_replied, -EIO);
	/* It is a file again. */
	fails = false;
	assert_int_equal(write_byte(file, handle), 0);
	meanwhile = is_written;
	assert_int_equal(rename_in(row, ".a.swp", "f:q"), 0);
	assert_int_equal(answered, -ESTALE);
	assert_int_equal(size_of(row, "f:q"), 1);
	closed_file(file, handle);
	/* A row that is staged. */
	stage = looked_up(table, ".stage");
	row = made_dir(stage, "P");
	assert_int_equal(make_file(row, "f:x"), 0);
	file = given();
	handle = opened_file(file, O_WRONLY);
	in.newdir = table;
	meanwhile = is_written;
	fails = true;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			ask(FUSE_RENAME2, stage, ARGS(in), bytes_of("P\0P", 4)),
			fails ? -EIO : 0);
		assert_int_equal(answered, -ESTALE);
		fails = false;
		if (i == 0)
			assert_int_equal(write_byte(file, handle), 0);
		meanwhile = i == 0 ? is_written : NULL;
	}
	assert_int_equal(size_of(row, "f:x"), 1);
	assert_int_equal(write_byte(file, handle), -ESTALE);
	closed_file(file, handle);
}

/* The size that the kernel believes is that of what was there before. */
TEST(what_the_kernel_has_not_heard_of_is_not_cached)
{
	struct fuse_write_in line = {.size = 10};
	struct fuse_rename2_in in = {0};
	uint64_t table, row, column, stage;

	row = a_row_with_a_cell(&table);
	column = looked_up(looked_up(row, "f"), "q");
	file = looked_up(column, "latest");
	handle = opened_file(file, O_WRONLY);
	assert_int_equal(write_byte(file, handle), 0);
	read_meanwhile = looked_up(row, "f:q");
	assert_false(is_read_past_cache(read_meanwhile));
	assert_int_equal(flush_file(file, handle), 0);
	assert_int_equal(reads, 1);
	assert_int_equal(past, reads);
	assert_false(is_read_past_cache(read_meanwhile));
	read_meanwhile = 0;
	closed_file(file, handle);
	/* The line of a stream. */
	file = looked_up(table, ".cells");
	line.fh = opened_file(file, O_WRONLY);
	read_meanwhile = looked_up(row, "f:q");
	assert_int_equal(ask(FUSE_WRITE, file, ARGS(line),
			     bytes_of("P\tf:q\t\txx\n", line.size)),
			 0);
	assert_int_equal(flush_file(file, line.fh), 0);
	assert_int_equal(reads, 2);
	assert_int_equal(past, reads);
	assert_false(is_read_past_cache(read_meanwhile));
	read_meanwhile = 0;
	closed_file(file, line.fh);
	/* What a rename replaces has its name until it is over. */
	assert_int_equal(make_file(row, ".a.swp"), 0);
	read_meanwhile = looked_up(row, "f:q");
	assert_int_equal(rename_in(row, ".a.swp", "f:q"), 0);
	assert_int_equal(reads, 4);
	assert_int_equal(past, reads);
	/* So has what the row that is staged will. */
	read_meanwhile = 0;
	stage = looked_up(table, ".stage");
	assert_int_equal(make_file(made_dir(stage, "P"), "f:q"), 0);
	in.newdir = table;
	read_meanwhile = looked_up(row, "f:q");
	assert_int_equal(
		ask(FUSE_RENAME2, stage, ARGS(in), bytes_of("P\0P", 4)), 0);
	assert_true(reads > 4);
	assert_int_equal(past, reads);
	read_meanwhile = 0;
}

TEST(a_version_that_is_aside_hides_no_other)
{
	uint64_t table, row, one, two;

	row = a_row_with_a_cell(&table);
	assert_int_equal(make_file(row, "f:r"), 0);
	assert_int_equal(make_file(row, "g:q"), 0);
	one = looked_up(looked_up(row, "f"), "q");
	assert_int_equal(make_file(one, "5"), 0);
	assert_int_equal(make_file(one, "6"), 0);
	two = looked_up(looked_up(row, "f"), "r");
	assert_int_equal(make_file(two, "5"), 0);
	assert_int_equal(rename_in(one, "5", "5~"), 0);
	assert_absent(one, "5", 1);
	looked_up(one, "6");
	looked_up(two, "5");
	two = looked_up(looked_up(row, "g"), "q");
	assert_int_equal(make_file(two, "5"), 0);
	looked_up(two, "5");
	two = made_dir(table, "R");
	assert_int_equal(make_file(two, "f:q"), 0);
	two = looked_up(looked_up(two, "f"), "q");
	assert_int_equal(make_file(two, "5"), 0);
	looked_up(two, "5");
	assert_absent(one, "5", 1);
}

TEST(a_file_is_of_one_version_and_a_version_of_one_file)
{
	const struct cell cell = {0};
	uint64_t column, one, two;
	struct place p;

	column = a_column_with_a_cell();
	assert_int_equal(make_file(column, "5"), 0);
	one = looked_up(column, "5");
	two = looked_up(column, "latest");
	assert_int_equal(place_of(world.fs, one, &p), 0);
	assert_int_equal(moved_add(world.fs, one, &p, &cell), 0);
	assert_int_equal(moved_add(world.fs, two, &p, &cell), 0);
	moved_forget(world.fs, two);
	assert_false(moved_hides(world.fs, &p, 5));
	assert_int_equal(moved_add(world.fs, two, &p, &cell), 0);
	p.ts = 6;
	assert_int_equal(moved_add(world.fs, two, &p, &cell), 0);
	assert_false(moved_hides(world.fs, &p, 5));
	place_release(&p);
}

/* As often as there is no more than that of it, which is more each time. */
static void assert_stays(unsigned *of, int err)
{
	uint64_t column = a_column_with_a_cell(), entries, live;
	unsigned n;
	int r;

	assert_int_equal(make_file(column, "5"), 0);
	entries = overlay_count(world.fs->overlay);
	live = world_nodes();
	for (n = 0;; n++) {
		*of = n;
		r = rename_in(column, "5", "5~");
		*of = UINT32_MAX;
		if (r == 0)
			break;
		assert_int_equal(r, err);
		assert_nothing_is_left(column, "5~", entries, live);
		forget(looked_up(column, "5"));
		assert_true(n < 100);
	}
	assert_true(n > 0);
	looked_up(column, "5~");
	assert_int_equal(look(column, "5"), 0);
	assert_int_equal(given(), 0);
	/* It has a path for as long as it is there. */
	assert_int_equal(overlay_count(world.fs->overlay), entries + 4);
}

TEST(a_version_that_cannot_be_moved_aside_stays)
{
	assert_stays(&pins, -ESTALE);
	world_tear_down(state);
	world_set_up(state);
	assert_stays(&names, -ENOMEM);
}

/* Whether the column f:q has that version, hidden or not. */
static bool is_stored(int64_t ts)
{
	struct cell cell;
	struct table *t;
	int r;

	assert_int_equal(table_open(world.store, bytes_str("T"), &t), 0);
	r = table_get(t, bytes_str("P"), bytes_str("f"), bytes_str("q"), ts,
		      NULL, &cell, NULL);
	table_unref(t);
	return r > 0 && cell.ts == ts;
}

TEST(what_a_failed_rename_would_have_replaced_stays)
{
	uint64_t column, node, old, entries, live;

	node = a_row_with_a_cell(NULL);
	column = looked_up(looked_up(node, "f"), "q");
	assert_int_equal(make_file(column, "5"), 0);
	assert_int_equal(make_file(column, "6"), 0);
	assert_int_equal(rename_in(column, "5", "5~"), 0);
	old = looked_up(column, "5~");
	entries = overlay_count(world.fs->overlay);
	forget(old);
	live = world_nodes();
	for (unsigned n = 0;; n++) {
		int r;

		pins = n;
		r = rename_in(column, "6", "5~");
		pins = UINT32_MAX;
		if (r == 0)
			break;
		assert_int_equal(r, -ESTALE);
		assert_int_equal(looked_up(column, "5~"), old);
		forget(old);
		assert_true(is_stored(5));
		forget(looked_up(column, "6"));
		assert_int_equal(overlay_count(world.fs->overlay), entries);
		assert_int_equal(world_nodes(), live);
		assert_true(n < 100);
	}
	assert_int_not_equal(looked_up(column, "5~"), old);
	assert_int_equal(overlay_count(world.fs->overlay), entries);
	assert_false(is_stored(5));
}

TEST(a_column_goes_with_all_that_was_moved_out_of_it)
{
	struct fuse_rename2_in in;
	uint64_t row, family, column;

	row = a_row_with_a_cell(NULL);
	empty_row("P");
	family = made_dir(row, "f");
	column = made_dir(family, "q");
	for (int i = 0; i < 3; i++)
		assert_int_equal(make_file(column, (char[]){"567"[i], 0}), 0);
	in = (struct fuse_rename2_in){.newdir = row};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ask(FUSE_RMDIR, family, NOTHING, name_of("q")),
				 -ENOTEMPTY);
		assert_true(is_stored(5) && is_stored(6) && is_stored(7));
		assert_int_equal(
			ask(FUSE_RENAME2, column, ARGS(in),
			    bytes_of((char[]){"567"[i], 0, "567"[i], '~', 0},
				     5)),
			0);
	}
	assert_int_equal(ask(FUSE_RMDIR, family, NOTHING, name_of("q")), 0);
	assert_false(is_stored(5) || is_stored(6) || is_stored(7));
}

TEST(a_version_that_is_moved_onto_itself_stays)
{
	uint64_t row, column;

	row = a_row_with_a_cell(NULL);
	empty_row("P");
	column = made_dir(made_dir(row, "f"), "q");
	assert_int_equal(make_file(column, "5"), 0);
	assert_int_equal(rename_in(column, "latest", "5"), 0);
	looked_up(column, "5");
}

TEST(what_is_in_memory_of_a_row_goes_on_in_the_one_staged)
{
	struct fuse_rename2_in in = {0};
	struct overlay_entry e;
	uint64_t table, row, stage, staged;

	row = a_row_with_a_cell(&table);
	made_dir(row, "g");
	assert_int_equal(make_file(row, ".a.swp"), 0);
	stage = looked_up(table, ".stage");
	staged = made_dir(stage, "P");
	assert_int_equal(make_file(staged, "f:x"), 0);
	in.newdir = table;
	/* A delete that runs meanwhile finds the row that was. */
	kept.overlay = world.fs->overlay;
	kept.parent = table;
	kept.e = (struct overlay_entry){
		.node = row, .kind = NODE_ROW, .name = "P"};
	assert_int_equal(
		ask(FUSE_RENAME2, stage, ARGS(in), bytes_of("P\0P", 4)), 0);
	assert_null(kept.overlay);
	assert_int_equal(looked_up(table, "P"), staged);
	assert_int_equal(
		overlay_find(world.fs->overlay, table, bytes_str("P"), &e), 1);
	assert_int_equal(e.node, staged);
	looked_up(staged, "f:x");
	looked_up(staged, ".a.swp");
	assert_given_once(looked_up(staged, "g"));
}

/* The name is there at every moment, though the kernel knows it by the old node. */
TEST(a_scratch_file_that_is_replaced_stays_until_the_kernel_forgets_it)
{
	struct scratch *s = world.fs->writes->scratch;
	uint64_t row, old, writes, bytes;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(make_file(row, ".new.swp"), 0);
	bytes = scratch_bytes(s);
	assert_int_equal(make_file(row, ".old.swp"), 0);
	old = looked_up(row, ".old.swp");
	writes = opened_file(old, O_WRONLY);
	assert_int_equal(write_byte(old, writes), 0);
	closed_file(old, writes);
	assert_int_equal(rename_in(row, ".new.swp", ".old.swp"), 0);
	assert_int_equal(size_of(row, ".old.swp"), 0);
	for (int i = 0; i < 2; i++) {
		struct fuse_read_in in = {.size = 3};

		in.fh = opened_file(old, O_RDONLY);
		assert_int_equal(ask(FUSE_READ, old, ARGS(in), NOTHING), 0);
		assert_int_equal(answer.len, 1);
		closed_file(old, in.fh);
	}
	assert_true(scratch_bytes(s) > bytes);
	forget(old);
	forget(old);
	assert_int_equal(scratch_bytes(s), bytes);
}

TEST(what_is_not_there_is_not_renamed)
{
	uint64_t row;

	row = a_row_with_a_cell(NULL);
	assert_int_equal(rename_in(row, "f:none", "f:x"), -ENOENT);
	assert_int_equal(rename_in(row, "f:none", ".a.swp"), -ENOENT);
}
