#!/usr/bin/env bash
# What concerns data over a real HBase: the tests of the mount, the designs, and
# the model's random steps in both orders. A test that asks for what HBase cannot
# says so by not_over_hbase, and counts as skipped. The last line says: N passed,
# N failed, N skipped.
#
#	tests/long/over-hbase.sh [FILE...]	of tests/bats; else all of them
#
# SEEDS (30) is how many runs of the model there are in each order.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
files=(at attributes backup cells column designs directories drafts export
	info listing long_keys moved names nodelete open_files put put_dir
	remove rename restore root schema snapshot stage ttl views writers)
seeds=${SEEDS:-30}
[ $# -eq 0 ] || files=("$@") seeds=0
export BUILD=${BUILD:-$PWD/build-asan}
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:handle_sigill=2
passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'tests/hbase/lab/lab stop "$dir/lab"; rm -rf "$dir"' EXIT
address=$(tests/hbase/lab/lab start "$dir/lab") || exit
export CELLFS_TEST_CLUSTER=hbase://$address

for file in "${files[@]}"; do
	tap=$dir/tap
	timeout -k 10 1200 bats --tap "tests/bats/$file.bats" >"$tap" 2>&1
	sed "s/^ok /ok $file /; s/^not ok /not ok $file /" "$tap"
	want=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$tap")
	skip=$(grep -c '^ok .* # skip' "$tap")
	skipped=$((skipped + skip))
	passed=$((passed + $(grep -c '^ok ' "$tap") - skip))
	failed=$((failed + $(grep -c '^not ok ' "$tap")))
	[ "$(grep -cE '^(not )?ok ' "$tap")" = "${want:-none}" ] ||
		failed=$((failed + 1))
done
for order in "" --classic; do
	[ "$seeds" -gt 0 ] || break
	if "$BUILD/tests/model/model" --subject "$CELLFS_TEST_CLUSTER" \
		--seed 1 --runs "$seeds" --steps 200 ${order:+"$order"}; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
