#include "fs/report/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fs/report/line.h"
#include "store/os/clock.h"
#include "store/value/why.h"

struct kept {
	const char *op;
	int64_t end_ms;
	uint64_t ns;
	int err;
	char path[TRACE_PATH_KEPT];
};

struct trace {
	_Atomic uint32_t watchers;
	_Atomic uint64_t slow_ns;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t more;
	uint64_t seq; /* of the newest request, 0 = none yet */
	struct kept ring[TRACE_KEPT];
};

int trace_new(struct trace **out)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	clock_cond_init(&t->more);
	*out = t;
	return 0;
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	pthread_cond_destroy(&t->more);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

int trace_watch(struct trace *t, uint64_t *seq)
{
	bool may;

	pthread_mutex_lock(&t->lock);
	may = atomic_load(&t->watchers) < TRACE_WATCHERS_MAX;
	if (may) {
		atomic_fetch_add(&t->watchers, 1);
		*seq = t->seq;
	}
	pthread_mutex_unlock(&t->lock);
	return may ? 0
		   : why(-EBUSY, "%d programs watch the requests already",
			 TRACE_WATCHERS_MAX);
}

void trace_unwatch(struct trace *t)
{
	atomic_fetch_sub(&t->watchers, 1);
}

bool trace_is_watched(const struct trace *t)
{
	return atomic_load_explicit(&t->watchers, memory_order_relaxed) > 0;
}

void trace_set_slow(struct trace *t, uint64_t ns)
{
	atomic_store(&t->slow_ns, ns);
}

uint64_t trace_slow(const struct trace *t)
{
	return atomic_load_explicit(&t->slow_ns, memory_order_relaxed);
}

void trace_add(struct trace *t, const struct trace_request *r)
{
	struct kept *k;

	pthread_mutex_lock(&t->lock);
	k = &t->ring[t->seq++ % TRACE_KEPT];
	k->op = r->op;
	k->end_ms = r->end_ms;
	k->ns = r->ns;
	k->err = r->err;
	snprintf(k->path, sizeof(k->path), "%s", r->path);
	line_clean(k->path);
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->lock);
}

/* REQUIRES: lock. Until there is one behind @seq, or the time is over. */
static void wait_for(struct trace *t, uint64_t seq, int ms)
{
	uint64_t until = monotonic_ns() + (uint64_t)ms * NS_PER_MS;

	while (t->seq == seq && clock_cond_wait(&t->more, &t->lock, until))
		;
}

static int add_line(const struct kept *k, struct buf *out)
{
	const char *err = k->err ? why_name(-k->err) : "ok";
	time_t s = (time_t)(k->end_ms / 1000);
	char when[32];
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	return buf_printf(out, "%s.%03dZ\t%llu.%03llu ms\t%s\t%s\t%s\n", when,
			  (int)(k->end_ms % 1000),
			  (unsigned long long)(k->ns / 1000000),
			  (unsigned long long)(k->ns / 1000 % 1000), k->op,
			  err ? err : "error", k->path);
}

int trace_lines(struct trace *t, uint64_t *seq, size_t size, int wait_ms,
		struct buf *out)
{
	size_t start = out->len;
	int r = 0;

	pthread_mutex_lock(&t->lock);
	if (t->seq == *seq && wait_ms)
		wait_for(t, *seq, wait_ms);
	if (t->seq - *seq > TRACE_KEPT) {
		r = buf_printf(
			out, "# %llu requests are left out\n",
			(unsigned long long)(t->seq - *seq - TRACE_KEPT));
		*seq = t->seq - TRACE_KEPT;
	}
	while (r == 0 && *seq < t->seq && out->len + TRACE_LINE_MAX <= size) {
		r = add_line(&t->ring[*seq % TRACE_KEPT], out);
		if (r == 0)
			++*seq;
	}
	pthread_mutex_unlock(&t->lock);
	return r < 0 ? r : out->len > start;
}
