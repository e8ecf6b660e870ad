#!/usr/bin/env bash
# Kills a real HBase under a mount as often as is said (100 times).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec tests/hbase/kills.py build-asan "${1:-100}"
