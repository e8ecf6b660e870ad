/* One sorted table that many threads read, with a cache that is too small for it. */
#include <pthread.h>

#include "tests/unit/sst_model.h"

struct reader {
	pthread_t thread;
	const struct model *m;
	struct sstable *t;
	unsigned number;
};

/* Without the model's random numbers, which are one for all. */
static void *reads_all(void *arg)
{
	struct reader *r = arg;
	struct sst_cursor c;

	sst_cursor(r->t, &c);
	c.no_fill = r->number % 4 == 3;
	for (int pass = 0; pass < 6; pass++) {
		size_t i = r->number * 37 % r->m->n;

		i = row_begin(r->m, i);
		if (cursor_seek_exact(&c.base, r->m->items[i].row) != 1)
			abort();
		while (i < r->m->n) {
			if (!bytes_eq(c.base.at.value,
				      r->m->items[i].e.value) ||
			    entry_cmp(&c.base.at, &r->m->items[i].e))
				abort();
			i++;
			if (cursor_next(&c.base) == 0 &&
			    cursor_next_row(&c.base) == 0)
				break;
		}
		if (i != r->m->n)
			abort();
	}
	cursor_close(&c.base);
	return NULL;
}

TEST(many_threads_read_one_table)
{
	struct model m = {0};
	struct reader readers[8];
	struct block_cache *small;
	struct sst_info info;
	struct sstable *t;

	rng_state = 9;
	random_model(&m, 150, 5);
	plain_options();
	write_file(&m, 1020, &info);
	assert_int_equal(block_cache_new(16 << 10, &small), 0);
	assert_int_equal(sst_open(dir, &info, &options, small, &t), 0);
	for (unsigned i = 0; i < 8; i++) {
		readers[i] = (struct reader){.m = &m, .t = t, .number = i};
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
						reads_all, &readers[i]),
				 0);
	}
	for (unsigned i = 0; i < 8; i++)
		pthread_join(readers[i].thread, NULL);
	sst_unref(t);
	block_cache_free(small);
	sst_info_free(&info);
	model_free(&m);
}
