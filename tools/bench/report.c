#include "tools/bench/report.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>

static bool less_is_better(enum metric m)
{
	return m != METRIC_PER_SECOND;
}

unsigned report_source(const struct report *rep, unsigned w)
{
	const char *of = bench_workloads[w].of;

	if (!of)
		return w;
	for (unsigned i = 0; i < rep->nworkloads; i++)
		if (!strcmp(bench_workloads[i].name, of))
			return i;
	return w;
}

static double figure(const struct result *r, enum metric m)
{
	switch (m) {
	case METRIC_PER_SECOND:
		return r->per_second;
	case METRIC_DISK:
		return (double)r->disk_bytes;
	case METRIC_WRITTEN:
		return r->written;
	case METRIC_PEAK:
		return (double)r->peak_bytes;
	case METRIC_CPU:
		return r->cpu_seconds;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* 0 if a run is missing: an engine that fails once gets no figure. */
static double median(const struct report *rep, unsigned w, unsigned engine)
{
	enum metric m = bench_workloads[w].metric;
	unsigned source = report_source(rep, w), n = rep->set->runs;
	double v[RUNS_MAX];

	for (unsigned i = 0; i < n; i++) {
		const struct result *r = &rep->results[source][engine][i];

		if (!r->done)
			return 0;
		v[i] = figure(r, m);
	}
	qsort(v, n, sizeof(v[0]), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double of_named(const struct report *rep, unsigned w, const char *name)
{
	for (unsigned e = 0; e < rep->nengines; e++)
		if (!strcmp(rep->engines[e]->name, name))
			return median(rep, w, e);
	return 0;
}

static double of_best_lsm(const struct report *rep, unsigned w)
{
	bool less = less_is_better(bench_workloads[w].metric);
	double best = 0;

	for (unsigned e = 0; e < rep->nengines; e++) {
		double v;

		if (!rep->engines[e]->lsm)
			continue;
		v = median(rep, w, e);
		if (v > 0 && (!(best > 0) || (less ? v < best : v > best)))
			best = v;
	}
	return best;
}

static double ratio(const struct report *rep, unsigned w, bool lmdb)
{
	double own = of_named(rep, w, "cellfs");
	double peer = lmdb ? of_named(rep, w, "lmdb") : of_best_lsm(rep, w);

	return own > 0 && peer > 0 ? own / peer : 0;
}

/* The ratio to another workload, both on cellfs. */
static double ratio_to_base(const struct report *rep, unsigned w)
{
	const char *base = bench_workloads[w].base;
	double own = of_named(rep, w, "cellfs");

	for (unsigned i = 0; base && i < rep->nworkloads; i++) {
		double other;

		if (strcmp(bench_workloads[i].name, base) != 0)
			continue;
		other = of_named(rep, i, "cellfs");
		return other > 0 ? own / other : 0;
	}
	return 0;
}

static void print_number(FILE *to, double v, int width)
{
	static const struct {
		double scale;
		const char *suffix;
	} units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, " "}};
	size_t i = 0;
	char text[32];

	if (!(v > 0)) {
		fprintf(to, "%*s", width, "- ");
		return;
	}
	while (i < 3 && v < units[i].scale)
		i++;
	v /= units[i].scale;
	snprintf(text, sizeof(text), "%.*f%s",
		 v < 10	   ? 2
		 : v < 100 ? 1
			   : 0,
		 v, units[i].suffix);
	fprintf(to, "%*s", width, text);
}

static void print_ratio(FILE *to, double v, double want, bool less)
{
	bool met = less ? v <= want : v >= want;
	char text[32];

	if (!(v > 0)) {
		fprintf(to, "  %17s", "");
		return;
	}
	snprintf(text, sizeof(text), "%.2fx", v);
	fprintf(to, "  %8s", text);
	if (want > 0)
		snprintf(text, sizeof(text), "%s%.4g%s",
			 less ? "<=" : ">=", want, met ? " " : "!");
	else
		text[0] = '\0';
	fprintf(to, " %8s", text);
}

static void print_settings(const struct report *rep, FILE *to)
{
	const struct settings *s = rep->set;
	struct utsname host;

	uname(&host);
	fprintf(to,
		"cellfs-bench: %llu cells, 4 a row, values of %d bytes; "
		"medians of %u runs, interleaved; %s %s\n",
		(unsigned long long)s->cells, VALUE_LEN, s->runs, host.sysname,
		host.release);
	fprintf(to,
		"write buffers of %zu MiB, caches of the same size, no "
		"compression but for size-zlib\n",
		s->buffer_bytes >> 20);
	for (unsigned e = 0; e < rep->nengines; e++)
		fprintf(to, "%-9s %-8s %s\n", rep->engines[e]->name,
			rep->engines[e]->version(), rep->engines[e]->settings);
	fprintf(to, "\n");
}

static void print_bases(const struct report *rep, FILE *to)
{
	for (unsigned w = 0; w < rep->nworkloads; w++) {
		const struct workload *wl = &bench_workloads[w];
		double v = ratio_to_base(rep, w);

		if (!rep->wanted[w] || !(v > 0))
			continue;
		fprintf(to, "%-20s %.2fx of %s, wanted >=%.4g%s\n", wl->name, v,
			wl->base_line, wl->want_base,
			v < wl->want_base ? "!" : "");
	}
}

void report_table(const struct report *rep, FILE *to)
{
	print_settings(rep, to);
	fprintf(to, "%-20s %-8s", "workload", "unit");
	for (unsigned e = 0; e < rep->nengines; e++)
		fprintf(to, "%9s", rep->engines[e]->name);
	fprintf(to, "  %17s  %17s\n", "to LSM   wanted", "to LMDB   wanted");
	for (unsigned w = 0; w < rep->nworkloads; w++) {
		const struct workload *wl = &bench_workloads[w];
		bool less = less_is_better(wl->metric);

		if (!rep->wanted[w])
			continue;
		fprintf(to, "%-20s %-8s", wl->name, wl->unit);
		for (unsigned e = 0; e < rep->nengines; e++)
			print_number(to, median(rep, w, e), 9);
		print_ratio(to, ratio(rep, w, false), wl->want_lsm, less);
		print_ratio(to, ratio(rep, w, true), wl->want_lmdb, less);
		fprintf(to, "\n");
	}
	print_bases(rep, to);
}

unsigned report_failures(const struct report *rep, FILE *to)
{
	unsigned failures = 0;

	for (unsigned w = 0; w < rep->nworkloads; w++)
		for (unsigned e = 0; e < rep->nengines; e++)
			for (unsigned i = 0; i < rep->set->runs; i++) {
				const struct result *r = &rep->results[w][e][i];

				if (!r->why[0])
					continue;
				fprintf(to, "%s on %s, run %u: %s\n",
					bench_workloads[w].name,
					rep->engines[e]->name, i + 1, r->why);
				failures++;
			}
	return failures;
}

static void json_text(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			fprintf(f, "\\u%04x", *s);
		else
			fputc(*s, f);
	}
	fputc('"', f);
}

static void json_runs(const struct report *rep, unsigned w, unsigned e, FILE *f)
{
	unsigned source = report_source(rep, w);

	fprintf(f, "{\"median\": %.6g, \"runs\": [", median(rep, w, e));
	for (unsigned i = 0; i < rep->set->runs; i++) {
		const struct result *r = &rep->results[source][e][i];

		fprintf(f,
			"%s{\"done\": %s, \"per_second\": %.6g, \"ops\": %llu, "
			"\"seconds\": %.6g, \"cpu_seconds\": %.6g, "
			"\"written\": %.6g, \"peak_bytes\": %llu, "
			"\"disk_bytes\": %llu, \"why\": ",
			i ? ", " : "", r->done ? "true" : "false",
			r->per_second, (unsigned long long)r->ops, r->seconds,
			r->cpu_seconds, r->written,
			(unsigned long long)r->peak_bytes,
			(unsigned long long)r->disk_bytes);
		json_text(f, r->why);
		fprintf(f, "}");
	}
	fprintf(f, "]}");
}

static void json_workload(const struct report *rep, unsigned w, FILE *f)
{
	const struct workload *wl = &bench_workloads[w];

	fprintf(f, "    {\"name\": ");
	json_text(f, wl->name);
	fprintf(f, ", \"what\": ");
	json_text(f, wl->line);
	fprintf(f, ", \"unit\": ");
	json_text(f, wl->unit);
	fprintf(f, ", \"less_is_better\": %s,\n",
		less_is_better(wl->metric) ? "true" : "false");
	fprintf(f,
		"     \"to_lsm\": %.4g, \"wanted_lsm\": %.4g, "
		"\"to_lmdb\": %.4g, \"wanted_lmdb\": %.4g,\n",
		ratio(rep, w, false), wl->want_lsm, ratio(rep, w, true),
		wl->want_lmdb);
	fprintf(f, "     \"to_base\": %.4g, \"wanted_base\": %.4g,\n",
		ratio_to_base(rep, w), wl->want_base);
	fprintf(f, "     \"engines\": {");
	for (unsigned e = 0; e < rep->nengines; e++) {
		fprintf(f, "%s\n      \"%s\": ", e ? "," : "",
			rep->engines[e]->name);
		json_runs(rep, w, e, f);
	}
	fprintf(f, "}}");
}

int report_json(const struct report *rep, const char *path)
{
	FILE *f = fopen(path, "w");
	bool first = true;

	if (!f)
		return -errno;
	fprintf(f, "{\"cells\": %llu, \"runs\": %u, \"seconds\": %.3g,\n",
		(unsigned long long)rep->set->cells, rep->set->runs,
		rep->set->seconds);
	fprintf(f, " \"engines\": [");
	for (unsigned e = 0; e < rep->nengines; e++) {
		fprintf(f, "%s\n    {\"name\": ", e ? "," : "");
		json_text(f, rep->engines[e]->name);
		fprintf(f, ", \"version\": ");
		json_text(f, rep->engines[e]->version());
		fprintf(f, ", \"settings\": ");
		json_text(f, rep->engines[e]->settings);
		fprintf(f, "}");
	}
	fprintf(f, "],\n \"workloads\": [");
	for (unsigned w = 0; w < rep->nworkloads; w++) {
		if (!rep->wanted[w])
			continue;
		fprintf(f, "%s\n", first ? "" : ",");
		json_workload(rep, w, f);
		first = false;
	}
	fprintf(f, "]}\n");
	return fclose(f) == 0 ? 0 : -errno;
}
