# T/.put: a directory in which every row exists.

load helper

@test "one echo puts into a row that is new" {
	mkdir "$M/T"
	[ ! -e "$M/T/new" ]
	echo x > "$M/T/.put/new/f:q"
	[ "$(cat "$M/T/new/f:q")" = x ]
	[ "$(ls "$M/T")" = new ]
	[ "$(ls "$M/T/new/f/q" | wc -l)" -eq 1 ]
	remount_store
	[ "$(cat "$M/T/new/f:q" "$M/T/.put/new/f/q/latest")" = "x
x" ]
}

@test "a row that was just absent is there at once" {
	mkdir "$M/T"
	python3 - "$M/T" <<-'END'
		import os, sys
		table, put = sys.argv[1], sys.argv[1] + "/.put"
		def absent(row):
		    assert not os.path.exists(f"{table}/{row}")
		for i in range(50):
		    absent(f"r{i}")
		    with open(f"{put}/r{i}/f:q", "w") as f:
		        f.write(f"{i}\n")
		    with open(f"{table}/r{i}/f:q") as f:
		        assert f.read() == f"{i}\n"
		    absent(f"s{i}")
		    open(f"{put}/s{i}/.tmp", "w").close()
		    os.rename(f"{put}/s{i}/.tmp", f"{put}/s{i}/f:q")
		    os.stat(f"{table}/s{i}/f:q")
		    absent(f"d{i}")
		    os.mkdir(f"{put}/d{i}/f")
		    os.stat(f"{table}/d{i}/f")
	END
}

@test "a row that was just absent is there at once when a stream makes it" {
	mkdir "$M/T"
	for i in $(seq 50); do
		[ ! -e "$M/T/r$i" ]
		printf 'r%s\tf:q\t1\tx\n' "$i" > "$M/T/.put/r$i/.cells"
		[ "$(cat "$M/T/r$i/f:q")" = x ]
		[ ! -e "$M/T/s$i" ]
		printf 's%s\tf:q\t1\tx\n' "$i" > "$M/T/.cells"
		[ -e "$M/T/s$i/f:q" ]
		printf 's%s\t\t\t\tdelete-row\n' "$i" > "$M/T/.cells"
		[ ! -e "$M/T/s$i" ]
	done
}

# The kernel holds for the rename what the notice of the row's name wants, so that a
# wait for it would last its whole 100 ms.
@test "a file that leaves the table's directory waits for nothing" {
	mkdir -p "$M/T/.put/r/f"
	python3 - "$M/T" <<-'END'
		import os, sys, time
		table, took = sys.argv[1], []
		for n in range(10):
		    for row in (f"new{n}", "r"):
		        assert not os.path.exists(f"{table}/absent{n}")
		        open(f"{table}/.tmp", "w").close()
		        began = time.monotonic()
		        os.rename(f"{table}/.tmp", f"{table}/.put/{row}/f:q")
		        took.append((row == "r", time.monotonic() - began))
		for known in (False, True):
		    assert min(t for k, t in took if k == known) < 0.09, took
	END
}

@test "a row that is staged and moved there is the table's, and goes with its cells" {
	mkdir -p "$M/T/.stage/r"
	echo x > "$M/T/.stage/r/f:q"
	mv -T "$M/T/.stage/r" "$M/T/.put/r"
	[ "$(cat "$M/T/r/f:q")" = x ]
	[ -z "$(ls "$M/T/.put")" ]
	printf 'r\t\t\t\tdelete-row\n' > "$M/T/.cells"
	[ -z "$(ls "$M/T")$(ls "$M/T/.put")" ]
}

@test "it is not listed, lists nothing and stays" {
	mkdir "$M/T"
	echo x > "$M/T/.put/r/f:q"
	[ "$(ls -A "$M/T" | tr '\n' ' ')" = ".schema r " ]
	[ -z "$(ls -A "$M/T/.put")" ]
	[ "$(find "$M/T" -type f ! -name .schema | wc -l)" -eq 1 ]
	run ! rmdir "$M/T/.put"
	run ! mv "$M/T/.put" "$M/T/x"
	run ! mkdir "$M/T/.put/.x"
	run ! mkdir "$M/T/.put/r"
	rm -r "$M/T/r"
	rmdir "$M/T"
}

@test "to look for a row there makes none" {
	mkdir "$M/T"
	[ -d "$M/T/.put/r" ]
	[ -z "$(ls "$M/T/.put/r")" ]
	[ ! -e "$M/T/.put/r/f" ]
	[ ! -e "$M/T/.put/r/f:q" ]
	[ ! -e "$M/T/.put/r/f/q/latest" ]
	[ -z "$(ls "$M/T")" ]
	rmdir "$M/T"
}

@test "all that a row holds is beneath it" {
	mkdir "$M/T"
	mkdir -p "$M/T/.put/r/f/q"
	[ -d "$M/T/r/f/q" ]
	P=$M/T/.put/r
	echo one > "$P/f/q/1000"
	echo two > "$P/f/q/latest"
	echo three >> "$P/f/q/latest"
	mkdir -p "$P/f/n"
	echo 5 > "$P/f/n/counter"
	diff -r "$P" "$M/T/r"
	diff "$P/.cells" "$M/T/r/.cells"
	[ "$(cat "$P/f/q/@-1")" = two ]
	[ "$(cat "$P/.at/now/f/q")" = "two
three" ]
	printf 'r\tg:h\t7\tline\n' > "$P/.cells"
	[ "$(cat "$M/T/r/g:h")" = line ]
	mv "$P/g:h" "$P/g:moved"
	[ "$(cat "$M/T/r/g:moved")" = line ]
	mv "$M/T/r/g:moved" "$P/g:back"
	[ "$(cat "$M/T/r/g:back")" = line ]
	cp -r "$P" "$T/copy"
	diff -r "$M/T/r" "$T/copy"
	rm -r "$P"
	[ ! -e "$M/T/r" ]
	[ -z "$(ls "$M/T")" ]
}

@test "rsync, cp -r and sed -i work on it" {
	mkdir -p "$M/T" "$T/from/f/q"
	echo a b > "$T/from/f/q/1000"
	cp -r "$T/from/." "$M/T/.put/cp/"
	rsync -r "$T/from/" "$M/T/.put/rsync/"
	[ "$(cat "$M/T/cp/f/q/1000" "$M/T/rsync/f/q/1000")" = "a b
a b" ]
	sed -i s/b/c/ "$M/T/.put/cp/f/q/1000"
	[ "$(cat "$M/T/cp/f/q/1000")" = "a c" ]
}

# same NAME: what the kernel says of the cell by both of its paths.
same() {
	cmp "$M/T/r/$1" "$M/T/.put/r/$1" &&
		[ "$(stat -c '%s %i %Y' "$M/T/r/$1")" = \
			"$(stat -c '%s %i %Y' "$M/T/.put/r/$1")" ]
}

@test "what one path changes is not old by the other" {
	local i a b
	mkdir -p "$M/T/r/f/q"
	echo first > "$M/T/r/f/q/1000"
	for i in 1 2 3 4 5 6; do
		a=r b=.put/r
		[ $((i % 2)) -eq 0 ] || a=.put/r b=r
		same f:q
		same f/q/1000
		ls -l "$M/T/r/f/q" "$M/T/.put/r/f/q" > "$T/seen"
		printf '%*s' "$i" x > "$M/T/$a/f/q/1000"
		[ "$(wc -c < "$M/T/$b/f/q/1000")" -eq "$i" ]
		[ "$(stat -c %s "$M/T/$b/f/q/1000")" -eq "$i" ]
		[ "$(stat -c %s "$M/T/$b/f:q")" -eq "$i" ]
		same f/q/latest
		echo "$i" > "$M/T/$a/f/q/2000"
		[ "$(cat "$M/T/$b/f:q")" = "$i" ]
		[ "$(ls "$M/T/$b/f/q" | wc -l)" -eq 2 ]
		rm "$M/T/$a/f/q/2000"
		[ ! -e "$M/T/$b/f/q/2000" ]
		[ "$(ls "$M/T/$b/f/q")" = 1000 ]
		rm "$M/T/$a/f:q"
		[ ! -e "$M/T/$b/f/q/1000" ]
		[ ! -e "$M/T/$b/f:q" ]
		[ -d "$M/T/$b/f/q" ]
		rmdir "$M/T/$a/f/q"
		[ ! -e "$M/T/$b/f/q" ]
		mkdir "$M/T/$b/f/q"
		[ -d "$M/T/$a/f/q" ]
		echo again > "$M/T/$b/f/q/1000"
	done
}

@test "keys of 300 bytes are rows there, too" {
	local long
	mkdir "$M/T"
	long=$(printf 'k%.0s' $(seq 250))
	long=$long%+/${long::50}
	echo x > "$M/T/.put/$long/f:q"
	[ "$(cat "$M/T/$long/f:q")" = x ]
	mkdir -p "$M/T/.put/$long/f/$long"
	echo y > "$M/T/.put/$long/f/$long/latest"
	[ "$(cat "$M/T/$long/f/$long/latest")" = y ]
	rm -r "$M/T/.put/${long%%/*}"
	[ -z "$(ls "$M/T")" ]
}

@test "scratch files and directories are listed where they were made" {
	local P="$M/T/.put/new" c

	mkdir "$M/T"
	echo x > "$P/.swp"
	mkdir "$P/.partial"
	echo y > "$P/.partial/any"
	[ "$(ls -A "$P" | tr '\n' ' ')" = ".partial .swp " ]
	[ "$(ls "$P/.partial")" = any ]
	mkdir -p "$M/T/new/f"
	echo z > "$M/T/new/.other"
	[ "$(ls -A "$P" | tr '\n' ' ')" = ".partial .swp f " ]
	[ "$(ls -A "$M/T/new" | tr '\n' ' ')" = ".other f " ]
	rm "$M/T/new/.other"
	mv "$P/.swp" "$P/f:q"
	[ "$(cat "$M/T/new/f:q")" = x ]
	for c in a b c d e f g; do
		echo "$c" > "$P/f/q/.$c"
		mkdir "$P/f/.$c" "$P/f/$c"
	done
	[ "$(ls -A "$P/f/q" | wc -l)" -eq 8 ]
	[ "$(ls -A "$P/f" | wc -l)" -eq 15 ]
	rm -r "$P"
	[ -z "$(ls -A "$M/T" | grep -v .schema)" ]
}

# refused WORDS COMMAND...: fails, and the last line of errors has the words.
refused() {
	local words=$1

	shift
	run ! "$@"
	tail -n 1 "$M/.cellfs/errors" | grep -qF -- "$words" || {
		tail -n 1 "$M/.cellfs/errors"
		return 1
	}
}

@test "no row is renamed or nested there, and every refusal has its words" {
	mkdir "$M/T"
	echo x > "$M/T/.put/r1/f:q"
	mkdir "$M/T/r2"
	cat "$M/T/.cells" > "$T/before"
	refused "mv moves into what exists" mv "$M/T/.put/r1" "$M/T/.put/r2"
	refused "mv moves into what exists" mv "$M/T/.put/r1" "$M/T/.put/r3"
	refused "mv moves into what exists" mv "$M/T/r1" "$M/T/.put/r3"
	refused "mv -T ROW NEWROW" mv -T "$M/T/.put/r1" "$M/T/.put/r3"
	refused "mv -T ROW NEWROW" mv -T "$M/T/.put/r2" "$M/T/.put/r3"
	refused "mv -T ROW NEWROW" mv -T "$M/T/r1" "$M/T/.put/r2"
	refused "is no data" mv "$M/T/.put" "$M/T/x"
	refused "is no data" rmdir "$M/T/.put"
	refused "no '.cells' here: see" cat "$M/T/.put/.cells"
	refused "no '.first' here: see" ls "$M/T/.put/.first/1"
	refused "did you mean .range?" ls "$M/T/.put/.rnge/a..b"
	refused "it holds cells" rmdir "$M/T/.put/r1"
	refused 'that is "%2Da"' mkdir -- "$M/T/.put/-a"
	refused FAMILY:QUALIFIER touch "$M/T/.put/r1/notes"
	cmp "$T/before" "$M/T/.cells"
	[ "$(ls "$M/T" | tr '\n' ' ')" = "r1 r2 " ]
	[ "$(grep "^family " "$M/T/.schema")" = "family f" ]
	mv "$M/T/.put/r1" "$M/T/r4"
	[ "$(cat "$M/T/r4/f:q")" = x ]
}

@test "views, snapshots and a mount for reading have none to write into" {
	mkdir "$M/T"
	echo x > "$M/T/.put/r/f:q"
	mkdir "$M/T/.snapshot/s"
	[ ! -e "$M/T/.snapshot/s/.put" ]
	[ ! -e "$M/T/.at/now/.put" ]
	run ! bash -c "echo y > '$M/T/.put/r/.at/now/f/q'"
	remount_store -o ro
	run ! bash -c "echo y > '$M/T/.put/r/f:q'"
	[ "$(cat "$M/T/.put/r/f:q")" = x ]
}

@test "a fixed table refuses other families there, too" {
	mkdir "$M/T"
	printf 'family f\n' > "$M/T/.schema"
	run ! bash -c "echo x > '$M/T/.put/r/g:q'"
	run ! mkdir "$M/T/.put/r/g"
	echo x > "$M/T/.put/r/f:q"
	[ "$(ls "$M/T/r")" = f ]
}

@test "a directory there is refused where the table has a file of its name" {
	mkdir -p "$M/T/r/f"
	touch "$M/T/r/x.tmp" "$M/T/r/f/y.tmp"
	run ! mkdir "$M/T/.put/r/x.tmp"
	[[ $output == *"File exists" ]]
	run ! mkdir "$M/T/.put/r/f/y.tmp"
	[[ $output == *"File exists" ]]
	rm "$M/T/r/x.tmp"
	mkdir "$M/T/.put/r/x.tmp"
	[ "$(ls "$M/T/r")" = "f
x.tmp" ]
}

@test "who is in a directory that rmdir refuses can go on in it" {
	mkdir "$M/T" "$M/T/R" "$M/T/R/f"
	cd "$M/T/.put/R"
	run ! rmdir "$M/T/.put/R"
	echo v > f:q
	cd /
	[ "$(cat "$M/T/R/f:q")" = v ]
}
