#!/bin/sh
# What clang warns of and gcc does not, as errors: each source of store/, fs/ and
# tools/ is looked at with the options of a build, and not compiled.
#
# usage: tests/clang.sh BUILD
set -u
build=${1:?usage: tests/clang.sh BUILD}
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

# The benchmarks of other engines are theirs to include.
jq -r '.[] | select(.file | test("^(../|/.*/)?(store|fs|tools)/.*[.]c$")) |
	select(.file | test("/bench/") | not) | .command' \
	"$build/compile_commands.json" |
	sed -E 's/^([^ ]*ccache )?[^ ]+/clang-14/
		s/ -M[DQF]( [^-][^ ]*)?//g; s/ -o [^ ]+ -c / /
		s/$/ -fsyntax-only -Werror -Wno-unknown-warning-option -Wno-missing-field-initializers/' |
	sort -u >"$log"
[ -s "$log" ] || {
	echo "no source is compiled in $build" >&2
	exit 2
}
cd "$build" && xargs -P "$(nproc)" -d '\n' -n 1 sh -c <"$log"
