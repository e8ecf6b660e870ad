/*
 * The daemon over the reference store: what the mount does is tested apart
 * from the engine. STORE is any directory, nothing in it is looked at.
 *
 * CELLFS_REF_FILL=N puts a table "big" of N rows there, with family f and
 * qualifier q, and the two articles of the HBase data-model example.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fs/mount.h"
#include "store/front/backend.h"
#include "tests/model/ref_store.h"

static int put(struct table *t, const char *row, const char *family,
	       const char *qualifier, int64_t ts, const char *value)
{
	struct change c = {
		.op = CHANGE_PUT,
		.family = bytes_str(family),
		.qualifier = bytes_str(qualifier),
		.ts = ts,
		.value = bytes_str(value),
	};
	struct mutation m = {
		.row = bytes_str(row), .changes = &c, .nchanges = 1};
	int r = table_mutate(t, &m, 0);

	return r < 0 ? r : 0;
}

static int make(struct store *s, const char *name, struct table **out)
{
	int r = store_table_create(s, bytes_str(name), NULL);

	return r < 0 ? r : table_open(s, bytes_str(name), out);
}

static int fill_articles(struct store *s)
{
	struct table *t;
	int r = make(s, "articles", &t);

	if (r < 0)
		return r;
	r = table_add_family(t, bytes_str("basic"));
	if (r == 0)
		r = table_add_family(t, bytes_str("tags"));
	if (r == 0)
		r = put(t, "article1", "basic", "header", 1637054560118, "one");
	if (r == 0)
		r = put(t, "article1", "basic", "header", 1637055836875, "two");
	if (r == 0)
		r = put(t, "article1", "basic", "header", 1637056832082,
			"three");
	if (r == 0)
		r = put(t, "article1", "tags", "", TS_AUTO, "empty");
	if (r == 0)
		r = put(t, "-/article%2", "tags", ".x", TS_AUTO, "odd");
	table_unref(t);
	return r;
}

static int fill_big(struct store *s, long rows)
{
	char row[32], value[64];
	struct table *t;
	int r = make(s, "big", &t);

	if (r < 0)
		return r;
	r = table_add_family(t, bytes_str("f"));
	for (long i = 0; r == 0 && i < rows; i++) {
		snprintf(row, sizeof(row), "row%09ld", i);
		snprintf(value, sizeof(value), "value of row %ld\n", i);
		r = put(t, row, "f", "q", 1600000000000 + i, value);
	}
	table_unref(t);
	return r;
}

static int open_reference(const char *path, const struct store_options *o,
			  struct store **out)
{
	const char *fill = getenv("CELLFS_REF_FILL");
	int r = ref_store_open(NULL, true, out);

	if (r == 0 && getenv("CELLFS_REF_CANNOT"))
		(*out)->can = 0;
	if (r < 0 || !fill)
		return r;
	r = fill_articles(*out);
	return r < 0 ? r : fill_big(*out, atol(fill));
}

int main(int argc, char **argv)
{
	return mount_main(argc, argv, open_reference);
}
