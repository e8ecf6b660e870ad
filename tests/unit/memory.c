/*
 * What the mount keeps in memory: sorted names, the overlay, scratch files,
 * drafts. All of it ordered and bounded.
 */
#include "tests/unit/unit.h"
#include "tests/unit/gone_caller.h"
#include "fs/kernel/node.h"
#include "fs/memory/draft.h"
#include "fs/memory/overlay.h"
#include "fs/memory/scratch.h"
#include "fs/memory/values.h"
#include "store/value/why.h"
#include "fs/text/sorted.h"

static struct bytes str(const char *s)
{
	return bytes_str(s);
}

#define NAMES 300

TEST(names_come_in_order_whatever_was_removed)
{
	struct sorted_node *nodes = calloc(NAMES, sizeof(*nodes));
	bool there[NAMES] = {false};
	struct sorted s = {0};
	unsigned seed = 1;
	char name[16];

	assert_non_null(nodes);
	for (int step = 0; step < 5000; step++) {
		int i = (int)((seed = seed * 1103515245 + 12345) >> 16) % NAMES;

		if (there[i]) {
			sorted_remove(&s, &nodes[i]);
			sorted_node_release(&nodes[i]);
		} else {
			snprintf(name, sizeof(name), "%03d", i);
			assert_int_equal(sorted_node_init(&nodes[i], str("d"),
							  str(name)),
					 0);
			sorted_insert(&s, &nodes[i]);
		}
		there[i] = !there[i];
	}
	struct sorted_node *n = sorted_next(&s, str("d"), false, str(""));

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "%03d", i);
		assert_true(there[i] ==
			    (sorted_find(&s, str("d"), str(name)) != NULL));
		if (!there[i])
			continue;
		assert_ptr_equal(n, &nodes[i]);
		n = sorted_next(&s, str("d"), true, sorted_name(n));
	}
	assert_null(n);
	assert_null(sorted_next(&s, str("e"), false, str("")));
	while ((n = sorted_any(&s))) {
		sorted_remove(&s, n);
		sorted_node_release(n);
	}
	assert_int_equal(s.count, 0);
	free(nodes);
}

static uint64_t enter(struct nodes *ns, uint64_t parent, const char *name,
		      uint8_t kind)
{
	uint64_t id;

	assert_int_equal(nodes_enter(ns, parent, str(name), kind, 7, NULL, &id),
			 0);
	return id;
}

static int add(struct overlay *ov, struct nodes *ns, const char *name,
	       struct bytes key)
{
	struct overlay_entry e = {.kind = NODE_ROW, .ino = 7};

	e.node = enter(ns, 1, name, NODE_ROW);
	strcpy(e.name, name);
	return overlay_add(ov, 1, key, &e);
}

TEST(overlay_lists_by_key_and_finds_by_name)
{
	static const char *const expected[] = {"%00", "a", "a%00", "a%+", "b"};
	struct overlay_entry e;
	struct overlay *ov;
	struct nodes *ns;
	struct buf key = {0};
	struct bytes after;
	size_t count = 0;
	int r;

	assert_int_equal(nodes_new(&ns), 0);
	assert_int_equal(overlay_new(ns, &ov), 0);
	assert_false(overlay_any(ov, 1));
	assert_int_equal(add(ov, ns, "b", str("b")), 0);
	assert_int_equal(add(ov, ns, "a%00", bytes_of("a\0", 2)), 0);
	assert_int_equal(add(ov, ns, "a", str("a")), 0);
	assert_int_equal(add(ov, ns, "%00", bytes_of("\0", 1)), 0);
	assert_int_equal(add(ov, ns, "a", str("a")), -EEXIST);
	/* A piece whose key is a row's too: found, if not listed twice. */
	assert_int_equal(add(ov, ns, "a%+", str("a")), 0);
	assert_int_equal(overlay_find(ov, 1, str("a%+"), &e), 1);
	assert_string_equal(e.name, "a%+");

	for (r = overlay_next(ov, 1, NULL, &e, &key); r > 0;
	     r = overlay_next(ov, 1, &after, &e, &key)) {
		while (!strcmp(expected[count], "a%+"))
			count++;
		assert_string_equal(e.name, expected[count++]);
		after = buf_bytes(&key);
	}
	assert_int_equal(r, 0);
	assert_int_equal(count, 5);
	assert_true(overlay_remove(ov, 1, str("a")));
	assert_false(overlay_remove(ov, 1, str("a")));
	assert_int_equal(overlay_find(ov, 1, str("a"), NULL), 0);
	buf_free(&key);
	overlay_free(ov);
	nodes_free(ns);
}

