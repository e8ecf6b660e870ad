/*
 * Writing: how a mutation becomes a record and entries.
 *
 * Under the commit lock, in this order: room is made, checks are read, each
 * change gets its sequence and timestamp, the record goes to the log, the
 * entries into the active memtable, and the new sequence is published. A
 * reader who looks at an older sequence sees nothing of it, one who looks at
 * the new sees all: that is a row's atomicity. Waiting for the disk happens
 * after the lock is given back, so that syncs of many writers gather.
 */
#include "store/lsm/lsm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "store/lsm/record.h"

/* -- failure -------------------------------------------------------------- */

int lsm_fail(struct lsm *db, int err)
{
	int none = 0;

	pthread_mutex_lock(&db->state);
	if (!atomic_load(&db->failed)) {
		snprintf(db->failed_why, sizeof(db->failed_why), "%s",
			 store_why());
		atomic_compare_exchange_strong(&db->failed, &none, err);
	}
	pthread_cond_broadcast(&db->done);
	pthread_mutex_unlock(&db->state);
	return err;
}

int lsm_writable(struct lsm *db)
{
	if (!atomic_load(&db->failed))
		return 0;
	return why(-EROFS,
		   "the store takes no more writes until it is reopened, "
		   "because: %s",
		   db->failed_why);
}

int lsm_commit_edit(struct lsm *db, const struct edit *e)
{
	int r = manifest_commit(db->manifest, e);

	switch (r) {
	case -EINVAL:
	case -EEXIST:
	case -ENOMEM:
	case -ENOSPC:
	case -EDQUOT:
	case -EFBIG:
		return r;
	}
	return r < 0 ? lsm_fail(db, r) : r;
}

/* -- room ----------------------------------------------------------------- */

int commit_freeze(struct lsm *db, uint64_t trim)
{
	struct memtable *next;
	uint64_t segment;
	int r;

	if (memtable_empty(db->active))
		return 0;
	r = memtable_new(db->options.write_buffer_bytes, &next);
	if (r < 0)
		return why(r, "out of memory for a memtable");
	r = wal_rotate(db->wal, &segment);
	if (r < 0) {
		memtable_unref(next);
		return r == -ENOSPC ? r : lsm_fail(db, r);
	}
	pthread_mutex_lock(&db->state);
	db->frozen[db->nfrozen++] =
		(struct generation){db->active, segment, trim};
	db->active = db->reading = next;
	db->generation++;
	pthread_cond_broadcast(&db->work);
	pthread_mutex_unlock(&db->state);
	return 0;
}

/* Under state: are writers ahead of compaction? */
static bool must_stall(struct lsm *db)
{
	if (db->compact_error)
		return false;
	for (size_t i = 0; i < db->ntables; i++) {
		struct table_state *st = db->tables[i]->now;

		for (uint32_t k = 0; k < st->schema.nfamilies; k++)
			if (st->trees[k]->levels->level[0].nfiles >=
			    LEVEL0_STALL)
				return true;
	}
	return false;
}

/* Waits until a generation may be frozen. */
static int wait_for_room(struct lsm *db)
{
	uint64_t start = 0;
	int r = 0;

	pthread_mutex_lock(&db->state);
	while (db->nfrozen == FROZEN_MAX || must_stall(db)) {
		if (atomic_load(&db->failed)) {
			r = -EROFS;
			break;
		}
		if (db->nfrozen == FROZEN_MAX && db->flush_error) {
			r = why(db->flush_error,
				"memory is full and it could not be flushed");
			break;
		}
		if (!start)
			start = os_monotonic_ns(db->os);
		pthread_cond_wait(&db->done, &db->state);
	}
	pthread_mutex_unlock(&db->state);
	if (start) {
		atomic_fetch_add(&db->stats.stalls, 1);
		atomic_fetch_add(&db->stats.stall_ns,
				 os_monotonic_ns(db->os) - start);
	}
	return r == -EROFS ? lsm_writable(db) : r;
}

static bool only_deletes(const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++)
		switch (m->changes[i].op) {
		case CHANGE_PUT:
		case CHANGE_INCREMENT:
		case CHANGE_APPEND:
			return false;
		}
	return true;
}

