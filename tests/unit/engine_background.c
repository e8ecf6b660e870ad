/* What the engine does by itself: flushes, merges, and when it does none. */
#include <dirent.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store/lsm/background/background.h"
#include "store/lsm/state/full.h"
#include "store/lsm/state/tombstone_stats.h"
#include "store/lsm/wal/wal_live.h"
#include "store/os/clock.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/engine.h"

/* Until when the thread waits, and for how long that was when it began to. */
static _Thread_local uint64_t waits_until, waits_ns;
/* How often a log was synced by the clock, and the longest wait before one. */
static _Atomic uint64_t ticks, tick_ns_max;

/* Who waits for this condition waits for a minute more, and only for a flush. */
static pthread_cond_t *_Atomic of_flush;
static _Atomic int waits_for_none;
/* Who waits for this one is woken, or waits for ever. */
static pthread_cond_t *_Atomic of_work;
static _Atomic int sleepers;

bool __real_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns);
bool __wrap_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns);
bool __wrap_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns)
{
	uint64_t now = monotonic_ns();

	if (until_ns != waits_until)
		waits_ns = until_ns > now ? until_ns - now : 0;
	waits_until = until_ns;
	if (cond == of_flush) {
		waits_for_none += lsm_of(the.store)->nfrozen == 0;
		until_ns += 60 * NS_PER_S;
	}
	if (cond == of_work) {
		sleepers++;
		pthread_cond_wait(cond, lock);
		sleepers--;
		return true;
	}
	return __real_clock_cond_wait(cond, lock, until_ns);
}

int __real_wal_tick(struct wal *w);
int __wrap_wal_tick(struct wal *w);
int __wrap_wal_tick(struct wal *w)
{
	int r = __real_wal_tick(w);

	/* The thread of another store may look at the same time. */
	if (waits_ns > atomic_load(&tick_ns_max))
		atomic_store(&tick_ns_max, waits_ns);
	atomic_fetch_add(&ticks, 1);
	return r;
}

/* Each wait for this condition is the call instead. */
static pthread_cond_t *waited;
static void (*meanwhile)(void);

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	if (cond != waited)
		return __real_pthread_cond_wait(cond, lock);
	pthread_mutex_unlock(lock);
	meanwhile();
	pthread_mutex_lock(lock);
	return 0;
}

/* What flushes_total is as soon as nothing waits for a flush any more. */
static uint64_t flushes_seen;

void __real_superversions_sweep(struct lsm *db);
void __wrap_superversions_sweep(struct lsm *db);
void __wrap_superversions_sweep(struct lsm *db)
{
	flushes_seen = atomic_load(&db->stats.flushes);
	__real_superversions_sweep(db);
}

SMALL(who_waited_for_a_flush_finds_it_counted)
{
	assert_int_equal(temp_put(&the, "a", "f", "q", TS_AUTO, "v"), 1);
	flushes_seen = 0;
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_int_equal(flushes_seen, 1);
}

USUAL(what_nobody_syncs_waits_for_no_more_than_a_second)
{
	uint64_t before = atomic_load(&ticks);

	assert_int_equal(temp_put(&the, "a", "f", "q", TS_AUTO, "v"), 1);
	/* A thread that is held up before it waits, waits for nothing. */
	for (int i = 0; i < 60000 && (atomic_load(&ticks) == before ||
				      atomic_load(&tick_ns_max) == 0);
	     i++)
		usleep(1000);
	assert_true(atomic_load(&ticks) > before);
	assert_in_range(atomic_load(&tick_ns_max), 1, NS_PER_S);
}

/* Blocks that came into the cache by the work, and by a read of all. */
static void warmed(bool compact, uint64_t *work, uint64_t *read)
{
	uint64_t begin = stat_of(the.store, "cache_misses_total"), end;
	char row[16];

	rewrite();
	assert_int_equal(compact ? store_compact(the.store, NULL)
				 : store_flush(the.store, NULL),
			 0);
	end = stat_of(the.store, "cache_misses_total");
	*work = end - begin;
	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "r%04d", i);
		assert_non_null(temp_get(&the, row, "f", "q"));
	}
	*read = stat_of(the.store, "cache_misses_total") - end;
}

USUAL(new_files_come_with_their_blocks_to_who_reads)
{
	uint64_t work, read;

	/* Nobody has read yet: nobody is served before he does. */
	warmed(false, &work, &read);
	assert_int_equal(work, 0);
	assert_true(read > 0);
	for (int compact = 0; compact < 2; compact++) {
		warmed(compact, &work, &read);
		assert_true(work > 0);
		assert_int_equal(read, 0);
	}
}