#define MANY 5000

/* The place of one that goes is given to the last one. */
TEST(overlay_finds_each_of_many_entries_until_it_goes)
{
	struct overlay_entry e;
	struct overlay *ov;
	struct nodes *ns;
	char name[16];

	assert_int_equal(nodes_new(&ns), 0);
	assert_int_equal(overlay_new(ns, &ov), 0);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(add(ov, ns, name, str(name)), 0);
	}
	/* 7 has no factor in common with their count: each is met once. */
	for (int n = 0, i = 0; n < MANY; n++, i = (i + 7) % MANY) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(overlay_find(ov, 1, str(name), &e), 1);
		assert_string_equal(e.name, name);
		assert_true(overlay_remove(ov, 1, str(name)));
		assert_int_equal(overlay_find(ov, 1, str(name), NULL), 0);
		assert_int_equal(overlay_count(ov), MANY - n - 1);
	}
	overlay_free(ov);
	nodes_free(ns);
}

TEST(overlay_keeps_nodes_that_the_kernel_forgot)
{
	struct overlay_entry e;
	struct overlay *ov;
	struct nodes *ns;
	uint64_t live, pinned;

	assert_int_equal(nodes_new(&ns), 0);
	assert_int_equal(overlay_new(ns, &ov), 0);
	assert_int_equal(add(ov, ns, "a", str("a")), 0);
	assert_int_equal(overlay_find(ov, 1, str("a"), &e), 1);
	nodes_forget(ns, e.node, 1);
	nodes_count(ns, &live, &pinned);
	assert_int_equal(live, 2);
	overlay_remove(ov, 1, str("a"));
	nodes_count(ns, &live, &pinned);
	assert_int_equal(live, 1);
	assert_int_equal(pinned, 0);
	overlay_free(ov);
	nodes_free(ns);
}

TEST(overlay_lists_a_piece_before_all_that_go_on)
{
	struct overlay_entry piece = {.name = "a%+"}, e;
	const uint8_t kinds[] = {NODE_ROW_PIECE, NODE_COLUMN_PIECE};
	struct buf key = {0};
	struct bytes after;
	struct overlay *ov;
	struct nodes *ns;

	for (size_t i = 0; i < sizeof(kinds); i++) {
		assert_int_equal(nodes_new(&ns), 0);
		assert_int_equal(overlay_new(ns, &ov), 0);
		piece.kind = kinds[i];
		piece.node = enter(ns, 1, piece.name, piece.kind);
		assert_int_equal(overlay_add(ov, 1, str("a"), &piece), 0);
		assert_int_equal(add(ov, ns, "a%00b", bytes_of("a\0b", 3)), 0);
		assert_int_equal(add(ov, ns, "a", str("a")), 0);
		assert_int_equal(overlay_next(ov, 1, NULL, &e, &key), 1);
		assert_string_equal(e.name, "a");
		after = buf_bytes(&key);
		assert_int_equal(overlay_next(ov, 1, &after, &e, &key), 1);
		assert_string_equal(e.name, "a%+");
		after = buf_bytes(&key);
		assert_int_equal(overlay_next(ov, 1, &after, &e, &key), 1);
		assert_string_equal(e.name, "a%00b");
		buf_free(&key);
		overlay_free(ov);
		nodes_free(ns);
	}
}

static bool has(struct overlay *ov, const char *name)
{
	return overlay_find(ov, 1, str(name), NULL) > 0;
}

/* Asks the store, so to speak, and settles the row's directory. */
static bool look_and_settle(struct overlay *ov, void (*meanwhile)(void *))
{
	uint64_t turns = overlay_deletes(ov, str("r"));

	if (meanwhile)
		meanwhile(ov);
	return overlay_settle(ov, 1, str("r"), str("r"), turns);
}

