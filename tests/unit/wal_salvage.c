/*
 * Logs made by hand, record by record, and what wal_salvage() makes of them: which
 * records it hands out, and what it tells of those that it does not.
 */
#include <inttypes.h>

#include "tests/unit/unit.h"
#include "store/lsm/wal/wal_format.h"
#include "store/lsm/wal/wal_replay.h"
#include "store/lsm/wal/wal_salvage.h"
#include "store/value/why.h"
#include "tests/unit/wal_by_hand.h"

static char had[256];	/* the records that were handed out */
static char lost[2048]; /* "NUMBER OFFSET+BYTES REASON\n" of each loss */

static int hear(void *arg, struct bytes record)
{
	if (bytes_eq(record, bytes_str("stop")))
		return -ECANCELED;
	snprintf(had + strlen(had), sizeof(had) - strlen(had), "%.*s ",
		 (int)record.len, (const char *)record.data);
	return 0;
}

static void hear_loss(void *arg, const struct wal_loss *loss)
{
	char name[24] = "ring";
	uint64_t number;

	if (wal_segment_number(loss->file, &number))
		snprintf(name, sizeof(name), "%" PRIu64, number);
	else
		assert_string_equal(loss->file, WAL_RING_NAME);
	snprintf(lost + strlen(lost), sizeof(lost) - strlen(lost),
		 "%s %" PRIu64 "+%" PRIu64 " %s\n", name, loss->offset,
		 loss->bytes, loss->reason);
}

#define ANY UINT64_MAX /* which segments are needed is not known */

static int salvage(uint64_t first)
{
	const struct wal_salvage s = {.dir = made.dir,
				      .first_known = first != ANY,
				      .first = first == ANY ? 0 : first,
				      .each = hear,
				      .lost = hear_loss};

	had[0] = lost[0] = '\0';
	return wal_salvage(&s);
}

static void gives(uint64_t first, const char *records, const char *losses)
{
	assert_int_equal(salvage(first), 0);
	assert_string_equal(had, records);
	assert_string_equal(lost, losses);
}

#define NOT_WHOLE "what is there is no whole record\n"
#define END_HERE "records that were on disk end here\n"
#define BEGUN                                                                 \
	"a record here is not whole: it was being written at a crash, or is " \
	"damaged\n"
#define NO_HEAD                                                                \
	"its first block is damaged, without which nothing of it can be told " \
	"from chance\n"

TEST(nothing_is_lost_of_no_log)
{
	gives(0, "", "");
}

TEST(what_is_behind_a_damaged_record_is_found)
{
	uint64_t b, c, last;

	begin(1, 0);
	b = put(0, "aaaa");
	c = put(b, "bbbb");
	last = put(c, "cccc");
	spoil(b);
	end();
	begin(2, last);
	put(last, "dddd");
	end();
	gives(1, "aaaa cccc dddd ", "1 4120+24 " NOT_WHOLE);
}

/* Two heads that are right, and only the second record is. */
TEST(what_only_looks_like_a_record_is_passed_over)
{
	uint64_t pos = 0;

	begin(1, 0);
	for (char c = 'a'; c <= 'd'; c++)
		pos = put(pos, (char[]){c, c, c, c, '\0'});
	spoil(SIZE);
	spoil(2 * (uint64_t)SIZE);
	end();
	begin(2, pos);
	end();
	gives(1, "aaaa dddd ", "1 4120+48 " NOT_WHOLE);
}

/* Its records were on disk: the next segment was made only then. */
TEST(a_segment_that_ends_before_the_next_begins_has_lost)
{
	begin(1, 0);
	put(put(0, "aaaa"), "bbbb");
	spoil(SIZE);
	end();
	begin(2, 2 * (uint64_t)SIZE);
	end();
	gives(1, "aaaa ", "1 4120+24 " END_HERE);
}

/* As a cut at the end of its records leaves one. */
TEST(a_mark_where_the_next_segment_begins_changes_nothing)
{
	begin(1, 0);
	mark(put(0, "aaaa"));
	end();
	begin(2, SIZE);
	put(SIZE, "bbbb");
	end();
	gives(1, "aaaa bbbb ", "");
}

