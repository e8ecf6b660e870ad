/*
 * Each bit of each file of a small store of three tables, flipped; each file cut
 * at each length, or missing. Whatever it is, store_repair() makes a store that
 * has every entry that lies outside the damaged block or record, tells of what it
 * does not have, and has nothing that was never written.
 *
 * A sample of it; with CELLFS_THOROUGH=1 each bit.
 */
#include "tests/unit/unit.h"
#include "store/lsm/block/cache.h"
#include "store/lsm/manifest/directory.h"
#include "store/lsm/table/sst_file.h"
#include "store/lsm/wal/record.h"
#include "store/lsm/wal/wal_replay.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/temp_store.h"
#include "tests/unit/thorough.h"

enum {
	TABLES = 3,
	ROWS = 20,
	VALUE = 150,
	FILES_MAX = 16,
	ENTRIES_MAX = 400,
	LOSSES_MAX = 32,
};

/* An entry of the store, and where it is stored. */
struct item {
	int table;
	char family, row[8];
	int64_t ts;
	uint8_t kind;
	int file;	 /* index of the file, -1 = not known yet */
	uint64_t at, to; /* the block or record that holds it */
};

struct part {
	char name[32];
	struct buf content;
};

struct told {
	char table[16], family[16], from[16], to[16];
	bool of_log;
};

struct world {
	struct part parts[FILES_MAX];
	int nparts;
	struct item items[ENTRIES_MAX];
	int nitems;
	struct told told[LOSSES_MAX];
	int ntold, notes;
	uint64_t cases, kept, lost;
};

static const char *const names[TABLES] = {"t", "u", "v"};

static void value_of(int table, int row, int64_t ts, char out[VALUE + 1])
{
	for (int i = 0; i < VALUE; i++)
		out[i] = (char)('a' +
				(table * 7 + row * 5 + (int)ts * 3 + i % 11) %
					26);
	out[VALUE] = '\0';
}

static void change(struct store *s, int table, const char *family, int row,
		   int64_t ts, enum change_op op)
{
	char key[16], value[VALUE + 1];
	struct change c = {.op = op,
			   .family = bytes_str(family),
			   .qualifier = bytes_str("q"),
			   .ts = ts};
	struct mutation m = {.changes = &c, .nchanges = 1};
	struct table *t;

	snprintf(key, sizeof(key), "%03d", row);
	value_of(table, row, ts, value);
	m.row = bytes_str(key);
	if (op == CHANGE_PUT)
		c.value = bytes_str(value);
	if (op == CHANGE_DELETE_FAMILY)
		c.qualifier = bytes_str("");
	assert_int_equal(table_open(s, bytes_str(names[table]), &t), 0);
	assert_int_equal(table_mutate(t, &m, MUTATE_SYNC), 1);
	table_unref(t);
}

/* Rows @from to @to of family f of a table, each @step-th. */
static void fill(struct store *s, int table, int from, int to, int step,
		 int64_t ts)
{
	for (int row = from; row <= to; row += step)
		change(s, table, "f", row, ts, CHANGE_PUT);
}

static void make_tables(struct store *s)
{
	struct family_attrs attrs;
	struct schema schema;

	family_attrs_default(&attrs);
	attrs.block_size = 1 << 10;
	for (int i = 0; i < TABLES; i++) {
		schema_init(&schema, 0, 0);
		attrs.compression =
			i == 1 ? COMPRESSION_ZLIB : COMPRESSION_NONE;
		attrs.bloom = i == 2 ? BLOOM_NONE : BLOOM_ROW;
		assert_int_equal(schema_add(&schema, bytes_str("f"), &attrs),
				 0);
		if (i == 0)
			assert_int_equal(
				schema_add(&schema, bytes_str("g"), &attrs), 0);
		assert_int_equal(
			store_table_create(s, bytes_str(names[i]), &schema), 0);
		schema_free(&schema);
	}
}

