# cellctl backup and restore. Over HBase there are no files to be carried.

load helper

ctl() {
	"$CELLCTL" "$@"
}

setup_file() {
	export NO_CLUSTER="backups are of a store of files"
}

backup() {
	not_over_hbase "$NO_CLUSTER"
	ctl backup "$@" >"$T/said"
}

# carried: how many files the last backup had to carry.
carried() {
	cut -f 4 "$T/said"
}

a_table() {
	not_over_hbase "$NO_CLUSTER"
	ctl create "$STORE" T f:versions=9 g
	seq 1 400 | sed $'s/.*/r&\tf:q\t&\tvalue &/' | ctl import "$STORE" T
	ctl put "$STORE" T gone g:q x
	ctl delete "$STORE" T gone g:q
	ctl flush "$STORE"
}

# shares DIR: its filesystem clones files.
shares() {
	cp --reflink=always "$1/BACKUP" "$1/clone" 2>"$T/cloned" && rm "$1/clone"
}

# same A B: the same cells, hidden ones and markers too, and the same snapshots.
same() {
	diff <(ctl export --raw "$1" T) <(ctl export --raw "$2" T) &&
		diff <(ctl snapshot "$1") <(ctl snapshot "$2")
}

# largest DIR: its largest table file.
largest() {
	ls -S "$1"/*.sst | head -n 1
}

# harm FILE: one byte in its midst is another.
harm() {
	local at=$(($(stat -c %s "$1") / 3))
	printf '\377' | cmp -s - <(dd if="$1" bs=1 skip=$at count=1 2>"$T/dd") &&
		return 1
	printf '\377' | dd of="$1" bs=1 seek=$at conv=notrunc 2>"$T/dd"
}

@test "a backup of a mounted store restores all that it had" {
	a_table
	mkdir "$M/.snapshot/monday"
	echo later >"$M/T/r1/f:q"
	backup "$M" "$T/b"
	ctl restore "$T/b" "$T/new"
	same "$M" "$T/new"
	[ "$(ctl check "$T/new")" = "$T/new: 0 faults" ]
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
	# It goes on as a store of its own.
	ctl put "$T/new" T after f:q x
	run -1 ctl get "$STORE" T after
}

@test "a backup is one moment while four write" {
	local w writers=() n had

	not_over_hbase "$NO_CLUSTER"
	ctl create "$STORE" T f
	for w in 1 2 3 4; do
		timeout 60 awk -v w="$w" 'BEGIN {
			for (i = 1; ; i++) {
				printf "%s.%07d\tf:q\t\tx\n", w, i
				if (i % 50 == 0) {
					fflush()
					system("sleep 0.01")
				}
			} }' >"$M/T/.cells" 2>"$T/cut$w" 3>&- &
		writers+=($!)
	done
	for w in 1 2 3 4; do
		settled test -e "$M/T/$w.0000001"
	done
	backup "$M" "$T/b"
	had=$(ctl scan "$M" T --rows --rowprefix 1. | wc -l)
	settled test -e "$M/T/$(printf '1.%07d' $((had + 1)))"
	backup "$M" "$T/b"
	kill "${writers[@]}"
	wait "${writers[@]}" || true
	for n in 1 2; do
		ctl restore "$T/b" "$T/new$n" --backup "$n"
		for w in 1 2 3 4; do
			ctl scan "$T/new$n" T --rows --rowprefix "$w." >"$T/rows"
			[ -s "$T/rows" ]
			seq -f "$w.%07g" 1 "$(wc -l <"$T/rows")" |
				cmp - "$T/rows"
		done
	done
	[ "$(ctl count "$T/new2" T)" -gt "$(ctl count "$T/new1" T)" ]
}

@test "a backup of a store at rest changes no byte of it" {
	a_table
	echo unflushed >"$M/T/r1/f:q"
	unmount_store
	(cd "$STORE" && md5sum ./*) >"$T/before"
	backup "$STORE" "$T/b"
	(cd "$STORE" && md5sum ./*) >"$T/after"
	cmp "$T/before" "$T/after"
	ctl restore "$T/b" "$T/new"
	same "$STORE" "$T/new"
	mount_store -o ro
	backup "$M" "$T/b"
	ctl restore "$T/b" "$T/new2"
	same "$STORE" "$T/new2"
}

# sums DIR: of all files there, but for the lock, which readers take.
sums() {
	(cd "$1" && find . -type f ! -name LOCK -exec md5sum {} + | sort)
}

@test "nothing writes to a backup, and it is read in its place" {
	local one=$T/b/1 mnt=$T/mnt2 cmd option

	a_table
	backup "$M" "$T/b" --keep-log 64
	sums "$T/b" >"$T/before"
	for cmd in put backup mount; do
		for option in "" --insecure; do
			case $cmd in
			put)
				run -3 ctl $option put "$one" T r1 f:q x
				;;
			backup)
				run -3 ctl $option backup "$one" "$T/b2" --keep-log 0
				;;
			mount)
				mkdir -p "$mnt"
				run ! "$CELLFS" "$one" "$mnt" -f \
					${option:+-o insecure_store}
				;;
			esac
			[[ $output == *"$one is a backup, which nothing changes: make a store of one with cellctl restore"* ]]
		done
	done
	run -3 ctl --insecure compact "$one"
	run -3 ctl --insecure flush "$one"
	run -3 ctl --insecure create "$one" U f
	run -3 ctl --insecure init "$one"
	[ "$(ctl get -v "$one" T r1 f:q)" = "value 1" ]
	backup "$M" "$T/b"
	[ "$(ctl get -v "$one" T r1 f:q)" = "value 1" ]
	run -3 ctl put "$one" T r1 f:q x
	[[ $output == *"is a backup"* ]]
	# It is not said how to write to it all the same.
	chmod 777 "$one"
	run -3 ctl put "$one" T r1 f:q x
	[[ $output == *"is a backup"* ]]
	rm -r "$T/b/2"
	sums "$T/b" | cmp - "$T/before"
}

@test "only files that the backup before lacks are carried" {
	a_table
	backup "$M" "$T/b"
	[ "$(carried)" -ge 2 ]
	# Of the first one all is, as of one that is restored.
	[ "$(cut -f 2,3 "$T/said")" = "$(cut -f 4,5 "$T/said")" ]
	ctl restore "$T/b" "$T/as-said" | diff - "$T/said"
	ctl put "$M" T new f:q x
	backup "$M" "$T/b"
	# One table file, and what log there is.
	[ "$(ls "$T/b/2"/*.sst | wc -l)" -gt "$(ls "$T/b/1"/*.sst | wc -l)" ]
	local file name
	for file in "$T/b/1"/*.sst; do
		name=${file##*/}
		[ "$file" -ef "$T/b/2/$name" ]
		# One file with the store's, or a clone.
		shares "$T/b/1" || [ "$file" -ef "$STORE/$name" ]
	done
	for file in "$T"/b/*/{wal,kept,CATALOG}-*; do
		[ ! -e "$file" ] || [ "$(stat -c %h "$file")" -eq 1 ]
	done
	backup "$M" "$T/b"
	# The catalog always.
	[ "$(carried)" -eq 1 ]
	# Each is a store, read in its place.
	[ "$(ctl count "$T/b/3" T)" -eq 401 ]
	run -3 ctl backup "$T/nothing" "$T/b2"
	run ! test -e "$T/b2"
	# Merged files are new ones; those of the backup stay.
	ctl compact "$M"
	backup "$M" "$T/b"
	[ "$(carried)" -ge 2 ]
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
	for file in 1 2 3 4; do
		ctl restore "$T/b" "$T/new$file" --backup "$file"
	done
	run -1 ctl get "$T/new1" T new
	ctl get "$T/new2" T new
	same "$M" "$T/new4"
}

@test "a store is restored as of a backup, of a time, or the newest" {
	local first

	a_table
	backup "$M" "$T/b"
	ctl put "$M" T r f:q two
	backup "$M" "$T/b"
	[ "$(ctl backup --list "$T/b" | cut -f 1)" = "1
2" ]
	first=$(ctl backup --list --json "$T/b" | head -n 1 | jq .taken)
	[ "$first" -eq "$(ctl backup --list "$T/b" | head -n 1 | cut -f 2)" ]
	run -3 --separate-stderr ctl restore "$T/b" "$T/new" --at $((first - 1))
	[[ $stderr == *"no backup is so old"*$first* ]]
	[[ $stderr != *milliseconds* ]]
	# Who gives seconds is told so.
	run -3 --separate-stderr ctl restore "$T/b" "$T/new" --at $((first / 1000))
	[[ $stderr == *"no backup is so old"*"a time is in milliseconds, and $((first / 1000)) looks like seconds: --at $((first / 1000))000"* ]]
	run -3 --separate-stderr ctl restore "$T/b" "$T/new" --at 5
	[[ $stderr != *milliseconds* ]]
	ctl restore "$T/b" "$T/at" --at $first
	run -1 ctl get "$T/at" T r
	ctl restore "$T/b" "$T/now" --at "$(date +%s%3N)"
	[ "$(ctl get -v "$T/now" T r f:q)" = two ]
	run -3 --separate-stderr ctl restore "$T/b" "$T/new" --backup 3
	[[ $stderr == *"there is no backup 3 in $T/b"* ]]
	run -2 ctl restore "$T/b" "$T/new" --backup 1 --at $first
	run ! test -e "$T/new"
	# What is there is not touched.
	run -3 --separate-stderr ctl restore "$T/b" "$T/now"
	[[ $stderr == *"$T/now exists"* ]]
	[ "$(ctl get -v "$T/now" T r f:q)" = two ]
	mkdir "$T/empty"
	ctl restore "$T/b" "$T/empty"
	[ "$(ctl get -v "$T/empty" T r f:q)" = two ]
}

# members FILE: those of each object.
members() {
	jq -r 'keys_unsorted | join(" ")' "$1"
}

@test "in JSON a backup, a restore and a list have the members of the manual" {
	a_table
	ctl backup --json "$M" "$T/b" >"$T/backup"
	ctl restore --json "$T/b" "$T/new" >"$T/restore"
	ctl backup --list --json "$T/b" >"$T/list"
	[ "$(members "$T/backup")" = "backup files bytes carried_files carried moment" ]
	[ "$(members "$T/restore")" = "$(members "$T/backup")" ]
	[ "$(members "$T/list")" = "backup taken files bytes log" ]
	# The same figures as the fields of a line.
	[ "$(jq -r '[.backup, .taken, .files, .bytes, .log] | @tsv' "$T/list")" = \
		"$(ctl backup --list "$T/b")" ]
}

# now: the time, and a millisecond later the next one.
now() {
	date +%s%3N
	sleep 0.003
}

@test "a store that keeps its log is restored as of any moment between two backups" {
	local one two three four

	a_table
	backup "$M" "$T/b" --keep-log 64
	echo one >"$M/T/r1/f:q"
	one=$(now)
	echo two >"$M/T/r1/f:q"
	mkdir -p "$M/U/r/f"
	echo 2 >"$M/U/r/f:q"
	mkdir "$M/T/.snapshot/monday"
	two=$(now)
	ctl drop --force "$M" U
	rm -r "$M/T/r1"
	# It is kept over a death, and over an end.
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u "$M"
	mount_store
	echo three >"$M/T/r3/f:q"
	three=$(now)
	unmount_store
	mount_store
	echo four >"$M/T/r3/f:q"
	rmdir "$M/T/.snapshot/monday"
	four=$(now)
	backup "$M" "$T/b"
	[ "$(ctl stats "$M" | awk '$1 == "wal_kept_bytes" {print ($2 > 0)}')" = 1 ]
	[ "$(ctl backup --list "$T/b" | awk '$5 > 0' | cut -f 1)" = 2 ]
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
	# What one has, none behind it gets, however little was written since.
	backup "$M" "$T/b"
	backup "$M" "$T/b"
	[ "$(ctl backup --list "$T/b" | cut -f 5 | tail -n 2)" = "0
0" ]
	ctl flush "$M"
	backup "$M" "$T/another"
	[ "$(ctl backup --list "$T/another" | cut -f 5)" = 0 ]

	[ "$(ctl restore "$T/b" "$T/1" --at "$one" | cut -f 6)" = "$one" ]
	[ "$(ctl get -v "$T/1" T r1 f:q)" = one ]
	[ "$(ctl tables "$T/1")" = T ]
	ctl restore "$T/b" "$T/2" --at "$two"
	[ "$(ctl get -v "$T/2" T r1 f:q)" = two ]
	[ "$(ctl get -v "$T/2" U r f:q)" = 2 ]
	[[ $(ctl snapshot -t T "$T/2") == monday* ]]
	ctl restore "$T/b" "$T/3" --at "$three"
	run -1 ctl get "$T/3" T r1
	[ "$(ctl get -v "$T/3" T r3 f:q)" = three ]
	[ "$(ctl tables "$T/3")" = T ]
	[ "$(ctl restore --json "$T/b" "$T/4" --at "$four" | jq .moment)" = "$four" ]
	same "$T/4" "$M"

	# A restored store keeps no log, and goes on by itself.
	ctl put "$T/2" U r f:q 3
	ctl flush "$T/2"
	run ! compgen -G "$T/2/kept-*"
	[ "$(ctl get -v "$T/2" U r f:q)" = 3 ]
	[ "$(ctl check "$T/2")" = "$T/2: 0 faults" ]
}

# restored_with WORDS NUMBER [CODE]: as of $at it is that backup, for a reason.
restored_with() {
	local code=0

	rm -rf "$T/new"
	ctl restore "$T/b" "$T/new" --at "$at" >"$T/said" 2>"$T/reason" || code=$?
	[ "$code" -eq "${3:-1}" ]
	[ "$(cut -f 1 "$T/said")" = "$2" ]
	grep -q "this is backup $2, taken at $(cut -f 6 "$T/said"), and not a later moment: .*$1" \
		"$T/reason"
	[ "$(ctl check "$T/new")" = "$T/new: 0 faults" ]
}

@test "where the log is not whole the backup before it is restored, and says why" {
	local at

	a_table
	backup "$M" "$T/b"
	at=$(now)
	# No log was ever kept: the last backup before is what was asked for.
	restored_with "no later backup has the log" 1 0
	backup "$M" "$T/b" --keep-log 64
	restored_with "the log between was not kept" 1 0
	at=$(now)
	restored_with "no later backup has the log" 2

	# What a clone makes is in no log.
	mkdir "$M/T/.snapshot/s"
	ctl snapshot "$M" -t T clone s C
	at=$(now)
	backup "$M" "$T/b"
	restored_with "a table was cloned, or a snapshot restored" 2

	# A backup between is dropped.
	echo 1 >"$M/T/r1/f:q"
	at=$(now)
	backup "$M" "$T/b"
	backup "$M" "$T/b"
	rm -r "$T/b/4"
	restored_with "the log up to it is not whole" 3

	# More is written than is kept: the limit of 1 MiB takes the oldest.
	backup "$M" "$T/b" --keep-log 1
	echo 1 >"$M/T/r1/f:q"
	at=$(now)
	for i in 1 2; do
		head -c 1500000 /dev/zero >"$M/T/r$i/f:q"
		ctl flush "$M"
	done
	[ "$(ctl stats "$M" | awk '$1 == "wal_kept_bytes" {print $2}')" -le $((1 << 20)) ]
	backup "$M" "$T/b"
	restored_with "the log up to it is not whole" 6

	# And none is kept when it is ended; that backup has it yet.
	backup "$M" "$T/b" --keep-log 64
	echo 2 >"$M/T/r1/f:q"
	at=$(now)
	echo 3 >"$M/T/r1/f:q"
	backup "$M" "$T/b" --keep-log 0
	rm -rf "$T/new"
	[ "$(ctl restore "$T/b" "$T/new" --at "$at" | cut -f 6)" = "$at" ]
	[ "$(ctl get -v "$T/new" T r1 f:q)" = 2 ]
	# A part of it is lost: the backup before is none the worse.
	rm "$T/b/9"/kept-*
	restored_with "in backup 9 kept-.* is missing" 8
	run ! compgen -G "$STORE/kept-*"
	run -2 ctl backup "$T/b" --keep-log 1
}

# a_kept_log: of which $kept is the longest segment; the file's name.
a_kept_log() {
	a_table
	backup "$M" "$T/b" --keep-log 64
	echo before >"$M/T/r2/f:q"
	before=$(now)
	echo between >"$M/T/r2/f:q"
	head -c 90000 /dev/urandom | base64 -w 0 >"$M/T/r1/f:q"
	echo after >"$M/T/r2/f:q"
	after=$(now)
	ctl flush "$M"
	kept=$(ls -S "$STORE"/kept-* | head -n 1)
	kept=${kept##*/}
}

