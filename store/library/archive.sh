#!/bin/sh
# Makes a static library of one object, in which all symbols but those of the
# public header are local: a program may have a function of any name beside it.
# The tools are those of the machine that the library is for.
#
# usage: archive.sh OUT WHOLE_ARCHIVE ARCHIVE_OF_WHAT_IT_NEEDS OBJCOPY AR COMPILER...
set -eu
out=$1 whole=$2 needed=$3 objcopy=$4 ar=$5
shift 5
object=${out%.a}.o
rm -f "$out"
"$@" -r -nostdlib -o "$object" -Wl,--whole-archive "$whole" -Wl,--no-whole-archive \
	"$needed"
"$objcopy" --localize-hidden "$object"
"$ar" rcs "$out" "$object"
rm "$object"
