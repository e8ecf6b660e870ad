/*
 * What a log that is kept says of times and tables: after failures of the disk, a
 * crash, and while all happens at once.
 */
#include "tests/unit/unit.h"
#include "store/hold.h"
#include "store/lsm/manifest/catalog_format.h"
#include "store/lsm/manifest/manifest.h"
#include "store/lsm/wal/record.h"
#include "store/os/thread.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/temp_store.h"
#include "tests/unit/wal_kept.h"

#define NOW INT64_C(1700000000000)
#define MANY ((uint64_t)1 << 30)

struct world {
	struct os *disk, *os;
	struct temp_store s;
};

static struct world new_world(uint64_t keep)
{
	struct world w = {.disk = sim_new(1)};

	sim_set_now_ms(w.disk, NOW);
	w.os = fault_new(w.disk);
	w.s = (struct temp_store){.path = "/store",
				  .options = {.os = w.os,
					      .inline_background = true,
					      .wal_segment_bytes = 32 << 10}};
	assert_int_equal(temp_open(&w.s), 0);
	if (keep)
		assert_int_equal(store_keep_log(w.s.store, keep), 0);
	return w;
}

static void end_world(struct world *w)
{
	assert_int_equal(temp_close(&w->s), 0);
	assert_int_equal(store_check("/store", w->disk, NULL, NULL), 0);
	fault_free(w->os);
	sim_free(w->disk);
}

static void reopen(struct world *w)
{
	assert_int_equal(temp_close(&w->s), 0);
	assert_int_equal(temp_open(&w->s), 0);
}

/* Records as letters: r of the time, T of tables, B of a break, - without. */
struct story {
	char text[4096];
	size_t n;
	int64_t last_ms;
	char tables[64]; /* the names in the last of tables */
};

static void name_tables(struct story *y, struct bytes image)
{
	struct catalog c;
	uint64_t store;

	assert_int_equal(catalog_decode(image, 0, &c, &store), 0);
	y->tables[0] = '\0';
	for (size_t i = 0; i < c.ntables; i++)
		strcat(y->tables, c.tables[i].name);
	catalog_free(&c);
}

static int tell(void *arg, uint64_t segment, struct bytes record)
{
	struct story *y = arg;
	struct note n;
	int r = record_note_read(record, &n);

	assert_true(r >= 0);
	assert_true(y->n < sizeof(y->text) - 1);
	y->text[y->n++] = r ? "rTB"[n.what] : '-';
	if (r)
		y->last_ms = n.time_ms;
	if (r && n.what == NOTE_TABLES)
		name_tables(y, n.catalog);
	return 0;
}

static void replay(struct os_dir *d, uint64_t first, struct story *y)
{
	struct wal_found found = {0};
	int r = wal_replay(d, first, tell, y, &found);

	wal_found_free(&found);
	if (r < 0)
		fail_msg("%s", store_why());
}

static struct kept_log all_kept(struct os_dir *d, uint64_t id)
{
	struct kept_log k = kept_look(d, id);

	assert_int_equal(k.holes, 0);
	return k;
}

/* What is kept and what is live; has the catalog table "c"? */
static struct story story_on(struct os *os, bool *has_c)
{
	struct story y = {.n = 0};
	struct os_dir *d = NULL;
	struct manifest *m = NULL;
	const struct catalog *c;
	struct kept_log k;
	int r;

	assert_int_equal(os_dir_open(os, "/store", false, &d), 0);
	r = manifest_open(d, false, true, &m);
	if (r < 0)
		fail_msg("%s", store_why());
	c = manifest_catalog(m);
	k = all_kept(d, c->keep.id);
	if (k.n) {
		struct os_dir *to = kept_renamed(d, &k);

		replay(to, k.first, &y);
		kept_forget(to, &k);
	}
	replay(d, c->wal_first, &y);
	y.text[y.n] = '\0';
	if (has_c)
		*has_c = catalog_find(c, bytes_str("c")) != NULL;
	manifest_close(m);
	os_dir_close(d);
	return y;
}

static struct story story_of(struct world *w)
{
	struct os *os = sim_after_kill(w->disk);
	struct story y = story_on(os, NULL);

	sim_free(os);
	return y;
}

static int put(struct world *w, const char *value)
{
	return temp_put(&w->s, "r", "f", "q", TS_AUTO, value);
}

