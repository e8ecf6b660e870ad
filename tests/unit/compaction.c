/*
 * Compaction, over files of a disk in memory. Which files it takes is
 * compaction_pick.c.
 */
#include "tests/unit/unit.h"
#include "array_cursor.h"
#include "store/lsm/compaction/compaction.h"
#include "store/lsm/block/cache.h"
#include "store/lsm/merge/merge.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/xorshift.h"

#define PUT CELL_PUT
#define NOW 1000

static const struct family_attrs plain = {
	.versions = 3,
	.ttl_ms = TTL_FOREVER,
	.new_version_behavior = true,
	.block_size = 4096,
	.bloom = BLOOM_ROW,
	.block_cache = true,
};

struct world {
	struct os *os;
	struct os *faulty;
	struct os_dir *dir;
	struct block_cache *cache;
	struct levels *levels;
	struct family_attrs attrs;
	struct compaction_limits limits;
	uint64_t number;
	uint64_t snapshots[2];
	size_t nsnapshots;
	bool stop;
};

static uint64_t next_number(void *arg)
{
	return ++((struct world *)arg)->number;
}

static bool stop_now(void *arg)
{
	return ((struct world *)arg)->stop;
}

static void world_open(struct world *w)
{
	*w = (struct world){
		.attrs = plain,
		.limits = {.level0_files = 2,
			   .top_ratio = 2,
			   .level1_bytes = 4096,
			   .ratio = 2,
			   .file_bytes = 1024},
	};
	w->attrs.block_size = 1024;
	w->os = sim_new(1);
	w->faulty = fault_new(w->os);
	assert_non_null(w->faulty);
	assert_int_equal(os_dir_open(w->faulty, "store", true, &w->dir), 0);
	assert_int_equal(block_cache_new(1 << 20, &w->cache), 0);
	assert_int_equal(levels_new(&w->levels), 0);
}

static void world_close(struct world *w)
{
	levels_unref(w->levels);
	block_cache_free(w->cache);
	os_dir_close(w->dir);
	fault_free(w->faulty);
	sim_free(w->os);
}

static int count_file(void *arg, const char *name)
{
	++*(size_t *)arg;
	return 0;
}

static size_t files_on_disk(struct world *w)
{
	size_t n = 0;

	assert_int_equal(os_dir_list(w->dir, count_file, &n), 0);
	return n;
}

static size_t files_in_levels(const struct world *w)
{
	size_t n = 0;

	for (int i = 0; i < LEVELS_MAX; i++)
		n += w->levels->level[i].nfiles;
	return n;
}

static void install(struct world *w, const struct level_file *removed,
		    size_t nremoved, const struct level_file *added,
		    size_t nadded)
{
	struct levels *next;

	assert_int_equal(levels_apply(w->levels, removed, nremoved, added,
				      nadded, &next),
			 0);
	levels_unref(w->levels);
	w->levels = next;
}

static int flush(struct world *w, const struct array_cell *cells, size_t n)
{
	struct array_cursor c;
	struct compaction_job j = {
		.dir = w->dir,
		.cache = w->cache,
		.levels = w->levels,
		.attrs = &w->attrs,
		.now_ms = NOW,
		.snapshots = w->snapshots,
		.nsnapshots = w->nsnapshots,
		.number = next_number,
		.arg = w,
	};
	int r;

	array_cursor(&c, cells, n);
	r = flush_run(&j, &c.base, false);
	history_free(&j.lost);
	if (r == 0 && j.noutputs) {
		struct level_file f = {0, j.outputs[0]};

		install(w, NULL, 0, &f, 1);
		sst_unref(f.file);
	}
	free(j.outputs);
	return r;
}

/* Runs one and installs its outputs. */
static int compact(struct world *w, struct compaction *c)
{
	struct level_file removed[256], added[256];
	size_t nremoved = 0, nadded = 0;
	uint64_t in = 0, out = 0;
	struct compaction_job j = {
		.dir = w->dir,
		.cache = w->cache,
		.levels = w->levels,
		.what = c,
		.limits = &w->limits,
		.attrs = &w->attrs,
		.now_ms = NOW,
		.snapshots = w->snapshots,
		.nsnapshots = w->nsnapshots,
		.number = next_number,
		.stop = stop_now,
		.arg = w,
	};
	int r = c->trivial ? 0 : compaction_run(&j);

	history_free(&j.lost);

	if (r < 0) {
		assert_int_equal(j.noutputs, 0);
		return r;
	}
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < c->ninputs[side]; i++) {
			removed[nremoved++] = (struct level_file){
				(uint8_t)c->from, c->inputs[side][i]};
			in += sst_info(c->inputs[side][i])->file_bytes;
		}
	for (uint32_t i = 0; i < j.noutputs; i++) {
		added[nadded++] =
			(struct level_file){(uint8_t)c->to, j.outputs[i]};
		out += sst_info(j.outputs[i])->file_bytes;
	}
	assert_int_equal(j.bytes_in, c->trivial ? 0 : in);
	assert_int_equal(j.bytes_out, out);
	if (c->trivial)
		added[nadded++] =
			(struct level_file){(uint8_t)c->to, c->inputs[0][0]};
	for (size_t i = 0; !c->trivial && i < nremoved; i++)
		sst_obsolete(removed[i].file);
	install(w, removed, nremoved, added, nadded);
	for (uint32_t i = 0; i < j.noutputs; i++)
		sst_unref(j.outputs[i]);
	free(j.outputs);
	return 0;
}

