/*
 * What every unit program includes: cmocka, behind the headers that it wants
 * before it, and the C library's of strings, memory and errors.
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

#endif
