/* The log that is kept. Crashes of it: wal_crash.c. */
#include "tests/unit/unit.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/wal_kept.h"
#include "tests/unit/wal_records.h"

#define ID 0xabcdef
#define SEGMENT 16384

static struct {
	struct os *sim, *os; /* @os: the same, whose calls may fail */
	struct os_dir *dir;
	struct wal_options o;
	struct wal *w;
	uint32_t n; /* records appended */
} the;

static struct os_dir *dir_of(struct os *os, const char *path)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, path, true, &d), 0);
	return d;
}

static void open_log(uint64_t first, uint32_t from)
{
	struct seen s = {.next = from};
	int r = wal_open(the.dir, &the.o, first, false, see, &s, &the.w);

	if (r < 0)
		fail_msg("%s", store_why());
	assert_false(s.wrong);
	assert_int_equal(s.next, the.n);
}

static void new_place(uint64_t keep)
{
	memset(&the, 0, sizeof(the));
	the.o = (struct wal_options){.segment_bytes = SEGMENT,
				     .ring_bytes = 4096,
				     .keep = keep,
				     .keep_id = ID};
	the.sim = sim_new(1);
	the.os = fault_new(the.sim);
	the.dir = dir_of(the.os, "/s");
	open_log(1, 0);
}

static void end_place(void)
{
	if (the.w)
		assert_int_equal(wal_close(the.w), 0);
	os_dir_close(the.dir);
	fault_free(the.os);
	sim_free(the.sim);
}

static int set_up(void **state)
{
	new_place(1 << 30);
	return 0;
}

static int tear_down(void **state)
{
	end_place();
	return 0;
}

EACH_TEST_IN(set_up, tear_down);

static void append(uint32_t records)
{
	uint64_t lsn;

	for (uint32_t i = 0; i < records; i++, the.n++)
		assert_int_equal(
			append_record(the.w, the.n, length_of(the.n), &lsn), 0);
}

/* All that there is goes out of use; the number of what comes. */
static uint64_t release(void)
{
	uint64_t segment;

	assert_int_equal(wal_rotate(the.w, &segment), 0);
	assert_int_equal(wal_release(the.w, segment), 0);
	return segment;
}

static struct kept_log kept(void)
{
	return kept_look(the.dir, ID);
}

static uint64_t kept_bytes(void)
{
	struct wal_stat st;

	wal_stat(the.w, &st);
	return st.kept_bytes;
}

static bool exists(const char *name)
{
	struct os_file *f = NULL;
	bool is = os_open(the.dir, name, OS_READ, &f) == 0;

	os_close(f);
	return is;
}

TEST(released_segments_are_kept_up_to_their_end)
{
	struct kept_log k;

	for (uint64_t i = 1; i <= 9; i++) {
		append(70);
		assert_true(release() > i);
	}
	k = kept();
	assert_int_equal(k.first, 1);
	assert_int_equal(k.holes, 0);
	assert_true(k.n > 9);
	assert_int_equal(kept_bytes(), k.bytes);
	/* None has what a segment has behind its records. */
	assert_true(k.bytes < k.n * WAL_BLOCK_BYTES + the.n * 200);
	assert_false(exists("wal-0000000000000001.log"));
	assert_int_equal(kept_replay(the.dir, ID, 0), the.n);
}

/* Whole segments, one that was opened again, and an empty log between. */
TEST(it_is_one_log_over_closes_and_opens)
{
	uint64_t first = 1;
	uint32_t from = 0;

	for (int i = 0; i < 12; i++) {
		append(i % 3 == 1 ? 200 : 3);
		if (i % 2) {
			first = release();
			from = the.n;
		}
		assert_int_equal(wal_close(the.w), 0);
		open_log(first, from);
	}
	assert_int_equal(kept().holes, 0);
	assert_int_equal(kept().first, 1);
	assert_int_equal(kept_replay(the.dir, ID, 0), the.n);
}

/* The catalog had moved on when the process died: they were needed no more. */
TEST(what_an_open_finds_below_the_first_is_kept)
{
	for (int clean = 0; clean < 2; clean++) {
		for (int more = 0; more < 2; more++) {
			uint64_t first;

			end_place();
			new_place(1 << 30);
			append(400);
			assert_int_equal(wal_rotate(the.w, &first), 0);
			if (more)
				append(5);
			if (clean)
				assert_int_equal(wal_close(the.w), 0);
			else
				wal_abandon(the.w);
			open_log(first, 400);
			assert_int_equal(kept().first, 1);
			assert_int_equal(kept().n, first - 1);
			assert_int_equal(kept().holes, 0);
			assert_int_equal(kept_bytes(), kept().bytes);
			assert_int_equal(kept_replay(the.dir, ID, 0), 400);
			append(9);
			release();
			assert_int_equal(kept().holes, 0);
			assert_int_equal(kept_replay(the.dir, ID, 0), the.n);
		}
	}
}