USUAL(a_block_of_a_mebibyte_waits_for_who_reads_it)
{
	size_t len = (1 << 20) + 1;
	char *value = calloc(1, len + 1);
	uint64_t begin;

	assert_non_null(value);
	memset(value, 'v', len);
	assert_int_equal(temp_put(&the, "a", "f", "q", TS_AUTO, value), 1);
	assert_int_equal(temp_put(&the, "b", "f", "q", TS_AUTO, "small"), 1);
	assert_non_null(temp_get(&the, "b", "f", "q"));
	begin = stat_of(the.store, "cache_misses_total");
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_int_equal(stat_of(the.store, "cache_misses_total"), begin + 1);
	assert_non_null(temp_get(&the, "b", "f", "q"));
	assert_int_equal(stat_of(the.store, "cache_misses_total"), begin + 1);
	assert_string_equal(temp_get(&the, "a", "f", "q"), value);
	assert_int_equal(stat_of(the.store, "cache_misses_total"), begin + 2);
	free(value);
}

/* Threads of this process that are so much nicer than it. */
static unsigned threads_nicer_by(int n)
{
	int own = getpriority(PRIO_PROCESS, 0);
	DIR *tasks = opendir("/proc/self/task");
	unsigned found = 0;
	struct dirent *d;

	assert_non_null(tasks);
	while ((d = readdir(tasks)))
		if (d->d_name[0] != '.')
			found += getpriority(PRIO_PROCESS,
					     (id_t)atoi(d->d_name)) == own + n;
	closedir(tasks);
	return found;
}

/* So many threads give way, sooner or later. */
static void assert_become_nicer(unsigned n)
{
	for (int i = 0; i < 12000; i++) {
		if (threads_nicer_by(THREAD_GIVES_WAY) == n)
			break;
		usleep(5000);
	}
	assert_int_equal(threads_nicer_by(THREAD_GIVES_WAY), n);
}

USUAL(flush_and_compaction_give_way_to_callers)
{
	/* There is nothing nicer than 19. */
	if (getpriority(PRIO_PROCESS, 0) + THREAD_GIVES_WAY > 19)
		skip();
	/* They may not have begun yet. */
	assert_become_nicer(2);
	assert_true(threads_nicer_by(0) >= 2);
	assert_int_equal(temp_close(&the), 0);
	/* The system lists a thread for a moment after it was joined. */
	assert_become_nicer(0);
	assert_int_equal(temp_open(&the), 0);
}

/* Three cells a row, so that memtables fill in the middle of one. */
SMALL(what_is_written_in_order_is_not_merged)
{
	char row[16], value[64];

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	for (int i = 0; i < 3000; i++) {
		snprintf(row, sizeof(row), "%06d", i / 3);
		assert_int_equal(temp_put(&the, row, "f",
					  i % 3 == 0   ? "a"
					  : i % 3 == 1 ? "b"
						       : "c",
					  i, value),
				 1);
	}
	assert_true(stat_of(the.store, "flushes_total") > 12);
	assert_true(stat_of(the.store, "level_sstables{level=\"0\"}") <= 14);
	assert_int_equal(stat_of(the.store, "compactions_total"), 0);
	assert_string_equal(temp_get(&the, "000500", "f", "b"), value);
}

/* Merged by a thread: it is waited for, as long as it takes. */
USUAL(what_was_flushed_is_merged_when_nobody_writes)
{
	char value[16];

	assert_int_equal(temp_close(&the), 0);
	the.options.table_file_bytes = 1024;
	assert_int_equal(temp_open(&the), 0);
	for (int i = 0; i < 3; i++) {
		snprintf(value, sizeof(value), "%d", i);
		assert_int_equal(temp_put(&the, "a", "f", "q", i + 1, value),
				 1);
		assert_int_equal(temp_put(&the, "b", "f", "q", i + 1, value),
				 1);
		assert_int_equal(store_flush(the.store, NULL), 0);
	}
	for (int i = 0; i < 12000 && stat_of(the.store, "sstables") > 1; i++)
		usleep(5000);
	assert_int_equal(stat_of(the.store, "sstables"), 1);
	assert_int_equal(stat_of(the.store, "level_sstables{level=\"0\"}"), 0);
	assert_string_equal(temp_get(&the, "b", "f", "q"), "2");
}

/* Is one but the caller at work, or waits for a processor? */
static bool a_thread_runs(void)
{
	DIR *tasks = opendir("/proc/self/task");
	bool runs = false;
	struct dirent *e;

	assert_non_null(tasks);
	while ((e = readdir(tasks))) {
		char path[300], text[64] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat",
			 e->d_name);
		/* Not "..", either. */
		if (atoi(e->d_name) == 0 || atoi(e->d_name) == gettid())
			continue;
		f = fopen(path, "r");
		if (!f)
			continue;
		runs |= fgets(text, sizeof(text), f) && strstr(text, ") R ");
		fclose(f);
	}
	closedir(tasks);
	return runs;
}