# had: as of $at it is that moment, and has the value.
had() {
	rm -rf "$T/new"
	[ "$(ctl restore "$T/b" "$T/new" --at "$at" | cut -f 6)" = "$at" ]
	[ "$(ctl get -v "$T/new" T r2 f:q)" = "$1" ]
	[ "$(ctl check "$T/new")" = "$T/new: 0 faults" ]
}

@test "moments before a part of the log that is lost are restored" {
	local i at kept what moments=()

	a_table
	backup "$M" "$T/b" --keep-log 64
	for i in 0 1 2 3 4; do
		echo "$i" >"$M/T/r2/f:q"
		moments[i]=$(now)
		echo "$i, later" >"$M/T/r2/f:q"
		ctl flush "$M"
	done
	kept=$(ls "$STORE"/kept-* | sed -n '4s,.*/,,p')
	backup "$M" "$T/b"
	for i in 0 1 2 3 4; do
		at=${moments[i]}
		had "$i"
	done
	harm "$T/b/2/$kept"
	for what in "is not what the backup has had" "is missing"; do
		at=${moments[1]}
		had 1
		at=${moments[3]}
		restored_with "the log up to it is not whole: in backup 2 $kept $what" 1
		rm -f "$T/b/2/$kept"
	done

	# What the store has lost no backup has.
	rm -r "$STORE/$kept" "$T/b/2"
	backup "$M" "$T/b"
	at=${moments[1]}
	had 1
	at=${moments[3]}
	restored_with "the log up to it is not whole: more was written" 1
}

