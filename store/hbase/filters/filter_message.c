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
/* The number of its filters, which are bytes. */
#define LIST_FILTERS 2

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
		put_field(&e, 1, c->value);
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

int filter_put_item(struct buf *items, int r, struct buf *one)
{
	struct encoder e = {.out = items, .err = r};

	put_field(&e, LIST_FILTERS, buf_bytes(one));
	buf_free(one);
	return e.err;
}

int filter_put_list(struct buf *out, bool any, const struct buf *items)
{
	const struct pb_filter_list head = {.operator= any ? ANY : ALL };
	struct pb_filter f = {.class = bytes_str(CLASS("FilterList"))};
	struct buf body = {0};
	struct encoder inside = {.out = &body}, e = {.out = out};

	proto_put(&inside, &pb_filter_list, &head);
	put_raw(&inside, items->data, items->len);
	f.body = buf_bytes(&body);
	proto_put(&e, &pb_filter, &f);
	buf_free(&body);
	return inside.err ? inside.err : e.err;
}

void filter_add(struct filter_list *l, int r, struct buf *one)
{
	if (r == 0)
		r = buf_set(&l->last, buf_bytes(one));
	if (filter_put_item(&l->filters, r, one) < 0)
		l->err = -ENOMEM;
	l->n++;
}

void filter_add_keys(struct filter_list *l, bool lengths)
{
	const struct pb_keys m = {.lengths = lengths};
	struct buf one = {0};

	filter_add(l, put(&one, CLASS("KeyOnlyFilter"), &pb_keys, &m), &one);
}

void filter_add_first(struct filter_list *l)
{
	struct buf one = {0};

	filter_add(l, filter_put_first(&one), &one);
}

void filter_add_from(struct filter_list *l, struct bytes min, bool min_in)
{
	const struct filter_compare c = {.op = min_in ? COMPARE_GREATER_OR_EQUAL
						      : COMPARE_GREATER,
					 .value = min};
	struct buf one = {0};

	filter_add(l, filter_put_compare(&one, SUBJECT_QUALIFIER, &c), &one);
}

void filter_add_range(struct filter_list *l, struct bytes min, bool min_in,
		      struct bytes max, bool max_in)
{
	const struct pb_range m = {
		.min = min, .min_in = min_in, .max = max, .max_in = max_in};
	struct buf one = {0};

	filter_add(l, put(&one, CLASS("ColumnRangeFilter"), &pb_range, &m),
		   &one);
}

/* Puts "the subject is @name". */
static int put_equal(struct buf *out, enum filter_subject subject,
		     struct bytes name)
{
	const struct filter_compare c = {.op = COMPARE_EQUAL, .value = name};

	return filter_put_compare(out, subject, &c);
}

/* Puts a family, or some of its columns, as an item. */
static int put_family(struct buf *out, const struct pb_column *c)
{
	const struct bytes *q = c->qualifiers.items;
	struct buf both = {0}, any = {0}, one = {0};
	int r = put_equal(&one, SUBJECT_FAMILY, c->family);

	r = filter_put_item(&both, r, &one);
	for (size_t i = 0; r == 0 && i < c->qualifiers.n; i++) {
		r = put_equal(&one, SUBJECT_QUALIFIER, q[i]);
		r = filter_put_item(&any, r, &one);
	}
	if (r == 0 && any.len) {
		r = filter_put_list(&one, true, &any);
		r = filter_put_item(&both, r, &one);
	}
	if (r == 0) {
		r = filter_put_list(&one, false, &both);
		r = filter_put_item(out, r, &one);
	}
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
		r = filter_put_list(&one, true, &items);
	buf_free(&items);
	filter_add(l, r, &one);
}

void filter_add_family(struct filter_list *l, struct bytes family)
{
	struct buf one = {0};

	filter_add(l, put_equal(&one, SUBJECT_FAMILY, family), &one);
}

void filter_add_qualifier(struct filter_list *l, struct bytes qualifier)
{
	struct buf one = {0};

	filter_add(l, put_equal(&one, SUBJECT_QUALIFIER, qualifier), &one);
}

void filter_add_ts(struct filter_list *l, int64_t ts)
{
	struct buf one = {0};

	filter_add(l, filter_put_ts(&one, &ts, 1), &one);
}

int filter_message(struct filter_list *l, struct bytes *out)
{
	if (l->n > 1 && !l->err) {
		l->last.len = 0;
		l->err = filter_put_list(&l->last, false, &l->filters);
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
