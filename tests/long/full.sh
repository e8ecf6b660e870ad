#!/usr/bin/env bash
# Fill, delete, kill -9, reopen, 200 times each on an ext4 of 40 MB and a tmpfs
# with 12 inodes: whoever deletes gets space back, and nothing is lost.
#
#	tests/long/full.sh [CYCLES [SEED]]	BUILD=build-release by default
#
# Needs root, to mount. A filesystem is gone when it ends.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cycles=${1:-200} seed=${2:-1}
cellfs=$(realpath "${BUILD:-build-release}")/fs/cellfs
dir=$(mktemp -d)

clean_up() {
	mountpoint -q "$dir/mnt" && fusermount3 -u -z "$dir/mnt"
	mountpoint -q "$dir/disk" && umount -l "$dir/disk"
	rm -rf "$dir"
}
trap clean_up EXIT

# on NAME MOUNT-ARGUMENT...
on() {
	echo "== $1, $cycles cycles"
	shift
	mount "$@" "$dir/disk"
	python3 tests/mount/full_cycles.py \
		"$cellfs" "$dir/disk/store" "$dir/mnt" "$cycles" "$seed"
	umount "$dir/disk"
}

mkdir "$dir/disk" "$dir/mnt"
truncate -s 40M "$dir/image"
mkfs.ext4 -q "$dir/image"
on "ext4 of 40 MB" -o loop "$dir/image"
on "tmpfs with 12 inodes" -t tmpfs -o size=64m,nr_inodes=12 none