static void begin(void *ov)
{
	overlay_delete_begin(ov, str("r"));
}

static void end(void *ov)
{
	assert_true(overlay_delete_end(ov, str("r")));
}

TEST(overlay_settles_only_what_no_delete_counts_on)
{
	struct overlay_entry in;
	uint64_t here, elsewhere, dir;
	struct overlay *ov;
	struct nodes *ns;

	assert_int_equal(nodes_new(&ns), 0);
	assert_int_equal(overlay_new(ns, &ov), 0);
	assert_int_equal(add(ov, ns, "r", str("r")), 0);
	/* It is not late: somebody has made it since the store was seen. */
	assert_false(overlay_drop_late(ov, 1, str("r"), str("r"),
				       overlay_deletes(ov, str("r"))));
	assert_true(has(ov, "r"));
	assert_true(look_and_settle(ov, begin));
	assert_true(has(ov, "r"));
	/* One is under way. */
	assert_true(look_and_settle(ov, NULL));
	assert_true(has(ov, "r"));
	/* It ended behind the look, and has heard who looks. */
	assert_false(look_and_settle(ov, end));
	assert_true(has(ov, "r"));
	/* In the way of nobody. */
	overlay_delete_begin(ov, str("r"));
	assert_false(overlay_delete_end(ov, str("r")));
	overlay_list_begin(ov, 1);
	look_and_settle(ov, NULL);
	assert_true(has(ov, "r"));
	overlay_list_end(ov, 1);
	/* A directory stays for what is in it. */
	assert_int_equal(overlay_find(ov, 1, str("r"), &in), 1);
	dir = in.node;
	in.node = enter(ns, dir, "f", NODE_FAMILY);
	in.kind = NODE_FAMILY;
	strcpy(in.name, "f");
	assert_int_equal(overlay_add(ov, dir, str("f"), &in), 0);
	look_and_settle(ov, NULL);
	assert_true(has(ov, "r"));
	assert_true(overlay_remove(ov, dir, str("f")));
	here = overlay_moves(ov, 1);
	elsewhere = overlay_moves(ov, 2);
	look_and_settle(ov, NULL);
	assert_false(has(ov, "r"));
	/* Who looks in another directory need not look again. */
	assert_int_equal(overlay_moves(ov, 1), here + 1);
	assert_int_equal(overlay_moves(ov, 2), elsewhere);
	overlay_free(ov);
	nodes_free(ns);
}

static const char *number(int n)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", n);
	return text;
}

TEST(overlay_finds_each_name_among_any_number)
{
	const int many = 5000;
	struct overlay_entry e;
	struct overlay *ov;
	struct nodes *ns;

	assert_int_equal(nodes_new(&ns), 0);
	assert_int_equal(overlay_new(ns, &ov), 0);
	for (int i = 0; i < many; i++)
		assert_int_equal(add(ov, ns, number(i), str(number(i))), 0);
	for (int i = 0; i < many; i++) {
		assert_int_equal(overlay_find(ov, 1, str(number(i)), &e), 1);
		assert_string_equal(e.name, number(i));
	}
	assert_false(has(ov, number(many)));
	assert_false(overlay_find(ov, 2, str("7"), NULL));
	for (int i = many; i-- > 10;)
		assert_true(overlay_remove(ov, 1, str(number(i))));
	for (int i = 0; i < 20; i++)
		assert_int_equal(has(ov, number(i)), i < 10);
	assert_int_equal(overlay_count(ov), 10);
	overlay_free(ov);
	nodes_free(ns);
}

