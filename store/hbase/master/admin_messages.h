/*
 * The messages of the master's calls, as wire/messages.h has those of rows.
 */
#ifndef CELLFS_STORE_HBASE_ADMIN_ADMIN_MESSAGES_H
#define CELLFS_STORE_HBASE_ADMIN_ADMIN_MESSAGES_H

#include "store/hbase/wire/messages.h"

/* An attribute, or with another meaning any two texts. */
struct pb_pair {
	bool here;
	struct bytes first, second;
};
extern const struct proto_message pb_pair;

/* The numbers of fields that are written one by one. */
enum {
	FAMILY_NAME = 1,
	FAMILY_ATTRIBUTES = 2,
	FAMILY_CONFIGURATION = 3,
	DESCRIPTOR_TABLE = 1,
	DESCRIPTOR_ATTRIBUTES = 2,
	DESCRIPTOR_FAMILIES = 3,
	DESCRIPTOR_CONFIGURATION = 4
};

struct pb_family {
	bool here;
	struct bytes name;
	struct proto_list attributes;	 /* of struct pb_pair */
	struct proto_list configuration; /* of struct pb_pair */
};
extern const struct proto_message pb_family;

struct pb_descriptor {
	bool here;
	struct pb_table_name table;
	struct proto_list attributes;	 /* of struct pb_pair */
	struct proto_list families;	 /* of struct pb_family */
	struct proto_list configuration; /* of struct pb_pair */
};
extern const struct proto_message pb_descriptor;

/* Of one table; of no name, of all. */
struct pb_tables_request {
	bool here;
	struct proto_list tables; /* of struct pb_table_name */
};
extern const struct proto_message pb_tables_request;

struct pb_descriptors {
	bool here;
	struct proto_list descriptors; /* of struct pb_descriptor */
};
extern const struct proto_message pb_descriptors;

struct pb_table_names {
	bool here;
	struct proto_list tables; /* of struct pb_table_name */
};
extern const struct proto_message pb_table_names;

/* A table, and nothing else: DisableTable and the like. */
struct pb_table_request {
	bool here;
	struct pb_table_name table;
	uint64_t nonce_group, nonce;
};
extern const struct proto_message pb_table_request;

struct pb_truncate_request {
	bool here;
	struct pb_table_name table;
	bool keeps_splits;
	uint64_t nonce_group, nonce;
};
extern const struct proto_message pb_truncate_request;

/* A descriptor that is sent is bytes by descriptor_put(). */
struct pb_create_request {
	bool here;
	struct bytes descriptor;
	uint64_t nonce_group, nonce;
};
extern const struct proto_message pb_create_request;

/* The table's description, a family's, or a family's name. */
struct pb_modify_request {
	bool here;
	struct pb_table_name table;
	struct bytes change;
	uint64_t nonce_group, nonce;
};
extern const struct proto_message pb_modify_request;

struct pb_namespace {
	bool here;
	struct bytes name;
};
extern const struct proto_message pb_namespace;

struct pb_namespace_request {
	bool here;
	struct pb_namespace namespace;
	uint64_t nonce_group, nonce;
};
extern const struct proto_message pb_namespace_request;

struct pb_namespace_name_request {
	bool here;
	struct bytes name;
	uint64_t nonce_group, nonce;
};
extern const struct proto_message pb_namespace_name_request;

struct pb_namespaces {
	bool here;
	struct proto_list names; /* of struct bytes */
};
extern const struct proto_message pb_namespaces;

/* What the calls above answer that begin a procedure. */
struct pb_procedure {
	bool here;
	uint64_t id;
};
extern const struct proto_message pb_procedure;

enum {
	PROCEDURE_NOT_FOUND,
	PROCEDURE_RUNNING,
	PROCEDURE_FINISHED
};

struct pb_generic_exception {
	bool here;
	struct bytes class, message;
};

struct pb_foreign_exception {
	bool here;
	struct pb_generic_exception generic;
};

struct pb_procedure_result {
	bool here;
	uint32_t state;
	struct pb_foreign_exception exception;
};
extern const struct proto_message pb_procedure_result;

/* A snapshot; the table is its name as text. */
struct pb_snapshot {
	bool here;
	struct bytes name, table;
	uint64_t created_ms;
};
extern const struct proto_message pb_snapshot;

/* A snapshot, and nothing else: Snapshot, RestoreSnapshot and the like. */
struct pb_snapshot_request {
	bool here;
	struct pb_snapshot snapshot;
	uint64_t nonce_group, nonce;
};
extern const struct proto_message pb_snapshot_request;

/* Without a procedure, IsSnapshotDone tells of the end. */
struct pb_snapshot_begun {
	bool here;
	uint64_t procedure;
};
extern const struct proto_message pb_snapshot_begun;

enum {
	LOCK_EXCLUSIVE = 1
};

struct pb_lock_request {
	bool here;
	uint64_t type;
	struct pb_table_name table;
	struct bytes description;
	uint64_t nonce_group, nonce;
};
extern const struct proto_message pb_lock_request;

struct pb_lock_heartbeat {
	bool here;
	uint64_t id;
	bool keeps;
};
extern const struct proto_message pb_lock_heartbeat;

enum {
	LOCK_IS_NOT_HELD = 1,
	LOCK_HELD
};

struct pb_lock_state {
	bool here;
	uint64_t status;
};
extern const struct proto_message pb_lock_state;

struct pb_snapshot_done {
	bool here;
	bool done;
};
extern const struct proto_message pb_snapshot_done;

struct pb_snapshots {
	bool here;
	struct proto_list snapshots; /* of struct pb_snapshot */
};
extern const struct proto_message pb_snapshots;

/* What is asked of a region's server, by its AdminService. */
struct pb_compact_request {
	bool here;
	struct pb_region region;
	bool major;
};
extern const struct proto_message pb_compact_request;

struct pb_region_info_request {
	bool here;
	struct pb_region region;
	bool compaction_state;
};
extern const struct proto_message pb_region_info_request;

struct pb_region_info_response {
	bool here;
	uint32_t compaction_state; /* 0 = none */
};
extern const struct proto_message pb_region_info_response;

/* The region alone: GetStoreFile, of all its families, and FlushRegion. */
struct pb_files_request {
	bool here;
	struct pb_region region;
};
extern const struct proto_message pb_files_request;

struct pb_files_response {
	bool here;
	struct proto_list names; /* of struct bytes */
};
extern const struct proto_message pb_files_response;

#endif
