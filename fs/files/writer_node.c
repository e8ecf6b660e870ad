/* The open writers of each node. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "fs/files/writer_inside.h"
#include "store/os/clock.h"

/*
 * Waits until nobody removes or renames the file: 0, or -EINTR (patience.h).
 * REQUIRES: ws->lock.
 */
static int await_unheld(struct write_state *ws, uint64_t node)
{
	struct writers *h = ws->held;
	int r = 1;

	while (h && r > 0) {
		if (h->node != node) {
			h = h->next;
			continue;
		}
		r = patience_wait(&ws->settled_cond, &ws->lock, UINT64_MAX);
		h = ws->held;
	}
	return r < 0 ? r : 0;
}

int writer_register(struct writer *w)
{
	struct write_state *ws = w->fs->writes;
	int r;

	pthread_mutex_lock(&ws->lock);
	r = await_unheld(ws, w->place.node);
	if (r == 0) {
		sorted_insert(&ws->writers, &w->by_node);
		ws->open = ws->writers.count;
	}
	pthread_mutex_unlock(&ws->lock);
	return r;
}

void writer_unregister(struct writer *w)
{
	struct write_state *ws = w->fs->writes;

	pthread_mutex_lock(&ws->lock);
	sorted_remove(&ws->writers, &w->by_node);
	ws->open = ws->writers.count;
	ws->settled++;
	if (ws->waiting)
		pthread_cond_broadcast(&ws->settled_cond);
	pthread_mutex_unlock(&ws->lock);
}

/* The node's writer after @last (NULL: the first), with a reference. */
static struct writer *writer_next(struct fs *fs, uint64_t node,
				  const struct writer *last)
{
	struct write_state *ws = fs->writes;
	struct sorted_node *n;

	if (!ws->open)
		return NULL;
	pthread_mutex_lock(&ws->lock);
	n = sorted_next(&ws->writers, node_key(&node), last != NULL,
			bytes_of(&last, sizeof(last)));
	if (n)
		open_file_hold(&((struct writer *)n)->file);
	pthread_mutex_unlock(&ws->lock);
	return (struct writer *)n;
}

/* The same for who goes over all: the reference to @last is given back. */
static struct writer *writer_after(struct fs *fs, uint64_t node,
				   struct writer *last)
{
	struct writer *next = writer_next(fs, node, last);

	writer_unref(last);
	return next;
}

int writer_stat_scratch(struct fs *fs, uint64_t node, struct stat *st)
{
	struct scratch_attr a;

	if (!scratch_getattr(fs->writes->scratch, node, &a))
		return 0;
	st->st_mode = a.mode;
	st->st_uid = a.uid;
	st->st_gid = a.gid;
	place_stat_force(fs, st);
	place_stat_size(st, a.size);
	st->st_atim = st->st_mtim = a.mtime;
	st->st_ctim = a.ctime;
	return 1;
}

int writer_stat_pending(struct fs *fs, uint64_t node, struct stat *st)
{
	struct writer *w = NULL;
	int64_t size = -1;

	while ((w = writer_after(fs, node, w))) {
		int64_t pending = w->pending_size;

		size = pending > size ? pending : size;
	}
	if (size < 0)
		return 0;
	place_stat_size(st, (uint64_t)size);
	clock_gettime(CLOCK_REALTIME, &st->st_mtim);
	return 1;
}

/* Is it the thread that opened the file, or one of its process? */
static bool is_opener(const struct writer *w, pid_t asker)
{
	char path[64];

	if (!asker || !w->opener)
		return false;
	if (w->opener == asker)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", w->opener, asker);
	return access(path, F_OK) == 0;
}

/* The size of the draft, and whether others see something else. */
static int size_of(struct writer *w, uint64_t *size, bool *fresh)
{
	int r = patience_lock(&w->lock);

	if (r < 0)
		return r;
	*fresh = w->dirty || w->owed;
	if (w->type != WRITER_SCRATCH)
		r = writer_draft_size(w, size);
	pthread_mutex_unlock(&w->lock);
	return r;
}