TEST(overlay_retracts_what_only_a_failed_delete_added)
{
	struct overlay_entry e = {.kind = NODE_ROW, .ino = 7, .name = "r"};
	struct overlay *ov;
	struct nodes *ns;

	assert_int_equal(nodes_new(&ns), 0);
	assert_int_equal(overlay_new(ns, &ov), 0);
	e.node = enter(ns, 1, "r", NODE_ROW);
	e.added_by = overlay_delete_begin(ov, str("r"));
	assert_true(e.added_by);
	assert_int_equal(overlay_add(ov, 1, str("r"), &e), 0);
	/* A second that counts on it has no number of its own. */
	assert_int_equal(overlay_delete_begin(ov, str("r")), 0);
	overlay_delete_end(ov, str("r"));
	overlay_delete_end(ov, str("r"));
	overlay_retract(ov, 1, str("r"), str("r"), e.added_by);
	assert_true(has(ov, "r"));
	assert_true(overlay_remove(ov, 1, str("r")));

	e.added_by = overlay_delete_begin(ov, str("r"));
	assert_int_equal(overlay_add(ov, 1, str("r"), &e), 0);
	overlay_delete_end(ov, str("r"));
	overlay_retract(ov, 1, str("r"), str("r"), e.added_by);
	assert_false(has(ov, "r"));
	overlay_free(ov);
	nodes_free(ns);
}

TEST(overlay_removes_a_directory_with_what_is_implied)
{
	struct overlay_entry e = {.kind = NODE_FAMILY, .ino = 8, .name = "f"};
	struct overlay_entry row;
	struct overlay *ov;
	struct nodes *ns;

	assert_int_equal(nodes_new(&ns), 0);
	assert_int_equal(overlay_new(ns, &ov), 0);
	assert_int_equal(add(ov, ns, "r", str("r")), 0);
	assert_int_equal(overlay_find(ov, 1, str("r"), &row), 1);
	e.node = enter(ns, row.node, "f", NODE_FAMILY);
	assert_int_equal(overlay_add(ov, row.node, str("f"), &e), 0);
	assert_int_equal(overlay_rmdir(ov, 1, str("r"), row.node), -ENOTEMPTY);
	assert_true(overlay_remove(ov, row.node, str("f")));
	e.implied = true;
	assert_int_equal(overlay_add(ov, row.node, str("f"), &e), 0);
	assert_int_equal(overlay_rmdir(ov, 1, str("r"), row.node), 0);
	assert_int_equal(overlay_count(ov), 0);
	/* Nothing is added in what was removed. */
	assert_int_equal(overlay_add(ov, row.node, str("f"), &e), -ESTALE);
	overlay_free(ov);
	nodes_free(ns);
}

TEST(overlay_renames_onto_another_without_a_gap)
{
	struct overlay_entry e, to = {.kind = NODE_ROW, .ino = 9, .name = "b"};
	struct overlay *ov;
	struct nodes *ns;
	uint64_t found;

	assert_int_equal(nodes_new(&ns), 0);
	assert_int_equal(overlay_new(ns, &ov), 0);
	assert_int_equal(add(ov, ns, "a", str("a")), 0);
	assert_int_equal(add(ov, ns, "b", str("b")), 0);
	assert_int_equal(overlay_find(ov, 1, str("a"), &e), 1);
	to.node = e.node;
	assert_int_equal(overlay_rename(ov, 1, str("none"), 1, str("b"), &to),
			 -ENOENT);
	assert_int_equal(overlay_rename(ov, 1, str("a"), 1, str("b"), &to), 0);
	assert_false(has(ov, "a"));
	assert_int_equal(overlay_count(ov), 1);
	assert_int_equal(overlay_find(ov, 1, str("b"), &e), 1);
	assert_int_equal(e.node, to.node);
	assert_int_equal(nodes_find(ns, 1, str("b"), &found), 1);
	assert_int_equal(found, to.node);
	overlay_free(ov);
	nodes_free(ns);
}

static struct budget plenty = {.max = 1ull << 40};

