load helper

@test "echo into F:Q puts a cell without mkdir of family and column" {
	a_row
	echo x > "$M/T/R/f:q"
	[ "$(cat "$M/T/R/f:q")" = x ]
	[ "$(cat "$M/T/R/f/q/latest")" = x ]
	[ "$(versions "$M/T/R/f/q")" -eq 1 ]
}

@test "each echo into latest is one new version" {
	a_column
	echo one > "$C/latest"
	echo two > "$C/latest"
	[ "$(versions "$C")" -eq 2 ]
	[ "$(cat "$C/latest")" = two ]
	[ "$(ls -U "$C" | head -n 1 | xargs -I{} cat "$C/{}")" = two ]
}

@test "a decimal file name is an explicit timestamp, also as mtime" {
	a_column
	echo old > "$C/1637054560118"
	[ "$(cat "$C/latest")" = old ]
	[ "$(stat -c %.3Y "$C/1637054560118")" = 1637054560.118 ]
	[ "$(stat -c %s "$C/1637054560118")" -eq 4 ]
}

@test "an older timestamp does not become latest" {
	a_column
	echo new > "$C/2000"
	echo old > "$C/1000"
	[ "$(cat "$C/latest")" = new ]
	[ "$(ls -U "$C" | tr '\n' ' ')" = "2000 1000 " ]
}

# refused_put REDIRECTION WORDS: by the shell, which does not look at close.
refused_put() {
	run bash -c "echo new $1"
	[ "$status" -ne 0 ]
	[[ $output == *"too large for defined data type"* ]]
	tail -n 1 "$M/.cellfs/errors" | grep -q "EOVERFLOW: .*$2"
}

@test "behind the last timestamp that there is a put is refused at its open" {
	local times=(there deleted)

	# HBase counts no deletes here.
	[ -z "${CELLFS_TEST_CLUSTER:-}" ] || times=(there)
	a_column
	echo last > "$C/9223372036854775805"
	for was in "${times[@]}"; do
		for name in "$C/latest" "$M/T/R/f:q" "$M/T/.put/R/f:q"; do
			refused_put "> '$name'" "no timestamp is left"
			refused_put ">> '$name'" "no timestamp is left"
		done
		refused_put "> '$C/counter'" "no timestamp is left"
		[ "$was" = deleted ] || [ "$(cat "$M/T/R/f:q")" = last ]
		rm -f "$M/T/R/f:q"
	done
	mkdir -p "$C"
	echo 5 > "$C/5"
	[ "$(cat "$C/latest")" = 5 ]
	# As the message says.
	echo > "$M/.cellfs/compact"
	echo new > "$M/T/R/f:q"
	[ "$(cat "$C/latest")" = new ]
}

@test "writing a timestamp again replaces the version" {
	a_column
	echo first > "$C/5"
	echo second > "$C/5"
	[ "$(cat "$C/5")" = second ]
	[ "$(versions "$C")" -eq 1 ]
}

