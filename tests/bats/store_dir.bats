# shellcheck shell=bash
# The store's directory: whose it is, and what is said when it cannot be used.

load cellctl

teardown() {
	end_store
	[ -z "${PLACE:-}" ] || rm -rf "$PLACE"
}

# hold: a daemon has the store until let_go. It is moved, so that cellctl does
# not find the mount and goes for the store itself.
hold() {
	mount_store
	mv "$STORE" "$T/held"
	STORE=$T/held
}

let_go() {
	unmount_store
}

# all_refused: neither a daemon nor cellctl gets the store.
all_refused() {
	local daemon code=0
	mkdir -p "$T/other"
	"$CELLFS" "$STORE" "$T/other" -f >"$T/said" 2>&1 3>&- &
	daemon=$!
	says 3 "the store $STORE is in use by" put "$STORE" t r d:q y
	wait "$daemon" || code=$?
	[ "$code" -eq 1 ]
	run ! mountpoint -q "$T/other"
	grep -q "the store $STORE is in use by" "$T/said"
}

@test "who has removed LOCK gets a store no more than who has not" {
	hold
	rm "$STORE/LOCK"
	all_refused
	[ ! -e "$STORE/LOCK" ]
	let_go
	ctl put "$STORE" t r d:q x
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
}

@test "who has replaced LOCK gets a store no more than who has not" {
	mount_store
	echo 1 >"$T/mine"
	mv "$T/mine" "$STORE/LOCK"
	mkdir "$T/other"
	run -1 "$CELLFS" "$STORE" "$T/other" -f
	[[ $output == *"the store $STORE is in use by"* ]]
	unmount_store
}

@test "a store that was moved away takes its lock along" {
	local was=$STORE
	hold
	all_refused
	ctl create "$was" t d
	let_go
	ctl put "$STORE" t r d:q x
	[ "$(ctl check "$was")" = "$was: 0 faults" ]
}

@test "a clean end leaves LOCK empty, and a kill keeps nobody out" {
	mount_store
	[ "$(cat "$STORE/LOCK")" = "$DAEMON" ]
	unmount_store
	[ -f "$STORE/LOCK" ]
	[ ! -s "$STORE/LOCK" ]
	mount_store
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	DAEMON=
	fusermount3 -u -z "$M"
	[ -s "$STORE/LOCK" ]
	ctl put "$STORE" t r d:q x
	[ ! -s "$STORE/LOCK" ]
}

# waits COMMAND...: begins, in the background as $WAITS, and waits for the store.
waits() {
	"$@" >"$T/said" 2>&1 3>&- &
	WAITS=$!
	settled eval "! kill -0 $WAITS 2>/dev/null ||
		grep -qs nanosleep /proc/$WAITS/wchan"
}

# gave_up: it waited in vain, since who has the store took longer to end than it
# waits.
gave_up() {
	settled eval "$1 || ! kill -0 $WAITS 2>/dev/null"
	! $1 && grep -q "the store $STORE is in use by" "$T/said"
}

@test "cellctl and cellfs wait for one who is just ending" {
	local turn

	for turn in {1..10}; do
		hold
		waits "$CELLCTL" put "$STORE" t r d:q x
		let_go
		if gave_up false; then
			mv "$STORE" "$T/store"
			STORE=$T/store
			continue
		fi
		wait "$WAITS"
		break
	done
	[ "$(ctl get "$STORE" t r d:q -v)" = x ]
	mkdir "$T/other"
	for turn in {1..10}; do
		mount_store
		waits "$CELLFS" "$STORE" "$T/other" -f
		unmount_store
		gave_up "mountpoint -q $T/other" || break
	done
	mountpoint -q "$T/other"
	DAEMON=$WAITS M=$T/other LOG=$T/said
	[ "$(cat "$M/t/r/d:q")" = x ]
}

