/*
 * Logs made by hand, record by record, and what wal_replay() makes of them: what is
 * damage, and what is a tail that was being written.
 */
#include "tests/unit/unit.h"
#include "store/lsm/wal/wal.h"
#include "store/value/why.h"
#include "tests/unit/alloc_fault.h"
#include "tests/unit/wal_by_hand.h"

static char had[256]; /* the first four letters of each record */

static int hear(void *arg, uint64_t segment, struct bytes record)
{
	snprintf(had + strlen(had), sizeof(had) - strlen(had), "%.4s ",
		 (const char *)record.data);
	return 0;
}

static int replay(struct wal_found *found)
{
	had[0] = '\0';
	why_clear();
	return wal_replay(made.dir, 1, hear, NULL, found);
}

/* It replays to these records; the position behind them. */
static uint64_t gives(const char *records)
{
	struct wal_found found;
	uint64_t end;
	int r = replay(&found);

	if (r < 0)
		fail_msg("%s", store_why());
	assert_string_equal(had, records);
	end = found.end;
	wal_found_free(&found);
	return end;
}

/* It is refused, with a sentence that has these words. */
static void is_damage(const char *words)
{
	struct wal_found found;

	assert_int_equal(replay(&found), -EUCLEAN);
	if (!strstr(store_why(), words))
		fail_msg("%s", store_why());
	wal_found_free(&found);
}

#define FAILS "a record that was on disk fails its check"

TEST(what_was_being_written_is_dropped_with_all_behind_it)
{
	uint64_t c;

	begin(1, 0);
	c = put(put(0, "aaaa"), "bbbb");
	put(c, "cccc");
	spoil(SIZE);
	end();
	assert_int_equal(gives("aaaa "), SIZE);
}

TEST(a_later_record_may_say_that_it_was_on_disk)
{
	uint64_t c;

	begin(1, 0);
	c = put(put(0, "aaaa"), "bbbb");
	/* Up to the damaged one does not matter, up to behind it does. */
	put_synced(put_synced(c, SIZE, "cccc"), c, "dddd");
	spoil(SIZE);
	end();
	is_damage("byte 4120: " FAILS);
	/* Behind others that are damaged, too. */
	spoil(c);
	end();
	is_damage("byte 4120: " FAILS);
	put_synced(c, SIZE, "cccc");
	put_synced(c + SIZE, SIZE, "dddd");
	end();
	assert_int_equal(gives("aaaa "), SIZE);
}

/* Its head has room for a distance of less than 4 GiB. */
TEST(a_record_far_behind_the_last_sync_says_nothing_of_it)
{
	const uint64_t start = (uint64_t)5 << 30;
	const struct bytes part = bytes_str("aaaa");
	uint8_t record[SIZE];
	struct wal_record rec;

	wal_record_encode(record, 7, start, start - 4, &part, 1, 4);
	assert_true(wal_record_decode(record, SIZE, 7, start, &rec));
	assert_true(rec.synced == start - 4);
	wal_record_encode(record, 7, start, start - UINT32_MAX + 1, &part, 1,
			  4);
	assert_true(wal_record_decode(record, SIZE, 7, start, &rec));
	assert_true(rec.synced == start - UINT32_MAX + 1);
	wal_record_encode(record, 7, start, start - UINT32_MAX, &part, 1, 4);
	assert_true(wal_record_decode(record, SIZE, 7, start, &rec));
	assert_int_equal(rec.synced, 0);
	wal_record_encode(record, 7, start, 8, &part, 1, 4);
	assert_true(wal_record_decode(record, SIZE, 7, start, &rec));
	assert_int_equal(rec.synced, 0);
}

TEST(a_mark_before_its_segment_is_damage)
{
	begin(1, 1000);
	put(1000, "aaaa");
	mark(996);
	end();
	is_damage("byte 512: its mark is wrong");
	mark(1000 + CAPACITY - WAL_BLOCK_BYTES + 4);
	end();
	is_damage("byte 512: its mark is wrong");
	mark(1000 + SIZE);
	end();
	gives("aaaa ");
}

TEST(a_segment_that_is_older_than_the_one_before_is_damage)
{
	begin(1, 1000);
	end();
	begin(2, 996);
	end();
	is_damage("older than the one before");
}

/*
 * A segment with @room bytes behind its record does not go on with the record that
 * is behind it in the ring.
 */
static void ends_in_its_segment(size_t room)
{
	begin(1, 0);
	made.h.capacity = WAL_BLOCK_BYTES + SIZE + room;
	wal_head_encode(made.file, &made.h);
	put(0, "aaaa");
	end_of(made.h.capacity);
	put_ring(SIZE, "bbbb");
	end_ring();
	assert_int_equal(gives("aaaa "), SIZE);
}

/* No record is smaller than its head. */
TEST(a_segment_without_room_does_not_go_on_in_the_ring)
{
	ends_in_its_segment(WAL_RECORD_HEAD - 4);
}

