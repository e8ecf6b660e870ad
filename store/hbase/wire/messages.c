#include "store/hbase/wire/messages.h"

#include <errno.h>

#include "store/value/why.h"

const struct proto_message pb_nothing = {
	.name = "without fields",
	.size = sizeof(struct pb_nothing),
};

static const struct proto_field server_fields[] = {
	FIELD(pb_server, host, 1, .required = true),
	FIELD(pb_server, port, 2),
	FIELD(pb_server, start_code, 3),
};
const struct proto_message pb_server =
	MESSAGE(pb_server, server_fields, "ServerName");

static const struct proto_field table_name_fields[] = {
	FIELD(pb_table_name, namespace, 1, .required = true),
	FIELD(pb_table_name, qualifier, 2, .required = true),
};
const struct proto_message pb_table_name =
	MESSAGE(pb_table_name, table_name_fields, "TableName");

static const struct proto_field region_info_fields[] = {
	FIELD(pb_region_info, id, 1, .required = true),
	FIELD(pb_region_info, table, 2, .required = true, .of = &pb_table_name),
	FIELD(pb_region_info, start, 3),
	FIELD(pb_region_info, end, 4),
	FIELD(pb_region_info, offline, 5),
	FIELD(pb_region_info, split, 6),
	FIELD(pb_region_info, replica, 7),
};
const struct proto_message pb_region_info =
	MESSAGE(pb_region_info, region_info_fields, "RegionInfo");

static const struct proto_field region_fields[] = {
	FIELD(pb_region, by, 1, .required = true),
	FIELD(pb_region, name, 2, .required = true),
};
const struct proto_message pb_region =
	MESSAGE(pb_region, region_fields, "RegionSpecifier");

static const struct proto_field cluster_id_fields[] = {
	FIELD(pb_cluster_id, id, 1),
};
const struct proto_message pb_cluster_id =
	MESSAGE(pb_cluster_id, cluster_id_fields, "GetClusterIdResponse");

static const struct proto_field active_master_fields[] = {
	FIELD(pb_active_master, server, 1, .of = &pb_server),
};
const struct proto_message pb_active_master = MESSAGE(
	pb_active_master, active_master_fields, "GetActiveMasterResponse");

static const struct proto_field location_fields[] = {
	FIELD(pb_location, region, 1, .required = true, .of = &pb_region_info),
	FIELD(pb_location, server, 2, .of = &pb_server),
};
const struct proto_message pb_location =
	MESSAGE(pb_location, location_fields, "RegionLocation");

static const struct proto_field meta_locations_fields[] = {
	FIELD(pb_meta_locations, locations, 1, .item = PROTO_INSIDE,
	      .of = &pb_location),
};
const struct proto_message pb_meta_locations =
	MESSAGE(pb_meta_locations, meta_locations_fields,
		"GetMetaRegionLocationsResponse");

static const struct proto_field attribute_fields[] = {
	FIELD(pb_attribute, name, 1, .required = true),
	FIELD(pb_attribute, value, 2),
};
const struct proto_message pb_attribute =
	MESSAGE(pb_attribute, attribute_fields, "NameBytesPair");

static const struct proto_field column_fields[] = {
	FIELD(pb_column, family, 1, .required = true),
	FIELD(pb_column, qualifiers, 2, .item = PROTO_BYTES),
};
const struct proto_message pb_column =
	MESSAGE(pb_column, column_fields, "Column");

static const struct proto_field time_range_fields[] = {
	FIELD(pb_time_range, from, 1),
	FIELD(pb_time_range, to, 2),
};
const struct proto_message pb_time_range =
	MESSAGE(pb_time_range, time_range_fields, "TimeRange");

static const struct proto_field family_range_fields[] = {
	FIELD(pb_family_range, family, 1, .required = true),
	FIELD(pb_family_range, range, 2, .required = true,
	      .of = &pb_time_range),
};
const struct proto_message pb_family_range =
	MESSAGE(pb_family_range, family_range_fields, "ColumnFamilyTimeRange");

static const struct proto_field get_fields[] = {
	FIELD(pb_get, row, 1, .required = true),
	FIELD(pb_get, columns, 2, .item = PROTO_INSIDE, .of = &pb_column),
	FIELD(pb_get, attributes, 3, .item = PROTO_INSIDE, .of = &pb_attribute),
	FIELD(pb_get, filter, 4),
	FIELD(pb_get, range, 5, .of = &pb_time_range),
	FIELD(pb_get, versions, 6, .absent = 1),
	FIELD(pb_get, cache_blocks, 7, .absent = 1),
	FIELD(pb_get, store_limit, 8),
	FIELD(pb_get, store_offset, 9),
	FIELD(pb_get, existence_only, 10),
	FIELD(pb_get, family_ranges, 13, .item = PROTO_INSIDE,
	      .of = &pb_family_range),
};
const struct proto_message pb_get = MESSAGE(pb_get, get_fields, "Get");

