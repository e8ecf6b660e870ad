#!/usr/bin/env bash
# Does a store keep to the memory that it was given?
#
# usage: bench-memory.sh BENCH DIR [CELLS [SECONDS [WORKLOAD...]]]
#	(default: 2 million, 5, fillrandom and read-writing)
#
# Loads so many cells in random order and reads them back, and reads beside a
# thread that overwrites, with write buffers and block caches of several sizes.
# One line each, in MiB: write buffer and cache as configured; what indexes and
# filters take of as many bytes of table files as there were at most, and what a
# process has besides, as store/README.md says; the sum;
# the most anonymous memory that the process was seen with, and how much that
# is over the sum (below it with a minus). Pages of mapped table files, which
# are the kernel's to take back, are not counted: the last column shows them.
set -euo pipefail

if [ $# -lt 2 ]; then
	sed -n '2,15s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
bench=$1 dir=$2 cells=${3:-2000000} seconds=${4:-5}
workloads=${*:5}
workloads=${workloads:-fillrandom read-writing}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The most of two fields of /proc/PID/status that any child of $1 has, KiB, and
# the most bytes of table files.
watch() {
	local pid=$1 child name value anon=0 file=0 table=0

	while kill -0 "$pid" 2>/dev/null; do
		for child in $(pgrep -P "$pid" || true); do
			while read -r name value _; do
				case $name in
				RssAnon:) [ "$value" -le "$anon" ] || anon=$value ;;
				RssFile:) [ "$value" -le "$file" ] || file=$value ;;
				esac
			done 2>/dev/null <"/proc/$child/status" || true
		done
		value=$(find "$dir" -name '*.sst' -printf '%s\n' 2>/dev/null |
			awk '{ n += $1 } END { print n + 0 }')
		[ "$value" -le "$table" ] || table=$value
		sleep 0.02
	done
	echo "$anon $file $table"
}

printf '%-13s %7s %7s %7s %7s %7s %7s %7s %7s\n' \
	workload buffer cache index besides sum peak over mapped
for sizes in '8 8' '32 32' '64 64' '16 128' '128 16'; do
	read -r buffer cache <<<"$sizes"
	for workload in $workloads; do
		"$bench" --dir "$dir" --cells "$cells" --runs 1 \
			--seconds "$seconds" --buffer "$buffer" --cache "$cache" \
			--engines cellfs --only "$workload" >"$log" 2>&1 &
		read -r anon file table <<<"$(watch $!)"
		wait $! || {
			cat "$log" >&2
			exit 1
		}
		# 115 bytes a cell on disk; 170 bytes a block of 16 KiB, 10 bits
		# a column and, where each has a row to itself, a row.
		awk -v w="$workload" -v b="$buffer" -v c="$cache" \
			-v t="$table" -v anon="$anon" -v file="$file" 'BEGIN {
			index_ = t * (170 / 16384 + 2.5 / 115) / 1048576
			besides = 24 + b / 4
			sum = b + c + index_ + besides
			printf "%-13s %7d %7d %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f\n",
				w, b, c, index_, besides, sum, anon / 1024,
				anon / 1024 - sum, file / 1024
		}'
	done
done
