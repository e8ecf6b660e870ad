/*
 * A catalog that is damaged or lost, and the one before it, which is kept for that.
 */
#include "tests/unit/catalog.h"

#include "store/lsm/manifest/catalog_salvage.h"

/* What a repair has of the directory: how old, and its print. */
static enum catalog_age salvaged(struct place *p, uint64_t *print)
{
	struct catalog_salvage s;

	assert_int_equal(catalog_salvage(p->dir, &s), 0);
	*print = print_of(&s.catalog);
	catalog_free(&s.catalog);
	return s.age;
}

static void a_repair_puts_any_one_bit_right_and_no_two(void **state)
{
	struct place p = new_place();
	uint64_t print, newest, before;
	struct buf b;

	assert_int_equal(step(p.m, 1, 1), 0);
	before = print_of(manifest_catalog(p.m));
	assert_int_equal(step(p.m, 2, 1), 0);
	newest = print_of(manifest_catalog(p.m));
	assert_int_equal(salvaged(&p, &print), CATALOG_NEWEST);
	assert_int_equal(print, newest);
	b = content_of(p.dir, THIRD);
	/* Each bit of a byte, everywhere. */
	for (size_t bit = 0; bit < b.len * 8; bit += 101) {
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		overwrite(p.dir, THIRD, &b);
		assert_int_equal(salvaged(&p, &print), CATALOG_NEWEST);
		assert_int_equal(print, newest);
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	b.data[b.len / 2] ^= 1;
	b.data[b.len / 3] ^= 1;
	overwrite(p.dir, THIRD, &b);
	assert_int_equal(salvaged(&p, &print), CATALOG_BEFORE);
	assert_int_equal(print, before);
	assert_int_equal(os_unlink(p.dir, SECOND ".old"), 0);
	assert_int_equal(salvaged(&p, &print), CATALOG_NONE);
	buf_free(&b);
	end_place(&p);
}

static bool exists(struct os_dir *d, const char *name)
{
	struct os_file *f = NULL;
	bool is = os_open(d, name, OS_READ, &f) == 0;

	os_close(f);
	return is;
}

static void the_generation_before_is_kept_under_another_name(void **state)
{
	struct place p = new_place();

	assert_false(exists(p.dir, FIRST ".old"));
	assert_int_equal(step(p.m, 1, 1), 0);
	assert_true(exists(p.dir, FIRST ".old"));
	assert_int_equal(step(p.m, 2, 1), 0);
	for (int i = 0; i < 2; i++) {
		assert_false(exists(p.dir, FIRST));
		assert_false(exists(p.dir, FIRST ".old"));
		assert_false(exists(p.dir, SECOND));
		assert_true(exists(p.dir, SECOND ".old"));
		assert_true(manifest_is_current(p.m, SECOND ".old"));
		assert_true(exists(p.dir, THIRD));
		assert_true(manifest_is_current(p.m, THIRD));
		reopen(&p);
	}
	/* Those that a crash left go with the next clean-up. */
	assert_int_equal(touch(p.dir, SECOND), 0);
	assert_int_equal(touch(p.dir, FIRST ".old"), 0);
	reopen(&p);
	assert_false(manifest_is_current(p.m, SECOND));
	assert_false(manifest_is_current(p.m, FIRST ".old"));
	assert_true(manifest_is_current(p.m, SECOND ".old"));
	end_place(&p);
}

static void refused(struct place *p, const char *reason, const char *advice)
{
	struct manifest *m = NULL;
	size_t log = sim_log_length(p->os);

	for (int ro = 0; ro < 2; ro++) {
		assert_int_equal(manifest_open(p->dir, !ro, ro, &m), -EUCLEAN);
		if (!strstr(store_why(), reason))
			fail_msg("%s", store_why());
		assert_int_equal(!strstr(store_why(), "rename"), !advice);
		if (advice && !strstr(store_why(), advice))
			fail_msg("%s", store_why());
	}
	assert_int_equal(sim_log_length(p->os), log);
}

static void a_newest_that_is_damaged_or_lost_is_said(void **state)
{
	struct place p = new_place();
	struct buf b, before;
	uint64_t print;

	assert_int_equal(step(p.m, 1, 1), 0);
	print = print_of(manifest_catalog(p.m));
	assert_int_equal(step(p.m, 2, 1), 0);
	b = content_of(p.dir, THIRD);
	b.data[b.len / 2] ^= 1;
	overwrite(p.dir, THIRD, &b);
	refused(&p, THIRD " is damaged: its checksum",
		"rename " SECOND ".old to " SECOND);
	/* If both are damaged nothing else can be had. */
	before = content_of(p.dir, SECOND ".old");
	overwrite(p.dir, SECOND ".old", &b);
	refused(&p, THIRD " is damaged: its checksum", NULL);
	overwrite(p.dir, SECOND ".old", &before);
	assert_int_equal(os_unlink(p.dir, THIRD), 0);
	refused(&p, "the CATALOG is missing",
		"rename " SECOND ".old to " SECOND);
	/* Who takes that advice has the state before. */
	assert_int_equal(os_rename(p.dir, SECOND ".old", SECOND), 0);
	reopen(&p);
	assert_int_equal(print_of(manifest_catalog(p.m)), print);
	assert_int_equal(step(p.m, 2, 1), 0);
	reopen(&p);
	buf_free(&b);
	buf_free(&before);
	end_place(&p);
}

static void damage_of_the_one_before_is_found_by_a_check(void **state)
{
	struct place p = new_place();
	struct buf b;

	assert_int_equal(manifest_check_previous(p.m), 0);
	assert_int_equal(step(p.m, 1, 1), 0);
	assert_int_equal(manifest_check_previous(p.m), 0);
	b = content_of(p.dir, FIRST ".old");
	b.data[b.len / 2] ^= 1;
	overwrite(p.dir, FIRST ".old", &b);
	reopen(&p);
	assert_int_equal(manifest_check_previous(p.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), FIRST ".old is damaged"));
	buf_free(&b);
	end_place(&p);
}

