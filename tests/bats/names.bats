load helper

# refused WHY COMMAND...: fails as "Operation not permitted" or what else WHY
# begins with, and .cellfs/errors has the rest of it.
refused() {
	local said=$1 words=$2

	shift 2
	run -1 "$@"
	[[ $output == *"$said"* ]] || {
		echo "'$said' is not in: $output" >&2
		return 1
	}
	tail -n 1 "$M/.cellfs/errors" | grep -qF -- "$words" || {
		echo "'$words' is not in: $(tail -n 1 "$M/.cellfs/errors")" >&2
		return 1
	}
}

@test "cp -r of an ordinary directory into the mount fails loudly" {
	mkdir -p "$T/etc/apt.conf.d"
	echo 'APT::Install "0";' > "$T/etc/apt.conf.d/01auto"
	echo 'deb x' > "$T/etc/sources.list"
	run -1 cp -r "$T/etc" "$M/"
	[[ $output == *"sources.list': Operation not permitted"* ]]
	[[ $output == *"01auto': Operation not permitted"* ]]
	grep -q "create /etc/apt.conf.d/01auto: EPERM:.*FAMILY:QUALIFIER" \
		"$M/.cellfs/errors"
	[ -z "$(find "$M" -name 01auto -o -name sources.list)" ]
}

@test "an ordinary file is refused where only directories are data" {
	local no="Operation not permitted"

	a_column
	refused "$no" TABLE/ROW/FAMILY:QUALIFIER touch "$M/notes"
	refused "$no" ROW/FAMILY:QUALIFIER touch "$M/T/notes"
	refused "$no" FAMILY:QUALIFIER bash -c "echo x > '$M/T/R/README'"
	refused "$no" QUALIFIER/latest cp /etc/hostname "$M/T/R/f/report.txt"
	refused "$no" latest touch "$C/notes"
	[ "$(find "$M" | wc -l)" -eq 6 ]
}

@test "what looks like a timestamp and is none is an invalid argument" {
	local no="Invalid argument" rule="milliseconds since 1970"

	a_column
	for name in 0123 00 12345678901234567890 9223372036854775806 -5; do
		refused "$no" "$rule" bash -c "echo x > '$C/$name'"
	done
	echo x > "$C/5"
	refused "Operation not permitted" "$rule" mv "$C/5" "$C/05"
	[ "$(cat "$C/5")" = x ]
}

@test "a name that is not canonical is refused with the one that is" {
	local no="Invalid argument"

	mkdir -p "$M/T/R/f"
	refused "$no" 'that is "%2Da" (' mkdir -- "$M/T/-a"
	refused "$no" 'that is "a" (' mkdir "$M/T/%61"
	refused "$no" 'that is "%2Dx" (' mkdir -- "$M/T/R/f/-x"
	refused "$no" 'that is "f:x%2Fy" (' bash -c "echo x > '$M/T/R/f:%78%2Fy'"
	refused "$no" '"ab%+" is no piece' mkdir "$M/T/ab%+"
	refused "$no" 'a % in a key is spelled %25' mkdir "$M/T/100%"
}