@test "those who only read have a store together" {
	head -c 200000 /dev/zero | ctl put "$STORE" t r d:q
	mkfifo "$T/out"
	"$CELLCTL" scan "$STORE" t >"$T/out" 3>&- &
	# It ends with this descriptor, also where the test fails.
	exec 8<"$T/out"
	settled grep -qE 'pipe_(write|wait)' "/proc/$!/wchan"
	[ "$(ctl count "$STORE" t)" = 1 ]
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	cat <&8 >/dev/null
	wait $!
	exec 8<&-
}

# as_somebody CMD...: as a user whom permissions bind.
as_somebody() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# a_place: a directory that somebody may use, with a store of his.
a_place() {
	PLACE=$(mktemp -d)
	chmod 755 "$PLACE"
	cp "$CELLCTL" "$PLACE/cellctl"
	mkdir "$PLACE/store"
	[ "$(id -u)" -ne 0 ] || chown 65534:65534 "$PLACE/store"
	CELLCTL=$PLACE/cellctl as_somebody "$PLACE/cellctl" create \
		"$PLACE/store" t d
}

@test "what may not be written is named, with the reason" {
	a_place
	chmod 555 "$PLACE/store"
	run -3 --separate-stderr as_somebody "$PLACE/cellctl" put \
		"$PLACE/store" t r d:q x
	[[ $stderr == *"cannot create wal"*": Permission denied"* ]]
	run as_somebody "$PLACE/cellctl" scan "$PLACE/store" t
	[ "$status" -eq 0 ]
	as_somebody "$PLACE/cellctl" check "$PLACE/store"
	rm -f "$PLACE/store/LOCK"
	run -3 --separate-stderr as_somebody "$PLACE/cellctl" put \
		"$PLACE/store" t r d:q x
	[[ $stderr == *"cannot lock the directory $PLACE/store: Permission"* ]]
	chmod 000 "$PLACE/store"
	run -3 --separate-stderr as_somebody "$PLACE/cellctl" scan \
		"$PLACE/store" t
	[[ $stderr == *"directory $PLACE/store: Permission denied"* ]]
	chmod 755 "$PLACE/store"
}

@test "check counts no fault where opening removes what a crash left" {
	ctl put "$STORE" t r d:q x
	ctl flush "$STORE"
	cp "$STORE"/1.sst "$STORE/77.sst"
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	ctl put "$STORE" t r d:q y
	[ ! -e "$STORE/77.sst" ]
}

# lost FILE NAME [PUT]: check and reading name it, and so does a put, or it is
# done; with the file back all is well.
lost() {
	mv "$STORE/$1" "$T/away"
	run -1 ctl check "$STORE"
	[[ $output == *"$2"*"is missing"* || $output == *"$2 is missing"* ]]
	says 3 "$2" scan "$STORE" t
	if [ "${3:-}" = done ]; then
		ctl put "$STORE" t r d:q z
	else
		says 3 "$2" put "$STORE" t r d:q z
	fi
	mv "$T/away" "$STORE/$1"
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
}

@test "a file that the store has lost is named" {
	ctl put "$STORE" t r d:q x
	ctl flush "$STORE"
	ctl put "$STORE" t r d:q y
	ctl put "$STORE" t r d:q z
	lost "$(cd "$STORE" && ls CATALOG-* | grep -v old)" CATALOG
	lost "$(cd "$STORE" && ls *.sst)" .sst done
	lost "$(cd "$STORE" && ls wal-*.log | head -n 1)" wal-
	lost "$(cd "$STORE" && ls wal-*.log | tail -n 1)" wal-
}

@test "a ring of the log that was lost after a kill is named" {
	mount_store
	mkdir "$M/u"
	echo x >"$M/u/.put/r/d:q"
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	DAEMON=
	fusermount3 -u -z "$M"
	cp -a "$STORE" "$T/copy"
	lost wal.ring wal.ring
	[ "$(ctl get "$STORE" u r d:q -v)" = x ]
	# What is said is what helps.
	rm "$T/copy/wal.ring"
	says 3 "remove wal.made to lose" scan "$T/copy" u
	rm "$T/copy/wal.made"
	ctl scan "$T/copy" u
	[ "$(ctl check "$T/copy")" = "$T/copy: 0 faults" ]
}

