# What the kernel was told of, and what is told when it is old.
load helper

# stream FORMAT FIRST LAST: a line for each row, FORMAT with the row's name.
stream() {
	seq -f row%05g "$2" "$3" | awk -v f="$1\n" '{ printf f, $1 }'
}

# told: the kernel has been told all.
told() {
	[ "$(awk '$1 == "cellfs_notifications_queued" { print $2 }' \
		"$M/.cellfs/metrics")" = 0 ]
}

@test "20,000 rows that were listed and then deleted by one stream are gone" {
	mkdir "$M/T"
	stream '%s\tf:q\t5\tx' 1 20000 > "$M/T/.cells"
	[ "$(ls -l "$M/T" | grep -c row)" -eq 20000 ]
	stat -c %F "$M/T/row20000" > "$T/before"
	[ "$(cat "$T/before")" = directory ]
	stream '%s\t\t\t\tdelete-row' 1 20000 > "$M/T/.cells"
	until told; do sleep 0.02; done
	stream "$M/T/%s" 1 20000 > "$T/names"
	run bash -c "xargs stat -c %n < '$T/names' 2>/dev/null | wc -l"
	[ "$output" -eq 0 ]
	run bash -c "xargs stat < '$T/names' 2>&1 >/dev/null |
		grep -c 'No such file or directory'"
	[ "$output" -eq 20000 ]
}

@test "whatever line of a stream takes a row's last cell, its name goes" {
	local what n=0

	mkdir "$M/T"
	for what in ',,,delete-row' 'f:,,,delete-family' \
		'f:,5,,delete-family-version' 'f:q,,,delete-column' \
		'f:q,5,,delete'; do
		n=$((n + 1))
		echo "row$n,f:q,5,x" | tr , '\t' > "$M/T/.cells"
		stat "$M/T/row$n"{,/f:q} > "$T/before"
		echo "row$n,$what" | tr , '\t' > "$M/T/.cells"
	done
	until told; do sleep 0.02; done
	[ "$n" -eq 5 ]
	for n in 1 2 3 4 5; do
		run -1 stat "$M/T/row$n"
	done
}

# metric NAME: its value.
metric() {
	awk -v name="$1" '$1 == name { print $2 }' "$M/.cellfs/metrics"
}

@test "an F:Q that goes takes no other name along, whatever else is open" {
	local before after name='cellfs_request_seconds_count{op="lookup"}'

	keep_caches
	mkdir "$M/T"
	stream '%s\tf:q\t5\tx' 1 100 > "$M/T/.cells"
	touch "$M/T/.scratch"
	stat "$M"/T/row*/f:q "$M/T/.scratch" > "$T/before"
	exec 7>> "$M/T/row00003/f:q" 8< "$M/T/row00004/f:q"
	stat "$M"/T/row* > "$T/before"
	rm "$M/T/row00001/f:q"
	before=$(metric "$name")
	stat "$M"/T/row* > "$T/after"
	after=$(metric "$name")
	# What is open would keep a test that fails from its unmount.
	exec 7>&- 8<&-
	[ "$before" -gt 0 ]
	# The root's names are asked for now and then.
	[ $((after - before)) -lt 50 ]
}

@test "a table and a scratch file that are not there are asked for once" {
	local before after name='cellfs_request_seconds_count{op="lookup"}'

	keep_caches
	a_row
	[ ! -e "$M/U" ] && [ ! -e "$M/T/R/.n" ]
	before=$(metric "$name")
	for _ in {1..50}; do
		[ ! -e "$M/U" ] && [ ! -e "$M/T/R/.n" ]
	done
	after=$(metric "$name")
	[ "$before" -gt 0 ]
	# The root's names are asked for now and then.
	[ $((after - before)) -lt 30 ]
	touch "$M/T/R/.n"
	mkdir "$M/U"
	[ -e "$M/T/R/.n" ] && [ -e "$M/U" ]
	rm "$M/T/R/.n"
}

