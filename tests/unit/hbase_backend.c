/*
 * What a store sends to a cluster, of which threads here play all: one table of
 * one region with the families a and b, which hold the test's cells. A read gives
 * those of the family that it names, whatever else it says.
 */
#include <limits.h>
#include <stdatomic.h>
#include <pthread.h>

#include "tests/unit/unit.h"
#include "store/hbase/backend/hbase.h"
#include "store/hbase/cellblock/cellblock.h"
#include "store/hbase/master/admin_messages.h"
#include "store/hbase/master/descriptor.h"
#include "tests/unit/hbase_server.h"

#define CONNECTIONS_MAX 8
#define SENT_MAX 8
#define FUTURE 9000000000000000

struct played_cluster {
	struct store *s;
	struct table *t; /* the table "t" */
	int fd;
	uint16_t port;
	bool new_version_behavior;
	_Atomic bool has_c; /* a family that another client has added */
	bool knows_flush;   /* the master */
	/* So often somebody else has added that family when one is added. */
	_Atomic unsigned overtaken;
	unsigned lock_is_held; /* so often that of changes is another's */
	bool denies_locks;
	_Atomic bool is_given_back; /* that lock */
	unsigned unserved;	    /* so often the region is elsewhere */
	bool read_only;
	bool keeps; /* a family of others that keeps deleted cells */
	bool loses; /* a family, once a scan of it has had its first batch */
	_Atomic bool is_dropped; /* the table, by another client */
	bool takes_sum;		 /* what comes is one */
	const char *refusal;	 /* what a server says to changes, or NULL */
	const struct change *cells;
	size_t ncells;
	pthread_t acceptor, threads[CONNECTIONS_MAX];
	int nthreads;
	pthread_mutex_t lock; /* guards what follows */
	char methods[1024];   /* of all requests, in their order */
	struct buf bytes;     /* those of what was sent */
	struct cell sent[SENT_MAX];
	size_t nsent;
	bool wants_lengths;  /* the last scan of the table, of its values */
	unsigned of_all;     /* scans of it that ask for no range of columns */
	unsigned compacting; /* so often it says that it is at it */
	bool is_compacted;
};

struct visitor {
	struct played_cluster *c;
	int fd;
};

/* The cells of the family that is named first; of none, all. */
static void put_cells(const struct played_cluster *c, struct proto_list columns,
		      struct encoder *e)
{
	struct pb_column column = {0};

	proto_next(&columns, &column);
	for (size_t i = 0; i < c->ncells; i++)
		if (!column.here || bytes_eq(column.family, c->cells[i].family))
			cellblock_put(e, bytes_str("r"), &c->cells[i]);
}

static bool is_meta(struct bytes region)
{
	return region.len > 10 && !memcmp(region.data, "hbase:meta", 10);
}

/* Does a filter KeyOnlyFilter say that lengths take the place of values? */
static bool wants_lengths(struct bytes filter)
{
	static const char name[] = "KeyOnlyFilter";
	/* Behind the name: the field of the filter's message, with "true". */
	static const uint8_t yes[] = {2 << 3 | 2, 2, 1 << 3, 1};
	const uint8_t *at = NULL;

	for (size_t i = 0; i + sizeof(name) - 1 <= filter.len; i++)
		if (!memcmp(filter.data + i, name, sizeof(name) - 1))
			at = filter.data + i + sizeof(name) - 1;
	return at && at + sizeof(yes) <= filter.data + filter.len &&
	       !memcmp(at, yes, sizeof(yes));
}

static bool names(struct bytes filter, const char *class)
{
	return filter.len &&
	       memmem(filter.data, filter.len, class, strlen(class)) != NULL;
}

static void answer_scan(struct played_cluster *c, int fd,
			const struct server_request *q)
{
	struct pb_scan_request m;
	struct pb_scan_response answer;
	struct buf cells = {0};
	struct encoder e = {.out = &cells};

	assert_int_equal(proto_take(q->message, &pb_scan_request, &m), 0);
	if (is_meta(m.region.name)) {
		server_put_region(&e, c->port);
	} else if (c->loses && !c->ncells) {
		server_refuse(fd, q->id, "x.NoSuchColumnFamilyException");
		return;
	} else {
		c->wants_lengths = wants_lengths(m.scan.filter);
		c->of_all += !names(m.scan.filter, "ColumnRangeFilter");
		put_cells(c, m.scan.columns, &e);
	}
	proto_init(&pb_scan_response, &answer);
	answer.more = answer.more_in_region =
		c->loses && !is_meta(m.region.name);
	if (answer.more) {
		answer.scanner = 7;
		c->ncells = 0;
	}
	server_answer_cells(fd, q->id, &pb_scan_response, &answer,
			    buf_bytes(&cells));
	buf_free(&cells);
}

