#!/usr/bin/env bats
# What who writes a file sees of it, and what all others see.

load helper

FILETEST=$BUILD/tests/filetest

# size PATH: as another process sees it.
size() {
	stat -c %s "$1"
}

@test "seek to the end and write, three times, keeps all three" {
	a_column
	local f
	for f in "$C/5" "$C/latest" "$M/T/R/f:p"; do
		printf start > "$f"
		python3 - "$f" <<-'EOF'
		import os, sys
		f = open(sys.argv[1], 'r+b', buffering=0)
		for part in b'one', b'two', b'three':
		    f.seek(0, 2)
		    f.write(part)
		    assert os.fstat(f.fileno()).st_size == f.tell(), f.tell()
		EOF
		[ "$(cat "$f")" = startonetwothree ]
		printf start > "$f"
		perl -e 'open my $f, "+<", $ARGV[0] or die; for (1, 2, 3) {
			seek $f, 0, 2; syswrite $f, $_ } close $f or die' "$f"
		[ "$(cat "$f")" = start123 ]
	done
}

@test "truncate to nothing, seek to the end, write: no NULs" {
	a_column
	printf 'long before' > "$C/5"
	python3 - "$C/5" <<-'EOF'
	import sys
	f = open(sys.argv[1], 'r+b', buffering=0)
	f.truncate(0)
	assert f.seek(0, 2) == 0
	f.write(b'new')
	assert f.seek(0, 2) == 3
	f.truncate(2)
	assert f.seek(0, 2) == 2
	EOF
	[ "$(cat "$C/5")" = ne ]
}

# writing PATH FLAGS CALLS: a process that opens PATH as fd, makes the calls and
# holds it until `written`.
writing() {
	mkfifo "$T/go"
	# shellcheck disable=SC2016
	python3 - "$1" "$2" "$3" "$T/go" "$T/ready" 3>&- <<-'EOF' &
	import os, sys
	fd = os.open(sys.argv[1], eval(sys.argv[2], vars(os)))
	exec(sys.argv[3])
	open(sys.argv[5], 'w').close()
	open(sys.argv[4]).read()
	os.close(fd)
	EOF
	WRITER=$!
	settled [ -e "$T/ready" ]
}

written() {
	echo > "$T/go"
	wait "$WRITER"
	rm "$T/go" "$T/ready"
}

@test "others see the old size and value until the draft is published" {
	a_column
	local f
	for f in "$C/5" "$C/latest" "$M/T/R/f:p"; do
		printf old > "$f"
		writing "$f" O_RDWR 'os.write(fd, b"longer"); os.lseek(fd, 0, 2);
os.fstat(fd); os.ftruncate(fd, 5)'
		[ "$(size "$f")" -eq 3 ]
		[ "$(cat "$f")" = old ]
		written
		[ "$(size "$f")" -eq 5 ]
		[ "$(cat "$f")" = longe ]
	done
}

@test "a new cell is there for others when it is published, not before" {
	a_column
	local f
	for f in "$C/5" "$C/latest" "$M/T/R/f:p"; do
		# shellcheck disable=SC2016
		writing "$f" 'O_CREAT | O_EXCL | O_RDWR' 'import threading
os.write(fd, b"new")
def own(): assert os.stat(sys.argv[1]).st_size == 3
own()
t = threading.Thread(target=own); t.start(); t.join()'
		[ ! -e "$f" ]
		run ! cat "$f"
		[ -z "$(ls "$C")" ]
		# But nobody else can make it as if it were not.
		# shellcheck disable=SC2016
		run ! bash -c 'set -o noclobber; echo other > "$0"' "$f"
		run ! python3 -c 'import os, sys
os.open(sys.argv[1], os.O_CREAT | os.O_EXCL | os.O_WRONLY)' "$f"
		[ ! -e "$f" ]
		written
		[ "$(cat "$f")" = new ]
		rm "$f"
	done
}

@test "an empty value is published when the last descriptor is closed" {
	a_row
	writing "$M/T/R/f:q" 'O_CREAT | O_WRONLY' 'os.close(os.dup(fd))'
	[ ! -e "$M/T/R/f:q" ]
	written
	settled [ -e "$M/T/R/f:q" ]
}

# ticks: what the daemon has taken of the processors, in hundredths of a second.
ticks() {
	awk '{ print $14 + $15 }' "/proc/$DAEMON/stat"
}

