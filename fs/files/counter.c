#include "fs/files/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/change/cellfile.h"
#include "fs/change/changed.h"
#include "fs/tree/view.h"

struct counter {
	struct open_file file; /* first: the one is cast to the other */
	struct place place;
	pthread_mutex_t lock; /* guards all below */
	bool known;
	int64_t value;
	/* Where the last addition ended in the file: the sum is read there. */
	uint64_t base;
};

static const struct file_ops counter_ops;

int counter_open(struct fs *fs, struct place *p, struct fuse_file_info *fi)
{
	struct counter *c;
	size_t len_max;
	int r = 0;

	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		r = cellfile_writable(fs, p, &len_max);
	if (r == 0 && (fi->flags & O_ACCMODE) != O_RDONLY)
		r = cellfile_takes_put(p);
	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return why(-ENOMEM, "out of memory for an open file");
	pthread_mutex_init(&c->lock, NULL);
	fi->direct_io = 1;
	c->file.ops = &counter_ops;
	c->file.refs = 1;
	r = handles_open(fs->handles, &c->file, fi);
	if (r < 0) {
		open_file_drop(&c->file);
		return r;
	}
	c->place = *p;
	place_disown(p);
	return 0;
}

static void counter_free(struct open_file *f)
{
	struct counter *c = (struct counter *)f;

	place_release(&c->place);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* REQUIRES: lock. */
static int load(struct counter *c)
{
	struct buf hold = {0};
	struct cell cell;
	uint64_t v = 0;
	int r;

	if (c->known)
		return 0;
	r = view_get(&c->place, &cell, &hold);
	if (r > 0 && cell.value.len != 8)
		r = why(-EINVAL, "the value has %zu bytes: a counter has 8",
			cell.value.len);
	if (r > 0)
		v = be64toh(bytes_load64(cell.value.data));
	buf_free(&hold);
	if (r < 0)
		return r;
	c->value = (int64_t)v;
	c->known = true;
	return 0;
}

static int counter_read(struct fs *fs, struct open_file *f, fuse_req_t req,
			size_t size, off_t off)
{
	struct counter *c = (struct counter *)f;
	char text[32];
	size_t at, n;
	int r;

	r = patience_lock(&c->lock);
	if (r < 0)
		return r;
	r = load(c);
	n = (size_t)snprintf(text, sizeof(text), "%lld\n", (long long)c->value);
	at = (size_t)((uint64_t)off >= c->base ? (uint64_t)off - c->base
					       : (uint64_t)off);
	pthread_mutex_unlock(&c->lock);
	if (r < 0)
		return r;
	at = at < n ? at : n;
	n = n - at < size ? n - at : size;
	fuse_reply_buf(req, text + at, n);
	return 0;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* A whole decimal number with blanks around it. */
static int parse(struct bytes data, int64_t *delta)
{
	char text[32], *end;

	while (data.len && is_blank(data.data[data.len - 1]))
		data.len--;
	while (data.len && is_blank(data.data[0])) {
		data.data++;
		data.len--;
	}
	if (!data.len || data.len >= sizeof(text) ||
	    memchr(data.data, '\0', data.len))
		goto bad;
	memcpy(text, data.data, data.len);
	text[data.len] = '\0';
	errno = 0;
	*delta = strtoll(text, &end, 10);
	if (errno || *end)
		goto bad;
	return 0;
bad:
	return why(-EINVAL, "a counter takes a decimal number of 64 bits to "
			    "add to it");
}

/* REQUIRES: lock. */
static int add(struct fs *fs, struct counter *c, int64_t delta, bool sync)
{
	const struct place *p = &c->place;
	struct change change = {.op = CHANGE_INCREMENT,
				.family = p->family,
				.qualifier = p->qualifier,
				.ts = TS_AUTO,
				.delta = delta};
	struct mutation m = {.row = p->row, .changes = &change, .nchanges = 1};
	int r = changed_mutate(fs, p, &m, sync ? MUTATE_SYNC : 0);

	if (r < 0)
		return r;
	c->value = change.result_int;
	c->known = true;
	return 0;
}

static int counter_write(struct fs *fs, struct open_file *f, struct bytes data,
			 off_t off, int flags)
{
	struct counter *c = (struct counter *)f;
	int64_t delta = 0;
	int r = parse(data, &delta);

	if (r == 0)
		r = patience_lock(&c->lock);
	if (r < 0)
		return r;
	r = add(fs, c, delta, flags & O_DSYNC);
	if (r == 0)
		c->base = (uint64_t)off + data.len;
	pthread_mutex_unlock(&c->lock);
	changed_wait_put(fs, &c->place);
	return r;
}

static const struct file_ops counter_ops = {
	.read = counter_read,
	.write = counter_write,
	.free = counter_free,
};