static void answer_get(struct played_cluster *c, int fd,
		       const struct server_request *q)
{
	const struct pb_get_response answer = {0};
	struct pb_get_request m;
	struct buf cells = {0};
	struct encoder e = {.out = &cells};

	assert_int_equal(proto_take(q->message, &pb_get_request, &m), 0);
	put_cells(c, m.get.columns, &e);
	server_answer_cells(fd, q->id, &pb_get_response, &answer,
			    buf_bytes(&cells));
	buf_free(&cells);
}

/* Keeps what was sent. */
static void answer_multi(struct played_cluster *c, int fd,
			 const struct server_request *q)
{
	const struct pb_fault fault = {
		.here = c->refusal != NULL,
		.class = bytes_str("x.DoNotRetryIOException"),
		.trace = c->refusal ? bytes_str(c->refusal) : (struct bytes){0},
	};
	const struct pb_region_result region = {
		.here = true, .fault = fault, .processed = true};
	const struct pb_multi_response answer = {
		.regions = {.items = &region, .n = 1},
		.processed = true,
	};
	struct decoder cells;

	pthread_mutex_lock(&c->lock);
	assert_int_equal(buf_set(&c->bytes, q->cells), 0);
	cells = decoder_of(buf_bytes(&c->bytes));
	c->nsent = 0;
	/* A sum has no time of its own: one that goes alone is not kept. */
	while (!c->takes_sum && decoder_left(&cells)) {
		assert_true(c->nsent < SENT_MAX);
		assert_int_equal(cellblock_next(&cells, &c->sent[c->nsent++]),
				 1);
	}
	pthread_mutex_unlock(&c->lock);
	server_answer(fd, q->id, &pb_multi_response, &answer);
}

static void answer_description(struct played_cluster *c, int fd, uint32_t id)
{
	struct family_attrs attrs;
	struct schema schema;
	struct buf body = {0};
	/* The same bytes as of an answer with one description. */
	struct pb_create_request answer = {0};
	const struct pb_nothing none = {0};

	if (c->is_dropped) {
		server_answer(fd, id, &pb_nothing, &none);
		return;
	}
	family_attrs_default(&attrs);
	attrs.new_version_behavior = c->new_version_behavior;
	schema_init(&schema, 0, 0);
	assert_int_equal(schema_add(&schema, bytes_str("a"), &attrs), 0);
	assert_int_equal(schema_add(&schema, bytes_str("b"), &attrs), 0);
	if (c->has_c)
		assert_int_equal(schema_add(&schema, bytes_str("c"), &attrs),
				 0);
	assert_int_equal(
		descriptor_put(bytes_str("t"), &schema, NULL, 0, &body), 0);
	if (c->keeps) {
		const struct pb_pair pair = {
			.here = true,
			.first = bytes_str("KEEP_DELETED_CELLS"),
			.second = bytes_str("TRUE")};
		const struct pb_family family = {
			.name = bytes_str("k"),
			.attributes = {.items = &pair, .n = 1}};
		struct encoder e = {.out = &body};

		put_u8(&e, 3 << 3 | 2);
		put_sized(&e, &pb_family, &family);
	}
	if (c->read_only) {
		const struct pb_pair pair = {.first = bytes_str("READONLY"),
					     .second = bytes_str("true")};
		struct encoder e = {.out = &body};

		put_u8(&e, 2 << 3 | 2);
		put_sized(&e, &pb_pair, &pair);
	}
	answer.descriptor = buf_bytes(&body);
	server_answer(fd, id, &pb_create_request, &answer);
	buf_free(&body);
	schema_free(&schema);
}

static void answer_info(struct played_cluster *c, int fd, uint32_t id)
{
	const struct pb_region_info_response answer = {
		.compaction_state = c->compacting ? 2 : 0,
	};

	c->compacting -= c->compacting > 0;
	server_answer(fd, id, &pb_region_info_response, &answer);
}

/* The region's file is another one behind a compaction. */
static void answer_files(struct played_cluster *c, int fd, uint32_t id)
{
	const bool is_new = c->is_compacted && !c->compacting;
	const struct bytes name = bytes_str(is_new ? "new" : "old");
	const struct pb_files_response answer = {
		.names = {.items = &name, .n = 1},
	};

	server_answer(fd, id, &pb_files_response, &answer);
}

static void answer_where(struct played_cluster *c, int fd,
			 const struct server_request *q)
{
	const struct pb_server server = {
		.here = true, .host = bytes_str("127.0.0.1"), .port = c->port};
	const struct pb_active_master active = {.server = server};
	const struct pb_location meta = {
		.here = true,
		.region = {.here = true,
			   .id = 1,
			   .table = table_name_of(bytes_str("hbase:meta"))},
		.server = server,
	};
	const struct pb_meta_locations metas = {
		.locations = {.items = &meta, .n = 1},
	};

	if (!strcmp(q->method, "GetActiveMaster"))
		server_answer(fd, q->id, &pb_active_master, &active);
	else
		server_answer(fd, q->id, &pb_meta_locations, &metas);
}