# kept_fault: what is said of it.
kept_fault() {
	[[ $1 =~ $kept\ is\ damaged\ at\ byte\ [0-9]+:\ a\ record\ .*\ fails ]]
	[[ $1 == *"cannot be restored with it; the data itself is whole"* ]]
}

@test "check verifies the log that is kept, of a store at rest and in use" {
	local before after kept at

	a_kept_log
	[ "$(ctl check "$M")" = "$M: 0 faults" ]
	harm "$STORE/$kept"
	for at in "$M" "$STORE"; do
		run -1 ctl check "$at"
		kept_fault "${lines[0]}"
		[ "${lines[1]}" = "$at: 1 fault" ]
		[ "${#lines[@]}" -eq 2 ]
		[ "$at" = "$STORE" ] || unmount_store
	done
	ctl get "$STORE" T r2
	mount_store
}

@test "a backup of a damaged kept log says so, and has the rest" {
	local before after kept at

	a_kept_log
	harm "$STORE/$kept"
	run -1 --separate-stderr ctl backup "$M" "$T/b"
	[ "${output%%$'\t'*}" = 2 ]
	[[ $stderr == *"backup 2 is made, but of the kept log 1 file is damaged: "* ]]
	kept_fault "$stderr"
	diff <(cd "$STORE" && ls kept-*) <(cd "$T/b/2" && ls kept-*)
	# Up to the damage it is as good as whole.
	ctl restore "$T/b" "$T/at" --at "$before"
	[ "$(ctl get -v "$T/at" T r2 f:q)" = before ]
	at=$after
	restored_with "the log up to it is not whole" 1
	rm -r "$T/new"
	ctl restore "$T/b" "$T/new"
	[ "$(ctl get -v "$T/new" T r2 f:q)" = after ]
	run -1 --separate-stderr ctl check "$T/b"
	kept_fault "${lines[0]}"
	[[ $stderr == *"a file of the kept log is not carried again"* ]]
	# The backup says it once, and the next log is whole.
	backup "$M" "$T/b"
	echo next >"$M/T/r2/f:q"
	after=$(now)
	ctl flush "$M"
	backup "$M" "$T/b"
	[ "$(ctl restore "$T/b" "$T/next" --at "$after" | cut -f 6)" = "$after" ]
	# Old ones are dropped all the same.
	head -c 90000 /dev/urandom | base64 -w 0 >"$M/T/r1/f:q"
	ctl flush "$M"
	kept=$(ls "$STORE"/kept-* | tail -n 1)
	harm "$kept"
	run -1 ctl backup "$M" "$T/b" --keep 1
	[ "$(ctl backup --list "$T/b" | cut -f 1)" = 5 ]
}