static int make_room(struct lsm *db, const struct mutation *m)
{
	size_t used = memtable_bytes(db->active);
	int r;

	if (wal_low(db->wal) && !only_deletes(m))
		return why(-ENOSPC, "the store's disk is full: what is left "
				    "is kept for deletes");
	if (used < db->options.write_buffer_bytes)
		return 0;
	if (db->options.inline_background) {
		/* One behind, as with threads: writes go on beside a frozen
		 * one. */
		r = flush_one(db);
		if (r >= 0)
			r = commit_freeze(db, 0);
		while (r >= 0 && (r = compact_one(db)) > 0)
			;
		return r < 0 ? r : 0;
	}
	r = wait_for_room(db);
	if (r == 0)
		r = commit_freeze(db, 0);
	/* A full disk must not stop the deletes that would empty it. */
	if (r == -ENOSPC && only_deletes(m) &&
	    used < 2 * db->options.write_buffer_bytes)
		r = 0;
	return r;
}

/* -- settling ------------------------------------------------------------- */

struct commit {
	struct lsm *db;
	struct lsm_table *table;
	struct table_state *st;
	int64_t now_ms;	  /* 0: nobody asked for it yet */
	int64_t checked;  /* the greatest timestamp whose value was checked */
	uint64_t seq;	  /* of the next change */
	size_t npending;  /* of the whole record */
	uint64_t near;	  /* the first row of it, on its way from memory */
	struct buf *held; /* values that increments and appends made */
	size_t nheld;
};

/* One time for all of a commit; reading the clock costs as much as a hash. */
static int64_t commit_now(struct commit *c)
{
	if (!c->now_ms)
		c->now_ms = os_now_ms(c->db->os);
	return c->now_ms;
}

static int too_large(const struct commit *c, int family, size_t len)
{
	const struct family_schema *f = &c->st->schema.families[family];

	if (len <= f->attrs.max_value)
		return 0;
	return why(-EFBIG,
		   "a value of %zu bytes is over max_value %u of family %s",
		   len, f->attrs.max_value, f->name);
}

static int check_one(struct commit *c, struct bytes row, const struct check *k)
{
	struct buf hold = {0};
	struct cell cell;
	bool exact =
		k->op == CHECK_VERSION_ABSENT || k->op == CHECK_VERSION_PRESENT;
	int r, cmp;

	r = table_state_family(c->st, k->family);
	if (r < 0)
		return r;
	r = lsm_get(&c->table->base, row, k->family, k->qualifier,
		    exact ? k->ts : INT64_MAX, exact, NULL, &cell, &hold);
	if (r < 0)
		goto out;
	/* What replaces the checked value must not be hidden behind it. */
	if (r > 0 && k->op >= CHECK_EQUAL && cell.ts > c->checked)
		c->checked = cell.ts;
	/* HBase: an empty expected value asks whether the cell is absent. */
	if (k->op >= CHECK_EQUAL && k->value.len == 0) {
		bool absent = r == 0 || cell.value.len == 0;

		r = k->op == CHECK_NOT_EQUAL ? !absent : absent;
		goto out;
	}
	switch (k->op) {
	case CHECK_ABSENT:
	case CHECK_VERSION_ABSENT:
		r = r == 0;
		goto out;
	case CHECK_PRESENT:
	case CHECK_VERSION_PRESENT:
		goto out;
	case CHECK_NEWEST_TS:
		r = r == 1 && cell.ts == k->ts;
		goto out;
	}
	if (r == 0)
		goto out;
	cmp = bytes_cmp(k->value, cell.value);
	switch (k->op) {
	case CHECK_EQUAL:
		r = cmp == 0;
		break;
	case CHECK_NOT_EQUAL:
		r = cmp != 0;
		break;
	case CHECK_LESS:
		r = cmp < 0;
		break;
	case CHECK_LESS_OR_EQUAL:
		r = cmp <= 0;
		break;
	case CHECK_GREATER:
		r = cmp > 0;
		break;
	default:
		r = cmp >= 0;
		break;
	}
out:
	buf_free(&hold);
	return r;
}

