#!/usr/bin/env bash
# The model test for a quarter of an hour a form, with runs long enough for
# deep levels and seeds that no run before has had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
model=build-asan/tests/model/model
seed=${1:-$((($(date +%s) - 1700000000) * 1000))}
"$model" --seed "$seed" --runs 0 --steps 1000 --seconds 900
"$model" --seed "$seed" --runs 0 --steps 1000 --seconds 900 --classic
