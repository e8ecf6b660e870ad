# Directories of data: of memory while they hold no cell, of the store while
# they hold one, and what is seen while they go over from one to the other.

load helper

TREERACE=$BUILD/tests/treerace

@test "directories stay and are listed, whatever is put and deleted beside" {
	mkdir "$M/T"
	"$TREERACE" --seconds "${CELLFS_SECONDS:-2}" "$M/T"
}

@test "they do in a table whose cells expire, where nothing is cached" {
	mkdir "$M/T"
	printf 'family f\n\tttl 1d\nfamily g\n\tttl 1d\n' > "$M/T/.schema"
	"$TREERACE" --seconds "${CELLFS_SECONDS:-1}" "$M/T"
}

@test "they do while the kernel forgets what nobody uses" {
	[ "$(id -u)" -eq 0 ] || skip "only root may drop the kernel's caches"
	mkdir "$M/T"
	"$TREERACE" --seconds "${CELLFS_SECONDS:-2}" "$M/T" &
	while kill -0 $! 2>/dev/null; do
		echo 2 >/proc/sys/vm/drop_caches
		sleep 0.01
	done
	wait $!
}

@test "what was removed in any way can be put again in any way" {
	python3 "$BATS_TEST_DIRNAME/../mount/comeback.py" "$CELLCTL" "$M"
}
