/*
 * Which part of a user's filter goes to the servers of HBase. That answers do
 * not change by it is shown by tests/hbase/cluster.
 */
#include <ctype.h>

#include "tests/unit/unit.h"
#include "store/hbase/filters/filter_part.h"

#define PACKAGE "org.apache.hadoop.hbase.filter."

/* The classes that a message names, in order, "Filter" and the like left out. */
static void classes(struct bytes message, char *out)
{
	const char *p = (const char *)message.data, *end = p + message.len;
	size_t n = strlen(PACKAGE);

	*out = '\0';
	for (; p + n <= end; p++) {
		if (memcmp(p, PACKAGE, n) != 0)
			continue;
		if (*out)
			strcat(out, " ");
		for (p += n; p < end && isalpha(*p); p++)
			strncat(out, p, 1);
	}
}

static void sends(const char *text, const char *want)
{
	struct filter_list l = {0};
	struct filter *f = NULL;
	char got[1024];
	struct bytes message;

	assert_int_equal(filter_parse(bytes_str(text), &f), 0);
	assert_int_equal(filter_add_part(&l, f), 0);
	assert_int_equal(filter_message(&l, &message), 0);
	classes(message, got);
	if (strcmp(got, want) != 0)
		fail_msg("%s: sends '%s', not '%s'", text, got, want);
	filter_list_free(&l);
	filter_free(f);
}

TEST(comparisons_go_to_the_servers)
{
	sends("ValueFilter(=,'binary:v')", "ValueFilter BinaryComparator");
	sends("RowFilter(<,'binaryprefix:v')",
	      "RowFilter BinaryPrefixComparator");
	sends("FamilyFilter(!=,'binary:v')", "FamilyFilter BinaryComparator");
	sends("TimestampsFilter(1,2)", "TimestampsFilter");
	sends("ColumnValueFilter('f','q',>=,'binary:v')",
	      "ColumnValueFilter BinaryComparator");
	sends("PrefixFilter('r')", "RowFilter BinaryPrefixComparator");
	sends("QualifierFilter(=,'binary:q') AND ValueFilter(=,'binary:v')",
	      "FilterList QualifierFilter BinaryComparator ValueFilter "
	      "BinaryComparator");
	sends("QualifierFilter(=,'binary:q') OR ValueFilter(=,'binary:v')",
	      "FilterList QualifierFilter BinaryComparator ValueFilter "
	      "BinaryComparator");
}

TEST(what_would_jump_past_markers_is_a_comparison)
{
	sends("ColumnPrefixFilter('c')",
	      "QualifierFilter BinaryPrefixComparator");
	sends("MultipleColumnPrefixFilter('c','d')",
	      "FilterList QualifierFilter BinaryPrefixComparator "
	      "QualifierFilter BinaryPrefixComparator");
	sends("ColumnRangeFilter('a',true,'b',false)",
	      "FilterList QualifierFilter BinaryComparator QualifierFilter "
	      "BinaryComparator");
	sends("ColumnRangeFilter('',true,'',false)", "");
}

TEST(what_hbase_may_judge_otherwise_stays_here)
{
	sends("ValueFilter(=,'substring:Abc')",
	      "ValueFilter SubstringComparator");
	sends("ValueFilter(!=,'substring:abc')", "");
	sends("ValueFilter(=,'substring:\xc3\xa9')", "");
	sends("ValueFilter(=,'regexstring:a+')", "");
	/* An OR with a part that is not sent takes what no other part takes. */
	sends("ValueFilter(=,'binary:v') OR ValueFilter(=,'regexstring:a')",
	      "");
	/* An AND has less to reject. */
	sends("ValueFilter(=,'regexstring:a') AND RowFilter(=,'binary:r')",
	      "FilterList RowFilter BinaryComparator");
}

TEST(what_counts_cells_is_shown_all_it_counts)
{
	sends("ColumnPaginationFilter(1,0)", "");
	sends("ColumnPaginationFilter(1,0) AND ValueFilter(=,'binary:v')", "");
	sends("ValueFilter(=,'binary:v') AND ColumnPaginationFilter(1,0)",
	      "ValueFilter BinaryComparator");
	sends("PageFilter(2) AND RowFilter(=,'binary:r')", "");
	sends("ColumnPaginationFilter(1,0) OR ValueFilter(=,'binary:v')", "");
	sends("SKIP ValueFilter(=,'binary:v')", "");
	sends("DependentColumnFilter('f','q') AND ValueFilter(=,'binary:v')",
	      "");
	/* It may end the scan at a row that the servers would leave out. */
	sends("RowFilter(=,'binary:r') AND WHILE ValueFilter(=,'binary:v')",
	      "");
	sends("WHILE RowFilter(=,'binary:r')", "");
}

TEST(rows_and_first_cells_may_be_chosen_twice)
{
	sends("SingleColumnValueFilter('f','q',=,'binary:v')",
	      "SingleColumnValueFilter BinaryComparator");
	/* Here it takes the column away, which it needs to see. */
	sends("SingleColumnValueExcludeFilter('f','q',=,'binary:v')",
	      "SingleColumnValueFilter BinaryComparator");
	sends("SingleColumnValueFilter('f','q',=,'substring:v')", "");
	sends("FirstKeyOnlyFilter()", "FirstKeyOnlyFilter");
	sends("KeyOnlyFilter() AND FirstKeyOnlyFilter()", "FirstKeyOnlyFilter");
	sends("QualifierFilter(=,'binary:q') AND FirstKeyOnlyFilter()",
	      "FilterList QualifierFilter BinaryComparator "
	      "FirstKeyOnlyFilter");
	/* More is let through than it sees here: another cell may be first. */
	sends("ValueFilter(=,'substring:v') AND FirstKeyOnlyFilter()",
	      "ValueFilter SubstringComparator");
	/* And what is behind it would take the column from it. */
	sends("SingleColumnValueFilter('f','q',=,'binary:v') AND "
	      "ValueFilter(=,'binary:w')",
	      "SingleColumnValueFilter BinaryComparator");
}
