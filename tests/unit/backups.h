/*
 * Stores with a clock that the test moves, and their backups.
 */
#ifndef CELLFS_TESTS_UNIT_BACKUPS_H
#define CELLFS_TESTS_UNIT_BACKUPS_H

#include "tests/unit/temp_store.h"
#include "tools/backup/backup.h"

/* The clock stands at backups_now while nobody moves it. */
extern struct os backups_os;
extern int64_t backups_now;
/* Nobody waits, and nothing is stopped. */
extern const struct carry_watch backups_watch;

/* The store is closed, or @dies. */
void backups_end(struct temp_store *t, bool dies);
/* A store that is open, or one at rest, whose log is carried as it lies there. */
void backups_carry(const char *folder, struct store *s, const char *path);
void backups_carry_at_rest(const char *folder, struct temp_store *t, bool dies);
/* The number of the newest backup that is not later, and when it was taken. */
uint64_t backups_before(const struct folder *f, int64_t at, int64_t *taken);

#endif