/* A segment has no records from where the next one begins. */
TEST(records_beyond_the_next_segments_begin_are_not_taken)
{
	uint64_t b, stop;

	begin(1, 0);
	b = put(0, "aaaa");
	stop = put(b, "bbbb");
	put(stop, "cccc");
	spoil(b);
	end();
	begin(2, stop);
	put(stop, "dddd");
	end();
	gives(1, "aaaa dddd ", "1 4120+24 " END_HERE);
}

TEST(a_record_that_its_mark_has_on_disk_is_told_as_lost)
{
	begin(1, 0);
	mark(put(put(0, "aaaa"), "bbbb"));
	spoil(SIZE);
	end();
	gives(1, "aaaa ", "1 4120+24 " END_HERE);
}

/* Its sum is right, what it says is not: as if there were none. */
TEST(a_mark_outside_its_segment_is_none)
{
	const uint64_t start = 1000 * (uint64_t)SIZE;
	const uint64_t wrong[] = {start - 4, start + CAPACITY + 4};

	for (size_t i = 0; i < 2; i++) {
		begin(1, start);
		put(start, "aaaa");
		mark(wrong[i]);
		end();
		gives(1, "aaaa ", "");
	}
}

TEST(a_last_record_that_is_not_whole_is_told)
{
	begin(1, 0);
	put(put(0, "aaaa"), "bbbb");
	spoil(SIZE);
	end();
	gives(1, "aaaa ", "1 4120+0 " BEGUN);
}

TEST(a_last_record_of_the_ring_that_is_not_whole_is_told)
{
	begin(1, 0);
	put(0, "aaaa");
	end();
	put_ring(put_ring(SIZE, "bbbb"), "cccc");
	made.ring[(size_t)2 * SIZE + WAL_RECORD_HEAD] ^= 1;
	end_ring();
	gives(1, "aaaa bbbb ", "1 4144+0 " BEGUN);
}

TEST(the_ring_has_what_the_segment_has_damaged)
{
	begin(1, 0);
	put(put(put(0, "aaaa"), "bbbb"), "cccc");
	spoil(SIZE);
	end();
	put_ring(SIZE, "bbbb");
	end_ring();
	gives(1, "aaaa bbbb cccc ", "");
}

/* Behind what both have damaged, whichever comes first of the two. */
TEST(the_ring_goes_on_behind_a_damaged_record)
{
	uint64_t pos = 0;

	begin(1, 0);
	for (char c = 'a'; c <= 'd'; c++)
		pos = put(pos, (char[]){c, c, c, c, '\0'});
	spoil(SIZE);
	spoil(2 * (uint64_t)SIZE);
	end();
	put_ring(2 * (uint64_t)SIZE, "cccc");
	/* The earlier of them counts, and what is none does not. */
	put_ring(5 * (uint64_t)SIZE, "ffff");
	put_ring(4 * (uint64_t)SIZE, "eeee");
	made.ring[(size_t)4 * SIZE + WAL_RECORD_HEAD] ^= 1;
	end_ring();
	gives(1, "aaaa cccc dddd ffff ",
	      "1 4120+24 " NOT_WHOLE "1 4192+24 " NOT_WHOLE);
}

/* Wherever in the ring it lies, also around its end. */
TEST(a_record_around_the_rings_end_is_found)
{
	const uint64_t start = RING_BYTES - SIZE - 8;

	begin(1, start);
	put(start, "aaaa");
	spoil(start);
	end();
	put_ring(start + SIZE, "bbbb");
	end_ring();
	gives(1, "bbbb ", "1 4096+24 " NOT_WHOLE);
	made.ring[12] ^= 1;
	end_ring();
	gives(1, "", "1 4096+0 " BEGUN);
	spoil(start);
	end();
	gives(1, "aaaa ", "1 4120+0 " BEGUN);
}

