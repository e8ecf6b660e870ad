/*
 * The log that is kept: segments that the store needs no more, for who restores a
 * moment between two backups.
 *
 *	wal-N.log ── released ──▶ kept-ID-N.log ── beyond the limit ──▶ removed
 *
 * A kept segment ends where its records do, and its mark says so. ID is that of
 * the catalog's, another one each time that keeping is begun: segments of two
 * stores that come of one backup, or of before and after a pause, have the same
 * numbers and must not be taken for one log.
 *
 * Positions in the stream go on over them also where no segment is left.
 *
 * It is what goes first where space is short. What cannot be kept is as good as
 * not kept: the next segments do not continue those before, which who restores
 * sees. While the log is held nothing of it is removed.
 */
#include "store/lsm/wal/wal_live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/value/why.h"

void wal_kept_name(char name[WAL_KEPT_NAME_BYTES], uint64_t id, uint64_t number)
{
	snprintf(name, WAL_KEPT_NAME_BYTES,
		 WAL_KEPT "%016" PRIx64 "-%016" PRIx64 ".log", id, number);
}

bool wal_kept_number(const char *name, uint64_t *id, uint64_t *number)
{
	char again[WAL_KEPT_NAME_BYTES];

	if (sscanf(name, WAL_KEPT "%16" SCNx64 "-%16" SCNx64 ".log", id,
		   number) != 2)
		return false;
	wal_kept_name(again, *id, *number);
	return !strcmp(again, name);
}

/* What one listing finds. */
struct kept_look {
	uint64_t bytes;
	struct buf files; /* of each a struct kept_file */
};

struct kept_file {
	uint64_t number, id, size;
};

static int look_at(void *arg, const struct wal_file *file)
{
	struct kept_look *l = arg;
	struct kept_file f = {.size = file->size};

	(void)wal_kept_number(file->name, &f.id, &f.number);
	l->bytes += f.size;
	return buf_append(&l->files, &f, sizeof(f));
}