@test "of directories that are only in memory the kernel is not told" {
	local before

	keep_caches
	mkdir "$M/T"
	stream '%s\tf:q\t5\tx' 1 1 > "$M/T/.cells"
	stat "$M/T/row00001/f:q" > "$T/before"
	before=$(metric cellfs_notifications_total)
	rm "$M/T/row00001/f:q"
	until told; do sleep 0.02; done
	[ "$(ls "$M/T/row00001/f")" = q ]
	[ "$(metric cellfs_notifications_total)" = "$before" ]
}

@test "a stream into the table that is the root tells of its rows" {
	mkdir "$M/T"
	remount_store -o root=T
	stream '%s\tf:q\t5\tx' 1 3 > "$M/.cells"
	[ "$(cat "$M/row00002/f/q/5")" = x ]
	stream '%s\tf:q\t5\ty' 2 2 > "$M/.cells"
	settled grep -q y "$M/row00002/f/q/5"
	stream '%s\t\t\t\tdelete-row' 2 2 > "$M/.cells"
	settled [ ! -e "$M/row00002" ]
}

@test "a version that is put again by a stream has other bytes, open or not" {
	mkdir "$M/T"
	stream '%s\tf:q\t5\told' 1 1 > "$M/T/.cells"
	exec 7< "$M/T/row00001/f/q/5"
	[ "$(cat /dev/fd/7)" = old ]
	[ "$(cat "$M/T/row00001/f/q/5")" = old ]
	stream '%s\tf:q\t5\tnew' 1 1 > "$M/T/.cells"
	settled grep -q new "$M/T/row00001/f/q/5"
	exec 7<&-
}

