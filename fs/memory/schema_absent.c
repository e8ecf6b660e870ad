#include "fs/memory/schema_absent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/os/clock.h"

#define REMOVED_MS 10000
#define CREATING_LOOKS 2

void schema_absent_init(struct schema_absent *s)
{
	pthread_mutex_init(&s->lock, NULL);
}

void schema_absent_destroy(struct schema_absent *s)
{
	pthread_mutex_destroy(&s->lock);
}

/* REQUIRES: lock. */
static void forget(struct schema_absence *a)
{
	a->maker = 0;
	a->promised = false;
	a->until_ms = 0;
	a->any = false;
	a->asked = false;
}

/* What is known of the table, under the lock: NULL when that is nothing. */
static struct schema_absence *lock_known(struct schema_absent *s,
					 const struct fstable *ft)
{
	struct schema_absence *a = schema_absence_of(s, fstable_id(ft));

	pthread_mutex_lock(&s->lock);
	return a->any && a->table == fstable_id(ft) && !fstable_snapshot(ft)
		       ? a
		       : NULL;
}

/* The same to be set: what is there of another table gives way. */
static struct schema_absence *lock_any(struct schema_absent *s,
				       const struct fstable *ft)
{
	struct schema_absence *a = lock_known(s, ft);

	if (a)
		return a;
	a = schema_absence_of(s, fstable_id(ft));
	forget(a);
	a->table = fstable_id(ft);
	a->any = true;
	return a;
}

void schema_absent_made(struct schema_absent *s, const struct fstable *ft,
			pid_t maker)
{
	lock_any(s, ft)->maker = maker;
	pthread_mutex_unlock(&s->lock);
}

void schema_absent_removed(struct schema_absent *s, const struct fstable *ft)
{
	lock_any(s, ft)->until_ms = monotonic_ms() + REMOVED_MS;
	pthread_mutex_unlock(&s->lock);
}

void schema_absent_written(struct schema_absent *s, uint64_t table)
{
	struct schema_absence *a = schema_absence_of(s, table);

	pthread_mutex_lock(&s->lock);
	if (a->table == table)
		forget(a);
	pthread_mutex_unlock(&s->lock);
}

/* REQUIRES: lock. */
static bool is_removed(struct schema_absence *a)
{
	if (a->until_ms && monotonic_ms() >= a->until_ms)
		a->until_ms = 0;
	return a->until_ms != 0;
}

bool schema_absent_to_all(struct schema_absent *s, const struct fstable *ft)
{
	struct schema_absence *a = lock_known(s, ft);
	bool removed = a && is_removed(a);

	pthread_mutex_unlock(&s->lock);
	return removed;
}

/*
 * Does the process keep an existing file, or its beginning, and look by
 * lstat(2)? --append-verify would write the text a second time.
 */
static bool is_option(const char *arg)
{
	return !strcmp(arg, "--ignore-existing") || !strcmp(arg, "--append") ||
	       !strcmp(arg, "--append-verify");
}

static bool spares_existing(pid_t who)
{
	char path[32], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)who);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	for (char *p = text; p < text + n; p += strlen(p) + 1)
		if (is_option(p))
			return true;
	return false;
}

/* REQUIRES: lock. */
static int look_by_maker(struct schema_absence *a)
{
	if (!a->asked) {
		a->asked = true;
		a->looks = 0;
		a->promised = false;
		return -ESTALE;
	}
	a->asked = false;
	if (a->looks >= CREATING_LOOKS || spares_existing(a->maker)) {
		a->promised = true;
		return 0;
	}
	forget(a);
	return 1;
}

int schema_absent_look(struct schema_absent *s, const struct fstable *ft,
		       pid_t who, bool plain)
{
	struct schema_absence *a = lock_known(s, ft);
	int r = 1;

	if (a && is_removed(a))
		r = 0;
	else if (a && !plain)
		forget(a);
	else if (a && a->maker && a->maker == who)
		r = look_by_maker(a);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void schema_absent_table(struct schema_absent *s, const struct fstable *ft,
			 pid_t who, bool found)
{
	struct schema_absence *a;

	if (!schema_absent_is_asked(s, ft))
		return;
	a = lock_known(s, ft);
	if (a && a->maker == who)
		a->looks = found ? 0 : a->looks + 1;
	pthread_mutex_unlock(&s->lock);
}

bool schema_absent_may_make(struct schema_absent *s, const struct fstable *ft,
			    pid_t who)
{
	struct schema_absence *a = lock_known(s, ft);
	bool may = a && (is_removed(a) || (a->promised && a->maker == who));

	if (may)
		forget(a);
	pthread_mutex_unlock(&s->lock);
	return may;
}
