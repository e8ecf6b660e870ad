/*
 * Which files a copy of the log consists of, and keeping them while it is made.
 *
 * A log that is written is cut first: the active segment is sealed, so that all
 * before the cut is in segments that nobody changes. Their copies need no ring.
 * A log that is open to read does not change: its copy has the ring, too.
 */
#include "store/lsm/wal/wal_live.h"

#include <errno.h>
#include <stdio.h>

#include "store/value/why.h"

int wal_hold(struct wal *w, uint64_t *end, uint64_t *pos)
{
	int rc = w->read_only ? 0 : wal_rotate(w, end);

	if (rc < 0)
		return rc;
	if (w->read_only)
		*end = w->next;
	*pos = wal_end(w);
	pthread_mutex_lock(&w->spare_lock);
	w->holds++;
	pthread_mutex_unlock(&w->spare_lock);
	return 0;
}

void wal_let_go(struct wal *w)
{
	pthread_mutex_lock(&w->spare_lock);
	assert(w->holds);
	if (!--w->holds)
		wal_kept_trim(w);
	pthread_mutex_unlock(&w->spare_lock);
}

int wal_read_block(struct os_dir *dir, const char *name, uint64_t number,
		   uint8_t block[WAL_BLOCK_BYTES], uint64_t *size,
		   struct wal_head *head)
{
	struct os_file *file = NULL;
	ssize_t n;
	int rc = os_open(dir, name, OS_READ, &file);

	if (rc < 0)
		return rc == -ENOENT ? why(-EUCLEAN, "%s is missing", name)
				     : rc;
	rc = os_size(file, size);
	n = rc < 0 ? rc : os_pread(file, block, WAL_BLOCK_BYTES, 0);
	os_close(file);
	if (n < 0)
		return (int)n;
	if (n != WAL_BLOCK_BYTES || !wal_head_decode(block, number, head))
		return why(-EUCLEAN, "%s: its first block fails its check",
			   name);
	return 0;
}

int wal_look(struct wal *w, uint64_t number, struct wal_file *f,
	     struct wal_head *head)
{
	uint8_t block[WAL_BLOCK_BYTES];

	wal_segment_name(f->name, number);
	return wal_read_block(w->dir, f->name, number, block, &f->size, head);
}

/* Each segment ends where the next one begins, and the last one at @pos. */
static int sealed_files(struct wal *w, uint64_t first, uint64_t end,
			uint64_t pos,
			int (*each)(void *arg, const struct wal_file *f),
			void *arg)
{
	struct wal_file f = {.bytes = 0}, next = {.bytes = 0};
	struct wal_head head = {0}, after;
	int rc = first < end ? wal_look(w, first, &f, &head) : 0;

	for (uint64_t n = first; rc == 0 && n < end; n++) {
		after.start = pos;
		if (n + 1 < end)
			rc = wal_look(w, n + 1, &next, &after);
		if (rc < 0)
			break;
		f.bytes = after.start - head.start + WAL_BLOCK_BYTES;
		if (after.start < head.start || f.bytes > f.size)
			return why(-EUCLEAN,
				   "%s does not end where the log "
				   "goes on",
				   f.name);
		rc = each(arg, &f);
		f = next;
		head = after;
	}
	return rc;
}

int wal_tell_whole(const struct wal_listing *l, const char *name)
{
	struct os_file *file = NULL;
	struct wal_file f = {.bytes = 0};
	int rc = os_open(l->dir, name, OS_READ, &file);

	if (rc < 0)
		return rc;
	snprintf(f.name, sizeof(f.name), "%s", name);
	rc = os_size(file, &f.size);
	os_close(file);
	f.bytes = f.size;
	return rc < 0 ? rc : l->each(l->arg, &f);
}

static int whole_file(void *arg, const char *name)
{
	uint64_t number;

	if (!wal_segment_number(name, &number) && strcmp(name, WAL_RING_NAME) &&
	    strcmp(name, WAL_MADE_NAME))
		return 0;
	return wal_tell_whole(arg, name);
}

int wal_files(struct wal *w, uint64_t first, uint64_t end, uint64_t pos,
	      int (*each)(void *arg, const struct wal_file *f), void *arg)
{
	struct wal_listing l = {w->dir, each, arg};

	/* The hold keeps what was to be released from becoming kept segments. */
	if (w->keep_limit && w->first < first)
		first = w->first;
	return w->read_only ? os_dir_list(w->dir, whole_file, &l)
			    : sealed_files(w, first, end, pos, each, arg);
}