/* Its threads wait for work: the state is waited for, as long as it takes. */
USUAL(a_store_that_nobody_uses_sleeps)
{
	int asleep = 0;

	assert_int_equal(temp_put(&the, "a", "f", "q", 1, "v"), 1);
	assert_int_equal(store_flush(the.store, NULL), 0);
	for (int i = 0; i < 60000 && asleep < 10; i++) {
		asleep = a_thread_runs() ? 0 : asleep + 1;
		usleep(1000);
	}
	assert_int_equal(asleep, 10);
}

USUAL(level_0_may_be_deep_until_somebody_reads)
{
	for (int i = 0; i < 20; i++) {
		assert_int_equal(temp_put(&the, "a", "f", "q", i + 1, "v"), 1);
		assert_int_equal(store_flush(the.store, NULL), 0);
	}
	assert_int_equal(stat_of(the.store, "level_sstables{level=\"0\"}"), 20);
	assert_int_equal(stat_of(the.store, "compactions_total"), 0);
	assert_string_equal(temp_get(&the, "a", "f", "q"), "v");
	for (int i = 0;
	     i < 12000 && stat_of(the.store, "level_sstables{level=\"0\"}");
	     i++)
		usleep(5000);
	assert_int_equal(stat_of(the.store, "level_sstables{level=\"0\"}"), 0);
}

/* How many versions of row000 f:q are seen when 20 are kept. */
static int versions_of_twenty(void)
{
	struct scan_spec spec = {
		.granularity = SCAN_CELLS,
		.row_start = bytes_str("row000"),
		.row_stop = bytes_str("row000"),
		.row_stop_inclusive = true,
	};
	struct schema schema;
	struct cell cell;
	struct scan *sc;
	int n = 0;

	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[0].attrs.versions = 20;
	assert_int_equal(table_alter(the.table, &schema, false), 0);
	schema_free(&schema);
	assert_int_equal(scan_open(the.table, &spec, &sc), 0);
	while (scan_next(sc, &cell) > 0)
		n++;
	scan_close(sc);
	return n;
}

/* Twelve versions of each row, merged by then. */
static void put_twelve(void)
{
	char row[16], value[64];

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	for (int version = 1; version <= 12; version++)
		for (int i = 0; i < 200; i++) {
			snprintf(row, sizeof(row), "row%03d", i);
			assert_int_equal(
				temp_put(&the, row, "f", "q", version, value),
				1);
		}
	assert_true(stat_of(the.store, "compactions_total") > 0);
}

/* A restore can put rows before it comes to the schema. */
SMALL(a_new_table_keeps_all_versions_until_it_has_a_schema)
{
	put_twelve();
	assert_int_equal(versions_of_twenty(), 12);
}

SMALL(a_new_table_loses_versions_when_asked_to_compact)
{
	put_twelve();
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_int_equal(versions_of_twenty(), 3);
}

/* All versions are to be kept now, and the merge that ran ends. */
static void raise_versions(void)
{
	struct lsm *db = lsm_of(the.store);

	waited = NULL;
	assert_int_equal(versions_of_twenty(), 12);
	pthread_mutex_lock(&db->state);
	db->tables[0]->now->trees[0]->compacting = false;
	db->compacting--;
	pthread_mutex_unlock(&db->state);
}

SMALL(who_waited_to_compact_goes_by_the_schema_of_then)
{
	struct lsm *db = lsm_of(the.store);

	put_twelve();
	db->tables[0]->now->trees[0]->compacting = true;
	db->compacting++;
	waited = &db->done;
	meanwhile = raise_versions;
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_null(waited);
	assert_int_equal(versions_of_twenty(), 12);
}

/* How often a flush waited beside a writer that fills memory meanwhile. */
static int waits;

static void flush_and_write(void)
{
	struct lsm *db = lsm_of(the.store);

	assert_int_equal(flush_one(db), 1);
	if (++waits == 10) {
		waited = NULL;
		return;
	}
	assert_int_equal(temp_put(&the, "a", "f", "q", TS_AUTO, "v"), 1);
	pthread_mutex_lock(&db->commit);
	assert_int_equal(commit_freeze(db, 0), 0);
	pthread_mutex_unlock(&db->commit);
	assert_int_equal(temp_put(&the, "a", "f", "q", TS_AUTO, "v"), 1);
}

