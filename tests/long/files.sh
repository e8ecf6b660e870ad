#!/usr/bin/env bash
# tests/long/files.sh [STEPS]: one file used at random, by each of its names,
# and compared with memory (tests/mount/filetest.c), with four seeds at once.
# STEPS a name and seed: 20000 takes some minutes.
set -euo pipefail
steps=${1:-20000}
build=${BUILD:-$(dirname "$0")/../../build-release}
dir=$(mktemp -d)
mkdir "$dir/mnt"
trap 'fusermount3 -q -u "$dir/mnt" || :; rm -rf "$dir"' EXIT
"$build/fs/cellfs" "$dir/store" "$dir/mnt"
failed=0
run() {
	local seed=$1 row=$dir/mnt/T/R$1
	mkdir -p "$row/f/u" "$row/f/v"
	"$build/tests/filetest" --seed "$seed" --steps "$steps" --unlink "$row/f/u/5"
	"$build/tests/filetest" --seed "$seed" --steps "$steps" --unlink "$row/f:p"
	"$build/tests/filetest" --seed "$seed" --steps "$steps" "$row/f/v/latest"
}
pids=()
for seed in $(shuf -i 1-1000000 -n 4); do
	run "$seed" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || failed=1
done
exit $failed
