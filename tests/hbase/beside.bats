# HBase's own client changes what the mount shows, which the kernel may believe
# for a day here: what is opened, listed, looked for and written must be right
# all the same.

load helper

setup() {
	mount_cluster -o attr_timeout=86400
}

# a_cell: the row $R with f:q = one, in the table $N; $V is its version.
a_cell() {
	R=$M/$N/r
	mkdir "$M/$N" "$R"
	echo -n one >"$R/f:q"
	V=$(ls "$R/f/q")
}

@test "a file is what the other client has put when it is opened" {
	local name

	a_cell
	for name in f:q f/q/latest "f/q/$V"; do
		has "$R/$name" one
	done
	# The same version anew, longer and then shorter.
	for value in two-and-more 3; do
		other put "$N" r f q "$value" "$V"
		for name in f:q f/q/latest "f/q/$V"; do
			has "$R/$name" "$value"
		done
	done
	other put "$N" r f q newer
	has "$R/f:q" newer
	has "$R/f/q/latest" newer
	has "$R/f/q/$V" 3
	has "$R/f/q/@-1" 3
	other delete "$N" r
	for name in f:q f/q/latest "f/q/$V" f/q/@-1; do
		run ! cat "$R/$name"
	done
}

@test "a file that is open goes on as it was, and the next open is new" {
	a_cell
	has "$R/f/q/$V" one
	exec 6<"$R/f/q/$V" 7<"$R/f:q"
	other put "$N" r f q second "$V"
	[ "$(cat <&7)" = one ]
	has "$R/f/q/$V" second
	has "$R/f:q" second
	exec 6<&- 7<&-
}

@test "that something is absent is never believed" {
	local path
	local -a paths=(r r/f r/f/q r/f/q/5 r/f/q/latest r/f:q
		.prefix/r/r .put/r/f:q)

	run ! stat "$M/$N"
	other create "$N" f
	stat "$M/$N"
	for path in "${paths[@]}"; do
		run ! cat "$M/$N/$path"
		[[ $output == *"No such file"* ]] ||
			[ "$(stat -c %F "$M/$N/$path")" = directory ]
	done
	other put "$N" r f q v 5
	for path in "${paths[@]}"; do
		stat -c %F "$M/$N/$path"
	done
	run ! stat "$M/$N/.snapshot/$N-s"
	other snapshot "$N" "$N-s"
	has "$M/$N/.snapshot/$N-s/r/f:q" v
	other drop-snapshot "$N" "$N-s"
	[ -z "$(ls "$M/$N/.snapshot")" ]
}

# listed DIR NAME...
listed() {
	local dir=$1 got

	shift
	got=$(ls -U "$dir" | tr '\n' ' ')
	[ "$got" = "$*${1+ }" ] || {
		echo "$dir has $got, and not $*" >&2
		return 1
	}
}

@test "a listing and a stream have what is there when they are opened" {
	a_cell
	listed "$M/$N" r
	listed "$R" f
	listed "$R/f" q
	listed "$R/f/q" "$V"
	other put "$N" a f q 1 5
	other put "$N" r f p 2 5
	other put "$N" r f q 3 5
	listed "$M/$N" a r
	listed "$M/$N/.first/1" a
	listed "$M/$N/.prefix/r" r
	listed "$R/f" p q
	listed "$R/f/q" "$V" 5
	[ "$(cut -f 1,2,4 "$M/$N/.cells" | tr '\t\n' '= ')" = \
		"a=f:q=1 r=f:p=2 r=f:q=one r=f:q=3 " ]
	other add-family "$N" g
	other put "$N" r g x 4
	listed "$R" f g
	other delete "$N" a
	other delete-version "$N" r f q 5
	listed "$M/$N" r
	listed "$R/f/q" "$V"
	other delete "$N" r
	listed "$M/$N"
	[ -z "$(cat "$M/$N/.cells")" ]
}

@test "attr_timeout is how long names and attributes are believed" {
	local size version

	other create "$N" f
	# Who drops the caches of the machine meanwhile has the kernel ask again.
	for version in 5 6 7 8 9; do
		R=$M/$N/r/f/q/$version
		other put "$N" r f q one "$version"
		[ "$(stat -c %s "$R")" = 3 ]
		other put "$N" r f q longer "$version"
		size=$(stat -c %s "$R")
		[ "$size" = 6 ] || break
	done
	[ "$size" = 3 ]
	has "$R" longer
	[ "$(stat -c %s "$R")" = 6 ]
	remount_store -o attr_timeout=0
	[ "$(stat -c %s "$R")" = 6 ]
	other put "$N" r f q long "$version"
	[ "$(stat -c %s "$R")" = 4 ]
	other delete "$N" r
	run ! stat "$R"
	[ "$(awk '/^attr_timeout/ { print $2 }' "$M/.cellfs/options")" = 0 ]
}

@test "what the other client has put cannot be made with O_EXCL" {
	a_cell
	run ! stat "$R/f:new"
	other put "$N" r f new theirs
	run ! bash -c 'set -C; echo mine >"$1"' - "$R/f:new"
	has "$R/f:new" theirs
	run ! stat "$R/f/q/7"
	other put "$N" r f q theirs 7
	run ! bash -c 'set -C; echo mine >"$1"' - "$R/f/q/7"
	has "$R/f/q/7" theirs
}

# asks COMMAND...: it succeeds, and so many reads of the cluster it took.
asks() {
	local all='/^cellfs_store_(gets|scans)_total/ { n += $2 } END { print n }'
	local before

	before=$(awk "$all" "$M/.cellfs/metrics")
	"$@" >"$T/answer" || return
	echo $(($(awk "$all" "$M/.cellfs/metrics") - before))
}