USUAL(a_flush_waits_for_what_was_there_and_no_longer)
{
	struct lsm *db;

	for (int frozen = 0; frozen < 2; frozen++) {
		/* Its work is not done by threads, nor by who calls it. */
		the.options.inline_background = true;
		assert_int_equal(temp_close(&the), 0);
		assert_int_equal(temp_open(&the), 0);
		db = lsm_of(the.store);
		db->options.inline_background = false;
		assert_int_equal(temp_put(&the, "a", "f", "q", TS_AUTO, "v"),
				 1);
		pthread_mutex_lock(&db->commit);
		if (frozen)
			assert_int_equal(commit_freeze(db, 0), 0);
		pthread_mutex_unlock(&db->commit);
		assert_int_equal(temp_put(&the, "a", "f", "p", TS_AUTO, "v"),
				 1);
		waits = 0;
		waited = &db->done;
		meanwhile = flush_and_write;
		assert_int_equal(store_flush(the.store, NULL), 0);
		waited = NULL;
		assert_int_equal(waits, 1 + frozen);
	}
	db->options.inline_background = true;
}

/* A flush of the row by itself, so many times. */
static void pile_up(int files)
{
	for (int i = 0; i < files; i++) {
		assert_int_equal(temp_put(&the, "a", "f", "q", i, "v"), 1);
		assert_int_equal(store_flush(the.store, NULL), 0);
	}
}

/* The newest file of level 0 is gone when the store is opened again. */
static void lose_newest_file(void)
{
	const struct level *l =
		&lsm_of(the.store)->tables[0]->now->trees[0]->levels->level[0];
	char path[100];

	snprintf(path, sizeof(path), "%s/%llu.sst", the.path,
		 (unsigned long long)sst_info(l->files[0])->number);
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(temp_open(&the), 0);
}

/* How often a writer waited although there was nothing to be done. */
static int stalls;

static void work_or_let_go(void)
{
	struct lsm *db = lsm_of(the.store);

	if (flush_one(db) > 0 || compact_one(db) > 0)
		return;
	stalls++;
	db->compact_error = -EIO;
}

SMALL(no_writer_waits_for_a_merge_that_damage_prevents)
{
	char row[16];
	struct lsm *db;

	/* Below the damaged file and above it there are too few to be merged. */
	pile_up(LEVEL0_FILES_UNREAD - 10);
	lose_newest_file();
	pile_up(LEVEL0_FILES_UNREAD - 5);
	db = lsm_of(the.store);
	db->options.inline_background = false;
	waited = &db->done;
	meanwhile = work_or_let_go;
	for (int i = 0; i < 100; i++) {
		snprintf(row, sizeof(row), "b%d", i);
		assert_int_equal(temp_put(&the, row, "f", "q", 1, filler), 1);
	}
	waited = NULL;
	db->options.inline_background = true;
	assert_true(stat_of(the.store, "level_sstables{level=\"0\"}") >
		    LEVEL0_FILES_UNREAD + LEVEL0_STALL);
	assert_int_equal(stalls, 0);
}

static void put_or_delete_rows(int n, uint8_t op)
{
	char row[16];
	struct change c = {.op = op, .family = bytes_str("f"), .ts = TS_AUTO};

	for (int i = 0; i < n; i++) {
		struct mutation m = {.changes = &c, .nchanges = 1};

		snprintf(row, sizeof(row), "r%05d", i);
		m.row = bytes_str(row);
		assert_int_equal(table_mutate(the.table, &m, 0), 1);
	}
}

USUAL(what_scans_step_over_is_merged_away)
{
	enum {
		ROWS = 22000
	};
	struct scan_spec all = {0};
	struct lsm *db = lsm_of(the.store);
	struct tree *t;

	put_or_delete_rows(ROWS, CHANGE_PUT);
	assert_int_equal(store_flush(the.store, NULL), 0);
	put_or_delete_rows(ROWS, CHANGE_DELETE_FAMILY);
	t = db->tables[0]->now->trees[0];
	assert_int_equal(count(&all), 0);
	assert_int_equal(count(&all), 0);
	assert_false(tombstone_stats_due(t));
	assert_int_equal(stat_of(the.store, "flushes_total"), 1);
	assert_int_equal(count(&all), 0);
	for (int i = 0; i < 12000 && (stat_of(the.store, "sstables") ||
				      tombstone_stats_due(t));
	     i++)
		usleep(5000);
	assert_int_equal(stat_of(the.store, "flushes_total"), 2);
	assert_int_equal(stat_of(the.store, "sstables"), 0);
	assert_false(tombstone_stats_due(t));
	assert_int_equal(count(&all), 0);
}

/* Is a merge of the tree still due when those are forgotten that nothing is left of? */
static bool stays_due(struct lsm *db)
{
	pthread_mutex_lock(&db->state);
	tombstone_stats_reset(db);
	pthread_mutex_unlock(&db->state);
	return tombstone_stats_due(db->tables[0]->now->trees[0]);
}

