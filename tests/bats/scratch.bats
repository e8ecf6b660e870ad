load helper

@test "a note is a file in memory, listed, in any directory" {
	a_column
	for d in "$M" "$M/T" "$M/T/R" "$M/T/R/f" "$C"; do
		echo hello > "$d/n.tmp"
		[ "$(cat "$d/n.tmp")" = hello ]
		ls "$d" | grep -qx n.tmp
	done
	echo again >> "$C/n.tmp"
	[ "$(wc -l < "$C/n.tmp")" -eq 2 ]
	rm "$C/n.tmp"
	[ "$(find "$M" -name n.tmp | wc -l)" -eq 4 ]
	find "$M" -name n.tmp -delete
}

@test "a note keeps mode and times" {
	a_row
	echo x > "$M/T/R/.note"
	chmod 600 "$M/T/R/.note"
	touch -d @1000 "$M/T/R/.note"
	[ "$(stat -c '%a %Y' "$M/T/R/.note")" = "600 1000" ]
	rm "$M/T/R/.note"
}

@test "a change of a note changes its times" {
	local note was

	a_row
	note=$M/T/R/.note
	echo x > "$note"
	touch -d @1000 "$note"
	was=$(stat -c %z "$note")
	echo y >> "$note"
	[ "$(stat -c %Y "$note")" -gt 1000 ]
	[[ $(stat -c %z "$note") > $was ]]
	was=$(stat -c %z "$note")
	chmod 600 "$note"
	[[ $(stat -c %z "$note") > $was ]]
	rm "$note"
}

@test "a note takes the blocks that its bytes begin" {
	local size

	a_row
	for size in 0 1 512 513 1024 262144; do
		head -c "$size" /dev/zero > "$M/T/R/.note"
		[ "$(stat -c '%s %b' "$M/T/R/.note")" = \
			"$size $(((size + 511) / 512))" ]
	done
	rm "$M/T/R/.note"
}

@test "notes can be renamed and removed" {
	a_column
	echo x > "$C/a.tmp"
	mv "$C/a.tmp" "$C/b.tmp"
	[ "$(cat "$C/b.tmp")" = x ]
	echo y > "$C/c.tmp"
	mv "$C/b.tmp" "$C/c.tmp"
	[ "$(ls "$C")" = c.tmp ]
	[ "$(cat "$C/c.tmp")" = x ]
	rm "$C/c.tmp"
	[ -z "$(ls "$C")" ]
}

# mv(1) takes files of one inode number for the same file, and refuses.
@test "a temporary name that is made again is not the file that was moved from it" {
	local i dir
	mkdir -p "$M/T/r" "$M/T/.stage"
	for dir in "$M/T/r" "$M/T/.stage"; do
		for i in 1 2 3; do
			echo "$i" >"$dir/x.tmp"
			mv "$dir/x.tmp" "$dir/y.tmp"
			[ "$(cat "$dir/y.tmp")" = "$i" ]
		done
		echo 4 >"$dir/x.tmp"
		run ! test "$dir/x.tmp" -ef "$dir/y.tmp"
		rm "$dir/x.tmp" "$dir/y.tmp"
	done
}

# In the root such a name may be a table's, if anything is made of it.
@test "any file can be moved to a temporary name in any directory" {
	local dir from n=0
	a_column
	printf 'families open\nfamily f\n\tversions all\n' > "$M/T/.schema"
	mkdir "$M/.d" "$M/T/.d" "$M/T/R/.d" "$M/T/R/f/.d" "$C/.d"
	for dir in "$M" "$M/.d" "$M/T" "$M/T/.d" "$M/T/R" "$M/T/R/.d" \
		"$M/T/R/f" "$M/T/R/f/.d" "$C" "$C/.d"; do
		for from in "$C/5" "$C/latest" "$M/T/R/f:q" "$C/n.tmp" \
			"$M/n.tmp" "$M/.d/n"; do
			n=$((n + 1))
			echo "$n" > "$from"
			mv -T "$from" "$dir/$n.bak"
			[ "$(cat "$dir/$n.bak")" = "$n" ]
			mv -n "$dir/$n.bak" "$dir/n.orig"
			[ "$(cat "$dir/n.orig")" = "$n" ]
			[ ! -e "$dir/$n.bak" ]
			rm "$dir/n.orig"
		done
		cp "$M/T/.schema" "$T/schema"
		mv "$M/T/.schema" "$dir/s.bak"
		cmp "$T/schema" "$dir/s.bak"
		rm "$dir/s.bak"
	done
}

