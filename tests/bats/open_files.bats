load helper

# gone_and_read PATH CMD...: what descriptor 7 reads of PATH after CMD.
gone_and_read() {
	exec 7< "$1"
	"${@:2}"
	[ ! -e "$1" ]
	stat -L -c %s /proc/self/fd/7
	cat <&7
	exec 7>&-
}

@test "an open version is read after it was removed" {
	a_column
	printf one > "$C/5"
	[ "$(gone_and_read "$C/5" rm "$C/5")" = "$(printf '3\none')" ]
	# What comes after it is another file.
	printf other > "$C/5"
	[ "$(cat "$C/5")" = other ]
}

@test "an open alias is read after its column was removed" {
	a_row
	printf one > "$M/T/R/f:q"
	[ "$(gone_and_read "$M/T/R/f:q" rm "$M/T/R/f:q")" = \
		"$(printf '3\none')" ]
	printf one > "$M/T/R/f:q"
	[ "$(gone_and_read "$M/T/R/f/q/latest" rm "$M/T/R/f/q/latest")" = \
		"$(printf '3\none')" ]
}

@test "an open version is read after another path took it away" {
	a_column
	printf one > "$C/5"
	[ "$(gone_and_read "$C/5" rm "$M/T/R/f:q")" = "$(printf '3\none')" ]
	mkdir -p "$C"
	printf one > "$C/7"
	[ "$(gone_and_read "$C/7" rm -r "$M/T/R")" = "$(printf '3\none')" ]
}

@test "a large open version is read whole after it was removed" {
	a_column
	head -c 3000000 /dev/urandom > "$T/large"
	cat "$T/large" > "$C/5"
	exec 7< "$C/5"
	head -c 1000 <&7 > "$T/copy"
	rm "$C/5"
	cat <&7 >> "$T/copy"
	cmp "$T/large" "$T/copy"
}

@test "an open version is read after its time was over" {
	mkdir "$M/T"
	printf 'families open\nfamily f\n\tttl 10s\n' > "$M/T/.schema"
	local ts=$(($(date +%s%3N) - 6000))
	mkdir -p "$M/T/r/f/q"
	printf one > "$M/T/r/f/q/$ts"
	[ "$(gone_and_read "$M/T/r/f/q/$ts" \
		timeout 20 sh -c 'while [ -e "$0" ]; do sleep 0.1; done' \
		"$M/T/r/f/q/$ts")" = "$(printf '3\none')" ]
}

@test "of a file that is not put each close by those who share it tells" {
	a_column
	python3 - "$M/T" <<-'EOF'
	import errno, os, sys
	t = sys.argv[1]
	fd = os.open(t + '/R/f/q/77', os.O_CREAT | os.O_EXCL | os.O_WRONLY)
	os.write(fd, b'mine')
	other = os.dup(fd)
	with open(t + '/.cells', 'w') as f:
	    f.write('R\tf:q\t77\ttheirs\n')
	for d in other, fd:
	    try:
	        os.close(d)
	        sys.exit('it was told that the value is put')
	    except OSError as e:
	        assert e.errno == errno.EEXIST, e
	EOF
	[ "$(cat "$M/T/R/f/q/77")" = theirs ]
}

