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

struct log {
	struct os *sim, *os; /* @os: the same, whose calls may fail */
	struct os_dir *dir;
	uint8_t *file; /* the segment that is being made */
	struct wal_head h;
	uint8_t ring[RING_BYTES];
};

static inline void log_begin(struct log *w)
{
	w->file = calloc(1, FILE_MAX);
	assert_non_null(w->file);
	w->sim = sim_new(1);
	w->os = fault_new(w->sim);
	assert_int_equal(os_dir_open(w->os, "/store", true, &w->dir), 0);
}

static inline void log_end(struct log *w)
{
	os_dir_close(w->dir);
	fault_free(w->os);
	sim_free(w->sim);
	free(w->file);
}

/* Makes *state a zeroed struct of @size that begins with its log. */
static inline int log_setup(void **state, size_t size)
{
	*state = calloc(1, size);
	if (!*state)
		return -1;
	log_begin(*state);
	return 0;
}

static inline int log_teardown(void **state)
{
	log_end(*state);
	free(*state);
	return 0;
}

/* A segment's block; its records are put behind it, from @start on. */
static inline void begin(struct log *w, uint64_t number, uint64_t start)
{
	memset(w->file, 0, FILE_MAX);
	w->h = (struct wal_head){number, 1000 + number, start, CAPACITY};
	wal_head_encode(w->file, &w->h);
}

static inline size_t offset(const struct log *w, uint64_t pos)
{
	return (size_t)(pos - w->h.start + WAL_BLOCK_BYTES);
}

/*
 * Puts a record at @pos that says that the stream was on disk up to @synced; the
 * position behind it.
 */
static inline uint64_t put_synced(struct log *w, uint64_t pos, uint64_t synced,
				  const char *text)
{
	const struct bytes part = bytes_str(text);

	assert_int_equal(part.len, 4);
	wal_record_encode(w->file + offset(w, pos), w->h.id, pos, synced, &part,
			  1, part.len);
	return pos + SIZE;
}

static inline uint64_t put(struct log *w, uint64_t pos, const char *text)
{
	return put_synced(w, pos, 0, text);
}

/* The same in the ring, around whose end it may go. */
static inline uint64_t put_ring_synced(struct log *w, uint64_t pos,
				       uint64_t synced, const char *text)
{
	const struct bytes part = bytes_str(text);
	uint8_t record[SIZE];

	wal_record_encode(record, w->h.id, pos, synced, &part, 1, part.len);
	for (size_t i = 0; i < SIZE; i++)
		w->ring[(pos + i) % RING_BYTES] = record[i];
	return pos + SIZE;
}

static inline uint64_t put_ring(struct log *w, uint64_t pos, const char *text)
{
	return put_ring_synced(w, pos, 0, text);
}

/* The payload of the record at @pos is another. */
static inline void spoil(struct log *w, uint64_t pos)
{
	w->file[offset(w, pos) + WAL_RECORD_HEAD] ^= 1;
}

static inline void mark(struct log *w, uint64_t durable)
{
	wal_mark_encode(w->file + WAL_MARK_AT, w->h.id, durable);
}

static inline void write_file(struct log *w, const char *name, const void *data,
			      size_t len)
{
	struct os_file *f;

	assert_int_equal(os_open(w->dir, name, OS_WRITE | OS_CREATE, &f), 0);
	assert_int_equal(os_pwrite(f, data, len, 0), 0);
	os_close(f);
}

static inline void end_of(struct log *w, size_t bytes)
{
	char name[WAL_NAME_BYTES];

	wal_segment_name(name, w->h.number);
	write_file(w, name, w->file, bytes);
}

static inline void end(struct log *w)
{
	end_of(w, CAPACITY);
}

static inline void end_ring(struct log *w)
{
	write_file(w, WAL_RING_NAME, w->ring, RING_BYTES);
}

static inline void arm(struct log *w, unsigned kinds, int err, uint64_t nth)
{
	fault_arm(w->os,
		  &(struct fault_plan){.kinds = kinds, .err = err, .nth = nth});
}

#endif