static int by_number(const void *a, const void *b)
{
	const struct kept_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/*
 * Removes the oldest, at most @most, until no more than @limit bytes are left; how
 * many went. Also those of odd names in a listing of a directory that changes; so
 * it is called only under spare_lock.
 */
static size_t drop_oldest(struct wal *w, uint64_t limit, size_t most)
{
	struct kept_look l = {.bytes = 0};
	struct kept_file *files;
	char name[WAL_KEPT_NAME_BYTES];
	struct why_kept kept;
	size_t n, i = 0;

	why_keep(&kept);
	if (wal_kept_files(w->dir, look_at, &l) == 0) {
		files = (struct kept_file *)(void *)l.files.data;
		n = l.files.len / sizeof(*files);
		if (n)
			qsort(files, n, sizeof(*files), by_number);
		w->kept_bytes = l.bytes;
		for (; i < n && i < most && w->kept_bytes > limit; i++) {
			wal_kept_name(name, files[i].id, files[i].number);
			if (os_remove(w->dir, name) < 0)
				break;
			w->kept_bytes -= files[i].size;
		}
	}
	buf_free(&l.files);
	why_restore(&kept);
	return i;
}

bool wal_kept_give(struct wal *w)
{
	return w->kept_bytes && !w->holds && drop_oldest(w, 0, 1);
}

void wal_kept_trim(struct wal *w)
{
	if (w->kept_bytes > w->keep_limit && !w->holds)
		drop_oldest(w, w->keep_limit, SIZE_MAX);
}

/* Cuts the file off behind its @bytes, of which all are on the disk. */
static int cut(struct wal *w, const char *name, const struct wal_head *head,
	       uint64_t bytes)
{
	uint8_t mark[WAL_MARK_BYTES];
	struct os_file *f = NULL;
	int r = os_open(w->dir, name, OS_WRITE, &f);

	if (r < 0)
		return r;
	wal_mark_encode(mark, head->id, head->start + bytes - WAL_BLOCK_BYTES);
	r = os_pwrite(f, mark, sizeof(mark), WAL_MARK_AT);
	if (r == 0)
		r = os_fdatasync(f);
	if (r == 0)
		r = os_truncate(f, bytes);
	os_close(f);
	return r;
}

/* The head of a segment that is kept, and where its records end. */
static int look_kept(struct wal *w, uint64_t number, struct wal_head *head,
		     uint64_t *end)
{
	char name[WAL_KEPT_NAME_BYTES];
	uint8_t block[WAL_BLOCK_BYTES];
	uint64_t size;
	int r;

	wal_kept_name(name, w->keep_id, number);
	r = wal_read_block(w->dir, name, number, block, &size, head);
	if (r == 0 && !wal_mark_decode(block + WAL_MARK_AT, head->id, end))
		r = -EUCLEAN;
	return r;
}

/*
 * Where segment @number ends. After a crash the one behind it may be a kept one:
 * renames need not become durable in order.
 */
static int end_of(struct wal *w, uint64_t number, uint64_t *end)
{
	struct wal_head next = {0};
	struct wal_file f;
	uint64_t behind;
	int r = 0;

	*end = wal_end(w);
	if (number + 1 >= w->next)
		return 0;
	if (wal_look(w, number + 1, &f, &next) < 0)
		r = look_kept(w, number + 1, &next, &behind);
	if (r == 0)
		*end = next.start;
	return r;
}

bool wal_kept_take(struct wal *w, uint64_t number)
{
	char to[WAL_KEPT_NAME_BYTES];
	struct wal_head head = {0};
	struct why_kept kept;
	struct wal_file f;
	uint64_t end, bytes;
	int r;

	if (!w->keep_limit)
		return false;
	why_keep(&kept);
	r = wal_look(w, number, &f, &head);
	if (r == 0)
		r = end_of(w, number, &end);
	bytes = r == 0 ? end - head.start + WAL_BLOCK_BYTES : 0;
	if (r == 0 && (end < head.start || bytes > f.size))
		r = -EUCLEAN;
	if (r == 0)
		r = cut(w, f.name, &head, bytes);
	wal_kept_name(to, w->keep_id, number);
	if (r == 0)
		r = os_rename(w->dir, f.name, to);
	why_restore(&kept);
	if (r < 0)
		return false;
	w->kept_bytes += bytes;
	wal_kept_trim(w);
	return true;
}

uint64_t wal_kept_end(struct wal *w, uint64_t first)
{
	struct wal_found last = {0};
	struct wal_head head;
	struct why_kept kept;
	uint64_t end;

	if (!w->keep_limit || !first)
		return 0;
	why_keep(&kept);
	/* It was not released yet, or was. */
	if (wal_replay(w->dir, first - 1, NULL, NULL, &last) == 0 && last.n)
		end = last.end;
	else if (look_kept(w, first - 1, &head, &end) < 0)
		end = 0;
	wal_found_free(&last);
	why_restore(&kept);
	return end;
}

void wal_keep(struct wal *w, uint64_t bytes, uint64_t id)
{
	struct kept_look l = {.bytes = 0};

	if (w->read_only)
		return;
	pthread_mutex_lock(&w->spare_lock);
	w->keep_limit = bytes;
	w->keep_id = id;
	/* Those that cannot be looked at now are, when one more is too many. */
	w->kept_bytes =
		wal_kept_files(w->dir, look_at, &l) == 0 ? l.bytes : bytes;
	wal_kept_trim(w);
	pthread_mutex_unlock(&w->spare_lock);
	buf_free(&l.files);
}

static int tell_kept(void *arg, const char *name)
{
	uint64_t id, number;
	int r;

	if (!wal_kept_number(name, &id, &number))
		return 0;
	r = wal_tell_whole(arg, name);
	return r == -ENOENT ? 0 : r;
}

int wal_kept_files(struct os_dir *dir,
		   int (*each)(void *arg, const struct wal_file *f), void *arg)
{
	struct wal_listing l = {dir, each, arg};

	return os_dir_list(dir, tell_kept, &l);
}
