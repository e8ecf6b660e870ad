/*
 * Stores that have lost what a rescue cannot do without, made to order: what
 * store_repair() takes, what it says of the rest, and that neither a call that
 * fails nor an allocation is taken for damage, or makes less of it silently.
 */
#include <inttypes.h>

#include "tests/unit/unit.h"
#include "store/lsm/manifest/directory.h"
#include "store/lsm/wal/wal.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/alloc_fault.h"
#include "tests/unit/temp_store.h"

#define NAMES_MAX 24
#define ROWS 30
#define VALUE 100

struct names {
	struct os_dir *dir;
	char name[NAMES_MAX][48];
	size_t n;
};

static struct world {
	struct os *os;
	struct store *s;
	char notes[2048], lost[2048], copied[1024];
	int nlost;
} the;

static struct os_dir *dir_of(struct os *os)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os, "/store", true, &d), 0);
	return d;
}

static int list_one(void *arg, const char *name)
{
	struct names *l = arg;

	assert_true(l->n < NAMES_MAX);
	snprintf(l->name[l->n++], sizeof(l->name[0]), "%s", name);
	return 0;
}

/* The names in the store's directory, which stays open. */
static struct names names_of(struct os *os)
{
	struct names l = {.dir = dir_of(os)};

	assert_int_equal(os_dir_list(l.dir, list_one, &l), 0);
	return l;
}

static void make_table(const char *name)
{
	struct family_attrs attrs;
	struct schema schema;

	family_attrs_default(&attrs);
	attrs.block_size = 1 << 10;
	schema_init(&schema, 0, 0);
	assert_int_equal(schema_add(&schema, bytes_str("f"), &attrs), 0);
	assert_int_equal(store_table_create(the.s, bytes_str(name), &schema),
			 0);
	schema_free(&schema);
}

static uint64_t put_in(struct store *s, const char *table, int row,
		       const char *qualifier, char value)
{
	char key[8], text[VALUE];
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str(qualifier),
			   .ts = 1,
			   .value = bytes_of(text, VALUE)};
	struct mutation m = {.changes = &c, .nchanges = 1};
	struct table *t;

	memset(text, value, sizeof(text));
	snprintf(key, sizeof(key), "%03d", row);
	m.row = bytes_str(key);
	assert_int_equal(table_open(s, bytes_str(table), &t), 0);
	assert_int_equal(table_mutate(t, &m, MUTATE_SYNC), 1);
	table_unref(t);
	return c.seq_given;
}

static uint64_t put(struct store *s, const char *table, int row, char value)
{
	return put_in(s, table, row, "q", value);
}

static void fill(const char *table, int from, int to)
{
	for (int row = from; row < to; row++)
		put(the.s, table, row, 'v');
}

static struct store *open_store(struct os *os, const char *path)
{
	const struct store_options o = {.create = true,
					.inline_background = true,
					.wal_segment_bytes = 16 << 10,
					.wal_ring_bytes = 4096,
					.os = os};
	struct store *s;

	assert_int_equal(store_open(path, &o, &s), 0);
	return s;
}

static int setup(void **state)
{
	memset(&the, 0, sizeof(the));
	the.os = sim_new(1);
	the.s = open_store(the.os, "/store");
	return 0;
}

/* The store is closed; what follows changes its files. */
static void end_store(void)
{
	assert_int_equal(store_close(the.s), 0);
	the.s = NULL;
}

static int teardown(void **state)
{
	if (the.s)
		end_store();
	sim_free(the.os);
	return 0;
}

EACH_TEST_IN(setup, teardown);

static void lose_newest_catalog(struct os *os)
{
	struct names l = names_of(os);
	uint64_t number;
	int n = 0;

	for (size_t i = 0; i < l.n; i++)
		if (directory_name(l.name[i], &number) == NAME_CATALOG) {
			assert_int_equal(os_unlink(l.dir, l.name[i]), 0);
			n++;
		}
	assert_int_equal(n, 1);
	os_dir_close(l.dir);
}

