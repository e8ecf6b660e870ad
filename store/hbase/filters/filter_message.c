#include "store/hbase/filters/filter_message.h"

#include <errno.h>

#include "store/hbase/wire/messages.h"
#include "store/value/why.h"

#define CLASS(name) "org.apache.hadoop.hbase.filter." name
/* FilterList.Operator: all must pass, or one. */
#define ALL 1
#define ANY 2

struct pb_filter {
	bool here;
	struct bytes class, body;
};

static MESSAGE(pb_filter, "Filter",
	       FIELD(pb_filter, class, 1, .required = true),
	       FIELD(pb_filter, body, 2));

struct pb_filter_list {
	bool here;
	uint32_t operator;
};

static MESSAGE(pb_filter_list, "FilterList",
	       FIELD(pb_filter_list, operator, 1, .required = true));
/* The filters of a FilterList: field 2, bytes. */
#define LIST_FILTERS (2 << 3 | 2)

struct pb_keys {
	bool here;
	bool lengths;
};

static MESSAGE(pb_keys, "KeyOnlyFilter",
	       FIELD(pb_keys, lengths, 1, .required = true));

struct pb_range {
	bool here;
	struct bytes min;
	bool min_in;
	struct bytes max;
	bool max_in;
};

static MESSAGE(pb_range, "ColumnRangeFilter", FIELD(pb_range, min, 1),
	       FIELD(pb_range, min_in, 2, .required = true),
	       FIELD(pb_range, max, 3),
	       FIELD(pb_range, max_in, 4, .required = true));

struct pb_compare {
	bool here;
	uint32_t operator;
	struct pb_comparator comparator;
};

static MESSAGE(pb_compare, "CompareFilter",
	       FIELD(pb_compare, operator, 1, .required = true),
	       FIELD(pb_compare, comparator, 2, .of = &pb_comparator));

/* A RowFilter and its like: what it compares, and nothing else. */
struct pb_compares {
	bool here;
	struct pb_compare compare;
};

static MESSAGE(pb_compares, "RowFilter",
	       FIELD(pb_compares, compare, 1, .required = true,
		     .of = &pb_compare));

/* A ColumnValueFilter, or with the last two a SingleColumnValueFilter. */
struct pb_column_value {
	bool here;
	struct bytes family, qualifier;
	uint32_t operator;
	struct pb_comparator comparator;
	bool if_missing;
	bool newest_only; /* true by default */
};

static MESSAGE(pb_column_value, "ColumnValueFilter",
	       FIELD(pb_column_value, family, 1, .required = true),
	       FIELD(pb_column_value, qualifier, 2, .required = true),
	       FIELD(pb_column_value, operator, 3, .required = true),
	       FIELD(pb_column_value, comparator, 4, .required = true,
		     .of = &pb_comparator),
	       FIELD(pb_column_value, if_missing, 5),
	       FIELD(pb_column_value, newest_only, 6, .absent = 1));

struct pb_timestamps {
	bool here;
	struct proto_list list; /* of int64_t */
};

static MESSAGE(pb_timestamps, "TimestampsFilter",
	       FIELD(pb_timestamps, list, 1, .item = PROTO_I64));

/* Appends a Filter of the class, with @message as its body. */
static int put(struct buf *out, const char *class,
	       const struct proto_message *type, const void *message)
{
	struct pb_filter f = {.class = bytes_str(class)};
	struct encoder all = {.out = out};
	struct buf body = {0};
	struct encoder e = {.out = &body};

	/* A body without fields is one all the same. */
	e.err = buf_reserve(&body, 1);
	proto_put(&e, type, message);
	f.body = buf_bytes(&body);
	proto_put(&all, &pb_filter, &f);
	buf_free(&body);
	return e.err ? e.err : all.err;
}

/* The message of what is compared with: *body is its memory. */
static int comparator_of(const struct filter_compare *c, struct buf *body,
			 struct pb_comparator *out)
{
	struct encoder e = {.out = body};
	int r = 0;

