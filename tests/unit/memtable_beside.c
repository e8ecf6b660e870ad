/* Readers beside a writer, who see all that was done when they began. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/memtable.h"

#if SANITIZED_THREAD || SANITIZED_ADDRESS
#define BESIDE_ROWS 8000
#else
#define BESIDE_ROWS 40000
#endif
#define BESIDE_WIDE 5 /* every so many writes go to one wide row */

struct beside {
	struct memtable *mt;
	/* Writes that are done: what a reader must see. */
	_Atomic(uint32_t) done;
	_Atomic(bool) stop;
	_Atomic(unsigned) faults;
};

/* Scatters the writes, one to one for n < 2^16. */
static uint32_t scatter(uint32_t i)
{
	return i * 40503u & 0xffff;
}

static struct bytes beside_row(char *buf, uint32_t i)
{
	return bytes_of(buf, (size_t)sprintf(buf, "row-%05u", scatter(i)));
}

static void expect(struct beside *b, bool ok)
{
	if (!ok)
		atomic_fetch_add(&b->faults, 1);
}

/* Two cells to a row, and now and then one to the row "wide". */
static void *beside_writer(void *arg)
{
	struct beside *b = arg;
	char buf[32], q[32];

	for (uint32_t i = 0; i < BESIDE_ROWS; i++) {
		struct entry e[2] = {put("b", i, i), put("a", i, i)};
		struct bytes row = beside_row(buf, i);

		expect(b, !memtable_insert(b->mt, TREE, row, e, 2));
		if (i % BESIDE_WIDE == 0) {
			sprintf(q, "%05u", scatter(i));
			e[0] = put(q, i, i);
			expect(b, !memtable_insert(b->mt, TREE,
						   bytes_str("wide"), e, 1));
		}
		atomic_store_explicit(&b->done, i + 1, memory_order_release);
	}
	atomic_store(&b->stop, true);
	return NULL;
}

static void check_cells(struct beside *b, struct cursor *c, bool wide)
{
	uint32_t cells = 0;
	struct entry last;

	do {
		if (cells++)
			expect(b, entry_cmp(&last, &c->at) < 0);
		last = c->at;
		expect(b, c->at.value.len == 1 && c->at.value.data[0] == 'v');
	} while (cursor_next(c) == 1);
	if (!wide)
		expect(b, cells == 2);
}

/* All rows that were done, each once, in order. */
static void check_walk(struct beside *b, struct cursor *c, bool forward)
{
	uint32_t done = atomic_load_explicit(&b->done, memory_order_acquire);
	uint32_t seen = 0;
	struct bytes last = {0};
	int r = forward ? cursor_seek_row(c, bytes_str(""))
			: cursor_seek_back(c, bytes_str(""), false);

	while (r == 1) {
		bool wide = bytes_eq(c->row, bytes_str("wide"));

		if (last.len)
			expect(b, forward ? bytes_cmp(last, c->row) < 0
					  : bytes_cmp(last, c->row) > 0);
		last = c->row;
		if (!wide)
			seen += c->at.seq < done;
		check_cells(b, c, wide);
		r = forward ? cursor_next_row(c) : cursor_prev_row(c);
	}
	expect(b, seen == done);
}

static void check_gets(struct beside *b, struct cursor *c, unsigned *seed)
{
	uint32_t done = atomic_load_explicit(&b->done, memory_order_acquire);
	char buf[32];

	for (int i = 0; done && i < 200; i++) {
		uint32_t at = (uint32_t)rand_r(seed) % done;
		struct bytes row = beside_row(buf, at);
		int64_t ts = -1;

		expect(b, cursor_seek_exact(c, row) == 1);
		expect(b, c->at.seq == at);
		expect(b, cursor_seek_column(c, bytes_str("b"), at) == 1);
		expect(b, cursor_seek_row(c, row) == 1 && c->at.seq == at);
		expect(b,
		       cursor_seek_back(c, row, true) == 1 && c->at.seq == at);
		expect(b, memtable_column_newest(b->mt, TREE, row,
						 bytes_str("a"), &ts) &&
				  ts == at);
		at -= at % BESIDE_WIDE;
		sprintf(buf, "%05u", scatter(at));
		expect(b, cursor_seek_exact(c, bytes_str("wide")) == 1);
		expect(b, cursor_seek_column(c, bytes_str(buf), at) == 1 &&
				  c->at.seq == at);
	}
}

static void *beside_reader(void *arg)
{
	struct beside *b = arg;
	struct mem_cursor c;
	unsigned seed = 1;
	bool stop;

	memtable_cursor(b->mt, TREE, &c);
	do {
		stop = atomic_load(&b->stop);
		check_walk(b, &c.base, true);
		check_gets(b, &c.base, &seed);
		check_walk(b, &c.base, false);
		check_gets(b, &c.base, &seed);
	} while (!stop);
	return NULL;
}

TEST(readers_beside_a_writer_see_all_that_was_done)
{
	struct beside b = {.mt = fresh()};
	pthread_t threads[3];

	assert_int_equal(pthread_create(&threads[0], NULL, beside_reader, &b),
			 0);
	assert_int_equal(pthread_create(&threads[1], NULL, beside_reader, &b),
			 0);
	assert_int_equal(pthread_create(&threads[2], NULL, beside_writer, &b),
			 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(&b.faults), 0);
	memtable_unref(b.mt);
}
