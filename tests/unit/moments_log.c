/*
 * The log between two backups: what is had of it where it forks, where its end is
 * not kept, and where files of it are damaged or missing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_replay.h"
#include "tests/unit/backups.h"
#include "tests/unit/unit.h"

static void put(struct temp_store *s, const char *value)
{
	backups_now += 5;
	assert_int_equal(temp_put(s, "r", "f", "q", TS_AUTO, value), 1);
	backups_now += 5;
}

/* Of a store restored as of @at; is it that moment, or *why not? */
static const char *value_or_why(const char *folder, int64_t at,
				char why_not[WHY_MAX])
{
	struct temp_store s = {.options = {.os = &backups_os}};
	struct backup_done done;
	const char *value;
	struct folder f;
	uint64_t number;
	int64_t taken = 0;

	snprintf(s.path, sizeof(s.path), "%s.at", folder);
	assert_int_equal(folder_open(folder, FOLDER_READ, &f), 0);
	number = backups_before(&f, at, &taken);
	assert_int_equal(
		backup_restore(&f, number, at, s.path, &backups_watch, &done),
		0);
	folder_close(&f);
	snprintf(why_not, WHY_MAX, "%s", done.log_why);
	assert_int_equal(done.moment_ms, why_not[0] ? taken : at);
	/* The store keeps its log in all these tests. */
	assert_int_equal(done.log_faults, why_not[0] != '\0');
	assert_int_equal(temp_open(&s), 0);
	value = temp_get(&s, "r", "f", "q");
	assert_int_equal(temp_remove(&s), 0);
	return value;
}

/* As of @at; is that moment @there, or one before it? */
static const char *value_at(const char *folder, int64_t at, bool there)
{
	char why_not[WHY_MAX];
	const char *value = value_or_why(folder, at, why_not);

	assert_int_equal(!why_not[0], there);
	return value;
}

static void remove_folder(const char *path)
{
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "rm -r %s", path);
	assert_int_equal(system(cmd), 0);
}

/* Segments of both have the same numbers, and their backups one folder. */
static void fork_a_store(unsigned flushes)
{
	struct temp_store a = {
		.options = {.os = &backups_os, .inline_background = true}};
	struct temp_store b = {.options = a.options};
	char folder[80];
	struct backup_done done;
	struct folder f;
	int64_t in_a, in_b;

	assert_int_equal(temp_make(&a), 0);
	snprintf(folder, sizeof(folder), "%s.b", a.path);
	snprintf(b.path, sizeof(b.path), "%.50s.other", a.path);
	assert_int_equal(store_keep_log(a.store, 64 << 20), 0);
	put(&a, "first");
	backups_carry(folder, a.store, a.path);
	assert_int_equal(folder_open(folder, FOLDER_READ, &f), 0);
	assert_int_equal(
		backup_restore(&f, 1, 0, b.path, &backups_watch, &done), 0);
	folder_close(&f);

	put(&a, "of a");
	in_a = backups_now;
	put(&a, "of a, later");
	backups_carry(folder, a.store, a.path);
	assert_int_equal(temp_open(&b), 0);
	assert_int_equal(store_keep_log(b.store, 64 << 20), 0);
	for (unsigned i = 0; i < flushes; i++) {
		put(&b, "of b, first");
		assert_int_equal(store_flush(b.store, NULL), 0);
	}
	put(&b, "of b");
	in_b = backups_now;
	put(&b, "of b, last");
	backups_carry_at_rest(folder, &b, false);

	assert_string_equal(value_at(folder, in_a, true), "of a");
	assert_string_equal(value_at(folder, in_b, false), "of a, later");
	assert_string_equal(value_at(folder, backups_now, true), "of b, last");
	assert_int_equal(temp_remove(&a), 0);
	assert_int_equal(temp_remove(&b), 0);
	remove_folder(folder);
}

TEST(two_stores_of_one_backup_are_not_taken_for_one)
{
	/* One of these has the number that the other's log would go on with. */
	for (unsigned i = 0; i < 4; i++)
		fork_a_store(i);
}

TEST(a_log_whose_end_is_not_kept_leads_nowhere)
{
	struct temp_store a = {
		.options = {.os = &backups_os, .inline_background = true}};
	char folder[80];
	int64_t at;

	assert_int_equal(temp_make(&a), 0);
	snprintf(folder, sizeof(folder), "%s.b", a.path);
	/* No segment is so small. */
	assert_int_equal(store_keep_log(a.store, 1), 0);
	put(&a, "first");
	backups_carry(folder, a.store, a.path);
	put(&a, "second");
	at = backups_now;
	put(&a, "third");
	backups_carry(folder, a.store, a.path);
	assert_string_equal(value_at(folder, at, false), "first");
	assert_int_equal(temp_remove(&a), 0);
	remove_folder(folder);
}