@test "who has a file open reads what it was, of its length, however it is put again" {
	a_column
	python3 - "$M/T" <<-'EOF'
	import os, sys
	t = sys.argv[1]
	old = b'a' * 300000
	made = 0

	def write(path, value, how='wb'):
	    with open(path, how) as f:
	        f.write(value)

	def edit(path, value):
	    fd = os.open(path, os.O_RDWR)
	    os.pwrite(fd, value, 0)
	    os.ftruncate(fd, len(value))
	    os.close(fd)

	def replace(path, value):
	    write(path + '~', value)
	    os.rename(path + '~', path)

	def by_stream(path, value):
	    ts = b'5' if path.endswith('/5') else b''
	    write(f'{t}/.cells', b'r%d\tf:q\t%s\t%s\n' % (made, ts, value))

	def by_put(path, value):
	    in_put = path.replace(t, t + '/.put')
	    os.makedirs(os.path.dirname(in_put), exist_ok=True)
	    write(in_put, value)

	def remove_first(path, value):
	    os.unlink(path)
	    write(path, value)

	def remove_and_stream(path, value):
	    os.unlink(path)
	    by_stream(path, value)

	def append(path, value):
	    write(path, value, 'ab')

	def truncate(path, value):
	    os.truncate(path, len(value))

	ways = (write, edit, replace, by_stream, by_put, remove_first,
	        remove_and_stream, append, truncate)
	for put, name, known, length in [
	        (put, name, known, length) for put in ways
	        for name in ('f/q/5', 'f/q/latest', 'f:q')
	        for known in ('nothing', 'pages', 'part')
	        for length in (10, 300000, 400000)]:
	    case = put.__name__, name, known, length
	    made += 1
	    path = f'{t}/r{made}/{name}'
	    os.makedirs(f'{t}/r{made}/f/q')
	    write(path, old)
	    if known == 'pages':
	        with open(path, 'rb') as f:
	            f.read()
	    fd = os.open(path, os.O_RDONLY)
	    got = os.pread(fd, 100, 0) if known != 'nothing' else b''
	    put(path, b'b' * length)
	    size = os.stat(path).st_size
	    while part := os.pread(fd, 65536, len(got)):
	        got += part
	    assert got == old, (case, len(got), got[-1:])
	    assert os.fstat(fd).st_size == len(old), (case, os.fstat(fd))
	    # Who opens it now reads what it is.
	    with open(path, 'rb') as f:
	        new = f.read()
	    assert len(new) == size and (new != old or put is truncate), case
	    os.close(fd)
	EOF
}

@test "who writes a file by the descriptor of one who reads it has written it" {
	local file
	for file in f:q f/q/latest f/q/5; do
		mkdir -p "$M/T/R/f/q"
		printf 'R\tf:q\t5\told\n' > "$M/T/.cells"
		exec 7< "$M/T/R/$file"
		echo new > /proc/self/fd/7
		[ "$(cat "$M/T/R/$file")" = new ]
		echo newer > /proc/self/fd/7
		[ "$(cat "$M/T/R/$file")" = newer ]
		[ "$(stat -c %s "$M/T/R/$file")" -eq 6 ]
		rm -r "$M/T/R/f/q"
		echo gone > /proc/self/fd/7
		[ ! -e "$M/T/R/$file" ]
		exec 7<&-
	done
}

# As on any filesystem, which has a file that nobody finds.
@test "what is written into a removed file is in none, though that is opened anew" {
	local file
	for file in f:q f/q/5 f/.note; do
		mkdir -p "$M/T/R/f/q"
		echo old > "$M/T/R/$file"
		exec 7< "$M/T/R/$file"
		rm "$M/T/R/$file"
		echo gone > /proc/self/fd/7
		[ ! -e "$M/T/R/$file" ]
		echo another > "$M/T/R/$file"
		echo gone > /proc/self/fd/7
		[ "$(cat "$M/T/R/$file")" = another ]
		exec 7<&-
		rm "$M/T/R/$file"
	done
}

# long_values N: rows l1 to lN with a value of 5 MiB each.
long_values() {
	local i
	for ((i = 1; i <= $1; i++)); do
		head -c 5M /dev/zero >"$M/T/.put/l$i/f:q"
	done
}

@test "who has .schema open reads what it was, of its length" {
	a_row
	printf 'family %s\n' f g{1..60} > "$M/T/.schema"
	cat "$M/T/.schema" > "$T/was"
	exec 7< "$M/T/.schema"
	head -c 100 > "$T/read" <&7
	echo 'family h' >> "$M/T/.schema"
	# The kernel hears of the new size.
	[ "$(stat -c %s "$M/T/.schema")" -gt "$(stat -c %s "$T/was")" ]
	cat "$M/T/.schema" > "$T/now"
	cat <&7 >> "$T/read"
	cmp "$T/read" "$T/was"
	exec 7<&-
	grep -q '^family h\b' "$T/now"
}

@test "a version that is written anew and compacted before its first read is what it was" {
	a_column
	echo old > "$C/5"
	echo > "$M/.cellfs/compact"
	exec 7<"$C/5"
	echo new > "$C/5"
	echo > "$M/.cellfs/compact"
	[ "$(cat <&7)" = old ]
	[ "$(cat "$C/5")" = new ]
	exec 7<&-
	[ "$(cat "$C/5")" = new ]
}

