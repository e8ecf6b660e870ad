#!/usr/bin/env bash
# The store on other machines, with another C library and another compiler: all of it
# compiled with warnings as errors for i686, aarch64, big-endian s390x, with musl and by
# clang, the unit programs and the model run there (aarch64 and s390x by qemu-user), and a store that one
# wrote is opened by all, who must read the same.
#
# For each machine a folder gets Debian's libraries of it, for musl what their sources
# make, and nothing is installed beside those that compile and run: cross compilers,
# qemu-user-static, mmdebstrap.
#
# usage: tests/long/portable.sh [ARCH...]	clang musl i386 arm64 s390x; all of them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
packages=(clang mmdebstrap qemu-user-static musl-tools cmake dpkg-dev
	gcc-i686-linux-gnu gcc-aarch64-linux-gnu gcc-s390x-linux-gnu)
libraries=libc6-dev,zlib1g-dev,libxxhash-dev,libpcre2-dev,libfuse3-dev,libcmocka-dev
# Of the release alone: nothing here needs what security updates mend, whose lists
# move while they are read.
mirror=http://deb.debian.org/debian
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
work=$PWD/build-portable
# Unit programs that say nothing of another machine: of the source, of names that a
# shared library of this one shows, of calls that are known of x86_64 and aarch64 only.
left_out='layering|limits|library_exports|sandbox'
# What an emulated machine cannot: qemu keeps to no RLIMIT_AS, by which memtable's takes
# memory away, and has signals, descriptors and calls of its own; and what would take
# hours there, since it tries all disks that a crash may leave, or each call that may
# fail. Those run elsewhere.
left_out_emulated='memtable|os|os_calls|bare|descriptors|supervisor|failing|[a-z]+_every|wal_[a-z]+'
left_out_emulated+='|visibility_random'

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

# debian_root ARCH: Debian's libraries of that machine, in $work/root-ARCH.
debian_root() {
	local root=$work/root-$1

	[ ! -e "$root/usr/include/fuse3" ] || return 0
	rm -rf "$root"
	mmdebstrap --variant=extract --architectures="$1" --include="$libraries" \
		"$release" "$root" "$mirror"
	# Links to shared libraries are into the folder, else static ones are taken.
	find "$root/usr/lib" -type l -lname '/*' -printf '%p %l\n' |
		while read -r link to; do
			ln -sfn "$root$to" "$link"
		done
}

# musl_root: the same libraries for musl, which Debian has as sources only, in
# $work/root-musl.
musl_root() {
	local root=$work/root-musl apt h
	local CFLAGS='-O2 -fPIC' CC="musl-gcc -isystem $root/kernel"

	[ ! -e "$root/done" ] || return 0
	rm -rf "$root"
	mkdir -p "$root"/{include,kernel,lib/pkgconfig,source,lists/partial}
	for h in linux asm-generic "$(gcc -print-multiarch)/asm"; do
		ln -s "/usr/include/$h" "$root/kernel/"
	done
	echo "deb-src $mirror $release main" >"$root/sources.list"
	apt=(-q -o "Dir::Etc::sourcelist=$root/sources.list" -o Dir::Etc::sourceparts=-
		-o "Dir::State::lists=$root/lists" -o Dir::Cache::pkgcache=
		-o Dir::Cache::srcpkgcache=)
	apt-get "${apt[@]}" update
	cd "$root/source"
	apt-get "${apt[@]}" source zlib xxhash pcre2 fuse3 cmocka
	export CC CFLAGS

	cd "$root/source"/zlib-*/
	./configure --static --prefix="$root"
	make -s install
	cd "$root/source"/xxhash-*/
	# shellcheck disable=SC2086 # words
	$CC $CFLAGS -c xxhash.c
	ar rcs "$root/lib/libxxhash.a" xxhash.o
	cp xxhash.h xxh3.h "$root/include"
	printf 'Name: xxhash\nDescription: hashes\nVersion: 0\nLibs: %s\nCflags: %s\n' \
		"-L$root/lib -lxxhash" "-I$root/include" >"$root/lib/pkgconfig/libxxhash.pc"
	cd "$root/source"/pcre2-*/
	./configure -q --host=x86_64-linux-musl --prefix="$root" --disable-shared \
		--disable-pcre2-8 --enable-pcre2-32
	make -s install-libLTLIBRARIES install-nodist_includeHEADERS \
		install-includeHEADERS install-pkgconfigDATA
	# Tests stand in for functions of a libfuse that is shared.
	cd "$root/source"/fuse3-*/
	meson setup b --prefix="$root" --libdir=lib -Dutils=false -Dexamples=false \
		-Dtests=false -Duseroot=false
	ninja -C b install
	cd "$root/source"/cmocka-*/
	cmake -B b -DCMAKE_INSTALL_PREFIX="$root" -DCMAKE_INSTALL_LIBDIR=lib \
		-DBUILD_SHARED_LIBS=OFF -DWITH_STATIC_LIB=ON -DWITH_EXAMPLES=OFF
	make -C b install
	mv "$root/lib/libcmocka-static.a" "$root/lib/libcmocka.a"
	rm "$root"/lib/libcmocka.so*
	touch "$root/done"
}

