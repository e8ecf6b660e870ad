#!/usr/bin/env bash
# An installed copy serves programs that know nothing of this repository: the
# example compiles as C and as C++ by what pkg-config says, with the shared
# library and with the static one, and does what it should. What the README
# shows of it stands in it. The manual page's example compiles and runs, too.
#
# usage: tests/library/installed.sh BUILD, where BUILD has no sanitizer
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
meson install -C "$1" --no-rebuild --destdir "$dir/root" >"$dir/log" || {
	cat "$dir/log"
	exit 1
}
cp "$here/example.c" "$dir"
cd "$dir"
pc=$(dirname "$(find root -name cellfs.pc)")
export PKG_CONFIG_PATH=$PWD/$pc PKG_CONFIG_SYSROOT_DIR=$PWD/root
libdir=$(pkg-config --libs-only-L cellfs)
libdir=${libdir#-L} libdir=${libdir% }

# try NAME COMPILER...: the example, twice over one store.
try() {
	local name=$1

	shift
	"$@" -pedantic -Wall -Werror -o "$name"
	LD_LIBRARY_PATH=$libdir "./$name" "store-$name" >/dev/null
	LD_LIBRARY_PATH=$libdir "./$name" "store-$name" >said
	diff - said <<-'SAID'
		frost 2
		2026-11-23:reads
		2026-11-23:reads
		2026-11-23:text
		2026-11-23:text
	SAID
}

read -ra flags < <(pkg-config --cflags --libs cellfs)
read -ra static < <(pkg-config --static --cflags --libs cellfs)
try c gcc -std=c17 example.c "${flags[@]}"
try c++ g++ -std=c++17 -x c++ example.c -x none "${flags[@]}"
try static gcc -std=c17 example.c "${static[@]/#-lcellfs/-l:libcellfs.a}"
run=$(ldd static)
[[ $run != *libcellfs* ]]

# So does what the manual page shows: a value, and not each version of it.
page=$(find root -path '*/man3/libcellfs.3*')
{
	printf '#include <%s>\n' cellfs.h err.h errno.h stdio.h
	echo 'int main(void) {'
	gzip -dcf "$page" | sed -n '/^\.Sh EXAMPLES/,/^\.Ed/p' |
		sed '1,/^\.Bd/d; /^\.Ed/d; s/\\e/\\/g'
	echo 'return 0; }'
} >page.c
gcc -std=c17 -pedantic -Wall -Wextra -Werror page.c "${flags[@]}" -o page
for _ in 1 2; do
	[ "$(LD_LIBRARY_PATH=$libdir ./page)" = "buy tea" ]
done

readelf -d "$libdir/libcellfs.so" >needs
grep -q 'SONAME.*\[libcellfs.so.0\]' needs
[ -e "$libdir/libcellfs.so.0" ]
# A program gets with it what pkg-config names, the C library and nothing else.
while read -r lib; do
	[[ $lib == ld-* || " ${static[*]} -lc -lm " == *" -l${lib#lib} "* ]] || {
		echo "libcellfs.so needs $lib, which cellfs.pc does not name" >&2
		exit 1
	}
done < <(sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' needs)
if grep fuse needs; then
	echo "libcellfs.so needs FUSE" >&2
	exit 1
fi
words() {
	tr -s ' \t\n' ' '
}

shown=$(sed -n '/^## Embed it/,/^## [^E]/s/^    //p' "$here/../../README.md" | words)
[ ${#shown} -gt 400 ]
[[ $(words <example.c) == *"$shown"* ]] || {
	echo "the README shows other lines than the example: $shown" >&2
	exit 1
}
