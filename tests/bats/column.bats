load helper

@test "older values by their distance and by time" {
	a_past T f
	a_column
	echo one > "$C/100"
	echo two > "$C/200"
	echo three > "$C/300"
	[ "$(cat "$C/@-1")" = two ]
	[ "$(cat "$C/@-2")" = one ]
	run ! cat "$C/@-3"
	[ "$(cat "$C/@250")" = two ]
	[ "$(cat "$C/@200")" = two ]
	[ "$(cat "$C/@now")" = three ]
	run ! cat "$C/@99"
	[ "$(stat -c '%s %.3Y' "$C/@-1")" = "4 0.200" ]
	diff "$C/@-1" <(echo two)
	echo four > "$C/400"
	[ "$(cat "$C/@-1")" = three ]
	run ! bash -c "echo x > '$C/@-1'"
	run ! bash -c "echo x > '$C/@-9'"
	run ! rm "$C/@-1"
	[ "$(ls "$C" | grep -c @)" -eq 0 ]
}

@test "a counter adds and reads" {
	a_column
	[ "$(cat "$C/counter")" = 0 ]
	echo 5 > "$C/counter"
	[ "$(cat "$C/counter")" = 5 ]
	echo -7 > "$C/counter"
	[ "$(cat "$C/counter")" = -2 ]
	[ "$(od -An -tx1 "$C/latest")" = " ff ff ff ff ff ff ff fe" ]
	run ! bash -c "echo five > '$C/counter'"
	run ! bash -c "echo 99999999999999999999 > '$C/counter'"
	[ "$(cat "$C/counter")" = -2 ]
	run ! rm "$C/counter"
}

@test "a counter wraps round at both ends, as Java's long does" {
	a_column
	echo 9223372036854775807 > "$C/counter"
	echo 1 > "$C/counter"
	[ "$(cat "$C/counter")" = -9223372036854775808 ]
	echo -1 > "$C/counter"
	[ "$(cat "$C/counter")" = 9223372036854775807 ]
	[ "$("$CELLCTL" incr "$M" T R f:q 2)" = -9223372036854775807 ]
}

@test "the descriptor that added reads the sum" {
	a_column
	echo 40 > "$C/counter"
	exec 4<> "$C/counter"
	echo 2 >&4
	[ "$(cat <&4)" = 42 ]
	exec 4>&-
	python3 - "$C/counter" <<-'PY'
	import os, sys
	fd = os.open(sys.argv[1], os.O_RDWR)
	os.write(fd, b"1\n")
	assert os.read(fd, 100) == b"43\n"
	assert os.pread(fd, 100, 0) == b"43\n"
	os.write(fd, b"1")
	assert os.read(fd, 100) == b"44\n"
	os.close(fd)
	PY
}

# A line is a number, in however many parts it is written.
@test "a number that is written byte by byte is one" {
	a_column
	printf '12\n-2\n' | dd bs=1 of="$C/counter" status=none
	[ "$(cat "$C/counter")" = 10 ]
	# The last one needs no newline.
	printf ' -9' | dd bs=1 of="$C/counter" status=none
	[ "$(cat "$C/counter")" = 1 ]
	printf '7' >> "$C/counter"
	[ "$(cat "$C/counter")" = 8 ]
	python3 - "$C/counter" <<-'PY'
	import os, sys
	fd = os.open(sys.argv[1], os.O_RDWR)
	os.write(fd, b"1")
	os.write(fd, b"2")
	assert os.pread(fd, 100, 0) == b"20\n"
	os.pwrite(fd, b"1", 0)
	os.pwrite(fd, b"2", 0)
	os.fsync(fd)
	os.write(fd, b"1\n2\n3")
	os.close(fd)
	PY
	[ "$(cat "$C/counter")" = 29 ]
	printf '\n1\n\n' | dd bs=9 of="$C/counter" status=none
	[ "$(cat "$C/counter")" = 30 ]
}

