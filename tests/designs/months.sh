#!/usr/bin/env bash
# Days as keys: a month is a range.
#
# The key is YYYYMMDD and a number. July 2008 is 20080700..20080800: the bounds
# need not exist, and no month needs to know how many days it has.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-10000}

awk -v n="$SIZE" "$RANDOM_AWK"'
BEGIN {
	for (i = 0; i < n; i++)
		printf "%04d%02d%02d-%05d\t%d\n", 2007 + random(3),
			1 + random(12), 1 + random(28), i, random(1000)
}' >"$W/sales"
awk -v OFS='\t' '{ print $1, "sale:amount", 1, $2 }' "$W/sales" >"$T/.cells"
sort "$W/sales" >"$W/sorted"

awk '$1 >= "20080700" && $1 < "20080800" { print $1 }' "$W/sorted" >"$W/want"
ls -U "$T/.range/20080700..20080800" >"$W/got"
same "a month" "$W/want" "$W/got"

for month in 01 02 03 04 05 06 07 08 09 10 11 12; do
	next=$(printf 2008%02d00 $((10#$month + 1)))
	cut -f 4 "$T/.range/2008${month}00..$next/.cells" |
		awk -v m="$month" '{ sum += $1 } END { print m, sum }'
done >"$W/got"
awk '$1 ~ /^2008/ { sum[substr($1, 5, 2)] += $2 }
END { for (m in sum) print m, sum[m] }' "$W/sales" | sort >"$W/want"
same "the sum of each month of a year" "$W/want" "$W/got"

awk '$1 >= "20080715" && $1 < "20080716" { print $2 }' "$W/sorted" >"$W/want"
cut -f 4 "$T/.prefix/20080715/.cells" >"$W/got"
same "a day" "$W/want" "$W/got"

awk '$1 >= "20090000" { print $2 }' "$W/sorted" >"$W/want"
cut -f 4 "$T/.range/2009../.cells" >"$W/got"
same "a year and all behind it" "$W/want" "$W/got"

tail -n 3 "$W/sorted" | sort -r | cut -f 1 >"$W/want"
ls -U "$T/.last/3" >"$W/got"
same "the last three days" "$W/want" "$W/got"
