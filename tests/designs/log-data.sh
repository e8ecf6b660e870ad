#!/usr/bin/env bash
# Log data: the key is HOST-EVENT-TIMESTAMP.
#
# Not the timestamp first, or all writes meet at one end of the table. What is
# asked for together stands together: the events of one kind of one host, in
# the order of time, are one prefix.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-10000}

awk -v n="$SIZE" "$RANDOM_AWK"'
BEGIN {
	OFS = "\t"
	split("login logout upload error", event, " ")
	for (i = 0; i < n; i++)
		print "web" random(20), event[1 + random(4)],
			1700000000000 + 137 * i, "message " i
}' >"$W/log"

awk -v OFS='\t' -F '\t' '{
	print $1 "-" $2 "-" $3, "log:text", $3, $4 }' "$W/log" >"$T/.cells"

# The errors of one host.
awk -F '\t' '$1 == "web7" && $2 == "error" { print $1 "-" $2 "-" $3 }' \
	"$W/log" | sort >"$W/want"
ls -U "$T/.prefix/web7-error-" >"$W/got"
same "the keys of a prefix" "$W/want" "$W/got"

awk -F '\t' '$1 == "web7" && $2 == "error" { print $4 }' "$W/log" >"$W/want"
cut -f 4 "$T/.prefix/web7-error-/.cells" >"$W/got"
same "their messages, oldest first" "$W/want" "$W/got"

# A stretch of time of it.
from=$((1700000000000 + 137 * SIZE / 4))
to=$((1700000000000 + 137 * SIZE / 2))
awk -F '\t' -v from=$from -v to=$to '
	$1 == "web7" && $2 == "error" && $3 >= from && $3 < to { print $4 }' \
	"$W/log" >"$W/want"
range=web7-error-$from..web7-error-$to
cut -f 4 "$T/.range/$range/.cells" >"$W/got"
same "a stretch of time" "$W/want" "$W/got"

# One value a file: grep sees it as any tree.
pattern="message $((SIZE / 2))\$"
grep "$pattern" "$W/log" | awk -F '\t' '{ print $1 "-" $2 "-" $3 }' >"$W/want"
host=$(cut -d - -f 1,2 "$W/want")
grep -rlE "$pattern" "$T/.prefix/$host-/.at/now" |
	sed 's|.*/now/||; s|/.*||' >"$W/got"
same "grep through a prefix" "$W/want" "$W/got"