/* A snapshot of the table. */
static void answer_snapshots(int fd, uint32_t id)
{
	const struct pb_snapshot snapshot = {
		.here = true, .name = bytes_str("s"), .table = bytes_str("t")};
	const struct pb_snapshots answer = {
		.snapshots = {.items = &snapshot, .n = 1},
	};

	server_answer(fd, id, &pb_snapshots, &answer);
}

/* A change of the table: another client may be first with one of its own. */
static void answer_change(struct played_cluster *c, int fd, uint32_t id)
{
	const struct pb_procedure done = {0};

	if (!c->overtaken) {
		server_answer(fd, id, &pb_procedure, &done);
		return;
	}
	c->overtaken--;
	c->has_c = true;
	server_refuse(fd, id, "x.ConcurrentTableModificationException");
}

/* The lock of a table's changes, which others may have for a while. */
static void answer_lock(struct played_cluster *c, int fd,
			const struct server_request *q)
{
	const struct pb_procedure lock = {.id = 7};
	struct pb_lock_heartbeat m;
	struct pb_lock_state state = {.status = LOCK_IS_NOT_HELD};

	if (!strcmp(q->method, "RequestLock")) {
		if (c->denies_locks)
			server_refuse(fd, q->id, "x.AccessDeniedException");
		else
			server_answer(fd, q->id, &pb_procedure, &lock);
		return;
	}
	assert_int_equal(proto_take(q->message, &pb_lock_heartbeat, &m), 0);
	assert_int_equal(m.id, 7);
	if (!m.keeps)
		c->is_given_back = true;
	else if (c->lock_is_held)
		c->lock_is_held--;
	else
		state.status = LOCK_HELD;
	server_answer(fd, q->id, &pb_lock_state, &state);
}

static bool is_change(const char *method)
{
	return !strcmp(method, "ModifyTable") || !strcmp(method, "AddColumn") ||
	       !strcmp(method, "ModifyColumn") ||
	       !strcmp(method, "DeleteColumn");
}

static void answer_master(struct played_cluster *c, int fd,
			  const struct server_request *q)
{
	const struct pb_cluster_id cluster = {.id = bytes_str("c")};
	const struct pb_nothing nothing = {0};

	if (!strcmp(q->method, "GetClusterId")) {
		server_answer(fd, q->id, &pb_cluster_id, &cluster);
	} else if (!strcmp(q->method, "GetTableDescriptors")) {
		answer_description(c, fd, q->id);
	} else if (!strcmp(q->method, "GetCompletedSnapshots")) {
		answer_snapshots(fd, q->id);
	} else if (!strcmp(q->method, "GetStoreFile")) {
		answer_files(c, fd, q->id);
	} else if (!strcmp(q->method, "CompactRegion")) {
		c->is_compacted = true;
		server_answer(fd, q->id, &pb_nothing, &nothing);
	} else if (!strcmp(q->method, "FlushTable") && !c->knows_flush) {
		server_refuse(fd, q->id,
			      "org.apache.hadoop.hbase.DoNotRetryIOException");
	} else if (!strcmp(q->method, "FlushRegion") && c->unserved) {
		c->unserved--;
		server_refuse(fd, q->id, "x.NotServingRegionException");
	} else if (is_change(q->method)) {
		answer_change(c, fd, q->id);
	} else if (strstr(q->method, "Lock")) {
		answer_lock(c, fd, q);
	} else if (!strcmp(q->method, "GetRegionInfo")) {
		answer_info(c, fd, q->id);
	} else if (!strcmp(q->method, "FlushTable") ||
		   !strcmp(q->method, "FlushRegion")) {
		server_answer(fd, q->id, &pb_nothing, &nothing);
	} else {
		answer_where(c, fd, q);
	}
}

static void answer(struct played_cluster *c, int fd,
		   const struct server_request *q)
{
	if (!strcmp(q->method, "Scan"))
		answer_scan(c, fd, q);
	else if (!strcmp(q->method, "Get"))
		answer_get(c, fd, q);
	else if (!strcmp(q->method, "Multi"))
		answer_multi(c, fd, q);
	else
		answer_master(c, fd, q);
}

static void note(struct played_cluster *c, const struct server_request *q)
{
	size_t n;

	pthread_mutex_lock(&c->lock);
	n = strlen(c->methods);
	snprintf(c->methods + n, sizeof(c->methods) - n, " %s", q->method);
	pthread_mutex_unlock(&c->lock);
}

static void *serve(void *arg)
{
	struct visitor *v = arg;
	struct server_request q;

	server_greet(v->fd);
	while (server_take(v->fd, &q)) {
		note(v->c, &q);
		answer(v->c, v->fd, &q);
		server_request_free(&q);
	}
	close(v->fd);
	free(v);
	return NULL;
}

static void *accept_all(void *arg)
{
	struct played_cluster *c = arg;
	int fd;

	while ((fd = accept(c->fd, NULL, NULL)) >= 0) {
		struct visitor *v = malloc(sizeof(*v));

		assert_true(v && c->nthreads < CONNECTIONS_MAX);
		*v = (struct visitor){c, fd};
		pthread_create(&c->threads[c->nthreads++], NULL, serve, v);
	}
	return NULL;
}

