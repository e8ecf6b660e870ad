load helper

setup() {
	T=$BATS_TEST_TMPDIR
	M=$T/mnt
	export STORE=$T/store LOG=$T/log
	mount_store -o show_control
	mkdir -p "$M/T/r/f"
	echo one > "$M/T/r/f:q"
}

names() {
	ls -A -U "$1" | tr '\n' ' '
}

# lists DIR NAME...: among what is listed.
lists() {
	local name
	for name in "${@:2}"; do
		ls -A "$1" | grep -qxF -e "$name" || {
			echo "$1 does not list $name" >&2
			return 1
		}
	done
}

@test "the root lists .cellfs and .snapshot before the tables" {
	[ "$(names "$M")" = ".cellfs .snapshot T " ]
	mkdir "$M/.snapshot/s"
	[ "$(names "$M/.snapshot")" = "s " ]
}

@test "a table lists its views and what else it has" {
	lists "$M/T" .after .at .between .cells .first .info .last .prefix .range \
		.raw .schema .since .snapshot .stage r
	[ "$(names "$M/T/.range")" = "" ]
}

@test "rows, families and columns list what they have" {
	[ "$(names "$M/T/r")" = ".at .between .cells .raw .since f " ]
	lists "$M/T/r/f" .after .at .between .cells .first .prefix .range \
		.raw .since q
	lists "$M/T/r/f/q" counter latest
	[ "$(ls "$M/T/r/f/q" | wc -l)" -eq 3 ]
	echo two > "$M/T/r/f:q"
	lists "$M/T/r/f/q" @-1 counter latest
}

@test "a view lists the views that go with it" {
	lists "$M/T/.range/a.." .at .cells .raw .first r
	run ! lists "$M/T/.range/a.." .schema
	run ! lists "$M/T/.range/a.." .stage
	run ! lists "$M/T/.range/a.." .info
	run ! lists "$M/T/.at/now" .raw
	run ! lists "$M/T/.raw" .raw
	mkdir "$M/T/.snapshot/s"
	lists "$M/T/.snapshot/s" .schema .range
	run ! lists "$M/T/.snapshot/s" .snapshot
	run ! lists "$M/T/.snapshot/s" .stage
	[ "$(names "$M/T/.at/now/r/f")" = \
		"$(names "$M/T/.since/0/.at/now/r/f")" ]
}

@test "what is listed can be looked up, wherever a walk comes" {
	mkdir "$M/T/.snapshot/s" "$M/.snapshot/all"
	echo two > "$M/T/r/f:q"
	rm "$M/T/r/f/q/latest"
	find "$M" > "$T/found"
	[ "$(wc -l < "$T/found")" -gt 100 ]
	while read -r path; do
		stat "$path" > /dev/null
	done < "$T/found"
	ls -lR "$M" > /dev/null
	local dir
	for dir in "$M" "$M/T" "$M/T/r" "$M/T/r/f" "$M/T/r/f/q"; do
		[ "$(ls "$dir" | sort | uniq -d)" = "" ]
	done
}

@test "without it none of them is listed" {
	remount_store
	[ "$(names "$M")" = "T " ]
	[ "$(names "$M/T")" = ".schema r " ]
	[ "$(names "$M/T/r")" = "f " ]
	[ "$(names "$M/T/r/f")" = "q " ]
	[ "$(ls "$M/T/r/f/q" | wc -l)" -eq 1 ]
}

@test "a long directory is listed whole behind the control names" {
	mkdir "$M/W"
	seq -f 'W%06g	f:q		x' 1 3000 |
		tr ' ' '\t' > "$M/W/.cells"
	[ "$(ls "$M/W" | grep -c ^W)" -eq 3000 ]
	[ "$(ls -l "$M/W" | grep -c W0)" -eq 3000 ]
}