/* Old bytes of the ring may say so: of a segment that is full there is no more. */
TEST(the_ring_does_not_go_on_beyond_the_segments_end)
{
	uint64_t behind = CAPACITY - WAL_BLOCK_BYTES;

	behind -= behind % SIZE;
	made.h.capacity = WAL_BLOCK_BYTES + behind;
	begin(1, 0);
	made.h.capacity = WAL_BLOCK_BYTES + behind;
	wal_head_encode(made.file, &made.h);
	for (uint64_t pos = 0; pos < behind; pos += SIZE)
		put(pos, pos ? "bbbb" : "aaaa");
	end_of(made.h.capacity);
	put_ring(behind, "cccc");
	end_ring();
	assert_int_equal(salvage(1), 0);
	assert_null(strstr(had, "cccc"));
	assert_string_equal(lost, "1 8176+0 " BEGUN);
}

/* A head that asks for more than the ring can have. */
TEST(a_record_larger_than_the_ring_is_not_in_it)
{
	const struct bytes part = bytes_str("bbbb");

	begin(1, 0);
	put(0, "aaaa");
	end();
	wal_record_head(made.ring + SIZE, made.h.id, SIZE, 0, &part, 1,
			RING_BYTES);
	end_ring();
	gives(1, "aaaa ", "1 4120+0 " BEGUN);
}

/* A ring of another size was not finished. */
TEST(a_ring_of_no_blocks_has_nothing)
{
	begin(1, 0);
	put(0, "aaaa");
	end();
	put_ring(SIZE, "bbbb");
	write_file(WAL_RING_NAME, made.ring, RING_BYTES - 1);
	gives(1, "aaaa ", "");
}

/* Those that have a meaning are summed, the others are zeros. */
TEST(bytes_that_mean_nothing_lose_nothing)
{
	begin(1, 0);
	put(0, "aaaa");
	made.file[100] = 1;
	made.file[WAL_MARK_AT + WAL_MARK_BYTES] = 1;
	end();
	gives(1, "aaaa ", "");
}

/* One bit of it is put right; two are not. */
TEST(a_segment_with_a_damaged_block_is_lost_whole)
{
	begin(1, 0);
	put(0, "aaaa");
	made.file[33] ^= 4;
	end();
	gives(1, "aaaa ", "");
	made.file[34] ^= 4;
	end();
	gives(1, "", "1 0+8192 " NO_HEAD);
	/* Where it ends is not known then, nor where the one before does. */
	begin(0, 0);
	put(0, "bbbb");
	end();
	gives(0, "bbbb ", "1 0+8192 " NO_HEAD);
}

TEST(a_segment_that_is_cut_in_its_block_is_lost)
{
	begin(1, 0);
	end_of(WAL_BLOCK_BYTES - 1);
	gives(1, "", "1 0+4095 " NO_HEAD);
}

TEST(segments_that_are_not_needed_are_not_read)
{
	begin(1, 0);
	put(0, "aaaa");
	end();
	begin(2, SIZE);
	put(SIZE, "bbbb");
	end();
	gives(2, "bbbb ", "");
}

/* Of many in a row the first and the last are named. */
TEST(segments_that_are_missing_are_told)
{
	size_t lines = 0;

	begin(1, 0);
	put(0, "aaaa");
	end();
	begin(1000, 1 << 20);
	put(1 << 20, "bbbb");
	end();
	wal_made_note(made.dir, 1002, false);
	assert_int_equal(salvage(1), 0);
	assert_string_equal(had, "aaaa bbbb ");
	for (const char *at = lost; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 16 + 1 + 1);
	assert_memory_equal(lost, "2 0+0 it is missing\n3 ", 22);
	assert_non_null(strstr(lost, "17 0+0 it is missing\n"
				     "999 0+0 it is missing\n"
				     "1001 0+0 it is missing\n"));
}

/* Number 0 is one as any, and maybe there was no other. */
TEST(the_very_first_segment_is_missed)
{
	wal_made_note(made.dir, 1, false);
	gives(0, "", "0 0+0 it is missing\n");
	gives(ANY, "", "");
	wal_made_note(made.dir, 2, false);
	begin(1, 1 << 20);
	put(1 << 20, "bbbb");
	end();
	gives(0, "bbbb ", "0 0+0 it is missing\n");
	gives(ANY, "bbbb ", "");
}