/* Markers that scans pass are frozen, unless a writer is at work just then. */
USUAL(who_freezes_keeps_no_writer_waiting)
{
	struct lsm *db;

	the.options.inline_background = true;
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	db = lsm_of(the.store);
	put_or_delete_rows(5000, CHANGE_DELETE_FAMILY);
	freeze_markers(db);
	assert_int_equal(pthread_mutex_trylock(&db->commit), 0);
	atomic_store(&db->tables[0]->now->trees[0]->passed, 1u << 20);
	assert_true(tombstone_stats_in_memory(db));
	assert_true(stays_due(db));
	freeze_markers(db);
	assert_int_equal(db->nfrozen, 0);
	assert_int_equal(pthread_mutex_trylock(&db->commit), EBUSY);
	pthread_mutex_unlock(&db->commit);
	freeze_markers(db);
	assert_int_equal(db->nfrozen, 1);
	assert_true(stays_due(db));
	/* No table's past is given up by that. */
	assert_int_equal(db->frozen[0].trim, 0);
	assert_int_equal(pthread_mutex_trylock(&db->commit), 0);
	pthread_mutex_unlock(&db->commit);
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_false(stays_due(db));
}

/* Puts into the row of its own until one is refused: its error. */
static int put_until_refused(const char *row, unsigned flags, int most)
{
	static char value[1000];
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str("f"),
			   .ts = TS_AUTO,
			   .value = bytes_of(value, sizeof(value))};
	struct mutation m = change_of(row, &c);
	char qualifier[16];
	int r = 1;

	for (int i = 0; r > 0 && i < most; i++) {
		snprintf(qualifier, sizeof(qualifier), "q%04d", i);
		c.qualifier = bytes_str(qualifier);
		r = table_mutate(the.table, &m, flags);
	}
	return r;
}

/* A store on that simulated disk, whose work is done by who calls it. */
static struct temp_store on_disk(struct os *os)
{
	return (struct temp_store){
		.path = "/store",
		.options = {.inline_background = true, .os = os}};
}

TEST(who_was_admitted_finds_room_where_nothing_is_flushed)
{
	struct os *os = sim_new(1);
	struct change c = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	struct mutation m = change_of("r", &c);
	struct lsm *db;

	the = on_disk(os);
	the.options.write_buffer_bytes = 64 << 10;
	assert_int_equal(temp_open(&the), 0);
	db = lsm_of(the.store);
	/* One memtable is frozen, and the next is full. */
	for (int i = 0;
	     i < 1000 &&
	     (!db->nfrozen || memtable_bytes(db->active) < db->active_max);
	     i++)
		assert_int_equal(put_until_refused("r", 0, 1), 1);
	assert_int_equal(table_writable(the.table), 0);
	sim_set_space(os, 0);
	assert_int_equal(put_until_refused("q", 0, 1000), -ENOSPC);
	assert_non_null(strstr(store_why(), ".sst"));
	assert_int_equal(put_until_refused("a", MUTATE_ADMITTED, 10), 1);
	assert_non_null(temp_get(&the, "a", "f", "q0009"));
	/* Nor does that have no end, and deletes go on behind it. */
	assert_int_equal(put_until_refused("a", MUTATE_ADMITTED, 1000),
			 -ENOSPC);
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	sim_set_space(os, (uint64_t)1 << 40);
	assert_int_equal(temp_close(&the), 0);
	sim_free(os);
}

TEST(a_calm_store_is_flushed_when_its_disk_is_nearly_full)
{
	struct os *os = sim_new(1);
	struct change c = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	struct mutation m = change_of("r", &c);
	struct lsm *db;

	the = on_disk(os);
	the.options.wal_segment_bytes = 64 << 10;
	the.options.wal_ring_bytes = 16 << 10;
	assert_int_equal(temp_open(&the), 0);
	db = lsm_of(the.store);
	assert_int_equal(temp_put(&the, "r", "f", "q", 5, "five"), 1);
	sim_set_space(os, db->limits.file_bytes);
	/* That deletes nothing: a flush would make no room. */
	freeze_full(db);
	freeze_full(db);
	assert_int_equal(db->nfrozen, 0);
	sim_set_space(os, (uint64_t)1 << 40);
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	freeze_full(db);
	freeze_full(db);
	assert_int_equal(db->nfrozen, 0);
	sim_set_space(os, db->limits.file_bytes);
	freeze_full(db);
	assert_int_equal(db->nfrozen, 1);
	assert_int_equal(temp_close(&the), 0);
	sim_free(os);
}

