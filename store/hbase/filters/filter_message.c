#include "store/hbase/filters/filter_message.h"

#include <errno.h>

#include "store/hbase/wire/messages.h"
#include "store/value/why.h"

#define CLASS(name) "org.apache.hadoop.hbase.filter." name
/* FilterList.Operator: all must pass. */
#define ALL 1

struct pb_filter {
	bool here;
	struct bytes class, body;
};

static const struct proto_field filter_fields[] = {
	FIELD(pb_filter, class, 1, .required = true),
	FIELD(pb_filter, body, 2),
};
static const struct proto_message pb_filter =
	MESSAGE(pb_filter, filter_fields, "Filter");

struct pb_filter_list {
	bool here;
	uint32_t operator;
};

static const struct proto_field list_fields[] = {
	FIELD(pb_filter_list, operator, 1, .required = true),
};
static const struct proto_message pb_filter_list =
	MESSAGE(pb_filter_list, list_fields, "FilterList");
/* The filters of a FilterList: field 2, bytes. */
#define LIST_FILTERS (2 << 3 | 2)

struct pb_keys {
	bool here;
	bool lengths;
};

static const struct proto_field keys_fields[] = {
	FIELD(pb_keys, lengths, 1, .required = true),
};
static const struct proto_message pb_keys =
	MESSAGE(pb_keys, keys_fields, "KeyOnlyFilter");

struct pb_range {
	bool here;
	struct bytes min;
	bool min_in;
	struct bytes max;
	bool max_in;
};

static const struct proto_field range_fields[] = {
	FIELD(pb_range, min, 1),
	FIELD(pb_range, min_in, 2, .required = true),
	FIELD(pb_range, max, 3),
	FIELD(pb_range, max_in, 4, .required = true),
};
static const struct proto_message pb_range =
	MESSAGE(pb_range, range_fields, "ColumnRangeFilter");

struct pb_compare {
	bool here;
	uint32_t operator;
	struct pb_comparator comparator;
};

static const struct proto_field compare_fields[] = {
	FIELD(pb_compare, operator, 1),
	FIELD(pb_compare, comparator, 2, .of = &pb_comparator),
};
static const struct proto_message pb_compare =
	MESSAGE(pb_compare, compare_fields, "CompareFilter");

/* A FamilyFilter or QualifierFilter: what it compares, and nothing else. */
struct pb_compares {
	bool here;
	struct pb_compare compare;
};

static const struct proto_field compares_fields[] = {
	FIELD(pb_compares, compare, 1, .required = true, .of = &pb_compare),
};
static const struct proto_message pb_compares =
	MESSAGE(pb_compares, compares_fields, "FamilyFilter");

struct pb_timestamps {
	bool here;
	struct proto_list list; /* of int64_t */
};

static const struct proto_field timestamps_fields[] = {
	FIELD(pb_timestamps, list, 1, .item = PROTO_I64),
};
static const struct proto_message pb_timestamps =
	MESSAGE(pb_timestamps, timestamps_fields, "TimestampsFilter");

static void add(struct filter_list *l, const char *class,
		const struct proto_message *type, const void *message)
{
	struct pb_filter f = {.class = bytes_str(class)};
	struct encoder all = {.out = &l->filters}, last = {.out = &l->last};
	struct buf body = {0};
	struct encoder e = {.out = &body};

	/* A body without fields is one all the same. */
	e.err = buf_reserve(&body, 1);
	proto_put(&e, type, message);
	f.body = buf_bytes(&body);
	put_u8(&all, LIST_FILTERS);
	put_sized(&all, &pb_filter, &f);
	l->last.len = 0;
	proto_put(&last, &pb_filter, &f);
	if (e.err || all.err || last.err)
		l->err = -ENOMEM;
	l->n++;
	buf_free(&body);
}

void filter_add_keys(struct filter_list *l, bool lengths)
{
	const struct pb_keys m = {.lengths = lengths};

	add(l, CLASS("KeyOnlyFilter"), &pb_keys, &m);
}

void filter_add_first(struct filter_list *l)
{
	const struct pb_nothing m = {0};

	add(l, CLASS("FirstKeyOnlyFilter"), &pb_nothing, &m);
}

void filter_add_range(struct filter_list *l, struct bytes min, bool min_in,
		      struct bytes max, bool max_in)
{
	const struct pb_range m = {
		.min = min, .min_in = min_in, .max = max, .max_in = max_in};

	add(l, CLASS("ColumnRangeFilter"), &pb_range, &m);
}

static void add_equal(struct filter_list *l, const char *class,
		      struct bytes name)
{
	struct buf body = {0};
	int r = binary_comparator(name, &body);
	const struct pb_compares m = {
		.compare = {.here = true,
			    .operator= COMPARE_EQUAL,
			    .comparator = {.here = true,
					   .class =
						   bytes_str(BINARY_COMPARATOR),
					   .body = buf_bytes(&body)}},
	};

	if (r < 0)
		l->err = r;
	add(l, class, &pb_compares, &m);
	buf_free(&body);
}

void filter_add_family(struct filter_list *l, struct bytes family)
{
	add_equal(l, CLASS("FamilyFilter"), family);
}

void filter_add_qualifier(struct filter_list *l, struct bytes qualifier)
{
	add_equal(l, CLASS("QualifierFilter"), qualifier);
}

void filter_add_ts(struct filter_list *l, int64_t ts)
{
	const struct pb_timestamps m = {.list = {.items = &ts, .n = 1}};

	add(l, CLASS("TimestampsFilter"), &pb_timestamps, &m);
}

int filter_message(struct filter_list *l, struct bytes *out)
{
	const struct pb_filter_list head = {.operator= ALL };
	struct buf body = {0};
	struct encoder inside = {.out = &body}, e = {.out = &l->last};

	*out = buf_bytes(&l->last);
	if (l->n > 1 && !l->err) {
		struct pb_filter f = {.class = bytes_str(CLASS("FilterList"))};

		proto_put(&inside, &pb_filter_list, &head);
		put_raw(&inside, l->filters.data, l->filters.len);
		f.body = buf_bytes(&body);
		l->last.len = 0;
		proto_put(&e, &pb_filter, &f);
		if (inside.err || e.err)
			l->err = -ENOMEM;
		*out = buf_bytes(&l->last);
	}
	buf_free(&body);
	return l->err ? why(l->err, "out of memory for a filter") : 0;
}

void filter_list_free(struct filter_list *l)
{
	buf_free(&l->filters);
	buf_free(&l->last);
	*l = (struct filter_list){0};
}
