/* What is only in memory is bounded: here to 64 KiB, see meson.build. */
#include "tests/unit/unit.h"
#include "fs/memory/overlay.h"

static struct {
	struct nodes *nodes;
	struct overlay *ov;
	char key_byte; /* of which keys are made */
} the;

static int begin(void **state)
{
	the.key_byte = 'k';
	assert_int_equal(nodes_new(&the.nodes), 0);
	assert_int_equal(overlay_new(the.nodes, &the.ov), 0);
	return 0;
}

/* All memory is given back, and no node is held any more. */
static int end(void **state)
{
	uint64_t live, pinned;

	overlay_free(the.ov);
	nodes_count(the.nodes, &live, &pinned);
	assert_int_equal(pinned, 0);
	nodes_free(the.nodes);
	return 0;
}

EACH_TEST_IN(begin, end);

static const char *name_of(int i)
{
	static char name[16];

	snprintf(name, sizeof(name), "r%05d", i);
	return name;
}

static int add(const char *name, size_t key_len)
{
	static char key[UINT16_MAX];
	struct overlay_entry e = {.kind = NODE_ROW, .ino = 7};
	int r;

	memset(key, the.key_byte, sizeof(key));
	snprintf(e.name, sizeof(e.name), "%s", name);
	assert_int_equal(nodes_enter(the.nodes, 1, bytes_str(name), NODE_ROW, 7,
				     NULL, &e.node),
			 0);
	r = overlay_add(the.ov, 1, bytes_of(key, key_len), &e);
	nodes_forget(the.nodes, e.node, 1);
	return r;
}

/* Adds entries until there is no room: how many there were. */
static int fill(size_t key_len)
{
	int n = 0, r;

	while ((r = add(name_of(n), key_len)) == 0)
		n++;
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(overlay_count(the.ov), n);
	return n;
}

static void empty(int n)
{
	while (n-- > 0)
		assert_true(overlay_remove(the.ov, 1, bytes_str(name_of(n))));
	assert_int_equal(overlay_count(the.ov), 0);
}

TEST(there_is_no_room_beyond_the_bound)
{
	int n;

	n = fill(6);
	/* An entry takes some hundreds of bytes. */
	assert_in_range(n, 65536 / 1000, 65536 / 200);
	assert_int_equal(add(name_of(0), 6), -EEXIST);
	assert_int_equal(add(name_of(n), 6), -ENOSPC);
	/* As much room is given back as was taken. */
	assert_true(overlay_remove(the.ov, 1, bytes_str(name_of(3))));
	assert_int_equal(add(name_of(n), 6), 0);
	assert_int_equal(add(name_of(3), 6), -ENOSPC);
	assert_true(overlay_remove(the.ov, 1, bytes_str(name_of(n))));
	assert_int_equal(add(name_of(3), 6), 0);
	empty(n);
	assert_int_equal(fill(6), n);
}

TEST(a_long_key_takes_more_room)
{
	int n;

	n = fill(6);
	empty(n);
	/* Its bytes are there twice, for its order too. */
	assert_in_range(fill(3000), 65536 / 7000, 65536 / 6000);
	end(state);
	begin(state);
	/* Each zero of it is two bytes of its order. */
	the.key_byte = 0;
	assert_in_range(fill(3000), 65536 / 10000, 65536 / 9000);
	end(state);
	begin(state);
	assert_int_equal(add("a", 32768), -ENOSPC);
	assert_int_equal(add("a", 32000), 0);
}

TEST(a_rename_takes_no_room)
{
	struct overlay_entry to = {
		.kind = NODE_ROW, .ino = 9, .name = "a much longer name"};
	struct overlay_entry e;
	int n;

	n = fill(6);
	assert_int_equal(overlay_find(the.ov, 1, bytes_str(name_of(0)), &e), 1);
	to.node = e.node;
	assert_int_equal(overlay_rename(the.ov, 1, bytes_str(name_of(0)), 1,
					bytes_str("key"), &to),
			 0);
	assert_true(overlay_remove(the.ov, 1, bytes_str(to.name)));
	assert_int_equal(add(name_of(0), 6), 0);
	empty(n);
	assert_int_equal(fill(6), n);
}

/* The store has all of them: how many are left when their directory is listed. */
static int left_while_listed(int n)
{
	overlay_list_begin(the.ov, 1);
	while (n-- > 0) {
		const char *name = name_of(n);
		uint64_t deletes = overlay_deletes(the.ov, bytes_str(name));

		overlay_settle(the.ov, 1, bytes_str(name), bytes_str(name),
			       deletes);
	}
	overlay_list_end(the.ov, 1);
	return (int)overlay_count(the.ov);
}

TEST(beyond_half_of_the_room_a_listing_keeps_no_entry)
{
	int n, left;

	n = fill(6);
	left = left_while_listed(n);
	/* From there on all stay, until it has been listed. */
	assert_in_range(left, n / 2 - 1, n / 2 + 1);
	assert_int_equal(left_while_listed(n), left);
	while (n-- > 0)
		overlay_settle(the.ov, 1, bytes_str(name_of(n)),
			       bytes_str(name_of(n)),
			       overlay_deletes(the.ov, bytes_str(name_of(n))));
	assert_int_equal(overlay_count(the.ov), 0);
}

/* What it has added may be what the store has by now. */
TEST(a_delete_is_told_of_a_put_meanwhile)
{
	struct bytes row = bytes_str("r");

	overlay_missed(the.ov, row);
	overlay_delete_begin(the.ov, row);
	assert_false(overlay_delete_end(the.ov, row));
	overlay_delete_begin(the.ov, row);
	overlay_missed(the.ov, row);
	overlay_delete_begin(the.ov, row);
	assert_true(overlay_delete_end(the.ov, row));
	assert_true(overlay_delete_end(the.ov, row));
	overlay_delete_begin(the.ov, row);
	assert_false(overlay_delete_end(the.ov, row));
}
