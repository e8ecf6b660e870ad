/*
 * The messages of HBase's calls, with the fields that are used.
 *
 * Each struct is one message (proto.h), and the object of the same name
 * describes it. HBase's names and numbers are in its files *.proto, the names
 * here are this project's. A message that is to be written begins with
 * proto_init(), not with zeros: a comment says "by default" where that sets
 * something else. A field that still has its default is not sent.
 */
#ifndef CELLFS_STORE_HBASE_WIRE_MESSAGES_H
#define CELLFS_STORE_HBASE_WIRE_MESSAGES_H

#include "store/hbase/wire/proto.h"

/* A request without fields: GetClusterId, GetActiveMaster and their like. */
struct pb_nothing {
	bool here;
};
extern const struct proto_message pb_nothing;

/* Names. */

struct pb_server {
	bool here;
	struct bytes host;
	uint32_t port;
};
extern const struct proto_message pb_server;

struct pb_table_name {
	bool here;
	struct bytes namespace, qualifier;
};
extern const struct proto_message pb_table_name;
/* Of "namespace:name", or "name", which is in the namespace default. */
struct pb_table_name table_name_of(struct bytes name);

struct pb_region_info {
	bool here;
	uint64_t id; /* ms since 1970, when it was made */
	struct pb_table_name table;
	struct bytes start, end; /* the first row; the first that is not */
	bool offline, split;
};
extern const struct proto_message pb_region_info;

/*
 * Reads the value of info:regioninfo of a row of hbase:meta. 0, or -EPROTO if
 * it is none.
 */
int region_info_take(struct bytes value, struct pb_region_info *out);

#define REGION_BY_NAME 1

struct pb_region {
	bool here;
	uint32_t by;
	struct bytes name;
};
extern const struct proto_message pb_region;

/* The registry's answers. */

struct pb_cluster_id {
	bool here;
	struct bytes id;
};
extern const struct proto_message pb_cluster_id;

struct pb_active_master {
	bool here;
	struct pb_server server;
};
extern const struct proto_message pb_active_master;

struct pb_location {
	bool here;
	struct pb_region_info region;
	struct pb_server server;
};
extern const struct proto_message pb_location;

struct pb_meta_locations {
	bool here;
	struct proto_list locations; /* of struct pb_location */
};
extern const struct proto_message pb_meta_locations;

/* Reading. */

struct pb_attribute {
	bool here;
	struct bytes name, value;
};
extern const struct proto_message pb_attribute;

struct pb_column {
	bool here;
	struct bytes family;
	struct proto_list qualifiers; /* of struct bytes; none = all */
};
extern const struct proto_message pb_column;

struct pb_time_range {
	bool here;
	uint64_t from, to; /* from <= ts < to; to 0 = without end */
};
extern const struct proto_message pb_time_range;

struct pb_family_range {
	bool here;
	struct bytes family;
	struct pb_time_range range;
};
extern const struct proto_message pb_family_range;

struct pb_get {
	bool here;
	struct bytes row;
	struct proto_list columns;    /* of struct pb_column */
	struct proto_list attributes; /* of struct pb_attribute */
	struct bytes filter;	      /* a message of the class Filter */
	struct pb_time_range range;
	uint32_t versions;		 /* 1 by default */
	uint32_t store_limit;		 /* columns a family; 0 = all */
	uint32_t store_offset;		 /* so many left out before */
	struct proto_list family_ranges; /* of struct pb_family_range */
};
extern const struct proto_message pb_get;

struct pb_get_request {
	bool here;
	struct pb_region region;
	struct pb_get get;
};
extern const struct proto_message pb_get_request;

/* A cell inside a message, as only the results of atomic sums are. */
struct pb_cell {
	bool here;
	struct bytes row, family, qualifier;
	uint64_t ts;
	struct bytes value;
};
extern const struct proto_message pb_cell;

/* How many cells the block has for it, or the cells. */
struct pb_result {
	bool here;
	struct proto_list inside; /* of struct pb_cell */
	uint32_t cells;
	bool partial; /* more of the row follows in the next result */
};
extern const struct proto_message pb_result;

struct pb_get_response {
	bool here;
	struct pb_result result;
};
extern const struct proto_message pb_get_response;

struct pb_scan {
	bool here;
	struct proto_list columns;    /* of struct pb_column */
	struct proto_list attributes; /* of struct pb_attribute */
	struct bytes start_row;	      /* NULL = from the first */
	struct bytes stop_row;	      /* NULL = to the last */
	struct bytes filter;	      /* a message of the class Filter */
	struct pb_time_range range;   /* of all families */
	uint32_t versions;	      /* 1 by default */
	uint32_t batch;		      /* cells a result; 0 = whole rows */
	uint64_t bytes_max;	      /* of one answer; 0 = the server's */
	uint32_t store_limit;	      /* columns a family; 0 = all */
	uint32_t store_offset;	      /* so many left out before */
	bool families_on_demand;      /* true by default */
	bool reversed;
	bool allow_partial;		 /* results that are a part of a row */
	struct proto_list family_ranges; /* of struct pb_family_range */
	bool include_start;		 /* true by default */
	bool include_stop;
};
extern const struct proto_message pb_scan;

