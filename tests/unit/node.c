#include <pthread.h>

#include "tests/unit/unit.h"
#include "fs/kernel/fstable.h"
#include "fs/kernel/node.h"
#include "fs/kernel/node_table.h"
#include "store/value/sanitizer.h"

/* Tables that only count: node.c asks for no more. */
struct fstable {
	uint64_t id;
	int refs;
};

void fstable_ref(struct fstable *ft)
{
	ft->refs++;
}

void fstable_unref(struct fstable *ft)
{
	if (ft)
		ft->refs--;
}

bool fstable_same(const struct fstable *a, const struct fstable *b)
{
	return a->id == b->id;
}

#define ROOT 1

static struct nodes *ns;

static int setup(void **state)
{
	return nodes_new(&ns);
}

static int teardown(void **state)
{
	nodes_free(ns);
	return 0;
}

EACH_TEST_IN(setup, teardown);

static uint64_t enter(uint64_t parent, const char *name)
{
	uint64_t id;

	assert_int_equal(nodes_enter(ns, parent, bytes_str(name), NODE_ROW, 9,
				     NULL, &id),
			 0);
	return id;
}

static uint64_t live(void)
{
	uint64_t n, pinned;

	nodes_count(ns, &n, &pinned);
	return n;
}

TEST(a_name_is_one_node_until_it_is_forgotten)
{
	uint64_t a = enter(ROOT, "a"), found;

	assert_int_equal(enter(ROOT, "a"), a);
	assert_int_equal(live(), 2);
	nodes_forget(ns, a, 1);
	assert_int_equal(nodes_find(ns, ROOT, bytes_str("a"), &found), 1);
	nodes_forget(ns, a, 1);
	assert_int_equal(nodes_find(ns, ROOT, bytes_str("a"), &found), 0);
	assert_int_equal(live(), 1);
	/* The number is not given to another node. */
	assert_true(enter(ROOT, "b") != a);
}

/* Deeper than a stack is. */
TEST(scratch_directories_have_no_counterpart_however_deep)
{
	uint64_t dir = enter(ROOT, "T"), put, found;

	assert_int_equal(nodes_enter(ns, dir, bytes_str(".put"), NODE_PUT, 9,
				     NULL, &put),
			 0);
	assert_int_equal(nodes_outside_put(ns, put, &found), 1);
	assert_int_equal(found, dir);
	found = enter(dir, "R");
	dir = enter(put, "R");
	assert_int_equal(nodes_outside_put(ns, dir, &put), 1);
	assert_int_equal(put, found);
	for (int i = 0; i < 400000; i++)
		assert_int_equal(nodes_enter(ns, dir, bytes_str(".d"),
					     NODE_SCRATCH_DIR, 9, NULL, &dir),
				 0);
	assert_int_equal(nodes_outside_put(ns, dir, &found), 0);
}

TEST(what_is_held_is_not_forgotten)
{
	uint64_t a = enter(ROOT, "a"), found;
	uint8_t kind = NODE_KINDS;

	assert_int_equal(nodes_hold(ns, ROOT, bytes_str("b"), &found, &kind),
			 0);
	assert_int_equal(kind, NODE_KINDS);
	assert_int_equal(nodes_hold(ns, ROOT, bytes_str("a"), &found, &kind),
			 1);
	assert_int_equal(found, a);
	assert_int_equal(kind, NODE_ROW);
	nodes_forget(ns, a, 1);
	assert_int_equal(nodes_find(ns, ROOT, bytes_str("a"), &found), 1);
	assert_int_equal(nodes_pin(ns, a), 0);
	nodes_unpin(ns, a);
	nodes_forget(ns, a, 1);
	assert_int_equal(nodes_find(ns, ROOT, bytes_str("a"), &found), 0);
}

