/*
 * Writing: how a mutation becomes a record and entries.
 *
 * Under the commit lock, in this order: space is made, checks are read, each
 * change gets its sequence and timestamp, the record is appended to the log,
 * the entries are inserted into the active memtable, and the new sequence is
 * published. A reader of an older sequence sees nothing of the mutation, a
 * reader of the new one sees all: that makes a row atomic. Waiting for the disk
 * happens after the lock is released, so that one sync serves many writers.
 */
#include <assert.h>
#include <errno.h>

#include <xxhash.h>

#include "store/lsm/background/background.h"
#include "store/lsm/write/note.h"
#include "store/lsm/write/quota.h"
#include "store/lsm/write/resolve.h"
#include "store/lsm/write/write.h"

static struct tree *state_tree(const struct table_state *st, uint32_t id)
{
	for (uint32_t i = 0; i < st->schema.nfamilies; i++)
		if (st->trees[i]->id == id)
			return st->trees[i];
	return NULL;
}

/*
 * Inserts pending changes of one row, tree by tree, and changes their order.
 * @token is memtable_ahead()'s for the first of them.
 */
static int insert_row(struct lsm *db, struct bytes row, struct pending *p,
		      size_t n, uint64_t token)
{
	bool first = true;

	assert(n > 0);
	/* The usual mutation: no sorting and no copies. */
	if (n == 1)
		return memtable_insert_near(db->active, p->tree, row, token,
					    &p->entry, 1, p->piece);
	while (n) {
		uint32_t tree = p[0].tree;
		size_t k = 0, rest = 0;
		int r;

		for (size_t i = 0; i < n; i++) {
			if (p[i].tree == tree)
				db->entries[k++] = p[i].entry;
			else
				p[rest++] = p[i];
		}
		assert(k > 0 && k + rest == n);
		if (first)
			r = memtable_insert_near(db->active, tree, row, token,
						 db->entries, k, NULL);
		else
			r = memtable_insert(db->active, tree, row, db->entries,
					    k);
		if (r < 0)
			return r;
		first = false;
		n = rest;
	}
	return 0;
}

static void note_timestamps(const struct table_state *st,
			    const struct pending *p, size_t n)
{
	struct tree *tree = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!tree || tree->id != p[i].tree)
			tree = state_tree(st, p[i].tree);
		if (tree && p[i].entry.ts > tree->ts_max)
			tree->ts_max = p[i].entry.ts;
	}
}

/* Reports the pending entries to db->alive; each entry indexes into @m. */
static void note_changes(const struct commit *c, const struct mutation *m)
{
	if (!alive_watches(&c->db->alive))
		return;
	for (size_t i = 0; i < c->npending; i++) {
		const struct pending *p = &c->db->pending[i];
		struct alive_place place = {
			.tree = p->tree,
			.schema = c->st->version,
			.row = m[p->mutation].row,
		};

		alive_change(&c->db->alive, &place, &p->entry);
	}
}

/*
 * Inserts the entries after the record was logged. This cannot be undone, so
 * running out of memory ends the store's writing.
 */
static int commit_apply(struct commit *c, struct bytes row)
{
	struct lsm *db = c->db;
	int r;

	note_timestamps(c->st, db->pending, c->npending);
	r = insert_row(db, row, db->pending, c->npending, c->near);
	if (r < 0) {
		why(r, "out of memory after the log was written");
		return lsm_fail(db, r);
	}
	return 0;
}

/* The log may fail after it took a record, as it prepares the next one. */
static void note_log(struct lsm *db)
{
	int r = wal_health(db->wal);

	if (r < 0)
		lsm_fail(db, r);
}

/* Under commit, so no other thread counts: no locked instruction is needed. */
static void count_logged(struct lsm *db, size_t n)
{
	uint64_t was = atomic_load_explicit(&db->stats.user_bytes,
					    memory_order_relaxed);

	atomic_store_explicit(&db->stats.user_bytes, was + n,
			      memory_order_relaxed);
}