/* Puts, deletes, files of two levels, and the last changes in the log alone. */
static void make_store(struct os *os)
{
	struct store_options o = {.create = true,
				  .inline_background = true,
				  .wal_segment_bytes = 16 << 10,
				  .wal_ring_bytes = 4096,
				  .os = os};
	struct store *s;

	assert_int_equal(store_open("/store", &o, &s), 0);
	make_tables(s);
	fill(s, 0, 0, 11, 1, 1);
	fill(s, 1, 0, 19, 2, 1);
	assert_int_equal(store_flush(s, NULL), 0);
	assert_int_equal(store_compact(s, NULL), 0);
	fill(s, 0, 6, 8, 1, 2);
	fill(s, 2, 2, 9, 1, 1);
	change(s, 0, "g", 3, 4, CHANGE_PUT);
	assert_int_equal(store_flush(s, NULL), 0);
	change(s, 0, "f", 9, 5, CHANGE_DELETE_COLUMN);
	change(s, 2, "f", 3, 6, CHANGE_DELETE_FAMILY);
	assert_int_equal(store_flush(s, NULL), 0);
	fill(s, 0, 14, 16, 1, 3);
	fill(s, 1, 3, 5, 1, 3);
	change(s, 2, "f", 4, 9, CHANGE_DELETE_COLUMN);
	assert_int_equal(store_close(s), 0);
}

static int keep_file(void *arg, const char *name)
{
	struct world *w = arg;

	assert_true(w->nparts < FILES_MAX);
	snprintf(w->parts[w->nparts++].name, sizeof(w->parts[0].name), "%s",
		 name);
	return 0;
}

/* Each entry of the store at @path that is not in @w yet, if @add; their number. */
static int visit(struct world *w, struct os *os, const char *path, bool add,
		 bool seen[ENTRIES_MAX])
{
	const struct store_options o = {
		.read_only = true, .inline_background = true, .os = os};
	const struct scan_spec raw = {.granularity = SCAN_CELLS, .raw = true};
	struct store *s;
	struct cell c;
	int n = 0;

	assert_int_equal(store_open(path, &o, &s), 0);
	for (int table = 0; table < TABLES; table++) {
		struct scan *sc;
		struct table *t;

		assert_int_equal(table_open(s, bytes_str(names[table]), &t), 0);
		assert_int_equal(scan_open(t, &raw, &sc), 0);
		while (scan_next(sc, &c) > 0) {
			struct item i = {.table = table,
					 .family = (char)*c.family.data,
					 .ts = c.ts,
					 .kind = c.kind,
					 .file = -1};
			char value[VALUE + 1];
			int at = 0;

			assert_int_equal(c.row.len, 3);
			memcpy(i.row, c.row.data, 3);
			value_of(table, atoi(i.row), c.ts, value);
			assert_true(kind_is_marker(c.kind) ||
				    bytes_eq(c.value, bytes_str(value)));
			while (at < w->nitems &&
			       (w->items[at].table != i.table ||
				w->items[at].family != i.family ||
				strcmp(w->items[at].row, i.row) ||
				w->items[at].ts != i.ts ||
				w->items[at].kind != i.kind))
				at++;
			if (add && at == w->nitems)
				w->items[w->nitems++] = i;
			/* Nothing that was never written. */
			assert_true(at < w->nitems);
			assert_false(seen[at]);
			seen[at] = true;
			n++;
		}
		scan_close(sc);
		table_unref(t);
	}
	assert_int_equal(store_close(s), 0);
	return n;
}

/* The item of an entry in a tree: trees are numbered as they were made. */
static struct item *find(struct world *w, uint32_t tree, const char *row,
			 const struct entry *e)
{
	/* 1 f and 2 g of t, 3 of u, 4 of v */
	int table = tree <= 2 ? 0 : (int)tree - 2;
	char family = tree == 2 ? 'g' : 'f';

	for (int i = 0; i < w->nitems; i++) {
		struct item *k = &w->items[i];

		if (k->table == table && k->family == family &&
		    !strncmp(k->row, row, 3) && k->ts == e->ts &&
		    k->kind == e->kind)
			return k;
	}
	fail_msg("an entry that no scan showed");
	return NULL;
}

