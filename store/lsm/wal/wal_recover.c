/* What recovery writes: see wal_replay.h. */
#include "store/lsm/wal/wal_replay.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/why.h"

#define COPY_BYTES ((size_t)256 << 10)

/*
 * Rewrites data that a failed sync may have left in clean pages: the page cache
 * has it, but the disk may not.
 */
static int write_again(const struct wal_found *f, struct os_file *file)
{
	uint64_t left = f->in_segment - f->durable;
	uint64_t off = wal_file_offset(&f->head, f->durable);
	ssize_t got;
	void *buf;
	int rc = 0;

	if (left == 0)
		return 0;
	buf = malloc(COPY_BYTES);
	if (!buf)
		return -ENOMEM;
	while (left && rc == 0) {
		size_t n = left < COPY_BYTES ? (size_t)left : COPY_BYTES;

		got = os_pread(file, buf, n, off);
		if (got < 0)
			rc = (int)got;
		else if ((size_t)got != n)
			rc = why(-EUCLEAN, "%s became shorter", file->name);
		else
			rc = os_pwrite(file, buf, n, off);
		left -= n;
		off += n;
	}
	free(buf);
	return rc;
}

static int write_ring(const struct wal_found *f, struct os_file *file)
{
	int rc = 0;

	for (uint64_t pos = f->in_segment; pos < f->end && rc == 0;) {
		struct bytes part =
			wal_ring_part(buf_bytes(&f->ring), pos, f->end);

		rc = os_pwrite(file, part.data, part.len,
			       wal_file_offset(&f->head, pos));
		pos += part.len;
	}
	return rc;
}

static int make_durable(const struct wal_found *f, struct os_file *file)
{
	uint8_t mark[WAL_MARK_BYTES];
	int rc = 0;

	if (f->durable < f->end) {
		rc = write_again(f, file);
		if (rc == 0)
			rc = write_ring(f, file);
		if (rc == 0)
			rc = os_fdatasync(file);
	}
	if (rc < 0)
		return rc;
	/* Written even if there is one, which a failed sync may have lost. */
	wal_mark_encode(mark, f->head.id, f->end);
	rc = os_pwrite(file, mark, sizeof(mark), WAL_MARK_AT);
	if (rc < 0)
		return rc;
	return os_fdatasync(file);
}

int wal_recover(struct os_dir *dir, const struct wal_found *f)
{
	struct os_file *file = NULL;
	char name[WAL_NAME_BYTES];
	int rc;

	/* The file is shorter than its capacity: this was done before. */
	if (f->n == 0 || f->file_size != f->head.capacity)
		return 0;
	wal_segment_name(name, f->head.number);
	rc = os_open(dir, name, OS_WRITE, &file);
	if (rc < 0)
		return rc;
	rc = make_durable(f, file);
	/* The mark is durable before the file is cut off at it. */
	if (rc == 0 && wal_file_offset(&f->head, f->end) < f->head.capacity)
		rc = os_truncate(file, wal_file_offset(&f->head, f->end));
	if (rc == 0)
		rc = os_finish(file);
	else
		os_close(file);
	return rc;
}

int wal_sweep(struct os_dir *dir, uint64_t first,
	      bool (*keep)(void *arg, uint64_t number), void *arg)
{
	char name[WAL_NAME_BYTES];
	uint64_t *numbers = NULL;
	size_t n = 0;
	int rc = wal_segments(dir, 0, &numbers, &n);

	for (size_t i = 0; rc == 0 && i < n && numbers[i] < first; i++) {
		if (keep(arg, numbers[i]))
			continue;
		wal_segment_name(name, numbers[i]);
		rc = os_remove(dir, name);
	}
	free(numbers);
	if (rc == 0)
		rc = os_remove(dir, WAL_SPARE_NAME);
	if (rc == 0)
		rc = os_remove(dir, WAL_RESERVE_NAME);
	if (rc == 0)
		rc = os_remove(dir, WAL_NEW_NAME);
	return rc;
}
