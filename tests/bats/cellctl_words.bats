load cellctl

# The commands, each by its own name.
commands() {
	local word
	for word in $(ctl complete ''); do
		[ "$word" = help ] || ctl help "$word" |
			sed -n 's/^usage: cellctl \([^ ]*\) .*/\1/p'
	done | sort -u
}

@test "help: every command, one screen each, with an example" {
	local c n=0
	for c in $(commands); do
		ctl "$c" --help > "$T/help"
		cmp "$T/help" <(ctl help "$c")
		grep -q "^usage: cellctl $c " "$T/help"
		grep -q "^example: cellctl $c " "$T/help"
		[ "$(wc -l < "$T/help")" -le 24 ]
		[ "$(wc -L < "$T/help")" -le 80 ]
		n=$((n + 1))
	done
	[ "$n" -ge 45 ]
	[ "$(ctl help | wc -l)" -le 24 ]
	[ "$(ctl help | wc -L)" -le 80 ]
	cmp <(ctl help) <(ctl --help)
	ctl --version | grep -qE '^cellctl [0-9]'
}

@test "help: the manual page names every command and option" {
	local page=$BATS_TEST_DIRNAME/../../tools/cellctl.1 c o
	for c in $(commands); do
		grep -qE "^\.It Cm $c( |\$)" "$page" || {
			echo "$c is not in the page" >&2
			false
		}
		for o in $(ctl "$c" --help | grep -oE '^ +(-., )?--[a-z]+' |
			grep -oE -- '--[a-z]+'); do
			grep -qE -- "Fl -${o#--}( |\$)" "$page" || {
				echo "$c $o is not in the page" >&2
				false
			}
		done
	done
}

@test "help: the manual page says what each command does" {
	local page=$BATS_TEST_DIRNAME/../../tools/cellctl.1
	run awk '/^\.Sh/ { in_it = $2 == "DESCRIPTION" }
		# Words of one text: clone_snapshot and its like.
		/^\.It Cm/ && in_it {
			if (heading && heading != $3 && heading !~ /_snapshot$/)
				print heading " has no text"
			heading = $3
			next
		}
		!/^\.Pp/ { heading = "" }' "$page"
	echo "$output"
	[ "$output" = "" ]
}

@test "a wrong word: the nearest one" {
	says 2 "there is no command 'scna'; did you mean scan?" scna
	says 2 "no command 'mayor_compact'; did you mean major_compact?" \
		mayor_compact
	says 2 "no command 'frobnicate'" frobnicate
	[[ $stderr != *"did you mean"* ]]
	says 2 "no option '--colums'; did you mean --columns?" \
		scan "$STORE" t --colums d
	says 2 "takes no option '-z'" scan -z "$STORE" t
	says 2 "takes no option '--ttl'" scan "$STORE" t --ttl 5
	says 2 "--limit needs a value" scan "$STORE" t --limit
	says 2 "--rows takes no value" scan "$STORE" t --rows=5
	ctl create "$STORE" articles info
	says 3 "the nearest that there is: articles" scan "$STORE" artikles
	says 3 "no family 'inof'; did you mean info?" get "$STORE" articles r inof
	[[ $stderr == *"which it has: info"* ]]
	says 3 "no family 'inof'; did you mean info?" \
		put "$STORE" articles r inof:q x
	says 3 "no family 'inof'; did you mean info?" \
		deleteall "$STORE" articles r inof
}

@test "what is completed behind an option before the command is what is without" {
	ctl create "$STORE" articles info
	is articles ctl complete scan "$STORE" a
	is articles ctl complete --insecure --hbase-escapes scan "$STORE" a
	is scan ctl complete --insecure sca
	# One that others may write is opened, as by the command that will be.
	chmod go+w "$STORE"
	is "" ctl complete scan "$STORE" a
	is articles ctl complete --insecure scan "$STORE" a
}

@test "options stand anywhere, in full or cut short" {
	ctl put "$STORE" t r d:q x 5
	is "r" ctl scan --rows "$STORE" t
	is "r" ctl scan "$STORE" --rows t
	is "r" ctl scan "$STORE" t --rows --reve --lim=1
	is "r" ctl scan -l1 "$STORE" t --rows
	says 2 "takes no option '--store'" scan "$STORE" t --store 1
}

