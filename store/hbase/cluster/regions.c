#include "store/hbase/cluster/regions.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "store/hbase/cellblock/cellblock.h"
#include "store/hbase/wire/messages.h"
#include "store/value/array.h"
#include "store/value/why.h"

#define META "hbase:meta"
/* The one region that hbase:meta has. */
#define META_REGION META ",,1"
/* Behind, and before, the number of any region. */
#define LAST_ID "99999999999999"
#define FIRST_ID "00000000000000"

struct regions {
	pthread_mutex_t lock;
	struct region **all; /* by table and start */
	size_t n, cap;
};

int regions_new(struct regions **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return why(-ENOMEM, "out of memory for a cluster");
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

void regions_free(struct regions *rs)
{
	if (!rs)
		return;
	for (size_t i = 0; i < rs->n; i++)
		region_put(rs->all[i]);
	free(rs->all);
	pthread_mutex_destroy(&rs->lock);
	free(rs);
}

static struct region *region_get(struct region *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void region_put(struct region *r)
{
	if (!r || !refs_drop(&r->refs))
		return;
	buf_free(&r->memory);
	free(r);
}

/* The number of regions that begin at or before @row, or with @before before. */
static size_t count_up_to(const struct regions *rs, struct bytes table,
			  struct bytes row, bool before)
{
	size_t low = 0, high = rs->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = bytes_cmp(rs->all[mid]->table, table);

		if (c == 0)
			c = bytes_cmp(rs->all[mid]->start, row);
		if (c < 0 || (c == 0 && !before))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool has_row(const struct region *r, struct bytes row, enum side side)
{
	if (side == SIDE_OF)
		return bytes_cmp(r->start, row) <= 0 &&
		       (!r->end.len || bytes_cmp(row, r->end) < 0);
	if (!row.len)
		return !r->end.len;
	return bytes_cmp(r->start, row) < 0 &&
	       (!r->end.len || bytes_cmp(row, r->end) <= 0);
}

/* The region that is known, with a reference, or NULL. */
static struct region *find_known(struct regions *rs, struct bytes table,
				 struct bytes row, enum side side)
{
	/* Behind every row there can be: of no row, the last region. */
	static const uint8_t most[ROW_LEN_MAX + 1] = {[0 ... ROW_LEN_MAX] =
							      0xff};
	struct region *found = NULL;
	struct bytes to = row;
	size_t n;

	if (side == SIDE_BEFORE && !row.len)
		to = bytes_of(most, sizeof(most));
	pthread_mutex_lock(&rs->lock);
	n = count_up_to(rs, table, to, side == SIDE_BEFORE);
	if (n && bytes_eq(rs->all[n - 1]->table, table) &&
	    has_row(rs->all[n - 1], row, side))
		found = region_get(rs->all[n - 1]);
	pthread_mutex_unlock(&rs->lock);
	return found;
}

/* REQUIRES: lock. */
static void remove_at(struct regions *rs, size_t i)
{
	region_put(rs->all[i]);
	memmove(&rs->all[i], &rs->all[i + 1],
		(rs->n - i - 1) * sizeof(struct region *));
	rs->n--;
}

static bool overlap(const struct region *a, const struct region *b)
{
	return bytes_eq(a->table, b->table) &&
	       (!a->end.len || bytes_cmp(b->start, a->end) < 0) &&
	       (!b->end.len || bytes_cmp(a->start, b->end) < 0);
}

/* What a region that was split or merged was before goes. */
static void remember(struct regions *rs, struct region *r)
{
	size_t i;

	pthread_mutex_lock(&rs->lock);
	for (i = rs->n; i > 0; i--)
		if (overlap(rs->all[i - 1], r))
			remove_at(rs, i - 1);
	/* Without memory it is asked for again. */
	if (ARRAY_RESERVE(rs->all, rs->cap, rs->n + 1) == 0) {
		i = count_up_to(rs, r->table, r->start, false);
		memmove(&rs->all[i + 1], &rs->all[i],
			(rs->n - i) * sizeof(struct region *));
		rs->all[i] = region_get(r);
		rs->n++;
	}
	pthread_mutex_unlock(&rs->lock);
}

void region_forget(struct cluster *c, const struct region *r)
{
	struct regions *rs = cluster_regions(c);

	pthread_mutex_lock(&rs->lock);
	for (size_t i = rs->n; i > 0; i--)
		if (rs->all[i - 1] == r)
			remove_at(rs, i - 1);
	pthread_mutex_unlock(&rs->lock);
}

void regions_forget_table(struct cluster *c, struct bytes table)
{
	struct regions *rs = cluster_regions(c);

	pthread_mutex_lock(&rs->lock);
	for (size_t i = rs->n; i > 0; i--)
		if (bytes_eq(rs->all[i - 1]->table, table))
			remove_at(rs, i - 1);
	pthread_mutex_unlock(&rs->lock);
}

static struct region *region_new(const struct server *server,
				 const struct bytes part[4])
{
	struct region *r = calloc(1, sizeof(*r));
	struct bytes *to[] = {&r->table, &r->name, &r->start, &r->end};
	const uint8_t *at;
	int err = 0;

	if (!r)
		return NULL;
	atomic_init(&r->refs, 1);
	r->server = *server;
	for (int i = 0; i < 4 && err == 0; i++)
		err = buf_append(&r->memory, part[i].data, part[i].len);
	if (err < 0) {
		region_put(r);
		return NULL;
	}
	at = r->memory.data;
	for (int i = 0; i < 4; i++) {
		*to[i] = bytes_of(at, part[i].len);
		at += part[i].len;
	}
	return r;
}

/* host:port, as info:server has it. */
static int take_address(struct bytes s, struct server *out)
{
	size_t n = s.len;
	unsigned port = 0;

	while (n > 0 && s.data[n - 1] != ':')
		n--;
	for (size_t i = n; i < s.len && port <= UINT16_MAX; i++)
		port = s.data[i] >= '0' && s.data[i] <= '9'
			       ? port * 10 + s.data[i] - '0'
			       : UINT16_MAX + 1;
	return n && server_set(out, bytes_of(s.data, n - 1), port)
		       ? 0
		       : why(-EPROTO,
			     "hbase:meta names no host:port for a region");
}

/* The row of hbase:meta in @block: 0; -EAGAIN, the region is not served now. */
static int take_row(struct bytes table, struct bytes cells, struct region **out)
{
	struct decoder block = decoder_of(cells);
	struct bytes info = {0}, address = {0}, name = {0};
	struct pb_region_info region;
	struct server server;
	struct cell cell;
	int r;

	while ((r = cellblock_next(&block, &cell)) > 0) {
		name = cell.row;
		if (bytes_eq(cell.qualifier, bytes_str("regioninfo")))
			info = cell.value;
		else if (bytes_eq(cell.qualifier, bytes_str("server")))
			address = cell.value;
	}
	if (r < 0)
		return r;
	if (!name.len)
		return why(-ENOENT, "there is no such table");
	r = region_info_take(info, &region);
	if (r < 0)
		return r;
	if (region.offline || region.split || !address.len)
		return why(-EAGAIN, "no server has region %.*s now",
			   (int)name.len, (const char *)name.data);
	r = take_address(address, &server);
	if (r < 0)
		return r;
	*out = region_new(
		&server,
		(const struct bytes[]){table, name, region.start, region.end});
	return *out ? 0 : why(-ENOMEM, "out of memory for a region");
}

/* Where hbase:meta is: at the masters. */
static int find_meta(struct cluster *c, uint64_t deadline_ns,
		     struct region **out)
{
	struct rpc_request q = {
		.method = "GetMetaRegionLocations",
		.deadline_ns = deadline_ns,
	};
	struct bytes parts[4] = {bytes_str(META), bytes_str(META_REGION)};
	struct pb_meta_locations answer;
	struct pb_location at = {0};
	struct attempt call = {0};
	struct server server;
	int r = registry_call(c, &q, &call, &pb_meta_locations, &answer);

	if (r == 0)
		r = proto_next(&answer.locations, &at);
	if (r >= 0 && !server_set(&server, at.server.host, at.server.port))
		r = why(-EAGAIN, "no server has hbase:meta now");
	if (r >= 0) {
		*out = region_new(&server, parts);
		r = *out ? 0 : why(-ENOMEM, "out of memory for a region");
	}
	attempt_end(&call);
	if (r == 0)
		remember(cluster_regions(c), *out);
	return r;
}

/* The row of hbase:meta at or before which the wanted region's is. */
static int meta_key(struct bytes table, struct bytes row, enum side side,
		    struct buf *out)
{
	const char *id = side == SIDE_OF ? LAST_ID : FIRST_ID;
	struct encoder e = {.out = out};

	put_raw(&e, table.data, table.len);
	/* A key of hbase:meta is a row's, and no longer than one. */
	if (row.len > ROW_LEN_MAX - table.len - 2 - strlen(id))
		row.len = ROW_LEN_MAX - table.len - 2 - strlen(id);
	if (side == SIDE_BEFORE && !row.len) {
		put_u8(&e, 0);
		return e.err;
	}
	put_u8(&e, ',');
	put_raw(&e, row.data, row.len);
	put_u8(&e, ',');
	put_raw(&e, id, strlen(id));
	return e.err;
}

/* Asks the server that has hbase:meta, once. */
static int ask_meta(struct cluster *c, const struct region *meta,
		    struct bytes table, struct bytes start, struct bytes stop,
		    uint64_t deadline_ns, struct region **out,
		    struct failure *f)
{
	const struct pb_column info = {.here = true,
				       .family = bytes_str("info")};
	struct pb_scan_request message;
	struct rpc_request q = {
		.method = "Scan",
		.type = &pb_scan_request,
		.message = &message,
		.deadline_ns = deadline_ns,
	};
	struct attempt call = {0};
	int r;

	proto_init(&pb_scan_request, &message);
	proto_init(&pb_scan, &message.scan);
	message.region = (struct pb_region){true, REGION_BY_NAME, meta->name};
	message.scan.here = true;
	message.scan.columns = (struct proto_list){.items = &info, .n = 1};
	message.scan.start_row = start;
	message.scan.stop_row = stop;
	message.scan.include_stop = true;
	message.scan.reversed = true;
	message.rows = 1;
	message.limit_rows = 1;
	message.close = true;
	r = attempt_start(c, &meta->server, SERVICE_CLIENT, &q, &call, f);
	if (r == 0)
		r = attempt_wait(&call, f);
	if (r == 0) {
		r = take_row(table, call.rpc.answer.cells, out);
		*f = (struct failure){r, r == -EAGAIN ? CURE_WAIT : CURE_NONE,
				      true};
	}
	attempt_end(&call);
	return r < 0 ? f->err : 0;
}

/* One attempt to learn where the region is. */
static int learn(struct cluster *c, struct bytes table, struct bytes start,
		 struct bytes stop, uint64_t deadline_ns, struct region **out,
		 struct failure *f)
{
	struct region *meta = find_known(cluster_regions(c), bytes_str(META),
					 (struct bytes){0}, SIDE_OF);
	int r = meta ? 0 : find_meta(c, deadline_ns, &meta);

	if (r < 0) {
		*f = (struct failure){r, r == -EAGAIN ? CURE_WAIT : CURE_NONE,
				      true};
		return r;
	}
	r = ask_meta(c, meta, table, start, stop, deadline_ns, out, f);
	if (r < 0 && f->cure == CURE_LOCATE)
		region_forget(c, meta);
	region_put(meta);
	return r;
}

/* As region_find(), past what is known already. */
static int look_up(struct cluster *c, struct bytes table, struct bytes row,
		   enum side side, struct retry *retry, struct region **out)
{
	struct buf start = {0}, stop = {0};
	struct encoder e = {.out = &stop};
	struct failure f;
	int r;

	put_raw(&e, table.data, table.len);
	put_raw(&e, ",,", 2);
	if (e.err || meta_key(table, row, side, &start) < 0)
		r = why(-ENOMEM, "out of memory for a region");
	else
		do
			r = learn(c, table, buf_bytes(&start), buf_bytes(&stop),
				  retry->deadline_ns, out, &f);
		while (r < 0 && retry_wait(retry, &f));
	buf_free(&start);
	buf_free(&stop);
	if (r == 0)
		remember(cluster_regions(c), *out);
	return r;
}

int region_find(struct cluster *c, struct bytes table, struct bytes row,
		enum side side, struct retry *retry, struct region **out)
{
	struct buf at = {0};
	int r;

	*out = find_known(cluster_regions(c), table, row, side);
	if (*out)
		return 0;
	r = look_up(c, table, row, side, retry, out);
	/* Of a long row only the beginning was looked up. */
	while (r == 0 && !has_row(*out, row, side) && (*out)->end.len &&
	       row.len && bytes_cmp((*out)->end, row) < (side == SIDE_OF)) {
		r = buf_set(&at, (*out)->end) < 0
			    ? why(-ENOMEM, "out of memory for a region")
			    : 0;
		region_put(*out);
		*out = NULL;
		if (r == 0)
			r = look_up(c, table, buf_bytes(&at), SIDE_OF, retry,
				    out);
	}
	buf_free(&at);
	if (r == 0 && !has_row(*out, row, side)) {
		region_put(*out);
		*out = NULL;
		/* hbase:meta has a hole there for a moment, or for good. */
		r = why(-EAGAIN, "hbase:meta names no region for a row");
	}
	return r;
}