@test "who waits for a file that was closed and not released takes no processor" {
	a_row
	local before waits=()
	writing "$M/T/R/f:q" 'O_CREAT | O_WRONLY' 'os.close(os.dup(fd))'
	before=$(ticks)
	for _ in 1 2 3; do
		[ ! -e "$M/T/R/f:q" ] &
		waits+=($!)
	done
	wait "${waits[@]}"
	[ $(($(ticks) - before)) -lt 10 ]
	written
}

@test "what another path puts is seen where a new file is being written" {
	a_row
	writing "$M/T/R/f:q" 'O_CREAT | O_WRONLY' 'os.write(fd, b"new")'
	mkdir -p "$M/T/R/f/q"
	printf 5 > "$M/T/R/f/q/5"
	[ "$(cat "$M/T/R/f:q")" = 5 ]
	[ "$(size "$M/T/R/f:q")" -eq 1 ]
	written
	[ "$(cat "$M/T/R/f:q")" = new ]
}

@test "touch and an empty redirection are there for the next command" {
	a_column
	local i
	for i in $(seq 40); do
		touch "$M/T/R/f:$i"
		[ -e "$M/T/R/f:$i" ]
		: > "$M/T/R/f:t$i"
		stat "$M/T/R/f:t$i" >/dev/null
	done
}

@test "random use of a file is what memory says it is" {
	a_column
	mkdir -p "$M/T/R/f/u"
	"$FILETEST" --steps 400 --seed 1 --unlink "$C/5"
	"$FILETEST" --steps 400 --seed 2 --unlink "$M/T/R/f:p"
	"$FILETEST" --steps 400 --seed 3 "$M/T/R/f/u/latest"
}

@test "a file that is open and removed is read, written, sized on" {
	a_column
	local f
	for f in "$C/5" "$C/latest" "$M/T/R/f:p"; do
		printf value > "$f"
		python3 - "$f" <<-'EOF'
		import os, sys
		fd = os.open(sys.argv[1], os.O_RDWR)
		ap = os.open(sys.argv[1], os.O_RDWR | os.O_APPEND)
		os.unlink(sys.argv[1])
		assert os.fstat(fd).st_nlink == 0
		assert os.pread(fd, 9, 0) == b'value'
		assert os.fstat(fd).st_size == 5
		os.ftruncate(fd, 3)
		assert os.fstat(fd).st_size == 3
		os.pwrite(fd, b'!', 3)
		assert os.pread(fd, 9, 0) == b'val!'
		assert os.lseek(fd, 0, os.SEEK_END) == 4
		os.fchmod(fd, 0o600)
		os.write(ap, b's')
		assert os.pread(ap, 9, 0) == b'values'
		EOF
		[ ! -e "$f" ]
	done
}

@test "who has a version open that went sees it while another makes it anew" {
	a_column
	printf old > "$C/5"
	exec 7<"$C/5"
	rm "$M/T/R/f:q"
	settled [ ! -e "$C/5" ]
	writing "$C/5" 'O_CREAT | O_RDWR' 'os.write(fd, b"longer")'
	[ "$(stat -L -c '%s %h' /proc/self/fd/7)" = "3 0" ]
	[ "$(cat <&7)" = old ]
	exec 7<&-
	written
	[ "$(cat "$C/5")" = longer ]
}

@test "a reader's end is that of what it reads, not of what its process writes" {
	a_column
	printf old > "$C/5"
	python3 - "$C/5" <<-'EOF'
	import os, sys
	rd = os.open(sys.argv[1], os.O_RDONLY)
	wr = os.open(sys.argv[1], os.O_RDWR)
	os.write(wr, b'longer')
	assert os.lseek(rd, 0, os.SEEK_END) == 3
	assert os.pread(rd, 9, 0) == b'old'
	assert os.lseek(wr, 0, os.SEEK_END) == 6
	EOF
}

@test "two descriptors that append by turns lose nothing" {
	a_row
	exec 7>> "$M/T/R/f:q" 8>> "$M/T/R/f:q"
	# Each echo ends with a close of a copy: that publishes.
	echo a >&7
	echo b >&8
	echo c >&7
	echo d >&8
	exec 7>&- 8>&-
	[ "$(tr '\n' ' ' < "$M/T/R/f:q")" = "a b c d " ]
}

