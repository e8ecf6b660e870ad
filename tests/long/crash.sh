#!/usr/bin/env bash
# A million crash states, every entry of long workloads, and every sync left
# out in more workloads. Fresh seeds each time; the first argument chooses one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
crash=build-asan/tests/crash/crash
seed=${1:-$((($(date +%s) - 1700000000) * 1000))}
"$crash" --seed "$seed" --states 500000 --step 1 --nested 50
"$crash" --seed "$seed" --states 500000 --steps 300 --step 5 --nested 50
"$crash" --seed "$seed" --leave-out --workloads 16
"$crash" --seed "$seed" --faults --workloads 100
