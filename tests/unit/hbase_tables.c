/*
 * What a store sends to a cluster (hbase_played.h) for tables as a whole: their
 * schemas, their snapshots, and their care.
 */
#include <limits.h>

#include "tests/model/loop.h"
#include "tests/unit/unit.h"
#include "tests/unit/hbase_played.h"

/* By who may read and write the table, and not create or administer it. */
TEST(a_table_that_the_master_does_not_describe_is_used)
{
	struct played_cluster c = {
		.told = "x: Column family . does not exist in region t,,1.2. "
			"in table 't', {NAME => 'a', VERSIONS => '5'}\n\tat"};
	struct change change = a_put("a", "q", 5, "");
	struct mutation m = change_of("r", &change);
	struct schema schema = {0};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_int_equal(table_schema(c.t, &schema), 0);
	assert_int_equal(schema.nfamilies, 1);
	assert_int_equal(schema.families[0].attrs.versions, 5);
	schema.families[0].attrs.versions = 6;
	assert_int_equal(table_alter(c.t, &schema, false), -EACCES);
	assert_non_null(strstr(store_why(), "CREATE or ADMIN"));
	schema_free(&schema);
	/* Else what the master says is what is wrong. */
	c.told = "x: it is Monday\n";
	pass_seconds(2);
	assert_int_equal(table_schema(c.t, &schema), -EACCES);
	assert_non_null(strstr(store_why(), "AccessDenied"));
	end(&c);
}

/* To such a user, too, of whom nobody else knows whether he may read it. */
TEST(a_table_that_is_disabled_is_busy_to_all)
{
	struct played_cluster c = {
		.told = "x: Column family . does not exist in region t,,1.2. "
			"in table 't', {NAME => 'a', VERSIONS => '5'}\n\tat"};
	struct table *t;

	begin(&c);
	c.is_disabled = true;
	c.unserved = UINT_MAX;
	assert_int_equal(table_open(c.s, bytes_str("t"), &t), -EBUSY);
	assert_non_null(strstr(store_why(), "is disabled"));
	end(&c);
}

/* The names of all tables, and how often the master was asked for them until now. */
static unsigned asked_to_list(struct played_cluster *c, const char *names)
{
	char list[64] = "", name[TABLE_NAME_LEN_MAX + 1] = "";
	unsigned n = 0;

	while (store_table_next(c->s, bytes_str(name), name) > 0) {
		strcat(list, name);
		strcat(list, " ");
	}
	assert_string_equal(list, names);
	for (const char *at = c->methods; (at = strstr(at, "GetTableNames"));
	     at++)
		n++;
	return n;
}

TEST(all_tables_are_listed_by_one_question)
{
	const char *others[] = {"c", "b", "d", "a", NULL};
	struct played_cluster c = {.is_bare = true, .others = others};
	char name[TABLE_NAME_LEN_MAX + 1];

	begin(&c);
	assert_int_equal(asked_to_list(&c, "a b c d "), 1);
	/* Another walk sees what is there then. */
	others[3] = NULL;
	assert_int_equal(asked_to_list(&c, "b c d "), 2);
	/* And the next step of one, what this client has changed meanwhile. */
	others[1] = "bb";
	assert_int_equal(store_table_next(c.s, bytes_str("b"), name), 1);
	assert_string_equal(name, "c");
	assert_int_equal(store_table_drop(c.s, bytes_str("t"), false), 0);
	assert_int_equal(store_table_next(c.s, bytes_str("b"), name), 1);
	assert_string_equal(name, "bb");
	/* Or what is there after a second. */
	others[1] = "ba";
	pass_seconds(2);
	assert_int_equal(store_table_next(c.s, bytes_str("b"), name), 1);
	assert_string_equal(name, "ba");
	end(&c);
}

TEST(a_table_with_a_snapshot_is_not_emptied)
{
	struct played_cluster c = {0};

	begin(&c);
	assert_int_equal(store_table_truncate(c.s, bytes_str("t")), -ENOTEMPTY);
	assert_int_equal(store_table_drop(c.s, bytes_str("t"), false),
			 -ENOTEMPTY);
	assert_null(strstr(c.methods, "DisableTable"));
	end(&c);
}