TEST(names_are_kept_while_no_handle_is_of_an_older_state)
{
	uint64_t a = enter(ROOT, "a"), b = enter(ROOT, "b");

	assert_false(nodes_cached(ns, a));
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_FILL);
	assert_true(nodes_cached(ns, a));
	/* Nobody knows yet that the kernel has dropped what was older. */
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_FILL);
	assert_int_equal(nodes_cache(ns, b, 2), CACHE_FILL);
	/* Two handles could still bring names of the first state. */
	assert_int_equal(nodes_cache(ns, a, 2), CACHE_PASS);
	nodes_cache_end(ns, a, true);
	assert_int_equal(nodes_cache(ns, a, 2), CACHE_PASS);
	/* Of their own state they may. */
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_KEEP);
	nodes_cache_end(ns, a, true);
	nodes_cache_end(ns, a, true);
	assert_int_equal(nodes_cache(ns, a, 2), CACHE_FILL);
	nodes_cache_end(ns, a, true);
	/* Without a handle what was listed is kept all the same. */
	assert_int_equal(nodes_cache(ns, a, 2), CACHE_KEEP);
	assert_int_equal(nodes_cache(ns, a, 3), CACHE_PASS);
	nodes_cache_end(ns, a, true);
	nodes_cache_end(ns, b, true);
	nodes_list_size(ns, a, true);
	assert_int_equal(nodes_cache(ns, a, 2), CACHE_PASS);
	assert_int_equal(nodes_cache(ns, a, 3), CACHE_PASS);
	nodes_list_size(ns, a, false);
	assert_int_equal(nodes_cache(ns, a, 2), CACHE_KEEP);
	nodes_forget(ns, a, 1);
	nodes_cache_end(ns, a, true); /* the handle is released later */
	assert_int_equal(nodes_cache(ns, a, 3), CACHE_PASS);
	assert_false(nodes_cached(ns, a));
}

TEST(handles_of_an_older_content_keep_their_node)
{
	uint64_t a = enter(ROOT, "a"), ino, now;

	assert_false(nodes_caching(ns, a, &ino));
	assert_false(nodes_renew(ns, a));
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_FILL);
	/* The kernel has not had the answer to this open. */
	nodes_cache_end(ns, a, false);
	assert_false(nodes_cached(ns, a));
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_FILL);
	assert_true(nodes_caching(ns, a, &ino));
	assert_true(nodes_renew(ns, a));
	now = enter(ROOT, "a");
	assert_int_not_equal(now, a);
	assert_int_equal(nodes_cache(ns, now, 2), CACHE_FILL);
	nodes_cache_end(ns, now, true);
	assert_int_equal(nodes_cache(ns, a, 2), CACHE_PASS);
	nodes_cache_end(ns, a, true);
	/* Nobody tells what has no name. */
	assert_int_equal(nodes_cache(ns, a, 2), CACHE_PASS);
	nodes_late(ns, now);
	assert_int_equal(nodes_cache(ns, now, 2), CACHE_PASS);
	nodes_forget(ns, a, 1);
	nodes_forget(ns, now, 1);
}

TEST(who_reads_past_the_cache_shares_it_with_its_content_alone)
{
	uint64_t a = enter(ROOT, "a");

	assert_true(nodes_pass(ns, a, 1));
	assert_false(nodes_caching(ns, a, NULL));
	assert_int_equal(nodes_cache(ns, a, 2), CACHE_PASS);
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_FILL);
	nodes_cache_end(ns, a, true);
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_KEEP);
	nodes_cache_end(ns, a, true);
	/* Two contents can be in it, and either handle may stay. */
	assert_true(nodes_pass(ns, a, 2));
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_PASS);
	nodes_pass_end(ns, a);
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_PASS);
	nodes_pass_end(ns, a);
	assert_int_equal(nodes_cache(ns, a, 1), CACHE_FILL);
	nodes_cache_end(ns, a, true);
	nodes_forget(ns, a, 1);
}