/* All whose name begins so. */
static void lose(struct os *os, const char *begin)
{
	struct names l = names_of(os);

	for (size_t i = 0; i < l.n; i++)
		if (!strncmp(l.name[i], begin, strlen(begin)))
			assert_int_equal(os_unlink(l.dir, l.name[i]), 0);
	os_dir_close(l.dir);
}

static void copy_file(struct os_dir *from, const char *name, struct os_dir *to,
		      const char *as)
{
	struct buf b = {0};
	struct os_file *f;

	assert_int_equal(os_read_file(from, name, 1 << 20, &b), 0);
	assert_int_equal(os_open(to, as, OS_WRITE | OS_CREATE, &f), 0);
	assert_int_equal(os_truncate(f, 0), 0);
	assert_int_equal(os_pwrite(f, b.data, b.len, 0), 0);
	os_close(f);
	buf_free(&b);
}

/* Flips a bit of byte @at of the store's only table file, from its end if < 0. */
static void harm_table_file(struct os *os, int64_t at)
{
	struct names l = names_of(os);
	uint64_t number, size;
	struct os_file *f;
	uint8_t byte;
	int n = 0;

	for (size_t i = 0; i < l.n; i++) {
		if (directory_name(l.name[i], &number) != NAME_SST)
			continue;
		assert_int_equal(os_open(l.dir, l.name[i], OS_WRITE, &f), 0);
		assert_int_equal(os_size(f, &size), 0);
		size = (uint64_t)(at < 0 ? (int64_t)size + at : at);
		assert_int_equal(os_pread(f, &byte, 1, size), 1);
		byte ^= 1;
		assert_int_equal(os_pwrite(f, &byte, 1, size), 0);
		os_close(f);
		n++;
	}
	assert_int_equal(n, 1);
	os_dir_close(l.dir);
}

static void hear(void *arg, const struct store_rescue *n)
{
	struct world *w = arg;
	char *to = n->kind == RESCUE_NOTE   ? w->notes
		   : n->kind == RESCUE_LOST ? w->lost
					    : w->copied;
	size_t room =
		n->kind == RESCUE_FAMILY ? sizeof(w->copied) : sizeof(w->notes);
	size_t at = strlen(to);

	if (n->kind == RESCUE_NOTE)
		snprintf(to + at, room - at, "%s\n", n->reason);
	else if (n->kind == RESCUE_FAMILY)
		snprintf(to + at, room - at, "%s %s %" PRIu64 "\n", n->table,
			 n->family, n->cells);
	else
		snprintf(to + at, room - at, "%s %.*s-%.*s\n", n->file,
			 (int)n->from.len, (const char *)n->from.data,
			 (int)n->to.len, (const char *)n->to.data);
	w->nlost += n->kind == RESCUE_LOST;
}

static int rescue_of(struct os *os)
{
	the.notes[0] = the.lost[0] = the.copied[0] = '\0';
	the.nlost = 0;
	why_clear();
	return store_repair("/store", "/new", os, hear, &the);
}

struct told {
	char notes[2048], lost[2048], copied[1024];
};

/* Is what is told now what was told when nothing failed? */
static bool same(const struct told *was)
{
	return !strcmp(the.notes, was->notes) && !strcmp(the.lost, was->lost) &&
	       !strcmp(the.copied, was->copied);
}

/* Whatever allocation fails: no memory, or what there is without that. */
static void each_allocation_fails(const struct told *was)
{
	uint64_t failed = 1;

	for (uint64_t nth = 1; failed; nth++) {
		struct os *os = sim_after_kill(the.os);
		int r;

		alloc_arm(nth, 0);
		r = rescue_of(os);
		failed = alloc_disarm();
		if (r != -ENOMEM && !same(was))
			fail_msg("allocation %" PRIu64 ": %d, %s; %s%s%s", nth,
				 r, store_why(), the.notes, the.lost,
				 the.copied);
		/* It has no words, or those that say it. */
		if (r == -ENOMEM && store_why()[0] &&
		    !strstr(store_why(), "memory"))
			fail_msg("allocation %" PRIu64 " says '%s'", nth,
				 store_why());
		sim_free(os);
	}
}

