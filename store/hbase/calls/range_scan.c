#include "store/hbase/calls/range_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "store/hbase/cellblock/cellblock.h"
#include "store/os/patience.h"
#include "store/value/why.h"

/* A server ends a batch by its bytes; this many rows are no limit. */
#define ROWS_MAX INT32_MAX
#define BATCH_BYTES (2u << 20)
/* The end of a scan waits this long for each answer that nobody reads. */
#define GOODBYE_MS 2000

struct range_scan {
	struct cluster *cluster;
	struct bytes table;
	struct pb_scan scan;
	struct buf table_name, bounds; /* the memory of names above */
	struct bytes stop;
	uint32_t rows, rows_max;
	struct retry retry; /* of the batch that is fetched */

	struct buf row; /* where the next scanner opens */
	bool includes_row;
	bool is_ended;
	unsigned batches;

	struct region *region;
	bool is_started; /* its first batch was asked for, and not taken */
	bool is_open;	 /* a scanner in it: */
	uint64_t scanner, sequence;
	bool more_in_region, more;

	struct attempt calls[2]; /* this batch, and the next one */
	unsigned at;		 /* which of the two is this batch */
	bool is_ahead;		 /* the next one has been asked for */
	struct decoder cells;
	/* The last cell of the batch before, if any. */
	bool has_last, skips;
	struct cell_name last_name;
	struct cell last;
};

static int keep_bound(struct buf *memory, struct bytes s)
{
	return buf_append(memory, s.data, s.len);
}

int range_scan_new(const struct range_scan_options *o, struct range_scan **out)
{
	struct range_scan *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return why(-ENOMEM, "out of memory for a scan");
	s->cluster = o->cluster;
	s->scan = o->scan;
	s->scan.here = true;
	s->rows = o->rows_first ? o->rows_first : ROWS_MAX;
	s->rows_max = o->rows_max;
	s->includes_row = o->scan.include_start;
	s->cells = decoder_of((struct bytes){0});
	r = keep_bound(&s->table_name, o->table);
	if (r == 0)
		r = keep_bound(&s->row, o->scan.start_row);
	if (r == 0)
		r = keep_bound(&s->bounds, o->scan.stop_row);
	if (r < 0) {
		range_scan_free(s);
		return why(r, "out of memory for a scan");
	}
	s->table = buf_bytes(&s->table_name);
	s->stop = buf_bytes(&s->bounds);
	*out = s;
	return 0;
}

/* Sends a call to the server of the region. */
static int send(struct range_scan *s, const struct pb_scan_request *m,
		uint64_t deadline_ns, struct attempt *call, struct failure *f)
{
	const struct rpc_request q = {
		.method = "Scan",
		.type = &pb_scan_request,
		.message = m,
		.deadline_ns = deadline_ns,
	};

	return attempt_start(s->cluster, &s->region->server, SERVICE_CLIENT, &q,
			     call, f);
}

static uint64_t until(const struct range_scan *s)
{
	return cluster_retry(s->cluster).deadline_ns;
}

static int take_batch(struct range_scan *s)
{
	struct pb_scan_response m;
	const struct frame_answer *answer = &s->calls[s->at].rpc.answer;
	int r = proto_take(answer->message, &pb_scan_response, &m);

	if (r < 0)
		return r;
	s->cells = decoder_of(answer->cells);
	s->more = m.more;
	s->more_in_region = m.more_in_region;
	if (m.scanner)
		s->scanner = m.scanner;
	/* The server has closed a scanner that has no more. */
	s->is_open = m.more && m.more_in_region && s->scanner;
	/* The next batch may be as large as a server gives it. */
	s->rows = ROWS_MAX;
	s->batches++;
	return 0;
}

/*
 * Tells the server that the scanner is not used any more. While the server
 * works on a batch it refuses this and keeps the scanner for a minute, so a
 * batch that is under way is waited for. The answer is waited for as well: a
 * server passes over what a client has asked for that has left since. Neither is for
 * a caller who is gone (patience.h).
 */
static void close_scanner(struct range_scan *s)
{
	struct pb_scan_request m;
	struct why_kept kept;
	struct failure f;
	struct attempt call = {0};
	unsigned ms, last = s->is_started ? s->at : !s->at;
	int r;

	if (!s->is_open && !s->is_started)
		return;
	why_keep(&kept);
	ms = patience_is_over() ? 0 : GOODBYE_MS;
	r = attempt_linger(s->cluster, &s->calls[last], ms);
	/* Of one that was just opened the answer names it. */
	if (r == 0 && s->is_started)
		take_batch(s);
	s->is_started = false;
	if (!s->is_open) {
		why_restore(&kept);
		return;
	}
	proto_init(&pb_scan_request, &m);
	m.scanner = s->scanner;
	m.close = true;
	if (send(s, &m, until(s), &call, &f) == 0 && r != -ETIMEDOUT)
		attempt_linger(s->cluster, &call, ms);
	attempt_end(&call);
	why_restore(&kept);
	s->is_open = false;
}