/* Notes in which block of the file each of its entries is. */
static void place_blocks(struct world *w, struct os_dir *dir, int file,
			 uint64_t number)
{
	const struct sst_options o = {0};
	struct sst_info info;
	struct sstable *t;

	assert_int_equal(sst_info_load(dir, number, &info), 0);
	assert_int_equal(sst_open(dir, &info, &o, NULL, &t), 0);
	for (uint32_t i = 0; i < t->index.nblocks; i++) {
		const struct index_entry *x = &t->index.entries[i];
		struct block *b;

		assert_int_equal(sst_load(t, i, NULL, true, &b), 0);
		for (uint32_t row = 0; row < b->nrow; row++)
			for (uint32_t c = block_row_cell(b, row);
			     c < block_row_cell(b, row + 1); c++) {
				struct bytes suffix = block_suffix(b, row);
				char key[8] = "";
				struct item *k;
				struct entry e;

				memcpy(key, b->prefix.data, b->prefix.len);
				memcpy(key + b->prefix.len, suffix.data,
				       suffix.len);
				block_entry(b, c, &e);
				k = find(w, info.tree, key, &e);
				k->file = file;
				k->at = x->offset;
				k->to = x->offset + x->stored_len +
					SST_TRAILER_LEN;
			}
		block_free(b);
	}
	sst_unref(t);
	sst_info_free(&info);
}

struct placing {
	struct world *w;
	int file;
	uint64_t at, to;
};

static int place_row(void *arg, struct bytes row, const struct pending *p,
		     uint32_t n)
{
	struct placing *k = arg;

	for (uint32_t i = 0; i < n; i++) {
		struct item *item = find(k->w, p[i].tree,
					 (const char *)row.data, &p[i].entry);

		item->file = k->file;
		item->at = k->at;
		item->to = k->to;
	}
	return 0;
}

static void place_records(struct world *w, int file, uint64_t number)
{
	const struct buf *in = &w->parts[file].content;
	struct wal_head head;
	uint64_t off = WAL_BLOCK_BYTES, next;
	struct wal_record rec;

	assert_true(wal_head_decode(in->data, number, &head));
	while (wal_record_decode(in->data + off, in->len - off, head.id,
				 head.start + off - WAL_BLOCK_BYTES, &rec)) {
		struct placing k = {w, file, off, off + rec.size};

		assert_int_equal(record_read(rec.payload, &next, place_row, &k),
				 0);
		off += rec.size;
	}
	assert_int_equal(off, in->len);
}

static void place_all(struct world *w, struct os_dir *dir)
{
	uint64_t number;

	for (int i = 0; i < w->nparts; i++) {
		switch (directory_name(w->parts[i].name, &number)) {
		case NAME_SST:
			place_blocks(w, dir, i, number);
			break;
		case NAME_SEGMENT:
			place_records(w, i, number);
			break;
		default:
			break;
		}
	}
	for (int i = 0; i < w->nitems; i++)
		assert_true(w->items[i].file >= 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	bool seen[ENTRIES_MAX] = {false};
	struct os *os = sim_new(1);
	struct os_dir *dir;

	*state = w;
	if (!w)
		return -1;
	make_store(os);
	assert_int_equal(os_dir_open(os, "/store", false, &dir), 0);
	assert_int_equal(os_dir_list(dir, keep_file, w), 0);
	for (int i = 0; i < w->nparts; i++)
		assert_int_equal(os_read_file(dir, w->parts[i].name, 1 << 20,
					      &w->parts[i].content),
				 0);
	visit(w, os, "/store", true, seen);
	place_all(w, dir);
	os_dir_close(dir);
	sim_free(os);
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < w->nparts; i++)
		buf_free(&w->parts[i].content);
	free(w);
	return 0;
}

EACH_TEST_IN(setup, teardown);

static void copy_key(char to[16], struct bytes key)
{
	memcpy(to, key.data ? (const char *)key.data : "",
	       key.len < 15 ? key.len : 15);
}

