load helper

# What -o nodelete and -o ro refuse, by each way in which a change can come.

ctl() {
	"$CELLCTL" "$@"
}

# fill: T/r/f:q has three versions, T/r/f:p one; a snapshot.
fill() {
	mkdir -p "$M/T/r/f/q"
	printf 'family f\n\tversions 5\n\tttl 24000d\n' > "$M/T/.schema"
	echo 1 > "$M/T/r/f/q/1"
	echo 2 > "$M/T/r/f/q/1600000000002"
	echo 3 > "$M/T/r/f/q/1600000000003"
	echo p > "$M/T/r/f:p"
	mkdir "$M/T/.snapshot/s"
	Q=$M/T/r/f/q
}

# cells LINE...: writes lines with tabs for blanks into a stream.
cells() {
	local file=$1
	shift
	printf '%s\n' "$@" | tr ' ' '\t' > "$file"
}

# Each is a way to take something away.
ways=(
	'rm "$Q/1600000000003"'
	'rm "$Q/latest"'
	'rm "$M/T/r/f:q"'
	'rm -r "$M/T/r"'
	'find "$M/T/r" -delete'
	'mv "$M/T/r/f:q" "$M/T/r/f:x"'
	'mv "$Q/1600000000003" "$Q/1600000000009"'
	'mv "$Q/1600000000003" "$Q/.aside"'
	'mv "$M/T/r/f:p" "$M/T/r/f:q"'
	'cells "$M/T/.cells" "r f:q 1600000000003  delete"'
	'cells "$M/T/.cells" "r f:q   delete-column"'
	'cells "$M/T/.cells" "r f:   delete-family"'
	'cells "$M/T/.cells" "r    delete-row"'
	'cells "$M/T/r/.cells" "r f:q   delete-column"'
	'cells "$M/T/r/f/.cells" "r f:q   delete-column"'
	'printf "family f\nttl 24000d\nversions 4\n" > "$M/T/.schema"'
	'printf "family f\nttl 1s\nversions 5\n" > "$M/T/.schema"'
	'printf "family f\nnew_version_behavior no\n" > "$M/T/.schema"'
	'sed -i "s/versions 5/versions 1/" "$M/T/.schema"'
	'echo "family f
versions 2" > "$T/s"; cp --remove-destination "$T/s" "$M/T/.schema"'
	'echo "drop family f" > "$M/T/.schema"'
	'rmdir "$M/T/.snapshot/s"'
	'rm -r "$M/T"'
	'rmdir "$M/empty"'
	'ctl delete "$M" T r f:q'
	'ctl deleteall "$M" T r'
	'ctl drop "$M" T --force'
	'ctl truncate "$M" T'
	'ctl alter "$M" T f:versions=1'
	'ctl alter "$M" T f:ttl=1'
	'ctl alter "$M" T --delete f --force'
	'ctl alter "$M" T <<< "family f"'
	'ctl snapshot -t T "$M" drop s'
	'ctl snapshot -t T "$M" restore s'
	'cells "$T/l" "r f:q   delete-column"; ctl import "$M" T < "$T/l"'
)

# The schema by cellctl: rm -r has taken the file out of sight for a moment.
said() {
	cat "$M/T/.cells"
	ctl describe "$M" T
}

# try_all: none of them succeeds, and nothing has changed.
try_all() {
	local way
	said > "$T/before"
	for way in "${ways[@]}"; do
		(eval "$way") > "$T/out" 2>&1 && {
			echo "it is done: $way"
			return 1
		}
		said > "$T/after"
		diff "$T/before" "$T/after" || {
			echo "$way"
			return 1
		}
	done
	[ -d "$M/T/.snapshot/s" ]
	[ -d "$M/empty" ]
}

@test "nodelete refuses every way of taking something away" {
	fill
	mkdir "$M/empty"
	remount_store -o nodelete
	Q=$M/T/r/f/q
	try_all
	grep -q "family f holds cells, and this (ttl) would hide some" \
		"$M/.cellfs/errors"
	grep -q "write /T/.cells: EPERM.*nodelete" "$M/.cellfs/errors"
}

@test "a read-only mount refuses every way of taking something away" {
	fill
	mkdir "$M/empty"
	remount_store -o ro
	Q=$M/T/r/f/q
	try_all
}

@test "nodelete lets everything else be written" {
	fill
	remount_store -o nodelete
	echo 4 > "$M/T/r/f:q"
	[ "$(versions "$M/T/r/f/q")" -eq 4 ]
	mkdir "$M/T/r/f/n"
	echo 1 > "$M/T/r/f/n/counter"
	echo more >> "$M/T/r/f:p"
	# A put at an existing timestamp overwrites it.
	echo anew > "$M/T/r/f/q/1600000000003"
	[ "$(cat "$M/T/r/f/q/1600000000003")" = anew ]
	cells "$M/T/.cells" "r f:z  x" "r2 f:z  y"
	mkdir -p "$M/T/.stage/r3/f/q"
	echo staged > "$M/T/.stage/r3/f/q/latest"
	mv "$M/T/.stage/r3" "$M/T/r3"
	[ "$(cat "$M/T/r3/f:q")" = staged ]
	chmod 700 "$M/T"
	# HBase renames no table.
	if [ -z "${CELLFS_TEST_CLUSTER:-}" ]; then
		mv "$M/T" "$M/U"
		mv "$M/U" "$M/T"
	fi
	# What a schema leaves unsaid stays where the default would hide cells.
	echo "family f" > "$M/T/.schema"
	grep -q "versions 5" "$M/T/.schema"
	# A schema that keeps more, or that hides nothing as nothing is there.
	printf 'family f\nversions 9\nfamily g\n' > "$M/T/.schema"
	printf 'family f\nversions 9\nfamily g\nversions 1\n' > "$M/T/.schema"
	[ "$(grep -c "versions [91]" "$M/T/.schema")" -ge 2 ]
	echo "family f
	versions all" > "$M/T/.schema"
	ctl incr "$M" T r f:c
	ctl put "$M" T r f:q 5
	ctl snapshot -t T "$M" take t
	ctl snapshot -t T "$M" clone t V
	# What is taken away in memory only.
	mkdir "$M/T/new"
	rmdir "$M/T/new"
	echo x > "$M/T/r/.x"
	rm "$M/T/r/.x"
}
