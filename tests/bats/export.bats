load cellctl

# A table of several versions, a ttl of a cell's own, bytes of every kind.
a_table() {
	ctl create "$STORE" a d:versions=5,ttl=forever e:max_value=20MiB,compression=zlib
	local i
	for i in 100 200 300 400; do
		printf 'r\td:q\t%d\tv%d\nr\te:%%\t%d\t%%00%%FF%%0A"\\\n' \
			"$i" "$i" "$i"
	done | ctl import "$STORE" a 2> "$T/said"
	ctl put "$STORE" a r2 d:ttl 'for a day' --ttl 400000d
	ctl put "$STORE" a '%00%FF ü/' d:%C3 $'\xff\xfe' 7
	ctl put "$STORE" a empty d: '' 7
}

@test "export and import: schema, versions and ttl go there and back" {
	a_table
	ctl export "$STORE" a > "$T/one"
	ctl import --create "$T/other" b < "$T/one" 2> "$T/said"
	[ "$(cat "$T/said")" = "10 cells" ]
	ctl export "$T/other" b | cmp - "$T/one"
	ctl describe "$T/other" b | cmp - <(ctl describe "$STORE" a)
	grep -q "^r2${TAB}d:ttl${TAB}[0-9]*${TAB}for a day${TAB}put${TAB}34560000000000$" \
		"$T/one"
	# It is text to grep, and the cells alone can be had.
	grep -v "^$TAB" "$T/one" | cmp - <(ctl scan -n all "$STORE" a)
}

@test "export and import: JSON goes both ways" {
	a_table
	ctl export "$STORE" a > "$T/one"
	ctl export --json "$STORE" a > "$T/one.json"
	[ "$(wc -l < "$T/one.json")" -eq "$(wc -l < "$T/one")" ]
	ctl import --json --create "$STORE" b < "$T/one.json" 2> "$T/said"
	ctl export "$STORE" b | cmp - "$T/one"
	ctl export --json "$STORE" b | cmp - "$T/one.json"
	# However it is spelled: jq writes the same objects.
	jq -cS . < "$T/one.json" |
		ctl import --json --create "$STORE" c 2> "$T/said"
	ctl export "$STORE" c | cmp - "$T/one"
	# The end's checksum is that of the text.
	[ "$(tail -n 1 "$T/one.json" | jq -r .xxh64)" = \
		"$(tail -n 1 "$T/one" | sed 's/.*xxh64=//')" ]
	# Cells that somebody wrote need no frame, no timestamp and no value.
	echo '{"row":"x","family":"f","qualifier":"\u00e9\ud83d\ude00"}' |
		ctl import --json --create "$STORE" d 2> "$T/said"
	[ "$(ctl scan "$STORE" d | cut -f 1,2)" = "x${TAB}f:é😀" ]
	echo '{"row":"x","kind":"delete-row"}' |
		ctl import --json "$STORE" d 2> "$T/said"
	[ -z "$(ctl scan "$STORE" d)" ]
}

# The checksum is that of another program (XXH64, of all before the last line).
@test "import: an export of format 1 is read, and verified, as it was written" {
	local head cells sum=b45692c3b3ab5a57
	head=$(printf '\tcellfs export 1\n\tschema\t%s\n' "families fixed" &&
		printf '\tschema\t%s\n' "family d" "${TAB}versions 5")
	cells=$(printf 'r\td:q\t2\ttwo\nr\td:q\t1\tone%%0A\n')
	printf '%s\n' "$head" "$cells" "${TAB}end${TAB}cells=2${TAB}xxh64=$sum" \
		> "$T/one"
	ctl import --create "$STORE" a < "$T/one" 2> "$T/said"
	[ "$(cat "$T/said")" = "2 cells" ]
	[ "$(ctl scan -n all "$STORE" a)" = "$cells" ]
	ctl describe "$STORE" a | grep -q "versions 5"
	# And so is what is written now, but for the lines of the schema.
	ctl export "$STORE" a | grep -v "^${TAB}schema" | sed '$d' |
		cmp - <(sed '2,4d;$d' "$T/one")
}

