#!/usr/bin/env bash
# Kills the daemon under eight writers, for the minutes given (30). The seed of
# a failure is in its message; its store is kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$PWD/build-asan
end=$((SECONDS + 60 * ${1:-30}))
dir=$(mktemp -d "${TMPDIR:-/tmp}/cellfs-kill.XXXXXX")
mkdir "$dir/mnt"
options=("write_buffer=64M" "write_buffer=1M,cache=1M" "sync")
for ((n = 0; SECONDS < end; n++)); do
	rm -rf "$dir/store"
	"$build/tests/killtest" --cycles 12 \
		--option "${options[n % ${#options[@]}]}" \
		"$build/fs/cellfs" "$dir/store" "$dir/mnt" ||
		{
			echo "the store: $dir/store" >&2
			exit 1
		}
	"$build/tools/cellctl" check "$dir/store"
done
rm -rf "$dir/store"
rmdir "$dir/mnt" "$dir"
