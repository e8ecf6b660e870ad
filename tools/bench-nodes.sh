#!/usr/bin/env bash
# What the daemon keeps of the files that the kernel knows.
#
# usage: bench-nodes.sh BUILD DIR [CELLS]	(default 10 million)
#
# Loads so many cells into a store in DIR, ten versions a column and ten columns
# a row, mounts it, and has find(1) look at every file. Then the kernel drops what it
# knows, for which root is needed. One line a moment: the daemon's anonymous
# memory, in MiB, how many nodes it has, and bytes a node over the first line.
# The kernel takes about 1 KiB a file as well; what it has no room for it forgets.
set -euo pipefail

if [ $# -lt 2 ]; then
	sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
build=$1 dir=$2 cells=${3:-10000000}
store=$dir/store mount=$dir/mnt
mkdir -p "$mount"
trap 'fusermount3 -u "$mount" 2>/dev/null || true; rm -rf "$store"' EXIT

"$build/tools/cellctl" create "$store" t "{NAME => 'f', VERSIONS => 10}"
awk -v cells="$cells" 'BEGIN {
	for (i = 0; i < cells; i++)
		printf "row%07d\tf:c%d\t170000000000%d\tv\n", i / 100,
			i / 10 % 10, 9 - i % 10
}' | "$build/tools/cellctl" import "$store" t >/dev/null
"$build/tools/cellctl" compact "$store" t
"$build/fs/cellfs" "$store" "$mount"
daemon=$(awk '$1 == "pid" {print $2}' "$mount/.cellfs/stats")

# told NAME: a line, and the most nodes and memory that were seen.
first=
told() {
	local kib nodes

	kib=$(awk '/^RssAnon:/ {print $2}' "/proc/$daemon/status")
	nodes=$(awk '/^cellfs_nodes / {print $2}' "$mount/.cellfs/metrics")
	first=${first:-$kib}
	awk -v name="$1" -v kib="$kib" -v nodes="$nodes" -v first="$first" 'BEGIN {
		each = "-"
		if (nodes > 1000)
			each = sprintf("%.0f", (kib - first) * 1024 / nodes)
		printf "%-12s %8.1f %10d %8s\n", name, kib / 1024, nodes, each
	}'
}

printf '%-12s %8s %10s %8s\n' moment MiB nodes 'a node'
told before
find "$mount/t" -size +1000 &
while kill -0 $! 2>/dev/null; do
	sleep 10
	told find
done
told after
sync
echo 2 >/proc/sys/vm/drop_caches
sleep 10
told dropped