	*out = (struct pb_comparator){.here = true};
	switch (c->with) {
	case WITH_BYTES:
		out->class = bytes_str(BINARY_COMPARATOR);
		r = binary_comparator(c->value, body);
		break;
	case WITH_PREFIX:
		out->class = bytes_str(CLASS("BinaryPrefixComparator"));
		r = binary_comparator(c->value, body);
		break;
	case WITH_SUBSTRING:
		out->class = bytes_str(CLASS("SubstringComparator"));
		put_u8(&e, 1 << 3 | 2);
		put_varint(&e, c->value.len);
		put_raw(&e, c->value.data, c->value.len);
		r = e.err;
		break;
	}
	out->body = buf_bytes(body);
	return r;
}

int filter_put_compare(struct buf *out, enum filter_subject subject,
		       const struct filter_compare *c)
{
	static const char *const classes[] = {
		[SUBJECT_ROW] = CLASS("RowFilter"),
		[SUBJECT_FAMILY] = CLASS("FamilyFilter"),
		[SUBJECT_QUALIFIER] = CLASS("QualifierFilter"),
		[SUBJECT_VALUE] = CLASS("ValueFilter"),
	};
	struct pb_compares m = {.compare = {.here = true, .operator= c->op } };
	struct buf body = {0};
	int r = comparator_of(c, &body, &m.compare.comparator);

	if (r == 0)
		r = put(out, classes[subject], &pb_compares, &m);
	buf_free(&body);
	return r;
}

static int put_column(struct buf *out, const char *class,
		      struct pb_column_value *m, const struct filter_compare *c)
{
	struct buf body = {0};
	int r = comparator_of(c, &body, &m->comparator);

	m->operator= c->op;
	if (r == 0)
		r = put(out, class, &pb_column_value, m);
	buf_free(&body);
	return r;
}

int filter_put_column(struct buf *out, struct bytes family,
		      struct bytes qualifier, const struct filter_compare *c)
{
	struct pb_column_value m = {
		.family = family, .qualifier = qualifier, .newest_only = true};

	return put_column(out, CLASS("ColumnValueFilter"), &m, c);
}

int filter_put_rows(struct buf *out, struct bytes family,
		    struct bytes qualifier, const struct filter_compare *c,
		    bool if_missing, bool newest_only)
{
	struct pb_column_value m = {.family = family,
				    .qualifier = qualifier,
				    .if_missing = if_missing,
				    .newest_only = newest_only};

	return put_column(out, CLASS("SingleColumnValueFilter"), &m, c);
}

int filter_put_ts(struct buf *out, const int64_t *ts, size_t n)
{
	const struct pb_timestamps m = {.list = {.items = ts, .n = n}};

	return put(out, CLASS("TimestampsFilter"), &pb_timestamps, &m);
}

int filter_put_first(struct buf *out)
{
	const struct pb_nothing m = {0};

	return put(out, CLASS("FirstKeyOnlyFilter"), &pb_nothing, &m);
}

int filter_put_item(struct buf *items, struct bytes filter)
{
	struct encoder e = {.out = items};

	put_u8(&e, LIST_FILTERS);
	put_varint(&e, filter.len);
	put_raw(&e, filter.data, filter.len);
	return e.err;
}

int filter_put_list(struct buf *out, bool any, struct bytes items)
{
	const struct pb_filter_list head = {.operator= any ? ANY : ALL };
	struct pb_filter f = {.class = bytes_str(CLASS("FilterList"))};
	struct buf body = {0};
	struct encoder inside = {.out = &body}, e = {.out = out};

	proto_put(&inside, &pb_filter_list, &head);
	put_raw(&inside, items.data, items.len);
	f.body = buf_bytes(&body);
	proto_put(&e, &pb_filter, &f);
	buf_free(&body);
	return inside.err ? inside.err : e.err;
}

void filter_add(struct filter_list *l, struct bytes filter)
{
	int r = filter_put_item(&l->filters, filter);

	if (r == 0)
		r = buf_set(&l->last, filter);
	if (r < 0)
		l->err = -ENOMEM;
	l->n++;
}

/* Adds what was put into @one, and frees it. */
static void add(struct filter_list *l, int r, struct buf *one)
{
	if (r < 0)
		l->err = r;
	else
		filter_add(l, buf_bytes(one));
	buf_free(one);
}