/* Whether it was enabled before, it is so behind a change that failed. */
static void assert_kept(bool was_disabled)
{
	struct played_cluster c = {.is_bare = true,
				   .is_needed = true,
				   .is_disabled = was_disabled};

	begin(&c);
	assert_int_equal(store_table_drop(c.s, bytes_str("t"), false), -EACCES);
	assert_int_equal(c.is_disabled, was_disabled);
	assert_int_equal(store_table_truncate(c.s, bytes_str("t")), -EACCES);
	assert_non_null(strstr(store_why(), "AccessDenied"));
	assert_int_equal(c.is_disabled, was_disabled);
	end(&c);
}

TEST(a_table_that_cannot_be_dropped_stays_in_service)
{
	assert_kept(false);
	assert_kept(true);
}

/* By who has the store, and by who has a mount of it. */
TEST(a_table_is_disabled_and_enabled)
{
	struct played_cluster c = {.is_bare = true};
	struct store *served;
	struct table *t;

	begin(&c);
	assert_int_equal(loop_open(c.s, NULL, &served), 0);
	assert_int_equal(table_open(served, bytes_str("t"), &t), 0);
	assert_int_equal(table_is_enabled(c.t), 1);
	assert_int_equal(table_enable(t, false), 1);
	assert_true(c.is_disabled);
	assert_int_equal(table_is_enabled(t), 0);
	/* As one that is so already. */
	assert_int_equal(table_enable(c.t, false), 1);
	assert_int_equal(table_is_enabled(c.t), 0);
	assert_int_equal(table_enable(t, true), 1);
	assert_int_equal(table_is_enabled(t), 1);
	table_unref(t);
	assert_int_equal(store_close(served), 0);
	end(&c);
}

/* Reads the table's snapshot, by a clone that is dropped behind it. */
static void read_snapshot(struct played_cluster *c)
{
	struct snapshot *snap;
	struct cell cell;

	begin(c);
	assert_int_equal(store_snapshot_open(c->s, c->t, bytes_str("s"), &snap),
			 0);
	assert_int_equal(table_get(c->t, bytes_str("r"), bytes_str("a"),
				   bytes_str("q"), TS_MAX, snap, &cell, NULL),
			 0);
	snapshot_release(snap);
	assert_string_equal(c->dropped, c->clone);
	end(c);
}

/*
 * The clone of a process that is gone is dropped. One of another machine, or of
 * another namespace of pids, is not, for there its number may be that of one that
 * reads it.
 */
TEST(clones_that_others_may_read_stay)
{
	char gone[256], elsewhere[256], host[256], name[65], *pid;
	const char *others[] = {elsewhere, host, gone, NULL};
	struct played_cluster c = {0};

	read_snapshot(&c);
	assert_int_equal(c.drops, 1);
	pid = strrchr(c.clone, '.');
	*pid = '\0';
	pid = strrchr(c.clone, '.');
	assert_int_equal(atol(pid + 1), getpid());
	*pid = '\0';
	/* Beyond the greatest number of a process: none has it. */
	snprintf(gone, sizeof(gone), "%s.4194305.1", c.clone);
	pid[-1] = pid[-1] == '0' ? '1' : '0';
	snprintf(elsewhere, sizeof(elsewhere), "%s.4194305.1", c.clone);
	assert_int_equal(gethostname(name, sizeof(name)), 0);
	snprintf(host, sizeof(host), "cellfs-clone.%s.4194305.1", name);
	c = (struct played_cluster){.others = others};
	read_snapshot(&c);
	assert_int_equal(c.drops, 2);
	others[2] = NULL;
	c = (struct played_cluster){.others = others};
	read_snapshot(&c);
	assert_int_equal(c.drops, 1);
}

/* The master has one class for all that keeps it from a snapshot. */
TEST(a_snapshot_of_a_table_that_is_gone_finds_none)
{
	struct played_cluster c = {
		.takes_none = "x.SnapshotCreationException: Table 't' doesn't "
			      "exist, can't take snapshot.\n\tat"};

	begin(&c);
	assert_int_equal(store_snapshot_create(c.s, c.t, bytes_str("n")),
			 -ENOENT);
	assert_non_null(strstr(store_why(), "can't take snapshot"));
	c.takes_none = "x.SnapshotCreationException: it is Monday";
	assert_int_equal(store_snapshot_create(c.s, c.t, bytes_str("n")), -EIO);
	end(&c);
}