TEST(scratch_lives_while_named_held_or_known)
{
	struct scratch *s = scratch_new(0, &plenty);
	struct scratch_attr a;
	char out[8];

	assert_int_equal(scratch_add(s, 5, S_IFREG | 0600, 1, 2), 0);
	assert_int_equal(scratch_add(s, 5, S_IFREG | 0600, 1, 2), -EEXIST);
	assert_int_equal(scratch_write(s, 5, str("abc"), 2, false), 0);
	assert_int_equal(scratch_write(s, 5, str("d"), 0, true), 0);
	assert_int_equal(scratch_read(s, 5, out, sizeof(out), 0), 6);
	assert_memory_equal(out, "\0\0abcd", 6);
	assert_int_equal(scratch_hold(s, 5), 0);
	scratch_unname(s, 5);
	assert_int_equal(scratch_getattr(s, 5, &a), 1);
	assert_int_equal(a.size, 6);
	assert_int_equal(scratch_read(s, 5, out, 1, 5), 1);
	scratch_drop(s, 5);
	/* Who has found it opens it. */
	assert_int_equal(scratch_hold(s, 5), 0);
	scratch_forget(s, 5);
	assert_int_equal(scratch_getattr(s, 5, &a), 1);
	scratch_drop(s, 5);
	assert_int_equal(scratch_getattr(s, 5, &a), 0);
	assert_int_equal(scratch_read(s, 5, out, 1, 0), -ESTALE);
	assert_int_equal(scratch_bytes(s), 0);
	/* The node can go first. */
	assert_int_equal(scratch_add(s, 6, S_IFREG, 0, 0), 0);
	scratch_forget(s, 6);
	assert_int_equal(scratch_getattr(s, 6, &a), 1);
	scratch_unname(s, 6);
	assert_int_equal(scratch_getattr(s, 6, &a), 0);
	/* Nobody tells of a directory's node. */
	assert_int_equal(scratch_add(s, 7, S_IFDIR, 0, 0), 0);
	scratch_unname(s, 7);
	assert_int_equal(scratch_getattr(s, 7, &a), 0);
	assert_int_equal(scratch_bytes(s), 0);
	scratch_free(s);
}

TEST(retired_scratch_speaks_no_more_for_its_node)
{
	struct scratch *s = scratch_new(0, &plenty);
	struct scratch_attr a;

	assert_int_equal(scratch_add(s, 5, S_IFREG, 0, 0), 0);
	assert_int_equal(scratch_hold(s, 5), 0);
	scratch_retire(s, 5);
	assert_int_equal(scratch_getattr(s, 5, &a), 0);
	assert_int_equal(scratch_write(s, 5, str("x"), 0, false), -ESTALE);
	scratch_drop(s, 5);
	assert_int_equal(scratch_bytes(s), 0);
	scratch_free(s);
}

TEST(scratch_is_bounded)
{
	struct scratch *s = scratch_new(64 << 10, &plenty);
	struct scratch_attr big = {.size = 1ull << 40}, a;
	char block[4096] = {0};
	int r = 0;

	assert_int_equal(scratch_add(s, 5, S_IFREG, 0, 0), 0);
	assert_int_equal(scratch_setattr(s, 5, SCRATCH_SET_SIZE, &big, &a),
			 -ENOSPC);
	for (int i = 0; i < 1000 && !r; i++)
		r = scratch_write(s, 5, bytes_of(block, sizeof(block)), 0,
				  true);
	assert_int_equal(r, -ENOSPC);
	assert_true(scratch_bytes(s) <= 2 * (64 << 10));
	r = 0;
	for (uint64_t node = 6; node < 10000 && !r; node++)
		r = scratch_add(s, node, S_IFREG, 0, 0);
	assert_int_equal(r, -ENOSPC);
	scratch_unname(s, 5);
	scratch_free(s);
}

static int fill_scratch(size_t bytes_max, size_t len)
{
	struct scratch *s = scratch_new(bytes_max, &plenty);
	char content[256] = {0};
	struct scratch_attr a;
	int r;

	why_clear();
	r = scratch_add(s, 5, S_IFREG, 0, 0);
	if (r == 0 && len) {
		r = scratch_write(s, 5, bytes_of(content, len), 0, false);
		assert_int_equal(scratch_getattr(s, 5, &a), 1);
		assert_int_equal(a.size, r ? 0 : len);
	}
	/* The room is given back, as much as was taken. */
	scratch_unname(s, 5);
	scratch_forget(s, 5);
	assert_int_equal(scratch_bytes(s), 0);
	scratch_free(s);
	return r;
}

