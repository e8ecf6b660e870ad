/*
 * What a directory has of a log that is kept: whether it is one piece, and its
 * records.
 */
#ifndef CELLFS_TESTS_UNIT_WAL_KEPT_H
#define CELLFS_TESTS_UNIT_WAL_KEPT_H

#include <inttypes.h>
#include <stdlib.h>

#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_format.h"
#include "store/lsm/wal/wal_replay.h"
#include "tests/unit/wal_records.h"

#define KEPT_MAX 512

struct kept_log {
	uint64_t id;
	size_t n, holes;
	uint64_t bytes, first, numbers[KEPT_MAX];
};

static inline int kept_one(void *arg, const char *name)
{
	struct kept_log *k = arg;
	uint64_t id, number;

	if (!wal_kept_number(name, &id, &number) || id != k->id)
		return 0;
	if (k->n == KEPT_MAX)
		abort();
	k->numbers[k->n++] = number;
	return 0;
}

/*
 * The positions that a kept file begins and ends with. False: it is damaged. That
 * it was cut off there a crash may have undone.
 */
static inline bool kept_range(struct os_dir *d, uint64_t id, uint64_t number,
			      uint64_t *start, uint64_t *end, uint64_t *bytes)
{
	char name[WAL_KEPT_NAME_BYTES];
	struct buf b = {0};
	struct wal_head h = {0};
	bool good;

	wal_kept_name(name, id, number);
	good = os_read_file(d, name, UINT64_MAX, &b) == 0 &&
	       b.len >= WAL_BLOCK_BYTES &&
	       wal_head_decode(b.data, number, &h) &&
	       wal_mark_decode(b.data + WAL_MARK_AT, h.id, end) &&
	       (*end - h.start + WAL_BLOCK_BYTES == b.len ||
		b.len == h.capacity);
	*start = h.start;
	*bytes = b.len;
	buf_free(&b);
	return good;
}

static inline int kept_by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A hole is where numbers or positions do not continue, or a file is damaged. */
static inline struct kept_log kept_look(struct os_dir *d, uint64_t id)
{
	struct kept_log k = {.id = id};
	uint64_t start, end, was = 0, bytes;

	if (os_dir_list(d, kept_one, &k) < 0)
		abort();
	qsort(k.numbers, k.n, sizeof(*k.numbers), kept_by_number);
	for (size_t i = 0; i < k.n; i++) {
		bool good =
			kept_range(d, id, k.numbers[i], &start, &end, &bytes);

		if (!good || (i && (start != was ||
				    k.numbers[i] != k.numbers[i - 1] + 1)))
			k.holes++;
		was = end;
		k.bytes += bytes;
	}
	k.first = k.n ? k.numbers[0] : 0;
	return k;
}

static inline void kept_copy(struct os_dir *from, const char *name,
			     struct os_dir *to, const char *as)
{
	struct os_file *f = NULL;
	struct buf b = {0};

	if (os_read_file(from, name, UINT64_MAX, &b) < 0 ||
	    os_open(to, as, OS_WRITE | OS_CREATE, &f) < 0 ||
	    os_pwrite(f, b.data, b.len, 0) < 0 || os_finish(f) < 0)
		abort();
	buf_free(&b);
}

/* Copies with the names of segments, in a directory of their own. */
static inline struct os_dir *kept_renamed(struct os_dir *d,
					  const struct kept_log *k)
{
	char kept[WAL_KEPT_NAME_BYTES], name[WAL_NAME_BYTES];
	struct os_dir *to = NULL;

	if (os_dir_open(d->os, "/renamed", true, &to) < 0)
		abort();
	for (size_t i = 0; i < k->n; i++) {
		wal_kept_name(kept, k->id, k->numbers[i]);
		wal_segment_name(name, k->numbers[i]);
		kept_copy(d, kept, to, name);
	}
	return to;
}

static inline void kept_forget(struct os_dir *to, const struct kept_log *k)
{
	char name[WAL_NAME_BYTES];

	for (size_t i = 0; i < k->n; i++) {
		wal_segment_name(name, k->numbers[i]);
		if (os_unlink(to, name) < 0)
			abort();
	}
	os_dir_close(to);
}

/*
 * Replays what is kept, of which record @s.next is the first: the number behind
 * the last. UINT32_MAX: it does not replay, or to other records.
 */
static inline uint32_t kept_replay_as(struct os_dir *d, uint64_t id,
				      struct seen s)
{
	struct kept_log k = kept_look(d, id);
	struct os_dir *to = kept_renamed(d, &k);
	struct wal_found found = {0};
	int r = wal_replay(to, k.first, see, &s, &found);

	wal_found_free(&found);
	kept_forget(to, &k);
	return r < 0 || s.wrong ? UINT32_MAX : s.next;
}

static inline uint32_t kept_replay(struct os_dir *d, uint64_t id, uint32_t from)
{
	return kept_replay_as(d, id, (struct seen){.next = from});
}

#endif
