load helper

rss() {
	awk '/VmRSS/ {print $2}' "/proc/$DAEMON/status"
}

@test "a value over max_value is refused at write" {
	a_row
	run ! dd if=/dev/zero of="$M/T/R/f:q" bs=1M count=11 status=none
	[[ $output == *"File too large"* ]]
	[ ! -e "$M/T/R/f:q" ]
}

@test "truncate to a terabyte is refused and takes no memory" {
	a_row
	before=$(rss)
	run ! truncate -s 1T "$M/T/R/f:q"
	[[ $output == *"File too large"* ]]
	run ! dd if=/dev/zero of="$M/T/R/f:q" bs=1 count=1 seek=1T status=none
	run ! fallocate -l 1T "$M/T/R/f:q"
	# Threads that start meanwhile take some MiB under a sanitizer.
	[ $(($(rss) - before)) -lt 65536 ]
}

@test "truncate changes the length of a version" {
	a_column
	printf 'abcdef' > "$C/1"
	truncate -s 3 "$C/1"
	[ "$(cat "$C/1")" = abc ]
	truncate -s 5 "$C/1"
	[ "$(stat -c %s "$C/1")" -eq 5 ]
	[ "$(versions "$C")" -eq 1 ]
}

@test "fallocate lengthens a file, by a byte too, and never shortens it" {
	local file

	a_row
	for file in "$M/T/R/f:q" "$M/T/R/.note"; do
		fallocate -l 1 "$file"
		[ "$(stat -c %s "$file")" -eq 1 ]
		printf abc > "$file"
		fallocate -l 2 "$file"
		[ "$(cat "$file")" = abc ]
		fallocate -o 4 -l 1 "$file"
		[ "$(od -An -c "$file" | tr -d ' ')" = 'abc\0\0' ]
		run ! fallocate --punch-hole -l 1 "$file"
		[ "$(stat -c %s "$file")" -eq 5 ]
	done
	rm "$M/T/R/.note"
}

@test "an undeclared family of a fixed table is refused at open" {
	a_row
	echo "family f" > "$M/T/.schema"
	run ! bash -c "echo x > '$M/T/R/g:q'"
	[[ $output == *"Operation not permitted"* ]]
	run ! mkdir "$M/T/R/g"
	echo x > "$M/T/R/f:q"
}

@test "a name that is no key is refused" {
	a_row
	run ! mkdir "$M/T/a%2fb"
	run ! mkdir "$M/T/%41"
	run ! bash -c "echo x > '$M/T/R/f:%zz'"
}

@test "links and devices are refused" {
	a_column
	echo x > "$C/1"
	python3 - "$C" <<-'EOF'
	import errno, os, socket, stat, sys
	os.chdir(sys.argv[1])
	for make in (lambda: os.link('1', '2'), lambda: os.symlink('1', '2'),
	             lambda: os.mkfifo('2'),
	             lambda: os.mknod('2', stat.S_IFCHR | 0o600, 0),
	             lambda: socket.socket(socket.AF_UNIX).bind('2')):
	    try:
	        make()
	    except OSError as e:
	        assert e.errno == errno.EPERM, e
	    else:
	        sys.exit('it was made')
	EOF
	[ "$(versions "$C")" -eq 1 ]
}

@test "a directory in a column is refused" {
	a_column
	run ! mkdir "$C/dir"
}

@test "a read-only mount refuses every change" {
	a_column
	echo x > "$C/1"
	remount_store -o ro
	run ! bash -c "echo y > '$C/2'"
	[[ $output == *"Read-only file system"* ]]
	run ! rm "$C/1"
	run ! mkdir "$M/T2"
	[ "$(cat "$C/1")" = x ]
}

@test "nodelete keeps cells and lets them be written" {
	remount_store -o nodelete
	a_column
	echo x > "$C/1"
	run ! rm "$C/1"
	run ! rm "$M/T/R/f:q"
	echo y > "$C/2"
	[ "$(versions "$C")" -eq 2 ]
}

@test "scratch files are bounded" {
	remount_store -o scratch_max=1M
	a_row
	run ! dd if=/dev/zero of="$M/T/R/.big" bs=64k count=32 status=none
	[[ $output == *"No space left"* ]]
	grep -q "write /T/R/.big: ENOSPC: scratch files hold scratch_max" \
		"$M/.cellfs/errors"
	run ! truncate -s 2M "$M/T/R/.big"
	grep -q "setattr /T/R/.big: ENOSPC: scratch files hold scratch_max" \
		"$M/.cellfs/errors"
	rm "$M/T/R/.big"
	echo fits > "$M/T/R/.small"
	rm "$M/T/R/.small"
}

@test "a scratch file for which there is no room leaves nothing behind" {
	keep_caches
	remount_store -o scratch_max=1k
	a_row
	local i before
	for i in {1..20}; do
		touch "$M/T/R/.$i" || break
	done
	grep -q "scratch files hold scratch_max bytes" "$M/.cellfs/errors"
	before=$(nodes)
	run ! touch "$M/T/R/.more" "$M/T/R/.and" "$M/T/R/.more"
	[[ $output == *"No space left"* ]]
	[ ! -e "$M/T/R/.more" ]
	[ "$(nodes)" -eq "$before" ]
	rm "$M/T/R/.1"
	touch "$M/T/R/.more"
	rm "$M"/T/R/.[0-9m]*
}

@test "a failure is told in words" {
	a_row
	echo "family f" > "$M/T/.schema"
	run ! mkdir "$M/T/R/g"
	grep -q "families are fixed" "$M/.cellfs/errors"
}