TEST(what_the_kernel_was_given_is_known)
{
	uint64_t a = enter(ROOT, "a"), b = enter(a, "b");

	assert_true(nodes_known(ns, ROOT, false));
	assert_true(nodes_known(ns, a, false) && nodes_known(ns, a, true));
	assert_true(nodes_known(ns, b, false));
	assert_false(nodes_known(ns, b, true));
	/* In memory only. */
	assert_int_equal(nodes_pin(ns, a), 0);
	nodes_forget(ns, a, 1);
	assert_false(nodes_known(ns, a, false));
	assert_true(nodes_known(ns, a, true));
	nodes_unpin(ns, a);
	nodes_forget(ns, b, 1);
	assert_false(nodes_known(ns, a, false) || nodes_known(ns, b, false));
}

TEST(a_parent_lives_as_long_as_its_children)
{
	uint64_t a = enter(ROOT, "a"), b = enter(a, "b"), c = enter(b, "c"),
		 found;

	nodes_forget(ns, a, 1);
	nodes_forget(ns, b, 1);
	assert_int_equal(live(), 4);
	assert_int_equal(nodes_find(ns, a, bytes_str("b"), &found), 1);
	nodes_forget(ns, c, 1);
	assert_int_equal(live(), 1);
}

TEST(a_stale_or_made_up_id_is_refused)
{
	uint64_t a = enter(ROOT, "a"), id;

	nodes_forget(ns, a, 1);
	assert_int_equal(nodes_pin(ns, a), -ESTALE);
	assert_int_equal(
		nodes_enter(ns, a, bytes_str("x"), NODE_ROW, 9, NULL, &id),
		-ESTALE);
	assert_int_equal(nodes_pin(ns, 0), -ESTALE);
	assert_int_equal(nodes_pin(ns, 0xFFFFFFFFFFFFFFFF), -ESTALE);
	assert_int_equal(nodes_pin(ns, 5000000), -ESTALE);
	nodes_forget(ns, 0xFFFFFFFFull << 32, 1);
	nodes_forget(ns, a, 5);
	nodes_forget(ns, ROOT, 1000);
	assert_int_equal(nodes_pin(ns, ROOT), 0);
}

TEST(a_pin_keeps_a_node)
{
	uint64_t a = enter(ROOT, "a");

	assert_int_equal(nodes_pin(ns, a), 0);
	nodes_forget(ns, a, 1);
	assert_int_equal(live(), 2);
	nodes_unpin(ns, a);
	assert_int_equal(live(), 1);
}

TEST(a_name_that_becomes_another_kind_is_another_node)
{
	uint64_t a = enter(ROOT, "a"), b, found;

	assert_int_equal(nodes_enter(ns, ROOT, bytes_str("a"), NODE_SCRATCH, 9,
				     NULL, &b),
			 0);
	assert_true(a != b);
	assert_int_equal(nodes_find(ns, ROOT, bytes_str("a"), &found), 1);
	assert_int_equal(found, b);
	nodes_forget(ns, a, 1);
	assert_int_equal(live(), 2);
}

TEST(a_table_made_anew_is_another_node)
{
	struct fstable one = {1, 1}, two = {2, 1};
	uint64_t a, b;

	nodes_enter(ns, ROOT, bytes_str("t"), NODE_TABLE, 9, &one, &a);
	nodes_enter(ns, ROOT, bytes_str("t"), NODE_TABLE, 9, &two, &b);
	assert_true(a != b);
	assert_int_equal(one.refs, 2);
	nodes_forget(ns, a, 1);
	assert_int_equal(one.refs, 1);
	nodes_free(ns);
	assert_int_equal(two.refs, 1);
	ns = NULL;
}

static int collect(void *arg, const struct node_view *n)
{
	char *path = arg;

	snprintf(path + strlen(path), 100 - strlen(path), "/%.*s",
		 (int)n->name.len, (const char *)n->name.data);
	return 0;
}

