# Keys whose names do not fit into one component.

load helper

# Of 250 bytes (a piece), of 600 (three components), and beside them.
keys() {
	A250=$(printf 'a%.0s' {1..250})
	REST=$(printf 'b%.0s' {1..100})
	LONG=$A250%+/$A250%+/$REST
	mkdir -p "$M/T/$LONG/f/q"
	echo long > "$M/T/$LONG/f/q/100"
	mkdir -p "$M/T/$A250/f/q" "$M/T/z/f/$A250%+/$A250%+/$REST"
	echo piece > "$M/T/$A250/f/q/100"
	echo column > "$M/T/z/f/$A250%+/$A250%+/$REST/100"
}

@test "long rows and qualifiers are read back from an ordinary filesystem" {
	keys
	mkdir "$T/copy" "$T/cp" "$M/U"
	rsync -a "$M/T/" "$T/copy/"
	diff -r "$M/T" "$T/copy"
	rsync -a "$T/copy/" "$M/U/"
	diff -r "$M/T" "$M/U"
	cp -r "$M/T" "$T/cp/"
	diff -r "$M/T" "$T/cp/T"
	cp -r "$T/cp/T" "$M/V"
	remount_store
	diff -r "$T/copy" "$M/V"
	[ "$(cat "$M/V/$LONG/f/q/100")" = long ]
	[ "$(cat "$M/V/z/f/$A250%+/$A250%+/$REST/latest")" = column ]
	tar -C "$M/V" -cf "$T/tar" .
	mkdir "$T/untar"
	tar -C "$T/untar" -xf "$T/tar"
	diff -r "$M/T" "$T/untar"
	rm -r "$M/V" "$M/U"
	[ "$(ls "$M")" = T ]
}

@test "long keys in views, in snapshots, in streams and as stages" {
	keys
	mkdir "$M/T/.snapshot/s"
	[ "$(cat "$M/T/.prefix/aaa/$LONG/f:q")" = long ]
	[ "$(ls "$M/T/.range/a..b" | wc -l)" -eq 2 ]
	[ "$(cat "$M/T/.at/now/$LONG/f/q")" = long ]
	[ "$(cat "$M/T/.at/now/z/f/$A250%+/$A250%+/$REST")" = column ]
	[ "$(cat "$M/T/.snapshot/s/$LONG/f/q/latest")" = long ]
	[ "$(ls "$M/T/.snapshot/s/$A250%+/$A250%+")" = "$REST" ]
	[ "$(cat "$M/T/z/f/.prefix/aa/$A250%+/$A250%+/$REST/100")" = column ]
	[ "$(cut -f 4 "$M/T/.cells" | tr '\n' ' ')" = \
		"piece%0A long%0A column%0A " ]
	mkdir "$M/U"
	cat "$M/T/.cells" > "$M/U/.cells"
	diff -r "$M/T" "$M/U" | grep -v "^diff.*schema" | grep ^Only || true
	[ "$(cat "$M/U/$LONG/f:q")" = long ]
	rm -r "$M/T/$A250%+"
	[ "$(cat "$M/T/.snapshot/s/$LONG/f:q")" = long ]
	[ "$(ls "$M/T" | tr '\n' ' ')" = "$A250 z " ]
}

@test "an empty row of 250 bytes and the directory of a longer one are two" {
	A250=$(printf 'a%.0s' {1..250})
	mkdir "$M/T"
	mkdir "$M/T/$A250" "$M/T/$A250%+"
	[ "$(ls "$M/T" | wc -l)" -eq 2 ]
	rmdir "$M/T/$A250%+"
	[ "$(ls "$M/T")" = "$A250" ]
	mkdir "$M/T/$A250%+" "$M/T/$A250%+/bbbbbbb"
	rmdir "$M/T/$A250"
	[ "$(ls "$M/T")" = "$A250%+" ]
	mkdir "$M/T/$A250"
	mkdir -p "$M/T/$A250%+/bbbbbbb/f"
	echo x > "$M/T/$A250%+/bbbbbbb/f:q"
	[ "$(ls "$M/T" | wc -l)" -eq 2 ]
	ls -l "$M/T" > /dev/null
	mkdir -p "$M/T/$A250/f"
	echo y > "$M/T/$A250/f:q"
	[ "$(ls "$M/T" | wc -l)" -eq 2 ]
	rm -r "$M/T/$A250%+"
	[ "$(ls "$M/T")" = "$A250" ]
	[ "$(cat "$M/T/$A250/f:q")" = y ]
	mkdir -p "$M/T/z/f"
	mkdir "$M/T/z/f/$A250" "$M/T/z/f/$A250%+"
	[ "$(ls "$M/T/z/f" | wc -l)" -eq 2 ]
	rmdir "$M/T/z/f/$A250"
	[ "$(ls "$M/T/z/f")" = "$A250%+" ]
}

