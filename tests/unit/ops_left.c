/*
 * What a request leaves behind that finds no room in memory, that fails, or whose
 * reply nobody takes: nothing, and of what it gave the kernel each node once.
 */
#include "tests/unit/kernel.h"

#include "fs/memory/write_state.h"

/* So many more entries find room in the overlay. */
static unsigned room;
/* What another does when an entry finds none. */
static void (*meanwhile)(void);
/* So many more nodes can be made. */
static unsigned enters = UINT32_MAX;
/* Another makes the table at the moment at which one is to be made. */
static bool table_comes;
/* The table is dropped while a request runs. */
static bool table_goes;

int __real_overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		       const struct overlay_entry *e);
int __wrap_overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		       const struct overlay_entry *e);
int __wrap_overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		       const struct overlay_entry *e)
{
	int r;

	if (room == 0) {
		if (meanwhile)
			meanwhile();
		return -ENOSPC;
	}
	r = __real_overlay_add(ov, parent, key, e);
	room -= r == 0;
	return r;
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

static void begin(struct world *w)
{
	room = UINT32_MAX;
	world_begin(w);
}

static void assert_no_room(struct world *w, uint64_t dir, const char *name,
			   int (*make)(struct world *, uint64_t, const char *))
{
	uint64_t entries = overlay_count(w->fs->overlay), live = world_nodes(w);
	unsigned before = room;

	assert_int_equal(make(w, dir, name), -ENOSPC);
	assert_told(w, name);
	assert_told(w, "ENOSPC: too many empty directories");
	room = UINT32_MAX;
	assert_nothing_is_left(w, dir, name, entries, live);
	room = before;
}

TEST(a_directory_that_finds_no_room_is_refused_whole)
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
	assert_int_equal(look(&w, put, "S"), 0);
	put = given();
	/* In the table its row is one more. */
	for (room = 0; room < 2; room++)
		assert_no_room(&w, put, "h", make_dir);
	room = 1;
	assert_int_equal(make_dir(&w, table, "R"), 0);
	world_end(&w);
}

static struct world *others;
static uint64_t others_row;

static void makes_a_column(void)
{
	struct answer own = answer;

	meanwhile = NULL;
	room = UINT32_MAX;
	(void)made_dir(others, looked_up(others, others_row, "g"), "q");
	answer = own;
}

TEST(a_directory_that_is_refused_stays_for_what_came_into_it)
{
	uint64_t table;
	struct world w;

	begin(&w);
	others = &w;
	others_row = a_row_with_a_cell(&w, &table);
	meanwhile = makes_a_column;
	room = 1;
	assert_int_equal(make_dir(&w, others_row, "g"), -ENOSPC);
	(void)looked_up(&w, looked_up(&w, others_row, "g"), "q");
	world_end(&w);
}

TEST(a_table_needs_no_room)
{
	struct world w;

	begin(&w);
	room = 0;
	assert_int_equal(make_dir(&w, FUSE_ROOT_ID, "T"), 0);
	world_end(&w);
}

TEST(a_scratch_file_that_finds_no_room_is_refused_whole)
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

TEST(of_two_who_make_a_table_one_hears_that_it_is_there)
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

TEST(what_cannot_be_had_fails_and_leaves_nothing)
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
	uint64_t table, row, put;
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
	put = looked_up(&w, looked_up(&w, table, ".put"), "S");
	for (unsigned i = 0; i < 3; i++) {
		enters = i;
		assert_fails(&w, put, "h", make_dir, -ENOMEM);
		enters = UINT32_MAX;
	}
	enters = 0;
	assert_fails(&w, row, "f:q", look, -ENOMEM);
	assert_fails(&w, row, "f:q", create, -ENOMEM);
	assert_told(&w, "create /T/P/f:q: ENOMEM: the directory is no more");
	enters = UINT32_MAX;
	world_end(&w);
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

TEST(what_nobody_takes_is_given_back)
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

TEST(what_the_kernel_has_already_stays_its_own)
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

TEST(a_node_is_given_once_by_a_request)
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

TEST(what_a_listing_gives_is_given_once)
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

TEST(in_put_a_directory_has_the_node_of_the_tables)
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
