# bench-mount: each of its steps runs on each target and gives a figure. Nothing
# here asks how large a figure is.
load helper

@test "bench-mount has a figure for each step and target" {
	"$BATS_TEST_DIRNAME/../../tools/bench-mount" "$BUILD" "$T" --runs 2 \
		--rows 40 --flat 40 --tree 5 --wide 2 \
		--targets null,cellfs,cellfs+sync \
		--beside other="$BUILD" --json "$T/figures" > "$T/table"
	"$BATS_TEST_DIRNAME/../../tools/bench-mount" "$BUILD" "$T" --list > "$T/list"
	[ "$(wc -l < "$T/list")" -gt 30 ]
	jq -r keys_unsorted[] "$T/figures" | sort > "$T/labels"
	sort "$T/list" | diff - "$T/labels"
	grep -q '| to other (wanted) |' "$T/table"
	jq -e 'all(.[]; (keys == ["cellfs", "cellfs+sync", "null", "other"]) and
		all(.[]; length == 2 and all(.[]; .us > 0 and .count > 0)))' \
		"$T/figures"
	while read -r label; do
		grep -qF "| $label | " "$T/table"
	done < "$T/list"
	# Neither mounts nor files stay behind.
	run ! mountpoint -q "$T/bench-mount/null/at"
	[ -z "$(ls "$T/bench-mount")" ]
}

@test "bench-mount fails with words when a step fails" {
	run ! "$BATS_TEST_DIRNAME/../../tools/bench-mount" "$BUILD" "$T" --runs 1 \
		--rows 1 --targets cellfs,nosuch
	[[ "$output" == *"no such target: nosuch"* ]]
	run ! "$BATS_TEST_DIRNAME/../../tools/bench-mount" "$BUILD" "$T" \
		--beside "$BUILD"
	[[ "$output" == *"--beside takes NAME=BUILD, not $BUILD"* ]]
	run ! "$BUILD/tools/mount-calls" "$T/nothing" rows 3 stat
	[[ "$output" == *"nothing/r0000"*"/f:q: stat: No such file or directory"* ]]
	run -2 "$BUILD/tools/mount-calls" "$T" rows 3 nosuch
}

@test "the null filesystem keeps what it is given" {
	mkdir "$T/null"
	"$BUILD/tools/mount-null" "$T/null"
	mkdir -p "$T/null/a/b" "$T/tree/a/b"
	for d in "$T/null" "$T/tree"; do
		seq 30000 > "$d/a/b/numbers"
		echo x >> "$d/a/b/numbers"
		echo y > "$d/a/y"
		mv "$d/a/y" "$d/a/b/z"
		truncate -s 10 "$d/a/b/z"
	done
	diff -r "$T/tree" "$T/null"
	run ! rmdir "$T/null/a"
	rm -r "$T/null/a"
	[ -z "$(ls -A "$T/null")" ]
	fusermount3 -u "$T/null"
}
