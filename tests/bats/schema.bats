load helper

@test "of two who append to .schema none loses the other's family" {
	mkdir "$M/T"
	python3 - "$M/T/.schema" <<-'PY'
	import os, sys
	path = sys.argv[1]
	a = os.open(path, os.O_RDWR | os.O_APPEND)
	b = os.open(path, os.O_WRONLY | os.O_APPEND)
	size = os.fstat(a).st_size
	os.write(a, b"family a\n")
	assert os.fstat(a).st_size == size + 9
	assert os.pread(a, 9, size) == b"family a\n"
	os.write(b, b"family z\n")
	os.close(b)
	os.write(a, b"versions 7\n")
	os.close(a)
	PY
	(echo family b; echo versions 5) >> "$M/T/.schema"
	run ! bash -c "echo nonsense >> '$M/T/.schema'"
	[ "$(grep -A 1 "^family " "$M/T/.schema" | tr -d '\n\t-')" = \
		"family aversions 7family bversions 5family zversions 3" ]
}

@test "who changes a schema beside others takes nothing of theirs away" {
	a_row
	echo 'families open' >"$M/T/.schema"
	python3 - "$M/T" <<-'PY'
	import os, sys, threading
	table, n = sys.argv[1], 40
	failed = []
	def each(act):
	    def run():
	        for i in range(n):
	            try:
	                act(i)
	            except OSError as e:
	                failed.append(str(e))
	    return threading.Thread(target=run)
	def append(name):
	    def act(i):
	        with open(table + "/.schema", "ab", buffering=0) as f:
	            f.write(b"family %s%d\n" % (name, i))
	    return act
	def put(i):
	    with open(f"{table}/R/put{i}:q", "wb") as f:
	        f.write(b"x")
	acts = [each(append(b"one")), each(append(b"two")), each(put),
	        each(lambda i: os.mkdir(f"{table}/R/made{i}")),
	        each(lambda i: os.chmod(table, 0o750 + i % 2))]
	for act in acts:
	    act.start()
	for act in acts:
	    act.join()
	assert not failed, failed[0]
	text = open(table + "/.schema").read()
	for name in ("one", "two", "put", "made"):
	    assert text.count("family " + name) == n, (name, text.count(name))
	assert "mode 0751" in text
	PY
}

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

