/*
 * A copy of a store that is brought to a later moment of its log, on a disk and
 * with memory that fail: each call and each allocation of it, one after the other.
 * Whoever asked is told, and the copy is what it was, or a later state of it up to
 * the moment that was asked for; what cannot be brought there is left alone.
 */
#include "tests/unit/unit.h"
#include "store/hold.h"
#include "store/lsm/wal/wal.h"
#include "store/os/os.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/alloc_fault.h"
#include "tests/unit/temp_store.h"

#define BEGIN_MS 1700000000000
#define AT_MS (BEGIN_MS + 20)

/* The store reaches for the system by itself when it rolls forward. */
static struct os *system_os;
struct os *__wrap_os_posix(void);
struct os *__wrap_os_posix(void)
{
	return system_os;
}

/* A disk with a store, /copy of it as it was, and the /log of it later. */
struct world {
	struct os *disk;
	struct temp_store s;
};

struct copying {
	struct os_dir *from, *to;
};

static int copy_file(void *arg, const char *name)
{
	const struct copying *c = arg;
	struct os_file *f = NULL;
	struct buf b = {0};

	if (!strcmp(name, OS_LOCK_NAME))
		return 0;
	assert_int_equal(os_read_file(c->from, name, UINT64_MAX, &b), 0);
	assert_int_equal(os_open(c->to, name, OS_WRITE | OS_CREATE, &f), 0);
	assert_int_equal(os_pwrite(f, b.data, b.len, 0), 0);
	os_close(f);
	buf_free(&b);
	return 0;
}

/* Of the store, which is closed for it. */
static void copy_to(struct world *w, const char *path)
{
	struct copying c;

	assert_int_equal(temp_close(&w->s), 0);
	assert_int_equal(os_dir_open(w->disk, "/store", false, &c.from), 0);
	assert_int_equal(os_dir_open(w->disk, path, true, &c.to), 0);
	assert_int_equal(os_dir_list(c.from, copy_file, &c), 0);
	os_dir_close(c.to);
	os_dir_close(c.from);
	assert_int_equal(temp_open(&w->s), 0);
}

static void put(struct world *w, const char *value, int64_t after_ms)
{
	sim_set_now_ms(w->disk, BEGIN_MS + after_ms);
	assert_int_equal(temp_put(&w->s, "r", "f", "q", TS_AUTO, value), 1);
}

static void begin(struct world *w)
{
	*w = (struct world){.disk = sim_new(1)};
	sim_set_now_ms(w->disk, BEGIN_MS);
	w->s = (struct temp_store){.path = "/store",
				   .options = {.os = w->disk,
					       .inline_background = true,
					       .wal_segment_bytes = 64 << 10}};
	assert_int_equal(temp_open(&w->s), 0);
}

static void end(struct world *w)
{
	assert_int_equal(temp_close(&w->s), 0);
	sim_free(w->disk);
}

/* A kept segment of another store's log. */
static void add_foreign_kept(struct world *w)
{
	char name[WAL_KEPT_NAME_BYTES];
	struct os_file *f = NULL;
	struct os_dir *d;

	wal_kept_name(name, 1, 1);
	assert_int_equal(os_dir_open(w->disk, "/log", false, &d), 0);
	assert_int_equal(os_open(d, name, OS_WRITE | OS_CREATE, &f), 0);
	os_close(f);
	os_dir_close(d);
}

static int setup(void **state)
{
	static struct world w;

	*state = &w;
	begin(&w);
	assert_int_equal(store_keep_log(w.s.store, 64 << 20), 0);
	put(&w, "first", 1);
	assert_int_equal(store_flush(w.s.store, NULL), 0);
	put(&w, "second", 2);
	copy_to(&w, "/copy");
	put(&w, "third", 10);
	assert_int_equal(table_add_family(w.s.table, bytes_str("h")), 0);
	assert_int_equal(store_flush(w.s.store, NULL), 0);
	put(&w, "fourth", 20);
	put(&w, "late", 30);
	copy_to(&w, "/log");
	add_foreign_kept(&w);
	return 0;
}

static int teardown(void **state)
{
	end(*state);
	return 0;
}

EACH_TEST_IN(setup, teardown);

