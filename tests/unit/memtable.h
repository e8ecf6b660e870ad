/* Memtables for tests, which put cells of the value "v" into one tree. */
#ifndef CELLFS_TESTS_UNIT_MEMTABLE_H
#define CELLFS_TESTS_UNIT_MEMTABLE_H

#include "tests/unit/unit.h"
#include "store/lsm/mem/memtable.h"
#include "store/value/sanitizer.h"

#define TREE 7

static inline struct memtable *fresh(void)
{
	struct memtable *mt;

	assert_int_equal(memtable_new(2048, &mt), 0);
	return mt;
}

static inline struct entry put(const char *qualifier, int64_t ts, uint64_t seq)
{
	return (struct entry){
		.qualifier = bytes_str(qualifier),
		.ts = ts,
		.seq = seq,
		.kind = CELL_PUT,
		.value = bytes_str("v"),
	};
}

static inline void add(struct memtable *mt, const char *row, struct entry e)
{
	assert_int_equal(memtable_insert(mt, TREE, bytes_str(row), &e, 1), 0);
}

static inline void assert_bytes(struct bytes got, struct bytes want)
{
	assert_int_equal(got.len, want.len);
	if (want.len)
		assert_memory_equal(got.data, want.data, want.len);
}

static inline void assert_row(const struct mem_cursor *c, const char *row)
{
	assert_bytes(c->base.row, bytes_str(row));
}

#endif
