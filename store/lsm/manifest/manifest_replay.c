/*
 * A manifest's content made a catalog again.
 */
#include "store/lsm/manifest/manifest_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/value/codec.h"
#include "store/value/why.h"

/* Each operation is an edit of its own: staged, then applied. */
static int apply(struct catalog *c, const struct edit *e)
{
	struct catalog_stage stage;
	int r = catalog_stage(c, e, &stage);

	if (r == 0)
		catalog_apply(c, e, &stage);
	return r;
}

static int replay_file(struct decoder *d, struct catalog *c)
{
	struct sst_info info = {0};
	struct edit_file f = {.info = &info};
	struct edit e = {.added = &f, .nadded = 1};
	struct bytes row;
	uint8_t ttl;
	int r = 0;

	f.tree = take_u32(d);
	f.level = take_u8(d);
	info.number = take_u64(d);
	info.file_bytes = take_u64(d);
	info.checksum = take_u64(d);
	info.entries = take_u64(d);
	info.rows = take_u64(d);
	info.markers = take_u64(d);
	info.raw_bytes = take_u64(d);
	info.seq_min = take_u64(d);
	info.seq_max = take_u64(d);
	info.ts_min = (int64_t)take_u64(d);
	info.ts_max = (int64_t)take_u64(d);
	row = take_bytes(d, ROW_LEN_MAX);
	r = buf_set(&info.row_min, row);
	row = take_bytes(d, ROW_LEN_MAX);
	if (r == 0)
		r = buf_set(&info.row_max, row);
	ttl = take_u8(d);
	info.has_ttl = ttl;
	if (ttl > 1)
		d->bad = true;
	if (r == 0)
		r = d->bad ? -EUCLEAN : apply(c, &e);
	buf_free(&info.row_min);
	buf_free(&info.row_max);
	return r;
}

static int take_gap(struct decoder *d, struct history *h)
{
	struct bytes min = take_bytes(d, ROW_LEN_MAX);
	struct bytes max = take_bytes(d, ROW_LEN_MAX);
	int64_t from = (int64_t)take_u64(d), to = (int64_t)take_u64(d);

	if (d->bad || from < 0 || from >= to || bytes_cmp(min, max) > 0)
		return -EUCLEAN;
	return history_lose(h, min, max, from, to);
}

static int replay_lost(struct decoder *d, struct catalog *c)
{
	struct history h = {0};
	struct edit_loss l = {.history = &h};
	struct edit e = {.lost = &l, .nlost = 1};
	uint32_t ngaps;
	int r = 0;

	l.tree = take_u32(d);
	h.before = (int64_t)take_u64(d);
	h.pushed_seq = take_u64(d);
	h.pushed_versions = take_u32(d);
	ngaps = take_u32(d);
	if (d->bad || h.before < 0 || ngaps > HISTORY_GAPS_MAX)
		return -EUCLEAN;
	while (r == 0 && ngaps-- > 0)
		r = take_gap(d, &h);
	if (r == 0)
		r = apply(c, &e);
	history_free(&h);
	return r;
}

/* A name of at most @max bytes, none of them NUL, into @out. */
static void take_name(struct decoder *d, size_t max, char *out)
{
	struct bytes s = take_bytes(d, max);

	if (s.len && memchr(s.data, '\0', s.len))
		d->bad = true;
	if (s.len)
		memcpy(out, s.data, s.len);
	out[s.len] = '\0';
}

static int replay_table(struct decoder *d, struct catalog *c)
{
	struct catalog_table t = {0};
	struct edit e = {.put_table = &t};
	struct bytes schema;
	uint32_t ntrees;
	int r;

	t.id = take_u64(d);
	t.schema_version = take_u64(d);
	take_name(d, TABLE_NAME_LEN_MAX, t.name);
	ntrees = take_u32(d);
	if (d->bad || ntrees > SCHEMA_FAMILIES_MAX)
		return -EUCLEAN;
	t.trees = calloc(ntrees + 1, sizeof(*t.trees));
	if (!t.trees)
		return -ENOMEM;
	for (uint32_t i = 0; i < ntrees; i++)
		t.trees[i].id = take_u32(d);
	schema = take_bytes(d, decoder_left(d));
	r = d->bad ? -EUCLEAN : schema_decode(schema, &t.schema);
	if (r == 0)
		r = t.schema.nfamilies == ntrees ? apply(c, &e) : -EUCLEAN;
	schema_free(&t.schema);
	free(t.trees);
	return r;
}

