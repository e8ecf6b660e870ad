#!/usr/bin/env bash
# Plants one bug after the other into a copy of the sources; the test that is
# named beside each must fail. A bug that no longer fits the sources is a
# failure too.
#
#	tests/long/mutants.sh [PATTERN]		those whose words match
# shellcheck disable=SC2016
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
pattern=${1:-}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
bad=0 caught=0

say() {
	printf '%-8s %s\n' "$1" "$2"
}

# What the tests below run.
declare -A targets=(
	[build-asan]="fs/cellfs tools/cellctl tests/cellfs-cut tests/posixtest tests/test-os_calls tests/test-repair tests/test-catalog_crash tests/test-catalog_damage tests/test-engine tests/test-engine_tables tests/test-wal tests/test-no_memory tests/test-no_memory_check tests/test-no_memory_ops tests/test-ops_believed tests/test-ops_beside tests/test-ops_rename tests/test-damage tests/test-engine_background tests/test-shape tests/library/test-library_tables"
	[build-tsan]="tests/test-pins"
)

build() {
	# shellcheck disable=SC2086
	ninja -C "$copy/$1" ${targets[$1]} >"$copy/log" 2>&1 || {
		tail -n 20 "$copy/log"
		return 1
	}
}

# runs TEST: bats FILE NAME, or meson DIR PROGRAM.
runs() {
	case $1 in
	bats)
		BUILD=$copy/build-asan timeout -k 10 300 \
			bats -f "$3" "$copy/tests/bats/$2.bats"
		;;
	meson)
		TSAN_OPTIONS=halt_on_error=1 timeout -k 10 900 meson test \
			-C "$copy/$2" --no-rebuild --timeout-multiplier 3 "$3"
		;;
	esac </dev/null >"$copy/log" 2>&1
}

# mutant WORDS FILE PERL TEST...: PERL changes the text of FILE, which is $_.
mutant() {
	local words=$1 file=$copy/$2 perl=$3 dir=build-asan

	shift 3
	[[ $words =~ $pattern ]] || return 0
	[ "$1" = bats ] || dir=$2
	cp -p "$file" "$copy/whole"
	perl -0pi -e "$perl" "$file"
	if cmp -s "$file" "$copy/whole"; then
		say ROTTEN "$words"
		bad=$((bad + 1))
		return
	fi
	if ! build "$dir"; then
		say BROKEN "$words"
		bad=$((bad + 1))
	elif runs "$@"; then
		say SURVIVED "$words"
		bad=$((bad + 1))
	else
		say caught "$words"
		caught=$((caught + 1))
	fi
	mv "$copy/whole" "$file"
	touch "$file"
	build "$dir" || exit 1
	if ! runs "$@"; then
		say FLAKY "$words: the test fails without it"
		bad=$((bad + 1))
	fi
}

git ls-files -z | xargs -0 cp --parents -t "$copy"
(cd "$copy" && tests/sanitized.sh address,undefined build-asan &&
	tests/sanitized.sh thread build-tsan) >"$copy/log" || exit 1
build build-asan && build build-tsan || exit 1

mutant "fsync of a file syncs nothing" fs/ops/ops_write.c \
	's/(op_fsync.*?)r = fs_sync\(fs\);/$1r = 0;/s' \
	bats durable "fsync of a file open for writing that wrote nothing"
mutant "fsync of a file publishes nothing" fs/files/writer.c \
	's/(writer_fsync.*?)err = writer_publish\(w, true, w->flags\);/$1err = 0;/s' \
	bats durable "fsync publishes and syncs"
mutant "fsync of a stream applies nothing" fs/files/stream.c \
	's/\t\.fsync = stream_flush,\n//' \
	bats durable "fsync of a stream"
mutant "fsync of a directory syncs nothing" fs/ops/ops_dir.c \
	's/(op_fsyncdir.*?)fs_sync\(fs\)/$1fs ? 0 : 1/s' \
	bats durable "fsync of any directory"
mutant "O_DSYNC is not looked at by a write" fs/files/writer.c \
	's/flags & O_DSYNC && w->type/false && w->type/' \
	bats durable "one write by RWF_DSYNC"
mutant "O_DSYNC is not looked at by a close" fs/files/writer.c \
	's/flags & O_DSYNC \? CELLFILE_SYNC : 0/0/' \
	bats durable "a truncation by O_SYNC"