TEST(beyond_the_limit_the_oldest_goes)
{
	struct kept_log k;

	end_place();
	new_place(40000);
	for (int i = 0; i < 30; i++) {
		append(40);
		release();
		k = kept();
		assert_true(k.bytes <= 40000);
		assert_int_equal(k.bytes, kept_bytes());
		assert_int_equal(k.holes, 0);
	}
	assert_true(k.n > 2);
	assert_true(k.first > 20);
	/* A lower one is of now, a higher one of what comes. */
	wal_keep(the.w, 20000, ID);
	assert_true(kept_bytes() <= 20000);
	assert_true(kept().n > 0);
	wal_keep(the.w, 0, ID);
	assert_int_equal(kept().n, 0);
	assert_int_equal(kept_bytes(), 0);
	append(40);
	release();
	assert_int_equal(kept().n, 0);
}

TEST(nothing_is_kept_that_nobody_asked_for)
{
	struct wal_stat st;

	end_place();
	new_place(0);
	append(400);
	release();
	assert_int_equal(kept().n, 0);
	wal_stat(the.w, &st);
	assert_true(st.recycled > 0);
}

TEST(another_keeping_has_another_id)
{
	append(400);
	release();
	assert_true(kept().n > 1);
	wal_keep(the.w, 1 << 30, ID + 1);
	append(40);
	release();
	assert_int_equal(kept_look(the.dir, ID + 1).n, 1);
	assert_int_equal(kept_bytes(),
			 kept().bytes + kept_look(the.dir, ID + 1).bytes);
	/* The oldest are those before. */
	wal_keep(the.w, kept_look(the.dir, ID + 1).bytes, ID + 1);
	assert_int_equal(kept().n, 0);
	assert_int_equal(kept_look(the.dir, ID + 1).n, 1);
}

TEST(what_is_held_does_not_go)
{
	uint64_t end, pos;
	size_t n;

	append(400);
	release();
	n = kept().n;
	append(1);
	assert_int_equal(wal_hold(the.w, &end, &pos), 0);
	assert_int_equal(wal_hold(the.w, &end, &pos), 0);
	wal_keep(the.w, 0, ID);
	assert_int_equal(kept().n, n);
	assert_int_equal(wal_lendable(the.w), 0);
	assert_int_equal(wal_lend(the.w), 0);
	wal_let_go(the.w);
	assert_int_equal(kept().n, n);
	/* When nobody holds it the limit holds again. */
	wal_let_go(the.w);
	assert_int_equal(kept().n, 0);
}

TEST(it_is_lent_before_the_reserve)
{
	uint64_t bytes;
	size_t n;

	append(400);
	release();
	n = kept().n;
	bytes = kept_bytes();
	assert_int_equal(wal_lendable(the.w), bytes);
	for (size_t i = 1; i <= n; i++) {
		assert_int_equal(wal_lend(the.w), 1);
		assert_int_equal(kept().n, n - i);
		assert_int_equal(kept().holes, 0);
		assert_int_equal(wal_lendable(the.w), kept().bytes);
	}
	assert_int_equal(kept_bytes(), 0);
	assert_int_equal(wal_lend(the.w), 0);
	wal_repay(the.w, (unsigned)n);
}

/* On a disk for eight segments and the ring. */
TEST(a_full_disk_costs_what_is_kept_and_no_change)
{
	sim_set_space(the.sim, 8 * SEGMENT);
	for (int i = 0; i < 40; i++) {
		append(40);
		release();
		assert_int_equal(kept().holes, 0);
	}
	assert_true(kept().n > 2);
	assert_true(kept().first > 20);
	/* All of it, when one record needs it. */
	assert_int_equal(
		append_record(the.w, the.n++, 6 * SEGMENT, &(uint64_t){0}), 0);
	assert_int_equal(kept().n, 0);
}

struct told {
	uint64_t bytes;
	size_t n;
};

static int tell(void *arg, const struct wal_file *f)
{
	struct told *t = arg;
	struct os_file *file = NULL;
	uint64_t id, number, size;

	assert_true(wal_kept_number(f->name, &id, &number));
	assert_int_equal(id, ID);
	assert_int_equal(os_open(the.dir, f->name, OS_READ, &file), 0);
	assert_int_equal(os_size(file, &size), 0);
	os_close(file);
	assert_int_equal(size, f->size);
	assert_int_equal(size, f->bytes);
	t->bytes += size;
	t->n++;
	return t->n == 100 ? -ECANCELED : 0;
}