/* Each takes bytes of the record, so that their number bounds itself. */
static int replay_shown(struct decoder *d, struct snapshot_tables *out)
{
	uint32_t n = take_u32(d);
	int r = 0;

	while (r == 0 && !d->bad && n-- > 0) {
		char name[TABLE_NAME_LEN_MAX + 1];
		struct schema schema = {0};
		uint64_t id = take_u64(d);
		struct bytes text;

		take_name(d, TABLE_NAME_LEN_MAX, name);
		text = take_bytes(d, decoder_left(d));
		r = d->bad ? -EUCLEAN : schema_decode(text, &schema);
		if (r == 0)
			r = snapshot_tables_add(out, id, name, &schema);
		schema_free(&schema);
	}
	return d->bad ? -EUCLEAN : r;
}

static int replay_snapshot(struct decoder *d, struct catalog *c)
{
	struct catalog_snapshot s = {0};
	struct edit e = {.put_snapshot = &s};
	int r;

	s.table = take_u64(d);
	s.seq = take_u64(d);
	s.taken_ms = (int64_t)take_u64(d);
	take_name(d, sizeof(s.name) - 1, s.name);
	r = replay_shown(d, &s.tables);
	if (r == 0)
		r = apply(c, &e);
	snapshot_tables_free(&s.tables);
	return r;
}

static int replay_counters(struct decoder *d, struct catalog *c)
{
	struct edit e = {0};

	e.next_file = take_u64(d);
	e.next_table = take_u64(d);
	e.next_tree = take_u32(d);
	e.last_seq = take_u64(d);
	e.wal_first = take_u64(d);
	return d->bad ? -EUCLEAN : apply(c, &e);
}

static int replay_op(struct decoder *d, struct catalog *c)
{
	struct sst_info info = {0};
	struct edit_file f = {.info = &info};
	struct catalog_snapshot s = {0};
	struct edit e = {0};

	switch (take_u8(d)) {
	case OP_COUNTERS:
		return replay_counters(d, c);
	case OP_PUT_TABLE:
		return replay_table(d, c);
	case OP_ADD_FILE:
		return replay_file(d, c);
	case OP_DROP_TABLE:
		e.drop_table = take_u64(d);
		if (!e.drop_table)
			return -EUCLEAN;
		break;
	case OP_REMOVE_FILE:
		f.tree = take_u32(d);
		info.number = take_u64(d);
		e.removed = &f;
		e.nremoved = 1;
		break;
	case OP_DROP_SNAPSHOT:
		s.table = take_u64(d);
		take_name(d, sizeof(s.name) - 1, s.name);
		e.drop_snapshot = &s;
		break;
	case OP_PUT_SNAPSHOT:
		return replay_snapshot(d, c);
	case OP_LOSE:
		return replay_lost(d, c);
	default:
		return -EUCLEAN;
	}
	return d->bad ? -EUCLEAN : apply(c, &e);
}

static int replay_header(struct bytes payload, uint64_t number, uint64_t *store)
{
	struct decoder d = decoder_of(payload);
	uint32_t format;

	take_u8(&d);
	format = take_u32(&d);
	/* Before all else: what follows is the newer format's to say. */
	if (!d.bad && format > STORE_FORMAT)
		return why(-EPROTONOSUPPORT,
			   "the store has format %" PRIu32
			   ", this program knows up to %d: use a newer one",
			   format, STORE_FORMAT);
	if (!d.bad && format && format < STORE_FORMAT)
		return why(-EPROTONOSUPPORT,
			   "the store has format %" PRIu32
			   ", this program knows only %d: export it with the "
			   "one that made it",
			   format, STORE_FORMAT);
	if (d.bad || format == 0 || take_u64(&d) != number)
		return -EUCLEAN;
	*store = take_u64(&d);
	return d.bad || decoder_left(&d) ? -EUCLEAN : 0;
}