static void begin(struct played_cluster *c)
{
	const struct store_options o = {0};
	char name[64];

	pthread_mutex_init(&c->lock, NULL);
	c->fd = server_listen(&c->port);
	pthread_create(&c->acceptor, NULL, accept_all, c);
	snprintf(name, sizeof(name), "hbase://127.0.0.1:%u", c->port);
	assert_int_equal(hbase_open(name, &o, &c->s), 0);
	assert_int_equal(table_open(c->s, bytes_str("t"), &c->t), 0);
}

static void end(struct played_cluster *c)
{
	table_unref(c->t);
	assert_int_equal(store_close(c->s), 0);
	shutdown(c->fd, SHUT_RDWR);
	pthread_join(c->acceptor, NULL);
	while (c->nthreads)
		pthread_join(c->threads[--c->nthreads], NULL);
	close(c->fd);
	buf_free(&c->bytes);
	pthread_mutex_destroy(&c->lock);
}

static const struct cell *sent_of(const struct played_cluster *c, uint8_t kind,
				  const char *family)
{
	for (size_t i = 0; i < c->nsent; i++)
		if (c->sent[i].kind == kind &&
		    bytes_eq(c->sent[i].family, bytes_str(family)))
			return &c->sent[i];
	fail_msg("nothing of family %s was sent", family);
	return NULL;
}

/*
 * Each family of the row is hidden up to what it holds itself, and the put behind
 * the delete is put behind the marker of its own family.
 */
static void assert_put_beside_delete(bool new_version_behavior)
{
	static const struct change cells[] = {
		{.op = CHANGE_PUT,
		 .family = {(const uint8_t *)"b", 1},
		 .qualifier = {(const uint8_t *)"q", 1},
		 .ts = FUTURE},
	};
	struct change changes[] = {
		{.op = CHANGE_DELETE_ROW, .ts = TS_AUTO},
		{.op = CHANGE_PUT,
		 .family = bytes_str("a"),
		 .qualifier = bytes_str("q"),
		 .ts = TS_AUTO},
	};
	struct mutation m = {
		.row = bytes_str("r"), .changes = changes, .nchanges = 2};
	struct played_cluster c = {
		.new_version_behavior = new_version_behavior,
		.cells = cells,
		.ncells = 1,
	};
	const struct cell *put, *marker;

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_int_equal(c.nsent, 3);
	put = sent_of(&c, CELL_PUT, "a");
	marker = sent_of(&c, CELL_DELETE_FAMILY, "a");
	assert_true(put->ts == marker->ts + 1);
	assert_true(put->ts < FUTURE);
	assert_true(put->ts == changes[1].ts_given);
	assert_true(sent_of(&c, CELL_DELETE_FAMILY, "b")->ts == FUTURE);
	end(&c);
}

static void a_put_beside_a_delete_of_the_row_stays(void **state)
{
	assert_put_beside_delete(false);
	assert_put_beside_delete(true);
}

/* What a delete of all times hides has no time behind it. */
static void nothing_is_put_behind_the_end_of_time(void **state)
{
	struct change changes[] = {
		{.op = CHANGE_DELETE_ROW, .ts = TS_MAX},
		{.op = CHANGE_PUT,
		 .family = bytes_str("a"),
		 .qualifier = bytes_str("q"),
		 .ts = TS_AUTO},
	};
	struct mutation m = {
		.row = bytes_str("r"), .changes = changes, .nchanges = 2};
	struct played_cluster c = {.new_version_behavior = true};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), -EOVERFLOW);
	assert_null(strstr(c.methods, " Multi"));
	end(&c);
}

/*
 * In the classic order markers of the column and of the family count. Of a row with
 * a million columns no other is read.
 */
static void a_put_looks_at_its_column_alone(void **state)
{
	const struct change cells[] = {
		{.op = CHANGE_DELETE_FAMILY,
		 .family = bytes_str("a"),
		 .ts = FUTURE + 5},
		{.op = CHANGE_PUT,
		 .family = bytes_str("a"),
		 .qualifier = bytes_str("p"),
		 .ts = FUTURE + 7},
		{.op = CHANGE_DELETE_COLUMN,
		 .family = bytes_str("a"),
		 .qualifier = bytes_str("q"),
		 .ts = FUTURE},
	};
	struct change change = {.op = CHANGE_PUT,
				.family = bytes_str("a"),
				.qualifier = bytes_str("q"),
				.ts = TS_AUTO};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &change, .nchanges = 1};
	struct played_cluster c = {.cells = cells, .ncells = 3};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_true(change.ts_given == FUTURE + 6);
	change.qualifier = (struct bytes){0};
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_true(change.ts_given == FUTURE + 6);
	assert_int_equal(c.of_all, 0);
	end(&c);
}