/* Under commit. *lsn is set when 1 is returned. */
static int commit_one(struct lsm *db, struct lsm_table *t, struct mutation *m,
		      uint64_t *lsn)
{
	struct commit c = {
		.db = db,
		.table = t,
		.st = t->now,
		.seq = atomic_load(&db->seq) + 1,
	};
	struct bytes record[2];
	int r;

	if (!c.st)
		return why(-ENOENT, "the table has been dropped");
	r = resolve_mutation(&c, m);
	if (r <= 0 || !c.npending)
		goto out;
	/* Each entry has a sequence of its own. */
	assert(c.seq == atomic_load(&db->seq) + 1 + c.npending);
	r = note_start(db, atomic_load(&db->seq) + 1);
	if (r == 0)
		r = record_last_row(&db->record, m->row, db->pending,
				    (uint32_t)c.npending, &record[1]);
	if (r == -ENOMEM)
		why(r, "out of memory for a log record");
	if (r < 0)
		goto out;
	if (!c.at_row)
		memtable_ahead_row(db->active, c.near);
	record[0] = buf_bytes(&db->record);
	r = wal_append(db->wal, record, record[1].len ? 2 : 1, lsn);
	if (r < 0) {
		r = lsm_log_failed(db, r);
		goto out;
	}
	if (!c.at_row)
		memtable_ahead_cells(db->active, c.near);
	count_logged(db, record[0].len + record[1].len);
	alive_begin(&db->alive);
	note_changes(&c, m);
	r = commit_apply(&c, m->row);
	if (r == 0) {
		assert(c.seq > atomic_load(&db->seq));
		atomic_store_explicit(&db->seq, c.seq - 1,
				      memory_order_release);
		r = 1;
	}
	alive_end(&db->alive);
out:
	commit_release(&c);
	return r;
}

static int wait_for_disk(struct lsm *db, unsigned flags, uint64_t lsn)
{
	int r;

	if (!(flags & MUTATE_SYNC) && !db->options.sync)
		return 0;
	r = wal_sync(db->wal, lsn);
	return r < 0 ? lsm_fail(db, r) : 0;
}

/* What was admitted before is still. */
static int quota_admit_flagged(struct lsm *db, struct table *t,
			       const struct mutation *m, unsigned flags)
{
	return flags & MUTATE_ADMITTED
		       ? 0
		       : quota_admit(db, (struct lsm_table *)t, m);
}

int lsm_mutate(struct table *base, struct mutation *m, unsigned flags)
{
	struct lsm *db = lsm_of(base->store);
	uint64_t lsn = 0;
	int r = quota_admit_flagged(db, base, m, flags), s;

	if (r < 0)
		return r;
	pthread_mutex_lock(&db->commit);
	r = lsm_writable(db);
	if (r == 0)
		r = make_room(db, m, flags);
	if (r == 0)
		r = commit_one(db, (struct lsm_table *)base, m, &lsn);
	if (os_is_full(r) && freeze_for(db, m))
		r = commit_one(db, (struct lsm_table *)base, m, &lsn);
	note_log(db);
	pthread_mutex_unlock(&db->commit);
	if (r <= 0)
		return r;
	s = wait_for_disk(db, flags, lsn);
	return s < 0 ? s : r;
}

int lsm_mutate_try(struct table *base, struct mutation *m)
{
	struct lsm_table *t = (struct lsm_table *)base;
	struct lsm *db = lsm_of(base->store);
	struct commit c = {.db = db, .table = t};
	int r = quota_admit(db, t, m);

	if (r < 0)
		return r;
	pthread_mutex_lock(&db->commit);
	c.st = t->now;
	c.seq = atomic_load(&db->seq) + 1;
	r = backpressure_admit(db, m);
	if (r == 0 && !c.st)
		r = why(-ENOENT, "the table has been dropped");
	if (r == 0)
		r = resolve_mutation(&c, m);
	commit_release(&c);
	pthread_mutex_unlock(&db->commit);
	return r;
}

/* The size at which a record is complete; a row is never split. */
#define RECORD_BYTES_MAX (1u << 20)

