/*
 * Renames, and versions that are moved aside by one: what cannot be moved stays
 * where it is, what is moved takes along what is in memory of it.
 */
#include "tests/unit/kernel.h"

#include <pthread.h>
#include <semaphore.h>

#include "fs/change/moved.h"

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

/* Who asks; another thread reads that file before what is put is told. */
static struct world *asker;
static uint64_t read_meanwhile;
static unsigned reads, past;

static void *reads_beside(void *arg)
{
	past += is_read_past_cache(asker, read_meanwhile);
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
static int (*meanwhile)(struct world *w);
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
	answered = ask(asker, FUSE_OPEN, file, ARGS(in), bytes_of(NULL, 0));
	if (answered == 0) {
		memcpy(&out, answer.data, sizeof(out));
		write_byte(asker, file, out.fh);
		flush_file(asker, file, out.fh);
		closed_file(asker, file, out.fh);
	}
	if (opens)
		sem_post(&stands);
	return NULL;
}

/* Until nobody else asks. */
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *m)
{
	static struct answer own;

	if (!opens)
		return __real_pthread_cond_wait(cond, m);
	own = answer;
	opens = false;
	pthread_mutex_unlock(m);
	sem_post(&stands);
	sem_wait(&goes_on);
	pthread_mutex_lock(m);
	answer = own;
	return 0;
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
		answered = meanwhile(asker);
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

static int unlink_in(struct world *w, uint64_t dir, const char *name)
{
	return ask(w, FUSE_UNLINK, dir, bytes_of(NULL, 0), name_of(name));
}

static int is_written(struct world *w)
{
	return write_byte(w, file, handle);
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
	uint64_t table, row, other;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(make_file(&w, row, "f:r"), 0);
	assert_int_equal(make_file(&w, row, ".a.swp"), 0);
	file = looked_up(&w, row, "f:q");
	for (unsigned i = 0; i < 4; i++) {
		handle = opened_file(&w, file, O_WRONLY | O_APPEND);
		assert_int_equal(append_byte(&w, file, handle), 0);
		fails = true;
		assert_int_equal(i == 0	  ? unlink_in(&w, row, "f:q")
				 : i == 1 ? rename_in(&w, row, "f:r", "f:q")
				 : i == 2 ? rename_in(&w, row, ".a.swp", "f:q")
					  : rename_in(&w, row, "f:q", "f:r"),
				 -EIO);
		fails = false;
		/* What is appended stays so. */
		other = opened_file(&w, file, O_WRONLY | O_APPEND);
		assert_int_equal(append_byte(&w, file, other), 0);
		closed_file(&w, file, other);
		assert_int_equal(flush_file(&w, file, handle), 0);
		assert_int_equal(size_of(&w, row, "f:q"), 2 * i + 2);
		closed_file(&w, file, handle);
	}
	world_end(&w);
}

TEST(what_is_replaced_or_removed_comes_back_by_no_close)
{
	uint64_t table, row;
	struct world w;

	world_begin(&w);
	asker = &w;
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(make_file(&w, row, "f:r"), 0);
	file = looked_up(&w, row, "f:q");
	handle = opened_file(&w, file, O_WRONLY);
	assert_int_equal(write_byte(&w, file, handle), 0);
	assert_int_equal(rename_in(&w, row, "f:r", "f:q"), 0);
	assert_int_equal(flush_file(&w, file, handle), 0);
	closed_file(&w, file, handle);
	assert_int_equal(size_of(&w, row, "f:q"), 0);
	/* Nor of one that is opened as it goes, */
	sem_init(&stands, 0, 0);
	sem_init(&goes_on, 0, 0);
	file = looked_up(&w, row, "f:q");
	beside = true;
	assert_int_equal(unlink_in(&w, row, "f:q"), 0);
	assert_int_equal(opened_beside(), -ESTALE);
	assert_int_equal(look(&w, row, "f:q"), -ENOENT);
	/* or gets another name, */
	assert_int_equal(make_file(&w, row, "f:q"), 0);
	file = looked_up(&w, row, "f:q");
	w.pid++;
	beside = true;
	assert_int_equal(rename_in(&w, row, "f:q", "f:r"), 0);
	assert_int_equal(opened_beside(), -ESTALE);
	assert_int_equal(look(&w, row, "f:q"), -ENOENT);
	assert_int_equal(size_of(&w, row, "f:r"), 0);
	/* but of one that stays. */
	file = looked_up(&w, row, "f:r");
	beside = fails = true;
	assert_int_equal(unlink_in(&w, row, "f:r"), -EIO);
	fails = false;
	assert_int_equal(opened_beside(), 0);
	assert_int_equal(size_of(&w, row, "f:r"), 1);
	world_end(&w);
}

TEST(what_is_written_to_a_file_as_it_is_put_is_refused)
{
	struct fuse_rename2_in in = {0};
	uint64_t table, row, stage;
	struct world w;

	world_begin(&w);
	asker = &w;
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(make_file(&w, row, ".a.swp"), 0);
	file = given();
	handle = opened_file(&w, file, O_WRONLY);
	meanwhile = is_written;
	fails = true;
	assert_int_equal(rename_in(&w, row, ".a.swp", "f:q"), -EIO);
	assert_int_equal(answered, -ESTALE);
	assert_int_equal(fs_replied, -EIO);
	/* It is a file again. */
	fails = false;
	assert_int_equal(write_byte(&w, file, handle), 0);
	meanwhile = is_written;
	assert_int_equal(rename_in(&w, row, ".a.swp", "f:q"), 0);
	assert_int_equal(answered, -ESTALE);
	assert_int_equal(size_of(&w, row, "f:q"), 1);
	closed_file(&w, file, handle);
	/* A row that is staged. */
	stage = looked_up(&w, table, ".stage");
	row = made_dir(&w, stage, "P");
	assert_int_equal(make_file(&w, row, "f:x"), 0);
	file = given();
	handle = opened_file(&w, file, O_WRONLY);
	in.newdir = table;
	meanwhile = is_written;
	fails = true;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask(&w, FUSE_RENAME2, stage, ARGS(in),
				     bytes_of("P\0P", 4)),
				 fails ? -EIO : 0);
		assert_int_equal(answered, -ESTALE);
		fails = false;
		if (i == 0)
			assert_int_equal(write_byte(&w, file, handle), 0);
		meanwhile = i == 0 ? is_written : NULL;
	}
	assert_int_equal(size_of(&w, row, "f:x"), 1);
	assert_int_equal(write_byte(&w, file, handle), -ESTALE);
	closed_file(&w, file, handle);
	world_end(&w);
}

