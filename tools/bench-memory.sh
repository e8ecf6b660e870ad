#!/usr/bin/env bash
# Does a store keep to the memory that it was given?
#
# usage: bench-memory.sh CELLCTL DIR [CELLS]	(default 2 million)
#
# Loads so many cells in random order and reads them back, and reads beside a
# thread that overwrites, with write buffers and block caches of several sizes.
# One line each, in MiB: write buffer and cache as configured; what indexes and
# filters take and what a process has besides, as store/README.md says; the sum;
# the most anonymous memory that the process was seen with, and how much that
# is over the sum (below it with a minus). Pages of mapped table files, which
# are the kernel's to take back, are not counted: the last column shows them.
set -euo pipefail

if [ $# -lt 2 ]; then
	sed -n '2,13s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
cellctl=$1 dir=$2 cells=${3:-2000000}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The most of a field of /proc/PID/status that any child of $1 has, KiB.
watch() {
	local pid=$1 child name value anon=0 file=0

	while kill -0 "$pid" 2>/dev/null; do
		for child in $(pgrep -P "$pid" || true); do
			while read -r name value _; do
				case $name in
				RssAnon:) [ "$value" -le "$anon" ] || anon=$value ;;
				RssFile:) [ "$value" -le "$file" ] || file=$value ;;
				esac
			done 2>/dev/null <"/proc/$child/status" || true
		done
		sleep 0.02
	done
	echo "$anon $file"
}

printf '%-13s %7s %7s %7s %7s %7s %7s %7s %7s\n' \
	workload buffer cache index besides sum peak over mapped
for sizes in '8 8' '32 32' '64 64' '16 128' '128 16'; do
	read -r buffer cache <<<"$sizes"
	for workload in fillrandom read-writing; do
		"$cellctl" bench --dir "$dir" --cells "$cells" --runs 1 \
			--seconds 5 --buffer "$buffer" --cache "$cache" \
			--engines cellfs --only "$workload" >"$log" 2>&1 &
		read -r anon file <<<"$(watch $!)"
		wait $! || {
			cat "$log" >&2
			exit 1
		}
		# 115 bytes a cell on disk, and twice that while files are
		# merged; 170 bytes a block of 16 KiB, 10 bits a row and file.
		awk -v w="$workload" -v b="$buffer" -v c="$cache" \
			-v n="$cells" -v anon="$anon" -v file="$file" 'BEGIN {
			index_ = n * 2 * (115 / 16384 * 170 + 1.25) / 1048576
			besides = 24 + b / 4
			sum = b + c + index_ + besides
			printf "%-13s %7d %7d %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f\n",
				w, b, c, index_, besides, sum, anon / 1024,
				anon / 1024 - sum, file / 1024
		}'
	done
done
