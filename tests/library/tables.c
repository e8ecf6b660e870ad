/* The store, its tables and its snapshots by libcellfs. */
#include "fixture.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

TEST(the_library_says_its_version)
{
	char text[32];

	assert_string_equal(cellfs_version(), CELLFS_VERSION);
	snprintf(text, sizeof(text), "%d.%d.%d", CELLFS_VERSION_MAJOR,
		 CELLFS_VERSION_MINOR, CELLFS_VERSION_PATCH);
	assert_string_equal(text, CELLFS_VERSION);
}

TEST(a_store_that_cannot_be_opened_says_why)
{
	const struct cellfs_options make = {.create = true};
	struct cellfs *s = NULL;
	char path[128];

	assert_refused(cellfs_open(the.path, NULL, &s), -EBUSY, "in use by");
	assert_refused(cellfs_open(the.dir, &make, &s), -ENOTEMPTY, the.dir);
	snprintf(path, sizeof(path), "%s/absent", the.dir);
	assert_refused(cellfs_open(path, NULL, &s), -ENOENT, path);
	snprintf(path, sizeof(path), "%s/LOCK", the.path);
	assert_refused(cellfs_open(path, &make, &s), -ENOTDIR, path);
	assert_refused(cellfs_open("", &make, &s), -EINVAL, "no path");
	assert_refused(
		cellfs_open("hbase://127.0.0.1:1/?tls=on&qop=none", NULL, &s),
		-EINVAL, "qop=none");
	assert_refused(cellfs_open("hbase://127.0.0.1:1/?timeout=1", NULL, &s),
		       -ECONNREFUSED, "no master of a cluster");
	assert_null(s);
	assert_int_equal(cellfs_close(NULL), 0);
}

/* What the opening of an empty directory does not find is no failure of it. */
TEST(a_call_that_succeeds_leaves_no_sentence)
{
	const struct cellfs_options make = {.create = true};
	struct cellfs *s = NULL;
	char path[128];

	snprintf(path, sizeof(path), "%s/another", the.dir);
	assert_refused(put(&the, "", "q", "v"), -EINVAL, "empty");
	assert_int_equal(cellfs_open(path, &make, &s), 0);
	assert_string_equal(cellfs_error(), "");
	assert_int_equal(cellfs_close(s), 0);
	assert_refused(put(&the, "", "q", "v"), -EINVAL, "empty");
	assert_int_equal(cellfs_table_create(the.s, "u", ""), 0);
	assert_string_equal(cellfs_error(), "");
}

TEST(a_store_has_one_writer_or_any_readers)
{
	const struct cellfs_options reader = {.read_only = true};
	const struct cellfs_options make = {.read_only = true, .create = true};
	struct cellfs *s = NULL;
	char path[128];

	assert_refused(cellfs_open(the.path, &reader, &s), -EBUSY, "in use by");
	shut(&the);
	open_with(&the, &reader);
	assert_refused(cellfs_open(the.path, NULL, &s), -EBUSY, "in use");
	/* A reader makes nothing. */
	snprintf(path, sizeof(path), "%s/absent", the.dir);
	assert_refused(cellfs_open(path, &make, &s), -ENOENT, path);
	assert_int_equal(access(path, F_OK), -1);
	assert_null(s);
}

/* The first file of the store whose name fits. */
static void file_of(const struct fixture *f, const char *pattern,
		    char path[256])
{
	glob_t files;

	snprintf(path, 256, "%s/%s", f->path, pattern);
	assert_int_equal(glob(path, 0, NULL, &files), 0);
	snprintf(path, 256, "%s", files.gl_pathv[0]);
	globfree(&files);
}

TEST(what_others_may_write_is_opened_only_if_one_says_so)
{
	const struct cellfs_options take = {.insecure = true};
	struct cellfs *s = NULL;
	char file[256], second[128];

	shut(&the);
	assert_int_equal(chmod(the.path, 0777), 0);
	assert_refused(cellfs_open(the.path, NULL, &s), -EPERM,
		       "written by others");
	open_with(&the, &take);
	shut(&the);
	assert_int_equal(chmod(the.path, 0700), 0);
	file_of(&the, "CATALOG-*[0-9]", file);
	snprintf(second, sizeof(second), "%s/second", the.dir);
	assert_int_equal(link(file, second), 0);
	assert_refused(cellfs_open(the.path, NULL, &s), -EPERM, "CATALOG");
	assert_null(s);
	open_with(&the, &take);
}

struct figure {
	const char *name;
	uint64_t value;
	bool found;
	uint64_t *counted; /* NULL, or the sum of all counters */
};

static void note(void *arg, const struct cellfs_stat *stat)
{
	struct figure *f = arg;
	size_t n = strspn(stat->name, "abcdefghijklmnopqrstuvwxyz_0123456789");

	assert_true(stat->help[0] && n);
	if (stat->name[n])
		assert_non_null(strstr(stat->name + n, "{level=\""));
	assert_int_equal(stat->counter,
			 n > 6 && !memcmp(stat->name + n - 6, "_total", 6));
	if (f->counted && stat->counter)
		*f->counted += stat->value;
	if (strcmp(stat->name, f->name) != 0)
		return;
	f->value = stat->value;
	f->found = true;
}

