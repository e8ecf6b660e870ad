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

int wal_look(struct wal *w, uint64_t number, struct wal_file *f,
	     struct wal_head *head)
{
	uint8_t block[WAL_BLOCK_BYTES];
	struct os_file *file = NULL;
	ssize_t n;
	int rc;

	wal_segment_name(f->name, number);
	rc = os_open(w->dir, f->name, OS_READ, &file);
	if (rc < 0)
		return rc == -ENOENT ? why(-EUCLEAN, "%s is missing", f->name)
				     : rc;
	rc = os_size(file, &f->size);
	n = rc < 0 ? 0 : os_pread(file, block, sizeof(block), 0);
	os_close(file);
	if (rc < 0 || n < 0)
		return rc < 0 ? rc : (int)n;
	if (n != sizeof(block) || !wal_head_decode(block, number, head))
		return why(-EUCLEAN, "%s: its first block fails its check",
			   f->name);
	return 0;
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

struct whole_files {
	struct wal *w;
	int (*each)(void *arg, const struct wal_file *f);
	void *arg;
};

static int whole_file(void *arg, const char *name)
{
	const struct whole_files *k = arg;
	struct os_file *file = NULL;
	struct wal_file f = {.bytes = 0};
	uint64_t number;
	int rc;

	if (!wal_segment_number(name, &number) && strcmp(name, WAL_RING_NAME) &&
	    strcmp(name, WAL_MADE_NAME))
		return 0;
	rc = os_open(k->w->dir, name, OS_READ, &file);
	if (rc < 0)
		return rc;
	snprintf(f.name, sizeof(f.name), "%s", name);
	rc = os_size(file, &f.size);
	os_close(file);
	f.bytes = f.size;
	return rc < 0 ? rc : k->each(k->arg, &f);
}

int wal_files(struct wal *w, uint64_t first, uint64_t end, uint64_t pos,
	      int (*each)(void *arg, const struct wal_file *f), void *arg)
{
	struct whole_files k = {w, each, arg};

	/* The hold keeps what was to be released from becoming kept segments. */
	if (w->keep_limit && w->first < first)
		first = w->first;
	return w->read_only ? os_dir_list(w->dir, whole_file, &k)
			    : sealed_files(w, first, end, pos, each, arg);
}
