load helper

@test "rm of a timestamp removes that version" {
	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	rm "$C/1"
	[ "$(ls "$C")" = 2 ]
	[ "$(cat "$C/latest")" = two ]
}

@test "rm of latest removes the newest version" {
	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	rm "$C/latest"
	[ "$(ls "$C")" = 1 ]
	[ "$(cat "$C/latest")" = one ]
}

@test "rm of F:Q removes every version" {
	a_column
	echo one > "$C/1"
	echo two > "$C/2"
	[ "$(cat "$C/1" "$C/2" "$C/latest")" = "$(printf 'one\ntwo\ntwo')" ]
	rm "$M/T/R/f:q"
	[ ! -e "$M/T/R/f:q" ]
	[ -z "$(ls "$C")" ]
	settled [ ! -e "$C/1" ]
	settled [ ! -e "$C/2" ]
	[ ! -e "$C/latest" ]
	[ "$(find "$M/T" -mindepth 1 -type f ! -name .schema)" = "" ]
}

@test "a row whose cells were removed by F:Q is removed by one rmdir" {
	mkdir "$M/T" "$M/T/R"
	echo one > "$M/T/R/f:q"
	echo two > "$M/T/R/g:q"
	rm "$M/T/R/f:q"
	run ! rmdir "$M/T/R"
	rm "$M/T/R/g:q"
	rmdir "$M/T/R"
	[ ! -e "$M/T/R" ]
	mkdir "$M/T/R"
	[ -z "$(ls "$M/T/R")" ]
	mkdir -p "$M/T/R/f"
	rm -f "$M/T/R/g:q"
	run ! rmdir "$M/T/R"
	[[ $output == *"not empty"* ]]
}

@test "an editor's backup of F:Q leaves no directory" {
	mkdir "$M/T" "$M/T/R"
	echo one > "$M/T/R/f:q"
	mv "$M/T/R/f:q" "$M/T/R/f:q~"
	echo two > "$M/T/R/f:q"
	rm "$M/T/R/f:q~"
	[ "$(ls "$M/T/R/f")" = q ]
}

@test "a full table with an empty row says that it holds rows" {
	mkdir "$M/T" "$M/T/R" "$M/T/empty"
	echo x > "$M/T/R/f:q"
	run ! rmdir "$M/T"
	grep -q "/T.*it holds rows$" "$M/.cellfs/errors"
	rm -r "$M/T/R"
	run ! rmdir "$M/T"
	tail -n 1 "$M/.cellfs/errors" | grep -q "empty directories"
	rmdir "$M/T/empty"
	rmdir "$M/T"
}

@test "rm of what is not there says so" {
	a_column
	run ! rm "$C/1"
	[[ $output == *"No such file"* ]]
	run ! rm "$C/latest"
	run ! rm "$M/T/R/f:q"
}

@test "a version removed and written again is seen" {
	a_column
	echo one > "$C/1"
	rm "$C/1"
	echo again > "$C/1"
	[ "$(cat "$C/1")" = again ]
}

@test "a directory emptied by rm stays until rmdir" {
	a_column
	echo one > "$C/1"
	rm "$C/1"
	[ -d "$C" ]
	[ "$(ls "$M/T/R/f")" = q ]
	rmdir "$C"
	[ "$(ls "$M/T/R")" = f ]
	rmdir "$M/T/R/f" "$M/T/R"
	[ -z "$(ls "$M/T")" ]
}

@test "an empty directory is listed until it is removed, and gone at unmount" {
	mkdir "$M/T" "$M/T/b" "$M/T/a"
	[ "$(ls "$M/T" | tr '\n' ' ')" = "a b " ]
	rmdir "$M/T/a"
	[ "$(ls "$M/T")" = b ]
	remount_store
	[ -z "$(ls "$M/T")" ]
}

@test "rmdir of what holds cells is refused" {
	a_column
	echo x > "$C/1"
	for d in "$C" "$M/T/R/f" "$M/T/R" "$M/T"; do
		run ! rmdir "$d"
		[[ $output == *"not empty"* ]]
	done
}

@test "rm -r of a row, a table" {
	a_column
	echo x > "$C/1"
	echo x > "$M/T/R/g:h"
	echo x > "$M/T/R/f:q2"
	mkdir "$M/T/R2"
	echo x > "$M/T/R2/f:q"
	rm -r "$M/T/R"
	[ "$(ls "$M/T")" = R2 ]
	rm -r "$M/T"
	[ -z "$(ls "$M")" ]
}