/*
 * What another backup holds of the log is neither needed any more nor kept yet, also
 * where the store has died since.
 */
TEST(a_backup_beside_another_has_the_log_up_to_it)
{
	for (int dies = 0; dies < 2; dies++) {
		struct temp_store a = {.options = {.os = &backups_os,
						   .inline_background = true}};
		char folder[80];
		struct hold *other;
		int64_t at;

		assert_int_equal(temp_make(&a), 0);
		snprintf(folder, sizeof(folder), "%s.b", a.path);
		assert_int_equal(store_keep_log(a.store, 64 << 20), 0);
		put(&a, "first");
		backups_carry(folder, a.store, a.path);
		assert_int_equal(store_hold(a.store, &other), 0);
		put(&a, "second");
		at = backups_now;
		put(&a, "third");
		if (!dies)
			backups_carry(folder, a.store, a.path);
		assert_int_equal(store_flush(a.store, NULL), 0);
		hold_release(other);
		if (dies)
			backups_carry_at_rest(folder, &a, true);
		assert_string_equal(value_at(folder, at, true), "second");
		/* The next one has what the log goes on with. */
		put(&a, "fourth");
		at = backups_now;
		put(&a, "fifth");
		backups_carry(folder, a.store, a.path);
		assert_string_equal(value_at(folder, at, true), "fourth");
		assert_int_equal(temp_remove(&a), 0);
		remove_folder(folder);
	}
}

static void count(void *arg, const char *sentence)
{
	++*(int *)arg;
}

/* What a check finds that reads a little at a time. */
static int faults_in_use(struct store *s)
{
	struct store_checking at = {0};
	int faults = 0, parts = 0, r;

	while ((r = store_check_part(s, &at, 5000, count, &faults)) > 0)
		parts++;
	assert_int_equal(r, 0);
	assert_true(parts > 30);
	return faults;
}

/* The name of the kept segment behind @after in the order of names; ""? None. */
static void next_kept(const char *dir, const char *after, char out[64])
{
	struct dirent *e;
	DIR *d = opendir(dir);

	out[0] = '\0';
	assert_non_null(d);
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, HOLD_KEPT, strlen(HOLD_KEPT)) &&
		    strcmp(e->d_name, after) > 0 &&
		    (!out[0] || strcmp(e->d_name, out) < 0))
			snprintf(out, 64, "%.63s", e->d_name);
	closedir(d);
}

/* Another byte at @at of the file, or before its end where that is negative. */
static void harm(const char *dir, const char *name, long at)
{
	char path[200];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
	c = fgetc(f);
	assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
	assert_int_equal(fputc(c ^ 1, f), c ^ 1);
	assert_int_equal(fclose(f), 0);
}

TEST(a_check_finds_each_kept_segment_that_is_damaged)
{
	struct temp_store a = {.options = {.os = &backups_os,
					   .inline_background = true,
					   .wal_segment_bytes = 65536}};
	char name[64] = "", behind[64], row[16], value[200];
	int harmed = 0, found = 0;

	assert_int_equal(temp_make(&a), 0);
	assert_int_equal(store_keep_log(a.store, 64 << 20), 0);
	memset(value, 'x', sizeof(value));
	value[199] = '\0';
	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "%d", i);
		assert_int_equal(temp_put(&a, row, "f", "q", TS_AUTO, value),
				 1);
	}
	assert_int_equal(store_flush(a.store, NULL), 0);
	assert_int_equal(faults_in_use(a.store), 0);
	for (;; harmed++) {
		next_kept(a.path, name, behind);
		if (!behind[0])
			break;
		memcpy(name, behind, sizeof(name));
		harm(a.path, name, -40);
		assert_int_equal(faults_in_use(a.store), harmed + 1);
	}
	assert_true(harmed > 2);
	assert_int_equal(temp_close(&a), 0);
	assert_int_equal(store_check(a.path, NULL, count, &found), harmed);
	assert_int_equal(found, harmed);
	assert_int_equal(temp_open(&a), 0);
	assert_int_equal(temp_remove(&a), 0);
}

static void tell_nothing(void *arg, const char *sentence)
{
	fail_msg("%s", sentence);
}

