/*
 * Can a table be shown as it was at a moment?
 *
 * HBase shows it by a range of time, in which later puts and, where a family
 * keeps deleted cells, later deletes do not count. What its compactions took
 * before is silently missing there, so each of this must hold of a family:
 *
 *	keep_deleted yes	or deletes took what they hid
 *	no ttl			or what expired since is gone
 *	kept since then		keep_deleted and versions may have been changed; it
 *				is noted by who changes them here (descriptor.h)
 *	fewer puts a column	than `versions`, hidden ones among them: a
 *	are stored		compaction takes none before it has kept as many
 *
 * The last is counted in the rows that are asked for.
 */
#include <errno.h>

#include "store/hbase/backend/inside.h"
#include "store/hbase/backend/scan_request.h"
#include "store/hbase/calls/table_scan.h"
#include "store/hbase/filters/filter_message.h"
#include "store/hbase/master/admin.h"

static int check_family(struct table *t, const struct family_schema *f,
			int64_t when)
{
	int64_t since;
	int r;

	if (f->attrs.keep_deleted != KEEP_DELETED_YES)
		return why(-EOPNOTSUPP,
			   "HBase shows the past only where deleted cells are "
			   "kept: family %s has not keep_deleted yes",
			   f->name);
	if (f->attrs.ttl_ms != TTL_FOREVER)
		return why(-ENODATA,
			   "family %s has a ttl: what expired since then may "
			   "be gone",
			   f->name);
	r = admin_kept_since(cluster_of(t), name_of(t), bytes_str(f->name),
			     &since);
	if (r == 0)
		return why(-EOPNOTSUPP,
			   "it is not known since when family %s keeps deleted "
			   "cells: write its .schema here, and it is noted",
			   f->name);
	if (r > 0 && when < since)
		return why(-ENODATA,
			   "family %s keeps deleted cells, or so many "
			   "versions, since %lld: what was gone then is not "
			   "known",
			   f->name, (long long)since);
	return r < 0 ? r : 0;
}

static bool is_asked(const struct scan_spec *spec, struct bytes family)
{
	for (size_t i = 0; i < spec->ncolumns; i++)
		if (bytes_eq(spec->columns[i].family, family))
			return true;
	return !spec->ncolumns;
}

/* Is the column one that the scan may show? */
static bool is_in(const struct scan_spec *spec, const struct cell *c)
{
	int low = bytes_cmp(c->qualifier, spec->qual_start);
	int high = bytes_cmp(c->qualifier, spec->qual_stop);

	if (spec->has_qual_start &&
	    (low < 0 || (low == 0 && spec->qual_start_exclusive)))
		return false;
	if (spec->has_qual_stop &&
	    (high > 0 || (high == 0 && !spec->qual_stop_inclusive)))
		return false;
	for (size_t i = 0; i < spec->ncolumns; i++) {
		const struct column_name *n = &spec->columns[i];

		if (bytes_eq(n->family, c->family) &&
		    (n->whole_family || bytes_eq(n->qualifier, c->qualifier)))
			return true;
	}
	return !spec->ncolumns;
}

/* May a compaction have taken a version of what the scan shows? */
static int count_puts(struct table *t, const struct schema *s,
		      const struct scan_spec *spec, struct table_scan *scan)
{
	struct cell_name column = {.row = {0}};
	uint32_t puts = 0;
	struct cell c;
	int r;

	while ((r = table_scan_next(scan, &c)) > 0) {
		int at = schema_find(s, c.family);

		if (c.kind != CELL_PUT || at < 0 || !is_in(spec, &c))
			continue;
		r = 0;
		if (cell_name_is(&column, &c))
			puts++;
		else if (cell_name_set(&column, &c) == 0)
			puts = 1;
		else
			r = why(-ENOMEM, "out of memory for a scan");
		if (r == 0 && puts >= s->families[at].attrs.versions)
			r = why(-ENODATA,
				"a column of family %s of table %s has as many "
				"versions as are kept: older ones may be gone",
				s->families[at].name, table_of(t)->name);
		if (r < 0)
			break;
	}
	cell_name_free(&column);
	return r;
}

static int check_versions(struct table *t, const struct schema *s,
			  const struct scan_spec *spec)
{
	struct range_scan_options o = {
		.cluster = cluster_of(t),
		.table = name_of(t),
	};
	struct filter_list filters = {0};
	struct table_scan *scan = NULL;
	int r;

	proto_init(&pb_scan, &o.scan);
	filter_add_keys(&filters, true);
	r = filter_message(&filters, &o.scan.filter);
	o.scan.attributes = scan_raw();
	o.scan.versions = INT32_MAX;
	scan_ask_rows(&o.scan, spec);
	if (r == 0)
		r = table_scan_new(&o, &scan);
	if (r == 0)
		r = count_puts(t, s, spec, scan);
	table_scan_free(scan);
	filter_list_free(&filters);
	return r;
}

int hbase_past(struct table *t, const struct scan_spec *spec)
{
	bool counts = false;
	struct schema s;
	int r;

	if (spec->nfamily_ranges ||
	    (spec->ts_max && spec->ts_max <= spec->as_of))
		return why(-EOPNOTSUPP, "HBase does not show the past of a "
					"range of time");
	r = hbase_table_schema(t, &s);
	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < s.nfamilies; i++) {
		if (!is_asked(spec, bytes_str(s.families[i].name)))
			continue;
		r = check_family(t, &s.families[i], spec->as_of);
		counts |= s.families[i].attrs.versions < INT32_MAX;
	}
	if (r == 0 && counts)
		r = check_versions(t, &s, spec);
	schema_free(&s);
	return r;
}
