/*
 * A store whose disk fails, at every call and with every errno: whoever asked
 * for something is told of it with the reason, the threads live on, and nothing
 * that was acknowledged is lost. No errno of the system means more to the store
 * than that.
 */
#include <unistd.h>

#include "tests/unit/unit.h"
#include "store/os/os.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/temp_store.h"
#include "tests/unit/thorough.h"

/* The second line are words of the store's own, or such as others use so. */
static const int errnos[] = {
	EIO,	ENOSPC, EDQUOT, EROFS,	   EMFILE,  ENFILE, ENOMEM, EACCES,
	ENOENT, EAGAIN, EBUSY,	ECANCELED, ENODATA, EEXIST, EINVAL, ENOTEMPTY,
};
#define NERRNOS (sizeof(errnos) / sizeof(*errnos))

struct world {
	struct os *disk, *os;
	struct temp_store s;
	int puts; /* acknowledged ones */
};

static void world_open(struct world *w)
{
	*w = (struct world){.disk = sim_new(1)};
	w->os = fault_new(w->disk);
	w->s = (struct temp_store){.path = "/store",
				   .options = {.os = w->os,
					       .write_buffer_bytes = 64 << 10,
					       .wal_segment_bytes = 64 << 10}};
	assert_int_equal(temp_open(&w->s), 0);
}

static int put(struct world *w)
{
	char row[16], value[200];
	int r;

	snprintf(row, sizeof(row), "r%04d", w->puts);
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	r = temp_put(&w->s, row, "f", "q", 7, value);
	if (r > 0)
		w->puts++;
	return r;
}

/* The log looks for room a few times a second, and then puts go on. */
static int put_again(struct world *w)
{
	int r = put(w);

	for (int i = 0; r == -ENOSPC && i < 6000; i++) {
		usleep(10000);
		r = put(w);
	}
	return r;
}

static void arm(struct world *w, unsigned kinds, int err, bool forever,
		uint64_t nth)
{
	fault_arm(w->os, &(struct fault_plan){.kinds = kinds,
					      .err = err,
					      .forever = forever,
					      .nth = nth});
}

/* Of space, whatever wanted it, a full disk is reason enough. */
static bool is_full_disk(int err)
{
	return (err == ENOSPC || err == EDQUOT) &&
	       strstr(store_why(), "disk is full");
}

/* The last failure is told with its reason. */
static void is_told(int err, const char *what, uint64_t nth)
{
	const char *text = why_meaning(err);

	/* A file that cannot be opened for that is not there. */
	if (err == ENOENT && strstr(store_why(), "missing"))
		return;
	if (!is_full_disk(err) && !strstr(store_why(), text))
		fail_msg("%s, call %llu, %s: '%s'", what,
			 (unsigned long long)nth, why_name(err), store_why());
}

/* All that was acknowledged is there, and after a reopening too. */
static void nothing_is_lost(struct world *w)
{
	char row[16];

	for (int again = 0; again < 2; again++) {
		for (int i = 0; i < w->puts; i++) {
			snprintf(row, sizeof(row), "r%04d", i);
			assert_non_null(temp_get(&w->s, row, "f", "q"));
		}
		if (again)
			break;
		(void)temp_close(&w->s);
		assert_int_equal(temp_open(&w->s), 0);
	}
	assert_int_equal(temp_close(&w->s), 0);
	assert_int_equal(store_check("/store", w->disk, NULL, NULL), 0);
	fault_free(w->os);
	sim_free(w->disk);
}

