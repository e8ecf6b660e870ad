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

static int set_up(void **state)
{
	room = UINT32_MAX;
	return world_set_up(state);
}

EACH_TEST_IN(set_up, world_tear_down);

static void assert_no_room(uint64_t dir, const char *name,
			   int (*make)(uint64_t, const char *))
{
	uint64_t entries = overlay_count(world.fs->overlay),
		 live = world_nodes();
	unsigned before = room;

	assert_int_equal(make(dir, name), -ENOSPC);
	assert_told(name);
	assert_told("ENOSPC: too many empty directories");
	room = UINT32_MAX;
	assert_nothing_is_left(dir, name, entries, live);
	room = before;
}

TEST(a_directory_that_finds_no_room_is_refused_whole)
{
	uint64_t table, row, family, put;

	row = a_row_with_a_cell(&table);
	assert_int_equal(look(table, ".put"), 0);
	put = given();
	room = 0;
	assert_no_room(table, "R", make_dir);
	assert_no_room(row, "g", make_dir);
	/* Its row would have to be kept as well. */
	room = 1;
	assert_no_room(row, "g", make_dir);
	room = 2;
	family = made_dir(row, "g");
	assert_int_equal(room, 0);
	assert_no_room(family, "q", make_dir);
	assert_int_equal(look(put, "S"), 0);
	put = given();
	/* In the table its row is one more. */
	for (room = 0; room < 2; room++)
		assert_no_room(put, "h", make_dir);
	room = 1;
	assert_int_equal(make_dir(table, "R"), 0);
}

static uint64_t others_row;

static void makes_a_column(void)
{
	struct answer own = answer;

	meanwhile = NULL;
	room = UINT32_MAX;
	(void)made_dir(looked_up(others_row, "g"), "q");
	answer = own;
}

TEST(a_directory_that_is_refused_stays_for_what_came_into_it)
{
	others_row = a_row_with_a_cell(NULL);
	meanwhile = makes_a_column;
	room = 1;
	assert_int_equal(make_dir(others_row, "g"), -ENOSPC);
	(void)looked_up(looked_up(others_row, "g"), "q");
}

TEST(a_table_needs_no_room)
{
	room = 0;
	assert_int_equal(make_dir(FUSE_ROOT_ID, "T"), 0);
}

TEST(a_scratch_file_that_finds_no_room_is_refused_whole)
{
	uint64_t table, row;

	row = a_row_with_a_cell(&table);
	room = 0;
	assert_no_room(table, ".a.swp", make_file);
	assert_no_room(table, ".a.swp", create);
	assert_no_room(table, ".d", make_dir);
	room = 1;
	assert_no_room(row, ".a.swp", make_file);
	assert_no_room(row, ".a.swp", create);
	assert_no_room(row, ".d", make_dir);
	room = 2;
	assert_int_equal(create(row, ".a.swp"), 0);
	assert_int_equal(room, 0);
}

TEST(of_two_who_make_a_table_one_hears_that_it_is_there)
{
	uint64_t live;

	live = world_nodes();
	table_comes = true;
	assert_int_equal(make_dir(FUSE_ROOT_ID, "T"), -EEXIST);
	table_comes = false;
	assert_int_equal(world_nodes(), live);
}

static void assert_fails(uint64_t dir, const char *name,
			 int (*make)(uint64_t, const char *), int err)
{
	uint64_t entries = overlay_count(world.fs->overlay),
		 live = world_nodes();

	assert_int_equal(make(dir, name), err);
	assert_int_equal(overlay_count(world.fs->overlay), entries);
	assert_int_equal(world_nodes(), live);
	assert_false(scratch_any(world.fs->writes->scratch));
	assert_int_equal(handles_count(world.fs->handles), 0);
}

TEST(what_cannot_be_had_fails_and_leaves_nothing)
{
	static const struct {
		const char *name;
		int (*make)(uint64_t, const char *);
	} in_table[] =
		{
			{"R", make_dir},
			{".d", make_dir},
			{".a.swp", make_file},
			{".a.swp", create},
		},
	  in_row[] = {{"g", make_dir}, {"f:x", create}};
	uint64_t table, row, put;

	row = a_row_with_a_cell(&table);
	for (size_t i = 0; i < 4; i++) {
		table_goes = true;
		assert_fails(table, in_table[i].name, in_table[i].make,
			     -ENOENT);
		table_goes = false;
		enters = 0;
		assert_fails(table, in_table[i].name, in_table[i].make,
			     -ENOMEM);
		enters = UINT32_MAX;
	}
	for (size_t i = 0; i < 2; i++) {
		table_goes = true;
		assert_fails(row, in_row[i].name, in_row[i].make, -ENOENT);
		table_goes = false;
		enters = 0;
		assert_fails(row, in_row[i].name, in_row[i].make, -ENOMEM);
		enters = UINT32_MAX;
	}
	put = looked_up(looked_up(table, ".put"), "S");
	for (unsigned i = 0; i < 3; i++) {
		enters = i;
		assert_fails(put, "h", make_dir, -ENOMEM);
		enters = UINT32_MAX;
	}
	enters = 0;
	assert_fails(row, "f:q", look, -ENOMEM);
	assert_fails(row, "f:q", create, -ENOMEM);
	assert_told("create /T/P/f:q: ENOMEM: the directory is no more");
	enters = UINT32_MAX;
}

static void assert_given_back(uint64_t dir, const char *name,
			      int (*make)(uint64_t, const char *))
{
	answer.refused = true;
	assert_int_equal(make(dir, name), 0);
	answer.refused = false;
	assert_int_not_equal(given(), 0);
	assert_false(nodes_known(world.fs->nodes, given(), false));
}