/* Who is to know it before there is a value asks so. */
static void that_no_time_is_left_is_known_before(void **state)
{
	const struct change last = {.op = CHANGE_PUT,
				    .family = bytes_str("a"),
				    .qualifier = bytes_str("q"),
				    .ts = TS_MAX};
	struct change change = last;
	struct mutation m = {
		.row = bytes_str("r"), .changes = &change, .nchanges = 1};
	struct played_cluster c = {
		.new_version_behavior = true, .cells = &last, .ncells = 1};

	begin(&c);
	assert_int_equal(table_mutate_try(c.t, &m), 1);
	change.ts = TS_AUTO;
	assert_int_equal(table_mutate_try(c.t, &m), -EOVERFLOW);
	assert_non_null(strstr(store_why(), "no timestamp is left"));
	change.op = CHANGE_APPEND;
	assert_int_equal(table_mutate_try(c.t, &m), -EOVERFLOW);
	c.ncells = 0;
	assert_int_equal(table_mutate_try(c.t, &m), 1);
	change.family = bytes_str("c");
	assert_int_equal(table_mutate_try(c.t, &m), -EPERM);
	assert_null(strstr(c.methods, " Multi"));
	end(&c);
}

/* HBase would make a version behind the end of time, which cannot be read. */
static void a_sum_is_not_put_behind_the_end_of_time(void **state)
{
	struct change last = {.op = CHANGE_PUT,
			      .family = bytes_str("a"),
			      .qualifier = bytes_str("q"),
			      .value = bytes_str("12345678"),
			      .ts = TS_MAX};
	struct change changes[] = {
		{.op = CHANGE_APPEND,
		 .family = last.family,
		 .qualifier = last.qualifier,
		 .value = bytes_str("x"),
		 .ts = TS_CLOCK},
		{.op = CHANGE_INCREMENT,
		 .family = last.family,
		 .qualifier = last.qualifier,
		 .delta = 1,
		 .ts = TS_AUTO},
	};
	struct mutation m = {
		.row = bytes_str("r"), .changes = changes, .nchanges = 1};
	struct played_cluster c = {
		.cells = &last, .ncells = 1, .takes_sum = true};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), -EOVERFLOW);
	assert_non_null(strstr(store_why(), "no timestamp is left"));
	m.changes = changes + 1;
	assert_int_equal(table_mutate(c.t, &m, 0), -EOVERFLOW);
	assert_null(strstr(c.methods, " Multi"));
	/* There is one for the first of two. */
	last.ts = TS_MAX - 1;
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_non_null(strstr(c.methods, " Multi"));
	c.methods[0] = '\0';
	m.changes = changes;
	m.nchanges = 2;
	assert_int_equal(table_mutate(c.t, &m, 0), -EOVERFLOW);
	assert_null(strstr(c.methods, " Multi"));
	end(&c);
}

/* And at an open, where every program looks. */
static void a_read_only_table_is_not_writable(void **state)
{
	struct played_cluster c = {.read_only = true};

	begin(&c);
	assert_int_equal(table_writable(c.t), -EROFS);
	assert_non_null(strstr(store_why(), "table t is READONLY"));
	end(&c);
	c = (struct played_cluster){0};
	begin(&c);
	assert_int_equal(table_writable(c.t), 0);
	end(&c);
}

static void assert_refused(const char *refusal, int err, const char *advice)
{
	struct change change = {
		.op = CHANGE_PUT, .family = bytes_str("a"), .ts = TS_CLOCK};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &change, .nchanges = 1};
	struct played_cluster c = {.refusal = refusal};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), err);
	assert_non_null(strstr(store_why(), refusal));
	assert_non_null(strstr(store_why(), advice));
	end(&c);
}

static void what_a_server_says_in_words_alone_is_understood(void **state)
{
	assert_refused("region is read only", -EROFS, "READONLY");
	assert_refused("Cell[r/a:/1/Put/vlen=2] with size 30 exceeds limit of "
		       "20 bytes",
		       -EFBIG, "hbase.server.keyvalue.maxsize");
	assert_refused("it is Monday", -EINVAL, "refused a change");
}

/* Of what cannot be there nobody can say whether a check of it holds. */
static void a_check_of_no_family_is_refused(void **state)
{
	const struct check check = {.op = CHECK_GREATER,
				    .family = bytes_str("c"),
				    .value = bytes_str("0")};
	struct change change = {
		.op = CHANGE_PUT, .family = bytes_str("a"), .ts = TS_CLOCK};
	struct mutation m = {.row = bytes_str("r"),
			     .changes = &change,
			     .nchanges = 1,
			     .checks = &check,
			     .nchecks = 1};
	struct played_cluster c = {0};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), -EPERM);
	assert_non_null(strstr(store_why(), "no family c"));
	end(&c);
}

static void a_table_with_a_snapshot_is_not_emptied(void **state)
{
	struct played_cluster c = {0};

	begin(&c);
	assert_int_equal(store_table_truncate(c.s, bytes_str("t")), -ENOTEMPTY);
	assert_int_equal(store_table_drop(c.s, bytes_str("t"), false),
			 -ENOTEMPTY);
	assert_null(strstr(c.methods, "DisableTable"));
	end(&c);
}