static uint64_t figure(const struct fixture *f, const char *name)
{
	struct figure figure = {.name = name};

	cellfs_stats(f->s, note, &figure);
	assert_true(figure.found);
	return figure.value;
}

TEST(what_was_put_is_there_after_opening_again)
{
	put(&the, "r", "q", "v");
	assert_int_equal(cellfs_sync(the.s), 0);
	shut(&the);
	open_with(&the, NULL);
	assert_string_equal(get(&the, "r", "q"), "v");
}

/* In a process that ends without closing anything. */
static void change_and_die(struct fixture *f)
{
	char text[16];

	if (cellfs_open(f->path, NULL, &f->s) < 0 ||
	    cellfs_table_create(f->s, "u", "family x\n") < 0 ||
	    cellfs_table_open(f->s, "t", &f->t) < 0)
		_exit(1);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		if (put(f, text, "q", text) < 0)
			_exit(1);
	}
	_exit(0);
}

TEST(what_was_acknowledged_survives_the_death_of_the_process)
{
	char name[CELLFS_NAME_SIZE], text[16];
	int status;
	pid_t pid;

	shut(&the);
	pid = fork();
	if (pid == 0)
		change_and_die(&the);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	open_with(&the, NULL);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_string_equal(get(&the, text, "q"), text);
	}
	assert_int_equal(cellfs_table_next(the.s, "t", name), 1);
	assert_string_equal(name, "u");
}

/* Opens the store, leaves it to a child that does nothing, and ends. */
static void leave_to_child(struct fixture *f, int end)
{
	char byte;

	if (cellfs_open(f->path, NULL, &f->s) < 0)
		_exit(1);
	if (fork() == 0)
		(void)!read(end, &byte, 1);
	_exit(0);
}

TEST(the_child_of_a_process_that_has_ended_keeps_the_store)
{
	const struct cellfs_options patient = {.wait_ms = 100000};
	struct cellfs *s = NULL;
	int status, ends[2];
	pid_t pid;

	shut(&the);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		leave_to_child(&the, ends[0]);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_refused(cellfs_open(the.path, NULL, &s), -EBUSY, "in use");
	assert_null(s);
	close(ends[1]);
	open_with(&the, &patient);
	close(ends[0]);
}

TEST(a_change_is_synced_if_it_or_the_store_says_so)
{
	const struct cellfs_options sync = {.sync = true};
	const struct cellfs_change c = {.kind = CELLFS_PUT, .family = str("f")};
	const struct cellfs_mutation m = {
		.row = str("r"), .changes = &c, .nchanges = 1};
	uint64_t before = figure(&the, "wal_syncs_total");

	for (int i = 1; i <= 20; i++) {
		assert_int_equal(cellfs_mutate(the.t, &m, NULL, CELLFS_SYNC),
				 1);
		assert_int_equal(
			cellfs_mutate_many(the.t, &m, 1, CELLFS_SYNC, NULL), 0);
	}
	assert_true(figure(&the, "wal_syncs_total") >= before + 40);
	shut(&the);
	open_with(&the, &sync);
	before = figure(&the, "wal_syncs_total");
	for (int i = 0; i < 20; i++)
		put(&the, "r", "q", "v");
	assert_true(figure(&the, "wal_syncs_total") >= before + 20);
}

TEST(caches_have_the_sizes_that_are_asked_for)
{
	const struct cellfs_options small = {.cache_bytes = 3 << 20,
					     .write_buffer_bytes = 1 << 20};
	struct cellfs_bytes big = {calloc(1, 100000), 100000};

	assert_non_null(big.data);
	shut(&the);
	open_with(&the, &small);
	assert_int_equal(figure(&the, "cache_limit_bytes"), 3 << 20);
	/* Who writes more than the buffer holds waits for a flush. */
	for (int i = 0; i < 30; i++)
		assert_int_equal(
			cellfs_put(the.t, str("r"), str("f"), str("q"), big),
			0);
	assert_true(figure(&the, "flushes_total") > 0);
	free((void *)big.data);
}

static void *lets_go(void *arg)
{
	usleep(50000);
	shut(arg);
	return NULL;
}

TEST(opening_waits_for_who_has_the_store)
{
	const struct cellfs_options patient = {.wait_ms = 100000};
	struct fixture f = begin(), next = f;
	pthread_t other;

	assert_int_equal(pthread_create(&other, NULL, lets_go, &f), 0);
	open_with(&next, &patient);
	assert_int_equal(pthread_join(other, NULL), 0);
	end(&next);
}

