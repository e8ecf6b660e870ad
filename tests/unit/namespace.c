/* Namespaces, and tables that are emptied. */
#include "tests/unit/unit.h"
#include "tests/unit/engine.h"
#include "tests/unit/gone_caller.h"
#include "store/front/backend.h"

EACH_TEST_IN(setup, teardown);

/* The names behind one another, of tables or of namespaces. */
static const char *list(int (*next)(struct store *s, struct bytes after,
				    char name[TABLE_NAME_LEN_MAX + 1]))
{
	static char text[1024];
	char name[TABLE_NAME_LEN_MAX + 1] = "";

	text[0] = '\0';
	while (next(the.store, bytes_str(name), name) == 1) {
		strcat(text, name);
		strcat(text, " ");
	}
	return text;
}

TEST(a_table_is_made_in_a_namespace_that_exists)
{
	struct bytes ns = bytes_str("ns"), t = bytes_str("ns:t");

	assert_int_equal(store_table_create(the.store, t, NULL), -ENOENT);
	assert_int_equal(store_namespace_create(the.store, ns), 0);
	assert_int_equal(store_namespace_create(the.store, ns), -EEXIST);
	assert_string_equal(list(store_namespace_next), "default hbase ns ");
	assert_int_equal(store_table_create(the.store, t, NULL), 0);
	assert_int_equal(store_namespace_drop(the.store, ns), -ENOTEMPTY);
	assert_string_equal(list(store_table_next), "ns:t t ");
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(list(store_namespace_next), "default hbase ns ");
	assert_int_equal(
		store_table_rename(the.store, t, bytes_str("elsewhere:t")),
		-ENOENT);
	assert_int_equal(store_table_rename(the.store, t, bytes_str("u")), 0);
	assert_int_equal(store_namespace_drop(the.store, ns), 0);
	assert_int_equal(store_namespace_drop(the.store, ns), -ENOENT);
	assert_int_equal(store_table_create(the.store, t, NULL), -ENOENT);
	assert_int_equal(store_namespace_ensure(the.store, t), 0);
	assert_int_equal(store_namespace_ensure(the.store, t), 0);
	assert_int_equal(store_table_create(the.store, t, NULL), 0);
}

TEST(each_byte_of_a_name_is_looked_at)
{
	static const char *const bad[] = {"-ns", "n-s", "ns-", "\xC3\xA9", ""};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
			store_namespace_create(the.store, bytes_str(bad[i])),
			-EINVAL);
	assert_int_equal(store_namespace_create(the.store, bytes_str("_")), 0);
}

/* Another makes or changes a table, and waits for a server. */
TEST(who_is_gone_waits_for_no_change_of_tables)
{
	struct schema schema = {0};
	struct table *t;

	assert_int_equal(store_table_create(the.store, bytes_str("u"), NULL),
			 0);
	assert_int_equal(table_open(the.store, bytes_str("u"), &t), 0);
	assert_int_equal(table_schema(t, &schema), 0);
	pthread_mutex_lock(&the.store->schema_lock);
	patience_begin_request_of(1, is_gone);
	assert_int_equal(store_table_create(the.store, bytes_str("v"), NULL),
			 -EINTR);
	assert_int_equal(
		store_table_rename(the.store, bytes_str("u"), bytes_str("v")),
		-EINTR);
	assert_int_equal(table_alter(t, &schema, false), -EINTR);
	pthread_mutex_unlock(&the.store->schema_lock);
	assert_int_equal(table_alter(t, &schema, false), 0);
	assert_int_equal(store_table_create(the.store, bytes_str("v"), NULL),
			 0);
	patience_begin_request();
	schema_free(&schema);
	table_unref(t);
}

