/* The log that is kept. Crashes of it: wal_crash.c. */
#include "tests/unit/unit.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/wal_kept.h"
#include "tests/unit/wal_records.h"

#define ID 0xabcdef
#define SEGMENT 16384

struct place {
	struct os *sim, *os; /* @os: the same, whose calls may fail */
	struct os_dir *dir;
	struct wal_options o;
	struct wal *w;
	uint32_t n; /* records appended */
};

static struct os_dir *dir_of(struct os *os, const char *path)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, path, true, &d), 0);
	return d;
}

static void open_log(struct place *p, uint64_t first, uint32_t from)
{
	struct seen s = {.next = from};
	int r = wal_open(p->dir, &p->o, first, false, see, &s, &p->w);

	if (r < 0)
		fail_msg("%s", store_why());
	assert_false(s.wrong);
	assert_int_equal(s.next, p->n);
}

static struct place new_place(uint64_t keep)
{
	struct place p = {.sim = sim_new(1),
			  .o = {.segment_bytes = SEGMENT,
				.ring_bytes = 4096,
				.keep = keep,
				.keep_id = ID}};

	p.os = fault_new(p.sim);
	p.dir = dir_of(p.os, "/s");
	open_log(&p, 1, 0);
	return p;
}

static void end_place(struct place *p)
{
	if (p->w)
		assert_int_equal(wal_close(p->w), 0);
	os_dir_close(p->dir);
	fault_free(p->os);
	sim_free(p->sim);
}

static void append(struct place *p, uint32_t records)
{
	uint64_t lsn;

	for (uint32_t i = 0; i < records; i++, p->n++)
		assert_int_equal(
			append_record(p->w, p->n, length_of(p->n), &lsn), 0);
}

/* All that there is goes out of use; the number of what comes. */
static uint64_t release(struct place *p)
{
	uint64_t segment;

	assert_int_equal(wal_rotate(p->w, &segment), 0);
	assert_int_equal(wal_release(p->w, segment), 0);
	return segment;
}

static struct kept_log kept(struct place *p)
{
	return kept_look(p->dir, ID);
}

static uint64_t kept_bytes(struct place *p)
{
	struct wal_stat st;

	wal_stat(p->w, &st);
	return st.kept_bytes;
}

static bool exists(struct place *p, const char *name)
{
	struct os_file *f = NULL;
	bool is = os_open(p->dir, name, OS_READ, &f) == 0;

	os_close(f);
	return is;
}

TEST(released_segments_are_kept_up_to_their_end)
{
	struct place p = new_place(1 << 30);
	struct kept_log k;

	for (uint64_t i = 1; i <= 9; i++) {
		append(&p, 70);
		assert_true(release(&p) > i);
	}
	k = kept(&p);
	assert_int_equal(k.first, 1);
	assert_int_equal(k.holes, 0);
	assert_true(k.n > 9);
	assert_int_equal(kept_bytes(&p), k.bytes);
	/* None has what a segment has behind its records. */
	assert_true(k.bytes < k.n * WAL_BLOCK_BYTES + p.n * 200);
	assert_false(exists(&p, "wal-0000000000000001.log"));
	assert_int_equal(kept_replay(p.dir, ID, 0), p.n);
	end_place(&p);
}

/* Whole segments, one that was opened again, and an empty log between. */
TEST(it_is_one_log_over_closes_and_opens)
{
	struct place p = new_place(1 << 30);
	uint64_t first = 1;
	uint32_t from = 0;

	for (int i = 0; i < 12; i++) {
		append(&p, i % 3 == 1 ? 200 : 3);
		if (i % 2) {
			first = release(&p);
			from = p.n;
		}
		assert_int_equal(wal_close(p.w), 0);
		open_log(&p, first, from);
	}
	assert_int_equal(kept(&p).holes, 0);
	assert_int_equal(kept(&p).first, 1);
	assert_int_equal(kept_replay(p.dir, ID, 0), p.n);
	end_place(&p);
}

/* The catalog had moved on when the process died: they were needed no more. */
TEST(what_an_open_finds_below_the_first_is_kept)
{
	for (int clean = 0; clean < 2; clean++) {
		for (int more = 0; more < 2; more++) {
			struct place p = new_place(1 << 30);
			uint64_t first;

			append(&p, 400);
			assert_int_equal(wal_rotate(p.w, &first), 0);
			if (more)
				append(&p, 5);
			if (clean)
				assert_int_equal(wal_close(p.w), 0);
			else
				wal_abandon(p.w);
			open_log(&p, first, 400);
			assert_int_equal(kept(&p).first, 1);
			assert_int_equal(kept(&p).n, first - 1);
			assert_int_equal(kept(&p).holes, 0);
			assert_int_equal(kept_bytes(&p), kept(&p).bytes);
			assert_int_equal(kept_replay(p.dir, ID, 0), 400);
			append(&p, 9);
			release(&p);
			assert_int_equal(kept(&p).holes, 0);
			assert_int_equal(kept_replay(p.dir, ID, 0), p.n);
			end_place(&p);
		}
	}
}