TEST(readers_share_a_store_and_change_nothing)
{
	const struct cellfs_options reader = {.read_only = true};
	struct fixture f = begin(), other;

	put(&f, "r", "q", "v");
	shut(&f);
	open_with(&f, &reader);
	other = f;
	open_with(&other, &reader);
	assert_string_equal(get(&other, "r", "q"), "v");
	shut(&other);
	assert_refused(put(&f, "r", "q", "w"), -EPERM, "read-only");
	assert_refused(cellfs_flush(f.s, NULL), -EPERM, "read-only");
	assert_refused(cellfs_compact(f.s, f.t), -EPERM, "read-only");
	assert_refused(cellfs_table_create(f.s, "u", ""), -EPERM, "read-only");
	assert_refused(cellfs_table_alter(f.t, "family h\n"), -EPERM,
		       "read-only");
	assert_refused(cellfs_table_rename(f.s, "t", "u"), -EPERM, "read-only");
	assert_refused(cellfs_namespace_create(f.s, "n"), -EPERM, "read-only");
	assert_refused(cellfs_snapshot_create(f.s, f.t, "s"), -EPERM,
		       "read-only");
	end(&f);
}

TEST(a_store_without_deletes_refuses_what_hides)
{
	const struct cellfs_options keep = {.no_delete = true};
	struct cellfs_change changes[] = {
		{.kind = CELLFS_PUT, .family = str("f"), .qualifier = str("p")},
		{.kind = CELLFS_DELETE_ROW},
	};
	const struct cellfs_mutation rows[] = {
		{.row = str("r"), .changes = &changes[0], .nchanges = 1},
		{.row = str("r"), .changes = &changes[1], .nchanges = 1},
	};
	const struct cellfs_mutation both = {
		.row = str("r"), .changes = changes, .nchanges = 2};
	size_t done = 9;

	put(&the, "r", "q", "v");
	shut(&the);
	open_with(&the, &keep);
	assert_int_equal(put(&the, "r", "q", "w"), 0);
	assert_refused(cellfs_delete(the.t, str("r"), str("f"), str("q")),
		       -EPERM, "nothing is deleted");
	assert_refused(cellfs_delete_row(the.t, str("r")), -EPERM, "nodelete");
	assert_refused(cellfs_delete_row(the.t, str("none")), -EPERM,
		       "nodelete");
	/* Nor behind a put: nothing of that is applied. */
	assert_refused(cellfs_mutate(the.t, &both, NULL, 0), -EPERM,
		       "nodelete");
	assert_refused(cellfs_mutate_many(the.t, rows, 2, 0, &done), -EPERM,
		       "nodelete");
	assert_int_equal(done, 0);
	assert_string_equal(get(&the, "r", "q"), "w");
	assert_int_equal(cellfs_get(the.t, str("r"), str("f"), str("p"), NULL),
			 0);
	assert_refused(cellfs_table_drop(the.s, "t"), -EPERM, "nodelete");
	assert_refused(cellfs_table_truncate(the.s, "t"), -EPERM, "nodelete");
	assert_refused(cellfs_snapshot_drop(the.s, NULL, "s"), -EPERM,
		       "nodelete");
	assert_refused(cellfs_namespace_drop(the.s, "n"), -EPERM, "nodelete");
}

TEST(tables_are_made_listed_renamed_and_dropped)
{
	struct cellfs_table *none = NULL;
	char name[CELLFS_NAME_SIZE] = "";

	assert_int_equal(cellfs_table_create(the.s, "a", "family x\n"), 0);
	assert_refused(cellfs_table_create(the.s, "a", "family x\n"), -EEXIST,
		       "a");
	assert_refused(cellfs_table_create(the.s, "a/b", ""), -EINVAL,
		       "letters");
	assert_refused(cellfs_table_create(the.s, "b", "family x\n\tspeed 9\n"),
		       -EINVAL, "line 2");
	assert_int_equal(cellfs_table_next(the.s, name, name), 1);
	assert_string_equal(name, "a");
	assert_int_equal(cellfs_table_next(the.s, name, name), 1);
	assert_string_equal(name, "t");
	assert_int_equal(cellfs_table_next(the.s, name, name), 0);
	assert_refused(cellfs_table_rename(the.s, "a", "t"), -EEXIST, "t");
	assert_refused(cellfs_table_rename(the.s, "b", "c"), -ENOENT, "b");
	assert_int_equal(cellfs_table_next(the.s, "b", name), 1);
	assert_string_equal(name, "t");
	put(&the, "r", "q", "v");
	assert_int_equal(cellfs_table_rename(the.s, "t", "u"), 0);
	assert_string_equal(get(&the, "r", "q"), "v");
	assert_int_equal(cellfs_table_truncate(the.s, "u"), 0);
	assert_string_equal(get(&the, "r", "q"), "(none)");
	assert_refused(cellfs_table_truncate(the.s, "t"), -ENOENT, "t");
	assert_int_equal(cellfs_table_drop(the.s, "u"), 0);
	assert_refused(cellfs_table_drop(the.s, "u"), -ENOENT, "u");
	assert_refused(put(&the, "r", "q", "v"), -ENOENT, "dropped");
	assert_refused(cellfs_table_open(the.s, "u", &none), -ENOENT, "u");
	assert_null(none);
}

