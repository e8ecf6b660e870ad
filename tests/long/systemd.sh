#!/usr/bin/env bash
# The Debian packages, and the unit as a systemd runs it that is process 1.
#
# usage: tests/long/systemd.sh
exec "$(dirname "${BASH_SOURCE[0]}")/../packages.sh" systemd