/*
 * The timestamp of a put or a wide marker. @newest_plus: 1 for a put, that
 * must be newer than all there is; 0 for a marker, that must cover it.
 */
static int settle_ts(struct commit *c, struct bytes row, struct change *ch,
		     struct tree *tree, int newest_plus)
{
	bool wide = kind_is_family_marker(ch->op);
	int64_t newest = 0, now;
	int r;

	ch->ts_given = ch->ts;
	if (ch->ts <= TS_MAX)
		return 0;
	now = commit_now(c);
	ch->ts_given = now;
	if (ch->ts == TS_CLOCK && ch->op == CHANGE_PUT && c->checked > now)
		ch->ts_given = c->checked;
	if (ch->ts == TS_CLOCK || now > tree->ts_max)
		return 0;
	r = column_newest(c->db, tree, row, ch->qualifier, wide, &newest);
	if (r < 0)
		return r;
	if (r == 1 && newest + newest_plus > ch->ts_given)
		ch->ts_given = newest + newest_plus;
	if (ch->ts_given > TS_MAX)
		return why(-EOVERFLOW,
			   "no timestamp is left after %lld: the column has "
			   "a version at the end of time",
			   (long long)newest);
	return 0;
}

/*
 * The change is m->changes[at]. Those before it in the mutation that delete
 * the newest version of the same column have taken the newer ones.
 */
static int settle_delete(struct commit *c, const struct mutation *m, size_t at)
{
	struct column_look look = {.ts_max = INT64_MAX};
	struct change *ch = &m->changes[at];
	struct cell cell;
	int r;

	ch->ts_given = ch->ts;
	if (ch->ts <= TS_MAX)
		return 0;
	for (size_t i = 0; i < at; i++)
		if (m->changes[i].op == CHANGE_DELETE &&
		    m->changes[i].ts > TS_MAX &&
		    bytes_eq(m->changes[i].qualifier, ch->qualifier) &&
		    bytes_eq(m->changes[i].family, ch->family))
			look.older++;
	ch->ts_given = commit_now(c);
	r = column_read(&c->table->base, m->row, ch->family, ch->qualifier,
			&look, &cell, NULL);
	if (r > 0)
		ch->ts_given = cell.ts;
	return r < 0 ? r : 0;
}

static int64_t read_be64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return (int64_t)v;
}

static int settle_increment(struct commit *c, struct change *ch,
			    struct buf *value, bool present)
{
	uint64_t sum = (uint64_t)ch->delta;
	uint8_t out[8];

	if (present && value->len != 8)
		return why(-EINVAL, "the value is %zu bytes, a counter has 8",
			   value->len);
	if (present)
		sum += (uint64_t)read_be64(value->data);
	ch->result_int = (int64_t)sum;
	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(sum >> (56 - 8 * i));
	return buf_set(value, bytes_of(out, 8));
}

/* Reads the old value and makes the new one into a buffer of its own. */
static int settle_rmw(struct commit *c, struct bytes row, struct change *ch,
		      int family, struct bytes *value)
{
	struct column_look look = {
		.ts_min = ch->ts_min,
		.ts_max = ch->ts_max ? ch->ts_max : INT64_MAX,
	};
	struct buf *held, *more;
	struct cell cell;
	int r;

	more = realloc(c->held, (c->nheld + 1) * sizeof(*more));
	if (!more)
		return why(-ENOMEM, "out of memory");
	c->held = more;
	held = &c->held[c->nheld++];
	*held = (struct buf){0};
	r = column_read(&c->table->base, row, ch->family, ch->qualifier, &look,
			&cell, held);
	if (r < 0)
		return r;
	ch->ts_given = commit_now(c);
	if (r > 0 && cell.ts >= ch->ts_given && cell.ts < TS_MAX)
		ch->ts_given = cell.ts + 1;
	if (r > 0 && !ch->ttl_ms)
		ch->ttl_ms = cell.ttl_ms;
	if (ch->op == CHANGE_INCREMENT) {
		r = settle_increment(c, ch, held, r > 0);
	} else {
		r = too_large(c, family, held->len + ch->value.len);
		if (r == 0)
			r = buf_append(held, ch->value.data, ch->value.len);
	}
	*value = buf_bytes(held);
	return r;
}

