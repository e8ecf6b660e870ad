load helper

# fill VALUE: rows a, b, c of table T.
fill() {
	local r
	for r in a b c; do
		echo "$1" > "$M/T/$r/f:q"
	done
}

a_table() {
	mkdir "$M/T" "$M/T/a" "$M/T/b" "$M/T/c"
	fill old
}

@test "mkdir takes a snapshot that shows the table as it was" {
	a_table
	mkdir "$M/T/.snapshot/nightly"
	cp -r "$M/T" "$T/then"
	fill new
	rm -r "$M/T/b"
	mkdir "$M/T/d"
	echo d > "$M/T/d/f:q"
	[ "$(ls "$M/T/.snapshot")" = nightly ]
	[ "$(ls "$M/T/.snapshot/nightly")" = "a
b
c" ]
	[ "$(cat "$M/T/.snapshot/nightly/b/f:q")" = old ]
	[ "$(cat "$M/T/.snapshot/nightly/a/f/q/latest")" = old ]
	[ "$(cat "$M/T/a/f:q")" = new ]
	[ ! -e "$M/T/.snapshot/nightly/d" ]
	diff -r "$T/then" "$M/T/.snapshot/nightly"
	run ! diff -r "$M/T" "$M/T/.snapshot/nightly"
}

@test "a snapshot is not listed, holds .schema and survives a restart" {
	a_table
	mkdir "$M/T/.snapshot/n"
	schema=$(cat "$M/T/.schema")
	mkdir "$M/T/a/g"
	fill new
	[ "$(ls -A "$M")" = T ]
	[ "$(ls -A "$M/T" | tr '\n' ' ')" = ".schema a b c " ]
	remount_store
	[ "$(cat "$M/T/.snapshot/n/.schema")" = "$schema" ]
	run ! grep -q "^family g" "$M/T/.snapshot/n/.schema"
	grep -rh . "$M/T/.snapshot/n/"[abc] | sort -u | grep -qx old
	[ "$(stat -c %Y "$M/T/.snapshot/n")" -ge "$(($(date +%s) - 60))" ]
}

@test "nothing changes in a snapshot" {
	a_table
	mkdir "$M/T/.snapshot/n"
	S=$M/T/.snapshot/n
	run -1 mkdir "$S/d"
	[[ $output == *"Read-only"* ]]
	run -1 bash -c "echo x > '$S/a/f:q'"
	[[ $output == *"Read-only"* ]]
	run -1 bash -c "echo x >> '$S/a/f/q/latest'"
	[[ $output == *"Read-only"* ]]
	run -1 bash -c "echo x > '$S/a/f/q/5'"
	[[ $output == *"Read-only"* ]]
	run -1 bash -c "echo x > '$S/.schema'"
	[[ $output == *"Read-only"* ]]
	run -1 rm "$S/a/f:q"
	[[ $output == *"Read-only"* ]]
	run -1 rmdir "$S/a"
	[[ $output == *"Read-only"* ]]
	run -1 mv "$S/a" "$S/d"
	[[ $output == *"Read-only"* ]]
	run -1 chmod 700 "$S"
	[[ $output == *"Read-only"* ]]
	[ "$(cat "$S/a/f:q")" = old ]
}

@test "rmdir drops a snapshot, mv renames it" {
	not_over_hbase "it renames no snapshot"
	a_table
	mkdir "$M/T/.snapshot/a" "$M/T/.snapshot/b"
	run -1 mkdir "$M/T/.snapshot/a"
	mv "$M/T/.snapshot/a" "$M/T/.snapshot/c"
	[ "$(ls "$M/T/.snapshot" | tr '\n' ' ')" = "b c " ]
	fill new
	[ "$(cat "$M/T/.snapshot/c/a/f:q")" = old ]
	run -1 mv -T "$M/T/.snapshot/c" "$M/T/.snapshot/b"
	run -1 mv "$M/T/.snapshot/c" "$M/U"
	rmdir "$M/T/.snapshot/b"
	run -1 rmdir "$M/T/.snapshot/b"
	[ "$(ls "$M/T/.snapshot")" = c ]
	remount_store
	[ "$(ls "$M/T/.snapshot")" = c ]
	[ "$(cat "$M/T/.snapshot/c/a/f:q")" = old ]
	rmdir "$M/T/.snapshot/c"
	mkdir "$M/T/.snapshot/c"
	[ "$(cat "$M/T/.snapshot/c/a/f:q")" = new ]
	run -1 touch "$M/T/.snapshot/file"
	run -1 rmdir "$M/T/.snapshot"
}

are_two_files() {
	! [ "$1" -ef "$2" ]
}

# diff(1) and cp(1) do not look into files of one number.
@test "the next snapshot of a name is another than the one renamed from it" {
	local s file
	not_over_hbase "it renames no snapshot"
	a_table
	for s in T/.snapshot .snapshot; do
		file=a/f:q
		[ "$s" != .snapshot ] || file=T/a/f:q
		fill old
		mkdir "$M/$s/a"
		[ "$(cat "$M/$s/a/$file")" = old ]
		mv "$M/$s/a" "$M/$s/b"
		fill new
		mkdir "$M/$s/a"
		[ "$(cat "$M/$s/a/$file")" = new ]
		settled are_two_files "$M/$s/a/$file" "$M/$s/b/$file"
		run -1 diff "$M/$s/a/$file" "$M/$s/b/$file"
	done
}

@test "views chain behind a snapshot" {
	not_over_hbase "it takes no snapshot of all tables"
	a_table
	mkdir "$M/T/.snapshot/n" "$M/.snapshot/all"
	fill new
	mkdir "$M/T/bb"
	echo new > "$M/T/bb/f:q"
	local s
	for s in "$M/T/.snapshot/n" "$M/.snapshot/all/T"; do
		[ "$(ls "$s/.range/a..c" | tr '\n' ' ')" = "a b " ]
		[ "$(cat "$s/.range/b../.at/now/b/f/q")" = old ]
		[ "$(ls "$s/.last/1")" = c ]
		[ "$(cat "$s/.prefix/b/b/f/q/latest")" = old ]
		[ ! -e "$s/.prefix/b/bb" ]
		[ ! -e "$s/.snapshot" ]
		run -1 mkdir "$s/.range/a..c/d"
	done
	[ ! -e "$M/T/.range/a..c/.snapshot" ]
}

@test "a table with a snapshot is not removed" {
	not_over_hbase "it takes no snapshot of all tables"
	a_table
	mkdir "$M/T/.snapshot/n"
	rm -r "$M/T/"[abc]
	run -1 rmdir "$M/T"
	[[ $output == *"not empty"* ]]
	rmdir "$M/T/.snapshot/n"
	mkdir "$M/.snapshot/all"
	run -1 rmdir "$M/T"
	[[ $output == *"not empty"* ]]
	[ "$(cat "$M/.snapshot/all/T/.schema")" = "$(cat "$M/T/.schema")" ]
	rmdir "$M/.snapshot/all" "$M/T"
}

@test "a snapshot keeps what it shows when the schema changes" {
	not_over_hbase "a snapshot has files of its own there"
	mkdir -p "$M/T/r/f/q"
	printf 'family f\n\tversions 3\n' >"$M/T/.schema"
	echo 1 >"$M/T/r/f/q/1"
	echo 2 >"$M/T/r/f/q/2"
	mkdir "$M/T/.snapshot/s"
	cp "$M/T/.schema" "$T/schema"
	run ! bash -c "printf 'family f\n\tversions 1\n' >'$M/T/.schema'"
	[[ $output == *"Device or resource busy"* ]]
	grep -q "snapshot s shows of family f what this (versions) would hide" \
		"$M/.cellfs/errors"
	diff "$T/schema" "$M/T/.schema"
	printf 'family f\n\tversions 5\n' >"$M/T/.schema"
	printf 'family f\n\tversions 3\n' >"$M/T/.schema"
	rmdir "$M/T/.snapshot/s"
	printf 'family f\n\tversions 1\n' >"$M/T/.schema"
	[ "$(ls "$M/T/r/f/q")" = 2 ]
}

@test "a snapshot shows what it did, and for as long, when the table shows more" {
	not_over_hbase "a snapshot has files of its own there"
	mkdir -p "$M/T/r/f/q" "$M/T/r/g/q"
	printf 'family f\n\tversions 1\nfamily g\n\tttl 2s\n' >"$M/T/.schema"
	echo old >"$M/T/r/f/q/1"
	echo new >"$M/T/r/f/q/2"
	now=$(($(date +%s%N) / 1000000))
	echo short >"$M/T/r/g/q/$now"
	mkdir "$M/T/.snapshot/s"
	printf 'family f\n\tversions 3\nfamily g\n\tttl forever\n' >"$M/T/.schema"
	S=$M/T/.snapshot/s/r
	# Of a view the kernel believes for a second at most what is there.
	stat "$S/g/q/$now" || true
	[ "$(ls "$S/f/q")" = 2 ]
	[ ! -e "$S/f/q/1" ]
	[ "$(cat "$S/f/q/latest" "$S/f:q")" = "new
new" ]
	[ "$(grep -c "new\|old" "$M/T/.snapshot/s/.cells")" = 1 ]
	# Who asks all the time is told, too.
	for _ in {1..300}; do
		[ -e "$S/g/q/$now" ] || break
		sleep 0.1
	done
	[ ! -e "$S/g/q/$now" ]
	[ ! -e "$S/g" ]
	[ "$(ls "$S")" = f ]
	[ "$(cat "$M/T/r/g/q/$now")" = short ]
}

@test "a snapshot of the mount shows all tables by their names of then" {
	not_over_hbase "it takes no snapshot of all tables"
	a_table
	mkdir "$M/U" "$M/U/r"
	echo u > "$M/U/r/f:q"
	mkdir "$M/.snapshot/all"
	mv "$M/U" "$M/V"
	echo v > "$M/V/r/f:q"
	fill new
	mkdir "$M/W"
	[ "$(ls "$M/.snapshot")" = all ]
	[ "$(ls "$M/.snapshot/all" | tr '\n' ' ')" = "T U " ]
	[ "$(cat "$M/.snapshot/all/U/r/f:q")" = u ]
	[ "$(cat "$M/.snapshot/all/T/b/f:q")" = old ]
	[ ! -e "$M/.snapshot/all/V" ]
	[ ! -e "$M/.snapshot/none/T" ]
	run -1 mkdir "$M/.snapshot/all/X"
	run -1 rmdir "$M/.snapshot/all/U"
	mv "$M/.snapshot/all" "$M/.snapshot/every"
	rmdir "$M/W"
	remount_store
	[ "$(cat "$M/.snapshot/every/U/r/f:q")" = u ]
	rmdir "$M/.snapshot/every"
	[ -z "$(ls "$M/.snapshot")" ]
}

@test "a snapshot of the mount shows the tables of namespaces" {
	not_over_hbase "it takes no snapshot of all tables"
	mkdir -p "$M/ns:T/R" "$M/U/R"
	echo old > "$M/ns:T/R/f:q"
	mkdir "$M/.snapshot/all"
	echo new > "$M/ns:T/R/f:q"
	[ "$(ls "$M/.snapshot/all" | tr '\n' ' ')" = "U ns:T " ]
	[ "$(cat "$M/.snapshot/all/ns:T/R/f:q")" = old ]
	run ! ls "$M/.snapshot/all/hbase:namespace"
	mv "$M/.snapshot/all" "$M/.snapshot/kept"
	remount_store
	[ "$(cat "$M/.snapshot/kept/ns:T/R/f:q")" = old ]
	"$CELLCTL" snapshot "$M" clone kept ns:copy ns:T
	[ "$(cat "$M/ns:copy/R/f:q")" = old ]
	rmdir "$M/.snapshot/kept"
	rm -r "$M/ns:T"
}

@test "a reader goes on while its snapshot is dropped" {
	a_table
	mkdir "$M/T/.snapshot/n"
	exec 7< "$M/T/.snapshot/n/b/f:q"
	cd "$M/T/.snapshot/n/a"
	fill new
	rmdir "$M/T/.snapshot/n"
	[ "$(cat <&7)" = old ]
	exec 7<&-
	cd /
	[ "$(cat "$M/T/a/f:q")" = new ]
}

@test "rsync of a snapshot under a storm of writes is the table of the mkdir" {
	mkdir "$M/T"
	local i
	for i in $(seq 100); do
		mkdir "$M/T/r$i"
		echo "$i" > "$M/T/r$i/f:q"
	done
	cp -r "$M/T" "$T/then"
	mkdir "$M/T/.snapshot/n"
	(
		while [ ! -e "$T/enough" ]; do
			for i in $(seq 100); do
				echo storm > "$M/T/r$i/f:q"
			done
		done
	) &
	storm=$!
	rsync -a "$M/T/.snapshot/n/" "$T/copy/"
	touch "$T/enough"
	wait "$storm"
	diff -r "$T/then" "$T/copy"
}

@test "cellctl takes and drops the snapshots that the mount shows" {
	not_over_hbase "it takes no snapshot of all tables"
	a_table
	unmount_store
	"$CELLCTL" snapshot -t T "$STORE" take %2Enight
	mount_store
	fill new
	[ "$(ls "$M/T/.snapshot")" = %2Enight ]
	[ "$(cat "$M/T/.snapshot/%2Enight/a/f:q")" = old ]
	mkdir "$M/.snapshot/all"
	unmount_store
	[ "$("$CELLCTL" snapshot "$STORE" | cut -f1)" = all ]
	run -3 "$CELLCTL" drop "$STORE" T --force
	[[ $output == *"snapshot all of the whole store"* ]]
	"$CELLCTL" snapshot -t T "$STORE" drop %2Enight
	"$CELLCTL" snapshot "$STORE" drop all
	"$CELLCTL" drop "$STORE" T --force
	mount_store
}

# storm: four writers until $T/enough is there. Writer W puts f:q0, f:q1 ...
# and after each f:last, and in its row sW a number over five columns by one
# line each of a stream. $T/begun and $T/done say how far each is.
storm() {
	python3 - "$M/T" "$T" <<-'PY' 3>&-
	import mmap, os, struct, sys, threading, time
	top, t = sys.argv[1:]
	def counters(name):
	    with open(f"{t}/{name}.new", "wb+") as f:
	        f.truncate(8 * 4)
	        m = mmap.mmap(f.fileno(), 0)
	    os.rename(f"{t}/{name}.new", f"{t}/{name}")
	    return m
	begun, done = counters("begun"), counters("done")
	def put(path, text):
	    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
	    os.write(fd, text.encode())
	    os.close(fd)
	def writer(w):
	    i = 0
	    while not os.path.exists(f"{t}/enough"):
	        struct.pack_into("<q", begun, 8 * w, i + 1)
	        put(f"{top}/r{w}/f:q{i}", str(i))
	        put(f"{top}/r{w}/f:last", str(i))
	        put(f"{top}/.cells", "".join(
	            f"s{w}\tf:c{c}\t\t{i}\n" for c in range(5)))
	        i += 1
	        struct.pack_into("<q", done, 8 * w, i)
	        time.sleep(0.005) # leaves some of the machine to rsync
	for w in range(4):
	    os.mkdir(f"{top}/r{w}")
	threads = [threading.Thread(target=writer, args=(w,)) for w in range(4)]
	for x in threads: x.start()
	for x in threads: x.join()
	PY
}

# Every writer has done some more than at the last look.
all_went_on() {
	[ "$(reached done | awk '$1 > 20' | wc -l)" -eq 4 ] &&
		[ "$(paste <(reached done) "$T/looked" | awk '$1 > $2 + 5' |
			wc -l)" -eq 4 ]
}

reached() {
	od -An -v -w8 -t d8 "$T/$1" | tr -d ' '
}

@test "a snapshot under a storm is the table of the mkdir" {
	local n
	mkdir "$M/T"
	storm &
	storm=$!
	settled [ -e "$T/done" ]
	yes 0 | head -n 4 > "$T/looked"
	for n in 1 2 3; do
		settled all_went_on
		reached done > "$T/before"
		mkdir "$M/T/.snapshot/s$n"
		reached begun > "$T/after"
		cp "$T/after" "$T/looked"
		rsync -a "$M/T/.snapshot/s$n/" "$T/one$n/"
		rsync -a "$M/T/.snapshot/s$n/" "$T/two$n/"
		diff -r "$T/one$n" "$T/two$n"
		# What had been done before is in it, what began behind is not,
		# and of one writer nothing is missing in between.
		python3 - "$T/one$n" "$T/before" "$T/after" <<-'PY'
		import os, sys
		top = sys.argv[1]
		before, after = ([int(x) for x in open(f)] for f in sys.argv[2:])
		def newest(column):
		    return int(open(f"{column}/" + max(os.listdir(column),
		                                       key=int)).read())
		for w in range(4):
		    f = f"{top}/r{w}/f"
		    got = sorted(int(q[1:]) for q in os.listdir(f) if q != "last")
		    n = len(got)
		    assert got == list(range(n)), (w, got)
		    assert before[w] <= n <= after[w], (w, before[w], n, after[w])
		    for q in got:
		        assert newest(f"{f}/q{q}") == q, (w, q)
		    assert n - newest(f"{f}/last") in (1, 2), (w, n)
		    c = {newest(f"{top}/s{w}/f/c{c}") for c in range(5)}
		    assert len(c) == 1 and n - c.pop() in (1, 2), (w, n, c)
		PY
	done
	touch "$T/enough"
	wait "$storm"
	# They stay what they were.
	rsync -a "$M/T/.snapshot/s1/" "$T/again/"
	diff -r "$T/one1" "$T/again"
	run ! diff -rq "$T/one1" "$T/one3"
}