/* Such as an older segment has left there. */
TEST(a_record_that_the_segment_has_no_room_for_is_none)
{
	ends_in_its_segment(WAL_RECORD_HEAD);
}

TEST(a_gap_in_the_ring_is_damage_if_it_was_on_disk)
{
	begin(1, 0);
	put(0, "aaaa");
	end();
	put_ring_synced(2 * (uint64_t)SIZE, SIZE, "cccc");
	end_ring();
	assert_int_equal(gives("aaaa "), SIZE);
	put_ring_synced(2 * (uint64_t)SIZE, 2 * (uint64_t)SIZE, "cccc");
	end_ring();
	is_damage("byte 4120: " FAILS);
}

/* The segment had it, by what comes next; that the ring has it still is chance. */
TEST(a_record_of_the_ring_that_was_in_the_segment_is_damage)
{
	begin(1, 0);
	put(0, "aaaa");
	end();
	put_ring_synced(put_ring(SIZE, "bbbb"), 2 * (uint64_t)SIZE, "cccc");
	end_ring();
	is_damage("byte 4120: " FAILS);
}

/* A record of @len bytes. */
static uint64_t put_large(uint64_t pos, const char *text, size_t len)
{
	uint8_t *payload = calloc(1, len);
	struct bytes part = bytes_of(payload, len);

	assert_non_null(payload);
	memcpy(payload, text, 4);
	wal_record_encode(made.file + offset(pos), made.h.id, pos, 0, &part, 1,
			  len);
	free(payload);
	return pos + wal_record_size(len);
}

/* More than is read at once, in records that are, and that are not. */
TEST(large_segments_are_read_in_pieces)
{
	uint64_t pos;

	begin(1, 0);
	made.h.capacity = FILE_MAX;
	wal_head_encode(made.file, &made.h);
	pos = put_large(0, "aaaa", 300 << 10);
	pos = put_large(pos, "bbbb", 200 << 10);
	pos = put_large(pos, "cccc", 100 << 10);
	end_of(FILE_MAX);
	begin(2, pos);
	pos = put(put(pos, "dddd"), "eeee");
	end();
	assert_int_equal(gives("aaaa bbbb cccc dddd eeee "), pos);
}

/* A kept file of two records, whose mark is @marked. */
static void make_kept(uint64_t marked)
{
	char name[WAL_KEPT_NAME_BYTES];

	begin(7, 0);
	put(put(0, "aaaa"), "bbbb");
	mark(marked);
	wal_kept_name(name, 5, 7);
	write_file(name, made.file, CAPACITY);
}

static int check_kept(uint64_t *at, uint64_t bytes)
{
	char name[WAL_KEPT_NAME_BYTES];

	wal_kept_name(name, 5, 7);
	return wal_kept_check(made.dir, name, at, bytes);
}

/* The file may have been another when the check came to there. */
TEST(a_kept_segment_is_checked_from_its_begin_if_need_be)
{
	uint64_t at = CAPACITY;

	make_kept(2 * (uint64_t)SIZE);
	assert_int_equal(check_kept(&at, SIZE), 1);
	assert_int_equal(at, WAL_BLOCK_BYTES + SIZE);
	assert_int_equal(check_kept(&at, SIZE), 0);
	assert_int_equal(at, WAL_BLOCK_BYTES + 2 * SIZE);
	/* It is at the end, and stays there. */
	assert_int_equal(check_kept(&at, SIZE), 0);
	assert_int_equal(check_kept(&at, 2 * (uint64_t)SIZE), 0);
	assert_int_equal(at, WAL_BLOCK_BYTES + 2 * SIZE);
}

TEST(a_kept_segment_ends_between_two_records)
{
	uint64_t at = 0;

	make_kept(SIZE + 4);
	assert_int_equal(check_kept(&at, UINT64_MAX), -EUCLEAN);
	assert_non_null(strstr(store_why(), FAILS));
	make_kept(3 * (uint64_t)SIZE);
	at = 0;
	assert_int_equal(check_kept(&at, UINT64_MAX), -EUCLEAN);
	make_kept(SIZE);
	at = 0;
	assert_int_equal(check_kept(&at, UINT64_MAX), 0);
}

static int no_loss(void *arg, const struct wal_file *f)
{
	return 0;
}

/* In the list, and gone when it is looked at. */
TEST(a_kept_segment_that_goes_meanwhile_is_passed_over)
{
	make_kept(SIZE);
	arm(FAULT_OPEN, ENOENT, 1);
	assert_int_equal(wal_kept_files(made.dir, no_loss, NULL), 0);
	assert_int_equal(fault_fired(made.os), 1);
	arm(FAULT_OPEN, EMFILE, 1);
	assert_int_equal(wal_kept_files(made.dir, no_loss, NULL), -EMFILE);
}

/* Before the log: segments that are not needed. */
#define FIRST 3