/* Waits until what was believed of the table is old. */
static int name_of_table(struct table *t, int until)
{
	char name[TABLE_NAME_LEN_MAX + 1];
	int r = 0;

	for (unsigned i = 0; i < 600; i++) {
		r = table_name(t, name);
		if (r == until)
			break;
		usleep(50000);
	}
	return r;
}

/* Or who has it open would go on with it, and nobody could make it anew. */
static void a_table_that_another_client_drops_has_no_name(void **state)
{
	struct played_cluster c = {0};
	struct schema schema;
	uint64_t version;

	begin(&c);
	version = table_schema_version(c.t);
	assert_int_equal(name_of_table(c.t, 0), 0);
	c.is_dropped = true;
	assert_int_equal(name_of_table(c.t, -ENOENT), -ENOENT);
	assert_true(table_schema_version(c.t) > version);
	assert_int_equal(table_schema(c.t, &schema), -ENOENT);
	/* And one of that name, which may be like it, is another one. */
	version = table_schema_version(c.t);
	c.is_dropped = false;
	assert_int_equal(name_of_table(c.t, 0), 0);
	assert_true(table_schema_version(c.t) > version);
	end(&c);
}

/* What HBase cannot keep is known before the change is made. */
static void a_schema_is_judged_without_a_change(void **state)
{
	struct alter a = {.rest = ALTER_KEEP, .dry = true};
	struct played_cluster c = {0};

	begin(&c);
	assert_int_equal(table_schema(c.t, &a.to), 0);
	assert_int_equal(table_change(c.t, &a), 0);
	a.to.families[0].attrs.ttl_ms = 36500 * 86400000ull;
	assert_int_equal(table_change(c.t, &a), -EINVAL);
	assert_non_null(strstr(store_why(), "3153600000 s"));
	assert_null(strstr(c.methods, "ModifyTable"));
	schema_free(&a.to);
	end(&c);
}

struct meanwhile {
	struct played_cluster *c;
	unsigned calls;
};

static int edit_mode(void *arg, const struct schema *now, struct alter *a)
{
	struct meanwhile *m = arg;

	assert_int_equal(now->families[0].attrs.new_version_behavior, m->calls);
	m->calls++;
	pthread_mutex_lock(&m->c->lock);
	m->c->new_version_behavior = true;
	pthread_mutex_unlock(&m->c->lock);
	a->dry = true;
	return schema_copy(&a->to, now);
}

static void an_edit_is_made_again_of_what_another_client_did(void **state)
{
	struct played_cluster c = {0};
	struct meanwhile m = {&c, 0};

	begin(&c);
	assert_int_equal(table_edit(c.t, edit_mode, &m), 0);
	assert_int_equal(m.calls, 2);
	end(&c);
}

static void a_family_is_added_to_those_that_are_there(void **state)
{
	struct played_cluster c = {0};
	struct schema known;

	begin(&c);
	assert_int_equal(table_schema(c.t, &known), 0);
	c.has_c = true;
	assert_int_equal(table_add_family(c.t, bytes_str("c")), -EEXIST);
	assert_null(strstr(c.methods, "ModifyTable"));
	schema_free(&known);
	end(&c);
}

