/* What the writer of a sorted table takes, refuses and says of its file. */
#include "tests/unit/sst_model.h"

TEST(what_is_known_of_a_file_is_right)
{
	struct model m = {0};
	struct sst_info info, own;

	plain_options();
	options.tree = 7;
	small_model(&m);
	write_file(&m, 1000, &info);
	assert_int_equal(info.number, 1000);
	assert_int_equal(info.entries, 28);
	assert_int_equal(info.rows, 3);
	assert_int_equal(info.markers, 2);
	assert_int_equal(info.seq_min, 0);
	assert_int_equal(info.seq_max, 23);
	/* A marker that hides all up to its time makes the range begin at 0. */
	assert_int_equal(info.ts_min, 0);
	assert_int_equal(info.ts_max, 2023);
	assert_true(info.has_ttl);
	assert_true(bytes_eq(buf_bytes(&info.row_min), bytes_str("alpha")));
	assert_true(bytes_eq(buf_bytes(&info.row_max), bytes_str("gamma")));
	assert_int_equal(sst_info_load(dir, 1000, &own), 0);
	assert_int_equal(own.checksum, info.checksum);
	assert_int_equal(own.tree, 7);
	assert_int_equal(own.file_bytes, info.file_bytes);
	assert_int_equal(own.entries, info.entries);
	assert_true(
		bytes_eq(buf_bytes(&own.row_max), buf_bytes(&info.row_max)));
	sst_info_free(&own);
	sst_info_free(&info);
	model_free(&m);
}

TEST(exact_markers_do_not_widen_the_time_range)
{
	struct model m = {0};
	struct sst_info info;

	plain_options();
	put(&m, bytes_str("r"), marker_of(CELL_DELETE, "q", 40));
	put(&m, bytes_str("r"), marker_of(CELL_DELETE_FAMILY_VERSION, "", 30));
	sort(&m);
	write_file(&m, 1001, &info);
	assert_int_equal(info.ts_min, 30);
	assert_int_equal(info.ts_max, 40);
	assert_false(info.has_ttl);
	sst_info_free(&info);
	model_free(&m);
}

TEST(broken_order_is_refused)
{
	struct entry a = put_of("a", 5, ""), b = put_of("b", 5, "");
	struct entry older = put_of("b", 4, "");
	struct entry family = marker_of(CELL_DELETE_FAMILY, "", 9);
	const struct {
		const char *row;
		struct entry *e;
	} second[] = {{"r", &a}, {"r", &b}, {"r", &family}, {"q", &a}};
	struct sst_writer *w;
	struct sst_info info;

	plain_options();
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(sst_writer_new(dir, 1002, &options, &w), 0);
		assert_int_equal(sst_writer_add(w, bytes_str("r"), &b), 0);
		assert_int_equal(sst_writer_add(w, bytes_str(second[i].row),
						second[i].e),
				 -EUCLEAN);
		/* And nothing goes on from there. */
		assert_true(sst_writer_add(w, bytes_str("r"), &older) < 0);
		assert_true(sst_writer_finish(w, &info) < 0);
		sst_writer_free(w);
	}
}

TEST(a_file_not_finished_is_removed)
{
	struct entry e = put_of("q", 1, "v");
	struct sst_writer *w, *other;
	struct sst_info info;

	plain_options();
	assert_int_equal(sst_writer_new(dir, 1003, &options, &w), 0);
	assert_int_equal(sst_writer_new(dir, 1003, &options, &other), -EEXIST);
	assert_int_equal(sst_writer_finish(w, &info), -EINVAL);
	assert_int_equal(sst_writer_add(w, bytes_str("r"), &e), 0);
	assert_true(sst_writer_bytes(w) > 0);
	assert_true(exists(1003));
	sst_writer_free(w);
	assert_false(exists(1003));
	sst_writer_free(NULL);
}

TEST(cells_beyond_the_limits_are_refused)
{
	static uint8_t big[ROW_LEN_MAX + 1];
	struct entry fine = put_of("q", 1, ""), e[5];
	struct sst_writer *w;

	plain_options();
	e[0] = e[1] = e[2] = e[3] = fine;
	e[0].qualifier = bytes_of(big, QUALIFIER_LEN_MAX + 1);
	e[1].ts = -1;
	e[2].ts = TS_MAX + 1;
	e[3].value.len = VALUE_LEN_MAX + 1ull;
	e[4] = marker_of(CELL_DELETE_FAMILY, "q", 1);
	for (int i = 0; i < 7; i++) {
		struct bytes row = bytes_str("r");

		if (i == 5)
			row = bytes_of(big, ROW_LEN_MAX + 1);
		if (i == 6)
			row = bytes_of(big, 0);
		assert_int_equal(sst_writer_new(dir, 1004, &options, &w), 0);
		assert_int_equal(sst_writer_add(w, row, i < 5 ? &e[i] : &fine),
				 -EINVAL);
		sst_writer_free(w);
	}
}