# As fdopen(3) with "a" does, and who takes a descriptor of a log to edit.
@test "a descriptor appends from when fcntl says so, and no longer" {
	a_row
	mkdir -p "$M/T/R/f/q"
	python3 - "$M/T/R/f:q" "$M/T/R/f/q/latest" "$M/T/R/f/v/7" "$M/T/R/.s" <<-'EOF'
		import os, sys
		from fcntl import fcntl, F_SETFL
		def value(path):
		    return open(path, "rb").read()
		os.makedirs(os.path.dirname(sys.argv[3]))
		for path in sys.argv[1:]:
		    open(path, "wb").write(b"abc")
		    fd = os.open(path, os.O_RDWR | os.O_APPEND)
		    os.write(fd, b"de")
		    fcntl(fd, F_SETFL, 0)
		    os.pwrite(fd, b"F", 1)
		    assert os.pread(fd, 9, 0) == b"aFcde", path
		    fcntl(fd, F_SETFL, os.O_APPEND)
		    os.write(fd, b"g")
		    os.close(fd)
		    assert value(path) == b"aFcdeg", path
		    one, two = (os.open(path, os.O_WRONLY) for _ in range(2))
		    for fd in one, two:
		        fcntl(fd, F_SETFL, os.O_APPEND)
		    for fd, byte in (one, b"1"), (two, b"2"), (one, b"3"):
		        os.write(fd, byte)
		        os.fsync(fd)
		    os.close(one), os.close(two)
		    assert value(path) == b"aFcdeg123", path
		os.unlink(sys.argv[4])
		EOF
}

@test "two descriptors that write each have a version of their own" {
	a_row
	exec 7> "$M/T/R/f:q" 8> "$M/T/R/f:q"
	echo a >&7
	echo b >&8
	[ "$(cat "$M/T/R/f:q")" = b ]
	echo c >&7
	exec 7>&- 8>&-
	[ "$(cat "$M/T/R/f:q")" = b ]
	[ "$(versions "$M/T/R/f/q")" -eq 2 ]
	[ "$(tr "\n" " " < "$M/T/R/f/q/@-1")" = "a c " ]
}

# As a job's output does, which a shell has redirected for longer than the ttl.
@test "who writes on when what he wrote has gone is seen" {
	local name i

	mkdir "$M/T"
	printf 'family f\n\tversions 1\nfamily g\n\tttl 1s\nfamily c\n\t%s\n' \
		"new_version_behavior no" > "$M/T/.schema"
	mkdir -p "$M/T/R/f/q" "$M/T/R/g/q" "$M/T/R/c/q"
	for name in f:q f/q/latest; do
		exec 7> "$M/T/R/$name"
		echo a >&7
		echo other > "$M/T/R/f:q"
		echo b >&7
		[ "$(tr '\n' ' ' < "$M/T/R/f:q")" = "a b " ]
		echo c >&7
		exec 7>&-
		[ "$(tr '\n' ' ' < "$M/T/R/f:q")" = "a b c " ]
	done
	for name in g:q g/q/latest; do
		exec 7> "$M/T/R/$name"
		echo a >&7
		until [ ! -e "$M/T/R/g:q" ]; do sleep 0.1; done
		mkdir -p "$M/T/R/g/q"
		# It may expire before it is looked at.
		for ((i = 0; i < 100; i++)); do
			echo b >&7
			! grep -qs b "$M/T/R/g:q" || break
		done
		[ "$i" -lt 100 ]
		exec 7>&-
	done
	exec 7> "$M/T/R/c:q"
	echo a >&7
	"$CELLCTL" delete "$M" T R c:q
	echo b >&7
	exec 7>&-
	[ "$(tr '\n' ' ' < "$M/T/R/c:q")" = "a b " ]
}

@test "two descriptors that change parts by turns each put what they have read" {
	a_row
	printf 'aa' > "$M/T/R/f:q"
	python3 - "$M/T/R/f:q" <<-'EOF'
		import os, sys
		def change(fd, at, byte):
		    os.pwrite(fd, byte, at)
		    os.fsync(fd)
		def value():
		    return open(sys.argv[1], "rb").read()
		reader = os.open(sys.argv[1], os.O_RDONLY)
		assert os.pread(reader, 9, 0) == b"aa"
		one, two = (os.open(sys.argv[1], os.O_RDWR) for _ in range(2))
		assert os.pread(one, 9, 0) == os.pread(two, 9, 0) == b"aa"
		change(one, 0, b"1")
		assert value() == b"1a"
		assert os.pread(two, 9, 0) == b"aa"
		change(two, 1, b"2")
		assert value() == b"a2"
		assert os.pread(reader, 9, 0) == b"aa"
		EOF
}