TEST(names_are_of_some_letters_and_of_some_length)
{
	static const char *const wrong[] = {
		"", "-a", ".a", "a b", "a:b:c", "a/b", "default:a", "hbase:a"};
	char name[CELLFS_NAME_SIZE + 1];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(cellfs_table_create(the.s, wrong[i], ""),
				 -EINVAL);
	memset(name, 'n', sizeof(name));
	name[CELLFS_NAME_SIZE] = '\0';
	assert_refused(cellfs_table_create(the.s, name, ""), -ENAMETOOLONG,
		       "256 bytes");
	name[CELLFS_NAME_SIZE - 1] = '\0';
	assert_int_equal(cellfs_table_create(the.s, name, ""), 0);
	assert_int_equal(cellfs_table_next(the.s, "", name), 1);
	assert_int_equal(strlen(name), CELLFS_NAME_SIZE - 1);
	assert_int_equal(cellfs_table_create(the.s, "_a.b-c", ""), 0);
	assert_refused(cellfs_namespace_create(the.s, "a-b"), -EINVAL,
		       "letters");
	assert_refused(cellfs_namespace_create(the.s, "default"), -EEXIST,
		       "default");
	assert_refused(cellfs_namespace_drop(the.s, "hbase"), -EINVAL, "hbase");
}

TEST(what_a_dropped_table_gives_is_not_written)
{
	struct cellfs_buffer text = {0};
	char name[CELLFS_NAME_SIZE] = "kept";

	assert_int_equal(cellfs_table_schema(the.t, &text), 0);
	assert_int_equal(cellfs_table_drop(the.s, "t"), 0);
	assert_refused(cellfs_table_schema(the.t, &text), -ENOENT, "dropped");
	assert_non_null(strstr(text.data, "family f\n"));
	assert_refused(cellfs_table_alter(the.t, "family f\n"), -ENOENT,
		       "dropped");
	assert_refused(
		cellfs_scan_open(the.t, NULL, &(struct cellfs_scan *){NULL}),
		-ENOENT, "dropped");
	assert_refused(cellfs_get(the.t, str("r"), str("f"), str("q"), NULL),
		       -ENOENT, "dropped");
	assert_int_equal(cellfs_table_next(the.s, "", name), 0);
	assert_int_equal(cellfs_snapshot_next(the.s, NULL, "", name, NULL), 0);
	assert_string_equal(name, "kept");
	cellfs_table_close(NULL);
	cellfs_buffer_free(&text);
}

TEST(a_schema_is_text_that_is_read_and_changed)
{
	struct cellfs_buffer text = {0};
	char owner[64];

	assert_int_equal(cellfs_table_schema(the.t, &text), 0);
	snprintf(owner, sizeof(owner),
		 "families fixed\nmode 0755\nuid %u\ngid %u\n", geteuid(),
		 getegid());
	assert_non_null(strstr(text.data, owner));
	assert_non_null(strstr(text.data, "family g\n\tversions 2\n"));
	assert_int_equal(strlen(text.data), text.len);
	put(&the, "r", "q", "v");
	/* g holds no cell and goes; f stays as it is. */
	assert_int_equal(cellfs_table_alter(the.t, "family h\n\tttl 7d\n"), 0);
	assert_int_equal(cellfs_table_schema(the.t, &text), 0);
	assert_non_null(strstr(text.data, "family f\n"));
	assert_null(strstr(text.data, "family g\n"));
	assert_non_null(strstr(text.data, "ttl 7d\n"));
	assert_refused(cellfs_table_alter(the.t, "families closed\n"), -EINVAL,
		       "line 1");
	assert_refused(cellfs_table_alter(the.t, "\ndrop family none\n"),
		       -EINVAL, "line 2");
	/* It would drop h. */
	assert_refused(cellfs_table_alter(the.t, ""), -EINVAL, "empty");
	assert_int_equal(cellfs_snapshot_create(the.s, the.t, "s"), 0);
	assert_refused(cellfs_table_alter(the.t, "drop family f\n"), -EBUSY,
		       "f");
	assert_refused(cellfs_table_alter(the.t, "family f\n\tversions 1\n"),
		       -EBUSY, "versions");
	assert_int_equal(cellfs_snapshot_drop(the.s, the.t, "s"), 0);
	assert_int_equal(cellfs_table_alter(the.t, "family h\ndrop family f\n"),
			 0);
	assert_refused(put(&the, "r", "q", "v"), -EPERM, "f");
	/* None at all is the empty text. */
	assert_int_equal(cellfs_table_create(the.s, "bare", NULL), 0);
	assert_refused(cellfs_table_alter(the.t, NULL), -EINVAL, "empty");
	cellfs_buffer_free(&text);
}

TEST(a_table_has_the_owner_that_its_text_says)
{
	struct cellfs_buffer text = {0};
	struct cellfs_table *u;

	assert_int_equal(cellfs_table_create(the.s, "u", "uid 77\ngid 78\n"),
			 0);
	assert_int_equal(cellfs_table_open(the.s, "u", &u), 0);
	assert_int_equal(cellfs_table_schema(u, &text), 0);
	assert_non_null(strstr(text.data, "uid 77\ngid 78\n"));
	cellfs_table_close(u);
	cellfs_buffer_free(&text);
}

