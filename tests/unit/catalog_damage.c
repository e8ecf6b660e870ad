/*
 * A catalog that is damaged or lost, and the one before it, which is kept for that.
 */
#include "tests/unit/catalog.h"

#include "store/lsm/manifest/catalog_format.h"
#include "store/lsm/manifest/catalog_salvage.h"
#include "tests/unit/alloc_fault.h"

/* What a repair has of the directory: how old, and its print. */
static enum catalog_age salvaged(uint64_t *print)
{
	struct catalog_salvage s;

	assert_int_equal(catalog_salvage(the.dir, &s), 0);
	*print = print_of(&s.catalog);
	catalog_free(&s.catalog);
	return s.age;
}

TEST(a_repair_puts_any_one_bit_right_and_no_two)
{
	uint64_t print, newest, before;
	struct buf b;

	assert_int_equal(step(the.m, 1, 1), 0);
	before = print_of(manifest_catalog(the.m));
	assert_int_equal(step(the.m, 2, 1), 0);
	newest = print_of(manifest_catalog(the.m));
	assert_int_equal(salvaged(&print), CATALOG_NEWEST);
	assert_int_equal(print, newest);
	b = content_of(the.dir, THIRD);
	/* Each bit of a byte, everywhere. */
	for (size_t bit = 0; bit < b.len * 8; bit += 101) {
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		overwrite(the.dir, THIRD, &b);
		assert_int_equal(salvaged(&print), CATALOG_NEWEST);
		assert_int_equal(print, newest);
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	b.data[b.len / 2] ^= 1;
	b.data[b.len / 3] ^= 1;
	overwrite(the.dir, THIRD, &b);
	assert_int_equal(salvaged(&print), CATALOG_BEFORE);
	assert_int_equal(print, before);
	assert_int_equal(os_unlink(the.dir, SECOND ".old"), 0);
	assert_int_equal(salvaged(&print), CATALOG_NONE);
	buf_free(&b);
}

static bool exists(struct os_dir *d, const char *name)
{
	struct os_file *f = NULL;
	bool is = os_open(d, name, OS_READ, &f) == 0;

	os_close(f);
	return is;
}

TEST(the_generation_before_is_kept_under_another_name)
{
	assert_false(exists(the.dir, FIRST ".old"));
	assert_int_equal(step(the.m, 1, 1), 0);
	assert_true(exists(the.dir, FIRST ".old"));
	assert_int_equal(step(the.m, 2, 1), 0);
	for (int i = 0; i < 2; i++) {
		assert_false(exists(the.dir, FIRST));
		assert_false(exists(the.dir, FIRST ".old"));
		assert_false(exists(the.dir, SECOND));
		assert_true(exists(the.dir, SECOND ".old"));
		assert_true(manifest_is_current(the.m, SECOND ".old"));
		assert_true(exists(the.dir, THIRD));
		assert_true(manifest_is_current(the.m, THIRD));
		reopen();
	}
	/* Those that a crash left go with the next clean-up. */
	assert_int_equal(touch(the.dir, SECOND), 0);
	assert_int_equal(touch(the.dir, FIRST ".old"), 0);
	reopen();
	assert_false(manifest_is_current(the.m, SECOND));
	assert_false(manifest_is_current(the.m, FIRST ".old"));
	assert_true(manifest_is_current(the.m, SECOND ".old"));
}

static void refused(const char *reason, const char *advice)
{
	struct manifest *m = NULL;
	size_t log = sim_log_length(the.os);

	for (int ro = 0; ro < 2; ro++) {
		assert_int_equal(manifest_open(the.dir, !ro, ro, &m), -EUCLEAN);
		if (!strstr(store_why(), reason))
			fail_msg("%s", store_why());
		assert_int_equal(!strstr(store_why(), "rename"), !advice);
		if (advice && !strstr(store_why(), advice))
			fail_msg("%s", store_why());
	}
	assert_int_equal(sim_log_length(the.os), log);
}

TEST(a_newest_that_is_damaged_or_lost_is_said)
{
	struct buf b, before;
	uint64_t print;

	assert_int_equal(step(the.m, 1, 1), 0);
	print = print_of(manifest_catalog(the.m));
	assert_int_equal(step(the.m, 2, 1), 0);
	b = content_of(the.dir, THIRD);
	b.data[b.len / 2] ^= 1;
	overwrite(the.dir, THIRD, &b);
	refused(THIRD " is damaged: its checksum",
		"rename " SECOND ".old to " SECOND);
	/* If both are damaged nothing else can be had. */
	before = content_of(the.dir, SECOND ".old");
	overwrite(the.dir, SECOND ".old", &b);
	refused(THIRD " is damaged: its checksum", NULL);
	overwrite(the.dir, SECOND ".old", &before);
	assert_int_equal(os_unlink(the.dir, THIRD), 0);
	refused("the CATALOG is missing", "rename " SECOND ".old to " SECOND);
	/* Who takes that advice has the state before. */
	assert_int_equal(os_rename(the.dir, SECOND ".old", SECOND), 0);
	reopen();
	assert_int_equal(print_of(manifest_catalog(the.m)), print);
	assert_int_equal(step(the.m, 2, 1), 0);
	reopen();
	buf_free(&b);
	buf_free(&before);
}

TEST(damage_of_the_one_before_is_found_by_a_check)
{
	struct buf b;

	assert_int_equal(manifest_check_previous(the.m), 0);
	assert_int_equal(step(the.m, 1, 1), 0);
	assert_int_equal(manifest_check_previous(the.m), 0);
	b = content_of(the.dir, FIRST ".old");
	b.data[b.len / 2] ^= 1;
	overwrite(the.dir, FIRST ".old", &b);
	reopen();
	assert_int_equal(manifest_check_previous(the.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), FIRST ".old is damaged"));
	assert_int_equal(os_unlink(the.dir, FIRST ".old"), 0);
	assert_int_equal(manifest_check_previous(the.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), FIRST ".old, is missing"));
	buf_free(&b);
}

