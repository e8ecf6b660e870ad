#include "tests/unit/unit.h"
#include "fs/report/errors.h"

static struct errors *es;
static struct buf text;

static int begin(void **state)
{
	return errors_new(&es);
}

static int end(void **state)
{
	errors_free(es);
	buf_free(&text);
	return 0;
}

EACH_TEST_IN(begin, end);

static const char *lines(void)
{
	text.len = 0;
	assert_int_equal(errors_format(es, &text), 0);
	assert_int_equal(buf_append(&text, "", 1), 0);
	return (char *)text.data;
}

TEST(a_failure_is_one_line_with_path_errno_and_reason)
{
	char words[64];

	errors_add(es, "open", "/T/R/f:q", -EPERM, "no family f");
	assert_non_null(
		strstr(lines(), " open /T/R/f:q: EPERM: no family f\n"));
	errors_add(es, "open", "/T/R/f:q", -EIO, "");
	/* The words are the C library's. */
	snprintf(words, sizeof(words), "EIO: %s\n", strerror(EIO));
	assert_non_null(strstr(lines(), words));
}

TEST(of_a_long_path_the_end_is_kept)
{
	char path[300];

	for (size_t len = 250; len < sizeof(path); len++) {
		memset(path, 'a', len);
		memcpy(path, "/begin", 6);
		memcpy(path + len - 4, "/end", 5);
		errors_add(es, "open", path, -EIO, "why");
		assert_non_null(strstr(lines(), "a/end: EIO: why\n"));
		assert_int_equal(strstr(lines(), " open ...") != NULL,
				 len > 255);
	}
}

TEST(repeats_are_counted)
{
	for (int i = 0; i < 3; i++)
		errors_add(es, "write", "/T", -EFBIG, "too large");
	assert_non_null(strstr(lines(), "too large (3 times)\n"));
	assert_int_equal(errors_total(es), 3);
}

TEST(a_close_that_repeats_a_write_is_one_line_with_it)
{
	errors_add(es, "write", "/T", -EINVAL, "line 3");
	errors_add(es, "close", "/T", -EINVAL, "line 3");
	assert_non_null(strstr(lines(), " write /T: EINVAL: line 3\n"));
	assert_null(strstr(lines(), "close"));
	errors_add(es, "close", "/T", -EINVAL, "line 4");
	errors_add(es, "close", "/T", -EINVAL, "line 4");
	assert_non_null(strstr(lines(), " close /T: EINVAL: line 4 (2 times)"));
}

TEST(the_last_are_kept_oldest_first)
{
	char path[20];
	const char *all;
	size_t n = 0;

	for (int i = 0; i < ERRORS_KEPT + 10; i++) {
		snprintf(path, sizeof(path), "/p%d", i);
		errors_add(es, "open", path, -EPERM, "x");
	}
	all = lines();
	for (const char *p = all; (p = strchr(p, '\n')); p++)
		n++;
	assert_int_equal(n, ERRORS_KEPT);
	assert_null(strstr(all, "/p9:"));
	assert_true(strstr(all, "/p10:") < strstr(all, "/p265:"));
}

TEST(a_name_cannot_forge_a_line)
{
	char path[5000];

	errors_add(es, "open", "/a\nb\x1b[2J", -EPERM, "x\ny");
	assert_non_null(strstr(lines(), "/a?b?[2J: EPERM: x?y\n"));
	memset(path, 'p', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	errors_add(es, "open", path, -EPERM, path);
	assert_non_null(strstr(lines(), "...ppp"));
}
