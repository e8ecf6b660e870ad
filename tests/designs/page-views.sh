#!/usr/bin/env bash
# Page views, counted per cookie and URL.
#
# A row is a visitor, by the cookie; the qualifier is the URL itself, the value
# a counter. Adding is atomic in the store: nobody reads before writing. Which
# pages a visitor saw is the listing of one family.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-5000}

awk -v n="$SIZE" "$RANDOM_AWK"'
BEGIN {
	OFS = "\t"
	for (i = 0; i < n; i++)
		print sprintf("cookie%03d", random(25)),
			"http://example.com/" (random(2) ? "shop" : "blog") \
			"/" random(12) "?q=100%&x=" random(2)
}' >"$W/views"

# Half of them as a stream, where '/' stands for itself and '%' is %25 ...
head -n $((SIZE / 2)) "$W/views" | awk -F '\t' -v OFS='\t' '{
	gsub(/%/, "%25"); print $1, "views:" $2, "", 1, "increment" }' \
	>"$T/.cells"
# ... then some one by one, through the counter of the column.
sed -n "$((SIZE / 2 + 1)),$((SIZE / 2 + 100))p" "$W/views" |
	while IFS=$'\t' read -r cookie url; do
		url=${url//%/%25}
		url=${url//\//%2F}
		mkdir -p "$T/$cookie/views/$url"
		echo 1 >"$T/$cookie/views/$url/counter"
	done
head -n $((SIZE / 2 + 100)) "$W/views" >"$W/counted"

sort "$W/counted" | uniq -c | awk -v OFS='\t' '{ print $2, $3, $1 }' |
	sort >"$W/want"
(cd "$T" && for url in cookie*/views/*; do
	echo "$url $(cat "$url/counter")"
done) | awk -v OFS='\t' '{
	split($1, part, "/")
	url = part[3]
	gsub(/%2F/, "/", url)
	gsub(/%25/, "%", url)
	print part[1], url, $2 }' | sort >"$W/got"
same "the views of each visitor and page" "$W/want" "$W/got"

# What one visitor saw in the shop: qualifiers by their prefix.
grep cookie007 "$W/counted" | cut -f 2 | grep /shop/ | sort -u >"$W/want"
ls -U "$T/cookie007/views/.prefix/http:%2F%2Fexample.com%2Fshop%2F" |
	sed 's/%2F/\//g; s/%25/%/g' >"$W/got"
same "the pages of one visitor in the shop" "$W/want" "$W/got"