struct setter {
	struct cellfs_table *t;
	_Atomic int turns;
	_Atomic bool over;
	int failed;
};

/* Changes the quota to and fro. */
static void *set_quotas(void *arg)
{
	struct setter *s = arg;

	while (!s->over)
		s->failed |= cellfs_table_alter(
			s->t, s->turns++ % 2 ? "quota 1GiB\n" : "quota 2GiB\n");
	return NULL;
}

TEST(what_others_alter_at_the_same_time_stays)
{
	static const char *const modes[] = {"mode 0700\n", "mode 0750\n"};
	struct setter other = {.t = the.t};
	struct cellfs_buffer text = {0};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, set_quotas, &other), 0);
	for (int i = 0; i < 40; i++) {
		int turns;

		assert_int_equal(cellfs_table_alter(the.t, modes[i % 2]), 0);
		/* A change that the other made of what was before is over. */
		turns = other.turns;
		while (other.turns < turns + 2)
			usleep(100);
		assert_int_equal(cellfs_table_schema(the.t, &text), 0);
		assert_non_null(strstr(text.data, modes[i % 2]));
	}
	other.over = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(other.failed, 0);
	cellfs_buffer_free(&text);
}

TEST(a_table_of_a_namespace_needs_it)
{
	char name[CELLFS_NAME_SIZE] = "";
	int found = 0;

	assert_refused(cellfs_table_create(the.s, "n:t", ""), -ENOENT, "n");
	assert_int_equal(cellfs_namespace_create(the.s, "n"), 0);
	assert_refused(cellfs_namespace_create(the.s, "n"), -EEXIST, "n");
	assert_int_equal(cellfs_table_create(the.s, "n:t", ""), 0);
	while (cellfs_namespace_next(the.s, name, name) > 0)
		found += !strcmp(name, "n");
	assert_int_equal(found, 1);
	assert_refused(cellfs_namespace_drop(the.s, "n"), -ENOTEMPTY, "n");
	assert_int_equal(cellfs_table_drop(the.s, "n:t"), 0);
	assert_int_equal(cellfs_namespace_drop(the.s, "n"), 0);
	assert_refused(cellfs_namespace_drop(the.s, "n"), -ENOENT, "n");
	/* Nor is there one of no name, though t is in none. */
	assert_refused(cellfs_namespace_drop(the.s, ""), -ENOENT, "namespace");
}

/* The value of r f:q that a snapshot shows, one letter; 0 = none. */
static char shown(struct fixture *f, const struct cellfs_snapshot *snap)
{
	const struct cellfs_scan_spec s = {.snapshot = snap};
	const struct cellfs_which which = {.snapshot = snap};
	struct cellfs_buffer value = {0};
	const struct cellfs_cell *c;
	struct cellfs_scan *sc = NULL;
	struct cellfs_cell got;
	char found = 0;

	assert_int_equal(cellfs_scan_open(f->t, &s, &sc), 0);
	if (cellfs_scan_next(sc, &c) > 0)
		found = *(const char *)c->value.data;
	cellfs_scan_close(sc);
	assert_int_equal(cellfs_get_cell(f->t, str("r"), str("f"), str("q"),
					 &which, &got, &value),
			 found != 0);
	if (found)
		assert_int_equal(*(const char *)got.value.data, found);
	cellfs_buffer_free(&value);
	return found;
}

TEST(snapshots_show_the_past)
{
	struct cellfs_snapshot *now = NULL, *named = NULL, *none = NULL;
	struct cellfs_table *u = NULL;
	const struct cellfs_which which = {0};
	char name[CELLFS_NAME_SIZE] = "";
	int64_t taken = 0;

	put(&the, "r", "q", "a");
	assert_int_equal(cellfs_snapshot_create(the.s, the.t, "one"), 0);
	assert_refused(cellfs_snapshot_create(the.s, the.t, "one"), -EEXIST,
		       "one");
	assert_refused(cellfs_snapshot_create(the.s, the.t, ""), -EINVAL,
		       "name");
	put(&the, "r", "q", "b");
	assert_int_equal(cellfs_snapshot_take(the.s, &now), 0);
	cellfs_delete_row(the.t, str("r"));
	assert_int_equal(cellfs_compact(the.s, the.t), 0);
	assert_int_equal(cellfs_snapshot_open(the.s, the.t, "one", &named), 0);
	assert_int_equal(shown(&the, named), 'a');
	assert_int_equal(shown(&the, now), 'b');
	assert_int_equal(shown(&the, which.snapshot), 0);
	assert_int_equal(cellfs_snapshot_next(the.s, the.t, name, name, &taken),
			 1);
	assert_string_equal(name, "one");
	assert_true(taken > 1600000000000);
	assert_int_equal(cellfs_snapshot_next(the.s, the.t, name, name, NULL),
			 0);
	assert_int_equal(cellfs_snapshot_next(the.s, NULL, "", name, NULL), 0);
	assert_refused(cellfs_snapshot_open(the.s, NULL, "one", &none), -ENOENT,
		       "one");
	assert_null(none);
	assert_refused(cellfs_table_drop(the.s, "t"), -ENOTEMPTY, "snapshot");
	assert_int_equal(cellfs_table_create(the.s, "u", ""), 0);
	assert_int_equal(cellfs_table_open(the.s, "u", &u), 0);
	assert_refused(cellfs_scan_open(
			       u, &(struct cellfs_scan_spec){.snapshot = named},
			       &(struct cellfs_scan *){NULL}),
		       -EINVAL, "another table");
	cellfs_table_close(u);
	/* Who reads goes on reading. */
	assert_int_equal(cellfs_snapshot_drop(the.s, the.t, "one"), 0);
	assert_refused(cellfs_snapshot_drop(the.s, the.t, "one"), -ENOENT,
		       "one");
	assert_int_equal(shown(&the, named), 'a');
	cellfs_snapshot_close(named);
	cellfs_snapshot_close(now);
	cellfs_snapshot_close(NULL);
}