/* A flush or compaction with a failing call; false if there was none. */
static bool try_care(const char *what,
		     int (*care)(struct store *, struct table *), int err,
		     bool forever, uint64_t nth)
{
	struct world w;
	bool fired;
	int r;

	world_open(&w);
	for (int i = 0; i < 4; i++)
		assert_int_equal(put(&w), 1);
	assert_int_equal(store_flush(w.s.store, NULL), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(put(&w), 1);
	arm(&w, FAULT_ALL, err, forever, nth);
	r = care(w.s.store, NULL);
	if (r < 0)
		is_told(err, what, nth);
	fired = fault_fired(w.os) > 0;
	fault_disarm(w.os);
	if (forever && fired && r == 0 && store_health(w.s.store) == 0)
		assert_int_equal(care(w.s.store, NULL), 0);
	/* What has not stopped all writes was of the moment. */
	if (store_health(w.s.store) == 0) {
		assert_int_equal(care(w.s.store, NULL), 0);
		assert_int_equal(put_again(&w), 1);
	} else {
		is_told(err, "health", nth);
		assert_true(put(&w) < 0);
		is_told(err, "put", nth);
	}
	nothing_is_lost(&w);
	return fired;
}

static void try_all(const char *what,
		    int (*care)(struct store *, struct table *))
{
	uint64_t step = each(5);

	for (size_t i = 0; i < NERRNOS; i++)
		for (int forever = 0; forever < 2; forever++)
			for (uint64_t n = 1 + (i + (size_t)forever) % step;
			     try_care(what, care, errnos[i], forever, n);
			     n += step)
				;
}

TEST(a_flush_that_fails_says_why_and_may_be_had_later)
{
	try_all("flush", store_flush);
}

TEST(a_compaction_that_fails_says_why_and_may_be_had_later)
{
	try_all("compact", store_compact);
}

/* Reads fail with @err. Was it the flush that writers were told of? */
static bool try_stuck_memory(int err)
{
	struct world w;
	struct why_kept kept;
	bool full, said, failed;
	int r;

	world_open(&w);
	arm(&w, FAULT_PREAD, err, true, 1);
	do
		r = put(&w);
	while (r > 0 && w.puts < 2000);
	assert_true(r < 0);
	is_told(err, "put", 1);
	full = is_full_disk(err);
	said = strstr(store_why(), "could not be flushed") != NULL;
	failed = store_flush(w.s.store, NULL) < 0;
	why_keep(&kept);
	/* The log reads too, twice a second, and may be first. */
	if (full || store_health(w.s.store) < 0) {
		fault_disarm(w.os);
		nothing_is_lost(&w);
		return false;
	}
	assert_true(said && failed);
	why_restore(&kept);
	is_told(err, "flush", 1);
	fault_disarm(w.os);
	if (store_health(w.s.store) == 0) {
		assert_int_equal(store_flush(w.s.store, NULL), 0);
		assert_int_equal(put_again(&w), 1);
	}
	nothing_is_lost(&w);
	return true;
}

/*
 * The file that was written cannot be read: its errno is none of the store's
 * own, though it has that word too.
 */
TEST(writers_are_told_why_memory_cannot_be_flushed)
{
	unsigned waited = 0;

	/* Where each flush takes so long that the log is first, once more. */
	for (int round = 0; round < 20 && !waited; round++)
		for (size_t i = 0; i < NERRNOS; i++)
			waited += try_stuck_memory(errnos[i]);
	assert_true(waited > 0);
}

/* No descriptor, no space: the next segment of the log is had another time. */
TEST(want_is_no_failure_of_the_log)
{
	static const int wants[] = {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM};

	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
		struct world w;
		int r;

		world_open(&w);
		arm(&w, FAULT_OPEN | FAULT_ALLOCATE, wants[i], true, 1);
		do
			r = put(&w);
		while (r > 0 && w.puts < 2000);
		assert_true(r < 0);
		fault_disarm(w.os);
		assert_int_equal(store_health(w.s.store), 0);
		assert_int_equal(store_flush(w.s.store, NULL), 0);
		nothing_is_lost(&w);
	}
}

/* A snapshot is a commit of the catalog: so it is with that. */
TEST(want_is_no_failure_of_the_catalog)
{
	char name[16];
	struct world w;
	int r, n = 0;

	world_open(&w);
	assert_int_equal(put(&w), 1);
	arm(&w, FAULT_OPEN, EMFILE, true, 1);
	do {
		snprintf(name, sizeof(name), "s%d", n++);
		r = store_snapshot_create(w.s.store, NULL, bytes_str(name));
	} while (r == 0 && n < 5000);
	assert_int_equal(r, -EMFILE);
	is_told(EMFILE, "snapshot", 1);
	fault_disarm(w.os);
	assert_int_equal(store_health(w.s.store), 0);
	assert_int_equal(
		store_snapshot_create(w.s.store, NULL, bytes_str(name)), 0);
	nothing_is_lost(&w);
}