static struct pending *next_pending(struct commit *c)
{
	struct lsm *db = c->db;

	if (c->npending == db->entries_cap) {
		size_t cap = db->entries_cap ? 2 * db->entries_cap : 64;
		struct pending *p = realloc(db->pending, cap * sizeof(*p));
		struct entry *e;

		if (p)
			db->pending = p;
		e = p ? realloc(db->entries, cap * sizeof(*e)) : NULL;
		if (!e) {
			why(-ENOMEM, "out of memory");
			return NULL;
		}
		db->entries = e;
		db->entries_cap = cap;
	}
	return &db->pending[c->npending++];
}

static int add_pending(struct commit *c, struct tree *tree,
		       const struct change *ch, uint8_t kind,
		       struct bytes value)
{
	struct pending *p = next_pending(c);

	if (!p)
		return -ENOMEM;
	p->tree = tree->id;
	p->entry = (struct entry){
		.qualifier = ch->qualifier,
		.ts = ch->ts_given,
		.seq = c->seq++,
		.ttl_ms = kind == CELL_PUT ? ch->ttl_ms : 0,
		.value = value,
		.kind = kind,
	};
	if (kind_is_family_marker(kind))
		p->entry.qualifier = (struct bytes){0};
	return 0;
}

static bool is_rmw(const struct change *ch)
{
	return ch->op == CHANGE_INCREMENT || ch->op == CHANGE_APPEND;
}

static int settle(struct commit *c, const struct mutation *m, size_t at,
		  struct change *ch)
{
	struct bytes value = ch->value;
	uint8_t kind = ch->op;
	int family, r;

	family = table_state_family(c->st, ch->family);
	if (family < 0)
		return family;
	/* The row comes while the record is made and logged. */
	if (c->npending == 0)
		c->near = memtable_ahead(c->db->active,
					 c->st->trees[family]->id, m->row);
	switch (ch->op) {
	case CHANGE_PUT:
		r = too_large(c, family, value.len);
		break;
	case CHANGE_INCREMENT:
	case CHANGE_APPEND:
		kind = CELL_PUT;
		r = settle_rmw(c, m->row, ch, family, &value);
		break;
	default:
		value = (struct bytes){0};
		r = 0;
		break;
	}
	if (r < 0)
		return r;
	if (ch->op == CHANGE_DELETE)
		r = settle_delete(c, m, at);
	else if (!is_rmw(ch) || ch->ts != TS_CLOCK)
		r = settle_ts(c, m->row, ch, c->st->trees[family],
			      kind == CELL_PUT);
	if (r < 0)
		return r;
	return add_pending(c, c->st->trees[family], ch, kind, value);
}

/* A row delete is a family delete in every family. */
static int settle_row_delete(struct commit *c, const struct mutation *m,
			     size_t at)
{
	struct change *ch = &m->changes[at];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < c->st->schema.nfamilies; i++) {
		struct change one = *ch;

		one.op = CHANGE_DELETE_FAMILY;
		one.family = bytes_str(c->st->schema.families[i].name);
		r = settle(c, m, at, &one);
		if (r == 0 && (i == 0 || one.ts_given > ch->ts_given))
			ch->ts_given = one.ts_given;
	}
	return r;
}

/* 1 = settled behind what is pending, 0 = a check did not hold. */
static int settle_mutation(struct commit *c, struct mutation *m)
{
	c->checked = 0;
	for (size_t i = 0; i < m->nchecks; i++) {
		int r = check_one(c, m->row, &m->checks[i]);

		if (r <= 0)
			return r;
	}
	for (size_t i = 0; i < m->nchanges; i++) {
		struct change *ch = &m->changes[i];
		int r;

		if (ch->op == CHANGE_DELETE_ROW)
			r = settle_row_delete(c, m, i);
		else
			r = settle(c, m, i, ch);
		if (r < 0)
			return r;
	}
	return 1;
}

/* -- applying ------------------------------------------------------------- */

