#!/usr/bin/env bash
# Binary keys: a number as 8 bytes, highest first, and an MD5 as 16 bytes.
#
# Half as long as hexadecimal text or less, and numbers sort as numbers. In a
# name a byte that cannot stand there is %HH. Where a key is an argument of a
# view (.prefix/%00%00.../) and in .cells any byte may be written so; a name as
# ls prints it has one spelling only.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-4000}

# Ids of users, far apart; the value is the id in decimal.
awk -v n="$SIZE" "$RANDOM_AWK"'
function octets(x, s, i)
{
	s = ""
	for (i = 0; i < 8; i++) {
		s = sprintf("%%%02X", x % 256) s
		x = int(x / 256)
	}
	return s
}
BEGIN {
	for (i = 0; i < n; i++) {
		id = random(65536) * 65536 * 16 + random(65536) * 16 + i % 16
		if (!(id in seen))
			printf "%.0f\t%s\n", id, octets(id)
		seen[id] = 1
	}
}' >"$W/ids"
awk -v OFS='\t' '{ print $2, "id:decimal", 1, $1 }' "$W/ids" >"$T/.cells"

sort -n "$W/ids" | cut -f 1 >"$W/want"
cut -f 4 "$T/.cells" >"$W/got"
same "8 bytes sort as numbers" "$W/want" "$W/got"
find "$T" -name decimal -type d | wc -l >"$W/got"
wc -l <"$W/ids" >"$W/want"
same "each has a name in the tree" "$W/want" "$W/got"

sed -n '1~400p' "$W/ids" >"$W/some"
cut -f 1 "$W/some" >"$W/want"
while read -r _ key; do
	cat "$T/.prefix/$key/.at/now"/*/id/decimal
	echo
done <"$W/some" >"$W/got"
same "one is read by its key" "$W/want" "$W/got"

# All ids from A before B are a range.
a=$(sort -n "$W/ids" | sed -n $((SIZE / 4))p)
b=$(sort -n "$W/ids" | sed -n $((SIZE / 3))p)
awk -v a="${a%%[[:space:]]*}" -v b="${b%%[[:space:]]*}" '
	$1 >= a && $1 < b { print $1 }' "$W/ids" | sort -n >"$W/want"
cut -f 4 "$T/.range/${a##*[[:space:]]}..${b##*[[:space:]]}/.cells" >"$W/got"
same "a range of numbers" "$W/want" "$W/got"

# URLs by their MD5: keys of one length that spread evenly over the table.
for i in $(seq 100); do
	url="http://example.com/page/$i?lang=en"
	md5=$(printf %s "$url" | md5sum | cut -d ' ' -f 1)
	key=$(fold -w 2 <<<"${md5^^}" | sed 's/^/%/' | tr -d '\n')
	printf '%s\tpage:url\t1\t%s\n' "$key" "$url"
done >"$W/urls"
cat "$W/urls" >"$T/.cells"

sed -n '1~10p' "$W/urls" | cut -f 4 >"$W/want"
sed -n '1~10p' "$W/urls" | while IFS=$'\t' read -r key _; do
	cut -f 4 "$T/.prefix/$key/.cells"
done >"$W/got"
same "a page is read by the MD5 of its URL" "$W/want" "$W/got"

# The same through the tree: the name is what ls says.
key=$(sed -n 42p "$W/urls" | cut -f 1)
row=$(ls "$T/.prefix/$key")
equal "ls says the name of a key" \
	"$(sed -n 42p "$W/urls" | cut -f 4)" "$(cat "$T/$row/page:url")"
