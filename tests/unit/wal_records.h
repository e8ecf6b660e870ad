/*
 * Records that prove themselves: number, length, bytes that follow from both.
 */
#ifndef CELLFS_TESTS_UNIT_WAL_RECORDS_H
#define CELLFS_TESTS_UNIT_WAL_RECORDS_H

#include <stdlib.h>

#include "store/lsm/wal/wal.h"

#define RECORD_MAX 200000

static inline size_t make_record(uint32_t n, size_t len, uint8_t *out)
{
	uint64_t x = n * 0x9e3779b97f4a7c15ull + len;
	uint32_t len32;

	if (len < 8)
		len = 8;
	len32 = (uint32_t)len;
	memcpy(out, &n, 4);
	memcpy(out + 4, &len32, 4);
	for (size_t i = 8; i < len; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		out[i] = (uint8_t)(x >> 56);
	}
	return len;
}

static inline size_t length_of(uint32_t n)
{
	return 8 + n * 37 % 300;
}

/* What a replay gave: from a record on, all without gaps. */
struct seen {
	uint32_t next;	/* the record that has to come now */
	bool any_start; /* the first one may be any; otherwise it is next */
	bool wrong;
	uint64_t segment;	      /* of the last one */
	size_t (*length)(uint32_t n); /* NULL = length_of() */
};

static inline int see(void *arg, uint64_t segment, struct bytes record)
{
	static _Thread_local uint8_t want[RECORD_MAX];
	struct seen *s = arg;
	size_t len;

	if (s->any_start && record.len >= 4)
		memcpy(&s->next, record.data, 4);
	s->any_start = false;
	len = s->length ? s->length(s->next) : length_of(s->next);
	len = make_record(s->next, len, want);
	if (!bytes_eq(record, bytes_of(want, len)) || segment < s->segment)
		s->wrong = true;
	s->segment = segment;
	s->next++;
	return 0;
}

/* Appends record @n in three parts, one of them empty. */
static inline int append_record(struct wal *w, uint32_t n, size_t len,
				uint64_t *lsn)
{
	static _Thread_local uint8_t rec[RECORD_MAX];
	size_t size = make_record(n, len, rec);
	size_t cut = size / 3;
	struct bytes parts[] = {
		bytes_of(rec, cut), {NULL, 0}, bytes_of(rec + cut, size - cut)};

	return wal_append(w, parts, 3, lsn);
}

#endif
