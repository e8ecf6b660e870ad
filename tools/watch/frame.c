#include "tools/watch/frame.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/watch/spark.h"

#define BUCKETS_MAX 32

/* What changed by the second. */
static double rate(const struct frame *f, const char *name, const char *label)
{
	double n = samples_get(f->now, name, label) -
		   samples_get(f->before, name, label);

	return n > 0 ? n / f->seconds : 0;
}

static double mib(double bytes)
{
	return bytes / (1 << 20);
}

/* Of some figures of one metric, those with the greatest rates. */
struct busy {
	const char *label[FRAME_ROWS];
	double rate[FRAME_ROWS];
	size_t n;
	double all;
};

/* Puts @label where it belongs, or leaves it out. */
static void busy_add(struct busy *b, const char *label, double r)
{
	size_t at = b->n;

	b->all += r;
	if (r <= 0)
		return;
	if (at == FRAME_ROWS && r <= b->rate[--at])
		return;
	for (; at > 0 && b->rate[at - 1] < r; at--) {
		b->rate[at] = b->rate[at - 1];
		b->label[at] = b->label[at - 1];
	}
	b->rate[at] = r;
	b->label[at] = label;
	if (b->n < FRAME_ROWS)
		b->n++;
}

/* By the sum of two metrics; @other may be NULL. */
static struct busy busiest(const struct frame *f, const char *name,
			   const char *other)
{
	struct busy b = {.n = 0};

	for (size_t i = 0; i < f->now->n; i++) {
		const struct sample *s = &f->now->all[i];
		double r;

		if (strcmp(s->name, name) != 0)
			continue;
		r = rate(f, name, s->label);
		if (other)
			r += rate(f, other, s->label);
		busy_add(&b, s->label, r);
	}
	return b;
}

/* Seconds, as metrics write them, for people. */
static void time_text(const char *bound, char out[16])
{
	double s = strtod(bound, NULL);

	if (bound[0] == '+')
		snprintf(out, 16, "more");
	else if (s < 1e-3)
		snprintf(out, 16, "%.3g us", s * 1e6);
	else if (s < 1)
		snprintf(out, 16, "%.3g ms", s * 1e3);
	else
		snprintf(out, 16, "%.3g s", s);
}

/* One histogram: how many, how they lie, and two shares of them. */
static int latency_line(const struct frame *f, const char *metric,
			const char *label, double per_second, struct buf *out)
{
	double now[BUCKETS_MAX], before[BUCKETS_MAX] = {0};
	const char *bounds[BUCKETS_MAX], *ignored[BUCKETS_MAX];
	char bars[SPARK_ROOM(BUCKETS_MAX)], half[16], most[16];
	size_t n = samples_buckets(f->now, metric, label, now, bounds,
				   BUCKETS_MAX),
	       i;

	samples_buckets(f->before, metric, label, before, ignored, n);
	for (i = 0; i < n; i++)
		now[i] -= before[i];
	spark_line(now, n, bars);
	i = spark_quantile(now, n, 0.5);
	if (i == n)
		return 0;
	time_text(bounds[i], half);
	time_text(bounds[spark_quantile(now, n, 0.99)], most);
	return buf_printf(out,
			  "  %-14s %9.0f/s  |%s|  half <= %s, 99 %% <= %s\n",
			  label, per_second, bars, half, most);
}

static int latencies(const struct frame *f, const char *title,
		     const char *metric, struct buf *out)
{
	char count[64];
	struct busy b;
	int r;

	snprintf(count, sizeof(count), "%s_count", metric);
	b = busiest(f, count, NULL);
	r = buf_printf(out, "%-16s %9.0f/s  10 us .. 10 s\n", title, b.all);
	for (size_t i = 0; r == 0 && i < b.n; i++)
		r = latency_line(f, metric, b.label[i], b.rate[i], out);
	return r;
}

static int table_lines(const struct frame *f, struct buf *out)
{
	static const char reads[] = "cellfs_table_reads_total",
			  writes[] = "cellfs_table_writes_total";
	struct busy b = busiest(f, reads, writes);
	int r = buf_printf(out, "tables           %9s  %9s\n", "reads",
			   "writes");

	for (size_t i = 0; r == 0 && i < b.n; i++)
		r = buf_printf(out, "  %-14s %9.0f/s %9.0f/s\n", b.label[i],
			       rate(f, reads, b.label[i]),
			       rate(f, writes, b.label[i]));
	return r;
}

static int heat_lines(const struct frame *f, struct buf *out)
{
	int r;

	if (!f->heat)
		return buf_printf(out, "prefixes are not told: %s\n",
				  f->no_heat);
	heat_sort(f->heat);
	r = buf_printf(out, "prefixes of rows  requests\n");
	for (size_t i = 0; r == 0 && i < f->heat->n && i < FRAME_ROWS; i++)
		r = buf_printf(out, "  %-14s %9.0f/s\n", f->heat->all[i].name,
			       (double)f->heat->all[i].requests / f->seconds);
	return r;
}

/* What the engine has; a store that is HBase's has none of it. */
static int engine_lines(const struct frame *f, struct buf *out)
{
	double hits = rate(f, "cellfs_store_cache_hits_total", ""),
	       misses = rate(f, "cellfs_store_cache_misses_total", ""),
	       limit = samples_get(f->now, "cellfs_store_cache_limit_bytes",
				   "");
	int r;

	if (limit <= 0)
		return 0;
	r = buf_printf(
		out,
		"cache            %9.0f/s  %.1f %% hits, %.1f of %.0f MiB\n",
		hits + misses,
		hits + misses > 0 ? 100 * hits / (hits + misses) : 0,
		mib(samples_get(f->now, "cellfs_store_cache_bytes", "")),
		mib(limit));
	if (r == 0)
		r = buf_printf(
			out, "flush            %9.1f MiB/s, %.1f MiB wait\n",
			mib(rate(f, "cellfs_store_flush_bytes_total", "")),
			mib(samples_get(f->now,
					"cellfs_store_flush_pending_bytes",
					"")));
	if (r == 0)
		r = buf_printf(
			out,
			"compaction       %9.1f MiB/s, %.1f MiB are due; "
			"writers wait %.0f %%\n",
			mib(rate(f, "cellfs_store_compaction_write_bytes_total",
				 "")),
			mib(samples_get(f->now,
					"cellfs_store_compaction_pending_bytes",
					"")),
			100 * rate(f, "cellfs_store_stall_seconds_total", ""));
	return r;
}

int frame_text(const struct frame *f, struct buf *out)
{
	bool healthy = samples_get(f->now, "cellfs_healthy", "") > 0;
	int r = buf_printf(out, "%s: %s, %.0f failures/s\n", f->title,
			   healthy ? "takes writes" : "takes no writes",
			   rate(f, "cellfs_failures_total", ""));

	if (r == 0)
		r = latencies(f, "requests", "cellfs_request_seconds", out);
	if (r == 0)
		r = latencies(f, "calls of store", "cellfs_store_call_seconds",
			      out);
	if (r == 0)
		r = table_lines(f, out);
	if (r == 0)
		r = heat_lines(f, out);
	return r < 0 ? r : engine_lines(f, out);
}