# asks_only N READY COMMAND...: COMMAND asks the cluster N times when READY has
# had the kernel ask for what it may keep. Who drops the machine's caches in
# between, as another test does for seconds, has the kernel ask for more: then
# all of it is done anew.
asks_only() {
	local n=$1 ready=$2 got end=$((SECONDS + 30))

	shift 2
	until "$ready" && got=$(asks "$@") && [ "$got" = "$n" ]; do
		[ "$SECONDS" -lt "$end" ] || {
			echo "$* asks ${got:-}, and not $n" >&2
			return 1
		}
		sleep 0.2
	done
}

# Each READY that is used below, and the commands that ask of what it made.
known() {
	ls "$R/f/q"
	stat "$R/f/q/$V"
}

scratch() {
	echo -n two >"$R/f/p/.5.tmp"
	stat "$R/f/p"
}

publish() {
	perl -e 'exit !rename "$ARGV[0].5.tmp", "$ARGV[0]5"' "$R/f/p/"
}

row_in_memory() {
	S=$M/$N/s$((++ROWS))
	mkdir "$S"
}

put_there() {
	echo -n new >"$S/f:q"
}

@test "what is asked for already is not asked for once more" {
	local ROWS=0 S

	a_cell
	# As it is opened, and not of what the open has found.
	asks_only 1 known cat "$R/f/q/$V"
	has "$T/answer" one
	asks_only 0 known perl -e 'exit !utime 5, 5, shift' "$R/f/q"
	# Nor how long it is, since there was a long one.
	head -c 100000 /dev/zero | tr '\0' x >"$R/f:long"
	[ "$(cat "$R/f/long/latest" | wc -c)" = 100000 ]
	asks_only 1 known cat "$R/f/q/$V"
	has "$T/answer" one
	# By the kernel, and not whether there is what is replaced anyhow.
	mkdir "$R/f/p"
	asks_only 2 scratch publish
	has "$R/f/p/5" two
	# What is newest of all is there: its row is not in memory any more.
	asks_only 2 row_in_memory put_there
	[[ " $(ls -U "$M/$N" | xargs) " == *" ${S##*/} "* ]]
	other delete "$N" "${S##*/}"
	[[ " $(ls -U "$M/$N" | xargs) " != *" ${S##*/} "* ]]
}

# holding TEXT REDIRECTION: a program has opened a file so and written the text,
# and closes it when fd 7 is closed. Its exit code is that of close(2).
holding() {
	mkfifo "$T/text"
	bash -c "set -C; exec cat $2" <"$T/text" 3>&- 8>&- 9<&- &
	HOLDER=$!
	exec 7>"$T/text"
	echo -n "$1" >&7
	settled grep -q '^pos:.*[1-9]' "/proc/$HOLDER/fdinfo/1"
}

@test "a file that is made with O_EXCL is refused when the other was first" {
	a_cell
	holding mine ">'$R/f:new'"
	other put "$N" r f new theirs
	exec 7>&-
	run ! wait "$HOLDER"
	has "$R/f:new" theirs
}

@test "both append, and both add" {
	a_cell
	holding -two ">>'$R/f:q'"
	other append "$N" r f q -three
	exec 7>&-
	wait "$HOLDER"
	has "$R/f:q" one-three-two
	other append "$N" r f q -four
	echo -n -five >>"$R/f:q"
	[ "$(other get "$N" r f q)" = one-three-two-four-five ]
	mkdir -p "$R/f/n"
	[ "$(other incr "$N" r f n 5)" = 5 ]
	has "$R/f/n/counter" 5
	echo 2 >"$R/f/n/counter"
	[ "$(other incr "$N" r f n 1)" = 8 ]
	has "$R/f/n/counter" 8
}

@test "what is put beside the other client's put is above it" {
	a_cell
	# In an hour, by a client whose clock is wrong.
	other put "$N" r f q theirs $((V + 3600000))
	echo -n mine >"$R/f:q"
	has "$R/f:q" mine
	[ "$(other get "$N" r f q)" = mine ]
}

# lacks FILE PATTERN
lacks() {
	! grep -q "$2" "$1"
}

@test "a table that the other client changes, drops and makes anew" {
	a_cell
	grep -q '^family f' "$M/$N/.schema"
	other add-family "$N" g
	soon grep -q '^family g' "$M/$N/.schema"
	echo -n x >"$R/g:q"
	[ "$(other get "$N" r g q)" = x ]
	other delete-family "$N" g
	soon lacks "$M/$N/.schema" '^family g'
	run ! cat "$R/g:q"
	[[ $(ls "$M") == *"$N"* ]]
	other drop "$N"
	[[ $(ls "$M") != *"$N"* ]]
	run ! cat "$R/f:q"
	run ! cp <(echo x) "$R/f:q"
	run ! ls "$M/$N"
	other create "$N" h
	soon grep -q '^family h' "$M/$N/.schema"
	lacks "$M/$N/.schema" '^family f'
	mkdir "$R"
	echo -n again >"$R/h:q"
	[ "$(other get "$N" r h q)" = again ]
}

@test "of changes of a table that are made at once none is lost" {
	local i name pids

	"$CELLCTL" create "$STORE" "$N" z
	for i in 1 2 3 4; do
		pids=()
		for name in a b c; do
			"$CELLCTL" alter "$STORE" "$N" "$name$i" "$name${i}x" &
			pids+=($!)
		done
		chmod "75$i" "$M/$N" &
		pids+=($!)
		for name in "${pids[@]}"; do
			wait "$name"
		done
	done
	[ "$("$CELLCTL" describe "$STORE" "$N" | grep -c '^family ')" = 25 ]
	"$CELLCTL" describe "$STORE" "$N" | grep -qx 'mode 0754'
}