/*
 * Rows that a record already changes, as a filter that may err towards "yes".
 * A later mutation of such a row that depends on what is stored must wait for
 * the next record: the first is not in the memtable yet.
 */
struct seen_rows {
	size_t n; /* mutations whose rows are in @bits */
	uint64_t bits[256];
};

/* Does a mutation before m[at] change the same row? */
static bool seen_before(struct seen_rows *s, const struct mutation *m,
			size_t at)
{
	uint64_t bit;
	size_t i;

	for (;; s->n++) {
		uint64_t h = XXH3_64bits(m[s->n].row.data, m[s->n].row.len) %
			     (256 * 64);

		i = h / 64;
		bit = 1ull << (h % 64);
		if (s->n == at)
			return s->bits[i] & bit;
		s->bits[i] |= bit;
	}
}

static bool reads_first(const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++)
		if (m->changes[i].ts == TS_AUTO ||
		    (m->changes[i].op == CHANGE_DELETE &&
		     m->changes[i].ts == TS_CLOCK) ||
		    op_adds(m->changes[i].op))
			return true;
	return false;
}

/*
 * Resolves as many of @m as one record takes and writes them into db->record.
 * Returns their number, or the error of the first.
 */
static int gather(struct commit *c, struct mutation *m, size_t n)
{
	struct seen_rows seen = {0};
	struct lsm *db = c->db;
	size_t count = 0;
	int r = note_start(db, c->seq);

	while (r == 0 && count < n && db->record.len < RECORD_BYTES_MAX) {
		size_t from = c->npending;
		uint64_t seq = c->seq;

		if (reads_first(&m[count]) && seen_before(&seen, m, count))
			break;
		r = resolve_mutation(c, &m[count]);
		if (r > 0)
			r = record_row(&db->record, m[count].row,
				       db->pending + from,
				       (uint32_t)(c->npending - from));
		if (r < 0) {
			/* The failed mutation leaves no entries behind. */
			c->npending = from;
			c->seq = seq;
			break;
		}
		assert(c->npending - from == c->seq - seq);
		for (size_t i = from; i < c->npending; i++)
			db->pending[i].mutation = count;
		count++;
	}
	return count ? (int)count : r;
}

/* Prefetches rows of the mutations after the present one, in steps. */
struct approach {
	uint64_t tokens[16];
	size_t slot, row, cells; /* mutations that have taken the step */
	size_t next;		 /* the first entry not yet prefetched */
};

/* The index of the first entry of the mutation after that of entry @i. */
static size_t next_mutation(const struct pending *p, size_t i, size_t n)
{
	size_t which = p[i].mutation;

	while (i < n && p[i].mutation == which)
		i++;
	return i;
}

/* Prefetches rows of the mutations that follow the @done inserted ones. */
static void approach(struct approach *a, const struct lsm *db,
		     const struct mutation *m, size_t done, size_t n)
{
	for (; a->next < n && a->slot < done + 16; a->slot++) {
		const struct pending *p = &db->pending[a->next];

		a->tokens[a->slot % 16] =
			memtable_ahead(db->active, p->tree, m[p->mutation].row);
		a->next = next_mutation(db->pending, a->next, n);
	}
	for (; a->row < a->slot && a->row < done + 10; a->row++)
		memtable_ahead_row(db->active, a->tokens[a->row % 16]);
	for (; a->cells < a->row && a->cells < done + 5; a->cells++)
		memtable_ahead_cells(db->active, a->tokens[a->cells % 16]);
}

static int insert_rows(struct lsm *db, const struct mutation *m, size_t n)
{
	struct approach ahead = {0};
	size_t from = 0, to, done;
	int r = 0;

	for (done = 0; r == 0 && from < n; done++, from = to) {
		size_t which = db->pending[from].mutation;

		approach(&ahead, db, m, done, n);
		to = next_mutation(db->pending, from, n);
		assert(from < to && to <= n);
		r = insert_row(db, m[which].row, db->pending + from, to - from,
			       ahead.tokens[done % 16]);
	}
	if (r == 0)
		return 0;
	why(r, "out of memory after the log was written");
	return lsm_fail(db, r);
}