/* What the disk refuses is told, as an error or a loss. */
static void each_call_fails(const struct told *was, int err)
{
	uint64_t fired = 1;

	for (uint64_t nth = 1; fired; nth++) {
		struct os *sim = sim_after_kill(the.os);
		struct os *os = fault_new(sim);
		int r;

		fault_arm(os, &(struct fault_plan){.kinds = FAULT_ALL &
							    ~FAULT_CLOSE,
						   .nth = nth,
						   .err = err});
		r = rescue_of(os);
		fired = fault_fired(os);
		if (r < 0 ? !store_why()[0]
			  : strcmp(the.copied, was->copied) &&
				    !strcmp(the.lost, was->lost) &&
				    !strcmp(the.notes, was->notes))
			fail_msg("errno %d, call %" PRIu64 ": %d, %s, %s", err,
				 nth, r, store_why(), the.copied);
		fault_free(os);
		sim_free(sim);
	}
}

/* The rescue says that, also where something fails meanwhile. */
static void gives(const char *copied, const char *notes, const char *lost)
{
	struct told was;
	struct os *os = sim_after_kill(the.os);
	int r = rescue_of(os);

	assert_int_equal(r, the.nlost);
	assert_string_equal(the.copied, copied);
	assert_string_equal(the.notes, notes);
	assert_string_equal(the.lost, lost);
	sim_free(os);
	memcpy(was.notes, the.notes, sizeof(was.notes));
	memcpy(was.lost, the.lost, sizeof(was.lost));
	memcpy(was.copied, the.copied, sizeof(was.copied));
	each_allocation_fails(&was);
	each_call_fails(&was, EIO);
	each_call_fails(&was, EMFILE);
}

#define BEFORE                                                               \
	"the newest catalog is missing or damaged: tables, schemas and "     \
	"snapshots are those of CATALOG-%016x.old, one change of tables or " \
	"files before; if what that change made last is missing too, that "  \
	"is not noticed\n"
#define NONE                                                                 \
	"there is no catalog that can be read: names and schemas of tables " \
	"and families are lost\n"
#define NAMELESS                                                               \
	"tree %d has no name in a catalog: its cells are in table %s, family " \
	"f, which keeps all versions\n"

TEST(what_no_table_has_is_not_taken)
{
	struct names l;
	uint64_t number;

	make_table("t");
	fill("t", 0, ROWS);
	assert_int_equal(store_flush(the.s, NULL), 0);
	end_store();
	l = names_of(the.os);
	for (size_t i = 0; i < l.n; i++)
		if (directory_name(l.name[i], &number) == NAME_SST)
			copy_file(l.dir, l.name[i], l.dir, "999.sst");
	copy_file(l.dir, "999.sst", l.dir, "lost+found");
	os_dir_close(l.dir);
	gives("t f 30\n",
	      "999.sst is not taken: no table has it, a crash left it\n"
	      "lost+found is not copied: what is in it is no cell\n",
	      "");
}

/* As it is where the flush is in the lost catalog and the log is there still. */
TEST(an_entry_of_the_log_and_of_a_file_is_copied_once)
{
	struct os *before;
	struct names from, to;
	char notes[512];
	uint64_t number;

	make_table("t");
	fill("t", 0, ROWS);
	before = sim_after_kill(the.os);
	assert_int_equal(store_flush(the.s, NULL), 0);
	end_store();
	lose_newest_catalog(the.os);
	from = names_of(before);
	to = names_of(the.os);
	for (size_t i = 0; i < from.n; i++)
		if (directory_name(from.name[i], &number) == NAME_SEGMENT)
			copy_file(from.dir, from.name[i], to.dir, from.name[i]);
	os_dir_close(from.dir);
	os_dir_close(to.dir);
	sim_free(before);
	snprintf(notes, sizeof(notes), BEFORE, 2);
	gives("t f 30\n", notes, "");
}