TEST(a_snapshot_is_of_one_table_or_of_all)
{
	struct cellfs_snapshot *all = NULL;
	struct cellfs_table *late = NULL;
	char name[CELLFS_NAME_SIZE] = "";
	struct cellfs_scan_spec of_all = {0};
	const struct cellfs_cell *c;
	struct cellfs_scan *sc;

	put(&the, "r", "q", "a");
	/* The names of a table's and of the store's are apart. */
	assert_int_equal(cellfs_snapshot_create(the.s, NULL, "one"), 0);
	put(&the, "r", "q", "b");
	assert_int_equal(cellfs_snapshot_create(the.s, the.t, "one"), 0);
	assert_refused(cellfs_snapshot_create(the.s, NULL, "one"), -EEXIST,
		       "one");
	assert_int_equal(cellfs_snapshot_next(the.s, NULL, name, name, NULL),
			 1);
	assert_int_equal(cellfs_snapshot_next(the.s, NULL, name, name, NULL),
			 0);
	assert_int_equal(cellfs_table_create(the.s, "late", "family f\n"), 0);
	assert_int_equal(cellfs_table_open(the.s, "late", &late), 0);
	assert_int_equal(cellfs_snapshot_open(the.s, NULL, "one", &all), 0);
	assert_int_equal(shown(&the, all), 'a');
	of_all.snapshot = all;
	/* What came later is not of it. */
	assert_int_equal(
		cellfs_put(late, str("r"), str("f"), str("q"), str("x")), 0);
	assert_int_equal(cellfs_scan_open(late, &of_all, &sc), 0);
	assert_int_equal(cellfs_scan_next(sc, &c), 0);
	cellfs_scan_close(sc);
	cellfs_snapshot_close(all);
	assert_int_equal(cellfs_snapshot_drop(the.s, the.t, "one"), 0);
	assert_refused(cellfs_table_drop(the.s, "t"), -ENOTEMPTY, "snapshot");
	assert_refused(cellfs_table_truncate(the.s, "t"), -ENOTEMPTY,
		       "snapshot");
	assert_int_equal(cellfs_table_drop(the.s, "late"), 0);
	assert_int_equal(cellfs_snapshot_drop(the.s, NULL, "one"), 0);
	assert_int_equal(cellfs_table_truncate(the.s, "t"), 0);
	cellfs_table_close(late);
}

TEST(a_snapshot_in_memory_keeps_no_table_from_being_changed)
{
	struct cellfs_snapshot *snap = NULL;
	struct cellfs_scan_spec s = {0};

	put_at(&the, "r", "q", 1, "1");
	put_at(&the, "r", "q", 2, "2");
	assert_int_equal(cellfs_snapshot_take(the.s, &snap), 0);
	s.snapshot = snap;
	put_at(&the, "r", "q", 3, "3");
	assert_string_equal(scan(&the, &s), "r/f:q@2=2 r/f:q@1=1");
	assert_int_equal(cellfs_table_alter(the.t, "family f\n\tversions 1\n"),
			 0);
	assert_string_equal(scan(&the, &s), "r/f:q@2=2");
	assert_int_equal(cellfs_table_truncate(the.s, "t"), 0);
	assert_string_equal(scan(&the, &s), "");
	cellfs_snapshot_close(snap);
}

TEST(handles_of_two_stores_are_not_mixed)
{
	struct fixture f = begin(), g = begin();
	struct cellfs_snapshot *snap = NULL, *none = NULL;
	struct cellfs_which which = {0};
	struct cellfs_scan *sc = NULL;
	char name[CELLFS_NAME_SIZE] = "";
	const char *of = "of another store";

	assert_int_equal(cellfs_snapshot_take(f.s, &snap), 0);
	which.snapshot = snap;
	assert_refused(
		cellfs_scan_open(
			g.t, &(struct cellfs_scan_spec){.snapshot = snap}, &sc),
		-EINVAL, of);
	assert_refused(cellfs_get_cell(g.t, str("r"), str("f"), str("q"),
				       &which, NULL, NULL),
		       -EINVAL, of);
	assert_refused(cellfs_flush(f.s, g.t), -EINVAL, of);
	assert_refused(cellfs_compact(f.s, g.t), -EINVAL, of);
	assert_refused(cellfs_snapshot_create(f.s, g.t, "s"), -EINVAL, of);
	assert_refused(cellfs_snapshot_drop(f.s, g.t, "s"), -EINVAL, of);
	assert_refused(cellfs_snapshot_open(f.s, g.t, "s", &none), -EINVAL, of);
	assert_refused(cellfs_snapshot_next(f.s, g.t, "", name, NULL), -EINVAL,
		       of);
	cellfs_snapshot_close(snap);
	end(&f);
	end(&g);
}

