#!/usr/bin/env bash
# fuzz.sh [MINUTES [TARGET...]]: each fuzz target, or those named, under libFuzzer,
# for the minutes given (10), half of them with inputs of at most 128 bytes, of which
# a decoder takes some five times as many. What it finds is kept in build-fuzz/found:
# run build-fuzz/NAME on it to see it again. The last line says how many inputs there were.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
minutes=${1:-10}
shift || true
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(basename -a -s .c tests/fuzz/*.c)
out=$PWD/build-fuzz
mkdir -p "$out/found"
# As a build makes it; which version it is does not matter here.
echo '#define CELLFS_VERSION "0"' >"$out/cellfs-version.h"
read -ra flags <<<"$(pkg-config --cflags fuse3 libxxhash krb5-gssapi openssl \
	libmicrohttpd cmocka)"
read -ra libs <<<"$(pkg-config --libs fuse3 zlib libxxhash libpcre2-32 krb5-gssapi \
	openssl libmicrohttpd cmocka) -lpthread"
# Who gives a mutex back holds it, in each target (tests/unit/held.h).
for call in lock trylock unlock; do
	libs+=("-Wl,--wrap=pthread_mutex_$call")
done
export CFLAGS="-std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -g1 -O2 -I. -I$out -w
	-ffunction-sections -fdata-sections -fno-strict-aliasing -fno-sanitize-recover=undefined ${flags[*]}
	-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"

# An empty buffer is NULL, to which clang, unlike gcc, lets nobody add 0.
export sanitize="address,undefined -fno-sanitize=pointer-overflow"

# What a build has in its libraries and its targets, compiled once for all.
[ -f build-asan/build.ninja ] || meson setup build-asan >build-fuzz/setup.log
rm -rf "$out/objects"
mkdir "$out/objects"
# shellcheck disable=SC2016 # jq and the inner shell expand
meson introspect build-asan --targets | jq -r '.[] |
	select((.type == "static library" and .name != "model") or
		(.name | startswith("fuzz-"))) |
	.target_sources[].sources[]?' |
	xargs realpath --relative-to=. | grep -v '^tests/fuzz/' | sort -u |
	xargs -P "$(nproc)" -I{} sh -c 'clang $CFLAGS \
		-fsanitize=fuzzer-no-link,$sanitize -c "$1" \
		-o "$2/$(echo "$1" | tr / _).o"' _ {} "$out/objects"

# libFuzzer looks at the counters of all code of a program after each input, so a
# target has the code that it calls and no other.
rm -f "$out/all.a"
ar rcs "$out/all.a" "$out"/objects/*.o

# fuzz NAME SECONDS [OPTION]: adds to $inputs
inputs=0
fuzz() {
	local words=("${@:3}") log=$out/$1.log

	[ ! -f "tests/fuzz/$1.dict" ] || words+=("-dict=tests/fuzz/$1.dict")
	# An input of theirs runs so much code that counting how often each part is
	# seen, for -entropic, takes more time than the input.
	case $1 in
	served | requests) words+=(-entropic=0) ;;
	esac
	"$out/$1" -max_total_time="$2" -timeout=20 \
		-rss_limit_mb=1024 -print_final_stats=1 \
		-artifact_prefix="$out/found/$1-" "${words[@]}" \
		"$out/corpus/$1" "tests/fuzz/corpus/$1" 2>&1 | tee "$log"
	inputs=$((inputs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log")))
}

for name in "${targets[@]}"; do
	[ "$name" != replay ] || continue
	echo "== $name"
	# shellcheck disable=SC2086 # flags are words
	clang $CFLAGS -Wl,--gc-sections -fsanitize=fuzzer,$sanitize \
		-o "$out/$name" "tests/fuzz/$name.c" "$out/all.a" "${libs[@]}"
	mkdir -p "$out/corpus/$name"
	fuzz "$name" $((30 * minutes)) -max_len=128
	# Without a bound they are as long as the longest seed, or 4 KiB.
	fuzz "$name" $((30 * minutes))
done
echo "$inputs inputs, none of them harmful"
