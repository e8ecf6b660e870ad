#!/usr/bin/env bash
# How the cost of a call grows with the store.
#
# usage: bench-growth.sh BENCH DIR [CELLS...]	(default 1, 10 and 100 million)
#
# Loads so many cells in random order, merges them, and times puts, gets, seeks
# with the next 30 cells and listings of the first 30 rows, with a block cache
# of 2 GB at most. One line a size: microseconds a call, medians of three runs.
# 100 million cells want 40 GB of disk in DIR.
set -euo pipefail

if [ $# -lt 2 ]; then
	sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
bench=$1 dir=$2
shift 2
[ $# -gt 0 ] || set -- 1000000 10000000 100000000
json=$(mktemp)
trap 'rm -f "$json"' EXIT

printf '%12s %8s %8s %8s %8s\n' cells put get seek30 first30
for cells; do
	"$bench" --dir "$dir" --cells "$cells" --runs 3 --seconds 2 \
		--cache 2048 --engines cellfs --only put,get,seek30,first30 \
		--json "$json" >/dev/null
	# A seek counts the cells it reads.
	jq -r --arg cells "$cells" '
		def us(name; n): .workloads[] | select(.name == name) |
			n * 1e6 / .engines.cellfs.median * 100 | round / 100;
		[$cells, us("put"; 1), us("get"; 1), us("seek30"; 30),
			us("first30"; 1)] | @tsv' "$json" |
		awk '{printf "%12s %8s %8s %8s %8s\n", $1, $2, $3, $4, $5}'
done
