#!/bin/sh
# What clang-tidy finds, as errors: .clang-tidy names the checks.
#
# usage: tests/tidy.sh BUILD [CHECKS]
#
# CHECKS, in the form of clang-tidy's --checks, come on top of them: tests/run long
# adds clang's analyzer, which takes minutes.
set -u
build=${1:?usage: tests/tidy.sh BUILD [CHECKS]}
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

# The benchmarks of other engines are theirs to include.
jq -r '.[] | .file | select(test("^(../|/.*/)?(store|fs|tools)/.*[.]c$")) |
	select(test("/bench/") | not)' "$build/compile_commands.json" |
	sort -u >"$log"
[ -s "$log" ] || {
	echo "no source is compiled in $build" >&2
	exit 2
}
cd "$build" && xargs -P "$(nproc)" -n 4 clang-tidy -p . --quiet \
	--extra-arg=-Wno-unknown-warning-option \
	--extra-arg=-Wno-missing-field-initializers \
	--extra-arg=-Wno-unused-command-line-argument \
	${2:+"--checks=$2"} <"$log" 2>/dev/null
