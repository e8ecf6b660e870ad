# Tools that make files of their own on the way to one: each goes on working
# though an ordinary file is refused.
load helper

# left DIR NAMES: that is what lies there, hidden names too.
left() {
	[ "$(ls -A "$1" | tr '\n' ' ')" = "$2${2:+ }" ] || {
		echo "in $1: $(ls -A "$1" | tr '\n' ' ')" >&2
		return 1
	}
}

# a_source: $T/src is a column's directory of versions 5 and 6.
a_source() {
	mkdir -p "$T/src"
	echo five > "$T/src/5"
	echo six > "$T/src/6"
}

@test "rsync in each of its ways of writing" {
	a_column
	a_source
	echo zero > "$C/5"
	for how in "" --inplace --delay-updates --partial \
		--partial-dir=.rsync-partial --append-verify --whole-file \
		"--temp-dir=.t"; do
		echo "${how:-plain}" > "$T/src/5"
		mkdir -p "$C/.t"
		rsync -a --no-times $how "$T/src/" "$C/"
		rmdir "$C/.t"
		left "$C" "5 6"
		[ "$how" = --append-verify ] || cmp "$T/src/5" "$C/5"
	done
}

@test "rsync --backup keeps what it replaces, until unmount" {
	a_column
	a_source
	echo zero > "$C/5"
	rsync -a --backup "$T/src/" "$C/"
	left "$C" "5 5~ 6"
	[ "$(cat "$C/5" "$C/5~" | tr '\n' ' ')" = "five zero " ]
	rm "$C/5~"
	echo again > "$T/src/5"
	rsync -a --backup --backup-dir=.old "$T/src/" "$C/"
	[ "$(cat "$C/.old/5")" = five ]
	rm -r "$C/.old"
	left "$C" "5 6"
}

@test "vim with backup, writebackup and swap file, of a version and of F:Q" {
	a_column
	for copy in yes no auto; do
		for backup in backup nobackup; do
			echo one > "$C/5"
			vim.tiny -es -c "set $backup writebackup swapfile" \
				-c "set backupskip= backupcopy=$copy" -c '%s/one/two/' \
				-c wq "$C/5" < /dev/null
			[ "$(cat "$C/5")" = two ]
			[ "$backup" = nobackup ] || {
				[ "$(cat "$C/5~")" = one ]
				rm "$C/5~"
			}
			left "$C" 5
		done
	done
	vim.tiny -es -c "set nobackup writebackup backupskip=" -c '%s/two/three/' -c wq \
		"$M/T/R/f:q" < /dev/null
	[ "$(cat "$M/T/R/f:q")" = three ]
	left "$M/T/R" f
}

# As emacs and nano save: an autosave, a lock, a backup, then the file anew.
@test "the names of emacs, nano and desktops on the way to a version" {
	a_column
	echo one > "$C/5"
	echo lock > "$C/.#5"
	echo draft > "$C/#5#"
	mv "$C/5" "$C/5~"
	bash -c "set -C; echo two > '$C/5'"
	rm "$C/#5#" "$C/.#5"
	left "$C" "5 5~"
	echo lock > "$C/.5.swp"
	cp "$C/5" "$C/5~"
	echo three > "$C/5"
	rm "$C/.5.swp" "$C/5~"
	echo four > "$C/.goutputstream-AB12CD"
	mv "$C/.goutputstream-AB12CD" "$C/5"
	[ "$(cat "$C/5")" = four ]
	left "$C" 5
}

@test "sed -i, perl -i and sort -o in place, with backups too" {
	a_column
	echo one > "$C/5"
	sed -i s/one/two/ "$C/5"
	perl -i -pe s/two/three/ "$C/5"
	[ "$(cat "$C/5")" = three ]
	left "$C" 5
	sed -i.bak s/three/four/ "$C/5"
	[ "$(cat "$C/5" "$C/5.bak" | tr '\n' ' ')" = "four three " ]
	perl -i.orig -pe s/four/five/ "$C/5"
	[ "$(cat "$C/5" "$C/5.orig" | tr '\n' ' ')" = "five four " ]
	rm "$C/5.bak" "$C/5.orig"
	printf 'b\na\n' > "$C/5"
	sort -o "$C/5" "$C/5"
	[ "$(tr '\n' ' ' < "$C/5")" = "a b " ]
	left "$C" 5
}

@test "tar and cp -r bring rows, columns and versions" {
	mkdir -p "$T/tree/R/f" "$M/T" "$M/U"
	a_source
	mv "$T/src" "$T/tree/R/f/q"
	tar -C "$T/tree" -c . | tar -C "$M/T" -x
	cp -r "$T/tree/R" "$M/U/"
	diff -r "$T/tree/R" "$M/T/R"
	diff -r "$T/tree/R" "$M/U/R"
	cp -a "$T/tree/R/f/q/5" "$M/U/R/f/q/7"
	left "$M/U/R/f/q" "5 6 7"
}

@test "cp, mv and install with backups" {
	a_column
	a_source
	echo zero > "$C/5"
	cp --backup "$T/src/5" "$C/5"
	[ "$(cat "$C/5" "$C/5~" | tr '\n' ' ')" = "five zero " ]
	cp --backup=numbered "$T/src/6" "$C/5"
	[ "$(cat "$C/5" "$C/5.~1~" | tr '\n' ' ')" = "six five " ]
	install --backup=simple -S .bak "$T/src/5" "$C/5"
	[ "$(cat "$C/5" "$C/5.bak" | tr '\n' ' ')" = "five six " ]
	mv --backup=simple -S .orig "$T/src/6" "$C/5"
	[ "$(cat "$C/5" "$C/5.orig" | tr '\n' ' ')" = "six five " ]
	rm "$C/5~" "$C/5.~1~" "$C/5.bak" "$C/5.orig"
	left "$C" 5
	install "$T/src/5" "$C/8"
	left "$C" "5 8"
}

@test "patch with .orig and .rej" {
	a_column
	printf 'a\nb\n' > "$C/5"
	diff -u "$C/5" - > "$T/diff" <<-EOT || true
	a
	c
	EOT
	patch -s -b "$C/5" "$T/diff"
	[ "$(tr '\n' ' ' < "$C/5")" = "a c " ]
	[ "$(tr '\n' ' ' < "$C/5.orig")" = "a b " ]
	rm "$C/5.orig"
	run -1 patch -s -f "$C/5" "$T/diff"
	[ -s "$C/5.rej" ]
	rm -f "$C/5.rej" "$C/5.orig"
	left "$C" 5
}

@test "a lock file as git makes it, renamed to the value" {
	a_column
	echo one > "$C/5"
	bash -c "set -C; echo two > '$C/5.lock'"
	run ! bash -c "set -C; echo three > '$C/5.lock'"
	mv "$C/5.lock" "$C/5"
	[ "$(cat "$C/5")" = two ]
	python3 - "$C" <<-'PY'
	import os, sys, tempfile
	with tempfile.NamedTemporaryFile("w", dir=sys.argv[1], delete=False) as f:
	    f.write("six\n")
	os.replace(f.name, sys.argv[1] + "/6")
	PY
	mv "$(mktemp -p "$C")" "$C/7"
	left "$C" "5 6 7"
	[ "$(cat "$C/6")" = six ]
}