/* The size that the kernel believes is that of what was there before. */
TEST(what_the_kernel_has_not_heard_of_is_not_cached)
{
	struct fuse_write_in line = {.size = 10};
	struct fuse_rename2_in in = {0};
	uint64_t table, row, column, stage;
	struct world w;

	world_begin(&w);
	asker = &w;
	row = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, row, "f"), "q");
	file = looked_up(&w, column, "latest");
	handle = opened_file(&w, file, O_WRONLY);
	assert_int_equal(write_byte(&w, file, handle), 0);
	read_meanwhile = looked_up(&w, row, "f:q");
	assert_false(is_read_past_cache(&w, read_meanwhile));
	assert_int_equal(flush_file(&w, file, handle), 0);
	assert_int_equal(reads, 1);
	assert_int_equal(past, reads);
	assert_false(is_read_past_cache(&w, read_meanwhile));
	read_meanwhile = 0;
	closed_file(&w, file, handle);
	/* The line of a stream. */
	file = looked_up(&w, table, ".cells");
	line.fh = opened_file(&w, file, O_WRONLY);
	read_meanwhile = looked_up(&w, row, "f:q");
	assert_int_equal(ask(&w, FUSE_WRITE, file, ARGS(line),
			     bytes_of("P\tf:q\t\txx\n", line.size)),
			 0);
	assert_int_equal(flush_file(&w, file, line.fh), 0);
	assert_int_equal(reads, 2);
	assert_int_equal(past, reads);
	assert_false(is_read_past_cache(&w, read_meanwhile));
	read_meanwhile = 0;
	closed_file(&w, file, line.fh);
	/* What a rename replaces has its name until it is over. */
	assert_int_equal(make_file(&w, row, ".a.swp"), 0);
	read_meanwhile = looked_up(&w, row, "f:q");
	assert_int_equal(rename_in(&w, row, ".a.swp", "f:q"), 0);
	assert_int_equal(reads, 4);
	assert_int_equal(past, reads);
	/* So has what the row that is staged will. */
	read_meanwhile = 0;
	stage = looked_up(&w, table, ".stage");
	assert_int_equal(make_file(&w, made_dir(&w, stage, "P"), "f:q"), 0);
	in.newdir = table;
	read_meanwhile = looked_up(&w, row, "f:q");
	assert_int_equal(
		ask(&w, FUSE_RENAME2, stage, ARGS(in), bytes_of("P\0P", 4)), 0);
	assert_true(reads > 4);
	assert_int_equal(past, reads);
	read_meanwhile = 0;
	world_end(&w);
}