/* Of what the lost catalog alone had there is the gap in the numbers, or in the log. */
TEST(a_file_of_the_lost_catalog_is_missed)
{
	char notes[512];

	make_table("t");
	make_table("u");
	fill("t", 0, ROWS);
	fill("u", 0, 3);
	assert_int_equal(store_flush(the.s, NULL), 0);
	end_store();
	lose_newest_catalog(the.os);
	snprintf(notes, sizeof(notes), BEFORE, 3);
	gives("t f 30\nu f 3\n", notes, "");
	lose(the.os, "1.sst");
	gives("t f 0\nu f 3\n", notes, "1.sst -\n");
	lose(the.os, "2.sst");
	gives("t f 0\nu f 0\n", notes, "wal-0000000000000000.log -\n");
}

/*
 * The numbers of entries go on where those that were salvaged end, of which there are
 * no more than that, although compactions take the numbers away.
 */
TEST(what_is_put_afterwards_is_newer)
{
	struct buf hold = {0};
	struct store *s;
	struct table *t;
	struct cell c;

	make_table("t");
	fill("t", 0, ROWS);
	assert_int_equal(store_flush(the.s, NULL), 0);
	assert_int_equal(table_open(the.s, bytes_str("t"), &t), 0);
	assert_int_equal(store_compact(the.s, t), 0);
	table_unref(t);
	end_store();
	lose(the.os, "CATALOG");
	lose(the.os, "wal");
	assert_int_equal(rescue_of(the.os), 1);
	assert_string_equal(the.lost, "CATALOG -\n");
	s = open_store(the.os, "/new");
	assert_true(put(s, "salvaged_1", 7, 'n') > ROWS);
	assert_int_equal(table_open(s, bytes_str("salvaged_1"), &t), 0);
	assert_int_equal(store_compact(s, t), 0);
	assert_int_equal(table_get(t, bytes_str("007"), bytes_str("f"),
				   bytes_str("q"), TS_MAX, NULL, &c, &hold),
			 1);
	assert_int_equal(c.value.data[0], 'n');
	buf_free(&hold);
	table_unref(t);
	assert_int_equal(store_close(s), 0);
}

TEST(a_tree_of_the_log_gets_a_name_that_no_table_has)
{
	char notes[512];

	make_table("t");
	make_table("salvaged_3");
	make_table("u");
	fill("t", 0, 3);
	fill("u", 0, 5);
	end_store();
	lose_newest_catalog(the.os);
	snprintf(notes, sizeof(notes), BEFORE NAMELESS, 3, 3, "salvaged_3_1");
	gives("salvaged_3 f 0\nt f 3\nsalvaged_3_1 f 5\n", notes, "");
	/* A tree that is made in the new store is another. */
	assert_int_equal(rescue_of(the.os), 0);
	the.s = open_store(the.os, "/new");
	make_table("x");
	fill("x", 0, 1);
	end_store();
	assert_int_equal(store_check("/new", the.os, NULL, NULL), 0);
	assert_int_equal(store_repair("/new", "/again", the.os, hear, &the), 0);
	assert_non_null(strstr(the.copied, "_1 f 5\nt f 3\nx f 1\n"));
}

TEST(a_file_that_does_not_say_whose_it_is_is_a_table)
{
	char notes[512];

	make_table("t");
	fill("t", 0, ROWS);
	assert_int_equal(store_flush(the.s, NULL), 0);
	end_store();
	lose(the.os, "CATALOG");
	harm_table_file(the.os, -1);
	snprintf(notes, sizeof(notes),
		 NONE "1.sst does not say whose it is: it is called tree "
		      "%d\n" NAMELESS,
		 1, 1, "salvaged_1");
	gives("salvaged_1 f 30\n", notes, "CATALOG -\n");
}