/*
 * As commit_one(), for as many of @m as one record takes: their number, or <0.
 */
static int commit_some(struct lsm *db, struct lsm_table *t, struct mutation *m,
		       size_t n, uint64_t *lsn)
{
	struct commit c = {
		.db = db,
		.table = t,
		.st = t->now,
		.seq = atomic_load(&db->seq) + 1,
	};
	struct bytes record;
	int count, r;

	if (!c.st)
		return why(-ENOENT, "the table has been dropped");
	count = gather(&c, m, n);
	r = count;
	if (count <= 0)
		goto out;
	assert((size_t)count <= n);
	assert(c.seq == atomic_load(&db->seq) + 1 + c.npending);
	record = buf_bytes(&db->record);
	r = wal_append(db->wal, &record, 1, lsn);
	if (r < 0) {
		r = lsm_log_failed(db, r);
		goto out;
	}
	count_logged(db, record.len);
	note_timestamps(c.st, db->pending, c.npending);
	alive_begin(&db->alive);
	note_changes(&c, m);
	r = insert_rows(db, m, c.npending);
	if (r == 0) {
		assert(c.seq > atomic_load(&db->seq));
		atomic_store_explicit(&db->seq, c.seq - 1,
				      memory_order_release);
		r = count;
	}
	alive_end(&db->alive);
out:
	commit_release(&c);
	return r;
}

/*
 * Mutations to try in one record: only one if the memtable is full, or if each is
 * to be looked at, since the table takes deletes only.
 */
static size_t at_once(struct lsm *db, struct table *t, size_t n)
{
	return memtable_bytes(db->active) < db->active_max &&
			       !quota_is_over(db, (struct lsm_table *)t)
		       ? n
		       : 1;
}

int lsm_mutate_many(struct table *base, struct mutation *m, size_t n,
		    unsigned flags, size_t *done)
{
	struct lsm *db = lsm_of(base->store);
	uint64_t lsn = 0;
	int r = 0, s;

	*done = 0;
	pthread_mutex_lock(&db->commit);
	while (r >= 0 && *done < n) {
		r = quota_admit_flagged(db, base, &m[*done], flags);
		if (r < 0)
			break;
		r = lsm_writable(db);
		if (r == 0)
			r = make_room(db, &m[*done], flags);
		if (r == 0)
			r = commit_some(db, (struct lsm_table *)base, m + *done,
					at_once(db, base, n - *done), &lsn);
		if (r > 0)
			*done += (size_t)r;
		else if (os_is_full(r) && freeze_for(db, &m[*done]))
			r = 0;
	}
	note_log(db);
	pthread_mutex_unlock(&db->commit);
	s = lsn ? wait_for_disk(db, flags, lsn) : 0;
	return r < 0 ? r : s;
}

int lsm_sync(struct store *s)
{
	struct lsm *db = lsm_of(s);
	int r = lsm_writable(db);

	if (r < 0)
		return r;
	r = wal_sync(db->wal, wal_end(db->wal));
	return r < 0 ? lsm_log_failed(db, r) : 0;
}

static int replay_row(void *arg, struct bytes row, const struct pending *p,
		      uint32_t n)
{
	struct lsm *db = arg;

	for (uint32_t i = 0; i < n; i++) {
		struct tree *t = tables_find_tree(db, p[i].tree);
		int r;

		if (!t) /* its table or family was dropped */
			continue;
		r = memtable_insert(db->active, p[i].tree, row, &p[i].entry, 1);
		if (r < 0)
			return why(r, "out of memory while recovering");
		if (p[i].entry.ts > t->ts_max)
			t->ts_max = p[i].entry.ts;
	}
	return 0;
}

int commit_replay(struct lsm *db, struct bytes record)
{
	uint64_t next_seq;
	int r = record_read(record, &next_seq, replay_row, db);

	if (r == 0 && next_seq > atomic_load(&db->seq) + 1)
		atomic_store(&db->seq, next_seq - 1);
	return r;
}