TEST(a_version_that_is_aside_hides_no_other)
{
	uint64_t table, row, one, two;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(make_file(&w, row, "f:r"), 0);
	assert_int_equal(make_file(&w, row, "g:q"), 0);
	one = looked_up(&w, looked_up(&w, row, "f"), "q");
	assert_int_equal(make_file(&w, one, "5"), 0);
	assert_int_equal(make_file(&w, one, "6"), 0);
	two = looked_up(&w, looked_up(&w, row, "f"), "r");
	assert_int_equal(make_file(&w, two, "5"), 0);
	assert_int_equal(rename_in(&w, one, "5", "5~"), 0);
	assert_absent(&w, one, "5", 1);
	looked_up(&w, one, "6");
	looked_up(&w, two, "5");
	two = looked_up(&w, looked_up(&w, row, "g"), "q");
	assert_int_equal(make_file(&w, two, "5"), 0);
	looked_up(&w, two, "5");
	two = made_dir(&w, table, "R");
	assert_int_equal(make_file(&w, two, "f:q"), 0);
	two = looked_up(&w, looked_up(&w, two, "f"), "q");
	assert_int_equal(make_file(&w, two, "5"), 0);
	looked_up(&w, two, "5");
	assert_absent(&w, one, "5", 1);
	world_end(&w);
}

TEST(a_file_is_of_one_version_and_a_version_of_one_file)
{
	const struct bytes empty = bytes_of(NULL, 0);
	uint64_t table, column, one, two;
	struct place p;
	struct world w;

	world_begin(&w);
	column = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, column, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	one = looked_up(&w, column, "5");
	two = looked_up(&w, column, "latest");
	assert_int_equal(place_of(w.fs, one, &p), 0);
	assert_int_equal(moved_add(w.fs, one, &p, empty), 0);
	assert_int_equal(moved_add(w.fs, two, &p, empty), 0);
	moved_forget(w.fs, two);
	assert_false(moved_hides(w.fs, &p, 5));
	assert_int_equal(moved_add(w.fs, two, &p, empty), 0);
	p.ts = 6;
	assert_int_equal(moved_add(w.fs, two, &p, empty), 0);
	assert_false(moved_hides(w.fs, &p, 5));
	place_release(&p);
	world_end(&w);
}

/* As often as there is no more than that of it, which is more each time. */
static void assert_stays(struct world *w, uint64_t column, unsigned *of,
			 int err)
{
	uint64_t entries = overlay_count(w->fs->overlay), live = world_nodes(w);
	unsigned n;
	int r;

	for (n = 0;; n++) {
		*of = n;
		r = rename_in(w, column, "5", "5~");
		*of = UINT32_MAX;
		if (r == 0)
			break;
		assert_int_equal(r, err);
		assert_nothing_is_left(w, column, "5~", entries, live);
		forget(w, looked_up(w, column, "5"));
		assert_true(n < 100);
	}
	assert_true(n > 0);
	looked_up(w, column, "5~");
	assert_int_equal(look(w, column, "5"), 0);
	assert_int_equal(given(), 0);
	/* It has a path for as long as it is there. */
	assert_int_equal(overlay_count(w->fs->overlay), entries + 4);
}