@test "find -delete of everything" {
	a_column
	for r in 1 2 3 4 5; do
		mkdir "$M/T/r$r"
		echo x > "$M/T/r$r/f:q"
		echo x > "$M/T/r$r/g:long"
	done
	find "$M/T" -mindepth 1 -delete
	[ -z "$(ls "$M/T")" ]
	rmdir "$M/T"
}

@test "find -type f -delete leaves the directories" {
	a_column
	echo x > "$C/1"
	find "$M/T/R" -type f -delete
	[ -d "$C" ]
	[ "$(find "$M/T/R" -type f | wc -l)" -eq 0 ]
}

@test "a table of a dropped name starts empty" {
	a_column
	echo x > "$C/1"
	rm -r "$M/T"
	mkdir "$M/T"
	[ -z "$(ls "$M/T")" ]
	mkdir -p "$M/T/R/f/q"
	[ -z "$(ls "$C")" ]
}

@test "a file removed while it is written is never published" {
	a_column
	exec 4> "$C/4913"
	echo x >&4
	rm "$C/4913"
	exec 4>&-
	sleep 0.1
	[ -z "$(ls "$C")" ]
}

# moves DIR CMD...: the directory's time of change moves with the command.
moves() {
	local before dir=$1
	before=$(stat -c %y "$dir")
	shift
	"$@"
	[ "$(stat -c %y "$dir")" != "$before" ] || {
		echo "$dir did not move with $*" >&2
		return 1
	}
}

time_moved() {
	[ "$(stat -c %y "$C")" != "$before" ]
}

@test "a directory's time moves when an entry comes or goes" {
	a_column
	for t in 1 2 3; do echo "$t" > "$C/$t"; done
	moves "$C" rm "$C/3"
	moves "$C" rm "$C/latest"
	moves "$C" mv "$C/1" "$C/7"
	# The kernel is told of what the alias took when it has its reply.
	before=$(stat -c %y "$C")
	rm "$M/T/R/f:q"
	settled time_moved
	moves "$M/T/R/f" rmdir "$C"
	moves "$M/T/R" rmdir "$M/T/R/f"
	moves "$M/T" mkdir "$M/T/S"
	moves "$M/T" mv "$M/T/S" "$M/T/U"
	moves "$M/T" rmdir "$M/T/R"
	moves "$M" rm -r "$M/T"
}

@test "a directory's time moves whoever takes an entry, and by whichever path" {
	a_column
	for t in 2 3 4; do echo "$t" > "$C/$t"; done
	moves "$C" "$CELLCTL" delete "$M" T R f:q 4
	before=$(stat -c %y "$C")
	printf 'R\tf:q\t3\t\tdelete\n' > "$M/T/.cells"
	settled time_moved
	moves "$C" rm "$M/T/.put/R/f/q/2"
	moves "$M/T/R/f" mkdir "$M/T/.put/R/f/p"
	moves "$M/T/R/f" rmdir "$M/T/.put/R/f/p"
	moves "$M/T/R" mkdir "$M/T/.put/R/g"
	moves "$M" "$CELLCTL" create "$M" U f
	moves "$M" "$CELLCTL" drop "$M" U
}

@test "a directory's time stays when an entry of another goes" {
	a_column
	mkdir "$M/T/R/f/p" "$M/T/S"
	echo x > "$C/1000"
	before=$(stat -c %y "$C" "$M/T/R/f/p" "$M/T/S")
	echo x > "$M/T/R/f/p/5000"
	rm "$M/T/R/f/p/5000"
	mkdir "$M/T/S/g"
	[ "$(stat -c %y "$C")" = "$(head -n 1 <<< "$before")" ]
	[ "$(stat -c %Y "$C")" -eq 1 ]
}

# RELEASE, which publishes what was only made, comes beside what follows close:
# vim makes a name so and removes it to see whether it may write there.
@test "a file that was just made and closed is there for mv, stat and rm" {
	a_row
	# Of a cluster each takes milliseconds.
	timeout 120 python3 - "$M/T/R/f" "${CELLFS_TEST_CLUSTER:+60}" <<-'EOF'
		import multiprocessing, os, sys
		def work(column):
		    os.makedirs(column)
		    for i in range(int(sys.argv[2] or 1000)):
		        made, moved = f"{column}/{4913 + i % 3}", f"{column}/7"
		        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
		        if i % 3 == 1:
		            os.rename(made, moved)
		            made = moved
		        elif i % 3 == 2:
		            assert os.stat(made).st_size == 0
		        os.unlink(made)
		    assert os.listdir(column) == []
		all = [multiprocessing.Process(target=work, args=(f"{sys.argv[1]}/{n}",))
		       for n in range(8)]
		for p in all: p.start()
		for p in all: p.join()
		sys.exit(any(p.exitcode for p in all))
		EOF
}