@test "what write has said of a bad line is still the last word after close" {
	mkdir "$M/T"
	run ! bash -c "printf 'family g\nttl 5s\nversions 0\n' > '$M/T/.schema'"
	tail -n 1 "$M/.cellfs/errors" | grep "write.*line 3: .*versions is at least 1"
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

@test "a family that is not named stays with its settings if it holds cells" {
	a_column
	printf 'family f\n\tversions 7\nfamily empty\n' > "$M/T/.schema"
	echo x > "$C/1"
	echo "family other" > "$M/T/.schema"
	[ "$(grep -c '^family' "$M/T/.schema")" -eq 2 ]
	grep -A1 -x "family f" "$M/T/.schema" | grep "versions 7"
	grep -qx "family other" "$M/T/.schema"
	[ "$(cat "$C/1")" = x ]
	# What is deleted is no reason to stay.
	rm "$C/1"
	echo "family other" > "$M/T/.schema"
	run ! grep -qx "family f" "$M/T/.schema"
}

@test "a family that is not named stays while a snapshot shows it" {
	not_over_hbase "a family that is dropped stays in its snapshots"
	a_column
	mkdir "$M/T/.snapshot/s"
	echo "family other" > "$M/T/.schema"
	grep -qx "family f" "$M/T/.schema"
	rmdir "$M/T/.snapshot/s"
	echo "family other" > "$M/T/.schema"
	run ! grep -qx "family f" "$M/T/.schema"
}

@test "drop family takes its data along" {
	a_row
	echo x > "$M/T/R/f:q"
	echo y > "$M/T/R/g:q"
	echo "drop family f" > "$M/T/.schema"
	run ! grep -qx "family f" "$M/T/.schema"
	grep -qx "family g" "$M/T/.schema"
	[ ! -e "$M/T/R/f:q" ]
	[ ! -e "$M/T/R/f/q" ]
	[ "$(cat "$M/T/R/g:q")" = y ]
	remount_store
	[ ! -e "$M/T/R/f:q" ]
	# A line more does it, too, and leaves all else as it is.
	printf 'family g\n\tversions 8\nfamily empty\n' > "$M/T/.schema"
	echo z > "$M/T/R/empty:q"
	rm "$M/T/R/empty:q"
	echo "drop family g" >> "$M/T/.schema"
	[ "$(grep '^family ' "$M/T/.schema")" = "family empty" ]
	[ ! -e "$M/T/R/g:q" ]
	# It comes back empty.
	echo "family f" > "$M/T/.schema"
	[ ! -e "$M/T/R/f:q" ]
}

@test "drop family is refused while a snapshot shows it, by the write" {
	not_over_hbase "a family that is dropped stays in its snapshots"
	a_row
	echo x > "$M/T/R/f:q"
	mkdir "$M/T/.snapshot/s"
	run ! bash -c "echo 'drop family f' > '$M/T/.schema'"
	[[ $output == *"write error"*"busy"* ]]
	tail -n 1 "$M/.cellfs/errors" | grep "snapshot s shows family f"
	rmdir "$M/T/.snapshot/s"
	[ "$(cat "$M/T/R/f:q")" = x ]
	echo 'drop family f' > "$M/T/.schema"
	[ ! -e "$M/T/R/f:q" ]
}

# refused TEXT WORDS: the write says so, nothing has changed, errors says WORDS.
refused() {
	cp "$M/T/.schema" "$T/before"
	run ! python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
try:
	os.write(fd, sys.argv[2].encode())
except OSError as e:
	sys.exit("write: " + e.strerror)
' "$M/T/.schema" "$1"
	[[ $output == "write: "* ]]
	tail -n 2 "$M/.cellfs/errors" | grep -- "$2"
	cmp "$T/before" "$M/T/.schema"
}

@test "every error of a schema is known at the write that brings it" {
	a_row
	echo x > "$M/T/R/f:q"
	refused $'family f\nversions many' "line 2.*'many'"
	refused $'family f\n\tttl 5' "line 2.*'5'"
	refused $'family f\nvers' "line 2.*unknown word 'vers'"
	refused 'family' "line 1.*needs a name"
	refused $'family f\nversions 2\nmin_versions 3' "line 3.*min_versions 3"
	refused $'family f\nmin_versions 3\nversions 2' "line 2.*min_versions 3"
	refused 'drop family g' "line 1.*no family 'g' to drop"
	refused 'drop table g' "line 1.*drop family NAME"
	refused $'drop family f\nfamily f' "line 2.*before drops"
	refused $'drop family f\ndrop family f' "line 2.*already"
	refused $'drop family f\nversions 3' "line 2.*belongs to a family"
	refused "$(seq -f 'family n%g' 256)" "at most 256 families"
}

@test "min_versions alone raises versions" {
	mkdir "$M/T"
	printf 'family f\nmin_versions 5\n' > "$M/T/.schema"
	grep -qx "	versions 5" "$M/T/.schema"
}

@test "a long schema comes in parts that end anywhere" {
	local bs
	mkdir "$M/T"
	awk 'BEGIN { for (i = 1; i <= 250; i++)
		printf "family n%d\n\tttl %ds\n\tversions %d\n", i, i, i }' \
		> "$T/long"
	for bs in 512 4096 10240; do
		dd if="$T/long" of="$M/T/.schema" bs=$bs status=none
		[ "$(grep -c '^family' "$M/T/.schema")" -eq 250 ]
		grep -A1 -x "family n249" "$M/T/.schema" | grep "versions 249"
		echo "family n1" > "$M/T/.schema"
	done
}

@test "several commands write one schema" {
	a_row
	echo x > "$M/T/R/f:q"
	(/bin/echo "drop family f"; /bin/echo "family g"; /bin/echo "versions 8") \
		> "$M/T/.schema"
	[ "$(grep '^family' "$M/T/.schema")" = "family g" ]
	grep -q "versions 8" "$M/T/.schema"
	[ ! -e "$M/T/R/f:q" ]
}