static int compact_if_due(struct world *w)
{
	struct compaction c;
	int r = compaction_pick(w->levels, &w->limits, NOW, &w->attrs, &c);

	if (r <= 0)
		return r;
	r = compact(w, &c);
	compaction_release(&c);
	return r < 0 ? r : 1;
}

/* Until nothing is left to do, which must come. */
static void compact_at_rest(struct world *w)
{
	struct compaction c;
	int most = 1000;

	while (compaction_pick_rest(w->levels, &w->limits, &w->attrs, &c) > 0) {
		assert_true(most-- > 0);
		assert_int_equal(compact(w, &c), 0);
		compaction_release(&c);
	}
}

static int compact_all(struct world *w)
{
	struct compaction c;
	int r = compaction_pick_all(w->levels, &c);

	if (r <= 0)
		return r;
	r = compact(w, &c);
	compaction_release(&c);
	return r;
}

#define SOURCES_MAX 64

/* All entries of the tree, or what is visible: "row/q:ts.seq " each. */
static void dump(struct world *w, uint64_t seq_max, bool visible,
		 struct buf *out)
{
	struct sst_cursor files[SOURCES_MAX];
	struct level_cursor deeper[LEVELS_MAX];
	struct merge_source sources[SOURCES_MAX];
	struct visible_spec spec = {
		.attrs = &w->attrs, .now_ms = NOW, .ts_max = INT64_MAX};
	const struct level *l0 = &w->levels->level[0];
	struct visible *v;
	struct merge m;
	uint32_t n = 0;
	int r;

	out->len = 0;
	assert_true(l0->nfiles + LEVELS_MAX <= SOURCES_MAX);
	for (uint32_t i = 0; i < l0->nfiles; i++) {
		sst_cursor(l0->files[i], &files[i]);
		sources[n++].cursor = &files[i].base;
	}
	for (int i = 1; i < LEVELS_MAX; i++) {
		level_cursor(&w->levels->level[i], &deeper[i]);
		sources[n++].cursor = &deeper[i].base;
	}
	merge_init(&m, sources, n, seq_max);
	assert_int_equal(visible_new(&spec, &v), 0);
	r = cursor_seek_row(&m.base, bytes_str(""));
	for (; r == 1; r = cursor_next_row(&m.base)) {
		int e = 1;

		visible_row(v, &m.base);
		for (;;) {
			char text[128];

			if (visible)
				e = visible_next(v);
			if (e != 1)
				break;
			snprintf(text, sizeof(text), "%.*s/%.*s:%d.%d=%.*s ",
				 (int)m.base.row.len, m.base.row.data,
				 (int)m.base.at.qualifier.len,
				 m.base.at.qualifier.data, (int)m.base.at.ts,
				 visible ? 0 : (int)m.base.at.seq,
				 (int)m.base.at.value.len,
				 m.base.at.value.data);
			assert_int_equal(buf_append(out, text, strlen(text)),
					 0);
			if (!visible)
				e = cursor_next(&m.base);
		}
		assert_int_equal(e, 0);
	}
	assert_int_equal(r, 0);
	assert_int_equal(buf_append(out, "", 1), 0);
	for (uint32_t i = 0; i < n; i++)
		cursor_close(sources[i].cursor);
	cursor_close(&m.base);
	visible_free(v);
}

static void assert_tree(struct world *w, bool visible, const char *want)
{
	struct buf got = {0};

	dump(w, UINT64_MAX, visible, &got);
	assert_string_equal((char *)got.data, want);
	buf_free(&got);
}