@test "a removed note can be read by who has it open" {
	a_row
	echo x > "$M/T/R/.n"
	exec 4< "$M/T/R/.n"
	rm "$M/T/R/.n"
	[ "$(cat <&4)" = x ]
	exec 4<&-
}

@test "a note that is made again is another than the one that was removed" {
	a_row
	echo old > "$M/T/R/.n"
	exec 4< "$M/T/R/.n"
	rm "$M/T/R/.n"
	echo new > "$M/T/R/.n"
	[ "$(cat <&4)" = old ]
	exec 4<&-
	[ "$(cat "$M/T/R/.n")" = new ]
	rm "$M/T/R/.n"
}

@test "rmdir is refused while a note is in it" {
	a_column
	echo x > "$C/note~"
	run ! rmdir "$C"
	rm "$C/note~"
	rmdir "$C"
}

@test "scratch directories hold scratch files" {
	a_column
	mkdir "$C/.tmp"
	echo x > "$C/.tmp/1"
	[ "$(ls "$C/.tmp")" = 1 ]
	mv "$C/.tmp/1" "$C/1"
	rmdir "$C/.tmp"
	[ "$(cat "$C/1")" = x ]
	[ "$(ls -A "$C")" = 1 ]
}

@test "the names of views cannot be made" {
	a_row
	run ! mkdir "$M/T/.range"
	run ! bash -c "echo x > '$M/T/.cells'"
}

@test "sed -i on a version replaces it" {
	a_column
	echo hello > "$C/5"
	sed -i s/hello/world/ "$C/5"
	[ "$(cat "$C/5")" = world ]
	[ "$(ls -A "$C")" = 5 ]
}

@test "sed -i on latest and F:Q puts a new version" {
	a_column
	echo one > "$C/5"
	sed -i s/one/two/ "$C/latest"
	sed -i s/two/three/ "$M/T/R/f:q"
	[ "$(cat "$C/latest")" = three ]
	[ "$(cat "$C/5")" = one ]
	[ "$(versions "$C")" -eq 3 ]
}

@test "vim on latest puts a new version and keeps the old" {
	a_column
	echo one > "$C/5"
	vim.tiny -es -c '%s/one/two/' -c wq "$C/latest" < /dev/null
	[ "$(cat "$C/latest")" = two ]
	[ "$(cat "$C/5")" = one ]
	[ "$(ls -A "$C" | wc -l)" -eq 2 ]
}

@test "vim on a timestamp replaces that version" {
	a_column
	echo one > "$C/5"
	vim.tiny -es -c '%s/one/two/' -c wq "$C/5" < /dev/null
	[ "$(cat "$C/5")" = two ]
	[ "$(ls -A "$C")" = 5 ]
}

@test "vim on F:Q puts a new version and keeps the old" {
	a_column
	echo one > "$C/5"
	vim.tiny -es -c '%s/one/two/' -c wq "$M/T/R/f:q" < /dev/null
	[ "$(cat "$M/T/R/f:q")" = two ]
	[ "$(cat "$C/5")" = one ]
	[ "$(ls -A "$M/T/R/f")" = q ]
	[ "$(versions "$C")" -eq 2 ]
}

@test "vim makes a new version of a new name" {
	a_column
	vim.tiny -es -c 'normal ihello' -c wq "$C/latest" < /dev/null
	[ "$(cat "$C/latest")" = hello ]
	[ "$(ls -A "$C" | wc -l)" -eq 1 ]
}

@test "vim with backupcopy=yes and with no" {
	a_column
	echo one > "$C/5"
	vim.tiny -es -c 'set backupcopy=yes' -c '%s/one/two/' -c wq "$C/5" \
		< /dev/null
	[ "$(cat "$C/5")" = two ]
	vim.tiny -es -c 'set backupcopy=no' -c '%s/two/three/' -c wq "$C/5" \
		< /dev/null
	[ "$(cat "$C/5")" = three ]
	[ "$(ls -A "$C")" = 5 ]
}