@test "a number that a child's close cannot add fails the last close as well" {
	a_column
	python3 - "$C" <<-'PY'
	import os, sys
	fd = os.open(sys.argv[1] + "/counter", os.O_WRONLY)
	os.write(fd, b"5")
	with open(sys.argv[1] + "/latest", "w") as f:
	    f.write("abc")
	if os.fork() == 0:
	    os._exit(0)
	os.wait()
	try:
	    os.close(fd)
	    sys.exit("it was not told")
	except OSError as e:
	    assert e.errno == 22, e
	PY
	[ "$(cat "$C/latest")" = abc ]
}

@test "what cannot become a number fails the write that brings it" {
	a_column
	run ! bash -c "printf 1x > '$C/counter'"
	run ! dd bs=9 of="$C/counter" <<< $'1\n2x'
	run ! bash -c "printf '1\n2x' | dd bs=9 of='$C/counter'"
	run ! bash -c "printf '1\n2x' | dd bs=9 oflag=dsync of='$C/counter'"
	run ! bash -c "echo > '$C/counter'"
	run ! bash -c "printf %040d 1 > '$C/counter'"
	[ "$(cat "$C/counter")" = 0 ]
	run ! dd if=/dev/stdin bs=1 of="$C/counter" <<<-
	grep 'close .*/counter: EINVAL\|write .*/counter: EINVAL' \
		"$M/.cellfs/errors"
	echo text > "$C/latest"
	run ! bash -c "printf 1 > '$C/counter'"
	[ "$(cat "$C/latest")" = text ]
}

@test "a value that is not 8 bytes is no counter" {
	a_column
	echo text > "$C/latest"
	run ! cat "$C/counter"
	run ! bash -c "echo 1 > '$C/counter'"
	grep -q '8' "$M/.cellfs/errors"
	[ "$(cat "$C/latest")" = text ]
}

@test "sixteen adders lose no addition" {
	a_column
	local w pids=()
	for w in $(seq 16); do
		(for i in $(seq 25); do echo 3 > "$C/counter"; done) 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ "$(cat "$C/counter")" = 1200 ]
}

# Hidden cells that the store's readers have walked over so far.
walked() {
	awk '$1 == "hidden_walked_total" { print $2 }' "$M/.cellfs/stats"
}

# A column that had the versions 1000 ... 1899, all removed one by one.
an_emptied_column() {
	a_column
	sed -i 's/versions 3/versions 2000/' "$M/T/.schema"
	seq 1000 1899 | awk '{ print "R\tf:q\t" $1 "\tv" }' > "$M/T/.cells"
	[ "$(ls "$C" | wc -l)" -eq 900 ]
	find "$C" -type f -delete
	[ -z "$(ls "$C")" ]
}

@test "a version is removed and made again without a walk over all that was removed" {
	not_over_hbase "its servers count their own steps"
	an_emptied_column
	before=$(walked)
	for ts in {1500..1549}; do
		echo x > "$C/$ts"
		[ "$(cat "$C/$ts")" = x ]
		echo yy > "$C/$ts"
		[ "$(cat "$C/latest")" = yy ]
		rm "$C/$ts"
		[ ! -e "$C/$ts" ]
	done
	# Each of them met all 900, several times.
	[ $(($(walked) - before)) -lt 20000 ]
	[ -z "$(ls "$C")" ]
}

@test "a column and a row are removed and made again without a walk over all that was removed" {
	not_over_hbase "its servers count their own steps"
	an_emptied_column
	seq 1000 1899 | awk '{ print "R\tf:c" $1 "\t7\tv" }' > "$M/T/.cells"
	seq 1000 1899 |
		awk '{ print "R\tf:c" $1 "\t7\t\tdelete-column" }' > "$M/T/.cells"
	before=$(walked)
	for i in {1500..1549}; do
		echo x > "$M/T/R/f:c$i"
		[ "$(cat "$M/T/R/f/c$i/latest")" = x ]
		rm "$M/T/R/f:c$i"
		[ ! -e "$M/T/R/f:c$i" ]
	done
	[ $(($(walked) - before)) -lt 20000 ]
	rm -r "$M/T/R"
	[ ! -e "$M/T/R" ]
	mkdir "$M/T/R"
	echo new > "$M/T/R/f:q"
	[ "$(cat "$M/T/R/f/q/latest")" = new ]
	[ "$(ls "$M/T/R/f")" = q ]
}
