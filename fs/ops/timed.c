#include "fs/ops/timed.h"

#include "fs/tree/control_file.h"
#include "store/os/clock.h"

void timed_begin(struct timed *t, struct fs *fs, enum fs_op op, uint64_t node,
		 const char *name)
{
	atomic_fetch_add_explicit(&fs->op_counts[op], 1, memory_order_relaxed);
	t->op = op;
	t->path = (struct buf){0};
	if (op != FS_FORGET && trace_is_watched(fs->trace)) {
		t->slow_ns = trace_slow(fs->trace);
		place_path(fs, node, name, &t->path);
	}
	t->start_ns = monotonic_ns();
}

/* A reader of the trace would see its own reads, for ever. */
static bool is_trace(const char *path)
{
	return !strcmp(path, "/" CONTROL_DIR_NAME "/" CONTROL_TRACE_NAME);
}

static void record(const struct timed *t, struct fs *fs, uint64_t ns)
{
	trace_add(fs->trace, &(struct trace_request){
				     .op = fs_op_name(t->op),
				     .path = (const char *)t->path.data,
				     .end_ms = store_now_ms(fs->store),
				     .ns = ns,
				     .err = fs_replied,
			     });
}

void timed_end(struct timed *t, struct fs *fs)
{
	uint64_t ns = monotonic_ns() - t->start_ns;
	bool told = t->path.len && buf_append(&t->path, "", 1) == 0;

	/* Who reads the trace waits there for others: that is no time of ours. */
	if (!told || !is_trace((const char *)t->path.data)) {
		latency_add(&fs->latency[t->op], ns);
		if (told && ns >= t->slow_ns)
			record(t, fs, ns);
	}
	buf_free(&t->path);
}
