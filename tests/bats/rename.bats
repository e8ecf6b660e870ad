load helper

@test "mv of a version to another timestamp" {
	a_column
	echo x > "$C/1"
	mv "$C/1" "$C/2"
	[ "$(ls "$C")" = 2 ]
	[ "$(cat "$C/2")" = x ]
}

@test "mv of a version to another column of the row" {
	a_column
	mkdir "$M/T/R/f/p"
	echo x > "$C/1"
	mv "$C/1" "$M/T/R/f/p/1"
	[ "$(cat "$M/T/R/f/p/1")" = x ]
	[ -z "$(ls "$C")" ]
}

@test "mv of a version onto another one replaces it" {
	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	mv "$C/1" "$C/2"
	[ "$(ls "$C")" = 2 ]
	[ "$(cat "$C/2")" = one ]
}

# full_column N: the column T/R/f/q of a family that keeps N versions has so
# many, 10, 20, ...
full_column() {
	local i

	mkdir "$M/T"
	printf 'families open\nfamily f\n\tversions %s\nfamily g\n\tttl 1d\n' "$1" \
		> "$M/T/.schema"
	mkdir -p "$M/T/R/f/q" "$M/T/R/f/p" "$M/T/R/g/q"
	C=$M/T/R/f/q
	for ((i = 1; i <= $1; i++)); do
		echo "$i" > "$C/${i}0"
	done
}

@test "mv of a version to an older time in a full column loses none" {
	not_over_hbase "a version counts at the moment at which it goes"
	full_column 3
	mv "$C/30" "$C/5"
	[ "$(ls "$C" | tr '\n' ' ')" = "10 20 5 " ]
	[ "$(cat "$C/5")" = 3 ]
	mv "$C/10" "$C/3"
	[ "$(ls "$C" | tr '\n' ' ')" = "20 3 5 " ]
	[ "$(cat "$C/3")" = 1 ]
	mv "$M/T/R/f:q" "$C/1"
	mv "$C/latest" "$C/2"
	[ "$(cat "$C/1" "$C/2" "$C/3" | tr '\n' ' ')" = "2 3 1 " ]
	mv "$C/3" "$C/3.bak"
	mv "$C/3.bak" "$C/0"
	[ "$(ls "$C" | tr '\n' ' ')" = "0 1 2 " ]
	[ "$(cat "$C/0")" = 1 ]
	remount_store
	[ "$(ls "$C" | tr '\n' ' ')" = "0 1 2 " ]
}

# loses_version FROM TO REASON: mv is refused with that reason.
loses_version() {
	run mv "$1" "$2"
	[ "$status" -ne 0 ]
	[[ $output == *"not permitted"* ]]
	grep -q "a version would be lost: .*$3" "$M/.cellfs/errors"
}

# refused_move FROM TO REASON: FROM stays as it is.
refused_move() {
	local was

	was=$(cat "$1")
	loses_version "$@"
	[ "$(cat "$1")" = "$was" ]
	[ ! -e "$2" ]
}

@test "mv of a version to where it is not seen is refused" {
	full_column 2
	echo other > "$M/T/R/f/p/4"
	refused_move "$M/T/R/f/p/4" "$C/4" "2 newer versions"
	mv "$M/T/R/f/p/4" "$M/T/R/f/p/4~"
	refused_move "$M/T/R/f/p/4~" "$C/4" "2 newer versions"
	mv "$M/T/R/f/p/4~" "$M/T/R/f/p/4"
	refused_move "$M/T/R/f/p/4" "$M/T/R/g/q/4" "has expired"
	mv "$M/T/R/f/p/4" "$C/15"
	[ "$(ls "$C" | tr '\n' ' ')" = "15 20 " ]
}

