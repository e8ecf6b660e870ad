#!/usr/bin/env bash
# All sequences of three operations, ten million crash states, 300,000 calls
# that fail, in a build without sanitizers; then a part of it under
# AddressSanitizer, with every sync left out in more workloads. Fresh seeds each
# time; the first argument chooses one, the second and the third how many states
# and calls. Half an hour to hours; it prints each minute how far it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seed=${1:-$((($(date +%s) - 1700000000) * 1000))}
states=${2:-10000000}
faults=${3:-300000}
jobs=$(nproc)
[ -f build-model/build.ninja ] ||
	meson setup build-model -Dwerror=true -Dbuildtype=release >/dev/null
ninja -C build-model tests/crash/crash >/dev/null
crash=build-model/tests/crash/crash
"$crash" --seed "$seed" --jobs "$jobs" --sequences
"$crash" --seed "$seed" --jobs "$jobs" --states $((states - states / 5)) \
	--step 1 --nested 50
"$crash" --seed "$seed" --jobs "$jobs" --states $((states / 5)) \
	--steps 300 --step 5 --nested 50
"$crash" --seed "$seed" --faults --states "$faults"
crash=build-asan/tests/crash/crash
"$crash" --seed "$seed" --jobs "$jobs" --states 300000 --step 1 --nested 50
"$crash" --seed "$seed" --jobs "$jobs" --sequences --sample 40
"$crash" --seed "$seed" --leave-out --workloads 16
"$crash" --seed "$seed" --faults --workloads 50