/* Waits until what was believed of the table is old. */
static int name_of_table(struct table *t, int until)
{
	char name[TABLE_NAME_LEN_MAX + 1];
	int r = 0;

	for (unsigned i = 0; i < 600; i++) {
		r = table_name(t, name);
		if (r == until)
			break;
		pass_seconds(1);
	}
	return r;
}

static int get_cell(struct table *t)
{
	struct cell cell;

	return table_get(t, bytes_str("r"), bytes_str("a"), bytes_str("q"),
			 TS_MAX, NULL, &cell, NULL);
}

static const struct change a_cell = {.op = CHANGE_PUT,
				     .family = {(const uint8_t *)"a", 1},
				     .qualifier = {(const uint8_t *)"q", 1},
				     .ts = 5};

/* The regions are served without a master: what is known of the table does. */
TEST(a_table_is_read_while_no_master_answers)
{
	struct played_cluster c = {.cells = &a_cell, .ncells = 1};
	struct alter a = {.rest = ALTER_KEEP};

	begin(&c);
	assert_int_equal(table_schema(c.t, &a.to), 0);
	c.is_away = 1;
	for (int i = 0; i < 3; i++) {
		uint64_t asked = passed_ns + 2 * SECOND;

		pass_seconds(2);
		assert_int_equal(get_cell(c.t), 1);
		/* It was asked once, and for a while it is not asked again. */
		assert_true(passed_ns == asked + SECOND);
		assert_int_equal(get_cell(c.t), 1);
		assert_true(passed_ns == asked + SECOND);
		pass_seconds(5);
	}
	/* What is to be changed is not what was known. */
	c.is_away = 60;
	assert_true(table_change(c.t, &a) < 0);
	assert_int_equal(get_cell(c.t), 1);
	c.is_away = 0;
	c.is_dropped = true;
	pass_seconds(6);
	assert_int_equal(get_cell(c.t), -ENOENT);
	schema_free(&a.to);
	end(&c);
}

/* Whether the table is disabled, a master is asked, and not for all of the time. */
TEST(a_region_that_moves_is_found_while_no_master_answers)
{
	struct played_cluster c = {
		.cells = &a_cell, .ncells = 1, .unserved = 5};

	begin(&c);
	c.is_away = 1;
	assert_int_equal(get_cell(c.t), 1);
	assert_non_null(strstr(c.methods, "GetTableState"));
	end(&c);
}

static void *get_beside(void *t)
{
	assert_int_equal(get_cell(t), 1);
	return NULL;
}

/* Nor does who asks a master keep others from the regions. */
TEST(a_table_is_read_while_a_master_is_asked)
{
	struct played_cluster c = {.cells = &a_cell, .ncells = 1};
	sem_t described, go_on;
	pthread_t beside;

	sem_init(&described, 0, 0);
	sem_init(&go_on, 0, 0);
	begin(&c);
	assert_int_equal(get_cell(c.t), 1);
	c.go_on = &go_on;
	c.described = &described;
	pass_seconds(2);
	pthread_create(&beside, NULL, get_beside, c.t);
	sem_wait(&described);
	c.described = NULL;
	assert_int_equal(get_cell(c.t), 1);
	sem_post(&go_on);
	pthread_join(beside, NULL);
	end(&c);
	sem_destroy(&described);
	sem_destroy(&go_on);
}

/* Or who has it open would go on with it, and nobody could make it anew. */
TEST(a_table_that_another_client_drops_has_no_name)
{
	struct played_cluster c = {0};
	struct schema schema;
	uint64_t version;

	begin(&c);
	version = table_schema_version(c.t);
	assert_int_equal(name_of_table(c.t, 0), 0);
	c.is_dropped = true;
	assert_int_equal(name_of_table(c.t, -ENOENT), -ENOENT);
	assert_true(table_schema_version(c.t) > version);
	assert_int_equal(table_schema(c.t, &schema), -ENOENT);
	/* And one of that name, which may be like it, is another one. */
	version = table_schema_version(c.t);
	c.is_dropped = false;
	assert_int_equal(name_of_table(c.t, 0), 0);
	assert_true(table_schema_version(c.t) > version);
	end(&c);
}