@test "a version that its descriptor publishes again has its new size" {
	a_row
	exec 7> "$M/T/R/f:q"
	echo a >&7
	local v
	v=$M/T/R/f/q/$(ls "$M/T/R/f/q")
	[ "$(size "$v")" -eq 2 ]
	[ "$(cat "$v")" = a ]
	echo bb >&7
	exec 7>&-
	is_new() { [ "$(size "$v")" -eq 5 ]; }
	settled is_new
	[ "$(tr '\n' ' ' < "$v")" = "a bb " ]
}

@test "who opens a version after it was put again reads nothing older" {
	a_column
	python3 - "$C/5" <<-'EOF'
	import os, sys
	path = sys.argv[1]
	size = 300000
	def put(byte):
	    with open(path, 'wb', buffering=0) as f:
	        f.write(byte * size)
	put(b'a')
	for i in range(30):
	    byte = bytes([98 + i % 20])
	    if i % 3 == 0:
	        # The kernel may have pages of it.
	        with open(path, 'rb') as f:
	            f.read()
	    old = os.open(path, os.O_RDONLY)
	    was = os.pread(old, 1, 0)
	    put(byte)
	    new = os.open(path, os.O_RDONLY)
	    for off in range(0, size, 50000):
	        assert os.pread(old, 100, off) == was * 100
	        assert os.pread(new, 100, off) == byte * 100
	    os.close(old)
	    assert os.pread(new, size, 0) == byte * size
	    os.close(new)
	EOF
}

@test "a truncation that finds no memory leaves an append as it was" {
	a_row
	head -c 9000000 /dev/zero | tr '\0' x > "$M/T/R/f:q"
	mkdir "$M/T/S"
	python3 - "$M/T/R/f:q" "$M/T/S" <<-'EOF'
	import os, sys
	ap = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
	os.write(ap, b'tail')
	held = []
	while True:
	    path = '%s/f:%d' % (sys.argv[2], len(held))
	    held.append(os.open(path, os.O_CREAT | os.O_WRONLY))
	    os.unlink(path)
	    try:
	        os.posix_fallocate(held[-1], 0, 9000000)
	    except OSError as e:
	        assert e.errno == 28, e
	        break
	try:
	    os.ftruncate(ap, 9000003)
	    assert False, "there was room"
	except OSError as e:
	    assert e.errno == 28, e
	os.close(ap)
	EOF
	[ "$(size "$M/T/R/f:q")" -eq 9000004 ]
	[ "$(tail -c 5 "$M/T/R/f:q")" = xtail ]
}

@test "a truncation that is refused leaves an append an append" {
	a_row
	printf 1 > "$M/T/R/f:q"
	python3 - "$M/T/R/f:q" <<-'EOF'
	import os, sys
	ap = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
	os.write(ap, b'3')
	for refused in (lambda: os.ftruncate(ap, 1 << 40),
	                lambda: os.posix_fallocate(ap, 0, 1 << 40)):
	    try:
	        refused()
	        assert False, "it was taken"
	    except OSError as e:
	        assert e.errno == 27, e
	with open(sys.argv[1], 'ab', buffering=0) as other:
	    other.write(b'2')
	os.close(ap)
	EOF
	[ "$(cat "$M/T/R/f:q")" = 123 ]
}

@test "a reader sees a new cell whole or absent, by any of its names" {
	a_column
	mkdir "$M/T/R/f/u"
	python3 - "$M/T/R" 3>&- <<-'EOF'
	import mmap, os, sys, time
	begun = time.monotonic()
	proved = mmap.mmap(-1, 6) # of each reader, by whom all go on
	def goes_on():
	    now = time.monotonic() - begun
	    return now < 1.5 or now < 60 and not all(proved[:])
	def write(path):
	    while goes_on():
	        fd = os.open(path, os.O_CREAT | os.O_WRONLY)
	        os.write(fd, b'val')
	        os.write(fd, b'ue')
	        os.close(fd)
	        os.unlink(path)
	def read(path, n):
	    seen = {'absent': 0, 'empty': 0, 'whole': 0, 'part': 0}
	    while goes_on():
	        proved[n] = bool(seen['whole'] and seen['absent'])
	        try:
	            with open(path, 'rb') as f:
	                got = f.read()
	        except FileNotFoundError:
	            seen['absent'] += 1
	            continue
	        seen[{b'': 'empty', b'value': 'whole'}.get(got, 'part')] += 1
	    print(path, seen)
	    assert not seen['empty'] and not seen['part'], seen
	    assert seen['whole'] and seen['absent'], 'proves nothing'
	for n, name in enumerate(['f:p', 'f/q/latest', 'f/u/5']):
	    path = os.path.join(sys.argv[1], name)
	    for do in (lambda: write(path), lambda: read(path, 2 * n),
	               lambda: read(path, 2 * n + 1)):
	        if os.fork() == 0:
	            do()
	            sys.exit()
	assert [os.wait()[1] for _ in range(9)] == [0] * 9
	EOF
}