# In the classic order the delete of a version shows those that it pushed out.
@test "mv of a version beneath one that its going uncovers is refused" {
	mkdir "$M/T"
	printf 'families open\nfamily f\n\tversions 1\n\tnew_version_behavior no\n' \
		> "$M/T/.schema"
	mkdir -p "$M/T/R/f/q"
	C=$M/T/R/f/q
	for i in 10 20 30 30; do echo "$i" > "$C/$i"; done
	refused_move "$C/30" "$C/5" "2 newer versions"
	mv "$C/30" "$C/25"
	[ "$(ls "$C")" = 25 ]
	# What a delete hides is not uncovered.
	rm "$C"/*
	rm "$C"/*
	mv "$C/10" "$C/5"
	[ "$(cat "$C/5")" = 10 ]
}

@test "mv of a version to where a delete hides it, in the classic order, is refused" {
	mkdir "$M/T"
	printf 'families open\nfamily f\n\tnew_version_behavior no\n' \
		> "$M/T/.schema"
	mkdir -p "$M/T/R/f/q" "$M/T/R/f/p"
	C=$M/T/R/f/q
	echo x > "$C/20"
	mv "$C/20" "$C/30"
	refused_move "$C/30" "$C/20" "was deleted"
	mv "$C/30" "$C/30~"
	refused_move "$C/30~" "$C/20" "was deleted"
	mv "$C/30~" "$C/30"
	echo y > "$M/T/R/f:p"
	rm "$M/T/R/f:p"
	mkdir -p "$M/T/R/f/p"
	refused_move "$C/30" "$M/T/R/f/p/30" "was deleted"
	mv "$C/30" "$C/latest"
	[ "$(cat "$C/latest")" = x ]
	[ "$(ls "$C" | wc -l)" -eq 1 ]
}

@test "mv of F:Q onto a version of its own column names the newest so" {
	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	mv "$M/T/R/f:q" "$C/5"
	[ "$(ls "$C" | tr '\n' ' ')" = "1 5 " ]
	[ "$(cat "$C/5")" = two ]
	mv "$M/T/R/f:q" "$C/latest"
	mv "$M/T/R/f:q" "$C/5"
	mv "$M/T/R/f:q" "$C/1"
	[ "$(ls "$C")" = 1 ]
	[ "$(cat "$M/T/R/f:q")" = two ]
}

@test "latest and names in .put are gone with the column, whatever was moved there" {
	local name
	a_column
	echo other > "$C/1"
	for name in "$C/latest" "$M/T/.put/R/f:q" "$M/T/.put/R/f/q/latest"; do
		echo x > "$C/.new"
		mv -T "$C/.new" "$name"
		[ "$(cat "$name")" = x ]
		rm "$M/T/R/f:q"
		settled [ ! -e "$name" ]
		echo other > "$C/1"
		mv -T "$C/1" "$name"
		[ "$(cat "$name")" = other ]
		rm "$M/T/R/f:q"
		settled [ ! -e "$name" ]
	done
}

# mutations: how many changes of rows the store has made.
mutations() {
	sed -n 's/^ *mutations_total *//p' "$M/.cellfs/stats"
}

@test "mv within a row is one change of it" {
	local before

	not_over_hbase "its changes are not counted"
	a_column
	for ts in 1 2 3; do
		echo "$ts" >"$C/$ts"
	done
	echo note >"$M/T/R/.note"
	mkdir -p "$M/T/R/h/q"
	echo x >"$M/T/R/h/q/7"
	before=$(mutations)
	mv "$C/1" "$C/4"
	[ "$(mutations)" -eq $((before + 1)) ]
	mv "$C/2" "$M/T/R/g:p"
	[ "$(mutations)" -eq $((before + 2)) ]
	mv "$M/T/R/f:q" "$M/T/R/g:p"
	[ "$(mutations)" -eq $((before + 3)) ]
	mv "$M/T/R/.note" "$M/T/R/g:q"
	[ "$(mutations)" -eq $((before + 4)) ]
	# By way of a name that tools give, the put is also the delete.
	mv "$M/T/R/h/q/7" "$M/T/R/h/q/7.bak"
	mv "$M/T/R/h/q/7.bak" "$M/T/R/h/q/8"
	[ "$(mutations)" -eq $((before + 5)) ]
	[ "$(cat "$M/T/R/g:p" "$M/T/R/g:q" "$M/T/R/h/q/8" | tr '\n' ' ')" = \
		"1 note x " ]
}

