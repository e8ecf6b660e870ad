/*
 * The bytes of a catalog: those of this format and of others, and that no other byte
 * and no other length is taken for them.
 */
#include "tests/unit/catalog.h"

/* The fuzz target, for its small corpus below. */
#include "tests/fuzz/catalog.c"

TEST(a_newer_format_is_left_alone)
{
	struct buf b = content_of(the.dir, FIRST);
	struct manifest *m = NULL;
	size_t log;

	b.data[CATALOG_HEAD] = STORE_FORMAT + 1;
	/* It has more to say than this one. */
	assert_int_equal(buf_append(&b, "more", 4), 0);
	catalog_seal(b.data, b.len, 1);
	overwrite(the.dir, FIRST, &b);
	log = sim_log_length(the.os);
	assert_int_equal(manifest_open(the.dir, true, false, &m),
			 -EPROTONOSUPPORT);
	assert_non_null(strstr(store_why(), "newer"));
	assert_int_equal(sim_log_length(the.os), log);
	buf_free(&b);
}

TEST(format_7_kept_no_log)
{
	struct buf b = image_after(STEPS);
	/* The counters' last two are not in it. */
	size_t at = CATALOG_HEAD + 4 + 8 + 8 + 36, kept = 16;
	struct catalog c;
	uint64_t store;

	assert_int_equal(catalog_decode(buf_bytes(&b), STEPS + 1, &c, &store),
			 0);
	assert_int_equal(c.keep.bytes, 1 << 20);
	catalog_free(&c);
	memmove(b.data + at, b.data + at + kept, b.len - at - kept);
	b.len -= kept;
	b.data[CATALOG_HEAD] = 7;
	catalog_seal(b.data, b.len, STEPS + 1);
	assert_int_equal(catalog_decode(buf_bytes(&b), STEPS + 1, &c, &store),
			 0);
	assert_int_equal(c.keep.bytes, 0);
	assert_int_equal(c.keep.id, 0);
	c.keep = manifest_catalog(the.m)->keep;
	assert_int_equal(print_of(&c), print_of(manifest_catalog(the.m)));
	catalog_free(&c);
	buf_free(&b);
}

/* Tables, snapshots, counters: all of a catalog but its files. */
TEST(an_outline_has_all_but_the_files)
{
	const struct catalog *c;
	struct buf outline = {0};
	struct catalog back;
	uint64_t store;

	for (int i = 1; i <= STEPS; i++)
		assert_int_equal(step(the.m, i, 3), 0);
	c = manifest_catalog(the.m);
	assert_int_equal(catalog_outline(c, &outline), 0);
	assert_int_equal(catalog_decode(buf_bytes(&outline), 0, &back, &store),
			 0);
	assert_int_equal(store, 0);
	assert_int_equal(back.ntables, c->ntables);
	assert_string_equal(back.tables[0].name, "renamed");
	assert_int_equal(back.tables[0].schema.nfamilies, 1);
	assert_int_equal(back.tables[0].trees[0].id, 1);
	assert_int_equal(back.tables[0].trees[0].nfiles, 0);
	assert_int_equal(back.nsnapshots, 1);
	assert_string_equal(back.snapshots[0].name, "weekly");
	assert_int_equal(back.next_file, c->next_file);
	assert_int_equal(back.next_table, c->next_table);
	assert_int_equal(back.next_tree, c->next_tree);
	assert_int_equal(back.last_seq, c->last_seq);
	assert_int_equal(back.wal_first, c->wal_first);
	assert_int_equal(back.keep.id, c->keep.id);
	catalog_free(&back);
	buf_free(&outline);
}

static int decode_copy(const void *data, size_t len, uint64_t number)
{
	struct catalog c;
	uint64_t store;
	/* Of its own size, so that a step too far is seen. */
	uint8_t *copy = malloc(len ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, data, len);
	r = catalog_decode(bytes_of(copy, len), number, &c, &store);
	if (r == 0)
		catalog_free(&c);
	free(copy);
	return r;
}

/* Nothing of it is kept: that AddressSanitizer sees. */
TEST(a_table_with_a_tree_too_many_is_damaged)
{
	const uint8_t tree[4] = {9};
	struct buf b = image_after(STEPS);
	uint8_t *name = memmem(b.data, b.len, "renamed", 7);
	size_t at;

	assert_non_null(name);
	assert_int_equal(name[7], 1);
	name[7]++;
	at = (size_t)(name - b.data) + 11;
	assert_int_equal(buf_append(&b, tree, 4), 0);
	memmove(b.data + at + 4, b.data + at, b.len - at - 4);
	memcpy(b.data + at, tree, 4);
	catalog_seal(b.data, b.len, STEPS + 1);
	assert_int_equal(decode_copy(b.data, b.len, STEPS + 1), -EUCLEAN);
	buf_free(&b);
}

TEST(every_other_length_is_found)
{
	struct buf b = image_after(STEPS);

	assert_int_equal(decode_copy(b.data, b.len, STEPS + 1), 0);
	for (size_t n = 0; n < b.len; n++)
		assert_int_equal(decode_copy(b.data, n, STEPS + 1), -EUCLEAN);
	assert_int_equal(buf_append(&b, "", 1), 0);
	assert_int_equal(decode_copy(b.data, b.len, STEPS + 1), -EUCLEAN);
	buf_free(&b);
}

TEST(every_flipped_bit_is_found)
{
	struct buf b = image_after(STEPS);

	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(decode_copy(b.data, b.len, STEPS + 1),
				 -EUCLEAN);
		b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	buf_free(&b);
}

/* Whoever renames a generation does not make it the newest. */
TEST(the_file_of_another_generation_is_found)
{
	struct buf b = image_after(3);

	assert_int_equal(decode_copy(b.data, b.len, 4), 0);
	assert_int_equal(decode_copy(b.data, b.len, 5), -EUCLEAN);
	buf_free(&b);
}

/* A change of these bytes is a change of the format. */
TEST(the_bytes_are_the_golden_ones)
{
	struct buf b = image_after(STEPS);

	/* The store's id is chance. */
	memset(b.data + CATALOG_HEAD + 12, 0, 8);
	memset(b.data + 16, 0, 8);
	assert_int_equal(b.len, 0x225);
	assert_int_equal(XXH3_64bits(b.data, b.len), 0xf72ff636fddc555c);
	buf_free(&b);
}

TEST(the_fuzz_corpus_passes)
{
	struct buf b = image_after(STEPS);

	LLVMFuzzerTestOneInput(NULL, 0);
	LLVMFuzzerTestOneInput(b.data, b.len);
	/* Its body, to which the target gives a right head. */
	for (size_t i = CATALOG_HEAD * 8; i < b.len * 8; i++) {
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
		LLVMFuzzerTestOneInput(b.data + CATALOG_HEAD,
				       b.len - CATALOG_HEAD);
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	buf_free(&b);
}
