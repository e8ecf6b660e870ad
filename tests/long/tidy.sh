#!/usr/bin/env bash
# clang's analyzer over all sources: some minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tests/tidy.sh build-asan '-*,clang-analyzer-*,-clang-analyzer-security.insecureAPI.*'
