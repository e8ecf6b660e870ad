/* The engine's statistics, one figure a call, for people and for metrics. */
#include "store/lsm/admin/admin.h"

#include <stddef.h>

#include "store/lsm/background/background.h"
#include "store/lsm/block/cache.h"
#include "store/lsm/state/superversion.h"

/* Where a figure is: a field of a struct, a sum over files, or computed. */
enum source {
	OF_STORE, /* struct lsm: an atomic number, or one set before it opened */
	OF_LOG,	  /* struct wal_stat */
	OF_CACHE, /* struct block_cache_stat */
	OF_FILES,
	COMPUTED,
};

struct figure {
	const char *name, *help;
	bool counter;
	enum source source;
	size_t at; /* of a field */
	uint64_t (*of)(const struct sstable *t);
	uint64_t (*read)(struct lsm *db);
};

static uint64_t frozen_bytes(struct lsm *db)
{
	uint64_t n = 0;

	pthread_mutex_lock(&db->state);
	for (uint32_t i = 0; i < db->nfrozen; i++)
		n += memtable_bytes(db->frozen[i].mem);
	pthread_mutex_unlock(&db->state);
	return n;
}

static uint64_t memtable_used(struct lsm *db)
{
	uint64_t n;

	pthread_mutex_lock(&db->state);
	n = memtable_bytes(db->reading);
	pthread_mutex_unlock(&db->state);
	return n + frozen_bytes(db);
}

/* Sums a figure over the files of all tables. */
static uint64_t sum_files(struct lsm *db, int level,
			  uint64_t (*of)(const struct sstable *t))
{
	struct tree_walk w = {0};
	uint64_t n = 0;

	pthread_mutex_lock(&db->state);
	while (trees_next(db, &w)) {
		struct levels *l = w.tree->levels;

		for (int v = 0; v < LEVELS_MAX; v++) {
			if (level >= 0 && v != level)
				continue;
			for (uint32_t f = 0; f < l->level[v].nfiles; f++)
				n += of(l->level[v].files[f]);
		}
	}
	pthread_mutex_unlock(&db->state);
	return n;
}

static uint64_t one(const struct sstable *t)
{
	return 1;
}
static uint64_t file_bytes(const struct sstable *t)
{
	return sst_info(t)->file_bytes;
}
static uint64_t file_entries(const struct sstable *t)
{
	return sst_info(t)->entries;
}
static uint64_t file_memory(const struct sstable *t)
{
	return sst_memory(t);
}

static uint64_t file_damaged(const struct sstable *t)
{
	return sst_is_damaged(t);
}

static uint64_t tables(struct lsm *db)
{
	uint64_t n;

	pthread_mutex_lock(&db->state);
	n = db->ntables;
	pthread_mutex_unlock(&db->state);
	return n;
}

static uint64_t field_at(const void *base, size_t at)
{
	return atomic_load((const _Atomic uint64_t *)((const char *)base + at));
}

static uint64_t figure_now(const struct figure *f, struct lsm *db)
{
	struct block_cache_stat cache = {0};
	struct wal_stat log = {0};

	switch (f->source) {
	case OF_STORE:
		return field_at(db, f->at);
	case OF_LOG:
		wal_stat(db->wal, &log);
		return field_at(&log, f->at);
	case OF_CACHE:
		block_cache_stat(db->cache, &cache);
		return field_at(&cache, f->at);
	case OF_FILES:
		return sum_files(db, -1, f->of);
	default:
		return f->read(db);
	}
}

/* A field of eight bytes; other sizes do not compile. */
#define FIELD(kind, type, field)      \
	.source = (kind),             \
	.at = offsetof(type, field) + \
	      0 / (sizeof(((type *)0)->field) == sizeof(uint64_t))
#define STORE(field) FIELD(OF_STORE, struct lsm, field)
#define LOG(field) FIELD(OF_LOG, struct wal_stat, field)
#define CACHE(field) FIELD(OF_CACHE, struct block_cache_stat, field)
#define FILES(function) .source = OF_FILES, .of = (function)

