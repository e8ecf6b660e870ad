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

struct world {
	struct log l;	 /* first: see log_setup() */
	char had[256];	 /* the records that were handed out */
	char lost[2048]; /* "NUMBER OFFSET+BYTES REASON\n" of each loss */
};

static int setup(void **state)
{
	return log_setup(state, sizeof(struct world));
}

EACH_TEST_IN(setup, log_teardown);

static int hear(void *arg, struct bytes record)
{
	struct world *w = arg;

	if (bytes_eq(record, bytes_str("stop")))
		return -ECANCELED;
	snprintf(w->had + strlen(w->had), sizeof(w->had) - strlen(w->had),
		 "%.*s ", (int)record.len, (const char *)record.data);
	return 0;
}

static void hear_loss(void *arg, const struct wal_loss *loss)
{
	struct world *w = arg;
	char name[24] = "ring";
	uint64_t number;

	if (wal_segment_number(loss->file, &number))
		snprintf(name, sizeof(name), "%" PRIu64, number);
	else
		assert_string_equal(loss->file, WAL_RING_NAME);
	snprintf(w->lost + strlen(w->lost), sizeof(w->lost) - strlen(w->lost),
		 "%s %" PRIu64 "+%" PRIu64 " %s\n", name, loss->offset,
		 loss->bytes, loss->reason);
}

static int salvage(struct world *w, uint64_t first)
{
	const struct wal_salvage s = {.dir = w->l.dir,
				      .first = first,
				      .each = hear,
				      .lost = hear_loss,
				      .arg = w};

	w->had[0] = w->lost[0] = '\0';
	return wal_salvage(&s);
}

static void gives(struct world *w, uint64_t first, const char *had,
		  const char *lost)
{
	assert_int_equal(salvage(w, first), 0);
	assert_string_equal(w->had, had);
	assert_string_equal(w->lost, lost);
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
	struct world *w = *state;

	gives(w, 0, "", "");
}

TEST(what_is_behind_a_damaged_record_is_found)
{
	struct world *w = *state;
	uint64_t b, c, last;

	begin(&w->l, 1, 0);
	b = put(&w->l, 0, "aaaa");
	c = put(&w->l, b, "bbbb");
	last = put(&w->l, c, "cccc");
	spoil(&w->l, b);
	end(&w->l);
	begin(&w->l, 2, last);
	put(&w->l, last, "dddd");
	end(&w->l);
	gives(w, 1, "aaaa cccc dddd ", "1 4120+24 " NOT_WHOLE);
}

/* Two heads that are right, and only the second record is. */
TEST(what_only_looks_like_a_record_is_passed_over)
{
	struct world *w = *state;
	uint64_t pos = 0;

	begin(&w->l, 1, 0);
	for (char c = 'a'; c <= 'd'; c++)
		pos = put(&w->l, pos, (char[]){c, c, c, c, '\0'});
	spoil(&w->l, SIZE);
	spoil(&w->l, 2 * (uint64_t)SIZE);
	end(&w->l);
	begin(&w->l, 2, pos);
	end(&w->l);
	gives(w, 1, "aaaa dddd ", "1 4120+48 " NOT_WHOLE);
}

/* Its records were on disk: the next segment was made only then. */
TEST(a_segment_that_ends_before_the_next_begins_has_lost)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, put(&w->l, 0, "aaaa"), "bbbb");
	spoil(&w->l, SIZE);
	end(&w->l);
	begin(&w->l, 2, 2 * (uint64_t)SIZE);
	end(&w->l);
	gives(w, 1, "aaaa ", "1 4120+24 " END_HERE);
}

/* As a cut at the end of its records leaves one. */
TEST(a_mark_where_the_next_segment_begins_changes_nothing)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	mark(&w->l, put(&w->l, 0, "aaaa"));
	end(&w->l);
	begin(&w->l, 2, SIZE);
	put(&w->l, SIZE, "bbbb");
	end(&w->l);
	gives(w, 1, "aaaa bbbb ", "");
}

/* A segment has no records from where the next one begins. */
TEST(records_beyond_the_next_segments_begin_are_not_taken)
{
	struct world *w = *state;
	uint64_t b, stop;

	begin(&w->l, 1, 0);
	b = put(&w->l, 0, "aaaa");
	stop = put(&w->l, b, "bbbb");
	put(&w->l, stop, "cccc");
	spoil(&w->l, b);
	end(&w->l);
	begin(&w->l, 2, stop);
	put(&w->l, stop, "dddd");
	end(&w->l);
	gives(w, 1, "aaaa dddd ", "1 4120+24 " END_HERE);
}