TEST(scratch_takes_its_bound_and_no_more)
{
	struct scratch *s = scratch_new(0, &plenty);
	char content[256] = {0};
	size_t cost;

	assert_int_equal(scratch_add(s, 5, S_IFREG, 0, 0), 0);
	cost = scratch_bytes(s);
	scratch_free(s);
	assert_int_equal(fill_scratch(cost, 0), 0);
	assert_int_equal(fill_scratch(cost - 1, 0), -ENOSPC);
	assert_non_null(strstr(store_why(), "scratch_max"));
	assert_int_equal(fill_scratch(cost + 100, 100), 0);
	assert_int_equal(fill_scratch(cost + 100, 101), -ENOSPC);
	assert_non_null(strstr(store_why(), "scratch_max"));
	/* The buffer of 100 is one of 128, and more than the bound. */
	s = scratch_new(cost + 100, &plenty);
	assert_int_equal(scratch_add(s, 5, S_IFREG, 0, 0), 0);
	assert_int_equal(scratch_add(s, 6, S_IFREG, 0, 0), -ENOSPC);
	assert_int_equal(scratch_write(s, 5, bytes_of(content, 100), 0, false),
			 0);
	assert_int_equal(scratch_write(s, 5, bytes_of(content, 28), 0, true),
			 0);
	assert_int_equal(scratch_write(s, 5, bytes_of(content, 1), 0, true),
			 -ENOSPC);
	scratch_free(s);
}

TEST(scratch_that_was_removed_makes_room)
{
	struct budget little = {.max = 1 << 10};
	struct scratch *s = scratch_new(0, &little);
	char content[512] = {0};
	struct scratch_attr a;

	for (uint64_t node = 5; node < 10; node++) {
		assert_int_equal(scratch_add(s, node, S_IFREG, 0, 0), 0);
		assert_int_equal(scratch_write(s, node, bytes_of(content, 400),
					       0, false),
				 0);
		/* The one before has made room. */
		if (node > 5)
			assert_int_equal(scratch_getattr(s, node - 1, &a), 0);
		scratch_unname(s, node);
		assert_int_equal(scratch_getattr(s, node, &a), 1);
	}
	/* But for itself none does, nor one that is open or has a name. */
	assert_int_equal(
		scratch_write(s, 9, bytes_of(content, 512), 400, false),
		-ENOSPC);
	assert_int_equal(scratch_hold(s, 9), 0);
	assert_int_equal(scratch_add(s, 10, S_IFREG, 0, 0), 0);
	assert_int_equal(scratch_write(s, 10, bytes_of(content, 512), 0, false),
			 -ENOSPC);
	assert_int_equal(scratch_getattr(s, 9, &a), 1);
	assert_int_equal(scratch_getattr(s, 10, &a), 1);
	scratch_free(s);
	s = scratch_new(600, &plenty);
	for (uint64_t node = 5; node < 10; node++) {
		assert_int_equal(scratch_add(s, node, S_IFREG, 0, 0), 0);
		scratch_unname(s, node);
	}
	scratch_free(s);
}

TEST(scratch_that_the_budget_refuses_says_so)
{
	struct budget little = {.max = 1 << 10};
	struct scratch *s = scratch_new(1 << 20, &little);
	char content[2048] = {0};

	assert_int_equal(scratch_add(s, 5, S_IFREG, 0, 0), 0);
	why_clear();
	assert_int_equal(scratch_write(s, 5, bytes_of(content, 2048), 0, false),
			 -ENOSPC);
	assert_non_null(strstr(store_why(), "-o memory"));
	scratch_free(s);
}

TEST(draft_refuses_before_it_grows)
{
	struct budget budget = {.max = 1 << 20};
	struct draft d;

	draft_init(&d, &budget, 10);
	assert_int_equal(draft_write(&d, str("abc"), 8), -EFBIG);
	assert_int_equal(draft_write(&d, str("a"), UINT64_MAX), -EFBIG);
	assert_int_equal(draft_truncate(&d, 1ull << 40), -EFBIG);
	assert_int_equal(budget.held, 0);
	assert_int_equal(draft_write(&d, str("abc"), 7), 0);
	assert_int_equal(d.content.len, 10);
	assert_memory_equal(d.content.data, "\0\0\0\0\0\0\0abc", 10);
	assert_int_equal(bytes_part(buf_bytes(&d.content), 9, 5).len, 1);
	assert_int_equal(bytes_part(buf_bytes(&d.content), 10, 5).len, 0);
	draft_clear(&d);
	assert_int_equal(budget.held, 0);
}