static const struct figure figures[] = {
	{"tables", "tables", false, .source = COMPUTED, .read = tables},
	{"sequence", "last sequence given to a change", false, STORE(seq)},
	{"memtable_bytes", "memory of unflushed cells", false,
	 .source = COMPUTED, .read = memtable_used},
	{"sstables", "table files", false, FILES(one)},
	{"sstables_damaged", "table files of which something cannot be read",
	 false, FILES(file_damaged)},
	{"sstable_bytes", "size of the table files", false, FILES(file_bytes)},
	{"sstable_cells", "stored cells, hidden ones and markers included",
	 false, FILES(file_entries)},
	{"sstable_memory_bytes", "memory of indexes and filters", false,
	 FILES(file_memory)},
	{"cache_hits_total", "blocks found in the block cache", true,
	 CACHE(hits)},
	{"cache_misses_total", "blocks read from disk", true, CACHE(misses)},
	{"cache_bare_blocks", "blocks in the cache without their values", false,
	 CACHE(bare)},
	{"cache_hollow_blocks", "blocks in the cache of which only sums are",
	 false, CACHE(hollow)},
	{"cache_bytes", "block cache in use", false, CACHE(bytes)},
	{"cache_limit_bytes", "block cache bound", false, CACHE(bytes_max)},
	{"wal_records_total", "records written to the log", true, LOG(records)},
	{"wal_bytes_total", "bytes written to the log", true, LOG(bytes)},
	{"wal_syncs_total", "syncs of the log", true, LOG(syncs)},
	{"wal_segments", "segments of the log", false, LOG(segments)},
	{"wal_kept_bytes",
	 "bytes of the log that are kept for restoring a moment", false,
	 LOG(kept_bytes)},
	{"recovered_segments", "segments of the log that opening replayed",
	 false, LOG(replayed)},
	{"recovered_records", "records in them and in the log's ring", false,
	 STORE(stats.recovered_records)},
	{"recovery_ns", "how long that took", false, STORE(stats.recovery_ns)},
	{"user_bytes_total", "bytes of changes as they came", true,
	 STORE(stats.user_bytes)},
	{"flushes_total", "memtables written to files", true,
	 STORE(stats.flushes)},
	{"flush_bytes_total", "bytes that flushes wrote", true,
	 STORE(stats.flush_bytes)},
	{"compactions_total", "merges of files", true,
	 STORE(stats.compactions)},
	{"compaction_read_bytes_total", "bytes that compactions read", true,
	 STORE(stats.compaction_in)},
	{"compaction_write_bytes_total", "bytes that compactions wrote", true,
	 STORE(stats.compaction_out)},
	{"compaction_paced_ns_total",
	 "how long compactions were held back by a limit", true,
	 STORE(stats.paced_ns)},
	{"compaction_pending_bytes",
	 "bytes of files that compactions are due for", false,
	 .source = COMPUTED, .read = compact_pending},
	{"flush_pending_bytes", "memory that waits to be written to files",
	 false, .source = COMPUTED, .read = frozen_bytes},
	{"hidden_walked_total",
	 "stored cells and columns that reads walked over and did not show; "
	 "the first 31 of each column are not counted",
	 true, STORE(alive.walked)},
	{"stalls_total", "times that writers waited for flush or compaction",
	 true, STORE(stats.stalls)},
	{"stall_ns_total", "how long they waited", true, STORE(stats.stall_ns)},
};

/* Figures of each level, level by level, behind the others. */
#define LEVEL_NAMES(name)                                           \
	{                                                           \
		name "{level=\"0\"}", name "{level=\"1\"}",         \
			name "{level=\"2\"}", name "{level=\"3\"}", \
			name "{level=\"4\"}", name "{level=\"5\"}", \
			name "{level=\"6\"}"                        \
	}

static const struct {
	const char *names[LEVELS_MAX], *help;
	uint64_t (*of)(const struct sstable *t);
} level_figures[] = {
	{LEVEL_NAMES("level_sstables"), "table files of a level", one},
	{LEVEL_NAMES("level_bytes"), "size of the table files of a level",
	 file_bytes},
};

static int level_stat(struct lsm *db, unsigned i, struct store_stat *out)
{
	unsigned which = i / LEVELS_MAX, level = i % LEVELS_MAX;

	if (which >= sizeof(level_figures) / sizeof(level_figures[0]))
		return 0;
	*out = (struct store_stat){
		.name = level_figures[which].names[level],
		.help = level_figures[which].help,
		.value = sum_files(db, (int)level, level_figures[which].of),
	};
	return 1;
}

int lsm_stat(struct store *s, unsigned i, struct store_stat *out)
{
	const unsigned n = sizeof(figures) / sizeof(figures[0]);

	if (i >= n)
		return level_stat(lsm_of(s), i - n, out);
	*out = (struct store_stat){
		.name = figures[i].name,
		.help = figures[i].help,
		.counter = figures[i].counter,
		.value = figure_now(&figures[i], lsm_of(s)),
	};
	return 1;
}

struct held { /* counted in one family */
	uint64_t rows, cells;
};

static void add_times(struct table_info *out, int64_t ts_min, int64_t ts_max)
{
	if (ts_min < out->oldest)
		out->oldest = ts_min;
	if (ts_max > out->newest)
		out->newest = ts_max;
}

static void add_files(struct table_info *out, struct held *held,
		      const struct level *level)
{
	for (uint32_t f = 0; f < level->nfiles; f++) {
		const struct sst_info *i = sst_info(level->files[f]);

		out->files++;
		out->damaged += sst_is_damaged(level->files[f]);
		out->bytes += i->file_bytes;
		out->entries += i->entries;
		held->rows += i->rows;
		held->cells += i->entries - i->markers;
		add_times(out, i->ts_min, i->ts_max);
		out->has_ttl |= i->has_ttl;
	}
}

static void add_memory(struct table_info *out, struct held *held,
		       struct memtable *mt, uint32_t tree)
{
	struct memtree_stat st;

	if (!memtable_tree_stat(mt, tree, &st))
		return;
	out->entries += st.entries;
	held->rows += st.rows;
	held->cells += st.entries;
	add_times(out, st.ts_min, st.ts_max);
	out->has_ttl |= st.has_ttl;
}

int lsm_table_info(struct table *base, struct table_info *out)
{
	struct lsm *db = lsm_of(base->store);
	struct superversion *v;
	uint64_t seq;
	int r = superversion_take(db, reader_slot(db), (struct lsm_table *)base,
				  &v, &seq);

	if (r < 0)
		return r;
	out->oldest = INT64_MAX;
	out->newest = INT64_MIN;
	for (uint32_t i = 0; i < v->st->schema.nfamilies; i++) {
		struct held held = {0};

		for (int k = 0; k < LEVELS_MAX; k++)
			add_files(out, &held, &v->levels[i]->level[k]);
		for (uint32_t k = 0; k < v->nmem; k++)
			add_memory(out, &held, v->mem[k], v->st->trees[i]->id);
		out->cells += held.cells;
		/*
		 * Most rows have cells in several families: take the largest
		 * count.
		 */
		if (held.rows > out->rows)
			out->rows = held.rows;
	}
	superversion_give(db, reader_slot(db), v);
	return 0;
}
