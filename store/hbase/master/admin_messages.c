#include "store/hbase/master/admin_messages.h"

MESSAGE(pb_pair, "BytesBytesPair", FIELD(pb_pair, first, 1, .required = true),
	FIELD(pb_pair, second, 2, .required = true));

MESSAGE(pb_family, "ColumnFamilySchema",
	FIELD(pb_family, name, FAMILY_NAME, .required = true),
	FIELD(pb_family, attributes, FAMILY_ATTRIBUTES, ITEMS(pb_pair)),
	FIELD(pb_family, configuration, FAMILY_CONFIGURATION, ITEMS(pb_pair)));

MESSAGE(pb_descriptor, "TableSchema",
	FIELD(pb_descriptor, table, DESCRIPTOR_TABLE, .of = &pb_table_name),
	FIELD(pb_descriptor, attributes, DESCRIPTOR_ATTRIBUTES, ITEMS(pb_pair)),
	FIELD(pb_descriptor, families, DESCRIPTOR_FAMILIES, ITEMS(pb_family)),
	FIELD(pb_descriptor, configuration, DESCRIPTOR_CONFIGURATION,
	      ITEMS(pb_pair)));

MESSAGE(pb_tables_request, "GetTableDescriptorsRequest",
	FIELD(pb_tables_request, tables, 1, ITEMS(pb_table_name)));

MESSAGE(pb_descriptors, "GetTableDescriptorsResponse",
	FIELD(pb_descriptors, descriptors, 1, ITEMS(pb_descriptor)));

MESSAGE(pb_table_names, "GetTableNamesResponse",
	FIELD(pb_table_names, tables, 1, ITEMS(pb_table_name)));

MESSAGE(pb_table_request, "DisableTableRequest",
	FIELD(pb_table_request, table, 1, .required = true,
	      .of = &pb_table_name),
	FIELD(pb_table_request, nonce_group, 2),
	FIELD(pb_table_request, nonce, 3));

MESSAGE(pb_truncate_request, "TruncateTableRequest",
	FIELD(pb_truncate_request, table, 1, .required = true,
	      .of = &pb_table_name),
	FIELD(pb_truncate_request, keeps_splits, 2),
	FIELD(pb_truncate_request, nonce_group, 3),
	FIELD(pb_truncate_request, nonce, 4));

MESSAGE(pb_create_request, "CreateTableRequest",
	FIELD(pb_create_request, descriptor, 1, .required = true),
	FIELD(pb_create_request, nonce_group, 3),
	FIELD(pb_create_request, nonce, 4));

MESSAGE(pb_modify_request, "ModifyTableRequest",
	FIELD(pb_modify_request, table, 1, .required = true,
	      .of = &pb_table_name),
	FIELD(pb_modify_request, change, 2, .required = true),
	FIELD(pb_modify_request, nonce_group, 3),
	FIELD(pb_modify_request, nonce, 4));

MESSAGE(pb_namespace, "NamespaceDescriptor",
	FIELD(pb_namespace, name, 1, .required = true));

MESSAGE(pb_namespace_request, "CreateNamespaceRequest",
	FIELD(pb_namespace_request, namespace, 1, .required = true,
	      .of = &pb_namespace),
	FIELD(pb_namespace_request, nonce_group, 2),
	FIELD(pb_namespace_request, nonce, 3));

MESSAGE(pb_namespace_name_request, "DeleteNamespaceRequest",
	FIELD(pb_namespace_name_request, name, 1, .required = true),
	FIELD(pb_namespace_name_request, nonce_group, 2),
	FIELD(pb_namespace_name_request, nonce, 3));

MESSAGE(pb_namespaces, "ListNamespacesResponse",
	FIELD(pb_namespaces, names, 1, .item = PROTO_BYTES));

MESSAGE(pb_procedure, "CreateTableResponse", FIELD(pb_procedure, id, 1));

static MESSAGE(pb_generic_exception, "GenericExceptionMessage",
	       FIELD(pb_generic_exception, class, 1),
	       FIELD(pb_generic_exception, message, 2));

static MESSAGE(pb_foreign_exception, "ForeignExceptionMessage",
	       FIELD(pb_foreign_exception, generic, 2,
		     .of = &pb_generic_exception));

MESSAGE(pb_procedure_result, "GetProcedureResultResponse",
	FIELD(pb_procedure_result, state, 1, .required = true),
	FIELD(pb_procedure_result, exception, 5, .of = &pb_foreign_exception));

MESSAGE(pb_snapshot, "SnapshotDescription",
	FIELD(pb_snapshot, name, 1, .required = true),
	FIELD(pb_snapshot, table, 2), FIELD(pb_snapshot, created_ms, 3));

MESSAGE(pb_snapshot_request, "SnapshotRequest",
	FIELD(pb_snapshot_request, snapshot, 1, .required = true,
	      .of = &pb_snapshot),
	FIELD(pb_snapshot_request, nonce_group, 2),
	FIELD(pb_snapshot_request, nonce, 3));

MESSAGE(pb_snapshot_begun, "SnapshotResponse",
	FIELD(pb_snapshot_begun, procedure, 2));

MESSAGE(pb_lock_request, "LockRequest",
	FIELD(pb_lock_request, type, 1, .required = true),
	FIELD(pb_lock_request, table, 3, .of = &pb_table_name),
	FIELD(pb_lock_request, description, 5),
	FIELD(pb_lock_request, nonce_group, 6),
	FIELD(pb_lock_request, nonce, 7));

MESSAGE(pb_lock_heartbeat, "LockHeartbeatRequest",
	FIELD(pb_lock_heartbeat, id, 1, .required = true),
	FIELD(pb_lock_heartbeat, keeps, 2, .absent = 1));

MESSAGE(pb_lock_state, "LockHeartbeatResponse",
	FIELD(pb_lock_state, status, 1, .required = true));

MESSAGE(pb_snapshot_done, "IsSnapshotDoneResponse",
	FIELD(pb_snapshot_done, done, 1));

MESSAGE(pb_snapshots, "GetCompletedSnapshotsResponse",
	FIELD(pb_snapshots, snapshots, 1, ITEMS(pb_snapshot)));

MESSAGE(pb_compact_request, "CompactRegionRequest",
	FIELD(pb_compact_request, region, 1, .required = true,
	      .of = &pb_region),
	FIELD(pb_compact_request, major, 2));

MESSAGE(pb_region_info_request, "GetRegionInfoRequest",
	FIELD(pb_region_info_request, region, 1, .required = true,
	      .of = &pb_region),
	FIELD(pb_region_info_request, compaction_state, 2));

MESSAGE(pb_region_info_response, "GetRegionInfoResponse",
	FIELD(pb_region_info_response, compaction_state, 2));

MESSAGE(pb_files_request, "GetStoreFileRequest",
	FIELD(pb_files_request, region, 1, .required = true, .of = &pb_region));

MESSAGE(pb_files_response, "GetStoreFileResponse",
	FIELD(pb_files_response, names, 1, .item = PROTO_BYTES));
