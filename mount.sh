#!/usr/bin/env bash
# Builds cellfs, makes a store and mounts it: ./mount.sh --help
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
self=${BASH_SOURCE[0]}
build=${CELLFS_BUILD:-$here/build}
packages=(gcc libc6-dev meson ninja-build pkg-config libfuse3-dev fuse3
	zlib1g-dev libxxhash-dev libpcre2-dev libkrb5-dev libssl-dev
	libmicrohttpd-dev)

usage() {
	cat <<'EOF'
usage: ./mount.sh [--demo] [STORE [MOUNTPOINT]]
       ./mount.sh -u [MOUNTPOINT]

Installs what is missing (asking sudo for that and nothing else), builds
cellfs, creates the store if there is none, and mounts it for you.

  STORE        directory of the store (default ./cellfs-data), or a cluster of
               HBase by its masters: hbase://HOST[:PORT][,HOST...]
  MOUNTPOINT   where its tables appear (default ./mnt)
  --demo       first load a table: the Debian package index
  -u           unmount, with everything on disk when it returns
EOF
}

say() {
	printf '%s\n' "$*"
}

# A word as it can be typed.
quote() {
	printf '%q' "$1"
}

fail() {
	printf 'mount.sh: %s\n' "$1" >&2
	shift
	for line; do
		printf '  %s\n' "$line" >&2
	done
	exit 1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		fail "installing packages needs root, and there is no sudo" \
			"as root, run: apt-get install ${packages[*]}" \
			"then run ./mount.sh again as yourself"
	fi
}

install_missing() {
	local missing=() p

	command -v dpkg-query >/dev/null || {
		command -v meson >/dev/null && return
		fail "this is no Debian: install the packages yourself" \
			"a C compiler, meson, ninja, pkg-config, libfuse 3," \
			"zlib, xxhash, PCRE2; then run ./mount.sh again"
	}
	for p in "${packages[@]}"; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null |
			grep -q 'ok installed' || missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	say "Installing: ${missing[*]}"
	# An index that is old or absent is the usual reason to fail.
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -q "${missing[@]}" >/dev/null 2>&1 ||
		{
			as_root apt-get update -q >/dev/null &&
				as_root env DEBIAN_FRONTEND=noninteractive \
					apt-get install -y -q "${missing[@]}" >/dev/null
		} ||
		fail "apt-get could not install: ${missing[*]}" \
			"is there a network? try: sudo apt-get install ${missing[*]}"
}

build_cellfs() {
	local log=$build/mount-build.log

	mkdir -p "$build" 2>/dev/null ||
		fail "cannot write to $build" \
			"clone cellfs to a directory of yours, or set CELLFS_BUILD"
	if [ ! -f "$build/build.ninja" ]; then
		say "Building cellfs (once)"
		meson setup "$build" "$here" >"$log" 2>&1 || {
			tail -n 20 "$log" >&2
			fail "meson could not set up the build" "the whole log: $log"
		}
	fi
	ninja -C "$build" fs/cellfs tools/cellctl >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		fail "cellfs did not build" "the whole log: $log"
	}
}

# An absolute path without symbolic links; of a dead mount and of what is not
# there, too.
absolute() {
	realpath -m -- "$1" 2>/dev/null || realpath -m -s -- "$1"
}

