/*
 * A store in a directory of its own with the table "t" of families f and g. It
 * knows libcellfs by its public header alone, as a program does.
 */
#ifndef CELLFS_TESTS_FIXTURE_H
#define CELLFS_TESTS_FIXTURE_H

#include <cellfs.h>

#include <unistd.h>

#include "../unit/unit.h"

struct fixture {
	char dir[64], path[80]; /* the store is in the directory dir */
	struct cellfs *s;
	struct cellfs_table *t;
};

static inline struct cellfs_bytes str(const char *s)
{
	return cellfs_str(s);
}

/* The last call gave @r: it must be @want, with these words in its sentence. */
#define assert_refused(r, want, words)                                         \
	do {                                                                   \
		assert_int_equal(r, want);                                     \
		if (!strstr(cellfs_error(), words))                            \
			fail_msg("\"%s\" does not say \"%s\"", cellfs_error(), \
				 words);                                       \
	} while (0)

static inline void open_with(struct fixture *f, const struct cellfs_options *o)
{
	assert_int_equal(cellfs_open(f->path, o, &f->s), 0);
	assert_int_equal(cellfs_table_open(f->s, "t", &f->t), 0);
}

static inline void shut(struct fixture *f)
{
	cellfs_table_close(f->t);
	assert_int_equal(cellfs_close(f->s), 0);
}

static inline struct fixture begin(void)
{
	const struct cellfs_options make = {.create = true};
	struct fixture f = {.dir = "/tmp/cellfs-library-XXXXXX"};

	assert_non_null(mkdtemp(f.dir));
	snprintf(f.path, sizeof(f.path), "%s/store", f.dir);
	assert_int_equal(cellfs_open(f.path, &make, &f.s), 0);
	assert_int_equal(cellfs_table_create(f.s, "t",
					     "family f\nfamily g\n\tversions "
					     "2\n\tmax_value 100\n"),
			 0);
	assert_int_equal(cellfs_table_open(f.s, "t", &f.t), 0);
	return f;
}

static inline void wipe(struct fixture *f)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	assert_int_equal(system(command), 0);
}

static inline void end(struct fixture *f)
{
	shut(f);
	wipe(f);
}

/* What each test has. */
static struct fixture the;

static inline int set_up(void **state)
{
	the = begin();
	return 0;
}

static inline int tear_down(void **state)
{
	end(&the);
	return 0;
}

EACH_TEST_IN(set_up, tear_down);

static inline int put(struct fixture *f, const char *row, const char *qualifier,
		      const char *value)
{
	return cellfs_put(f->t, str(row), str("f"), str(qualifier), str(value));
}

/* Puts with a timestamp. */
static inline int put_at(struct fixture *f, const char *row,
			 const char *qualifier, int64_t ms, const char *value)
{
	const struct cellfs_change c = {.kind = CELLFS_PUT,
					.family = str("f"),
					.qualifier = str(qualifier),
					.ts = cellfs_ms(ms),
					.value = str(value)};
	const struct cellfs_mutation m = {
		.row = str(row), .changes = &c, .nchanges = 1};

	return cellfs_mutate(f->t, &m, NULL, 0);
}

/* The newest value of row's f:qualifier; "(none)" if there is none. */
static inline const char *get(struct fixture *f, const char *row,
			      const char *qualifier)
{
	static char text[256];
	struct cellfs_buffer value = {0};
	int r = cellfs_get(f->t, str(row), str("f"), str(qualifier), &value);

	assert_true(r >= 0 && value.len < sizeof(text));
	if (r == 0)
		return "(none)";
	if (value.len)
		memcpy(text, value.data, value.len);
	text[value.len] = '\0';
	cellfs_buffer_free(&value);
	assert_null(value.data);
	return text;
}

/* All that a scan gives, a result a word: row/family:qualifier@ts=value. */
static inline const char *scan(struct fixture *f,
			       const struct cellfs_scan_spec *spec)
{
	static char text[4096];
	const struct cellfs_cell *c;
	struct cellfs_scan *sc = NULL;
	size_t n = 0;
	int r;

	text[0] = '\0';
	assert_int_equal(cellfs_scan_open(f->t, spec, &sc), 0);
	while ((r = cellfs_scan_next(sc, &c)) > 0) {
		n += snprintf(text + n, sizeof(text) - n, "%s%.*s",
			      n ? " " : "", (int)c->row.len,
			      (const char *)c->row.data);
		if (spec && spec->granularity == CELLFS_ROWS)
			continue;
		n += snprintf(text + n, sizeof(text) - n, "/%.*s",
			      (int)c->family.len, (const char *)c->family.data);
		if (spec && spec->granularity == CELLFS_FAMILIES)
			continue;
		n += snprintf(
			text + n, sizeof(text) - n, ":%.*s@%lld=%.*s",
			(int)c->qualifier.len, (const char *)c->qualifier.data,
			(long long)c->ts_ms,
			c->value.data ? (int)c->value.len : 1,
			c->value.data ? (const char *)c->value.data : "?");
		assert_true(n < sizeof(text));
	}
	assert_int_equal(r, 0);
	assert_int_equal(cellfs_scan_next(sc, &c), 0);
	cellfs_scan_close(sc);
	return text;
}

#endif