TEST(beyond_the_limit_the_oldest_goes)
{
	struct place p = new_place(40000);
	struct kept_log k;

	for (int i = 0; i < 30; i++) {
		append(&p, 40);
		release(&p);
		k = kept(&p);
		assert_true(k.bytes <= 40000);
		assert_int_equal(k.bytes, kept_bytes(&p));
		assert_int_equal(k.holes, 0);
	}
	assert_true(k.n > 2);
	assert_true(k.first > 20);
	/* A lower one is of now, a higher one of what comes. */
	wal_keep(p.w, 20000, ID);
	assert_true(kept_bytes(&p) <= 20000);
	assert_true(kept(&p).n > 0);
	wal_keep(p.w, 0, ID);
	assert_int_equal(kept(&p).n, 0);
	assert_int_equal(kept_bytes(&p), 0);
	append(&p, 40);
	release(&p);
	assert_int_equal(kept(&p).n, 0);
	end_place(&p);
}

TEST(nothing_is_kept_that_nobody_asked_for)
{
	struct place p = new_place(0);
	struct wal_stat st;

	append(&p, 400);
	release(&p);
	assert_int_equal(kept(&p).n, 0);
	wal_stat(p.w, &st);
	assert_true(st.recycled > 0);
	end_place(&p);
}

TEST(another_keeping_has_another_id)
{
	struct place p = new_place(1 << 30);

	append(&p, 400);
	release(&p);
	assert_true(kept(&p).n > 1);
	wal_keep(p.w, 1 << 30, ID + 1);
	append(&p, 40);
	release(&p);
	assert_int_equal(kept_look(p.dir, ID + 1).n, 1);
	assert_int_equal(kept_bytes(&p),
			 kept(&p).bytes + kept_look(p.dir, ID + 1).bytes);
	/* The oldest are those before. */
	wal_keep(p.w, kept_look(p.dir, ID + 1).bytes, ID + 1);
	assert_int_equal(kept(&p).n, 0);
	assert_int_equal(kept_look(p.dir, ID + 1).n, 1);
	end_place(&p);
}

TEST(what_is_held_does_not_go)
{
	struct place p = new_place(1 << 30);
	uint64_t end, pos;
	size_t n;

	append(&p, 400);
	release(&p);
	n = kept(&p).n;
	append(&p, 1);
	assert_int_equal(wal_hold(p.w, &end, &pos), 0);
	assert_int_equal(wal_hold(p.w, &end, &pos), 0);
	wal_keep(p.w, 0, ID);
	assert_int_equal(kept(&p).n, n);
	assert_int_equal(wal_lendable(p.w), 0);
	assert_int_equal(wal_lend(p.w), 0);
	wal_let_go(p.w);
	assert_int_equal(kept(&p).n, n);
	/* When nobody holds it the limit holds again. */
	wal_let_go(p.w);
	assert_int_equal(kept(&p).n, 0);
	end_place(&p);
}

TEST(it_is_lent_before_the_reserve)
{
	struct place p = new_place(1 << 30);
	uint64_t bytes;
	size_t n;

	append(&p, 400);
	release(&p);
	n = kept(&p).n;
	bytes = kept_bytes(&p);
	assert_int_equal(wal_lendable(p.w), bytes);
	for (size_t i = 1; i <= n; i++) {
		assert_int_equal(wal_lend(p.w), 1);
		assert_int_equal(kept(&p).n, n - i);
		assert_int_equal(kept(&p).holes, 0);
		assert_int_equal(wal_lendable(p.w), kept(&p).bytes);
	}
	assert_int_equal(kept_bytes(&p), 0);
	assert_int_equal(wal_lend(p.w), 0);
	wal_repay(p.w, (unsigned)n);
	end_place(&p);
}