TEST(a_version_that_cannot_be_moved_aside_stays)
{
	uint64_t table, column, node;
	struct world w;

	world_begin(&w);
	node = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, node, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	assert_stays(&w, column, &pins, -ESTALE);
	world_end(&w);
	world_begin(&w);
	node = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, node, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	assert_stays(&w, column, &names, -ENOMEM);
	world_end(&w);
}

/* Whether the column f:q has that version, hidden or not. */
static bool is_stored(struct world *w, int64_t ts)
{
	struct cell cell;
	struct table *t;
	int r;

	assert_int_equal(table_open(w->store, bytes_str("T"), &t), 0);
	r = table_get(t, bytes_str("P"), bytes_str("f"), bytes_str("q"), ts,
		      NULL, &cell, NULL);
	table_unref(t);
	return r > 0 && cell.ts == ts;
}

TEST(what_a_failed_rename_would_have_replaced_stays)
{
	uint64_t table, column, node, old, entries, live;
	struct world w;

	world_begin(&w);
	node = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, node, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	assert_int_equal(make_file(&w, column, "6"), 0);
	assert_int_equal(rename_in(&w, column, "5", "5~"), 0);
	old = looked_up(&w, column, "5~");
	entries = overlay_count(w.fs->overlay);
	forget(&w, old);
	live = world_nodes(&w);
	for (unsigned n = 0;; n++) {
		int r;

		pins = n;
		r = rename_in(&w, column, "6", "5~");
		pins = UINT32_MAX;
		if (r == 0)
			break;
		assert_int_equal(r, -ESTALE);
		assert_int_equal(looked_up(&w, column, "5~"), old);
		forget(&w, old);
		assert_true(is_stored(&w, 5));
		forget(&w, looked_up(&w, column, "6"));
		assert_int_equal(overlay_count(w.fs->overlay), entries);
		assert_int_equal(world_nodes(&w), live);
		assert_true(n < 100);
	}
	assert_int_not_equal(looked_up(&w, column, "5~"), old);
	assert_int_equal(overlay_count(w.fs->overlay), entries);
	assert_false(is_stored(&w, 5));
	world_end(&w);
}

TEST(a_version_that_is_moved_onto_itself_stays)
{
	uint64_t table, row, column;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	empty_row(&w, "P");
	column = made_dir(&w, made_dir(&w, row, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	assert_int_equal(rename_in(&w, column, "latest", "5"), 0);
	looked_up(&w, column, "5");
	world_end(&w);
}

TEST(what_is_in_memory_of_a_row_goes_on_in_the_one_staged)
{
	struct fuse_rename2_in in = {0};
	struct overlay_entry e;
	uint64_t table, row, stage, staged;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	made_dir(&w, row, "g");
	assert_int_equal(make_file(&w, row, ".a.swp"), 0);
	stage = looked_up(&w, table, ".stage");
	staged = made_dir(&w, stage, "P");
	assert_int_equal(make_file(&w, staged, "f:x"), 0);
	in.newdir = table;
	/* A delete that runs meanwhile finds the row that was. */
	kept.overlay = w.fs->overlay;
	kept.parent = table;
	kept.e = (struct overlay_entry){
		.node = row, .kind = NODE_ROW, .name = "P"};
	assert_int_equal(
		ask(&w, FUSE_RENAME2, stage, ARGS(in), bytes_of("P\0P", 4)), 0);
	assert_null(kept.overlay);
	assert_int_equal(looked_up(&w, table, "P"), staged);
	assert_int_equal(overlay_find(w.fs->overlay, table, bytes_str("P"), &e),
			 1);
	assert_int_equal(e.node, staged);
	looked_up(&w, staged, "f:x");
	looked_up(&w, staged, ".a.swp");
	assert_given_once(&w, looked_up(&w, staged, "g"));
	world_end(&w);
}

TEST(what_is_not_there_is_not_renamed)
{
	uint64_t table, row;
	struct world w;

	world_begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(rename_in(&w, row, "f:none", "f:x"), -ENOENT);
	assert_int_equal(rename_in(&w, row, "f:none", ".a.swp"), -ENOENT);
	world_end(&w);
}
