#!/usr/bin/env bash
# tests/bats over a daemon that is built with ThreadSanitizer:
# mount-tsan.sh [FILE...]
#
# Without names all files are run, some at a time, and then other people's programs
# (others.sh), for half an hour; a name is that of a file which needs no other program
# than filetest and posixtest. A test that fails has failed here too, and so has any
# report of a race, whoever it is of: a daemon that is in the background, or ends by a
# signal, has written it to a file. Nothing is suppressed: libfuse, which is not
# built so, is seen by its locks and threads, and that is enough.
#
# That reports are seen is tried first, by a race that is there on purpose.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export BUILD=$PWD/build-tsan
[ -f build-tsan/build.ninja ] || tests/sanitized.sh thread build-tsan >/dev/null
targets=(fs/cellfs tools/cellctl tests/filetest tests/posixtest)
[ $# -gt 0 ] || targets+=(tools/cellfs-bench tools/mount-calls tools/mount-null
	tests/cellfs-cut tests/cellfs-ref tests/killtest tests/treerace)
ninja -C build-tsan "${targets[@]}" >/dev/null
out=$(mktemp -d "${TMPDIR:-/tmp}/cellfs-tsan.XXXXXX")
trap 'rm -rf "$out"' EXIT
failed=0
export TSAN_OPTIONS=second_deadlock_stack=1:history_size=4:log_path=$out/report

# races: how many programs have reported one.
races() {
	find "$out" -name 'report.*' | wc -l
}

sees_races() {
	cat >"$out/race.c" <<-'EOF'
		#include <pthread.h>
		static int shared;
		static void *add(void *p) { shared++; return p; }
		int main(void)
		{
			pthread_t t;
			pthread_create(&t, 0, add, 0);
			add(0);
			return pthread_join(t, 0);
		}
	EOF
	"${CC_TSAN:-gcc}" -g -fsanitize=thread -o "$out/race" "$out/race.c"
	"$out/race" || true
	[ "$(races)" -gt 0 ] || {
		echo "a race on purpose was not reported"
		exit 1
	}
	rm -f "$out"/report.*
}

one() {
	local code=0

	timeout -k 10 1800 bats --tap "tests/bats/$1.bats" >"$out/$1.tap" 2>&1 ||
		code=$?
	if [ "$code" -ne 0 ]; then
		echo "FAILED: $1 ($code)"
		grep -A 15 '^not ok' "$out/$1.tap" | head -n 60
		return 1
	fi
	printf 'ok      %s (%s tests)\n' "$1" "$(grep -c '^ok ' "$out/$1.tap")"
}

names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(basename -a -s .bats tests/bats/*.bats)
sees_races
for name in "${names[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		wait -n || failed=1
	done
	one "$name" &
done
while [ -n "$(jobs -rp)" ]; do
	wait -n || failed=1
done
if [ $# -eq 0 ]; then
	tests/long/others.sh 30 || failed=1
fi
if [ "$(races)" -gt 0 ]; then
	echo "races, in the reports of $(races) programs:"
	cat "$out"/report.* | grep '^SUMMARY' | sort | uniq -c
	find "$out" -name 'report.*' | head -n 3 | xargs head -n 60
	failed=1
fi
exit $failed
