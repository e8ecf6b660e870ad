# Directories of data: of memory while they hold no cell, of the store while
# they hold one, and what is seen while they go over from one to the other.

load helper

TREERACE=$BUILD/tests/treerace

@test "directories stay and are listed, whatever is put and deleted beside" {
	mkdir "$M/T"
	"$TREERACE" --seconds "${CELLFS_SECONDS:-2}" "$M/T"
}

@test "they do in a table whose cells expire, where nothing is cached" {
	mkdir "$M/T"
	printf 'family f\n\tttl 1d\nfamily g\n\tttl 1d\n' > "$M/T/.schema"
	"$TREERACE" --seconds "${CELLFS_SECONDS:-1}" "$M/T"
}

@test "they do while the kernel forgets what nobody uses" {
	drop_caches_from_now_on
	mkdir "$M/T"
	"$TREERACE" --seconds "${CELLFS_SECONDS:-2}" "$M/T" &
	while kill -0 $! 2>/dev/null; do
		echo 2 >/proc/sys/vm/drop_caches
		sleep 0.01
	done
	wait $!
}

@test "what was removed in any way can be put again in any way" {
	python3 "$BATS_TEST_DIRNAME/../mount/comeback.py" "$CELLCTL" "$M"
}

# take HOW: the cells of T/R go, by another path than their files.
take() {
	case $1 in
	line) printf 'R\tf:q\t\t\tdelete-column\n' > "$M/T/.cells" ;;
	row) printf 'R\t\t\t\tdelete-row\n' > "$M/T/.cells" ;;
	program) "$CELLCTL" deleteall "$M" T R ;;
	table) "$CELLCTL" truncate "$M" T ;;
	family) echo 'drop family f' >> "$M/T/.schema" ;;
	ttl)
		printf 'R\tf:q\t\t%b\n' '\tdelete-column' 'x\tput\t300' > "$M/T/.cells"
		settled [ ! -e "$M/T/.put/R/f:q" ]
		;;
	esac
}

@test "what is only in memory keeps its path, whoever takes the cells beside it" {
	local how

	mkdir "$M/T"
	for how in line row program table family ttl; do
		mkdir -p "$M/T/R/f/made"
		echo x > "$M/T/R/f:q"
		mkdir "$M/T/R/g"
		take "$how"
		[ "$(cd "$M/T" && find R | sort | xargs)" = "R R/f R/f/made R/g" ]
		[ "$(ls "$M/T")" = R ]
		[ "$(ls "$M/T/.put/R/f")" = made ]
		rmdir "$M/T/R/f/made" "$M/T/R/f" "$M/T/R/g" "$M/T/R"

		mkdir -p "$M/T/R"
		echo x > "$M/T/R/f:q"
		echo mine > "$M/T/R/.tmp"
		mv "$M/T/R/.tmp" "$M/T/R/f/q"
		take "$how"
		[ "$(cat "$M/T/R/f/q/.tmp")" = mine ]
		rm -r "$M/T/R"

		# In .put there are all rows, and none is listed.
		echo x > "$M/T/.put/R/f:q"
		echo mine > "$M/T/.put/R/.tmp"
		take "$how"
		echo mine > "$M/T/.put/R/.tmp2"
		[ "$(cat "$M/T/.put/R/.tmp")" = mine ]
		[ -z "$(ls "$M/T")$(ls "$M/T/.put")" ]
		rm "$M/T/.put/R/.tmp" "$M/T/.put/R/.tmp2"

		# Of a row no family is in .put but those it has, and what is there.
		echo x > "$M/T/.put/R/f:q"
		echo mine > "$M/T/.put/R/f/q/.tmp"
		take "$how"
		[ "$(cd "$M/T/.put" && find R | xargs)" = "R R/f R/f/q R/f/q/.tmp" ]
		[ "$(cat "$M/T/.put/R/f/q/.tmp")" = mine ]
		[ -z "$(ls "$M/T")" ]
		rm -r "$M/T/.put/R/f"
		[ -z "$(ls "$M/T/.put/R")" ]

		# Of a column that rm emptied, until rmdir of any above it.
		mkdir "$M/T/R"
		echo x > "$M/T/R/f:p"
		echo x > "$M/T/R/f:q"
		rm "$M/T/R/f:p"
		take "$how"
		[ "$(ls "$M/T/R/f")" = p ]
		rmdir "$M/T/R"

		# Where nothing is in memory, or is any more, all goes.
		mkdir "$M/T/R"
		echo x > "$M/T/R/f:q"
		mkdir "$M/T/R/f/p" "$M/T/R/f/o"
		mv "$M/T/R/f/o" "$M/T/R/f/n"
		rmdir "$M/T/R/f/p" "$M/T/R/f/n"
		echo y > "$M/T/R/f/q/.tmp"
		rm "$M/T/R/f/q/.tmp"
		echo y > "$M/T/R/f/q/.tmp"
		mv "$M/T/R/f/q/.tmp" "$M/T/R/.tmp"
		mv "$M/T/R/.tmp" "$M/T/R/f/q/$(ls "$M/T/R/f/q")"
		ls -R "$M/T" > /dev/null
		take "$how"
		[ -z "$(ls "$M/T")" ]
		echo x > "$M/T/.put/R/f:z"
		[ "$(ls "$M/T/R/f")" = z ]
		rm -r "$M/T/R"
	done
}

