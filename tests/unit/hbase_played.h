/*
 * A cluster for tests, of which threads here play all: one table of one region
 * with the families a and b, which hold the test's cells. A read gives those of
 * the family that it names, whatever else it says.
 */
#ifndef CELLFS_TESTS_HBASE_PLAYED_H
#define CELLFS_TESTS_HBASE_PLAYED_H

#include <stdatomic.h>
#include <pthread.h>
#include <semaphore.h>

#include "tests/unit/unit.h"
#include "store/hbase/backend/hbase.h"
#include "store/hbase/cellblock/cellblock.h"
#include "store/hbase/master/admin_messages.h"
#include "store/hbase/master/descriptor.h"
#include "tests/unit/change.h"
#include "tests/unit/hbase_server.h"

#define CONNECTIONS_MAX 16
#define SENT_MAX 8

/*
 * A clock that the tests set forward, and sleeps do. It is so far ahead of the
 * machine's that no call comes to its deadline because the machine is slow.
 */
static uint64_t clock_begin_ns;
static _Atomic uint64_t passed_ns;

static inline uint64_t played_monotonic_ns(struct os *os)
{
	return clock_begin_ns + atomic_load(&passed_ns);
}

static inline void played_sleep_ms(struct os *os, unsigned ms)
{
	atomic_fetch_add(&passed_ns, ms * (SECOND / 1000));
}

static inline void pass_seconds(unsigned n)
{
	atomic_fetch_add(&passed_ns, n * SECOND);
}

struct played_cluster {
	struct store *s;
	struct table *t; /* the table "t" */
	int fd;
	uint16_t port;
	bool new_version_behavior;
	_Atomic bool has_c; /* a family that another client has added */
	bool knows_flush;   /* the master */
	/* What the server tells of the table to a user to whom the master does not. */
	const char *told;
	/* It is asked for the table and hangs up; so many seconds have passed. */
	_Atomic unsigned is_away;
	/* Before it describes the table it says so, and waits: */
	sem_t *described, *go_on;
	/* So often somebody else has added that family when one is added. */
	_Atomic unsigned overtaken;
	unsigned lock_is_held; /* so often that of changes is another's */
	bool denies_locks;
	_Atomic bool is_given_back; /* that lock */
	unsigned unserved;	    /* so often the region is elsewhere */
	bool read_only;
	bool keeps;   /* a family of others that keeps deleted cells */
	bool has_mob; /* a family of others with values in files of their own */
	bool loses;   /* a family, once a scan of it has had its first batch */
	_Atomic bool is_dropped; /* the table, by another client */
	bool takes_sum;		 /* what comes is one */
	const char *refusal;	 /* what a server says to changes, or NULL */
	bool declines;		 /* it finds that conditions do not hold, */
	unsigned overtakes;	 /* or so many of them */
	const char *refused_row; /* one that is refused, once */
	/* Into which families a user puts who may not read: "all", "a", "none". */
	const char *writes_unread;
	/* So many changes are taken, and not answered. */
	_Atomic unsigned hangs_up;
	/* The table has no snapshots; it cannot be deleted; it is disabled. */
	bool is_bare, is_needed;
	const char *takes_none; /* why the master takes no snapshot */
	_Atomic bool is_disabled;
	const char *const *others; /* more tables, up to a NULL; or NULL */
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
	unsigned raws;	     /* gets that ask for what is deleted, too */
	unsigned compacting; /* so often it says that it is at it */
	bool is_compacted;
	/* The tables that were made of a snapshot, or dropped, last: */
	char clone[256], dropped[256];
	unsigned drops;
};

struct visitor {
	struct played_cluster *c;
	int fd;
};

/* The cells of the family that is named first; of none, all. */
static inline void put_cells(const struct played_cluster *c,
			     struct proto_list columns, struct encoder *e)
{
	struct pb_column column = {0};

	proto_next(&columns, &column);
	for (size_t i = 0; i < c->ncells; i++)
		if (!column.here || bytes_eq(column.family, c->cells[i].family))
			cellblock_put(e, bytes_str("r"), &c->cells[i]);
}

static inline bool is_meta(struct bytes region)
{
	return region.len > 10 && !memcmp(region.data, "hbase:meta", 10);
}

