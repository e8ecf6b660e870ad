/*
 * The files of an open log: made ahead, taken into use, sealed, recycled.
 *
 *	allocate ──▶ wal.spare ──▶ block written, synced ──▶ wal-N.log
 *			 ▲				      (rename, sync of
 *			 └───── released ◀── sealed ◀──────────  directory)
 *
 * A file named wal-N.log thus always has a complete, durable block before its
 * first record. Space is allocated here and nowhere else: -ENOSPC is returned
 * before anything is sealed or written, so that the log is unchanged and
 * smaller records may still fit.
 *
 * Beside the spare there is a second file that is not meant for the log: the
 * reserve. wal_lend() removes it when the disk is full, to make space for the
 * writes that must precede any removal.
 */
#include "store/lsm/wal/wal_live.h"

#include <assert.h>

/* Segments of this size last longer than the interval of wal_tick(). */
#define LARGE_BYTES ((size_t)8 << 20)

static int make_file(struct wal *w, const char *name, uint64_t size,
		     struct os_file **out)
{
	struct os_file *f = NULL;
	int rc;

	rc = os_open(w->dir, name, OS_WRITE | OS_CREATE, &f);
	if (rc < 0)
		return rc;
	do {
		rc = os_allocate(f, size);
	} while (os_is_full(rc) && wal_kept_give(w));
	if (rc < 0) {
		os_close(f);
		f = NULL;
		os_discard(w->dir, name);
		return rc;
	}
	*out = f;
	return 0;
}

/* Of memory and descriptors there may be enough when the file is needed. */
static bool is_low(int rc)
{
	return rc < 0 && (os_is_full(rc) || !os_is_want(rc));
}

static int prepare_locked(struct wal *w)
{
	int rc = 0;

	if (!w->spare)
		rc = make_file(w, WAL_SPARE_NAME, w->segment_bytes, &w->spare);
	if (rc == 0 && w->keeps_reserve && !w->reserve && w->loans == 0)
		rc = make_file(w, WAL_RESERVE_NAME, w->reserve_bytes,
			       &w->reserve);
	atomic_store(&w->spare_failed, is_low(rc) || w->loans);
	return rc;
}

int wal_prepare(struct wal *w)
{
	int rc;

	pthread_mutex_lock(&w->spare_lock);
	rc = w->loans ? 0 : prepare_locked(w);
	pthread_mutex_unlock(&w->spare_lock);
	return rc == 0 || os_is_want(rc) ? 0 : wal_fail(w, rc);
}

static int give_back(struct wal *w, struct os_file **file, const char *name)
{
	int rc;

	if (!*file)
		return 0;
	os_close(*file);
	*file = NULL;
	atomic_store(&w->spare_failed, true);
	rc = os_unlink(w->dir, name);
	return rc < 0 ? rc : 1;
}

int wal_lend(struct wal *w)
{
	int rc;

	pthread_mutex_lock(&w->spare_lock);
	rc = wal_kept_give(w);
	if (rc == 0)
		rc = give_back(w, &w->reserve, WAL_RESERVE_NAME);
	if (rc == 0)
		rc = give_back(w, &w->spare, WAL_SPARE_NAME);
	w->loans += rc > 0;
	pthread_mutex_unlock(&w->spare_lock);
	return rc;
}

void wal_repay(struct wal *w, unsigned loans)
{
	pthread_mutex_lock(&w->spare_lock);
	assert(loans <= w->loans);
	w->loans -= loans;
	pthread_mutex_unlock(&w->spare_lock);
}

uint64_t wal_lendable(struct wal *w)
{
	uint64_t n;

	pthread_mutex_lock(&w->spare_lock);
	n = (w->reserve ? w->reserve_bytes : 0) +
	    (w->holds ? 0 : w->kept_bytes);
	pthread_mutex_unlock(&w->spare_lock);
	return n;
}

