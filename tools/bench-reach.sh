#!/usr/bin/env bash
# What a large table costs who asks little of it, and what a stream of cells is worth.
#
# usage: bench-reach.sh BUILD DIR [ROWS...]	(default 100000 1000000 10000000;
#	the first at least 6000)
#
# Loads tables of so many rows of one cell, 30 rows a prefix, into a store in DIR,
# compacts and mounts it. A line for each way to ask: microseconds, the median of
# 300 calls, by table; the first is stat(2) of a name that the kernel keeps, to
# compare with. A line more has the first entry of a directory of 30 in a filesystem that
# does nothing else (mounts/null.c): what FUSE itself takes. Then the streams, in cells a
# second: .cells read and written, beside the engine's own scan and its writes of 1,000
# cells (cellfs-bench), and beside reading the same values as files.
set -euo pipefail

if [ $# -lt 2 ]; then
	sed -n '2,14s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
build=$1 dir=$2
shift 2
[ $# -gt 0 ] || set -- 100000 1000000 10000000
store=$dir/store mount=$dir/mnt null=$dir/null
mkdir -p "$mount" "$null"
# What is streamed is kept in memory, so that no disk is waited for.
text=/dev/shm/bench-reach.$$
trap 'fusermount3 -u "$mount" 2>/dev/null || true
	fusermount3 -u "$null" 2>/dev/null || true
	rm -rf "$store" "$dir/cells" "$dir/json" "$text"' EXIT

for rows; do
	"$build/tools/cellctl" create "$store" "t$rows" "{NAME => 'f'}"
	awk -v rows="$rows" 'BEGIN {
		for (i = 0; i < rows; i++)
			printf "%07d-%02d\tf:q\t1700000000000\tvalue %d\n", i / 30,
				i % 30, i
	}' | "$build/tools/cellctl" import "$store" "t$rows" >"$dir/cells"
	"$build/tools/cellctl" compact "$store" "t$rows"
done
"$build/tools/cellctl" create "$store" in "{NAME => 'f'}"
"$build/fs/cellfs" "$store" "$mount"

# median PATH WORKLOAD: of 300 calls, us.
median() {
	"$build/tools/mount-calls" "$1" same 300 "$2" | sed 's/.*"p50": \([0-9.]*\).*/\1/'
}

# line NAME WORKLOAD BELOW: of each table.
line() {
	local name=$1 rows us

	printf '%-28s' "$name"
	for rows in "${sizes[@]}"; do
		us=$(median "$mount/t$rows/$3" "$2")
		printf ' %10s' "$us"
	done
	echo
}

sizes=("$@")
printf '%-28s' 'us'
printf ' %10s' "${sizes[@]}"
echo
line 'stat of a row, kept' stat 0000100-00
line 'first entry of the table' first ''
line '.prefix of 30 rows' list-each .prefix/0000100-
line '.last/30' list-each .last/30
line '.after/K/.first/30' list-each .after/0000100/.first/30
"$build/tools/mount-null" "$null"
"$build/tools/mount-calls" "$null" rows 30 mkdirs >"$dir/json"
printf '%-28s %10s\n' 'null, first entry of 30' "$(median "$null" first)"
printf '%-28s %10s\n' 'null, 30 entries' "$(median "$null" list-each)"

# rate NAME CELLS COMMAND...: a line of cells a second. Ends all if that fails.
rate() {
	local name=$1 cells=$2 began ended

	shift 2
	began=$(date +%s%N)
	"$@"
	ended=$(date +%s%N)
	printf '%-28s %10d\n' "$name" $((cells * 1000000000 / (ended - began)))
}

# engine WORKLOAD: the same line of cellfs-bench.
engine() {
	"$build/tools/cellfs-bench" --engines cellfs --only "$1" --cells 1000000 \
		--dir "$dir" --json "$dir/json" >/dev/null
	printf '%-28s %10d\n' "engine, $1" \
		"$(jq '.workloads[0].engines.cellfs.median | floor' "$dir/json")"
}

read_files() {
	cat "$mount/t${sizes[0]}"/.prefix/00001/*/f:q >"$dir/cells"
}

write_files() {
	"$build/tools/mount-calls" "$mount/in" rows 3000 mkdirs >"$dir/json"
	"$build/tools/mount-calls" "$mount/in" rows 3000 create >"$dir/json"
}

read_cells() {
	cat "$mount/t${sizes[0]}/.cells" >"$text"
}

write_cells() {
	cat "$text" >"$mount/in/.cells"
}

echo
echo "cells a second, ${sizes[0]} rows"
rate '.cells read' "${sizes[0]}" read_cells
rate 'files read' 3000 read_files
engine scan-settled
rate '.cells written' "${sizes[0]}" write_cells
rate 'files written' 3000 write_files
engine fillseq1000
echo "bytes of .cells for each: $(($(stat -c %s "$text") / sizes[0]))"