TEST(a_rename_moves_what_is_beneath)
{
	char path[100] = "";
	uint64_t a = enter(ROOT, "a"), b = enter(a, "b"), c = enter(ROOT, "c"),
		 old = enter(c, "d"), found;

	assert_int_equal(nodes_rename(ns, ROOT, bytes_str("nothing"), c,
				      bytes_str("d"), NODE_ROW, 9),
			 0);
	assert_int_equal(nodes_rename(ns, ROOT, bytes_str("a"), c,
				      bytes_str("d"), NODE_FAMILY, 10),
			 1);
	assert_int_equal(nodes_find(ns, c, bytes_str("d"), &found), 1);
	assert_int_equal(found, a);
	assert_int_equal(nodes_walk(ns, b, collect, path), 0);
	assert_string_equal(path, "/b/d/c/");
	/* What was there has lost its name and lives until forgotten. */
	assert_int_equal(nodes_walk(ns, old, collect, path), 0);
	assert_int_equal(nodes_pin(ns, old), -ESTALE);
	nodes_forget(ns, old, 1);
	assert_int_equal(nodes_walk(ns, old, collect, path), -ESTALE);
}

TEST(nothing_is_renamed_into_itself)
{
	char path[100] = "";
	uint64_t a = enter(ROOT, "a"), b = enter(a, "b"), c = enter(b, "c");

	assert_int_equal(nodes_rename(ns, ROOT, bytes_str("a"), a,
				      bytes_str("d"), NODE_ROW, 9),
			 -EINVAL);
	assert_int_equal(nodes_rename(ns, ROOT, bytes_str("a"), c,
				      bytes_str("d"), NODE_ROW, 9),
			 -EINVAL);
	assert_int_equal(nodes_walk(ns, c, collect, path), 0);
	assert_string_equal(path, "/c/b/a/");
}

/* How many a walk beneath @top comes to, and the last's name. */
static int below(uint64_t top, char last[UINT8_MAX + 1])
{
	struct node_place n;
	uint64_t cursor = 0;
	int count = 0;

	for (; nodes_below(ns, top, &cursor, &n) > 0; count++)
		memcpy(last, n.name, sizeof(n.name));
	assert_int_equal(cursor, 0);
	return count;
}

TEST(a_walk_comes_to_all_beneath_and_no_other)
{
	char last[UINT8_MAX + 1];
	uint64_t a = enter(ROOT, "a"), b = enter(ROOT, "b");
	uint64_t ax = enter(a, "x");

	enter(a, "y");
	enter(ax, "deep");
	enter(b, "z");
	assert_int_equal(below(ROOT, last), 6);
	assert_int_equal(below(a, last), 3);
	assert_int_equal(below(b, last), 1);
	assert_string_equal(last, "z");
	assert_int_equal(below(ax, last), 1);
	/* What has no name any more may still be open. */
	nodes_detach(ns, ax, bytes_str("deep"));
	assert_int_equal(below(ax, last), 1);
	assert_int_equal(below(0, last), 0);
}

TEST(a_walk_outlives_the_node_it_stands_on)
{
	uint64_t ids[6], cursor = 0, seen = 0;
	struct node_place n;
	char name[2] = "0";

	for (int i = 0; i < 6; i++, name[0]++)
		ids[i] = enter(ROOT, name);
	while (nodes_below(ns, ROOT, &cursor, &n) > 0) {
		seen |= 1u << (n.name[0] - '0');
		nodes_forget(ns, n.id, 1);
		/* And the one behind it. */
		if (n.id == ids[4])
			nodes_forget(ns, ids[3], 1);
	}
	assert_int_equal(seen, 077 - 010);
	assert_int_equal(live(), 1);
}

TEST(a_walk_whose_node_is_moved_away_comes_to_all)
{
	uint64_t a = enter(ROOT, "a"), b = enter(ROOT, "b");
	uint64_t cursor = 0;
	struct node_place n;
	bool seen = false;

	enter(a, "first");
	enter(a, "then");
	assert_int_equal(nodes_below(ns, a, &cursor, &n), 1);
	assert_string_equal(n.name, "then");
	assert_int_equal(nodes_rename(ns, a, bytes_str("then"), b,
				      bytes_str("then"), NODE_ROW, 9),
			 1);
	while (nodes_below(ns, a, &cursor, &n) > 0)
		seen |= !strcmp(n.name, "first");
	assert_true(seen);
}

