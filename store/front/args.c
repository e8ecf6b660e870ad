#include "store/front/args.h"

#include <errno.h>

static int fits(const char *what, struct bytes key, int max)
{
	return key.len > (size_t)max
		       ? why(-EINVAL,
			     "the %s is %zu bytes long, at most %d are "
			     "allowed: use a shorter one",
			     what, key.len, max)
		       : 0;
}

int args_row(struct bytes row)
{
	if (row.len == 0)
		return why(-EINVAL, "the row key is empty: a row needs a name");
	return fits("row key", row, ROW_LEN_MAX);
}

static int family_fits(struct bytes family)
{
	if (family.len == 0)
		return why(-EINVAL, "the family name is empty: a column needs "
				    "the name of its family");
	return fits("family name", family, FAMILY_LEN_MAX);
}

int args_ts(int64_t ts)
{
	if (ts < 0 || ts > TS_MAX)
		return why(-EINVAL,
			   "%lld is no timestamp: give milliseconds since "
			   "1970, from 0 to %lld",
			   (long long)ts, (long long)TS_MAX);
	return 0;
}

int args_column_why(struct bytes row, struct bytes family,
		    struct bytes qualifier)
{
	int r = args_row(row);

	if (r == 0)
		r = family_fits(family);
	if (r == 0)
		r = fits("qualifier", qualifier, QUALIFIER_LEN_MAX);
	return r;
}

static int value_check(struct bytes value)
{
	if (value.len > VALUE_LEN_MAX)
		return why(-EFBIG,
			   "the value is %zu bytes long, at most %u are "
			   "allowed: split it over several columns",
			   value.len, VALUE_LEN_MAX);
	return 0;
}

static bool op_is_known(uint8_t op)
{
	return kind_is_stored(op) || op == CHANGE_DELETE_ROW || op_adds(op);
}

/* Checks that a change sets only the fields that its op allows. */
static int change_shape(const struct change *c)
{
	bool wide = c->op == CHANGE_DELETE_ROW || kind_is_family_marker(c->op);

	if (c->op == CHANGE_DELETE_ROW && c->family.len)
		return why(-EINVAL, "a delete of a row names a family: leave "
				    "it out or delete the family");
	if (wide && c->qualifier.len)
		return why(
			-EINVAL,
			"a delete of a %s names a qualifier: leave it out or "
			"delete the column",
			c->op == CHANGE_DELETE_ROW ? "row" : "family");
	if (c->op == CHANGE_INCREMENT && c->value.len)
		return why(-EINVAL, "an increment brings a value: it takes a "
				    "number to add only");
	if (!op_writes(c->op) && c->value.len)
		return why(-EINVAL, "a delete brings a value: it takes none");
	if (!op_writes(c->op) && c->ttl_ms)
		return why(-EINVAL, "a delete brings a time to live: only a "
				    "value can have one");
	return 0;
}

static int range_check(int64_t min, int64_t max)
{
	if (min >= 0 && max >= 0 && (!max || max >= min))
		return 0;
	return why(-EINVAL,
		   "%lld..%lld is no time range: both ends are milliseconds "
		   "since 1970, the first is not after the second",
		   (long long)min, (long long)max);
}

static int change_check(const struct change *c)
{
	int r;

	if (!op_is_known(c->op))
		return why(-EINVAL, "a change has the unknown operation %u",
			   c->op);
	r = change_shape(c);
	if (r == 0 && c->op != CHANGE_DELETE_ROW)
		r = family_fits(c->family);
	if (r == 0)
		r = fits("qualifier", c->qualifier, QUALIFIER_LEN_MAX);
	if (r == 0 && c->ts != TS_AUTO && c->ts != TS_CLOCK)
		r = args_ts(c->ts);
	if (r == 0)
		r = range_check(c->ts_min, c->ts_max);
	if (r == 0)
		r = value_check(c->value);
	return r;
}

static int check_check(const struct check *k)
{
	int r;

	if (k->op >= CHECKS)
		return why(-EINVAL, "a condition has the unknown operator %u",
			   k->op);
	r = family_fits(k->family);
	if (r == 0)
		r = fits("qualifier", k->qualifier, QUALIFIER_LEN_MAX);
	if (r == 0 && (k->op == CHECK_NEWEST_TS || check_is_of_version(k->op)))
		r = args_ts(k->ts);
	if (r == 0 && k->op >= CHECK_EQUAL)
		r = value_check(k->value);
	return r;
}