TEST(markers_go_only_where_nothing_older_lies_deeper)
{
	static const struct array_cell old[] = {{"a", "q", 10, PUT, 1, 0, "A"},
						{"b", "q", 10, PUT, 2, 0, "B"}};
	static const struct array_cell deletes[] = {
		{"a", "q", 50, CELL_DELETE_COLUMN, 3},
		{"c", "q", 50, CELL_DELETE_COLUMN, 4}};
	static const struct array_cell later[] = {
		{"a", "q", 20, PUT, 5, 0, "C"}};
	struct compaction c = {.from = 0, .to = 1};
	struct world w;

	world_open(&w);
	assert_int_equal(flush(&w, old, 2), 0);
	assert_int_equal(compact_all(&w), 0);
	/* From level 1 it goes down to level 2. */
	c = (struct compaction){.from = 1, .to = 2, .trivial = true};
	c.inputs[0] = &w.levels->level[1].files[0];
	c.ninputs[0] = 1;
	assert_int_equal(compact(&w, &c), 0);
	assert_int_equal(w.levels->level[2].nfiles, 1);
	assert_int_equal(flush(&w, deletes, 2), 0);
	assert_int_equal(flush(&w, later, 1), 0);
	c = (struct compaction){.from = 0, .to = 1};
	c.inputs[0] = w.levels->level[0].files;
	c.ninputs[0] = 2;
	assert_int_equal(compact(&w, &c), 0);
	assert_tree(&w, false, "a/q:50.3= a/q:20.5=C a/q:10.0=A b/q:10.0=B ");
	assert_tree(&w, true, "a/q:20.0=C b/q:10.0=B ");
	assert_int_equal(compact_all(&w), 0);
	assert_tree(&w, false, "a/q:20.0=C b/q:10.0=B ");
	assert_int_equal(files_on_disk(&w), 1);
	world_close(&w);
}

/* What a flush leaves out of what expired is what hides nothing in a file. */
TEST(a_flush_keeps_what_expired_over_an_older_file)
{
	static const struct array_cell old[] = {{"b", "q", 10, PUT, 1, 0, "A"}};
	static const struct array_cell over[] = {
		{"a", "q", 10, PUT, 2, 0, "B"}, {"b", "q", 10, PUT, 3, 0, "C"}};
	struct world w;

	world_open(&w);
	assert_int_equal(flush(&w, old, 1), 0);
	w.attrs.ttl_ms = NOW - 11;
	assert_int_equal(flush(&w, over, 2), 0);
	assert_tree(&w, false, "b/q:10.3=C b/q:10.1=A ");
	assert_int_equal(compact_all(&w), 0);
	assert_int_equal(files_in_levels(&w), 0);
	assert_int_equal(flush(&w, over, 2), 0);
	assert_int_equal(files_in_levels(&w), 0);
	world_close(&w);
}

TEST(what_is_all_deleted_leaves_no_file)
{
	static const struct array_cell cells[] = {
		{"a", "q", 50, CELL_DELETE_COLUMN, 2},
		{"a", "q", 20, PUT, 1, 0, "C"}};
	struct world w;

	world_open(&w);
	assert_int_equal(flush(&w, cells, 2), 0);
	assert_int_equal(compact_all(&w), 0);
	assert_int_equal(files_in_levels(&w), 0);
	assert_int_equal(files_on_disk(&w), 0);
	assert_int_equal(compact_all(&w), 0);
	world_close(&w);
}

static uint64_t rng = 1;

static uint32_t chance(uint32_t n)
{
	return (uint32_t)((xorshift(&rng) >> 11) % n);
}

static const char *const rows[] = {"a",	 "aa", "b",  "c",  "ca", "d",  "e",
				   "ea", "f",  "g",  "h",  "ha", "hb", "i",
				   "j",	 "k",  "ka", "kb", "l",	 "m"};
static const char *const qualifiers[] = {"", "p", "q"};
static const char filler[] =
	"the value is long enough for a few rows to fill a small file, so that "
	"a few hundred of them make levels and are cut into files at the rows";

/* A batch of cells with sequences from *seq on, sorted. */
static size_t invent(struct array_cell *cells, size_t max, uint64_t *seq,
		     uint32_t first_row, uint32_t nrows)
{
	static const uint8_t kinds[] = {CELL_DELETE, CELL_DELETE_FAMILY_VERSION,
					CELL_DELETE_COLUMN, CELL_DELETE_FAMILY};
	size_t n = 1 + chance((uint32_t)max);

	for (size_t i = 0; i < n; i++) {
		struct array_cell *a = &cells[i];
		bool marker = chance(5) == 0;

		*a = (struct array_cell){
			.row = rows[first_row + chance(nrows)],
			.qualifier = qualifiers[chance(3)],
			.ts = 10 * (1 + chance(6)),
			.kind = marker ? kinds[chance(4)] : PUT,
			.seq = ++*seq,
		};
		if (!marker)
			a->value = filler + chance(100);
		if (kind_is_family_marker(a->kind))
			a->qualifier = "";
	}
	array_sort(cells, n);
	return n;
}

