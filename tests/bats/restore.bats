load helper

# A backup, put back by whatever people use for that, is the same tables: each
# way is compared by what `cellctl export` says, schemas and all.

# The tables of the backup $B: one with settings of its own, which keeps more
# versions than a table does by itself, and one whose schema nobody wrote.
fill() {
	local i
	mkdir -p "$M/A/r1" "$M/A/r2" "$M/plain/r/f/q"
	cat > "$M/A/.schema" <<-'EOF'
		family f
			versions 20
		family g
			ttl 24000d
			compression zlib
	EOF
	mkdir -p "$M/A/r1/f/q"
	for i in $(seq 12); do
		echo "$i" > "$M/A/r1/f/q/10$i"
	done
	echo x > "$M/A/r2/f:a"
	echo y > "$M/A/r2/g:b"
	echo z > "$M/plain/r/f/q/1"
	chmod 750 "$M/A"
	B=$T/backup
	mkdir "$B"
	cp -a "$M/A" "$M/plain" "$B/"
	unmount_store
	said > "$T/want"
}

# said: the content of the store, to be compared.
said() {
	local t
	for t in A plain; do
		"$CELLCTL" export "$STORE" $t
	done
}

# names first|last: what is in the backup, the schemas at that end of it.
names() {
	cd "$B" || return
	find A plain -type d | sort
	[ "$1" = last ] || find A plain -name .schema
	find A plain -type f ! -name .schema | sort
	[ "$1" = first ] || find A plain -name .schema
}

# each FUNCTION...: every way of restoring, each into a store of its own.
each() {
	local way n=0 failed=0
	fill
	names first > "$T/first.list"
	names last > "$T/last.list"
	for way; do
		n=$((n + 1))
		new_store "s$n"
		mount_store || return
		if ! (set -e; cd "$B"; "$way") > "$T/out" 2>&1; then
			failed=1
			echo "$way fails:"
			cat "$T/out"
		fi
		unmount_store || return
		said | diff "$T/want" - > "$T/diff" || {
			failed=1
			echo "$way differs:"
			cat "$T/diff"
		}
	done
	mount_store
	[ "$failed" -eq 0 ]
}

# tape ORDER: a tar archive in that order.
tape() { tar --no-recursion -cf - -T "$T/$1.list"; }

cp_a() { cp -a . "$M"; }
cp_r() { cp -r . "$M"; chmod 750 "$M/A"; }
cp_au() { cp -au . "$M"; }
cp_an() { cp -an . "$M"; }
cp_remove() { cp -a --remove-destination . "$M"; }
cp_over() { mkdir "$M/A" "$M/plain"; cp -a . "$M"; }
cp_remove_over() { mkdir "$M/A"; cp -a --remove-destination . "$M"; }
cp_twice() { cp -a . "$M"; cp -a . "$M"; }
cp_update_over() { mkdir "$M/A"; cp -au . "$M"; }
cp_last() {
	(cd "$T" && rm -rf other && cp -a backup other)
	cp -p "$T/other/A/.schema" "$T/other/A/x"
	mv "$T/other/A/x" "$T/other/A/.schema"
	cp -a "$T/other/." "$M"
}
mv_there() {
	(cd "$T" && rm -rf other && cp -a backup other)
	mv "$T/other/A" "$T/other/plain" "$M"
}
mv_schema() {
	cp -a . "$M"
	echo "family f" > "$M/A/.schema"
	cp -p A/.schema "$T/s"
	mv "$T/s" "$M/A/.schema"
}
with_install() {
	mkdir -m 750 "$M/A"
	install -m 644 A/.schema "$M/A/.schema"
	cp -a . "$M"
}

@test "cp, mv and install put a backup back as it was" {
	each cp_a cp_r cp_au cp_an cp_remove cp_over cp_remove_over cp_twice \
		cp_update_over cp_last mv_there mv_schema with_install
}

rsync_a() { rsync -a ./ "$M/"; }
rsync_inplace() { rsync -a --inplace ./ "$M/"; }
rsync_inplace_over() { rsync -a ./ "$M/"; rsync -aI --inplace ./ "$M/"; }
rsync_existing() { rsync -a --ignore-existing ./ "$M/"; }
rsync_update() { rsync -au ./ "$M/"; }
rsync_append() { rsync -a --append ./ "$M/"; }
rsync_append_verify() { rsync -a --append-verify ./ "$M/"; }
rsync_delay() { rsync -a --delay-updates ./ "$M/"; }
rsync_checksum() { rsync -ac ./ "$M/"; }
rsync_last() {
	rsync -a --exclude=.schema ./ "$M/"
	rsync -a ./ "$M/"
}