@test "versions of a column that is moved were absent where they are now" {
	a_column
	mkdir "$M/T/R/f/p"
	echo 1 > "$C/1"
	echo 2 > "$C/2"
	run ! cat "$M/T/R/f/p/1" "$M/T/R/f/p/2"
	mv "$M/T/R/f:q" "$M/T/R/f:p"
	there() { [ "$(cat "$M/T/R/f/p/"*)" = "1
2" ] && [ -e "$M/T/R/f/p/1" ]; }
	settled there
}

@test "rows that a stream deletes while they are being listed are gone" {
	mkdir "$M/T"
	stream '%s\tf:q\t5\tx' 1 5000 > "$M/T/.cells"
	stream '%s\t\t\t\tdelete-row' 1 5000 > "$T/deletes"
	run python3 - "$M/T" "$T/deletes" "$T/names" <<-'EOF'
		import os, sys
		table, deletes, names = sys.argv[1:]
		rows = os.scandir(table)
		seen = [next(rows) for _ in range(100)]
		for row in seen:
		    os.stat(row.path)
		with open(table + '/.cells', 'wb') as f:
		    f.write(open(deletes, 'rb').read())
		seen += rows
		print(len(seen))
		with open(names, "w") as f:
		    f.write(''.join(row.path + '\0' for row in seen))
	EOF
	[ "$output" = 5001 ]
	until told; do sleep 0.02; done
	run bash -c "xargs -0 stat -c %n < '$T/names' 2>/dev/null"
	[ "$output" = "$M/T/.schema" ]
}

@test "rows that are removed while somebody lists them are gone" {
	mkdir "$M/T"
	stream '%s\tf:q\t5\tx' 1 2000 > "$M/T/.cells"
	run python3 - "$M/T" <<-'EOF'
		import os, shutil, sys
		table = sys.argv[1]
		rows = os.scandir(table)
		seen = [next(rows) for _ in range(100)]
		for row in seen:
		    os.stat(row.path)
		for i in range(1, 2001):
		    shutil.rmtree('%s/row%05d' % (table, i))
		seen += rows
		print(len(seen), [r.name for r in seen if os.path.exists(r.path)])
	EOF
	[ "$output" = "2001 ['.schema']" ]
}

@test "the thread that tells the kernel has none of the daemon's files" {
	[ "$(threads_apart)" -eq 1 ]
}

@test "a version that newer ones push out is gone, though it was looked at" {
	a_column
	local i
	for i in 1 2 3; do echo "$i" > "$C/$i"; done
	stat "$C/1" "$C/2" > /dev/null
	echo 4 > "$C/4"
	gone() { [ ! -e "$C/$1" ]; }
	settled gone 1
	stat "$C/2" > /dev/null
	echo 5 > "$M/T/R/f:q"
	settled gone 2
}

@test "who makes and removes files by their names is told of none of them" {
	local before ts

	keep_caches
	# Of what mkdir -p opens the kernel may keep a listing.
	mkdir "$M/T"
	mkdir "$M/T/R"
	mkdir "$M/T/R/f"
	mkdir "$M/T/R/f/q"
	stat "$M/T/R/f/q" > "$T/before"
	until told; do sleep 0.02; done
	before=$(metric cellfs_notifications_total)
	for ts in {1..20}; do
		echo x > "$M/T/R/f/q/$ts"
		echo x > "$M/T/R/f:q$ts"
		rm "$M/T/R/f/q/$ts" "$M/T/R/f:q$ts"
	done
	until told; do sleep 0.02; done
	[ "$(metric cellfs_notifications_total)" = "$before" ]
	[ "$(metric 'cellfs_request_seconds_count{op="unlink"}')" -ge 40 ]
}

@test "a rename onto a version tells of the file alone, one that fails of the directory" {
	local before ts

	keep_caches
	mkdir "$M/T"
	mkdir "$M/T/R"
	mkdir "$M/T/R/f"
	mkdir "$M/T/R/f/q"
	for ts in 1 2 3; do echo x > "$M/T/R/f/q/.$ts"; done
	stat "$M/T/R/f/q" > "$T/before"
	until told; do sleep 0.02; done
	before=$(metric cellfs_notifications_total)
	for ts in 1 2 3; do mv "$M/T/R/f/q/.$ts" "$M/T/R/f/q/$ts"; done
	until told; do sleep 0.02; done
	# Its attributes; of a scratch file the kernel has no pages.
	[ "$(metric cellfs_notifications_total)" -eq $((before + 3)) ]
	run ! mv "$M/T/R/f/q/3" "$M/T/R/f/q/no-time"
	until told; do sleep 0.02; done
	[ "$(metric cellfs_notifications_total)" -eq $((before + 4)) ]
	# From one directory to another, too.
	mkdir "$M/T/R/f/p"
	for ts in 4 5; do echo x > "$M/T/R/f/q/.$ts"; done
	stat "$M/T/R/f/p" "$M/T/R/f/q" > "$T/before"
	until told; do sleep 0.02; done
	before=$(metric cellfs_notifications_total)
	for ts in 4 5; do mv "$M/T/R/f/q/.$ts" "$M/T/R/f/p/$ts"; done
	until told; do sleep 0.02; done
	[ "$(metric cellfs_notifications_total)" -eq $((before + 2)) ]
}

# closed TS: the file at 7 is published, and the column has its time.
closed() {
	exec 7>&-
	until told; do sleep 0.02; done
	[ "$(stat -c %Y "$M/T/R/f/q")" -eq "$1" ]
}

@test "a time of a directory that was asked for while a file is written is told of" {
	mkdir "$M/T"
	mkdir "$M/T/R"
	mkdir "$M/T/R/f"
	mkdir "$M/T/R/f/q"
	echo x > "$M/T/R/f/q/1000"
	exec 7> "$M/T/R/f/q/2000"
	[ "$(stat -c %Y "$M/T/R/f/q")" -eq 1 ]
	closed 2
	# As a listing of its parent and a change of its attributes bring it.
	exec 7> "$M/T/R/f/q/3000"
	ls -l "$M/T/R/f" > "$T/before"
	closed 3
	exec 7> "$M/T/R/f/q/4000"
	touch "$M/T/R/f/q"
	closed 4
}
