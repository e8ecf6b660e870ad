/*
 * A store in a directory of its own, for tests that want real files.
 */
#ifndef CELLFS_TESTS_TEMP_STORE_H
#define CELLFS_TESTS_TEMP_STORE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/store.h"
#include "tests/unit/change.h"

struct temp_store {
	char path[64];
	struct store_options options;
	struct store *store;
	struct table *table;
};

static inline void temp_say(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, store_why());
}

/* Opens (again); table "t" is opened, made with families f and g if new. */
static inline int temp_open(struct temp_store *s)
{
	int r;

	s->options.create = true;
	r = store_open(s->path, &s->options, &s->store);
	if (r < 0) {
		temp_say("open");
		return r;
	}
	r = table_open(s->store, bytes_str("t"), &s->table);
	if (r == -ENOENT) {
		r = store_table_create(s->store, bytes_str("t"), NULL);
		if (r == 0)
			r = table_open(s->store, bytes_str("t"), &s->table);
		if (r == 0)
			r = table_add_family(s->table, bytes_str("f"));
		if (r == 0)
			r = table_add_family(s->table, bytes_str("g"));
	}
	if (r < 0)
		temp_say("table t");
	return r;
}

static inline int temp_close(struct temp_store *s)
{
	int r;

	table_unref(s->table);
	s->table = NULL;
	r = store_close(s->store);
	s->store = NULL;
	return r;
}

static inline int temp_make(struct temp_store *s)
{
	snprintf(s->path, sizeof(s->path), "/tmp/cellfs-test-XXXXXX");
	if (!mkdtemp(s->path))
		return -1;
	return temp_open(s);
}

static inline int temp_remove(struct temp_store *s)
{
	char command[128];
	int r = s->store ? temp_close(s) : 0;

	snprintf(command, sizeof(command), "rm -rf '%s'", s->path);
	if (system(command) != 0)
		return -1;
	return r;
}

static inline int temp_put(struct temp_store *s, const char *row,
			   const char *family, const char *qualifier,
			   int64_t ts, const char *value)
{
	struct change c = a_put(family, qualifier, ts, value);
	struct mutation m = change_of(row, &c);

	return table_mutate(s->table, &m, 0);
}

/* The newest value in a buffer that the next call overwrites; NULL = none. */
static inline const char *temp_get(struct temp_store *s, const char *row,
				   const char *family, const char *qualifier)
{
	static struct buf hold;
	struct cell c;
	int r = table_get(s->table, bytes_str(row), bytes_str(family),
			  bytes_str(qualifier), TS_MAX, NULL, &c, &hold);

	if (r < 0)
		temp_say("get");
	if (r <= 0 || buf_append(&hold, "", 1) < 0)
		return NULL;
	return (const char *)hold.data;
}

#endif