TEST(a_copy_is_told_of_each)
{
	struct told t = {0};
	struct fault_plan plan = {.kinds = FAULT_OPEN, .nth = 2, .err = EMFILE};

	append(400);
	release();
	assert_int_equal(wal_kept_files(the.dir, tell, &t), 0);
	assert_int_equal(t.n, kept().n);
	assert_int_equal(t.bytes, kept().bytes);
	t = (struct told){.n = 98};
	assert_int_equal(wal_kept_files(the.dir, tell, &t), -ECANCELED);
	/* One that cannot be looked at is not one of no bytes. */
	t = (struct told){0};
	plan.nth = 3;
	fault_arm(the.os, &plan);
	assert_int_equal(wal_kept_files(the.dir, tell, &t), -EMFILE);
	assert_int_equal(fault_fired(the.os), 1);
	fault_disarm(the.os);
}

/* What is kept is not cut off, and not listed as gone. */
TEST(without_descriptors_it_is_only_later_that_it_goes)
{
	struct fault_plan plan = {
		.kinds = FAULT_OPEN, .nth = 1, .err = EMFILE, .forever = true};
	uint64_t bytes;

	append(400);
	release();
	bytes = kept_bytes();
	fault_arm(the.os, &plan);
	assert_int_equal(wal_lend(the.w), 0);
	assert_int_equal(wal_lendable(the.w), bytes);
	fault_disarm(the.os);
	assert_int_equal(wal_lend(the.w), 1);
	wal_repay(the.w, 1);
}

/* It is as good as not kept, and the log goes on. */
TEST(what_cannot_be_kept_is_a_hole)
{
	static const unsigned kinds[] = {FAULT_OPEN, FAULT_PREAD, FAULT_PWRITE,
					 FAULT_FDATASYNC, FAULT_TRUNCATE};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct fault_plan plan = {
			.kinds = kinds[i], .nth = 1, .err = EIO};
		uint64_t segment;

		end_place();
		new_place(1 << 30);
		append(40);
		assert_int_equal(release(), 2);
		append(40);
		assert_int_equal(wal_rotate(the.w, &segment), 0);
		why_clear();
		fault_arm(the.os, &plan);
		assert_int_equal(wal_release(the.w, segment), 0);
		assert_int_equal(fault_fired(the.os), 1);
		fault_disarm(the.os);
		assert_string_equal(store_why(), "");
		assert_int_equal(kept().n, 1);
		append(40);
		assert_int_equal(release(), 4);
		assert_int_equal(kept().n, 2);
		assert_int_equal(kept().holes, 1);
		assert_int_equal(kept_bytes(), kept().bytes);
		assert_int_equal(wal_health(the.w), 0);
	}
}

/* Reads @name in parts of @bytes; their number, or the failure. */
static int check_in_parts(const char *name, uint64_t bytes)
{
	uint64_t at = 0, was;
	int parts = 1, r;

	for (; (was = at, r = wal_kept_check(the.dir, name, &at, bytes)) > 0;
	     parts++)
		assert_true(at > was && at < SEGMENT);
	return r < 0 ? r : parts;
}