TEST(a_kept_segment_that_cannot_be_had_is_left_out)
{
	struct temp_store a = {
		.options = {.os = &backups_os, .inline_background = true}};
	char folder[80], name[64], behind[64], cmd[200];
	struct backup_done done;
	uint64_t known = 0;
	unsigned kinds = 0;
	struct folder f;
	struct hold *h;
	int64_t at;

	assert_int_equal(temp_make(&a), 0);
	snprintf(folder, sizeof(folder), "%s.b", a.path);
	assert_int_equal(store_keep_log(a.store, 64 << 20), 0);
	put(&a, "first");
	backups_carry(folder, a.store, a.path);
	put(&a, "second");
	at = backups_now;
	put(&a, "third");
	assert_int_equal(folder_open(folder, FOLDER_WRITE, &f), 0);
	assert_int_equal(store_hold(a.store, &h), 0);
	for (next_kept(a.path, "", behind); behind[0];
	     next_kept(a.path, name, behind))
		memcpy(name, behind, sizeof(name));
	snprintf(cmd, sizeof(cmd), "rm %s/%s", a.path, name);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(
		backup_make(&f, a.path, h, SHARE_FILE, &backups_watch, &done),
		0);
	assert_int_equal(done.log_faults, 1);
	assert_non_null(strstr(done.log_why, name));
	assert_int_equal(done.files, h->nfiles - 1);
	hold_release(h);
	assert_int_equal(backup_check(&f, 2, &known, &kinds, tell_nothing, NULL,
				      &backups_watch),
			 0);
	assert_int_equal(kinds, 0);
	folder_close(&f);
	snprintf(cmd, sizeof(cmd),
		 "test -z \"$(ls %s/2 | grep -e part -e %s)\"", folder, name);
	assert_int_equal(system(cmd), 0);
	assert_string_equal(value_at(folder, at, false), "first");
	assert_string_equal(value_at(folder, done.moment_ms, true), "third");
	assert_int_equal(temp_remove(&a), 0);
	remove_folder(folder);
}

#define PUTS 10

/* A log of some segments between two backups, of which each put is a moment. */
struct stretch {
	struct temp_store a;
	char folder[80], dir[88]; /* of all backups, and of the second one */
	int64_t at[PUTS];
	uint64_t segment[PUTS + 2]; /* that has the put; behind: none */
};

static uint64_t newest_segment(const char *dir)
{
	uint64_t n, last = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((e = readdir(d)))
		if (wal_segment_number(e->d_name, &n) && n > last)
			last = n;
	closedir(d);
	return last;
}

/* With @dies the log lies in the backup as a death has left it. */
static void make_stretch(struct stretch *k, bool dies)
{
	static char filler[20000];
	char value[8];

	*k = (struct stretch){.a.options = {.os = &backups_os,
					    .inline_background = true,
					    .wal_segment_bytes = 65536}};
	memset(filler, 'x', sizeof(filler) - 1);
	assert_int_equal(temp_make(&k->a), 0);
	snprintf(k->folder, sizeof(k->folder), "%s.b", k->a.path);
	snprintf(k->dir, sizeof(k->dir), "%s/2", k->folder);
	assert_int_equal(store_keep_log(k->a.store, 64 << 20), 0);
	put(&k->a, "before");
	backups_carry(k->folder, k->a.store, k->a.path);
	for (int i = 0; i < PUTS; i++) {
		backups_now++;
		assert_int_equal(
			temp_put(&k->a, "s", "f", "q", TS_AUTO, filler), 1);
		snprintf(value, sizeof(value), "%d", i);
		put(&k->a, value);
		k->at[i] = backups_now;
		k->segment[i] = newest_segment(k->a.path);
	}
	k->segment[PUTS] = k->segment[PUTS + 1] = UINT64_MAX;
	backups_now++;
	if (dies)
		backups_carry_at_rest(k->folder, &k->a, true);
	else
		backups_carry(k->folder, k->a.store, k->a.path);
}

static void end_stretch(struct stretch *k)
{
	assert_int_equal(temp_remove(&k->a), 0);
	remove_folder(k->folder);
}

/*
 * Segment @lost is not there, or its last record alone. Moments before are had as
 * they were, and those behind are not.
 */
