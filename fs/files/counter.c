#include "fs/files/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	char line[32]; /* the beginning of one, that goes on at end */
	size_t len;
	uint64_t end;
	int failed; /* what the last line met that a close ended */
};

static const struct file_ops counter_ops;

int counter_open(struct fs *fs, struct place *p, struct fuse_file_info *fi)
{
	bool writes = (fi->flags & O_ACCMODE) != O_RDONLY;
	int r = writes ? cellfile_writable(fs, p, NULL) : 0;
	struct counter *c;

	if (r == 0 && writes)
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

static int refuse(void)
{
	return why(-EINVAL, "a counter takes a decimal number of 64 bits to "
			    "add to it");
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Adds the number of the line, which ends, to *sum. REQUIRES: lock. */
static int take_line(struct counter *c, int64_t *sum)
{
	long long delta;
	char *end;

	c->line[c->len] = '\0';
	errno = 0;
	delta = strtoll(c->line, &end, 10);
	if (errno || end == c->line ||
	    end + strspn(end, " \t") != c->line + c->len)
		return refuse();
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)delta);
	c->len = 0;
	return 0;
}

/* Could the number of a line that goes on be added? REQUIRES: lock. */
static int check_line(struct counter *c)
{
	size_t len = c->len;
	int64_t sum = 0;
	int r = 0;

	if (len > 1 || (c->line[0] != '+' && c->line[0] != '-'))
		r = take_line(c, &sum);
	if (r == 0)
		r = table_writable(fstable_table(c->place.table));
	c->len = len;
	return r < 0 ? r : load(c);
}

/* REQUIRES: lock. */
static int add(struct fs *fs, struct counter *c, int64_t delta, int flags)
{
	const struct place *p = &c->place;
	struct change change = {.op = CHANGE_INCREMENT,
				.family = p->family,
				.qualifier = p->qualifier,
				.ts = TS_AUTO,
				.delta = delta};
	struct mutation m = {.row = p->row, .changes = &change, .nchanges = 1};
	int r = changed_mutate(fs, p, &m, flags & O_DSYNC ? MUTATE_SYNC : 0);

	if (r < 0)
		return r;
	c->value = change.result_int;
	c->known = true;
	c->base = c->end;
	return 0;
}

/*
 * Adds the numbers of all lines that end in @data, or none; with O_DSYNC its end is
 * that of a line. Empty lines say nothing; @data of them alone is refused.
 * REQUIRES: lock.
 */
static int take(struct fs *fs, struct counter *c, struct bytes data, int flags)
{
	bool ended = false, blank = false;
	int64_t sum = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < data.len; i++) {
		char next = (char)data.data[i];

		if (next == '\n' && c->len) {
			ended = true;
			r = take_line(c, &sum);
		} else if (c->len == sizeof(c->line) - 1) {
			r = refuse();
		} else if (c->len || !is_blank(next)) {
			c->line[c->len++] = next;
		}
		blank |= next == '\n';
	}
	if (r == 0 && c->len && flags & O_DSYNC) {
		ended = true;
		r = take_line(c, &sum);
	}
	if (r == 0 && c->len)
		r = check_line(c);
	else if (r == 0 && blank && !ended)
		r = refuse();
	if (r == 0 && ended)
		r = add(fs, c, sum, flags);
	if (r < 0)
		c->len = 0;
	return r;
}

/* The line ends that has not. REQUIRES: lock. */
static int end_line(struct fs *fs, struct counter *c, int flags)
{
	return c->len ? take(fs, c, bytes_str("\n"), flags) : 0;
}

static int counter_read(struct fs *fs, struct open_file *f, fuse_req_t req,
			size_t size, off_t off)
{
	struct counter *c = (struct counter *)f;
	struct bytes part;
	char text[32];
	int r;

	r = patience_lock(&c->lock);
	if (r < 0)
		return r;
	r = end_line(fs, c, 0);
	if (r == 0)
		r = load(c);
	snprintf(text, sizeof(text), "%lld\n", (long long)c->value);
	part = bytes_part(
		bytes_str(text),
		(uint64_t)off - ((uint64_t)off >= c->base ? c->base : 0), size);
	pthread_mutex_unlock(&c->lock);
	changed_wait_put(fs, &c->place);
	if (r < 0)
		return r;
	fuse_reply_buf(req, (const char *)part.data, part.len);
	return 0;
}

static int counter_write(struct fs *fs, struct open_file *f, struct bytes data,
			 off_t off, int flags)
{
	struct counter *c = (struct counter *)f;
	int r = patience_lock(&c->lock);

	if (r < 0)
		return r;
	if (!(flags & O_APPEND) && (uint64_t)off != c->end)
		r = end_line(fs, c, flags);
	c->end = (uint64_t)off + data.len;
	if (r == 0)
		r = take(fs, c, data, flags);
	pthread_mutex_unlock(&c->lock);
	changed_wait_put(fs, &c->place);
	return r;
}

static int counter_flush(struct fs *fs, struct open_file *f)
{
	struct counter *c = (struct counter *)f;
	int r = patience_lock(&c->lock);

	if (r < 0)
		return r;
	r = end_line(fs, c, 0);
	/* A child's close may be the one that has failed. */
	if (r == 0 && c->failed)
		r = why(c->failed, "what was written before was not added");
	c->failed = r;
	pthread_mutex_unlock(&c->lock);
	changed_wait_put(fs, &c->place);
	return r;
}

static void counter_release(struct fs *fs, struct open_file *f)
{
	struct counter *c = (struct counter *)f;
	int r;

	pthread_mutex_lock(&c->lock);
	r = end_line(fs, c, 0);
	pthread_mutex_unlock(&c->lock);
	/* It has no caller to tell. */
	if (r < 0)
		fs_note_error(fs, "release", c->place.node, NULL, r);
}

static const struct file_ops counter_ops = {
	.read = counter_read,
	.write = counter_write,
	.flush = counter_flush,
	.fsync = counter_flush,
	.release = counter_release,
	.free = counter_free,
};