@test "who has most open is told so, and others open files" {
	not_over_hbase "files share no value there: others may change the row"
	remount_store -o memory=32M
	a_row
	long_values 6
	echo small >"$M/T/R/f:q"
	python3 - "$M" 3>&- <<-'EOF'
	import errno, os, subprocess, sys
	m = sys.argv[1]
	fds = [os.open(f"{m}/T/l1/f:q", os.O_RDONLY) for _ in range(30)]
	assert all(len(os.pread(fd, 10, (5 << 20) - 10)) == 10 for fd in fds)
	try:
	    for i in range(2, 7):
	        os.open(f"{m}/T/l{i}/f:q", os.O_RDONLY)
	except OSError as e:
	    assert e.errno == errno.ENFILE, e
	else:
	    sys.exit("all were opened")
	subprocess.run(["cmp", f"{m}/T/l6/f:q", "/dev/zero", "-n", "5"],
	               check=True)
	subprocess.run(["cat", f"{m}/T/R/f:q", f"{m}/T/R/.cells"], check=True)
	EOF
	grep -q "open files hold .*(-o memory).*close" "$M/.cellfs/errors"
	grep -q '^memory 33554432$' "$M/.cellfs/options"
	grep -q '^cellfs_client_bytes_max 33554432$' "$M/.cellfs/metrics"
	grep -qE '^cellfs_client_refused_total [1-9]' "$M/.cellfs/metrics"
}

@test "a value is shared only by those who opened the same" {
	remount_store -o memory=64M
	a_column
	head -c 1M /dev/zero | tr '\0' a >"$C/5"
	exec 7<"$C/5"
	head -c 1M /dev/zero | tr '\0' b >"$C/5"
	exec 8<"$C/5"
	[ "$(head -c 1 <&7)" != "" ]
	[ "$(head -c 1 <&8)" = b ]
	echo t >"$M/.cellfs/flush" || true
	exec 9<"$M/T/R/f:q"
	[ "$(tail -c 1 <&9)" = b ]
	exec 7<&- 8<&- 9<&-
}

# twins write|read: versions of one length, all open at once. Written one behind
# the other, some names are the same.
twins() {
	python3 - "$M" "$1" <<-'EOF'
	import itertools, os, sys
	names = itertools.product("TU", ["a", "af"], ["f", "fg", "g"], ["q", "gq"], "78")
	paths = [os.path.join(sys.argv[1], *n) for n in names]
	values = [b"%06d" % i * 15000 for i in range(len(paths))]
	if sys.argv[2] == "write":
	    for path, value in zip(paths, values):
	        os.makedirs(os.path.dirname(path), exist_ok=True)
	        with open(path, "wb") as f:
	            f.write(value)
	else:
	    files = [open(path, "rb") for path in paths * 2]
	    assert [f.read() for f in files] == values * 2
	EOF
}

@test "values that differ in one coordinate are not one" {
	twins write
	remount_store
	twins read
}

@test "many streams read in turn give what each alone gives" {
	mkdir "$M/T"
	seq -f 'row%04.0f' 1 300 | while read -r row; do
		printf '%s\tf:a\t1\t%s\n' "$row" "$(head -c 300 /dev/urandom |
			base64 -w 0)"
		printf '%s\tf:b\t2\tb\n%s\tf:b\t1\ta\n' "$row" "$row"
	done >"$M/T/.cells"
	head -c 200000 /dev/urandom >"$M/T/.put/row0100/f:long"
	cat "$M/T/.cells" >"$T/whole"
	cat "$M/T/.last/20/.cells" >"$T/last"
	python3 - "$M" "$T" <<-'EOF'
	import os, sys
	m, t = sys.argv[1:]
	def turn(path, want, n, size):
	    fds = [os.open(path, os.O_RDONLY) for _ in range(n)]
	    got = [b""] * n
	    while not all(len(g) >= len(want) for g in got):
	        for i, fd in enumerate(fds):
	            part = os.read(fd, size)
	            assert part or len(got[i]) == len(want), (i, len(got[i]))
	            got[i] += part
	    assert all(g == want for g in got)
	    assert not any(os.read(fd, 1) for fd in fds)
	    for fd in fds:
	        os.close(fd)
	turn(m + "/T/.cells", open(t + "/whole", "rb").read(), 40, 50001)
	turn(m + "/T/.last/20/.cells", open(t + "/last", "rb").read(), 40, 777)
	EOF
}