@test "wrong usage is 2, before the store is touched" {
	local none=$T/none
	says 2 "usage: cellctl scan" scan
	says 2 "usage: cellctl scan" scan "$none" t too much
	says 2 "usage: cellctl get" get "$none" t
	says 2 "usage: cellctl put" put "$none" t r
	says 2 "usage: cellctl create" create "$none"
	says 2 "usage: cellctl incr" incr "$none" t r
	says 2 "usage: cellctl cas" cas "$none" t r
	says 2 "usage: cellctl init" init
	says 2 "usage: cellctl snapshot" snapshot
	says 2 "is no timestamp" put "$none" t r d:q v soon
	says 2 "is no timestamp" get "$none" t r --timestamp -1
	says 2 "is no timestamp" scan "$none" t --asof 1x
	says 2 "is no range" scan "$none" t --timerange 5
	says 2 "ends before it begins" scan "$none" t --timerange 5..4
	says 2 "no timestamp is less than 0" scan "$none" t --timerange 0..0
	says 2 "no timestamp is less than 0" scan "$none" t --timerange ,0
	says 2 "is no number from 1" scan "$none" t --limit 0
	says 2 "is no number from 1" scan "$none" t --versions -1
	says 2 "is no number from 1" get "$none" t r --versions 0
	says 2 "is no number from 1 to 4294967295" get "$none" t r -n 4294967296
	says 2 "no FAMILY:QUALIFIER" put "$none" t r d v
	says 2 "no FAMILY:QUALIFIER" get_counter "$none" t r d
	says 2 "no family before" put "$none" t r :q v
	says 2 "is no key" get "$none" t '%0'
	says 2 "is no column" get "$none" t r 'd:%zz'
	says 2 "a row needs a name" get "$none" t ''
	says 2 "a row needs a name" put "$none" t '' d:q x
	says 2 "usage: cellctl [--insecure] [--hbase-escapes] COMMAND"
	[ ! -e "$none" ]
}

@test "of options that cannot both hold none is passed over" {
	local none=$T/none
	says 2 "--asof and --timerange exclude each other" \
		scan "$none" t --asof 5 --timerange 7..9
	says 2 "--timerange and --timestamp exclude" \
		get "$none" t r --timerange 7..9 --timestamp 5
	says 2 "--timerange and --asof exclude" count "$none" t -t 1..2 --asof 5
	says 2 "'7' is a second timestamp" put "$none" t r d:q v 7 --timestamp 5
	says 2 "'7' is a second timestamp" delete "$none" t r d:q 7 --timestamp 5
	says 2 "'7' is a second timestamp" deleteall "$none" t r d 7 --timestamp 5
	says 2 "--put is there twice: d:a and d:b" \
		cas "$none" t r d:q x --put d:a --put d:b y
	says 2 "--schema is there twice: a and b" create "$none" t --schema a --schema b
	says 2 "--values and --json exclude" get "$none" t r --values --json
	says 2 "'' is no column" scan "$none" t --columns ''
	[ ! -e "$none" ]
	# One that is there again is the last one.
	ctl put "$STORE" t r d:q x 5
	is "r d:q 5 x" ctl get "$STORE" t r --asof 4 --asof 5
}

@test "what the store cannot do is 3, with what to do" {
	says 3 "cellctl init $T/none" scan "$T/none" t
	says 3 "cellctl tables $STORE" scan "$STORE" nix
	mkdir "$T/other"
	touch "$T/other/file"
	says 3 "(file): name an empty or a new directory" init "$T/other"
	says 3 "(file): name the directory of a store" scan "$T/other" t
	says 3 "(file): name the directory of a store" check "$T/other"
	head -c 100 /dev/zero | ctl put "$STORE" t r d:q
	says 3 "max_value" put "$STORE" t r d:q \
		< <(head -c $((11 << 20)) /dev/zero)
}