@test "check misses each kind of file whose absence is a fault" {
	local kind file

	ctl put "$STORE" t r d:q x
	ctl flush "$STORE"
	ctl put "$STORE" t r d:q y
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	for kind in 'CATALOG-????????????????' '*.sst' 'wal-*.log'; do
		file=$(compgen -G "$STORE/$kind" | head -n 1)
		mv "$file" "$T/away"
		run -1 ctl check "$STORE"
		[[ $output == *missing* ]]
		mv "$T/away" "$file"
		[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	done
	# What is made anew without harm, here after a kill.
	mount_store
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	DAEMON=
	fusermount3 -u -z "$M"
	rm "$STORE"/{LOCK,wal.made,wal.spare,wal.reserve}
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	mount_store
	settled test -e "$STORE/wal.reserve"
	[ -e "$STORE/LOCK" ]
	[ -e "$STORE/wal.spare" ]
	# An open store knows that it has kept a catalog.
	mv "$STORE"/CATALOG-*.old "$T/away"
	run -1 ctl check "$M"
	[[ $output == *"CATALOG-"*".old, is missing"* ]]
	unmount_store
	rm -f "$STORE/wal.ring"
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
}

# refused WORDS: neither cellctl nor a mount takes the store, unless told so.
refused() {
	run -3 --separate-stderr as_somebody "$CELLCTL" scan "$PLACE/store" t
	[[ $stderr == *"$1"* && $stderr == *"$2"* ]]
	as_somebody "$CELLCTL" --insecure scan "$PLACE/store" t
	mkdir -p "$T/m"
	run -1 "$CELLFS" "$PLACE/store" "$T/m" -f
	[[ $output == *"$1"* && $output == *"$2"* ]]
	STORE=$PLACE/store M=$T/m mount_store -o insecure_store
	M=$T/m unmount_store
}

@test "a store in which others may write is refused, and taken when one insists" {
	a_place
	chmod g+w "$PLACE/store"
	refused "may be written by others" "insecure_store"
	chmod 702 "$PLACE/store"
	refused "may be written by others" "--insecure"
	# Who only reads looks at any.
	as_somebody "$PLACE/cellctl" check "$PLACE/store"
	mkdir -m 777 "$PLACE/out"
	as_somebody "$PLACE/cellctl" repair "$PLACE/store" "$PLACE/out/saved"
	as_somebody "$PLACE/cellctl" exists "$PLACE/out/saved" t
}

@test "a store of another user is refused, but not for root" {
	[ "$(id -u)" -eq 0 ]
	a_place
	chmod 755 "$PLACE/store"
	chmod 644 "$PLACE/store"/*
	run -3 --separate-stderr setpriv --reuid=65533 --clear-groups \
		"$PLACE/cellctl" scan "$PLACE/store" t
	[[ $stderr == *"belongs to another user"*"--insecure"* ]]
	setpriv --reuid=65533 --clear-groups "$PLACE/cellctl" --insecure \
		scan "$PLACE/store" t
	"$CELLCTL" scan "$PLACE/store" t
}

@test "a file with a second name is refused, and so is one of another's" {
	[ "$(id -u)" -eq 0 ]
	a_place
	local f
	f=$(find "$PLACE/store" -name 'CATALOG-*' ! -name '*old*')
	ln "$f" "$PLACE/second"
	refused "${f##*/}" "has a second name"
	rm "$PLACE/second"
	chown 65533 "$f"
	chmod 644 "$f"
	run -3 --separate-stderr "$CELLCTL" scan "$PLACE/store" t
	[[ $stderr == *"${f##*/}"*"belongs to another user"* ]]
}

@test "a table file of the owner may have a second name" {
	[ "$(id -u)" -eq 0 ]
	a_place
	local f

	as_somebody "$PLACE/cellctl" put "$PLACE/store" t r d:q x
	as_somebody "$PLACE/cellctl" flush "$PLACE/store"
	f=$(echo "$PLACE"/store/*.sst)
	ln "$f" "$PLACE/second"
	[ "$(as_somebody "$PLACE/cellctl" get "$PLACE/store" t r -v)" = x ]
	[ "$("$CELLCTL" get "$PLACE/store" t r -v)" = x ]
	# Root's file, to which whoever has the directory made a link.
	chown 0 "$f"
	chmod 644 "$f"
	refused "${f##*/}" "has a second name"
}