/* On a disk for eight segments and the ring. */
TEST(a_full_disk_costs_what_is_kept_and_no_change)
{
	struct place p = new_place(1 << 30);

	sim_set_space(p.sim, 8 * SEGMENT);
	for (int i = 0; i < 40; i++) {
		append(&p, 40);
		release(&p);
		assert_int_equal(kept(&p).holes, 0);
	}
	assert_true(kept(&p).n > 2);
	assert_true(kept(&p).first > 20);
	/* All of it, when one record needs it. */
	assert_int_equal(append_record(p.w, p.n++, 6 * SEGMENT, &(uint64_t){0}),
			 0);
	assert_int_equal(kept(&p).n, 0);
	end_place(&p);
}

struct told {
	struct place *p;
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
	assert_int_equal(os_open(t->p->dir, f->name, OS_READ, &file), 0);
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
	struct place p = new_place(1 << 30);
	struct told t = {.p = &p};
	struct fault_plan plan = {.kinds = FAULT_OPEN, .nth = 2, .err = EMFILE};

	append(&p, 400);
	release(&p);
	assert_int_equal(wal_kept_files(p.dir, tell, &t), 0);
	assert_int_equal(t.n, kept(&p).n);
	assert_int_equal(t.bytes, kept(&p).bytes);
	t = (struct told){.p = &p, .n = 98};
	assert_int_equal(wal_kept_files(p.dir, tell, &t), -ECANCELED);
	/* One that cannot be looked at is not one of no bytes. */
	t = (struct told){.p = &p};
	plan.nth = 3;
	fault_arm(p.os, &plan);
	assert_int_equal(wal_kept_files(p.dir, tell, &t), -EMFILE);
	assert_int_equal(fault_fired(p.os), 1);
	fault_disarm(p.os);
	end_place(&p);
}

/* What is kept is not cut off, and not listed as gone. */
TEST(without_descriptors_it_is_only_later_that_it_goes)
{
	struct place p = new_place(1 << 30);
	struct fault_plan plan = {
		.kinds = FAULT_OPEN, .nth = 1, .err = EMFILE, .forever = true};
	uint64_t bytes;

	append(&p, 400);
	release(&p);
	bytes = kept_bytes(&p);
	fault_arm(p.os, &plan);
	assert_int_equal(wal_lend(p.w), 0);
	assert_int_equal(wal_lendable(p.w), bytes);
	fault_disarm(p.os);
	assert_int_equal(wal_lend(p.w), 1);
	wal_repay(p.w, 1);
	end_place(&p);
}

/* It is as good as not kept, and the log goes on. */
TEST(what_cannot_be_kept_is_a_hole)
{
	static const unsigned kinds[] = {FAULT_OPEN, FAULT_PREAD, FAULT_PWRITE,
					 FAULT_FDATASYNC, FAULT_TRUNCATE};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct fault_plan plan = {
			.kinds = kinds[i], .nth = 1, .err = EIO};
		struct place p = new_place(1 << 30);
		uint64_t segment;

		append(&p, 40);
		assert_int_equal(release(&p), 2);
		append(&p, 40);
		assert_int_equal(wal_rotate(p.w, &segment), 0);
		why_clear();
		fault_arm(p.os, &plan);
		assert_int_equal(wal_release(p.w, segment), 0);
		assert_int_equal(fault_fired(p.os), 1);
		fault_disarm(p.os);
		assert_string_equal(store_why(), "");
		assert_int_equal(kept(&p).n, 1);
		append(&p, 40);
		assert_int_equal(release(&p), 4);
		assert_int_equal(kept(&p).n, 2);
		assert_int_equal(kept(&p).holes, 1);
		assert_int_equal(kept_bytes(&p), kept(&p).bytes);
		assert_int_equal(wal_health(p.w), 0);
		end_place(&p);
	}
}

/* Reads @name in parts of @bytes; their number, or the failure. */
static int check_in_parts(struct place *p, const char *name, uint64_t bytes)
{
	uint64_t at = 0, was;
	int parts = 1, r;

	for (; (was = at, r = wal_kept_check(p->dir, name, &at, bytes)) > 0;
	     parts++)
		assert_true(at > was && at < SEGMENT);
	return r < 0 ? r : parts;
}

