#include "fs/control/metrics.h"

#include <stdio.h>

#include "fs/memory/write_state.h"
#include "fs/tree/fs.h"

static const char *const op_names[FS_OP_COUNT] = {
	[FS_LOOKUP] = "lookup",	  [FS_GETATTR] = "getattr",
	[FS_SETATTR] = "setattr", [FS_READDIR] = "readdir",
	[FS_OPEN] = "open",	  [FS_READ] = "read",
	[FS_CREATE] = "create",	  [FS_WRITE] = "write",
	[FS_FLUSH] = "flush",	  [FS_FSYNC] = "fsync",
	[FS_MKDIR] = "mkdir",	  [FS_RMDIR] = "rmdir",
	[FS_UNLINK] = "unlink",	  [FS_RENAME] = "rename",
	[FS_FORGET] = "forget",
};

const char *metrics_op_name(unsigned op)
{
	return op < FS_OP_COUNT ? op_names[op] : "other";
}

static int figure(struct buf *out, const char *name, const char *help,
		  bool counter, uint64_t value)
{
	return buf_printf(out,
			  "# HELP cellfs_%s %s\n# TYPE cellfs_%s %s\n"
			  "cellfs_%s %llu\n",
			  name, help, name, counter ? "counter" : "gauge", name,
			  (unsigned long long)value);
}

static int mount_figures(struct fs *fs, struct buf *out)
{
	struct invalidate_counts ic;
	uint64_t live, pinned;
	int64_t up_ms = store_now_ms(fs->store) - fs->start_ms;

	nodes_count(fs->nodes, &live, &pinned);
	invalidate_counts(fs->invalidator, &ic);
	const struct {
		const char *name, *help;
		bool counter;
		uint64_t value;
	} figures[] = {
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
		{"scratch_bytes", "Scratch files and what is not written yet",
		 false, write_state_bytes(fs->writes)},
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
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(figures) / sizeof(*figures);
	     i++)
		r = figure(out, figures[i].name, figures[i].help,
			   figures[i].counter, figures[i].value);
	return r;
}

static int histogram(struct buf *out, const char *op, struct latency *l)
{
	uint64_t sum = 0, ns = atomic_load(&l->ns);
	int r = 0;

	for (unsigned i = 0; r == 0 && i < LATENCY_BUCKETS; i++) {
		sum += atomic_load(&l->buckets[i]);
		r = buf_printf(
			out,
			"cellfs_request_seconds_bucket{op=\"%s\",le=\"%s\"} "
			"%llu\n",
			op,
			i < LATENCY_BUCKETS - 1 ? latency_bounds[i].seconds
						: "+Inf",
			(unsigned long long)sum);
	}
	if (r == 0)
		r = buf_printf(
			out,
			"cellfs_request_seconds_sum{op=\"%s\"} %llu.%09llu\n"
			"cellfs_request_seconds_count{op=\"%s\"} %llu\n",
			op, (unsigned long long)(ns / 1000000000),
			(unsigned long long)(ns % 1000000000), op,
			(unsigned long long)sum);
	return r;
}

int metrics_text(struct fs *fs, struct buf *out)
{
	char name[64];
	struct store_stat s;
	int r = mount_figures(fs, out);

	if (r == 0)
		r = buf_printf(
			out, "# HELP cellfs_request_seconds How long requests "
			     "took\n"
			     "# TYPE cellfs_request_seconds histogram\n");
	for (unsigned i = 0; r == 0 && i < FS_OP_COUNT; i++)
		if (fs->op_counts[i])
			r = histogram(out, metrics_op_name(i), &fs->latency[i]);
	for (unsigned i = 0; r == 0 && store_stat(fs->store, i, &s) > 0; i++) {
		snprintf(name, sizeof(name), "store_%s", s.name);
		r = figure(out, name, s.help, s.counter, s.value);
	}
	return r;
}