static void hear(void *arg, const struct store_rescue *news)
{
	struct world *w = arg;
	struct told *t = &w->told[w->ntold];

	w->notes += news->kind == RESCUE_NOTE;
	if (news->kind != RESCUE_LOST)
		return;
	assert_true(++w->ntold < LOSSES_MAX);
	*t = (struct told){.of_log = !news->table};
	snprintf(t->table, sizeof(t->table), "%s",
		 news->table ? news->table : "");
	snprintf(t->family, sizeof(t->family), "%s",
		 news->family ? news->family : "");
	copy_key(t->from, news->from);
	copy_key(t->to, news->to);
	assert_non_null(news->file);
	assert_true(news->reason[0]);
	/* What is missing has lost all from its first byte on. */
	if (!strcmp(news->reason, "it is missing")) {
		assert_int_equal(news->offset, 0);
		if (!news->table)
			assert_int_equal(news->bytes, 0);
	}
}

/* Is the loss of the item told, with its table, family and row? */
static bool is_told(const struct world *w, const struct item *i)
{
	for (int n = 0; n < w->ntold; n++) {
		const struct told *t = &w->told[n];

		if (t->of_log && !strncmp(w->parts[i->file].name, "wal-", 4))
			return true;
		if (!strcmp(t->table, names[i->table]) &&
		    t->family[0] == i->family && strcmp(t->from, i->row) <= 0 &&
		    (!t->to[0] || strcmp(t->to, i->row) >= 0))
			return true;
	}
	return false;
}

/* One file with bytes from @at to @to damaged. */
struct harm {
	int file; /* -1: none */
	uint64_t at, to;
};

/* The files in a new disk, and what is damaged as @bytes. */
static struct os *disk_of(const struct world *w, const struct harm *h,
			  const struct buf *bytes)
{
	struct os *os = sim_new(1);
	struct os_dir *dir;

	assert_int_equal(os_dir_open(os, "/store", true, &dir), 0);
	for (int i = 0; i < w->nparts; i++) {
		const struct buf *b =
			i == h->file ? bytes : &w->parts[i].content;
		struct os_file *f;

		if (!b)
			continue;
		assert_int_equal(os_open(dir, w->parts[i].name,
					 OS_WRITE | OS_CREATE, &f),
				 0);
		if (b->len)
			assert_int_equal(os_pwrite(f, b->data, b->len, 0), 0);
		os_close(f);
	}
	os_dir_close(dir);
	return os;
}

/* @bytes is what the damaged file has, NULL: it is missing. */
static void rescue(struct world *w, const struct harm *h,
		   const struct buf *bytes)
{
	struct os *os = disk_of(w, h, bytes);
	bool seen[ENTRIES_MAX] = {false};
	int r;

	w->ntold = w->notes = 0;
	r = store_repair("/store", "/new", os, hear, w);
	if (r < 0)
		fail_msg("%s", store_why());
	assert_int_equal(r, w->ntold);
	visit(w, os, "/new", false, seen);
	for (int i = 0; i < w->nitems; i++) {
		const struct item *k = &w->items[i];
		bool hit = k->file == h->file && k->at < h->to && k->to > h->at;

		/* All outside the damage is there, and a loss is told. */
		if (seen[i])
			w->kept++;
		else if (!hit || !is_told(w, k))
			fail_msg("%s, bytes %llu to %llu: %s %c %s is lost, "
				 "%d told",
				 w->parts[h->file].name,
				 (unsigned long long)h->at,
				 (unsigned long long)h->to, names[k->table],
				 k->family, k->row, w->ntold);
		else
			w->lost++;
	}
	w->cases++;
	sim_free(os);
}

static size_t stride(size_t sampled)
{
	return thorough() ? 1 : sampled;
}

static void print(const struct world *w, const char *what)
{
	printf("%llu %s: %llu entries salvaged, %llu lost and told, 0 wrong\n",
	       (unsigned long long)w->cases, what, (unsigned long long)w->kept,
	       (unsigned long long)w->lost);
}

TEST(a_store_that_is_whole_is_copied_whole)
{
	struct world *w = *state;
	const struct harm none = {.file = -1};

	rescue(w, &none, NULL);
	assert_int_equal(w->ntold, 0);
	assert_int_equal(w->notes, 0);
	assert_int_equal(w->kept, w->nitems);
}