/* Does a filter KeyOnlyFilter say that lengths take the place of values? */
static inline bool wants_lengths(struct bytes filter)
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

static inline bool names(struct bytes filter, const char *class)
{
	return filter.len &&
	       memmem(filter.data, filter.len, class, strlen(class)) != NULL;
}

static inline void answer_scan(struct played_cluster *c, int fd,
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

/* Is it of a family that no table has? */
static inline bool names_dot(struct proto_list columns)
{
	struct pb_column column;

	return proto_next(&columns, &column) > 0 &&
	       bytes_eq(column.family, bytes_str("."));
}

static inline void answer_get(struct played_cluster *c, int fd,
			      const struct server_request *q)
{
	const struct pb_get_response answer = {0};
	struct pb_get_request m;
	struct buf cells = {0};
	struct encoder e = {.out = &cells};

	if (c->unserved) {
		c->unserved--;
		server_refuse(fd, q->id, "x.NotServingRegionException");
		return;
	}
	assert_int_equal(proto_take(q->message, &pb_get_request, &m), 0);
	if (c->told && names_dot(m.get.columns)) {
		server_refuse_in_words(
			fd, q->id, "x.NoSuchColumnFamilyException", c->told);
		return;
	}
	put_cells(c, m.get.columns, &e);
	server_answer_cells(fd, q->id, &pb_get_response, &answer,
			    buf_bytes(&cells));
	buf_free(&cells);
}

/* Is it under a condition of an empty range of time, which never holds? */
static inline bool never_holds(const struct server_request *q)
{
	struct pb_multi_request m;
	struct pb_region_action action;

	assert_int_equal(proto_take(q->message, &pb_multi_request, &m), 0);
	assert_int_equal(proto_next(&m.regions, &action), 1);
	return action.condition.range.here &&
	       action.condition.range.from == action.condition.range.to;
}

/* What is said to a user who may not read, of an act of several families. */
static inline struct pb_fault denial(const struct played_cluster *c,
				     const struct server_request *q)
{
	static const char denied[] = "x.AccessDeniedException";
	struct decoder cells = decoder_of(q->cells);
	struct pb_fault f = {0};
	struct cell cell;

	if (never_holds(q))
		return (struct pb_fault){
			true, bytes_str(denied),
			bytes_str("x: (family=a:q, action=READ)")};
	while (!f.here && cellblock_next(&cells, &cell) > 0) {
		bool is_dot = bytes_eq(cell.family, bytes_str("."));

		f.here = true;
		f.class = bytes_str(denied);
		if (!strcmp(c->writes_unread, "none"))
			f.trace = bytes_str("x: (family=a:q, action=WRITE)");
		else if (is_dot && !strcmp(c->writes_unread, "a"))
			f.trace = bytes_str("x: (family=.:q, action=WRITE)");
		else if (is_dot)
			f.class = bytes_str("x.NoSuchColumnFamilyException");
		else
			f.here = false;
	}
	return f;
}

#define RESULTS_MAX 8

/* Of gets: the cells of each. True, or it is of changes. */
static inline bool answer_gets(struct played_cluster *c, int fd,
			       const struct server_request *q)
{
	struct pb_action_result results[RESULTS_MAX] = {0};
	struct pb_region_result region = {
		.here = true, .results = {.items = results, .n = 0}};
	const struct pb_multi_response answer = {
		.regions = {.items = &region, .n = 1}};
	struct pb_multi_request m;
	struct pb_region_action of;
	struct pb_action one;
	struct buf cells = {0};
	struct encoder e = {.out = &cells};

	assert_int_equal(proto_take(q->message, &pb_multi_request, &m), 0);
	assert_int_equal(proto_next(&m.regions, &of), 1);
	while (proto_next(&of.actions, &one) > 0 && one.get.here) {
		struct pb_action_result *out = &results[region.results.n];
		size_t before = cells.len;
		struct pb_attribute attribute;
		struct decoder block;
		struct cell cell;
		bool raw;

		assert_true(region.results.n < RESULTS_MAX);
		raw = proto_next(&one.get.attributes, &attribute) > 0;
		c->raws += raw;
		c->of_all += raw && !names(one.get.filter, "ColumnRangeFilter");
		put_cells(c, one.get.columns, &e);
		block = decoder_of(
			bytes_of(cells.data + before, cells.len - before));
		*out = (struct pb_action_result){.here = true,
						 .index = one.index,
						 .result = {.here = true}};
		while (cells.len > before && cellblock_next(&block, &cell) > 0)
			out->result.cells++;
		region.results.n++;
	}
	if (region.results.n)
		server_answer_cells(fd, q->id, &pb_multi_response, &answer,
				    buf_bytes(&cells));
	buf_free(&cells);
	return region.results.n;
}

/* Of several rows, or of those that go as singles: false if it is of one alone. */
static inline bool answer_rows(struct played_cluster *c, int fd,
			       const struct server_request *q)
{
	struct pb_region_result regions[RESULTS_MAX] = {0};
	struct pb_action_result singles[RESULTS_MAX] = {0};
	bool has_singles = false;
	struct pb_multi_response answer = {.regions = {.items = regions}};
	struct pb_multi_request m;
	struct pb_region_action of;
	struct pb_action one;

	assert_int_equal(proto_take(q->message, &pb_multi_request, &m), 0);
	while (proto_next(&m.regions, &of) > 0) {
		struct pb_region_result *out = &regions[answer.regions.n++];

		assert_true(answer.regions.n <= RESULTS_MAX);
		*out = (struct pb_region_result){.here = true};
		if (!of.atomic) {
			out->results.items = singles;
			while (proto_next(&of.actions, &one) > 0)
				singles[out->results.n++] =
					(struct pb_action_result){
						.here = true,
						.index = one.index};
			has_singles = true;
			continue;
		}
		assert_int_equal(proto_next(&of.actions, &one), 1);
		if (c->refused_row &&
		    bytes_eq(one.mutation.row, bytes_str(c->refused_row))) {
			out->fault = (struct pb_fault){
				true, bytes_str("x.DoNotRetryIOException"),
				bytes_str("it is Monday")};
		} else if (of.condition.here && c->overtakes) {
			c->overtakes--;
		} else {
			out->processed = true;
		}
	}
	if (answer.regions.n < 2 && !has_singles)
		return false;
	c->refused_row = NULL;
	server_answer(fd, q->id, &pb_multi_response, &answer);
	return true;
}

/* Keeps what was sent. */
static inline void answer_multi(struct played_cluster *c, int fd,
				const struct server_request *q)
{
	const bool declines = c->declines || never_holds(q);
	const struct pb_fault refused = {
		.here = c->refusal != NULL,
		.class = bytes_str("x.DoNotRetryIOException"),
		.trace = c->refusal ? bytes_str(c->refusal) : (struct bytes){0},
	};
	const struct pb_fault fault = c->writes_unread ? denial(c, q) : refused;
	const struct pb_region_result region = {
		.here = true, .fault = fault, .processed = !declines};
	const struct pb_multi_response answer = {
		.regions = {.items = &region, .n = 1},
		.processed = !declines,
	};
	struct decoder cells;

	if (answer_gets(c, fd, q))
		return;
	pthread_mutex_lock(&c->lock);
	assert_int_equal(buf_set(&c->bytes, q->cells), 0);
	cells = decoder_of(buf_bytes(&c->bytes));
	c->nsent = 0;
	/* A sum has no time of its own: one that goes alone is not kept. */
	while (!c->takes_sum && !never_holds(q) && decoder_left(&cells)) {
		assert_true(c->nsent < SENT_MAX);
		assert_int_equal(cellblock_next(&cells, &c->sent[c->nsent++]),
				 1);
	}
	pthread_mutex_unlock(&c->lock);
	if (!answer_rows(c, fd, q))
		server_answer(fd, q->id, &pb_multi_response, &answer);
}

static inline void answer_description(struct played_cluster *c, int fd,
				      uint32_t id)
{
	struct family_attrs attrs;
	struct schema schema;
	struct buf body = {0};
	/* The same bytes as of an answer with one description. */
	struct pb_create_request answer = {0};
	const struct pb_nothing none = {0};

	if (c->described) {
		sem_post(c->described);
		sem_wait(c->go_on);
	}
	if (c->is_dropped) {
		server_answer(fd, id, &pb_nothing, &none);
		return;
	}
	if (c->told) {
		server_refuse(fd, id, "x.AccessDeniedException");
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
	if (c->keeps || c->has_mob) {
		const struct pb_pair pair = {
			.here = true,
			.first = bytes_str(c->keeps ? "KEEP_DELETED_CELLS"
						    : "IS_MOB"),
			.second = bytes_str("TRUE")};
		const struct pb_family family = {
			.name = bytes_str("k"),
			.attributes = {.items = &pair, .n = 1}};
		struct encoder e = {.out = &body};

		put_message(&e, DESCRIPTOR_FAMILIES, &pb_family, &family);
	}
	if (c->read_only) {
		const struct pb_pair pair = {.first = bytes_str("READONLY"),
					     .second = bytes_str("true")};
		struct encoder e = {.out = &body};

		put_message(&e, DESCRIPTOR_ATTRIBUTES, &pb_pair, &pair);
	}
	answer.descriptor = buf_bytes(&body);
	server_answer(fd, id, &pb_create_request, &answer);
	buf_free(&body);
	schema_free(&schema);
}

static inline void answer_info(struct played_cluster *c, int fd, uint32_t id)
{
	const struct pb_region_info_response answer = {
		.compaction_state = c->compacting ? 2 : 0,
	};

	c->compacting -= c->compacting > 0;
	server_answer(fd, id, &pb_region_info_response, &answer);
}

/* The region's file is another one behind a compaction. */
static inline void answer_files(struct played_cluster *c, int fd, uint32_t id)
{
	const bool is_new = c->is_compacted && !c->compacting;
	const struct bytes name = bytes_str(is_new ? "new" : "old");
	const struct pb_files_response answer = {
		.names = {.items = &name, .n = 1},
	};

	server_answer(fd, id, &pb_files_response, &answer);
}

static inline void answer_where(struct played_cluster *c, int fd,
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
static inline void answer_snapshots(const struct played_cluster *c, int fd,
				    uint32_t id)
{
	const struct pb_snapshot snapshot = {
		.here = true, .name = bytes_str("s"), .table = bytes_str("t")};
	const struct pb_snapshots answer = {
		.snapshots = {.items = &snapshot, .n = !c->is_bare},
	};

	server_answer(fd, id, &pb_snapshots, &answer);
}

/* A change of the table: another client may be first with one of its own. */
static inline void answer_change(struct played_cluster *c, int fd, uint32_t id)
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
static inline void answer_lock(struct played_cluster *c, int fd,
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

/* A message in a message, whose first field is 0 or what differs from enabled. */
static inline void answer_state(const struct played_cluster *c, int fd,
				uint32_t id)
{
	const uint8_t state[] = {1 << 3, c->is_disabled};
	const struct pb_create_request answer = {
		.descriptor = bytes_of(state, sizeof(state)),
	};

	server_answer(fd, id, &pb_create_request, &answer);
}

/* Of those beside the table, which nobody looks for in a list. */
static inline void answer_names(struct played_cluster *c, int fd, uint32_t id)
{
	struct pb_table_name names[8];
	struct pb_table_names answer = {.tables = {.items = names}};

	for (size_t n = 0; c->others && c->others[n]; n++)
		names[answer.tables.n++] =
			table_name_of(bytes_str(c->others[n]));
	server_answer(fd, id, &pb_table_names, &answer);
}

/* What is done to a whole table is done at once. */
static inline void answer_table(struct played_cluster *c, int fd,
				const struct server_request *q)
{
	const struct pb_procedure done = {0};
	struct pb_table_request m;
	struct pb_snapshot_request from;
	bool disables = !strcmp(q->method, "DisableTable");

	if (disables && c->is_disabled) {
		server_refuse(fd, q->id, "x.TableNotEnabledException");
		return;
	}
	if (disables || !strcmp(q->method, "EnableTable"))
		c->is_disabled = disables;
	else if (c->is_needed) {
		server_refuse(fd, q->id, "x.AccessDeniedException");
		return;
	}
	pthread_mutex_lock(&c->lock);
	if (!strcmp(q->method, "RestoreSnapshot")) {
		assert_int_equal(
			proto_take(q->message, &pb_snapshot_request, &from), 0);
		snprintf(c->clone, sizeof(c->clone), "%.*s",
			 (int)from.snapshot.table.len,
			 (const char *)from.snapshot.table.data);
	} else if (!strcmp(q->method, "DeleteTable")) {
		assert_int_equal(proto_take(q->message, &pb_table_request, &m),
				 0);
		snprintf(c->dropped, sizeof(c->dropped), "%.*s",
			 (int)m.table.qualifier.len,
			 (const char *)m.table.qualifier.data);
		c->drops++;
	}
	pthread_mutex_unlock(&c->lock);
	server_answer(fd, q->id, &pb_procedure, &done);
}

static inline bool is_change(const char *method)
{
	return !strcmp(method, "ModifyTable") || !strcmp(method, "AddColumn") ||
	       !strcmp(method, "ModifyColumn") ||
	       !strcmp(method, "DeleteColumn");
}

static inline void answer_master(struct played_cluster *c, int fd,
				 const struct server_request *q)
{
	const struct pb_cluster_id cluster = {.id = bytes_str("c")};
	const struct pb_nothing nothing = {0};

	if (!strcmp(q->method, "GetClusterId")) {
		server_answer(fd, q->id, &pb_cluster_id, &cluster);
	} else if (!strcmp(q->method, "GetTableDescriptors")) {
		answer_description(c, fd, q->id);
	} else if (!strcmp(q->method, "GetCompletedSnapshots")) {
		answer_snapshots(c, fd, q->id);
	} else if (!strcmp(q->method, "Snapshot")) {
		server_refuse_in_words(fd, q->id, "x.SnapshotCreationException",
				       c->takes_none);
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
	} else if (!strcmp(q->method, "GetTableState")) {
		answer_state(c, fd, q->id);
	} else if (!strcmp(q->method, "GetTableNames")) {
		answer_names(c, fd, q->id);
	} else if (!strcmp(q->method, "RestoreSnapshot") ||
		   !strcmp(q->method, "DisableTable") ||
		   !strcmp(q->method, "EnableTable") ||
		   !strcmp(q->method, "truncateTable") ||
		   !strcmp(q->method, "DeleteTable")) {
		answer_table(c, fd, q);
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

static inline void answer(struct played_cluster *c, int fd,
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

static inline void note(struct played_cluster *c,
			const struct server_request *q)
{
	size_t n;

	pthread_mutex_lock(&c->lock);
	n = strlen(c->methods);
	snprintf(c->methods + n, sizeof(c->methods) - n, " %s", q->method);
	pthread_mutex_unlock(&c->lock);
}

/* Does it end the connection, rather than to answer? */
static inline bool hangs_up(struct played_cluster *c, const char *method)
{
	if (c->is_away && strstr(method, "GetTable")) {
		pass_seconds(c->is_away);
		return true;
	}
	if (!c->hangs_up || strcmp(method, "Multi") != 0)
		return false;
	c->hangs_up--;
	return true;
}

static inline void *serve(void *arg)
{
	struct visitor *v = arg;
	struct server_request q;

	server_greet(v->fd);
	while (server_take(v->fd, &q)) {
		bool leaves = hangs_up(v->c, q.method);

		note(v->c, &q);
		if (!leaves)
			answer(v->c, v->fd, &q);
		server_request_free(&q);
		if (leaves)
			break;
	}
	close(v->fd);
	free(v);
	return NULL;
}

static inline void *accept_all(void *arg)
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

static inline void begin(struct played_cluster *c)
{
	static struct os_ops ops;
	static struct os clock = {&ops};
	const struct store_options o = {.os = &clock};
	char name[64];

	clock_begin_ns = os_monotonic_ns(os_posix()) + 1000 * SECOND;
	ops = *os_posix()->ops;
	ops.monotonic_ns = played_monotonic_ns;
	ops.sleep_ms = played_sleep_ms;
	pthread_mutex_init(&c->lock, NULL);
	c->fd = server_listen(&c->port);
	pthread_create(&c->acceptor, NULL, accept_all, c);
	snprintf(name, sizeof(name), "hbase://127.0.0.1:%u", c->port);
	assert_int_equal(hbase_open(name, &o, &c->s), 0);
	assert_int_equal(table_open(c->s, bytes_str("t"), &c->t), 0);
}

static inline void end(struct played_cluster *c)
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

#endif
