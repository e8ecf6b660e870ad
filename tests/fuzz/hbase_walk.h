/*
 * Touches all that lies in a message of HBase, which must be readable, and
 * checks that it lies inside what was read. Shared by a fuzz target and a unit
 * test.
 */
#ifndef CELLFS_TESTS_FUZZ_HBASE_WALK_H
#define CELLFS_TESTS_FUZZ_HBASE_WALK_H

#include <stdlib.h>

#include "store/hbase/wire/frame.h"
#include "store/hbase/master/admin_messages.h"
#include "store/hbase/wire/messages.h"

#define WALK_STRUCT_MAX 1024

static const struct proto_message *const walk_types[] = {
	&pb_server,
	&pb_table_name,
	&pb_region_info,
	&pb_region,
	&pb_cluster_id,
	&pb_active_master,
	&pb_location,
	&pb_meta_locations,
	&pb_attribute,
	&pb_column,
	&pb_time_range,
	&pb_family_range,
	&pb_get,
	&pb_get_request,
	&pb_result,
	&pb_get_response,
	&pb_scan,
	&pb_scan_request,
	&pb_scan_response,
	&pb_mutation,
	&pb_files_request,
	&pb_files_response,
	&pb_nothing,
	&pb_cell,
	&pb_comparator,
	&pb_condition,
	&pb_action,
	&pb_region_action,
	&pb_multi_request,
	&pb_fault,
	&pb_action_result,
	&pb_region_result,
	&pb_multi_response,
	&pb_pair,
	&pb_family,
	&pb_descriptor,
	&pb_tables_request,
	&pb_descriptors,
	&pb_table_names,
	&pb_table_request,
	&pb_truncate_request,
	&pb_create_request,
	&pb_modify_request,
	&pb_namespace,
	&pb_namespace_request,
	&pb_namespace_name_request,
	&pb_namespaces,
	&pb_procedure,
	&pb_procedure_result,
	&pb_snapshot,
	&pb_snapshot_request,
	&pb_snapshot_begun,
	&pb_snapshot_done,
	&pb_snapshots,
	&pb_compact_request,
	&pb_region_info_request,
	&pb_region_info_response,
};
#define WALK_TYPES (sizeof(walk_types) / sizeof(*walk_types))

static void walk_bytes(struct bytes all, struct bytes s)
{
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < s.len; i++)
		sum = (uint8_t)(sum + s.data[i]);
	if (s.data && (s.data < all.data || s.data > all.data + all.len ||
		       s.len > (size_t)(all.data + all.len - s.data)))
		abort();
}

static void walk_message(struct bytes all, const struct proto_message *m,
			 const void *from);

static void walk_list(struct bytes all, const struct proto_field *f,
		      struct proto_list l)
{
	_Alignas(max_align_t) uint8_t item[WALK_STRUCT_MAX];

	while (proto_next(&l, item) > 0) {
		if (f->item == PROTO_BYTES)
			walk_bytes(all, *(struct bytes *)item);
		else if (f->item == PROTO_INSIDE)
			walk_message(all, f->of, item);
		else if (f->item == PROTO_BOOL && *item > 1)
			abort();
	}
}

static void walk_message(struct bytes all, const struct proto_message *m,
			 const void *from)
{
	for (size_t i = 0; i < m->nfields; i++) {
		const struct proto_field *f = &m->fields[i];
		const void *at = (const uint8_t *)from + f->at;

		if (f->type == PROTO_BYTES)
			walk_bytes(all, *(const struct bytes *)at);
		else if (f->type == PROTO_INSIDE)
			walk_message(all, f->of, at);
		else if (f->type == PROTO_LIST)
			walk_list(all, f, *(const struct proto_list *)at);
	}
}

/* What was read is written, and that is read and written as the same. */
static void walk_again(const struct proto_message *m, const void *from)
{
	_Alignas(max_align_t) uint8_t copy[WALK_STRUCT_MAX];
	struct buf one = {0}, two = {0};
	struct encoder a = {.out = &one}, b = {.out = &two};

	proto_put(&a, m, from);
	if (proto_take(buf_bytes(&one), m, copy) < 0)
		abort();
	proto_put(&b, m, copy);
	if (a.err || b.err || !bytes_eq(buf_bytes(&one), buf_bytes(&two)))
		abort();
	buf_free(&one);
	buf_free(&two);
}

/* Reads @message as each of the messages. Returns how many it may be. */
static size_t walk_as_all(struct bytes message)
{
	_Alignas(max_align_t) uint8_t out[WALK_STRUCT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < WALK_TYPES; i++) {
		if (walk_types[i]->size > sizeof(out))
			abort();
		if (proto_take(message, walk_types[i], out) < 0)
			continue;
		walk_message(message, walk_types[i], out);
		walk_again(walk_types[i], out);
		n++;
	}
	return n;
}

/* The result of frame_take(). */
static inline int walk_frame(struct bytes frame)
{
	struct frame_answer a;
	int r = frame_take(frame, &a);

	if (r < 0)
		return r;
	walk_bytes(frame, a.exception.class);
	walk_bytes(frame, a.exception.trace);
	walk_bytes(frame, a.exception.host);
	walk_bytes(frame, a.message);
	walk_bytes(frame, a.cells);
	walk_as_all(a.message);
	return 0;
}

#endif