/* It is lent to a flush or merge, which makes room with it. */
USUAL(what_the_log_keeps_for_a_full_disk_is_lent_until_repaid)
{
	struct lsm *db = lsm_of(the.store);
	uint64_t kept = wal_lendable(db->wal);
	unsigned loans = 0;

	assert_true(kept > 0);
	assert_false(full_lend(db, -EIO, &loans));
	assert_int_equal(loans, 0);
	full_repay(db, &loans);
	assert_true(full_lend(db, -ENOSPC, &loans));
	assert_int_equal(loans, 1);
	assert_int_equal(wal_lendable(db->wal), 0);
	assert_int_equal(wal_prepare(db->wal), 0);
	assert_int_equal(wal_lendable(db->wal), 0);
	full_repay(db, &loans);
	assert_int_equal(loans, 0);
	assert_int_equal(wal_lendable(db->wal), kept);
}

struct heard {
	enum store_news what;
	char sentence[80];
};

static void hear(void *arg, enum store_news what, const char *sentence)
{
	struct heard *h = arg;

	h->what = what;
	snprintf(h->sentence, sizeof(h->sentence), "%s", sentence);
}

/* A store on that simulated disk, of which is heard. */
static struct lsm *open_heard(struct os *os, struct heard *heard)
{
	the = on_disk(os);
	the.options.news = hear;
	the.options.news_arg = heard;
	assert_int_equal(temp_open(&the), 0);
	return lsm_of(the.store);
}

TEST(a_full_disk_is_told_in_words_and_so_is_room)
{
	struct os *os = sim_new(1);
	struct heard heard = {0};
	struct lsm *db = open_heard(os, &heard);

	assert_int_equal(wal_prepare(db->wal), 0);
	assert_int_equal(wal_lend(db->wal), 1);
	full_tell(db);
	assert_int_equal(heard.what, STORE_NEWS_FULL);
	assert_non_null(strstr(heard.sentence, "is full"));
	wal_repay(db->wal, 1);
	assert_int_equal(wal_prepare(db->wal), 0);
	full_tell(db);
	assert_int_equal(heard.what, STORE_NEWS_ROOM);
	assert_non_null(strstr(heard.sentence, "has room"));
	assert_int_equal(temp_close(&the), 0);
	sim_free(os);
}

/* The log fails in the same moment, behind what was to be synced. */
TEST(a_sync_that_succeeds_fails_no_store)
{
	struct os *os = sim_new(1);
	struct heard heard = {.what = STORE_NEWS_ROOM};
	struct lsm *db = open_heard(os, &heard);

	assert_int_equal(temp_put(&the, "r", "f", "q", TS_AUTO, "v"), 1);
	assert_int_equal(store_sync(the.store), 0);
	why(-EIO, "the disk is gone");
	assert_int_equal(wal_fail(db->wal, -EIO), -EROFS);
	assert_int_equal(store_sync(the.store), 0);
	assert_int_equal(heard.what, STORE_NEWS_ROOM);
	/* Who meets it tells it. */
	assert_int_equal(temp_put(&the, "r", "f", "q", TS_AUTO, "w"), -EROFS);
	assert_int_equal(heard.what, STORE_NEWS_FAILED);
	assert_non_null(strstr(heard.sentence, "the log takes no more"));
	temp_close(&the);
	sim_free(os);
}

USUAL(a_store_that_is_only_opened_is_merged_too)
{
	the.options.inline_background = true;
	the.options.table_file_bytes = 1024;
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(temp_put(&the, "a", "f", "q", i + 1, "v"), 1);
		assert_int_equal(store_flush(the.store, NULL), 0);
	}
	assert_int_equal(stat_of(the.store, "level_sstables{level=\"0\"}"), 3);
	the.options.inline_background = false;
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	for (int i = 0; i < 12000 && stat_of(the.store, "sstables") > 1; i++)
		usleep(5000);
	assert_int_equal(stat_of(the.store, "sstables"), 1);
}

/* A row that is larger than a memtable does not stay in one. */
SMALL(a_row_without_end_is_flushed_all_the_same)
{
	char name[16];

	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "%06d", i);
		assert_int_equal(temp_put(&the, "row", "f", name, 1, "v"), 1);
	}
	assert_true(stat_of(the.store, "flushes_total") > 3);
	assert_string_equal(temp_get(&the, "row", "f", "001999"), "v");
}