mutant "a staged row is put cell by cell" fs/files/stage.c \
	's/r = table_mutate\((.*?), &s.put, 0\);/for (size_t i = 0; r >= 0 && i < s.put.nchanges; i++) {
		struct mutation one = s.put; one.changes += i; one.nchanges = 1;
		r = table_mutate($1, &one, 0); }/' \
	bats stage "all of it or nothing"
mutant "-o sync holds for nothing" store/lsm/write/commit.c \
	's/ && !db->options\.sync\)/)/' \
	bats durable "with -o sync"
mutant "the kernel is not told of a version that fell off" fs/change/changed.c \
	's/\ttell_fallen\(w, s.node, key, c, cells\);/(void)tell_fallen;/' \
	bats notices "push out"
mutant "a version is moved whatever it has become" fs/change/cellfile.c \
	's/CHECK_VERSION_EQUAL/CHECK_VERSION_PRESENT/g' \
	bats moved "same moment"
mutant "an append puts over what came between" fs/change/cellfile.c \
	's/(came in between\. \*\/\n\t\tc.ts = TS_AUTO;)/$1 if (ts >= 0) c.op = CHANGE_PUT;/' \
	bats drafts "append by turns"
mutant "the store is asked before what is pending" fs/look/lookup.c \
	's/(\n\tif \(p->node && write_state_any)/\n\tint early = fs_stat_stored(fs, p, st);$1/; s/(has the present value.*?)fs_stat_stored\(fs, p, st\)/$1early/s' \
	bats remove "just made"
mutant "the log is written without RWF_DSYNC" store/os/os_posix.c \
	's/, RWF_DSYNC\);/, 0);/' \
	meson build-asan os_calls
mutant "fdatasync does nothing" store/os/os_posix.c \
	's/return fdatasync\(pfile\(f\)->fd\) \? -errno : 0;/(void)f; return 0;/' \
	meson build-asan os_calls
mutant "a short write is taken for a whole one" store/os/os_posix.c \
	's/done \+= \(size_t\)put;\n(\t\}\n\treturn \(ssize_t\))done;/done = n;\n$1done;/' \
	meson build-asan os_calls
mutant "a snapshot is pinned without the lock" store/lsm/state/pins.c \
	's/(\nvoid pin_now.*?)pthread_mutex_lock\(&db->state\);(.*?)pthread_mutex_unlock\(&db->state\);/$1$2/s' \
	meson build-tsan pins
mutant "the catalog is renamed before it is on disk" store/lsm/manifest/manifest.c \
	's/r = os_fdatasync\(f\);/r = 0;/' \
	meson build-asan catalog_crash
mutant "the name of the catalog is not on disk" store/lsm/manifest/manifest.c \
	's/r = os_dir_sync\(m->dir\);/r = 0;/' \
	meson build-asan catalog_crash
mutant "the catalog before is not kept" store/lsm/manifest/manifest.c \
	's/\(void\)!os_rename\(m->dir, name, old\);/os_discard(m->dir, name);/' \
	meson build-asan catalog_damage

mutant "the one version of a column in a block is taken for its only one" store/lsm/read/get.c \
	's/n->only = !n->found && is_alone\(&at, cell\)/n->only = !n->found \&\& (is_alone(\&at, cell) || at.block->copies == 1)/' \
	meson build-asan engine
mutant "a served change of a schema is of any version" store/remote/fields.c \
	's/a->has_from = walk_bool\(w, a->has_from\)/a->has_from = walk_bool(w, false)/' \
	bats served 'who alters a table beside others takes nothing'
mutant "a schema hides what a snapshot shows" store/lsm/admin/tables.c \
	's/(int shows_less.*?)if \(!s\)/$1if (true)/s' \
	meson build-asan engine_tables
mutant "what a dead process kept ready of the log stays" store/lsm/wal/wal_recover.c \
	's/\tif \(rc == 0\)\n\t\trc = os_remove\(dir, WAL_NEW_NAME\);\n//' \
	meson build-asan wal
mutant "no memory for a segment is a full disk" store/lsm/wal/wal_segment.c \
	's/return rc < 0 && \(os_is_full\(rc\) \|\| !os_is_want\(rc\)\);/return rc < 0;/' \
	meson build-asan no_memory