/* The value in the store at @path, "" for none that it had up to AT_MS. */
static const char *value_in(struct os *disk, const char *path)
{
	static const char *const all[] = {"second", "third", "fourth"};
	struct temp_store s = {
		.options = {.os = disk, .inline_background = true}};
	const char *value, *found = "";

	snprintf(s.path, sizeof(s.path), "%s", path);
	assert_int_equal(temp_open(&s), 0);
	value = temp_get(&s, "r", "f", "q");
	assert_non_null(value);
	for (size_t i = 0; i < 3; i++)
		if (!strcmp(value, all[i]))
			found = all[i];
	assert_int_equal(temp_close(&s), 0);
	assert_int_equal(store_check(path, disk, NULL, NULL), 0);
	return found;
}

/* With @log or without; what fails: an allocation, or a call with @err. */
struct attempt {
	const char *log;
	int err;
};

/* A log that has failed says that of all that comes. */
static bool is_told(const struct attempt *a, int r)
{
	return r == -EROFS || r == (a->err ? -EIO : -ENOMEM);
}

/* False if there was no @nth. */
static bool fails_at(struct world *w, const struct attempt *a, uint64_t nth)
{
	struct os *disk = sim_after_kill(w->disk), *os = fault_new(disk);
	const char *want = a->log ? "fourth" : "second", *value;
	uint64_t failed;
	int r;

	system_os = os;
	if (a->err)
		fault_arm(os, &(struct fault_plan){.kinds = FAULT_ALL,
						   .nth = nth,
						   .err = a->err});
	else
		alloc_arm(nth, 0);
	r = store_roll_forward("/copy", a->log, "a file", AT_MS);
	failed = alloc_disarm() + fault_fired(os);
	fault_disarm(os);
	if (r < 0 && (!failed || !is_told(a, r)))
		fail_msg("%llu: %d: %s", (unsigned long long)nth, r,
			 store_why());
	value = value_in(disk, "/copy");
	if (r < 0)
		assert_string_not_equal(value, "");
	else
		assert_string_equal(value, want);
	fault_free(os);
	sim_free(disk);
	return failed;
}

TEST(a_failure_is_told_and_leaves_a_state_that_was)
{
	static const struct attempt attempts[] = {
		{"/log", 0},
		{NULL, 0},
		{"/log", EIO},
		{NULL, EIO},
	};
	uint64_t n;

	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		for (n = 1; fails_at(*state, &attempts[i], n); n++)
			;
		assert_true(n > 10);
	}
}

/* @words: why not. The copy is as it was. */
static void is_refused(struct world *w, const char *path, const char *log,
		       const char *words)
{
	struct os *disk = sim_after_kill(w->disk);

	system_os = disk;
	assert_int_equal(store_roll_forward(path, log, NULL, AT_MS), -ENODATA);
	if (!strstr(store_why(), words))
		fail_msg("%s", store_why());
	sim_free(disk);
}

TEST(only_a_later_moment_of_the_same_log_is_one)
{
	static const char words[] = "the log between was not kept";
	struct world *w = *state;

	assert_int_equal(store_keep_log(w->s.store, 0), 0);
	copy_to(w, "/unkept");
	system_os = w->disk;
	assert_int_equal(store_roll_forward("/unkept", NULL, NULL, AT_MS), 0);
	is_refused(w, "/copy", "/unkept", words);
	is_refused(w, "/unkept", "/log", words);
	is_refused(w, "/log", "/copy", words);
	assert_int_equal(store_keep_log(w->s.store, 64 << 20), 0);
	copy_to(w, "/again");
	is_refused(w, "/copy", "/again", words);
}

TEST(what_is_in_no_log_is_no_moment_of_it)
{
	struct world *w = *state;
	struct bytes name = bytes_str("n");

	sim_set_now_ms(w->disk, AT_MS);
	copy_to(w, "/before");
	assert_int_equal(store_snapshot_create(w->s.store, NULL, name), 0);
	assert_int_equal(store_snapshot_clone(w->s.store, NULL, name,
					      bytes_str("t"), bytes_str("u")),
			 0);
	copy_to(w, "/behind");
	is_refused(w, "/before", "/behind", "a table was cloned");
}