@test "a value that is replaced is read whole, the old one or the new one" {
	a_column
	python3 - "$M/T/R" 3>&- <<-'EOF'
	import mmap, os, sys, time

	def size(byte):
	    return 400000 if ord(byte) % 2 else 90000

	def put(path, byte):
	    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
	    for part in range(5):
	        os.write(fd, byte * (size(byte) // 5))
	    os.close(fd)

	for path in os.path.join(sys.argv[1], 'f/q/5'), os.path.join(sys.argv[1], 'f:p'):
	    over = mmap.mmap(-1, 1)
	    put(path, b'a')
	    begun = time.monotonic()
	    if os.fork() == 0:
	        made = 0
	        while not over[0] and time.monotonic() < begun + 100:
	            made += 1
	            put(path, bytes([97 + made % 26]))
	        os._exit(0)
	    seen = set()
	    while (now := time.monotonic() - begun) < 1.5 or now < 60 and len(seen) < 4:
	        with open(path, 'rb', buffering=0) as f:
	            first = f.read(1)
	            got = first
	            while more := f.read(50000):
	                got += more
	        assert got == first * size(first), "a part of another value"
	        seen.add(first)
	    over[0] = 1
	    assert os.wait()[1] == 0
	    assert len(seen) > 3, 'proves nothing'
	EOF
}

@test "a cell can be mapped, shared too, but not to be written" {
	a_column
	head -c 100000 /dev/urandom > "$T/value"
	cp "$T/value" "$C/5"
	python3 - "$T/value" "$C/5" "$M/T/.schema" "$C/latest" "$M/T/R/f:q" <<-'EOF'
	import errno, mmap, sys
	want = open(sys.argv[1], 'rb').read()
	def mapped(path, flags, mode='rb', prot=mmap.PROT_READ):
	    with open(path, mode) as f:
	        return mmap.mmap(f.fileno(), 0, flags=flags, prot=prot)[:]
	assert b'family' in mapped(sys.argv[3], mmap.MAP_SHARED)
	for path in sys.argv[2], sys.argv[4], sys.argv[5]:
	    assert mapped(path, mmap.MAP_SHARED) == want
	    assert mapped(path, mmap.MAP_PRIVATE) == want
	    try:
	        mapped(path, mmap.MAP_SHARED, 'r+b', mmap.PROT_WRITE)
	        assert False, path
	    except OSError as e:
	        assert e.errno == errno.ENODEV, e
	EOF
	cmp "$T/value" "$C/5"
}

@test "a version that is written is mapped for oneself only" {
	a_column
	printf old > "$C/5"
	python3 - "$C/5" <<-'EOF'
	import errno, mmap, os, sys
	path = sys.argv[1]
	def mapped(flags):
	    fd = os.open(path, os.O_RDONLY)
	    try:
	        return mmap.mmap(fd, 0, flags=flags, prot=mmap.PROT_READ)[:]
	    except OSError as e:
	        return e.errno
	    finally:
	        os.close(fd)
	old = os.open(path, os.O_RDONLY)
	assert os.read(old, 9) == b'old'
	writer = os.open(path, os.O_WRONLY | os.O_TRUNC)
	os.write(writer, b'new')
	assert mapped(mmap.MAP_SHARED) == errno.ENODEV, 'it is being written'
	assert mapped(mmap.MAP_PRIVATE) == b'old'
	os.close(writer)
	assert mapped(mmap.MAP_PRIVATE) == b'new'
	assert os.pread(old, 9, 0) == b'old'
	os.close(old)
	EOF
	settled python3 -c 'import mmap, sys
f = open(sys.argv[1], "rb")
assert mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:] == b"new"' "$C/5" \
		2>"$T/mmap"
}

@test "a listing and a stream show the moment of their opening" {
	not_over_hbase "its scans are not of one moment"
	mkdir "$M/T"
	seq -f 'r%05g	f:q		x' 2000 > "$M/T/.cells"
	python3 - "$M/T" <<-'EOF'
	import os, sys
	table = sys.argv[1]
	stream = open(table + '/.cells', 'rb', buffering=0)
	listing = os.scandir(table)
	first = next(listing).name
	with open(table + '/.cells', 'w') as f:
	    for row in 'a', 'r01000x', 'z':
	        f.write(row + '\tf:q\t\ty\n')
	with open(table + '/r01500/f:q', 'w') as f:
	    f.write('changed')
	os.unlink(table + '/r01700/f:q')
	text = b''
	while True:
	    part = stream.read(4096)
	    if not part:
	        break
	    text += part
	lines = text.splitlines()
	assert len(lines) == 2000, len(lines)
	assert all(line.endswith(b'\tx') for line in lines)
	rows = [first] + [e.name for e in listing]
	rows = [r for r in rows if not r.startswith('.')]
	assert 'z' not in rows and 'r01000x' not in rows
	assert len(rows) == 2000, len(rows)
	EOF
}

@test "what is written behind a rename is refused, not lost" {
	a_column
	python3 - "$C" <<-'EOF'
	import errno, os, sys
	os.chdir(sys.argv[1])
	# Who has made a cell goes on when that is a scratch file again.
	fd = os.open('11.tmp', os.O_CREAT | os.O_WRONLY)
	os.write(fd, b'abc')
	for name, to in ('11.tmp', '11'), ('11', '11~'):
	    os.rename(name, to)
	os.write(fd, b'def')
	assert open('11~').read() == 'abcdef'
	os.close(fd)
	os.unlink('11~')
	calls = (lambda fd: os.write(fd, b'def'), lambda fd: os.ftruncate(fd, 1),
	         lambda fd: os.posix_fallocate(fd, 0, 9))
	for name, to in (('12.tmp', '13'), ('14.tmp', 'latest'), ('21', '22'),
	                 ('30', 'latest'), ('../../f:p', '../../f:p~'),
	                 ('40', '40~'), ('latest', '.l'), ('../../f:p', '.p')):
	    fd = os.open(name, os.O_CREAT | os.O_RDWR)
	    os.write(fd, b'abc')
	    was = name if os.path.basename(name) in ('latest', 'f:p') else None
	    os.rename(name, to)
	    for call in calls:
	        # A scratch file is cut itself.
	        if call == calls[1] and to in ('40~', '.l', '.p'):
	            continue
	        try:
	            call(fd)
	            assert False, name
	        except OSError as e:
	            assert e.errno == errno.ESTALE, (name, e)
	    assert os.pread(fd, 9, 0) == b'abc', name
	    os.close(fd)
	    assert open(to).read() == 'abc', name
	    if was:
	        assert open(was).read() == 'abc', name
	    else:
	        assert not os.path.exists(name), name
	# Nor does a schema that was replaced, or moved away, come back.
	os.chdir('../../..')
	for moves in ('.new', '.schema'), ('.schema', '.schema~'):
	    fd = os.open('.schema', os.O_RDWR)
	    open('.new', 'w').write('family f\n\tversions 7\n')
	    os.pwrite(fd, b'#', 0)
	    os.rename(*moves)
	    try:
	        os.pwrite(fd, b'family f\n\tversions 5\n', 0)
	        assert moves[0] == '.new'
	    except OSError as e:
	        assert moves[0] == '.schema' and e.errno == errno.ESTALE, e
	    os.close(fd)
	    assert 'versions 7' in open('.schema').read(), moves
	EOF
	rm -f "$C/40~" "$C/.l" "$C/.p" "$M/T/.new" "$M/T/.schema~"
	grep -q 'write .*ESTALE: the file was renamed' "$M/.cellfs/errors"
}

@test "behind a write that was refused none is taken" {
	a_column
	python3 - "$C/5" <<-'EOF'
	import errno, os, sys
	fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
	os.write(fd, b'good')
	for off in (11 << 20, 4):
	    try:
	        os.pwrite(fd, b'more', off)
	        assert False, off
	    except OSError as e:
	        assert e.errno == errno.EFBIG, e
	# Who truncates begins anew.
	os.ftruncate(fd, 0)
	os.pwrite(fd, b'new', 0)
	os.close(fd)
	assert open(sys.argv[1]).read() == 'new'
	EOF
}
