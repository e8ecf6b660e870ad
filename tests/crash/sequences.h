/*
 * All sequences of up to three of 14 kinds of operation, crashed everywhere.
 *
 * Files and databases lose data after short histories: of the bugs that the
 * authors of CrashMonkey looked at, workloads of three operations show nearly
 * all. A kind has one or two forms, without and with a sync where it can be
 * asked for. Each sequence is run on a small store whose content is in a table
 * and in the log. It is crashed in its last operation and in the close behind
 * it: the crashes before are those of the shorter sequence that it begins with.
 */
#ifndef CELLFS_TESTS_CRASH_SEQUENCES_H
#define CELLFS_TESTS_CRASH_SEQUENCES_H

#include "tests/crash/run.h"

/* All, one in o->sample, or only that of number o->sequence. */
int sequences(const struct options *o);

#endif