static struct tree *state_tree(const struct table_state *st, uint32_t id)
{
	for (uint32_t i = 0; i < st->schema.nfamilies; i++)
		if (st->trees[i]->id == id)
			return st->trees[i];
	return NULL;
}

/* Inserts pending changes of one row, tree by tree. Spoils their order. */
static int insert_row(struct lsm *db, struct bytes row, struct pending *p,
		      size_t n)
{
	/* The usual mutation: nothing to sort out, nothing to copy. */
	if (n == 1)
		return memtable_insert(db->active, p->tree, row, &p->entry, 1);
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
		r = memtable_insert(db->active, tree, row, db->entries, k);
		if (r < 0)
			return r;
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

static void commit_release(struct commit *c)
{
	for (size_t i = 0; i < c->nheld; i++)
		buf_free(&c->held[i]);
	free(c->held);
}

/*
 * The record is in the log: into memory with it. From here on there is no
 * way back, so running out of memory ends the store's writing.
 */
static int apply(struct commit *c, struct bytes row, size_t from)
{
	struct lsm *db = c->db;
	int r;

	note_timestamps(c->st, db->pending + from, c->npending - from);
	r = insert_row(db, row, db->pending + from, c->npending - from);
	if (r < 0) {
		why(r, "out of memory after the log was written");
		return lsm_fail(db, r);
	}
	return 0;
}

static int log_failed(struct lsm *db, int r)
{
	return r == -ENOSPC || r == -ENOMEM ? r : lsm_fail(db, r);
}

/* Under commit: nobody else counts, which spares a locked instruction. */
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
	struct bytes record;
	int r;

	if (!c.st)
		return why(-ENOENT, "the table has been dropped");
	r = settle_mutation(&c, m);
	if (r <= 0 || !c.npending)
		goto out;
	memtable_ahead_row(db->active, c.near);
	r = record_start(&db->record, atomic_load(&db->seq) + 1);
	if (r == 0)
		r = record_row(&db->record, m->row, db->pending,
			       (uint32_t)c.npending);
	if (r < 0) {
		why(r, "out of memory for a log record");
		goto out;
	}
	memtable_ahead_cells(db->active, c.near);
	record = buf_bytes(&db->record);
	r = wal_append(db->wal, &record, 1, lsn);
	if (r < 0) {
		r = log_failed(db, r);
		goto out;
	}
	count_logged(db, record.len);
	r = apply(&c, m->row, 0);
	if (r == 0) {
		atomic_store(&db->seq, c.seq - 1);
		r = 1;
	}
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

int lsm_mutate(struct table *base, struct mutation *m, unsigned flags)
{
	struct lsm *db = lsm_of(base->store);
	uint64_t lsn = 0;
	int r, s;

	pthread_mutex_lock(&db->commit);
	r = lsm_writable(db);
	if (r == 0)
		r = make_room(db, m);
	if (r == 0)
		r = commit_one(db, (struct lsm_table *)base, m, &lsn);
	pthread_mutex_unlock(&db->commit);
	if (r <= 0)
		return r;
	s = wait_for_disk(db, flags, lsn);
	return s < 0 ? s : r;
}

/* -- many rows ------------------------------------------------------------ */

/* How much goes into one record; a row is never split. */
#define RECORD_BYTES_MAX (1u << 20)

/*
 * Rows that a record already changes, as a filter that may err towards "yes".
 * A later mutation of such a row that depends on what is stored must wait for
 * the next record: the first is not in the memtable yet.
 */
struct seen_rows {
	uint64_t bits[256];
};

static bool seen_before(struct seen_rows *s, struct bytes row)
{
	uint64_t h = XXH3_64bits(row.data, row.len) % (256 * 64);
	uint64_t bit = 1ull << (h % 64);
	bool was = s->bits[h / 64] & bit;

	s->bits[h / 64] |= bit;
	return was;
}

static bool reads_first(const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++)
		if (m->changes[i].ts == TS_AUTO ||
		    (m->changes[i].op == CHANGE_DELETE &&
		     m->changes[i].ts == TS_CLOCK) ||
		    is_rmw(&m->changes[i]))
			return true;
	return false;
}

/*
 * Settles as many of @m as one record takes and writes them into db->record.
 * Returns how many, or the error of the first.
 */