/* The change is made by the call @method, and by no other. */
static void assert_change(const struct alter *a, const char *method)
{
	static const char *const all[] = {"ModifyTable", "AddColumn",
					  "ModifyColumn", "DeleteColumn"};
	struct played_cluster c = {0};

	begin(&c);
	assert_int_equal(table_change(c.t, a), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(strstr(c.methods, all[i]) != NULL,
				 !strcmp(all[i], method));
	end(&c);
}

/* By these the master sees whether another client was first. */
static void a_change_of_one_family_is_a_call_of_its_own(void **state)
{
	struct alter a = {.rest = ALTER_DROP};
	struct family_attrs attrs;

	family_attrs_default(&attrs);
	schema_init(&a.to, 0, 0);
	assert_int_equal(schema_add(&a.to, bytes_str("a"), &attrs), 0);
	attrs.new_version_behavior = false;
	a.to.families[0].attrs = attrs;
	assert_change(&a, "DeleteColumn");
	assert_int_equal(schema_add(&a.to, bytes_str("b"), &attrs), 0);
	a.to.families[1].attrs.versions = 7;
	assert_change(&a, "ModifyColumn");
	a.to.families[1].attrs.versions = attrs.versions;
	assert_int_equal(schema_add(&a.to, bytes_str("d"), &attrs), 0);
	assert_change(&a, "AddColumn");
	/* Of more there is only the one that replaces all. */
	a.to.families[1].attrs.versions = 7;
	assert_change(&a, "ModifyTable");
	schema_free(&a.to);
}

/*
 * Nobody reads what the table is and replaces it while another one does, or the
 * families of one of them would be gone.
 */
static void a_table_is_changed_by_one_at_a_time(void **state)
{
	static const char in_order[] =
		" RequestLock LockHeartbeat LockHeartbeat LockHeartbeat "
		"GetTableDescriptors ModifyTable LockHeartbeat";
	struct played_cluster c = {.lock_is_held = 2};
	struct alter a = {.rest = ALTER_DROP};

	schema_init(&a.to, 0, 0);
	begin(&c);
	assert_int_equal(table_schema(c.t, &a.to), 0);
	a.to.families[0].attrs.versions = 7;
	a.to.families[1].attrs.versions = 8;
	assert_int_equal(table_change(c.t, &a), 0);
	assert_non_null(strstr(c.methods, in_order));
	assert_true(c.is_given_back);
	end(&c);
	/* Who may not have the lock changes the table as others do. */
	c = (struct played_cluster){.denies_locks = true};
	begin(&c);
	assert_int_equal(table_change(c.t, &a), 0);
	assert_non_null(strstr(c.methods, " ModifyTable"));
	assert_null(strstr(c.methods, "LockHeartbeat"));
	end(&c);
	/* It is given back by who could not make the change. */
	c = (struct played_cluster){.overtaken = 1};
	begin(&c);
	assert_int_equal(table_change(c.t, &a), 0);
	assert_true(c.is_given_back);
	end(&c);
	schema_free(&a.to);
}

/* As the words of a past that is refused say. */
static void a_schema_that_is_written_again_notes_since_when(void **state)
{
	struct played_cluster c = {.keeps = true};
	struct alter a = {.rest = ALTER_KEEP};

	begin(&c);
	assert_int_equal(table_schema(c.t, &a.to), 0);
	assert_int_equal(table_change(c.t, &a), 0);
	assert_non_null(strstr(c.methods, "ModifyTable"));
	schema_free(&a.to);
	end(&c);
	c = (struct played_cluster){0};
	begin(&c);
	assert_int_equal(table_schema(c.t, &a.to), 0);
	assert_int_equal(table_change(c.t, &a), 0);
	assert_null(strstr(c.methods, "ModifyTable"));
	schema_free(&a.to);
	end(&c);
}

static int edit_add(void *arg, const struct schema *now, struct alter *a)
{
	unsigned *calls = arg;
	struct family_attrs attrs;

	family_attrs_default(&attrs);
	assert_int_equal(now->nfamilies, *calls == 0 ? 2 : 3);
	++*calls;
	a->rest = ALTER_DROP;
	assert_int_equal(schema_copy(&a->to, now), 0);
	return schema_add(&a->to, bytes_str("d"), &attrs);
}

/* Or it would be gone, with its cells. */
static void a_family_that_another_client_adds_meanwhile_stays(void **state)
{
	struct played_cluster c = {.overtaken = 1};
	unsigned calls = 0;

	begin(&c);
	assert_int_equal(table_edit(c.t, edit_add, &calls), 0);
	assert_int_equal(calls, 2);
	end(&c);
}

/* Without a time between the bounds of the scan a family may have times. */
static void families_have_times_where_the_scan_has_none(void **state)
{
	static const struct change cells[] = {
		{.op = CHANGE_PUT,
		 .family = {(const uint8_t *)"a", 1},
		 .qualifier = {(const uint8_t *)"q", 1},
		 .ts = 5},
	};
	const struct family_range range = {
		.family = bytes_str("a"), .ts_min = 1, .ts_max = 9};
	struct scan_spec spec = {
		.granularity = SCAN_CELLS, .ts_min = 7, .ts_max = 7};
	struct played_cluster c = {.cells = cells, .ncells = 1};
	struct scan *sc;
	struct cell cell;

	begin(&c);
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
	spec.family_ranges = &range;
	spec.nfamily_ranges = 1;
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 1);
	assert_true(cell.ts == 5);
	scan_close(sc);
	end(&c);
}

/* What a scan gives where a family goes with, or before, its first cell. */
static void assert_lost(const struct change *cells, size_t ncells,
			size_t nfamilies, int want)
{
	const struct column_name columns[] = {
		{.family = bytes_str("a"), .whole_family = true},
		{.family = bytes_str("b"), .whole_family = true},
	};
	const struct scan_spec spec = {.granularity = SCAN_CELLS,
				       .columns = columns,
				       .ncolumns = nfamilies};
	struct played_cluster c = {
		.cells = cells, .ncells = ncells, .loses = true};
	struct scan *sc;
	struct cell cell;

	begin(&c);
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	if (ncells)
		assert_int_equal(scan_next(sc, &cell), 1);
	assert_int_equal(scan_next(sc, &cell), want);
	if (want < 0)
		assert_non_null(strstr(store_why(), "a family was dropped"));
	scan_close(sc);
	end(&c);
}

/* Or an export would end with the mark that it is whole. */
static void what_loses_a_family_does_not_look_whole(void **state)
{
	static const struct change cell = {
		.op = CHANGE_PUT,
		.family = {(const uint8_t *)"a", 1},
		.qualifier = {(const uint8_t *)"q", 1},
		.ts = 5,
	};

	assert_lost(&cell, 1, 2, -EBUSY);
	assert_lost(&cell, 1, 1, -EBUSY);
	assert_lost(NULL, 0, 2, -EBUSY);
	assert_lost(NULL, 0, 1, 0);
}