static bool is_newest_catalog(const char *name)
{
	return !strncmp(name, "CATALOG", 7) && !strstr(name, "old");
}

TEST(all_outside_a_flipped_bit_is_salvaged)
{
	struct world *w = *state;

	for (int i = 0; i < w->nparts; i++) {
		struct buf *b = &w->parts[i].content;
		/* Putting a catalog's bit right takes long. */
		size_t step = stride(
			strncmp(w->parts[i].name, "CATALOG", 7) ? 397 : 1999);

		for (size_t bit = (size_t)i; bit < 8 * b->len; bit += step) {
			const struct harm h = {i, bit / 8, bit / 8 + 1};
			uint8_t mask = (uint8_t)(1u << bit % 8);
			struct buf copy = {0};

			assert_int_equal(buf_set(&copy, buf_bytes(b)), 0);
			copy.data[bit / 8] ^= mask;
			rescue(w, &h, &copy);
			/* Of the newest catalog that is said, too. */
			if (is_newest_catalog(w->parts[i].name))
				assert_int_equal(w->notes, 1);
			buf_free(&copy);
		}
	}
	assert_true(w->lost > 0);
	print(w, "bits");
}

TEST(all_outside_a_cut_or_missing_file_is_salvaged)
{
	struct world *w = *state;

	for (int i = 0; i < w->nparts; i++) {
		const struct buf *b = &w->parts[i].content;
		struct harm h = {i, 0, UINT64_MAX};

		rescue(w, &h, NULL);
		for (size_t len = 0; len < b->len; len += stride(211)) {
			const struct buf cut = {.data = b->data, .len = len};

			h.at = len;
			rescue(w, &h, &cut);
		}
	}
	assert_true(w->lost > 0);
	print(w, "cuts");
}

/* Without a catalog no name is left, but each cell is. */
TEST(all_cells_are_salvaged_without_any_catalog)
{
	struct world *w = *state;
	const struct store_options o = {.read_only = true};
	const struct scan_spec raw = {.granularity = SCAN_CELLS, .raw = true};
	const struct harm none = {.file = -1};
	struct os *os = disk_of(w, &none, NULL);
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct store_options there = o;
	struct os_dir *dir;
	struct store *s;
	int n = 0;

	assert_int_equal(os_dir_open(os, "/store", false, &dir), 0);
	for (int i = 0; i < w->nparts; i++)
		if (!strncmp(w->parts[i].name, "CATALOG", 7))
			assert_int_equal(os_unlink(dir, w->parts[i].name), 0);
	os_dir_close(dir);
	w->ntold = w->notes = 0;
	/* With the catalog it is lost what else there was. */
	assert_int_equal(store_repair("/store", "/new", os, hear, w), 1);
	/* That there is no catalog, and what each tree is called. */
	assert_int_equal(w->notes, 1 + 4);
	there.os = os;
	there.inline_background = true;
	assert_int_equal(store_open("/new", &there, &s), 0);
	while (store_table_next(s, bytes_str(name), name) > 0) {
		struct scan *sc;
		struct table *t;
		struct cell c;

		assert_memory_equal(name, "salvaged_", 9);
		assert_int_equal(table_open(s, bytes_str(name), &t), 0);
		assert_int_equal(scan_open(t, &raw, &sc), 0);
		while (scan_next(sc, &c) > 0)
			n++;
		scan_close(sc);
		table_unref(t);
	}
	assert_int_equal(n, w->nitems);
	assert_int_equal(store_close(s), 0);
	sim_free(os);
}

enum {
	LARGE_ROWS = 900,
	LARGE_VALUE = 1500,
	HARM_EVERY = 90 << 10,
};

