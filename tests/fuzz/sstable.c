/*
 * Any bytes as an sstable are refused, or read without harm: rows ascend one
 * way and descend the other, and what was found once is found again.
 *
 * Built with FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION the reader takes any
 * checksum for a good one, so that a changed file gets past them.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/table/sstable.h"
#include "store/lsm/block/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool ok)
{
	if (!ok)
		abort();
}

static const uint8_t *content;
static size_t content_len;

static int one_open(struct os_dir *d, const char *name, unsigned flags,
		    struct os_file **out)
{
	struct os_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	*out = f;
	return 0;
}

static int one_close(struct os_file *f)
{
	free(f);
	return 0;
}

static ssize_t one_pread(struct os_file *f, void *buf, size_t n, uint64_t off)
{
	if (off >= content_len)
		return 0;
	if (n > content_len - off)
		n = content_len - off;
	memcpy(buf, content + off, n);
	return (ssize_t)n;
}

static int one_size(struct os_file *f, uint64_t *out)
{
	*out = content_len;
	return 0;
}

static const struct os_ops one_ops = {
	.open = one_open,
	.close = one_close,
	.pread = one_pread,
	.size = one_size,
};

static int forwards(struct cursor *c, struct buf *middle, uint64_t *rows)
{
	struct buf last = {0};
	int r = cursor_seek_row(c, bytes_of("", 0));

	for (*rows = 0; r == 1; (*rows)++) {
		expect(last.len == 0 ||
		       bytes_cmp(buf_bytes(&last), c->row) < 0);
		if (buf_set(&last, c->row) ||
		    (*rows % 3 == 1 && buf_set(middle, c->row)))
			abort();
		while ((r = cursor_next(c)) == 1)
			expect(bytes_eq(buf_bytes(&last), c->row));
		if (r == 0)
			r = cursor_next_row(c);
	}
	buf_free(&last);
	return r;
}

static int backwards(struct cursor *c, uint64_t *rows)
{
	struct buf last = {0};
	int r = cursor_seek_back(c, bytes_of("", 0), false);

	for (*rows = 0; r == 1; (*rows)++) {
		expect(last.len == 0 ||
		       bytes_cmp(buf_bytes(&last), c->row) > 0);
		if (buf_set(&last, c->row))
			abort();
		r = cursor_prev_row(c);
	}
	buf_free(&last);
	return r;
}

static void columns(struct cursor *c, struct bytes row)
{
	struct buf q = {0};
	int r = cursor_seek_row(c, row);

	for (int n = 0; r == 1 && n < 100; n++) {
		int64_t ts = c->at.ts - (n & 1);

		if (buf_set(&q, c->at.qualifier))
			abort();
		r = cursor_seek_column(c, buf_bytes(&q), ts);
		if (r == 1)
			expect(bytes_cmp(c->at.qualifier, buf_bytes(&q)) >= 0);
		if (r == 1)
			r = cursor_next(c);
	}
	buf_free(&q);
}

static void be_silent(void *arg, const char *sentence)
{
}

static void read_all(struct sstable *t)
{
	uint64_t there = 0, back = 0;
	struct buf middle = {0};
	struct sst_cursor c;
	int r, q;

	sst_cursor(t, &c);
	c.no_fill = content_len & 1;
	r = forwards(&c.base, &middle, &there);
	q = backwards(&c.base, &back);
	if (r == 0 && q == 0)
		expect(there == back);
	if (middle.len) {
		/* Without an error the file is whole, its filter may lie. */
		q = cursor_seek_row(&c.base, buf_bytes(&middle));
		expect(r < 0 || q == 1);
		columns(&c.base, buf_bytes(&middle));
	}
	cursor_close(&c.base);
	sst_check(t, NULL, be_silent, NULL);
	buf_free(&middle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sst_options o = {.block_size = 16384, .block_cache = true};
	struct os os = {.ops = &one_ops};
	struct os_dir dir = {.os = &os};
	struct block_cache *cache;
	struct sst_info info;
	struct sstable *t;

	content = data;
	content_len = size;
	if (sst_info_load(&dir, 7, &info))
		return 0;
	if (block_cache_new(64 << 10, &cache))
		abort();
	if (sst_open(&dir, &info, &o, cache, &t) == 0) {
		read_all(t);
		sst_unref(t);
	}
	block_cache_free(cache);
	sst_info_free(&info);
	return 0;
}