static void assert_flushed(struct played_cluster *c, const char *methods)
{
	char *from;

	begin(c);
	c->methods[0] = 0;
	assert_int_equal(store_flush(c->s, c->t), 0);
	from = strstr(c->methods, " FlushTable");
	assert_non_null(from);
	assert_string_equal(from, methods);
	end(c);
}

/* The master does it from HBase 2.6 on, else the servers of the regions. */
static void a_table_is_flushed_by_the_master_or_the_servers(void **state)
{
	struct played_cluster new = {.knows_flush = true}, old = {0};

	assert_flushed(&new, " FlushTable");
	assert_flushed(&old, " FlushTable GetMetaRegionLocations Scan "
			     "FlushRegion");
}

static void a_region_that_moved_is_flushed_where_it_is(void **state)
{
	struct played_cluster c = {.unserved = 1};

	assert_flushed(&c, " FlushTable GetMetaRegionLocations Scan "
			   "FlushRegion Scan FlushRegion");
}

/* That of a table that is disabled: it is looked for a few times. */
static void a_region_that_is_nowhere_is_busy(void **state)
{
	struct played_cluster c = {.unserved = UINT_MAX};

	begin(&c);
	assert_int_equal(store_flush(c.s, c.t), -EBUSY);
	assert_non_null(strstr(store_why(), "NotServingRegionException"));
	assert_true(UINT_MAX - c.unserved < 10);
	end(&c);
}

/* The servers merge files only, and all cells are to be merged. */
static void memory_is_flushed_before_files_are_compacted(void **state)
{
	struct played_cluster c = {0};
	const char *flush, *compact;

	begin(&c);
	assert_int_equal(store_compact(c.s, c.t), 0);
	flush = strstr(c.methods, " FlushRegion");
	compact = strstr(c.methods, " CompactRegion");
	assert_non_null(flush);
	assert_non_null(compact);
	assert_true(flush < compact);
	end(&c);
}

static void assert_lengths(uint8_t granularity, bool wanted)
{
	const struct scan_spec spec = {.granularity = granularity,
				       .keys_only = true};
	struct played_cluster c = {.wants_lengths = !wanted};
	struct scan *sc;
	struct cell cell;

	begin(&c);
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
	assert_true(c.wants_lengths == wanted);
	end(&c);
}

/* A server makes them one by one, and they are sent. */
static void lengths_are_asked_of_what_is_shown_with_them(void **state)
{
	assert_lengths(SCAN_ROWS, false);
	assert_lengths(SCAN_FAMILIES, false);
	assert_lengths(SCAN_COLUMNS, true);
	assert_lengths(SCAN_CELLS, true);
}

/* It may take as long as it likes, as long as the server says so. */
static void the_end_of_a_long_compaction_is_waited_for(void **state)
{
	struct played_cluster c = {.compacting = 210};

	begin(&c);
	assert_int_equal(store_compact(c.s, c.t), 0);
	assert_int_equal(c.compacting, 0);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_put_beside_a_delete_of_the_row_stays),
		cmocka_unit_test(nothing_is_put_behind_the_end_of_time),
		cmocka_unit_test(a_put_looks_at_its_column_alone),
		cmocka_unit_test(that_no_time_is_left_is_known_before),
		cmocka_unit_test(a_sum_is_not_put_behind_the_end_of_time),
		cmocka_unit_test(a_read_only_table_is_not_writable),
		cmocka_unit_test(
			what_a_server_says_in_words_alone_is_understood),
		cmocka_unit_test(a_check_of_no_family_is_refused),
		cmocka_unit_test(a_table_with_a_snapshot_is_not_emptied),
		cmocka_unit_test(a_table_that_another_client_drops_has_no_name),
		cmocka_unit_test(a_schema_is_judged_without_a_change),
		cmocka_unit_test(
			an_edit_is_made_again_of_what_another_client_did),
		cmocka_unit_test(a_family_is_added_to_those_that_are_there),
		cmocka_unit_test(
			a_schema_that_is_written_again_notes_since_when),
		cmocka_unit_test(a_change_of_one_family_is_a_call_of_its_own),
		cmocka_unit_test(a_table_is_changed_by_one_at_a_time),
		cmocka_unit_test(
			a_family_that_another_client_adds_meanwhile_stays),
		cmocka_unit_test(families_have_times_where_the_scan_has_none),
		cmocka_unit_test(what_loses_a_family_does_not_look_whole),
		cmocka_unit_test(
			a_table_is_flushed_by_the_master_or_the_servers),
		cmocka_unit_test(a_region_that_moved_is_flushed_where_it_is),
		cmocka_unit_test(a_region_that_is_nowhere_is_busy),
		cmocka_unit_test(lengths_are_asked_of_what_is_shown_with_them),
		cmocka_unit_test(the_end_of_a_long_compaction_is_waited_for),
		cmocka_unit_test(memory_is_flushed_before_files_are_compacted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
