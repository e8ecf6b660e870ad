/*
 * Who has which file open for writing, by node.
 */
#include <stdlib.h>
#include <time.h>

#include "fs/writer_inside.h"

void writer_register(struct writer *w)
{
	struct write_state *ws = w->fs->writes;

	pthread_mutex_lock(&ws->lock);
	sorted_insert(&ws->writers, &w->by_node);
	ws->open = ws->writers.count;
	pthread_mutex_unlock(&ws->lock);
}

void writer_unregister(struct writer *w)
{
	struct write_state *ws = w->fs->writes;

	pthread_mutex_lock(&ws->lock);
	sorted_remove(&ws->writers, &w->by_node);
	ws->open = ws->writers.count;
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
	n = sorted_next(&ws->writers, writer_node_key(&node), last != NULL,
			bytes_of(&last, sizeof(last)));
	if (n)
		atomic_fetch_add(&((struct writer *)n)->refs, 1);
	pthread_mutex_unlock(&ws->lock);
	return (struct writer *)n;
}

int writer_stat(struct fs *fs, uint64_t node, struct stat *st)
{
	struct scratch_attr a;
	struct writer *w, *next;
	int64_t size = -1;

	if (scratch_getattr(fs->writes->scratch, node, &a)) {
		st->st_mode = a.mode;
		st->st_uid = a.uid;
		st->st_gid = a.gid;
		st->st_size = (off_t)a.size;
		st->st_blocks = (blkcnt_t)((a.size + 511) / 512);
		st->st_atim = st->st_mtim = a.mtime;
		st->st_ctim = a.ctime;
		return 1;
	}
	for (w = writer_next(fs, node, NULL); w; w = next) {
		int64_t pending = w->pending_size;

		size = pending > size ? pending : size;
		next = writer_next(fs, node, w);
		writer_unref(w);
	}
	if (size < 0)
		return 0;
	st->st_size = (off_t)size;
	st->st_blocks = (blkcnt_t)((size + 511) / 512);
	clock_gettime(CLOCK_REALTIME, &st->st_mtim);
	return 1;
}

bool writer_is_open(struct fs *fs, uint64_t node)
{
	struct writer *w = writer_next(fs, node, NULL);

	if (w)
		writer_unref(w);
	return w != NULL;
}

bool writer_wants(struct fs *fs, uint64_t node)
{
	struct stat st;

	return writer_stat(fs, node, &st) > 0;
}

bool writer_abandon(struct fs *fs, uint64_t node)
{
	struct writer *w, *next;
	bool pending = false;

	for (w = writer_next(fs, node, NULL); w; w = next) {
		pthread_mutex_lock(&w->lock);
		pending |= w->pending_size >= 0;
		w->pending_size = -1;
		w->abandoned = w->type == WRITER_CELL;
		pthread_mutex_unlock(&w->lock);
		next = writer_next(fs, node, w);
		writer_unref(w);
	}
	return pending;
}

int writer_settle(struct fs *fs, uint64_t node)
{
	struct writer *w, *next;
	int err = 0;

	for (w = writer_next(fs, node, NULL); w; w = next) {
		int r;

		pthread_mutex_lock(&w->lock);
		r = writer_publish(w, true, 0);
		pthread_mutex_unlock(&w->lock);
		err = err ? err : r;
		next = writer_next(fs, node, w);
		writer_unref(w);
	}
	return err;
}

void writer_drain(struct fs *fs)
{
	struct sorted_node *n;

	/* No request runs any more: the locks are for form. */
	while ((n = sorted_any(&fs->writes->writers))) {
		struct writer *w = (struct writer *)n;

		pthread_mutex_lock(&w->lock);
		(void)writer_publish(w, true, 0);
		pthread_mutex_unlock(&w->lock);
		writer_unregister(w);
		writer_unref(w);
	}
}
