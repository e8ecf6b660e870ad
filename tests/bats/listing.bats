#!/usr/bin/env bats
# What listings and lookups show.

load helper

put() {
	mkdir -p "$M/T/$1"
	echo "$1" >"$M/T/$1/f:q"
}

@test "rows are listed in byte order, without . and control names" {
	mkdir "$M/T"
	put b
	put a
	put ä
	put B
	[ "$(ls -U "$M/T" | tr '\n' ' ')" = "B a b ä " ]
	[ "$(ls -A -U "$M/T" | head -n 1)" = .schema ]
}

# listed: how often the daemon was asked for names.
listed() {
	awk '$1 == "cellfs_request_seconds_count{op=\"readdir\"}" { print $2 }' \
		"$M/.cellfs/metrics"
}

# told: the kernel has been told of all that has changed.
told() {
	grep -qx 'cellfs_notifications_queued 0' "$M/.cellfs/metrics"
}

# names: of the row, its families and columns, as they are kept or, with .put,
# as they are asked for.
names() {
	[ ! -d "$M/T$1/R" ] ||
		(cd "$M/T$1/R" && find . -mindepth 1 | grep -v '/[.]x' |
			LC_ALL=C sort)
}

@test "the kernel keeps the names of a row, its families and columns" {
	local before after

	not_over_hbase "others may change them, so they are asked for"
	keep_caches
	a_column
	for ts in 5 7 6; do echo $ts >"$C/$ts"; done
	# The first time after a change they are asked for.
	settled told
	names > "$T/first"
	names > "$T/first"
	[ "$(grep -c '' "$T/first")" -eq 5 ]
	before=$(listed)
	names > "$T/second"
	after=$(listed)
	[ "$before" -gt 0 ]
	[ "$after" = "$before" ]
	cmp "$T/first" "$T/second"
	# Cells that end by themselves take their names along.
	printf 'family f\n\tttl 1h\n' > "$M/T/.schema"
	mkdir -p "$C"
	echo 1 >"$C/latest"
	names > "$T/first"
	before=$(listed)
	names > "$T/first"
	[ "$(listed)" -gt "$before" ]
}

# asked DIR...: how often the daemon is asked for names when these are listed.
asked() {
	local before

	before=$(listed)
	ls -U "$@" > "$T/listed"
	echo $(($(listed) - before))
}

@test "what changes in a column leaves the names beside it in the kernel" {
	local R="$M/T/R"

	not_over_hbase "others may change them, so they are asked for"
	keep_caches
	a_column
	mkdir -p "$R"/{f/q,f/p,g/q}
	for ts in 5 6; do echo $ts | tee "$R"/{f/q,f/p,g/q}/$ts > "$T/out"; done
	settled told
	names > "$T/first"
	names > "$T/first"
	[ "$(asked "$R" "$R"/{f,g,f/q,f/p,g/q})" -eq 0 ]
	rm "$R/f/q/5"
	[ "$(asked "$R/g" "$R"/{f/p,g/q})" -eq 0 ]
	[ "$(asked "$R" "$R"/{f,f/q})" -gt 0 ]
	rm "$R/f/q/6"
	rmdir "$R/f/q"
	[ "$(asked "$R/g" "$R"/{f/p,g/q})" -eq 0 ]
	[ "$(asked "$R/f")" -gt 0 ]
}

