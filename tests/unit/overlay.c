/* What is only in memory is bounded: here to 64 KiB, see meson.build. */
#include "tests/unit/unit.h"
#include "fs/memory/overlay.h"

struct fixture {
	struct nodes *nodes;
	struct overlay *ov;
	char key_byte; /* of which keys are made */
};

static void begin(struct fixture *f)
{
	f->key_byte = 'k';
	assert_int_equal(nodes_new(&f->nodes), 0);
	assert_int_equal(overlay_new(f->nodes, &f->ov), 0);
}

/* All memory is given back, and no node is held any more. */
static void end(struct fixture *f)
{
	uint64_t live, pinned;

	overlay_free(f->ov);
	nodes_count(f->nodes, &live, &pinned);
	assert_int_equal(pinned, 0);
	nodes_free(f->nodes);
}

static const char *name_of(int i)
{
	static char name[16];

	snprintf(name, sizeof(name), "r%05d", i);
	return name;
}

static int add(struct fixture *f, const char *name, size_t key_len)
{
	static char key[UINT16_MAX];
	struct overlay_entry e = {.kind = NODE_ROW, .ino = 7};
	int r;

	memset(key, f->key_byte, sizeof(key));
	snprintf(e.name, sizeof(e.name), "%s", name);
	assert_int_equal(nodes_enter(f->nodes, 1, bytes_str(name), NODE_ROW, 7,
				     NULL, &e.node),
			 0);
	r = overlay_add(f->ov, 1, bytes_of(key, key_len), &e);
	nodes_forget(f->nodes, e.node, 1);
	return r;
}

/* Adds entries until there is no room: how many there were. */
static int fill(struct fixture *f, size_t key_len)
{
	int n = 0, r;

	while ((r = add(f, name_of(n), key_len)) == 0)
		n++;
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(overlay_count(f->ov), n);
	return n;
}

static void empty(struct fixture *f, int n)
{
	while (n-- > 0)
		assert_true(overlay_remove(f->ov, 1, bytes_str(name_of(n))));
	assert_int_equal(overlay_count(f->ov), 0);
}

TEST(there_is_no_room_beyond_the_bound)
{
	struct fixture f;
	int n;

	begin(&f);
	n = fill(&f, 6);
	/* An entry takes some hundreds of bytes. */
	assert_in_range(n, 65536 / 1000, 65536 / 200);
	assert_int_equal(add(&f, name_of(0), 6), -EEXIST);
	assert_int_equal(add(&f, name_of(n), 6), -ENOSPC);
	/* As much room is given back as was taken. */
	assert_true(overlay_remove(f.ov, 1, bytes_str(name_of(3))));
	assert_int_equal(add(&f, name_of(n), 6), 0);
	assert_int_equal(add(&f, name_of(3), 6), -ENOSPC);
	assert_true(overlay_remove(f.ov, 1, bytes_str(name_of(n))));
	assert_int_equal(add(&f, name_of(3), 6), 0);
	empty(&f, n);
	assert_int_equal(fill(&f, 6), n);
	end(&f);
}

TEST(a_long_key_takes_more_room)
{
	struct fixture f;
	int n;

	begin(&f);
	n = fill(&f, 6);
	empty(&f, n);
	/* Its bytes are there twice, for its order too. */
	assert_in_range(fill(&f, 3000), 65536 / 7000, 65536 / 6000);
	end(&f);
	begin(&f);
	/* Each zero of it is two bytes of its order. */
	f.key_byte = 0;
	assert_in_range(fill(&f, 3000), 65536 / 10000, 65536 / 9000);
	end(&f);
	begin(&f);
	assert_int_equal(add(&f, "a", 32768), -ENOSPC);
	assert_int_equal(add(&f, "a", 32000), 0);
	end(&f);
}

TEST(a_rename_takes_no_room)
{
	struct overlay_entry to = {
		.kind = NODE_ROW, .ino = 9, .name = "a much longer name"};
	struct overlay_entry e;
	struct fixture f;
	int n;

	begin(&f);
	n = fill(&f, 6);
	assert_int_equal(overlay_find(f.ov, 1, bytes_str(name_of(0)), &e), 1);
	to.node = e.node;
	assert_int_equal(overlay_rename(f.ov, 1, bytes_str(name_of(0)), 1,
					bytes_str("key"), &to),
			 0);
	assert_true(overlay_remove(f.ov, 1, bytes_str(to.name)));
	assert_int_equal(add(&f, name_of(0), 6), 0);
	empty(&f, n);
	assert_int_equal(fill(&f, 6), n);
	end(&f);
}

/* The store has all of them: how many are left when their directory is listed. */
static int left_while_listed(struct fixture *f, int n)
{
	overlay_list_begin(f->ov, 1);
	while (n-- > 0) {
		const char *name = name_of(n);
		uint64_t deletes = overlay_deletes(f->ov, bytes_str(name));

		overlay_settle(f->ov, 1, bytes_str(name), bytes_str(name),
			       deletes);
	}
	overlay_list_end(f->ov, 1);
	return (int)overlay_count(f->ov);
}

TEST(beyond_half_of_the_room_a_listing_keeps_no_entry)
{
	struct fixture f;
	int n, left;

	begin(&f);
	n = fill(&f, 6);
	left = left_while_listed(&f, n);
	/* From there on all stay, until it has been listed. */
	assert_in_range(left, n / 2 - 1, n / 2 + 1);
	assert_int_equal(left_while_listed(&f, n), left);
	while (n-- > 0)
		overlay_settle(f.ov, 1, bytes_str(name_of(n)),
			       bytes_str(name_of(n)),
			       overlay_deletes(f.ov, bytes_str(name_of(n))));
	assert_int_equal(overlay_count(f.ov), 0);
	end(&f);
}

/* What it has added may be what the store has by now. */
TEST(a_delete_is_told_of_a_put_meanwhile)
{
	struct bytes row = bytes_str("r");
	struct fixture f;

	begin(&f);
	overlay_missed(f.ov, row);
	overlay_delete_begin(f.ov, row);
	assert_false(overlay_delete_end(f.ov, row));
	overlay_delete_begin(f.ov, row);
	overlay_missed(f.ov, row);
	overlay_delete_begin(f.ov, row);
	assert_true(overlay_delete_end(f.ov, row));
	assert_true(overlay_delete_end(f.ov, row));
	overlay_delete_begin(f.ov, row);
	assert_false(overlay_delete_end(f.ov, row));
	end(&f);
}