/* What HBase cannot keep is known before the change is made. */
TEST(a_schema_is_judged_without_a_change)
{
	struct alter a = {.rest = ALTER_KEEP, .dry = true};
	struct played_cluster c = {0};

	begin(&c);
	assert_int_equal(table_schema(c.t, &a.to), 0);
	assert_int_equal(table_change(c.t, &a), 0);
	a.to.families[0].attrs.ttl_ms = 36500 * 86400000ull;
	assert_int_equal(table_change(c.t, &a), -EINVAL);
	assert_non_null(strstr(store_why(), "3153600000 s"));
	assert_null(strstr(c.methods, "ModifyTable"));
	schema_free(&a.to);
	end(&c);
}

struct meanwhile {
	struct played_cluster *c;
	unsigned calls;
};

static int edit_mode(void *arg, const struct schema *now, struct alter *a)
{
	struct meanwhile *m = arg;

	assert_int_equal(now->families[0].attrs.new_version_behavior, m->calls);
	m->calls++;
	pthread_mutex_lock(&m->c->lock);
	m->c->new_version_behavior = true;
	pthread_mutex_unlock(&m->c->lock);
	a->dry = true;
	return schema_copy(&a->to, now);
}

TEST(an_edit_is_made_again_of_what_another_client_did)
{
	struct played_cluster c = {0};
	struct meanwhile m = {&c, 0};

	begin(&c);
	assert_int_equal(table_edit(c.t, edit_mode, &m), 0);
	assert_int_equal(m.calls, 2);
	end(&c);
}

TEST(a_family_is_added_to_those_that_are_there)
{
	struct played_cluster c = {0};
	struct schema known;

	begin(&c);
	assert_int_equal(table_schema(c.t, &known), 0);
	c.has_c = true;
	assert_int_equal(table_add_family(c.t, bytes_str("c")), -EEXIST);
	assert_null(strstr(c.methods, "ModifyTable"));
	schema_free(&known);
	end(&c);
}

