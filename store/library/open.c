/* The store as a whole: its life, its care and its figures. */
#include "cellfs-version.h"
#include "store/library/convert.h"

_Static_assert((int)CELLFS_NEWS_FAILED == (int)STORE_NEWS_FAILED &&
		       (int)CELLFS_NEWS_FULL == (int)STORE_NEWS_FULL &&
		       (int)CELLFS_NEWS_ROOM == (int)STORE_NEWS_ROOM &&
		       (int)CELLFS_NEWS_STUCK == (int)STORE_NEWS_STUCK &&
		       (int)CELLFS_NEWS_DONE == (int)STORE_NEWS_DONE &&
		       (int)CELLFS_NEWS_DAMAGED == (int)STORE_NEWS_DAMAGED,
	       "cellfs.h and store.h differ in the news");

const char *cellfs_version(void)
{
	/* Both headers define it: a difference does not compile. */
	return CELLFS_VERSION;
}

const char *cellfs_error(void)
{
	return store_why();
}

void cellfs_buffer_free(struct cellfs_buffer *b)
{
	if (b)
		buf_free(buf_in(b));
}

int cellfs_open(const char *path, const struct cellfs_options *o,
		struct cellfs **out)
{
	static const struct cellfs_options defaults;
	struct store_options options;

	o = o ? o : &defaults;
	options = (struct store_options){
		.create = o->create,
		.read_only = o->read_only,
		.no_delete = o->no_delete,
		.sync = o->sync,
		.insecure = o->insecure,
		.wait_ms = o->wait_ms,
		.cache_bytes = o->cache_bytes,
		.write_buffer_bytes = o->write_buffer_bytes,
		.news = o->news,
		.news_arg = o->news_arg,
	};
	return store_open(path, &options, (struct store **)out);
}

int cellfs_close(struct cellfs *s)
{
	return store_close(store_in(s));
}

int cellfs_sync(struct cellfs *s)
{
	return store_sync(store_in(s));
}

int cellfs_flush(struct cellfs *s, struct cellfs_table *t)
{
	return store_flush(store_in(s), table_in(t));
}

int cellfs_compact(struct cellfs *s, struct cellfs_table *t)
{
	return store_compact(store_in(s), table_in(t));
}

void cellfs_stats(struct cellfs *s,
		  void (*say)(void *arg, const struct cellfs_stat *stat),
		  void *arg)
{
	struct store_stat stat;

	for (unsigned i = 0; store_stat(store_in(s), i, &stat) > 0; i++) {
		const struct cellfs_stat out = {
			.name = stat.name,
			.help = stat.help,
			.counter = stat.counter,
			.value = stat.value,
		};

		say(arg, &out);
	}
}
