#include "store/hbase/wire/messages.h"

#include <errno.h>

#include "store/value/why.h"

const struct proto_message pb_nothing = {
	.name = "without fields",
	.size = sizeof(struct pb_nothing),
};

MESSAGE(pb_server, "ServerName", FIELD(pb_server, host, 1, .required = true),
	FIELD(pb_server, port, 2));

MESSAGE(pb_table_name, "TableName",
	FIELD(pb_table_name, namespace, 1, .required = true),
	FIELD(pb_table_name, qualifier, 2, .required = true));

struct pb_table_name table_name_of(struct bytes name)
{
	const uint8_t *colon =
		name.len ? memchr(name.data, ':', name.len) : NULL;
	struct pb_table_name out = {
		.here = true,
		.namespace = bytes_str("default"),
		.qualifier = name,
	};

	if (colon) {
		out.namespace =
			bytes_of(name.data, (size_t)(colon - name.data));
		out.qualifier =
			bytes_of(colon + 1, name.len - out.namespace.len - 1);
	}
	return out;
}

MESSAGE(pb_region_info, "RegionInfo",
	FIELD(pb_region_info, id, 1, .required = true),
	FIELD(pb_region_info, table, 2, .required = true, .of = &pb_table_name),
	FIELD(pb_region_info, start, 3), FIELD(pb_region_info, end, 4),
	FIELD(pb_region_info, offline, 5), FIELD(pb_region_info, split, 6));

MESSAGE(pb_region, "RegionSpecifier", FIELD(pb_region, by, 1, .required = true),
	FIELD(pb_region, name, 2, .required = true));

MESSAGE(pb_cluster_id, "GetClusterIdResponse", FIELD(pb_cluster_id, id, 1));

MESSAGE(pb_active_master, "GetActiveMasterResponse",
	FIELD(pb_active_master, server, 1, .of = &pb_server));

MESSAGE(pb_location, "RegionLocation",
	FIELD(pb_location, region, 1, .required = true, .of = &pb_region_info),
	FIELD(pb_location, server, 2, .of = &pb_server));

MESSAGE(pb_meta_locations, "GetMetaRegionLocationsResponse",
	FIELD(pb_meta_locations, locations, 1, ITEMS(pb_location)));

MESSAGE(pb_attribute, "NameBytesPair",
	FIELD(pb_attribute, name, 1, .required = true),
	FIELD(pb_attribute, value, 2));

MESSAGE(pb_column, "Column", FIELD(pb_column, family, 1, .required = true),
	FIELD(pb_column, qualifiers, 2, .item = PROTO_BYTES));

MESSAGE(pb_time_range, "TimeRange", FIELD(pb_time_range, from, 1),
	FIELD(pb_time_range, to, 2));

MESSAGE(pb_family_range, "ColumnFamilyTimeRange",
	FIELD(pb_family_range, family, 1, .required = true),
	FIELD(pb_family_range, range, 2, .required = true,
	      .of = &pb_time_range));

MESSAGE(pb_get, "Get", FIELD(pb_get, row, 1, .required = true),
	FIELD(pb_get, columns, 2, ITEMS(pb_column)),
	FIELD(pb_get, attributes, 3, ITEMS(pb_attribute)),
	FIELD(pb_get, filter, 4), FIELD(pb_get, range, 5, .of = &pb_time_range),
	FIELD(pb_get, versions, 6, .absent = 1), FIELD(pb_get, store_limit, 8),
	FIELD(pb_get, store_offset, 9),
	FIELD(pb_get, family_ranges, 13, ITEMS(pb_family_range)));

MESSAGE(pb_get_request, "GetRequest",
	FIELD(pb_get_request, region, 1, .required = true, .of = &pb_region),
	FIELD(pb_get_request, get, 2, .required = true, .of = &pb_get));

MESSAGE(pb_cell, "Cell", FIELD(pb_cell, row, 1), FIELD(pb_cell, family, 2),
	FIELD(pb_cell, qualifier, 3), FIELD(pb_cell, ts, 4),
	FIELD(pb_cell, value, 6));

MESSAGE(pb_result, "Result", FIELD(pb_result, inside, 1, ITEMS(pb_cell)),
	FIELD(pb_result, cells, 2), FIELD(pb_result, partial, 5));

MESSAGE(pb_get_response, "GetResponse",
	FIELD(pb_get_response, result, 1, .of = &pb_result));

MESSAGE(pb_scan, "Scan", FIELD(pb_scan, columns, 1, ITEMS(pb_column)),
	FIELD(pb_scan, attributes, 2, ITEMS(pb_attribute)),
	FIELD(pb_scan, start_row, 3), FIELD(pb_scan, stop_row, 4),
	FIELD(pb_scan, filter, 5),
	FIELD(pb_scan, range, 6, .of = &pb_time_range),
	FIELD(pb_scan, versions, 7, .absent = 1), FIELD(pb_scan, batch, 9),
	FIELD(pb_scan, bytes_max, 10), FIELD(pb_scan, store_limit, 11),
	FIELD(pb_scan, store_offset, 12),
	FIELD(pb_scan, families_on_demand, 13, .absent = 1),
	FIELD(pb_scan, reversed, 15), FIELD(pb_scan, allow_partial, 18),
	FIELD(pb_scan, family_ranges, 19, ITEMS(pb_family_range)),
	FIELD(pb_scan, include_start, 21, .absent = 1),
	FIELD(pb_scan, include_stop, 22));