/* Which a log that is low takes, too. */
static int forget(struct world *w)
{
	struct change c = {.op = CHANGE_DELETE_FAMILY,
			   .family = bytes_str("f"),
			   .ts = TS_AUTO};
	struct mutation m = change_of("r", &c);

	return table_mutate(w->s.table, &m, 0);
}

TEST(a_log_that_is_not_kept_has_no_notes)
{
	struct world w = new_world(0);

	assert_int_equal(put(&w, "1"), 1);
	assert_int_equal(store_table_create(w.s.store, bytes_str("a"), NULL),
			 0);
	reopen(&w);
	assert_int_equal(put(&w, "2"), 1);
	assert_string_equal(story_of(&w).text, "--");
	end_world(&w);
}

TEST(each_change_of_tables_is_noted_before_what_follows)
{
	struct world w = new_world(MANY);
	struct store *s = w.s.store;
	struct story y;

	sim_set_now_ms(w.disk, NOW + 5);
	assert_int_equal(put(&w, "1"), 1);
	y = story_of(&w);
	assert_string_equal(y.text, "Tr");
	assert_string_equal(y.tables, "t");
	assert_int_equal(y.last_ms, NOW + 5);
	assert_int_equal(store_table_create(s, bytes_str("a"), NULL), 0);
	assert_int_equal(put(&w, "2"), 1);
	assert_int_equal(store_table_rename(s, bytes_str("a"), bytes_str("b")),
			 0);
	y = story_of(&w);
	assert_string_equal(y.text, "TrTrT");
	assert_string_equal(y.tables, "bt");
	assert_int_equal(store_table_truncate(s, bytes_str("b")), 0);
	assert_int_equal(store_snapshot_create(s, NULL, bytes_str("n")), 0);
	assert_int_equal(store_snapshot_drop(s, NULL, bytes_str("n")), 0);
	assert_int_equal(table_add_family(w.s.table, bytes_str("h")), 0);
	assert_int_equal(store_table_drop(s, bytes_str("b"), false), 0);
	y = story_of(&w);
	assert_string_equal(y.text, "TrTrTTTTTT");
	assert_string_equal(y.tables, "t");
	/* And by who opens it, since the last may not have come to it. */
	reopen(&w);
	assert_string_equal(story_of(&w).text, "TrTrTTTTTTT");
	end_world(&w);
}

static bool no_memory;

int __real_catalog_outline(const struct catalog *c, struct buf *out);
int __wrap_catalog_outline(const struct catalog *c, struct buf *out);

int __wrap_catalog_outline(const struct catalog *c, struct buf *out)
{
	return no_memory ? -ENOMEM : __real_catalog_outline(c, out);
}

TEST(tables_that_memory_lacks_for_are_a_break)
{
	struct world w = new_world(MANY);

	no_memory = true;
	assert_int_equal(store_table_create(w.s.store, bytes_str("a"), NULL),
			 0);
	no_memory = false;
	assert_int_equal(put(&w, "1"), 1);
	assert_string_equal(story_of(&w).text, "TBr");
	end_world(&w);
}

static int make_clone(struct world *w)
{
	return store_snapshot_clone(w->s.store, w->s.table, bytes_str("n"),
				    (struct bytes){0}, bytes_str("c"));
}

static struct world new_world_with_snapshot(void)
{
	struct world w = new_world(MANY);

	assert_int_equal(put(&w, "1"), 1);
	assert_int_equal(
		store_snapshot_create(w.s.store, w.s.table, bytes_str("n")), 0);
	return w;
}

/* Else a moment behind the crash would have the table without its cells. */
TEST(no_crash_leaves_a_clone_of_which_the_log_says_nothing)
{
	struct world w = new_world_with_snapshot();
	struct sim_crash_options o = {.seed = 1, .random = 8};
	struct sim_crash *c;
	struct sim_image m;
	uint64_t with = 0, without = 0;

	o.from = sim_log_length(w.disk);
	assert_int_equal(make_clone(&w), 0);
	assert_non_null(strchr(story_of(&w).text, 'B'));
	c = sim_crash_new(w.disk, &o);
	while (sim_crash_next(c, &m) == 1) {
		bool has_c;
		struct story y = story_on(m.os, &has_c);

		with += has_c;
		without += !has_c;
		if (has_c && !strchr(y.text, 'B'))
			fail_msg("%s: %s", m.how, y.text);
	}
	sim_crash_free(c);
	assert_true(with && without);
	end_world(&w);
}

