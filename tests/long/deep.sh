#!/usr/bin/env bash
# What an operation costs where much is stored or deleted: the tables of
# store/BENCH.md, of 1,000 to 1,000,000 versions (or the sizes given), at the
# store's functions and through a mount. deep.c says what the lines are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${BUILD:-$PWD/build-release}
[ $# -gt 0 ] || set -- 1000 10000 100000 1000000
dir=$(mktemp -d "${TMPDIR:-/tmp}/cellfs-deep.XXXXXX")
mnt=$dir/mnt
mkdir "$mnt" "$dir/files"
daemon=
stop() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	[ -z "$daemon" ] || wait "$daemon" || true
	rm -rf "$dir"
}
trap stop EXIT
"$build/tests/deep" store "$dir/files" "$@"
"$build/fs/cellfs" "$dir/store" "$mnt" -f &
daemon=$!
until mountpoint -q "$mnt"; do
	kill -0 "$daemon"
	sleep 0.1
done
for n in "$@"; do
	mkdir -p "$mnt/t$n/r/f"
	sed 's/versions 3/versions 2000000/' "$mnt/t$n/.schema" > "$dir/schema"
	cat "$dir/schema" > "$mnt/t$n/.schema"
	"$build/tests/deep" mount "$mnt/t$n" "$daemon" "$n"
done
