#!/usr/bin/env bash
# The store on other machines: compiled with warnings as errors for i686, aarch64
# and big-endian s390x, the unit programs run there (by qemu-user), and a store that
# one wrote is opened by all, who must read the same.
#
# For each machine a folder gets Debian's libraries of it, and nothing is installed
# beside those that compile and run: cross compilers, qemu-user-static, mmdebstrap.
# With musl the sources are compiled only: Debian has no libraries for it.
#
# usage: tests/long/portable.sh [ARCH...]	i386 arm64 s390x musl; all of them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
packages=(mmdebstrap qemu-user-static musl-tools gcc-i686-linux-gnu
	gcc-aarch64-linux-gnu gcc-s390x-linux-gnu)
libraries=libc6-dev,zlib1g-dev,libxxhash-dev,libpcre2-dev,libfuse3-dev,libcmocka-dev
work=$PWD/build-portable
# What is run on each: what reads and writes bytes, and the model over all of it.
# qemu keeps to no RLIMIT_AS, by which memtable's test takes memory away.
tests=(arena bytes record schema filter block bloom heads catalog sst_index sstable
	levels wal visibility merge compaction)

missing=()
for p in "${packages[@]}"; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
		missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
	as_root=()
	[ "$(id -u)" = 0 ] || as_root=(sudo)
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		"${missing[@]}"
fi
mkdir -p "$work"

# cross ARCH TRIPLET FAMILY ENDIAN QEMU: builds in $work/ARCH; $work/ARCH.run runs a
# program of it.
cross() {
	local arch=$1 triplet=$2 family=$3 endian=$4 qemu=$5
	local root=$work/root-$arch

	if [ ! -e "$root/usr/include/fuse3" ]; then
		rm -rf "$root"
		mmdebstrap --variant=extract --architectures="$arch" \
			--include="$libraries" "$(. /etc/os-release && echo "$VERSION_CODENAME")" \
			"$root" >"$work/root-$arch.log" 2>&1 || {
			tail "$work/root-$arch.log"
			return 1
		}
	fi
	printf '#!/bin/sh\nexec %s -L %s "$@"\n' "$qemu" "$root" >"$work/$arch.run"
	chmod +x "$work/$arch.run"
	cat >"$work/$arch.ini" <<-INI
		[binaries]
		c = ['$triplet-gcc', '--sysroot=$root']
		ar = '$triplet-ar'
		strip = '$triplet-strip'
		pkgconfig = 'pkg-config'
		exe_wrapper = '$work/$arch.run'
		[properties]
		sys_root = '$root'
		pkg_config_libdir = '$root/usr/lib/${triplet/i686/i386}/pkgconfig'
		[host_machine]
		system = 'linux'
		cpu_family = '$family'
		cpu = '$family'
		endian = '$endian'
	INI
	[ -e "$work/$arch/build.ninja" ] ||
		meson setup "$work/$arch" --cross-file "$work/$arch.ini" \
			-Dwerror=true -Dkerberos=disabled -Dtls=disabled \
			-Dtests=enabled >"$work/$arch.log"
	ninja -C "$work/$arch" fs/cellfs tools/cellctl tools/cellfs-bench \
		tests/model/model "${tests[@]/#/tests/test-}" >"$work/$arch.log" || {
		grep -E 'error|warning' -A 5 "$work/$arch.log"
		return 1
	}
	meson test -C "$work/$arch" --no-rebuild --timeout-multiplier 20 \
		"${tests[@]}" >"$work/$arch.log" 2>&1 || {
		tail -n 40 "$work/$arch.log"
		return 1
	}
	"$work/$arch.run" "$work/$arch/tests/model/model" --runs 3
}

# With musl's headers, each source by itself.
musl() {
	local file dir=$work/musl h bad=0

	mkdir -p "$dir"
	for h in linux asm-generic fuse3 zlib.h zconf.h xxhash.h xxh3.h pcre2.h cmocka.h; do
		[ ! -e "/usr/include/$h" ] || ln -sfn "/usr/include/$h" "$dir/$h"
	done
	for h in asm zconf.h; do
		[ ! -e "/usr/include/$(gcc -print-multiarch)/$h" ] ||
			ln -sfn "/usr/include/$(gcc -print-multiarch)/$h" "$dir/$h"
	done
	grep '#define CELLFS_VERSION "' include/cellfs.h >"$dir/cellfs-version.h"
	while read -r file; do
		musl-gcc -fsyntax-only -Werror -Wall -Wextra -Wshadow \
			-Wno-unused-parameter -Wstrict-prototypes -std=gnu17 \
			-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. \
			-DCORPUS='""' \
			-isystem "$dir" -isystem "$dir/fuse3" "$file" || bad=1
	done < <(git ls-files 'store/*.c' 'fs/*.c' 'tools/*.c' 'tests/unit/*.c' \
		'tests/model/*.c' 'tests/sim/*.c' |
		grep -vE 'transport/(gssapi|tls|openssl)|bench/on_|unit/os_calls')
	return $bad
}

# all_cells CELLCTL...: all that it says of the store $store.
all_cells() {
	local t

	for t in $("$@" tables "$store"); do
		"$@" describe "$store" "$t"
		"$@" export --raw "$store" "$t"
	done
	"$@" snapshot "$store"
}

[ $# -gt 0 ] || set -- musl i386 arm64 s390x
run=()
for arch; do
	echo "== $arch"
	case $arch in
	i386) cross i386 i686-linux-gnu x86 little qemu-i386-static ;;
	arm64) cross arm64 aarch64-linux-gnu aarch64 little qemu-aarch64-static ;;
	s390x) cross s390x s390x-linux-gnu s390x big qemu-s390x-static ;;
	musl)
		musl || exit 1
		continue
		;;
	*) echo "no machine $arch" >&2 && exit 2 ;;
	esac
	run+=("$arch")
done

echo "== a store of one is a store of all"
for golden in tests/golden/format-*.tar.gz; do
	rm -rf "$work/golden"
	mkdir "$work/golden"
	tar -C "$work/golden" --no-same-owner -xzf "$golden"
	store=$work/golden/store
	# Each in turn writes, and then all read.
	for writer in "${run[@]}"; do
		ctl=("$work/$writer.run" "$work/$writer/tools/cellctl")
		"${ctl[@]}" put "$store" articles "from-$writer" basic:title "$writer"
		"${ctl[@]}" flush "$store"
		"${ctl[@]}" compact "$store"
		[ "$("${ctl[@]}" check "$store")" = "$store: 0 faults" ]
		all_cells "${ctl[@]}" >"$work/said"
		for reader in "${run[@]}"; do
			all_cells "$work/$reader.run" "$work/$reader/tools/cellctl" |
				cmp "$work/said" -
		done
	done
done
echo "portable: ${run[*]}"
