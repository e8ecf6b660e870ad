/*
 * The part of a user's filter that the servers judge.
 *
 * What they send is judged again beside the caller, by the whole filter
 * (store/filter/pick.h), so what they leave out must be what it would leave out,
 * and what it would not miss: a filter may count the cells that it is shown.
 * That holds for
 *
 *	comparisons	of row, family, qualifier, value or time, and ANDs and
 *			ORs of them: each looks at one cell, and at no other
 *	an AND		for those of its parts that come first and are
 *			comparisons: what is behind is not shown what they reject
 *	behind them	for a SingleColumnValueFilter, which rejects whole rows, and
 *			for a FirstKeyOnlyFilter: to ask either twice is to ask once
 *
 * and for nothing where a WHILE may end the scan at a row that the servers leave
 * out. What HBase judges otherwise is sent as something that lets more through:
 *
 *	substring:	HBase folds the case of all scripts: ASCII alone, and =
 *	ColumnPrefix	and others that jump to a column, in HBase past markers of
 *			families (hbase-differences.md): comparisons of qualifiers
 *	regexstring:	nothing
 */
#ifndef CELLFS_STORE_HBASE_FILTERS_FILTER_PART_H
#define CELLFS_STORE_HBASE_FILTERS_FILTER_PART_H

#include "store/filter/filter.h"
#include "store/hbase/filters/filter_message.h"

/* Adds it to @l, if there is such a part: 0 or -ENOMEM. */
int filter_add_part(struct filter_list *l, const struct filter *f);

#endif
