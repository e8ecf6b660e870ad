load helper

@test "mkdir of a family declares it in an open table" {
	a_row
	mkdir "$M/T/R/f"
	grep -qx "family f" "$M/T/.schema"
	grep -qx "families open" "$M/T/.schema"
}

@test "writing .schema fixes the families" {
	mkdir "$M/T"
	printf 'family f\n\tversions 5\n' > "$M/T/.schema"
	grep -qx "families fixed" "$M/T/.schema"
	grep -q "versions 5" "$M/T/.schema"
}

@test "a schema that says so stays open" {
	mkdir "$M/T"
	printf 'families open\nfamily f\n' > "$M/T/.schema"
	grep -qx "families open" "$M/T/.schema"
	mkdir -p "$M/T/R/g"
}

@test "a bad line is refused at write, changes nothing, and is explained" {
	mkdir "$M/T"
	echo "family f" > "$M/T/.schema"
	cp "$M/T/.schema" "$T/before"
	run ! bash -c "printf 'family g\n\tversions many\n' > '$M/T/.schema'"
	[[ $output == *"Invalid argument"* ]]
	cmp "$T/before" "$M/T/.schema"
	grep -q "line 2" "$M/.cellfs/errors"
}

@test "close says what write has said of a bad line" {
	mkdir "$M/T"
	run ! bash -c "printf 'family g\nttl 5s\nversions 0\n' > '$M/T/.schema'"
	tail -n 1 "$M/.cellfs/errors" | grep "close.*line 3: .*versions is at least 1"
}

@test "lines of a family may come in any order" {
	mkdir "$M/T"
	(echo "family f"; echo "min_versions 5"; echo "versions 9") \
		> "$M/T/.schema"
	grep -q "min_versions 5" "$M/T/.schema"
	grep -q "versions 9" "$M/T/.schema"
}

@test "sed -i changes an attribute" {
	a_column
	for i in 1 2 3; do echo $i > "$C/$i"; done
	sed -i 's/\<versions 3/versions 2/' "$M/T/.schema"
	grep -q "versions 2" "$M/T/.schema"
	[ "$(versions "$C")" -eq 2 ]
}

@test "a family that holds cells cannot be dropped" {
	a_column
	echo x > "$C/1"
	cp "$M/T/.schema" "$T/before"
	run ! cp <(echo "family other") "$M/T/.schema"
	cmp "$T/before" "$M/T/.schema"
	[ "$(cat "$C/1")" = x ]
}

@test "reading .schema and writing it back changes nothing" {
	a_column
	cp "$M/T/.schema" "$T/s"
	cp "$T/s" "$M/T/.schema"
	cmp "$T/s" "$M/T/.schema"
}

@test "max_value of the schema bounds values" {
	mkdir -p "$M/T/R"
	printf 'family f\n\tmax_value 4\n' > "$M/T/.schema"
	printf 1234 > "$M/T/R/f:q"
	run ! bash -c "printf 12345 > '$M/T/R/f:q'"
	[[ $output == *"File too large"* ]]
	run ! bash -c "printf 5 >> '$M/T/R/f:q'"
	[ "$(cat "$M/T/R/f:q")" = 1234 ]
}

@test "chmod and chown of a table persist and hold beneath" {
	a_column
	echo x > "$C/1"
	chmod 750 "$M/T"
	[ "$(stat -c %a "$M/T/R")" = 750 ]
	settled [ "$(stat -c %a "$C/1")" = 640 ]
	remount_store
	[ "$(stat -c %a "$M/T")" = 750 ]
	grep -q "mode 0750" "$M/T/.schema"
}

@test "chmod, chown and touch beneath a table change nothing" {
	a_column
	echo x > "$C/5"
	chmod 600 "$C/5"
	chmod 700 "$C"
	touch -d @1000 "$C/5"
	[ "$(stat -c '%a %.3Y' "$C/5")" = "644 0.005" ]
}

@test "strict_attr refuses chmod beneath a table" {
	remount_store -o strict_attr
	a_column
	echo x > "$C/5"
	run ! chmod 600 "$C/5"
	chmod 750 "$M/T"
}

@test "vim edits a schema" {
	a_column
	vim.tiny -es -c '%s/\<versions 3/versions 7/' -c wq "$M/T/.schema" \
		< /dev/null
	grep -q "versions 7" "$M/T/.schema"
	[ "$(ls -A "$M/T" | grep -v '^.schema$')" = R ]
}