/* Is there any sound record at @from or behind it? */
static bool record_behind(struct bytes image, uint64_t number, size_t from)
{
	struct bytes payload;

	for (; from < image.len && image.len - from > MANIFEST_HEAD; from++)
		if (manifest_take(image, number, from, &payload))
			return true;
	return false;
}

static bool all_zero(struct bytes s)
{
	return !s.len ||
	       (s.data[0] == 0 && !memcmp(s.data, s.data + 1, s.len - 1));
}

static int damaged(uint64_t number, size_t at, const char *what)
{
	char name[MANIFEST_NAME_LEN];

	manifest_name(number, name);
	return why(-EUCLEAN, "%s is damaged at byte %zu: %s", name, at, what);
}

/* The record at @at, the @i-th. 1 = taken, 0 = the end was there. */
static int replay_record(struct bytes image, uint64_t number, size_t at,
			 unsigned i, struct catalog *c,
			 struct manifest_image *m)
{
	struct bytes payload = {0}, rest = {image.data + at, image.len - at};
	char reason[256];
	struct decoder d;
	int r = 0;

	if (!manifest_take(image, number, at, &payload)) {
		if (i < 2)
			return damaged(number, at,
				       i ? "the state does not check"
					 : "the header does not check");
		m->torn = !all_zero(rest);
		if (m->torn && record_behind(image, number, at + 1))
			return damaged(number, at,
				       "a record does not check, and sound "
				       "ones follow it");
		return 0;
	}
	d = decoder_of(payload);
	if (take_u8(&d) != (i == 0   ? MANIFEST_HEADER
			    : i == 1 ? MANIFEST_STATE
			    : payload.data[0] == MANIFEST_CLOSED
				    ? MANIFEST_CLOSED
				    : MANIFEST_EDIT))
		return damaged(number, at, "a record of the wrong kind");
	if (i == 0)
		r = replay_header(payload, number, &m->store);
	else
		while (r == 0 && decoder_left(&d)) {
			why_clear();
			r = payload.data[0] == MANIFEST_CLOSED
				    ? -EUCLEAN
				    : replay_op(&d, c);
		}
	m->end = at + MANIFEST_HEAD + payload.len;
	if (i == 1)
		m->state_end = m->end;
	if (r == 0)
		return 1;
	if (r == -ENOMEM || r == -EPROTONOSUPPORT)
		return r;
	snprintf(reason, sizeof(reason), "%s", store_why());
	return damaged(number, at,
		       reason[0] ? reason : "a record makes no sense");
}

/* No two files of the store have one number. */
static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int check_numbers(const struct catalog *c, uint64_t number)
{
	uint64_t *all;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < c->ntables; i++)
		for (uint32_t j = 0; j < c->tables[i].schema.nfamilies; j++)
			n += c->tables[i].trees[j].nfiles;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < c->ntables; i++)
		for (uint32_t j = 0; j < c->tables[i].schema.nfamilies; j++) {
			const struct catalog_tree *t = &c->tables[i].trees[j];

			for (size_t k = 0; k < t->nfiles; k++)
				all[n++] = t->files[k].info.number;
		}
	qsort(all, n, sizeof(*all), compare_numbers);
	for (size_t i = 1; i < n && r == 0; i++)
		if (all[i] == all[i - 1])
			r = damaged(number, 0, "two trees share a file");
	free(all);
	return r;
}

int manifest_replay(struct bytes image, uint64_t number, struct catalog *c,
		    struct manifest_image *out)
{
	struct manifest_image m = {0};
	int r = 1;

	if (!image.len)
		return damaged(number, 0, "it is empty");
	catalog_init(c);
	for (unsigned i = 0; r == 1; i += i < 2)
		r = m.end <= image.len
			    ? replay_record(image, number, m.end, i, c, &m)
			    : 0;
	if (r == 0)
		r = check_numbers(c, number);
	if (r < 0) {
		catalog_free(c);
		return r;
	}
	*out = m;
	return 0;
}