# build ARCH COMPILER TOOLS PKGCONFIG FAMILY ENDIAN RUN...: builds in $work/ARCH, and
# runs what is listed above there; $work/ARCH.run runs a program of it.
build() {
	local arch=$1 compiler=$2 tools=$3 pkgconfig=$4 family=$5 endian=$6

	shift 6
	printf '#!/bin/sh\nexec %s "$@"\n' "$*" >"$work/$arch.run"
	chmod +x "$work/$arch.run"
	# Without needs_exe_wrapper, meson takes i686 for this machine.
	cat >"$work/$arch.ini" <<-INI
		[binaries]
		c = $compiler
		ar = '${tools}ar'
		objcopy = '${tools}objcopy'
		strip = '${tools}strip'
		pkgconfig = 'pkg-config'
		exe_wrapper = '$work/$arch.run'
		[properties]
		needs_exe_wrapper = true
		sys_root = '$([[ $arch == @(musl|clang) ]] || echo "$work/root-$arch")'
		pkg_config_libdir = '$pkgconfig'
		[host_machine]
		system = 'linux'
		cpu_family = '$family'
		cpu = '$family'
		endian = '$endian'
	INI
	[ -e "$work/$arch/build.ninja" ] ||
		meson setup "$work/$arch" --cross-file "$work/$arch.ini" \
			-Dwerror=true -Dkerberos=disabled -Dtls=disabled \
			-Dhttp=disabled -Dtests=enabled >"$work/$arch.log"
	ninja -C "$work/$arch" >"$work/$arch.log" || {
		grep -E 'error|warning|multiple definition' -A 5 "$work/$arch.log"
		return 1
	}
	units=$(meson test -C "$work/$arch" --list --suite unit 2>/dev/null | sed -n 's,.* / ,,p' |
		grep -vxE "$left_out")
	[[ $arch != @(arm64|s390x) ]] || units=$(grep -vxE "$left_out_emulated" <<<"$units")
	# shellcheck disable=SC2086 # names
	meson test -C "$work/$arch" --no-rebuild --timeout-multiplier 20 $units \
		>"$work/$arch.log" 2>&1 || {
		tail -n 40 "$work/$arch.log"
		return 1
	}
	grep '^Ok:' "$work/$arch.log"
	"$work/$arch.run" "$work/$arch/tests/model/model" --runs 3
}

# cross ARCH TRIPLET FAMILY ENDIAN RUN...
cross() {
	local root=$work/root-$1

	(set -e; debian_root "$1") >"$root.log" 2>&1 || {
		tail "$root.log"
		return 1
	}
	build "$1" "['$2-gcc', '--sysroot=$root']" "$2-" \
		"$root/usr/lib/${2/i686/i386}/pkgconfig" "${@:3}"
}

musl() {
	local root=$work/root-musl

	(set -e; musl_root) >"$root.log" 2>&1 || {
		tail "$root.log"
		return 1
	}
	build musl "['musl-gcc', '-isystem', '$root/kernel']" '' \
		"$root/lib/pkgconfig" x86_64 little env "LD_LIBRARY_PATH=$root/lib"
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

[ $# -gt 0 ] || set -- clang musl i386 arm64 s390x
run=()
for arch; do
	echo "== $arch"
	case $arch in
	i386)
		# This machine runs it itself; qemu-i386 loses signals.
		lib=i386-linux-gnu
		cross i386 i686-linux-gnu x86 little \
			"$work/root-i386/lib/ld-linux.so.2 --library-path" \
			"$work/root-i386/lib/$lib:$work/root-i386/usr/lib/$lib"
		;;
	arm64)
		cross arm64 aarch64-linux-gnu aarch64 little qemu-aarch64-static -L \
			"$work/root-arm64"
		;;
	s390x)
		cross s390x s390x-linux-gnu s390x big qemu-s390x-static -L \
			"$work/root-s390x"
		;;
	musl) musl ;;
	clang)
		build clang "'clang'" '' "$(pkg-config --variable pc_path pkg-config)" \
			x86_64 little env
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