mutant "a check without memory finds damage" store/lsm/admin/check.c \
	's/return r == -ENOMEM \|\| r == -ECANCELED;/return r == -ECANCELED;/' \
	meson build-asan no_memory_check
mutant "a table that the kernel is not told of stays" fs/ops/ops_make.c \
	's/\t\(void\)store_table_drop\(fs->store, name, true\);\n//' \
	meson build-asan no_memory_ops
mutant "a sticky bit is not shown" fs/tree/place_stat.c \
	's/own\.mode & 07777/own.mode \& 0777/' \
	bats posix "mode and owner"
mutant "a removed scratch file has a link" fs/look/lookup.c \
	's/if \(r > 0 && p->detached\)\n\t\t\tst->st_nlink = 0;\n//' \
	bats posix "removed files"
mutant "F:Q is moved onto a version of its column by doing nothing" fs/change/cellfile_move.c \
	's/if \(same && \(to->kind == NODE_VERSION \? to->ts == cell->ts\n\s*: from->kind == NODE_ALIAS\)\)/if (same \&\& (from->kind == NODE_ALIAS || (to->kind == NODE_VERSION \&\& to->ts == cell->ts)))/' \
	bats rename "of its own column"
mutant "a name to which a file was renamed is believed" fs/ops/ops_rename.c \
	's/(\n\t\ttell_renamed\(fs, &mv\);)\n\t\tdisbelieve_name\(fs, &mv\);/$1 (void)disbelieve_name;/' \
	bats rename "gone with the column"
mutant "who may write a table makes it theirs by its schema" fs/files/schema_file.c \
	's/\t\tr = check_by\(e, now, &a->to\);/\t\t(void)check_by;/' \
	bats posix "mode and owner"
mutant "a stream deletes what a sticky bit keeps" fs/files/stream.c \
	's/if \(place_is_sticky\(fs, &own\)/if (false \&\& place_is_sticky(fs, &own)/' \
	bats posix "mode and owner"
mutant "a file becomes a cell for who may not read it" fs/files/writer_scratch.c \
	's/if \(who == 0 \|\|/if (true ||/' \
	bats posix "mode and owner"
mutant "a name makes a line of the trace" fs/report/trace.c \
	's/\tline_clean\(k->path\);\n//' \
	bats trace "no name makes"
mutant "a view is believed for an hour" fs/tree/place_stat.c \
	's/p->view && life > 1 \? 1 : life/life/' \
	meson build-asan ops_believed
mutant "a quota is too generous" store/lsm/write/quota.c \
	's/(> t->now->schema\.quota);/$1 + 4096;/' \
	bats quota "all the bytes"
mutant "a removal that fails drops what is not published" fs/ops/ops_remove.c \
	's/r \? WRITER_NAMED : WRITER_REMOVED/WRITER_REMOVED/' \
	meson build-asan ops_rename
mutant "who had a file open puts it back onto what was moved there" fs/ops/ops_rename.c \
	's/writers_end\(&to, r \? WRITER_NAMED : WRITER_REMOVED\)/writers_end(&to, WRITER_NAMED)/g' \
	meson build-asan ops_rename
mutant "a scratch file is written while it is put" fs/ops/ops_rename.c \
	's/\tscratch_freeze\(scratch, mv->from\.node, true\);\n//' \
	meson build-asan ops_rename
mutant "a filtered scan names the family it moved last" store/lsm/read/scan.c \
	's/\t\tsc->at = f->at;\n//' \
	meson build-asan damage
mutant "a sector that cannot be read fails the mount" store/lsm/table/sstable.c \
	's/r == -EIO \? -EUCLEAN : r/r/' \
	meson build-asan damage
mutant "readers share their node with what another name puts" fs/change/changed.c \
	's/renewed = known && renew\(w, node\);/renewed = false;/' \
	bats open_files "who has a file open reads"
mutant "readers share their node with who writes" fs/files/writer.c \
	's/!file_locks_let_renew\(fs->nodes, named\)/named/' \
	bats open_files "who has a file open reads"
mutant "a lock is lost with the node" fs/kernel/file_locks.c \
	's/!is_locked\(ino\)/is_locked(ino) || true/' \
	bats locks "a lock on a version"
