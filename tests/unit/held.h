/*
 * Which mutexes a thread holds, of all that a program is linked with: who gives
 * one back must hold it. Every program with the dependency unit of meson.build
 * checks that.
 */
#ifndef CELLFS_TESTS_UNIT_HELD_H
#define CELLFS_TESTS_UNIT_HELD_H

/* How many this thread holds. */
unsigned held_count(void);

#endif