void filter_add_keys(struct filter_list *l, bool lengths)
{
	const struct pb_keys m = {.lengths = lengths};
	struct buf one = {0};

	add(l, put(&one, CLASS("KeyOnlyFilter"), &pb_keys, &m), &one);
}

void filter_add_first(struct filter_list *l)
{
	struct buf one = {0};

	add(l, filter_put_first(&one), &one);
}

void filter_add_from(struct filter_list *l, struct bytes min, bool min_in)
{
	const struct filter_compare c = {.op = min_in ? COMPARE_GREATER_OR_EQUAL
						      : COMPARE_GREATER,
					 .value = min};
	struct buf one = {0};

	add(l, filter_put_compare(&one, SUBJECT_QUALIFIER, &c), &one);
}

void filter_add_range(struct filter_list *l, struct bytes min, bool min_in,
		      struct bytes max, bool max_in)
{
	const struct pb_range m = {
		.min = min, .min_in = min_in, .max = max, .max_in = max_in};
	struct buf one = {0};

	add(l, put(&one, CLASS("ColumnRangeFilter"), &pb_range, &m), &one);
}

static void add_equal(struct filter_list *l, enum filter_subject subject,
		      struct bytes name)
{
	const struct filter_compare c = {.op = COMPARE_EQUAL, .value = name};
	struct buf one = {0};

	add(l, filter_put_compare(&one, subject, &c), &one);
}

/* Puts "the subject is @name" as an item. */
static int put_equal(struct buf *items, enum filter_subject subject,
		     struct bytes name)
{
	const struct filter_compare c = {.op = COMPARE_EQUAL, .value = name};
	struct buf one = {0};
	int r = filter_put_compare(&one, subject, &c);

	if (r == 0)
		r = filter_put_item(items, buf_bytes(&one));
	buf_free(&one);
	return r;
}

/* Puts a list of filters as an item of another. */
static int put_list(struct buf *out, bool any, const struct buf *items)
{
	struct buf one = {0};
	int r = filter_put_list(&one, any, buf_bytes(items));

	if (r == 0)
		r = filter_put_item(out, buf_bytes(&one));
	buf_free(&one);
	return r;
}

/* Puts a family, or some of its columns, as an item. */
static int put_family(struct buf *out, const struct pb_column *c)
{
	const struct bytes *q = c->qualifiers.items;
	struct buf both = {0}, any = {0};
	int r = put_equal(&both, SUBJECT_FAMILY, c->family);

	for (size_t i = 0; r == 0 && i < c->qualifiers.n; i++)
		r = put_equal(&any, SUBJECT_QUALIFIER, q[i]);
	if (r == 0 && any.len)
		r = put_list(&both, true, &any);
	if (r == 0)
		r = put_list(out, false, &both);
	buf_free(&both);
	buf_free(&any);
	return r;
}

void filter_add_columns(struct filter_list *l, const struct pb_column *columns,
			size_t n)
{
	struct buf items = {0}, one = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_family(&items, &columns[i]);
	if (r == 0)
		r = filter_put_list(&one, true, buf_bytes(&items));
	buf_free(&items);
	add(l, r, &one);
}

void filter_add_family(struct filter_list *l, struct bytes family)
{
	add_equal(l, SUBJECT_FAMILY, family);
}

void filter_add_qualifier(struct filter_list *l, struct bytes qualifier)
{
	add_equal(l, SUBJECT_QUALIFIER, qualifier);
}

void filter_add_ts(struct filter_list *l, int64_t ts)
{
	struct buf one = {0};

	add(l, filter_put_ts(&one, &ts, 1), &one);
}

int filter_message(struct filter_list *l, struct bytes *out)
{
	if (l->n > 1 && !l->err) {
		l->last.len = 0;
		l->err = filter_put_list(&l->last, false,
					 buf_bytes(&l->filters));
	}
	*out = buf_bytes(&l->last);
	return l->err ? why(l->err, "out of memory for a filter") : 0;
}

void filter_list_free(struct filter_list *l)
{
	buf_free(&l->filters);
	buf_free(&l->last);
	*l = (struct filter_list){0};
}
