#!/usr/bin/env bash
# Branch coverage of what must not be wrong: coverage.sh [AREA...]
#
# Builds with gcov, without optimization and without assertions (of which one branch
# is for code that is wrong), runs the unit programs, the corpora of the fuzz targets,
# the model, HBase's cases and the crash campaign, and prints which part of the
# branches each file and each area had taken: log, manifest, recovery, decoders,
# rules (what is retained and what is visible), or those named. A branch that was
# not taken is printed with its line, unless uncovered.tsv says why. An area of which
# fewer than 95 % are taken fails. CELLFS_COVER=DIR is the build (build-cover).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=${CELLFS_COVER:-build-cover}
[ -f "$dir/build.ninja" ] || meson setup "$dir" -Dbuildtype=debug \
	-Db_coverage=true -Db_ndebug=true -Db_lundef=false >/dev/null
tests=(wal wal_crash wal_damage wal_direct wal_kept wal_replay wal_salvage wal_space record notes engine
	engine_background engine_tables failing
	catalog catalog_bytes catalog_crash catalog_damage manifest_old levels history alive alive_kept merge runs visibility
	visibility_random compaction damage damage_every repair repair_every clone
	sstable sst_check sst_damage sst_format sst_index sst_threads sst_writer block bloom bare schema bytes cells name remote remote_wire hold
	moments moments_log rolled store shape namespace no_memory no_memory_check
	fuzz-catalog fuzz-manifest_old fuzz-record fuzz-schema fuzz-wal
	fuzz-block fuzz-sstable fuzz-name fuzz-cells fuzz-export fuzz-served
	fuzz-reply model model-classic model-threads hbase hbase-flush
	hbase-compact crash crash-faults)
ninja -C "$dir" build.ninja >/dev/null
mapfile -t targets < <(meson introspect "$dir" --tests | jq -r \
	--arg dir "$PWD/$dir/" '.[] | select(IN(.name; $ARGS.positional[])) |
	.cmd[0] | ltrimstr($dir)' --args "${tests[@]}" | sort -u)
ninja -C "$dir" "${targets[@]}" >"$dir/build.log" || {
	tail -n 20 "$dir/build.log"
	exit 1
}
find "$dir" -name '*.gcda' -delete
meson test -C "$dir" --no-rebuild --num-processes "$(nproc)" \
	--timeout-multiplier 10 "${tests[@]}" >"$dir/tests.log" 2>&1 || {
	grep -E 'FAIL|TIMEOUT|ERROR' "$dir/tests.log" ||
		tail -n 5 "$dir/tests.log"
	exit 1
}
exec tests/long/coverage.py "$dir" "$@"
