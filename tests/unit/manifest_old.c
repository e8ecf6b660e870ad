/* Stores of format 4: what is read of them, and how they become newer. */
#include <inttypes.h>

#include "tests/unit/unit.h"
#include "store/lsm/manifest/manifest.h"
#include "store/lsm/manifest/catalog_salvage.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/alloc_fault.h"

/* The fuzz target, which gives records their heads. */
#include "tests/fuzz/manifest_old.c"

#define OLD "MANIFEST-0000000000000001"
#define DAMAGED OLD " is damaged at byte "

enum {
	RECORDS_MAX = 64
};

/* A manifest with every kind of operation. */
struct old {
	struct buf image;
	uint64_t ends[RECORDS_MAX];
	size_t n;
};

static struct old old_manifest(void)
{
	FILE *f = fopen(CORPUS "/all-edits", "rb");
	struct old o = {.n = RECORDS_MAX};
	uint8_t input[8192];
	size_t n;

	assert_non_null(f);
	n = fread(input, 1, sizeof(input), f);
	fclose(f);
	o.image = image_of(bytes_of(input, n), o.ends, &o.n);
	assert_in_range(o.n, 5, RECORDS_MAX);
	return o;
}

/* 0 and *print, or what the replay says. */
static int replay_print(const void *data, size_t len, struct buf *print)
{
	struct catalog c;
	uint64_t store;
	/* Of its own size, so that a step too far is seen. */
	uint8_t *copy = malloc(len ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, data, len);
	r = manifest_old_replay(bytes_of(copy, len), 1, &c, &store);
	free(copy);
	if (r == 0) {
		*print = catalog_print(&c);
		catalog_free(&c);
	}
	return r;
}

static bool shows(const struct old *o, size_t records, const struct buf *print)
{
	struct buf wanted = {0};
	bool same;

	assert_int_equal(
		replay_print(o->image.data, o->ends[records - 1], &wanted), 0);
	same = bytes_eq(buf_bytes(print), buf_bytes(&wanted));
	buf_free(&wanted);
	return same;
}

TEST(every_truncation_shows_a_whole_prefix_of_edits)
{
	struct old o = old_manifest();
	size_t whole = 0;

	for (size_t n = 0; n <= o.image.len; n++) {
		struct buf print = {0};
		int r = replay_print(o.image.data, n, &print);

		while (whole < o.n && n >= o.ends[whole])
			whole++;
		/* Without header and state there is nothing. */
		assert_int_equal(r, whole < 2 ? -EUCLEAN : 0);
		if (r == 0)
			assert_true(shows(&o, whole, &print));
		buf_free(&print);
	}
	assert_int_equal(whole, o.n);
	buf_free(&o.image);
}

/* Behind the last record lie zeros, as it was allocated. */
TEST(every_flipped_bit_but_of_the_last_edit_is_found)
{
	static const uint8_t zeros[40];
	struct old o = old_manifest();

	assert_int_equal(buf_append(&o.image, zeros, sizeof(zeros)), 0);
	for (size_t bit = 0; bit < o.image.len * 8; bit += 3) {
		struct buf print = {0};
		int r;

		o.image.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = replay_print(o.image.data, o.image.len, &print);
		o.image.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (r == -EUCLEAN)
			assert_memory_equal(store_why(), DAMAGED,
					    strlen(DAMAGED));
		if (bit / 8 < o.ends[o.n - 2])
			assert_int_equal(r, -EUCLEAN);
		else
			assert_true(
				r == 0 &&
				shows(&o,
				      bit / 8 < o.ends[o.n - 1] ? o.n - 1 : o.n,
				      &print));
		buf_free(&print);
	}
	buf_free(&o.image);
}

static void write_file(struct os_dir *d, const char *name, const void *data,
		       size_t len)
{
	struct os_file *f = NULL;

	assert_int_equal(os_open(d, name, OS_WRITE | OS_CREATE, &f), 0);
	assert_int_equal(os_truncate(f, 0), 0);
	assert_int_equal(os_pwrite(f, data, len, 0), 0);
	assert_int_equal(os_fdatasync(f), 0);
	assert_int_equal(os_finish(f), 0);
	assert_int_equal(os_dir_sync(d), 0);
}