/*
 * Makes sure that there is a spare segment. If making one fails for another
 * reason than a full disk, the reserve becomes the spare; for a full disk the
 * reserve is kept.
 */
static int have_spare(struct wal *w)
{
	int rc = 0;

	if (!w->spare)
		rc = make_file(w, WAL_SPARE_NAME, w->segment_bytes, &w->spare);
	if (rc == 0) {
		if (!w->keeps_reserve)
			atomic_store(&w->spare_failed, false);
		return 0;
	}
	atomic_store(&w->spare_failed, is_low(rc));
	if (!w->reserve || os_is_want(rc))
		return rc;
	rc = os_rename(w->dir, WAL_RESERVE_NAME, WAL_SPARE_NAME);
	if (rc < 0)
		return rc;
	assert(!w->spare);
	w->spare = w->reserve;
	w->reserve = NULL;
	return 0;
}

/*
 * The spare was used. A large segment lasts until a released one is recycled or
 * wal_tick() makes one; for small ones a spare is made here. Later callers see
 * a failure.
 */
static void have_next(struct wal *w)
{
	bool soon = w->segment_bytes < LARGE_BYTES || !w->reserve;
	int rc = w->keeps_reserve && soon ? prepare_locked(w) : 0;

	if (rc < 0 && !os_is_want(rc))
		(void)wal_fail(w, rc);
}

/* Ends the active segment. When it returns 0, the segment is durable. */
static int seal(struct wal *w)
{
	struct os_file *file, *direct;
	uint64_t end = wal_end(w);
	int rc;

	rc = wal_sync(w, end);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&w->lock);
	/* All is synced, but a leader may still be inside its sync. */
	while (w->syncing)
		pthread_cond_wait(&w->synced_cond, &w->lock);
	file = w->file;
	direct = w->direct.file;
	w->file = w->direct.file = NULL;
	rc = atomic_load(&w->failed) ? wal_refused(w) : 0;
	pthread_mutex_unlock(&w->lock);
	/* The segment is durable, whatever close returns. */
	os_close(file);
	os_close(direct);
	return rc;
}

/* Makes the allocated @file, now called @name, the active segment. */
static int take_into_use(struct wal *w, struct os_file *file, const char *name)
{
	uint8_t block[WAL_BLOCK_BYTES];
	char to[WAL_NAME_BYTES];
	struct os_file *direct = NULL;
	struct wal_head head = {
		.number = w->next,
		.id = os_random(w->dir->os),
		.start = wal_end(w),
	};
	int rc;

	rc = os_size(file, &head.capacity);
	if (rc < 0)
		return rc;
	wal_head_encode(block, &head);
	rc = os_pwrite(file, block, sizeof(block), 0);
	if (rc == 0)
		rc = os_fdatasync(file);
	wal_segment_name(to, head.number);
	if (rc == 0)
		rc = os_rename(w->dir, name, to);
	if (rc == 0)
		rc = os_dir_sync(w->dir);
	if (rc < 0)
		return rc;
	memcpy(file->name, to, sizeof(to));
	/* If this fails, syncs use fdatasync, which is slower. */
	(void)os_open(w->dir, to, OS_WRITE | OS_DIRECT, &direct);
	pthread_mutex_lock(&w->lock);
	/* The segment before it was sealed: all of the stream is durable. */
	assert(!w->file && !w->direct.file && !w->direct.busy);
	assert(atomic_load(&w->synced) == head.start);
	assert(atomic_load(&w->drained) == head.start);
	w->file = file;
	w->direct.file = direct;
	w->direct.tail = head.start;
	w->direct.written = 0;
	w->head = head;
	w->marked = head.start;
	w->begun = head.start;
	w->next = head.number + 1;
	pthread_mutex_unlock(&w->lock);
	wal_made_note(w->dir, head.number + 1, w->ring);
	return 0;
}

