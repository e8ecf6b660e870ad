#!/bin/sh
# Makes a static library of one object, in which all symbols but those of the
# public header are local: a program may have a function of any name beside it.
#
# usage: archive.sh OUT WHOLE_ARCHIVE ARCHIVE_OF_WHAT_IT_NEEDS
set -eu
object=${1%.a}.o
rm -f "$1"
ld -r -o "$object" --whole-archive "$2" --no-whole-archive "$3"
objcopy --localize-hidden "$object"
ar rcs "$1" "$object"
rm "$object"
