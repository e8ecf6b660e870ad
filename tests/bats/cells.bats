load helper

TAB=$'\t'

# line ROW COLUMN TS VALUE [KIND]
line() {
	local IFS=$TAB
	echo "$*"
}

@test "a table is read as lines, sorted" {
	mkdir -p "$M/T/b/f/q" "$M/T/a/g"
	echo two > "$M/T/b/f/q/200"
	echo one > "$M/T/b/f/q/100"
	printf 'x%%\ty' > "$M/T/a/g:h"
	[ "$(cut -f 1,2,4 "$M/T/.cells")" = "a${TAB}g:h${TAB}x%25%09y
b${TAB}f:q${TAB}two%0A
b${TAB}f:q${TAB}one%0A" ]
	[ "$(cat "$M/T/b/.cells")" = "$(line b f:q 200 two%0A)
$(line b f:q 100 one%0A)" ]
	[ "$(cat "$M/T/b/f/.cells" | wc -l)" -eq 2 ]
	[ "$(stat -c '%s %F' "$M/T/.cells")" = "0 regular empty file" ]
}

@test "views have streams" {
	a_past T f
	local r
	for r in a b c d; do line "$r" f:q 100 "$r"; done > "$M/T/.cells"
	line b f:q 200 b2 > "$M/T/.cells"
	[ "$(cut -f 1 "$M/T/.range/b..d/.cells" | uniq | tr '\n' ' ')" = "b c " ]
	[ "$(cut -f 4 "$M/T/.at/150/.cells" | tr '\n' ' ')" = "a b c d " ]
	[ "$(cut -f 4 "$M/T/.at/now/.cells" | tr '\n' ' ')" = "a b2 c d " ]
	[ "$(cut -f 4 "$M/T/.since/150/.cells")" = b2 ]
	[ "$(cut -f 1 "$M/T/.last/2/.cells" | tr '\n' ' ')" = "d c " ]
	[ "$(cut -f 4 "$M/T/.first/1/.cells")" = a ]
	[ "$(cut -f 4 "$M/T/.range/b..c/b/f/.cells" | tr '\n' ' ')" = "b2 b " ]
	rm "$M/T/a/f/q/100"
	[ "$(cut -f 5 "$M/T/.raw/a/.cells" | head -n 1)" = delete ]
	run ! bash -c "echo x > '$M/T/.first/1/.cells'"
	[[ "$output" == *"Read-only file system"* ]]
}

@test "what was deleted is there again where the lines of .raw are written" {
	mkdir -p "$M/T/a/f/q" "$M/U"
	echo x > "$M/T/a/f/q/100"
	rm "$M/T/a/f/q/100"
	"$CELLCTL" export --raw "$M" T | "$CELLCTL" import --create "$M" V 2> "$T/said"
	[ -z "$(cat "$M/T/.cells" "$M/V/.cells")" ]
	cat "$M/T/.raw/.cells" > "$M/U/.cells"
	[ "$(cat "$M/U/.cells")" = "$(line a f:q 100 x%0A)" ]
}

@test "lines that are written are cells" {
	mkdir "$M/T"
	{
		line r f:q 100 hello
		line r g:h "" now
		line s f:q 5 'a%0Ab'
	} > "$M/T/.cells"
	[ "$(cat "$M/T/r/f/q/100")" = hello ]
	[ "$(cat "$M/T/r/g:h")" = now ]
	[ "$(cat "$M/T/s/f:q")" = "a
b" ]
	line r f:q 100 "" delete > "$M/T/.cells"
	run ! cat "$M/T/r/f/q/100"
	line s "" "" "" delete-row > "$M/T/.cells"
	run ! ls "$M/T/s"
	line r f:n "" 5 increment > "$M/T/.cells"
	line r f:n "" -2 increment > "$M/T/.cells"
	[ "$(cat "$M/T/r/f/n/counter")" = 3 ]
}

# The values of R's column $1, the newest first.
newest_first() {
	awk -F "$TAB" -v column="$1" '$2 == column { print $4 }' "$M/T/R/.cells" |
		paste -sd ' '
}

@test "of increments and appends in one row of lines none is lost" {
	mkdir "$M/T"
	{
		line r f:n "" 5 increment
		line r f:log "" one%0A append
		line r f:n "" 5 increment
		line r f:log "" two%0A append
	} > "$M/T/.cells"
	[ "$(cat "$M/T/r/f/n/counter")" = 10 ]
	[ "$(cat "$M/T/r/f:log")" = "one
two" ]
}

@test "increments and appends behind a put or a delete in a row of lines go on from that" {
	mkdir "$M/T"
	echo -n old > "$M/T/.put/R/f:q"
	echo -n old > "$M/T/.put/R/f:gone"
	echo -n old > "$M/T/.put/R/g:gone"
	{
		line R f:other '' a append
		line R f:q '' one
		line R f:q '' two append
		line R f:q '' three append
		line R f:q '' four
		line R f:q '' five append
		line R f:n '' %00%00%00%00%00%00%00%05
		line R f:n '' 2 increment
		line R f:n '' -1 increment
		line R f:gone '' '' delete-column
		line R f:gone '' new append
		line R f:gone '' er append
		line R g: '' '' delete-family
		line R g:gone '' fresh append
		line R g:n '' 7 increment
		line R f:other '' b append
	} > "$M/T/.cells"
	[ "$(newest_first f:q)" = "fourfive onetwothree old" ]
	[ "$(newest_first f:n)" = %00%00%00%00%00%00%00%06 ]
	[ "$(newest_first f:gone)" = newer ]
	[ "$(newest_first g:gone)" = fresh ]
	[ "$(newest_first g:n)" = %00%00%00%00%00%00%00%07 ]
	[ "$(newest_first f:other)" = ab ]
	{
		line R '' '' '' delete-row
		line R f:q '' six append
	} > "$M/T/.cells"
	[ "$(cut -f 2,4 "$M/T/R/.cells")" = "f:q${TAB}six" ]
	{
		line Q f:q '' before
		line R f:q '' none
		line R f:q '' 1 increment
		line S f:q '' behind
	} > "$BATS_TEST_TMPDIR/lines"
	run -1 cp "$BATS_TEST_TMPDIR/lines" "$M/T/.cells"
	grep -q "line 2: an increment of the row adds to a value that the row puts" "$M/.cellfs/errors"
	[ "$(cat "$M/T/Q/f:q")" = before ]
	[ "$(cat "$M/T/R/f:q")" = six ]
}

@test "of lines that put into one column of a row none replaces another" {
	mkdir "$M/T"
	{
		line R f:q '' one
		line R f:p '' other
		line R f:q '' two
		line R f:q '' three
	} > "$M/T/.cells"
	[ "$(newest_first f:q)" = "three two one" ]
	[ "$(newest_first f:p)" = other ]
	sed -i 's/versions 3/versions 100/' "$M/T/.schema"
	for i in $(seq 50); do
		line R "f:$((i % 2))" '' "$i"
	done > "$M/T/.cells"
	[ "$(newest_first f:0)" = "$(seq 50 -2 2 | paste -sd ' ')" ]
	[ "$(newest_first f:1)" = "$(seq 49 -2 1 | paste -sd ' ')" ]
}

@test "a delete in a row of lines takes all that the lines before it have put" {
	mkdir "$M/T"
	{
		line R f:q '' one
		line R f:q '' two
		line R g:q '' one
		line R g:q '' two
		line R f:q '' '' delete-column
		line R g: '' '' delete-family
		line R f:q '' new
		line R h:q '' last
	} > "$M/T/.cells"
	[ "$(newest_first f:q)" = new ]
	[ -z "$(newest_first g:q)" ]
	[ "$(newest_first h:q)" = last ]
	{
		line R f:q '' one
		line R f:q '' two
		line R '' '' '' delete-row
		line R h:q '' new
	} > "$M/T/.cells"
	[ "$(cut -f 2,4 "$M/T/R/.cells")" = "h:q${TAB}new" ]
}

@test "what a row of lines puts behind its deletes is seen" {
	mkdir "$M/T"
	printf 'families open\nfamily f\n\tnew_version_behavior no\nfamily g\n' \
		> "$M/T/.schema"
	for family in f g; do
		echo -n old > "$M/T/.put/R/$family:q"
		{
			line R "$family:q" '' '' delete-column
			line R "$family:q" '' new
			line R "$family:p" '' '' delete-column
			line R "$family:p" '' other
		} > "$M/T/.cells"
		[ "$(newest_first "$family:q")" = new ]
		[ "$(newest_first "$family:p")" = other ]
		{
			line R "$family:" '' '' delete-family
			line R "$family:q" '' newer
		} > "$M/T/.cells"
		[ "$(newest_first "$family:q")" = newer ]
		{
			line R '' '' '' delete-row
			line R "$family:p" '' last
		} > "$M/T/.cells"
		[ "$(newest_first "$family:p")" = last ]
		[ "$(cat "$M/T/R/.cells" | wc -l)" -eq 1 ]
	done
}

@test "a row that was absent is there when a stream has made it" {
	mkdir "$M/T"
	run ! ls "$M/T/r"
	line r f:q 100 x > "$M/T/.cells"
	settled ls "$M/T/r"
	[ "$(cat "$M/T/r/f/q/100")" = x ]
	line r f:q 100 y > "$M/T/.cells"
	settled grep -q y "$M/T/r/f/q/100"
}

@test "copying by streams gives equal tables" {
	mkdir "$M/a" "$M/b"
	seq 1 3000 | awk -v OFS='\t' '{
		print sprintf("row%05d", $1), "f:q", 100, "value " $1
		print sprintf("row%05d", $1), "f:r", 100 + $1, "%00%25" }' \
		> "$M/a/.cells"
	[ "$(wc -l < "$M/a/.cells")" -eq 6000 ]
	cat "$M/a/.cells" > "$M/b/.cells"
	cmp "$M/a/.cells" "$M/b/.cells"
	[ "$(ls "$M/b" | wc -l)" -eq 3000 ]
	[ "$(cat "$M/b/row00007/f:q")" = "value 7" ]
}

@test "a bad line fails at its number and halves no row" {
	mkdir "$M/T"
	{
		line a f:q 1 x
		line b f:q 1 x
		echo nonsense
		line c f:q 1 x
	} > "$T/lines"
	run ! cp "$T/lines" "$M/T/.cells"
	grep -q 'line 3' "$M/.cellfs/errors"
	[ "$(ls "$M/T" | tr '\n' ' ')" = "a " ]
	run ! bash -c "printf 'a\tf:q\tsoon\tx\n' > '$M/T/.cells'"
	grep -q 'line 1: the timestamp' "$M/.cellfs/errors"
}

@test "close says again why a line was refused, and errors say it once" {
	mkdir "$M/T"
	printf 'a\tf:q\t1\tx\nnonsense\n' > "$T/lines"
	run ! bash -c "cat '$T/lines' '$T/lines' > '$M/T/.cells'"
	[ "$(grep -c . "$M/.cellfs/errors")" -eq 1 ]
	tail -n 1 "$M/.cellfs/errors" | grep -q "write /T/.cells: .* line 2: "
	run -1 python3 - "$M/T/.cells" "$M/.cellfs/errors" <<-'PY'
	import os, sys
	fd = os.open(sys.argv[1], os.O_WRONLY)
	try:
	    os.write(fd, b"bad\n")
	except OSError:
	    pass
	try:
	    os.write(fd, b"r\tf:q\t1\tx\n")
	except OSError:
	    print(open(sys.argv[2]).read().splitlines()[-1])
	os.close(fd)
	PY
	[[ $output == *"line 1: "*"(2 times)"* ]]
}

# many N: N cells, five a row.
many() {
	awk -v n="$1" -v OFS='\t' 'BEGIN {
		for (i = 0; i < n; i++)
			print sprintf("row%06d", i / 5), "f:q" i % 5, 100 + i,
				"value " i " 100%25" }'
}

@test "a bad line among many leaves the rows before it whole, and no other" {
	mkdir "$M/T" "$M/U"
	many "${CELLFS_CELLS:-50000}" > "$T/lines"
	cat "$T/lines" > "$M/T/.cells"
	cat "$M/T/.cells" > "$M/U/.cells"
	[ "$(sha256sum < "$M/T/.cells")" = "$(sha256sum < "$T/lines")" ]
	[ "$(sha256sum < "$M/U/.cells")" = "$(sha256sum < "$T/lines")" ]
	# The third line of the row 5000; much of what precedes is in one batch.
	sed '25003s/\t[^\t]*$/\t50%/' "$T/lines" > "$T/bad"
	mkdir "$M/V"
	run ! cp "$T/bad" "$M/V/.cells"
	grep -q 'line 25003: a .%' "$M/.cellfs/errors"
	head -n 25000 "$T/lines" | cmp - "$M/V/.cells"
	# So does a value that is too large.
	mkdir "$M/W"
	printf 'family f\n\tmax_value 25\n' > "$M/W/.schema"
	sed '25003s/$/ that is far too long/' "$T/lines" > "$T/bad"
	run ! cp "$T/bad" "$M/W/.cells"
	grep -q 'line 25003: a value of' "$M/.cellfs/errors"
	head -n 25000 "$T/lines" | cmp - "$M/W/.cells"
}

@test "a last line without newline is an error at close" {
	mkdir "$M/T"
	python3 - "$M/T/.cells" <<-'PY'
	import os, sys
	fd = os.open(sys.argv[1], os.O_WRONLY)
	os.write(fd, b"a\tf:q\t1\tx\nb\tf:q\t1\thalf")
	try:
	    os.close(fd)
	except OSError as e:
	    assert e.errno == 22, e
	else:
	    raise SystemExit("close said nothing")
	PY
	grep -q 'newline' "$M/.cellfs/errors"
	run ! ls "$M/T/b"
}

@test "lines in a row or family must be of it" {
	mkdir -p "$M/T/r/f"
	line r g:q 1 x > "$M/T/r/.cells"
	run ! bash -c "printf 's\tf:q\t1\tx\n' > '$M/T/r/.cells'"
	grep -q 'another row' "$M/.cellfs/errors"
	line r f:q 1 x > "$M/T/r/f/.cells"
	run ! bash -c "printf 'r\tg:p\t1\tx\n' > '$M/T/r/f/.cells'"
	grep -q 'another family' "$M/.cellfs/errors"
	[ "$(cut -f 2 "$M/T/.cells" | tr '\n' ' ')" = "f:q g:q " ]
}

@test "a stream shows the table as of its open" {
	not_over_hbase "its scans are not of one moment"
	mkdir "$M/T"
	seq 1 5000 | awk -v OFS='\t' '{print $1, "f:q", 1, "old"}' \
		> "$M/T/.cells"
	exec 4< "$M/T/.cells"
	head -c 100 <&4 > /dev/null
	seq 1 5000 | awk -v OFS='\t' '{print $1, "f:q", 2, "new"}' \
		> "$M/T/.cells"
	run ! grep -q new <&4
	exec 4<&-
}

@test "a stream cannot be moved, removed or replaced" {
	mkdir "$M/T"
	run ! rm "$M/T/.cells"
	run ! mv "$M/T/.cells" "$M/T/x"
	echo x > "$M/T/.scratch"
	run ! mv "$M/T/.scratch" "$M/T/.cells"
	rm "$M/T/.scratch"
	run ! mkdir "$M/T/.cells"
	[ "$(cat "$M/T/.cells")" = "" ]
}

# refused REASON ECHO_ARGUMENTS...: what a shell writes fails there, in words.
refused() {
	local reason=$1

	shift
	run ! bash -c 'printf "${@:2}" > "$1"' - "$M/T/.cells" "$@"
	[[ $output == *"write error"* ]]
	grep -q "$reason" "$M/.cellfs/errors" || {
		cat "$M/.cellfs/errors" >&2
		return 1
	}
}

@test "a line that its row cannot take fails at the write that brings it" {
	printf 'x' > "$T/long"
	truncate -s 40000 "$T/long"
	mkdir "$M/T"
	printf 'families fixed\nfamily f\n\tmax_value 9\n' > "$M/T/.schema"
	line r f:q 9223372036854775805 last > "$M/T/.cells"
	line r f:text 5 notanum > "$M/T/.cells"
	refused 'line 1: the table.s families are fixed: add none' 'r\tnone:q\t1\tv\n'
	refused 'line 1: a value of 10 bytes' 'r\tf:q\t1\t0123456789\n'
	refused 'line 1: .*names a family' 'r\tf:q\t\t\tdelete-row\n'
	refused 'line 1: .*names a qualifier' 'r\tf:q\t\t\tdelete-family\n'
	refused 'line 1: a delete brings a value' 'r\tf:q\t\tv\tdelete\n'
	refused 'line 1: a delete has a ttl' 'r\tf:q\t\t\tdelete\t5\n'
	refused 'line 1: the ttl' 'r\tf:q\t1\tv\tput\tsoon\n'
	refused 'line 1: the timestamp' 'r\tf:q\t9223372036854775806\tv\n'
	refused 'line 1: the line ends in CR LF' 'r\tf:q\t1\tv\r\n'
	refused 'line 1: the qualifier is 40000' 'r\tf:%s\t1\tv\n' \
		"$(tr '\0' x < "$T/long")"
	refused 'line 1: the row key' '\tf:q\t1\tv\n'
	[ "$(cut -f 1,2 "$M/T/.cells" | tr '\n\t' ' ')" = "r f:q r f:text " ]
}

@test "a sum that its row cannot take fails at the write that brings it" {
	not_over_hbase "its servers judge sums, when the row is sent"
	mkdir "$M/T"
	printf 'families fixed\nfamily f\n\tmax_value 9\n' > "$M/T/.schema"
	line r f:q 9223372036854775805 last > "$M/T/.cells"
	line r f:text 5 notanum > "$M/T/.cells"
	refused 'line 1: .* a counter has 8' 'r\tf:text\t\t1\tincrement\n'
	refused 'line 1: a value of 10 bytes' 'r\tf:text\t\txyz\tappend\n'
	refused 'line 1: .*no timestamp is left' 'r\tf:q\t\tv\n'
	# What comes of a row in several writes is taken together.
	run ! bash -c '{ printf "s\tf:a\t\tfive5\tappend\n" &&
		printf "s\tf:b\t1\tfine\n" &&
		printf "s\tf:a\t\tfive5\tappend\n"; } > "$1"' - "$M/T/.cells"
	[ "$(cut -f 1,2 "$M/T/.cells" | tr '\n\t' ' ')" = "r f:q r f:text " ]
}

@test "a row that a stream has left behind is applied or refused at once" {
	mkdir "$M/T"
	line r f:text 5 notanum > "$M/T/.cells"
	python3 - "$M/T" <<-'PY'
	import os, sys
	t = sys.argv[1]
	fd = os.open(t + "/.cells", os.O_WRONLY)
	os.write(fd, b"a\tf:q\t1\tv\nb\tf:q\t1\tv\n")
	assert sorted(os.listdir(t)) == [".schema", "a", "r"], os.listdir(t)
	os.write(fd, b"b\tf:p\t1\tw\n")
	assert sorted(os.listdir(t)) == [".schema", "a", "r"], os.listdir(t)
	os.write(fd, b"c\tf:q\t1\tv\n")
	assert sorted(os.listdir(t + "/b/f")) == ["p", "q"]
	try:
	    os.write(fd, b"r\tf:text\t\t1\tincrement\nd\tf:q\t1\tv\n")
	except OSError as e:
	    assert e.errno == 22, e
	else:
	    raise SystemExit("the write said nothing")
	PY
	[ "$(ls "$M/T" | tr '\n' ' ')" = "a b c r " ]
	grep -q 'line 5: ' "$M/.cellfs/errors"
}

@test "a row of a stream is one act, however many writes bring it" {
	mkdir "$M/T"
	python3 - "$M/T" <<-'PY'
	import os, sys
	t = sys.argv[1]
	fd = os.open(t + "/.cells", os.O_WRONLY)
	for i in range(0, 20000, 100):
	    os.write(fd, b"".join(b"wide\tf:%d\t7\tv\n" % k
	                          for k in range(i, i + 100)))
	    assert open(t + "/.cells").read() == ""
	os.close(fd)
	assert len(os.listdir(t + "/wide/f")) == 20000
	PY
}

@test "a cell's own ttl is the sixth field" {
	not_over_hbase "it does not tell a cell's own ttl"
	mkdir "$M/T"
	line r f:q 100 short put 900000000000000 > "$M/T/.cells"
	line r f:n "" 5 increment 86400000 > "$M/T/.cells"
	line r f:p "" x append 86400000 > "$M/T/.cells"
	line r f:q 50 long > "$M/T/.cells"
	line r f:q 60 gone put 1 > "$M/T/.cells"
	[ "$(cut -f 2,4- "$M/T/.cells")" = "$(line f:n %00%00%00%00%00%00%00%05 \
		put 86400000)
$(line f:p x put 86400000)
$(line f:q short put 900000000000000)
$(line f:q long)" ]
	mkdir "$M/U"
	cat "$M/T/.cells" > "$M/U/.cells"
	cmp "$M/T/.cells" "$M/U/.cells"
}

@test "a cell with a ttl of its own that is moved ends when it would have" {
	not_over_hbase "it does not tell a cell's own ttl"
	mkdir "$M/T"
	line r f:q 100 x put 900000000000000 > "$M/T/.cells"
	mv "$M/T/r/f:q" "$M/T/r/f:p"
	[ "$(cat "$M/T/.cells")" = "$(line r f:p 100 x put 900000000000000)" ]
	mv "$M/T/r/f/p/100" "$M/T/r/f/p/200"
	[ "$(cat "$M/T/.cells")" = "$(line r f:p 200 x put 899999999999900)" ]
	# Onto a newer value it is put as of now.
	echo new >"$M/T/r/f:o"
	mv "$M/T/r/f:p" "$M/T/r/f:o"
	[ "$(cat "$M/T/r/f:o")" = x ]
	awk -F '\t' 'NR == 1 { late = $3 + $6 - 900000000000100 }
		END { exit !(late >= 0 && late < 5000) }' "$M/T/.cells"
}

@test "a stream has no size: what reads to the end copies it, tar and rsync do not" {
	mkdir "$M/T"
	line r f:q 1 x > "$M/T/.cells"
	[ "$(stat -c %s "$M/T/.cells")" -eq 0 ]
	cp "$M/T/.cells" "$T/copy"
	cat "$M/T/.cells" | cmp - "$T/copy"
	[ -s "$T/copy" ]
	# Neither is it listed, so that no copy of the tree has one of 0 bytes.
	tar -C "$M" -cf "$T/tar" T
	run ! grep -q '\.cells' <(tar -tf "$T/tar")
	tar -C "$M/T" -cf "$T/tar" .cells
	[ -z "$(tar -xOf "$T/tar" .cells)" ]
	rsync "$M/T/.cells" "$T/synced"
	[ ! -s "$T/synced" ]
	# The help says so.
	grep -q 'tar and rsync copy 0 bytes' "$M/.cellfs/help"
}
