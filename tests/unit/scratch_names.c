#include "tests/unit/unit.h"
#include "fs/memory/scratch_names.h"
#include "fs/tree/kind.h"
#include "store/value/why.h"

static bool temporary(const char *name)
{
	return scratch_name_is_temporary(bytes_str(name));
}

static int check(uint8_t level, const char *name)
{
	why_clear();
	return scratch_name_check(bytes_str(name), level == NODE_COLUMN,
				  kind_of(level)->home);
}

TEST(what_tools_make_is_temporary)
{
	static const char *const names[] = {
		".5.swp",
		".5.swpx",
		".5.AbCdEf",
		"#5#",
		"5~",
		"5.~1~",
		"a b.tmp",
		"x.temp",
		"x.part",
		"x.partial",
		"x.new",
		"x.bak",
		"x.orig",
		"x.rej",
		"index.lock",
		"x.swp",
		"sedAbC123",
		"tmp123456",
		"tmpab_d1234",
		"tmp.AbCdEf",
		"tmp.AbCdEfGhIj",
		"XXAbCdEf",
		"5.oAbCdEf",
		"5.rAbCdEf",
		"README.o123456",
		"4913",
		"5036",
		"5159",
		NULL,
	};

	for (int i = 0; names[i]; i++) {
		if (!temporary(names[i]))
			fail_msg("%s", names[i]);
		assert_int_equal(check(NODE_ROW, names[i]), 0);
		assert_int_equal(check(NODE_ROOT, names[i]), 0);
	}
}

TEST(what_people_make_is_not)
{
	static const char *const names[] = {
		"README",     "notes",	     "a.txt",	  "tmp",
		"temp",	      "tmpfs",	     "tmp12345",  "tmp123456789",
		"tmp.abc.de", "tmpfile.txt", "sed",	  "sedAbC12",
		"sedAbC1234", "XXAbCdE",     "XXAbCdEfg", "xxAbCdEf",
		"x.oAbCdE",   "oAbCdEf",     "x.tmp2",	  "x.bak.gz",
		"newer",      "new",	     "lock",	  "4912",
		"4914",	      "04913",	     "100085",	  "1637056832",
		"-5",	      "\xff\xfe",    NULL,
	};

	for (int i = 0; names[i]; i++) {
		if (names[i][0] != '.' && temporary(names[i]))
			fail_msg("%s", names[i]);
		if (names[i][0] != '.')
			assert_int_equal(check(NODE_ROW, names[i]), -EPERM);
	}
	assert_false(scratch_name_is_temporary(bytes_of("", 0)));
}

/* A suffix alone names nothing that it could be the temporary one of. */
TEST(a_suffix_alone_is_no_name)
{
	assert_false(temporary("~"));
	assert_true(temporary("x~"));
}

TEST(numbers_in_a_column_are_timestamps_or_mistakes)
{
	static const char *const numbers[] = {
		"0123",
		"00",
		"-5",
		"+5",
		"12345678901234567890",
		"9223372036854775806",
		"9223372036854775807",
		NULL,
	};

	for (int i = 0; numbers[i]; i++) {
		assert_int_equal(check(NODE_COLUMN, numbers[i]), -EINVAL);
		assert_non_null(strstr(store_why(), "0 to 922337203685477580"
						    "5"));
	}
	assert_int_equal(check(NODE_COLUMN, "1e5"), -EPERM);
	assert_int_equal(check(NODE_COLUMN, "-"), -EPERM);
	assert_int_equal(check(NODE_COLUMN, "5 "), -EPERM);
	assert_int_equal(check(NODE_FAMILY, "0123"), -EPERM);
}

TEST(the_refusal_says_where_data_lives)
{
	static const struct {
		uint8_t level;
		const char *said;
	} cases[] = {
		{NODE_ROOT, "TABLE/ROW/FAMILY:QUALIFIER"},
		{NODE_TABLE, "ROW/FAMILY:QUALIFIER"},
		{NODE_PUT, "ROW/FAMILY:QUALIFIER"},
		{NODE_ROW_PIECE, "ROW/FAMILY:QUALIFIER"},
		{NODE_ROW, "FAMILY:QUALIFIER or FAMILY/QUALIFIER/latest"},
		{NODE_FAMILY, "QUALIFIER/latest"},
		{NODE_COLUMN_PIECE, "QUALIFIER/latest"},
		{NODE_COLUMN, "latest and milliseconds"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(check(cases[i].level, "README"), -EPERM);
		assert_non_null(strstr(store_why(), cases[i].said));
		assert_non_null(strstr(store_why(), "-o scratch=any"));
	}
}
