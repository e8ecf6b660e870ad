#!/usr/bin/env bash
# The top URL of each site, without sorting: the timestamp is the count.
#
# Whenever a URL has been seen n times, its name is put into one column of the
# site's row with timestamp n. The newest version, the one with the greatest
# timestamp, is then the URL with the most views, and the versions are the
# podium.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-10000}

awk -v n="$SIZE" "$RANDOM_AWK"'
BEGIN {
	OFS = "\t"
	for (i = 0; i < n; i++)
		print "site" random(30), "/page/" random(random(60) + 1)
}' >"$W/views"

awk -F '\t' -v OFS='\t' '{ print $1, "top:url", ++seen[$0], $2 }' \
	"$W/views" >"$T/.cells"

# Who first had the most; at equal counts the last to get there.
awk -F '\t' '++seen[$0] >= most[$1] { most[$1] = seen[$0]; top[$1] = $2 }
END { for (site in top) print site, top[site], most[site] }' "$W/views" |
	sort >"$W/want"
for site in "$T"/site*; do
	read -r count < <(ls -U "$site/top/url")
	echo "${site##*/} $(cat "$site/top/url/latest") $count"
done | sort >"$W/got"
same "the top URL of each site and its count" "$W/want" "$W/got"

# The whole table is the answer, one line a site.
awk '{ print $2 }' "$W/want" >"$W/want2"
cut -f 4 "$T/.at/now/.cells" >"$W/got"
same "all of them in one read" "$W/want2" "$W/got"

# Which sites have a page with 25 views or more: the newest cell says so.
awk '$3 >= 25 { print $1 }' "$W/want" >"$W/want2"
ls -U "$T/.since/25" >"$W/got"
same "sites with a page of 25 views" "$W/want2" "$W/got"