@test "names that are kept are those that are there, whatever changes them" {
	local way n=0

	a_column
	echo 1 >"$C/1"
	echo 'families open' > "$M/T/.schema"
	while read -r way; do
		names > "$T/kept"
		names > "$T/kept"
		(cd "$M/T" && eval "$way")
		names > "$T/kept"
		names /.put > "$T/asked"
		diff "$T/kept" "$T/asked" || { echo "$way"; return 1; }
		n=$((n + 1))
	done <<-'EOF'
		echo 2 > R/f:q
		mkdir .put/R/g
		mkdir R/g/p
		rmdir R/g/p
		rmdir .put/R/g
		touch R/f/.x
		printf 'R\tg:p\t\tx\n' > .cells
		printf 'R\tg:q\t\tx\n' > .cells
		printf 'R\tg:r\t9\tx\n' > R/.cells
		printf 'R\tg:p\t\t\tdelete-column\n' > .cells
		printf 'R\tf:q\t\tx\nR\tf:s\t\tx\nR\tg:s\t\tx\n' > .cells
		for i in $(seq 30); do printf "R\tg:c$i\t\tx\n"; done > .cells
		printf 'R\tg:\t\t\tdelete-family\n' > .cells
		rm R/f/s/*; rmdir R/f/s
		mv R/f/q/1 R/f/q/.x1; mv R/f/q/.x1 R/f/q/8
		"$CELLCTL" put "$M" T R h:q x
		echo 'drop family g' >> .schema
		"$CELLCTL" deleteall "$M" T R h:q
		mv R/f R/k
		"$CELLCTL" put "$M" T R f:q x 77
		mkdir -p .stage/R/f/s; echo 1 > .stage/R/f/s/3; mv .stage/R/f/s R/f/s
		printf 'R\t\t\t\tdelete-row\n' > .cells; echo 3 > .put/R/f:q
		"$CELLCTL" truncate "$M" T
	EOF
	[ "$n" -eq 23 ]
}

@test "who has a directory open does not make others keep its old names" {
	a_column
	sed -i 's/versions 3/versions 5000/' "$M/T/.schema"
	seq -f "R	f:q	%g	x" 1 2000 > "$M/T/.cells"
	python3 - "$C" "$CELLCTL" "$M" <<-'EOF'
		import os, subprocess, sys, time
		column, cellctl, mount = sys.argv[1:]
		def put(ts, column="f:q"):
		    subprocess.run([cellctl, "put", mount, "T", "R", column, "x",
		                    str(ts)], check=True)
		def rewound(fd, want):
		    """It is told, and its reader begins again."""
		    until = time.monotonic() + 20
		    while len(os.listdir(fd)) != want:
		        assert time.monotonic() < until, want
		def count():
		    return len(os.listdir(column))
		assert count() == 2000 and count() == 2000
		held = os.scandir(column)
		next(held)
		put(5000)
		assert count() == 2001, count()
		assert sum(1 for _ in held) in (1999, 2000)
		held.close()
		assert count() == 2001 and count() == 2001
		held = os.open(column, os.O_RDONLY)
		assert len(os.listdir(held)) == 2001
		put(6000)
		rewound(held, 2002)
		assert count() == 2002
		os.close(held)
		family = os.path.dirname(column)
		held = os.open(family, os.O_RDONLY)
		assert os.listdir(held) == os.listdir(held) == ["q"]
		put(1, "f:p")
		rewound(held, 2)
		os.close(held)
	EOF
}

@test "a reader with a small buffer misses no name that is there all along" {
	local n

	a_column
	sed -i 's/versions 3/versions 5000/' "$M/T/.schema"
	cat > "$T/readers.py" <<-'EOF'
		import ctypes, os, struct, sys
		column, stream, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
		libc = ctypes.CDLL(None, use_errno=True)
		buf = ctypes.create_string_buffer(1024)
		def some(fd):
		    """A few names, which is what a program with a small buffer has."""
		    n, at, names = libc.getdents64(fd, buf, len(buf)), 0, []
		    assert n >= 0
		    while at < n:
		        length = struct.unpack_from("H", buf, at + 16)[0]
		        names.append(buf.raw[at + 19:at + length].split(b"\0")[0])
		        at += length
		    return [name.decode() for name in names if name[0:1] != b"."]
		def read_all(act):
		    for _ in range(2):
		        os.listdir(column)
		    fd, seen = os.open(column, os.O_RDONLY), []
		    while new := some(fd):
		        seen += new
		        act(new)
		    os.close(fd)
		    return seen
		here = lambda: {str(ts) for ts in range(1, count + 1)}
		assert sorted(read_all(lambda new: None)) == sorted(here())
		# What others put in between is no reason to miss any.
		def put(new):
		    with open(stream, "w") as f:
		        f.write(f"R\tf:q\t{10000 + int(new[0])}\tx\n")
		assert here() <= set(read_all(put))
		def remove(new):
		    for name in new:
		        os.unlink(f"{column}/{name}")
		seen = read_all(remove)
		assert here() <= set(seen), (len(seen), here() - set(seen))
		assert os.listdir(column) == []
	EOF
	# Some that the kernel keeps, and more than it does.
	for n in 300 700; do
		seq -f "R	f:q	%g	x" 1 "$n" > "$M/T/.cells"
		python3 "$T/readers.py" "$C" "$M/T/.cells" "$n"
	done
}

@test "versions are listed newest first" {
	a_column
	for ts in 5 7 6; do echo $ts >"$C/$ts"; done
	[ "$(ls -U "$C" | tr '\n' ' ')" = "7 6 5 " ]
}

@test "a version has its size and its timestamp as mtime" {
	a_column
	printf 12345 >"$C/1637056832082"
	[ "$(stat -c '%s %b %h %.Y' "$C/1637056832082")" = \
		"5 1 1 1637056832.082000000" ]
}

@test "inode numbers are those of the coordinates, after a remount as well" {
	local path before after=
	a_column
	echo x >"$C/5"
	for path in T T/R T/R/f T/R/f/q T/R/f/q/5 T/R/f:q T/.prefix/R/R; do
		before+="$(stat -c %i "$M/$path") "
	done
	[ "$(tr ' ' '\n' <<<"$before" | sort | uniq -d)" = "" ]
	remount_store
	# In another order, and behind others.
	mkdir -p "$M/S/R/f/q"
	for path in T/.prefix/R/R T/R/f:q T/R/f/q/5 T/R/f/q T/R/f T/R T; do
		after="$(stat -c %i "$M/$path") $after"
	done
	[ "$after" = "$before" ]
	[ "$(ls -i "$M/T/R/f/q")" = "$(stat -c '%i 5' "$C/5")" ]
}

@test "the end of a listing is no failure" {
	put r
	[ "$(ls "$M/T")" = r ]
	[ -z "$(cat "$M/.cellfs/errors")" ]
}

@test "odd keys have one spelling" {
	mkdir "$M/T" "$M/T/%2E%2F%25"
	echo x >"$M/T/%2E%2F%25/f:"
	[ "$(ls "$M/T/%2E%2F%25/f")" = % ]
	run ! ls "$M/T/%2e%2F%25"
	run ! mkdir "$M/T/%41"
	run ! mkdir "$M/T/-x"
	[ "$(cat "$M/T/%2E%2F%25/f/%/latest")" = x ]
}

@test "keys over 255 bytes continue in nested directories" {
	k250=$(printf 'k%.0s' {1..250})
	mkdir -p "$M/T/$k250%+/$k250%+/kkkkkk"
	echo x >"$M/T/$k250%+/$k250%+/kkkkkk/f:q"
	remount_store
	[ "$(ls "$M/T")" = "$k250%+" ]
	[ "$(ls "$M/T/$k250%+/$k250%+")" = kkkkkk ]
	[ "$(cat "$M/T/$k250%+/$k250%+/kkkkkk/f:q")" = x ]
	mkdir "$T/backup"
	rsync -a "$M/T/" "$T/backup/"
	diff -r "$M/T" "$T/backup"
	rm -r "$M/T"
	[ -z "$(ls "$M")" ]
}

@test "a name over 255 bytes is too long" {
	mkdir "$M/T"
	run mkdir "$M/T/$(printf 'k%.0s' {1..256})"
	[[ $output == *"name too long"* ]]
}

@test "the newest value is seen at once by each of its names" {
	a_row
	for i in 1 22 333 4444 55555; do
		echo $i >"$M/T/R/f:q"
		[ "$(cat "$M/T/R/f/q/latest")" = $i ]
		[ "$(cat "$M/T/R/f:q")" = $i ]
		[ "$(stat -c %s "$M/T/R/f/q/latest")" -eq $((${#i} + 1)) ]
		echo x$i >"$M/T/R/f/q/latest"
		[ "$(cat "$M/T/R/f:q")" = x$i ]
	done
}

@test "a name that was looked up in vain is seen when it is there" {
	a_row
	[ ! -e "$M/T/R/f" ]
	[ ! -e "$M/T/R/f:q" ]
	echo x >"$M/T/R/f:q"
	[ -e "$M/T/R/f/q/latest" ]
	[ ! -e "$M/T/R/f/q/17" ]
	echo y >"$M/T/R/f/q/17"
	[ "$(cat "$M/T/R/f/q/17")" = y ]
}

@test "a version that was pushed out is gone" {
	a_column
	for ts in 1 2 3; do echo $ts >"$C/$ts"; done
	cat "$C/1" >/dev/null
	echo 4 >"$C/4"
	[ "$(ls -U "$C" | tr '\n' ' ')" = "4 3 2 " ]
	run ! cat "$C/1"
}

# fallen TS...: not seen any more, when the kernel has been told.
fallen() {
	local ts
	for ts in "$@"; do
		settled [ ! -e "$C/$ts" ]
	done
}

# The kernel has seen each version, and believes in it for an hour.
@test "versions that were pushed out are gone, by whatever way and however many are kept" {
	not_over_hbase "it counts the puts of one row of a stream as one version"
	a_column
	sed -i 's/versions 3/versions 2000/' "$M/T/.schema"
	seq 1000 2999 | awk '{ print "R\tf:q\t" $1 "\tv" }' > "$M/T/.cells"
	[ "$(ls -l "$C" | grep -c ^-)" -eq 2000 ]
	# One that is read, and one that is not written yet and older than all.
	exec 5> "$C/999" 6< "$C/1000"
	echo x > "$C/latest"
	fallen 1000
	echo x > "$C/5000"
	echo x >> "$C/latest"
	echo x > "$M/T/R/f:q"
	head -c 8 /dev/zero > "$C/latest"
	echo 1 > "$C/counter"
	fallen 1001 1002 1003 1004 1005
	rm "$C/1006" "$C/2000"
	echo x > "$C/latest"
	echo x > "$C/latest"
	# A move takes no place: the old version goes first.
	mv "$C/5000" "$C/6000"
	[ -e "$C/1007" ]
	echo x > "$C/latest"
	fallen 1007
	"$CELLCTL" put "$M" T R f:q x
	[ ! -e "$C/1008" ]
	echo x > "$M/T/.put/R/f:q"
	fallen 1009
	[ "$(cat <&6)" = v ]
	[ -e "$C/1010" ]
	exec 5>&- 6<&-
	[ "$(ls "$C" | wc -l)" -eq 2000 ]
}

@test "a version that was pushed out while it is written is as one that was removed" {
	a_column
	python3 - "$C" <<-'PY'
	import os, sys
	def put(name):
	    with open(os.path.join(sys.argv[1], name), 'w') as f:
	        f.write('x')
	fd = os.open(os.path.join(sys.argv[1], '1'), os.O_RDWR | os.O_CREAT)
	os.write(fd, b'abc')
	os.fsync(fd)
	assert (os.fstat(fd).st_size, os.fstat(fd).st_nlink) == (3, 1)
	for name in '234':
	    put(name)
	assert (os.fstat(fd).st_size, os.fstat(fd).st_nlink) == (3, 0)
	os.write(fd, b'de')
	assert os.fstat(fd).st_size == 5
	os.ftruncate(fd, 4)
	assert os.fstat(fd).st_size == 4
	os.close(fd)
	PY
	fallen 1
	[ "$(ls -U "$C" | tr '\n' ' ')" = "4 3 2 " ]
}

@test "a handle reads one value, whatever is written meanwhile" {
	a_row
	echo old >"$M/T/R/f:q"
	exec 5<"$M/T/R/f:q"
	echo much newer >"$M/T/R/f:q"
	[ "$(cat <&5)" = old ]
	exec 5<&-
}

@test "rows that are deleted while they are listed cost no other its place" {
	mkdir "$M/T"
	for i in {100..399}; do put "$i"; done
	find "$M/T" -mindepth 1 -maxdepth 1 -type d -exec rm -r {} +
	[ -z "$(ls "$M/T")" ]
}

@test "xattrs are not supported and cost nothing" {
	a_row
	echo x >"$M/T/R/f:q"
	python3 - "$M/T/R/f:q" <<-'EOF'
	import errno, os, sys
	f = sys.argv[1]
	for call in (lambda: os.setxattr(f, 'user.a', b'b'),
	             lambda: os.getxattr(f, 'user.a'),
	             lambda: os.removexattr(f, 'user.a')):
	    try:
	        call()
	    except OSError as e:
	        assert e.errno == errno.EOPNOTSUPP, e
	    else:
	        sys.exit('it was done')
	EOF
}

@test "statfs tells the disk of the store" {
	not_over_hbase "it has no disk of this machine"
	[ "$(stat -f -c '%l' "$M")" = 255 ]
	# Others write there meanwhile.
	stat -f -c '%b %f %a %S' "$STORE" "$M" | awk '
		function near(a, b) { return a - b < all / 20 && b - a < all / 20 }
		NR == 1 { all = $1 * $4; left = $2 * $4; may = $3 * $4 }
		NR == 2 { exit !(all > 0 && all - $1 * $4 < 4096 &&
			$1 * $4 <= all && near(left, $2 * $4) &&
			near(may, $3 * $4)) }'
}

# few_nodes: the kernel has forgotten; what it spares once it is asked for anew.
few_nodes() {
	echo 2 >/proc/sys/vm/drop_caches
	[ "$(nodes)" -lt 20 ]
}

@test "nodes die with forget" {
	drop_caches_from_now_on
	mkdir "$M/T"
	for i in {100..199}; do put "$i"; done
	ls -lR "$M" >/dev/null
	[ "$(nodes)" -gt 300 ]
	settled few_nodes
}

@test "who goes back from the end to the last name is given it again" {
	mkdir "$M/T" "$M/U"
	python3 - "$M" <<-'END'
		import ctypes, os, sys

		class Entry(ctypes.Structure):
		    _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64),
		                ("len", ctypes.c_uint16), ("kind", ctypes.c_uint8),
		                ("name", ctypes.c_char * 256)]

		libc = ctypes.CDLL(None, use_errno=True)
		libc.opendir.restype = ctypes.c_void_p
		libc.readdir.restype = ctypes.POINTER(Entry)
		for f in libc.readdir, libc.seekdir, libc.closedir:
		    f.argtypes = [ctypes.c_void_p]
		libc.seekdir.argtypes += [ctypes.c_long]
		d = libc.opendir(sys.argv[1].encode())
		offsets = [0]
		while entry := libc.readdir(d):
		    offsets.append(entry[0].off)
		    last = entry[0].name
		for name in "T", "U":
		    # Who uses what was listed is given attributes with the next ones.
		    os.stat(f"{sys.argv[1]}/{name}")
		    libc.seekdir(d, offsets[-2])
		    assert libc.readdir(d)[0].name == last == b"U"
		    assert not libc.readdir(d)
		libc.closedir(d)
	END
}

@test "who asks for the first name of many does not wait for hundreds" {
	local nodes

	mkdir "$M/T"
	seq -f '%04g	f:q	5	x' 1000 > "$M/T/.cells"
	"$BUILD/tools/mount-calls" "$M/T" same 1 first > "$T/first"
	nodes=$(awk '$1 == "cellfs_nodes" { print $2 }' "$M/.cellfs/metrics")
	[ "$nodes" -gt 20 ]
	[ "$nodes" -lt 60 ]
	# All of them are listed all the same, each once.
	[ "$(ls -U "$M/T" | sort -u | wc -l)" -eq 1000 ]
	[ "$(ls -U "$M/T" | wc -l)" -eq 1000 ]
}