/* The versions 1 to 5, of which a family keeps three unless it says more. */
static void put_five_and_compact(struct os *os, unsigned pause_ms)
{
	char row[16];

	for (int64_t ts = 1; ts <= 5; ts++)
		assert_int_equal(temp_put(&the, "r", "f", "q", ts, "v"), 1);
	sim_set_now_ms(os, os_now_ms(os) + 7200000);
	os_sleep_ms(os, pause_ms);
	for (int i = 0; i < 3000; i++) {
		snprintf(row, sizeof(row), "r%d", i);
		assert_int_equal(temp_put(&the, row, "f", "q", 1, "v"), 1);
	}
}

/*
 * Whether a new table whose clock is set ahead still has the oldest version, when
 * it is compacted so long after that was put.
 */
static int keeps_all_for(unsigned pause_ms)
{
	struct os *os = sim_new(1);
	struct schema schema;
	struct cell c;
	int r;

	the = (struct temp_store){
		.path = "/store",
		.options = {.inline_background = true,
			    .write_buffer_bytes = 16 << 10,
			    .table_file_bytes = 8 << 10,
			    .wal_segment_bytes = 64 << 10,
			    .wal_ring_bytes = 16 << 10},
	};
	the.options.os = os;
	assert_int_equal(temp_open(&the), 0);
	put_five_and_compact(os, pause_ms);
	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[0].attrs.versions = 5;
	assert_int_equal(table_alter(the.table, &schema, false), 0);
	schema_free(&schema);
	r = table_get_version(the.table, bytes_str("r"), bytes_str("f"),
			      bytes_str("q"), 1, NULL, &c, NULL);
	assert_int_equal(temp_close(&the), 0);
	sim_free(os);
	return r;
}

TEST(a_clock_set_ahead_takes_no_version_of_a_new_table)
{
	assert_int_equal(keeps_all_for(0), 1);
}

TEST(after_an_hour_a_new_table_is_like_any_other)
{
	assert_int_equal(keeps_all_for(59 * 60 * 1000), 1);
	assert_int_equal(keeps_all_for(61 * 60 * 1000), 0);
}

/* A mebibyte in rows of 1 KiB that zlib makes half of. */
static void put_mebibyte(void)
{
	char row[8], value[1 << 10];

	for (int i = 0; i < 1024; i++) {
		for (size_t k = 0; k < sizeof(value) - 1; k++)
			value[k] = (char)('0' + rand() % 16);
		value[sizeof(value) - 1] = '\0';
		snprintf(row, sizeof(row), "r%04d", i);
		assert_int_equal(temp_put(&the, row, "f", "q", 1, value), 1);
	}
}

static void set_compression(uint8_t compression)
{
	struct schema schema;

	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[0].attrs.compression = compression;
	assert_int_equal(table_alter(the.table, &schema, false), 0);
	schema_free(&schema);
}

/* Seconds of the simulated clock that a compaction of a mebibyte takes. */
static double compact_at(uint64_t bytes_s, uint8_t compression, bool full,
			 unsigned rest_ms)
{
	struct os *os = sim_new(1);
	uint64_t begun;
	double took;

	the = (struct temp_store){.path = "/store",
				  .options = {.inline_background = true,
					      .background_bytes_s = bytes_s}};
	the.options.os = os;
	assert_int_equal(temp_open(&the), 0);
	set_compression(compression);
	put_mebibyte();
	assert_int_equal(store_flush(the.store, NULL), 0);
	os_sleep_ms(os, rest_ms);
	if (full)
		assert_true(wal_lend(lsm_of(the.store)->wal) > 0);
	begun = os_monotonic_ns(os);
	assert_int_equal(store_compact(the.store, NULL), 0);
	took = (double)(os_monotonic_ns(os) - begun) / 1e9;
	assert_int_equal(stat_of(the.store, "compaction_paced_ns_total") > 0,
			 bytes_s > 0 && !full);
	assert_int_equal(temp_close(&the), 0);
	sim_free(os);
	return took;
}

TEST(a_compaction_writes_no_faster_than_it_may)
{
	/* After so long nothing of the flush is owed any more. */
	enum {
		REST = 60000
	};

	assert_true(compact_at(0, COMPRESSION_NONE, false, REST) < 1);
	/* But for the first eighth of a second, and what is told at the end. */
	assert_in_range(compact_at(100 << 10, COMPRESSION_NONE, false, REST), 8,
			11);
	assert_in_range(compact_at(20 << 10, COMPRESSION_NONE, false, REST), 44,
			52);
	/* Not while the disk is full: it makes room. */
	assert_true(compact_at(20 << 10, COMPRESSION_NONE, true, REST) < 1);
	/* What counts is written, and no block before it is compressed. */
	assert_in_range(compact_at(20 << 10, COMPRESSION_ZLIB, false, REST), 20,
			35);
	/* What a flush has just written counts too. */
	assert_in_range(compact_at(100 << 10, COMPRESSION_NONE, false, 0), 17,
			22);
}

