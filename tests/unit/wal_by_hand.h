/*
 * Logs made by hand, record by record, on a disk whose calls may fail: for states
 * that no crash and no single fault of a disk leaves.
 */
#ifndef CELLFS_TESTS_UNIT_WAL_BY_HAND_H
#define CELLFS_TESTS_UNIT_WAL_BY_HAND_H

#include <stdlib.h>

#include "store/lsm/wal/wal_format.h"
#include "store/lsm/wal/wal_replay.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"

#define CAPACITY (2 * WAL_BLOCK_BYTES)
#define RING_BYTES WAL_BLOCK_BYTES
#define FILE_MAX ((1 << 20) + WAL_BLOCK_BYTES)
/* The size of a record of four letters, of which all here are. */
#define SIZE 24

static struct {
	struct os *sim, *os; /* @os: the same, whose calls may fail */
	struct os_dir *dir;
	uint8_t *file; /* the segment that is being made */
	struct wal_head h;
	uint8_t ring[RING_BYTES];
} made;

static inline int log_begin(void **state)
{
	memset(&made, 0, sizeof(made));
	made.file = calloc(1, FILE_MAX);
	assert_non_null(made.file);
	made.sim = sim_new(1);
	made.os = fault_new(made.sim);
	return os_dir_open(made.os, "/store", true, &made.dir);
}

static inline int log_end(void **state)
{
	os_dir_close(made.dir);
	fault_free(made.os);
	sim_free(made.sim);
	free(made.file);
	return 0;
}

EACH_TEST_IN(log_begin, log_end);

/* A segment's block; its records are put behind it, from @start on. */
static inline void begin(uint64_t number, uint64_t start)
{
	memset(made.file, 0, FILE_MAX);
	made.h = (struct wal_head){number, 1000 + number, start, CAPACITY};
	wal_head_encode(made.file, &made.h);
}

static inline size_t offset(uint64_t pos)
{
	return (size_t)(pos - made.h.start + WAL_BLOCK_BYTES);
}

/*
 * Puts a record at @pos that says that the stream was on disk up to @synced; the
 * position behind it.
 */
static inline uint64_t put_synced(uint64_t pos, uint64_t synced,
				  const char *text)
{
	const struct bytes part = bytes_str(text);

	assert_int_equal(part.len, 4);
	wal_record_encode(made.file + offset(pos), made.h.id, pos, synced,
			  &part, 1, part.len);
	return pos + SIZE;
}

static inline uint64_t put(uint64_t pos, const char *text)
{
	return put_synced(pos, 0, text);
}

/* The same in the ring, around whose end it may go. */
static inline uint64_t put_ring_synced(uint64_t pos, uint64_t synced,
				       const char *text)
{
	const struct bytes part = bytes_str(text);
	uint8_t record[SIZE];

	wal_record_encode(record, made.h.id, pos, synced, &part, 1, part.len);
	for (size_t i = 0; i < SIZE; i++)
		made.ring[(pos + i) % RING_BYTES] = record[i];
	return pos + SIZE;
}

static inline uint64_t put_ring(uint64_t pos, const char *text)
{
	return put_ring_synced(pos, 0, text);
}

/* The payload of the record at @pos is another. */
static inline void spoil(uint64_t pos)
{
	made.file[offset(pos) + WAL_RECORD_HEAD] ^= 1;
}

static inline void mark(uint64_t durable)
{
	wal_mark_encode(made.file + WAL_MARK_AT, made.h.id, durable);
}

static inline void write_file(const char *name, const void *data, size_t len)
{
	struct os_file *f;

	assert_int_equal(os_open(made.dir, name, OS_WRITE | OS_CREATE, &f), 0);
	assert_int_equal(os_pwrite(f, data, len, 0), 0);
	os_close(f);
}

static inline void end_of(size_t bytes)
{
	char name[WAL_NAME_BYTES];

	wal_segment_name(name, made.h.number);
	write_file(name, made.file, bytes);
}

static inline void end(void)
{
	end_of(CAPACITY);
}

static inline void end_ring(void)
{
	write_file(WAL_RING_NAME, made.ring, RING_BYTES);
}

static inline void arm(unsigned kinds, int err, uint64_t nth)
{
	fault_arm(made.os,
		  &(struct fault_plan){.kinds = kinds, .err = err, .nth = nth});
}

#endif
