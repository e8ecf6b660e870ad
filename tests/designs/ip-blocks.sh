#!/usr/bin/env bash
# Blocks of IP addresses: whose block is an address in?
#
# The key is the last address of the block, in eight hexadecimal digits. The
# block of an address, if it is in one, is the first key at or after it:
# .range/ADDRESS../.first/1. One seek, whatever the sizes of the blocks.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-5000}

# Blocks of all sizes with gaps between them: first, last, owner.
awk -v n="$SIZE" "$RANDOM_AWK"'
BEGIN {
	at = 16777216
	step = int((4294967296 - at) / n)
	for (i = 0; i < n; i++) {
		first = at + random(int(step / 2))
		last = first + random(int(step / 2))
		printf "%.0f\t%.0f\towner%d\n", first, last, random(900)
		at += step
	}
}' >"$W/blocks"
awk '{ printf "%08X\tblock:first\t1\t%08X\n%08X\tblock:owner\t1\t%s\n",
	$2, $1, $2, $3 }' "$W/blocks" >"$T/.cells"

# Addresses: some at the edges, some anywhere.
awk "$RANDOM_AWK"'
NR % 100 == 7 { print $1; print $2; printf "%.0f\n%.0f\n", $1 - 1, $2 + 1 }
END { for (i = 0; i < 100; i++)
	printf "%.0f\n", random(65536) * 65536 + random(65536) }' \
	"$W/blocks" >"$W/addresses"

awk 'FILENAME ~ /blocks$/ { first[NR] = $1; last[NR] = $2; who[NR] = $3; n = NR }
FILENAME ~ /addresses$/ {
	owner = "nobody"
	for (i = 1; i <= n; i++)
		if ($1 >= first[i] && $1 <= last[i])
			owner = who[i]
	print owner
}' "$W/blocks" "$W/addresses" >"$W/want"

owner_of() {
	local first owner

	{
		IFS=$'\t' read -r _ _ _ first && IFS=$'\t' read -r _ _ _ owner
	} <"$T/.range/$1../.first/1/.cells" || first=none
	# It ends behind the address; does it begin before it?
	if [[ $first != none && ! $first > $1 ]]; then
		echo "$owner"
	else
		echo nobody
	fi
}

while read -r address; do
	owner_of "$(printf %08X "$address")"
done <"$W/addresses" >"$W/got"
same "the owner of each address" "$W/want" "$W/got"
equal "some are in no block" yes "$(grep -q nobody "$W/got" && echo yes)"

# Which blocks follow an address: .after, as a listing.
address=$(sed -n 50p "$W/blocks" | cut -f 2)
sed -n 51,55p "$W/blocks" | awk '{ printf "%08X\n", $2 }' >"$W/want"
ls -U "$T/.after/$(printf %08X "$address")/.first/5" >"$W/got"
same "the blocks behind one" "$W/want" "$W/got"