@test "import --json: what is wrong is named with its line" {
	local good='{"row":"a","family":"f","qualifier":"q","value":"v"}'
	local bad text
	while IFS=$TAB read -r text bad; do
		says 3 "line 2: $text" import --json --create "$STORE" x \
			< <(printf '%s\n%s\n' "$good" "$bad")
		[[ $stderr == *"0 cells before that are applied"* ]]
	done <<-EOF
	the line is no JSON object	nonsense
	the line is no JSON object	[1]
	there is no member 'rwo': a cell has row, family	{"rwo":"a"}
	row is no string	{"row":5}
	timestamp is no number	{"row":"a","timestamp":"5"}
	the object does not end	{"row":"a"
	a string does not end	{"row":"a
	row is there twice	{"row":"a","row":"b"}
	row is there twice	{"row":"a","row_base64":"YQ=="}
	a member is not base64	{"row_base64":"Y"}
	a member is not base64	{"row_base64":"YR=="}
	row is missing	{"family":"f"}
	there is text after	{"row":"a"} x
	a \\u is not	{"row":"\ud83d"}
	a string has an unknown escape	{"row":"\x"}
	the object is neither	{"cells":1}
	the object is neither	{"export":1,"row":"a"}
	EOF
	run -1 ctl exists "$STORE" x
}

@test "import: a stream that is cut is named, and what was applied" {
	a_table
	ctl export "$STORE" a > "$T/one"
	local all
	all=$(wc -l < "$T/one")
	# The end is gone; then some cells too.
	head -n -1 "$T/one" > "$T/cut"
	says 3 "the export is cut: it has no end after its 10 cells" \
		import --create "$STORE" b < "$T/cut"
	[[ $stderr == *"line $((all - 1)): "* ]]
	[[ $stderr == *"9 cells before that are applied"* ]]
	[ "$(ctl count "$STORE" b)" -eq 3 ]
	head -c -100 "$T/one" > "$T/cut"
	says 3 "the stream is cut" import "$STORE" b < "$T/cut"
	ctl export --json "$STORE" a | head -n -1 > "$T/cut"
	says 3 "the export is cut" import --json "$STORE" b < "$T/cut"
	# Before the first cell nothing is made.
	head -n 3 "$T/one" > "$T/cut"
	says 3 "the export is cut: it has no end after its 0 cells" \
		import --create "$T/new" b < "$T/cut"
	[ ! -e "$T/new" ]
}

@test "import: every line that is gone, twice or another is missed" {
	ctl create "$STORE" a d:versions=5
	printf 'r\td:q\t1\tone\nr\td:q\t2\ttwo\ns\td:q\t1\tone\n' |
		ctl import "$STORE" a 2> "$T/said"
	ctl export "$STORE" a > "$T/one"
	local at
	# The head's first line, its last, each cell, the end.
	for at in 1 16 18 20; do
		sed "${at}d" "$T/one" > "$T/bad"
		says 3 "" import "$STORE" a < "$T/bad"
		[[ $stderr == *export* ]]
		sed "${at}p" "$T/one" > "$T/bad"
		says 3 "" import "$STORE" a < "$T/bad"
		[[ $stderr == *export* ]]
	done
	sed 's/two/tWo/' "$T/one" > "$T/bad"
	says 3 "the export is damaged: its checksum" import "$STORE" a \
		< "$T/bad"
	sed '$d' "$T/one" | cat - <(printf '\tend\tcells=9\txxh64=00\n') \
		> "$T/bad"
	says 3 "it had 9 cells, here are 3" import "$STORE" a < "$T/bad"
	sed '1s/1/2/' "$T/one" > "$T/bad"
	says 3 "of a newer form" import "$STORE" a < "$T/bad"
	# Two of them, one behind the other, are two.
	cat "$T/one" "$T/one" | ctl import --create "$STORE" b 2> "$T/said"
	[ "$(cat "$T/said")" = "6 cells" ]
	ctl export "$STORE" b | cmp - "$T/one"
}

@test "import: a table that keeps less is warned of" {
	a_table
	ctl create "$STORE" b d:versions=2 e:versions=9
	ctl export "$STORE" a > "$T/one"
	ctl import "$STORE" b < "$T/one" 2> "$T/said"
	grep -q "warning: family d has versions 2, it had versions 5" "$T/said"
	[ "$(ctl get -n all "$STORE" b r d | wc -l)" -eq 2 ]
	ctl create "$STORE" c d:versions=all,ttl=1d,min_versions=1 e
	ctl import "$STORE" c < "$T/one" 2> "$T/said"
	grep -q "warning: family d has ttl 86400000ms, it had ttl forever" \
		"$T/said"
	ctl create "$STORE" f d:versions=all e:versions=all
	ctl import "$STORE" f < "$T/one" 2> "$T/said"
	grep -q "family e has max_value 10485760, it had max_value 20971520" \
		"$T/said"
	ctl create "$STORE" g d:versions=all e:versions=all,max_value=20MiB
	ctl import "$STORE" g < "$T/one" 2> "$T/said"
	run ! grep -q warning "$T/said"
}

@test "import: what cannot be read is named, with the reason" {
	local how
	mkdir "$T/dir"
	for how in '' --json --csv --jsonl; do
		# shellcheck disable=SC2086 # no option is none
		says 3 "x: $T/dir:1: the input cannot be read: Is a directory" \
			import --create "$T/new" x "$T/dir" $how
		[[ $stderr == *"0 cells before that are applied"* ]]
	done
	says 3 "line 1: the input cannot be read: Is a directory" \
		import --create "$T/new" x < "$T/dir"
	# Closed for the tool alone: bash would have something else there.
	run -3 bash -c "'$CELLCTL' import --create '$T/new' x <&-"
	[[ $output == *"line 1: the input cannot be read: Bad file"* ]]
	[ ! -e "$T/new" ]
}

@test "import: - is the standard input" {
	ctl export "$STORE" t > "$T/one"
	ctl import --create "$STORE" x - < "$T/one"
	ctl export "$STORE" x | cmp - "$T/one"
}

@test "import: a CR before the end of a line is said, and is in no value" {
	printf 'r\td:q\t1\tv\r\n' > "$T/bad"
	says 3 "bad:1: the line ends in CR LF" import "$STORE" t "$T/bad"
	a_table
	ctl export "$STORE" a | sed 's/$/\r/' > "$T/bad"
	says 3 "bad:1: the line ends in CR LF" import "$STORE" t "$T/bad"
	tr -d '\r' < "$T/bad" | ctl import --create "$STORE" b
	ctl export "$STORE" b | cmp - <(ctl export "$STORE" a)
	printf 'r\td:q\t1\tv\r\n' | says 2 "line 1: the line ends in CR LF" \
		cas "$STORE" t r d:q --null --cells
	run -1 ctl get "$STORE" t r
	# Written so it is a value's.
	printf 'r\td:q\t1\tv%%0D\n' | ctl import "$STORE" t
	[ "$(ctl get "$STORE" t r --values)" = $'v\r' ]
}

@test "import: a file that is cut is named" {
	a_table
	ctl export "$STORE" a | sed '$d' > "$T/cut"
	says 3 "cut:$(wc -l < "$T/cut"): the export is cut" import "$STORE" a "$T/cut"
	printf 'r\td:q\t1\tv' > "$T/cut"
	says 3 "cut:1: the last line does not end" import "$STORE" t "$T/cut"
}

@test "import: empty input makes nothing and is no success" {
	says 3 "the input is empty: nothing is imported" \
		import --create "$STORE" x < /dev/null
	run -1 ctl exists "$STORE" x
	says 3 "the input is empty" import --create "$T/new" x < /dev/null
	[ ! -e "$T/new" ]
	says 3 "the input is empty" import "$STORE" t < /dev/null
	says 3 "the input is empty" import --json "$STORE" t < /dev/null
	# A first line that is none, too.
	says 3 "line 1: " import --create "$T/new" x <<< nonsense
	[ ! -e "$T/new" ]
	# An export of nothing is not empty: its table is made.
	ctl export "$STORE" t | ctl import --create "$T/new" x 2> "$T/said"
	[ "$(cat "$T/said")" = "0 cells" ]
	ctl describe "$T/new" x | cmp - <(ctl describe "$STORE" t)
	says 3 "bad/name" import --create "$T/other" bad/name < /dev/null
	[ ! -e "$T/other" ]
}

@test "import: what is refused at its first cell leaves no table" {
	{
		printf '\tcellfs export 1\n\tschema\tfamilies fixed\n'
		printf '\tschema\tfamily f\nr\tg:q\t1\tv\n'
	} > "$T/bad"
	says 3 "add g to its schema" import --create "$STORE" x < "$T/bad"
	[[ $stderr == *"0 cells before that are applied"* ]]
	[[ $stderr == *"the table x was not made"* ]]
	run -1 ctl exists "$STORE" x
}

@test "a pipe within one store says what to use, and does not wait for ever" {
	ctl create "$STORE" big d
	seq 1 30000 | awk -v OFS='\t' '{ print "row" $1, "d:q", 1,
		"a value that fills the pipe" }' |
		ctl import "$STORE" big 2> "$T/said"
	run -3 bash -c "timeout 60 '$CELLCTL' export '$STORE' big |
		timeout 60 '$CELLCTL' import --create '$STORE' x"
	[[ $output == *"cellctl copy"* ]]
	run -1 ctl exists "$STORE" x
}

@test "copy: a table within a store and to another" {
	a_table
	ctl copy "$STORE" a b 2> "$T/said"
	[ "$(cat "$T/said")" = "10 cells" ]
	ctl export "$STORE" a > "$T/one"
	ctl export "$STORE" b | cmp - "$T/one"
	ctl copy "$STORE" a "$T/new" c 2> "$T/said"
	ctl export "$T/new" c | cmp - "$T/one"
	ctl copy "$STORE" a "$STORE/." d 2> "$T/said"
	ctl export "$STORE" d | cmp - "$T/one"
	# A part; into one that is there.
	ctl create "$STORE" e d:versions=1
	ctl copy "$STORE" a e --columns d --timerange 200.. --rowprefix r \
		2> "$T/said"
	grep -q "warning: family d has versions 1, it had versions 5" "$T/said"
	is "r d:q 400 v400" ctl get "$STORE" e r
	says 2 "to itself" copy "$STORE" a a
	says 2 "to itself" copy "$STORE" a "$STORE" a
	says 3 "no table 'none'" copy "$STORE" none x
	says 3 "no family 'g'" copy "$STORE" a x --columns g
	says 3 "bad/name" copy "$STORE" a bad/name
	says 3 "there is no namespace" copy "$STORE" a ns:x
	run -1 ctl exists "$STORE" x
}

@test "copy: one that fails leaves no table behind" {
	a_table
	local one
	one=$(ls "$STORE"/*.log | tail -n 1)
	ctl flush "$STORE"
	one=$(ls "$STORE"/*.sst | head -n 1)
	python3 - "$one" <<-'PY'
	import sys
	with open(sys.argv[1], "r+b") as f:
	    f.seek(40)
	    f.write(b"\xff" * 8)
	PY
	run -3 --separate-stderr "$CELLCTL" copy "$STORE" a b
	[[ $stderr == *"the table b was not made"* ]]
	run -1 ctl exists "$STORE" b
	# Nor does an export of it end as if it were whole.
	run -3 --separate-stderr "$CELLCTL" export "$STORE" a
	[[ $output != *"${TAB}end"* ]]
}

# chosen ROWS OPTION...: an export and a copy have these rows.
chosen() {
	local want=$1

	shift
	ctl create "$STORE" to d:versions=5
	ctl copy "$STORE" t to "$@" 2>"$T/said"
	is "$want" ctl scan "$STORE" to --rows
	ctl export "$STORE" t "$@" >"$T/one"
	is "$want" eval 'grep -v "^$TAB" "$T/one" | cut -f 1'
	ctl drop "$STORE" to --force
}

@test "export and copy: ranges, a prefix, a limit and a filter choose cells" {
	local row

	for row in a ab b c; do
		ctl put "$STORE" t "$row" d:q "value of $row" 1
	done
	chosen "ab b" --startrow ab --stoprow c
	chosen "ab b" -s ab --endrow c
	chosen "a ab" --rowprefix a
	chosen "a ab b" --limit 3
	chosen "ab" --limit 1 --startrow aa
	chosen "b" --filter "ValueFilter(=,'substring:of b')"
}

@test "export --raw: what deletes hide is hidden behind it, and no more" {
	ctl create "$STORE" a d:versions=5,keep_deleted=yes e:versions=2
	ctl put "$STORE" a r d:q one 100
	ctl put "$STORE" a r d:q two 200
	ctl delete "$STORE" a r d:q 200
	ctl put "$STORE" a r d:q again 200
	ctl put "$STORE" a r d:q three 300
	ctl deleteall "$STORE" a r d:q 150
	ctl put "$STORE" a r d:q seen 120
	ctl put "$STORE" a s e:q one 1
	ctl deleteall "$STORE" a s
	ctl put "$STORE" a s e:q two 2
	ctl export --raw "$STORE" a > "$T/raw"
	ctl scan -n all "$STORE" a > "$T/seen"
	grep -q "${TAB}delete-column$" "$T/raw"
	ctl import --create "$STORE" b < "$T/raw" 2> "$T/said"
	ctl scan -n all "$STORE" b | cmp - "$T/seen"
	ctl export --raw "$STORE" b | cmp - "$T/raw"
	ctl copy --raw "$STORE" a c 2> "$T/said"
	ctl export --raw "$STORE" c | cmp - "$T/raw"
	ctl export --raw --json "$STORE" a > "$T/raw.json"
	ctl import --json --create "$STORE" e < "$T/raw.json" 2> "$T/said"
	ctl export --raw "$STORE" e | cmp - "$T/raw"
	ctl compact "$STORE"
	ctl export --raw "$STORE" a | ctl import --create "$T/f" f 2> "$T/said"
	ctl scan -n all "$T/f" f | cmp - "$T/seen"
}

# put_times TS...: versions of r d:q in table a; one that begins with - is deleted.
put_times() {
	local ts
	for ts in "$@"; do
		case $ts in
		-*) ctl delete "$STORE" a r d:q "${ts#-}" ;;
		*) ctl put "$STORE" a r d:q "at $ts" "$ts" ;;
		esac
	done
}

@test "export --raw: what a version pushed out before it was put again stays out" {
	not_over_hbase "it tells one write of a timestamp"
	ctl create "$STORE" a d:versions=2
	# 30 leaves because of the first 50, and stays because of the first -50.
	put_times 50 40 30 -50 -40 50
	ctl scan -n all "$STORE" a > "$T/seen"
	[ "$(cut -f 4 "$T/seen")" = "at 50" ]
	ctl export --raw "$STORE" a | ctl import --create "$STORE" b
	ctl scan -n all "$STORE" b | cmp - "$T/seen"
	ctl copy --raw "$STORE" a c
	ctl scan -n all "$STORE" c | cmp - "$T/seen"
	ctl export --raw "$STORE" a > "$T/raw"
	ctl export --raw "$STORE" b | cmp - "$T/raw"
	ctl truncate "$STORE" a
	put_times 50 40 -50 30 -50
	ctl scan -n all "$STORE" a > "$T/seen"
	[ "$(cut -f 4 "$T/seen" | tr '\n' ' ')" = "at 40 at 30 " ]
	mount_store
	ctl export --raw "$M" a | ctl import --create "$T/new" b
	ctl scan -n all "$T/new" b | cmp - "$T/seen"
}

@test "a row that is more than one act can be is restored" {
	local i value
	value=$(head -c 3000000 /dev/zero | tr '\0' x)
	for i in 1 2 3 4 5 6; do
		printf 'wide\td:%d\t7\t%s\n' "$i" "$value"
	done > "$T/cells"
	ctl import "$STORE" t < "$T/cells" 2> "$T/said"
	ctl export "$STORE" t > "$T/one"
	M=$T/mnt
	mount_store
	# By a mount no more than 16 MiB of a row go at once.
	run -3 ctl import --create "$M" a < "$T/cells"
	ctl import --create "$M" b < "$T/one" 2> "$T/said"
	[ "$(cat "$T/said")" = "6 cells" ]
	ctl export "$M" b | cmp - "$T/one"
	ctl copy "$M" t c 2> "$T/said"
	ctl export "$STORE" c | cmp - "$T/one"
	unmount_store
}

# mutations: how many changes of rows the mounted store has applied.
mutations() {
	awk '$1 == "cellfs_store_mutations_total" { print $2 }' "$M/.cellfs/metrics"
}

@test "a row of an export is one act, however many cells it has" {
	local before

	{
		seq -f $'a\td:%g\t7\tx' 10000 29999
		seq -f $'b\td:%g\t7\tx' 10000 10009
	} | ctl import "$STORE" t 2>"$T/said"
	ctl export "$STORE" t >"$T/one"
	M=$T/mnt
	mount_store
	ctl create "$M" u d
	before=$(mutations)
	ctl import "$M" u <"$T/one" 2>"$T/said"
	[ "$(mutations)" -eq $((before + 2)) ]
	mkdir "$M/v"
	before=$(mutations)
	cp "$T/one" "$M/v/.cells"
	[ "$(mutations)" -eq $((before + 2)) ]
	[ "$(wc -l <"$M/v/.cells")" -eq 20010 ]
	unmount_store
}

@test "through a mount: export, import and copy, and T/.cells takes an export" {
	a_table
	M=$T/mnt
	mount_store
	ctl export "$M" a > "$T/one"
	ctl export "$M" a | ctl import --create "$M" b 2> "$T/said"
	ctl export "$STORE" b | cmp - "$T/one"
	ctl copy "$M" a c 2> "$T/said"
	ctl export "$M" c | cmp - "$T/one"
	ctl copy "$M" a "$STORE" d 2> "$T/said"
	ctl export "$M" d | cmp - "$T/one"
	ctl copy "$M" a "$T/new" e 2> "$T/said"
	ctl export "$T/new" e | cmp - "$T/one"
	# What an open table lacks comes with its settings.
	mkdir "$M/f"
	cp "$T/one" "$M/f/.cells"
	ctl export "$M" f | grep -v "^$TAB" | cmp - <(grep -v "^$TAB" "$T/one")
	grep -q 'versions 5' "$M/f/.schema"
	# One that keeps less refuses it.
	mkdir "$M/g" "$M/g/r" "$M/g/r/d"
	run ! cp "$T/one" "$M/g/.cells"
	grep -q 'family d has versions 3, it had versions 5' "$M/.cellfs/errors"
	grep -v "^$TAB" "$T/one" > "$M/g/.cells"
	# One that is cut or damaged as well.
	head -n -1 "$T/one" > "$T/cut"
	mkdir "$M/h"
	run ! cp "$T/cut" "$M/h/.cells"
	grep -q 'the export is cut' "$M/.cellfs/errors"
	sed 's/v300/v30O/' "$T/one" > "$T/bad"
	run ! cp "$T/bad" "$M/h/.cells"
	grep -q 'the export is damaged' "$M/.cellfs/errors"
	unmount_store
}

@test "who starts programs while writing a stream is not told that it is cut" {
	a_table
	ctl export "$STORE" a > "$T/one"
	M=$T/mnt
	mount_store
	mkdir "$M/b" "$M/c"
	python3 - "$T/one" "$M/b/.cells" <<-'PY'
	import os, subprocess, sys
	text = open(sys.argv[1], "rb").read()
	fd = os.open(sys.argv[2], os.O_WRONLY)
	for i in range(0, len(text), 97):
	    os.write(fd, text[i:i + 97])
	    if i % 5 == 0:
	        subprocess.run(["true"])
	os.close(fd)
	PY
	ctl export "$M" b | grep -v "^$TAB" | cmp - <(grep -v "^$TAB" "$T/one")
	# What is cut in the end is told at close, and its last row is not there.
	python3 - "$M/c/.cells" <<-'PY'
	import os, subprocess, sys
	fd = os.open(sys.argv[1], os.O_WRONLY)
	os.write(fd, b"a\td:q\t1\tx\nb\td:q\t1\tx\nb\td:r")
	subprocess.run(["true"])
	try:
	    os.close(fd)
	except OSError as e:
	    assert e.errno == 22, e
	else:
	    raise SystemExit("close said nothing")
	PY
	is "a d:q 1 x" cat "$M/c/.cells"
	unmount_store
}
