#!/usr/bin/env bash
# Tall against wide: one row with $SIZE columns, or $SIZE rows of one column.
#
# A row is changed as a whole and is found by one seek; rows are what grows
# without end. Both are read by pages, from the middle, or all at once. SIZE is
# 20,000 unless it is given; at 1,000,000 it takes a minute.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-20000}

timed() {
	local start=$EPOCHREALTIME end

	"$@"
	end=$EPOCHREALTIME
	printf '   %6d ms  %s\n' $(((${end/./} - ${start/./}) / 1000)) "$1"
}

awk -v n="$SIZE" 'BEGIN {
	for (i = 0; i < n; i++)
		printf "%07d\t%d\n", i, i * 7919 % 1000003 }' >"$W/data"

make_wide() {
	awk -v OFS='\t' '{ print "wide", "c:" $1, 1, $2 }' "$W/data" >"$T/.cells"
}
make_tall() {
	awk -v OFS='\t' '{ print "tall-" $1, "c:v", 1, $2 }' "$W/data" \
		>"$T/.cells"
}
timed make_wide
timed make_tall

cut -f 2 "$W/data" >"$W/want"
all_wide() {
	cut -f 4 "$T/wide/.cells" >"$W/got"
}
all_tall() {
	cut -f 4 "$T/.prefix/tall-/.cells" >"$W/got"
}
timed all_wide
same "all columns of the wide row" "$W/want" "$W/got"
timed all_tall
same "all rows of the tall table" "$W/want" "$W/got"

cut -f 1 "$W/data" >"$W/want"
list_wide() {
	ls -U "$T/wide/c" >"$W/got"
}
list_tall() {
	ls -U "$T/.prefix/tall-" | sed 's/tall-//' >"$W/got"
}
timed list_wide
same "the names of the columns" "$W/want" "$W/got"
timed list_tall
same "the keys of the rows" "$W/want" "$W/got"

# A page from the middle, of columns and of rows.
middle=$(printf %07d $((SIZE / 2)))
sed -n "$((SIZE / 2 + 2)),$((SIZE / 2 + 31))p" "$W/data" >"$W/want"
page_wide() {
	cut -f 2,4 "$T/wide/c/.after/$middle/.first/30/.cells" |
		sed 's/c://' >"$W/got"
}
page_tall() {
	cut -f 1,4 "$T/.range/tall-$middle..tall.$middle/.first/31/.cells" |
		sed '1d; s/tall-//' >"$W/got"
}
timed page_wide
same "30 columns from the middle" "$W/want" "$W/got"
timed page_tall
same "30 rows from the middle" "$W/want" "$W/got"

# One cell, changed and read; the wide row is still one row.
one_wide() {
	echo new >"$T/wide/c:$middle"
	cat "$T/wide/c/$middle/latest" >"$W/got"
}
one_tall() {
	echo new >"$T/tall-$middle/c:v"
	cat "$T/tall-$middle/c/v/latest" >"$W/got"
}
echo new >"$W/want"
timed one_wide
same "one column of the wide row" "$W/want" "$W/got"
timed one_tall
same "one row of the tall table" "$W/want" "$W/got"
equal "there is one wide row" wide "$(ls "$T/.prefix/w")"