enum {
	THREADS = 4,
	ROUNDS = 200
};

/* Each adds to one counter, and reads a row of two columns that are one. */
static void *adds(void *arg)
{
	struct fixture *f = arg;
	const struct cellfs_change both[] = {
		{.kind = CELLFS_INCREMENT,
		 .family = str("f"),
		 .qualifier = str("n"),
		 .delta = 1},
		{.kind = CELLFS_INCREMENT,
		 .family = str("g"),
		 .qualifier = str("n"),
		 .delta = 1},
	};
	const struct cellfs_mutation m = {
		.row = str("r"), .changes = both, .nchanges = 2};
	intptr_t torn = 0;

	for (int i = 0; i < ROUNDS; i++) {
		const struct cellfs_scan_spec s = {.granularity =
							   CELLFS_COLUMNS};
		const struct cellfs_cell *c;
		struct cellfs_scan *sc;
		char first[8];

		torn += cellfs_mutate(f->t, &m, NULL, 0) != 1;
		if (cellfs_scan_open(f->t, &s, &sc) < 0)
			return (void *)1;
		if (cellfs_scan_next(sc, &c) == 1)
			memcpy(first, c->value.data, 8);
		torn += cellfs_scan_next(sc, &c) != 1 ||
			memcmp(first, c->value.data, 8) != 0;
		cellfs_scan_close(sc);
	}
	return (void *)torn;
}

TEST(threads_change_and_read_one_row_whole)
{
	pthread_t threads[THREADS];
	int64_t sum = 0;
	void *torn;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, adds, &the),
				 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &torn), 0);
		assert_null(torn);
	}
	assert_int_equal(
		cellfs_increment(the.t, str("r"), str("g"), str("n"), 0, &sum),
		0);
	assert_int_equal(sum, THREADS * ROUNDS);
}

TEST(the_store_tells_its_figures)
{
	uint64_t flushes;

	put(&the, "r", "q", "v");
	put(&the, "s", "q", "v");
	assert_int_equal(figure(&the, "changes_total"), 2);
	assert_int_equal(figure(&the, "sstables"), 0);
	assert_int_equal(cellfs_flush(the.s, NULL), 0);
	assert_int_equal(figure(&the, "sstables"), 1);
	put(&the, "r", "q", "w");
	flushes = figure(&the, "flushes_total");
	assert_int_equal(cellfs_flush(the.s, the.t), 0);
	assert_true(figure(&the, "flushes_total") > flushes);
	assert_int_equal(cellfs_compact(the.s, NULL), 0);
	assert_int_equal(figure(&the, "sstables"), 1);
}

TEST(figures_have_names_and_counters_begin_at_0)
{
	const struct cellfs_options reader = {.read_only = true};
	uint64_t counted = 0;
	struct figure f = {.name = "level_bytes{level=\"1\"}",
			   .counted = &counted};

	put(&the, "r", "q", "v");
	get(&the, "r", "q");
	cellfs_stats(the.s, note, &f);
	assert_true(f.found && counted > 0);
	shut(&the);
	/* It does nothing that nobody asks for. */
	open_with(&the, &reader);
	counted = 0;
	cellfs_stats(the.s, note, &f);
	assert_int_equal(counted, 0);
}

static void *fails(void *arg)
{
	struct fixture *f = arg;

	assert_string_equal(cellfs_error(), "");
	assert_refused(put(f, "", "q", "v"), -EINVAL, "row key is empty");
	return NULL;
}

