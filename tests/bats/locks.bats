load helper

# all N CMD...: N processes run CMD with their number in $I; each must succeed.
all() {
	local n=$1 pids=() p
	shift
	for I in $(seq "$n"); do
		export I
		"$@" 3>&- &
		pids+=($!)
	done
	for p in "${pids[@]}"; do
		wait "$p" || return 1
	done
}

# Reads, waits and writes a number that every process wants to be one more.
add_under_lock() {
	local i n
	for i in 1 2 3; do
		(
			flock 9
			n=$(cat "$M/T/R/f:n")
			sleep 0.01
			echo $((n + 1)) > "$M/T/R/f:n"
		) 9< "$LOCKED"
	done
}

@test "flock on a file holds off other processes" {
	a_row
	echo 0 > "$M/T/R/f:n"
	LOCKED=$M/T/R/f/n/latest
	all 8 add_under_lock
	[ "$(cat "$M/T/R/f:n")" -eq 24 ]
	# Also on the file that is written meanwhile, each time a new value.
	LOCKED=$M/T/R/f:n
	all 8 add_under_lock
	[ "$(cat "$M/T/R/f:n")" -eq 48 ]
}

@test "a lock on a version is kept when the version is put again" {
	a_column
	echo old > "$C/5"
	cat "$C/5"
	exec 7< "$C/5" 8< "$C/5"
	flock -s 7
	head -c 1 <&7
	# By its own name, and by another.
	echo new > "$C/5"
	run -1 flock -n "$C/5" true
	printf 'R\tf:q\t5\tnewer\n' > "$M/T/.cells"
	run -1 flock -n "$C/5" true
	[ "$(cat "$C/5")" = newer ]
	# Where it looked for the locks it looks no more.
	[ -z "$(find "/proc/$DAEMON/fd" -lname '/proc/*')" ]
	exec 7<&- 8<&-
	flock -n "$C/5" true
}

@test "a file that is put under a lock is what it is, and keeps its locks" {
	local file
	for file in f:q f/q/latest f/q/5; do
		mkdir -p "$M/T/R/f/q"
		printf 'R\tf:q\t5\told\n' > "$M/T/.cells"
		# One is yet to lock it when another has put it.
		exec 7< "$M/T/R/$file" 8< "$M/T/R/$file"
		flock 8
		printf 'R\tf:q\t5\tlonger\n' > "$M/T/.cells"
		exec 8<&-
		[ "$(stat -c %s "$M/T/R/$file")" -eq 6 ]
		[ "$(cat "$M/T/R/$file")" = longer ]
		flock 7
		run -1 flock -n "$M/T/R/$file" true
		exec 7<&-
		rm -r "$M/T/R"
	done
}

@test "flock on a row's directory holds off other processes" {
	a_row
	echo 0 > "$M/T/R/f:n"
	LOCKED=$M/T/R
	all 8 add_under_lock
	[ "$(cat "$M/T/R/f:n")" -eq 24 ]
	exec 8< "$M/T/R"
	flock 8
	run -1 flock -n "$M/T/R" true
	mkdir "$M/T/other"
	flock -n "$M/T/other" true
	flock -n "$M/T" true
	exec 8<&-
	flock -n "$M/T/R" true
}

@test "a lock on a scratch file is kept while others write it" {
	a_row
	echo old > "$M/T/R/.a.lock"
	exec 7< "$M/T/R/.a.lock" 8< "$M/T/R/.a.lock"
	# Somebody who does not lock writes it between another's open and flock.
	echo new > "$M/T/R/.a.lock"
	flock 7
	run -1 flock -n "$M/T/R/.a.lock" true
	run -1 flock -n 8
	echo newer > "$M/T/R/.a.lock"
	run -1 flock -n "$M/T/R/.a.lock" true
	exec 7<&- 8<&-
	flock -n "$M/T/R/.a.lock" true
	rm "$M/T/R/.a.lock"
}

win_once() {
	if (set -C; echo "$I" > "$C/latest") 2>/dev/null; then
		echo "$I" >> "$T/won"
	fi
}

@test "O_EXCL by two names is won by one, of empty files and of appended ones" {
	a_column
	python3 - "$C/latest" "$M/T/R/f:q" <<-'EOF'
	import errno, os, sys
	for flags in 0, os.O_APPEND:
	    for text in b'', b'me':
	        one, two = (os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | flags)
	                    for path in sys.argv[1:])
	        os.write(one, text), os.write(two, text)
	        os.fsync(one)
	        try:
	            os.fsync(two)
	            assert False, (flags, text)
	        except OSError as e:
	            assert e.errno == errno.EEXIST, e
	        # Who has won goes on.
	        os.write(one, b'!')
	        os.fsync(one)
	        assert open(sys.argv[2], 'rb').read() == text + b'!'
	        try:
	            os.close(two)
	        except OSError as e:
	            assert e.errno == errno.EEXIST, e
	        os.close(one)
	        os.unlink(sys.argv[2])
	        os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
	EOF
}

@test "O_EXCL on latest is won by one of 16 processes" {
	local round
	mkdir -p "$M/T/R/f"
	for round in $(seq "${CELLFS_ROUNDS:-3}"); do
		C=$M/T/R/f/q$round
		mkdir "$C"
		rm -f "$T/won"
		all 16 win_once
		[ "$(wc -l < "$T/won")" -eq 1 ]
		[ "$(cat "$C/latest")" = "$(cat "$T/won")" ]
		[ "$(versions "$C")" -eq 1 ]
	done
}

# One process' lines, in turn to each of some columns, as logs are cut: an
# append writes the whole value anew.
append_lines() {
	local i
	for i in $(seq "$EACH"); do
		echo "$I $i" >> "$M/T/R/f/log$((i % LOGS))/latest"
	done
}

@test "no append of 16 processes to latest is lost" {
	local n
	EACH=${CELLFS_EACH:-100} LOGS=$((${CELLFS_EACH:-100} / 50))
	for n in $(seq 0 $((LOGS - 1))); do
		mkdir -p "$M/T/R/f/log$n"
	done
	all 16 append_lines
	cat "$M"/T/R/f/log*/latest > "$T/lines"
	[ "$(wc -l < "$T/lines")" -eq $((16 * EACH)) ]
	[ "$(sort -u "$T/lines" | wc -l)" -eq $((16 * EACH)) ]
	# What one process wrote stands in its order.
	for n in $(seq 0 $((LOGS - 1))); do
		grep '^7 ' "$M/T/R/f/log$n/latest" | cut -d ' ' -f 2 |
			sort -n -c
	done
}

add_one_each() {
	local i
	for i in $(seq "$EACH"); do
		echo 1 > "$M/T/R/f/n/counter"
	done
}

@test "no add of 16 processes to a counter is lost" {
	EACH=${CELLFS_EACH:-200}
	mkdir -p "$M/T/R/f/n"
	all 16 add_one_each
	[ "$(cat "$M/T/R/f/n/counter")" -eq $((16 * EACH)) ]
	remount_store
	[ "$(cat "$M/T/R/f/n/counter")" -eq $((16 * EACH)) ]
}