TEST(drafts_share_one_budget)
{
	struct budget budget = {.max = 2 << 20};
	struct draft a, b;

	draft_init(&a, &budget, 1 << 20);
	draft_init(&b, &budget, 1 << 20);
	assert_int_equal(draft_truncate(&a, 1 << 20), 0);
	assert_int_equal(draft_truncate(&b, (512 << 10) + 1), -ENOSPC);
	assert_int_equal(b.content.len, 0);
	draft_clear(&a);
	assert_int_equal(draft_truncate(&b, (512 << 10) + 1), 0);
	draft_clear(&b);
	assert_int_equal(budget.held, 0);
}

TEST(who_holds_little_has_all_that_is_left)
{
	struct budget budget = {.max = BUDGET_LITTLE};
	struct budget_share a;

	budget_share_init(&a, &budget);
	assert_int_equal(budget_hold(&a, BUDGET_LITTLE + 1), -ENOBUFS);
	/* What was refused is held by nobody. */
	assert_int_equal(budget_hold(&a, BUDGET_LITTLE), 0);
	assert_int_equal(budget.peak, BUDGET_LITTLE);
	budget_give(&a);
	assert_int_equal(budget.held, 0);
}

TEST(a_client_holds_thrice_what_it_leaves_free)
{
	struct budget budget = {.max = 64 << 20};
	struct budget_share a, b, c;

	budget_ask_as(1);
	budget_share_init(&a, &budget);
	budget_ask_as(2);
	budget_share_init(&b, &budget);
	budget_ask_as(3);
	budget_share_init(&c, &budget);
	budget_ask_as(0);
	assert_int_equal(budget_hold(&a, (48 << 20) + 4096), -ENOBUFS);
	assert_int_equal(a.held, 0);
	assert_int_equal(budget_hold(&a, 48 << 20), 0);
	assert_int_equal(budget_hold(&b, (12 << 20) + 4096), -ENOBUFS);
	assert_int_equal(budget_hold(&b, 12 << 20), 0);
	assert_int_equal(budget_hold(&c, 3 << 20), 0);
	/* Less never fails, and is free for others. */
	assert_int_equal(budget_hold(&a, 1 << 20), 0);
	assert_int_equal(budget_hold(&c, 30 << 20), 0);
	budget_give(&a);
	budget_give(&b);
	budget_give(&c);
	assert_int_equal(budget.held, 0);
	assert_int_equal(budget.refused, 2);
}

static int trims;

int malloc_trim(size_t pad);
/* Instead of the allocator's. */
int malloc_trim(size_t pad)
{
	trims++;
	return 0;
}

TEST(what_was_held_goes_back_to_the_system)
{
	struct budget budget = {.max = 256 << 20};
	struct budget_share a;

	trims = 0;
	budget_share_init(&a, &budget);
	assert_int_equal(budget_hold(&a, 64 << 20), 0);
	assert_int_equal(budget_hold(&a, 33 << 20), 0);
	assert_int_equal(trims, 0);
	assert_int_equal(budget_hold(&a, 32 << 20), 0);
	assert_int_equal(trims, 1);
	/* From there half of it again; of a little the allocator keeps all. */
	assert_int_equal(budget_hold(&a, 17 << 20), 0);
	assert_int_equal(trims, 1);
	budget_give(&a);
	assert_int_equal(trims, 2);
	budget_share_init(&a, &budget);
	assert_int_equal(budget_hold(&a, 31 << 20), 0);
	budget_give(&a);
	assert_int_equal(trims, 2);
}

struct source {
	unsigned fetched;
	int result;
};

static int fetch_some(void *arg, struct buf *out)
{
	struct source *s = arg;

	s->fetched++;
	return s->result > 0 && buf_append(out, "some", 4) ? -ENOMEM
							   : s->result;
}

