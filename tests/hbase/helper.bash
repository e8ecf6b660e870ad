# shellcheck shell=bash disable=SC2034
# A mount of a real HBase, which HBase's own client uses too.
#
# $CLUSTER is its name, hbase://HOST:PORT; $LAB its directory, for lab/lab.
# tests/hbase/cluster starts both, setup_suite.bash the client.

load ../bats/helper

# other WORD...: what HBase's client answers.
other() {
	local answer

	echo "$@" >&8
	read -r -t 90 -u 9 answer
	case $answer in
	"ok "*) echo "${answer#ok }" ;;
	ok) ;;
	*)
		echo "$answer" >&2
		return 1
		;;
	esac
}

# mount_cluster [-o ...]: on $M; $N is a name that no test had before.
# shellcheck disable=SC2120 # beside.bats has options
mount_cluster() {
	T=$BATS_TEST_TMPDIR
	STORE=$CLUSTER
	M=$T/mnt
	LOG=$T/log
	N=$(basename "$BATS_TEST_FILENAME" .bats)$BATS_TEST_NUMBER
	N+=-${BATS_RUN_TMPDIR##*-}
	mount_store "$@"
}

setup() {
	# shellcheck disable=SC2119
	mount_cluster
}

# soon COMMAND...: within the second for which the kernel may believe the past, or
# some more of a busy machine.
soon() {
	local i

	for ((i = 0; i < 100; i++)); do
		"$@" && return
		sleep 0.1
	done
	"$@"
}

# has FILE TEXT
has() {
	[ "$(cat "$1" 2>/dev/null)" = "$2" ]
}