/* The change is made by the call @method, and by no other. */
static void assert_change(const struct alter *a, const char *method)
{
	static const char *const all[] = {"ModifyTable", "AddColumn",
					  "ModifyColumn", "DeleteColumn"};
	struct played_cluster c = {0};

	begin(&c);
	assert_int_equal(table_change(c.t, a), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(strstr(c.methods, all[i]) != NULL,
				 !strcmp(all[i], method));
	end(&c);
}

/* By these the master sees whether another client was first. */
TEST(a_change_of_one_family_is_a_call_of_its_own)
{
	struct alter a = {.rest = ALTER_DROP};
	struct family_attrs attrs;

	family_attrs_default(&attrs);
	schema_init(&a.to, 0, 0);
	assert_int_equal(schema_add(&a.to, bytes_str("a"), &attrs), 0);
	attrs.new_version_behavior = false;
	a.to.families[0].attrs = attrs;
	assert_change(&a, "DeleteColumn");
	assert_int_equal(schema_add(&a.to, bytes_str("b"), &attrs), 0);
	a.to.families[1].attrs.versions = 7;
	assert_change(&a, "ModifyColumn");
	a.to.families[1].attrs.versions = attrs.versions;
	assert_int_equal(schema_add(&a.to, bytes_str("d"), &attrs), 0);
	assert_change(&a, "AddColumn");
	/* Of more there is only the one that replaces all. */
	a.to.families[1].attrs.versions = 7;
	assert_change(&a, "ModifyTable");
	schema_free(&a.to);
}

/*
 * Nobody reads what the table is and replaces it while another one does, or the
 * families of one of them would be gone.
 */
TEST(a_table_is_changed_by_one_at_a_time)
{
	static const char in_order[] =
		" RequestLock LockHeartbeat LockHeartbeat LockHeartbeat "
		"GetTableDescriptors ModifyTable LockHeartbeat";
	struct played_cluster c = {.lock_is_held = 2};
	struct alter a = {.rest = ALTER_DROP};

	schema_init(&a.to, 0, 0);
	begin(&c);
	assert_int_equal(table_schema(c.t, &a.to), 0);
	a.to.families[0].attrs.versions = 7;
	a.to.families[1].attrs.versions = 8;
	assert_int_equal(table_change(c.t, &a), 0);
	assert_non_null(strstr(c.methods, in_order));
	assert_true(c.is_given_back);
	end(&c);
	/* Who may not have the lock changes the table as others do. */
	c = (struct played_cluster){.denies_locks = true};
	begin(&c);
	assert_int_equal(table_change(c.t, &a), 0);
	assert_non_null(strstr(c.methods, " ModifyTable"));
	assert_null(strstr(c.methods, "LockHeartbeat"));
	end(&c);
	/* It is given back by who could not make the change. */
	c = (struct played_cluster){.overtaken = 1};
	begin(&c);
	assert_int_equal(table_change(c.t, &a), 0);
	assert_true(c.is_given_back);
	end(&c);
	schema_free(&a.to);
}

/* As the words of a past that is refused say. */
TEST(a_schema_that_is_written_again_notes_since_when)
{
	struct played_cluster c = {.keeps = true};
	struct alter a = {.rest = ALTER_KEEP};

	begin(&c);
	assert_int_equal(table_schema(c.t, &a.to), 0);
	assert_int_equal(table_change(c.t, &a), 0);
	assert_non_null(strstr(c.methods, "ModifyTable"));
	schema_free(&a.to);
	end(&c);
	c = (struct played_cluster){0};
	begin(&c);
	assert_int_equal(table_schema(c.t, &a.to), 0);
	assert_int_equal(table_change(c.t, &a), 0);
	assert_null(strstr(c.methods, "ModifyTable"));
	schema_free(&a.to);
	end(&c);
}

static int edit_add(void *arg, const struct schema *now, struct alter *a)
{
	unsigned *calls = arg;
	struct family_attrs attrs;

	family_attrs_default(&attrs);
	assert_int_equal(now->nfamilies, *calls == 0 ? 2 : 3);
	++*calls;
	a->rest = ALTER_DROP;
	assert_int_equal(schema_copy(&a->to, now), 0);
	return schema_add(&a->to, bytes_str("d"), &attrs);
}

/* Or it would be gone, with its cells. */
TEST(a_family_that_another_client_adds_meanwhile_stays)
{
	struct played_cluster c = {.overtaken = 1};
	unsigned calls = 0;

	begin(&c);
	assert_int_equal(table_edit(c.t, edit_add, &calls), 0);
	assert_int_equal(calls, 2);
	end(&c);
}

static void assert_flushed(struct played_cluster *c, const char *methods)
{
	char *from;

	begin(c);
	c->methods[0] = 0;
	assert_int_equal(store_flush(c->s, c->t), 0);
	from = strstr(c->methods, " FlushTable");
	assert_non_null(from);
	assert_string_equal(from, methods);
	end(c);
}

/* The master does it from HBase 2.6 on, else the servers of the regions. */
TEST(a_table_is_flushed_by_the_master_or_the_servers)
{
	struct played_cluster new = {.knows_flush = true}, old = {0};

	assert_flushed(&new, " FlushTable");
	assert_flushed(&old, " FlushTable GetMetaRegionLocations Scan "
			     "FlushRegion");
}

TEST(a_region_that_moved_is_flushed_where_it_is)
{
	struct played_cluster c = {.unserved = 1};

	assert_flushed(&c, " FlushTable GetMetaRegionLocations Scan "
			   "FlushRegion Scan FlushRegion");
}

/* That of a table that is disabled: it is looked for a few times. */
TEST(a_region_that_is_nowhere_is_busy)
{
	struct played_cluster c = {.unserved = UINT_MAX};

	begin(&c);
	assert_int_equal(store_flush(c.s, c.t), -EBUSY);
	assert_non_null(strstr(store_why(), "NotServingRegionException"));
	assert_true(UINT_MAX - c.unserved < 10);
	end(&c);
}

/* The servers merge files only, and all cells are to be merged. */
TEST(memory_is_flushed_before_files_are_compacted)
{
	struct played_cluster c = {0};
	const char *flush, *compact;

	begin(&c);
	assert_int_equal(store_compact(c.s, c.t), 0);
	flush = strstr(c.methods, " FlushRegion");
	compact = strstr(c.methods, " CompactRegion");
	assert_non_null(flush);
	assert_non_null(compact);
	assert_true(flush < compact);
	end(&c);
}

/* It may take as long as it likes, as long as the server says so. */
TEST(the_end_of_a_long_compaction_is_waited_for)
{
	struct played_cluster c = {.compacting = 210};

	begin(&c);
	assert_int_equal(store_compact(c.s, c.t), 0);
	assert_int_equal(c.compacting, 0);
	end(&c);
}