TEST(a_missing_ring_is_told_if_there_was_one)
{
	wal_made_note(made.dir, 1, false);
	begin(0, 0);
	put(0, "aaaa");
	end();
	gives(0, "aaaa ", "");
	wal_made_note(made.dir, 1, true);
	gives(0, "aaaa ", "ring 0+0 it is missing\n");
}

#define NO_RING \
	"the disk does not give all of it: it may have had the last records\n"

TEST(a_ring_that_cannot_be_read_is_told)
{
	begin(0, 0);
	put(0, "aaaa");
	end();
	put_ring(SIZE, "bbbb");
	end_ring();
	gives(0, "aaaa bbbb ", "");
	arm(FAULT_PREAD, EIO, 1);
	gives(0, "aaaa ", "ring 0+4096 " NO_RING);
	arm(FAULT_OPEN, EIO, 2);
	gives(0, "aaaa ", "ring 0+0 " NO_RING);
	assert_int_equal(fault_fired(made.os), 1);
}

TEST(a_segment_that_cannot_be_read_is_lost_whole)
{
	begin(0, 0);
	put(0, "aaaa");
	end();
	arm(FAULT_OPEN, EIO, 3);
	gives(0, "", "0 0+0 it is empty, or cannot be read\n");
	assert_int_equal(fault_fired(made.os), 1);
}

/* Without its last piece; what is read in its stead is zeros, as an end is. */
TEST(a_segment_of_which_the_disk_keeps_a_part_is_told)
{
	const uint64_t big = FILE_MAX - 2 * WAL_BLOCK_BYTES;
	struct bytes part;

	begin(0, 0);
	made.h.capacity = FILE_MAX;
	wal_head_encode(made.file, &made.h);
	part = bytes_of(calloc(1, big), big - WAL_RECORD_HEAD);
	assert_non_null(part.data);
	memcpy((uint8_t *)(uintptr_t)part.data, "aaaa", 5);
	wal_record_encode(made.file + WAL_BLOCK_BYTES, made.h.id, 0, 0, &part,
			  1, part.len);
	put(big, "bbbb");
	end_of(FILE_MAX);
	free((void *)(uintptr_t)part.data);
	assert_int_equal(salvage(0), 0);
	assert_non_null(strstr(had, "bbbb "));
	assert_string_equal(lost, "");
	arm(FAULT_PREAD, EIO, 2);
	assert_int_equal(salvage(0), 0);
	assert_int_equal(fault_fired(made.os), 1);
	assert_null(strstr(had, "bbbb "));
	assert_string_equal(lost,
			    "0 1048576+0 the disk does not give all of the "
			    "file: it may have had more records\n");
}

/* Each call with each errno: it is told, as the errno or as a loss. */
TEST(a_call_that_fails_is_never_silent)
{
	static const int errnos[] = {EIO, EMFILE, EACCES, ENOENT};

	begin(1, 0);
	put(0, "aaaa");
	end();
	begin(2, SIZE);
	put(SIZE, "bbbb");
	end();
	put_ring(2 * (uint64_t)SIZE, "cccc");
	end_ring();
	wal_made_note(made.dir, 3, true);
	for (size_t i = 0; i < sizeof(errnos) / sizeof(*errnos); i++)
		for (uint64_t nth = 1;; nth++) {
			int r;

			arm(FAULT_ALL & ~FAULT_CLOSE, errnos[i], nth);
			r = salvage(1);
			if (!fault_fired(made.os))
				break;
			if (r == 0 && !lost[0] &&
			    strcmp(had, "aaaa bbbb cccc ") != 0)
				fail_msg("errno %d, call %" PRIu64 ": '%s'",
					 errnos[i], nth, had);
			/* Some are handed on as what they amount to. */
			if (r && !strstr(store_why(), why_meaning(errnos[i])))
				fail_msg("errno %d, call %" PRIu64 ": %d, '%s'",
					 errnos[i], nth, r, store_why());
		}
	fault_disarm(made.os);
	gives(1, "aaaa bbbb cccc ", "");
}

TEST(who_takes_the_records_may_end_it)
{
	begin(1, 0);
	put(put(0, "aaaa"), "stop");
	end();
	assert_int_equal(salvage(1), -ECANCELED);
	assert_string_equal(had, "aaaa ");
}
