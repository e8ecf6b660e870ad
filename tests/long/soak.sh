#!/usr/bin/env bash
# One mount under a mixed load for the minutes given (30): writers, listings,
# whole walks, deletes. Nothing may fail, memory and handles may not grow
# without end, and the store must be sound at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$PWD/build-asan
end=$((SECONDS + 60 * ${1:-30}))
dir=$(mktemp -d "${TMPDIR:-/tmp}/cellfs-soak.XXXXXX")
mnt=$dir/mnt
mkdir "$mnt"
"$build/fs/cellfs" "$dir/store" "$mnt" -f -o write_buffer=1M,cache=8M \
	2>"$dir/log" &
daemon=$!
stop() {
	kill "$daemon" 2>/dev/null || true
	wait "$daemon" || true
}
trap stop EXIT
until mountpoint -q "$mnt"; do
	kill -0 "$daemon"
	sleep 0.1
done

figure() {
	awk -v key="$1:" '$1 == key { print $2 }' "/proc/$daemon/status"
}

# One round of worker $1: 50 rows are written, read, and half of them removed.
round() {
	local w=$1 n=$2 r row

	for ((r = 0; r < 50; r++)); do
		row=$mnt/T$w/row$(((n * 7 + r * 13) % 400))
		mkdir -p "$row/f/q"
		echo "$w $n $r" >"$row/f:q"
		echo "more" >>"$row/f/q/latest"
		[ "$(head -n 1 "$row/f:q")" = "$w $n $r" ]
		[ $((r % 2)) -eq 0 ] || rm -r "$row"
	done
	[ "$(find "$mnt/T$w" -name .schema | wc -l)" -eq 1 ]
}

worker() {
	local n

	mkdir "$mnt/T$1"
	for ((n = 0; SECONDS < end; n++)); do
		round "$1" "$n"
	done
	echo "worker $1: $n rounds"
}

for w in 1 2 3 4; do
	worker "$w" &
	workers[w]=$!
done
sleep 20
before=$(figure VmRSS)
for w in 1 2 3 4; do
	wait "${workers[w]}"
done
after=$(figure VmRSS)
files=$(find "/proc/$daemon/fd" -mindepth 1 | wc -l)
echo "memory: $before kB after 20 s, $after kB at the end; $files files open"
[ "$after" -lt $((before * 3 + 100000)) ]
[ "$files" -lt 500 ]
kill "$daemon"
wait "$daemon"
trap - EXIT
[ ! -s "$dir/log" ] || {
	cat "$dir/log"
	exit 1
}
"$build/tools/cellctl" check "$dir/store"
rm -rf "$dir"
