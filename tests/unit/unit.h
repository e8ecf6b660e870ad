/*
 * What every unit program includes: cmocka, behind the headers that it wants
 * before it, the C library's of strings, memory and errors, and what makes a test:
 *
 *	TEST(what_was_put_is_read)
 *	{
 *		assert_...
 *	}
 *
 * is a function of void **state. main() is in unit.c, and runs the tests of the
 * program in the order of their lines.
 */
#ifndef CELLFS_TESTS_UNIT_H
#define CELLFS_TESTS_UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEST(f) TEST_IN(f, NULL, NULL)
/* A test with a setup and a teardown of its own, of which each may be NULL. */
#define TEST_IN(f, set_up, tear_down)     \
	ADD_TEST(f, , set_up, tear_down); \
	static void f(void **state)
/* The test once more, as f##how: in front of its TEST_IN(). */
#define ADD_TEST(f, how, set_up, tear_down)                    \
	static void f(void **state);                           \
	BEFORE_MAIN(add_##f##how)                              \
	{                                                      \
		UNIT_ADD(#f #how, f, set_up, tear_down, NULL); \
	}                                                      \
	_Static_assert(1, "")
/* The setup and the teardown of each test that has none of its own. */
#define EACH_TEST_IN(set_up, tear_down)              \
	BEFORE_MAIN(set_each)                        \
	{                                            \
		unit_each.setup_func = set_up;       \
		unit_each.teardown_func = tear_down; \
	}                                            \
	_Static_assert(1, "")
/* The setup and the teardown of all the tests together. */
#define ALL_TESTS_IN(set_up, tear_down)             \
	BEFORE_MAIN(set_all)                        \
	{                                           \
		unit_all.setup_func = set_up;       \
		unit_all.teardown_func = tear_down; \
	}                                           \
	_Static_assert(1, "")

/* What a program does before main(). */
#define BEFORE_MAIN(f) __attribute__((constructor)) static void f(void)
/* Adds a test by hand, before main(). */
#define UNIT_ADD(...) unit_add(__LINE__, &(struct CMUnitTest){__VA_ARGS__})
void unit_add(int line, const struct CMUnitTest *test);
extern struct CMUnitTest unit_each, unit_all;

#endif