static const struct proto_field get_request_fields[] = {
	FIELD(pb_get_request, region, 1, .required = true, .of = &pb_region),
	FIELD(pb_get_request, get, 2, .required = true, .of = &pb_get),
};
const struct proto_message pb_get_request =
	MESSAGE(pb_get_request, get_request_fields, "GetRequest");

static const struct proto_field result_fields[] = {
	FIELD(pb_result, cells, 2),
	FIELD(pb_result, exists, 3),
	FIELD(pb_result, partial, 5),
};
const struct proto_message pb_result =
	MESSAGE(pb_result, result_fields, "Result");

static const struct proto_field get_response_fields[] = {
	FIELD(pb_get_response, result, 1, .of = &pb_result),
};
const struct proto_message pb_get_response =
	MESSAGE(pb_get_response, get_response_fields, "GetResponse");

static const struct proto_field scan_fields[] = {
	FIELD(pb_scan, columns, 1, .item = PROTO_INSIDE, .of = &pb_column),
	FIELD(pb_scan, attributes, 2, .item = PROTO_INSIDE,
	      .of = &pb_attribute),
	FIELD(pb_scan, start_row, 3),
	FIELD(pb_scan, stop_row, 4),
	FIELD(pb_scan, filter, 5),
	FIELD(pb_scan, range, 6, .of = &pb_time_range),
	FIELD(pb_scan, versions, 7, .absent = 1),
	FIELD(pb_scan, cache_blocks, 8, .absent = 1),
	FIELD(pb_scan, batch, 9),
	FIELD(pb_scan, bytes_max, 10),
	FIELD(pb_scan, store_limit, 11),
	FIELD(pb_scan, store_offset, 12),
	FIELD(pb_scan, families_on_demand, 13, .absent = 1),
	FIELD(pb_scan, reversed, 15),
	FIELD(pb_scan, caching, 17),
	FIELD(pb_scan, allow_partial, 18),
	FIELD(pb_scan, family_ranges, 19, .item = PROTO_INSIDE,
	      .of = &pb_family_range),
	FIELD(pb_scan, include_start, 21, .absent = 1),
	FIELD(pb_scan, include_stop, 22),
};
const struct proto_message pb_scan = MESSAGE(pb_scan, scan_fields, "Scan");

static const struct proto_field scan_request_fields[] = {
	FIELD(pb_scan_request, region, 1, .of = &pb_region),
	FIELD(pb_scan_request, scan, 2, .of = &pb_scan),
	FIELD(pb_scan_request, scanner, 3),
	FIELD(pb_scan_request, rows, 4),
	FIELD(pb_scan_request, close, 5),
	FIELD(pb_scan_request, sequence, 6, .absent = -1),
	FIELD(pb_scan_request, takes_partials, 7),
	FIELD(pb_scan_request, takes_heartbeats, 8),
	FIELD(pb_scan_request, renew, 10),
	FIELD(pb_scan_request, limit_rows, 11),
};
const struct proto_message pb_scan_request =
	MESSAGE(pb_scan_request, scan_request_fields, "ScanRequest");

static const struct proto_field scan_response_fields[] = {
	FIELD(pb_scan_response, cells_per_result, 1, .item = PROTO_U32),
	FIELD(pb_scan_response, scanner, 2),
	FIELD(pb_scan_response, more, 3, .absent = 1),
	FIELD(pb_scan_response, lease_ms, 4),
	FIELD(pb_scan_response, partial, 7, .item = PROTO_BOOL),
	FIELD(pb_scan_response, more_in_region, 8, .absent = 1),
	FIELD(pb_scan_response, heartbeat, 9),
};
const struct proto_message pb_scan_response =
	MESSAGE(pb_scan_response, scan_response_fields, "ScanResponse");

static const struct proto_field mutation_fields[] = {
	FIELD(pb_mutation, row, 1),
	FIELD(pb_mutation, type, 2, .required = true),
	FIELD(pb_mutation, ts, 4, .absent = -1),
	FIELD(pb_mutation, attributes, 5, .item = PROTO_INSIDE,
	      .of = &pb_attribute),
	FIELD(pb_mutation, durability, 6),
	FIELD(pb_mutation, range, 7, .of = &pb_time_range),
	FIELD(pb_mutation, cells, 8),
	FIELD(pb_mutation, nonce, 9),
};
const struct proto_message pb_mutation =
	MESSAGE(pb_mutation, mutation_fields, "MutationProto");

static const struct proto_field mutate_request_fields[] = {
	FIELD(pb_mutate_request, region, 1, .required = true, .of = &pb_region),
	FIELD(pb_mutate_request, mutation, 2, .required = true,
	      .of = &pb_mutation),
	FIELD(pb_mutate_request, nonce_group, 4),
};
const struct proto_message pb_mutate_request =
	MESSAGE(pb_mutate_request, mutate_request_fields, "MutateRequest");

static const struct proto_field mutate_response_fields[] = {
	FIELD(pb_mutate_response, result, 1, .of = &pb_result),
	FIELD(pb_mutate_response, processed, 2),
};
const struct proto_message pb_mutate_response =
	MESSAGE(pb_mutate_response, mutate_response_fields, "MutateResponse");

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
