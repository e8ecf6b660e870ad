/*
 * What POSIX and Linux promise of files, asked of a mount of cellfs.
 *
 * A case is a sentence and a function. It runs in a row of its own, which is the
 * working directory, and of which the family f and the column q are made. WORKS,
 * FAILS and WANT say what must be so, and go on when it is not: what was not so is
 * printed with its line, and the program exits with 1.
 *
 * A case of `homes` runs once for each kind of file that holds bytes: a version
 * (f/q/5), the newest (f/q/latest), F:Q and a scratch file. For which cases of the
 * known suites for filesystems they stand, tests/long/posix-cases.md says.
 */
#ifndef CELLFS_TESTS_MOUNT_POSIX_H
#define CELLFS_TESTS_MOUNT_POSIX_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* What the running case knows: the mountpoint, and the file that it is to use. */
extern const char *mountpoint_path, *home;

struct posix_case {
	const char *sentence;
	void (*run)(void);
	bool homes;
};

/* Each ends with a case that has no sentence. */
extern const struct posix_case path_cases[], open_cases[], file_cases[],
	directory_cases[], rename_cases[], time_cases[], user_cases[];

/* r is what a call returned, of which errno is still there. */
void note_works(const char *file, int line, const char *what, long r);
void note_fails(const char *file, int line, const char *what, int want, long r);
void note_want(const char *file, int line, const char *what, bool so);

#define WORKS(call) note_works(__FILE__, __LINE__, #call, (long)(call))
#define FAILS(want, call)                                                    \
	do {                                                                 \
		errno = 0;                                                   \
		note_fails(__FILE__, __LINE__, #call, (want), (long)(call)); \
	} while (0)
#define WANT(so) note_want(__FILE__, __LINE__, #so, (so))

/* Makes the file anew, with this text. */
void put(const char *path, const char *text);
/* Whether the file is exactly this text. */
bool holds(const char *path, const char *text);
/* Opens, or ends the program. */
int must_open(const char *path, int flags);
/* Removes what is there, and all beneath. */
void clear(const char *path);
/* So many bytes of a letter, and a zero; of one buffer. */
const char *long_name(size_t len);

#endif
