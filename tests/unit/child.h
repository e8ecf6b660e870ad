/* What a test does in a process of its own, which has nothing to lose. */
#ifndef CELLFS_TESTS_UNIT_CHILD_H
#define CELLFS_TESTS_UNIT_CHILD_H

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/*
 * True in the child, which ends by _exit(2): cmocka's assertions are the parent's.
 * That waits, and fails unless the child has ended with 0.
 */
static inline bool in_child(void)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		return true;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

#endif
