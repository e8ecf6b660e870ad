#!/usr/bin/env bash
# Are programs and libraries built so that a fault is hard to use?
# hardened.sh BUILD: looks at what BUILD installs, of a release build.
set -euo pipefail
build=$1
bad=0

missing() {
	echo "$1: $2" >&2
	bad=1
}

# looks FILE: one program or shared object.
looks() {
	local f=$1 head segments dynamic symbols

	head=$(readelf -hW "$f")
	segments=$(readelf -lW "$f")
	dynamic=$(readelf -dW "$f")
	symbols=$(readelf -sW "$f")
	grep -q 'Type: *DYN' <<<"$head" ||
		missing "$f" "loads at a fixed address (no PIE)"
	grep -q GNU_RELRO <<<"$segments" || missing "$f" "no RELRO"
	grep -Eq 'BIND_NOW|FLAGS.* NOW' <<<"$dynamic" ||
		missing "$f" "binds its calls late (no BIND_NOW)"
	grep -q 'GNU_STACK.* RW ' <<<"$segments" ||
		missing "$f" "its stack can be executed"
	grep -q 'TEXTREL\|RPATH\|RUNPATH' <<<"$dynamic" &&
		missing "$f" "has TEXTREL or RPATH"
	grep -q '__stack_chk_fail' <<<"$symbols" ||
		missing "$f" "no stack protector"
	grep -Eq '__(memcpy|snprintf|vsnprintf)_chk' <<<"$symbols" ||
		missing "$f" "no _FORTIFY_SOURCE"
}

# protected OBJECT: branches land where they may (CET).
protected() {
	readelf -nW "$1" | grep -q 'IBT, SHSTK' ||
		missing "$1" "no CET (-fcf-protection)"
}

for f in "$build/fs/cellfs" "$build/tools/cellctl" \
	"$build"/store/libcellfs.so.*[0-9]; do
	looks "$f"
done
# The system's own start files may lack the note, so our objects are looked at.
if [ "$(uname -m)" = x86_64 ]; then
	n=0
	while IFS= read -r object; do
		protected "$object"
		n=$((n + 1))
	done < <(find "$build"/store/libstore.a.p "$build"/fs/libfs.a.p \
		"$build"/tools/cellctl.p -name '*.o')
	[ "$n" -gt 100 ] || missing "$build" "only $n objects"
fi
exit "$bad"