TEST(what_is_offered_of_a_draft_stays)
{
	enum {
		LONG = 300 << 10
	};
	static uint8_t text[LONG];
	struct budget budget = {.max = 4 << 20};
	struct bytes all = bytes_of(text, LONG);
	struct piece *p;
	struct bytes kept;
	struct draft d;

	memset(text, 'a', LONG);
	draft_init(&d, &budget, 1 << 20);
	assert_int_equal(draft_write(&d, bytes_of(text, 10), 0), 0);
	assert_null(draft_offer(&d));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(draft_set(&d, all), 0);
		p = draft_offer(&d);
		assert_non_null(p);
		piece_hold(p);
		kept = buf_bytes(&d.content);
		if (i == 0)
			assert_int_equal(draft_write(&d, str("b"), 7), 0);
		else if (i == 1)
			assert_int_equal(draft_truncate(&d, 100), 0);
		else
			assert_int_equal(draft_set(&d, str("bbb")), 0);
		assert_true(bytes_eq(kept, all));
		assert_true(d.content.data != kept.data);
		assert_int_equal(d.content.data[i ? 0 : 7], i == 1 ? 'a' : 'b');
		piece_drop(p);
	}
	draft_clear(&d);
	assert_int_equal(draft_set(&d, bytes_of(text, 256 << 10)), 0);
	assert_null(draft_offer(&d));
	draft_clear(&d);
	assert_int_equal(budget.held, 0);
}

static void not_freed(struct piece *p)
{
	fail();
}

static int fetch_shared(void *arg, struct buf *out)
{
	assert_true(buf_is_open(out));
	buf_share(out, str("where it lies"), arg);
	return 1;
}

TEST(a_value_that_the_store_shares_is_counted)
{
	struct piece p = {.refs = 1, .free = not_freed};
	struct budget budget = {.max = 1 << 20};
	struct value *v;
	struct values vs;

	values_init(&vs, &budget);
	assert_int_equal(values_open(&vs, str("k"), 13, fetch_shared, &p, &v),
			 1);
	assert_int_equal(budget.held, 13);
	assert_int_equal(p.refs, 2);
	values_close(&vs, v);
	assert_int_equal(budget.held, 0);
	assert_int_equal(p.refs, 1);
	values_release(&vs);
}

TEST(handles_of_one_value_share_it)
{
	struct budget budget = {.max = 1 << 20};
	struct source gone = {.result = 0}, there = {.result = 1};
	struct value *v, *w, *x;
	struct values vs;

	values_init(&vs, &budget);
	assert_int_equal(values_open(&vs, str("k"), 4, fetch_some, &gone, &v),
			 0);
	assert_int_equal(budget.held, 0);
	assert_int_equal(values_open(&vs, str("k"), 4, fetch_some, &there, &v),
			 1);
	assert_int_equal(values_open(&vs, str("k"), 4, fetch_some, &there, &w),
			 1);
	assert_ptr_equal(v, w);
	assert_int_equal(there.fetched, 1);
	assert_int_equal(values_open(&vs, str("l"), 4, fetch_some, &there, &x),
			 1);
	assert_ptr_not_equal(v, x);
	assert_int_equal(value_bytes(w).len, 4);
	values_close(&vs, v);
	assert_memory_equal(value_bytes(w).data, "some", 4);
	values_close(&vs, w);
	values_close(&vs, x);
	assert_int_equal(budget.held, 0);
	/* Its memory is held before it is fetched. */
	assert_int_equal(
		values_open(&vs, str("k"), 1 << 20, fetch_some, &there, &v),
		-ENFILE);
	assert_int_equal(there.fetched, 2);
	values_release(&vs);
}

/* Of a value that another fetches, as this thread does meanwhile. */
static int fetch_beside(void *arg, struct buf *out)
{
	struct value *v;

	patience_begin_request_of(1, is_gone);
	assert_int_equal(values_open(arg, str("k"), 4, fetch_beside, arg, &v),
			 -EINTR);
	patience_begin_request();
	return 0;
}

TEST(who_is_gone_waits_for_no_value)
{
	struct budget budget = {.max = 1 << 20};
	struct value *v;
	struct values vs;

	values_init(&vs, &budget);
	assert_int_equal(values_open(&vs, str("k"), 4, fetch_beside, &vs, &v),
			 0);
	assert_int_equal(budget.held, 0);
	values_release(&vs);
}