TEST(the_reserved_ones_stay_as_they_are)
{
	struct bytes own = bytes_str("hbase:namespace");
	struct table *t;

	/* The list of namespaces is a table, which nobody reaches. */
	assert_int_equal(store_namespace_create(the.store, bytes_str("ns")), 0);
	assert_int_equal(table_open(the.store, own, &t), -ENOENT);
	assert_int_equal(table_open(the.store, bytes_str("hbase:meta"), &t),
			 -ENOENT);
	assert_int_equal(store_table_drop(the.store, own, false), -ENOENT);
	assert_int_equal(store_table_truncate(the.store, own), -ENOENT);
	assert_int_equal(store_table_rename(the.store, own, bytes_str("u")),
			 -ENOENT);
	assert_int_equal(
		store_table_create(the.store, bytes_str("hbase:t"), NULL),
		-EINVAL);
	assert_int_equal(store_table_rename(the.store, bytes_str("t"), own),
			 -EINVAL);
	assert_int_equal(
		store_namespace_create(the.store, bytes_str("default")),
		-EEXIST);
	assert_int_equal(store_namespace_drop(the.store, bytes_str("default")),
			 -EINVAL);
	assert_int_equal(store_namespace_drop(the.store, bytes_str("hbase")),
			 -EINVAL);
	assert_int_equal(store_namespace_create(the.store, bytes_str("a-b")),
			 -EINVAL);
	assert_int_equal(store_namespace_create(the.store, bytes_str("")),
			 -EINVAL);
	assert_string_equal(list(store_table_next), "t ");
	assert_string_equal(list(store_namespace_next), "default hbase ns ");
}

TEST(a_snapshot_of_the_store_shows_the_tables_of_users)
{
	struct bytes own = bytes_str("hbase:namespace"), n = bytes_str("n");
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct snapshot *snap;
	struct table *t;

	assert_int_equal(store_namespace_create(the.store, bytes_str("ns")), 0);
	assert_int_equal(store_table_create(the.store, bytes_str("ns:t"), NULL),
			 0);
	temp_put(&the, "r", "f", "q", 7, "x");
	assert_int_equal(store_snapshot_create(the.store, NULL, n), 0);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(store_snapshot_open(the.store, NULL, n, &snap),
				 0);
		name[0] = '\0';
		assert_int_equal(
			snapshot_table_next(snap, bytes_str(name), name), 1);
		assert_string_equal(name, "ns:t");
		assert_int_equal(
			snapshot_table_next(snap, bytes_str(name), name), 1);
		assert_string_equal(name, "t");
		assert_int_equal(
			snapshot_table_next(snap, bytes_str(name), name), 0);
		assert_int_equal(snapshot_table_open(snap, own, &t), -ENOENT);
		snapshot_release(snap);
		assert_int_equal(store_snapshot_clone(the.store, NULL, n, own,
						      bytes_str("copy")),
				 -ENOENT);
		assert_int_equal(temp_close(&the), 0);
		assert_int_equal(store_check(the.path, NULL, NULL, NULL), 0);
		assert_int_equal(temp_open(&the), 0);
	}
	assert_int_equal(
		store_snapshot_restore(the.store, NULL, n, bytes_str("t")), 0);
	assert_int_equal(store_snapshot_drop(the.store, NULL, n), 0);
}

TEST(truncate_leaves_the_schema_and_the_identity)
{
	uint64_t id = table_id(the.table);
	struct bytes t = bytes_str("t");

	for (int flushed = 0; flushed < 2; flushed++) {
		temp_put(&the, "r", "f", "q", 7, "x");
		temp_put(&the, "r", "g", "q", 7, "x");
		if (flushed)
			assert_int_equal(store_flush(the.store, NULL), 0);
		assert_int_equal(store_table_truncate(the.store, t), 0);
		assert_null(temp_get(&the, "r", "f", "q"));
		assert_null(temp_get(&the, "r", "g", "q"));
		assert_int_equal(table_id(the.table), id);
	}
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(store_check(the.path, NULL, NULL, NULL), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_null(temp_get(&the, "r", "f", "q"));
	assert_int_equal(temp_put(&the, "r", "g", "q", 7, "y"), 1);
	assert_string_equal(temp_get(&the, "r", "g", "q"), "y");
	assert_int_equal(store_table_truncate(the.store, bytes_str("u")),
			 -ENOENT);
	/* What a snapshot shows is not thrown away. */
	assert_int_equal(
		store_snapshot_create(the.store, the.table, bytes_str("n")), 0);
	assert_int_equal(store_table_truncate(the.store, t), -ENOTEMPTY);
	assert_string_equal(temp_get(&the, "r", "g", "q"), "y");
}
