#!/bin/sh
# What gcc -fanalyzer finds, as errors: each source of store/, fs/ and tools/ is
# looked at with the options of a build, at -O1, and not kept.
#
# usage: tests/analyzer.sh BUILD
#
# Leaks are left to the sanitizers: this gcc takes an object for lost whose address
# is kept as that of a member. What ccache has seen without a finding is not looked
# at again.
set -u
build=${1:?usage: tests/analyzer.sh BUILD}
out=$(mktemp -d) || exit 2
trap 'rm -rf "$out"' EXIT
log=$out/commands
gcc=$(command -v ccache >/dev/null && echo "ccache ")gcc

# The benchmarks of other engines are theirs to include.
jq -r '[.[] | select(.file | test("^(../|/.*/)?(store|fs|tools)/.*[.]c$")) |
	select(.file | test("/bench/") | not)] | unique_by(.file) | .[].command' \
	"$build/compile_commands.json" |
	sed -E "s/^([^ ]*ccache )?[^ ]+/$gcc/
		s/ -M[DQF]( [^-][^ ]*)?//g; s/ -o [^ ]+ -c / -c -o \"\$1\/\$\$.o\" /
		s/ -fsanitize=[^ ]+//g; s/ -O[0-9g]//; s/ -g1? / /
		s/\$/ -O1 -fanalyzer -Wno-analyzer-malloc-leak -Werror -fdiagnostics-plain-output/" >"$log"
[ -s "$log" ] || {
	echo "no source is compiled in $build" >&2
	exit 2
}
cd "$build" && xargs -P "$(nproc)" -d '\n' -I{} sh -c {} analyzer "$out" <"$log"