/*
 * The same writes into two trees: one that is never compacted, one that is as
 * often as it is due. Now and then everything, with a snapshot or without.
 */
TEST(compaction_changes_nothing_that_is_seen)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct array_cell cells[64];
		struct world plain_w, w;
		struct buf want = {0}, got = {0};
		uint64_t seq = 0;
		int r;

		rng = seed * 0x9e3779b97f4a7c15u;
		world_open(&plain_w);
		world_open(&w);
		w.attrs.versions = plain_w.attrs.versions = 1 + chance(3);
		for (int i = 0; i < 25; i++) {
			uint32_t from = chance(15);
			size_t n = invent(cells, 60, &seq, from,
					  1 + chance(20 - from));

			assert_int_equal(flush(&plain_w, cells, n), 0);
			assert_int_equal(flush(&w, cells, n), 0);
			if (chance(6) == 0) {
				w.snapshots[0] = seq;
				w.nsnapshots = 1;
			}
			while ((r = compact_if_due(&w)) == 1)
				;
			assert_int_equal(r, 0);
			if (chance(4) == 0)
				compact_at_rest(&w);
			if (chance(12) == 0)
				assert_int_equal(compact_all(&w), 0);
			for (size_t k = 0; k <= w.nsnapshots; k++) {
				uint64_t at = k < w.nsnapshots ? w.snapshots[k]
							       : UINT64_MAX;

				dump(&plain_w, at, true, &want);
				dump(&w, at, true, &got);
				if (strcmp((char *)want.data, (char *)got.data))
					print_message("seed %d\n", (int)seed);
				assert_string_equal((char *)got.data,
						    (char *)want.data);
			}
			assert_int_equal(files_on_disk(&w),
					 files_in_levels(&w));
		}
		buf_free(&want);
		buf_free(&got);
		world_close(&w);
		world_close(&plain_w);
	}
}

static void prepare_two_files(struct world *w)
{
	struct array_cell cells[64];
	uint64_t seq = 0;

	rng = 7;
	world_open(w);
	for (int i = 0; i < 3; i++) {
		size_t n = invent(cells, 64, &seq, 0, 20);

		assert_int_equal(flush(w, cells, n), 0);
	}
}

TEST(a_failure_leaves_inputs_and_no_outputs)
{
	static const int errors[] = {ENOSPC, EIO};
	struct buf want = {0}, got = {0};
	struct world w;

	prepare_two_files(&w);
	dump(&w, UINT64_MAX, true, &want);
	for (uint64_t nth = 1;; nth++) {
		struct fault_plan plan = {
			.kinds = FAULT_OPEN | FAULT_PREAD | FAULT_PWRITE |
				 FAULT_FDATASYNC | FAULT_ALLOCATE |
				 FAULT_TRUNCATE | FAULT_SIZE,
			.nth = nth,
			.err = errors[nth % 2],
		};
		uint64_t fired;
		int r;

		fault_arm(w.faulty, &plan);
		r = compact_if_due(&w);
		fired = fault_fired(w.faulty);
		fault_disarm(w.faulty);
		if (fired == 0) {
			assert_int_equal(r, 1);
			assert_true(nth > 5);
			break;
		}
		assert_true(r < 0);
		assert_int_equal(files_on_disk(&w), 3);
		assert_int_equal(files_in_levels(&w), 3);
		dump(&w, UINT64_MAX, true, &got);
		assert_string_equal((char *)got.data, (char *)want.data);
	}
	dump(&w, UINT64_MAX, true, &got);
	assert_string_equal((char *)got.data, (char *)want.data);
	buf_free(&want);
	buf_free(&got);
	world_close(&w);
}

TEST(it_stops_when_it_is_told_to)
{
	static char names[1000][16];
	static struct array_cell cells[1000];
	struct world w;

	world_open(&w);
	for (int i = 0; i < 1000; i++) {
		snprintf(names[i], sizeof(names[i]), "r%04d", i);
		cells[i] = (struct array_cell){names[i], "q", 10, PUT,
					       (uint64_t)i + 1};
	}
	assert_int_equal(flush(&w, cells, 1000), 0);
	w.stop = true;
	assert_int_equal(compact_all(&w), -ECANCELED);
	assert_int_equal(files_on_disk(&w), 1);
	w.stop = false;
	assert_int_equal(compact_all(&w), 0);
	assert_true(files_on_disk(&w) > 1);
	world_close(&w);
}