/*
 * A log that was not synced: large records in its segment, small ones in the ring
 * around whose end they go, and in both what is left of an older log.
 */
static void make_unsynced(void)
{
	static const uint8_t payload[300];
	struct bytes part = bytes_of(payload, sizeof(payload));
	uint64_t pos;

	for (uint64_t old = 1; old < FIRST; old++) {
		begin(old, 0);
		end();
	}
	begin(FIRST, 0);
	made.h.capacity = FILE_MAX;
	wal_head_encode(made.file, &made.h);
	pos = put_large(0, "aaaa", (300 << 10) - WAL_RECORD_HEAD);
	pos = put_large(pos, "bbbb", (200 << 10) - SIZE - WAL_RECORD_HEAD);
	put_large(600 << 10, "late", 300 << 10);
	end_of(FILE_MAX);
	wal_record_encode(made.ring + 1000, made.h.id, (500 << 10) + 1000, 0,
			  &part, 1, sizeof(payload));
	put_ring(put_ring(pos, "cccc"), "dddd");
	end_ring();
}

/* Opens it with what fails, @err or an allocation; false if there was no @nth. */
static bool opening_fails_at(int err, uint64_t nth)
{
	const struct wal_options o = {.segment_bytes = 64 << 10,
				      .ring_bytes = RING_BYTES};
	struct os *sim = sim_after_kill(made.sim), *os = fault_new(sim);
	struct os_dir *dir;
	struct wal_found found;
	struct wal *wal = NULL;
	uint64_t failed;
	int r;

	assert_int_equal(os_dir_open(os, "/store", false, &dir), 0);
	if (err)
		fault_arm(os, &(struct fault_plan){.kinds = FAULT_ALL,
						   .err = err,
						   .nth = nth});
	else
		alloc_arm(nth, 0);
	had[0] = '\0';
	r = wal_open(dir, &o, FIRST, false, hear, NULL, &wal);
	failed = alloc_disarm() + fault_fired(os);
	fault_disarm(os);
	if (r < 0 && (!failed || r != (err ? -err : -ENOMEM)))
		fail_msg("%llu: %d, %s", (unsigned long long)nth, r,
			 store_why());
	if (r == 0) {
		assert_string_equal(had, "aaaa bbbb cccc dddd ");
		assert_int_equal(wal_close(wal), 0);
	}
	had[0] = '\0';
	assert_int_equal(wal_replay(dir, FIRST, hear, NULL, &found), 0);
	assert_string_equal(had, "aaaa bbbb cccc dddd ");
	wal_found_free(&found);
	os_dir_close(dir);
	fault_free(os);
	sim_free(sim);
	return failed;
}

TEST(an_opening_that_fails_loses_nothing)
{
	static const int errs[] = {0, EIO, EUCLEAN};
	uint64_t n;

	make_unsynced();
	for (size_t i = 0; i < sizeof(errs) / sizeof(*errs); i++) {
		for (n = 1; opening_fails_at(errs[i], n); n++)
			;
		assert_true(n > 5);
	}
}

/* There is nothing to be cut off behind its records. */
TEST(a_segment_that_is_full_stays_as_long)
{
	struct wal *wal;

	begin(1, 0);
	made.h.capacity = WAL_BLOCK_BYTES + SIZE;
	wal_head_encode(made.file, &made.h);
	put(0, "aaaa");
	end_of(made.h.capacity);
	had[0] = '\0';
	assert_int_equal(wal_open(made.dir, &(struct wal_options){0}, 1, false,
				  hear, NULL, &wal),
			 0);
	assert_int_equal(wal_close(wal), 0);
	assert_string_equal(had, "aaaa ");
	assert_int_equal(gives("aaaa "), SIZE);
}

TEST(a_kept_segment_that_cannot_be_read_is_told)
{
	const unsigned reads = FAULT_OPEN | FAULT_SIZE | FAULT_PREAD;
	char name[WAL_KEPT_NAME_BYTES];
	uint64_t at = 0;
	unsigned n;
	int r;

	begin(7, 0);
	made.h.capacity = FILE_MAX;
	wal_head_encode(made.file, &made.h);
	mark(put_large(0, "aaaa", 300 << 10));
	wal_kept_name(name, 5, 7);
	write_file(name, made.file, FILE_MAX);
	for (n = 1;; n++, at = 0) {
		alloc_arm(n, 0);
		r = check_kept(&at, UINT64_MAX);
		if (!alloc_disarm())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	for (n = 1;; n++) {
		at = 0;
		arm(reads, EIO, n);
		r = check_kept(&at, UINT64_MAX);
		if (!fault_fired(made.os))
			break;
		assert_int_equal(r, -EUCLEAN);
		assert_non_null(strstr(store_why(), "cannot be restored"));
	}
	assert_int_equal(r, 0);
	assert_true(n > 3);
	fault_disarm(made.os);
}