mutant "a lock is lost that is taken behind a put" fs/kernel/file_locks.c \
	's/\tnodes_keep\(ns, id\);\n//' \
	bats locks "put under a lock"
mutant "F:Q shows what it was to who has it open" fs/change/changed.c \
	's/if \(renew\(w, node\)\)/if (false)/' \
	bats open_files "who has a file open reads"
mutant "what was just closed is read past the cache" fs/files/reader.c \
	's/\t\twriter_await_release\(fs, p->node\);/\t\t(void)writer_await_release;/' \
	meson build-asan ops_beside
mutant "what a flush writes is not told to the pace" store/lsm/background/flush.c \
	's/pace_take\(&db->pace, bytes, os_monotonic_ns\(db->os\)\);/;/' \
	meson build-asan engine_background
mutant "a delete behind a put is no delete" store/front/guard.c \
	's/(guard_deletes.*?)i < m->nchanges/$1i < 1/s' \
	meson build-asan library_tables
mutant "a delete in a later row is no delete" store/front/guard.c \
	's/s->no_delete && i < n/s->no_delete \&\& i < 1/' \
	meson build-asan library_tables
mutant "a backup is made beside who reads the backups" tools/backup/folder.c \
	's/use >= FOLDER_WRITE \? LOCK_EX : LOCK_SH/LOCK_SH/' \
	bats backups "is one store.s alone"
mutant "calls are shown of more than four hours" store/front/heat.c \
	's/if \(m->number == n\)/if (m->number)/' \
	meson build-asan shape
mutant "who is shown as the owner has no rights" fs/tree/place_stat.c \
	's/who == \(o->has_uid \? o->uid : own->uid\)/who == (o->has_uid \&\& !who ? o->uid : own->uid)/' \
	bats control "by -o uid"
mutant "a version is seen as a range of its time shows it" store/lsm/read/get.c \
	's/\.whole = exact/.whole = false/' \
	bats attributes "whatever decides"
mutant "the first mount of a store stands for all" fs/host/mountpoint.c \
	's/r = find_line\(is_in, &st, out\);/(void)is_in; r = 0;/' \
	bats served "bind mount of the mount"
mutant "a put replaces one of the same mutation" store/value/given.c \
	's/ts \+= op_writes\(c->op\);/;/' \
	bats cells "none replaces another"
mutant "a sum goes on from what was before its row of lines" fs/text/cells_fold.c \
	's/c->op == CHANGE_PUT \|\| c->op == CHANGE_DELETE_COLUMN/false/' \
	bats cells "go on from that"
mutant "F:Q becomes its newest version" fs/change/cellfile_move.c \
	's/r = check_alone\(from\);/(void)check_alone;/' \
	bats rename "if it has older ones"
mutant "the newest of a column is staged twice" fs/files/stage.c \
	's/r = check_newest\(&s\);/(void)check_newest;/' \
	bats stage "loses neither"
mutant "a quota of before refuses" store/lsm/write/quota.c \
	's/\tif \(!over\)\n\t\treturn 0;\n//' \
	meson build-asan engine_tables
mutant "a schema is absent that cellctl has written" fs/change/changed_store.c \
	's/\tif \(act->alter\)\n\t\tschema_absent_written\(&fs->schema_absent, table_id\(act->table\)\);\n//' \
	bats served "has forgotten the table"
mutant "segment 0 is not known to be needed" store/lsm/wal/wal_salvage.c \
	's/if \(!k->s->first_known\)/if (!k->s->first_known || !next)/' \
	bats repair "whose first segment is gone"
mutant "a gap in the numbers of files is no loss" store/lsm/admin/repair.c \
	's/\t\tlose_between\(k, next, k->strays\[i\].number\);/(void)lose_between;/' \
	meson build-asan repair
mutant "a repaired store has its name at once" tools/backup/folder.c \
	's/"%.\*s.part", \(int\)len/"%.*s", (int)len/' \
	bats repair "that is killed"
mutant "a compaction around damage is silent" tools/cmd_store.c \
	's/return damaged \? print_unmerged/return damaged == UINT64_MAX ? print_unmerged/' \
	bats damage "what damage keeps it from"

printf '%d caught, %d not\n' "$caught" "$bad"
[ "$bad" -eq 0 ] && [ "$caught" -gt 0 ]