@test "rsync puts a backup back as it was" {
	each rsync_a rsync_inplace rsync_inplace_over rsync_existing \
		rsync_append rsync_append_verify rsync_update rsync_delay \
		rsync_checksum rsync_last
}

tar_first() { tape first | tar xf - -C "$M"; }
tar_last() { tape last | tar xf - -C "$M"; }
tar_twice() { tar_first; tar_last; }
tar_newer() { tape first | tar xf - --keep-newer-files -C "$M"; }
tar_newer_last() { tape last | tar xf - --keep-newer-files -C "$M"; }
tar_overwrite() { tape first | tar xf - --overwrite -C "$M"; }
tar_unlink() { tape last | tar xf - --unlink-first -C "$M"; }
tar_keep() { tape first | tar xf - --keep-old-files -C "$M"; }
bsdtar_first() { tape first | bsdtar xf - -C "$M"; }
bsdtar_last() { tape last | bsdtar xf - -C "$M"; }
bsdtar_twice() { bsdtar_first; bsdtar_last; }

@test "tar and bsdtar put a backup back as it was" {
	each tar_first tar_last tar_twice tar_newer tar_newer_last \
		tar_overwrite tar_unlink tar_keep bsdtar_first bsdtar_last \
		bsdtar_twice
}

# The pipe's tape: newc keeps what is needed.
cpio_o() { cpio -o -H newc --quiet < "$T/$1.list"; }
cpio_i() { cpio_o first | (cd "$M" && cpio -idm --quiet); }
cpio_i_last() { cpio_o last | (cd "$M" && cpio -idm --quiet); }
cpio_iu() { cpio_o first | (cd "$M" && cpio -idmu --quiet); }
cpio_iu_twice() { cpio_iu; cpio_o last | (cd "$M" && cpio -idmu --quiet); }
cpio_p() { cpio -pdm --quiet "$M" < "$T/first.list"; }
cpio_pu_last() { cpio -pdmu --quiet "$M" < "$T/last.list"; }
unzip_o() {
	rm -f "$T/a.zip"
	zip -qr "$T/a.zip" A plain
	unzip -qo "$T/a.zip" -d "$M"
	chmod 750 "$M/A"
}

@test "cpio and unzip put a backup back as it was" {
	each cpio_i cpio_i_last cpio_iu cpio_iu_twice cpio_p cpio_pu_last \
		unzip_o
}

# Into $M/A, whose schema is longer than that of the backup.
with_tar() { tape first | tar xf - -C "$M" A/.schema; }
with_bsdtar() { tape first | bsdtar xf - -C "$M" A/.schema; }
with_cpio() { echo A/.schema | cpio -pmu --quiet "$M"; }
with_cp() { cp A/.schema "$M/A/.schema"; }
with_cp_remove() { cp --remove-destination A/.schema "$M/A/.schema"; }
with_cp_force() { cp -pf A/.schema "$M/A/.schema"; }
with_mv() {
	cp -p A/.schema "$T/s"
	mv "$T/s" "$M/A/.schema"
}
with_installed() { install -m 644 A/.schema "$M/A/.schema"; }
with_rsync() { rsync -aI A/.schema "$M/A/.schema"; }
with_rsync_inplace() { rsync -aI --inplace A/.schema "$M/A/.schema"; }
with_dd() { dd if=A/.schema of="$M/A/.schema" status=none; }
with_dd_notrunc() { dd if=A/.schema of="$M/A/.schema" conv=notrunc status=none; }
with_unlink() {
	rm "$M/A/.schema"
	cat A/.schema > "$M/A/.schema"
}
with_rename() {
	cp A/.schema "$M/A/.schema.tmp"
	mv "$M/A/.schema.tmp" "$M/A/.schema"
}

@test "every tool replaces a schema by a shorter one" {
	local way
	fill
	names first > "$T/first.list"
	new_store other
	mount_store
	cp -a "$B/A" "$M"
	for way in tar bsdtar cpio cp cp_remove cp_force mv installed rsync \
		rsync_inplace dd dd_notrunc unlink rename; do
		seq -f 'family n%g' 20 > "$M/A/.schema"
		run ! cmp -s "$B/A/.schema" "$M/A/.schema"
		echo "$way"
		(cd "$B" && "with_$way")
		diff "$B/A/.schema" "$M/A/.schema"
	done
	# The cells have not lost anything meanwhile.
	printf 'family f\nversions 20\n' > "$M/A/.schema"
	[ "$(versions "$M/A/r1/f/q")" -eq 12 ]
}
