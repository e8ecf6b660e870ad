/*
 * Sorted tables that are not what was written, and calls of the disk that fail: each
 * is told, and what is read until then is right.
 */
#include "tests/unit/sst_model.h"

#include "tests/sim/os_fault.h"

/* Reads all that is there, which is what was written. 0, or why it goes no further. */
static int read_all(const struct model *m, struct sstable *t)
{
	struct sst_cursor c;
	size_t i = 0;
	int r;

	sst_cursor(t, &c);
	r = cursor_seek_row(&c.base, m->items[0].row);
	while (r == 1) {
		assert_true(i < m->n);
		same(&c.base, &m->items[i++]);
		r = cursor_next(&c.base);
		if (r == 0)
			r = cursor_next_row(&c.base);
	}
	if (r == 0)
		assert_int_equal(i, m->n);
	cursor_close(&c.base);
	return r;
}

static void count_fault(void *arg, const char *sentence)
{
	assert_true(sentence[0]);
}

/*
 * Opens and reads all. What is read must be what was written; -EUCLEAN is the
 * only other answer. Returns whether the damage was seen.
 */
static bool is_seen(const struct model *m, const struct sst_info *info)
{
	struct sstable *t;
	int r = sst_open(dir, info, &options, NULL, &t), faults;

	if (r == 0) {
		r = read_all(m, t);
		faults = sst_check(t, NULL, count_fault, NULL);
		assert_true(faults >= 0);
		sst_unref(t);
		if (r == 0)
			return faults > 0;
	}
	assert_int_equal(r, -EUCLEAN);
	return true;
}

static struct os_file *open_to_harm(uint64_t number)
{
	struct os_file *f;
	char name[32];

	snprintf(name, sizeof(name), "%" PRIu64 ".sst", number);
	assert_int_equal(os_open(dir, name, OS_WRITE, &f), 0);
	return f;
}

TEST(every_changed_byte_is_seen)
{
	static const uint8_t flips[] = {0x01, 0x80, 0xff};
	struct model m = {0};
	struct sst_info info;

	small_model(&m);
	for (int packed = 0; packed < 2; packed++) {
		struct os_file *f;

		plain_options();
		options.bloom = BLOOM_ROWCOL;
		options.compression = packed ? COMPRESSION_ZLIB : 0;
		write_file(&m, 1010 + (uint64_t)packed, &info);
		assert_false(is_seen(&m, &info));
		f = open_to_harm(info.number);
		for (uint64_t at = 0; at < info.file_bytes; at++) {
			uint8_t was, is;

			assert_int_equal(os_pread(f, &was, 1, at), 1);
			for (int k = 0; k < 3; k++) {
				is = was ^ flips[k];
				os_pwrite(f, &is, 1, at);
				assert_true(is_seen(&m, &info));
			}
			os_pwrite(f, &was, 1, at);
		}
		assert_false(is_seen(&m, &info));
		os_close(f);
		sst_info_free(&info);
	}
	model_free(&m);
}

TEST(every_truncation_and_garbage_behind_is_seen)
{
	struct model m = {0};
	struct sst_info info, own;
	struct os_file *f;

	plain_options();
	small_model(&m);
	write_file(&m, 1012, &info);
	f = open_to_harm(1012);
	assert_int_equal(os_pwrite(f, "x", 1, info.file_bytes), 0);
	assert_true(is_seen(&m, &info));
	assert_int_equal(sst_info_load(dir, 1012, &own), -EUCLEAN);
	for (uint64_t n = info.file_bytes; n-- > 0;) {
		assert_int_equal(os_truncate(f, n), 0);
		assert_true(is_seen(&m, &info));
		/* Without a manifest the footer alone tells. */
		assert_int_equal(sst_info_load(dir, 1012, &own), -EUCLEAN);
	}
	os_close(f);
	sst_info_free(&info);
	model_free(&m);
}

TEST(a_swapped_or_stale_file_is_seen)
{
	struct model m = {0}, other = {0};
	struct sst_info one, two, again;

	plain_options();
	small_model(&m);
	small_model(&other);
	/* As long as the other, but not the same. */
	((uint8_t *)other.items[0].e.value.data)[0] ^= 1;
	write_file(&m, 1013, &one);
	write_file(&m, 1014, &two);
	assert_int_equal(one.file_bytes, two.file_bytes);
	os_rename(dir, "1014.sst", "1013.sst");
	assert_true(is_seen(&m, &one));
	assert_non_null(strstr(store_why(), "1013.sst"));
	os_discard(dir, "1013.sst");
	write_file(&other, 1013, &again);
	assert_int_equal(one.file_bytes, again.file_bytes);
	assert_true(is_seen(&m, &one));
	assert_false(is_seen(&other, &again));
	sst_info_free(&one);
	sst_info_free(&two);
	sst_info_free(&again);
	model_free(&m);
	model_free(&other);
}

