#!/usr/bin/env bash
# Quadtiles: places on a map, found by area.
#
# The world is a square cut into four, each of these into four, and so on; the
# key is the row of digits 0 to 3 that leads to a place's tile, and its number.
# What lies in a tile of any size is one prefix; a run of neighbouring tiles is
# one range; a rectangle is some of them.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-10000}
ZOOM=10 # 1024 x 1024 tiles

awk -v n="$SIZE" -v zoom=$ZOOM "$RANDOM_AWK"'
BEGIN {
	OFS = "\t"
	for (i = 0; i < n; i++) {
		x = random(1024)
		y = random(1024)
		key = ""
		for (half = 512; half >= 1; half /= 2)
			key = key (int(x / half) % 2 + 2 * (int(y / half) % 2))
		print x, y, sprintf("%s-%06d", key, i)
	}
}' >"$W/places"
awk -v OFS='\t' '{ print $3, "at:x", 1, $1; print $3, "at:y", 1, $2 }' \
	"$W/places" | sort -t "$(printf '\t')" -k 1,1 -k 2,2 >"$T/.cells"

# The tile 12 of the second zoom: x from 256, y from 512, 256 wide.
awk '$1 >= 256 && $1 < 512 && $2 >= 512 && $2 < 768 { print $3 }' \
	"$W/places" | sort >"$W/want"
ls -U "$T/.prefix/21" >"$W/got"
same "all places of a tile" "$W/want" "$W/got"

# Two tiles that follow each other are one range: the upper half of 21.
awk '$1 >= 256 && $1 < 512 && $2 >= 512 && $2 < 640 { print $3 }' \
	"$W/places" | sort >"$W/want"
ls -U "$T/.range/210..212" >"$W/got"
same "two tiles as one range" "$W/want" "$W/got"

# A rectangle: the tiles of zoom 5, 32 wide, that it touches, each a prefix;
# places at its edge are told apart by their coordinates.
x1=300 x2=420 y1=500 y2=560
awk -v x1=$x1 -v x2=$x2 -v y1=$y1 -v y2=$y2 '
	$1 >= x1 && $1 < x2 && $2 >= y1 && $2 < y2 { print $3 }' \
	"$W/places" | sort >"$W/want"
for ((y = y1 / 32 * 32; y < y2; y += 32)); do
	for ((x = x1 / 32 * 32; x < x2; x += 32)); do
		tile=
		for ((half = 512; half >= 32; half /= 2)); do
			tile+=$((x / half % 2 + 2 * (y / half % 2)))
		done
		cut -f 1,4 "$T/.prefix/$tile/.cells"
	done
done | paste - - | awk -v x1=$x1 -v x2=$x2 -v y1=$y1 -v y2=$y2 '
	$2 >= x1 && $2 < x2 && $4 >= y1 && $4 < y2 { print $1 }' |
	sort >"$W/got"
same "the places of a rectangle" "$W/want" "$W/got"
