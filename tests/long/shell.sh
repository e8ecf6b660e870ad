#!/usr/bin/env bash
# Runs the session of README.md in which HBase's own shell and a mount change the
# same table, and compares what comes with what stands there, but for times. It
# needs an HBase in $HBASE_HOME (tests/hbase/lab/lab shell). The last line says:
# N passed, N failed, N skipped.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
[ -n "${HBASE_HOME:-}" ] || {
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}
root=$PWD
build=$(cd "${BUILD:-build-asan}" && pwd) || exit
passed=0 failed=0
dir=$(mktemp -d)

cleanup() {
	fusermount3 -u "$dir/mnt" 2>/dev/null
	tests/hbase/lab/lab kill "$dir/lab"
	rm -rf "$dir"
}
trap cleanup EXIT

# What of an answer is the same each time. The prompt at the end has no command.
lasting() {
	sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+/TIME/' \
		-e 's/^Took [0-9.]+/Took N/' -e '/^hbase:[0-9]+:0> ?$/d' -e '/^$/d'
}

# Runs $command with $input; $want is what is to come.
compare() {
	local got

	[ -n "$command" ] || return 0
	got=$(cd "$dir" && bash -c "$command" <<<"$input" 2>&1)
	if diff <(lasting <<<"$want") <(lasting <<<"$got"); then
		passed=$((passed + 1))
	else
		echo "not as the README says: $command"
		failed=$((failed + 1))
	fi
}

address=$(tests/hbase/lab/lab start "$dir/lab") || exit
mkdir "$dir/mnt"
ln -s "$root/tests" "$dir/tests"
"$build/fs/cellfs" "hbase://$address" "$dir/mnt" || exit

command='' input='' want=''
while IFS= read -r line; do
	case $line in
	"$ "*)
		compare
		command=${line#"$ "} input='' want=''
		;;
	*)
		want+=$line$'\n'
		[[ ! $line =~ ^hbase:[0-9]+:0\>\ (.*) ]] ||
			input+=${BASH_REMATCH[1]}$'\n'
		;;
	esac
done < <(sed -n '/^    \$ mkdir mnt\/books mnt/,/^$/s/^    //p' README.md)
compare
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