TEST(a_block_in_the_wrong_place_is_seen)
{
	struct model m = {0};
	struct sst_info info;
	struct os_file *f;
	uint8_t block[512];
	char name[16];
	size_t len = 0;

	plain_options();
	/* Rows alike, so that the blocks are of one length. */
	for (int i = 0; i < 90; i++) {
		snprintf(name, sizeof(name), "row%02d", i + 10);
		put(&m, bytes_str(name), put_of("q", 5, "sixteen of bytes"));
	}
	sort(&m);
	write_file(&m, 1015, &info);
	f = open_to_harm(1015);
	/* The trailer of the first: plain, its length, eight of hash. */
	for (uint32_t k = 100; !len; k++) {
		uint8_t t[5] = {0, (uint8_t)k, (uint8_t)(k >> 8), 0, 0};

		assert_in_range(k, 100, 400);
		assert_int_equal(os_pread(f, block, sizeof(block), 0),
				 sizeof(block));
		if (!memcmp(block + k, t, sizeof(t)))
			len = k + 13;
	}
	assert_false(is_seen(&m, &info));
	assert_int_equal(os_pwrite(f, block, len, len), 0);
	assert_true(is_seen(&m, &info));
	os_close(f);
	sst_info_free(&info);
	model_free(&m);
}

TEST(damage_of_one_block_leaves_the_others)
{
	struct model m = {0};
	struct sst_info info;
	struct sst_cursor c;
	struct sstable *t;
	struct os_file *f;
	int damaged = 0;

	rng_state = 5;
	random_model(&m, 100, 3);
	plain_options();
	write_file(&m, 1016, &info);
	f = open_to_harm(1016);
	assert_int_equal(os_pwrite(f, "\xff\xff\xff", 3, 0), 0);
	os_close(f);
	t = open_file(&info);
	sst_cursor(t, &c);
	for (size_t i = 0; i < m.n; i = row_end(&m, i)) {
		int r = cursor_seek_exact(&c.base, m.items[i].row);

		if (r == 1) {
			same(&c.base, &m.items[i]);
			continue;
		}
		assert_int_equal(r, -EUCLEAN);
		assert_non_null(strstr(store_why(), "1016.sst"));
		assert_non_null(strstr(store_why(), "byte 0"));
		damaged++;
	}
	assert_in_range(damaged, 1, 20);
	cursor_close(&c.base);
	sst_unref(t);
	sst_info_free(&info);
	model_free(&m);
}

static int write_all(struct os_dir *d, const struct model *m,
		     struct sst_info *info)
{
	struct sst_writer *w;
	int r = sst_writer_new(d, 1030, &options, &w);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < m->n; i++)
		r = sst_writer_add(w, m->items[i].row, &m->items[i].e);
	if (r == 0)
		r = sst_writer_finish(w, info);
	sst_writer_free(w);
	return r;
}

/* What is read until a call fails is right. */
static int read_some(struct os_dir *d, const struct model *m,
		     const struct sst_info *info)
{
	struct sstable *t;
	int r = sst_open(d, info, &options, NULL, &t);

	if (r < 0)
		return r;
	r = read_all(m, t);
	sst_unref(t);
	return r;
}

TEST(every_failing_call_is_told)
{
	struct os *faulty = fault_new(os_posix());
	struct model m = {0};
	struct os_dir *d;
	uint64_t fired = 1, n;

	plain_options();
	small_model(&m);
	assert_int_equal(os_dir_open(faulty, folder, false, &d), 0);
	for (n = 1; fired; n++) {
		struct fault_plan plan = {
			.kinds = FAULT_OPEN | FAULT_PREAD | FAULT_PWRITE |
				 FAULT_FDATASYNC | FAULT_SIZE,
			.nth = n,
			.err = EIO,
			.partial = n % 2,
		};
		struct sst_info info = {0};
		int wrote, r;

		fault_arm(faulty, &plan);
		wrote = r = write_all(d, &m, &info);
		if (r == 0)
			r = read_some(d, &m, &info);
		else
			assert_false(exists(1030));
		fired = fault_fired(faulty);
		fault_disarm(faulty);
		/*
		 * Reading ahead may fail and be made good. What was written and
		 * cannot be read is damaged.
		 */
		if (r != 0)
			assert_int_equal(r, wrote < 0 ? -EIO : -EUCLEAN);
		if (!fired)
			assert_int_equal(r, 0);
		if (exists(1030))
			os_discard(dir, "1030.sst");
		sst_info_free(&info);
	}
	assert_true(n > 10);
	os_dir_close(d);
	fault_free(faulty);
	model_free(&m);
}