void range_scan_free(struct range_scan *s)
{
	if (!s)
		return;
	close_scanner(s);
	attempt_end(&s->calls[0]);
	attempt_end(&s->calls[1]);
	region_put(s->region);
	buf_free(&s->table_name);
	buf_free(&s->bounds);
	buf_free(&s->row);
	cell_name_free(&s->last_name);
	free(s);
}

/* Keeps the last cell of a batch whose memory goes. */
static int keep_last(struct range_scan *s, const struct cell *c)
{
	if (cell_name_set(&s->last_name, c) < 0)
		return why(-ENOMEM, "out of memory for a scan");
	s->last = *c;
	s->last.row = s->last_name.row;
	s->last.family = s->last_name.family;
	s->last.qualifier = s->last_name.qualifier;
	s->has_last = true;
	return 0;
}

/* Was the cell of a row that is read again given before? */
static bool was_given(const struct range_scan *s, const struct cell *c)
{
	const struct cell *last = &s->last;
	int order = bytes_cmp(c->row, last->row);

	if (order)
		return s->scan.reversed ? order > 0 : order < 0;
	order = bytes_cmp(c->family, last->family);
	if (!order)
		order = bytes_cmp(c->qualifier, last->qualifier);
	if (order)
		return order < 0;
	return c->ts != last->ts ? c->ts > last->ts : c->kind >= last->kind;
}

/* What opens a scanner where the scan stands, with its first batch. */
static void opening(const struct range_scan *s, struct pb_scan_request *m)
{
	proto_init(&pb_scan_request, m);
	m->scan = s->scan;
	m->scan.start_row = s->row.len ? buf_bytes(&s->row) : (struct bytes){0};
	m->scan.include_start = s->includes_row;
	m->scan.stop_row = s->stop.len ? s->stop : (struct bytes){0};
	m->scan.bytes_max = BATCH_BYTES;
	m->scan.allow_partial = true;
	m->rows = s->rows;
	m->limit_rows = s->rows_max;
	m->takes_partials = m->takes_heartbeats = true;
}

/* In which region that is. */
static enum side side_of(const struct range_scan *s)
{
	return s->scan.reversed && (!s->row.len || !s->includes_row)
		       ? SIDE_BEFORE
		       : SIDE_OF;
}

static int open_scanner(struct range_scan *s, struct failure *f)
{
	struct pb_scan_request m;
	struct region_call rc = {
		.cluster = s->cluster,
		.table = s->table,
		.row = buf_bytes(&s->row),
		.side = side_of(s),
		.request = {.method = "Scan",
			    .type = &pb_scan_request,
			    .message = &m},
		.region = &m.region,
		.is_repeatable = true,
	};
	int r;

	opening(s, &m);
	s->scanner = 0;
	s->sequence = 0;
	r = region_call(&rc, &s->retry, &s->calls[s->at], &s->region, f);
	return r < 0 ? r : take_batch(s);
}

/* Asks for the next batch. The bytes of this one stay. */
static int ask_next(struct range_scan *s, struct failure *f)
{
	struct pb_scan_request m;

	proto_init(&pb_scan_request, &m);
	m.scanner = s->scanner;
	m.rows = s->rows;
	m.sequence = s->sequence++;
	m.takes_partials = m.takes_heartbeats = true;
	s->is_ahead = true;
	return send(s, &m, until(s), &s->calls[!s->at], f);
}

/* The same before it is needed. What cannot be asked now is asked then. */
static void ask_ahead(struct range_scan *s, struct failure *f)
{
	if (ask_next(s, f) == 0)
		return;
	attempt_end(&s->calls[!s->at]);
	s->is_ahead = false;
	s->sequence--;
}

static int next_batch(struct range_scan *s, struct failure *f)
{
	int r = s->is_ahead ? 0 : ask_next(s, f);

	if (r == 0)
		r = attempt_wait(&s->calls[!s->at], f);
	/* Ends the old batch: what takes its place has come, or has failed. */
	attempt_end(&s->calls[s->at]);
	s->at = !s->at;
	s->is_ahead = false;
	if (r < 0) {
		if (f->cure == CURE_NONE)
			return f->err;
		/* A scanner that missed a call is of no use any more. */
		if (f->cure == CURE_LOCATE)
			region_forget(s->cluster, s->region);
		if (f->cure != CURE_DOUBT)
			f->cure = CURE_SCANNER;
		s->is_open = false;
		return f->err;
	}
	r = take_batch(s);
	/*
	 * A caller that has read two batches will probably read on, so the
	 * server begins with the next one.
	 */
	if (r == 0 && s->is_open)
		ask_ahead(s, f);
	return r;
}

int range_scan_border(const struct range_scan *s, struct bytes *out)
{
	bool reversed = s->scan.reversed;
	struct bytes border;
	int order;

	if (!s->region)
		return 0;
	border = reversed ? s->region->start : s->region->end;
	order = bytes_cmp(border, s->stop);
	if (!border.len)
		return 0;
	if (s->stop.len && (reversed ? order <= 0 : order >= 0) &&
	    /* The row that bounds the scan may be the next region's first. */
	    !(order == 0 && !reversed && s->scan.include_stop))
		return 0;
	*out = border;
	return 1;
}