@test "a command that is advised can be pasted, whatever the path" {
	local odd="$T/it's my dir" advice
	mkdir "$odd"
	run -3 ctl scan "$odd/store" t
	advice=${output##*"to make a store: cellctl "}
	eval "ctl $advice"
	run -3 ctl scan "$odd/store" t
	advice=${output##*"which there are: cellctl "}
	eval "ctl $advice"
	run -3 ctl scan "$T/a"$'\t'b t
	[[ $output == *"to make a store: cellctl init '$T/a"$'\t'"b'" ]]
	run -1 "$CELLFS" "$odd/store" "$odd/mnt"
	advice=${output##*'make it with "'}
	eval "${advice%'"'}"
	[ -d "$odd/mnt" ]
	STORE=$odd/store M=$odd/mnt
	mount_store
	run -3 ctl repair "$STORE" "$T/new"
	advice=${output##*"unmount it first: "}
	eval "$advice"
	wait "$DAEMON"
	DAEMON=
}

@test "a store that is mounted" {
	local before
	before=$(ctl scan "$STORE" t)
	mount_store
	[ "$(ctl scan "$STORE" t)" = "$before" ]
	says 3 "unmount it first" repair "$STORE" "$T/new"
	unmount_store
	ctl scan "$STORE" t
}

@test "output that cannot be written is 3" {
	ctl put "$STORE" t r d:q x
	run -3 --separate-stderr bash -c "'$CELLCTL' scan '$STORE' t > /dev/full"
	[[ $stderr == *"cannot write the output"* ]]
	# A check that did not hold is 1 where that could be said.
	run -3 --separate-stderr bash -c \
		"'$CELLCTL' cas --json '$STORE' t r d:q no y > /dev/full"
	[[ $stderr == *"cannot write the output"* ]]
	run -3 --separate-stderr bash -c "'$CELLCTL' help > /dev/full"
	[[ $stderr == *"cannot write the output"* ]]
	run -3 --separate-stderr bash -c "'$CELLCTL' scan --help > /dev/full"
	[[ $stderr == *"cannot write the output"* ]]
}

@test "a reader that leaves ends the output without a word, by SIGPIPE" {
	seq 20000 | sed 's/.*/r&\td:q\t1\tv/' | ctl import "$STORE" t 2>/dev/null
	run -141 --separate-stderr bash -c \
		"set -o pipefail; '$CELLCTL' scan '$STORE' t | head -n 1"
	[ -z "$stderr" ]
	# Who ignores that signal is told.
	run -3 --separate-stderr bash -c "trap '' PIPE; set -o pipefail
		'$CELLCTL' scan '$STORE' t | head -n 1"
	[[ $stderr == *"cannot write the output: Broken pipe"* ]]
}

@test "nothing is printed into the store where the output is closed" {
	ctl put "$STORE" t r d:q x
	run -3 --separate-stderr bash -c "'$CELLCTL' scan '$STORE' t <&- >&-"
	[[ $stderr == *"cannot write the output"* ]]
	"$CELLCTL" put "$STORE" t r d:q y <&- >&- 2>&-
	[ "$(ctl scan "$STORE" t --versions 1 | cut -f 4)" = y ]
}

@test "nothing to show is done: 0 for scans, lists and counts" {
	ctl scan "$STORE" t
	ctl count "$STORE" t
	ctl tables "$STORE" 'none.*'
	ctl list_namespace "$STORE" 'none.*'
	ctl snapshot "$STORE"
	ctl export "$STORE" t --rowprefix none
	ctl stats "$STORE" t
}

@test "what fails in the midst of its output is 3" {
	seq 1 3000 | awk -v OFS='\t' '{ print "row" $1, "d:q", 1, "value" }' |
		ctl import "$STORE" t 2> "$T/said"
	ctl flush "$STORE"
	python3 - "$STORE"/*.sst <<-'PY'
	import os, sys
	with open(sys.argv[1], "r+b") as f:
	    f.seek(os.path.getsize(sys.argv[1]) // 2)
	    f.write(b"\xff" * 64)
	PY
	local command
	for command in scan count export; do
		run -3 ctl "$command" "$STORE" t
	done
	run -3 ctl copy "$STORE" t t2
}

@test "the schema's text from a program that failed is refused" {
	false | says 3 "the standard input: the schema's text is empty" alter "$STORE" t
	says 3 "the schema's text is empty" create "$STORE" x --schema - \
		< /dev/null
	run -1 ctl exists "$STORE" x
	is "families fixed" bash -c "'$CELLCTL' describe '$STORE' t | head -n 1"
	# And so is a name that no table has, before its store is made.
	says 3 "table name" create "$T/none" bad/name
	[ ! -e "$T/none" ]
}

@test "an installed cellctl is found as a command" {
	DESTDIR=$T/root meson install -C "$BUILD" --no-rebuild --quiet
	[ -x "$T/root/usr/local/bin/cellctl" ]
	[ -x "$T/root/usr/local/bin/cellfs" ]
	PATH=$T/root/usr/local/bin:$PATH
	[ "$(cellctl --version)" = "$("$CELLCTL" --version)" ]
}