TEST(a_record_that_its_mark_has_on_disk_is_told_as_lost)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	mark(&w->l, put(&w->l, put(&w->l, 0, "aaaa"), "bbbb"));
	spoil(&w->l, SIZE);
	end(&w->l);
	gives(w, 1, "aaaa ", "1 4120+24 " END_HERE);
}

/* Its sum is right, what it says is not: as if there were none. */
TEST(a_mark_outside_its_segment_is_none)
{
	struct world *w = *state;
	const uint64_t start = 1000 * (uint64_t)SIZE;
	const uint64_t wrong[] = {start - 4, start + CAPACITY + 4};

	for (size_t i = 0; i < 2; i++) {
		begin(&w->l, 1, start);
		put(&w->l, start, "aaaa");
		mark(&w->l, wrong[i]);
		end(&w->l);
		gives(w, 1, "aaaa ", "");
	}
}

TEST(a_last_record_that_is_not_whole_is_told)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, put(&w->l, 0, "aaaa"), "bbbb");
	spoil(&w->l, SIZE);
	end(&w->l);
	gives(w, 1, "aaaa ", "1 4120+0 " BEGUN);
}

TEST(a_last_record_of_the_ring_that_is_not_whole_is_told)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, 0, "aaaa");
	end(&w->l);
	put_ring(&w->l, put_ring(&w->l, SIZE, "bbbb"), "cccc");
	w->l.ring[(size_t)2 * SIZE + WAL_RECORD_HEAD] ^= 1;
	end_ring(&w->l);
	gives(w, 1, "aaaa bbbb ", "1 4144+0 " BEGUN);
}

TEST(the_ring_has_what_the_segment_has_damaged)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, put(&w->l, put(&w->l, 0, "aaaa"), "bbbb"), "cccc");
	spoil(&w->l, SIZE);
	end(&w->l);
	put_ring(&w->l, SIZE, "bbbb");
	end_ring(&w->l);
	gives(w, 1, "aaaa bbbb cccc ", "");
}

/* Behind what both have damaged, whichever comes first of the two. */
TEST(the_ring_goes_on_behind_a_damaged_record)
{
	struct world *w = *state;
	uint64_t pos = 0;

	begin(&w->l, 1, 0);
	for (char c = 'a'; c <= 'd'; c++)
		pos = put(&w->l, pos, (char[]){c, c, c, c, '\0'});
	spoil(&w->l, SIZE);
	spoil(&w->l, 2 * (uint64_t)SIZE);
	end(&w->l);
	put_ring(&w->l, 2 * (uint64_t)SIZE, "cccc");
	/* The earlier of them counts, and what is none does not. */
	put_ring(&w->l, 5 * (uint64_t)SIZE, "ffff");
	put_ring(&w->l, 4 * (uint64_t)SIZE, "eeee");
	w->l.ring[(size_t)4 * SIZE + WAL_RECORD_HEAD] ^= 1;
	end_ring(&w->l);
	gives(w, 1, "aaaa cccc dddd ffff ",
	      "1 4120+24 " NOT_WHOLE "1 4192+24 " NOT_WHOLE);
}

/* Wherever in the ring it lies, also around its end. */
TEST(a_record_around_the_rings_end_is_found)
{
	struct world *w = *state;
	const uint64_t start = RING_BYTES - SIZE - 8;

	begin(&w->l, 1, start);
	put(&w->l, start, "aaaa");
	spoil(&w->l, start);
	end(&w->l);
	put_ring(&w->l, start + SIZE, "bbbb");
	end_ring(&w->l);
	gives(w, 1, "bbbb ", "1 4096+24 " NOT_WHOLE);
	w->l.ring[12] ^= 1;
	end_ring(&w->l);
	gives(w, 1, "", "1 4096+0 " BEGUN);
	spoil(&w->l, start);
	end(&w->l);
	gives(w, 1, "aaaa ", "1 4120+0 " BEGUN);
}