TEST(restoring_a_snapshot_is_a_break_too)
{
	struct world w = new_world_with_snapshot();

	assert_null(strchr(story_of(&w).text, 'B'));
	assert_int_equal(store_snapshot_restore(w.s.store, w.s.table,
						bytes_str("n"),
						(struct bytes){0}),
			 0);
	assert_non_null(strstr(story_of(&w).text, "BT"));
	end_world(&w);
}

/* Until there is no space for a note: the last is owed. */
static void fill(struct world *w)
{
	struct bytes name = bytes_str("full");
	size_t was = 0, n;

	fault_arm(w->os, &(struct fault_plan){.kinds = FAULT_ALLOCATE,
					      .err = ENOSPC,
					      .nth = 1,
					      .forever = true});
	for (n = 1; n != was; n = story_of(w).n) {
		was = n;
		assert_int_equal(store_snapshot_create(w->s.store, NULL, name),
				 0);
		assert_int_equal(store_snapshot_drop(w->s.store, NULL, name),
				 0);
	}
}

TEST(a_note_without_space_is_the_next_that_is_written)
{
	struct world w = new_world(MANY);
	struct hold *h = NULL;
	struct story y, was;

	fill(&w);
	was = story_of(&w);
	assert_int_equal(store_table_create(w.s.store, bytes_str("a"), NULL),
			 0);
	assert_int_equal(store_table_create(w.s.store, bytes_str("b"), NULL),
			 0);
	y = story_of(&w);
	assert_string_equal(y.text, was.text);
	/* No change overtakes it, and no copy is made that would lack it. */
	assert_int_equal(forget(&w), -ENOSPC);
	fault_disarm(w.os);
	assert_int_equal(forget(&w), 1);
	y = story_of(&w);
	assert_int_equal(y.n, was.n + 2);
	assert_string_equal(y.text + was.n, "Tr");
	assert_string_equal(y.tables, "abt");
	/* Once. */
	assert_int_equal(forget(&w), 1);
	assert_int_equal(story_of(&w).n, was.n + 3);
	assert_int_equal(store_hold(w.s.store, &h), 0);
	hold_release(h);
	end_world(&w);
}

TEST(a_copy_has_the_note_that_was_owed)
{
	struct world w = new_world(MANY);
	struct hold *h = NULL;
	struct story was;

	fill(&w);
	was = story_of(&w);
	assert_int_equal(store_table_create(w.s.store, bytes_str("a"), NULL),
			 0);
	fault_disarm(w.os);
	assert_int_equal(story_of(&w).n, was.n);
	assert_int_equal(store_hold(w.s.store, &h), 0);
	hold_release(h);
	assert_string_equal(story_of(&w).text + was.n, "T");
	assert_string_equal(story_of(&w).tables, "at");
	end_world(&w);
}

/* It would be a table that no moment behind it could do without. */
TEST(a_clone_without_space_for_its_note_is_refused)
{
	struct world w = new_world_with_snapshot();
	struct table *t;

	fill(&w);
	assert_int_equal(make_clone(&w), -ENOSPC);
	assert_int_equal(table_open(w.s.store, bytes_str("c"), &t), -ENOENT);
	fault_disarm(w.os);
	assert_int_equal(forget(&w), 1);
	assert_null(strchr(story_of(&w).text, 'B'));
	assert_int_equal(make_clone(&w), 0);
	assert_non_null(strstr(story_of(&w).text, "BT"));
	end_world(&w);
}

static uint64_t id_of(struct world *w)
{
	struct os *os = sim_after_kill(w->disk);
	struct manifest *m = NULL;
	struct os_dir *d = NULL;
	uint64_t id;

	assert_int_equal(os_dir_open(os, "/store", false, &d), 0);
	assert_int_equal(manifest_open(d, false, true, &m), 0);
	id = manifest_catalog(m)->keep.id;
	manifest_close(m);
	os_dir_close(d);
	sim_free(os);
	return id;
}

