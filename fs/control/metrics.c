#include "fs/control/metrics.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cellfs-version.h"
#include "fs/control/process.h"
#include "fs/memory/write_state.h"
#include "fs/tree/fs.h"
#include "store/front/latency.h"

/* With labels; the names of tables are shorter than 256 bytes. */
#define METRIC_NAME_MAX 512

/*
 * The name as Prometheus has it, which counts time in seconds: stall_ns_total
 * becomes stall_seconds_total. True if it did.
 */
static bool metric_name(const char *name, char *out, size_t size)
{
	static const char ns[] = "_ns";
	const char *unit = strstr(name, ns);

	/* A label has what people chose. */
	if (!unit || unit > name + strcspn(name, "{")) {
		snprintf(out, size, "%s", name);
		return false;
	}
	snprintf(out, size, "%.*s_seconds%s", (int)(unit - name), name,
		 unit + sizeof(ns) - 1);
	return true;
}

/*
 * One figure, whose name may end in labels. Figures of one name stand behind
 * each other, and @last, the name before this one, tells the first.
 */
static int figure(struct buf *out, const char *prefix,
		  const struct store_stat *f, char last[METRIC_NAME_MAX])
{
	char name[METRIC_NAME_MAX];
	bool seconds = metric_name(f->name, name, sizeof(name));
	int base = (int)strcspn(name, "{");
	unsigned long long v = f->value;
	int r = 0;

	if (strncmp(last, name, (size_t)base) != 0 || last[base])
		r = buf_printf(out, "# HELP %s%.*s %s\n# TYPE %s%.*s %s\n",
			       prefix, base, name, f->help, prefix, base, name,
			       f->counter ? "counter" : "gauge");
	snprintf(last, METRIC_NAME_MAX, "%.*s", base, name);
	if (r < 0)
		return r;
	return seconds ? buf_printf(out, "%s%s %llu.%09llu\n", prefix, name,
				    v / 1000000000, v % 1000000000)
		       : buf_printf(out, "%s%s %llu\n", prefix, name, v);
}

static int figures(struct buf *out, const char *prefix,
		   const struct store_stat *all, size_t n)
{
	char last[METRIC_NAME_MAX] = "";
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = figure(out, prefix, &all[i], last);
	return r;
}

#define FIGURES(out, prefix, all) \
	figures(out, prefix, all, sizeof(all) / sizeof(*(all)))

static int mount_figures(struct fs *fs, struct buf *out)
{
	struct invalidate_counts ic;
	uint64_t live, pinned;
	int64_t up_ms = store_now_ms(fs->store) - fs->start_ms;

	nodes_count(fs->nodes, &live, &pinned);
	invalidate_counts(fs->invalidator, &ic);
	const struct store_stat all[] = {
		{"build_info{version=\"" CELLFS_VERSION "\"}",
		 "1; the version is its label", false, 1},
		{"up_seconds", "Time since the mount", false,
		 up_ms > 0 ? (uint64_t)up_ms / 1000 : 0},
		{"healthy", "1 while the store takes writes", false,
		 store_health(fs->store) == 0},
		{"read_bytes_total", "Bytes that readers got", true,
		 fs->bytes_read},
		{"written_bytes_total", "Bytes that writers gave", true,
		 fs->bytes_written},
		{"nodes", "Files that the kernel knows", false, live},
		{"nodes_pinned", "Directories and files only in memory", false,
		 pinned},
		{"handles", "Open files and directories", false,
		 handles_count(fs->handles)},
		{"client_bytes", "Memory held for open files", false,
		 fs->budget.held},
		{"client_bytes_max", "What may be held for them (-o memory)",
		 false, fs->budget.max},
		{"client_refused_total", "Requests refused for lack of it",
		 true, fs->budget.refused},
		{"scratch_bytes", "Scratch files", false,
		 scratch_bytes(fs->writes->scratch)},
		{"notifications_total", "Cache notices sent to the kernel",
		 true, ic.sent},
		{"notifications_dropped_total",
		 "Notices without room of rows that are not absent any more",
		 true, ic.dropped},
		{"notifications_queued", "Notices that the kernel has not had",
		 false, ic.queued},
		{"notification_walks_total",
		 "Tables told whole, for lack of room", true, ic.walks},
		{"failures_total", "Requests refused or failed", true,
		 errors_total(fs->errors)},
	};

	return FIGURES(out, "cellfs_", all);
}

/* By the names that Prometheus's client libraries give to each process. */
static int process_text(struct buf *out)
{
	struct process_figures p;

	process_figures(&p);
	const struct store_stat all[] = {
		{"cpu_ns_total", "User and system time", true, p.cpu_ns},
		{"resident_memory_bytes", "Memory in use", false,
		 p.resident_bytes},
		{"virtual_memory_bytes", "Addresses in use", false,
		 p.virtual_bytes},
		{"open_fds", "Open files", false, p.open_fds},
		{"max_fds", "How many may be open", false, p.max_fds},
		{"start_time_ns", "When it was started, since 1970", false,
		 p.start_ns},
	};

	return FIGURES(out, "process_", all);
}

struct table_figures {
	char name[TABLE_NAME_LEN_MAX + 1];
	struct table_info info;
	struct table_calls calls;
	uint64_t quota; /* 0: none */
	bool told;	/* is there an info? */
};

/* Adds one table. One that was dropped meanwhile is left out. */
static int table_figures(struct fs *fs, const char *name, struct buf *all)
{
	struct table_figures f = {0};
	struct schema schema = {0};
	struct table *t;
	int r = table_open(fs->store, bytes_str(name), &t);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	table_calls(t, &f.calls);
	r = table_info(t, &f.info);
	if (r == 0 && store_can(fs->store, CAN_QUOTA) &&
	    table_schema(t, &schema) == 0)
		f.quota = schema.quota;
	schema_free(&schema);
	table_unref(t);
	if (r == -ENOMEM)
		return r;
	f.told = r == 0;
	snprintf(f.name, sizeof(f.name), "%s", name);
	return buf_append(all, &f, sizeof(f));
}

