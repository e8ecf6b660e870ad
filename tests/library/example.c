/*
 * A diary in the store of a directory: libcellfs in C or C++.
 *
 *	cc example.c $(pkg-config --cflags --libs cellfs) -o example
 *	./example diary
 */
#include <cellfs.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int check(int r)
{
	if (r >= 0)
		return r;
	fprintf(stderr, "%s\n", cellfs_error());
	exit(1);
}

int main(int argc, char **argv)
{
	struct cellfs_bytes d = cellfs_str("d"), text = cellfs_str("text");
	struct cellfs_bytes day = cellfs_str("2026-11-23");
	struct cellfs_options options = {0};
	struct cellfs_scan_spec november = {0};
	struct cellfs_buffer value = {0};
	const struct cellfs_cell *cell;
	struct cellfs_table *diary;
	struct cellfs_scan *scan;
	struct cellfs *store;
	int64_t reads;
	int r;

	options.create = true;
	check(cellfs_open(argc > 1 ? argv[1] : "diary", &options, &store));
	r = cellfs_table_create(store, "diary", "family d\n\tversions 5\n");
	check(r == -EEXIST ? 0 : r);
	check(cellfs_table_open(store, "diary", &diary));

	check(cellfs_put(diary, day, d, text, cellfs_str("frost")));
	check(cellfs_increment(diary, day, d, cellfs_str("reads"), 1, &reads));
	if (check(cellfs_get(diary, day, d, text, &value)))
		printf("%.*s %d\n", (int)value.len, (char *)value.data,
		       (int)reads);

	november.row_start = cellfs_inclusive(cellfs_str("2026-11"));
	november.row_stop = cellfs_exclusive(cellfs_str("2026-12"));
	check(cellfs_scan_open(diary, &november, &scan));
	while (check(cellfs_scan_next(scan, &cell)))
		printf("%.10s:%.*s\n", (const char *)cell->row.data,
		       (int)cell->qualifier.len,
		       (const char *)cell->qualifier.data);
	cellfs_scan_close(scan);

	cellfs_buffer_free(&value);
	cellfs_table_close(diary);
	check(cellfs_close(store));
	return 0;
}
