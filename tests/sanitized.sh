#!/bin/sh
# Sets up a build for the tests of the working directory, with sanitizers:
# sanitized.sh address,undefined|thread DIR [OPTION...], options as of meson setup.
#
# At -Og, with no more for a debugger than lines: gcc takes a third of the time that it
# takes at -O2 -g, and the tests take as long. What gcc warns of only when it optimizes
# the build of users shows. With AddressSanitizer at an address that is known before:
# the programs are run ten thousand times, and of each start a tenth went into that. What
# UBSan finds is a trap, which AddressSanitizer reports with its line (handle_sigill=2):
# without UBSan's library, whose memory is searched for leaks too, half of a start is
# saved, and an eighth of compiling.
set -eu
trap= # of UBSan
sanitizers=${1:?usage: sanitized.sh SANITIZERS DIR [OPTION...]}
shift
case $sanitizers in
*address*)
	# Of the compiler, so that a shared object can say otherwise behind it.
	export CC="${CC:-gcc} -fno-pie -no-pie"
	set -- -Db_pie=false "$@"
	trap=-fsanitize-undefined-trap-on-error
	;;
esac
exec meson setup -Doptimization=g -Ddebug=false -Dc_args="-g1 $trap" \
	-Dc_link_args="$trap" -Db_sanitize="$sanitizers" -Db_lundef=false "$@"