TEST(a_walk_that_is_left_holds_nothing)
{
	uint64_t a = enter(ROOT, "a"), cursor = 0;
	struct node_place n;

	assert_int_equal(nodes_below(ns, ROOT, &cursor, &n), 1);
	nodes_forget(ns, a, 1);
	assert_int_equal(live(), 2);
	nodes_below_end(ns, &cursor);
	assert_int_equal(live(), 1);
}

TEST(long_names_are_kept_whole)
{
	char name[300];
	uint64_t a, b, id;

	memset(name, 'x', sizeof(name));
	name[255] = '\0';
	a = enter(ROOT, name);
	name[254] = 'y';
	b = enter(ROOT, name);
	assert_true(a != b);
	assert_int_equal(enter(ROOT, name), b);
	name[255] = 'z';
	assert_int_equal(nodes_enter(ns, ROOT, bytes_of(name, 256), NODE_ROW, 9,
				     NULL, &id),
			 -ENAMETOOLONG);
}

TEST(a_rename_keeps_no_long_name)
{
	static const size_t lens[] = {1, 200, 100, 48, 2, 47, 255, 1};
	char name[256];
	uint64_t a = enter(ROOT, "x"), found;

	memset(name, 'x', sizeof(name));
	for (size_t i = 1; i < sizeof(lens) / sizeof(lens[0]); i++) {
		assert_int_equal(nodes_rename(ns, ROOT,
					      bytes_of(name, lens[i - 1]), ROOT,
					      bytes_of(name, lens[i]), NODE_ROW,
					      9),
				 1);
		assert_int_equal(
			nodes_find(ns, ROOT, bytes_of(name, lens[i]), &found),
			1);
		assert_int_equal(found, a);
	}
}

TEST(memory_goes_back_after_a_large_walk)
{
	enum {
		N = 100000
	};
	uint64_t *ids = calloc(N, sizeof(*ids));
	char name[20];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < N; i++) {
			snprintf(name, sizeof(name), "n%d", i);
			ids[i] = enter(ROOT, name);
		}
		assert_int_equal(live(), N + 1);
		for (int i = 0; i < N; i++)
			nodes_forget(ns, ids[i], 1);
		assert_int_equal(live(), 1);
	}
	free(ids);
}

TEST(a_table_has_rows_when_a_child_is_one_or_there_are_many)
{
	uint64_t table = enter(ROOT, "T"), id;
	char name[8];

	assert_false(nodes_have_rows(ns, table));
	assert_int_equal(nodes_enter(ns, table, bytes_str("p"), NODE_ROW_PIECE,
				     9, NULL, &id),
			 0);
	assert_true(nodes_have_rows(ns, table));
	nodes_forget(ns, id, 1);
	for (int i = 0; i < 64; i++) {
		assert_false(nodes_have_rows(ns, table));
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(nodes_enter(ns, table, bytes_str(name),
					     NODE_SCRATCH, 9, NULL, &id),
				 0);
	}
	assert_true(nodes_have_rows(ns, table));
	id = enter(table, "R");
	assert_true(nodes_have_rows(ns, table));
	assert_false(nodes_have_rows(ns, id));
}

static uint64_t enter_version(uint64_t column, int64_t ts)
{
	char name[32];
	uint64_t id;

	snprintf(name, sizeof(name), "%lld", (long long)ts);
	assert_int_equal(nodes_enter(ns, column, bytes_str(name), NODE_VERSION,
				     9, NULL, &id),
			 0);
	return id;
}

/* -1 = none. */
static int64_t oldest(uint64_t column)
{
	uint64_t id;
	int64_t ts;

	return nodes_oldest(ns, column, &ts, &id) ? ts : -1;
}

static long heap_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	fclose(f);
	assert_true(kib >= 0);
	return kib;
}

#define COLUMNS 100000
static uint64_t columns[COLUMNS], versions[COLUMNS];

/* Columns with versions, then nothing; what lies behind them in the heap stays. */
static void *walk_columns(void *arg)
{
	char name[20];
	void *behind;

	for (int i = 0; i < COLUMNS; i++) {
		snprintf(name, sizeof(name), "q%d", i);
		columns[i] = enter(ROOT, name);
		versions[i] = enter_version(columns[i], 1);
	}
	behind = malloc(64);
	for (int i = 0; i < COLUMNS; i++) {
		nodes_forget(ns, versions[i], 1);
		nodes_forget(ns, columns[i], 1);
	}
	return behind;
}

