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

win_once() {
	if (set -C; echo "$I" > "$C/latest") 2>/dev/null; then
		echo "$I" >> "$T/won"
	fi
}

@test "O_EXCL on latest is won by one of 16 processes" {
	local round
	mkdir -p "$M/T/R/f"
	for round in 1 2 3; do
		C=$M/T/R/f/q$round
		mkdir "$C"
		rm -f "$T/won"
		all 16 win_once
		[ "$(wc -l < "$T/won")" -eq 1 ]
		[ "$(cat "$C/latest")" = "$(cat "$T/won")" ]
		[ "$(versions "$C")" -eq 1 ]
	done
}

append_lines() {
	local i
	for i in $(seq "$EACH"); do
		echo "$I $i" >> "$C/latest"
	done
}

@test "no append of 16 processes to latest is lost" {
	a_column
	EACH=${CELLFS_APPENDS:-40}
	all 16 append_lines
	[ "$(wc -l < "$C/latest")" -eq $((16 * EACH)) ]
	[ "$(sort -u "$C/latest" | wc -l)" -eq $((16 * EACH)) ]
	# What one process wrote stands in its order.
	[ "$(grep '^7 ' "$C/latest" | cut -d' ' -f2 | head -n 3 | tr '\n' ' ')" = "1 2 3 " ]
}