/* Old bytes of the ring may say so: of a segment that is full there is no more. */
TEST(the_ring_does_not_go_on_beyond_the_segments_end)
{
	struct world *w = *state;
	uint64_t behind = CAPACITY - WAL_BLOCK_BYTES;

	behind -= behind % SIZE;
	w->l.h.capacity = WAL_BLOCK_BYTES + behind;
	begin(&w->l, 1, 0);
	w->l.h.capacity = WAL_BLOCK_BYTES + behind;
	wal_head_encode(w->l.file, &w->l.h);
	for (uint64_t pos = 0; pos < behind; pos += SIZE)
		put(&w->l, pos, pos ? "bbbb" : "aaaa");
	end_of(&w->l, w->l.h.capacity);
	put_ring(&w->l, behind, "cccc");
	end_ring(&w->l);
	assert_int_equal(salvage(w, 1), 0);
	assert_null(strstr(w->had, "cccc"));
	assert_string_equal(w->lost, "1 8176+0 " BEGUN);
}

/* A head that asks for more than the ring can have. */
TEST(a_record_larger_than_the_ring_is_not_in_it)
{
	struct world *w = *state;
	const struct bytes part = bytes_str("bbbb");

	begin(&w->l, 1, 0);
	put(&w->l, 0, "aaaa");
	end(&w->l);
	wal_record_head(w->l.ring + SIZE, w->l.h.id, SIZE, 0, &part, 1,
			RING_BYTES);
	end_ring(&w->l);
	gives(w, 1, "aaaa ", "1 4120+0 " BEGUN);
}

/* A ring of another size was not finished. */
TEST(a_ring_of_no_blocks_has_nothing)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, 0, "aaaa");
	end(&w->l);
	put_ring(&w->l, SIZE, "bbbb");
	write_file(&w->l, WAL_RING_NAME, w->l.ring, RING_BYTES - 1);
	gives(w, 1, "aaaa ", "");
}

/* Those that have a meaning are summed, the others are zeros. */
TEST(bytes_that_mean_nothing_lose_nothing)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, 0, "aaaa");
	w->l.file[100] = 1;
	w->l.file[WAL_MARK_AT + WAL_MARK_BYTES] = 1;
	end(&w->l);
	gives(w, 1, "aaaa ", "");
}

/* One bit of it is put right; two are not. */
TEST(a_segment_with_a_damaged_block_is_lost_whole)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, 0, "aaaa");
	w->l.file[33] ^= 4;
	end(&w->l);
	gives(w, 1, "aaaa ", "");
	w->l.file[34] ^= 4;
	end(&w->l);
	gives(w, 1, "", "1 0+8192 " NO_HEAD);
	/* Where it ends is not known then, nor where the one before does. */
	begin(&w->l, 0, 0);
	put(&w->l, 0, "bbbb");
	end(&w->l);
	gives(w, 0, "bbbb ", "1 0+8192 " NO_HEAD);
}

TEST(a_segment_that_is_cut_in_its_block_is_lost)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	end_of(&w->l, WAL_BLOCK_BYTES - 1);
	gives(w, 1, "", "1 0+4095 " NO_HEAD);
}

TEST(segments_that_are_not_needed_are_not_read)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, 0, "aaaa");
	end(&w->l);
	begin(&w->l, 2, SIZE);
	put(&w->l, SIZE, "bbbb");
	end(&w->l);
	gives(w, 2, "bbbb ", "");
}

/* Of many in a row the first and the last are named. */
TEST(segments_that_are_missing_are_told)
{
	struct world *w = *state;
	size_t lines = 0;

	begin(&w->l, 1, 0);
	put(&w->l, 0, "aaaa");
	end(&w->l);
	begin(&w->l, 1000, 1 << 20);
	put(&w->l, 1 << 20, "bbbb");
	end(&w->l);
	wal_made_note(w->l.dir, 1002, false);
	assert_int_equal(salvage(w, 1), 0);
	assert_string_equal(w->had, "aaaa bbbb ");
	for (const char *at = w->lost; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 16 + 1 + 1);
	assert_memory_equal(w->lost, "2 0+0 it is missing\n3 ", 22);
	assert_non_null(strstr(w->lost, "17 0+0 it is missing\n"
					"999 0+0 it is missing\n"
					"1001 0+0 it is missing\n"));
}

TEST(a_missing_ring_is_told_if_there_was_one)
{
	struct world *w = *state;

	wal_made_note(w->l.dir, 1, false);
	begin(&w->l, 0, 0);
	put(&w->l, 0, "aaaa");
	end(&w->l);
	gives(w, 0, "aaaa ", "");
	wal_made_note(w->l.dir, 1, true);
	gives(w, 0, "aaaa ", "ring 0+0 it is missing\n");
}

#define NO_RING \
	"the disk does not give all of it: it may have had the last records\n"