/* It is in memory, and the next open wants it of the disk. */
static void what_happens_to_the_newest_in_use_is_found_by_a_check(void **state)
{
	struct place p = new_place();
	struct buf was, is = {0};
	char name[CATALOG_NAME_LEN];
	struct buf image = {0};
	uint64_t store;

	assert_int_equal(manifest_check(p.m), 0);
	assert_int_equal(step(p.m, 1, 1), 0);
	assert_int_equal(manifest_check(p.m), 0);
	assert_int_equal(manifest_image(p.m, name, &image, &store), 0);
	was = content_of(p.dir, name);
	assert_int_equal(buf_set(&is, buf_bytes(&was)), 0);
	is.data[is.len / 2] ^= 1;
	overwrite(p.dir, name, &is);
	assert_int_equal(manifest_check(p.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), name));
	assert_non_null(strstr(store_why(), "is damaged"));
	assert_int_equal(os_unlink(p.dir, name), 0);
	assert_int_equal(manifest_check(p.m), -EUCLEAN);
	assert_non_null(strstr(store_why(), "CATALOG is missing"));
	overwrite(p.dir, name, &was);
	assert_int_equal(manifest_check(p.m), 0);
	buf_free(&image);
	buf_free(&was);
	buf_free(&is);
	end_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_repair_puts_any_one_bit_right_and_no_two),
		cmocka_unit_test(
			the_generation_before_is_kept_under_another_name),
		cmocka_unit_test(a_newest_that_is_damaged_or_lost_is_said),
		cmocka_unit_test(damage_of_the_one_before_is_found_by_a_check),
		cmocka_unit_test(
			what_happens_to_the_newest_in_use_is_found_by_a_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
