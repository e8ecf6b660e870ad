/* What cellctl top makes of metrics and of the trace. */
#include "tests/unit/unit.h"
#include "tools/watch/frame.h"
#include "tools/watch/spark.h"

TEST(samples_are_read_and_the_rest_is_passed_over)
{
	char text[] = "# HELP a words\n# TYPE a counter\na 3\n"
		      "b{table=\"x,y\"} 1.5\nb{table=\"z\"} 2\n"
		      "\nnonsense\nc{open=\"} 7\nd{x=\"1\"}\ne 9";
	struct samples s;

	assert_int_equal(samples_read(text, &s), 0);
	assert_int_equal(s.n, 4);
	assert_true(samples_get(&s, "a", "") == 3);
	assert_true(samples_get(&s, "b", "x,y") == 1.5);
	assert_true(samples_get(&s, "b", "z") == 2);
	assert_true(samples_get(&s, "b", "none") == 0);
	assert_true(samples_get(&s, "e", "") == 9);
	samples_free(&s);
}

TEST(every_cut_of_a_text_is_read_without_harm)
{
	static const char text[] = "a{b=\"c\",le=\"+Inf\"} 12\n";

	for (size_t n = 0; n < sizeof(text); n++) {
		char *copy = strndup(text, n);
		struct samples s;

		assert_int_equal(samples_read(copy, &s), 0);
		samples_free(&s);
		free(copy);
	}
}

TEST(buckets_are_without_those_before)
{
	char text[] = "t_bucket{op=\"r\",le=\"0.1\"} 4\n"
		      "t_bucket{op=\"w\",le=\"0.1\"} 9\n"
		      "t_bucket{op=\"r\",le=\"+Inf\"} 10\n";
	const char *bounds[4];
	struct samples s;
	double n[4];

	assert_int_equal(samples_read(text, &s), 0);
	assert_int_equal(samples_buckets(&s, "t", "r", n, bounds, 4), 2);
	assert_true(n[0] == 4 && n[1] == 6);
	assert_string_equal(bounds[0], "0.1");
	assert_string_equal(bounds[1], "+Inf");
	samples_free(&s);
}

TEST(bars_are_by_the_greatest)
{
	const double n[] = {0, 1, 500, 1000}, none[] = {0, 0};
	char line[SPARK_ROOM(4)];

	spark_line(n, 4, line);
	assert_string_equal(line, " ▁▄█");
	spark_line(none, 2, line);
	assert_string_equal(line, "  ");
}

TEST(a_share_is_reached_in_a_bucket)
{
	const double n[] = {50, 49, 0, 1}, none[] = {0, 0, 0, 0};

	assert_int_equal(spark_quantile(n, 4, 0.5), 0);
	assert_int_equal(spark_quantile(n, 4, 0.51), 1);
	assert_int_equal(spark_quantile(n, 4, 0.99), 1);
	assert_int_equal(spark_quantile(n, 4, 1), 3);
	assert_int_equal(spark_quantile(none, 4, 0.5), 4);
}

static const char *prefix_of(const char *path)
{
	static struct heat h;
	char line[256];

	h.n = 0;
	snprintf(line, sizeof(line), "when\t0.1 ms\tread\tok\t%s", path);
	heat_add(&h, line);
	return h.n ? h.all[0].name : "";
}

TEST(a_request_counts_for_the_prefix_of_its_row)
{
	assert_string_equal(prefix_of("/T/user17/d:q"), "T/user");
	assert_string_equal(prefix_of("/T/user17"), "T/user");
	assert_string_equal(prefix_of("/T/us"), "T/us");
	assert_string_equal(prefix_of("/T/us/d/q/5"), "T/us");
	assert_string_equal(prefix_of("/T/.put/row/d:q"), "T/row");
	assert_string_equal(prefix_of("/T/a%2Fbcd"), "T/a%2Fbc");
	assert_string_equal(prefix_of("/T/äöüßx"), "T/äöüß");
	assert_string_equal(prefix_of("/T/a%2"), "T/a%2");
	assert_string_equal(prefix_of("/T"), "");
	assert_string_equal(prefix_of("/T/"), "");
	assert_string_equal(prefix_of("/T/.schema"), "");
	assert_string_equal(prefix_of("/.cellfs/metrics"), "");
	assert_string_equal(prefix_of("# 5 requests are left out"), "");
}

TEST(the_hottest_prefix_is_the_first)
{
	static struct heat h;
	char line[64];

	for (int i = 0; i < HEAT_MAX + 10; i++) {
		snprintf(line, sizeof(line), "\t/T/%04d", i);
		heat_add(&h, line);
	}
	assert_int_equal(h.n, HEAT_MAX);
	heat_add(&h, "\t/T/0007x");
	heat_sort(&h);
	assert_string_equal(h.all[0].name, "T/0007");
	assert_int_equal(h.all[0].requests, 2);
	assert_string_equal(h.all[1].name, "T/0000");
}

TEST(a_frame_has_rates_of_what_is_busiest)
{
	char a[] = "cellfs_healthy 1\n"
		   "cellfs_table_reads_total{table=\"t\"} 10\n";
	char b[] = "cellfs_healthy 1\n"
		   "cellfs_request_seconds_bucket{op=\"read\",le=\"0.001\"} 8\n"
		   "cellfs_request_seconds_bucket{op=\"read\",le=\"+Inf\"} 8\n"
		   "cellfs_request_seconds_count{op=\"read\"} 8\n"
		   "cellfs_request_seconds_count{op=\"idle\"} 0\n"
		   "cellfs_table_reads_total{table=\"t\"} 30\n"
		   "cellfs_table_reads_total{table=\"u\"} 60\n"
		   "cellfs_table_writes_total{table=\"u\"} 4\n";
	struct samples before, now;
	struct frame f = {"/mnt", &before, &now, 2, NULL, "busy"};
	struct buf out = {0};
	const char *text;

	assert_int_equal(samples_read(a, &before), 0);
	assert_int_equal(samples_read(b, &now), 0);
	assert_int_equal(frame_text(&f, &out), 0);
	assert_int_equal(buf_append(&out, "", 1), 0);
	text = (const char *)out.data;
	assert_non_null(strstr(text, "/mnt: takes writes, 0 failures/s\n"));
	assert_non_null(strstr(text, "read                   4/s  |█ |  half "
				     "<= 1 ms, 99 % <= 1 ms\n"));
	assert_null(strstr(text, "idle"));
	assert_non_null(strstr(text,
			       "  u                     30/s         2/s\n"
			       "  t                     10/s         0/s\n"));
	assert_non_null(strstr(text, "prefixes are not told: busy\n"));
	assert_null(strstr(text, "cache"));
	buf_free(&out);
	samples_free(&before);
	samples_free(&now);
}