TEST(the_heap_goes_back_when_many_columns_are_forgotten)
{
#if !defined(__GLIBC__) || SANITIZED_ADDRESS || SANITIZED_THREAD
	skip(); /* another allocator */
#endif
	pthread_t thread;
	long before;
	void *behind;

	/* So that they have their pages. */
	memset(columns, 1, sizeof(columns));
	memset(versions, 1, sizeof(versions));
	before = heap_kib();
	pthread_create(&thread, NULL, walk_columns, ns);
	pthread_join(thread, &behind);
	assert_int_equal(live(), 1);
	/* Kept by the heap it would be 10 MiB; an emulator takes some as well. */
	assert_in_range(heap_kib(), 0, before + 5120);
	free(behind);
}

static void drop_nothing(struct node *n)
{
}

/* The hash of one name of the root in a new table. */
static uint32_t hash_in_a_new_table(void)
{
	struct node_table t;
	struct node *n;
	uint32_t index, hash;

	assert_int_equal(node_table_init(&t), 0);
	/* The first index is of no node. */
	assert_non_null(node_table_add(&t, &index));
	n = node_table_add(&t, &index);
	assert_non_null(n);
	n->parent = ROOT;
	node_table_link(&t, index);
	hash = n->hash;
	node_table_free(&t, drop_nothing);
	return hash;
}

TEST(no_name_has_a_hash_that_is_known_before)
{
	assert_int_not_equal(hash_in_a_new_table(), hash_in_a_new_table());
}

/* Calls that find the heap worth trimming. */
static int trims(struct node_table *t, uint32_t live)
{
	int n = 0;

	t->names.used = live;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(hashed_reserve(&t->names), 0);
		n += node_table_fit(t);
	}
	return n;
}

TEST(the_heap_is_trimmed_down_to_the_last_of_many_nodes)
{
	struct node_table t;

	assert_int_equal(node_table_init(&t), 0);
	assert_int_equal(trims(&t, 1 << 17), 0);
	assert_int_equal(trims(&t, 3000), 4);
	assert_int_equal(trims(&t, 1), 4);
	/* Where there were not so many it is not worth the time. */
	assert_int_equal(trims(&t, 1 << 15), 0);
	assert_int_equal(trims(&t, 1), 0);
	node_table_free(&t, NULL);
}

TEST(the_oldest_version_is_found_whatever_the_order)
{
	enum {
		N = 300
	};
	uint64_t column = enter(ROOT, "q"), ids[N];
	bool there[N] = {false};
	unsigned seed = 5;

	for (int i = 0; i < 20000; i++) {
		int k = rand_r(&seed) % N, least = 0;

		if (!there[k])
			ids[k] = enter_version(column, 10 * k);
		else
			nodes_forget(ns, ids[k], 1);
		there[k] = !there[k];
		while (least < N && !there[least])
			least++;
		assert_int_equal(oldest(column), least < N ? 10 * least : -1);
	}
	for (int k = 0; k < N; k++)
		if (there[k])
			nodes_forget(ns, ids[k], 1);
	assert_int_equal(oldest(column), -1);
	nodes_forget(ns, column, 1);
	assert_int_equal(live(), 1);
}