@test "mv -n does not replace" {
	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	mv -n "$C/1" "$C/2" || true
	[ "$(cat "$C/1")" = one ]
	[ "$(cat "$C/2")" = two ]
}

@test "mv to another row copies and removes" {
	a_column
	mkdir -p "$M/T/R2/f/q"
	echo x > "$C/1"
	mv "$C/1" "$M/T/R2/f/q/1"
	[ "$(cat "$M/T/R2/f/q/1")" = x ]
	[ -z "$(ls "$C")" ]
}

@test "mv of a whole row copies all of it" {
	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	echo body > "$M/T/R/g:h"
	mv "$M/T/R" "$M/T/R2"
	[ "$(ls "$M/T")" = R2 ]
	[ "$(cat "$M/T/R2/f/q/1")" = one ]
	[ "$(cat "$M/T/R2/f/q/latest")" = two ]
	[ "$(cat "$M/T/R2/g:h")" = body ]
}

@test "mv of F:Q moves the column with all its versions" {
	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	mv "$M/T/R/f:q" "$M/T/R/g:p"
	[ "$(ls -U "$M/T/R/g/p" | tr '\n' ' ')" = "2 1 " ]
	[ ! -e "$M/T/R/f:q" ]
}

@test "mv of F:Q to a family that keeps less of it leaves all" {
	mkdir "$M/T"
	printf 'families open\nfamily f\nfamily g\n\tversions 1\nfamily h\n\tttl 1d\n' \
		> "$M/T/.schema"
	mkdir -p "$M/T/R/f/q"
	C=$M/T/R/f/q
	echo one > "$C/1"
	echo two > "$C/2"
	refused_move "$M/T/R/f:q" "$M/T/R/g:q" "newer versions"
	refused_move "$M/T/R/f:q" "$M/T/R/h:q" "has expired"
	[ "$(ls "$C" | tr '\n' ' ')" = "1 2 " ]
	rm "$C/1"
	mv "$M/T/R/f:q" "$M/T/R/g:q"
	[ "$(cat "$M/T/R/g/q/2")" = two ]
}

@test "mv of F:Q with more versions than one change takes leaves all" {
	mkdir -p "$M/T/R"
	printf 'families open\nfamily f\n\tversions all\n' > "$M/T/.schema"
	seq -f 'R	f:q	%.0f	x' 10000 > "$M/T/.cells"
	mv "$M/T/R/f:q" "$M/T/R/f:p"
	printf 'R\tf:p\t10001\tx\n' > "$M/T/.cells"
	cp "$M/T/.cells" "$T/before"
	run ! mv "$M/T/R/f:p" "$M/T/R/f:q"
	[[ $output == *"File too large"* ]]
	grep -q "of more than 10000 versions or 320 MiB" "$M/.cellfs/errors"
	cmp "$M/T/.cells" "$T/before"
	[ "$(wc -l < "$T/before")" -eq 10001 ]
}