@test "a schema that is written in place is the whole schema" {
	mkdir "$M/T"
	printf 'family a\nfamily b\nfamily c\n' > "$M/T/.schema"
	# From the start on, with and without a truncation behind it.
	echo "family d" 1<> "$M/T/.schema"
	[ "$(grep '^family' "$M/T/.schema")" = "family d" ]
	python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
os.write(fd, b"family e\n")
os.write(fd, b"family f\n")
os.ftruncate(fd, 18)
os.close(fd)' "$M/T/.schema"
	[ "$(grep '^family ' "$M/T/.schema" | tr '\n' ' ')" = "family e family f " ]
	# What is added is judged with what is there.
	echo "family g" >> "$M/T/.schema"
	[ "$(grep -c '^family ' "$M/T/.schema")" -eq 3 ]
	run ! bash -c "echo 'family g' >> '$M/T/.schema'"
	[[ $output == *"write error"* ]]
	# An editor that changes bytes in place.
	python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
text = os.read(fd, 10000)
os.pwrite(fd, b"9", text.index(b"versions 3") + 9)
os.close(fd)' "$M/T/.schema"
	[ "$(grep '	versions ' "$M/T/.schema" | tr -d '\n')" = \
		"	versions 9	versions 3	versions 3" ]
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
	[[ $output == *"File too large"* ]]
	tail -n 1 "$M/.cellfs/errors" | grep -q "EFBIG: .* at most 4 bytes (max_value)"
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

@test "strict_attr refuses chmod, and each way to set times, beneath a table" {
	local how

	remount_store -o strict_attr
	a_column
	echo x > "$C/5"
	run ! chmod 600 "$C/5"
	run ! chown "$(id -u)" "$C/5"
	[[ $output == *"not permitted"* ]]
	for how in -m -a '-m -d @1000' '-a -d @1000'; do
		# shellcheck disable=SC2086
		run ! touch $how "$C/5"
		[[ $output == *"not permitted"* ]]
	done
	chmod 750 "$M/T"
}

@test "strict_attr refuses nothing that changes something" {
	remount_store -o strict_attr
	a_column
	echo long >"$C/5"
	truncate -s 2 "$C/5"
	[ "$(cat "$C/5")" = lo ]
	: >"$C/5"
	[ ! -s "$C/5" ]
	echo x >"$M/T/R/.note"
	chmod 640 "$M/T/R/.note"
	touch -d @1000 "$M/T/R/.note"
	[ "$(stat -c '%a %Y' "$M/T/R/.note")" = "640 1000" ]
	mv "$M/T/R/.note" "$M/T/R/f:q"
	[ "$(cat "$M/T/R/f:q")" = x ]
}

@test "vim edits a schema" {
	a_column
	vim.tiny -es -c '%s/\<versions 3/versions 7/' -c wq "$M/T/.schema" \
		< /dev/null
	grep -q "versions 7" "$M/T/.schema"
	[ "$(ls -A "$M/T" | grep -v '^.schema$')" = R ]
}

# of_maker CODE: runs it in Python; t is the path of a table that it has made.
of_maker() {
	run -0 python3 -c 'import os, sys
t = sys.argv[1] + "/New"
os.mkdir(t)
exec(sys.argv[2])' "$M" "$1"
}

@test "who makes a table finds its schema at once, however it looks" {
	of_maker 'print(open(t + "/.schema").read())'
	[[ $output == "families open"* ]]
	rm -r "$M/New"
	of_maker 'print(os.stat(t + "/.schema").st_size, os.listdir(t))'
	[[ $output == *"['.schema']" ]]
	rm -r "$M/New"
	of_maker 'print(os.path.exists(t + "/.schema"))'
	[ "$output" = True ]
	rm -r "$M/New"
	of_maker 'os.stat(t); print(os.access(t + "/.schema", os.R_OK))'
	[ "$output" = True ]
	rm -r "$M/New"
	of_maker 'd = os.open(t, os.O_RDONLY); os.stat(d)
print(os.path.exists(t), os.stat(".schema", dir_fd=d).st_nlink)'
	[ "$output" = "True 1" ]
	rm -r "$M/New"
	of_maker 'os.chdir(t); os.stat("."); print(len(open(".schema").read()) > 10)'
	[ "$output" = True ]
	rm -r "$M/New"
	of_maker 'os.rename(t + "/.schema", t + "/.aside.tmp"); print(os.listdir(t))'
	[[ $output == *.aside.tmp* ]]
	rm -r "$M/New"
	# What is renamed to it is not taken for a new file.
	of_maker 'open(t + "/.s.tmp", "w").write("family r")
os.rename(t + "/.s.tmp", t + "/.schema"); print(os.listdir(t))'
	grep -qx "family r" "$M/New/.schema"
	[ "$output" = "['.schema']" ]
	rm -r "$M/New"
	# The first look is to make it, and it is there for the second.
	of_maker 'os.close(os.open(t + "/.schema", os.O_CREAT | os.O_EXCL))
print(os.path.exists(t + "/.schema"))
try:
	os.open(t + "/.schema", os.O_CREAT | os.O_EXCL)
except FileExistsError:
	print("exists")'
	[ "$output" = "True
exists" ]
	rm -r "$M/New"
	of_maker 'd = os.open(t, os.O_RDONLY); os.stat(d)
f = os.open(".schema", os.O_CREAT | os.O_EXCL | os.O_WRONLY, dir_fd=d)
os.write(f, b"family f"); os.close(f)
print(open(t + "/.schema").readline())'
	[ "$output" = "families fixed" ]
}

@test "a schema that was removed is absent until it is made, and comes back" {
	mkdir "$M/T"
	echo "family f" > "$M/T/.schema"
	rm "$M/T/.schema"
	[ ! -e "$M/T/.schema" ]
	[ -z "$(ls -A "$M/T")" ]
	# What it says holds.
	run ! mkdir -p "$M/T/R/g"
	(set -C; echo "family h" > "$M/T/.schema")
	[ "$(grep '^family ' "$M/T/.schema")" = "family h" ]
	[ "$(ls -A "$M/T" | tr '\n' ' ')" = ".schema R " ]
	run ! bash -c "set -C; echo 'family i' > '$M/T/.schema'"
	[[ $output == *"cannot overwrite"* ]]
	rm "$M/T/.schema"
	remount_store
	[ "$(grep '^family ' "$M/T/.schema")" = "family h" ]
}

@test "a schema that nobody wrote is as old as can be" {
	mkdir -p "$M/T/R/f"
	[ "$(stat -c %Y "$M/T/.schema")" -eq 0 ]
	echo "family f" > "$M/T/.schema"
	[ "$(stat -c %Y "$M/T/.schema")" -gt 1600000000 ]
	remount_store
	[ "$(stat -c %Y "$M/T/.schema")" -gt 1600000000 ]
}

@test "a schema is changed while writers wait for memory to be flushed" {
	not_over_hbase "its servers have the memory"
	local n=1 turn writer
	remount_store -o write_buffer=256K
	mkdir "$M/T" "$M/U"
	awk 'BEGIN { v = sprintf("%4000s", "x"); gsub(" ", "x", v)
		for (i = 0; i < 2000; i++)
			printf "r%06d\tf:q\t\t%s\n", i, v }' > "$T/cells"
	# Until some are changed beside one writer.
	for turn in {1..10}; do
		n=1
		timeout -k 1 100 cp "$T/cells" "$M/T/.cells" 3>&- &
		writer=$!
		while kill -0 $writer 2>/dev/null; do
			# Never whole minutes, which would be shown as such.
			n=$((n + 60))
			timeout -k 1 50 bash -c "printf 'family g\n\tttl ${n}s\n' \
				> '$M/U/.schema'" || { kill -9 "$DAEMON"; false; }
		done
		wait $writer
		[ "$n" -le 61 ] || break
	done
	[ "$n" -gt 61 ]
	grep -q "ttl ${n}s" "$M/U/.schema"
	[ "$(ls "$M/T" | wc -l)" -eq 2000 ]
}

@test "an empty text of a schema changes nothing, and the reason is kept" {
	mkdir "$M/T"
	printf 'family f\n\tversions 7\nfamily g\n' > "$M/T/.schema"
	cp "$M/T/.schema" "$T/before"
	: > "$M/T/.schema"
	settled grep -q 'EINVAL: an empty schema' "$M/.cellfs/errors"
	cmp "$T/before" "$M/T/.schema"
}
