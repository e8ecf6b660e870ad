#include "store/hbase/master/admin_messages.h"

static const struct proto_field pair_fields[] = {
	FIELD(pb_pair, first, 1, .required = true),
	FIELD(pb_pair, second, 2, .required = true),
};
const struct proto_message pb_pair =
	MESSAGE(pb_pair, pair_fields, "BytesBytesPair");

static const struct proto_field family_fields[] = {
	FIELD(pb_family, name, 1, .required = true),
	FIELD(pb_family, attributes, 2, .item = PROTO_INSIDE, .of = &pb_pair),
	FIELD(pb_family, configuration, 3, .item = PROTO_INSIDE,
	      .of = &pb_pair),
};
const struct proto_message pb_family =
	MESSAGE(pb_family, family_fields, "ColumnFamilySchema");

static const struct proto_field descriptor_fields[] = {
	FIELD(pb_descriptor, table, 1, .of = &pb_table_name),
	FIELD(pb_descriptor, attributes, 2, .item = PROTO_INSIDE,
	      .of = &pb_pair),
	FIELD(pb_descriptor, families, 3, .item = PROTO_INSIDE,
	      .of = &pb_family),
	FIELD(pb_descriptor, configuration, 4, .item = PROTO_INSIDE,
	      .of = &pb_pair),
};
const struct proto_message pb_descriptor =
	MESSAGE(pb_descriptor, descriptor_fields, "TableSchema");

static const struct proto_field tables_request_fields[] = {
	FIELD(pb_tables_request, tables, 1, .item = PROTO_INSIDE,
	      .of = &pb_table_name),
};
const struct proto_message pb_tables_request = MESSAGE(
	pb_tables_request, tables_request_fields, "GetTableDescriptorsRequest");

static const struct proto_field descriptors_fields[] = {
	FIELD(pb_descriptors, descriptors, 1, .item = PROTO_INSIDE,
	      .of = &pb_descriptor),
};
const struct proto_message pb_descriptors = MESSAGE(
	pb_descriptors, descriptors_fields, "GetTableDescriptorsResponse");

static const struct proto_field table_names_fields[] = {
	FIELD(pb_table_names, tables, 1, .item = PROTO_INSIDE,
	      .of = &pb_table_name),
};
const struct proto_message pb_table_names =
	MESSAGE(pb_table_names, table_names_fields, "GetTableNamesResponse");

static const struct proto_field table_request_fields[] = {
	FIELD(pb_table_request, table, 1, .required = true,
	      .of = &pb_table_name),
	FIELD(pb_table_request, nonce_group, 2),
	FIELD(pb_table_request, nonce, 3),
};
const struct proto_message pb_table_request =
	MESSAGE(pb_table_request, table_request_fields, "DisableTableRequest");

static const struct proto_field truncate_request_fields[] = {
	FIELD(pb_truncate_request, table, 1, .required = true,
	      .of = &pb_table_name),
	FIELD(pb_truncate_request, keeps_splits, 2),
	FIELD(pb_truncate_request, nonce_group, 3),
	FIELD(pb_truncate_request, nonce, 4),
};
const struct proto_message pb_truncate_request = MESSAGE(
	pb_truncate_request, truncate_request_fields, "TruncateTableRequest");

static const struct proto_field create_request_fields[] = {
	FIELD(pb_create_request, descriptor, 1, .required = true),
	FIELD(pb_create_request, nonce_group, 3),
	FIELD(pb_create_request, nonce, 4),
};
const struct proto_message pb_create_request =
	MESSAGE(pb_create_request, create_request_fields, "CreateTableRequest");

static const struct proto_field modify_request_fields[] = {
	FIELD(pb_modify_request, table, 1, .required = true,
	      .of = &pb_table_name),
	FIELD(pb_modify_request, change, 2, .required = true),
	FIELD(pb_modify_request, nonce_group, 3),
	FIELD(pb_modify_request, nonce, 4),
};
const struct proto_message pb_modify_request =
	MESSAGE(pb_modify_request, modify_request_fields, "ModifyTableRequest");

static const struct proto_field namespace_fields[] = {
	FIELD(pb_namespace, name, 1, .required = true),
};
const struct proto_message pb_namespace =
	MESSAGE(pb_namespace, namespace_fields, "NamespaceDescriptor");

static const struct proto_field namespace_request_fields[] = {
	FIELD(pb_namespace_request, namespace, 1, .required = true,
	      .of = &pb_namespace),
	FIELD(pb_namespace_request, nonce_group, 2),
	FIELD(pb_namespace_request, nonce, 3),
};
const struct proto_message pb_namespace_request =
	MESSAGE(pb_namespace_request, namespace_request_fields,
		"CreateNamespaceRequest");

