/*
 * What becomes of a request of the kernel that finds no room in memory, whose
 * reply nobody takes, or whose name means nothing.
 */
#include "tests/unit/kernel.h"

#include "fs/change/moved.h"
#include "fs/files/lost_found.h"
#include "fs/files/writer.h"
#include "fs/memory/write_state.h"
#include "store/os/clock.h"
#include "tests/model/ref_store.h"

/* So many more entries find room in the overlay. */
static unsigned room;
/* So many more nodes can be pinned: then each is of a directory that has gone. */
static unsigned pins;
/* So many more nodes can be made. */
static unsigned enters;
/* A file is removed while it is asked whether it is hidden. */
static bool abandons;
/* So many more looks into the store find a cell. */
static unsigned gets = UINT32_MAX;
/* For so many more names there is memory. */
static unsigned names;
/* A directory that another thread keeps just before a node is renamed. */
static struct {
	struct overlay *overlay;
	uint64_t parent;
	struct overlay_entry e;
} kept;
/* Of so many more scratch files the content can be had. */
static unsigned contents;
/* So many files are in lost+found. */
static unsigned keeps;
/* Another makes the table at the moment at which one is to be made. */
static bool table_comes;
/* The table is dropped while a request runs. */
static bool table_goes;
/* What happens while a name is found to be absent. */
static void (*meanwhile)(struct fs *fs, const struct place *p);
/* What the clock that nobody sets shows; -1 = the machine's. */
static int64_t clock_at_ms = -1;

int __real_overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		       const struct overlay_entry *e);
int __wrap_overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		       const struct overlay_entry *e);
int __wrap_overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		       const struct overlay_entry *e)
{
	int r;

	if (room == 0)
		return -ENOSPC;
	r = __real_overlay_add(ov, parent, key, e);
	room -= r == 0;
	return r;
}

int __real_nodes_pin(struct nodes *ns, uint64_t id);
int __wrap_nodes_pin(struct nodes *ns, uint64_t id);
int __wrap_nodes_pin(struct nodes *ns, uint64_t id)
{
	if (pins == 0)
		return -ESTALE;
	pins--;
	return __real_nodes_pin(ns, id);
}

int __real_nodes_enter(struct nodes *ns, uint64_t parent, struct bytes name,
		       uint8_t kind, uint64_t ino, struct fstable *table,
		       uint64_t *id);
int __wrap_nodes_enter(struct nodes *ns, uint64_t parent, struct bytes name,
		       uint8_t kind, uint64_t ino, struct fstable *table,
		       uint64_t *id);
int __wrap_nodes_enter(struct nodes *ns, uint64_t parent, struct bytes name,
		       uint8_t kind, uint64_t ino, struct fstable *table,
		       uint64_t *id)
{
	if (enters == 0)
		return -ENOMEM;
	enters--;
	return __real_nodes_enter(ns, parent, name, kind, ino, table, id);
}

int __real_sorted_node_init(struct sorted_node *n, struct bytes dir,
			    struct bytes name);
int __wrap_sorted_node_init(struct sorted_node *n, struct bytes dir,
			    struct bytes name);