/* A store of one compressed table, in a file of more than half a MiB. */
static void make_large(struct os *os)
{
	const struct store_options o = {
		.os = os, .create = true, .inline_background = true};
	struct family_attrs attrs;
	struct schema schema;
	char key[16], value[LARGE_VALUE];
	uint64_t x = 1;
	struct table *t;
	struct store *s;

	family_attrs_default(&attrs);
	attrs.compression = COMPRESSION_ZLIB;
	attrs.block_size = 4 << 10;
	schema_init(&schema, 0, 0);
	assert_int_equal(schema_add(&schema, bytes_str("f"), &attrs), 0);
	assert_int_equal(store_open("/store", &o, &s), 0);
	assert_int_equal(store_table_create(s, bytes_str("t"), &schema), 0);
	schema_free(&schema);
	assert_int_equal(table_open(s, bytes_str("t"), &t), 0);
	for (int row = 0; row < LARGE_ROWS; row++) {
		struct change c = {.op = CHANGE_PUT,
				   .family = bytes_str("f"),
				   .ts = 1,
				   .value = bytes_of(value, sizeof(value))};
		struct mutation m = {.changes = &c, .nchanges = 1};

		for (size_t i = 0; i < sizeof(value); i++)
			value[i] = (char)('a' +
					  ((x = x * 0x5851f42d4c957f2d + 1) >>
					   60));
		snprintf(key, sizeof(key), "%03d", row);
		m.row = bytes_str(key);
		assert_int_equal(table_mutate(t, &m, 0), 1);
	}
	assert_int_equal(store_compact(s, t), 0);
	table_unref(t);
	assert_int_equal(store_close(s), 0);
}

/* Flips a byte here and there, and one of the end, without which no index is. */
static int harm_large(void *arg, const char *name)
{
	struct os_dir *dir = arg;
	struct os_file *f;
	uint64_t size, at = 0;
	uint8_t byte;
	int n = 0;

	if (!strstr(name, ".sst"))
		return 0;
	assert_int_equal(os_open(dir, name, OS_WRITE, &f), 0);
	assert_int_equal(os_size(f, &size), 0);
	assert_true(size > 6 * HARM_EVERY);
	while (at < size) {
		assert_int_equal(os_pread(f, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(os_pwrite(f, &byte, 1, at), 0);
		at = at + HARM_EVERY < size || at == size - 1 ? at + HARM_EVERY
							      : size - 1;
		n++;
	}
	os_close(f);
	return n > 6 ? 0 : -EINVAL;
}

static int rows_of(struct os *os, const char *path)
{
	const struct store_options o = {
		.os = os, .read_only = true, .inline_background = true};
	const struct scan_spec all = {.granularity = SCAN_ROWS};
	struct scan *sc;
	struct table *t;
	struct store *s;
	struct cell c;
	int n = 0;

	assert_int_equal(store_open(path, &o, &s), 0);
	assert_int_equal(table_open(s, bytes_str("t"), &t), 0);
	assert_int_equal(scan_open(t, &all, &sc), 0);
	while (scan_next(sc, &c) > 0)
		n++;
	scan_close(sc);
	table_unref(t);
	assert_int_equal(store_close(s), 0);
	return n;
}

/* However far from the begin of the file the next sound block is. */
TEST(a_large_file_loses_the_blocks_that_are_damaged_only)
{
	struct os *os = sim_new(1);
	struct world *w = *state;
	struct os_dir *dir;

	make_large(os);
	assert_int_equal(rows_of(os, "/store"), LARGE_ROWS);
	assert_int_equal(os_dir_open(os, "/store", false, &dir), 0);
	assert_int_equal(os_dir_list(dir, harm_large, dir), 0);
	os_dir_close(dir);
	w->ntold = w->notes = 0;
	assert_true(store_repair("/store", "/new", os, hear, w) > 0);
	/* Of each that is damaged the rows of one block: five or so. */
	assert_in_range(rows_of(os, "/new"), LARGE_ROWS - 60, LARGE_ROWS - 10);
	sim_free(os);
}

TEST(what_is_at_the_destination_is_not_touched)
{
	struct world *w = *state;
	const struct harm none = {.file = -1};
	struct os *os = disk_of(w, &none, NULL);
	struct os_dir *dir;

	assert_int_equal(os_dir_open(os, "/new", true, &dir), 0);
	os_dir_close(dir);
	assert_int_equal(store_repair("/store", "/new", os, hear, w), -EEXIST);
	assert_int_equal(store_repair("/store", "/store", os, hear, w),
			 -EEXIST);
	sim_free(os);
}
