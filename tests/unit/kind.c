#include "tests/unit/unit.h"
#include "fs/tree/control_file.h"
#include "fs/tree/kind.h"
#include "store/store.h"

TEST(every_kind_has_a_row)
{
	for (uint8_t k = 0; k < NODE_KINDS; k++)
		if (!kind_of(k)->stat)
			fail_msg("kind %u", k);
}

TEST(a_directory_holds_kinds_and_a_file_none)
{
	for (uint8_t k = 0; k < NODE_KINDS; k++) {
		bool holds = kind_of(k)->holds != NODE_ROOT;

		/* A view holds what its level does. */
		if (holds != (kind_is(k, KIND_DIR) && k != NODE_VIEW) ||
		    holds != (kind_of(k)->child != NULL))
			fail_msg("kind %u", k);
	}
}

TEST(a_file_can_be_opened_and_a_directory_listed)
{
	for (uint8_t k = 0; k < NODE_KINDS; k++)
		if ((kind_of(k)->open != 0) == kind_is(k, KIND_DIR))
			fail_msg("kind %u", k);
}

TEST(flags_are_of_directories_or_of_files)
{
	const unsigned of_dirs =
		KIND_PIECE | KIND_MADE | KIND_FIXED | KIND_ROOT | KIND_ANY_NAME;
	const unsigned of_files = KIND_CELL | KIND_COMPUTED | KIND_WRITABLE;

	for (uint8_t k = 0; k < NODE_KINDS; k++) {
		bool dir = kind_is(k, KIND_DIR);

		if (kind_is(k, dir ? of_files : of_dirs))
			fail_msg("kind %u", k);
		if (kind_is(k, KIND_FIXED) && kind_is(k, KIND_MADE))
			fail_msg("kind %u is made and always there", k);
		if (kind_is(k, KIND_CELL) && !kind_is(k, KIND_WRITABLE))
			fail_msg("kind %u is a cell that nobody writes", k);
	}
}

/* A long name's pieces lie where what they are pieces of lies. */
TEST(a_piece_holds_what_it_is_a_piece_of)
{
	for (uint8_t k = 0; k < NODE_KINDS; k++) {
		uint8_t piece = kind_of(k)->piece;

		if (piece == NODE_ROOT)
			continue;
		assert_true(kind_is(piece, KIND_PIECE));
		assert_int_equal(kind_of(piece)->key, kind_of(k)->key);
		assert_int_equal(kind_of(kind_of(piece)->holds)->piece, piece);
	}
	assert_int_equal(kind_of(NODE_ROW_PIECE)->scan,
			 kind_of(NODE_TABLE)->scan);
	assert_int_equal(kind_of(NODE_COLUMN_PIECE)->scan,
			 kind_of(NODE_FAMILY)->scan);
}

/* What names a key, a time or a file of a list is decoded. */
TEST(what_has_coordinates_is_decoded)
{
	for (uint8_t k = 0; k < NODE_KINDS; k++)
		if (kind_of(k)->key != KEY_NONE && !kind_of(k)->decode)
			fail_msg("kind %u", k);
	for (uint8_t k = 0; k < NODE_KINDS; k++)
		if (kind_of(k)->piece != NODE_ROOT)
			assert_ptr_equal(kind_of(k)->decode,
					 kind_of(kind_of(k)->piece)->decode);
}

TEST(what_is_listed_is_a_directory)
{
	for (uint8_t k = 0; k < NODE_KINDS; k++)
		if ((kind_of(k)->list || kind_of(k)->names) &&
		    !kind_is(k, KIND_DIR))
			fail_msg("kind %u", k);
	/* What the store has is beneath these. */
	for (uint8_t k = 0; k < NODE_KINDS; k++)
		if (kind_is(k, KIND_MADE) || k == NODE_ROOT || k == NODE_TABLE)
			assert_non_null(kind_of(k)->list);
}

/* Each level is a scan one step finer than that of the level above. */
TEST(a_level_is_a_scan_at_a_granularity)
{
	uint8_t level = NODE_TABLE;

	for (uint8_t scan = SCAN_ROWS; scan <= SCAN_CELLS; scan++) {
		assert_int_equal(kind_of(level)->scan, scan);
		level = kind_of(level)->holds;
	}
	assert_int_equal(level, NODE_VERSION);
}

TEST(what_refuses_says_why)
{
	for (uint8_t k = 0; k < NODE_KINDS; k++) {
		const struct kind *kind = kind_of(k);

		if (kind_is(k, KIND_COMPUTED))
			assert_non_null(kind->sentence);
		else if (kind->sentence && !kind_is(k, KIND_FIXED))
			fail_msg("kind %u refuses what is data", k);
		/* Scratch files are made where data is, if it can be written. */
		if (kind_is(k, KIND_MADE) || k == NODE_ROOT ||
		    k == NODE_TABLE || k == NODE_PUT)
			assert_non_null(kind->home);
	}
}

TEST(what_another_path_changes_is_not_believed)
{
	static const uint8_t asked[] = {NODE_LATEST, NODE_VALUE, NODE_PAST};

	for (size_t i = 0; i < sizeof(asked); i++) {
		const struct kind *kind = kind_of(asked[i]);

		assert_int_equal(kind->believed.entry, BELIEVE_NEVER);
		assert_int_equal(kind->believed.attributes, BELIEVE_NEVER);
		assert_int_equal(kind->believed.absent, BELIEVE_NEVER);
	}
	/* Of F:Q the kernel is told before a change of it is replied to. */
	for (uint8_t k = 0; k < NODE_KINDS; k++)
		assert_int_equal(kind_of(k)->believed.entry == BELIEVE_NEWEST,
				 k == NODE_ALIAS);
	assert_int_equal(kind_of(NODE_ALIAS)->believed.absent, BELIEVE_NEVER);
	/* Only a version has a time of its own, by which it expires. */
	for (uint8_t k = 0; k < NODE_KINDS; k++)
		assert_int_equal(kind_of(k)->believed.entry == BELIEVE_VERSION,
				 k == NODE_VERSION);
}

TEST(what_acts_can_be_written_and_what_tells_much_is_private)
{
	static const struct {
		const char *name;
		bool writable;
		unsigned private;
	} want[] = {
		{"compact", true, 0},  {"errors", false, 0400},
		{"flush", true, 0},    {"help", false, 0},
		{"metrics", false, 0}, {"options", false, 0},
		{"stats", false, 0},   {"status", false, 0},
		{"sync", true, 0},     {"trace", true, 0600},
		{"version", false, 0},
	};
	const struct control_file *f;
	unsigned n = sizeof(want) / sizeof(want[0]);

	for (unsigned i = 0; i < n; i++) {
		assert_string_equal(control_name(NULL, i), want[i].name);
		f = control_find(bytes_str(want[i].name));
		assert_non_null(f);
		if (f->writable != want[i].writable ||
		    f->private != want[i].private)
			fail_msg("%s", want[i].name);
	}
	for (unsigned i = n; i < n + 20; i++)
		assert_null(control_name(NULL, i));
	/* What clients use is not listed. */
	f = control_find(bytes_str("store"));
	assert_non_null(f);
	assert_true(f->writable);
	assert_int_equal(f->private, 0600);
	assert_null(control_find(bytes_str("nothing")));
	assert_null(control_find(bytes_str("")));
}