int writer_stat_draft(struct fs *fs, const struct place *p,
		      const struct open_file *f, pid_t asker, struct stat *st)
{
	bool handle = f && f->ops == &writer_ops, last = false;
	struct writer *w = NULL;
	int r = 0;

	while (!last && (w = writer_after(fs, p->node, w))) {
		bool own = handle ? &w->file == f : is_opener(w, asker);
		bool fresh = false, best;
		uint64_t size = 0;
		int has = 0;

		/*
		 * A process that did not open it does not wait for a writer,
		 * which may be waiting for the disk.
		 */
		if (own || p->detached)
			has = size_of(w, &size, &fresh);
		/*
		 * fstat(2) comes without the handle: what its process wrote
		 * and did not publish is meant. Of an unlinked file any will
		 * do, as there is nothing else.
		 */
		best = own && (handle || fresh);
		if (has > 0 && (best || (p->detached && !r)))
			place_stat_size(st, size);
		if (has < 0 || best || p->detached)
			r = has ? has : r;
		last = best || has < 0;
	}
	writer_unref(w);
	return r;
}

bool writer_is_open(struct fs *fs, uint64_t node)
{
	return write_state_open(fs->writes, node);
}

bool writer_wants(struct fs *fs, uint64_t node)
{
	struct stat st;

	return writer_stat_pending(fs, node, &st) > 0;
}

bool writer_makes(struct fs *fs, uint64_t node, pid_t asker)
{
	struct writer *w = NULL;
	bool makes = false;

	while (!makes && (w = writer_after(fs, node, w)))
		makes = w->pending_size >= 0 && is_opener(w, asker);
	writer_unref(w);
	return makes;
}

/* A file that was closed is released, or written to again, within this time. */
#define RELEASE_WAIT_NS 250000000
/* A reader waits less: a second descriptor of the file may still be open. */
#define CLOSING_WAIT_NS 50000000
/* The RELEASE needs a thread as well: most are left to other requests. */
#define WAITING_MAX (FS_THREADS_MAX / 4)

void writer_note_flush(struct writer *w)
{
	w->flushed_ns = monotonic_ns();
}

/*
 * Until when to wait for a file of another process that is not published; 0 =
 * not at all. *hidden: there is one.
 */
static uint64_t hidden_until(struct fs *fs, uint64_t node, pid_t asker,
			     bool *hidden)
{
	struct writer *w = NULL;
	bool own = false;
	uint64_t until = 0;

	*hidden = false;
	while (!own && (w = writer_after(fs, node, w))) {
		uint64_t flushed = w->flushed_ns;

		if (w->pending_size < 0)
			continue;
		own = is_opener(w, asker);
		*hidden = !own;
		if (flushed && flushed + RELEASE_WAIT_NS > until)
			until = flushed + RELEASE_WAIT_NS;
	}
	writer_unref(w);
	return until;
}

/*
 * Waits until a file is published or given up, or the time has come: that of its first
 * close, as each child of a shell that has it open closes it once more. False when
 * WAITING_MAX threads wait already.
 */
static bool await_settled(struct write_state *ws, uint64_t seen, uint64_t until)
{
	bool may, in_time = true;

	pthread_mutex_lock(&ws->lock);
	may = ws->waiting < WAITING_MAX;
	if (may) {
		ws->waiting++;
		while (seen == ws->settled && in_time)
			in_time = clock_cond_wait(&ws->settled_cond, &ws->lock,
						  until);
		ws->waiting--;
	}
	pthread_mutex_unlock(&ws->lock);
	return may;
}

/* Until when all writers of the node may be released; 0 = one is in use. */
static uint64_t closing_until(struct fs *fs, uint64_t node, pid_t asker,
			      bool *open)
{
	uint64_t until = UINT64_MAX;
	struct writer *w = NULL;

	*open = false;
	while (until && (w = writer_after(fs, node, w))) {
		uint64_t flushed = w->flushed_ns;
		uint64_t end = flushed ? flushed + CLOSING_WAIT_NS : 0;

		*open = true;
		until = end < until ? end : until;
	}
	writer_unref(w);
	return until;
}

