#!/usr/bin/env bash
# Reverse timestamps: the key is SENSOR-(MAX - TIMESTAMP).
#
# The newest of a sensor then stands first, and is one seek away:
# .prefix/SENSOR-/.first/1.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-10000}
MAX=9999999999999

awk -v n="$SIZE" "$RANDOM_AWK"'
BEGIN {
	OFS = "\t"
	for (i = 0; i < n; i++)
		print "sensor" random(50), 1700000000000 + 1000 * i + random(9),
			sprintf("%.2f", random(4000) / 100)
}' >"$W/readings"

# In whatever order they come in.
sort -t "$(printf '\t')" -k 3,3 "$W/readings" | awk -F '\t' -v max=$MAX '{
	printf "%s-%013.0f\tm:value\t%s\t%s\n", $1, max - $2, $2, $3 }' \
	>"$T/.cells"

awk -F '\t' '{ newest[$1] = $3 } END {
	for (s in newest) print s, newest[s] }' "$W/readings" | sort >"$W/want"
cut -f 1 "$W/readings" | sort -u | while read -r sensor; do
	echo "$sensor $(cut -f 4 "$T/.prefix/$sensor-/.first/1/.cells")"
done >"$W/got"
same "the newest of each sensor" "$W/want" "$W/got"

# The ten newest; and those up to a moment, newest first.
grep -P '^sensor7\t' "$W/readings" | sort -k 2,2nr >"$W/sensor7"
head -n 10 "$W/sensor7" | cut -f 3 >"$W/want"
cut -f 4 "$T/.prefix/sensor7-/.first/10/.cells" >"$W/got"
same "the ten newest of one" "$W/want" "$W/got"

when=$((1700000000000 + 500 * SIZE))
awk -F '\t' -v when=$when '$2 <= when { print $3 }' "$W/sensor7" |
	sed -n 1,5p >"$W/want"
from=sensor7-$(printf %013d $((MAX - when)))
cut -f 4 "$T/.range/$from..sensor8/.first/5/.cells" >"$W/got"
same "the newest at a moment" "$W/want" "$W/got"

# Keys that ascend are read backwards as well: .last.
tail -n 1 "$W/sensor7" | cut -f 3 >"$W/want"
cut -f 4 "$T/.prefix/sensor7-/.last/1/.cells" >"$W/got"
same "the oldest" "$W/want" "$W/got"
