# F:Q is believed for long by the kernel, and never after it has changed.
load helper

# asked: how many look-ups and attributes the daemon was asked for.
asked() {
	awk '/^cellfs_request_seconds_count\{.*"(lookup|getattr)"/ { n += $2 }
		END { print n }' "$M/.cellfs/metrics"
}

absent() { [ ! -e "$M/T/R/f:q" ]; }

@test "F:Q that was looked at is not asked for again" {
	local i

	keep_caches
	a_row
	echo 1 > "$M/T/R/f:q"
	stat "$M/T/R/f:q" > /dev/null
	asked > "$T/first"
	# Other names, such as the root, may be asked for now and then.
	for ((i = 0; i < 100; i++)); do echo "$M/T/R/f:q"; done |
		xargs stat > /dev/null
	asked > "$T/second"
	[ $(($(<"$T/second") - $(<"$T/first"))) -lt 50 ]
}

@test "a file that is made is not asked for before it is written" {
	keep_caches
	a_row
	asked > "$T/first"
	python3 - "$M/T/R" <<-'EOF'
		import os, sys
		for i in range(50):
		    fd = os.open(f"{sys.argv[1]}/f:q{i}", os.O_WRONLY | os.O_CREAT)
		    os.write(fd, b"x")
		    os.close(fd)
	EOF
	asked > "$T/second"
	# Each is looked up, and the row asked for; the file itself in rare cases.
	[ $(($(<"$T/second") - $(<"$T/first"))) -lt 140 ]
}

@test "F:Q shows at once what any other path has put or deleted" {
	a_row
	python3 "$BATS_TEST_DIRNAME/../mount/aliases.py" "$M" "$CELLCTL" 3
}

@test "F:Q ends with its ttl, and with one that the schema brings" {
	a_row
	echo 1 > "$M/T/R/f:q"
	stat "$M/T/R/f:q" > /dev/null
	exec 7< "$M/T/R/f:q"
	sed 's/^\tttl .*/\tttl 1ms/' "$M/T/.schema" > "$T/short"
	sleep 0.01
	cat "$T/short" > "$M/T/.schema"
	absent
	exec 7<&-
	sed 's/^\tttl .*/\tttl 1s/' "$M/T/.schema" > "$T/second"
	cat "$T/second" > "$M/T/.schema"
	# It may end before it is looked at.
	looked_at() {
		echo 2 > "$M/T/.put/R/f:q"
		stat "$M/T/R/f:q" > /dev/null
	}
	settled looked_at
	settled absent
}

@test "F:Q goes with its family, its table and a table that is emptied" {
	a_row
	echo 1 > "$M/T/R/f:q"
	stat "$M/T/R/f:q" > /dev/null
	echo 'drop family f' >> "$M/T/.schema"
	absent
	mkdir -p "$M/T/R/f/q"
	echo 2 > "$M/T/R/f:q"
	stat "$M/T/R/f:q" > /dev/null
	# By a folder that stays: its names are not looked up from the root.
	cd "$M/T/R"
	"$CELLCTL" truncate "$M" T
	run ! stat f:q
	cd "$M"
	mkdir -p "$M/T/R/f/q"
	echo 3 > "$M/T/R/f:q"
	cd "$M/T/R"
	stat f:q > /dev/null
	"$CELLCTL" drop --force "$M" T
	run ! stat f:q
	cd "$T"
	absent
}
