#!/usr/bin/env bash
# A client that wants the daemon's memory, against a build without sanitizers:
# hostile.sh BUILD [TIMES [CAP_MIB]]
set -euo pipefail
build=$(cd "$1" && pwd)
times=${2:-1} cap=${3:-128}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d)
daemon=

finish() {
	fusermount3 -u -z "$dir/mnt" 2>/dev/null || true
	[ -z "$daemon" ] || wait "$daemon" || true
	rm -rf "$dir"
}
trap finish EXIT

mkdir "$dir/mnt"
"$build/fs/cellfs" "$dir/store" "$dir/mnt" -f \
	-o "memory=${cap}M,cache=8M,write_buffer=8M" &
daemon=$!
for ((i = 0; i < 3000; i++)); do
	mountpoint -q "$dir/mnt" && break
	sleep 0.01
done
timeout 1800 "$here/hostile.py" "$daemon" "$dir/mnt" "$cap" "$times"
fusermount3 -u "$dir/mnt"
wait "$daemon"
daemon=