# What is mounted at $1, an absolute path, or with $2 above it: the point, the
# type and the source, in mount_point, mount_type and mount_source, empty when
# there is none. Of several mounts on one point the last one is seen.
find_mount() {
	local want=$1 above=${2:-} line fields rest point

	mount_point='' mount_type='' mount_source=''
	while read -r line; do
		read -r -a fields <<<"${line%% - *}"
		# The kernel writes blanks and backslashes as octal escapes.
		printf -v point '%b' "${fields[4]//\\/\\0}"
		[ "$point" = "$want" ] ||
			{ [ -n "$above" ] && [[ $want == "${point%/}"/* ]]; } ||
			continue
		[ ${#point} -ge ${#mount_point} ] || continue
		read -r -a rest <<<"${line#* - }"
		mount_point=$point mount_type=${rest[0]}
		printf -v mount_source '%b' "${rest[1]//\\/\\0}"
	done </proc/self/mountinfo
}

# Whoever opens the mount of a daemon that was killed gets ENOTCONN; attributes
# may still be cached.
is_dead() {
	case $(LC_ALL=C && { : <"$1"; } 2>&1) in
	*'not connected'* | *'connection abort'*) ;;
	*) return 1 ;;
	esac
}

check_fuse() {
	[ -e /dev/fuse ] || as_root modprobe fuse 2>/dev/null || true
	[ -e /dev/fuse ] ||
		fail "this kernel offers no /dev/fuse" \
			"load the module: sudo modprobe fuse" \
			"in a container, start it with --device /dev/fuse --cap-add SYS_ADMIN"
	if [ ! -r /dev/fuse ] || [ ! -w /dev/fuse ]; then
		fail "/dev/fuse is closed to you" \
			"open it: sudo chmod 0666 /dev/fuse"
	fi
	command -v fusermount3 >/dev/null ||
		fail "fusermount3 is missing" "sudo apt-get install fuse3"
}

unmount() {
	local given=${1:-mnt} point

	point=$(absolute "$given")
	find_mount "$point" above
	if [ "$mount_type" != fuse.cellfs ]; then
		find_mount "$point"
		[ -z "$mount_type" ] ||
			fail "what is mounted at $given is not cellfs" \
				"what is mounted where: grep cellfs /proc/mounts"
		fail "nothing is mounted at $given" \
			"what is mounted where: grep cellfs /proc/mounts"
	fi
	[ "$mount_point" = "$point" ] || [ "$given" = . ] ||
		fail "$given is a directory of the mount $mount_point" \
			"to unmount all of it: $self -u $(quote "$mount_point")"
	point=$mount_point
	# A daemon that died leaves a mount that only a lazy unmount removes.
	if is_dead "$point"; then
		fusermount3 -u -z -- "$point" || fail "$point cannot be unmounted"
		say "Removed the dead mount at $point; the store is intact."
		return
	fi
	case $(pwd -P)/ in
	"$point"/*)
		fail "this shell stands in the mount $point, which keeps it busy" \
			"leave it first: cd / && $self -u $(quote "$point")"
		;;
	esac
	fusermount3 -u -- "$point" ||
		fail "$point is busy" \
			"who uses it: fuser -vm $point" \
			"leave the directory (cd) and close its files, then try again"
	say "Unmounted $point."
}

load_demo() {
	local store=$1

	if "$build/tools/cellctl" describe "$store" debian >/dev/null 2>&1; then
		say "The table debian is there already."
		return
	fi
	command -v apt-cache >/dev/null ||
		fail "the demo is Debian's package index, and there is no apt-cache"
	[ "$(apt-cache dumpavail 2>/dev/null | head -c 1 | wc -c)" = 1 ] || {
		say "Fetching the package index"
		as_root apt-get update -q >/dev/null ||
			fail "apt-get update failed" "is there a network?"
	}
	say "Loading the Debian package index into table debian"
	apt-cache dumpavail | LC_ALL=C awk -f "$here/tools/demo-packages.awk" |
		"$build/tools/cellctl" import --create "$store" debian || {
		# Half of it would count as all of it the next time.
		"$build/tools/cellctl" drop --force "$store" debian || true
		fail "the package index could not be loaded"
	}
}

show_what_to_type() {
	local point

	point=$(quote "$1")

	if [ -d "$1/debian" ]; then
		cat <<EOF
Try:
  ls $point/debian | head
  cat $point/debian/bash/i/Version/latest
  echo 'a shell' > $point/debian/bash/i:Note
  ls $point/debian/bash/i/Note/
  grep -r libfuse $point/debian/sshfs/d
EOF
	else
		cat <<EOF
Try:
  mkdir -p $point/articles/article1/basic
  echo hello > $point/articles/article1/basic:title
  echo 'hello again' > $point/articles/article1/basic:title
  ls -l $point/articles/article1/basic/title/
  cat $point/articles/article1/basic/title/latest
EOF
	fi
	say "What else there is: cat $point/.cellfs/help"
	say "To unmount: $self -u $point"
}

demo=false
if [ "${1:-}" = -u ] || [ "${1:-}" = --unmount ]; then
	shift
	[ $# -le 1 ] || fail "-u takes one mountpoint"
	unmount "$@"
	exit
fi
while [ $# -gt 0 ]; do
	case $1 in
	--demo) demo=true ;;
	-h | --help)
		usage
		exit
		;;
	--)
		shift
		break
		;;
	-*) fail "no option $1" "$(usage | head -n 2)" ;;
	*) break ;;
	esac
	shift
done
[ $# -le 2 ] || fail "too many arguments" "$(usage | head -n 2)"
store=${1:-cellfs-data}
point=${2:-mnt}

# Nothing may be made in a mount: a directory there is a table or a row.
check_outside() {
	find_mount "$2" above
	[ "$mount_type" != fuse.cellfs ] || [ "$mount_point" = "$2" ] ||
		fail "the $1 $2 lies in the cellfs mount $mount_point" \
			"name a directory outside: $self STORE MOUNTPOINT"
}

is_cluster() {
	[[ $store == hbase://* ]]
}

# Is it the source of the mount that was found?
is_mounted_store() {
	if is_cluster; then
		[ "$mount_source" = "$store" ]
	else
		[ "$mount_source" -ef "$store" ]
	fi
}

point_path=$(absolute "$point")
if ! is_cluster; then
	store_path=$(absolute "$store")
	check_outside store "$store_path"
	find_mount "$store_path"
	[ "$mount_type" != fuse.cellfs ] ||
		fail "$store is where a store is mounted, no store" \
			"that store is the directory $mount_source"
fi
check_outside mountpoint "$point_path"
find_mount "$point_path"
dead=false
if [ "$mount_type" = fuse.cellfs ] && is_dead "$point_path"; then
	dead=true
elif [ "$mount_type" = fuse.cellfs ]; then
	is_mounted_store ||
		fail "another store, $mount_source, is mounted at $point" \
			"unmount it: $self -u $(quote "$point")" \
			"or name another mountpoint: $self $(quote "$store") MOUNTPOINT"
	say "Already mounted at $point:"
	# All of it is read: find would end with an error, were it cut off.
	find "$point" -mindepth 1 -maxdepth 1 -printf '  table %f\n' |
		awk 'NR <= 10'
	! $demo || [ -d "$point/debian" ] ||
		fail "the demo is loaded into a store that is not mounted" \
			"$self -u $(quote "$point"), then $self --demo again"
	show_what_to_type "$point"
	exit
elif [ -n "$mount_type" ]; then
	fail "another filesystem ($mount_type) is mounted at $point" \
		"name another mountpoint: $self $(quote "$store") MOUNTPOINT"
fi

if ! $dead; then
	is_cluster || [ ! -e "$store" ] || [ -d "$store" ] ||
		fail "the store $store is not a directory" \
			"name a directory: $self STORE $(quote "$point")"
	[ ! -e "$point" ] || [ -d "$point" ] ||
		fail "the mountpoint $point is not a directory" \
			"name a directory: $self $(quote "$store") MOUNTPOINT"
	# A mount would hide what is there.
	[ -z "$(ls -A "$point" 2>/dev/null)" ] ||
		fail "$point is not empty" \
			"name another mountpoint: $self $(quote "$store") MOUNTPOINT"
fi

install_missing
build_cellfs
check_fuse
is_cluster || "$build/tools/cellctl" init "$store" ||
	fail "no store could be opened in $store" \
		"is it mounted elsewhere? see: grep cellfs /proc/mounts" \
		"or name a directory of yours: $self STORE $(quote "$point")"
$dead || mkdir -p -- "$point" ||
	fail "cannot make the mountpoint $point" \
		"name one in a directory of yours: $self $(quote "$store") MOUNTPOINT"
! $demo || load_demo "$store"
"$build/fs/cellfs" "$store" "$point" ||
	fail "cellfs could not mount $store at $point"
say "Mounted $store at $point."
show_what_to_type "$point"