static void flip(struct place *p, const char *name, uint64_t at)
{
	struct os_file *f = NULL;
	uint8_t byte;

	assert_int_equal(os_open(p->dir, name, OS_WRITE, &f), 0);
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
	struct place p = new_place(1 << 30);
	char name[WAL_KEPT_NAME_BYTES];
	struct os_file *f = NULL;
	uint64_t size;

	append(&p, 400);
	release(&p);
	for (uint64_t n = 1; n <= kept(&p).n; n++) {
		wal_kept_name(name, ID, n);
		assert_int_equal(check_in_parts(&p, name, UINT64_MAX), 1);
		assert_true(check_in_parts(&p, name, 1000) > 5);
	}
	wal_kept_name(name, ID, 2);
	assert_int_equal(os_open(p.dir, name, OS_READ, &f), 0);
	assert_int_equal(os_size(f, &size), 0);
	os_close(f);
	for (uint64_t i = 0; i < size; i++) {
		flip(&p, name, i);
		assert_int_equal(check_in_parts(&p, name, UINT64_MAX),
				 -EUCLEAN);
		is_named(name, i);
		assert_int_equal(check_in_parts(&p, name, 1000), -EUCLEAN);
		is_named(name, i);
		flip(&p, name, i);
	}
	assert_int_equal(check_in_parts(&p, name, 1000) > 5, 1);
	end_place(&p);
}

TEST(one_that_is_cut_off_unread_or_gone_is_told_apart)
{
	struct place p = new_place(1 << 30);
	struct fault_plan plan = {.kinds = FAULT_PREAD, .nth = 1, .err = EIO};
	char name[WAL_KEPT_NAME_BYTES];
	struct os_file *f = NULL;
	uint64_t size, at = 0;

	append(&p, 400);
	release(&p);
	wal_kept_name(name, ID, 1);
	fault_arm(p.os, &plan);
	assert_int_equal(wal_kept_check(p.dir, name, &at, UINT64_MAX),
			 -EUCLEAN);
	assert_int_equal(fault_fired(p.os), 1);
	fault_disarm(p.os);
	assert_non_null(strstr(store_why(), name));
	assert_non_null(strstr(store_why(), "the data itself is whole"));
	/* Without a descriptor nothing is known of it. */
	plan = (struct fault_plan){
		.kinds = FAULT_OPEN, .nth = 1, .err = EMFILE};
	fault_arm(p.os, &plan);
	assert_int_equal(wal_kept_check(p.dir, name, &at, UINT64_MAX), -EMFILE);
	fault_disarm(p.os);
	assert_int_equal(os_open(p.dir, name, OS_WRITE, &f), 0);
	assert_int_equal(os_size(f, &size), 0);
	for (uint64_t cut = size - 1; cut + 7 >= 7 && cut < size; cut -= 7) {
		assert_int_equal(os_truncate(f, cut), 0);
		assert_int_equal(wal_kept_check(p.dir, name, &at, UINT64_MAX),
				 -EUCLEAN);
	}
	os_close(f);
	wal_kept_name(name, ID, 999);
	assert_int_equal(wal_kept_check(p.dir, name, &at, UINT64_MAX), -ENOENT);
	assert_int_equal(wal_kept_check(p.dir, "wal.ring", &at, UINT64_MAX),
			 -EINVAL);
	end_place(&p);
}

TEST(all_that_is_too_much_goes_after_one_look)
{
	struct place p = new_place(1 << 30);
	struct fault_plan plan = {
		.kinds = FAULT_DIR_LIST, .nth = UINT64_MAX, .err = EIO};

	for (int i = 0; i < 100; i++) {
		append(&p, 1);
		release(&p);
	}
	assert_int_equal(kept(&p).n, 100);
	fault_arm(p.os, &plan);
	wal_keep(p.w, 10 * (WAL_BLOCK_BYTES + 400), ID);
	/* One to sum up, and one to see which. */
	assert_int_equal(fault_calls(p.os), 2);
	assert_in_range(kept(&p).n, 10, 11);
	assert_int_equal(kept(&p).first + kept(&p).n - 1, 100);
	assert_int_equal(kept(&p).bytes, kept_bytes(&p));
	fault_disarm(p.os);
	end_place(&p);
}

TEST(reading_only_changes_nothing)
{
	struct place p = new_place(1 << 30);
	struct seen s = {.next = 400};
	size_t length;
	uint64_t first;

	append(&p, 400);
	assert_int_equal(wal_rotate(p.w, &first), 0);
	append(&p, 5);
	assert_int_equal(wal_close(p.w), 0);
	length = sim_log_length(p.sim);
	for (uint64_t keep = 0; keep < 2; keep++) {
		p.o.keep = keep;
		s.next = 400;
		assert_int_equal(
			wal_open(p.dir, &p.o, first, true, see, &s, &p.w), 0);
		assert_int_equal(s.next, 405);
		wal_keep(p.w, 1, ID);
		assert_int_equal(wal_close(p.w), 0);
	}
	assert_int_equal(sim_log_length(p.sim), length);
	p.w = NULL;
	end_place(&p);
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