@test "what check says of a damaged file of a backup is true of that file" {
	local before after kept

	a_kept_log
	backup "$M" "$T/b"
	harm "$T/b/2/$kept"
	run -1 --separate-stderr ctl check "$T/b"
	kept_fault "${lines[1]}"
	[[ $stderr == *"a file of the kept log is not carried again"*"copy it"* ]]
	[[ $stderr != *"a table file"* ]]
	[[ $stderr != *"alone"* ]]
	rm "$T/b/2/$kept"
	backup "$M" "$T/b"
	[ ! -e "$T/b/3/$kept" ]
	run -1 --separate-stderr ctl check "$T/b"
	[[ $stderr == *"a file of the kept log is not carried again"* ]]
	cp "$STORE/$kept" "$T/b/2"
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
	[ "$(ctl restore "$T/b" "$T/new" --at "$after" | cut -f 6)" = "$after" ]

	harm "$T/b/3"/CATALOG-*
	run -1 --separate-stderr ctl check "$T/b"
	[[ $stderr == *"a catalog or a wal-N.log is its backup's alone: restore another"* ]]
	[[ $stderr != *"a table file"* ]]
	[[ $stderr != *"kept log"* ]]
	backup "$M" "$T/b" --keep 1
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
}

@test "old backups are dropped, with the files that no other has" {
	local i before

	a_table
	for i in 1 2 3; do
		ctl put "$M" T "n$i" f:q "$i"
		backup "$M" "$T/b"
	done
	ctl compact "$M"
	backup "$M" "$T/b" --keep 2
	[ "$(ctl backup --list "$T/b" | cut -f 1)" = "3
4" ]
	before=$(du -s "$T/b" | cut -f 1)
	ctl backup --keep 1 "$T/b"
	[ "$(du -s "$T/b" | cut -f 1)" -lt "$before" ]
	[ "$(ls "$T/b")" = 4 ]
	ctl restore "$T/b" "$T/new"
	same "$M" "$T/new"
	backup "$M" "$T/b"
	[ "$(cut -f 1 "$T/said")" -eq 5 ]
	# What a drop that was cut left goes with the next one.
	mv "$T/b/4" "$T/b/4.gone"
	[ "$(ctl backup --list "$T/b" | cut -f 1)" = 5 ]
	ctl backup --keep 1 "$T/b"
	[ "$(ls "$T/b")" = 5 ]
	run -2 ctl backup "$T/b"
	run -3 ctl backup --list "$T/none"
	run -3 ctl backup --keep 1 "$T/none"
	run ! test -e "$T/none"
}

# not_to_be_changed DIR: nothing opens it to write.
not_to_be_changed() {
	local option

	for option in "" --insecure; do
		run -3 ctl $option put "$1" T r1 f:q x
		[[ $output == *"$1 is a backup, which nothing changes"* ]]
		run -3 ctl $option create "$1" U f
		[[ $output == *"$1 is a backup, which nothing changes"* ]]
	done
}

@test "a backup that is cut does not exist, and the next one goes on" {
	local file

	a_table
	backup "$M" "$T/b"
	# A file that fits, then one that does not: SIGXFSZ in its midst.
	ctl put "$M" T small f:q x
	ctl flush "$M"
	head -c 300000 /dev/urandom | base64 -w 0 |
		ctl put "$M" T large f:q
	run -153 bash -c 'ulimit -f 100; exec "$@"' - \
		"$CELLCTL" backup "$M" "$T/b" --copy
	[ "$(ls "$T/b")" = "1
incomplete" ]
	run ls "$T/b/incomplete"
	[[ $output == *.sst.part* ]]
	[ "$(ctl backup --list "$T/b" | cut -f 1)" = 1 ]
	not_to_be_changed "$T/b/incomplete"
	ctl restore "$T/b" "$T/old"
	run -1 ctl get "$T/old" T small
	# So is one that fails, which says it.
	run -3 --separate-stderr bash -c \
		'trap "" XFSZ; ulimit -f 100; exec "$@"' - \
		"$CELLCTL" backup "$M" "$T/b" --copy
	[[ $stderr == *"writing "*.sst*": File too large"* ]]
	backup "$M" "$T/b" --copy
	[ "$(ls "$T/b")" = "1
2" ]
	run ls "$T/b/2"
	[[ $output != *.part* ]]
	# The small file was there.
	[ "$(cut -f 4 "$T/said")" -lt "$(($(cut -f 2 "$T/said") - 1))" ]
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
	ctl restore "$T/b" "$T/new"
	same "$M" "$T/new"
}

@test "a backup that is killed does no harm to those before" {
	local tool i

	a_table
	backup "$M" "$T/b"
	for i in 1 2 3; do
		head -c 3000000 /dev/urandom | base64 -w 0 |
			ctl put "$M" T "large$i" f:q
		"$CELLCTL" backup --copy "$M" "$T/b" >"$T/said" 2>&1 3>&- &
		tool=$!
		settled test -e "$T/b/incomplete" -o -e "$T/b/$((i + 1))"
		kill -9 "$tool" || true
		wait "$tool" || true
		ctl restore "$T/b" "$T/old$i" --backup 1
		[ "$(ctl count "$T/old$i" T)" -eq 400 ]
		# The daemon holds nothing for it any more.
		ctl flush "$M"
	done
	backup "$M" "$T/b"
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
	ctl restore "$T/b" "$T/new"
	same "$M" "$T/new"
}

@test "a new directory of backups is durable, and so is a store that is restored" {
	a_table
	mkdir "$T/in"
	ASAN_OPTIONS=detect_leaks=0 strace -y -qq -o "$T/trace" -e trace=fsync \
		"$CELLCTL" backup "$M" "$T/in/b/"
	grep -qF "<$T/in>)" "$T/trace"
	ASAN_OPTIONS=detect_leaks=0 strace -y -qq -o "$T/trace" -e trace=fsync \
		"$CELLCTL" restore "$T/in/b" "$T/new/"
	grep -qF "<$T>)" "$T/trace"
}

# synced_first TRACE: what was renamed had been synced, and a backup's BACKUP.
synced_first() {
	python3 - "$1" <<-'EOF'
	import os, re, sys
	synced, named = set(), 0
	for line in open(sys.argv[1]):
	    if m := re.match(r'fsync\(\d+<(.*)>\) += 0', line):
	        synced.add(m[1])
	    elif m := re.match(r'rename\w*\((?:\w+<(.*?)>, )?"(.*?)"', line):
	        old = os.path.join(m[1] or '', m[2])
	        named += 1
	        assert old in synced, line
	        if os.path.basename(old) == 'incomplete':
	            assert old + '/BACKUP' in synced, line
	assert named > 1, 'no file got a name'
	EOF
}

@test "no file of a backup or a restored store has its name before it is on disk" {
	a_table
	echo unflushed >"$M/T/r1/f:q"
	# shellcheck disable=SC2094
	traced() {
		ASAN_OPTIONS=detect_leaks=0 strace -y -qq -o "$T/trace" \
			-e trace=fsync,rename,renameat,renameat2 "$@" &&
			synced_first "$T/trace"
	}
	traced "$CELLCTL" backup "$M" "$T/b" --copy
	grep -qF "<$T/b>)" "$T/trace"
	ctl put "$M" T more f:q x
	traced "$CELLCTL" backup "$M" "$T/b"
	grep -qF "<$T/b>)" "$T/trace"
	traced "$CELLCTL" restore "$T/b" "$T/new"
}

@test "a file of a backup that cannot be synced or closed is named, and no backup made" {
	local call nth file catalog

	a_table
	file=$(basename "$(largest "$STORE")")
	catalog=$(basename "$STORE"/CATALOG-*[0-9])
	# That of the inventory is made empty before, and closed once more.
	for call in "fsync 1 $file" "close 1 $file" "fsync 1 $catalog" \
		"fsync 1 BACKUP" "close 2 BACKUP"; do
		read -r call nth file <<<"$call"
		ASAN_OPTIONS=detect_leaks=0 run -3 --separate-stderr strace -f -qq \
			-o "$T/trace" -P "$T/b/incomplete/$file" \
			-P "$T/b/incomplete/$file.part" -e trace="$call" \
			-e inject="$call:error=EIO:when=$nth" \
			"$CELLCTL" backup "$M" "$T/b" --copy
		grep -q INJECTED "$T/trace"
		[[ $stderr == *"ing $file"*": Input/output error"* ]]
		run ! compgen -G "$T/b/incomplete/*.part"
		run -3 ctl backup --list "$T/b"
		rm -r "$T/b/incomplete"
	done
	backup "$M" "$T/b"
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
}

@test "a full disk ends a backup, and the ones before it are whole" {
	local dir=$T/disk

	a_table
	mkdir "$dir"
	backup "$M" "$T/b"
	unshare -rm true || skip "no namespaces"
	unshare -rm bash -e -c '
		mount -t tmpfs -o size=400k none "$1"
		"$2" backup "$3" "$1/b"
		head -c 600000 /dev/urandom | base64 -w 0 |
			"$2" put "$3" T large f:q
		! "$2" backup "$3" "$1/b" 2>"$4/said" || exit 9
		grep -q "No space left.*: make room, and the next backup goes on" \
			"$4/said"
		[ "$("$2" check "$1/b")" = "$1/b: 0 faults" ]
		[ "$("$2" backup --list "$1/b" | wc -l)" -eq 1 ]
		# Another filesystem is no other case.
		mount -o remount,size=4M "$1"
		"$2" backup "$3" "$1/b"
		"$2" restore "$1/b" "$4/new" --backup 1
		"$2" restore "$1/b" "$4/new2"
	' - "$dir" "$CELLCTL" "$M" "$T"
	run -1 ctl get "$T/new" T large
	same "$M" "$T/new2"
}

@test "on one filesystem a backup takes no room, and --copy shares nothing" {
	local file name

	a_table
	head -c 3000000 /dev/urandom | base64 -w 0 | ctl put "$M" T large f:q
	ctl flush "$M"
	backup "$M" "$T/b"
	backup "$M" "$T/copies" --copy
	for file in "$STORE"/*.sst; do
		name=${file##*/}
		shares "$T/b/1" || [ "$file" -ef "$T/b/1/$name" ]
		run ! test "$file" -ef "$T/copies/1/$name"
		cmp "$file" "$T/copies/1/$name"
	done
	# The store is as it was, at rest too, without a word that insists.
	unmount_store
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	ctl compact "$STORE"
	ctl put "$STORE" T r1 f:q after
	ctl drop "$STORE" T --force
	ctl compact "$STORE"
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
	ctl restore "$T/b" "$T/new"
	[ "$(ctl get -v "$T/new" T r1 f:q)" = "value 1" ]
	[ "$(ctl get -v "$T/new" T large f:q | wc -c)" -eq 4000000 ]
	# A store that is restored has files of its own.
	for file in "$T/new"/*.sst; do
		[ "$(stat -c %h "$file")" -eq 1 ]
	done
	rm -r "$T/b"
	mount_store
}

@test "a backup of another user's store is a copy" {
	[ "$(id -u)" -eq 0 ] || skip "to have two users takes root"
	a_table
	unmount_store
	chown -R 65533 "$STORE"
	backup "$STORE" "$T/b"
	for file in "$STORE"/*.sst; do
		run ! test "$file" -ef "$T/b/1/${file##*/}"
	done
	chown -R 0 "$STORE"
	mount_store
}

@test "backups, and stores that are restored, are for their owner alone" {
	local at mask

	a_table
	mask=$(umask)
	umask 0
	backup "$M" "$T/b" --keep-log 64
	ctl put "$M" T more f:q x
	at=$(now)
	backup "$M" "$T/b" --copy
	ctl restore "$T/b" "$T/new"
	ctl restore "$T/b" "$T/at" --at "$at"
	umask "$mask"
	[ -z "$(find "$T/b" "$T/new" "$T/at" -type d ! -perm 700)" ]
	[ -z "$(find "$T/b" "$T/new" "$T/at" -type f ! -perm 600)" ]
}

@test "a damaged file of the store is named, and no backup made of it" {
	local file

	a_table
	backup "$M" "$T/b"
	backup "$M" "$T/b"
	ctl put "$M" T more f:q x
	seq 1 300 | sed $'s/.*/s&\tf:q\t&\tother &/' | ctl import "$M" T
	unmount_store
	ctl flush "$STORE"
	file=$(largest "$STORE")
	[ ! -e "$T/b/1/${file##*/}" ] || file=$(ls -t "$STORE"/*.sst | head -n 1)
	harm "$file"
	# For one that is not made none is dropped.
	run -3 --separate-stderr ctl backup "$STORE" "$T/b" --keep 1
	[[ $stderr == *"${file##*/}"*damaged* || $stderr == *damaged*"${file##*/}"* ]]
	[ "$(ctl backup --list "$T/b" | cut -f 1)" = $'1\n2' ]
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
	# Of what is there then nobody makes a store.
	not_to_be_changed "$T/b/incomplete"
	mv "$file" "$T/away"
	run -3 --separate-stderr ctl backup "$STORE" "$T/b"
	[[ $stderr == *"${file##*/} is missing"* ]]
	ctl restore "$T/b" "$T/new"
	[ "$(ctl count "$T/new" T)" -eq 400 ]
	rm -r "$STORE"
	mount_store
}

@test "a damaged backup is found, named, and not restored" {
	local file

	a_table
	backup "$M" "$T/b" --copy
	ctl put "$M" T more f:q x
	backup "$M" "$T/b"
	file=$(largest "$T/b/1")
	harm "$file"
	run -1 ctl check "$T/b"
	[[ $output == *"backup 1: ${file##*/}"* ]]
	# It is one file of both.
	run -3 --separate-stderr ctl restore "$T/b" "$T/new"
	[[ $stderr == *"backup 2 of $T/b is damaged: ${file##*/} is not what the backup has had"* ]]
	run ! test -e "$T/new"
	run ! test -e "$T/new.part"
	# The next one links to it, unless it is removed, as check says.
	backup "$M" "$T/b"
	[ "$(carried)" -eq 1 ]
	run -1 --separate-stderr ctl check "$T/b"
	[[ $stderr == *"removed from the newest backup of $T/b is carried again"* ]]
	rm "$T/b/3/${file##*/}"
	backup "$M" "$T/b" --copy --keep 1
	[ "$(carried)" -eq 2 ]
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
	backup "$M" "$T/b"
	backup "$M" "$T/b"
	rm "$T/b/6/BACKUP"
	echo 'cellfs backup 1' >"$T/b/4/BACKUP"
	run -1 ctl check "$T/b"
	[[ $output == *"backup 4 of $T/b: its file BACKUP is damaged"* ]]
	[[ $output == *"backup 6 of $T/b: it has no file BACKUP"* ]]
	# Those between are listed and restored, and it is said what to do.
	run -3 --separate-stderr ctl backup --list "$T/b"
	[[ $output == 5$'\t'* ]]
	run -3 --separate-stderr ctl restore "$T/b" "$T/new"
	[[ $stderr == *"restore another, and remove $T/b/6"* ]]
	ctl restore "$T/b" "$T/new" --backup 5
	same "$M" "$T/new"
	rm -r "$T/b/6"
	backup "$M" "$T/b"
}

@test "what a backup shares with one that cannot be checked is checked" {
	local file

	a_table
	backup "$M" "$T/b" --copy
	backup "$M" "$T/b"
	file=$(largest "$T/b/2")
	harm "$file"
	echo 'cellfs backup 1' >"$T/b/1/BACKUP"
	run -1 ctl check "$T/b"
	[[ $output == *"backup 1 of $T/b: its file BACKUP is damaged"* ]]
	[[ $output == *"backup 2: ${file##*/} is not what the backup has had"* ]]
}

@test "a directory of backups is one store's alone, and apart from it" {
	local dir

	a_table
	backup "$M" "$T/b"
	ctl create "$T/other" T f
	run -3 --separate-stderr ctl backup "$T/other" "$T/b"
	[[ $stderr == *"backups of another store"* ]]
	run -3 --separate-stderr ctl backup "$M" "$STORE/b"
	[[ $stderr == *"is in the store"* ]]
	[ ! -e "$STORE/b" ]
	# No store is made among the backups: there would be no next one.
	for dir in "$T/b/new" "$T/b/1/new" "$T/./b/../b/new"; do
		run -3 --separate-stderr ctl restore "$T/b" "$dir"
		[[ $stderr == *"is among the backups"* ]]
	done
	[ "$(ls "$T/b")" = 1 ]
	[ ! -e "$T/b/1/new" ]
	backup "$M" "$T/b"
	# In a mount it would be a table, and a store that is restored, too.
	mkdir "$M/empty"
	for dir in "$M/empty" "$M/absent" "$M/T/r1"; do
		run -3 --separate-stderr ctl backup "$M" "$dir"
		[[ $stderr == *"is inside $M, where a store is mounted"* ]]
		run -3 --separate-stderr ctl restore "$T/b" "$dir"
		[[ $stderr == *"is inside $M, where a store is mounted"* ]]
	done
	[ "$(ls "$M")" = "T
empty" ]
	# An empty directory is there as before if nothing came of it.
	mkdir "$T/void"
	run -3 ctl restore "$T/b" "$T/void" --backup 9
	[ -d "$T/void" ]
	run -3 --separate-stderr ctl backup "$M" "$T/other"
	[[ $stderr == *"$T/other is a store or a backup: name a directory elsewhere"* ]]
	run -3 --separate-stderr flock "$T/b" "$CELLCTL" backup "$M" "$T/b"
	[[ $stderr == *"another process uses the backups"* ]]
	# Who only reads keeps a backup from being made or dropped, and no reader out.
	run -3 flock -s "$T/b" "$CELLCTL" backup "$M" "$T/b"
	run -3 flock -s "$T/b" "$CELLCTL" backup --keep 1 "$T/b"
	flock -s "$T/b" "$CELLCTL" check "$T/b"
	# A store that was restored goes on with the backups of the first.
	ctl restore "$T/b" "$T/new"
	ctl put "$T/new" T r f:q x
	backup "$T/new" "$T/b"
	ctl restore "$T/b" "$T/again"
	same "$T/new" "$T/again"
}