/* Of what was not done the log says nothing later on either. */
TEST(a_break_without_space_is_not_owed)
{
	struct world w = new_world_with_snapshot();
	int r;

	fault_arm(w.os, &(struct fault_plan){.kinds = FAULT_ALLOCATE,
					     .err = ENOSPC,
					     .nth = 1,
					     .forever = true});
	while ((r = forget(&w)) == 1)
		;
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(make_clone(&w), -ENOSPC);
	fault_disarm(w.os);
	assert_int_equal(forget(&w), 1);
	assert_null(strchr(story_of(&w).text, 'B'));
	end_world(&w);
}

TEST(keeping_again_is_another_log)
{
	struct world w = new_world_with_snapshot();
	uint64_t id = id_of(&w);

	assert_int_equal(make_clone(&w), 0);
	assert_int_equal(store_keep_log(w.s.store, MANY / 2), 0);
	assert_true(id_of(&w) == id);
	reopen(&w);
	assert_true(id_of(&w) == id);
	assert_int_equal(store_keep_log(w.s.store, 0), 0);
	assert_int_equal(put(&w, "untold"), 1);
	assert_int_equal(store_flush(w.s.store, NULL), 0);
	assert_int_equal(store_keep_log(w.s.store, MANY), 0);
	assert_true(id_of(&w) != id);
	assert_int_equal(put(&w, "told"), 1);
	assert_string_equal(story_of(&w).text, "Tr");
	end_world(&w);
}

TEST(what_flushes_release_is_one_log_with_what_is_live)
{
	struct world w = new_world(MANY);
	size_t puts = 0;

	for (int i = 0; i < 12; i++) {
		for (int k = 0; k < i % 4 * 20; k++, puts++)
			assert_int_equal(put(&w, "some value of it"), 1);
		if (i % 2)
			assert_int_equal(store_flush(w.s.store, NULL), 0);
		if (i % 3 == 0)
			reopen(&w);
	}
	/* All of it, and four notes of opens. */
	assert_int_equal(story_of(&w).n, 1 + 4 + puts);
	end_world(&w);
}

struct crew {
	struct temp_store s;
	_Atomic int wrong;
};

static void *writer(void *arg)
{
	struct crew *c = arg;

	for (int i = 0; i < 300; i++)
		if (temp_put(&c->s, "r", "f", "q", TS_AUTO, "a value") != 1)
			c->wrong++;
	return NULL;
}

static void *maker(void *arg)
{
	struct crew *c = arg;
	struct bytes name = bytes_str("made");

	for (int i = 0; i < 20; i++)
		if (store_table_create(c->s.store, name, NULL) ||
		    store_snapshot_create(c->s.store, NULL, bytes_str("n")) ||
		    store_snapshot_drop(c->s.store, NULL, bytes_str("n")) ||
		    store_table_drop(c->s.store, name, false))
			c->wrong++;
	return NULL;
}

static void *holder(void *arg)
{
	struct crew *c = arg;
	struct store_stat st;
	struct hold *h;

	for (int i = 0; i < 10; i++) {
		if (store_hold(c->s.store, &h) < 0)
			c->wrong++;
		else
			hold_release(h);
		for (unsigned k = 0; store_stat(c->s.store, k, &st) > 0; k++)
			;
	}
	return NULL;
}

static void *keeper(void *arg)
{
	struct crew *c = arg;

	for (int i = 0; i < 12; i++)
		if (store_keep_log(c->s.store, i % 3 ? MANY >> i : 0) ||
		    store_flush(c->s.store, NULL))
			c->wrong++;
	return NULL;
}

TEST(all_of_it_at_once_does_no_harm)
{
	void *(*const all[])(void *) = {writer, writer, maker, holder, keeper};
	pthread_t threads[sizeof(all) / sizeof(*all)];
	struct crew c = {.s.options = {.wal_segment_bytes = 32 << 10,
				       .write_buffer_bytes = 64 << 10}};

	assert_int_equal(temp_make(&c.s), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, all[i], &c),
				 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(c.wrong, 0);
	assert_int_equal(temp_close(&c.s), 0);
	assert_int_equal(store_check(c.s.path, NULL, NULL, NULL), 0);
	assert_int_equal(temp_open(&c.s), 0);
	assert_string_equal(temp_get(&c.s, "r", "f", "q"), "a value");
	assert_int_equal(temp_remove(&c.s), 0);
}