@test "root gives none of its files to the owner of a store that they were put into" {
	[ "$(id -u)" -eq 0 ]
	local name

	a_place
	for name in LOCK CATALOG.new wal.made wal.new wal.reserve wal.ring wal.spare; do
		echo precious >"$PLACE/precious"
		ln -f "$PLACE/precious" "$PLACE/store/$name"
		"$CELLCTL" put "$PLACE/store" t r d:q x || true
		[ "$(stat -c %u "$PLACE/precious")" -eq 0 ]
		rm -f "$PLACE/store/$name"
	done
}

@test "a lock file with a second name is not written" {
	echo precious >"$T/precious"
	ln -f "$T/precious" "$STORE/LOCK"
	says 3 "LOCK has a second name (a hard link)" put "$STORE" t r d:q x
	[ "$(cat "$T/precious")" = precious ]
	# The advice helps.
	rm "$STORE/LOCK"
	ctl put "$STORE" t r d:q x
}

@test "files of a store are for its owner alone, whatever the umask" {
	(
		umask 0777
		ctl create "$T/new" t d
		ctl put "$T/new" t r d:q x
	)
	[ "$(stat -c %a "$T/new")" = 700 ]
	[ "$(find "$T/new" -type f ! -perm 600)" = "" ]
}

@test "no store is made in another, nor a backup or a mountpoint" {
	local is="which is a store or a backup: name a directory elsewhere"
	local in="is in $STORE, $is"

	ctl create "$T/other" t f
	ctl backup "$T/other" "$T/b" >"$T/said"
	ln -s "$STORE" "$T/link"
	mkdir "$STORE/empty" "$T/m"
	says 3 "$STORE/new $in" create "$STORE/new" t f
	says 3 "$in" create "$T/link/new" t f
	says 3 "$in" create "$STORE/empty" t f
	says 3 "$in" import --create "$STORE/new" t <<<$'r\tf:q\t1\tx'
	says 3 "$in" restore "$T/b" "$STORE/new"
	says 3 "$in" restore "$T/b" "$STORE/empty/"
	says 3 "$in" backup "$T/other" "$STORE/b"
	says 3 "$in" repair "$T/other" "$STORE/new"
	says 3 "is in $T/b/1, $is" create "$T/b/1/new" t f
	run -1 "$CELLFS" "$STORE/new" "$T/m"
	[[ $output == *"$in"* ]]
	run -1 "$CELLFS" "$T/other" "$STORE/empty"
	[[ $output == *"$in"* ]]
	run -1 "$CELLFS" "$STORE" "$T/other"
	[[ $output == *"$T/other is a store or a backup: name a directory elsewhere"* ]]
	(cd "$STORE" && says 3 "new $in" create new t f)
	[ ! -e "$STORE/new" ]
	[ ! -e "$STORE/b" ]
	[ ! -e "$T/b/1/new" ]
	[ -z "$(ls -A "$STORE/empty")" ]
	# One that is there is used, to take its tables out.
	mv "$T/other" "$STORE/other"
	[ "$(ctl tables "$STORE/other")" = t ]
	ctl put "$STORE/other" t r f:q x
	rm -r "$STORE/other"
	# A name alone makes no directory a store.
	mkdir -p "$T/BACKUP/x"
	touch "$T/LOCK"
	ctl backup "$STORE" "$T/BACKUP/x" >"$T/said"
	ctl backup "$STORE" "$T/BACKUP/x" >"$T/said"
	ctl restore "$T/BACKUP/x" "$T/BACKUP/store" >"$T/said"
	# Nor what anybody may have put where all may write.
	chmod 1777 "$STORE"
	ctl create "$STORE/new" t f
}