static void assert_handle_given_back(uint64_t node, uint32_t opcode,
				     uint32_t flags)
{
	struct fuse_open_in in = {.flags = flags};

	answer.refused = true;
	assert_int_equal(ask(opcode, node, ARGS(in), NOTHING), 0);
	answer.refused = false;
	assert_int_equal(handles_count(world.fs->handles), 0);
}

TEST(what_nobody_takes_is_given_back)
{
	uint64_t table, row, file;

	row = a_row_with_a_cell(&table);
	assert_given_back(FUSE_ROOT_ID, "U", make_dir);
	assert_given_back(table, "R", make_dir);
	assert_given_back(table, "R", look);
	assert_given_back(table, ".d", make_dir);
	assert_given_back(table, ".a.swp", make_file);
	assert_given_back(table, ".b.swp", create);
	assert_given_back(row, "f:new", make_file);
	assert_given_back(row, "f:newer", create);
	assert_handle_given_back(row, FUSE_OPENDIR, O_RDONLY);
	file = looked_up(row, "f:q");
	assert_handle_given_back(file, FUSE_OPEN, O_RDONLY);
	assert_handle_given_back(file, FUSE_OPEN, O_WRONLY);
	assert_int_equal(handles_count(world.fs->handles), 0);
}

static void assert_stays_known(uint64_t node, uint64_t dir, const char *name,
			       int (*make)(uint64_t, const char *))
{
	answer.refused = true;
	make(dir, name);
	answer.refused = false;
	assert_true(nodes_known(world.fs->nodes, node, false));
}

TEST(what_the_kernel_has_already_stays_its_own)
{
	uint64_t table, row, file;

	row = a_row_with_a_cell(&table);
	file = looked_up(row, "f:q");
	assert_stays_known(file, row, "f:q", look);
	assert_stays_known(file, row, "f:q", create);
	empty_row("P");
	assert_stays_known(file, row, "f:q", create);
	assert_stays_known(file, row, "f:q", make_file);
	assert_given_once(file);
	empty_row("P");
	room = 0;
	assert_int_equal(make_dir(table, "P"), -ENOSPC);
	assert_true(nodes_known(world.fs->nodes, row, false));
	room = UINT32_MAX;
	assert_stays_known(row, table, "P", make_dir);
	assert_stays_known(row, table, "P", look);
	assert_int_equal(handles_count(world.fs->handles), 0);
	assert_given_once(row);
}

TEST(a_node_is_given_once_by_a_request)
{
	uint64_t table, row;

	row = a_row_with_a_cell(&table);
	assert_int_equal(look(row, "f:q"), 0);
	assert_given_once(given());
	assert_given_once(made_dir(FUSE_ROOT_ID, "U"));
	assert_given_once(made_dir(table, "R"));
	assert_given_once(made_dir(table, ".d"));
	assert_int_equal(make_file(table, ".a.swp"), 0);
	assert_given_once(given());
	assert_int_equal(make_file(row, "f:new"), 0);
	assert_given_once(given());
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

static uint64_t opened_dir(uint64_t node)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	struct fuse_open_out out;

	assert_int_equal(ask(FUSE_OPENDIR, node, ARGS(in), NOTHING), 0);
	memcpy(&out, answer.data, sizeof(out));
	return out.fh;
}

TEST(what_a_listing_gives_is_given_once)
{
	struct fuse_read_in in = {.size = 1000};
	struct fuse_release_in release = {0};
	uint64_t family, column, live;

	family = looked_up(a_row_with_a_cell(NULL), "f");
	live = world_nodes();
	in.fh = release.fh = opened_dir(family);
	assert_int_equal(ask(FUSE_READDIRPLUS, family, ARGS(in), NOTHING), 0);
	column = listed("q", &in.offset);
	assert_int_not_equal(column, 0);
	assert_given_once(column);
	/* One that finds no room is not given. */
	in.size = 100;
	assert_int_equal(ask(FUSE_READDIRPLUS, family, ARGS(in), NOTHING), 0);
	assert_int_equal(answer.len, 0);
	assert_int_equal(world_nodes(), live);
	assert_int_equal(ask(FUSE_RELEASEDIR, family, ARGS(release), NOTHING),
			 0);
}

/* Not what its name is of now: who has the old one open is told of no file. */
TEST(a_directory_that_was_removed_lists_nothing)
{
	struct fuse_read_in in = {.size = 1000};
	struct fuse_release_in release = {0};
	uint64_t table, row, at;

	row = a_row_with_a_cell(&table);
	empty_row("P");
	assert_int_equal(ask(FUSE_RMDIR, table, NOTHING, name_of("P")), 0);
	assert_int_equal(make_file(made_dir(table, "P"), "f:q"), 0);
	in.fh = release.fh = opened_dir(row);
	assert_int_equal(ask(FUSE_READDIRPLUS, row, ARGS(in), NOTHING), 0);
	assert_int_equal(listed("f", &at), 0);
	assert_int_equal(ask(FUSE_RELEASEDIR, row, ARGS(release), NOTHING), 0);
}

TEST(in_put_a_directory_has_the_node_of_the_tables)
{
	uint64_t table, row, put_row;

	row = a_row_with_a_cell(&table);
	assert_int_equal(look(table, ".put"), 0);
	assert_int_equal(look(given(), "P"), 0);
	put_row = given();
	assert_int_equal(fs_dir_node(world.fs, put_row, true), row);
	assert_int_equal(fs_dir_node(world.fs, row, false), row);
	forget(row);
	assert_int_equal(fs_dir_node(world.fs, put_row, true), 0);
}