/* A figure of tables: where it is in table_figures. */
struct table_metric {
	const char *name, *help;
	size_t at;
	bool counter; /* of calls; others are of what the table holds */
};

static int each_table(struct buf *out, const struct buf *all,
		      const struct table_metric *m)
{
	size_t n = all->len / sizeof(struct table_figures);
	char last[METRIC_NAME_MAX] = "";
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		char labelled[METRIC_NAME_MAX];
		struct store_stat s = {labelled, m->help, m->counter, 0};
		struct table_figures f;

		memcpy(&f, all->data + i * sizeof(f), sizeof(f));
		if (!m->counter && !f.told)
			continue;
		memcpy(&s.value, (const char *)&f + m->at, sizeof(s.value));
		if (m->at == offsetof(struct table_figures, quota) && !f.quota)
			continue;
		snprintf(labelled, sizeof(labelled), "%s{table=\"%s\"}",
			 m->name, f.name);
		r = figure(out, "cellfs_table_", &s, last);
	}
	return r;
}

static int tables_text(struct fs *fs, struct buf *out)
{
	static const struct table_metric of[] = {
		{"rows", "Rows, as .info has them",
		 offsetof(struct table_figures, info.rows), false},
		{"cells", "Cells, as .info has them",
		 offsetof(struct table_figures, info.cells), false},
		{"entries", "Stored cells, hidden ones and markers included",
		 offsetof(struct table_figures, info.entries), false},
		{"bytes", "Size of the table files",
		 offsetof(struct table_figures, info.bytes), false},
		{"quota_bytes",
		 "What the table files may have, where that is "
		 "bounded",
		 offsetof(struct table_figures, quota), false},
		{"files", "Table files",
		 offsetof(struct table_figures, info.files), false},
		{"reads_total", "Single versions asked for and scans opened",
		 offsetof(struct table_figures, calls.reads), true},
		{"writes_total", "Mutations applied",
		 offsetof(struct table_figures, calls.writes), true},
	};
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct buf all = {0};
	int r;

	while ((r = store_table_next(fs->store, bytes_str(name), name)) > 0) {
		r = table_figures(fs, name, &all);
		if (r < 0)
			break;
	}
	for (size_t i = 0; r == 0 && i < sizeof(of) / sizeof(*of); i++)
		r = each_table(out, &all, &of[i]);
	buf_free(&all);
	return r;
}

/* The labels of a histogram: what it is of, by which name. */
struct series {
	const char *metric, *label, *value;
};

static int histogram(struct buf *out, const struct series *of,
		     const struct latency *l)
{
	uint64_t sum = 0, ns = atomic_load(&l->ns);
	int r = 0;

	for (unsigned i = 0; r == 0 && i < LATENCY_BUCKETS; i++) {
		sum += atomic_load(&l->buckets[i]);
		r = buf_printf(out, "%s_bucket{%s=\"%s\",le=\"%s\"} %llu\n",
			       of->metric, of->label, of->value,
			       i < LATENCY_BUCKETS - 1
				       ? latency_bounds[i].seconds
				       : "+Inf",
			       (unsigned long long)sum);
	}
	if (r == 0)
		r = buf_printf(out,
			       "%s_sum{%s=\"%s\"} %llu.%09llu\n"
			       "%s_count{%s=\"%s\"} %llu\n",
			       of->metric, of->label, of->value,
			       (unsigned long long)(ns / 1000000000),
			       (unsigned long long)(ns % 1000000000),
			       of->metric, of->label, of->value,
			       (unsigned long long)sum);
	return r;
}

static int histogram_head(struct buf *out, const char *name, const char *help)
{
	return buf_printf(out, "# HELP %s %s\n# TYPE %s histogram\n", name,
			  help, name);
}

static int requests_text(struct fs *fs, struct buf *out)
{
	struct series of = {"cellfs_request_seconds", "op", ""};
	int r = histogram_head(out, of.metric, "How long requests took");

	for (unsigned i = 0; r == 0 && i < FS_OP_COUNT; i++) {
		of.value = fs_op_name(i);
		if (fs->op_counts[i])
			r = histogram(out, &of, &fs->latency[i]);
	}
	return r;
}

static int calls_text(struct fs *fs, struct buf *out)
{
	struct series of = {"cellfs_store_call_seconds", "call", ""};
	struct latency l;
	int r = histogram_head(out, of.metric,
			       "How long calls of the store took; of scan_next "
			       "one in 16 is timed");

	for (unsigned i = 0;
	     r == 0 && store_call_times(fs->store, i, &of.value, &l) > 0; i++)
		r = histogram(out, &of, &l);
	return r;
}

static int store_text(struct fs *fs, struct buf *out)
{
	char last[METRIC_NAME_MAX] = "";
	struct store_stat s;
	int r = 0;

	for (unsigned i = 0; r == 0 && store_stat(fs->store, i, &s) > 0; i++)
		r = figure(out, "cellfs_store_", &s, last);
	return r;
}

int metrics_text(struct fs *fs, struct buf *out)
{
	int r = mount_figures(fs, out);

	if (r == 0)
		r = requests_text(fs, out);
	if (r == 0)
		r = calls_text(fs, out);
	if (r == 0)
		r = store_text(fs, out);
	if (r == 0)
		r = tables_text(fs, out);
	return r < 0 ? r : process_text(out);
}
