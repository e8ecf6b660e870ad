# A mount of a real HBase that is killed. Nothing else may use it meanwhile.

load helper

# How long a cluster takes to come back is the machine's, and not what is asked here: a
# mount that waits no longer than it is told has tests of its own.
setup() {
	# shellcheck disable=SC2034
	SETTLES=300
	mount_cluster -o timeout=300
}

# acknowledged N: so many sums, or more.
acknowledged() {
	[ "$(grep -c + "$T/acknowledged")" -ge "$1" ]
}

# Counters and puts go on while the cluster is killed and started again: by cellctl,
# which greets the cluster each time, and by a mount that knows where all is.
@test "kill -9 of HBase: what was acknowledged is there, once" {
	local i n tried servers tool

	mkdir -p "$M/$N/c/f/m"
	(
		for ((i = 0; ; i++)); do
			[ ! -e "$T/enough" ] || break
			"$CELLCTL" put "$STORE" "$N" "k$i" f:q "v$i" &&
				echo "k$i"
			"$CELLCTL" incr "$STORE" "$N" c f:n 1 >/dev/null &&
				echo +
		done >"$T/acknowledged" 2>"$T/refused"
		echo "$i" >"$T/tried"
	) &
	tool=$!
	# Of an open file each write is a sum and nothing else.
	(
		for ((i = 0; ; i++)); do
			[ ! -e "$T/enough" ] || break
			echo 1
		done >"$M/$N/c/f/m/counter"
		echo "$i" >"$T/by-mount"
	) &
	settled acknowledged 10
	"$BATS_TEST_DIRNAME/lab/lab" kill "$LAB"
	n=$(grep -c + "$T/acknowledged")
	# A server that does not come back is waited for until its session ends.
	servers=$(ls "$LAB" | grep -c '^server\.') || true
	# What it starts must not hold what bats and the client wait for.
	"$BATS_TEST_DIRNAME/lab/lab" start "$LAB" $((servers + 1)) \
		3>&- 8>&- 9<&-
	settled acknowledged $((n + 10))
	touch "$T/enough"
	# The mount waits, and refuses nothing.
	wait $!
	wait "$tool"
	tried=$(cat "$T/tried")
	n=$(grep -c + "$T/acknowledged")
	echo "acknowledged: $n of $tried, refused: $(cat "$T/refused")"
	while read -r i; do
		[ "$i" = + ] || [ "$(cat "$M/$N/$i/f:q")" = "v${i#k}" ]
	done <"$T/acknowledged"
	# What was not acknowledged may have been counted, but no more than once.
	i=$(cat "$M/$N/c/f/n/counter")
	[ "$i" -ge "$n" ] && [ "$i" -le "$tried" ]
	[ "$(cat "$M/$N/c/f/m/counter")" = "$(cat "$T/by-mount")" ]
}
