/*
 * Memory that is kept from one opened image to the next.
 *
 * A store that is opened for a thousandth of a second asks the system for
 * chunks of some MiB, touches a page of each and gives them back: a fifth of
 * the time of a crash test. Programs with this file are linked with
 * --wrap=os_pages and --wrap=os_pages_free. One thread uses it. What is kept is
 * not zeroed again: who asks for chunks keeps used ones in a pool as well, and
 * counts on nothing.
 */
#ifndef CELLFS_TESTS_CRASH_PAGES_H
#define CELLFS_TESTS_CRASH_PAGES_H

/* Before the first store is opened: sets up malloc(3) and the kernel too. */
void pages_begin(void);

#endif