@test "mv of F:Q onto one that is newer shows what was moved" {
	local v

	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	for v in a b c; do echo $v > "$M/T/R/f:p"; done
	rm "$C/1"
	mv "$M/T/R/f:q" "$M/T/R/f:p"
	[ "$(cat "$M/T/R/f:p" "$M/T/R/f/p/@-1")" = "two
c" ]
	[ ! -e "$M/T/R/f:q" ]
}

# refused_column FROM TO WORDS: mv of F:Q leaves both as they are.
refused_column() {
	local was

	was=$(cat "${1%/*}/.cells")
	loses_version "$@"
	[ "$(cat "${1%/*}/.cells")" = "$was" ]
}

# shows DIR VALUE...: these are the column's versions, the newest first.
shows() {
	[ "$(cd "$1" && ls -U | xargs awk 1 | tr '\n' ' ')" = "${*:2} " ]
}

@test "mv of F:Q loses none of its older versions" {
	local t

	"$CELLCTL" create "$M" C f:new_version_behavior=no g
	"$CELLCTL" create "$M" N f g
	for t in C N; do
		mkdir "$M/$t/R"
		# Where newer ones are as many as are kept, with the newest moved.
		printf 'R\tf:%s\n' "a	1	one" "a	2	two" "b	3	x" "b	4	y" \
			> "$M/$t/.cells"
		refused_column "$M/$t/R/f:a" "$M/$t/R/f:b" "has 3 newer versions"
		rm "$M/$t/R/f/b/3"
		mv "$M/$t/R/f:a" "$M/$t/R/f:b"
		shows "$M/$t/R/f/b" two y one
		# One of the same time is replaced, so it does not count.
		printf 'S\tf:%s\n' "a	1	one" "a	2	two" "a	3	three" \
			"b	1	x" "b	2	y" > "$M/$t/.cells"
		mv "$M/$t/S/f:a" "$M/$t/S/f:b"
		shows "$M/$t/S/f/b" three two one
		# Beneath a marker of the family.
		printf 'U\tg:a\t10\tone\nU\tg:a\t20\ttwo\nU\tf:b\t30\tx\n' \
			> "$M/$t/.cells"
		printf 'U\tf:\t15\t\tdelete-family\n' > "$M/$t/.cells"
	done
	# Back to where the column was.
	mv "$M/N/S/f:b" "$M/N/S/f:a"
	shows "$M/N/S/f/a" three two one
	mv "$M/N/U/g:a" "$M/N/U/f:b"
	shows "$M/N/U/f/b" two x one
	refused_column "$M/C/S/f:b" "$M/C/S/f:a" "new_version_behavior no"
	refused_column "$M/C/U/g:a" "$M/C/U/f:b" "new_version_behavior no"
	rm "$M/C/U/g/a/10"
	mv "$M/C/U/g:a" "$M/C/U/f:b"
	shows "$M/C/U/f/b" two x
}

@test "mv of F:Q to a version of another column is refused if it has older ones" {
	mkdir -p "$M/T/R/f/q" "$M/T/R/f/p"
	echo one > "$M/T/R/f/q/1"
	echo two > "$M/T/R/f/q/2"
	echo here > "$M/T/R/f/p/3"
	for to in f/p/latest f/p/3 f/p/9; do
		run -1 mv "$M/T/R/f:q" "$M/T/R/$to"
		grep -q "f:q: EPERM: older versions would be lost" \
			"$M/.cellfs/errors"
		[ "$(cat "$M/T/R/f/q/1" "$M/T/R/f/q/2")" = $'one\ntwo' ]
		[ "$(cd "$M/T/R/f/p" && echo *)" = 3 ]
		[ "$(cat "$M/T/R/f/p/3")" = here ]
	done
	mv "$M/T/R/f/q/latest" "$M/T/R/f/p/9"
	[ "$(cat "$M/T/R/f/p/9")" = two ]
	mv "$M/T/R/f:q" "$M/T/R/f/p/8"
	[ "$(cat "$M/T/R/f/p/8")" = one ]
	[ ! -e "$M/T/R/f:q" ]
}

@test "mv of F:Q onto one that was deleted shows what was moved, in the classic order too" {
	local t

	"$CELLCTL" create "$M" C f:new_version_behavior=no g
	"$CELLCTL" create "$M" N f g
	for t in C N; do
		mkdir "$M/$t/R"
		echo moved > "$M/$t/R/f:new"
		echo x > "$M/$t/R/f:q"
		rm "$M/$t/R/f:q"
		mv "$M/$t/R/f:new" "$M/$t/R/f:q"
		[ "$(cat "$M/$t/R/f:q")" = moved ]
		# A marker of the same timestamp.
		printf 'R\tf:b\t7\tmoved\nR\tf:a\t7\t\tdelete-column\n' > "$M/$t/.cells"
		mv "$M/$t/R/f:b" "$M/$t/R/f:a"
		[ "$(cat "$M/$t/R/f:a")" = moved ]
		# One of the whole family, and one that is older than the cell there.
		printf 'R\tg:c\t8\tmoved\nR\tf:\t9\t\tdelete-family\n' > "$M/$t/.cells"
		mv "$M/$t/R/g:c" "$M/$t/R/f:c"
		[ "$(cat "$M/$t/R/f:c")" = moved ]
		printf 'R\tg:d\t18\tmoved\nR\tf:d\t20\tx\n' > "$M/$t/.cells"
		mv "$M/$t/R/g:d" "$M/$t/R/f:d"
		[ "$(cat "$M/$t/R/f:d")" = moved ]
		# No cell of another column counts.
		printf 'R\tg:e\t18\tmoved\nR\tf:\t30\tx\n' > "$M/$t/.cells"
		mv "$M/$t/R/g:e" "$M/$t/R/f:e"
		[ "$(ls "$M/$t/R/f/e")" = 18 ]
	done
}

@test "mv of a table renames it" {
	not_over_hbase "it renames no table"
	a_column
	echo x > "$C/1"
	mv "$M/T" "$M/T2"
	[ "$(ls "$M")" = T2 ]
	[ "$(cat "$M/T2/R/f/q/1")" = x ]
	remount_store
	[ "$(ls "$M")" = T2 ]
}

@test "mv of an empty row directory gives it a new name" {
	mkdir "$M/T" "$M/T/new"
	mv "$M/T/new" "$M/T/R"
	[ "$(ls "$M/T")" = R ]
	echo x > "$M/T/R/f:q"
	[ "$(cat "$M/T/R/f:q")" = x ]
}

@test "mv of a note to a timestamp, latest and F:Q is the put" {
	a_column
	echo one > "$C/note.tmp"
	mv "$C/note.tmp" "$C/1"
	echo two > "$C/note.tmp"
	mv "$C/note.tmp" "$C/latest"
	echo three > "$M/T/R/draft.new"
	mv "$M/T/R/draft.new" "$M/T/R/g:h"
	[ "$(cat "$C/1")" = one ]
	[ "$(cat "$C/latest")" = two ]
	[ "$(cat "$M/T/R/g:h")" = three ]
	[ "$(versions "$C")" -eq 2 ]
	[ "$(stat -c %Y "$C/1")" -eq 0 ]
}

@test "exchange is refused" {
	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	python3 - "$C/1" "$C/2" <<-'PY'
	import ctypes, errno, sys
	libc = ctypes.CDLL(None, use_errno=True)
	r = libc.renameat2(-100, sys.argv[1].encode(), -100,
	                   sys.argv[2].encode(), 2)
	assert r == -1 and ctypes.get_errno() == errno.EINVAL
	PY
}

@test "a file with content that cannot be put is not moved" {
	a_column
	echo old > "$M/T/R/f:q"
	python3 - "$M/T" <<-'PY'
	import errno, os, sys
	table = sys.argv[1]
	file = table + "/R/f:q"
	fd = os.open(file, os.O_WRONLY)
	os.write(fd, b"longer than that")
	with open(table + "/.schema", "w") as f:
	    f.write("family f\n\tmax_value 4\n")
	for to in table + "/R/f:p", table + "/R/.aside":
	    try:
	        os.rename(file, to)
	        raise SystemExit("moved to " + to)
	    except OSError as e:
	        assert e.errno == errno.EFBIG, e
	try:
	    os.close(fd)
	    raise SystemExit("closed")
	except OSError as e:
	    assert e.errno == errno.EFBIG, e
	assert open(file).read() == "old\n"
	PY
	[ "$(ls "$M/T/R")" = f ]
}
