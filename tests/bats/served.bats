# cellctl over a store that is mounted: the words of one at rest.

load helper

ctl() {
	"$CELLCTL" "$@"
}

# both WORD...: by the mountpoint and by the store, with S for it.
both() {
	local s
	for s in "$M" "$STORE"; do
		ctl "${@//@/$s}" || return
	done
}

@test "the same words mean the same by mountpoint and by store" {
	ctl create "$STORE" T f g
	ctl put "$M" T r f:q one 1
	ctl put "$STORE" T r f:q two 2
	echo three > "$M/T/r/f/q/3"
	[ "$(both get -n all @ T r | sort | uniq -c | awk '{print $1}')" = "2
2
2" ]
	[ "$(both get -v @ T r f:q)" = "three
three" ]
	[ "$(ctl incr "$M" T r f:n 5)" = 5 ]
	[ "$(ctl incr "$STORE" T r f:n 2)" = 7 ]
	[ "$(cat "$M/T/r/f/n/counter")" = 7 ]
	[ "$(both count @ T)" = "1
1" ]
	[ "$(both tables @)" = "T
T" ]
	[ "$(ctl describe "$M" T)" = "$(cat "$M/T/.schema")" ]
	[ "$(ctl export "$M" T | grep -v $'^\t')" = "$(cat "$M/T/.cells")" ]
	ctl append "$M" T r f:q -- '!'
	[ "$(cat "$M/T/r/f:q")" = "three
!" ]
	run -1 ctl cas "$M" T r f:q wrong new
	ctl cas "$STORE" T r f:new --null first
	[ "$(cat "$M/T/r/f:new")" = first ]
	[ "$(both scan @ T --filter "ValueFilter(=,'binary:first')" |
		cut -f 2,4)" = "f:new	first
f:new	first" ]
	both flush @
	both compact @
	ctl stats "$M" | grep -q mutations_total
	unmount_store
	[ "$(ctl get -v "$STORE" T r f:new)" = first ]
	[ "$(ctl tables "$STORE")" = T ]
	mount_store
}

@test "a table that cellctl makes or drops is seen at once" {
	run ! ls "$M/T"
	run ! ls "$M/T/.schema"
	ctl create "$M" T f
	[ "$(ls "$M")" = T ]
	[ -e "$M/T/.schema" ]
	ctl put "$M" T r f:q x
	[ "$(cat "$M/T/r/f:q")" = x ]
	run -3 ctl drop "$M" T
	ctl drop "$M" T --force
	[ ! -e "$M/T" ]
	[ -z "$(ls "$M")" ]
	mkdir "$M/T"
	[ -z "$(ls "$M/T")" ]
	# Also where nobody lists the tables in between.
	[ ! -e "$M/U" ]
	ctl create "$M" U f
	[ -e "$M/U" ]
}

@test "a truncated table is empty at once, a namespace's is made" {
	mkdir -p "$M/T/r/f/q"
	echo x > "$M/T/r/f/q/5"
	cat "$M/T/r/f/q/5"
	ctl truncate "$M" T
	[ ! -e "$M/T/r/f/q/5" ]
	[ ! -e "$M/T/r" ]
	[ -e "$M/T/.schema" ]
	run -3 ctl create "$M" n:t f
	ctl create_namespace "$M" n
	ctl create "$STORE" n:t f
	[ "$(ls "$M")" = "T
n:t" ]
	run -3 ctl drop_namespace "$M" n
	ctl drop "$M" n:t
	ctl drop_namespace "$STORE" n
}

@test "a snapshot that cellctl puts back is seen at once" {
	mkdir -p "$M/T/r/f/q"
	echo old > "$M/T/r/f/q/5"
	ctl snapshot -t T "$M" take s
	echo new > "$M/T/r/f/q/5"
	echo more > "$M/T/r/f/q/6"
	[ "$(cat "$M/T/r/f/q/5" "$M/T/r/f:q")" = "new
more" ]
	run ! ls "$M/U"
	ctl snapshot -t T "$M" clone s U
	[ "$(cat "$M/U/r/f/q/5")" = old ]
	ctl snapshot -t T "$M" restore s
	[ "$(cat "$M/T/r/f/q/5")" = old ]
	[ ! -e "$M/T/r/f/q/6" ]
}

@test "dropping a table takes what is in memory only with it" {
	mkdir -p "$M/T/r/f/q"
	echo x > "$M/T/.scratch"
	ctl drop "$M" T
	[ ! -e "$M/T" ]
	mkdir "$M/T"
	[ -z "$(ls -A "$M/T" | grep -v schema)" ]
}

@test "a put by cellctl is seen at once, whatever the kernel keeps" {
	a_column
	# Absent things that were looked for.
	run ! cat "$M/T/R/f:q"
	run ! cat "$M/T/R/f/q/7"
	run ! ls "$M/T/other"
	ctl put "$M" T R f:q seven 7
	[ "$(cat "$M/T/R/f/q/7")" = seven ]
	[ "$(cat "$M/T/R/f:q")" = seven ]
	ctl put "$M" T other f:q x
	[ "$(ls "$M/T")" = "R
other" ]
	[ "$(cat "$M/T/other/f:q")" = x ]
	# The same version with other bytes: pages are not kept.
	ctl put "$M" T R f:q another 7
	[ "$(cat "$M/T/R/f/q/7")" = another ]
	[ "$(stat -c %s "$M/T/R/f/q/7")" = 7 ]
	# One that the limit of versions pushes out.
	ctl put "$M" T R f:q b 8
	ctl put "$M" T R f:q c 9
	[ -e "$M/T/R/f/q/7" ]
	ctl put "$M" T R f:q d 10
	[ ! -e "$M/T/R/f/q/7" ]
	[ "$(stat -c %Y "$M/T/R/f/q")" = 0 ]
}

@test "a delete by cellctl is seen at once" {
	mkdir -p "$M/T/r/f/q" "$M/T/s"
	local t
	for t in 1 2 3; do echo "$t" > "$M/T/r/f/q/$t"; done
	echo x > "$M/T/r/f:other"
	echo x > "$M/T/r/g:q"
	echo x > "$M/T/s/f:q"
	cat "$M"/T/*/*/*/* > /dev/null
	ctl delete "$M" T r f:q 2
	[ ! -e "$M/T/r/f/q/2" ]
	[ "$(ls "$M/T/r/f/q")" = "1
3" ]
	ctl deleteall "$M" T r f:q
	[ ! -e "$M/T/r/f/q/1" ]
	[ ! -e "$M/T/r/f/q" ]
	ctl deleteall "$M" T r f
	[ ! -e "$M/T/r/f/other" ]
	[ ! -e "$M/T/r/f" ]
	[ -e "$M/T/r/g/q" ]
	ctl deleteall "$M" T r
	[ ! -e "$M/T/r" ]
	[ "$(ls "$M/T")" = s ]
	[ "$(cat "$M/T/s/f:q")" = x ]
}

@test "a directory that cellctl fills is no more one of memory" {
	mkdir -p "$M/T/r/f/q"
	ctl put "$M" T r f:q x
	ctl deleteall "$M" T r
	[ ! -e "$M/T/r" ]
	[ -z "$(ls "$M/T")" ]
}

@test "keys over a name's length are found in their directories" {
	mkdir "$M/T"
	key=$(printf 'k%.0s' $(seq 700))
	run ! ls "$M/T/${key:0:248}%+"
	printf '%s\tf:q\t5\tdeep\n' "$key" | ctl import "$M" T
	[ "$(find "$M/T" -type f -name '[0-9]*' -exec cat {} +)" = deep ]
	printf '%s\tf:%s\t5\tdeeper\n' "$key" "$key" | ctl import "$M" T
	[ "$(find "$M/T" -type f -name '[0-9]*' | wc -l)" -eq 2 ]
	printf '%s\t\t\t\tdelete-row\n' "$key" | ctl import "$M" T
	[ -z "$(ls "$M/T")" ]
}

@test "a directory in the mount is the store that is mounted" {
	a_row
	echo x >"$M/T/R/f:q"
	[ "$(ctl get -v "$M/T" T R f:q)" = x ]
	ctl put "$M/T/R" T R f:q y
	[ "$(cat "$M/T/R/f:q")" = y ]
	run -3 ctl init "$M/T"
	[[ $output == *"mounted at $M"* ]]
}

@test "a change by file is seen by cellctl" {
	a_row
	echo x > "$M/T/R/f:q"
	[ "$(ctl get -v "$M" T R f:q)" = x ]
	rm "$M/T/R/f:q"
	run -1 ctl get "$M" T R
	mv "$M/T" "$M/U"
	[ "$(ctl tables "$STORE")" = U ]
}

@test "an altered schema holds at once" {
	a_column
	for t in 1 2 3; do echo "$t" > "$C/$t"; done
	[ "$(ls "$C" | wc -l)" -eq 3 ]
	sed 's/versions 3/versions 1/; s/mode .*/mode 0700/' "$M/T/.schema" |
		ctl alter "$M" T
	[ "$(ls "$C")" = 3 ]
	[ "$(stat -c %a "$M/T/R")" = 700 ]
	grep -q 'versions 1' "$M/T/.schema"
}

@test "who alters a table beside others takes nothing of theirs away" {
	mkdir "$M/T"
	for who in a b; do
		(for i in {1..15}; do ctl alter "$M" T --add "$who$i"; done) 3>&- &
		pids+=($!)
	done
	for i in {1..40}; do echo "family c$i" >>"$M/T/.schema"; done
	for pid in "${pids[@]}"; do wait "$pid"; done
	[ "$(grep -c '^family a' "$M/T/.schema")" -eq 15 ]
	[ "$(grep -c '^family b' "$M/T/.schema")" -eq 15 ]
	[ "$(grep -c '^family c' "$M/T/.schema")" -eq 40 ]
}

# removed_schema [COMMAND...]: what cellctl writes is there, though .schema was removed
# just now. The command is run in between.
removed_schema() {
	mkdir "$M/T"
	sed 's/mode .*/mode 0700/' "$M/T/.schema" > "$T/schema"
	rm "$M/T/.schema"
	"$@"
	ctl alter "$M" T < "$T/schema"
	[ -e "$M/T/.schema" ]
	[ "$(stat -c %a "$M/T")" = 700 ]
}

@test "a schema that was removed is there when cellctl has written it" {
	removed_schema
}

# forgotten N: the kernel, which is told to forget, knows N nodes at most.
forgotten() {
	echo 2 >/proc/sys/vm/drop_caches
	[ "$(nodes)" -le "$1" ]
}

@test "it is where the kernel has forgotten the table" {
	drop_caches_from_now_on
	removed_schema settled forgotten "$(nodes)"
}

@test "snapshots by cellctl and by mkdir are the same" {
	a_row
	echo old > "$M/T/R/f:q"
	run ! ls "$M/T/.snapshot/n"
	run ! ls "$M/.snapshot/all"
	ctl snapshot -t T "$M" take n
	ctl snapshot "$STORE" take all
	echo new > "$M/T/R/f:q"
	[ "$(cat "$M/T/.snapshot/n/R/f:q")" = old ]
	[ "$(cat "$M/.snapshot/all/T/R/f:q")" = old ]
	ctl snapshot -t T "$M" drop n
	[ ! -e "$M/T/.snapshot/n" ]
	ctl snapshot -t T "$M" take n
	[ "$(cat "$M/T/.snapshot/n/R/f:q")" = new ]
	ctl snapshot -t T "$M" rename n m
	[ ! -e "$M/T/.snapshot/n" ]
	[ "$(cat "$M/T/.snapshot/m/R/f:q")" = new ]
	mkdir "$M/T/.snapshot/hand"
	[ "$(ctl snapshot -t T "$M" | cut -f1)" = "hand
m" ]
	rmdir "$M/T/.snapshot/hand"
	[ "$(ctl snapshot -t T "$M" | cut -f1)" = m ]
}

@test "errors arrive in words, with the codes of a store at rest" {
	ctl create "$M" T f
	run -3 ctl put "$M" T r nope:q x
	[[ $output == *nope* ]]
	run -3 ctl get "$M" None r
	[[ $output == *None* ]]
	run -1 ctl get "$M" T absent
	run -3 ctl create "$M" T
	[[ $output == *T* ]]
	ctl put "$M" T r f:q x
	run -3 ctl incr "$M" T r f:q
	[[ $output == *"8"* ]]
}

@test "over a read-only mount all is read and nothing written" {
	ctl create "$M" T f
	ctl put "$M" T r f:q x
	remount_store -o ro
	[ "$(both get -v @ T r f:q)" = xx ]
	[ "$(ctl tables "$M")" = T ]
	local words
	for words in "put T r f:q y" "create U" "deleteall T r" "drop T --force" \
		"incr T r f:n"; do
		# shellcheck disable=SC2086 # words
		set -- $words
		run -3 ctl "$1" "$M" "${@:2}"
		[[ $output == *"reading only"* ]]
	done
	run -3 ctl snapshot "$STORE" take n
	[ "$(ctl get -v "$M" T r f:q)" = x ]
}

# bound DIR CMD...: where nobody else sees it, $T/bound is DIR, for reading only.
bound() {
	mkdir -p "$T/bound"
	# shellcheck disable=SC2016 # the inner shell expands
	apart bash -e -c 'mount --bind "$0" "$1"
		mount -o remount,bind,ro "$1"
		"${@:2}"' "$1" "$T/bound" "${@:2}"
}

# The daemon's mount is for writing: there nothing but the session says no.
@test "over a read-only bind mount of the mount all is read and nothing written" {
	local words

	ctl create "$M" T f
	ctl put "$M" T r f:q x
	[ "$(bound "$M" "$CELLCTL" get -v "$T/bound" T r f:q)" = x ]
	for words in "put T r f:q y" "create U" "deleteall T r" "drop T --force" \
		"incr T r f:n"; do
		# shellcheck disable=SC2086 # words
		set -- $words
		run -3 bound "$M" "$CELLCTL" "$1" "$T/bound" "${@:2}"
		[[ $output == *"session is for reading only"* ]]
	done
	[ "$(ctl get -v "$M" T r f:q)" = x ]
	[ "$(ctl tables "$M")" = T ]
}

@test "a bind mount of a table is no mount of a store" {
	ctl create "$M" T f
	ctl create "$T/other" U f
	[ "$(bound "$M/T" "$CELLCTL" tables "$T/other")" = U ]
	[ "$(bound "$M/T" "$CELLCTL" tables "$STORE")" = T ]
}

@test "nodelete holds for cellctl" {
	remount_store -o nodelete
	ctl create "$M" T f
	ctl put "$M" T r f:q x
	ctl snapshot -t T "$M" take n
	local words
	for words in "delete T r f:q" "deleteall T r" "drop T --force"; do
		# shellcheck disable=SC2086 # words
		set -- $words
		run -3 ctl "$1" "$M" "${@:2}"
		[[ $output == *nodelete* ]]
	done
	run -3 ctl snapshot -t T "$M" drop n
	[[ $output == *nodelete* ]]
	printf 'r\tf:q\t\t\tdelete\n' > "$T/delete"
	run -3 ctl import "$M" T < "$T/delete"
	[ "$(cat "$M/T/r/f:q")" = x ]
	ctl incr "$M" T r f:n
}

@test "what wants a store at rest says so" {
	local s
	for s in "$M" "$STORE"; do
		run -3 ctl repair "$s" "$T/there"
		[[ $output == *"mounted at $M"* ]]
		[ ! -e "$T/there" ]
		run -3 ctl init "$s"
		[[ $output == *"mounted at $M"* ]]
	done
	run -3 "$BUILD/tools/cellfs-bench" --dir "$M"
	[[ $output == *"mounted at $M"* ]]
	[ -z "$(ls -A "$M")" ]
}

@test "a hundred thousand rows go in and out" {
	awk 'BEGIN { for (i = 0; i < 100000; i++)
		printf "r%06d\tf:q\t%d\tvalue %d\n", i, i + 1, i }' \
		> "$T/cells"
	ctl create "$M" T f
	ctl import "$M" T < "$T/cells"
	ctl scan "$M" T | cmp - "$T/cells"
	cmp "$M/T/.cells" "$T/cells"
	[ "$(ctl count "$STORE" T)" -eq 100000 ]
	[ "$(ls "$M/T" | wc -l)" -eq 100000 ]
	[ "$(ctl scan -r -l 1 --rows "$M" T)" = r099999 ]
	# Who has read enough goes.
	[ "$(ctl scan "$M" T | head -n 1)" = "$(head -n 1 "$T/cells")" ]
}

@test "a value of more than 16 MiB goes through a mount as a file only" {
	not_over_hbase "its limits are its own"
	local long=$T/long

	a_row
	printf 'family f\n\tmax_value 32MiB\n' >"$M/T/.schema"
	head -c $(((16 << 20) + 1)) /dev/zero >"$long"
	cp "$long" "$M/T/R/f:q"
	run -3 "$CELLCTL" get "$M" T R f:q
	[[ $output == *"a value of 16777217 bytes: at most 16777216 go through a mount at once; read it as a file"* ]]
	run -3 "$CELLCTL" export "$M" T
	head -c $((17 << 20)) /dev/zero >"$long"
	run -3 "$CELLCTL" put "$M" T R f:p <"$long"
	[[ $output == *"at most 17825792 go through a mount at once"* ]]
	[ ! -e "$M/T/R/f:p" ]
	# The session goes on, and so does a store that is not mounted.
	"$CELLCTL" put "$M" T R f:p x
	unmount_store
	[ "$("$CELLCTL" get -v "$STORE" T R f:q | wc -c)" -eq 16777217 ]
	mount_store
}

@test "two at once lose nothing of one another" {
	ctl create "$M" T f
	local i w pids=()
	mkdir "$M/T/r"
	for w in 1 2 3 4; do
		for i in $(seq 25); do
			ctl incr "$M" T r f:n
			echo "$w" > "$M/T/r/f:w$w"
		done > /dev/null 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	[ "$(cat "$M/T/r/f/n/counter")" -eq 100 ]
}

@test "a cellctl that is killed leaves the daemon as it was" {
	awk 'BEGIN { for (i = 0; i < 50000; i++)
		printf "r%06d\tf:q\t%d\tvalue %d\n", i, i + 1, i }' |
		ctl import --create "$M" T
	local i pid
	for i in $(seq 20); do
		ctl scan "$M" T > "$T/out.$i" 3>&- &
		pid=$!
		# In its midst: something is out, not all of it.
		settled test -s "$T/out.$i"
		kill -9 "$pid" 2> /dev/null || true
		wait "$pid" 2> /dev/null || true
	done
	# More than there are sessions, were they not given back.
	[ "$(ctl count "$M" T)" -eq 50000 ]
	[ "$(cat "$M/T/r000007/f:q")" = "value 7" ]
	settled grep -q 'open handles *0$' "$M/.cellfs/stats"
}

@test "there are so many sessions and no more, and it is said" {
	local fds=() fd i
	for i in $(seq 16); do
		exec {fd}<> "$M/.cellfs/store"
		fds+=("$fd")
	done
	run -3 ctl tables "$M"
	[[ $output == *"wait for one of them"* ]]
	ls "$M" > /dev/null
	for fd in "${fds[@]}"; do
		exec {fd}>&-
	done
	settled ctl tables "$M"
}

@test "the store file is its owner's, reads empty and is not listed" {
	[ "$(stat -c %a "$M/.cellfs/store")" = 600 ]
	[ "$(stat -c %u "$M/.cellfs/store")" = "$(id -u)" ]
	[ -z "$(cat "$M/.cellfs/store")" ]
	run ! grep -qx store <(ls "$M/.cellfs")
	run ! rm "$M/.cellfs/store"
	remount_store -o umask=000,uid=12345
	[ "$(stat -c %a:%u "$M/.cellfs/store")" = "600:$(id -u)" ]
	# No request at all: the session is over, the mount is not.
	run ! bash -c "exec 9<> '$M/.cellfs/store'; printf '\377\377\377\377' >&9"
	ctl tables "$M"
}

@test "a mount of a part serves the whole, and sees what it shows" {
	ctl create "$M" T f
	ctl create "$M" U f
	ctl put "$M" T r f:q x
	remount_store -o root=T
	[ "$(ls "$M")" = r ]
	[ "$(ctl tables "$M")" = "T
U" ]
	run ! ls "$M/s"
	ctl put "$M" T s f:q y
	[ "$(cat "$M/s/f:q")" = y ]
	ctl deleteall "$M" T r
	[ ! -e "$M/r" ]
	ctl put "$M" U r f:q z
	[ ! -e "$M/r" ]
}
