#include "fs/report/errors.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fs/report/line.h"
#include "store/value/why.h"

struct failure {
	time_t when;
	int err;
	uint64_t times;
	char op[16];
	char path[256];
	char reason[512];
};

struct errors {
	pthread_mutex_t lock; /* guards all below; innermost */
	struct failure ring[ERRORS_KEPT];
	uint64_t total; /* with repeats */
	unsigned next;	/* index of the next entry */
	unsigned kept;
};

int errors_new(struct errors **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

void errors_free(struct errors *es)
{
	if (!es)
		return;
	pthread_mutex_destroy(&es->lock);
	free(es);
}

/* The end of a path says more than its start. */
static void set_path(char *to, size_t size, const char *path)
{
	size_t len = strlen(path);

	if (len < size)
		memcpy(to, path, len + 1);
	else
		snprintf(to, size, "...%s", path + (len - size + 4));
}

/* Does the newest entry say the same? close(2) repeats the error of a write. */
static bool is_told(const struct failure *newest, const struct failure *f)
{
	return newest->err == f->err && !strcmp(newest->path, f->path) &&
	       !strcmp(newest->reason, f->reason) &&
	       (!strcmp(newest->op, f->op) || !strcmp(f->op, "close"));
}

void errors_add(struct errors *es, const char *op, const char *path, int err,
		const char *reason)
{
	struct failure f = {.when = time(NULL), .err = -err, .times = 1};
	struct failure *last;

	snprintf(f.op, sizeof(f.op), "%s", op);
	set_path(f.path, sizeof(f.path), path);
	snprintf(f.reason, sizeof(f.reason), "%s", reason);
	pthread_mutex_lock(&es->lock);
	es->total++;
	last = &es->ring[(es->next + ERRORS_KEPT - 1) % ERRORS_KEPT];
	if (es->kept && is_told(last, &f)) {
		last->when = f.when;
		last->times += !strcmp(last->op, f.op);
	} else {
		es->ring[es->next] = f;
		es->next = (es->next + 1) % ERRORS_KEPT;
		if (es->kept < ERRORS_KEPT)
			es->kept++;
	}
	pthread_mutex_unlock(&es->lock);
}

uint64_t errors_total(struct errors *es)
{
	uint64_t n;

	pthread_mutex_lock(&es->lock);
	n = es->total;
	pthread_mutex_unlock(&es->lock);
	return n;
}

static int format_one(struct failure *f, struct buf *out)
{
	char when[32], times[32] = "";
	const char *name = why_name(f->err);
	struct tm tm;

	localtime_r(&f->when, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &tm);
	if (f->times > 1)
		snprintf(times, sizeof(times), " (%llu times)",
			 (unsigned long long)f->times);
	line_clean(f->path);
	line_clean(f->reason);
	return buf_printf(out, "%s %s %s: %s: %s%s\n", when, f->op, f->path,
			  name ? name : "?",
			  f->reason[0] ? f->reason : why_meaning(f->err),
			  times);
}

int errors_format(struct errors *es, struct buf *out)
{
	struct failure *copy = malloc(sizeof(es->ring));
	unsigned kept, first;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&es->lock);
	memcpy(copy, es->ring, sizeof(es->ring));
	kept = es->kept;
	first = (es->next + ERRORS_KEPT - kept) % ERRORS_KEPT;
	pthread_mutex_unlock(&es->lock);
	for (unsigned i = 0; r == 0 && i < kept; i++)
		r = format_one(&copy[(first + i) % ERRORS_KEPT], out);
	free(copy);
	return r;
}