@test "a subshell of two echoes makes one version of both lines" {
	a_column
	(echo a; echo b) > "$C/latest"
	[ "$(versions "$C")" -eq 1 ]
	[ "$(cat "$C/latest")" = "a
b" ]
}

@test "truncating with : puts an empty value" {
	a_column
	echo x > "$C/latest"
	: > "$C/latest"
	settled [ ! -s "$C/latest" ]
	[ "$(versions "$C")" -eq 2 ]
}

@test "touch of a new timestamp puts an empty value" {
	a_column
	touch "$C/77"
	settled [ -f "$C/77" ]
	[ "$(stat -c %s "$C/77")" -eq 0 ]
	listed() { ls "$C" | grep -q 77; }
	settled listed
}

@test "touch of what exists changes nothing" {
	a_column
	echo x > "$C/77"
	touch "$C/77" "$C/latest"
	[ "$(cat "$C/77")" = x ]
	[ "$(versions "$C")" -eq 1 ]
	[ "$(stat -c %.3Y "$C/77")" = 0.077 ]
}

@test "cp, tee, dd and printf put what they are given" {
	a_column
	head -c 300000 /dev/urandom > "$T/big"
	cp "$T/big" "$C/1"
	tee "$C/2" < "$T/big" > /dev/null
	dd if="$T/big" of="$C/3" bs=4k status=none
	cmp "$T/big" "$C/1"
	cmp "$T/big" "$C/2"
	cmp "$T/big" "$C/3"
	printf 'no newline' > "$M/T/R/f:p"
	[ "$(stat -c %s "$M/T/R/f:p")" -eq 10 ]
}

@test "dd conv=notrunc changes a part of a version" {
	a_column
	printf 'abcdef' > "$C/1"
	printf 'XY' | dd of="$C/1" bs=1 seek=2 conv=notrunc status=none
	[ "$(cat "$C/1")" = abXYef ]
	[ "$(versions "$C")" -eq 1 ]
}

@test "a hole is zeros" {
	a_column
	printf 'x' | dd of="$C/1" bs=1 seek=3 status=none
	[ "$(od -An -tx1 "$C/1")" = " 00 00 00 78" ]
}

@test "appending to latest puts old and new bytes as a new version" {
	a_column
	printf 'one\n' > "$C/latest"
	printf 'two\n' >> "$C/latest"
	[ "$(cat "$C/latest")" = "one
two" ]
	[ "$(versions "$C")" -eq 2 ]
}

@test "appending twice through one open makes one version" {
	a_column
	printf '0\n' > "$C/latest"
	(echo a; echo b) >> "$C/latest"
	[ "$(cat "$C/latest")" = "0
a
b" ]
	[ "$(versions "$C")" -eq 2 ]
}

@test "appending to an absent column puts the bytes" {
	a_row
	echo x >> "$M/T/R/f:log"
	[ "$(cat "$M/T/R/f:log")" = x ]
}

@test "eight appenders lose no line" {
	a_column
	local w pids=()
	for w in 1 2 3 4 5 6 7 8; do
		(for i in $(seq 20); do echo "$w $i" >> "$C/latest"; done) \
			3>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ "$(wc -l < "$C/latest")" -eq 160 ]
	[ "$(sort -u "$C/latest" | wc -l)" -eq 160 ]
}

@test "appending to a timestamp changes that version" {
	a_column
	echo one > "$C/5"
	echo two >> "$C/5"
	[ "$(cat "$C/5")" = "one
two" ]
	[ "$(versions "$C")" -eq 1 ]
}

@test "who appends to a version loses nothing of who does the same" {
	a_column
	printf 'base\n' > "$C/5"
	python3 - "$C/5" "$C/6" <<-'PY'
	import os, sys
	for path in sys.argv[1:]:
	    had = open(path, "rb").read() if os.path.exists(path) else b""
	    a, b = (os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
	            for _ in "ab")
	    os.write(a, b"a1\n")
	    os.write(b, b"b1\n")
	    assert os.pread(b, 100, 0) == had + b"b1\n"
	    os.fsync(b)
	    os.write(b, b"b2\n")
	    os.close(a)
	    assert os.fstat(b).st_size == len(had) + 9
	    os.close(b)
	    said = open(path, "rb").read()
	    assert said == had + b"b1\na1\nb2\n", said
	PY
	[ "$(versions "$C")" -eq 2 ]
}

@test "what is appended to a version that is not seen, or was moved, is whole" {
	local i
	a_column
	for i in 7 8 9; do echo "$i" > "$C/$i"; done
	(echo a; echo b) >> "$C/1"
	[ "$(cat "$M/T/.raw/R/f/q/1")" = "a
b" ]
	mv "$C/8" "$C/8.bak"
	(echo c; echo d) >> "$C/8"
	[ "$(cat "$C/8")" = "c
d" ]
	[ "$(cat "$C/8.bak")" = 8 ]
	rm "$C/8.bak"
}

@test "noclobber puts only into an absent column" {
	a_column
	(set -C; echo one > "$C/latest")
	run ! bash -c "set -C; echo two > '$C/latest'"
	[ "$(cat "$C/latest")" = one ]
}

@test "O_EXCL of a timestamp that exists is refused" {
	a_column
	echo x > "$C/9"
	run ! dd if=/dev/null of="$C/9" conv=excl status=none
	[ "$(cat "$C/9")" = x ]
}

@test "a reader sees the old value until the writer is done" {
	a_column
	echo old > "$C/latest"
	python3 - "$C/latest" <<-'PY'
	import sys
	f = open(sys.argv[1], "wb", buffering=0)
	f.write(b"new")
	assert open(sys.argv[1], "rb").read() == b"old\n"
	f.close()
	assert open(sys.argv[1], "rb").read() == b"new"
	PY
}

@test "who writes and reads through one descriptor reads what it wrote" {
	a_column
	exec 4<> "$C/5"
	echo hello >&4
	[ "$(cat "/proc/self/fd/4" 2>/dev/null || true)" != bye ]
	python3 - "$C/6" <<-'PY'
	import os, sys
	fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
	os.write(fd, b"hello")
	assert os.pread(fd, 10, 0) == b"hello"
	assert os.fstat(fd).st_size == 5
	os.close(fd)
	PY
	exec 4>&-
	[ "$(cat "$C/6")" = hello ]
}

@test "two writers of one column make two versions" {
	a_column
	python3 - "$C/latest" <<-'PY'
	import sys
	four = open(sys.argv[1], "w")
	five = open(sys.argv[1], "w")
	four.write("four")
	five.write("five")
	five.close()
	four.close()
	PY
	[ "$(versions "$C")" -eq 2 ]
	[ "$(cat "$C/latest")" = four ]
}

@test "fsync of an open file publishes what was written" {
	a_column
	python3 - "$C/latest" <<-'PY'
	import os, sys
	fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
	os.write(fd, b"one")
	os.fsync(fd)
	assert open(sys.argv[1], "rb").read() == b"one"
	os.write(fd, b"two")
	os.close(fd)
	assert open(sys.argv[1], "rb").read() == b"onetwo"
	PY
	[ "$(versions "$C")" -eq 1 ]
}

@test "only the newest versions of a family are seen" {
	a_column
	for i in 1 2 3 4 5; do echo "$i" > "$C/$i"; done
	[ "$(ls -U "$C" | tr '\n' ' ')" = "5 4 3 " ]
	run ! cat "$C/2"
}

@test "a version that was read falls off when newer ones come" {
	a_column
	for i in 1 2 3; do echo "$i" > "$C/$i"; done
	cat "$C/1"
	echo 4 > "$C/latest"
	settled bash -c "! cat '$C/1' 2>/dev/null"
}

@test "everything is there after a remount" {
	a_column
	echo x > "$C/5"
	echo y > "$M/T/R/g:h"
	remount_store
	[ "$(cat "$C/5")" = x ]
	[ "$(cat "$M/T/R/g:h")" = y ]
}

@test "the example of the data model, with mkdir and echo" {
	mkdir "$M/articles" "$M/articles/article1" "$M/articles/article2"
	cd "$M/articles/article1"
	mkdir -p basic/header tags
	echo "HBase" > basic/header/1637054560118
	echo "HBase data model" > basic/header/1637055836875
	echo "HBase: the data model" > basic/header/1637056832082
	echo "A sorted map of maps" > basic:body
	echo 1 > tags:nosql
	echo 1 > tags:hadoop
	cd ../article2
	echo "LSM trees" > basic:header
	echo 1 > tags:storage
	cd "$M/articles"
	[ "$(ls | tr '\n' ' ')" = "article1 article2 " ]
	[ "$(ls article1 | tr '\n' ' ')" = "basic tags " ]
	[ "$(ls -U article1/basic/header | tr '\n' ' ')" = \
		"1637056832082 1637055836875 1637054560118 " ]
	[ "$(cat article1/basic/header/latest)" = "HBase: the data model" ]
	[ "$(cat article1/basic/header/1637054560118)" = "HBase" ]
	[ "$(cat article1/basic:header)" = "HBase: the data model" ]
	[ "$(cat article2/basic:header)" = "LSM trees" ]
	[ "$(grep -l . article1/tags/*/* | wc -l)" -eq 2 ]
	cd "$T"
}

@test "stat during and after writing tells size and time of the version" {
	a_column
	python3 - "$C/1637054560118" <<-'PY'
	import os, sys
	path = sys.argv[1]
	fd = os.open(path, os.O_WRONLY | os.O_CREAT)
	os.write(fd, b"hello")
	assert os.stat(path).st_size == 5
	os.close(fd)
	st = os.stat(path)
	assert (st.st_size, st.st_mtime_ns) == (5, 1637054560118000000), st
	PY
}

@test "a version that is not seen can be put again and again, by any tool" {
	local i
	a_column
	for i in 7 8 9; do echo "$i" > "$C/$i"; done
	for i in 1 2 3; do
		echo "again $i" > "$C/1"
		[ ! -e "$C/1" ]
		cp -p "$LOG" "$C/2"
		touch "$C/3"
		(set -C; echo "$i" > "$C/4")
		echo x | dd of="$C/5" conv=fsync status=none
		python3 -c 'import os, sys; os.mknod(sys.argv[1])' "$C/6"
		[ "$(ls "$C" | tr '\n' ' ')" = "7 8 9 " ]
	done
	[ "$(cat "$M/T/.raw/R/f/q/1")" = "again 3" ]
	[ "$(cat "$C/latest")" = 9 ]
}

@test "a version that has expired when it is put can be put again" {
	a_column
	printf 'family f\n\tttl 1d\n' > "$M/T/.schema"
	for i in 1 2; do
		echo "$i" > "$C/5"
		[ ! -e "$C/5" ]
		[ -d "$C" ]
	done
	[ "$(ls "$M/T")" = R ]
}
