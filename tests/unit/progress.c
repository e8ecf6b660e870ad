/* The line that shows how far a command has come. */
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "tools/progress/progress.h"

TEST(a_long_line_has_a_shorter_bar_and_is_whole)
{
	const struct timespec tick = {.tv_nsec = 2000000};
	FILE *f = tmpfile();
	int kept = dup(STDERR_FILENO);
	char line[256] = "";

	assert_non_null(f);
	progress_force();
	assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
	progress_begin("export", "cells", 1093404000);
	nanosleep(&tick, NULL); /* there is a rate then */
	progress_at(195930000, 1093404000);
	progress_clear();
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(f);
	while (fgets(line, sizeof(line), f))
		continue;
	fclose(f);
	assert_true(strlen(line) <= 80); /* with its end */
	assert_ptr_equal(strstr(line, "export [#"), line);
	assert_non_null(strstr(line, ".] "));
	assert_non_null(strstr(line, " left\n"));
}
