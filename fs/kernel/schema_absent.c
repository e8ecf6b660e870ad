#include "fs/kernel/schema_absent.h"

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
	*s = (struct schema_absent){0};
	pthread_mutex_init(&s->lock, NULL);
}

void schema_absent_destroy(struct schema_absent *s)
{
	pthread_mutex_destroy(&s->lock);
}

void schema_absent_made(struct schema_absent *s, pid_t maker)
{
	pthread_mutex_lock(&s->lock);
	s->maker = maker;
	s->any = maker != 0;
	pthread_mutex_unlock(&s->lock);
}

void schema_absent_removed(struct schema_absent *s)
{
	pthread_mutex_lock(&s->lock);
	s->until_ms = monotonic_ms() + REMOVED_MS;
	s->any = true;
	pthread_mutex_unlock(&s->lock);
}

/* REQUIRES: lock. */
static void forget(struct schema_absent *s)
{
	s->maker = 0;
	s->promised = false;
	s->until_ms = 0;
	s->any = s->asked = false;
}

void schema_absent_written(struct schema_absent *s)
{
	pthread_mutex_lock(&s->lock);
	forget(s);
	pthread_mutex_unlock(&s->lock);
}

/* REQUIRES: lock. */
static bool is_removed(struct schema_absent *s)
{
	if (s->until_ms && monotonic_ms() >= s->until_ms)
		s->until_ms = 0;
	return s->until_ms != 0;
}

bool schema_absent_to_all(struct schema_absent *s)
{
	bool removed;

	if (!s->any)
		return false;
	pthread_mutex_lock(&s->lock);
	removed = is_removed(s);
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
static int look_by_maker(struct schema_absent *s)
{
	if (!s->asked) {
		s->asked = true;
		s->looks = 0;
		s->promised = false;
		return -ESTALE;
	}
	s->asked = false;
	if (s->looks >= CREATING_LOOKS || spares_existing(s->maker)) {
		s->promised = true;
		return 0;
	}
	forget(s);
	return 1;
}

int schema_absent_look(struct schema_absent *s, pid_t who, bool plain)
{
	int r = 1;

	if (!s->any)
		return 1;
	pthread_mutex_lock(&s->lock);
	if (is_removed(s))
		r = 0;
	else if (!plain)
		forget(s);
	else if (s->maker && s->maker == who)
		r = look_by_maker(s);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void schema_absent_table(struct schema_absent *s, pid_t who, bool found)
{
	if (!schema_absent_is_asked(s))
		return;
	pthread_mutex_lock(&s->lock);
	if (s->maker == who)
		s->looks = found ? 0 : s->looks + 1;
	pthread_mutex_unlock(&s->lock);
}

bool schema_absent_may_make(struct schema_absent *s, pid_t who)
{
	bool may;

	pthread_mutex_lock(&s->lock);
	may = is_removed(s) || (s->promised && s->maker == who);
	if (may)
		forget(s);
	pthread_mutex_unlock(&s->lock);
	return may;
}