TEST(each_thread_has_its_own_sentence)
{
	struct cellfs_table *none;
	pthread_t other;

	assert_refused(cellfs_table_open(the.s, "nowhere", &none), -ENOENT,
		       "nowhere");
	assert_int_equal(pthread_create(&other, NULL, fails, &the), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_non_null(strstr(cellfs_error(), "nowhere"));
	assert_int_equal(put(&the, "r", "q", "v"), 0);
	assert_string_equal(cellfs_error(), "");
}

static void told(void *arg, unsigned what, const char *sentence)
{
	assert_true(sentence[0]);
	((_Atomic int *)arg)[what]++;
}

/* A store whose one table file is @len bytes of what it was, with "damage" in it. */
static struct fixture damaged(const struct cellfs_options *o, char file[256])
{
	struct fixture f = begin();
	int fd;

	for (int i = 0; i < 100; i++)
		put(&f, "r", "q", "vvvvvvvvvvvvvvvvvvvvvvvvvvvvv");
	assert_int_equal(cellfs_flush(f.s, NULL), 0);
	shut(&f);
	file_of(&f, "*.sst", file);
	fd = open(file, O_RDWR);
	assert_int_equal(pwrite(fd, "damage", 6, 8), 6);
	close(fd);
	open_with(&f, o);
	return f;
}

TEST(damage_fails_the_scan_again_and_again)
{
	_Atomic int news[CELLFS_NEWS_DAMAGED + 1] = {0};
	const struct cellfs_options o = {.news = told, .news_arg = news};
	struct cellfs_buffer value = {0};
	struct cellfs_scan *sc = NULL;
	const struct cellfs_cell *c = NULL;
	char file[256];
	struct fixture f = damaged(&o, file);

	/* What the opening has met already is told when it is reached. */
	assert_int_equal(cellfs_scan_open(f.t, NULL, &sc), 0);
	assert_string_equal(cellfs_error(), "");
	assert_refused(cellfs_scan_next(sc, &c), -EUCLEAN, ".sst");
	assert_null(c);
	/* It says why again, whatever was called meanwhile. */
	assert_int_equal(put(&f, "s", "q", "v"), 0);
	assert_string_equal(cellfs_error(), "");
	assert_refused(cellfs_scan_next(sc, &c), -EUCLEAN, ".sst");
	assert_null(c);
	cellfs_scan_close(sc);
	assert_refused(cellfs_get(f.t, str("r"), str("f"), str("q"), &value),
		       -EUCLEAN, ".sst");
	assert_int_equal(value.len, 0);
	assert_int_equal(news[CELLFS_NEWS_DAMAGED], 1);
	cellfs_buffer_free(&value);
	end(&f);
}

static _Atomic int signals;

static void on_signal(int sig)
{
	signals++;
}

/* Gets a hundred rows of 20,000 bytes each: how many fail. */
static int get_rows(struct fixture *f)
{
	struct cellfs_buffer value = {0};
	int failed = 0;
	char row[8];

	for (int i = 0; i < 100; i++) {
		int r;

		snprintf(row, sizeof(row), "%03d", i);
		r = cellfs_get(f->t, str(row), str("f"), str("q"), &value);
		if (r == -EUCLEAN && strstr(cellfs_error(), ".sst"))
			failed++;
		else
			assert_int_equal(r, 1);
	}
	cellfs_buffer_free(&value);
	return failed;
}

/* With so small a cache values are read from mapped files. */
TEST(a_file_that_is_cut_short_is_an_error_and_no_signal)
{
	const struct cellfs_options small = {.cache_bytes = 256 << 10};
	static const char big[20000];
	struct fixture f = begin();
	struct sigaction now;
	char row[8], file[256];

	for (int i = 0; i < 100; i++) {
		snprintf(row, sizeof(row), "%03d", i);
		assert_int_equal(cellfs_put(f.t, str(row), str("f"), str("q"),
					    cellfs_bytes_of(big, sizeof(big))),
				 0);
	}
	assert_int_equal(cellfs_flush(f.s, NULL), 0);
	shut(&f);
	signal(SIGBUS, on_signal);
	open_with(&f, &small);
	assert_int_equal(get_rows(&f), 0);
	assert_int_equal(get_rows(&f), 0);
	file_of(&f, "*.sst", file);
	assert_int_equal(truncate(file, 4096), 0);
	assert_in_range(get_rows(&f), 1, 100);
	assert_int_equal(signals, 0);
	/* That of somebody else is the program's. */
	raise(SIGBUS);
	assert_int_equal(signals, 1);
	shut(&f);
	assert_int_equal(sigaction(SIGBUS, NULL, &now), 0);
	assert_true(now.sa_handler == on_signal);
	signal(SIGBUS, SIG_DFL);
	wipe(&f);
}

/* No file may grow: the write of the log fails. */
TEST(a_store_whose_log_failed_says_so_and_takes_no_writes)
{
	struct fixture f = begin();
	_Atomic int news[CELLFS_NEWS_DAMAGED + 1] = {0};
	const struct cellfs_options o = {.news = told, .news_arg = news};
	struct rlimit before, none;

	shut(&f);
	open_with(&f, &o);
	put(&f, "r", "q", "v");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	/* The first one may be synced by the clock. */
	put(&f, "s", "q", "v");
	assert_true(cellfs_sync(f.s) < 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	/* So may this, and that thread is about to tell of it. */
	for (int i = 0; i < 60000 && !news[CELLFS_NEWS_FAILED]; i++)
		usleep(1000);
	assert_int_equal(news[CELLFS_NEWS_FAILED], 1);
	assert_refused(put(&f, "r", "q", "w"), -EROFS, "no more writes");
	assert_refused(cellfs_sync(f.s), -EROFS, "no more writes");
	assert_refused(cellfs_table_create(f.s, "u", ""), -EROFS,
		       "no more writes");
	assert_int_equal(news[CELLFS_NEWS_FAILED], 1);
	assert_string_equal(get(&f, "r", "q"), "v");
	cellfs_table_close(f.t);
	assert_true(cellfs_close(f.s) < 0);
	assert_true(cellfs_error()[0]);
	wipe(&f);
}