/* The kernel may believe each of the answers to requests that overlap. */
TEST(of_times_that_were_told_at_once_the_earliest_is_believed)
{
	uint64_t column = enter(ROOT, "q"), version;
	bool first, second;

	/* Without a version there is nothing to note. */
	assert_false(nodes_ask(ns, column));
	nodes_told(ns, column, false, 5);
	assert_false(nodes_shows(ns, column, 5));
	version = enter_version(column, 1);
	assert_false(nodes_shows(ns, column, 1));

	first = nodes_ask(ns, column);
	nodes_told(ns, column, first, 5);
	assert_true(nodes_shows(ns, column, 5));
	assert_false(nodes_shows(ns, column, 6));

	first = nodes_ask(ns, column);
	second = nodes_ask(ns, column);
	nodes_told(ns, column, first, 9);
	assert_false(nodes_shows(ns, column, 5));
	nodes_told(ns, column, second, 4);
	assert_true(nodes_shows(ns, column, 4));
	assert_false(nodes_shows(ns, column, 5));

	/* What a look-up tells meanwhile is not noted. */
	first = nodes_ask(ns, column);
	assert_int_equal(enter(ROOT, "q"), column);
	nodes_told(ns, column, first, 9);
	assert_false(nodes_shows(ns, column, 1));
	first = nodes_ask(ns, column);
	nodes_told(ns, column, first, 9);
	assert_true(nodes_shows(ns, column, 9));
	nodes_believe(ns, column, true);
	assert_false(nodes_shows(ns, column, 1));
	/* No attributes were told. */
	first = nodes_ask(ns, column);
	nodes_told(ns, column, first, INT64_MIN);
	assert_false(nodes_shows(ns, column, 1));
	nodes_forget(ns, version, 1);
}

TEST(a_version_is_the_oldest_while_it_bears_the_name)
{
	uint64_t column = enter(ROOT, "q"), other = enter(ROOT, "p");
	uint64_t five = enter_version(column, 5);

	enter_version(column, 7);
	enter_version(column, 6);
	enter(column, "4");
	assert_int_equal(oldest(column), 5);
	assert_int_equal(oldest(other), -1);
	nodes_pass_over(ns, five);
	assert_int_equal(oldest(column), 6);
	assert_int_equal(enter_version(column, 5), five);
	assert_int_equal(oldest(column), 5);
	/* To another name, on top of another, to another column, to none. */
	nodes_rename(ns, column, bytes_str("5"), column, bytes_str("8"),
		     NODE_VERSION, 9);
	assert_int_equal(oldest(column), 6);
	nodes_rename(ns, column, bytes_str("8"), column, bytes_str("6"),
		     NODE_VERSION, 9);
	assert_int_equal(oldest(column), 6);
	nodes_rename(ns, column, bytes_str("6"), other, bytes_str("9"),
		     NODE_VERSION, 9);
	assert_int_equal(oldest(column), 7);
	assert_int_equal(oldest(other), 9);
	nodes_rename(ns, column, bytes_str("7"), column, bytes_str("x"),
		     NODE_SCRATCH, 9);
	assert_int_equal(oldest(column), -1);
	nodes_rename(ns, column, bytes_str("x"), column, bytes_str("3"),
		     NODE_VERSION, 9);
	assert_int_equal(oldest(column), 3);
	nodes_detach(ns, column, bytes_str("3"));
	assert_int_equal(oldest(column), -1);
}

struct worker {
	struct nodes *ns;
	unsigned seed;
};

/* Each thread gives back exactly what it was given. */
static void *enter_and_forget(void *arg)
{
	struct worker *w = arg;
	unsigned seed = w->seed;
	char name[20];

	for (int i = 0; i < 20000; i++) {
		uint64_t a, b, found;

		snprintf(name, sizeof(name), "n%d", rand_r(&seed) % 8);
		if (nodes_enter(w->ns, ROOT, bytes_str(name), NODE_ROW, 9, NULL,
				&a))
			abort();
		if (nodes_enter(w->ns, a, bytes_str("child"), NODE_FAMILY, 9,
				NULL, &b))
			abort();
		nodes_find(w->ns, ROOT, bytes_str("n1"), &found);
		if (i % 7 == 0)
			nodes_detach(w->ns, a, bytes_str("child"));
		nodes_forget(w->ns, a, 1);
		nodes_forget(w->ns, b, 1);
	}
	return NULL;
}

TEST(counts_are_exact_over_threads)
{
	struct worker w[4];
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++) {
		w[i] = (struct worker){ns, i};
		pthread_create(&threads[i], NULL, enter_and_forget, &w[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(live(), 1);
}
