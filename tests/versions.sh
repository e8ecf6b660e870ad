#!/bin/sh
# The version is the same wherever it is said: in meson.build, which the programs
# have theirs from, CHANGELOG.md and debian/changelog. `meson dist` makes no archive
# otherwise, and says whether that is the release: of the commit that has the tag.
#
# usage: tests/versions.sh
set -eu
cd "${MESON_DIST_ROOT:-$(dirname "$0")/..}"
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
for said in "CHANGELOG.md:$(sed -n 's/^## \([^ ,]*\).*/\1/p' CHANGELOG.md | head -n 1)" \
	"debian/changelog:$(sed -n '1s/^cellfs (\([^-)]*\).*/\1/p' debian/changelog)"; do
	[ "${said#*:}" = "$version" ] || {
		echo "versions: meson.build says $version, ${said%%:*} ${said#*:}" >&2
		exit 1
	}
done
[ -n "${MESON_DIST_ROOT:-}" ] || exit 0
git -C "$MESON_SOURCE_ROOT" tag --points-at HEAD | grep -qx "v$version" ||
	echo "not a release: the tag v$version is not on this commit"