static const struct proto_field namespace_name_request_fields[] = {
	FIELD(pb_namespace_name_request, name, 1, .required = true),
	FIELD(pb_namespace_name_request, nonce_group, 2),
	FIELD(pb_namespace_name_request, nonce, 3),
};
const struct proto_message pb_namespace_name_request =
	MESSAGE(pb_namespace_name_request, namespace_name_request_fields,
		"DeleteNamespaceRequest");

static const struct proto_field namespaces_fields[] = {
	FIELD(pb_namespaces, names, 1, .item = PROTO_BYTES),
};
const struct proto_message pb_namespaces =
	MESSAGE(pb_namespaces, namespaces_fields, "ListNamespacesResponse");

static const struct proto_field procedure_fields[] = {
	FIELD(pb_procedure, id, 1),
};
const struct proto_message pb_procedure =
	MESSAGE(pb_procedure, procedure_fields, "CreateTableResponse");

static const struct proto_field generic_exception_fields[] = {
	FIELD(pb_generic_exception, class, 1),
	FIELD(pb_generic_exception, message, 2),
};
static const struct proto_message pb_generic_exception =
	MESSAGE(pb_generic_exception, generic_exception_fields,
		"GenericExceptionMessage");

static const struct proto_field foreign_exception_fields[] = {
	FIELD(pb_foreign_exception, generic, 2, .of = &pb_generic_exception),
};
static const struct proto_message pb_foreign_exception =
	MESSAGE(pb_foreign_exception, foreign_exception_fields,
		"ForeignExceptionMessage");

static const struct proto_field procedure_result_fields[] = {
	FIELD(pb_procedure_result, state, 1, .required = true),
	FIELD(pb_procedure_result, exception, 5, .of = &pb_foreign_exception),
};
const struct proto_message pb_procedure_result =
	MESSAGE(pb_procedure_result, procedure_result_fields,
		"GetProcedureResultResponse");

static const struct proto_field snapshot_fields[] = {
	FIELD(pb_snapshot, name, 1, .required = true),
	FIELD(pb_snapshot, table, 2),
	FIELD(pb_snapshot, created_ms, 3),
};
const struct proto_message pb_snapshot =
	MESSAGE(pb_snapshot, snapshot_fields, "SnapshotDescription");

static const struct proto_field snapshot_request_fields[] = {
	FIELD(pb_snapshot_request, snapshot, 1, .required = true,
	      .of = &pb_snapshot),
	FIELD(pb_snapshot_request, nonce_group, 2),
	FIELD(pb_snapshot_request, nonce, 3),
};
const struct proto_message pb_snapshot_request = MESSAGE(
	pb_snapshot_request, snapshot_request_fields, "SnapshotRequest");

static const struct proto_field snapshot_begun_fields[] = {
	FIELD(pb_snapshot_begun, procedure, 2),
};
const struct proto_message pb_snapshot_begun =
	MESSAGE(pb_snapshot_begun, snapshot_begun_fields, "SnapshotResponse");

static const struct proto_field snapshot_done_fields[] = {
	FIELD(pb_snapshot_done, done, 1),
};
const struct proto_message pb_snapshot_done = MESSAGE(
	pb_snapshot_done, snapshot_done_fields, "IsSnapshotDoneResponse");

static const struct proto_field snapshots_fields[] = {
	FIELD(pb_snapshots, snapshots, 1, .item = PROTO_INSIDE,
	      .of = &pb_snapshot),
};
const struct proto_message pb_snapshots = MESSAGE(
	pb_snapshots, snapshots_fields, "GetCompletedSnapshotsResponse");

static const struct proto_field compact_fields[] = {
	FIELD(pb_compact_request, region, 1, .required = true,
	      .of = &pb_region),
	FIELD(pb_compact_request, major, 2),
};
const struct proto_message pb_compact_request =
	MESSAGE(pb_compact_request, compact_fields, "CompactRegionRequest");

static const struct proto_field info_request_fields[] = {
	FIELD(pb_region_info_request, region, 1, .required = true,
	      .of = &pb_region),
	FIELD(pb_region_info_request, compaction_state, 2),
};
const struct proto_message pb_region_info_request = MESSAGE(
	pb_region_info_request, info_request_fields, "GetRegionInfoRequest");

static const struct proto_field info_response_fields[] = {
	FIELD(pb_region_info_response, compaction_state, 2),
};
const struct proto_message pb_region_info_response = MESSAGE(
	pb_region_info_response, info_response_fields, "GetRegionInfoResponse");

static const struct proto_field files_request_fields[] = {
	FIELD(pb_files_request, region, 1, .required = true, .of = &pb_region),
};
const struct proto_message pb_files_request =
	MESSAGE(pb_files_request, files_request_fields, "GetStoreFileRequest");

static const struct proto_field files_response_fields[] = {
	FIELD(pb_files_response, names, 1, .item = PROTO_BYTES),
};
const struct proto_message pb_files_response = MESSAGE(
	pb_files_response, files_response_fields, "GetStoreFileResponse");