int __wrap_sorted_node_init(struct sorted_node *n, struct bytes dir,
			    struct bytes name)
{
	if (names == 0)
		return -ENOMEM;
	names--;
	return __real_sorted_node_init(n, dir, name);
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
	if (kept.overlay)
		assert_int_equal(overlay_add(kept.overlay, kept.parent,
					     bytes_str(kept.e.name), &kept.e),
				 0);
	kept.overlay = NULL;
	return __real_nodes_rename(ns, parent, name, newparent, newname, kind,
				   ino);
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

bool __real_writer_hides(struct fs *fs, uint64_t node, pid_t asker);
bool __wrap_writer_hides(struct fs *fs, uint64_t node, pid_t asker);
bool __wrap_writer_hides(struct fs *fs, uint64_t node, pid_t asker)
{
	if (abandons)
		writer_abandon(fs, node);
	return __real_writer_hides(fs, node, asker);
}

int __real_place_get(const struct place *p, struct cell *cell,
		     struct buf *hold);
int __wrap_place_get(const struct place *p, struct cell *cell,
		     struct buf *hold);
int __wrap_place_get(const struct place *p, struct cell *cell, struct buf *hold)
{
	if (gets) {
		gets--;
		return __real_place_get(p, cell, hold);
	}
	/* What is absent leaves of a buffer what it likes. */
	if (hold)
		hold->len = 0;
	return 0;
}

int __wrap_store_keep(struct store *s, struct bytes name, struct bytes content);
int __wrap_store_keep(struct store *s, struct bytes name, struct bytes content)
{
	keeps++;
	return 0;
}

int __real_store_table_create(struct store *s, struct bytes name,
			      const struct schema *schema);
int __wrap_store_table_create(struct store *s, struct bytes name,
			      const struct schema *schema);
int __wrap_store_table_create(struct store *s, struct bytes name,
			      const struct schema *schema)
{
	if (table_comes)
		assert_int_equal(__real_store_table_create(s, name, NULL), 0);
	return __real_store_table_create(s, name, schema);
}

int __real_place_stat_blank(struct fs *fs, const struct place *p,
			    struct stat *st);
int __wrap_place_stat_blank(struct fs *fs, const struct place *p,
			    struct stat *st);
int __wrap_place_stat_blank(struct fs *fs, const struct place *p,
			    struct stat *st)
{
	return table_goes ? 0 : __real_place_stat_blank(fs, p, st);
}

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

static void begin(struct world *w)
{
	room = pins = enters = names = contents = UINT32_MAX;
	world_begin(w);
}

/* A request has found no room and left nothing. */
static void assert_nothing_is_left(struct world *w, uint64_t dir,
				   const char *name, uint64_t entries,
				   uint64_t live)
{
	assert_int_equal(overlay_count(w->fs->overlay), entries);
	assert_int_equal(world_nodes(w), live);
	assert_false(scratch_any(w->fs->writes->scratch));
	room = UINT32_MAX;
	look(w, dir, name);
	assert_int_equal(given(), 0);
	assert_int_equal(world_nodes(w), live);
}

static void assert_no_room(struct world *w, uint64_t dir, const char *name,
			   int (*make)(struct world *, uint64_t, const char *))
{
	uint64_t entries = overlay_count(w->fs->overlay), live = world_nodes(w);
	unsigned before = room;

	assert_int_equal(make(w, dir, name), -ENOSPC);
	assert_told(w, name);
	assert_told(w, "ENOSPC: too many empty directories");
	assert_nothing_is_left(w, dir, name, entries, live);
	room = before;
}

static void a_directory_that_finds_no_room_is_refused_whole(void **state)
{
	uint64_t table, row, family, put;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(look(&w, table, ".put"), 0);
	put = given();
	room = 0;
	assert_no_room(&w, table, "R", make_dir);
	assert_no_room(&w, row, "g", make_dir);
	/* Its row would have to be kept as well. */
	room = 1;
	assert_no_room(&w, row, "g", make_dir);
	room = 2;
	family = made_dir(&w, row, "g");
	assert_int_equal(room, 0);
	assert_no_room(&w, family, "q", make_dir);
	assert_int_equal(look(&w, put, "P"), 0);
	assert_no_room(&w, given(), "h", make_dir);
	room = 1;
	assert_int_equal(make_dir(&w, table, "R"), 0);
	world_end(&w);
}

/* The name is absent, may be believed so for @seconds, and is in the trace. */
static void assert_absent(struct world *w, uint64_t dir, const char *name,
			  uint64_t seconds)
{
	struct fuse_entry_out e = {0};
	uint64_t live = world_nodes(w);

	assert_int_equal(look(w, dir, name), seconds ? 0 : -ENOENT);
	if (seconds) {
		assert_int_equal(answer.len, sizeof(e));
		memcpy(&e, answer.data, sizeof(e));
	}
	assert_int_equal(e.nodeid, 0);
	assert_int_equal(e.entry_valid, seconds);
	assert_int_equal(fs_replied, -ENOENT);
	assert_int_equal(world_nodes(w), live);
}

static void a_refused_name_of_a_table_is_explained(void **state)
{
	struct world w;

	begin(&w);
	assert_int_equal(make_dir(&w, FUSE_ROOT_ID, "a b"), -EINVAL);
	assert_told(&w, "mkdir /a b: EINVAL: a b is no name for a table: ");
	/* And the rule. */
	assert_told(&w, "letters");
	assert_int_equal(make_dir(&w, FUSE_ROOT_ID, "a"), 0);
	world_end(&w);
}

static void of_two_who_make_a_table_one_hears_that_it_is_there(void **state)
{
	uint64_t live;
	struct world w;

	begin(&w);
	live = world_nodes(&w);
	table_comes = true;
	assert_int_equal(make_dir(&w, FUSE_ROOT_ID, "T"), -EEXIST);
	table_comes = false;
	assert_int_equal(world_nodes(&w), live);
	world_end(&w);
}

static void a_version_that_is_aside_hides_no_other(void **state)
{
	uint64_t table, row, one, two;
	struct world w;

	begin(&w);
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

static void a_file_is_of_one_version_and_a_version_of_one_file(void **state)
{
	const struct bytes empty = bytes_of(NULL, 0);
	uint64_t table, column, one, two;
	struct place p;
	struct world w;

	begin(&w);
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

static void a_past_that_cannot_be_shown_is_no_absent_one(void **state)
{
	uint64_t table, row, column;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, row, "f"), "q");
	ref_store_as_hbase(w.store);
	assert_int_equal(look(&w, column, "@5"), -EOPNOTSUPP);
	world_end(&w);
}

static void a_table_needs_no_room(void **state)
{
	struct world w;

	begin(&w);
	room = 0;
	assert_int_equal(make_dir(&w, FUSE_ROOT_ID, "T"), 0);
	world_end(&w);
}

static void a_scratch_file_that_finds_no_room_is_refused_whole(void **state)
{
	uint64_t table, row;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	room = 0;
	assert_no_room(&w, table, ".a.swp", make_file);
	assert_no_room(&w, table, ".a.swp", create);
	assert_no_room(&w, table, ".d", make_dir);
	room = 1;
	assert_no_room(&w, row, ".a.swp", make_file);
	assert_no_room(&w, row, ".a.swp", create);
	assert_no_room(&w, row, ".d", make_dir);
	room = 2;
	assert_int_equal(create(&w, row, ".a.swp"), 0);
	assert_int_equal(room, 0);
	world_end(&w);
}

static void assert_fails(struct world *w, uint64_t dir, const char *name,
			 int (*make)(struct world *, uint64_t, const char *),
			 int err)
{
	uint64_t entries = overlay_count(w->fs->overlay), live = world_nodes(w);

	assert_int_equal(make(w, dir, name), err);
	assert_int_equal(overlay_count(w->fs->overlay), entries);
	assert_int_equal(world_nodes(w), live);
	assert_false(scratch_any(w->fs->writes->scratch));
	assert_int_equal(handles_count(w->fs->handles), 0);
}

static void what_cannot_be_had_fails_and_leaves_nothing(void **state)
{
	static const struct {
		const char *name;
		int (*make)(struct world *, uint64_t, const char *);
	} in_table[] =
		{
			{"R", make_dir},
			{".d", make_dir},
			{".a.swp", make_file},
			{".a.swp", create},
		},
	  in_row[] = {{"g", make_dir}, {"f:x", create}};
	uint64_t table, row;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	for (size_t i = 0; i < 4; i++) {
		table_goes = true;
		assert_fails(&w, table, in_table[i].name, in_table[i].make,
			     -ENOENT);
		table_goes = false;
		enters = 0;
		assert_fails(&w, table, in_table[i].name, in_table[i].make,
			     -ENOMEM);
		enters = UINT32_MAX;
	}
	for (size_t i = 0; i < 2; i++) {
		table_goes = true;
		assert_fails(&w, row, in_row[i].name, in_row[i].make, -ENOENT);
		table_goes = false;
		enters = 0;
		assert_fails(&w, row, in_row[i].name, in_row[i].make, -ENOMEM);
		enters = UINT32_MAX;
	}
	enters = 0;
	assert_fails(&w, row, "f:q", look, -ENOMEM);
	assert_fails(&w, row, "f:q", create, -ENOMEM);
	assert_told(&w, "create /T/P/f:q: ENOMEM: the directory is no more");
	enters = UINT32_MAX;
	world_end(&w);
}

/* As often as there is no more than that of it, which is more each time. */
static void assert_stays(struct world *w, uint64_t column, unsigned *of,
			 int err)
{
	uint64_t entries = overlay_count(w->fs->overlay), live = world_nodes(w);
	int r;

	for (unsigned n = 0;; n++) {
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
	looked_up(w, column, "5~");
	assert_int_equal(look(w, column, "5"), 0);
	assert_int_equal(given(), 0);
	/* It has a path for as long as it is there. */
	assert_int_equal(overlay_count(w->fs->overlay), entries + 4);
}

static void a_version_that_cannot_be_moved_aside_stays(void **state)
{
	uint64_t table, column, node;
	struct world w;

	begin(&w);
	node = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, node, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	assert_stays(&w, column, &pins, -ESTALE);
	world_end(&w);
	begin(&w);
	node = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, node, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	assert_stays(&w, column, &names, -ENOMEM);
	world_end(&w);
}

static void what_a_failed_rename_would_have_replaced_stays(void **state)
{
	uint64_t table, column, node, old, entries, live;
	struct world w;

	begin(&w);
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
		forget(&w, looked_up(&w, column, "6"));
		assert_int_equal(overlay_count(w.fs->overlay), entries);
		assert_int_equal(world_nodes(&w), live);
		assert_true(n < 100);
	}
	assert_int_not_equal(looked_up(&w, column, "5~"), old);
	assert_int_equal(overlay_count(w.fs->overlay), entries);
	world_end(&w);
}

/* The kernel has the node once, and gives it back. */
static void assert_given_once(struct world *w, uint64_t node)
{
	assert_true(nodes_known(w->fs->nodes, node, false));
	forget(w, node);
	assert_false(nodes_known(w->fs->nodes, node, false));
}

static void assert_given_back(struct world *w, uint64_t dir, const char *name,
			      int (*make)(struct world *, uint64_t,
					  const char *))
{
	answer.refused = true;
	assert_int_equal(make(w, dir, name), 0);
	answer.refused = false;
	assert_int_not_equal(given(), 0);
	assert_false(nodes_known(w->fs->nodes, given(), false));
}

static void assert_handle_given_back(struct world *w, uint64_t node,
				     uint32_t opcode, uint32_t flags)
{
	struct fuse_open_in in = {.flags = flags};

	answer.refused = true;
	assert_int_equal(ask(w, opcode, node, ARGS(in), bytes_of(NULL, 0)), 0);
	answer.refused = false;
	assert_int_equal(handles_count(w->fs->handles), 0);
}

static void what_nobody_takes_is_given_back(void **state)
{
	uint64_t table, row, file;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_given_back(&w, FUSE_ROOT_ID, "U", make_dir);
	assert_given_back(&w, table, "R", make_dir);
	assert_given_back(&w, table, "R", look);
	assert_given_back(&w, table, ".d", make_dir);
	assert_given_back(&w, table, ".a.swp", make_file);
	assert_given_back(&w, table, ".b.swp", create);
	assert_given_back(&w, row, "f:new", make_file);
	assert_given_back(&w, row, "f:newer", create);
	assert_handle_given_back(&w, row, FUSE_OPENDIR, O_RDONLY);
	file = looked_up(&w, row, "f:q");
	assert_handle_given_back(&w, file, FUSE_OPEN, O_RDONLY);
	assert_handle_given_back(&w, file, FUSE_OPEN, O_WRONLY);
	assert_int_equal(handles_count(w.fs->handles), 0);
	world_end(&w);
}

/* Somebody else takes all cells of the row, of which the kernel hears nothing. */
static void empty_row(struct world *w, const char *row)
{
	struct change c = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	struct mutation m = {
		.row = bytes_str(row), .changes = &c, .nchanges = 1};
	struct table *t;

	assert_int_equal(table_open(w->store, bytes_str("T"), &t), 0);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	table_unref(t);
}

static void assert_stays_known(struct world *w, uint64_t node, uint64_t dir,
			       const char *name,
			       int (*make)(struct world *, uint64_t,
					   const char *))
{
	answer.refused = true;
	make(w, dir, name);
	answer.refused = false;
	assert_true(nodes_known(w->fs->nodes, node, false));
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

static void what_is_open_is_open_until_it_is_closed(void **state)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	uint64_t table, row, help;
	struct world w;

	begin(&w);
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
	assert_told(&w, "opendir /.cellfs/help: ENOTDIR");
	assert_int_equal(handles_count(w.fs->handles), 0);
	world_end(&w);
}

static void what_the_kernel_has_already_stays_its_own(void **state)
{
	uint64_t table, row, file;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	file = looked_up(&w, row, "f:q");
	assert_stays_known(&w, file, row, "f:q", look);
	assert_stays_known(&w, file, row, "f:q", create);
	empty_row(&w, "P");
	assert_stays_known(&w, file, row, "f:q", create);
	assert_stays_known(&w, file, row, "f:q", make_file);
	assert_given_once(&w, file);
	empty_row(&w, "P");
	room = 0;
	assert_int_equal(make_dir(&w, table, "P"), -ENOSPC);
	assert_true(nodes_known(w.fs->nodes, row, false));
	room = UINT32_MAX;
	assert_stays_known(&w, row, table, "P", make_dir);
	assert_stays_known(&w, row, table, "P", look);
	assert_int_equal(handles_count(w.fs->handles), 0);
	assert_given_once(&w, row);
	world_end(&w);
}

static void a_node_is_given_once_by_a_request(void **state)
{
	uint64_t table, row;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(look(&w, row, "f:q"), 0);
	assert_given_once(&w, given());
	assert_given_once(&w, made_dir(&w, FUSE_ROOT_ID, "U"));
	assert_given_once(&w, made_dir(&w, table, "R"));
	assert_given_once(&w, made_dir(&w, table, ".d"));
	assert_int_equal(make_file(&w, table, ".a.swp"), 0);
	assert_given_once(&w, given());
	assert_int_equal(make_file(&w, row, "f:new"), 0);
	assert_given_once(&w, given());
	world_end(&w);
}

static void row_changes(struct fs *fs, const struct place *p)
{
	changes_row(&fs->changes, p->row);
}

static void an_absent_name_is_believed_for_as_long_as_it_may(void **state)
{
	uint64_t table, row, control;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_absent(&w, table, "R", 1);
	assert_absent(&w, row, "g", 0);
	assert_absent(&w, row, "f:x", 0);
	/* No key is ever spelled so. */
	assert_absent(&w, table, "a%zz", 3600);
	assert_absent(&w, FUSE_ROOT_ID, "no table", 3600);
	assert_int_equal(look(&w, FUSE_ROOT_ID, ".cellfs"), 0);
	control = given();
	assert_absent(&w, control, "nothing", 3600);
	/* The row may have been made since it was looked for. */
	meanwhile = row_changes;
	assert_absent(&w, table, "R", 0);
	meanwhile = NULL;
	assert_absent(&w, table, "R", 1);
	world_end(&w);
}

/* Writes a byte into the file that was just created. */
static int write_by(struct world *w, uint64_t node, uint64_t handle)
{
	struct fuse_write_in in = {.fh = handle, .size = 1};

	return ask(w, FUSE_WRITE, node, ARGS(in), bytes_of("x", 1));
}

static void a_file_is_its_makers_until_it_is_published(void **state)
{
	struct fuse_open_out out;
	struct fuse_flush_in flush = {0};
	uint64_t table, row, node, settled;
	struct world w;

	begin(&w);
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
	assert_int_equal(write_by(&w, node, out.fh), 0);
	settled = w.fs->writes->settled;
	assert_int_equal(
		ask(&w, FUSE_FLUSH, node, ARGS(flush), bytes_of(NULL, 0)), 0);
	/* Who waits is woken. */
	assert_int_equal(w.fs->writes->settled, settled + 1);
	w.pid = 11;
	assert_int_equal(looked_up(&w, row, "f:new"), node);
	world_end(&w);
}

static void a_file_without_a_type_is_a_regular_one(void **state)
{
	struct fuse_mknod_in in = {.mode = 0644};
	uint64_t table, row;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(ask(&w, FUSE_MKNOD, row, ARGS(in), name_of("f:a")), 0);
	in.mode = S_IFIFO | 0644;
	assert_int_equal(ask(&w, FUSE_MKNOD, row, ARGS(in), name_of("f:b")),
			 -EPERM);
	assert_told(&w, "mknod /T/P/f:b: EPERM: only regular files");
	assert_absent(&w, row, "f:b", 0);
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

static void a_name_that_resembles_one_is_told_of(void **state)
{
	uint64_t table, row, control, put, range;
	struct world w;

	begin(&w);
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

static void what_programs_run_into_all_day_is_not_told(void **state)
{
	struct fuse_getattr_in in = {0};
	struct fuse_open_out out;
	uint64_t table, row, node;
	struct world w;

	begin(&w);
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
	assert_int_equal(write_by(&w, node, out.fh), 0);
	/* It becomes a cell: who goes on writing must know. */
	scratch_retire(w.fs->writes->scratch, node);
	assert_int_equal(write_by(&w, node, out.fh), -ESTALE);
	assert_int_equal(errors_total(w.fs->errors), 1);
	assert_told(&w, "write /T/.a.swp: ESTALE: the file was renamed");
	world_end(&w);
}

/* For how many milliseconds a version of that age may be believed. */
static uint64_t believed_ms(struct world *w, uint64_t column, int64_t age_ms)
{
	struct fuse_entry_out e;
	char name[32];

	snprintf(name, sizeof(name), "%lld",
		 (long long)(store_now_ms(w->store) - age_ms));
	assert_int_equal(make_file(w, column, name), 0);
	looked_up(w, column, name);
	memcpy(&e, answer.data, sizeof(e));
	assert_int_equal(e.attr_valid, e.entry_valid);
	assert_int_equal(e.attr_valid_nsec, e.entry_valid_nsec);
	return e.entry_valid * 1000 + (e.entry_valid_nsec + 500000) / 1000000;
}

static void a_version_is_believed_for_as_long_as_it_lives(void **state)
{
	static const char text[] = "families open\n"
				   "family f\n\tttl 10s\n\tversions 9\n"
				   "family g\n\tversions 9\n"
				   "family h\n\tttl 1d\n\tversions 9\n";
	struct schema schema;
	uint64_t row, f, g, h;
	struct world w;

	begin(&w);
	assert_int_equal(schema_parse(bytes_str(text), NULL, &schema), 0);
	assert_int_equal(store_table_create(w.store, bytes_str("T"), &schema),
			 0);
	schema_free(&schema);
	row = made_dir(&w, looked_up(&w, FUSE_ROOT_ID, "T"), "R");
	f = made_dir(&w, made_dir(&w, row, "f"), "q");
	g = made_dir(&w, made_dir(&w, row, "g"), "q");
	h = made_dir(&w, made_dir(&w, row, "h"), "q");
	assert_int_equal(believed_ms(&w, f, 0), 10000);
	assert_int_equal(believed_ms(&w, f, 4000), 6000);
	assert_int_equal(believed_ms(&w, f, 9999), 1);
	assert_int_equal(believed_ms(&w, g, 0), 3600000);
	assert_int_equal(believed_ms(&w, g, 4000), 3600000);
	/* An hour at most. */
	assert_int_equal(believed_ms(&w, h, 0), 3600000);
	assert_int_equal(believed_ms(&w, h, 86400000 - 3600000), 3600000);
	assert_int_equal(believed_ms(&w, h, 86400000 - 3599999), 3599999);
	world_end(&w);
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
static size_t lines_of_a_look(struct world *w, uint64_t dir, uint64_t *seq)
{
	struct buf out = {0};
	size_t n = 0;

	assert_absent(w, dir, "R", 1);
	assert_int_not_equal(trace_lines(w->fs->trace, seq, 4096, 0, &out), -1);
	for (size_t i = 0; i < out.len; i++)
		n += out.data[i] == '\n';
	buf_free(&out);
	return n;
}

static void the_trace_has_what_takes_as_long_as_slow(void **state)
{
	struct trace *t;
	uint64_t table, seq;
	struct world w;

	begin(&w);
	t = w.fs->trace;
	a_row_with_a_cell(&w, &table);
	clock_at_ms = 5000;
	assert_int_equal(trace_watch(t, &seq), 0);
	assert_int_equal(lines_of_a_look(&w, table, &seq), 1);
	meanwhile = a_second_passes;
	trace_set_slow(t, NS_PER_S);
	assert_int_equal(lines_of_a_look(&w, table, &seq), 1);
	trace_set_slow(t, NS_PER_S + 1);
	assert_int_equal(lines_of_a_look(&w, table, &seq), 0);
	/* What has begun is judged as it was to be then. */
	meanwhile = all_is_to_be_shown;
	assert_int_equal(lines_of_a_look(&w, table, &seq), 0);
	meanwhile = NULL;
	assert_int_equal(lines_of_a_look(&w, table, &seq), 1);
	trace_unwatch(t);
	assert_int_equal(lines_of_a_look(&w, table, &seq), 0);
	clock_at_ms = -1;
	world_end(&w);
}

static void a_schema_that_was_removed_is_absent_for_ten_seconds(void **state)
{
	uint64_t table, row;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	clock_at_ms = 5000;
	assert_int_equal(ask(&w, FUSE_UNLINK, table, bytes_of(NULL, 0),
			     name_of(".schema")),
			 0);
	w.pid = 11;
	clock_at_ms = 5000 + 10000 - 1;
	assert_absent(&w, table, ".schema", 0);
	clock_at_ms++;
	looked_up(&w, table, ".schema");
	clock_at_ms = -1;
	(void)row;
	world_end(&w);
}

static void rows_are_believed_absent_for_twice_a_second(void **state)
{
	struct world w;

	begin(&w);
	/* The machine has just started, and nobody has missed a row. */
	clock_at_ms = 1;
	assert_false(fs_rows_believed_absent(w.fs));
	clock_at_ms = 5000;
	assert_true(fs_row_absent(w.fs) == 1);
	assert_true(fs_rows_believed_absent(w.fs));
	clock_at_ms = 7000;
	assert_true(fs_rows_believed_absent(w.fs));
	clock_at_ms = 7001;
	assert_false(fs_rows_believed_absent(w.fs));
	fs_row_absent(w.fs);
	clock_at_ms = 9001;
	assert_true(fs_rows_believed_absent(w.fs));
	clock_at_ms = -1;
	world_end(&w);
}

static void in_put_a_directory_has_the_node_of_the_tables(void **state)
{
	uint64_t table, row, put_row;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(look(&w, table, ".put"), 0);
	assert_int_equal(look(&w, given(), "P"), 0);
	put_row = given();
	assert_int_equal(fs_dir_node(w.fs, put_row, true), row);
	assert_int_equal(fs_dir_node(w.fs, row, false), row);
	forget(&w, row);
	assert_int_equal(fs_dir_node(w.fs, put_row, true), 0);
	world_end(&w);
}

static void a_version_that_is_moved_onto_itself_stays(void **state)
{
	uint64_t table, row, column;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	empty_row(&w, "P");
	column = made_dir(&w, made_dir(&w, row, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	assert_int_equal(rename_in(&w, column, "latest", "5"), 0);
	looked_up(&w, column, "5");
	world_end(&w);
}

/* Sets what @valid says, of attributes that are all 0. */
static int set_attr(struct world *w, uint64_t node, uint32_t valid)
{
	struct fuse_setattr_in in = {.valid = valid};

	return ask(w, FUSE_SETATTR, node, ARGS(in), bytes_of(NULL, 0));
}

/* The handle of the file that it opens. */
static uint64_t opened(struct world *w, uint64_t node, uint32_t flags)
{
	struct fuse_open_in in = {.flags = flags};
	struct fuse_open_out out;

	assert_int_equal(ask(w, FUSE_OPEN, node, ARGS(in), bytes_of(NULL, 0)),
			 0);
	memcpy(&out, answer.data, sizeof(out));
	return out.fh;
}

static void closed(struct world *w, uint64_t node, uint64_t handle)
{
	struct fuse_release_in in = {.fh = handle};

	assert_int_equal(
		ask(w, FUSE_RELEASE, node, ARGS(in), bytes_of(NULL, 0)), 0);
}

static uint64_t size_of(struct world *w, uint64_t dir, const char *name)
{
	struct fuse_entry_out e;

	looked_up(w, dir, name);
	memcpy(&e, answer.data, sizeof(e));
	return e.attr.size;
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

static void a_file_that_goes_as_another_opens_it_is_absent(void **state)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	uint64_t table, row, file;
	struct world w;

	begin(&w);
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

/* The kernel has a version that went by another name, and has not heard of it. */
static void what_has_gone_is_not_made_anew_by_who_changes_it(void **state)
{
	struct fuse_open_in in = {.flags = O_WRONLY};
	uint64_t table, row, column, node;
	struct world w;

	begin(&w);
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

static void a_value_that_goes_at_the_first_read_is_read_as_it_was(void **state)
{
	uint64_t table, column, file, handle;
	struct fuse_write_in in = {.size = 3};
	struct world w;

	begin(&w);
	column = a_row_with_a_cell(&w, &table);
	column = looked_up(&w, looked_up(&w, column, "f"), "q");
	assert_int_equal(make_file(&w, column, "5"), 0);
	file = looked_up(&w, column, "5");
	in.fh = opened(&w, file, O_WRONLY);
	assert_int_equal(ask(&w, FUSE_WRITE, file, ARGS(in), bytes_str("one")),
			 0);
	closed(&w, file, in.fh);
	handle = opened(&w, file, O_RDONLY);
	in.fh = opened(&w, file, O_WRONLY);
	assert_int_equal(ask(&w, FUSE_WRITE, file, ARGS(in), bytes_str("two")),
			 0);
	closed(&w, file, in.fh);
	/* It is another when it is looked at, and gone when it is fetched. */
	gets = 1;
	assert_reads(&w, file, handle, 0, "one");
	gets = UINT32_MAX;
	closed(&w, file, handle);
	world_end(&w);
}

static void a_read_ends_where_the_value_does(void **state)
{
	uint64_t table, row, file, handle;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	file = looked_up(&w, row, "f:q");
	handle = opened(&w, file, O_RDWR | O_APPEND);
	assert_int_equal(write_by(&w, file, handle), 0);
	assert_int_equal(write_by(&w, file, handle), 0);
	closed(&w, file, handle);
	handle = opened(&w, file, O_RDWR | O_APPEND);
	assert_int_equal(write_by(&w, file, handle), 0);
	/* What is there, and what will be behind it. */
	assert_reads(&w, file, handle, 0, "xxx");
	closed(&w, file, handle);
	handle = opened(&w, file, O_RDONLY);
	assert_reads(&w, file, handle, 0, "xxx");
	assert_reads(&w, file, handle, 1, "xx");
	assert_reads(&w, file, handle, 3, "");
	closed(&w, file, handle);
	world_end(&w);
}

static void a_stream_holds_what_its_text_takes(void **state)
{
	uint64_t table, row, file, handle, held;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	file = looked_up(&w, row, ".cells");
	handle = opened(&w, file, O_WRONLY);
	/* No line ends, so that it is kept. */
	assert_int_equal(write_by(&w, file, handle), 0);
	held = w.fs->budget.held;
	assert_true(held > 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(write_by(&w, file, handle), 0);
	assert_int_equal(w.fs->budget.held, held);
	closed(&w, file, handle);
	assert_int_equal(w.fs->budget.held, 0);
	world_end(&w);
}

static void of_a_file_that_cannot_be_read_nothing_is_kept(void **state)
{
	uint64_t table, node;
	struct fuse_open_out out;
	struct world w;

	begin(&w);
	a_row_with_a_cell(&w, &table);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(create(&w, table, i ? ".b.swp" : ".a.swp"), 0);
		node = given();
		memcpy(&out, answer.data + sizeof(struct fuse_entry_out),
		       sizeof(out));
		assert_int_equal(write_by(&w, node, out.fh), 0);
		closed(&w, node, out.fh);
	}
	contents = 1;
	lost_found_keep(w.fs);
	contents = UINT32_MAX;
	assert_int_equal(keeps, 1);
	world_end(&w);
}

/* The node that a listing gives with the name, which comes at @at, or 0. */
static uint64_t listed(const char *name, uint64_t *at)
{
	struct fuse_direntplus e;

	*at = 0;
	for (size_t i = 0; i < answer.len; i += FUSE_DIRENTPLUS_SIZE(&e)) {
		memcpy(&e, answer.data + i, sizeof(e));
		if (e.dirent.namelen == strlen(name) &&
		    !memcmp(answer.data + i + FUSE_NAME_OFFSET_DIRENTPLUS, name,
			    e.dirent.namelen))
			return e.entry_out.nodeid;
		*at = e.dirent.off;
	}
	return 0;
}

static void what_a_listing_gives_is_given_once(void **state)
{
	struct fuse_open_in open = {.flags = O_RDONLY};
	struct fuse_read_in in = {.size = 1000};
	struct fuse_release_in release = {0};
	struct fuse_open_out out;
	uint64_t table, family, column, live;
	struct world w;

	begin(&w);
	family = looked_up(&w, a_row_with_a_cell(&w, &table), "f");
	live = world_nodes(&w);
	assert_int_equal(
		ask(&w, FUSE_OPENDIR, family, ARGS(open), bytes_of(NULL, 0)),
		0);
	memcpy(&out, answer.data, sizeof(out));
	in.fh = release.fh = out.fh;
	assert_int_equal(
		ask(&w, FUSE_READDIRPLUS, family, ARGS(in), bytes_of(NULL, 0)),
		0);
	column = listed("q", &in.offset);
	assert_int_not_equal(column, 0);
	assert_given_once(&w, column);
	/* One that finds no room is not given. */
	in.size = 100;
	assert_int_equal(
		ask(&w, FUSE_READDIRPLUS, family, ARGS(in), bytes_of(NULL, 0)),
		0);
	assert_int_equal(answer.len, 0);
	assert_int_equal(world_nodes(&w), live);
	assert_int_equal(ask(&w, FUSE_RELEASEDIR, family, ARGS(release),
			     bytes_of(NULL, 0)),
			 0);
	world_end(&w);
}

/* A session of cellctl's, which has asked for nothing. */
static void who_waits_for_a_session_goes_on_at_a_signal(void **state)
{
	struct fuse_interrupt_in in = {0};
	struct fuse_read_in read = {.size = 100};
	uint64_t file;
	struct world w;

	begin(&w);
	file = looked_up(&w, looked_up(&w, FUSE_ROOT_ID, ".cellfs"), "store");
	read.fh = opened(&w, file, O_RDWR);
	/* The signal comes before the read that it is for. */
	in.unique = w.unique + 2;
	ask(&w, FUSE_INTERRUPT, 0, ARGS(in), bytes_of(NULL, 0));
	assert_int_equal(
		ask(&w, FUSE_READ, file, ARGS(read), bytes_of(NULL, 0)),
		-EINTR);
	/* What comes next is answered. */
	assert_int_equal(
		ask(&w, FUSE_READ, file, ARGS(read), bytes_of(NULL, 0)), 0);
	closed(&w, file, read.fh);
	world_end(&w);
}

static void what_is_in_memory_of_a_row_goes_on_in_the_one_staged(void **state)
{
	struct fuse_rename2_in in = {0};
	struct overlay_entry e;
	uint64_t table, row, stage, staged;
	struct world w;

	begin(&w);
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

static void a_kernel_of_protocol_44_forgets_all_names_at_once(void **state)
{
	struct world w;

	begin(&w);
	assert_true(w.fs->forgets_names);
	world_end(&w);
}

static void what_is_not_there_is_not_renamed(void **state)
{
	uint64_t table, row;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	assert_int_equal(rename_in(&w, row, "f:none", "f:x"), -ENOENT);
	assert_int_equal(rename_in(&w, row, "f:none", ".a.swp"), -ENOENT);
	world_end(&w);
}

static void a_scratch_file_has_the_mode_that_it_is_made_with(void **state)
{
	struct fuse_entry_out e;
	uint64_t table;
	struct world w;

	begin(&w);
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

static void a_file_is_cut_by_its_path(void **state)
{
	uint64_t table, row, file, handle;
	struct world w;

	begin(&w);
	row = a_row_with_a_cell(&w, &table);
	file = looked_up(&w, row, "f:q");
	handle = opened(&w, file, O_WRONLY);
	assert_int_equal(write_by(&w, file, handle), 0);
	closed(&w, file, handle);
	assert_int_equal(size_of(&w, row, "f:q"), 1);
	assert_int_equal(set_attr(&w, file, FATTR_SIZE), 0);
	assert_int_equal(size_of(&w, row, "f:q"), 0);
	world_end(&w);
}

static void a_table_that_is_no_more_takes_no_schema(void **state)
{
	struct fuse_getattr_in in = {0};
	struct schema schema;
	uint64_t table, file, handle;
	struct table *t;
	struct world w;

	begin(&w);
	a_row_with_a_cell(&w, &table);
	/* Who made it looks for the schema in a way of its own. */
	w.pid = 11;
	file = looked_up(&w, table, ".schema");
	handle = opened(&w, file, O_WRONLY | O_TRUNC);
	/* What is known of its schema is old. */
	assert_int_equal(table_open(w.store, bytes_str("T"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	assert_int_equal(table_alter(t, &schema, false), 0);
	schema_free(&schema);
	table_unref(t);
	assert_int_equal(store_table_drop(w.store, bytes_str("T"), false), 0);
	assert_int_equal(write_by(&w, file, handle), -ENOENT);
	assert_int_equal(set_attr(&w, table, FATTR_MODE), -ENOENT);
	assert_int_equal(
		ask(&w, FUSE_GETATTR, table, ARGS(in), bytes_of(NULL, 0)),
		-ENOENT);
	closed(&w, file, handle);
	world_end(&w);
}

static void who_owns_a_table_is_apart_from_who_may_use_it(void **state)
{
	struct fuse_attr_out out;
	uint64_t table;
	struct world w;

	begin(&w);
	a_row_with_a_cell(&w, &table);
	assert_int_equal(set_attr(&w, table, FATTR_UID | FATTR_GID), 0);
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(out.attr.mode, S_IFDIR | 0755);
	assert_int_equal(set_attr(&w, table, FATTR_MODE), 0);
	memcpy(&out, answer.data, sizeof(out));
	assert_int_equal(out.attr.mode, S_IFDIR);
	world_end(&w);
}

/* The figure @name of the store. */
static uint64_t figure(struct world *w, const char *name)
{
	struct store_stat f;

	for (unsigned i = 0; store_stat(w->store, i, &f) > 0; i++)
		if (!strcmp(f.name, name))
			return f.value;
	fail_msg("the store has no %s", name);
	return 0;
}

static void what_counts_in_a_view_is_counted_once_a_second(void **state)
{
	uint64_t table, first, scans;
	struct world w;

	begin(&w);
	clock_at_ms = 5000;
	a_row_with_a_cell(&w, &table);
	assert_int_equal(look(&w, table, ".first"), 0);
	first = looked_up(&w, given(), "2");
	looked_up(&w, first, "P");
	scans = figure(&w, "scans_total");
	looked_up(&w, first, "P");
	assert_int_equal(figure(&w, "scans_total"), scans + 1);
	clock_at_ms += 1000;
	looked_up(&w, first, "P");
	assert_int_equal(figure(&w, "scans_total"), scans + 3);
	clock_at_ms = -1;
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_directory_that_finds_no_room_is_refused_whole),
		cmocka_unit_test(a_table_needs_no_room),
		cmocka_unit_test(a_refused_name_of_a_table_is_explained),
		cmocka_unit_test(
			of_two_who_make_a_table_one_hears_that_it_is_there),
		cmocka_unit_test(a_version_that_is_aside_hides_no_other),
		cmocka_unit_test(
			a_file_is_of_one_version_and_a_version_of_one_file),
		cmocka_unit_test(a_past_that_cannot_be_shown_is_no_absent_one),
		cmocka_unit_test(
			a_scratch_file_that_finds_no_room_is_refused_whole),
		cmocka_unit_test(what_cannot_be_had_fails_and_leaves_nothing),
		cmocka_unit_test(a_version_that_cannot_be_moved_aside_stays),
		cmocka_unit_test(
			what_a_failed_rename_would_have_replaced_stays),
		cmocka_unit_test(what_nobody_takes_is_given_back),
		cmocka_unit_test(what_is_open_is_open_until_it_is_closed),
		cmocka_unit_test(what_the_kernel_has_already_stays_its_own),
		cmocka_unit_test(a_node_is_given_once_by_a_request),
		cmocka_unit_test(
			an_absent_name_is_believed_for_as_long_as_it_may),
		cmocka_unit_test(a_file_is_its_makers_until_it_is_published),
		cmocka_unit_test(a_file_without_a_type_is_a_regular_one),
		cmocka_unit_test(a_name_that_resembles_one_is_told_of),
		cmocka_unit_test(what_programs_run_into_all_day_is_not_told),
		cmocka_unit_test(a_version_is_believed_for_as_long_as_it_lives),
		cmocka_unit_test(the_trace_has_what_takes_as_long_as_slow),
		cmocka_unit_test(
			a_schema_that_was_removed_is_absent_for_ten_seconds),
		cmocka_unit_test(rows_are_believed_absent_for_twice_a_second),
		cmocka_unit_test(in_put_a_directory_has_the_node_of_the_tables),
		cmocka_unit_test(a_version_that_is_moved_onto_itself_stays),
		cmocka_unit_test(a_file_is_cut_by_its_path),
		cmocka_unit_test(
			a_file_that_goes_as_another_opens_it_is_absent),
		cmocka_unit_test(
			what_has_gone_is_not_made_anew_by_who_changes_it),
		cmocka_unit_test(
			a_value_that_goes_at_the_first_read_is_read_as_it_was),
		cmocka_unit_test(a_read_ends_where_the_value_does),
		cmocka_unit_test(a_stream_holds_what_its_text_takes),
		cmocka_unit_test(of_a_file_that_cannot_be_read_nothing_is_kept),
		cmocka_unit_test(what_a_listing_gives_is_given_once),
		cmocka_unit_test(who_waits_for_a_session_goes_on_at_a_signal),
		cmocka_unit_test(
			what_is_in_memory_of_a_row_goes_on_in_the_one_staged),
		cmocka_unit_test(
			a_kernel_of_protocol_44_forgets_all_names_at_once),
		cmocka_unit_test(what_is_not_there_is_not_renamed),
		cmocka_unit_test(
			a_scratch_file_has_the_mode_that_it_is_made_with),
		cmocka_unit_test(a_table_that_is_no_more_takes_no_schema),
		cmocka_unit_test(who_owns_a_table_is_apart_from_who_may_use_it),
		cmocka_unit_test(
			what_counts_in_a_view_is_counted_once_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