/* Opens a scanner with @region and @scan, else goes on with @scanner. */
struct pb_scan_request {
	bool here;
	struct pb_region region;
	struct pb_scan scan;
	uint64_t scanner;
	uint32_t rows; /* so many at most; 0 = one, or none with @close */
	bool close;    /* the scanner, behind the answer */
	/* Of the calls behind the first: 0, 1, ...; UINT64_MAX by default. */
	uint64_t sequence;
	bool takes_partials, takes_heartbeats;
	uint32_t limit_rows; /* of the scan as a whole; 0 = none */
};
extern const struct proto_message pb_scan_request;

struct pb_scan_response {
	bool here;
	struct proto_list cells_per_result; /* of uint32_t */
	uint64_t scanner;
	bool more; /* true by default; false: this was the last */
	uint32_t lease_ms;
	struct proto_list partial; /* of bool: more of the row follows */
	bool more_in_region;	   /* true by default */
	bool heartbeat;		   /* time was up before there was a row */
};
extern const struct proto_message pb_scan_response;

/* Writing: the cells are in the request's cell block. */

enum {
	MUTATION_APPEND,
	MUTATION_INCREMENT,
	MUTATION_PUT,
	MUTATION_DELETE,
};

enum {
	DURABILITY_TABLE, /* as the table says */
	DURABILITY_SKIP_WAL,
	DURABILITY_ASYNC_WAL,
	DURABILITY_SYNC_WAL,
	DURABILITY_FSYNC_WAL,
};

struct pb_mutation {
	bool here;
	struct bytes row;
	uint32_t type;
	struct proto_list attributes; /* of struct pb_attribute */
	/* Of a delete without cells, which takes the row; UINT64_MAX by default. */
	uint64_t ts;
	uint32_t durability;
	struct pb_time_range range; /* of what is added or appended to */
	uint32_t cells;		    /* how many of the block are its own */
	uint64_t nonce;		    /* 0 = none; of increments and appends */
};
extern const struct proto_message pb_mutation;

/* What must hold of the row for a change of it to be made. */

struct pb_comparator {
	bool here;
	struct bytes class; /* the name of a class of Java */
	struct bytes body;  /* its message */
};
extern const struct proto_message pb_comparator;

enum {
	COMPARE_LESS,
	COMPARE_LESS_OR_EQUAL,
	COMPARE_EQUAL,
	COMPARE_NOT_EQUAL,
	COMPARE_GREATER_OR_EQUAL,
	COMPARE_GREATER,
};

/*
 * With a filter: anything of the row passes it. Else: the comparator, of the
 * newest value of the column; an empty one says "absent or empty".
 */
struct pb_condition {
	bool here;
	struct bytes row, family, qualifier;
	uint32_t compare;
	struct pb_comparator comparator;
	struct pb_time_range range;
	struct bytes filter; /* a message of the class Filter */
};
extern const struct proto_message pb_condition;

/* Appends the body of a comparator with bytes: 0 or -ENOMEM. */
int binary_comparator(struct bytes value, struct buf *out);
#define BINARY_COMPARATOR "org.apache.hadoop.hbase.filter.BinaryComparator"

/* Several changes in one call. */

struct pb_action {
	bool here;
	uint32_t index;
	struct pb_mutation mutation; /* or */
	struct pb_get get;
};
extern const struct proto_message pb_action;

struct pb_region_action {
	bool here;
	struct pb_region region;
	bool atomic;
	struct proto_list actions; /* of struct pb_action */
	struct pb_condition condition;
};
extern const struct proto_message pb_region_action;

struct pb_multi_request {
	bool here;
	struct proto_list regions; /* of struct pb_region_action */
	uint64_t nonce_group;
};
extern const struct proto_message pb_multi_request;

/* An exception as a part of an answer. */
struct pb_fault {
	bool here;
	struct bytes class, trace;
};
extern const struct proto_message pb_fault;

struct pb_action_result {
	bool here;
	uint32_t index;
	struct pb_result result;
	struct pb_fault fault;
};
extern const struct proto_message pb_action_result;

struct pb_region_result {
	bool here;
	struct proto_list results; /* of struct pb_action_result */
	struct pb_fault fault;	   /* of the region as a whole */
	bool processed;		   /* the condition held */
};
extern const struct proto_message pb_region_result;

struct pb_multi_response {
	bool here;
	struct proto_list regions; /* of struct pb_region_result */
	bool processed;
};
extern const struct proto_message pb_multi_response;

#endif