static int next_segment(struct wal *w, uint64_t size)
{
	bool big = size > w->segment_bytes - WAL_BLOCK_BYTES;
	struct os_file *file = NULL;
	int rc;

	if (big) {
		rc = make_file(w, WAL_NEW_NAME, size + WAL_BLOCK_BYTES, &file);
	} else {
		rc = have_spare(w);
		file = w->spare;
	}
	if (rc < 0)
		return os_is_want(rc) ? rc : wal_fail(w, rc);
	rc = seal(w);
	if (rc < 0) {
		if (big)
			os_close(file);
		return rc;
	}
	if (!big)
		w->spare = NULL;
	rc = take_into_use(w, file, big ? WAL_NEW_NAME : WAL_SPARE_NAME);
	if (rc < 0) {
		rc = wal_fail(w, rc);
		os_close(file);
		return rc;
	}
	have_next(w);
	return 0;
}

int wal_make_room(struct wal *w, uint64_t size)
{
	uint64_t used = wal_end(w) - w->head.start + WAL_BLOCK_BYTES;
	int rc;

	if (w->file && used <= w->head.capacity &&
	    size <= w->head.capacity - used)
		return 0;
	pthread_mutex_lock(&w->spare_lock);
	rc = next_segment(w, size);
	pthread_mutex_unlock(&w->spare_lock);
	return rc;
}

bool wal_spent(struct wal *w)
{
	uint64_t room = 0;

	if (!wal_low(w))
		return false;
	if (w->file)
		room = w->head.capacity - WAL_BLOCK_BYTES -
		       (wal_end(w) - w->head.start);
	pthread_mutex_lock(&w->spare_lock);
	if (w->spare || w->reserve)
		room += w->segment_bytes;
	pthread_mutex_unlock(&w->spare_lock);
	return room < w->segment_bytes / 2;
}

int wal_rotate(struct wal *w, uint64_t *segment)
{
	bool empty = !w->file || wal_end(w) == w->head.start;
	int rc;

	if (w->read_only)
		return wal_refused(w);
	/* An empty segment serves as the new one. */
	if (!empty) {
		rc = seal(w);
		if (rc < 0)
			return rc;
	}
	*segment = w->file ? w->head.number : w->next;
	return 0;
}

/* Makes the released segment the spare. False if it is not suitable. */
static bool recycle(struct wal *w, const char *name)
{
	struct os_file *f = NULL;
	uint64_t size;

	if (w->spare || os_open(w->dir, name, OS_WRITE, &f) < 0)
		return false;
	if (os_size(f, &size) == 0 && size == w->segment_bytes &&
	    os_rename(w->dir, name, WAL_SPARE_NAME) == 0) {
		w->spare = f;
		if ((w->reserve || !w->keeps_reserve) && w->loans == 0)
			atomic_store(&w->spare_failed, false);
		return true;
	}
	os_close(f);
	return false;
}

static int release_one(struct wal *w, uint64_t number)
{
	char name[WAL_NAME_BYTES];

	if (wal_kept_take(w, number))
		return 0;
	wal_segment_name(name, number);
	if (!recycle(w, name))
		return os_remove(w->dir, name);
	pthread_mutex_lock(&w->lock);
	w->recycled++;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

int wal_release(struct wal *w, uint64_t segment)
{
	uint64_t number, limit;
	int rc = 0;

	if (w->read_only)
		return wal_refused(w);
	pthread_mutex_lock(&w->spare_lock);
	for (;;) {
		pthread_mutex_lock(&w->lock);
		/* Never remove the active segment. */
		limit = w->file ? w->head.number : w->next;
		if (limit > segment)
			limit = segment;
		number = w->first;
		pthread_mutex_unlock(&w->lock);
		if (w->holds || number >= limit)
			break;
		rc = release_one(w, number);
		if (rc < 0)
			break;
		pthread_mutex_lock(&w->lock);
		w->first = number + 1;
		pthread_mutex_unlock(&w->lock);
	}
	pthread_mutex_unlock(&w->spare_lock);
	return rc;
}