@test "what is in .put keeps its path when the table's directories are removed" {
	mkdir -p "$M/T/R/f/q" "$M/T/.put/S/f/q"
	echo mine > "$M/T/.put/R/f/q/.tmp"
	mkdir "$M/T/.put/S/f/.dir"
	rmdir "$M/T/R/f/q" "$M/T/R/f" "$M/T/R"
	rm -r "$M/T/S"
	[ -z "$(ls "$M/T")" ]
	run ! rmdir "$M/T/.put/R/f/q"
	[ "$(cat "$M/T/.put/R/f/q/.tmp")" = mine ]
	[ "$(ls -A "$M/T/.put/S/f")" = .dir ]
	# As any directory, it stays until rmdir.
	rm "$M/T/.put/R/f/q/.tmp"
	rmdir "$M/T/.put/S/f/.dir" "$M/T/.put/S/f" "$M/T/.put/R/f/q"
	[ "$(cd "$M/T/.put" && find R S | xargs)" = "R R/f S" ]
	rm -r "$M/T/.put/R/f"
	[ -z "$(ls -A "$M/T/.put/R")" ]
}

@test "one that a line filled goes with its cells, once a file of it was removed" {
	local how

	for how in "rm $M/T/R/f/q/1" "mv $M/T/R/f/q/1 $M/T/R/f:p"; do
		mkdir -p "$M/T/R/f/q"
		printf 'R\tf:q\t%d\tx\n' 1 2 > "$M/T/.cells"
		$how
		take row
		[ -z "$(ls "$M/T")" ]
	done
}

@test "a directory that was being listed when it was filled goes with its cells, too" {
	mkdir -p "$M/T/R/f"
	python3 -c 'for i in range(5000): print(f"R\tf:c{i:05}\t1\tx")' > "$M/T/.cells"
	python3 - "$M/T" <<'PY'
import os, sys
table = sys.argv[1]
family = f"{table}/R/f"

def take(name):
    with open(f"{table}/.cells", "w") as file:
        file.write(f"R\tf:{name}\t1\t\tdelete\n")

def fill(name):
    with open(f"{family}/{name}/1", "w") as file:
        file.write("x")

def is_there(name):
    return name in os.listdir(family)

for name in ["after", "before", "again", "emptied"]:
    os.mkdir(f"{family}/{name}")
with os.scandir(family) as listing:
    next(listing)
    for name in ["after", "before", "again", "emptied"]:
        fill(name)
    take("before")
    # A file of its own that is removed leaves the directory, as ever.
    os.unlink(f"{family}/emptied/1")
assert not is_there("before")
assert is_there("after")
take("after")
assert not is_there("after")
assert not os.path.exists(f"{family}/after")
take("again")
os.mkdir(f"{family}/again")
assert is_there("again") and is_there("emptied")
os.rmdir(f"{family}/again")
os.rmdir(f"{family}/emptied")
assert len(os.listdir(family)) == 5000
PY
}