/*
 * Waits while @until_of finds writers of the node for which @asker is to wait, until the
 * earliest time that it gives. Are there such writers at the end?
 */
static bool await_writers(struct fs *fs, uint64_t node, pid_t asker,
			  uint64_t until_of(struct fs *fs, uint64_t node,
					    pid_t asker, bool *found))
{
	struct write_state *ws = fs->writes;
	uint64_t until = UINT64_MAX, end, seen;
	bool found;

	if (!ws->open)
		return false;
	do {
		pthread_mutex_lock(&ws->lock);
		seen = ws->settled;
		pthread_mutex_unlock(&ws->lock);
		end = until_of(fs, node, asker, &found);
		until = end < until ? end : until;
	} while (found && until > monotonic_ns() &&
		 await_settled(ws, seen, until));
	return found;
}

bool writer_hides(struct fs *fs, uint64_t node, pid_t asker)
{
	return await_writers(fs, node, asker, hidden_until);
}

void writer_await_release(struct fs *fs, uint64_t node)
{
	await_writers(fs, node, 0, closing_until);
}

void writer_settled(struct fs *fs)
{
	struct write_state *ws = fs->writes;

	pthread_mutex_lock(&ws->lock);
	ws->settled++;
	pthread_mutex_unlock(&ws->lock);
	pthread_cond_broadcast(&ws->settled_cond);
}

int writers_hold(struct fs *fs, uint64_t node, struct writers *held)
{
	struct write_state *ws = fs->writes;
	struct writer *w = NULL, **end = &held->first;
	int r;

	*held = (struct writers){.fs = fs};
	if (!node)
		return 0;
	pthread_mutex_lock(&ws->lock);
	r = await_unheld(ws, node);
	if (r == 0) {
		held->node = node;
		held->next = ws->held;
		ws->held = held;
	}
	pthread_mutex_unlock(&ws->lock);
	while (r == 0 && (w = writer_next(fs, node, w))) {
		r = patience_lock(&w->lock);
		if (r < 0) {
			writer_unref(w);
			writers_end(held, WRITER_NAMED);
			held->node = 0;
			break;
		}
		held->pending |= w->pending_size >= 0;
		/*
		 * A process that has the file open keeps its content, and no
		 * other does.
		 */
		w->has_whole = w->type != WRITER_SCRATCH && !w->loaded;
		if (w->has_whole && writer_whole(w, &w->whole) < 0) {
			draft_clear(&w->whole);
			w->has_whole = false;
		}
		w->next_held = NULL;
		*end = w;
		end = &w->next_held;
	}
	return r;
}

int writers_settle(struct writers *held)
{
	int err = 0;

	for (struct writer *w = held->first; w; w = w->next_held) {
		bool dirty = w->dirty, owed = w->owed;
		int r = writer_publish(w, true, 0);

		/* Whoever has written it is told as well, at close. */
		if (r) {
			w->dirty = dirty;
			w->owed = owed;
		}
		err = err ? err : r;
	}
	return err;
}

/* REQUIRES: lock. */
static void become(struct writer *w, enum writer_state became)
{
	if (became != WRITER_NAMED && w->state == WRITER_NAMED) {
		w->state = became;
		w->pending_size = -1;
		if (w->has_whole)
			writer_take_whole(w, &w->whole);
	} else if (w->has_whole) {
		draft_clear(&w->whole);
	}
	w->has_whole = false;
}

void writers_end(struct writers *held, enum writer_state became)
{
	struct write_state *ws;
	struct writers **at;
	struct writer *w, *next;

	if (!held->node)
		return;
	ws = held->fs->writes;
	at = &ws->held;
	for (w = held->first; w; w = w->next_held)
		become(w, became);
	pthread_mutex_lock(&ws->lock);
	while (*at != held)
		at = &(*at)->next;
	*at = held->next;
	pthread_mutex_unlock(&ws->lock);
	writer_settled(held->fs);
	for (w = held->first; w; w = next) {
		next = w->next_held;
		writer_unlock(w);
		writer_unref(w);
	}
}