int range_scan_cut(struct range_scan *s)
{
	struct bytes border;

	if (!range_scan_border(s, &border))
		return 0;
	if (buf_set(&s->bounds, border) < 0)
		return why(-ENOMEM, "out of memory for a scan");
	s->stop = buf_bytes(&s->bounds);
	s->scan.include_stop = s->scan.reversed;
	return 0;
}

unsigned range_scan_batches(const struct range_scan *s)
{
	return s->batches;
}

/* Moves behind the region that has ended: 1, or 0 if it was the last. */
static int next_region(struct range_scan *s)
{
	struct bytes border;

	if (!range_scan_border(s, &border))
		return 0;
	if (buf_set(&s->row, border) < 0)
		return why(-ENOMEM, "out of memory for a scan");
	s->includes_row = !s->scan.reversed;
	return 1;
}

/* Sets where a lost scanner is opened again. */
static int stand_at_last(struct range_scan *s)
{
	if (!s->has_last)
		return 0;
	if (buf_set(&s->row, s->last.row) < 0)
		return why(-ENOMEM, "out of memory for a scan");
	s->includes_row = true;
	s->skips = true;
	return 0;
}

static void drop_region(struct range_scan *s)
{
	attempt_end(&s->calls[s->at]);
	region_put(s->region);
	s->region = NULL;
	s->is_open = false;
}

int range_scan_start(struct range_scan *s, struct retry *retry)
{
	struct pb_scan_request m;
	uint64_t deadline_ns = until(s);
	struct patience kept;
	struct failure f;
	int r = region_find(s->cluster, s->table, buf_bytes(&s->row),
			    side_of(s), retry, &s->region);

	if (r < 0)
		return r;
	opening(s, &m);
	m.region = (struct pb_region){true, REGION_BY_NAME, s->region->name};
	kept = patience;
	s->is_started = send(s, &m, deadline_ns, &s->calls[s->at], &f) == 0;
	/*
	 * Then it is opened when it is read, with all tries; what was lost in asking
	 * ahead is not taken from the time of what is read before.
	 */
	if (!s->is_started) {
		patience = kept;
		drop_region(s);
	}
	return 0;
}

/* Waits for the batch that was asked for: 0, or a new scanner is opened. */
static int take_started(struct range_scan *s)
{
	struct failure f = {0};
	int r = attempt_wait(&s->calls[s->at], &f);

	s->is_started = false;
	if (r == 0)
		r = take_batch(s);
	if (r == 0)
		return 0;
	if (f.cure == CURE_LOCATE)
		region_forget(s->cluster, s->region);
	drop_region(s);
	return r;
}

void range_scan_urge(struct range_scan *s)
{
	struct failure f;
	struct why_kept kept;

	if (!s->is_started || !attempt_has_ended(&s->calls[s->at]))
		return;
	why_keep(&kept);
	if (take_started(s) == 0 && s->is_open)
		ask_ahead(s, &f);
	why_restore(&kept);
}

/* Is the scanner of no use any more, and another one to be opened? */
static bool is_lost(const struct failure *f)
{
	return f->cure == CURE_SCANNER || f->cure == CURE_DOUBT;
}

/* Fetches a batch, which may be empty: 1, or 0 at the scan's end. */
static int fetch(struct range_scan *s)
{
	struct failure f = {0};
	int r;

	/* A filter may pass over many batches in one call. */
	patience_begin_call();
	s->retry = cluster_retry(s->cluster);
	if (s->is_started && take_started(s) == 0)
		return 1;
	for (;;) {
		if (s->is_open) {
			r = next_batch(s, &f);
		} else if (s->region && !s->more) {
			return 0;
		} else {
			/* Behind what has ended, or where a scanner is lost. */
			if (s->region && !s->more_in_region && !is_lost(&f)) {
				r = next_region(s);
				if (r <= 0)
					return r;
			}
			r = open_scanner(s, &f);
		}
		if (r == 0)
			return 1;
		if (!is_lost(&f))
			return r;
		r = stand_at_last(s);
		if (r < 0)
			return r;
		if (!retry_wait(&s->retry, &f))
			return f.err == -EAGAIN ? -ETIMEDOUT : f.err;
	}
}

int range_scan_next(struct range_scan *s, struct cell *out)
{
	int r;

	for (;;) {
		r = s->is_ended ? 0 : cellblock_next(&s->cells, out);
		if (r < 0)
			return r;
		if (r > 0) {
			if (s->skips && was_given(s, out))
				continue;
			s->skips = false;
			/* The memory of the last cell of a batch goes. */
			if (s->cells.at == s->cells.end &&
			    keep_last(s, out) < 0)
				return -ENOMEM;
			return 1;
		}
		if (s->is_ended)
			return 0;
		r = fetch(s);
		if (r < 0)
			return r;
		s->is_ended = r == 0;
	}
}