static int gather(struct commit *c, struct mutation *m, size_t n)
{
	struct seen_rows seen = {0};
	struct lsm *db = c->db;
	size_t count = 0;
	int r;

	r = record_start(&db->record, c->seq);
	while (r == 0 && count < n && db->record.len < RECORD_BYTES_MAX) {
		size_t from = c->npending;
		uint64_t seq = c->seq;

		if (seen_before(&seen, m[count].row) && reads_first(&m[count]))
			break;
		r = settle_mutation(c, &m[count]);
		if (r > 0)
			r = record_row(&db->record, m[count].row,
				       db->pending + from,
				       (uint32_t)(c->npending - from));
		if (r < 0) {
			/* The failed one leaves nothing behind. */
			c->npending = from;
			c->seq = seq;
			break;
		}
		for (size_t i = from; i < c->npending; i++)
			db->pending[i].mutation = count;
		count++;
	}
	return count ? (int)count : r;
}

/* Rows of the entries ahead of the one that is inserted come near in steps. */
struct approach {
	uint64_t tokens[16];
	size_t slot, row, cells; /* entries that have taken the step */
};

static size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void approach(struct approach *a, const struct lsm *db,
		     const struct mutation *m, size_t from, size_t n)
{
	a->slot = max_size(a->slot, from);
	a->row = max_size(a->row, from);
	a->cells = max_size(a->cells, from);
	for (; a->slot < n && a->slot < from + 16; a->slot++) {
		const struct pending *p = &db->pending[a->slot];

		a->tokens[a->slot % 16] =
			memtable_ahead(db->active, p->tree, m[p->mutation].row);
	}
	for (; a->row < a->slot && a->row < from + 10; a->row++)
		memtable_ahead_row(db->active, a->tokens[a->row % 16]);
	for (; a->cells < a->row && a->cells < from + 5; a->cells++)
		memtable_ahead_cells(db->active, a->tokens[a->cells % 16]);
}

static int insert_rows(struct lsm *db, const struct mutation *m, size_t n)
{
	struct approach ahead = {0};
	size_t from = 0, to;
	int r = 0;

	for (; r == 0 && from < n; from = to) {
		size_t which = db->pending[from].mutation;

		approach(&ahead, db, m, from, n);
		for (to = from + 1; to < n; to++)
			if (db->pending[to].mutation != which)
				break;
		r = insert_row(db, m[which].row, db->pending + from, to - from);
	}
	if (r == 0)
		return 0;
	why(r, "out of memory after the log was written");
	return lsm_fail(db, r);
}

/* As commit_one() for as many of @m as one record takes. That many, or <0. */
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
	record = buf_bytes(&db->record);
	r = wal_append(db->wal, &record, 1, lsn);
	if (r < 0) {
		r = log_failed(db, r);
		goto out;
	}
	count_logged(db, record.len);
	note_timestamps(c.st, db->pending, c.npending);
	r = insert_rows(db, m, c.npending);
	if (r == 0) {
		atomic_store(&db->seq, c.seq - 1);
		r = count;
	}
out:
	commit_release(&c);
	return r;
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
		r = lsm_writable(db);
		if (r == 0)
			r = make_room(db, &m[*done]);
		if (r == 0)
			r = commit_some(db, (struct lsm_table *)base, m + *done,
					n - *done, &lsn);
		if (r > 0)
			*done += (size_t)r;
	}
	pthread_mutex_unlock(&db->commit);
	s = lsn ? wait_for_disk(db, flags, lsn) : 0;
	return r < 0 ? r : s;
}

int lsm_sync(struct store *s)
{
	struct lsm *db = lsm_of(s);
	int r = lsm_writable(db);

	if (r == 0)
		r = wal_sync(db->wal, wal_end(db->wal));
	return r < 0 && r != -EROFS ? lsm_fail(db, r) : r;
}

/* -- replay --------------------------------------------------------------- */

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
	int r;

	r = record_read(record, &next_seq, replay_row, db);
	if (r == 0 && next_seq > atomic_load(&db->seq) + 1)
		atomic_store(&db->seq, next_seq - 1);
	return r;
}
