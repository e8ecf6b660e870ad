#include "fs/ops/fs_life.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/change/moved.h"
#include "fs/files/stream.h"
#include "fs/look/listing.h"
#include "fs/memory/write_state.h"
#include "fs/ops/ops.h"
#include "store/os/clock.h"

static void rest_listing(void *arg, struct open_file *f)
{
	listing_rest(listing_of(f), INT64_MAX);
}

/* Gets back what files hold that nobody reads at the moment. */
static void rest_all(void *arg)
{
	struct fs *fs = arg;

	stream_rest_all(fs);
	handles_each(fs->handles, &listing_ops, rest_listing, NULL);
}

static void forget_scratch(void *arg, uint64_t node)
{
	struct fs *fs = arg;

	scratch_forget(fs->writes->scratch, node);
}

int fs_new(struct store *s, const struct options *o, struct fs **out)
{
	struct fs *fs = calloc(1, sizeof(*fs));
	int r = -ENOMEM;

	if (!fs)
		goto fail;
	fs->store = s;
	fs->options = o;
	fs->uid = geteuid();
	fs->gid = getegid();
	fs->start_ms = store_now_ms(s);
	transport_init(&fs->transport, o->io_uring, ops_serve_apart);
	fs->root = (struct place){.kind = NODE_ROOT,
				  .node = FUSE_ROOT_ID,
				  .parent = FUSE_ROOT_ID,
				  .ino = FUSE_ROOT_ID};
	dir_times_init(&fs->dir_times);
	schema_absent_init(&fs->schema_absent);
	budget_init(&fs->budget, o->memory);
	fs->budget.reclaim = rest_all;
	fs->budget.reclaim_arg = fs;
	values_init(&fs->values, &fs->budget);
	r = nodes_new(&fs->nodes);
	if (r == 0)
		r = handles_new(&fs->budget, &fs->handles);
	if (r == 0)
		r = overlay_new(fs->nodes, &fs->overlay);
	if (r == 0)
		r = invalidator_new(fs->nodes, &fs->invalidator);
	if (r == 0)
		r = errors_new(&fs->errors);
	if (r == 0)
		r = trace_new(&fs->trace);
	if (r == 0)
		r = write_state_new(o->scratch_max, &fs->budget, &fs->writes);
	if (r == 0)
		nodes_tell_gone(fs->nodes, forget_scratch, fs);
	if (r == 0 && !(fs->moved = moved_new()))
		r = -ENOMEM;
	if (r == 0)
		r = store_watch(s, monotonic_ns);
	if (r < 0)
		goto fail;
	*out = fs;
	return 0;
fail:
	fs_free(fs);
	return why(r, "out of memory for the mount");
}

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	handles_free(fs->handles, fs);
	values_release(&fs->values);
	moved_free(fs->moved);
	/* A scratch file goes with its node, which may go with its entry. */
	overlay_free(fs->overlay);
	write_state_free(fs->writes);
	invalidator_free(fs->invalidator);
	errors_free(fs->errors);
	trace_free(fs->trace);
	nodes_free(fs->nodes);
	place_release(&fs->root);
	dir_times_release(&fs->dir_times);
	schema_absent_destroy(&fs->schema_absent);
	transport_free(&fs->transport);
	free(fs);
}
