/*
 * Replays a log of arbitrary bytes: nothing may crash, hang or grow without
 * bound, reading only as well as with recovery and going on.
 *
 * Input: u8 flags, u16 bytes of segment 0, u16 of segment 1, then those and
 * the rest is the ring. Unless flag 1 is set, the sums are made good first, or
 * no input would ever get past them.
 */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_format.h"
#include "tests/sim/os_sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct wal_options options = {.segment_bytes = 3 * 4096,
					   .ring_bytes = 4096};

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Sums of the records in [at, n), as far as their lengths lead. */
static void mend_records(uint8_t *p, size_t n, size_t at, uint64_t id)
{
	while (at < n && n - at >= WAL_RECORD_HEAD) {
		uint32_t len;
		uint64_t sum;

		memcpy(&len, p + at + 8, sizeof(len));
		len &= WAL_RECORD_MAX;
		if (len > n - at - WAL_RECORD_HEAD)
			break;
		sum = XXH3_64bits_withSeed(
			p + at + 8, WAL_RECORD_HEAD - 8 + (size_t)len, id);
		memcpy(p + at, &sum, sizeof(sum));
		at += (size_t)wal_record_size(len);
	}
}

static void mend_segment(uint8_t *p, size_t n)
{
	uint64_t sum, id;

	if (n < WAL_BLOCK_BYTES)
		return;
	sum = XXH3_64bits(p, 48);
	memcpy(p + 48, &sum, sizeof(sum));
	id = get64(p + 24);
	if (get64(p + WAL_MARK_AT)) {
		sum = XXH3_64bits_withSeed(p + WAL_MARK_AT, 8, id);
		memcpy(p + WAL_MARK_AT + 8, &sum, sizeof(sum));
	}
	mend_records(p, n, WAL_BLOCK_BYTES, id);
}

static void put(struct os_dir *dir, const char *name, const uint8_t *p,
		size_t n)
{
	struct os_file *f;

	if (os_open(dir, name, OS_WRITE | OS_CREATE, &f))
		abort();
	if (os_pwrite(f, p, n, 0))
		abort();
	os_close(f);
}

static int take(void *arg, uint64_t segment, struct bytes record)
{
	uint64_t *sum = arg;

	/* Touches all of it, for the sanitizer. */
	*sum += XXH3_64bits(record.data, record.len) + segment;
	return 0;
}

static void say(void *arg, const char *sentence)
{
	if (strlen(sentence) < 10)
		abort();
}

static void run(struct os_dir *dir)
{
	struct wal *w;
	uint64_t sum = 0, again = 0, lsn;
	struct bytes part = bytes_str("more");
	int ro, rw, faults;

	faults = wal_check(dir, 0, say, NULL);
	ro = wal_open(dir, &options, 0, true, take, &sum, &w);
	if (ro == 0)
		wal_close(w);
	if ((ro == 0) != (faults == 0))
		abort();
	rw = wal_open(dir, &options, 0, false, take, &again, &w);
	if (ro != rw || (ro == 0 && sum != again))
		abort();
	if (rw < 0)
		return;
	if (wal_append(w, &part, 1, &lsn) || wal_close(w))
		abort();
	/* What was recovered is there once more, and one record behind. */
	if (wal_check(dir, 0, say, NULL))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t a, b;
	struct os_dir *dir;
	struct os *os;
	uint8_t *copy;

	if (size < 5 || size > 1 << 16)
		return 0;
	a = (size_t)data[1] | (size_t)data[2] << 8;
	b = (size_t)data[3] | (size_t)data[4] << 8;
	if (a > size - 5 || b > size - 5 - a)
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (!(data[0] & 1)) {
		uint64_t id = 0;

		mend_segment(copy + 5, a);
		mend_segment(copy + 5 + a, b);
		if (b >= 32)
			id = get64(copy + 5 + a + 24);
		else if (a >= 32)
			id = get64(copy + 5 + 24);
		mend_records(copy + 5 + a + b, size - 5 - a - b, 0, id);
	}
	os = sim_new(1);
	if (os_dir_open(os, "/store", true, &dir))
		abort();
	if (a)
		put(dir, "wal-0000000000000000.log", copy + 5, a);
	if (b)
		put(dir, "wal-0000000000000001.log", copy + 5 + a, b);
	if (size - 5 - a - b)
		put(dir, "wal.ring", copy + 5 + a + b, size - 5 - a - b);
	run(dir);
	os_dir_close(dir);
	sim_free(os);
	free(copy);
	return 0;
}
