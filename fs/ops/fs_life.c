#include "fs/ops/fs_life.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/files/counter.h"
#include "fs/files/moved.h"
#include "fs/files/reader.h"
#include "fs/files/served.h"
#include "fs/files/stream.h"
#include "fs/files/writer.h"
#include "fs/look/listing.h"
#include "fs/memory/writes.h"

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
	fs->root = (struct place){.kind = NODE_ROOT,
				  .node = FUSE_ROOT_ID,
				  .parent = FUSE_ROOT_ID,
				  .ino = FUSE_ROOT_ID};
	dir_times_init(&fs->dir_times);
	r = nodes_new(&fs->nodes);
	if (r == 0)
		r = handles_new(&fs->handles);
	if (r == 0)
		r = overlay_new(fs->nodes, &fs->overlay);
	if (r == 0)
		r = invalidator_new(fs->nodes, &fs->invalidator);
	if (r == 0)
		r = errors_new(&fs->errors);
	if (r == 0)
		r = writes_new(o->scratch_max, &fs->writes);
	if (r == 0 && !(fs->moved = moved_new()))
		r = -ENOMEM;
	if (r < 0)
		goto fail;
	*out = fs;
	return 0;
fail:
	fs_free(fs);
	return why(r, "out of memory for the mount");
}

static void close_listing(void *arg, void *object)
{
	listing_close(object);
}

static void close_reader(void *arg, void *object)
{
	reader_free(object);
}

static void close_stream(void *arg, void *object)
{
	stream_free(object);
}

static void close_counter(void *arg, void *object)
{
	counter_free(object);
}

static void close_served(void *arg, void *object)
{
	served_file_free(object);
}

/* What the kernel has left open. */
static void close_handles(struct fs *fs)
{
	if (!fs->handles)
		return;
	handles_each(fs->handles, HANDLE_LISTING, close_listing, NULL);
	handles_each(fs->handles, HANDLE_READER, close_reader, NULL);
	handles_each(fs->handles, HANDLE_STREAM, close_stream, NULL);
	handles_each(fs->handles, HANDLE_COUNTER, close_counter, NULL);
	handles_each(fs->handles, HANDLE_SERVED, close_served, NULL);
}

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	invalidator_stop(fs->invalidator);
	if (fs->writes)
		writer_drain(fs);
	close_handles(fs);
	moved_free(fs->moved);
	writes_free(fs->writes);
	overlay_free(fs->overlay);
	handles_free(fs->handles);
	invalidator_free(fs->invalidator);
	errors_free(fs->errors);
	nodes_free(fs->nodes);
	place_release(&fs->root);
	dir_times_release(&fs->dir_times);
	free(fs);
}
