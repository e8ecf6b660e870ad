/* The engine's statistics, one figure a call, for people and for metrics. */
#include "store/lsm/admin/admin.h"
#include "store/lsm/block/cache.h"
#include "store/lsm/state/superversion.h"

struct figure {
	const char *name, *help;
	bool counter;
	uint64_t (*read)(struct lsm *db);
};

static uint64_t memtable_used(struct lsm *db)
{
	uint64_t n;

	pthread_mutex_lock(&db->state);
	n = memtable_bytes(db->reading);
	for (uint32_t i = 0; i < db->nfrozen; i++)
		n += memtable_bytes(db->frozen[i].mem);
	pthread_mutex_unlock(&db->state);
	return n;
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
	(void)t;
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

static uint64_t files(struct lsm *db)
{
	return sum_files(db, -1, one);
}
static uint64_t table_bytes(struct lsm *db)
{
	return sum_files(db, -1, file_bytes);
}
static uint64_t table_entries(struct lsm *db)
{
	return sum_files(db, -1, file_entries);
}
static uint64_t table_memory(struct lsm *db)
{
	return sum_files(db, -1, file_memory);
}
static uint64_t file_damaged(const struct sstable *t)
{
	return sst_is_damaged(t);
}
static uint64_t damaged(struct lsm *db)
{
	return sum_files(db, -1, file_damaged);
}
static uint64_t tables(struct lsm *db)
{
	uint64_t n;

	pthread_mutex_lock(&db->state);
	n = db->ntables;
	pthread_mutex_unlock(&db->state);
	return n;
}

static struct wal_stat log_stat(struct lsm *db)
{
	struct wal_stat st = {0};

	wal_stat(db->wal, &st);
	return st;
}
static uint64_t log_records(struct lsm *db)
{
	return log_stat(db).records;
}
static uint64_t log_bytes(struct lsm *db)
{
	return log_stat(db).bytes;
}
static uint64_t log_syncs(struct lsm *db)
{
	return log_stat(db).syncs;
}
static uint64_t log_segments(struct lsm *db)
{
	return log_stat(db).segments;
}

static struct block_cache_stat cache_stat(struct lsm *db)
{
	struct block_cache_stat st = {0};

	block_cache_stat(db->cache, &st);
	return st;
}
static uint64_t cache_hits(struct lsm *db)
{
	return cache_stat(db).hits;
}
static uint64_t cache_misses(struct lsm *db)
{
	return cache_stat(db).misses;
}
static uint64_t cache_hollow(struct lsm *db)
{
	return cache_stat(db).hollow;
}

static uint64_t cache_bare(struct lsm *db)
{
	return cache_stat(db).bare;
}
static uint64_t cache_bytes(struct lsm *db)
{
	return cache_stat(db).bytes;
}
static uint64_t cache_bytes_max(struct lsm *db)
{
	return cache_stat(db).bytes_max;
}

#define COUNT(field)                                  \
	static uint64_t count_##field(struct lsm *db) \
	{                                             \
		return atomic_load(&db->stats.field); \
	}
COUNT(flushes)
COUNT(flush_bytes)
COUNT(compactions)
COUNT(compaction_in)
COUNT(compaction_out)
COUNT(stalls)
COUNT(stall_ns)
COUNT(user_bytes)

static uint64_t recovered_segments(struct lsm *db)
{
	return log_stat(db).replayed;
}
static uint64_t recovered_records(struct lsm *db)
{
	return db->stats.recovered_records;
}
static uint64_t recovery_ns(struct lsm *db)
{
	return db->stats.recovery_ns;
}

static uint64_t walked_in_vain(struct lsm *db)
{
	return atomic_load(&db->alive.walked);
}

static uint64_t last_seq(struct lsm *db)
{
	return atomic_load(&db->seq);
}

static const struct figure figures[] = {
	{"tables", "tables", false, tables},
	{"sequence", "last sequence given to a change", false, last_seq},
	{"memtable_bytes", "memory of unflushed cells", false, memtable_used},
	{"sstables", "table files", false, files},
	{"sstables_damaged", "table files of which something cannot be read",
	 false, damaged},
	{"sstable_bytes", "size of the table files", false, table_bytes},
	{"sstable_cells", "stored cells, hidden ones and markers included",
	 false, table_entries},
	{"sstable_memory_bytes", "memory of indexes and filters", false,
	 table_memory},
	{"cache_hits_total", "blocks found in the block cache", true,
	 cache_hits},
	{"cache_misses_total", "blocks read from disk", true, cache_misses},
	{"cache_bare_blocks", "blocks in the cache without their values", false,
	 cache_bare},
	{"cache_hollow_blocks", "blocks in the cache of which only sums are",
	 false, cache_hollow},
	{"cache_bytes", "block cache in use", false, cache_bytes},
	{"cache_limit_bytes", "block cache bound", false, cache_bytes_max},
	{"wal_records_total", "records written to the log", true, log_records},
	{"wal_bytes_total", "bytes written to the log", true, log_bytes},
	{"wal_syncs_total", "syncs of the log", true, log_syncs},
	{"wal_segments", "segments of the log", false, log_segments},
	{"recovered_segments", "segments of the log that opening replayed",
	 false, recovered_segments},
	{"recovered_records", "records in them and in the log's ring", false,
	 recovered_records},
	{"recovery_ns", "how long that took", false, recovery_ns},
	{"user_bytes_total", "bytes of changes as they came", true,
	 count_user_bytes},
	{"flushes_total", "memtables written to files", true, count_flushes},
	{"flush_bytes_total", "bytes that flushes wrote", true,
	 count_flush_bytes},
	{"compactions_total", "merges of files", true, count_compactions},
	{"compaction_read_bytes_total", "bytes that compactions read", true,
	 count_compaction_in},
	{"compaction_write_bytes_total", "bytes that compactions wrote", true,
	 count_compaction_out},
	{"hidden_walked_total",
	 "stored cells and columns that reads walked over and did not show; "
	 "the "
	 "first 31 of each column are not counted",
	 true, walked_in_vain},
	{"stalls_total", "times that writers waited for flush or compaction",
	 true, count_stalls},
	{"stall_ns_total", "how long they waited", true, count_stall_ns},
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
		.value = figures[i].read(lsm_of(s)),
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