static size_t current_text(char text[64])
{
	return (size_t)snprintf(text, 64, OLD " %016" PRIx64 "\n",
				(uint64_t)XXH3_64bits(OLD, strlen(OLD)));
}

/* A store of format 4 in memory. */
static struct os_dir *old_store(struct os *os, const struct old *o)
{
	struct os_dir *d = NULL;
	char text[64];

	assert_int_equal(os_dir_open(os, "/s", true, &d), 0);
	write_file(d, OLD, o->image.data, o->image.len);
	write_file(d, "CURRENT", text, current_text(text));
	return d;
}

TEST(every_damage_of_current_is_found)
{
	struct old o = old_manifest();
	struct os *os = sim_new(1);
	struct os_dir *d = old_store(os, &o);
	struct manifest *m = NULL;
	char text[64];
	size_t len = current_text(text);

	for (size_t bit = 0; bit < len * 8; bit++) {
		text[bit / 8] ^= (char)(1 << bit % 8);
		write_file(d, "CURRENT", text, len);
		assert_int_equal(manifest_open(d, true, false, &m), -EUCLEAN);
		text[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t n = 0; n < len; n++) {
		write_file(d, "CURRENT", text, n);
		assert_int_equal(manifest_open(d, true, false, &m), -EUCLEAN);
	}
	write_file(d, "CURRENT", text, len);
	assert_int_equal(os_rename(d, OLD, "elsewhere"), 0);
	assert_int_equal(manifest_open(d, true, false, &m), -EUCLEAN);
	assert_non_null(strstr(store_why(), OLD ", which is missing"));
	os_dir_close(d);
	sim_free(os);
	buf_free(&o.image);
}

/* The header says format @format. */
static void try_format(uint8_t format, const char *said)
{
	uint8_t header[21] = {1, format, [5] = 1};
	struct old o = {0};
	struct os *os = sim_new(1);
	struct manifest *m = NULL;
	struct os_dir *d;
	size_t log;

	add_record(&o.image, bytes_of(header, sizeof(header)));
	d = old_store(os, &o);
	log = sim_log_length(os);
	assert_int_equal(manifest_open(d, true, false, &m), -EPROTONOSUPPORT);
	assert_non_null(strstr(store_why(), said));
	assert_int_equal(sim_log_length(os), log);
	os_dir_close(d);
	sim_free(os);
	buf_free(&o.image);
}

TEST(other_formats_are_left_alone)
{
	try_format(3, "export it");
	try_format(9, "use a newer one");
}

static struct buf print_of(const struct manifest *m)
{
	return catalog_print(manifest_catalog(m));
}

TEST(a_read_only_open_reads_it_and_writes_nothing)
{
	struct old o = old_manifest();
	struct os *os = sim_new(1);
	struct os_dir *d = old_store(os, &o);
	struct manifest *m = NULL;
	struct edit e = {.wal_first = 99};
	size_t log = sim_log_length(os);
	char name[CATALOG_NAME_LEN];
	struct buf print, image = {0};
	uint64_t store;

	assert_int_equal(manifest_open(d, false, true, &m), 0);
	print = print_of(m);
	assert_true(shows(&o, o.n, &print));
	assert_int_equal(manifest_commit(m, &e), -EROFS);
	assert_int_equal(manifest_replace(m, manifest_catalog(m)), -EROFS);
	/* It was read whole, and is no image of a newer one. */
	assert_int_equal(manifest_check(m), 0);
	assert_int_equal(manifest_image(m, name, &image, &store), -EOPNOTSUPP);
	assert_non_null(strstr(store_why(), "of an older format"));
	assert_true(manifest_is_current(m, OLD));
	assert_true(manifest_is_current(m, "CURRENT"));
	assert_false(manifest_is_current(m, "MANIFEST-0000000000000002"));
	assert_false(manifest_is_current(m, "CURRENT.tmp"));
	assert_int_equal(sim_log_length(os), log);
	manifest_close(m);
	os_dir_close(d);
	sim_free(os);
	buf_free(&print);
	buf_free(&o.image);
}

/* Opens it, changes it, and says what @wal_first then is. */
static uint64_t upgrade(struct os_dir *d, uint64_t wal_first)
{
	struct edit e = {.wal_first = wal_first};
	struct manifest *m = NULL;
	uint64_t is;

	assert_int_equal(manifest_open(d, false, false, &m), 0);
	if (wal_first) {
		assert_true(manifest_is_current(m, "CURRENT"));
		assert_false(manifest_is_new(m));
		assert_int_equal(manifest_commit(m, &e), 0);
		assert_true(manifest_is_new(m));
		assert_false(manifest_is_current(m, OLD));
		assert_false(manifest_is_current(m, "CURRENT"));
	}
	is = manifest_catalog(m)->wal_first;
	manifest_close(m);
	return is;
}

TEST(the_first_edit_makes_it_newer)
{
	struct old o = old_manifest();
	struct os *os = sim_new(1);
	struct os_dir *d = old_store(os, &o);
	struct buf b = {0};

	assert_int_equal(upgrade(d, 1234), 1234);
	assert_int_equal(upgrade(d, 0), 1234);
	assert_int_equal(os_read_file(d, OLD, 1 << 20, &b), -ENOENT);
	assert_int_equal(os_read_file(d, "CURRENT", 1 << 20, &b), -ENOENT);
	buf_free(&b);
	os_dir_close(d);
	sim_free(os);
	buf_free(&o.image);
}

/* A crash anywhere on the way shows the store before or after the edit. */
TEST(no_crash_on_the_way_loses_it)
{
	struct sim_crash_options options = {.seed = 3};
	struct old o = old_manifest();
	struct os *os = sim_new(1);
	struct os_dir *d = old_store(os, &o);
	uint64_t before = upgrade(d, 0), seen[2] = {0};
	struct sim_image image;
	struct sim_crash *c;

	assert_true(before < 1234);
	sim_mark(os, 0, 1);
	upgrade(d, 1234);
	sim_mark(os, 0, 2);
	os_dir_close(d);
	c = sim_crash_new(os, &options);
	while (sim_crash_next(c, &image) == 1) {
		uint64_t is;

		/* Before the store of format 4 was whole. */
		if (!image.marked[0])
			continue;
		assert_int_equal(os_dir_open(image.os, "/s", false, &d), 0);
		is = upgrade(d, 0);
		assert_true(is == 1234 ||
			    (is == before && image.marks[0] == 1));
		seen[is == 1234]++;
		assert_int_equal(upgrade(d, is == 1234 ? 0 : 1234), 1234);
		os_dir_close(d);
	}
	assert_true(seen[0] > 0 && seen[1] > 0);
	sim_crash_free(c);
	sim_free(os);
	buf_free(&o.image);
}

TEST(behind_its_end_a_manifest_has_nothing)
{
	static const uint8_t closed[] = {4, 0};
	struct old o = old_manifest();
	struct buf print = {0}, end = {0};

	assert_int_equal(replay_print(o.image.data, o.image.len, &print), 0);
	add_record(&o.image, bytes_of(closed, 1));
	assert_int_equal(replay_print(o.image.data, o.image.len, &end), 0);
	assert_true(bytes_eq(buf_bytes(&end), buf_bytes(&print)));
	buf_free(&end);
	o.image.len -= RECORD_HEAD + 1;
	add_record(&o.image, bytes_of(closed, 2));
	assert_int_equal(replay_print(o.image.data, o.image.len, &end),
			 -EUCLEAN);
	buf_free(&print);
	buf_free(&o.image);
}

TEST(a_record_of_no_operation_changes_nothing)
{
	static const uint8_t kinds[] = {3, 4};
	struct old o = old_manifest();
	const size_t before = o.ends[o.n - 2];
	struct buf last = {0}, print = {0};

	assert_int_equal(replay_print(o.image.data, o.image.len, &print), 0);
	assert_int_equal(buf_append(&last, o.image.data + before + RECORD_HEAD,
				    o.image.len - before - RECORD_HEAD),
			 0);
	/* An edit, and the end of a store that was opened again. */
	for (size_t i = 0; i < sizeof(kinds); i++) {
		struct buf now = {0};

		o.image.len = before;
		add_record(&o.image, bytes_of(&kinds[i], 1));
		add_record(&o.image, buf_bytes(&last));
		assert_int_equal(replay_print(o.image.data, o.image.len, &now),
				 0);
		assert_true(bytes_eq(buf_bytes(&now), buf_bytes(&print)));
		buf_free(&now);
	}
	buf_free(&print);
	buf_free(&last);
	buf_free(&o.image);
}

TEST(a_manifest_has_one_spelling_of_its_name)
{
	static const char *const others[] = {"MANIFEST-1",
					     "MANIFEST-000000000000000A",
					     "MANIFEST-zzzzzzzzzzzzzzzz"};
	struct old o = old_manifest();
	struct os *os = sim_new(1);
	struct os_dir *d = old_store(os, &o);
	struct manifest *m = NULL;
	uint64_t number = 0;
	char text[64];

	assert_true(manifest_old_name_parse(OLD, &number));
	assert_int_equal(number, 1);
	for (size_t i = 0; i < 3; i++) {
		assert_false(manifest_old_name_parse(others[i], &number));
		snprintf(text, sizeof(text), "%s %016" PRIx64 "\n", others[i],
			 (uint64_t)XXH3_64bits(others[i], strlen(others[i])));
		write_file(d, "CURRENT", text, strlen(text));
		assert_int_equal(manifest_open(d, true, false, &m), -EUCLEAN);
		assert_non_null(strstr(store_why(), "CURRENT is damaged"));
	}
	os_dir_close(d);
	sim_free(os);
	buf_free(&o.image);
}

/* What a rescue has of it, and of one that is damaged. */
TEST(a_rescue_takes_what_it_holds)
{
	struct old o = old_manifest();
	struct os *os = sim_new(1);
	struct os_dir *d = old_store(os, &o);
	struct catalog_salvage s;
	struct buf print;

	assert_int_equal(catalog_salvage(d, &s), 0);
	print = catalog_print(&s.catalog);
	assert_true(shows(&o, o.n, &print));
	assert_string_equal(s.note, "");
	catalog_free(&s.catalog);
	write_file(d, "CURRENT", "", 0);
	assert_int_equal(catalog_salvage(d, &s), 0);
	assert_int_equal(s.age, CATALOG_NONE);
	assert_int_equal(s.catalog.ntables, 0);
	catalog_free(&s.catalog);
	os_dir_close(d);
	sim_free(os);
	buf_free(&print);
	buf_free(&o.image);
}

TEST(a_failure_to_read_it_is_no_damage)
{
	struct old o = old_manifest();
	struct os *sim = sim_new(1), *os = fault_new(sim);
	struct os_dir *d = old_store(os, &o);
	struct manifest *m = NULL;
	uint64_t failed = 1, n;

	for (n = 1; failed; n++) {
		int r;

		alloc_arm(n, 0);
		r = manifest_open(d, false, true, &m);
		failed = alloc_disarm();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		if (r == 0)
			manifest_close(m);
	}
	assert_true(n > 10);
	for (n = 1, failed = 1; failed; n++) {
		int r;

		fault_arm(os, &(struct fault_plan){.kinds = FAULT_OPEN |
							    FAULT_PREAD,
						   .nth = n,
						   .err = EMFILE});
		r = manifest_open(d, false, true, &m);
		failed = fault_fired(os);
		assert_int_equal(r, failed ? -EMFILE : 0);
		if (r == 0)
			manifest_close(m);
	}
	assert_true(n > 4);
	os_dir_close(d);
	fault_free(os);
	sim_free(sim);
	buf_free(&o.image);
}