@test "behind lines that found no memory none is taken, and no row is halved" {
	remount_store -o memory=1M
	mkdir "$M/T"
	python3 - "$M/T/.cells" <<-'EOF'
	import errno, os, sys
	fd = os.open(sys.argv[1], os.O_WRONLY)
	os.write(fd, b"before\tf:q\t\tx\n")
	def refused(call, *args):
	    try:
	        call(*args)
	    except OSError as e:
	        assert e.errno == errno.ENOBUFS, e
	        return True
	    return False
	def lines(n):
	    return b"".join(b"r\tf:%03d%02d\t\t%s\n" % (n, i, b"x" * 1000)
	                    for i in range(60))
	assert any(refused(os.write, fd, lines(n)) for n in range(20))
	# These would find room.
	assert refused(os.write, fd, b"r\tf:q\t\tx\n")
	assert refused(os.write, fd, b"behind\tf:q\t\tx\n")
	assert refused(os.close, fd)
	EOF
	[ "$(ls "$M/T")" = before ]
	grep -qE "line [0-9]+: open files hold .*-o memory" "$M/.cellfs/errors"
}

@test "who writes lines waits a moment for memory that others give back" {
	not_over_hbase "files share no value there: others may change the row"
	remount_store -o memory=1M
	mkdir "$M/T"
	for row in a b c d e; do
		head -c 200000 /dev/zero >"$M/T/.put/$row/f:q"
	done
	python3 - "$M/T" <<-'EOF'
	import errno, os, sys, threading, time
	table = sys.argv[1]
	for i in range(3):
	    held = []
	    try:
	        for row in "abcde":
	            held.append(os.open(f"{table}/{row}/f:q", os.O_RDONLY))
	        sys.exit("there is memory left")
	    except OSError as e:
	        assert e.errno == errno.ENFILE, e
	    def give_back():
	        time.sleep(0.02)
	        for fd in held:
	            os.close(fd)
	    lines = os.open(table + "/.cells", os.O_WRONLY)
	    thread = threading.Thread(target=give_back)
	    thread.start()
	    os.write(lines, b"r\tf:%d\t\t%s\n" % (i, b"x" * 130000))
	    thread.join()
	    os.close(lines)
	EOF
	[ "$(ls "$M/T/r/f" | wc -l)" -eq 3 ]
}

@test "who opens or reads a stream waits a moment for memory that others give back" {
	not_over_hbase "files share no value there: others may change the row"
	remount_store -o memory=1M
	mkdir "$M/T" "$M/U"
	for row in {10..39}; do
		head -c 40000 /dev/zero | tr '\0' x >"$M/T/.put/$row/f:q"
	done
	seq -f $'row%05.0f\tf:a\t1\tx' 1 20000 >"$M/U/.cells"
	python3 - "$M" <<-'EOF'
	import errno, os, sys, threading, time
	m = sys.argv[1]
	def while_it_is_short(call, *args):
	    held = []
	    try:
	        for row in range(10, 40):
	            held.append(os.open(f"{m}/T/{row}/f:q", os.O_RDONLY))
	        sys.exit("there is memory left")
	    except OSError as e:
	        assert e.errno == errno.ENFILE, e
	    def give_back():
	        time.sleep(0.05)
	        for fd in held:
	            os.close(fd)
	    thread = threading.Thread(target=give_back)
	    thread.start()
	    done = call(*args)
	    thread.join()
	    return done
	fd = while_it_is_short(os.open, m + "/U/.cells", os.O_RDONLY)
	got = os.read(fd, 4096)
	# Its scan has given its memory to who opens files.
	got += while_it_is_short(os.read, fd, 131072)
	while part := os.read(fd, 131072):
	    got += part
	assert got.count(b"\n") == 20000, got.count(b"\n")
	EOF
}

@test "a stream is of the moment when it was opened, also when it rested" {
	mkdir "$M/T"
	seq -f $'row%04.0f\tf:a\t1\tx' 1 20000 >"$M/T/.cells"
	python3 - "$M" <<-'EOF'
	import os, sys
	m = sys.argv[1]
	want = open(m + "/T/.cells", "rb").read()
	fds = [os.open(m + "/T/.cells", os.O_RDONLY) for _ in range(40)]
	got = [os.read(fd, 4096) for fd in fds]
	with open(m + "/T/.cells", "w") as f:
	    f.write("row0002x\tf:a\t1\tnew\nrow9000x\tf:a\t1\tnew\n")
	os.unlink(m + "/T/row9001/f:a")
	for i, fd in enumerate(fds):
	    while part := os.read(fd, 1 << 17):
	        got[i] += part
	assert all(g == want for g in got)
	EOF
}