TEST(a_ring_that_cannot_be_read_is_told)
{
	struct world *w = *state;

	begin(&w->l, 0, 0);
	put(&w->l, 0, "aaaa");
	end(&w->l);
	put_ring(&w->l, SIZE, "bbbb");
	end_ring(&w->l);
	gives(w, 0, "aaaa bbbb ", "");
	arm(&w->l, FAULT_PREAD, EIO, 1);
	gives(w, 0, "aaaa ", "ring 0+4096 " NO_RING);
	arm(&w->l, FAULT_OPEN, EIO, 2);
	gives(w, 0, "aaaa ", "ring 0+0 " NO_RING);
	assert_int_equal(fault_fired(w->l.os), 1);
}

TEST(a_segment_that_cannot_be_read_is_lost_whole)
{
	struct world *w = *state;

	begin(&w->l, 0, 0);
	put(&w->l, 0, "aaaa");
	end(&w->l);
	arm(&w->l, FAULT_OPEN, EIO, 3);
	gives(w, 0, "", "0 0+0 it is empty, or cannot be read\n");
	assert_int_equal(fault_fired(w->l.os), 1);
}

/* Without its last piece; what is read in its stead is zeros, as an end is. */
TEST(a_segment_of_which_the_disk_keeps_a_part_is_told)
{
	struct world *w = *state;
	const uint64_t big = FILE_MAX - 2 * WAL_BLOCK_BYTES;
	struct bytes part;

	begin(&w->l, 0, 0);
	w->l.h.capacity = FILE_MAX;
	wal_head_encode(w->l.file, &w->l.h);
	part = bytes_of(calloc(1, big), big - WAL_RECORD_HEAD);
	assert_non_null(part.data);
	memcpy((uint8_t *)(uintptr_t)part.data, "aaaa", 5);
	wal_record_encode(w->l.file + WAL_BLOCK_BYTES, w->l.h.id, 0, 0, &part,
			  1, part.len);
	put(&w->l, big, "bbbb");
	end_of(&w->l, FILE_MAX);
	free((void *)(uintptr_t)part.data);
	assert_int_equal(salvage(w, 0), 0);
	assert_non_null(strstr(w->had, "bbbb "));
	assert_string_equal(w->lost, "");
	arm(&w->l, FAULT_PREAD, EIO, 2);
	assert_int_equal(salvage(w, 0), 0);
	assert_int_equal(fault_fired(w->l.os), 1);
	assert_null(strstr(w->had, "bbbb "));
	assert_string_equal(w->lost,
			    "0 1048576+0 the disk does not give all of the "
			    "file: it may have had more records\n");
}

/* Each call with each errno: it is told, as the errno or as a loss. */
TEST(a_call_that_fails_is_never_silent)
{
	static const int errnos[] = {EIO, EMFILE, EACCES, ENOENT};
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, 0, "aaaa");
	end(&w->l);
	begin(&w->l, 2, SIZE);
	put(&w->l, SIZE, "bbbb");
	end(&w->l);
	put_ring(&w->l, 2 * (uint64_t)SIZE, "cccc");
	end_ring(&w->l);
	wal_made_note(w->l.dir, 3, true);
	for (size_t i = 0; i < sizeof(errnos) / sizeof(*errnos); i++)
		for (uint64_t nth = 1;; nth++) {
			int r;

			arm(&w->l, FAULT_ALL & ~FAULT_CLOSE, errnos[i], nth);
			r = salvage(w, 1);
			if (!fault_fired(w->l.os))
				break;
			if (r == 0 && !w->lost[0] &&
			    strcmp(w->had, "aaaa bbbb cccc ") != 0)
				fail_msg("errno %d, call %" PRIu64 ": '%s'",
					 errnos[i], nth, w->had);
			/* Some are handed on as what they amount to. */
			if (r && !strstr(store_why(), why_meaning(errnos[i])))
				fail_msg("errno %d, call %" PRIu64 ": %d, '%s'",
					 errnos[i], nth, r, store_why());
		}
	fault_disarm(w->l.os);
	gives(w, 1, "aaaa bbbb cccc ", "");
}

TEST(who_takes_the_records_may_end_it)
{
	struct world *w = *state;

	begin(&w->l, 1, 0);
	put(&w->l, put(&w->l, 0, "aaaa"), "stop");
	end(&w->l);
	assert_int_equal(salvage(w, 1), -ECANCELED);
	assert_string_equal(w->had, "aaaa ");
}