/* The rest of the store is not. */
TEST(a_file_that_cannot_be_looked_through_is_lost)
{
	uint64_t fired = 1;
	int n = 0;

	make_table("t");
	fill("t", 0, ROWS);
	assert_int_equal(store_flush(the.s, NULL), 0);
	fill("t", ROWS, ROWS + 2);
	end_store();
	lose(the.os, "CATALOG");
	harm_table_file(the.os, -1);
	/* Its footer may be refused, and its blocks found; or these too. */
	for (uint64_t nth = 1; fired; nth++) {
		struct os *sim = sim_after_kill(the.os);
		struct os *os = fault_new(sim);

		fault_arm(os, &(struct fault_plan){.kinds = FAULT_SIZE,
						   .nth = nth,
						   .err = EIO});
		if (rescue_of(os) == 2 &&
		    !strcmp(the.lost, "CATALOG -\n1.sst -\n")) {
			assert_string_equal(the.copied,
					    "salvaged_2 f 0\nsalvaged_1 f 2\n");
			n++;
		}
		fired = fault_fired(os);
		fault_free(os);
		sim_free(sim);
	}
	assert_int_equal(n, 1);
}

TEST(a_block_that_is_damaged_is_lost_with_its_rows)
{
	make_table("t");
	fill("t", 0, ROWS);
	assert_int_equal(store_flush(the.s, NULL), 0);
	end_store();
	harm_table_file(the.os, 1500);
	gives("t f 21\n", "", "1.sst 009-018\n");
	/*
	 * Without the index it is known by the rows around it, and what is behind
	 * the last may be another.
	 */
	harm_table_file(the.os, -1);
	gives("t f 21\n", "", "1.sst 008-018\n1.sst 029-029\n");
}

/* Of a row in several blocks the others are had. */
TEST(a_row_goes_on_behind_a_block_that_is_lost)
{
	char qualifier[8];

	make_table("t");
	put(the.s, "t", 0, 'v');
	for (int i = 0; i < 3 * ROWS; i++) {
		snprintf(qualifier, sizeof(qualifier), "%02d", i);
		put_in(the.s, "t", 1, qualifier, 'v');
	}
	put(the.s, "t", 2, 'v');
	assert_int_equal(store_flush(the.s, NULL), 0);
	end_store();
	gives("t f 92\n", "", "");
	harm_table_file(the.os, 4000);
	gives("t f 75\n", "", "1.sst 001-001\n");
}

/* It was written so: no disk did that. */
TEST(a_record_that_is_no_change_is_passed_over)
{
	const struct wal_options o = {0};
	const struct bytes junk = bytes_str("\x01junk");
	struct os_dir *d;
	struct wal *wal;
	uint64_t lsn;

	make_table("t");
	fill("t", 0, 3);
	end_store();
	d = dir_of(the.os);
	assert_int_equal(wal_open(d, &o, 0, false, NULL, NULL, &wal), 0);
	assert_int_equal(wal_append(wal, &junk, 1, &lsn), 0);
	assert_int_equal(wal_close(wal), 0);
	os_dir_close(d);
	assert_int_equal(rescue_of(the.os), 0);
	assert_string_equal(the.copied, "t f 3\n");
	assert_non_null(strstr(the.notes, "record"));
}

TEST(a_place_that_cannot_be_looked_at_is_not_taken)
{
	struct os *os;

	make_table("t");
	end_store();
	os = fault_new(the.os);
	fault_arm(os, &(struct fault_plan){.kinds = FAULT_DIR_OPEN,
					   .nth = 2,
					   .err = EMFILE});
	assert_int_equal(rescue_of(os), -EMFILE);
	assert_string_equal(the.copied, "");
	fault_free(os);
	assert_int_equal(
		store_repair("/absent/store", "/absent/new", NULL, hear, &the),
		-ENOENT);
}
