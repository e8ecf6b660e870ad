# What the designs have in common; each sources it.
#
# A design is one way to lay out data in a wide-column store, as the schema
# chapter of HBase's book tells of them. Its script makes a table named after
# it in a mounted store, fills it with data made up the same way each time, asks
# its questions with ls, cat and grep, and compares each answer with one that
# awk and sort find in the data itself.
#
#	tests/designs/NAME.sh MOUNTPOINT
#
# It ends with 0 when all answers agree, and leaves the table to look at. $SIZE
# is how much data there is.

set -euo pipefail
export LC_ALL=C # names sort by their bytes, as keys do

name=$(basename "$0" .sh)
M=${1:?"usage: $0 MOUNTPOINT"}
T=$M/$name
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
mkdir "$T"

# For awk: random(n) is 0 .. n-1, the same row of numbers everywhere; and
# numbers of milliseconds are printed with all their digits.
# shellcheck disable=SC2034 # used by who sources this
RANDOM_AWK='
BEGIN {
	OFMT = CONVFMT = "%.0f"
}
function random(n)
{
	seed = (seed * 69069 + 12345) % 4294967296
	return int(seed / 65536) % n
}'

# same WHAT WANT GOT: two files hold the same.
same() {
	if [ ! -s "$2" ] || ! cmp -s "$2" "$3"; then
		echo "NOT ok: $1" >&2
		diff "$2" "$3" | sed -n 1,10p >&2
		exit 1
	fi
	echo "ok $1"
}

# equal WHAT WANT GOT: two words are the same.
equal() {
	if [ -z "$2" ] || [ "$2" != "$3" ]; then
		echo "NOT ok: $1: $3, not $2" >&2
		exit 1
	fi
	echo "ok $1"
}