@test "a row key of 4,000 bytes is made, read and removed as any" {
	mkdir "$M/T"
	A250=$(printf 'a%.0s' {1..250})
	# As long as a path may be in one call.
	P=$M/T/$(printf "$A250%%+/%.0s" {1..14})
	mkdir -p "$P/bbbbbbbbb/f"
	echo deep > "$P/bbbbbbbbb/f:q"
	remount_store
	[ "$(cat "$P/bbbbbbbbb/f/q/latest")" = deep ]
	[ "$(find "$M/T" -type f ! -name .schema -exec cat {} +)" = deep ]
	[ "$(cut -f 1 "$M/T/.cells" | tr -d '\n' | wc -c)" -eq 3509 ]
	rm -r "$M/T/$A250%+"
	[ -z "$(ls "$M/T")" ]
}

# deep DIR BYTES...: makes the directories of a key of so many bytes, level by
# level, since no path is that long; behind it the rest, and a version.
deep() {
	python3 - "$@" <<-'PY'
	import os, sys
	n, names = int(sys.argv[2]), []
	while n > 255:
	    names.append("a" * 250 + "%+")
	    n -= 250
	at = os.open(sys.argv[1], os.O_DIRECTORY)
	for name in names + ["a" * n] + sys.argv[3:]:
	    os.mkdir(name, dir_fd=at)
	    below = os.open(name, os.O_DIRECTORY, dir_fd=at)
	    os.close(at)
	    at = below
	os.write(os.open("5", os.O_WRONLY | os.O_CREAT, dir_fd=at), b"x")
	PY
}

# cpu_ms: what the daemon has used until now.
cpu_ms() {
	awk '{ print ($14 + $15) * 10 }' "/proc/$DAEMON/stat"
}

# use BYTES: makes, finds, reads and removes keys of so many bytes.
use() {
	mkdir -p "$M/T/r/f"
	deep "$M/T" "$1" f q
	deep "$M/T/r/f" "$1"
	[ "$(find "$M/T" -type f -name 5 | wc -l)" -eq 2 ]
	grep -qr x "$M/T"
	rm -r "$M"/T/*
	[ -z "$(ls "$M/T")" ]
}

@test "a key of 32,000 bytes costs no more than its length a request" {
	local i before between
	before=$(cpu_ms)
	for i in {1..8}; do
		use 4000
	done
	between=$(cpu_ms)
	use 32000
	# Four times what eight short ones cost; fifty if each piece costs all
	# before it.
	[ $(($(cpu_ms) - between)) -lt $((16 * (between - before))) ]
}

@test "cp and rsync refuse a path that is longer than the kernel takes" {
	mkdir "$M/T" "$T/cp" "$T/rsync"
	deep "$M/T" 5000 f q
	run -1 cp -r "$M/T" "$T/cp/"
	[[ $output == *"File name too long"* ]]
	run ! rsync -a "$M/T/" "$T/rsync/"
	"$CELLCTL" export "$M" T > "$T/cells"
	"$CELLCTL" import --create "$T/s" U < "$T/cells"
	"$CELLCTL" scan "$T/s" U --rows | grep -qx 'a\{5000\}'
}

@test "a family's name has at most 127 bytes" {
	mkdir "$M/T" "$M/T/r"
	F127=$(printf 'f%.0s' {1..127})
	mkdir "$M/T/r/$F127"
	echo x > "$M/T/r/$F127:q"
	[ "$(ls "$M/T/r")" = "$F127" ]
	run ! mkdir "$M/T/r/f$F127"
	run ! bash -c "echo x > '$M/T/r/f$F127:q'"
	cp "$M/T/.schema" "$T/before"
	run ! bash -c "printf 'families open\nfamily f$F127\n' > '$M/T/.schema'"
	run ! bash -c "printf 'r\tf$F127:q\t1\tx\n' > '$M/T/.cells'"
	cmp "$T/before" "$M/T/.schema"
}