@test "what is computed is refused by every call alike, in words that help" {
	local no="Permission denied" ro="Read-only file system" f

	a_past T f
	a_column
	echo one > "$C/5"
	echo two > "$C/6"
	mkdir "$M/T/.snapshot/s"
	for f in "$C/@-1" "$C/@-7" "$C/@5"; do
		refused "$no" "by its timestamp" bash -c "echo x > '$f'"
		refused "$no" "by its timestamp" mv "$C/5" "$f"
		[ -e "$f" ] || continue
		refused "$no" "by its timestamp" truncate -s 0 "$f"
		refused "$no" "by its timestamp" mv "$f" "$C/x.tmp"
		refused "$no" "by its timestamp" rm -f "$f"
	done
	refused "$no" "by its timestamp" mkdir "$C/@-7"
	refused "$no" "remove latest" rm -f "$C/counter"
	refused "$no" "remove latest" mv "$C/counter" "$C/x.tmp"
	refused "$no" "remove latest" mv "$C/5" "$C/counter"
	refused "$no" "write lines into it" rm -f "$M/T/.cells"
	refused "$no" "write lines into it" mv "$M/T/.cells" "$M/T/x.tmp"
	for f in "$M/T/.info/first" "$M/.cellfs/help"; do
		refused "$no" "can only be read" bash -c "echo x > '$f'"
		refused "$no" "can only be read" truncate -s 0 "$f"
	done
	for f in "$M/.cellfs" "$M/T/.put" "$M/T/.stage" "$M/T/.info"; do
		refused "$no" "${f##*/} is no data" mv "$f" "$M/T/x"
		refused "$no" "${f##*/} is no data" rmdir "$f"
	done
	for f in "$M/T/.first/1/R/f/q/"{5,latest,@-1,counter} \
		"$M/T/.raw/R/f/q/5" "$M/T/.at/now/R/f/q" \
		"$M/T/.snapshot/s/R/f/q/"{5,latest,@-1,counter}; do
		refused "$ro" "EROFS" bash -c "echo x > '$f'"
		refused "$ro" "EROFS" truncate -s 0 "$f"
		refused "$ro" "EROFS" rm -f "$f"
	done
	[ "$(ls "$C" | tr '\n' ' ')" = "5 6 " ]
}

@test "a version is not moved to a name that is no temporary one" {
	a_column
	echo x > "$C/5"
	refused "Operation not permitted" latest mv "$C/5" "$C/old"
	refused "Operation not permitted" latest mv "$C/5" "$M/T/R/f/old"
	[ "$(cat "$C/5")" = x ]
	echo y > "$C/5.tmp"
	refused "Operation not permitted" latest mv "$C/5.tmp" "$C/old"
	[ "$(cat "$C/5.tmp")" = y ]
	rm "$C/5.tmp"
}

@test "the names that tools use for what is temporary are let in" {
	a_column
	for d in "$M" "$M/T" "$M/T/R" "$M/T/R/f" "$C"; do
		for name in .5.swp .hidden '#5#' '.#5' 5~ 5.~1~ 5.tmp 5.temp \
			5.part 5.partial 5.new 5.bak 5.orig 5.rej 5.lock \
			5.swp tmpAbC123 tmpabcd_123 tmp.aBcD123456 sedAbC123 \
			XXabcDEF 5.oAbCdEf; do
			[[ $d == "$M/T/R" && $name == *:* ]] && continue
			echo "$name" > "$d/$name"
			[ "$(cat "$d/$name")" = "$name" ]
			rm "$d/$name"
		done
	done
	for d in "$M" "$M/T" "$M/T/R" "$M/T/R/f"; do
		touch "$d/4913" "$d/5036"
		rm "$d/4913" "$d/5036"
	done
}

@test "in a scratch directory a file has any name" {
	a_column
	mkdir "$C/.rsync-partial" "$M/T/.stage/R"
	echo x > "$C/.rsync-partial/README"
	echo x > "$M/T/.stage/R/README"
	[ "$(cat "$C/.rsync-partial/README")" = x ]
	rm "$C/.rsync-partial/README" "$M/T/.stage/R/README"
}

@test "with -o scratch=any a file has any name anywhere" {
	a_column
	grep -qx "scratch temp" "$M/.cellfs/options"
	remount_store -o scratch=any
	a_column
	grep -qx "scratch any" "$M/.cellfs/options"
	for f in "$M/note" "$M/T/note" "$M/T/R/note" "$C/note" "$C/0123"; do
		echo hello > "$f"
		[ "$(cat "$f")" = hello ]
		rm "$f"
	done
	echo x > "$C/5"
	mv "$C/5" "$C/old"
	mv "$C/old" "$C/6"
	[ "$(ls "$C")" = 6 ]
	unmount_store
	run -2 "$CELLFS" "$STORE" "$M" -o scratch=some
	[[ $output == *scratch=some*temp*any* ]]
}