static void each_moment_is_had_or_not(const struct stretch *k, uint64_t lost,
				      bool end_alone)
{
	char why_not[WHY_MAX], value[8];
	const char *got;

	for (int i = 0; i < PUTS; i++) {
		/* A record behind it shows that nothing is missing before. */
		bool must = end_alone ? k->segment[i + 2] <= lost
				      : k->segment[i + 1] < lost;
		bool may = end_alone ? k->segment[i] <= lost
				     : k->segment[i] < lost;

		got = value_or_why(k->folder, k->at[i], why_not);
		snprintf(value, sizeof(value), "%d", i);
		assert_string_equal(got, why_not[0] ? "before" : value);
		if (must && why_not[0])
			fail_msg("moment %d: %s", i, why_not);
		if (!may)
			assert_non_null(strstr(
				why_not,
				"the log up to it is not whole: in backup 2 "));
	}
}

/* Before the zeros at its end. */
static long last_byte(const char *dir, const char *name)
{
	char path[200];
	long last = 0, at = 0;
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	for (; (c = fgetc(f)) != EOF; at++)
		last = c ? at : last;
	assert_int_equal(fclose(f), 0);
	return last;
}

static void lose(const struct stretch *k, const char *name, uint64_t number)
{
	char path[200], away[200];
	long last = last_byte(k->dir, name);

	snprintf(path, sizeof(path), "%s/%s", k->dir, name);
	snprintf(away, sizeof(away), "%s.away", k->a.path);
	assert_int_equal(rename(path, away), 0);
	each_moment_is_had_or_not(k, number, false);
	assert_int_equal(rename(away, path), 0);
	harm(k->dir, name, 20);
	each_moment_is_had_or_not(k, number, false);
	harm(k->dir, name, 20);
	harm(k->dir, name, last);
	each_moment_is_had_or_not(k, number, true);
	harm(k->dir, name, last);
}

/* The file of the segment, kept or not. */
static void segment_file(const char *dir, uint64_t number, char out[64])
{
	uint64_t id, n;
	struct dirent *e;
	DIR *d = opendir(dir);

	out[0] = '\0';
	assert_non_null(d);
	while ((e = readdir(d)))
		if ((wal_kept_number(e->d_name, &id, &n) ||
		     wal_segment_number(e->d_name, &n)) &&
		    n == number)
			snprintf(out, 64, "%.63s", e->d_name);
	closedir(d);
	assert_string_not_equal(out, "");
}

TEST(moments_before_what_is_lost_of_the_log_are_had)
{
	struct stretch k;
	uint64_t n;
	char name[64];

	for (int dies = 0; dies < 2; dies++) {
		make_stretch(&k, dies);
		for (int i = 0; i < PUTS; i++)
			assert_int_equal(
				atoi(value_at(k.folder, k.at[i], true)), i);
		assert_true(k.segment[PUTS - 1] - k.segment[0] > 2);
		for (n = k.segment[0]; n <= k.segment[PUTS - 1]; n++) {
			segment_file(k.dir, n, name);
			assert_int_equal(name[0], dies ? 'w' : 'k');
			lose(&k, name, n);
		}
		end_stretch(&k);
	}
}

/* Its first page is mapped nowhere: reading it is EIO, as of a bad disk. */
TEST(of_a_file_that_cannot_be_read_nothing_is_left)
{
	const struct hold_file mem = {.name = "mem", .bytes = 4096};
	char path[] = "/tmp/cellfs-carry-XXXXXX";
	int from = open("/proc/self", O_RDONLY | O_DIRECTORY), to;
	uint64_t hash;

	assert_non_null(mkdtemp(path));
	to = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(from >= 0 && to >= 0);
	assert_int_equal(
		carry_file(from, to, &mem, SHARE_FILE, &backups_watch, &hash),
		-EIO);
	assert_non_null(strstr(store_why(), "reading mem"));
	close(from);
	close(to);
	assert_int_equal(rmdir(path), 0);
}

/* Attributes cannot be had. */
static bool blind;
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
	if (!blind)
		return fstatat(fd, "", st, AT_EMPTY_PATH);
	errno = EIO;
	return -1;
}

int __wrap_fstat64(int fd, struct stat *st);
int __wrap_fstat64(int fd, struct stat *st)
{
	return __wrap_fstat(fd, st);
}

TEST(a_file_that_cannot_be_looked_at_is_not_damaged)
{
	const struct hold_file f = {.name = "stat"};
	int from = open("/proc/self", O_RDONLY | O_DIRECTORY);
	uint64_t hash;

	blind = true;
	assert_int_equal(carry_hash(from, &f, &backups_watch, &hash), -EIO);
	blind = false;
	assert_non_null(strstr(store_why(), "looking at stat"));
	close(from);
}