/* It is in memory, and the next open wants it of the disk. */
TEST(what_happens_to_the_newest_in_use_is_found_by_a_check)
{
	struct buf was, is = {0};
	char name[CATALOG_NAME_LEN];
	struct buf image = {0};
	uint64_t store;

	assert_int_equal(manifest_check(the.m), 0);
	assert_int_equal(step(the.m, 1, 1), 0);
	assert_int_equal(manifest_check(the.m), 0);
	assert_int_equal(manifest_image(the.m, name, &image, &store), 0);
	was = content_of(the.dir, name);
	assert_int_equal(buf_set(&is, buf_bytes(&was)), 0);
	is.data[is.len / 2] ^= 1;
	overwrite(the.dir, name, &is);
	assert_int_equal(manifest_check(the.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), name));
	assert_non_null(strstr(store_why(), "is damaged"));
	assert_int_equal(os_unlink(the.dir, name), 0);
	assert_int_equal(manifest_check(the.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), "CATALOG is missing"));
	overwrite(the.dir, name, &was);
	assert_int_equal(manifest_check(the.m), 0);
	buf_free(&image);
	buf_free(&was);
	buf_free(&is);
}

/* It is as it was written, but no catalog: the table "u" has another name. */
TEST(what_holds_together_in_no_way_is_damage_too)
{
	static const uint8_t u[] = {1, 0, 0, 0, 'u'};
	static const char names[] = {'t', 'a', 'u'};
	static const char *const words[] = {
		"a table t exists", "table a stands in the wrong place", NULL};
	uint64_t print, before;
	uint8_t *at;
	struct buf b;

	assert_int_equal(put_table(the.m, 1, "t", 1, 1), 0);
	before = print_of(manifest_catalog(the.m));
	assert_int_equal(put_table(the.m, 2, "u", 1, 2), 0);
	b = content_of(the.dir, THIRD);
	at = memmem(b.data, b.len, u, sizeof(u));
	assert_non_null(at);
	for (size_t i = 0; i < 3; i++) {
		at[4] = (uint8_t)names[i];
		catalog_seal(b.data, b.len, 3);
		overwrite(the.dir, THIRD, &b);
		if (!words[i])
			break;
		refused(words[i], "rename " SECOND ".old to " SECOND);
		assert_int_equal(salvaged(&print), CATALOG_BEFORE);
		assert_int_equal(print, before);
	}
	reopen();
	buf_free(&b);
}

/* That would take seconds. */
TEST(no_bit_of_a_large_catalog_is_put_right)
{
	uint64_t print;
	struct buf b;

	assert_int_equal(step(the.m, 1, 1), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(add_file(the.m, 1, 0, 50 + i, 20000), 0);
	b = content_of(the.dir, "CATALOG-0000000000000007");
	assert_true(b.len > 128 << 10);
	b.data[b.len / 2] ^= 1;
	overwrite(the.dir, "CATALOG-0000000000000007", &b);
	assert_int_equal(salvaged(&print), CATALOG_BEFORE);
	buf_free(&b);
}

TEST(a_rescue_without_memory_says_that)
{
	struct buf b = image_after(5);
	struct catalog_salvage s;
	uint64_t failed = 1, n;

	b.data[b.len / 2] ^= 1;
	overwrite(the.dir, "CATALOG-0000000000000006", &b);
	for (n = 1; failed; n++) {
		int r;

		alloc_arm(n, 0);
		r = catalog_salvage(the.dir, &s);
		failed = alloc_disarm();
		assert_int_equal(r, failed ? -ENOMEM : 0);
	}
	assert_true(n > 5);
	assert_int_equal(s.age, CATALOG_NEWEST);
	assert_non_null(strstr(s.note, "one bit of it was wrong"));
	catalog_free(&s.catalog);
	buf_free(&b);
}