static void flip(const char *name, uint64_t at)
{
	struct os_file *f = NULL;
	uint8_t byte;

	assert_int_equal(os_open(the.dir, name, OS_WRITE, &f), 0);
	assert_int_equal(os_pread(f, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(os_pwrite(f, &byte, 1, at), 0);
	os_close(f);
}

static void is_named(const char *name, uint64_t byte)
{
	char begin[80];
	unsigned long long at;

	snprintf(begin, sizeof(begin), "%s is damaged at byte ", name);
	assert_memory_equal(store_why(), begin, strlen(begin));
	assert_int_equal(sscanf(store_why() + strlen(begin), "%llu:", &at), 1);
	/* That of the record, or of the part of the first block. */
	assert_true(at <= byte && byte - at < WAL_BLOCK_BYTES);
	assert_non_null(strstr(store_why(), "cannot be restored with it"));
	assert_non_null(strstr(store_why(), "the data itself is whole"));
}

TEST(each_damaged_byte_of_it_is_found)
{
	char name[WAL_KEPT_NAME_BYTES];
	struct os_file *f = NULL;
	uint64_t size;

	append(400);
	release();
	for (uint64_t n = 1; n <= kept().n; n++) {
		wal_kept_name(name, ID, n);
		assert_int_equal(check_in_parts(name, UINT64_MAX), 1);
		assert_true(check_in_parts(name, 1000) > 5);
	}
	wal_kept_name(name, ID, 2);
	assert_int_equal(os_open(the.dir, name, OS_READ, &f), 0);
	assert_int_equal(os_size(f, &size), 0);
	os_close(f);
	for (uint64_t i = 0; i < size; i++) {
		flip(name, i);
		assert_int_equal(check_in_parts(name, UINT64_MAX), -EUCLEAN);
		is_named(name, i);
		assert_int_equal(check_in_parts(name, 1000), -EUCLEAN);
		is_named(name, i);
		flip(name, i);
	}
	assert_int_equal(check_in_parts(name, 1000) > 5, 1);
}

TEST(one_that_is_cut_off_unread_or_gone_is_told_apart)
{
	struct fault_plan plan = {.kinds = FAULT_PREAD, .nth = 1, .err = EIO};
	char name[WAL_KEPT_NAME_BYTES];
	struct os_file *f = NULL;
	uint64_t size, at = 0;

	append(400);
	release();
	wal_kept_name(name, ID, 1);
	fault_arm(the.os, &plan);
	assert_int_equal(wal_kept_check(the.dir, name, &at, UINT64_MAX),
			 -EUCLEAN);
	assert_int_equal(fault_fired(the.os), 1);
	fault_disarm(the.os);
	assert_non_null(strstr(store_why(), name));
	assert_non_null(strstr(store_why(), "the data itself is whole"));
	/* Without a descriptor nothing is known of it. */
	plan = (struct fault_plan){
		.kinds = FAULT_OPEN, .nth = 1, .err = EMFILE};
	fault_arm(the.os, &plan);
	assert_int_equal(wal_kept_check(the.dir, name, &at, UINT64_MAX),
			 -EMFILE);
	fault_disarm(the.os);
	assert_int_equal(os_open(the.dir, name, OS_WRITE, &f), 0);
	assert_int_equal(os_size(f, &size), 0);
	for (uint64_t cut = size - 1; cut + 7 >= 7 && cut < size; cut -= 7) {
		assert_int_equal(os_truncate(f, cut), 0);
		assert_int_equal(wal_kept_check(the.dir, name, &at, UINT64_MAX),
				 -EUCLEAN);
	}
	os_close(f);
	wal_kept_name(name, ID, 999);
	assert_int_equal(wal_kept_check(the.dir, name, &at, UINT64_MAX),
			 -ENOENT);
	assert_int_equal(wal_kept_check(the.dir, "wal.ring", &at, UINT64_MAX),
			 -EINVAL);
}

TEST(all_that_is_too_much_goes_after_one_look)
{
	struct fault_plan plan = {
		.kinds = FAULT_DIR_LIST, .nth = UINT64_MAX, .err = EIO};

	for (int i = 0; i < 100; i++) {
		append(1);
		release();
	}
	assert_int_equal(kept().n, 100);
	fault_arm(the.os, &plan);
	wal_keep(the.w, 10 * (WAL_BLOCK_BYTES + 400), ID);
	/* One to sum up, and one to see which. */
	assert_int_equal(fault_calls(the.os), 2);
	assert_in_range(kept().n, 10, 11);
	assert_int_equal(kept().first + kept().n - 1, 100);
	assert_int_equal(kept().bytes, kept_bytes());
	fault_disarm(the.os);
}

TEST(reading_only_changes_nothing)
{
	struct seen s = {.next = 400};
	size_t length;
	uint64_t first;

	append(400);
	assert_int_equal(wal_rotate(the.w, &first), 0);
	append(5);
	assert_int_equal(wal_close(the.w), 0);
	length = sim_log_length(the.sim);
	for (uint64_t keep = 0; keep < 2; keep++) {
		the.o.keep = keep;
		s.next = 400;
		assert_int_equal(
			wal_open(the.dir, &the.o, first, true, see, &s, &the.w),
			0);
		assert_int_equal(s.next, 405);
		wal_keep(the.w, 1, ID);
		assert_int_equal(wal_close(the.w), 0);
	}
	assert_int_equal(sim_log_length(the.sim), length);
	the.w = NULL;
}

TEST(only_its_own_names_are_its)
{
	static const char *const others[] = {
		"kept-",
		"kept-0-0.log",
		"kept-0000000000000001-0000000000000001.lo",
		"kept-0000000000000001-0000000000000001.log.old",
		"kept-0000000000000001-000000000000000A.log",
		"kept-+000000000000001-0000000000000001.log",
		"kept- 000000000000001-0000000000000001.log",
		"kept-0x00000000000001-0000000000000001.log",
		"kept-00000000000000001-000000000000001.log",
		"Kept-0000000000000001-0000000000000001.log",
		"wal-0000000000000001.log",
	};
	char name[WAL_KEPT_NAME_BYTES];
	uint64_t id, number;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(wal_kept_number(others[i], &id, &number));
	wal_kept_name(name, UINT64_MAX, UINT64_MAX - 1);
	assert_true(wal_kept_number(name, &id, &number));
	assert_true(id == UINT64_MAX && number == UINT64_MAX - 1);
	assert_int_equal(strlen(name), WAL_KEPT_NAME_BYTES - 1);
}