static bool merges(void)
{
	struct lsm *db = lsm_of(the.store);
	bool is;

	pthread_mutex_lock(&db->state);
	is = db->compacting > 0;
	pthread_mutex_unlock(&db->state);
	return is;
}

/* One that would take minutes. */
USUAL(a_store_that_closes_waits_for_no_merge)
{
	static char value[160 << 10];
	char row[8];

	assert_int_equal(temp_close(&the), 0);
	the.options.table_file_bytes = 1024;
	the.options.background_bytes_s = 1;
	assert_int_equal(temp_open(&the), 0);
	for (size_t i = 0; i < sizeof(value) - 1; i++)
		value[i] = (char)('0' + rand() % 16);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 10; k++) {
			snprintf(row, sizeof(row), "%d", k);
			assert_int_equal(
				temp_put(&the, row, "f", "q", i + 1, value), 1);
		}
		assert_int_equal(store_flush(the.store, NULL), 0);
	}
	while (!merges())
		usleep(5000);
	assert_int_equal(temp_close(&the), 0);
	the.options.background_bytes_s = 0;
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(temp_get(&the, "9", "f", "q"), value);
}

/* Writers wait for the flush, whoever does it. */
BOTH(unflushed_cells_take_no_more_than_was_configured)
{
	char row[16], value[256] = "";
	uint64_t most = 0;

	assert_int_equal(temp_close(&the), 0);
	the.options.write_buffer_bytes = 128 << 10;
	assert_int_equal(temp_open(&the), 0);
	memset(value, 'v', sizeof(value) - 1);
	for (int i = 0; i < 4000; i++) {
		uint64_t now;

		snprintf(row, sizeof(row), "r%05d", i * 7 % 4000);
		assert_int_equal(temp_put(&the, row, "f", "q", TS_AUTO, value),
				 1);
		now = stat_of(the.store, "memtable_bytes");
		most = now > most ? now : most;
	}
	/* The last one may bring a larger map of the rows with it. */
	assert_true(most <= (128 << 10) + (16 << 10));
	assert_true(most > (128 << 10) / 4 * 3);
	assert_string_equal(temp_get(&the, "r00000", "f", "q"), value);
}

/* Who merges goes on until it hears that nothing is due. */
SMALL(a_merge_says_that_there_may_be_another)
{
	struct lsm *db = lsm_of(the.store);
	int merges = 0;

	for (int i = 0; i < 12; i++) {
		assert_int_equal(temp_put(&the, "r", "f", "q", 7, filler), 1);
		assert_int_equal(store_flush(the.store, NULL), 0);
	}
	db->compact_error = -EIO;
	while (compact_one(db) > 0)
		merges++;
	assert_int_equal(merges, stat_of(the.store, "compactions_total"));
	assert_true(merges > 0);
	/* And that none has failed since. */
	assert_int_equal(db->compact_error, 0);
	assert_int_equal(stat_of(the.store, "compaction_pending_bytes"), 0);
}

/* Who has no space for a delete tries again if that was worth something. */
USUAL(a_delete_waits_for_the_flush_that_frees_something)
{
	struct lsm *db = lsm_of(the.store);
	struct change c = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	struct mutation m = change_of("r", &c);

	waits_for_none = 0;
	of_flush = &db->done;
	pthread_mutex_lock(&db->commit);
	assert_false(freeze_for(db, &m));
	pthread_mutex_unlock(&db->commit);
	assert_int_equal(temp_put(&the, "r", "f", "q", TS_AUTO, "v"), 1);
	pthread_mutex_lock(&db->commit);
	assert_true(freeze_for(db, &m));
	pthread_mutex_unlock(&db->commit);
	of_flush = NULL;
	assert_int_equal(waits_for_none, 0);
	assert_int_equal(stat_of(the.store, "flushes_total"), 1);
}

USUAL(who_freezes_wakes_the_flush)
{
	struct lsm *db = lsm_of(the.store);

	/* The three threads, one after another. */
	of_work = &db->work;
	while (sleepers < 3)
		usleep(1000);
	assert_int_equal(temp_put(&the, "r", "f", "q", TS_AUTO, "v"), 1);
	pthread_mutex_lock(&db->commit);
	assert_int_equal(commit_freeze(db, 0), 0);
	pthread_mutex_unlock(&db->commit);
	for (int i = 0; i < 60000 && stat_of(the.store, "flushes_total") == 0;
	     i++)
		usleep(1000);
	of_work = NULL;
	pthread_mutex_lock(&db->state);
	pthread_cond_broadcast(&db->work);
	pthread_mutex_unlock(&db->state);
	assert_int_equal(stat_of(the.store, "flushes_total"), 1);
}
