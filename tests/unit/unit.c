#include "tests/unit/unit.h"

#include <assert.h>

#define TESTS_MAX 200

struct CMUnitTest unit_each, unit_all;

static struct CMUnitTest tests[TESTS_MAX];
static int lines[TESTS_MAX];
static size_t count;

/* Tests that are added before main() come in any order. */
void unit_add(int line, const struct CMUnitTest *test)
{
	size_t at = count++;

	assert(at < TESTS_MAX);
	for (; at && lines[at - 1] > line; at--) {
		tests[at] = tests[at - 1];
		lines[at] = lines[at - 1];
	}
	tests[at] = *test;
	lines[at] = line;
}

int main(void)
{
	assert(count);
	for (size_t i = 0; i < count; i++) {
		if (tests[i].setup_func || tests[i].teardown_func)
			continue;
		tests[i].setup_func = unit_each.setup_func;
		tests[i].teardown_func = unit_each.teardown_func;
	}
	return _cmocka_run_group_tests("tests", tests, count,
				       unit_all.setup_func,
				       unit_all.teardown_func);
}