MESSAGE(pb_scan_request, "ScanRequest",
	FIELD(pb_scan_request, region, 1, .of = &pb_region),
	FIELD(pb_scan_request, scan, 2, .of = &pb_scan),
	FIELD(pb_scan_request, scanner, 3), FIELD(pb_scan_request, rows, 4),
	FIELD(pb_scan_request, close, 5),
	FIELD(pb_scan_request, sequence, 6, .absent = -1),
	FIELD(pb_scan_request, takes_partials, 7),
	FIELD(pb_scan_request, takes_heartbeats, 8),
	FIELD(pb_scan_request, limit_rows, 11));

MESSAGE(pb_scan_response, "ScanResponse",
	FIELD(pb_scan_response, cells_per_result, 1, .item = PROTO_U32),
	FIELD(pb_scan_response, scanner, 2),
	FIELD(pb_scan_response, more, 3, .absent = 1),
	FIELD(pb_scan_response, lease_ms, 4),
	FIELD(pb_scan_response, partial, 7, .item = PROTO_BOOL),
	FIELD(pb_scan_response, more_in_region, 8, .absent = 1),
	FIELD(pb_scan_response, heartbeat, 9));

MESSAGE(pb_mutation, "MutationProto", FIELD(pb_mutation, row, 1),
	FIELD(pb_mutation, type, 2, .required = true),
	FIELD(pb_mutation, ts, 4, .absent = -1),
	FIELD(pb_mutation, attributes, 5, ITEMS(pb_attribute)),
	FIELD(pb_mutation, durability, 6),
	FIELD(pb_mutation, range, 7, .of = &pb_time_range),
	FIELD(pb_mutation, cells, 8), FIELD(pb_mutation, nonce, 9));

MESSAGE(pb_comparator, "Comparator",
	FIELD(pb_comparator, class, 1, .required = true),
	FIELD(pb_comparator, body, 2));

MESSAGE(pb_condition, "Condition",
	FIELD(pb_condition, row, 1, .required = true),
	FIELD(pb_condition, family, 2), FIELD(pb_condition, qualifier, 3),
	FIELD(pb_condition, compare, 4, .required = true),
	FIELD(pb_condition, comparator, 5, .of = &pb_comparator),
	FIELD(pb_condition, range, 6, .of = &pb_time_range),
	FIELD(pb_condition, filter, 7));

MESSAGE(pb_action, "Action", FIELD(pb_action, index, 1, .required = true),
	FIELD(pb_action, mutation, 2, .of = &pb_mutation),
	FIELD(pb_action, get, 3, .of = &pb_get));

MESSAGE(pb_region_action, "RegionAction",
	FIELD(pb_region_action, region, 1, .required = true, .of = &pb_region),
	FIELD(pb_region_action, atomic, 2),
	FIELD(pb_region_action, actions, 3, ITEMS(pb_action)),
	FIELD(pb_region_action, condition, 4, .of = &pb_condition));

MESSAGE(pb_multi_request, "MultiRequest",
	FIELD(pb_multi_request, regions, 1, ITEMS(pb_region_action)),
	FIELD(pb_multi_request, nonce_group, 2));

MESSAGE(pb_fault, "NameBytesPair", FIELD(pb_fault, class, 1, .required = true),
	FIELD(pb_fault, trace, 2));

MESSAGE(pb_action_result, "ResultOrException",
	FIELD(pb_action_result, index, 1),
	FIELD(pb_action_result, result, 2, .of = &pb_result),
	FIELD(pb_action_result, fault, 3, .of = &pb_fault));

MESSAGE(pb_region_result, "RegionActionResult",
	FIELD(pb_region_result, results, 1, ITEMS(pb_action_result)),
	FIELD(pb_region_result, fault, 2, .of = &pb_fault),
	FIELD(pb_region_result, processed, 3));

MESSAGE(pb_multi_response, "MultiResponse",
	FIELD(pb_multi_response, regions, 1, ITEMS(pb_region_result)),
	FIELD(pb_multi_response, processed, 2));

struct pb_value {
	bool here;
	struct bytes value;
};

static MESSAGE(pb_value, "ByteArrayComparable", FIELD(pb_value, value, 1));

int binary_comparator(struct bytes value, struct buf *out)
{
	const struct pb_value v = {.value = value};
	struct encoder e = {.out = out};

	/* A BinaryComparator has it as its field 1, which is to be there. */
	put_message(&e, 1, &pb_value, &v);
	return e.err;
}

int region_info_take(struct bytes value, struct pb_region_info *out)
{
	struct bytes magic = bytes_str("PBUF");

	if (!bytes_has_prefix(value, magic))
		return why(-EPROTO,
			   "the description of a region does not begin "
			   "with PBUF");
	value.data += magic.len;
	value.len -= magic.len;
	return proto_take(value, &pb_region_info, out);
}
