# shellcheck shell=bash
# HBase's own client, one for all tests: a JVM takes seconds to start.

setup_suite() {
	cd "$BATS_SUITE_TMPDIR" || return
	mkfifo in out
	"$BATS_TEST_DIRNAME/lab/lab" java "$LAB" \
		"$BATS_TEST_DIRNAME/lab/Client.java" <in >out 2>err 3>&- &
	echo $! >pid
	exec 8>in 9<out
	read -r -t 120 -u 9 _
}

teardown_suite() {
	exec 8>&- 9<&-
	wait "$(cat "$BATS_SUITE_TMPDIR/pid")" || true
}
