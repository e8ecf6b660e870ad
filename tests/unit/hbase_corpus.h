/* What a server of HBase sent, of the directory CORPUS: each in memory of its own. */
#ifndef CELLFS_TESTS_UNIT_HBASE_CORPUS_H
#define CELLFS_TESTS_UNIT_HBASE_CORPUS_H

#include "tests/unit/unit.h"
#include "store/value/bytes.h"

/* In memory of exactly its size, so that a sanitizer sees what reads on. */
static inline struct bytes copy_of(struct bytes s)
{
	uint8_t *data = malloc(s.len ? s.len : 1);

	assert_non_null(data);
	if (s.len)
		memcpy(data, s.data, s.len);
	return bytes_of(data, s.len);
}

static inline void drop(struct bytes s)
{
	free((void *)(uintptr_t)s.data);
}

static inline struct bytes load(const char *name)
{
	char path[4096];
	uint8_t data[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", CORPUS, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	assert_true(n > 0 && n < sizeof(data));
	return copy_of(bytes_of(data, n));
}

static inline void assert_bytes(struct bytes s, const char *want)
{
	assert_int_equal(s.len, strlen(want));
	assert_memory_equal(s.data, want, s.len);
}

#endif