int args_mutation(const struct mutation *m)
{
	size_t bytes = m->row.len;
	int r = args_row(m->row);

	if (r < 0)
		return r;
	if (m->nchanges == 0)
		return why(-EINVAL, "a mutation changes nothing: give it at "
				    "least one change");
	if (m->nchanges > MUTATION_CHANGES_MAX ||
	    m->nchecks > MUTATION_CHANGES_MAX)
		return why(-EINVAL,
			   "a mutation has %zu changes and %zu conditions, at "
			   "most %u are allowed: split it",
			   m->nchanges, m->nchecks, MUTATION_CHANGES_MAX);
	for (size_t i = 0; i < m->nchecks; i++) {
		r = check_check(&m->checks[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];

		r = change_check(c);
		if (r < 0)
			return r;
		/* The sum cannot overflow: lengths and count are limited. */
		bytes += c->family.len + c->qualifier.len + c->value.len;
	}
	if (bytes > MUTATION_BYTES_MAX)
		return why(-EFBIG,
			   "a mutation holds %zu bytes, at most %u are "
			   "allowed: split it",
			   bytes, MUTATION_BYTES_MAX);
	return 0;
}

static int bound_check(struct bytes bound, size_t max, const char *what)
{
	/* The successor of the longest key is one byte longer. */
	if (bound.len > max + 1)
		return why(-EINVAL,
			   "a bound of a scan's %s is %zu bytes long, a key "
			   "has at most %zu",
			   what, bound.len, max);
	return 0;
}

static int scan_bounds(const struct scan_spec *spec)
{
	int r = bound_check(spec->row_start, ROW_LEN_MAX, "rows");

	if (r == 0)
		r = bound_check(spec->row_stop, ROW_LEN_MAX, "rows");
	if (r == 0)
		r = bound_check(spec->qual_start, QUALIFIER_LEN_MAX,
				"qualifiers");
	if (r == 0)
		r = bound_check(spec->qual_stop, QUALIFIER_LEN_MAX,
				"qualifiers");
	return r;
}

int args_scan(const struct scan_spec *spec)
{
	int r;

	if (spec->granularity > SCAN_CELLS)
		return why(-EINVAL, "a scan has the unknown granularity %u",
			   spec->granularity);
	r = scan_bounds(spec);
	if (r < 0)
		return r;
	r = range_check(spec->ts_min, spec->ts_max);
	if (r < 0)
		return r;
	if (spec->ncolumns > SCAN_COLUMNS_MAX)
		return why(-EINVAL,
			   "a scan names %zu columns, at most %u are allowed",
			   spec->ncolumns, SCAN_COLUMNS_MAX);
	if ((spec->filter || spec->family_limit || spec->family_offset) &&
	    spec->granularity < SCAN_COLUMNS)
		return why(-EINVAL,
			   "a scan of rows or families has a filter or "
			   "a limit in a family: it takes cells or "
			   "columns");
	if (spec->has_as_of && (spec->raw || spec->filter))
		return why(-EINVAL, "a scan as of a moment is neither raw nor "
				    "has it a filter");
	if (spec->has_as_of && (spec->as_of < 0 || spec->as_of > TS_MAX))
		return why(-EINVAL, "a moment is a timestamp from 0 on");
	for (size_t i = 0; i < spec->nfamily_ranges; i++) {
		r = range_check(spec->family_ranges[i].ts_min,
				spec->family_ranges[i].ts_max);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < spec->ncolumns; i++) {
		r = family_fits(spec->columns[i].family);
		if (r == 0 && !spec->columns[i].whole_family)
			r = fits("qualifier", spec->columns[i].qualifier,
				 QUALIFIER_LEN_MAX);
		if (r < 0)
			return r;
	}
	return 0;
}

int args_snapshot(struct bytes name)
{
	if (name.len == 0 || name.len > SNAPSHOT_NAME_MAX)
		return why(-EINVAL,
			   "a snapshot's name has %zu bytes: give it 1 to %d",
			   name.len, SNAPSHOT_NAME_MAX);
	if (memchr(name.data, '\0', name.len))
		return why(-EINVAL, "a snapshot's name holds a NUL byte");
	return 0;
}

#define FILE_NAME_MAX 255

int args_family(struct bytes name)
{
	size_t len = name.len;
	int r = family_name_check(name);

	if (r < 0)
		return r;
	len += name.data[0] == '-' ? 2 : 0;
	for (size_t i = 0; i < name.len; i++)
		len += name.data[i] == '%' ? 2 : 0;
	if (len <= FILE_NAME_MAX)
		return 0;
	return why(
		-ENAMETOOLONG,
		"the family name takes %zu bytes as the name of a file, where "
		"a %% and a - in front are three, at most %d are allowed",
		len, FILE_NAME_MAX);
}

int args_schema(const struct schema *s)
{
	if (s->mode & ~07777u)
		return why(-EINVAL, "0%o are no permission bits", s->mode);
	if (s->nfamilies > SCHEMA_FAMILIES_MAX)
		return why(-EINVAL,
			   "a table has %u families, at most %d are allowed",
			   s->nfamilies, SCHEMA_FAMILIES_MAX);
	for (uint32_t i = 0; i < s->nfamilies; i++) {
		const struct family_schema *f = &s->families[i];
		int r;

		if (!memchr(f->name, '\0', sizeof(f->name)))
			return why(-EINVAL, "a family name does not end");
		r = family_name_check(bytes_str(f->name));
		if (r == 0)
			r = family_attrs_check(&f->attrs);
		if (r < 0)
			return r;
		if (i && strcmp(s->families[i - 1].name, f->name) >= 0)
			return why(-EINVAL,
				   "the families %s and %s of a schema are out "
				   "of order",
				   s->families[i - 1].name, f->name);
	}
	return 0;
}
