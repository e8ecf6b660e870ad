#!/usr/bin/env bash
# A client that wants the daemon's memory (tests/mount/hostile.py), sixteen times
# as much of everything, and with the cap that is the default: ten minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ -f build-release/build.ninja ] || meson setup build-release \
	-Dbuildtype=release >/dev/null
ninja -C build-release fs/cellfs >/dev/null
tests/mount/hostile.sh build-release 16 128
tests/mount/hostile.sh build-release 16 512
